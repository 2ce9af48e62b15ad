//! What fio's outputs say, read from a recording once.

mod damaged;
mod grouped;

use super::figures::{Classes, Counts, PERCENTILES, Times, by_batch, by_depth, shares};
use crate::ToolOutputError;
pub use damaged::VALIDATION_TARGETS;
use damaged::{DamagedTargets, EILSEQ};
use plan::generate::OperationKind;
use plan::{CountedAs, JobLogs, JobText, JobTexts};
use quantity::histogram::Histogram;
use rates::base_title;
use rates::counter::delta_i64;
use rates::disk::DiskDelta;
use recording::rows::{Disk, EngineInterval, JobInterval, LogInterval, OpInterval, Phase, RunTotal};
use recording::{LoadPhase, PhaseEdge, Reader};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Where in the manifest's `extra` the [`JobTexts`] of a run stand.
pub const FIO_JOBS: &str = "fio_jobs";
/// Where in the manifest's `extra` stands how jobs ended that met errors: a list of [`JobErrors`].
pub const JOB_ERRORS: &str = "job_errors";
/// A sample of bandwidth that lasted less than this part of the longest is the end of a job, no sample.
const SAMPLE_PART_MIN: f64 = 0.95;
/// What an I/O that failed is reported as where the recording has no number of it (before they were kept): `EIO`.
const EIO: i32 = 5;
/// Directions, as fio orders them, and their names in a recording.
pub(super) const SIDES: [&str; 3] = ["read", "write", "trim"];

/// What errors a job met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobErrors {
    /// Position of the run.
    pub run_index: i32,
    /// The workload's name.
    pub workload: String,
    /// Number of the error that ended it (`errno`), 0 when it went on to its end.
    pub ended_by: i32,
    /// Failed operations that it went on after.
    pub passed_over: u64,
    /// Number of the first error of those, 0 when there were none.
    pub first_passed_over: i32,
}

/// Where in the manifest's `extra` stands what became of `steadystate`: a list of [`SteadyState`].
pub const STEADY_STATES: &str = "steady_states";

/// What became of a run's `steadystate`: of all its jobs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Position of the run.
    pub run_index: i32,
    /// What was to be steady: `iops`, `bw`, `lat`.
    pub measure: String,
    /// Its slope, instead of the greatest deviation from the mean.
    pub slope: bool,
    /// Limit and criterion are percent of the mean.
    pub percent: bool,
    /// What was allowed.
    pub limit: f64,
    /// What was found last; 0 before there were enough seconds.
    pub criterion: f64,
    /// The same in the measure's own unit.
    pub found: f64,
    /// So many seconds were looked at, at a time.
    pub seconds: u64,
    /// Was it steady?
    pub attained: bool,
    /// Operations and bytes per second of the last of these seconds.
    pub rates: Vec<(u64, u64)>,
}

impl SteadyState {
    /// Mean of operations and of bytes per second, those that are missing counted as 0, as fio does.
    pub(super) fn means(&self) -> (u64, u64) {
        let (ops, bytes) = self.rates.iter().fold((0, 0), |(ops, bytes), rate| (ops + rate.0, bytes + rate.1));
        (ops / self.seconds.max(1), bytes / self.seconds.max(1))
    }
}

/// The whole output.
#[derive(Debug)]
pub(super) struct Document {
    /// fio's version whose format this is, and the program that wrote it: scripts look for `fio-3`.
    pub(super) version: String,
    /// When the load ended, UTC, ns since 1970.
    pub(super) ended_wall_ns: i64,
    pub(super) elapsed_s: u64,
    pub(super) global: Vec<(String, String)>,
    pub(super) jobs: Vec<Job>,
    pub(super) disks: Vec<DiskUse>,
    /// Added to a time of the load's clock it is UTC, ns since 1970.
    pub(super) wall_ns: i64,
}

