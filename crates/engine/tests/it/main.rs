//! The engine on real files.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod engine;
mod flow_leftovers;
mod flows;
mod jobs;
mod limits;
mod regressions;
mod replays;
mod support;
mod trees;
mod validation;
