//! `flatfile.html`: one line per interval, one column per figure.

use super::facts::{Facts, Run};
use super::figures::Figures;
use super::file_figures::{FileFigures, FileRun};
use super::{escaped, time_of_day, timestamp};
use std::fmt::Write as _;

/// What Vdbench asks for when it means full speed.
const FULL_SPEED: f64 = 9_999_988.0;

/// One value.
enum Value {
    /// With four digits.
    Real(f64),
    /// Without any.
    Whole(f64),
    Text(String),
}

/// What a line is about.
struct Context<'a> {
    run: &'a Run,
    interval: String,
    figures: &'a Figures,
    /// What was done in trees.
    files: FileFigures,
}

impl Context<'_> {
    fn per_second(&self, value: f64) -> Option<Value> {
        Some(Value::Real(self.figures.per_second(value)))
    }

    /// Operations of this kind per second.
    fn rate(&self, op: &str) -> Option<Value> {
        self.per_second(self.files.ops(op))
    }

    /// Mean time of this kind.
    fn time(&self, op: &str) -> Option<Value> {
        Some(Value::Real(self.files.mean_ms(op)))
    }
}

/// Value of a column; `None` is `n/a`.
type Get = fn(&Context<'_>) -> Option<Value>;

/// A column: name, explanation and value.
type Column = (&'static str, &'static str, Get);

/// The columns of a recording with operations in trees, in the order of Vdbench 5.04.06.
const FILE_COLUMNS: [Column; 42] = [
    ("Run", "Name of run from RD=", |line| Some(Value::Text(line.run.name.clone()))),
    ("Interval", "Reporting interval number", |line| Some(Value::Text(line.interval.clone()))),
    ("reqrate", "Requested FWD rate", |line| Some(Value::Real(line.run.offered.unwrap_or(FULL_SPEED)))),
    ("rate", "Requested operations per second", |line| line.per_second(line.files.asked_ops())),
    ("resp", "Requested operations response time", |line| Some(Value::Real(line.files.asked_mean_ms()))),
    ("MB/sec", "Megabytes per second (MB=1024*1024)", |line| {
        line.per_second(line.files.mib("read") + line.files.mib("write"))
    }),
    ("Read_rate", "Reads per second", |line| line.rate("read")),
    ("Read_resp", "Read response time", |line| line.time("read")),
    ("Write_rate", "Writes per second", |line| line.rate("write")),
    ("Write_resp", "Write response time", |line| line.time("write")),
    ("MB_read", "Megabytes read per second", |line| line.per_second(line.files.mib("read"))),
    ("MB_write", "Megabytes written per second", |line| line.per_second(line.files.mib("write"))),
    ("Xfersize", "Average transfer size", |line| Some(Value::Whole(line.files.transfer_bytes()))),
    ("Mkdir_rate", "Mkdirs per second", |line| line.rate("mkdir")),
    ("Mkdir_resp", "Mkdir response time", |line| line.time("mkdir")),
    ("Rmdir_rate", "Rmdirs per second", |line| line.rate("rmdir")),
    ("Rmdir_resp", "Rmdir response time", |line| line.time("rmdir")),
    ("Create_rate", "Creates per second", |line| line.rate("create")),
    ("Create_resp", "Create response time", |line| line.time("create")),
    ("Open_rate", "Opens per second", |line| line.rate("open")),
    ("Open_resp", "Open response time", |line| line.time("open")),
    ("Close_rate", "Closes per second", |line| line.rate("close")),
    ("Close_resp", "Close response time", |line| line.time("close")),
    ("Delete_rate", "Deletes per second", |line| line.rate("delete")),
    ("Delete_resp", "Delete response time", |line| line.time("delete")),
    ("Getattr_rate", "Getattrs per second", |line| line.rate("getattr")),
    ("Getattr_resp", "Getattr response time", |line| line.time("getattr")),
    ("Setattr_rate", "Setattrs per second", |line| line.rate("setattr")),
    ("Setattr_resp", "Setattr response time", |line| line.time("setattr")),
    ("Access_rate", "Access per second", |line| line.rate("access")),
    ("Access_resp", "Access response time", |line| line.time("access")),
    ("Copy_rate", "Copies per second", |line| line.rate("copy")),
    ("Copy_resp", "Copy response time", |line| line.time("copy")),
    ("Move_rate", "Moves per second", |line| line.rate("move")),
    ("Move_resp", "Move response time", |line| line.time("move")),
    COLUMNS[20],
    COLUMNS[21],
    COLUMNS[23],
    COLUMNS[24],
    COLUMNS[25],
    COLUMNS[26],
    COLUMNS[27],
];

/// The columns of all others, in the same order.
const COLUMNS: [Column; 28] = [
    ("Run", "Name of run from RD=", |line| Some(Value::Text(line.run.name.clone()))),
    ("Interval", "Reporting interval number", |line| Some(Value::Text(line.interval.clone()))),
    ("reqrate", "Requested i/o rate", |line| Some(Value::Real(line.run.offered.unwrap_or(FULL_SPEED)))),
    ("rate", "Observed i/o rate", |line| Some(Value::Real(line.figures.rate()))),
    ("MB/sec", "Megabytes per second (MB=1024*1024)", |line| Some(Value::Real(line.figures.mib_per_second()))),
    ("bytes/io", "Average data transfersize", |line| Some(Value::Whole(line.figures.bytes_per_op()))),
    ("read%", "Observed read percentage", |line| Some(Value::Real(line.figures.read_percent()))),
    ("resp", "Observed response time", |line| Some(Value::Real(line.figures.times().mean_ms()))),
    ("read_resp", "Observed read response time", |line| Some(Value::Real(line.figures.read.times.mean_ms()))),
    ("write_resp", "Observed write response time", |line| Some(Value::Real(line.figures.write.times.mean_ms()))),
    ("resp_max", "Observed maximum response time", |line| line.figures.times().max_ms().map(Value::Real)),
    ("resp_std", "Standard deviation", |line| line.figures.times().deviation_ms().map(Value::Real)),
    ("xfersize", "data transfer size requested", |line| {
        line.run.requested.transfer_bytes.map(|bytes| Value::Whole(bytes as f64))
    }),
    ("threads", "number of threads requested", |line| line.run.requested.threads.map(|n| Value::Real(f64::from(n)))),
    ("rdpct", "read% requested", |line| line.run.requested.read_percent.map(Value::Real)),
    ("rhpct", "readhit% requested", |line| line.run.requested.read_hit_percent.map(Value::Real)),
    ("whpct", "writehit% requested", |line| line.run.requested.write_hit_percent.map(Value::Real)),
    ("seekpct", "seek% requested", |line| line.run.requested.seek_percent.map(Value::Real)),
    ("lunsize", "Total amount of Gigabytes of all luns (GB= 1024*1024*1024)", |line| {
        line.run.requested.target_bytes.map(|bytes| Value::Real(bytes as f64 / 1_073_741_824.0))
    }),
    ("version", "Vdbench version identifier", |_| None),
    ("compratio", "Requested compression ratio", |line| line.run.requested.compress_ratio.map(Value::Real)),
    ("dedupratio", "Requested dedup ratio", |line| line.run.requested.dedup_ratio.map(Value::Real)),
    ("queue_depth", "Vdbench calculated average i/o queue depth", |line| line.figures.depth.map(Value::Real)),
    ("cpu_used", "kstat: cpu% user+sys", |line| line.figures.cpu.map(|cpu| Value::Real(cpu.used()))),
    ("cpu_user", "kstat: cpu% user", |line| line.figures.cpu.map(|cpu| Value::Real(cpu.user))),
    ("cpu_kernel", "kstat: cpu% sys", |line| line.figures.cpu.map(|cpu| Value::Real(cpu.kernel))),
    ("cpu_wait", "kstat: cpu% wait", |line| line.figures.cpu?.wait.map(Value::Real)),
    ("cpu_idle", "kstat: cpu% idle", |line| line.figures.cpu.map(|cpu| Value::Real(cpu.idle))),
];

/// The file.
pub(super) fn page(facts: &Facts) -> String {
    let mut page = String::from(
        "*\n* 'flatfile.html': one line per reporting interval, one column per figure, in Vdbench's columns.\n\
         * Written by iodyno; its docs/flatfile.md says what differs. Response times are in milliseconds, from when an\n\
         * operation was due until it was complete.\n*\n",
    );
    let columns: &[Column] = if facts.files.is_some() { &FILE_COLUMNS } else { &COLUMNS };
    for (name, help, _) in columns {
        let _ = writeln!(page, "* {name:<16}: {help}");
    }
    page.push_str("* 'n/a'           : Data not available, or conflicting data. eg. multiple different xfersize parameters used.\n* \n");
    let _ = write!(page, "{:>12} {:>23} ", "tod", "timestamp");
    for (name, _, _) in columns {
        let _ = write!(page, "{name:>10} ");
    }
    page.push('\n');
    for run in &facts.runs {
        let of_files = facts.files_of(run);
        for (number, interval) in run.lines.iter().enumerate() {
            let files = of_files.map(|files| files.line(interval.t_ns)).unwrap_or_default();
            let context = Context { run, interval: (number + 1).to_string(), figures: &interval.figures, files };
            line(&mut page, columns, facts.manifest.wall_ns_at(interval.t_ns), &context);
        }
        if let Some((first, last, figures)) = &run.average {
            let files = of_files.map(FileRun::average).unwrap_or_default();
            let context = Context { run, interval: format!("avg_{first}-{last}"), figures, files };
            line(&mut page, columns, facts.manifest.wall_ns_at(run.end_ns), &context);
            if let Some(remark) = &run.remark {
                let _ = writeln!(page, "* {}: {remark}", run.name);
            }
        }
    }
    page
}

fn line(page: &mut String, columns: &[Column], wall_ns: i64, context: &Context<'_>) {
    let _ = write!(page, "{} {} ", time_of_day(wall_ns), timestamp(wall_ns));
    for (name, _, get) in columns {
        let text = match get(context) {
            Some(Value::Real(value)) => format!("{value:.4}"),
            Some(Value::Whole(value)) => format!("{value:.0}"),
            Some(Value::Text(text)) => escaped(&text),
            None => "n/a".to_string(),
        };
        let width = name.len().max(10);
        let _ = write!(page, "{text:>width$} ");
    }
    page.push('\n');
}
