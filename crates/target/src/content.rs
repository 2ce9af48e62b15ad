//! Does anything but zeroes and iodyno's own data stand on a target?

use crate::ErrorKind;
use crate::foreign::{Foreign, SECTOR_BYTES, ScannedBlocks};
use crate::pattern::Known;
use crate::signature;
use crate::survey_offsets::{self, Medium};
use rustix::fd::BorrowedFd;
use rustix::fs::{Advice, fadvise, ioctl_blksszget};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

/// The first and the last so many bytes of a file are looked at, each of them.
pub(crate) const EDGE_BYTES: u64 = 1 << 20;
/// What was found on a target.
#[derive(Debug)]
pub(crate) struct Edges {
    /// The first thing that is not ours.
    pub(crate) foreign: Option<Foreign>,
    /// A known signature among it.
    pub(crate) signature: bool,
    /// Sectors that iodyno wrote.
    pub(crate) own_sectors: usize,
}

/// Looks at the edges of a file. `known` tells by what a sector is iodyno's.
///
/// # Errors
/// [`ErrorKind::Unprovable`] when they cannot be read.
pub(crate) fn look(fd: BorrowedFd<'_>, size_bytes: u64, flag: &Path, known: &Known) -> Result<Edges, ErrorKind> {
    let sector = SECTOR_BYTES as u64;
    // Both edges begin at a sector, also in a file whose size is odd.
    let tail = size_bytes.saturating_sub(EDGE_BYTES) / sector * sector;
    let view = ScannedBlocks::read(fd, size_bytes, flag, known, &[0..size_bytes.min(EDGE_BYTES), tail..size_bytes])?;
    let found = signature::find(&view)?;
    let signature = found.is_some();
    Ok(Edges { foreign: found.or_else(|| view.first_byte()), signature, own_sectors: view.own_sectors })
}

/// What was found on a device.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The first thing that is not ours.
    pub(crate) foreign: Option<Foreign>,
    /// Some of the places where something is that is not ours, in order.
    pub(crate) places: Vec<u64>,
}

/// Looks at a device: at its edges, at the edges of all likely partitions, at copies of superblocks, where an earlier look
/// found something (`remembered`), and at samples of the rest ([`sample_plan::parts`]). `direct` is opened with `O_DIRECT`
/// where that works, so that neither the page cache is filled nor what it remembers of an earlier content is believed.
///
/// # Errors
/// [`ErrorKind::Unprovable`] when a part cannot be read.
pub(crate) fn scan_device(
    direct: BorrowedFd<'_>,
    size_bytes: u64,
    medium: Medium,
    flag: &Path,
    known: &Known,
    remembered: &[u64],
) -> Result<Survey, ErrorKind> {
    let block = ioctl_blksszget(direct).unwrap_or(512);
    // Without direct I/O: forget clean pages, and read what is asked for only.
    let _ = fadvise(direct, 0, None, Advice::DontNeed);
    let _ = fadvise(direct, 0, None, Advice::Random);
    // Half of the samples lie elsewhere in every look: what one has missed, the next may find.
    let (keys, mut count) = (RandomState::new(), 0_u64);
    let random = || {
        count += 1;
        keys.hash_one(count)
    };
    let parts = survey_offsets::parts(size_bytes, u64::from(block), medium, remembered, random);
    let view = ScannedBlocks::read(direct, size_bytes, flag, known, &parts)?;
    let Some(first) = view.first_byte() else { return Ok(Survey::default()) };
    // It is refused; the rest is about a name that helps.
    let named = signature::find(&view)?.or_else(|| signature::find_in_partitions(&view)).unwrap_or(first);
    Ok(Survey { foreign: Some(named), places: view.foreign_places(remembered) })
}
