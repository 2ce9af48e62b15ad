//! What is done beside sampling, in a thread of its own: sealing days, and looking after old ones.

use crate::StopFlag;
use crate::archive::apply_retention::{LogMessage, enforce_retention};
use crate::archive::home::ArchiveFolder;
use crate::archive::retention_policy::RetentionPolicy;
use recording::{EventSeverity, RecordingError, Writer};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

enum Job {
    Seal(Box<Writer>),
    Tidy { open: Option<u64> },
}

/// The other end of the thread.
pub(super) struct Keeper {
    jobs: Option<Sender<Job>>,
    news: Receiver<LogMessage>,
    thread: Option<JoinHandle<()>>,
    /// Looking after old recordings is under way or asked for: once is enough.
    is_tidying: Arc<AtomicBool>,
    /// Recordings that could not be sealed.
    unsealed: Arc<AtomicU64>,
}

impl Keeper {
    pub(super) fn start(
        home: &Arc<ArchiveFolder>,
        retention: &RetentionPolicy,
        stop: &StopFlag,
    ) -> Result<Self, RecordingError> {
        let (jobs, inbox) = channel::<Job>();
        let (tell, news) = channel::<LogMessage>();
        let is_tidying = Arc::new(AtomicBool::new(false));
        let unsealed = Arc::new(AtomicU64::new(0));
        let failures = Arc::clone(&unsealed);
        let (busy, at, retention, stop) = (Arc::clone(&is_tidying), Arc::clone(home), retention.clone(), stop.clone());
        let mut reported = BTreeSet::new();
        let work = move || {
            for job in inbox {
                match job {
                    Job::Seal(writer) => {
                        if let Err(error) = writer.seal_past() {
                            failures.fetch_add(1, Ordering::AcqRel);
                            let message =
                                format!("failed to seal a recording: {error}; what is there of it stays as it is");
                            let _ = tell.send(LogMessage { severity: EventSeverity::Warning, message });
                        }
                    }
                    Job::Tidy { open } => {
                        for said in enforce_retention(&at, &retention, open, &mut reported, &stop) {
                            let _ = tell.send(said);
                        }
                        busy.store(false, Ordering::Release);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("keeper".to_string()).spawn(work).map_err(|source| {
            RecordingError::Io { action: "start a thread for", path: home.path().to_path_buf(), source }
        })?;
        Ok(Self { jobs: Some(jobs), news, thread: Some(thread), is_tidying, unsealed })
    }

    /// Seals a recording.
    pub(super) fn seal(&self, writer: Writer) {
        self.send(Job::Seal(Box::new(writer)));
    }

    /// Looks after the others; the one of number `open` is being written.
    pub(super) fn tidy(&self, open: Option<u64>) {
        if !self.is_tidying.swap(true, Ordering::AcqRel) {
            self.send(Job::Tidy { open });
        }
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only after this end is gone.
            let _ = jobs.send(job);
        }
    }

    /// What there is to say.
    pub(super) fn news(&self) -> Vec<LogMessage> {
        self.news.try_iter().collect()
    }

    /// Recordings that could not be sealed so far.
    pub(super) fn unsealed(&self) -> u64 {
        self.unsealed.load(Ordering::Acquire)
    }

    /// Waits until old recordings are looked after, unless a stop at once is asked for.
    pub(super) fn settle(&self, stop: &StopFlag) {
        while self.is_tidying.load(Ordering::Acquire) && !stop.is_urgent() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for what is under way, unless a stop at once is asked for.
    pub(super) fn end(&mut self, stop: &StopFlag) {
        self.jobs = None;
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() && !stop.is_urgent() {
            std::thread::sleep(Duration::from_millis(20));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}
