//! Figures of a machine as text: columns for people, nicstat's parseable form, CSV, JSON lines.

use crate::output_error;
use quantity::figures::DecimalPlaces;
use quantity::output::{OutputForm, VisibleOutput};
use quantity::text::{csv_field, format_wall};
use quantity::visible::visible;
use rates::stat::{CounterSubject, FigureDigits, StatBlock, StatColumn, StatFold, StatRow};
use recording::{RecordingError, RowBatch, Sink};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Write;

/// Name and version of the JSON objects' shape.
const SCHEMA: &str = "iodyno.stat/1";
/// What stands where there is nothing to have a figure of.
const NONE: &str = "-";
/// Blocks of one row between two headings.
const HEADING_EVERY: usize = 20;

/// How it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatForm {
    /// Columns with headings.
    #[default]
    Columns,
    /// Fields with colons between them, as `nicstat -p`: seconds since 1970, name, figures.
    Parseable,
    /// Comma-separated, all figures, with a heading.
    Csv,
    /// One JSON object per row.
    Json,
}

/// What is shown, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatLook {
    /// How it is written.
    pub form: StatForm,
    /// All columns that there are (`iostat -x`, `nicstat -x`).
    pub extended: bool,
    /// Only received and sent volume (`nicstat -s`).
    pub summary: bool,
    /// Utilisation per direction (`nicstat -U`).
    pub both_directions: bool,
    /// Volume of interfaces in 10⁶ bit/s.
    pub megabits: bool,
    /// Only rows of these names.
    pub only: Vec<String>,
    /// Leave out what did nothing in the interval.
    pub skip_idle: bool,
    /// Leave out the loopback interface.
    pub skip_loopback: bool,
    /// One row per CPU besides that of all; the parts of pools.
    pub each: bool,
    /// Only CPUs that were not idle.
    pub busy_cpus: bool,
    /// At most so many processes, control groups, interrupts.
    pub top: Option<usize>,
    /// Only this process.
    pub pid: Option<i64>,
    /// Of what CPU time of processes is shown, in columns for people.
    pub cpu_unit: CpuUnit,
    /// Names that must have rows, besides `only`: interfaces whose speed the user gave.
    pub expected: Vec<String>,
}

/// Unit of the CPU time of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CpuUnit {
    /// Per cent of one CPU.
    #[default]
    OneCpu,
    /// Per cent of all CPUs together, of which there are so many.
    System(u32),
    /// CPU seconds in the interval.
    Seconds,
}

