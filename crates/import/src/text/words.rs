//! Words, numbers and banners of text that was made for people.

use super::parsed_file::{Cell, ParsedFile};
use super::timestamp;

/// A decimal number, with a point or (in some countries) a comma.
pub(super) fn number(word: &str) -> Option<f64> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let fits = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',')
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().filter(|byte| !byte.is_ascii_digit()).count() <= 1
        && word.len() <= 30;
    if !fits {
        return None;
    }
    let value = if word.contains(',') { word.replace(',', ".").parse() } else { word.parse() };
    value.ok().filter(|value: &f64| value.is_finite())
}

/// A number with a letter for a power of 1024 (`2.62M`), or without.
pub(super) fn scaled(word: &str) -> Option<f64> {
    const LETTERS: &str = "BKMGTPE";
    let letter = word.chars().next_back()?;
    match LETTERS.find(letter.to_ascii_uppercase()) {
        Some(power) => {
            let scale = 1024_f64.powi(i32::try_from(power).ok()?);
            number(&word[..word.len() - letter.len_utf8()]).map(|value| value * scale)
        }
        None => number(word),
    }
}

/// A field: a number, text, or missing. Tools print rates below 0 for values that they do not know.
pub(super) fn cell(word: &str) -> Cell {
    match number(word) {
        Some(value) if value < 0.0 => Cell::Missing,
        Some(value) => Cell::Number(value),
        None if is_none(word) => Cell::Missing,
        None => Cell::Text(word.to_string()),
    }
}

/// A number of either sign, or a word for none.
pub(super) fn plain(word: &str) -> Option<Cell> {
    number(word).map(Cell::Number).or_else(|| is_none(word).then_some(Cell::Missing))
}

/// What tools print where there is no number: a mark, or a division by 0.
fn is_none(word: &str) -> bool {
    ["-", "n/a", "nan", "-nan", "inf", "-inf"].iter().any(|none| word.eq_ignore_ascii_case(none))
}

/// Is it what stands below a heading: a number, one with a unit (-h, --human), or a word for none?
pub(super) fn is_figure(word: &str) -> bool {
    let is_human = || word.strip_suffix('%').and_then(number).or_else(|| with_letter(word)).is_some();
    number(word).is_some() || is_none(word) || is_human()
}

/// A field below this heading; what has a unit (-h, --human) comes in that of its heading.
pub(super) fn field(heading: &str, word: &str) -> Cell {
    match cell(word) {
        Cell::Text(text) => human(heading, &text).map_or(Cell::Text(text), Cell::Number),
        cell => cell,
    }
}

/// sysstat's `17.0G`, `0.0B`, `3.4%` in the unit that the heading tells.
fn human(heading: &str, word: &str) -> Option<f64> {
    if let Some(percent) = word.strip_suffix('%') {
        return number(percent).filter(|_| heading.starts_with('%'));
    }
    let unit = match heading {
        "areq-sz" | "rareq-sz" | "wareq-sz" | "dareq-sz" | "VSZ" | "RSS" | "StkSize" | "StkRef" => 1024.0,
        "avgrq-sz" => 512.0,
        _ if heading.starts_with("kb") || heading.contains("kB") => 1024.0,
        _ if heading.starts_with("MB") || heading.contains("MB") => 1_048_576.0,
        _ if heading.contains("sec/s") || heading.starts_with("Blk_") => 512.0,
        _ => return None,
    };
    with_letter(word).map(|bytes| bytes / unit)
}

/// A number with a letter for a power of 1024; behind P, sysstat has a question mark.
fn with_letter(word: &str) -> Option<f64> {
    let has_letter = word.ends_with(|c: char| c.is_ascii_alphabetic() || c == '?');
    has_letter.then(|| scaled(&word.replace('?', "E")))?
}

/// sysstat's first line: `Linux 6.18.44 (db7) 11/20/26 _x86_64_ (2 CPU)`. Takes over what it tells.
pub(super) fn banner(line: &str, parsed: &mut ParsedFile) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_banner = words.len() >= 4 && words[0] == "Linux" && words[2].starts_with('(') && words[2].ends_with(')');
    if !is_banner {
        return false;
    }
    parsed.of_host(words[2].trim_matches(['(', ')']));
    if parsed.is_of_other() {
        return true;
    }
    parsed.system = Some(format!("Linux {}", words[1]));
    date(words[3], parsed);
    let cpus = words.iter().rev().nth(1).and_then(|word| number(word.trim_start_matches('(')));
    if line.trim_end().ends_with("CPU)") {
        parsed.cpus = cpus.filter(|cpus| *cpus >= 1.0).or(parsed.cpus);
    }
    true
}

