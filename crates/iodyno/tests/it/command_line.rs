//! The command line from outside: names of any bytes, full outputs, places and names of recordings, exit codes.

use crate::support::Scratch;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use testkit::{CommandOutput, TestCommand};

/// A recording of a few samples called `r`.
fn record(scratch: &Scratch) {
    let record = ["record", "-o", "r", "-i", "100ms", "--clock", "tick", "--for", "300ms"];
    scratch.iodyno(&record).run().unwrap().expect_code(0);
}

/// A line of a shell in the folder, with `iodyno` as `$I`.
fn shell(scratch: &Scratch, line: &str) -> CommandOutput {
    TestCommand::new("bash")
        .args(["-c", line])
        .env("I", env!("CARGO_BIN_EXE_iodyno"))
        .dir(scratch.path(""))
        .run()
        .unwrap()
}

fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn names_that_are_no_text_are_names() {
    let scratch = Scratch::new();
    record(&scratch);
    let strange = |end: &str| OsStr::from_bytes(&[b"\xff", end.as_bytes()].concat()).to_os_string();
    let made = |arguments: &[&OsStr], name: &OsStr| {
        TestCommand::new(env!("CARGO_BIN_EXE_iodyno"))
            .args(arguments)
            .arg(name)
            .dir(scratch.path(""))
            .run()
            .unwrap()
            .expect_code(0);
        assert!(Path::new(&scratch.path("")).join(name).exists(), "{name:?}");
    };
    let words = |line: &'static str| line.split(' ').map(OsStr::new).collect::<Vec<_>>();
    made(&words("export r cpu --csv -o"), &strange(".csv"));
    made(&words("record --clock tick -i 100ms --for 200ms -o"), &strange(".iodyno"));
    made(&words("report"), &strange(".iodyno"));
    std::fs::write(scratch.path("").join(strange(".fio")), "[a]\nfilename=x\nsize=1m\nrw=read\n").unwrap();
    made(&words("run --dry-run"), &strange(".fio"));
    let wrong = words("report,stat,--memory,run --elapsed,run x -e,check --fail-if").join(OsStr::new(" "));
    for arguments in wrong.to_str().unwrap().split(',') {
        let output = TestCommand::new(env!("CARGO_BIN_EXE_iodyno"))
            .args(arguments.split(' '))
            .arg(strange("nothing"))
            .dir(scratch.path(""))
            .run()
            .unwrap()
            .expect_code(2);
        assert!(!output.stderr.contains("panicked"), "{arguments}: {}", output.stderr);
    }
    // What must be text is named, and nothing else is opened in its place.
    for arguments in ["trace -o x -d", "run --name=a --filename", "export r", "model r -o m.vdb -t"] {
        let output = TestCommand::new(env!("CARGO_BIN_EXE_iodyno"))
            .args(arguments.split(' '))
            .arg(strange("nothing"))
            .dir(scratch.path(""))
            .run()
            .unwrap()
            .expect_code(2);
        let shown = ["`\\xffnothing`", "\u{fffd}nothing: its name is no text"];
        assert!(shown.iter().any(|shown| output.stderr.contains(shown)), "{arguments}: {}", output.stderr);
    }
    assert!(!scratch.path("x").exists() && !scratch.path("m.vdb").exists());
}

#[test]
fn a_full_standard_output_is_exit_code_6_and_a_reader_that_went_away_is_none() {
    let scratch = Scratch::new();
    record(&scratch);
    scratch.write("a.fio", "[a]\nfilename=x\nsize=1m\nrw=read\nruntime=1\n");
    let shells = ["bash", "zsh", "fish", "elvish", "powershell"].map(|shell| format!("completions {shell}"));
    let others = [
        "run a.fio --dry-run",
        "convert a.fio",
        "compare r r",
        "export r cpu",
        "export r",
        "stat cpu 0.1 1",
        "chart r --list",
        "check r --fail-if 'cpu_busy > 1'",
    ];
    for command in shells.iter().map(String::as_str).chain(others) {
        let full = shell(&scratch, &format!("\"$I\" {command} > /dev/full"));
        if command.starts_with("check") {
            assert_ne!(full.code, Some(1), "{command}: {}", full.stderr);
        } else {
            assert_eq!(full.code, Some(6), "{command}: {}", full.stderr);
            assert!(full.stderr.contains("standard output") || full.stderr.contains("No space"), "{}", full.stderr);
        }
        let head = shell(&scratch, &format!("\"$I\" {command} | true; exit ${{PIPESTATUS[0]}}"));
        assert!(!head.stderr.contains("panicked"), "{command}: {}", head.stderr);
        if !command.starts_with("check") {
            assert_eq!(head.code, Some(0), "{command}: {}", head.stderr);
        }
    }
}

