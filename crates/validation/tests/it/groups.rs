//! Many damages at once.

use crate::disk::{DEVICE, OLD_RUN, RUN, Shape, validation};
use stamp::DamageClass as Class;
use std::sync::Arc;
use validation::{DamageCause, DamageRange, FoundBy, RANGES_MAX, Reports, TargetValidation};

const BLOCK: u64 = 4096;
const SHAPE: Shape = Shape { block_bytes: 4096, blocks: 4096, ratio: 1.0, copies: false };

/// A target of which each block was written `times` times, with what the last writes carried.
fn written(reports: &Arc<Reports>, run: u64, times: usize) -> (TargetValidation, Vec<Vec<Vec<u8>>>) {
    let target = validation(SHAPE, run, DEVICE, reports);
    let mut all = Vec::new();
    for block in 0..SHAPE.blocks as u64 {
        let write = |_| {
            assert!(target.take(block * BLOCK, BLOCK));
            let mut bytes = vec![0; BLOCK as usize];
            let hold = target.stamp(block * BLOCK, &mut bytes, 0);
            target.written(block * BLOCK, BLOCK, hold, true);
            bytes
        };
        all.push((0..times).map(write).collect());
    }
    (target, all)
}

fn report(target: &TargetValidation, block: u64, bytes: &[u8]) {
    assert_eq!(target.report(block * BLOCK, bytes, None, FoundBy::Sweep), 1, "block {block}");
}

#[test]
fn neighbours_with_the_same_damage_are_one_range() {
    let reports = Arc::new(Reports::default());
    let (target, writes) = written(&reports, RUN, 2);
    let (_, old) = written(&reports, OLD_RUN, 1);
    for block in (100..1100).rev() {
        report(&target, block, &writes[block as usize][0]);
    }
    for block in (0..40).step_by(2) {
        report(&target, block, &old[block as usize][0]);
    }
    let judgement = reports.judge(|_, address| target.right_version(address));
    let [lost, older] = judgement.groups.as_slice() else { panic!("{:?}", judgement.groups) };
    assert_eq!((lost.class, lost.blocks, lost.range_count), (Class::LostWrite, 1000, 1));
    assert_eq!(lost.ranges, [DamageRange { file: None, address: 100 * BLOCK, bytes: 1000 * BLOCK }]);
    assert_eq!((older.class, older.cause, older.range_count), (Class::OlderRun, Some(DamageCause::Run(OLD_RUN)), 20));
    assert_eq!(older.ranges.len(), RANGES_MAX);
    assert_eq!(reports.take().len(), 1020);
}

#[test]
fn both_ends_of_a_write_are_linked() {
    let reports = Arc::new(Reports::default());
    let (target, writes) = written(&reports, RUN, 2);
    // The last write of block 7 is at 3000 and not here; that of block 9 is also at 3001; of block 11 an earlier one is at 3002.
    report(&target, 3000, &writes[7][1]);
    report(&target, 3001, &writes[9][1]);
    report(&target, 3002, &writes[11][0]);
    report(&target, 7, &writes[7][0]);
    // Lost, and nowhere.
    report(&target, 8, &writes[8][0]);
    let judgement = reports.judge(|_, address| target.right_version(address));
    let of = |block: u64| {
        let damage = judgement.damages.iter().find(|damage| damage.address == block * BLOCK).unwrap();
        (damage.class, damage.other.map(|other| other / BLOCK))
    };
    assert_eq!(of(7), (Class::WriteWentAstray, Some(3000)));
    assert_eq!(of(8), (Class::LostWrite, None));
    assert_eq!(of(3000), (Class::MisdirectedWrite, Some(7)));
    assert_eq!(of(3001), (Class::DuplicatedWrite, Some(9)));
    assert_eq!(of(3002), (Class::MisdirectedWrite, None));
    // Where nothing is known of its place, it is not said to be there too.
    let judgement = reports.judge(|_, _| None);
    assert!(judgement.damages.iter().all(|damage| damage.class != Class::DuplicatedWrite));
}

#[test]
fn memory_of_reports_has_a_bound() {
    let reports = Arc::new(Reports::default());
    let shape = Shape { block_bytes: 1 << 20, blocks: 4096, ratio: 1.0, copies: false };
    let target = validation(shape, RUN, DEVICE, &reports);
    let mut block = vec![0; 1 << 20];
    for at in 0..80_u64 {
        assert!(target.take(at << 20, 1 << 20));
        let hold = target.stamp(at << 20, &mut block, 0);
        target.written(at << 20, 1 << 20, hold, true);
        assert_eq!(target.report(at << 20, &vec![0; 1 << 20], None, FoundBy::Sweep), 1);
    }
    assert_eq!(reports.take().len(), 64, "64 MiB of what was read, until it is taken");
    let judgement = reports.judge(|_, _| None);
    let [zeroes] = judgement.groups.as_slice() else { panic!("{:?}", judgement.groups) };
    assert_eq!((zeroes.class, zeroes.blocks, zeroes.bytes, zeroes.range_count), (Class::Zeroes, 80, 80 << 20, 1));
}

#[test]
fn a_block_that_goes_wrong_twice_is_one() {
    let reports = Arc::new(Reports::default());
    let (target, writes) = written(&reports, RUN, 2);
    // As if it had been written again in between.
    let (again, same) = written(&reports, RUN, 2);
    report(&target, 7, &writes[7][0]);
    report(&again, 7, &same[7][0]);
    report(&target, 9, &writes[9][0]);
    let judgement = reports.judge(|_, address| target.right_version(address));
    let [lost] = judgement.groups.as_slice() else { panic!("{:?}", judgement.groups) };
    assert_eq!((lost.class, lost.blocks, lost.range_count), (Class::LostWrite, 2, 2));
    assert_eq!((judgement.damages.len(), reports.count()), (2, 3));
}
