//! Trees whose entries are numbered (fio's engines for names): their directory may hold anything else, and keeps nothing about them.

use super::error::TreeUseErrorKind;
use super::places::{fails, resolved};
use super::{TreeRemark, TreeUseError, Trees, usage};
use plan::{EntryJob, Plan, Run, TreeSpec, TreeUse};
use quantity::figures::grouped;
use std::path::Path;
use std::sync::Arc;
use target::WritePolicy;
use tree::{Anchor, Opening, Tree};

/// One of them, with its job.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) tree: Arc<Tree>,
    job: EntryJob,
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
    tree.look_at_numbered(job).map_err(|error| fails(spec, error))?;
    Ok(Numbered { tree: Arc::new(tree), job: job.clone() })
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
            let made = one.tree.make_numbered(&one.job, goes_on).map_err(|error| fails(spec, error))?;
            let what = if one.job.are_directories { "directories" } else { "files" };
            let sentence = format!("{} {what} were made for {}", grouped(made.count as f64), spec.name);
            if made.count > 0 {
                remarks.push(TreeRemark { name: spec.name.clone(), sentence, is_trouble: false });
            }
        }
        Ok(remarks)
    }

    /// Behind a run: removes what was not there before the first, where that is asked.
    pub(super) fn remove(&self, plan: &Plan, at: usize) -> Option<TreeRemark> {
        let (one, spec) = (self.numbered.get(&at)?, plan.trees.get(at)?);
        let removed = one.job.unlinks.then(|| one.tree.remove_numbered(&one.job))?;
        let sentence = format!("what the job made in {} was not removed (unlink=1): {}", spec.name, removed.err()?);
        Some(TreeRemark { name: spec.name.clone(), sentence, is_trouble: true })
    }
}
