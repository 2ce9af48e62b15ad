//! Figures of a machine, interval by interval: what `iostat`, `nicstat`, `mpstat` and `vmstat` print, from recorded
//! counters. Works on a live stream of batches and on those of a recording alike.
//!
//! A rate needs two samples; the first commit therefore yields nothing, or the mean since boot when that was asked for.
//! A counter that runs backwards (a device was replaced, a driver reset it) gives no figure rather than a wrong one.

mod cgroup;
mod clocks;
mod cpu;
mod disk;
mod from_recording;
mod fs;
mod irq;
mod listen;
mod machine;
mod net;
mod pool;
mod process;
mod protocols;
mod responses;
pub mod seen_keys;

pub use from_recording::feed_recording;
pub use listen::drops_since;
pub use net::{LinkDuplex, SpeedOverride};

use crate::counter::CounterStep;
use quantity::figures::DecimalPlaces;
use recording::rows::{self, Disk};
use recording::{RecordingError, Row, RowBatch};
use std::collections::HashMap;

/// One column of a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct StatColumn {
    /// Name for programs, with its unit.
    pub key: &'static str,
    /// Heading for people.
    pub title: &'static str,
    /// How many digits it is worth.
    pub digits: FigureDigits,
    /// What it means, and its formula.
    pub help: &'static str,
}

/// One column of words.
#[derive(Debug, PartialEq)]
pub struct TextColumn {
    /// Name for programs.
    pub key: &'static str,
    /// Heading for people.
    pub title: &'static str,
    /// What it says.
    pub help: &'static str,
}

/// How a figure is rounded for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureDigits {
    /// Below 100 two decimals, below 100,000 one, else none.
    Scaled,
    /// Below 10 two decimals, below 100 one, else none.
    Percent,
    /// A fixed number of decimals.
    Fixed(usize),
}

impl FigureDigits {
    /// The figure as text; `?` when it is not known.
    #[must_use]
    pub fn format(self, value: Option<f64>) -> String {
        let Some(value) = value else { return "?".to_string() };
        match self {
            Self::Fixed(decimals) => format!("{value:.decimals$}"),
            Self::Scaled => DecimalPlaces(&[(100.0, 2), (100_000.0, 1)]).format(value),
            Self::Percent => DecimalPlaces(&[(10.0, 2), (100.0, 1)]).format(value),
        }
    }
}

/// One thing's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct StatRow {
    /// Interface, device, CPU, resource.
    pub name: String,
    /// One per column; `None` is not known.
    pub values: Vec<Option<f64>>,
    /// One per column of words; none where the subject has none.
    pub texts: Vec<Option<String>>,
}

/// All things of one subject in one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct StatBlock {
    /// Which subject.
    pub subject: CounterSubject,
    /// End of the interval, `CLOCK_MONOTONIC`.
    pub t_ns: i64,
    /// Length of the interval.
    pub seconds: f64,
    /// The mean since boot, not an interval.
    pub since_boot: bool,
    /// In the order of the sources.
    pub rows: Vec<StatRow>,
}

impl StatBlock {
    /// A figure by its column's key.
    #[must_use]
    pub fn value(&self, row: &StatRow, key: &str) -> Option<f64> {
        let at = self.subject.columns().iter().position(|column| column.key == key)?;
        row.values.get(at).copied().flatten()
    }
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterSubject {
    /// CPUs.
    Cpu,
    /// Run queue, switches, interrupts.
    System,
    /// Memory and paging.
    Memory,
    /// Pressure stall information.
    Pressure,
    /// Block devices.
    Disk,
    /// Block devices with percentiles of their response times.
    DiskPercentiles,
    /// Network interfaces.
    Net,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Processes.
    Process,
    /// CPUs by tick and by event.
    CpuClock,
    /// Processes by tick and by event.
    ProcessClock,
    /// Control groups.
    Cgroup,
    /// Interrupts by vector.
    Irq,
    /// Interrupts by vector and CPU.
    IrqCpu,
    /// Pools of ZFS.
    Pool,
    /// Mounted file systems.
    Fs,
    /// TCP sockets that listen.
    Listen,
}

impl CounterSubject {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Cpu,
        Self::System,
        Self::Memory,
        Self::Pressure,
        Self::Disk,
        Self::DiskPercentiles,
        Self::Net,
        Self::Tcp,
        Self::Udp,
        Self::Process,
        Self::CpuClock,
        Self::ProcessClock,
        Self::Cgroup,
        Self::Irq,
        Self::IrqCpu,
        Self::Pool,
        Self::Fs,
        Self::Listen,
    ];

