//! Views of executed commands.

use super::{View, ViewKind, all, run};
use crate::{RecordingFacts, RunFacts};
use recording::LoadPhase;
use view::Drawing;
use workload::commands::{self, LoadBeside, executed_commands};

/// The view whose explanation says which executions count.
pub(super) const SUMMARY: &str = "command.summary";
/// These.
pub(super) const COUNTED: &str = "with exit code 0";
/// And these, where the recording has some that failed and were to be ignored.
pub(super) const COUNTED_ALL: &str = "with exit code 0, or with another one that was to be ignored (--ignore-failure)";

fn summary(facts: &RecordingFacts) -> Option<Drawing> {
    commands::summary(&facts.executed())
}

fn by(facts: &RecordingFacts) -> Option<Drawing> {
    commands::by_variable(&facts.executed())
}

fn executions(facts: &RecordingFacts) -> Option<Drawing> {
    commands::executions(&facts.executed(), facts.manifest.started_t_ns)
}

fn moments(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let commands = executed_commands(&run.commands, &|_| String::new());
    let measured = run.phases.iter().find(|span| span.phase == LoadPhase::Measure);
    let measured_ns = measured.map_or(run.start_ns, |span| span.from_ns);
    commands::moments(&commands, LoadBeside { intervals: &run.intervals, measured_ns })
}

pub(super) static COMMANDS: [View; 4] = [
    all(
        SUMMARY,
        "Commands",
        ViewKind::Table,
        summary,
        "Executions of each command and setting. Times are of those that ended by themselves with exit code 0; failed ones are counted apart, warm-ups not at all. ± is half of the 95 % confidence interval of the mean (Student's t).",
    ),
    all(
        "command.by",
        "Real time by parameter",
        ViewKind::SmallMultiples,
        by,
        "Mean real time of executions over the values of a swept parameter, in equal steps. Bars: 95 % confidence.",
    ),
    all(
        "command.executions",
        "Executions",
        ViewKind::Table,
        executions,
        "Every execution of every command. Started: since the recording began; late: from when it was due to its start.",
    ),
    run(
        "command.moments",
        "Commands under load",
        ViewKind::Table,
        moments,
        "The mean of the executions on the idle machine, then each execution at its moment of the measured time, and what the load of the run did meanwhile (of intervals that lie mostly within the execution: a shorter one needs a shorter interval).",
    ),
];
