//! Reads segments: every record up to the first damage.

use crate::error::JournalError;
use crate::header::SegmentHeader;
use crate::header_text::{HEADERS_MAX, HEADLESS};
use crate::record::{Kind, RECORD_BYTES, Record, crc};
use output::Folder;
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

/// A journal that is held all this time is being written.
const HELD_LOOKS: u32 = 40;
const HELD_LOOK: Duration = Duration::from_millis(5);
/// What the names of segments end with.
const SUFFIX: &str = ".journal";
/// Why the rest of a segment is not used whose bytes are others than were written.
pub(crate) const DAMAGED: &str = "is damaged";
/// … which is not there.
const TORN: &str = "ends within a record";
const TORN_CHECKPOINT: &str = "ends within a part of a checkpoint";
const ZEROES: &str = "has zeroes";
/// Longest list of states behind a record, units of 32 bytes.
const PACKED_MAX: u32 = 1 << 12;

/// A part of a journal that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalDamage {
    /// Number of the segment.
    pub segment: u64,
    /// From this byte of it on.
    pub from: u64,
    /// So many bytes, up to its end.
    pub bytes: u64,
    /// Records among them that have their checksum, and are not used: what was lost before them is not known.
    pub intact_records: u64,
    /// Why.
    pub reason: &'static str,
    /// It merely ends early, within a record or in zeroes, as a crash leaves the end of what was being written.
    pub is_torn: bool,
}

impl fmt::Display for JournalDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segment, from, bytes, intact_records, reason, .. } = self;
        let records = bytes.div_ceil(RECORD_BYTES as u64);
        write!(f, "segment {} {reason}: {bytes} bytes from byte {from} on are not used", segment_name(*segment))?;
        write!(f, " (at most {records} records, {intact_records} of them intact)")
    }
}

/// A segment's file.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{number:08}{SUFFIX}")
}

/// Numbers of the segments in a directory, in order.
pub(crate) fn segments(folder: &Folder) -> Result<Vec<u64>, JournalError> {
    let number = |name: OsString| -> Option<u64> {
        let number = name.to_str()?.strip_suffix(SUFFIX)?.parse().ok()?;
        (segment_name(number) == *name.to_str()?).then_some(number)
    };
    let mut numbers: Vec<u64> = folder.names()?.into_iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A segment whose header was read.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) header: SegmentHeader,
    /// Only one copy of the header is intact.
    pub(crate) is_copy_damaged: bool,
    records_at: u64,
    file: File,
    length: u64,
}

/// How a segment ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SegmentEnd {
    /// The session went on in the next one.
    Next,
    /// It was over.
    Over,
    /// Nothing is behind the last record: the program or the machine died, or still writes.
    Open,
    /// The rest cannot be used.
    Damaged(JournalDamage),
}

/// What stands where no segment can be read.
pub(crate) fn headless(number: u64, bytes: u64, reason: &'static str) -> JournalDamage {
    JournalDamage { segment: number, from: 0, bytes, intact_records: 0, reason, is_torn: false }
}

impl Segment {
    /// Opens one.
    ///
    /// # Errors
    /// It cannot be read. `Ok(Err(…))`: its header is damaged.
    pub(crate) fn open(folder: &Folder, number: u64) -> Result<Result<Self, JournalDamage>, JournalError> {
        let name = segment_name(number);
        let failed = JournalError::io("read", &folder.path().join(&name));
        let file = folder.open_file(&name)?;
        let read = || -> std::io::Result<(Vec<u8>, u64)> {
            let length = file.metadata()?.len();
            let mut bytes = Vec::new();
            (&file).take(HEADERS_MAX as u64).read_to_end(&mut bytes)?;
            Ok((bytes, length))
        };
        let (bytes, length) = read().map_err(failed)?;
        Ok(match SegmentHeader::decode(&bytes) {
            Ok((header, records_at, is_copy_damaged)) if header.segment == number => {
                Ok(Self { number, header, is_copy_damaged, records_at: records_at.min(length), file, length })
            }
            Ok(_) => Err(headless(number, length, HEADLESS)),
            Err(reason) => Err(headless(number, length, reason)),
        })
    }

