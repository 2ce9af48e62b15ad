//! The I/Os of a trace, one after the other, in memory that does not grow with the trace.

pub mod ends;
pub mod reuse;
pub mod rows;
pub mod sample;
pub mod streams;
