//! The page of `iodyno top`: a machine at one moment and the minute before, from a recording, live or old.
//!
//! [`PageFold`] takes samples and makes a [`PageInterval`] of each; a [`PageScene`] is some moments in a row with the findings of
//! their time, and gives everything that the page shows as plain values. What was not measured is `None`, shown as `?`.

mod clock;
mod compare;
mod cpu;
mod details;
mod files;
mod fold;
mod grid;
mod heat;
mod interval;
mod maps;
mod network;
mod operations;
mod requests;
mod resources;
mod samples;
mod stacks;
mod strip;
mod strip_cells;
mod strip_heat;
mod strip_trace;
#[cfg(test)]
mod unknown_tests;

pub use compare::{WindowChange, compare, compared};
pub use fold::{EndedTasks, HandlerTime, InterruptRate, InterruptVictim, NicRate, PageFold, PageInterval};
pub use grid::{DrillTarget, Grid, GridRow, PageSheet};
pub use heat::{HeatColumn, HeatMap};
pub use interval::{BANDS, IoAggregator, TRACED_EVERY_NS};
pub use maps::{DiskMap, MapOf};
pub use requests::{ServerFacts, WatchedRequests};
pub use resources::{Resource, ResourceLevel, ResourceRow};
pub use samples::{by_second, sample_times, samples};
pub use strip::TimeStrip;
pub use strip_cells::StripLine;
pub use strip_heat::{StripHeat, StripMap};

use findings::{Finding, FindingSeverity};
use quantity::figures::short;
use rates::Availability;
use recording::rows;

/// Tables that the page reads.
pub const TABLES: [&str; 25] = [
    rows::Cpu::NAME,
    rows::CpuEvent::NAME,
    rows::RunQueue::NAME,
    rows::System::NAME,
    rows::Memory::NAME,
    rows::Pressure::NAME,
    rows::Disk::NAME,
    rows::Net::NAME,
    rows::Tcp::NAME,
    rows::Udp::NAME,
    rows::Process::NAME,
    rows::ProcessEvent::NAME,
    rows::Stolen::NAME,
    rows::NicCounter::NAME,
    rows::Exited::NAME,
    rows::Interrupt::NAME,
    rows::IrqTime::NAME,
    rows::Event::NAME,
    rows::IoInterval::NAME,
    rows::IoError::NAME,
    rows::IoPlace::NAME,
    rows::FileInterval::NAME,
    rows::Listener::NAME,
    rows::Profile::NAME,
    rows::RequestInterval::NAME,
];

/// So long a time the small curves show.
pub const SPARK_NS: i64 = 60_000_000_000;

/// What the page knows of the machine besides its counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineFacts {
    /// Name of the host.
    pub host: String,
    /// Release of its kernel.
    pub kernel: String,
    /// Its CPUs.
    pub cpus: Option<u64>,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// What it lets be measured.
    pub verdicts: Availability,
}

impl MachineFacts {
    /// From a manifest's words.
    #[must_use]
    pub fn of(manifest: &recording::Manifest) -> Self {
        let hardware = &manifest.hardware;
        let kernel = manifest.kernel.split_whitespace().next().unwrap_or("?").to_string();
        Self {
            host: manifest.host.clone(),
            kernel,
            cpus: hardware["cpu"]["online"].as_u64(),
            memory_bytes: hardware["memory_bytes"].as_u64(),
            verdicts: Availability::of(manifest),
        }
    }
}

/// Moments in a row, the last of them the one that is shown, with the findings of their time.
#[derive(Clone, Copy, Debug)]
pub struct PageScene<'a> {
    /// In the order of time.
    pub moments: &'a [PageInterval],
    /// All that are known.
    pub findings: &'a [Finding],
    /// Why there is no distribution of response times, when there is none.
    pub no_blocks: Option<&'a str>,
    /// Why nothing is known of files, when nothing is.
    pub no_files: Option<&'a str>,
    /// Why it is not known what programs are at, when it is not.
    pub no_stacks: Option<&'a str>,
    /// Servers, for the page of requests.
    pub servers: ServerFacts<'a>,
    /// Why there are no figures of a subject, when there are none.
    pub verdicts: &'a Availability,
}

#[cfg(test)]
impl<'a> PageScene<'a> {
    /// These moments, and nothing that is missing or known besides.
    fn of(moments: &'a [PageInterval], verdicts: &'a Availability) -> Self {
        let (no_blocks, no_files, no_stacks) = (None, None, None);
        Self { moments, findings: &[], no_blocks, no_files, no_stacks, servers: ServerFacts::default(), verdicts }
    }
}

impl<'a> PageScene<'a> {
    /// The moment that is shown.
    #[must_use]
    pub fn now(&self) -> Option<&'a PageInterval> {
        self.moments.last()
    }

    /// Findings that are open at the moment shown, worst first: trouble before notes, certain before likely, older first.
    /// Those that another one explains are left out.
    #[must_use]
    pub fn open_findings(&self) -> Vec<&'a Finding> {
        let Some(now) = self.now() else { return Vec::new() };
        let mut open: Vec<&Finding> = self.findings.iter().filter(|finding| is_open(finding, now.t_ns)).collect();
        open.retain(|finding| finding.explained_by.is_none());
        open.sort_by_key(|finding| {
            (std::cmp::Reverse(finding.severity), std::cmp::Reverse(finding.confidence), finding.start_ns)
        });
        open
    }

    /// Findings that closed within so long before the moment shown.
    #[must_use]
    pub fn closed_within(&self, ns: i64) -> usize {
        let Some(now) = self.now() else { return 0 };
        let lately = |end_ns: i64| end_ns < now.t_ns && now.t_ns - end_ns <= ns;
        self.findings
            .iter()
            .filter(|one| one.severity == FindingSeverity::Finding && one.end_ns.is_some_and(lately))
            .count()
    }

    /// The moments of the last minute.
    #[must_use]
    pub fn last_minute(&self) -> &'a [PageInterval] {
        let Some(now) = self.now() else { return &[] };
        let first = self.moments.partition_point(|moment| moment.t_ns <= now.t_ns - SPARK_NS);
        self.moments.get(first..).unwrap_or_default()
    }

    /// The mean of a figure over the last ten seconds.
    fn mean_10s(&self, of: impl Fn(&PageInterval) -> Option<f64>) -> Option<f64> {
        let now = self.now()?;
        let recent = self.moments.iter().filter(|moment| now.t_ns - moment.t_ns < 10_000_000_000);
        let values: Vec<f64> = recent.filter_map(of).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// Did it hold at this time?
pub(crate) fn is_open(finding: &Finding, t_ns: i64) -> bool {
    finding.start_ns <= t_ns && finding.end_ns.is_none_or(|end_ns| t_ns <= end_ns)
}

/// A number in a narrow column, `?` when it is not known.
#[must_use]
pub fn short_or(value: Option<f64>) -> String {
    value.map_or_else(|| "?".to_string(), short)
}

/// The same of what is counted: `4`, and not `4.0`.
pub(crate) fn count_or(value: Option<f64>) -> String {
    match value {
        Some(value) if value.abs() < 9.95 && (value - value.round()).abs() < 0.05 => format!("{value:.0}"),
        value => short_or(value),
    }
}

/// With its sign: `+31M`, `-4.2k`.
pub(crate) fn signed_short(value: f64) -> String {
    let text = short(value);
    if value > 0.0 && text != "0" { format!("+{text}") } else { text }
}
