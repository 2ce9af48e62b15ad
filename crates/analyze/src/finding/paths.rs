//! R7, second half: paths to storage that are lost, taken over and given back, from the messages of the kernel and of
//! multipathing. Many lines, one finding.

use super::window::Window;
use super::{Confidence, Evidence, Rule, RuleId, Severity, Symptom, Thresholds, figure};
use std::collections::BTreeSet;

/// Follows one loss of paths from its first message to the last.
#[derive(Default)]
pub(crate) struct PathRule {
    episode: Option<Episode>,
    /// When paths were lost.
    losses: Vec<i64>,
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Lost,
    Timeout,
    Degraded,
    FailoverStarted,
    FailoverDone,
    Restored,
    FailedBack,
}

/// Times of the steps, ns.
#[derive(Clone, Debug, Default)]
struct Episode {
    path: String,
    lost_ns: i64,
    timeout: Option<(i64, String)>,
    degraded_ns: Option<i64>,
    /// Devices that lost a path.
    devices: BTreeSet<String>,
    failover_ns: Option<i64>,
    taken_over_ns: Option<i64>,
    restored_ns: Option<i64>,
    failed_back_ns: Option<i64>,
    last_ns: i64,
}

/// A restored path may be given back its work so long after.
const FAILBACK_NS: i64 = 60_000_000_000;

impl Rule for PathRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.stall;
        let Some(now) = window.now() else { return Vec::new() };
        for event in now.events.iter().filter(|event| event.kind != "counters") {
            if let Some(step) = step(&event.message) {
                self.take(step, &event.message, event.t_ns, limit.together_s);
            }
        }
        let Some(episode) = &self.episode else { return Vec::new() };
        let symptom = episode.symptom(self.losses.len(), limit.flapping);
        if episode.is_over(now.t_ns) {
            self.episode = None;
        }
        vec![symptom]
    }
}

impl PathRule {
    fn take(&mut self, step: Step, message: &str, t_ns: i64, together_s: f64) {
        if matches!(step, Step::Lost) {
            self.losses.retain(|lost_ns| (t_ns - lost_ns) as f64 / 1e9 <= together_s);
            self.losses.push(t_ns);
        }
        let begins = matches!(step, Step::Lost | Step::Timeout | Step::Degraded);
        if self.episode.is_none() && begins {
            self.episode = Some(Episode { path: name(message), lost_ns: t_ns, last_ns: t_ns, ..Episode::default() });
        }
        let Some(episode) = &mut self.episode else { return };
        episode.last_ns = t_ns;
        let first = |place: &mut Option<i64>| {
            place.get_or_insert(t_ns);
        };
        match step {
            Step::Lost => episode.restored_ns = None,
            Step::Timeout => {
                episode.timeout.get_or_insert_with(|| (t_ns, "the offline timeout".to_string()));
            }
            Step::Degraded => {
                first(&mut episode.degraded_ns);
                episode.devices.insert(device(message));
            }
            Step::FailoverStarted if episode.restored_ns.is_none() => first(&mut episode.failover_ns),
            Step::FailoverDone if episode.restored_ns.is_none() => first(&mut episode.taken_over_ns),
            Step::FailoverStarted | Step::FailoverDone => {}
            Step::Restored => first(&mut episode.restored_ns),
            Step::FailedBack => first(&mut episode.failed_back_ns),
        }
    }
}

impl Episode {
    /// Nothing more is to be expected of it.
    fn is_over(&self, now_ns: i64) -> bool {
        match self.restored_ns {
            Some(_) if self.failed_back_ns.is_some() || self.taken_over_ns.is_none() => true,
            Some(restored_ns) => now_ns - restored_ns > FAILBACK_NS,
            None => false,
        }
    }

