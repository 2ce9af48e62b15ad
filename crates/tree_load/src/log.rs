//! What a thread did since that was last added to the statistics.
//!
//! The thread writes here without a lock, so that an operation costs a few stores. Who holds the lock of the statistics adds what is here:
//! the thread where its log is full, and the coordinator at the end of every interval. So an operation belongs to the interval in which it
//! ended, and what is under way can be seen at any time.

use crate::run::{Begun, Done};
use plan::generate::OperationKind;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Operations that a log has room for.
const OPERATIONS: usize = 32;
/// Steps that it has room for.
const STEPS: usize = 32;

/// An operation; `moved` and `t_ns` where it has ended.
#[derive(Debug, Default)]
#[repr(align(64))]
struct OpRecord {
    kind: AtomicU64,
    due_ns: AtomicU64,
    submitted_ns: AtomicU64,
    offset: AtomicU64,
    asked: AtomicU64,
    moved: AtomicU64,
    t_ns: AtomicU64,
}

/// A step that has ended.
#[derive(Debug, Default)]
struct StepRecord {
    kind: AtomicU64,
    /// What it moved, + 1; 0: it failed.
    moved: AtomicU64,
    service_ns: AtomicU64,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Logged {
    /// An operation was begun and done.
    Done(Done),
    /// One was begun that is under way.
    Begun(Begun),
    /// The one that was under way the last time was done.
    Ended(Done),
    /// A step took so long, and moved so many bytes or failed.
    Step {
        /// Number of the lane.
        lane: usize,
        /// What it was.
        op: OperationKind,
        /// Bytes that it moved; or it failed.
        moved: Result<u64, ()>,
        /// How long it took.
        service_ns: u64,
    },
}

/// The log of one thread.
#[derive(Debug, Default)]
pub struct ThreadLog {
    /// So many of each kind there were: written by the thread.
    begun: AtomicUsize,
    ended: AtomicUsize,
    stepped: AtomicUsize,
    /// So many of them are in the statistics: written by who holds their lock.
    begun_noted: AtomicUsize,
    ended_noted: AtomicUsize,
    stepped_noted: AtomicUsize,
    operations: [OpRecord; OPERATIONS],
    steps: [StepRecord; STEPS],
}

/// Lane and operation in one word.
#[inline(always)]
fn packed(lane: usize, op: OperationKind) -> u64 {
    ((lane as u64) << 8) | op.index() as u64
}

#[inline(always)]
fn unpacked(kind: u64) -> (usize, OperationKind) {
    let op = OperationKind::ALL.get((kind & 0xff) as usize).copied().unwrap_or(OperationKind::Read);
    (usize::try_from(kind >> 8).unwrap_or(usize::MAX), op)
}

impl OpRecord {
    #[inline(always)]
    fn begun(&self) -> Begun {
        let (lane, op) = unpacked(self.kind.load(Ordering::Relaxed));
        let (due_ns, submitted_ns) = (self.due_ns.load(Ordering::Relaxed), self.submitted_ns.load(Ordering::Relaxed));
        Begun { lane, op, due_ns, submitted_ns }
    }

    #[inline(always)]
    fn done(&self) -> Done {
        let asked = u32::try_from(self.asked.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        let (t_ns, offset) = (self.t_ns.load(Ordering::Relaxed), self.offset.load(Ordering::Relaxed));
        Done { begun: self.begun(), t_ns, offset, asked, moved: self.moved.load(Ordering::Relaxed) }
    }
}

/// For the thread whose log it is.
impl ThreadLog {
    /// Is there no room for an operation and what steps it usually has?
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        let operations =
            self.begun.load(Ordering::Relaxed).wrapping_sub(self.ended_noted.load(Ordering::Acquire)) >= OPERATIONS;
        operations || self.steps_left() < STEPS / 2
    }

    /// There is room for so many steps.
    #[inline(always)]
    pub(crate) fn steps_left(&self) -> usize {
        let kept = self.stepped.load(Ordering::Relaxed).wrapping_sub(self.stepped_noted.load(Ordering::Acquire));
        STEPS.saturating_sub(kept)
    }

    /// An operation begins; there must be room for it.
    #[inline(always)]
    pub(crate) fn begin(&self, begun: Begun, (offset, asked): (u64, u32)) {
        let at = self.begun.load(Ordering::Relaxed);
        let record = &self.operations[at % OPERATIONS];
        record.kind.store(packed(begun.lane, begun.op), Ordering::Relaxed);
        record.due_ns.store(begun.due_ns, Ordering::Relaxed);
        record.submitted_ns.store(begun.submitted_ns, Ordering::Relaxed);
        record.offset.store(offset, Ordering::Relaxed);
        record.asked.store(u64::from(asked), Ordering::Relaxed);
        self.begun.store(at.wrapping_add(1), Ordering::Release);
    }

    /// The operation that was begun last is done.
    #[inline(always)]
    pub(crate) fn done(&self, t_ns: u64, moved: u64) {
        let at = self.ended.load(Ordering::Relaxed);
        let record = &self.operations[at % OPERATIONS];
        record.t_ns.store(t_ns, Ordering::Relaxed);
        record.moved.store(moved, Ordering::Relaxed);
        self.ended.store(at.wrapping_add(1), Ordering::Release);
    }

