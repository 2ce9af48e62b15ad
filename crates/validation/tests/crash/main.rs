//! Crashes: power cuts of a disk with a volatile cache, and `kill -9` of a process that writes. What is read afterwards is compared with
//! what the journal promises: nothing else is reported, and everything that the disk lost against its word is.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::allow_attributes,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod files;
mod kill;
mod load;
mod power;
