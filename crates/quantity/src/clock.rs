//! The one clock: monotonic time for everything that is measured, wall time only to anchor it.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of `CLOCK_MONOTONIC`, the time base of every table (BPF: `bpf_ktime_get_ns`).
#[must_use]
#[inline]
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // Monotonic time starts at zero with the machine; it is never negative.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Sleeps until [`now_ns`] is so much; says whether it is: a signal may end the sleep before.
#[must_use]
pub fn sleep_until(at_ns: u64) -> bool {
    let part = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let at = Timespec { tv_sec: part(at_ns / 1_000_000_000), tv_nsec: part(at_ns % 1_000_000_000) };
    rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &at).is_ok()
}

/// Nanoseconds of `CLOCK_BOOTTIME`: as [`now_ns`], and counts on while the machine is suspended.
#[must_use]
pub fn boot_ns() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// CPU time of the calling thread, ns: what it waited for others does not count.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Nanoseconds of UTC since 1970-01-01.
#[must_use]
pub fn wall_ns() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
