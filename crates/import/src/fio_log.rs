//! fio's logs (`write_lat_log=`, `write_bw_log=`, `write_iops_log=`, `write_hist_log=`): what fio did in time.
//!
//! Beside fio's JSON they give its jobs their intervals; alone they are a recording of their own.

mod grid;
mod text;

use crate::ImportError;
use crate::printed::{seconds, whole};
use crate::results::{Results, phase_rows};
use grid::{Cell, Grid, JobLogs, Lanes};
use quantity::histogram::{Histogram, STORED_SUB_BITS};
use recording::LoadPhase;
use recording::rows::{OpInterval, RunTotal};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use text::{Log, OPS};

/// Name of the format.
pub(super) const NAME: &str = "fio-log";

/// The logs of jobs that ran at the same time, brought together.
#[derive(Debug)]
pub(super) struct Logs {
    /// By the job's number from 1; 0 when all jobs are in one file.
    jobs: BTreeMap<u32, Lanes>,
    grid: Grid,
    end_ms: u64,
    pub(super) notes: Vec<String>,
}

/// Names and place of what a job's rows are of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of<'a> {
    pub(super) run: &'a str,
    pub(super) run_index: i32,
    pub(super) workload: &'a str,
    pub(super) target: &'a str,
    /// Start of the run, ns.
    pub(super) from_ns: i64,
}

/// The first log in a folder.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    Log::all(folder).ok()?.into_iter().next().map(|log| log.path)
}

/// Is it a log by its name?
pub(super) fn is_log(path: &Path) -> bool {
    Log::of(path).is_some()
}

impl Logs {
    /// The logs with one of these prefixes in a folder; `None` when there are none.
    pub(super) fn of(folder: &Path, prefixes: &BTreeSet<&str>) -> Result<Option<Self>, ImportError> {
        let mut jobs: BTreeMap<u32, JobLogs> = BTreeMap::new();
        for log in Log::all(folder)?.into_iter().filter(|log| prefixes.contains(log.prefix.as_str())) {
            jobs.entry(log.job.unwrap_or(0)).or_default().insert(log.kind, log);
        }
        if jobs.is_empty() {
            return Ok(None);
        }
        let grid = Grid::of(jobs.values())?;
        let mut logs = Self { jobs: BTreeMap::new(), grid, end_ms: 0, notes: Vec::new() };
        for (job, of_job) in &jobs {
            let (lanes, end_ms, notes) = grid.lanes(of_job)?;
            logs.end_ms = logs.end_ms.max(end_ms);
            logs.notes.extend(notes);
            if lanes.iter().any(|cells| !cells.is_empty()) {
                logs.jobs.insert(*job, lanes);
            }
        }
        Ok((!logs.jobs.is_empty()).then_some(logs))
    }

    /// Is there something of each job, one to so many?
    pub(super) fn has_jobs(&self, count: usize) -> bool {
        self.jobs.len() == count && self.jobs.keys().zip(1..).all(|(job, number)| *job == number)
    }

    /// UTC of their start, when their times are of day.
    fn started_wall_ns(&self) -> Option<i64> {
        (self.grid.origin_ms > 0).then(|| i64::try_from(self.grid.origin_ms.saturating_mul(1_000_000)).unwrap_or(0))
    }

    /// Length of what they cover, ns.
    pub(super) fn length_ns(&self) -> i64 {
        i64::try_from(self.end_ms.saturating_mul(1_000_000)).unwrap_or(i64::MAX)
    }

