//! What became of what a journal says, as lines for people and as a part of the object for programs.

use super::verified::{JournalVerdict, PromisedDamage};
use super::verify_text::{SHOWN, count, counted, first_of, stamp_json, table};
use quantity::text::format_bytes;
use serde_json::{Map, Value, json};

impl JournalVerdict {
    /// The part of the verdict that is about the journal.
    pub(super) fn verdict(&self, is_complete: bool) -> String {
        let all = counted(self.known_blocks, "block");
        match self.damaged() {
            0 if self.known_blocks == 0 && self.lost.is_empty() => {
                "the journal promises nothing of this target".to_string()
            }
            0 if !is_complete => format!("no damage so far; the journal promises {all}"),
            0 if self.unreadable_blocks > 0 => {
                format!("no damage; {} of {all} are as the journal says", count(self.right_blocks))
            }
            0 if !self.lost.is_empty() => {
                format!(
                    "no damage in the {all} that the journal still knows; it has lost a part, and the rest is not proved"
                )
            }
            0 => format!("no damage; all {all} are as the journal says"),
            damaged => format!("DAMAGED: {} of {all} are not as the journal says", count(damaged)),
        }
    }

    pub(super) fn lines(&self, lines: &mut Vec<String>) {
        let title =
            format!("What the journal says of {}, in blocks of {}", self.target, format_bytes(self.block_bytes));
        lines.extend([String::new(), title]);
        lines.extend(self.sentences.iter().map(|sentence| format!("  {sentence}")));
        let row = |what: &str, blocks: u64| vec![what.to_string(), count(blocks)];
        let mut rows = vec![row("blocks that it knows", self.known_blocks), row("as it says", self.right_blocks)];
        rows.push(row("NOT as it says", self.damaged()));
        let unpromised = "written and not covered by a flush: may be anything";
        rows.extend((self.unpromised_blocks > 0).then(|| row(unpromised, self.unpromised_blocks)));
        rows.extend((self.unreadable_blocks > 0).then(|| row("NOT READABLE", self.unreadable_blocks)));
        lines.extend(table(&rows));
        if self.damaged() == 0 {
            return;
        }
        lines.extend([String::new(), "Damage by the journal".to_string()]);
        lines.extend(self.groups.iter().map(|group| format!("  {group}")));
        lines
            .extend([String::new(), format!("Blocks that are not as it says ({})", first_of(self.damaged(), "block"))]);
        for damage in self.damages.iter().take(SHOWN) {
            let (address, bytes) = (damage.address, format_bytes(damage.bytes));
            lines.push(format!("  {address:#x}  {bytes}  {}", damage.class.name()));
            lines.push(format!("    expected {}", damage.expected));
            lines.push(format!("    found {}", damage.found));
        }
    }

    pub(super) fn json(&self) -> Value {
        let counts = self.counts.iter().map(|(class, blocks)| (class.name().to_string(), (*blocks).into()));
        json!({
            "directory": self.directory.to_string_lossy(), "target": self.target, "block_bytes": self.block_bytes,
            "says": self.sentences, "lost": self.lost, "clean_end": self.is_clean,
            "taken_for": if self.is_power_cut { "power_cut" } else { "process_died" },
            "known_blocks": self.known_blocks, "unpromised_blocks": self.unpromised_blocks, "right_blocks": self.right_blocks,
            "unreadable_blocks": self.unreadable_blocks, "damaged_blocks": self.damaged(),
            "classes": counts.collect::<Map<String, Value>>(), "groups": self.groups,
            "damages": self.damages.iter().map(damage_json).collect::<Vec<_>>(),
        })
    }
}

fn damage_json(damage: &PromisedDamage) -> Value {
    let first = damage.first_wrong.as_ref();
    json!({
        "address": damage.address, "bytes": damage.bytes, "class": damage.class.name(),
        "transient": damage.is_transient, "wrong_sectors": damage.wrong_sectors,
        "first_wrong": first.map(|sector| sector.address), "expected": damage.expected, "found": damage.found,
        "stamp": first.and_then(|sector| sector.stamp.as_ref()).map(stamp_json),
    })
}
