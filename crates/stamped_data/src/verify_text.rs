//! What was found, as lines for people and as one object for programs.

use super::identity::{IdentitySource, TargetIdentity};
use super::verified::{JournalVerdict, VerifyOutcome};
use quantity::figures::grouped;
use quantity::text::{format_bytes, format_wall};
use serde_json::{Value, json};
use stamp::SectorStamp;
use validation::{AreaKind, AreaSpan, DAMAGES_KEPT, RunTally, SurveyDamage, SurveyUnit};

/// Damaged blocks, areas and runs that lines show of each; all are counted.
pub(super) const SHOWN: usize = 20;

/// What stamps alone cannot show.
pub const LOST_WRITES: &str =
    "lost writes: an older block is whole, too; the run that wrote it tells (`--verify`), or its journal";

/// Seconds since 1970 as date and time.
pub(super) fn when(seconds: u32) -> String {
    format_wall(i64::from(seconds) * 1_000_000_000)
}

pub(super) fn count(number: u64) -> String {
    grouped(number as f64)
}

/// `1 block`, `2 blocks`.
pub(super) fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A table whose columns are as wide as what stands in them; the last one is not filled up.
pub(super) fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
            let is_number = cell.chars().next().is_some_and(|c| c.is_ascii_digit()) && !cell.contains(['x', '-', ':']);
            if is_number { gap + cell } else { cell.clone() + &gap }
        });
        format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_string()
    };
    rows.iter().map(line).collect()
}

