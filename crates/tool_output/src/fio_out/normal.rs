//! `--output-format=normal`: fio's text for people.

use super::figures::{Classes, Times, short};
use super::model::{Depths, DiskUse, Document, Job, Side, SteadyState, per_second};
use quantity::text::civil;
use std::fmt::Write as _;

/// Significant digits of fio's short numbers (`significant_figures`).
const DIGITS: usize = 4;
/// Classes of times on one line.
const CLASSES_PER_LINE: usize = 5;
const CLASSES: [&str; 12] =
    ["2=", "4=", "10=", "20=", "50=", "100=", "250=", "500=", "750=", "1000=", "2000=", ">=2000="];

/// Bytes per second of all jobs of a group in one direction, over the longest of them.
pub(super) fn aggregate(group: &[&Job], side: usize) -> u64 {
    let longest = group.iter().map(|job| job.sides[side].runtime_ms).max().unwrap_or(0);
    per_second(group.iter().map(|job| job.sides[side].bytes).sum(), longest)
}

/// Percent that the mean of these samples, in KiB/s, is of `aggregate` B/s, 100 at most, as fio computes it: 0 without a sample.
pub(super) fn share_of(aggregate: u64, samples: &Times) -> f64 {
    match samples.count {
        0 => 0.0,
        _ if aggregate > 1024 => (samples.mean * 100.0 / (aggregate as f64 / 1024.0)).min(100.0),
        _ => 100.0,
    }
}

/// `Thu Nov 26 11:00:30 2026`, UTC.
pub(super) fn calendar(wall_ns: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let ((year, month, day), (hour, minute, second)) = civil(wall_ns);
    let weekday = wall_ns.div_euclid(86_400_000_000_000).rem_euclid(7);
    let name = |names: &[&'static str], at: i64| {
        usize::try_from(at).ok().and_then(|at| names.get(at).copied()).unwrap_or("???")
    };
    format!("{} {} {day:2} {hour:02}:{minute:02}:{second:02} {year}", name(&DAYS, weekday), name(&MONTHS, month - 1))
}

/// Everything.
pub(super) fn page(document: &Document) -> String {
    let count: usize = document.jobs.iter().map(|job| job.members).sum();
    let mut text =
        format!("{}\nStarting {count} {}\n\n", document.version, if count == 1 { "process" } else { "processes" });
    for job in document.jobs.iter().filter(|job| job.sides.iter().any(|side| side.ops > 0)) {
        one_job(&mut text, document, job);
    }
    for (number, group) in document.groups().iter().enumerate() {
        let _ = writeln!(text, "\nRun status group {number} (all jobs):");
        group_lines(&mut text, group);
    }
    if !document.disks.is_empty() {
        text += "\nDisk stats (read/write):\n";
        document.disks.iter().for_each(|disk| disk_line(&mut text, disk));
    }
    text
}

fn one_job(text: &mut String, document: &Document, job: &Job) {
    let error = if job.error == 0 { String::new() } else { format!(" ({})", words_of(job.error)) };
    let _ = writeln!(
        text,
        "{}: (groupid={}, jobs={}): err={:2}{error}: pid={}: {}",
        job.name,
        job.group,
        job.members,
        job.error,
        0,
        calendar(document.ended_wall_ns)
    );
    if !job.description.is_empty() {
        let _ = writeln!(text, "  Description  : [{}]", job.description);
    }
    let group: Vec<&Job> = document.jobs.iter().filter(|other| other.group == job.group).collect();
    for (at, name) in ["read", "write", "trim"].iter().enumerate() {
        if job.sides[at].bytes > 0 {
            direction(text, job, (name, &job.sides[at]), aggregate(&group, at));
        }
    }
    if let Some(classes) = &job.classes {
        class_lines(text, classes);
    }
    if job.syncs.count > 0 {
        text.push_str("  fsync/fdatasync/sync_file_range:\n");
        spread(text, "sync", &job.syncs);
        percentiles(text, "sync", &job.syncs, &job.percentiles);
    }
    let share = |ms: f64| if job.runtime_ms > 0 { ms * 100.0 / job.runtime_ms as f64 } else { 0.0 };
    let ops = |at: usize| job.sides[at].ops;
    let cost = &job.cost;
    let _ = writeln!(
        text,
        "  cpu          : usr={:.2}%, sys={:.2}%, ctx={}, majf={}, minf={}",
        share(cost.user_ms),
        share(cost.system_ms),
        cost.switches.unwrap_or(0),
        cost.major_faults.unwrap_or(0),
        cost.minor_faults.unwrap_or(0)
    );
    if let Some(depths) = &job.depths {
        depth_lines(text, depths);
    }
    let _ = writeln!(
        text,
        "     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0",
        ops(0),
        ops(1),
        ops(2),
        job.fsyncs.unwrap_or(0),
        job.sides[0].short,
        job.sides[1].short,
        job.sides[2].short
    );
    if job.continues {
        let (count, first) = (job.errors, job.first_error);
        let _ = writeln!(text, "     errors    : total={count}, first_error={first}/<{}>", words_of(first));
    }
    if let Some(depth) = job.depth.filter(|_| !job.has_target) {
        let _ = writeln!(text, "     latency   : target=0, window=0, percentile=100.00%, depth={depth}");
    }
    if let Some(found) = &job.steady {
        steady_line(text, found);
    }
}

