//! What a journal costs a write: `journal_cost [DIRECTORY]` (default: `/dev/shm`) prints ns per write of 4 KiB with and without it.

use data_journal::{Journal, JournalOptions, SessionHeader};
use quantity::clock::{now_ns, thread_cpu_ns};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use validation::{Reports, TargetJournal, TargetRules, TargetValidation, WriteHold};

const WRITES: u64 = 2_000_000;

fn target() -> TargetValidation {
    let rules = TargetRules {
        target: 0,
        device: 1,
        runs: vec![1],
        size_bytes: 1 << 30,
        block_bytes: 4096,
        compress_ratio: 1.0,
        copies: None,
        flags: stamp::StampFlags::default(),
        trims_read_zero: true,
        checks_unknown: false,
    };
    TargetValidation::new(rules, Arc::new(Reports::default()))
}

fn writes(target: &TargetValidation, threads: u64) -> (f64, f64) {
    let began = now_ns();
    let cpu: u64 = std::thread::scope(|scope| {
        let one = |thread: u64| {
            scope.spawn(move || {
                let began = thread_cpu_ns();
                for sequence in 0..WRITES {
                    let block = (sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 46) / threads * threads + thread;
                    if target.take(block * 4096, 4096) {
                        target.written(block * 4096, 4096, WriteHold { sequence }, true);
                    }
                }
                thread_cpu_ns() - began
            })
        };
        let threads: Vec<_> = (0..threads).map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
    });
    let all = (WRITES * threads) as f64;
    ((now_ns() - began) as f64 * threads as f64 / all, cpu as f64 / all)
}

fn main() {
    let place = std::env::args().nth(1).map_or(PathBuf::from("/dev/shm"), PathBuf::from);
    for threads in [1, 2] {
        let bare = target();
        let _ = writes(&bare, threads);
        let without = writes(&bare, threads);
        let directory = place.join(format!("journal-cost-{}-{threads}", std::process::id()));
        let header = SessionHeader::new(1, vec![bare.journal_target("sd1", false, false)]);
        let Ok(journal) = Journal::create(&directory, header, JournalOptions::default()) else { return };
        let journal = Arc::new(journal);
        let with = target().with_journal(TargetJournal { journal: journal.clone(), target: 0 });
        let _ = writes(&with, threads);
        let with = writes(&with, threads);
        let counts = journal.counts();
        let _ = writeln!(
            std::io::stdout(),
            "{threads} threads: {:.0} ns (CPU {:.0}) without, {:.0} ns (CPU {:.0}) with a journal; {counts:?}",
            without.0,
            without.1,
            with.0,
            with.1
        );
        let _ = journal.end();
        let _ = std::fs::remove_dir_all(directory);
    }
}