/// One job.
#[derive(Debug, Default)]
pub(super) struct Job {
    pub(super) key: Key,
    /// When the load began, by its clock, ns.
    pub(super) start_ns: i64,
    /// When the job itself began in it, after its `startdelay`; not known of workloads that are no jobs, and in older recordings.
    pub(super) began_ns: Option<i64>,
    /// Longest interval that was recorded of it, ms.
    pub(super) interval_ms: u64,
    /// Its number among the jobs as they were given, from 1, those of repetitions behind them.
    pub(super) number: Option<usize>,
    /// The logs that it asks for; `None`: no file says what it was given.
    pub(super) logs: Option<Result<JobLogs, String>>,
    pub(super) name: String,
    pub(super) group: usize,
    pub(super) error: i32,
    pub(super) members: usize,
    pub(super) options: Vec<(String, String)>,
    pub(super) description: String,
    /// Whole ms.
    pub(super) runtime_ms: u64,
    pub(super) sides: [Side; 3],
    /// `fsync` and `fdatasync` in its time, and how many of them were `fsync`: those alone are fio's `total_ios`.
    pub(super) syncs: Times,
    pub(super) fsyncs: Option<u64>,
    /// Times of the former.
    flushes: Histogram,
    /// `group_reporting`: it is reported with the one before it, if that is of its group.
    is_grouped: bool,
    pub(super) classes: Option<Classes>,
    /// What the workers cost, shared among the jobs of a run by their I/Os.
    pub(super) cost: Cost,
    pub(super) depth: Option<u64>,
    /// In percent; `None` where it was not recorded: the workload was no job, or the recording is older.
    pub(super) depths: Option<Depths>,
    /// Was a `latency_target` asked for? What became of it is in the recording's events only.
    pub(super) has_target: bool,
    pub(super) percentiles: Vec<f64>,
    /// Which of submission, completion and total times get percentiles.
    pub(super) has_percentiles: [bool; 3],
    /// Failed operations that it went on after, and the number of the first one's error.
    pub(super) errors: u64,
    pub(super) first_error: i32,
    pub(super) continues: bool,
    /// What became of its `steadystate`.
    pub(super) steady: Option<SteadyState>,
}

/// How many were in flight, and went and came together: shares of fio's classes in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Depths {
    /// When an I/O was issued, of all I/Os.
    pub(super) level: [f64; 7],
    pub(super) submit: [f64; 7],
    pub(super) complete: [f64; 7],
}

/// Processor time in ms, context switches, page faults with and without I/O; `None` where they are not recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) user_ms: f64,
    pub(super) system_ms: f64,
    pub(super) switches: Option<u64>,
    pub(super) major_faults: Option<u64>,
    pub(super) minor_faults: Option<u64>,
}

impl Cost {
    fn add(&mut self, row: &EngineInterval) {
        self.user_ms += row.cpu_user_ns as f64 / 1e6;
        self.system_ms += row.cpu_sys_ns as f64 / 1e6;
        let sums = [
            (&mut self.switches, row.context_switches),
            (&mut self.major_faults, row.major_faults),
            (&mut self.minor_faults, row.minor_faults),
        ];
        for (sum, found) in sums {
            *sum = found.map_or(*sum, |found| Some(sum.unwrap_or(0) + unsigned(found)));
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a count")]
    fn part(self, share: f64) -> Self {
        let part = |count: Option<u64>| count.map(|count| (count as f64 * share).round() as u64);
        Self {
            user_ms: self.user_ms * share,
            system_ms: self.system_ms * share,
            switches: part(self.switches),
            major_faults: part(self.major_faults),
            minor_faults: part(self.minor_faults),
        }
    }
}

/// One direction of a job.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// That ended, those that failed with them, as fio counts what it issued.
    pub(super) ops: u64,
    pub(super) bytes: u64,
    pub(super) short: u64,
    pub(super) runtime_ms: u64,
    /// From due to submission; not recorded (null) in recordings before it was.
    pub(super) submission: Option<Times>,
    pub(super) completion: Times,
    pub(super) total: Times,
    /// KiB/s by interval.
    pub(super) bandwidth: Times,
    pub(super) iops: Times,
}

impl Side {
    /// Bytes per second, whole, as fio computes it.
    pub(super) fn bytes_per_s(&self) -> u64 {
        per_second(self.bytes, self.runtime_ms)
    }
}

/// `1000 × count ÷ ms`, 0 without a time.
pub(super) fn per_second(count: u64, ms: u64) -> u64 {
    (u128::from(count) * 1000).checked_div(u128::from(ms)).and_then(|rate| u64::try_from(rate).ok()).unwrap_or(0)
}

/// What a device did meanwhile.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DiskUse {
    pub(super) name: String,
    pub(super) ios: [u64; 2],
    pub(super) merges: [u64; 2],
    pub(super) ticks_ms: [u64; 2],
    pub(super) in_queue_ms: u64,
    /// Percent.
    pub(super) busy: f64,
}

