//! Why a tree cannot be used as a plan asks.

use std::path::PathBuf;
use tree::TreeError;

/// Why a tree cannot be used as a plan asks.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {kind}")]
pub struct TreeUseError {
    /// Name of the tree (`fsd1`).
    pub name: String,
    /// Why.
    pub kind: TreeUseErrorKind,
}

/// Why.
#[derive(Debug, thiserror::Error)]
pub enum TreeUseErrorKind {
    /// The anchor, or what is in it.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The anchor cannot be made.
    #[error(transparent)]
    Output(#[from] output::OutputError),
    /// The anchor belongs to the operating system.
    #[error(
        "refused to write: the anchor {} lies in {directory}, which belongs to the operating system; choose another place, no flag overrides this", path.display()
    )]
    SystemPlace {
        /// The anchor.
        path: PathBuf,
        /// The protected directory.
        directory: &'static str,
    },
    /// The anchor is where everything is.
    #[error(
        "refused to write: the anchor {} is {what}; make a directory in it and name that as anchor, no flag overrides this", path.display()
    )]
    TooHigh {
        /// The anchor.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A tree and something else of the same command would be in one another.
    #[error(
        "refused: the anchor {} and {other} {} lie in one another; keep them apart, no flag overrides this", path.display(), other_path.display()
    )]
    Overlap {
        /// The anchor.
        path: PathBuf,
        /// What the other one is, with its article.
        other: String,
        /// Its path.
        other_path: PathBuf,
    },
    /// Two trees of a run have the same anchor.
    #[error("run {run} uses the anchor {} twice, also as {other}: give each fsd= an anchor of its own", path.display())]
    Twice {
        /// Title of the run.
        run: String,
        /// The anchor.
        path: PathBuf,
        /// Name of the other tree, and where both were defined as far as that is known: `fsd1 (a.vdb:1 and a.vdb:2)`.
        other: String,
    },
    /// There is no anchor.
    #[error(
        "the anchor {} is missing, and run {run} {}", path.display(), if *makes_directories {
            "makes only what is below it: make this directory first, or add format=yes to the run (which makes the whole tree)"
        } else {
            "makes no tree: add format=yes to it"
        }
    )]
    NoAnchor {
        /// The anchor.
        path: PathBuf,
        /// Title of the first run that uses it.
        run: String,
        /// Does the run make the directories below the anchor itself (`mkdir`)?
        makes_directories: bool,
    },
    /// There is no directory for a job's entries.
    #[error("the directory {} is missing: make it, or name another with directory=", path.display())]
    NoDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// There is no tree to copy or move files to.
    #[error(
        "run {run} copies or moves files to {}, where the directories for them are missing: its format makes the tree of fsd=, \
         not that of target=; make it before, in a run of its own (an fwd= with this fsd=, and format=(directories,only))", path.display()
    )]
    NoTarget {
        /// The anchor.
        path: PathBuf,
        /// Title of the run.
        run: String,
    },
    /// There is no directory for the anchor.
    #[error(
        "the anchor {} cannot be made, because {} is missing: make it, or put create_anchors=yes at the top of the parameter file", path.display(), parent.display()
    )]
    NoParent {
        /// The anchor.
        path: PathBuf,
        /// The missing directory.
        parent: PathBuf,
    },
    /// The anchor's path goes through a directory that is not there and back.
    #[error("the anchor {} is missing and has `..` in its path: name it without", path.display())]
    GoesBack {
        /// The anchor.
        path: PathBuf,
    },
    /// There is less room than what is to be made needs.
    #[error(
        "what is to be made on the file system of {} needs {need}, and it has {room}: ask for less, make room, or permit it with --allow-full \
         (where data is compressed, or to see what happens when it is full)", path.display()
    )]
    NoRoom {
        /// The first anchor.
        path: PathBuf,
        /// What they need.
        need: String,
        /// What there is, with what the trees have there already.
        room: String,
    },
    /// What jobs are to find could not be made.
    #[error("{error}{left}")]
    Unfinished {
        /// Why.
        error: Box<TreeError>,
        /// What is left of it, each with `; ` before it.
        left: String,
    },
    /// Files of a job's names are there already, and not known as iodyno's.
    #[error(
        "{} file(s) of its names, as {first}, are in {} already, and it would {} them: move them away, or say --destroy {} if they may be lost",
        quantity::figures::grouped(*count as f64), path.display(), if *deletes { "delete" } else { "lengthen" }, path.display()
    )]
    OthersFiles {
        /// The directory.
        path: PathBuf,
        /// The first of them.
        first: String,
        /// How many.
        count: u64,
        /// Would they be deleted? Otherwise: made longer.
        deletes: bool,
    },
    /// None of the files is there.
    #[error(
        "run {run} uses files, and none of the {} files in {} exists: add format=yes (or format=restart) to it", quantity::figures::grouped(*files as f64), path.display()
    )]
    NoFiles {
        /// Title of the run.
        run: String,
        /// The anchor.
        path: PathBuf,
        /// How many there should be.
        files: u32,
    },
    /// None of the directories is there.
    #[error(
        "run {run} makes files in {}, and none of the directories for them exists: add format=yes (or format=directories) to it", path.display()
    )]
    NoDirectories {
        /// Title of the run.
        run: String,
        /// The anchor.
        path: PathBuf,
    },
    /// The run before made another tree.
    #[error(
        "run {run} uses a tree of another depth, width, files, distribution or sizes than {before} made in {}: give both the same, or add format=yes to {run}", path.display()
    )]
    OtherShape {
        /// Title of the run.
        run: String,
        /// Title of the run that made it.
        before: String,
        /// The anchor.
        path: PathBuf,
    },
}

impl TreeUseError {
    /// Was something refused to protect data, or because another tree is there?
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match &self.kind {
            TreeUseErrorKind::Tree(error) => error.is_refusal(),
            TreeUseErrorKind::Unfinished { error, .. } => error.is_refusal(),
            TreeUseErrorKind::Output(error) => error.is_refusal(),
            TreeUseErrorKind::SystemPlace { .. }
            | TreeUseErrorKind::TooHigh { .. }
            | TreeUseErrorKind::OthersFiles { .. }
            | TreeUseErrorKind::Overlap { .. } => true,
            _ => false,
        }
    }

    /// Is only something not there, or no room, at this time? Another command may change that.
    #[must_use]
    pub fn is_of_now(&self) -> bool {
        use TreeUseErrorKind::{NoAnchor, NoFiles, NoParent, NoRoom, NoTarget};
        matches!(self.kind, NoAnchor { .. } | NoFiles { .. } | NoParent { .. } | NoRoom { .. } | NoTarget { .. })
    }

    /// Can it only be mended in the parameters?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        match &self.kind {
            TreeUseErrorKind::Tree(error) => error.is_parameter(),
            TreeUseErrorKind::Twice { .. }
            | TreeUseErrorKind::OtherShape { .. }
            | TreeUseErrorKind::GoesBack { .. } => true,
            _ => false,
        }
    }
}
