//! The face of a running command on a terminal, or in a pipe: header, lines, progress.

use crate::lines::{average_line, header_lines, interval_line};
use crate::output_error;
use crate::progress::{Made, RunProgress, TreeMaking, making_line, progress_line};
use objectives::{Judgement, ObjectiveVerdict};
use quantity::output::{LinePart, VisibleOutput};
use recording::rows::{CommandExecution, Phase};
use recording::{LoadPhase, PhaseEdge, RecordingError, RowBatch, Sink};
use std::collections::BTreeMap;
use std::io::Write;
use view::{Tone, Unit};
use views::{IntervalLine, LineFold, RunFold};
use workload::commands::{execution_line, execution_tone};

/// Interval lines between two headings on a terminal.
const HEADING_EVERY: usize = 30;

/// What the output can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalLook {
    /// Columns.
    pub width: usize,
    /// Is it a terminal, where a progress line can be repainted?
    pub live: bool,
    /// May it be coloured?
    pub colour: bool,
}

/// Is standard error a terminal, on which a line can be painted over?
#[must_use]
pub fn is_error_terminal() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    rustix::termios::isatty(rustix::stdio::stderr()) && !dumb
}

impl TerminalLook {
    /// Looks at standard output: its width, whether it is a terminal, and `NO_COLOR`.
    pub fn of_stdout() -> Self {
        let out = rustix::stdio::stdout();
        let live = rustix::termios::isatty(out);
        let width =
            rustix::termios::tcgetwinsize(out).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = if live { width.unwrap_or(80) } else { 160 };
        Self { width, live: live && !dumb, colour: live && !plain && !dumb }
    }
}

/// A command that a run executes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandHeader {
    /// Its name.
    pub name: String,
    /// Executions by phase: on the idle machine, warm-ups, measured; `None` where these are not known beforehand.
    pub counts: [Option<u64>; 3],
    /// Is it started at set moments of the measured time?
    pub is_timed: bool,
}

/// What is said when a run begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHeader {
    /// Title.
    pub title: String,
    /// Loop variables, `name=value name=value`.
    pub detail: String,
    /// The same, each with its value.
    pub variables: Vec<(String, String)>,
    /// Position, from 0.
    pub index: usize,
    /// Number of runs.
    pub count: usize,
    /// Arrivals per second; `None` at full speed.
    pub offered_rate: Option<f64>,
    /// It plays a trace.
    pub is_replay: bool,
    /// Warm-up and measured time, s; `None` when the run ends by itself.
    pub duration_s: Option<f64>,
    /// Time of this and all later runs, s.
    pub remaining_s: Option<f64>,
    /// How the engine works.
    pub engine: String,
    /// The run's start, seconds since the recording's.
    pub start_s: f64,
    /// Seed of the data that is written, 16 hexadecimal digits.
    pub data_seed: String,
    /// Is its data validated?
    pub is_validated: bool,
    /// The commands that it executes.
    pub commands: Vec<CommandHeader>,
    /// Does it execute commands, and no I/O of its own? Then it has no lines of intervals.
    pub is_of_commands: bool,
    /// It makes trees, and nothing else.
    pub making: Option<TreeMaking>,
}

/// How a line looks where colours may be.
#[derive(Clone, Copy, Debug)]
enum Style {
    Plain,
    Bold,
    Dim,
    Red,
    Yellow,
}

impl Style {
    /// The sequence that begins it.
    fn begin(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Red => "\x1b[31m",
            Self::Yellow => "\x1b[33m",
        }
    }
}

/// Back to the line's begin, which is emptied.
const ERASE: LinePart<'static> = LinePart::Own("\r\x1b[K");

/// Prints lines for people.
#[derive(Debug)]
pub struct Terminal<W: Write> {
    out: VisibleOutput<W>,
    look: TerminalLook,
    fold: LineFold,
    summary: RunFold,
    run: RunHeader,
    first_start_s: Option<f64>,
    now_s: f64,
    lines: usize,
    painted: bool,
    executions: Vec<CommandExecution>,
    /// What a run that makes trees has made.
    made: Made,
    /// When the measured time of each run began, ns.
    measured_ns: BTreeMap<i32, i64>,
}

