//! Histograms beside their page, and what they take.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod alone;
mod python;
