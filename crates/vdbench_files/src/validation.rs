//! Data validation: `validate=`, `journal=`, the flags `-v` and `-j`, and what does not go together with them.

use crate::file_systems::FileSystem;
use crate::param::Param;
use crate::run::Definition;
use crate::storage::Storage;
use crate::value::{self, Unit};
use parameter_text::{Diagnostic, ReadingContext};
use plan::{JournalSettings, TextSpan, ValidationSettings};
use std::path::PathBuf;

/// As Vdbench validates by default: what is known of a block is read and checked before it is written.
fn as_usual() -> ValidationSettings {
    ValidationSettings { reads_before_write: true, ..ValidationSettings::default() }
}

/// What `-v` and `-j` with these letters behind them ask for, and a sentence for each letter that changes nothing here. `None`:
/// there is no such flag.
///
/// # Errors
/// A letter that is none of Vdbench's, or one that it refuses as well.
pub fn validation_of_flags(
    validate: Option<&str>,
    journal: Option<&str>,
) -> Result<(Option<ValidationSettings>, Vec<String>), String> {
    let mut notes = Vec::new();
    if validate.is_none() && journal.is_none() {
        return Ok((None, notes));
    }
    let mut settings = as_usual();
    for letter in validate.unwrap_or_default().chars() {
        match letter {
            'r' | '2' => settings.reads_after_write = true,
            'w' => settings.reads_before_write = false,
            't' => settings.keeps_times = true,
            'q' => {
                notes.push("-vq has no effect here (everything that is read is checked, as Vdbench does)".to_string())
            }
            'c' => {
                return Err("-vc (an old map) is refused by Vdbench as well; -jr continues with a journal".to_string());
            }
            _ => return Err(format!("-v{letter} is unknown; there are -v, -vr, -vw, -vt and several together: -vrt")),
        }
    }
    if let Some(letters) = journal {
        let mut own = JournalSettings::default();
        for letter in letters.chars() {
            match letter {
                'r' => own.recovers = true,
                'o' => own.recovers_only = true,
                '2' => settings.reads_after_write = true,
                't' => settings.keeps_times = true,
                'n' | 'm' | 'i' | 's' => notes.push(format!("-j{letter} has no effect here ({})", mute(letter))),
                _ => {
                    let known = "there are -j, -jr, -jro, -j2, -jt (and -jn, -jm, -ji, -js without effect)";
                    return Err(format!("-j{letter} is unknown; {known}"));
                }
            }
        }
        if own.recovers_only && !own.recovers {
            return Err(
                "-jo goes with recovery only: -jro checks what a journal says, and does nothing else".to_string()
            );
        }
        settings.journal = Some(own);
    }
    Ok((Some(settings), notes))
}

/// Why a letter of `-j`, or a word of `journal=`, changes nothing.
fn mute(letter: char) -> &'static str {
    match letter {
        'n' => "no write waits until the journal's device has it",
        'm' => "the journal always has what was done since its map as well",
        'i' => "a block that was being written may be old or new, and is checked to be one of them",
        _ => "what was written is always read before the first run",
    }
}

