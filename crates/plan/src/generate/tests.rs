//! Properties of whole generators.

use super::*;
use crate::floor::floor_u64;
use crate::spec::*;
use proptest::prelude::*;
use std::collections::HashSet;

pub(super) fn target() -> TargetSpec {
    TargetSpec { hit_area_bytes: 1 << 20, ..TargetSpec::whole("sd1".into(), "/nowhere".into()) }
}

pub(super) fn workload() -> Workload {
    Workload {
        name: "wd1".into(),
        targets: vec![0],
        share: 1.0,
        share_fixed: false,
        rate: None,
        priority: None,
        depth: None,
        mix: OpMix::read_write(1.0),
        transfer: TransferSize::Fixed(4096),
        write_transfer: None,
        trim_transfer: None,
        address: AddressPattern::default(),
        content: spec_content(),
        think_ns: 0,
        open: None,
        job: None,
        replay: None,
        load: crate::Load::Blocks,
        span: TextSpan::default(),
    }
}

fn spec_content() -> crate::spec::WriteContent {
    crate::spec::WriteContent::default()
}

const KIB: u64 = 1024;

fn geometry(size_bytes: u64) -> TargetGeometry {
    TargetGeometry { size_bytes, block_bytes: 512 }
}

fn take(workload: &Workload, target: &TargetSpec, size: u64, part: GeneratorPart, n: usize) -> Vec<Operation> {
    let mut operations = Operations::new(workload, target, geometry(size), 1, part).unwrap();
    std::iter::from_fn(|| operations.next()).take(n).collect()
}

fn offsets(workload: &Workload, size: u64, n: usize) -> Vec<u64> {
    take(workload, &target(), size, GeneratorPart::WHOLE, n).iter().map(|operation| operation.offset).collect()
}

fn ordered(order: AddressOrder) -> Workload {
    let mut workload = workload();
    workload.address.order = order;
    workload
}

const FORWARD: AddressOrder = AddressOrder::Sequential { once: false, backward: false };
const ONCE: AddressOrder = AddressOrder::Sequential { once: true, backward: false };

fn orders() -> impl Strategy<Value = AddressOrder> {
    prop_oneof![
        Just(AddressOrder::Random(AddressDistribution::Uniform)),
        Just(AddressOrder::Random(AddressDistribution::ExactOnce)),
        (0.1..3.0).prop_map(|theta| AddressOrder::Random(AddressDistribution::Zipf(theta))),
        (0.05..0.95).prop_map(|h| AddressOrder::Random(AddressDistribution::Pareto(h))),
        (0.01..1.0).prop_map(|deviation| AddressOrder::Random(AddressDistribution::Normal(deviation))),
        (0.1..20.0).prop_map(|midpoint| AddressOrder::Random(AddressDistribution::Poisson(midpoint))),
        (any::<bool>(), any::<bool>()).prop_map(|(once, backward)| AddressOrder::Sequential { once, backward }),
        (0.0..1.0).prop_map(|seek| AddressOrder::Mixed { seek, distribution: AddressDistribution::Uniform }),
    ]
}

fn transfers() -> impl Strategy<Value = TransferSize> {
    prop_oneof![
        (1_u64..64).prop_map(|n| TransferSize::Fixed(n * 512)),
        prop::collection::vec((1_u64..64, 0.1..1.0), 1..4)
            .prop_map(|mix| TransferSize::Mix(mix.into_iter().map(|(n, weight)| (n * 512, weight)).collect())),
        (1_u64..16, 0_u64..16, 1_u64..3).prop_map(|(min, more, align)| TransferSize::Uniform {
            min: min * 512,
            max: (min + more) * 512,
            align: align * 512
        }),
    ]
}

fn ranges() -> impl Strategy<Value = Option<AddressRange>> {
    prop_oneof![
        Just(None),
        (0.0..0.9, 0.05..1.2).prop_map(|(low, length): (f64, f64)| Some(AddressRange {
            low: RangeBound::Fraction(low),
            high: RangeBound::Fraction(low + length),
        })),
        (0_u64..400, 1_u64..400).prop_map(|(low, length)| Some(AddressRange {
            low: RangeBound::Bytes(low * 512),
            high: RangeBound::Bytes((low + length) * 512),
        })),
    ]
}

