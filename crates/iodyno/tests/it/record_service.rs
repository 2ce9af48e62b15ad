//! `iodyno record -d`: kills, full disks, two at once.

use crate::support::Scratch;
use recording::rows::{Cpu, Event};
use recording::{EventKind, Reader, RecordingState};
use rustix::process::Signal;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testkit::{Child, MountedFileSystem, TestCommand};

/// Recordings in a directory, oldest first.
fn recordings(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("manifest.json").exists())
        .collect();
    found.sort_by_key(|path| Reader::open(path).unwrap().manifest().started_t_ns);
    found
}

/// Times of the samples of a recording.
fn samples(path: &Path) -> Vec<i64> {
    let rows = Reader::open(path).unwrap().table::<Cpu>().unwrap();
    rows.iter().filter(|row| row.cpu == "all").map(|row| row.t_ns).collect()
}

fn wait_for(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) {
    #[expect(clippy::disallowed_methods, reason = "a test's own patience")]
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn collector(scratch: &Scratch, directory: &Path) -> Child {
    scratch.iodyno(&["record", "-d", directory.to_str().unwrap(), "-i", "50ms", "--min-free", "0"]).spawn().unwrap()
}

#[test]
fn killed_again_and_again_it_loses_only_the_interval_under_way() {
    let scratch = Scratch::new();
    let directory = scratch.path("collected");
    for round in 1..=6 {
        let child = collector(&scratch, &directory);
        wait_for("samples", Duration::from_secs(60), || {
            directory.exists()
                && recordings(&directory).len() == round
                && recordings(&directory).last().is_some_and(|path| samples(path).len() >= 3)
        });
        if round == 2 {
            let refused = scratch.iodyno(&["record", "-d", directory.to_str().unwrap()]).run().unwrap();
            let refused = refused.expect_code(7);
            assert!(refused.stderr.contains(&child.id().to_string()), "{}", refused.stderr);
        }
        child.signal(Signal::KILL);
        drop(child);
    }
    let child = collector(&scratch, &directory);
    wait_for("sealing", Duration::from_secs(180), || {
        recordings(&directory)
            .iter()
            .filter(|path| Reader::open(path).unwrap().state() == RecordingState::Sealed)
            .count()
            == 6
    });
    child.signal(Signal::TERM);
    child.wait().unwrap().expect_code(0);
    let all = recordings(&directory);
    assert_eq!(all.len(), 7);
    for path in &all {
        assert_eq!(Reader::open(path).unwrap().state(), RecordingState::Sealed);
        let times = samples(path);
        // Nothing is lost or doubled in between; a busy machine may come late, and says so.
        assert!(times.windows(2).all(|pair| pair[1] > pair[0]), "{times:?}");
        let events = Reader::open(path).unwrap().table::<Event>().unwrap();
        let is_late = events.iter().any(|event| event.kind == EventKind::Gap);
        let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        assert!(is_late || gap < 150_000_000, "{gap} ns without a word: {events:?}");
    }
}

#[test]
#[ignore = "minutes; `make soak`"]
fn soak_killed_two_hundred_times_at_any_moment() {
    let scratch = Scratch::new();
    let directory = scratch.path("collected");
    let now_ns = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec * 1_000_000_000 + now.tv_nsec
    };
    let mut killed_ns = Vec::new();
    let mut dice = 12_345_u64;
    for _ in 0..200 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let child = collector(&scratch, &directory);
        // From before there is a recording to well into one, and while the last ones are being sealed.
        std::thread::sleep(Duration::from_millis(20 + (dice >> 33) % 600));
        killed_ns.push(now_ns());
        child.signal(Signal::KILL);
        drop(child);
    }
    let child = collector(&scratch, &directory);
    wait_for("sealing", Duration::from_secs(120), || {
        recordings(&directory)
            .iter()
            .filter(|path| Reader::open(path).unwrap().state() != RecordingState::Sealed)
            .count()
            <= 1
    });
    std::thread::sleep(Duration::from_millis(500));
    child.signal(Signal::TERM);
    child.wait().unwrap().expect_code(0);
    let all = recordings(&directory);
    assert!(all.len() > 100, "{} recordings of 201 starts", all.len());
    let mut last_ns = 0;
    for path in &all {
        assert_eq!(Reader::open(path).unwrap().state(), RecordingState::Sealed, "{}", path.display());
        let times = samples(path);
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "none twice, none out of order: {}", path.display());
        let (Some(first), Some(last)) = (times.first(), times.last()) else { continue };
        assert!(*first > last_ns, "none in two recordings: {}", path.display());
        last_ns = *last;
        // A sample is due every 50 ms; the rest is what a busy machine makes of it.
        if let Some(killed_ns) = killed_ns.iter().find(|killed_ns| *killed_ns >= last) {
            assert!(
                killed_ns - last < 700_000_000,
                "{} ns are missing at the end of {}",
                killed_ns - last,
                path.display()
            );
        }
    }
    println!("{} recordings, {} samples", all.len(), all.iter().map(|path| samples(path).len()).sum::<usize>());
}

