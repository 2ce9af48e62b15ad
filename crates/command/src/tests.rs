//! Executions of real programs.

use super::*;
use plan::CommandLine;
use quantity::clock;
use std::cell::Cell;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

const S: u64 = 1_000_000_000;

fn sh(line: &str) -> CommandLine {
    CommandLine::Shell(line.to_string())
}

fn program(words: &[&str]) -> CommandLine {
    CommandLine::Program(words.iter().map(ToString::to_string).collect())
}

/// Held for writing by an execution that is to be the only one.
static ONE_OF_MANY: RwLock<()> = RwLock::new(());

fn run(line: &CommandLine) -> ExecutedCommand {
    let _others = ONE_OF_MANY.read().unwrap_or_else(PoisonError::into_inner);
    execute(line, None, &|| StopOrder::GoOn)
}

/// Executes it and stops it after `after_ns`.
fn stop(line: &CommandLine, after_ns: u64, order: StopOrder) -> ExecutedCommand {
    let _others = ONE_OF_MANY.read().unwrap_or_else(PoisonError::into_inner);
    let until_ns = clock::now_ns() + after_ns;
    execute(line, None, &|| if clock::now_ns() < until_ns { StopOrder::GoOn } else { order })
}

fn real_ns(done: &ExecutedCommand) -> u64 {
    done.end_ns - done.start_ns.expect("started")
}

fn text(done: &ExecutedCommand) -> String {
    String::from_utf8_lossy(done.output.head()).trim().to_string()
}

