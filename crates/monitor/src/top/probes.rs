//! What only the kernel's probes know: response times of block I/O with who and which file, and reads and writes of files.

use super::missing::{OFF, brief};
use super::requests::RequestWatch;
use crate::MonitorError;
use crate::block_latency::Responses;
use crate::event_cpu_time::{CpuClock, EventCpuTime, push};
use crate::events::lost_row;
use crate::file_rows::row_of;
use crate::io_errors::IoErrors;
use crate::profile::Profiler;
use recording::rows;
use recording::rows::FileInterval;
use recording::{AvailabilityKind, RowBatch};
use top_page::{ServerFacts, WatchedRequests};
use trace::files::{self, FileTrace};
use tui::top::ProfiledCpus;

/// Looks a second at each CPU, while a process or a CPU is looked at.
const LOOKS_HZ: u32 = 99;
/// Said until the first of them are there.
const SOON: &str = "looked at from now on: with the next sample";

/// The probes that could be loaded, and why others could not.
pub(crate) struct Probes {
    blocks: Result<Box<Responses>, String>,
    files: Result<Box<FileTrace>, String>,
    /// The stacks of programs, while the page shows a process or a CPU; or why there are none.
    stacks: Result<Option<Box<Profiler>>, String>,
    /// The CPUs whose stacks the page shows.
    looks: ProfiledCpus,
    /// The user switched probes off.
    is_off: bool,
    /// CPU time by event.
    clock: Option<Box<CpuClock>>,
    /// I/Os that fail.
    errors: Option<IoErrors>,
    requests: RequestWatch,
    has_looked: bool,
    from_ns: u64,
    lost: u64,
}

impl Probes {
    /// Loads what can be loaded.
    pub(crate) fn start() -> Self {
        let blocks = Responses::start().map(Box::new).map_err(|error| brief(&error));
        let files = FileTrace::start(&files::FileTraceOptions::default()).map(Box::new).map_err(|error| brief(&error));
        // As `diagnose` does: findings of CPUs need it, and so do figures that a tick does not see.
        let clock = CpuClock::start(EventCpuTime::IfPossible).ok().flatten().map(Box::new);
        let errors = Some(IoErrors::if_possible());
        Self { blocks, files, clock, errors, from_ns: quantity::clock::now_ns(), ..Self::new(false) }
    }

    /// No probes: the user switched them off.
    pub(crate) fn off() -> Self {
        Self::new(true)
    }

    fn new(is_off: bool) -> Self {
        let none = || OFF.to_string();
        Self {
            blocks: Err(none()),
            files: Err(none()),
            stacks: if is_off { Err(none()) } else { Ok(None) },
            looks: ProfiledCpus::Nowhere,
            is_off,
            clock: None,
            errors: None,
            requests: RequestWatch::new(is_off),
            has_looked: false,
            from_ns: 0,
            lost: 0,
        }
    }

    /// What is missing.
    pub(crate) fn missing(&self) -> [Option<String>; 3] {
        let stacks = match &self.stacks {
            Err(why) => Some(why.clone()),
            Ok(Some(_)) if self.has_looked => None,
            Ok(_) => Some(SOON.to_string()),
        };
        [self.blocks.as_ref().err().cloned(), self.files.as_ref().err().cloned(), stacks]
    }

    /// Of those that were wanted, a word for the manifest.
    pub(crate) fn verdicts(&self) -> Vec<(&'static str, String)> {
        let word = |why: Option<&String>| match why {
            None => Some(AvailabilityKind::Works.to_string()),
            Some(why) if why == OFF => None,
            Some(why) => Some(AvailabilityKind::Unsupported.because(why)),
        };
        let words = [
            (rows::IoInterval::NAME, word(self.blocks.as_ref().err())),
            (rows::FileInterval::NAME, word(self.files.as_ref().err())),
        ];
        let words = words.into_iter().filter_map(|(subject, word)| Some((subject, word?)));
        let words = words.chain(self.clock.iter().flat_map(|clock| clock.verdicts()));
        words.chain(self.errors.iter().map(IoErrors::verdict)).collect()
    }

