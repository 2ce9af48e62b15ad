//! One aligned line per interval, as many columns as the terminal is wide.

use quantity::figures::DecimalPlaces;
use rates::KnownSum;
use recording::LoadPhase;
use view::Unit;
use views::{HistogramSummary, IntervalLine, RunSummary, SummaryFigure};

/// One column of the interval lines.
struct Column {
    /// Two lines of heading.
    heading: [&'static str; 2],
    width: usize,
    /// Lower ones leave first when the terminal is narrow.
    rank: u8,
    cell: fn(&IntervalLine) -> String,
}

const COLUMNS: [Column; 18] = [
    Column { heading: ["offered", "op/s"], width: 8, rank: 10, cell: |line| rate(line.offered()) },
    Column { heading: ["achieved", "op/s"], width: 8, rank: 13, cell: |line| rate(line.achieved()) },
    Column { heading: ["through", "MB/s"], width: 7, rank: 11, cell: |line| megabytes(line.bytes_per_s()) },
    Column { heading: ["read", "%"], width: 5, rank: 6, cell: |line| number(line.read_percent()) },
    Column { heading: ["resp", "mean"], width: 7, rank: 5, cell: |line| time(&line.response, SummaryFigure::Mean) },
    Column { heading: ["resp", "p50"], width: 7, rank: 12, cell: |line| time(&line.response, SummaryFigure::P50) },
    Column { heading: ["resp", "p99"], width: 7, rank: 13, cell: |line| time(&line.response, SummaryFigure::P99) },
    Column { heading: ["resp", "p99.9"], width: 7, rank: 7, cell: |line| time(&line.response, SummaryFigure::P999) },
    Column { heading: ["resp", "max"], width: 7, rank: 12, cell: |line| time(&line.response, SummaryFigure::Max) },
    Column { heading: ["service", "p99"], width: 7, rank: 6, cell: |line| time(&line.service, SummaryFigure::P99) },
    Column { heading: ["queue", "depth"], width: 6, rank: 9, cell: |line| number(line.in_flight.known()) },
    Column { heading: ["back", "log"], width: 6, rank: 8, cell: |line| count(line.backlog.known()) },
    Column { heading: ["cpu", "usr%"], width: 5, rank: 4, cell: |line| number(line.cpu.map(|cpu| cpu.user)) },
    Column {
        heading: ["cpu", "sys%"],
        width: 5,
        rank: 4,
        cell: |line| number(line.cpu.map(|cpu| cpu.system + cpu.irq)),
    },
    Column { heading: ["", "errors"], width: 6, rank: 3, cell: |line| count(line.errors.known()) },
    Column { heading: ["lag", "p99"], width: 7, rank: 2, cell: |line| time(&line.wait, SummaryFigure::P99) },
    Column { heading: ["service", "p50"], width: 7, rank: 1, cell: |line| time(&line.service, SummaryFigure::P50) },
    Column { heading: ["service", "max"], width: 7, rank: 0, cell: |line| time(&line.service, SummaryFigure::Max) },
];

/// Width of the time at the start of each line.
const TIME: usize = 9;

/// Room for a word at the end: the phase, or that something is wrong.
const REMARK: usize = 9;

/// Columns of this rank never leave.
const RANK_MAX: u8 = 13;

/// Columns that fit into `width`.
fn chosen(width: usize) -> Vec<&'static Column> {
    let mut lowest = 0;
    loop {
        let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.rank >= lowest).collect();
        let need: usize = TIME + REMARK + columns.iter().map(|column| column.width + 1).sum::<usize>();
        // The remark at the end keeps its room even where few columns are left: a line that does not count must say so.
        if need <= width || lowest >= RANK_MAX {
            return columns;
        }
        lowest += 1;
    }
}

fn rate(value: Option<f64>) -> String {
    match value {
        Some(value) if value < 99.5 => number(Some(value)),
        Some(value) if value < 9_999_999.0 => format!("{value:.0}"),
        other => Unit::OpsPerSecond.format(other).replace("op/s", ""),
    }
}

fn megabytes(value: Option<f64>) -> String {
    value.map_or_else(|| "?".to_string(), |value| DecimalPlaces::THREE.format(value / 1e6))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "?".to_string(), |value| DecimalPlaces::ONE_BELOW_100.format(value))
}