#[test]
fn a_full_disk_costs_the_samples_that_had_no_room() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let disk = MountedFileSystem::tmpfs(3 << 20).unwrap();
    let directory = disk.path().join("collected");
    let mut child = collector(&scratch, &directory);
    wait_for("samples", Duration::from_secs(60), || {
        directory.exists() && recordings(&directory).last().is_some_and(|path| samples(path).len() >= 3)
    });
    let ballast = disk.path().join("ballast");
    // Fails when the disk is full, which is what it is for.
    let _ = std::fs::write(&ballast, vec![1; 4 << 20]);
    std::thread::sleep(Duration::from_millis(700));
    assert!(!child.has_ended(), "{}", child.stderr());
    std::fs::remove_file(&ballast).unwrap();
    let path = recordings(&directory).pop().unwrap();
    let is_recorded = |path: &Path| {
        Reader::open(path).unwrap().table::<Event>().unwrap().iter().any(|event| event.kind == EventKind::DiskFull)
    };
    wait_for("the event", Duration::from_secs(60), || is_recorded(&path));
    let known = samples(&path).len();
    wait_for("samples after it", Duration::from_secs(60), || samples(&path).len() >= known + 3);
    child.signal(Signal::TERM);
    child.wait().unwrap().expect_code(0);
    let times = samples(&path);
    assert!(times.len() > 5 && times.windows(2).all(|pair| pair[1] > pair[0]), "{times:?}");
}

#[test]
fn a_collector_whose_recordings_are_removed_says_so() {
    let scratch = Scratch::new();
    let begun = |directory: &Path| {
        wait_for("samples", Duration::from_secs(60), || {
            directory.exists() && recordings(directory).last().is_some_and(|path| samples(path).len() >= 3)
        });
        recordings(directory).pop().unwrap()
    };
    let directory = scratch.path("collected");
    // The recording under way: another one begins, and tells.
    let child = collector(&scratch, &directory);
    std::fs::remove_dir_all(begun(&directory)).unwrap();
    let next = begun(&directory);
    child.signal(Signal::TERM);
    let ended = child.wait().unwrap().expect_code(6);
    assert!(ended.stderr.contains("1 recordings were removed by others while they were written"), "{}", ended.stderr);
    let events = Reader::open(next).unwrap().table::<Event>().unwrap();
    assert!(events.iter().any(|event| event.kind == EventKind::RecordingRemoved), "{events:?}");
    // All of it: it ends by itself.
    let directory = scratch.path("another");
    let child = collector(&scratch, &directory);
    begun(&directory);
    wait_for("removal", Duration::from_secs(60), || std::fs::remove_dir_all(&directory).is_ok());
    let ended = child.wait().unwrap().expect_code(6);
    assert!(ended.stderr.contains("was removed while iodyno recorded to it"), "{}", ended.stderr);
    assert!(!directory.exists());
}

#[test]
fn a_collector_that_had_no_room_to_its_end_says_so() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let disk = MountedFileSystem::tmpfs(200 << 10).unwrap();
    let directory = disk.path().join("collected");
    let arguments = ["record", "-d", directory.to_str().unwrap(), "-i", "20ms", "--for", "2s"];
    let ended = scratch.iodyno(&arguments).run().unwrap().expect_code(6);
    assert!(ended.stderr.contains("could not be sealed") && ended.stderr.contains("had no room"), "{}", ended.stderr);
}

