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
pub fn proof(targets: &[TargetSpec], block_bytes: u64, settings: ValidationSettings) -> Validation {
    let reports = Arc::new(Reports::default());
    let rules = |(target, spec): (usize, &TargetSpec)| TargetRules {
        target,
        device: device_id(&spec.name),
        runs: vec![0x5eed],
        size_bytes: spec.size_bytes.unwrap(),
        block_bytes,
        compress_ratio: 1.0,
        copies: None,
        flags: StampFlags::default(),
        trims_read_zero: true,
        checks_unknown: settings.checks_unknown,
    };
    let of = |one: (usize, &TargetSpec)| Some(Arc::new(TargetValidation::new(rules(one), Arc::clone(&reports))));
    Validation {
        run: 0x5eed,
        targets: targets.iter().enumerate().map(of).collect(),
        trees: Vec::new(),
        reports,
        settings,
    }
}

/// What a run came to.
#[derive(Debug, Default)]
pub struct Sums {
    lanes: Vec<LaneInterval>,
    failures: Vec<engine::FailedOperation>,
    pub errors: u64,
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
    let options = EngineOptions { choice: bench.choice, workers: bench.workers, errors_max, damage_max: None };
    let mut running = start(input, &options).unwrap();
    let mut sums = Sums::default();
    let mut last_ns = quantity::clock::now_ns();
    while !running.finished() {
        std::thread::sleep(Duration::from_millis(2));
        if quantity::clock::now_ns() - last_ns > 200_000_000 {
            let harvest = running.harvest();
            sums.errors += harvest.lanes.iter().map(|lane| lane.errors).sum::<u64>();
            sums.lanes.extend(harvest.lanes);
            sums.failures.extend(harvest.failures);
            last_ns = quantity::clock::now_ns();
        }
    }
    sums.has_too_many_errors = running.has_too_many_errors();
    let finished = running.finish(Duration::from_secs(60)).unwrap();
    assert_eq!(finished.unfinished(), 0);
    sums.errors += finished.harvest.lanes.iter().map(|lane| lane.errors).sum::<u64>();
    sums.lanes.extend(finished.harvest.lanes);
    sums.failures.extend(finished.harvest.failures);
    sums
}

/// As [`go`], without errors.
fn prove(bench: &Bench, validation: &Validation) -> Sums {
    let sums = go(bench, validation, false, None);
    assert_eq!(sums.errors, 0);
    sums
}

/// Reads all that was written.
pub fn sweep(bench: &Bench, validation: &Validation) -> Sums {
    let mut all = workload("verify", &(0..bench.plan.targets.len()).collect::<Vec<_>>(), 1.0);
    all.transfer = TransferSize::Fixed(64 << 10);
    let specs = bench.plan.targets.clone();
    let bench = Bench { choice: bench.choice, workers: bench.workers, ..Bench::new(specs, run(vec![all])) };
    go(&bench, validation, true, None)
}

pub fn counts(validation: &Validation, target: usize) -> &CheckCounts {
    validation.target(target).unwrap().counts()
}

pub fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// No block is an operation's any more.
pub fn all_are_free(validation: &Validation) {
    for target in validation.targets.iter().flatten() {
        let blocks = target.states().blocks();
        assert!(target.states().take(0, blocks), "a block is still taken");
        target.states().release(0, blocks);
    }
}

pub fn found(validation: &Validation) -> BTreeMap<DamageClass, u64> {
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
        for (blocks, depth, operations) in [(1, 8, 300), (4, 32, 2000), (64, 16, 3000), (4096, 8, 3000)] {
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

/// Writes all blocks once, in the order of the addresses.
fn fill() -> Workload {
    Workload { address: once(), ..mixed(0.0, 1.0, 0.0, 0.0) }
}

/// A disk that fails on command, and its target past the page cache; `None` where there can be none.
pub fn faulty(blocks: u64, depth: u32) -> Option<(tempfile::TempDir, faultfs::DiskHandle, TargetSpec)> {
    if !testkit::require_root_or_skip() {
        return None;
    }
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = faultfs::Faultfs::mount(mountpoint.path(), faultfs::DiskConfig::new(blocks * BLOCK)).unwrap();
    let mut spec = target("sd1", &disk.disk(), blocks * BLOCK, depth);
    spec.open.direct = true;
    Some((mountpoint, disk, spec))
}

#[test]
fn operations_that_fail_are_no_damage() {
    for choice in BOTH {
        let Some((_mountpoint, disk, spec)) = faulty(256, 8) else { return };
        let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
        prove(&Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![fill()])) }, &validation);
        let mut large = mixed(0.5, 0.5, 0.0, 0.0);
        large.transfer = TransferSize::Fixed(16 << 10);
        let mut run = run(vec![mixed(0.5, 0.45, 0.03, 0.02), large]);
        run.stop.operations = Some(3000);
        let bench = Bench { choice, workers: Some(2), ..Bench::new(vec![spec.clone()], run) };
        disk.control("eio rate 0.1\nshort 2048 rate 0.1").unwrap();
        let sums = go(&bench, &validation, false, None);
        assert_eq!(sums.ops() + sums.errors, 3000);
        assert!(sums.errors > 300, "{}", sums.errors);
        disk.control("quiet").unwrap();
        // Whichever of old and new is there, also a part of each.
        assert_eq!(sweep(&bench, &validation).errors, 0);
        prove(&bench, &validation);
        sweep(&bench, &validation);
        assert_eq!(found(&validation), BTreeMap::new(), "{choice:?}");
        all_are_free(&validation);
    }
}

