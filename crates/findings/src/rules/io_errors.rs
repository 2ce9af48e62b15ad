//! R13: I/Os of a device fail.

use crate::interval_sample::{IntervalSample, IoFailure};
use crate::window::Window;
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds};
use rates::counter::ratio;
use rates::io_errors::{MUST, is_lacking};
use recording::EventKind;
use std::collections::BTreeMap;
use view::Unit;

/// So many files, and processes, are named.
const NAMED: usize = 3;
/// Would have had to wait and was not to: asked for, and tried again.
const EAGAIN: i32 = 11;
/// Counts since each finding began.
#[derive(Default)]
pub(crate) struct IoErrorsRule {
    devices: BTreeMap<String, Known>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    since_ns: i64,
    last_ns: i64,
    ops: BTreeMap<String, Failed>,
    /// How often by error number.
    errnos: BTreeMap<i32, f64>,
    files: BTreeMap<String, f64>,
    processes: BTreeMap<String, f64>,
    /// When the first of all kinds failed, ns, and its sector.
    first: Option<(i64, Option<i64>)>,
    /// The kernel's messages are all that there is: it leaves most of them out.
    is_from_log: bool,
    /// Since when what completes is counted, ns: an interval before `since_ns`, where that is known.
    counted_from_ns: i64,
    /// Some of them failed before that: what else completed then is not known.
    has_earlier: bool,
    /// What completed is counted from one interval before the first failure on: counters and failures are not read at the
    /// same moment, so that a failure may be counted an interval behind its I/O, or before it.
    has_before: bool,
    /// All that failed and all that completed were counted by the same source: neither is late.
    is_of_one_source: bool,
    /// Something else failed than what the device cannot do.
    is_trouble: bool,
}

/// One operation.
#[derive(Clone, Copy, Debug, Default)]
struct Failed {
    errors: f64,
    /// Completed, well or not, since `counted_from_ns`; `None`: not known.
    completed: Option<f64>,
}

impl Rule for IoErrorsRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.io_errors;
        let Some(now) = window.now() else { return Vec::new() };
        self.devices.retain(|_, known| (now.t_ns - known.last_ns) as f64 / 1e9 < limit.clear_s);
        let before = window.before();
        for failure in now.failures.iter().filter(|failure| failure.errno != Some(EAGAIN)) {
            self.known(&failure.device, now, before).add(failure, now);
        }
        self.count_logged(now, before);
        for (device, known) in &mut self.devices {
            known.is_of_one_source &= now.disk(device).is_none();
            for (op, failed) in &mut known.ops {
                failed.completed = failed.completed.zip(completed(now, device, op)).map(|(all, more)| all + more);
            }
        }
        // Once more behind the last failure of a disk with counters: what it belongs to may be counted only then.
        let is_behind = |known: &Known| before.is_some_and(|was| known.last_ns == was.t_ns) && !known.is_of_one_source;
        let is_told = |known: &Known| known.last_ns == now.t_ns || is_behind(known);
        let failing = self.devices.iter().filter(|(_, known)| is_told(known));
        let enough = failing.filter(|(_, known)| known.errors() >= limit.errors);
        enough.map(|(device, known)| known.symptom(device, now, limit.clear_s)).collect()
    }

    fn lost(&mut self) {
        self.devices.clear();
    }
}

impl IoErrorsRule {
    fn known(&mut self, device: &str, now: &IntervalSample, before: Option<&IntervalSample>) -> &mut Known {
        // Of a disk with counters, the interval before belongs to it; sums of single I/Os count a failure with its I/O.
        let before = before.filter(|was| was.disk(device).is_some());
        let of_before = |op: &str| before.map_or(Some(0.0), |was| completed(was, device, op));
        // What completes of each counts from here on, whichever of them fails first: the sentence tells of one time.
        let followed =
            || MUST.iter().map(|op| ((*op).to_string(), Failed { completed: of_before(op), errors: 0.0 })).collect();
        let fresh = || Known {
            since_ns: now.start_ns(),
            counted_from_ns: before.map_or(now.start_ns(), IntervalSample::start_ns),
            ops: followed(),
            has_before: before.is_some(),
            is_of_one_source: true,
            ..Known::default()
        };
        self.devices.entry(device.to_string()).or_insert_with(fresh)
    }

