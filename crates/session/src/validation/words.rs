//! Damage in words.

use quantity::text::format_bytes;
use stamp::DamageClass;
use std::collections::BTreeMap;
use validation::Damage;

/// What happened to a block of this class.
pub(super) fn class_words(class: DamageClass, is_of_tree: bool) -> &'static str {
    match class {
        DamageClass::OtherDevice if is_of_tree => "it was written to another file",
        _ => class.meaning(),
    }
}

/// One damaged block in a sentence.
pub(super) fn sentence(
    damage: &Damage,
    block_bytes: u64,
    (target, is_of_tree): (&str, bool),
    found_file: Option<&str>,
) -> String {
    let class = damage.finding.class;
    let whose = found_file.map_or(String::new(), |name| format!(" (data of {name})"));
    let since = damage.since_words().map_or_else(String::new, |since| format!("; {since}"));
    if is_of_file(class) {
        let (expected, found) = (damage.expected_words(), damage.found_words());
        return format!("{target}: {}: {}; expected {expected}; found {found}", class.name(), class_words(class, true));
    }
    format!(
        "{target} at {:#x} ({}): {}: {}; expected {}; found {}{whose}{since}",
        damage.address,
        format_bytes(block_bytes),
        class.name(),
        class_words(class, is_of_tree),
        damage.expected_words(),
        damage.found_words()
    )
}

/// Is it about whole files, and not about blocks?
pub(super) fn is_of_file(class: DamageClass) -> bool {
    matches!(class, DamageClass::MissingFile | DamageClass::WrongSize | DamageClass::DeletedFile)
}

/// How many of these are about whole files.
pub(super) fn files_of(counts: &BTreeMap<DamageClass, u64>) -> u64 {
    counts.iter().filter(|(class, _)| is_of_file(**class)).map(|(_, count)| count).sum()
}

/// How many blocks, or files, are of a class.
pub(super) fn counted(count: u64, class: DamageClass) -> String {
    match (is_of_file(class), count) {
        (true, 1) => "1 file".to_string(),
        (true, count) => format!("{count} files"),
        (false, count) => blocks(count),
    }
}

/// What the verdict says of blocks that no flush covered before a power cut.
pub(super) fn unpromised(count: u64) -> String {
    match count {
        0 => String::new(),
        count => {
            format!("; {} that no flush covered before the power cut may hold anything: only counted", blocks(count))
        }
    }
}

/// Counts with the right form of the noun.
pub(super) fn blocks(count: u64) -> String {
    if count == 1 { "1 block".to_string() } else { format!("{count} blocks") }
}

/// `1 block is`, `2 blocks are`.
pub(super) fn are(count: u64) -> String {
    format!("{} {}", blocks(count), if count == 1 { "is" } else { "are" })
}

/// The same of blocks and whole files: `2 blocks and 1 file are`.
pub(super) fn are_of(count: u64, files: u64) -> String {
    let of_blocks = count.saturating_sub(files);
    let of_files = counted(files, DamageClass::MissingFile);
    match (of_blocks, files) {
        (_, 0) => are(count),
        (0, files) => format!("{of_files} {}", if files == 1 { "is" } else { "are" }),
        _ => format!("{} and {of_files} are", blocks(of_blocks)),
    }
}
