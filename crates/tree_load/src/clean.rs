//! Deleting what an anchor holds of a tree, of whatever shape: only names that Vdbench makes, of the right kind, on the anchor's
//! file system. Everything is looked at through descriptors of directories; links are never followed.

use super::below::open_below;
use super::thread::{Failure, TreeThread};
use plan::generate::OperationKind;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tree::{FileState, NameKind, is_link_name, name_kind, own_names};

impl TreeThread<'_> {
    /// A thread's part of deleting everything. False: the run is over, or there is something left.
    pub(crate) fn delete_all(&mut self) -> bool {
        let lane = self.lane;
        let Some(directories) = self.delete_files(false) else { return false };
        let at = |piece: u64| usize::try_from(piece).ok().filter(|at| *at < directories.len());
        let depth = |path: &[u8]| path.iter().filter(|byte| **byte == b'/').count();
        let deepest = directories.iter().map(|path| depth(path)).max().unwrap_or(0);
        for level in (0..=deepest).rev() {
            while self.may_go_on()
                && let Some(at) = at(lane.phases.piece())
            {
                let path = &directories[at];
                if depth(path) == level && !path.is_empty() && !self.remove(path, OperationKind::Rmdir) {
                    break;
                }
            }
            if !self.pass() {
                return false;
            }
        }
        true
    }

    /// A thread's part of deleting what flows that were killed have left. False: the run is over.
    pub(crate) fn delete_leftovers(&mut self) -> bool {
        self.delete_files(true).is_some()
    }

    /// Deletes all files, or only what flows have left; gives the directories. `None`: the run is over.
    fn delete_files(&mut self, only_leftovers: bool) -> Option<Arc<Vec<Vec<u8>>>> {
        let lane = self.lane;
        if lane.phases.piece() == 0 {
            self.list_directories();
        }
        if !self.pass() {
            return None;
        }
        let directories = lane.phases.found.lock().map(|found| Arc::clone(&found)).unwrap_or_default();
        while self.may_go_on()
            && let Some(path) = usize::try_from(lane.phases.piece()).ok().and_then(|at| directories.get(at))
        {
            if !self.empty_directory(path, only_leftovers) {
                break;
            }
        }
        self.pass().then_some(directories)
    }

    /// Finds the directories of trees in the anchor, the anchor itself (an empty path) among them.
    fn list_directories(&mut self) {
        let (mut all, mut next) = (vec![Vec::new()], 0);
        while next < all.len() && self.may_go_on() {
            let above = all[next].clone();
            next += 1;
            let Ok(directory) = self.directory(&above) else { continue };
            each_entry(&directory, &[NameKind::Directory], |name, stat| {
                if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                    all.push(joined(&above, name));
                }
                true
            });
        }
        if let Ok(mut found) = self.lane.phases.found.lock() {
            *found = Arc::new(all);
        }
    }

    /// Opens a directory below the anchor; the anchor itself where the path is empty.
    fn directory(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { &b"."[..] } else { path };
        open_below(self.tree().anchor(), path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    }

    /// Deletes the files of a directory, or only what flows have left. False: the run is over.
    fn empty_directory(&mut self, path: &[u8], only_leftovers: bool) -> bool {
        let Ok(directory) = self.directory(path) else { return true };
        let mut goes_on = true;
        let mut names: Vec<Vec<u8>> = Vec::new();
        // The anchor itself has no files of a tree; its control file is not the engine's.
        let kinds: &[NameKind] =
            if only_leftovers { &[NameKind::Leftover] } else { &[NameKind::File, NameKind::Leftover] };
        each_entry(&directory, kinds, |name, stat| {
            let is_link = name_kind(name) == Some(NameKind::Leftover) && is_link_name(name);
            let kind = if is_link { FileType::Symlink } else { FileType::RegularFile };
            let is_alone =
                stat.st_nlink == 1 || u128::from(own_names(directory.as_fd(), name)) >= u128::from(stat.st_nlink);
            if FileType::from_raw_mode(stat.st_mode) == kind && is_alone {
                names.push(name.to_vec());
            }
            if names.len() == 1024 {
                goes_on = self.remove_files(path, &mut names);
            }
            goes_on
        });
        goes_on && self.remove_files(path, &mut names)
    }

    fn remove_files(&mut self, directory: &[u8], names: &mut Vec<Vec<u8>>) -> bool {
        names.drain(..).all(|name| self.may_go_on() && self.remove(&joined(directory, &name), OperationKind::Delete))
    }

    /// Removes a file or directory. False: the run is over.
    fn remove(&mut self, path: &[u8], kind: OperationKind) -> bool {
        self.set_path(path);
        let entry = entry_at(self.tree(), path);
        if let Some(Entry::File(file)) = entry
            && self.announce(OperationKind::Delete, file)
        {
            self.free_ns = self.now_ns();
        }
        let flags = if kind == OperationKind::Rmdir { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        let removed = self.format_step(kind, (0, 0), |this| {
            let lane = this.lane;
            this.in_directory(&lane.tree, |at, name| rustix::fs::unlinkat(at, name, flags)).map_err(Failure::from)?;
            Ok(0)
        });
        let failure = removed.and_then(|removed| removed.err().filter(|failure| !failure.is(Errno::NOENT)));
        let (state, layout) = (self.tree().state(), self.tree().layout());
        match entry {
            Some(Entry::File(file)) if removed.is_none() => {
                self.proved(self.tree()).iter().for_each(|proved| proved.not_removed(file));
            }
            Some(Entry::File(file)) => {
                if failure.is_none() {
                    state.set_file(layout, file, FileState { exists: false, bytes: 0 });
                }
                self.note_removed(self.tree(), file, failure);
            }
            Some(Entry::Directory(directory)) if removed.is_some() && failure.is_none() => {
                state.set_directory(layout, directory, false);
                self.note_directory(self.tree(), directory, false, None);
            }
            Some(Entry::Directory(_)) | None => {}
        }
        removed.is_some()
    }
}

fn joined(above: &[u8], name: &[u8]) -> Vec<u8> {
    if above.is_empty() { name.to_vec() } else { [above, name].join(&b'/') }
}

/// Visits what a directory holds of these kinds on its own file system, until `visit` says false.
fn each_entry(directory: &OwnedFd, kinds: &[NameKind], mut visit: impl FnMut(&[u8], &Stat) -> bool) {
    let (Ok(entries), Ok(own)) = (Dir::read_from(directory), rustix::fs::fstat(directory)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name_kind(name.to_bytes()).is_some_and(|kind| kinds.contains(&kind)) {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if stat.st_dev == own.st_dev && !visit(name.to_bytes(), &stat) {
            return;
        }
    }
}

/// What of a tree has a path.
#[derive(Clone, Copy, Debug)]
enum Entry {
    File(u32),
    Directory(u32),
}

/// What has this path, by its number, if it is of the tree's shape.
fn entry_at(tree: &tree::Tree, path: &[u8]) -> Option<Entry> {
    let layout = tree.layout();
    let mut directory = None;
    for name in std::str::from_utf8(path).ok()?.split('/') {
        if let Some(number) = name.strip_prefix("vdb_f").and_then(|rest| rest.strip_suffix(".file")) {
            return Some(Entry::File(layout.file_at(directory?, number.parse().ok()?)?));
        }
        let (level, number) = name.strip_prefix("vdb.")?.strip_suffix(".dir")?.split_once('_')?;
        directory = Some(layout.child(directory, level.parse().ok()?, number.parse().ok()?)?);
    }
    Some(Entry::Directory(directory?))
}