/// `validate=`.
pub(crate) fn validate(context: &mut ReadingContext, asked: &mut Asked<'_>, param: &Param) {
    const WORDS: [&str; 8] = [
        "yes",
        "no",
        "read_after_write",
        "no_preread",
        "time",
        "ignore_zero_reads",
        "reportdedupsets",
        "continue_old_map",
    ];
    let words: Vec<(&str, TextSpan)> = param
        .values
        .iter()
        .filter_map(|text| Some((value::word(context, "validate", text, &WORDS)?, text.span)))
        .collect();
    if let Some((_, span)) = words.iter().find(|(word, _)| *word == "continue_old_map") {
        let found =
            Diagnostic::error("refused-keyword", *span, "validate=continue_old_map is refused by Vdbench as well");
        context.push(found.help("journal=recover continues with the journal of an earlier run"));
        return;
    }
    // Wherever it stands, it wins.
    if let Some((_, span)) = words.iter().find(|(word, _)| *word == "no") {
        // What the file asked for itself it may take back without a word.
        if asked.settings.is_some() && asked.span.is_none() {
            let message = "validate=no wins over -v and -j: nothing is validated";
            let found = Diagnostic::note("no-effect", *span, message);
            context.note_once("validate no", found.help("take it out, or give --verify, which wins over the file"));
        }
        *asked.settings = None;
        return;
    }
    let settings = asked.settings_at(param.key_span);
    for (word, span) in words {
        let why = match word {
            "read_after_write" => {
                settings.reads_after_write = true;
                continue;
            }
            "no_preread" => {
                settings.reads_before_write = false;
                continue;
            }
            "time" => {
                settings.keeps_times = true;
                continue;
            }
            "ignore_zero_reads" => "a run that checks nothing is no error here",
            "reportdedupsets" => "duplicates are told of like every other block",
            _ => continue,
        };
        let found = Diagnostic::note("no-effect", span, format!("validate={word} has no effect here"));
        context.note_once(word, found.help(why));
    }
}

/// `journal=` of the general parameters; without more it validates as well.
pub(crate) fn journal(context: &mut ReadingContext, asked: &mut Asked<'_>, param: &Param) {
    const WORDS: [&str; 8] = ["yes", "no", "recover", "only", "noflush", "maponly", "skip_read_all", "ignore_pending"];
    let mut own = asked.settings.as_ref().and_then(|one| one.journal.clone()).unwrap_or_default();
    for text in &param.values {
        // max=size is cut in two where it stands in a list.
        if let Some(size) = text.text.strip_prefix("max=") {
            match value::parse(size, Unit::Plain).filter(|(size, _)| (1.0..=value::BYTES_MAX as f64).contains(size)) {
                Some((size, false)) => own.checkpoint_bytes = Some(value::to_u64(size)),
                _ => context.push(Diagnostic::error("not-a-number", text.span, "`max=` wants a size")),
            }
            continue;
        }
        let letter = match value::word(context, "journal", text, &WORDS) {
            Some("no") => {
                asked.settings.iter_mut().for_each(|settings| settings.journal = None);
                return;
            }
            Some("recover") => {
                own.recovers = true;
                continue;
            }
            Some("only") => {
                own.recovers_only = true;
                continue;
            }
            Some("noflush") => 'n',
            Some("maponly") => 'm',
            Some("ignore_pending") => 'i',
            Some("skip_read_all") => 's',
            _ => continue,
        };
        let found = Diagnostic::note("no-effect", text.span, format!("journal={} has no effect here", text.text));
        context.note_once(&format!("journal {letter}"), found.help(mute(letter)));
    }
    if own.recovers_only && !own.recovers {
        let found = Diagnostic::error("journal", param.span, "journal=only is about recovery");
        context.push(
            found.help("write journal=(recover,only): what the journal says is checked, and nothing else is done"),
        );
    }
    asked.settings_at(param.key_span).journal = Some(own);
}

/// What was asked for so far.
pub(crate) struct Asked<'a> {
    pub(crate) settings: &'a mut Option<ValidationSettings>,
    /// Where it was asked for first; `None`: by a flag, or not at all.
    pub(crate) span: &'a mut Option<TextSpan>,
}

impl Asked<'_> {
    /// The settings, which a parameter asks for.
    fn settings_at(&mut self, span: TextSpan) -> &mut ValidationSettings {
        *self.span = self.span.or(Some(span));
        self.settings.get_or_insert_with(as_usual)
    }
}

/// What there is to be validated.
pub(crate) struct Validated<'a> {
    pub(crate) pattern_span: Option<TextSpan>,
    pub(crate) storages: &'a [Storage],
    pub(crate) systems: &'a [FileSystem],
    pub(crate) definitions: &'a [Definition],
}

