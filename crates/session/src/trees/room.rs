//! Whether file systems have room for what formats and fio's jobs on names are to make on them.

use super::error::{TreeUseError, TreeUseErrorKind};
use super::places::fails;
use super::{Trees, usage};
use plan::{FileSizes, Plan, TreeUse};
use quantity::figures::grouped;
use quantity::text::format_bytes;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use tree::Tree;

/// What trees need, or have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Room {
    bytes: u64,
    /// Directories and files.
    entries: u64,
}

impl Room {
    fn most(self, other: Self) -> Self {
        Self { bytes: self.bytes.max(other.bytes), entries: self.entries.max(other.entries) }
    }

    fn plus(self, other: Self) -> Self {
        let entries = self.entries.saturating_add(other.entries);
        Self { bytes: self.bytes.saturating_add(other.bytes), entries }
    }

    fn words(self, bytes: bool, entries: bool) -> String {
        let entries = entries.then(|| format!("{} directories and files", grouped(self.entries as f64)));
        let words: Vec<String> = bytes.then(|| format_bytes(self.bytes)).into_iter().chain(entries).collect();
        words.join(" and ")
    }
}

/// Refuses what a file system has no room for. The blocks of what is there of a tree count as room,
/// since a format deletes or keeps it.
pub(super) fn check(trees: &Trees, plan: &Plan) -> Result<(), TreeUseError> {
    let mut needs: BTreeMap<&Path, (usize, Room)> = BTreeMap::new();
    for run in &plan.runs {
        for one in run.tree_uses() {
            let Some(path) = trees.paths.get(one.tree).and_then(Option::as_deref) else { continue };
            let need = need_of(plan, run, one)?;
            let known = needs.entry(path).or_insert((one.tree, Room::default()));
            known.1 = known.1.most(need);
        }
    }
    // By file system: the first anchor, what is needed, and what is there of the trees.
    let mut systems: BTreeMap<u64, (usize, &Path, Room, Room)> = BTreeMap::new();
    for (path, (tree, need)) in needs {
        let nearest = path.ancestors().find_map(|ancestor| ancestor.metadata().ok());
        let (Some(device), Some(place)) = (nearest.map(|found| found.dev()), trees.places.get(path)) else { continue };
        let (directories, files, bytes) = place.there;
        let there = Room { bytes, entries: directories.saturating_add(files) };
        let known = systems.entry(device).or_insert((tree, path, Room::default(), Room::default()));
        (known.2, known.3) = (known.2.plus(need), known.3.plus(there));
    }
    // Jobs whose entries have the same names in the same directory make them once.
    let mut jobs: BTreeMap<(&Path, &str), (usize, Room)> = BTreeMap::new();
    for (tree, one) in &trees.numbered {
        let Some(spec) = plan.trees.get(*tree) else { continue };
        let known = jobs.entry((&one.path, &spec.name)).or_insert((*tree, Room::default()));
        known.1 = known.1.most(Room { bytes: one.lacking.bytes, entries: one.lacking.count });
    }
    for ((path, _), (tree, need)) in jobs {
        let Some(device) = path.metadata().ok().map(|found| found.dev()) else { continue };
        let known = systems.entry(device).or_insert((tree, path, Room::default(), Room::default()));
        known.2 = known.2.plus(need);
    }
    for (tree, path, need, there) in systems.into_values() {
        let (Some(free), Some(spec)) = (free_at(path), plan.trees.get(tree)) else { continue };
        let room = free.plus(there);
        let (bytes, entries) = (need.bytes > room.bytes, need.entries > room.entries);
        if bytes || entries {
            let (need, room) = (need.words(bytes, entries), room.words(bytes, entries));
            return Err(fails(spec, TreeUseErrorKind::NoRoom { path: path.to_owned(), need, room }));
        }
    }
    Ok(())
}

/// What a run is to make of a tree. A format that ends with its time makes as much as it comes to.
fn need_of(plan: &Plan, run: &plan::Run, one: &TreeUse) -> Result<Room, TreeUseError> {
    let Some(task) = usage::format_of(run, one.tree).filter(|task| !task.only_deletes && !task.limited) else {
        return Ok(Room::default());
    };
    let (layout, members, _) = match (Tree::check(&one.shape), plan.trees.get(one.tree)) {
        (Ok(found), _) => found,
        (Err(error), Some(spec)) => return Err(fails(spec, error)),
        (Err(_), None) => return Ok(Room::default()),
    };
    let directories = u64::from(layout.directories());
    if task.only_directories {
        return Ok(Room { bytes: 0, entries: directories });
    }
    // Data takes whole blocks. How many bytes are in the last one of each file is not known for all sizes: half a block is the mean.
    let block = plan.trees.get(one.tree).map_or(0, |spec| block_at(&spec.anchor));
    let bytes = match &one.shape.sizes {
        FileSizes::Fixed(size) if block > 0 => {
            size.div_ceil(block).saturating_mul(block).saturating_mul(u64::from(members.len()))
        }
        _ => members.asked_bytes(&layout).saturating_add(u64::from(members.len()).saturating_mul(block / 2)),
    };
    Ok(Room { bytes, entries: directories + u64::from(members.len()) })
}

/// Bytes of a block of the file system of a path; 0: it does not say.
fn block_at(path: &Path) -> u64 {
    path.ancestors().find_map(|ancestor| rustix::fs::statvfs(ancestor).ok()).map_or(0, |found| found.f_frsize)
}

/// What is free on the file system of a path, or of where it will be; `None`: it does not say.
fn free_at(path: &Path) -> Option<Room> {
    let found = path.ancestors().find_map(|ancestor| rustix::fs::statvfs(ancestor).ok())?;
    if found.f_blocks == 0 {
        return None;
    }
    // Some of it is kept for root.
    let is_root = rustix::process::geteuid().is_root();
    let blocks = if is_root { found.f_bfree } else { found.f_bavail };
    // Where these are made as they are needed, there is no number of them.
    let entries = if found.f_files == 0 { u64::MAX } else { found.f_ffree };
    Some(Room { bytes: blocks.saturating_mul(found.f_frsize), entries })
}
