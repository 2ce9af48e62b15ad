//! From records to what a recording takes, off the consumer's thread: which names they use, and sums over them.

use crate::TraceError;
use crate::block::chunk::TraceChunk;
use crate::device::{cgroup_root, device_name};
use crate::paths::Mounts;
use crate::prefetch::fetch;
use quantity::histogram::HistogramRecorder;
use recording::rows::Io as IoRow;
use recording::{IoFile, IoNames, IoRecord, IoTask, RawIo, Row, RowBatch, io_rows};
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// So far ahead of the record that is looked at the next ones are asked for.
const AHEAD_BYTES: usize = 2048;

/// Sums over I/Os since they were last taken.
#[derive(Debug, Default)]
pub struct TraceSums {
    /// I/Os.
    pub ios: u64,
    /// Reads among them.
    pub reads: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Those that failed.
    pub errors: u64,
    /// Completion − queueing.
    pub response: HistogramRecorder,
}

/// A chunk's records with everything that they need to be understood.
#[derive(Debug)]
pub struct PackedChunk<'a> {
    /// What the numbers in them stand for.
    pub names: IoNames,
    /// In the order of completion.
    pub records: &'a [RawIo],
}

/// Knows the names; remembers them from chunk to chunk.
#[derive(Debug, Default)]
pub struct TraceNames {
    tasks: HashMap<u32, IoTask>,
    devices: HashMap<u32, String>,
    cgroups: HashMap<u64, Option<String>>,
    files: HashMap<u32, IoFile>,
    old_tasks: HashMap<u32, IoTask>,
    old_files: HashMap<u32, IoFile>,
    mounts: Mounts,
    used: Used,
    summary: TraceSums,
}

/// Which numbers a chunk has used so far.
#[derive(Debug, Default)]
struct Used {
    devices: Marks,
    tasks: Marks,
    files: Marks,
}

/// Numbers that were seen; mostly one of those that were seen last.
#[derive(Debug)]
struct Marks {
    last: Vec<u32>,
    all: HashSet<u32>,
}

impl Default for Marks {
    fn default() -> Self {
        Self { last: vec![0; 1 << Self::BITS], all: HashSet::new() }
    }
}

impl Marks {
    const BITS: u32 = 8;

    fn clear(&mut self) {
        self.last.fill(0);
        self.all.clear();
    }

    /// Is this number seen for the first time? 0 is no number.
    #[inline]
    fn is_new(&mut self, number: u32) -> bool {
        // The low bits are those of the CPU that gave it.
        let place = number.wrapping_mul(0x9e37_79b9) >> (32 - Self::BITS);
        match self.last.get_mut(place as usize) {
            Some(last) if *last == number => false,
            place => {
                place.into_iter().for_each(|last| *last = number);
                number != 0 && self.all.insert(number)
            }
        }
    }
}

