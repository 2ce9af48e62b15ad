//! I/O priorities of single requests.

use crate::group_spec::GroupSpec;
use plan::generate::OperationKind;
use plan::{PriorityShare, RequestPriorities};

/// Chooses the priorities of a job's requests.
#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    shares: RequestPriorities,
    state: u64,
}

impl Chooser {
    fn new(shares: &RequestPriorities, seed: u64) -> Self {
        Self { shares: shares.clone(), state: seed }
    }

    /// One per lane of the group; nothing at all when no job asks for it.
    pub(crate) fn of_lanes(group: &GroupSpec) -> Vec<Option<Self>> {
        if group.jobs.iter().all(|job| job.job.priorities.is_none()) {
            return Vec::new();
        }
        let mut all = vec![None; group.lanes.len()];
        for job in &group.jobs {
            let shares = job.job.priorities.as_ref();
            for (number, lane) in job.lanes.clone().enumerate() {
                let seed = (job.workload as u64) << 32 | number as u64;
                all[lane] = shares.map(|shares| Self::new(shares, seed));
            }
        }
        all
    }

    /// The priority of the next request; `None`: the job's own.
    #[inline]
    pub(crate) fn next(&mut self, op: OperationKind, bytes: u32) -> Option<u16> {
        let shares: &[PriorityShare] = match op {
            OperationKind::Read => &self.shares.reads,
            OperationKind::Write => &self.shares.writes,
            _ => &[],
        };
        let is_meant = |share: &&PriorityShare| share.bytes.is_none_or(|size| size == u64::from(bytes));
        let mut meant = shares.iter().filter(is_meant).peekable();
        meant.peek()?;
        // splitmix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        let chance = (u128::from(x) * 100) >> 64;
        let mut upto = 0;
        for share in meant {
            upto += u128::from(share.percent);
            if chance < upto {
                return Some(share.io_priority);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_requests_have_a_priority_as_their_shares_say() {
        let share = |bytes, percent, io_priority| PriorityShare { bytes, percent, io_priority };
        let shares = RequestPriorities {
            reads: vec![share(Some(4096), 30, 1), share(Some(4096), 20, 2), share(Some(8192), 100, 3)],
            writes: vec![share(None, 10, 4)],
        };
        let mut chooser = Chooser::new(&shares, 7);
        let mut count = |op, bytes| {
            let mut counts = [0_i32; 5];
            (0..10_000).for_each(|_| counts[usize::from(chooser.next(op, bytes).unwrap_or(0))] += 1);
            counts
        };
        // σ of 10,000 draws is 50 at most.
        let near = |found: [i32; 5], expect: [i32; 5]| found.iter().zip(expect).all(|(a, b)| (a - b).abs() <= 250);
        assert!(near(count(OperationKind::Read, 4096), [5000, 3000, 2000, 0, 0]));
        assert_eq!(count(OperationKind::Read, 8192), [0, 0, 0, 10_000, 0]);
        assert_eq!(count(OperationKind::Read, 512), [10_000, 0, 0, 0, 0]);
        assert!(near(count(OperationKind::Write, 512), [9000, 0, 0, 0, 1000]));
        assert_eq!(count(OperationKind::Trim, 512), [10_000, 0, 0, 0, 0]);
    }
}
