//! What others did on the machine while a load was measured.

use std::collections::BTreeMap;
use view::Unit;

/// Of all CPUs, beyond which others are worth a warning.
pub(crate) const CPU: f64 = 0.05;
/// In so much of the time is enough, when it is little in the mean.
pub(crate) const OF_THE_TIME: f64 = 0.1;
/// How many times its own bytes a device may move.
pub(crate) const BYTES: f64 = 1.2;
/// Of the load's own bytes, from which a process is named as one that moved some.
pub(crate) const NAMED_BYTES: f64 = 0.1;
/// Processes that are named.
pub(crate) const NAMES: usize = 3;

/// What others did while a load was measured, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Others {
    /// Time of all CPUs, ns; 0 where nothing is known of processes.
    pub(crate) capacity_ns: f64,
    /// Time in which the CPUs' steal was known, and how much was taken, ns of all CPUs.
    pub(crate) steal_of_ns: f64,
    pub(crate) steal_ns: f64,
    /// CPU time by name, ns.
    pub(crate) cpu_ns: BTreeMap<String, f64>,
    /// Seconds that were looked at, and those in which others had more than [`CPU`].
    pub(crate) seconds: f64,
    pub(crate) busy_seconds: f64,
    /// Bytes moved to and from devices by name.
    pub(crate) bytes: BTreeMap<String, f64>,
    /// Of each device under the targets: bytes of the load, bytes of all.
    pub(crate) devices: BTreeMap<String, (f64, f64)>,
}

impl Others {
    /// Adds what others did during another run.
    pub(crate) fn add(&mut self, more: &Self) {
        self.capacity_ns += more.capacity_ns;
        self.steal_of_ns += more.steal_of_ns;
        self.steal_ns += more.steal_ns;
        self.seconds += more.seconds;
        self.busy_seconds += more.busy_seconds;
        for (mine, theirs) in [(&mut self.cpu_ns, &more.cpu_ns), (&mut self.bytes, &more.bytes)] {
            theirs.iter().for_each(|(name, amount)| *mine.entry(name.clone()).or_default() += amount);
        }
        for (device, (own, all)) in &more.devices {
            let known = self.devices.entry(device.clone()).or_default();
            *known = (known.0 + own, known.1 + all);
        }
    }

    /// Share of all CPUs that others had; `None` where that is not known.
    pub(crate) fn cpu(&self) -> Option<f64> {
        (self.capacity_ns > 0.0).then(|| self.cpu_ns.values().sum::<f64>() / self.capacity_ns)
    }

    pub(crate) fn steal(&self) -> Option<f64> {
        (self.steal_of_ns > 0.0).then(|| self.steal_ns / self.steal_of_ns)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.cpu().is_some_and(|share| share > CPU)
            || (self.seconds > 0.0 && self.busy_seconds / self.seconds > OF_THE_TIME)
    }

    /// How many times the load's own bytes a device moved.
    pub(crate) fn times(&self, device: &str) -> Option<f64> {
        self.devices.get(device).filter(|(own, _)| *own > 0.0).map(|(own, all)| all / own)
    }

    /// ` (cc1 12 %, python3 8 %)`: who had most of the CPUs.
    pub(crate) fn names(&self) -> String {
        let words = most(&self.cpu_ns).filter(|(_, ns)| ns / self.capacity_ns >= 0.005);
        let words = words.map(|(name, ns)| format!("{name} {}", rounded(ns / self.capacity_ns)));
        in_parentheses(words.collect())
    }

    /// Who moved a noticeable part of a device's bytes.
    pub(crate) fn movers(&self, own: f64) -> Vec<String> {
        let words = most(&self.bytes).filter(|(_, bytes)| *bytes >= NAMED_BYTES * own);
        // The kernel counts a process's bytes over all devices.
        words.map(|(name, bytes)| format!("{name} {} on all devices", Unit::Bytes.format(Some(bytes)))).collect()
    }
}

/// The largest of them.
pub(crate) fn most(all: &BTreeMap<String, f64>) -> impl Iterator<Item = (&str, f64)> {
    let mut sorted: Vec<(&str, f64)> = all.iter().map(|(name, amount)| (name.as_str(), *amount)).collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    sorted.into_iter().take(NAMES)
}

pub(crate) fn in_parentheses(words: Vec<String>) -> String {
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// `12 %`, below ten `0.4 %`.
pub(crate) fn rounded(share: f64) -> String {
    if share >= 0.0995 { format!("{:.0} %", 100.0 * share) } else { format!("{:.1} %", 100.0 * share) }
}
