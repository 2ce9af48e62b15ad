//! Looks at every anchor that a run uses before anything is opened or written.

use super::error::{TreeUseError, TreeUseErrorKind};
use super::places::{fails, resolved};
use super::usage::{self, Usage};
use super::{Place, Trees, numbered};
use plan::{Plan, Run, TreeShape, TreeSpec, TreeUse};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tree::{Anchor, Opening, Tree};

/// The list of users is not read further, bytes.
const USERS_MAX: u64 = 1 << 20;

/// All checks; `recording`: the directory that is going to be made.
pub(super) fn inspect(plan: &Plan, recording: Option<&Path>) -> Result<Trees, TreeUseError> {
    let (places, known, numbered) = Default::default();
    let mut trees = Trees { paths: vec![None; plan.trees.len()], places, known, numbered };
    let mut usages = usage::usages(plan);
    for (at, (spec, usage)) in plan.trees.iter().zip(&mut usages).enumerate() {
        if let Some(job) = numbered::job_of(plan, at) {
            trees.numbered.insert(at, numbered::inspect(plan, (at, spec), job)?);
            *usage = None;
        }
    }
    let used =
        || plan.trees.iter().zip(&usages).enumerate().filter_map(|(at, (spec, one))| Some((at, spec, one.as_ref()?)));
    for (at, spec, usage) in used() {
        let path = resolved(&spec.anchor).map_err(|kind| fails(spec, kind))?;
        if usage.changes {
            check_place(spec, &path)?;
        }
        check_neighbours(plan, spec, &path, recording)?;
        check_apart(plan, &trees, spec, &path)?;
        let place = trees.places.entry(path.clone()).or_insert_with(|| Place {
            path: path.clone(),
            anchor: None,
            there: (0, 0, 0),
            changes: false,
            is_shared: false,
            makes_parents: false,
            name: spec.name.clone(),
        });
        place.changes |= usage.changes;
        place.is_shared |= usage.is_shared;
        place.makes_parents |= spec.makes_parents;
        trees.paths[at] = Some(path);
    }
    check_once(plan, &trees)?;
    for (at, spec, usage) in used() {
        open(plan, &mut trees, (at, spec, usage))?;
    }
    follow(plan, &mut trees)?;
    Ok(trees)
}

/// Opens an anchor that is there, takes it, and proves that nothing foreign is in it.
fn open(plan: &Plan, trees: &mut Trees, (at, spec, usage): (usize, &TreeSpec, &Usage)) -> Result<(), TreeUseError> {
    let Some(place) = trees.paths[at].as_ref().and_then(|path| trees.places.get_mut(path)) else { return Ok(()) };
    if place.anchor.is_some() {
        return Ok(());
    }
    let Some(anchor) = Anchor::open(&place.path).map_err(|error| fails(spec, error))? else {
        let run = plan.runs.get(usage.first_run);
        if let Some(run) = run.filter(|run| usage::format_of(run, at).is_none()) {
            let (path, title) = (place.path.clone(), run.title.clone());
            let makes_directories = usage::makes_directories(run, at);
            return Err(fails(
                spec,
                match usage::is_only_target(run, at) {
                    true => TreeUseErrorKind::NoTarget { path, run: title },
                    false => TreeUseErrorKind::NoAnchor { path, run: title, makes_directories },
                },
            ));
        }
        let parent = place.path.parent().unwrap_or(Path::new("/"));
        if !place.makes_parents && !parent.is_dir() {
            let (path, parent) = (place.path.clone(), parent.to_owned());
            return Err(fails(spec, TreeUseErrorKind::NoParent { path, parent }));
        }
        return Ok(());
    };
    anchor.take(place.changes && !place.is_shared).map_err(|error| fails(spec, error))?;
    if place.changes {
        let found = anchor.require_own().map_err(|error| fails(spec, error))?;
        place.there = (found.directories, found.files, found.allocated_bytes);
    }
    place.anchor = Some(anchor);
    Ok(())
}

/// Refuses a place where a mistake would cost most.
fn check_place(spec: &TreeSpec, path: &Path) -> Result<(), TreeUseError> {
    let too_high = |what| Err(fails(spec, TreeUseErrorKind::TooHigh { path: path.to_owned(), what }));
    if path.parent().is_none() {
        return too_high("the root of all directories");
    }
    let nearest = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(path);
    if let Some(directory) = target::system_directory(nearest).or_else(|| target::system_directory(path)) {
        return Err(fails(spec, TreeUseErrorKind::SystemPlace { path: path.to_owned(), directory }));
    }
    if homes().iter().any(|home| home.starts_with(path)) {
        return too_high("a home directory or above one");
    }
    Ok(())
}

/// The home directories of this user and of all that the list of users names.
fn homes() -> Vec<PathBuf> {
    use std::io::Read as _;
    let mut users = String::new();
    // Users that are not in the list have what HOME says.
    let read = std::fs::File::open("/etc/passwd").map(|file| file.take(USERS_MAX).read_to_string(&mut users));
    drop(read);
    let listed = users.lines().filter_map(|line| line.split(':').nth(5)).map(PathBuf::from);
    let own = std::env::var_os("HOME").map(PathBuf::from);
    let real = listed.chain(own).filter_map(|home| std::fs::canonicalize(home).ok());
    // Services live at the root or nowhere.
    real.filter(|home| home.parent().is_some()).collect()
}

