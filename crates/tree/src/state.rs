//! What is known to exist of a tree, shared by all threads that work in it.

use crate::TreeLayout;
use std::sync::atomic::{AtomicU64, Ordering};

const EXISTS: u64 = 1 << 63;
const TAKEN: u64 = 1 << 62;
const BYTES: u64 = (1 << 48) - 1;

/// A file, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Does it exist?
    pub exists: bool,
    /// How large it is; 0 where it does not exist.
    pub bytes: u64,
}

/// What exists of a tree, eight bytes for each file and directory. A file or directory is taken by a thread before it is used, so
/// that no other thread deletes it meanwhile.
#[derive(Debug)]
pub struct TreeState {
    /// By directory: exists, taken, and how many files and directories it holds.
    directories: Box<[AtomicU64]>,
    /// By file: exists, taken, size.
    files: Box<[AtomicU64]>,
}

impl TreeState {
    /// Of a tree of which nothing exists.
    #[must_use]
    pub fn empty(layout: &TreeLayout) -> Self {
        let zeros = |count: u32| (0..count).map(|_| AtomicU64::new(0)).collect();
        Self { directories: zeros(layout.directories()), files: zeros(layout.files()) }
    }

    /// Says that everything exists, each file as large as asked.
    pub(crate) fn set_whole(&self, layout: &TreeLayout) {
        (0..layout.directories()).for_each(|directory| self.set_directory(layout, directory, true));
        for file in 0..layout.files() {
            self.set_file(layout, file, FileState { exists: true, bytes: layout.asked_bytes(file) });
        }
    }

    /// A file.
    #[must_use]
    pub fn file(&self, file: u32) -> FileState {
        let word = self.files[file as usize].load(Ordering::Acquire);
        FileState { exists: word & EXISTS != 0, bytes: word & BYTES }
    }

    /// Says what a file is now; whether it is taken stays as it is. Its directory holds one more or one less where it was not so before.
    pub fn set_file(&self, layout: &TreeLayout, file: u32, state: FileState) {
        let new = if state.exists { EXISTS | (state.bytes & BYTES) } else { 0 };
        let update = |word: u64| Some((word & TAKEN) | new);
        let before = self.files[file as usize].fetch_update(Ordering::AcqRel, Ordering::Acquire, update).unwrap_or(0);
        self.count(Some(layout.directory_of(file)), before & EXISTS != 0, state.exists);
    }

    /// Does a directory exist?
    #[must_use]
    pub fn has_directory(&self, directory: u32) -> bool {
        self.directories[directory as usize].load(Ordering::Acquire) & EXISTS != 0
    }

    /// Says whether a directory exists now.
    pub fn set_directory(&self, layout: &TreeLayout, directory: u32, exists: bool) {
        let word = &self.directories[directory as usize];
        let before =
            if exists { word.fetch_or(EXISTS, Ordering::AcqRel) } else { word.fetch_and(!EXISTS, Ordering::AcqRel) };
        self.count(layout.parent(directory), before & EXISTS != 0, exists);
    }

    /// How many files and directories of the tree a directory holds.
    #[must_use]
    pub fn entries(&self, directory: u32) -> u64 {
        self.directories[directory as usize].load(Ordering::Acquire) & BYTES
    }

    fn count(&self, directory: Option<u32>, before: bool, now: bool) {
        let Some(word) = directory.and_then(|at| self.directories.get(at as usize)) else { return };
        match (before, now) {
            (false, true) => word.fetch_add(1, Ordering::AcqRel),
            (true, false) => word.fetch_sub(1, Ordering::AcqRel),
            _ => 0,
        };
    }

    /// Takes a file for the calling thread; `false` when another one has it.
    #[must_use]
    pub fn take_file(&self, file: u32) -> bool {
        self.files[file as usize].fetch_or(TAKEN, Ordering::AcqRel) & TAKEN == 0
    }

    /// As [`TreeState::take_file`], where no other thread takes or changes anything: without the locked access that this needs.
    #[must_use]
    pub fn take_file_alone(&self, file: u32) -> bool {
        let word = &self.files[file as usize];
        let before = word.load(Ordering::Relaxed);
        word.store(before | TAKEN, Ordering::Relaxed);
        before & TAKEN == 0
    }

    /// As [`TreeState::release_file`], where no other thread takes or changes anything.
    pub fn release_file_alone(&self, file: u32) {
        let word = &self.files[file as usize];
        word.store(word.load(Ordering::Relaxed) & !TAKEN, Ordering::Relaxed);
    }

    /// Gives a file back that was taken.
    pub fn release_file(&self, file: u32) {
        self.files[file as usize].fetch_and(!TAKEN, Ordering::AcqRel);
    }

    /// Takes a directory for the calling thread; `false` when another one has it.
    #[must_use]
    pub fn take_directory(&self, directory: u32) -> bool {
        self.directories[directory as usize].fetch_or(TAKEN, Ordering::AcqRel) & TAKEN == 0
    }

    /// Gives a directory back that was taken.
    pub fn release_directory(&self, directory: u32) {
        self.directories[directory as usize].fetch_and(!TAKEN, Ordering::AcqRel);
    }
}
