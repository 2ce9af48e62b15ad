//! A recording's samples one after the other, as they were taken: what `stat` shows of a machine it shows of a recording too.

use super::CounterSubject;
use recording::rows::{
    BtrfsDevice, Cgroup, Cpu, CpuEvent, Disk, Figure, FileSystem, Interrupt, IoInterval, IrqTime, Listener, Memory,
    Net, NfsMount, Pressure, Process, ProcessEvent, Sample, Stolen, System, Tcp, Udp, ZfsArc, ZfsPool,
};
use recording::{Reader, RecordingError, Row, RowBatch, RowOccurrence, RowReader, Sink};
use std::collections::HashSet;
use std::iter::Peekable;
use view::TableReadError;

/// Gives the samples of some subjects to `sink`, in the order of time, each with a commit behind it.
///
/// # Errors
/// The recording cannot be read, or the sink cannot take it.
pub fn feed_recording(reader: &Reader, subjects: &[CounterSubject], sink: &mut dyn Sink) -> Result<(), TableReadError> {
    let mut tables: Vec<Box<dyn Table>> = Vec::new();
    for subject in subjects {
        tables.extend(tables_of(*subject, reader)?);
    }
    tables.push(Box::new(Samples::<Sample>::of(reader, |row| row.t_ns)?));
    let mut seen: HashSet<usize> = HashSet::new();
    let mut sample: Vec<RowBatch> = Vec::new();
    // When this sample began, and how long the last two intervals were.
    let (mut began_ns, mut last_steps) = (None::<i64>, [0_i64; 2]);
    let mut give = |sample: &mut Vec<RowBatch>| -> Result<(), TableReadError> {
        sample.drain(..).try_for_each(|batch| sink.accept(&batch))?;
        Ok(sink.commit()?)
    };
    loop {
        let next = tables.iter_mut().enumerate().filter_map(|(at, table)| Some((table.next_ns()?, at))).min();
        let Some((next_ns, at)) = next else { break };
        // What comes again begins the next sample.
        if !seen.insert(at) {
            give(&mut sample)?;
            seen.clear();
            seen.insert(at);
        }
        if sample.is_empty() {
            let before_ns = began_ns.replace(next_ns);
            last_steps = [last_steps[1], before_ns.map_or(0, |before_ns| next_ns - before_ns)];
        }
        sample.extend(tables[at].sample()?);
    }
    // Recorders once took a last sample however short a time after the one before; a rate over so little is chance.
    if last_steps[1] > 0 && last_steps[1] * 10 < last_steps[0] { Ok(()) } else { give(&mut sample) }
}

