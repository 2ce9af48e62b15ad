//! Which places a pass goes to.

use super::*;
use crate::generate::tests::{target, workload};
use crate::generate::{GeneratorPart, Operations, TargetGeometry, TargetTurns};
use crate::spec::{AddressDistribution, FileLength, FilePasses, Job, OpMix, RangeBound, StridedZones, TransferSize};

const KIB: u64 = 1024;
const MIB: u64 = 1 << 20;

fn of(order: AddressOrder, bytes: u64, files: FileUse) -> Workload {
    let mut workload = workload();
    workload.transfer = TransferSize::Fixed(bytes);
    workload.address.order = order;
    workload.address.files = Some(Box::new(files));
    workload
}

/// All operations of a job on one device.
fn all(workload: &Workload, passes: FilePasses, real_bytes: u64) -> Vec<Operation> {
    let geometry = TargetGeometry { size_bytes: real_bytes, block_bytes: 512 };
    let mut operations = Operations::new(workload, &target(), geometry, 1, GeneratorPart::WHOLE).unwrap();
    let job = Job { files: Some(passes), ..Job::new(1) };
    let mut turns = TargetTurns::of(workload, &job, vec![operations.range_bytes()], 1);
    std::iter::from_fn(|| {
        turns.next(|_, anew| {
            if anew {
                operations.begin_anew();
            }
            operations.next()
        })
    })
    .map(|(_, operation)| operation)
    .take(100_000)
    .collect()
}

fn once() -> FilePasses {
    FilePasses { size_bytes: None, io_size: None, loops: 1, endless: false, largest_bytes: 4096, ends_by_bytes: true }
}

const SEQUENTIAL: AddressOrder = AddressOrder::Sequential { once: false, backward: false };
const EXACT: AddressOrder = AddressOrder::Random(AddressDistribution::ExactOnce);
const FREE: AddressOrder = AddressOrder::Random(AddressDistribution::Uniform);

fn starts(operations: &[Operation]) -> Vec<u64> {
    operations.iter().map(|operation| operation.offset).collect()
}

/// fio's own test t0007: 128 MiB, gaps of 512 KiB, 1 MiB each.
#[test]
fn a_job_with_gaps_ends_where_the_file_does() {
    let files = FileUse { gap_bytes: 512 * 1024, ..FileUse::default() };
    let found = all(&of(SEQUENTIAL, MIB, files), FilePasses { largest_bytes: MIB, ..once() }, 128 * MIB);
    assert_eq!(found.len(), 85);
    assert_eq!(found.last().unwrap().offset, 84 * 3 * MIB / 2);
}

#[test]
fn a_gap_counts_from_end_to_start_whatever_the_size() {
    let files = FileUse { gap_bytes: 12 * 1024, lengths: vec![FileLength::Bytes(100 * KIB)], ..FileUse::default() };
    let found = all(&of(SEQUENTIAL, 8 * KIB, files), once(), MIB);
    assert_eq!(starts(&found), [0, 20, 40, 60, 80].map(|at| at * KIB));
    let back = FileUse { gap_bytes: -12 * 1024, lengths: vec![FileLength::Bytes(16 * KIB)], ..FileUse::default() };
    let found = all(&of(SEQUENTIAL, 4 * KIB, back), once(), MIB);
    assert_eq!(starts(&found), [12, 4, 12, 4].map(|at| at * KIB), "from the end, as often as it takes");
}

#[test]
fn the_last_place_is_reached_when_it_begins_inside() {
    let files = FileUse { lengths: vec![FileLength::Bytes(10_000)], ..FileUse::default() };
    assert_eq!(starts(&all(&of(SEQUENTIAL, 4096, files.clone()), once(), MIB)), [0, 4096, 8192]);
    // Not when it would end behind the file.
    assert_eq!(starts(&all(&of(SEQUENTIAL, 4096, files.clone()), once(), 11_000)), [0, 4096]);
    let mut random = starts(&all(&of(EXACT, 4096, files), once(), MIB));
    random.sort_unstable();
    assert_eq!(random, [0, 4096]);
}

#[test]
fn filesize_is_where_and_size_how_much() {
    let whole = FileLength::Whole { low: 64 * MIB, high: 64 * MIB, bytes: 64 * MIB };
    let files = FileUse { lengths: vec![whole], ..FileUse::default() };
    let found = all(&of(EXACT, 4096, files), FilePasses { size_bytes: Some(MIB), ..once() }, 64 * MIB);
    assert_eq!(found.len(), 256);
    assert!(found.iter().filter(|operation| operation.offset >= 32 * MIB).count() > 90);
}

