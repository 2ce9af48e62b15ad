//! Behind the last run of a validated plan: everything that was written is read once more, and the verdict is given.

use super::Life;
use crate::SessionError;
use crate::outcome::CommandEnding;
use crate::run_loop::{Cause, RunResult};
use crate::validation::{self as data, Coverage, Verdict};
use engine::ResolvedRate;
use plan::{ShellCommand, TextSpan};
use quantity::clock;
use recording::rows::DataVerdict;
use recording::{EventKind, EventSeverity};
use validation::JudgedDamage;

/// Rows that go into the recording at once.
const ROWS_AT_ONCE: usize = 4096;

impl Life<'_, '_> {
    /// Reads what was written, where that is asked for and makes sense, and tells what was proved.
    pub(super) fn verify(&mut self) -> Result<(), SessionError> {
        let Some(validation) = &self.validation else { return Ok(()) };
        let swept = match validation.settings.sweeps || self.only_recovers() {
            false => Err("not read again at the end"),
            true if self.stop.is_requested() => Err("not read again at the end, because the command was interrupted"),
            true if self.is_over() => Err("not read again at the end, because the runs were stopped"),
            true => self.sweep(None)?,
        };
        self.conclude(swept, "verify")
    }

    /// Tells what was proved. `swept`: what was read of all that is known in the run of this title, or why nothing was.
    fn conclude(&mut self, swept: Result<Coverage, &'static str>, title: &str) -> Result<(), SessionError> {
        let Some(validation) = &self.validation else { return Ok(()) };
        let left_out = self.found_journal.as_ref().map(|found| found.left_out().clone()).unwrap_or_default();
        let verdict = Verdict::of(self.plan, validation, swept, &left_out);
        let t_ns = clock::now_ns();
        let at = ((title, (self.next_index - 1).max(0)), (t_ns, self.spine.seconds(t_ns)));
        if let Some(row) = swept.ok().and_then(|_| data::left_out_row(&left_out, at.0, at.1)) {
            self.spine.rows(&[row])?;
        }
        if verdict.is_wrong {
            self.ending = self.ending.max(CommandEnding::DataWrong);
        }
        self.tell_damages(&verdict.damages)?;
        let severity = if verdict.is_wrong { EventSeverity::Error } else { EventSeverity::Info };
        let what_next = self
            .validation
            .as_ref()
            .and_then(|validation| data::what_next(self.plan, validation, &verdict.damages, &self.request.directory));
        for sentence in &verdict.sentences {
            self.spine.event(severity.clone(), EventKind::Data, None, None, sentence)?;
        }
        // The verdict itself is the last word.
        self.spine.verdict = verdict.sentences;
        let before_last = self.spine.verdict.len().saturating_sub(1);
        self.spine.verdict.splice(before_last..before_last, what_next);
        self.end_journal()
    }

    /// Records what happened to each damaged block, by all that was found.
    fn tell_damages(&mut self, damages: &[JudgedDamage]) -> Result<(), SessionError> {
        for some in damages.chunks(ROWS_AT_ONCE) {
            let row = |damage: &JudgedDamage| {
                let name = self.plan.place_name(damage.target);
                let validation = self.validation.as_ref();
                let file = validation.and_then(|validation| data::path_of(validation, damage.target, damage.file));
                data::verdict_row(damage, (name, file), self.spine.seconds(damage.t_ns))
            };
            let rows: Vec<DataVerdict> = some.iter().map(row).collect();
            self.spine.rows(&rows)?;
        }
        Ok(())
    }

    /// Is nothing done but reading what the journal says must be there?
    pub(super) fn only_recovers(&self) -> bool {
        crate::recovering::only_recovers(self.plan)
    }