/// Is every byte of the transfer inside a range of a target of `size` bytes?
fn inside(range: Option<AddressRange>, size: u64, offset: u64, bytes: u64) -> bool {
    let Some(range) = range else { return offset + bytes <= size };
    let resolve = |bound| match bound {
        RangeBound::Bytes(bytes) => bytes,
        RangeBound::Fraction(fraction) => floor_u64(size as f64 * fraction) / 512 * 512,
    };
    let (low, high) = (resolve(range.low), resolve(range.high));
    let end = offset + bytes;
    end <= size && ((offset >= low && end <= high) || (high > size && end <= high - size))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever can be built stays inside of the range that counts, aligned, away from the first block, for any part.
    #[test]
    fn bounds_are_never_violated(
        (order, transfer, ours, theirs) in (orders(), transfers(), ranges(), ranges()),
        (blocks, offset, align) in (100_u64..3000, 0_u64..20, prop::option::of(1_u64..20)),
        (first, hits, stride, streams) in (any::<bool>(), prop::option::of(0.0..1.0), any::<bool>(), prop::option::of(1_u32..5)),
        (count, seed) in (1_u32..5, any::<u64>()),
    ) {
        let (mut workload, mut target) = (ordered(order), target());
        workload.transfer = transfer;
        workload.address.range = ours;
        workload.address.read_hit = hits.unwrap_or(0.0);
        if !matches!(order, AddressOrder::Random(_)) {
            workload.address.stride = stride.then_some((512, 100_000));
            workload.address.streams = streams;
            workload.address.random_start = seed % 2 == 1;
        }
        target.hit_area_bytes = 40 * KIB;
        target.range = theirs;
        target.skip_first_block = first;
        target.offset_bytes = offset * 512;
        target.align_bytes = align.map(|align| align * 512);
        let size = blocks * 512 - target.offset_bytes;
        for index in 0..count {
            let Ok(mut operations) = Operations::new(&workload, &target, geometry(blocks * 512), seed, GeneratorPart { index, count })
            else { continue };
            for _ in 0..300 {
                let Some(Operation { offset, bytes, .. }) = operations.next() else { break };
                let at = offset.checked_sub(target.offset_bytes).unwrap();
                let wide = u64::from(bytes);
                prop_assert!(bytes > 0 && wide <= workload.transfer.max_bytes());
                prop_assert!(offset + wide <= blocks * 512);
                prop_assert!(inside(ours.or(theirs), size, at, wide), "{at} + {wide} of {size}");
                prop_assert!(!first || at >= 512);
                prop_assert!(at % target.align_bytes.unwrap_or(512) == 0, "{at}");
            }
        }
    }

    /// The parts of an exact-once order together yield every block once, in every pass.
    #[test]
    fn exact_once_covers_exactly(blocks in 1_u64..500, count in 1_u32..6, seed in any::<u64>()) {
        let workload = ordered(AddressOrder::Random(AddressDistribution::ExactOnce));
        let mut parts: Vec<_> = (0..count)
            .map(|index| Operations::new(&workload, &target(), geometry(blocks * 4096), seed, GeneratorPart { index, count }).unwrap())
            .collect();
        for _pass in 0..3 {
            let mut seen = HashSet::new();
            for (index, part) in (0_u64..).zip(&mut parts) {
                let share = blocks.saturating_sub(index).div_ceil(u64::from(count));
                for _ in 0..share {
                    prop_assert!(seen.insert(part.next().unwrap().offset));
                }
            }
            prop_assert_eq!(seen.len() as u64, blocks);
        }
    }

    /// The parts of a once-only sequential order are disjoint and cover the whole range, leftovers included.
    #[test]
    fn sequential_once_covers_exactly(
        (more, unit, count) in (0_u64..700, 1_u64..40, 1_u32..6),
        (backward, streams, skip) in (any::<bool>(), prop::option::of(1_u32..4), any::<bool>()),
    ) {
        let blocks = 3 * unit + more;
        let (mut workload, mut target) = (ordered(AddressOrder::Sequential { once: true, backward }), target());
        workload.transfer = TransferSize::Fixed(unit * 512);
        workload.address.streams = streams;
        target.skip_first_block = skip;
        let mut seen = vec![0; usize::try_from(blocks).unwrap()];
        for index in 0..count {
            for operation in take(&workload, &target, blocks * 512, GeneratorPart { index, count }, 10_000) {
                for block in 0..u64::from(operation.bytes) / 512 {
                    seen[usize::try_from(operation.offset / 512 + block).unwrap()] += 1;
                }
            }
        }
        let first = usize::from(skip);
        prop_assert!(seen[first..].iter().all(|&n| n == 1) && seen[..first].iter().all(|&n| n == 0), "{seen:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_sequence_and_parts_differ() {
    let (workload, target) = (workload(), target());
    let take = |seed, index| -> Vec<_> {
        let mut operations =
            Operations::new(&workload, &target, geometry(1 << 40), seed, GeneratorPart { index, count: 2 }).unwrap();
        (0..50).map(|_| operations.next().unwrap().offset).collect()
    };
    assert_eq!(take(1, 0), take(1, 0));
    assert_ne!(take(1, 0), take(1, 1));
    assert_ne!(take(1, 0), take(2, 0));
}

#[test]
fn uniform_addresses_by_chi_square() {
    let mut counts = [0_u32; 256];
    for offset in offsets(&workload(), 256 * 4096, 1_000_000) {
        counts[usize::try_from(offset / 4096).unwrap()] += 1;
    }
    let expected = 1e6 / 256.0;
    let chi2: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    // 255 degrees of freedom, standard deviation 23.
    assert!((150.0..370.0).contains(&chi2), "chi-square {chi2}");
}

#[test]
fn sequential_is_contiguous_and_wraps() {
    let size = 10 * 4096;
    let forward: Vec<u64> = (0..25).map(|i| i % 10 * 4096).collect();
    assert_eq!(offsets(&ordered(FORWARD), size, 25), forward);
    let backward: Vec<u64> = (0..25).map(|i| (9 - i % 10) * 4096).collect();
    assert_eq!(offsets(&ordered(AddressOrder::Sequential { once: false, backward: true }), size, 25), backward);
    assert_eq!(offsets(&ordered(ONCE), size, 25), forward[..10]);
    let mut ended = ordered(ONCE);
    ended.mix = OpMix { flush: 0.5, ..OpMix::read_write(0.5) };
    let mut operations = Operations::new(&ended, &target(), geometry(size), 1, GeneratorPart::WHOLE).unwrap();
    while operations.next().is_some() {}
    assert!((0..100).all(|_| operations.next().is_none()), "the end is the end, for flushes too");
}

#[test]
fn mixed_sizes_neither_overlap_nor_skip() {
    let mut workload = ordered(FORWARD);
    workload.transfer = TransferSize::Mix(vec![(4096, 0.5), (8192, 0.3), (65_536, 0.2)]);
    let (mut next, mut wraps) = (0, 0);
    for operation in take(&workload, &target(), 1 << 20, GeneratorPart::WHOLE, 1000) {
        if operation.offset != next {
            assert_eq!(operation.offset, 0);
            assert!(next + 65_536 > 1 << 20, "left off at {next}");
            wraps += 1;
        }
        next = operation.offset + u64::from(operation.bytes);
    }
    assert!(wraps > 10);
}

#[test]
fn streams_take_turns_in_their_own_segments() {
    let mut workload = ordered(FORWARD);
    workload.address.streams = Some(3);
    let expected = [0, 3, 6, 1, 4, 7, 2, 5, 8, 0, 3, 9].map(|block| block * 4096);
    assert_eq!(offsets(&workload, 10 * 4096, 12), expected);
}

#[test]
fn strides_stay_between_their_bounds() {
    let mut workload = ordered(FORWARD);
    workload.address.stride = Some((16_384, 65_536));
    let offsets = offsets(&workload, 1 << 40, 10_000);
    let gaps: Vec<u64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (16_384..65_536 + 4096).contains(gap) && gap % 4096 == 0));
    assert!(gaps.iter().max() > Some(&60_000) && gaps.iter().min() < Some(&20_000));
}