#[test]
fn what_a_command_reads_is_never_written_over() {
    let scratch = Scratch::new();
    record(&scratch);
    let job = "[a]\nfilename=x\nsize=1m\nrw=read\nruntime=1\n";
    scratch.write("a.fio", job);
    scratch.write("included.vdb", "sd=sd1,lun=/nowhere/x,size=1m\n");
    scratch.write("b.vdb", "include=included.vdb\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=100,elapsed=4\n");
    let host = names(&scratch.path("r/cpu")).remove(0).into_string().unwrap();
    let part = format!("r/cpu/{host}/000001.parquet");
    let before = testkit::sha256(scratch.path(&part)).unwrap();
    let new = format!("r/cpu/{host}/000002.parquet");
    for line in [
        format!("export r cpu --parquet -o {part}"),
        format!("export r cpu --parquet -o {new}"),
        "export r cpu -o r/manifest.json".to_string(),
        "report r -o r/manifest.json.copy".to_string(),
        "compare r r -o r/manifest.json".to_string(),
        format!("convert a.fio --to fio -o {}", scratch.path("a.fio").display()),
        "convert b.vdb --to fio -o included.vdb".to_string(),
        "model a.fio -o ./a.fio".to_string(),
        "export r --flatfile -o r/cpu".to_string(),
    ] {
        let arguments: Vec<&str> = line.split(' ').chain(["--force"]).collect();
        let refused = scratch.iodyno(&arguments).run().unwrap().expect_code(7);
        assert!(refused.stderr.contains("what this command reads"), "{line}: {}", refused.stderr);
    }
    assert_eq!(testkit::sha256(scratch.path(&part)).unwrap(), before);
    assert_eq!(std::fs::read_to_string(scratch.path("a.fio")).unwrap(), job);
    assert_eq!(names(&scratch.path(&format!("r/cpu/{host}"))), ["000001.parquet"]);
    // Beside its parts, a recording may hold what was drawn of it; another one is no input.
    for line in ["report r -o r/mine.html", "export r cpu -o r/cpu.csv", "compare r r -o r/page.html"] {
        scratch.iodyno(&line.split(' ').collect::<Vec<_>>()).run().unwrap().expect_code(0);
    }
}

#[test]
fn no_recording_is_made_among_devices_and_settings() {
    let scratch = Scratch::new();
    record(&scratch);
    scratch.write("a.fio", "[a]\nfilename=x\nsize=1m\nrw=read\nruntime=1\n");
    std::os::unix::fs::symlink("/dev", scratch.path("link")).unwrap();
    for place in ["/dev/iodyno-no-such-disk", "/dev/iodyno/deep", "/sys/fs/cgroup/iodyno-no-such", "link/iodyno-x"] {
        for line in [
            "record --for 300ms -o",
            "record --for 300ms -d",
            "record --for 300ms -o q --text",
            "run a.fio -o",
            "import r -o",
            "stat cpu 0.1 1 -o",
            "probe io 0.1 1 -o",
            "trace --all --for 1s -o",
            "trace --all --for 1s --until response_ns_max>1s -o",
            "export r --flatfile -o",
        ] {
            let arguments: Vec<&str> = line.split(' ').chain([place]).collect();
            let refused = scratch.iodyno(&arguments).run().unwrap().expect_code(7);
            assert!(refused.stderr.contains("in a directory of devices"), "{line} {place}: {}", refused.stderr);
            assert!(!scratch.path(place).exists() && !Path::new(place).parent().unwrap().join("iodyno").exists());
        }
    }
    assert_eq!(names(&scratch.path("")), ["a.fio", "link", "r"]);
    let shared = format!("/dev/shm/{}", testkit::own_name("command-line"));
    scratch.iodyno(&["record", "--clock", "tick", "--for", "200ms", "-o", &shared]).run().unwrap().expect_code(0);
    std::fs::remove_dir_all(shared).unwrap();
}

