//! What was found in a directory tree.

use crate::Distribution;
use std::collections::BTreeMap;

/// The most entries that could not be read of which more than the count is kept.
const UNREAD_MAX: usize = 5;

/// What is in one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCount {
    /// Directories.
    pub directories: u64,
    /// Names of files, in directories of the level above.
    pub files: u64,
}

/// An entry that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// Its level.
    pub level: usize,
    /// Why.
    pub reason: String,
    /// Its path below the directory; only where names were asked for.
    pub name: Option<Vec<u8>>,
}

/// The greatest of its kind, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRecord {
    /// How great.
    pub value: u64,
    /// Its path below the directory.
    pub name: Vec<u8>,
}

/// A directory tree in numbers. The directory itself has level 0 and is in no count but those of a directory's entries.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Directories below it.
    pub directories: u64,
    /// Regular files, those with several names once.
    pub files: u64,
    /// Symbolic links.
    pub symbolic_links: u64,
    /// Sockets, pipes, devices.
    pub others: u64,
    /// Files that have more than one name.
    pub hard_linked: u64,
    /// Names of these beyond the first, in the tree.
    pub further_names: u64,
    /// What each level has; entries of the directory itself are level 1.
    pub levels: Vec<LevelCount>,
    /// Subdirectories of each directory that was read.
    pub subdirectories: Distribution,
    /// Names of files in each directory that was read.
    pub directory_files: Distribution,
    /// Sizes of files, bytes.
    pub sizes: Distribution,
    /// Bytes that the file system holds for all files.
    pub allocated: u128,
    /// Files that hold less than their size.
    pub sparse: u64,
    /// Their sizes together, bytes.
    pub sparse_bytes: u128,
    /// What they hold, bytes.
    pub sparse_allocated: u128,
    /// Lengths of names, bytes.
    pub name_lengths: Distribution,
    /// Entries that could not be read.
    pub unread: u64,
    /// How many of them for each reason.
    pub unread_reasons: BTreeMap<String, u64>,
    /// The first of them.
    pub unread_first: Vec<Unread>,
    /// Entries that were gone, and directories that changed, while they were read.
    pub changed: u64,
    /// Directories with another file system on them, not entered.
    pub mounts: u64,
    /// Directories read without the right to keep their access time.
    pub access_times: u64,
    /// The largest file; only where names were asked for.
    pub largest: Option<NamedRecord>,
    /// The directory with most entries; only where names were asked for.
    pub fullest: Option<NamedRecord>,
}

/// Keeps the greater; of equal ones that with the first name.
pub(crate) fn keep(record: &mut Option<NamedRecord>, value: u64, name: &[u8]) {
    let is_greater = |old: &NamedRecord| value > old.value || value == old.value && name < old.name.as_slice();
    if record.as_ref().is_none_or(is_greater) {
        *record = Some(NamedRecord { value, name: name.to_vec() });
    }
}

impl Measured {
    /// Counts in a level.
    pub(crate) fn level(&mut self, level: usize) -> Option<&mut LevelCount> {
        if self.levels.len() <= level {
            self.levels.resize(level + 1, LevelCount::default());
        }
        self.levels.get_mut(level)
    }

    /// An entry that could not be read.
    pub(crate) fn add_unread(&mut self, level: usize, reason: String, name: Option<Vec<u8>>) {
        self.unread += 1;
        *self.unread_reasons.entry(reason.clone()).or_default() += 1;
        if self.unread_first.len() < UNREAD_MAX {
            self.unread_first.push(Unread { level, reason, name });
        }
    }

    /// Adds what another thread found in other directories of the same tree.
    pub(crate) fn merge(&mut self, other: Self) {
        self.directories += other.directories;
        self.files += other.files;
        self.symbolic_links += other.symbolic_links;
        self.others += other.others;
        self.hard_linked += other.hard_linked;
        self.further_names += other.further_names;
        for (at, from) in other.levels.iter().enumerate() {
            if let Some(level) = self.level(at) {
                level.directories += from.directories;
                level.files += from.files;
            }
        }
        self.subdirectories.merge(&other.subdirectories);
        self.directory_files.merge(&other.directory_files);
        self.sizes.merge(&other.sizes);
        self.allocated += other.allocated;
        self.sparse += other.sparse;
        self.sparse_bytes += other.sparse_bytes;
        self.sparse_allocated += other.sparse_allocated;
        self.name_lengths.merge(&other.name_lengths);
        self.unread += other.unread;
        for (reason, count) in other.unread_reasons {
            *self.unread_reasons.entry(reason).or_default() += count;
        }
        self.unread_first.extend(other.unread_first);
        self.unread_first.sort();
        self.unread_first.truncate(UNREAD_MAX);
        self.changed += other.changed;
        self.mounts += other.mounts;
        self.access_times += other.access_times;
        for (own, from) in [(&mut self.largest, other.largest), (&mut self.fullest, other.fullest)] {
            from.into_iter().for_each(|from| keep(own, from.value, &from.name));
        }
    }

    /// The deepest level that has a directory; 0: there is none.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.levels.iter().rposition(|level| level.directories > 0).unwrap_or(0)
    }

    /// The mean level of the directories that hold files, each as often as it holds names of them; without files, of all
    /// directories. The directory itself is 0.
    #[must_use]
    pub fn mean_level(&self) -> f64 {
        let mean = |of: &dyn Fn(&LevelCount) -> u64| {
            let (mut count, mut sum) = (0.0, 0.0);
            for (at, level) in self.levels.iter().enumerate() {
                count += of(level) as f64;
                sum += of(level) as f64 * at as f64;
            }
            (count > 0.0).then(|| sum / count)
        };
        // Files stand one level below the directory that holds them.
        let of_files = mean(&|level| level.files).map(|level| level - 1.0);
        of_files.or_else(|| mean(&|level| level.directories)).unwrap_or(0.0)
    }
}