impl<W: Write> Terminal<W> {
    /// Prints to `out`.
    pub fn new(out: VisibleOutput<W>, look: TerminalLook) -> Self {
        let (fold, summary, run) = (LineFold::default(), RunFold::default(), RunHeader::default());
        let (executions, measured_ns) = (Vec::new(), BTreeMap::new());
        let (first_start_s, now_s, lines, painted) = (None, 0.0, 0, false);
        let made = Made::default();
        Self { out, look, fold, summary, run, first_start_s, now_s, lines, painted, executions, made, measured_ns }
    }

    fn styled<'a>(&self, style: Style, text: &'a str) -> [LinePart<'a>; 3] {
        let is_plain = !self.look.colour || matches!(style, Style::Plain);
        let (begin, end) = if is_plain { ("", "") } else { (style.begin(), "\x1b[0m") };
        [LinePart::Own(begin), LinePart::Text(text), LinePart::Own(end)]
    }

    /// Takes the progress line away.
    fn erase(&mut self) -> Result<(), RecordingError> {
        if std::mem::take(&mut self.painted) {
            self.out.parts(&[ERASE]).map_err(output_error)?;
        }
        Ok(())
    }

    fn put(&mut self, style: Style, line: &str) -> Result<(), RecordingError> {
        self.put_parts(&self.styled(style, line))
    }

    fn put_parts(&mut self, parts: &[LinePart<'_>]) -> Result<(), RecordingError> {
        self.erase()?;
        self.out.parts(&[parts, &[LinePart::Own("\n")]].concat()).map_err(output_error)
    }

    /// Paints the progress line; nothing when this is no terminal.
    fn paint(&mut self) -> Result<(), RecordingError> {
        if !self.look.live {
            return self.out.flush().map_err(output_error);
        }
        let progress = RunProgress {
            run: self.run.title.clone(),
            index: self.run.index,
            count: self.run.count,
            elapsed_s: self.now_s - self.first_start_s.unwrap_or(self.now_s),
            left_s: self.run.remaining_s.map(|left| left - (self.now_s - self.run.start_s)),
        };
        // One column less: a full line would wrap on some terminals.
        let width = self.look.width.saturating_sub(1);
        let line = match &self.run.making {
            Some(making) => making_line(making, self.made, width),
            None => progress_line(&progress, width),
        };
        self.painted = true;
        let styled = self.styled(Style::Dim, &line);
        self.out.parts(&[&[ERASE], &styled[..]].concat()).map_err(output_error)?;
        self.out.flush().map_err(output_error)
    }

    /// A run begins.
    ///
    /// # Errors
    /// The output cannot be written; see [`crate::is_closed`].
    pub fn run_started(&mut self, run: RunHeader) -> Result<(), RecordingError> {
        let free = if run.is_replay { "as traced" } else { "full speed" };
        let rate = run.offered_rate.map_or(free.to_string(), |rate| Unit::OpsPerSecond.format(Some(rate)));
        let time = run.duration_s.map_or("until its end".to_string(), |seconds| Unit::Seconds.format(Some(seconds)));
        let what = format!("{} {}", run.title, run.detail);
        let begin = format!("run {} of {}: ", run.index + 1, run.count.max(run.index + 1));
        let end = match (run.is_of_commands, run.duration_s) {
            // Neither rate nor engine is theirs.
            (true, None) => String::new(),
            (true, Some(_)) => format!(": at most {time}"),
            (false, _) => format!(": {rate}, {time}, {}", run.engine),
        };
        self.first_start_s.get_or_insert(run.start_s);
        self.now_s = run.start_s;
        self.run = run;
        self.made = Made::default();
        self.lines = 0;
        self.put(Style::Plain, "")?;
        let title = self.styled(Style::Bold, what.trim_end());
        self.put_parts(
            &[&[LinePart::Text(&begin)], &title[..], &[LinePart::Text(end.trim_end_matches(", "))]].concat(),
        )?;
        self.heading()?;
        self.paint()
    }

    /// The line of an execution that has ended.
    fn execution(&mut self, row: &CommandExecution) -> Result<(), RecordingError> {
        let header = self.run.commands.iter().find(|known| *known.name == *row.workload && self.run.title == row.run);
        let of = header.and_then(|header| match row.phase {
            LoadPhase::Baseline => header.counts[0],
            LoadPhase::Warmup => header.counts[1],
            LoadPhase::Measure => header.counts[2],
            _ => None,
        });
        let is_timed = header.is_some_and(|header| header.is_timed) && row.phase == LoadPhase::Measure;
        let began_ns = self.measured_ns.get(&row.run_index).filter(|_| is_timed);
        let at_s = began_ns.map(|began_ns| workload::commands::moment_s(row.due_t_ns, *began_ns));
        let style = match execution_tone(row) {
            Tone::Error => Style::Red,
            Tone::Warning => Style::Yellow,
            Tone::Info => Style::Dim,
            Tone::Plain | Tone::Good => Style::Plain,
        };
        self.now_s = self.now_s.max(row.t_s);
        self.put(style, &execution_line(row, of, at_s))
    }

    /// Counts what an interval of a run that makes trees has made.
    fn count_made(&mut self, line: &IntervalLine) {
        let of = |kinds: &[&str]| kinds.iter().map(|op| u64::try_from(line.by_op.of(op).ops).unwrap_or(0)).sum::<u64>();
        let made = &mut self.made;
        let (deleted, directories, files) = (of(&["delete", "rmdir"]), of(&["mkdir"]), of(&["create"]));
        // The rate is that of files once there are any.
        let begins = (files > 0 && made.files == 0) || (directories > 0 && made.directories == 0);
        made.seconds = if begins { 0.0 } else { made.seconds } + line.interval_s;
        made.deleted += deleted;
        made.directories += directories;
        made.files += files;
    }

    fn heading(&mut self) -> Result<(), RecordingError> {
        if self.run.is_of_commands {
            return Ok(());
        }
        for line in header_lines(self.look.width) {
            self.put(Style::Dim, &line)?;
        }
        Ok(())
    }

    /// A run has ended and its totals were accepted: prints its averages.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn run_ended(&mut self) -> Result<(), RecordingError> {
        let summary = self.summary.end();
        if self.run.is_of_commands {
            return self.out.flush().map_err(output_error);
        }
        self.put(Style::Bold, &average_line(&summary, self.look.width))?;
        self.out.flush().map_err(output_error)
    }

    /// What came of the objectives of the run that has ended: a line each.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn verdicts(&mut self, verdicts: &[ObjectiveVerdict]) -> Result<(), RecordingError> {
        for verdict in verdicts {
            let line = verdict.summary();
            let style = match verdict.judgement {
                Judgement::Missed | Judgement::Undecided => Style::Red,
                Judgement::Unknown => Style::Yellow,
                Judgement::Met => Style::Dim,
            };
            self.put(style, &line)?;
        }
        self.out.flush().map_err(output_error)
    }

    /// A sentence of its own line.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn note(&mut self, sentence: &str) -> Result<(), RecordingError> {
        self.put(Style::Plain, sentence)?;
        self.out.flush().map_err(output_error)
    }

    /// The command is over: takes the progress line away and prints `lines`.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(&mut self, lines: &[String]) -> Result<(), RecordingError> {
        self.erase()?;
        for line in lines {
            self.put(Style::Plain, line)?;
        }
        self.out.flush().map_err(output_error)
    }
}

