//! What Vdbench's words mean for addresses: targets with a grain, against rules written down once more, naively.

use super::tests::{target, workload};
use super::*;
use crate::floor::floor_u64;
use crate::spec::*;
use proptest::prelude::*;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const SEQUENTIAL: AddressOrder = AddressOrder::Sequential { once: false, backward: false };
const EOF: AddressOrder = AddressOrder::Sequential { once: true, backward: false };
const UNIFORM: AddressDistribution = AddressDistribution::Uniform;

fn raw(grain_bytes: u64) -> TargetSpec {
    TargetSpec { skip_first_block: true, ..file(grain_bytes) }
}

fn file(grain_bytes: u64) -> TargetSpec {
    TargetSpec { grain_bytes: Some(grain_bytes), ..target() }
}

fn mixed_sizes() -> TransferSize {
    TransferSize::Mix(vec![(4 * KIB, 0.5), (64 * KIB, 0.5)])
}

fn ordered(order: AddressOrder, transfer: TransferSize) -> Workload {
    let mut workload = workload();
    (workload.address.order, workload.transfer) = (order, transfer);
    workload
}

fn percent(low: f64, high: f64) -> Option<AddressRange> {
    Some(AddressRange { low: RangeBound::Fraction(low / 100.0), high: RangeBound::Fraction(high / 100.0) })
}

fn build(workload: &Workload, target: &TargetSpec, size_bytes: u64, seed: u64) -> Result<Operations, GenerateError> {
    Operations::new(workload, target, TargetGeometry { size_bytes, block_bytes: 512 }, seed, GeneratorPart::WHOLE)
}

fn draw(workload: &Workload, target: &TargetSpec, size: u64, count: usize) -> Vec<Operation> {
    let mut operations = build(workload, target, size, 1).unwrap();
    std::iter::from_fn(|| operations.next()).take(count).collect()
}

/// Offset and length in KiB.
fn kib(operations: &[Operation]) -> Vec<(u64, u64)> {
    operations.iter().map(|one| (one.offset / KIB, u64::from(one.bytes) / KIB)).collect()
}

#[test]
fn mixed_sizes_on_a_raw_device_start_at_the_second_block() {
    let all = draw(&ordered(SEQUENTIAL, mixed_sizes()), &raw(64 * KIB), MIB, 1000);
    assert_eq!(all[0].offset, 64 * KIB);
    let mut next = 64 * KIB;
    for one in &all {
        assert_eq!(one.offset, next, "each where the one before ended");
        assert!(one.offset % (4 * KIB) == 0 && one.offset >= 64 * KIB);
        next = one.offset + u64::from(one.bytes);
        next = if next == MIB { 64 * KIB } else { next };
    }
    assert!(all.iter().filter(|one| one.offset == 64 * KIB).count() > 10, "round and round");
}

#[test]
fn sequential_order_ends_with_a_short_block() {
    // 100 KiB of a file, and transfers of 64 KiB: the other run's transfers of 4 KiB are not what ends are rounded to.
    let mut workload = ordered(SEQUENTIAL, TransferSize::Fixed(64 * KIB));
    workload.transfer = TransferSize::Mix(vec![(48 * KIB, 1.0)]);
    let all = kib(&draw(&workload, &file(64 * KIB), 200 * KIB, 6));
    assert_eq!(all, [(0, 48), (48, 48), (96, 48), (144, 48), (0, 48), (48, 48)], "192 KiB");
    workload.transfer = TransferSize::Fixed(40 * KIB);
    let all = kib(&draw(&workload, &file(64 * KIB), 200 * KIB, 6));
    assert_eq!(all, [(0, 40), (40, 40), (80, 40), (120, 40), (160, 32), (0, 40)]);
    workload.address.order = EOF;
    let all = kib(&draw(&workload, &file(64 * KIB), 200 * KIB, 100));
    assert_eq!(all, [(0, 40), (40, 40), (80, 40), (120, 40), (160, 32)]);
}

#[test]
fn a_fill_covers_its_window_with_aligned_transfers() {
    // Transfers larger than the grain: aligned but for the ends.
    let mut workload = ordered(EOF, TransferSize::Fixed(128 * KIB));
    let target = TargetSpec { range: percent(25.0, 50.0), ..raw(4 * KIB) };
    let all = kib(&draw(&workload, &target, 2 * MIB - 60 * KIB, 100));
    assert_eq!(all, [(496, 16), (512, 128), (640, 128), (768, 128), (896, 96)]);
    workload.address.range = percent(0.0, 2.0);
    let all = kib(&draw(&workload, &target, 2 * MIB, 100));
    assert_eq!(all, [(4, 36)], "smaller than a transfer, without the first block");
}