    /// Its name on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::System => "system",
            Self::Memory => "mem",
            Self::Pressure => "pressure",
            Self::Disk => "disk",
            Self::DiskPercentiles => "disk_percentiles",
            Self::Net => "net",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Process => "proc",
            Self::CpuClock => "cpu_clock",
            Self::ProcessClock => "proc_clock",
            Self::Cgroup => "cgroup",
            Self::Irq => "irq",
            Self::IrqCpu => "irq_cpu",
            Self::Pool => "pool",
            Self::Fs => "fs",
            Self::Listen => "listen",
        }
    }

    /// The table without which there are no figures.
    #[must_use]
    pub fn table(self) -> &'static str {
        match self {
            Self::Cpu => rows::Cpu::NAME,
            Self::System => rows::System::NAME,
            Self::Memory => rows::Memory::NAME,
            Self::Pressure => rows::Pressure::NAME,
            Self::Disk | Self::DiskPercentiles => Disk::NAME,
            Self::Net => rows::Net::NAME,
            Self::Tcp => rows::Tcp::NAME,
            Self::Udp => rows::Udp::NAME,
            Self::Process => rows::Process::NAME,
            Self::CpuClock => rows::CpuEvent::NAME,
            Self::ProcessClock => rows::ProcessEvent::NAME,
            Self::Cgroup => rows::Cgroup::NAME,
            Self::Irq | Self::IrqCpu => rows::Interrupt::NAME,
            Self::Pool => rows::ZfsPool::NAME,
            Self::Fs => rows::FileSystem::NAME,
            Self::Listen => rows::Listener::NAME,
        }
    }

    /// What a row is.
    #[must_use]
    pub fn row_title(self) -> &'static str {
        match self {
            Self::Cpu | Self::CpuClock => "CPU",
            Self::System | Self::Memory => "",
            Self::Pressure => "resource",
            Self::Disk | Self::DiskPercentiles => "device",
            Self::Net => "Int",
            Self::Tcp | Self::Udp => "",
            Self::Process | Self::ProcessClock => "process",
            Self::Cgroup => "group",
            Self::Irq | Self::IrqCpu => "vector",
            Self::Pool => "pool",
            Self::Fs => "mount",
            Self::Listen => "address",
        }
    }

    /// Its columns, in order.
    #[must_use]
    pub fn columns(self) -> &'static [StatColumn] {
        match self {
            Self::Cpu => cpu::COLUMNS,
            Self::System => machine::SYSTEM,
            Self::Memory => machine::MEMORY,
            Self::Pressure => machine::PRESSURE,
            Self::Disk => disk::COLUMNS,
            Self::DiskPercentiles => &responses::COLUMNS,
            Self::Net => net::COLUMNS,
            Self::Tcp => protocols::TCP,
            Self::Udp => protocols::UDP,
            Self::Process => process::COLUMNS,
            Self::CpuClock => clocks::CPU,
            Self::ProcessClock => clocks::PROCESS,
            Self::Cgroup => cgroup::COLUMNS,
            Self::Irq => irq::VECTORS,
            Self::IrqCpu => irq::CPUS,
            Self::Pool => pool::COLUMNS,
            Self::Fs => fs::COLUMNS,
            Self::Listen => listen::COLUMNS,
        }
    }

    /// Its columns of words, which stand behind the figures.
    #[must_use]
    pub fn texts(self) -> &'static [TextColumn] {
        match self {
            Self::Irq | Self::IrqCpu => irq::TEXTS,
            Self::Pool => pool::TEXTS,
            Self::Fs => fs::TEXTS,
            Self::Listen => listen::TEXTS,
            _ => &[],
        }
    }
}

