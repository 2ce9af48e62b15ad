//! The I/Os that a plan would do, without doing them: what the engine does with a run in an open loop, on targets that
//! are never late.

use super::WorkloadModel;
use super::fold::ObservedIo;
use super::processes::IoOwner;
use plan::Plan;
use plan::generate::{ArrivalSchedule, GenerateError, GeneratorPart, Operations, TargetGeometry};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Smallest unit of a target that does not exist.
const BLOCK_BYTES: u32 = 512;
/// Size of a target of which the plan does not tell it.
const TARGET_BYTES: u64 = 1 << 40;

/// One workload on one target.
struct Lane {
    target: usize,
    schedule: ArrivalSchedule,
    operations: Operations,
}

/// What the first run of `plan` does in `length_ns`, counted as `like` was: the same length, places of the same size.
///
/// # Errors
/// A workload that cannot be generated.
pub fn model_of_plan(plan: &Plan, like: &WorkloadModel) -> Result<WorkloadModel, GenerateError> {
    let mut model = WorkloadModel::new(0, Some(like.place_bytes()));
    let length_ns = like.length_ns();
    let mut lanes = lanes(plan)?;
    let mut due: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (at, lane) in lanes.iter_mut().enumerate() {
        due.push(Reverse((lane.schedule.next_ns(), at)));
    }
    while let Some(Reverse((due_ns, at))) = due.pop() {
        if due_ns >= length_ns {
            continue;
        }
        let lane = &mut lanes[at];
        let Some(operation) = lane.operations.next() else { continue };
        let t_ns = i64::try_from(due_ns).unwrap_or(i64::MAX);
        let (op, offset, bytes) = (operation.op, operation.offset, operation.bytes);
        model.add_at(lane.target, &ObservedIo { t_ns, complete_ns: None, op, offset, bytes, who: IoOwner::default() });
        due.push(Reverse((lane.schedule.next_ns(), at)));
    }
    model.finish(i64::try_from(length_ns).unwrap_or(i64::MAX));
    Ok(model)
}

fn lanes(plan: &Plan) -> Result<Vec<Lane>, GenerateError> {
    let mut lanes = Vec::new();
    let Some(run) = plan.runs.first() else { return Ok(lanes) };
    let plan::OfferedRate::PerSecond(rate) = run.rate else { return Ok(lanes) };
    let seed = plan.settings.seed;
    for (at, workload) in run.workloads.iter().enumerate() {
        for target in &workload.targets {
            let Some(spec) = plan.targets.get(*target) else { continue };
            let geometry =
                TargetGeometry { size_bytes: spec.size_bytes.unwrap_or(TARGET_BYTES), block_bytes: BLOCK_BYTES };
            let rate = rate * workload.share / workload.targets.len() as f64;
            if rate <= 0.0 {
                continue;
            }
            let mixed = seed
                ^ (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ (*target as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
            lanes.push(Lane {
                target: *target,
                schedule: ArrivalSchedule::new(rate, &run.arrivals, mixed, GeneratorPart::WHOLE)?,
                operations: Operations::new(workload, spec, geometry, seed, GeneratorPart::WHOLE)?,
            });
        }
    }
    Ok(lanes)
}
