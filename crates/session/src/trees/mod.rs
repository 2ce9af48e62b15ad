//! The trees of a command: looks at their anchors before anything begins, opens them for each run, and keeps their control files.
//!
//! As Vdbench does, the control file of a tree that a run changes is written before and after it; the first says that what it tells
//! is not to be believed, so that after a crash the directories are looked at. Vdbench makes any anchor that is missing; here only a
//! format does, so that a slip of the pen makes none.

mod error;
mod numbered;
mod preflight;
mod usage;

pub use error::{TreeUseError, TreeUseErrorKind};

use output::FileAccess;
use output::Folder;
use plan::{FormatTask, Plan, Run, TreeSpec};
use preflight::fails;
use quantity::figures::grouped;
use quantity::text::format_bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tree::{Anchor, Moment, Opening, Tree};

/// The trees of a command.
#[derive(Debug)]
pub(crate) struct Trees {
    /// By tree: its anchor without links; `None`: no run uses it.
    paths: Vec<Option<PathBuf>>,
    places: BTreeMap<PathBuf, Place>,
    /// By anchor: the tree as the last run left it.
    known: BTreeMap<PathBuf, Arc<Tree>>,
    /// By tree, those of fio's jobs: they have none of the above.
    numbered: BTreeMap<usize, numbered::Numbered>,
}

/// An anchor.
#[derive(Debug)]
struct Place {
    /// Without links.
    path: PathBuf,
    /// `None`: it is missing so far.
    anchor: Option<Anchor>,
    changes: bool,
    is_shared: bool,
    makes_parents: bool,
    /// Of the first tree there.
    name: String,
}

/// A tree of a run by its index in the plan; `None`: the run does not use it.
pub(crate) type RunTrees = Vec<Option<Arc<Tree>>>;

/// What is to be said of a tree after a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeRemark {
    /// Its name.
    pub(crate) name: String,
    pub(crate) sentence: String,
    /// Is something not as it was asked for?
    pub(crate) is_trouble: bool,
}

impl Trees {
    /// Looks at every anchor that a run of the plan uses, and takes it for this process; changes none. `recording`: where the
    /// recording goes.
    ///
    /// # Errors
    /// Whatever prevents a tree from being used as the runs ask.
    pub(crate) fn inspect(plan: &Plan, recording: Option<&Path>) -> Result<Self, TreeUseError> {
        preflight::inspect(plan, recording)
    }

    /// Makes the anchors that are missing; says which.
    ///
    /// # Errors
    /// One cannot be made, or is there by now.
    pub(crate) fn create_anchors(&mut self) -> Result<Vec<String>, TreeUseError> {
        let mut made = Vec::new();
        for place in self.places.values_mut().filter(|place| place.anchor.is_none()) {
            let failed = |kind| TreeUseError { name: place.name.clone(), kind };
            Folder::create(&place.path, FileAccess::Umask).map_err(|error| failed(error.into()))?;
            let anchor = Anchor::open(&place.path).map_err(|error| failed(error.into()))?;
            if let Some(anchor) = &anchor {
                anchor.take(place.changes && !place.is_shared).map_err(|error| failed(error.into()))?;
                anchor.require_own().map_err(|error| failed(error.into()))?;
            }
            place.anchor = anchor;
            made.push(format!("{}: made the anchor {}", place.name, place.path.display()));
        }
        Ok(made)
    }

    /// Opens the trees of a run, and notes in those that it changes that what is known of them is not to be believed after a crash. Also
    /// says what is not as the run would expect it.
    ///
    /// # Errors
    /// One cannot be opened, or none of the files that the run uses is there.
    pub(crate) fn begin(&mut self, plan: &Plan, run: &Run) -> Result<(RunTrees, Vec<TreeRemark>), TreeUseError> {
        let (mut opened, mut remarks) = (vec![None; plan.trees.len()], Vec::new());
        for one in run.tree_uses() {
            if let (Some(found), Some(slot)) = (self.numbered.get(&one.tree), opened.get_mut(one.tree)) {
                *slot = Some(Arc::clone(&found.tree));
                continue;
            }
            let (Some(spec), Some(Some(path))) = (plan.trees.get(one.tree), self.paths.get(one.tree)) else {
                continue;
            };
            let Some(anchor) = self.places.get(path).and_then(|place| place.anchor.as_ref()) else { continue };
            let format = usage::format_of(run, one.tree);
            let begins_empty = format.as_ref().is_some_and(usage::begins_empty);
            let tree = match self.known.get(path) {
                Some(tree) if !begins_empty && *tree.shape() == one.shape => Arc::clone(tree),
                _ => {
                    let how = if begins_empty { Opening::Empty } else { Opening::Existing };
                    let fd = anchor.descriptor().map_err(|error| fails(spec, error))?;
                    Arc::new(Tree::in_anchor(&spec.anchor, fd, &one.shape, how).map_err(|error| fails(spec, error))?)
                }
            };
            if usage::needs_files(run, one.tree) {
                remarks.extend(missing_files(spec, run, &tree)?);
            }
            if usage::is_only_target(run, one.tree) && has_no_directory(&tree) {
                let (path, run) = (spec.anchor.clone(), run.title.clone());
                return Err(fails(spec, TreeUseErrorKind::NoTarget { path, run }));
            }
            if usage::needs_directories(run, one.tree) && has_no_directory(&tree) {
                let (path, run) = (spec.anchor.clone(), run.title.clone());
                return Err(fails(spec, TreeUseErrorKind::NoDirectories { path, run }));
            }
            if usage::changes(run, one.tree) {
                tree.begin_changes().map_err(|error| fails(spec, error))?;
            }
            self.known.insert(path.clone(), Arc::clone(&tree));
            if let Some(slot) = opened.get_mut(one.tree) {
                *slot = Some(tree);
            }
        }
        Ok((opened, remarks))
    }