    /// What the kernel's messages tell of devices whose failures are not counted.
    fn count_logged(&mut self, now: &IntervalSample, before: Option<&IntervalSample>) {
        let mut logged_device = None;
        let mut suppressed = 0;
        for event in now.events.iter().filter(|event| event.kind == EventKind::Kernel) {
            if let Some((device, op)) = failed_request(&event.message) {
                let known = self.known(device, now, before);
                if known.errors() == 0.0 || known.is_from_log {
                    known.is_from_log = true;
                    known.has_earlier |= event.t_ns < known.counted_from_ns;
                    known.count(op, event.count as f64, now);
                    known.is_trouble |= !event.message.contains("operation not supported");
                }
                logged_device = Some(device.to_string());
            } else if logged_device.is_some() || self.devices.values().any(|known| known.is_from_log) {
                // They failed since the message before, which came within the time of the finding.
                suppressed += suppressed_requests(&event.message).unwrap_or(0) * event.count.max(1);
            }
        }
        // The message does not name the device: there must be only one.
        let is_only = self.devices.values().filter(|known| known.last_ns == now.t_ns).count() == 1;
        let Some(device) = logged_device.filter(|_| is_only && suppressed > 0) else { return };
        if let Some(known) = self.devices.get_mut(&device).filter(|known| known.is_from_log)
            && let Some(op) = known.failed().last().map(|(op, _)| op.clone())
        {
            known.count(&op, suppressed as f64, now);
        }
    }
}

impl Known {
    fn errors(&self) -> f64 {
        self.ops.values().map(|failed| failed.errors).sum()
    }

    /// The operations of which some failed.
    fn failed(&self) -> impl Iterator<Item = (&String, &Failed)> {
        self.ops.iter().filter(|(_, failed)| failed.errors > 0.0)
    }

    fn count(&mut self, op: &str, count: f64, now: &IntervalSample) {
        self.ops.entry(op.to_string()).or_insert(Failed { errors: 0.0, completed: Some(0.0) }).errors += count;
        self.last_ns = now.t_ns;
    }

    fn add(&mut self, failure: &IoFailure, now: &IntervalSample) {
        if std::mem::take(&mut self.is_from_log) {
            self.ops.values_mut().for_each(|failed| failed.errors = 0.0);
            self.has_earlier = false;
        }
        self.count(&failure.op, failure.count, now);
        self.is_trouble |= !is_lacking(&failure.op, failure.errno);
        if let Some(errno) = failure.errno {
            *self.errnos.entry(errno).or_default() += failure.count;
        }
        if let Some(first_ns) = failure.first_ns
            && self.first.is_none_or(|(known_ns, _)| first_ns < known_ns)
        {
            self.first = Some((first_ns, failure.sector));
        }
        for (names, name) in [(&mut self.files, &failure.file), (&mut self.processes, &failure.process)] {
            if let Some(name) = name {
                *names.entry(name.clone()).or_default() += failure.count;
            }
        }
        // Where failures are counted by event, the sums of single I/Os know whose they were.
        if failure.process.is_none() {
            let of_it = now.ios.iter().filter(|row| *row.dev == *failure.device && *row.op == *failure.op);
            for row in of_it {
                let Some(errors) = row.errors.filter(|errors| *errors > 0) else { continue };
                let process = row.comm.as_deref().map(|comm| (comm.to_string(), row.pid));
                if let Some((comm, pid)) = process {
                    let name = pid.map_or_else(|| comm.clone(), |pid| format!("{comm}[{pid}]"));
                    *self.processes.entry(name).or_default() += errors as f64;
                }
            }
        }
    }

