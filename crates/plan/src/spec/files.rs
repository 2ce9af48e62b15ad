//! How a job goes through files and devices by fio's rules: which part of each it uses, in which order, and when it is
//! through. Amounts may depend on the size that a target is found to have, so they are resolved when it is open.

use super::range::{AddressRange, RangeBound};
use crate::floor::floor_u64;
use serde::{Deserialize, Serialize};

/// The part of each of its targets that a job uses, and the order in which it goes through it.
///
/// What fio does is the rule (`setup_files()` and `get_next_offset()` of fio 3.33); [`FileUse::part`] is the arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileUse {
    /// Where the part begins: so many bytes …
    pub offset_bytes: u64,
    /// … and this fraction of the target's size. A part that begins at a fraction begins at the next multiple of
    /// `smallest_bytes`.
    pub offset_fraction: f64,
    /// How long the part is, by target of the workload; a target without an entry: all the rest.
    pub lengths: Vec<FileLength>,
    /// This fraction, counted from the target's start to the end that `lengths` gives (`size=N%`); 1: all of it.
    pub fraction: f64,
    /// The smallest transfer of the job, that of kinds of operation which never come included.
    pub smallest_bytes: u64,
    /// Size of each file when this job's turn to look came, at least: what the jobs up to this one need. 0: as it was found.
    pub file_bytes: Vec<u64>,
    /// Sequential order: from the end of a transfer to the start of the next, less than 0: backwards.
    pub gap_bytes: i64,
    /// Random order: places are multiples of this, by operation (reads, writes, trims); 0: of its smallest transfer.
    pub align_bytes: [u64; 3],
    /// Random places may come again although others were not visited yet.
    pub repeats: bool,
    /// Random order, transfers of different sizes, and places do not come again: a transfer is cut where one before it begins.
    /// Without it the places alone do not come again.
    #[serde(default)]
    pub cuts: bool,
    /// The page cache of a part is dropped before each pass over it.
    pub drops_cache: bool,
    /// Before the job begins, all its parts are read with transfers of this many bytes; what that cost is in no figure.
    #[serde(default)]
    pub pre_read_bytes: Option<u64>,
    /// The advice that the kernel gets about buffered reads.
    pub hint: ReadHint,
    /// At the end a target begins anew by itself (`time_based`); otherwise it is through.
    pub rewinds: bool,
    /// Each pass makes random choices of its own (`randrepeat=0`); otherwise all make those of the first.
    pub varies: bool,
    /// The part is gone through in zones.
    #[serde(default)]
    pub strided: Option<StridedZones>,
}

/// Zones of a file, one behind the other: so much is done in one, then in the next; behind the file's end, in the first again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StridedZones {
    /// Bytes that are issued in a zone before the next one's turn; more than its length: it is gone through again.
    pub bytes: u64,
    /// Length of a zone.
    pub range_bytes: u64,
    /// Between the end of a zone and the start of the next.
    pub skip_bytes: u64,
}

/// How a file will be read: advice to the kernel (`posix_fadvise(2)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadHint {
    /// Nothing: it reads ahead as far as what it sees suggests.
    #[default]
    Unset,
    /// At random: no reading ahead.
    Random,
    /// In order: it reads ahead twice as far.
    Sequential,
}

/// Length of the part of one target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum FileLength {
    /// All that is behind the offset.
    Rest,
    /// Bytes. May reach beyond the end of a device: the job is through where it ends.
    Bytes(u64),
    /// The target is taken for this long when its size is not in `low..=high` (fio's `filesize=`).
    Whole {
        /// Smallest size that is left as it is.
        low: u64,
        /// Largest size that is left as it is.
        high: u64,
        /// Size otherwise.
        bytes: u64,
    },
}

/// A part of a target of known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePart {
    /// First byte.
    pub start: u64,
    /// Bytes; may reach beyond the end.
    pub bytes: u64,
}

impl Default for FileUse {
    fn default() -> Self {
        Self {
            offset_bytes: 0,
            offset_fraction: 0.0,
            lengths: Vec::new(),
            fraction: 1.0,
            smallest_bytes: 4096,
            file_bytes: Vec::new(),
            gap_bytes: 0,
            align_bytes: [0; 3],
            repeats: false,
            cuts: false,
            drops_cache: false,
            pre_read_bytes: None,
            hint: ReadHint::Unset,
            rewinds: false,
            varies: false,
            strided: None,
        }
    }
}

