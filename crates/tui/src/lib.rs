//! Draws views on a terminal: interval lines, tables, the progress bar; JSON lines for programs.
//!
//! [`Terminal`] and [`JsonLines`] are sinks: they are fed the same batches as the recording. Everything that they print is
//! made by the functions here, which return text. A reader that goes away (a closed pipe) comes back as an error whose
//! [`is_closed`] is true; the caller goes on without a face.

mod json;
mod lines;
mod probe;
mod probe_cpu;
mod probe_requests;
mod probe_stacks;
mod progress;
mod stat;
mod table;
mod terminal;
pub mod top;
mod trace_lines;

pub use json::{JsonLines, json_command, json_difference, json_end, json_line, json_validation, json_verdict};
pub use lines::{average_line, header_lines, interval_line};
pub use probe::{FileLines, IoLines, ProbeLook};
pub use probe_cpu::CpuLines;
pub use probe_requests::RequestLines;
pub use probe_stacks::StackLines;
pub use progress::{RunProgress, TreeMaking, progress_line};
pub use stat::{ComplaintSink, CpuUnit, StatForm, StatLines, StatLook, WallAnchor, unknown_name_message};
pub use table::{PaintedLine, painted_table, summary_tables, table_lines};
pub use terminal::{CommandHeader, RunHeader, Terminal, TerminalLook, is_error_terminal};
pub use trace_lines::{trace_header, trace_json, trace_line};

use recording::RecordingError;
use std::io;
use std::path::PathBuf;

/// Has the reader of our output gone away?
pub fn is_closed(error: &RecordingError) -> bool {
    matches!(error, RecordingError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

/// An error of the output as the sinks' error.
pub(crate) fn output_error(source: io::Error) -> RecordingError {
    RecordingError::Io { action: "write", path: PathBuf::from("standard output"), source }
}
