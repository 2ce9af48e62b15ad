//! `top` on a real terminal: keys, sizes, ends, and the terminal given back.

use crate::support::terminal::{GIVEN_BACK, on_a_terminal, on_a_terminal_in};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::TestCommand;

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

#[test]
fn keys_sizes_and_an_end() {
    let steps = [
        "wait RESOURCE",
        "keys c",
        "wait scheduling",
        "keys \\x1b",
        "wait RESOURCE",
        "size 160 50",
        "wait 60",
        "keys  ",
        "wait PAUSED",
        "keys ?",
        "wait Home",
        "keys q",
    ];
    let said = on_a_terminal(&["top", "--interval", "300ms"], &steps);
    assert_eq!(said, format!("exit 0\n{GIVEN_BACK}"));
}

#[test]
fn every_end_gives_the_terminal_back() {
    let ctrl_c = on_a_terminal(&["top", "--no-probes"], &["wait LIVE", "keys \\x03"]);
    assert_eq!(ctrl_c, format!("exit 0\n{GIVEN_BACK}"));
    let killed = on_a_terminal(&["top", "--no-probes"], &["wait LIVE", "signal 15"]);
    assert_eq!(killed, format!("exit 130\n{GIVEN_BACK}"));
}

#[test]
fn it_ends_when_its_terminal_is_closed() {
    assert_eq!(on_a_terminal(&["top", "--no-probes"], &["wait LIVE", "close"]), "ended True\n");
}

/// A process that only computes; found by the filter, opened with Enter, once more for one of its stacks.
#[test]
fn a_process_leads_to_the_functions_that_it_is_in() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let busy = TestCommand::new("python3").args(["-c", "while True: pass"]).spawn().unwrap();
    // By its number: who drives the terminal is of the same name.
    let number = busy.id();
    let (listed, find) = (format!("wait {number}"), format!("keys /{number}\\r"));
    let steps = [
        "wait RESOURCE",
        "size 160 50",
        "keys p",
        "wait io-wait",
        &listed,
        &find,
        "keys \\r",
        "wait where it is when it has a CPU",
        "wait PyEval",
        "keys /PyEval\\r",
        "wait PyEval",
        "keys \\r",
        // Only what differs from the page before is drawn.
        "wait of a CPU here",
        "keys q",
    ];
    let said = on_a_terminal(&["top", "--interval", "300ms"], &steps);
    drop(busy);
    assert_eq!(said, format!("exit 0\n{GIVEN_BACK}"));
}

/// A process that only computes, on CPU 0 only, is seen there: what runs, its busy time by event, its interrupts.
#[test]
fn a_cpu_leads_to_what_runs_on_it() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let code = "import os; os.sched_setaffinity(0, {0})\nwhile True: pass";
    let busy = TestCommand::new("python3").args(["-c", code]).spawn().unwrap();
    let steps = [
        "wait RESOURCE",
        "keys c",
        "wait scheduling",
        // Below the line of all CPUs.
        "keys j\\r",
        "wait what runs on it",
        "size 160 50",
        "wait CPU 0, % of its time",
        "wait python3",
        "wait PyEval",
        "wait TIMER",
        // The longest of a handler: from the second sample of the probes on, as are figures by event.
        "wait  µs",
        "keys s",
        "wait wrote",
        "keys q",
    ];
    let folder = tempfile::tempdir().unwrap();
    let said = on_a_terminal_in(folder.path(), &["top", "--interval", "300ms"], &steps);
    drop(busy);
    assert_eq!(said, format!("exit 0\n{GIVEN_BACK}"));
    let text = std::fs::read_to_string(the_one(folder.path(), ".txt")).unwrap();
    // A second: s ago, seven figures by tick, four by event.
    let is_busy = |line: &str| {
        let figures: Vec<&str> = line.trim_start_matches('>').split_whitespace().collect();
        figures.len() == 12 && figures[8].parse::<f64>().is_ok_and(|percent| percent > 50.0)
    };
    assert!(text.lines().any(is_busy), "{text}");
    // A recording of it tells the same; another CPU was not looked at.
    let recording = the_one(folder.path(), ".iodyno");
    let path = recording.to_str().unwrap();
    let rows =
        TestCommand::new(IODYNO).args(["export", path, "profile", "--json"]).run().unwrap().expect_code(0).ndjson();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["cpu"] == 0), "{rows:?}");
    let again = ["wait RECORDED", "keys c", "wait scheduling", "keys j\\r", "size 160 50", "wait PyEval", "keys q"];
    assert_eq!(on_a_terminal(&["top", path], &again), format!("exit 0\n{GIVEN_BACK}"));
}

