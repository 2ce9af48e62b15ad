//! The journal of what was written: begun before the first write, or recovered; kept while the runs last; ended behind them.

use super::place::{directory, name_and_path, wrong};
use super::recovery::FoundJournal;
use crate::SessionError;
use data_journal::{Journal, JournalOptions, SessionHeader, common_device};
use plan::{JournalSettings, Plan};
use rustix::fs::fdatasync;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use target::OpenTarget;
use validation::{TargetJournal, TargetValidation, Validation};

/// Begins the journal that the settings ask for, or goes on with the one that was found, and hands it to the targets.
///
/// # Errors
/// There is one already, it would lie on a target's own disk, or it cannot be made.
pub(super) fn attach(
    plan: &Plan,
    (run, recording): (u64, &Path),
    targets: Vec<Option<TargetValidation>>,
    opened: &[Option<OpenTarget>],
    found: Option<&FoundJournal>,
) -> Result<Vec<Option<TargetValidation>>, SessionError> {
    let settings = plan.settings.validation.as_ref().and_then(|settings| settings.journal.as_ref());
    let Some(settings) = settings.filter(|settings| !settings.recovers_only) else { return Ok(targets) };
    let directory = directory(settings, recording);
    let used =
        targets.iter().zip(opened).filter(|(target, _)| target.is_some()).filter_map(|(_, opened)| opened.as_ref());
    let mistakes = same_device(settings, &directory, used.map(|opened| (opened.name.as_str(), opened.path.as_path())));
    if !mistakes.is_empty() {
        return Err(SessionError::Validation(mistakes));
    }
    let uses = |index: usize| {
        let workloads = plan.runs.iter().flat_map(|run| &run.workloads);
        workloads.filter(move |workload| workload.targets.contains(&index))
    };
    let of_target = |target: &TargetValidation| {
        let index = target.rules().target;
        let is_trimmed = uses(index).any(|workload| workload.mix.trim > 0.0);
        // Every way in which it is written must be synchronous; what fills it is not.
        let flags = plan.targets.get(index).map(|spec| spec.open).unwrap_or_default();
        let is_sync = |flags: plan::OpenFlags| flags.sync || flags.dsync;
        let is_filled = opened.get(index).and_then(Option::as_ref).is_none_or(|opened| opened.fill.is_some());
        // What is only read is flushed by nothing but the flushes of a checkpoint.
        let is_synchronous = crate::sync::changes(plan, index)
            && !is_filled
            && plan.settings.format != Some(true)
            && uses(index).all(|workload| is_sync(workload.open.unwrap_or(flags)));
        target.journal_target(&name_and_path(plan, index), is_synchronous, is_trimmed)
    };
    let header = SessionHeader::new(run, targets.iter().flatten().map(of_target).collect());
    let default = JournalOptions::default();
    let options =
        JournalOptions { checkpoint_bytes: settings.checkpoint_bytes.unwrap_or(default.checkpoint_bytes).max(4096) };
    let journal = match found {
        Some(found) => found.resume(header, options),
        None => Journal::create(&directory, header, options),
    };
    let journal = Arc::new(journal.map_err(|error| wrong(&error))?);
    let mut next = 0..=u16::MAX;
    let mut with = |target: TargetValidation| {
        let of = TargetJournal { journal: journal.clone(), target: next.next().unwrap_or(u16::MAX) };
        target.with_journal(of)
    };
    Ok(targets.into_iter().map(|target| target.map(&mut with)).collect())
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
    same_device(settings, directory, targets.map(|(_, spec)| (spec.name.as_str(), spec.path.as_path())))
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
    let mut flushes = Vec::new();
    for index in waiting {
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
