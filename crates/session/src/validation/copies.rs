//! Which blocks of validated data are equal to others.

use crate::format::content_for;
use plan::generate::{PlacedCopies, WriteVolume};
use plan::{DedupContent, Plan};
use quantity::text::format_bytes;
use target::OpenTarget;
use validation::{TargetCopies, device_id};

/// The duplicates that a plan asks for on a target; `None`: none. `device`: the target's number in stamps.
///
/// # Errors
/// A sentence: they cannot be made.
pub(super) fn of_target(
    plan: &Plan,
    index: usize,
    targets: &[Option<OpenTarget>],
    device: u64,
) -> Result<Option<TargetCopies>, String> {
    let Some(dedup) = content_for(plan, index).dedup.filter(|dedup| dedup.ratio > 1.0) else { return Ok(None) };
    let size = |at: usize| targets.get(at).and_then(Option::as_ref).map_or(0, |target| target.size_bytes);
    let is_alike = |at: &usize| dedup.across && content_for(plan, *at).dedup == Some(dedup);
    let all_bytes = (0..targets.len()).filter(|at| *at == index || is_alike(at)).map(size).sum();
    // What a block is must not depend on the seed of an execution.
    let volume = WriteVolume { all_bytes, ..WriteVolume::alone(device, size(index)) };
    let placed = PlacedCopies::new(&dedup, &volume).map_err(|error| format!("{}: {error}", plan.place_name(index)))?;
    Ok(Some(TargetCopies { placed, domain: domain(&dedup, device) }))
}

/// What a dry run says of the duplicates on a target; the end of a sentence, empty where there are none.
pub(super) fn described(plan: &Plan, index: usize) -> String {
    match content_for(plan, index).dedup.filter(|dedup| dedup.ratio > 1.0) {
        None => String::new(),
        Some(dedup) => {
            let others = if dedup.across { " (of all targets with the same duplicates)" } else { "" };
            let (ratio, unit) = (dedup.ratio, format_bytes(dedup.unit_bytes));
            format!("; duplicates 1:{ratio} of {unit}{others}, checked byte for byte")
        }
    }
}

/// Whose the copies are: the target's, or those of all targets with the same settings.
fn domain(dedup: &DedupContent, device: u64) -> u64 {
    match dedup.across {
        true => device_id(&format!("equal blocks {dedup:?}")),
        false => device_id(&format!("equal blocks of {device:016x}")),
    }
}