#[test]
fn a_range_starts_at_a_multiple_of_the_largest_transfer() {
    for order in
        [SEQUENTIAL, EOF, AddressOrder::Random(UNIFORM), AddressOrder::Mixed { seek: 0.5, distribution: UNIFORM }]
    {
        let mut workload = ordered(order, TransferSize::Fixed(4 * KIB));
        workload.address.range = percent(33.0, 66.0);
        // 33 % of 10 MiB lie 204 bytes behind a multiple of 2 KiB, and that is no multiple of 4 KiB.
        for one in draw(&workload, &file(4 * KIB), 10 * MIB, 2000) {
            assert_eq!(one.offset % (4 * KIB), 0, "{order:?}");
            assert!(one.offset >= 3460300 / 4096 * 4096 && one.offset + 4096 <= 6920601 / 4096 * 4096, "{order:?}");
        }
        // Another run has transfers of 1 MiB.
        let all = draw(&workload, &file(MIB), 10 * MIB, 4000);
        assert_eq!(all.iter().map(|one| one.offset / MIB).min(), Some(3), "{order:?}");
        assert_eq!(all.iter().map(|one| one.offset / MIB).max(), Some(5), "{order:?}");
    }
}

#[test]
fn eof_leaves_the_first_block_alone() {
    let all = draw(&ordered(EOF, mixed_sizes()), &raw(64 * KIB), 10 * MIB + 3 * KIB, usize::MAX);
    let mut next = 64 * KIB;
    for one in all {
        assert_eq!(one.offset, next);
        next += u64::from(one.bytes);
    }
    assert_eq!(next, 10 * MIB, "to the last multiple of the largest transfer");
    // A range that rounds down to 0 does not bring the first block back.
    let mut workload = ordered(EOF, TransferSize::Fixed(64 * KIB));
    workload.address.range = Some(AddressRange { low: RangeBound::Bytes(4 * KIB), high: RangeBound::Bytes(MIB) });
    assert_eq!(draw(&workload, &raw(64 * KIB), MIB, 1)[0].offset, 64 * KIB);
}

#[test]
fn a_range_of_a_workload_wins_over_that_of_its_target() {
    let mut workload = ordered(EOF, TransferSize::Fixed(64 * KIB));
    let own = TargetSpec { range: percent(60.0, 90.0), ..file(64 * KIB) };
    workload.address.range = percent(10.0, 20.0);
    let first = |workload: &Workload| draw(workload, &own, 100 * MIB, 1)[0].offset;
    assert_eq!(first(&workload), 10 * MIB, "what lies in both is nothing: no error, and not the target's");
    workload.address.hot_band = percent(30.0, 40.0);
    assert_eq!(first(&workload), 30 * MIB);
    (workload.address.hot_band, workload.address.range) = (None, None);
    assert_eq!(first(&workload), 60 * MIB);
}

#[test]
fn an_offset_moves_the_lower_end_only() {
    let mut workload = ordered(EOF, TransferSize::Fixed(64 * KIB));
    workload.address.range = percent(50.0, 75.0);
    let target = TargetSpec { offset_bytes: 512, ..raw(64 * KIB) };
    let all = draw(&workload, &target, 4 * MIB, usize::MAX);
    assert_eq!(all[0].offset, 2 * MIB + 512);
    let last = all.last().unwrap();
    assert_eq!(
        (last.offset + u64::from(last.bytes), u64::from(last.bytes)),
        (3 * MIB, 64 * KIB - 512),
        "a short block"
    );
}

#[test]
fn hits_and_misses_have_windows_of_their_own() {
    let mut workload = ordered(SEQUENTIAL, TransferSize::Fixed(64 * KIB));
    (workload.address.read_hit, workload.mix) = (0.5, OpMix::read_write(0.5));
    let target = TargetSpec { hit_area_bytes: MIB + 5 * KIB, ..raw(64 * KIB) };
    let (mut hits, mut misses) = (64 * KIB, MIB);
    for one in draw(&workload, &target, 4 * MIB, 1000) {
        let (next, low, high) = if one.offset < MIB { (&mut hits, 64 * KIB, MIB) } else { (&mut misses, MIB, 4 * MIB) };
        assert!(one.op == OperationKind::Read || one.offset >= MIB);
        assert_eq!(one.offset, *next, "sequential in both");
        *next += 64 * KIB;
        *next = if *next == high { low } else { *next };
    }
    // forhitarea= alone: nothing hits, and misses stay away from it.
    workload.address.read_hit = 0.0;
    workload.address.hit_area_bytes = Some(2 * MIB);
    assert!(draw(&workload, &target, 4 * MIB, 1000).iter().all(|one| one.offset >= 2 * MIB));
    workload.address.hit_area_bytes = None;
    assert_eq!(draw(&workload, &target, 4 * MIB, 1)[0].offset, 64 * KIB);
}

