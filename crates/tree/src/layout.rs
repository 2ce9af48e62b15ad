//! Names, places and asked sizes of a tree's directories and files, by number.
//!
//! Numbers are Vdbench's, in whose order its control file lists them: directories by level, in a level by their own number in
//! their parent, then by their parents from the top; files by directory. So each is arithmetic.

use crate::TreeError;
use crate::sizes::AskedSizes;
use plan::{FilePlace, TreeNames, TreeShape};

/// The most directories, and the most files, that a tree may have.
const MOST: u64 = u32::MAX as u64;

/// Where everything of a tree is.
#[derive(Debug)]
pub struct TreeLayout {
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

impl TreeLayout {
    /// Of a tree of this shape.
    ///
    /// # Errors
    /// When it has more directories or files than can be numbered.
    pub fn new(shape: &TreeShape) -> Result<Self, TreeError> {
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
    #[must_use]
    pub fn directories(&self) -> u32 {
        u32::try_from(self.starts.last().copied().unwrap_or(0)).unwrap_or(u32::MAX)
    }

    /// Number of files.
    #[must_use]
    pub fn files(&self) -> u32 {
        self.files
    }

    /// Level of a directory, from 1.
    #[must_use]
    pub fn level(&self, directory: u32) -> u32 {
        let level = self.starts.partition_point(|start| *start <= u64::from(directory));
        u32::try_from(level).unwrap_or(u32::MAX)
    }

    /// The directories of a level, from 1.
    #[must_use]
    pub fn level_range(&self, level: u32) -> std::ops::Range<u32> {
        let at = |level: u32| self.starts.get(level as usize).copied().and_then(|start| u32::try_from(start).ok());
        at(level.saturating_sub(1)).unwrap_or(0)..at(level).unwrap_or(0)
    }

    /// Number of levels.
    #[must_use]
    pub fn levels(&self) -> u32 {
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
    #[must_use]
    pub fn parent(&self, directory: u32) -> Option<u32> {
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
    #[must_use]
    pub fn directory_of(&self, file: u32) -> u32 {
        u32::try_from(self.first_with_files + u64::from(file) / self.files_each).unwrap_or(u32::MAX)
    }

    /// The files of a directory.
    #[must_use]
    pub fn files_of(&self, directory: u32) -> std::ops::Range<u32> {
        let Some(at) = u64::from(directory).checked_sub(self.first_with_files) else { return 0..0 };
        let end = |at: u64| u32::try_from((at * self.files_each).min(u64::from(self.files))).unwrap_or(u32::MAX);
        end(at)..end(at + 1)
    }

    /// The directory with this number, from 1, in that one (`None`: the anchor), as its name says it with its level; `None`: the
    /// tree has no such one.
    #[must_use]
    pub fn child(&self, parent: Option<u32>, level: u64, number: u64) -> Option<u32> {
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

    /// The file with this number, from 1, in a directory; `None`: the tree has no such one.
    #[must_use]
    pub fn file_at(&self, directory: u32, number: u64) -> Option<u32> {
        let files = self.files_of(directory);
        let at = u64::from(files.start) + number.checked_sub(1)?;
        u32::try_from(at).ok().filter(|at| files.contains(at))
    }

    /// How large a file is to be.
    #[must_use]
    pub fn asked_bytes(&self, file: u32) -> u64 {
        self.sizes.of(file)
    }

    /// How large all files are to be together.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        match &self.sizes {
            AskedSizes::Fixed(bytes) => bytes.saturating_mul(u64::from(self.files)),
            _ => (0..self.files).map(|file| self.asked_bytes(file)).fold(0, u64::saturating_add),
        }
    }

    /// Puts the path of a directory, relative to the anchor, into `out` in place of what is there: `vdb.1_2.dir/vdb.2_1.dir`.
    pub fn directory_path(&self, directory: u32, out: &mut Vec<u8>) {
        out.clear();
        let (level, offset) = self.place(directory);
        let above = self.above(level);
        let (own, code) = (offset / above, offset % above);
        for upper in 1..level {
            let digit = code / self.width.pow(level - 1 - upper) % self.width;
            push_name(out, upper, digit + 1);
            out.push(b'/');
        }
        push_name(out, level, own + 1);
    }

    /// The same of a file: `vdb.1_2.dir/vdb_f0001.file`, or `job.0.17` in the anchor itself.
    pub fn file_path(&self, file: u32, out: &mut Vec<u8>) {
        if let TreeNames::Numbered { before, after } = &self.names {
            out.clear();
            out.extend_from_slice(before.as_bytes());
            push_number(out, u64::from(file), 1);
            out.extend_from_slice(after.as_bytes());
            return;
        }
        self.directory_path(self.directory_of(file), out);
        out.push(b'/');
        out.extend_from_slice(b"vdb_f");
        push_number(out, u64::from(file) % self.files_each + 1, 4);
        out.extend_from_slice(b".file");
    }
}

/// `vdb.1_2.dir`.
fn push_name(out: &mut Vec<u8>, level: u32, number: u64) {
    out.extend_from_slice(b"vdb.");
    push_number(out, u64::from(level), 1);
    out.push(b'_');
    push_number(out, number, 1);
    out.extend_from_slice(b".dir");
}

/// With so many digits at least.
fn push_number(out: &mut Vec<u8>, number: u64, least: usize) {
    let mut digits = [b'0'; 20];
    let (mut at, mut left) = (digits.len(), number);
    while left > 0 || at > digits.len() - least {
        at -= 1;
        digits[at] = b'0' + u8::try_from(left % 10).unwrap_or(0);
        left /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{directory_numbers, file_number};
    use plan::FileSizes;
    use std::collections::BTreeSet;

    fn shape(depth: u32, width: u32, files: u64, place: FilePlace) -> TreeShape {
        let (sizes, total_bytes, working_set_bytes) = (FileSizes::Fixed(4096), None, None);
        TreeShape {
            depth,
            width,
            files,
            place,
            sizes,
            total_bytes,
            working_set_bytes,
            shared: false,
            names: plan::TreeNames::Vdbench,
        }
    }

    fn text(layout: &TreeLayout, put: impl Fn(&TreeLayout, &mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(layout, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_order_of_directories_is_that_of_the_level_then_the_own_number_then_the_parents() {
        let layout = TreeLayout::new(&shape(3, 2, 1, FilePlace::Bottom)).unwrap();
        let paths: Vec<String> =
            (0..layout.directories()).map(|at| text(&layout, |it, out| it.directory_path(at, out))).collect();
        let expected = [
            "1_1",
            "1_2",
            "1_1 2_1",
            "1_2 2_1",
            "1_1 2_2",
            "1_2 2_2",
            "1_1 2_1 3_1",
            "1_1 2_2 3_1",
            "1_2 2_1 3_1",
            "1_2 2_2 3_1",
            "1_1 2_1 3_2",
            "1_1 2_2 3_2",
            "1_2 2_1 3_2",
            "1_2 2_2 3_2",
        ];
        let named = |short: &str| short.split(' ').map(|part| format!("vdb.{part}.dir")).collect::<Vec<_>>().join("/");
        assert_eq!(paths, expected.map(named));
    }

    #[test]
    fn every_parent_is_the_path_above_and_every_path_is_there_once() {
        for (depth, width, place) in
            [(1, 1, FilePlace::Bottom), (2, 8, FilePlace::All), (4, 3, FilePlace::Bottom), (3, 11, FilePlace::All)]
        {
            let layout = TreeLayout::new(&shape(depth, width, 3, place)).unwrap();
            let mut seen = BTreeSet::new();
            for at in 0..layout.directories() {
                let path = text(&layout, |it, out| it.directory_path(at, out));
                let above =
                    layout.parent(at).map_or(String::new(), |up| text(&layout, |it, out| it.directory_path(up, out)));
                assert_eq!(path.rsplit_once('/').map_or("", |(above, _)| above), above);
                assert!(layout.level_range(layout.level(at)).contains(&at));
                let (level, own) = directory_numbers(path.rsplit('/').next().unwrap().as_bytes()).unwrap();
                assert_eq!(layout.child(layout.parent(at), level, own), Some(at), "{path}");
                assert!(layout.files_of(at).all(|file| layout.directory_of(file) == at));
                assert!(seen.insert(path));
            }
            for file in 0..layout.files() {
                assert!(layout.files_of(layout.directory_of(file)).contains(&file));
                let path = text(&layout, |it, out| it.file_path(file, out));
                let number = file_number(path.rsplit('/').next().unwrap().as_bytes()).unwrap();
                assert_eq!(layout.file_at(layout.directory_of(file), number), Some(file));
                assert!(seen.insert(path));
            }
        }
    }

    #[test]
    fn numbered_files_are_in_the_anchor_itself() {
        let names = TreeNames::Numbered { before: "job.0.".into(), after: ".x".into() };
        let layout = TreeLayout::new(&TreeShape { names, ..shape(3, 2, 12, FilePlace::All) }).unwrap();
        assert_eq!((layout.directories(), layout.files(), layout.levels()), (0, 12, 0));
        assert_eq!(text(&layout, |it, out| it.file_path(0, out)), "job.0.0.x");
        assert_eq!(text(&layout, |it, out| it.file_path(11, out)), "job.0.11.x");
        assert_eq!(layout.total_bytes(), 12 * 4096);
    }

    #[test]
    fn a_tree_without_bounds_is_refused() {
        assert!(TreeLayout::new(&shape(30, 30, 1, FilePlace::Bottom)).is_err());
        assert!(TreeLayout::new(&shape(1, 1, u64::MAX, FilePlace::Bottom)).is_err());
    }
}