impl FileUse {
    /// The part of target number `member` of the workload, which has `real_bytes`; `None` when it begins beyond the end.
    pub fn part(&self, member: usize, real_bytes: u64) -> Option<FilePart> {
        let smallest = self.smallest_bytes.max(1);
        let mut start = self.offset_bytes.saturating_add(part_of(real_bytes, self.offset_fraction));
        if self.offset_fraction > 0.0 {
            start = start.checked_next_multiple_of(smallest)?;
        }
        let rest = || real_bytes.checked_sub(start);
        let mut bytes = match self.lengths.get(member).copied().unwrap_or(FileLength::Rest) {
            FileLength::Rest => rest()?,
            FileLength::Bytes(bytes) => bytes,
            FileLength::Whole { low, high, .. } if (low..=high).contains(&real_bytes) => rest()?,
            FileLength::Whole { low, bytes, .. } if start <= low => bytes.saturating_sub(start),
            FileLength::Whole { .. } => return None,
        };
        if self.fraction < 1.0 {
            let whole = bytes.saturating_add(start);
            bytes = part_of(whole, self.fraction).min(whole - start);
            bytes -= bytes % smallest;
        }
        Some(FilePart { start, bytes })
    }

    /// The size that a file must have for this job, where that does not depend on the size that it has.
    pub fn needs_bytes(&self, member: usize) -> Option<u64> {
        let is_known =
            self.offset_fraction == 0.0 && !matches!(self.lengths.get(member), None | Some(FileLength::Rest));
        let part = if is_known { self.part(member, 0) } else { None };
        part.map(|part| part.start.saturating_add(part.bytes))
    }

    /// The size of a file that was found with `found_bytes`, as this job sees it: jobs behind it may need more.
    pub fn seen_bytes(&self, member: usize, found_bytes: u64) -> u64 {
        found_bytes.max(self.file_bytes.get(member).copied().unwrap_or(0))
    }

    /// As a range behind a base, for languages that know no other; `None` where only fio's words say it.
    pub fn as_range(&self) -> Option<(u64, Option<AddressRange>)> {
        let first = self.lengths.first().copied().unwrap_or(FileLength::Rest);
        let is_alike = self.lengths.iter().all(|length| *length == first);
        let (low, fraction) = (self.offset_fraction, self.fraction);
        let range = |low, high| Some(AddressRange { low, high });
        match first {
            _ if self.strided.is_some() || !is_alike || (low > 0.0 && self.offset_bytes > 0) => None,
            FileLength::Bytes(bytes) if low == 0.0 => Some((
                self.offset_bytes,
                range(RangeBound::Bytes(0), RangeBound::Bytes(bytes - bytes % self.smallest_bytes.max(1))),
            )),
            FileLength::Bytes(_) => None,
            FileLength::Rest | FileLength::Whole { .. } if fraction >= 1.0 && low == 0.0 => {
                Some((self.offset_bytes, None))
            }
            FileLength::Rest | FileLength::Whole { .. } if self.offset_bytes == 0 => {
                Some((0, range(RangeBound::Fraction(low), RangeBound::Fraction((low + fraction).min(1.0)))))
            }
            FileLength::Rest | FileLength::Whole { .. } => None,
        }
    }
}

/// When a job that goes through files is through with them: the bytes of a pass, and how many passes there are.
///
/// A pass ends when all files are through, or (`ends_by_bytes`) when so many bytes were issued as the job's size says; the job ends with its
/// last pass, or before an operation when all bytes that it may do were issued (`do_io()` and `keep_running()` of fio 3.33).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilePasses {
    /// Bytes of all files together, as asked for; `None`: their parts.
    pub size_bytes: Option<u64>,
    /// Bytes to be done instead (`io_size=`); a fraction is one of each file's part.
    pub io_size: Option<RangeBound>,
    /// Passes.
    pub loops: u64,
    /// Only time ends the job: a pass is followed by another.
    pub endless: bool,
    /// The largest transfer of all directions, used or not: less than this is not worth another pass.
    pub largest_bytes: u64,
    /// A pass also ends when reads and writes of `size_bytes` were issued in it: with fio's asynchronous engines. Its synchronous
    /// ones count nothing towards a pass (`io_queue_event()`), which goes on until its files are through.
    #[serde(default = "by_bytes")]
    pub ends_by_bytes: bool,
}

