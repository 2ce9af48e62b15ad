//! Who does what: a run's workloads and targets divided into groups that share nothing.

use crate::blocks::{BlockLane, BlockPlace, Blocks, FileSlot};
use crate::cache::Cached;
use crate::discard::is_device;
use crate::due_times::DueTimes;
use crate::group_spec::{GroupSpec, JobSpec, LaneSpec};
use crate::job_status::JobStatuses;
use crate::opening::{descriptor, flags_of, holder};
use crate::pool::{Families, Pool, has_jobs, job_of, pools, rate_on_each};
use crate::work::Group;
use crate::{EngineError, ResolvedRate, RunInput};
use mapping::Mapping;
use plan::generate::{
    ArrivalSchedule, BLOCK_KINDS, ContentGenerator, GeneratorPart, JoinedStream, Operations, TargetGeometry,
    TargetTurns, WriteVolume, writer_of,
};
use plan::{AddressPattern, Arrivals, Job, OpenFlags, TargetOrder, TargetSpec, Workload};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use target::{OpenTarget, TargetKind};

impl Group<Blocks> {
    fn new(spec: GroupSpec) -> Self {
        Self { spec, lanes: Vec::new(), work: Blocks::default() }
    }

    /// The number of a target's file that is opened so, which is added when it is not there.
    fn file(&mut self, plan_index: usize, opened: &OpenTarget, flags: OpenFlags) -> Result<usize, EngineError> {
        self.spec.memory_align = self.spec.memory_align.max(opened.view(flags).memory_align);
        let files = &mut self.work.files;
        if let Some(at) = files.iter().position(|file| (file.plan_index, file.flags) == (plan_index, flags)) {
            return Ok(at);
        }
        files.push(FileSlot { plan_index, flags, fd: descriptor(opened, flags)?, holder: holder(opened)? });
        Ok(files.len() - 1)
    }

    /// Adds a lane with its place.
    fn add(&mut self, spec: LaneSpec, lane: BlockLane, place: BlockPlace) {
        self.spec.lanes.push(spec);
        self.lanes.push(lane);
        self.work.places.push(place);
    }
}

/// Divides the run over at most `workers` groups; with `splits`, pools may be divided.
pub(crate) fn divide(
    input: &RunInput<'_>,
    workers: usize,
    splits: bool,
    statuses: &Arc<JobStatuses>,
) -> Result<Vec<Group<Blocks>>, EngineError> {
    if has_jobs(input) {
        return divide_jobs(input, workers, statuses);
    }
    let mut pools = pools(input);
    if !splits {
        pools.iter_mut().for_each(|pool| pool.parts_max = 1);
    }
    let workloads = &input.run.workloads;
    let shares_fixed = input.rate == ResolvedRate::Max && workloads.iter().any(|workload| workload.share_fixed);
    let mut workers = u32::try_from(workers.max(1)).unwrap_or(u32::MAX);
    if shares_fixed {
        // Shares hold within a group: each runs the whole mix.
        let is_closed = |pool: &&Pool| pool.workloads.iter().any(|at| rate_on_each(input, &workloads[*at]).is_none());
        workers = pools.iter().filter(is_closed).map(|pool| pool.parts_max).min().unwrap_or(1).min(workers);
    }
    let mut families = Families::new(&pools, workers);
    let group = |_| Group::new(GroupSpec { shares_fixed, ..GroupSpec::empty() });
    let mut groups: Vec<Group<Blocks>> = (0..workers).map(group).collect();
    for pool in &pools {
        let parts = pool.parts_max.min(workers);
        // The groups with the least to do; a divided pool goes to all of them in turn.
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|at| (groups[*at].spec.depth(), *at));
        for index in 0..parts {
            let depth = pool.depth / parts + u32::from(index < pool.depth % parts);
            let group = &mut groups[order[index as usize]];
            add_pool(
                input,
                group,
                &Pool { depth, ..pool.clone() },
                GeneratorPart { index, count: parts },
                &mut families,
            )?;
        }
    }
    groups.retain(|group| !group.spec.lanes.is_empty());
    Ok(groups)
}