fn count(value: Option<i64>) -> String {
    let Some(value) = value else { return "?".to_string() };
    if value < 1_000_000 {
        value.to_string()
    } else {
        Unit::OpsPerSecond.format(Some(value as f64)).replace(" Mop/s", "M").replace(" Gop/s", "G")
    }
}

fn time(fold: &HistogramSummary, part: SummaryFigure) -> String {
    fold.text(part).replace(' ', "")
}

/// `12.0 s`, `1:02:03`.
fn clock(seconds: f64) -> String {
    if seconds < 600.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.floor();
    let (hours, minutes, rest) = ((whole / 3600.0).floor(), (whole % 3600.0 / 60.0).floor(), whole % 60.0);
    if hours > 0.0 { format!("{hours:.0}:{minutes:02.0}:{rest:02.0}") } else { format!("{minutes:.0}:{rest:02.0}") }
}

fn assemble(start: &str, cells: impl Iterator<Item = (usize, String)>, remark: &str) -> String {
    let mut line = format!("{start:>TIME$}");
    for (width, cell) in cells {
        line.push(' ');
        line.push_str(&format!("{cell:>width$}"));
    }
    format!("{line} {remark}").trim_end().to_string()
}

/// The two heading lines for a terminal of `width` columns.
pub fn header_lines(width: usize) -> [String; 2] {
    let columns = chosen(width);
    [0, 1].map(|row| {
        let start = if row == 0 { "elapsed" } else { "" };
        assemble(start, columns.iter().map(|column| (column.width, column.heading[row].to_string())), "")
    })
}

/// What is wrong with an interval, or its phase when it does not count.
fn remark(line: &IntervalLine) -> &'static str {
    if line.is_stalled() {
        return "STALL";
    }
    if line.errors.is_positive() {
        return "ERRORS";
    }
    if line.limited {
        return "LIMITED";
    }
    match &line.phase {
        LoadPhase::Warmup => "warm-up",
        LoadPhase::Drain => "drain",
        LoadPhase::Paused => "paused",
        LoadPhase::Format => "format",
        LoadPhase::Verify => "verify",
        _ => "",
    }
}

/// One interval; `start_s` is the run's start in seconds since the recording's.
pub fn interval_line(line: &IntervalLine, start_s: f64, width: usize) -> String {
    let cells = chosen(width).into_iter().map(|column| (column.width, (column.cell)(line)));
    assemble(&clock((line.t_s - start_s).max(0.0)), cells, remark(line))
}

/// The averages of a run, under its interval lines: exact totals of its measured phase.
pub fn average_line(summary: &RunSummary, width: usize) -> String {
    let line = IntervalLine {
        t_ns: 0,
        t_s: 0.0,
        interval_s: 1.0,
        run: String::new(),
        run_index: 0,
        phase: LoadPhase::Measure,
        arrivals: KnownSum::default(),
        ops: 0,
        bytes: 0,
        errors: KnownSum::default(),
        by_op: Default::default(),
        steps: Vec::new(),
        response: summary.response,
        service: summary.service,
        wait: HistogramSummary::default(),
        in_flight: summary.queue_depth.into(),
        backlog: KnownSum::default(),
        cpu: None,
        limited: false,
    };
    let offered = summary.arrivals.filter(|_| summary.measured_s > 0.0).map(|arrivals| arrivals / summary.measured_s);
    let cells = chosen(width).into_iter().map(|column| {
        let cell = match column.heading {
            ["offered", _] => rate(offered),
            ["achieved", _] => rate(summary.iops),
            ["through", _] => megabytes(summary.bytes_per_s),
            ["read", _] => number(summary.read_percent),
            ["cpu", "usr%"] => number(summary.cpu_user),
            ["cpu", "sys%"] => number(summary.cpu_system),
            ["", "errors"] => summary.errors.map_or("?".to_string(), |errors| format!("{errors:.0}")),
            ["back", _] | ["lag", _] => String::new(),
            _ => (column.cell)(&line),
        };
        (column.width, cell)
    });
    assemble("average", cells, "")
}
