//! `diagnose` on real causes: each is made, found, and not found once it is gone or half as strong.
#![allow(clippy::unwrap_used, clippy::allow_attributes, reason = "helpers of tests")]

mod support;

use serde_json::Value;
use std::time::Duration;
use support::Scratch;
use testkit::Command;

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// The one object that `diagnose --json` prints.
fn judged(command: Command, code: i32) -> Value {
    let output = command.args(["--json"]).run().unwrap().expect_code(code);
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
}

/// Findings of one rule, notes left out.
fn of<'a>(judged: &'a Value, rule: &str) -> Vec<&'a Value> {
    let findings = judged["findings"].as_array().unwrap().iter();
    findings.filter(|one| one["rule"] == rule && one["severity"] == "finding").collect()
}

#[test]
fn one_thread_that_keeps_a_cpu_busy() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    // Other tests keep the other CPUs busy meanwhile; that alone is left out of what is asked.
    let thresholds = "[one_cpu]\nfor_s = 5\nfor_cpu_s = 0\nsystem_percent = 100\nrest_percent = 100\n";
    std::fs::write(scratch.path("t.toml"), thresholds).unwrap();
    let spin = |share: &str| {
        let turn = format!(
            "import time\nwhile True:\n  end=time.monotonic()+0.01*{share}\n  while time.monotonic()<end: pass\n  time.sleep(0.01*(1-{share}))\n"
        );
        // Before everything else on that CPU, or whatever runs beside the test takes half of it.
        Command::new("chrt").args(["-f", "1", "taskset", "-c", "0", "python3", "-c", &turn]).spawn().unwrap()
    };
    let look = || scratch.iodyno(&["diagnose", "--live", "9s", "--thresholds", "t.toml"]);
    let spinner = spin("1");
    std::thread::sleep(Duration::from_millis(300));
    let busy = judged(look(), 9);
    let pid = format!("[{}]", spinner.id());
    drop(spinner);
    let mine = of(&busy, "R1").into_iter().find(|one| one["subject"].as_str().unwrap().ends_with(&pid));
    let mine = mine.unwrap_or_else(|| panic!("{pid} is not found: {busy}"));
    assert!(mine["sentence"].as_str().unwrap().contains("is using a whole CPU"), "{mine}");
    assert_eq!(mine["thresholds"]["for_s"], 5.0);
    // Half of the time is no whole CPU.
    let spinner = spin("0.5");
    let half = scratch.iodyno(&["diagnose", "--live", "9s", "--thresholds", "t.toml", "--json"]).run().unwrap();
    let half: Value = serde_json::from_str(&half.stdout).unwrap();
    let pid = format!("[{}]", spinner.id());
    assert!(!of(&half, "R1").iter().any(|one| one["subject"].as_str().unwrap().ends_with(&pid)), "{half}");
}

#[test]
fn a_recording_is_judged_like_the_machine_and_mistakes_are_told() {
    let scratch = Scratch::new();
    scratch.iodyno(&["record", "-o", "r", "-i", "100ms", "--for", "1s"]).run().unwrap().expect_code(0);
    let judged = scratch.iodyno(&["diagnose", "r", "--json"]).run().unwrap().expect_code(0);
    let judged: Value = serde_json::from_str(&judged.stdout).unwrap();
    assert_eq!(judged["schema"], "iodyno.findings/1");
    let seconds = judged["judged_s"].as_f64().unwrap();
    assert!((0.8..1.6).contains(&seconds) || judged["gaps"].as_u64().unwrap() > 0, "{judged}");
    let shipped = Command::new(IODYNO).args(["diagnose", "--print-thresholds"]).run().unwrap().expect_code(0).stdout;
    std::fs::write(scratch.path("shipped.toml"), &shipped).unwrap();
    let again = scratch.iodyno(&["diagnose", "--thresholds", "shipped.toml", "--print-thresholds"]);
    assert_eq!(again.run().unwrap().expect_code(0).stdout, shipped);
    std::fs::write(scratch.path("wrong.toml"), "[one_cpu]\nbusy = 3\n").unwrap();
    for (arguments, word) in [
        (&["diagnose", "r", "--thresholds", "wrong.toml"][..], "line 2"),
        (&["diagnose", "r", "--thresholds", "none.toml"], "none.toml"),
        (&["diagnose", "--live", "1s"], "too short"),
    ] {
        let output = scratch.iodyno(arguments).run().unwrap().expect_code(2);
        assert!(output.stderr.contains(word), "{}", output.stderr);
    }
    scratch.iodyno(&["diagnose", "none"]).run().unwrap().expect_code(2);
}
