//! `--output-format=json` and `json+`.

use super::figures::Times;
use super::json_text::Json;
use super::model::{DiskUse, Document, Job, SIDES, Side, SteadyState};

/// Names of fio's classes of depth and of batch sizes.
const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
/// Names of its classes of times; the last two of milliseconds only.
const CLASSES: [&str; 12] = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

/// The whole output as one object.
pub(super) fn object(document: &Document, has_bins: bool) -> Json {
    let mut pairs = vec![
        ("fio version", Json::Text(document.version.clone())),
        ("timestamp", Json::int(u64::try_from(document.ended_wall_ns / 1_000_000_000).ok())),
        ("timestamp_ms", Json::int(u64::try_from(document.ended_wall_ns / 1_000_000).ok())),
        ("time", Json::Text(super::normal::calendar(document.ended_wall_ns))),
    ];
    if !document.global.is_empty() {
        pairs.push(("global options", options(&document.global)));
    }
    let jobs = document.jobs.iter().map(|one| job(document, one, has_bins)).collect();
    pairs.push(("jobs", Json::Array(jobs)));
    if !document.disks.is_empty() {
        pairs.push(("disk_util", Json::Array(document.disks.iter().map(disk).collect())));
    }
    Json::object(pairs)
}

/// As fio lists them: without those that have no value (`time_based`, `group_reporting`).
fn options(pairs: &[(String, String)]) -> Json {
    Json::object(
        pairs
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.clone(), Json::Text(value.clone()))),
    )
}

fn job(document: &Document, job: &Job, has_bins: bool) -> Json {
    let share = |ms: f64| if job.runtime_ms > 0 { ms * 100.0 / job.runtime_ms as f64 } else { 0.0 };
    let mut pairs = vec![
        ("jobname", Json::Text(job.name.clone())),
        ("groupid", Json::Int(job.group as u64)),
        ("error", Json::Int(u64::from(job.error.unsigned_abs()))),
        ("eta", Json::Int(0)),
        ("elapsed", Json::Int(document.elapsed_s)),
    ];
    if !job.options.is_empty() {
        pairs.push(("job options", options(&job.options)));
    }
    let group: Vec<&Job> = document.jobs.iter().filter(|other| other.group == job.group).collect();
    for (at, name) in SIDES.iter().enumerate() {
        pairs.push((name, direction(job, &job.sides[at], super::normal::aggregate(&group, at), has_bins)));
    }
    let is_asked = job.has_percentiles[1] || job.has_percentiles[2];
    let syncs =
        [("total_ios", Json::int(job.fsyncs)), ("lat_ns", times(&job.syncs, &job.percentiles, is_asked, has_bins))];
    pairs.extend([
        ("sync", Json::object(syncs)),
        ("job_runtime", Json::Int(job.runtime_ms)),
        ("usr_cpu", Json::Float(share(job.cost.user_ms))),
        ("sys_cpu", Json::Float(share(job.cost.system_ms))),
        ("ctx", Json::int(job.cost.switches)),
        ("majf", Json::int(job.cost.major_faults)),
        ("minf", Json::int(job.cost.minor_faults)),
        ("iodepth_level", shares_of(&DEPTHS, job.depths.map(|depths| depths.level))),
        ("iodepth_submit", shares_of(&BATCHES, job.depths.map(|depths| depths.submit))),
        ("iodepth_complete", shares_of(&BATCHES, job.depths.map(|depths| depths.complete))),
    ]);
    if let Some(found) = &job.classes {
        let shares =
            |shares: &[f64]| Json::object(CLASSES.iter().zip(shares).map(|(name, share)| (*name, Json::Float(*share))));
        pairs.extend([
            ("latency_ns", shares(&found.ns)),
            ("latency_us", shares(&found.us)),
            ("latency_ms", shares(&found.ms)),
        ]);
    }
    if job.continues {
        pairs.push(("total_err", Json::Int(job.errors)));
        pairs.push(("first_error", Json::Int(u64::from(job.first_error.unsigned_abs()))));
    }
    if let Some(depth) = job.depth {
        let unless_asked = |value: Json| if job.has_target { Json::Null } else { value };
        pairs.extend([
            ("latency_depth", unless_asked(Json::Int(depth))),
            ("latency_target", unless_asked(Json::Int(0))),
            ("latency_percentile", unless_asked(Json::Float(100.0))),
            ("latency_window", unless_asked(Json::Int(0))),
        ]);
    }
    if !job.description.is_empty() {
        pairs.push(("desc", Json::Text(job.description.clone())));
    }
    pairs.extend(job.steady.as_ref().map(|found| ("steadystate", steady_state(found))));
    Json::object(pairs)
}

