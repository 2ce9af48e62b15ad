//! What cannot run, found before anything is opened.

use crate::EngineError;
use crate::group::pattern_of;
use crate::validating;
use plan::generate::{
    ArrivalSchedule, ContentGenerator, GenerateError, GeneratorPart, JoinedStream, Operations, TargetGeometry,
    WriteVolume,
};
use plan::{AddressPattern, Arrivals, OfferedRate, OpenFlags, Plan, Run, TargetOrder, TargetSpec, Workload};

/// At most so many failures are reported.
const FINDINGS_MAX: usize = 20;

/// Makes the addresses, due times and data of every run as the run itself would, on targets of these sizes (by their index
/// in the plan; what has none is left out), and gives the reasons of those that cannot be made, each once.
#[must_use]
pub fn check(plan: &Plan, sizes_bytes: &[Option<u64>]) -> Vec<EngineError> {
    let mut found: Vec<EngineError> = Vec::new();
    let mut add = |error: EngineError| {
        if found.len() < FINDINGS_MAX && !found.iter().any(|other| other.to_string() == error.to_string()) {
            found.push(error);
        }
    };
    let mut contents: Vec<&plan::WriteContent> = Vec::new();
    let shapes: Vec<Option<Shape>> = (plan.targets.iter().zip(sizes_bytes))
        .map(|(spec, size_bytes)| {
            Some(Shape { size_bytes: (*size_bytes)?, blocks: [false, true].map(|direct| block(spec, direct)) })
        })
        .collect();
    for run in &plan.runs {
        for workload in run.workloads.iter().filter(|workload| workload.load.is_blocks()) {
            validating::refuse_unopened(plan, workload).err().into_iter().for_each(&mut add);
            if workload.replay.is_some() {
                continue;
            }
            addresses(plan, workload, &shapes, &mut |error| add(error.into()));
            times(run, workload).err().into_iter().for_each(|error| add(error.into()));
            if workload.mix.changes_data() && !contents.contains(&&workload.content) {
                contents.push(&workload.content);
                data(&workload.content).err().into_iter().for_each(&mut add);
            }
        }
    }
    found
}

/// A target that is not open.
struct Shape {
    size_bytes: u64,
    /// Least block, buffered and direct.
    blocks: [u32; 2],
}

fn block(spec: &TargetSpec, direct: bool) -> u32 {
    target::block_bytes_at_least(spec, OpenFlags { direct, ..OpenFlags::default() })
}

fn addresses(plan: &Plan, workload: &Workload, shapes: &[Option<Shape>], add: &mut impl FnMut(GenerateError)) {
    let known = workload.targets.iter().filter_map(|at| {
        let (spec, shape) = (plan.targets.get(*at)?, shapes.get(*at)?.as_ref()?);
        let is_direct = workload.open.unwrap_or(spec.open).direct;
        Some((spec, TargetGeometry { size_bytes: shape.size_bytes, block_bytes: shape.blocks[usize::from(is_direct)] }))
    });
    let members: Vec<(&TargetSpec, TargetGeometry)> = known.collect();
    let seed = plan.settings.seed;
    let is_joined = workload.job.as_ref().is_some_and(|job| job.turn == TargetOrder::Joined);
    let plain = is_joined.then(|| Workload { address: AddressPattern::default(), ..workload.clone() });
    for (spec, geometry) in &members {
        let made = Operations::new(plain.as_ref().unwrap_or(workload), spec, *geometry, seed, GeneratorPart::WHOLE);
        made.err().into_iter().for_each(&mut *add);
    }
    if is_joined && members.len() == workload.targets.len() {
        JoinedStream::new(workload, &members, seed).err().into_iter().for_each(add);
    }
}

/// Rates that follow from what other runs achieve are not known yet.
fn times(run: &Run, workload: &Workload) -> Result<(), GenerateError> {
    let job = workload.job.as_ref().filter(|_| workload.rate.is_some());
    let own = job.map(|job| Arrivals { gaps: job.gaps, burst: None });
    let rate = match (workload.rate, run.rate) {
        (Some(rate), _) => rate,
        (None, OfferedRate::PerSecond(rate)) => run.shared_rate(rate) * workload.share,
        (None, _) => return Ok(()),
    };
    let parts = if workload.job.is_some() { 1 } else { workload.targets.len() };
    let rate = rate / parts.max(1) as f64;
    if rate == 0.0 {
        return Ok(());
    }
    ArrivalSchedule::new(rate, own.as_ref().unwrap_or(&run.arrivals), 0, GeneratorPart::WHOLE).map(drop)
}

fn data(content: &plan::WriteContent) -> Result<(), EngineError> {
    let pattern = pattern_of(content)?.unwrap_or_default();
    // Which size does not matter, only that there is one.
    ContentGenerator::new(content, &pattern, &WriteVolume::alone(0, 1 << 40))?;
    Ok(())
}