    /// The intervals of one job.
    pub(super) fn intervals(&self, job: u32, of: Of<'_>) -> Vec<OpInterval> {
        let Some(lanes) = self.jobs.get(&job) else { return Vec::new() };
        let ns = |ms: u64| i64::try_from(ms.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
        let mut rows = Vec::new();
        for (op, cells) in OPS.iter().zip(lanes) {
            for (at, cell) in (0_u64..).zip(cells).filter(|(_, cell)| whole(cell.ops) > 0) {
                let from_ms = at * self.grid.period_ms;
                let to_ms = (from_ms + self.grid.period_ms).min(self.end_ms.max(from_ms + 1));
                rows.push(interval(of, op, cell, ns(to_ms).saturating_add(of.from_ns), ns(to_ms - from_ms)));
            }
        }
        rows
    }
}

fn interval(of: Of<'_>, op: &str, cell: &Cell, t_ns: i64, interval_ns: i64) -> OpInterval {
    let service = cell.service.clone().unwrap_or_default();
    OpInterval {
        t_ns,
        t_s: seconds(t_ns),
        interval_ns,
        run: of.run.to_string(),
        run_index: of.run_index,
        phase: LoadPhase::Measure,
        workload: of.workload.to_string(),
        target: of.target.to_string(),
        op: op.to_string(),
        arrivals: None,
        ops: whole(cell.ops),
        bytes: whole(cell.bytes.unwrap_or(0.0)),
        errors: None,
        response: Histogram::default(),
        // Little's law, as far as the times are known.
        in_flight_mean: cell.service.as_ref().map(|service| service.sum() as f64 / interval_ns as f64),
        service: service.collapse(STORED_SUB_BITS),
        wait: None,
        backlog: None,
    }
}

/// Reads the logs that belong to the one at `path`: all of its prefix, every job of them.
pub(super) fn read(path: &Path, _: &str) -> Result<Results, ImportError> {
    let malformed = |what: &str| ImportError::Malformed { path: path.to_path_buf(), line: 1, what: what.to_string() };
    let Some(log) = Log::of(path) else {
        return Err(malformed("fio's logs are known by their names: PREFIX_lat.1.log, PREFIX_bw.1.log, …"));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(logs) = Logs::of(folder, &BTreeSet::from([log.prefix.as_str()]))? else {
        return Err(malformed(
            "its logs do not tell how many operations there were: write_iops_log= or write_hist_log= does",
        ));
    };
    let mut results = Results { program: "fio".to_string(), notes: logs.notes.clone(), ..Results::default() };
    results.phases.extend(phase_rows((&log.prefix, 0, ""), &LoadPhase::Measure, (0, logs.length_ns()), None));
    for job in logs.jobs.keys() {
        let workload = if *job == 0 { log.prefix.clone() } else { format!("{}.{job}", log.prefix) };
        let of = Of { run: &log.prefix, run_index: 0, workload: &workload, target: "all", from_ns: 0 };
        let rows = logs.intervals(*job, of);
        results.totals.extend(totals(&rows, logs.length_ns()));
        results.intervals.extend(rows);
    }
    results.intervals.sort_by_key(|row| row.t_ns);
    let ended = std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let ended = ended.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let ended_ns = ended.map_or(0, |time| i64::try_from(time.as_nanos()).unwrap_or(0));
    results.started_wall_ns =
        logs.started_wall_ns().unwrap_or_else(|| ended_ns.saturating_sub(logs.length_ns()).max(0));
    let mut say = |note: &str| results.notes.push(note.to_string());
    say("fio times from submission: its latencies are service times here, response times are not recorded");
    say("fio's logs do not keep arrivals and failed operations: they are null; they name neither jobs nor targets");
    say("all jobs of the logs were taken to begin together; the JSON of the run tells which followed which");
    Ok(results)
}

/// The sums of a job's intervals, by operation.
fn totals(rows: &[OpInterval], length_ns: i64) -> Vec<RunTotal> {
    let mut totals: BTreeMap<&str, RunTotal> = BTreeMap::new();
    for row in rows {
        let total = totals.entry(&row.op).or_insert_with(|| RunTotal {
            t_ns: length_ns,
            t_s: seconds(length_ns),
            start_t_ns: 0,
            run: row.run.clone(),
            run_index: row.run_index,
            phase: row.phase.clone(),
            workload: row.workload.clone(),
            target: row.target.clone(),
            op: row.op.clone(),
            arrivals: None,
            ops: 0,
            bytes: 0,
            errors: None,
            response: Histogram::default(),
            service: Histogram::default(),
            short: None,
            first_error: None,
            first_error_t_ns: None,
            wait: None,
        });
        total.ops = total.ops.saturating_add(row.ops);
        total.bytes = total.bytes.saturating_add(row.bytes);
        total.service.merge(&row.service);
    }
    totals.into_values().collect()
}
