//! What ends a job besides its own limits, and what ends with it, by fio's rules.

use serde::{Deserialize, Serialize};

/// `EIO`: what an operation that moved nothing counts as.
pub const EIO: i32 = 5;
/// `ENOSPC`: no room left on the device.
pub const ENOSPC: i32 = 28;
/// `EILSEQ`: data that is not what it should be.
pub const EILSEQ: i32 = 84;
/// `ETIMEDOUT`: how a job ends that had an operation slower than it allows.
pub const ETIMEDOUT: i32 = 110;
/// `EDQUOT`: no room left of a quota.
pub const EDQUOT: i32 = 122;

/// What ends a job besides its limits: its first failed operation, unless that is passed over; and what its end ends.
///
/// What fio does is the rule (`break_on_this_error()`, `td_non_fatal_error()`, `fio_terminate_threads()` of fio 3.33).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnd {
    /// Error numbers that are counted and do not end the job: of reads, of all other operations, and, whatever the
    /// operation, [`EILSEQ`].
    pub passed_over: [Vec<i32>; 3],
    /// A service time above it, after the warm-up, ends the job with [`ETIMEDOUT`]: of reads, writes, trims.
    pub slowest_ns: [Option<u64>; 3],
    /// [`ENOSPC`] and [`EDQUOT`] end it as if it had done all it was to do.
    pub fills_device: bool,
    /// Others that end when this one does.
    pub takes_along: Option<TakesAlong>,
    /// Which jobs of the run belong together.
    pub group: u32,
}

/// What else ends with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakesAlong {
    /// Which.
    pub reach: EndScope,
    /// Only when it ended with an error.
    pub only_failed: bool,
}

/// Which jobs end with another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndScope {
    /// Those of its [group](JobEnd::group), begun or not.
    #[default]
    Group,
    /// Those of the run that have begun.
    Running,
    /// All of the run and of all runs behind it.
    All,
}

impl JobEnd {
    /// Does the job go on after an operation that failed with this error number?
    pub fn passes_over(&self, is_read: bool, errno: i32) -> bool {
        let kind = match (errno, is_read) {
            (EILSEQ, _) => 2,
            (_, true) => 0,
            (_, false) => 1,
        };
        self.passed_over[kind].contains(&errno)
    }

    /// Is that the end of the device that the job was to fill?
    pub fn is_full(&self, errno: i32) -> bool {
        self.fills_device && matches!(errno, ENOSPC | EDQUOT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_passed_over_by_kind_of_operation_and_number() {
        let end = JobEnd { passed_over: [vec![EIO], vec![], vec![EILSEQ]], fills_device: true, ..JobEnd::default() };
        assert!(end.passes_over(true, EIO) && !end.passes_over(false, EIO) && !end.passes_over(true, ENOSPC));
        assert!(end.passes_over(true, EILSEQ) && end.passes_over(false, EILSEQ));
        assert!(end.is_full(EDQUOT) && end.is_full(ENOSPC) && !end.is_full(EIO));
        assert!(!JobEnd::default().passes_over(true, EIO) && !JobEnd::default().is_full(ENOSPC));
    }
}
