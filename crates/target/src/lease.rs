//! Leases that other programs hold on files: how long they are waited for, and who holds them.

use rustix::fs::{major, minor};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// How long an open waits for another program's lease.
pub(crate) const LEASE_WAIT: Duration = Duration::from_secs(2);
/// How long between two attempts.
pub(crate) const LEASE_STEP: Duration = Duration::from_millis(20);

/// The process that holds a lease on a file, as `pid 12 (smbd)`, from /proc/locks; for the message only.
pub(crate) fn lease_holder(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok()?;
    let device = metadata.dev();
    let file = format!("{:02x}:{:02x}:{}", major(device), minor(device), metadata.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let pid = locks.lines().find_map(|line| {
        // `1: LEASE  ACTIVE    WRITE 1234 fe:00:5678 0 EOF`
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_lease = words.get(1).is_some_and(|kind| ["LEASE", "DELEG"].contains(kind));
        (is_lease && words.get(5) == Some(&file.as_str())).then(|| words[4].to_string())
    })?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_graphic).collect();
    Some(format!("pid {pid}, {name}"))
}