/// As it was before there was a choice.
fn by_bytes() -> bool {
    true
}

/// How the files of a plan come to their length, and whether they hold data before anything is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileLayout {
    /// Shorter files are extended to this; devices are taken as they are.
    pub at_least_bytes: u64,
    /// How.
    pub how: LayoutKind,
    /// So many of the folders that its path ends in are made where they are missing.
    #[serde(default)]
    pub folders: usize,
}

/// How a file is extended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LayoutKind {
    /// Allocated, and written once before the first run: reads find data.
    #[default]
    Filled,
    /// Allocated with its new size (`fallocate(2)`): the first write of each block still has to note that there is data.
    Allocated,
    /// Allocated, and its size left as it is: each write at its end extends the file.
    Kept,
    /// Only its size is set: every first write allocates.
    Sparse,
    /// Left as it is: writes at its end allocate and extend.
    Untouched,
    /// The same without a check for room: it is written until the file system is full.
    Unbounded,
}

/// A fraction of some bytes, rounded down; exact for whole percents and what a hundredth of a millionth resolves.
pub(crate) fn part_of(bytes: u64, fraction: f64) -> u64 {
    const WHOLE: u64 = 100_000_000;
    let parts = floor_u64((fraction * WHOLE as f64).round());
    u64::try_from(u128::from(bytes) * u128::from(parts) / u128::from(WHOLE)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Worked out by hand from fio's own arithmetic.
    #[test]
    fn a_part_is_reckoned_as_fio_does() {
        let of = |offset_bytes, offset_fraction, length, fraction, real| {
            let lengths = vec![length];
            let part = FileUse { offset_bytes, offset_fraction, lengths, fraction, ..FileUse::default() }.part(0, real);
            part.map(|part| (part.start, part.bytes))
        };
        let whole = |low, high, bytes| FileLength::Whole { low, high, bytes };
        for (given, expect) in [
            (of(0, 0.0, FileLength::Rest, 1.0, 96 * MIB), Some((0, 96 * MIB))),
            (of(8 * MIB, 0.0, FileLength::Rest, 1.0, 96 * MIB), Some((8 * MIB, 88 * MIB))),
            (of(97 * MIB, 0.0, FileLength::Rest, 1.0, 96 * MIB), None),
            // Nothing is cut to what there is, and nothing rounded to the transfer.
            (of(0, 0.0, FileLength::Bytes(1_000_000), 1.0, 96 * MIB), Some((0, 1_000_000))),
            (of(90 * MIB, 0.0, FileLength::Bytes(8 * MIB), 1.0, 96 * MIB), Some((90 * MIB, 8 * MIB))),
            // 10 % of 96 MiB are 10066329 bytes; the next multiple of 4096 is 10067968.
            (of(0, 0.1, FileLength::Rest, 1.0, 96 * MIB), Some((10_067_968, 96 * MIB - 10_067_968))),
            (of(512, 0.5, FileLength::Bytes(MIB), 1.0, 96 * MIB), Some((48 * MIB + 4096, MIB))),
            // size=50 % counts from the start of the target, whatever the offset.
            (of(0, 0.0, FileLength::Rest, 0.5, 96 * MIB), Some((0, 48 * MIB))),
            (of(64 * MIB, 0.0, FileLength::Rest, 0.5, 96 * MIB), Some((64 * MIB, 32 * MIB))),
            (of(0, 0.0, FileLength::Rest, 0.29, 10_000_000), Some((0, 2_899_968))),
            // filesize: of another size, the target is taken for that long.
            (of(0, 0.0, whole(64 * MIB, 64 * MIB, 64 * MIB), 1.0, 96 * MIB), Some((0, 64 * MIB))),
            (of(MIB, 0.0, whole(64 * MIB, 64 * MIB, 64 * MIB), 1.0, 0), Some((MIB, 63 * MIB))),
            (of(0, 0.0, whole(4 * MIB, 8 * MIB, 5 * MIB), 1.0, 6 * MIB), Some((0, 6 * MIB))),
            (of(9 * MIB, 0.0, whole(4 * MIB, 8 * MIB, 5 * MIB), 1.0, 0), None),
        ] {
            assert_eq!(given, expect);
        }
    }
}