/// The one entry of a directory with this ending.
fn the_one(directory: &Path, ending: &str) -> PathBuf {
    let found = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = found.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A process writes 64 KiB at a time, 50 MiB to a device of 64 MiB: live, in the text and the recording of a snapshot.
#[test]
fn the_page_of_a_disk_shows_sizes_and_addresses() {
    if !testkit::require_root_or_skip() {
        return;
    }
    const AT: u64 = 50 << 20;
    let device = testkit::LoopDevice::new(64 << 20).unwrap();
    let name = device.name();
    let folder = tempfile::tempdir().unwrap();
    let is_over = AtomicBool::new(false);
    let find = format!("keys /{name}\\r");
    let (opened, operations) = (format!("wait DISK SIZE {name}"), format!("wait operations on {name}"));
    let steps = [
        "wait RESOURCE",
        "keys d",
        "wait block devices",
        &find,
        // Which disk is used most is not for this test to say. A new size draws all of the page anew, once it is there.
        "keys \\r",
        "wait files on",
        "size 160 50",
        &opened,
        &operations,
        "wait 67MB",
        "wait 64Ki",
    ];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = testkit::direct::open(device.path()).unwrap();
            let data = vec![7; 65_536];
            // No longer than the terminal is waited for, should that fail.
            let until_ns = testkit::now_ns() + 150_000_000_000;
            while !is_over.load(Ordering::Relaxed) && testkit::now_ns() < until_ns {
                testkit::direct::write(&file, AT, &data).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let live = [&steps[..], &["keys s", "wait wrote", "keys q"]].concat();
        let said = on_a_terminal_in(folder.path(), &["top", "--interval", "300ms"], &live);
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(said, format!("exit 0\n{GIVEN_BACK}"));
    });
    let text = std::fs::read_to_string(the_one(folder.path(), ".txt")).unwrap();
    // Ten rows of addresses: 47 MB is where the eighth begins, the one with the most. What the machine itself reads of a new
    // device, at its begin and its end, is on others.
    let places = |line: &str| line.chars().skip(106).collect::<String>();
    let rows: Vec<String> = text.lines().skip(2).take(10).map(places).collect();
    // Beside the label.
    let marked: Vec<&str> = rows.iter().map(|row| row.trim()).filter(|row| row.contains(' ')).collect();
    assert!(marked.iter().any(|row| row.starts_with("47M") && row.contains('@')), "{text}");
    let writes = text.lines().find(|line| line.starts_with(" write")).unwrap_or_else(|| panic!("no writes: {text}"));
    let writes: Vec<&str> = writes.split_whitespace().collect();
    assert_eq!((writes[3], writes[4], *writes.last().unwrap()), ("64Ki", "64Ki", "0%"), "no process waits: {text}");
    let recording = the_one(folder.path(), ".iodyno");
    let path = recording.to_str().unwrap();
    let rows = TestCommand::new(IODYNO).args(["export", path, "io_place", "--json"]).run().unwrap().expect_code(0);
    let is_written = |row: &Value| row["dev"] == name.as_str() && row["writes"].as_i64() > Some(0);
    let rows: Vec<_> = rows.ndjson().into_iter().filter(is_written).collect();
    assert!(
        !rows.is_empty() && rows.iter().all(|row| row["band"] == 50 && row["capacity_bytes"] == 64 << 20),
        "{rows:?}"
    );
    let again = [&steps[..], &["keys q"]].concat();
    assert_eq!(on_a_terminal(&["top", path], &again), format!("exit 0\n{GIVEN_BACK}"));
}

/// A server that takes 20 ms for each answer, and a client that asks it until `is_over`; its port.
fn slow_server(is_over: &Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut byte = [0];
        while stream.read(&mut byte).is_ok_and(|count| count == 1) {
            std::thread::sleep(Duration::from_millis(20));
            stream.write_all(b"a").unwrap();
        }
    });
    let is_over = Arc::clone(is_over);
    std::thread::spawn(move || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        while !is_over.load(Ordering::Relaxed) {
            stream.write_all(b"q").unwrap();
            stream.read_exact(&mut [0]).unwrap();
        }
    });
    port
}

