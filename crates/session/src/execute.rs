//! One `run` command's life: targets, format, all runs in order, a clean end.

mod judging;
mod opening;
mod rounds;
mod stopping;
mod verify;

pub(crate) use opening::preflight;

use self::opening::{check, contents_of, fills_of, open_targets, splits_sectors, unlink};
use crate::batch_sink::{Spine, loops_text};
use crate::format::Fill;
use crate::half_round::HalfRound;
use crate::objectives::Objectives;
use crate::outcome::{CommandEnding, CommandOutcome};
use crate::rates::{Achieved, Decision};
use crate::run_context::RunContext;
use crate::run_loop::{Cause, RunResult, execute as execute_run};
use crate::run_observer::RunObserver;
use crate::sync::flags_of;
use crate::trees::{TreeCertainty, Trees};
use crate::validation::FoundJournal;
use crate::{SessionError, commands, format, half_round};
use engine::{EngineChoice, EngineOptions, ResolvedRate};
use monitor::{CounterReaders, SUBJECTS, StopFlag, subjects};
use objectives::{ObjectiveVerdict, PlanProgress, RunHalt};
use output::{Folder, OverwritePolicy};
use plan::{JobTexts, Plan, Run, RunRepeat, ShellCommand};
use quantity::clock;
use recording::{EventKind, EventSeverity, Manifest, Reader, RecordingExit, Writer};
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::time::Duration;
use target::{OpenTarget, TargetKind, WritePolicy};
use validation::Validation;

/// Everything that a `run` command needs to know.
pub struct RunRequest {
    /// What to do.
    pub plan: Plan,
    /// Where the recording goes; must not exist.
    pub directory: PathBuf,
    /// What may be destroyed.
    pub policy: WritePolicy,
    /// How I/O is issued.
    pub engine: EngineChoice,
    /// Worker threads; `None`: one per core.
    pub workers: Option<usize>,
    /// The command line, for the manifest.
    pub command_line: Vec<String>,
    /// Record the counters of the whole machine, not only of its CPUs and the devices under the targets.
    pub counters: bool,
    /// Write report.html at the end.
    pub report: bool,
    /// Write Vdbench's files (flatfile.html and its kin) at the end.
    pub flatfile: bool,
    /// fio's jobs as they were given, for outputs that repeat them.
    pub jobs: JobTexts,
    /// Which part of a comparison in rounds it is.
    pub half_round: Option<HalfRound>,
    /// How often fio's outputs are printed while the runs last, ns: intervals of this length are recorded for them.
    pub status_ns: Option<u64>,
}

/// In the manifest: the seed of the data that the runs wrote, 16 hexadecimal digits.
const DATA_SEED: &str = "data_seed";

/// The seed of all data of this execution: the plan's where that is asked for, otherwise one that no other execution has.
fn data_seed(plan: &Plan) -> u64 {
    if plan.settings.is_data_seeded {
        return plan::generate::data_seed_of(plan.settings.seed);
    }
    // Keys of the system's random source.
    RandomState::new().hash_one(std::process::id())
}

/// In the manifest: the seed of those random choices that are not the same in every execution; `--seed` with it repeats them.
const VARYING_SEED: &str = "seed";

/// The seed of workloads whose choices vary, where each execution is to have its own.
fn varying_seed(plan: &Plan) -> Option<u64> {
    // What a number of JSON holds exactly.
    plan.settings.is_seed_fresh.then(|| RandomState::new().hash_one(std::process::id()) >> 12)
}

/// The most objectives of runs that never began that are shown one by one.
const PENDING_SHOWN: usize = 5;

/// The plan's runs, none of which has begun.
fn progress(plan: &Plan) -> PlanProgress {
    let runs = plan.runs.iter().map(|run| (run.title.clone(), loops_text(run)));
    PlanProgress::new(runs.collect(), u64::try_from(rounds_of(plan)).unwrap_or(1))
}

