//! fio's JSON (`--output-format=json`, `json+`): totals of every job; whole histograms where json+ kept its bins.
//!
//! fio times from submission: its completion latency is a service time here.

use super::fio_log::{Logs, Of};
use super::{Results, count, phase_rows, seconds, whole};
use crate::ConvertError;
use quantity::histogram::Histogram;
use recording::rows::{OpInterval, RunTotal};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

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

/// The logs that the jobs were told to write, when they are in the same folder as the JSON.
fn logs_beside(path: &Path, jobs: &[Value], global: &Value) -> Result<Option<Logs>, ConvertError> {
    let mut prefixes: BTreeSet<&str> = BTreeSet::new();
    for job in jobs {
        for key in ["write_lat_log", "write_hist_log", "write_iops_log", "write_bw_log"] {
            let told = job["job options"][key].as_str().or_else(|| global[key].as_str());
            // Without a value the job's name is the prefix; a folder before it is not where the JSON is.
            let told =
                told.map(|prefix| if prefix.is_empty() { job["jobname"].as_str().unwrap_or("") } else { prefix });
            prefixes.extend(told.and_then(|prefix| prefix.rsplit('/').next()));
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if prefixes.is_empty() { Ok(None) } else { Logs::of(folder, &prefixes) }
}

/// Reads the file.
pub(super) fn read(path: &Path, text: &str) -> Result<Results, ConvertError> {
    let malformed = |line: usize, what: String| ConvertError::Malformed { path: path.to_path_buf(), line, what };
    // fio's messages come before the object when both went to one file.
    let before = text.lines().take_while(|line| !line.starts_with('{')).count();
    let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
    let value = match values.next() {
        Some(Ok(value)) => value,
        Some(Err(error)) => {
            let what = format!("no JSON of fio: {error}");
            return Err(malformed(before + error.line().max(1), what));
        }
        None => return Err(malformed(text.lines().count().max(1), "no JSON object of fio was found".to_string())),
    };
    let line_of = |key: &str| text.lines().position(|line| line.contains(key)).unwrap_or(before) + 1;
    if value["fio version"].as_str().is_none() {
        return Err(malformed(before + 1, "this JSON is not fio's: it has no `fio version`".to_string()));
    }
    // A client's jobs are under another key; both have the same shape.
    let jobs = value["jobs"].as_array().or_else(|| value["client_stats"].as_array());
    let Some(jobs) = jobs.filter(|jobs| !jobs.is_empty()) else {
        return Err(malformed(line_of("\"jobs\""), "there are no jobs in it".to_string()));
    };
    let mut results =
        Results { program: value["fio version"].as_str().unwrap_or_default().to_string(), ..Results::default() };
    if before > 0 {
        results.notes.push(format!("{before} lines before the JSON were left out"));
    }
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
        at_ns = group.rows(i32::try_from(index).unwrap_or(i32::MAX), at_ns, logs.as_ref(), &mut results);
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
    say("fio does not keep arrivals and failed operations: they are null");
    match &logs {
        Some(logs) => logs.notes.iter().for_each(|note| say(note)),
        None => say("this JSON has one line per job, no intervals: fio's logs (write_lat_log= and so on) have them"),
    }
    if !has_bins {
        say("there are no bins in this JSON (--output-format=json+ keeps them): percentiles are not recorded");
    }
    Ok(results)
}

/// Jobs that ran at the same time.
struct Group<'a> {
    /// Number from 1, name, JSON.
    jobs: Vec<(u32, String, &'a Value)>,
    filename: String,
}

/// Jobs by `groupid`; names that occur twice (`numjobs`) get a number.
fn groups<'a>(jobs: &'a [Value], global: &Value) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<i64, Group<'a>> = BTreeMap::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (number_of_job, job) in (1..).zip(jobs) {
        let name = job["jobname"].as_str().unwrap_or("job");
        let group = groups
            .entry(job["groupid"].as_i64().unwrap_or(0))
            .or_insert_with(|| Group { jobs: Vec::new(), filename: file_of(global).unwrap_or_default() });
        let number = seen.entry(name).and_modify(|number| *number += 1).or_insert(0);
        let name = if *number == 0 { name.to_string() } else { format!("{name}.{number}") };
        group.jobs.push((number_of_job, name, job));
    }
    groups.into_values().collect()
}

fn file_of(options: &Value) -> Option<String> {
    ["filename", "directory"].iter().find_map(|key| options[*key].as_str()).map(String::from)
}

