//! The search of a job for the depth that keeps a latency goal.

use plan::LatencyGoal;

/// Looks for the greatest depth that keeps a service time: doubles until it is too much, then halves the interval.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) goal: LatencyGoal,
    pub(super) depth: u32,
    pub(super) depth_max: u32,
    /// The greatest depth known to be good, 0: none.
    pub(super) good: u32,
    /// The smallest known to be too much.
    pub(super) bad: u32,
    pub(super) settled: bool,
    pub(super) window_end_ns: Option<u64>,
    pub(super) operations: u64,
    pub(super) slow: u64,
}

impl Search {
    pub(super) fn new(goal: LatencyGoal, depth_max: u32) -> Self {
        let bad = depth_max.saturating_add(1);
        Self { goal, depth: 1, depth_max, good: 0, bad, settled: false, window_end_ns: None, operations: 0, slow: 0 }
    }

    /// Found, and not to go on?
    pub(super) fn is_over(&self) -> bool {
        self.settled && !self.goal.run_on
    }

    pub(super) fn completed(&mut self, now_ns: u64, service_ns: u64) {
        let end_ns = *self.window_end_ns.get_or_insert(now_ns + self.goal.window_ns);
        self.operations += 1;
        self.slow += u64::from(service_ns > self.goal.target_ns);
        if now_ns < end_ns || self.settled {
            return;
        }
        let kept = 1.0 - self.slow as f64 / self.operations as f64;
        if kept >= self.goal.fraction {
            self.good = self.depth;
        } else {
            self.bad = self.depth;
        }
        self.settled = self.good + 1 >= self.bad;
        self.depth = if self.settled {
            self.good.max(1)
        } else if self.bad > self.depth_max {
            self.good.saturating_mul(2).clamp(1, self.depth_max)
        } else {
            u32::midpoint(self.good, self.bad).max(1)
        };
        (self.window_end_ns, self.operations, self.slow) = (None, 0, 0);
    }
}
