//! What is said of a run when it is over: its objectives, its jobs, what went wrong.

use super::Life;
use crate::SessionError;
use crate::job_ends;
use crate::outcome::CommandEnding;
use crate::run_loop::{Cause, RunResult};
use crate::trees::TreeRemark;
use objectives::Judgement;
use plan::{Plan, Run};
use quantity::text::format_ns;
use recording::{EventKind, EventSeverity};

impl Life<'_, '_> {
    /// Says what became of the trees of a run. A format that did not make all has failed.
    pub(super) fn of_trees(&mut self, run: &Run, title: &str, remarks: Vec<TreeRemark>) -> Result<(), SessionError> {
        for TreeRemark { name, sentence, is_trouble } in remarks {
            let sentence = format!("{title}: {sentence}");
            let severity = if is_trouble { EventSeverity::Warning } else { EventSeverity::Info };
            self.spine.event(severity, EventKind::Format, Some(title), Some(&name), &sentence)?;
            self.spine.messages.push(sentence);
            if is_trouble && run.format && !self.stop.is_requested() {
                self.ending = self.ending.max(CommandEnding::TargetFailed);
            }
        }
        Ok(())
    }

    /// Did the run achieve what it had to? Filling the targets has no objectives.
    pub(super) fn objectives(&mut self, run: &Run, run_index: i32) -> Result<(), SessionError> {
        let which = match (run.format, self.is_sweeping) {
            (_, true) => self.objectives.of_reading(self.plan, run),
            (true, false) => Vec::new(),
            (false, false) => self.objectives.of_run(self.plan, run),
        };
        let verdicts = self.spine.judge(run_index, &which)?;
        self.objectives.learn(&verdicts);
        for verdict in verdicts.iter().filter(|verdict| verdict.judgement != Judgement::Met) {
            self.spine.messages.push(verdict.summary());
            if verdict.judgement.fails() {
                self.ending = self.ending.max(CommandEnding::ObjectiveMissed);
            }
        }
        Ok(())
    }

    /// Says how the run's jobs ended where that was not at their limits.
    pub(super) fn jobs(
        &mut self,
        plan: &Plan,
        run: &Run,
        (title, run_index): (&str, i32),
        result: &RunResult,
    ) -> Result<(), SessionError> {
        let met = job_ends::errors(run, run_index, &result.statuses);
        if !met.is_empty() {
            self.job_errors.extend(met);
            let all = serde_json::json!(self.job_errors);
            self.spine.manifest(|manifest| {
                manifest.extra.insert(tool_output::fio_out::JOB_ERRORS.into(), all);
            })?;
        }
        if let Some(found) = &result.steady {
            self.steady_states.push(found.clone());
            let all = serde_json::json!(self.steady_states);
            self.spine.manifest(|manifest| {
                manifest.extra.insert(tool_output::fio_out::STEADY_STATES.into(), all);
            })?;
        }
        if !result.is_read_before {
            self.ending = self.ending.max(CommandEnding::TargetFailed);
        }
        for said in job_ends::said(plan, run, title, &result.statuses) {
            self.spine.event(said.severity, said.kind, Some(title), None, &said.sentence)?;
            self.spine.messages.push(said.sentence);
            self.ending = self.ending.max(said.ending);
        }
        Ok(())
    }

