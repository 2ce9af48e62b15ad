//! When operations in trees are due, and of which kind each is.

use crate::shared::Control;
use plan::TreeTask;
use plan::generate::{ArrivalSchedule, OperationKind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest wait for a turn: how late a thread may notice that it is to stop.
const NAP: Duration = Duration::from_millis(20);

/// A random number that depends on a seed and on the number of what it is for, and on nothing else.
#[inline]
pub(crate) fn chance(seed: u64, number: u64) -> u64 {
    let mix = |x: u64, by: u64| (x ^ (x >> 31)).wrapping_mul(by);
    let x = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let x = mix(mix(x, 0xbf58_476d_1ce4_e5b9), 0x94d0_49bb_1331_11eb);
    x ^ (x >> 32)
}

/// `count × chance`: one of so many by chance.
#[inline]
pub(crate) fn below(chance: u64, count: u64) -> u64 {
    u64::try_from((u128::from(chance) * u128::from(count)) >> 64).unwrap_or(0)
}

/// 0 to 1, 0 excluded.
#[inline]
pub(crate) fn unit(chance: u64) -> f64 {
    ((chance >> 11) + 1) as f64 / 9_007_199_254_740_992.0
}

/// Of which kind each operation of a lane is: that follows from its number alone, so that the coordinator knows it too.
#[derive(Clone, Debug)]
pub(crate) enum Kinds {
    One(OperationKind),
    Mixed {
        read: f64,
        seed: u64,
    },
    /// In turn.
    Flow(Vec<OperationKind>),
}

impl Kinds {
    pub(crate) fn new(task: &TreeTask, seed: u64) -> Self {
        match task {
            TreeTask::One(kind) => Self::One(*kind),
            TreeTask::Mixed { read } => Self::Mixed { read: *read, seed },
            TreeTask::Flow(steps) => Self::Flow(steps.iter().map(|step| step.op).collect()),
            // Its operations are no tickets.
            TreeTask::Format(_) => Self::One(OperationKind::Write),
        }
    }

    /// So many operations are due together.
    pub(crate) fn group(&self) -> u64 {
        match self {
            Self::One(_) | Self::Mixed { .. } => 1,
            Self::Flow(kinds) => (kinds.len() as u64).max(1),
        }
    }

    /// Of the operation with this number.
    #[inline]
    pub(crate) fn of(&self, number: u64) -> OperationKind {
        match self {
            Self::One(kind) => *kind,
            Self::Mixed { read, seed } if unit(chance(*seed, number)) <= *read => OperationKind::Read,
            Self::Mixed { .. } => OperationKind::Write,
            Self::Flow(kinds) => kinds
                .get(usize::try_from(number % (kinds.len() as u64).max(1)).unwrap_or(0))
                .copied()
                .unwrap_or(OperationKind::Read),
        }
    }
}

/// The right to do one operation, or all of a flow, of which this is the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    pub(crate) kind: OperationKind,
    /// Time of the run, ns.
    pub(crate) due_ns: u64,
}

/// Due times of a lane, given to its threads one after the other.
#[derive(Debug)]
pub(crate) struct Tickets {
    schedule: ArrivalSchedule,
    next_ns: u64,
    number: u64,
}

impl Tickets {
    pub(crate) fn new(mut schedule: ArrivalSchedule) -> Self {
        let next_ns = schedule.next_ns();
        Self { schedule, next_ns, number: 0 }
    }

    /// When the next one is due.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The next one; `None` when it is due later than `last_ns`.
    pub(crate) fn take(&mut self, kinds: &Kinds, last_ns: u64) -> Option<Ticket> {
        if self.next_ns > last_ns {
            return None;
        }
        let ticket = Ticket { kind: kinds.of(self.number), due_ns: self.next_ns };
        // Those of a flow are one ticket.
        for _ in 0..kinds.group() {
            self.number += 1;
            self.next_ns = self.schedule.next_ns();
        }
        Some(ticket)
    }
}

