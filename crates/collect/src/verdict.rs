//! What this machine lets be measured: a word per subject, for the recording's manifest.

use crate::cgroup::Cgroups;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What it means that a subject's file is not there.
#[derive(Clone, Copy)]
enum Absent {
    /// Every kernel that we run on has it.
    Broken,
    /// This kernel cannot.
    Unsupported,
    /// This machine has nothing of the kind.
    NotApplicable,
}

/// Subject, the file that it comes from, and what its absence means.
const SUBJECTS: [(&str, &str, Absent); 12] = [
    ("cpu", "proc/stat", Absent::Broken),
    ("memory", "proc/meminfo", Absent::Broken),
    ("disk", "proc/diskstats", Absent::Broken),
    ("net", "proc/net/dev", Absent::Broken),
    ("tcp", "proc/net/snmp", Absent::Broken),
    ("process", "proc/self/stat", Absent::Broken),
    ("file_system", "proc/self/mountinfo", Absent::Broken),
    ("interrupt", "proc/interrupts", Absent::Broken),
    ("pressure", "proc/pressure/cpu", Absent::Unsupported),
    ("kernel_log", "dev/kmsg", Absent::Unsupported),
    ("btrfs_device", "sys/fs/btrfs/features", Absent::NotApplicable),
    ("zfs", "proc/spl/kstat/zfs/arcstats", Absent::NotApplicable),
];

/// A sentence per subject that begins with `works`, `unsupported here`, `broken` or `not applicable`.
#[must_use]
pub fn verdicts(root: &Path) -> BTreeMap<String, String> {
    let of = |(subject, file, absent): (&str, &str, Absent)| {
        let path = root.join(file);
        // A folder tells by being there; what is read once and then gone (the kernel's log) is not read.
        let read = File::open(&path).and_then(|mut opened| match opened.metadata()?.is_file() {
            true => opened.read(&mut [0; 1]).map(|_| ()),
            false => Ok(()),
        });
        let verdict = match read {
            Ok(()) => "works".to_string(),
            Err(error) if error.kind() == ErrorKind::NotFound => match absent {
                Absent::Broken => format!("broken: there is no {}", path.display()),
                Absent::Unsupported => format!("unsupported here: there is no {}", path.display()),
                Absent::NotApplicable => format!("not applicable: there is no {}", path.display()),
            },
            // Pressure is compiled in and switched off; a log that only root may read.
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {
                format!("unsupported here: {}: {error}", path.display())
            }
            Err(error) => format!("broken: {}: {error}", path.display()),
        };
        (subject.to_string(), verdict)
    };
    let mut verdicts: BTreeMap<String, String> = SUBJECTS.into_iter().map(of).collect();
    let groups = match Cgroups::new(root, true) {
        Ok(_) => "works".to_string(),
        Err(error) => format!("unsupported here: control groups: {error}"),
    };
    verdicts.insert("cgroup".to_string(), groups);
    // The module alone has no pools.
    let pools = match verdicts.get("zfs").cloned() {
        Some(words) if words == "works" && !has_pool(root) => "not applicable: no pool is imported".to_string(),
        words => words.unwrap_or_default(),
    };
    verdicts.insert("zfs_pool".to_string(), pools);
    verdicts
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
        let root = tempfile::tempdir().unwrap();
        let none = verdicts(root.path());
        assert!(none["cpu"].starts_with("broken: there is no "), "{none:?}");
        assert!(
            ["pressure", "cgroup"].iter().all(|subject| none[*subject].starts_with("unsupported here: ")),
            "{none:?}"
        );
        assert_eq!(none["zfs_pool"], none["zfs"]);
        std::fs::create_dir_all(root.path().join("proc/spl/kstat/zfs")).unwrap();
        std::fs::write(root.path().join("proc/spl/kstat/zfs/arcstats"), "hits 4 1\n").unwrap();
        let module = verdicts(root.path());
        assert_eq!((module["zfs"].as_str(), &*module["zfs_pool"]), ("works", "not applicable: no pool is imported"));
        std::fs::create_dir(root.path().join("proc/spl/kstat/zfs/tank")).unwrap();
        assert_eq!(verdicts(root.path())["zfs_pool"], "works");
        assert!(none["zfs"].starts_with("not applicable: ") && none["btrfs_device"].starts_with("not applicable: "));
    }
}
