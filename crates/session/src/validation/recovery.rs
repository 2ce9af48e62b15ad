//! The journal of an earlier session: where it lies, whether it is about the targets of this load, and what it says of them.

use super::known_name;
use super::left_out::LeftOut;
use super::place::{directory, name_and_path, wrong};
use crate::SessionError;
use crate::recovering::{only_recovers, settings};
use crate::sync::changes;
use crate::trees::resolved_anchor;
use data_journal::{
    Crash, Existence, Journal, JournalError, JournalOptions, Recovered, RecoveredTarget, RecoveredTree, SessionHeader,
    recover,
};
use plan::{JournalSettings, Plan};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use target::{OpenTarget, WritePolicy};
use validation::{RecoveredStates, Reports, TargetRules, TargetValidation, Validation, device_id, tree_uses};

/// Names of journals, or targets of one, that a sentence has.
const NAMED: usize = 8;
/// Nothing was done yet when a recovery is refused.
const UNTOUCHED: &str = "nothing was read or written";

/// What to do where one cannot be used.
const ANEW: &str =
    "to begin anew without what it says, leave out --recover (-jr) and name another directory (--journal)";

/// What the journal of an earlier session said.
#[derive(Debug)]
pub struct FoundJournal {
    recovered: Recovered,
    crash: Crash,
    /// What it knows and no run reads; see [`Self::compare`].
    left_out: LeftOut,
}

/// A target of this load, as journals know it.
struct AskedTarget {
    /// Name and path.
    name: String,
    device: u64,
    /// The load validates it, whether a journal knows it or not.
    is_validated: bool,
}

/// What may be done to the targets: nothing is made or extended where they are only read.
pub(crate) fn policy_for(plan: &Plan, policy: &WritePolicy) -> WritePolicy {
    WritePolicy { never_create: policy.never_create || only_recovers(plan), ..policy.clone() }
}

impl FoundJournal {
    /// Reads the journal that the settings say is there; `None`: there is to be none yet.
    ///
    /// # Errors
    /// There is none, it is in use, it cannot be read, or it is not about the targets: nothing of them would be proved, and the load
    /// would write over what is there.
    pub(crate) fn read(plan: &Plan, recording: &Path) -> Result<Option<Self>, SessionError> {
        let Some(settings) = settings(plan) else { return Ok(None) };
        let asked = asked_targets(plan);
        let found = match &settings.directory {
            Some(directory) => Self::at(directory, settings)?,
            None => Self::beside(&directory(settings, recording), settings, &asked)?,
        };
        match found.refusal(&asked, settings.recovers_only) {
            Some(sentence) => Err(SessionError::Validation(vec![sentence])),
            None => Ok(Some(found)),
        }
    }

    fn at(directory: &Path, settings: &JournalSettings) -> Result<Self, SessionError> {
        if !directory.exists() {
            return Err(SessionError::Validation(vec![format!(
                "there is no journal at {}: name the directory in which it lies (--journal), or leave out --recover to begin one",
                directory.display()
            )]));
        }
        Self::of(directory, settings.after_crash).map_err(|error| wrong(&error))
    }

    /// Reads the journal in a directory. `after_crash`: power was cut, whatever the journal knows.
    ///
    /// # Errors
    /// There is none, it is in use, or it cannot be read.
    pub fn of(directory: &Path, after_crash: bool) -> Result<Self, JournalError> {
        let recovered = recover(directory)?;
        let crash = if after_crash { Crash::PowerCut } else { recovered.crash() };
        Ok(Self { recovered, crash, left_out: LeftOut::default() })
    }

    /// Where no directory is named: the newest journal beside the recording, `expected`, that knows a target of this load. Journals have
    /// the names of their recordings, and each recording has another one.
    fn beside(expected: &Path, settings: &JournalSettings, asked: &[AskedTarget]) -> Result<Self, SessionError> {
        let parent = expected.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let all = journals_in(parent);
        for directory in &all {
            match Self::of(directory, settings.after_crash) {
                Ok(found) if asked.iter().any(|asked| found.knows_device(asked.device)) => {
                    return Ok(found);
                }
                Err(error @ JournalError::InUse { .. }) => return Err(wrong(&error)),
                _ => {}
            }
        }
        let place = if parent == Path::new(".") { "this directory".to_string() } else { parent.display().to_string() };
        let names: Vec<String> = all.iter().map(|directory| directory.display().to_string()).collect();
        let what = match names.is_empty() {
            true => format!("in {place} there is no journal (DIRECTORY.journal)"),
            false => format!(
                "no journal in {place} knows {}; there are {}",
                listed(asked.iter().map(|asked| asked.name.as_str())),
                listed(names.iter().map(String::as_str))
            ),
        };
        Err(SessionError::Validation(vec![format!(
            "{what}: {UNTOUCHED}; name the directory in which it lies (--journal DIR, or journal=DIR of an sd=), or begin one (-j, or \
             --journal without --recover)"
        )]))
    }

