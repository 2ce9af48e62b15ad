//! Replays whose data is proved: traces whose I/Os overlap, on right and on wrong disks.

use crate::support::{Bench, scratch, target};
use crate::validation::{all_are_free, counts, faulty, found, get, proof, sweep};
use ::validation::Validation;
use engine::{FinishedRun, LaneInterval, ReplayFeed, ReplayHindrances, RunInput, RunningRun, replay};
use plan::generate::OperationKind;
use plan::replay::{ReplayIo, ReplayPacing};
use plan::{OpMix, Replay, Run, TargetSpec, TextSpan, ValidationSettings, Workload};
use stamp::DamageClass;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

const SECTOR: u64 = 512;

fn io(due_ns: u64, op: OperationKind, offset: u64, bytes: u64) -> ReplayIo {
    let (bytes, think_ns) = (u32::try_from(bytes).unwrap(), 0);
    ReplayIo { due_ns, offset, bytes, target: 0, op, durable: false, zeroes: false, after: 0, think_ns }
}

/// Plays on a target.
fn bench(spec: &TargetSpec) -> Bench {
    let mix = OpMix::read_write(0.5);
    let workload =
        Workload { targets: vec![0], mix, ..Workload::replaying(Replay::new("t".into()), TextSpan::default()) };
    Bench::new(vec![spec.clone()], Run::of_replay("replay", workload))
}

fn begin(
    bench: &Bench,
    validation: Option<&Validation>,
    pacing: ReplayPacing,
    ios: &[ReplayIo],
) -> (RunningRun, Arc<ReplayHindrances>) {
    let (send, chunks) = channel();
    for chunk in ios.chunks(100) {
        send.send(chunk.into()).unwrap();
    }
    let input = RunInput { validation, ..bench.input() };
    let depth = bench.plan.targets[0].depth;
    replay(input, ReplayFeed { chunks, pacing, depth, cpus: Vec::new() }, (None, None)).unwrap()
}

/// What came of a replay, and how many of its operations waited for others.
struct Playing {
    lanes: Vec<LaneInterval>,
    deferred: u64,
}

impl Playing {
    fn count(&self, op: OperationKind) -> u64 {
        self.lanes.iter().filter(|lane| lane.op == op).map(|lane| lane.ops).sum()
    }

    fn errors(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.errors).sum()
    }
}

/// Plays to the end.
fn play(bench: &Bench, validation: Option<&Validation>, pacing: ReplayPacing, ios: &[ReplayIo]) -> Playing {
    let (mut running, hindrances) = begin(bench, validation, pacing, ios);
    let mut lanes = Vec::new();
    while !running.finished() {
        std::thread::sleep(Duration::from_millis(20));
        lanes.extend(running.harvest().lanes);
    }
    let finished = running.finish(Duration::from_secs(60)).unwrap();
    assert_eq!((finished.unfinished(), finished.waiting()), (0, 0));
    lanes.extend(finished.harvest.lanes);
    Playing { lanes, deferred: hindrances.deferred() }
}

/// Numbers by chance, the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % end
    }
}

/// A trace of all kinds and of sizes from one sector to 64 KiB on so many bytes, an I/O every `step_ns`.
fn wild(seed: u64, count: u64, bytes: u64, step_ns: u64) -> Vec<ReplayIo> {
    let mut chance = Chance(seed);
    let mut one = |at: u64| {
        let op = match chance.below(20) {
            0 => OperationKind::Flush,
            1..=2 => OperationKind::Trim,
            3..=11 => OperationKind::Write,
            _ => OperationKind::Read,
        };
        let length = [1, 2, 8, 8, 24, 128][usize::try_from(chance.below(6)).unwrap()] * SECTOR;
        let offset = chance.below((bytes - length) / SECTOR + 1) * SECTOR;
        match op {
            OperationKind::Flush => io(at * step_ns, op, 0, 0),
            _ => ReplayIo {
                durable: op == OperationKind::Write && chance.below(10) == 0,
                ..io(at * step_ns, op, offset, length)
            },
        }
    };
    (0..count).map(&mut one).collect()
}

/// Is each sector what the trace's last change of it left there? Those that nothing changed are zeroes.
fn is_as_traced(spec: &TargetSpec, ios: &[ReplayIo]) {
    let bytes = std::fs::read(&spec.path).unwrap();
    let mut last = vec![None; bytes.len() / 512];
    for io in ios.iter().filter(|io| matches!(io.op, OperationKind::Write | OperationKind::Trim)) {
        let first = usize::try_from(io.offset / SECTOR).unwrap();
        last[first..first + io.bytes as usize / 512].fill(Some(io.op));
    }
    for (sector, (bytes, last)) in bytes.chunks(512).zip(last).enumerate() {
        let is_stamped = bytes.iter().any(|byte| *byte != 0);
        assert_eq!(is_stamped, last == Some(OperationKind::Write), "sector {sector}: {last:?}");
    }
}

