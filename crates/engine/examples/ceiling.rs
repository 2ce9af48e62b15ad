//! How fast one worker is on a page-cached file: `ceiling FILE [SECONDS [DEPTH]]`, FILE made by iodyno or new.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench that is read by people")]

#[path = "../tests/it/support/mod.rs"]
mod support;

use engine::{EngineChoice, own_cost};
use std::path::Path;
use std::time::Duration;
use support::{Bench, filled, run, workload};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a file");
    let seconds: u64 = arguments.next().map_or(3, |text| text.parse().unwrap());
    let depth: u32 = arguments.next().map_or(128, |text| text.parse().unwrap());
    let file = Path::new(&file);
    println!("{}", own_cost());
    let spec = filled(file.parent().unwrap(), file.file_name().unwrap().to_str().unwrap(), 512 << 20, depth);
    let bench = Bench {
        choice: EngineChoice::Uring,
        workers: Some(1),
        ..Bench::new(vec![spec], run(vec![workload("w", &[0], 1.0)]))
    };
    let cpu = || {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap();
        let mut fields = text.rsplit_once(')').unwrap().1.split_whitespace().skip(11);
        let ticks: u64 =
            fields.next().unwrap().parse::<u64>().unwrap() + fields.next().unwrap().parse::<u64>().unwrap();
        ticks as f64 / 100.0
    };
    let before = cpu();
    let lanes = bench.go(Some(Duration::from_secs(seconds)));
    let used = cpu() - before;
    let ops: u64 = lanes.iter().map(|lane| lane.ops).sum();
    println!("{:.0} IOPS, {:.3} µs CPU per I/O", ops as f64 / seconds as f64, used * 1e6 / ops as f64);
}
