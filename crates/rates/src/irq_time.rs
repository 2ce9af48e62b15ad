//! What interrupts took between two samples, by event.

use crate::counter::{delta_i64, ratio};

/// Interrupts and the time that they took between two rows of one vector, or of one vector and process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IrqDelta {
    /// How many.
    pub count: i64,
    /// Time, ns.
    pub time_ns: i64,
}

impl IrqDelta {
    /// From one row's count and time to the next; `None` when either ran backwards: the probe was loaded anew.
    #[must_use]
    pub fn of(now: (i64, i64), before: (i64, i64)) -> Option<Self> {
        Some(Self { count: delta_i64(now.0, before.0)?, time_ns: delta_i64(now.1, before.1)? })
    }

    /// The same of what interrupts took from a process: what ran backwards belongs to another process of that number, or to a
    /// probe that was loaded anew, and both began at 0.
    #[must_use]
    pub fn or_restart(now: (i64, i64), before: (i64, i64)) -> Self {
        Self::of(now, before).unwrap_or(Self { count: now.0, time_ns: now.1 })
    }

    /// Mean time of one, ns.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        ratio(self.time_ns as f64, self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_took_over_a_number_began_at_0() {
        let all = IrqDelta { count: 5, time_ns: 700 };
        assert_eq!(IrqDelta::of((15, 1_700), (10, 1_000)), Some(all));
        assert_eq!(IrqDelta::of((15, 700), (10, 1_000)), None);
        // It has more interrupts than the one before, in less time: both are its own.
        assert_eq!(IrqDelta::or_restart((15, 700), (10, 1_000)), IrqDelta { count: 15, time_ns: 700 });
        assert_eq!((all.mean_ns(), IrqDelta::default().mean_ns()), (Some(140.0), None));
    }
}
