//! What can end a command early.

use recording::RecordingError;
use std::path::PathBuf;

/// No trace is longer, years.
pub(crate) const TRACE_YEARS_MAX: i64 = 10;

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The plan asks for something that this version cannot execute.
    #[error("the plan asks for what is not built yet: {}", .0.join("; "))]
    Unsupported(Vec<String>),
    /// The plan asks for a validation of data that is not to be had, in sentences.
    #[error("{}", .0.join("\n"))]
    Validation(Vec<String>),
    /// A target was refused or could not be opened.
    #[error(transparent)]
    Target(#[from] target::TargetError),
    /// Several targets were refused or could not be opened.
    #[error("{}", .0.iter().map(|error| quantity::visible::visible(&error.to_string()).into_owned()).collect::<Vec<_>>().join("\n"))]
    Targets(Vec<target::TargetError>),
    /// A tree of directories was refused or cannot be used as asked.
    #[error(transparent)]
    Tree(#[from] crate::trees::TreeUseError),
    /// The engine could not start or broke down.
    #[error(transparent)]
    Engine(#[from] engine::EngineError),
    /// I/O cannot be traced.
    #[error(transparent)]
    Trace(#[from] trace::TraceError),
    /// The recording could not be written or read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A command failed that must succeed.
    #[error("{whose}`{line}` ended with {how}, {why}")]
    CommandFailed {
        /// The option that it belongs to, with `: `; empty for those of a file.
        whose: &'static str,
        /// The command line.
        line: String,
        /// Exit code or signal.
        how: String,
        /// What makes it necessary, and what follows from that.
        why: &'static str,
    },
    /// Another tool's files could not be read.
    #[error(transparent)]
    Import(#[from] import::ImportError),
    /// An output in another tool's words could not be written.
    #[error(transparent)]
    ToolOutput(#[from] tool_output::ToolOutputError),
    /// The report could not be drawn.
    #[error(transparent)]
    Report(#[from] report::ReportError),
    /// A command of the parameter file failed to start.
    #[error("failed to run the command `{line}`: {source}")]
    Command {
        /// The command line.
        line: String,
        /// Why.
        source: std::io::Error,
    },
    /// A recording cannot be read.
    #[error(transparent)]
    Analyze(#[from] view::TableReadError),
    /// There is nothing to replay.
    #[error("{} is a recording without a trace: it has no table `io` (`iodyno trace` makes one)", .0.display())]
    NoTrace(PathBuf),
    /// A replay reads its trace more than once.
    #[error(
        "{} is a pipe or a device, and a replay reads its trace more than once: make a recording of it first (`iodyno import {} --format NAME -o trace.iodyno`), and replay that", .0.display(), .0.display()
    )]
    ReadOnce(PathBuf),
    /// A replay of nothing.
    #[error("nothing of {} would be played: {why}", .trace.display())]
    NothingToPlay {
        /// The trace.
        trace: PathBuf,
        /// Where all of it went.
        why: String,
    },
    /// The system has no threads left.
    #[error("failed to start a thread to {what}: {source}")]
    Thread {
        /// What it was to do.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// An objective cannot be read.
    #[error("the objective `{text}` cannot be read: {source}")]
    Objective {
        /// As written.
        text: String,
        /// What is wrong.
        source: objectives::ConditionError,
    },
    /// Neither a rate nor a reference for one.
    #[error(
        "run {run} asks for a share of the greatest rate, but no run before it went at full speed; put a run with iorate=max before it"
    )]
    NoMaximum {
        /// Title of the run.
        run: String,
    },
    /// A model that was made of a trace cannot be read as a parameter file.
    #[error("the model of this trace is no valid parameter file; this is a bug, please report it with this: {0}")]
    Model(String),
    /// An I/O of a trace at a time that no trace has.
    #[error(
        "{} has I/Os that are more than {TRACE_YEARS_MAX} years apart (one at {t_ns} ns): it is damaged, or its times are no nanoseconds; leave them out with --from and --for", .trace.display()
    )]
    Time {
        /// The trace.
        trace: PathBuf,
        /// Its time, ns.
        t_ns: i64,
    },
    /// A file or folder could not be made, replaced or removed, or something stands in its way.
    #[error(transparent)]
    Output(#[from] output::OutputError),
    /// There is nothing to hold against each other.
    #[error(
        "{} holds no round of which both sides were run to their end without a fault: there is nothing to compare. {}",
        .directory.display(), .remarks.join(" ")
    )]
    NoRound {
        /// Where its rounds are.
        directory: PathBuf,
        /// Why each of them is left out, sentences.
        remarks: Vec<String>,
    },
    /// Rounds of two comparisons lie in one directory.
    #[error("{} holds rounds of two comparisons (of `iodyno ab`): move those of one of them elsewhere", .0.display())]
    MixedRounds(PathBuf),
    /// A report that iodyno did not write is not written over.
    #[error("{0} was not written by iodyno: move it away, name another file with -o, or add --force to replace it")]
    ForeignReport(PathBuf),
    /// A file that belongs to the results could not be written.
    #[error("failed to write {path}: {}", output::system_words(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