    /// Tells what the journal of an earlier session says, and reads what must be there before anything is written. True: nothing else is
    /// done, and the verdict is given.
    pub(super) fn recovered(&mut self) -> Result<bool, SessionError> {
        let (Some(found), Some(validation)) = (&mut self.found_journal, &self.validation) else { return Ok(false) };
        found.compare(self.plan, validation, &self.targets);
        validation.trees.iter().flatten().for_each(|tree| tree.look());
        let (sentences, rest) = (found.sentences(), found.left_out().words());
        // Said once, at the end: there the verdict stands, which is about it.
        for sentence in sentences {
            self.tell_of_data(EventSeverity::Info, sentence)?;
        }
        if self.only_recovers() {
            let lost = self.validation.as_ref().map_or(0, |validation| validation.reports.count());
            let prevented = data::load_prevented(self.plan, lost);
            if let Some(sentence) = prevented.filter(|_| !crate::recovering::only_recovers(&self.request.plan)) {
                self.tell_of_data(EventSeverity::Error, format!("recovery: {sentence}"))?;
            }
            self.verify()?;
            return Ok(true);
        }
        let swept = match self.is_over() {
            true => Err("not read, because the command was interrupted"),
            false => self.sweep(Some("recovery"))?,
        };
        if let (Ok(Coverage { known: 0, .. }), Some(found)) = (swept, &mut self.found_journal) {
            found.proved_nothing();
        }
        let Some(validation) = &self.validation else { return Ok(false) };
        let damaged = validation.reports.count();
        let sentence = match (swept, damaged) {
            (Err(why), _) => format!("what the journal says must be there: {why}"),
            (Ok(coverage), 0) if coverage.known == 0 => {
                format!("the journal says of no block what must be there: nothing of what lay there was proved{rest}")
            }
            (Ok(_), 0) if rest.is_empty() => "all that the journal says must be there is there".to_string(),
            (Ok(_), 0) => format!("what was read of what the journal says must be there is there{rest}"),
            (Ok(_), count) => format!("blocks that are not what the journal says: {count}{rest}"),
        };
        self.tell_of_data(EventSeverity::Info, sentence)?;
        let prevented = data::load_prevented(self.plan, damaged);
        let ends = prevented.is_some() || self.is_over();
        if let Some(sentence) = prevented {
            self.tell_of_data(EventSeverity::Error, format!("recovery: {sentence}"))?;
        }
        if ends {
            self.conclude(swept, "recovery")?;
        }
        Ok(ends)
    }

    /// A sentence about the data, which stands at the end, too.
    fn tell_of_data(&mut self, severity: EventSeverity, sentence: String) -> Result<(), SessionError> {
        self.spine.event(severity, EventKind::Data, None, None, &sentence)?;
        self.spine.messages.push(sentence);
        Ok(())
    }

    /// The journal ends: nothing is under way.
    fn end_journal(&mut self) -> Result<(), SessionError> {
        match self.validation.as_ref().and_then(data::end_journal) {
            None => Ok(()),
            Some(Ok(sentence)) => self.spine.note(EventKind::Data, &sentence),
            Some(Err(sentence)) => {
                self.ending = self.ending.max(CommandEnding::TargetFailed);
                // A run that it has ended has said so.
                if !self.spine.messages.iter().any(|said| said.ends_with(&sentence)) {
                    self.spine.event(EventSeverity::Error, EventKind::Data, None, None, &sentence)?;
                    self.spine.messages.push(sentence);
                }
                Ok(())
            }
        }
    }

    /// The run that reads everything once; how much it was, or why nothing was read.
    fn sweep(&mut self, title: Option<&str>) -> Result<Result<Coverage, &'static str>, SessionError> {
        let Some(validation) = &self.validation else { return Ok(Err("not validated")) };
        data::begin_sweep(validation);
        data::leave_out_ends(validation, &self.targets);
        let Some(mut run) = data::sweep_run(self.plan, validation, &self.targets) else {
            return Ok(Ok(Coverage::default()));
        };
        run.title = title.map_or(run.title, str::to_string);
        for sentence in data::leave_caches(validation, &self.targets) {
            self.spine.event(EventSeverity::Warning, EventKind::Cache, Some(&run.title), None, &sentence)?;
            self.spine.messages.push(sentence);
        }
        self.is_sweeping = true;
        self.spine.set_remaining_ns(None);
        let result = self.run(self.plan, &run, &run.title, ResolvedRate::Max);
        self.is_sweeping = false;
        let result = result?;
        let coverage = self.validation.as_ref().map(Coverage::of).unwrap_or_default();
        Ok(if result.cause == Cause::Done { Ok(coverage) } else { Err("reading it again was interrupted") })
    }

    /// Executes the command that the plan has for too many errors (`data_errors=COMMAND`), when a run had as many.
    pub(super) fn errors_command(&mut self, title: &str, result: &RunResult) -> Result<(), SessionError> {
        let line = self.plan.settings.errors_command.clone();
        let Some(line) = line.filter(|_| matches!(result.cause, Cause::Errors | Cause::Damage)) else { return Ok(()) };
        let command = ShellCommand { line, output: "log".to_string(), abort: false, span: TextSpan::default() };
        self.commands(&[command], Some(title))
    }
}
