//! Old recordings made coarser: of each stretch of time, the last sample of a table and both ends of its busiest interval.
//!
//! Samples are counters, so rates over a stretch stay exact without those in between; and the busiest interval keeps its
//! own two ends, so that a maximum is still there, with its time and its length.

use crate::damage::DAMAGE;
use crate::rows::{
    self, Cgroup, CgroupIo, Cpu, CpuEvent, Disk, FileSystem, Interrupt, IrqTime, Memory, Net, NfsMount, NicCounter,
    PreemptedBy, Pressure, Process, ProcessEvent, RunQueue, Softnet, Stolen, System, Tcp, Udp, ZfsArc, ZfsDataset,
    ZfsPool,
};
use crate::{Manifest, Reader, RecordingError, Row, RowBatch, Sink, Writer};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// In the manifest: how far the samples of a recording are apart since it was made coarser.
pub const THINNED: &str = "thinned_to_ns";

/// Rows of one batch.
const BATCH: usize = 8 << 10;

/// How far the samples of a recording are apart, when it was made coarser.
#[must_use]
pub fn thinned_to_ns(manifest: &Manifest) -> Option<i64> {
    manifest.extra.get(THINNED)?.as_i64()
}

/// Writes a recording again, sealed, with samples `step_ns` apart: all its counters, and everything else as it is.
///
/// # Errors
/// The recording cannot be read, holds a table that this version does not know, or `into` cannot be written; nothing is
/// left of `into` then.
pub fn thin(reader: &Reader, into: &Path, step_ns: i64) -> Result<PathBuf, RecordingError> {
    let mut manifest = reader.manifest().clone();
    manifest.extra.insert(THINNED.to_string(), step_ns.into());
    (manifest.sealed, manifest.rows) = (false, BTreeMap::new());
    // What is missing stays missing.
    manifest.extra.remove(DAMAGE);
    reader.damage()?.keep(&mut manifest);
    let writer = Writer::create(into, manifest)?;
    let thinned = copy(reader, writer, step_ns);
    if thinned.is_err() {
        crate::discard(into);
    }
    thinned
}

fn copy(reader: &Reader, mut writer: Writer, step_ns: i64) -> Result<PathBuf, RecordingError> {
    for name in reader.tables()? {
        let output = &mut writer;
        match name.as_str() {
            Cpu::NAME => table::<Cpu>(reader, output, step_ns, |row| &row.cpu, |row| row.user_ns + row.system_ns)?,
            Disk::NAME => table::<Disk>(reader, output, step_ns, |row| &row.device, disk_use)?,
            Net::NAME => {
                table::<Net>(reader, output, step_ns, |row| &row.interface, |row| row.rx_bytes + row.tx_bytes)?
            }
            NfsMount::NAME => table::<NfsMount>(
                reader,
                output,
                step_ns,
                |row| &row.mount,
                |row| some(row.read_bytes) + some(row.write_bytes),
            )?,
            Tcp::NAME => {
                table::<Tcp>(reader, output, step_ns, |_| "", |row| some(row.in_segments) + some(row.out_segments))?
            }
            Udp::NAME => {
                table::<Udp>(reader, output, step_ns, |_| "", |row| some(row.in_datagrams) + some(row.out_datagrams))?
            }
            Memory::NAME => table::<Memory>(
                reader,
                output,
                step_ns,
                |_| "",
                |row| some(row.page_in_bytes) + some(row.page_out_bytes),
            )?,
            Pressure::NAME => table::<Pressure>(reader, output, step_ns, |row| &row.resource, |row| some(row.some_ns))?,
            System::NAME => table::<System>(reader, output, step_ns, |_| "", |row| some(row.context_switches))?,
            Process::NAME => sparse::<Process, _>(
                reader,
                output,
                step_ns,
                |row| (row.pid, row.start_ns),
                |row, end| Process { t_ns: end.t_ns, t_s: end.t_s, ..row },
            )?,
            Interrupt::NAME => sparse::<Interrupt, _>(
                reader,
                output,
                step_ns,
                |row| (row.kind.clone(), row.vector.clone(), row.cpu),
                |row, end| Interrupt { t_ns: end.t_ns, t_s: end.t_s, ..row },
            )?,
            Softnet::NAME => sparse::<Softnet, _>(
                reader,
                output,
                step_ns,
                |row| row.cpu,
                |row, end| Softnet { t_ns: end.t_ns, t_s: end.t_s, ..row },
            )?,
            name if by_event(reader, output, step_ns, name)? || more(reader, output, step_ns, name)? => {}
            other => {
                let known = crate::table(other).ok_or_else(|| RecordingError::UnknownTable {
                    name: other.to_string(),
                    known: "those of this version".to_string(),
                })?;
                for rows in reader.batches(other)? {
                    writer.accept(&RowBatch { table: known, rows: rows? })?;
                    writer.commit()?;
                }
            }
        }
    }
    writer.seal_past()
}