#[test]
fn ranges_wrap_around_the_end() {
    let mut workload = ordered(FORWARD);
    workload.address.range = Some(AddressRange { low: RangeBound::Fraction(0.8), high: RangeBound::Fraction(1.3) });
    let expected = [8, 9, 0, 1, 2, 8].map(|block| block * 40_960);
    workload.transfer = TransferSize::Fixed(40_960);
    assert_eq!(offsets(&workload, 409_600, 6), expected);
}

#[test]
fn the_asked_part_of_operations_seeks_and_hits() {
    let size = 1 << 40;
    let seeks =
        offsets(&ordered(AddressOrder::Mixed { seek: 0.3, distribution: AddressDistribution::Uniform }), size, 200_000);
    let jumps = seeks.windows(2).filter(|pair| pair[1] != pair[0] + 4096).count();
    assert!((jumps as f64 / 200_000.0 - 0.3).abs() < 0.005, "{jumps}");

    let mut workload = workload();
    workload.mix = OpMix::read_write(0.6);
    (workload.address.read_hit, workload.address.write_hit) = (0.9, 0.25);
    for op in [OperationKind::Read, OperationKind::Write] {
        let all: Vec<_> = take(&workload, &target(), size, GeneratorPart::WHOLE, 200_000)
            .into_iter()
            .filter(|o| o.op == op)
            .collect();
        let hits = all.iter().filter(|operation| operation.offset < 1 << 20).count() as f64 / all.len() as f64;
        assert!((hits - if op == OperationKind::Read { 0.9 } else { 0.25 }).abs() < 0.007, "{op:?} {hits}");
    }
}

