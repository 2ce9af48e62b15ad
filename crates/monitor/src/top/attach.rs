//! What a collector writes, while it writes it: the newest recording in its directory that is open.

use super::recorded::pace;
use super::{Source, WINDOW_SAMPLES};
use crate::MonitorError;
use crate::manifest_keys::FLIGHT_CONDITION;
use findings::{Finding, RuleEngine, Thresholds};
use quantity::clock;
use recording::{Manifest, Reader, RecordingFollower, RecordingState, RowBatch, Sink as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use top_page::{MachineFacts, ServerFacts, samples};

/// How often one looks for what was written.
const LOOK_EVERY_NS: u64 = 200_000_000;
/// So many intervals without a sample, and one looks whether the recording is over.
const PATIENCE: f64 = 3.0;

/// The recording of a collector that is running.
pub(crate) struct Attached {
    /// As the user named it.
    directory: PathBuf,
    reader: Reader,
    follower: RecordingFollower,
    facts: MachineFacts,
    engine: RuleEngine,
    span: (i64, i64),
    interval_s: f64,
    /// Batches of a sample that may not be whole.
    pending: Vec<RowBatch>,
    looked_ns: u64,
    fresh_ns: u64,
    /// Why nothing comes any more, in words.
    stalled: Option<&'static str>,
    /// That has changed.
    is_news: bool,
}

/// It is there, and writes nothing.
const SILENT: &str = "the collector is silent";
/// Shown if no collector writes in this directory.
const ENDED: &str = "the collector has ended";

/// The newest recording that a collector is writing in a directory, or the directory itself.
fn newest_open(directory: &Path) -> Result<PathBuf, MonitorError> {
    if let Ok(reader) = Reader::open(directory) {
        return match reader.state() {
            RecordingState::Open => Ok(directory.to_path_buf()),
            _ => Err(MonitorError::NotCollecting {
                directory: directory.to_path_buf(),
                newest: Some(directory.to_path_buf()),
            }),
        };
    }
    let entries = std::fs::read_dir(directory).map_err(|source| recording::RecordingError::Io {
        action: "read",
        path: directory.to_path_buf(),
        source,
    })?;
    let mut found: Vec<(i64, bool, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Reader::open(entry.path()).ok())
        // What a flight recorder writes beside it has no samples.
        .filter(|reader| !reader.manifest().extra.contains_key(FLIGHT_CONDITION))
        .map(|reader| {
            (
                reader.manifest().started_wall_ns,
                reader.state() == RecordingState::Open,
                reader.directory().to_path_buf(),
            )
        })
        .collect();
    found.sort();
    let newest = found.last().map(|(_, _, path)| path.clone());
    match found.into_iter().rev().find(|(_, is_open, _)| *is_open) {
        Some((_, _, path)) => Ok(path),
        None => Err(MonitorError::NotCollecting { directory: directory.to_path_buf(), newest }),
    }
}

impl Attached {
    pub(crate) fn open(directory: &Path, thresholds: Thresholds) -> Result<Self, MonitorError> {
        let path = newest_open(directory)?;
        let reader = Reader::open(&path)?;
        let now_ns = clock::now_ns();
        // A collector that has just begun has no sample yet.
        let begun_ns = reader.manifest().started_t_ns;
        let (span, interval_s) = pace(&reader)?.unwrap_or(((begun_ns, begun_ns), 1.0));
        #[expect(clippy::cast_possible_truncation, reason = "a window")]
        let back_ns = (interval_s * 1e9 * (WINDOW_SAMPLES / 2) as f64) as i64;
        Ok(Self {
            directory: directory.to_path_buf(),
            follower: RecordingFollower::open(&path, span.1.saturating_sub(back_ns))?,
            facts: MachineFacts::of(reader.manifest()),
            engine: RuleEngine::joining(thresholds).of_machine(&reader.manifest().hardware),
            reader,
            span,
            interval_s,
            pending: Vec::new(),
            looked_ns: 0,
            fresh_ns: now_ns,
            stalled: None,
            is_news: false,
        })
    }

    /// The collector went on in another recording, as at midnight, or has ended.
    fn move_on(&mut self) -> Result<(), MonitorError> {
        match newest_open(&self.directory) {
            Ok(path) if path != self.reader.directory() => {
                self.reader = Reader::open(&path)?;
                self.follower = RecordingFollower::open(&path, i64::MIN)?;
                self.span.0 = self.reader.manifest().started_t_ns;
                self.stall(None);
            }
            Ok(_) => self.stall(Some(SILENT)),
            Err(_) => self.stall(Some(ENDED)),
        }
        Ok(())
    }

    /// What the page says of the collector.
    fn stall(&mut self, why: Option<&'static str>) {
        self.is_news |= self.stalled != why;
        self.stalled = why;
    }
}

impl Source for Attached {
    fn machine(&self) -> &MachineFacts {
        &self.facts
    }

    fn advance(&mut self) -> Result<Vec<Vec<RowBatch>>, MonitorError> {
        let now_ns = clock::now_ns();
        if now_ns < self.looked_ns + LOOK_EVERY_NS {
            return Ok(Vec::new());
        }
        self.looked_ns = now_ns;
        let fresh = self.follower.fresh()?;
        let is_quiet = fresh.is_empty();
        self.pending.extend(fresh);
        if is_quiet && self.pending.is_empty() {
            if (now_ns.saturating_sub(self.fresh_ns)) as f64 / 1e9 > PATIENCE * self.interval_s {
                self.fresh_ns = now_ns;
                self.move_on()?;
            }
            return Ok(Vec::new());
        }
        self.fresh_ns = now_ns;
        self.stall(None);
        let mut found = samples(&self.pending);
        self.pending.clear();
        // The last one may go on; once nothing more came, it is whole.
        if !is_quiet {
            self.pending = found.pop().unwrap_or_default();
        }
        for sample in &found {
            sample.iter().try_for_each(|batch| self.engine.accept(batch))?;
            self.engine.commit()?;
        }
        let last = found.last().and_then(|sample| top_page::sample_times(sample).last().copied());
        self.span.1 = last.unwrap_or(self.span.1).max(self.span.1);
        Ok(found)
    }

    fn is_news(&mut self) -> bool {
        std::mem::take(&mut self.is_news)
    }

    fn due_ns(&self) -> Option<u64> {
        Some(self.looked_ns + LOOK_EVERY_NS)
    }

    fn between(&self, tables: &[&str], range: Range<i64>) -> Result<Vec<RowBatch>, MonitorError> {
        Ok(self.reader.between(tables, range)?)
    }

    fn span(&self) -> Option<(i64, i64)> {
        Some(self.span)
    }

    fn interval_s(&self) -> f64 {
        self.interval_s
    }

    fn wall_ns(&self, t_ns: i64) -> i64 {
        let manifest: &Manifest = self.reader.manifest();
        manifest.wall_ns_at(t_ns)
    }

    fn findings(&self) -> Vec<Finding> {
        self.engine.findings().to_vec()
    }

    fn stalled(&self) -> Option<&'static str> {
        self.stalled
    }

    fn name(&self) -> Option<String> {
        Some(self.reader.directory().display().to_string())
    }

    fn missing(&self) -> [Option<String>; 3] {
        let words = [
            "the collector does not record single I/Os",
            "the collector does not record files",
            "none in this time; `iodyno record --profile` records what programs are at",
        ];
        words.map(|words| Some(words.to_string()))
    }

    fn servers(&self) -> ServerFacts<'_> {
        ServerFacts { listening: None, missing: Some("the collector does not watch requests") }
    }

    fn save(&self, _directory: &Path) -> Option<Result<PathBuf, MonitorError>> {
        None
    }

    fn joins(&self) -> bool {
        true
    }
}