impl StatLook {
    /// Keys of the columns for people.
    fn keys(&self, subject: CounterSubject) -> Vec<&'static str> {
        let all = || self.all_keys(subject);
        match subject {
            CounterSubject::Net if self.summary => vec!["rx_kib_per_s", "tx_kib_per_s"],
            CounterSubject::Net => {
                let mut keys = vec!["rx_kib_per_s", "tx_kib_per_s", "rx_packets_per_s", "tx_packets_per_s"];
                if self.extended {
                    keys.extend(["rx_errors_per_s", "tx_errors_per_s", "collisions_per_s"]);
                    keys.extend(["rx_drops_per_s", "tx_drops_per_s"]);
                    keys.extend(["qdisc_drops_per_s", "qdisc_overlimits_per_s", "qdisc_backlog_kib"]);
                } else {
                    keys.extend(["rx_packet_bytes", "tx_packet_bytes"]);
                }
                if self.both_directions {
                    keys.extend(["rx_util_percent", "tx_util_percent"]);
                } else {
                    keys.push("util_percent");
                }
                keys.push("saturation_per_s");
                keys
            }
            CounterSubject::Disk if !self.extended => vec![
                "read_per_s",
                "read_kib_per_s",
                "read_await_ms",
                "read_size_kib",
                "write_per_s",
                "write_kib_per_s",
                "write_await_ms",
                "write_size_kib",
                "discard_per_s",
                "flush_per_s",
                "queue_size",
                "util_percent",
            ],
            CounterSubject::DiskPercentiles => self.percentile_keys(),
            CounterSubject::Fs if !self.extended => vec![
                "size_mib",
                "used_mib",
                "available_mib",
                "used_percent",
                "inodes_used_percent",
                "read_kib_per_s",
                "write_kib_per_s",
            ],
            CounterSubject::Pool if !self.extended => vec![
                "allocated_mib",
                "free_mib",
                "allocated_percent",
                "read_per_s",
                "write_per_s",
                "read_kib_per_s",
                "write_kib_per_s",
                "arc_hit_percent",
            ],
            CounterSubject::Cgroup if !self.extended => vec![
                "cpu_percent",
                "cpu_limit_percent",
                "throttled_percent",
                "throttled_ms_per_s",
                "memory_mib",
                "memory_limit_mib",
                "read_kib_per_s",
                "write_kib_per_s",
                "tasks",
                "cpu_some_percent",
                "memory_some_percent",
                "io_some_percent",
            ],
            _ => all(),
        }
    }

    /// All of a subject's, but for those that only `-x` shows.
    fn all_keys(&self, subject: CounterSubject) -> Vec<&'static str> {
        let is_shown = |key: &&str| self.extended || *key != "minor_faults_per_s";
        subject.columns().iter().map(|column| column.key).filter(is_shown).collect()
    }

    /// The columns of `stat disk`, with the percentiles of reads and of writes each behind their mean.
    fn percentile_keys(&self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        for key in self.keys(CounterSubject::Disk) {
            keys.push(key);
            match key {
                "read_await_ms" => {
                    keys.extend(["read_p50_ms", "read_p95_ms", "read_p99_ms", "read_p999_ms", "read_max_ms"]);
                }
                "write_await_ms" => {
                    keys.extend(["write_p50_ms", "write_p95_ms", "write_p99_ms", "write_p999_ms", "write_max_ms"]);
                }
                _ => {}
            }
        }
        keys
    }

    fn admits(&self, block: &StatBlock, row: &StatRow) -> bool {
        let is_idle = |keys: &[&str]| keys.iter().all(|key| block.value(row, key).is_none_or(|value| value <= 0.0));
        let named = self.only.is_empty() || self.only.iter().any(|name| is_named(block.subject, row, name));
        named
            && match block.subject {
                CounterSubject::Net if self.skip_loopback && row.name == "lo" => false,
                CounterSubject::Net => !self.skip_idle || !is_idle(&["rx_packets_per_s", "tx_packets_per_s"]),
                CounterSubject::Disk | CounterSubject::DiskPercentiles => {
                    let busy = ["ops_per_s", "flush_per_s", "util_percent"];
                    !(self.skip_idle && is_idle(&busy))
                }
                CounterSubject::Cpu | CounterSubject::CpuClock if row.name == "all" => true,
                CounterSubject::Cpu if self.busy_cpus => !is_idle(&["busy_percent"]),
                CounterSubject::CpuClock if self.busy_cpus => !is_idle(&["tick_busy_percent", "event_busy_percent"]),
                CounterSubject::Cpu | CounterSubject::CpuClock => self.each || !self.only.is_empty(),
                CounterSubject::Process => {
                    self.pid.is_none_or(|pid| row.values.first().copied().flatten() == Some(pid as f64))
                        && !(self.skip_idle && is_idle(&["cpu_percent"]))
                }
                CounterSubject::ProcessClock => {
                    self.pid.is_none_or(|pid| row.values.first().copied().flatten() == Some(pid as f64))
                        && !(self.skip_idle && is_idle(&["proc_percent", "event_percent"]))
                }
                CounterSubject::Cgroup => {
                    let busy = ["cpu_percent", "read_per_s", "write_per_s", "io_some_percent", "memory_some_percent"];
                    !(self.skip_idle && is_idle(&busy))
                }
                CounterSubject::Irq | CounterSubject::IrqCpu => !(self.skip_idle && is_idle(&["per_s"])),
                // What an import tells of the parts of a pool is asked for by name, or with --each.
                CounterSubject::Pool if row.name.contains('/') && !self.each && self.only.is_empty() => false,
                CounterSubject::Pool => !(self.skip_idle && is_idle(&["read_per_s", "write_per_s"])),
                CounterSubject::Fs => !(self.skip_idle && is_idle(&["read_per_s", "write_per_s"])),
                CounterSubject::Listen => !(self.skip_idle && is_idle(&["queue", "drops_per_s"])),
                _ => true,
            }
    }

    fn rows<'a>(&self, block: &'a StatBlock) -> Vec<&'a StatRow> {
        let rows = block.rows.iter().filter(|row| self.admits(block, row));
        match (block.subject, self.top) {
            (
                CounterSubject::Process
                | CounterSubject::ProcessClock
                | CounterSubject::Cgroup
                | CounterSubject::Irq
                | CounterSubject::IrqCpu,
                Some(top),
            ) => rows.take(top).collect(),
            _ => rows.collect(),
        }
    }

    /// Heading and figure of a column, in the asked unit.
    fn cell(&self, block: &StatBlock, row: &StatRow, key: &str) -> String {
        let (_, digits) = self.column(block.subject, key);
        let value = block.value(row, key);
        if value.is_none() && is_of_nothing(block, row, key) {
            return NONE.to_string();
        }
        if is_cpu_time(block.subject, key) {
            return match self.cpu_unit {
                CpuUnit::OneCpu => digits.format(value),
                CpuUnit::System(cpus) => {
                    FigureDigits::Fixed(4).format(value.map(|percent| percent / f64::from(cpus.max(1))))
                }
                CpuUnit::Seconds => FigureDigits::Fixed(4).format(value.map(|percent| percent / 100.0 * block.seconds)),
            };
        }
        digits.format(if self.is_megabits(key) { value.map(|kib| kib * 1024.0 * 8.0 / 1e6) } else { value })
    }

    fn is_megabits(&self, key: &str) -> bool {
        self.megabits && matches!(key, "rx_kib_per_s" | "tx_kib_per_s")
    }

    fn column(&self, subject: CounterSubject, key: &str) -> (&'static str, FigureDigits) {
        let column = subject.columns().iter().find(|column| column.key == key);
        let title = match key {
            _ if self.cpu_unit == CpuUnit::Seconds && is_cpu_time(subject, key) => match key {
                "user_percent" => "usr s",
                "system_percent" => "sys s",
                "proc_percent" => "/proc s",
                "wait_percent" => "wait s",
                "stolen_percent" => "stolen s",
                "io_delay_percent" => "iodly s",
                "difference_points" => "diff s",
                _ => "CPU s",
            },
            "rx_kib_per_s" if self.megabits => "rMbit/s",
            "tx_kib_per_s" if self.megabits => "wMbit/s",
            _ => column.map_or("", |column| column.title),
        };
        (title, column.map_or(FigureDigits::Fixed(0), |column| column.digits))
    }
}

