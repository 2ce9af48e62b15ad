//! Half-rounds: recordings that say which side of which round of a comparison they are, and how they are found again.

use crate::SessionError;
use output::Folder;
use recording::{Reader, RecordingExit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// In the manifest of a half-round: which one it is, a [`HalfRound`].
pub(crate) const KEY: &str = "ab";

/// Which of the two loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoundSide {
    /// The first, which the other is held against.
    A,
    /// The other.
    B,
}

impl RoundSide {
    /// Its letter.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

/// Which half of which round a recording is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HalfRound {
    /// Which load ran.
    pub side: RoundSide,
    /// Which round, from 1; 0 only fills targets.
    pub round: u32,
    /// How many rounds were asked for.
    pub of: u32,
    /// Its place among all half-rounds as they were run, from 1; 0 for fills.
    pub order: u32,
    /// Short name of the side.
    pub label: String,
    /// The same in all recordings of one comparison, and in no other.
    pub id: String,
}

impl HalfRound {
    /// Does it only fill targets?
    #[must_use]
    pub fn is_fill(&self) -> bool {
        self.round == 0
    }

    /// Of a recording; `None` where it is no half-round.
    fn of(reader: &Reader) -> Option<Self> {
        let value = reader.manifest().extra.get(KEY)?;
        serde_json::from_value::<Self>(value.clone()).ok().filter(|found| !found.is_fill())
    }
}

/// The rounds of a directory of which both sides were run to their end, without a fault.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// Name and recordings of each side, in the order of rounds.
    pub(crate) sides: [(String, Vec<Reader>); 2],
    /// What was left out, sentences with a full stop.
    pub(crate) remarks: Vec<String>,
}

/// Why a half-round is not worth a comparison, so that its partner is left out as well; `None` where nothing is wrong with it. The one
/// rule: `ab` runs another round by it, and `compare DIR` chooses its rounds by it.
pub(crate) fn fault(reader: &Reader) -> Result<Option<String>, SessionError> {
    let exit = reader.manifest().exit.as_ref();
    // One that was interrupted, killed, or is still being written was not run to its end.
    if exit.is_none_or(|word| matches!(word, RecordingExit::Interrupted | RecordingExit::Failed)) {
        return Ok(Some(exit.map_or(reader.state().words(), RecordingExit::as_str).to_string()));
    }
    let measured = views::round_fault(reader)?;
    let is_fault = |word: &&RecordingExit| matches!(word, RecordingExit::TargetFailed | RecordingExit::DataWrong);
    Ok(measured.or_else(|| exit.filter(is_fault).map(ToString::to_string)))
}

/// The half-rounds in a directory, in the order in which they were run; none where it is a recording itself, or something else.
fn found_in(directory: &Path) -> Result<Vec<(HalfRound, Reader)>, SessionError> {
    if recording::is_recording(directory) || !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    // A folder that may not be looked into: the recording that it may be is opened next, and says what to do.
    let Ok(folder) = Folder::open(directory) else { return Ok(found) };
    for name in folder.names()? {
        let path = directory.join(name);
        if !recording::is_recording(&path) {
            continue;
        }
        let reader = Reader::open(&path)?;
        found.extend(HalfRound::of(&reader).map(|half| (half, reader)));
    }
    found.sort_by_key(|(half, _)| half.order);
    let is_mixed = found.windows(2).any(|pair| pair[0].0.id != pair[1].0.id);
    if is_mixed { Err(SessionError::MixedRounds(directory.to_path_buf())) } else { Ok(found) }
}

/// The recordings of a directory of `iodyno ab`, in the order in which they were run; none where it is a recording itself, or
/// something else.
///
/// # Errors
/// One of them cannot be read, or they are of two comparisons.
pub fn half_rounds(directory: &Path) -> Result<Vec<PathBuf>, SessionError> {
    Ok(found_in(directory)?.into_iter().map(|(_, reader)| reader.directory().to_path_buf()).collect())
}

/// The two sides in a directory of `iodyno ab`; `None` where it is none.
pub(crate) fn rounds_in(directory: &Path) -> Result<Option<Rounds>, SessionError> {
    let found = found_in(directory)?;
    let Some((first, _)) = found.first() else { return Ok(None) };
    let asked = first.of;
    let mut names = [RoundSide::A.letter().to_string(), RoundSide::B.letter().to_string()];
    let mut rounds: BTreeMap<u32, [Option<Reader>; 2]> = BTreeMap::new();
    for (half, reader) in found {
        let place = usize::from(half.side == RoundSide::B);
        names[place] = half.label;
        rounds.entry(half.round).or_default()[place] = Some(reader);
    }
    let [mut a, mut b] = [Vec::new(), Vec::new()];
    let mut remarks = Vec::new();
    for (round, halves) in rounds {
        let faults = faults(&names, &halves)?;
        match halves {
            [Some(one), Some(other)] if faults.is_empty() => {
                a.push(one);
                b.push(other);
            }
            _ => remarks.push(format!("Round {round} is left out on both sides ({}).", faults.join("; "))),
        }
    }
    if a.is_empty() {
        return Err(SessionError::NoRound { directory: directory.to_path_buf(), remarks });
    }
    if a.len() < usize::try_from(asked).unwrap_or(usize::MAX) {
        remarks.push(format!("{} of {asked} rounds are there.", a.len()));
    }
    let [name_a, name_b] = names;
    Ok(Some(Rounds { sides: [(name_a, a), (name_b, b)], remarks }))
}

/// What is wrong with a round, by side; nothing where it is whole.
fn faults(names: &[String; 2], halves: &[Option<Reader>; 2]) -> Result<Vec<String>, SessionError> {
    let mut faults = Vec::new();
    for (name, half) in names.iter().zip(halves) {
        match half {
            None => faults.push(format!("{name} was not run")),
            Some(reader) => faults.extend(fault(reader)?.map(|fault| format!("{name}: {fault}"))),
        }
    }
    Ok(faults)
}
