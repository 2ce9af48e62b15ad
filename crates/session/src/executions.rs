//! What executions of commands become: rows, their output in `commands.log`, sentences about those that failed.

use crate::SessionError;
use crate::batch_sink::Spine;
use crate::commands::LOG;
use crate::run_context::RunContext;
use command::{CommandEnd, CommandExecutor, ExecutedCommand, StopOrder};
use engine::ExecutionRecord;
use monitor::signed;
use output::Folder;
use quantity::clock;
use quantity::text::format_ns;
use recording::rows::CommandExecution;
use recording::{EventKind, EventSeverity, ExecutionEnding, Label, LoadPhase, PhaseEdge};
use std::io::Write as _;

/// Executions that are spoken of one by one; of the others only their number is said.
const SHOWN: usize = 10;
/// Most letters of a program's last words in a sentence.
const LAST_WORDS: usize = 200;

/// What became of a run's executions.
#[derive(Debug, Default)]
pub(crate) struct ExecutionTally {
    /// Sentences about executions that failed, the first ones.
    failures: Vec<String>,
    /// All that failed.
    failed: u64,
    /// Sentences about those that the end of the run stopped or left without a beginning.
    cut: Vec<String>,
    /// All of these.
    is_cut: u64,
    /// By workload: those that count and ended by themselves or failed.
    ended: Vec<u64>,
    /// Could `commands.log` not be written?
    is_log_given_up: bool,
    /// Times in which iodyno itself did not run, of the clock, ns.
    pauses_ns: Vec<(u64, u64)>,
}

impl ExecutionTally {
    /// iodyno itself did not run in this time.
    pub(crate) fn paused(&mut self, from_ns: u64, to_ns: u64) {
        self.pauses_ns.push((from_ns, to_ns));
    }

    fn phase_of(&self, record: &ExecutionRecord) -> LoadPhase {
        let ExecutedCommand { start_ns, end_ns, .. } = record.executed;
        let is_paused =
            |(from_ns, to_ns): &(u64, u64)| start_ns.is_some_and(|start_ns| start_ns < *to_ns && end_ns > *from_ns);
        match record.is_warmup {
            true => LoadPhase::Warmup,
            false if self.pauses_ns.iter().any(is_paused) => LoadPhase::Paused,
            false => LoadPhase::Measure,
        }
    }

    /// Records executions of the run itself.
    pub(crate) fn take(
        &mut self,
        spine: &mut Spine<'_>,
        context: &RunContext<'_>,
        records: &[ExecutionRecord],
    ) -> Result<(), SessionError> {
        let phased: Vec<(LoadPhase, &ExecutionRecord)> =
            records.iter().map(|record| (self.phase_of(record), record)).collect();
        self.keep(spine, context, &phased)
    }

    fn keep(
        &mut self,
        spine: &mut Spine<'_>,
        context: &RunContext<'_>,
        records: &[(LoadPhase, &ExecutionRecord)],
    ) -> Result<(), SessionError> {
        if records.is_empty() {
            return Ok(());
        }
        let row = |(phase, record): &(LoadPhase, &ExecutionRecord)| row_of(spine, context, phase.clone(), record);
        let rows: Vec<CommandExecution> = records.iter().map(row).collect();
        spine.rows(&rows)?;
        for (phase, record) in records {
            self.judge(spine, context, phase, record)?;
        }
        self.log(spine, context, records)
    }

    /// Keeps what the executions wrote. Where that fails (a full disk), it is given up with all that was kept, so that the times
    /// still have room.
    fn log(
        &mut self,
        spine: &mut Spine<'_>,
        context: &RunContext<'_>,
        records: &[(LoadPhase, &ExecutionRecord)],
    ) -> Result<(), SessionError> {
        if self.is_log_given_up {
            return Ok(());
        }
        let Err(error) = log(context, records) else { return Ok(()) };
        self.is_log_given_up = true;
        let folder = Folder::open(context.directory)?;
        if let Ok(file) = folder.open_to_append(LOG) {
            let _ = file.set_len(0);
        }
        let title = context.title;
        let sentence = format!("{title}: {error}; what commands wrote is not kept any more, their times are");
        spine.event(EventSeverity::Warning, EventKind::Command, Some(title), None, &sentence)?;
        spine.messages.push(sentence);
        Ok(())
    }