/// Refuses an anchor around or inside the recording or around a target.
fn check_neighbours(plan: &Plan, spec: &TreeSpec, path: &Path, recording: Option<&Path>) -> Result<(), TreeUseError> {
    let overlap = |other: String, other_path: &Path| {
        let (path, other_path) = (path.to_owned(), other_path.to_owned());
        Err(fails(spec, TreeUseErrorKind::Overlap { path, other, other_path }))
    };
    if let Some(place) = recording.and_then(|recording| resolved(recording).ok())
        && (place.starts_with(path) || path.starts_with(&place))
    {
        return overlap("the recording".to_string(), &place);
    }
    for target in &plan.targets {
        let Some(place) = resolved(&target.path).ok().filter(|place| place.starts_with(path)) else { continue };
        return overlap(format!("the target {}", target.name), &place);
    }
    Ok(())
}

/// Refuses an anchor inside or around another one.
fn check_apart(plan: &Plan, trees: &Trees, spec: &TreeSpec, path: &Path) -> Result<(), TreeUseError> {
    for (other_at, other) in trees.paths.iter().enumerate() {
        let Some(other) = other.as_deref().filter(|other| *other != path) else { continue };
        if other.starts_with(path) || path.starts_with(other) {
            let name = plan.trees.get(other_at).map_or("", |spec| &spec.name);
            let (path, other_path) = (path.to_owned(), other.to_owned());
            let other = format!("that of {name},");
            return Err(fails(spec, TreeUseErrorKind::Overlap { path, other, other_path }));
        }
    }
    Ok(())
}

/// Refuses two trees of a run in the same anchor.
fn check_once(plan: &Plan, trees: &Trees) -> Result<(), TreeUseError> {
    for run in &plan.runs {
        let mut seen: BTreeMap<&Path, usize> = BTreeMap::new();
        for one in run.tree_uses() {
            let Some(path) = trees.paths.get(one.tree).and_then(Option::as_deref) else { continue };
            let Some(other) = seen.insert(path, one.tree) else { continue };
            let (Some(spec), Some(other)) = (plan.trees.get(one.tree), plan.trees.get(other)) else { continue };
            let lines = plan.line_of(other.span).zip(plan.line_of(spec.span));
            let lines = lines.map_or(String::new(), |(first, second)| format!(" ({first} and {second})"));
            let (run, path, other) = (run.title.clone(), path.to_owned(), other.name.clone() + &lines);
            return Err(fails(spec, TreeUseErrorKind::Twice { run, path, other }));
        }
    }
    Ok(())
}

/// What is in an anchor when a run begins, as far as the plan says.
enum Past<'a> {
    /// What is there now.
    Disk,
    /// What this run made of this shape.
    Made(&'a Run, &'a TreeShape),
    /// Nothing.
    Empty,
    /// Not known before: a run takes things away.
    Open,
}

/// Goes through the runs in their order: none is to find out in the middle of the night that its tree is not there.
fn follow(plan: &Plan, trees: &mut Trees) -> Result<(), TreeUseError> {
    let mut pasts: BTreeMap<PathBuf, Past<'_>> = BTreeMap::new();
    for run in &plan.runs {
        for one in run.tree_uses() {
            let (Some(spec), Some(Some(path))) = (plan.trees.get(one.tree), trees.paths.get(one.tree)) else {
                continue;
            };
            let path = path.clone();
            let past = pasts.remove(&path).unwrap_or(Past::Disk);
            let next = step(trees, (spec, &path), run, one, past).map_err(|kind| fails(spec, kind))?;
            pasts.insert(path, next);
        }
    }
    Ok(())
}

fn step<'a>(
    trees: &mut Trees,
    (spec, path): (&TreeSpec, &Path),
    run: &'a Run,
    one: &'a TreeUse,
    past: Past<'a>,
) -> Result<Past<'a>, TreeUseErrorKind> {
    let format = usage::format_of(run, one.tree);
    let no_files = |files| TreeUseErrorKind::NoFiles { run: run.title.clone(), path: path.to_owned(), files };
    let no_directories = || TreeUseErrorKind::NoDirectories { run: run.title.clone(), path: path.to_owned() };
    let needs_files = usage::needs_files(run, one.tree);
    let needs_directories = usage::needs_directories(run, one.tree);
    if let Some(task) = format.as_ref().filter(|task| usage::begins_empty(task)) {
        // It must be possible at all.
        Tree::check(&one.shape)?;
        return Ok(if task.only_deletes { Past::Empty } else { Past::Made(run, &one.shape) });
    }
    match past {
        Past::Disk => {
            let Some(place) = trees.places.get(path) else { return Ok(Past::Open) };
            if let Some(anchor) = &place.anchor {
                let how = match (place.changes, one.is_taken_whole) {
                    (true, _) => Opening::Listed,
                    (false, true) => Opening::Whole,
                    (false, false) => Opening::Existing,
                };
                let tree = Tree::in_anchor(&spec.anchor, anchor.descriptor()?, &one.shape, how)?;
                if needs_files && !tree.working_set().iter().any(|file| tree.state().file(file).exists) {
                    return Err(no_files(tree.working_set().len()));
                }
                if needs_directories && super::has_no_directory(&tree) {
                    return Err(no_directories());
                }
                trees.known.insert(path.to_owned(), Arc::new(tree));
            } else {
                Tree::check(&one.shape)?;
            }
        }
        Past::Empty if needs_directories && !needs_files => return Err(no_directories()),
        Past::Empty if needs_files => return Err(no_files(Tree::check(&one.shape)?.1.len())),
        Past::Made(before, shape) if !usage::is_same_tree(shape, &one.shape) => {
            let (run, before, path) = (run.title.clone(), before.title.clone(), path.to_owned());
            return Err(TreeUseErrorKind::OtherShape { run, before, path });
        }
        Past::Made(..) | Past::Empty | Past::Open => drop(Tree::check(&one.shape)?),
    }
    Ok(match past {
        _ if usage::takes_away(run) => Past::Open,
        Past::Empty | Past::Open => Past::Open,
        Past::Made(..) => past,
        Past::Disk => Past::Made(run, &one.shape),
    })
}