/// All columns of all subjects as a page of the documentation.
#[must_use]
pub fn columns_markdown() -> String {
    let mut page = String::from(
        "# Columns of `iodyno stat`\n\nGenerated from the sources (`make docs`). The first name is that of the table, the key that of\n`--json` and `--csv`.\n",
    );
    for subject in CounterSubject::ALL {
        page.push_str(&format!("\n## {}\n\n| column | key | meaning |\n| --- | --- | --- |\n", subject.name()));
        for column in subject.columns() {
            page.push_str(&format!("| {} | `{}` | {} |\n", column.title, column.key, column.help));
        }
        for column in subject.texts() {
            page.push_str(&format!("| {} | `{}` | {} |\n", column.title, column.key, column.help));
        }
    }
    page
}

/// How a source's rows become figures.
trait Figures<R> {
    /// Names the thing a row is of.
    fn key(&self, row: &R) -> String;

    /// Sees every batch, for what other tables have to say.
    fn observe(&mut self, _batch: &RowBatch) -> Result<(), RecordingError> {
        Ok(())
    }

    /// Figures of an interval, one per column. `before` is `None` for the mean since boot.
    fn values(&self, step: &CounterStep<'_, R>) -> Vec<Option<f64>>;
}

/// `part` of `whole` in per cent; nothing of nothing is 0.
fn percent(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    ratio(part, whole).map(|ratio| ratio * 100.0)
}

/// `part ÷ whole`; nothing of nothing is 0.
fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let (part, whole) = (part?, whole?);
    if whole > 0.0 {
        Some(part / whole)
    } else if part > 0.0 {
        None
    } else {
        Some(0.0)
    }
}

/// The samples of one table.
struct Samples<R, F> {
    subject: CounterSubject,
    figures: F,
    before: HashMap<String, R>,
    now: Vec<R>,
    since_boot: bool,
}

/// Of any table.
trait Stream {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError>;
    fn commit(&mut self) -> Option<StatBlock>;
}

/// When a row was read.
trait Timed {
    fn t_ns(&self) -> i64;
}

impl<R: Row + Timed, F: Figures<R>> Stream for Samples<R, F> {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.figures.observe(batch)?;
        self.now.extend(batch.to_rows::<R>()?);
        Ok(())
    }

    fn commit(&mut self) -> Option<StatBlock> {
        let t_ns = self.now.iter().map(Timed::t_ns).max()?;
        let is_first = self.before.is_empty();
        let mut block = StatBlock { subject: self.subject, t_ns, seconds: 0.0, since_boot: is_first, rows: Vec::new() };
        let mut fresh: HashMap<String, R> = HashMap::with_capacity(self.now.len());
        for row in self.now.drain(..) {
            let key = self.figures.key(&row);
            // What is new has its row of the sample before in the same commit.
            let before = self.before.get(&key).or_else(|| fresh.get(&key));
            // The monotonic clock began at boot, and so did the counters.
            let since_ns = before.map_or(0, Timed::t_ns);
            // A thing that came in between has no interval yet.
            if before.is_some() || (is_first && self.since_boot) {
                let step = CounterStep { before, now: &row, seconds: (row.t_ns() - since_ns) as f64 / 1e9 };
                block.seconds = block.seconds.max(step.seconds);
                block.rows.push(StatRow { name: key.clone(), values: self.figures.values(&step), texts: Vec::new() });
            }
            fresh.insert(key, row);
        }
        self.before = fresh;
        (!block.rows.is_empty()).then_some(block)
    }
}

/// Makes figures of counters.
pub struct StatFold {
    streams: Vec<Box<dyn Stream>>,
    /// When samples were taken and how long their slowest subject took to read, ns: the newest, and the one before.
    read: [Option<(i64, i64)>; 2],
}

impl std::fmt::Debug for StatFold {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StatFold").field("streams", &self.streams.len()).finish()
    }
}

/// How figures are made.
#[derive(Clone, Debug, Default)]
pub struct StatOptions {
    /// The first block is the mean since boot.
    pub since_boot: bool,
    /// Speeds of links that the kernel does not know, or knows wrongly.
    pub speeds: Vec<SpeedOverride>,
    /// What comes is not the beginning of a recording: a process that is first met may have had a life before.
    pub joins: bool,
}

