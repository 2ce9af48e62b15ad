//! Arrivals that were not submitted yet, oldest first: how long each of them has waited when the run ends.
//!
//! The coordinator sees arrivals (from its copy of the schedule) and how many operations each lane submitted; both are in
//! the same order, so what waits is the rest. Few are kept as they are; of millions only the place in the schedule is kept
//! from which they can be made again, so that the memory is bounded however far a target falls behind.

use plan::generate::OperationKind;
use std::collections::VecDeque;

/// Arrivals that are kept one by one; further ones are made again from the schedule.
const KEPT: usize = 1 << 16;

/// One arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Workload and target, as the run and the plan count them.
    pub(crate) lane: (usize, usize),
    pub(crate) op: OperationKind,
    /// Time of the run, ns.
    pub(crate) due_ns: u64,
}

/// Gives the arrivals of a schedule one after the other.
pub(crate) trait Source: Clone {
    /// The next arrival.
    fn next(&mut self) -> Option<Arrival>;
}

/// The arrivals of one schedule that wait.
#[derive(Debug)]
pub(crate) struct Waiting<S> {
    kept: VecDeque<Arrival>,
    /// Where the schedule stood behind the kept ones, and how many arrivals followed.
    beyond: Option<(Box<S>, u64)>,
    /// Submissions whose arrivals were not seen yet.
    owed: u64,
}

impl<S> Default for Waiting<S> {
    fn default() -> Self {
        Self { kept: VecDeque::new(), beyond: None, owed: 0 }
    }
}

impl<S: Source> Waiting<S> {
    /// So many operations were submitted.
    pub(crate) fn submitted(&mut self, count: u64) {
        self.owed += count;
        while self.owed > 0 {
            let taken = usize::try_from(self.owed).unwrap_or(usize::MAX).min(self.kept.len());
            if taken == 0 && !self.refill() {
                return;
            }
            self.kept.drain(..taken);
            self.owed -= taken as u64;
        }
    }

    /// Will the next arrival be kept, or is it known that it need not be? Where not, [`Waiting::arrived`] asks for a copy of
    /// the schedule.
    #[inline]
    pub(crate) fn keeps_all(&self) -> bool {
        self.owed > 0 || self.beyond.is_some() || self.kept.len() < KEPT
    }

    /// Something arrived; `before` is a copy of the schedule as it was just before, where one is asked for.
    #[inline]
    pub(crate) fn arrived(&mut self, arrival: Arrival, before: Option<S>) {
        if self.owed > 0 {
            self.owed -= 1;
        } else if let Some((_, count)) = &mut self.beyond {
            *count += 1;
        } else {
            match before {
                Some(source) => self.beyond = Some((Box::new(source), 1)),
                None => self.kept.push_back(arrival),
            }
        }
    }

    /// Submissions whose arrivals were not seen.
    pub(crate) fn owed(&self) -> u64 {
        self.owed
    }

    /// Makes some of the arrivals that were not kept again; false when there are none.
    fn refill(&mut self) -> bool {
        let Some((source, count)) = &mut self.beyond else { return false };
        while *count > 0 && self.kept.len() < KEPT {
            let Some(arrival) = source.next() else {
                *count = 0;
                break;
            };
            self.kept.push_back(arrival);
            *count -= 1;
        }
        if *count == 0 {
            self.beyond = None;
        }
        !self.kept.is_empty()
    }

    /// Gives everything that waits, oldest first, and forgets it.
    pub(crate) fn take(&mut self, mut each: impl FnMut(Arrival)) {
        loop {
            self.kept.drain(..).for_each(&mut each);
            if !self.refill() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One arrival a nanosecond.
    #[derive(Clone, Debug)]
    struct Clock(u64);

    impl Source for Clock {
        fn next(&mut self) -> Option<Arrival> {
            self.0 += 1;
            Some(Arrival { lane: (0, 0), op: OperationKind::Read, due_ns: self.0 })
        }
    }

    /// Arrivals and submissions as given, one pair after the other; what waits then.
    fn left(steps: &[(u64, u64)]) -> Vec<u64> {
        let (mut clock, mut waiting) = (Clock(0), Waiting::<Clock>::default());
        for (submissions, arrivals) in steps {
            waiting.submitted(*submissions);
            for _ in 0..*arrivals {
                let before = (!waiting.keeps_all()).then(|| clock.clone());
                waiting.arrived(clock.next().unwrap(), before);
            }
        }
        let mut dues = Vec::new();
        waiting.take(|arrival| dues.push(arrival.due_ns));
        assert!(waiting.kept.capacity() <= 2 * KEPT);
        dues
    }

    #[test]
    fn what_waits_is_what_arrived_last_however_much_that_is() {
        let many = 5 * KEPT as u64;
        for (steps, from, to) in [
            (vec![(0, 10)], 1, 10),
            (vec![(4, 10)], 5, 10),
            (vec![(0, 10), (10, 3), (3, 1)], 14, 14),
            (vec![(0, many)], 1, many),
            (vec![(7, many), (many - 10, 5)], many - 2, many + 5),
            (vec![(0, many), (many / 2, many), (3, 9)], many / 2 + 4, 2 * many + 9),
        ] {
            assert_eq!(left(&steps), (from..=to).collect::<Vec<_>>(), "{steps:?}");
        }
        assert!(left(&[(0, 10), (10, 0)]).is_empty() && left(&[(many, many)]).is_empty());
    }
}
