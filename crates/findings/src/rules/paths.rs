//! R7, second half: paths to storage that are lost, taken over and given back, from the messages of the kernel and of
//! multipathing. Many lines, one finding. Network links that are down are findings of their own.

use super::path_words::{PathWords, Step, is_port, kernel_name, said};
use crate::interval_sample::IntervalSample;
use crate::window::Window;
use crate::{
    ENDED, FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds, figure, thresholds,
};
use recording::EventKind;
use std::collections::{BTreeMap, BTreeSet};

/// Follows each loss of paths from its first message to the last.
#[derive(Default)]
pub(crate) struct PathRule {
    episodes: Vec<Episode>,
    /// When each path was lost.
    losses: BTreeMap<String, Vec<i64>>,
    /// Paths that a device has left, and the largest number that a message gave it.
    left: BTreeMap<String, (u32, u32)>,
    /// Network links that are down.
    links: BTreeMap<String, DownLink>,
}

/// A network link that is down.
#[derive(Clone, Copy, Debug)]
struct DownLink {
    since_ns: i64,
    /// Were there counters of it while it was down? Not every recording has them.
    was_there: bool,
    /// Samples in a row without counters of it since.
    absent: u32,
}

impl DownLink {
    /// Its interface is no longer there: taken out, or given another name.
    fn is_gone(self) -> bool {
        // One may be missing from a single sample: where its counters began anew, they say nothing.
        self.was_there && self.absent >= 2
    }
}

/// Times of the steps, ns.
#[derive(Clone, Debug, Default)]
struct Episode {
    /// What it is called: the first path, or what the first message was about.
    path: String,
    /// Paths that were lost, and when each came back.
    paths: BTreeMap<String, Option<i64>>,
    lost_ns: i64,
    timeout: Option<(i64, String)>,
    degraded_ns: Option<i64>,
    /// Devices that lost a path, and when each had all of them again, where a message says so.
    devices: BTreeMap<String, Option<i64>>,
    failover_ns: Option<i64>,
    taken_over_ns: Option<i64>,
    restored_ns: Option<i64>,
    failed_back_ns: Option<i64>,
    /// For how long each disk had requests and answered none until the work was taken over, s.
    stood: BTreeMap<String, f64>,
}

/// A restored path may be given back its work so long after.
const FAILBACK_NS: i64 = 60_000_000_000;
/// Paths that are lost within this time of each other are lost for one cause.
const TOGETHER_NS: i64 = 60_000_000_000;

impl Rule for PathRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.stall;
        let Some(now) = window.now() else { return Vec::new() };
        let mut found = Vec::new();
        for event in now.events.iter().filter(|event| event.kind != EventKind::Counters) {
            match said(&event.message) {
                Some(PathWords::Path { step, path, device }) => {
                    self.take(step, &path, device, event.t_ns, limit.together_s);
                }
                Some(PathWords::Remaining { device, count }) => {
                    let left = self.left.entry(device).or_default();
                    *left = (count, left.1.max(count));
                }
                Some(PathWords::Link { interface, is_up: false }) => {
                    let down = DownLink { since_ns: event.t_ns, was_there: false, absent: 0 };
                    self.links.entry(interface).or_insert(down);
                }
                Some(PathWords::Link { interface, is_up: true }) => {
                    let down = self.links.remove(&interface);
                    found.extend(down.map(|down| link(&interface, down.since_ns, true)));
                }
                None => {}
            }
        }
        for (interface, down) in &mut self.links {
            let is_there = now.links.iter().any(|link| link.interface == *interface);
            down.was_there |= is_there;
            down.absent = if is_there { 0 } else { down.absent + 1 };
            found.push(link(interface, down.since_ns, down.is_gone()));
        }
        self.links.retain(|_, down| !down.is_gone());
        for episode in &mut self.episodes {
            episode.watch(now);
            let losses = episode.paths.keys().filter_map(|path| self.losses.get(path)).map(Vec::len).max();
            let is_over = episode.is_over(now.t_ns);
            found.push(episode.symptom(losses.unwrap_or(0), &self.left, is_over, limit));
        }
        self.episodes.retain(|episode| !episode.is_over(now.t_ns));
        found
    }
}