/// What is summed up of a workload before figures are made of it.
#[derive(Debug, Default)]
struct Lane {
    start_ns: i64,
    end_ns: i64,
    targets: BTreeSet<String>,
    /// End of the last flush that came back behind the load.
    flushed_ns: i64,
    /// Flushes that came back before the load's end, and behind it: when, and how long they took.
    flushes_in_time: Histogram,
    flushes_behind: Vec<(i64, Histogram)>,
    /// When something of the job was taken from the engine.
    harvested_ns: BTreeSet<i64>,
    /// When the job began and ended by itself.
    own: (Option<i64>, Option<i64>),
    sides: [Sum; 4],
    /// Depths, what went and what came together.
    counts: Option<[Counts; 3]>,
    /// What its operations are counted as, where they move no data.
    counted: Option<CountedAs>,
}

#[derive(Debug, Default)]
struct Sum {
    ops: u64,
    bytes: u64,
    errors: u64,
    short: u64,
    /// When it came back, and its number.
    first_error: Option<(i64, i32)>,
    response: Histogram,
    service: Histogram,
    wait: Option<Histogram>,
    /// End and length of an interval, bytes and operations.
    samples: BTreeMap<i64, (i64, u64, u64)>,
}

/// Position of a run, workload.
pub(super) type Key = (i32, String);

impl Document {
    /// Everything that the outputs say.
    pub(super) fn read(reader: &Reader) -> Result<Self, ToolOutputError> {
        Self::of(reader, true)
    }

    /// The same with each job apart, `group_reporting` or not.
    pub(super) fn read_apart(reader: &Reader) -> Result<Self, ToolOutputError> {
        Self::of(reader, false)
    }

    fn of(reader: &Reader, is_grouped: bool) -> Result<Self, ToolOutputError> {
        let manifest = reader.manifest();
        let texts: JobTexts = manifest
            .extra
            .get(FIO_JOBS)
            .and_then(|value| serde_json::from_value(value.clone()).ok())
            .unwrap_or_default();
        let extra = manifest.extra.get(JOB_ERRORS);
        let met: Option<Vec<JobErrors>> = extra.and_then(|value| serde_json::from_value(value.clone()).ok());
        let found = Lanes::read(reader, &texts)?;
        let damaged = DamagedTargets::read(reader)?;
        // Logs have no lines of jobs that did nothing.
        let extra = manifest.extra.get(STEADY_STATES);
        let steady: Option<Vec<SteadyState>> = extra.and_then(|value| serde_json::from_value(value.clone()).ok());
        let Lanes { titles, mut order, all: lanes } = if is_grouped { found.with_idle(&texts) } else { found };
        let costs = costs(reader, &lanes)?;
        let (from_ns, to_ns) =
            lanes.values().fold((i64::MAX, 0), |(from, to), lane| (from.min(lane.start_ns), to.max(lane.end_ns)));
        let from_ns = began_ns(reader)?.map_or(from_ns, |began_ns| from_ns.min(began_ns));
        let mut groups: Vec<i32> = titles.keys().copied().collect();
        groups.sort_unstable();
        let groups_given = texts.jobs.iter().filter_map(|text| text.group).max().map_or(0, |last| last + 1);
        sort_as_given(&mut order, &titles, &texts);
        let title_of = |key: &Key| titles.get(&key.0).map_or("", |title| base_title(title));
        let text_of = |key: &Key| texts.jobs.iter().find(|text| text.run == title_of(key) && text.workload == key.1);
        let jobs = order.iter().filter_map(|key| {
            let lane = lanes.get(key)?;
            let (title, text) = (title_of(key), text_of(key));
            let all: u64 = lanes.iter().filter(|(other, _)| other.0 == key.0).map(|(_, lane)| lane.ops()).sum();
            let share = if all == 0 { 0.0 } else { lane.ops() as f64 / all as f64 };
            let cost = costs.get(&key.0).copied().unwrap_or_default().part(share);
            let met = met.iter().flatten().find(|met| (met.run_index, &met.workload) == (key.0, &key.1));
            let round = titles.iter().filter(|(index, other)| **index < key.0 && base_title(other) == title).count();
            let place = texts.jobs.iter().position(|other| text.is_some_and(|text| std::ptr::eq(text, other)));
            let number = place.map(|place| round * texts.jobs.len() + place + 1);
            let group = text.and_then(|text| text.group).map_or_else(
                || groups.iter().position(|index| *index == key.0).unwrap_or(0),
                |group| round * groups_given + group,
            );
            let logs = text.map(|text| texts.logs(text));
            let is_asked = text.is_some_and(|text| texts.option(text, "steadystate").is_some());
            let steady = steady.iter().flatten().find(|found| is_asked && found.run_index == key.0).cloned();
            let job = Job { group, cost, number, logs, steady, ..lane.job(key, text, &texts, met) };
            Some(job.with_damage(damaged.of_job(key.0, &lane.targets, lane.sides[1].ops > 0)))
        });
        let jobs = jobs.collect();
        Ok(Self {
            version: format!("fio-3.33-{}", manifest.program.replace(' ', "-")),
            ended_wall_ns: manifest.started_wall_ns.saturating_add(to_ns.saturating_sub(manifest.started_t_ns)),
            elapsed_s: u64::try_from(to_ns.saturating_sub(from_ns) / 1_000_000_000).unwrap_or(0) + 1,
            jobs: if is_grouped { grouped::grouped(jobs, &lanes, &texts, text_of) } else { jobs },
            global: texts.global.clone(),
            disks: disks(reader)?,
            wall_ns: manifest.started_wall_ns.saturating_sub(manifest.started_t_ns),
        })
    }

