//! How much of its CPU a thread with real-time priority may use.

use crate::placement::{ordinary, real_time};

/// How often it is looked at what was used.
const PERIOD_NS: u64 = 1_000_000;
/// What is left free beyond what the kernel asks for.
const MARGIN: f64 = 0.01;

/// Keeps a thread below the share of a CPU that the kernel leaves to real-time priority (`sched_rt_runtime_us` of
/// `sched_rt_period_us`, 95 %); beyond that it takes the CPU away for the rest of the second, 50 ms at one go, even from
/// a thread that nobody waits for.
///
/// A thread that slept too little goes on with ordinary priority for a while: it loses nothing where its CPU is its own.
#[derive(Debug)]
pub(super) struct Share {
    /// Of a period with real-time priority, the nanoseconds in which it must not be used; 0: all of it may be.
    free_ns: u64,
    began_ns: u64,
    used_ns: u64,
    /// Ordinary priority until then.
    ordinary_until_ns: Option<u64>,
}

impl Share {
    /// For the calling thread, with or without real-time priority.
    pub(super) fn new(is_real_time: bool) -> Self {
        let number = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us")).ok()?;
            text.trim().parse::<f64>().ok()
        };
        let (runtime, period) = (number("runtime").unwrap_or(950_000.0), number("period").unwrap_or(1_000_000.0));
        let free_ns = if is_real_time { free_ns(runtime, period) } else { 0 };
        Self { free_ns, began_ns: 0, used_ns: 0, ordinary_until_ns: None }
    }

    /// To be called several times in each period: `now_ns` of any clock, `cpu_ns` gives the thread's CPU time.
    #[inline]
    pub(super) fn keep(&mut self, now_ns: u64, cpu_ns: impl Fn() -> u64) {
        if self.free_ns == 0 {
            return;
        }
        if let Some(until_ns) = self.ordinary_until_ns {
            if now_ns >= until_ns {
                real_time();
                self.ordinary_until_ns = None;
                self.begin(now_ns, cpu_ns());
            }
        } else if now_ns.saturating_sub(self.began_ns) >= PERIOD_NS {
            let cpu_ns = cpu_ns();
            let missing_ns = self.missing_ns(now_ns, cpu_ns);
            if missing_ns > 0 && ordinary() {
                self.ordinary_until_ns = Some(now_ns + missing_ns);
            } else {
                self.begin(now_ns, cpu_ns);
            }
        }
    }

    /// How long the CPU must be without real-time work before the next period.
    fn missing_ns(&self, now_ns: u64, cpu_ns: u64) -> u64 {
        let elapsed_ns = now_ns - self.began_ns;
        let used_ns = (cpu_ns - self.used_ns).min(elapsed_ns);
        // Of `used + free`, not of a period: one may be longer.
        let needed_ns = used_ns.saturating_mul(self.free_ns) / PERIOD_NS;
        needed_ns.saturating_sub(elapsed_ns - used_ns)
    }

    fn begin(&mut self, now_ns: u64, cpu_ns: u64) {
        (self.began_ns, self.used_ns) = (now_ns, cpu_ns);
    }
}

/// Nanoseconds to be left free for a period's real-time work; microseconds as the kernel tells them, `runtime` −1: no limit.
fn free_ns(runtime: f64, period: f64) -> u64 {
    if runtime < 0.0 || period <= 0.0 {
        return 0;
    }
    let share = (runtime / period - MARGIN).clamp(0.05, 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 19 periods")]
    let free_ns = (PERIOD_NS as f64 * (1.0 / share - 1.0)) as u64;
    free_ns
}

#[cfg(test)]
mod tests {
    use super::{PERIOD_NS, Share, free_ns};
    use crate::placement::real_time;
    use quantity::clock;

    /// The longest time that a thread with real-time priority loses its CPU for in 2.5 s in which it never sleeps.
    fn longest_gap_ns() -> u64 {
        let spin = || {
            let mut share = Share::new(real_time());
            let began_ns = clock::now_ns();
            let (mut last_ns, mut longest_ns) = (began_ns, 0);
            while last_ns < began_ns + 2_500_000_000 {
                let now_ns = clock::now_ns();
                longest_ns = longest_ns.max(now_ns - last_ns);
                last_ns = now_ns;
                share.keep(now_ns, clock::thread_cpu_ns);
            }
            longest_ns
        };
        std::thread::spawn(spin).join().unwrap()
    }

    #[test]
    fn who_never_sleeps_is_not_held_up() {
        if testkit::require_root_or_skip() {
            testkit::while_cpus_are_ours(|| {
                let gap_ns = longest_gap_ns();
                assert!(gap_ns < 25_000_000, "held up for {gap_ns} ns");
            });
        }
    }

    #[test]
    fn the_kernels_limit_is_kept_with_a_margin() {
        assert_eq!(free_ns(-1.0, 1e6), 0);
        assert_eq!(free_ns(1e6, 1e6) / 1000, 10);
        assert_eq!(free_ns(950_000.0, 1e6) / 1000, 63);
        assert_eq!(free_ns(0.0, 1e6), 19 * PERIOD_NS);
    }

    #[test]
    fn what_was_slept_need_not_be_waited_for() {
        let share = Share { free_ns: 63_000, began_ns: 5_000_000, used_ns: 100, ordinary_until_ns: None };
        assert_eq!(share.missing_ns(6_000_000, 1_000_100), 63_000);
        assert_eq!(share.missing_ns(6_000_000, 970_100), 63_000 * 97 / 100 - 30_000);
        assert_eq!(share.missing_ns(6_000_000, 900_100), 0);
        // Held up by others: it was away longer than it is to be.
        assert_eq!(share.missing_ns(56_000_000, 1_000_100), 0);
    }
}