    fn symptom(&self, losses: usize, flapping: f64) -> Symptom {
        let after = |t_ns: i64| (t_ns - self.lost_ns) as f64 / 1e9;
        let seconds = |t_ns: i64| format!("{:.0} s", after(t_ns));
        let devices = match self.devices.len() {
            0 => String::new(),
            1 => " of 1 device".to_string(),
            count => format!(" of {count} devices"),
        };
        let mut sentence = format!("Path {}{devices} was lost", self.path);
        let switched_ns = self.failover_ns.or(self.degraded_ns);
        match (self.taken_over_ns, &self.timeout) {
            (Some(done_ns), Some((timeout_ns, timer))) => sentence.push_str(&format!(
                "; failover finished {} later ({} waiting for {timer}, {:.0} s until it had switched): for that long, I/O on it stood still, which is not transparent",
                seconds(done_ns),
                seconds(*timeout_ns),
                after(done_ns) - after(*timeout_ns),
            )),
            (Some(done_ns), None) => sentence.push_str(&format!(
                "; failover finished {} later: for that long, I/O on it stood still, which is not transparent",
                seconds(done_ns)
            )),
            (None, _) if switched_ns.is_some() => sentence.push_str("; failover has not finished"),
            (None, _) => {}
        }
        match self.restored_ns {
            Some(restored_ns) => {
                sentence.push_str(&format!(". Redundancy was missing for {}", seconds(restored_ns)));
                if let Some(back_ns) = self.failed_back_ns {
                    sentence.push_str(&format!("; failed back after {}", seconds(back_ns)));
                }
            }
            None => sentence.push_str(". Redundancy is missing for {for}"),
        }
        sentence.push('.');
        if losses as f64 >= flapping {
            sentence.push_str(&format!(" Paths are flapping: {losses} losses."));
        }
        let at = |t_ns: Option<i64>| t_ns.map(after);
        Symptom {
            rule: RuleId::R7,
            subject: format!("path {}", self.path),
            severity: Severity::Finding,
            confidence: Confidence::Certain,
            since_ns: self.lost_ns,
            sentence,
            evidence: vec![
                Evidence::new("timeout after", at(self.timeout.as_ref().map(|(t_ns, _)| *t_ns)), "s"),
                Evidence::new("degraded after", at(self.degraded_ns), "s"),
                Evidence::new("failover started after", at(self.failover_ns), "s"),
                Evidence::new("failover finished after", at(self.taken_over_ns), "s"),
                Evidence::new("path back after", at(self.restored_ns), "s"),
                Evidence::new("failed back after", at(self.failed_back_ns), "s"),
                Evidence::new("devices", (!self.devices.is_empty()).then_some(self.devices.len() as f64), ""),
                Evidence::new("losses", losses as f64, ""),
            ],
            next: format!(
                "Look at cable, port and switch of {}; shorten the timeouts that come before failover (fast_io_fail_tmo, dev_loss_tmo, no_path_retry) if {} are too long.",
                self.path,
                figure(at(self.taken_over_ns).or(at(self.timeout.as_ref().map(|(t_ns, _)| *t_ns))), "s"),
            ),
            explains: vec![(RuleId::R7, None), (RuleId::R5, None)],
            clear_s: Some(0.0),
        }
    }
}

/// What a message says of a path; `None` when it says nothing of paths.
fn step(message: &str) -> Option<Step> {
    const WORDS: &[(&str, Step)] = &[
        ("failback operation succeeded", Step::FailedBack),
        ("failover operation completed", Step::FailoverDone),
        ("initiating failover", Step::FailoverStarted),
        ("multipath status: degraded", Step::Degraded),
        ("multipath status: optimal", Step::Restored),
        ("offline timeout", Step::Timeout),
        ("blocked fc remote port time out", Step::Timeout),
        ("link down", Step::Lost),
        ("link is down", Step::Lost),
        ("loop down detected", Step::Lost),
        ("failing path", Step::Lost),
        ("path is down", Step::Lost),
        ("link up", Step::Restored),
        ("link is up", Step::Restored),
        ("loop up detected", Step::Restored),
        ("reinstating path", Step::Restored),
        ("reinstated", Step::Restored),
    ];
    let message = message.to_lowercase();
    WORDS.iter().find(|(words, _)| message.contains(words)).map(|(_, step)| *step)
}

/// The device that a message about a path is of: what stands before `multipath status`, in brackets if it has any.
fn device(message: &str) -> String {
    let before = message.split(" multipath status").next().unwrap_or(message);
    let last = before.split_whitespace().next_back().unwrap_or(before);
    last.trim_matches(|c: char| "():".contains(c)).to_string()
}

/// What the message calls the path: what stands behind `path`, else the first word that looks like a name with a number.
fn name(message: &str) -> String {
    let clean = |word: &str| word.trim_matches(|c: char| "[]():.,".contains(c)).to_string();
    let mut words = message.split_whitespace();
    if words.any(|word| word.eq_ignore_ascii_case("path"))
        && let Some(path) = words.next()
    {
        return clean(path);
    }
    // Time stamps stand before it, in brackets: `[ 5.0314]emlxs0:`.
    let behind = message.rsplit(']').next().unwrap_or(message);
    let is_name = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_alphabetic()) && word.contains(|c: char| c.is_ascii_digit())
    };
    let found = behind.split_whitespace().find(is_name).or_else(|| behind.split_whitespace().next());
    clean(found.unwrap_or(message))
}

#[cfg(test)]
mod tests {
    use super::super::RuleId;
    use super::super::testing::{Bench, DiskStep};
    use super::name;