    /// In one word for the manifest: which clock CPU time has.
    pub(crate) fn clock_word(&self) -> Option<&'static str> {
        self.clock.as_ref().map(|clock| clock.word())
    }

    /// CPU time by event, which also tells who ran.
    pub(crate) fn clock(&mut self) -> Option<&mut CpuClock> {
        self.clock.as_deref_mut()
    }

    /// Begins to look at what programs are at, there and nowhere else, or ends it.
    pub(crate) fn look_at_stacks(&mut self, looks: ProfiledCpus) {
        if self.is_off || looks == self.looks {
            return;
        }
        (self.looks, self.has_looked) = (looks, false);
        // The probe of before goes first.
        self.stacks = Ok(None);
        let cpu = match looks {
            ProfiledCpus::Nowhere | ProfiledCpus::Everywhere => None,
            ProfiledCpus::Cpu(cpu) => Some(cpu),
        };
        if looks != ProfiledCpus::Nowhere {
            let started = Profiler::start_on(LOOKS_HZ, cpu);
            self.stacks = started.map(|profiler| Some(Box::new(profiler))).map_err(|error| brief(&error));
        }
    }

    /// Begins to look at servers, or at one of them, or ends it.
    pub(crate) fn look_at_requests(&mut self, watch: WatchedRequests) {
        self.requests.look_at(watch);
    }

    /// What is known of servers besides rows.
    pub(crate) fn servers(&self) -> ServerFacts<'_> {
        self.requests.servers()
    }

    /// Takes I/Os out of the ring; to be called several times a second.
    pub(crate) fn drain(&mut self) -> Result<(), MonitorError> {
        self.blocks.as_mut().map_or(Ok(()), |blocks| blocks.drain())
    }

    /// Ends an interval: its batches.
    pub(crate) fn take(&mut self, t_ns: u64, origin_ns: u64) -> Result<Vec<RowBatch>, MonitorError> {
        let (mut batches, mut lost) = match &mut self.blocks {
            Ok(blocks) => blocks.take(t_ns, origin_ns)?,
            Err(_) => (Vec::new(), 0),
        };
        if let Some(errors) = &mut self.errors {
            batches.extend(errors.sample(origin_ns)?);
        }
        if let Ok(files) = &mut self.files {
            let rows: Vec<FileInterval> =
                files.read()?.iter().map(|file| row_of(file, t_ns, self.from_ns, origin_ns)).collect();
            push(&mut batches, &rows)?;
            lost += files.losses()?.lost();
        }
        if let Ok(Some(profiler)) = &mut self.stacks {
            batches.extend(profiler.sample(origin_ns)?);
            self.has_looked = true;
            if !profiler.is_on() {
                self.stacks = Err("cannot be read any more".to_string());
            }
        }
        self.requests.take(t_ns, origin_ns, &mut batches)?;
        if lost > self.lost {
            push(&mut batches, &[lost_row((t_ns, origin_ns), lost - self.lost, "I/Os")])?;
            self.lost = lost;
        }
        self.from_ns = t_ns;
        Ok(batches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_needs_leaves_with_it_and_is_tried_again() {
        let mut probes = Probes::new(false);
        for looks in [ProfiledCpus::Everywhere, ProfiledCpus::Nowhere] {
            probes.look_at_stacks(ProfiledCpus::Cpu(0));
            probes.stacks = Err("broken".to_string());
            probes.look_at_stacks(ProfiledCpus::Cpu(0));
            assert_eq!(probes.missing()[2].as_deref(), Some("broken"), "not as long as it is the same page");
            probes.look_at_stacks(looks);
            assert_ne!(probes.missing()[2].as_deref(), Some("broken"));
        }
        let mut off = Probes::off();
        off.look_at_stacks(ProfiledCpus::Cpu(0));
        assert_eq!((off.missing()[2].as_deref(), off.clock.is_none()), (Some(OFF), true));
    }

    #[test]
    fn cpu_time_by_event_is_there_on_every_page() {
        let mut probes = Probes::start();
        assert!(probes.clock().is_some(), "though it may have no probe");
        let said: Vec<&str> = probes.verdicts().into_iter().map(|(table, _)| table).collect();
        assert!(said.contains(&"cpu_event") && said.contains(&"irq_time"), "{said:?}");
        assert!(Probes::off().clock().is_none());
    }
}