impl StatFold {
    /// For some subjects; blocks come in this order.
    #[must_use]
    pub fn new(subjects: &[CounterSubject], options: &StatOptions) -> Self {
        fn stream<R: Row + Timed + 'static, F: Figures<R> + 'static>(
            subject: CounterSubject,
            figures: F,
            since_boot: bool,
        ) -> Box<dyn Stream> {
            Box::new(Samples { subject, figures, before: HashMap::new(), now: Vec::new(), since_boot })
        }
        let since_boot = options.since_boot;
        let streams = subjects
            .iter()
            .map(|subject| match subject {
                CounterSubject::Cpu => stream(*subject, cpu::Figures, since_boot),
                CounterSubject::System => stream(*subject, machine::System, since_boot),
                CounterSubject::Memory => stream(*subject, machine::Memory, since_boot),
                CounterSubject::Pressure => stream(*subject, machine::Pressure, since_boot),
                CounterSubject::Disk => stream(*subject, disk::Figures, since_boot),
                CounterSubject::DiskPercentiles => Box::new(responses::Disks::new(since_boot)),
                CounterSubject::Net => stream(*subject, net::Figures::new(&options.speeds), since_boot),
                CounterSubject::Tcp => stream(*subject, protocols::Tcp, since_boot),
                CounterSubject::Udp => stream(*subject, protocols::Udp, since_boot),
                CounterSubject::Process => Box::new(process::Processes::new(since_boot, options.joins)),
                CounterSubject::CpuClock => Box::new(clocks::Cpus::default()),
                CounterSubject::ProcessClock => Box::new(clocks::Processes::new(options.joins)),
                CounterSubject::Cgroup => Box::new(cgroup::Groups::new(since_boot, options.joins)),
                CounterSubject::Irq => Box::new(irq::Vectors::new(false, since_boot, options.joins)),
                CounterSubject::IrqCpu => Box::new(irq::Vectors::new(true, since_boot, options.joins)),
                CounterSubject::Pool => Box::new(pool::Pools::new(since_boot)),
                CounterSubject::Fs => Box::new(fs::FileSystems::new(since_boot)),
                CounterSubject::Listen => Box::new(listen::Listeners::new(since_boot, options.joins)),
            })
            .collect();
        Self { streams, read: [None; 2] }
    }

    /// Takes in a batch of any table.
    ///
    /// # Errors
    /// A column is of another type than the catalogue says.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        for row in batch.to_rows::<recording::rows::Sample>()? {
            self.read = [Some((row.t_ns, row.slowest_ns)), self.read[0]];
        }
        self.streams.iter_mut().try_for_each(|stream| stream.accept(batch))
    }

    /// How far the rates of the last interval may be off at most, per cent of themselves: the time of each counter is
    /// known only to the time that reading its subject took. `None` where the table `sample` does not have that time.
    #[must_use]
    pub fn rate_error_percent(&self) -> Option<f64> {
        let [Some((now_ns, window_ns)), Some((before_ns, window_before_ns))] = self.read else { return None };
        let interval_ns = now_ns - before_ns;
        (interval_ns > 0).then(|| 100.0 * window_ns.max(window_before_ns) as f64 / interval_ns as f64)
    }

    /// The sample is complete: figures of the interval since the one before.
    pub fn commit(&mut self) -> Vec<StatBlock> {
        self.streams.iter_mut().filter_map(|stream| stream.commit()).collect()
    }
}

macro_rules! timed {
    ($($row:ty),*) => { $( impl Timed for $row { fn t_ns(&self) -> i64 { self.t_ns } } )* };
}
timed!(
    recording::rows::Cpu,
    recording::rows::System,
    recording::rows::Memory,
    recording::rows::Pressure,
    recording::rows::Disk,
    recording::rows::Net,
    recording::rows::Tcp,
    recording::rows::Udp
);

/// Declares columns.
macro_rules! columns {
    ($( $key:literal $title:literal $digits:expr, $help:literal; )*) => {
        &[$( $crate::stat::StatColumn { key: $key, title: $title, digits: $digits, help: $help } ),*]
    };
}
use columns;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod unknown_tests;
