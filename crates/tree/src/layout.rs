//! Names, places and asked sizes of a tree's directories and files, by number.
//!
//! Numbers of a regular tree are Vdbench's, in whose order its control file lists them: directories by level, in a level by their own
//! number in their parent, then by their parents from the top; files by directory. So each is arithmetic. A listed tree says of each
//! directory what it holds; its directories are numbered by level, in a level by their parents, and its files by directory.

use crate::listed::ListedTree;
use crate::regular::RegularLayout;
use crate::{TreeError, shape_file};
use plan::{FileSizes, TreeShape};

/// Where everything of a tree is.
#[derive(Debug)]
pub struct TreeLayout(Form);

#[derive(Debug)]
enum Form {
    Regular(RegularLayout),
    Listed(ListedTree),
}

/// The same question to the form that a tree has.
macro_rules! ask {
    ($layout:expr, $one:ident => $answer:expr) => {
        match &$layout.0 {
            Form::Regular($one) => $answer,
            Form::Listed($one) => $answer,
        }
    };
}

impl TreeLayout {
    /// Of a tree of this shape. That of a listed one is read from its shape file.
    ///
    /// # Errors
    /// When it has more directories or files than can be numbered, or when a shape file cannot be read or is not as it was written.
    pub fn new(shape: &TreeShape) -> Result<Self, TreeError> {
        Ok(Self(match &shape.sizes {
            FileSizes::Listed(path) => Form::Listed(shape_file::read(path)?),
            _ => Form::Regular(RegularLayout::new(shape)?),
        }))
    }

    /// Of a tree that is listed.
    #[must_use]
    pub fn of_listed(listed: ListedTree) -> Self {
        Self(Form::Listed(listed))
    }

    /// Number of directories, the anchor not among them.
    #[must_use]
    pub fn directories(&self) -> u32 {
        ask!(self, one => one.directories())
    }

    /// Number of files.
    #[must_use]
    pub fn files(&self) -> u32 {
        ask!(self, one => one.files())
    }

    /// Level of a directory, from 1.
    #[must_use]
    pub fn level(&self, directory: u32) -> u32 {
        ask!(self, one => one.level(directory))
    }

    /// The directories of a level, from 1.
    #[must_use]
    pub fn level_range(&self, level: u32) -> std::ops::Range<u32> {
        ask!(self, one => one.level_range(level))
    }

    /// Number of levels.
    #[must_use]
    pub fn levels(&self) -> u32 {
        ask!(self, one => one.levels())
    }

    /// The directory that holds this one; `None`: the anchor.
    #[must_use]
    pub fn parent(&self, directory: u32) -> Option<u32> {
        ask!(self, one => one.parent(directory))
    }

    /// The directory of a file.
    #[must_use]
    pub fn directory_of(&self, file: u32) -> u32 {
        ask!(self, one => one.directory_of(file))
    }

    /// The files of a directory.
    #[must_use]
    pub fn files_of(&self, directory: u32) -> std::ops::Range<u32> {
        ask!(self, one => one.files_of(directory))
    }

    /// The directory with this number, from 1, in that one (`None`: the anchor), as its name says it with its level; `None`: the
    /// tree has no such one.
    #[must_use]
    pub fn child(&self, parent: Option<u32>, level: u64, number: u64) -> Option<u32> {
        ask!(self, one => one.child(parent, level, number))
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
        ask!(self, one => one.asked_bytes(file))
    }

    /// How large all files are to be together.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        ask!(self, one => one.total_bytes())
    }

    /// Puts the path of a directory, relative to the anchor, into `out` in place of what is there: `vdb.1_2.dir/vdb.2_1.dir`.
    pub fn directory_path(&self, directory: u32, out: &mut Vec<u8>) {
        ask!(self, one => one.directory_path(directory, out));
    }

    /// Adds the name that a file has in its directory: `vdb_f0001.file`.
    pub fn push_file_name(&self, file: u32, out: &mut Vec<u8>) {
        ask!(self, one => one.push_file_name(file, out));
    }

    /// The same of a file: `vdb.1_2.dir/vdb_f0001.file`, or `job.0.17` in the anchor itself.
    pub fn file_path(&self, file: u32, out: &mut Vec<u8>) {
        ask!(self, one => one.file_path(file, out));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{directory_numbers, file_number};
    use plan::FilePlace;
    use std::collections::BTreeSet;

    fn shape(depth: u32, width: u32, files: u64, place: FilePlace) -> TreeShape {
        TreeShape { place, ..TreeShape::regular(depth, width, files, 4096) }
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
                assert_eq!(
                    path.rsplit('/').next(),
                    Some(text(&layout, |it, out| it.push_file_name(file, out)).as_str())
                );
                let number = file_number(path.rsplit('/').next().unwrap().as_bytes()).unwrap();
                assert_eq!(layout.file_at(layout.directory_of(file), number), Some(file));
                assert!(seen.insert(path));
            }
        }
    }

    #[test]
    fn numbered_files_are_in_the_anchor_itself() {
        let names = plan::TreeNames::Numbered { before: "job.0.".into(), after: ".x".into() };
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
