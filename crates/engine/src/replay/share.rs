//! How much of its CPU a thread with real-time priority may use.

use crate::placement::{ordinary, real_time};

/// How often it is looked at what was used.
const PERIOD_NS: u64 = 1_000_000;
/// What is left free beyond what the kernel asks for, of all time.
const MARGIN: f64 = 0.02;
/// Of the kernel's period, so much may be used in one burst beyond the share: less than the margin.
const BURST: f64 = 0.015;

/// Keeps a thread below the share of a CPU that the kernel leaves to real-time priority (`sched_rt_runtime_us` of
/// `sched_rt_period_us`, 95 %); beyond that it takes the CPU away for the rest of the second, 50 ms at one go, even
/// from a thread that no other one competes with.
///
/// A thread that slept too little goes on with ordinary priority for a while: it loses nothing where its CPU is its own.
#[derive(Debug)]
pub(super) struct Share {
    limit: Option<Limit>,
    began_ns: u64,
    used_ns: u64,
    /// What may still be used; negative when too much was.
    credit_ns: f64,
    /// Ordinary priority until then.
    ordinary_until_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    /// Of all time.
    share: f64,
    burst_ns: f64,
}

impl Share {
    /// For the calling thread, with or without real-time priority.
    pub(super) fn new(is_real_time: bool) -> Self {
        let number = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us")).ok()?;
            text.trim().parse::<f64>().ok()
        };
        let limit = Limit::of(number("runtime").unwrap_or(950_000.0), number("period").unwrap_or(1_000_000.0))
            .filter(|_| is_real_time);
        Self { limit, began_ns: 0, used_ns: 0, credit_ns: 0.0, ordinary_until_ns: None }
    }

    /// To be called several times in each period: `now_ns` of any clock, `cpu_ns` gives the thread's CPU time.
    #[inline]
    pub(super) fn keep(&mut self, now_ns: u64, cpu_ns: impl Fn() -> u64) {
        let Some(limit) = self.limit else { return };
        if let Some(until_ns) = self.ordinary_until_ns {
            if now_ns >= until_ns {
                real_time();
                self.ordinary_until_ns = None;
                (self.began_ns, self.used_ns, self.credit_ns) = (now_ns, cpu_ns(), 0.0);
            }
        } else if now_ns.saturating_sub(self.began_ns) >= PERIOD_NS {
            let missing_ns = self.account(limit, now_ns, cpu_ns());
            if missing_ns > 0 && ordinary() {
                self.ordinary_until_ns = Some(now_ns + missing_ns);
            }
        }
    }

    /// Accounts for the time since it was last asked; how long there must be no real-time work now.
    fn account(&mut self, limit: Limit, now_ns: u64, cpu_ns: u64) -> u64 {
        let elapsed_ns = now_ns.saturating_sub(self.began_ns);
        let used_ns = cpu_ns.saturating_sub(self.used_ns).min(elapsed_ns);
        self.credit_ns = (self.credit_ns + limit.share * elapsed_ns as f64 - used_ns as f64).min(limit.burst_ns);
        (self.began_ns, self.used_ns) = (now_ns, cpu_ns);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 or a few periods")]
        let missing_ns = (-self.credit_ns / limit.share).max(0.0) as u64;
        missing_ns
    }
}

impl Limit {
    /// Microseconds as the kernel tells them; `runtime` −1: none.
    fn of(runtime: f64, period: f64) -> Option<Self> {
        let is_limited = runtime >= 0.0 && period > 0.0;
        is_limited
            .then(|| Self { share: (runtime / period - MARGIN).clamp(0.05, 1.0), burst_ns: BURST * period * 1000.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::{Limit, PERIOD_NS, Share};
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
    #[ignore = "times: make exam"]
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
        assert_eq!(Limit::of(-1.0, 1e6), None);
        let usual = Limit::of(950_000.0, 1e6).unwrap();
        assert!((usual.share - 0.93).abs() < 1e-9 && (usual.burst_ns - 15e6).abs() < 1e-3, "{usual:?}");
        assert!((Limit::of(0.0, 1e6).unwrap().share - 0.05).abs() < 1e-9);
    }

    #[test]
    fn who_sleeps_enough_may_use_all_of_it_for_a_while() {
        let limit = Limit::of(950_000.0, 1e6).unwrap();
        let mut share = Share { limit: Some(limit), began_ns: 0, used_ns: 0, credit_ns: 0.0, ordinary_until_ns: None };
        // A second asleep, then awake all the time, in steps of a millisecond.
        let (mut now_ns, mut cpu_ns) = (1_000_000_000, 0);
        assert_eq!(share.account(limit, now_ns, cpu_ns), 0);
        let mut awake_ms = 0;
        let missing_ns = loop {
            (now_ns, cpu_ns, awake_ms) = (now_ns + PERIOD_NS, cpu_ns + PERIOD_NS, awake_ms + 1);
            let missing_ns = share.account(limit, now_ns, cpu_ns);
            if missing_ns > 0 {
                break missing_ns;
            }
        };
        // 15 ms, at 0.07 ms in each.
        assert!((213..=216).contains(&awake_ms) && missing_ns < 80_000, "{awake_ms} ms, {missing_ns} ns");
        // Held up by others: it was away longer than it is to be.
        assert_eq!(share.account(limit, now_ns + 50_000_000, cpu_ns), 0);
    }
}