#[test]
fn a_hit_area_has_room_for_two_transfers_of_the_largest_run() {
    let mut workload = ordered(SEQUENTIAL, TransferSize::Fixed(64 * KIB));
    workload.address.read_hit = 0.5;
    let with = |workload: &Workload, hit_area_bytes, target| {
        build(workload, &TargetSpec { hit_area_bytes, ..target }, 4 * MIB, 1)
    };
    let is_refused = |workload: &Workload, area, target| match with(workload, area, target) {
        Err(GenerateError::HitArea { .. }) => true,
        other => other.map(|_| false).unwrap(),
    };
    // Ends round down; a raw device's first transfer is never touched; an offset moves the lower end.
    for (area, target, expect) in [
        (128 * KIB - 512, file(64 * KIB), true),
        (128 * KIB, file(64 * KIB), false),
        (191 * KIB, raw(64 * KIB), true),
        (192 * KIB, raw(64 * KIB), false),
        (192 * KIB, file(128 * KIB), true),
        (128 * KIB, TargetSpec { offset_bytes: 512, ..file(64 * KIB) }, true),
    ] {
        assert_eq!(is_refused(&workload, area, target.clone()), expect, "{area} of {target:?}");
    }
    let refusal = with(&workload, 64 * KIB, raw(64 * KIB)).unwrap_err().to_string();
    assert!(
        refusal.contains("has 0 bytes in whole transfers behind the device's first") && refusal.contains("hitarea="),
        "{refusal}"
    );
    // forhitarea= sets it aside even where nothing hits; without hits it does not matter.
    workload.address.read_hit = 0.0;
    assert!(!is_refused(&workload, 512, file(64 * KIB)));
    workload.address.hit_area_bytes = Some(64 * KIB);
    assert!(is_refused(&workload, MIB, file(64 * KIB)));
}

#[test]
fn streams_divide_the_whole_target_and_leave_their_first_block_alone() {
    let mut workload = ordered(SEQUENTIAL, TransferSize::Fixed(64 * KIB));
    workload.address.streams = Some(3);
    // 1000 KiB by three: pieces of 320 KiB, each without its first block on a raw device.
    let all = kib(&draw(&workload, &raw(64 * KIB), 1000 * KIB, 15));
    let blocks = |piece: u64, k: u64| (piece * 320 + 64 * (k + 1), 64);
    let expected: Vec<_> = (0..5).flat_map(|k| (0..3).map(move |piece| blocks(piece, k % 4))).collect();
    assert_eq!(all, expected);
    let all = kib(&draw(&workload, &file(64 * KIB), 1000 * KIB, 18));
    let expected: Vec<_> = (0..6).flat_map(|k| (0..3).map(move |piece| (piece * 320 + 64 * (k % 5), 64))).collect();
    assert_eq!(all, expected);
    workload.address.random_start = true;
    let starts = |seed| {
        let mut operations = build(&workload, &file(64 * KIB), 300 * MIB, seed).unwrap();
        [0, 1, 2].map(|_| operations.next().unwrap().offset)
    };
    for seed in 0..50 {
        let starts = starts(seed);
        let own = |(piece, start): (u64, u64)| (piece * 100 * MIB..(piece + 1) * 100 * MIB).contains(&start);
        assert!((0..).zip(starts).all(own) && starts.iter().all(|start| start % (64 * KIB) == 0), "{starts:?}");
    }
    assert_ne!(starts(1), starts(2));
}

#[test]
fn a_sequence_with_a_random_start_goes_on_from_there() {
    let mut workload = ordered(SEQUENTIAL, TransferSize::Fixed(64 * KIB));
    workload.address.random_start = true;
    let mut starts = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let mut operations = build(&workload, &raw(64 * KIB), MIB, seed).unwrap();
        let all: Vec<u64> = (0..30).map(|_| operations.next().unwrap().offset / (64 * KIB)).collect();
        assert!(all.windows(2).all(|pair| pair[1] == if pair[0] == 15 { 1 } else { pair[0] + 1 }), "{all:?}");
        starts.insert(all[0]);
    }
    assert!(starts.len() > 8, "{starts:?}");
}

