//! What can be wrong with a tree.

use std::path::{Path, PathBuf};

/// Why a tree cannot be made or used.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// More directories or files than can be numbered.
    #[error(
        "a tree of depth={depth}, width={width} and files={files} has more than {max} directories or files: make it smaller"
    )]
    TooLarge {
        /// Levels.
        depth: u32,
        /// Directories in each.
        width: u32,
        /// Files in each directory.
        files: u64,
        /// The most that there may be.
        max: u64,
    },
    /// A path in it would be longer than the kernel takes.
    #[error(
        "a tree of depth={depth} and width={width} has paths of {bytes} bytes, and the kernel takes {most} bytes at most: make depth smaller"
    )]
    TooDeep {
        /// Levels.
        depth: u32,
        /// Directories in each.
        width: u32,
        /// The longest path below the anchor.
        bytes: u64,
        /// The longest that there may be.
        most: u64,
    },
    /// A part of the files that is to have more bytes than there are.
    #[error(
        "{what} asks for {asked} bytes of files, and the tree has only {most}: ask for less or make the tree larger"
    )]
    SubsetTooLarge {
        /// The parameter.
        what: &'static str,
        /// What it asks for.
        asked: u64,
        /// What there is.
        most: u64,
    },
    /// A control file that is not as Vdbench or iodyno leave it.
    #[error(
        "the control file {} is not as it was written: {what}; format=yes makes the tree anew, and without the file the directories are looked at instead", path.display()
    )]
    Damaged {
        /// The control file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A file with the exact shape of a tree that is not as it was written.
    #[error("the shape file {} is not as it was written: {what}; make it again with iodyno scan DIR -o FILE --exact", path.display())]
    ShapeFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A file with the exact shape of a tree that cannot be opened.
    #[error(
        "failed to open the shape file {}: {source}{}", path.display(),
        if path.is_relative() { "; a relative path counts from the directory in which iodyno is called" } else { "" }
    )]
    NoShapeFile {
        /// The file, as it was named.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A tree of another shape is there.
    #[error(
        "the control file {} describes another tree: {differences}; correct the parameters, or make the tree anew with format=yes", path.display()
    )]
    OtherShape {
        /// The control file.
        path: PathBuf,
        /// What differs, with both values.
        differences: String,
    },
    /// Something in an anchor is not of a tree.
    #[error(
        "refused: the anchor {} holds what no load has made: {entries}; move it elsewhere or name another, empty directory as anchor, no flag overrides this", path.display()
    )]
    Foreign {
        /// The anchor.
        path: PathBuf,
        /// The first entries, each with why it is foreign, and how many more there are.
        entries: String,
    },
    /// A name that a job uses stands for something else.
    #[error(
        "refused: {} holds what the job would use and has not made: {entries}; move it elsewhere, or use another directory= or filename_format=, no flag overrides this", path.display()
    )]
    ForeignEntry {
        /// The directory.
        path: PathBuf,
        /// The first entries, each with why it is foreign, and how many more there are.
        entries: String,
    },
    /// Another process uses an anchor.
    #[error(
        "refused: the anchor {} is in use by another program (perhaps another iodyno); end that first, no flag overrides this", path.display()
    )]
    InUse {
        /// The anchor.
        path: PathBuf,
    },
    /// A control file of another tree that cannot be removed.
    #[error("failed to remove {}, the control file of another tree: remove it", path.display())]
    StaleControlFile {
        /// The control file.
        path: PathBuf,
    },
    /// The control file could not be written.
    #[error(transparent)]
    Output(#[from] output::OutputError),
    /// A call failed.
    #[error("failed to {action} {}: {source}", path.display())]
    System {
        /// What was tried, in the infinitive.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl TreeError {
    /// Was something refused to protect data, or because another tree is there?
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        let Self::Output(error) = self else {
            return matches!(
                self,
                Self::Foreign { .. }
                    | Self::ForeignEntry { .. }
                    | Self::InUse { .. }
                    | Self::OtherShape { .. }
                    | Self::Damaged { .. }
            );
        };
        error.is_refusal()
    }

    /// Can it only be mended in the parameters?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        matches!(
            self,
            Self::TooLarge { .. }
                | Self::TooDeep { .. }
                | Self::SubsetTooLarge { .. }
                | Self::ShapeFile { .. }
                | Self::NoShapeFile { .. }
        )
    }

    /// Makes an error of a call that failed.
    pub(crate) fn system<E: Into<std::io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |source| Self::System { action, path, source: source.into() }
    }
}
