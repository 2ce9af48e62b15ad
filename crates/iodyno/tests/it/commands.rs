//! Commands as load: executed alone, at moments beside a load, stopped with the run; through the library, as the language has
//! words for them of its own tests.

use crate::support::{Scratch, table_of};
use monitor::StopFlag;
use params::{DiskLoader, VdbenchOptions};
use plan::{CommandLine, CommandLoad, OfferedRate, Plan, TextSpan, Workload};
use rustix::process::Signal;
use session::{CommandEnding, CommandOutcome, EngineChoice, RunRequest};
use std::path::Path;
use std::time::Duration;
use testkit::MountedFileSystem;

const S: u64 = 1_000_000_000;

fn load(line: &str) -> CommandLoad {
    CommandLoad {
        line: CommandLine::Shell(line.to_string()),
        prepare: None,
        warmups: 0,
        executions: Some(1),
        at_ns: Vec::new(),
        ignores_failure: false,
        baselines: 0,
    }
}

fn of_commands(name: &str, load: CommandLoad) -> Workload {
    Workload::of_commands(name.to_string(), load, TextSpan::default())
}

/// A run of 3 s on a file, at 100 operations a second.
fn plan(scratch: &Scratch) -> Plan {
    let file = scratch.path("data");
    let text = format!(
        "sd=sd1,lun={},size=4m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=100,elapsed=3,interval=1\n",
        file.display()
    );
    let path = scratch.write("a.vdb", &text);
    let reading = params::read_vdbench(&[path], &VdbenchOptions::default(), &DiskLoader);
    reading.plan.expect("a plan")
}

/// The same without its block load.
fn alone(scratch: &Scratch, workloads: Vec<Workload>) -> Plan {
    let mut plan = plan(scratch);
    let run = &mut plan.runs[0];
    (run.workloads, run.elapsed_ns, run.rate) = (workloads, None, OfferedRate::Max);
    plan
}

fn execute(scratch: &Scratch, plan: Plan, stop: &StopFlag) -> CommandOutcome {
    let request = RunRequest {
        plan,
        directory: scratch.path("r"),
        policy: target::WritePolicy::default(),
        engine: EngineChoice::Auto,
        workers: None,
        command_line: vec!["iodyno".to_string()],
        counters: false,
        report: true,
        flatfile: false,
        jobs: plan::JobTexts::default(),
        half_round: None,
        status_ns: None,
    };
    let outcome = session::execute(&request, &mut session::error_face(), stop).expect("it takes place");
    session::last_words(&outcome).expect("a recording");
    outcome
}

fn rows(scratch: &Scratch) -> Vec<serde_json::Value> {
    table_of(&scratch.path("r"), "command")
}

#[test]
fn commands_alone_are_executed_as_often_as_asked_and_end_the_run() {
    let scratch = Scratch::new();
    let asked = CommandLoad { warmups: 1, executions: Some(3), ..load("echo said; head -c 1000000 /dev/zero | wc -c") };
    let outcome = execute(&scratch, alone(&scratch, vec![of_commands("wc", asked)]), &StopFlag::default());
    assert_eq!((outcome.ending, outcome.messages.as_slice()), (CommandEnding::Fine, &[][..]));
    let rows = rows(&scratch);
    let kinds: Vec<(&str, i64)> =
        rows.iter().map(|row| (row["phase"].as_str().unwrap(), row["number"].as_i64().unwrap())).collect();
    assert_eq!(kinds, [("warmup", 1), ("measure", 1), ("measure", 2), ("measure", 3)]);
    for row in &rows {
        assert_eq!((row["ending"].as_str(), row["exit_code"].as_i64()), (Some("exited"), Some(0)), "{row}");
        assert_eq!((row["workload"].as_str(), row["output_bytes"].as_i64()), (Some("wc"), Some(13)));
        assert!(row["real_ns"].as_i64().unwrap() > 0 && row["minor_faults"].as_i64().unwrap() > 0, "{row}");
    }
    assert!(table_of(&scratch.path("r"), "op_interval").is_empty());
    let log = std::fs::read_to_string(scratch.path("r").join("commands.log")).unwrap();
    assert_eq!(log.matches("said\n1000000\n").count(), 4, "{log}");
}