#[test]
fn a_stride_leads_from_the_end_of_one_operation_to_the_next() {
    let mut workload = ordered(AddressOrder::Random(UNIFORM), TransferSize::Fixed(4 * KIB));
    workload.address.stride = Some((64 * KIB, 64 * KIB));
    let all = kib(&draw(&workload, &raw(4 * KIB), MIB, 20));
    let expected: Vec<_> = (0..15).map(|k| (4 + 68 * k, 4)).collect();
    assert_eq!(all[..15], expected, "the first one at the beginning");
    assert_eq!(all[15], (4, 4), "and again, past the end");
    workload.address.stride = Some((64 * KIB, 80 * KIB));
    let all = draw(&workload, &raw(4 * KIB), 1 << 40, 10_000);
    let gaps: Vec<u64> = all.windows(2).map(|pair| (pair[1].offset - pair[0].offset - 4 * KIB) / KIB).collect();
    for gap in [64, 68, 72, 76] {
        let share = gaps.iter().filter(|one| **one == gap).count() as f64 / gaps.len() as f64;
        assert!((share - 0.25).abs() < 0.022, "{gap}: {share}");
    }
    assert!(gaps.iter().all(|gap| (64..80).contains(gap)), "the largest is not reached, as there");
    assert_eq!(Operations::parts_max(&workload), 1, "each follows from the one before");
    // A part of the operations skips, the others follow.
    workload.address.order = AddressOrder::Mixed { seek: 0.25, distribution: UNIFORM };
    let all = draw(&workload, &raw(4 * KIB), 1 << 40, 10_000);
    let skips = all.windows(2).filter(|pair| pair[1].offset != pair[0].offset + 4 * KIB);
    let share = skips.clone().count() as f64 / 10_000.0;
    assert!((share - 0.25).abs() < 0.022, "{share}");
    let gaps = skips.map(|pair| (pair[1].offset - pair[0].offset) / KIB - 4);
    assert!(gaps.clone().all(|gap| [64, 68, 72, 76].contains(&gap)));
    // Purely sequential order: refused, as there.
    workload.address.order = SEQUENTIAL;
    assert!(matches!(build(&workload, &raw(4 * KIB), MIB, 1), Err(GenerateError::Conflict { .. })));
}

/// Greatest distance between what was drawn and a distribution (Kolmogorov and Smirnov) that true samples keep in all but a
/// millionth of cases.
fn ks_limit(count: usize) -> f64 {
    2.7 / (count as f64).sqrt()
}

fn distance(mut found: Vec<f64>, expected: impl Fn(f64) -> f64) -> f64 {
    found.sort_unstable_by(f64::total_cmp);
    let n = found.len() as f64;
    found.iter().enumerate().map(|(i, x)| (expected(*x) - (i as f64 + 0.5) / n).abs()).fold(0.0, f64::max)
}

/// The wrapped exponential distribution that Vdbench calls poisson, over `[0, 1]`.
fn poisson(midpoint: f64) -> impl Fn(f64) -> f64 {
    move |x| (-midpoint * x).exp_m1() / (-midpoint).exp_m1()
}

#[test]
fn poisson_falls_by_its_midpoint() {
    for midpoint in [1.0, 3.0, 10.0] {
        let order = AddressOrder::Random(AddressDistribution::Poisson(midpoint));
        let all = draw(&ordered(order, TransferSize::Fixed(4 * KIB)), &file(4 * KIB), 1 << 40, 100_000);
        let mut tenths = [0.0; 10];
        for one in &all {
            tenths[usize::try_from((u128::from(one.offset) * 10) >> 40).unwrap()] += 1.0;
        }
        let cumulated = poisson(midpoint);
        let expected = |tenth: usize| 1e5 * (cumulated((tenth as f64 + 1.0) / 10.0) - cumulated(tenth as f64 / 10.0));
        let chi2: f64 = (0..10).map(|tenth| (tenths[tenth] - expected(tenth)).powi(2) / expected(tenth)).sum();
        // 9 degrees of freedom: one in a million is above.
        assert!(chi2 < 45.1, "midpoint {midpoint}: chi-square {chi2}, {tenths:?}");
        if midpoint == 3.0 {
            assert!((tenths[0] / 1e5 - 0.273).abs() < 0.01, "a little more than a quarter in the first tenth");
        }
        let found = all.iter().map(|one| one.offset as f64 / (1_u64 << 40) as f64).collect();
        assert!(distance(found, cumulated) < ks_limit(100_000), "midpoint {midpoint}");
    }
}

#[test]
fn seeks_of_a_mixed_order_keep_their_distribution() {
    let order = AddressOrder::Mixed { seek: 0.5, distribution: AddressDistribution::Poisson(3.0) };
    let all = draw(&ordered(order, TransferSize::Fixed(4 * KIB)), &file(4 * KIB), 1 << 40, 40_000);
    assert_eq!(draw(&ordered(order, TransferSize::Fixed(4 * KIB)), &file(4 * KIB), 1 << 40, 1)[0].offset % 4096, 0);
    let seeks: Vec<f64> = (all.windows(2).filter(|pair| pair[1].offset != pair[0].offset + 4 * KIB))
        .map(|pair| pair[1].offset as f64 / (1_u64 << 40) as f64)
        .collect();
    assert!((seeks.len() as f64 / 40_000.0 - 0.5).abs() < 0.0125, "{}", seeks.len());
    let limit = ks_limit(seeks.len());
    assert!(distance(seeks, poisson(3.0)) < limit);
}

