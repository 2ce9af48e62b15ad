//! One program for all tests of the queries: each would link the whole SQL engine again.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod docs;
mod peers;
mod questions;
mod shell;
mod support;