/// No series is there twice, and the parser of Prometheus' own client takes all of it.
fn reads_as_open_metrics(body: &str) {
    let series: Vec<&str> =
        body.lines().filter(|line| !line.starts_with('#')).filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
    let mut once = series.clone();
    once.sort_unstable();
    once.dedup();
    assert!(series.len() > 100 && once.len() == series.len(), "{} of {} series: {body}", once.len(), series.len());
    let parse = "import sys\nfrom prometheus_client.openmetrics.parser import text_string_to_metric_families as read\n\
                 print(sum(len(family.samples) for family in read(sys.stdin.read())))";
    // Debian's, which has the package.
    let read = TestCommand::new("/usr/bin/python3").args(["-c", parse]).stdin(body).run().unwrap().expect_code(0);
    assert_eq!(read.stdout.trim().parse(), Ok(series.len()), "{}", read.stderr);
}

#[test]
fn prometheus_gets_the_newest_sample_and_old_scripts_their_text() {
    let scratch = Scratch::new();
    let arguments = ["record", "-o", "r", "-i", "100ms", "--export", "127.0.0.1:0", "--text", "gather"];
    let mut child = scratch.iodyno(&arguments).spawn().unwrap();
    let mut address = None;
    wait_for("the address", Duration::from_secs(60), || {
        let said = child.stderr();
        let line = said.lines().find_map(|line| line.split_once("http://").map(|(_, rest)| rest.to_string()));
        address = line.and_then(|line| line.strip_suffix("/metrics").map(String::from));
        address.is_some()
    });
    let ask_as = |accept: &str| {
        let mut stream = std::net::TcpStream::connect(address.clone().unwrap()).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: {accept}\r\n\r\n")
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    };
    let ask = || String::from_utf8(ask_as("*/*")).unwrap();
    let context_switches = |page: &str| {
        let line = page.lines().find(|line| line.starts_with("iodyno_system_context_switches_total "));
        line.and_then(|line| line.split(' ').nth(1)?.parse::<f64>().ok())
    };
    wait_for("a sample", Duration::from_secs(60), || context_switches(&ask()).is_some());
    let before = context_switches(&ask()).unwrap();
    wait_for("another one", Duration::from_secs(60), || context_switches(&ask()).unwrap() > before);
    let page = ask();
    assert!(page.contains("# TYPE iodyno_cpu_user_seconds counter") && page.ends_with("# EOF\n"), "{page}");
    let (_, body) = page.split_once("\r\n\r\n").unwrap();
    reads_as_open_metrics(body);
    // A sum over all CPUs is what they have had since the machine was started, and not twice that.
    let kinds = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let is_time =
        |line: &&str| kinds.iter().any(|kind| line.starts_with(&format!("iodyno_cpu_{kind}_seconds_total{{")));
    let times = body.lines().filter(is_time).map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap());
    let (sum, stat) = (times.sum::<f64>(), std::fs::read_to_string("/proc/stat").unwrap());
    let of_kernel: f64 = stat
        .lines()
        .next()
        .unwrap()
        .split_whitespace()
        .skip(1)
        .take(8)
        .map(|ticks| ticks.parse::<f64>().unwrap() / 100.0)
        .sum();
    assert!(sum > 0.7 * of_kernel && sum < 1.05 * of_kernel, "{sum} of {of_kernel}");
    let messages = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
    let answer = ask_as(messages);
    let head = String::from_utf8_lossy(&answer[..200]).into_owned();
    assert!(
        head.contains("Content-Type: application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily"),
        "{head}"
    );
    let holds = |words: &str| answer.windows(words.len()).any(|part| part == words.as_bytes());
    assert!(holds("iodyno_cpu_user_seconds_total"));
    if testkit::is_root() {
        assert!(
            body.contains("# TYPE iodyno_run_queue_wait_seconds histogram") && holds("iodyno_run_queue_wait_seconds")
        );
    }
    let vmstat = scratch.path("gather").join("vmstat.out");
    let has_vmstat = vmstat.exists();
    if has_vmstat {
        wait_for("text", Duration::from_secs(60), || std::fs::read_to_string(&vmstat).unwrap().lines().count() >= 5);
    }
    child.signal(Signal::INT);
    child.wait().unwrap().expect_code(0);
    if has_vmstat {
        scratch.iodyno(&["import", "gather", "-o", "again"]).run().unwrap().expect_code(0);
        let rows = Reader::open(scratch.path("again")).unwrap().table::<recording::rows::System>().unwrap();
        assert!(rows.len() >= 2 && rows[1].context_switches > rows[0].context_switches, "{rows:?}");
    }
}