/// Is the process with this number alive?
fn lives(pid: &str) -> bool {
    assert!(pid.parse::<i32>().is_ok(), "{pid:?}");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn programs_end_with_their_exit_code_or_signal() {
    assert_eq!(run(&program(&["true"])).end, CommandEnd::Exited(0));
    assert_eq!(run(&program(&["/bin/false"])).end, CommandEnd::Exited(1));
    let killed = run(&sh("kill -9 $$"));
    assert_eq!(killed.end, CommandEnd::Signalled(9));
    assert!(killed.end.is_failure() && killed.usage.is_some());
    let slept = run(&program(&["sleep", "0.2"]));
    assert!(real_ns(&slept) >= S / 5, "{slept:?}");
    assert_eq!((slept.left_behind, slept.error.as_str()), (0, ""));
}

#[test]
fn one_that_cannot_be_started_is_named() {
    let missing = run(&program(&["no-such-program-of-iodyno", "x"]));
    assert_eq!((missing.end, missing.start_ns), (CommandEnd::NotStarted, None));
    assert_eq!(missing.error, "no-such-program-of-iodyno was not found in PATH");
    assert_eq!(run(&program(&["/nowhere/x"])).error, "/nowhere/x does not exist");
    assert_eq!(run(&program(&["/tmp"])).error, "/tmp is a directory, not a program");
    assert!(run(&program(&["/etc/passwd"])).error.starts_with("/etc/passwd may not be executed by this user"));
    assert_eq!(run(&program(&[])).error, "the command line names no program");
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("script");
    std::fs::write(&script, "#!/no/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let name = script.to_str().unwrap();
    assert!(run(&program(&[name])).error.contains("interpreter"));
    // The shell itself starts, and says so with its exit code.
    assert_eq!(run(&sh("no-such-program-of-iodyno")).end, CommandEnd::Exited(127));
}

#[test]
fn what_it_used_is_known() {
    let place = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
    let file = place.path().join("f");
    let line = format!(
        "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; dd if=/dev/zero of={} bs=1M count=8 conv=fsync",
        file.display()
    );
    let usage = run(&sh(&line)).usage.expect("it ended");
    assert!(usage.user_ns > 0 && usage.minor_faults > 0, "{usage:?}");
    // dd is a child that the shell waited for.
    let io = usage.io.expect("the kernel counts it");
    assert!(io.read_call_bytes >= 8 << 20 && io.write_call_bytes >= 8 << 20, "{io:?}");
}

#[test]
fn memory_is_the_programs_own_or_not_known() {
    let memory = |words: &[&str]| run(&program(words)).usage.expect("it ended").max_rss_bytes;
    // This process has more than that, and its memory counts as the program's until the program has its own.
    assert_eq!(memory(&["true"]), None);
    let much = memory(&["dd", "if=/dev/zero", "of=/dev/null", "bs=512M", "count=1"]);
    assert!(much.is_some_and(|bytes| (512 << 20..600 << 20).contains(&bytes)), "{much:?}");
}

#[test]
fn output_is_kept_at_both_ends_and_never_waited_for() {
    let spoken = run(&sh("echo out; echo err >&2"));
    assert_eq!(text(&spoken), "out\nerr");
    let piped = run(&sh("yes | head -3"));
    assert_eq!((piped.end, text(&piped).as_str()), (CommandEnd::Exited(0), "y\ny\ny"));
    let full = run(&sh("head -c 100000000 /dev/zero; echo end"));
    assert_eq!((full.end, full.output.bytes()), (CommandEnd::Exited(0), 100_000_004));
    assert_eq!((full.output.head().len(), full.output.tail().len()), (KEPT_BYTES, KEPT_BYTES));
    assert!(full.output.tail().ends_with(b"end\n"));
    // One that closes its output goes on.
    let closed = run(&sh("exec >&- 2>&-; sleep 0.2; exit 7"));
    assert_eq!(closed.end, CommandEnd::Exited(7));
    assert!(closed.usage.unwrap().user_ns < S / 5, "waited without rest");
    // Nothing can be read from standard input.
    assert_eq!(run(&sh("cat")).output.bytes(), 0);
}

#[test]
fn what_it_left_behind_is_ended_and_counted() {
    let began_ns = clock::now_ns();
    let left = run(&sh("sleep 1000 & echo $!"));
    assert_eq!((left.end, left.left_behind), (CommandEnd::Exited(0), 1));
    assert!(!lives(&text(&left)));
    assert!(real_ns(&left) < 100 * S && clock::now_ns() - began_ns < 100 * S);
    // In a session of its own.
    let away = run(&sh("setsid sleep 1000 & echo $!"));
    assert_eq!((away.end, away.left_behind), (CommandEnd::Exited(0), 1), "{away:?}");
    assert!(!lives(&text(&away)));
    // With an environment of its own, twice removed, and one that refuses to end: known where no other command is executed.
    let alone = ONE_OF_MANY.write().unwrap_or_else(PoisonError::into_inner);
    let hidden = execute(
        &sh("setsid env -i sh -c 'trap \"\" TERM; sleep 1000 & sleep 1001 & echo $! >&2; wait' & sleep 0.3"),
        None,
        &|| StopOrder::GoOn,
    );
    drop(alone);
    assert!(hidden.left_behind >= 3, "{hidden:?}");
    assert!(!lives(&text(&hidden)));
    assert_eq!(hidden.error, "");
}

#[test]
fn children_of_this_process_are_left_alone() {
    let mut own = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let left = run(&sh("sleep 1000 & true"));
    assert_eq!(left.left_behind, 1);
    assert!(own.try_wait().unwrap().is_none());
    own.kill().unwrap();
    own.wait().unwrap();
}

#[test]
fn two_at_a_time_do_not_end_each_other() {
    let one = std::thread::spawn(|| run(&sh("setsid sleep 1 & sleep 1; kill -0 $!; echo $?; sleep 1000 &")));
    for _ in 0..10 {
        assert_eq!(run(&sh("setsid sleep 1000 & true")).left_behind, 1);
    }
    let one = one.join().unwrap();
    assert_eq!((one.end, one.left_behind >= 1), (CommandEnd::Exited(0), true), "{one:?}");
}

#[test]
fn a_stop_ends_the_whole_group() {
    let stopped = stop(&sh("sleep 1000 & echo $!; sleep 1001"), S / 5, StopOrder::Stop);
    assert_eq!(stopped.end, CommandEnd::Stopped { code: None, signal: Some(15) });
    // The group was ended with it: nothing was left behind.
    assert_eq!(stopped.left_behind, 0);
    assert!(stopped.usage.is_some() && !stopped.end.is_failure());
    assert!(!lives(&text(&stopped)));
    assert!(real_ns(&stopped) >= S / 5 - S / 100);
    // One that has a last word.
    let polite = stop(&sh("trap 'echo bye; exit 3' TERM; while :; do sleep 0.01; done"), S / 5, StopOrder::Stop);
    assert_eq!(polite.end, CommandEnd::Stopped { code: Some(3), signal: None });
    assert!(text(&polite).ends_with("bye"), "{polite:?}");
}

#[test]
fn one_that_refuses_to_end_is_killed() {
    let deaf = stop(&sh("trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1; done"), S / 5, StopOrder::Stop);
    assert_eq!(deaf.end, CommandEnd::Stopped { code: None, signal: Some(9) });
    assert!(!lives(&text(&deaf)));
    assert!(real_ns(&deaf) >= STOPPED_NS, "{deaf:?}");
    let halted = stop(&sh("trap '' TERM; kill -STOP $$"), S / 5, StopOrder::StopNow);
    assert_eq!(halted.end, CommandEnd::Stopped { code: None, signal: Some(9) });
    assert!(real_ns(&halted) < 100 * S);
}

/// A stop is refused for so long.
const STOPPED_NS: u64 = 2 * S;

#[test]
fn what_prepares_it_is_outside_of_its_time() {
    let _others = ONE_OF_MANY.read().unwrap_or_else(PoisonError::into_inner);
    let place = tempfile::tempdir().unwrap();
    let made = place.path().join("made");
    let prepare = sh(&format!("sleep 0.3; touch {}", made.display()));
    let began_ns = clock::now_ns();
    let done = execute(&program(&["ls", made.to_str().unwrap()]), Some(&prepare), &|| StopOrder::GoOn);
    assert_eq!(done.end, CommandEnd::Exited(0));
    assert!(done.start_ns.unwrap() >= began_ns + 3 * S / 10);
    let failed = execute(&program(&["true"]), Some(&sh("echo why; exit 3")), &|| StopOrder::GoOn);
    assert_eq!((failed.end, text(&failed).as_str()), (CommandEnd::NotStarted, "why"));
    assert_eq!(failed.error, "what prepares it (`echo why; exit 3`) ended with exit code 3");
    // A run that is over while it is prepared starts nothing.
    let asked = Cell::new(0);
    let order = || if asked.replace(asked.get() + 1) < 1 { StopOrder::GoOn } else { StopOrder::Stop };
    let late = execute(&sh(&format!("rm {}", made.display())), Some(&sh("sleep 1000")), &order);
    assert_eq!((late.end, late.start_ns), (CommandEnd::Waiting, None));
    assert!(Path::new(&made).exists());
}

#[test]
#[ignore = "times: make exam"]
fn an_execution_costs_less_than_a_millisecond_of_ours() {
    let line = program(&["true"]);
    let mut times: Vec<u64> = (0..200)
        .map(|_| {
            let before_ns = clock::now_ns();
            let done = run(&line);
            (clock::now_ns() - before_ns) - real_ns(&done)
        })
        .collect();
    times.sort_unstable();
    assert!(times[100] < S / 1000, "median {} ns", times[100]);
}
