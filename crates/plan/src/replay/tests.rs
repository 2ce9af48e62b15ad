use super::*;
use crate::op::OperationKind;
use proptest::prelude::*;

fn io<'a>(queue_ns: i64, op: &'a str, offset: u64, bytes: u64) -> TracedRequest<'a> {
    TracedRequest {
        queue_ns,
        complete_ns: Some(queue_ns.saturating_add(100)),
        device: "sda",
        op,
        flags: "",
        offset,
        bytes,
        pid: 1,
        tid: 1,
        comm: "db",
        file: "/x",
    }
}

fn wish() -> Replay {
    Replay {
        volumes: vec![ReplayVolume { targets: vec![3] }],
        maps: vec![DeviceMapping { device: "s*".into(), volume: 0, base_bytes: 0, packed: false }],
        ..Replay::new("t".into())
    }
}

fn sizes(bytes: u64) -> Vec<VolumeSize> {
    vec![VolumeSize { target: 3, bytes, block_bytes: 512 }]
}

fn all(mapper: &mut ReplayMapper, ios: &[TracedRequest<'_>]) -> Vec<ReplayIo> {
    let mut out = Vec::new();
    ios.iter().for_each(|io| mapper.map(io, &mut |one, _| out.push(one)));
    out
}

#[test]
fn times_are_scaled_from_the_first_that_is_played() {
    let replay = Replay { from_ns: 1_000, ..wish() };
    let mut mapper = ReplayMapper::new(&replay, &sizes(1 << 30), |_| 0, 2.0);
    let ios = [io(5_000, "read", 0, 512), io(6_500, "read", 0, 512), io(9_500, "write", 4096, 1024)];
    let out = all(&mut mapper, &ios);
    assert_eq!(out.iter().map(|one| one.due_ns).collect::<Vec<_>>(), [0, 1_500]);
    assert_eq!((out[1].op, out[1].offset, out[1].bytes, out[1].target), (OperationKind::Write, 4096, 1024, 3));
    assert_eq!(mapper.changes.outside, 1);
}

#[test]
fn what_lies_beyond_the_end_is_left_out_or_folded_and_counted() {
    let ios = [io(0, "read", 8192, 4096), io(1, "read", 1 << 20, 4096), io(2, "zone_reset", 0, 0)];
    let mut mapper = ReplayMapper::new(&wish(), &sizes(64 << 10), |_| 0, 1.0);
    assert_eq!(all(&mut mapper, &ios).len(), 1);
    assert_eq!((mapper.changes.beyond, mapper.changes.left_out()), (1, 2));
    let rules = AddressRules { fold_bytes: Some(0), ..AddressRules::default() };
    let mut mapper = ReplayMapper::new(&Replay { addresses: rules, ..wish() }, &sizes(60 << 10), |_| 0, 1.0);
    let out = all(&mut mapper, &ios);
    assert_eq!(out[1].offset, (1 << 20) % (60 << 10));
    assert_eq!(mapper.changes.folded, 1);
}

#[test]
fn devices_lie_one_after_the_other_in_a_volume_of_several_targets() {
    let replay = Replay {
        volumes: vec![ReplayVolume { targets: vec![0, 1] }],
        maps: ["a", "b"]
            .map(|name| DeviceMapping { device: name.into(), volume: 0, base_bytes: 0, packed: true })
            .into(),
        ..Replay::new("t".into())
    };
    let sizes = [0, 1].map(|target| VolumeSize { target, bytes: (3 << 20) + 777, block_bytes: 512 });
    let mut mapper = ReplayMapper::new(&replay, &sizes, |_| (2 << 20) + 1, 1.0);
    let on = |device: &'static str, offset: u64, bytes: u64| TracedRequest { device, ..io(0, "write", offset, bytes) };
    let out = all(&mut mapper, &[on("a", 0, 512), on("b", 0, 512), on("a", (3 << 20) - 512, 1024), on("c", 0, 512)]);
    let places: Vec<_> = out.iter().map(|one| (one.target, one.offset, one.bytes)).collect();
    assert_eq!(places, [(0, 0, 512), (1, 0, 512), (0, (3 << 20) - 512, 512), (1, 0, 512)]);
    assert_eq!((mapper.changes.cut, mapper.changes.unmapped), (1, 1));
}

#[test]
fn an_io_waits_for_the_completion_before_it_in_its_thread() {
    let replay = Replay { pacing: ReplayPacing::Closed, ..wish() };
    let mut mapper = ReplayMapper::new(&replay, &sizes(1 << 30), |_| 0, 1.0);
    let other = TracedRequest { tid: 2, ..io(50, "read", 0, 512) };
    let out = all(&mut mapper, &[io(0, "read", 0, 512), other, io(90, "read", 0, 512), io(250, "read", 0, 512)]);
    // The third began while the first was under way; the fourth after both had completed, the later at 190.
    assert_eq!(out.iter().map(|one| (one.after, one.think_ns)).collect::<Vec<_>>(), [(0, 0), (0, 0), (0, 0), (3, 60)]);
}

#[test]
fn an_operation_that_comes_late_or_has_no_end_makes_no_other_wait() {
    for pacing in [ReplayPacing::Closed, ReplayPacing::Dependencies] {
        let mut mapper = ReplayMapper::new(&Replay { pacing, ..wish() }, &sizes(1 << 30), |_| 0, 1.0);
        let open = TracedRequest { complete_ns: None, ..io(150, "read", 0, 512) };
        let ios = [io(0, "read", 0, 512), open, io(300, "read", 0, 512), io(450, "read", 0, 512)];
        // Then one that was queued before the second had completed, but stands here.
        let out = all(&mut mapper, &[&ios[..], &[io(50, "read", 0, 512), io(500, "read", 0, 512)]].concat());
        let waits: Vec<_> = out.iter().map(|one| (one.after, one.think_ns)).collect();
        // The third waits for the first, and not for the one without an end; the late one for none.
        assert_eq!(waits, [(0, 0), (1, 50), (1, 200), (3, 50), (0, 0), (3, 100)], "{pacing:?}");
        let latest = out.iter().map(|one| one.due_ns.max(one.think_ns)).max();
        assert_eq!(latest, Some(500));
    }
}

#[test]
fn no_time_of_a_trace_is_too_far_away() {
    let far = |queue_ns, complete_ns| TracedRequest { complete_ns, ..io(queue_ns, "read", 0, 512) };
    let ios = [far(i64::MIN, Some(i64::MAX)), far(i64::MAX, Some(i64::MIN)), far(0, Some(i64::MIN)), far(5, Some(9))];
    for pacing in [ReplayPacing::OnTime, ReplayPacing::Closed, ReplayPacing::Dependencies] {
        let mut mapper = ReplayMapper::new(&Replay { pacing, ..wish() }, &sizes(1 << 30), |_| 0, 0.5);
        assert_eq!(all(&mut mapper, &ios).len(), 4);
    }
}

/// Offsets at which 4 KiB I/Os at these addresses are played under some rules, in a volume of 1 MiB whose region for
/// the device begins at `base`.
fn offsets(rules: AddressRules, base_bytes: u64, addresses: &[u64]) -> (Vec<u64>, ReplayChanges) {
    let mut replay = Replay { addresses: rules, ..wish() };
    replay.maps[0].base_bytes = base_bytes;
    let mut mapper = ReplayMapper::new(&replay, &sizes(1 << 20), |_| 0, 1.0);
    let ios: Vec<TracedRequest<'_>> = addresses.iter().map(|at| io(0, "write", *at, 4096)).collect();
    (all(&mut mapper, &ios).iter().map(|one| one.offset).collect(), mapper.changes)
}

#[test]
fn addresses_are_scaled_shifted_aligned_and_folded_in_this_order() {
    let rules = AddressRules { scale: 0.5, shift_bytes: 3 << 10, align_bytes: Some(4096), ..AddressRules::default() };
    let (places, changes) = offsets(rules, 0, &[0, 16 << 10, 20 << 10, 21 << 10]);
    assert_eq!(places, [0, 8 << 10, 12 << 10, 12 << 10]);
    assert_eq!((changes.beyond, changes.folded), (0, 0));
    let rules = AddressRules { shift_bytes: 8 << 10, fold_bytes: Some(64 << 10), ..AddressRules::default() };
    assert_eq!(offsets(rules, 0, &[0, 56 << 10, 70 << 10]).0, [8 << 10, 0, 14 << 10]);
}

#[test]
fn what_a_shift_moves_before_the_beginning_is_left_out_and_counted() {
    let rules = AddressRules { shift_bytes: -(64 << 10), ..AddressRules::default() };
    let (places, changes) = offsets(rules.clone(), 0, &[0, 60 << 10, 64 << 10, 80 << 10]);
    assert_eq!(places, [0, 16 << 10]);
    assert_eq!((changes.beyond, changes.left_out()), (2, 2));
    assert!(changes.words()[0].starts_with("2 I/Os beyond"), "{:?}", changes.words());
    // The region of a device begins where the map says.
    let (places, changes) = offsets(rules.clone(), 128 << 10, &[0, 64 << 10]);
    assert_eq!((places, changes.beyond), (vec![128 << 10], 1));
    // Folding brings them back from the other end.
    let (places, changes) = offsets(AddressRules { fold_bytes: Some(0), ..rules }, 0, &[0, 64 << 10]);
    assert_eq!((places, changes.beyond, changes.folded), (vec![(1 << 20) - (64 << 10), 0], 0, 1));
}

#[test]
fn a_folded_device_stays_in_its_region() {
    let rules = AddressRules { fold_bytes: Some(0), ..AddressRules::default() };
    let base = 768 << 10;
    let (places, changes) = offsets(rules.clone(), base, &[0, 252 << 10, 256 << 10, 1 << 30, (1 << 30) + (255 << 10)]);
    assert_eq!(places, [base, base + (252 << 10), base, base, base + (252 << 10)]);
    assert_eq!(changes.folded, 3);
    // A region behind the end has no place at all.
    let (places, changes) = offsets(rules, 2 << 20, &[0]);
    assert!(places.is_empty() && changes.beyond == 1);
}

#[test]
fn a_flush_goes_to_every_target_of_its_volume() {
    let replay = Replay { volumes: vec![ReplayVolume { targets: vec![4, 2, 4] }], ..wish() };
    let sizes = [2, 4].map(|target| VolumeSize { target, bytes: 4 << 20, block_bytes: 512 });
    let mut mapper = ReplayMapper::new(&replay, &sizes, |_| 0, 1.0);
    let out = all(&mut mapper, &[io(0, "flush", 0, 0)]);
    assert_eq!(
        out.iter().map(|one| (one.target, one.op, one.bytes)).collect::<Vec<_>>(),
        [(2, OperationKind::Flush, 0), (4, OperationKind::Flush, 0)]
    );
    assert_eq!(mapper.changes.played, 2);
}

#[test]
fn zeroes_that_were_written_are_written() {
    let mut mapper = ReplayMapper::new(&wish(), &sizes(1 << 20), |_| 0, 1.0);
    let out = all(&mut mapper, &[io(0, "write_zeroes", 8192, 65536), io(1, "discard", 0, 4096)]);
    let seen: Vec<_> = out.iter().map(|one| (one.op, one.zeroes, one.offset, one.bytes)).collect();
    assert_eq!(seen, [(OperationKind::Trim, true, 8192, 65536), (OperationKind::Trim, false, 0, 4096)]);
    assert_eq!((mapper.changes.zeroed, mapper.changes.left_out()), (1, 0));
}

#[test]
fn filters_choose_by_process_name_and_file() {
    let ios = [
        io(0, "read", 0, 512),
        TracedRequest { pid: 2, ..io(1, "read", 0, 512) },
        TracedRequest { comm: "backup", ..io(2, "read", 0, 512) },
        TracedRequest { file: "/y/log", ..io(3, "write", 0, 512) },
    ];
    let (pids, ops) = (vec![2], vec![ReplayOp::Write, ReplayOp::Flush]);
    for (filter, expect) in [
        (ReplayFilter { pids, ..ReplayFilter::default() }, 1),
        (ReplayFilter { comms: vec!["db".into()], ..ReplayFilter::default() }, 3),
        (ReplayFilter { files: vec!["/y/*".into()], ..ReplayFilter::default() }, 1),
        (ReplayFilter { ops, ..ReplayFilter::default() }, 1),
        (ReplayFilter { comms: vec!["absent".into()], ..ReplayFilter::default() }, 0),
    ] {
        let mut mapper = ReplayMapper::new(&Replay { filter, ..wish() }, &sizes(1 << 20), |_| 0, 1.0);
        assert_eq!(all(&mut mapper, &ios).len(), expect);
        assert_eq!(mapper.changes.filtered, (ios.len() - expect) as u64);
        let words = mapper.changes.whereabouts().join(";");
        assert_eq!(words.contains("left out by a filter"), expect < ios.len(), "{words}");
    }
}

#[test]
fn patterns_fit_as_in_a_shell() {
    for (pattern, text, expect) in [
        ("*", "", true),
        ("sd*", "sda", true),
        ("sd*", "nvme", false),
        ("*n1", "nvme0n1", true),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "axxbyy", false),
        ("sda", "sdaa", false),
    ] {
        assert_eq!(fits(pattern, text), expect, "{pattern} {text}");
    }
}

proptest! {
    #[test]
    fn whatever_the_rules_every_operation_lies_inside_its_target(
        offset in 0_u64..(1 << 44), bytes in 1_u64..(9 << 20), size in 1_u64..(1 << 26), scale in 0.0_f64..4.0,
        shift in -(1_i64 << 40)..(1_i64 << 40), fold in prop::option::of(0_u64..(1 << 27)), align in 1_u64..9000,
    ) {
        let rules = AddressRules { scale, shift_bytes: shift, fold_bytes: fold, align_bytes: Some(align), skip_first_block: false };
        let mut mapper = ReplayMapper::new(&Replay { addresses: rules, ..wish() }, &sizes(size), |_| 0, 1.0);
        let out = all(&mut mapper, &[io(0, "write", offset, bytes)]);
        for one in &out {
            prop_assert!(one.offset + u64::from(one.bytes) <= size);
            prop_assert!(one.offset % 512 == 0 && one.bytes % 512 == 0 && one.bytes > 0);
        }
        prop_assert_eq!(mapper.changes.beyond == 0, !out.is_empty());
    }
}