/// Names of zones that are UTC; others are used for several.
pub(super) fn is_utc(zone: &str) -> bool {
    ["UTC", "GMT", "Z"].contains(&zone)
}

/// A date of the file's first time.
pub(super) fn date(text: &str, parsed: &mut ParsedFile) {
    if parsed.date_ns.is_some() || !parsed.dates.is_empty() {
        return;
    }
    match timestamp::dates(text).as_slice() {
        [only] => parsed.date_ns = Some(*only),
        several => parsed.dates = several.to_vec(),
    }
}

/// The command that made what follows, where a prompt or a script wrote it: the words from the tool's name on.
pub(super) fn command<'a>(line: &'a str, tool: &str) -> Option<Vec<&'a str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_tool = |word: &&str| word.rsplit('/').next() == Some(tool);
    let at = words.iter().position(is_tool)?;
    // A prompt stands before it, or nothing; or the shell says what it runs (set -x).
    let is_prompt = at == 0
        || line.starts_with('+')
        || words[at - 1].ends_with(['$', '#', '%', '>', ')'])
        || words[at - 1].contains('=');
    is_prompt.then(|| words[at..].to_vec())
}

/// Has a command this one-letter flag?
pub(super) fn has_flag(command: &[&str], flag: char) -> bool {
    command.iter().skip(1).any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!((number("12.50"), number("0,05"), number("-1.00")), (Some(12.5), Some(0.05), Some(-1.0)));
        for wrong in ["", "-", ".", "1.2.3", "1e5", "0x1", "inf", "nan", "1,234,567", "12K"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn letters_are_powers_of_1024() {
        assert_eq!((scaled("90.1K"), scaled("2.62M")), (Some(92_262.4), Some(2.62 * 1_048_576.0)));
        assert_eq!(
            (scaled("22"), scaled("5B"), scaled("K"), scaled("-"), scaled("")),
            (Some(22.0), Some(5.0), None, None, None)
        );
    }

    #[test]
    fn fields_with_units_come_in_those_of_their_headings() {
        for (heading, word, expect) in [
            ("kbmemfree", "17.0G", 17.0 * 1_048_576.0),
            ("MBfsfree", "235.5G", 235.5 * 1024.0),
            ("rkB/s", "0.5k", 0.5),
            ("rxkB/s", "512.0B", 0.5),
            ("kbvmused", "1.5?", 1.5 * 1024_f64.powi(5)),
            ("%util", "3.4%", 3.4),
            ("tps", "12.5", 12.5),
        ] {
            assert_eq!(field(heading, word), Cell::Number(expect), "{heading} {word}");
        }
        for (heading, word) in [("tps", "3.4%"), ("await", "1.0k"), ("%util", "1.0k"), ("rkB/s", "k")] {
            assert_eq!(field(heading, word), Cell::Text(word.to_string()), "{heading}");
        }
        for none in ["-", "nan", "-nan", "inf", "-inf", "NaN", "-1.00", "n/a"] {
            assert_eq!(field("%util", none), Cell::Missing, "{none}");
            assert!(is_figure(none));
        }
        assert!(["10.0k", "0.0%", "1.0?", "7"].iter().all(|word| is_figure(word)));
        assert!(!["CPU0", "all", "24/s", "k", "%", "x%"].iter().any(|word| is_figure(word)));
    }

    #[test]
    fn a_banner_tells_host_day_and_cpus() {
        let mut parsed = ParsedFile::new("iostat");
        assert!(banner("Linux 6.18.44 (db7) \t11/20/26 \t_x86_64_\t(2 CPU)", &mut parsed));
        assert_eq!((parsed.host.as_deref(), parsed.cpus), (Some("db7"), Some(2.0)));
        assert!(parsed.date_ns.is_some());
        assert!(!banner("Linux is fine", &mut parsed));
    }

    #[test]
    fn commands_behind_prompts() {
        assert_eq!(command("$ iostat -xz 1 3", "iostat"), Some(vec!["iostat", "-xz", "1", "3"]));
        assert!(command("eac-t2000-3[bash]# nicstat -i e1000g0 5 4", "nicstat").is_some());
        assert!(command("the nicstat tool", "nicstat").is_none());
        assert!(has_flag(&["iostat", "-xzy", "1"], 'y') && !has_flag(&["iostat", "1"], 'y'));
    }
}
