//! `stat` beside iostat, nicstat, mpstat and pidstat, over the same load, where those are right.
//!
//! The load lies within the interval of both, so that both see the same counts; what differs is the length of their
//! intervals, as no process wakes up exactly on time. That gives one factor for all rates, near 1, taken from one
//! column; with it, every other column must agree to the last digit that the other tool prints. Where those tools are wrong
//! (shaped links, listeners that drop, unknown speeds), `stat.rs` has the tests.

use crate::support::Namespace;
use serde_json::Value;
use std::time::Duration;
use testkit::{LoopDevice, TestCommand};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// Is the tool here? A test without it says so.
fn has(tool: &str) -> bool {
    let found = std::env::var("PATH")
        .unwrap_or_default()
        .split(':')
        .any(|folder| std::path::Path::new(folder).join(tool).exists());
    if !found {
        testkit::lacks(tool);
    }
    found
}

/// Unit of the last digit of a printed number.
fn last_digit(printed: &str) -> f64 {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    10_f64.powi(-i32::try_from(decimals).unwrap())
}

/// Ours, multiplied by the factor between the intervals, against a printed number.
fn check(name: &str, ours: f64, factor: f64, printed: &str) {
    let theirs: f64 = printed.parse().unwrap_or_else(|_| panic!("{name}: {printed}"));
    // Half a digit of rounding on the way to the factor counts as well.
    let slack = last_digit(printed) * 1.01 + theirs * 1e-3;
    assert!((ours * factor - theirs).abs() <= slack, "{name}: {ours} × {factor} instead of {printed}");
}