/// By how much a device is used: of two stretches the one in which it grew more is kept.
fn disk_use(row: &Disk) -> i64 {
    let by_kind = some(row.read_ios) + some(row.write_ios) + some(row.discard_ios);
    row.weighted_ticks_ms.unwrap_or(by_kind + some(row.any_ios))
}

/// Tables of the probes of CPU time, most with rows only of what did something; false for any other.
fn by_event(reader: &Reader, output: &mut Writer, step_ns: i64, name: &str) -> Result<bool, RecordingError> {
    match name {
        CpuEvent::NAME => table::<CpuEvent>(reader, output, step_ns, |row| &row.cpu, |row| row.run_ns)?,
        ProcessEvent::NAME => sparse::<ProcessEvent, _>(
            reader,
            output,
            step_ns,
            |row| (row.pid, row.start_ns),
            |row, end| ProcessEvent { t_ns: end.t_ns, t_s: end.t_s, ..row },
        )?,
        PreemptedBy::NAME => sparse::<PreemptedBy, _>(
            reader,
            output,
            step_ns,
            |row| (row.pid, row.by_pid),
            |row, end| PreemptedBy { t_ns: end.t_ns, t_s: end.t_s, ..row },
        )?,
        IrqTime::NAME => sparse::<IrqTime, _>(
            reader,
            output,
            step_ns,
            |row| (row.kind.clone(), row.vector.clone(), row.cpu),
            |row, end| IrqTime { t_ns: end.t_ns, t_s: end.t_s, ..row },
        )?,
        Stolen::NAME => sparse::<Stolen, _>(
            reader,
            output,
            step_ns,
            |row| (row.pid, row.kind.clone(), row.vector.clone()),
            |row, end| Stolen { t_ns: end.t_ns, t_s: end.t_s, ..row },
        )?,
        RunQueue::NAME => run_queue(reader, output, step_ns)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// How long tasks waited in a stretch of time, as one row: histograms add up.
fn run_queue(reader: &Reader, writer: &mut Writer, step_ns: i64) -> Result<(), RecordingError> {
    let (mut first_ns, mut window): (Option<i64>, i64) = (None, 0);
    let mut rows: Vec<RunQueue> = Vec::new();
    for row in reader.rows::<RunQueue>()? {
        let row = row?;
        let of_row = (row.t_ns - *first_ns.get_or_insert(row.t_ns)).div_euclid(step_ns.max(1));
        let is_same = std::mem::replace(&mut window, of_row) == of_row;
        if let Some(last) = rows.last_mut().filter(|_| is_same) {
            (last.t_ns, last.t_s) = (row.t_ns, row.t_s);
            last.interval_ns += row.interval_ns;
            last.wait.merge(&row.wait);
            continue;
        }
        put(writer, &mut rows, BATCH)?;
        rows.push(row);
    }
    put(writer, &mut rows, 1)
}

/// Tables of control groups, of ZFS and of drivers; false for any other.
fn more(reader: &Reader, output: &mut Writer, step_ns: i64, name: &str) -> Result<bool, RecordingError> {
    match name {
        Cgroup::NAME => sparse::<Cgroup, _>(
            reader,
            output,
            step_ns,
            |row| row.path.clone(),
            |row, end| Cgroup { t_ns: end.t_ns, t_s: end.t_s, ..row },
        )?,
        CgroupIo::NAME => sparse::<CgroupIo, _>(
            reader,
            output,
            step_ns,
            |row| (row.path.clone(), row.device.clone()),
            |row, end| CgroupIo { t_ns: end.t_ns, t_s: end.t_s, ..row },
        )?,
        ZfsArc::NAME => table::<ZfsArc>(reader, output, step_ns, |_| "", |row| some(row.hits) + some(row.misses))?,
        ZfsPool::NAME => table::<ZfsPool>(
            reader,
            output,
            step_ns,
            |row| &row.pool,
            |row| {
                let bytes = [row.read_bytes, row.write_bytes, row.arc_read_bytes, row.arc_write_bytes];
                bytes.into_iter().chain([row.direct_read_bytes, row.direct_write_bytes]).map(some).sum()
            },
        )?,
        ZfsDataset::NAME => sparse::<ZfsDataset, _>(
            reader,
            output,
            step_ns,
            |row| row.dataset.clone(),
            |row, end| ZfsDataset { t_ns: end.t_ns, t_s: end.t_s, ..row },
        )?,
        FileSystem::NAME => table::<FileSystem>(
            reader,
            output,
            step_ns,
            |row| &row.mount,
            |row| some(row.total_bytes) - some(row.free_bytes),
        )?,
        rows::Sample::NAME => sparse::<rows::Sample, _>(
            reader,
            output,
            step_ns,
            |_| (),
            |row, end| rows::Sample { t_ns: end.t_ns, t_s: end.t_s, ..row },
        )?,
        NicCounter::NAME => sparse::<NicCounter, _>(
            reader,
            output,
            step_ns,
            |row| (row.interface.clone(), row.name.clone()),
            |row, end| NicCounter { t_ns: end.t_ns, t_s: end.t_s, ..row },
        )?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// A counter, or nothing.
fn some(value: Option<i64>) -> i64 {
    value.unwrap_or(0)
}

trait Timed: Row {
    fn t_ns(&self) -> i64;
}

macro_rules! timed {
    ($($row:ty),*) => { $( impl Timed for $row { fn t_ns(&self) -> i64 { self.t_ns } } )* };
}
timed!(Cpu, Disk, Interrupt, Net, NfsMount, Tcp, Udp, Memory, Pressure, Softnet, System, Process);
timed!(FileSystem, NicCounter, rows::Sample, ZfsArc, ZfsDataset, ZfsPool);
timed!(Cgroup, CgroupIo, CpuEvent, IrqTime, PreemptedBy, ProcessEvent, Stolen);

/// Tells samples apart: a new one begins when a thing comes again.
#[derive(Default)]
struct Samples {
    number: usize,
    seen: BTreeSet<String>,
}

impl Samples {
    /// Number of the sample that a row of this thing is in.
    fn of(&mut self, thing: &str) -> usize {
        if !self.seen.insert(thing.to_string()) {
            self.number += 1;
            self.seen.clear();
            self.seen.insert(thing.to_string());
        }
        self.number
    }
}

/// What is known of a sample after the first pass.
#[derive(Clone, Copy, Default)]
struct Sample {
    t_ns: i64,
    /// What all things did since the sample before.
    all: i64,
    /// What the busiest of them did.
    most: i64,
}

/// Numbers of the samples that stay.
fn kept(samples: &[Sample], step_ns: i64) -> BTreeSet<usize> {
    let mut kept = BTreeSet::from([0]);
    let Some(first) = samples.first() else { return kept };
    let window = |sample: &Sample| (sample.t_ns - first.t_ns).div_euclid(step_ns.max(1));
    let mut from = 0;
    while from < samples.len() {
        let to = from + samples[from..].partition_point(|sample| window(sample) <= window(&samples[from]));
        kept.insert(to - 1);
        for rate in [|sample: &Sample| sample.all, |sample: &Sample| sample.most] {
            if let Some(busiest) = (from.max(1)..to).max_by_key(|at| rate(&samples[*at])) {
                kept.extend([busiest - 1, busiest]);
            }
        }
        from = to;
    }
    kept
}

/// One table of counters, in two passes: which samples stay, and their rows.
fn table<R: Timed>(
    reader: &Reader,
    writer: &mut Writer,
    step_ns: i64,
    thing: fn(&R) -> &str,
    activity: fn(&R) -> i64,
) -> Result<(), RecordingError> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut numbers = Samples::default();
    let mut before: HashMap<String, i64> = HashMap::new();
    for row in reader.rows::<R>()? {
        let row = row?;
        let number = numbers.of(thing(&row));
        if number == samples.len() {
            samples.push(Sample { t_ns: row.t_ns(), ..Sample::default() });
        }
        let now = activity(&row);
        let was = before.insert(thing(&row).to_string(), now);
        // The sum of all CPUs is none of them.
        if let (Some(was), Some(sample)) = (was, samples.last_mut()) {
            let grown = (now - was).max(0);
            sample.all = sample.all.saturating_add(grown);
            if thing(&row) != "all" {
                sample.most = sample.most.max(grown);
            }
        }
    }
    let kept = kept(&samples, step_ns);
    let mut numbers = Samples::default();
    let mut rows: Vec<R> = Vec::new();
    for row in reader.rows::<R>()? {
        let row = row?;
        if kept.contains(&numbers.of(thing(&row))) {
            rows.push(row);
        }
        put(writer, &mut rows, BATCH)?;
    }
    put(writer, &mut rows, 1)
}

/// Things that have a row only when they did something (processes, interrupts): the last row of each in a stretch of time, as
/// of the stretch's end. There was none after it because nothing was done any more, so its counters still hold then.
fn sparse<R: Timed + Clone, K: Ord>(
    reader: &Reader,
    writer: &mut Writer,
    step_ns: i64,
    key: fn(&R) -> K,
    at: fn(R, &R) -> R,
) -> Result<(), RecordingError> {
    let mut window = 0;
    let (mut first_ns, mut newest): (Option<i64>, Option<R>) = (None, None);
    let mut last: BTreeMap<K, R> = BTreeMap::new();
    let mut rows: Vec<R> = Vec::new();
    for row in reader.rows::<R>()? {
        let row = row?;
        let begun_ns = *first_ns.get_or_insert(row.t_ns());
        // The first sample stands for itself: it has everything.
        let of_row = if row.t_ns() == begun_ns { -1 } else { (row.t_ns() - begun_ns).div_euclid(step_ns.max(1)) };
        if of_row != window
            && let Some(end) = &newest
        {
            rows.extend(std::mem::take(&mut last).into_values().map(|row| at(row, end)));
            put(writer, &mut rows, BATCH)?;
        }
        window = of_row;
        last.insert(key(&row), row.clone());
        newest = Some(row);
    }
    if let Some(end) = &newest {
        rows.extend(last.into_values().map(|row| at(row, end)));
    }
    put(writer, &mut rows, 1)
}

/// Writes what has come together, when it is so many.
fn put<R: Row>(writer: &mut Writer, rows: &mut Vec<R>, least: usize) -> Result<(), RecordingError> {
    if rows.len() >= least {
        writer.accept(&RowBatch::from_rows(rows)?)?;
        writer.commit()?;
        rows.clear();
    }
    Ok(())
}
