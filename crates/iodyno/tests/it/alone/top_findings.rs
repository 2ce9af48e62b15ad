//! Findings that need the event clock open on the page of `top`, on real causes, and go when the cause does.

use crate::support::causes::{FirstComes, flood, hiding_program, large_frames_to_cpu_1, turns};
use crate::support::terminal::{GIVEN_BACK, on_a_terminal, tried_on_a_terminal};
use crate::support::{FaultyDisk, Namespace, Scratch};
use std::path::Path;
use std::time::Duration;
use testkit::{CommandOutput, TestCommand};

/// The page with its findings, which close soon after they no longer hold; then these steps.
fn steps<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["wait FINDINGS", "size 160 50", "wait clock event(cpu irq)"], more, &["keys q"]].concat()
}

/// Arguments of `top` with such thresholds.
fn soon_closed(scratch: &Scratch) -> [String; 3] {
    let thresholds = scratch.write("clear.toml", "[general]\nclear_s = 2\n");
    ["top".to_string(), "--thresholds".to_string(), thresholds.to_str().unwrap().to_string()]
}

#[test]
#[ignore = "times: make exam"]
fn a_server_that_is_preempted() {
    testkit::while_cpus_are_ours(once_a_server_that_is_preempted);
}

fn once_a_server_that_is_preempted() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    // As in the test of `diagnose`.
    let server = turns(1, 1.1, 0.14);
    let hog = turns(2, 2.0, 2.0);
    std::thread::sleep(Duration::from_millis(500));
    let headline = format!("[{}] is ready and waits for a CPU", server.id());
    let (seen, end, gone) = (format!("wait {headline}"), format!("end {}", hog.id()), format!("gone {headline}"));
    let arguments = soon_closed(&scratch);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = on_a_terminal(&arguments, &steps(&[&seen, &end, &gone]));
    drop((server, hog));
    assert_eq!(said, format!("exit 0\n{GIVEN_BACK}"));
}

#[test]
#[ignore = "times: make exam"]
fn a_tick_that_misses_what_hides_from_it() {
    testkit::while_cpus_are_ours(once_a_tick_that_misses_what_hides_from_it);
}

/// Mean share of CPU 1 that was busy by event while `top` ran, per cent.
fn busy(scratch: &Scratch) -> f64 {
    let shown = ["stat", "cpu", "--clock", "both", "--each", "-i", "1", "-r", "beside", "--json"];
    let rows = scratch.iodyno(&shown).run().unwrap().expect_code(0).ndjson();
    // Where a hypervisor stops the CPU in the middle of a switch, one interval is not known.
    let values: Vec<f64> = rows.iter().filter_map(|row| row["event_busy_percent"].as_f64()).collect();
    assert!(values.len() > rows.len() / 2, "{rows:?}");
    values.iter().sum::<f64>() / values.len() as f64
}

fn once_a_tick_that_misses_what_hides_from_it() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    let hidden =
        TestCommand::new(hiding_program(scratch.path("iodyno-hide"))).args(["30", "1", "2800000"]).spawn().unwrap();
    let beside = scratch.iodyno(&["record", "-o", "beside", "--for", "25s"]).spawn().unwrap();
    let arguments = soon_closed(&scratch);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // It ends by itself.
    let headline = ["wait The tick misses", "wait points of cpu1", "gone points of cpu1"];
    let ran: CommandOutput = tried_on_a_terminal(Path::new("."), &arguments, &steps(&headline));
    beside.wait().unwrap().expect_code(0);
    let duty: f64 = hidden.wait().unwrap().expect_code(0).stdout.trim().parse().unwrap();
    let all = busy(&scratch);
    if all - duty >= 5.0 {
        testkit::lacks(&format!(
            "an idle CPU 1 ({all} % busy, {duty} % of it hides): the tick finds the others, not judged"
        ));
        return;
    }
    assert_eq!(ran.expect_code(0).stdout, format!("exit 0\n{GIVEN_BACK}"));
}

