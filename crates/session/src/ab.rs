//! Two loads against each other, interleaved: A B, B A, A B, …
//!
//! Each half of a round is an execution with a recording of its own, so that what one of them does to the machine (a device that is
//! warm, a drift) meets both alike, and each face can show each of them. Both plans are checked, and all targets of both inspected,
//! before the first I/O.

use crate::execute::preflight;
use crate::half_round::{HalfRound, RoundSide};
use crate::{CommandEnding, RunObserver, RunRequest, SessionError, execute};
use engine::EngineChoice;
use monitor::StopFlag;
use plan::{JobTexts, Plan};
use quantity::text::format_ns;
use recording::Reader;
use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use target::{InspectionFinding, WritePolicy};
use views::ROUNDS_MIN;

/// Rounds that are run in place of faulty ones, at most.
const SPARE: u32 = 2;
/// Between the seeds of half-rounds; odd, so that none comes twice.
const SEED_STEP: u64 = 0xd1b5_4a32_d192_ed03;

/// One of the two loads.
#[derive(Clone, Debug)]
pub struct AbLoad {
    /// Short name, different from the other's.
    pub label: String,
    /// What is run in each of its half-rounds.
    pub plan: Plan,
    /// fio's jobs as they were given.
    pub jobs: JobTexts,
    /// What may be destroyed.
    pub policy: WritePolicy,
}

/// Two loads that are to be held against each other.
#[derive(Clone, Debug)]
pub struct AbRequest {
    /// A and B.
    pub loads: [AbLoad; 2],
    /// Where the recordings go, one folder each.
    pub directory: PathBuf,
    /// How many rounds, each of both loads; [`views::ROUNDS_MIN`] at least.
    pub rounds: u32,
    /// How I/O is issued.
    pub engine: EngineChoice,
    /// Worker threads; `None`: one per core.
    pub workers: Option<usize>,
    /// The command line, for the manifests.
    pub command_line: Vec<String>,
    /// Record the counters of the whole machine.
    pub counters: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct AbOutcome {
    /// How it ended: failures of rounds that others took the place of do not count.
    pub ending: CommandEnding,
    /// Sentences for the user.
    pub messages: Vec<String>,
    /// What ended it before its time.
    pub failure: Option<SessionError>,
    /// Rounds of which both sides were run to their end, without a fault.
    pub sound: u32,
}

/// Which load comes first and which second in a round, counted from 1: A B, B A, A B, …
#[must_use]
pub fn order_of(round: u32) -> [RoundSide; 2] {
    if round.is_multiple_of(2) { [RoundSide::B, RoundSide::A] } else { [RoundSide::A, RoundSide::B] }
}

/// How a round ended.
enum RoundEnd {
    Sound,
    Faulty(String),
    /// Nothing more is to be run.
    Last,
}

/// Runs all rounds.
///
/// # Errors
/// Whatever prevents one of the loads from being run, before any I/O; later troubles are in the [`AbOutcome`], as soon as there is
/// a recording.
pub fn ab(request: &AbRequest, face: &mut dyn RunObserver, stop: &StopFlag) -> Result<AbOutcome, SessionError> {
    for load in &request.loads {
        preflight(&load.plan, &load.policy)?;
    }
    let id = format!("{:016x}", RandomState::new().hash_one(&request.directory));
    let outcome = AbOutcome { ending: CommandEnding::Fine, messages: Vec::new(), failure: None, sound: 0 };
    let mut life =
        Life { request, face, stop, id, order: 0, planned: request.rounds, outcome, trouble: CommandEnding::Fine };
    match life.fill().and_then(|is_filled| if is_filled { life.rounds() } else { Ok(()) }) {
        Ok(()) => {}
        Err(error) if life.order < 2 => return Err(error),
        Err(error) => life.outcome.failure = Some(error),
    }
    if life.outcome.sound < request.rounds {
        life.outcome.ending = life.outcome.ending.max(life.trouble);
    }
    if stop.is_requested() {
        life.outcome.ending = life.outcome.ending.max(CommandEnding::Interrupted);
    }
    Ok(life.outcome)
}

struct Life<'a> {
    request: &'a AbRequest,
    face: &'a mut dyn RunObserver,
    stop: &'a StopFlag,
    id: String,
    /// Half-rounds that were begun.
    order: u32,
    /// Rounds that are to be run, with those in place of faulty ones.
    planned: u32,
    outcome: AbOutcome,
    /// What counts unless enough rounds are without a fault.
    trouble: CommandEnding,
}

