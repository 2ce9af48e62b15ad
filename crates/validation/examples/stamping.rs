//! Speed of stamping and checking on one core, beside copies of memory and the content of plain loads.
//!
//! `stamping [SECONDS]` fills and checks buffers that lie in a cache and buffers that do not, each for so many seconds (0.3), in short
//! pieces, and prints the best piece as a table: GB/s of processor time, so that other programs on the machine disturb little.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench that is read by people")]

use plan::generate::{ContentGenerator, WriteVolume};
use quantity::clock::thread_cpu_ns;
use stamp::{BlockWriter, Expected, StampFlags, Version, Way, WriteStamp, is_right, is_right_by};
use std::hint::black_box;

/// Bytes of a block.
const BLOCK: usize = 4096;
/// What no cache holds.
const FAR: usize = 256 << 20;
const DEVICE: u64 = 0x1234_5678;
const RUNS: [u64; 1] = [77];

/// GB/s of the best of many pieces; `one` handles the buffer of that number.
fn speed(seconds: f64, buffers: usize, bytes: usize, mut one: impl FnMut(usize)) -> f64 {
    let pieces = if buffers > 1 { buffers } else { (1 << 20) / bytes };
    let (began, mut best) = (thread_cpu_ns(), u64::MAX);
    loop {
        let start = thread_cpu_ns();
        for piece in 0..pieces {
            one(piece % buffers);
        }
        let end = thread_cpu_ns();
        best = best.min(end - start);
        if (end - began) as f64 > seconds * 1e9 {
            return (pieces * bytes) as f64 / best as f64;
        }
    }
}

/// Everything with a working set of `total` bytes in buffers of `bytes`.
fn rows(seconds: f64, total: usize, bytes: usize) -> Vec<(String, f64)> {
    let mut memory = vec![1_u8; total];
    let source = vec![2_u8; bytes];
    let buffers = total / bytes;
    let mut rows = Vec::new();
    let mut row = |name: &str, one: &mut dyn FnMut(&mut [u8], usize)| {
        let found = speed(seconds, buffers, bytes, |at| one(black_box(&mut memory[at * bytes..][..bytes]), at));
        rows.push((name.to_owned(), found));
    };
    row("copy of memory", &mut |buffer, _| buffer.copy_from_slice(black_box(&source)));
    let volume = WriteVolume::alone(1, 1 << 40);
    for ratio in [1.0, 2.0] {
        let spec = plan::WriteContent { compress_ratio: ratio, ..plan::WriteContent::default() };
        let mut content = ContentGenerator::new(&spec, &[], &volume).unwrap();
        row(&format!("content of plain loads, ratio {ratio}"), &mut |buffer, at| {
            content.fill(buffer, (at * bytes) as u64)
        });
    }
    row("poison", &mut |buffer, _| stamp::poison(buffer));
    let write = WriteStamp {
        flags: StampFlags::default(),
        run: RUNS[0],
        device: DEVICE,
        sequence: 9,
        writer: 1,
        epoch: 2,
        written_s: 3,
    };
    for (way, ratio) in Way::all().into_iter().flat_map(|way| [4.0, 2.0, 1.0].map(|ratio| (way, ratio))) {
        let writer = BlockWriter::new(ratio);
        row(&format!("stamping, ratio {ratio}, {}", way.name()), &mut |buffer, at| {
            writer.fill_by(way, buffer, ((at * bytes) as u64, BLOCK as u64), &write, &mut |_| 7);
        });
    }
    let kinds = [("checking", Version::Is(7), &RUNS[..]), ("checking, any version and run", Version::Any, &[])];
    for (way, (name, version, runs)) in Way::all().into_iter().flat_map(|way| kinds.map(|kind| (way, kind))) {
        row(&format!("{name}, {}", way.name()), &mut |buffer, at| {
            for (place, block) in buffer.chunks(BLOCK).enumerate() {
                let address = (at * bytes + place * BLOCK) as u64;
                assert!(is_right_by(way, block, &Expected { device: DEVICE, runs, address, version }));
            }
        });
    }
    memory.fill(0);
    let found = speed(seconds, buffers, bytes, |at| {
        for block in black_box(&memory[at * bytes..][..bytes]).chunks(BLOCK) {
            assert!(is_right(block, &Expected { device: DEVICE, runs: &RUNS, address: 0, version: Version::Zeroes }));
        }
    });
    rows.push(("checking of zeroes".to_owned(), found));
    rows
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(0.3, |text| text.parse().unwrap());
    let sets = [
        ("4 KiB, one buffer", BLOCK, BLOCK),
        ("128 KiB, one buffer", 128 << 10, 128 << 10),
        ("4 KiB of 256 MiB", FAR, BLOCK),
        ("128 KiB of 256 MiB", FAR, 128 << 10),
    ];
    let columns: Vec<_> = sets.iter().map(|(_, total, bytes)| rows(seconds, *total, *bytes)).collect();
    println!("GB/s of one core's time, best piece");
    println!("{:>40}{}", "", sets.iter().map(|(name, ..)| format!("{name:>22}")).collect::<String>());
    for (at, (name, _)) in columns[0].iter().enumerate() {
        println!("{name:>40}{}", columns.iter().map(|column| format!("{:>22.1}", column[at].1)).collect::<String>());
    }
}
