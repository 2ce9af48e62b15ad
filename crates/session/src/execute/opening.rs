//! What stands in the way of a plan, and its targets: looked at, opened, given up.

use crate::SessionError;
use crate::dry_run::inspect_all;
use crate::format::Fill;
use crate::objectives::{Objectives, objective_mistakes};
use crate::sync::{access_of, all_flags_of};
use crate::trees::Trees;
use crate::validation::FoundJournal;
use objectives::Condition;
use plan::{OpenFlags, Plan, TargetSpec, WriteContent};
use target::{InspectionFinding, OpenTarget, TargetAccess, TargetError, WritePolicy};

/// What is wrong with a plan before any of its targets is looked at; what its runs must achieve.
pub(super) fn check(plan: &Plan, policy: &WritePolicy) -> Result<(Objectives, Vec<Condition>), SessionError> {
    if !plan.unsupported.is_empty() {
        return Err(SessionError::Unsupported(plan.unsupported.iter().map(|what| what.sentence.clone()).collect()));
    }
    let objectives = match objective_mistakes(plan).into_iter().next() {
        Some((objective, source)) => return Err(SessionError::Objective { text: objective.text, source }),
        None => Objectives::of(plan).map_err(|source| SessionError::Objective { text: String::new(), source })?,
    };
    crate::rates::check(&plan.runs)?;
    engine::check_placement(plan)?;
    match crate::validation::mistakes(plan) {
        mistakes if mistakes.is_empty() => {}
        mistakes => return Err(SessionError::Validation(mistakes)),
    }
    let sizes = || inspect_all(plan, policy).0.iter().map(|found| found.size_bytes).collect();
    crate::replay::preflight(plan, sizes)?;
    Ok(objectives)
}

/// Checks a plan and inspects its targets, as [`execute`] does before the first of them is opened; what would be done with each
/// that a run uses.
///
/// # Errors
/// Whatever prevents the plan from being executed.
pub(crate) fn preflight(plan: &Plan, policy: &WritePolicy) -> Result<Vec<Option<InspectionFinding>>, SessionError> {
    check(plan, policy)?;
    let trees = Trees::inspect(plan, None)?;
    trees.check(plan, policy)?;
    inspect(plan, policy)
}

/// Removes the files that were only made for this run (`unlink=1`), and closes all targets; gives what went wrong.
pub(super) fn unlink(plan: &Plan, targets: Vec<Option<OpenTarget>>) -> Vec<String> {
    let both = plan.targets.iter().zip(&targets);
    let ours = both.filter_map(|(spec, target)| target.as_ref().filter(|target| spec.unlink && target.created));
    let failures = ours.filter_map(|target| target.remove().err().map(|error| (&target.path, error)));
    failures.map(|(path, error)| format!("failed to remove {} (unlink=1): {error}", path.display())).collect()
}

/// The kinds of data that the runs write to a target, each once.
pub(super) fn contents_of(plan: &Plan, target: usize) -> Vec<&WriteContent> {
    let mut found: Vec<&WriteContent> = Vec::new();
    for workload in plan.runs.iter().flat_map(|run| &run.workloads) {
        if workload.targets.contains(&target) && !found.contains(&&workload.content) {
            found.push(&workload.content);
        }
    }
    found
}

/// May the runs write parts of a target's sectors?
pub(super) fn splits_sectors(plan: &Plan, target: usize) -> bool {
    let mut workloads = plan.runs.iter().flat_map(|run| &run.workloads).filter(|one| one.targets.contains(&target));
    plan.targets.get(target).is_some_and(|spec| workloads.any(|workload| workload.splits_sectors(spec)))
}

/// Inspects every target that a run uses; opens and changes none.
fn inspect(plan: &Plan, policy: &WritePolicy) -> Result<Vec<Option<InspectionFinding>>, SessionError> {
    let is_used = |index: usize| {
        plan.runs.iter().flat_map(|run| &run.workloads).any(|workload| workload.targets.contains(&index))
    };
    let mut findings: Vec<Option<InspectionFinding>> = vec![None; plan.targets.len()];
    let mut refused: Vec<TargetError> = Vec::new();
    let is_as_found = crate::recovering::only_recovers(plan);
    for (index, spec) in plan.targets.iter().enumerate().filter(|(index, _)| is_used(*index)) {
        if is_as_found && target::file_bytes(&spec.path) == Some(0) {
            continue;
        }
        let spec = &if is_as_found { target::as_found(spec) } else { spec.clone() };
        match target::inspect_with(spec, &all_flags_of(plan, index), access_of(plan, index), policy) {
            Ok(finding) => findings[index] = Some(finding),
            Err(error) => refused.push(error),
        }
    }
    match refused.len() {
        0 => {}
        1 => return Err(refused.remove(0).into()),
        _ => return Err(SessionError::Targets(refused)),
    }
    if is_as_found {
        return Ok(findings);
    }
    // Nor is one run begun when a later one cannot be.
    let sizes: Vec<Option<u64>> =
        findings.iter().map(|finding| finding.as_ref().map(InspectionFinding::size_bytes)).collect();
    match engine::check(plan, &sizes).into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(findings),
    }
}

/// Opens every target that a run uses, and for reading those of which a journal knows something; nothing has been written when one is
/// refused.
pub(super) fn open_targets(
    plan: &Plan,
    policy: &WritePolicy,
    journal: Option<&FoundJournal>,
) -> Result<Vec<Option<OpenTarget>>, SessionError> {
    // All are inspected before the first is opened: opening may create or extend a file.
    let used: Vec<bool> = inspect(plan, policy)?.iter().map(Option::is_some).collect();
    let mut opened = Vec::with_capacity(plan.targets.len());
    for (index, spec) in plan.targets.iter().enumerate() {
        opened.push(if used[index] {
            let open = |sets: &[OpenFlags]| target::open_with(spec, sets, access_of(plan, index), policy);
            let sets = all_flags_of(plan, index);
            // Reading past the page cache in the end is worth having, where it can be had.
            let with_more = crate::validation::further_flags(plan, &sets).and_then(|more| open(&more).ok());
            Some(with_more.map_or_else(|| open(&sets), Ok)?)
        } else {
            let known = journal.filter(|one| one.knows(&spec.path) && !crate::validation::has_twin(plan, index));
            known.and_then(|_| open_known(plan, spec, policy))
        });
    }
    Ok(opened)
}

/// Opens a target that no run uses, so that what a journal says of it can be read. Where that fails, it is left out, and that is said.
fn open_known(plan: &Plan, spec: &TargetSpec, policy: &WritePolicy) -> Option<OpenTarget> {
    let sets = [OpenFlags { fsync_at_end: false, ..spec.open }];
    let policy = WritePolicy { never_create: true, ..policy.clone() };
    let open = |sets: &[OpenFlags]| {
        target::inspect_with(spec, sets, TargetAccess::Read, &policy).ok()?;
        target::open_with(spec, sets, TargetAccess::Read, &policy).ok()
    };
    crate::validation::further_flags(plan, &sets).and_then(|more| open(&more)).or_else(|| open(&sets))
}

/// What has to be filled before the first run.
pub(super) fn fills_of<'a>(plan: &'a Plan, targets: &'a [Option<OpenTarget>]) -> impl Iterator<Item = Fill> + 'a {
    let all = plan.settings.format == Some(true);
    let of = move |(index, target): (usize, &Option<OpenTarget>)| Fill::of(plan, index, target.as_ref()?, all);
    targets.iter().enumerate().filter_map(of)
}