impl Life<'_> {
    fn load(&self, side: RoundSide) -> &AbLoad {
        &self.request.loads[usize::from(side == RoundSide::B)]
    }

    /// Fills what is new, and what is to be filled (`formatsds=yes`), once; did that go well?
    fn fill(&mut self) -> Result<bool, SessionError> {
        for side in [RoundSide::A, RoundSide::B] {
            if !self.wants_fill(side)? {
                continue;
            }
            let name = format!("00-{}", side.letter());
            let outcome = self.execute(side, (0, 0), &name)?;
            if outcome != CommandEnding::Fine {
                self.outcome.ending = self.outcome.ending.max(outcome);
                self.outcome.messages.push(format!("{name}: the targets were not filled: no round was run"));
                return Ok(false);
            }
        }
        Ok(!self.stop.is_requested())
    }

    /// Is there something to be filled before the first round? Files that a run makes and removes again (`unlink=1`) are made anew
    /// in each half-round.
    fn wants_fill(&self, side: RoundSide) -> Result<bool, SessionError> {
        let load = self.load(side);
        let findings = preflight(&load.plan, &load.policy)?;
        let is_new = |finding: &InspectionFinding| {
            matches!(
                finding,
                InspectionFinding::Create { .. }
                    | InspectionFinding::Extend { .. }
                    | InspectionFinding::ExtendForeign { .. }
            )
        };
        let mut kept = load.plan.targets.iter().zip(&findings).filter(|(spec, _)| !spec.unlink);
        if kept.clone().any(|(_, finding)| finding.as_ref().is_some_and(is_new)) {
            return Ok(true);
        }
        // What both use was filled with the first.
        let first = &self.request.loads[0].plan;
        let is_filled = |spec: &plan::TargetSpec| {
            side == RoundSide::B
                && first.settings.format == Some(true)
                && first.targets.iter().any(|one| one.path == spec.path)
        };
        let is_asked = load.plan.settings.format == Some(true);
        Ok(is_asked && kept.any(|(spec, finding)| finding.is_some() && !is_filled(spec)))
    }

    fn rounds(&mut self) -> Result<(), SessionError> {
        let mut round = 0;
        while round < self.planned && !self.stop.is_requested() {
            round += 1;
            match self.round(round)? {
                RoundEnd::Sound => self.outcome.sound += 1,
                RoundEnd::Last => break,
                RoundEnd::Faulty(why) => {
                    let has_spare = self.planned < self.request.rounds + SPARE;
                    self.planned += u32::from(has_spare);
                    let then = if has_spare { "; one more is run in its place" } else { "" };
                    self.say(format!("round {round} is left out on both sides ({why}){then}"));
                }
            }
            let possible = self.outcome.sound + (self.planned - round);
            if usize::try_from(possible).unwrap_or(usize::MAX) < ROUNDS_MIN {
                self.say(format!("given up: there can no longer be {ROUNDS_MIN} rounds without a fault"));
                break;
            }
        }
        Ok(())
    }

    /// Both halves of a round; where the first has a fault, the other is of no use.
    fn round(&mut self, round: u32) -> Result<RoundEnd, SessionError> {
        let mut missed = CommandEnding::Fine;
        for side in order_of(round) {
            self.order += 1;
            let name = self.name(side);
            let of = round.max(self.request.rounds);
            let left = self.left_ns(round, side).map(|ns| format!(", {} left at most", format_ns(ns)));
            let label = &self.load(side).label;
            let heading = format!("round {round} of {of}, {name}: {label}{}", left.unwrap_or_default());
            // A line of its own before it: line ends within a sentence are shown, not obeyed.
            let _ = self.face.note("").and_then(|()| self.face.note(&heading));
            let ending = self.execute(side, (round, self.order), &name)?;
            match ending {
                CommandEnding::Interrupted => return Ok(RoundEnd::Last),
                // It counts when the round does.
                CommandEnding::ObjectiveMissed => missed = ending,
                // A recording that is not whole is no fault of the load: nothing that follows would be better. Nor behind data that is
                // not what was written.
                CommandEnding::RecordingIncomplete | CommandEnding::DataWrong => {
                    self.outcome.ending = ending;
                    return Ok(RoundEnd::Last);
                }
                CommandEnding::Fine | CommandEnding::TargetFailed => self.trouble = self.trouble.max(ending),
            }
            // What a load says itself is more than what its recording tells when it did not get far.
            let said = self.outcome.messages.last().filter(|_| ending == CommandEnding::TargetFailed);
            if let Some(message) = said {
                return Ok(RoundEnd::Faulty(message.clone()));
            }
            if let Some(fault) = crate::half_round::fault(&Reader::open(self.request.directory.join(&name))?)? {
                return Ok(RoundEnd::Faulty(format!("{name}: {fault}")));
            }
        }
        self.outcome.ending = self.outcome.ending.max(missed);
        Ok(RoundEnd::Sound)
    }

    /// The folder of the half-round that comes next, or of the last.
    fn name(&self, side: RoundSide) -> String {
        let width = (2 * (self.request.rounds + SPARE)).to_string().len().max(2);
        format!("{:0width$}-{}", self.order, side.letter())
    }

    /// How long this half-round and all after it take at most; `None` where a run ends by itself.
    fn left_ns(&self, round: u32, side: RoundSide) -> Option<u64> {
        let [a, b] = [RoundSide::A, RoundSide::B].map(|side| self.load(side).duration_ns());
        let both = a?.saturating_add(b?);
        let later = both.saturating_mul(u64::from(self.planned.saturating_sub(round)));
        let this = if order_of(round)[0] == side { both } else { self.load(side).duration_ns()? };
        Some(later.saturating_add(this))
    }

    /// Executes one load, or only its fills; `place`: round and order.
    fn execute(&mut self, side: RoundSide, place: (u32, u32), name: &str) -> Result<CommandEnding, SessionError> {
        let load = self.load(side);
        let (round, order) = place;
        let half_round =
            HalfRound { side, round, order, of: self.request.rounds, label: load.label.clone(), id: self.id.clone() };
        let mut plan = load.plan.clone();
        if round > 0 {
            // Other places and other data than those that the half-round before left in a cache, or on the target.
            plan.settings.seed = plan.settings.seed.wrapping_add(u64::from(order).wrapping_mul(SEED_STEP));
            // That was done once.
            plan.settings.format = plan.settings.format.filter(|all| !all);
        }
        let request = RunRequest {
            plan,
            directory: self.request.directory.join(name),
            policy: load.policy.clone(),
            engine: self.request.engine,
            workers: self.request.workers,
            command_line: self.request.command_line.clone(),
            counters: self.request.counters,
            report: false,
            flatfile: false,
            jobs: load.jobs.clone(),
            half_round: Some(half_round),
            status_ns: None,
        };
        let outcome = execute(&request, self.face, self.stop)?;
        let said = outcome.messages.into_iter().chain(outcome.verdict);
        self.outcome.messages.extend(said.map(|message| format!("{name}: {message}")));
        Ok(outcome.ending)
    }

    /// Says it now, and at the end.
    fn say(&mut self, sentence: String) {
        // A reader that has gone away ends nothing: the recordings are what counts.
        let _ = self.face.note(&sentence);
        self.outcome.messages.push(sentence);
    }
}

impl AbLoad {
    /// Greatest time of one half-round; `None` where a run ends by itself.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        let mut runs = self.plan.runs.iter().map(crate::dry_run::duration_of);
        runs.try_fold(0_u64, |sum, run| Some(sum.saturating_add(run?)))
    }
}

#[cfg(test)]
mod tests {
    use super::{RoundSide, order_of};

    #[test]
    fn each_round_begins_with_the_side_that_ended_the_one_before() {
        let order: String = (1..=4).flat_map(order_of).map(RoundSide::letter).collect();
        assert_eq!(order, "abbaabba");
    }
}
