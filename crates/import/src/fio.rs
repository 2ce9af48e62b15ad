//! fio's JSON (`--output-format=json`, `json+`): totals of every job; whole histograms where json+ kept its bins.
//!
//! fio times from submission: its completion latency is a service time here.

mod documents;
mod failures;
mod old;

use crate::ImportError;
use crate::fio_log::{Logs, Of};
use crate::printed::{seconds, sum_of, whole};
use crate::results::{Results, phase_rows};
use documents::{Documents, jobs_of};
use quantity::histogram::Histogram;
use recording::LoadPhase;
use recording::rows::{OpInterval, RunTotal};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Sub-buckets per octave of fio's histograms, as a power of two.
const PLAT_BITS: u32 = 6;
/// Keys of a job that hold operations, and what they are called here.
const OPS: [(&str, &str); 4] = [("read", "read"), ("write", "write"), ("trim", "trim"), ("sync", "flush")];

/// An object that says which fio it is from.
pub(super) fn sniff(text: &str) -> bool {
    text.contains("\"fio version\"")
}

/// The only JSON of fio in a folder.
pub(super) fn find(folder: &Path) -> Option<PathBuf> {
    let is_fio = |path: &PathBuf| {
        let mut start = String::new();
        let file = std::fs::File::open(path).map(|file| file.take(4096).read_to_string(&mut start));
        path.extension().is_some_and(|end| end == "json") && file.is_ok() && sniff(&start)
    };
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_fio).collect();
    <[PathBuf; 1]>::try_from(found).ok().map(|[only]| only)
}

