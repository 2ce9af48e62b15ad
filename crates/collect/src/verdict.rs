//! What this machine lets be measured: a word per subject, for the recording's manifest.

use crate::cgroup::Cgroups;
use crate::cpu;
use crate::devices::DeviceResolver;
use crate::exited::Ends;
use crate::listener::Listeners;
use crate::nic::NicCounters;
use crate::qdisc::Asker;
use crate::zpool;
use recording::AvailabilityKind;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Subject, the file that it comes from, and what its absence means: `Broken` where every kernel that we
/// run on has it.
const SUBJECTS: [(&str, &str, AvailabilityKind); 15] = [
    ("cpu", "proc/stat", AvailabilityKind::Broken),
    ("memory", "proc/meminfo", AvailabilityKind::Broken),
    ("disk", "proc/diskstats", AvailabilityKind::Broken),
    ("net", "proc/net/dev", AvailabilityKind::Broken),
    ("tcp", "proc/net/snmp", AvailabilityKind::Broken),
    ("process", "proc/self/stat", AvailabilityKind::Broken),
    ("file_system", "proc/self/mountinfo", AvailabilityKind::Broken),
    ("interrupt", "proc/interrupts", AvailabilityKind::Broken),
    ("softnet", "proc/net/softnet_stat", AvailabilityKind::Broken),
    ("thread", "proc/self/task", AvailabilityKind::Broken),
    ("nfs_mount", "proc/self/mountstats", AvailabilityKind::Unsupported),
    ("pressure", "proc/pressure/cpu", AvailabilityKind::Unsupported),
    ("kernel_log", "dev/kmsg", AvailabilityKind::Unsupported),
    ("btrfs_device", "sys/fs/btrfs/features", AvailabilityKind::NotApplicable),
    ("zfs", "proc/spl/kstat/zfs/arcstats", AvailabilityKind::NotApplicable),
];

/// The time of CPUs in interrupts, which most kernels do not measure by the tick.
pub const CPU_IRQ: &str = "cpu_irq";

/// A sentence per subject that begins with `works`, `unsupported here`, `broken` or `not applicable`; of a single column with
/// `not measured`.
#[must_use]
pub fn verdicts(root: &Path) -> BTreeMap<String, String> {
    let of = |(subject, file, absent): (&str, &str, AvailabilityKind)| {
        let path = root.join(file);
        // A folder tells by being there; what is read once and then gone (the kernel's log) is not read.
        let read = File::open(&path).and_then(|mut opened| match opened.metadata()?.is_file() {
            true => opened.read(&mut [0; 1]).map(|_| ()),
            false => Ok(()),
        });
        let verdict = match read {
            Ok(()) => AvailabilityKind::Works.to_string(),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                absent.because(format_args!("there is no {}", path.display()))
            }
            // Pressure is compiled in and switched off; a log that only root may read.
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {
                AvailabilityKind::Unsupported.because(format_args!("{}: {error}", path.display()))
            }
            Err(error) => AvailabilityKind::Broken.because(format_args!("{}: {error}", path.display())),
        };
        (subject.to_string(), verdict)
    };
    let mut verdicts: BTreeMap<String, String> = SUBJECTS.into_iter().map(of).collect();
    let groups = match Cgroups::new(root, true) {
        Ok(_) => AvailabilityKind::Works.to_string(),
        Err(error) => AvailabilityKind::Unsupported.because(format_args!("control groups: {error}")),
    };
    verdicts.insert("cgroup".to_string(), groups);
    // The module alone has no pools.
    let pools = match verdicts.get("zfs").cloned() {
        Some(words) if works(&words) && !has_pool(root) => {
            AvailabilityKind::NotApplicable.because("no pool is imported")
        }
        words => words.unwrap_or_default(),
    };
    let space = match works(&pools) && zpool::program(root).is_none() {
        true => AvailabilityKind::NotApplicable.because("there is no program zpool"),
        false => pools.clone(),
    };
    verdicts.insert("zfs_space".to_string(), space);
    verdicts.insert("zfs_pool".to_string(), pools);
    let has_nfs = DeviceResolver::new(root).mounts().iter().any(|mount| mount.file_system.starts_with("nfs"));
    if works(&verdicts["nfs_mount"]) && !has_nfs {
        verdicts
            .insert("nfs_mount".to_string(), AvailabilityKind::NotApplicable.because("nothing is mounted over NFS"));
    }
    let interrupts = match std::fs::read(root.join("proc/stat")) {
        Ok(text) if !cpu::measures_interrupts(&text) => AvailabilityKind::NotMeasured.because(
            "this kernel does not account for the time in interrupts (CONFIG_IRQ_TIME_ACCOUNTING); --clock both does",
        ),
        _ => verdicts["cpu"].clone(),
    };
    verdicts.insert(CPU_IRQ.to_string(), interrupts);
    // What is asked over sockets is always of this machine.
    if root == Path::new("/") {
        verdicts.extend(asked().map(|(subject, words)| (subject.to_string(), words)));
    }
    verdicts
}