/// Executes the plan.
///
/// # Errors
/// Whatever prevents the run from starting, before any I/O; and a recording that can no longer be written. Trouble
/// with a target in mid-run ends the run and is reported in the [`CommandOutcome`].
pub fn execute(
    request: &RunRequest,
    face: &mut dyn RunObserver,
    stop: &StopFlag,
) -> Result<CommandOutcome, SessionError> {
    let plan = &request.plan;
    let policy = &crate::validation::policy_for(plan, &request.policy);
    let (objectives, conditions) = check(plan, policy)?;
    let mut trees = Trees::inspect(plan, Some(&request.directory))?;
    trees.check(plan, policy)?;
    let found_journal = FoundJournal::read(plan, &request.directory)?;
    let as_found = crate::validation::as_found(plan, found_journal.as_ref());
    let plan = as_found.as_ref().unwrap_or(plan);
    let policy = &crate::validation::policy_for(plan, policy);
    let targets = open_targets(plan, policy, found_journal.as_ref())?;
    let validation = crate::validation::of_plan(plan, &targets, &request.directory, found_journal.as_ref())?;
    let mut made = if crate::recovering::only_recovers(plan) { Vec::new() } else { trees.create_anchors()? };
    made.extend(crate::dry_run_trees::many_threads(plan));
    let own_cost = engine::own_cost();
    let (data_seed, varying_seed) = (data_seed(plan), varying_seed(plan));
    let mut manifest = manifest_of(request, &targets, validation.as_ref(), (data_seed, varying_seed));
    manifest.extra.insert("engine_own_cost_ns_per_io".into(), own_cost.ns_per_io.into());
    let writer = Writer::create(&request.directory, manifest)?;
    let origin_ns = writer.started_t_ns();
    let runs_at_most = match crate::recovering::only_recovers(plan) {
        true => 1,
        false => {
            rounds::runs_at_most(plan)
                + usize::from(crate::validation::sweeps(validation.as_ref()))
                + usize::from(found_journal.is_some())
                + usize::from(fills_of(plan, &targets).next().is_some())
        }
    };
    let mut life = Life {
        request,
        plan,
        targets,
        trees,
        made,
        spine: Spine::new(writer, face, origin_ns, runs_at_most, conditions),
        objectives,
        counters: CounterReaders::new(&plan_paths(plan), request.counters),
        options: EngineOptions { choice: request.engine, workers: request.workers, errors_max: None, damage_max: None },
        stop,
        achieved: Achieved::default(),
        cached: BTreeMap::new(),
        data_seed,
        varying_seed,
        validation,
        found_journal,
        is_sweeping: false,
        next_index: 0,
        has_failed_commands: false,
        progress: progress(plan),
        errors: 0,
        unfinished: 0,
        ending: CommandEnding::Fine,
        is_stopped: false,
        job_errors: Vec::new(),
        steady_states: Vec::new(),
    };
    let lived = life.live(&own_cost);
    life.finish(lived)
}

/// What the recording says of the command, its plan and this machine.
fn manifest_of(
    request: &RunRequest,
    targets: &[Option<OpenTarget>],
    validation: Option<&Validation>,
    (data_seed, varying_seed): (u64, Option<u64>),
) -> Manifest {
    let plan = &request.plan;
    let mut manifest = Manifest::new(&request.command_line);
    manifest.sources = plan.sources.iter().map(|source| (source.name.clone(), source.text.clone())).collect();
    manifest.sources.extend(crate::trees::shape_sources(plan));
    manifest.hardware = collect::hardware(&plan_paths(plan));
    manifest.extra.insert(SUBJECTS.into(), subjects([]));
    manifest.extra.insert(objectives::OBJECTIVES.into(), crate::objectives::for_manifest(plan));
    manifest.extra.insert(views::PROGRAM_PID.into(), std::process::id().into());
    manifest.extra.insert(DATA_SEED.into(), format!("{data_seed:016x}").into());
    manifest.extra.extend(validation.into_iter().flat_map(|data| crate::validation::for_manifest(plan, data)));
    manifest.extra.extend(varying_seed.map(|seed| (VARYING_SEED.into(), seed.into())));
    let requested = crate::requested::requested(plan, targets);
    manifest.extra.insert(tool_output::flatfile::REQUESTED.into(), serde_json::json!(requested));
    manifest.extra.insert(objectives::ROUNDS.into(), rounds_of(plan).into());
    if !plan.rounds.is_empty() {
        manifest.extra.insert(views::STEADY_ROUNDS.into(), rounds::for_manifest(plan));
    }
    if !request.jobs.jobs.is_empty() {
        manifest.extra.insert(tool_output::fio_out::FIO_JOBS.into(), serde_json::json!(request.jobs));
    }
    if let Some(half_round) = &request.half_round {
        manifest.extra.insert(half_round::KEY.into(), serde_json::json!(half_round));
    }
    manifest
}

/// How often all runs are done, as far as it is known before.
fn rounds_of(plan: &Plan) -> usize {
    match plan.settings.repeat {
        RunRepeat::Times(times) => usize::try_from(times).unwrap_or(1),
        RunRepeat::Nanoseconds(_) | RunRepeat::Forever => 1,
    }
}