#[test]
fn operations_and_sizes_come_in_the_asked_proportions() {
    let mut workload = workload();
    workload.mix = OpMix { write: 0.3, trim: 0.15, flush: 0.05, ..OpMix::read_write(0.5) };
    workload.transfer = TransferSize::Mix(vec![(4096, 0.7), (8192, 0.3)]);
    let all = take(&workload, &target(), 1 << 40, GeneratorPart::WHOLE, 500_000);
    for (op, share) in OperationKind::BLOCKS.into_iter().zip([0.5, 0.3, 0.15, 0.05]) {
        let found = all.iter().filter(|operation| operation.op == op).count() as f64 / 500_000.0;
        assert!((found - share).abs() < 0.004, "{op:?} {found}");
    }
    let addressed = all.iter().filter(|operation| operation.op != OperationKind::Flush);
    let large = addressed.clone().filter(|operation| operation.bytes == 8192).count();
    assert!((large as f64 / addressed.count() as f64 - 0.3).abs() < 0.004);
    workload.mix = OpMix::read_write(0.0);
    assert!(
        take(&workload, &target(), 1 << 40, GeneratorPart::WHOLE, 100_000).iter().all(|o| o.op == OperationKind::Write)
    );
}

#[test]
fn every_nth_write_is_followed_by_a_flush() {
    let mut workload = workload();
    workload.mix = OpMix { fsync_every: Some(3), ..OpMix::read_write(0.5) };
    let mut writes = 0;
    let mut flushes = 0;
    for operation in take(&workload, &target(), 1 << 40, GeneratorPart::WHOLE, 10_000) {
        match operation.op {
            OperationKind::Write => writes += 1,
            OperationKind::Flush => {
                flushes += 1;
                assert_eq!(writes, 3 * flushes);
            }
            _ => {}
        }
    }
    assert!(flushes > 1000);
}

#[test]
fn what_cannot_be_issued_is_refused() {
    let check = |change: &dyn Fn(&mut Workload, &mut TargetSpec), expect: &str| {
        let (mut workload, mut target) = (workload(), target());
        change(&mut workload, &mut target);
        let error =
            Operations::new(&workload, &target, geometry(1 << 20), 1, GeneratorPart::WHOLE).map(drop).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
    };
    check(&|w, _| w.transfer = TransferSize::Fixed(2 << 20), "2097152 bytes does not fit into the 1048576 bytes");
    check(&|w, _| w.transfer = TransferSize::Fixed(1000), "multiple of the block of 512 bytes");
    check(&|w, _| w.transfer = TransferSize::Fixed(0), "above 0");
    check(&|w, _| w.transfer = TransferSize::Mix(vec![]), "above 0");
    check(&|w, _| w.address.order = AddressOrder::Random(AddressDistribution::Zipf(-1.0)), "above 0 and at most 100");
    check(&|w, _| w.mix = OpMix::read_write(f64::NAN), "0 or more");
    check(&|w, _| w.address.streams = Some(2), "sequential");
    check(&|w, _| w.address.read_hit = 1.5, "between 0 and 1");
    check(&|_, t| t.offset_bytes = 100, "multiple of the target's block");
    let range = |low, high| Some(AddressRange { low: RangeBound::Bytes(low), high: RangeBound::Bytes(high) });
    check(&|w, _| w.address.range = range(4096, 4096), "must start below its end");
    check(&|w, _| w.address.range = range(0, 2 << 20), "must not be beyond the size");
    check(&|w, _| w.address.hot_band = range(0, 2048), "a transfer of 4096 bytes does not fit");
    let zipf = AddressOrder::Random(AddressDistribution::Zipf(1.0));
    check(&|w, _| (w.address.hot_band, w.address.order) = (range(0, 8192), zipf), "has its own distribution");
}