#[test]
#[ignore = "times: make exam"]
fn a_flood_of_small_packets_takes_a_cpu() {
    testkit::while_cpus_are_ours(once_a_flood_of_small_packets_takes_a_cpu);
}

fn once_a_flood_of_small_packets_takes_a_cpu() {
    let Some(namespace) = Namespace::new("tflood") else { return };
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    let Some(_first) = FirstComes::new() else {
        testkit::lacks("ksoftirqd/1 or the right to give it a priority");
        return;
    };
    large_frames_to_cpu_1(&namespace);
    let full = flood(&namespace, 1000.0, 0.0);
    let victim = TestCommand::new("taskset").args(["-c", "1", "python3", "-c", "while True: pass"]).spawn().unwrap();
    let arguments = soon_closed(&scratch);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let end = format!("end {}", full.id());
    let headline = "cpu1 is spending";
    let (seen, gone) = (format!("wait {headline}"), format!("gone {headline}"));
    let said = on_a_terminal(&arguments, &steps(&[&seen, "wait in interrupts and soft interrupts", &end, &gone]));
    drop((full, victim));
    assert_eq!(said, format!("exit 0\n{GIVEN_BACK}"));
}

/// A disk that was quick and takes 25 ms for everything, with eight writes waiting: who writes is said on the page, and by
/// `diagnose` of a snapshot of it.
#[test]
#[ignore = "times: make exam"]
fn who_writes_to_a_disk_that_is_the_limit() {
    testkit::while_cpus_are_ours(once_who_writes_to_a_disk_that_is_the_limit);
}

fn once_who_writes_to_a_disk_that_is_the_limit() {
    let _alone = testkit::alone();
    let Some(faulty) = FaultyDisk::new() else { return };
    let (name, path) = (faulty.device.name(), faulty.device.path().display().to_string());
    let scratch = Scratch::new();
    scratch.write("clear.toml", "[general]\nclear_s = 2\n[device]\nfor_s = 4\n");
    let load = |job: &[&str]| {
        TestCommand::new("fio")
            .args(["--name=l", "--rw=randwrite", "--bs=4k", "--direct=1", "--ioengine=libaio", "--time_based"])
            .arg(format!("--filename={path}"))
            .args(job)
            .dir(scratch.path(""))
            .spawn()
            .unwrap()
    };
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            load(&["--iodepth=1", "--rate_iops=100", "--runtime=8"]).wait().unwrap().expect_code(0);
            faulty.disk.control("delay 25ms").unwrap();
            load(&["--iodepth=8", "--runtime=20"]).wait().unwrap().expect_code(0);
        });
        let headline = format!("{name} is the limit");
        let (seen, gone) = (format!("wait {headline}"), format!("gone {headline}"));
        let steps = steps(&[&seen, "keys s", "wait wrote", &gone]);
        tried_on_a_terminal(&scratch.path(""), &["top", "--thresholds", "clear.toml"], &steps)
    });
    assert_eq!(said.expect_code(0).stdout, format!("exit 0\n{GIVEN_BACK}"));
    let entries = std::fs::read_dir(scratch.path("")).unwrap().map(|entry| entry.unwrap().path());
    let recording = entries.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "iodyno")).unwrap();
    let judged = scratch.iodyno(&["diagnose", recording.to_str().unwrap(), "--json", "--thresholds", "clear.toml"]);
    let judged: serde_json::Value = serde_json::from_str(&judged.run().unwrap().expect_code(9).stdout).unwrap();
    let findings = judged["findings"].as_array().unwrap();
    let found = findings.iter().find(|one| one["rule"] == "R5" && one["subject"] == *name).unwrap();
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.contains(" / p99 ") && sentence.contains("Writers: fio["), "{sentence}");
    assert!(sentence.contains("% random."), "{sentence}");
    let figure = |name: &str| {
        let all = found["evidence"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {found}"))["value"]
            .as_f64()
            .unwrap()
    };
    assert!((20e6..500e6).contains(&figure("response time, p99")), "{found}");
    assert!(figure("sequential") < 20.0, "{found}");
}