    /// A step has ended; there must be room for it.
    #[inline(always)]
    pub(crate) fn step(&self, (lane, op): (usize, OperationKind), moved: Result<u64, ()>, service_ns: u64) {
        let at = self.stepped.load(Ordering::Relaxed);
        let record = &self.steps[at % STEPS];
        record.kind.store(packed(lane, op), Ordering::Relaxed);
        record.moved.store(moved.map_or(0, |bytes| bytes.saturating_add(1)), Ordering::Relaxed);
        record.service_ns.store(service_ns, Ordering::Relaxed);
        self.stepped.store(at.wrapping_add(1), Ordering::Release);
    }
}

/// For who holds the lock of the statistics to which it is added.
impl ThreadLog {
    /// Hands over what was not handed over yet: operations in the order in which they happened, and then steps.
    #[inline]
    pub fn take(&self, mut note: impl FnMut(Logged)) {
        // Ends first: of everything that has ended the beginning is there.
        let ended = self.ended.load(Ordering::Acquire);
        let is_under_way = self.begun.load(Ordering::Acquire) != ended;
        let begun_noted = self.begun_noted.load(Ordering::Relaxed);
        let mut at = self.ended_noted.load(Ordering::Relaxed);
        if at != begun_noted && at != ended {
            // It was under way the last time.
            note(Logged::Ended(self.operations[at % OPERATIONS].done()));
            at = at.wrapping_add(1);
        }
        while at != ended {
            note(Logged::Done(self.operations[at % OPERATIONS].done()));
            at = at.wrapping_add(1);
        }
        // What has begun behind this one since is for the next time.
        let begun = ended.wrapping_add(usize::from(is_under_way));
        if is_under_way && begun != begun_noted {
            note(Logged::Begun(self.operations[at % OPERATIONS].begun()));
        }
        self.begun_noted.store(begun, Ordering::Relaxed);
        self.ended_noted.store(ended, Ordering::Release);
        let stepped = self.stepped.load(Ordering::Acquire);
        let mut at = self.stepped_noted.load(Ordering::Relaxed);
        while at != stepped {
            let record = &self.steps[at % STEPS];
            let (lane, op) = unpacked(record.kind.load(Ordering::Relaxed));
            let moved = record.moved.load(Ordering::Relaxed).checked_sub(1).ok_or(());
            note(Logged::Step { lane, op, moved, service_ns: record.service_ns.load(Ordering::Relaxed) });
            at = at.wrapping_add(1);
        }
        self.stepped_noted.store(stepped, Ordering::Release);
    }

    /// The operation that was begun last has failed, and was noted as that. For the thread itself, behind [`ThreadLog::take`].
    pub fn failed(&self) {
        let ended = self.ended.load(Ordering::Relaxed).wrapping_add(1);
        self.ended.store(ended, Ordering::Release);
        self.ended_noted.store(ended, Ordering::Release);
    }

    /// What is under way.
    #[must_use]
    pub fn under_way(&self) -> Option<Begun> {
        let ended = self.ended.load(Ordering::Acquire);
        // While the lock is held nothing is overwritten that has ended since.
        (self.begun.load(Ordering::Acquire) != ended).then(|| self.operations[ended % OPERATIONS].begun())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Operations begun, done and steps, and the sum of what was moved.
    type Sums = (u64, u64, u64, u64);

    fn add(sums: &mut Sums, logged: Logged) {
        match logged {
            Logged::Begun(begun) => {
                assert_eq!(begun.submitted_ns, sums.0);
                sums.0 += 1;
            }
            Logged::Done(done) | Logged::Ended(done) => {
                sums.0 += u64::from(matches!(logged, Logged::Done(_)));
                assert_eq!((done.begun.submitted_ns, done.t_ns, done.asked), (sums.1, sums.1 + 1, 7));
                (sums.1, sums.3) = (sums.1 + 1, sums.3 + done.moved);
            }
            Logged::Step { lane, op, moved, service_ns } => {
                let is_right = if sums.2.is_multiple_of(2) { Ok(0) } else { Err(()) };
                assert_eq!((lane, op, moved, service_ns), (3, OperationKind::Close, is_right, sums.2));
                sums.2 += 1;
            }
        }
        assert!(sums.1 <= sums.0);
    }

    #[test]
    fn everything_is_handed_over_once_and_in_order_whoever_takes_it() {
        let (log, sums) = (ThreadLog::default(), Mutex::new(Sums::default()));
        let total = 20_000_u64;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..total {
                    if log.is_full() {
                        let mut sums = sums.lock().unwrap();
                        log.take(|logged| add(&mut sums, logged));
                    }
                    let begun = Begun { lane: 5, op: OperationKind::Open, due_ns: 0, submitted_ns: number };
                    log.begin(begun, (0, 7));
                    let moved = if number.is_multiple_of(2) { Ok(0) } else { Err(()) };
                    log.step((3, OperationKind::Close), moved, number);
                    log.done(number + 1, 2);
                }
            });
            while sums.lock().unwrap().1 < total / 2 {
                let mut sums = sums.lock().unwrap();
                log.take(|logged| add(&mut sums, logged));
                if let Some(begun) = log.under_way() {
                    assert!((sums.1..total).contains(&begun.submitted_ns) && begun.lane == 5);
                }
            }
        });
        log.take(|logged| add(&mut sums.lock().unwrap(), logged));
        assert_eq!(*sums.lock().unwrap(), (total, total, total, 2 * total));
        assert!(log.under_way().is_none());
    }

    #[test]
    fn what_failed_is_over_and_not_handed_over_as_done() {
        let (log, mut seen) = (ThreadLog::default(), Vec::new());
        log.begin(Begun { lane: 1, op: OperationKind::Rmdir, due_ns: 4, submitted_ns: 5 }, (0, 0));
        assert_eq!(log.under_way().map(|begun| (begun.lane, begun.due_ns)), Some((1, 4)));
        log.take(|logged| seen.push(logged));
        log.failed();
        log.take(|logged| seen.push(logged));
        assert!(matches!(seen.as_slice(), [Logged::Begun(_)]) && log.under_way().is_none());
    }
}
