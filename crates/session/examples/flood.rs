//! How many I/Os per second a trace takes: the kernel makes records at a rate, the trace records them.
//!
//! `flood [RATE] [SECONDS]`; prints what was made, written and lost, and the CPU time of each part per I/O.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench: it prints, and what fails ends it")]

use quantity::clock;
use recording::{Manifest, Sink as _, Writer};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trace::block::{BlockTrace, TraceNames, TraceOptions};

/// Records of one call.
const PART: u32 = 1000;
/// A number that no device has: 0:1.
const DEVICE: u32 = 1;

fn process_cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn main() {
    let number = |at, default| std::env::args().nth(at).map_or(default, |text| text.parse::<f64>().unwrap());
    let (rate, seconds) = (number(1, 1e6), number(2, 5.0));
    let folder = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let directory = folder.path().join("flood.iodyno");
    let mut writer = Writer::create(&directory, Manifest::new(&["flood".to_string()])).unwrap();
    let mut trace = BlockTrace::start(&TraceOptions { flood: true, ..TraceOptions::default() }).unwrap();
    let flood = trace.take_flood().unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let maker = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let (started_ns, mut made) = (clock::now_ns(), 0_u64);
            let used_ns = clock::thread_cpu_ns() as f64;
            loop {
                let elapsed_s = (clock::now_ns() - started_ns) as f64 / 1e9;
                if elapsed_s >= seconds {
                    break;
                }
                if made as f64 > elapsed_s * rate {
                    std::thread::sleep(Duration::from_micros(200));
                    continue;
                }
                flood.make(PART, DEVICE).unwrap();
                made += u64::from(PART);
            }
            done.store(true, Ordering::Relaxed);
            (made, (clock::now_ns() - started_ns) as f64 / 1e9, clock::thread_cpu_ns() as f64 - used_ns)
        }
    });
    // Loading the probe is no part of what an I/O costs.
    let before_ns = clock::thread_cpu_ns() as f64;
    let mut columns = TraceNames::default();
    let (mut rows, mut uncommitted) = (0_u64, 0);
    let mut take = |chunk: trace::block::TraceChunk, writer: &mut Writer| {
        rows += chunk.len() as u64;
        uncommitted += chunk.len();
        let packed = columns.pack(&chunk);
        writer.accept_ios(&packed.names, packed.records).unwrap();
        if uncommitted >= 64 * 1024 {
            uncommitted = 0;
            writer.commit().unwrap();
        }
    };
    while !done.load(Ordering::Relaxed) {
        if let Some(chunk) = trace.next(Duration::from_millis(20)) {
            take(chunk, &mut writer);
        }
    }
    trace.stop();
    while let Some(chunk) = trace.rest() {
        take(chunk, &mut writer);
    }
    writer.commit().unwrap();
    let rest_ns = clock::thread_cpu_ns() as f64 - before_ns;
    let (made, elapsed_s, maker_ns) = maker.join().unwrap();
    let statistics = trace.final_statistics().unwrap();
    let all_ns = process_cpu_ns();
    let consumer_ns = trace.consumer_cpu_ns() as f64;
    let per = |ns: f64| ns / rows as f64;
    let made = made as f64 / elapsed_s / 1e6;
    println!("{made:.2} M records/s made for {elapsed_s:.1} s, {rows} written, {} lost", statistics.lost());
    println!(
        "CPU ns per I/O: making {:.0} (kernel), consumer {:.0}, names, sums and journal {:.0}",
        per(maker_ns),
        per(consumer_ns),
        per(rest_ns)
    );
    writer.seal().unwrap();
    println!("rows and sealing {:.0} ns per I/O", per(process_cpu_ns() - all_ns));
}
