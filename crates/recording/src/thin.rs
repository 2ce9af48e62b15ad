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
        if let Some(thin) = counters(&name).or_else(|| last_rows(&name)) {
            thin(reader, &mut writer, step_ns)?;
            continue;
        }
        let known = crate::table(&name).ok_or_else(|| RecordingError::UnknownTable {
            name: name.clone(),
            known: "those of this version".to_string(),
        })?;
        for rows in reader.batches(&name)? {
            writer.accept(&RowBatch { table: known, rows: rows? })?;
            writer.commit()?;
        }
    }
    writer.seal_past()
}

/// Writes the rows of a table that stay.
type ThinTable = fn(&Reader, &mut Writer, i64) -> Result<(), RecordingError>;

/// How the tables are thinned that have a row of each subject in every sample: by what says how much a subject did.
fn counters(name: &str) -> Option<ThinTable> {
    Some(match name {
        Cpu::NAME => |from, to, step_ns| table::<Cpu>(from, to, step_ns, |row| row.user_ns + row.system_ns),
        Disk::NAME => |from, to, step_ns| table::<Disk>(from, to, step_ns, disk_use),
        Net::NAME => |from, to, step_ns| table::<Net>(from, to, step_ns, |row| row.rx_bytes + row.tx_bytes),
        NfsMount::NAME => {
            |from, to, step_ns| table::<NfsMount>(from, to, step_ns, |row| some(row.read_bytes) + some(row.write_bytes))
        }
        Tcp::NAME => {
            |from, to, step_ns| table::<Tcp>(from, to, step_ns, |row| some(row.in_segments) + some(row.out_segments))
        }
        Udp::NAME => {
            |from, to, step_ns| table::<Udp>(from, to, step_ns, |row| some(row.in_datagrams) + some(row.out_datagrams))
        }
        Memory::NAME => |from, to, step_ns| {
            table::<Memory>(from, to, step_ns, |row| some(row.page_in_bytes) + some(row.page_out_bytes))
        },
        Pressure::NAME => |from, to, step_ns| table::<Pressure>(from, to, step_ns, |row| some(row.some_ns)),
        System::NAME => |from, to, step_ns| table::<System>(from, to, step_ns, |row| some(row.context_switches)),
        CpuEvent::NAME => |from, to, step_ns| table::<CpuEvent>(from, to, step_ns, |row| row.run_ns),
        ZfsArc::NAME => |from, to, step_ns| table::<ZfsArc>(from, to, step_ns, |row| some(row.hits) + some(row.misses)),
        ZfsPool::NAME => |from, to, step_ns| table::<ZfsPool>(from, to, step_ns, pool_use),
        FileSystem::NAME => |from, to, step_ns| {
            table::<FileSystem>(from, to, step_ns, |row| some(row.total_bytes) - some(row.free_bytes))
        },
        RunQueue::NAME => run_queue,
        _ => return None,
    })
}

/// How the other tables of counters are thinned.
fn last_rows(name: &str) -> Option<ThinTable> {
    Some(match name {
        Cgroup::NAME => sparse::<Cgroup>,
        CgroupIo::NAME => sparse::<CgroupIo>,
        Interrupt::NAME => sparse::<Interrupt>,
        IrqTime::NAME => sparse::<IrqTime>,
        NicCounter::NAME => sparse::<NicCounter>,
        PreemptedBy::NAME => sparse::<PreemptedBy>,
        Process::NAME => sparse::<Process>,
        ProcessEvent::NAME => sparse::<ProcessEvent>,
        rows::Sample::NAME => sparse::<rows::Sample>,
        Softnet::NAME => sparse::<Softnet>,
        Stolen::NAME => sparse::<Stolen>,
        ZfsDataset::NAME => sparse::<ZfsDataset>,
        _ => return None,
    })
}

/// By how much a device is used: of two stretches the one in which it grew more is kept.
fn disk_use(row: &Disk) -> i64 {
    let by_kind = some(row.read_ios) + some(row.write_ios) + some(row.discard_ios);
    row.weighted_ticks_ms.unwrap_or(by_kind + some(row.any_ios))
}

