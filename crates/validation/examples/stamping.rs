//! Speed of stamping and checking on one core, beside copies of memory and the content of plain loads.
//!
//! `stamping [SECONDS]` fills and checks buffers that lie in a cache and buffers that do not, each for so many seconds (0.3), in
//! short pieces, and prints the best piece as a table: GB/s of the thread's processor time, so that other programs disturb little.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench that is read by people")]

use plan::generate::{ContentGenerator, WriteVolume};
use quantity::clock::thread_cpu_ns;
use stamp::{BlockWriter, Expected, StampFlags, Version, Way, WriteStamp, is_right_by};
use std::hint::black_box;
use std::sync::Arc;
use validation::{ReadOutcome, Reports, TargetRules, TargetValidation};

/// Bytes of a block.
const BLOCK: usize = 4096;
/// What no cache holds.
const FAR: usize = 256 << 20;
const DEVICE: u64 = 0x1234_5678;
const RUN: u64 = 77;

/// The name of each row, and its GB/s.
type Rows = Vec<(String, f64)>;

/// Buffers that are used one after the other.
struct Buffers {
    memory: Vec<u8>,
    bytes: usize,
    seconds: f64,
}

impl Buffers {
    /// GB/s of the best of many pieces; `one` handles a buffer that goes to an address.
    fn speed(&mut self, mut one: impl FnMut(&mut [u8], u64)) -> f64 {
        let count = self.memory.len() / self.bytes;
        // A millisecond or less: long enough for the clock, and short enough to find the machine free.
        let per_piece = (4 << 20) / self.bytes;
        let (began, mut best, mut at) = (thread_cpu_ns(), u64::MAX, 0);
        loop {
            let start = thread_cpu_ns();
            for _ in 0..per_piece {
                let offset = at * self.bytes;
                one(black_box(&mut self.memory[offset..][..self.bytes]), offset as u64);
                at = if at + 1 == count { 0 } else { at + 1 };
            }
            let end = thread_cpu_ns();
            best = best.min(end - start);
            // Each buffer has been written at least once: what follows reads it.
            if (end - began) as f64 > self.seconds * 1e9 && at == 0 {
                return (per_piece * self.bytes) as f64 / best as f64;
            }
        }
    }

    fn plain(&mut self, rows: &mut Rows) {
        let source = vec![2_u8; self.bytes];
        let found = self.speed(|buffer, _| buffer.copy_from_slice(black_box(&source)));
        rows.push(("copy of memory".to_owned(), found));
        for ratio in [1.0, 2.0] {
            let spec = plan::WriteContent { compress_ratio: ratio, ..plan::WriteContent::default() };
            let mut content = ContentGenerator::new(&spec, &[], &WriteVolume::alone(1, 1 << 40)).unwrap();
            let found = self.speed(|buffer, address| content.fill(buffer, address));
            rows.push((format!("content of plain loads, ratio {ratio}"), found));
        }
        rows.push(("poison before a read".to_owned(), self.speed(|buffer, _| stamp::poison(buffer))));
    }

    fn by_way(&mut self, way: Way, rows: &mut Rows) {
        let flags = StampFlags::default();
        let write = WriteStamp { flags, run: RUN, device: DEVICE, sequence: 9, writer: 1, epoch: 2, written_s: 3 };
        for ratio in [4.0, 2.0, 1.0] {
            let writer = BlockWriter::new(ratio);
            let found = self.speed(|buffer, address| {
                writer.fill_by(way, buffer, (address, BLOCK as u64), &write, &mut |_| 7);
            });
            rows.push((format!("{}: stamping, ratio {ratio}", way.name()), found));
        }
        let found = self.speed(|buffer, offset| {
            for (place, block) in buffer.chunks(BLOCK).enumerate() {
                let address = offset + (place * BLOCK) as u64;
                let expected = Expected { device: DEVICE, runs: &[RUN], address, version: Version::Is(7) };
                assert!(is_right_by(way, black_box(block), &expected));
            }
        });
        rows.push((format!("{}: checking", way.name()), found));
    }

    /// With the states of blocks, as a load does it.
    fn of_target(&mut self, rows: &mut Rows) {
        let rules = TargetRules {
            target: 0,
            device: DEVICE,
            runs: vec![RUN],
            size_bytes: FAR as u64,
            block_bytes: BLOCK as u64,
            compress_ratio: 1.0,
            copies: None,
            flags: StampFlags::default(),
            trims_read_zero: true,
            checks_unknown: false,
        };
        let target = TargetValidation::new(rules, Arc::new(Reports::default()));
        let found = self.speed(|buffer, address| {
            assert!(target.take(address, buffer.len() as u64));
            let hold = target.stamp(address, buffer, 1);
            target.written(address, buffer.len() as u64, hold, true);
        });
        rows.push(("a write: take, stamp, written".to_owned(), found));
        let found = self.speed(|buffer, address| {
            assert!(target.take(address, buffer.len() as u64));
            assert_eq!(target.check(address, buffer), ReadOutcome::Right);
            target.release(address, buffer.len() as u64);
        });
        rows.push(("a read: take, check, release".to_owned(), found));
    }
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(0.3, |text| text.parse().unwrap());
    let sets = [
        ("4 KiB, one buffer", BLOCK, BLOCK),
        ("128 KiB, one buffer", 128 << 10, 128 << 10),
        ("4 KiB of 256 MiB", FAR, BLOCK),
        ("128 KiB of 256 MiB", FAR, 128 << 10),
    ];
    let columns: Vec<Rows> = sets
        .iter()
        .map(|(_, total, bytes)| {
            let mut rows = Rows::new();
            let mut buffers = Buffers { memory: vec![1; *total], bytes: *bytes, seconds };
            buffers.plain(&mut rows);
            Way::all().into_iter().for_each(|way| buffers.by_way(way, &mut rows));
            buffers.of_target(&mut rows);
            rows
        })
        .collect();
    println!("GB/s of one core's time, best piece");
    println!("{:>36}{}", "", sets.iter().map(|(name, ..)| format!("{name:>21}")).collect::<String>());
    for (at, (name, _)) in columns[0].iter().enumerate() {
        let speeds: String = columns.iter().map(|column| format!("{:>21.1}", column[at].1)).collect();
        println!("{name:>36}{speeds}");
    }
}
