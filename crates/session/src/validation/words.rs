//! Damage in words.

use quantity::text::format_bytes;
use stamp::DamageClass;
use validation::Damage;

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
        DamageClass::Foreign => "it has no stamp of iodyno's",
        DamageClass::Zeroes => "it is zeroes",
        DamageClass::TrimmedData => "it was trimmed, and is no zeroes",
        DamageClass::ShortRead => "fewer bytes came back than were asked for",
        DamageClass::Corrupt => "its bytes differ so much that no single bits can be named",
        DamageClass::LostAfterFlush => "a flush behind its last write was acknowledged, and the write is not there",
        DamageClass::ReorderedAcrossFlush => "a write from behind a flush is there, and one from before it is not",
    }
}

/// One damaged block in a sentence.
pub(super) fn sentence(damage: &Damage, block_bytes: u64, target: &str) -> String {
    let class = damage.finding.class;
    format!(
        "{target} at {:#x} ({}): {}: {}; expected {}; found {}",
        damage.address,
        format_bytes(block_bytes),
        class.name(),
        class_words(class),
        damage.expected_words(),
        damage.found_words()
    )
}

/// Counts with the right form of the noun.
pub(super) fn blocks(count: u64) -> String {
    if count == 1 { "1 block".to_string() } else { format!("{count} blocks") }
}

/// `1 block is`, `2 blocks are`.
pub(super) fn are(count: u64) -> String {
    format!("{} {}", blocks(count), if count == 1 { "is" } else { "are" })
}
