//! `iodyno verify`.

use crate::data_args::{VerifyArgs, byte_count};
use crate::exit::{DATA, Failure, INTERRUPTED, PARAMETERS, TARGET};
use crate::folded;
use crate::signals::watch_signals;
use crate::verify_tree::{TreeVerifyRequest, verify_tree};
use monitor::StopFlag;
use quantity::clock;
use quantity::output::{LinePart, stderr};
use quantity::text::{format_bytes, format_ns, format_throughput};
use stamped_data::{JournalRequest, VerifyRecording, VerifyRequest};

/// The line of progress changes so often, ns.
const PROGRESS_NS: u64 = 250_000_000;

/// Reads all of a target; gives the exit code.
pub(crate) fn run(args: &VerifyArgs, command_line: &[String]) -> Result<u8, Failure> {
    let block_bytes = args.block.as_deref().map(|text| byte_count(text, "--block")).transpose()?;
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    if args.target.is_dir() {
        return of_tree(args, block_bytes, stop);
    }
    let request = VerifyRequest {
        path: args.target.clone(),
        written_as: args.written_as.clone(),
        block_bytes,
        journal: args.journal.clone().map(|directory| JournalRequest { directory, after_crash: args.after_crash }),
        recording: args
            .output
            .clone()
            .map(|directory| VerifyRecording { directory, command_line: command_line.to_vec() }),
        stop: stop.clone(),
    };
    let mut shown = ProgressShown::new();
    let outcome = stamped_data::verify(&request, &mut |done, all| shown.tell(done, all));
    shown.end();
    let outcome = outcome?;
    if args.json {
        crate::out::json(outcome.json());
    } else {
        outcome.lines().iter().for_each(|line| folded::print(line));
    }
    if let Some(directory) = &args.output {
        say!("iodyno: recording {}: `iodyno report {0}` shows it", directory.display());
    }
    let path = args.target.display();
    if !outcome.is_complete {
        let done = format_bytes(outcome.done_bytes);
        say!("iodyno: ended early: {done} of {} of {path} were looked at", format_bytes(outcome.size_bytes));
    }
    let unread = outcome.unreadable_bytes();
    if unread > 0 {
        say!("iodyno: {} of {path} cannot be read", format_bytes(unread));
    }
    Ok(match (outcome.damaged(), outcome.is_complete, unread) {
        (1.., ..) => DATA,
        (0, false, _) => INTERRUPTED,
        (0, true, 1..) => TARGET,
        (0, true, 0) if !outcome.has_stamps() && outcome.known_blocks() == 0 => {
            say!(
                "iodyno: nothing on {path} has a stamp of iodyno's, so nothing was verified: a validated load writes them"
            );
            PARAMETERS
        }
        (0, true, 0) if outcome.identity.misnamed.is_some() => {
            say!("iodyno: {path}: its name was not the one that was given{}", outcome.identity.misnamed_words());
            PARAMETERS
        }
        (0, true, 0) => 0,
    })
}

/// Reads all files of a directory and those below it; gives the exit code.
fn of_tree(args: &VerifyArgs, block_bytes: Option<u64>, stop: StopFlag) -> Result<u8, Failure> {
    let path = args.target.display();
    if args.written_as.is_some() {
        let message =
            format!("--as names one file or device, and {path} is a directory: its files have their own names");
        return Err(Failure::new(PARAMETERS, message));
    }
    if args.journal.is_some() || args.output.is_some() {
        let message = format!("{path} is a directory: --journal and -o are for one file or device");
        return Err(Failure::new(PARAMETERS, message));
    }
    let request = TreeVerifyRequest { path: args.target.clone(), block_bytes, stop };
    let mut shown = ProgressShown::new();
    let outcome = verify_tree(&request, &mut |done, all| shown.tell(done, all));
    shown.end();
    let outcome = outcome?;
    if args.json {
        crate::out::json(outcome.json());
    } else {
        outcome.lines().iter().for_each(|line| folded::print(line));
    }
    Ok(match outcome.damaged_files {
        1.. => DATA,
        0 if !outcome.is_complete => INTERRUPTED,
        0 if outcome.unreadable_bytes > 0 || outcome.failed > 0 => TARGET,
        0 if outcome.stamped_files == 0 => {
            say!(
                "iodyno: nothing in {path} has a stamp of iodyno's, so nothing was verified: a validated load writes them"
            );
            PARAMETERS
        }
        0 => 0,
    })
}

/// One line on a terminal.
struct ProgressShown {
    is_terminal: bool,
    begun_ns: u64,
    next_ns: u64,
}

impl ProgressShown {
    fn new() -> Self {
        let now = clock::now_ns();
        Self { is_terminal: tui::is_error_terminal(), begun_ns: now, next_ns: now + PROGRESS_NS }
    }

    fn tell(&mut self, done: u64, all: u64) {
        let now = clock::now_ns();
        if !self.is_terminal || now < self.next_ns || all == 0 {
            return;
        }
        self.next_ns = now + PROGRESS_NS;
        let seconds = (now - self.begun_ns) as f64 / 1e9;
        let rate = done as f64 / seconds.max(0.001);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time that is only shown")]
        let left = (all.saturating_sub(done) as f64 / rate.max(1.0) * 1e9) as u64;
        let share = 100.0 * done as f64 / all as f64;
        let line = format!("verify  {share:3.0} %  {}  {} left", format_throughput(rate), format_ns(left));
        let _ = stderr().parts(&[LinePart::Own("\r\x1b[K"), LinePart::Text(&line)]);
    }

    fn end(&self) {
        if self.is_terminal {
            let _ = stderr().parts(&[LinePart::Own("\r\x1b[K")]);
        }
    }
}
