//! R12: a check sum was wrong, so data was damaged on its way or where it lay.

use crate::interval_sample::BtrfsErrors;
use crate::window::Window;
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds};
use std::collections::BTreeMap;

/// Counts since each finding began.
#[derive(Default)]
pub(crate) struct ChecksumRule {
    devices: BTreeMap<String, Known>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    since_ns: i64,
    last_ns: i64,
    corruption: f64,
    io: f64,
    repaired: i64,
    not_repairable: i64,
    /// Of ZFS, which tells no more than the counts.
    is_zfs: bool,
}

impl Rule for ChecksumRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.checksum;
        let Some(now) = window.now() else { return Vec::new() };
        self.devices.retain(|_, known| (now.t_ns - known.last_ns) as f64 / 1e9 < limit.clear_s);
        for BtrfsErrors { row, corruption, io } in &now.btrfs {
            let name = format!("btrfs {}, device {}", row.file_system, row.device);
            let fresh = Known { since_ns: now.start_ns(), ..Known::default() };
            let known = self.devices.entry(name).or_insert(fresh);
            known.corruption += corruption;
            known.io += io;
            known.last_ns = now.t_ns;
        }
        // The kernel names the device, not the number of it in the file system: with one that is damaged, it is that one.
        let only = if self.devices.len() == 1 { self.devices.values_mut().next() } else { None };
        if let Some(known) = only {
            for event in now.events.iter().filter(|event| event.message.contains("BTRFS")) {
                let says = |words: &str| if event.message.contains(words) { event.count.max(1) } else { 0 };
                let repaired = says("read error corrected") + says("fixed up error");
                let not_repairable = says("unable to fixup");
                known.repaired += repaired;
                known.not_repairable += not_repairable;
                if repaired + not_repairable > 0 {
                    known.last_ns = now.t_ns;
                }
            }
        }
        for errors in &now.zfs {
            let fresh = Known { since_ns: now.start_ns(), is_zfs: true, ..Known::default() };
            let known = self.devices.entry(format!("zfs, {}", errors.device)).or_insert(fresh);
            if errors.is_checksum {
                known.corruption += errors.grown
            } else {
                known.io += errors.grown
            }
            known.last_ns = now.t_ns;
        }
        // One symptom per change: its time is the time of the last one.
        let changed = self.devices.iter().filter(|(_, known)| known.last_ns == now.t_ns);
        changed.map(|(name, known)| symptom(name, known, limit.clear_s)).collect()
    }
}

fn symptom(name: &str, known: &Known, clear_s: f64) -> Symptom {
    let what = match (known.corruption, known.io) {
        (0.0, io) => format!("{io:.0} reads or writes failed"),
        (blocks, 0.0) => format!("{blocks:.0} blocks had a wrong check sum"),
        (blocks, io) => format!("{blocks:.0} blocks had a wrong check sum and {io:.0} reads or writes failed"),
    };
    let outcome = match (known.repaired, known.not_repairable) {
        (_, bad) if bad > 0 => format!("{bad} of them not repairable"),
        (good, _) if good > 0 => "repaired from mirror".to_string(),
        _ if known.is_zfs => {
            "ZFS repairs what it has a good copy of (`zpool status -v` names files that it had none of)".to_string()
        }
        _ => "whether they were repaired was not recorded".to_string(),
    };
    Symptom {
        rule: RuleId::R12,
        subject: name.to_string(),
        severity: FindingSeverity::Finding,
        confidence: RuleConfidence::Certain,
        since_ns: known.since_ns,
        sentence: format!("{name}: {what} within {{for}}; {outcome}."),
        evidence: vec![
            FindingEvidence::new("blocks with a wrong check sum", known.corruption, ""),
            FindingEvidence::new("failed reads, writes, flushes", known.io, ""),
            FindingEvidence::new("repairs that the kernel reported", known.repaired as f64, ""),
            FindingEvidence::new("not repairable, as the kernel reported", known.not_repairable as f64, ""),
        ],
        next: format!(
            "Look at the path to that device (cable, controller, memory) and its own counters (smartctl); `{}` reads everything once; replace the device when it goes on.",
            if known.is_zfs { "zpool scrub" } else { "btrfs scrub start" }
        ),
        explains: Vec::new(),
        clear_s: Some(clear_s),
    }
}

#[cfg(test)]
mod tests {
    use crate::RuleId;
    use crate::testing::Bench;

    #[test]
    fn a_mirror_that_repairs() {
        let mut bench = Bench::new();
        bench.steps(3, 1.0, |step| {
            step.cpu(0, [1.0, 1.0, 0.0]);
            step.btrfs("tank", 1, 0);
            step.btrfs("tank", 2, 4);
        });
        // Errors of before the recording are old.
        bench.is_silent();
        bench.steps(1, 1.0, |step| {
            step.cpu(0, [1.0, 1.0, 0.0]);
            step.btrfs("tank", 2, 21);
            step.event(
                "kernel",
                "BTRFS info (device loop1): read error corrected: ino 257 off 0 (dev /dev/loop2 sector 2048)",
            );
        });
        let found = bench.only(RuleId::R12);
        assert_eq!(found.subject, "btrfs tank, device 2");
        assert!(
            found.sentence.contains("17 blocks had a wrong check sum within 1 s; repaired from mirror."),
            "{}",
            found.sentence
        );
        bench.steps(70, 1.0, |step| step.cpu(0, [1.0, 1.0, 0.0]));
        assert!(bench.only(RuleId::R12).end_ns.is_some());
    }

    #[test]
    fn a_mirror_of_zfs() {
        // The source's page: the damaged half of a mirror, as `zpool status` counted it.
        let mut bench = Bench::new();
        for count in [0.0, 7.0, 63.0] {
            bench.steps(1, 1.0, |step| {
                step.cpu(0, [1.0, 1.0, 0.0]);
                step.zpool_status("/export/zfs/zd0", "CKSUM", count);
                step.zpool_status("/export/zfs/zd1", "CKSUM", 0.0);
            });
        }
        let found = bench.only(RuleId::R12);
        assert_eq!(found.subject, "zfs, /export/zfs/zd0");
        assert!(found.sentence.contains("63 blocks had a wrong check sum within 2 s"), "{}", found.sentence);
        assert!(found.next.contains("zpool scrub"), "{}", found.next);
    }

    #[test]
    fn nothing_to_repair_from() {
        let mut bench = Bench::new();
        bench.steps(3, 1.0, |step| {
            step.cpu(0, [1.0, 1.0, 0.0]);
            step.btrfs("single", 1, 0);
        });
        bench.steps(1, 1.0, |step| {
            step.cpu(0, [1.0, 1.0, 0.0]);
            step.btrfs("single", 1, 1);
            step.event(
                "kernel",
                "BTRFS error (device sdb): unable to fixup (regular) error at logical 1 on dev /dev/sdb",
            );
        });
        assert!(bench.only(RuleId::R12).sentence.contains("1 of them not repairable"));
    }
}
