//! Where batches go while a command runs: always the recording first, then the face, if there is one.

use crate::SessionError;
use crate::rows::RowSpan;
use crate::run_context::RunContext;
use crate::run_observer::RunObserver;
use engine::ResolvedRate;
use monitor::{clock_step, signed};
use objectives::{CUT_SHORT, Condition, ConditionJudge, ObjectiveVerdict, PendingRun, RunHalt};
use quantity::clock;
use recording::rows::{Event, Objective, Phase, RunEnd, RunTotal, StepTotal};
use recording::{
    ClockAnchor, EventKind, EventSeverity, LoadPhase, PhaseEdge, RecordingError, RecordingExit, Row, RowBatch, Sink,
    Writer,
};
use trace::block::PackedChunk;
use tui::{CommandHeader, RunHeader, TreeMaking};

/// What the face is to know of a command beforehand.
fn command_header(workload: &plan::Workload) -> Option<CommandHeader> {
    let load = workload.load.command()?;
    let is_timed = !load.at_ns.is_empty();
    let measured = if is_timed { u64::try_from(load.at_ns.len()).ok() } else { load.executions };
    let counts = [Some(u64::from(load.baselines)), Some(u64::from(load.warmups)), measured];
    Some(CommandHeader { name: workload.name.clone(), counts, is_timed })
}

/// What a format is to make: what is not there.
fn making(context: &RunContext<'_>) -> Option<TreeMaking> {
    let mut making = TreeMaking::default();
    for workload in &context.run.workloads {
        let load = workload.load.tree()?;
        let plan::TreeTask::Format(task) = load.task else { return None };
        if task.only_deletes {
            return None;
        }
        for at in load.uses.iter().map(|one| one.tree) {
            let (spec, tree) = (context.plan.trees.get(at)?, context.trees.get(at)?.as_ref()?);
            let (layout, state) = (tree.layout(), tree.state());
            making.trees += if making.trees.is_empty() { "" } else { ", " };
            making.trees += &spec.name;
            making.directories += (0..layout.directories()).filter(|at| !state.has_directory(*at)).count() as u64;
            if !task.only_directories {
                making.files += tree.members().iter().filter(|file| !state.file(*file).exists).count() as u64;
            }
        }
    }
    Some(making)
}

/// The recording's writer and the face.
pub(crate) struct Spine<'a> {
    writer: Writer,
    face: Option<&'a mut dyn RunObserver>,
    origin_ns: u64,
    run_count: usize,
    remaining_ns: Option<u64>,
    judge: ConditionJudge,
    /// Sentences for the end of the command.
    pub(crate) messages: Vec<String>,
    /// What came of the data, the verdict last.
    pub(crate) verdict: Vec<String>,
    /// Has every replay so far been like its trace?
    pub(crate) is_faithful: bool,
}

impl<'a> Spine<'a> {
    pub(crate) fn new(
        writer: Writer,
        face: &'a mut dyn RunObserver,
        origin_ns: u64,
        run_count: usize,
        conditions: Vec<Condition>,
    ) -> Self {
        Self {
            writer,
            face: Some(face),
            origin_ns,
            run_count,
            remaining_ns: None,
            judge: ConditionJudge::new(conditions),
            messages: Vec::new(),
            verdict: Vec::new(),
            is_faithful: true,
        }
    }

    pub(crate) fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    pub(crate) fn set_remaining_ns(&mut self, remaining_ns: Option<u64>) {
        self.remaining_ns = remaining_ns;
    }

    pub(crate) fn stretch<'b>(&self, context: &'b RunContext<'_>, phase: LoadPhase) -> RowSpan<'b> {
        RowSpan {
            plan: context.plan,
            run: context.run,
            title: context.title,
            run_index: context.run_index,
            phase,
            origin_ns: self.origin_ns,
        }
    }

    /// Drops the face when its reader has closed the output; the recording goes on.
    fn face(&mut self, tell: impl FnOnce(&mut dyn RunObserver) -> Result<(), RecordingError>) {
        let Some(face) = self.face.as_mut() else { return };
        if let Err(error) = tell(&mut **face) {
            self.messages.push(format!("standard output was given up ({error}); the recording is not affected"));
            self.face = None;
        }
    }

    /// Journals `batches`, and shows them only after that.
    fn publish(&mut self, batches: &[RowBatch]) -> Result<(), SessionError> {
        for batch in batches {
            self.writer.accept(batch)?;
            self.judge.accept(batch)?;
        }
        self.writer.commit()?;
        self.face(|face| {
            for batch in batches {
                face.accept(batch)?;
            }
            face.commit()
        });
        Ok(())
    }

