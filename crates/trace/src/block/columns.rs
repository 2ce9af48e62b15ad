//! From records to rows of the table `io`, off the consumer's thread.

use crate::TraceError;
use crate::block::consumer::Chunk;
use crate::block::records::{FLAGS, Io, op_name};
use crate::device::{cgroup_root, device_name};
use crate::paths::Mounts;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, RecordBatch};
use quantity::histogram::Recorder;
use recording::rows::Io as IoRow;
use recording::{Batch, ColumnBuilder, LabelBuilder, LabelNumber, Row};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// What a task's number stands for.
#[derive(Clone, Debug)]
struct Known {
    pid: i32,
    tid: i32,
    comm: Arc<str>,
    cgroup: Option<Arc<str>>,
}

/// Sums over rows since they were last taken.
#[derive(Debug, Default)]
pub struct Summary {
    /// I/Os.
    pub ios: u64,
    /// Reads among them.
    pub reads: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Those that failed.
    pub errors: u64,
    /// Entries of the ring that were not understood.
    pub unknown: u64,
    /// Completion − queueing.
    pub response: Recorder,
}

/// Makes rows; remembers names from chunk to chunk.
#[derive(Debug, Default)]
pub struct Columns {
    actors: HashMap<u32, Known>,
    devices: HashMap<u32, Arc<str>>,
    cgroups: HashMap<u64, Option<Arc<str>>>,
    files: HashMap<u32, (i64, Option<Arc<str>>)>,
    old_actors: HashMap<u32, Known>,
    old_files: HashMap<u32, (i64, Option<Arc<str>>)>,
    mounts: Mounts,
    summary: Summary,
}

/// The columns under way, in the order of the table, and the numbers that names have in them.
struct Builders {
    queue: ColumnBuilder<Int64Type>,
    issue: ColumnBuilder<Int64Type>,
    complete: ColumnBuilder<Int64Type>,
    dev: LabelBuilder,
    op: LabelBuilder,
    flags: LabelBuilder,
    sector: ColumnBuilder<Int64Type>,
    bytes: ColumnBuilder<Int64Type>,
    pid: ColumnBuilder<Int32Type>,
    tid: ColumnBuilder<Int32Type>,
    comm: LabelBuilder,
    cgroup: LabelBuilder,
    inode: ColumnBuilder<Int64Type>,
    file: LabelBuilder,
    owner_pid: ColumnBuilder<Int32Type>,
    owner_comm: LabelBuilder,
    error: ColumnBuilder<Int32Type>,
    bios: ColumnBuilder<Int32Type>,
    requeues: ColumnBuilder<Int32Type>,
    devices: Memo<LabelNumber>,
    ops: Memo<LabelNumber>,
    flag_sets: Memo<LabelNumber>,
    issuers: Memo<Option<Issuer>>,
    owners: Memo<Option<(i32, LabelNumber)>>,
    paths: Memo<Option<(i64, Option<LabelNumber>)>>,
}

/// A task in the columns.
#[derive(Clone, Copy, Debug)]
struct Issuer {
    pid: i32,
    tid: i32,
    comm: LabelNumber,
    cgroup: Option<LabelNumber>,
}

/// What was found for the numbers seen last: a few hundred tasks and files do most of a machine's I/O.
struct Memo<V>(Vec<Option<(u32, V)>>);

impl<V: Copy> Memo<V> {
    const PLACES: u32 = 256;

    fn new() -> Self {
        Self(vec![None; Self::PLACES as usize])
    }

    #[inline]
    fn get(&mut self, number: u32, find: impl FnOnce() -> V) -> V {
        let place = number.wrapping_mul(0x9e37_79b9) >> (32 - Self::PLACES.trailing_zeros());
        let Some(place) = self.0.get_mut(place as usize) else { return find() };
        match place {
            Some((known, value)) if *known == number => *value,
            _ => {
                let value = find();
                *place = Some((number, value));
                value
            }
        }
    }
}

impl Columns {
    /// The rows of a chunk, in the order of completion.
    ///
    /// # Errors
    /// Arrow refuses; does not happen.
    pub fn batch(&mut self, chunk: &Chunk) -> Result<Batch, TraceError> {
        self.learn(chunk);
        let mut builders = Builders::new(chunk.len());
        for raw in &chunk.ios {
            let io = Io::of(raw);
            self.count(&io);
            self.append(&io, &mut builders);
        }
        let rows = RecordBatch::try_new(IoRow::TABLE.schema(), builders.finish())
            .map_err(|why| TraceError::Consumer(format!("cannot make rows: {why}")))?;
        Ok(Batch { table: IoRow::TABLE, rows })
    }

    /// Takes note of the names in a chunk whose rows come later, or never.
    pub fn learn(&mut self, chunk: &Chunk) {
        self.summary.unknown += chunk.unknown;
        for (id, actor) in &chunk.actors {
            let cgroup = self.cgroup(actor.cgroup);
            let known =
                Known { pid: signed32(actor.pid), tid: signed32(actor.tid), comm: actor.comm.as_str().into(), cgroup };
            self.actors.insert(*id, known);
        }
        for (id, file) in &chunk.files {
            let path = self.mounts.path(file).map(Arc::from);
            self.files.insert(*id, (signed(file.inode), path));
        }
    }

    /// Names that are kept, without those of the generation before.
    #[must_use]
    pub fn names(&self) -> usize {
        self.actors.len() + self.files.len()
    }

    /// Begins a generation of names; those of the one before this are forgotten. See [`super::BlockTrace::forget_names`].
    pub fn begin_generation(&mut self) {
        self.old_actors = std::mem::take(&mut self.actors);
        self.old_files = std::mem::take(&mut self.files);
    }

