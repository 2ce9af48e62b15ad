//! What workers cost: CPU time, switches, page faults.

use std::fs;
use std::sync::Mutex;

/// What a thread, or the process, has cost since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadUsage {
    /// CPU time in user mode and in the kernel, ns.
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    /// Context switches, of its own will and not; of a process they are not known.
    pub(crate) switches: Option<u64>,
    /// Page faults without and with I/O.
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
}

impl ThreadUsage {
    fn since(self, last: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(last.user_ns),
            system_ns: self.system_ns.saturating_sub(last.system_ns),
            switches: self.switches.map(|now| now.saturating_sub(last.switches.unwrap_or(0))),
            minor_faults: self.minor_faults.saturating_sub(last.minor_faults),
            major_faults: self.major_faults.saturating_sub(last.major_faults),
        }
    }
}

/// What a thread had cost when it ended: the kernel forgets a thread at its end.
#[derive(Debug, Default)]
pub(crate) struct EndedCost(Mutex<Option<ThreadUsage>>);

impl EndedCost {
    /// For the thread itself, at its end.
    pub(crate) fn note(&self, tid: u32) {
        if let Ok(mut ended) = self.0.lock() {
            *ended = of_thread(tid);
        }
    }

    fn get(&self) -> Option<ThreadUsage> {
        self.0.lock().ok().and_then(|ended| *ended)
    }
}

/// Cost of one io_uring worker, or of the whole process when a synchronous crew does the work.
#[derive(Debug)]
pub(crate) struct CostClock {
    is_thread: bool,
    /// Does it report at all? The process is reported once, not by each crew.
    reports: bool,
    last: ThreadUsage,
}

impl CostClock {
    pub(crate) fn new(is_thread: bool, is_first: bool) -> Self {
        let last = if is_thread { ThreadUsage::default() } else { of_process().unwrap_or_default() };
        Self { is_thread, reports: is_thread || is_first, last }
    }

    /// Cost since the last call; the last one of a thread that has ended is what it noted.
    pub(crate) fn since_last(&mut self, tid: u32, ended: &EndedCost) -> ThreadUsage {
        let now = match self.is_thread {
            true => ended.get().or_else(|| of_thread(tid)),
            false => of_process(),
        };
        let Some(now) = now.filter(|_| self.reports) else { return ThreadUsage::default() };
        now.since(std::mem::replace(&mut self.last, now))
    }
}

fn of_process() -> Option<ThreadUsage> {
    Some(read_stat("/proc/self")?.0)
}

/// Run time in ns from the scheduler, divided as the kernel's user and system ticks are.
fn of_thread(tid: u32) -> Option<ThreadUsage> {
    let folder = format!("/proc/self/task/{tid}");
    let (cost, ticks) = read_stat(&folder)?;
    let status = fs::read_to_string(format!("{folder}/status")).ok();
    let switches = status.as_deref().and_then(switches_of);
    let schedstat = fs::read_to_string(format!("{folder}/schedstat")).ok();
    let run_ns = schedstat.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    let (user, system) = ticks;
    let Some(run_ns) = run_ns else { return Some(ThreadUsage { switches, ..cost }) };
    // What ran for less than a tick is not divided: it counts as the kernel's, where most of an I/O's time goes.
    let user_ns = match user + system {
        0 => 0,
        all => (u128::from(run_ns) * u128::from(user) / u128::from(all)).try_into().unwrap_or(run_ns),
    };
    Some(ThreadUsage { user_ns, system_ns: run_ns - user_ns, switches, ..cost })
}

/// `voluntary_ctxt_switches` and `nonvoluntary_ctxt_switches` of `/proc/self/task/TID/status`.
fn switches_of(status: &str) -> Option<u64> {
    let found = status.lines().filter(|line| line.contains("voluntary_ctxt_switches:"));
    let counts: Option<Vec<u64>> = found.map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect();
    counts.filter(|counts| counts.len() == 2).map(|counts| counts.iter().sum())
}

/// Faults and times by ticks, and the ticks, of `stat` (proc_pid_stat(5)).
fn read_stat(folder: &str) -> Option<(ThreadUsage, (u64, u64))> {
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    // Fields after the command's closing bracket: state is the third, minflt the 10th, majflt the 12th, utime the 14th, stime the 15th.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let (user, system) = (field(14)?, field(15)?);
    let ticks_ns = |ticks: u64| ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1));
    let cost = ThreadUsage {
        user_ns: ticks_ns(user),
        system_ns: ticks_ns(system),
        switches: None,
        minor_faults: field(10)?,
        major_faults: field(12)?,
    };
    Some((cost, (user, system)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_cost_is_known_after_its_end() {
        let ended = EndedCost::default();
        let tid = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
                    let mut sum = 0_u64;
                    let until_ns = quantity::clock::now_ns() + 20_000_000;
                    while quantity::clock::now_ns() < until_ns {
                        sum = std::hint::black_box(sum + 1);
                    }
                    // Touched for the first time: faults.
                    std::hint::black_box(vec![1_u8; 8 << 20]);
                    ended.note(tid);
                    tid
                })
                .join()
                .unwrap()
        });
        let mut clock = CostClock::new(true, true);
        let cost = clock.since_last(tid, &ended);
        assert!(
            cost.user_ns + cost.system_ns > 1_000_000 && cost.minor_faults > 100 && cost.switches.is_some(),
            "{cost:?}"
        );
        assert_eq!(clock.since_last(tid, &ended), ThreadUsage { switches: Some(0), ..ThreadUsage::default() });
    }
}