/// Names and paths of the plan's targets and of the anchors of its trees.
fn plan_paths(plan: &Plan) -> Vec<(String, PathBuf)> {
    let places = 0..plan.targets.len() + plan.trees.len();
    places.map(|place| (plan.place_name(place).to_string(), plan.place_path(place).to_owned())).collect()
}

struct Life<'a, 'b> {
    request: &'a RunRequest,
    plan: &'a Plan,
    targets: Vec<Option<OpenTarget>>,
    trees: Trees,
    /// What was made before the first run, sentences.
    made: Vec<String>,
    spine: Spine<'b>,
    objectives: Objectives,
    counters: CounterReaders,
    options: EngineOptions,
    stop: &'a StopFlag,
    achieved: Achieved,
    /// Of targets by their index: did the last run use it past the page cache, did it use it through it?
    cached: BTreeMap<usize, (bool, bool)>,
    data_seed: u64,
    /// See [`VARYING_SEED`].
    varying_seed: Option<u64>,
    /// What is proved of the data.
    validation: Option<Validation>,
    /// What the journal of an earlier session says must be there.
    found_journal: Option<FoundJournal>,
    /// The run under way reads what was written.
    is_sweeping: bool,
    next_index: i32,
    /// Did an execution of a command fail? The runs behind it take place all the same.
    has_failed_commands: bool,
    /// Which runs have begun.
    progress: PlanProgress,
    errors: u64,
    /// Operations that never came back: a write among them may still change its target.
    unfinished: u64,
    ending: CommandEnding,
    /// Something happened after which no further run begins.
    is_stopped: bool,
    job_errors: Vec<tool_output::fio_out::JobErrors>,
    steady_states: Vec<tool_output::fio_out::SteadyState>,
}

impl Life<'_, '_> {
    /// From the first to the last command and run.
    fn live(&mut self, own_cost: &engine::EngineOverhead) -> Result<(), SessionError> {
        if !self.plan.runs.iter().all(Run::is_of_commands) {
            self.spine.note(EventKind::EngineOverhead, &own_cost.to_string())?;
        }
        if let Some(seed) = self.varying_seed {
            let note = format!(
                "randrepeat=0: the random choices are those of this execution alone; --seed {seed} repeats them"
            );
            self.spine.note(EventKind::Seed, &note)?;
        }
        self.targets()?;
        if self.recovered()? {
            return Ok(());
        }
        self.commands(&self.plan.settings.start_commands.clone(), None)?;
        for trouble in crate::validation::begin_files(self.validation.as_ref()) {
            self.spine.note(EventKind::Data, &trouble)?;
        }
        self.format()?;
        if self.request.half_round.as_ref().is_some_and(HalfRound::is_fill) {
            return self.commands(&self.plan.settings.end_commands.clone(), None);
        }
        let started_ns = clock::now_ns();
        let mut round = 0;
        while self.wants_round(round, started_ns) {
            self.list(round)?;
            round += 1;
        }
        self.verify()?;
        self.never_began()?;
        for sentence in self.objectives.never_judged() {
            self.spine.event(EventSeverity::Error, EventKind::Objective, None, None, &sentence)?;
            self.spine.messages.push(sentence);
            self.ending = self.ending.max(CommandEnding::ObjectiveMissed);
        }
        self.commands(&self.plan.settings.end_commands.clone(), None)
    }

    /// Runs that the end of the command took along have met no objective.
    fn never_began(&mut self) -> Result<(), SessionError> {
        // What the manifest will say.
        let ending = if self.stop.is_requested() { self.ending.max(CommandEnding::Interrupted) } else { self.ending };
        let halt = match ending {
            CommandEnding::Interrupted => RunHalt::Interrupted,
            CommandEnding::TargetFailed => RunHalt::Errors,
            _ => return Ok(()),
        };
        let mut verdicts = Vec::new();
        for (run_index, pending) in (self.next_index..).zip(self.progress.pending()) {
            let Some(run) = self.plan.runs.get(pending.place) else { continue };
            let which = if run.format { Vec::new() } else { self.objectives.of_run(self.plan, run) };
            verdicts.extend(self.spine.judge_pending(&pending, run_index, halt, &which)?);
        }
        self.objectives.learn(&verdicts);
        self.spine.messages.extend(verdicts.iter().take(PENDING_SHOWN).map(ObjectiveVerdict::summary));
        let more = verdicts.len().saturating_sub(PENDING_SHOWN);
        let more = (more > 0).then(|| format!("{more} more objectives are undecided: their runs never began"));
        self.spine.messages.extend(more);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.stop.is_requested() || self.is_stopped
    }

