//! What a command used.

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// What a program and the children that it waited for used, by the kernel's account at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandUsage {
    /// CPU time in user mode, ns.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub sys_ns: u64,
    /// Greatest resident memory of one of its processes, bytes; `None` where that is no more than what the program inherited
    /// ([`InheritedMemory`](crate::InheritedMemory)).
    pub max_rss_bytes: Option<u64>,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Context switches of its own will.
    pub voluntary_switches: u64,
    /// Context switches not of its own will.
    pub involuntary_switches: u64,
    /// I/O; `None` where the kernel does not count it or this user may not see it.
    pub io: Option<CommandIo>,
}

/// The lines of `/proc/PID/io` (proc(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandIo {
    /// Bytes that it had storage read.
    pub read_bytes: u64,
    /// Bytes that it made dirty for storage, less those that were dropped before they were written.
    pub write_bytes: u64,
    /// Bytes that its calls read, caches and pipes included.
    pub read_call_bytes: u64,
    /// Bytes that its calls wrote.
    pub write_call_bytes: u64,
}

impl CommandIo {
    /// Of a process that is there, or is a zombie.
    pub(crate) fn of(pid: Pid) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{}/io", pid.as_raw_nonzero())).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().parse::<u64>().ok()
        };
        Some(Self {
            read_bytes: value("read_bytes")?,
            write_bytes: value("write_bytes")?.saturating_sub(value("cancelled_write_bytes").unwrap_or(0)),
            read_call_bytes: value("rchar")?,
            write_call_bytes: value("wchar")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::CommandIo;

    #[test]
    fn what_was_dropped_before_it_was_written_does_not_count() {
        let text = "rchar: 10\nwchar: 20\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n";
        let io = CommandIo { read_bytes: 4096, write_bytes: 4096, read_call_bytes: 10, write_call_bytes: 20 };
        assert_eq!(CommandIo::parse(text), Some(io));
        assert_eq!(CommandIo::parse("rchar: 10\n"), None);
    }
}
