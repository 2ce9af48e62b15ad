//! Starts a program.

use plan::CommandLine;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The environment variable by which descendants of an execution are recognised that have left its process group.
pub(crate) const MARK: &str = "IODYNO_EXECUTION";

/// A program that was started, in a process group of its own whose number is that of the program.
#[derive(Debug)]
pub(crate) struct StartedProgram {
    pub(crate) pid: Pid,
    /// Can be read when the program has ended; `None` where the kernel gives none.
    pub(crate) pidfd: Option<OwnedFd>,
    /// Where its output can be read, without waiting.
    pub(crate) output: OwnedFd,
}

/// Starts it; the error is a sentence that names the program.
pub(crate) fn start(line: &CommandLine, mark: &str) -> Result<StartedProgram, String> {
    let words: Vec<&str> = match line {
        CommandLine::Shell(line) => vec!["/bin/sh", "-c", line],
        CommandLine::Program(words) => words.iter().map(String::as_str).collect(),
    };
    let Some((program, arguments)) = words.split_first().filter(|(program, _)| !program.is_empty()) else {
        return Err("the command line names no program".to_string());
    };
    spawn(program, arguments, mark).map_err(|error| why_not(program, &error))
}

fn spawn(program: &str, arguments: &[&str], mark: &str) -> io::Result<StartedProgram> {
    let (output, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&output, fcntl_getfl(&output)? | OFlags::NONBLOCK)?;
    let mut command = Command::new(program);
    command.args(arguments).env(MARK, mark).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::from(writer.try_clone()?)).stderr(Stdio::from(writer));
    let child = command.spawn();
    // Its ends of the pipe are the program's alone: only then has the output an end.
    drop(command);
    let child = child?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    Ok(StartedProgram { pid, pidfd: pidfd_open(pid, PidfdFlags::empty()).ok(), output })
}

/// Why a program could not be started.
fn why_not(program: &str, error: &io::Error) -> String {
    let is_path = program.contains('/');
    match error.kind() {
        io::ErrorKind::NotFound if !is_path => format!("{program} was not found in PATH"),
        io::ErrorKind::NotFound if Path::new(program).exists() => {
            format!("failed to start {program}: the interpreter that its first line names was not found")
        }
        io::ErrorKind::NotFound => format!("{program} does not exist"),
        io::ErrorKind::PermissionDenied if is_path && Path::new(program).is_dir() => {
            format!("{program} is a directory, not a program")
        }
        io::ErrorKind::PermissionDenied => format!("{program} may not be executed by this user: {error}"),
        _ => format!("failed to start {program}: {error}"),
    }
}