#[test]
fn what_a_disk_does_wrong_is_found_block_by_block() {
    for choice in BOTH {
        for fault in ["lost-write", "torn", "zero", "swap", "misdirect", "duplicate", "bitrot"] {
            let Some((_mountpoint, disk, spec)) = faulty(512, 8) else { return };
            let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
            let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![fill()])) };
            prove(&bench, &validation);
            prove(&bench, &validation);
            disk.control(&format!("seed 5\n{fault} rate 0.1")).unwrap();
            // The third version of each block; reads go wrong in the sweep itself.
            prove(&bench, &validation);
            if fault != "bitrot" {
                disk.control("quiet").unwrap();
            }
            let sums = sweep(&bench, &validation);
            assert_eq!(sums.errors, 0);
            let wrong: BTreeMap<u64, u64> =
                disk.visible().unwrap().into_iter().map(|(offset, fault)| (offset / BLOCK, fault)).collect();
            let reported = validation.reports.take();
            let mut blocks: Vec<u64> = reported.iter().map(|damage| damage.address / BLOCK).collect();
            blocks.sort_unstable();
            assert!(!blocks.is_empty(), "{fault}");
            assert_eq!(blocks, wrong.keys().copied().collect::<Vec<_>>(), "{choice:?} {fault}");
            assert!(reported.iter().all(|damage| !damage.finding.is_transient), "{choice:?} {fault}");
            all_are_free(&validation);
        }
    }
}

#[test]
fn what_is_right_when_it_is_read_again_stays_known() {
    for choice in BOTH {
        for fault in ["stale-read", "misdirect-read"] {
            let Some((_mountpoint, disk, spec)) = faulty(128, 4) else { return };
            let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
            let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![fill()])) };
            prove(&bench, &validation);
            let mut reads = fill();
            reads.mix = OpMix::read_write(1.0);
            let reading = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![reads])) };
            // What was there before is kept from here on.
            disk.control(&format!("{fault} count 1 range 40k-44k\n{fault} count 1 range 80k-84k")).unwrap();
            prove(&bench, &validation);
            prove(&reading, &validation);
            let reported = validation.reports.take();
            let mut found: Vec<(u64, bool)> =
                reported.iter().map(|damage| (damage.address / BLOCK, damage.finding.is_transient)).collect();
            found.sort_unstable();
            assert_eq!(found, [(10, true), (20, true)], "{choice:?} {fault}");
            let known = get(&counts(&validation, 0).checked_bytes);
            prove(&reading, &validation);
            assert_eq!(get(&counts(&validation, 0).checked_bytes) - known, 128 * BLOCK, "all of them are known still");
            assert_eq!(validation.reports.take().len(), 0);
            all_are_free(&validation);
        }
    }
}

#[test]
fn blocks_are_read_before_and_behind_their_writes() {
    for choice in BOTH {
        let Some((_mountpoint, disk, spec)) = faulty(256, 4) else { return };
        let settings =
            ValidationSettings { reads_before_write: true, reads_after_write: true, ..ValidationSettings::default() };
        let validation = proof(std::slice::from_ref(&spec), BLOCK, settings);
        let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![fill()])) };
        let counts = counts(&validation, 0);
        prove(&bench, &validation);
        assert_eq!(
            (get(&counts.extra_reads), get(&counts.checked_bytes)),
            (256, 256 * BLOCK),
            "nothing was known before"
        );
        disk.control("eio read skip 100 count 1").unwrap();
        let sums = go(&bench, &validation, false, None);
        assert_eq!((sums.errors, sums.ops()), (1, 255), "one could not be read");
        assert!((767..=768).contains(&get(&counts.extra_reads)), "before or behind: {}", get(&counts.extra_reads));
        // Found right behind the write, or before the next one.
        disk.control("lost-write range 40k-44k").unwrap();
        prove(&bench, &validation);
        std::fs::OpenOptions::new().write(true).open(&spec.path).unwrap().write_all_at(&[0; 4096], 80 << 10).unwrap();
        disk.control("reset").unwrap();
        prove(&bench, &validation);
        let reported = validation.reports.take();
        let found: Vec<(u64, &str)> =
            reported.iter().map(|damage| (damage.address / BLOCK, damage.found_by.name())).collect();
        assert_eq!(found, [(10, "after_write"), (20, "before_write")], "{choice:?}");
        sweep(&bench, &validation);
        assert_eq!(validation.reports.take().len(), 0, "their writes made them right");
        all_are_free(&validation);
    }
}

