//! Rows of a trace into a recording: put into the order of the table, in memory that does not grow with the trace.

use crate::ImportError;
use recording::rows::Io;
use recording::{Manifest, RowBatch, Sink, Writer};
use std::path::Path;

/// Rows are put into order among so many.
const WINDOW: usize = 128 << 10;
/// Rows of one batch, and of one write to the journal.
const BATCH: usize = 16 << 10;

/// The writing end.
pub(super) struct Output<'a> {
    directory: &'a Path,
    manifest: Manifest,
    pub(super) writer: Option<Writer>,
    rows: Vec<Io>,
    /// What the recording calls time 0, on the trace's clock; `None`: the first row's time.
    origin_ns: Option<i64>,
    /// Greatest time that has been written.
    written_ns: i64,
    pub(super) count: u64,
    /// Rows that came after later ones had been written.
    pub(super) late: u64,
    /// End of the trace, on the recording's clock.
    pub(super) end_ns: i64,
}

/// When a row's place in the table is: its end, or the last that is known of it.
fn place_ns(io: &Io) -> i64 {
    io.complete_ns.unwrap_or(io.queue_ns)
}

impl<'a> Output<'a> {
    pub(super) fn new(directory: &'a Path, manifest: Manifest, origin_ns: Option<i64>) -> Self {
        let (writer, rows) = (None, Vec::new());
        Self { directory, manifest, writer, rows, origin_ns, written_ns: i64::MIN, count: 0, late: 0, end_ns: 0 }
    }

    /// Adds a row; `begin_ns` is when the trace began, where it is not the first row.
    pub(super) fn push(&mut self, io: Io, begin_ns: Option<i64>) -> Result<(), ImportError> {
        self.origin_ns = self.origin_ns.or(begin_ns);
        self.rows.push(io);
        if self.rows.len() < 2 * WINDOW {
            return Ok(());
        }
        self.write(WINDOW)
    }

    /// Writes the rest; gives the origin.
    pub(super) fn finish(&mut self) -> Result<i64, ImportError> {
        self.write(self.rows.len())?;
        Ok(self.origin_ns.unwrap_or(0))
    }

    /// Writes the first `count` rows in the order of the table.
    fn write(&mut self, count: usize) -> Result<(), ImportError> {
        self.rows.sort_by_key(place_ns);
        let origin_ns = match self.origin_ns {
            Some(origin_ns) => origin_ns,
            None => self.rows.iter().map(|io| io.queue_ns).min().unwrap_or(0),
        };
        self.origin_ns = Some(origin_ns);
        let mut rows: Vec<Io> = self.rows.drain(..count).collect();
        for io in &mut rows {
            let place_ns = place_ns(io);
            self.late += u64::from(place_ns < self.written_ns);
            self.written_ns = self.written_ns.max(place_ns);
            for t_ns in [Some(&mut io.queue_ns), io.issue_ns.as_mut(), io.complete_ns.as_mut()].into_iter().flatten() {
                *t_ns = t_ns.saturating_sub(origin_ns);
            }
        }
        self.count += rows.len() as u64;
        self.end_ns = self.written_ns.saturating_sub(origin_ns).max(0);
        for part in rows.chunks(BATCH) {
            let writer = match &mut self.writer {
                Some(writer) => writer,
                none => none.insert(Writer::create(self.directory, self.manifest.clone())?),
            };
            writer.accept(&RowBatch::from_rows(part)?)?;
            writer.commit()?;
        }
        Ok(())
    }
}
