//! Durations, sizes, rates and their text forms; the clock; time zones; histograms that merge. No I/O.

pub mod clock;
pub mod histogram;
pub mod numbers;
pub mod reading;
pub mod suggest;
pub mod text;
pub mod zone;
