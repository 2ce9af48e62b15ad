//! From a recording to its findings: rows of all tables in the order of time, sample by sample.

use super::trace_errors::TraceErrors;
use super::{RuleEngine, Thresholds};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use recording::rows::{
    BtrfsDevice, Cgroup, Cpu, CpuEvent, Disk, Event, Exited, Figure, Interrupt, IoError, IoInterval, Listener, Memory,
    Net, OpInterval, Phase, PreemptedBy, Process, ProcessEvent, Stolen, System, Tcp, Thread, TraceInterval, ZfsArc,
};
use recording::{Reader, RecordingError, Row, RowBatch, Sink};
use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use std::ops::Range;
use view::TableReadError;

/// The findings of a recording: an engine that has seen all of it.
///
/// # Errors
/// A recording that cannot be read.
pub fn findings(reader: &Reader, thresholds: Thresholds) -> Result<RuleEngine, TableReadError> {
    findings_until(reader, thresholds, &mut |_, _| true)
}

/// As [`findings`], telling `watch` of the engine and the time after each sample; it ends early when that says false.
///
/// # Errors
/// A recording that cannot be read.
pub fn findings_until(
    reader: &Reader,
    thresholds: Thresholds,
    watch: &mut dyn FnMut(&RuleEngine, i64) -> bool,
) -> Result<RuleEngine, TableReadError> {
    let failed = TraceErrors::of(reader)?;
    let rows = |name: &str| -> Result<Source, RecordingError> {
        match failed.as_ref().map(|failed| failed.batch(name)).transpose()?.flatten() {
            Some(batch) => Ok(Box::new(std::iter::once(Ok(batch.rows)))),
            None => Ok(Box::new(reader.batches(name)?)),
        }
    };
    judge(of(reader, RuleEngine::new(thresholds)), tables(rows)?, watch)
}

/// The findings of a stretch of a recording's time, of which alone it is read: nothing is known of what was before.
///
/// # Errors
/// A recording that cannot be read.
pub fn findings_between(
    reader: &Reader,
    thresholds: Thresholds,
    range: Range<i64>,
    watch: &mut dyn FnMut(&RuleEngine, i64) -> bool,
) -> Result<RuleEngine, TableReadError> {
    // In one go, for a journal holds all tables together.
    let names: Vec<&str> = tables(|_| Ok(Box::new(std::iter::empty())))?.iter().map(|table| table.name()).collect();
    let mut found: HashMap<&str, Vec<Result<RecordBatch, RecordingError>>> = HashMap::new();
    for batch in reader.between(&names, range)? {
        found.entry(batch.table.name).or_default().push(Ok(batch.rows));
    }
    judge(
        of(reader, RuleEngine::joining(thresholds)),
        tables(|name| Ok(Box::new(found.remove(name).unwrap_or_default().into_iter())))?,
        watch,
    )
}

fn of(reader: &Reader, engine: RuleEngine) -> RuleEngine {
    engine.of_machine(&reader.manifest().hardware)
}

/// Batches of a table in the order of time.
type Source = Box<dyn Iterator<Item = Result<RecordBatch, RecordingError>>>;

/// The tables that rules look at.
fn tables(mut of: impl FnMut(&str) -> Result<Source, RecordingError>) -> Result<Vec<Box<dyn Table>>, RecordingError> {
    macro_rules! all {
        ($($row:ty),*) => { vec![$( Box::new(Frames::<$row>::new(of(<$row>::TABLE.name)?)) as Box<dyn Table> ),*] };
    }
    Ok(all!(
        Cpu,
        Process,
        Thread,
        Disk,
        Net,
        Tcp,
        System,
        Memory,
        ZfsArc,
        Figure,
        Cgroup,
        Interrupt,
        Listener,
        BtrfsDevice,
        Exited,
        CpuEvent,
        ProcessEvent,
        PreemptedBy,
        Stolen,
        IoInterval,
        IoError,
        TraceInterval,
        OpInterval,
        Phase,
        Event
    ))
}

