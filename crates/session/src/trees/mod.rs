//! The trees of a command: looks at their anchors before anything begins, opens them for each run, and keeps their control files.
//!
//! As Vdbench does, the control file of a tree that a run changes is written before and after it; the first says that what it tells
//! is not to be believed, so that after a crash the directories are looked at. Vdbench makes any anchor that is missing; here only a
//! format does, so that a slip of the pen makes none.

mod error;
mod numbered;
mod places;
mod preflight;
mod room;
mod shapes;
mod usage;

pub use error::{TreeUseError, TreeUseErrorKind};
pub(crate) use places::resolved_anchor;
pub(crate) use shapes::shape_sources;
pub(crate) use usage::is_same_tree;

use output::FileAccess;
use output::Folder;
use places::fails;
use plan::{FormatTask, Plan, Run, TreeSpec};
use quantity::figures::grouped;
use quantity::text::format_bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target::WritePolicy;
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
    /// Directories and files of a tree that were there, and bytes of their blocks.
    there: (u64, u64, u64),
    changes: bool,
    is_shared: bool,
    makes_parents: bool,
    /// Of the first tree there.
    name: String,
}

/// A tree of at most so many directories and files is listed when a format has made it.
const LISTED_MAX: u64 = 200_000;

/// A tree of a run by its index in the plan; `None`: the run does not use it.
pub(crate) type RunTrees = Vec<Option<Arc<Tree>>>;

/// How far what is known of the trees of a run is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeCertainty {
    /// All operations succeeded.
    Sure,
    /// Some failed.
    Failures,
    /// Some did not come back: their file system hangs.
    Hangs,
}

