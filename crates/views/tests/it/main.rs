//! The analyses of whole recordings.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod calibration;
mod commands;
mod comparison;
mod ends;
mod objectives;
mod operations;
mod traced;

#[path = "../../examples/calibrate_compare/load.rs"]
#[allow(dead_code, reason = "the program uses the rest of it")]
mod load;
