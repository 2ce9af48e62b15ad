//! `iodyno probe cpu`: fed with batches of the event clock's tables.

use crate::probe::{Clock, SCHEMA, WIDTH, began, json_rows, write};
use crate::{ProbeLook, table_lines};
use quantity::output::VisibleOutput;
use quantity::text::format_ns;
use recording::{RecordingError, RowBatch, Sink};
use serde_json::json;
use std::io::Write;
use workload::probe::{CpuBy, CpuFold};

/// Tables of each interval, and of all.
pub struct CpuLines<W: Write> {
    out: VisibleOutput<W>,
    look: ProbeLook,
    by: Vec<CpuBy>,
    now: CpuFold,
    all: CpuFold,
    clock: Clock,
}

impl<W: Write> CpuLines<W> {
    /// Writes to `out`; the tables that are wanted, none: all.
    pub fn new(out: VisibleOutput<W>, look: ProbeLook, by: &[CpuBy]) -> Self {
        let by = if by.is_empty() { CpuBy::ALL.to_vec() } else { by.to_vec() };
        Self {
            out: look.form(out),
            look,
            by,
            now: CpuFold::default(),
            all: CpuFold::default(),
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
        let lines = self.lines(&self.all, self.clock.elapsed_ns() as f64 / 1e9, true);
        write(&mut self.out, &lines)
    }

    fn lines(&self, fold: &CpuFold, length_s: f64, is_total: bool) -> Vec<String> {
        let elapsed_s = self.clock.elapsed_ns() as f64 / 1e9;
        if self.look.json {
            let mut object = json!({"schema": SCHEMA, "probe": "cpu", "elapsed_s": elapsed_s, "interval_s": length_s});
            if is_total {
                object["total"] = true.into();
            }
            for by in &self.by {
                object[by.key()] = json_rows(&fold.table(*by, length_s, usize::MAX));
            }
            return vec![object.to_string()];
        }
        let when = if is_total { "all of" } else { "elapsed" };
        let mut lines = vec![format!("{when} {}", format_ns(self.clock.elapsed_ns()))];
        for by in &self.by {
            let table = fold.table(*by, length_s, self.look.top);
            if table.rows() > 0 {
                lines.push(String::new());
                lines.push(by.title().to_string());
                lines.extend(table_lines(&table, WIDTH));
            }
        }
        lines.push(String::new());
        lines
    }
}

impl<W: Write> Sink for CpuLines<W> {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.accept(batch)?;
        self.all.accept(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        let lap = self.clock.lap();
        let lines = lap.map(|length_s| self.lines(&self.now, length_s, false));
        self.now.mark();
        match lines {
            Some(lines) => write(&mut self.out, &lines),
            None => {
                self.all.mark();
                began(&mut self.out, self.look)
            }
        }
    }
}