/// Operations that did not come back may have written what they were to write, then or later.
#[test]
fn operations_that_are_given_up_are_no_damage() {
    for choice in BOTH {
        let Some((_mountpoint, disk, spec)) = faulty(64, 8) else { return };
        let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
        let bench = Bench { choice, ..Bench::new(vec![spec.clone()], run(vec![fill()])) };
        prove(&bench, &validation);
        disk.control("stall 3s").unwrap();
        let input = RunInput {
            plan: &bench.plan,
            run: &bench.plan.runs[0],
            rate: bench.pace,
            targets: &bench.targets,
            trees: &[],
            seed: 8,
            varying_seed: 8,
            data_seed: 8,
            validation: Some(&validation),
            sweeps: false,
        };
        let running = start(input, &EngineOptions { choice, workers: Some(1), ..EngineOptions::default() }).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let unfinished = running.finish(Duration::from_millis(100)).unwrap().unfinished();
        all_are_free(&validation);
        let states = validation.target(0).unwrap().states();
        let unsure = (0..64).filter(|block| matches!(states.get(*block), BlockState::AtLeast(_))).count() as u64;
        assert_eq!(unsure, unfinished, "{choice:?}");
        // The disk goes on before it answers this.
        assert_eq!(sweep(&bench, &validation).errors, 0);
        prove(&bench, &validation);
        sweep(&bench, &validation);
        assert_eq!(found(&validation), BTreeMap::new(), "{choice:?}");
    }
}

#[test]
fn jobs_are_proved_as_workloads_are() {
    let folder = scratch();
    for choice in BOTH {
        let specs = ["a", "b"].map(|name| {
            let name = format!("{choice:?}-{name}");
            target(&name, &folder.path().join(&name), 64 * BLOCK, 8)
        });
        let validation = proof(&specs, BLOCK, ValidationSettings::default());
        let job = |targets: &[usize], job: plan::Job| Workload {
            job: Some(job),
            targets: targets.to_vec(),
            mix: OpMix::read_write(0.4),
            ..workload("job", targets, 0.4)
        };
        let all = job(&[0, 1], plan::Job { operations: Some(1500), keeps_apart: true, ..plan::Job::new(16) });
        let bytes = job(&[1], plan::Job { bytes: Some(1 << 20), ..plan::Job::new(16) });
        let mut pass = job(&[0], plan::Job::new(4));
        (pass.address, pass.mix) = (once(), OpMix::read_write(0.0));
        let bench = Bench { choice, workers: Some(2), ..Bench::new(specs.to_vec(), run(vec![all, bytes, pass])) };
        let sums = prove(&bench, &validation);
        let of = |at: usize| sums.of(|lane| lane.workload == at, |lane| lane.ops);
        assert_eq!((of(0), of(1), of(2)), (1500, 256, 64), "{choice:?}");
        sweep(&bench, &validation);
        assert_eq!(found(&validation), BTreeMap::new());
        all_are_free(&validation);
    }
}

#[test]
fn what_cannot_be_proved_is_refused() {
    let folder = scratch();
    let spec = target("sd1", &folder.path().join("a"), 64 * BLOCK, 8);
    let validation = proof(std::slice::from_ref(&spec), BLOCK, ValidationSettings::default());
    let refusal = |workload: Workload, validation: &Validation| {
        let bench = Bench::new(vec![spec.clone()], run(vec![workload]));
        let (plan, targets) = (&bench.plan, &bench.targets);
        let input = RunInput {
            plan,
            run: &plan.runs[0],
            rate: bench.pace,
            targets,
            trees: &[],
            seed: 7,
            varying_seed: 7,
            data_seed: 7,
            validation: Some(validation),
            sweeps: false,
        };
        start(input, &EngineOptions::default()).err().unwrap().to_string()
    };
    let write = || mixed(0.0, 1.0, 0.0, 0.0);
    let literal = plan::WriteContent { literal: vec![1; 512], ..plan::WriteContent::default() };
    let mapped = plan::Job { mapped: true, ..plan::Job::new(1) };
    for (workload, why) in [
        (Workload { content: literal, ..write() }, "leave the pattern out"),
        (Workload { job: Some(mapped), ..write() }, "memory mappings"),
        (Workload { transfer: TransferSize::Fixed(2048), ..write() }, "no multiples of the blocks of 4096 bytes"),
        (Workload { transfer: TransferSize::Fixed(2048), ..mixed(1.0, 0.0, 0.0, 0.0) }, "no multiples of the blocks"),
    ] {
        let said = refusal(workload, &validation);
        assert!(said.starts_with("w cannot be validated: ") && said.contains(why), "{said}");
    }
    let odd = proof(std::slice::from_ref(&spec), 1000, ValidationSettings::default());
    assert!(refusal(write(), &odd).contains("no multiples of 512"));
}

