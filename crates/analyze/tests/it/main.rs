//! The analyses of whole recordings.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod comparison;
mod ends;
mod objectives;
mod traced;
