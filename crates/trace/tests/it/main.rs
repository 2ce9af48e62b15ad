//! Traces of a live kernel.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod alone;
mod unfinished;
mod unseen_ends;