/// Live from the list of servers, and of what the probe recorded of the same server.
#[test]
fn a_port_leads_to_how_long_its_answers_take() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let port = slow_server(&is_over);
    // Only what differs from the page before is drawn: words that have nothing in common with what was there.
    let (filter, heading) = (format!("keys /{port}\\r"), format!("wait {port}, last"));
    let to_the_port = [
        "keys r",
        "wait Enter watches",
        &filter,
        "keys \\r",
        &heading,
        "wait preempted",
        "wait 16.8",
        "keys \\x1b",
        "wait Enter watches",
        // The one that was chosen before.
        "keys r",
        "wait response",
        "keys q",
    ];
    let steps = |first: &[&'static str]| -> Vec<String> {
        first.iter().copied().chain(to_the_port).map(str::to_string).collect()
    };
    let run = |arguments: &[&str], steps: &[String]| {
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        assert_eq!(on_a_terminal(arguments, &steps), format!("exit 0\n{GIVEN_BACK}"));
    };
    run(&["top", "--interval", "300ms"], &steps(&["wait RESOURCE"]));
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (recording, number) = (folder.path().join("seen"), port.to_string());
    let recording = recording.to_str().unwrap();
    let probe = ["probe", "requests", "--port", &number, "500ms", "2", "-o", recording];
    TestCommand::new(IODYNO).args(probe).run().unwrap().expect_code(0);
    run(&["top", recording], &steps(&["wait RECORDED"]));
    is_over.store(true, Ordering::Relaxed);
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let ran = TestCommand::new(IODYNO).arg("top").run().unwrap().expect_code(2);
    assert!(ran.stderr.contains("iodyno stat") && ran.stderr.contains("iodyno diagnose"), "{}", ran.stderr);
}

#[test]
fn once_prints_the_page() {
    let args = ["top", "--once", "--size", "120x40", "--interval", "200ms"];
    let page = TestCommand::new(IODYNO).args(args).run().unwrap().expect_code(0).stdout;
    assert_eq!(page.lines().count(), 40, "{page}");
    for word in ["FINDINGS", "RESOURCE", "cpu", "memory", "tcp", "PROCESS", "CPU GRID", "LIVE"] {
        assert!(page.contains(word), "{word} is missing: {page}");
    }
    assert!(!page.contains('\x1b'), "plain text");
    // This very process used CPU time, and so is on its page, unless too many others used more in that moment.
    let has_itself = |page: &str| page.contains("iodyno ");
    let again = || TestCommand::new(IODYNO).args(args).run().unwrap().expect_code(0).stdout;
    assert!(has_itself(&page) || (0..10).any(|_| has_itself(&again())), "{page}");
}

#[test]
fn a_recording_is_gone_through() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("r");
    let path = recording.to_str().unwrap();
    TestCommand::new(IODYNO).args(["record", "-o", path, "--for", "5s", "-i", "200ms"]).run().unwrap().expect_code(0);
    // High enough for all parts, also where findings of a busy machine take some of it.
    let page =
        TestCommand::new(IODYNO).args(["top", path, "--once", "--size", "120x60"]).run().unwrap().expect_code(0).stdout;
    for word in ["RECORDED", "cpu", "psi io", "iops", "sealed", "single I/Os were not recorded", "PROCESS"] {
        assert!(page.contains(word), "{word} is missing: {page}");
    }
    assert!(!page.contains("judg"), "it has been judged: {page}");
    // Home goes to the first moment, D twice compares it with the last.
    let steps = ["wait RECORDED", "keys D", "wait elsewhere", "keys \\x1b[H", "keys D", "wait differs", "keys q"];
    assert_eq!(on_a_terminal(&["top", path], &steps), format!("exit 0\n{GIVEN_BACK}"));
    // Two bookmarks are gone through; one is taken away. Only what differs from the page before is drawn.
    let steps = [
        "wait iops",
        "keys B",
        "wait bookmark yet",
        "keys b",
        "wait comes back",
        "wait ◆",
        "keys \\x1b[H",
        "wait goto",
        "keys b",
        "wait all 2",
        "keys B",
        "wait 2 of 2",
        // A key without a meaning: the last line tells keys again.
        "keys z",
        "wait goto",
        "keys B",
        "wait 1 of 2",
        "keys b",
        "wait is gone",
        "keys q",
    ];
    assert_eq!(on_a_terminal(&["top", path], &steps), format!("exit 0\n{GIVEN_BACK}"));
    // Played from its beginning it comes to its end, ten times as fast.
    let steps =
        ["wait iops", "keys \\x1b[H", "keys +", "wait plays ×10", "keys  ", "wait PLAY", "wait its end", "keys q"];
    assert_eq!(on_a_terminal(&["top", path], &steps), format!("exit 0\n{GIVEN_BACK}"));
    let nothing = TestCommand::new(IODYNO).args(["top", folder.path().to_str().unwrap(), "--once"]).run().unwrap();
    nothing.expect_code(2);
}

