//! The journal of what was written: begun before the first write, or recovered; kept while the runs last; ended behind them.

use super::place::{directory, name_and_path, wrong};
use super::recovery::FoundJournal;
use super::shared::SharedPlaces;
use crate::SessionError;
use data_journal::{Journal, JournalOptions, SessionHeader, common_device};
use plan::generate::OperationKind;
use plan::{JournalSettings, Plan};
use rustix::fs::fdatasync;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::OpenTarget;
use validation::{TargetJournal, TargetValidation, TreeValidation, Validation, tree_uses};

/// Begins the journal that the settings ask for, or goes on with the one that was found, and hands it to the targets.
///
/// # Errors
/// There is one already, it would lie on a target's own disk, or it cannot be made.
pub(super) fn attach(
    plan: &Plan,
    (run, recording): (u64, &Path),
    (targets, trees): ValidatedPlaces,
    opened: &[Option<OpenTarget>],
    found: Option<&FoundJournal>,
) -> Result<ValidatedPlaces, SessionError> {
    let settings = plan.settings.validation.as_ref().and_then(|settings| settings.journal.as_ref());
    let Some(settings) = settings.filter(|settings| !settings.recovers_only) else { return Ok((targets, trees)) };
    let directory = directory(settings, recording);
    let used =
        targets.iter().zip(opened).filter(|(target, _)| target.is_some()).filter_map(|(_, opened)| opened.as_ref());
    let used = used.map(|opened| (opened.name.as_str(), opened.path.as_path())).chain(anchors(plan));
    let mistakes = same_device(settings, &directory, used);
    if !mistakes.is_empty() {
        return Err(SessionError::Validation(mistakes));
    }
    // With the flags of the target that it uses.
    let places = SharedPlaces::of(plan);
    let uses = |index: usize| {
        let flags = plan.targets.get(index).map(|spec| spec.open).unwrap_or_default();
        let workloads = plan.runs.iter().flat_map(|run| &run.workloads);
        workloads.filter(move |workload| workload.targets.contains(&index)).map(move |workload| (workload, flags))
    };
    let of_target = |target: &TargetValidation| {
        let index = target.rules().target;
        let is_trimmed = places.members(index).flat_map(uses).any(|(workload, _)| {
            let replay = workload.replay.as_deref();
            workload.mix.trim > 0.0 || replay.is_some_and(|replay| replay.filter.takes_op(OperationKind::Trim))
        });
        // Every way in which it is written must be synchronous; what fills it is not.
        let is_sync = |flags: plan::OpenFlags| flags.sync || flags.dsync;
        let fills =
            |index: usize| opened.get(index).and_then(Option::as_ref).is_none_or(|opened| opened.fill.is_some());
        let is_filled = places.members(index).any(fills);
        // What is only read is flushed by nothing but the flushes of a checkpoint.
        let is_changed = places.members(index).any(|index| crate::sync::changes(plan, index));
        let is_synchronous = is_changed
            && !is_filled
            && plan.settings.format != Some(true)
            && places.members(index).flat_map(uses).all(|(workload, flags)| is_sync(workload.open.unwrap_or(flags)));
        target.journal_target(&name_and_path(plan, index), is_synchronous, is_trimmed)
    };
    let of_tree = |tree: &TreeValidation| tree.journal_target(&name_and_path(plan, tree.cells().rules().target));
    let all = targets.iter().flatten().map(of_target).chain(trees.iter().flatten().map(of_tree));
    let header = SessionHeader::new(run, all.collect());
    let default = JournalOptions::default();
    let options =
        JournalOptions { checkpoint_bytes: settings.checkpoint_bytes.unwrap_or(default.checkpoint_bytes).max(4096) };
    let journal = match found {
        Some(found) => found.resume(header, options),
        None => Journal::create(&directory, header, options),
    };
    let journal = Arc::new(journal.map_err(|error| wrong(&error))?);
    let mut all = (0..=u16::MAX).map(|target| TargetJournal { journal: journal.clone(), target });
    let targets = targets.into_iter().map(|target| Some(target?.with_journal(all.next()?))).collect();
    Ok((targets, trees.into_iter().map(|tree| Some(tree?.with_journal(all.next()?))).collect()))
}

/// Targets and trees that are validated, by index.
type ValidatedPlaces = (Vec<Option<TargetValidation>>, Vec<Option<TreeValidation>>);

/// Names and anchors of the trees that runs use.
fn anchors(plan: &Plan) -> impl Iterator<Item = (&str, &Path)> {
    let is_used = |at: usize| tree_uses(plan).any(|one| one.tree == at);
    let used = plan.trees.iter().enumerate().filter(move |(at, _)| is_used(*at));
    used.map(|(_, spec)| (spec.name.as_str(), spec.anchor.as_path()))
}

