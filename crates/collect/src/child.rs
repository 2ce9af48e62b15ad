//! What finished children of this process have cost, from `/proc/self` (proc(5)).

use crate::text::{counter, named, words};
use std::path::Path;

/// Sums over all children that have ended and were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildCost {
    /// CPU time in user mode, to the clock's tick.
    pub user_ns: u64,
    /// CPU time in the kernel, to the clock's tick.
    pub system_ns: u64,
    /// Bytes that they caused to be read from devices; `None` where the kernel does not count it.
    pub read_bytes: Option<u64>,
    /// Bytes that they caused to be written to devices.
    pub write_bytes: Option<u64>,
}

impl ChildCost {
    /// Up to now; `None` without `/proc`.
    #[must_use]
    pub fn now() -> Option<Self> {
        let stat = std::fs::read("/proc/self/stat").ok()?;
        let behind = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let ticks = |field: usize| words(&stat[behind..]).nth(field - 3).and_then(counter);
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let time = |field: usize| Some(u64::try_from(ticks(field)?).ok()? * tick_ns);
        let io = children_io();
        Some(Self {
            user_ns: time(16)?,
            system_ns: time(17)?,
            read_bytes: io.map(|(read, _)| read),
            write_bytes: io.map(|(_, write)| write),
        })
    }

    /// What came since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let less = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        Self {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            read_bytes: less(self.read_bytes, before.read_bytes),
            write_bytes: less(self.write_bytes, before.write_bytes),
        }
    }
}

/// The process's figures contain those of its children that were waited for; those of its own threads are taken off.
/// Threads that have ended count as children here; ours live as long as the process.
fn children_io() -> Option<(u64, u64)> {
    let of = |path: &Path| {
        let text = std::fs::read(path).ok()?;
        let value = |name| u64::try_from(named(&text, name)?).ok();
        Some((value("read_bytes")?, value("write_bytes")?))
    };
    let mut own = (0, 0);
    for task in std::fs::read_dir("/proc/self/task").ok()?.flatten() {
        let (read, write) = of(&task.path().join("io")).unwrap_or((0, 0));
        own = (own.0 + read, own.1 + write);
    }
    let (read, write) = of(Path::new("/proc/self/io"))?;
    Some((read.saturating_sub(own.0), write.saturating_sub(own.1)))
}

/// Alone: children of other tests are children of the same process.
#[cfg(test)]
mod alone {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_is_charged_when_it_has_ended() {
        let scratch = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
        let file = scratch.path().join("f");
        let before = ChildCost::now().unwrap();
        let script = format!(
            "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; dd if=/dev/zero of={} bs=1M count=8 2>&1",
            file.display()
        );
        assert!(Command::new("sh").args(["-c", &script]).output().unwrap().status.success());
        let cost = ChildCost::now().unwrap().since(before);
        assert!(cost.user_ns + cost.system_ns > 0, "{cost:?}");
        assert!(cost.write_bytes.is_none_or(|bytes| (8 << 20..12 << 20).contains(&bytes)), "{cost:?}");
    }
}
