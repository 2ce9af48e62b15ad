//! Directory trees as load: their shape, and what is done in them (Vdbench's `fsd=` and `fwd=`).

use super::entry_job::EntryJob;
use super::source::TextSpan;
use super::target::OpenFlags;
use super::transfer_size::TransferSize;
use crate::generate::OperationKind;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A directory in which runs make and use a tree of directories and files (Vdbench's `fsd=`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeSpec {
    /// Name in the parameter file (`fsd1`).
    pub name: String,
    /// The anchor: the directory that holds the tree. All else in it is foreign.
    pub anchor: PathBuf,
    /// Make the directories above the anchor too (`create_anchors=yes`).
    pub makes_parents: bool,
    /// Where it was defined.
    pub span: TextSpan,
}

/// Directories and files of a tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeShape {
    /// Levels of directories below the anchor, at least 1.
    pub depth: u32,
    /// Directories in the anchor and in each directory above the last level, at least 1.
    pub width: u32,
    /// Files in each directory that has files.
    pub files: u64,
    /// Which directories have files.
    pub place: FilePlace,
    /// How large the files are.
    pub sizes: FileSizes,
    /// Only a random part of the files is ever made and used: until they have so many bytes (`totalsize=`). `None`: all.
    pub total_bytes: Option<u64>,
    /// Only a random part of these is used by runs that are no formats (`workingsetsize=`, `wss=`). `None`: all.
    pub working_set_bytes: Option<u64>,
    /// Several processes use the tree, and each of them only every n-th file (`shared=yes`).
    pub shared: bool,
    /// How its files are called, and where they are.
    #[serde(default, skip_serializing_if = "TreeNames::is_vdbench")]
    pub names: TreeNames,
}

/// How the files of a tree are called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TreeNames {
    /// As Vdbench does: directories `vdb.1_2.dir`, and files `vdb_f0001.file` in them. Nothing else may be in the anchor.
    #[default]
    Vdbench,
    /// As fio does: in the anchor itself, which has no directories of the tree (depth, width and place say nothing), each with a number
    /// from 0 between these two texts. All else in the anchor is foreign, and stays as it is.
    Numbered {
        /// In front of the number: `job.0.`. No slash.
        before: String,
        /// Behind it.
        after: String,
    },
}

impl TreeNames {
    /// Are they Vdbench's?
    #[must_use]
    pub fn is_vdbench(&self) -> bool {
        *self == Self::Vdbench
    }
}

/// Which directories have files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilePlace {
    /// Those of the last level.
    #[default]
    Bottom,
    /// All; the anchor itself has none.
    All,
}

/// How large files are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileSizes {
    /// All alike.
    Fixed(u64),
    /// `(bytes, percent)`, chosen by chance from a fixed seed; the percentages sum to 100.
    Mix(Vec<(u64, f64)>),
    /// Half of this up to one and a half times this, by chance from a fixed seed, rounded as Vdbench does (`sizes=(n,0)`).
    Around(u64),
    /// As this shape file lists them with the directories (`shape=FILE`): depth, width, files and place of the shape say nothing then.
    Listed(PathBuf),
}

impl TreeShape {
    /// Vdbench's names, files of the same size in the directories of the last level, all made and used.
    #[must_use]
    pub fn regular(depth: u32, width: u32, files: u64, bytes: u64) -> Self {
        Self {
            depth,
            width,
            files,
            place: FilePlace::Bottom,
            sizes: FileSizes::Fixed(bytes),
            total_bytes: None,
            working_set_bytes: None,
            shared: false,
            names: TreeNames::Vdbench,
        }
    }

    /// Does a shape file list its directories and files?
    #[must_use]
    pub fn is_listed(&self) -> bool {
        matches!(self.sizes, FileSizes::Listed(_))
    }
}

/// A tree in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeUse {
    /// Index into [`Plan::trees`](crate::Plan::trees).
    pub tree: usize,
    /// Its shape in this run; the same for all workloads of a run.
    pub shape: TreeShape,
    /// Every file and directory is taken to be there and whole where no control file says more, without a look (Vdbench's
    /// `format=(no,complete)`); a tree that a run changes is looked at all the same.
    #[serde(default)]
    pub is_taken_whole: bool,
}