impl TraceNames {
    /// The records of a chunk with their names, for the recording; counts them.
    pub fn pack<'a>(&mut self, chunk: &'a TraceChunk) -> PackedChunk<'a> {
        self.learn(chunk);
        let mut names = IoNames::default();
        for raw in &chunk.ios {
            // The thread that took it out runs on another CPU.
            fetch(raw.as_ptr().wrapping_add(AHEAD_BYTES));
            let io = IoRecord::of(raw);
            self.count(&io);
            if self.used.devices.is_new(io.dev) {
                let name = self.devices.entry(io.dev).or_insert_with(|| device_name(io.dev));
                names.devices.push((io.dev, name.clone()));
            }
            for number in [io.issuer, io.owner] {
                if self.used.tasks.is_new(number) {
                    let known = self.tasks.get(&number).or_else(|| self.old_tasks.get(&number));
                    names.tasks.extend(known.map(|task| (number, task.clone())));
                }
            }
            if self.used.files.is_new(io.file) {
                let known = self.files.get(&io.file).or_else(|| self.old_files.get(&io.file));
                names.files.extend(known.map(|file| (io.file, file.clone())));
            }
        }
        self.used.devices.clear();
        self.used.tasks.clear();
        self.used.files.clear();
        PackedChunk { names, records: &chunk.ios }
    }

    /// The rows of a chunk, in the order of completion, for those who look at them at once; counts them.
    ///
    /// # Errors
    /// Arrow refuses; does not happen.
    pub fn batch(&mut self, chunk: &TraceChunk) -> Result<RowBatch, TraceError> {
        let PackedChunk { names, records } = self.pack(chunk);
        let rows = io_rows(&names, records).map_err(|why| TraceError::Consumer(format!("cannot make rows: {why}")))?;
        Ok(RowBatch { table: IoRow::TABLE, rows })
    }

    /// Takes note of the names in a chunk whose rows come later, or never.
    pub fn learn(&mut self, chunk: &TraceChunk) {
        for (id, actor) in &chunk.actors {
            let (pid, tid) = (signed32(actor.pid), signed32(actor.tid));
            let task = IoTask { pid, tid, comm: actor.comm.clone(), cgroup: self.cgroup(actor.cgroup) };
            self.tasks.insert(*id, task);
        }
        for (id, file) in &chunk.files {
            let inode = i64::try_from(file.inode).unwrap_or(i64::MAX);
            let path = self.mounts.path(file);
            self.files.insert(*id, IoFile { inode, path });
        }
    }

    /// Names that are kept, without those of the generation before.
    #[must_use]
    pub fn names(&self) -> usize {
        self.tasks.len() + self.files.len()
    }

    /// Begins a generation of names; those of the one before this are forgotten. See [`super::BlockTrace::forget_names`].
    pub fn begin_generation(&mut self) {
        self.old_tasks = std::mem::take(&mut self.tasks);
        self.old_files = std::mem::take(&mut self.files);
        self.cgroups.clear();
    }

    /// The devices seen so far, for a manifest: number (major << 20 | minor) by name.
    #[must_use]
    pub fn device_numbers(&self) -> serde_json::Value {
        let numbers = self.devices.iter().map(|(number, name)| (name.clone(), (*number).into()));
        serde_json::Value::Object(numbers.collect())
    }

    /// Sums since the last time.
    pub fn take_summary(&mut self) -> TraceSums {
        std::mem::take(&mut self.summary)
    }

    #[inline]
    fn count(&mut self, io: &IoRecord) {
        self.summary.ios += 1;
        self.summary.reads += u64::from(io.op == 0);
        self.summary.bytes += u64::from(io.bytes);
        self.summary.errors += u64::from(io.status != 0);
        if let Some(response_ns) = io.response_ns() {
            self.summary.response.record(response_ns);
        }
    }

    /// Path of a control group below its root.
    fn cgroup(&mut self, inode: u64) -> Option<String> {
        if let Some(known) = self.cgroups.get(&inode) {
            return known.clone();
        }
        let root = cgroup_root();
        let found = find_inode(&root, inode, 8)
            .and_then(|path| path.strip_prefix(&root).ok().map(|rest| format!("/{}", rest.display())));
        self.cgroups.insert(inode, found.clone());
        found
    }
}

/// The directory below `at` with this inode, not deeper than `depth`.
fn find_inode(at: &Path, inode: u64, depth: usize) -> Option<std::path::PathBuf> {
    if std::fs::metadata(at).ok()?.ino() == inode {
        return Some(at.to_path_buf());
    }
    let entries = if depth > 0 { std::fs::read_dir(at).ok()? } else { return None };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .find_map(|entry| find_inode(&entry.path(), inode, depth - 1))
}

fn signed32(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Actor;
    use recording::IO_RECORD_BYTES;

    fn record(issuer: u32, owner: u32) -> RawIo {
        let mut raw = [0; IO_RECORD_BYTES];
        raw[40..44].copy_from_slice(&issuer.to_ne_bytes());
        raw[44..48].copy_from_slice(&owner.to_ne_bytes());
        raw
    }

    /// Numbers as one CPU gives them, more than there are places in [`Marks`], by turns; from a generation before.
    #[test]
    fn every_chunk_has_the_names_that_it_uses_once() {
        let numbers: Vec<u32> = (1..=1000).map(|given| given << 10 | 1).collect();
        let actor = |pid| Actor { pid, tid: pid, cgroup: 0, comm: format!("c{pid}") };
        let mut columns = TraceNames::default();
        let actors = numbers.iter().map(|number| (*number, actor(number >> 10))).collect();
        columns.learn(&TraceChunk { actors, ..TraceChunk::default() });
        columns.begin_generation();
        let turn = || numbers.iter().map(|number| record(*number, numbers[0]));
        let chunk = TraceChunk::of_records(turn().chain(turn()).chain([record(0, 9)]).collect());
        for _ in 0..2 {
            let names = columns.pack(&chunk).names;
            let tasks: Vec<_> = names.tasks.iter().map(|(number, task)| (*number, task.pid.cast_unsigned())).collect();
            let expected: Vec<_> = numbers.iter().map(|number| (*number, number >> 10)).collect();
            assert_eq!(tasks, expected);
            assert_eq!((names.devices.len(), names.files.len()), (0, 0), "0 is no device, and no file");
        }
        assert_eq!(columns.take_summary().ios, 4002);
    }
}
