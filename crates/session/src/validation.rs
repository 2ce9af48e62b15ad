//! What is proved of the data while a plan is executed: made before the first run, kept from run to run, concluded behind the last.
//!
//! The engine stamps and checks by the [`Validation`]; what it finds becomes rows and sentences here ([`DataTally`]), and the last run
//! reads everything that was written once more ([`sweep_run`]).

mod blocks;
mod copies;
mod journal;
mod left_out;
mod place;
mod recovery;
mod refusals;
mod shared;
mod sweep;
mod tally;
mod trees;
mod what_next;
mod words;

pub(crate) use journal::{begin_files, end as end_journal, keep as keep_journal};
pub use recovery::FoundJournal;
pub(crate) use recovery::{as_found, foreseen, policy_for};
pub(crate) use sweep::{begin_sweep, further_flags, leave_caches, leave_out_ends, sweep_run};
pub use tally::group_sentence;
pub(crate) use tally::{Coverage, DataTally, Verdict, left_out_row, path_of, verdict_row};
pub(crate) use what_next::what_next;

use crate::SessionError;
use crate::format;
use crate::recovering::only_recovers;
use crate::replay;
use crate::sync::access_of;
use blocks::{STATE_BYTES, block_bytes};
use plan::{Plan, PlanSettings, ValidationSettings};
use quantity::text::format_bytes;
use shared::SharedPlaces;
use stamp::StampFlags;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::Arc;
use target::{OpenTarget, TargetAccess, TargetKind};
use tool_output::fio_out::VALIDATION_TARGETS;
use validation::{Reports, TargetRules, TargetValidation, Validation, device_id};

/// In the manifest: the number of the execution in the stamps of all that it wrote, 16 hexadecimal digits.
pub(crate) const VALIDATION_RUN: &str = "validation_run";

/// What stands in the way of the validation that a plan asks for; nothing of a plan without it.
pub(crate) fn mistakes(plan: &Plan) -> Vec<String> {
    let mut all = refusals::mistakes(plan);
    all.extend(journal::mistakes(plan));
    all.extend(recovery::exists(plan));
    all
}

/// Major number of loop devices.
const LOOP: u32 = 7;
/// Bytes that the times of a block take, where they are kept.
const TIMES_BYTES: u64 = 8;

/// The name by which a target is known in stamps is where it is: its path without symbolic links.
fn known_name(path: &Path) -> String {
    let of_new = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    let found = std::fs::canonicalize(path).ok().or_else(of_new);
    found.unwrap_or_else(|| path.to_path_buf()).to_string_lossy().into_owned()
}

/// The validation that the plan asks for, of its open targets; `None`: none.
///
/// # Errors
/// A file that exists has an end that no block fits, or duplicates cannot be made.
pub(crate) fn of_plan(
    plan: &Plan,
    targets: &[Option<OpenTarget>],
    recording: &Path,
    journal: Option<&FoundJournal>,
) -> Result<Option<Validation>, SessionError> {
    let Some(settings) = &plan.settings.validation else { return Ok(None) };
    // Keys of the system's random source; 0 is no execution.
    let run = RandomState::new().hash_one(std::process::id()).max(1);
    let reports = Arc::new(Reports::default());
    let traced = replay::grains(plan, &replay::sizes(plan, targets))?;
    let mut wrong = Vec::new();
    let mut found = Vec::with_capacity(targets.len());
    let places = SharedPlaces::of(plan);
    let opened = |index: usize| targets.get(index).and_then(Option::as_ref);
    for (index, target) in targets.iter().enumerate() {
        let is_any = || places.members(index).filter_map(opened).any(|target| is_validated(settings, target, journal));
        let Some(target) = target.as_ref().filter(|_| places.is_first(index) && is_any()) else {
            let is_gone = target.is_none() && places.is_first(index) && is_used(plan, index);
            found.push(journal.filter(|_| is_gone).and_then(|journal| journal.of_gone(plan, (index, run), &reports)));
            continue;
        };
        let Some(of_load) = places.block_bytes(plan, index, targets, &traced) else {
            let odd = places.members(index).find_map(|index| traced.get(&index)?.mistake(&target.name));
            wrong.push(odd.unwrap_or_else(|| refusals::no_block(&target.name)));
            continue;
        };
        let device = device_id(&known_name(&target.path));
        // What was known before is known in its own blocks, which may be a part of those of this load, if there is to be one.
        let known = journal.and_then(|journal| journal.block_bytes(device));
        let fits = |known: &u64| only_recovers(plan) || !is_used(plan, index) || of_load.is_multiple_of(*known);
        let block_bytes = known.filter(fits).unwrap_or(of_load);
        let copies = match copies::of_target(plan, index, targets, device) {
            Ok(copies) => copies,
            Err(sentence) => {
                wrong.push(sentence);
                continue;
            }
        };
        let rules = TargetRules {
            target: index,
            device,
            runs: vec![run],
            size_bytes: target.size_bytes,
            block_bytes,
            compress_ratio: format::content_for(plan, index).compress_ratio,
            copies,
            flags: stamp_flags(target),
            trims_read_zero: settings.trims_read_zero.unwrap_or_else(|| is_zero_after_trim(target)),
            checks_unknown: settings.checks_unknown,
        };
        let validation = TargetValidation::new(rules, reports.clone()).known_since(quantity::clock::wall_ns());
        let validation = if settings.keeps_times { validation.with_times() } else { validation };
        let validation = match journal {
            Some(journal) => journal.apply(validation),
            None => Ok(validation),
        };
        match validation {
            Ok(validation) => found.push(Some(validation)),
            Err(sentence) => wrong.push(sentence),
        }
    }
    if !wrong.is_empty() {
        return Err(SessionError::Validation(wrong));
    }
    let trees = trees::of_plan(plan, settings, run, &reports, journal).map_err(SessionError::Validation)?;
    let of_trees = trees.iter().flatten().any(validation::TreeValidation::has_promises);
    let is_vain = |journal: &&FoundJournal| !of_trees && !found.iter().flatten().any(|target| journal.promises(target));
    if let Some(journal) = journal.filter(|_| only_recovers(plan)).filter(is_vain) {
        return Err(SessionError::Validation(vec![journal.nothing_to_prove()]));
    }
    let (found, trees) = journal::attach(plan, (run, recording), (found, trees), targets, journal)?;
    let targets = places.spread(found);
    let trees = trees.into_iter().map(|tree| tree.map(Arc::new)).collect();
    Ok(Some(Validation { settings: settings.clone(), run, targets, trees, reports }))
}