/// Theirs ÷ ours, which the lengths of the intervals explain.
fn factor(ours: f64, printed: &str) -> f64 {
    let factor = printed.parse::<f64>().unwrap() / ours;
    assert!((0.9..1.1).contains(&factor), "{ours} and {printed} are of different loads");
    factor
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
#[ignore = "times: make exam"]
fn disks_as_iostat() {
    testkit::while_cpus_are_ours(once_disks_as_iostat);
}

fn once_disks_as_iostat() {
    if !testkit::require_root_or_skip() || !has("iostat") {
        return;
    }
    let device = LoopDevice::new(64 << 20).unwrap();
    let (name, path) = (device.name(), device.path().display().to_string());
    let peer =
        TestCommand::new("iostat").args(["-x", "-y", "-d", "-k", &name, "8", "1", "-o", "JSON"]).spawn().unwrap();
    let ours = TestCommand::new(IODYNO).args(["stat", "disk", "-i", &name, "--json", "8", "1"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1000));
    let read = [&format!("if={path}"), "of=/dev/null", "bs=64k", "count=640", "iflag=direct", "status=none"];
    TestCommand::new("dd").args(read).run().unwrap().expect_code(0);
    let write = ["if=/dev/zero", &format!("of={path}"), "bs=4k", "count=480", "oflag=direct", "status=none"];
    TestCommand::new("dd").args(write).run().unwrap().expect_code(0);
    let ours = ours.wait().unwrap().expect_code(0).ndjson().remove(0);
    let text = peer.wait().unwrap().expect_code(0).stdout;
    // As it is printed: the number of digits counts.
    let printed = |column: &str| -> String {
        let from = text.find(&format!("\"{column}\":")).unwrap_or_else(|| panic!("no {column} in {text}"));
        text[from + column.len() + 3..].trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect()
    };
    assert!((number(&ours["read_per_s"]) * number(&ours["interval_s"]) - 640.0).abs() < 0.01, "{ours}");
    let factor = factor(number(&ours["read_per_s"]), &printed("r/s"));
    for (theirs, key) in [
        ("w/s", "write_per_s"),
        ("rkB/s", "read_kib_per_s"),
        ("wkB/s", "write_kib_per_s"),
        ("rrqm/s", "read_merges_per_s"),
        ("wrqm/s", "write_merges_per_s"),
        ("d/s", "discard_per_s"),
        ("f/s", "flush_per_s"),
        ("aqu-sz", "queue_size"),
        ("util", "util_percent"),
    ] {
        check(theirs, number(&ours[key]), factor, &printed(theirs));
    }
    for (theirs, key) in [
        ("r_await", "read_await_ms"),
        ("w_await", "write_await_ms"),
        ("rareq-sz", "read_size_kib"),
        ("wareq-sz", "write_size_kib"),
        ("rrqm", "read_merged_percent"),
    ] {
        check(theirs, number(&ours[key]), 1.0, &printed(theirs));
    }
}

#[test]
#[ignore = "times: make exam"]
fn interfaces_as_nicstat() {
    testkit::while_cpus_are_ours(once_interfaces_as_nicstat);
}

fn once_interfaces_as_nicstat() {
    if !has("nicstat") {
        return;
    }
    let Some(namespace) = Namespace::new("peer") else { return };
    let seconds = "8";
    // nicstat does not know an interface that has not carried anything yet.
    let first = "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.sendto(b'x',('10.99.0.2',9))\n";
    namespace.command("python3").args(["-c", first]).run().unwrap().expect_code(0);
    let peer = namespace.command("nicstat").args(["-p", "-i", "v0", seconds, "2"]).spawn().unwrap();
    let ours = namespace.command(IODYNO).args(["stat", "net", "-i", "v0", "--json", seconds, "1"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1000));
    let send = "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nfor i in range(4000):\n  s.sendto(b'x'*1000,('10.99.0.2',9))\n";
    namespace.command("python3").args(["-c", send]).run().unwrap().expect_code(0);
    let ours = ours.wait().unwrap().expect_code(0).ndjson().remove(0);
    let text = peer.wait().unwrap().expect_code(0).stdout;
    // The first line is the mean since boot.
    let fields: Vec<&str> = text.lines().filter(|line| line.contains(":v0:")).nth(1).unwrap().split(':').collect();
    let sent = number(&ours["tx_packets_per_s"]) * number(&ours["interval_s"]);
    assert!((4000.0..4050.0).contains(&sent.round()), "{sent}");
    let factor = factor(number(&ours["tx_kib_per_s"]), fields[3]);
    check("rKB/s", number(&ours["rx_kib_per_s"]), factor, fields[2]);
    check("rPk/s", number(&ours["rx_packets_per_s"]), factor, fields[4]);
    check("wPk/s", number(&ours["tx_packets_per_s"]), factor, fields[5]);
}

#[test]
#[ignore = "times: make exam"]
fn tcp_as_nicstat_but_for_what_is_sent_again() {
    testkit::while_cpus_are_ours(once_tcp_as_nicstat);
}

fn once_tcp_as_nicstat() {
    if !has("nicstat") {
        return;
    }
    let Some(namespace) = Namespace::new("peert") else { return };
    if !namespace.lose_a_tenth() {
        return;
    }
    namespace.send_two_megabytes();
    // nicstat 1.95 counts no TCP but in its first line, which is the mean since boot.
    let fields = |program: &str, arguments: &[&str]| -> Vec<String> {
        let text = namespace.command(program).args(arguments).run().unwrap().expect_code(0).stdout;
        let line = text.lines().find(|line| line.contains(":TCP:")).unwrap_or_else(|| panic!("{text}"));
        line.split(':').map(String::from).collect()
    };
    let theirs = fields("nicstat", &["-t", "-p"]);
    let ours = fields(IODYNO, &["stat", "net", "-t", "-p", "--since-boot", "0.1", "1"]);
    assert_eq!(theirs.len(), ours.len(), "{theirs:?} {ours:?}");
    for (name, at) in [("InSeg", 4), ("OutSeg", 5), ("Reset", 6), ("AttF", 7), ("InConn", 9), ("OutCon", 10)] {
        check(name, ours[at].parse().unwrap(), 1.0, &theirs[at]);
    }
    assert!(theirs[5].parse::<f64>().unwrap() > 0.0, "nothing was sent: {theirs:?}");
    // There nicstat says 0, whatever happens; the kernel knows.
    let [sent, again] = ["OutSegs", "RetransSegs"].map(|name| namespace.tcp_counter(name));
    println!("%ReTX: nicstat {}, here {}, the kernel {again} of {sent} and as many more", theirs[8], ours[8]);
    assert!(again > 50.0, "{again} segments were sent again");
    let ours: f64 = ours[8].parse().unwrap();
    assert!((ours - 100.0 * again / (sent + again)).abs() <= 5.1e-3, "{ours} % instead of {again} in {sent}");
}

#[test]
#[ignore = "times: make exam"]
fn an_interface_without_a_speed_as_nicstat_but_for_its_use() {
    testkit::while_cpus_are_ours(once_an_interface_without_a_speed_as_nicstat);
}

fn once_an_interface_without_a_speed_as_nicstat() {
    if !has("nicstat") {
        return;
    }
    let Some(namespace) = Namespace::new("peers") else { return };
    for arguments in [&["link", "add", "b0", "type", "bridge"][..], &["link", "set", "b0", "up"]] {
        if namespace.command("ip").args(arguments).run().unwrap().code != Some(0) {
            testkit::lacks("bridges");
            return;
        }
    }
    let send = |count: u32| {
        let send = format!(
            "import socket\ns=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\ns.bind(('b0',0))\n\
             for i in range({count}): s.send(b'\\xff'*6+b'\\x02\\0\\0\\0\\0\\1\\x88\\xb5'+b'x'*986)\n"
        );
        namespace.command("python3").args(["-c", &send]).run().unwrap().expect_code(0);
    };
    // nicstat does not know an interface that has not carried anything yet.
    send(1);
    let peer = namespace.command("nicstat").args(["-p", "-i", "b0", "6", "2"]).spawn().unwrap();
    let ours = namespace.command(IODYNO).args(["stat", "net", "-i", "b0", "--json", "6", "1"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1000));
    send(20_000);
    let ours = ours.wait().unwrap().expect_code(0).ndjson().remove(0);
    let text = peer.wait().unwrap().expect_code(0).stdout;
    let fields: Vec<&str> = text.lines().filter(|line| line.contains(":b0:")).nth(1).unwrap().split(':').collect();
    let factor = factor(number(&ours["tx_kib_per_s"]), fields[3]);
    check("wPk/s", number(&ours["tx_packets_per_s"]), factor, fields[5]);
    // It carries 27 Mbit/s, and its speed is unknown (-1); nicstat takes that for 65,535 Mbit/s.
    println!("%Util: nicstat {}, here {}", fields[6], ours["util_percent"]);
    for key in ["util_percent", "rx_util_percent", "tx_util_percent", "speed_mbit_per_s"] {
        assert!(ours[key].is_null(), "{key} is made up: {ours}");
    }
}

#[test]
#[ignore = "times: make exam"]
fn cpus_as_mpstat() {
    testkit::while_cpus_are_ours(once_cpus_as_mpstat);
}

fn once_cpus_as_mpstat() {
    if !has("mpstat") {
        return;
    }
    let peer = TestCommand::new("mpstat").args(["8", "1", "-o", "JSON"]).spawn().unwrap();
    let ours = TestCommand::new(IODYNO).args(["stat", "cpu", "--json", "8", "1"]).spawn().unwrap();
    let ours = ours.wait().unwrap().expect_code(0).ndjson().remove(0);
    let theirs: Value = serde_json::from_str(&peer.wait().unwrap().expect_code(0).stdout).unwrap();
    let theirs = &theirs["sysstat"]["hosts"][0]["statistics"][0]["cpu-load"][0];
    for (name, key) in [
        ("usr", "user_percent"),
        ("nice", "nice_percent"),
        ("sys", "system_percent"),
        ("iowait", "iowait_percent"),
        ("irq", "irq_percent"),
        ("soft", "softirq_percent"),
        ("steal", "steal_percent"),
        ("idle", "idle_percent"),
    ] {
        // The two intervals are not quite the same: what the machine did in some 50 ms of 8 s is in one of them only.
        let theirs = number(&theirs[name]);
        if ours[key].is_null() && name == "irq" {
            // A kernel that does not measure it gives 0 for ever, which mpstat prints.
            let stat = std::fs::read_to_string("/proc/stat").unwrap();
            assert_eq!((theirs, stat.split_whitespace().nth(6)), (0.0, Some("0")), "it is measured here");
            continue;
        }
        let ours = number(&ours[key]);
        assert!((ours - theirs).abs() <= 1.5, "{name}: {ours} instead of {theirs}");
    }
}

#[test]
#[ignore = "times: make exam"]
fn processes_as_pidstat() {
    if has("pidstat") {
        // Both must be there when the work begins, which a host that takes the CPUs away does not let them.
        testkit::while_cpus_are_ours(once_processes_as_pidstat);
    }
}

fn once_processes_as_pidstat() {
    // Works once it reads a line, which the test sends when both tools look at it.
    let work = "import time,sys\nsys.stdin.readline()\nend=time.process_time()+0.8\nwhile time.process_time()<end: pass\n\
                print('done',flush=True)\ntime.sleep(60)\n";
    let piped = std::process::Stdio::piped;
    let mut worker = std::process::Command::new("python3");
    let worker = worker.args(["-c", work]).envs([testkit::mark()]).stdin(piped()).stdout(piped()).spawn();
    let mut worker = worker.unwrap();
    let pid = worker.id().to_string();
    std::thread::sleep(Duration::from_secs(1));
    let peer = TestCommand::new("pidstat").args(["-u", "-p", &pid, "12", "1"]).spawn().unwrap();
    let ours = TestCommand::new(IODYNO).args(["stat", "proc", "--pid", &pid, "--json", "12", "1"]).spawn().unwrap();
    let began = testkit::now_ns();
    std::thread::sleep(Duration::from_secs(3));
    std::io::Write::write_all(&mut worker.stdin.take().unwrap(), b"go\n").unwrap();
    let done = std::io::BufRead::lines(std::io::BufReader::new(worker.stdout.take().unwrap())).next();
    let took_s = (testkit::now_ns() - began) as f64 / 1e9;
    let ours = ours.wait().unwrap().expect_code(0).ndjson();
    let text = peer.wait().unwrap().expect_code(0).stdout;
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(done.is_some_and(|word| word.is_ok()) && took_s < 11.0, "the work lay within both intervals: {took_s} s");
    let line = text.lines().find(|line| line.starts_with("Average:") && line.contains("python3")).unwrap();
    let theirs: Vec<&str> = line.split_whitespace().collect();
    let ours = &ours[0];
    // 0.8 s, and no more than a tick or two of start and end.
    let used_s = number(&ours["cpu_percent"]) * number(&ours["interval_s"]) / 100.0;
    assert!((0.79..0.86).contains(&used_s), "{used_s} s in {ours}");
    // Average: UID PID %usr %system %guest %wait %CPU; in ticks of 10 ms, each 0.083 % of 12 s.
    for (name, key, at) in [("%usr", "user_percent", 3), ("%system", "system_percent", 4), ("%CPU", "cpu_percent", 7)] {
        let (ours, theirs): (f64, f64) = (number(&ours[key]), theirs[at].parse().unwrap());
        assert!((ours - theirs).abs() <= 0.1 + theirs * 0.01, "{name}: {ours} instead of {theirs}");
    }
}