#[test]
fn ios_that_overlap_in_a_trace_come_one_after_the_other_and_all_come() {
    let folder = scratch();
    for (seed, pacing) in [ReplayPacing::OnTime, ReplayPacing::Asap, ReplayPacing::OnTime].into_iter().enumerate() {
        // On few blocks most of them overlap, on many hardly any.
        for (blocks, count) in [(160, 1500), (4096, 1500)] {
            let name = format!("{seed}-{blocks}");
            let spec = target(&name, &folder.path().join(&name), blocks * SECTOR, 64);
            let settings = ValidationSettings { reads_before_write: seed == 2, ..ValidationSettings::default() };
            let validation = proof(std::slice::from_ref(&spec), SECTOR, settings);
            let ios = wild(seed as u64, count, blocks * SECTOR, 3_000);
            let bench = bench(&spec);
            let played = play(&bench, Some(&validation), pacing, &ios);
            for op in [OperationKind::Read, OperationKind::Write, OperationKind::Trim, OperationKind::Flush] {
                assert_eq!(played.count(op), ios.iter().filter(|io| io.op == op).count() as u64, "{op:?} of {name}");
            }
            assert_eq!(played.errors(), 0);
            let counts = counts(&validation, 0);
            assert_eq!(get(&counts.deferred), played.deferred);
            let read: u64 = ios.iter().filter(|io| io.op == OperationKind::Read).map(|io| u64::from(io.bytes)).sum();
            let seen = get(&counts.checked_bytes) + get(&counts.unknown_bytes);
            assert!(if seed == 2 { seen > read } else { seen == read }, "{seen} {read}");
            is_as_traced(&spec, &ios);
            sweep(&bench, &validation);
            assert_eq!(found(&validation), BTreeMap::new(), "{name}");
            all_are_free(&validation);
        }
    }
}

#[test]
fn what_overlaps_waits_and_is_counted() {
    let Some((_mountpoint, disk, spec)) = faulty(256, 64) else { return };
    let validation = proof(std::slice::from_ref(&spec), SECTOR, ValidationSettings::default());
    let bench = bench(&spec);
    // Each takes long, and all are due at once: six of a block, which overlap, and six of others.
    disk.control("delay 30ms").unwrap();
    let of = |at: u64| [io(at, OperationKind::Write, 8192, 4096), io(at, OperationKind::Write, (at + 8) * 8192, 4096)];
    let ios: Vec<ReplayIo> = (0..6).flat_map(of).collect();
    let played = play(&bench, Some(&validation), ReplayPacing::OnTime, &ios);
    assert_eq!((played.count(OperationKind::Write), played.deferred), (12, 5));
    let longest = played.lanes.iter().filter_map(|lane| lane.response.max()).max().unwrap();
    assert!(longest >= 6 * 30_000_000, "its response counts from its due time: {longest}");
    let waited = played.lanes.iter().filter_map(|lane| lane.service.min()).min().unwrap();
    assert!(waited >= 30_000_000, "and its service from its submission");
    // Without validation none waits.
    let plain = play(&bench, None, ReplayPacing::OnTime, &ios);
    assert_eq!((plain.count(OperationKind::Write), plain.deferred), (12, 0));
    all_are_free(&validation);
}

#[test]
fn a_replay_that_is_stopped_leaves_no_block_taken() {
    let Some((_mountpoint, disk, spec)) = faulty(64, 64) else { return };
    let validation = proof(std::slice::from_ref(&spec), SECTOR, ValidationSettings::default());
    disk.control("delay 50ms").unwrap();
    let ios: Vec<ReplayIo> = (0..40).map(|at| io(at, OperationKind::Write, 4096, 4096)).collect();
    let bench = bench(&spec);
    let (running, hindrances) = begin(&bench, Some(&validation), ReplayPacing::OnTime, &ios);
    while hindrances.deferred() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let FinishedRun { harvest, open } = running.finish(Duration::from_secs(60)).unwrap();
    let done: u64 = harvest.lanes.iter().map(|lane| lane.ops).sum();
    let waiting: u64 = open.iter().map(|lane| lane.waiting_age.count()).sum();
    assert_eq!(open.iter().map(|lane| lane.in_flight_age.count()).sum::<u64>(), 0);
    assert!((1..40).contains(&done) && done + waiting == 40, "{done} {waiting}");
    all_are_free(&validation);
    disk.control("quiet\ndelay 0ms").unwrap();
    sweep(&bench, &validation);
    assert_eq!(found(&validation), BTreeMap::new());
}