/// Gives the engine the rows of all tables, sample by sample.
fn judge(
    mut engine: RuleEngine,
    mut tables: Vec<Box<dyn Table>>,
    watch: &mut dyn FnMut(&RuleEngine, i64) -> bool,
) -> Result<RuleEngine, TableReadError> {
    // A sample is what was read one after the other; a counter that comes again begins the next.
    let mut seen: HashSet<usize> = HashSet::new();
    // A log without counters is judged message by message.
    let is_log = !tables.iter_mut().any(|table| table.is_counter() && table.next_ns().is_some());
    // What happened after a sample belongs to the next one, whose counters tell of the same time.
    let mut later: Vec<RowBatch> = Vec::new();
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
            Some(batch) if [Event::NAME, Phase::NAME].contains(&batch.table.name) && !is_log => later.push(batch),
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
    /// Its name.
    fn name(&self) -> &'static str;
    /// When the next frame is.
    fn next_ns(&mut self) -> Option<i64>;
    /// The next frame.
    fn frame(&mut self) -> Result<Option<RowBatch>, RecordingError>;
    /// Is it read once per sample?
    fn is_counter(&self) -> bool;
}

/// Frames are cut out of batches as they are; rows are made of them only where one goes on in the next batch.
struct Frames<R> {
    source: Source,
    /// A batch, and how many of its rows were given.
    current: Option<(RecordBatch, usize)>,
    failed: Option<RecordingError>,
    row: PhantomData<R>,
}

/// When a row was, where the table has times.
fn time(batch: &RecordBatch, row: usize) -> i64 {
    let times = batch.column_by_name("t_ns").and_then(|column| column.as_primitive_opt::<Int64Type>());
    times.map_or(0, |times| times.value(row))
}

impl<R: Row> Frames<R> {
    fn new(source: Source) -> Self {
        Self { source, current: None, failed: None, row: PhantomData }
    }

    /// The batch that has the next row.
    fn fill(&mut self) -> Option<&(RecordBatch, usize)> {
        while self.failed.is_none() && self.current.as_ref().is_none_or(|(batch, at)| *at >= batch.num_rows()) {
            match self.source.next()? {
                Ok(batch) => self.current = Some((batch, 0)),
                Err(error) => self.failed = Some(error),
            }
        }
        self.current.as_ref()
    }

    /// Rows of the current batch with the same time as the next one.
    fn cut(&mut self) -> Option<RecordBatch> {
        let (batch, at) = self.current.as_mut().filter(|(batch, at)| *at < batch.num_rows())?;
        let t_ns = time(batch, *at);
        let end = (*at + 1..batch.num_rows()).find(|row| time(batch, *row) != t_ns).unwrap_or(batch.num_rows());
        let rows = batch.slice(*at, end - *at);
        *at = end;
        Some(rows)
    }
}

impl<R: Row> Table for Frames<R> {
    fn name(&self) -> &'static str {
        R::TABLE.name
    }

    fn next_ns(&mut self) -> Option<i64> {
        let next = self.fill().map(|(batch, at)| (*at < batch.num_rows()).then(|| time(batch, *at)));
        // What cannot be read comes first, so that its error is met.
        if self.failed.is_some() { Some(i64::MIN) } else { next.flatten() }
    }

    fn frame(&mut self) -> Result<Option<RowBatch>, RecordingError> {
        let Some(t_ns) = self.next_ns() else { return Ok(None) };
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let Some(rows) = self.cut() else { return Ok(None) };
        let is_last = self.current.as_ref().is_some_and(|(batch, at)| *at == batch.num_rows());
        if !is_last || self.next_ns() != Some(t_ns) {
            return Ok(Some(RowBatch { table: R::TABLE, rows }));
        }
        let mut joined = R::from_batch(&rows)?;
        while self.next_ns() == Some(t_ns)
            && let Some(more) = self.cut()
        {
            joined.extend(R::from_batch(&more)?);
        }
        RowBatch::from_rows(&joined).map(Some)
    }

    fn is_counter(&self) -> bool {
        R::TABLE.marks_samples()
    }
}
