//! What on a target is neither zero nor iodyno's own.

use crate::ErrorKind;
use crate::pattern::Known;
use crate::survey_offsets;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::{Errno, pread};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The check for iodyno's own data goes sector by sector.
pub(crate) const SECTOR_BYTES: usize = 512;
/// Reads of a device at the same time.
const DEPTH: usize = 64;
/// Direct I/O into buffers at multiples of this works on every device.
const ALIGN_BYTES: usize = 4096;

/// What was found that is neither zero nor ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// What it is, with its article.
    pub(crate) what: String,
    /// Where, from the start of the target.
    pub(crate) offset: u64,
}

/// A target's bytes, in which every sector that iodyno wrote reads as zeroes. A short signature that happens to stand
/// in our own random data is thus never seen, and one that another program wrote over our data is.
#[derive(Debug)]
pub(crate) struct ScannedBlocks<'a> {
    fd: BorrowedFd<'a>,
    flag: &'a Path,
    known: &'a Known,
    /// Size of the target.
    pub(crate) size_bytes: u64,
    /// What was read, in order.
    pieces: Vec<Piece>,
    /// Sectors that iodyno wrote.
    pub(crate) own_sectors: usize,
}

/// Adjacent bytes with our own sectors blanked.
#[derive(Debug)]
struct Piece {
    offset: u64,
    bytes: Vec<u8>,
    own_sectors: usize,
}

impl Piece {
    /// Where the first byte is that is neither zero nor ours.
    fn first_foreign(&self) -> Option<u64> {
        let index = self.bytes.iter().position(|byte| *byte != 0)?;
        Some(self.offset + index as u64)
    }
}

impl<'a> ScannedBlocks<'a> {
    /// Reads parts of a target, several at the same time.
    pub(crate) fn read(
        fd: BorrowedFd<'a>,
        size_bytes: u64,
        flag: &'a Path,
        known: &'a Known,
        parts: &[Range<u64>],
    ) -> Result<Self, ErrorKind> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut pieces = Vec::new();
            while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                pieces.push(fetch(fd, part.clone(), flag, known)?);
            }
            Ok(pieces)
        };
        let results: Vec<Result<Vec<Piece>, ErrorKind>> = std::thread::scope(|scope| {
            let threads = DEPTH.min(parts.len());
            // A machine that gives no more threads: the ones that there are do it, this one at the least.
            let others: Vec<_> = (1..threads)
                .map_while(|_| std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, work).ok())
                .collect();
            let own = work();
            let joined = others.into_iter().map(|other| {
                // A panic of ours goes on.
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.chain(std::iter::once(own)).collect()
        });
        let mut pieces = Vec::with_capacity(parts.len());
        for result in results {
            pieces.extend(result?);
        }
        pieces.sort_unstable_by_key(|piece| piece.offset);
        let own_sectors = pieces.iter().map(|piece| piece.own_sectors).sum();
        Ok(ScannedBlocks { fd, flag, known, size_bytes, pieces, own_sectors })
    }

    /// Bytes `[offset, offset + len)` with our own sectors blanked; `None` when they lie outside the target.
    pub(crate) fn at(&self, offset: u64, len: u64) -> Result<Option<Vec<u8>>, ErrorKind> {
        let Some(end) = offset.checked_add(len).filter(|end| *end <= self.size_bytes) else { return Ok(None) };
        if let Some(bytes) = self.peek(offset, len) {
            return Ok(Some(bytes));
        }
        // In the middle: read whole sectors, so that our own can be recognised.
        let align = ALIGN_BYTES as u64;
        let low = offset / align * align;
        let high = end.next_multiple_of(align).min(self.size_bytes);
        let piece = fetch(self.fd, low..high, self.flag, self.known)?;
        let (Ok(skip), Ok(len)) = (usize::try_from(offset - low), usize::try_from(len)) else { return Ok(None) };
        Ok(piece.bytes.get(skip..skip + len).map(<[u8]>::to_vec))
    }

    /// The same, of what was read already; `None` when some of it was not.
    pub(crate) fn peek(&self, offset: u64, len: u64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut index = self.pieces.partition_point(|piece| piece.offset <= offset).checked_sub(1)?;
        let (mut at, end) = (offset, offset.checked_add(len)?);
        while at < end {
            let piece = self.pieces.get(index)?;
            let low = usize::try_from(at.checked_sub(piece.offset)?).ok()?;
            let high = usize::try_from(end - piece.offset).unwrap_or(usize::MAX).min(piece.bytes.len());
            let bytes = piece.bytes.get(low..high).filter(|bytes| !bytes.is_empty())?;
            out.extend_from_slice(bytes);
            at += bytes.len() as u64;
            index += 1;
        }
        Some(out)
    }

    /// Where something is that is neither zero nor ours: the remembered places at which it still is, and of the pieces as
    /// many as may be remembered, spread over the target.
    pub(crate) fn foreign_places(&self, remembered: &[u64]) -> Vec<u64> {
        let is_foreign = |offset: &&u64| {
            let sector = **offset / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
            self.peek(sector, SECTOR_BYTES as u64).is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0))
        };
        let mut places: Vec<u64> = remembered.iter().filter(is_foreign).copied().collect();
        let found: Vec<u64> = self.pieces.iter().filter_map(Piece::first_foreign).collect();
        let room = survey_offsets::MAX_REMEMBERED.saturating_sub(places.len());
        let step = found.len().div_ceil(room.max(1)).max(1);
        places.extend(found.into_iter().step_by(step).take(room));
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The first byte of what was read that is neither zero nor ours.
    pub(crate) fn first_byte(&self) -> Option<Foreign> {
        self.pieces.iter().find_map(|piece| {
            let index = piece.bytes.iter().position(|byte| *byte != 0)?;
            Some(Foreign { what: unknown_data(&piece.bytes[index..]), offset: piece.offset + index as u64 })
        })
    }
}

/// Reads a part that begins at a sector; blanks our own sectors.
fn fetch(fd: BorrowedFd<'_>, part: Range<u64>, flag: &Path, known: &Known) -> Result<Piece, ErrorKind> {
    let offset = part.start;
    let len = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
    let unprovable =
        |source: std::io::Error| ErrorKind::Unprovable { offset, bytes: len, source, flag: flag.to_owned() };
    // Direct I/O needs the buffer at a whole block.
    let mut buffer = vec![0; len + ALIGN_BYTES];
    let skip = buffer.as_ptr().align_offset(ALIGN_BYTES).min(ALIGN_BYTES);
    let mut done = 0;
    while done < len {
        match pread(fd.as_fd(), &mut buffer[skip + done..skip + len], offset + done as u64) {
            Ok(0) => return Err(unprovable(std::io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(unprovable(error.into())),
        }
    }
    let mut bytes = buffer.split_off(skip);
    bytes.truncate(len);
    let mut own_sectors = 0;
    for (index, sector) in bytes.chunks_mut(SECTOR_BYTES).enumerate() {
        if known.is_own(sector, offset + (index * SECTOR_BYTES) as u64) {
            sector.fill(0);
            own_sectors += 1;
        }
    }
    Ok(Piece { offset, bytes, own_sectors })
}

/// Data without a known signature, with their first bytes.
pub(crate) fn unknown_data(bytes: &[u8]) -> String {
    let sample: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("data that iodyno did not write ({} …)", sample.join(" "))
}