fn steady_state(found: &SteadyState) -> Json {
    let (slope, unit) = (if found.slope { "_slope" } else { "" }, if found.percent { "%" } else { "" });
    let (iops_mean, bytes_mean) = found.means();
    // What was not reached is 0, as in fio.
    let rates = |of: fn(&(u64, u64)) -> u64| {
        let missing = usize::try_from(found.seconds).unwrap_or(0).saturating_sub(found.rates.len());
        let values = found.rates.iter().map(of).chain(std::iter::repeat_n(0, missing));
        Json::Array(values.map(Json::Int).collect())
    };
    let data = Json::object([
        ("bw_mean", Json::Int(bytes_mean)),
        ("iops_mean", Json::Int(iops_mean)),
        ("iops", rates(|(ops, _)| *ops)),
        ("bw", rates(|(_, bytes)| *bytes)),
    ]);
    let found_as = |is_asked: bool| Json::Float(if is_asked { found.found } else { 0.0 });
    Json::object([
        ("ss", Json::Text(format!("{}{slope}:{:.6}{unit}", found.measure, found.limit))),
        ("duration", Json::Int(found.seconds)),
        ("attained", Json::Int(u64::from(found.attained))),
        ("criterion", Json::Text(format!("{:.6}{unit}", found.criterion))),
        ("max_deviation", found_as(!found.slope)),
        ("slope", found_as(found.slope)),
        ("data", data),
    ])
}

/// Shares of classes; null where the recording does not have them.
fn shares_of(names: &[&str; 7], shares: Option<[f64; 7]>) -> Json {
    let share = |at: usize| shares.map_or(Json::Null, |shares| Json::Float(shares[at]));
    Json::object(names.iter().enumerate().map(|(at, name)| (*name, share(at))))
}

fn direction(job: &Job, side: &Side, aggregate: u64, has_bins: bool) -> Json {
    let bytes_per_s = side.bytes_per_s();
    let iops = if side.runtime_ms > 0 { side.ops as f64 * 1000.0 / side.runtime_ms as f64 } else { 0.0 };
    let no_times = Times::default();
    let [of_submission, of_completion, of_total] = job.has_percentiles;
    let submission = match &side.submission {
        Some(found) => times(found, &job.percentiles, of_submission, has_bins),
        None if side.ops == 0 => times(&no_times, &job.percentiles, false, has_bins),
        None => Json::object(["min", "max", "mean", "stddev", "N"].map(|name| (name, Json::Null))),
    };
    let whole = |value| Json::Int(value);
    Json::object([
        ("io_bytes", whole(side.bytes)),
        ("io_kbytes", whole(side.bytes >> 10)),
        ("bw_bytes", whole(bytes_per_s)),
        ("bw", whole(bytes_per_s / 1024)),
        ("iops", Json::Float(iops)),
        ("runtime", whole(side.runtime_ms)),
        ("total_ios", whole(side.ops)),
        ("short_ios", whole(side.short)),
        ("drop_ios", whole(0)),
        ("slat_ns", submission),
        ("clat_ns", times(&side.completion, &job.percentiles, of_completion, has_bins)),
        ("lat_ns", times(&side.total, &job.percentiles, of_total, has_bins)),
        ("bw_min", whole(side.bandwidth.min)),
        ("bw_max", whole(side.bandwidth.max)),
        ("bw_agg", Json::Float(super::normal::share_of(aggregate, &side.bandwidth))),
        ("bw_mean", Json::Float(side.bandwidth.mean)),
        ("bw_dev", Json::Float(side.bandwidth.deviation)),
        ("bw_samples", whole(side.bandwidth.count)),
        ("iops_min", whole(side.iops.min)),
        ("iops_max", whole(side.iops.max)),
        ("iops_mean", Json::Float(side.iops.mean)),
        ("iops_stddev", Json::Float(side.iops.deviation)),
        ("iops_samples", whole(side.iops.count)),
    ])
}

fn times(times: &Times, percentiles: &[f64], is_asked: bool, has_bins: bool) -> Json {
    let mut pairs = vec![
        ("min", Json::Int(times.min)),
        ("max", Json::Int(times.max)),
        ("mean", Json::Float(times.mean)),
        ("stddev", Json::Float(times.deviation)),
        ("N", Json::Int(times.count)),
    ];
    if is_asked && times.count > 0 && !times.bins.is_empty() {
        let percentile = |percent: &f64| (format!("{percent:.6}"), Json::int(times.percentile(*percent)));
        pairs.push(("percentile", Json::object(percentiles.iter().map(percentile))));
        if has_bins {
            pairs
                .push(("bins", Json::object(times.bins.iter().map(|(middle, n)| (middle.to_string(), Json::Int(*n))))));
        }
    }
    Json::object(pairs)
}

fn disk(disk: &DiskUse) -> Json {
    Json::object([
        ("name", Json::Text(disk.name.clone())),
        ("read_ios", Json::Int(disk.ios[0])),
        ("write_ios", Json::Int(disk.ios[1])),
        ("read_merges", Json::Int(disk.merges[0])),
        ("write_merges", Json::Int(disk.merges[1])),
        ("read_ticks", Json::Int(disk.ticks_ms[0])),
        ("write_ticks", Json::Int(disk.ticks_ms[1])),
        ("in_queue", Json::Int(disk.in_queue_ms)),
        ("util", Json::Float(disk.busy)),
    ])
}
