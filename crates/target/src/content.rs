//! Does anything but zeroes and iodyno's own data stand at the edges of a target?

use crate::ErrorKind;

use crate::pattern::Known;
use crate::signature;
use rustix::fd::BorrowedFd;
use rustix::io::{Errno, pread};
use std::path::Path;

/// The first and the last so many bytes are looked at, each of them.
pub(crate) const EDGE_BYTES: u64 = 1 << 20;
/// What iodyno wrote is told sector by sector.
const SECTOR_BYTES: usize = 512;

/// What was found that is neither zero nor ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// What it is, with its article.
    pub(crate) what: String,
    /// Where, from the start of the target.
    pub(crate) offset: u64,
}

/// What the edges of a target hold.
#[derive(Debug)]
pub(crate) struct Edges {
    /// The first thing that is not ours.
    pub(crate) foreign: Option<Foreign>,
    /// A known signature among it.
    pub(crate) signature: bool,
    /// Sectors that iodyno wrote.
    pub(crate) own_sectors: usize,
}

/// Looks at the edges of a target. `known` tells by what a sector is iodyno's.
///
/// # Errors
/// [`ErrorKind::Unprovable`] when they cannot be read.
pub(crate) fn look(fd: BorrowedFd<'_>, size_bytes: u64, flag: &Path, known: &Known) -> Result<Edges, ErrorKind> {
    let view = View::read(fd, size_bytes, flag, known)?;
    if let Some(foreign) = signature::find(&view)? {
        return Ok(Edges { foreign: Some(foreign), signature: true, own_sectors: view.own_sectors });
    }
    let foreign = view.first_byte();
    Ok(Edges { foreign, signature: false, own_sectors: view.own_sectors })
}

/// A target's bytes, in which every sector that iodyno wrote reads as zeroes. A short signature that happens to stand
/// in our own random data is thus never seen, and one that somebody wrote over our data is.
#[derive(Debug)]
pub(crate) struct View<'a> {
    fd: BorrowedFd<'a>,
    flag: &'a Path,
    known: &'a Known,
    /// Size of the target.
    pub(crate) size_bytes: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
    tail_offset: u64,
    own_sectors: usize,
}

impl<'a> View<'a> {
    fn read(fd: BorrowedFd<'a>, size_bytes: u64, flag: &'a Path, known: &'a Known) -> Result<Self, ErrorKind> {
        let (head, tail) = (Vec::new(), Vec::new());
        let mut view = View { fd, flag, known, size_bytes, head, tail, tail_offset: 0, own_sectors: 0 };
        let sector = SECTOR_BYTES as u64;
        // Both edges begin at a sector, also in a file whose size is odd.
        view.tail_offset = size_bytes.saturating_sub(EDGE_BYTES) / sector * sector;
        let (head, own_head) = view.fetch(0, size_bytes.min(EDGE_BYTES))?;
        let (tail, own_tail) = view.fetch(view.tail_offset, size_bytes - view.tail_offset)?;
        view.head = head;
        view.tail = tail;
        view.own_sectors = own_head + own_tail;
        Ok(view)
    }

    /// Bytes `[offset, offset + len)` with our own sectors blanked; `None` when they lie outside the target.
    pub(crate) fn at(&self, offset: u64, len: u64) -> Result<Option<Vec<u8>>, ErrorKind> {
        let Some(end) = offset.checked_add(len).filter(|end| *end <= self.size_bytes) else { return Ok(None) };
        for (start, bytes) in [(0, &self.head), (self.tail_offset, &self.tail)] {
            if offset >= start && end <= start + bytes.len() as u64 {
                let (Ok(low), Ok(high)) = (usize::try_from(offset - start), usize::try_from(end - start)) else {
                    return Ok(None);
                };
                return Ok(Some(bytes[low..high].to_vec()));
            }
        }
        // In the middle: read whole sectors, so that our own can be told.
        let sector = SECTOR_BYTES as u64;
        let low = offset / sector * sector;
        let high = end.div_ceil(sector).saturating_mul(sector).min(self.size_bytes);
        let (bytes, _) = self.fetch(low, high - low)?;
        let (Ok(skip), Ok(len)) = (usize::try_from(offset - low), usize::try_from(len)) else { return Ok(None) };
        Ok(bytes.get(skip..skip + len).map(<[u8]>::to_vec))
    }

    /// Reads whole sectors; returns them with our own blanked, and how many of those there were.
    fn fetch(&self, offset: u64, len: u64) -> Result<(Vec<u8>, usize), ErrorKind> {
        let bytes = usize::try_from(len).unwrap_or(usize::MAX);
        let unprovable =
            |source: std::io::Error| ErrorKind::Unprovable { offset, bytes, source, flag: self.flag.to_owned() };
        let mut buffer = vec![0; bytes];
        let mut done = 0;
        while done < buffer.len() {
            match pread(self.fd, &mut buffer[done..], offset + done as u64) {
                Ok(0) => return Err(unprovable(std::io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(unprovable(error.into())),
            }
        }
        let mut own = 0;
        for (index, sector) in buffer.chunks_mut(SECTOR_BYTES).enumerate() {
            if self.known.is_own(sector, offset + (index * SECTOR_BYTES) as u64) {
                sector.fill(0);
                own += 1;
            }
        }
        Ok((buffer, own))
    }

    /// The first byte at the edges that is neither zero nor ours.
    fn first_byte(&self) -> Option<Foreign> {
        for (start, bytes) in [(0, &self.head), (self.tail_offset, &self.tail)] {
            if let Some(index) = bytes.iter().position(|byte| *byte != 0) {
                return Some(Foreign { what: unknown_data(&bytes[index..]), offset: start + index as u64 });
            }
        }
        None
    }
}

/// Data without a known signature, with their first bytes.
pub(crate) fn unknown_data(bytes: &[u8]) -> String {
    let sample: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("data that iodyno did not write ({} …)", sample.join(" "))
}
