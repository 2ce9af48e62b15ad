//! The report of commands: what stands at its head, and of each of their runs.

use super::machine;
use crate::model::{ReportFigure, ReportWarning};
use crate::{RecordingFacts, RunFacts};
use workload::commands::{self, CommandHeadline, MeasuredCommand, executed_commands, labels};

/// Are commands all that the recording was made for?
pub(super) fn are_alone(facts: &RecordingFacts) -> bool {
    let runs = || facts.runs.iter().filter(|_| !facts.is_without_runs());
    !facts.commands.is_empty() && runs().all(RunFacts::is_of_commands)
}

/// What the page is called: the line of the only command, or the names of several.
pub(super) fn title(commands: &[MeasuredCommand]) -> String {
    if let [only] = commands {
        return only.line.clone();
    }
    let mut names: Vec<&str> = commands.iter().map(|command| command.name.as_str()).collect();
    names.dedup();
    names.truncate(4);
    names.join(", ")
}

fn figures(all: Vec<CommandHeadline>) -> Vec<ReportFigure> {
    let of = |CommandHeadline { label, value, detail, tone }| ReportFigure { label, value, detail, tone };
    all.into_iter().map(of).collect()
}

/// Sentence and figures of the recording; those of the machine are behind them where nothing else ran.
pub(super) fn head(facts: &RecordingFacts, is_watched: bool) -> (String, Vec<ReportFigure>) {
    let commands = facts.executed();
    let mut all = figures(commands::headline(&commands));
    if is_watched {
        all.extend(machine::figures(facts));
    }
    (commands::sentence(&commands), all)
}

/// Sentence and figures of a run that executed commands only.
pub(super) fn of_run(run: &RunFacts) -> (String, Vec<ReportFigure>) {
    let commands = executed_commands(&run.commands, &|_| String::new());
    (commands::sentence(&commands), figures(commands::headline(&commands)))
}

/// Does a view say something of a run without I/O?
pub(super) fn is_shown(id: &str) -> bool {
    !id.starts_with("run.") || ["run.cpu", "run.phases"].contains(&id)
}

/// What must be known of the executions.
pub(super) fn warnings(facts: &RecordingFacts) -> Vec<ReportWarning> {
    let commands = facts.executed();
    let of = |(command, label): (&MeasuredCommand, String)| commands::cautions(command, &label);
    let all = commands.iter().zip(labels(&commands)).flat_map(of);
    all.take(20).map(|(tone, text)| ReportWarning { tone, text, run: None }).collect()
}
