//! From errors to exit codes, as documented in the README.

use import::ImportError;
use monitor::MonitorError;
use output::OutputError;
use recording::RecordingError;
use report::ReportError;
use session::SessionError;
use stamped_data::StampedDataError;
use target::TargetError;
use tool_output::ToolOutputError;
use trace::TraceError;
use view::TableReadError;

/// A command that could not do what it was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    /// A sentence for the user.
    pub(crate) message: String,
    /// The process's exit code.
    pub(crate) code: u8,
}

/// Wrong parameters.
pub(crate) const PARAMETERS: u8 = 2;
/// A target failed.
pub(crate) const TARGET: u8 = 3;
/// Data are not what was written.
pub(crate) const DATA: u8 = 4;
/// An objective was missed.
pub(crate) const OBJECTIVE: u8 = 5;
/// A recording is not complete, or not to be read; an output is not complete: its disk or standard output is full.
pub(crate) const RECORDING: u8 = 6;
/// Refused, to protect data.
pub(crate) const REFUSED: u8 = 7;
/// A privilege or a kernel feature is missing.
pub(crate) const PRIVILEGE: u8 = 8;
/// Rules found trouble (`diagnose` only).
pub(crate) const FINDINGS: u8 = 9;

/// Ended by the user before its time; results kept.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    /// A failure with a sentence of its own.
    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Self { message: message.into(), code }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        let code = match &error {
            SessionError::Unsupported(_)
            | SessionError::Validation(_)
            | SessionError::NoMaximum { .. }
            | SessionError::NoTrace(_)
            | SessionError::ReadOnce(_)
            | SessionError::NothingToPlay { .. }
            | SessionError::NoRound { .. }
            | SessionError::MixedRounds(_)
            | SessionError::Objective { .. } => PARAMETERS,
            SessionError::Target(error) => target_code(error),
            SessionError::Targets(errors) if errors.iter().any(TargetError::is_refusal) => REFUSED,
            SessionError::Targets(errors) => errors.first().map_or(TARGET, target_code),
            SessionError::Tree(error) if error.is_refusal() => REFUSED,
            SessionError::Tree(error) if error.is_parameter() => PARAMETERS,
            SessionError::Tree(_) => TARGET,
            SessionError::Engine(error) if error.is_privilege() => PRIVILEGE,
            SessionError::Engine(error) if error.is_parameter() => PARAMETERS,
            SessionError::ForeignReport(_) => REFUSED,
            SessionError::Output(error) => output_code(error),
            SessionError::ToolOutput(ToolOutputError::Output(error)) => output_code(error),
            SessionError::Recording(error)
            | SessionError::Import(ImportError::Recording(error))
            | SessionError::ToolOutput(ToolOutputError::Recording(error))
            | SessionError::Analyze(TableReadError::Recording(error))
            | SessionError::Trace(TraceError::Recording(error)) => recording_code(error),
            SessionError::Report(ReportError::Analyze(TableReadError::Recording(error))) => recording_code(error),
            SessionError::Time { .. } => RECORDING,
            SessionError::Engine(_) | SessionError::Command { .. } | SessionError::CommandFailed { .. } => TARGET,
            SessionError::Model(_) => 1,
            SessionError::Trace(error) if error.is_privilege() => PRIVILEGE,
            SessionError::Trace(error) if error.is_parameter() => PARAMETERS,
            SessionError::Import(error) if error.is_parameter() => PARAMETERS,
            SessionError::ToolOutput(error) if error.is_parameter() => PARAMETERS,
            SessionError::Analyze(error) if error.is_parameter() => PARAMETERS,
            SessionError::Trace(_)
            | SessionError::Import(_)
            | SessionError::ToolOutput(_)
            | SessionError::Report(_)
            | SessionError::Analyze(_)
            | SessionError::Thread { .. }
            | SessionError::Write { .. } => RECORDING,
        };
        Self { message: error.to_string(), code }
    }
}

impl From<StampedDataError> for Failure {
    fn from(error: StampedDataError) -> Self {
        let code = match &error {
            StampedDataError::Target(error) => target_code(error),
            StampedDataError::Parameter(_) => PARAMETERS,
            StampedDataError::Refused(_) => REFUSED,
            StampedDataError::Io(_) => TARGET,
            StampedDataError::Recording(error) => recording_code(error),
        };
        Self { message: error.to_string(), code }
    }
}

impl From<MonitorError> for Failure {
    fn from(error: MonitorError) -> Self {
        let code = match &error {
            MonitorError::NoSamples(_) | MonitorError::NotCollecting { .. } => PARAMETERS,
            MonitorError::Occupied { .. }
            | MonitorError::NotEmpty { .. }
            | MonitorError::Shared { .. }
            | MonitorError::Strange { .. } => REFUSED,
            MonitorError::Output(error) => output_code(error),
            MonitorError::Recording(error)
            | MonitorError::Analyze(TableReadError::Recording(error))
            | MonitorError::Trace(TraceError::Recording(error)) => recording_code(error),
            MonitorError::Start(_) => TARGET,
            MonitorError::Trace(error) if error.is_privilege() => PRIVILEGE,
            MonitorError::Trace(error) if error.is_parameter() => PARAMETERS,
            MonitorError::Analyze(error) if error.is_parameter() => PARAMETERS,
            MonitorError::Trace(_)
            | MonitorError::Analyze(_)
            | MonitorError::Thread { .. }
            | MonitorError::Removed { .. }
            | MonitorError::Write { .. } => RECORDING,
        };
        Self { message: error.to_string(), code }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        Self { code: output_code(&error), message: error.to_string() }
    }
}

/// A name that is taken by a regular file is a wrong parameter, as it has always been; anything else that is never written
/// over is a refusal.
fn output_code(error: &OutputError) -> u8 {
    if error.is_refusal() {
        REFUSED
    } else if error.is_privilege() {
        PRIVILEGE
    } else if error.is_parameter() || error.is_path() {
        PARAMETERS
    } else {
        RECORDING
    }
}

/// A path at which none can be made is a wrong parameter; one that may not be read or written is a missing privilege.
pub(crate) fn recording_code(error: &RecordingError) -> u8 {
    match error {
        RecordingError::Output(
            error @ (OutputError::Io { .. } | OutputError::AmongDevices(_) | OutputError::Read { .. }),
        ) => output_code(error),
        error if error.is_privilege() => PRIVILEGE,
        error if error.is_parameter() => PARAMETERS,
        _ => RECORDING,
    }
}

/// Refused, not permitted, or broken?
fn target_code(error: &TargetError) -> u8 {
    if error.is_refusal() {
        REFUSED
    } else if error.is_privilege() {
        PRIVILEGE
    } else {
        TARGET
    }
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;
    use clap::CommandFactory as _;

    /// Codes with what they mean, without what stands in parentheses.
    fn listed<'a>(text: &'a str, between: &str) -> Vec<&'a str> {
        let list = text.split("Exit codes: ").nth(1).unwrap_or_default();
        let list = list.split("\n\n").next().unwrap_or_default();
        list.split(between).map(|part| part.split(" (").next().unwrap_or_default().trim()).collect()
    }

    #[test]
    fn help_and_readme_list_the_same_exit_codes() {
        let readme = include_str!("../../../README.md").replace('\n', " ").replace("  ", "\n\n");
        let help = Cli::command().get_after_help().map(ToString::to_string).unwrap_or_default().replace('\n', " ");
        let known = listed(&readme, " · ");
        assert_eq!(listed(&help, ", "), known);
        assert_eq!(known.len(), 11, "{known:?}");
        assert!(known.contains(&"4 data wrong"), "{known:?}");
    }
}