    /// Why the load must not go on from this journal; `None`: it may.
    fn refusal(&self, asked: &[AskedTarget], recovers_only: bool) -> Option<String> {
        let journal = self.recovered.path().display();
        let damage: Vec<String> = self.recovered.damage.iter().map(ToString::to_string).collect();
        let anew = ANEW;
        if self.recovered.sessions.is_empty() {
            return Some(format!(
                "journal {journal}: nothing of it can be read ({}), so what must be on the targets is not known, and {UNTOUCHED}; {anew}",
                damage.join("; ")
            ));
        }
        let is_known = |asked: &&AskedTarget| self.knows_device(asked.device);
        let known: Vec<&AskedTarget> = asked.iter().filter(is_known).collect();
        let unknown = asked.iter().filter(|asked| (asked.is_validated || known.is_empty()) && !is_known(asked));
        let unknown: Vec<&str> = unknown.map(|asked| asked.name.as_str()).collect();
        if !unknown.is_empty() || known.is_empty() {
            let names = self.recovered.targets.iter().map(|target| target.name.clone());
            let names: Vec<String> = names.chain(self.recovered.trees().map(|tree| tree.target.name.clone())).collect();
            let about = listed(names.iter().map(String::as_str));
            return Some(format!(
                "journal {journal} knows nothing of {}; it is about {about}: {UNTOUCHED}; a target is known by its path, links resolved: \
                 give it the path that it had, or take it out of the load; {anew}",
                listed(unknown.into_iter())
            ));
        }
        // Records behind damage are not used, and may be all that there was.
        let is_hidden = self.recovered.damage.iter().any(|damage| damage.from == 0 || damage.intact_records > 0);
        let of = |asked: &AskedTarget| self.recovered.target(asked.device);
        let mut trees = known.iter().filter_map(|asked| self.recovered.tree(asked.device));
        let is_empty = known.iter().filter_map(|asked| of(asked)).all(|one| one.floors(self.crash).next().is_none())
            && trees.all(|tree| tree.files().next().is_none());
        let of = listed(known.iter().map(|asked| asked.name.as_str()));
        if is_hidden && is_empty {
            let why = damage.join("; ");
            return Some(format!(
                "journal {journal}: what it says of {of} cannot be read ({why}), and {UNTOUCHED}; {anew}"
            ));
        }
        // What is damaged, and not known to be, would be written over.
        let lost = &self.recovered.lost;
        (!recovers_only && !lost.is_empty()).then(|| {
            format!(
                "journal {journal}: a part of what it says of {of} cannot be read ({}), and {UNTOUCHED}; check what is left of it with \
                 --recover-only (-jro); {anew}",
                lost.join("; ")
            )
        })
    }

    /// Finds out what it knows and no run reads: what is lost is reported, what is left out is kept ([`Self::left_out`]).
    pub(crate) fn compare(&mut self, plan: &Plan, validation: &Validation, opened: &[Option<OpenTarget>]) {
        self.left_out = LeftOut::of((&self.recovered, self.crash), plan, validation, opened);
        if !self.recovered.lost.is_empty() {
            let why = "the journal has lost a part of what it said, which may be about more blocks and newer writes";
            self.left_out.unknown = Some(why);
        }
    }

    /// Nothing had to be there, although something was written: what lay there is not proved, whatever the load proves of its own.
    pub(crate) fn proved_nothing(&mut self) {
        let is_written = |target: &RecoveredTarget| target.floors(Crash::ProcessDied).next().is_some();
        let is_open =
            |tree: RecoveredTree<'_>| tree.files().any(|file| tree.file(file, self.crash).existence == Existence::May);
        let is_any = self.recovered.targets.iter().any(is_written) || self.recovered.trees().any(is_open);
        // What is lost was read, in a way.
        if is_any && self.left_out.lost_blocks == 0 {
            self.left_out.unknown.get_or_insert("of what lay there before the load nothing is proved");
        }
    }

