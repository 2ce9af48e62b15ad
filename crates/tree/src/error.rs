//! What can be wrong with a tree.

use std::path::PathBuf;

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
