//! What of a recording is damaged: lost frames of the journal, sealed files that are not what was written.

use crate::journal::JournalReader;
use crate::range_read::{last_time, time_behind};
use crate::{Manifest, Reader, RecordingError};
use quantity::text::format_wall;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// In the manifest of a recording that was sealed or repaired with what was whole: what was not.
pub(crate) const DAMAGE: &str = "damage";

/// So many frames before a damaged one are looked at for a time.
const FRAMES_BEFORE: usize = 256;

/// What is damaged, or was when the recording was sealed. What a killed writer had not written yet is no damage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordingDamage {
    /// Frames that the journal should have at least, of one table and interval each.
    pub frames: u64,
    /// Frames that are missing, or not whole.
    pub frames_lost: u64,
    /// Whole frames that stand a second time, before earlier ones, or are of another recording.
    pub frames_misplaced: u64,
    /// Bytes of the journal that belong to no whole frame.
    pub bytes: u64,
    /// The last time that is known before the first damage, `CLOCK_MONOTONIC`, ns.
    pub from_ns: Option<i64>,
    /// The first time that is known after the last damage; `None` when nothing comes after it.
    pub to_ns: Option<i64>,
    /// Rows by table that were in damaged files, as far as that is known.
    pub rows_lost: BTreeMap<String, u64>,
    /// What is wrong with sealed files, a sentence each.
    pub files: Vec<String>,
    /// What is wrong with the manifest.
    pub manifest: Option<String>,
}

impl RecordingDamage {
    /// Is anything damaged?
    #[must_use]
    pub fn is_some(&self) -> bool {
        *self != Self::default() && (self.of_journal() || self.of_files() || self.manifest.is_some())
    }

    /// Are there rows that should be there and are not? A manifest that was read from its copy costs none, and frames of
    /// others, or that stand a second time, cost none as long as the recording's own are there.
    #[must_use]
    pub fn costs_rows(&self) -> bool {
        self.frames_lost > 0 || self.bytes > 0 || self.of_files()
    }

    /// How many rows of a table are missing at least; `None` when none are.
    #[must_use]
    pub fn least_rows_of(&self, table: &str) -> Option<u64> {
        let known = self.rows_lost.get(table).copied();
        let may_miss = self.frames_lost > 0 || self.bytes > 0 || !self.files.is_empty() || known.is_some();
        // A frame has a row or more; which table it was of, no one can tell.
        may_miss.then(|| known.unwrap_or(0).saturating_add(self.frames_lost).max(1))
    }

    fn of_journal(&self) -> bool {
        self.frames_lost > 0 || self.frames_misplaced > 0 || self.bytes > 0
    }

    fn of_files(&self) -> bool {
        !self.files.is_empty() || !self.rows_lost.is_empty()
    }

    /// What is damaged, as sentences without a full stop.
    #[must_use]
    pub fn sentences(&self, manifest: &Manifest) -> Vec<String> {
        let mut sentences = Vec::new();
        sentences.extend(self.manifest.clone());
        if self.of_journal() {
            let (what, rows) = if self.frames_lost > 0 {
                let what = format!("{} of {} frames of the journal are unreadable", self.frames_lost, self.frames);
                (what, "the rows in them are in no figure")
            } else if self.bytes > 0 {
                let what = format!("{} bytes of the journal are unreadable, a frame at least", self.bytes);
                (what, "the rows in them are in no figure")
            } else {
                let strange = self.frames_misplaced;
                let what = format!("{strange} frames of the journal are doubled, too early or of another recording");
                (what, "they were left out, and no row of this recording is missing")
            };
            sentences.push(format!("{what}{}: {rows}", self.when(manifest)));
        }
        for (table, rows) in &self.rows_lost {
            sentences.push(format!(
                "{rows} rows of table {table} were unreadable, or in a damaged MiB of their file, and are in no figure"
            ));
        }
        sentences.extend(self.files.iter().cloned());
        sentences
    }

    fn when(&self, manifest: &Manifest) -> String {
        let wall = |t_ns: i64| format_wall(manifest.wall_ns_at(t_ns));
        match (self.from_ns, self.to_ns) {
            (Some(from), Some(to)) => format!(", between {} and {}", wall(from), wall(to)),
            (Some(from), None) => format!(", after {}", wall(from)),
            (None, Some(to)) => format!(", before {}", wall(to)),
            (None, None) => String::new(),
        }
    }