fn tables_of(subject: CounterSubject, reader: &Reader) -> Result<Vec<Box<dyn Table>>, TableReadError> {
    let both = |first: CounterSubject, second: Vec<Box<dyn Table>>| {
        let mut tables = tables_of(first, reader)?;
        tables.extend(second);
        Ok(tables)
    };
    Ok(vec![match subject {
        CounterSubject::CpuClock => {
            return both(CounterSubject::Cpu, vec![Box::new(Samples::<CpuEvent>::of(reader, |row| row.t_ns)?)]);
        }
        CounterSubject::ProcessClock => {
            let events: Vec<Box<dyn Table>> = vec![
                Box::new(Samples::<CpuEvent>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<ProcessEvent>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<Stolen>::of(reader, |row| row.t_ns)?),
            ];
            return both(CounterSubject::Process, events);
        }
        CounterSubject::Cpu => Box::new(Samples::<Cpu>::of(reader, |row| row.t_ns)?),
        CounterSubject::System => Box::new(Samples::<System>::of(reader, |row| row.t_ns)?),
        CounterSubject::Memory => Box::new(Samples::<Memory>::of(reader, |row| row.t_ns)?),
        CounterSubject::Pressure => Box::new(Samples::<Pressure>::of(reader, |row| row.t_ns)?),
        CounterSubject::Disk => Box::new(Samples::<Disk>::of(reader, |row| row.t_ns)?),
        CounterSubject::DiskPercentiles => {
            let ios: Vec<Box<dyn Table>> = vec![Box::new(Samples::<IoInterval>::of(reader, |row| row.t_ns)?)];
            return both(CounterSubject::Disk, ios);
        }
        CounterSubject::Net => {
            return Ok(vec![
                Box::new(Samples::<Net>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<System>::of(reader, |row| row.t_ns)?),
            ]);
        }
        CounterSubject::Tcp => Box::new(Samples::<Tcp>::of(reader, |row| row.t_ns)?),
        CounterSubject::Udp => Box::new(Samples::<Udp>::of(reader, |row| row.t_ns)?),
        CounterSubject::Process => Box::new(Samples::<Process>::of(reader, |row| row.t_ns)?),
        CounterSubject::Irq | CounterSubject::IrqCpu => {
            return Ok(vec![
                Box::new(Samples::<Interrupt>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<IrqTime>::of(reader, |row| row.t_ns)?),
            ]);
        }
        CounterSubject::Fs => {
            return Ok(vec![
                Box::new(Samples::<FileSystem>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<NfsMount>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<BtrfsDevice>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<Disk>::of(reader, |row| row.t_ns)?),
            ]);
        }
        CounterSubject::Pool => {
            return Ok(vec![
                Box::new(Samples::<ZfsPool>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<ZfsArc>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<Figure>::of(reader, |row| row.t_ns)?),
                Box::new(Samples::<Disk>::of(reader, |row| row.t_ns)?),
            ]);
        }
        // Where the table `sample` is missing (runs, older recordings), TCP tells when there was one in which nothing happened.
        CounterSubject::Listen => {
            let listeners = Samples::<Listener>::of(reader, |row| row.t_ns)?;
            return both(CounterSubject::Tcp, vec![Box::new(listeners)]);
        }
        CounterSubject::Cgroup => Box::new(Samples::<Cgroup>::of(reader, |row| row.t_ns)?),
    }])
}

/// One table, sample by sample.
trait Table {
    /// When the next sample begins.
    fn next_ns(&mut self) -> Option<i64>;
    /// The next sample.
    fn sample(&mut self) -> Result<Option<RowBatch>, RecordingError>;
}

struct Samples<R: Row> {
    rows: Peekable<RowReader<R>>,
    t_ns: fn(&R) -> i64,
}

impl<R: Row> Samples<R> {
    fn of(reader: &Reader, t_ns: fn(&R) -> i64) -> Result<Self, TableReadError> {
        Ok(Self { rows: reader.rows::<R>()?.peekable(), t_ns })
    }
}

impl<R: Row> Table for Samples<R> {
    fn next_ns(&mut self) -> Option<i64> {
        // A row that cannot be read comes first, so that its error is met.
        self.rows.peek().map(|row| row.as_ref().map_or(i64::MIN, self.t_ns))
    }

    fn sample(&mut self) -> Result<Option<RowBatch>, RecordingError> {
        let Some(first) = self.rows.next().transpose()? else { return Ok(None) };
        let t_ns = (self.t_ns)(&first);
        let mut seen = HashSet::from([first.key()]);
        let mut rows = vec![first];
        let has_all = R::TABLE.occurrence == RowOccurrence::EverySample;
        // Each file of a subject has a time of its own (pressure): what is new belongs to the sample, too.
        let belongs = |row: &R, seen: &HashSet<R::Key>| {
            let row_ns = (self.t_ns)(row);
            row_ns == t_ns || has_all && row_ns - t_ns < 100_000_000 && !seen.contains(&row.key())
        };
        while let Some(row) = self.rows.next_if(|row| row.as_ref().is_ok_and(|row| belongs(row, &seen))) {
            let row = row?;
            seen.insert(row.key());
            rows.push(row);
        }
        RowBatch::from_rows(&rows).map(Some)
    }
}
