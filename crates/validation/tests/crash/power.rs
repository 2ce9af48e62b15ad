//! Power cuts at random moments: only what was flushed is sure to be there, and any part of the rest.

use crate::load::{DEVICE, Random, Session, Shape};
use data_journal::{Crash, recover};
use faultfs::{DiskConfig, DiskHandle, Faultfs};
use stamp::{BlockWriter, DamageClass, StampFlags, WriteStamp};
use std::collections::BTreeSet;
use std::fs::File;
use std::sync::atomic::AtomicBool;
use testkit::direct;

const DISK_BYTES: u64 = 16384 * 200;

struct Disk {
    _place: tempfile::TempDir,
    handle: DiskHandle,
    file: File,
}

impl Disk {
    fn new(seed: u64) -> Self {
        let place = tempfile::tempdir().unwrap();
        let config = DiskConfig { seed, threads: 2, log_entries: 1, ..DiskConfig::new(DISK_BYTES) };
        let handle = Faultfs::mount(place.path(), config).unwrap();
        handle.control("cache on").unwrap();
        let file = direct::open(handle.disk()).unwrap();
        Self { _place: place, handle, file }
    }
}

/// What a campaign came to.
#[derive(Debug, Default)]
struct Tally {
    cuts: u64,
    checked_bytes: u64,
    injected: u64,
    lost: u64,
    reordered: u64,
    lied: u64,
    trims: u64,
}

/// Lies: the last session's flushes keep nothing. Otherwise, some blocks whose last write was flushed are put back to an earlier one
/// behind the cut.
fn campaign(seed: u64, cuts: u64) -> Tally {
    let mut random = Random::new(seed);
    let disk = Disk::new(seed);
    let mut tally = Tally::default();
    let mut run = seed * 1_000_000 + 1;
    while tally.cuts < cuts {
        let place = tempfile::tempdir_in("/dev/shm").unwrap();
        let directory = place.path().join("journal");
        let shape = Shape::random(&mut random);
        let sessions = 1 + random.below(4);
        let mut session = Session::begin(&directory, shape, run, None);
        for at in 0..sessions {
            // A disk that lies is judged at the end of its journal's last session, by one thread, without what failed: then its own list
            // is exactly what was promised.
            let is_judged = at + 1 == sessions && shape.threads == 1 && shape.trims + shape.failures == 0;
            let lies = is_judged && random.below(2) == 0;
            if lies {
                disk.handle.control("lie flush").unwrap();
            }
            let operations = random.below(150);
            session.load(&disk.file, operations, random.below(1 << 40), &AtomicBool::new(false));
            session.leave_under_way(&disk.file, &mut random);
            drop(session);
            let keep = random.one(&["0", "0.3", "0.7", "0.95"]);
            disk.handle.control(&format!("cut keep {keep}")).unwrap();
            tally.cuts += 1;
            tally.trims += u64::from(shape.trims > 0);
            let recovered = recover(&directory).unwrap();
            assert!(recovered.damage.is_empty(), "{:?}", recovered.sentences());
            let mut wrong: BTreeSet<u64> = BTreeSet::new();
            if lies {
                tally.lied += 1;
                let lost = disk.handle.visible().unwrap();
                wrong.extend(lost.iter().map(|(offset, _)| offset / shape.block_bytes * shape.block_bytes));
            } else if random.below(2) == 0 {
                wrong.extend(put_back(&disk, &recovered, shape, &mut random));
                tally.injected += wrong.len() as u64;
            }
            run += 1;
            session = Session::begin(&directory, shape, run, Some((&recovered, Crash::PowerCut)));
            let found = session.sweep(&disk.file);
            let blocks: BTreeSet<u64> = found.iter().map(|(address, _)| *address).collect();
            assert_eq!(blocks, wrong, "seed {seed}, cut {}, {shape:?}, lies {lies}: {found:?}", tally.cuts);
            for (address, class) in &found {
                match class {
                    DamageClass::LostAfterFlush => tally.lost += 1,
                    DamageClass::ReorderedAcrossFlush => tally.reordered += 1,
                    class => panic!("seed {seed}, cut {}: {class:?} at {address:#x}", tally.cuts),
                }
            }
            tally.checked_bytes += session.target.counts().checked_bytes.load(std::sync::atomic::Ordering::Relaxed);
            // What was wrong stays wrong until it is written; the next session begins with a disk that keeps its word.
            if lies || !wrong.is_empty() {
                disk.handle.control("lie flush off\nheal").unwrap();
                break;
            }
        }
        drop(session);
        disk.handle.control("reset\ncache on").unwrap();
        run += 1;
    }
    tally
}

/// Puts up to three blocks, whose last write a flush has kept, back to an earlier write.
fn put_back(disk: &Disk, recovered: &data_journal::Recovered, shape: Shape, random: &mut Random) -> Vec<u64> {
    let target = recovered.target(DEVICE).unwrap();
    let mut flushed: Vec<(u64, u64, u64)> = Vec::new();
    for (block, floor, version) in target.floors(Crash::PowerCut) {
        let sequence = floor.0 % (1 << 48);
        // Of a checkpoint's only the version is known, and a block that may be empty is no proof.
        if floor.is_flushed() && !floor.allows_zeroes() && !floor.is_of_checkpoint() && sequence > 0 && version > 5 {
            flushed.push((block, sequence, target.session_runs[floor.session()]));
        }
    }
    let mut put = BTreeSet::new();
    for _ in 0..random.below(4) {
        if flushed.is_empty() {
            break;
        }
        let (block, sequence, run) = random.one(&flushed);
        let (offset, bytes) = (block * shape.block_bytes, usize::try_from(shape.block_bytes).unwrap());
        let stamp = WriteStamp {
            flags: StampFlags::default(),
            run,
            device: DEVICE,
            sequence: sequence - 1,
            writer: 1,
            epoch: 0,
            written_s: 1,
        };
        let version = target.floors(Crash::PowerCut).find(|(at, ..)| *at == block).unwrap().2 - 1;
        let mut data = vec![0; bytes];
        BlockWriter::new(1.0).fill(&mut data, (offset, shape.block_bytes), &stamp, |_| version);
        // All of it, or only a part.
        let sectors = 1 + usize::try_from(random.below(shape.block_bytes / 512)).unwrap();
        direct::write(&disk.file, offset, &data[..sectors * 512]).unwrap();
        put.insert(offset);
    }
    put.into_iter().collect()
}

fn run(seeds: std::ops::Range<u64>, cuts: u64) {
    let mut all = Tally::default();
    for seed in seeds {
        let tally = campaign(seed, cuts);
        all.cuts += tally.cuts;
        all.checked_bytes += tally.checked_bytes;
        all.injected += tally.injected;
        all.lost += tally.lost;
        all.reordered += tally.reordered;
        all.lied += tally.lied;
        all.trims += tally.trims;
    }
    println!("{all:?}: each of the lost was reported, and nothing else");
    assert!(
        all.checked_bytes > all.cuts * 4096 && all.lost > 0 && all.reordered > 0 && all.injected > 0 && all.lied > 0
    );
}

#[test]
fn power_cuts_lose_nothing_that_was_promised_and_what_they_lose_is_named() {
    if testkit::require_root_or_skip() {
        run(0..3, 50);
    }
}

#[test]
#[ignore = "minutes: make exam"]
fn ten_thousand_power_cuts() {
    if testkit::require_root_or_skip() {
        let first = quantity::clock::now_ns() % 1_000_000;
        println!("from seed {first} on");
        run(first..first + 100, 101);
    }
}
