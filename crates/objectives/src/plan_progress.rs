//! How far a plan came: what was cut short, and what never began, has shown nothing.

use super::SelectableNames;
use rates::{base_title, split_round};
use recording::{Manifest, REQUESTED, Reader, RecordingExit, RecordingState};
use std::collections::BTreeMap;

/// In the manifest: how often all runs are to be done, as far as that was known beforehand.
pub const ROUNDS: &str = "rounds";
/// In the manifest: the runs that were cut short, by their position, each with a [word](RunHalt::word) for why.
pub const CUT_SHORT: &str = "cut_short";

/// Was this made by a command with runs, whether they began or not?
pub(super) fn is_planned(manifest: &Manifest) -> bool {
    manifest.extra.get(REQUESTED).and_then(|runs| runs.as_array()).is_some_and(|runs| !runs.is_empty())
}

/// Why a run ended before its time, or never began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunHalt {
    /// None of both: it may still come.
    NotOver,
    /// The program that wrote the recording was killed, or its machine went down.
    Killed,
    /// The user.
    Interrupted,
    /// The command met with a mistake.
    Failed,
    /// Operations that failed.
    Errors,
}

impl RunHalt {
    /// What the manifest says of a run.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NotOver => "not over",
            Self::Killed => "killed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Errors => "errors",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Killed, Self::Interrupted, Self::Failed, Self::Errors].into_iter().find(|halt| halt.word() == word)
    }

    /// Why not all of a command's runs need be there; `None` where it came to its end.
    fn of(manifest: &Manifest, state: RecordingState) -> Option<Self> {
        match (manifest.exit.as_ref(), state) {
            (None, RecordingState::Open) => Some(Self::NotOver),
            (None, RecordingState::CutShort) => Some(Self::Killed),
            (Some(RecordingExit::TargetFailed | RecordingExit::DataWrong), _) => Some(Self::Errors),
            (Some(word), _) => Self::of_word(word.as_str()),
            (None, RecordingState::Sealed) => None,
        }
    }

    /// What is said of a run that began.
    pub(super) fn of_run(self) -> &'static str {
        match self {
            Self::NotOver => "the run is not over",
            Self::Killed => "the recording was cut short during the run",
            Self::Interrupted => "the run was interrupted",
            Self::Failed => "the command failed during the run",
            Self::Errors => "the run was ended by failed operations",
        }
    }

    /// What is said of one that did not.
    pub(super) fn of_pending(self, title: &str) -> String {
        match self {
            Self::NotOver => format!("{title} has not begun: the recording is not over"),
            Self::Killed => format!("{title} never began: the recording was cut short"),
            Self::Interrupted => format!("{title} never began: the command was interrupted"),
            Self::Failed => format!("{title} never began: the command failed"),
            Self::Errors => format!("{title} never began: operations failed before it"),
        }
    }
}

/// A run of the plan that has not begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRun {
    /// Its title, with the number of its repetition.
    pub title: String,
    /// Its loop variables.
    pub detail: String,
    /// Its place in the plan.
    pub place: usize,
}

/// The runs of a plan, and how many of them have begun.
#[derive(Clone, Debug, Default)]
pub struct PlanProgress {
    /// Titles and loop variables.
    planned: Vec<(String, String)>,
    /// How often all of them are to be done; of more rounds nothing is known.
    rounds: u64,
    /// The round, counted from 0, and the place of the run that comes next.
    next: (u64, usize),
}

impl PlanProgress {
    /// None of these runs, each with its title and its loop variables, has begun.
    #[must_use]
    pub fn new(planned: Vec<(String, String)>, rounds: u64) -> Self {
        Self { planned, rounds, next: (0, 0) }
    }

    fn of(manifest: &Manifest) -> Option<Self> {
        let runs = manifest.extra.get(REQUESTED)?.as_array()?;
        let text = |run: &serde_json::Value, name: &str| run[name].as_str().unwrap_or_default().to_string();
        let planned = runs.iter().map(|run| (text(run, "run"), text(run, "detail"))).collect();
        let rounds = manifest.extra.get(ROUNDS).and_then(serde_json::Value::as_u64).unwrap_or(1);
        Some(Self::new(planned, rounds))
    }

    /// A run begins; those of the plan that stand between it and the one before were left out on purpose.
    pub fn begin(&mut self, title: &str, detail: &str) {
        let (base, round) = split_round(title);
        let first = if round > self.next.0 { 0 } else { self.next.1 };
        let is_it = |(run, of): &(String, String)| (run == base || run == title) && of == detail;
        let found = self.planned.iter().skip(first).position(is_it);
        if let Some(place) = found.filter(|_| round >= self.next.0) {
            self.next = (round, first + place + 1);
        }
    }

    /// The runs that have not begun, each once: in the first round that it is missing from.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingRun> {
        let (round, next) = self.next;
        let in_round = |round: u64, places: std::ops::Range<usize>| -> Vec<PendingRun> {
            if round > 0 && round >= self.rounds {
                return Vec::new();
            }
            let of = |place: usize| {
                let (title, detail) = self.planned.get(place)?;
                let title = if round == 0 { title.clone() } else { format!("{title} (round {})", round + 1) };
                Some(PendingRun { title, detail: detail.clone(), place })
            };
            places.filter_map(of).collect()
        };
        let mut pending = in_round(round, next..self.planned.len());
        pending.extend(in_round(round + 1, 0..next));
        pending
    }
}

