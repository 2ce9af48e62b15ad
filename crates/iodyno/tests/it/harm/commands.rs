//! What is typed with a target's path in it: every way in which iodyno writes.

use crate::harm::scene::Rule;
use std::path::Path;
use std::time::Duration;
use testkit::{CommandOutput, TestCommand};

/// A command line with the target's path in it.
pub(crate) struct Typed {
    /// For messages.
    pub(crate) name: &'static str,
    /// What the path is to the command.
    pub(crate) role: Role,
    arguments: fn(&Path, &Path) -> Vec<String>,
}

/// What the path is to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The target of a load that writes.
    Target,
    /// The same, with `--destroy` naming it.
    Destroyed,
    /// The target of a load that only reads.
    Source,
    /// Where a new file is to be written, without and with `--force`.
    Output,
    /// The same with `--force`.
    Forced,
    /// Where a recording or a collection of recordings is to be made.
    Folder,
}

fn words(text: &[&str], path: &Path) -> Vec<String> {
    text.iter().map(|word| if *word == "PATH" { path.display().to_string() } else { (*word).to_string() }).collect()
}

/// A load by a parameter file: the file names the path in quotes.
fn vdbench(path: &Path, work: &Path, rdpct: u32) -> Vec<String> {
    let text = format!(
        "sd=sd1,lun=\"{}\"\nwd=wd1,sd=sd1,rdpct={rdpct},xfersize=4k,seekpct=100\nrd=rd1,wd=wd1,iorate=200,elapsed=0.2,interval=0.1\n",
        path.display()
    );
    let file = work.join("load.vdb");
    std::fs::write(&file, text).unwrap();
    words(&["run", &file.display().to_string(), "-o", "out", "--no-report", "--no-counters"], path)
}

/// All ways.
pub(crate) const ALL: &[Typed] = &[
    Typed { name: "run FILE", role: Role::Target, arguments: |path, work| vdbench(path, work, 0) },
    Typed {
        name: "run --filename",
        role: Role::Target,
        arguments: |path, _| {
            let flags =
                "run --name j --filename PATH --rw randwrite --bs 4k --number_ios 16 -o out --no-report --no-counters";
            words(&flags.split(' ').collect::<Vec<_>>(), path)
        },
    },
    Typed {
        name: "replay",
        role: Role::Target,
        arguments: |path, work| {
            let line = "128166372000000000,host,0,Write,0,4096,10\n128166372005000000,host,0,Write,8192,4096,10\n";
            std::fs::write(work.join("t.csv"), line).unwrap();
            let map = format!("0={}", path.display());
            words(
                &["replay", "t.csv", "--format", "msr", "--map", &map, "-o", "out", "--no-report", "--no-verify"],
                path,
            )
        },
    },
    Typed {
        name: "run --destroy",
        role: Role::Destroyed,
        arguments: |path, work| {
            let mut typed = vdbench(path, work, 0);
            typed.extend(words(&["--destroy", "PATH"], path));
            typed
        },
    },
    // None of these targets has stamps: nothing is damaged, whatever is given up.
    Typed {
        name: "inject --destroy",
        role: Role::Source,
        arguments: |path, _| words(&["inject", "--kind", "zeroes", "PATH", "--random", "1", "--destroy", "PATH"], path),
    },
    Typed { name: "verify", role: Role::Source, arguments: |path, _| words(&["verify", "PATH"], path) },
    Typed {
        name: "inspect",
        role: Role::Source,
        arguments: |path, _| words(&["inspect", "PATH", "--at", "0", "--hex"], path),
    },
    Typed { name: "run of reads", role: Role::Source, arguments: |path, work| vdbench(path, work, 100) },
    Typed {
        name: "chart -o",
        role: Role::Output,
        arguments: |path, _| words(&["chart", "REC", "cpu.busy", "-o", "PATH"], path),
    },
    Typed { name: "report -o", role: Role::Output, arguments: |path, _| words(&["report", "REC", "-o", "PATH"], path) },
    Typed {
        name: "compare -o",
        role: Role::Output,
        arguments: |path, _| words(&["compare", "REC", "REC", "-o", "PATH"], path),
    },
    Typed {
        name: "export -o",
        role: Role::Output,
        arguments: |path, _| words(&["export", "REC", "cpu", "--csv", "-o", "PATH"], path),
    },
    Typed {
        name: "export --parquet -o",
        role: Role::Output,
        arguments: |path, _| words(&["export", "REC", "cpu", "--parquet", "-o", "PATH"], path),
    },
    Typed {
        name: "convert -o",
        role: Role::Output,
        arguments: |path, work| {
            std::fs::write(
                work.join("c.vdb"),
                "sd=sd1,lun=/x,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,elapsed=1,interval=1\n",
            )
            .unwrap();
            words(&["convert", "c.vdb", "--to", "fio", "-o", "PATH"], path)
        },
    },
    Typed {
        name: "export --force -o",
        role: Role::Forced,
        arguments: |path, _| words(&["export", "REC", "cpu", "--csv", "--force", "-o", "PATH"], path),
    },
    Typed {
        name: "report --force -o",
        role: Role::Forced,
        arguments: |path, _| words(&["report", "REC", "--force", "-o", "PATH"], path),
    },
    Typed {
        name: "record -o",
        role: Role::Folder,
        arguments: |path, _| words(&["record", "-o", "PATH", "--for", "10ms"], path),
    },
    Typed {
        name: "record -d",
        role: Role::Folder,
        arguments: |path, _| words(&["record", "-d", "PATH", "--for", "10ms"], path),
    },
    Typed {
        name: "export --flatfile -o",
        role: Role::Folder,
        arguments: |path, _| words(&["export", "REC", "--flatfile", "-o", "PATH"], path),
    },
    Typed {
        name: "import -o",
        role: Role::Folder,
        arguments: |path, work| {
            std::fs::write(work.join("t.csv"), "128166372000000000,host,0,Read,0,4096,10\n").unwrap();
            words(&["import", "t.csv", "--format", "msr", "-o", "PATH"], path)
        },
    },
];

