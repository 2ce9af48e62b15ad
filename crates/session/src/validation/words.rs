//! Damage in words.

use quantity::text::format_bytes;
use stamp::{DamageClass, SectorFinding, Version};
use std::fmt::Write as _;
use validation::{Damage, TargetRules};

/// Bytes of the first wrong sector that are kept with a damage: those of its head.
const BYTES_SHOWN: usize = stamp::HEAD_BYTES;

/// What happened to a block of this class.
pub(super) fn class_words(class: DamageClass) -> &'static str {
    match class {
        DamageClass::BitRot => "bits differ from what was written",
        DamageClass::TornWrite => "parts of it are the last write, others are older",
        DamageClass::LostWrite => "it is an earlier write, and stays so",
        DamageClass::StaleRead => "it was an earlier write, and the last one when it was read again",
        DamageClass::MisdirectedWrite => "it was written for another address",
        DamageClass::WriteWentAstray => "its last write is not here but at another address",
        DamageClass::DuplicatedWrite => "a write for another address is also here",
        DamageClass::MisdirectedRead => "it was the data of another address, and right when it was read again",
        DamageClass::SwappedSectors => "its sectors are right, but in another order",
        DamageClass::OtherDevice => "it was written to another device",
        DamageClass::OlderRun => "an earlier execution wrote it",
        DamageClass::Foreign => "it is nothing that iodyno wrote",
        DamageClass::Zeroes => "it is zeroes",
        DamageClass::TrimmedData => "it was trimmed, and is no zeroes",
        DamageClass::ShortRead => "fewer bytes came back than were asked for",
        DamageClass::Corrupt => "its bytes differ so much that no single bits can be named",
        DamageClass::LostAfterFlush => "a flush behind its last write was acknowledged, and the write is not there",
        DamageClass::ReorderedAcrossFlush => "a write from behind a flush is there, and one from before it is not",
    }
}

/// What had to be there.
pub(super) fn expected_words(version: Version) -> String {
    match version {
        Version::Is(version) => format!("version {version}, the last write"),
        Version::AtLeast(version) => format!("version {version} or a later one"),
        Version::Any => "what its stamp says".to_string(),
        Version::Zeroes => "zeroes, as it was trimmed".to_string(),
    }
}

/// The first sector that is wrong.
pub(super) fn first_wrong(damage: &Damage) -> Option<&SectorFinding> {
    damage.finding.sectors.iter().find(|sector| !sector.is_right)
}

/// What was there instead: what the first wrong sector says of itself.
pub(super) fn found_words(damage: &Damage, rules: &TargetRules) -> String {
    let Some(sector) = first_wrong(damage) else { return "nothing was transferred".to_string() };
    let wrong = damage.finding.sectors.iter().filter(|sector| !sector.is_right).count();
    let all = damage.finding.sectors.len();
    let which = if wrong == all { String::new() } else { format!("{wrong} of {all} sectors: ") };
    let what = match sector.stamp {
        _ if sector.is_unread => "nothing was transferred".to_string(),
        _ if sector.is_zero => "zeroes".to_string(),
        None => "no stamp".to_string(),
        Some(stamp) => {
            let mut what = format!("version {}, write {} of run {:016x}", stamp.version, stamp.sequence, stamp.run);
            if stamp.device != rules.device {
                let _ = write!(what, " to device {:016x}", stamp.device);
            }
            if stamp.address != sector.address {
                let _ = write!(what, ", for address {:#x}", stamp.address);
            }
            if !sector.is_intact {
                what += ", and its checksum is wrong";
            }
            what
        }
    };
    format!("{which}{what}")
}

/// One damaged block in a sentence.
pub(super) fn sentence(damage: &Damage, rules: &TargetRules, target: &str) -> String {
    let class = damage.finding.class;
    format!(
        "{target} at {:#x} ({}): {}: {}; expected {}; found {}",
        damage.address,
        format_bytes(rules.block_bytes),
        class.name(),
        class_words(class),
        expected_words(damage.expected),
        found_words(damage, rules)
    )
}

/// The head of the first wrong sector in hexadecimal.
pub(super) fn first_bytes(damage: &Damage) -> String {
    let sector = first_wrong(damage);
    let within = sector.map_or(0, |sector| usize::try_from(sector.address.wrapping_sub(damage.address)).unwrap_or(0));
    let bytes = damage.read.get(within..).unwrap_or_default();
    bytes.iter().take(BYTES_SHOWN).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Counts with the right form of the noun.
pub(super) fn blocks(count: u64) -> String {
    if count == 1 { "1 block".to_string() } else { format!("{count} blocks") }
}

/// `1 block is`, `2 blocks are`.
pub(super) fn are(count: u64) -> String {
    format!("{} {}", blocks(count), if count == 1 { "is" } else { "are" })
}
