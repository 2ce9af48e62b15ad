//! What is proved of the data while a plan is executed: made before the first run, kept from run to run, concluded behind the last.
//!
//! The engine stamps and checks by the [`Validation`]; what it finds becomes rows and sentences here ([`DataTally`]), and the last run
//! reads everything that was written once more ([`sweep_run`]).

mod blocks;
mod journal;
mod refusals;
mod sweep;
mod tally;
mod trees;
mod words;

pub(crate) use journal::{FoundJournal, end as end_journal, keep as keep_journal};
pub(crate) use sweep::{further_flags, leave_caches, leave_out_ends, sweep_run};
pub(crate) use tally::{Coverage, DataTally, Verdict};

use crate::SessionError;
use crate::format::{self, Fill};
use crate::sync::access_of;
use blocks::{STATE_BYTES, block_bytes};
use plan::{Plan, ValidationSettings};
use quantity::text::format_bytes;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::Arc;
use target::{OpenTarget, TargetAccess, TargetKind};
use validation::{Reports, TargetRules, TargetValidation, Validation, device_id};

/// In the manifest: the number of the execution in the stamps of all that it wrote, 16 hexadecimal digits.
pub(crate) const VALIDATION_RUN: &str = "validation_run";
/// In the manifest: of each validated target by its name, the number by which it is known in stamps, and the bytes of a block.
pub(crate) const VALIDATION_TARGETS: &str = "validation_targets";

/// What stands in the way of the validation that a plan asks for; nothing of a plan without it.
pub(crate) fn mistakes(plan: &Plan) -> Vec<String> {
    let mut all = refusals::mistakes(plan);
    all.extend(journal::mistakes(plan));
    all
}

/// Major number of loop devices.
const LOOP: u32 = 7;

/// The name by which a target is known in stamps is where it is: its path without symbolic links.
fn known_name(path: &std::path::Path) -> String {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()).to_string_lossy().into_owned()
}

/// The validation that the plan asks for, of its open targets; `None`: none.
///
/// # Errors
/// A file that exists has an end that no block fits.
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
    let mut wrong = Vec::new();
    let mut found = Vec::with_capacity(targets.len());
    for (index, target) in targets.iter().enumerate() {
        let Some(target) = target.as_ref().filter(|target| is_validated(settings, target)) else {
            found.push(None);
            continue;
        };
        let fill = Fill::of(plan, index, target, plan.settings.format == Some(true)).map(|fill| fill.range);
        let Some(block_bytes) = block_bytes(plan, index, Some(target.size_bytes), fill.as_ref()) else {
            wrong.push(refusals::no_block(&target.name));
            continue;
        };
        let device = device_id(&known_name(&target.path));
        // What was known before is known in its own blocks, which may be a part of those of this load.
        let known = journal.and_then(|journal| journal.block_bytes(device));
        let block_bytes = known.filter(|known| block_bytes.is_multiple_of(*known)).unwrap_or(block_bytes);
        let rules = TargetRules {
            target: index,
            device,
            runs: vec![run],
            size_bytes: target.size_bytes,
            block_bytes,
            compress_ratio: format::content_for(plan, index).compress_ratio,
            flags: Default::default(),
            trims_read_zero: settings.trims_read_zero.unwrap_or_else(|| is_zero_after_trim(target)),
            checks_unknown: settings.checks_unknown,
        };
        let validation = TargetValidation::new(rules, reports.clone());
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
    let found = journal::attach(plan, (run, recording), found, targets, journal)?;
    let targets = found.into_iter().map(|target| target.map(Arc::new)).collect();
    let trees = trees::of_plan(plan, settings, run, &reports).map_err(SessionError::Validation)?;
    Ok(Some(Validation { settings: settings.clone(), run, targets, trees, reports }))
}

/// Is anything of this target known in the end, or checked without being known?
fn is_validated(settings: &ValidationSettings, target: &OpenTarget) -> bool {
    let keeps_data = matches!(target.kind, TargetKind::BlockDevice { .. } | TargetKind::File { .. });
    keeps_data && (target.writable || settings.checks_unknown)
}

/// File systems promise that a hole reads as zeroes, and so do loop devices, whose trims make holes; of others it is not known.
fn is_zero_after_trim(target: &OpenTarget) -> bool {
    match target.kind {
        TargetKind::File { .. } => true,
        TargetKind::BlockDevice { major, .. } => major == LOOP,
        TargetKind::Zeroes | TargetKind::Nothing => false,
    }
}

/// What the manifest keeps of a validation: the execution's number, and numbers and blocks of the targets.
pub(crate) fn for_manifest(plan: &Plan, validation: &Validation) -> [(String, serde_json::Value); 2] {
    let of = |target: &TargetValidation| {
        let rules = target.rules();
        let name = plan.place_name(rules.target).to_string();
        (name, serde_json::json!({ "device": format!("{:016x}", rules.device), "block_bytes": rules.block_bytes }))
    };
    let targets: BTreeMap<String, serde_json::Value> = validation.all_cells().map(of).collect();
    [
        (VALIDATION_RUN.to_string(), format!("{:016x}", validation.run).into()),
        (VALIDATION_TARGETS.to_string(), serde_json::json!(targets)),
    ]
}

/// What would be proved, in lines for people; none without validation. `sizes`: of the targets, where they are known.
pub(crate) fn described(plan: &Plan, sizes: &[Option<u64>]) -> Vec<String> {
    let Some(settings) = &plan.settings.validation else { return Vec::new() };
    let mut what = vec!["every sector that is written is stamped", "every block that is read is checked"];
    what.extend(settings.reads_before_write.then_some("blocks are read and checked before they are written"));
    what.extend(settings.reads_after_write.then_some("blocks are read and checked behind their write"));
    what.push(match settings.sweeps {
        true => "at the end everything that was written is read once (in no time below)",
        false => "what was written is not read at the end",
    });
    what.extend(settings.journal.is_some().then_some("what is written is kept in a journal that outlives a crash"));
    what.extend(settings.checks_unknown.then_some("blocks of which no write is known must be what their stamps say"));
    let mut lines = crate::dry_run_text::folded(&format!("validation: {}", what.join("; ")));
    for (index, (spec, size_bytes)) in plan.targets.iter().zip(sizes).enumerate() {
        if access_of(plan, index) == TargetAccess::Read {
            continue;
        }
        // A file that is not there yet, or not as long, is filled first.
        let is_filled = plan.settings.format != Some(false) && !refusals::is_device(&spec.path);
        let fill = spec.size_bytes.map(|bytes| 0..bytes).filter(|_| is_filled);
        let Some(block) = block_bytes(plan, index, *size_bytes, fill.as_ref()) else { continue };
        let states = size_bytes.map(|bytes| (bytes / block).saturating_mul(STATE_BYTES));
        let states = states.map_or(String::new(), |bytes| {
            format!(", {} of memory for their states when all are written", format_bytes(bytes))
        });
        lines.push(format!("  {}: blocks of {}{states}", spec.name, format_bytes(block)));
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

/// Why a run was ended whose plan allows fewer damaged blocks.
pub(crate) fn too_much_damage(title: &str, plan: &Plan, validation: Option<&Validation>) -> String {
    let damaged = validation.map_or(0, |validation| validation.reports.count());
    let limit = plan.settings.errors_max;
    format!("{title}: stopped, {} damaged (data_errors={limit})", words::are(damaged))
}

/// Is everything that was written to be read behind the last run?
pub(crate) fn sweeps(validation: Option<&Validation>) -> bool {
    validation.is_some_and(|validation| validation.settings.sweeps)
}