/// Shares that must hold at full speed: each operation moves its lane on by 1 ÷ share, and the lane that is furthest back has the
/// next turn. Threads of the others wait. A flow has its turn as a whole.
#[derive(Debug)]
pub(crate) struct Turns {
    passes: Mutex<Vec<Pass>>,
    /// One for each lane.
    changed: Vec<Condvar>,
}

#[derive(Debug)]
struct Pass {
    /// Operations that it had, and the part of all that it is to have; 0: it has ended.
    done: u64,
    share: f64,
    /// Operations of a turn.
    each: u64,
}

impl Turns {
    /// For lanes with these shares, and so many operations in a turn.
    pub(crate) fn new(shares: &[(f64, u64)]) -> Self {
        let pass = |(share, each): &(f64, u64)| Pass { done: 0, share: share.max(1e-9), each: (*each).max(1) };
        Self {
            passes: Mutex::new(shares.iter().map(pass).collect()),
            changed: shares.iter().map(|_| Condvar::new()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Pass>> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of the lanes that have had less than their part, the one whose next operation is to be over first: no lane is ever more
    /// than one turn from its part.
    fn next(passes: &[Pass]) -> Option<usize> {
        let live = || passes.iter().enumerate().filter(|(_, pass)| pass.share > 0.0);
        let (done, shares) = live().fold((0, 0.0), |(done, sum), (_, pass)| (done + pass.done, sum + pass.share));
        let is_behind = |pass: &Pass| (pass.done as f64) < pass.share * (done + 1) as f64 / shares;
        let over = |pass: &Pass| (pass.done + pass.each) as f64 / pass.share;
        live()
            .filter(|(_, pass)| is_behind(pass))
            .min_by(|(_, a), (_, b)| over(a).total_cmp(&over(b)))
            .map(|(at, _)| at)
    }

    fn wake(&self, passes: &[Pass]) {
        if let Some(next) = Self::next(passes) {
            self.changed[next].notify_one();
        }
    }

    /// Waits until it is this lane's turn, and takes it: says whether it had to wait. `None`: the run is over.
    pub(crate) fn take(&self, lane: usize, control: &Control) -> Option<bool> {
        let mut passes = self.lock();
        let mut waited = false;
        while Self::next(&passes) != Some(lane) {
            if control.is_stopped() || control.is_aborted() || passes[lane].share == 0.0 {
                return None;
            }
            waited = true;
            passes = self.changed[lane].wait_timeout(passes, NAP).unwrap_or_else(PoisonError::into_inner).0;
        }
        passes[lane].done += passes[lane].each;
        self.wake(&passes);
        Some(waited)
    }

    /// A lane has ended: the others do not wait for it.
    pub(crate) fn leave(&self, lane: usize) {
        let mut passes = self.lock();
        passes[lane].share = 0.0;
        drop(passes);
        self.changed.iter().for_each(Condvar::notify_all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_keeps_all_shares_to_one_operation() {
        let shares = [0.5, 0.3, 0.15, 0.05];
        let (turns, control, mut done) = (Turns::new(&shares.map(|share| (share, 1))), Control::default(), [0_u64; 4]);
        for total in 1..=10_000_u64 {
            let next = Turns::next(&turns.lock()).unwrap();
            assert_eq!(turns.take(next, &control), Some(false));
            done[next] += 1;
            for (done, share) in done.iter().zip(shares) {
                assert!((*done as f64 - share * total as f64).abs() <= 1.0, "{done} of {total}");
            }
        }
        // The others do not wait for one that has ended.
        (0..3).for_each(|lane| turns.leave(lane));
        assert_eq!((turns.take(3, &control), turns.take(3, &control)), (Some(false), Some(false)));
        assert_eq!(turns.take(0, &control), None);
    }

    #[test]
    fn the_kind_of_an_operation_follows_from_its_number() {
        let kinds = Kinds::new(&TreeTask::Mixed { read: 0.25 }, 9);
        let reads = |from: u64| (from..from + 10_000).filter(|at| kinds.of(*at) == OperationKind::Read).count();
        assert!((2300..2700).contains(&reads(0)) && reads(0) == reads(0) && reads(0) != reads(50_000));
        assert!((0..1000).all(|at| below(chance(3, at), 7) < 7 && unit(chance(3, at)) > 0.0));
    }
}