    /// The source's messages, shortened: seconds since 11:17:33.
    const MPXIO: &[(i64, &str)] = &[
        (0, "[ 5.0314]emlxs0: NOTICE: 710: Link down."),
        (90, "WARNING: fp(2)::OFFLINE timeout"),
        (109, "offlining lun=3 (trace=0), target=ef (trace=2800004)"),
        (
            109,
            "/scsi_vhci/ssd@g60080e50001845c6000003564c5ebe4c (ssd165) multipath status: degraded, path /pci@6 (fp2) is offline",
        ),
        (
            109,
            "/scsi_vhci/ssd@g60080e5000184350000003654c5ebe44 (ssd166) multipath status: degraded, path /pci@6 (fp2) is offline",
        ),
        (
            109,
            "/scsi_vhci/ssd@g60080e50001845c6000003524c5ebe2e (ssd167) multipath status: degraded, path /pci@6 (fp2) is offline",
        ),
        (
            109,
            "/scsi_vhci/ssd@g60080e5000184350000003614c5ebe23 (ssd168) multipath status: degraded, path /pci@6 (fp2) is offline",
        ),
        (109, "Initiating failover for device ssd (GUID 60080e5000184350000003614c5ebe23)"),
        (110, "Failover operation completed successfully for device ssd: failed over from primary to secondary"),
        (337, "[ 5.0536]emlxs0: NOTICE: 720: Link up. (8Gb,loop, initiator)"),
        (338, "/scsi_vhci/ssd@g60080e50001845c6000003564c5ebe4c (ssd165) multipath status: optimal, path is standby"),
        (338, "Initiating failover for device ssd (GUID 60080e5000184350000003614c5ebe23)"),
        (340, "Failover operation completed successfully for device ssd: failed over from secondary to primary"),
        (340, "Auto failback operation succeeded for device ssd"),
    ];

    #[test]
    fn a_failover_that_was_not_transparent() {
        let mut bench = Bench::new();
        let busy = DiskStep { writes_per_s: 100.0, response_ms: 2.0, busy_percent: 20.0, ..DiskStep::default() };
        bench.steps(5, 1.0, |step| step.disk("ssd168", busy));
        for second in 0..360 {
            bench.steps(1, 1.0, |step| {
                let stands = (0..110).contains(&second);
                step.disk("ssd168", if stands { DiskStep { in_flight: 3, ..DiskStep::default() } } else { busy });
                MPXIO.iter().filter(|(at, _)| *at == second).for_each(|(_, message)| step.event("kernel", message));
            });
        }
        // One finding, not twenty lines; that the device stood still is explained by it.
        let found = bench.only(RuleId::R7);
        assert_eq!(found.subject, "path emlxs0");
        assert_eq!(
            found.sentence,
            "Path emlxs0 of 4 devices was lost; failover finished 110 s later (90 s waiting for the offline timeout, 20 s until it had switched): for that long, I/O on it stood still, which is not transparent. Redundancy was missing for 337 s; failed back after 340 s."
        );
        assert!(found.end_ns.is_some());
        let stall = bench.found(RuleId::R7).into_iter().find(|one| one.subject == "ssd168").unwrap();
        assert_eq!(stall.explained_by, Some(found.id));
        assert!((stall.seconds() - 110.0).abs() < 1.5, "{}", stall.seconds());
    }

    #[test]
    fn a_path_of_linux_that_comes_back_at_once_and_flaps() {
        let mut bench = Bench::new();
        bench.steps(2, 1.0, |step| step.cpu(0, [1.0, 0.0, 0.0]));
        for turn in 0..3 {
            bench.steps(1, 1.0, |step| {
                step.cpu(0, [1.0, 0.0, 0.0]);
                step.event("kernel", "device-mapper: multipath: 253:0: Failing path 8:16.");
            });
            bench.steps(4, 1.0, |step| step.cpu(0, [1.0, 0.0, 0.0]));
            let open = bench.found(RuleId::R7).into_iter().next_back().unwrap();
            assert_eq!((open.subject.as_str(), open.end_ns), ("path 8:16", None));
            assert_eq!(open.sentence.contains("flapping: 3 losses"), turn == 2, "{}", open.sentence);
            bench.steps(1, 1.0, |step| {
                step.cpu(0, [1.0, 0.0, 0.0]);
                step.event("kernel", "device-mapper: multipath: 253:0: Reinstating path 8:16.");
            });
            bench.steps(2, 1.0, |step| step.cpu(0, [1.0, 0.0, 0.0]));
        }
        assert!(bench.found(RuleId::R7).iter().all(|one| one.end_ns.is_some()));
    }

    #[test]
    fn other_messages_and_names() {
        let mut bench = Bench::new();
        bench.steps(3, 1.0, |step| {
            step.cpu(0, [1.0, 0.0, 0.0]);
            step.event("kernel", "usb 1-1: new high-speed USB device number 2");
            step.event("kernel", "e1000e 0000:00:19.0 eth0: NIC Link is Up 1000 Mbps Full Duplex");
        });
        bench.is_silent();
        for (message, expect) in [
            ("[ 5.0314]emlxs0: NOTICE: 710: Link down.", "emlxs0"),
            ("device-mapper: multipath: Failing path 8:16.", "8:16"),
            ("qla2xxx [0000:05:00.0]-500b:2: LOOP DOWN detected", "-500b:2"),
            ("ixgbe 0000:03:00.0 eth2: NIC Link is Down", "eth2"),
        ] {
            assert_eq!(name(message), expect, "{message}");
        }
    }
}
