//! The faces that can watch a run.

use objectives::ObjectiveVerdict;
use quantity::output::{stderr, stdout};
use recording::{RecordingError, Sink};
use std::io::{Stderr, Stdout, Write};
use tui::{JsonLines, RunHeader, Terminal, TerminalLook};

/// A face that is fed while a command runs.
pub trait RunObserver: Sink {
    /// A run begins.
    ///
    /// # Errors
    /// The reader has closed the output.
    fn run_started(&mut self, header: RunHeader) -> Result<(), RecordingError>;

    /// A run has ended; its totals were accepted before.
    ///
    /// # Errors
    /// The reader has closed the output.
    fn run_ended(&mut self) -> Result<(), RecordingError>;

    /// What came of the objectives of the run that has ended.
    ///
    /// # Errors
    /// The reader has closed the output.
    fn verdicts(&mut self, verdicts: &[ObjectiveVerdict]) -> Result<(), RecordingError>;

    /// Data validation has found so many damaged blocks since the command began.
    fn damaged_blocks(&mut self, _count: u64) {}

    /// A sentence for the user.
    ///
    /// # Errors
    /// The reader has closed the output.
    fn note(&mut self, sentence: &str) -> Result<(), RecordingError>;

    /// The command is over; `lines` are its last words.
    ///
    /// # Errors
    /// The reader has closed the output.
    fn finish(&mut self, lines: &[String]) -> Result<(), RecordingError>;
}

impl<W: Write> RunObserver for Terminal<W> {
    fn run_started(&mut self, header: RunHeader) -> Result<(), RecordingError> {
        Self::run_started(self, header)
    }

    fn run_ended(&mut self) -> Result<(), RecordingError> {
        Self::run_ended(self)
    }

    fn verdicts(&mut self, verdicts: &[ObjectiveVerdict]) -> Result<(), RecordingError> {
        Self::verdicts(self, verdicts)
    }

    fn note(&mut self, sentence: &str) -> Result<(), RecordingError> {
        Self::note(self, sentence)
    }

    fn finish(&mut self, lines: &[String]) -> Result<(), RecordingError> {
        Self::finish(self, lines)
    }
}

/// JSON lines say intervals, verdicts and what was proved of the data, and nothing else.
impl<W: Write> RunObserver for JsonLines<W> {
    fn run_started(&mut self, header: RunHeader) -> Result<(), RecordingError> {
        Self::run_started(self, header);
        Ok(())
    }

    fn run_ended(&mut self) -> Result<(), RecordingError> {
        Ok(())
    }

    fn verdicts(&mut self, verdicts: &[ObjectiveVerdict]) -> Result<(), RecordingError> {
        Self::verdicts(self, verdicts)
    }

    fn damaged_blocks(&mut self, count: u64) {
        Self::damaged_blocks(self, count);
    }

    fn note(&mut self, _sentence: &str) -> Result<(), RecordingError> {
        Ok(())
    }

    fn finish(&mut self, _lines: &[String]) -> Result<(), RecordingError> {
        Self::finish(self)
    }
}

/// Lines for people on standard output.
#[must_use]
pub fn terminal_face() -> Terminal<Stdout> {
    Terminal::new(stdout(), TerminalLook::of_stdout())
}

/// The same on standard error, where standard output is for something else; plain, as for a file.
#[must_use]
pub fn error_face() -> Terminal<Stderr> {
    Terminal::new(stderr(), TerminalLook { width: 160, live: false, colour: false })
}

/// One JSON object per interval on standard output.
#[must_use]
pub fn json_face() -> JsonLines<Stdout> {
    JsonLines::new(stdout())
}
