//! The commands that a parameter file wants run before and after (`startcmd=`, `endcmd=`).
//!
//! They run as the user who runs iodyno, which is why `--dry-run` shows them. Their output is kept in the recording's
//! folder, in `commands.log`.

use crate::SessionError;
use output::Folder;
use plan::ShellCommand as Wanted;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Name of the file.
const LOG: &str = "commands.log";

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

/// Runs `wanted` in a shell, waits for it and appends what it prints to `commands.log` in `directory`.
pub(crate) fn execute(wanted: &Wanted, directory: &Path) -> Result<CommandResult, SessionError> {
    let line = wanted.line.replace("$output", &directory.display().to_string());
    // The directory's name may be no text.
    let mut command = OsString::new();
    for (number, part) in wanted.line.split("$output").enumerate() {
        if number > 0 {
            command.push(directory);
        }
        command.push(part);
    }
    let output = Command::new("/bin/sh")
        .arg("-c")
        .arg(&command)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| SessionError::Command { line: line.clone(), source })?;
    let log = directory.join(LOG);
    let failed = |source| SessionError::Write { path: log.clone(), source };
    let mut file = Folder::open(directory)?.append(LOG)?;
    let mut text = format!("$ {line}\n").into_bytes();
    text.extend_from_slice(&output.stdout);
    text.extend_from_slice(&output.stderr);
    file.write_all(&text).map_err(failed)?;
    let console = (wanted.output != "log")
        .then(|| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned());
    Ok(CommandResult { line, code: output.status.code(), console })
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
        let done = execute(&wanted, &directory).unwrap();
        assert_eq!(done.code, Some(0));
        assert!(directory.join("made").exists());
        assert!(std::fs::read_to_string(directory.join(LOG)).unwrap().ends_with("made\n"));
    }
}
