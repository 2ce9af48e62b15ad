//! What a segment says of itself, its session and its targets; `header_text` has how that is written.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a session ended, as far as what it wrote is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crash {
    /// Only the program: what was done is there, wherever it was kept.
    ProcessDied,
    /// The machine or the device lost power: what was done before an acknowledged flush was submitted is there.
    PowerCut,
}

/// A target of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalTarget {
    /// As the user named it.
    pub name: String,
    /// The number in its stamps.
    pub device: u64,
    /// Its length, bytes.
    pub size_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Executions before this session whose data may be there too.
    pub runs: Arc<[u64]>,
    /// A write that comes back is durable (`O_SYNC`, `O_DSYNC`).
    pub is_synchronous: bool,
    /// It may be trimmed.
    pub is_trimmed: bool,
    /// It is a tree of files, not one range of blocks; its name is the path of its anchor.
    pub tree: Option<JournalTree>,
}

/// When the name of a file is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameRule {
    /// POSIX: when its directory was synced behind it.
    #[default]
    Directory,
    /// Also when the file itself was synced, which makes the directories above it durable too: ext4, xfs and btrfs.
    File,
}

/// A tree of files, which are known by their numbers in its layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalTree {
    /// So many files; their numbers are below this.
    pub files: u32,
    /// Block `b` of file `f` is block `f * file_blocks + b` of the tree; none is as long as this.
    pub file_blocks: u64,
    /// What makes a name durable.
    pub names: NameRule,
    /// The layout, in words: for readers only.
    pub layout: String,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHeader {
    /// Its number in stamps.
    pub run: u64,
    /// The boot in which it ran ([`boot_id`]).
    pub boot: String,
    /// The program's process.
    pub pid: u32,
    /// When it began, ns since 1970.
    pub wall_ns: i64,
    /// What it writes.
    pub targets: Vec<JournalTarget>,
    /// How the session before it was taken to have ended; `None`: this is the first.
    pub after: Option<Crash>,
}

impl SessionHeader {
    /// Of this process, from now on.
    #[must_use]
    pub fn new(run: u64, targets: Vec<JournalTarget>) -> Self {
        let (pid, wall_ns) = (std::process::id(), quantity::clock::wall_ns());
        Self { run, boot: boot_id(), pid, wall_ns, targets, after: None }
    }
}

/// Identity of this boot; empty where the kernel does not tell.
#[must_use]
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_string()
}

/// What a segment says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// The journal: a random number.
    pub(crate) journal: u64,
    /// Its place among the segments, from 1 on.
    pub(crate) segment: u64,
    /// The one before; `None`: there was none.
    pub(crate) previous: Option<u64>,
    /// The session before ended there, which may have died: so many bytes of its last segment were used when this one began. `None`:
    /// it is the same session.
    pub(crate) previous_bytes: Option<u64>,
    /// Which of its session's.
    pub(crate) of_session: u64,
    pub(crate) session: Arc<SessionHeader>,
}

impl SegmentHeader {
    /// What the checksums of its records begin with, so that no record of another segment is taken for one of it.
    pub(crate) fn salt(&self) -> u64 {
        self.journal ^ self.segment.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
