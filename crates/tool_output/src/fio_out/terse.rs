//! `--output-format=terse`: a line of fields with semicolons per job, by the version (fio's HOWTO, "Terse output").

use super::figures::Times;
use super::model::{Document, Job, Side, per_second};
use super::normal::{aggregate, share_of};
use std::fmt::Write as _;

/// As many percentiles as fio has room for.
const PERCENTILES_MAX: usize = 20;

/// A line per job.
pub(super) fn lines(document: &Document, version: u8) -> String {
    let mut text = String::new();
    for job in &document.jobs {
        let group: Vec<&Job> = document.jobs.iter().filter(|other| other.group == job.group).collect();
        line(&mut text, document, job, &group, version);
    }
    text
}

fn line(text: &mut String, document: &Document, job: &Job, group: &[&Job], version: u8) {
    // A separator inside of a name would shift every field.
    let name = job.name.replace([';', '\n'], "_");
    *text += &match version {
        2 => format!("2;{name};{};{}", job.group, job.error),
        _ => format!("{version};{};{name};{};{}", document.version, job.group, job.error),
    };
    let sides = if version == 3 { 2 } else { 3 };
    for at in 0..sides {
        direction(text, job, &job.sides[at], aggregate(group, at), version);
    }
    let share = |ms: f64| if job.runtime_ms > 0 { ms * 100.0 / job.runtime_ms as f64 } else { 0.0 };
    let cost = &job.cost;
    let _ = write!(text, ";{:.6}%;{:.6}%", share(cost.user_ms), share(cost.system_ms));
    for count in [cost.switches, cost.major_faults, cost.minor_faults] {
        let _ = write!(text, ";{}", count.unwrap_or(0));
    }
    for share in job.depths.map_or([0.0; 7], |depths| depths.level) {
        let _ = write!(text, ";{share:3.1}%");
    }
    if let Some(classes) = &job.classes {
        for (at, share) in classes.us.iter().enumerate() {
            // What took less than a microsecond is in the first class.
            let share = if at == 0 { share + classes.ns.iter().sum::<f64>() } else { *share };
            let _ = write!(text, ";{share:.2}%");
        }
        for share in classes.ms {
            let _ = write!(text, ";{share:.2}%");
        }
    }
    if version >= 3 {
        for disk in &document.disks {
            let _ = write!(
                text,
                ";{};{};{};{};{};{};{};{};{:.2}%",
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
    }
    if job.continues {
        let _ = write!(text, ";{};{}", job.errors, job.first_error);
    }
    if !job.description.is_empty() {
        let _ = write!(text, "{};{}", if version == 2 { "\n" } else { "" }, job.description.replace('\n', " "));
    }
    text.push('\n');
}

fn direction(text: &mut String, job: &Job, side: &Side, aggregate: u64, version: u8) {
    let _ = write!(
        text,
        ";{};{};{};{}",
        side.bytes >> 10,
        side.bytes_per_s() / 1024,
        per_second(side.ops, side.runtime_ms),
        side.runtime_ms
    );
    micros(text, &side.submission.clone().unwrap_or_default());
    micros(text, &side.completion);
    let [_, of_completion, of_total] = job.has_percentiles;
    let of = match (of_total, of_completion) {
        (true, _) => Some(&side.total),
        (_, true) => Some(&side.completion),
        _ => None,
    };
    let known = of.filter(|times| times.count > 0 && !times.bins.is_empty());
    for at in 0..PERCENTILES_MAX {
        match known.zip(job.percentiles.get(at)) {
            Some((times, percent)) => {
                let _ = write!(text, ";{percent:.6}%={}", times.percentile(*percent).unwrap_or(0) / 1000);
            }
            None => *text += ";0%=0",
        }
    }
    micros(text, &side.total);
    let bandwidth = &side.bandwidth;
    let share = share_of(aggregate, bandwidth);
    let _ = write!(
        text,
        ";{};{};{share:.6}%;{:.6};{:.6}",
        bandwidth.min, bandwidth.max, bandwidth.mean, bandwidth.deviation
    );
    if version == 5 {
        let iops = &side.iops;
        let _ = write!(
            text,
            ";{};{};{};{:.6};{:.6};{}",
            bandwidth.count, iops.min, iops.max, iops.mean, iops.deviation, iops.count
        );
    }
}

/// Microseconds: whole ones of the extremes.
fn micros(text: &mut String, times: &Times) {
    let _ = write!(
        text,
        ";{};{};{:.6};{:.6}",
        times.min / 1000,
        times.max / 1000,
        times.mean / 1000.0,
        times.deviation / 1000.0
    );
}