/// By how much a pool is used.
fn pool_use(row: &ZfsPool) -> i64 {
    let bytes = [row.read_bytes, row.write_bytes, row.arc_read_bytes, row.arc_write_bytes];
    bytes.into_iter().chain([row.direct_read_bytes, row.direct_write_bytes]).map(some).sum()
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

/// A counter, or nothing.
fn some(value: Option<i64>) -> i64 {
    value.unwrap_or(0)
}

/// Rows with a time.
trait Timed: Row + Clone {
    /// When the row is of.
    fn t_ns(&self) -> i64;
    /// The row, as of the time of another.
    fn at_time_of(self, other: &Self) -> Self;
    /// Does the row count all that others count?
    fn is_sum(&self) -> bool {
        false
    }
}

macro_rules! timed {
    ($($row:ty $(where $name:ident is $sum:literal)?),*) => { $( impl Timed for $row {
        fn t_ns(&self) -> i64 {
            self.t_ns
        }

        fn at_time_of(self, other: &Self) -> Self {
            Self { t_ns: other.t_ns, t_s: other.t_s, ..self }
        }

        $( fn is_sum(&self) -> bool {
            self.$name == $sum
        } )?
    } )* };
}
timed!(Cpu where cpu is "all", Disk, Interrupt, Net, NfsMount, Tcp, Udp, Memory, Pressure, Softnet, System, Process);
timed!(FileSystem, NicCounter, rows::Sample, ZfsArc, ZfsDataset, ZfsPool);
timed!(Cgroup, CgroupIo, CpuEvent where cpu is "all", IrqTime, PreemptedBy, ProcessEvent, Stolen);

/// Tells samples apart: a new one begins when a subject comes again.
struct Samples<K> {
    number: usize,
    seen: BTreeSet<K>,
}

impl<K: Clone + Ord> Samples<K> {
    fn new() -> Self {
        Self { number: 0, seen: BTreeSet::new() }
    }

    /// Number of the sample that a row of this subject is in.
    fn of(&mut self, subject: &K) -> usize {
        if self.seen.contains(subject) {
            self.number += 1;
            self.seen.clear();
        }
        self.seen.insert(subject.clone());
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
    activity: fn(&R) -> i64,
) -> Result<(), RecordingError> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut numbers = Samples::new();
    let mut before: HashMap<R::Key, i64> = HashMap::new();
    for row in reader.rows::<R>()? {
        let row = row?;
        let key = row.key();
        let number = numbers.of(&key);
        if number == samples.len() {
            samples.push(Sample { t_ns: row.t_ns(), ..Sample::default() });
        }
        let now = activity(&row);
        let was = before.insert(key, now);
        // The sum of all CPUs is none of them.
        if let (Some(was), Some(sample)) = (was, samples.last_mut()) {
            let grown = (now - was).max(0);
            sample.all = sample.all.saturating_add(grown);
            if !row.is_sum() {
                sample.most = sample.most.max(grown);
            }
        }
    }
    let kept = kept(&samples, step_ns);
    let mut numbers = Samples::new();
    let mut rows: Vec<R> = Vec::new();
    for row in reader.rows::<R>()? {
        let row = row?;
        if kept.contains(&numbers.of(&row.key())) {
            rows.push(row);
        }
        put(writer, &mut rows, BATCH)?;
    }
    put(writer, &mut rows, 1)
}

/// Subjects that have a row only when they did something (processes, interrupts): the last row of each in a stretch of time,
/// as of the stretch's end. There was none after it because nothing was done any more, so its counters still hold then.
fn sparse<R: Timed>(reader: &Reader, writer: &mut Writer, step_ns: i64) -> Result<(), RecordingError> {
    let mut window = 0;
    let (mut first_ns, mut newest): (Option<i64>, Option<R>) = (None, None);
    let mut last: BTreeMap<R::Key, R> = BTreeMap::new();
    let mut rows: Vec<R> = Vec::new();
    for row in reader.rows::<R>()? {
        let row = row?;
        let begun_ns = *first_ns.get_or_insert(row.t_ns());
        // The first sample stands for itself: it has everything.
        let of_row = if row.t_ns() == begun_ns { -1 } else { (row.t_ns() - begun_ns).div_euclid(step_ns.max(1)) };
        if of_row != window
            && let Some(end) = &newest
        {
            rows.extend(std::mem::take(&mut last).into_values().map(|row| row.at_time_of(end)));
            put(writer, &mut rows, BATCH)?;
        }
        window = of_row;
        last.insert(row.key(), row.clone());
        newest = Some(row);
    }
    if let Some(end) = &newest {
        rows.extend(last.into_values().map(|row| row.at_time_of(end)));
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

#[cfg(test)]
mod tests {
    use super::{counters, last_rows};

    #[test]
    fn the_tables_that_the_catalogue_says_are_thinned() {
        for table in crate::catalogue() {
            let how = (counters(table.name).is_some(), last_rows(table.name).is_some());
            assert_eq!(how.0 || how.1, table.is_thinned(), "{}", table.name);
            assert!(!how.0 || !how.1 && !table.is_sparse(), "{}", table.name);
        }
    }
}
