//! Is everything in a file of iodyno's still iodyno's?

use crate::ErrorKind;
use crate::content;
use crate::foreign::{Foreign, unknown_data};
use crate::ownership::{self, OwnershipTag, Settled, TagStatus};
use crate::pattern::Known;
use crate::registry::Registry;
use rustix::fd::BorrowedFd;
use rustix::fs::{SeekFrom, seek};
use rustix::io::{Errno, pread};
use std::ops::Range;
use std::path::Path;

/// How much of a file is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Files with more data than this are looked at in samples, …
    whole_bytes: u64,
    /// … so many of them.
    samples: u64,
}

/// Before a file is written whose state is not known.
const PROOF: Effort = Effort { whole_bytes: 1 << 30, samples: 1024 };
/// Size of a sample.
const SAMPLE_BYTES: u64 = 64 << 10;
/// Bytes that are read at a time.
const PIECE_BYTES: u64 = 1 << 20;
const SECTOR_BYTES: usize = 512;

/// Proves that a file with this mark holds nothing but what iodyno wrote.
///
/// # Errors
/// [`ErrorKind::ForeignContent`], [`ErrorKind::Changed`], or [`ErrorKind::Unprovable`] when it cannot be read.
pub(crate) fn prove(fd: BorrowedFd<'_>, size_bytes: u64, mark: &OwnershipTag, flag: &Path) -> Result<(), ErrorKind> {
    let known = mark.known(Registry::find().as_ref());
    let edges = content::look(fd, size_bytes, flag, &known)?;
    let unprovable = |error: Errno| ErrorKind::Unprovable {
        offset: 0,
        bytes: usize::try_from(size_bytes).unwrap_or(usize::MAX),
        source: error.into(),
        flag: flag.to_owned(),
    };
    let standing = mark.standing(Settled::now(fd).map_err(unprovable)?);
    let is_by_content = mark.is_known_by_content(&known);
    match (edges.foreign, standing) {
        // Pieces of our data without our magic are left by writes at odd offsets. No other writer came since, so what is
        // here was here when the last run ended.
        (Some(foreign), TagStatus::Untouched) if is_by_content || edges.signature || edges.own_sectors == 0 => {
            Err(ownership::foreign_error(foreign, flag))
        }
        (_, TagStatus::Untouched) => Ok(()),
        (Some(foreign), _) => Err(ownership::foreign_error(foreign, flag)),
        (None, TagStatus::Changed) => Err(ErrorKind::Changed { flag: flag.to_owned() }),
        (None, TagStatus::Unknown) => match first_foreign(fd, &Places::of(fd, size_bytes, PROOF), &known, flag)? {
            Some(foreign) => Err(ownership::foreign_error(foreign, flag)),
            None => Ok(()),
        },
    }
}

impl Effort {
    /// At the end of a run on so many targets: together at most 128 MiB (more than 500 targets: 256 KiB each), and a
    /// second on a rotating disk.
    pub(crate) fn after_a_run(targets: usize) -> Self {
        let targets = targets.max(1) as u64;
        let whole_bytes = ((128 << 20) / targets).clamp(256 << 10, 32 << 20);
        Self { whole_bytes, samples: (128 / targets).max(2) }
    }
}

/// What a look at a file that a run has left shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// All of it is zero or known.
    Ours,
    /// So are the samples of a large file.
    OursInSamples,
    /// Something else is in it, or it cannot be read.
    Foreign,
}

/// Looks at a file that a run has left.
pub(crate) fn look_after(fd: BorrowedFd<'_>, size_bytes: u64, known: &Known, effort: Effort) -> Left {
    let places = Places::of(fd, size_bytes, effort);
    match first_foreign(fd, &places, known, Path::new("")) {
        Ok(None) if places.are_all => Left::Ours,
        Ok(None) => Left::OursInSamples,
        Ok(Some(_)) | Err(_) => Left::Foreign,
    }
}

/// Is a file as the last run left it, by its time of change and by its edges?
pub(crate) fn is_as_left(fd: BorrowedFd<'_>, size_bytes: u64, mark: &OwnershipTag, flag: &Path) -> bool {
    let is_untouched = Settled::now(fd).is_ok_and(|now| mark.standing(now) == TagStatus::Untouched);
    is_untouched && prove(fd, size_bytes, mark, flag).is_ok()
}

