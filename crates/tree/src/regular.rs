//! Places and sizes of a regular tree, in which every directory of a level is alike.
//!
//! Numbers are Vdbench's, in whose order its control file lists them: directories by level, in a level by their own number in
//! their parent, then by their parents from the top; files by directory. So each is arithmetic.

use crate::TreeError;
use crate::names::{push_directory, push_file, push_number};
use crate::sizes::AskedSizes;
use plan::{FilePlace, TreeNames, TreeShape};

/// The most directories, and the most files, that a tree may have.
const MOST: u64 = u32::MAX as u64;

/// No path below an anchor is longer, bytes: the kernel takes no longer ones.
pub(crate) const PATH_MAX: u64 = 4095;

/// Bytes of the longest path below the anchor.
fn longest_path(depth: u32, width: u64, files: u64) -> u64 {
    let mut name = Vec::new();
    let mut sum = 0;
    for level in 1..=depth {
        name.clear();
        push_directory(&mut name, level, width);
        sum += name.len() as u64 + 1;
        if sum > PATH_MAX {
            break;
        }
    }
    name.clear();
    push_file(&mut name, files);
    sum + name.len() as u64
}

/// Where everything of a regular tree is.
#[derive(Debug)]
pub(crate) struct RegularLayout {
    width: u64,
    /// Number of the first directory of each level, and of all at the end.
    starts: Vec<u64>,
    files_each: u64,
    /// The first directory that has files.
    first_with_files: u64,
    files: u32,
    sizes: AskedSizes,
    names: TreeNames,
}

impl RegularLayout {
    /// Of a tree of this shape.
    ///
    /// # Errors
    /// When it has more directories or files than can be numbered.
    pub(crate) fn new(shape: &TreeShape) -> Result<Self, TreeError> {
        let TreeShape { depth, width, files, .. } = *shape;
        let too_large = || TreeError::TooLarge { depth, width, files, max: MOST };
        if !shape.names.is_vdbench() {
            let count = u32::try_from(files).map_err(|_| too_large())?;
            let (sizes, names) = (AskedSizes::new(&shape.sizes, count), shape.names.clone());
            let (starts, files_each) = (vec![0], files.max(1));
            return Ok(Self { width: 1, starts, files_each, first_with_files: 0, files: count, sizes, names });
        }
        let (depth, width) = (depth.max(1), u64::from(width.max(1)));
        let (mut starts, mut of_level) = (vec![0], 1_u64);
        for _ in 0..depth {
            of_level = of_level.checked_mul(width).filter(|count| *count <= MOST).ok_or_else(too_large)?;
            let end = starts.last().map_or(0, |start| start + of_level);
            starts.push(Some(end).filter(|end| *end <= MOST).ok_or_else(too_large)?);
        }
        let bytes = longest_path(depth, width, files);
        if bytes > PATH_MAX {
            return Err(TreeError::TooDeep { depth, width: shape.width, bytes, most: PATH_MAX });
        }
        let directories = starts.last().copied().unwrap_or(0);
        let first_with_files = match shape.place {
            FilePlace::Bottom => directories - of_level,
            FilePlace::All => 0,
        };
        let count = (directories - first_with_files).checked_mul(files).filter(|count| *count <= MOST);
        let files_total = u32::try_from(count.ok_or_else(too_large)?).map_err(|_| too_large())?;
        let sizes = AskedSizes::new(&shape.sizes, files_total);
        let (files_each, names) = (files.max(1), TreeNames::Vdbench);
        Ok(Self { width, starts, files_each, first_with_files, files: files_total, sizes, names })
    }

    /// Number of directories, the anchor not among them.
    pub(crate) fn directories(&self) -> u32 {
        u32::try_from(self.starts.last().copied().unwrap_or(0)).unwrap_or(u32::MAX)
    }

    /// Number of files.
    pub(crate) fn files(&self) -> u32 {
        self.files
    }

    /// Level of a directory, from 1.
    pub(crate) fn level(&self, directory: u32) -> u32 {
        let level = self.starts.partition_point(|start| *start <= u64::from(directory));
        u32::try_from(level).unwrap_or(u32::MAX)
    }

    /// The directories of a level, from 1.
    pub(crate) fn level_range(&self, level: u32) -> std::ops::Range<u32> {
        let at = |level: u32| self.starts.get(level as usize).copied().and_then(|start| u32::try_from(start).ok());
        at(level.saturating_sub(1)).unwrap_or(0)..at(level).unwrap_or(0)
    }

