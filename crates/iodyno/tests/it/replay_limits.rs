//! `iodyno replay`: commands besides reads and writes, replays of nothing, rates, stretches, and memory.

use crate::support::Scratch;
use recording::rows::{Fidelity, Io, RunTotal};
use recording::{Label, Manifest, Reader, RowBatch, Sink, Writer};
use rustix::process::Signal;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;
use testkit::{LoopDevice, TestCommand};

/// An I/O of process `db` on `sda`.
fn io(queue_ns: i64, op: &str, sector: i64, bytes: i64) -> Io {
    Io {
        queue_ns,
        issue_ns: Some(queue_ns + 5_000),
        complete_ns: Some(queue_ns + 100_000),
        dev: Label::from("sda"),
        op: Label::from(op),
        flags: Some(Label::from("sync+direct")),
        sector,
        bytes,
        pid: Some(1000),
        tid: Some(1000),
        comm: Some(Label::from("db")),
        bios: Some(1),
        requeues: Some(0),
        ..Io::default()
    }
}

fn record(path: &Path, rows: impl Iterator<Item = Io>) {
    let mut writer = Writer::create(path, Manifest::new(&[][..])).unwrap();
    let rows: Vec<Io> = rows.collect();
    for part in rows.chunks(65_536) {
        writer.accept(&RowBatch::from_rows(part).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    writer.seal_past().unwrap();
}

/// One hour with so many I/Os.
fn hour(path: &Path, rows: i64) {
    let step_ns = 3_600_000_000_000 / rows;
    record(path, (0..rows).map(|at| io(at * step_ns, "read", at.wrapping_mul(0x5851_f42d) % (1 << 16) * 8, 4096)));
}

/// A trace in MSR's form: a read of 4 KiB per millisecond.
fn reads(count: u64) -> String {
    let mut text = String::new();
    for at in 0..count {
        writeln!(text, "{},host,0,Read,{},4096,1000", 128_166_372_000_000_000 + at * 10_000, at % 256 * 4096).unwrap();
    }
    text
}

fn measure(recording: &Reader, name: &str) -> Fidelity {
    let rows = recording.table::<Fidelity>().unwrap();
    rows.into_iter().find(|row| row.measure == name).unwrap_or_else(|| panic!("no line {name}"))
}

#[test]
fn discards_flushes_and_writes_of_zeroes_are_played_on_a_device_of_any_kernel() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let target = LoopDevice::new(64 << 20).unwrap();
    let place = target.path().display().to_string();
    let ops = [("write", 0), ("flush", 0), ("discard", 1 << 20), ("write_zeroes", 2 << 20), ("write", 3 << 20)];
    let rows = (0..50_usize).map(|at| {
        let (op, place) = ops[at % 5];
        let round = i64::try_from(at / 5).unwrap();
        let row = io(i64::try_from(at).unwrap() * 4_000_000, op, (place + (round << 16)) / 512, 64 << 10);
        if op == "flush" { Io { sector: 0, bytes: 0, ..row } } else { row }
    });
    record(&scratch.path("t.iodyno"), rows);
    let map = format!("sda={place}");
    let arguments = ["replay", "t.iodyno", "--map", &map, "--destroy", &place, "--no-report", "-o"];
    // The second: with a kernel whose io_uring takes no discards, by its own word.
    for (out, is_old) in [("new.iodyno", false), ("old.iodyno", true)] {
        std::fs::write(target.path(), vec![b'x'; 8 << 20]).unwrap();
        let command = if is_old {
            TestCommand::new("setarch")
                .args([std::env::consts::ARCH, "--uname-2.6", env!("CARGO_BIN_EXE_iodyno")])
                .dir(scratch.path(""))
        } else {
            scratch.iodyno(&[])
        };
        let said = command.args(arguments).arg(out).run().unwrap().expect_code(0).stderr;
        let recording = Reader::open(scratch.path(out)).unwrap();
        let totals = recording.table::<RunTotal>().unwrap();
        let count = |op: &str| -> i64 { totals.iter().filter(|row| row.op == op).map(|row| row.ops).sum() };
        assert_eq!((count("write"), count("flush"), count("trim")), (20, 10, 20), "{said}");
        assert!(totals.iter().all(|row| row.errors.unwrap_or(0) == 0), "{said}");
        let data = std::fs::read(target.path()).unwrap();
        for (place, is_zero) in [(1 << 20, true), (2 << 20, true), (3 << 20, false), (4 << 20, false)] {
            let part: &[u8] = &data[place..place + (640 << 10)];
            assert_eq!(part.iter().all(|byte| *byte == 0), is_zero, "{place}: {said}");
        }
        if recording.table::<Fidelity>().unwrap().iter().any(|row| row.measure == "flushes") {
            for line in ["writes", "flushes", "discards", "writes of zeroes", "missing in the replay"] {
                assert_eq!(measure(&recording, line).error, Some(0.0), "{line} {out}: {said}");
            }
        }
    }
}

#[test]
fn a_replay_of_nothing_is_refused_with_what_left_it_empty() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("trace.csv"), reads(200)).unwrap();
    for (more, expect) in [
        (&["--comm", "nosuch"][..], "200 left out by a filter"),
        (&["--pid", "999999"][..], "200 left out by a filter"),
        (&["--file", "/no/*"][..], "200 left out by a filter"),
        (&["--only", "flush"][..], "200 left out by a filter"),
        (&["--from", "1h"][..], "200 outside the stretch that was asked for"),
        (&["--shift", "-1g"][..], "200 beyond the end of the target or before its beginning"),
    ] {
        for dry in [&["--dry-run"][..], &[][..]] {
            let replay = scratch.iodyno(&["replay", "trace.csv", "--map", "0=img", "--size", "16m", "-o", "r.iodyno"]);
            let said = replay.args(more).args(dry).run().unwrap().expect_code(2).stderr;
            assert!(said.contains("nothing of trace.csv would be played") && said.contains(expect), "{more:?}: {said}");
            assert!(
                !scratch.path("r.iodyno").exists() && !scratch.path("img").exists(),
                "{more:?}: something was made"
            );
        }
    }
    let map = ["--map", "0=img", "--size", "16m", "-o", "r.iodyno"];
    let piped = scratch.iodyno(&["replay", "/dev/stdin", "--format", "msr"]).args(map).stdin(reads(200));
    let said = piped.run().unwrap().expect_code(2).stderr;
    assert!(said.contains("is a pipe or a device") && said.contains("iodyno import /dev/stdin"), "{said}");
    assert!(!scratch.path("r.iodyno").exists());
}

