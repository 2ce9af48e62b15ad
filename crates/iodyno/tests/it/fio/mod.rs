//! Job files made by seed, and what a disk sees of them.

pub mod alike;
pub mod jobs;
pub mod random;
pub mod seen;
