//! Recordings that are written, damaged, killed and read again.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod cost;
mod damage;
mod kill;
mod range_read;
mod recording;
mod unended;