    /// What a manifest keeps of it.
    pub(crate) fn of(manifest: &Manifest) -> Self {
        let kept = manifest.extra.get(DAMAGE).cloned();
        kept.and_then(|kept| serde_json::from_value(kept).ok()).unwrap_or_default()
    }

    /// Keeps it in a manifest, together with what was kept.
    pub(crate) fn keep(self, manifest: &mut Manifest) {
        let known = Self::of(manifest);
        let mut all = if self.of_journal() { self.clone() } else { known.clone() };
        all.rows_lost = known.rows_lost;
        self.rows_lost.into_iter().for_each(|(table, rows)| *all.rows_lost.entry(table).or_default() += rows);
        all.files = known.files.into_iter().chain(self.files).collect();
        all.manifest = None;
        if all.is_some() {
            manifest.extra.insert(DAMAGE.to_string(), serde_json::json!(all));
        }
    }
}

/// Reads all of a journal for what is wrong with it.
pub(crate) fn inspect(mut journal: JournalReader) -> Result<RecordingDamage, RecordingError> {
    let wrong = |journal: &JournalReader| {
        (journal.order.missing(), journal.order.misplaced, journal.unreadable() - journal.torn)
    };
    let mut recent: VecDeque<u64> = VecDeque::new();
    let (mut before, mut after) = (None, None);
    let mut known = wrong(&journal);
    while let Some((name, stream)) = journal.next_frame()? {
        let start = journal.start_of(&name, &stream);
        // Its checksums may be right, and yet there are no rows in it.
        let is_readable = journal.is_readable(&stream);
        if !is_readable {
            journal.leave_out(&stream);
        }
        let now = wrong(&journal);
        if now != known {
            before.get_or_insert_with(|| recent.clone());
            (known, after) = (now, Some(start));
        }
        if !is_readable {
            continue;
        }
        recent.push_back(start);
        if recent.len() > FRAMES_BEFORE {
            recent.pop_front();
        }
    }
    // Of format 1 nothing tells whether a frame at the end was torn or damaged.
    let now = if journal.is_numbered() { wrong(&journal) } else { known };
    if now != known {
        before.get_or_insert(recent);
        after = None;
    }
    let (frames_lost, frames_misplaced, bytes) = now;
    let mut damage = RecordingDamage {
        frames: journal.order.expected(),
        frames_lost,
        frames_misplaced,
        bytes,
        ..RecordingDamage::default()
    };
    for start in before.unwrap_or_default().into_iter().rev() {
        damage.from_ns = last_time(&mut journal, start)?;
        if damage.from_ns.is_some() {
            break;
        }
    }
    if let Some(start) = after {
        damage.to_ns = time_behind(&mut journal, start)?;
    }
    Ok(damage)
}

impl Reader {
    /// What is damaged, as far as the journal, the manifest and the lengths of the files tell. The content of sealed files
    /// is checked when it is read, and by [`verify`](Self::verify).
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn damage(&self) -> Result<RecordingDamage, RecordingError> {
        let mut damage = match self.open_journal()? {
            Some(journal) => inspect(journal)?,
            None => {
                let mut damage = RecordingDamage::of(self.manifest());
                let wrong = self.parts()?.filter_map(|file| file.open().err());
                damage.files.extend(wrong.map(|error| error.what()));
                damage
            }
        };
        damage.manifest = self.manifest_damage().map(ToString::to_string);
        Ok(damage)
    }

    /// Checks the sealed files of a table: for engines that read them on their own.
    ///
    /// # Errors
    /// One of them is damaged, could not be of a recording, or stands behind a link.
    pub fn check_files(&self, table: &str) -> Result<(), RecordingError> {
        self.files_of(table)?.iter().try_for_each(|file| file.check())
    }

    /// Is there more damage than a repair, or sealing, has already put down?
    #[must_use]
    pub fn can_be_repaired(&self, damage: &RecordingDamage) -> bool {
        *damage != RecordingDamage::of(self.manifest())
    }

    /// What is damaged, with all sealed files read and checked.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn verify(&self) -> Result<RecordingDamage, RecordingError> {
        let mut damage = self.damage()?;
        if self.open_journal()?.is_none() {
            // `damage` has those that cannot even be opened.
            let wrong = self.parts()?.filter(|file| file.open().is_ok()).filter_map(|file| file.check().err());
            damage.files.extend(wrong.map(|error| error.what()));
        }
        Ok(damage)
    }
}