/// What a workload does in its trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeLoad {
    /// The trees; its operations go to them in turn.
    pub uses: Vec<TreeUse>,
    /// Which operations.
    pub task: TreeTask,
    /// Threads on each tree, each of which does one operation after the other.
    pub threads: u32,
    /// Which file is next.
    pub select: FileSelect,
    /// Which part of the open file is next.
    pub access: FileOrder,
    /// The file is closed, and another one is next, after so much of it; `None`: at its end, or when it is random: after
    /// as many bytes as the file has.
    pub stop_after: Option<StopAfter>,
    /// How large transfers are.
    pub transfer: TransferSize,
    /// How files are opened.
    pub open: OpenFlags,
    /// Where copied and moved files go.
    pub destination: Option<TreeUse>,
    /// Writes are made durable after so many, as a step (`fsync=`, `fdatasync=`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_every: Option<SyncEvery>,
    /// It goes through the entries of a [`TreeNames::Numbered`] by fio's rules, with one thread and one [`TreeTask::One`]; `None`: by Vdbench's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<EntryJob>,
}

/// Which operations a workload does in its trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TreeTask {
    /// This one, over and over. Reads and writes are transfers in a file that is opened before and closed after them; the others are
    /// whole operations on a file or directory. It ends when there is nothing left that it can be done to (a `create` when all files exist).
    One(OperationKind),
    /// Reads and writes in the same open file: this fraction of them are reads (`rdpct=`).
    Mixed {
        /// Fraction of reads, 0 to 1.
        read: f64,
    },
    /// These, one behind the other, over and over.
    Flow(Vec<FlowStep>),
    /// Makes the tree.
    Format(FormatTask),
}

/// A part of a flow (`flow=`), and the only one where `operation=` names an operation that Vdbench does not have.
///
/// A flow works on one file until `next`; the first operation on a file says which files fit. What an operation needs and the flow
/// does not have, as an open file, is made before it and undone after it, as a step. At a rate the flow begins when it is due, and each of
/// its other operations is due when the one before it has ended. Where one fails, those that are left on the same file fail too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowStep {
    /// What it does; any kind that works on files.
    pub op: OperationKind,
    /// How many bytes it moves, or (`truncate`, `fallocate`, `punch`) how many it is about: from, to, chosen evenly. `None`: the workload's transfer
    /// size; `truncate`: 0; `fallocate`: the size that the file is to have.
    pub bytes: Option<(u64, u64)>,
    /// It is done to another file than the one before it.
    pub is_next: bool,
}

/// Writes of a stream that are made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncEvery {
    /// After so many writes to a file, at least 1.
    pub writes: u64,
    /// By fdatasync in place of fsync.
    pub data_only: bool,
}

/// How a tree is made (`format=`): what does not belong to it is never touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatTask {
    /// Files and directories of the tree, of whatever shape, are deleted first.
    pub deletes: bool,
    /// Directories are made, and files when this is false.
    pub only_directories: bool,
    /// Nothing is made: it ends when all is deleted (`format=clean`).
    pub only_deletes: bool,
    /// Ends after the run's time, complete or not (`format=limited`).
    pub limited: bool,
}

/// Which file is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum FileSelect {
    /// One behind the other, from the first again.
    #[default]
    Sequential,
    /// By chance.
    Random,
    /// Each file once, then the workload ends.
    Once,
    /// By chance, the first files more often (`poisson`): file −ln(u) × files / midpoint, modulo files, of a random u from 0 to 1.
    Poisson {
        /// `None`: Vdbench's own, 3.
        midpoint: Option<f64>,
    },
    /// The same (`skewed`); Vdbench makes no difference, and its files are read as Poisson.
    Skewed {
        /// `None`: Vdbench's own.
        midpoint: Option<f64>,
    },
}

/// Which part of an open file is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileOrder {
    /// One behind the other.
    #[default]
    Sequential,
    /// The same, and a file that is to be written is deleted before, and made anew (`fileio=(seq,delete)`).
    SequentialDelete,
    /// By chance.
    Random,
    /// By chance, several threads in the same file at a time (`fileio=(random,shared)`).
    RandomShared,
}

/// How much of a file is used before it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum StopAfter {
    /// So many transfers.
    Transfers(u64),
    /// Transfers over this fraction of its size.
    Fraction(f64),
}

impl TreeLoad {
    /// How many operations are due together: those of a flow.
    #[must_use]
    pub fn group(&self) -> usize {
        match &self.task {
            TreeTask::Flow(steps) => steps.len().max(1),
            _ => 1,
        }
    }

    /// Does it make, change or delete anything in its trees?
    #[must_use]
    pub fn changes(&self) -> bool {
        match &self.task {
            TreeTask::Format(_) => true,
            TreeTask::Mixed { read } => *read < 1.0,
            TreeTask::One(kind) => kind.changes_tree(),
            // What these read, an attribute or a symbolic link, is made before them as a step where it is missing.
            TreeTask::Flow(steps) => steps.iter().any(|step| {
                step.op.changes_tree() || matches!(step.op, OperationKind::Getxattr | OperationKind::Readlink)
            }),
        }
    }
}
