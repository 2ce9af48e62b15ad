//! What only the kernel's probes know: response times of block I/O with who and which file, and reads and writes of files.

use crate::SessionError;
use crate::probe::row_of;
use crate::profile::Profiler;
use crate::rows::signed;
use analyze::page::IoIntervals;
use recording::Batch;
use recording::rows::{Event, FileInterval, IoInterval};
use std::time::Duration;
use trace::block::{self, BlockTrace, Columns};
use trace::files::{self, FileTrace};

/// Bytes of the ring: I/Os are taken out many times a second.
const RING_BYTES: u64 = 4 << 20;
/// Looks a second at each CPU, while a process is looked at.
const LOOKS_HZ: u32 = 99;
/// Said until the first of them are there.
const SOON: &str = "looked at from now on: with the next sample";
/// Why there are none, by somebody's wish.
const OFF: &str = "off (--no-probes)";
/// Chunks that are summed at once.
const CHUNKS_MAX: usize = 64;
/// Names are learned anew when there are so many.
const NAMES_MAX: usize = 50_000;

/// The probes that could be loaded, and why others could not.
pub(crate) struct Probes {
    blocks: Result<Box<(BlockTrace, Columns, IoIntervals)>, String>,
    files: Result<Box<FileTrace>, String>,
    stacks: Stacks,
    has_looked: bool,
    from_ns: u64,
    lost: u64,
}

/// The probe of stacks, which runs only while somebody looks at a process.
enum Stacks {
    /// They cannot be had, for this reason.
    None(String),
    Unwanted,
    Wanted(Box<Profiler>),
}

impl Probes {
    /// Loads what can be loaded.
    pub(crate) fn start() -> Self {
        let options = block::Options { ring_bytes: Some(RING_BYTES), ..block::Options::default() };
        let blocks = BlockTrace::start(&options)
            .map(|trace| Box::new((trace, Columns::default(), IoIntervals::default())))
            .map_err(|error| brief(&error));
        let files = FileTrace::start(&files::Options::default()).map(Box::new).map_err(|error| brief(&error));
        let stacks = Stacks::Unwanted;
        Self { blocks, files, stacks, has_looked: false, from_ns: quantity::clock::now_ns(), lost: 0 }
    }

    /// None, by somebody's wish.
    pub(crate) fn off() -> Self {
        let none = || OFF.to_string();
        Self {
            blocks: Err(none()),
            files: Err(none()),
            stacks: Stacks::None(none()),
            has_looked: false,
            from_ns: 0,
            lost: 0,
        }
    }

    /// What is missing.
    pub(crate) fn missing(&self) -> [Option<String>; 3] {
        let stacks = match &self.stacks {
            Stacks::None(why) => Some(why.clone()),
            Stacks::Unwanted => Some(SOON.to_string()),
            Stacks::Wanted(_) if !self.has_looked => Some(SOON.to_string()),
            Stacks::Wanted(_) => None,
        };
        [self.blocks.as_ref().err().cloned(), self.files.as_ref().err().cloned(), stacks]
    }

    /// Of those that were wanted, a word for the manifest.
    pub(crate) fn verdicts(&self) -> Vec<(&'static str, String)> {
        let word = |why: Option<&String>| match why {
            None => Some(analyze::WORKS.to_string()),
            Some(why) if why == OFF => None,
            Some(why) => Some(format!("unsupported here: {why}")),
        };
        let words =
            [("io_interval", word(self.blocks.as_ref().err())), ("file_interval", word(self.files.as_ref().err()))];
        words.into_iter().filter_map(|(subject, word)| Some((subject, word?))).collect()
    }

    /// Begins to look at what programs are at, or ends it.
    pub(crate) fn look_at_stacks(&mut self, wanted: bool) {
        match &self.stacks {
            Stacks::Unwanted if wanted => {
                let started = Profiler::start(LOOKS_HZ).map(Box::new);
                self.stacks = started.map_or_else(|error| Stacks::None(brief(&error)), Stacks::Wanted);
                self.has_looked = false;
            }
            Stacks::Wanted(_) if !wanted => self.stacks = Stacks::Unwanted,
            _ => {}
        }
    }

    /// Takes I/Os out of the ring; to be called several times a second.
    pub(crate) fn drain(&mut self) -> Result<(), SessionError> {
        let Ok(blocks) = &mut self.blocks else { return Ok(()) };
        let (trace, columns, sums) = &mut **blocks;
        // Not more than this: where I/Os come faster than they are summed, the page must go on, and losses are counted.
        for _ in 0..CHUNKS_MAX {
            let Some(chunk) = trace.next(Duration::ZERO) else { break };
            sums.accept(&columns.batch(&chunk)?)?;
        }
        Ok(())
    }

    /// Ends an interval: its batches.
    pub(crate) fn take(&mut self, t_ns: u64, origin_ns: u64) -> Result<Vec<Batch>, SessionError> {
        self.drain()?;
        let mut batches = Vec::new();
        let mut lost = 0;
        if let Ok(blocks) = &mut self.blocks {
            let (trace, columns, sums) = &mut **blocks;
            let rows: Vec<IoInterval> = sums.take(signed(self.from_ns), signed(t_ns), signed(origin_ns));
            push(&mut batches, &rows)?;
            columns.take_summary();
            lost += trace.statistics()?.lost();
            if columns.names() > NAMES_MAX {
                columns.begin_generation();
                trace.forget_names();
            }
        }
        if let Ok(files) = &mut self.files {
            let rows: Vec<FileInterval> =
                files.read()?.iter().map(|file| row_of(file, t_ns, self.from_ns, origin_ns)).collect();
            push(&mut batches, &rows)?;
            lost += files.losses()?.lost();
        }
        if let Stacks::Wanted(profiler) = &mut self.stacks {
            batches.extend(profiler.sample(origin_ns)?);
            self.has_looked = true;
            if !profiler.is_on() {
                self.stacks = Stacks::None("cannot be read any more".to_string());
            }
        }
        if lost > self.lost {
            let row = Event {
                t_ns: signed(t_ns),
                t_s: t_ns.saturating_sub(origin_ns) as f64 / 1e9,
                severity: "error".to_string(),
                kind: "probe_lost".to_string(),
                run: None,
                target: None,
                message: format!("{} I/Os could not be counted", lost - self.lost),
                count: signed(lost - self.lost),
            };
            push(&mut batches, &[row])?;
            self.lost = lost;
        }
        self.from_ns = t_ns;
        Ok(batches)
    }
}

fn push<R: recording::Row>(batches: &mut Vec<Batch>, rows: &[R]) -> Result<(), SessionError> {
    if !rows.is_empty() {
        batches.push(Batch::from_rows(rows)?);
    }
    Ok(())
}

/// In one line, with what to do.
fn brief(error: &trace::TraceError) -> String {
    if error.is_privilege() {
        "needs root".to_string()
    } else {
        error.to_string().lines().next().unwrap_or("?").to_string()
    }
}