    /// Jobs of a group (a run), together.
    pub(super) fn groups(&self) -> Vec<Vec<&Job>> {
        let count = self.jobs.iter().map(|job| job.group + 1).max().unwrap_or(0);
        (0..count).map(|group| self.jobs.iter().filter(|job| job.group == group).collect()).collect()
    }
}

/// The jobs of a recording.
#[derive(Debug, Default)]
struct Lanes {
    /// Of runs.
    titles: BTreeMap<i32, String>,
    /// As they were first seen.
    order: Vec<Key>,
    all: BTreeMap<Key, Lane>,
}

impl Lanes {
    fn read(reader: &Reader, texts: &JobTexts) -> Result<Self, ToolOutputError> {
        let mut lanes = Self::default();
        let counted = |run: &str, workload: &str| {
            let mut jobs = texts.jobs.iter().filter(|text| text.run == base_title(run) && text.workload == workload);
            jobs.find_map(|text| text.counted)
        };
        let rows = reader.table::<RunTotal>()?;
        // What makes files durable before the load comes back behind its phase.
        let is_beside = |row: &&RunTotal| matches!(row.phase, LoadPhase::Format | LoadPhase::Verify);
        let formats: BTreeSet<i32> = rows.iter().filter(is_beside).map(|row| row.run_index).collect();
        let is_of_a_job = |row: &&RunTotal| is_counted(&row.phase) && !formats.contains(&row.run_index);
        rows.iter().filter(is_of_a_job).for_each(|row| lanes.add(row, || counted(&row.run, &row.workload)));
        // What is under way has no totals yet.
        let ended: BTreeSet<i32> = rows.iter().map(|row| row.run_index).collect();
        for row in reader.rows::<LogInterval>()? {
            let row = so_far(row?);
            if !ended.contains(&row.run_index) {
                lanes.add(&row, || counted(&row.run, &row.workload));
            }
        }
        for batch in reader.rows::<OpInterval>()? {
            let row = batch?;
            let Some(lane) = lanes.all.get_mut(&(row.run_index, row.workload.clone())) else { continue };
            match &row.phase {
                LoadPhase::Measure => lane.sample(&row),
                LoadPhase::Drain if row.op == "flush" => lane.flushes_behind.push((row.t_ns, row.service)),
                _ => {}
            }
        }
        for row in reader.rows::<JobInterval>()? {
            let row = row?;
            if let Some(lane) = lanes.all.get_mut(&(row.run_index, row.workload.clone())) {
                lane.count(&row);
            }
        }
        Ok(lanes)
    }

    /// With the jobs of which nothing was recorded because they did nothing (`exitall`, an error, an end before their turn came):
    /// fio lists them with zeros.
    fn with_idle(mut self, texts: &JobTexts) -> Self {
        let given: BTreeSet<(&str, &str)> =
            texts.jobs.iter().map(|text| (text.run.as_str(), text.workload.as_str())).collect();
        let mut indices: BTreeMap<String, i32> = BTreeMap::new();
        for (index, title) in &self.titles {
            indices.entry(base_title(title).to_string()).or_insert(*index);
        }
        let title_of = |key: &Key| self.titles.get(&key.0).map_or("", |title| base_title(title));
        let seen: BTreeSet<(String, String)> =
            self.order.iter().map(|key| (title_of(key).to_string(), key.1.clone())).collect();
        // Where other names were recorded than were given, as of a trace, nothing tells who was idle.
        let foreign: BTreeSet<String> = seen
            .iter()
            .filter(|(run, name)| !given.contains(&(run.as_str(), name.as_str())))
            .map(|(run, _)| run.clone())
            .collect();
        for text in texts.jobs.iter().filter(|text| !foreign.contains(&text.run)) {
            if seen.contains(&(text.run.clone(), text.workload.clone())) {
                continue;
            }
            let index = *indices.entry(text.run.clone()).or_insert_with(|| {
                let next = self.titles.keys().next_back().map_or(0, |last| last.saturating_add(1));
                self.titles.insert(next, text.run.clone());
                next
            });
            let key = (index, text.workload.clone());
            self.order.push(key.clone());
            self.all.insert(key, Lane { start_ns: i64::MAX, counts: Some(Default::default()), ..Lane::default() });
        }
        self
    }

