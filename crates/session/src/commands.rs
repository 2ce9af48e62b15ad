//! The commands that a parameter file wants run before and after (`startcmd=`, `endcmd=`).
//!
//! They run as the user who runs iodyno, which is why `--dry-run` shows them. Their output goes to `commands.log` in the
//! recording's folder itself, not through a pipe: a process that they leave in the background does not hold the run.

use crate::SessionError;
use monitor::StopFlag;
use output::Folder;
use plan::ShellCommand as Wanted;
use quantity::clock;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Name of the file.
pub(crate) const LOG: &str = "commands.log";

/// Most bytes of its output that are shown on the console.
const CONSOLE_BYTES: u64 = 1 << 20;

/// How long a shell may take to end after it was asked to, ns.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Time between two looks at it.
const LOOK: Duration = Duration::from_millis(5);

/// What a command did.
#[derive(Debug)]
pub(crate) struct CommandResult {
    /// The command line, with `$output` replaced.
    pub(crate) line: String,
    /// Exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Its output, when the parameter file wants to see it on the console as well.
    pub(crate) console: Option<String>,
}

/// Runs `wanted` in a shell, waits for it and appends what it prints to `commands.log` in `directory`. Where the user wants everything
/// to end, so does the shell with its group.
pub(crate) fn execute(wanted: &Wanted, directory: &Path, stop: &StopFlag) -> Result<CommandResult, SessionError> {
    let line = wanted.line.replace("$output", &directory.display().to_string());
    // The directory's name may be no text.
    let mut command = OsString::new();
    for (number, part) in wanted.line.split("$output").enumerate() {
        if number > 0 {
            command.push(directory);
        }
        command.push(part);
    }
    let log = directory.join(LOG);
    let failed = |source| SessionError::Write { path: log.clone(), source };
    let mut file = Folder::open(directory)?.append(LOG)?;
    file.write_all(format!("$ {line}\n").as_bytes()).map_err(failed)?;
    let from = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let [out, error] = [file.try_clone().map_err(failed)?, file.try_clone().map_err(failed)?];
    let child = Command::new("/bin/sh")
        .arg("-c")
        .arg(&command)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(error)
        .process_group(0)
        .spawn();
    let status = child
        .and_then(|child| wait(child, stop))
        .map_err(|source| SessionError::Command { line: line.clone(), source })?;
    let mut console = None;
    if wanted.output != "log" {
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(from)).map_err(failed)?;
        (&file).take(CONSOLE_BYTES).read_to_end(&mut text).map_err(failed)?;
        console = Some(String::from_utf8_lossy(&text).into_owned());
    }
    end_line(&mut file, from).map_err(failed)?;
    Ok(CommandResult { line, code: status.code(), console })
}

/// Waits for its end, which a stop hastens: TERM, and after a while, or when it is urgent, KILL.
fn wait(mut child: Child, stop: &StopFlag) -> std::io::Result<ExitStatus> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut asked_ns = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let signal = match asked_ns {
            _ if stop.is_urgent() => Some(Signal::KILL),
            Some(asked_ns) if clock::now_ns().saturating_sub(asked_ns) > PATIENCE_NS => Some(Signal::KILL),
            None if stop.is_requested() => Some(Signal::TERM),
            _ => None,
        };
        if let Some((signal, group)) = signal.zip(group) {
            asked_ns = asked_ns.or(Some(clock::now_ns()));
            let _ = kill_process_group(group, signal);
        }
        std::thread::sleep(LOOK);
    }
}

/// Ends the last line of what was written behind `from`, so that what follows begins one.
fn end_line(file: &mut File, from: u64) -> std::io::Result<()> {
    let mut last = [b'\n'];
    if file.metadata()?.len() > from {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last == [b'\n'] { Ok(()) } else { file.write_all(b"\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    #[test]
    fn the_output_directory_is_found_by_a_name_that_is_no_text() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join(OsStr::from_bytes(b"\xff"));
        std::fs::create_dir(&directory).unwrap();
        let line = "touch $output/made; ls $output".to_string();
        let wanted = Wanted { line, output: "log".to_string(), abort: false, span: plan::TextSpan::default() };
        let done = execute(&wanted, &directory, &StopFlag::default()).unwrap();
        assert_eq!(done.code, Some(0));
        assert!(directory.join("made").exists());
        assert!(std::fs::read_to_string(directory.join(LOG)).unwrap().ends_with("made\n"));
    }
    #[test]
    fn a_process_in_the_background_does_not_hold_the_run() {
        let place = tempfile::tempdir().unwrap();
        let wanted = |line: &str, output: &str| Wanted {
            line: line.to_string(),
            output: output.to_string(),
            abort: false,
            span: plan::TextSpan::default(),
        };
        let began_ns = quantity::clock::now_ns();
        let done =
            execute(&wanted("sleep 60 & echo $!; printf begun", "cons"), place.path(), &StopFlag::default()).unwrap();
        assert!(quantity::clock::now_ns() - began_ns < 50_000_000_000);
        let console = done.console.unwrap();
        let pid = console.lines().next().unwrap();
        assert!(console.ends_with("begun"), "{console:?}");
        execute(&wanted("echo out; echo err >&2; exit 3", "log"), place.path(), &StopFlag::default()).unwrap();
        let log = std::fs::read_to_string(place.path().join(LOG)).unwrap();
        assert!(log.ends_with("begun\n$ echo out; echo err >&2; exit 3\nout\nerr\n"), "{log:?}");
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
    }

    #[test]
    fn a_stop_ends_it_with_its_group() {
        let place = tempfile::tempdir().unwrap();
        let begun = place.path().join("begun");
        let line = format!("trap '' TERM; sleep 1000 & echo $!; touch {}; sleep 1001; sleep 1002", begun.display());
        let wanted = Wanted { line, output: "cons".to_string(), abort: false, span: plan::TextSpan::default() };
        let stop = StopFlag::default();
        let own = stop.clone();
        let wait = std::thread::spawn(move || {
            while !begun.exists() {
                std::thread::sleep(LOOK);
            }
            own.request();
        });
        let done = execute(&wanted, place.path(), &stop).unwrap();
        wait.join().unwrap();
        assert_eq!(done.code, None);
        let number = done.console.unwrap();
        // It was killed, and needs a processor to end.
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
        let until_ns = quantity::clock::now_ns() + 60_000_000_000;
        while !stat().is_empty() && !stat().contains(") Z ") {
            assert!(quantity::clock::now_ns() < until_ns, "{}", stat());
            std::thread::sleep(LOOK);
        }
    }
}