    /// How many of these operations failed, where as many are known of the same time.
    fn share_percent(&self, failed: &Failed) -> Option<f64> {
        failed.share_percent().filter(|_| !self.has_earlier)
    }

    /// Was what completed counted for an interval before the first failure, and for one behind the last? Else shares are
    /// not exact.
    fn is_whole(&self, now: &IntervalSample) -> bool {
        self.is_of_one_source || (self.has_before && self.last_ns < now.t_ns)
    }

    fn symptom(&self, device: &str, now: &IntervalSample, clear_s: f64) -> Symptom {
        let at_least = if self.is_from_log { "at least " } else { "" };
        let about = if self.is_whole(now) { "" } else { "about " };
        let failed = self.failed().map(|(op, failed)| {
            let share = self.share_percent(failed).map_or(String::new(), |share| {
                format!(" ({about}{} of all {})", Unit::Percent.format(Some(share)), plural(op, 2.0))
            });
            format!("{at_least}{:.0} {} failed{share}", failed.errors, plural(op, failed.errors))
        });
        let failed: Vec<String> = failed.collect();
        let why: Vec<&str> = most(&self.errnos).into_iter().map(|(errno, _)| errno_words(*errno)).collect();
        let why = if why.is_empty() { String::new() } else { format!(": {}", why.join(", ")) };
        let names = |what: &str, of: &BTreeMap<String, f64>| {
            let names: Vec<&str> = most(of).into_iter().map(|(name, _)| name.as_str()).collect();
            if names.is_empty() { String::new() } else { format!(" {what}: {}.", names.join(", ")) }
        };
        let sector = self.first.and_then(|(_, sector)| sector);
        let from = sector.map_or(String::new(), |sector| format!(", the first at sector {sector}"));
        let source = if self.is_from_log { " The kernel tells of no more than ten in five seconds." } else { "" };
        let sentence = format!(
            "{device}: {} within {{for}}{why}{from}.{}{}{source}",
            failed.join(", "),
            names("Files", &self.files),
            names("Processes", &self.processes),
        );
        let mut evidence = Vec::new();
        for (op, failed) in self.failed() {
            evidence.push(FindingEvidence::new(format!("failed {}", plural(op, 2.0)), failed.errors, ""));
            evidence.push(FindingEvidence::new(format!("of all {}", plural(op, 2.0)), self.share_percent(failed), "%"));
        }
        evidence.extend(self.errnos.iter().map(|(errno, count)| FindingEvidence::new(errno_words(*errno), *count, "")));
        evidence.push(FindingEvidence::new("first sector", sector.map(|sector| sector as f64), ""));
        Symptom {
            rule: RuleId::R13,
            subject: device.to_string(),
            severity: if self.is_trouble { FindingSeverity::Finding } else { FindingSeverity::Note },
            confidence: if self.is_from_log { RuleConfidence::Likely } else { RuleConfidence::Certain },
            since_ns: self.since_ns,
            sentence,
            evidence,
            next: "Save what can be read; look at the kernel's messages, cable, controller and the device's own counters (`smartctl -x`, `nvme smart-log`). `iodyno trace` shows each request that fails, with its sector.".to_string(),
            explains: vec![(RuleId::R5, Some(device.to_string())), (RuleId::R14, Some(device.to_string()))],
            clear_s: Some(clear_s),
        }
    }
}

impl Failed {
    /// Of what completed; at most all, where the counters have not seen the last of it yet.
    fn share_percent(&self) -> Option<f64> {
        Some(ratio(100.0 * self.errors, self.completed?)?.min(100.0))
    }
}

/// The greatest, with their counts.
fn most<K: Ord>(of: &BTreeMap<K, f64>) -> Vec<(&K, f64)> {
    let mut all: Vec<(&K, f64)> = of.iter().map(|(name, count)| (name, *count)).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    all.truncate(NAMED);
    all
}

