//! CPU time by event beside that of the tick: what hides from the one is seen by the other.

use crate::support::Scratch;
use recording::Reader;
use recording::rows::RunQueue;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{CommandOutput, TestCommand};

/// The program that hides, compiled; `None` where it cannot be (or probes are not permitted), which is said.
fn hide(scratch: &Scratch) -> Option<PathBuf> {
    if !testkit::require_root_or_skip() {
        return None;
    }
    let source = format!("{}/../../fixtures/tools/hide.c", env!("CARGO_MANIFEST_DIR"));
    let program = scratch.path("iodyno-hide");
    let made = TestCommand::new("cc").args(["-O2", "-o", program.to_str().unwrap(), &source]).run();
    if made.is_err() {
        testkit::lacks("a C compiler");
        return None;
    }
    made.unwrap().expect_code(0);
    Some(program)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Growth of a counter between the second sample and the last but one, where the program is at its steady work, and the
/// time in between.
fn grown(rows: &[&Value], key: &str) -> (f64, f64) {
    let number = |row: &Value, key: &str| row[key].as_i64().unwrap_or_else(|| panic!("{key} in {row}")) as f64;
    let (from, to) = (rows[1], rows[rows.len() - 2]);
    (number(to, key) - number(from, key), number(to, "t_ns") - number(from, "t_ns"))
}

/// A recording of the program that hides: what the command said, the program's own duty, and that by event, %.
fn recorded(scratch: &Scratch, program: &Path, made: &str) -> (CommandOutput, f64, f64) {
    // Nice time on the tick's side is its own: no other process here is nice.
    let command = ["record", "-i", "500ms", "-o", made, "--", "nice", "-n", "19", program.to_str().unwrap(), "6", "1"];
    let ended = scratch.iodyno(&command).run().unwrap().expect_code(0);
    let duty: f64 = ended.stdout.trim().parse().unwrap();
    let rows = scratch.table(made, "process_event");
    let hidden: Vec<&Value> = rows.iter().filter(|row| row["comm"] == "iodyno-hide").collect();
    assert!(hidden.len() >= 8, "{hidden:?}");
    let (run_ns, passed_ns) = grown(&hidden, "run_ns");
    (ended, duty, 100.0 * run_ns / passed_ns)
}

#[test]
#[ignore = "times: make exam"]
fn what_hides_from_the_tick_is_seen_by_event() {
    // What the hypervisor steals is the program's by event, and not by its own clock.
    testkit::while_cpus_are_ours(once_what_hides_from_the_tick_is_seen_by_event);
}

fn once_what_hides_from_the_tick_is_seen_by_event() {
    let (_alone, scratch) = (testkit::alone(), Scratch::new());
    let Some(program) = hide(&scratch) else { return };
    let made = "made";
    let (ended, duty, event) = recorded(&scratch, &program, made);
    assert!((50.0..90.0).contains(&duty), "{duty} %: the program does not hide");
    assert!((event - duty).abs() <= 0.02 * duty, "{event} % by event, {duty} % by its own clock");
    let ticks = scratch.table(made, "cpu");
    let ticks: Vec<&Value> = ticks.iter().filter(|row| row["cpu"] == "1").collect();
    let (nice_ns, passed_ns) = grown(&ticks, "nice_ns");
    let tick = 100.0 * nice_ns / passed_ns;
    assert!(tick < event / 2.0, "the tick sees {tick} % of {event} %");
    // Both beside each other, in one view. The CPU as a whole hides only where nothing else ran on it.
    let both = ["stat", "cpu", "--clock", "both", "--each", "-i", "1", "-r", made, "--json"];
    let shown = scratch.iodyno(&both).run().unwrap().expect_code(0).ndjson();
    let of =
        |key: &'static str| mean(shown.iter().skip(1).take(shown.len() - 3).map(move |row| row[key].as_f64().unwrap()));
    let (busy, difference) = (of("event_busy_percent"), of("difference_points"));
    assert!(busy >= 0.95 * duty, "{busy} %");
    if busy - duty < 5.0 {
        assert!(difference > 20.0, "{difference} points of {busy} %");
    } else {
        testkit::lacks(&format!(
            "an idle CPU 1 ({busy} % busy): that the tick misses {difference} points of it is not judged"
        ));
    }
    // Its own sentence: all of the command, the search for the edge of the tick included.
    let spoken =
        ended.stderr.lines().find(|line| line.contains("by event")).unwrap_or_else(|| panic!("{}", ended.stderr));
    assert!(spoken.contains("by tick") && !spoken.contains('?'), "{spoken}");
}

#[test]
#[ignore = "times: make exam"]
fn live_with_every_part_and_nothing_left_over() {
    testkit::while_cpus_are_ours(once_live_with_every_part_and_nothing_left_over);
}

fn once_live_with_every_part_and_nothing_left_over() {
    let (_alone, scratch) = (testkit::alone(), Scratch::new());
    let Some(program) = hide(&scratch) else { return };
    let hidden = TestCommand::new(&program).args(["7", "1"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let cpus = scratch.iodyno(&["stat", "cpu", "--clock", "both", "--each", "--json", "-o", "live", "1", "3"]);
    let cpus = cpus.run().unwrap().expect_code(0).ndjson();
    let processes = scratch.iodyno(&["stat", "proc", "--clock", "both", "-i", "iodyno-hide", "--json", "1", "2"]);
    let processes = processes.run().unwrap().expect_code(0).ndjson();
    let duty: f64 = hidden.wait().unwrap().expect_code(0).stdout.trim().parse().unwrap();
    assert_eq!(processes.len(), 2, "{processes:?}");
    for row in &processes {
        let event = row["event_percent"].as_f64().unwrap();
        assert!((event - duty).abs() < 0.05 * duty, "{event} % by event, {duty} % by its own clock: {row}");
        // It sleeps once in each tick of 4 ms.
        assert!((200.0..300.0).contains(&row["switches_per_s"].as_f64().unwrap()), "{row}");
        assert!(row["stolen_percent"].as_f64().is_some_and(|stolen| (0.0..20.0).contains(&stolen)), "{row}");
    }
    let one: Vec<&Value> = cpus.iter().filter(|row| row["name"] == "1").collect();
    assert_eq!(one.len(), 3, "{cpus:?}");
    for row in &one {
        let parts = ["event_busy_percent", "irq_percent", "softirq_percent", "stolen_percent", "switches_per_s"];
        assert!(parts.iter().all(|key| row[*key].as_f64().is_some()), "{row}");
        assert!(row["event_busy_percent"].as_f64().unwrap() >= 0.95 * duty, "{row}");
    }
    // Each wait is in the histogram of one interval, and all of them in the sums.
    let queues = Reader::open(scratch.path("live")).unwrap().table::<RunQueue>().unwrap();
    assert!(queues.len() >= 3 && queues.iter().all(|row| row.wait.count() > 10), "{queues:?}");
    scratch.iodyno(&["chart", "live", "cpu.run_queue", "-o", "waits.svg"]).run().unwrap().expect_code(0);
    let drawn = std::fs::read_to_string(scratch.path("waits.svg")).unwrap();
    assert!(["p50", "p99", "max"].iter().all(|line| drawn.contains(line)), "{drawn}");
    let singly: u128 = queues[1..].iter().map(|row| row.wait.sum()).sum();
    let cpus = scratch.table("live", "cpu_event");
    let all: Vec<&Value> = cpus.iter().filter(|row| row["cpu"] == "all").collect();
    let summed = all[all.len() - 1]["wait_ns"].as_i64().unwrap() - all[0]["wait_ns"].as_i64().unwrap();
    // Read one after the other.
    let differ = (singly as f64 - summed as f64).abs();
    assert!(differ < 0.02 * summed as f64 + 3e6, "{singly} ns singly, {summed} ns in all");
    // All time of a CPU is either run or idle.
    let rows: Vec<&Value> = cpus.iter().filter(|row| row["cpu"] == "1").collect();
    let number = |row: &Value, key: &str| row[key].as_i64().unwrap();
    for pair in rows.windows(2) {
        let wall = number(pair[1], "t_ns") - number(pair[0], "t_ns");
        let all = |row: &Value| number(row, "run_ns") + number(row, "idle_ns");
        assert!((wall - all(pair[1]) + all(pair[0])).abs() < 5_000_000, "{pair:?}");
    }
}

#[test]
fn without_the_privilege_the_tick_alone_is_recorded_and_that_is_said() {
    let scratch = Scratch::new();
    if !testkit::require_root_or_skip() {
        return;
    }
    let without = |arguments: &[&str]| {
        let drop = ["--bounding-set", "-all,+dac_override", "--inh-caps", "-all", "--", env!("CARGO_BIN_EXE_iodyno")];
        TestCommand::new("setpriv").args(drop).args(arguments).dir(scratch.path("")).run().unwrap()
    };
    let made = without(&["record", "-i", "200ms", "-o", "made", "--", "sleep", "0.5"]).expect_code(0);
    assert!(made.stderr.contains("CPU time is of the clock's tick only"), "{}", made.stderr);
    assert!(made.stderr.contains("? by event"), "{}", made.stderr);
    let said = scratch.table("made", "event");
    assert!(said.iter().any(|row| row["kind"] == "probe"), "{said:?}");
    // Nothing is made up: the view has no figure, and not 0.
    let shown = scratch.iodyno(&["stat", "cpu", "--clock", "both", "-r", "made", "--json"]).run().unwrap();
    let shown = shown.expect_code(0);
    assert!(shown.stderr.contains("not all figures of cpu_clock: unsupported here: "), "{}", shown.stderr);
    let shown = shown.ndjson();
    assert!(!shown.is_empty() && shown.iter().all(|row| row["event_busy_percent"].is_null()), "{shown:?}");
    let refused = without(&["stat", "cpu", "--clock", "both", "1", "1"]).expect_code(8);
    assert!(refused.stderr.contains("CAP_BPF"), "{}", refused.stderr);
}
