//! Commands as load: what the command line takes, what a dry run shows, and whose commands are asked for.

use crate::support::Scratch;
use serde_json::Value;
use testkit::TestCommand;

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

const MAIL: &str = "sd=sd1,lun=/var/tmp/iodyno-no-such-file,size=16m\nwd=wd1,sd=sd1\n\
    rd=mail,wd=wd1,iorate=100,elapsed=60,interval=1,at=(15,30,45),cmd=\"rsync --delete -a /mail /copy\",prepare=\"sync\"\n";

#[test]
fn a_dry_run_shows_commands_and_when_they_are_executed() {
    let scratch = Scratch::new();
    let file = scratch.write("a.vdb", MAIL);
    let output = scratch.iodyno(&["run", file.to_str().unwrap(), "--dry-run"]).run().unwrap().expect_code(0);
    for line in [
        "    rsync at 15, 30, 45 s, baseline 1, with your rights: rsync --delete -a /mail /copy",
        "      command before each execution, with your rights: sync",
    ] {
        assert!(output.stdout.lines().any(|other| other == line), "{}", output.stdout);
    }
    assert!(output.stdout.contains("\n2 commands with the rights of "), "{}", output.stdout);
    assert!(output.stdout.contains(": no flag is needed"), "{}", output.stdout);
}

#[test]
fn a_command_of_the_command_line_is_a_plan_for_programs_too() {
    let scratch = Scratch::new();
    let words = ["run", "--dry-run", "--json", "--times", "5", "--warmups", "1", "--vary", "threads=1,2", "--prepare"];
    let all = words.iter().chain(&["sync", "-e", "1", "--name", "ssl", "--", "openssl", "-multi", "{threads}", "-t1"]);
    let all: Vec<&str> = all.copied().collect();
    let output = scratch.iodyno(&all).run().unwrap().expect_code(0);
    let object: Value = serde_json::from_str(&output.stdout).unwrap();
    let runs = object["plan"]["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &object["duration_ns"]), (2, &Value::from(2_000_000_000_u64)));
    assert_eq!(runs[1]["title"], "ssl");
    let load = &runs[1]["workloads"][0]["load"]["Command"];
    assert_eq!(load["line"]["Program"], serde_json::json!(["openssl", "-multi", "2", "-t1"]));
    assert_eq!((&load["executions"], &load["warmups"]), (&Value::from(5), &Value::from(1)));
    let people = scratch.iodyno(&["run", "-s", "--", "ls", "a b"]).run().unwrap().expect_code(0);
    assert!(people.stdout.contains("    ls once, with your rights: ls 'a b'\n"), "{}", people.stdout);
    assert!(people.stdout.contains("ends with its commands"), "{}", people.stdout);
}

#[test]
fn mistakes_have_a_sentence_that_says_what_to_do() {
    let scratch = Scratch::new();
    scratch.write("only.vdb", "rd=a,cmd=\"touch ran\"\n");
    for (words, sentence) in [
        ("run --times 5", "write it behind `--`"),
        ("run --setup x a.vdb", "startcmd=(\"LINE\",abort) belongs to an rd="),
        ("run --ignore-failure a.vdb", "ends with 0"),
        ("run --vary x=1 a.vdb", "vary=(NAME,V1,V2) belongs to the cmd= of an rd="),
        ("run a.vdb -- ls", "give either files or a command"),
        ("run -w 5 -- ls", "--warmups N"),
        ("run --rw read -- ls", "--rw is an option of fio's"),
        ("run -t -- ls", "-t beside a command"),
        ("run --flatfile -- ls", "--flatfile beside a command"),
        ("run ls /", "iodyno run -- ls / …"),
        ("run --vary x -- ls", "write --vary x=1,2,4"),
        ("run --vary x=1 -- ls", "write {x} in the command"),
        ("run --vary x=1,1 -- ls {x}", "list each once"),
        ("run --vary x=1 --vary x=2 -- ls {x}", "given twice"),
        ("run --vary =1 -- ls {x}", "the variable has no name"),
        ("run -e 1 -i 1 -- ls", "raise it, or lower -i"),
        ("run --fail-if errors>0 -- ls", "a failed execution ends with exit code 3"),
        ("run --output-format json -- ls", "fio's outputs"),
        ("run --flatfile only.vdb", "--flatfile is of I/O"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let output = scratch.iodyno(&words).run().unwrap().expect_code(2);
        assert!(output.stderr.contains(sentence), "{words:?}: {}", output.stderr);
    }
    assert!(!scratch.path("ran").exists());
}

#[test]
fn a_file_that_is_a_pipe_is_read_once() {
    let scratch = Scratch::new();
    for text in ["rd=a,cmd=\"true\"", "[a]\nfilename=x\nsize=1m\nrw=read\nnumber_ios=1"] {
        let line = format!("printf '{text}\\n' | '{IODYNO}' run /dev/stdin --dry-run");
        let shown = TestCommand::new("sh").args(["-c", &line]).dir(scratch.path("")).run().unwrap();
        shown.expect_code(0);
    }
}

#[test]
fn commands_of_a_file_that_all_can_write_to_are_asked_for() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new();
    let file = scratch.write("a.vdb", "rd=a,cmd=\"touch made\"\n");
    let open = |mode: u32| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    open(0o666);
    refused(&scratch, "a.vdb", "every user can write to a.vdb");
    open(0o644);
    let output = scratch.iodyno(&["run", "a.vdb", "-s"]).run().unwrap().expect_code(0);
    assert!(output.stdout.contains("no flag is needed"), "{}", output.stdout);
}

/// Refused, and a dry run says so; allowed by the flag.
fn refused(scratch: &Scratch, file: &str, reason: &str) {
    let output = scratch.iodyno(&["run", file, "-o", "r"]).run().unwrap().expect_code(7);
    for part in [reason, "touch made", "--allow-commands"] {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }
    assert!(!scratch.path("made").exists() && !scratch.path("r").exists());
    let dry = scratch.iodyno(&["run", file, "-s"]).run().unwrap().expect_code(7);
    assert!(dry.stdout.contains(&format!("WOULD BE REFUSED without --allow-commands: {reason}")), "{}", dry.stdout);
    let json = scratch.iodyno(&["run", file, "-s", "--json"]).run().unwrap().expect_code(7);
    let object: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&object["refused"], object["obstacles"].as_array().map(Vec::len)), (&Value::from(true), Some(1)));
    let allowed = scratch.iodyno(&["run", file, "-s", "--allow-commands"]).run().unwrap().expect_code(0);
    assert!(allowed.stdout.contains("--allow-commands allows them"), "{}", allowed.stdout);
}