    fn add(&mut self, row: &RunTotal, counted: impl FnOnce() -> Option<CountedAs>) {
        let key = (row.run_index, row.workload.clone());
        self.titles.entry(row.run_index).or_insert_with(|| row.run.clone());
        if !self.all.contains_key(&key) {
            self.order.push(key.clone());
        }
        let lane = || Lane { start_ns: i64::MAX, counted: counted(), ..Lane::default() };
        self.all.entry(key).or_insert_with(lane).add(row);
    }
}

/// When the first load began, with its warm-up: the making of files before it is not in fio's time either.
fn began_ns(reader: &Reader) -> Result<Option<i64>, ToolOutputError> {
    let phases = reader.table::<Phase>()?;
    let loads = phases
        .iter()
        .filter(|row| row.event == PhaseEdge::Start && matches!(row.phase, LoadPhase::Warmup | LoadPhase::Measure));
    Ok(loads.map(|row| row.t_ns).min())
}

/// Phases that fio counts: what was measured, and what was still in flight then; `ramp_time` and the making of files are not.
pub(super) fn is_counted(phase: &LoadPhase) -> bool {
    matches!(phase, LoadPhase::Measure | LoadPhase::Drain)
}

/// An interval of what is under way, as a part of its totals.
fn so_far(row: LogInterval) -> RunTotal {
    RunTotal {
        t_ns: row.t_ns,
        t_s: row.t_s,
        start_t_ns: row.t_ns - row.interval_ns,
        run: row.run,
        run_index: row.run_index,
        phase: LoadPhase::Measure,
        workload: row.workload,
        target: row.target,
        op: row.op,
        arrivals: None,
        ops: row.ops,
        bytes: row.bytes,
        errors: Some(row.errors),
        response: row.response,
        service: row.service,
        short: None,
        first_error: None,
        first_error_t_ns: None,
        wait: Some(row.wait),
    }
}

/// Jobs in the order of the file; those that no file names stay where they were, by run.
fn sort_as_given(order: &mut [Key], titles: &BTreeMap<i32, String>, texts: &JobTexts) {
    let place = |key: &Key| {
        let title = titles.get(&key.0).map_or("", |title| base_title(title));
        texts.jobs.iter().position(|text| text.run == title && text.workload == key.1)
    };
    let round = |key: &Key| {
        let title = titles.get(&key.0).map_or("", |title| base_title(title));
        titles.iter().filter(|(index, other)| **index < key.0 && base_title(other) == title).count()
    };
    // A run that was not begun has no position of its own.
    order.sort_by_cached_key(|key| match place(key) {
        Some(place) => (round(key), Some(place), 0),
        None => (0, None, key.0),
    });
}

/// What the workers of each run cost since its measurement began: not in `ramp_time`.
fn costs(reader: &Reader, lanes: &BTreeMap<Key, Lane>) -> Result<BTreeMap<i32, Cost>, ToolOutputError> {
    let mut starts: BTreeMap<i32, i64> = BTreeMap::new();
    for ((run_index, _), lane) in lanes {
        let start = starts.entry(*run_index).or_insert(i64::MAX);
        *start = (*start).min(lane.start_ns);
    }
    let mut found: BTreeMap<i32, Cost> = BTreeMap::new();
    for row in reader.rows::<EngineInterval>()? {
        let row = row?;
        if starts.get(&row.run_index).is_none_or(|start| row.t_ns <= *start) {
            continue;
        }
        found.entry(row.run_index).or_default().add(&row);
    }
    Ok(found)
}