impl Group<'_> {
    /// Rows of the group, which begins at `from_ns`; gives its end.
    fn rows(&self, run_index: i32, from_ns: i64, logs: Option<&Logs>, results: &mut Results) -> i64 {
        let runtime_ms = |job: &Value| {
            let own = OPS.iter().filter_map(|(key, _)| job[*key]["runtime"].as_f64()).fold(0.0, f64::max);
            if own > 0.0 { own } else { job["job_runtime"].as_f64().unwrap_or(0.0) }
        };
        let longest = self.jobs.iter().map(|(_, _, job)| runtime_ms(job)).fold(0.0, f64::max);
        let length_ns = whole(longest.clamp(1.0, 1e9) * 1e6);
        let end_ns = from_ns.saturating_add(length_ns);
        let run = match self.jobs.as_slice() {
            [(_, name, _)] => name.clone(),
            several => {
                format!("{} and {} more", several.first().map_or("", |job| &job.1), several.len().saturating_sub(1))
            }
        };
        results.phases.extend(phase_rows((&run, run_index, ""), "measure", (from_ns, end_ns), None));
        let before = results.intervals.len();
        for (number, name, job) in &self.jobs {
            let options = &job["job options"];
            let target = file_of(options).unwrap_or_else(|| self.filename.clone());
            let target = if target.is_empty() { name.clone() } else { target };
            let failed = job["error"].as_i64().unwrap_or(0);
            if failed != 0 {
                results.notes.push(format!("job {name} ended with error {failed}"));
            }
            for (key, op) in OPS {
                let stats = &job[key];
                let ops = stats["total_ios"].as_f64().map_or(0, whole);
                if ops == 0 {
                    continue;
                }
                let total = RunTotal {
                    t_ns: end_ns,
                    t_s: seconds(end_ns),
                    start_t_ns: from_ns,
                    run: run.clone(),
                    run_index,
                    phase: "measure".to_string(),
                    workload: name.clone(),
                    target: target.clone(),
                    op: op.to_string(),
                    arrivals: None,
                    ops,
                    bytes: stats["io_bytes"].as_f64().map_or(0, whole),
                    errors: None,
                    response: Histogram::default(),
                    service: latency(stats),
                    short: None,
                    first_error: None,
                    first_error_t_ns: None,
                    wait: None,
                };
                if logs.is_none() {
                    results.intervals.push(interval(&total, length_ns));
                }
                results.totals.push(total);
            }
            let of = Of { run: &run, run_index, workload: name, target: &target, from_ns };
            results.intervals.extend(logs.into_iter().flat_map(|logs| logs.intervals(*number, of)));
        }
        // Rows of one interval stand together.
        results.intervals[before..].sort_by_key(|row| row.t_ns);
        end_ns
    }
}

/// The whole run as one interval.
fn interval(total: &RunTotal, length_ns: i64) -> OpInterval {
    OpInterval {
        t_ns: total.t_ns,
        t_s: total.t_s,
        interval_ns: length_ns,
        run: total.run.clone(),
        run_index: total.run_index,
        phase: total.phase.clone(),
        workload: total.workload.clone(),
        target: total.target.clone(),
        op: total.op.clone(),
        arrivals: None,
        ops: total.ops,
        bytes: total.bytes,
        errors: None,
        response: Histogram::default(),
        service: total.service.collapse(quantity::histogram::STORED_SUB_BITS),
        wait: None,
        // Little's law: the time that all operations together were in flight.
        in_flight_mean: (length_ns > 0 && total.service.count() > 0)
            .then(|| total.service.sum() as f64 / length_ns as f64),
        backlog: None,
    }
}

/// Completion latency, else what fio has; from bins where they are.
fn latency(stats: &Value) -> Histogram {
    let found = ["clat_ns", "lat_ns"].iter().map(|key| &stats[*key]).find(|times| number(times, "N") > 0);
    let Some(times) = found else { return Histogram::default() };
    let (n, min, max) = (number(times, "N"), number(times, "min"), number(times, "max"));
    let mean = times["mean"].as_f64().filter(|mean| mean.is_finite() && *mean >= 0.0).unwrap_or(0.0);
    let sum = u128::from(count(mean * n as f64));
    let summary = || Histogram::of_summary(n, sum, Some(min), Some(max));
    let Some(bins) = times["bins"].as_object().filter(|bins| !bins.is_empty()) else { return summary() };
    let bins: Option<Vec<(u64, u64)>> =
        bins.iter().map(|(value, count)| Some((value.parse().ok()?, count.as_u64()?))).collect();
    let whole = bins.filter(|bins| bins.iter().try_fold(0_u64, |sum, bin| sum.checked_add(bin.1)) == Some(n));
    whole.and_then(|bins| Histogram::of_buckets(&bins, sum, min, max)).unwrap_or_else(summary)
}

fn number(times: &Value, key: &str) -> u64 {
    times[key].as_f64().map_or(0, count)
}
