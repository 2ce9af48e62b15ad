//! Signals that end a command.

use crate::exit::Failure;
use monitor::StopFlag;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::time::Duration;

/// How long the clean end may take after the second request; the process is gone within a second.
const LAST_PATIENCE: Duration = Duration::from_millis(700);
/// How long the last words may take: standard error may be a pipe that is read by nothing.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Ends the process shortly, whatever hangs: a device, the recording's disk, an output that is read by nothing. What was
/// journaled stays as it is.
fn end_soon() {
    let wait = || {
        std::thread::sleep(LAST_PATIENCE);
        let tell =
            || say!("iodyno: asked twice to stop: ended at once; what was recorded so far is kept and can be read");
        let _ = std::thread::Builder::new().spawn(tell);
        std::thread::sleep(LAST_WORDS);
        signal_hook::low_level::exit(crate::exit::INTERRUPTED.into());
    };
    if std::thread::Builder::new().name("end".to_string()).spawn(wait).is_err() {
        signal_hook::low_level::exit(crate::exit::INTERRUPTED.into());
    }
}

/// Ctrl-C, a hang-up and a polite kill end the run with its results; a second one stops waiting for the target, and ends
/// the process within a second even where something hangs.
pub(crate) fn watch_signals(stop: &StopFlag) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(1, format!("failed to watch signals: {error}"));
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
    let stop = stop.clone();
    std::thread::Builder::new()
        .name("signals".to_string())
        .spawn(move || {
            for signal in signals.forever() {
                stop.request_by(signal);
                if stop.is_urgent() {
                    end_soon();
                }
            }
        })
        .map_err(failed)?;
    Ok(())
}