/// How many of these operations a device completed, by its counters (which count those that failed, too), else by single I/Os.
fn completed(now: &IntervalSample, device: &str, op: &str) -> Option<f64> {
    let counted = now.disk(device).and_then(|disk| match op {
        "read" => disk.delta.read.ios,
        "write" => disk.delta.write.ios,
        "discard" => disk.delta.discard.ios,
        "flush" => disk.delta.flush.ios,
        _ => None,
    });
    let followed = || {
        let of_it = now.ios.iter().filter(|row| *row.dev == *device && *row.op == *op);
        Some(of_it.map(|row| row.ios as f64).sum()).filter(|_: &f64| !now.ios.is_empty())
    };
    counted.or_else(followed)
}

/// `reads`; `flush` is one.
fn plural(op: &str, count: f64) -> String {
    match op {
        _ if count == 1.0 => op.replace('_', " "),
        "flush" => "flushes".to_string(),
        _ => format!("{}s", op.replace('_', " ").trim_end_matches('s')),
    }
}

/// Name of an error number and what a block device means by it (include/linux/blk_types.h).
fn errno_words(errno: i32) -> &'static str {
    match errno {
        5 => "EIO, I/O error",
        11 => "EAGAIN, would have waited",
        12 => "ENOMEM, no memory",
        16 => "EBUSY, busy",
        19 => "ENODEV, device offline",
        22 => "EINVAL, invalid request",
        28 => "ENOSPC, no space",
        52 => "EBADE, reservation conflict",
        61 => "ENODATA, medium error",
        62 => "ETIME, duration limit exceeded",
        67 => "ENOLINK, path failed",
        78 => "EREMCHG, invalid for this zone",
        84 => "EILSEQ, protection error",
        95 => "EOPNOTSUPP, not supported",
        109 => "ETOOMANYREFS, zones exceeded",
        110 => "ETIMEDOUT, timed out",
        121 => "EREMOTEIO, target failure",
        _ => "another error",
    }
}

/// Device and operation of `I/O error, dev sda, sector 8 op 0x0:(READ) …` (block/blk-core.c, `blk_print_req_error`).
fn failed_request(message: &str) -> Option<(&str, &'static str)> {
    let device = message.split_once(" error, dev ")?.1;
    let device = device.split(|c: char| c == ',' || c.is_whitespace()).next().filter(|device| !device.is_empty())?;
    let op = ["READ", "WRITE", "FLUSH", "DISCARD", "WRITE_ZEROES"]
        .into_iter()
        .zip(["read", "write", "flush", "discard", "write_zeroes"])
        .find(|(word, _)| message.contains(&format!("({word})")));
    Some((device, op.map_or("request", |(_, op)| op)))
}

/// Of `blk_print_req_error: 204 callbacks suppressed` (lib/ratelimit.c; the function had other names before).
fn suppressed_requests(message: &str) -> Option<i64> {
    let (before, _) = message.split_once(" callbacks suppressed")?;
    let (function, count) = before.rsplit_once(": ")?;
    let is_it =
        ["blk_print_req_error", "print_req_error", "blk_update_request"].iter().any(|of| function.ends_with(of));
    count.parse().ok().filter(|_| is_it)
}

#[cfg(test)]
mod tests {
    use super::{failed_request, suppressed_requests};
    use crate::testing::{Bench, DiskStep};
    use crate::{FindingSeverity, RuleConfidence, RuleId};

    fn reads(per_s: f64) -> DiskStep {
        DiskStep { reads_per_s: per_s, bytes_per_s: per_s * 4096.0, busy_percent: 99.0, ..DiskStep::default() }
    }

    #[test]
    fn a_disk_on_which_every_read_fails() {
        let mut bench = Bench::new();
        bench.steps(5, 1.0, |step| step.disk("sda", reads(100.0)));
        bench.is_silent();
        bench.steps(20, 1.0, |step| {
            step.disk("sda", reads(1131.0));
            step.io_error("sda", "read", 5, 1131);
        });
        let found = bench.only(RuleId::R13);
        assert!(
            found.sentence.starts_with("sda: 22620 reads failed (about 99.6 % of all reads) within 20 s: EIO, I/O error, the first at sector 8. Files: /data/a."),
            "{}",
            found.sentence
        );
        assert_eq!((found.confidence, found.severity), (RuleConfidence::Certain, FindingSeverity::Finding));
    }

