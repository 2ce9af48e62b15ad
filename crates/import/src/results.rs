//! What a reader of results gives, and the recording that is made of it.

use crate::ImportError;
use crate::options::ImportSummary;
use crate::printed::seconds;
use crate::provenance::{events, imported_manifest};
use recording::rows::{Cpu, OpInterval, Phase, RunTotal};
use recording::{ClockAnchor, LoadPhase, PhaseEdge, RowBatch, Sink, Writer};
use serde_json::json;
use std::path::Path;

/// Greatest source text that is kept in the manifest.
const KEPT_SOURCE: usize = 256 << 10;

/// What a reader gives: rows with times in ns since the first run's start.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// Tool and version.
    pub(crate) program: String,
    /// Start, UTC ns since 1970.
    pub(crate) started_wall_ns: i64,
    /// `started_wall_ns` is local time, and the file does not state the zone.
    pub(crate) is_local: bool,
    pub(crate) intervals: Vec<OpInterval>,
    pub(crate) totals: Vec<RunTotal>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) cpu: Vec<Cpu>,
    /// What it could not take over.
    pub(crate) notes: Vec<String>,
}

/// Makes the recording.
pub(crate) fn write(
    results: Results,
    format: &'static str,
    file: &Path,
    text: &str,
    directory: &Path,
    command_line: &[String],
) -> Result<ImportSummary, ImportError> {
    let mut manifest = imported_manifest(command_line);
    let end = results.intervals.iter().map(|row| row.t_ns).max().unwrap_or(0);
    manifest.started_wall_ns = results.started_wall_ns;
    manifest.clock_anchors = vec![ClockAnchor { t_ns: 0, wall_ns: results.started_wall_ns }];
    if (1..=KEPT_SOURCE).contains(&text.len()) {
        manifest.sources.push((file.display().to_string(), text.to_string()));
    }
    manifest.extra.insert(
        "imported".to_string(),
        json!({"format": format, "program": results.program, "path": file.display().to_string(), "notes": results.notes}),
    );
    let first = format!("imported from {} ({})", file.display(), results.program);
    let events = events(end, first, &results.notes);
    let mut writer = Writer::create(directory, manifest)?;
    for batch in [
        RowBatch::from_rows(&results.phases)?,
        RowBatch::from_rows(&results.intervals)?,
        RowBatch::from_rows(&results.totals)?,
        RowBatch::from_rows(&results.cpu)?,
        RowBatch::from_rows(&events)?,
    ] {
        writer.accept(&batch)?;
    }
    writer.commit()?;
    let directory = writer.seal_past()?;
    Ok(ImportSummary { directory, format, notes: results.notes })
}

/// Start and end of a phase of a run: its title, number, and loop values.
pub(crate) fn phase_rows(
    (run, run_index, detail): (&str, i32, &str),
    phase: &LoadPhase,
    (from_ns, to_ns): (i64, i64),
    offered: Option<f64>,
) -> [Phase; 2] {
    [(PhaseEdge::Start, from_ns), (PhaseEdge::End, to_ns)].map(|(event, t_ns)| Phase {
        t_ns,
        t_s: seconds(t_ns),
        run: run.to_string(),
        run_index,
        phase: phase.clone(),
        event,
        offered_rate: offered,
        detail: detail.to_string(),
    })
}
