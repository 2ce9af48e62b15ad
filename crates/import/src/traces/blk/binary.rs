//! blktrace's binary records (include/uapi/linux/blktrace_api.h), versions 7 and 8, of either byte order.

use super::{Event, Events, Marks, Step, errno};
use crate::ImportError;
use crate::source::Binary;
use crate::traces::context::Context;
use recording::Label;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::PathBuf;

/// Upper three bytes of the first word; the lowest is the version.
const MAGIC: u32 = 0x6561_7400;
/// Bytes that both versions have before they differ, and in all.
const COMMON: usize = 28;
const LENGTHS: [(u32, usize); 2] = [(7, 48), (8, 64)];

/// Categories, as bits above the 16 of the action.
const FLUSH: u64 = 1 << 2;
const PASSTHROUGH: u64 = 1 << 9;
const NOTIFY: u64 = 1 << 10;
/// The payload begins with the number of a control group.
const CGROUP: u64 = 1 << 8;

/// Version of a record and whether its bytes are the other way round than little-endian.
fn version(word: [u8; 4]) -> Option<(usize, bool)> {
    [u32::from_le_bytes(word), u32::from_be_bytes(word)].into_iter().zip([false, true]).find_map(|(word, is_big)| {
        let known = LENGTHS.iter().find(|(version, _)| MAGIC | version == word);
        known.map(|(_, length)| (*length, is_big))
    })
}

pub(super) fn is_magic(head: &[u8]) -> bool {
    head.first_chunk().is_some_and(|word| version(*word).is_some())
}

/// What a record says.
enum Record {
    Event(Event),
    /// A thread's name.
    Name(i32, Vec<u8>),
    /// The wall clock at this moment.
    Wall(i64),
}

/// The file of one CPU.
struct Stream(Binary);

/// Numbers of a record, in its byte order.
struct Words<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

impl Words<'_> {
    fn number(&self, at: usize, length: usize) -> u64 {
        let bytes = self.bytes.get(at..at + length).unwrap_or_default();
        let append = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if self.is_big { bytes.iter().fold(0, append) } else { bytes.iter().rev().fold(0, append) }
    }

    fn word(&self, at: usize) -> u32 {
        u32::try_from(self.number(at, 4)).unwrap_or(u32::MAX)
    }
}

impl Stream {
    /// The next record and its time.
    fn next(&mut self, context: &mut Context) -> Result<Option<(i64, Record)>, ImportError> {
        let mut bytes = [0; 64];
        let mut payload = Vec::new();
        self.0.begin();
        let got = self.0.read(&mut bytes[..COMMON])?;
        if got == 0 {
            return Ok(None);
        }
        let first = [bytes[0], bytes[1], bytes[2], bytes[3]];
        let Some((length, is_big)) = version(first).filter(|_| got >= 4) else {
            if got < 4 {
                return Ok(cut(context));
            }
            let word = u32::from_le_bytes(first);
            return Err(self.0.malformed(format!("no record of blktrace begins here: {word:08x} instead of 65617407")));
        };
        if got < COMMON || self.0.read(&mut bytes[COMMON..length])? < length - COMMON {
            return Ok(cut(context));
        }
        let words = Words { bytes: &bytes[..length], is_big };
        // Up to the number of bytes both are the same; then version 8 has the thread before a longer action.
        let is_new = length == 64;
        let action = if is_new { words.number(32, 8) } else { words.number(28, 4) };
        let tid = if is_new { words.word(28) } else { words.word(32) };
        let rest = if is_new { 40 } else { 36 };
        let (device, error, extra) = (words.word(rest), words.number(rest + 8, 2), words.number(rest + 10, 2));
        payload.resize(usize::try_from(extra).unwrap_or(0), 0);
        if self.0.read(&mut payload)? < payload.len() {
            return Ok(cut(context));
        }
        let malformed = |what: String| self.0.malformed(what);
        let (time, sector) = (words.number(8, 8), words.number(16, 8));
        let Ok(t_ns) = i64::try_from(time) else { return Err(malformed(format!("time {time} ns is too large"))) };
        let tid = i32::try_from(tid).unwrap_or(0);
        let category = action >> 16;
        if category & NOTIFY != 0 {
            return Ok(Some((t_ns, notice(action, tid, &payload, is_big))));
        }
        let bytes = i64::from(words.word(24));
        // -1 stands for no address.
        let sector = if bytes == 0 { i64::try_from(sector).unwrap_or(0) } else { signed(sector).map_err(malformed)? };
        let step = step(action & 0xff, category);
        let marks = marks(category, bytes);
        let error = errno(i32::try_from(error).unwrap_or(0));
        let event = Event { t_ns, device, step, marks, sector, bytes, tid, comm: None, error };
        Ok(Some((t_ns, Record::Event(event))))
    }
}