/// The logs that the jobs' `write_*_log` options name, when they are in the same folder as the JSON.
fn logs_beside(path: &Path, jobs: &[Value], global: &Value) -> Result<Option<Logs>, ImportError> {
    let mut prefixes: BTreeSet<&str> = BTreeSet::new();
    for job in jobs {
        for key in ["write_lat_log", "write_hist_log", "write_iops_log", "write_bw_log"] {
            let prefix = job["job options"][key].as_str().or_else(|| global[key].as_str());
            // Without a value the job's name is the prefix; a folder before it is not where the JSON is.
            let prefix =
                prefix.map(|prefix| if prefix.is_empty() { job["jobname"].as_str().unwrap_or("") } else { prefix });
            prefixes.extend(prefix.and_then(|prefix| prefix.rsplit('/').next()));
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if prefixes.is_empty() { Ok(None) } else { Logs::of(folder, &prefixes) }
}

/// Reads the file: the last whole document has the totals, the differences of those before are intervals.
pub(super) fn read(path: &Path, text: &str) -> Result<Results, ImportError> {
    let malformed = |line: usize, what: String| ImportError::Malformed { path: path.to_path_buf(), line, what };
    let mut documents = Documents::of(text);
    let renewed = documents.whole.iter_mut().map(old::renewed).collect::<Result<Vec<bool>, String>>();
    let is_old = renewed.map_err(|what| malformed(documents.before + 1, what))?.last() == Some(&true);
    let before = documents.before;
    let Some((value, earlier, others)) = documents.last() else {
        return Err(match documents.broken {
            Some((line, error)) => malformed(line, format!("no JSON of fio: {error}")),
            None if before < text.lines().count() => {
                malformed(before + 1, "this JSON is not fio's: it has no `fio version`".to_string())
            }
            None => malformed(text.lines().count().max(1), "no JSON object of fio was found".to_string()),
        });
    };
    let line_of = |key: &str| text.lines().position(|line| line.contains(key)).unwrap_or(before) + 1;
    let jobs = jobs_of(value);
    if jobs.is_empty() {
        return Err(malformed(line_of("\"jobs\""), "there are no jobs in it".to_string()));
    }
    if let Some(what) = jobs.iter().find_map(without_bytes) {
        return Err(malformed(line_of("\"jobs\""), what));
    }
    let mut results =
        Results { program: value["fio version"].as_str().unwrap_or_default().to_string(), ..Results::default() };
    if before > 0 {
        results.notes.push(format!("{before} lines before the JSON were left out"));
    }
    results.notes.extend(documents_notes(&documents, earlier.len(), others));
    let global = &value["global options"];
    let mut logs = logs_beside(path, jobs, global)?;
    if logs.as_ref().is_some_and(|logs| !logs.has_jobs(jobs.len())) {
        logs = None;
        let what = "the logs beside it are not one of each job (per_job_logs=0, group_reporting): they were left out";
        results.notes.push(what.to_string());
    }
    let groups = groups(jobs, global);
    let mut at_ns = 0;
    for (index, group) in groups.iter().enumerate() {
        let source = logs.as_ref().map_or(Source::Documents(earlier), Source::Logs);
        at_ns = group.rows(i32::try_from(index).unwrap_or(i32::MAX), at_ns, source, &mut results);
    }
    if results.totals.is_empty() {
        return Err(malformed(line_of("\"jobs\""), "none of its jobs did any operation".to_string()));
    }
    let ended_ns = value["timestamp_ms"].as_i64().and_then(|ms| ms.checked_mul(1_000_000));
    let ended_ns = ended_ns.or_else(|| value["timestamp"].as_i64().and_then(|s| s.checked_mul(1_000_000_000)));
    results.started_wall_ns = ended_ns.unwrap_or(0).saturating_sub(at_ns).max(0);
    let has_bins = results.totals.iter().any(|total| !total.service.is_summary());
    let mut say = |note: &str| results.notes.push(note.to_string());
    say("fio times from submission: its completion latency is a service time here, response times are not recorded");
    say("fio does not keep arrivals, and failed operations with continue_on_error only: what it does not keep is null");
    if is_old {
        say("fio 2 has KiB and µs, which were converted; the bins of its json+ are not read");
    }
    match &logs {
        Some(logs) => logs.notes.iter().for_each(|note| say(note)),
        None if !earlier.is_empty() => {}
        None => say("this JSON has one line per job, no intervals: fio's logs (write_lat_log= and so on) have them"),
    }
    if !has_bins {
        say("there are no bins in this JSON (--output-format=json+ keeps them): percentiles are not recorded");
    }
    Ok(results)
}

/// What is said of an output of several documents.
fn documents_notes(documents: &Documents, earlier: usize, others: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if earlier > 0 {
        notes.push(format!(
            "{} documents of one run (--status-interval): the last has the totals, their differences are the intervals",
            earlier + 1
        ));
    }
    if others > 0 {
        notes.push(format!(
            "{others} documents before are of other runs, or from before ramp_time was over: they were left out"
        ));
    }
    match &documents.broken {
        Some((line, _)) if documents.is_cut => notes.push(format!(
            "the last document breaks off on line {line}: the one before it was read, what came later is not in it"
        )),
        Some((line, error)) => notes.push(format!("a document that is not whole was left out (line {line}: {error})")),
        None => {}
    }
    notes
}

/// Where the intervals come from.
#[derive(Clone, Copy)]
enum Source<'a> {
    Logs(&'a Logs),
    /// Earlier states.
    Documents(&'a [Value]),
}

/// Jobs that ran at the same time.
struct Group<'a> {
    /// Number from 1, name, JSON.
    jobs: Vec<(u32, String, &'a Value)>,
    filename: String,
    /// What all jobs do that say nothing else.
    rw: Option<&'a str>,
}

/// Jobs by `groupid`; names that occur twice (`numjobs`) get a number.
fn groups<'a>(jobs: &'a [Value], global: &'a Value) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<i64, Group<'a>> = BTreeMap::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (number_of_job, job) in (1..).zip(jobs) {
        let name = job["jobname"].as_str().unwrap_or("job");
        let group = groups.entry(job["groupid"].as_i64().unwrap_or(0)).or_insert_with(|| Group {
            jobs: Vec::new(),
            filename: file_of(global).unwrap_or_default(),
            rw: rw_of(global),
        });
        let number = seen.entry(name).and_modify(|number| *number += 1).or_insert(0);
        let name = if *number == 0 { name.to_string() } else { format!("{name}.{number}") };
        group.jobs.push((number_of_job, name, job));
    }
    groups.into_values().collect()
}

fn rw_of(options: &Value) -> Option<&str> {
    ["rw", "readwrite"].iter().find_map(|key| options[*key].as_str())
}

fn file_of(options: &Value) -> Option<String> {
    ["filename", "directory"].iter().find_map(|key| options[*key].as_str()).map(String::from)
}

impl Group<'_> {
    /// Rows of the group, which begins at `from_ns`; gives its end.
    fn rows(&self, run_index: i32, from_ns: i64, source: Source<'_>, results: &mut Results) -> i64 {
        let length_ns = length_ns(self.jobs.iter().map(|(_, _, job)| *job)).max(1_000_000);
        let end_ns = from_ns.saturating_add(length_ns);
        let run = match self.jobs.as_slice() {
            [(_, name, _)] => name.clone(),
            several => {
                format!("{} and {} more", several.first().map_or("", |job| &job.1), several.len().saturating_sub(1))
            }
        };
        results.phases.extend(phase_rows((&run, run_index, ""), &LoadPhase::Measure, (from_ns, end_ns), None));
        let before = results.intervals.len();
        for (number, name, job) in &self.jobs {
            let options = &job["job options"];
            let target = file_of(options).unwrap_or_else(|| self.filename.clone());
            let target = if target.is_empty() { name.clone() } else { target };
            let failed = job["error"].as_i64().unwrap_or(0);
            if failed != 0 {
                results.notes.push(format!("job {name} ended with error {failed}"));
            }
            let begun = (results.totals.len(), results.intervals.len());
            for (key, op) in OPS {
                let stats = &job[key];
                let Some(ops) = known(&stats["total_ios"]).filter(|ops| *ops > 0) else {
                    results.notes.extend(not_known(name, key, &stats["total_ios"]));
                    continue;
                };
                let total = RunTotal {
                    t_ns: end_ns,
                    t_s: seconds(end_ns),
                    start_t_ns: from_ns,
                    run: run.clone(),
                    run_index,
                    phase: LoadPhase::Measure,
                    workload: name.clone(),
                    target: target.clone(),
                    op: op.to_string(),
                    arrivals: None,
                    ops,
                    bytes: integer(&stats["io_bytes"]),
                    errors: None,
                    response: Histogram::default(),
                    service: latency(stats),
                    short: None,
                    first_error: None,
                    first_error_t_ns: None,
                    wait: None,
                };
                if let Source::Documents(earlier) = source {
                    let states = self.states(earlier, (*number, key), length_ns);
                    results.intervals.extend(intervals(&total, length_ns, &states));
                }
                results.totals.push(total);
            }
            let (totals, intervals) = (&mut results.totals[begun.0..], &mut results.intervals[begun.1..]);
            let said = failures::take_over(job, rw_of(options).or(self.rw), totals, intervals);
            results.notes.extend(said.map(|said| format!("job {name}: {said}")));
            let of = Of { run: &run, run_index, workload: name, target: &target, from_ns };
            if let Source::Logs(logs) = source {
                results.intervals.extend(logs.intervals(*number, of));
            }
        }
        // Rows of one interval stand together.
        results.intervals[before..].sort_by_key(|row| row.t_ns);
        end_ns
    }
}

/// Said of a count that is below 0.
fn not_known(name: &str, key: &str, count: &Value) -> Option<String> {
    let is_below = count.as_f64().is_some_and(|count| count < 0.0);
    is_below.then(|| format!("job {name}: total_ios of {key} is {count}, which is not known: it has no row"))
}

/// What is wrong with a job that has operations whose bytes are not known: a table cannot hold that.
fn without_bytes(job: &Value) -> Option<String> {
    let of_data = OPS.iter().filter(|(key, _)| *key != "sync").map(|(key, _)| *key);
    let mut wanting = of_data.filter(|key| {
        known(&job[*key]["total_ios"]).is_some_and(|ops| ops > 0) && known(&job[*key]["io_bytes"]).is_none()
    });
    wanting.next().map(|key| {
        format!(
            "job {}: its {key} has total_ios and no io_bytes that is a number of 0 or more",
            job["jobname"].as_str().unwrap_or("job")
        )
    })
}

/// How long the longest of these jobs has run, ns.
fn length_ns<'a>(jobs: impl Iterator<Item = &'a Value>) -> i64 {
    let runtime_ms = |job: &Value| {
        let own = OPS.iter().filter_map(|(key, _)| job[*key]["runtime"].as_f64()).fold(0.0, f64::max);
        if own > 0.0 { own } else { job["job_runtime"].as_f64().unwrap_or(0.0) }
    };
    whole(jobs.map(runtime_ms).fold(0.0, f64::max).clamp(0.0, 1e9) * 1e6)
}