#[test]
fn a_closed_standard_error_loses_words_and_nothing_else() {
    let scratch = Scratch::new();
    // Standard error has no reader: as behind `2>&1 | head`, or a journal that went away.
    let script = format!(
        "{} record --for 1s -o r 2>&1 >/dev/null | true; exit ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_iodyno")
    );
    testkit::TestCommand::new("bash").args(["-c", &script]).dir(scratch.path("")).run().unwrap().expect_code(0);
    let reader = Reader::open(scratch.path("r")).unwrap();
    assert_eq!(reader.state(), RecordingState::Sealed);
}

/// Every name below, with its contents where it is a file.
fn everything(top: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(top).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(everything(&path));
        }
        found.push((path.clone(), std::fs::read(&path).unwrap_or_default()));
    }
    found.sort();
    found
}

#[test]
fn a_directory_that_others_use_is_refused_and_a_folder_in_it_is_not() {
    let scratch = Scratch::new();
    scratch.iodyno(&["record", "--for", "200ms", "-o", "archive/monday"]).run().unwrap().expect_code(0);
    for (name, text) in
        [("archive/monday/NOTES.txt", "mine"), ("archive/.lock", "mine"), ("archive/x\n\u{1b}[31m", "mine")]
    {
        std::fs::write(scratch.path(name), text).unwrap();
    }
    std::fs::create_dir(scratch.path("archive/.old-photos")).unwrap();
    std::fs::write(scratch.path("archive/.old-photos/1.jpg"), "mine").unwrap();
    let before = everything(&scratch.path("archive"));
    let limits =
        ["--max-size", "1k", "--keep-at-least", "0", "--keep", "1h", "--for", "300ms", "-i", "50ms", "--clock", "tick"];
    let refused = scratch.iodyno(&[["record", "-d", "archive"].as_slice(), &limits].concat()).run().unwrap();
    let refused = refused.expect_code(7);
    let words = "archive holds what no collector made: ";
    assert!(
        refused.stderr.contains(words) && refused.stderr.contains("such as archive/collector"),
        "{}",
        refused.stderr
    );
    assert_eq!(everything(&scratch.path("archive")), before);
    let inside = scratch.path("archive/collector");
    for _ in 0..3 {
        scratch
            .iodyno(&[["record", "-d", "archive/collector"].as_slice(), &limits].concat())
            .run()
            .unwrap()
            .expect_code(0);
    }
    let all = everything(&scratch.path("archive"));
    let outside: Vec<_> = all.into_iter().filter(|(path, _)| !path.starts_with(&inside)).collect();
    assert_eq!(outside, before);
    // What --max-size wants gone is gone, but the newest one and the one before it that was the newest then.
    let left = recordings(&inside);
    assert_eq!(left.len(), 2, "{left:?}");
    let events = Reader::open(&left[1]).unwrap().table::<Event>().unwrap();
    let removed: Vec<_> =
        events.iter().filter(|event| event.kind == EventKind::Retention).map(|event| &event.message).collect();
    assert!(
        removed.len() == 1 && removed[0].starts_with("removed ") && removed[0].contains("all together"),
        "{removed:?}"
    );
}

#[test]
fn what_is_kept_is_not_said_of_a_single_recording() {
    let scratch = Scratch::new();
    for flag in
        [["--keep", "3d"], ["--keep-at-least", "3d"], ["--max-size", "1g"], ["--min-free", "1g"], ["--thin", "10s:2d"]]
    {
        for more in [["-o", "q"].as_slice(), &["--", "true"], &[]] {
            let refused = scratch.iodyno(&[&["record"], flag.as_slice(), more].concat()).run().unwrap().expect_code(2);
            assert!(refused.stderr.contains(flag[0]) || refused.stderr.contains("--directory"), "{}", refused.stderr);
        }
    }
    assert!(!scratch.path("q").exists());
}