/// What would be lost of a file, with its article, as far as its edges tell; `mark` when it has one.
pub(crate) fn what_is_lost(
    fd: BorrowedFd<'_>,
    size_bytes: u64,
    mark: Option<&OwnershipTag>,
    flag: &Path,
) -> Option<String> {
    let known = mark.map(|mark| mark.known(Registry::find().as_ref())).unwrap_or_default();
    if let Some(foreign) = content::look(fd, size_bytes, flag, &known).ok().and_then(|edges| edges.foreign) {
        return Some(format!("{} at byte {}", foreign.what, foreign.offset));
    }
    let is_changed = mark?.standing(Settled::now(fd).ok()?) == TagStatus::Changed;
    is_changed.then(|| "what another program has written to iodyno's own file".to_string())
}

/// The parts of a file that are looked at.
struct Places {
    ranges: Vec<Range<u64>>,
    /// They are all of its data.
    are_all: bool,
}

impl Places {
    /// All of the data or, when there are more than the effort allows, samples from the start to the end.
    fn of(fd: BorrowedFd<'_>, size_bytes: u64, effort: Effort) -> Self {
        let ranges = data_ranges(fd, size_bytes);
        let data_bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        if data_bytes <= effort.whole_bytes {
            return Self { ranges, are_all: true };
        }
        let mut found = samples(&ranges, data_bytes, effort.samples);
        // What others put first, and what they append.
        found.extend(ranges.first().map(|range| range.start..range.end.min(range.start + SAMPLE_BYTES)));
        let sector = SECTOR_BYTES as u64;
        let tail = |range: &Range<u64>| range.end.saturating_sub(SAMPLE_BYTES).next_multiple_of(sector);
        found.extend(ranges.last().map(|range| range.start.max(tail(range))..range.end));
        Self { ranges: found, are_all: false }
    }
}

/// The first sector that is neither zero nor known, of these parts of a file.
fn first_foreign(
    fd: BorrowedFd<'_>,
    places: &Places,
    known: &Known,
    flag: &Path,
) -> Result<Option<Foreign>, ErrorKind> {
    for range in &places.ranges {
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + PIECE_BYTES);
            if let Some(foreign) = piece(fd, at..end, known, flag)? {
                return Ok(Some(foreign));
            }
            at = end;
        }
    }
    Ok(None)
}

/// Where a file has data, in whole sectors; all of it where the file system does not tell.
fn data_ranges(fd: BorrowedFd<'_>, size_bytes: u64) -> Vec<Range<u64>> {
    let sector = SECTOR_BYTES as u64;
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < size_bytes {
        let start = match seek(fd, SeekFrom::Data(at)) {
            Ok(start) => start.max(at) / sector * sector,
            Err(Errno::NXIO) => break,
            Err(_) => at,
        };
        let end = seek(fd, SeekFrom::Hole(start)).unwrap_or(size_bytes).next_multiple_of(sector).min(size_bytes);
        if start >= size_bytes || end <= at {
            break;
        }
        ranges.push(start.max(at)..end);
        at = end;
    }
    ranges
}

/// Samples spread over the data, one at a place of its own in each of so many equal parts.
fn samples(ranges: &[Range<u64>], data_bytes: u64, count: u64) -> Vec<Range<u64>> {
    let part = data_bytes / count;
    let mut state = data_bytes;
    let mut found = Vec::new();
    let (mut before, mut index) = (0, 0);
    for number in 0..count {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let within = number * part + (state >> 33) % part.saturating_sub(SAMPLE_BYTES).max(1);
        while ranges.get(index).is_some_and(|range| within >= before + (range.end - range.start)) {
            before += ranges[index].end - ranges[index].start;
            index += 1;
        }
        let Some(range) = ranges.get(index) else { break };
        let start = (range.start + (within - before)) / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        found.push(start.max(range.start)..range.end.min(start + SAMPLE_BYTES));
    }
    found
}

