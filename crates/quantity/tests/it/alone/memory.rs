//! What recorders cost in memory: 1,000 targets × 2 operations × 2 times × 2 buffers.

use quantity::histogram::HistogramRecorder;

/// Memory of this process now, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn eight_thousand_recorders_stay_below_60_mb() {
    let mut state = 0x1234_5678_9abc_def1_u64;
    let before = resident();
    let recorders: Vec<HistogramRecorder> = (0..8_000)
        .map(|_| {
            let mut recorder = HistogramRecorder::new();
            for _ in 0..1_000 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                // 60 µs to 500 µs mostly, one in a hundred up to 16 ms: cache hits, flash and its collector.
                let usual = 60_000 + state % 440_000;
                recorder.record(if state.is_multiple_of(100) { usual * 32 } else { usual });
            }
            recorder
        })
        .collect();
    let bytes = resident().saturating_sub(before);
    println!("{} recorders: {:.1} MB", recorders.len(), bytes as f64 / 1e6);
    assert!(recorders.iter().all(|recorder| recorder.count() == 1_000));
    assert!(bytes < 60_000_000, "{bytes}");
}