#[test]
fn a_rate_is_that_of_what_is_played() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("trace.csv"), reads(1001)).unwrap();
    let dry = |more: &[&str]| {
        let replay = scratch.iodyno(&["replay", "trace.csv", "--map", "0=img", "--size", "16m", "--dry-run"]);
        replay.args(more).run().unwrap().expect_code(0).stdout
    };
    // 1,001 in 1 s; of 500 ms 500, whose last comes after 499 ms.
    assert!(dry(&["--rate", "2002"]).contains("would play: 1.00 k I/Os in 500 ms"), "{}", dry(&["--rate", "2002"]));
    let part = dry(&["--rate", "250", "--for", "500ms"]);
    assert!(part.contains("500 I/Os in 2.00 s") || part.contains("500 I/Os in 2 s"), "{part}");
    let copies = dry(&["--rate", "2002", "--copies", "2"]);
    assert!(copies.contains("in 1.00 s") || copies.contains("in 1 s"), "{copies}");
}

#[test]
fn what_comes_after_the_stretch_is_not_read() {
    let scratch = Scratch::new();
    let mut text = reads(100_000);
    text.push_str("this is no line of a trace\n");
    std::fs::write(scratch.path("trace.csv"), text).unwrap();
    let more = ["--size", "16m", "--buffered", "--no-report", "--for", "200ms", "-o", "r.iodyno"];
    scratch.iodyno(&["replay", "trace.csv", "--map", "0=img"]).args(more).run().unwrap().expect_code(0);
    let totals = Reader::open(scratch.path("r.iodyno")).unwrap().table::<RunTotal>().unwrap();
    assert_eq!(totals.iter().filter(|row| row.run == "replay").map(|row| row.ops).sum::<i64>(), 200);
}

