//! The rows of the table `io` in the order of queueing, a few batches of them in memory.

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, Int32Array, RecordBatch};
use rates::{BatchColumns, NameNumbers};
use recording::{Reader, rows};
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;
use view::TableReadError;

/// Batches that may wait between reading and folding.
const WAITING: usize = 8;
/// Rows that are sorted at a time. A row that began before so many later completions comes out of order.
const BLOCK: usize = 32 * 1024;
/// Most rows without an end that are put where they began, before all others are read: more have only imports that do not
/// tell of ends, and are in order.
const UNENDED: usize = 1 << 17;

/// One I/O, with numbers for names.
#[derive(Clone, Copy, Debug)]
pub struct NumberedIo {
    /// When it was queued, ns.
    pub queue_ns: i64,
    /// `None`: never given to the driver by itself.
    pub issue_ns: Option<i64>,
    /// `None`: it was not seen, or an import did not tell.
    pub complete_ns: Option<i64>,
    /// No end had been seen when the trace ended.
    pub is_unfinished: bool,
    /// First sector of 512 bytes.
    pub sector: i64,
    /// Length.
    pub bytes: i64,
    /// Device.
    pub dev: usize,
    /// Operation.
    pub op: usize,
    /// 0 read, 1 write, 2 anything else.
    pub class: usize,
    /// Flags of the request.
    pub flags: usize,
    /// Name of the owner of write-back, or of the issuer.
    pub process: usize,
    /// Number of the same; -1: not known.
    pub process_pid: i32,
    /// Number of the issuer; -1: not known.
    pub pid: i32,
    /// Its thread; -1: not known.
    pub tid: i32,
    /// Name of the issuer.
    pub comm: usize,
    /// Control group of the owner.
    pub cgroup: usize,
    /// File.
    pub file: usize,
    /// Did it end with an error?
    pub failed: bool,
}

impl NumberedIo {
    /// Queue to completion.
    #[inline]
    pub fn response_ns(&self) -> Option<u64> {
        self.complete_ns.map(|complete_ns| span(self.queue_ns, complete_ns))
    }

    /// The last time that is known of it.
    #[inline]
    pub fn last_ns(&self) -> i64 {
        self.complete_ns.or(self.issue_ns).unwrap_or(self.queue_ns)
    }

    /// Queue to issue: waiting for a free request, in the scheduler.
    #[inline]
    pub fn wait_ns(&self) -> Option<u64> {
        self.issue_ns.map(|issue_ns| span(self.queue_ns, issue_ns))
    }

    /// Issue to completion: the device.
    #[inline]
    pub fn device_ns(&self) -> Option<u64> {
        self.issue_ns.zip(self.complete_ns).map(|(issue_ns, complete_ns)| span(issue_ns, complete_ns))
    }

    /// The sector after its last.
    #[inline]
    pub fn end(&self) -> i64 {
        self.sector.saturating_add(self.bytes / 512)
    }
}

#[inline]
fn span(from_ns: i64, to_ns: i64) -> u64 {
    u64::try_from(to_ns.saturating_sub(from_ns)).unwrap_or(0)
}

/// One I/O of the table `io`.
#[derive(Clone, Copy, Debug)]
pub struct TracedIo<'a> {
    /// When it was queued, ns.
    pub queue_ns: i64,
    /// When it was completed, if that is known.
    pub complete_ns: Option<i64>,
    /// First sector of 512 bytes.
    pub sector: i64,
    /// Bytes.
    pub bytes: i64,
    /// Process and thread; -1: not known.
    pub pid: i32,
    /// See `pid`.
    pub tid: i32,
    /// Device.
    pub dev: &'a str,
    /// What it did.
    pub op: &'a str,
    /// What it was marked with.
    pub flags: &'a str,
    /// Name of the issuer.
    pub comm: &'a str,
    /// File.
    pub file: &'a str,
}