/// Is it a time of processes as a share of one CPU?
fn is_cpu_time(subject: CounterSubject, key: &str) -> bool {
    matches!(subject, CounterSubject::Process | CounterSubject::ProcessClock)
        && (key.ends_with("_percent") || key == "difference_points")
}

/// Is it a percentile of reads or writes of which there were none? That is known, and yet no figure.
fn is_of_nothing(block: &StatBlock, row: &StatRow, key: &str) -> bool {
    let rate = match key.split_once('_') {
        Some(("read", rest)) if is_percentile(rest) => "read_per_s",
        Some(("write", rest)) if is_percentile(rest) => "write_per_s",
        _ => return false,
    };
    block.subject == CounterSubject::DiskPercentiles && !block.since_boot && block.value(row, rate) == Some(0.0)
}

fn is_percentile(rest: &str) -> bool {
    matches!(rest, "p50_ms" | "p95_ms" | "p99_ms" | "p999_ms" | "max_ms")
}

/// Is the row what the user called so? Of an interrupt a number, or the device alone, will do; of a listener its port, or its
/// program.
fn is_named(subject: CounterSubject, row: &StatRow, name: &str) -> bool {
    let otherwise = match subject {
        CounterSubject::Irq | CounterSubject::IrqCpu => row.name.split_whitespace().any(|word| word == name),
        CounterSubject::Listen => {
            let port = row.name.rsplit_once(':').map(|(_, port)| port);
            let comm = row.texts.first().and_then(Option::as_deref);
            port == Some(name) || comm == Some(name)
        }
        _ => false,
    };
    row.name == name || otherwise
}

/// A word of a row as it is shown; `?` when it is not known.
fn word(row: &StatRow, at: usize) -> Cow<'_, str> {
    row.texts.get(at).and_then(Option::as_deref).map_or(Cow::Borrowed("?"), visible)
}

/// Ties a monotonic time to the wall clock: nanoseconds since 1970.
pub type WallAnchor = Box<dyn Fn(i64) -> i64>;

