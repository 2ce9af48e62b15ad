//! What must not be harmed, whatever is typed: a table of targets × commands, and a long random walk.
#![allow(clippy::unwrap_used, clippy::allow_attributes, clippy::print_stdout, reason = "helpers of tests")]

mod commands;
mod devices;
mod files;
mod matrix;
mod scene;
#[path = "../support/mod.rs"]
mod support;
mod walk;