#[test]
fn passes_repeat_as_fios_do() {
    let files = || FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() };
    let count = |passes: FilePasses| all(&of(SEQUENTIAL, 4096, files()), passes, 8 * MIB).len();
    let io = |bytes| Some(RangeBound::Bytes(bytes));
    assert_eq!(count(FilePasses { loops: 3, ..once() }), 3 * 256);
    // More than its size: passes go on until it is done, whatever the loops say.
    assert_eq!(count(FilePasses { io_size: io(5 * MIB / 2), ..once() }), 640);
    assert_eq!(count(FilePasses { io_size: io(4 * MIB), loops: 2, ..once() }), 1024);
    // Less: so often as the loops say.
    assert_eq!(count(FilePasses { io_size: io(MIB / 4), loops: 3, ..once() }), 192);
    assert_eq!(count(FilePasses { io_size: Some(RangeBound::Fraction(0.5)), ..once() }), 128);
    let varied = FileUse { varies: true, ..files() };
    let found = all(&of(EXACT, 4096, varied), FilePasses { loops: 2, ..once() }, 8 * MIB);
    let (mut first, mut second) = (starts(&found[..256]), starts(&found[256..]));
    assert_ne!(first, second, "randrepeat=0: another order");
    first.sort_unstable();
    second.sort_unstable();
    assert_eq!(first, second, "of the same places");
    let found = all(&of(EXACT, 4096, files()), FilePasses { loops: 2, ..once() }, 8 * MIB);
    assert_eq!(found[..256], found[256..], "each pass has the same order");
}

/// fio's synchronous engines count nothing towards a pass: the next one goes on where this one was, in a larger file.
#[test]
fn a_pass_of_a_synchronous_engine_ends_with_its_files_only() {
    let whole = FileLength::Whole { low: 4 * MIB, high: 4 * MIB, bytes: 4 * MIB };
    let files = FileUse { lengths: vec![whole], ..FileUse::default() };
    let of = |ends_by_bytes| {
        let passes = FilePasses { size_bytes: Some(MIB), loops: 3, ends_by_bytes, ..once() };
        starts(&all(&of(SEQUENTIAL, 4096, files.clone()), passes, 8 * MIB))
    };
    let (queued, synchronous) = (of(true), of(false));
    assert_eq!((queued.len(), synchronous.len()), (768, 768));
    assert_eq!((queued[256], synchronous[256], synchronous[767]), (0, MIB, 3 * MIB - 4096));
}

#[test]
fn a_pass_begins_with_the_flush_that_the_one_before_ended_with() {
    let files = FileUse { lengths: vec![FileLength::Bytes(16 * KIB)], ..FileUse::default() };
    let mut workload = of(SEQUENTIAL, 4096, files);
    workload.mix = OpMix { fsync_every: Some(4), ..OpMix::read_write(0.0) };
    let found = all(&workload, FilePasses { loops: 2, ends_by_bytes: false, ..once() }, MIB);
    let kinds: Vec<OperationKind> = found.iter().map(|one| one.op).collect();
    let (write, flush) = ([OperationKind::Write; 4], [OperationKind::Flush; 1]);
    assert_eq!(kinds, [&write[..], &flush, &flush, &write].concat());
}

#[test]
fn a_trimwrite_flushes_once_per_so_many_writes() {
    for order in [SEQUENTIAL, EXACT] {
        let mut workload = of(order, 4096, FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() });
        let trim_write = OpMix { write: 0.5, trim: 0.5, trim_then_write: true, ..OpMix::read_write(0.0) };
        workload.mix = OpMix { fsync_every: Some(8), ..trim_write };
        let found = all(&workload, FilePasses { loops: 2, ..once() }, 8 * MIB);
        let (mut writes, mut flushes) = (0, 0);
        for (at, one) in found.iter().enumerate() {
            writes += usize::from(one.op == OperationKind::Write);
            flushes += usize::from(one.op == OperationKind::Flush);
            let follows = at > 0 && found[at - 1].op == OperationKind::Write && writes % 8 == 0;
            assert_eq!(one.op == OperationKind::Flush, follows, "operation {at} behind {writes} writes");
        }
        // The job is over with its last write.
        assert_eq!((writes, flushes), (512, 63), "{order:?}");
    }
}