/// 40 minutes of a CPU and of 60 processes.
fn forty_minutes(path: &std::path::Path) {
    use recording::rows::{Cpu, Process};
    use recording::{Manifest, RowBatch, Sink as _, Writer};
    let mut writer = Writer::create(path, Manifest::new(&["test".to_string()])).unwrap();
    let begun = writer.started_t_ns().cast_signed();
    for second in 0..2400 {
        let (t_ns, t_s) = (begun + second * 1_000_000_000, second as f64);
        let cpu = |cpu: &str| Cpu {
            t_ns,
            t_s,
            cpu: cpu.to_string(),
            user_ns: second * 300_000_000,
            system_ns: 0,
            idle_ns: second * 700_000_000,
            clock: "tick".to_string(),
            ..Cpu::default()
        };
        let process = |number: i64| Process {
            t_ns: t_ns + 1000,
            t_s,
            pid: 1000 + number,
            start_ns: Some(number),
            comm: format!("worker{number}"),
            threads: Some(1),
            user_ns: Some(second * 1_000_000 * (number + 1)),
            system_ns: Some(second * 17 % 1000),
            resident_bytes: Some(second * number),
            // Figures that do not pack: the file has many pieces, each with a checksum of its own.
            read_bytes: Some((second * 61 + number).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed()) >> 2),
            ..Process::default()
        };
        writer.accept(&RowBatch::from_rows(&[cpu("all"), cpu("0")]).unwrap()).unwrap();
        writer.accept(&RowBatch::from_rows(&(0..60).map(process).collect::<Vec<_>>()).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    writer.seal_past().unwrap();
}

#[test]
fn a_long_recording_is_read_where_it_is_looked_at() {
    use std::os::unix::fs::FileExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    forty_minutes(&path);
    // Rows from long before the time that the page shows are damaged: reading them fails.
    let host = std::fs::read_dir(path.join("process")).unwrap().next().unwrap().unwrap().path();
    let part = std::fs::OpenOptions::new().write(true).open(host.join("000001.parquet")).unwrap();
    let quarter = usize::try_from(part.metadata().unwrap().len() / 4).unwrap();
    assert!(quarter > 200_000, "{quarter} bytes");
    part.write_all_at(&vec![0xff; quarter], 4).unwrap();
    let path = path.to_str().unwrap();
    let all = TestCommand::new(IODYNO).args(["diagnose", path]).run().unwrap();
    assert!(all.stderr.contains("process"), "the damage is met: {} {}", all.stdout, all.stderr);
    let once = ["top", path, "--once", "--size", "160x50"];
    // The damage is said and gives the exit code; the page stands whole.
    let ran = TestCommand::new(IODYNO).args(once).run().unwrap().expect_code(6);
    assert!(ran.stderr.contains("000001.parquet is damaged"), "{}", ran.stderr);
    let page = ran.stdout;
    for word in ["RECORDED", "worker59 1059", "judged: last 13 min", "psi io", "FINDINGS (0 open"] {
        assert!(page.contains(word), "{word} is missing: {page}");
    }
}

#[test]
fn a_collector_is_watched_while_it_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let attach = ["top", "--attach", path, "--once", "--size", "120x40"];
    let ran = TestCommand::new(IODYNO).args(attach).run().unwrap().expect_code(2);
    assert!(ran.stderr.contains("record -d"), "{}", ran.stderr);
    let collector = TestCommand::new(IODYNO).args(["record", "-d", path, "-i", "200ms"]).spawn().unwrap();
    // Until it has begun, and taken two samples.
    let mut page = String::new();
    let until_ns = testkit::now_ns() + 120_000_000_000;
    while !(page.contains("LIVE") && page.contains("the collector does not record")) {
        assert!(testkit::now_ns() < until_ns, "{page}");
        let ran = TestCommand::new(IODYNO).args(attach).run().unwrap();
        page = format!("{}{}", ran.stdout, ran.stderr);
    }
    // It goes on as the collector writes.
    let steps = ["wait LIVE", "wait LIVE", "keys c", "wait scheduling", "keys q"];
    assert_eq!(on_a_terminal(&["top", "--attach", path], &steps), format!("exit 0\n{GIVEN_BACK}"));
    collector.signal(rustix::process::Signal::TERM);
    collector.wait().unwrap();
    let ran = TestCommand::new(IODYNO).args(attach).run().unwrap().expect_code(2);
    assert!(ran.stderr.contains("iodyno top"), "the newest recording is named: {}", ran.stderr);
}

