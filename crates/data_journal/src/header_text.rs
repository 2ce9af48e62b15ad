//! How a header is written: a frame and a JSON text, twice.
//!
//! Many targets have the same earlier executions, one more with each session. So each such list stands in the text once, and targets
//! refer to it by its place: a journal that could be begun with its targets can be gone on with.

use crate::error::JournalError;
use crate::header::{Crash, JournalTarget, JournalTree, SegmentHeader, SessionHeader};
use crate::record::{BLOCKS_MAX, crc};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// First bytes of a segment; the last one is the version of this layout. Programs do not read what came behind them.
const MAGIC: [u8; 7] = *b"iodynoj";
/// Targets are ranges of blocks, each with a list of earlier executions of its own.
const PLAIN: u8 = 1;
/// There are trees, too.
const TREES: u8 = 2;
/// Lists of earlier executions stand once, and texts may be longer.
const SHARED_RUNS: u8 = 3;
/// Magic, length and checksum of the text, and zeroes.
const FRAME_BYTES: usize = 32;
/// A header takes whole pages of this, so that its copy is found.
const PAGE: usize = 4096;
/// Longest text of a header, bytes: some ten thousand targets.
const TEXT_MAX: usize = 4 << 20;
/// … of the layouts before lists were shared.
const OLD_TEXT_MAX: usize = 1 << 20;
/// Kept free in the first header of a journal, bytes, for what headers of later sessions have more: mostly their list of earlier
/// executions.
const RESERVE: usize = 512 << 10;
/// No header with its copy takes more bytes.
pub(crate) const HEADERS_MAX: usize = 2 * (FRAME_BYTES + TEXT_MAX).next_multiple_of(PAGE);
/// A block has whole sectors.
const SECTOR: u64 = 512;
/// Bytes of the largest block of a load.
const BLOCK_MAX: u64 = 1 << 20;

/// A segment as its text has it.
#[derive(Serialize, Deserialize)]
struct SegmentText {
    journal: u64,
    segment: u64,
    previous: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous_bytes: Option<u64>,
    of_session: u64,
    session: SessionText,
}

#[derive(Serialize, Deserialize)]
struct SessionText {
    run: u64,
    boot: String,
    pid: u32,
    wall_ns: i64,
    targets: Vec<TargetText>,
    after: Option<Crash>,
    /// Lists of earlier executions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Vec<u64>>,
}

#[derive(Serialize, Deserialize)]
struct TargetText {
    name: String,
    device: u64,
    size_bytes: u64,
    block_bytes: u64,
    /// Earlier executions; where lists are shared there is none of a target's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<u64>>,
    /// Place of the list among those of the session; neither: there are no earlier executions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<usize>,
    is_synchronous: bool,
    is_trimmed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tree: Option<JournalTree>,
}

impl SegmentText {
    /// `shares`: lists of earlier executions stand once.
    fn of(header: &SegmentHeader, shares: bool) -> Self {
        let session = &header.session;
        let mut earlier: Vec<Vec<u64>> = Vec::new();
        let mut places: HashMap<&[u64], usize> = HashMap::new();
        for target in session.targets.iter().filter(|target| shares && !target.runs.is_empty()) {
            places.entry(&target.runs).or_insert_with(|| {
                earlier.push(target.runs.to_vec());
                earlier.len() - 1
            });
        }
        let of_target = |target: &JournalTarget| {
            let place = places.get(&*target.runs).copied();
            TargetText {
                name: target.name.clone(),
                device: target.device,
                size_bytes: target.size_bytes,
                block_bytes: target.block_bytes,
                runs: (!shares).then(|| target.runs.to_vec()),
                earlier: place,
                is_synchronous: target.is_synchronous,
                is_trimmed: target.is_trimmed,
                tree: target.tree.clone(),
            }
        };
        let targets = session.targets.iter().map(of_target).collect();
        Self {
            journal: header.journal,
            segment: header.segment,
            previous: header.previous,
            previous_bytes: header.previous_bytes,
            of_session: header.of_session,
            session: SessionText {
                run: session.run,
                boot: session.boot.clone(),
                pid: session.pid,
                wall_ns: session.wall_ns,
                targets,
                after: session.after,
                earlier,
            },
        }
    }

    /// `None`: a target refers to a list that is not there.
    fn into_header(self) -> Option<SegmentHeader> {
        let Self { journal, segment, previous, previous_bytes, of_session, session } = self;
        let lists: Vec<Arc<[u64]>> = session.earlier.into_iter().map(Arc::from).collect();
        // Lists of their own are mostly the same, too.
        let mut before: Arc<[u64]> = Arc::default();
        let mut of_target = |target: TargetText| {
            let runs = match (target.runs, target.earlier) {
                (Some(own), _) if *own == *before => before.clone(),
                (Some(own), _) => own.into(),
                (None, Some(place)) => lists.get(place)?.clone(),
                (None, None) => Arc::default(),
            };
            before = runs.clone();
            Some(JournalTarget {
                name: target.name,
                device: target.device,
                size_bytes: target.size_bytes,
                block_bytes: target.block_bytes,
                runs,
                is_synchronous: target.is_synchronous,
                is_trimmed: target.is_trimmed,
                tree: target.tree,
            })
        };
        let targets = session.targets.into_iter().map(&mut of_target).collect::<Option<Vec<_>>>()?;
        let session = SessionHeader {
            run: session.run,
            boot: session.boot,
            pid: session.pid,
            wall_ns: session.wall_ns,
            targets,
            after: session.after,
        };
        Some(SegmentHeader { journal, segment, previous, previous_bytes, of_session, session: Arc::new(session) })
    }
}