/// The file ends inside a record.
fn cut<T>(context: &mut Context) -> Option<T> {
    context.tally("last records that are cut off (left out)");
    None
}

fn signed(sector: u64) -> Result<i64, String> {
    let largest = i64::MAX.unsigned_abs() / 512;
    let sector = Some(sector).filter(|sector| *sector <= largest).and_then(|sector| i64::try_from(sector).ok());
    sector.ok_or_else(|| "its sector is beyond 2^63 bytes".to_string())
}

fn step(code: u64, category: u64) -> Step {
    match code {
        // SCSI commands and the like: no addresses.
        _ if category & PASSTHROUGH != 0 => Step::Other,
        1 => Step::Queue,
        6 => Step::Requeue,
        7 => Step::Issue,
        8 => Step::Complete,
        _ => Step::Other,
    }
}

/// As blkparse reads the categories.
fn marks(category: u64, bytes: i64) -> Marks {
    let has = |bit: u32| category >> bit & 1 == 1;
    let op = match () {
        () if has(13) => "discard",
        () if has(16) => "zone_append",
        () if has(17) => "zone_reset",
        () if has(18) => "zone_reset_all",
        () if has(19) => "zone_finish",
        () if has(20) => "zone_open",
        () if has(21) => "zone_close",
        () if has(22) => "write_zeroes",
        () if has(1) => "write",
        () if bytes > 0 => "read",
        () => "",
    };
    Marks { op, sync: has(3), meta: has(12), fua: has(15), preflush: category & FLUSH != 0, readahead: has(11) }
}

fn notice(action: u64, tid: i32, payload: &[u8], is_big: bool) -> Record {
    let payload = if action & CGROUP != 0 { payload.get(8..).unwrap_or_default() } else { payload };
    match action & 0xff {
        0 => {
            let end = payload.iter().position(|byte| *byte == 0).unwrap_or(payload.len());
            Record::Name(tid, payload[..end].to_vec())
        }
        1 if payload.len() >= 8 => {
            let words = Words { bytes: payload, is_big };
            let (seconds, ns) = (i64::from(words.word(0)), i64::from(words.word(4)));
            Record::Wall(seconds * 1_000_000_000 + ns)
        }
        _ => Record::Wall(0),
    }
}

/// The files of all CPUs of a device, by time.
pub(super) struct Streams {
    streams: Vec<Stream>,
    heads: Vec<Option<Record>>,
    order: BinaryHeap<Reverse<(i64, usize)>>,
    names: HashMap<i32, Label>,
    has_begun: bool,
}

impl Streams {
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, ImportError> {
        let streams = paths.iter().map(|path| Binary::open(path).map(Stream)).collect::<Result<Vec<_>, _>>()?;
        let heads = streams.iter().map(|_| None).collect();
        Ok(Self { streams, heads, order: BinaryHeap::new(), names: HashMap::new(), has_begun: false })
    }

    fn fill(&mut self, at: usize, context: &mut Context) -> Result<(), ImportError> {
        if let Some((t_ns, record)) = self.streams[at].next(context)? {
            self.heads[at] = Some(record);
            self.order.push(Reverse((t_ns, at)));
        }
        Ok(())
    }
}

impl Events for Streams {
    fn next(&mut self, context: &mut Context) -> Result<Option<Event>, ImportError> {
        if !self.has_begun {
            self.has_begun = true;
            (0..self.streams.len()).try_for_each(|at| self.fill(at, context))?;
        }
        while let Some(Reverse((t_ns, at))) = self.order.pop() {
            let head = self.heads[at].take();
            self.fill(at, context)?;
            match head {
                Some(Record::Event(mut event)) => {
                    event.comm = self.names.get(&event.tid).cloned();
                    return Ok(Some(event));
                }
                Some(Record::Name(tid, name)) => {
                    self.names.insert(tid, context.label(&name));
                }
                Some(Record::Wall(wall_ns)) if wall_ns > 0 && context.wall.is_none() => {
                    context.wall = Some((t_ns, wall_ns));
                }
                Some(Record::Wall(_)) | None => {}
            }
        }
        Ok(None)
    }
}
