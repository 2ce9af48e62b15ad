//! What a command was asked to print, on standard output.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static FAILED: AtomicBool = AtomicBool::new(false);

/// Writes words. A reader that has seen enough (`| head`) is no failure; a disk that is full is, once, and the command
/// ends with an exit code that says so.
pub(crate) fn write(words: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    match out.write_fmt(words).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) => {
            say!("iodyno: cannot write to standard output: {error}");
        }
        _ => {}
    }
}

/// Did any words not arrive?
pub(crate) fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}
