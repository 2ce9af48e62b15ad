//! When the operations of an open loop are due: all of them by one schedule, or each kind by its own, as fio's rates of reads and
//! writes are kept.

use crate::EngineError;
use plan::generate::{ArrivalSchedule, BLOCK_KINDS, GeneratorPart, HeldKinds, OperationKind};
use plan::{Arrivals, GapDistribution, Workload};

/// Due times with the kinds of operation that they are for.
#[derive(Clone, Debug)]
pub(crate) enum DueTimes {
    /// Any kind, as the mix has it.
    Mixed(Timer),
    /// By [`OperationKind::index`].
    ByKind(Box<[Option<Timer>; BLOCK_KINDS]>),
}

/// A schedule and its next due time.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    schedule: ArrivalSchedule,
    next_ns: u64,
}

impl Timer {
    fn new(mut schedule: ArrivalSchedule) -> Self {
        let next_ns = schedule.next_ns();
        Self { schedule, next_ns }
    }

    #[inline]
    fn advance(&mut self) {
        self.next_ns = self.schedule.next_ns();
    }
}

impl DueTimes {
    /// All kinds by one schedule.
    pub(crate) fn mixed(schedule: ArrivalSchedule) -> Self {
        Self::Mixed(Timer::new(schedule))
    }

    /// Of a job with a rate of its own. Where it reads and writes at even gaps by fio's rules, each direction has its part of the
    /// rate to itself; what comes by chance is mixed by chance, which is the same.
    pub(crate) fn of_job(workload: &Workload, rate: f64, arrivals: &Arrivals, seed: u64) -> Result<Self, EngineError> {
        let mix = &workload.mix;
        let shares = [mix.read, mix.write, mix.trim];
        let sum: f64 = shares.iter().sum();
        let is_mix = shares.iter().filter(|share| **share > 0.0).count() > 1;
        let takes_turns = mix.trim_then_write || mix.flush > 0.0 || workload.address.files.is_none();
        if !is_mix || takes_turns || arrivals.gaps != GapDistribution::Deterministic || arrivals.burst.is_some() {
            return Ok(Self::mixed(ArrivalSchedule::new(rate, arrivals, seed, GeneratorPart::WHOLE)?));
        }
        let mut timers = [const { None }; BLOCK_KINDS];
        for (kind, share) in shares.into_iter().enumerate().filter(|(_, share)| *share > 0.0) {
            let own = whole(rate * share / sum);
            timers[kind] = Some(Timer::new(ArrivalSchedule::new(own, arrivals, seed, GeneratorPart::WHOLE)?));
        }
        Ok(Self::ByKind(Box::new(timers)))
    }

    /// When the next operation is due, ns since the start.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        match self {
            Self::Mixed(timer) => timer.next_ns,
            Self::ByKind(timers) => timers.iter().flatten().map(|timer| timer.next_ns).min().unwrap_or(u64::MAX / 4),
        }
    }

    /// The kinds that it must not be of.
    #[inline]
    pub(crate) fn held(&self) -> HeldKinds {
        let Self::ByKind(timers) = self else { return HeldKinds::default() };
        let due_ns = |at: usize| timers[at].as_ref().map(|timer| timer.next_ns);
        let first = (0..BLOCK_KINDS).filter(|at| timers[*at].is_some()).min_by_key(|at| due_ns(*at));
        std::array::from_fn(|at| first != Some(at))
    }

    /// The operation that was due is one of this kind. A flush between reads and writes with rates of their own takes the time of
    /// none of them.
    #[inline]
    pub(crate) fn pass(&mut self, op: OperationKind) {
        match self {
            Self::Mixed(timer) => timer.advance(),
            Self::ByKind(timers) => timers[op.index()].iter_mut().for_each(Timer::advance),
        }
    }
}

/// A rate without what was lost when it became a share: 500.0000000001 per second would be one more in two seconds.
fn whole(rate: f64) -> f64 {
    let round = rate.round();
    if round > 0.0 && (rate - round).abs() < 1e-9 * round { round } else { rate }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::OpMix;

    fn counts(mix: OpMix, gaps: GapDistribution, rate: f64, until_ns: u64) -> [usize; 2] {
        let mut workload = crate::engine_overhead::workload();
        workload.mix = mix;
        workload.address.files = Some(Box::default());
        let mut dues = DueTimes::of_job(&workload, rate, &Arrivals { gaps, burst: None }, 7).unwrap();
        let (mut counts, mut last_ns) = ([0; 2], 0);
        while dues.next_ns() < until_ns {
            assert!(dues.next_ns() >= last_ns, "in order");
            last_ns = dues.next_ns();
            let op = if dues.held()[0] { OperationKind::Write } else { OperationKind::Read };
            counts[op.index()] += 1;
            dues.pass(OperationKind::Flush);
            dues.pass(op);
        }
        counts
    }

    #[test]
    fn reads_and_writes_have_as_many_due_as_their_rates_say() {
        for (read, write) in [(500, 100), (100, 500), (700, 301), (3, 997), (100, 100), (7, 13)] {
            let rate = f64::from(read + write);
            let mix = OpMix { read: f64::from(read) / rate, write: f64::from(write) / rate, ..OpMix::read_write(0.5) };
            let found = counts(mix, GapDistribution::Deterministic, rate, 2_000_000_000);
            assert_eq!(found, [read, write].map(|each: i32| usize::try_from(2 * each).unwrap()), "in 2 s");
        }
    }
}
