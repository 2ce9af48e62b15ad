//! What stands at the beginning of each segment, twice.

use crate::error::JournalError;
use crate::record::{BLOCKS_MAX, crc};
use serde::{Deserialize, Serialize};

/// First bytes of a segment; the last one is the version of this layout: 2 where there are trees, so that programs that know nothing
/// of them do not read it.
const MAGIC: [u8; 8] = *b"iodynoj\x01";
const MAGIC_OF_TREES: [u8; 8] = *b"iodynoj\x02";
/// Magic, length and checksum of the text, and zeroes.
const FRAME_BYTES: usize = 32;
/// A header takes whole pages of this, so that its copy is found.
const PAGE: usize = 4096;
/// Longest text of a header, bytes: some thousand targets.
pub(crate) const HEADER_MAX: usize = 1 << 20;

/// How a session ended, as far as what it wrote is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crash {
    /// Only the program: what was done is there, wherever it was kept.
    ProcessDied,
    /// The machine or the device lost power: what was done before an acknowledged flush was submitted is there.
    PowerCut,
}

/// A target of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalTarget {
    /// As the user named it.
    pub name: String,
    /// The number in its stamps.
    pub device: u64,
    /// Its length, bytes.
    pub size_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Executions before the first one of the journal whose data may be there too.
    pub runs: Vec<u64>,
    /// A write that comes back is durable (`O_SYNC`, `O_DSYNC`).
    pub is_synchronous: bool,
    /// It may be trimmed.
    pub is_trimmed: bool,
    /// It is a tree of files, not one range of blocks; its name is the path of its anchor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentHeader {
    /// The journal: a random number.
    pub(crate) journal: u64,
    /// Its place among the segments, from 1 on.
    pub(crate) segment: u64,
    /// The one before; `None`: there was none.
    pub(crate) previous: Option<u64>,
    /// The session before ended there, which may have died: so many bytes of its last segment were used when this one began. `None`:
    /// it is the same session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) previous_bytes: Option<u64>,
    /// Which of its session's.
    pub(crate) of_session: u64,
    pub(crate) session: SessionHeader,
}

impl SegmentHeader {
    /// What the checksums of its records begin with, so that no record of another segment is taken for one of it.
    pub(crate) fn salt(&self) -> u64 {
        self.journal ^ self.segment.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// The header and its copy, in whole pages.
    ///
    /// # Errors
    /// It has too many targets, or one is too large.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, JournalError> {
        for target in &self.session.targets {
            if target.size_bytes / target.block_bytes.max(1) >= BLOCKS_MAX {
                return Err(JournalError::Limit(format!("{} has more than 2^48 blocks; none has", target.name)));
            }
            let blocks = |tree: &JournalTree| u64::from(tree.files).checked_mul(tree.file_blocks);
            if target.tree.as_ref().is_some_and(|tree| blocks(tree).is_none_or(|blocks| blocks >= BLOCKS_MAX)) {
                return Err(JournalError::Limit(format!(
                    "{}: its files times the blocks of its longest file are more than 2^48; a journal needs fewer or shorter files",
                    target.name
                )));
            }
        }
        let text = serde_json::to_vec(self).unwrap_or_default();
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        if text.is_empty() || text.len() > HEADER_MAX || self.session.targets.len() > usize::from(u16::MAX) {
            let targets = self.session.targets.len();
            return Err(JournalError::Limit(format!("{targets} targets are too many for a journal; validate fewer")));
        }
        let mut bytes = Vec::with_capacity(2 * (FRAME_BYTES + text.len() + PAGE));
        let has_trees = self.session.targets.iter().any(|target| target.tree.is_some());
        for _ in 0..2 {
            bytes.extend_from_slice(if has_trees { &MAGIC_OF_TREES } else { &MAGIC });
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(&crc(&text).to_le_bytes());
            bytes.resize(bytes.len() + FRAME_BYTES - 16, 0);
            bytes.extend_from_slice(&text);
            bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
        }
        Ok(bytes)
    }

    /// Reads the first bytes of a segment, at least all of both copies. Gives the header, where its records begin, and whether a copy is
    /// damaged.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, u64, bool)> {
        let at = |from: usize| Self::one(bytes.get(from..)?);
        let first = at(0);
        let found = match &first {
            Some(found) => Some((found.1, 0)),
            None => (PAGE..=(HEADER_MAX + FRAME_BYTES).next_multiple_of(PAGE))
                .step_by(PAGE)
                .find_map(|from| at(from).map(|copy| (copy.1, from))),
        };
        let (pages, from) = found?;
        // Where the first is damaged, the one that was found stands behind it.
        if from != 0 && from != pages {
            return None;
        }
        let second = at(pages);
        let is_damaged = first != second;
        let header = first.or(second)?.0;
        Some((header, 2 * pages as u64, is_damaged))
    }

    /// One copy, and the bytes of its pages.
    fn one(bytes: &[u8]) -> Option<(Self, usize)> {
        if !bytes.starts_with(&MAGIC) && !bytes.starts_with(&MAGIC_OF_TREES) {
            return None;
        }
        let four = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let length = usize::try_from(four(8)?).ok()?;
        let text = bytes.get(FRAME_BYTES..FRAME_BYTES.checked_add(length)?)?;
        if length > HEADER_MAX || crc(text) != four(12)? {
            return None;
        }
        let header = serde_json::from_slice(text).ok()?;
        Some((header, (FRAME_BYTES + length).next_multiple_of(PAGE)))
    }
}