/// In the buckets that fio counts in: within finer ones, the same bin's values may lie in another place later.
fn of_fios_bins(times: &Histogram) -> Histogram {
    times.collapse(PLAT_BITS)
}

/// What a job had done of one kind of operation when its group had run for `at_ns`.
struct State {
    at_ns: i64,
    ops: i64,
    bytes: i64,
    service: Histogram,
}

impl State {
    fn of(stats: &Value, at_ns: i64) -> Self {
        let count = |key: &str| stats[key].as_f64().map_or(0, whole);
        Self { at_ns, ops: count("total_ios"), bytes: count("io_bytes"), service: of_fios_bins(&latency(stats)) }
    }
}

impl Group<'_> {
    /// The earlier states of a job's operation while its group ran.
    fn states(&self, earlier: &[Value], (number, key): (u32, &str), length_ns: i64) -> Vec<State> {
        let of_number = |jobs: &'_ [Value], number: u32| {
            usize::try_from(number).ok().and_then(|number| jobs.get(number.checked_sub(1)?)).cloned()
        };
        let mut states: Vec<State> = Vec::new();
        for document in earlier {
            let jobs = jobs_of(document);
            let own: Vec<Value> = self.jobs.iter().filter_map(|(number, ..)| of_number(jobs, *number)).collect();
            let at_ns = self::length_ns(own.iter());
            let last_ns = states.last().map_or(0, |state| state.at_ns);
            // Before the group began, and after it ended, nothing moves.
            if at_ns > last_ns
                && at_ns < length_ns
                && let Some(job) = of_number(jobs, number)
            {
                states.push(State::of(&job[key], at_ns));
            }
        }
        states
    }
}

