//! Trees of which every directory is listed: how many directories and files it holds, and how large these are.

use crate::names::{push_directory, push_file};
use crate::regular::PATH_MAX;

/// No tree is deeper.
pub(crate) const LEVELS_MAX: u32 = 256;
/// No file is larger, bytes.
pub(crate) const BYTES_MAX: u64 = (1 << 48) - 1;

/// The exact shape of a tree. Eight bytes for each file, and twelve for each directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTree {
    /// How many directories those before this one hold; the anchor is the first, and the sum is at the end. The directory with
    /// number n is at n + 1.
    directories: Vec<u32>,
    /// The same of files.
    files: Vec<u32>,
    /// By directory: where its parent is in these.
    parents: Vec<u32>,
    /// Number of the first directory of each level, and of all at the end.
    starts: Vec<u32>,
    sizes: Vec<u64>,
}

/// What a directory holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holds {
    /// Directories.
    pub directories: u32,
    /// Files.
    pub files: u32,
}

impl ListedTree {
    /// Of the anchor and then all directories by level, in a level by their parents, and the sizes of the files of each, in this
    /// order, bytes.
    ///
    /// # Errors
    /// Says what is wrong: the counts do not fit together, the anchor has files or no directory, or something is larger than can be.
    pub fn new(holds: &[Holds], sizes: Vec<u64>) -> Result<Self, String> {
        let anchor = holds.first().copied().unwrap_or_default();
        if anchor.files > 0 || anchor.directories == 0 {
            return Err("the anchor itself has no files, and at least one directory".to_string());
        }
        let all =
            u32::try_from(holds.len()).ok().filter(|all| *all < u32::MAX).ok_or("there are too many directories")?;
        let (mut directories, mut files) = (Vec::with_capacity(holds.len() + 1), Vec::with_capacity(holds.len() + 1));
        let mut parents = Vec::with_capacity(holds.len());
        let (mut directory_sum, mut file_sum) = (0_u32, 0_u32);
        for (at, one) in (0..all).zip(holds) {
            if at > directory_sum {
                return Err(format!("no directory before it holds directory {at}"));
            }
            directories.push(directory_sum);
            files.push(file_sum);
            let sum = directory_sum.checked_add(one.directories).filter(|sum| *sum < all);
            directory_sum = sum.ok_or_else(|| format!("directory {at} holds more directories than follow"))?;
            let sum = file_sum.checked_add(one.files).filter(|sum| *sum as usize <= sizes.len());
            file_sum = sum.ok_or_else(|| format!("directory {at} holds more files than there are sizes"))?;
            parents.resize(directory_sum as usize, at);
        }
        if directory_sum + 1 != all || file_sum as usize != sizes.len() {
            return Err("its counts of directories or files do not fit together".to_string());
        }
        directories.push(directory_sum);
        files.push(file_sum);
        if let Some(bytes) = sizes.iter().find(|bytes| **bytes > BYTES_MAX) {
            return Err(format!("a file of {bytes} bytes is larger than {BYTES_MAX}"));
        }
        let mut listed = Self { directories, files, parents, starts: Vec::new(), sizes };
        listed.measure()?;
        Ok(listed)
    }

    /// Finds the levels, and checks the length of all paths.
    fn measure(&mut self) -> Result<(), String> {
        let (mut levels, mut lengths) = (vec![0_u32], vec![0_usize]);
        let mut name = Vec::new();
        for directory in 0..self.directories() {
            let parent = self.parents.get(directory as usize).copied().unwrap_or(0) as usize;
            let level = levels.get(parent).map_or(1, |level| level + 1);
            if level > LEVELS_MAX {
                return Err(format!("it has more than {LEVELS_MAX} levels of directories"));
            }
            if level as usize > self.starts.len() {
                self.starts.push(directory);
            }
            name.clear();
            push_directory(&mut name, level, self.own_number(directory));
            let length = lengths.get(parent).map_or(0, |length| length + 1) + name.len();
            name.clear();
            push_file(&mut name, self.files_of(directory).len() as u64);
            if (length + name.len()) as u64 > PATH_MAX {
                return Err(format!("its longest path would have more than {PATH_MAX} bytes"));
            }
            levels.push(level);
            lengths.push(length);
        }
        self.starts.push(self.directories());
        Ok(())
    }

