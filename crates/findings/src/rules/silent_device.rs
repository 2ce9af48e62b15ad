//! R7: a device answers nothing.

use crate::interval_sample::{DiskUse, IntervalSample};
use crate::window::Window;
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds, figure};
use std::collections::BTreeMap;

/// Remembers when each device last completed something.
#[derive(Default)]
pub(crate) struct SilentDeviceRule {
    devices: BTreeMap<String, Known>,
}

#[derive(Default)]
struct Known {
    /// End of the last interval in which it completed something.
    completed_ns: Option<i64>,
    /// Begin of the first interval since in which requests waited and none was completed.
    stalled_ns: Option<i64>,
}

impl Rule for SilentDeviceRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.stall;
        let Some(now) = window.now() else { return Vec::new() };
        self.devices.retain(|device, _| now.disk(device).is_some());
        let mut found = Vec::new();
        for disk in &now.disks {
            let known = self.devices.entry(disk.device.clone()).or_default();
            let waiting = waiting(disk);
            if disk.completions > 0.0 || waiting < 1.0 {
                known.stalled_ns = None;
                if disk.completions > 0.0 {
                    known.completed_ns = Some(now.t_ns);
                }
                continue;
            }
            let since_ns = *known.stalled_ns.get_or_insert(now.start_ns());
            let was_active =
                known.completed_ns.is_some_and(|completed_ns| (since_ns - completed_ns) as f64 / 1e9 <= limit.active_s);
            let seconds = (now.t_ns - since_ns) as f64 / 1e9;
            let for_s = if disk.rotational == Some(true) { limit.rotational_for_s } else { limit.for_s };
            // Samples come a little early or late.
            if was_active && seconds >= for_s * 0.95 {
                found.push(stalled(now, disk, waiting, since_ns));
            }
        }
        found
    }

    fn lost(&mut self) {
        self.devices.clear();
    }
}

/// Requests that wait: those in flight at the end; of what does not tell them, as other tools, so many all the time.
fn waiting(disk: &DiskUse) -> f64 {
    // Printed figures are rounded, and so are the counters that they became.
    let in_queue = || disk.queue.map_or(0.0, |queue| (queue * 100.0).round() / 100.0);
    disk.in_flight.map_or_else(in_queue, |count| count as f64)
}