    fn wants_round(&self, round: u64, started_ns: u64) -> bool {
        !self.is_over()
            && match self.plan.settings.repeat {
                RunRepeat::Times(times) => round < times,
                RunRepeat::Nanoseconds(ns) => round == 0 || clock::now_ns() - started_ns < ns,
                RunRepeat::Forever => true,
            }
    }

    /// Fills what was created or extended, or everything that is written with `formatsds=yes`.
    fn format(&mut self) -> Result<(), SessionError> {
        let fills: Vec<Fill> = fills_of(self.plan, &self.targets).collect();
        let Some((plan, run)) = format::format_run(self.plan, &fills) else { return Ok(()) };
        let result = self.run(&plan, &run, "format", ResolvedRate::Max)?;
        if result.all.errors > 0 || result.unfinished > 0 {
            return Ok(());
        }
        for ((fill, workload), ops) in fills.iter().zip(&run.workloads).zip(&result.ops_by_workload) {
            let Some(target) = self.targets[fill.target].as_ref().filter(|_| fill.is_unwritten) else { continue };
            // What is still dirty cannot be dropped from the cache, and would be written while others are measured.
            if let Err(error) = target.write_out() {
                self.spine.note(EventKind::Format, &format!("{}: failed to write out: {error}", target.name))?;
            }
            // In order and without gaps, so that what was done says how far it came.
            let came = fill.range.start.saturating_add(ops.saturating_mul(workload.transfer.max_bytes()));
            let up_to = if result.cause == Cause::Done { fill.range.end } else { came.min(fill.range.end) };
            if let Err(note) = target.mark_filled(up_to) {
                self.spine.note(EventKind::Mark, &note)?;
            }
        }
        Ok(())
    }

    /// Says what is worth knowing of the targets, and remembers what is going to be written to them that carries no mark.
    fn targets(&mut self) -> Result<(), SessionError> {
        let mut notes = Vec::new();
        for (index, target) in self.targets.iter().enumerate() {
            let Some(target) = target else { continue };
            notes.extend(target.notes.iter().map(|note| format!("{}: {note}", target.name)));
            for content in contents_of(self.plan, index).into_iter().filter(|_| target.writable) {
                if let Some(bytes) = engine::pattern_of(content)? {
                    let pattern = target::UserPattern { bytes, anew: !content.literal.is_empty() };
                    notes.extend(target.remember(&pattern).err().map(|note| format!("{}: {note}", target.name)));
                }
            }
            if target.writable && splits_sectors(self.plan, index) {
                notes.extend(target.remember_pieces().err().map(|note| format!("{}: {note}", target.name)));
            }
        }
        notes.append(&mut self.made);
        for note in notes {
            self.spine.note(EventKind::Target, &note)?;
        }
        Ok(())
    }

    /// One run of the list with its commands and its pause; `None` when it was left out.
    fn one(&mut self, run: &Run, round: u64) -> Result<Option<RunResult>, SessionError> {
        let pace = match self.achieved.decide(run)? {
            Decision::Max => ResolvedRate::Max,
            Decision::PerSecond(rate) => ResolvedRate::PerSecond(rate),
            Decision::Skip => {
                let why =
                    format!("{} was left out: the response time of the point before it was above stopcurve", run.title);
                self.spine.note(EventKind::CurveStopped, &why)?;
                return Ok(None);
            }
        };
        let title = if round == 0 { run.title.clone() } else { format!("{} (round {})", run.title, round + 1) };
        self.commands(&run.start_commands, Some(&title))?;
        let shared = self.achieved.shared(run);
        let run = shared.as_ref().unwrap_or(run);
        let result = self.run(self.plan, run, &title, pace)?;
        let seconds = result.measured_ns as f64 / 1e9;
        if seconds > 0.0 && !run.format && run.paced_workloads().next().is_some() {
            self.achieved.learn(run, result.measured.ops as f64 / seconds, result.measured.response_mean_ns());
            self.achieved.learn_shares(run, &result.ops_by_workload);
        }
        self.check_shares(run, &title, &result)?;
        self.commands(&run.end_commands, Some(&title))?;
        let pause_end_ns = clock::now_ns() + run.pause_ns;
        while clock::now_ns() < pause_end_ns && !self.is_over() {
            std::thread::sleep(Duration::from_millis(20).min(Duration::from_nanos(pause_end_ns - clock::now_ns())));
        }
        Ok(Some(result))
    }