impl TreeCertainty {
    /// After a run with so many operations that failed, and that did not come back.
    pub(crate) fn of(errors: u64, unfinished: u64) -> Self {
        match (errors, unfinished) {
            (0, 0) => Self::Sure,
            (_, 0) => Self::Failures,
            _ => Self::Hangs,
        }
    }
}

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

    /// Have the file systems room for what formats are to make, and is no file deleted or made longer that is not known as iodyno's?
    ///
    /// # Errors
    /// One of that is not so, and no flag permits it; or a tree cannot be at all.
    pub(crate) fn check(&self, plan: &Plan, policy: &WritePolicy) -> Result<(), TreeUseError> {
        if !policy.may_overfill {
            room::check(self, plan)?;
        }
        self.check_numbered(plan, policy)
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
            let Some(place) = self.places.get(path) else { continue };
            let Some(anchor) = &place.anchor else { continue };
            let is_taken_whole = one.is_taken_whole && !place.changes;
            let format = usage::format_of(run, one.tree);
            let begins_empty = format.as_ref().is_some_and(usage::begins_empty);
            let tree = match self.known.get(path) {
                Some(tree) if !begins_empty && *tree.shape() == one.shape => Arc::clone(tree),
                _ => {
                    let how = match (begins_empty, is_taken_whole) {
                        (true, _) => Opening::Empty,
                        (false, true) => Opening::Whole,
                        (false, false) => Opening::Existing,
                    };
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

    /// Opens the trees of a run that reads what must be there, whatever is: nothing is looked at before.
    ///
    /// # Errors
    /// An anchor cannot be opened.
    pub(crate) fn begin_reading(&self, plan: &Plan, run: &Run) -> Result<RunTrees, TreeUseError> {
        let mut opened = vec![None; plan.trees.len()];
        for one in run.tree_uses() {
            let (Some(spec), Some(Some(path))) = (plan.trees.get(one.tree), self.paths.get(one.tree)) else {
                continue;
            };
            let Some(anchor) = self.places.get(path).and_then(|place| place.anchor.as_ref()) else { continue };
            let fd = anchor.descriptor().map_err(|error| fails(spec, error))?;
            let tree =
                Tree::in_anchor(&spec.anchor, fd, &one.shape, Opening::Empty).map_err(|error| fails(spec, error))?;
            if let Some(slot) = opened.get_mut(one.tree) {
                *slot = Some(Arc::new(tree));
            }
        }
        Ok(opened)
    }

    /// Writes down what a run left of its trees; says what a format made. What is not certain is
    /// looked at.
    pub(crate) fn end(
        &mut self,
        plan: &Plan,
        run: &Run,
        trees: &[Option<Arc<Tree>>],
        certainty: TreeCertainty,
    ) -> Vec<TreeRemark> {
        let mut remarks = Vec::new();
        let is_one = trees.iter().flatten().count() == 1;
        for (at, tree) in trees.iter().enumerate() {
            let (Some(tree), Some(spec)) = (tree, plan.trees.get(at)) else { continue };
            if self.numbered.contains_key(&at) {
                remarks.extend(self.after_numbered(plan, at, certainty));
                continue;
            }
            if !usage::changes(run, at) {
                continue;
            }
            let remark = |sentence| TreeRemark { name: spec.name.clone(), sentence, is_trouble: true };
            if certainty == TreeCertainty::Hangs {
                let of = &spec.name;
                // A look at it, and its control file, would hang as well.
                remarks.push(remark(format!(
                    "what the run left of {of} is not known, because operations did not come back; the next run looks at its directories"
                )));
                if let Some(Some(path)) = self.paths.get(at) {
                    self.known.remove(path);
                }
                continue;
            }
            let tree = if certainty == TreeCertainty::Sure {
                Ok(Arc::clone(tree))
            } else {
                self.listed(at, tree).map(Arc::new)
            };
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
        let full = known().filter(|(file, known)| known.bytes >= layout.asked_bytes(*file)).count();
        let longer = known().filter(|(file, known)| known.bytes > layout.asked_bytes(*file)).count();
        let all = if task.only_directories { 0 } else { members.len() };
        let is_whole =
            directories == layout.directories() as usize && (task.only_directories || full == members.len() as usize);
        let directories = grouped(directories as f64);
        let mut is_seen = true;
        let sentence = if is_whole {
            let seen;
            (seen, is_seen) = self.seen(at, tree);
            let (files, all) = (grouped(f64::from(files)), grouped(f64::from(all)));
            format!("{files} of {all} files, {directories} directories, {}{seen}", format_bytes(bytes))
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
        // What was appended to stays, as Vdbench's restart leaves it.
        let longer = match longer {
            0 => String::new(),
            count => format!("; {} longer than asked for, format=yes makes them anew", grouped(count as f64)),
        };
        remark(format!("{sentence}{longer}"), (!is_whole && !task.limited) || !is_seen)
    }

    /// Lists what is below the anchor of a tree that is known to be whole; says what that finds, and whether all of it is there.
    fn seen(&self, at: usize, tree: &Tree) -> (String, bool) {
        let (layout, state) = (tree.layout(), tree.state());
        let entries = u64::from(layout.directories()) + u64::from(layout.files());
        if tree.shape().shared {
            return (String::new(), true);
        }
        if entries > LISTED_MAX {
            return (
                format!(" by its operations; not listed, it is more than {} entries", grouped(LISTED_MAX as f64)),
                true,
            );
        }
        let place = self.paths.get(at).and_then(Option::as_ref).and_then(|path| self.places.get(path));
        let Some(anchor) = place.and_then(|place| place.anchor.as_ref()) else { return (String::new(), true) };
        let found = match anchor.inspect() {
            Ok(found) => found,
            Err(error) => return (format!(" by its operations; a listing failed: {error}"), false),
        };
        let directories = (0..layout.directories()).filter(|at| state.has_directory(*at)).count() as u64;
        let there = (0..layout.files()).map(|file| state.file(file)).filter(|known| known.exists);
        let (files, bytes) = there.fold((0_u64, 0_u64), |(files, sum), known| (files + 1, sum + known.bytes));
        if (found.directories, found.files, found.bytes) == (directories, files, bytes) {
            return ("; a listing finds the same".to_string(), true);
        }
        let sentence = format!(
            " by its operations, but a listing finds {} files, {} directories, {}",
            grouped(found.files as f64),
            grouped(found.directories as f64),
            format_bytes(found.bytes)
        );
        (sentence, found.directories >= directories && found.files >= files && found.bytes >= bytes)
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