impl VerifyOutcome {
    /// What was found, for people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{}, {}", self.path.display(), format_bytes(self.size_bytes))];
        let how = if self.is_direct { "past the page cache" } else { "with the page cache emptied before" };
        let has_files = self.survey.bytes_of(AreaKind::OfFiles) > 0;
        let of_files = "files, each under its own name, whose sectors say so (iodyno verify FILE)";
        let name = match self.identity.source {
            IdentitySource::Unknown if has_files => of_files.to_string(),
            _ => self.identity.words(),
        };
        let signature = self.signature.iter().map(|(what, at)| ("holds", format!("{what} at {at:#x}")));
        let head = [
            ("written as", name),
            ("read", format!("{how}{}", if self.is_complete { "" } else { ", NOT ALL: ended before its end" })),
            ("verdict", self.verdict()),
        ];
        lines.extend(signature.chain(head).map(|(name, words)| format!("  {name:<11} {words}")));
        if self.has_stamps() && self.damaged() == 0 && self.journal.is_none() {
            lines.push(format!("  {:<11} {LOST_WRITES}", "not shown"));
        }
        if let Some(journal) = &self.journal {
            journal.lines(&mut lines);
        }
        self.area_lines(&mut lines);
        self.run_lines(&mut lines);
        self.damage_lines(&mut lines);
        self.note_lines(&mut lines);
        lines
    }

    /// One sentence.
    #[must_use]
    pub fn verdict(&self) -> String {
        let right = self.survey.bytes_of(AreaKind::Stamped);
        let part =
            if self.is_complete { String::new() } else { format!(" in the first {}", format_bytes(self.done_bytes)) };
        let unread = match self.unreadable_bytes() {
            0 => String::new(),
            bytes => format!("; {} cannot be read", format_bytes(bytes)),
        };
        if let Some(journal) = &self.journal {
            let beyond = match (self.survey.damaged(), right) {
                (0, 0) => String::new(),
                (0, right) => format!("; beyond it {} stamped and right", format_bytes(right)),
                (blocks, right) => {
                    format!(
                        "; beyond it DAMAGED: {}, {} stamped and right",
                        counted(blocks, "block"),
                        format_bytes(right)
                    )
                }
            };
            return format!("{}{beyond}{part}{unread}", journal.verdict(self.is_complete));
        }
        if !self.has_stamps() {
            return format!("nothing verified: nothing{part} has a stamp{unread}");
        }
        let damage = match self.damaged() {
            0 => "no damage".to_string(),
            blocks => format!("DAMAGED: {}", counted(blocks, "block")),
        };
        let stamped = match (right, self.survey.bytes_of(AreaKind::OfFiles)) {
            (right, 0) => format!("{} stamped and right", format_bytes(right)),
            (0, of_files) => format!("{} of files, as their stamps say", format_bytes(of_files)),
            (right, of_files) => {
                let (right, of_files) = (format_bytes(right), format_bytes(of_files));
                format!("{right} stamped and right, {of_files} of files, as their stamps say")
            }
        };
        let misnamed = self.identity.misnamed.as_ref();
        let named = misnamed.map_or_else(String::new, |name| format!("nothing here was written as {name}; "));
        format!("{named}{damage}{part}; {stamped}{unread}")
    }

    fn area_lines(&self, lines: &mut Vec<String>) {
        lines.extend([String::new(), "What is there".to_string()]);
        let rows = AreaKind::ALL.into_iter().filter_map(|kind| {
            let bytes = self.survey.bytes_of(kind);
            let share = 100.0 * bytes as f64 / self.size_bytes.max(1) as f64;
            (bytes > 0).then(|| vec![kind.words().to_string(), format_bytes(bytes), format!("{share:.2} %")])
        });
        lines.extend(table(&rows.collect::<Vec<_>>()));
        let areas = self.survey.area_count;
        if areas < 2 {
            return;
        }
        lines.extend([String::new(), format!("Where ({})", counted(areas, "area"))]);
        if areas > SHOWN as u64 {
            let row = |(kind, span): (&AreaKind, &AreaSpan)| {
                let place = format!("{:#x} … {:#x}", span.start, span.end);
                vec![kind.words().to_string(), counted(span.areas, "area"), place]
            };
            lines.extend(table(&self.survey.spans.iter().map(row).collect::<Vec<_>>()));
            return;
        }
        let row = |area: &validation::TargetArea| {
            vec![format!("{:#x}", area.address), format_bytes(area.bytes), area.kind.words().to_string()]
        };
        lines.extend(table(&self.survey.areas.iter().map(row).collect::<Vec<_>>()));
    }

    /// Runs, the newest first.
    fn runs(&self) -> Vec<(u64, &RunTally)> {
        let mut runs: Vec<(u64, &RunTally)> = self.survey.runs.iter().map(|(run, tally)| (*run, tally)).collect();
        runs.sort_by_key(|(run, tally)| (std::cmp::Reverse((tally.last_s, tally.first_s)), *run));
        runs
    }

    fn run_lines(&self, lines: &mut Vec<String>) {
        let runs = self.runs();
        if runs.is_empty() {
            return;
        }
        lines.extend([String::new(), format!("Who wrote it ({})", first_of(runs.len() as u64, "run"))]);
        let head = ["run", "bytes", "first written", "last written", "writes", "writers", "epochs"];
        let mut rows = vec![head.map(str::to_string).to_vec()];
        for (run, tally) in runs.iter().take(SHOWN) {
            let writers = match (tally.writers.first(), tally.writers.last()) {
                (Some(first), Some(last)) => span(u64::from(*first), u64::from(*last)),
                _ => String::new(),
            };
            rows.push(vec![
                format!("{run:016x}"),
                format_bytes(tally.sectors * 512),
                when(tally.first_s),
                when(tally.last_s),
                span(tally.first_write, tally.last_write),
                writers,
                span(u64::from(tally.first_epoch), u64::from(tally.last_epoch)),
            ]);
        }
        lines.extend(table(&rows));
        if self.survey.sectors_of_others > 0 {
            lines.push(format!("  and {} of further runs", counted(self.survey.sectors_of_others, "sector")));
        }
    }

    fn damage_lines(&self, lines: &mut Vec<String>) {
        if self.survey.damaged() > 0 {
            let what = if self.journal.is_some() { "Damage beyond what the journal knows" } else { "Damage" };
            let classes =
                self.survey.counts.iter().map(|(class, blocks)| vec![class.name().to_string(), count(*blocks)]);
            lines.extend([String::new(), what.to_string()]);
            lines.extend(table(&classes.collect::<Vec<_>>()));
            lines.extend([String::new(), format!("Damaged blocks ({})", first_of(self.survey.damaged(), "block"))]);
            let row = |damage: &SurveyDamage| {
                vec![
                    format!("{:#x}", damage.address),
                    format_bytes(damage.bytes),
                    damage.class.name().to_string(),
                    format!("{} wrong", counted(damage.wrong_sectors, "sector")),
                    damage.found.clone(),
                ]
            };
            lines.extend(table(&self.survey.damages.iter().take(SHOWN).map(row).collect::<Vec<_>>()));
            let first = self.survey.damages.first().map_or(0, |damage| damage.first_wrong.address);
            lines.push(format!(
                "  one place, field by field: iodyno inspect {} --at {first:#x}{}",
                self.path.display(),
                self.inspect_flags()
            ));
        }
        if !self.unreadable.is_empty() {
            lines.extend([String::new(), format!("Not readable ({})", first_of(self.unreadable.len() as u64, "part"))]);
            let row =
                |part: &std::ops::Range<u64>| vec![format!("{:#x}", part.start), format_bytes(part.end - part.start)];
            lines.extend(table(&self.unreadable.iter().take(SHOWN).map(row).collect::<Vec<_>>()));
        }
    }

    /// With which `inspect` judges as this.
    fn inspect_flags(&self) -> String {
        let mut flags = String::new();
        if let (IdentitySource::Asked, Some(name)) = (self.identity.source, &self.identity.name) {
            flags.push_str(&format!(" --as {name}"));
        }
        if let SurveyUnit::Exactly(bytes) = self.unit {
            flags.push_str(&format!(" --block {bytes}"));
        }
        flags
    }

    /// Most of what was written under a certain name was not.
    fn other_name(&self) -> Option<String> {
        if self.identity.source != IdentitySource::Asked {
            return None;
        }
        let most = TargetIdentity::of(&self.path, None, &self.survey.devices);
        let device = most.device.filter(|device| Some(*device) != self.identity.device)?;
        let sectors = |device: u64| self.survey.devices.get(&device).copied().unwrap_or(0);
        let name = most.name.unwrap_or_else(|| format!("another target, {device:016x}"));
        let (of_other, asked) = (sectors(device), self.identity.device.map_or(0, sectors));
        Some(format!(
            "most of the sectors were written as {name}: {}; as {}: {}. If the name (--as) is right, they are data of another target",
            format_bytes(of_other * 512),
            self.identity.name.as_deref().unwrap_or("?"),
            format_bytes(asked * 512)
        ))
    }

    fn note_lines(&self, lines: &mut Vec<String>) {
        let survey = &self.survey;
        let mut notes = Vec::from_iter(self.other_name());
        if survey.mixed_units > 0 && matches!(self.unit, SurveyUnit::AtLeast(_)) {
            let first = survey.first_mixed.map_or_else(String::new, |at| format!(", the first at {at:#x}"));
            notes.push(format!(
                "{} of {} of several writes ({} of several runs){first}: right where smaller blocks were written later, torn \
                 where they were not; `--block BYTES` decides",
                counted(survey.mixed_units, "block"),
                format_bytes(self.unit.bytes()),
                count(survey.units_of_runs)
            ));
        }
        if survey.copied_sectors > 0 {
            notes.push(format!(
                "{} of blocks that are equal to others (dedup): intact, but where each belongs is known to its load alone",
                format_bytes(survey.copied_sectors * 512)
            ));
        }
        if survey.zeroes_in_writes > 0 {
            notes.push(format!(
                "{} of zeroes in the middle of what one write wrote: trimmed, or lost",
                format_bytes(survey.zeroes_in_writes)
            ));
        }
        if !notes.is_empty() {
            lines.extend([String::new(), "Not certain".to_string()]);
            lines.extend(notes.into_iter().map(|note| format!("  {note}")));
        }
    }

    /// What was found, for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let survey = &self.survey;
        let runs: Vec<Value> = self
            .runs()
            .into_iter()
            .map(|(run, tally)| {
                json!({
                    "run": format!("{run:016x}"), "bytes": tally.sectors * 512,
                    "first_written_s": tally.first_s, "last_written_s": tally.last_s,
                    "first_write": tally.first_write, "last_write": tally.last_write,
                    "first_epoch": tally.first_epoch, "last_epoch": tally.last_epoch, "writers": tally.writers,
                })
            })
            .collect();
        let bytes: serde_json::Map<String, Value> =
            AreaKind::ALL.into_iter().map(|kind| (kind.name().to_string(), survey.bytes_of(kind).into())).collect();
        let counts: serde_json::Map<String, Value> =
            survey.counts.iter().map(|(class, blocks)| (class.name().to_string(), (*blocks).into())).collect();
        let area = |area: &validation::TargetArea| json!({"address": area.address, "bytes": area.bytes, "what": area.kind.name()});
        json!({
            "target": self.path.to_string_lossy(), "size_bytes": self.size_bytes, "done_bytes": self.done_bytes,
            "complete": self.is_complete, "direct": self.is_direct,
            "signature": self.signature.as_ref().map(|(what, at)| json!({"address": at, "what": what})),
            "device": self.identity.device.map(|device| format!("{device:016x}")),
            "device_from": self.identity.source_name(), "device_name": self.identity.name,
            "bytes": bytes, "damaged_blocks": survey.damaged(), "classes": counts,
            "damages": survey.damages.iter().take(DAMAGES_KEPT).map(damage_json).collect::<Vec<_>>(),
            "unreadable": self.unreadable.iter().map(|part| json!({"address": part.start, "bytes": part.end - part.start})).collect::<Vec<_>>(),
            "runs": runs, "areas": survey.areas.iter().map(area).collect::<Vec<_>>(), "area_count": survey.area_count,
            "block_bytes": self.unit.bytes(), "mixed_blocks": survey.mixed_units,
            "blocks_of_several_runs": survey.units_of_runs, "zero_bytes_in_writes": survey.zeroes_in_writes,
            "journal": self.journal.as_ref().map(JournalVerdict::json),
        })
    }
}

