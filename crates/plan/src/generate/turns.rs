//! Which target of a job is next, and when the job has done all it was to do.

use super::joined::JoinedStream;
use super::operation::Operation;
use super::rng::{Rng, derive};
use crate::floor::floor_u64;
use crate::op::OperationKind;
use crate::spec::{FilePasses, Job, OpMix, RangeBound, TargetOrder, Workload, part_of};

/// Chooses targets and counts what a job may still do.
#[derive(Clone, Debug)]
pub struct TargetTurns {
    turn: TargetOrder,
    rng: Rng,
    /// Bytes of each target's range.
    ranges: Vec<u64>,
    ended: Vec<bool>,
    current: usize,
    /// Operations, or bytes of the range, that the current target still gets.
    left_here: u64,
    operations_left: Option<u64>,
    bytes_left: Option<u64>,
    /// It goes through its targets by fio's rules, pass after pass.
    passes: Option<Passes>,
    /// Targets that are to begin anew before their next operation.
    anew: Vec<bool>,
    /// All targets as one.
    joined: Option<Box<JoinedStream>>,
}

/// The passes of a job by fio's rules; see [`FilePasses`].
#[derive(Clone, Debug)]
struct Passes {
    endless: bool,
    loops_left: u64,
    /// Only writes count towards the job's end: each place is trimmed before.
    pairs: bool,
    /// Bytes that the job may issue, and bytes of reads and writes of a pass.
    limit: u64,
    pass_limit: u64,
    /// What is worth passes behind the last of `loops`, and whether it goes on when all targets are through.
    goal: u64,
    goes_on: bool,
    largest: u64,
    /// Bytes that count towards `limit`, all bytes, and those of this pass: all, and reads and writes.
    counted: u64,
    issued: u64,
    of_pass: u64,
    queued: u64,
}