#[test]
fn a_mixed_order_begins_at_the_beginning() {
    let order = AddressOrder::Mixed { seek: 0.001, distribution: UNIFORM };
    let starts = (0..20).filter(|seed| {
        let workload = ordered(order, TransferSize::Fixed(4 * KIB));
        build(&workload, &raw(4 * KIB), 1 << 40, *seed).unwrap().next().unwrap().offset == 4 * KIB
    });
    assert!(starts.count() >= 19);
}

/// Points of the absolute curve of a hot band: below so many bytes an address lies with this probability.
fn points() -> Vec<(f64, f64)> {
    let first = [0.0, 0.087217, 0.10101, 0.132206, 0.159946, 0.201713, 0.262602, 0.32645, 0.366902, 0.386175];
    let doubled = (1..=18).map(|k| 0.386175 + 0.50766 * (1.0 - 0.9_f64.powi(k)));
    let bytes = std::iter::once(0.0).chain((0..).map(|k| 16e3 * 2_f64.powi(k)));
    let last = (1000.0 * (1_073_741_824.0 + 0.18236 * 1_313_220_630.0), 1.0);
    bytes.zip(first.into_iter().chain(doubled)).chain([last]).collect()
}

/// The same in a band of so many bytes, over `[0, 1]`: what lies behind its end begins anew.
fn band(bytes: f64) -> impl Fn(f64) -> f64 {
    let points = points();
    let curve = move |x: f64| {
        let at = points.partition_point(|point| point.0 <= x);
        let (from, Some(to)) = (points[at - 1], points.get(at)) else { return 1.0 };
        from.1 + (to.1 - from.1) * (x - from.0) / (to.0 - from.0)
    };
    move |x| {
        let turns = std::iter::successors(Some(0.0), |turn| Some(turn + 1.0)).take_while(|turn| turn * bytes < 1.32e12);
        turns.map(|turn| curve((turn + x) * bytes) - curve(turn * bytes)).sum()
    }
}

#[test]
fn a_hot_band_of_400_mb_gets_39_57_and_80_percent_in_1_10_and_50_percent() {
    for (size, shares) in [(800_000_000_u64, [0.39, 0.57, 0.80]), (2_000_000_000_000, [0.74, 0.80, 0.99])] {
        let mut workload = ordered(AddressOrder::Random(UNIFORM), TransferSize::Fixed(4000 / 500 * 512));
        workload.address.hot_band = percent(50.0, 100.0);
        let (low, bytes) = (size / 2 / 4096 * 4096, size as f64 / 2.0);
        let all = draw(&workload, &file(4096), size, 20_000);
        assert!(
            all.iter().all(|one| one.offset >= low && one.offset < size && (one.offset - low).is_multiple_of(4096))
        );
        let places: Vec<f64> = all.iter().map(|one| (one.offset - low) as f64 / bytes).collect();
        for (part, share) in [0.01, 0.1, 0.5].into_iter().zip(shares) {
            let found = places.iter().filter(|place| **place < part).count() as f64 / 20_000.0;
            // Five standard deviations, and the rounding of the shares above.
            let bound = 5.0 * (share * (1.0 - share) / 20_000.0_f64).sqrt() + 0.005;
            assert!((found - share).abs() < bound, "{size}: {found} in {part}, not {share}");
        }
        // The curve between: addresses are a place of 4 KiB below the curve's, the hottest of which hold 2 %.
        let (expected, mut places) = (band(bytes), places);
        places.sort_unstable_by(f64::total_cmp);
        for (at, place) in places.iter().enumerate().step_by(197) {
            let found = at as f64 / 20_000.0;
            let around = expected(*place) - 1e-9..expected(place + 4096.0 / bytes) + 1e-9;
            let off = (around.start - found).max(found - around.end);
            assert!(off < ks_limit(20_000), "{size}: {found} below {place}, not {around:?}");
        }
        // Writes stay away from the hottest hundredth of what is read.
        workload.mix = OpMix::read_write(0.0);
        let writes = draw(&workload, &file(4096), size, 20_000);
        // (The band ends at a million bytes, so that this hundredth is a little smaller.)
        let place = |one: &Operation| (one.offset - low) as f64 / bytes;
        let found = writes.iter().filter(|one| place(one) < 0.0099).count() as f64 / 20_000.0;
        assert!(found < 0.007, "{found} of the writes in the first hundredth");
        let found = writes.iter().filter(|one| (0.0099..0.1099).contains(&place(one))).count() as f64 / 20_000.0;
        assert!((found - shares[1]).abs() < 0.023, "{found} in the ten after it");
    }
}