    /// What it knows and no run reads.
    pub(crate) fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// What it says, of all targets.
    #[must_use]
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// How the session before is taken to have ended.
    #[must_use]
    pub fn crash(&self) -> Crash {
        self.crash
    }

    fn knows_device(&self, device: u64) -> bool {
        self.recovered.target(device).is_some() || self.recovered.tree(device).is_some()
    }

    /// Does it know a target at this path?
    pub(crate) fn knows(&self, path: &Path) -> bool {
        self.block_bytes(device_id(&known_name(path))).is_some()
    }

    /// Must anything be there of a target, be it behind its end?
    pub(super) fn promises(&self, target: &TargetValidation) -> bool {
        let (states, rules) = (target.states(), target.rules());
        let end = states.blocks().saturating_mul(rules.block_bytes);
        let is_behind = |known: &RecoveredTarget| known.promised_behind(self.crash, end) > 0;
        states.written() > 0 || self.recovered.target(rules.device).is_some_and(is_behind)
    }

    /// Bytes of the blocks in which it knows a target; `None`: it does not know it.
    pub(super) fn block_bytes(&self, device: u64) -> Option<u64> {
        Some(self.recovered.target(device)?.block_bytes)
    }

    /// A target whose blocks must be what the journal says.
    ///
    /// # Errors
    /// It knows the target in other blocks.
    pub fn apply(&self, target: TargetValidation) -> Result<TargetValidation, String> {
        let rules = target.rules();
        let states = RecoveredStates::of(&self.recovered, self.crash, rules.device, rules.block_bytes);
        Ok(match states.map_err(|error| error.to_string())? {
            Some(states) => target.with_recovered(&states),
            None => target,
        })
    }

    /// A file that is not there, of which it says what must be in it: all of that is lost.
    pub(super) fn of_gone(
        &self,
        plan: &Plan,
        (target, run): (usize, u64),
        reports: &Arc<Reports>,
    ) -> Option<TargetValidation> {
        let device = device_id(&known_name(&plan.targets.get(target)?.path));
        let block_bytes = self.block_bytes(device)?;
        let rules = TargetRules {
            target,
            device,
            runs: vec![run],
            size_bytes: 0,
            block_bytes,
            compress_ratio: 1.0,
            copies: None,
            flags: Default::default(),
            trims_read_zero: true,
            checks_unknown: false,
        };
        self.apply(TargetValidation::new(rules, reports.clone())).ok()
    }

    /// Begins the next session in its directory.
    ///
    /// # Errors
    /// A segment cannot be made.
    pub(super) fn resume(&self, header: SessionHeader, options: JournalOptions) -> Result<Journal, JournalError> {
        Journal::resume(&self.recovered, self.crash, header, options)
    }

    /// Why nothing is proved of the targets, where the journal promises nothing of any block of theirs.
    pub(super) fn nothing_to_prove(&self) -> String {
        format!(
            "journal {}: it says of no block of these targets what must be there{}: nothing was proved",
            self.recovered.path().display(),
            match self.crash {
                Crash::PowerCut => ", because no flush was acknowledged behind a write before the power cut",
                Crash::ProcessDied => "",
            }
        )
    }

    /// What the user has to know of it.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut all = self.recovered.sentences();
        all.extend(self.left_out.lost.iter().cloned());
        all.push(match self.crash {
            Crash::ProcessDied if self.recovered.is_clean => {
                let of_others = match self.recovered.have_all_ended() {
                    true => "",
                    false => ", and of sessions before it that died that or a newer one",
                };
                format!("the last write to every block that the journal has must be there{of_others}")
            }
            Crash::ProcessDied => "every write that the journal has must be there, or a newer one".to_string(),
            Crash::PowerCut => {
                "every write that came back before an acknowledged flush was submitted must be there, or a newer one"
                    .to_string()
            }
        });
        all
    }
}