    /// Did an execution fail, or was one asked for and none of its command came to its end?
    pub(crate) fn has_failed(&self, context: &RunContext<'_>) -> bool {
        self.failed > 0 || self.is_cut > 0 && self.unmeasured(context).next().is_some()
    }

    /// Names of commands of which no execution came to its end.
    fn unmeasured<'a>(&'a self, context: &'a RunContext<'_>) -> impl Iterator<Item = &'a str> {
        let all = context.run.workloads.iter().enumerate().filter(|(_, workload)| workload.load.command().is_some());
        all.filter(|(at, _)| self.ended.get(*at).is_none_or(|ended| *ended == 0))
            .map(|(_, workload)| workload.name.as_str())
    }

    /// Says what went wrong with one of them.
    fn judge(
        &mut self,
        spine: &mut Spine<'_>,
        context: &RunContext<'_>,
        phase: &LoadPhase,
        record: &ExecutionRecord,
    ) -> Result<(), SessionError> {
        let executed = &record.executed;
        self.ended.resize(context.run.workloads.len(), 0);
        if let Some(ended) = self.ended.get_mut(record.workload).filter(|_| {
            matches!(phase, LoadPhase::Measure | LoadPhase::Paused)
                && !matches!(executed.end, CommandEnd::Stopped { .. } | CommandEnd::Waiting)
        }) {
            *ended += 1;
        }
        // Something of it lives on, or its end is not known.
        let is_unclear = executed.start_ns.is_some() && !executed.error.is_empty();
        let (severity, sentence) = match sentence_of(context, phase, record) {
            Some(said) => said,
            None if !is_unclear && executed.left_behind == 0 => return Ok(()),
            None => {
                let severity = if is_unclear { EventSeverity::Error } else { EventSeverity::Warning };
                (severity, left_behind(context, phase, record))
            }
        };
        spine.event(severity, EventKind::Command, Some(context.title), None, &sentence)?;
        if (executed.end.is_failure() && !is_accepted(context, record)) || is_unclear {
            self.failed += 1;
            self.failures.extend((self.failures.len() < SHOWN).then_some(sentence));
        } else if matches!(executed.end, CommandEnd::Stopped { .. } | CommandEnd::Waiting) {
            self.is_cut += 1;
            self.cut.extend((self.cut.len() < SHOWN).then_some(sentence));
        }
        Ok(())
    }

    /// The sentences for the end of the command: failures first, then what the end of the run cut short, then commands that were
    /// executed less often than was asked.
    pub(crate) fn sentences(&self, context: &RunContext<'_>) -> Vec<String> {
        let title = context.title;
        let mut said = self.failures.clone();
        let more = |count: u64, shown: usize, what: &str| {
            let more = count - shown as u64;
            (more > 0).then(|| format!("{title}: {more} more executions {what}"))
        };
        said.extend(more(self.failed, self.failures.len(), "failed"));
        said.extend(self.cut.iter().cloned());
        said.extend(more(self.is_cut, self.cut.len(), "were stopped or did not start, because the run was over"));
        if self.is_cut > 0 {
            let none = self.unmeasured(context);
            said.extend(
                none.map(|name| format!("{title}: no execution of {name} came to its end: nothing was measured")),
            );
        }
        for (at, workload) in context.run.workloads.iter().enumerate() {
            let asked = workload.load.command().filter(|load| load.at_ns.is_empty()).and_then(|load| load.executions);
            let ended = self.ended.get(at).copied().unwrap_or(0);
            if let Some(asked) = asked.filter(|asked| ended < *asked) {
                said.push(format!(
                    "{title}: {ended} of {asked} executions of {} ended before the run did",
                    workload.name
                ));
            }
        }
        said
    }
}

/// Did it end with another exit code than 0, which is to be ignored?
fn is_accepted(context: &RunContext<'_>, record: &ExecutionRecord) -> bool {
    let load = context.run.workloads.get(record.workload).and_then(|workload| workload.load.command());
    matches!(record.executed.end, CommandEnd::Exited(code) if code != 0)
        && load.is_some_and(|load| load.ignores_failure)
}

