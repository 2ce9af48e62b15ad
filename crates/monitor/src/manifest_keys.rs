//! Keys of the manifest that several commands write or read.

/// In the manifest: which clocks CPU time has.
pub(crate) const CPU_CLOCK: &str = "cpu_clock";

/// In the manifest of what a flight recorder wrote: what made it write.
pub(crate) const FLIGHT_CONDITION: &str = "flight_condition";