/// Is another target of the plan the same, that a run uses or that stands before it?
pub(crate) fn has_twin(plan: &Plan, index: usize) -> bool {
    let name = |spec: &plan::TargetSpec| known_name(&spec.path);
    let Some(own) = plan.targets.get(index).map(name) else { return false };
    let is_before = |other: usize| other < index || (other > index && is_used(plan, other));
    plan.targets.iter().enumerate().any(|(other, spec)| is_before(other) && name(spec) == own)
}

/// Does a run use the target with this index?
fn is_used(plan: &Plan, index: usize) -> bool {
    plan.runs.iter().flat_map(|run| &run.workloads).any(|workload| workload.targets.contains(&index))
}

/// Is anything of this target known in the end or from before, or checked without being known?
fn is_validated(settings: &ValidationSettings, target: &OpenTarget, journal: Option<&FoundJournal>) -> bool {
    let keeps_data = matches!(target.kind, TargetKind::BlockDevice { .. } | TargetKind::File { .. });
    let is_known = || journal.is_some_and(|one| one.knows(&target.path));
    keeps_data && (target.writable || settings.checks_unknown || is_known())
}

/// The device below a file's file system has its sectors somewhere else.
fn stamp_flags(target: &OpenTarget) -> StampFlags {
    if matches!(target.kind, TargetKind::File { .. }) { StampFlags::FILE } else { StampFlags::default() }
}

/// File systems promise that a hole reads as zeroes, and so do loop devices, whose trims make holes; of others it is not known.
pub fn is_zero_after_trim(target: &OpenTarget) -> bool {
    match target.kind {
        TargetKind::File { .. } => true,
        TargetKind::BlockDevice { major, .. } => major == LOOP,
        TargetKind::Zeroes | TargetKind::Nothing => false,
    }
}

/// What the manifest keeps of a validation: the execution's number, and numbers and blocks of the targets.
pub(crate) fn for_manifest(plan: &Plan, validation: &Validation) -> [(String, serde_json::Value); 2] {
    let of = |place: usize, target: &TargetValidation| {
        let rules = target.rules();
        let known = serde_json::json!({ "device": format!("{:016x}", rules.device), "block_bytes": rules.block_bytes });
        (plan.place_name(place).to_string(), known)
    };
    let mut targets: BTreeMap<String, serde_json::Value> =
        validation.all_cells().map(|target| of(target.rules().target, target)).collect();
    // Those that are the same file or device have the number of the first, whose name stands in all rows.
    let all = validation.targets.iter().enumerate();
    targets.extend(all.filter_map(|(place, target)| Some(of(place, target.as_ref()?))));
    [
        (VALIDATION_RUN.to_string(), format!("{:016x}", validation.run).into()),
        (VALIDATION_TARGETS.to_string(), serde_json::json!(targets)),
    ]
}

