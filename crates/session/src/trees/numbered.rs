//! Trees whose entries are numbered (fio's engines for names): their directory may hold anything else, and keeps nothing about them.

use super::error::TreeUseErrorKind;
use super::places::{fails, resolved};
use super::{TreeCertainty, TreeRemark, TreeUseError, Trees, usage};
use plan::generate::OperationKind;
use plan::{EntryJob, Plan, Run, TreeNames, TreeSpec, TreeTask, TreeUse};
use quantity::figures::grouped;
use quantity::text::shell_word;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target::WritePolicy;
use tree::{Anchor, LackingEntries, NewEntries, Opening, Tree};

/// So many names fit into the arguments of a command.
const ARGUMENTS_MAX: u64 = 1000;

/// One of them, with its job.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) tree: Arc<Tree>,
    job: EntryJob,
    /// Its directory without links.
    pub(super) path: PathBuf,
    /// What is to be made of it, before the first run or by its job.
    pub(super) lacking: LackingEntries,
}

/// The use of a tree by a job of this kind; `None`: the tree is Vdbench's, or unused.
pub(super) fn job_of(plan: &Plan, tree: usize) -> Option<(&TreeUse, &EntryJob)> {
    let loads = plan.runs.iter().flat_map(|run| &run.workloads).filter_map(|workload| workload.load.tree());
    loads.filter_map(|load| Some((load, load.entries.as_ref()?))).find_map(|(load, job)| {
        let used = load.uses.iter().find(|one| one.tree == tree)?;
        Some((used, job))
    })
}

/// Opens its directory, and looks at what there is of its entries; changes nothing.
pub(super) fn inspect(
    plan: &Plan,
    (at, spec): (usize, &TreeSpec),
    (used, job): (&TreeUse, &EntryJob),
) -> Result<Numbered, TreeUseError> {
    let path = resolved(&spec.anchor).map_err(|kind| fails(spec, kind))?;
    let changes = job.made.is_some() || plan.runs.iter().any(|run| usage::changes(run, at));
    if changes {
        check_place(spec, &path)?;
    }
    let Some(anchor) = Anchor::open(&path).map_err(|error| fails(spec, error))? else {
        return Err(fails(spec, TreeUseErrorKind::NoDirectory { path }));
    };
    let fd = anchor.descriptor().map_err(|error| fails(spec, error))?;
    let tree = Tree::in_anchor(&spec.anchor, fd, &used.shape, Opening::Empty).map_err(|error| fails(spec, error))?;
    let mut lacking = tree.look_at_numbered(job).map_err(|error| fails(spec, error))?;
    if job.made.is_none() && !plan.runs.iter().any(|run| makes(run, at)) {
        lacking = LackingEntries::default();
    }
    Ok(Numbered { tree: Arc::new(tree), job: job.clone(), path, lacking })
}

/// Does a run make entries of a tree?
fn makes(run: &Run, tree: usize) -> bool {
    let is_made = |task: &TreeTask| matches!(task, TreeTask::One(OperationKind::Create | OperationKind::Mkdir));
    let loads = run.workloads.iter().filter_map(|workload| workload.load.tree());
    loads.filter(|load| is_made(&load.task)).any(|load| load.uses.iter().any(|one| one.tree == tree))
}

fn check_place(spec: &TreeSpec, path: &Path) -> Result<(), TreeUseError> {
    if path.parent().is_none() {
        let what = "the root of all directories";
        return Err(fails(spec, TreeUseErrorKind::TooHigh { path: path.to_owned(), what }));
    }
    match target::system_directory(path) {
        Some(directory) => Err(fails(spec, TreeUseErrorKind::SystemPlace { path: path.to_owned(), directory })),
        None => Ok(()),
    }
}

impl Trees {
    /// Is no file with data deleted, or made longer, that was there before? Names alone do not say whose it is.
    pub(super) fn check_numbered(&self, plan: &Plan, policy: &WritePolicy) -> Result<(), TreeUseError> {
        for (at, one) in &self.numbered {
            let Some(spec) = plan.trees.get(*at) else { continue };
            if one.job.are_directories || policy.may_lose(&spec.anchor) {
                continue;
            }
            let (layout, state) = (one.tree.layout(), one.tree.state());
            let deletes = plan.runs.iter().any(|run| usage::takes_away_of(run, *at));
            let is_lost = |file: &u32| {
                let known = state.file(*file);
                let grows = one.job.made.is_some() && known.bytes < layout.asked_bytes(*file);
                known.exists && (grows || (deletes && known.bytes > 0))
            };
            let mut lost = (0..layout.files()).filter(is_lost);
            if let Some(first) = lost.next() {
                let (mut name, count) = (Vec::new(), lost.count() as u64 + 1);
                layout.file_path(first, &mut name);
                let first = String::from_utf8_lossy(&name).into_owned();
                let path = spec.anchor.clone();
                return Err(fails(spec, TreeUseErrorKind::OthersFiles { path, first, count, deletes }));
            }
        }
        Ok(())
    }

