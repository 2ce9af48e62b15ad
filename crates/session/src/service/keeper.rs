//! What is done beside sampling, in a thread of its own: sealing days, and looking after old ones.

use super::retention::{Retention, tidy};
use crate::StopFlag;
use recording::{RecordingError, Writer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

enum Job {
    Seal(Box<Writer>),
    Tidy { wall_ns: i64, open: Option<PathBuf> },
}

/// The other end of the thread.
pub(super) struct Keeper {
    jobs: Option<Sender<Job>>,
    news: Receiver<String>,
    thread: Option<JoinHandle<()>>,
    /// Looking after old recordings is under way or asked for: once is enough.
    is_tidying: Arc<AtomicBool>,
}

impl Keeper {
    pub(super) fn start(directory: &Path, retention: &Retention) -> Result<Self, RecordingError> {
        let (jobs, inbox) = channel::<Job>();
        let (tell, news) = channel::<String>();
        let is_tidying = Arc::new(AtomicBool::new(false));
        let (busy, folder, retention) = (Arc::clone(&is_tidying), directory.to_path_buf(), retention.clone());
        let work = move || {
            for job in inbox {
                match job {
                    Job::Seal(writer) => {
                        if let Err(error) = writer.seal_past() {
                            let _ = tell.send(format!("{error}; it is kept as it is, and sealed later"));
                        }
                    }
                    Job::Tidy { wall_ns, open } => {
                        for said in tidy(&folder, &retention, wall_ns, open.as_deref()) {
                            let _ = tell.send(said);
                        }
                        busy.store(false, Ordering::Relaxed);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("keeper".to_string()).spawn(work).map_err(|source| {
            RecordingError::Io { action: "start a thread for", path: directory.to_path_buf(), source }
        })?;
        Ok(Self { jobs: Some(jobs), news, thread: Some(thread), is_tidying })
    }

    /// Seals a recording.
    pub(super) fn seal(&self, writer: Writer) {
        self.send(Job::Seal(Box::new(writer)));
    }

    /// Looks after the others; `open` is being written.
    pub(super) fn tidy(&self, wall_ns: i64, open: Option<&Path>) {
        if !self.is_tidying.swap(true, Ordering::Relaxed) {
            self.send(Job::Tidy { wall_ns, open: open.map(Path::to_path_buf) });
        }
    }

    fn send(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only after this end is gone.
            let _ = jobs.send(job);
        }
    }

    /// What there is to say.
    pub(super) fn news(&self) -> Vec<String> {
        self.news.try_iter().collect()
    }

    /// Waits for what is under way, unless somebody asks to stop at once.
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