/// Divides jobs over groups: each job stays whole, those of one flow stay together, and each group has one placement.
fn divide_jobs(
    input: &RunInput<'_>,
    workers: usize,
    statuses: &Arc<JobStatuses>,
) -> Result<Vec<Group<Blocks>>, EngineError> {
    let workloads = &input.run.workloads;
    let mut groups: Vec<Group<Blocks>> = Vec::new();
    for (at, workload) in workloads.iter().enumerate().filter(|(_, workload)| workload.load.is_blocks()) {
        let job = job_of(workload);
        let flow = |group: &Group<Blocks>| {
            let mut jobs = group.spec.jobs.iter();
            jobs.any(|other| job.flow.is_some_and(|own| other.job.flow.is_some_and(|one| one.id == own.id)))
        };
        let alike = |group: &Group<Blocks>| group.spec.placement == job.placement;
        let chosen = match groups.iter().position(flow) {
            Some(number) => number,
            None if groups.iter().filter(|group| alike(group)).count() < workers.max(1) => {
                groups.push(Group::new(GroupSpec { placement: job.placement.clone(), ..GroupSpec::empty() }));
                groups.len() - 1
            }
            None => {
                let least = (0..groups.len()).filter(|number| alike(&groups[*number]));
                least.min_by_key(|number| groups[*number].spec.depth()).unwrap_or(0)
            }
        };
        add_job(input, &mut groups[chosen], at, job, statuses)?;
    }
    Ok(groups)
}