#[test]
fn only_the_seeks_of_a_hot_band_are_hot() {
    let mut workload = ordered(
        AddressOrder::Mixed { seek: 0.5, distribution: AddressDistribution::Poisson(3.0) },
        TransferSize::Fixed(4096),
    );
    workload.address.hot_band = percent(0.0, 50.0);
    let all = draw(&workload, &file(4096), 800_000_000, 40_000);
    assert!(all.iter().all(|one| one.offset < 400_000_000));
    let seeks: Vec<u64> =
        all.windows(2).filter(|pair| pair[1].offset != pair[0].offset + 4096).map(|pair| pair[1].offset).collect();
    let count = seeks.len() as f64;
    assert!((count / 40_000.0 - 0.5).abs() < 0.0125, "{count}");
    let found = seeks.iter().filter(|at| **at < 40_000_000).count() as f64 / count;
    assert!((found - 0.57).abs() < 0.023, "{found} in the first tenth");
    // Sequential order in the band.
    workload.address.order = SEQUENTIAL;
    assert_eq!(draw(&workload, &file(4096), 800_000_000, 1)[0].offset, 0);
    workload.address.hot_band = percent(0.0, 0.1);
    workload.address.order = AddressOrder::Random(UNIFORM);
    assert!(build(&workload, &file(4096), 800_000_000, 1).is_err(), "a band below 1 MB");
}

// A naive account of what a workload may do, by Vdbench's manual; nothing of the generator is used.

/// What is drawn at random: an abstract workload on an abstract target.
#[derive(Clone, Debug)]
struct Case {
    size: u64,
    is_raw: bool,
    offset: u64,
    align: Option<u64>,
    hit_area: u64,
    hits: f64,
    sd_range: Option<(u32, u32)>,
    wd_range: Option<(u32, u32)>,
    hot_band: Option<(u32, u32)>,
    /// Seek percentage; below 0: to the end, once.
    seek: i32,
    poisson: Option<f64>,
    stride: Option<(u64, u64)>,
    streams: Option<u32>,
    random_start: bool,
    sizes: Vec<u64>,
    grain: u64,
    read: f64,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let range = || {
        prop::option::of((0_u32..95, 1_u32..=120)).prop_map(|range| range.map(|(low, high)| (low, high.max(low + 1))))
    };
    let rare = |strategy| prop_oneof![3 => Just(None), 1 => strategy];
    let streams = rare((2_u32..5).prop_map(Some).boxed());
    let sizes = prop::collection::vec(1_u64..65, 1..4);
    (
        (
            (1_u64 << 10)..(64 << 20),
            any::<bool>(),
            prop_oneof![3 => Just(0_u64), 1 => 1_u64..200],
            prop::option::of(1_u64..9),
        ),
        (0_u64..200, prop_oneof![2 => Just(0.0), 1 => 0.0..=1.0]),
        (range(), range(), prop_oneof![4 => Just(None), 1 => range()]),
        (prop_oneof![Just(-1), Just(0), Just(100), 1..100], prop::option::of(0.5..9.0)),
        (prop::option::of((1_u64..100, 0_u64..100)), streams, any::<bool>(), sizes, 1_u64..4),
        (prop_oneof![Just(1.0), Just(0.0), Just(0.5)], any::<u64>()),
    )
        .prop_map(
            |(
                (size, is_raw, offset, align),
                (hit_area, hits),
                (sd_range, wd_range, hot_band),
                (seek, poisson),
                rest,
                (read, seed),
            )| {
                let (stride, streams, random_start, sizes, more) = rest;
                let sizes: Vec<u64> = sizes.into_iter().map(|blocks| blocks * 512).collect();
                let grain = sizes.iter().max().unwrap() * more;
                let stride = stride.map(|(min, more)| (min * 512, (min + more) * 512));
                let seek = if streams.is_some() { seek.min(0) } else { seek };
                let stride = stride.filter(|_| seek > 0);
                let align = align.map(|blocks| blocks * 512);
                let (hit_area, offset) = (hit_area * 1024, offset * 512);
                Case {
                    size,
                    is_raw,
                    offset,
                    align,
                    hit_area,
                    hits,
                    sd_range,
                    wd_range,
                    hot_band,
                    seek,
                    poisson,
                    stride,
                    streams,
                    random_start,
                    sizes,
                    grain,
                    read,
                    seed,
                }
            },
        )
}

impl Case {
    fn range(&self) -> (u32, u32) {
        self.hot_band.or(self.wd_range).or(self.sd_range).unwrap_or((0, 100))
    }

    fn down(&self, bytes: u64) -> u64 {
        bytes / self.grain * self.grain
    }

    fn bytes(&self, percent: u32) -> u64 {
        floor_u64(self.size as f64 * (f64::from(percent) / 100.0))
    }