    /// Counters of the machine outside an interval.
    pub(crate) fn counters(&mut self, batches: &[RowBatch]) -> Result<(), SessionError> {
        self.publish(batches)
    }

    /// One interval of one run: what the load did, and counters of the machine.
    pub(crate) fn interval(&mut self, batches: &[RowBatch]) -> Result<(), SessionError> {
        self.publish(batches)?;
        self.anchor()
    }

    /// Ties the monotonic clock to the wall clock, and says when that was set.
    fn anchor(&mut self) -> Result<(), SessionError> {
        match self.writer.follow_clock(ClockAnchor::now())? {
            Some(step_ns) => self.rows(&[clock_step(step_ns, self.origin_ns)]),
            None => Ok(()),
        }
    }

    /// Marks the start or end of a phase.
    pub(crate) fn phase(
        &mut self,
        context: &RunContext<'_>,
        phase: LoadPhase,
        event: PhaseEdge,
        t_ns: u64,
    ) -> Result<(), SessionError> {
        let row = Phase {
            t_ns: signed(t_ns),
            t_s: self.seconds(t_ns),
            run: context.title.to_string(),
            run_index: context.run_index,
            phase,
            event,
            offered_rate: offered_rate(context),
            detail: loops_text(context.run),
        };
        self.publish(&[RowBatch::from_rows(&[row])?])?;
        self.writer.sync()?;
        Ok(())
    }

    /// Something happened that belongs to no interval.
    pub(crate) fn event(
        &mut self,
        severity: EventSeverity,
        kind: EventKind,
        run: Option<&str>,
        target: Option<&str>,
        message: &str,
    ) -> Result<(), SessionError> {
        let t_ns = clock::now_ns();
        let row = Event {
            t_ns: signed(t_ns),
            t_s: self.seconds(t_ns),
            severity,
            kind,
            class: None,
            run: run.map(String::from),
            target: target.map(String::from),
            message: message.to_string(),
            count: 1,
        };
        self.publish(&[RowBatch::from_rows(&[row])?])
    }

    /// Publishes rows of one table.
    pub(crate) fn rows<R: Row>(&mut self, rows: &[R]) -> Result<(), SessionError> {
        self.publish(&[RowBatch::from_rows(rows)?])
    }

    /// Rows of a trace: for the recording only.
    pub(crate) fn traced(&mut self, batch: &RowBatch) -> Result<(), SessionError> {
        self.writer.accept(batch)?;
        Ok(self.writer.commit()?)
    }

    /// I/Os of a trace as records: for the recording only.
    pub(crate) fn traced_ios(&mut self, ios: &PackedChunk<'_>) -> Result<(), SessionError> {
        self.writer.accept_ios(&ios.names, ios.records)?;
        Ok(self.writer.commit()?)
    }

    /// Changes the manifest.
    pub(crate) fn manifest(&mut self, change: impl FnOnce(&mut recording::Manifest)) -> Result<(), SessionError> {
        Ok(self.writer.update_manifest(change)?)
    }

    /// Where the recording is.
    pub(crate) fn directory(&self) -> &std::path::Path {
        self.writer.directory()
    }

    /// A sentence about a run for the user now, and for the recording.
    pub(crate) fn say(
        &mut self,
        severity: EventSeverity,
        kind: EventKind,
        run: Option<&str>,
        target: Option<&str>,
        sentence: &str,
    ) -> Result<(), SessionError> {
        self.event(severity, kind, run, target, sentence)?;
        self.face(|face| face.note(sentence));
        Ok(())
    }

    /// So many blocks were found damaged until now.
    pub(crate) fn damaged_blocks(&mut self, count: u64) {
        self.face(|face| {
            face.damaged_blocks(count);
            Ok(())
        });
    }

    /// A sentence for the user now, and for the recording.
    pub(crate) fn note(&mut self, kind: EventKind, sentence: &str) -> Result<(), SessionError> {
        self.event(EventSeverity::Info, kind, None, None, sentence)?;
        self.face(|face| face.note(sentence));
        Ok(())
    }

