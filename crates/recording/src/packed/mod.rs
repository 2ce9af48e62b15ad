//! Block I/Os as a probe's records, with the names that they use: what a trace writes while its load runs. Rows of the
//! table `io` are made of them when they are read, at the latest when the recording is sealed: that costs many times
//! what writing costs, and nothing that is being measured has to wait for it.
//!
//! In a frame of the journal they stand in place of an Arrow stream: `magic (8 bytes), length of the names (u32 LE), the
//! names as JSON, blocks of records` ([`planes`]) in the byte order of the machine that wrote them. A frame has all names
//! that its records use, so that it stands for itself like any other.

mod planes;
mod rows;

use crate::rows::Io;
use crate::{RecordingError, Row};
use arrow_array::RecordBatch;
use rows::Columns;
use serde::{Deserialize, Serialize};

/// Bytes of one I/O's record.
pub const IO_RECORD_BYTES: usize = 64;
/// One I/O as the probe wrote it (`struct record` in `crates/trace/src/block/probe.bpf.c`).
pub type RawIo = [u8; IO_RECORD_BYTES];

/// Begins records in a frame; an Arrow stream begins with four bytes of ones.
const MAGIC: [u8; 8] = *b"\x93ioPack\x02";
/// Magic, length of the names.
const HEADER: usize = 12;

/// What numbers in records stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoNames {
    /// Kernel names of devices by major << 20 | minor.
    pub devices: Vec<(u32, String)>,
    /// Tasks.
    pub tasks: Vec<(u32, IoTask)>,
    /// Files.
    pub files: Vec<(u32, IoFile)>,
}

/// A task that issued I/Os, or dirtied what they wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoTask {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Its name, 15 characters.
    pub comm: String,
    /// Path of its control group below the root of cgroup 2.
    pub cgroup: Option<String>,
}

/// A file whose data were moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoFile {
    /// Its inode.
    pub inode: i64,
    /// Its path when it was first seen.
    pub path: Option<String>,
}

/// One I/O, its names by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRecord {
    /// When its first bio was queued, `CLOCK_MONOTONIC`, ns.
    pub queue_ns: u64,
    /// When it completed; 0: that was not seen.
    pub complete_ns: u64,
    /// When the driver got it; 0: never given to the driver by itself.
    pub issue_ns: u64,
    /// First sector, 512 B each.
    pub sector: u64,
    /// Size.
    pub bytes: u32,
    /// Its device, major << 20 | minor.
    pub dev: u32,
    /// Number of the task that issued it; 0: unknown.
    pub issuer: u32,
    /// Number of the task that wrote its data into the page cache; 0: none, or unknown.
    pub owner: u32,
    /// Number of its file; 0: none, or unknown.
    pub file: u32,
    /// What it was marked with, see [`FLAGS`].
    pub flags: u16,
    /// The kernel's number of its operation.
    pub op: u8,
    /// Bios in it.
    pub bios: u8,
    /// How often the driver gave it back.
    pub requeues: u8,
    /// A `blk_status_t`, or a negative errno with the high bit (before Linux 5.16); 0: it succeeded.
    pub status: u8,
}

impl IoRecord {
    /// Reads a record. A driver's own command has no place, for which the kernel has the highest number there is; here it
    /// is 0.
    #[inline]
    #[must_use]
    pub fn of(raw: &RawIo) -> Self {
        let wide = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| raw[at + byte]));
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|byte| raw[at + byte]));
        Self {
            queue_ns: wide(0),
            complete_ns: wide(8),
            issue_ns: wide(16),
            sector: Some(wide(24)).filter(|sector| *sector != NOWHERE).unwrap_or(0),
            bytes: word(32),
            dev: word(36),
            issuer: word(40),
            owner: word(44),
            file: word(48),
            flags: u16::from_ne_bytes([raw[52], raw[53]]),
            op: raw[54],
            bios: raw[55],
            requeues: raw[56],
            status: raw[57],
        }
    }

    /// The bytes of a record.
    #[must_use]
    pub fn to_raw(&self) -> RawIo {
        let mut raw = [0; IO_RECORD_BYTES];
        let mut put = |at: usize, bytes: &[u8]| raw[at..at + bytes.len()].copy_from_slice(bytes);
        for (at, value) in [self.queue_ns, self.complete_ns, self.issue_ns, self.sector].into_iter().enumerate() {
            put(at * 8, &value.to_ne_bytes());
        }
        for (at, value) in [self.bytes, self.dev, self.issuer, self.owner, self.file].into_iter().enumerate() {
            put(32 + at * 4, &value.to_ne_bytes());
        }
        put(52, &self.flags.to_ne_bytes());
        put(54, &[self.op, self.bios, self.requeues, self.status]);
        raw
    }

    /// The same, of which no end had been seen when the trace ended.
    #[must_use]
    pub fn unfinished(self) -> Self {
        Self { complete_ns: 0, flags: self.flags | UNFINISHED, ..self }
    }

    /// When it completed, or the last that is known of it.
    #[must_use]
    pub fn last_ns(&self) -> u64 {
        self.complete_ns.max(self.issue_ns).max(self.queue_ns)
    }

    /// From queueing to completion; `None` when that was not seen.
    #[inline]
    #[must_use]
    pub fn response_ns(&self) -> Option<u64> {
        (self.complete_ns > 0).then(|| self.complete_ns.saturating_sub(self.queue_ns))
    }

    /// Did it fail?
    #[must_use]
    pub fn failed(&self) -> bool {
        self.status != 0
    }

    /// The errno of its status.
    #[must_use]
    pub fn error(&self) -> Option<i32> {
        status_errno(self.status)
    }
}

