//! Durations, sizes, rates and their text forms; the clock; time zones; histograms that merge. No I/O, but for the gate to
//! standard output ([`output`]), through which all text goes.

pub mod clock;
pub mod figures;
pub mod histogram;
pub mod loop_elements;
pub mod numbers;
pub mod oom_context;
pub mod output;
pub mod suggest;
pub mod text;
pub mod visible;
pub mod zone;