    /// What each directory holds, the anchor first.
    pub fn holds(&self) -> impl Iterator<Item = Holds> + '_ {
        let counts =
            |of: &[u32]| of.windows(2).map(|pair| pair.last().unwrap_or(&0) - pair.first().unwrap_or(&0)).collect();
        let (directories, files): (Vec<u32>, Vec<u32>) = (counts(&self.directories), counts(&self.files));
        directories.into_iter().zip(files).map(|(directories, files)| Holds { directories, files })
    }

    /// The size of each file, bytes.
    #[must_use]
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Number of directories, the anchor not among them.
    #[must_use]
    pub fn directories(&self) -> u32 {
        u32::try_from(self.parents.len()).unwrap_or(u32::MAX)
    }

    /// Number of files.
    #[must_use]
    pub fn files(&self) -> u32 {
        u32::try_from(self.sizes.len()).unwrap_or(u32::MAX)
    }

    /// Number of levels.
    #[must_use]
    pub fn levels(&self) -> u32 {
        u32::try_from(self.starts.len().saturating_sub(1)).unwrap_or(0)
    }

    /// How large all files are together.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.sizes.iter().copied().fold(0, u64::saturating_add)
    }

    pub(crate) fn level(&self, directory: u32) -> u32 {
        let level = self.starts.partition_point(|start| *start <= directory);
        u32::try_from(level).unwrap_or(u32::MAX)
    }

    pub(crate) fn level_range(&self, level: u32) -> std::ops::Range<u32> {
        let at = |level: u32| self.starts.get(level as usize).copied().unwrap_or(self.directories());
        at(level.saturating_sub(1))..at(level)
    }

    pub(crate) fn parent(&self, directory: u32) -> Option<u32> {
        self.parents.get(directory as usize).and_then(|parent| parent.checked_sub(1))
    }

    pub(crate) fn directory_of(&self, file: u32) -> u32 {
        let behind = self.files.partition_point(|start| *start <= file);
        // The anchor, which has none, is the first.
        u32::try_from(behind.saturating_sub(2)).unwrap_or(u32::MAX)
    }

    /// What those in a directory are numbered from and to.
    fn range(of: &[u32], at: usize) -> std::ops::Range<u32> {
        match of.get(at..at.saturating_add(2)) {
            Some([start, end]) => *start..*end,
            _ => 0..0,
        }
    }

    pub(crate) fn files_of(&self, directory: u32) -> std::ops::Range<u32> {
        Self::range(&self.files, directory as usize + 1)
    }

    pub(crate) fn child(&self, parent: Option<u32>, level: u64, number: u64) -> Option<u32> {
        let upper = parent.map_or(0, |parent| self.level(parent));
        if level != u64::from(upper) + 1 {
            return None;
        }
        let inside = Self::range(&self.directories, parent.map_or(0, |parent| parent as usize + 1));
        let at = u64::from(inside.start) + number.checked_sub(1).filter(|number| *number < u64::from(u32::MAX))?;
        u32::try_from(at).ok().filter(|at| inside.contains(at))
    }

    pub(crate) fn asked_bytes(&self, file: u32) -> u64 {
        self.sizes.get(file as usize).copied().unwrap_or(0)
    }

    /// Number in its parent, from 1.
    fn own_number(&self, directory: u32) -> u64 {
        let parent = self.parents.get(directory as usize).copied().unwrap_or(0);
        u64::from(directory - Self::range(&self.directories, parent as usize).start.min(directory)) + 1
    }

    pub(crate) fn directory_path(&self, directory: u32, out: &mut Vec<u8>) {
        out.clear();
        let mut chain = [0_u32; LEVELS_MAX as usize];
        let (mut at, mut next) = (chain.len(), Some(directory));
        while let Some(here) = next {
            let Some(slot) = at.checked_sub(1).and_then(|at| chain.get_mut(at)) else { break };
            (*slot, at, next) = (here, at - 1, self.parent(here));
        }
        for (level, here) in (1..).zip(chain.get(at..).unwrap_or_default()) {
            if level > 1 {
                out.push(b'/');
            }
            push_directory(out, level, self.own_number(*here));
        }
    }

    pub(crate) fn file_path(&self, file: u32, out: &mut Vec<u8>) {
        let directory = self.directory_of(file);
        self.directory_path(directory, out);
        out.push(b'/');
        self.push_file_name(file, out);
    }

    /// Adds the name that a file has in its directory.
    pub(crate) fn push_file_name(&self, file: u32, out: &mut Vec<u8>) {
        let directory = self.directory_of(file);
        push_file(out, u64::from(file - self.files_of(directory).start.min(file)) + 1);
    }
}