    #[test]
    fn one_in_a_thousand_is_a_finding_and_none_is_none() {
        let mut bench = Bench::new();
        bench.steps(5, 1.0, |step| step.disk("sda", reads(1000.0)));
        bench.is_silent();
        bench.steps(5, 1.0, |step| {
            step.disk("sda", reads(1000.0));
            step.io_error("sda", "read", 61, 1);
        });
        let sentence = &bench.only(RuleId::R13).sentence;
        assert!(
            sentence.contains("5 reads failed (about 0.08 % of all reads) within 5 s: ENODATA, medium error"),
            "{sentence}"
        );
        bench.steps(120, 1.0, |step| step.disk("sda", reads(1000.0)));
        assert!(bench.found(RuleId::R13)[0].end_ns.is_some());
    }

    #[test]
    fn the_share_is_of_all_that_completed_since_the_finding_began() {
        let mut bench = Bench::new();
        bench.steps(5, 1.0, |step| step.disk("sda", reads(100.0)));
        bench.steps(1, 1.0, |step| {
            step.disk("sda", reads(100.0));
            step.io_error("sda", "write", 5, 1);
        });
        // Seconds in which nothing failed, and another kind that begins to fail later.
        bench.steps(8, 1.0, |step| step.disk("sda", reads(100.0)));
        bench.steps(1, 1.0, |step| {
            step.disk("sda", reads(100.0));
            step.io_error("sda", "read", 5, 10);
        });
        let sentence = &bench.only(RuleId::R13).sentence;
        assert!(
            sentence.contains("10 reads failed (about 0.91 % of all reads)") && sentence.contains(" within 10 s"),
            "{sentence}"
        );
    }

    /// What failed comes an interval behind or before what the counters tell of it: the share is never of the wrong reads.
    #[test]
    fn failures_that_are_counted_an_interval_late_or_early_have_a_right_share() {
        // Of 200 reads in two seconds, 50 in the first of them fail; behind them hardly any are done.
        let share = |counted: [f64; 4], failed: [i64; 4]| {
            let mut bench = Bench::new();
            bench.steps(3, 1.0, |step| step.disk("sda", reads(0.0)));
            for (counted, failed) in counted.into_iter().zip(failed) {
                bench.steps(1, 1.0, |step| {
                    step.disk("sda", reads(counted));
                    if failed > 0 {
                        step.io_error("sda", "read", 5, failed);
                    }
                });
            }
            let found = bench.only(RuleId::R13);
            let value = found.evidence.iter().find(|one| one.name == "of all reads").and_then(|one| one.value).unwrap();
            (value, found.sentence.contains("about"), found.sentence.contains("50 reads failed"))
        };
        for (counted, failed) in [
            ([190.0, 10.0, 0.0, 0.0], [50, 0, 0, 0]),
            ([190.0, 10.0, 0.0, 0.0], [0, 50, 0, 0]),
            ([0.0, 190.0, 10.0, 0.0], [50, 0, 0, 0]),
            ([190.0, 10.0, 0.0, 0.0], [25, 25, 0, 0]),
            ([190.0, 10.0, 0.0, 0.0], [0, 25, 25, 0]),
        ] {
            let (value, is_about, has_all) = share(counted, failed);
            let is_right = (25.0..=100.0 * 50.0 / 190.0).contains(&value);
            assert!(is_right && !is_about && has_all, "{value} {is_about} {counted:?} {failed:?}");
        }
        // While the interval behind the last failure is not counted, no share is exact.
        assert_eq!(share([0.0, 0.0, 0.0, 20.0], [0, 0, 0, 50]), (100.0, true, true));
    }

