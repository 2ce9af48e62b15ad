//! What cannot be validated.

use crate::{EngineError, RunInput};
use plan::Workload;
use std::path::Path;
use target::TargetKind;
use validation::TargetValidation;

/// Refuses a run of which something that is to be validated cannot be.
pub(crate) fn refuse(input: &RunInput<'_>) -> Result<(), EngineError> {
    let Some(validation) = input.validation else { return Ok(()) };
    for workload in input.run.workloads.iter().filter(|workload| workload.load.is_blocks()) {
        for target in &workload.targets {
            let Some(checked) = validation.target(*target) else { continue };
            let spec = &input.plan.targets[*target];
            let opened = input.targets.get(*target).and_then(Option::as_ref).ok_or(EngineError::NotOpen(*target))?;
            let why = match opened.kind {
                TargetKind::Nothing | TargetKind::Zeroes => Some(format!("{} keeps nothing", opened.name)),
                TargetKind::BlockDevice { .. } | TargetKind::File { .. } => {
                    let of_blocks =
                        || if input.sweeps { of_sweep(workload, checked) } else { of_blocks(workload, spec, checked) };
                    of_workload(workload).map(str::to_string).or_else(of_blocks)
                }
            };
            if let Some(why) = why {
                return Err(EngineError::NotValidated { what: workload.name.clone(), why });
            }
        }
    }
    Ok(())
}

/// The same of a workload of a plan whose data is to be validated, before its targets are open.
pub(crate) fn refuse_unopened(plan: &plan::Plan, workload: &Workload) -> Result<(), EngineError> {
    let keeps_nothing = |at: &usize| {
        let path = plan.targets.get(*at).map(|target| target.path.as_path());
        path.is_some_and(|path| path == Path::new("/dev/null") || path == Path::new("/dev/zero"))
    };
    if plan.settings.validation.is_none() || workload.targets.iter().all(keeps_nothing) {
        return Ok(());
    }
    let refused = |why: &str| EngineError::NotValidated { what: workload.name.clone(), why: why.to_string() };
    of_workload(workload).map_or(Ok(()), |why| Err(refused(why)))
}

/// Why a workload's data cannot be proved on any target.
fn of_workload(workload: &Workload) -> Option<&'static str> {
    let content = &workload.content;
    let writes = workload.mix.changes_data();
    if workload.job.as_ref().is_some_and(|job| job.mapped) {
        return Some("memory mappings are not (ioengine=mmap): leave it out");
    }
    if writes && (content.pattern.is_some() || !content.literal.is_empty()) {
        return Some("validated data has stamps, and a pattern of your own has none: leave the pattern out");
    }
    None
}

/// Why its transfers do not fit a target's blocks.
fn of_blocks(workload: &Workload, spec: &plan::TargetSpec, checked: &TargetValidation) -> Option<String> {
    let block_bytes = checked.rules().block_bytes;
    if block_bytes == 0 || !block_bytes.is_multiple_of(stamp::SECTOR_BYTES as u64) {
        return Some(format!("its transfers and addresses are no multiples of 512 bytes on {}", spec.name));
    }
    // Reads too must not begin or end inside of a block.
    let changing = Workload { mix: plan::OpMix { write: 1.0, ..workload.mix }, ..workload.clone() };
    changing.splits_blocks(spec, block_bytes).then(|| {
        format!("its transfers or addresses on {} are no multiples of the blocks of {block_bytes} bytes", spec.name)
    })
}

/// Why a block of a target does not fit into a read of the pass over everything that was written.
fn of_sweep(workload: &Workload, checked: &TargetValidation) -> Option<String> {
    let (block_bytes, transfer) = (checked.rules().block_bytes, workload.transfer_max_bytes());
    (block_bytes > transfer).then(|| format!("its reads of {transfer} bytes are less than a block of {block_bytes}"))
}

/// Refuses a replay of which something that is to be validated cannot be. Whether its I/Os begin and end between blocks, only its
/// trace says: who reads that has seen to it.
pub(crate) fn refuse_replay(input: &RunInput<'_>) -> Result<(), EngineError> {
    let Some(validation) = input.validation else { return Ok(()) };
    for workload in &input.run.workloads {
        let mut checked = workload.targets.iter().filter_map(|target| validation.target(*target));
        let is_odd = |checked: &TargetValidation| {
            let block_bytes = checked.rules().block_bytes;
            block_bytes == 0 || !block_bytes.is_multiple_of(stamp::SECTOR_BYTES as u64)
        };
        let why = match of_workload(workload).filter(|_| checked.clone().next().is_some()) {
            Some(why) => why,
            None if checked.any(|checked| is_odd(checked)) => {
                "its transfers and addresses are no multiples of 512 bytes"
            }
            None => continue,
        };
        return Err(EngineError::NotValidated { what: workload.name.clone(), why: why.to_string() });
    }
    Ok(())
}
