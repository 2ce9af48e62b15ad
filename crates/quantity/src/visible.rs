//! Text of others made visible. Names of processes, files, control groups and devices, and what stands in recordings and
//! parameter files, may hold bytes that a terminal obeys, that turn the order of letters around, or that are not drawn at
//! all. Here they become letters: `\x1b`, `\n`, `\u{202e}`, and `\xff` for a byte that is no UTF-8.
//!
//! A backslash stays as it is, because systemd writes names like `dev-disk\x2dby` itself: the text is for reading, the
//! data formats (CSV, JSON, Parquet) are for programs.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Is it a character that is not drawn, or that changes how others are drawn? Control characters (C0, DEL, C1), marks of
/// direction, separators of lines and paragraphs, what has no width, private and non-characters.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        _ if c.is_control() => true,
        // Soft hyphen, grapheme joiner, Arabic letter mark, fillers of Hangul, vowel marks without shape, Mongolian selectors.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{ffa0}' => true,
        // No width, marks of direction; separators, embedding and overriding; joiners, isolating, shaping.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Selectors of variants, the byte order mark, annotations, shorthand, musical beams, tags.
        '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        // Private use, and what will never be a character.
        '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{f0000}'..='\u{10ffff}' => true,
        _ => u32::from(c) & 0xfffe == 0xfffe,
    }
}

/// How one character is shown: itself, or its escape.
fn push(shown: &mut String, c: char) {
    match c {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        _ if !is_hidden(c) => shown.push(c),
        _ if c.is_ascii() => _ = write!(shown, "\\x{:02x}", u32::from(c)),
        _ => _ = write!(shown, "\\u{{{:x}}}", u32::from(c)),
    }
}

/// A name, or another text of one line: everything hidden is made visible, breaks of lines and tabulators too.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| push(&mut shown, c));
    Cow::Owned(shown)
}

/// Text of several lines: everything hidden is made visible but breaks of lines and tabulators.
#[must_use]
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    let is_out = |c: char| is_hidden(c) && c != '\n' && c != '\t';
    if !text.contains(is_out) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_out(c) { push(&mut shown, c) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// JSON text with the same values and nothing hidden in it: hidden characters of its strings are written `\u202e`. Breaks of
/// lines and tabulators stand between values only and stay.
#[must_use]
pub fn visible_json(json: &str) -> Cow<'_, str> {
    let is_out = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t' | '\r');
    if !json.contains(is_out) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_out(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(shown, "\\u{unit:04x}"));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Appends what bytes say, with `of` for the parts that are UTF-8 and `\xff` for bytes that are not. Gives how many bytes at
/// the end may be the beginning of a character: those are left for later.
pub(crate) fn decode<'a>(mut bytes: &'a [u8], of: impl Fn(&'a str) -> Cow<'a, str>, shown: &mut String) -> usize {
    loop {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                shown.push_str(&of(text));
                return 0;
            }
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                shown.push_str(&of(std::str::from_utf8(valid).unwrap_or_default()));
                let Some(bad) = error.error_len() else { return rest.len() };
                rest[..bad].iter().for_each(|byte| _ = write!(shown, "\\x{byte:02x}"));
                bytes = &rest[bad..];
            }
        }
    }
}

/// The same of bytes, as the kernel has them.
#[must_use]
pub fn visible_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    let left = decode(bytes, visible, &mut shown);
    bytes[bytes.len() - left..].iter().for_each(|byte| _ = write!(shown, "\\x{byte:02x}"));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_becomes_letters() {
        for (text, expect) in [
            ("kworker/0:1-events", "kworker/0:1-events"),
            ("höhe-µ-日本-🦀", "höhe-µ-日本-🦀"),
            ("\x1b]0;OWNED\x07", "\\x1b]0;OWNED\\x07"),
            ("a\nb\tc\rd\0e\x7f", "a\\nb\\tc\\rd\\x00e\\x7f"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("gnp.\u{202e}exe\u{2066}\u{200f}\u{61c}", "gnp.\\u{202e}exe\\u{2066}\\u{200f}\\u{61c}"),
            ("a\u{200b}\u{feff}\u{2028}\u{2029}", "a\\u{200b}\\u{feff}\\u{2028}\\u{2029}"),
            ("\u{e000}\u{ffff}\u{e0041}", "\\u{e000}\\u{ffff}\\u{e0041}"),
            ("dev-disk\\x2dby", "dev-disk\\x2dby"),
        ] {
            assert_eq!(visible(text), expect);
            assert_eq!(visible_bytes(text.as_bytes()), expect);
            assert!(!visible(text).contains(is_hidden));
        }
        assert_eq!(visible_lines("a\n\tb\r\x1b[2Jc\u{2028}"), "a\n\tb\\r\\x1b[2Jc\\u{2028}");
        assert_eq!(visible_bytes(b"a\xff\x9b2J\xc3"), "a\\xff\\x9b2J\\xc3");
    }

    #[test]
    fn every_character_is_either_drawn_or_escaped() {
        for c in (0..=0x0010_ffff).filter_map(char::from_u32) {
            let text = c.to_string();
            let shown = visible(&text);
            assert_eq!(shown == text, !is_hidden(c), "{c:?}");
            assert!(shown.chars().all(|c| !is_hidden(c)), "{c:?}");
        }
    }

    #[test]
    fn json_keeps_its_values() {
        let json = "{\"a\\u001b\u{7f}\": \"\u{9b}x\u{202e}y\u{e0041}\",\n\t\"b\": 1}";
        assert_eq!(visible_json(json), "{\"a\\u001b\\u007f\": \"\\u009bx\\u202ey\\udb40\\udc41\",\n\t\"b\": 1}");
    }
}
