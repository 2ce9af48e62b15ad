//! R14: what the kernel's messages tell of: resets, time-outs, file systems that fail, processes that were killed or hang.

use crate::window::Window;
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds};
use recording::EventKind;
use recording::rows::Event;
use std::collections::BTreeMap;

/// Counts since each finding began, by subject and class.
#[derive(Default)]
pub(crate) struct KernelMessagesRule {
    known: BTreeMap<(String, &'static str), Known>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    since_ns: i64,
    last_ns: i64,
    count: i64,
    message: String,
    /// The kernel reported trouble that it did not put right by itself.
    is_trouble: bool,
}

/// The words of the finding for messages of a class.
struct Kind {
    class: &'static str,
    what: &'static str,
    next: &'static str,
}

const KINDS: [Kind; 13] = [
    Kind {
        class: "io_error",
        what: "I/O failed",
        next: "Save what can be read; look at cable, controller and the device's own counters (`smartctl -x`).",
    },
    Kind {
        class: "io_timeout",
        what: "a command got no answer in time",
        next: "Look at the device (`smartctl -x`, `nvme smart-log`), its firmware, and the path to it; I/O stood still for as long as the time-out.",
    },
    Kind {
        class: "device_reset",
        what: "was reset",
        next: "Look at cable, power and firmware; while a device is reset, all of its I/O waits.",
    },
    Kind {
        class: "device_gone",
        what: "was given up by the kernel",
        next: "See whether it is still there (`lsblk`), and what its connection and its own log say.",
    },
    Kind {
        class: "filesystem_error",
        what: "the file system reports an error",
        next: "Save what can be read, unmount it and check it (`fsck`, `xfs_repair -n`, `btrfs check`); look at the device below it first.",
    },
    Kind {
        class: "filesystem_readonly",
        what: "the file system was made read-only or shut down: every write to it fails",
        next: "Save what can be read, unmount it and check it; look at the device below it first.",
    },
    Kind {
        class: "oom",
        what: "was killed because memory ran out",
        next: "See who used the memory (`iodyno top`, page m; the kernel lists it in its message), and set limits or add memory.",
    },
    Kind {
        class: "hung_task",
        what: "a task was blocked for minutes",
        next: "The kernel's message has the stack that shows what it waits for, mostly a device or file server that does not answer (R7, R13).",
    },
    Kind {
        class: "lockup",
        what: "a CPU was stuck in the kernel",
        next: "The kernel's message has the stack; on a virtual machine, see whether the host was overloaded (steal).",
    },
    Kind {
        class: "machine_check",
        what: "the hardware reports an error",
        next: "See which part it names (`ras-mc-ctl --errors`, `mcelog`), and replace it when errors go on.",
    },
    Kind {
        class: "pcie_error",
        what: "errors on its PCIe link",
        next: "See whether the link has its full width and speed (`lspci -vv`); reseat the card.",
    },
    Kind {
        class: "array_degraded",
        what: "the array lost a disk, or cannot read a block",
        next: "See which (`cat /proc/mdstat`, `mdadm --detail`), and replace it while the rest holds.",
    },
    Kind {
        class: "swap_error",
        what: "swapped memory could not be read or written",
        next: "Programs whose memory was there are killed; look at the device (`smartctl -x`), and move the swap.",
    },
];

impl Rule for KernelMessagesRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.told;
        let Some(now) = window.now() else { return Vec::new() };
        self.known.retain(|_, known| (now.t_ns - known.last_ns) as f64 / 1e9 < limit.clear_s);
        // R12 counts what btrfs repairs, and says so in its own words.
        let is_counted = window.within(limit.clear_s).any(|moment| !moment.btrfs.is_empty());
        let events = now.events.iter().filter(|event| event.kind == EventKind::Kernel);
        for event in events.filter(|event| !(is_counted && event.message.contains("BTRFS"))) {
            let Some(kind) = kind_of(event) else { continue };
            let fresh = || Known { since_ns: now.start_ns(), ..Known::default() };
            let known = self.known.entry((subject(kind.class, &event.message), kind.class)).or_insert_with(fresh);
            known.count += event.count.max(1);
            known.last_ns = now.t_ns;
            known.message.clone_from(&event.message);
            known.is_trouble |= is_trouble(kind.class, &event.message)
                || (kind.class == "device_reset" && known.count as f64 >= limit.resets);
        }
        let changed = self.known.iter().filter(|(_, known)| known.last_ns == now.t_ns);
        changed.filter_map(|((subject, class), known)| symptom(subject, class, known, limit.clear_s)).collect()
    }
}

