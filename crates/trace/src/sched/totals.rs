//! What probe.bpf.c sums: the same layouts, read without trust.

use crate::names::Cursor;

/// A thread, for good: numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ThreadKey {
    pub(super) start_ns: u64,
    pub(super) tid: u32,
}

impl ThreadKey {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut at = Cursor::new(bytes);
        Self { start_ns: at.u64(), tid: at.u32() }
    }
}

/// Sums of a thread since the probe began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) sums: Sums,
    pub(super) leader_ns: u64,
    pub(super) tgid: u32,
    pub(super) is_dead: bool,
    pub(super) parent: u32,
    pub(super) comm: String,
    pub(super) leader_comm: String,
}

/// What is summed of threads, and of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) run_ns: u64,
    pub(super) wait_ns: u64,
    pub(super) switches: u64,
    pub(super) preemptions: u64,
}

impl Sums {
    /// What came since; a table that began anew began at 0.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            run_ns: self.run_ns.saturating_sub(before.run_ns),
            wait_ns: self.wait_ns.saturating_sub(before.wait_ns),
            switches: self.switches.saturating_sub(before.switches),
            preemptions: self.preemptions.saturating_sub(before.preemptions),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.run_ns += other.run_ns;
        self.wait_ns += other.wait_ns;
        self.switches += other.switches;
        self.preemptions += other.preemptions;
    }
}

impl Thread {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut at = Cursor::new(bytes);
        let sums = Sums { run_ns: at.u64(), wait_ns: at.u64(), switches: at.u64(), preemptions: at.u64() };
        let _queued_ns = at.u64();
        let (leader_ns, tgid, _by, dead, parent) = (at.u64(), at.u32(), at.u32(), at.u32(), at.u32());
        let (_queued_cpu, _pad) = (at.u32(), at.u32());
        Self { sums, leader_ns, tgid, is_dead: dead != 0, parent, comm: at.text(16), leader_comm: at.text(16) }
    }
}

/// What a CPU did since its first switch that was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) since_ns: u64,
    pub(super) on_it: Option<ThreadKey>,
    pub(super) run_ns: u64,
    pub(super) long_ns: u64,
    pub(super) idle_ns: u64,
    pub(super) wait_ns: u64,
    pub(super) switches: u64,
    pub(super) preemptions: u64,
    pub(super) lost: u64,
}

impl Slot {
    /// `None` when it was changed while it was copied.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let mut at = Cursor::new(bytes);
        let end = at.u64();
        let since_ns = at.u64();
        let on_it = ThreadKey { start_ns: at.u64(), tid: at.u32() };
        let _tgid = at.u32();
        let slot = Self {
            since_ns,
            on_it: (on_it.tid != 0).then_some(on_it),
            run_ns: at.u64(),
            long_ns: at.u64(),
            idle_ns: at.u64(),
            wait_ns: at.u64(),
            switches: at.u64(),
            preemptions: at.u64(),
            lost: at.u64(),
        };
        (at.u64() == end).then_some(slot)
    }
}

/// Who waited, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PairKey {
    pub(super) victim: u32,
    pub(super) by: u32,
}

impl PairKey {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut at = Cursor::new(bytes);
        Self { victim: at.u32(), by: at.u32() }
    }
}

/// How often, and how long, one process waited for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    /// How often that process preempted it.
    pub(super) count: u64,
    pub(super) wait_ns: u64,
    /// It woke while the other one ran.
    pub(super) behind: u64,
    pub(super) behind_ns: u64,
}

impl Pair {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut at = Cursor::new(bytes);
        Self { count: at.u64(), wait_ns: at.u64(), behind: at.u64(), behind_ns: at.u64() }
    }

    /// What came since; a table that began anew began at 0.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            count: self.count.saturating_sub(before.count),
            wait_ns: self.wait_ns.saturating_sub(before.wait_ns),
            behind: self.behind.saturating_sub(before.behind),
            behind_ns: self.behind_ns.saturating_sub(before.behind_ns),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.wait_ns += other.wait_ns;
        self.behind += other.behind;
        self.behind_ns += other.behind_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_slot_that_changed_meanwhile_is_none() {
        let whole = words(&[7, 100, 55, 3, 10, 4, 20, 30, 40, 50, 0, 7]);
        let slot = Slot::of(&whole).unwrap();
        assert_eq!(slot.on_it, Some(ThreadKey { start_ns: 55, tid: 3 }));
        assert_eq!((slot.since_ns, slot.run_ns, slot.long_ns, slot.idle_ns, slot.preemptions), (100, 10, 4, 20, 50));
        let torn = words(&[7, 100, 55, 3, 10, 4, 20, 30, 40, 50, 0, 8]);
        assert_eq!(Slot::of(&torn), None);
        assert_eq!(Slot::of(&words(&[0; 12])).unwrap().on_it, None);
    }

    #[test]
    fn a_thread_as_the_kernel_holds_it() {
        let mut bytes = words(&[1, 2, 3, 4, 5, 6]);
        [9_u32, 8, 1, 2, 1, 0].iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
        bytes.extend_from_slice(b"one\0............two\0............");
        let thread = Thread::of(&bytes);
        assert_eq!(thread.sums, Sums { run_ns: 1, wait_ns: 2, switches: 3, preemptions: 4 });
        assert_eq!((thread.tgid, thread.is_dead, thread.parent, thread.leader_ns), (9, true, 2, 6));
        assert_eq!((thread.comm.as_str(), thread.leader_comm.as_str()), ("one", "two"));
        assert_eq!(Thread::of(&[]), Thread::default());
    }

    #[test]
    fn a_pair_grows() {
        let (before, now) = (Pair::of(&words(&[1, 10, 2, 20])), Pair::of(&words(&[4, 15, 7, 21])));
        let part = now.since(&before);
        assert_eq!(part, Pair { count: 3, wait_ns: 5, behind: 5, behind_ns: 1 });
        let mut sum = before;
        sum.add(&part);
        assert_eq!(sum, now);
    }
}
