//! `record --text DIR`: the text of the classic tools beside the recording, as gathering scripts keep it.

use output::{FileAccess, Folder, OutputError};
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Tools with what they are asked; the interval in seconds stands behind. `import` reads all of it.
const TOOLS: [(&str, &[&str]); 6] = [
    ("vmstat", &["-n", "-t"]),
    ("iostat", &["-x", "-t"]),
    ("mpstat", &["-P", "ALL"]),
    ("pidstat", &["-h", "-u", "-r", "-d"]),
    ("nicstat", &["-p", "-x"]),
    ("zpool", &["iostat", "-T", "u"]),
];

/// Tools that run; they end with it.
#[derive(Debug)]
pub struct GatheredTools {
    running: Vec<(Child, PathBuf)>,
}

impl GatheredTools {
    /// Starts every tool that there is, each writing to `TOOL.out` in `directory`, which is made. Gives, too, what cannot be
    /// gathered, in words.
    ///
    /// # Errors
    /// The directory or a file in it cannot be made; a file that is there already is not written over.
    pub fn start(directory: &Path, seconds: u64) -> Result<(Self, Vec<String>), OutputError> {
        let folder = Folder::open_or_create(directory, FileAccess::of_recordings())?;
        let (mut gather, mut said) = (Self { running: Vec::new() }, Vec::new());
        for (tool, arguments) in TOOLS {
            let name = format!("{tool}.out");
            let path = directory.join(&name);
            let mut out = folder.create_new_log(&name)?;
            // Shows the command to readers, and to an import.
            let failed = || OutputError::io("write", &path);
            writeln!(out, "$ {tool} {} {seconds}", arguments.join(" ")).map_err(failed())?;
            let started = Command::new(tool)
                .args(arguments)
                .arg(seconds.to_string())
                .env("LC_ALL", "C")
                .env("S_TIME_FORMAT", "ISO")
                .stdin(Stdio::null())
                .stdout(Stdio::from(File::try_clone(&out).map_err(failed())?))
                .stderr(Stdio::from(out))
                .spawn();
            match started {
                Ok(child) => gather.running.push((child, path)),
                Err(error) => {
                    folder.remove_file(&name)?;
                    let why = if error.kind() == ErrorKind::NotFound {
                        "it is not installed".to_string()
                    } else {
                        error.to_string()
                    };
                    said.push(format!("no text of {tool}: {why}"));
                }
            }
        }
        Ok((gather, said))
    }

    /// Ends the tools; gives what they left behind, and which of them had ended by themselves.
    pub fn end(mut self) -> Vec<String> {
        let mut said = Vec::new();
        for (child, path) in &mut self.running {
            if let Ok(Some(status)) = child.try_wait() {
                said.push(format!("{} ended by itself ({status})", path.display()));
            }
        }
        said
    }
}

impl Drop for GatheredTools {
    fn drop(&mut self) {
        for (child, _) in &mut self.running {
            // Asked first: a tool then writes what it still holds.
            if let Ok(id) = i32::try_from(child.id())
                && let Some(pid) = rustix::process::Pid::from_raw(id)
                && matches!(child.try_wait(), Ok(None))
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            let _ = child.wait();
        }
    }
}