impl Lane {
    fn add(&mut self, row: &RunTotal) {
        let Some(side) = self.side_of(&row.op) else { return };
        if !self.targets.contains(&row.target) {
            self.targets.insert(row.target.clone());
        }
        self.start_ns = self.start_ns.min(row.start_t_ns);
        self.end_ns = self.end_ns.max(row.t_ns);
        if row.op == "flush" && row.phase == LoadPhase::Drain {
            self.flushed_ns = self.flushed_ns.max(row.t_ns);
        } else if row.op == "flush" {
            self.flushes_in_time.merge(&row.service);
        }
        let sum = &mut self.sides[side];
        let (ops, bytes) = counted_of(self.counted, (row.ops, row.bytes));
        sum.ops += ops;
        sum.bytes += bytes;
        sum.errors += unsigned(row.errors.unwrap_or(0));
        sum.response.merge(&row.response);
        sum.service.merge(&row.service);
        sum.short += unsigned(row.short.unwrap_or(0));
        let first = row.first_error_t_ns.zip(row.first_error);
        sum.first_error = sum.first_error.into_iter().chain(first).min();
        if let Some(wait) = &row.wait {
            sum.wait.get_or_insert_default().merge(wait);
        }
    }

    fn sample(&mut self, row: &OpInterval) {
        let Some(side) = self.side_of(&row.op) else { return };
        let (ops, bytes) = counted_of(self.counted, (row.ops, row.bytes));
        let sample = self.sides[side].samples.entry(row.t_ns).or_insert((row.interval_ns, 0, 0));
        sample.1 += bytes;
        sample.2 += ops;
    }

    fn count(&mut self, row: &JobInterval) {
        self.own = (row.began_t_ns.or(self.own.0), row.ended_t_ns.or(self.own.1));
        self.harvested_ns.insert(row.t_ns);
        if is_counted(&row.phase) {
            let found = [by_depth(&row.depth.0), by_batch(&row.submitted.0), by_batch(&row.completed.0)];
            let sums = self.counts.get_or_insert_default();
            let pairs = sums.iter_mut().flatten().zip(found.into_iter().flatten());
            pairs.for_each(|(sum, count)| *sum += count);
        }
    }

    /// When the job ran, ns: from its own begin in the measured time to its own end, or the load's, with the flushes behind it.
    fn span(&self) -> (i64, i64) {
        let start_ns = self.own.0.map_or(self.start_ns, |began_ns| began_ns.max(self.start_ns));
        let end_ns = self.own.1.map_or(self.end_ns, |ended_ns| ended_ns.max(self.flushed_ns));
        (start_ns, end_ns)
    }

    /// The flushes that fio counts, without those that a job ends with (`end_fsync`, `fsync_on_close`: `is_made_durable`), which
    /// no worker did. Recordings that do not tell them apart have them all.
    fn syncs(&self, is_made_durable: bool) -> Histogram {
        if !is_made_durable || self.harvested_ns.is_empty() {
            return self.sides[3].service.clone();
        }
        let mut syncs = self.flushes_in_time.clone();
        let of_the_load = self.flushes_behind.iter().filter(|(t_ns, _)| self.harvested_ns.contains(t_ns));
        of_the_load.for_each(|(_, service)| syncs.merge(service));
        syncs
    }

    /// How many of so many flushes were `fsync`; `None`: the recording does not tell.
    fn fsyncs(&self, syncs: u64, [fsync, fdatasync]: [Option<&str>; 2]) -> Option<u64> {
        let (Some(fsync), Some(fdatasync)) = (fsync, fdatasync) else {
            return Some(if fsync.is_some() { syncs } else { 0 });
        };
        // fio's are `fsync` where both are due. Where nothing but writes stands between them, their number says how many.
        let (every, other) = (fsync.parse::<u64>().ok()?, fdatasync.parse::<u64>().ok()?);
        let writes = self.sides[1].ops + self.sides[1].errors;
        if [0, 2].iter().any(|side| self.sides[*side].ops + self.sides[*side].errors > 0) {
            return None;
        }
        let (mut common, mut rest) = (every, other);
        while rest > 0 {
            (common, rest) = (rest, common % rest);
        }
        let both = (every / common.max(1)).checked_mul(other)?;
        let times = |writes: u64, every: u64| writes.checked_div(every).unwrap_or(0);
        let is_right = |writes: &u64| times(*writes, every) + times(*writes, other) - times(*writes, both) == syncs;
        // The last write has none when the job ends with it.
        [writes.saturating_sub(1), writes].into_iter().find(is_right).map(|writes| times(writes, every))
    }