    /// Writes down what a run left of its trees; says what a format made. `is_sure`: no operation failed or did not come back, so that
    /// what is known of the trees is so.
    pub(crate) fn end(
        &mut self,
        plan: &Plan,
        run: &Run,
        trees: &[Option<Arc<Tree>>],
        is_sure: bool,
    ) -> Vec<TreeRemark> {
        let mut remarks = Vec::new();
        let is_one = trees.iter().flatten().count() == 1;
        for (at, tree) in trees.iter().enumerate() {
            let (Some(tree), Some(spec)) = (tree, plan.trees.get(at)) else { continue };
            if self.numbered.contains_key(&at) {
                remarks.extend(self.remove(plan, at));
                continue;
            }
            if !usage::changes(run, at) {
                continue;
            }
            let remark = |sentence| TreeRemark { name: spec.name.clone(), sentence, is_trouble: true };
            let tree = if is_sure { Ok(Arc::clone(tree)) } else { self.listed(at, tree).map(Arc::new) };
            let tree = match tree {
                Ok(tree) => tree,
                Err(error) => {
                    remarks.push(remark(format!("what the run left of {} is not known: {error}", spec.name)));
                    if let Some(Some(path)) = self.paths.get(at) {
                        self.known.remove(path);
                    }
                    continue;
                }
            };
            if let Err(error) = tree.write_control_file(Moment::End) {
                remarks.push(remark(format!("the control file of {} was not written: {error}", spec.name)));
            }
            if let Some(task) = usage::format_of(run, at) {
                remarks.push(self.made(spec, at, &tree, task, is_one));
            }
            if let Some(Some(path)) = self.paths.get(at) {
                self.known.insert(path.clone(), tree);
            }
        }
        remarks
    }

    /// A tree as it is there.
    fn listed(&self, at: usize, tree: &Tree) -> Result<Tree, tree::TreeError> {
        let fd = rustix::io::fcntl_dupfd_cloexec(tree.anchor(), 0).map_err(|error| tree::TreeError::System {
            action: "open the anchor",
            path: tree.path().to_owned(),
            source: error.into(),
        })?;
        let path = self.paths.get(at).and_then(Option::as_deref).unwrap_or(tree.path());
        Tree::in_anchor(path, fd, tree.shape(), Opening::Listed)
    }

    /// What a format made.
    fn made(&self, spec: &TreeSpec, at: usize, tree: &Tree, task: FormatTask, is_one: bool) -> TreeRemark {
        let of = if is_one { String::new() } else { format!("{}: ", spec.name) };
        let remark = |sentence, is_trouble| TreeRemark {
            name: spec.name.clone(),
            sentence: format!("{of}{sentence}"),
            is_trouble,
        };
        if task.only_deletes {
            let anchor =
                self.paths.get(at).and_then(Option::as_ref).and_then(|path| self.places.get(path)?.anchor.as_ref());
            let left = anchor.map(Anchor::inspect);
            return match left {
                Some(Ok(left)) => {
                    let (files, directories) = (grouped(left.files as f64), grouped(left.directories as f64));
                    let is_trouble = left.files + left.directories > 0;
                    remark(format!("{files} files and {directories} directories are left"), is_trouble)
                }
                Some(Err(error)) => remark(format!("what is left is not known: {error}"), true),
                None => remark("nothing is left".to_string(), false),
            };
        }
        let (layout, state, members) = (tree.layout(), tree.state(), tree.members());
        let directories = (0..layout.directories()).filter(|at| state.has_directory(*at)).count();
        let known = || members.iter().map(|file| (file, state.file(file))).filter(|(_, known)| known.exists);
        let (files, bytes) = known().fold((0_u32, 0_u64), |(files, sum), (_, known)| (files + 1, sum + known.bytes));
        let full = known().filter(|(file, known)| known.bytes == layout.asked_bytes(*file)).count();
        let all = if task.only_directories { 0 } else { members.len() };
        let is_whole =
            directories == layout.directories() as usize && (task.only_directories || full == members.len() as usize);
        let directories = grouped(directories as f64);
        let sentence = if is_whole {
            let (files, all) = (grouped(f64::from(files)), grouped(f64::from(all)));
            format!("{files} of {all} files, {directories} directories, {}", format_bytes(bytes))
        } else {
            format!(
                "{} of {} files are complete, {} of {} directories are there, {}",
                grouped(full as f64),
                grouped(f64::from(all)),
                directories,
                grouped(f64::from(layout.directories())),
                format_bytes(bytes)
            )
        };
        remark(sentence, !is_whole && !task.limited)
    }
}

/// Is none of its directories there?
fn has_no_directory(tree: &Tree) -> bool {
    !(0..tree.layout().directories()).any(|at| tree.state().has_directory(at))
}

/// Says how many of the files that a run uses are there, where it is not all of them.
fn missing_files(spec: &TreeSpec, run: &Run, tree: &Tree) -> Result<Option<TreeRemark>, TreeUseError> {
    let used = tree.working_set();
    let there = used.iter().filter(|file| tree.state().file(*file).exists).count();
    if there == 0 {
        let (run, path) = (run.title.clone(), tree.path().to_owned());
        return Err(fails(spec, TreeUseErrorKind::NoFiles { run, path, files: used.len() }));
    }
    let (is_all, there, all) = (there == used.len() as usize, grouped(there as f64), grouped(f64::from(used.len())));
    let sentence = format!(
        "{there} of {all} files of {} exist, and the run uses only these; format=restart makes the others",
        spec.name
    );
    Ok((!is_all).then(|| TreeRemark { name: spec.name.clone(), sentence, is_trouble: true }))
}

#[cfg(test)]
mod tests;
