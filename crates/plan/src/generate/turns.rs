//! Which target of a job is next, and when the job has done all it was to do.

use super::rng::{Rng, derive};
use super::{Joined, Operation, floor_u64};
use crate::job::{Job, Turn};

/// Chooses targets and counts what a job may still do.
#[derive(Clone, Debug)]
pub struct Turns {
    turn: Turn,
    rng: Rng,
    /// Bytes of each target's range; a target that has ended has none.
    ranges: Vec<u64>,
    ended: Vec<bool>,
    current: usize,
    /// Operations, or bytes of the range, that the current target still gets.
    left_here: u64,
    operations_left: Option<u64>,
    bytes_left: Option<u64>,
    /// All targets as one.
    joined: Option<Box<Joined>>,
}

impl Turns {
    /// The order of a job whose targets are one address space.
    pub fn joined(job: &Job, joined: Joined, seed: u64) -> Self {
        let mut this = Self::new(job, vec![joined.range_bytes()], seed);
        this.joined = Some(Box::new(joined));
        this
    }

    /// The order of a job over targets with ranges of this many bytes.
    pub fn new(job: &Job, ranges: Vec<u64>, seed: u64) -> Self {
        let ended = vec![false; ranges.len()];
        let all: u64 = ranges.iter().sum();
        let passes = job.passes.map(|passes| floor_u64(all as f64 * passes));
        let mut this = Self {
            turn: job.turn,
            rng: Rng::new(derive(seed, 0x7475_726e)),
            current: ranges.len().saturating_sub(1),
            ranges,
            ended,
            left_here: 0,
            operations_left: job.operations,
            bytes_left: job.bytes.into_iter().chain(passes).min(),
            joined: None,
        };
        this.go_on();
        this
    }

    /// The next target and its operation, which `of` gives; `None` at the end of the job, and from then on.
    #[inline]
    pub fn next(&mut self, mut of: impl FnMut(usize) -> Option<Operation>) -> Option<(usize, Operation)> {
        if self.operations_left == Some(0) || self.bytes_left == Some(0) {
            return None;
        }
        if let Some(joined) = &mut self.joined {
            let (at, operation) = joined.next()?;
            self.count(u64::from(operation.bytes));
            return Some((at, operation));
        }
        for _ in 0..=self.ranges.len() {
            if self.left_here == 0 || self.ended.get(self.current).copied().unwrap_or(true) {
                self.go_on();
            }
            let at = self.current;
            if self.ended.get(at).copied().unwrap_or(true) {
                return None;
            }
            let Some(operation) = of(at) else {
                self.ended[at] = true;
                continue;
            };
            let bytes = u64::from(operation.bytes);
            self.left_here = match self.turn {
                Turn::Sequential | Turn::Joined => self.left_here.saturating_sub(bytes),
                // What belongs to a write before it takes no turn of its own.
                _ if bytes == 0 => self.left_here,
                _ => self.left_here - 1,
            };
            self.count(bytes);
            return Some((at, operation));
        }
        None
    }

    /// Counts an operation towards the job's end.
    #[inline]
    fn count(&mut self, bytes: u64) {
        if bytes > 0 {
            self.operations_left = self.operations_left.map(|left| left - 1);
        }
        self.bytes_left = self.bytes_left.map(|left| left.saturating_sub(bytes));
    }

    /// The next target's turn.
    fn go_on(&mut self) {
        let count = self.ranges.len();
        if count == 0 {
            return;
        }
        if let Turn::Random { each } = self.turn {
            self.left_here = u64::from(each.max(1));
            let alive: Vec<usize> = (0..count).filter(|at| !self.ended[*at]).collect();
            let chosen = self.rng.below(alive.len() as u64);
            self.current = usize::try_from(chosen).ok().and_then(|at| alive.get(at).copied()).unwrap_or(0);
            return;
        }
        for _ in 0..count {
            self.current = if self.current + 1 >= count { 0 } else { self.current + 1 };
            if !self.ended[self.current] {
                break;
            }
        }
        self.left_here = match self.turn {
            Turn::Sequential | Turn::Joined => self.ranges[self.current].max(1),
            Turn::RoundRobin { each } | Turn::Random { each } => u64::from(each.max(1)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Op;

    fn order(job: &Job, ranges: &[u64], count: usize) -> Vec<usize> {
        let mut turns = Turns::new(job, ranges.to_vec(), 1);
        let one = |_| Some(Operation { op: Op::Read, offset: 0, bytes: 4096 });
        (0..count).map_while(|_| turns.next(one)).map(|(at, _)| at).collect()
    }

    #[test]
    fn targets_come_in_the_order_asked_for() {
        let job = |turn| Job { turn, ..Job::new(1) };
        assert_eq!(order(&job(Turn::RoundRobin { each: 1 }), &[1; 3], 5), [0, 1, 2, 0, 1]);
        assert_eq!(order(&job(Turn::RoundRobin { each: 2 }), &[1; 2], 5), [0, 0, 1, 1, 0]);
        assert_eq!(order(&job(Turn::Sequential), &[8192, 4096], 5), [0, 0, 1, 0, 0]);
        let random = order(&job(Turn::Random { each: 1 }), &[1; 4], 4000);
        for target in 0..4 {
            let count = random.iter().filter(|at| **at == target).count();
            assert!((850..1150).contains(&count), "{target}: {count}");
        }
    }

    #[test]
    fn a_job_ends_with_its_bytes_or_operations() {
        let limited = Job { bytes: Some(10_000), ..Job::new(1) };
        assert_eq!(order(&limited, &[1], 100).len(), 3, "what was begun is finished");
        let twice = Job { passes: Some(2.0), ..Job::new(1) };
        assert_eq!(order(&twice, &[8192, 4096], 100).len(), 6);
        let counted = Job { operations: Some(7), ..Job::new(1) };
        assert_eq!(order(&counted, &[1, 1], 100).len(), 7);
    }

    #[test]
    fn a_target_that_ends_leaves_the_others_going() {
        let mut turns = Turns::new(&Job::new(1), vec![1, 1], 1);
        let mut left = [1, 3];
        let mut next = || {
            turns.next(|at| {
                (left[at] > 0).then(|| {
                    left[at] -= 1;
                    Operation { op: Op::Read, offset: 0, bytes: 1 }
                })
            })
        };
        let order: Vec<usize> = std::iter::from_fn(|| next().map(|(at, _)| at)).collect();
        assert_eq!(order, [0, 1, 1, 1]);
    }
}
