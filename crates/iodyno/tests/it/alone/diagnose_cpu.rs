//! Findings that need the event clock, on real causes: each is made, found, and not found at half its strength.

use crate::support::causes::{FirstComes, flood, hiding_program, large_frames_to_cpu_1, turns};
use crate::support::{Namespace, Scratch};
use serde_json::Value;
use std::time::Duration;
use testkit::TestCommand;

/// What `iodyno diagnose` finds in a recording of so many seconds, whatever else this machine suffers from.
fn diagnosed(scratch: &Scratch, seconds: u32) -> Value {
    diagnosed_by(scratch, TestCommand::new(env!("CARGO_BIN_EXE_iodyno")), seconds)
}

/// The same, recorded by this command.
fn diagnosed_by(scratch: &Scratch, iodyno: TestCommand, seconds: u32) -> Value {
    let seen = scratch.path("seen");
    let _ = std::fs::remove_dir_all(&seen);
    let length = format!("{seconds}s");
    iodyno.args(["record", "-o", seen.to_str().unwrap(), "--for", &length]).run().unwrap().expect_code(0);
    let thresholds = scratch.write("clear.toml", "[general]\nclear_s = 2\n");
    let output =
        scratch.iodyno(&["diagnose", "seen", "--json", "--thresholds", thresholds.to_str().unwrap()]).run().unwrap();
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", output.stdout, output.stderr))
}

fn find<'a>(judged: &'a Value, rule: &str, subject: &str) -> Option<&'a Value> {
    let all = judged["findings"].as_array().unwrap().iter();
    all.into_iter().find(|one| one["rule"] == rule && one["subject"].as_str().unwrap().contains(subject))
}

#[test]
#[ignore = "times: make exam"]
fn a_server_that_is_preempted_by_another_program() {
    testkit::while_cpus_are_ours(once_a_server_that_is_preempted_by_another_program);
}

fn once_a_server_that_is_preempted_by_another_program() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    // Before everything else of this CPU, so that only the one puts the other aside. In the 2 ms that the other one leaves it
    // sleeps, works, sleeps, and is in the middle of its second work when that one wakes; were they in step, it would only wait.
    let server = turns(1, 1.1, 0.14);
    let hog = turns(2, 2.0, 2.0);
    std::thread::sleep(Duration::from_millis(500));
    let by = format!("[{}] preempts it", hog.id());
    let leaving = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(14));
        drop(hog);
    });
    let judged = diagnosed(&scratch, 30);
    leaving.join().unwrap();
    let subject = format!("[{}]", server.id());
    let finding = find(&judged, "R8", &subject).unwrap_or_else(|| panic!("{subject} is not found: {judged}"));
    let sentence = finding["sentence"].as_str().unwrap();
    assert!(sentence.contains(&by), "{sentence}");
    assert!(finding["end"].is_string(), "it is over: {finding}");
    // One that comes for a tenth of the time is no fault.
    let mild = turns(2, 0.3, 3.7);
    std::thread::sleep(Duration::from_millis(500));
    let judged = diagnosed(&scratch, 14);
    let found = find(&judged, "R8", &subject).map(|finding| finding["sentence"].clone());
    assert!(!found.is_some_and(|sentence| sentence.as_str().unwrap().contains("preempts it")), "{judged}");
    drop(mild);
}

#[test]
#[ignore = "times: make exam"]
fn a_program_that_waits_behind_another_one_in_step() {
    testkit::while_cpus_are_ours(once_a_program_that_waits_behind_another_one_in_step);
}

fn once_a_program_that_waits_behind_another_one_in_step() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    // It works for a moment only and is hardly ever preempted; but when it wakes, the other one mostly runs.
    let player = turns(1, 0.2, 1.0);
    std::thread::sleep(Duration::from_millis(500));
    let mixer = turns(2, 4.0, 1.0);
    std::thread::sleep(Duration::from_millis(500));
    let judged = diagnosed(&scratch, 14);
    let subject = format!("[{}]", player.id());
    let finding = find(&judged, "R8", &subject).unwrap_or_else(|| panic!("{subject} is not found: {judged}"));
    let sentence = finding["sentence"].as_str().unwrap();
    assert!(sentence.contains("it wakes and stands behind"), "{sentence}");
    assert!(sentence.contains(&format!("[{}], which runs on first", mixer.id())), "{sentence}");
    drop(mixer);
    // It works so little that a third of a millisecond now and then would be a quarter of its time.
    let mild = turns(2, 0.1, 5.9);
    std::thread::sleep(Duration::from_millis(500));
    let judged = diagnosed(&scratch, 14);
    let found = find(&judged, "R8", &subject).map(|finding| finding["sentence"].clone());
    assert!(!found.is_some_and(|sentence| sentence.as_str().unwrap().contains("stands behind")), "{judged}");
    drop(mild);
}