    /// Windows of misses and hits, each as pieces that are walked in turn.
    fn windows(&self) -> [Vec<(u64, u64)>; 2] {
        let (from, to) = self.range();
        let to = if self.seek < 0 { to.min(100) } else { to };
        let block0 = if self.is_raw { self.grain } else { 0 };
        let end = self.down(self.size);
        let pieces = |low: u64, high: u64| {
            let (low, high) = (self.down(low), self.down(high));
            let wrapped = (low.saturating_sub(end).max(block0), high.saturating_sub(end));
            [(low.max(block0) + self.offset, high.min(end)), wrapped]
                .into_iter()
                .filter(|(low, high)| low < high)
                .collect()
        };
        let (low, high) = (self.bytes(from), self.bytes(to));
        let any_miss = (self.read > 0.0 || self.read < 1.0) && self.hits < 1.0;
        let aside = if self.hits > 0.0 && any_miss { self.hit_area } else { 0 };
        let hits = if self.hits > 0.0 { pieces(low, (low + self.hit_area).min(high)) } else { Vec::new() };
        [pieces(low + aside, high), hits]
    }

    fn pieces_of_streams(&self, count: u64) -> Vec<(u64, u64)> {
        let (from, to) = self.range();
        let low = self.down(self.bytes(from));
        let each = self.down((self.bytes(to) - low) / count);
        let block0 = if self.is_raw { self.grain } else { 0 };
        (0..count).map(|i| ((low + i * each + block0).max(self.offset), low + (i + 1) * each)).collect()
    }

    fn build(&self) -> Result<Operations, GenerateError> {
        let range = |range: Option<(u32, u32)>| range.and_then(|(low, high)| percent(f64::from(low), f64::from(high)));
        let uneven = self.poisson.map_or(UNIFORM, AddressDistribution::Poisson);
        let order = match self.seek {
            ..0 => EOF,
            0 => SEQUENTIAL,
            100 => AddressOrder::Random(uneven),
            percent => AddressOrder::Mixed { seek: f64::from(percent) / 100.0, distribution: uneven },
        };
        let weight = 1.0 / self.sizes.len() as f64;
        let mut workload = ordered(order, TransferSize::Mix(self.sizes.iter().map(|bytes| (*bytes, weight)).collect()));
        workload.mix = OpMix::read_write(self.read);
        let address = &mut workload.address;
        (address.range, address.hot_band) = (range(self.wd_range), range(self.hot_band));
        (address.read_hit, address.write_hit) = (self.hits, self.hits);
        (address.stride, address.streams, address.random_start) = (self.stride, self.streams, self.random_start);
        let target = TargetSpec {
            range: range(self.sd_range),
            offset_bytes: self.offset,
            align_bytes: self.align,
            hit_area_bytes: self.hit_area,
            skip_first_block: self.is_raw,
            ..file(self.grain)
        };
        build(&workload, &target, self.size, self.seed)
    }

    fn largest(&self) -> u64 {
        *self.sizes.iter().max().unwrap()
    }

    /// Can it be done at all?
    fn is_possible(&self) -> bool {
        let fits = |pieces: &[(u64, u64)]| pieces.iter().any(|(low, high)| high.saturating_sub(*low) >= self.largest());
        let (from, to) = self.range();
        if self.bytes(from) >= self.bytes(to) || to - from > 100 {
            return false;
        }
        if let Some(streams) = self.streams {
            return to <= 100
                && fits(&self.windows_without_hits())
                && self.pieces_of_streams(u64::from(streams)).iter().all(|one| fits(&[*one]));
        }
        let [misses, hits] = self.windows();
        let band: u64 = misses.iter().map(|(low, high)| high - low).sum();
        let is_band = self.hot_band.is_none() || self.seek <= 0 || band >= 1_000_000;
        fits(&misses) && (self.hits == 0.0 || (fits(&hits) && self.hit_bytes() >= 2 * self.grain)) && is_band
    }

    /// What Vdbench takes for the size of the hit area: it does not look at the end of the range.
    fn hit_bytes(&self) -> u64 {
        let low = self.bytes(self.range().0);
        let begin = if low == 0 && self.is_raw { self.grain } else { low };
        self.down(low + self.hit_area).saturating_sub(self.down(begin) + self.offset)
    }

    fn windows_without_hits(&self) -> Vec<(u64, u64)> {
        let [misses, _] = Self { hits: 0.0, ..self.clone() }.windows();
        misses
    }
}

/// One window as it is walked.
struct Walk {
    pieces: Vec<(u64, u64)>,
    /// The piece and the end of the last operation there.
    last: Option<(usize, u64)>,
    seeks: u32,
    count: u32,
}

impl Walk {
    fn new(pieces: Vec<(u64, u64)>) -> Self {
        Self { pieces, last: None, seeks: 0, count: 0 }
    }

    /// The piece that holds all of an operation.
    fn find(&self, at: u64, end: u64) -> Option<usize> {
        self.pieces.iter().position(|(low, high)| at >= *low && end <= *high)
    }

    /// Where the sequence goes on: at the end of the last one, or at the next piece when that was the end of its own.
    fn next(&self) -> u64 {
        match self.last {
            None => self.pieces[0].0,
            Some((piece, end)) if end < self.pieces[piece].1 => end,
            Some((piece, _)) => self.pieces[(piece + 1) % self.pieces.len()].0,
        }
    }
}