/// More at a time than the device has requests for, past its page cache, where io_uring discards, and through it, where threads do.
#[test]
fn discards_that_a_device_has_no_room_for_keep_their_ranges() {
    if !testkit::require_root_or_skip() {
        return;
    }
    for (direct, operations) in [(true, 15_000), (false, 2_000)] {
        let device = testkit::LoopDevice::new_in(8 << 20, testkit::ScratchPlace::Memory).unwrap();
        let mut spec = target("sd1", device.path(), 8 << 20, 512);
        spec.open.direct = direct;
        let mut run = run(vec![mixed(0.2, 0.4, 0.4, 0.0)]);
        run.stop.operations = Some(operations);
        let mut bench = Bench { workers: Some(1), ..Bench::new(vec![spec], run) };
        bench.choice = EngineChoice::Uring;
        if !direct {
            let refusal = bench.refusal();
            assert!(refusal.contains("discards of sd1, which is used through the page cache"), "{refusal}");
            bench.choice = EngineChoice::Auto;
        }
        let validation = proof(&bench.plan.targets, BLOCK, ValidationSettings::default());
        let sums = go(&bench, &validation, false, None);
        let found = (sums.errors, validation.reports.count());
        assert_eq!(found, (0, 0), "{direct}: {:?} {:?}", sums.failures, validation.reports);
        let trims = sums.of(|lane| lane.op == OperationKind::Trim, |lane| lane.ops);
        assert!(trims > operations / 4, "{direct}: {trims}");
        sweep(&bench, &validation);
        assert_eq!(validation.reports.count(), 0, "{direct}");
    }
}

/// Prints operations per second of CPU time, plain and proved.
#[test]
#[ignore = "times: a measurement"]
fn what_a_proof_costs() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let cost = engine::own_cost();
    println!("{cost}");
    for (what, choice, bytes, read) in [
        ("4 KiB reads", EngineChoice::Uring, 4 << 10, 1.0),
        ("4 KiB writes", EngineChoice::Uring, 4 << 10, 0.0),
        ("4 KiB half", EngineChoice::Uring, 4 << 10, 0.5),
        ("4 KiB half, crew", EngineChoice::Sync, 4 << 10, 0.5),
        ("64 KiB half", EngineChoice::Uring, 64 << 10, 0.5),
    ] {
        let spec = target("sd1", &folder.path().join("a"), 64 << 20, 32);
        let mut load = mixed(read, 1.0 - read, 0.0, 0.0);
        load.transfer = TransferSize::Fixed(bytes);
        let mut run = run(vec![load]);
        run.stop.operations = Some(if bytes > 8192 { 100_000 } else { 600_000 });
        let bench = Bench { choice, workers: Some(1), ..Bench::new(vec![spec], run) };
        let per_core = |validation: Option<&Validation>| {
            let input = RunInput { validation, ..bench.input() };
            let options = EngineOptions { choice, workers: Some(1), errors_max: None, damage_max: None };
            let running = start(input, &options).unwrap();
            while !running.finished() {
                std::thread::sleep(Duration::from_millis(2));
            }
            let harvest = running.finish(Duration::from_secs(60)).unwrap().harvest;
            let cpu_ns: u64 = harvest.workers.iter().map(|worker| worker.cpu_user_ns + worker.cpu_sys_ns).sum();
            let ops: u64 = harvest.lanes.iter().map(|lane| lane.ops).sum();
            ops as f64 / cpu_ns as f64 * 1e9
        };
        let best = |validation: Option<&Validation>| (0..3).map(|_| per_core(validation)).fold(0.0, f64::max);
        let (plain, proved) = (best(None), {
            let fresh = proof(&bench.plan.targets, BLOCK, ValidationSettings::default());
            let mut pass = fill();
            pass.transfer = TransferSize::Fixed(64 << 10);
            prove(&Bench::new(bench.plan.targets.clone(), crate::support::run(vec![pass])), &fresh);
            let proved = best(Some(&fresh));
            assert_eq!(fresh.reports.count(), 0);
            proved
        });
        println!("{what}: plain {plain:.0}/s per core, proved {proved:.0}/s, {:.0} %", proved / plain * 100.0);
    }
}