    #[test]
    fn the_first_sector_is_that_of_what_failed_first_whatever_its_kind() {
        use crate::interval_sample::{IntervalSample, IoFailure};
        let failure = |op: &str, first_ns, sector| IoFailure {
            device: "sda".to_string(),
            op: op.to_string(),
            errno: Some(5),
            count: 1.0,
            process: None,
            file: None,
            sector: Some(sector),
            first_ns: Some(first_ns),
        };
        let (mut known, now) = (super::Known::default(), IntervalSample::default());
        for (op, first_ns, sector, first) in
            [("read", 30, 96, 96), ("write", 10, 8, 8), ("flush", 20, 64, 8), ("read", 30, 96, 8)]
        {
            known.add(&failure(op, first_ns, sector), &now);
            let sentence = known.symptom("sda", &now, 60.0).sentence;
            assert!(sentence.contains(&format!(", the first at sector {first}.")), "{sentence}");
        }
    }

    #[test]
    fn what_a_device_cannot_do_is_a_note() {
        let mut bench = Bench::new();
        bench.steps(5, 1.0, |step| {
            step.disk("loop0", reads(10.0));
            step.io_error("loop0", "write_zeroes", 95, 2);
        });
        bench.is_silent();
        assert!(bench.engine().findings().iter().any(|found| found.rule == RuleId::R13));
    }

    #[test]
    fn without_events_the_messages_are_a_lower_bound() {
        let mut bench = Bench::new();
        bench.steps(1, 1.0, |step| step.disk("sda", reads(500.0)));
        bench.steps(10, 1.0, |step| {
            step.disk("sda", reads(500.0));
            step.event_times("kernel", "I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1", 2);
            step.event("kernel", "blk_print_req_error: 98 callbacks suppressed");
        });
        let found = bench.only(RuleId::R13);
        assert!(
            found.sentence.starts_with("sda: at least 1000 reads failed (about 18.2 % of all reads)"),
            "{}",
            found.sentence
        );
        assert_eq!(found.confidence, RuleConfidence::Likely);
    }

    #[test]
    fn what_the_kernel_left_out_before_a_finding_is_not_of_its_time() {
        const FAILED: &str = "I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1";
        let mut bench = Bench::new();
        bench.steps(1, 1.0, |step| step.disk("sda", reads(50.0)));
        // One in fifty, behind others that failed before the load began.
        let left_out = std::cell::Cell::new(Some(()));
        bench.steps(9, 1.0, |step| {
            step.disk("sda", reads(50.0));
            if left_out.take().is_some() {
                step.event("kernel", "blk_print_req_error: 18 callbacks suppressed");
            }
            step.event_times("kernel", FAILED, 1);
        });
        let sentence = &bench.only(RuleId::R13).sentence;
        assert!(
            sentence.starts_with("sda: at least 9 reads failed (about 1.80 % of all reads) within 9 s"),
            "{sentence}"
        );
        // Left out behind a message of the finding, they are of its time.
        bench.steps(1, 1.0, |step| {
            step.disk("sda", reads(50.0));
            step.event("kernel", "blk_print_req_error: 90 callbacks suppressed");
            step.event_times("kernel", FAILED, 1);
        });
        let sentence = &bench.only(RuleId::R13).sentence;
        assert!(
            sentence.starts_with("sda: at least 100 reads failed (about 18.2 % of all reads) within 10 s"),
            "{sentence}"
        );
    }

    #[test]
    fn words_of_the_block_layer() {
        let said = "blk_update_request: critical target error, dev nvme0n1, sector 0 op 0x1:(WRITE) flags 0x800";
        assert_eq!(failed_request(said), Some(("nvme0n1", "write")));
        assert_eq!(failed_request("end_request: I/O error, dev sdc, sector 16"), Some(("sdc", "request")));
        assert_eq!(failed_request("sda: error"), None);
        assert_eq!(suppressed_requests("blk_print_req_error: 98 callbacks suppressed"), Some(98));
        assert_eq!(suppressed_requests("net_ratelimit: 23807 callbacks suppressed"), None);
    }
}