    /// Executes a run, judges its end, and decides whether another one may begin.
    fn run(&mut self, plan: &Plan, run: &Run, title: &str, pace: ResolvedRate) -> Result<RunResult, SessionError> {
        let before = std::mem::replace(&mut self.ending, CommandEnding::Fine);
        let result = self.run_judged(plan, run, title, pace);
        let own = self.ending;
        self.ending = self.ending.max(before);
        let result = result?;
        self.is_stopped |= stopping::ends_the_command(run, &result, own, self.is_sweeping);
        Ok(result)
    }

    /// Executes a run and judges its end; `plan` is what the run's targets are numbered by.
    fn run_judged(
        &mut self,
        plan: &Plan,
        run: &Run,
        title: &str,
        pace: ResolvedRate,
    ) -> Result<RunResult, SessionError> {
        let run_index = self.next_index;
        self.next_index += 1;
        self.change_cache(plan, run, title)?;
        let stop = self.stop;
        let remarks = self.trees.lay_out(plan, run, &|| !stop.is_requested())?;
        self.of_trees(run, title, remarks)?;
        let (trees, remarks) = match self.is_sweeping {
            true => (self.trees.begin_reading(plan, run)?, Vec::new()),
            false => self.trees.begin(plan, run)?,
        };
        self.of_trees(run, title, remarks)?;
        // Runs differ in their random choices, and are the same in every execution of the plan.
        let of_run = |seed: u64| seed.wrapping_add(u64::from(run_index.unsigned_abs()).wrapping_mul(0x9e37_79b9));
        let seed = self.plan.settings.seed;
        let context = RunContext {
            plan,
            run,
            title,
            run_index,
            pace,
            targets: &self.targets,
            trees: &trees,
            options: &self.options,
            seed: of_run(seed),
            varying_seed: of_run(self.varying_seed.unwrap_or(seed)),
            data_seed: self.data_seed,
            validation: self.validation.as_ref(),
            sweeps: self.is_sweeping,
            directory: &self.request.directory,
            stop: self.stop,
            errors_before: self.errors + self.validation.as_ref().map_or(0, |validation| validation.reports.count()),
            logs: (&self.request.jobs, self.request.status_ns),
        };
        if !self.is_sweeping && (!run.format || run.is_of_trees()) {
            self.progress.begin(title, &loops_text(run));
        }
        let result = execute_run(&context, &mut self.spine, &mut self.counters)?;
        let remarks = self.trees.end(plan, run, &trees, TreeCertainty::of(result.all.errors, result.unfinished));
        self.has_failed_commands |= result.executions.has_failed(&context);
        self.spine.messages.extend(result.executions.sentences(&context));
        if run.stop.errors.is_none() {
            self.errors += result.all.errors;
        }
        self.unfinished += result.unfinished;
        self.of_trees(run, title, remarks)?;
        self.judge(run, title, &result)?;
        self.errors_command(title, &result)?;
        self.jobs(plan, run, (title, run_index), &result)?;
        self.objectives(run, run_index)?;
        Ok(result)
    }

    /// Where a target was used through the page cache and is now used past it, or the other way round: nothing that the run
    /// before left there is part of this one.
    fn change_cache(&mut self, plan: &Plan, run: &Run, title: &str) -> Result<(), SessionError> {
        for (index, spec) in plan.targets.iter().enumerate() {
            let Some(opened) = self.targets.get(index).and_then(Option::as_ref) else { continue };
            let uses = run.workloads.iter().filter(|workload| workload.targets.contains(&index));
            let views: Vec<_> = uses.map(|workload| opened.view(flags_of(spec, workload))).collect();
            let Some(view) = views.first() else { continue };
            let now = (views.iter().any(|view| view.direct), views.iter().any(|view| !view.direct));
            let before = self.cached.insert(index, now);
            if before.is_some_and(|before| before != now)
                && matches!(opened.kind, TargetKind::BlockDevice { .. } | TargetKind::File { .. })
                && let Err(error) = OpenTarget::leave_cache(view.fd)
            {
                let sentence =
                    format!("{title}: what the page cache held of {} could not be written: {error}", spec.name);
                self.spine.event(EventSeverity::Warning, EventKind::Cache, Some(title), Some(&spec.name), &sentence)?;
                self.spine.messages.push(sentence);
            }
        }
        Ok(())
    }