/// Adds a job with a lane per target.
fn add_job(
    input: &RunInput<'_>,
    group: &mut Group<Blocks>,
    at: usize,
    job: Job,
    statuses: &Arc<JobStatuses>,
) -> Result<(), EngineError> {
    let workload = &input.run.workloads[at];
    let first = group.spec.lanes.len();
    for (member, target) in workload.targets.iter().enumerate() {
        let opened = input.targets.get(*target).and_then(Option::as_ref).ok_or(EngineError::NotOpen(*target))?;
        let flags = flags_of(input, at, *target);
        let file = group.file(*target, opened, flags)?;
        let (spec, lane, place) = lane(input, opened, (*target, member), at, GeneratorPart::WHOLE)?;
        let fd = &group.work.files[file].fd;
        let cached = match (&workload.address.files, fd) {
            (Some(files), Some(fd)) => {
                let size_bytes = geometry_of(workload, member, opened, flags).size_bytes;
                Cached::of(files, member, size_bytes, opened, fd)
            }
            _ => None,
        };
        let mapping = match fd {
            Some(fd) if job.mapped => Some(Arc::new(mapping(workload, member, opened, (flags, fd))?)),
            _ => None,
        };
        let (file, io_priority) = (u32::try_from(file).unwrap_or(0), job.placement.io_priority);
        group.add(spec, BlockLane { cached, ..lane }, BlockPlace { file, io_priority, mapping, ..place });
    }
    let transfer = workload.transfer_max_bytes();
    group.spec.transfer_max = group.spec.transfer_max.max(u32::try_from(transfer).unwrap_or(u32::MAX));
    let seed = seed_of(input, workload) ^ (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let own = Arrivals { gaps: job.gaps, burst: None };
    let schedule = match (workload.rate, input.rate) {
        (Some(rate), _) => Some(DueTimes::of_job(workload, rate, &own, seed)?),
        (None, ResolvedRate::PerSecond(rate)) => {
            let share = input.run.shared_rate(rate) * workload.share;
            Some(DueTimes::mixed(schedule_of(share, &input.run.arrivals, seed, GeneratorPart::WHOLE)?))
        }
        (None, ResolvedRate::Max) => None,
    };
    let turns = if job.turn == TargetOrder::Joined {
        let members: Vec<(&TargetSpec, TargetGeometry)> = workload
            .targets
            .iter()
            .filter_map(|member| {
                let opened = input.targets.get(*member)?.as_ref()?;
                Some((&input.plan.targets[*member], geometry(opened, flags_of(input, at, *member))))
            })
            .collect();
        TargetTurns::joined(&job, JoinedStream::new(workload, &members, input.seed)?, seed)
    } else {
        let ranges = group.lanes[first..].iter().map(|lane| lane.operations.range_bytes()).collect();
        TargetTurns::of(workload, &job, ranges, seed)
    };
    let lanes = first..group.spec.lanes.len();
    let mut paced = [const { None }; BLOCK_KINDS];
    for (kind, rate) in job.rates.into_iter().flatten().enumerate() {
        if let Some(rate) = rate {
            paced[kind] = Some(ArrivalSchedule::new(rate, &own, seed.wrapping_add(kind as u64), GeneratorPart::WHOLE)?);
        }
    }
    let (targets, warm_ns, statuses) = (workload.targets.clone(), input.run.warmup_ns, Arc::clone(statuses));
    let span = Arc::default();
    group.spec.jobs.push(JobSpec {
        workload: at,
        lanes,
        job,
        schedule,
        turns,
        paced,
        span,
        targets,
        warm_ns,
        statuses,
    });
    Ok(())
}

/// The target as memory, as large as this workload sees it.
fn mapping(
    workload: &Workload,
    member: usize,
    opened: &OpenTarget,
    (flags, fd): (OpenFlags, &Arc<OwnedFd>),
) -> Result<Mapping, EngineError> {
    let bytes = geometry_of(workload, member, opened, flags).size_bytes;
    let hint = workload.address.files.as_ref().map_or(plan::ReadHint::Unset, |files| files.hint);
    let uses = (workload.mix.read > 0.0, workload.mix.write > 0.0);
    Ok(Mapping::new(fd, bytes, uses, (hint, flags.direct))?)
}

/// The seed of a workload's random choices.
fn seed_of(input: &RunInput<'_>, workload: &Workload) -> u64 {
    let varies = workload.address.files.as_ref().is_some_and(|files| files.varies);
    if varies { input.varying_seed } else { input.seed }
}

/// Due times of so many arrivals per second; a rate of 0 is no closed loop.
fn schedule_of(rate: f64, arrivals: &Arrivals, seed: u64, part: GeneratorPart) -> Result<ArrivalSchedule, EngineError> {
    if rate > 0.0 { Ok(ArrivalSchedule::new(rate, arrivals, seed, part)?) } else { Ok(ArrivalSchedule::never()) }
}

/// Adds a pool, or a part of one, with its lanes to a group.
fn add_pool(
    input: &RunInput<'_>,
    group: &mut Group<Blocks>,
    pool: &Pool,
    part: GeneratorPart,
    families: &mut Families,
) -> Result<(), EngineError> {
    let opened = input.targets.get(pool.target).and_then(Option::as_ref).ok_or(EngineError::NotOpen(pool.target))?;
    let number = group.spec.pools.len();
    group.spec.pools.push(pool.depth);
    for at in &pool.workloads {
        let workload = &input.run.workloads[*at];
        let file = group.file(pool.target, opened, flags_of(input, *at, pool.target))?;
        let (spec, lane, place) = lane(input, opened, (pool.target, 0), *at, part)?;
        let family = families.next(*at, part.count);
        let schedule = match rate_on_each(input, workload) {
            Some(rate) => {
                let seed = input.seed ^ (*at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let of_family = rate * f64::from(family.count) / f64::from(part.count);
                Some(schedule_of(of_family, &input.run.arrivals, seed, family)?)
            }
            None => None,
        };
        let transfer = workload.transfer_max_bytes();
        group.spec.transfer_max = group.spec.transfer_max.max(u32::try_from(transfer).unwrap_or(u32::MAX));
        let file = u32::try_from(file).unwrap_or(0);
        group.add(LaneSpec { pool: number, schedule, ..spec }, lane, BlockPlace { file, ..place });
    }
    Ok(())
}

/// Where the data of a target goes; those that have duplicates in common are all targets of the plan with the same
/// settings, whether this run uses them or not: what is written must not depend on which run writes it.
fn volume(input: &RunInput<'_>, target: usize, bytes: u64, content: &plan::WriteContent, writer: u64) -> WriteVolume {
    let all_seed = input.data_seed;
    let seed = all_seed ^ (target as u64 + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let splits_blocks = content.dedup.is_some_and(|dedup| splits_blocks(input.plan, target, dedup.unit_bytes));
    if !content.dedup.is_some_and(|dedup| dedup.across) {
        return WriteVolume { writer, splits_blocks, all_seed, ..WriteVolume::alone(seed, bytes) };
    }
    let workloads = || input.plan.runs.iter().flat_map(|run| &run.workloads);
    let alike: BTreeSet<usize> = workloads()
        .filter(|workload| workload.content.dedup == content.dedup)
        .flat_map(|workload| workload.targets.iter().copied())
        .chain([target])
        .collect();
    let size = |at: usize| match input.targets.get(at).and_then(Option::as_ref) {
        Some(opened) => opened.size_bytes,
        None => input.plan.targets[at].size_bytes.unwrap_or(0),
    };
    WriteVolume { seed, bytes, all_seed, all_bytes: alike.into_iter().map(size).sum(), writer, splits_blocks }
}

/// May anything that the plan writes to a target, its fill too, begin or end inside of a block of so many bytes?
fn splits_blocks(plan: &plan::Plan, target: usize, block_bytes: u64) -> bool {
    let spec = &plan.targets[target];
    let uses = plan.runs.iter().flat_map(|run| &run.workloads).filter(|one| one.targets.contains(&target));
    !plan.settings.format_transfer_bytes.is_multiple_of(block_bytes)
        || uses.into_iter().any(|workload| workload.splits_blocks(spec, block_bytes))
}

fn geometry(opened: &OpenTarget, flags: OpenFlags) -> TargetGeometry {
    TargetGeometry { size_bytes: opened.size_bytes, block_bytes: opened.view(flags).logical_block_bytes }
}

/// A target as a workload sees it, of which it is number `member`: what jobs behind this one add to a file is not there
/// when this one looks.
fn geometry_of(workload: &Workload, member: usize, opened: &OpenTarget, flags: OpenFlags) -> TargetGeometry {
    let TargetGeometry { size_bytes, block_bytes } = geometry(opened, flags);
    let seen = workload.address.files.as_ref().map(|files| files.seen_bytes(member, opened.found_bytes));
    TargetGeometry { size_bytes: size_bytes.min(seen.unwrap_or(u64::MAX)), block_bytes }
}

/// The bytes that are written over and over instead of iodyno's own data; `None` when there is no pattern. That of
/// `content.pattern` begins at the start of the target, that of `content.literal` with every transfer.
///
/// # Errors
/// When the pattern's file cannot be read.
pub fn pattern_of(content: &plan::WriteContent) -> Result<Option<Vec<u8>>, EngineError> {
    match &content.pattern {
        Some(path) => {
            let read = std::fs::read(path).map_err(|source| EngineError::Pattern { path: path.clone(), source })?;
            Ok((!read.is_empty()).then_some(read))
        }
        None => Ok((!content.literal.is_empty()).then(|| content.literal.clone())),
    }
}

/// The data that a part of the run's workload `at` writes to a target; `None` where nothing may be written.
pub(crate) fn content(
    input: &RunInput<'_>,
    target: usize,
    opened: &OpenTarget,
    at: usize,
    part: GeneratorPart,
) -> Result<Option<ContentGenerator>, EngineError> {
    if !opened.writable {
        return Ok(None);
    }
    let content = &input.run.workloads[at].content;
    let pattern = pattern_of(content)?.unwrap_or_default();
    let writer = writer_of(input.seed, at, target, part.index);
    let volume = volume(input, target, opened.size_bytes, content, writer);
    Ok(Some(ContentGenerator::new(content, &pattern, &volume)?))
}

/// One lane, without its place in a group and its schedule. The target is number `member` of the workload.
fn lane(
    input: &RunInput<'_>,
    opened: &OpenTarget,
    (target, member): (usize, usize),
    at: usize,
    part: GeneratorPart,
) -> Result<(LaneSpec, BlockLane, BlockPlace), EngineError> {
    let workload = &input.run.workloads[at];
    let spec = &input.plan.targets[target];
    let is_joined = workload.job.as_ref().is_some_and(|job| job.turn == TargetOrder::Joined);
    // What a joined workload does is chosen for all its targets together; what is made here then only proves that a
    // transfer fits.
    let plain = is_joined.then(|| Workload { address: AddressPattern::default(), ..workload.clone() });
    let shape = plain.as_ref().unwrap_or(workload);
    let geometry = geometry_of(workload, member, opened, flags_of(input, at, target));
    let operations = Operations::of_member(shape, (spec, member), geometry, seed_of(input, shape), part)?;
    let share = workload.share / workload.targets.len() as f64;
    let content = if workload.mix.changes_data() { content(input, target, opened, at, part)? } else { None };
    let spec = LaneSpec {
        workload: at,
        target,
        pool: 0,
        schedule: None,
        share: share / f64::from(part.count),
        priority: workload.priority.unwrap_or(u32::MAX),
        think_ns: workload.think_ns,
    };
    let place = BlockPlace {
        // Of two kinds the stronger one, which says what the other says.
        datasync: workload.mix.fdatasync_every.is_some() && workload.mix.fsync_every.is_none(),
        discards: is_device(opened),
        nothing: opened.kind == TargetKind::Nothing,
        ..BlockPlace::default()
    };
    Ok((spec, BlockLane { operations, content, cached: None, checks: None }, place))
}