/// The words for a message; `None` where another rule covers it, or it is harmless.
fn kind_of(event: &Event) -> Option<&'static Kind> {
    // Requests that fail are counted by R13; the steps of one killing are one.
    let others = [
        " error, dev ",
        "callbacks suppressed",
        "Buffer I/O error",
        "invoked oom-killer",
        "oom-kill:",
        "oom_reaper:",
        "offlining lun",
    ];
    if others.iter().any(|words| event.message.contains(words)) {
        return None;
    }
    let class = event.class.as_deref().unwrap_or_else(|| kernel_message::class(&event.message));
    KINDS.iter().find(|kind| kind.class == class)
}

/// Is it more than what was put right by itself?
fn is_trouble(class: &str, message: &str) -> bool {
    let lower = message.to_ascii_lowercase();
    match class {
        "machine_check" | "pcie_error" => {
            !["corrected", " ce ", "events logged"].iter().any(|words| lower.contains(words))
                || lower.contains("uncorrected")
        }
        // One may be the end of a pause, or of a suspend; again and again it is trouble.
        "device_reset" => false,
        _ => true,
    }
}

/// What the message is about.
fn subject(class: &str, message: &str) -> String {
    let behind = |words: &str| message.split_once(words).map(|(_, rest)| rest);
    let name = |text: &str| {
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "-_./!".contains(c))).unwrap_or(text.len());
        Some(text[..end].trim_end_matches(['.', '-']).to_string()).filter(|name| !name.is_empty())
    };
    let found = match class {
        "filesystem_error" | "filesystem_readonly" => {
            let at = behind("(device ").or_else(|| behind("(dev ")).or_else(|| behind("on device "));
            at.or_else(|| behind("-fs (")).or_else(|| behind("XFS (")).or_else(|| behind(" on ")).and_then(name)
        }
        "oom" => behind("rocess ").and_then(|rest| {
            let (pid, rest) = rest.split_once(" (")?;
            Some(format!("{}[{pid}]", rest.split_once(')')?.0))
        }),
        "hung_task" => behind("task ").and_then(|rest| {
            let (comm, rest) =
                rest.split_once(" blocked").or_else(|| rest.split_once(" is blocked"))?.0.rsplit_once(':')?;
            Some(format!("{comm}[{rest}]"))
        }),
        "lockup" => behind("CPU#").or_else(|| behind("cpu ")).and_then(name).map(|number| format!("cpu{number}")),
        "machine_check" => Some("hardware".to_string()),
        "swap_error" => behind("swap-device (").and_then(|rest| Some(rest.split_once(')')?.0.to_string())),
        "pcie_error" => {
            message.split_whitespace().map(|word| word.trim_end_matches(':')).find(is_pci).map(str::to_string)
        }
        _ => device(message),
    };
    found.unwrap_or_else(|| "kernel".to_string())
}

fn is_pci(word: &&str) -> bool {
    word.len() == 12 && word.bytes().filter(|byte| *byte == b':').count() == 2 && word.as_bytes()[10] == b'.'
}

/// The device, controller or port that a driver speaks of.
fn device(message: &str) -> Option<String> {
    const DRIVERS: [&str; 7] = ["ata", "nvme", "nbd", "md", "mmc", "loop", "dm-"];
    let words = || message.split(|c: char| c.is_whitespace() || c == ':').filter(|word| !word.is_empty());
    let in_brackets =
        words().find_map(|word| word.strip_prefix('[')?.strip_suffix(']')).filter(|word| !word.contains('.'));
    let of_driver = || {
        words().find(|word| {
            let rest = DRIVERS.iter().find_map(|driver| word.strip_prefix(driver));
            rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        })
    };
    let usb = || message.find("usb ").and_then(|at| message[at..].split(':').next());
    let scsi = || {
        let at = message.find("sd ")?;
        message[at + 3..].split(' ').next().map(|word| word.trim_end_matches(':'))
    };
    let first = || message.split(' ').find_map(|word| word.strip_suffix(':'));
    in_brackets.or_else(of_driver).or_else(usb).or_else(scsi).or_else(first).map(str::to_string)
}