    /// Number of levels.
    pub(crate) fn levels(&self) -> u32 {
        u32::try_from(self.starts.len() - 1).unwrap_or(0)
    }

    /// Level, and number in the level, of a directory.
    fn place(&self, directory: u32) -> (u32, u64) {
        let level = self.level(directory);
        (level, u64::from(directory) - self.starts[level as usize - 1])
    }

    /// Directories of the level above `level`.
    fn above(&self, level: u32) -> u64 {
        self.width.pow(level - 1)
    }

    /// The directory that holds this one; `None`: the anchor.
    pub(crate) fn parent(&self, directory: u32) -> Option<u32> {
        let (level, offset) = self.place(directory);
        if level <= 1 {
            return None;
        }
        // Digits of base `width` from the top; the last one, the parent's own number, counts most in its level.
        let code = offset % self.above(level);
        let offset = (code % self.width) * self.above(level - 1) + code / self.width;
        u32::try_from(self.starts[level as usize - 2] + offset).ok()
    }

    /// The directory of a file.
    pub(crate) fn directory_of(&self, file: u32) -> u32 {
        u32::try_from(self.first_with_files + u64::from(file) / self.files_each).unwrap_or(u32::MAX)
    }

    /// The files of a directory.
    pub(crate) fn files_of(&self, directory: u32) -> std::ops::Range<u32> {
        let Some(at) = u64::from(directory).checked_sub(self.first_with_files) else { return 0..0 };
        let end = |at: u64| u32::try_from((at * self.files_each).min(u64::from(self.files))).unwrap_or(u32::MAX);
        end(at)..end(at + 1)
    }

    /// The directory with this number, from 1, in that one (`None`: the anchor), as its name says it with its level; `None`: the
    /// tree has no such one.
    pub(crate) fn child(&self, parent: Option<u32>, level: u64, number: u64) -> Option<u32> {
        let (upper, offset) = match parent {
            Some(parent) => self.place(parent),
            None => (0, 0),
        };
        let own = number.checked_sub(1).filter(|own| *own < self.width)?;
        if level != u64::from(upper) + 1 || upper >= self.levels() {
            return None;
        }
        let code = match upper {
            0 => 0,
            _ => (offset % self.above(upper)) * self.width + offset / self.above(upper),
        };
        u32::try_from(self.starts[upper as usize] + own * self.above(upper + 1) + code).ok()
    }

    /// How large a file is to be.
    pub(crate) fn asked_bytes(&self, file: u32) -> u64 {
        self.sizes.of(file)
    }

    /// How large all files are to be together.
    pub(crate) fn total_bytes(&self) -> u64 {
        match &self.sizes {
            AskedSizes::Fixed(bytes) => bytes.saturating_mul(u64::from(self.files)),
            _ => (0..self.files).map(|file| self.asked_bytes(file)).fold(0, u64::saturating_add),
        }
    }

    /// Puts the path of a directory, relative to the anchor, into `out` in place of what is there: `vdb.1_2.dir/vdb.2_1.dir`.
    pub(crate) fn directory_path(&self, directory: u32, out: &mut Vec<u8>) {
        out.clear();
        let (level, offset) = self.place(directory);
        let above = self.above(level);
        let (own, code) = (offset / above, offset % above);
        for upper in 1..level {
            let digit = code / self.width.pow(level - 1 - upper) % self.width;
            push_directory(out, upper, digit + 1);
            out.push(b'/');
        }
        push_directory(out, level, own + 1);
    }

    /// The same of a file: `vdb.1_2.dir/vdb_f0001.file`, or `job.0.17` in the anchor itself.
    pub(crate) fn file_path(&self, file: u32, out: &mut Vec<u8>) {
        out.clear();
        if self.names.is_vdbench() {
            self.directory_path(self.directory_of(file), out);
            out.push(b'/');
        }
        self.push_file_name(file, out);
    }

    /// Adds the name that a file has in its directory.
    pub(crate) fn push_file_name(&self, file: u32, out: &mut Vec<u8>) {
        if let TreeNames::Numbered { before, after } = &self.names {
            out.extend_from_slice(before.as_bytes());
            push_number(out, u64::from(file), 1);
            out.extend_from_slice(after.as_bytes());
            return;
        }
        push_file(out, u64::from(file) % self.files_each + 1);
    }
}
