//! Probes as text: a block per interval and a summary, or JSON lines.

use crate::{output_error, table_lines};
use quantity::clock;
use quantity::output::{OutputForm, VisibleOutput};
use quantity::text::format_ns;
use recording::{RecordingError, RowBatch, Sink};
use serde_json::{Map, Value, json};
use std::io::Write;
use view::{Cells, TableReadError, Unit, ViewTable};
use workload::probe::{FileFold, FilesBy, FilesOrder, IoBy, IoFold, ValueCounts};

/// Name and version of the JSON objects' shape.
pub(crate) const SCHEMA: &str = "iodyno.probe/1";
/// Columns of a bar.
const BAR: usize = 40;
/// Columns of a line of text.
pub(crate) const WIDTH: usize = 132;
/// Groups whose distributions are shown at the end.
const SHOWN: usize = 4;

/// How a probe is shown.
#[derive(Clone, Copy, Debug)]
pub struct ProbeLook {
    /// One JSON object per interval and one at the end.
    pub json: bool,
    /// Most rows of a table.
    pub top: usize,
}

impl ProbeLook {
    /// The output in the form that is written.
    pub(crate) fn form<W: Write>(self, out: VisibleOutput<W>) -> VisibleOutput<W> {
        out.with_form(if self.json { OutputForm::Json } else { OutputForm::Text })
    }
}

/// What has gone by since the last interval's end. The first commit says that the probe runs.
#[derive(Default)]
pub(crate) struct Clock {
    started_ns: Option<u64>,
    last_ns: u64,
    pub(crate) intervals: u64,
}

impl Clock {
    /// Ends an interval: its length, s; `None` for the commit before the first.
    pub(crate) fn lap(&mut self) -> Option<f64> {
        let now_ns = clock::now_ns();
        let length_s = (now_ns - self.last_ns) as f64 / 1e9;
        self.last_ns = now_ns;
        if self.started_ns.is_none() {
            self.started_ns = Some(now_ns);
            return None;
        }
        self.intervals += 1;
        Some(length_s)
    }

    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.last_ns - self.started_ns.unwrap_or(self.last_ns)
    }
}

fn failed(error: TableReadError) -> RecordingError {
    match error {
        TableReadError::Recording(error) => error,
        other => output_error(std::io::Error::other(other.to_string())),
    }
}

/// End of a key.
fn unit_key(unit: Unit) -> &'static str {
    match unit {
        Unit::OpsPerSecond => "per_s",
        Unit::BytesPerSecond => "bytes_per_s",
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "ns",
        Unit::Percent => "percent",
        _ => "",
    }
}

/// Cells by heading: numbers in base units, a missing one is null.
pub(crate) fn json_rows(table: &ViewTable) -> Value {
    let row = |row: usize| {
        let cells = table.columns.iter().map(|column| {
            let value = match &column.cells {
                Cells::Text(cells) => json!(cells.get(row)),
                Cells::Numbers(cells) => json!(cells.get_some(row)),
            };
            let name = [column.group.as_str(), column.name.as_str(), unit_key(column.unit)];
            let name: Vec<&str> = name.into_iter().filter(|part| !part.is_empty()).collect();
            (name.join("_").replace(' ', "_"), value)
        });
        Value::Object(cells.collect::<Map<String, Value>>())
    };
    Value::Array((0..table.rows()).map(row).collect())
}

/// Bars with their counts; the longest is 40 columns.
pub(crate) fn bars(distribution: &ValueCounts) -> Vec<String> {
    let most = distribution.rows.iter().map(|row| row.2).max().unwrap_or(0).max(1);
    let width = distribution.rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0);
    let line = |(_, words, count): &(u64, String, u64)| {
        let length = usize::try_from(*count * BAR as u64 / most).unwrap_or(BAR).max(usize::from(*count > 0));
        let gap = " ".repeat(width - words.chars().count());
        format!("    {gap}{words}  {:>12}  {}", Unit::Operations.format(Some(*count as f64)), "█".repeat(length))
    };
    let title = format!("  {}", distribution.title);
    std::iter::once(title).chain(distribution.rows.iter().map(line)).collect()
}

/// `iodyno probe io`: fed with batches of the table `io`.
pub struct IoLines<W: Write> {
    out: VisibleOutput<W>,
    look: ProbeLook,
    now: IoFold,
    all: IoFold,
    clock: Clock,
}

impl<W: Write> IoLines<W> {
    /// Writes to `out`.
    pub fn new(out: VisibleOutput<W>, look: ProbeLook, by: IoBy) -> Self {
        Self { out: look.form(out), look, now: IoFold::new(by), all: IoFold::new(by), clock: Clock::default() }
    }