#[test]
fn a_signal_for_the_collector_reaches_its_command() {
    let scratch = Scratch::new();
    for (signal, code, caught) in [(Signal::INT, 130, "INT"), (Signal::TERM, 143, "TERM")] {
        // A command that ends well on a signal, and says which signal that was.
        let script = "trap 'echo INT > caught; exit 0' INT; trap 'echo TERM > caught; exit 0' TERM; : > ready; while :; do sleep 0.05; done";
        let name = format!("r{code}");
        let arguments = ["record", "-o", &name, "-i", "50ms", "--clock", "tick", "--", "bash", "-c", script];
        let child = scratch.iodyno(&arguments).spawn().unwrap();
        wait_for("the command", Duration::from_secs(60), || scratch.path("ready").exists());
        child.signal(signal);
        let ended = child.wait().unwrap().expect_code(code);
        assert!(ended.stderr.contains("by tick"), "what it cost is said: {}", ended.stderr);
        assert_eq!(std::fs::read_to_string(scratch.path("caught")).unwrap().trim(), caught);
        let reader = Reader::open(scratch.path(&name)).unwrap();
        assert_eq!(reader.state(), RecordingState::Sealed);
        for file in ["ready", "caught"] {
            std::fs::remove_file(scratch.path(file)).unwrap();
        }
    }
}

#[test]
fn a_host_that_is_renamed_goes_on_and_its_next_recording_has_the_new_name() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let directory = scratch.path("collected");
    let named = |name: &str, again: Option<&str>, count: usize| {
        // In a namespace of its own, so that no other host is renamed.
        let script = format!(
            "hostname {name}; exec {} record -d {} -i 50ms --min-free 0 --clock tick",
            env!("CARGO_BIN_EXE_iodyno"),
            directory.display()
        );
        let child = testkit::TestCommand::new("unshare").args(["--uts", "sh", "-c", &script]).spawn().unwrap();
        let newest = || recordings(&directory).pop().filter(|_| recordings(&directory).len() == count);
        wait_for("samples", Duration::from_secs(60), || {
            directory.exists() && newest().is_some_and(|path| samples(&path).len() >= 3)
        });
        if let Some(again) = again {
            let pid = child.id().to_string();
            testkit::TestCommand::new("nsenter")
                .args(["-t", &pid, "-u", "hostname", again])
                .run()
                .unwrap()
                .expect_code(0);
        }
        let path = newest().unwrap();
        let known = samples(&path).len();
        wait_for("samples after it", Duration::from_secs(60), || samples(&path).len() >= known + 3);
        child.signal(Signal::TERM);
        child.wait().unwrap().expect_code(0);
    };
    named("before.example", Some("after.example"), 1);
    named("after.example", None, 2);
    let hosts: Vec<String> = recordings(&directory)
        .iter()
        .map(|path| {
            let reader = Reader::open(path).unwrap();
            assert_eq!(reader.state(), RecordingState::Sealed);
            let times = samples(path);
            assert!(times.len() >= 6 && times.windows(2).all(|pair| pair[1] > pair[0]), "{times:?}");
            reader.manifest().host.clone()
        })
        .collect();
    assert_eq!(hosts, ["before.example", "after.example"]);
}

#[test]
fn a_signal_before_the_command_begins_leaves_a_whole_recording_and_no_command() {
    let scratch = Scratch::new();
    let mut before = 0;
    for (number, signal) in (0..10_i32).zip([Signal::INT, Signal::TERM].into_iter().cycle()) {
        let (name, text) = (format!("r{number}"), format!("t{number}"));
        let script = format!("echo $$ > pid{number}; exec sleep 300");
        // The folder of the classic tools' text is the first that is seen of it.
        let arguments = ["record", "-o", &name, "--text", &text, "--", "sh", "-c", &script];
        let child = scratch.iodyno(&arguments).spawn().unwrap();
        let seen = if number % 3 == 0 { &name } else { &text };
        let until_ns = testkit::now_ns() + 60_000_000_000;
        while !scratch.path(seen).exists() {
            assert!(testkit::now_ns() < until_ns, "no {seen}");
        }
        // Later and later, by work and not by a clock.
        (0..number * number * 100).for_each(|_| drop(std::fs::metadata(scratch.path(&name))));
        child.signal(signal);
        let ended = child.wait().unwrap().expect_code(128 + signal.as_raw());
        let reader = Reader::open(scratch.path(&name)).unwrap();
        assert_eq!(
            (reader.state(), reader.manifest().exit.clone()),
            (RecordingState::Sealed, Some(recording::RecordingExit::Interrupted))
        );
        assert!(!samples(&scratch.path(&name)).is_empty(), "{}", ended.stderr);
        match std::fs::read_to_string(scratch.path(&format!("pid{number}"))) {
            Ok(pid) => {
                let goes_on = std::fs::read(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
                assert!(!goes_on.starts_with(b"sleep\x00300"), "the command goes on");
            }
            Err(_) => before += 1,
        }
    }
    println!("{before} of 10 signals came before the command began");
}
