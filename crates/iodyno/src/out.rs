//! What a command was asked to print, on standard output.

use quantity::output::{OutputForm, VisibleOutput, stdout};
use quantity::visible::visible;
use std::fmt::Arguments;
use std::io::{ErrorKind, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static FAILED: AtomicBool = AtomicBool::new(false);

/// Writes words. A reader that has seen enough (`| head`) is no failure; a disk that is full is, once, and the command
/// ends with exit code 6.
pub(crate) fn write(words: Arguments<'_>) {
    put(OutputForm::Text, &words.to_string());
}

/// Writes a line: a break of it in a name is shown, and ends nothing.
pub(crate) fn line(words: Arguments<'_>) {
    put(OutputForm::Text, &(visible(&words.to_string()).into_owned() + "\n"));
}

/// Writes a line of which parts may have a colour.
pub(crate) fn painted(line: &session::PaintedLine, look: session::TerminalLook) {
    let mut out = stdout();
    note(out.parts(&line.parts(look)).and_then(|()| out.flush()));
}

/// Writes a file's text that was asked for on standard output.
pub(crate) fn file(text: &str) {
    put(OutputForm::Data, text);
}

/// Writes a line of JSON, or an object of several.
pub(crate) fn json(value: impl std::fmt::Display) {
    put(OutputForm::Json, &format!("{value}\n"));
}

/// Standard output for the lines of a command with `--json`, or without.
pub(crate) fn lines(json: bool) -> VisibleOutput<Stdout> {
    stdout().with_form(if json { OutputForm::Json } else { OutputForm::Text })
}

fn put(form: OutputForm, text: &str) {
    let mut out = stdout().with_form(form);
    // One write, so that lines of two threads do not mix.
    note(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Says that words did not arrive, once.
fn note(written: std::io::Result<()>) {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) => {
            say!("iodyno: failed to write standard output: {}", output::system_words(&error));
        }
        _ => {}
    }
}

/// Did any words not arrive?
pub(crate) fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}