fn stalled(now: &IntervalSample, disk: &DiskUse, waiting: f64, since_ns: i64) -> Symptom {
    let device = &disk.device;
    let mut blocked: Vec<String> = now
        .processes
        .iter()
        .flatten()
        .filter(|task| task.blocked)
        .map(|task| format!("{}[{}]", task.comm, task.pid))
        .collect();
    let more = blocked.len().saturating_sub(4);
    blocked.truncate(4);
    let who = match (blocked.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("; blocked: {}", blocked.join(", ")),
        (false, more) => format!("; blocked: {} and {more} more", blocked.join(", ")),
    };
    let requests = if waiting.round() <= 1.0 { "1 request".to_string() } else { format!("{waiting:.0} requests") };
    Symptom {
        rule: RuleId::R7,
        subject: device.clone(),
        severity: FindingSeverity::Finding,
        // What another tool prints as no request may be less than one in a hundred seconds.
        confidence: if disk.in_flight.is_some() { RuleConfidence::Certain } else { RuleConfidence::Likely },
        since_ns,
        sentence: format!("{device} answered nothing for {{for}} ({requests} waiting{who})."),
        evidence: vec![
            FindingEvidence::new("requests in flight", waiting, "op"),
            FindingEvidence::new("known to within", now.seconds, "s"),
            FindingEvidence::new(
                "tasks blocked in the kernel",
                now.system.as_ref().and_then(|system| system.blocked),
                "",
            ),
        ],
        next: format!(
            "See the kernel's messages of that time (paths, resets, timeouts: `dmesg -T`), and what {device} lies on; `iodyno trace --until 'response > {}'` keeps the requests around the next one.",
            figure(Some(1e9), "ns")
        ),
        explains: vec![(RuleId::R5, Some(device.clone()))],
        // It ends with the first completion, and its length is measured.
        clear_s: Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use crate::RuleId;
    use crate::testing::{Bench, DiskStep};

    fn busy(in_flight: i64) -> DiskStep {
        DiskStep {
            writes_per_s: 100.0,
            response_ms: 5.0,
            queue: 0.5,
            busy_percent: 50.0,
            in_flight,
            ..DiskStep::default()
        }
    }

    fn silent(in_flight: i64) -> DiskStep {
        DiskStep { busy_percent: 100.0, queue: 4.0, in_flight, ..DiskStep::default() }
    }

    #[test]
    fn twenty_seconds_without_an_answer() {
        let mut bench = Bench::new();
        bench.steps(5, 1.0, |step| step.disk("loop0", busy(4)));
        let begin_s = bench.now_s();
        bench.steps(20, 1.0, |step| {
            step.disk("loop0", silent(4));
            step.process(33, "fio", 1, [0.1, 0.1]).state = Some("D".into());
        });
        let sentence = &bench.only(RuleId::R7).sentence;
        assert!(
            sentence.contains("loop0 answered nothing for 20 s (4 requests waiting; blocked: fio[33])"),
            "{sentence}"
        );
        bench.steps(1, 1.0, |step| step.disk("loop0", busy(0)));
        let found = bench.only(RuleId::R7);
        assert!((found.start_ns as f64 / 1e9 - begin_s).abs() < 1e-6 && (found.seconds() - 20.0).abs() < 1e-6);
        assert!(found.end_ns.is_some(), "it closes with the first completion");
    }

    #[test]
    fn idle_and_quick_devices_are_silent() {
        let mut idle = Bench::new();
        idle.steps(5, 1.0, |step| step.disk("sda", busy(0)));
        idle.steps(60, 1.0, |step| step.disk("sda", DiskStep::default()));
        idle.is_silent();
        let mut hiccup = Bench::new();
        for _ in 0..10 {
            hiccup.steps(3, 1.0, |step| step.disk("sda", busy(1)));
            hiccup.steps(1, 1.0, |step| step.disk("sda", silent(1)));
        }
        hiccup.is_silent();
        // A device that never answered in this recording did not stop answering.
        let mut never = Bench::new();
        never.steps(30, 1.0, |step| step.disk("sda", silent(1)));
        never.is_silent();
    }

    #[test]
    fn a_stall_is_no_busy_device_and_explains_that_it_is_slow_behind_it() {
        let mut bench = Bench::new();
        bench.steps(5, 1.0, |step| step.disk("sda", busy(1)));
        bench.steps(15, 1.0, |step| step.disk("sda", silent(64)));
        let rules: Vec<RuleId> = bench.engine().findings().iter().map(|one| one.rule).collect();
        assert_eq!(rules, [RuleId::R7], "what answers nothing is not said to be busy and well");
        // What waited is answered, late.
        let late = DiskStep { response_ms: 15_000.0, busy_percent: 100.0, queue: 30.0, ..busy(8) };
        bench.steps(1, 1.0, |step| step.disk("sda", late));
        let all = bench.engine().findings();
        let stall = all.iter().find(|one| one.rule == RuleId::R7).unwrap();
        let slow = all.iter().find(|one| one.rule == RuleId::R5).unwrap();
        assert_eq!(slow.explained_by, Some(stall.id));
    }

    #[test]
    fn a_device_that_answers_nothing_stalls_also_where_only_its_queue_is_known() {
        let of = |queue: f64| {
            let mut bench = Bench::new();
            let queue_only = |step: &mut crate::testing::Step<'_>, row: DiskStep| {
                step.disk("sda", row);
                // As of iostat and sar, which do not print what is in flight.
                *step.counters("sda")[13] = None;
            };
            bench.steps(30, 1.0, |step| queue_only(step, busy(0)));
            let begin_s = bench.now_s();
            bench.steps(20, 1.0, |step| queue_only(step, DiskStep { queue, ..silent(0) }));
            let length_s = bench.now_s() - begin_s;
            bench.steps(60, 1.0, |step| queue_only(step, busy(0)));
            (bench, begin_s, length_s)
        };
        let (bench, begin_s, length_s) = of(32.0);
        assert_eq!(bench.engine().findings().len(), 1, "{:#?}", bench.engine().findings());
        let found = bench.only(RuleId::R7);
        assert!(
            found.sentence.starts_with("sda answered nothing for 20 s (32 requests waiting)."),
            "{}",
            found.sentence
        );
        assert!((found.start_ns as f64 / 1e9 - begin_s).abs() < 1e-6 && (found.seconds() - length_s).abs() < 1e-6);
        of(1.0).0.only(RuleId::R7);
        // Less than one request waited: it came and went in between.
        of(0.4).0.is_silent();
    }
}
