//! From records to the columns of the table `io`.

use crate::column::ColumnBuilder;
use crate::label::{LabelBuilder, LabelNumber};
use crate::packed::{FLAGS, IoFile, IoNames, IoRecord, IoTask, op_name};
use arrow_array::ArrayRef;
use arrow_array::types::{Int32Type, Int64Type};
use std::collections::HashMap;
use std::sync::Arc;

/// A task in the columns.
#[derive(Clone, Copy, Debug)]
struct Task {
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

/// The columns under way, in the order of the table, and the numbers that names have in them.
pub(super) struct Columns<'a> {
    names: By<'a>,
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
    issuers: Memo<Option<Task>>,
    owners: Memo<Option<(i32, LabelNumber)>>,
    paths: Memo<Option<(i64, Option<LabelNumber>)>>,
}

/// Names by their numbers.
struct By<'a> {
    devices: HashMap<u32, &'a str>,
    tasks: HashMap<u32, &'a IoTask>,
    files: HashMap<u32, &'a IoFile>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(names: &'a IoNames, rows: usize) -> Self {
        let (wide, narrow) = (|| ColumnBuilder::with_capacity(rows), || ColumnBuilder::with_capacity(rows));
        let label = || LabelBuilder::with_capacity(rows);
        Self {
            names: By {
                devices: names.devices.iter().map(|(number, name)| (*number, name.as_str())).collect(),
                tasks: names.tasks.iter().map(|(number, task)| (*number, task)).collect(),
                files: names.files.iter().map(|(number, file)| (*number, file)).collect(),
            },
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

    pub(super) fn append(&mut self, io: &IoRecord) {
        self.queue.push(signed(io.queue_ns));
        self.issue.push_option((io.issue_ns > 0).then(|| signed(io.issue_ns)));
        self.complete.push_option((io.complete_ns > 0).then(|| signed(io.complete_ns)));
        let device = self.devices.get(io.dev, || match self.names.devices.get(&io.dev) {
            Some(name) => self.dev.number(name),
            None => self.dev.number(&format!("{}:{}", io.dev >> 20, io.dev & 0xf_ffff)),
        });
        self.dev.append(Some(device));
        let op = self.ops.get(u32::from(io.op), || self.op.number(op_name(io.op)));
        self.op.append(Some(op));
        let flags = self.flag_sets.get(u32::from(io.flags), || self.flags.number(&flags_text(io.flags)));
        self.flags.append(Some(flags));
        self.sector.push(signed(io.sector));
        self.bytes.push(i64::from(io.bytes));
        self.append_names(io);
        self.error.push_option(io.error());
        self.bios.push(i32::from(io.bios));
        self.requeues.push(i32::from(io.requeues));
    }

    fn append_names(&mut self, io: &IoRecord) {
        let issuer = self.issuers.get(io.issuer, || {
            let known = self.names.tasks.get(&io.issuer)?;
            let cgroup = known.cgroup.as_deref().map(|path| self.cgroup.number(path));
            Some(Task { pid: known.pid, tid: known.tid, comm: self.comm.number(&known.comm), cgroup })
        });
        self.pid.push_option(issuer.map(|known| known.pid));
        self.tid.push_option(issuer.map(|known| known.tid));
        self.comm.append(issuer.map(|known| known.comm));
        self.cgroup.append(issuer.and_then(|known| known.cgroup));
        let file = self.paths.get(io.file, || {
            let known = self.names.files.get(&io.file)?;
            Some((known.inode, known.path.as_deref().map(|path| self.file.number(path))))
        });
        self.inode.push_option(file.map(|(inode, _)| inode));
        self.file.append(file.and_then(|(_, path)| path));
        let owner = self.owners.get(io.owner, || {
            let known = self.names.tasks.get(&io.owner)?;
            Some((known.pid, self.owner_comm.number(&known.comm)))
        });
        self.owner_pid.push_option(owner.map(|(pid, _)| pid));
        self.owner_comm.append(owner.map(|(_, comm)| comm));
    }

    pub(super) fn finish(self) -> Vec<ArrayRef> {
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

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// `sync+meta`; empty without any.
fn flags_text(flags: u16) -> String {
    let set: Vec<&str> =
        FLAGS.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1).map(|(_, name)| *name).collect();
    set.join("+")
}