    fn side_of(&self, op: &str) -> Option<usize> {
        match self.counted {
            Some(counted) => Some(usize::from(counted.op == OperationKind::Write)),
            None => side_of(op),
        }
    }

    /// A direction, of which fio knows only how long the operations took where they move no data, and does not count those that failed.
    fn side(&self, at: usize, runtime_ms: u64) -> Side {
        let side = self.sides[at].side(runtime_ms);
        match self.counted {
            Some(_) => {
                Side { ops: self.sides[at].ops, submission: Some(Times::default()), total: Times::default(), ..side }
            }
            None => side,
        }
    }

    fn ops(&self) -> u64 {
        self.sides.iter().map(|side| side.ops).sum()
    }

    fn job(&self, key: &Key, text: Option<&JobText>, texts: &JobTexts, met: Option<&JobErrors>) -> Job {
        let (start_ns, end_ns) = self.span();
        let run_us = unsigned(end_ns.saturating_sub(start_ns)) / 1_000;
        // A direction's time is rounded up, a job's down.
        let runtime_ms = run_us.div_ceil(1_000);
        let own = text.map_or(&[][..], |text| &text.options);
        let option = |name: &str| text.and_then(|text| texts.option(text, name));
        let is_on = |name: &str, otherwise: bool| option(name).map_or(otherwise, |value| value != "0");
        let mut service = Histogram::default();
        if self.counted.is_none() {
            self.sides[..3].iter().for_each(|side| service.merge(&side.service));
        }
        let ios: u64 = self.sides[..3].iter().map(|side| side.ops + side.errors).sum();
        let failed: u64 = self.sides.iter().map(|side| side.errors).sum();
        // Where nothing is said, as of Vdbench's workloads, what failed failed as its first error did, or as disks do.
        let recorded = self.sides.iter().filter_map(|side| side.first_error).min().map(|(_, errno)| errno);
        let unsaid = recorded.unwrap_or(if failed > 0 { EIO } else { 0 });
        let first = |met: &JobErrors| if met.ended_by == 0 { met.first_passed_over } else { met.ended_by };
        let goes_on = |name: &str| option(name).is_some_and(|value| value != "none" && value != "0");
        let is_set = |name: &str| option(name).map(str::trim).filter(|value| *value != "0");
        let syncs = self.syncs(["end_fsync", "fsync_on_close"].into_iter().any(|name| is_on(name, false)));
        let lengths = self.sides.iter().flat_map(|side| side.samples.values().map(|(length, ..)| *length));
        Job {
            key: key.clone(),
            start_ns: self.start_ns,
            began_ns: self.own.0.map(|began_ns| began_ns.max(self.start_ns)),
            interval_ms: ((unsigned(lengths.max().unwrap_or(0)) + 500_000) / 1_000_000).max(1),
            number: None,
            logs: None,
            name: text.map_or_else(|| key.1.clone(), |text| text.name.clone()),
            error: met.map_or(unsaid, first),
            members: 1,
            options: own.to_vec(),
            description: option("description").unwrap_or_default().to_string(),
            runtime_ms: run_us / 1_000,
            sides: [0, 1, 2].map(|at| self.side(at, runtime_ms)),
            fsyncs: match text {
                Some(_) => self.fsyncs(syncs.count(), [is_set("fsync"), is_set("fdatasync")]),
                None => Some(syncs.count()),
            },
            syncs: Times::of(&syncs),
            flushes: syncs,
            is_grouped: is_on("group_reporting", false),
            classes: Some(Classes::of(&service, ios)),
            // Of a job that was not begun nothing is known of this.
            depth: text
                .filter(|_| self.start_ns < i64::MAX)
                .map(|_| option("iodepth").and_then(|depth| depth.parse().ok()).unwrap_or(1)),
            depths: match self.counted {
                // One at a time.
                Some(_) if ios > 0 => Some(Depths { level: first_of(0), submit: first_of(1), complete: first_of(1) }),
                _ => self.counts.map(|[depths, submitted, completed]| Depths {
                    level: shares(depths, ios),
                    submit: shares(submitted, submitted.iter().sum()),
                    complete: shares(completed, completed.iter().sum()),
                }),
            },
            has_target: option("latency_target").is_some(),
            percentiles: percentiles(option("percentile_list")),
            has_percentiles: [
                is_on("slat_percentiles", false),
                is_on("clat_percentiles", true),
                is_on("lat_percentiles", false),
            ],
            errors: met.map_or(failed, |met| met.passed_over),
            first_error: met.map_or(unsaid, |met| met.first_passed_over),
            continues: goes_on("continue_on_error") || goes_on("ignore_error"),
            ..Job::default()
        }
    }
}

