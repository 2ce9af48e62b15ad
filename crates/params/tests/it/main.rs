//! Parameter files and job files: samples, mistakes, limits, printing.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod commands;
mod files;
mod fio_entries;
mod fio_malformed;
mod fio_print;
mod flows;
mod limits;
mod malformed;
mod random;
mod same;
mod samples;
mod semantics;
mod support;
mod validation;
mod vdbench_print;
mod witness;