    fn commands(&mut self, wanted: &[ShellCommand], run: Option<&str>) -> Result<(), SessionError> {
        for command in wanted {
            let result = commands::execute(command, &self.request.directory, self.stop)?;
            let code = result.code.map_or("a signal".to_string(), |code| format!("exit code {code}"));
            let severity = if result.code == Some(0) { EventSeverity::Info } else { EventSeverity::Warning };
            self.spine.event(
                severity,
                EventKind::Command,
                run,
                None,
                &format!("`{}` ended with {code}", result.line),
            )?;
            if let Some(text) = result.console {
                self.spine.note(EventKind::CommandOutput, text.trim_end())?;
            }
            if command.abort && result.code != Some(0) && !self.stop.is_requested() {
                let source = self.plan.sources.get(command.span.source as usize);
                let (whose, why) = match source.filter(|_| command.span != plan::TextSpan::default()) {
                    // Those of a procedure (`pts:`) come from no line.
                    None => ("", "and its output is in commands.log: nothing else is run"),
                    Some(source) if source.name != plan::commands::COMMAND_LINE => {
                        ("", "and `abort` stands beside it: nothing else is run")
                    }
                    Some(_) if self.next_index == 0 => {
                        ("--setup: ", "so nothing was measured; its output is in commands.log")
                    }
                    Some(_) => ("--setup: ", "so nothing else is measured; its output is in commands.log"),
                };
                return Err(SessionError::CommandFailed { whose, line: result.line, how: code, why });
            }
        }
        Ok(())
    }

    /// Seals what there is, writes the report, and tells how it went.
    fn finish(mut self, lived: Result<(), SessionError>) -> Result<CommandOutcome, SessionError> {
        let mut ending =
            if self.stop.is_requested() { self.ending.max(CommandEnding::Interrupted) } else { self.ending };
        if self.has_failed_commands && ending != CommandEnding::Interrupted {
            ending = ending.max(CommandEnding::TargetFailed);
        }
        let broken = match lived {
            Err(SessionError::Recording(error)) => Some(error.to_string()),
            Err(error) => {
                let _ = self.spine.close(RecordingExit::Failed, true);
                return Err(error);
            }
            Ok(()) => None,
        };
        if broken.is_some() {
            ending = ending.max(CommandEnding::RecordingIncomplete);
        }
        let directory = self.request.directory.clone();
        // What may still be written to is left as it would be by a run that was killed.
        let settling = self.targets.iter().flatten().filter(|_| self.unfinished == 0);
        let unsettled = target::settle(settling);
        let unlinked = unlink(self.plan, self.targets);
        let (is_faithful, verdict) = (self.spine.is_faithful, std::mem::take(&mut self.spine.verdict));
        let (sealed, mut messages) = self.spine.close(ending.exit(), broken.is_none());
        messages.extend(unsettled.into_iter().chain(unlinked));
        if let Err(error) = &sealed {
            ending = CommandEnding::RecordingIncomplete;
            messages.push(format!(
                "the recording could not be sealed: {error}; what was journaled is kept and can be read"
            ));
        }
        messages
            .extend(broken.map(|why| format!("the recording broke off: {why}; what was measured until then is kept")));
        if sealed.is_ok()
            && let Ok(reader) = Reader::open(&directory)
            && let Ok(damage) = reader.damage()
            && damage.is_some()
        {
            // The disk under the journal did not give back what was written.
            ending = ending.max(CommandEnding::RecordingIncomplete);
            messages
                .extend(damage.sentences(reader.manifest()).into_iter().map(|what| format!("the recording: {what}")));
        }
        if self.request.flatfile {
            let written = Reader::open(&directory)
                .map_err(tool_output::ToolOutputError::from)
                .and_then(|reader| Ok((Folder::open(&directory)?, reader)))
                .and_then(|(folder, reader)| tool_output::flatfile::write(&reader, &folder, OverwritePolicy::No));
            if let Err(error) = written {
                messages.push(format!("Vdbench's files could not be written: {error}"));
                ending = ending.max(CommandEnding::RecordingIncomplete);
            }
        }
        let report = if self.request.report {
            match crate::report_file(&directory, None, OverwritePolicy::No) {
                Ok(path) => Some(path),
                Err(error) => {
                    messages.push(format!("the report could not be written: {error}"));
                    ending = ending.max(CommandEnding::RecordingIncomplete);
                    None
                }
            }
        } else {
            None
        };
        Ok(CommandOutcome { ending, directory, report, messages, verdict, is_faithful })
    }
}
