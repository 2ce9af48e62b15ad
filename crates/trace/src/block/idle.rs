//! Devices that have nothing in flight by the kernel's own count. What a probe's table says is on its way there has ended,
//! and the kernel left the probe at its end out.

use quantity::clock;
use recording::IoRecord;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// The kernel counts a request before its driver gets it; who got one less than so long ago may have been looked at in
/// between.
const SETTLED_NS: u64 = 1_000_000;
/// `REQ_OP_READ` and `REQ_OP_WRITE`: these are counted, drivers' own commands and parts of flushes are not everywhere.
const COUNTED: [u8; 2] = [0, 1];

/// When devices, by their numbers, were seen with nothing in flight: `CLOCK_MONOTONIC`, ns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle(HashMap<u32, u64>);

impl Idle {
    /// Looks at the devices whose drivers have these I/Os, but for those that got theirs just now.
    pub(crate) fn look(ios: impl Iterator<Item = IoRecord>) -> Self {
        let until_ns = clock::now_ns().saturating_sub(SETTLED_NS);
        let devices: BTreeSet<u32> =
            ios.filter(|io| is_counted(io) && io.issue_ns < until_ns).map(|io| io.dev).collect();
        // The time first: what the driver had then is counted.
        let idle = devices.into_iter().map(|dev| (dev, clock::now_ns())).filter(|(dev, _)| is_idle(*dev));
        Self(idle.collect())
    }

    /// Had this one ended when its device was looked at?
    pub(crate) fn has_ended(&self, io: &IoRecord) -> bool {
        let seen_ns = self.0.get(&io.dev);
        is_counted(io) && seen_ns.is_some_and(|seen_ns| io.issue_ns.saturating_add(SETTLED_NS) <= *seen_ns)
    }
}

/// Only what a driver has got as a request: a bio, or what waits before a driver that takes nothing, may not be counted.
fn is_counted(io: &IoRecord) -> bool {
    io.issue_ns > 0 && COUNTED.contains(&io.op)
}

/// Does the kernel count the I/Os of this disk, and are none in flight?
fn is_idle(dev: u32) -> bool {
    let folder = format!("/sys/dev/block/{}:{}", dev >> 20, dev & 0xf_ffff);
    let read = |name: &str| std::fs::read_to_string(Path::new(&folder).join(name)).unwrap_or_default();
    read("queue/iostats").trim() == "1" && is_idle_by(&read("stat"))
}

/// By the text of `/sys/block/DEV/stat` (Documentation/block/stat.rst): reads and writes done are the first and the fifth
/// figure, the ninth is what is in flight.
fn is_idle_by(stat: &str) -> bool {
    let figures: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let is_counted = figures.first().zip(figures.get(4)).is_some_and(|(reads, writes)| reads + writes > 0);
    is_counted && figures.get(8) == Some(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(dev: u32, op: u8, issue_ns: u64) -> IoRecord {
        IoRecord {
            queue_ns: 1,
            complete_ns: 0,
            issue_ns,
            sector: 0,
            bytes: 4096,
            dev,
            issuer: 0,
            owner: 0,
            file: 0,
            flags: 0,
            op,
            bios: 1,
            requeues: 0,
            status: 0,
        }
    }

    #[test]
    fn what_the_kernel_counts() {
        assert!(is_idle_by("  9 0 72 1 5 0 40 2 0 3 3 0 0 0 0 0 0"));
        assert!(!is_idle_by("  9 0 72 1 5 0 40 2 1 3 3"), "one is in flight");
        assert!(!is_idle_by("  0 0 0 0 0 0 0 0 0 0 0"), "nothing is counted");
        assert!(!is_idle_by(""), "it has gone");
    }

    #[test]
    fn only_what_a_driver_had_before_has_ended() {
        let idle = Idle(HashMap::from([(7, 5 * SETTLED_NS)]));
        assert!(idle.has_ended(&io(7, 1, 4 * SETTLED_NS)));
        assert!(!idle.has_ended(&io(7, 1, 4 * SETTLED_NS + 1)), "just then");
        assert!(!idle.has_ended(&io(7, 1, 0)), "no driver has it");
        assert!(!idle.has_ended(&io(7, 2, SETTLED_NS)), "a flush");
        assert!(!idle.has_ended(&io(8, 1, SETTLED_NS)), "another device");
        assert!(!Idle::look([io(u32::MAX, 0, 1)].into_iter()).has_ended(&io(u32::MAX, 0, 1)), "no such device");
    }
}