/// What would be proved, in lines for people; none without validation. `sizes`: of the targets, where they are known.
pub(crate) fn described(plan: &Plan, sizes: &[Option<u64>]) -> Vec<String> {
    let Some(settings) = &plan.settings.validation else { return Vec::new() };
    if only_recovers(plan) {
        let what = "validation: only what the journal says must be there is read, once; nothing is written, and no run takes place";
        return crate::dry_run_text::folded(what);
    }
    let mut what = vec!["every sector that is written is stamped", "every block that is read is checked"];
    what.extend(settings.reads_before_write.then_some("blocks are read and checked before they are written"));
    what.extend(settings.reads_after_write.then_some("blocks are read and checked behind their write"));
    let recovers = settings.journal.as_ref().is_some_and(|journal| journal.recovers);
    what.extend(
        recovers.then_some("what the journal says must be there is read before the load, which damage prevents"),
    );
    what.push(match settings.sweeps {
        true => "at the end everything that was written is read once (in no time below)",
        false => "what was written is not read at the end",
    });
    what.extend(
        settings.keeps_times.then_some("of each block it is kept when it was last written, and read and right"),
    );
    what.extend(settings.journal.is_some().then_some("what is written is kept in a journal that outlives a crash"));
    what.extend(settings.checks_unknown.then_some("blocks of which no write is known must be what their stamps say"));
    let traced = replay::grains(plan, &replay::expected_sizes(plan, |target| sizes.get(target).copied().flatten()));
    let traced = traced.unwrap_or_default();
    let mut lines = crate::dry_run_text::folded(&format!("validation: {}", what.join("; ")));
    let places = SharedPlaces::of(plan);
    for (index, (spec, size_bytes)) in plan.targets.iter().zip(sizes).enumerate() {
        let is_changed = || places.members(index).any(|index| access_of(plan, index) != TargetAccess::Read);
        if !places.is_first(index) || !is_changed() {
            continue;
        }
        // A file that is not there yet, or not as long, is filled first.
        let is_filled = plan.settings.format != Some(false) && !refusals::is_device(&spec.path);
        let fill = spec.size_bytes.map(|bytes| 0..bytes).filter(|_| is_filled);
        let of = |index: usize| {
            let traced = traced.get(&index).copied().unwrap_or_default();
            block_bytes(plan, index, (*size_bytes, traced.bytes), fill.as_ref())
        };
        let block = places.members(index).map(of).reduce(|one, other| Some(blocks::common(one?, other?))).flatten();
        let Some(block) = block else { continue };
        let of_block = STATE_BYTES + if settings.keeps_times { TIMES_BYTES } else { 0 };
        let states = size_bytes.map(|bytes| (bytes / block).saturating_mul(of_block));
        let states = states.map_or(String::new(), |bytes| {
            format!(", {} of memory for their states when all are written", format_bytes(bytes))
        });
        let copies = copies::described(plan, index);
        lines.push(format!("  {}: blocks of {}{states}{copies}", spec.name, format_bytes(block)));
    }
    lines.extend(trees::described(plan));
    lines
}

/// Why a run cannot go on whose journal failed.
pub(crate) fn journal_trouble(title: &str, validation: Option<&Validation>) -> String {
    match validation.and_then(Validation::journal_failure) {
        Some(failure) => format!("{title}: stopped: {failure}"),
        None => format!("{title}: stopped: its journal cannot go on"),
    }
}

/// Why no load follows a recovery that found so many damaged blocks; `None`: it does. A plan with a larger `data_errors=` than the usual one
/// says how many it bears.
pub(crate) fn load_prevented(plan: &Plan, damaged: u64) -> Option<String> {
    let (limit, usual) = (plan.settings.errors_max, PlanSettings::default().errors_max);
    let is_borne = damaged == 0 || (limit > usual && damaged <= limit);
    (!is_borne).then(|| {
        format!(
            "{} damaged: the load did not begin, and nothing was written over what is there; see what it is (iodyno verify, iodyno \
             inspect), and keep a copy; to write over it all the same, give the load data_errors={} (fio: continue_on_error=verify)",
            words::are(damaged),
            damaged.max(usual.saturating_add(1))
        )
    })
}

/// Why a run was ended whose plan allows fewer damaged blocks, or fewer of those and of failed operations together.
pub(crate) fn too_much_damage(title: &str, plan: &Plan, validation: Option<&Validation>, failed: u64) -> String {
    let counts = validation.map(|validation| validation.reports.counts()).unwrap_or_default();
    let (damaged, files) = (counts.values().sum::<u64>(), words::files_of(&counts));
    let limit = plan.settings.errors_max;
    // Reads in flight when the first one too many was found have found the others.
    let beyond =
        if damaged > limit.saturating_add(1) { "; reads that were in flight then found some of them" } else { "" };
    let failed = match (damaged <= limit, failed) {
        (true, 1) => ", and 1 operation failed".to_string(),
        (true, 2..) => format!(", and {failed} operations failed"),
        _ => String::new(),
    };
    let limit = if limit == 0 {
        "data_errors=0, as verify_fatal=1 and data_errors=COMMAND say, too".to_string()
    } else {
        format!("data_errors={limit}")
    };
    format!(
        "{title}: stopped, {} damaged{failed} ({limit}){beyond}; the runs behind it, and the reading at the end, do not take place",
        words::are_of(damaged, files)
    )
}

/// Is everything that was written to be read behind the last run?
pub(crate) fn sweeps(validation: Option<&Validation>) -> bool {
    validation.is_some_and(|validation| validation.settings.sweeps)
}
