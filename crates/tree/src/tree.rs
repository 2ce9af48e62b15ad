//! A tree of a run: where its files are, what is known of them, and the directory that holds it.

use crate::control_file::{self, Known};
use crate::{FileSet, TreeError, TreeLayout, TreeState, listing};
use plan::{TreeShape, TreeSpec};
use rustix::fs::{Mode, OFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What is to be taken for there when a tree is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Nothing: the anchor is empty, or all of the tree is deleted first.
    Empty,
    /// What the control file says, where it was written at the end of a run, as Vdbench does; otherwise what is there.
    Existing,
    /// The same, and all of the tree where there is no such control file: nothing is looked at.
    Whole,
    /// What is there, by listing all directories; the control file must fit as well where there is one.
    Listed,
}

/// A tree of a run, with its anchor open.
#[derive(Debug)]
pub struct Tree {
    path: PathBuf,
    anchor: OwnedFd,
    shape: TreeShape,
    layout: TreeLayout,
    state: TreeState,
    members: FileSet,
    working_set: FileSet,
}

impl Tree {
    /// Opens an anchor that exists, for a tree of this shape. Changes nothing in it.
    ///
    /// # Errors
    /// When it is no directory, when the tree is too large or smaller than its subsets, when the control file is damaged or of
    /// another shape, or when directories cannot be listed.
    pub fn open(spec: &TreeSpec, shape: &TreeShape, how: Opening) -> Result<Self, TreeError> {
        Self::at(&spec.anchor, shape, how)
    }

    /// The same, of an anchor with this path.
    ///
    /// # Errors
    /// As [`Tree::open`].
    pub fn at(anchor: &Path, shape: &TreeShape, how: Opening) -> Result<Self, TreeError> {
        Self::in_anchor(anchor, open_anchor(anchor)?, shape, how)
    }

    /// The same, of an anchor that is open for reading.
    ///
    /// # Errors
    /// As [`Tree::open`].
    pub fn in_anchor(path: &Path, anchor: OwnedFd, shape: &TreeShape, how: Opening) -> Result<Self, TreeError> {
        let (layout, members, working_set) = Self::check(shape)?;
        let state = TreeState::empty(&layout);
        // Vdbench leaves the control file alone where several processes share a tree.
        let known = match how {
            Opening::Empty => Known::All,
            // A listed tree has none.
            _ if shape.shared || shape.is_listed() => Known::Nothing,
            Opening::Existing | Opening::Whole => {
                control_file::read(anchor.as_fd(), path, shape, &layout, Some(&state))?
            }
            Opening::Listed => control_file::read(anchor.as_fd(), path, shape, &layout, None)?,
        };
        if known == Known::Nothing && how == Opening::Whole {
            state.set_whole(&layout);
        } else if known == Known::Nothing {
            listing::fill(anchor.as_fd(), path, &layout, &state)?;
        }
        Ok(Self { path: path.to_owned(), anchor, shape: shape.clone(), layout, state, members, working_set })
    }

    /// Where everything of a tree of this shape is, which files are made and used (`totalsize=`), and which of them by runs that are no
    /// formats (`workingsetsize=`); looks at nothing.
    ///
    /// # Errors
    /// When it is too large or smaller than its subsets.
    pub fn check(shape: &TreeShape) -> Result<(TreeLayout, FileSet, FileSet), TreeError> {
        let layout = TreeLayout::new(shape)?;
        let all = FileSet::All(layout.files());
        let members = part(&all, &layout, shape.total_bytes, "totalsize")?;
        let working_set = part(&members, &layout, shape.working_set_bytes, "workingsetsize")?;
        Ok((layout, members, working_set))
    }

    /// Path of the anchor.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The anchor, open for reading: paths of the layout are relative to it.
    #[must_use]
    pub fn anchor(&self) -> BorrowedFd<'_> {
        self.anchor.as_fd()
    }

    /// The shape that it was opened with.
    #[must_use]
    pub fn shape(&self) -> &TreeShape {
        &self.shape
    }

    /// Where everything is.
    #[must_use]
    pub fn layout(&self) -> &TreeLayout {
        &self.layout
    }

    /// What is known to exist.
    #[must_use]
    pub fn state(&self) -> &TreeState {
        &self.state
    }

    /// The files that are made and used (`totalsize=`).
    #[must_use]
    pub fn members(&self) -> &FileSet {
        &self.members
    }

    /// Those of them that runs use that are no formats (`workingsetsize=`).
    #[must_use]
    pub fn working_set(&self) -> &FileSet {
        &self.working_set
    }
}

/// Opens the directory of an anchor. A link to it is the user's and is followed.
pub(crate) fn open_anchor(path: &Path) -> Result<OwnedFd, TreeError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(TreeError::system("open the anchor", path))
}

fn part(of: &FileSet, layout: &TreeLayout, bytes: Option<u64>, what: &'static str) -> Result<FileSet, TreeError> {
    let Some(asked) = bytes.filter(|bytes| *bytes > 0) else { return Ok(of.clone()) };
    let most = of.asked_bytes(layout);
    if asked > most {
        return Err(TreeError::SubsetTooLarge { what, asked, most });
    }
    Ok(of.subset(layout, asked))
}