/// Writes the figures of each sample to `out`.
pub struct StatLines<W: Write> {
    out: VisibleOutput<W>,
    fold: StatFold,
    look: StatLook,
    wall: WallAnchor,
    since_heading: usize,
    has_heading: bool,
    /// Subjects of which there were figures.
    seen: Vec<CounterSubject>,
    /// Names that were asked for and of which nothing came yet.
    strangers: Vec<String>,
    /// Receives a sentence about each of them, once there are figures.
    complain: Option<ComplaintSink>,
}

/// Takes a sentence for the user.
pub type ComplaintSink = Box<dyn FnMut(&str)>;

impl<W: Write> std::fmt::Debug for StatLines<W> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StatLines").field("look", &self.look).finish_non_exhaustive()
    }
}

impl<W: Write> StatLines<W> {
    /// Writes what `fold` makes of the batches, as `look` says.
    pub fn new(out: VisibleOutput<W>, fold: StatFold, look: StatLook, wall: WallAnchor) -> Self {
        let mut strangers = [look.only.clone(), look.expected.clone()].concat();
        strangers.extend(look.pid.map(|pid| pid.to_string()));
        let out = out.with_form(match look.form {
            StatForm::Columns => OutputForm::Text,
            StatForm::Parseable | StatForm::Csv => OutputForm::Data,
            StatForm::Json => OutputForm::Json,
        });
        Self {
            out,
            fold,
            look,
            wall,
            since_heading: HEADING_EVERY,
            has_heading: false,
            seen: Vec::new(),
            strangers,
            complain: None,
        }
    }

    /// Gives `complain` a sentence for each name that was asked for and has no row in the first interval.
    pub fn complain_to(&mut self, complain: ComplaintSink) {
        self.complain = Some(complain);
    }

    /// Names that were asked for and of which nothing came.
    pub fn strangers(&self) -> &[String] {
        &self.strangers
    }

    fn look_for_strangers(&mut self, blocks: &[StatBlock]) {
        for block in blocks {
            let pid = |row: &StatRow| block.value(row, "pid").map(|pid| format!("{pid:.0}"));
            let has_pid = matches!(block.subject, CounterSubject::Process | CounterSubject::ProcessClock);
            let is_row = |name: &String| {
                let is_it =
                    |row: &StatRow| is_named(block.subject, row, name) || (has_pid && pid(row).as_ref() == Some(name));
                block.rows.iter().any(is_it)
            };
            self.strangers.retain(|name| !is_row(name));
        }
        if let Some(block) = blocks.last() {
            self.complain_of_strangers(block.subject);
        }
    }

    /// Says which names have no row, if that has not been said: also where nothing of the subject had any figures.
    pub fn complain_of_strangers(&mut self, subject: CounterSubject) {
        if let Some(mut complain) = self.complain.take() {
            self.strangers.iter().for_each(|name| complain(&unknown_name_message(subject, name)));
        }
    }

    /// Makes figures of what comes from here on by `fold`, which has seen nothing.
    pub fn begin_anew(&mut self, fold: StatFold) {
        self.fold = fold;
    }

    /// Were there figures of this subject? Figures that are not shown count too.
    #[must_use]
    pub fn has_seen(&self, subject: CounterSubject) -> bool {
        self.seen.contains(&subject)
    }

    fn text(&mut self, blocks: &[StatBlock]) -> String {
        let mut text = String::new();
        for block in blocks {
            if !self.seen.contains(&block.subject) {
                self.seen.push(block.subject);
            }
            let rows = self.look.rows(block);
            if rows.is_empty() && self.look.form == StatForm::Columns {
                continue;
            }
            let wall_ns = (self.wall)(block.t_ns);
            match self.look.form {
                StatForm::Columns => self.columns(block, &rows, wall_ns, blocks.len() > 1, &mut text),
                StatForm::Parseable => {
                    rows.iter().for_each(|row| text.push_str(&parseable(block, row, wall_ns, self.look.extended)));
                }
                StatForm::Csv => {
                    if !self.has_heading {
                        self.has_heading = true;
                        let keys = block.subject.columns().iter().map(|column| column.key);
                        let keys = keys.chain(block.subject.texts().iter().map(|column| column.key));
                        let heading: Vec<&str> =
                            ["time_unix_s", "name", "interval_s"].into_iter().chain(keys).collect();
                        text.push_str(&heading.join(","));
                        text.push('\n');
                    }
                    rows.iter().for_each(|row| text.push_str(&csv(block, row, wall_ns)));
                }
                StatForm::Json => {
                    let error = self.fold.rate_error_percent().filter(|_| !block.since_boot);
                    rows.iter().for_each(|row| text.push_str(&format!("{}\n", object(block, row, wall_ns, error))));
                }
            }
        }
        text
    }