impl PathRule {
    fn take(&mut self, step: Step, path: &str, device: Option<String>, t_ns: i64, together_s: f64) {
        match step {
            Step::Lost => self.lose(path, device, t_ns, together_s),
            Step::Restored => {
                self.episodes.iter_mut().for_each(|episode| episode.restore(path, device.as_deref(), t_ns));
            }
            _ => {
                let of = |episode: &Episode| device.as_ref().is_some_and(|device| episode.devices.contains_key(device));
                let at = self.episodes.iter().position(of).or_else(|| self.episodes.len().checked_sub(1));
                if at.is_none() && matches!(step, Step::Timeout | Step::Degraded) {
                    self.episodes.push(Episode { path: path.to_string(), lost_ns: t_ns, ..Episode::default() });
                }
                let at = at.unwrap_or(0);
                if let Some(episode) = self.episodes.get_mut(at) {
                    episode.step(step, device, t_ns);
                }
            }
        }
    }

    /// A path is lost: several messages may say so.
    fn lose(&mut self, path: &str, device: Option<String>, t_ns: i64, together_s: f64) {
        let knows = |episode: &Episode| episode.paths.contains_key(path);
        let belongs = |episode: &Episode| {
            let age_ns = t_ns - episode.lost_ns;
            // Behind a port that is down, paths fail one by one as their timers run out.
            let is_behind = is_port(&episode.path) && age_ns as f64 / 1e9 <= together_s;
            episode.restored_ns.is_none() && (age_ns <= TOGETHER_NS || is_behind)
        };
        let at = self.episodes.iter().position(knows).or_else(|| self.episodes.iter().position(belongs));
        let at = at.unwrap_or_else(|| {
            self.episodes.push(Episode { path: path.to_string(), lost_ns: t_ns, ..Episode::default() });
            self.episodes.len() - 1
        });
        let Some(episode) = self.episodes.get_mut(at) else { return };
        let was_lost = episode.paths.get(path) == Some(&None);
        episode.paths.insert(path.to_string(), None);
        episode.restored_ns = None;
        if let Some(device) = device {
            episode.devices.insert(device, None);
        }
        if !was_lost {
            let losses = self.losses.entry(path.to_string()).or_default();
            losses.retain(|lost_ns| (t_ns - lost_ns) as f64 / 1e9 <= together_s);
            losses.push(t_ns);
        }
    }
}

impl Episode {
    fn step(&mut self, step: Step, device: Option<String>, t_ns: i64) {
        let is_away = self.restored_ns.is_none();
        match step {
            Step::Timeout => {
                self.timeout.get_or_insert_with(|| (t_ns, "the offline timeout".to_string()));
            }
            Step::Degraded => {
                self.degraded_ns.get_or_insert(t_ns);
                self.devices.extend(device.map(|device| (device, None)));
            }
            Step::FailoverStarted if is_away => {
                self.failover_ns.get_or_insert(t_ns);
            }
            Step::FailoverDone if is_away => {
                self.taken_over_ns.get_or_insert(t_ns);
            }
            Step::FailedBack => {
                self.failed_back_ns.get_or_insert(t_ns);
            }
            Step::FailoverStarted | Step::FailoverDone | Step::Lost | Step::Restored => {}
        }
    }

    /// A path, or all paths of a device, are back; it may be another episode's.
    fn restore(&mut self, path: &str, device: Option<&str>, t_ns: i64) {
        if let Some(back) = device.and_then(|device| self.devices.get_mut(device)) {
            *back = Some(t_ns);
        }
        if let Some(back) = self.paths.get_mut(path) {
            *back = Some(t_ns);
        }
        let is_back = |things: &BTreeMap<String, Option<i64>>| things.values().all(Option::is_some);
        // Where no message named a path, the devices tell, and where none named those either, any path.
        let is_restored = match (self.paths.is_empty(), self.devices.is_empty()) {
            (false, _) => is_back(&self.paths),
            (true, false) => is_back(&self.devices),
            (true, true) => true,
        };
        if is_restored {
            self.restored_ns.get_or_insert(t_ns);
        }
    }

    /// Who stands still meanwhile.
    fn watch(&mut self, now: &IntervalSample) {
        if self.taken_over_ns.or(self.restored_ns).is_some_and(|end_ns| end_ns <= now.start_ns()) {
            return;
        }
        let stands =
            |disk: &&crate::interval_sample::DiskUse| disk.completions == 0.0 && disk.in_flight.unwrap_or(0) > 0;
        for disk in now.disks.iter().filter(stands) {
            *self.stood.entry(disk.device.clone()).or_default() += now.seconds;
        }
    }

    /// What the kernel calls the devices that it is about.
    fn own(&self) -> BTreeSet<String> {
        self.devices.keys().chain(self.paths.keys()).map(|name| kernel_name(name)).collect()
    }

