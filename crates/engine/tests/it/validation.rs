//! Loads whose data is proved: what was written is found, nothing else is reported, and what is asked is what is done.

use crate::support::{Bench, once, run, scratch, target, workload};
use ::validation::{BlockState, CheckCounts, Damage, Reports, TargetRules, TargetValidation, Validation, device_id};
use engine::{EngineChoice, EngineOptions, LaneInterval, RunInput, start};
use plan::generate::OperationKind;
use plan::{OpMix, TargetSpec, TransferSize, ValidationSettings, Workload};
use stamp::{DamageClass, StampFlags};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const BOTH: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Sync];
const BLOCK: u64 = 4096;

/// The validation of an execution on these targets, in blocks of so many bytes.
fn proof(targets: &[TargetSpec], block_bytes: u64, settings: ValidationSettings) -> Validation {
    let reports = Arc::new(Reports::default());
    let rules = |(target, spec): (usize, &TargetSpec)| TargetRules {
        target,
        device: device_id(&spec.name),
        runs: vec![0x5eed],
        size_bytes: spec.size_bytes.unwrap(),
        block_bytes,
        compress_ratio: 1.0,
        flags: StampFlags::default(),
        trims_read_zero: true,
        checks_unknown: settings.checks_unknown,
    };
    let of = |one: (usize, &TargetSpec)| Some(Arc::new(TargetValidation::new(rules(one), Arc::clone(&reports))));
    Validation { run: 0x5eed, targets: targets.iter().enumerate().map(of).collect(), reports, settings }
}

/// What a run came to.
#[derive(Debug, Default)]
struct Sums {
    lanes: Vec<LaneInterval>,
    errors: u64,
    has_too_many_errors: bool,
}

impl Sums {
    fn of(&self, pass: impl Fn(&LaneInterval) -> bool, what: impl Fn(&LaneInterval) -> u64) -> u64 {
        self.lanes.iter().filter(|lane| pass(lane)).map(what).sum()
    }

    fn ops(&self) -> u64 {
        self.of(|_| true, |lane| lane.ops)
    }

    fn bytes(&self, op: OperationKind) -> u64 {
        self.of(|lane| lane.op == op, |lane| lane.bytes)
    }
}

/// A run with its data proved, to its end.
fn go(bench: &Bench, validation: &Validation, sweeps: bool, errors_max: Option<u64>) -> Sums {
    let input = RunInput {
        plan: &bench.plan,
        run: &bench.plan.runs[0],
        rate: bench.pace,
        targets: &bench.targets,
        trees: &[],
        seed: 7,
        varying_seed: 7,
        data_seed: 7,
        validation: Some(validation),
        sweeps,
    };
    let options = EngineOptions { choice: bench.choice, workers: bench.workers, errors_max };
    let mut running = start(input, &options).unwrap();
    let mut sums = Sums::default();
    let mut last_ns = quantity::clock::now_ns();
    while !running.finished() {
        std::thread::sleep(Duration::from_millis(2));
        if quantity::clock::now_ns() - last_ns > 200_000_000 {
            let harvest = running.harvest();
            sums.errors += harvest.lanes.iter().map(|lane| lane.errors).sum::<u64>();
            sums.lanes.extend(harvest.lanes);
            last_ns = quantity::clock::now_ns();
        }
    }
    sums.has_too_many_errors = running.has_too_many_errors();
    let finished = running.finish(Duration::from_secs(60)).unwrap();
    assert_eq!(finished.unfinished(), 0);
    sums.errors += finished.harvest.lanes.iter().map(|lane| lane.errors).sum::<u64>();
    sums.lanes.extend(finished.harvest.lanes);
    sums
}

/// As [`go`], without errors.
fn prove(bench: &Bench, validation: &Validation) -> Sums {
    let sums = go(bench, validation, false, None);
    assert_eq!(sums.errors, 0);
    sums
}

/// Reads all that was written.
fn sweep(bench: &Bench, validation: &Validation) -> Sums {
    let mut all = workload("verify", &(0..bench.plan.targets.len()).collect::<Vec<_>>(), 1.0);
    all.transfer = TransferSize::Fixed(64 << 10);
    let specs = bench.plan.targets.clone();
    let bench = Bench { choice: bench.choice, workers: bench.workers, ..Bench::new(specs, run(vec![all])) };
    go(&bench, validation, true, None)
}

fn counts(validation: &Validation, target: usize) -> &CheckCounts {
    validation.target(target).unwrap().counts()
}

fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// No block is an operation's any more.
fn all_are_free(validation: &Validation) {
    for target in validation.targets.iter().flatten() {
        let blocks = target.states().blocks();
        assert!(target.states().take(0, blocks), "a block is still taken");
        target.states().release(0, blocks);
    }
}

fn found(validation: &Validation) -> BTreeMap<DamageClass, u64> {
    validation.reports.counts()
}

fn mixed(read: f64, write: f64, trim: f64, flush: f64) -> Workload {
    Workload { mix: OpMix { write, trim, flush, ..OpMix::read_write(read) }, ..workload("w", &[0], read) }
}

#[test]
fn what_is_asked_is_done_and_nothing_is_reported() {
    let folder = scratch();
    for (number, choice) in BOTH.into_iter().enumerate() {
        // Few blocks, so that most operations find theirs taken, and many.
        for (blocks, depth, operations) in [(4, 32, 2000), (64, 16, 3000), (4096, 8, 3000)] {
            let name = format!("{number}-{blocks}");
            let spec = target(&name, &folder.path().join(&name), blocks * BLOCK, depth);
            let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
            for (read, write, trim, flush) in [(0.0, 1.0, 0.0, 0.0), (0.5, 0.4, 0.05, 0.05)] {
                let mut run = run(vec![mixed(read, write, trim, flush)]);
                run.stop.operations = Some(operations);
                let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run) };
                let before = get(&counts(&validation, 0).checked_bytes) + get(&counts(&validation, 0).unknown_bytes);
                let sums = prove(&bench, &validation);
                assert_eq!(sums.ops(), operations, "{choice:?} {blocks}");
                let counts = counts(&validation, 0);
                let checked = get(&counts.checked_bytes) + get(&counts.unknown_bytes) - before;
                assert_eq!(checked, sums.bytes(OperationKind::Read), "all that is read is looked at");
                assert_eq!(found(&validation), BTreeMap::new(), "{choice:?} {blocks} {read}");
                all_are_free(&validation);
            }
            let deferred = get(&counts(&validation, 0).deferred);
            assert!(blocks > 4 || deferred > 100, "{choice:?}: {deferred} of 4 blocks");
        }
    }
}

#[test]
fn several_workloads_and_workers_share_a_target() {
    let folder = scratch();
    for choice in BOTH {
        let name = format!("{choice:?}");
        let spec = target(&name, &folder.path().join(&name), 128 * BLOCK, 16);
        let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
        let (mut most, mut few, mut large) =
            (mixed(0.5, 0.5, 0.0, 0.0), mixed(0.0, 1.0, 0.0, 0.0), mixed(0.7, 0.3, 0.0, 0.0));
        (most.share, most.share_fixed, few.share, few.share_fixed) = (0.6, true, 0.2, true);
        (large.share, large.share_fixed, large.transfer) = (0.2, true, TransferSize::Fixed(32 << 10));
        let mut run = run(vec![most, few, large]);
        run.stop.operations = Some(5000);
        let bench = Bench { choice, workers: Some(4), ..Bench::new(vec![spec], run) };
        let sums = prove(&bench, &validation);
        assert_eq!(sums.ops(), 5000);
        let of = |at: usize| sums.of(|lane| lane.workload == at, |lane| lane.ops);
        // Within one operation of each worker.
        assert!(
            of(0).abs_diff(3000) <= 8 && of(1).abs_diff(1000) <= 8 && of(2).abs_diff(1000) <= 8,
            "{} {} {}",
            of(0),
            of(1),
            of(2)
        );
        assert_eq!(found(&validation), BTreeMap::new());
        all_are_free(&validation);
    }
}

#[test]
fn what_was_written_is_read_once_at_the_end() {
    let folder = scratch();
    for choice in BOTH {
        let name = format!("{choice:?}");
        let spec = target(&name, &folder.path().join(&name), 4096 * BLOCK, 8);
        let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
        let mut run = run(vec![mixed(0.0, 0.9, 0.1, 0.0)]);
        run.stop.operations = Some(1000);
        let bench = Bench { choice, workers: Some(2), ..Bench::new(vec![spec.clone()], run) };
        prove(&bench, &validation);
        let states = validation.target(0).unwrap().states();
        let written = states.written();
        let before = get(&counts(&validation, 0).checked_bytes);
        let sums = sweep(&bench, &validation);
        let counts = counts(&validation, 0);
        assert_eq!((get(&counts.swept_blocks), sums.errors), (written, 0));
        assert_eq!(sums.bytes(OperationKind::Read), written * BLOCK);
        assert_eq!(get(&counts.checked_bytes) - before, written * BLOCK);
        assert!(sums.ops() < written, "neighbours are read together");
        assert_eq!(found(&validation), BTreeMap::new());
        all_are_free(&validation);
    }
}