/// Gives every I/O of a recording to `take`, in the order of queueing, in memory that does not grow with their number.
/// One that took longer than some 30,000 later ones comes out of order; one without an end does not.
///
/// # Errors
/// The recording cannot be read.
pub fn each_traced(reader: &Reader, mut take: impl FnMut(&TracedIo<'_>)) -> Result<(), TableReadError> {
    each_traced_until(reader, |io| {
        take(io);
        ControlFlow::Continue(())
    })
}

/// [`each_traced`], until `take` has enough: what comes after that is not read.
///
/// # Errors
/// See [`each_traced`].
pub fn each_traced_until(
    reader: &Reader,
    mut take: impl FnMut(&TracedIo<'_>) -> ControlFlow<()>,
) -> Result<(), TableReadError> {
    each_until(reader, |row, names| {
        take(&TracedIo {
            queue_ns: row.queue_ns,
            complete_ns: row.complete_ns,
            sector: row.sector,
            bytes: row.bytes,
            pid: row.pid,
            tid: row.tid,
            dev: names.name(row.dev),
            op: names.name(row.op),
            flags: names.name(row.flags),
            comm: names.name(row.comm),
            file: names.name(row.file),
        })
    })
    .map(|_| ())
}

/// Gives every row to `take`, in the order of queueing; returns the names that their numbers stand for.
pub fn each(reader: &Reader, mut take: impl FnMut(&NumberedIo, &NameNumbers)) -> Result<NameNumbers, TableReadError> {
    each_until(reader, |row, names| {
        take(row, names);
        ControlFlow::Continue(())
    })
}

/// [`each`], until `take` has enough.
fn each_until(
    reader: &Reader,
    mut take: impl FnMut(&NumberedIo, &NameNumbers) -> ControlFlow<()>,
) -> Result<NameNumbers, TableReadError> {
    let mut names = NameNumbers::default();
    let (mut waiting, mut fresh): (Vec<NumberedIo>, Vec<NumberedIo>) = (Vec::with_capacity(2 * BLOCK), Vec::new());
    let mut unended = Unended::read(reader, &mut names)?;
    let batches = reader.batches(rows::Io::NAME)?;
    let mut flow = ControlFlow::Continue(());
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(WAITING);
        // Decoding costs as much as folding.
        scope.spawn(move || {
            for batch in batches {
                if sender.send(batch).is_err() {
                    return;
                }
            }
        });
        for batch in receiver {
            append(&batch?, &mut names, &mut fresh)?;
            waiting.extend(fresh.drain(..).filter(|row| !unended.has(row)));
            if waiting.len() >= 2 * BLOCK {
                waiting.sort_by_key(|row| row.queue_ns);
                for row in &waiting[..BLOCK] {
                    unended.give(row.queue_ns, |row| flow = all(flow, || take(row, &names)));
                    flow = all(flow, || take(row, &names));
                    if flow.is_break() {
                        // The other thread ends when its receiver is gone.
                        return Ok(());
                    }
                }
                waiting.drain(..BLOCK);
            }
        }
        Ok::<(), TableReadError>(())
    })?;
    waiting.sort_by_key(|row| row.queue_ns);
    for row in &waiting {
        unended.give(row.queue_ns, |row| flow = all(flow, || take(row, &names)));
        flow = all(flow, || take(row, &names));
    }
    unended.give(i64::MAX, |row| flow = all(flow, || take(row, &names)));
    Ok(names)
}

/// Goes on with `next` if it went on so far.
fn all(flow: ControlFlow<()>, next: impl FnOnce() -> ControlFlow<()>) -> ControlFlow<()> {
    if flow.is_continue() { next() } else { flow }
}

/// Rows without an end. They stand in the table behind I/Os that were completed long after they began, at its very end
/// if they were in flight when the trace ended.
struct Unended {
    /// In the order of queueing, the last first; `None`: too many, so they come as they stand.
    rows: Option<Vec<NumberedIo>>,
}

impl Unended {
    fn read(reader: &Reader, names: &mut NameNumbers) -> Result<Self, TableReadError> {
        let Some(batches) = reader.unended(UNENDED)? else { return Ok(Self { rows: None }) };
        let mut rows = Vec::new();
        for batch in &batches {
            append(batch, names, &mut rows)?;
        }
        // Of the same moment in the order of the table, as all others.
        rows.sort_by_key(|row| row.queue_ns);
        rows.reverse();
        Ok(Self { rows: Some(rows) })
    }