/// `the first 20 of 312 blocks`, `7 blocks`.
pub(super) fn first_of(all: u64, what: &str) -> String {
    if all > SHOWN as u64 { format!("the first {SHOWN} of {}", counted(all, what)) } else { counted(all, what) }
}

/// `3`, `3 … 17`.
fn span(first: u64, last: u64) -> String {
    if first == last { count(first) } else { format!("{} … {}", count(first), count(last)) }
}

fn damage_json(damage: &SurveyDamage) -> Value {
    let first = &damage.first_wrong;
    json!({
        "address": damage.address, "bytes": damage.bytes, "class": damage.class.name(),
        "wrong_sectors": damage.wrong_sectors, "first_wrong": first.address, "bits": first.bits, "zeroes": first.is_zero,
        "intact": first.is_intact, "found": damage.found, "stamp": first.stamp.as_ref().map(stamp_json),
    })
}

/// A stamp, for programs.
pub(super) fn stamp_json(stamp: &SectorStamp) -> Value {
    json!({
        "run": format!("{:016x}", stamp.run), "device": format!("{:016x}", stamp.device), "address": stamp.address,
        "write": stamp.sequence, "version": stamp.version, "writer": stamp.writer, "epoch": stamp.epoch,
        "place": stamp.place, "write_sectors": stamp.write_sectors, "written_s": stamp.written_s,
        "flags": stamp.flags.0, "kept_words": stamp.kept_words,
    })
}