#[test]
fn commands_of_others_are_asked_for() {
    let scratch = Scratch::new();
    let other = if rustix::process::geteuid().is_root() { 12_345 } else { 0 };
    let texts = [
        ("cmd.vdb", "rd=a,cmd=\"touch made\"\n"),
        ("prepare.vdb", "rd=a,cmd=\"true\",prepare=\"touch made\"\n"),
        ("start.vdb", "startcmd=\"touch made\"\nrd=a,cmd=\"true\"\n"),
        ("job.fio", "[a]\nfilename=x\nsize=1m\nrw=read\nexec_prerun=touch made\n"),
        ("vary.vdb", "rd=default,vary=(n,\"touch made\")\n"),
    ];
    for (name, text) in texts {
        let file = scratch.write(name, text);
        if std::os::unix::fs::chown(&file, Some(other), None).is_err() {
            println!("SKIPPED: only root can give a file to another user");
            return;
        }
    }
    let whose = |name: &str| format!("{name} belongs to user {other}, not to ");
    for (name, _) in &texts[..4] {
        refused(&scratch, name, &whose(name));
    }
    // Of files that are included, too, whatever they say.
    scratch.write("own.vdb", "include=vary.vdb\nrd=a,cmd=\"{n}\"\n");
    refused(&scratch, "own.vdb", &whose("vary.vdb"));
    let both = ["ab", "cmd.vdb", "start.vdb", "-o", "ab", "--rounds", "4", "-e", "2"];
    let output = scratch.iodyno(&both).run().unwrap().expect_code(7);
    assert!(output.stderr.contains(&whose("cmd.vdb")), "{}", output.stderr);
    let dry = scratch.iodyno(&["ab", "cmd.vdb", "start.vdb", "-s", "-e", "2"]).run().unwrap().expect_code(7);
    assert!(dry.stdout.contains("WOULD BE REFUSED without --allow-commands"), "{}", dry.stdout);
    // Standard input is the user's own; a file without commands asks for nothing.
    scratch.write("plain.vdb", "sd=sd1,lun=x,size=1m\nwd=wd1,sd=sd1\nrd=a,wd=wd1,iorate=max\n");
    std::os::unix::fs::chown(scratch.path("plain.vdb"), Some(other), None).unwrap();
    scratch.iodyno(&["run", "plain.vdb", "-s"]).run().unwrap().expect_code(0);
}
