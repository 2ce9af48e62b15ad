//! From recordings to a level a day.

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, Int64Array, RecordBatch};
use rates::counter::{delta, ratio};
use rates::cpu_time::{CpuColumns, CpuCounters, CpuDelta};
use rates::disk::{DiskColumns, DiskCounters, DiskDelta};
use rates::memory::remainder;
use rates::{BatchColumns, is_loopback};
use recording::{Reader, rows, thinned_to_ns};
use std::collections::{BTreeMap, HashMap};
use view::{NamePattern, TableReadError, Unit};

/// A step is one value; what passes in between evens out. Old recordings are thinned to so much by default, and to be
/// compared with them the new ones are looked at as coarsely.
const STEP_NS: i64 = 300_000_000_000;
/// So many steps without a sample are a gap.
const GAP_STEPS: i64 = 3;
const DAY_NS: i64 = 86_400_000_000_000;
/// The level of a day: so much of its steps is at or below.
const QUANTILE: f64 = 0.95;

/// Figures whose growth can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrendFigure {
    /// All CPUs.
    Cpu,
    /// Memory that is not available.
    Memory,
    /// Bytes that a device moves.
    DiskThroughput,
    /// Requests that it completes.
    DiskRate,
    /// Part of the time with a request in flight.
    DiskBusy,
    /// Bytes of an interface in its busier direction.
    NetThroughput,
}

