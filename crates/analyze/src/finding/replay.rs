//! From a recording to its findings: rows of all tables in the order of time, sample by sample.

use super::{Engine, Thresholds};
use crate::AnalyzeError;
use recording::rows::{
    BtrfsDevice, Cpu, CpuEvent, Disk, Event, Exited, Interrupt, Listener, Memory, Net, OpInterval, PreemptedBy,
    Process, ProcessEvent, Stolen, System, Tcp, Thread,
};
use recording::{Batch, Reader, RecordingError, Row, Rows, Sink};
use std::collections::HashSet;
use std::iter::Peekable;

/// The findings of a recording: an engine that has seen all of it.
///
/// # Errors
/// A recording that cannot be read.
pub fn findings(reader: &Reader, thresholds: Thresholds) -> Result<Engine, AnalyzeError> {
    findings_until(reader, thresholds, &mut |_, _| true)
}

/// As [`findings`], telling `watch` of the engine and the time after each sample; it ends early when that says false.
///
/// # Errors
/// A recording that cannot be read.
pub fn findings_until(
    reader: &Reader,
    thresholds: Thresholds,
    watch: &mut dyn FnMut(&Engine, i64) -> bool,
) -> Result<Engine, AnalyzeError> {
    let mut engine = Engine::new(thresholds);
    let mut tables: Vec<Box<dyn Table>> = vec![
        table::<Cpu>(reader)?,
        table::<Process>(reader)?,
        table::<Thread>(reader)?,
        table::<Disk>(reader)?,
        table::<Net>(reader)?,
        table::<Tcp>(reader)?,
        table::<System>(reader)?,
        table::<Memory>(reader)?,
        table::<Interrupt>(reader)?,
        table::<Listener>(reader)?,
        table::<BtrfsDevice>(reader)?,
        table::<Exited>(reader)?,
        table::<CpuEvent>(reader)?,
        table::<ProcessEvent>(reader)?,
        table::<PreemptedBy>(reader)?,
        table::<Stolen>(reader)?,
        table::<OpInterval>(reader)?,
        table::<Event>(reader)?,
    ];
    // A sample is what was read one after the other; a counter that comes again begins the next.
    let mut seen: HashSet<usize> = HashSet::new();
    // A log without counters is judged message by message.
    let is_log = !tables.iter_mut().any(|table| table.is_counter() && table.next_ns().is_some());
    // What happened after a sample belongs to the next one, whose counters tell of the same time.
    let mut later: Vec<Batch> = Vec::new();
    loop {
        let next = tables.iter_mut().enumerate().filter_map(|(at, table)| Some((table.next_ns()?, at))).min();
        let Some((next_ns, at)) = next else { break };
        if (tables[at].is_counter() || is_log) && !seen.insert(at) {
            engine.commit()?;
            if !watch(&engine, next_ns) {
                return Ok(engine);
            }
            seen.clear();
            seen.insert(at);
            later.drain(..).try_for_each(|batch| engine.accept(&batch))?;
        }
        match tables[at].frame()? {
            Some(batch) if batch.table.name == "event" && !is_log => later.push(batch),
            Some(batch) => engine.accept(&batch)?,
            None => {}
        }
    }
    later.drain(..).try_for_each(|batch| engine.accept(&batch))?;
    engine.commit()?;
    Ok(engine)
}

/// One table of a recording, frame by frame: rows with the same time.
trait Table {
    /// When the next frame is.
    fn next_ns(&mut self) -> Option<i64>;
    /// The next frame.
    fn frame(&mut self) -> Result<Option<Batch>, RecordingError>;
    /// Is it read once per sample?
    fn is_counter(&self) -> bool;
}

struct Frames<R: Row> {
    rows: Peekable<Rows<R>>,
}

fn table<R: Row + Timed + 'static>(reader: &Reader) -> Result<Box<dyn Table>, AnalyzeError> {
    Ok(Box::new(Frames { rows: reader.rows::<R>()?.peekable() }))
}

impl<R: Row + Timed> Table for Frames<R> {
    fn next_ns(&mut self) -> Option<i64> {
        // A row that cannot be read comes first, so that its error is met.
        self.rows.peek().map(|row| row.as_ref().map_or(i64::MIN, Timed::t_ns))
    }

    fn frame(&mut self) -> Result<Option<Batch>, RecordingError> {
        let Some(first) = self.rows.next().transpose()? else { return Ok(None) };
        let t_ns = first.t_ns();
        let mut rows = vec![first];
        while let Some(row) = self.rows.next_if(|row| row.as_ref().is_ok_and(|row| row.t_ns() == t_ns)) {
            rows.push(row?);
        }
        Batch::from_rows(&rows).map(Some)
    }

    fn is_counter(&self) -> bool {
        // Tables without rows for what did not change do not mark the time.
        let without = [
            "op_interval",
            "event",
            "thread",
            "interrupt",
            "listener",
            "btrfs_device",
            "exited",
            "process_event",
            "preempted_by",
            "stolen",
        ];
        !without.contains(&R::TABLE.name)
    }
}

trait Timed {
    fn t_ns(&self) -> i64;
}

macro_rules! timed {
    ($($row:ty),*) => { $( impl Timed for $row { fn t_ns(&self) -> i64 { self.t_ns } } )* };
}
timed!(
    Cpu,
    Process,
    Thread,
    Disk,
    Net,
    Tcp,
    System,
    Memory,
    Interrupt,
    Listener,
    BtrfsDevice,
    Exited,
    CpuEvent,
    ProcessEvent,
    PreemptedBy,
    Stolen,
    OpInterval,
    Event
);