/// Which execution it is, in a sentence.
fn name_of(context: &RunContext<'_>, phase: &LoadPhase, record: &ExecutionRecord) -> String {
    let name = context.run.workloads.get(record.workload).map_or("", |workload| &workload.name);
    let kind = match phase {
        LoadPhase::Baseline => "baseline ",
        LoadPhase::Warmup => "warm-up ",
        _ => "",
    };
    format!("{}: {name}, execution {kind}{}", context.title, record.number)
}

/// What is said of an execution that did not end as it should.
fn sentence_of(
    context: &RunContext<'_>,
    phase: &LoadPhase,
    record: &ExecutionRecord,
) -> Option<(EventSeverity, String)> {
    let executed = &record.executed;
    let name = name_of(context, phase, record);
    let real = format_ns(executed.start_ns.map_or(0, |start_ns| executed.end_ns.saturating_sub(start_ns)));
    let words = last_words(executed).map_or(String::new(), |words| format!(": {words}"));
    let said = match executed.end {
        CommandEnd::Exited(0) => return None,
        CommandEnd::Exited(_) if is_accepted(context, record) => return None,
        CommandEnd::Exited(code) => {
            (EventSeverity::Error, format!("{name}, ended with exit code {code} after {real}{words}"))
        }
        CommandEnd::Signalled(signal) => {
            (EventSeverity::Error, format!("{name}, was ended by signal {signal} after {real}{words}"))
        }
        CommandEnd::NotStarted => (EventSeverity::Error, format!("{name}, did not start: {}{words}", executed.error)),
        CommandEnd::Stopped { .. } => {
            let error = if executed.error.is_empty() { String::new() } else { format!("; {}", executed.error) };
            let why = match phase {
                LoadPhase::Baseline if !context.stop.is_requested() => "which is the whole time of the run (elapsed)",
                _ => "because the run was over; no figure counts it",
            };
            (EventSeverity::Warning, format!("{name}, was stopped after {real}, {why}{error}"))
        }
        CommandEnd::Waiting => {
            (EventSeverity::Warning, format!("{name}, was due, and the run was over before it could start"))
        }
    };
    Some(said)
}

fn left_behind(context: &RunContext<'_>, phase: &LoadPhase, record: &ExecutionRecord) -> String {
    let (name, executed) = (name_of(context, phase, record), &record.executed);
    if !executed.error.is_empty() {
        return format!("{name}: {}", executed.error);
    }
    match executed.left_behind {
        1 => format!("{name}, left 1 process behind, which was ended"),
        count => format!("{name}, left {count} processes behind, which were ended"),
    }
}

/// The last line of its output.
fn last_words(executed: &ExecutedCommand) -> Option<String> {
    let output = if executed.output.tail().is_empty() { executed.output.head() } else { executed.output.tail() };
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?.trim();
    Some(line.chars().take(LAST_WORDS).collect())
}

fn row_of(spine: &Spine<'_>, context: &RunContext<'_>, phase: LoadPhase, record: &ExecutionRecord) -> CommandExecution {
    let workload = context.run.workloads.get(record.workload);
    let line = workload.and_then(|workload| workload.load.command()).map(|load| load.line.to_string());
    let executed = &record.executed;
    let row = CommandExecution {
        t_ns: signed(executed.end_ns),
        t_s: spine.seconds(executed.end_ns),
        run: context.title.to_string(),
        run_index: context.run_index,
        phase,
        workload: Label::from(workload.map_or("", |workload| workload.name.as_str())),
        line: Label::from(line.unwrap_or_default().as_str()),
        number: signed(record.number),
        due_t_ns: signed(record.due_ns),
        start_t_ns: executed.start_ns.map(signed),
        ending: ExecutionEnding::Exited,
        exit_code: None,
        signal: None,
        real_ns: executed.start_ns.map(|start_ns| signed(executed.end_ns.saturating_sub(start_ns))),
        output_bytes: executed.start_ns.map(|_| signed(executed.output.bytes())),
        left_behind: executed.start_ns.map(|_| signed(executed.left_behind)),
        error: executed.error.clone(),
        ..monitor::command_usage(executed.usage.as_ref())
    };
    match executed.end {
        CommandEnd::Exited(code) if is_accepted(context, record) => {
            CommandExecution { ending: ExecutionEnding::Accepted, exit_code: Some(code), ..row }
        }
        CommandEnd::Exited(code) => CommandExecution { exit_code: Some(code), ..row },
        CommandEnd::Signalled(signal) => {
            CommandExecution { ending: ExecutionEnding::Signalled, signal: Some(signal), ..row }
        }
        CommandEnd::Stopped { code, signal } => {
            CommandExecution { ending: ExecutionEnding::Stopped, exit_code: code, signal, ..row }
        }
        CommandEnd::NotStarted => CommandExecution { ending: ExecutionEnding::NotStarted, ..row },
        CommandEnd::Waiting => CommandExecution { ending: ExecutionEnding::Waiting, ..row },
    }
}

