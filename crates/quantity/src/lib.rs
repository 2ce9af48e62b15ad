//! Durations, sizes, rates and their text forms; the clock; histograms that merge. No I/O.

pub mod clock;
pub mod histogram;
pub mod suggest;
pub mod text;