/// What a recording says of the end of its plan. Without a plan nothing is known of what is missing.
#[derive(Debug)]
pub(super) struct PlanEnd {
    /// With the runs that have not begun yet.
    pub(super) progress: PlanProgress,
    /// Why the plan did not come to its end; `None`: it did.
    pub(super) halt: Option<RunHalt>,
    /// Runs that were cut short.
    pub(super) cut: BTreeMap<i32, RunHalt>,
}

impl PlanEnd {
    pub(super) fn of(reader: &Reader) -> Option<Self> {
        let manifest = reader.manifest();
        let progress = PlanProgress::of(manifest)?;
        let cut = manifest.extra.get(CUT_SHORT).and_then(serde_json::Value::as_object);
        let one = |(run, word): (&String, &serde_json::Value)| {
            Some((run.parse().ok()?, RunHalt::of_word(word.as_str()?).unwrap_or(RunHalt::Interrupted)))
        };
        let cut = cut.into_iter().flatten().filter_map(one).collect();
        Some(Self { progress, halt: RunHalt::of(manifest, reader.state()), cut })
    }
}

/// Adds the titles of planned runs to what labels may name: one that never began is one all the same.
pub(super) fn add_names(manifest: &Manifest, names: &mut SelectableNames) {
    for (title, _) in PlanProgress::of(manifest).map(|progress| progress.planned).unwrap_or_default() {
        let is_known = names.runs.iter().any(|name| *name == title || base_title(name) == title);
        if !is_known {
            names.runs.push(title);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PendingRun, PlanProgress, RunHalt};
    use recording::{Manifest, RecordingState};

    fn pending(rounds: u64, begun: &[(&str, &str)]) -> Vec<(String, String)> {
        let planned = [("max", ""), ("rd1", "threads=1"), ("rd1", "threads=2"), ("rd2", "")];
        let planned = planned.map(|(title, detail)| (title.to_string(), detail.to_string())).to_vec();
        let mut progress = PlanProgress::new(planned, rounds);
        begun.iter().for_each(|(title, detail)| progress.begin(title, detail));
        progress.pending().into_iter().map(|PendingRun { title, detail, .. }| (title, detail)).collect()
    }

    fn names(pending: &[(String, String)]) -> Vec<String> {
        pending.iter().map(|(title, detail)| format!("{title} {detail}").trim_end().to_string()).collect()
    }

    #[test]
    fn what_stands_behind_the_last_run_that_began_never_did() {
        assert_eq!(names(&pending(1, &[])), ["max", "rd1 threads=1", "rd1 threads=2", "rd2"]);
        assert_eq!(names(&pending(1, &[("max", ""), ("rd1", "threads=1")])), ["rd1 threads=2", "rd2"]);
        // What was left out on purpose is not missing.
        assert_eq!(names(&pending(1, &[("max", ""), ("rd1", "threads=2")])), ["rd2"]);
        assert!(pending(1, &[("max", ""), ("rd2", "")]).is_empty());
        // A run that is in no plan moves nothing.
        assert_eq!(names(&pending(1, &[("max", ""), ("rd7", "")])).len(), 3);
    }

    #[test]
    fn of_repetitions_each_run_is_missing_once() {
        let one = [("max", ""), ("rd1", "threads=1"), ("rd1", "threads=2"), ("rd2", "")];
        let mut begun = one.to_vec();
        assert!(names(&pending(3, &begun)).iter().all(|name| name.contains("(round 2)")));
        begun.extend([("max (round 2)", ""), ("rd1 (round 2)", "threads=1")]);
        assert_eq!(
            names(&pending(3, &begun)),
            ["rd1 (round 2) threads=2", "rd2 (round 2)", "max (round 3)", "rd1 (round 3) threads=1"]
        );
        assert_eq!(names(&pending(2, &begun)), ["rd1 (round 2) threads=2", "rd2 (round 2)"]);
        // Of rounds that go on until they are ended, the first is what was asked for.
        assert!(pending(1, &begun).is_empty());
        assert_eq!(names(&pending(1, &one[..3])), ["rd2"]);
        assert_eq!(pending(u64::MAX, &begun).len(), 4);
    }

    #[test]
    fn a_command_that_came_to_its_end_was_not_cut_short() {
        let of = |exit: Option<&str>, state: RecordingState| {
            let mut manifest = Manifest::new(&["test".to_string()]);
            manifest.exit = exit.map(recording::RecordingExit::from);
            RunHalt::of(&manifest, state)
        };
        for word in ["complete", "objective missed", "imported", "fine"] {
            assert_eq!(of(Some(word), RecordingState::Sealed), None, "{word}");
        }
        for (word, halt) in [
            ("interrupted", RunHalt::Interrupted),
            ("killed", RunHalt::Killed),
            ("failed", RunHalt::Failed),
            ("target failed", RunHalt::Errors),
        ] {
            assert_eq!(of(Some(word), RecordingState::Sealed), Some(halt), "{word}");
        }
        assert_eq!(of(None, RecordingState::Open), Some(RunHalt::NotOver));
        assert_eq!(of(None, RecordingState::CutShort), Some(RunHalt::Killed));
        assert_eq!(of(None, RecordingState::Sealed), None);
    }
}
