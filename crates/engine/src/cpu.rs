//! CPU time of workers.

use std::fs;

/// CPU time of one io_uring worker, or of the whole process when a synchronous crew does the work.
#[derive(Debug)]
pub(crate) struct CpuClock {
    is_thread: bool,
    /// Does it report at all? The process is reported once, not by each crew.
    reports: bool,
    last: (u64, u64),
}

impl CpuClock {
    pub(crate) fn new(is_thread: bool, is_first: bool) -> Self {
        let mut clock = Self { is_thread, reports: is_thread || is_first, last: (0, 0) };
        if !is_thread {
            clock.last = clock.read(0).unwrap_or_default();
        }
        clock
    }

    /// `(user, system)` ns since the last call.
    pub(crate) fn since_last(&mut self, tid: u32) -> (u64, u64) {
        let Some(now) = self.read(tid).filter(|_| self.reports) else { return (0, 0) };
        let last = std::mem::replace(&mut self.last, now);
        (now.0.saturating_sub(last.0), now.1.saturating_sub(last.1))
    }

    /// Run time in ns from the scheduler, divided as the kernel's user and system ticks are.
    fn read(&self, tid: u32) -> Option<(u64, u64)> {
        let folder = if self.is_thread { format!("/proc/self/task/{tid}") } else { "/proc/self".to_string() };
        let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
        // Fields after the command's closing bracket: state is the third, utime the 14th, stime the 15th.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let user: u64 = fields.next()?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        let ticks_ns =
            |ticks: u64| ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1));
        if !self.is_thread {
            return Some((ticks_ns(user), ticks_ns(system)));
        }
        let schedstat = fs::read_to_string(format!("{folder}/schedstat")).ok();
        let run_ns = schedstat.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        let Some(run_ns) = run_ns.filter(|_| user + system > 0) else {
            return Some((ticks_ns(user), ticks_ns(system)));
        };
        let user_ns = (u128::from(run_ns) * u128::from(user) / u128::from(user + system)).try_into().unwrap_or(run_ns);
        Some((user_ns, run_ns - user_ns))
    }
}
