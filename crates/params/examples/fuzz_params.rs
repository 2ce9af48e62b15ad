//! Reads millions of malformed parameter files and job files: `cargo run --release -p params --example fuzz_params -- COUNT [SEED [FIRST]]`.
//!
//! Input number N of a seed is always the same; a failure names it, and `-- 1 SEED N` reads it alone and prints it.

#[path = "../tests/it/support/mod.rs"]
mod support;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use support::mutate::{Random, mutate};

/// The input being read, for the watchdog that finds that it takes too long.
static CURRENT: AtomicU64 = AtomicU64::new(0);
/// When it was begun.
static BEGUN_NS: AtomicU64 = AtomicU64::new(0);
/// Longer than this is a hang.
const HANG_NS: u64 = 20_000_000_000;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]
fn main() -> ExitCode {
    let number = |at: usize, default: u64| std::env::args().nth(at).map_or(Some(default), |text| text.parse().ok());
    let (Some(count), Some(seed), Some(first)) = (number(1, 100_000), number(2, 1), number(3, 0)) else {
        eprintln!("usage: fuzz [COUNT [SEED [FIRST]]]");
        return ExitCode::from(2);
    };
    let (corpus, jobs) = (support::corpus::corpus(), support::corpus::job_files());
    watch(seed);
    let start = quantity::clock::now_ns();
    let (mut plans, mut runs, mut bytes, mut slowest) = (0_u64, 0_u64, 0_u64, (0_u64, 0_u64));
    for index in first..first.saturating_add(count) {
        let mut random = Random(seed ^ index.wrapping_mul(0x2545_f491_4f6c_dd1d));
        // The two languages in turn.
        let is_job = index % 2 == 1;
        let text = mutate(if is_job { &jobs } else { &corpus }, &mut random);
        if count == 1 {
            println!("{}\n---", String::from_utf8_lossy(&text));
        }
        let begun = quantity::clock::now_ns();
        CURRENT.store(index, Ordering::Relaxed);
        BEGUN_NS.store(begun, Ordering::Relaxed);
        let choice = random.next();
        let result = std::panic::catch_unwind(|| {
            if is_job { support::check::check_fio(&text, choice) } else { support::check::check(&text, choice) }
        });
        BEGUN_NS.store(u64::MAX, Ordering::Relaxed);
        let Ok(made) = result else {
            eprintln!("input {index} of seed {seed} failed; see it with: fuzz 1 {seed} {index}");
            return ExitCode::FAILURE;
        };
        plans += u64::from(made.is_some());
        runs += made.unwrap_or(0) as u64;
        bytes += text.len() as u64;
        slowest = slowest.max((quantity::clock::now_ns() - begun, index));
        if (index + 1) % 500_000 == 0 {
            println!("{} inputs, {plans} plans, slowest {} ms (input {})", index + 1, slowest.0 / 1_000_000, slowest.1);
        }
    }
    let seconds = (quantity::clock::now_ns() - start) as f64 / 1e9;
    println!(
        "{count} inputs of seed {seed} ({bytes} bytes) in {seconds:.0} s: {plans} plans with {runs} runs, no panic, no hang; \
         slowest {:.1} ms (input {})",
        slowest.0 as f64 / 1e6,
        slowest.1
    );
    ExitCode::SUCCESS
}

/// Ends the program when one input takes too long.
#[expect(clippy::print_stderr, clippy::exit, reason = "a thread that hangs cannot be ended otherwise")]
fn watch(seed: u64) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
            let begun = BEGUN_NS.load(Ordering::Relaxed);
            if begun != u64::MAX && begun != 0 && quantity::clock::now_ns().saturating_sub(begun) > HANG_NS {
                let index = CURRENT.load(Ordering::Relaxed);
                eprintln!("input {index} of seed {seed} hangs; see it with: fuzz 1 {seed} {index}");
                std::process::exit(1);
            }
        }
    });
}
