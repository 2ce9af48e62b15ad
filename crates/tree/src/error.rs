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
    /// Makes an error of a call that failed.
    pub(crate) fn system<E: Into<std::io::Error>>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |source| Self::System { action, path, source: source.into() }
    }
}