/// The errno of a `blk_status_t`, or of a negative errno with the high bit (before Linux 5.16); `None` of success.
#[must_use]
pub fn status_errno(status: u8) -> Option<i32> {
    // include/linux/blk_types.h and block/blk-core.c, blk_errors.
    Some(match status {
        0 => return None,
        errno @ 0x80.. => i32::from(errno & 0x7f),
        1 => 95,        // EOPNOTSUPP
        2 => 110,       // ETIMEDOUT
        3 => 28,        // ENOSPC
        4 => 67,        // ENOLINK
        5 => 121,       // EREMOTEIO
        6 => 52,        // EBADE
        7 => 61,        // ENODATA
        8 => 84,        // EILSEQ
        9 => 12,        // ENOMEM
        11 => 78,       // EREMCHG
        12 => 11,       // EAGAIN
        13 => 16,       // EBUSY
        14 | 15 => 109, // ETOOMANYREFS, EOVERFLOW at times
        16 => 19,       // ENODEV
        17 => 62,       // ETIME
        18 => 22,       // EINVAL
        _ => 5,         // EIO
    })
}

/// The kernel's name of an operation (include/linux/blk_types.h, enum req_op).
#[must_use]
pub fn op_name(op: u8) -> &'static str {
    match op {
        0 => "read",
        1 => "write",
        2 => "flush",
        3 => "discard",
        5 => "secure_erase",
        7 => "zone_append",
        9 => "write_zeroes",
        10 | 11 => "zone_open",
        12 | 13 => "zone_close",
        14 | 15 => "zone_finish",
        16 | 17 => "zone_reset",
        18 | 19 => "zone_reset_all",
        32 | 34 => "driver_in",
        33 | 35 => "driver_out",
        _ => "other",
    }
}

/// Names of the bits of `flags`, lowest first.
pub const FLAGS: [&str; 10] =
    ["sync", "meta", "fua", "preflush", "readahead", "background", "split", "direct", "device", "unfinished"];
/// The bit `unfinished`.
const UNFINISHED: u16 = 1 << 9;
/// The sector of what has none, `(sector_t)-1`.
const NOWHERE: u64 = u64::MAX;

/// Puts records and their names behind what is in `to`.
pub(crate) fn pack(names: &IoNames, records: &[RawIo], to: &mut Vec<u8>) -> Result<(), RecordingError> {
    let names = serde_json::to_vec(names).map_err(RecordingError::format(Io::TABLE.name))?;
    let length = u32::try_from(names.len()).map_err(RecordingError::format(Io::TABLE.name))?;
    to.extend_from_slice(&MAGIC);
    to.extend_from_slice(&length.to_le_bytes());
    to.extend_from_slice(&names);
    planes::encode(records, to);
    Ok(())
}

/// Are these records, not an Arrow stream?
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// The rows of packed records; `None` where they are damaged.
pub(crate) fn unpack(bytes: &[u8]) -> Option<RecordBatch> {
    let (names, records) = parts(bytes)?;
    io_rows(&serde_json::from_slice(names).ok()?, &planes::decode(records)?).ok()
}

/// Would [`unpack`] give rows?
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    parts(bytes).is_some_and(|(names, records)| {
        serde_json::from_slice::<IoNames>(names).is_ok() && planes::decode(records).is_some()
    })
}

/// Of packed records the rows of those without an end; `None` where they are damaged.
pub(crate) fn unpack_unended(bytes: &[u8]) -> Option<RecordBatch> {
    let (names, records) = parts(bytes)?;
    let unended = planes::decode_unended(records)?;
    // Names are read for nothing otherwise.
    let names = if unended.is_empty() { IoNames::default() } else { serde_json::from_slice(names).ok()? };
    io_rows(&names, &unended).ok()
}

/// Names and records.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u32::from_le_bytes(bytes.get(MAGIC.len()..HEADER)?.try_into().ok()?);
    bytes.get(HEADER..)?.split_at_checked(usize::try_from(length).ok()?)
}