fn steady_line(text: &mut String, found: &SteadyState) {
    let (iops, bytes) = found.means();
    let _ = writeln!(
        text,
        "  steadystate  : attained={}, bw={} ({}), iops={}, {}{}={:.3}{}",
        if found.attained { "yes" } else { "no" },
        short(bytes, DIGITS, true, "B/s"),
        short(bytes, DIGITS, false, "B/s"),
        short(iops, DIGITS, false, ""),
        found.measure,
        if found.slope { " slope" } else { " mean dev" },
        found.criterion,
        if found.percent { "%" } else { "" }
    );
}

fn depth_lines(text: &mut String, depths: &Depths) {
    let line = |names: [&str; 7], shares: &[f64; 7]| {
        let all: Vec<String> = names.iter().zip(shares).map(|(name, share)| format!("{name}={share:.1}%")).collect();
        all.join(", ")
    };
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    let _ = writeln!(text, "  IO depths    : {}", line(["1", "2", "4", "8", "16", "32", ">=64"], &depths.level));
    let _ = writeln!(text, "     submit    : {}", line(batches, &depths.submit));
    let _ = writeln!(text, "     complete  : {}", line(batches, &depths.complete));
}

/// What `strerror` says.
fn words_of(errno: i32) -> String {
    let words = std::io::Error::from_raw_os_error(errno).to_string();
    words.split(" (os error").next().unwrap_or_default().to_string()
}

fn direction(text: &mut String, job: &Job, (name, side): (&str, &Side), aggregate: u64) {
    let rate = side.bytes_per_s();
    let _ = writeln!(
        text,
        "  {name}: IOPS={}, BW={} ({})({}/{}msec)",
        short(per_second(side.ops, side.runtime_ms), DIGITS, false, ""),
        short(rate, DIGITS, true, "B/s"),
        short(rate, DIGITS, false, "B/s"),
        short(side.bytes, DIGITS, true, "B"),
        side.runtime_ms
    );
    let submission = side.submission.clone().unwrap_or_default();
    for (name, times) in [("slat", &submission), ("clat", &side.completion), (" lat", &side.total)] {
        spread(text, name, times);
    }
    let sets = [("slat", &submission), ("clat", &side.completion), ("lat", &side.total)];
    for (asked, (name, times)) in job.has_percentiles.iter().zip(sets) {
        if *asked {
            percentiles(text, name, times, &job.percentiles);
        }
    }
    samples(text, side, aggregate);
}

fn samples(text: &mut String, side: &Side, aggregate: u64) {
    let bandwidth = &side.bandwidth;
    if bandwidth.count > 0 {
        let (unit, scale) = if bandwidth.mean > 1024.0 * 1024.0 { ("MiB", 1024.0) } else { ("KiB", 1.0) };
        let whole = |value: u64| (value as f64 / scale).floor();
        let _ = writeln!(
            text,
            "   bw ({unit:>5}/s): min={:5.0}, max={:5.0}, per={:.2}%, avg={:5.2}, stdev={:5.2}, samples={}",
            whole(bandwidth.min),
            whole(bandwidth.max),
            share_of(aggregate, bandwidth),
            bandwidth.mean / scale,
            bandwidth.deviation / scale,
            bandwidth.count
        );
    }
    let iops = &side.iops;
    if iops.count > 0 {
        let _ = writeln!(
            text,
            "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
            iops.min, iops.max, iops.mean, iops.deviation, iops.count
        );
    }
}