#[test]
fn failures_are_named_and_the_runs_behind_them_take_place() {
    let scratch = Scratch::new();
    let missing = CommandLine::Program(vec!["no-such-program-of-iodyno".to_string()]);
    let workloads = vec![
        of_commands("sh", CommandLoad { executions: Some(2), ..load("echo why >&2; exit 3") }),
        of_commands("sh 2", load("kill -9 $$")),
        of_commands("none", CommandLoad { line: missing, ..load("") }),
    ];
    let mut plan = alone(&scratch, workloads);
    let mut second = plan.runs[0].clone();
    (second.name, second.title) = ("rd2".to_string(), "rd2".to_string());
    second.workloads = vec![of_commands("true", load("true"))];
    plan.runs.push(second);
    let outcome = execute(&scratch, plan, &StopFlag::default());
    assert_eq!(outcome.ending, CommandEnding::TargetFailed);
    let all = outcome.messages.join("\n");
    for part in
        ["rd1: sh, execution 2, ended with exit code 3 after", ": why", "rd1: sh 2, execution 1, was ended by signal 9"]
    {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(
        all.contains("rd1: none, execution 1, did not start: no-such-program-of-iodyno was not found in PATH"),
        "{all}"
    );
    let rows = rows(&scratch);
    assert_eq!(rows.len(), 5);
    assert_eq!((rows[4]["run"].as_str(), rows[4]["exit_code"].as_i64()), (Some("rd2"), Some(0)));
}

#[test]
fn an_exit_code_that_is_to_be_ignored_counts_and_a_setup_is_done_once_for_each_run() {
    let scratch = Scratch::new();
    let setup = "echo {n} >> setups";
    let words =
        ["run", "-o", "r", "--json", "--times", "3", "--vary", "n=1,2", "--setup", setup, "--ignore-failure", "--"];
    let of = |line: &str| scratch.iodyno(&[&words[..], &["sh", "-c", line]].concat()).run().unwrap();
    let shown = of("cat setups; exit {n}").expect_code(0).ndjson();
    let counted = shown.iter().filter(|line| line["schema"] == "iodyno.command/1" && line["counts"] == true);
    assert_eq!(counted.count(), 6, "{shown:?}");
    assert_eq!(std::fs::read_to_string(scratch.path("setups")).unwrap(), "1\n2\n");
    let all = rows(&scratch);
    let said: Vec<_> = all.iter().map(|row| (row["ending"].as_str().unwrap(), row["exit_code"].as_i64())).collect();
    let accepted = |code| [("accepted", Some(code)); 3];
    assert_eq!(said, [accepted(1), accepted(2)].concat());
    // No condition can judge it: what to do is said.
    for words in [&["check", "r"][..], &["check", "r", "--fail-if", "errors > 0"]] {
        let unjudged = scratch.iodyno(words).run().unwrap().expect_code(2);
        let help = "r: conditions (--fail-if) judge I/O, and there are commands only";
        assert!(unjudged.stderr.contains(help) && unjudged.stderr.contains("`iodyno compare`"), "{}", unjudged.stderr);
    }
    let page = std::fs::read_to_string(scratch.path("r/report.html")).unwrap();
    assert!(page.contains("or with another one that was to be ignored"), "the page says which executions count");
    // A signal is no exit code.
    std::fs::remove_dir_all(scratch.path("r")).unwrap();
    of("kill -9 $$ # {n}").expect_code(3);
    assert!(rows(&scratch).iter().all(|row| row["ending"] == "signalled"));
    // Without its setup nothing is measured.
    let failing = ["run", "-o", "none", "--setup", "exit 7", "--", "touch", "ran"];
    let failed = scratch.iodyno(&failing).run().unwrap().expect_code(3);
    let why = "--setup: `exit 7` ended with exit code 7, so nothing was measured; its output is in commands.log";
    assert!(failed.stderr.contains(why) && !scratch.path("ran").exists(), "{}", failed.stderr);
}

#[test]
fn commands_at_moments_have_a_baseline_and_count_in_no_figure_of_the_load() {
    let scratch = Scratch::new();
    let mut plan = plan(&scratch);
    let timed = CommandLoad { executions: None, at_ns: vec![S / 2, 3 * S / 2], baselines: 2, ..load("sleep 0.1") };
    plan.runs[0].workloads.push(of_commands("sleep", timed));
    let outcome = execute(&scratch, plan, &StopFlag::default());
    assert_eq!(outcome.ending, CommandEnding::Fine, "{:?}", outcome.messages);
    let rows = rows(&scratch);
    let phases: Vec<&str> = rows.iter().map(|row| row["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["baseline", "baseline", "measure", "measure"]);
    let starts = table_of(&scratch.path("r"), "phase");
    let measure = starts.iter().find(|row| row["phase"] == "measure" && row["event"] == "start").unwrap();
    let due = |row: &serde_json::Value| row["due_t_ns"].as_i64().unwrap();
    assert_eq!(due(&rows[3]) - due(&rows[2]), i64::try_from(S).unwrap());
    // The phase is written a moment after it began.
    assert!((due(&rows[2]) - measure["t_ns"].as_i64().unwrap()).unsigned_abs() < S, "{rows:?} {measure}");
    for row in &rows[2..] {
        assert!(row["start_t_ns"].as_i64().unwrap() >= due(row));
        assert!(row["real_ns"].as_i64().unwrap() >= 100_000_000);
    }
    let totals = table_of(&scratch.path("r"), "run_total");
    let measured = totals.iter().filter(|row| row["phase"] == "measure");
    assert!(measured.clone().count() == 1 && measured.clone().all(|row| row["op"] == "read"), "{totals:?}");
}

#[test]
fn a_baseline_that_hangs_is_stopped_and_the_load_takes_place() {
    let scratch = Scratch::new();
    let mut plan = plan(&scratch);
    plan.runs[0].elapsed_ns = Some(S);
    let hangs = CommandLoad { at_ns: vec![0], executions: None, baselines: 1, ..load("sleep 1000") };
    plan.runs[0].workloads.push(of_commands("hangs", hangs));
    let outcome = execute(&scratch, plan, &StopFlag::default());
    let rows = rows(&scratch);
    let endings: Vec<_> =
        rows.iter().map(|row| (row["phase"].as_str().unwrap(), row["ending"].as_str().unwrap())).collect();
    assert_eq!(endings, [("baseline", "stopped"), ("measure", "stopped")]);
    assert!(outcome.messages.iter().any(|said| said.contains("the whole time of the run")), "{:?}", outcome.messages);
    assert!(!table_of(&scratch.path("r"), "run_total").is_empty());
}

#[test]
fn what_does_not_end_is_stopped_with_the_run_and_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let mut plan = plan(&scratch);
    let hangs = CommandLoad { at_ns: vec![0, S], executions: None, ..load("sleep 1000 & echo $!; sleep 1001") };
    plan.runs[0].workloads.push(of_commands("hangs", hangs));
    let outcome = execute(&scratch, plan, &StopFlag::default());
    // No execution came to its end: nothing was measured.
    assert_eq!(outcome.ending, CommandEnding::TargetFailed, "{:?}", outcome.messages);
    let rows = rows(&scratch);
    let endings: Vec<&str> = rows.iter().map(|row| row["ending"].as_str().unwrap()).collect();
    assert_eq!(endings, ["stopped", "waiting"]);
    assert!(outcome.messages.iter().any(|said| said.contains("hangs, execution 1, was stopped after")));
    let log = std::fs::read_to_string(scratch.path("r").join("commands.log")).unwrap();
    let pid = log.lines().nth(1).unwrap();
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{log}");
}

#[test]
fn what_waited_is_told_however_long_the_one_before_takes_to_end() {
    let scratch = Scratch::new();
    let mut plan = plan(&scratch);
    // Far longer than what was due before the end may still be handed over.
    let line = "trap 'sleep 0.6; exit 1' TERM; while :; do sleep 0.05; done";
    let slow = CommandLoad { at_ns: vec![0, S, S + 1], executions: None, ..load(line) };
    plan.runs[0].workloads.push(of_commands("slow", slow));
    let _ = execute(&scratch, plan, &StopFlag::default());
    let rows = rows(&scratch);
    let endings: Vec<&str> = rows.iter().map(|row| row["ending"].as_str().unwrap()).collect();
    assert_eq!(endings, ["stopped", "waiting", "waiting"]);
}

#[test]
fn an_interrupt_ends_the_command_and_keeps_the_results() {
    let scratch = Scratch::new();
    let stop = StopFlag::default();
    let own = stop.clone();
    let begun = scratch.path("begun");
    let line = format!("touch {}; sleep 1000", begun.display());
    let wait = std::thread::spawn(move || {
        while !begun.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        own.request();
    });
    let outcome = execute(&scratch, alone(&scratch, vec![of_commands("sleep", load(&line))]), &stop);
    wait.join().unwrap();
    assert_eq!(outcome.ending, CommandEnding::Interrupted);
    assert_eq!(rows(&scratch)[0]["ending"], "stopped");
}

/// Waits until the file has so many lines, each the number of a process.
fn numbers_in(path: &Path, count: usize) -> Vec<i32> {
    let end_ns = testkit::now_ns() + 60 * S;
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let numbers: Vec<i32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        if numbers.len() >= count && text.ends_with('\n') {
            return numbers;
        }
        assert!(testkit::now_ns() < end_ns, "{text:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until no process with this number lives.
fn wait_until_gone(number: i32) {
    let end_ns = testkit::now_ns() + 60 * S;
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    while lives() {
        assert!(testkit::now_ns() < end_ns, "process {number} still lives");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_command_ends_even_when_iodyno_is_killed() {
    let scratch = Scratch::new();
    let line = "echo $$ >pids; setsid sleep 1000 & echo $! >>pids; trap '' TERM; sleep 1001; sleep 1002";
    let running = scratch.iodyno(&["run", "-o", "r", "--", "sh", "-c", line]).spawn().unwrap();
    let numbers = numbers_in(&scratch.path("pids"), 2);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().unwrap().signal, Some(9));
    numbers.into_iter().for_each(wait_until_gone);
    // What was recorded can be read.
    scratch.iodyno(&["export", "r"]).run().unwrap().expect_code(0);
}

#[test]
fn an_executor_that_is_killed_is_named_and_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let line = "[ -e pids ] && exit; echo $PPID >pids; setsid sleep 1000 & echo $! >>pids; sleep 1001";
    let running = scratch.iodyno(&["run", "-o", "r", "--times", "2", "--", "sh", "-c", line]).spawn().unwrap();
    let numbers = numbers_in(&scratch.path("pids"), 2);
    rustix::process::kill_process(rustix::process::Pid::from_raw(numbers[0]).unwrap(), Signal::KILL).unwrap();
    let ended = running.wait().unwrap();
    wait_until_gone(numbers[1]);
    let rows = rows(&scratch);
    let endings: Vec<&str> = rows.iter().map(|row| row["ending"].as_str().unwrap()).collect();
    assert_eq!(endings, ["signalled", "exited"], "{ended:?}");
    assert!(rows[0]["error"].as_str().unwrap().contains("was ended from outside"), "{rows:?}");
    assert_ne!(ended.code, Some(0));
}

#[test]
fn a_program_has_no_terminal() {
    let scratch = Scratch::new();
    scratch
        .iodyno(&["run", "-o", "r", "--", "sh", "-c", "cut -d' ' -f6,7 /proc/$$/stat"])
        .run()
        .unwrap()
        .expect_code(0);
    let log = std::fs::read_to_string(scratch.path("r").join("commands.log")).unwrap();
    let (session, terminal) = log.lines().nth(1).and_then(|line| line.split_once(' ')).unwrap();
    // The session is neither that of iodyno nor one of a terminal.
    let own = rustix::process::getsid(None).unwrap().as_raw_nonzero().to_string();
    assert!(session != own && terminal == "0", "{log}");
}

#[test]
fn a_full_disk_costs_the_output_and_not_the_times() {
    let scratch = Scratch::new();
    let disk = MountedFileSystem::tmpfs(2 << 20).unwrap();
    let directory = disk.path().join("r");
    let place = directory.to_str().unwrap();
    let line = [
        "run",
        "-o",
        place,
        "--no-counters",
        "--no-report",
        "--times",
        "12",
        "--",
        "head",
        "-c",
        "400000",
        "/dev/zero",
    ];
    let ended = scratch.iodyno(&line).run().unwrap();
    assert!(ended.stderr.contains("what commands wrote is not kept any more"), "{ended:?}");
    let rows = table_of(&directory, "command");
    assert!(rows.len() == 12 && rows.iter().all(|row| row["exit_code"] == 0), "{rows:?}");
}

#[test]
fn an_executor_that_its_command_stops_does_not_hold_the_end() {
    let scratch = Scratch::new();
    let line = "echo $PPID >pids; kill -STOP $PPID; sleep 1000";
    let running = scratch.iodyno(&["run", "-o", "r", "--", "sh", "-c", line]).spawn().unwrap();
    let numbers = numbers_in(&scratch.path("pids"), 1);
    running.signal(Signal::INT);
    running.wait().unwrap().expect_code(130);
    wait_until_gone(numbers[0]);
    assert_eq!(rows(&scratch).len(), 1);
}

#[test]
fn the_memory_of_a_small_program_is_known() {
    let scratch = Scratch::new();
    let line = ["run", "-o", "r", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=12M", "count=1"];
    scratch.iodyno(&line).run().unwrap().expect_code(0);
    let bytes = rows(&scratch)[0]["max_rss_bytes"].as_i64().expect("known");
    assert!((12 << 20..20 << 20).contains(&bytes), "{bytes}");
}

#[test]
fn a_recorded_command_has_a_row() {
    let scratch = Scratch::new();
    let recorded = scratch.iodyno(&["record", "-o", "r", "--clock", "tick", "--", "sh", "-c", "exit 4"]).run().unwrap();
    recorded.expect_code(4);
    let rows = rows(&scratch);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0]["workload"].as_str(), rows[0]["line"].as_str()), (Some("sh"), Some("sh -c 'exit 4'")));
    assert_eq!((rows[0]["ending"].as_str(), rows[0]["exit_code"].as_i64()), (Some("exited"), Some(4)));
    assert!(rows[0]["real_ns"].as_i64().unwrap() > 0 && rows[0]["output_bytes"].is_null());
}

#[test]
#[ignore = "times: make exam"]
fn commands_start_within_10_ms_of_their_moments() {
    let scratch = Scratch::new();
    let mut plan = plan(&scratch);
    let at_ns = (1..10).map(|tenths| tenths * S / 4).collect();
    plan.runs[0].workloads.push(of_commands("true", CommandLoad { at_ns, executions: None, ..load("true") }));
    execute(&scratch, plan, &StopFlag::default());
    let late = |row: &serde_json::Value| row["start_t_ns"].as_i64().unwrap() - row["due_t_ns"].as_i64().unwrap();
    let late: Vec<i64> = rows(&scratch).iter().map(late).collect();
    println!("late by {late:?} ns");
    assert!(late.len() == 9 && late.iter().all(|late_ns| (0..10_000_000).contains(late_ns)), "{late:?}");
}
