//! Executions by command and setting.

use rates::base_title;
use recording::rows::CommandExecution;
use recording::{ExecutionEnding, LoadPhase};

/// Executions of one command in one setting of a run, and in its repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCommand {
    /// Title of the run without the number of its repetition; empty for `record`.
    pub run: String,
    /// Loop variables of the run, `name=value name=value`.
    pub detail: String,
    /// The command's name.
    pub name: String,
    /// The command line of the first of them.
    pub line: String,
    /// In the order of the recording.
    pub executions: Vec<CommandExecution>,
}

/// Does a figure of time count this execution? It was measured, and ended by itself with exit code 0, or one that was to be
/// ignored.
#[must_use]
pub fn is_counted(row: &CommandExecution) -> bool {
    row.phase == LoadPhase::Measure && has_succeeded(row)
}

/// Did it end by itself, with an exit code that counts?
pub(super) fn has_succeeded(row: &CommandExecution) -> bool {
    let is_right = match row.ending {
        ExecutionEnding::Exited => row.exit_code == Some(0),
        ExecutionEnding::Accepted => true,
        _ => false,
    };
    is_right && row.real_ns.is_some()
}

/// Did it end with another exit code, by a signal of others, or not start at all?
#[must_use]
pub fn has_failed(row: &CommandExecution) -> bool {
    match row.ending {
        ExecutionEnding::Exited => row.exit_code != Some(0),
        ExecutionEnding::Signalled | ExecutionEnding::NotStarted => true,
        _ => false,
    }
}

/// Executions by command and setting, in the order of their first; `detail_of` gives the loop variables of a run by its index.
#[must_use]
pub fn executed_commands(rows: &[CommandExecution], detail_of: &dyn Fn(i32) -> String) -> Vec<MeasuredCommand> {
    let mut all: Vec<MeasuredCommand> = Vec::new();
    for row in rows {
        let (run, detail) = (base_title(&row.run), detail_of(row.run_index));
        let known =
            all.iter_mut().find(|known| known.run == run && known.detail == detail && *known.name == *row.workload);
        match known {
            Some(known) => known.executions.push(row.clone()),
            None => all.push(MeasuredCommand {
                run: run.to_string(),
                detail,
                name: row.workload.to_string(),
                line: row.line.to_string(),
                executions: vec![row.clone()],
            }),
        }
    }
    all
}

impl MeasuredCommand {
    /// Those that figures of time count.
    pub fn counted(&self) -> impl Iterator<Item = &CommandExecution> {
        self.executions.iter().filter(|row| is_counted(row))
    }

    /// Those on the idle machine that succeeded.
    pub fn baselines(&self) -> impl Iterator<Item = &CommandExecution> {
        self.executions.iter().filter(|row| row.phase == LoadPhase::Baseline && has_succeeded(row))
    }

    /// Is it held against executions on the idle machine?
    #[must_use]
    pub fn has_baseline(&self) -> bool {
        self.executions.iter().any(|row| row.phase == LoadPhase::Baseline)
    }

    /// Run, variables and name: what commands of several recordings are paired by.
    #[must_use]
    pub fn full_name(&self) -> String {
        let run = format!("{} {}", self.run, self.detail);
        match run.trim() {
            "" => self.name.clone(),
            run if self.run == self.name => run.to_string(),
            run => format!("{run}: {}", self.name),
        }
    }
}

/// What tells these commands apart, as short as it can be: name and variables, behind the run where there are several.
#[must_use]
pub fn labels(commands: &[MeasuredCommand]) -> Vec<String> {
    let several = commands.windows(2).any(|pair| pair[0].run != pair[1].run);
    let of = |command: &MeasuredCommand| {
        let run = if several { format!("{}: ", command.run) } else { String::new() };
        format!("{run}{} {}", command.name, command.detail).trim_end().to_string()
    };
    commands.iter().map(of).collect()
}

/// `1 execution`, `5 executions`.
#[must_use]
pub fn executions_words(count: usize) -> String {
    if count == 1 { "1 execution".to_string() } else { format!("{count} executions") }
}