    /// The devices seen so far, for a manifest: number (major << 20 | minor) by name.
    #[must_use]
    pub fn device_numbers(&self) -> serde_json::Value {
        let numbers = self.devices.iter().map(|(number, name)| (name.to_string(), (*number).into()));
        serde_json::Value::Object(numbers.collect())
    }

    /// Sums since the last time.
    pub fn take_summary(&mut self) -> Summary {
        std::mem::take(&mut self.summary)
    }

    fn count(&mut self, io: &Io) {
        self.summary.ios += 1;
        self.summary.reads += u64::from(io.op == 0);
        self.summary.bytes += u64::from(io.bytes);
        self.summary.errors += u64::from(io.status != 0);
        if let Some(response_ns) = io.response_ns() {
            self.summary.response.record(response_ns);
        }
    }

    fn append(&mut self, io: &Io, to: &mut Builders) {
        to.queue.push(signed(io.queue_ns));
        to.issue.push_option((io.issue_ns > 0).then(|| signed(io.issue_ns)));
        to.complete.push_option((io.complete_ns > 0).then(|| signed(io.complete_ns)));
        let device = to
            .devices
            .get(io.dev, || to.dev.number(self.devices.entry(io.dev).or_insert_with(|| device_name(io.dev).into())));
        to.dev.append(Some(device));
        let op = to.ops.get(u32::from(io.op), || to.op.number(op_name(io.op)));
        to.op.append(Some(op));
        let flags = to.flag_sets.get(u32::from(io.flags), || to.flags.number(&flags_text(io.flags)));
        to.flags.append(Some(flags));
        to.sector.push(signed(io.sector));
        to.bytes.push(i64::from(io.bytes));
        let actor = |id: u32| self.actors.get(&id).or_else(|| self.old_actors.get(&id));
        let issuer = to.issuers.get(io.issuer, || {
            let known = actor(io.issuer)?;
            let cgroup = known.cgroup.as_deref().map(|path| to.cgroup.number(path));
            Some(Issuer { pid: known.pid, tid: known.tid, comm: to.comm.number(&known.comm), cgroup })
        });
        to.pid.push_option(issuer.map(|known| known.pid));
        to.tid.push_option(issuer.map(|known| known.tid));
        to.comm.append(issuer.map(|known| known.comm));
        to.cgroup.append(issuer.and_then(|known| known.cgroup));
        let file = to.paths.get(io.file, || {
            let (inode, path) = self.files.get(&io.file).or_else(|| self.old_files.get(&io.file))?;
            Some((*inode, path.as_deref().map(|path| to.file.number(path))))
        });
        to.inode.push_option(file.map(|(inode, _)| inode));
        to.file.append(file.and_then(|(_, path)| path));
        let owner = to.owners.get(io.owner, || {
            let known = actor(io.owner)?;
            Some((known.pid, to.owner_comm.number(&known.comm)))
        });
        to.owner_pid.push_option(owner.map(|(pid, _)| pid));
        to.owner_comm.append(owner.map(|(_, comm)| comm));
        to.error.push_option(io.error());
        to.bios.push(i32::from(io.bios));
        to.requeues.push(i32::from(io.requeues));
    }

    /// Path of a control group below its root.
    fn cgroup(&mut self, inode: u64) -> Option<Arc<str>> {
        if let Some(known) = self.cgroups.get(&inode) {
            return known.clone();
        }
        let root = cgroup_root();
        let found = find_inode(&root, inode, 8).and_then(|path| {
            path.strip_prefix(&root).ok().map(|rest| Arc::from(format!("/{}", rest.display()).as_str()))
        });
        self.cgroups.insert(inode, found.clone());
        found
    }
}

impl Builders {
    fn new(rows: usize) -> Self {
        let (wide, narrow) = (|| ColumnBuilder::with_capacity(rows), || ColumnBuilder::with_capacity(rows));
        let label = || LabelBuilder::with_capacity(rows);
        Self {
            queue: wide(),
            issue: wide(),
            complete: wide(),
            dev: label(),
            op: label(),
            flags: label(),
            sector: wide(),
            bytes: wide(),
            pid: narrow(),
            tid: narrow(),
            comm: label(),
            cgroup: label(),
            inode: wide(),
            file: label(),
            owner_pid: narrow(),
            owner_comm: label(),
            error: narrow(),
            bios: narrow(),
            requeues: narrow(),
            devices: Memo::new(),
            ops: Memo::new(),
            flag_sets: Memo::new(),
            issuers: Memo::new(),
            owners: Memo::new(),
            paths: Memo::new(),
        }
    }

    fn finish(self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.queue.finish()),
            Arc::new(self.issue.finish()),
            Arc::new(self.complete.finish()),
            self.dev.finish(),
            self.op.finish(),
            self.flags.finish(),
            Arc::new(self.sector.finish()),
            Arc::new(self.bytes.finish()),
            Arc::new(self.pid.finish()),
            Arc::new(self.tid.finish()),
            self.comm.finish(),
            self.cgroup.finish(),
            Arc::new(self.inode.finish()),
            self.file.finish(),
            Arc::new(self.owner_pid.finish()),
            self.owner_comm.finish(),
            Arc::new(self.error.finish()),
            Arc::new(self.bios.finish()),
            Arc::new(self.requeues.finish()),
        ]
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

/// `sync+meta`; empty without any.
fn flags_text(flags: u16) -> String {
    let set: Vec<&str> =
        FLAGS.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, name)| *name).collect();
    set.join("+")
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn signed32(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