impl<W: Write> Sink for Terminal<W> {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        if batch.table.name == CommandExecution::NAME {
            self.executions.extend(batch.to_rows::<CommandExecution>()?);
        }
        if batch.table.name == Phase::NAME {
            let rows = batch.to_rows::<Phase>()?.into_iter();
            let begun = rows.filter(|row| row.phase == LoadPhase::Measure && row.event == PhaseEdge::Start);
            self.measured_ns.extend(begun.map(|row| (row.run_index, row.t_ns)));
        }
        self.summary.accept(batch)?;
        self.fold.accept(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        for row in std::mem::take(&mut self.executions) {
            self.execution(&row)?;
        }
        for line in self.fold.commit() {
            if self.run.is_of_commands {
                self.now_s = line.t_s;
                continue;
            }
            if self.look.live && self.lines > 0 && self.lines.is_multiple_of(HEADING_EVERY) {
                self.heading()?;
            }
            self.lines += 1;
            self.now_s = line.t_s;
            self.count_made(&line);
            let text = interval_line(&line, self.run.start_s, self.look.width);
            let style = match &line.phase {
                _ if line.is_stalled() || line.errors.is_positive() => Style::Red,
                LoadPhase::Measure => Style::Plain,
                _ => Style::Dim,
            };
            self.put(style, &text)?;
        }
        self.paint()
    }
}