/// Why a session cannot have this target; `None`: it can.
fn mistake(target: &JournalTarget) -> Option<String> {
    let (name, block) = (&target.name, target.block_bytes);
    if !block.is_multiple_of(SECTOR) || !(SECTOR..=BLOCK_MAX).contains(&block) {
        return Some(format!("{name} has blocks of {block} bytes; they are whole sectors, and at most 1 MiB"));
    }
    if target.size_bytes / block >= BLOCKS_MAX {
        return Some(format!("{name} has more than 2^48 blocks; none has"));
    }
    let blocks = |tree: &JournalTree| u64::from(tree.files).checked_mul(tree.file_blocks);
    let is_too_large = target.tree.as_ref().is_some_and(|tree| blocks(tree).is_none_or(|blocks| blocks >= BLOCKS_MAX));
    is_too_large.then(|| {
        format!("{name}: its files times the blocks of its longest file are more than 2^48; a journal needs fewer or shorter files")
    })
}

impl SegmentHeader {
    /// The header and its copy, in whole pages.
    ///
    /// # Errors
    /// It has too many targets, or one is too large.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, JournalError> {
        let targets = &self.session.targets;
        if let Some(mistake) = targets.iter().find_map(mistake) {
            return Err(JournalError::Limit(mistake));
        }
        let has_trees = targets.iter().any(|target| target.tree.is_some());
        let has_earlier = targets.iter().any(|target| !target.runs.is_empty());
        let text = |shares: bool| serde_json::to_vec(&SegmentText::of(self, shares)).unwrap_or_default();
        let plain = Some(text(false)).filter(|text| !has_earlier && text.len() <= OLD_TEXT_MAX);
        let (layout, text) = match plain {
            Some(plain) => (if has_trees { TREES } else { PLAIN }, plain),
            None => (SHARED_RUNS, text(true)),
        };
        let most = if self.previous.is_none() { TEXT_MAX - RESERVE } else { TEXT_MAX };
        if text.is_empty() || text.len() > most || targets.len() > usize::from(u16::MAX) {
            let targets = targets.len();
            return Err(JournalError::Limit(format!("{targets} targets are too many for a journal; validate fewer")));
        }
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(2 * (FRAME_BYTES + text.len() + PAGE));
        for _ in 0..2 {
            bytes.extend_from_slice(&MAGIC);
            bytes.push(layout);
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
    ///
    /// # Errors
    /// Why it cannot be used: the end of a sentence.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Self, u64, bool), &'static str> {
        let at = |from: usize| Self::one(bytes.get(from..)?);
        let first = at(0);
        let found = match &first {
            Some(found) => Some((found.1, 0)),
            None => (PAGE..=HEADERS_MAX / 2).step_by(PAGE).find_map(|from| at(from).map(|copy| (copy.1, from))),
        };
        // Where the first is damaged, the one that was found stands behind it.
        let Some((pages, _)) = found.filter(|(pages, from)| *from == 0 || from == pages) else {
            let is_newer =
                bytes.strip_prefix(&MAGIC).and_then(<[u8]>::first).is_some_and(|layout| *layout > SHARED_RUNS);
            return Err(if is_newer { NEWER } else { HEADLESS });
        };
        let second = at(pages);
        let is_damaged = first != second;
        let header = first.or(second).ok_or(HEADLESS)?.0;
        match header.session.targets.iter().any(|target| mistake(target).is_some()) {
            true => Err(IMPOSSIBLE),
            false => Ok((header, 2 * pages as u64, is_damaged)),
        }
    }

    /// One copy, and the bytes of its pages.
    fn one(bytes: &[u8]) -> Option<(Self, usize)> {
        let (layout, rest) = bytes.strip_prefix(&MAGIC)?.split_first()?;
        let most = match *layout {
            PLAIN | TREES => OLD_TEXT_MAX,
            SHARED_RUNS => TEXT_MAX,
            _ => return None,
        };
        let four = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?));
        let length = usize::try_from(four(0)?).ok()?;
        let text = bytes.get(FRAME_BYTES..FRAME_BYTES.checked_add(length)?)?;
        if length > most || crc(text) != four(4)? {
            return None;
        }
        let text: SegmentText = serde_json::from_slice(text).ok()?;
        Some((text.into_header()?, (FRAME_BYTES + length).next_multiple_of(PAGE)))
    }
}

/// Why a header cannot be used.
pub(crate) const HEADLESS: &str = "has no intact header, so that nothing is known of its session";
const NEWER: &str = "was written by a newer iodyno, which has to read it, so that nothing is known of its session";
const IMPOSSIBLE: &str = "has a header of a target that cannot be, so that nothing is known of its session";