/// The plan whose targets stay as they are, of which only what the journal says is read: where nothing else is asked for, and where files
/// lack so much that no load follows, which making or extending them would hide. `None`: the plan itself.
pub(crate) fn as_found(plan: &Plan, found: Option<&FoundJournal>) -> Option<Plan> {
    let found = found?;
    let lacks = |spec: &plan::TargetSpec| {
        let (bytes, known) = (target::file_bytes(&spec.path)?, device_id(&known_name(&spec.path)));
        Some(found.recovered.target(known)?.promised_behind(found.crash, bytes))
    };
    let lost = plan.targets.iter().filter_map(lacks).sum();
    let mut plan = (only_recovers(plan) || super::load_prevented(plan, lost).is_some()).then(|| plan.clone())?;
    plan.targets.iter_mut().for_each(|spec| *spec = target::as_found(spec));
    plan.settings.validation.as_mut()?.journal.as_mut()?.recovers_only = true;
    Some(plan)
}

/// Why a plan cannot go on with the journal that it names; sentences.
pub(crate) fn foreseen(plan: &Plan) -> Vec<String> {
    if settings(plan).is_none_or(|settings| settings.directory.is_none()) {
        return Vec::new();
    }
    match FoundJournal::read(plan, Path::new("")) {
        Err(SessionError::Validation(sentences)) => sentences,
        Err(error) => vec![error.to_string()],
        Ok(_) => Vec::new(),
    }
}

/// Of a plan that begins a journal where there is one: a sentence.
pub(super) fn exists(plan: &Plan) -> Option<String> {
    let journal = plan.settings.validation.as_ref()?.journal.as_ref()?;
    let directory = journal.directory.as_ref().filter(|_| settings(plan).is_none())?;
    (!segments_of(directory).is_empty()).then(|| JournalError::Exists(directory.clone()).to_string())
}

/// The targets that the runs use.
fn asked_targets(plan: &Plan) -> Vec<AskedTarget> {
    let checks_unknown = plan.settings.validation.as_ref().is_some_and(|settings| settings.checks_unknown);
    let uses = |index: usize| plan.runs.iter().flat_map(|run| &run.workloads).any(|load| load.targets.contains(&index));
    let of = |(index, spec): (usize, &plan::TargetSpec)| {
        // `/dev/zero` and `/dev/null` keep nothing.
        let is_void = std::fs::metadata(&spec.path).is_ok_and(|facts| facts.file_type().is_char_device());
        (uses(index) && !is_void).then(|| AskedTarget {
            name: name_and_path(plan, index),
            device: device_id(&known_name(&spec.path)),
            is_validated: changes(plan, index) || checks_unknown,
        })
    };
    let of_tree = |at: usize| {
        let (place, anchor) = (plan.place_of_tree(at), &plan.trees.get(at)?.anchor);
        let known = resolved_anchor(anchor).unwrap_or_else(|| anchor.clone());
        let device = device_id(&known.to_string_lossy());
        Some(AskedTarget { name: name_and_path(plan, place), device, is_validated: true })
    };
    let trees = (0..plan.trees.len()).filter(|at| tree_uses(plan).any(|one| one.tree == *at)).filter_map(of_tree);
    plan.targets.iter().enumerate().filter_map(of).chain(trees).collect()
}

/// Segments of the journal in a directory, with when they were written last.
fn segments_of(directory: &Path) -> Vec<SystemTime> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    // `00000001.journal`; whole journals may lie beside each other in a directory, and end so, too.
    let is_segment = |entry: &std::fs::DirEntry| {
        let number = entry.path().file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        entry.path().extension().is_some_and(|ending| ending == "journal") && number.is_some()
    };
    let written = |entry: std::fs::DirEntry| entry.metadata().and_then(|facts| facts.modified()).ok();
    entries.filter(is_segment).filter_map(written).collect()
}

/// Directories that have a journal, and names as journals of recordings have, the newest first.
fn journals_in(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "journal")) {
        let path = if parent == Path::new(".") { PathBuf::from(entry.file_name()) } else { entry.path() };
        if let Some(newest) = segments_of(&path).into_iter().max() {
            found.push((newest, path));
        }
    }
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// The first of these names, and how many more there are.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let mut named: Vec<String> = names.take(NAMED).map(str::to_string).collect();
    named.extend((more > 0).then(|| format!("{more} more")));
    if named.is_empty() { "no target".to_string() } else { named.join(", ") }
}