/// The differences of the states up to the total: the whole run as one interval where there are none.
fn intervals(total: &RunTotal, length_ns: i64, states: &[State]) -> Vec<OpInterval> {
    let end = State { at_ns: length_ns, ops: total.ops, bytes: total.bytes, service: of_fios_bins(&total.service) };
    let mut before = &State { at_ns: 0, ops: 0, bytes: 0, service: Histogram::default() };
    let mut rows = Vec::new();
    for (at, state) in (1..).zip(states.iter().chain([&end])) {
        let service = state.service.since(&before.service);
        // An earlier state that is no part of this one, as where fio began its statistics anew, tells nothing.
        if service.is_none() && at <= states.len() {
            continue;
        }
        if state.ops > before.ops {
            let done = (state.ops - before.ops, (state.bytes - before.bytes).max(0));
            rows.push(interval(total, (before.at_ns, state.at_ns), done, &service.unwrap_or_default()));
        }
        before = state;
    }
    rows
}

fn interval(
    total: &RunTotal,
    (from_ns, to_ns): (i64, i64),
    (ops, bytes): (i64, i64),
    service: &Histogram,
) -> OpInterval {
    let length_ns = to_ns - from_ns;
    let t_ns = total.start_t_ns.saturating_add(to_ns);
    OpInterval {
        t_ns,
        t_s: seconds(t_ns),
        interval_ns: length_ns,
        run: total.run.clone(),
        run_index: total.run_index,
        phase: total.phase.clone(),
        workload: total.workload.clone(),
        target: total.target.clone(),
        op: total.op.clone(),
        arrivals: None,
        ops,
        bytes,
        errors: None,
        response: Histogram::default(),
        wait: None,
        // Little's law: the time that all operations together were in flight.
        in_flight_mean: (length_ns > 0 && service.count() > 0).then(|| service.sum() as f64 / length_ns as f64),
        service: service.collapse(quantity::histogram::STORED_SUB_BITS),
        backlog: None,
    }
}

/// Completion latency, else what fio has; from bins where they are.
fn latency(stats: &Value) -> Histogram {
    let found = ["clat_ns", "lat_ns"].iter().map(|key| &stats[*key]).find(|times| number(times, "N") > 0);
    let Some(times) = found else { return Histogram::default() };
    let (n, min, max) = (number(times, "N"), number(times, "min"), number(times, "max"));
    let mean = times["mean"].as_f64().filter(|mean| mean.is_finite() && *mean >= 0.0).unwrap_or(0.0);
    let sum = sum_of(mean, n);
    let summary = || Histogram::of_summary(n, sum, Some(min), Some(max));
    let Some(bins) = times["bins"].as_object().filter(|bins| !bins.is_empty()) else { return summary() };
    let bins: Option<Vec<(u64, u64)>> =
        bins.iter().map(|(value, count)| Some((value.parse().ok()?, count.as_u64()?))).collect();
    let whole = bins.filter(|bins| bins.iter().try_fold(0_u64, |sum, bin| sum.checked_add(bin.1)) == Some(n));
    whole.and_then(|bins| Histogram::of_buckets(&bins, sum, min, max)).unwrap_or_else(summary)
}

fn number(times: &Value, key: &str) -> u64 {
    integer(&times[key]).unsigned_abs()
}

/// A whole number to its last digit, where a table has room for it.
fn integer(value: &Value) -> i64 {
    known(value).unwrap_or(0)
}

/// The same; a number below 0 is what an overflow leaves, and not known.
fn known(value: &Value) -> Option<i64> {
    let of_float = || value.as_f64().filter(|value| *value >= 0.0).map(whole);
    value.as_i64().filter(|value| *value >= 0).or_else(of_float)
}