/// fio's map: what is left of a place that a larger transfer is to begin at.
#[test]
fn a_map_cuts_transfers_so_that_every_block_is_visited_once() {
    let lengths = vec![FileLength::Bytes(MIB)];
    let files = FileUse { smallest_bytes: 4096, cuts: true, lengths, ..FileUse::default() };
    let mut workload = of(EXACT, 4096, files);
    workload.transfer = TransferSize::Uniform { min: 4096, max: 65_536, align: 4096 };
    let found = all(&workload, FilePasses { loops: 2, largest_bytes: 65_536, ..once() }, 8 * MIB);
    let mut visits = vec![0; 256];
    for one in &found {
        let first = usize::try_from(one.offset / 4096).unwrap();
        visits[first..first + usize::try_from(one.bytes / 4096).unwrap()].iter_mut().for_each(|count| *count += 1);
    }
    assert!(visits.iter().all(|count| *count == 2), "{visits:?}");
    assert!(found.iter().any(|one| one.bytes > 32_768));
}

#[test]
fn blockalign_is_where_random_places_begin() {
    let files =
        FileUse { align_bytes: [512; 3], repeats: true, lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() };
    let found = all(&of(FREE, 4096, files), once(), MIB);
    assert_eq!(found.len(), 256);
    let aligned = found.iter().filter(|operation| operation.offset % 4096 == 0).count();
    assert!(found.iter().all(|one| one.offset % 512 == 0 && one.offset + 4096 <= MIB) && (8..64).contains(&aligned));
}

#[test]
fn every_write_of_a_trimwrite_lies_where_was_trimmed() {
    for order in [SEQUENTIAL, EXACT] {
        let mut workload = of(order, 4096, FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() });
        workload.mix = OpMix { write: 0.5, trim: 0.5, trim_then_write: true, ..OpMix::read_write(0.0) };
        workload.transfer = TransferSize::Mix(vec![(4096, 0.3), (8192, 0.3), (16_384, 0.4)]);
        let found = all(&workload, FilePasses { largest_bytes: 16_384, ..once() }, 4 * MIB);
        assert!(found.len() > 150);
        for pair in found.chunks(2) {
            assert_eq!(
                pair.iter().map(|one| one.op).collect::<Vec<_>>(),
                [OperationKind::Trim, OperationKind::Write][..pair.len()]
            );
            assert!(pair.len() == 1 || (pair[0].offset, pair[0].bytes) == (pair[1].offset, pair[1].bytes));
        }
        let written: u64 =
            found.iter().filter(|one| one.op == OperationKind::Write).map(|one| u64::from(one.bytes)).sum();
        assert!((MIB - 16_384..=MIB + 16_384).contains(&written), "{written}");
    }
    // Smaller writes catch up with each trim.
    let mut workload = of(SEQUENTIAL, 4096, FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() });
    workload.mix = OpMix { write: 0.5, trim: 0.5, trim_then_write: true, ..OpMix::read_write(0.0) };
    (workload.write_transfer, workload.trim_transfer) =
        (Some(TransferSize::Fixed(4096)), Some(TransferSize::Fixed(8192)));
    let found = all(&workload, once(), 4 * MIB);
    let seen: Vec<_> = found.iter().take(7).map(|one| (one.op, one.offset)).collect();
    let (trim, write) = (OperationKind::Trim, OperationKind::Write);
    let expect = [(trim, 0), (write, 0), (trim, 8192), (write, 4096), (write, 8192), (trim, 16_384), (write, 12_288)];
    assert_eq!(seen, expect);
}