    /// Says what went wrong in a run.
    pub(super) fn judge(&mut self, run: &Run, title: &str, result: &RunResult) -> Result<(), SessionError> {
        let mut is_silent = false;
        let mut say = |severity: EventSeverity, kind: EventKind, sentence: String| {
            let noted = self.spine.event(severity, kind, Some(title), None, &sentence);
            self.spine.messages.push(sentence);
            noted
        };
        if result.unfinished > 0 {
            say(
                EventSeverity::Error,
                EventKind::Unfinished,
                format!(
                    "{title}: {} had not come back when the run was given up; the oldest had been due for {}, and all percentiles \
                     of the run count it so",
                    operations(result.unfinished),
                    format_ns(result.oldest_ns.unwrap_or(0))
                ),
            )?;
            is_silent = true;
        }
        if result.waiting > 0 {
            let sentence = format!("{title}: {}", waiting(result.waiting, result.ends_in_a_pause));
            say(EventSeverity::Warning, EventKind::Backlog, sentence)?;
        }
        if did_nothing(run, result) && !self.is_sweeping {
            say(EventSeverity::Error, EventKind::Trouble, format!("{title}: no operation was done"))?;
            self.ending = self.ending.max(CommandEnding::TargetFailed);
        } else if let Some(elapsed_ns) = run.elapsed_ns.filter(|_| ends_with_its_work(run, result)) {
            let (lasted, elapsed) =
                (format_ns(result.measured_ns.saturating_add(result.paused_ns)), format_ns(elapsed_ns));
            let sentence = format!("{title}: ended after {lasted} of {elapsed}, because there was nothing left to do");
            say(EventSeverity::Warning, EventKind::Trouble, sentence)?;
        }
        match result.cause {
            Cause::Done | Cause::Monitor => {
                // Who asks twice to stop gives up waiting: that is not the target's doing.
                if is_silent {
                    self.ending = self.ending.max(CommandEnding::TargetFailed);
                }
                // Failures that a job was to go on after are its own business, and said with it.
                let passed_over: u64 = result.statuses.iter().map(|status| status.passed_over).sum();
                if result.all.errors > passed_over {
                    let first = first_failure(run, result);
                    let sentence = format!("{title}: {} failed{first}", operations(result.all.errors));
                    say(EventSeverity::Error, EventKind::IoErrors, sentence)?;
                    self.ending = self.ending.max(CommandEnding::TargetFailed);
                }
            }
            Cause::Interrupted => self.ending = self.ending.max(CommandEnding::Interrupted),
            Cause::Damage => {
                let sentence =
                    crate::validation::too_much_damage(title, self.plan, self.validation.as_ref(), self.errors);
                say(EventSeverity::Error, EventKind::ErrorsMax, sentence)?;
            }
            Cause::Journal => {
                let sentence = crate::validation::journal_trouble(title, self.validation.as_ref());
                say(EventSeverity::Error, EventKind::Data, sentence)?;
                self.ending = self.ending.max(CommandEnding::TargetFailed);
            }
            Cause::Errors => {
                let sentence = match run.stop.errors {
                    Some(_) => format!("{title}: stopped at its first error (continue_on_error=none)"),
                    None => {
                        let (limit, first) = (self.plan.settings.errors_max, first_failure(run, result));
                        format!("{title}: stopped, {} operations failed (data_errors={limit}){first}", self.errors)
                    }
                };
                say(EventSeverity::Error, EventKind::ErrorsMax, sentence)?;
                self.ending = self.ending.max(CommandEnding::TargetFailed);
            }
        }
        Ok(())
    }

    /// `abort_failed_skew`: did the workloads get the shares that were asked for?
    pub(super) fn check_shares(&mut self, run: &Run, title: &str, result: &RunResult) -> Result<(), SessionError> {
        let Some(tolerance) = self.plan.settings.skew_tolerance else { return Ok(()) };
        let total: u64 = result.ops_by_workload.iter().sum();
        for (workload, ops) in run.workloads.iter().zip(&result.ops_by_workload) {
            let achieved = if total == 0 { 0.0 } else { *ops as f64 / total as f64 };
            if (achieved - workload.share).abs() > tolerance {
                let sentence = format!(
                    "{title}: workload {} did {:.2} % of the operations, asked were {:.2} % (abort_failed_skew={:.2})",
                    workload.name,
                    achieved * 100.0,
                    workload.share * 100.0,
                    tolerance * 100.0
                );
                self.spine.event(EventSeverity::Error, EventKind::Skew, Some(title), None, &sentence)?;
                self.spine.messages.push(sentence);
                self.ending = self.ending.max(CommandEnding::ObjectiveMissed);
            }
        }
        Ok(())
    }
}

/// The first failure of a run in trees, behind a sentence that counts them.
fn first_failure(run: &Run, result: &RunResult) -> String {
    let first = result.first_failure.as_ref().filter(|_| run.is_of_trees());
    first.map_or(String::new(), |first| format!("; the first: {first}"))
}

/// Was no operation done in a run in trees that was to do some?
fn did_nothing(run: &Run, result: &RunResult) -> bool {
    run.is_of_trees() && !run.format && result.cause == Cause::Done && result.all.ops + result.all.errors == 0
}

/// Did a run in trees end before its time by itself, without a limit that was asked for?
fn ends_with_its_work(run: &Run, result: &RunResult) -> bool {
    let stop = &run.stop;
    let is_limited = [stop.total, stop.read, stop.written].iter().any(Option::is_some) || stop.operations.is_some();
    // A pause is in no figure, and yet the run lasted through it.
    let lasted_ns = result.measured_ns.saturating_add(result.paused_ns);
    let is_short = run.elapsed_ns.is_some_and(|elapsed_ns| lasted_ns.saturating_add(run.interval_ns) < elapsed_ns);
    run.is_of_trees() && !run.format && result.cause == Cause::Done && !is_limited && is_short
}

/// What became due and was not submitted.
fn waiting(count: u64, ends_in_a_pause: bool) -> String {
    let (were, pronoun, counts) = if count == 1 { ("was", "it", "counts") } else { ("were", "they", "count") };
    let counted = match ends_in_a_pause {
        true => format!("{pronoun} {counts} in no figure, because iodyno itself had not run just before"),
        false => format!("{pronoun} {counts} with the time that {pronoun} had waited"),
    };
    format!("{} {were} due and still waiting for submission at the end; {counted}", operations(count))
}

fn operations(count: u64) -> String {
    if count == 1 { "1 operation".to_string() } else { format!("{count} operations") }
}