    fn columns(
        &mut self,
        block: &StatBlock,
        rows: &[&StatRow],
        wall_ns: i64,
        is_one_of_several: bool,
        text: &mut String,
    ) {
        let keys = self.look.keys(block.subject);
        let titles: Vec<&str> = keys.iter().map(|key| self.look.column(block.subject, key).0).collect();
        let cells: Vec<Vec<String>> =
            rows.iter().map(|row| keys.iter().map(|key| self.look.cell(block, row, key)).collect()).collect();
        let names = rows.iter().map(|row| visible(&row.name).chars().count()).max().unwrap_or(0);
        let name_width = names.max(block.subject.row_title().len()).max(6);
        // Wide enough for most figures, so that columns keep their place from block to block.
        let widths: Vec<usize> = titles
            .iter()
            .enumerate()
            .map(|(at, title)| cells.iter().map(|cells| cells[at].len()).max().unwrap_or(0).max(title.len()).max(7))
            .collect();
        let words = block.subject.texts();
        let widest = |at: usize| rows.iter().map(|row| word(row, at).chars().count()).max().unwrap_or(0);
        let word_widths: Vec<usize> =
            words.iter().enumerate().map(|(at, column)| widest(at).max(column.title.len())).collect();
        if rows.len() > 1 || is_one_of_several || self.since_heading >= HEADING_EVERY {
            self.since_heading = 0;
            text.push_str(&format!("{:>8} {:>name_width$}", "Time", block.subject.row_title()));
            for (title, width) in titles.iter().zip(&widths) {
                text.push_str(&format!(" {title:>width$}"));
            }
            let words: Vec<String> =
                words.iter().zip(&word_widths).map(|(column, width)| format!(" {:<width$}", column.title)).collect();
            text.push_str(words.concat().trim_end());
            text.push('\n');
        }
        self.since_heading += 1;
        let time = if block.since_boot { "boot".to_string() } else { clock(wall_ns) };
        for (row, cells) in rows.iter().zip(&cells) {
            text.push_str(&format!("{time:>8} {:>name_width$}", visible(&row.name)));
            for (cell, width) in cells.iter().zip(&widths) {
                text.push_str(&format!(" {cell:>width$}"));
            }
            let words: Vec<String> =
                word_widths.iter().enumerate().map(|(at, width)| format!(" {:<width$}", word(row, at))).collect();
            text.push_str(words.concat().trim_end());
            text.push('\n');
        }
    }
}

impl<W: Write> Sink for StatLines<W> {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.fold.accept(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        let blocks = self.fold.commit();
        self.look_for_strangers(&blocks);
        let text = self.text(&blocks);
        // One write per sample: a reader never sees half of one.
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).map_err(output_error)
    }
}

/// The message about a name without a row.
pub fn unknown_name_message(subject: CounterSubject, name: &str) -> String {
    let what = match subject {
        CounterSubject::Net | CounterSubject::Tcp | CounterSubject::Udp => "interface",
        CounterSubject::Cpu | CounterSubject::CpuClock => "CPU",
        CounterSubject::Disk | CounterSubject::DiskPercentiles => "device",
        CounterSubject::Cgroup => "control group that does something",
        CounterSubject::Process | CounterSubject::ProcessClock => "process",
        CounterSubject::Irq | CounterSubject::IrqCpu => "interrupt that comes",
        CounterSubject::Fs => "mounted file system",
        CounterSubject::Listen => "listener",
        other => other.row_title(),
    };
    format!("there is no {what} {name} (yet)")
}

/// `10:27:44` of UTC.
fn clock(wall_ns: i64) -> String {
    format_wall(wall_ns).get(11..19).unwrap_or("?").to_string()
}