/// `clat (usec): min=41, max=4125, avg=99.97, stdev=354.65`; the unit as fio chooses it.
fn spread(text: &mut String, name: &str, times: &Times) {
    if times.count == 0 {
        return;
    }
    let (unit, scale) = if times.min > 2_000_000 && times.max > 99_999_999 && times.deviation > 1e6 {
        ("msec", 1_000_000)
    } else if times.min > 2_000 && times.max > 99_999 && times.deviation > 1e3 {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    };
    let _ = writeln!(
        text,
        "    {name} ({unit}): min={}, max={}, avg={:5.2}, stdev={:5.2}",
        short(times.min / scale, 6, false, ""),
        short(times.max / scale, 6, false, ""),
        times.mean / scale as f64,
        times.deviation / scale as f64
    );
}

fn percentiles(text: &mut String, name: &str, times: &Times, wanted: &[f64]) {
    let values: Vec<(f64, u64)> =
        wanted.iter().filter_map(|percent| Some((*percent, times.percentile(*percent)?))).collect();
    let (Some((_, min)), Some((_, max))) = (values.first(), values.last()) else { return };
    let (unit, steps) = match (*min, *max) {
        (min, max) if min > 2_000_000 && max > 99_999_999 => ("msec", 2),
        (min, max) if min > 2_000 && max > 99_999 => ("usec", 1),
        _ => ("nsec", 0),
    };
    let width = (max / 1000_u64.pow(steps)).to_string().len().max(5);
    let per_line = (80 - 7) / (2 + 10 + width);
    let _ = write!(text, "    {name} percentiles ({unit}):\n     |");
    for (at, (percent, value)) in values.iter().enumerate() {
        if at > 0 && at % per_line == 0 {
            text.push_str("     |");
        }
        let is_last = at + 1 == values.len();
        let value = (0..steps).fold(*value, |value, _| value.div_ceil(1000));
        let _ = write!(text, " {percent:5.2}th=[{value:width$}]{}", if is_last { '\n' } else { ',' });
        if !is_last && at % per_line == per_line - 1 {
            text.push('\n');
        }
    }
}

fn class_lines(text: &mut String, classes: &Classes) {
    let sets: [(&str, &[f64]); 3] = [("nsec", &classes.ns), ("usec", &classes.us), ("msec", &classes.ms)];
    for (unit, shares) in sets {
        let shown: Vec<String> = CLASSES
            .iter()
            .zip(shares)
            .filter(|(_, share)| **share > 0.0)
            .map(|(name, share)| format!("{name}{share:.2}%"))
            .collect();
        for line in shown.chunks(CLASSES_PER_LINE) {
            let _ = writeln!(text, "  lat ({unit})   : {}", line.join(", "));
        }
    }
}

fn group_lines(text: &mut String, group: &[&Job]) {
    for (at, name) in ["   READ", "  WRITE", "   TRIM"].iter().enumerate() {
        let sides: Vec<&Side> = group.iter().map(|job| &job.sides[at]).filter(|side| side.runtime_ms > 0).collect();
        let times = sides.iter().map(|side| side.runtime_ms);
        let (Some(shortest), Some(longest)) = (times.clone().min(), times.max()) else { continue };
        let rates: Vec<u64> = sides.iter().map(|side| side.bytes_per_s()).collect();
        let (least, most) = (rates.iter().min().copied().unwrap_or(0), rates.iter().max().copied().unwrap_or(0));
        let bytes: u64 = sides.iter().map(|side| side.bytes).sum();
        let rate = |value: u64, binary: bool| short(value, DIGITS, binary, "B/s");
        let all = aggregate(group, at);
        let _ = writeln!(
            text,
            "{name}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={shortest}-{longest}msec",
            rate(all, true),
            rate(all, false),
            rate(least, true),
            rate(most, true),
            rate(least, false),
            rate(most, false),
            short(bytes, DIGITS, true, "B"),
            short(bytes, DIGITS, false, "B"),
        );
    }
}

fn disk_line(text: &mut String, disk: &DiskUse) {
    let _ = writeln!(
        text,
        "  {}: ios={}/{}, merge={}/{}, ticks={}/{}, in_queue={}, util={:.2}%",
        disk.name,
        disk.ios[0],
        disk.ios[1],
        disk.merges[0],
        disk.merges[1],
        disk.ticks_ms[0],
        disk.ticks_ms[1],
        disk.in_queue_ms,
        disk.busy
    );
}