    /// The handle of its file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Calls `visit` with every record and the states behind it, in order, up to the first damage.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self, mut visit: impl FnMut(&Record, &[u8])) -> std::io::Result<SegmentEnd> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.records_at))?;
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let salt = self.header.salt();
        let mut at = self.records_at;
        let mut states = Vec::new();
        while at < self.length {
            let mut bytes = [0u8; RECORD_BYTES];
            if self.length - at < RECORD_BYTES as u64 {
                return self.damaged(at, TORN);
            }
            reader.read_exact(&mut bytes)?;
            let place = (at - self.records_at) / RECORD_BYTES as u64;
            let Some(record) = Record::decode(&bytes, salt, place) else {
                let reason = if bytes == [0; RECORD_BYTES] { ZEROES } else { DAMAGED };
                return self.damaged(at, reason);
            };
            states.clear();
            let behind = behind(&record) as u64;
            if behind > 0 {
                if behind > u64::from(PACKED_MAX) * RECORD_BYTES as u64 {
                    return self.damaged(at, "has a record that cannot be");
                }
                if self.length - at < RECORD_BYTES as u64 + behind {
                    return self.damaged(at, TORN_CHECKPOINT);
                }
                states.resize(usize::try_from(behind).unwrap_or(0), 0);
                reader.read_exact(&mut states)?;
                if u64::from(crc(&states)) != record.sequence & 0xffff_ffff {
                    return self.damaged(at, "is damaged in a checkpoint");
                }
            }
            visit(&record, &states);
            at += RECORD_BYTES as u64 + behind;
            let end = match record.kind {
                Kind::Next => SegmentEnd::Next,
                Kind::End => SegmentEnd::Over,
                _ => continue,
            };
            return if at < self.length { self.damaged(at, "goes on behind its end") } else { Ok(end) };
        }
        Ok(SegmentEnd::Open)
    }

    /// So many of its bytes were used.
    pub(crate) fn used(&self, end: &SegmentEnd) -> u64 {
        match end {
            SegmentEnd::Damaged(damage) => damage.from,
            _ => self.length,
        }
    }

    /// The rest from `from` on is not used.
    fn damaged(&self, from: u64, reason: &'static str) -> std::io::Result<SegmentEnd> {
        let bytes = self.length - from;
        let salt = self.header.salt();
        let (mut intact_records, mut has_zeroes) = (0, true);
        let mut buffer = vec![0u8; 1 << 18];
        let mut at = from;
        while at + RECORD_BYTES as u64 <= self.length {
            let read = self.file.read_at(&mut buffer, at)?;
            let bytes = buffer.get(..read).unwrap_or(&[]);
            has_zeroes &= bytes.iter().all(|byte| *byte == 0);
            let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
            if records.is_empty() {
                break;
            }
            for record in records {
                let place = (at - self.records_at) / RECORD_BYTES as u64;
                intact_records += u64::from(Record::decode(record, salt, place).is_some());
                at += RECORD_BYTES as u64;
            }
        }
        let is_torn = [TORN, TORN_CHECKPOINT].contains(&reason) || (reason == ZEROES && has_zeroes);
        Ok(SegmentEnd::Damaged(JournalDamage { segment: self.number, from, bytes, intact_records, reason, is_torn }))
    }
}

/// Bytes of states behind a record.
fn behind(record: &Record) -> usize {
    match record.kind {
        Kind::Packed => (record.count as usize * 2).next_multiple_of(RECORD_BYTES),
        _ => 0,
    }
}

/// Is the last segment held by a process that writes it? One that is about to end, or to become another program, may hold it for a
/// moment.
pub(crate) fn is_held(segment: &Segment) -> bool {
    let is_held = || {
        let tried = flock(segment.file(), FlockOperation::NonBlockingLockShared);
        tried == Err(rustix::io::Errno::WOULDBLOCK)
    };
    for _ in 0..HELD_LOOKS {
        if !is_held() {
            return false;
        }
        std::thread::sleep(HELD_LOOK);
    }
    is_held()
}