#[test]
fn what_a_disk_does_wrong_in_a_replay_is_found_and_nothing_else() {
    for fault in ["lost-write", "torn", "misdirect", "swap", "zero"] {
        let Some((_mountpoint, disk, spec)) = faulty(512, 64) else { return };
        let block = 4096;
        let validation = proof(std::slice::from_ref(&spec), block, ValidationSettings::default());
        let pass = |op| (0..512).map(move |at| io(at * 2_000, op, at * 37 % 512 * block, block)).collect::<Vec<_>>();
        let bench = bench(&spec);
        play(&bench, Some(&validation), ReplayPacing::OnTime, &pass(OperationKind::Write));
        disk.control(&format!("seed 5\n{fault} rate 0.1")).unwrap();
        play(&bench, Some(&validation), ReplayPacing::OnTime, &pass(OperationKind::Write));
        disk.control("quiet").unwrap();
        let wrong: BTreeMap<u64, u64> =
            disk.visible().unwrap().into_iter().map(|(offset, fault)| (offset / block, fault)).collect();
        // Its own reads find all of it, and the reading at the end nothing more.
        let played = play(&bench, Some(&validation), ReplayPacing::OnTime, &pass(OperationKind::Read));
        assert_eq!(
            (played.count(OperationKind::Read), played.errors()),
            (512, 0),
            "damage is no error of an operation"
        );
        sweep(&bench, &validation);
        let reported = validation.reports.take();
        let mut blocks: Vec<u64> = reported.iter().map(|damage| damage.address / block).collect();
        blocks.sort_unstable();
        assert!(
            !blocks.is_empty() && blocks == wrong.keys().copied().collect::<Vec<_>>(),
            "{fault}: {blocks:?} {wrong:?}"
        );
        let classes: Vec<DamageClass> = reported.iter().map(|damage| damage.finding.class).collect();
        let named = match fault {
            "lost-write" => classes.iter().all(|class| *class == DamageClass::LostWrite),
            "torn" => classes.iter().all(|class| *class == DamageClass::TornWrite),
            "misdirect" => classes.contains(&DamageClass::MisdirectedWrite),
            "swap" => classes.iter().all(|class| *class == DamageClass::SwappedSectors),
            _ => classes.iter().all(|class| *class == DamageClass::Zeroes),
        };
        assert!(named, "{fault}: {classes:?}");
        all_are_free(&validation);
    }
}

#[test]
fn transient_damage_and_reads_behind_writes_are_in_no_service_time_and_failures_are_no_damage() {
    let Some((_mountpoint, disk, spec)) = faulty(256, 32) else { return };
    let settings =
        ValidationSettings { reads_before_write: true, reads_after_write: true, ..ValidationSettings::default() };
    let validation = proof(std::slice::from_ref(&spec), 4096, settings);
    let bench = bench(&spec);
    let pass = |op| (0..256).map(move |at| io(at * 5_000, op, at * 4096, 4096)).collect::<Vec<_>>();
    play(&bench, Some(&validation), ReplayPacing::OnTime, &pass(OperationKind::Write));
    let counts = counts(&validation, 0);
    assert_eq!(get(&counts.extra_reads), 256, "nothing was known before");
    disk.control("delay 20ms read").unwrap();
    let played = play(&bench, Some(&validation), ReplayPacing::Asap, &pass(OperationKind::Write));
    assert_eq!((played.count(OperationKind::Write), get(&counts.extra_reads)), (256, 256 * 3));
    let quickest = played.lanes.iter().filter_map(|lane| lane.service.min()).min().unwrap();
    assert!(quickest < 20_000_000, "a read of 20 ms before and behind each: {quickest}");
    disk.control("delay 0ms\neio rate 0.05\nshort 2048 rate 0.05").unwrap();
    let played = play(&bench, Some(&validation), ReplayPacing::OnTime, &pass(OperationKind::Write));
    assert!(played.errors() > 0 && played.errors() + played.count(OperationKind::Write) == 256);
    disk.control("quiet\nstale-read count 1 range 40k-44k").unwrap();
    assert_eq!(found(&validation), BTreeMap::new());
    play(&bench, Some(&validation), ReplayPacing::OnTime, &pass(OperationKind::Write));
    sweep(&bench, &validation);
    let reported = validation.reports.take();
    assert!(reported.iter().all(|damage| damage.finding.is_transient && damage.address == 40 << 10), "{reported:?}");
    all_are_free(&validation);
}

#[test]
fn foreign_data_under_a_replay_is_named() {
    let folder = scratch();
    let spec = target("sd1", &folder.path().join("f"), 64 * 4096, 8);
    let validation = proof(std::slice::from_ref(&spec), 4096, ValidationSettings::default());
    let bench = bench(&spec);
    let ios: Vec<ReplayIo> = (0..64).map(|at| io(at * 1000, OperationKind::Write, at * 4096, 4096)).collect();
    play(&bench, Some(&validation), ReplayPacing::OnTime, &ios);
    let file = std::fs::OpenOptions::new().write(true).open(&spec.path).unwrap();
    file.write_all_at(&[7; 512], 3 * 4096 + 512).unwrap();
    let reads: Vec<ReplayIo> = ios.iter().map(|one| ReplayIo { op: OperationKind::Read, ..*one }).collect();
    play(&bench, Some(&validation), ReplayPacing::OnTime, &reads);
    assert_eq!(found(&validation), BTreeMap::from([(DamageClass::Foreign, 1)]));
    all_are_free(&validation);
}