impl Passes {
    fn new(files: &FilePasses, mix: &OpMix, ranges: &[u64], is_free: bool) -> Self {
        let of = |range: u64| match files.io_size {
            Some(RangeBound::Fraction(part)) => part_of(range, part),
            _ => range,
        };
        let all = ranges.iter().fold(0_u64, |sum, range| sum.saturating_add(of(*range)));
        let size = files.size_bytes.filter(|size| *size > 0).map_or(all, |size| size.min(all));
        let io_size = match files.io_size {
            Some(RangeBound::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        let goal = io_size.unwrap_or(size);
        let limit = goal.saturating_mul(files.loops);
        let mut pass_limit = size;
        if is_free && mix.write > 0.0 {
            pass_limit = pass_limit.max(io_size.unwrap_or(0));
        }
        if mix.trim_then_write {
            pass_limit = pass_limit.saturating_add(limit);
        }
        if !files.ends_by_bytes {
            pass_limit = u64::MAX;
        }
        Self {
            endless: files.endless,
            loops_left: files.loops.saturating_sub(1),
            pairs: mix.trim_then_write,
            limit,
            pass_limit,
            goal,
            goes_on: io_size.is_some(),
            largest: files.largest_bytes,
            counted: 0,
            issued: 0,
            of_pass: 0,
            queued: 0,
        }
    }

    /// Is nothing more to be issued?
    fn is_over(&self) -> bool {
        !self.endless && self.counted >= self.limit
    }

    fn is_pass_over(&self) -> bool {
        !self.endless && self.queued >= self.pass_limit
    }

    fn count(&mut self, operation: &Operation) {
        let bytes = u64::from(operation.bytes);
        self.issued += bytes;
        self.of_pass += bytes;
        // fio trims without a queue, whatever the engine.
        self.queued += if operation.op == OperationKind::Trim { 0 } else { bytes };
        if !self.pairs || operation.op == OperationKind::Write {
            self.counted += bytes;
        }
    }

    /// Another pass? `all_ended`: every target was through with the last one. A pass that did nothing is the last.
    fn next(&mut self, all_ended: bool) -> bool {
        self.queued = 0;
        if std::mem::take(&mut self.of_pass) == 0 {
            return false;
        }
        if self.endless {
            return true;
        }
        if self.loops_left > 0 {
            self.loops_left -= 1;
            return true;
        }
        let rest = self.goal.saturating_sub(self.issued);
        rest > 0 && rest >= self.largest && (!all_ended || self.goes_on)
    }
}

impl TargetTurns {
    /// The order of a job whose targets are one address space.
    pub fn joined(job: &Job, joined: JoinedStream, seed: u64) -> Self {
        let mut this = Self::new(job, vec![joined.range_bytes()], seed);
        this.joined = Some(Box::new(joined));
        this
    }

    /// The order of a job over targets with ranges of this many bytes.
    pub fn new(job: &Job, ranges: Vec<u64>, seed: u64) -> Self {
        Self::build(job, None, ranges, seed)
    }

    /// The order of a workload's job over targets with ranges of this many bytes.
    pub fn of(workload: &Workload, job: &Job, ranges: Vec<u64>, seed: u64) -> Self {
        Self::build(job, Some(workload), ranges, seed)
    }

    fn build(job: &Job, workload: Option<&Workload>, ranges: Vec<u64>, seed: u64) -> Self {
        let count = ranges.len();
        let all: u64 = ranges.iter().fold(0, |sum, range| sum.saturating_add(*range));
        let passes = job.passes.map(|passes| floor_u64(all as f64 * passes));
        let by_rules = job.files.as_ref().zip(workload).map(|(files, workload)| {
            // Without a map, and random.
            let is_free = workload.address.files.as_ref().is_some_and(|files| files.repeats);
            Passes::new(files, &workload.mix, &ranges, is_free)
        });
        let mut this = Self {
            turn: job.turn,
            rng: Rng::new(derive(seed, 0x7475_726e)),
            current: ranges.len().saturating_sub(1),
            ranges,
            ended: vec![false; count],
            left_here: 0,
            operations_left: job.operations,
            bytes_left: job.bytes.into_iter().chain(passes).min(),
            passes: by_rules,
            anew: vec![false; count],
            joined: None,
        };
        this.go_on();
        this
    }

    /// The next target and its operation, which `of` gives: it is called with a target, and whether that begins another
    /// pass before. `None` at the end of the job, and from then on.
    #[inline]
    pub fn next(&mut self, mut of: impl FnMut(usize, bool) -> Option<Operation>) -> Option<(usize, Operation)> {
        if self.operations_left == Some(0) || self.bytes_left == Some(0) {
            return None;
        }
        if let Some(joined) = &mut self.joined {
            let (at, operation) = joined.next()?;
            self.count(&operation);
            return Some((at, operation));
        }
        loop {
            if self.passes.as_ref().is_some_and(Passes::is_over) {
                return None;
            }
            if !self.passes.as_ref().is_some_and(Passes::is_pass_over)
                && let Some(next) = self.next_of_pass(&mut of)
            {
                return Some(next);
            }
            let all_ended = self.ended.iter().all(|ended| *ended);
            if !self.passes.as_mut().is_some_and(|passes| passes.next(all_ended)) {
                return None;
            }
            self.ended.fill(false);
            self.anew.fill(true);
            self.left_here = 0;
        }
    }

    /// The next operation before all targets are through.
    #[inline]
    fn next_of_pass(&mut self, of: &mut impl FnMut(usize, bool) -> Option<Operation>) -> Option<(usize, Operation)> {
        for _ in 0..=self.ranges.len() {
            if self.left_here == 0 || self.ended.get(self.current).copied().unwrap_or(true) {
                self.go_on();
            }
            let at = self.current;
            if self.ended.get(at).copied().unwrap_or(true) {
                return None;
            }
            let Some(operation) = of(at, std::mem::take(&mut self.anew[at])) else {
                self.ended[at] = true;
                continue;
            };
            let bytes = u64::from(operation.bytes);
            self.left_here = match self.turn {
                // By fio's rules a target has its turn until it is through.
                TargetOrder::Sequential if self.passes.is_some() => self.left_here,
                TargetOrder::Sequential | TargetOrder::Joined => self.left_here.saturating_sub(bytes),
                // What belongs to a write before it takes no turn of its own.
                _ if bytes == 0 => self.left_here,
                _ => self.left_here - 1,
            };
            self.count(&operation);
            return Some((at, operation));
        }
        None
    }

    /// Counts an operation towards the job's end.
    #[inline]
    fn count(&mut self, operation: &Operation) {
        let bytes = u64::from(operation.bytes);
        if bytes > 0 {
            self.operations_left = self.operations_left.map(|left| left - 1);
        }
        self.bytes_left = self.bytes_left.map(|left| left.saturating_sub(bytes));
        if let Some(passes) = &mut self.passes {
            passes.count(operation);
        }
    }

    /// The next target's turn.
    fn go_on(&mut self) {
        let count = self.ranges.len();
        if count == 0 {
            return;
        }
        if let TargetOrder::Random { each } = self.turn {
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
            TargetOrder::Sequential | TargetOrder::Joined => self.ranges[self.current].max(1),
            TargetOrder::RoundRobin { each } | TargetOrder::Random { each } => u64::from(each.max(1)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(job: &Job, ranges: &[u64], count: usize) -> Vec<usize> {
        let mut turns = TargetTurns::new(job, ranges.to_vec(), 1);
        let one = |_, _| Some(Operation { op: OperationKind::Read, offset: 0, bytes: 4096 });
        (0..count).map_while(|_| turns.next(one)).map(|(at, _)| at).collect()
    }

    #[test]
    fn targets_come_in_the_order_asked_for() {
        let job = |turn| Job { turn, ..Job::new(1) };
        assert_eq!(order(&job(TargetOrder::RoundRobin { each: 1 }), &[1; 3], 5), [0, 1, 2, 0, 1]);
        assert_eq!(order(&job(TargetOrder::RoundRobin { each: 2 }), &[1; 2], 5), [0, 0, 1, 1, 0]);
        assert_eq!(order(&job(TargetOrder::Sequential), &[8192, 4096], 5), [0, 0, 1, 0, 0]);
        let random = order(&job(TargetOrder::Random { each: 1 }), &[1; 4], 4000);
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
        let mut turns = TargetTurns::new(&Job::new(1), vec![1, 1], 1);
        let mut left = [1, 3];
        let mut next = || {
            turns.next(|at, _| {
                (left[at] > 0).then(|| {
                    left[at] -= 1;
                    Operation { op: OperationKind::Read, offset: 0, bytes: 1 }
                })
            })
        };
        let order: Vec<usize> = std::iter::from_fn(|| next().map(|(at, _)| at)).collect();
        assert_eq!(order, [0, 1, 1, 1]);
    }
}