#[test]
fn the_file_size_limit_is_reported_and_ends_no_process() {
    let scratch = Scratch::new();
    record(&scratch);
    for (limit, line) in
        [(4, "record -o small --clock tick -i 100ms --for 2s"), (4, "report r -o page.html"), (1, "export r cpu -o x")]
    {
        let output = shell(&scratch, &format!("(ulimit -f {limit}; exec \"$I\" {line})"));
        assert_eq!(output.code, Some(6), "{line}: {}", output.stderr);
        assert!(output.stderr.contains("ulimit -f"), "{line}: {}", output.stderr);
    }
    assert!(!scratch.path("page.html").exists() && !scratch.path("x").exists());
    // What was recorded before the limit was reached can be read.
    let later = shell(&scratch, "(ulimit -f 200; exec \"$I\" record -o later -i 100ms --for 30s)");
    assert_eq!(later.code, Some(6), "{}", later.stderr);
    assert!(!scratch.table("later", "cpu").is_empty());
    // A command that is recorded has the system's own default again.
    let line = "\"$I\" record -o limited --clock tick -- sh -c 'kill -XFSZ $$'";
    assert_eq!(shell(&scratch, line).code, Some(128 + 25));
}

#[test]
fn two_recordings_at_once_have_two_names_or_one_begins_nothing() {
    let scratch = Scratch::new();
    let at_once = "for i in 1 2 3 4; do \"$I\" record --clock tick -i 100ms --for 200ms & done; wait";
    shell(&scratch, at_once).expect_code(0);
    assert_eq!(names(&scratch.path("")).len(), 4);
    let first = scratch.iodyno(&["record", "-o", "same", "--clock", "tick", "--", "cat"]);
    let mut first = first.stdin(Vec::new()).spawn().unwrap();
    while !first.has_ended() && !scratch.path("same").exists() {
        std::thread::yield_now();
    }
    let second = ["record", "-o", "same", "--clock", "tick", "--", "touch", "begun"];
    let refused = scratch.iodyno(&second).run().unwrap().expect_code(2);
    assert!(refused.stderr.contains("same exists"), "{}", refused.stderr);
    assert!(!scratch.path("begun").exists());
    first.wait().unwrap().expect_code(0);
    // A command that cannot be started leaves no recording.
    scratch.iodyno(&["record", "-o", "none", "--", "/no/such/program"]).run().unwrap().expect_code(3);
    assert!(!scratch.path("none").exists());
    scratch.write("refused.fio", "[a]\nfilename=/dev\nsize=1m\nrw=write\nruntime=1\n");
    scratch.iodyno(&["run", "refused.fio", "-o", "none"]).run().unwrap().expect_code(7);
    assert!(!scratch.path("none").exists());
}

#[test]
fn what_a_command_cost_is_three_lines() {
    let scratch = Scratch::new();
    let stderr = scratch.iodyno(&["record", "-o", "r", "--", "true"]).run().unwrap().expect_code(0).stderr;
    let lines: Vec<&str> = stderr.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    for name in ["time", "CPU", "I/O"] {
        assert!(lines.contains(&name), "{stderr}");
    }
    assert!(!stderr.contains("\\n"), "{stderr}");
}

#[test]
fn a_path_at_which_nothing_can_be_made_is_no_damage() {
    let scratch = Scratch::new();
    record(&scratch);
    let file = scratch.write("file", "");
    let long = "x".repeat(300);
    let below = format!("{}/x", file.display());
    for output in ["missing/x", &below, &long, "missing/../x"] {
        for line in ["export r cpu -o", "report r -o", "convert a.vdb --to fio -o"] {
            let arguments: Vec<&str> = line.split(' ').chain([output]).collect();
            scratch.iodyno(&arguments).run().unwrap().expect_code(2);
        }
    }
    for output in [&below, &long] {
        scratch.iodyno(&["record", "--for", "200ms", "-o", output]).run().unwrap().expect_code(2);
    }
    for line in ["record --for 200ms -o missing/../x", "export r --flatfile -o missing/../x"] {
        scratch.iodyno(&line.split(' ').collect::<Vec<_>>()).run().unwrap().expect_code(2);
    }
    assert_eq!(names(&scratch.path("")), ["file", "r"]);
    let null = scratch.iodyno(&["record", "--for", "200ms", "-o", "/dev/null"]).run().unwrap().expect_code(2);
    assert!(!null.stderr.contains("count up"), "{}", null.stderr);
    // Before anything is read: it is no recording, and that is not what is said.
    std::fs::create_dir(scratch.path("empty")).unwrap();
    for line in ["compare empty empty -o file", "report empty -o file", "export empty cpu -o file"] {
        let refused = scratch.iodyno(&line.split(' ').collect::<Vec<_>>()).run().unwrap().expect_code(2);
        assert!(refused.stderr.contains("file exists"), "{line}: {}", refused.stderr);
    }
}