/// Appends what the executions wrote to `commands.log`.
fn log(context: &RunContext<'_>, records: &[(LoadPhase, &ExecutionRecord)]) -> Result<(), SessionError> {
    let path = context.directory.join(LOG);
    let failed = |source| SessionError::Write { path: path.clone(), source };
    let mut file = Folder::open(context.directory)?.append(LOG)?;
    for (phase, record) in records {
        let executed = &record.executed;
        let load = context.run.workloads.get(record.workload).and_then(|workload| workload.load.command());
        let line = load.map(|load| load.line.to_string()).unwrap_or_default();
        let how = match executed.end {
            CommandEnd::Exited(code) => format!("exit code {code}"),
            CommandEnd::Signalled(signal) => format!("signal {signal}"),
            CommandEnd::Stopped { .. } => "stopped with the run".to_string(),
            CommandEnd::NotStarted => format!("not started: {}", executed.error),
            CommandEnd::Waiting => "the run was over before it could start".to_string(),
        };
        let mut text = format!("$ {line}  # {}: {how}\n", name_of(context, phase, record)).into_bytes();
        text.extend_from_slice(executed.output.head());
        if executed.output.left_out() > 0 {
            text.extend(format!("\n… {} bytes are not kept …\n", executed.output.left_out()).into_bytes());
        }
        text.extend_from_slice(executed.output.tail());
        if text.last() != Some(&b'\n') {
            text.push(b'\n');
        }
        file.write_all(&text).map_err(failed)?;
    }
    Ok(())
}

/// Executes the run's commands on the idle machine, as often as each asks, before the load begins.
pub(crate) fn baseline(
    context: &RunContext<'_>,
    spine: &mut Spine<'_>,
    tally: &mut ExecutionTally,
) -> Result<(), SessionError> {
    let loads = context.run.workloads.iter().enumerate();
    let wanted: Vec<_> = loads
        .filter_map(|(at, workload)| Some((at, workload.load.command()?)))
        .filter(|(_, load)| load.baselines > 0)
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let order = || match (context.stop.is_urgent(), context.stop.is_requested()) {
        (true, _) => StopOrder::StopNow,
        (false, true) => StopOrder::Stop,
        (false, false) => StopOrder::GoOn,
    };
    let mut executor = CommandExecutor::start();
    spine.phase(context, LoadPhase::Baseline, PhaseEdge::Start, clock::now_ns())?;
    for (workload, load) in wanted {
        for number in 1..=u64::from(load.baselines) {
            if order() != StopOrder::GoOn {
                break;
            }
            // One that hangs must not keep the load from its turn.
            let until_ns = context.run.elapsed_ns.map(|elapsed_ns| clock::now_ns().saturating_add(elapsed_ns));
            let limited = || match until_ns.is_some_and(|until_ns| clock::now_ns() > until_ns) {
                true => order().max(StopOrder::Stop),
                false => order(),
            };
            let executed = executor.execute(&load.line, load.prepare.as_ref(), &limited);
            let due_ns = executed.start_ns.unwrap_or(executed.end_ns);
            let record = ExecutionRecord { workload, is_warmup: false, number, due_ns, executed };
            tally.keep(spine, context, &[(LoadPhase::Baseline, &record)])?;
        }
    }
    spine.phase(context, LoadPhase::Baseline, PhaseEdge::End, clock::now_ns())
}
