//! `diagnose` on real causes: each is made, found, and not found once it is gone or half as strong.
#![allow(clippy::unwrap_used, clippy::allow_attributes, reason = "helpers of tests")]

mod support;

use faultfs::{Config, Faultfs};
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::{Namespace, Scratch};
use testkit::{Child, Command, FileSystem, LoopDevice, Mounted};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// Causes of one test would be found by another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was judged, whatever the exit code: other programs of the machine may have causes of their own.
fn seen(child: Child) -> Value {
    let output = child.wait().unwrap();
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", output.stdout, output.stderr))
}

/// The finding of one rule and subject.
fn find<'a>(judged: &'a Value, rule: &str, subject: &str) -> Option<&'a Value> {
    of(judged, rule).into_iter().find(|one| one["subject"] == subject)
}

fn sentence(finding: &Value) -> &str {
    finding["sentence"].as_str().unwrap()
}

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
    testkit::while_cpus_are_ours(once_one_thread_that_keeps_a_cpu_busy);
}

fn once_one_thread_that_keeps_a_cpu_busy() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = alone();
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

#[test]
fn a_listener_with_a_short_backlog() {
    testkit::while_cpus_are_ours(once_a_listener_with_a_short_backlog);
}

fn once_a_listener_with_a_short_backlog() {
    let Some(namespace) = Namespace::new("dlisten") else { return };
    let _alone = alone();
    let scratch = Scratch::new();
    let run = |backlog: u32| {
        let serve = format!(
            "import socket,time\ns=socket.socket()\ns.bind(('127.0.0.1',1521))\ns.listen({backlog})\ntime.sleep(20)\n"
        );
        let server = namespace.command("python3").args(["-c", &serve]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let record = namespace
            .command(IODYNO)
            .args(["record", "--for", "6s", "-o"])
            .arg(scratch.path(&format!("r{backlog}")))
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        let call = "import socket,time\nall=[]\nfor i in range(40):\n  s=socket.socket(); s.setblocking(False)\n  \
                    try: s.connect(('127.0.0.1',1521))\n  except BlockingIOError: pass\n  all.append(s)\ntime.sleep(6)\n";
        let clients = namespace.command("python3").args(["-c", call]).spawn().unwrap();
        let said = record.wait().unwrap().expect_code(0).stderr;
        assert_eq!(said.contains("finding   R2 Listener 127.0.0.1:1521"), backlog == 5, "{said}");
        let pid = server.id();
        drop((clients, server));
        let judged = seen(scratch.iodyno(&["diagnose", &format!("r{backlog}"), "--json"]).spawn().unwrap());
        (judged, pid)
    };
    let (short, pid) = run(5);
    let finding = find(&short, "R2", "127.0.0.1:1521").unwrap_or_else(|| panic!("not found: {short}"));
    assert_eq!(finding["confidence"], "certain");
    assert!(sentence(finding).contains("accept queue 6 of 5"), "{finding}");
    assert!(sentence(finding).contains("The program asked listen(…, 5); system limit somaxconn"), "{finding}");
    assert!(sentence(finding).starts_with(&format!("Listener 127.0.0.1:1521 (python3[{pid}])")), "{pid} {finding}");
    // The same in every face of the recording.
    let chart = scratch.iodyno(&["export", "r5", "recording.findings", "--csv"]).run().unwrap().expect_code(0).stdout;
    assert!(chart.contains("R2,127.0.0.1:1521,"), "{chart}");
    scratch.iodyno(&["report", "r5"]).run().unwrap().expect_code(0);
    let page = std::fs::read_to_string(scratch.path("r5").join("report.html")).unwrap();
    assert!(page.contains("accept queue 6 of 5"), "the report does not show it");
    let (long, _) = run(512);
    assert!(of(&long, "R2").is_empty(), "{long}");
}

#[test]
fn a_link_that_is_shaped() {
    testkit::while_cpus_are_ours(once_a_link_that_is_shaped);
}

fn once_a_link_that_is_shaped() {
    let Some(namespace) = Namespace::new("dshape") else { return };
    let _alone = alone();
    let shape = ["qdisc", "add", "dev", "v0", "root", "tbf", "rate", "40mbit", "burst", "32kb", "latency", "50ms"];
    namespace.command("tc").args(shape).run().unwrap().expect_code(0);
    let run = |pause: &str| {
        let send = format!(
            "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nend=time.time()+12\n\
             while time.time()<end:\n  try: s.sendto(b'x'*1400,('10.99.0.2',9))\n  except OSError: pass\n  {pause}\n"
        );
        let sender = namespace.command("python3").args(["-c", &send]).spawn().unwrap();
        let judged = seen(namespace.command(IODYNO).args(["diagnose", "--live", "8s", "--json"]).spawn().unwrap());
        drop(sender);
        judged
    };
    let full = run("pass");
    let finding = find(&full, "R3", "v0").unwrap_or_else(|| panic!("not found: {full}"));
    assert!(sentence(finding).contains("of 40 Mbit/s"), "{finding}");
    assert!(sentence(finding).contains("Limit is the shaper tbf."), "{finding}");
    // At most 1,000 datagrams a second are 11 Mbit/s.
    let quiet = run("time.sleep(0.001)");
    assert!(of(&quiet, "R3").is_empty(), "{quiet}");
}

#[test]
fn a_disk_that_stops_answering_and_one_that_is_too_slow() {
    testkit::while_cpus_are_ours(once_a_disk_that_stops_answering_and_one_that_is_too_slow);
}

fn once_a_disk_that_stops_answering_and_one_that_is_too_slow() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = alone();
    let scratch = Scratch::new();
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = Faultfs::mount(mountpoint.path(), Config::new(64 << 20)).unwrap();
    let device = LoopDevice::over(disk.disk()).unwrap();
    let name = device.name();
    std::fs::write(scratch.path("t.toml"), "[device]\nfor_s = 4\n").unwrap();
    let fio = |job: &[&str]| {
        Command::new("fio")
            .args(["--name=l", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio", "--time_based"])
            .args([format!("--filename={}", device.path().display())])
            .args(job)
            .dir(scratch.path(""))
            .spawn()
            .unwrap()
    };
    let watch = |length: &str| {
        let arguments = ["diagnose", "--live", length, "--thresholds", "t.toml", "--json"];
        scratch.iodyno(&arguments).spawn().unwrap()
    };
    // Answers stay away for five seconds.
    let load = fio(&["--iodepth=4", "--rate_iops=200", "--runtime=12"]);
    let diagnose = watch("10s");
    std::thread::sleep(Duration::from_secs(3));
    disk.control("stall 5s").unwrap();
    let judged = seen(diagnose);
    drop(load);
    let stall = find(&judged, "R7", &name).unwrap_or_else(|| panic!("not found: {judged}"));
    let length = stall["seconds"].as_f64().unwrap();
    assert!((3.8..6.3).contains(&length), "{stall}");
    assert!(stall["end"].is_string() && sentence(stall).contains("answered nothing for"), "{stall}");
    // Quick at first; then every answer takes 25 ms and eight wait for theirs.
    let load = fio(&["--iodepth=1", "--rate_iops=100", "--runtime=4"]);
    let diagnose = watch("12s");
    load.wait().unwrap().expect_code(0);
    disk.control("delay 25ms").unwrap();
    let load = fio(&["--iodepth=8", "--runtime=9"]);
    let judged = seen(diagnose);
    drop(load);
    let slow = find(&judged, "R5", &name).unwrap_or_else(|| panic!("not found: {judged}"));
    assert!(
        sentence(slow).contains(&format!("{name} is the limit")) && sentence(slow).contains("× unloaded"),
        "{slow}"
    );
    assert!(find(&judged, "R7", &name).is_none(), "{judged}");
}

#[test]
fn programs_too_brief_to_be_seen() {
    testkit::while_cpus_are_ours(once_programs_too_brief_to_be_seen);
}

fn once_programs_too_brief_to_be_seen() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = alone();
    let scratch = Scratch::new();
    // Whatever runs beside the test makes their share smaller.
    std::fs::write(
        scratch.path("t.toml"),
        "[short_lived]\nfor_s = 4\nbusy_percent = 1\none_name_percent = 0\nper_s = 50\n",
    )
    .unwrap();
    std::fs::copy("/bin/true", scratch.path("brief-abc")).unwrap();
    let script = format!("while :; do {}; done", scratch.path("brief-abc").display());
    let busy = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let look = || scratch.iodyno(&["diagnose", "--live", "6s", "--thresholds", "t.toml", "--json"]).spawn().unwrap();
    let judged = seen(look());
    drop(busy);
    let finding = find(&judged, "R9", "brief-abc").unwrap_or_else(|| panic!("not found: {judged}"));
    assert!(sentence(finding).contains("runs/s of brief-abc"), "{finding}");
    let quiet = seen(look());
    assert!(find(&quiet, "R9", "brief-abc").is_none(), "{quiet}");
}

#[test]
fn a_mirror_with_damaged_data() {
    if !testkit::require_root_or_skip() {
        return;
    }
    if !FileSystem::Btrfs.is_available() {
        testkit::lacks("btrfs");
        return;
    }
    let _alone = alone();
    let (first, second) = (LoopDevice::new(300 << 20).unwrap(), LoopDevice::new(300 << 20).unwrap());
    let mut make = vec!["-q", "-f", "-L", "iodyno-d", "-d", "raid1", "-m", "raid1"];
    let paths = [first.path().to_str().unwrap(), second.path().to_str().unwrap()];
    make.extend(paths);
    Command::new("mkfs.btrfs").args(make).run().unwrap().expect_code(0);
    {
        let mounted = Mounted::device(first.path()).unwrap();
        std::fs::write(mounted.path().join("payload"), vec![7_u8; 60 << 20]).unwrap();
    }
    // Everything on the second device but its first megabytes and the copy of its superblock.
    let wipe = ["if=/dev/zero", "bs=1M", "seek=66", "count=234", "conv=notrunc,fsync", "status=none"];
    Command::new("dd").args(wipe).arg(format!("of={}", paths[1])).run().unwrap().expect_code(0);
    let mounted = Mounted::device(first.path()).unwrap();
    let diagnose = Command::new(IODYNO).args(["diagnose", "--live", "7s", "--json"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let scrub = Command::new("btrfs").args(["scrub", "start", "-B"]).arg(mounted.path()).run().unwrap();
    let judged = seen(diagnose);
    let finding = find(&judged, "R12", "btrfs iodyno-d, device 2");
    let finding = finding.unwrap_or_else(|| panic!("not found: {judged} {}", scrub.stdout));
    assert!(sentence(finding).contains("blocks had a wrong check sum"), "{finding}");
    assert!(sentence(finding).contains("repaired from mirror"), "{finding}");
    // What is repaired stays so: no further finding.
    let judged = seen(Command::new(IODYNO).args(["diagnose", "--live", "2s", "--json"]).spawn().unwrap());
    assert!(of(&judged, "R12").is_empty(), "{judged}");
}