    /// Is this row, as it stands in the table, one of them? One that was written since they were read counts as well: it
    /// is for the next to read.
    fn has(&self, row: &NumberedIo) -> bool {
        self.rows.is_some() && row.complete_ns.is_none()
    }

    /// Gives those that were queued by then.
    fn give(&mut self, until_ns: i64, mut take: impl FnMut(&NumberedIo)) {
        while let Some(row) = self.rows.as_mut().and_then(|rows| rows.pop_if(|row| row.queue_ns <= until_ns)) {
            take(&row);
        }
    }
}

/// The rows of a batch of the table, with numbers for their names.
pub fn append(batch: &RecordBatch, names: &mut NameNumbers, rows: &mut Vec<NumberedIo>) -> Result<(), TableReadError> {
    let columns = BatchColumns { table: rows::Io::NAME, batch };
    let (queue, issue, complete) =
        (columns.longs("queue_ns")?, columns.longs("issue_ns")?, columns.longs("complete_ns")?);
    let (sector, bytes, pid) = (columns.longs("sector")?, columns.longs("bytes")?, columns.ints("pid")?);
    let (tid, owner_pid) = (columns.ints("tid")?, columns.ints("owner_pid")?);
    let number = |of: &Int32Array, row: usize| if of.is_valid(row) { of.value(row) } else { -1 };
    let error = columns.ints("error")?;
    let mut label = |column: &'static str| labels(batch, column, names);
    let (dev, op, flags) = (label("dev")?, label("op")?, label("flags")?);
    let (comm, owner) = (label("comm")?, label("owner_comm")?);
    let (cgroup, file) = (label("cgroup")?, label("file")?);
    let (unnamed, read, write) = (names.number(""), names.number("read"), names.number("write"));
    for row in 0..batch.num_rows() {
        let op = op[row];
        rows.push(NumberedIo {
            queue_ns: queue.value(row),
            issue_ns: issue.is_valid(row).then(|| issue.value(row)),
            complete_ns: complete.is_valid(row).then(|| complete.value(row)),
            is_unfinished: complete.is_null(row) && names.name(flags[row]).contains("unfinished"),
            // What has no place was written as the last there is, once.
            sector: Some(sector.value(row)).filter(|sector| *sector < i64::MAX / 512).unwrap_or(0),
            bytes: bytes.value(row),
            dev: dev[row],
            op,
            class: if op == read {
                0
            } else if op == write {
                1
            } else {
                2
            },
            flags: flags[row],
            process: if owner[row] == unnamed { comm[row] } else { owner[row] },
            process_pid: number(if owner[row] == unnamed { pid } else { owner_pid }, row),
            pid: number(pid, row),
            tid: number(tid, row),
            comm: comm[row],
            cgroup: cgroup[row],
            file: file[row],
            failed: error.is_valid(row),
        });
    }
    Ok(())
}

/// Numbers of the names in a column, a missing one as that of the empty name.
fn labels(batch: &RecordBatch, column: &'static str, names: &mut NameNumbers) -> Result<Vec<usize>, TableReadError> {
    let wrong = || TableReadError::Column { table: rows::Io::NAME, column, expected: "text" };
    let array = batch.column_by_name(column).ok_or_else(wrong)?;
    // Others may have written it as plain text.
    let Some(labels) = array.as_dictionary_opt::<Int32Type>() else {
        return BatchColumns { table: rows::Io::NAME, batch }.texts(column, names);
    };
    let texts = labels.values().as_string_opt::<i32>().ok_or_else(wrong)?;
    let numbers: Vec<usize> = texts.iter().map(|text| names.number(text.unwrap_or(""))).collect();
    let unnamed = names.number("");
    Ok((0..labels.len())
        .map(|row| labels.key(row).and_then(|key| numbers.get(key).copied()).unwrap_or(unnamed))
        .collect())
}