impl TrendFigure {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Cpu, Self::Memory, Self::DiskThroughput, Self::DiskRate, Self::DiskBusy, Self::NetThroughput];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu.busy",
            Self::Memory => "memory.used",
            Self::DiskThroughput => "disk.throughput",
            Self::DiskRate => "disk.rate",
            Self::DiskBusy => "disk.busy",
            Self::NetThroughput => "net.throughput",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.name() == name)
    }

    /// Its unit.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Cpu | Self::DiskBusy => Unit::Percent,
            Self::Memory => Unit::Bytes,
            Self::DiskThroughput | Self::NetThroughput => Unit::BytesPerSecond,
            Self::DiskRate => Unit::OpsPerSecond,
        }
    }

    fn table(self) -> &'static str {
        match self {
            Self::Cpu => rows::Cpu::NAME,
            Self::Memory => rows::Memory::NAME,
            Self::DiskThroughput | Self::DiskRate | Self::DiskBusy => rows::Disk::NAME,
            Self::NetThroughput => rows::Net::NAME,
        }
    }

    fn thing(self) -> Option<&'static str> {
        match self {
            Self::Cpu => Some("cpu"),
            Self::Memory => None,
            Self::DiskThroughput | Self::DiskRate | Self::DiskBusy => Some("device"),
            Self::NetThroughput => Some("interface"),
        }
    }

    /// Counters that are summed; of an interface, of which the one that grew more counts.
    fn counters(self) -> &'static [&'static str] {
        match self {
            Self::Cpu => &CpuColumns::TIMES,
            Self::Memory => &["total_bytes", "available_bytes"],
            Self::DiskThroughput => &DiskColumns::BYTES,
            Self::DiskRate => &DiskColumns::OPS,
            Self::DiskBusy => &["io_ticks_ms"],
            Self::NetThroughput => &["rx_bytes", "tx_bytes"],
        }
    }

    /// Further columns.
    fn others(self) -> &'static [&'static str] {
        match self {
            Self::NetThroughput => &["speed_bits_per_s"],
            _ => &[],
        }
    }

    /// What is known from one sample to the next; `None` where a counter was reset, wrapped or is missing.
    fn growth(self, was: &Sample, now: &Sample) -> Option<Growth> {
        let of = |amount: f64| Growth { amounts: [amount, 0.0], ..Growth::default() };
        match (was, now) {
            (Sample::Disk(was), Sample::Disk(now)) => {
                let delta = DiskDelta::between(now, was)?;
                match self {
                    Self::DiskThroughput => delta.bytes(),
                    Self::DiskRate => delta.ops(),
                    // Busy time, ms.
                    _ => delta.busy_percent().map(|percent| percent * delta.seconds * 10.0),
                }
                .map(of)
            }
            (Sample::Cpu(was), Sample::Cpu(now)) => {
                let delta = CpuDelta::over(now, Some(was));
                let whole = delta.whole();
                (whole > 0.0).then(|| Growth { cpu_ns: whole, ..of(delta.busy()) })
            }
            (Sample::Others { counters: was, .. }, Sample::Others { counters: now, .. }) => {
                match (&now[..], &was[..]) {
                    (&[total, available], _) if self == Self::Memory => {
                        remainder(total, available).map(|bytes| of(bytes as f64))
                    }
                    (&[rx, tx], &[rx_was, tx_was]) => {
                        Some(Growth { amounts: [delta(rx, rx_was)?, delta(tx, tx_was)?], ..Growth::default() })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Is it one of a disk?
    fn is_of_disk(self) -> bool {
        self.table() == rows::Disk::NAME
    }
}

/// Counters of a thing at one time.
#[derive(Clone, Debug, PartialEq)]
enum Sample {
    Disk(Box<DiskCounters>),
    Cpu(CpuCounters),
    Others { t_ns: i64, counters: Vec<i64> },
}

impl Sample {
    fn t_ns(&self) -> i64 {
        match self {
            Self::Disk(counters) => counters.t_ns,
            Self::Cpu(counters) => counters.t_ns,
            Self::Others { t_ns, .. } => *t_ns,
        }
    }
}

/// What is known of a step: the growth between its samples, and of how much time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Growth {
    /// What the figure counts; of an interface in each direction, else the second is 0. Of memory the bytes at the last sample.
    amounts: [f64; 2],
    /// CPU time that was counted, ns.
    cpu_ns: f64,
    /// The time from sample to sample together, ns.
    length_ns: i64,
}

impl Growth {
    /// Adds what is known from one sample to the next. What is not known leaves its time out, and so does a gap.
    fn add(&mut self, figure: TrendFigure, was: &Sample, now: &Sample, step_ns: i64) {
        let length_ns = now.t_ns() - was.t_ns();
        if length_ns <= 0 || length_ns > GAP_STEPS * step_ns {
            return;
        }
        let Some(more) = figure.growth(was, now) else { return };
        if figure == TrendFigure::Memory {
            self.amounts = more.amounts;
        } else {
            self.amounts = [self.amounts[0] + more.amounts[0], self.amounts[1] + more.amounts[1]];
        }
        self.cpu_ns += more.cpu_ns;
        self.length_ns += length_ns;
    }

    fn seconds(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }

    /// The figure in the known time.
    fn value(&self, figure: TrendFigure) -> Option<f64> {
        let [amount, other] = self.amounts;
        match figure {
            TrendFigure::Cpu => ratio(100.0 * amount, self.cpu_ns),
            TrendFigure::Memory => Some(amount),
            TrendFigure::DiskBusy => ratio(amount / 10.0, self.seconds()).map(|percent| percent.min(100.0)),
            TrendFigure::DiskThroughput | TrendFigure::DiskRate => ratio(amount, self.seconds()),
            TrendFigure::NetThroughput => ratio(amount.max(other), self.seconds()),
        }
    }
}

/// A level a day.
#[derive(Clone, Debug, PartialEq)]
pub struct DailyLevels {
    /// Of what.
    pub figure: TrendFigure,
    /// Device or interface; empty for the machine.
    pub thing: String,
    /// First day, UTC, ns since 1970.
    pub first_wall_ns: i64,
    /// Days since the first, and their levels.
    pub levels: Vec<(f64, f64)>,
    /// Days of which far less was recorded than of others.
    pub left_out: usize,
    /// Length of a step, of whose values a level is the 95th percentile.
    pub step_ns: i64,
    /// What the recordings say is the limit.
    pub limit: Option<f64>,
    /// Why.
    pub limit_from: &'static str,
}

/// One thing under way.
#[derive(Default)]
struct Thing {
    /// When its rows began in this recording: steps are counted from there, as those of thinned recordings are.
    begun_ns: Option<i64>,
    /// When the last sample of the step before was taken.
    before_ns: Option<i64>,
    /// The last sample yet, and its step.
    newest: Option<(i64, Sample)>,
    /// What is known of this step.
    known: Growth,
    /// Values and lengths (s) of steps by day.
    days: BTreeMap<i64, Vec<(f64, f64)>>,
    limit: Option<f64>,
}

impl Thing {
    /// Takes the next sample in.
    fn sample(&mut self, figure: TrendFigure, reader: &Reader, step_ns: i64, now: Sample) {
        let now_ns = now.t_ns();
        let begun_ns = *self.begun_ns.get_or_insert(now_ns);
        let step = if now_ns == begun_ns { -1 } else { (now_ns - begun_ns).div_euclid(step_ns) };
        if self.newest.as_ref().is_some_and(|newest| newest.0 != step) {
            self.end_step(figure, reader, step_ns);
        }
        if let Some((_, was)) = &self.newest {
            self.known.add(figure, was, &now, step_ns);
        }
        self.newest = Some((step, now));
    }

    /// The step ended with the newest sample.
    fn end_step(&mut self, figure: TrendFigure, reader: &Reader, step_ns: i64) {
        let Some((_, newest)) = &self.newest else { return };
        let now_ns = newest.t_ns();
        let known = std::mem::take(&mut self.known);
        let Some(before_ns) = self.before_ns.replace(now_ns) else { return };
        // Less than a tenth of a step would be chance.
        let is_enough = known.length_ns > 0 && known.length_ns.saturating_mul(10) >= step_ns.min(now_ns - before_ns);
        if let Some(value) = known.value(figure).filter(|_| is_enough) {
            let day = reader.manifest().wall_ns_at(now_ns - known.length_ns / 2).div_euclid(DAY_NS);
            self.days.entry(day).or_default().push((value, known.seconds()));
        }
    }

    /// The recording ended: counters of another one may be of another boot.
    fn end(&mut self, figure: TrendFigure, reader: &Reader, step_ns: i64) {
        // The rest of a step is a value when it is most of one.
        let is_whole = |((_, new), was_ns): (&(i64, Sample), i64)| new.t_ns() - was_ns >= step_ns / 2;
        if self.newest.as_ref().zip(self.before_ns).is_some_and(is_whole) {
            self.end_step(figure, reader, step_ns);
        }
        (self.begun_ns, self.before_ns, self.newest, self.known) = (None, None, None, Growth::default());
    }
}

/// The recordings of one machine: two that have a device of one name would be one that did what both did. What was imported
/// without a name may be of any.
fn of_one_host<'a>(readers: &'a [Reader], host: Option<&str>) -> Result<Vec<&'a Reader>, TableReadError> {
    const UNKNOWN: &str = "imported";
    let mut hosts: Vec<&str> = readers.iter().map(|reader| reader.manifest().host.as_str()).collect();
    hosts.retain(|host| *host != UNKNOWN);
    hosts.sort_unstable();
    hosts.dedup();
    let known = || hosts.iter().take(6).copied().collect::<Vec<&str>>().join(", ");
    match host {
        None if hosts.len() > 1 => Err(TableReadError::Hosts { count: hosts.len(), known: known() }),
        None => Ok(readers.iter().collect()),
        Some(wanted) => {
            let of: Vec<&Reader> = readers.iter().filter(|reader| reader.manifest().host == wanted).collect();
            let none = || TableReadError::NoHost { host: wanted.to_string(), known: known() };
            if of.is_empty() { Err(none()) } else { Ok(of) }
        }
    }
}

impl DailyLevels {
    /// From recordings of one machine (`host`, else the only one that they are of), in any order. The device or interface with the highest levels, of those with
    /// such a name where names are given.
    ///
    /// # Errors
    /// A recording that cannot be read; they are of several machines; there is no such thing, or it did nothing.
    pub fn read(
        readers: &[Reader],
        figure: TrendFigure,
        select: Option<&NamePattern>,
        host: Option<&str>,
    ) -> Result<Self, TableReadError> {
        let readers = of_one_host(readers, host)?;
        let mut things: HashMap<String, Thing> = HashMap::new();
        let step_ns =
            readers.iter().copied().filter_map(|reader| thinned_to_ns(reader.manifest())).fold(STEP_NS, i64::max);
        for reader in readers {
            let columns: Vec<&str> = ["t_ns"]
                .into_iter()
                .chain(figure.thing())
                .chain(figure.counters().iter().chain(figure.others()).copied())
                .collect();
            for batch in reader.columns(figure.table(), &columns)? {
                take(reader, figure, step_ns, &batch?, &mut things)?;
            }
            things.values_mut().for_each(|thing| thing.end(figure, reader, step_ns));
        }
        let mut known: Vec<&str> = things.keys().map(String::as_str).collect();
        known.sort_unstable();
        let known = known.join(", ");
        let nothing = |reason: String| TableReadError::Empty { id: figure.name().to_string(), reason };
        let total = |thing: &Thing| thing.days.values().flatten().map(|(value, seconds)| value * seconds).sum::<f64>();
        let chosen = match select {
            Some(names) => {
                let known = if known.is_empty() {
                    "one figure for the machine".to_string()
                } else {
                    format!("there are {known}")
                };
                let named = things.iter().filter(|(name, _)| names.admits(name));
                let name = named.max_by(|a, b| total(a.1).total_cmp(&total(b.1)).then(b.0.cmp(a.0)));
                let name = name.map(|(name, _)| name.clone());
                let found = name.and_then(|name| things.remove_entry(&name));
                found.ok_or_else(|| nothing(format!("there is no {}; {known}", names.as_str())))?
            }
            None => {
                // What a machine sends itself loads no link.
                let links =
                    things.iter().filter(|(name, _)| figure != TrendFigure::NetThroughput || !is_loopback(name));
                let name = links.max_by(|a, b| total(a.1).total_cmp(&total(b.1)).then(b.0.cmp(a.0)));
                let name = name.map(|(name, _)| name.clone()).unwrap_or_default();
                things.remove_entry(&name).ok_or_else(|| nothing("it was not recorded".to_string()))?
            }
        };
        Self::of(figure, step_ns, chosen).ok_or_else(|| nothing("no step of it was recorded".to_string()))
    }

    fn of(figure: TrendFigure, step_ns: i64, (name, thing): (String, Thing)) -> Option<Self> {
        let seconds = |steps: &[(f64, f64)]| steps.iter().map(|step| step.1).sum::<f64>();
        let mut covered: Vec<f64> = thing.days.values().map(|steps| seconds(steps)).collect();
        covered.sort_by(f64::total_cmp);
        let usual = *covered.get(covered.len() / 2)?;
        let all = thing.days.len();
        let whole: Vec<(i64, f64)> = thing
            .days
            .into_iter()
            .filter(|(_, steps)| seconds(steps) * 2.0 >= usual)
            .filter_map(|(day, steps)| Some((day, level(steps.into_iter().map(|step| step.0).collect())?)))
            .collect();
        let first = whole.first()?.0;
        let percent = figure.unit() == Unit::Percent;
        let limit_from = match figure {
            TrendFigure::NetThroughput => "the link's speed",
            TrendFigure::Memory => "all memory",
            _ => "all there is",
        };
        Some(Self {
            figure,
            thing: if figure.thing().is_some() && figure != TrendFigure::Cpu { name } else { String::new() },
            first_wall_ns: first.saturating_mul(DAY_NS),
            left_out: all - whole.len(),
            step_ns,
            levels: whole.into_iter().map(|(day, level)| ((day - first) as f64, level)).collect(),
            limit: if percent { Some(100.0) } else { thing.limit },
            limit_from,
        })
    }
}

/// The busy level of a day.
fn level(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place among the values")]
    let at = ((count * QUANTILE).ceil() as usize).saturating_sub(1);
    values.get(at).copied()
}

/// The name column of a batch; plain text in every table that is read here.
fn name(batch: &RecordBatch, column: Option<&str>, row: usize) -> String {
    let texts = column.and_then(|column| batch.column_by_name(column)).and_then(|column| column.as_string_opt::<i32>());
    texts.map_or_else(String::new, |texts| texts.value(row).to_string())
}

fn take(
    reader: &Reader,
    figure: TrendFigure,
    step_ns: i64,
    batch: &RecordBatch,
    things: &mut HashMap<String, Thing>,
) -> Result<(), TableReadError> {
    let columns = BatchColumns { table: figure.table(), batch };
    let t_ns = columns.longs("t_ns")?;
    let long = |name: &'static str| columns.longs(name);
    let counters: Vec<&Int64Array> = figure.counters().iter().copied().map(long).collect::<Result<_, _>>()?;
    let others: Vec<&Int64Array> = figure.others().iter().copied().map(long).collect::<Result<_, _>>()?;
    let disks = figure.is_of_disk().then(|| DiskColumns::of(batch));
    let cpus = (figure == TrendFigure::Cpu).then(|| CpuColumns::of(batch));
    for row in 0..batch.num_rows() {
        let name = name(batch, figure.thing(), row);
        if figure == TrendFigure::Cpu && name != "all" {
            continue;
        }
        let at = |column: &&Int64Array| column.is_valid(row).then(|| column.value(row));
        let thing = things.entry(name).or_default();
        if let Some(disks) = &disks {
            thing.sample(figure, reader, step_ns, Sample::Disk(Box::new(disks.at(row))));
            continue;
        }
        if let Some(cpus) = &cpus {
            thing.sample(figure, reader, step_ns, Sample::Cpu(cpus.at(row)));
            continue;
        }
        // All must be known.
        let Some(now) = counters.iter().map(at).collect::<Option<Vec<i64>>>() else { continue };
        match figure {
            TrendFigure::NetThroughput => {
                let speed = others.first().and_then(at).filter(|speed| *speed > 0);
                thing.limit = speed.map(|bits| bits as f64 / 8.0).or(thing.limit);
            }
            TrendFigure::Memory => thing.limit = now.first().map(|total| *total as f64),
            _ => {}
        }
        thing.sample(figure, reader, step_ns, Sample::Others { t_ns: t_ns.value(row), counters: now });
    }
    Ok(())
}
