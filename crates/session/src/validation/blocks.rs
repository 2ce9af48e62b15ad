//! How large the blocks of a target are: all that is written and read there begins and ends between two of them.

use plan::{AddressOrder, OpMix, Plan, RangeBound, TargetOrder, TargetSpec, TransferSize, Workload};
use std::ops::Range;

/// No block is larger: what is said of a damaged one is said of so many bytes at most.
const BLOCK_MAX: u64 = 1 << 20;

/// Bytes that the state of a block takes.
pub(super) const STATE_BYTES: u64 = 2;

/// The largest number of which both are multiples.
pub(super) fn common(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Bytes of a sector, of which blocks are made.
pub(super) const SECTOR: u64 = stamp::SECTOR_BYTES as u64;

/// The largest number of bytes, at most 1 MiB, of which all addresses and lengths on a target are multiples: those of the plan's
/// workloads there, and of the run that fills `fill` of it. `size_bytes`: of the target, as far as it is known; `traced_bytes`: of what
/// all that traces do there is a multiple, 0 where there is nothing of them, or it is not known yet. `None`: they are no multiples of
/// sectors, and cannot be validated.
pub(super) fn block_bytes(
    plan: &Plan,
    target: usize,
    (size_bytes, traced_bytes): (Option<u64>, u64),
    fill: Option<&Range<u64>>,
) -> Option<u64> {
    let spec = plan.targets.get(target)?;
    // A replay does what its trace says.
    let uses = || {
        let workloads = plan.runs.iter().flat_map(|run| &run.workloads);
        workloads.filter(|workload| workload.targets.contains(&target) && workload.replay.is_none())
    };
    let of_plan = uses().flat_map(|workload| measures(workload, spec, size_bytes));
    let mut block = of_plan.chain([traced_bytes]).fold(BLOCK_MAX, common);
    if let Some(fill) = fill {
        let transfer = crate::format::transfer_bytes(plan.settings.format_transfer_bytes, fill);
        block = [fill.start, fill.end, transfer].into_iter().fold(block, common);
    }
    // Where it is not certain that an operation begins and ends between blocks of this size, it may be of a smaller one.
    let splits = |block: u64| uses().any(|workload| splits_blocks(workload, spec, block));
    while block.is_multiple_of(SECTOR) && splits(block) {
        let sectors = block / SECTOR;
        block = match sectors {
            1 => return None,
            sectors if sectors.is_multiple_of(2) => block / 2,
            _ => SECTOR,
        };
    }
    block.is_multiple_of(SECTOR).then_some(block)
}

/// May its operations begin or end inside of a block, reads too?
fn splits_blocks(workload: &Workload, spec: &TargetSpec, block: u64) -> bool {
    let changing = Workload { mix: OpMix { write: 1.0, ..workload.mix }, ..workload.clone() };
    changing.splits_blocks(spec, block)
}

/// Lengths and addresses of which those of a workload's operations are sums of multiples.
fn measures(workload: &Workload, spec: &TargetSpec, size_bytes: Option<u64>) -> Vec<u64> {
    let mut all = vec![spec.offset_bytes, spec.grain_bytes.unwrap_or(0), spec.align_bytes.unwrap_or(0)];
    let address = &workload.address;
    all.extend([address.base_bytes, address.align_bytes.unwrap_or(0)]);
    // A block is equal to others as a whole or not at all.
    all.extend(workload.content.dedup.filter(|dedup| dedup.ratio > 1.0).map(|dedup| dedup.unit_bytes));
    let used = [workload.mix.read > 0.0, workload.mix.write > 0.0, workload.mix.trim > 0.0];
    for (size, _) in workload.transfers().into_iter().zip(used).filter(|(_, is_used)| *is_used) {
        match size {
            TransferSize::Fixed(bytes) => all.push(*bytes),
            TransferSize::Mix(mix) => all.extend(mix.iter().map(|(bytes, _)| *bytes)),
            TransferSize::Uniform { min, align, .. } => all.extend([*min, *align]),
        }
    }
    let by_op = address.align_by_op.into_iter().flatten().zip(used).filter(|(_, is_used)| *is_used);
    all.extend(by_op.map(|(bytes, _)| bytes));
    all.extend(address.stride.into_iter().flat_map(|(low, high)| [low, high]));
    let ranges = [address.hot_band, address.range, spec.range].into_iter().flatten();
    let is_once = matches!(address.order, AddressOrder::Sequential { once: true, .. });
    for range in ranges.filter(|_| spec.grain_bytes.is_none()) {
        let ends = [Some(range.low), Some(range.high).filter(|_| is_once)].into_iter().flatten();
        all.extend(ends.filter_map(|end| match end {
            RangeBound::Bytes(bytes) => Some(bytes),
            RangeBound::Fraction(_) => None,
        }));
    }
    let is_joined = workload.job.as_ref().is_some_and(|job| job.turn == TargetOrder::Joined);
    // A single pass may end with a shorter transfer, and parts of a target that goes on in the next one are no longer than it.
    all.extend(size_bytes.filter(|_| is_joined || (is_once && spec.grain_bytes.is_none())));
    if let Some(files) = &address.files {
        let is_rounded = files.offset_fraction > 0.0 || files.fraction < 1.0;
        all.extend([
            files.offset_bytes,
            files.gap_bytes.unsigned_abs(),
            if is_rounded { files.smallest_bytes } else { 0 },
        ]);
        all.extend(files.align_bytes.into_iter().zip(used).filter(|(_, is_used)| *is_used).map(|(bytes, _)| bytes));
        all.extend(files.strided.iter().flat_map(|zones| [zones.range_bytes, zones.skip_bytes]));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Run, TextSpan};

    fn plan_of(transfers: &[TransferSize]) -> Plan {
        let mut plan = Plan::default();
        plan.targets.push(TargetSpec::whole("sd1".to_string(), "/dev/none".into()));
        let of = |transfer: &TransferSize| Workload {
            transfer: transfer.clone(),
            mix: OpMix::read_write(0.5),
            ..Workload::of_blocks("wd1".to_string(), vec![0], TextSpan::default())
        };
        plan.runs.push(Run::new("rd1", transfers.iter().map(of).collect(), 1));
        plan
    }

    #[test]
    fn a_block_divides_everything_that_is_done() {
        let fixed = |bytes| TransferSize::Fixed(bytes);
        let block = |plan: &Plan, fill: Option<Range<u64>>| block_bytes(plan, 0, (Some(10 << 20), 0), fill.as_ref());
        assert_eq!(block(&plan_of(&[fixed(4096)]), None), Some(4096));
        assert_eq!(block(&plan_of(&[fixed(8192), fixed(12288)]), None), Some(4096));
        assert_eq!(block(&plan_of(&[TransferSize::Mix(vec![(512, 0.5), (65536, 0.5)])]), None), Some(512));
        assert_eq!(block(&plan_of(&[TransferSize::Uniform { min: 8192, max: 65536, align: 2048 }]), None), Some(2048));
        assert_eq!(block(&plan_of(&[fixed(16 << 20)]), None), Some(1 << 20), "no block is larger than 1 MiB");
        assert_eq!(block(&plan_of(&[fixed(1000)]), None), None, "no multiple of 512");
        assert_eq!(block(&plan_of(&[fixed(1 << 20)]), Some(0..(10 << 20))), Some(128 << 10), "as the fill writes");
        assert_eq!(block(&plan_of(&[fixed(4096)]), Some(0..(10 << 20) + 512)), Some(512), "an odd end");
        let mut shifted = plan_of(&[fixed(65536)]);
        shifted.targets[0].offset_bytes = 8192;
        assert_eq!(block(&shifted, None), Some(8192));
        // What a replay does, its trace says, and no workload.
        let mut played = plan_of(&[fixed(65536)]);
        let replay = plan::Replay::new("trace".into());
        let workload = Workload { targets: vec![0], ..Workload::replaying(replay, TextSpan::default()) };
        played.runs.push(Run::of_replay("replay", workload));
        let block = |traced| block_bytes(&played, 0, (Some(10 << 20), traced), None);
        assert_eq!([0, 12288, 512, 700].map(block), [Some(65536), Some(4096), Some(512), None]);
    }
}
