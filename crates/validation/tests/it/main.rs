//! The validation of a target against a disk that goes wrong.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "helpers of tests"
)]

#[path = "support/arbitrary.rs"]
mod arbitrary;
mod disk;
mod exam;
mod groups;
mod oracle;
mod panics;
mod words;
