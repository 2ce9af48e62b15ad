//! `record --text DIR`: the text of the classic tools beside the recording, as gathering scripts keep it.

use std::fs::{File, OpenOptions};
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
pub struct Gather {
    running: Vec<(Child, PathBuf)>,
}

impl Gather {
    /// Starts every tool that there is, each writing to `TOOL.out` in `directory`, which is made. Gives, too, what cannot be
    /// gathered, in words.
    ///
    /// # Errors
    /// The directory or a file in it cannot be made; a file that is there already is not written over.
    pub fn start(directory: &Path, seconds: u64) -> std::io::Result<(Self, Vec<String>)> {
        std::fs::create_dir_all(directory)?;
        let (mut gather, mut said) = (Self { running: Vec::new() }, Vec::new());
        for (tool, arguments) in TOOLS {
            let path = directory.join(format!("{tool}.out"));
            let mut out = OpenOptions::new().write(true).create_new(true).open(&path)?;
            // Tells an import what was asked, and whoever reads it.
            writeln!(out, "$ {tool} {} {seconds}", arguments.join(" "))?;
            let started = Command::new(tool)
                .args(arguments)
                .arg(seconds.to_string())
                .env("LC_ALL", "C")
                .env("S_TIME_FORMAT", "ISO")
                .stdin(Stdio::null())
                .stdout(Stdio::from(File::try_clone(&out)?))
                .stderr(Stdio::from(out))
                .spawn();
            match started {
                Ok(child) => gather.running.push((child, path)),
                Err(error) => {
                    std::fs::remove_file(&path)?;
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

impl Drop for Gather {
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
