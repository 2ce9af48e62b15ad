//! Slots of a run: how many operations may be in flight where, and who shares them.

use crate::{ResolvedRate, RunInput};
use plan::generate::{GeneratorPart, Operations};
use plan::{Job, Workload};
use std::collections::BTreeMap;

/// Arrivals per second that one worker serves easily; fewer workers wake up less often.
pub(crate) const RATE_PER_WORKER: f64 = 100_000.0;

/// Targets that the run uses, ascending.
pub(crate) fn used_targets(input: &RunInput<'_>) -> Vec<usize> {
    let mut used: Vec<usize> =
        input.run.workloads.iter().flat_map(|workload| workload.targets.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// Are the run's workloads jobs, with slots of their own?
pub(crate) fn has_jobs(input: &RunInput<'_>) -> bool {
    input.run.workloads.iter().any(|workload| workload.job.is_some())
}

/// The job of a workload in a run of jobs.
pub(crate) fn job_of(workload: &Workload) -> Job {
    workload.job.clone().unwrap_or_else(|| Job::new(workload.depth.unwrap_or(1)))
}

/// Arrivals per second of a workload on each of its targets, 0 when the others' own rates leave it nothing; `None` in a
/// closed loop.
pub(crate) fn rate_on_each(input: &RunInput<'_>, workload: &Workload) -> Option<f64> {
    let rate = match (workload.rate, input.rate) {
        (Some(rate), _) => rate,
        (None, ResolvedRate::PerSecond(rate)) => input.run.shared_rate(rate) * workload.share,
        (None, ResolvedRate::Max) => return None,
    };
    Some(rate / workload.targets.len() as f64)
}

/// Slots of the run on one target: of one workload, or those that several workloads share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pool {
    /// Index in the plan.
    pub(crate) target: usize,
    /// Most operations in flight.
    pub(crate) depth: u32,
    /// Indices into the run's workloads.
    pub(crate) workloads: Vec<usize>,
    /// Greatest number of workers that may divide it.
    pub(crate) parts_max: u32,
}

/// The pools of a run without jobs, by target.
pub(crate) fn pools(input: &RunInput<'_>) -> Vec<Pool> {
    let mut out = Vec::new();
    for target in used_targets(input) {
        let here = |at: &usize| input.run.workloads[*at].targets.contains(&target);
        let (own, shared): (Vec<usize>, Vec<usize>) =
            (0..input.run.workloads.len()).filter(here).partition(|at| input.run.workloads[*at].depth.is_some());
        let depth = input.run.depth_of(&input.plan.targets[target]);
        let all = (!shared.is_empty()).then_some((depth, shared)).into_iter();
        let each = own.into_iter().map(|at| (input.run.workloads[at].depth.unwrap_or(depth).max(1), vec![at]));
        for (depth, workloads) in all.chain(each) {
            let parts_max = parts_max(input, depth, &workloads);
            out.push(Pool { target, depth, workloads, parts_max });
        }
    }
    out
}

/// Most operations of the run in flight.
pub(crate) fn depth(input: &RunInput<'_>) -> u32 {
    if has_jobs(input) {
        let blocks = input.run.workloads.iter().filter(|one| one.load.is_blocks());
        return blocks.map(|one| job_of(one).depth).fold(0, u32::saturating_add);
    }
    pools(input).iter().map(|pool| pool.depth).fold(0, u32::saturating_add)
}

/// How many workers may divide slots among them: each gets some, and no more are needed for what is due. An open loop
/// that one worker can serve has one queue, as it would have with any number of workers.
fn parts_max(input: &RunInput<'_>, depth: u32, workloads: &[usize]) -> u32 {
    let workloads = || workloads.iter().map(|at| &input.run.workloads[*at]);
    if !workloads().all(is_divisible) {
        return 1;
    }
    let rate: Option<f64> = workloads().map(|workload| rate_on_each(input, workload)).sum();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number; saturates")]
    rate.map_or(depth, |rate| depth.min((rate / RATE_PER_WORKER).ceil() as u32)).max(1)
}

/// May this workload be divided over several workers?
fn is_divisible(workload: &Workload) -> bool {
    Operations::parts_max(workload) == u32::MAX
}

/// Lanes of one workload that have the same rate: together they keep the workload's rate exactly, and none of them is in
/// step with another.
pub(crate) struct Families {
    /// By workload and parts of a pool: how many lanes there are, and how many were made.
    members: BTreeMap<(usize, u32), (u32, u32)>,
}

impl Families {
    /// Of all workloads, on pools that so many workers divide.
    pub(crate) fn new(pools: &[Pool], workers: u32) -> Self {
        let mut members: BTreeMap<(usize, u32), (u32, u32)> = BTreeMap::new();
        for pool in pools {
            let parts = pool.parts_max.min(workers);
            pool.workloads.iter().for_each(|at| members.entry((*at, parts)).or_default().0 += parts);
        }
        Self { members }
    }

    /// The place of the next lane in its family, of a workload and one of the parts of a pool.
    pub(crate) fn next(&mut self, workload: usize, parts: u32) -> GeneratorPart {
        let (count, made) = self.members.entry((workload, parts)).or_default();
        *made += 1;
        GeneratorPart { index: *made - 1, count: *count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_overhead;
    use plan::{Plan, Run};

    /// Three targets with eight slots each, and a run of these workloads on all of them.
    fn plan(workloads: Vec<Workload>, threads: Option<u32>) -> Plan {
        let targets = vec![plan::TargetSpec { depth: 8, ..engine_overhead::target() }; 3];
        let template = Run::of_replay("rd1", engine_overhead::workload());
        Plan { targets, runs: vec![Run { workloads, depth: threads, ..template }], ..Plan::default() }
    }

    fn workload(depth: Option<u32>) -> Workload {
        Workload { depth, targets: vec![0, 1, 2], ..engine_overhead::workload() }
    }

    /// Depth, workloads and greatest number of parts of each pool.
    fn found(plan: &Plan, rate: ResolvedRate) -> Vec<(u32, Vec<usize>, u32)> {
        let input = RunInput {
            plan,
            run: &plan.runs[0],
            rate,
            targets: &[],
            trees: &[],
            seed: 1,
            varying_seed: 1,
            data_seed: 1,
            validation: None,
            sweeps: false,
        };
        pools(&input).into_iter().map(|pool| (pool.depth, pool.workloads, pool.parts_max)).collect()
    }

    #[test]
    fn the_threads_of_a_run_are_shared_by_all_workloads_of_a_target() {
        for (threads, depth) in [(None, 8), (Some(1), 1), (Some(32), 32)] {
            let plan = plan(vec![workload(None), workload(None), workload(None)], threads);
            assert_eq!(found(&plan, ResolvedRate::Max), vec![(depth, vec![0, 1, 2], depth); 3]);
        }
    }

    #[test]
    fn the_threads_of_a_workload_are_its_own() {
        let plan = plan(vec![workload(Some(1)), workload(None), workload(Some(4))], None);
        let each = [(8, vec![1], 8), (1, vec![0], 1), (4, vec![2], 4)];
        assert_eq!(found(&plan, ResolvedRate::Max), [&each[..]; 3].concat());
        let input = RunInput {
            plan: &plan,
            run: &plan.runs[0],
            rate: ResolvedRate::Max,
            targets: &[],
            trees: &[],
            seed: 1,
            varying_seed: 1,
            data_seed: 1,
            validation: None,
            sweeps: false,
        };
        assert_eq!(depth(&input), 3 * 13);
    }

    #[test]
    fn an_open_loop_has_one_queue_per_target_until_a_worker_cannot_serve_it() {
        let plan = plan(vec![workload(None)], None);
        for (rate, parts_max) in [(1_000.0, 1), (300_000.0, 1), (300_001.0, 2), (1_500_000.0, 5), (9e6, 8)] {
            assert_eq!(found(&plan, ResolvedRate::PerSecond(rate)), vec![(8, vec![0], parts_max); 3], "{rate}/s");
        }
    }

    #[test]
    fn lanes_of_a_workload_have_places_of_their_own_in_its_rate() {
        let pool = |depth| Pool { target: 0, depth, workloads: vec![0], parts_max: depth };
        let (pools, mut places) = ([pool(1), pool(8), pool(4)], Vec::new());
        let mut families = Families::new(&pools, 4);
        for pool in &pools {
            let parts = pool.parts_max.min(4);
            places.extend((0..parts).map(|_| families.next(0, parts)));
        }
        let of = |index, count| GeneratorPart { index, count };
        let expected: Vec<GeneratorPart> = [of(0, 1)].into_iter().chain((0..8).map(|index| of(index, 8))).collect();
        assert_eq!(places, expected);
    }
}