/// Is it the word of what is measured?
fn works(words: &str) -> bool {
    AvailabilityKind::of(words) == AvailabilityKind::Works
}

/// Subjects that are asked over netlink, or of drivers.
fn asked() -> [(&'static str, String); 4] {
    let word = |answer: std::io::Result<()>| match answer {
        Ok(()) => AvailabilityKind::Works.to_string(),
        Err(error) => AvailabilityKind::Unsupported.because(error),
    };
    [
        ("listener", word(Listeners::new(Path::new("/")).and_then(|mut listeners| listeners.try_out()))),
        ("exited", word(Ends::new().map(|_| ()))),
        ("qdisc", word(Asker::new().and_then(|mut asker| asker.ask().map(|_| ())))),
        ("nic_counter", word(NicCounters::new().map(|_| ()))),
    ]
}

/// Each pool is a folder beside the module's own files.
fn has_pool(root: &Path) -> bool {
    let entries = std::fs::read_dir(root.join("proc/spl/kstat/zfs"));
    entries.is_ok_and(|entries| entries.flatten().any(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_none() {
        let here = verdicts(Path::new("/"));
        assert!(
            ["cpu", "memory", "disk", "net", "process", "tcp"].iter().all(|subject| here[*subject] == "works"),
            "{here:?}"
        );
        let has_zfs = Path::new("/proc/spl/kstat/zfs/arcstats").exists();
        assert_eq!(here["zfs"] == "works", has_zfs, "{here:?}");
        for subject in ["listener", "qdisc", "nic_counter", "softnet", "thread"] {
            assert_eq!(here[subject], "works", "{subject}");
        }
        assert!(here["exited"] == "works" || here["exited"].starts_with("unsupported here: "), "{here:?}");
        let root = tempfile::tempdir().unwrap();
        let none = verdicts(root.path());
        assert!(none["cpu"].starts_with("broken: there is no "), "{none:?}");
        assert!(
            ["pressure", "cgroup"].iter().all(|subject| none[*subject].starts_with("unsupported here: ")),
            "{none:?}"
        );
        assert!(none["softnet"].starts_with("broken: ") && none["nfs_mount"].starts_with("unsupported here: "));
        assert_eq!(none["zfs_pool"], none["zfs"]);
        std::fs::create_dir_all(root.path().join("proc/spl/kstat/zfs")).unwrap();
        std::fs::write(root.path().join("proc/spl/kstat/zfs/arcstats"), "hits 4 1\n").unwrap();
        let module = verdicts(root.path());
        assert_eq!((module["zfs"].as_str(), &*module["zfs_pool"]), ("works", "not applicable: no pool is imported"));
        std::fs::write(root.path().join("proc/stat"), "cpu  9 9 9 9 9 0 9 9 0 0\nintr 100001 5\n").unwrap();
        assert!(verdicts(root.path())[CPU_IRQ].starts_with("not measured: "));
        std::fs::create_dir_all(root.path().join("proc/self")).unwrap();
        std::fs::write(root.path().join("proc/self/mountstats"), "device x mounted on /x with fstype tmpfs\n").unwrap();
        assert!(verdicts(root.path())["nfs_mount"].starts_with("not applicable: "));
        std::fs::create_dir(root.path().join("proc/spl/kstat/zfs/tank")).unwrap();
        let pools = verdicts(root.path());
        assert_eq!((&*pools["zfs_pool"], &*pools["zfs_space"]), ("works", "not applicable: there is no program zpool"));
        std::fs::create_dir(root.path().join("sbin")).unwrap();
        std::fs::write(root.path().join("sbin/zpool"), "").unwrap();
        assert_eq!(verdicts(root.path())["zfs_space"], "works");
        assert!(none["zfs"].starts_with("not applicable: ") && none["btrfs_device"].starts_with("not applicable: "));
    }
}