#[test]
fn every_damaged_block_is_reported_once() {
    let folder = scratch();
    for choice in BOTH {
        let name = format!("{choice:?}");
        let spec = target(&name, &folder.path().join(&name), 512 * BLOCK, 8);
        let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
        let mut fill = mixed(0.0, 1.0, 0.0, 0.0);
        (fill.address, fill.transfer) = (once(), TransferSize::Fixed(16 << 10));
        let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![fill])) };
        prove(&bench, &validation);
        let old = std::fs::read(&spec.path).unwrap();
        prove(&bench, &validation);
        // Behind its back: bits, old data, zeroes, the neighbour's data, half a write.
        let file = std::fs::OpenOptions::new().write(true).open(&spec.path).unwrap();
        let now = std::fs::read(&spec.path).unwrap();
        let at = |block: usize| block * 4096..(block + 1) * 4096;
        let damage: BTreeMap<u64, (DamageClass, Vec<u8>)> = BTreeMap::from([
            (
                3,
                (DamageClass::BitRot, {
                    let mut bytes = now[at(3)].to_vec();
                    bytes[1800] ^= 4;
                    bytes
                }),
            ),
            (100, (DamageClass::LostWrite, old[at(100)].to_vec())),
            (101, (DamageClass::LostWrite, old[at(101)].to_vec())),
            (200, (DamageClass::Zeroes, vec![0; 4096])),
            (300, (DamageClass::MisdirectedWrite, now[at(301)].to_vec())),
            (511, (DamageClass::TornWrite, [&now[at(511)][..2048], &old[at(511)][2048..]].concat())),
        ]);
        for (block, (_, bytes)) in &damage {
            file.write_all_at(bytes, block * BLOCK).unwrap();
        }
        let mut reads = mixed(1.0, 0.0, 0.0, 0.0);
        (reads.address, reads.transfer) = (once(), TransferSize::Fixed(16 << 10));
        let reading = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![reads])) };
        let sums = go(&reading, &validation, false, None);
        assert_eq!((sums.errors, sums.ops()), (0, 128), "damage is no error of an operation");
        let reports: BTreeMap<u64, Damage> =
            validation.reports.take().into_iter().map(|damage| (damage.address / BLOCK, damage)).collect();
        let classes: BTreeMap<u64, DamageClass> =
            reports.iter().map(|(at, damage)| (*at, damage.finding.class)).collect();
        assert_eq!(classes, damage.iter().map(|(at, (class, _))| (*at, *class)).collect());
        for (block, (_, bytes)) in &damage {
            assert_eq!(&reports[block].read, bytes);
            assert_eq!(validation.target(0).unwrap().states().get(*block), BlockState::Damaged);
        }
        // Each once: what is read again is not reported again, and a write makes it right.
        go(&reading, &validation, false, None);
        prove(&bench, &validation);
        go(&reading, &validation, false, None);
        assert_eq!(validation.reports.count(), damage.len() as u64);
        all_are_free(&validation);
    }
}

#[test]
fn a_run_ends_with_the_first_damaged_block_behind_so_many() {
    let folder = scratch();
    for choice in BOTH {
        let name = format!("{choice:?}");
        let spec = target(&name, &folder.path().join(&name), 512 * BLOCK, 4);
        let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
        let mut fill = mixed(0.0, 1.0, 0.0, 0.0);
        fill.address = once();
        let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![fill.clone()])) };
        prove(&bench, &validation);
        std::fs::OpenOptions::new()
            .write(true)
            .open(&spec.path)
            .unwrap()
            .write_all_at(&vec![0; 512 * 4096], 0)
            .unwrap();
        fill.mix = OpMix::read_write(1.0);
        let bench = Bench { choice, ..Bench::new(vec![spec], run(vec![fill])) };
        let sums = go(&bench, &validation, false, Some(9));
        assert!(sums.has_too_many_errors && sums.errors == 0);
        let count = validation.reports.count();
        assert!((10..20).contains(&count), "{count}, of four in flight");
        all_are_free(&validation);
    }
}