fn symptom(subject: &str, class: &str, known: &Known, clear_s: f64) -> Option<Symptom> {
    let kind = KINDS.iter().find(|kind| kind.class == class)?;
    let times = match known.count {
        1 => String::new(),
        count => format!(", {count}× within {{for}}"),
    };
    let message = known.message.trim();
    Some(Symptom {
        rule: RuleId::R14,
        subject: subject.to_string(),
        severity: if known.is_trouble { FindingSeverity::Finding } else { FindingSeverity::Note },
        confidence: RuleConfidence::Certain,
        since_ns: known.since_ns,
        sentence: format!("{subject}: {}{times}. The kernel says: {message}", kind.what),
        evidence: vec![FindingEvidence::new(format!("messages of class {class}"), known.count as f64, "")],
        next: kind.next.to_string(),
        explains: Vec::new(),
        clear_s: Some(clear_s),
    })
}

#[cfg(test)]
mod tests {
    use super::subject;
    use crate::testing::{Bench, DiskStep};
    use crate::{FindingSeverity, RuleId};

    /// What comes of one message in the midst of a quiet time.
    fn after(message: &str, times: i64) -> Vec<(String, FindingSeverity, String)> {
        let mut bench = Bench::new();
        bench.steps(3, 1.0, |step| step.disk("sda", DiskStep::default()));
        bench.steps(1, 1.0, |step| {
            step.disk("sda", DiskStep::default());
            step.event_times("kernel", message, times);
        });
        let of_it = bench.engine().findings().iter().filter(|found| found.rule == RuleId::R14);
        of_it.map(|found| (found.subject.clone(), found.severity, found.sentence.clone())).collect()
    }

    #[test]
    fn what_logs_tell_is_a_finding_of_what_they_tell_it_of() {
        for (message, expected) in [
            ("ata1.00: qc timeout after 10000 msecs (cmd 0xec)", "ata1.00"),
            ("nvme nvme0: I/O 12 QID 3 timeout, reset controller", "nvme0"),
            ("nvme nvme0: Disabling device after reset failure: -19", "nvme0"),
            (
                "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0",
                "sda1",
            ),
            ("EXT4-fs (sda1): Remounting filesystem read-only", "sda1"),
            ("XFS (dm-0): Filesystem has been shut down due to log error (0x2).", "dm-0"),
            ("BTRFS info (device sdb: state E): forced readonly", "sdb"),
            ("Out of memory: Killed process 4711 (java) total-vm:9126836kB, anon-rss:7812012kB", "java[4711]"),
            ("Memory cgroup out of memory: Killed process 912 (db) total-vm:204800kB", "db[912]"),
            ("INFO: task kworker/u4:2:112 blocked for more than 122 seconds.", "kworker/u4:2[112]"),
            ("INFO: task dd:456 blocked in I/O wait for more than 122 seconds.", "dd[456]"),
            ("watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [kworker/1:1:45]", "cpu1"),
            ("mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 5: be00000000800400", "hardware"),
            (
                "pcieport 0000:00:1c.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer",
                "0000:00:1c.0",
            ),
            ("md/raid1:md0: Disk failure on sdb1, disabling device.", "md0"),
            ("sd 2:0:0:0: rejecting I/O to offline device", "2:0:0:0"),
            ("Read-error on swap-device (9:1:8)", "9:1:8"),
        ] {
            let found = after(message, 1);
            assert_eq!(found.len(), 1, "{message}: {found:?}");
            let (about, severity, sentence) = &found[0];
            assert_eq!((about.as_str(), *severity), (expected, FindingSeverity::Finding), "{sentence}");
            assert!(sentence.ends_with(message), "{sentence}");
        }
    }

    #[test]
    fn what_was_put_right_by_itself_is_a_note() {
        for message in [
            "{1}[Hardware Error]: event severity: corrected",
            "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1234 offset:0x0)",
            "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            "ata1: hard resetting link",
        ] {
            let found = after(message, 1);
            assert!(found.len() == 1 && found[0].1 == FindingSeverity::Note, "{message}: {found:?}");
        }
        let often = after("ata1: hard resetting link", 3);
        assert_eq!((often[0].0.as_str(), often[0].1), ("ata1", FindingSeverity::Finding), "again and again");
        assert!(often[0].2.starts_with("ata1: was reset, 3× within 1 s."), "{}", often[0].2);
    }

    #[test]
    fn a_harmless_message_makes_no_finding() {
        for message in
            ["random: crng init done", "ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)", "ata1: EH complete"]
        {
            assert!(after(message, 1).is_empty(), "{message}");
        }
        assert_eq!(subject("device_reset", "usb 1-1: reset high-speed USB device number 3 using xhci_hcd"), "usb 1-1");
        assert_eq!(subject("io_error", "sd 0:0:0:0: [sda] tag#12 Sense Key : Medium Error [current]"), "sda");
    }
}