/// The first sector of a piece that is neither zero nor known.
fn piece(fd: BorrowedFd<'_>, range: Range<u64>, known: &Known, flag: &Path) -> Result<Option<Foreign>, ErrorKind> {
    let bytes = usize::try_from(range.end - range.start).unwrap_or(0);
    let mut buffer = vec![0; bytes];
    let mut done = 0;
    while done < bytes {
        match pread(fd, &mut buffer[done..], range.start + done as u64) {
            // It became shorter, and what is not there cannot be lost.
            Ok(0) => break,
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => {
                let (offset, flag) = (range.start, flag.to_owned());
                return Err(ErrorKind::Unprovable { offset, bytes, source: error.into(), flag });
            }
        }
    }
    for (index, sector) in buffer[..done].chunks(SECTOR_BYTES).enumerate() {
        let offset = range.start + (index * SECTOR_BYTES) as u64;
        if let Some(at) = sector.iter().position(|byte| *byte != 0).filter(|_| !known.is_own(sector, offset)) {
            return Ok(Some(Foreign { what: unknown_data(&sector[at..]), offset: offset + at as u64 }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;
    use std::os::unix::fs::FileExt;

    #[test]
    fn one_foreign_byte_anywhere_is_found_and_holes_are_not_read() {
        let file = tempfile::tempfile().unwrap();
        let size = (1 << 40) + 100;
        file.set_len(size).unwrap();
        let mut own = vec![0; 8 << 20];
        for sector in own.chunks_mut(512) {
            sector[..8].copy_from_slice(&plan::generate::SECTOR_MAGIC);
            sector[8..].fill(7);
        }
        file.write_all_at(&own, 1 << 30).unwrap();
        let look = || {
            let places = Places::of(file.as_fd(), size, PROOF);
            first_foreign(file.as_fd(), &places, &Known::default(), Path::new("x")).unwrap()
        };
        assert_eq!(look(), None);
        for offset in [0, (1 << 30) - 1, (1 << 30) + 5000 * 512, 1 << 35, size - 1] {
            let mut before = [0];
            file.read_exact_at(&mut before, offset).unwrap();
            file.write_all_at(b"x", offset).unwrap();
            let found = look().unwrap();
            assert!(found.offset <= offset && offset - found.offset < 512, "{offset}: {found:?}");
            file.write_all_at(&before, offset).unwrap();
        }
        assert_eq!(look(), None);
    }

    #[test]
    fn samples_are_spread_over_all_of_the_data() {
        let ranges = [0..3 << 30, 10 << 30..(10 << 30) + 4096, 20 << 30..29 << 30];
        let data = ranges.iter().map(|range| range.end - range.start).sum();
        let samples = samples(&ranges, data, PROOF.samples);
        assert_eq!(samples.len() as u64, PROOF.samples);
        for (index, sample) in samples.iter().enumerate() {
            assert!(sample.start < sample.end && sample.start.is_multiple_of(512));
            assert!(ranges.iter().any(|range| range.start <= sample.start && sample.end <= range.end), "{sample:?}");
            assert!(index == 0 || samples[index - 1].start < sample.start);
        }
        let widest = samples.windows(2).map(|pair| pair[1].start - pair[0].start).filter(|gap| *gap < 1 << 30).max();
        assert!(widest.unwrap() <= 2 * data / PROOF.samples);
        // A large file with a foreign third is found out.
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![b'x'; 4 << 20], 8 << 20).unwrap();
        for targets in [1, 16, 1000] {
            let effort = Effort { whole_bytes: 1 << 20, ..Effort::after_a_run(targets) };
            let left = look_after(file.as_fd(), 12 << 20, &Known::default(), effort);
            assert_eq!(left, Left::Foreign, "{targets}");
        }
    }

    #[test]
    fn a_look_after_a_run_is_bounded() {
        let file = tempfile::tempfile().unwrap();
        let size = 64 << 20;
        let mut own = vec![0; 1 << 20];
        own.chunks_mut(512).for_each(|sector| sector[..8].copy_from_slice(&plan::generate::SECTOR_MAGIC));
        for index in 0..64 {
            file.write_all_at(&own, index << 20).unwrap();
        }
        for (targets, bytes, most) in
            [(1, 32 << 20, 32 << 20), (1, size, 9 << 20), (1000, 1 << 20, 256 << 10), (1000, size, 256 << 10)]
        {
            let effort = Effort::after_a_run(targets);
            let places = Places::of(file.as_fd(), bytes, effort);
            let looked: u64 = places.ranges.iter().map(|range| range.end - range.start).sum();
            assert!(looked <= most, "{targets} {bytes}: {looked}");
            let left = if places.are_all { Left::Ours } else { Left::OursInSamples };
            assert_eq!(look_after(file.as_fd(), bytes, &Known::default(), effort), left);
            // What stands at the end is always seen.
            file.write_all_at(b"x", bytes - 1).unwrap();
            file.write_all_at(b"x", bytes - 512).unwrap();
            assert_eq!(look_after(file.as_fd(), bytes, &Known::default(), effort), Left::Foreign);
            file.write_all_at(&own, bytes - own.len() as u64).unwrap();
        }
    }
}
