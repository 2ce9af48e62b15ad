//! R7: a device answers nothing.

use super::moment::Moment;
use super::window::Window;
use super::{Confidence, Evidence, Rule, RuleId, Severity, Symptom, Thresholds, figure};
use std::collections::BTreeMap;

/// Remembers when each device last completed something.
#[derive(Default)]
pub(crate) struct StallRule {
    devices: BTreeMap<String, Known>,
}

#[derive(Default)]
struct Known {
    /// End of the last interval in which it completed something.
    completed_ns: Option<i64>,
    /// Begin of the first interval since in which requests waited and none was completed.
    stalled_ns: Option<i64>,
}

impl Rule for StallRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.stall;
        let Some(now) = window.now() else { return Vec::new() };
        self.devices.retain(|device, _| now.disk(device).is_some());
        let mut found = Vec::new();
        for disk in &now.disks {
            let known = self.devices.entry(disk.device.clone()).or_default();
            // What does not tell its requests in flight cannot be said to have stalled.
            let in_flight = disk.in_flight.unwrap_or(0);
            if disk.completions > 0.0 || in_flight == 0 {
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
                found.push(stalled(now, &disk.device, in_flight, since_ns));
            }
        }
        found
    }

    fn lost(&mut self) {
        self.devices.clear();
    }
}

fn stalled(now: &Moment, device: &str, in_flight: i64, since_ns: i64) -> Symptom {
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
    let requests = if in_flight == 1 { "1 request".to_string() } else { format!("{in_flight} requests") };
    Symptom {
        rule: RuleId::R7,
        subject: device.to_string(),
        severity: Severity::Finding,
        confidence: Confidence::Certain,
        since_ns,
        sentence: format!("{device} answered nothing for {{for}} ({requests} waiting{who})."),
        evidence: vec![
            Evidence::new("requests in flight", in_flight as f64, "op"),
            Evidence::new("known to within", now.seconds, "s"),
            Evidence::new("tasks blocked in the kernel", now.system.as_ref().and_then(|system| system.blocked), ""),
        ],
        next: format!(
            "See the kernel's messages of that time (paths, resets, timeouts: `dmesg -T`), and what {device} lies on; `iodyno trace --until 'response > {}'` keeps the requests around the next one.",
            figure(Some(1e9), "ns")
        ),
        explains: vec![(RuleId::R5, Some(device.to_string()))],
        // It ends with the first completion, and its length is measured.
        clear_s: Some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::RuleId;
    use super::super::testing::{Bench, DiskStep};

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
    fn a_stall_explains_that_the_device_is_busy() {
        let mut bench = Bench::new();
        bench.steps(5, 1.0, |step| step.disk("sda", busy(1)));
        bench.steps(15, 1.0, |step| step.disk("sda", silent(64)));
        let all = bench.engine().findings();
        let stall = all.iter().find(|one| one.rule == RuleId::R7).unwrap();
        let busy = all.iter().find(|one| one.rule == RuleId::R5).unwrap();
        assert_eq!(busy.explained_by, Some(stall.id));
    }
}