impl Typed {
    /// Types it; `recording` takes the place of `REC`.
    pub(crate) fn run(&self, path: &Path, work: &Path, recording: &Path) -> CommandOutput {
        let mut arguments = (self.arguments)(path, work);
        for argument in arguments.iter_mut().filter(|argument| *argument == "REC") {
            *argument = recording.display().to_string();
        }
        let command = TestCommand::new(env!("CARGO_BIN_EXE_iodyno")).args(&arguments).dir(work);
        command.env("XDG_STATE_HOME", work).limit(Duration::from_secs(120)).run().unwrap()
    }

    /// What is wrong with how it ended, if anything, where the target has this rule; `changed` says whether what had to
    /// stay did change.
    pub(crate) fn judge(&self, rule: Rule, output: &CommandOutput, changed: bool) -> Option<String> {
        let code = output.code;
        let wrote = matches!(
            (self.role, rule),
            (Role::Target | Role::Destroyed, Rule::Allowed) | (Role::Destroyed, Rule::NeedsDestroy)
        );
        let wrote = wrote || (self.role == Role::Forced && code == Some(0));
        if changed && !wrote {
            return Some(format!("exit code {code:?}, and what had to stay has changed"));
        }
        let says = |word: &str| output.stderr.contains(word);
        let fine = match (self.role, rule) {
            (Role::Target | Role::Destroyed, Rule::Allowed) | (Role::Destroyed, Rule::NeedsDestroy) => code == Some(0),
            (Role::Target, Rule::NeedsDestroy) => code == Some(7) && says("--destroy"),
            (Role::Target | Role::Destroyed, Rule::Never) => code == Some(7) && says("no flag overrides this"),
            (Role::Target | Role::Destroyed, Rule::Fail) => matches!(code, Some(2 | 3 | 7 | 8)),
            // What is read may be anything; it has only to stay as it is, and end.
            (Role::Source, _) => code.is_some_and(|code| code != 1),
            // Something is there, whatever it is.
            (Role::Output, _) => code.is_some_and(|code| code > 1) && !output.stderr.is_empty(),
            // A regular file may be replaced, nothing else.
            (Role::Forced, _) => code.is_some_and(|code| code != 1),
            (Role::Folder, _) => code.is_some_and(|code| code != 1),
        };
        (!fine).then(|| format!("exit code {code:?}, stderr: {}", output.stderr.trim_end()))
    }
}