    /// Before the first run of a plan: makes what jobs of all its runs find there, as fio does before its first job. Says what was made.
    ///
    /// # Errors
    /// Something cannot be made.
    pub(crate) fn lay_out(
        &self,
        plan: &Plan,
        run: &Run,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Vec<TreeRemark>, TreeUseError> {
        let is_first = plan.runs.first().is_some_and(|first| first.title == run.title) && !run.format;
        let mut remarks = Vec::new();
        for (at, one) in self.numbered.iter().filter(|_| is_first) {
            let Some(spec) = plan.trees.get(*at) else { continue };
            let made = match one.tree.make_numbered(&one.job, goes_on) {
                Ok(made) => made,
                Err(error) => return Err(fails(spec, self.unfinished(plan, error))),
            };
            let what = if one.job.are_directories { "directories" } else { "files" };
            let sentence = format!("{} {what} were made for {}", grouped(made.count as f64), spec.name);
            if made.count > 0 {
                remarks.push(TreeRemark { name: spec.name.clone(), sentence, is_trouble: false });
            }
        }
        Ok(remarks)
    }

    /// Not all that jobs are to find could be made: where that is asked, removes what was made; otherwise says where it is.
    fn unfinished(&self, plan: &Plan, error: tree::TreeError) -> TreeUseErrorKind {
        let left = self.numbered.iter().filter_map(|(at, one)| {
            let remark = if one.job.unlinks { self.remove(plan, *at)? } else { self.left(plan, *at)? };
            Some(format!("; {}", remark.sentence))
        });
        TreeUseErrorKind::Unfinished { left: left.collect(), error: Box::new(error) }
    }

    /// Behind a run of it.
    pub(super) fn after_numbered(&self, plan: &Plan, at: usize, certainty: TreeCertainty) -> Option<TreeRemark> {
        match certainty {
            _ if self.numbered.get(&at)?.job.unlinks => self.remove(plan, at),
            TreeCertainty::Sure => None,
            TreeCertainty::Failures => self.left(plan, at),
            // A look at it would hang as well.
            TreeCertainty::Hangs => None,
        }
    }

    /// Removes what was not there before the first run.
    fn remove(&self, plan: &Plan, at: usize) -> Option<TreeRemark> {
        let (one, spec) = (self.numbered.get(&at)?, plan.trees.get(at)?);
        let error = one.tree.remove_numbered(&one.job).err()?;
        let sentence = format!("what the job made in {} was not removed (unlink=1): {error}", spec.name);
        Some(TreeRemark { name: spec.name.clone(), sentence, is_trouble: true })
    }

    /// Says what is there that was not before the first run, and how to remove it.
    fn left(&self, plan: &Plan, at: usize) -> Option<TreeRemark> {
        let (one, spec) = (self.numbered.get(&at)?, plan.trees.get(at)?);
        let remark = |sentence| Some(TreeRemark { name: spec.name.clone(), sentence, is_trouble: true });
        let new = match one.tree.new_numbered() {
            Ok(new) if new.count == 0 => return None,
            Ok(new) => new,
            Err(error) => return remark(format!("what is left of {} is not known: {error}", spec.name)),
        };
        let what = if one.job.are_directories { "directories" } else { "files" };
        let (count, place) = (grouped(new.count as f64), one.path.display());
        let TreeNames::Numbered { before, after } = &one.tree.shape().names else { return None };
        let how = if new.older > 0 {
            format!("{} with numbers between them were there before and are not of this run", grouped(new.older as f64))
        } else {
            format!("to remove them, in bash: {}", removal(&one.path, (before, after), new, one.job.are_directories))
        };
        let (first, last) = (new.first, new.last);
        remark(format!(
            "{count} {what} that were made are left in {place}, {before}{first}{after} to {before}{last}{after}; {how}"
        ))
    }
}

/// A line for bash that removes these.
fn removal(folder: &Path, (before, after): (&str, &str), new: NewEntries, are_directories: bool) -> String {
    let command = if are_directories { "rmdir" } else { "rm -f" };
    let range = if new.first == new.last { new.first.to_string() } else { format!("{{{}..{}}}", new.first, new.last) };
    let place = folder.join(before);
    let names = format!("{}{range}{}", quoted(&place.to_string_lossy()), quoted(after));
    if new.count > ARGUMENTS_MAX {
        format!("printf '%s\\0' {names} | xargs -0 {command}")
    } else {
        format!("{command} {names}")
    }
}

/// A word, or a part of one, for a shell.
fn quoted(text: &str) -> Cow<'_, str> {
    if text.is_empty() { Cow::Borrowed("") } else { shell_word(text) }
}
