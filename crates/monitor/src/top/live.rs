//! This machine, sampled while it is watched. What was sampled is remembered as a recording in memory, up to a size.

use super::Source;
use super::probes::Probes;
use crate::MonitorError;
use crate::counters::{SUBJECTS, subjects};
use crate::event_cpu_time::sample_both;
use crate::manifest_keys::CPU_CLOCK;
use crate::numbers::signed;
use collect::{MachineReader, SubjectName};
use findings::{Finding, RuleEngine, Thresholds};
use quantity::clock;
use recording::rows::Event;
use recording::{ClockAnchor, EventKind, EventSeverity, Manifest, RecordingExit, RowBatch, Sink as _, Writer};
use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use top_page::{MachineFacts, ServerFacts, WatchedRequests};
use tui::top::ProfiledCpus;

/// What is remembered, bytes of columns.
const REMEMBER_BYTES: usize = 96 << 20;

/// How to watch this machine.
#[derive(Debug)]
pub struct LiveRequest {
    /// Time between samples.
    pub interval_ns: u64,
    /// Load the kernel's probes, where that is possible.
    pub probes: bool,
    /// The command line, for the manifest of a snapshot.
    pub command_line: Vec<String>,
}

/// The machine at hand.
pub(crate) struct Live {
    collector: MachineReader,
    probes: Probes,
    engine: RuleEngine,
    manifest: Manifest,
    facts: MachineFacts,
    origin_ns: u64,
    interval_ns: u64,
    due_ns: u64,
    past: VecDeque<(i64, usize, Vec<RowBatch>)>,
    bytes: usize,
}

impl Live {
    pub(crate) fn start(request: &LiveRequest, thresholds: Thresholds) -> Self {
        let mut manifest = Manifest::new(&request.command_line);
        manifest.hardware = collect::hardware(&[]);
        let probes = if request.probes { Probes::start() } else { Probes::off() };
        manifest.extra.insert(SUBJECTS.into(), subjects(probes.verdicts()));
        manifest.extra.extend(probes.clock_word().map(|word| (CPU_CLOCK.into(), word.into())));
        let origin_ns = manifest.started_t_ns.unsigned_abs();
        Self {
            collector: MachineReader::new(&SubjectName::ALL),
            probes,
            engine: RuleEngine::new(thresholds).of_machine(&manifest.hardware),
            facts: MachineFacts::of(&manifest),
            manifest,
            origin_ns,
            interval_ns: request.interval_ns.max(1),
            due_ns: clock::now_ns(),
            past: VecDeque::new(),
            bytes: 0,
        }
    }

    fn sample(&mut self) -> Result<Vec<RowBatch>, MonitorError> {
        let (mut batches, events) = sample_both(&mut self.collector, self.probes.clock(), self.due_ns, self.origin_ns);
        batches.extend(events?);
        batches.extend(self.probes.take(clock::now_ns(), self.origin_ns)?);
        self.due_ns += self.interval_ns;
        // After a suspend the samples in between are gone; the next one keeps its place in the raster.
        let now_ns = clock::now_ns();
        let late = now_ns.saturating_sub(self.due_ns) / self.interval_ns;
        if late > 0 {
            self.due_ns += late * self.interval_ns;
            let row = Event {
                t_ns: signed(now_ns),
                t_s: now_ns.saturating_sub(self.origin_ns) as f64 / 1e9,
                severity: EventSeverity::Warning,
                kind: EventKind::Gap,
                class: None,
                run: None,
                target: None,
                message: format!("{late} samples were due while the collector could not run"),
                count: signed(late),
            };
            batches.push(RowBatch::from_rows(&[row])?);
        }
        Ok(batches)
    }

    fn remember(&mut self, batches: &[RowBatch]) {
        let bytes = batches.iter().map(|batch| batch.rows.get_array_memory_size()).sum();
        self.past.push_back((signed(self.collector.last_times().begin_ns), bytes, batches.to_vec()));
        self.bytes += bytes;
        while self.bytes > REMEMBER_BYTES && self.past.len() > super::WINDOW_SAMPLES {
            let Some((_, bytes, _)) = self.past.pop_front() else { break };
            self.bytes -= bytes;
        }
    }
}

impl Source for Live {
    fn machine(&self) -> &MachineFacts {
        &self.facts
    }

    fn advance(&mut self) -> Result<Vec<Vec<RowBatch>>, MonitorError> {
        if clock::now_ns() < self.due_ns {
            self.probes.drain()?;
            return Ok(Vec::new());
        }
        let batches = self.sample()?;
        batches.iter().try_for_each(|batch| self.engine.accept(batch))?;
        self.engine.commit()?;
        self.remember(&batches);
        Ok(vec![batches])
    }

    fn due_ns(&self) -> Option<u64> {
        Some(self.due_ns)
    }

    fn between(&self, tables: &[&str], range: Range<i64>) -> Result<Vec<RowBatch>, MonitorError> {
        let wanted = self.past.iter().filter(|(t_ns, _, _)| range.contains(t_ns));
        let batches = wanted.flat_map(|(_, _, batches)| batches);
        Ok(batches.filter(|batch| tables.contains(&batch.table.name)).cloned().collect())
    }

    fn span(&self) -> Option<(i64, i64)> {
        Some((self.past.front()?.0, self.past.back()?.0))
    }

    fn interval_s(&self) -> f64 {
        self.interval_ns as f64 / 1e9
    }

    fn wall_ns(&self, t_ns: i64) -> i64 {
        clock::wall_ns() - (signed(clock::now_ns()) - t_ns)
    }

    fn findings(&self) -> Vec<Finding> {
        self.engine.findings().to_vec()
    }

    fn missing(&self) -> [Option<String>; 3] {
        self.probes.missing()
    }

    fn look_at_stacks(&mut self, looks: ProfiledCpus) {
        self.probes.look_at_stacks(looks);
    }

    fn look_at_requests(&mut self, watch: WatchedRequests) {
        self.probes.look_at_requests(watch);
    }

    fn servers(&self) -> ServerFacts<'_> {
        self.probes.servers()
    }

    fn save(&self, directory: &Path) -> Option<Result<PathBuf, MonitorError>> {
        let write = || -> Result<PathBuf, MonitorError> {
            let mut manifest = self.manifest.clone();
            manifest.clock_anchors.push(ClockAnchor::now());
            let mut writer = Writer::create(directory, manifest)?;
            for (_, _, batches) in &self.past {
                batches.iter().try_for_each(|batch| writer.accept(batch))?;
                writer.commit()?;
            }
            writer.update_manifest(|manifest| manifest.exit = Some(RecordingExit::Fine))?;
            Ok(writer.seal_past()?)
        };
        Some(write())
    }
}