/// Mean share of CPU 1 that was busy by event in the recording `seen`, per cent.
fn busy(scratch: &Scratch) -> f64 {
    let shown = ["stat", "cpu", "--clock", "both", "--each", "-i", "1", "-r", "seen", "--json"];
    let rows = scratch.iodyno(&shown).run().unwrap().expect_code(0).ndjson();
    // Null: the CPU could not be read then, because the hypervisor had stopped it.
    let values: Vec<f64> = rows.iter().filter_map(|row| row["event_busy_percent"].as_f64()).collect();
    assert!(values.len() * 2 > rows.len(), "{rows:?}");
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean share of CPU 1 that interrupts and soft interrupts took by event in the recording `seen`, per cent.
fn in_interrupts(scratch: &Scratch) -> f64 {
    let shown = ["stat", "cpu", "--clock", "both", "--each", "-i", "1", "-r", "seen", "--json"];
    let rows = scratch.iodyno(&shown).run().unwrap().expect_code(0).ndjson();
    let values: Vec<f64> =
        (rows.iter()).filter_map(|row| Some(row["irq_percent"].as_f64()? + row["softirq_percent"].as_f64()?)).collect();
    assert!(values.len() * 2 > rows.len(), "{rows:?}");
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
#[ignore = "times: make exam"]
fn a_tick_that_misses_what_hides_from_it() {
    testkit::while_cpus_are_ours(once_a_tick_that_misses_what_hides_from_it);
}

fn once_a_tick_that_misses_what_hides_from_it() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    let program = hiding_program(scratch.path("iodyno-hide"));
    let run = |work_ns: &str, seconds: u32| {
        let hidden = TestCommand::new(&program).args(["17", "1", work_ns]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(600));
        let judged = diagnosed(&scratch, seconds);
        let duty: f64 = hidden.wait().unwrap().expect_code(0).stdout.trim().parse().unwrap();
        (judged, duty, busy(&scratch))
    };
    let (judged, duty, all) = run("2800000", 14);
    if all - duty < 5.0 {
        let finding = find(&judged, "R10", "cpu1").unwrap_or_else(|| panic!("not found: {judged}"));
        assert!(finding["sentence"].as_str().unwrap().starts_with("The tick misses"), "{finding}");
        // It hides for 17 s.
        let (judged, ..) = run("2800000", 34);
        let finding = find(&judged, "R10", "cpu1").unwrap_or_else(|| panic!("not found: {judged}"));
        assert!(finding["end"].is_string(), "it is over: {finding}");
    } else {
        testkit::lacks(&format!(
            "an idle CPU 1 ({all} % busy, {duty} % of it hides): the tick finds the others, not judged"
        ));
    }
    let (judged, duty, all) = run("100000", 14);
    if all - duty < 5.0 {
        assert!(find(&judged, "R10", "cpu1").is_none(), "{judged}");
    }
}

#[test]
#[ignore = "times: make exam"]
fn a_flood_of_small_packets_takes_a_cpu_and_who_lost_it_is_named() {
    testkit::while_cpus_are_ours(once_a_flood_of_small_packets_takes_a_cpu_and_who_lost_it_is_named);
}

fn once_a_flood_of_small_packets_takes_a_cpu_and_who_lost_it_is_named() {
    let Some(namespace) = Namespace::new("dflood") else { return };
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    let Some(_first) = FirstComes::new() else {
        testkit::lacks("ksoftirqd/1 or the right to give it a priority");
        return;
    };
    large_frames_to_cpu_1(&namespace);
    let send = |work_ms: f64, sleep_ms: f64| flood(&namespace, work_ms, sleep_ms);
    let full = send(1000.0, 0.0);
    let spin = ["-c", "1", "python3", "-c", "while True: pass"];
    let victim = TestCommand::new("taskset").args(spin).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    // The receiver's end sees the link.
    let look = || diagnosed_by(&scratch, namespace.peer(env!("CARGO_BIN_EXE_iodyno")), 14);
    let judged = look();
    let finding = find(&judged, "R4", "cpu1").unwrap_or_else(|| panic!("not found: {judged}"));
    let sentence = finding["sentence"].as_str().unwrap();
    assert!(sentence.contains("NET_RX"), "{sentence}");
    // Who ran there lost it; the flood itself does not run on that CPU.
    assert!(sentence.contains("They took it from"), "{sentence}");
    let frames = find(&judged, "R11", "v1").unwrap_or_else(|| panic!("not found: {judged}"));
    assert_eq!(frames["explained_by"], finding["id"], "{judged}");
    drop(full);
    // The same for less than half of the time: as small, and far from all that the CPU can do.
    let mild = send(8.0, 12.0);
    std::thread::sleep(Duration::from_millis(500));
    let half = look();
    drop(mild);
    let irq = in_interrupts(&scratch);
    assert!((10.0..50.0).contains(&irq), "{irq} % is not half of it");
    assert!(find(&half, "R4", "cpu1").is_none() && find(&half, "R11", "v1").is_none(), "{irq} %: {half}");
    let quiet = look();
    assert!(find(&quiet, "R4", "cpu1").is_none() && find(&quiet, "R11", "v1").is_none(), "it is over: {quiet}");
    drop(victim);
}