    /// Sums and distributions over everything.
    ///
    /// # Errors
    /// They could not be written.
    pub fn finish(&mut self) -> Result<(), RecordingError> {
        let length_s = self.clock.elapsed_ns() as f64 / 1e9;
        let table = self.all.table(length_s, self.look.top);
        let mut lines = Vec::new();
        if self.look.json {
            let groups = self.all.groups().into_iter().take(self.look.top).map(|(name, group)| {
                let parts = group.distributions().into_iter().map(|distribution| {
                    let rows: Vec<Value> = distribution.rows.iter().map(|row| json!({"from": row.0, "ios": row.2})).collect();
                    (distribution.title.replace(' ', "_"), Value::Array(rows))
                });
                json!({"name": name, "ios": group.ios(), "bytes": group.bytes, "distributions": parts.collect::<Map<String, Value>>()})
            });
            let groups: Vec<Value> = groups.collect();
            let total = json!({"schema": SCHEMA, "probe": "io", "total": true, "elapsed_s": length_s, "by": self.all.by().heading(), "groups": groups, "rows": json_rows(&table)});
            lines.push(total.to_string());
        } else {
            lines.push(format!("all of {}", format_ns(self.clock.elapsed_ns())));
            lines.extend(table_lines(&table, WIDTH));
            for (name, group) in self.all.groups().into_iter().take(SHOWN) {
                lines.push(String::new());
                lines.push(format!("{name}: {} I/Os", Unit::Operations.format(Some(group.ios() as f64))));
                lines.extend(group.distributions().iter().flat_map(bars));
            }
        }
        write(&mut self.out, &lines)
    }
}

/// The probe runs.
pub(crate) fn began<W: Write>(out: &mut VisibleOutput<W>, look: ProbeLook) -> Result<(), RecordingError> {
    if look.json { Ok(()) } else { write(out, &["probing; Ctrl-C ends it".to_string(), String::new()]) }
}

pub(crate) fn write<W: Write>(out: &mut VisibleOutput<W>, lines: &[String]) -> Result<(), RecordingError> {
    lines.iter().try_for_each(|line| out.line(line)).and_then(|()| out.flush()).map_err(output_error)
}

impl<W: Write> Sink for IoLines<W> {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.accept(batch).map_err(failed)?;
        self.all.accept(batch).map_err(failed)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        let Some(length_s) = self.clock.lap() else { return began(&mut self.out, self.look) };
        let table = self.now.table(length_s, self.look.top);
        self.now.clear();
        let lines = if self.look.json {
            let elapsed_s = self.clock.elapsed_ns() as f64 / 1e9;
            let object = json!({"schema": SCHEMA, "probe": "io", "elapsed_s": elapsed_s, "interval_s": length_s, "by": self.all.by().heading(), "rows": json_rows(&table)});
            vec![object.to_string()]
        } else {
            let mut lines = vec![format!("{} elapsed", format_ns(self.clock.elapsed_ns()))];
            if table.rows() == 0 {
                lines.push("no I/O".to_string());
            } else {
                lines.extend(table_lines(&table, WIDTH));
            }
            lines.push(String::new());
            lines
        };
        write(&mut self.out, &lines)
    }
}

/// `iodyno probe files`: fed with batches of the table `file_interval`.
pub struct FileLines<W: Write> {
    out: VisibleOutput<W>,
    look: ProbeLook,
    by: FilesBy,
    now: FileFold,
    all: FileFold,
    clock: Clock,
}

impl<W: Write> FileLines<W> {
    /// Writes to `out`.
    pub fn new(out: VisibleOutput<W>, look: ProbeLook, by: FilesBy) -> Self {
        Self {
            out: look.form(out),
            look,
            by,
            now: FileFold::default(),
            all: FileFold::default(),
            clock: Clock::default(),
        }
    }

    /// Sums over everything, when there was more than one interval.
    ///
    /// # Errors
    /// They could not be written.
    pub fn finish(&mut self) -> Result<(), RecordingError> {
        if self.clock.intervals < 2 && !self.look.json {
            return Ok(());
        }
        let lines = self.lines(&self.all, 0.0, true);
        write(&mut self.out, &lines)
    }

    fn lines(&self, fold: &FileFold, length_s: f64, is_total: bool) -> Vec<String> {
        let top = self.look.top;
        let elapsed_s = self.clock.elapsed_ns() as f64 / 1e9;
        if self.look.json {
            let rows = json_rows(&fold.table(self.by, FilesOrder::ReadBytes, usize::MAX));
            let written = json_rows(&fold.table(self.by, FilesOrder::WriteBytes, usize::MAX));
            let mut object = json!({"schema": SCHEMA, "probe": "files", "elapsed_s": elapsed_s, "interval_s": length_s, "miss_rate_percent": fold.miss_percent(), "read": rows, "written": written});
            if is_total {
                object["total"] = true.into();
                object["interval_s"] = elapsed_s.into();
            }
            return vec![object.to_string()];
        }
        let when = if is_total { "all of" } else { "elapsed" };
        let mut lines = vec![format!("{when} {}: {}", format_ns(self.clock.elapsed_ns()), fold.sentence())];
        for (title, order) in [
            ("reads", FilesOrder::Reads),
            ("bytes read", FilesOrder::ReadBytes),
            ("bytes written", FilesOrder::WriteBytes),
        ] {
            let table = fold.table(self.by, order, top);
            if table.rows() > 0 {
                lines.push(String::new());
                lines.push(format!("by {title}, top {top}"));
                lines.extend(table_lines(&table, WIDTH));
            }
        }
        lines.push(String::new());
        lines
    }
}

impl<W: Write> Sink for FileLines<W> {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.accept(batch)?;
        self.all.accept(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        let Some(length_s) = self.clock.lap() else { return began(&mut self.out, self.look) };
        let now = std::mem::take(&mut self.now);
        let lines = self.lines(&now, length_s, false);
        write(&mut self.out, &lines)
    }
}