/// nicstat's rounding for programs.
fn digits(value: Option<f64>) -> String {
    let places = DecimalPlaces(&[(10.0, 3), (100.0, 2), (10_000.0, 1)]);
    value.map_or_else(|| "?".to_string(), |value| places.format(value))
}

/// nicstat's fields, in its order. What it always prints as 0 on Linux (no-can-put, defer) is 0 here too; bytes of TCP,
/// which the kernel does not count, are unknown.
fn parseable(block: &StatBlock, row: &StatRow, wall_ns: i64, extended: bool) -> String {
    let (zero, unknown) = (Some(0.0), None);
    let value = |key: &str| block.value(row, key);
    let values: Vec<Option<f64>> = match block.subject {
        CounterSubject::Net => {
            let mut values: Vec<Option<f64>> = [
                "rx_kib_per_s",
                "tx_kib_per_s",
                "rx_packets_per_s",
                "tx_packets_per_s",
                "util_percent",
                "saturation_per_s",
            ]
            .map(value)
            .to_vec();
            if extended {
                values.extend(["rx_errors_per_s", "tx_errors_per_s", "collisions_per_s"].map(value));
                values.extend([zero, zero]);
            }
            values
        }
        CounterSubject::Tcp => {
            let mut values = vec![unknown, unknown];
            values.extend(
                [
                    "in_segments_per_s",
                    "out_segments_per_s",
                    "resets_per_s",
                    "attempt_fails_per_s",
                    "retransmit_percent",
                    "passive_opens_per_s",
                    "active_opens_per_s",
                    "listen_drops_per_s",
                ]
                .map(value),
            );
            values
        }
        CounterSubject::Udp => {
            ["in_datagrams_per_s", "out_datagrams_per_s", "in_errors_per_s", "send_buffer_errors_per_s"]
                .map(value)
                .to_vec()
        }
        _ => row.values.clone(),
    };
    let words = block.subject.texts().iter().enumerate().map(|(at, _)| word(row, at).into_owned());
    let mut fields: Vec<String> = values.into_iter().map(digits).chain(words).collect();
    if block.subject == CounterSubject::DiskPercentiles {
        for (field, column) in fields.iter_mut().zip(block.subject.columns()) {
            if field == "?" && is_of_nothing(block, row, column.key) {
                *field = NONE.to_string();
            }
        }
    }
    format!("{}:{}:{}\n", wall_ns.div_euclid(1_000_000_000), visible(&row.name), fields.join(":"))
}

/// All figures with six digits behind the point, whole numbers without; unknown ones are empty.
fn csv(block: &StatBlock, row: &StatRow, wall_ns: i64) -> String {
    // Numbers of processes and of CPUs, and counts, are whole.
    let columns = block.subject.columns().iter();
    let digits = |column: &StatColumn, value: f64| match column.digits {
        FigureDigits::Fixed(0) if value.fract() == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.6}"),
    };
    let values =
        columns.zip(&row.values).map(|(column, value)| value.map(|value| digits(column, value)).unwrap_or_default());
    let words = block.subject.texts().iter().enumerate();
    let words = words.map(|(at, _)| {
        let word = row.texts.get(at).and_then(Option::as_deref);
        word.map(|word| csv_field(word).into_owned()).unwrap_or_default()
    });
    let values: Vec<String> = values.chain(words).collect();
    let name = csv_field(&row.name);
    format!("{:.3},{name},{:.6},{}\n", wall_ns as f64 / 1e9, block.seconds, values.join(","))
}

/// One row as an object; unknown figures are null.
fn object(block: &StatBlock, row: &StatRow, wall_ns: i64, rate_error_percent: Option<f64>) -> Value {
    let mut object = json!({
        "schema": SCHEMA,
        "subject": block.subject.name(),
        "name": row.name,
        "t_ns": block.t_ns,
        "time_unix_s": wall_ns as f64 / 1e9,
        "interval_s": block.seconds,
        "since_boot": block.since_boot,
        "rate_error_percent": rate_error_percent,
    });
    if let Some(fields) = object.as_object_mut() {
        let columns = block.subject.columns().iter().map(|column| column.key.to_string());
        fields.extend(columns.zip(row.values.iter().map(|value| json!(value))));
        let words = block.subject.texts().iter().map(|column| column.key.to_string());
        fields.extend(words.zip(row.texts.iter().map(|text| json!(text))));
    }
    object
}

#[cfg(test)]
mod tests;
