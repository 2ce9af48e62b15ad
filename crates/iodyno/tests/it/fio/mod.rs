//! Job files made by seed, and what a disk sees of them.

pub mod jobs;
pub mod seen;