    /// Nothing more is to be expected of it.
    fn is_over(&self, now_ns: i64) -> bool {
        match self.restored_ns {
            Some(_) if self.failed_back_ns.is_some() || self.taken_over_ns.is_none() => true,
            Some(restored_ns) => now_ns - restored_ns > FAILBACK_NS,
            None => false,
        }
    }

    /// The device of it that stood still for longest, and for how long, s.
    fn longest(&self, own: &BTreeSet<String>, least_s: f64) -> Option<(&str, f64)> {
        let own = self.stood.iter().filter(|(device, seconds)| own.contains(*device) && **seconds >= least_s);
        own.map(|(device, seconds)| (device.as_str(), *seconds)).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn sentence(&self, stood: Option<(&str, f64)>, left: &BTreeMap<String, (u32, u32)>) -> String {
        let after = |t_ns: i64| (t_ns - self.lost_ns) as f64 / 1e9;
        let seconds = |t_ns: i64| format!("{:.0} s", after(t_ns));
        let devices = match self.devices.len() {
            0 => String::new(),
            1 => " of 1 device".to_string(),
            count => format!(" of {count} devices"),
        };
        let mut sentence = match self.paths.len() {
            0 | 1 => format!("Path {}{devices} was lost", self.path),
            _ => {
                let names: Vec<&str> = self.paths.keys().map(String::as_str).collect();
                format!("Paths {}{devices} were lost", names.join(", "))
            }
        };
        if let Some(done_ns) = self.taken_over_ns {
            let parts = self.timeout.as_ref().map_or(String::new(), |(timeout_ns, timer)| {
                let switched_s = after(done_ns) - after(*timeout_ns);
                format!(" ({} waiting for {timer}, {switched_s:.0} s until it had switched)", seconds(*timeout_ns))
            });
            let felt = match stood {
                Some((_, stood_s)) if stood_s >= 0.8 * after(done_ns) => {
                    "for that long, I/O on it stood still, which is not transparent".to_string()
                }
                Some((device, stood_s)) => {
                    format!("for {stood_s:.0} s of that, I/O on {device} stood still, which is not transparent")
                }
                None => "I/O on it may have stood still for that long, which would not be transparent".to_string(),
            };
            sentence.push_str(&format!("; failover finished {} later{parts}: {felt}", seconds(done_ns)));
        } else if self.failover_ns.or(self.degraded_ns).is_some() {
            sentence.push_str("; failover has not finished");
        }
        match self.restored_ns {
            Some(restored_ns) => {
                sentence.push_str(&format!(". Redundancy was missing for {}", seconds(restored_ns)));
                if let Some(back_ns) = self.failed_back_ns {
                    sentence.push_str(&format!("; failed back after {}", seconds(back_ns)));
                }
            }
            None => sentence.push_str(&format!(". Redundancy is missing for {{for}}{}", self.now_left(left))),
        }
        sentence.push('.');
        sentence
    }

    /// ": now 1 of 2 paths of mpatha" where a message gave the numbers.
    fn now_left(&self, left: &BTreeMap<String, (u32, u32)>) -> String {
        let lost = u32::try_from(self.paths.values().filter(|back| back.is_none()).count()).unwrap_or(0);
        let fewest = left.iter().min_by_key(|(_, (count, _))| *count);
        fewest.map_or(String::new(), |(device, (count, most))| {
            // Before the first message the number of paths was not known.
            let most = if most > count { *most } else { count + lost };
            format!(". It is now {count} of {most} paths of {device}")
        })
    }

    fn symptom(
        &self,
        losses: usize,
        left: &BTreeMap<String, (u32, u32)>,
        is_over: bool,
        limit: &thresholds::Stall,
    ) -> Symptom {
        let after = |t_ns: i64| (t_ns - self.lost_ns) as f64 / 1e9;
        let own = self.own();
        let stood = self.longest(&own, limit.for_s);
        let mut sentence = self.sentence(stood, left);
        if losses as f64 >= limit.flapping {
            sentence.push_str(&format!(" Paths are flapping: {losses} losses."));
        }
        let at = |t_ns: Option<i64>| t_ns.map(after);
        let timeout_ns = self.timeout.as_ref().map(|(t_ns, _)| *t_ns);
        // Messages tell seldom of a timeout or a failover.
        let too_long = match at(self.taken_over_ns).or(at(timeout_ns)) {
            Some(seconds) => format!("{} is too long", figure(Some(seconds), "s")),
            None => "failover takes too long".to_string(),
        };
        Symptom {
            rule: RuleId::R7,
            subject: format!("path {}", self.path),
            severity: FindingSeverity::Finding,
            // Messages tell that a path is lost; what that does to I/O is inferred, unless a device was seen to stand still.
            confidence: if stood.is_some() { RuleConfidence::Certain } else { RuleConfidence::Likely },
            since_ns: self.lost_ns,
            sentence,
            evidence: vec![
                FindingEvidence::new("timeout after", at(timeout_ns), "s"),
                FindingEvidence::new("degraded after", at(self.degraded_ns), "s"),
                FindingEvidence::new("failover started after", at(self.failover_ns), "s"),
                FindingEvidence::new("failover finished after", at(self.taken_over_ns), "s"),
                FindingEvidence::new("path back after", at(self.restored_ns), "s"),
                FindingEvidence::new("failed back after", at(self.failed_back_ns), "s"),
                FindingEvidence::new("devices", (!self.devices.is_empty()).then_some(self.devices.len() as f64), ""),
                FindingEvidence::new("a device of it stood still", stood.map(|(_, seconds)| seconds), "s"),
                FindingEvidence::new("losses", losses as f64, ""),
            ],
            next: format!(
                "Look at cable, port and switch of {}; shorten the timeouts that come before failover (fast_io_fail_tmo, dev_loss_tmo, no_path_retry) if {too_long}.",
                self.path,
            ),
            explains: own
                .into_iter()
                .flat_map(|device| [(RuleId::R7, Some(device.clone())), (RuleId::R5, Some(device))])
                .collect(),
            clear_s: Some(if is_over { ENDED } else { 0.0 }),
        }
    }
}

/// A network link is down, or was until now.
fn link(interface: &str, since_ns: i64, is_over: bool) -> Symptom {
    let verb = if is_over { "was" } else { "has been" };
    Symptom {
        rule: RuleId::R7,
        subject: format!("link {interface}"),
        severity: FindingSeverity::Finding,
        confidence: RuleConfidence::Certain,
        since_ns,
        sentence: format!(
            "The network link of {interface} {verb} down for {{for}}: nothing goes through it meanwhile."
        ),
        evidence: Vec::new(),
        next: format!(
            "Look at cable, port and switch (`ethtool {interface}`), unless it is off on purpose (`ip link show {interface}`)."
        ),
        explains: Vec::new(),
        clear_s: Some(if is_over { ENDED } else { 0.0 }),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, DiskStep, LinkStep, Step};
    use crate::{RuleConfidence, RuleId};

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
        assert!(found.next.ends_with(" if 1 min 50 s is too long."), "{}", found.next);
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

    /// Seconds in which sda is slow, with messages at some of them.
    fn slow_disk(messages: &[(i64, &str)]) -> Bench {
        let mut bench = Bench::new();
        let fast =
            DiskStep { writes_per_s: 100.0, response_ms: 1.0, queue: 0.1, busy_percent: 10.0, ..DiskStep::default() };
        bench.steps(5, 1.0, |step| step.disk("sda", fast));
        let slow = DiskStep { response_ms: 50.0, queue: 5.0, busy_percent: 100.0, ..fast };
        for second in 0..20 {
            bench.steps(1, 1.0, |step| {
                step.disk("sda", slow);
                messages.iter().filter(|(at, _)| *at == second).for_each(|(_, message)| step.event("kernel", message));
            });
        }
        bench
    }

    #[test]
    fn a_network_link_is_no_path_and_hides_no_device() {
        let bench = slow_disk(&[(3, "e1000e 0000:00:19.0 eth0: NIC Link is Down")]);
        let found = bench.found(RuleId::R7);
        assert_eq!((found.len(), found[0].subject.as_str()), (1, "link eth0"));
        assert!(
            found[0].sentence.starts_with("The network link of eth0 has been down for 16 s"),
            "{}",
            found[0].sentence
        );
        assert!(!found[0].next.contains("failover"), "{}", found[0].next);
        assert!(bench.found(RuleId::R5)[0].counts(), "{:#?}", bench.engine().findings());
        // What programs make has no cable.
        let bench = slow_disk(&[(3, "docker0: Link is Down"), (4, "veth1@if2: Link is Down")]);
        assert!(bench.found(RuleId::R7).is_empty());
        let bench =
            slow_disk(&[(3, "igb 0000:03:00.0 eth2: NIC Link is Down"), (9, "igb 0000:03:00.0 eth2: NIC Link is Up")]);
        let found = bench.found(RuleId::R7);
        assert!(found[0].end_ns.is_some() && found[0].sentence.contains("was down for"), "{found:#?}");
    }

    #[test]
    fn a_link_that_is_down_stays_open_until_its_interface_is_gone() {
        let mut bench = Bench::new();
        let both = |step: &mut Step<'_>| {
            step.cpu(0, [1.0, 0.0, 0.0]);
            for name in ["eth0", "eth1"] {
                step.link(name, LinkStep::default());
            }
        };
        bench.steps(5, 1.0, both);
        bench.steps(1, 1.0, |step| {
            both(step);
            step.event("kernel", "e1000e 0000:00:19.0 eth0: NIC Link is Down");
        });
        bench.steps(5, 1.0, both);
        // Its driver begins anew to count.
        bench.steps(1, 1.0, |step| step.link("eth0", LinkStep::default()).rx_bytes = -1);
        bench.steps(5, 1.0, both);
        assert_eq!(bench.only(RuleId::R7).end_ns, None);
        bench.unplug("eth0");
        bench.steps(1, 1.0, |step| step.cpu(0, [1.0, 0.0, 0.0]));
        assert_eq!(bench.only(RuleId::R7).end_ns, None);
        bench.steps(1, 1.0, |step| step.cpu(0, [1.0, 0.0, 0.0]));
        let found = bench.only(RuleId::R7);
        assert!(found.end_ns.is_some() && found.sentence.contains("was down for 13 s"), "{found:#?}");
    }