#[test]
fn wrong_words_are_refused_in_the_words_of_replay() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("trace.csv"), reads(10)).unwrap();
    for (more, code, expect) in [
        (&["--format", "nosuch", "--size", "1m"][..], 2, "there is no import format `nosuch`; there are: blktrace"),
        (&["--dry-run", "--size", "1m", "--compress-ratio", "0.1"][..], 2, "--compress-ratio 0.1: 1 or more is needed"),
        (&["--size", "1m", "--dedup-ratio", "0.5"][..], 2, "--dedup-ratio 0.5: 1 or more is needed"),
        (&[], 3, "give `--size` to have a file made"),
    ] {
        let replay = scratch.iodyno(&["replay", "trace.csv", "--map", "0=img", "-o", "r.iodyno"]);
        let said = replay.args(more).run().unwrap().expect_code(code).stderr;
        assert!(said.contains(expect), "{more:?}: {said}");
    }
}

#[test]
fn a_cap_on_ios_in_flight_bites_and_is_said() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let target = LoopDevice::new(64 << 20).unwrap();
    record(&scratch.path("t.iodyno"), (0..200).map(|at| io(at * 1_000, "read", at % 32 * 2048, 1 << 20)));
    let map = format!("sda={}", target.path().display());
    let more = ["--depth", "2", "--strict", "--no-report", "-o", "r.iodyno"];
    let replay = scratch.iodyno(&["replay", "t.iodyno", "--map", &map]).args(more);
    let said = replay.run().unwrap().expect_code(5).stderr;
    assert!(said.contains("waited for the cap on I/Os in flight"), "{said}");
}

fn kb(id: u32, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn memory_of_an_interrupted_replay_does_not_grow_with_what_was_not_played() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let target = LoopDevice::new(300 << 20).unwrap();
    hour(&scratch.path("t.iodyno"), 2_000_000);
    let map = format!("sda={}", target.path().display());
    let more = ["--no-report", "--no-counters", "-o", "r.iodyno"];
    let mut replay = scratch.iodyno(&["replay", "t.iodyno", "--map", &map]).args(more).spawn().unwrap();
    let is_playing = |id| kb(id, "Threads:") > 3 && scratch.path("r.iodyno").exists();
    let waited_until_ns = testkit::now_ns() + 60_000_000_000;
    while !is_playing(replay.id()) && testkit::now_ns() < waited_until_ns {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(4));
    let before = kb(replay.id(), "VmHWM:");
    replay.signal(Signal::INT);
    let mut greatest = before;
    while !replay.has_ended() {
        greatest = greatest.max(kb(replay.id(), "VmHWM:"));
        std::thread::sleep(Duration::from_millis(5));
    }
    let said = replay.wait().unwrap().expect_code(130).stderr;
    assert!(said.contains("it was stopped before its end"), "{said}");
    let recording = Reader::open(scratch.path("r.iodyno")).unwrap();
    assert_eq!(measure(&recording, "missing in the replay").error, Some(0.0), "{said}");
    assert!(measure(&recording, "reads").replay.unwrap() > 100.0);
    println!("{before} kB before it was interrupted, {greatest} kB in the end");
    assert!(greatest < before + 100_000, "{before} kB, {greatest} kB");
}

#[test]
fn memory_of_a_verified_replay_far_from_its_traces_clock_is_flat() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let target = LoopDevice::new(300 << 20).unwrap();
    let map = format!("sda={}", target.path().display());
    let mut greatest = Vec::new();
    for (rows, out) in [(100_000, "short.iodyno"), (700_000, "long.iodyno")] {
        let trace = format!("t-{out}");
        hour(&scratch.path(&trace), rows);
        let more = ["--asap", "--no-report", "--no-counters", "-o", out];
        let replay = scratch.iodyno(&["replay", &trace, "--map", &map]).args(more).limit(Duration::from_secs(300));
        let mut replay = replay.spawn().unwrap();
        let mut most = 0;
        while !replay.has_ended() {
            most = most.max(kb(replay.id(), "VmHWM:"));
            std::thread::sleep(Duration::from_millis(5));
        }
        let said = replay.wait().unwrap().expect_code(0).stderr;
        let recording = Reader::open(scratch.path(out)).unwrap();
        // What its tracing lost, where it had no processor, it says; nothing else is missing.
        let missing = measure(&recording, "missing in the replay").error.unwrap();
        let is_said = said.contains(&format!("the tracing of the replay has lost {missing:.0} I/Os"));
        assert!(missing.abs() < 0.5 || is_said, "{missing}: {said}");
        greatest.push(most);
    }
    println!("{greatest:?} kB");
    assert!(greatest[1] < greatest[0] + 60_000, "{greatest:?} kB");
}
