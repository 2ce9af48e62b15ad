//! The only way to standard output and standard error: whatever is written there is made visible (see [`crate::visible`]).
//!
//! Styles and movements of the cursor cannot be part of a text: they are [`LinePart::Own`], which takes only what stands in the
//! program's source. So no name can carry one, and a text that was forgotten to be made visible is made so here.

use crate::visible::{decode, visible, visible_json, visible_lines};
use std::borrow::Cow;
use std::fmt::Arguments;
use std::io::{self, IsTerminal as _, Write};

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputForm {
    /// Lines for people: hidden characters are made visible wherever they go, since a pipe often ends in a terminal.
    #[default]
    Text,
    /// JSON: hidden characters become `\u202e`, which is the same value.
    Json,
    /// Data of another format: as it is, but made visible when the output is a terminal.
    Data,
}

/// A part of a line.
#[derive(Clone, Copy, Debug)]
pub enum LinePart<'a> {
    /// Our own: a style, a movement of the cursor, the end of a line.
    Own(&'static str),
    /// Text, in which nothing is obeyed, not even the end of a line.
    Text(&'a str),
}

/// A writer that lets no hidden character through.
#[derive(Debug)]
pub struct VisibleOutput<W: Write> {
    out: W,
    form: OutputForm,
    is_terminal: bool,
    /// The beginning of a character whose end comes with the next write; at most 3 bytes.
    pending: Vec<u8>,
}

/// Standard output, for text.
#[must_use]
pub fn stdout() -> VisibleOutput<io::Stdout> {
    let out = io::stdout();
    VisibleOutput { is_terminal: out.is_terminal(), ..VisibleOutput::new(out) }
}

/// Standard error, for text.
#[must_use]
pub fn stderr() -> VisibleOutput<io::Stderr> {
    VisibleOutput::new(io::stderr())
}

/// Do standard output and standard error go to the same place, as to one terminal?
#[must_use]
pub fn is_one() -> bool {
    let place = |found: rustix::fs::Stat| (found.st_dev, found.st_ino, found.st_rdev);
    let (out, error) = (rustix::fs::fstat(io::stdout()), rustix::fs::fstat(io::stderr()));
    out.map(place).is_ok_and(|out| error.map(place).is_ok_and(|error| out == error))
}

/// A line to standard error. Where that is closed it is lost, and nothing else is: `eprintln!` would end the command, and what
/// it records.
pub fn say(words: Arguments<'_>) {
    let _ = stderr().line(&words.to_string());
}

/// The same for words of several lines: a report with lines of a file, the help.
pub fn say_lines(words: Arguments<'_>) {
    // One write, so that lines of two threads do not mix.
    let _ = stderr().write_all(format!("{words}\n").as_bytes());
}

impl<W: Write> VisibleOutput<W> {
    /// For text, to a writer that is no terminal.
    pub fn new(out: W) -> Self {
        Self { out, form: OutputForm::Text, is_terminal: false, pending: Vec::new() }
    }

    /// The same for another form.
    #[must_use]
    pub fn with_form(mut self, form: OutputForm) -> Self {
        self.form = form;
        self
    }

    /// What is written to.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Writes parts in one go.
    ///
    /// # Errors
    /// The writer's.
    pub fn parts(&mut self, parts: &[LinePart<'_>]) -> io::Result<()> {
        let mut all = String::new();
        for part in parts {
            match part {
                LinePart::Own(own) => all.push_str(own),
                LinePart::Text(text) if self.form == OutputForm::Json => all.push_str(&visible_json(text)),
                LinePart::Text(text) => all.push_str(&visible(text)),
            }
        }
        self.out.write_all(all.as_bytes())
    }

    /// Writes a line of text and its end.
    ///
    /// # Errors
    /// The writer's.
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.parts(&[LinePart::Text(text), LinePart::Own("\n")])
    }

    fn of(&self) -> fn(&str) -> Cow<'_, str> {
        if self.form == OutputForm::Json { visible_json } else { visible_lines }
    }
}

impl<W: Write> Write for VisibleOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.form == OutputForm::Data && !self.is_terminal {
            return self.out.write(bytes);
        }
        let mut shown = String::with_capacity(bytes.len());
        let all = if self.pending.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            Cow::Owned([&std::mem::take(&mut self.pending)[..], bytes].concat())
        };
        let left = decode(&all, self.of(), &mut shown);
        self.pending = all[all.len() - left..].to_vec();
        self.out.write_all(shown.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Nothing more will come of it: what has no end is no character.
        for byte in std::mem::take(&mut self.pending) {
            write!(self.out, "\\x{byte:02x}")?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: OutputForm, is_terminal: bool, pieces: &[&[u8]]) -> Vec<u8> {
        let mut output = VisibleOutput { is_terminal, ..VisibleOutput::new(Vec::new()).with_form(form) };
        pieces.iter().for_each(|piece| output.write_all(piece).unwrap());
        output.flush().unwrap();
        output.out
    }

    #[test]
    fn text_is_made_visible_and_data_only_on_a_terminal() {
        let hostile: &[u8] = b"\x1b[2J\xffa\n\xe2\x80\xae\tb";
        let visible: &[u8] = b"\\x1b[2J\\xffa\n\\u{202e}\tb";
        assert_eq!(written(OutputForm::Text, false, &[hostile]), visible);
        assert_eq!(written(OutputForm::Text, true, &[hostile]), visible);
        assert_eq!(written(OutputForm::Data, true, &[hostile]), visible);
        assert_eq!(written(OutputForm::Data, false, &[hostile]), hostile);
        assert_eq!(written(OutputForm::Json, false, &["[\"\u{202e}\"]\n".as_bytes()]), b"[\"\\u202e\"]\n");
    }

    #[test]
    fn characters_that_come_in_pieces_are_whole() {
        let text = "µ\u{202e}🦀\u{9b}日";
        let expect = "µ\\u{202e}🦀\\u{9b}日".as_bytes();
        for size in 1..text.len() {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(written(OutputForm::Text, false, &pieces), expect, "{size}");
        }
        assert_eq!(written(OutputForm::Text, false, &[b"a\xe2\x80"]), b"a\\xe2\\x80");
    }

    #[test]
    fn only_our_own_sequences_reach_the_terminal() {
        let mut output = VisibleOutput::new(Vec::new());
        let name = "\x1b[31mred\n";
        output.parts(&[LinePart::Own("\x1b[1m"), LinePart::Text(name), LinePart::Own("\x1b[0m")]).unwrap();
        output.line(name).unwrap();
        assert_eq!(output.out, b"\x1b[1m\\x1b[31mred\\n\x1b[0m\\x1b[31mred\\n\n");
    }
}