    #[test]
    fn each_path_has_its_own_state() {
        let lost = [
            (2, "device-mapper: multipath: 253:0: Failing path 8:16."),
            (2, "multipathd: mpatha: remaining active paths: 3"),
            (3, "device-mapper: multipath: 253:0: Failing path 8:32."),
            (3, "multipathd: mpatha: remaining active paths: 2"),
            (5, "ixgbe 0000:03:00.0 eth2: NIC Link is Up 10 Gbps"),
            (6, "device-mapper: multipath: 253:0: Reinstating path 8:16."),
            (7, "lpfc 0000:05:00.0: 0:1303 Link Up Event x3 received"),
        ];
        let bench = slow_disk(&lost);
        let found = bench.found(RuleId::R7);
        assert_eq!((found.len(), found[0].subject.as_str(), found[0].end_ns), (1, "path 8:16", None));
        let words =
            "Paths 8:16, 8:32 of 1 device were lost. Redundancy is missing for 17 s. It is now 2 of 3 paths of mpatha.";
        assert_eq!(found[0].sentence, words);
        // No message said when I/O went on.
        assert!(found[0].next.ends_with(" if failover takes too long."), "{}", found[0].next);
        // It is no path of sda.
        assert!(bench.found(RuleId::R5)[0].counts(), "{:#?}", bench.engine().findings());
        let back = [&lost[..], &[(12, "device-mapper: multipath: 253:0: Reinstating path 8:32.")]].concat();
        assert!(slow_disk(&back).found(RuleId::R7)[0].end_ns.is_some());
    }