#[test]
fn what_another_user_may_not_read_or_write_is_exit_code_8() {
    if !rustix_is_root() {
        return;
    }
    let scratch = Scratch::new();
    record(&scratch);
    std::fs::set_permissions(scratch.path(""), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    // The program may lie where others may not go. It is copied by another process: what a test beside this one starts meanwhile
    // would inherit the descriptor that writes it, and the kernel runs no file that is open for writing.
    let program = scratch.path("iodyno");
    let copy = [Path::new(env!("CARGO_BIN_EXE_iodyno")), &program];
    TestCommand::new("cp").args(copy).run().unwrap().expect_code(0);
    let other = |line: &str| {
        let command = TestCommand::new(&program).args(line.split(' ')).dir(scratch.path("")).user(65_534);
        command.run().unwrap().expect_code(8).stderr
    };
    for line in ["report r", "export r cpu", "compare r r", "check r --fail-if errors>0", "chart r --list"] {
        let stderr = other(line);
        assert!(stderr.contains("it belongs to root") && stderr.contains("chmod -R g+rX r"), "{line}: {stderr}");
        assert!(stderr.contains("--mode 0640 --group"), "{line}: {stderr}");
    }
    scratch.write("a.fio", "[a]\nfilename=x\nsize=1m\nrw=read\nruntime=1\n");
    for line in ["convert a.fio -o a.vdb", "record --for 200ms -o x", "run a.fio -o y"] {
        let stderr = other(line);
        assert!(stderr.contains("Permission denied"), "{line}: {stderr}");
    }
    // The owner did as it was said.
    for line in ["chgrp -R 65534 r", "chmod -R g+rX r"] {
        TestCommand::new("sh").args(["-c", line]).dir(scratch.path("")).run().unwrap().expect_code(0);
    }
    TestCommand::new(&program)
        .args(["export", "r", "cpu"])
        .dir(scratch.path(""))
        .user(65_534)
        .run()
        .unwrap()
        .expect_code(0);
}

fn rustix_is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn what_convert_writes_can_be_run() {
    let scratch = Scratch::new();
    for (seconds, interval) in [("1", "interval=0.5"), ("1500ms", "interval=0.75"), ("2", "elapsed=2")] {
        scratch.write("a.fio", &format!("[a]\nfilename=x\nsize=1m\nrw=read\ntime_based\nruntime={seconds}\n"));
        scratch.iodyno(&["convert", "a.fio", "-o", "a.vdb", "--force"]).run().unwrap().expect_code(0);
        let text = std::fs::read_to_string(scratch.path("a.vdb")).unwrap();
        assert!(text.contains(interval), "{text}");
        scratch.iodyno(&["run", "a.vdb", "--dry-run"]).run().unwrap().expect_code(0);
    }
}

#[test]
fn a_flag_after_plus_is_refused() {
    let scratch = Scratch::new();
    scratch.write("a.vdb", "sd=sd1,lun=target,size=1m\nwd=wd1,sd=sd1,rdpct=0\nrd=rd1,wd=wd1,iorate=9,elapsed=2\n");
    scratch.write("a.fio", "[a]\nfilename=target\nsize=1m\nrw=write\n");
    let refused = |arguments: &[&str], why: &str| {
        let output = scratch.iodyno(&[&["run"], arguments, &["--dry-run"]].concat()).run().unwrap().expect_code(2);
        assert!(output.stderr.contains(why), "{arguments:?}: {}", output.stderr);
        assert!(!scratch.path("target").exists() && output.stdout.is_empty(), "{arguments:?}: {}", output.stdout);
    };
    for addition in ["elapsed=3", "startcmd=\"echo hi\"", "fail_if=\"errors > 0\""] {
        refused(&["a.vdb", "+", addition], "found `--dry-run`");
        refused(&["a.vdb", &format!("+{addition}")], "put flags before it");
        refused(&["a.fio", "+", addition], "`+` adds to rd=");
    }
    refused(&["a.vdb", "+", "# nothing"], "a comment");
    let quoted = ["run", "a.vdb", "--dry-run", "+", "startcmd=\"echo hi\"", "elapsed=3"];
    let output = scratch.iodyno(&quoted).run().unwrap().expect_code(0);
    assert!(output.stdout.contains("elapsed=3"), "{}", output.stdout);
}

#[test]
fn names_of_vdbenchs_utilities_say_what_to_use() {
    let scratch = Scratch::new();
    for (word, part) in [
        ("sds", "lsblk"),
        ("print", "xxd -s"),
        ("parse", "iodyno export"),
        ("parseflat", "iodyno query"),
        ("showlba", "iodyno trace"),
        ("csim", "compratio="),
        ("dsim", "dedupratio="),
        ("printjournal", "iodyno verify"),
        ("dvpost", "iodyno inspect"),
        ("edit", "--dry-run"),
        ("jstack", "probe stacks"),
        ("jmap", "no Java machine"),
        ("rsh", "not built yet"),
        ("SlaveJvm", "one process"),
        ("kill", "end_vdbench"),
    ] {
        let output = scratch.iodyno(&[word, "x"]).run().unwrap().expect_code(2);
        assert!(output.stderr.contains(part), "{word}: {}", output.stderr);
    }
}

#[test]
fn flags_of_vdbench_are_taken_or_named() {
    let scratch = Scratch::new();
    let file = scratch.path("job.vdb");
    let text = "sd=sd1,lun=/tmp/never,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9\nrd=rd2,wd=wd1,iorate=9\n";
    std::fs::write(&file, text).unwrap();
    let run = |flags: &str| {
        let words: Vec<&str> = ["run", file.to_str().unwrap(), "-s"].into_iter().chain(flags.split(' ')).collect();
        let output = scratch.iodyno(&words).run().unwrap();
        (output.code, output.stdout + &output.stderr)
    };
    let (code, said) = run("-e5 -i1 -r rd2");
    assert!(code == Some(0) && !said.contains("RD=rd1;") && said.contains("1 of the runs are left out"), "{said}");
    assert_eq!(run("-rrd2").0, Some(0));
    assert_eq!(run("-r rd7").0, Some(2));
    let (code, said) = run("-mb -m 2 -k -p 5570 -d 27 -cy");
    assert_eq!(code, Some(0), "{said}");
    for flag in ["-mb", "-m 2", "-k", "-p 5570", "-d 27", "-cy"] {
        assert!(said.contains(&format!("iodyno: {flag} has no effect here")), "{flag}: {said}");
    }
}

/// A length of 0 or of a nanosecond is one that nothing can keep: the run never ended.
#[test]
fn an_interval_that_is_too_short_is_refused_by_every_command_in_one_sentence() {
    let scratch = Scratch::new();
    scratch.write("job.vdb", "sd=sd1,lun=img,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9,elapsed=1,interval=1\n");
    scratch.write("job.fio", "[a]\nfilename=img\nsize=1m\nrw=read\nruntime=1\n");
    scratch.write("trace.csv", "128166372000000000,host,0,Read,0,4096,1000\n");
    scratch.write("vmstat.txt", "procs\n");
    std::fs::write(scratch.path("img"), vec![7; 1 << 20]).unwrap();
    let ten = ["0", "0s", "0.0", "0ms", "1ns", "1us", "5ms", "0.009"];
    let hundred = ["0", "99ms"];
    for (line, what, least, lengths) in [
        ("run job.vdb -o out -i", "-i", "10ms", &ten[..]),
        ("run job.vdb -s -i", "-i", "10ms", &ten[..2]),
        ("run job.vdb --dry-run -i", "-i", "10ms", &ten[..2]),
        ("run job.vdb --dry-run --interval", "-i", "10ms", &ten[..2]),
        ("run job.fio -o out -i", "-i", "10ms", &ten[..2]),
        ("ab job.vdb --a x=1 --b x=2 -e 1 -o out -i", "-i", "10ms", &ten),
        ("ab job.vdb --a x=1 --b x=2 -e 1 --dry-run -i", "-i", "10ms", &ten[..2]),
        ("replay trace.csv --map *=img --buffered -o out -i", "-i", "10ms", &ten),
        ("replay trace.csv --map *=img --buffered --dry-run -i", "-i", "10ms", &ten[..2]),
        ("record --for 1s -o out -i", "-i", "10ms", &ten),
        ("record --for 1s -d out -i", "-i", "10ms", &ten[..2]),
        ("import vmstat.txt -o out --interval", "--interval", "10ms", &ten[..2]),
        ("stat cpu", "interval", "10ms", &ten),
        ("probe io", "interval", "100ms", &hundred),
        ("top --once --interval", "--interval", "100ms", &hundred),
    ] {
        for length in lengths {
            let words: Vec<&str> = line.split(' ').chain([*length]).collect();
            let output = scratch.iodyno(&words).limit(std::time::Duration::from_secs(20)).run().unwrap();
            let sentence = format!("{what} {length} is too short; {least} is the least");
            assert!(output.code == Some(2) && output.stderr.contains(&sentence), "{line} {length}: {}", output.stderr);
            assert!(!scratch.path("out").exists(), "{line} {length}");
        }
    }
}