/// Says what does not go together with validation, and takes the place of the journal from `sd=` or `fsd=`.
pub(crate) fn finish(context: &mut ReadingContext, settings: &mut Option<ValidationSettings>, all: &Validated<'_>) {
    let Some(settings) = settings else { return };
    if let Some(span) = all.pattern_span {
        let found = Diagnostic::error("conflict", span, "pattern= and data validation exclude each other");
        context.push(found.help("every sector has a stamp, and data that follow from it; take one of the two out"));
    }
    let varies = all.definitions.iter().flat_map(|one| &one.loops).find(|one| one.name == "compratio" && !one.is_text);
    if let Some(one) = varies {
        let found = Diagnostic::error("conflict", one.span, "forcompratio= and data validation exclude each other");
        context.push(found.help("as in Vdbench: compratio= among the general parameters holds for all runs"));
    }
    if let Some(journal) = &mut settings.journal {
        place_of_journal(context, journal, all);
    }
}

/// Vdbench has a journal for each target, here there is one.
fn place_of_journal(context: &mut ReadingContext, journal: &mut JournalSettings, all: &Validated<'_>) {
    let of_systems = all.systems.iter().filter_map(|system| system.journal.as_ref());
    let mut places = all.storages.iter().filter_map(|storage| storage.journal.as_ref()).chain(of_systems);
    let Some(first) = places.next() else { return };
    if let Some(other) = places.find(|other| other.text != first.text) {
        let message = format!("journal={} here, and journal={} of another sd= or fsd=", other.text, first.text);
        let found = Diagnostic::error("journal", other.span, message);
        context.push(found.help("all targets have one journal: name the same directory, or only one"));
    }
    if first.text.starts_with("/dev/") && !first.text.starts_with("/dev/shm/") {
        let found =
            Diagnostic::error("journal", first.span, "a journal is a directory of files here, and no raw device");
        context.push(found.help("journal=DIRECTORY, on another device than the data"));
    }
    journal.directory = Some(PathBuf::from(&first.text));
}

#[cfg(test)]
mod tests {
    use super::validation_of_flags;
    use plan::ValidationSettings;

    #[test]
    fn letters_are_those_of_vdbench() {
        let flags = |validate: Option<&str>, journal: Option<&str>| validation_of_flags(validate, journal).unwrap();
        assert_eq!(flags(None, None).0, None);
        let usual = ValidationSettings { reads_before_write: true, ..ValidationSettings::default() };
        assert_eq!(flags(Some(""), None), (Some(usual.clone()), Vec::new()));
        for (letters, reads_before_write, reads_after_write, keeps_times) in [
            ("r", true, true, false),
            ("2", true, true, false),
            ("w", false, false, false),
            ("t", true, false, true),
            ("rw", false, true, false),
            ("twr", false, true, true),
        ] {
            let expect = ValidationSettings { reads_before_write, reads_after_write, keeps_times, ..usual.clone() };
            assert_eq!(flags(Some(letters), None).0, Some(expect), "-v{letters}");
        }
        let (settings, notes) = flags(Some("q"), None);
        assert_eq!((settings, notes.len()), (Some(usual.clone()), 1));

        for (letters, recovers, recovers_only, notes) in
            [("", false, false, 0), ("r", true, false, 0), ("ro", true, true, 0), ("rnmis", true, false, 4)]
        {
            let (settings, said) = flags(None, Some(letters));
            let settings = settings.unwrap();
            let journal = settings.journal.unwrap();
            assert_eq!((journal.recovers, journal.recovers_only), (recovers, recovers_only), "-j{letters}");
            assert_eq!((settings.reads_before_write, said.len()), (true, notes), "-j{letters}: {said:?}");
        }
        let both = flags(Some("w"), Some("2t")).0.unwrap();
        assert_eq!((both.reads_before_write, both.reads_after_write, both.keeps_times), (false, true, true));
        for (validate, journal) in [(Some("c"), None), (Some("x"), None), (None, Some("o")), (None, Some("z"))] {
            assert!(validation_of_flags(validate, journal).is_err(), "{validate:?} {journal:?}");
        }
    }
}