    #[test]
    fn messages_alone_are_no_proof_that_anything_stood_still() {
        let mut bench = Bench::new();
        bench.steps(2, 1.0, |step| step.cpu(0, [1.0, 0.0, 0.0]));
        for second in 0..=340 {
            bench.steps(1, 1.0, |step| {
                step.cpu(0, [1.0, 0.0, 0.0]);
                MPXIO.iter().filter(|(at, _)| *at == second).for_each(|(_, message)| step.event("kernel", message));
            });
        }
        let found = bench.only(RuleId::R7);
        assert_eq!(found.confidence, RuleConfidence::Likely);
        assert!(found.sentence.contains("I/O on it may have stood still for that long"), "{}", found.sentence);
        // It ends with the message that says so, though nothing comes after it.
        assert!(found.sentence.ends_with("failed back after 340 s.") && found.end_ns.is_some(), "{found:#?}");
    }

    #[test]
    fn other_messages() {
        let mut bench = Bench::new();
        bench.steps(3, 1.0, |step| {
            step.cpu(0, [1.0, 0.0, 0.0]);
            step.event("kernel", "usb 1-1: new high-speed USB device number 2");
            step.event("kernel", "e1000e 0000:00:19.0 eth0: NIC Link is Up 1000 Mbps Full Duplex");
        });
        bench.is_silent();
    }
}