impl Job {
    /// With so many damaged blocks: an error of the job, and where it goes on after errors one for each.
    fn with_damage(mut self, blocks: u64) -> Self {
        if blocks > 0 {
            self.errors = self.errors.saturating_add(blocks);
            for error in [&mut self.error, &mut self.first_error] {
                *error = if *error == 0 { EILSEQ } else { *error };
            }
        }
        self
    }
}

impl Sum {
    fn side(&self, runtime_ms: u64) -> Side {
        let longest = self.samples.values().map(|(length, ..)| *length).max().unwrap_or(0) as f64;
        let is_whole = |(length, ..): &&(i64, u64, u64)| *length as f64 >= longest * SAMPLE_PART_MIN;
        let rates = |of: fn(&(i64, u64, u64)) -> f64| -> Vec<f64> {
            self.samples.values().filter(is_whole).map(|sample| of(sample) * 1e9 / (sample.0.max(1)) as f64).collect()
        };
        Side {
            ops: self.ops + self.errors,
            bytes: self.bytes,
            short: self.short,
            runtime_ms: if self.ops > 0 || self.bytes > 0 { runtime_ms } else { 0 },
            submission: self.wait.as_ref().map(Times::of),
            completion: Times::of(&self.service),
            total: Times::of(if self.response.count() > 0 { &self.response } else { &self.service }),
            bandwidth: Times::of_samples(&rates(|(_, bytes, _)| *bytes as f64 / 1024.0)),
            iops: Times::of_samples(&rates(|(_, _, ops)| *ops as f64)),
        }
    }
}

/// `percentile_list=95:99.9`; what is no number is left out, as what fio would not have run.
fn percentiles(list: Option<&str>) -> Vec<f64> {
    let Some(list) = list else { return PERCENTILES.to_vec() };
    let mut found: Vec<f64> = list
        .split([':', ','])
        .filter_map(|word| word.trim().parse().ok())
        .filter(|percent| (0.0..=100.0).contains(percent))
        .collect();
    found.sort_by(f64::total_cmp);
    if found.is_empty() { PERCENTILES.to_vec() } else { found }
}

/// All of one class.
fn first_of(class: usize) -> [f64; 7] {
    std::array::from_fn(|at| if at == class { 100.0 } else { 0.0 })
}

/// Operations and bytes as fio counts them.
fn counted_of(counted: Option<CountedAs>, (ops, bytes): (i64, i64)) -> (u64, u64) {
    match counted {
        Some(as_fio) => (unsigned(ops).saturating_mul(as_fio.ios), unsigned(ops).saturating_mul(as_fio.bytes)),
        None => (unsigned(ops), unsigned(bytes)),
    }
}

fn side_of(op: &str) -> Option<usize> {
    ["read", "write", "trim", "flush"].iter().position(|known| *known == op)
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Devices under the targets, from their first sample to their last.
fn disks(reader: &Reader) -> Result<Vec<DiskUse>, ToolOutputError> {
    let mut samples: BTreeMap<String, (Disk, Disk)> = BTreeMap::new();
    for row in reader.rows::<Disk>()? {
        let row = row?;
        if row.target.is_empty() {
            continue;
        }
        match samples.get_mut(&row.device) {
            Some((_, last)) => *last = row,
            None => {
                samples.insert(row.device.clone(), (row.clone(), row));
            }
        }
    }
    Ok(samples.into_iter().map(|(name, (first, last))| disk_use(name, &first, &last)).collect())
}

fn disk_use(name: String, first: &Disk, last: &Disk) -> DiskUse {
    let grown = |of: fn(&Disk) -> Option<i64>| {
        of(last).zip(of(first)).and_then(|(now, before)| delta_i64(now, before)).map_or(0, unsigned)
    };
    let busy = DiskDelta::of(last, first).and_then(|delta| delta.busy_percent());
    DiskUse {
        name,
        ios: [grown(|disk| disk.read_ios), grown(|disk| disk.write_ios)],
        merges: [grown(|disk| disk.read_merges), grown(|disk| disk.write_merges)],
        ticks_ms: [grown(|disk| disk.read_ticks_ms), grown(|disk| disk.write_ticks_ms)],
        in_queue_ms: grown(|disk| disk.weighted_ticks_ms),
        busy: busy.unwrap_or(0.0),
    }
}