/// Checks one operation of a case, in the window that it belongs to.
fn check(case: &Case, walk: &mut Walk, at: u64, bytes: u64, is_hit: bool) -> Result<(), TestCaseError> {
    let end = at + bytes;
    let piece = walk.find(at, end);
    prop_assert!(piece.is_some(), "{at} + {bytes} is outside of {:?}", walk.pieces);
    let piece = piece.unwrap();
    let (low, high) = walk.pieces[piece];
    prop_assert!(!case.is_raw || at >= case.grain, "{at} is in the first block");
    let is_next = at == walk.next() || (walk.last.is_none() && case.random_start);
    let is_short = !case.sizes.contains(&bytes);
    // A skip past the end goes on at the beginning of a piece, which may be smaller than the transfer.
    let is_due = at == walk.next() || (case.stride.is_some() && at == low);
    prop_assert!(!is_short || (end == high && is_due), "{at} + {bytes} is short inside of {low}..{high}");
    walk.count += 1;
    walk.seeks += u32::from(!is_next);
    if case.seek <= 0 {
        prop_assert!(is_next, "{at} does not follow: {} does", walk.next());
    } else if !is_next {
        let is_hot = case.hot_band.is_some() && !is_hit;
        match (case.stride.filter(|_| !is_hot), walk.last) {
            (Some((min, max)), Some((_, before))) => {
                let step = case.align.unwrap_or(bytes);
                let skipped = at.checked_sub(before + min).filter(|over| over % step == 0 && *over < max - min);
                let is_again = walk.pieces.iter().any(|(low, _)| *low == at);
                prop_assert!(skipped.is_some() || at == before + min || is_again, "{at} after {before}");
            }
            (Some(_), None) => prop_assert!(false, "the first one is at the beginning"),
            (None, _) => {
                let step = if is_hot { bytes } else { case.align.unwrap_or(bytes) };
                prop_assert_eq!((at - low) % step, 0, "{} in {}", at, low);
            }
        }
    }
    walk.last = Some((piece, end));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(21), ..ProptestConfig::default() })]

    /// Random workloads of Vdbench's words: what can be built and what cannot, and each address, by the naive account.
    #[test]
    fn addresses_are_those_of_the_manual(case in cases()) {
        let built = case.build();
        prop_assert_eq!(built.is_ok(), case.is_possible(), "{:?} {:?}", built.err(), case.windows());
        let Ok(mut operations) = case.build() else { return Ok(()) };
        if let Some(streams) = case.streams {
            let pieces = case.pieces_of_streams(u64::from(streams));
            let mut next: Vec<Option<u64>> = pieces.iter().map(|(low, _)| (!case.random_start).then_some(*low)).collect();
            for _ in 0..200 {
                let Some(one) = operations.next() else { prop_assert!(case.seek < 0); break };
                let (at, bytes) = (one.offset, u64::from(one.bytes));
                let piece = pieces.iter().position(|(low, high)| at >= *low && at + bytes <= *high);
                prop_assert!(piece.is_some() && case.sizes.contains(&bytes), "{at} + {bytes} in {pieces:?}");
                let (low, high) = pieces[piece.unwrap()];
                let expected = &mut next[piece.unwrap()];
                let again = expected.is_some_and(|next| next + bytes > high) && at == low && case.seek >= 0;
                prop_assert!(expected.is_none_or(|next| next == at) || again, "{at}, not {expected:?}");
                *expected = Some(at + bytes);
            }
            return Ok(());
        }
        let [misses, hits] = case.windows().map(Walk::new);
        let mut walks = [misses, hits];
        let mut ended = false;
        for _ in 0..400 {
            let Some(one) = operations.next() else { ended = true; break };
            let (at, bytes) = (one.offset, u64::from(one.bytes));
            // With hits only, both windows begin alike: everything belongs to that of the hits.
            let is_hit = case.hits >= 1.0 || (case.hits > 0.0 && walks[1].find(at, at + bytes).is_some());
            check(&case, &mut walks[usize::from(is_hit)], at, bytes, is_hit)?;
        }
        prop_assert!(!ended || case.seek < 0, "only eof ends");
        if ended && !case.random_start {
            let finished = walks.iter().any(|walk| walk.pieces.last().is_some_and(|piece| walk.last.is_some_and(|(_, end)| end == piece.1)));
            prop_assert!(finished, "it ends at the end of a window");
        }
        let (seeks, count) = walks.iter().fold((0, 0), |sum, walk| (sum.0 + walk.seeks, sum.1 + walk.count));
        let share = f64::from(case.seek.max(0)) / 100.0;
        let most = share * f64::from(count) + 6.0 * (f64::from(count) * share * (1.0 - share)).sqrt() + 1.0;
        prop_assert!(f64::from(seeks) <= most, "{seeks} of {count} seek");
    }
}