/// The rows of records, in their order.
///
/// # Errors
/// Arrow refuses; does not happen.
pub fn io_rows(names: &IoNames, records: &[RawIo]) -> Result<RecordBatch, RecordingError> {
    let mut columns = Columns::new(names, records.len());
    records.iter().for_each(|raw| columns.append(&IoRecord::of(raw)));
    RecordBatch::try_new(Io::TABLE.schema(), columns.finish()).map_err(RecordingError::format(Io::TABLE.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::Label;

    #[test]
    fn every_status_is_an_error_and_none_is_none() {
        let mut raw = [0; IO_RECORD_BYTES];
        let mut check = |status: u8, errno: Option<i32>| {
            raw[57] = status;
            assert_eq!(IoRecord::of(&raw).error(), errno, "{status}");
        };
        check(0, None);
        check(10, Some(5));
        check(3, Some(28));
        check(0x80 | 5, Some(5));
        check(100, Some(5));
    }

    /// One I/O as the probe writes it, and what its numbers stand for.
    fn sample() -> (IoNames, RawIo) {
        let mut raw = [0; IO_RECORD_BYTES];
        for (at, value) in [(0, 1000_u64), (8, 3000), (16, 2000), (24, 77)] {
            raw[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        for (at, value) in [(32, 4096_u32), (36, 8 << 20 | 16), (40, 5), (44, 6), (48, 9)] {
            raw[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        raw[52..54].copy_from_slice(&0b11_u16.to_ne_bytes());
        raw[54..58].copy_from_slice(&[1, 2, 1, 10]);
        let task = |pid, comm: &str, cgroup: Option<&str>| IoTask {
            pid,
            tid: pid + 1,
            comm: comm.to_string(),
            cgroup: cgroup.map(ToString::to_string),
        };
        let names = IoNames {
            devices: vec![(8 << 20 | 16, "sdb".to_string())],
            tasks: vec![(5, task(50, "kworker", None)), (6, task(60, "dd", Some("/a")))],
            files: vec![(9, IoFile { inode: 12, path: Some("/x \"y\"".to_string()) })],
        };
        (names, raw)
    }

    #[test]
    fn a_record_is_written_as_it_is_read() {
        let (_, raw) = sample();
        let io = IoRecord::of(&raw);
        assert_eq!(io.to_raw(), raw);
        let open = IoRecord::of(&io.unfinished().to_raw());
        assert_eq!((open.complete_ns, open.queue_ns, open.issue_ns), (0, 1000, 2000));
        assert_eq!(FLAGS.iter().position(|name| *name == "unfinished"), Some(UNFINISHED.trailing_zeros() as usize));
        assert_eq!(open.flags, io.flags | UNFINISHED);
    }

    /// A command of a driver (SG_IO, nvme-cli): the kernel's sector is -1.
    #[test]
    fn what_has_no_place_is_at_sector_0() {
        let (names, mut raw) = sample();
        raw[24..32].fill(0xff);
        raw[54] = 34;
        let rows = Io::from_batch(&io_rows(&names, &[raw]).unwrap()).unwrap();
        assert_eq!((&*rows[0].op, rows[0].sector), ("driver_in", 0));
    }

    fn packed(names: &IoNames, records: &[RawIo]) -> Vec<u8> {
        let mut packed = Vec::new();
        pack(names, records, &mut packed).unwrap();
        packed
    }

    #[test]
    fn a_record_becomes_its_row() {
        let (names, raw) = sample();
        let packed = packed(&names, &[raw, raw]);
        assert!(is_packed(&packed));
        let rows = Io::from_batch(&unpack(&packed).unwrap()).unwrap();
        let label = |text: &str| Some(Label::from(text));
        let expected = Io {
            queue_ns: 1000,
            issue_ns: Some(2000),
            complete_ns: Some(3000),
            dev: "sdb".into(),
            op: "write".into(),
            flags: label("sync+meta"),
            sector: 77,
            bytes: 4096,
            pid: Some(50),
            tid: Some(51),
            comm: label("kworker"),
            cgroup: None,
            inode: Some(12),
            file: label("/x \"y\""),
            owner_pid: Some(60),
            owner_comm: label("dd"),
            error: Some(5),
            bios: Some(2),
            requeues: Some(1),
        };
        assert_eq!(rows, [expected.clone(), expected]);
    }

    #[test]
    fn what_no_name_is_known_of_has_none() {
        let (_, raw) = sample();
        let rows = Io::from_batch(&io_rows(&IoNames::default(), &[raw]).unwrap()).unwrap();
        assert_eq!((&*rows[0].dev, rows[0].pid, rows[0].inode), ("8:16", None, None));
    }

    #[test]
    fn damage_is_no_batch_and_no_panic() {
        let (names, raw) = sample();
        let mut packed = packed(&names, &[raw]);
        for end in 0..packed.len() {
            assert!(unpack(&packed[..end]).is_none_or(|batch| batch.num_rows() == 0), "cut at {end}");
        }
        packed[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(unpack(&packed).is_none());
    }
}