    pub(crate) fn run_started(
        &mut self,
        context: &RunContext<'_>,
        engine: &str,
        started_ns: u64,
    ) -> Result<(), SessionError> {
        self.event(EventSeverity::Info, EventKind::Engine, Some(context.title), None, engine)?;
        let header = RunHeader {
            title: context.title.to_string(),
            detail: loops_text(context.run),
            variables: context.run.loops.clone(),
            index: usize::try_from(context.run_index).unwrap_or(0),
            count: self.run_count,
            offered_rate: offered_rate(context),
            is_replay: context.run.workloads.iter().any(|workload| workload.replay.is_some()),
            duration_s: context.run.elapsed_ns.map(|elapsed| (elapsed + context.run.warmup_ns) as f64 / 1e9),
            remaining_s: self.remaining_ns.map(|ns| ns as f64 / 1e9),
            engine: engine.to_string(),
            start_s: self.seconds(started_ns),
            data_seed: format!("{:016x}", context.data_seed),
            is_validated: context.validation.is_some(),
            commands: context.run.workloads.iter().filter_map(command_header).collect(),
            making: making(context),
            is_of_commands: context.run.workloads.iter().all(|workload| workload.load.command().is_some()),
        };
        self.face(|face| face.run_started(header));
        Ok(())
    }

    pub(crate) fn run_ended(
        &mut self,
        steps: &[StepTotal],
        totals: &[RunTotal],
        ends: &[RunEnd],
    ) -> Result<(), SessionError> {
        let mut batches = vec![RowBatch::from_rows(totals)?, RowBatch::from_rows(ends)?];
        if !steps.is_empty() {
            // Before the totals, by which a run is whole.
            batches.insert(0, RowBatch::from_rows(steps)?);
        }
        self.publish(&batches)?;
        self.face(|face| face.run_ended());
        Ok(())
    }

    /// Judges conditions over a run that has ended: into the recording first, then to the face.
    pub(crate) fn judge(&mut self, run_index: i32, which: &[usize]) -> Result<Vec<ObjectiveVerdict>, SessionError> {
        let verdicts = self.judge.verdicts(run_index, which);
        self.tell(&verdicts)?;
        Ok(verdicts)
    }

    /// The same over a run that never began.
    pub(crate) fn judge_pending(
        &mut self,
        pending: &PendingRun,
        run_index: i32,
        halt: RunHalt,
        which: &[usize],
    ) -> Result<Vec<ObjectiveVerdict>, SessionError> {
        let verdicts = self.judge.of_pending(pending, run_index, halt, which);
        self.tell(&verdicts)?;
        Ok(verdicts)
    }

    /// A run ended before its time: noted for the judgement now, and in the manifest for later ones.
    pub(crate) fn cut_short(&mut self, run_index: i32, halt: RunHalt) -> Result<(), SessionError> {
        self.judge.cut_short(run_index, halt);
        self.manifest(|manifest| {
            let cut = manifest.extra.entry(CUT_SHORT.to_string()).or_insert_with(|| serde_json::json!({}));
            cut[run_index.to_string()] = halt.word().into();
        })
    }

    fn tell(&mut self, verdicts: &[ObjectiveVerdict]) -> Result<(), SessionError> {
        let t_ns = clock::now_ns();
        let rows: Vec<Objective> = verdicts
            .iter()
            .map(|verdict| Objective {
                t_ns: signed(t_ns),
                t_s: self.seconds(t_ns),
                run: verdict.run.clone(),
                run_index: verdict.run_index,
                condition: verdict.condition.clone(),
                verdict: verdict.judgement.word().to_string(),
                sentence: verdict.sentence.clone(),
            })
            .collect();
        if !rows.is_empty() {
            self.rows(&rows)?;
            self.face(|face| face.verdicts(verdicts));
        }
        Ok(())
    }

    /// Seals the recording; the face has nothing more to say. A recording that broke off is left as it is: its journal
    /// holds everything, and sealing would need room that there is not.
    pub(crate) fn close(mut self, word: RecordingExit, is_whole: bool) -> (Result<(), RecordingError>, Vec<String>) {
        let messages = std::mem::take(&mut self.messages);
        if !is_whole {
            return (Ok(()), messages);
        }
        let sealed = self
            .writer
            .update_manifest(|manifest| manifest.exit = Some(word))
            .and_then(|()| self.writer.seal().map(|_| ()));
        (sealed, messages)
    }

    pub(crate) fn seconds(&self, t_ns: u64) -> f64 {
        t_ns.saturating_sub(self.origin_ns) as f64 / 1e9
    }
}

/// Loop variables in one line.
pub(crate) fn loops_text(run: &plan::Run) -> String {
    let loops: Vec<String> = run.loops.iter().map(|(name, value)| format!("{name}={value}")).collect();
    loops.join(" ")
}

/// Arrivals per second of all workloads, `None` at full speed.
fn offered_rate(context: &RunContext<'_>) -> Option<f64> {
    context.run.offered(match context.pace {
        ResolvedRate::PerSecond(rate) => Some(rate),
        ResolvedRate::Max => None,
    })
}
