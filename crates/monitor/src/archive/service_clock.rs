//! Time as a collector sees it.

use super::evidence::ClockReadings;
use quantity::clock;
use std::time::Duration;

/// The clocks that a collector asks; tests have their own.
pub trait ServiceClock {
    /// `CLOCK_MONOTONIC`, ns.
    fn now_ns(&self) -> u64;
    /// UTC since 1970, ns.
    fn wall_ns(&self) -> i64;
    /// The clocks that say how old recordings are.
    fn moment(&self) -> ClockReadings;
    /// Does the kernel say that the wall clock is synchronised?
    fn is_synchronised(&self) -> bool;
    /// Waits for so long.
    fn nap(&self, ns: u64);
}

/// The machine's own time.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineClock;

impl ServiceClock for MachineClock {
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn wall_ns(&self) -> i64 {
        clock::wall_ns()
    }

    fn moment(&self) -> ClockReadings {
        ClockReadings { wall_ns: clock::wall_ns(), boot_ns: clock::boot_ns(), boot: collect::boot_id() }
    }

    fn is_synchronised(&self) -> bool {
        collect::is_clock_synchronised()
    }

    fn nap(&self, ns: u64) {
        std::thread::sleep(Duration::from_nanos(ns));
    }
}
