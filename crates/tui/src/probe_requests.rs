//! `iodyno probe requests`: fed with batches of the table `request_interval`.

use crate::probe::{Clock, SCHEMA, WIDTH, began, write};
use crate::{ProbeLook, table_lines};
use quantity::histogram::Histogram;
use quantity::output::VisibleOutput;
use quantity::text::format_ns;
use recording::{RecordingError, RowBatch, Sink};
use serde_json::{Value, json};
use std::io::Write;
use view::Unit;
use workload::probe::{PreemptedState, RequestFold, RequestGroup, ResponseOctave};

/// Columns of the longest bar.
const BAR: u64 = 28;
/// Programs whose distributions are shown.
const SHOWN: usize = 4;

/// Response times of each interval, and of all.
pub struct RequestLines<W: Write> {
    out: VisibleOutput<W>,
    look: ProbeLook,
    now: RequestFold,
    all: RequestFold,
    clock: Clock,
}

impl<W: Write> RequestLines<W> {
    /// Writes to `out`.
    pub fn new(out: VisibleOutput<W>, look: ProbeLook) -> Self {
        Self {
            out: look.form(out),
            look,
            now: RequestFold::default(),
            all: RequestFold::default(),
            clock: Clock::default(),
        }
    }

    /// Everything, when there was more than one interval.
    ///
    /// # Errors
    /// It could not be written.
    pub fn finish(&mut self) -> Result<(), RecordingError> {
        if self.clock.intervals < 2 && !self.look.json {
            return Ok(());
        }
        let lines = self.lines(&self.all, self.clock.elapsed_ns() as f64 / 1e9, true);
        write(&mut self.out, &lines)
    }

    fn lines(&self, fold: &RequestFold, length_s: f64, is_total: bool) -> Vec<String> {
        if self.look.json {
            let elapsed_s = self.clock.elapsed_ns() as f64 / 1e9;
            let rows: Vec<Value> = fold.groups().iter().map(|group| json_group(group, fold.rate(group))).collect();
            let mut object = json!({"schema": SCHEMA, "probe": "requests", "elapsed_s": elapsed_s, "interval_s": length_s, "rows": rows});
            if is_total {
                object["total"] = true.into();
            }
            return vec![object.to_string()];
        }
        let when = if is_total { "all of" } else { "elapsed" };
        let mut lines = vec![format!("{when} {}", format_ns(self.clock.elapsed_ns()))];
        lines.extend(table_lines(&fold.table(self.look.top), WIDTH));
        let groups = fold.groups().into_iter().filter(|group| group.count().is_some());
        for group in groups.take(SHOWN.min(self.look.top)) {
            lines.push(String::new());
            lines.extend(quantize(&group));
        }
        lines.push(String::new());
        lines
    }
}

/// Powers of two of both kinds side by side, each kind with bars of its own scale.
fn quantize(group: &RequestGroup) -> Vec<String> {
    let octaves = group.octaves();
    let kinds: Vec<PreemptedState> = PreemptedState::ALL
        .into_iter()
        .filter(|of| *of != PreemptedState::Unknown || group.responses(*of).count() > 0)
        .collect();
    let most = |of: PreemptedState| octaves.iter().map(|octave| octave.counts[of as usize]).max().unwrap_or(0).max(1);
    let width = octaves.iter().map(|octave| octave.words.chars().count()).max().unwrap_or(0);
    let room = usize::try_from(BAR).unwrap_or(0);
    let cell = |octave: &ResponseOctave, of: PreemptedState| {
        let count = octave.counts[of as usize];
        let length = usize::try_from(count * BAR / most(of)).unwrap_or(room).max(usize::from(count > 0));
        let number = Unit::Operations.format(Some(count as f64));
        format!("{number:>10}  {}{}", "█".repeat(length), " ".repeat(room - length))
    };
    let line = |octave: &ResponseOctave| {
        let gap = " ".repeat(width - octave.words.chars().count());
        let cells: String = kinds.iter().map(|of| cell(octave, *of)).collect();
        format!("    {gap}{}{cells}", octave.words).trim_end().to_string()
    };
    let headings: String = kinds.iter().map(|of| format!("{:<space$}", of.title(), space = room + 12)).collect();
    let heading = format!("    {}{headings}", " ".repeat(width + 12)).trim_end().to_string();
    let title = format!("  response times of {}", group.name());
    [title, heading].into_iter().chain(octaves.iter().map(line)).collect()
}

fn json_group(group: &RequestGroup, per_s: Option<f64>) -> Value {
    let octaves = group.octaves();
    let kind = |of: PreemptedState| {
        let all = group.responses(of);
        let rows = octaves.iter().filter(|octave| octave.counts[of as usize] > 0);
        let rows: Vec<Value> = rows
            .map(|octave| json!({"from_ns": octave.low_ns, "to_ns": octave.low_ns.saturating_mul(2), "requests": octave.counts[of as usize]}))
            .collect();
        let count = Some(all.count()).filter(|count| *count > 0);
        json!({"requests": count, "p50_ns": all.percentile(0.5), "p99_ns": all.percentile(0.99),
            "mean_ns": Histogram::mean(all), "max_ns": all.max(), "quantize": rows})
    };
    let mut object = json!({"port": group.port, "program": group.program, "requests": group.count(),
        "requests_per_s": per_s, "preempted_percent": group.preempted_percent()});
    for of in PreemptedState::ALL {
        object[of.key()] = kind(of);
    }
    object
}

impl<W: Write> Sink for RequestLines<W> {
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