/// Nothing has been done to files yet: the journal gets those that are there.
pub(crate) fn begin_files(validation: Option<&Validation>) -> Vec<String> {
    let trees = validation.into_iter().flat_map(|validation| validation.trees.iter().flatten());
    let mut troubles = Vec::new();
    for tree in trees.filter(|tree| tree.journal().is_some()) {
        tree.look();
        troubles.extend(tree.begin_session().err().map(|error| {
            format!(
                "what is there may not be durable, and the journal promises nothing of it after a power cut: {error}"
            )
        }));
    }
    troubles
}

/// Sentences about targets, by name and path, that lie on a disk on which the journal would lie, unless it may.
fn same_device<'a>(
    settings: &JournalSettings,
    directory: &Path,
    targets: impl Iterator<Item = (&'a str, &'a Path)>,
) -> Vec<String> {
    if settings.allows_same_device || settings.recovers_only {
        return Vec::new();
    }
    let journal = directory.display();
    let sentence = |(name, path): (&str, &Path)| match common_device(directory, path) {
        Ok(Some(disk)) => Some(format!(
            "the journal {journal} would lie on {disk}, as {name} does: a power cut could damage both, and its writes would be part of \
             the load; name a directory on another device (--journal), or say that it may (--journal-same-device)"
        )),
        Ok(None) => None,
        // Not made yet: looked at again when it is.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => Some(format!("cannot see on what {journal} and {name} lie: {error}")),
    };
    targets.filter_map(sentence).collect()
}

/// The same before anything is opened, where it is known already.
pub(super) fn mistakes(plan: &Plan) -> Vec<String> {
    let settings = plan.settings.validation.as_ref().and_then(|settings| settings.journal.as_ref());
    let Some((settings, directory)) = settings.and_then(|settings| Some((settings, settings.directory.as_ref()?)))
    else {
        return Vec::new();
    };
    let uses = |index: usize| plan.runs.iter().flat_map(|run| &run.workloads).any(|load| load.targets.contains(&index));
    let targets =
        plan.targets.iter().enumerate().filter(|(index, spec)| uses(*index) && !spec.path.as_os_str().is_empty());
    let targets = targets.map(|(_, spec)| (spec.name.as_str(), spec.path.as_path()));
    same_device(settings, directory, targets.chain(anchors(plan)))
}

/// Looks after the journal, once in a while: makes a checkpoint where it has grown enough, and flushes targets for it.
///
/// # Errors
/// A sentence: the journal cannot go on.
pub(crate) fn keep(validation: Option<&Validation>, opened: &[Option<OpenTarget>]) -> Result<(), String> {
    let Some(validation) = validation else { return Ok(()) };
    if let Some(failure) = validation.journal_failure() {
        return Err(failure.to_string());
    }
    let waiting = validation.checkpoint(false).map_err(|error| error.to_string())?;
    if waiting.is_empty() || FLUSHES.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let (mut flushes, mut trees) = (Vec::new(), Vec::new());
    for index in waiting {
        trees.extend(validation.tree_at(index).cloned());
        let opened = opened.get(index).and_then(Option::as_ref);
        let Some((target, opened)) = validation.target(index).cloned().zip(opened) else { continue };
        let Ok(file) = rustix::fd::AsFd::as_fd(opened).try_clone_to_owned() else { continue };
        flushes.push((target, file));
    }
    // In a thread of its own: a flush may take long, and the coordinator of the run must not wait for it.
    let flush = move || {
        for (target, file) in flushes {
            let epoch = target.flushing();
            target.flushed(epoch, fdatasync(file).is_ok());
        }
        trees.iter().for_each(|tree| _ = tree.flush_all());
        FLUSHES.store(false, Ordering::Release);
    };
    if std::thread::Builder::new().name("journal-flush".to_string()).spawn(flush).is_err() {
        FLUSHES.store(false, Ordering::Release);
    }
    Ok(())
}

/// Are targets being flushed for a checkpoint?
static FLUSHES: AtomicBool = AtomicBool::new(false);

/// Ends the journal, where there is one; gives what it came to, or why it failed.
pub(crate) fn end(validation: &Validation) -> Option<Result<String, String>> {
    let journal = validation.journal()?;
    let ended = validation.end_journal().map_err(|error| error.to_string());
    let counts = journal.counts();
    Some(ended.map(|()| {
        format!(
            "journal: {} records, {} in {} writes, {} syncs; operations waited {} for it",
            counts.records,
            quantity::text::format_bytes(counts.bytes),
            counts.writes,
            counts.syncs,
            quantity::text::format_ns(counts.waited_ns)
        )
    }))
}