/// Killed, it has no time to say so: the page does, without a key.
#[test]
fn a_collector_that_is_killed_is_not_live() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let collector = TestCommand::new(IODYNO).args(["record", "-d", path, "-i", "300ms"]).spawn().unwrap();
    let number = collector.id();
    let attach = ["top", "--attach", path, "--once"];
    let until_ns = testkit::now_ns() + 120_000_000_000;
    while !TestCommand::new(IODYNO).args(attach).run().unwrap().stdout.contains("LIVE") {
        assert!(testkit::now_ns() < until_ns, "never begun");
    }
    // From without: who drives the terminal cannot.
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(10));
        TestCommand::new("kill").args(["-9", &number.to_string()]).run().unwrap();
    });
    let steps = ["wait LIVE", "wait the collector has ended", "keys q"];
    assert_eq!(on_a_terminal(&["top", "--attach", path], &steps), format!("exit 0\n{GIVEN_BACK}"));
    killer.join().unwrap();
    drop(collector);
}

/// `ssh` is whatever is first in PATH: this one runs the words here, as ssh does there, and keeps them.
#[test]
fn a_collector_elsewhere_is_watched_through_ssh() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (bin, days) = (folder.path().join("bin"), folder.path().join("the days"));
    std::fs::create_dir_all(&bin).unwrap();
    let script = format!("#!/bin/sh\necho \"$1 $2 $3 $4\" >> '{}'\nexec sh -c \"$4\"\n", bin.join("said").display());
    std::fs::write(bin.join("ssh"), script).unwrap();
    std::fs::set_permissions(bin.join("ssh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(IODYNO, bin.join("iodyno")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let there = days.to_str().unwrap().to_string();
    let place = format!("db7:{there}");
    let attach = |more: &[&str]| {
        let args = ["top", "--attach", &place].into_iter().chain(more.iter().copied());
        TestCommand::new(IODYNO).args(args).env("PATH", &path).env("NO_COLOR", "1").run().unwrap()
    };
    let collector = TestCommand::new(IODYNO).args(["record", "-d", &there, "-i", "200ms"]).spawn().unwrap();
    let until_ns = testkit::now_ns() + 120_000_000_000;
    let page = loop {
        let ran = attach(&["--once", "--size", "100x30"]);
        if ran.stdout.contains("LIVE") {
            break ran.expect_code(0).stdout;
        }
        assert!(testkit::now_ns() < until_ns, "{} {}", ran.stdout, ran.stderr);
    };
    assert_eq!(page.lines().count(), 30, "{page}");
    let said = std::fs::read_to_string(bin.join("said")).unwrap();
    let line = format!("-t db7 -- NO_COLOR=1 iodyno top --attach '{there}' --once --size '100x30'");
    assert_eq!(said.lines().last(), Some(line.as_str()));
    // What would be left out over there is refused here, and ssh is not called.
    for (more, word) in [
        (&["--once", "--interval", "5s"][..], "--attach"),
        (&["--once", "--no-probes"][..], "--attach"),
        (&["--once", "--thresholds", "/dev/null"][..], "copy it there"),
    ] {
        let ran = attach(more).expect_code(2);
        assert!(ran.stderr.contains(word), "{more:?}: {}", ran.stderr);
    }
    assert_eq!(std::fs::read_to_string(bin.join("said")).unwrap(), said);
    collector.signal(rustix::process::Signal::TERM);
    collector.wait().unwrap();
}

/// With the probes of switches and interrupts from the first page on, findings that need them can open.
#[test]
fn live_figures_are_by_event_where_that_is_allowed() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let args = ["top", "--once", "--size", "160x50", "--interval", "500ms"];
    let page = TestCommand::new(IODYNO).args(args).run().unwrap().expect_code(0).stdout;
    assert!(page.contains("clock event(cpu irq)") && page.contains("runq ms"), "{page}");
    let args = ["top", "--once", "--size", "160x50", "--interval", "500ms", "--no-probes"];
    let page = TestCommand::new(IODYNO).args(args).run().unwrap().expect_code(0).stdout;
    assert!(
        page.contains("clock tick(cpu") && page.lines().any(|line| line.contains("cpu ") && line.contains('~')),
        "{page}"
    );
}
