//! `cargo run -p target --example inspect DEVICE...`: what an inspection says of devices, and how long it took.
#![expect(clippy::print_stdout, reason = "it is for people")]

use plan::{OpenFlags, Span, TargetSpec};
use std::path::PathBuf;
use target::{Access, Policy, inspect};

fn main() {
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let spec = TargetSpec {
            name: "device".to_string(),
            path: path.clone(),
            size_bytes: None,
            depth: 1,
            open: OpenFlags::default(),
            range: None,
            hit_area_bytes: 1 << 20,
            offset_bytes: 0,
            align_bytes: None,
            skip_first_block: false,
            unlink: false,
            span: Span::default(),
        };
        let begin = std::time::Instant::now();
        let found = inspect(&spec, Access::Write, &Policy::default());
        let took = begin.elapsed();
        match found {
            Ok(finding) => println!("{}: {finding}; {took:.1?}", path.display()),
            Err(error) => println!("{error}; {took:.1?}"),
        }
    }
}
