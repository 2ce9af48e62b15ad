//! `cargo run -p target --example inspect DEVICE...`: what an inspection says of devices, and how long it took.
#![expect(clippy::print_stdout, reason = "it is for people")]

use plan::TargetSpec;
use std::path::PathBuf;
use target::{TargetAccess, WritePolicy, inspect};

fn main() {
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let spec = TargetSpec::whole("device".to_string(), path.clone());
        let begin_ns = quantity::clock::now_ns();
        let found = inspect(&spec, TargetAccess::Write, &WritePolicy::default());
        let took_ms = (quantity::clock::now_ns() - begin_ns) / 1_000_000;
        match found {
            Ok(finding) => println!("{}: {finding}; {took_ms} ms", path.display()),
            Err(error) => println!("{error}; {took_ms} ms"),
        }
    }
}