#[test]
fn zones_are_gone_through_one_after_the_other() {
    let zones = |bytes, range_bytes, skip_bytes| Some(StridedZones { bytes, range_bytes, skip_bytes });
    let files = FileUse { strided: zones(16 * KIB, 32 * KIB, 32 * KIB), ..FileUse::default() };
    let found = starts(&all(&of(SEQUENTIAL, 4096, files.clone()), once(), MIB));
    assert_eq!(found.len(), 256, "as much as the part has");
    let expect = |number: u64| number / 4 % 16 * 64 * KIB + number % 4 * 4 * KIB;
    assert_eq!(found, (0..256).map(expect).collect::<Vec<_>>());
    let random = starts(&all(&of(EXACT, 4096, files), once(), MIB));
    assert_eq!(random.len(), 256);
    for (number, zone) in random.chunks(4).enumerate() {
        let base = number as u64 % 16 * 64 * KIB;
        assert!(zone.iter().all(|at| (base..base + 32 * KIB).contains(at)), "{number}: {zone:?}");
        assert_eq!(zone.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    }
    // A zone that is smaller than what is done in it is gone through again, each place once in between.
    let files = FileUse { strided: zones(64 * KIB, 16 * KIB, 0), ..FileUse::default() };
    let found = starts(&all(&of(SEQUENTIAL, 4096, files.clone()), once(), MIB));
    assert_eq!(found[..20], [0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 16, 20, 24, 28].map(|kib| kib * KIB));
    for round in starts(&all(&of(EXACT, 4096, files), once(), MIB)).chunks(4) {
        let places: std::collections::BTreeSet<u64> = round.iter().map(|at| at % (16 * KIB)).collect();
        assert_eq!(places.len(), 4, "{round:?}");
    }
}

#[test]
fn runs_of_a_random_order_follow_a_random_place_each() {
    let files = FileUse { lengths: vec![FileLength::Bytes(MIB)], ..FileUse::default() };
    let mut workload = of(EXACT, 4096, files);
    workload.address.run_length = 4;
    let found = starts(&all(&workload, once(), 4 * MIB));
    assert!(found.len() >= 8 && found[4] != found[3] + 4096, "{found:?}");
    for run in found.chunks(4) {
        assert!(run.windows(2).all(|pair| pair[1] == pair[0] + 4096), "{run:?}");
    }
}

/// Of a device, of a part of it, and as fast as may be for a time: reads and writes both come, to the job's end.
#[test]
fn a_mix_with_two_sizes_and_skewed_places_is_done_to_its_end() {
    let skews = [AddressDistribution::Normal(0.1), AddressDistribution::Zipf(1.2), AddressDistribution::Pareto(0.3)];
    let both = [(4 * KIB, 8 * KIB), (8 * KIB, 4 * KIB), (4 * KIB, 16 * KIB)];
    for distribution in skews.into_iter().chain([AddressDistribution::ExactOnce]) {
        for ((read, write), length) in
            both.into_iter().zip([FileLength::Bytes(4 * MIB), FileLength::Rest, FileLength::Rest])
        {
            let files = FileUse { repeats: true, lengths: vec![length], ..FileUse::default() };
            let mut workload = of(AddressOrder::Random(distribution), read, files);
            workload.mix = OpMix::read_write(0.5);
            workload.write_transfer = Some(TransferSize::Fixed(write));
            let found = all(&workload, once(), 16 * MIB);
            let seen = format!("{distribution:?}, reads of {read}, writes of {write}");
            let end = if length == FileLength::Rest { 16 * MIB } else { 4 * MIB };
            let bytes: u64 = found.iter().map(|one| u64::from(one.bytes)).sum();
            assert!((end..end + 16 * KIB).contains(&bytes), "{seen}: {bytes} bytes of {end}");
            let writes = found.iter().filter(|one| one.op == OperationKind::Write).count();
            assert!(writes * 3 > found.len() && writes * 3 < found.len() * 2, "{seen}: {writes} of {}", found.len());
            assert!(found.iter().all(|one| one.offset + u64::from(one.bytes) <= end), "{seen}");
            // Writes go to all of it, not to that part alone which lies where the places of reads end.
            let behind = |op: OperationKind| found.iter().filter(|one| one.op == op && one.offset >= end / 2).count();
            assert!(behind(OperationKind::Write) > 20 && behind(OperationKind::Read) > 20, "{seen}");
        }
    }
}

#[test]
fn a_job_without_a_single_place_is_refused() {
    let files = FileUse {
        align_bytes: [2 * MIB; 3],
        repeats: true,
        lengths: vec![FileLength::Bytes(MIB)],
        ..FileUse::default()
    };
    let geometry = TargetGeometry { size_bytes: 8 * MIB, block_bytes: 512 };
    let found = Operations::new(&of(FREE, 4096, files), &target(), geometry, 1, GeneratorPart::WHOLE);
    assert!(found.map(drop).unwrap_err().to_string().contains("no random place holds a transfer"));
}

#[test]
fn a_range_of_sizes_stays_inside_of_its_part() {
    let files = FileUse { repeats: true, lengths: vec![FileLength::Bytes(64 * KIB)], ..FileUse::default() };
    let mut workload = of(FREE, 4096, files);
    workload.transfer = TransferSize::Uniform { min: 4096, max: 32_768, align: 4096 };
    let found = all(&workload, FilePasses { io_size: Some(RangeBound::Bytes(4 * MIB)), ..once() }, MIB);
    assert!(found.len() > 100 && found.iter().all(|one| one.offset + u64::from(one.bytes) <= 64 * KIB));
    assert!(found.iter().any(|one| one.offset == 60 * KIB));
}
