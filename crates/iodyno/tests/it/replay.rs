//! `iodyno replay` on real devices: what was traced on one is played on another, and the recording says how faithfully.

use crate::support::Scratch;
use faultfs::{DiskConfig, Faultfs};
use recording::rows::{Event, Fidelity, FidelityInterval, Io, OpInterval, RunTotal};
use recording::{Manifest, Reader, RowBatch, Sink as _, Writer};
use rustix::process::Signal;
use std::fmt::Write;
use std::time::Duration;
use testkit::{LoopDevice, TestCommand};

/// A trace in MSR's form: one disk, `(ms, kind, offset, bytes)`.
fn msr(ios: impl IntoIterator<Item = (u64, &'static str, u64, u64)>) -> String {
    let mut text = String::new();
    for (ms, kind, offset, bytes) in ios {
        let ticks = 128_166_372_000_000_000 + ms * 10_000;
        writeln!(text, "{ticks},host,0,{kind},{offset},{bytes},1000").unwrap();
    }
    text
}

/// 400 I/Os in 2 s, a third of them writes.
fn mixed() -> String {
    msr((0..400).map(|at| {
        let kind = if at % 3 == 0 { "Write" } else { "Read" };
        (at * 5, kind, at * 7919 % 1000 * 8192, 4096 << (at % 3))
    }))
}

fn measure(recording: &Reader, name: &str) -> Fidelity {
    let rows = recording.table::<Fidelity>().unwrap();
    rows.into_iter().find(|row| row.measure == name).unwrap_or_else(|| panic!("no line {name}"))
}

fn total(recording: &Reader, op: &str) -> i64 {
    recording
        .table::<RunTotal>()
        .unwrap()
        .iter()
        .filter(|row| row.op == op && row.run == "replay")
        .map(|row| row.ops)
        .sum()
}

#[test]
fn what_was_traced_on_one_disk_is_played_on_another() {
    trace_and_play(false);
}

#[test]
#[ignore = "times: make exam"]
fn what_was_traced_on_one_disk_is_played_on_another_on_time() {
    testkit::while_cpus_are_ours(|| trace_and_play(true));
}

/// A load is traced and played at 1× and 2×: the same I/Os, and on a machine that is `quiet` at the same times.
fn trace_and_play(quiet: bool) {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let (source, target) = (LoopDevice::new(256 << 20).unwrap(), LoopDevice::new(256 << 20).unwrap());
    let mut trace = scratch.iodyno(&["trace", "-d", &source.name(), "-o", "prod.iodyno"]).spawn().unwrap();
    assert!(trace.wait_for_stdout("tracing", Duration::from_secs(60)));
    let load = TestCommand::new("fio")
        .args(["--name=l", "--rw=randrw", "--bssplit=4k/60:16k/30:64k/10", "--direct=1", "--ioengine=libaio"])
        .args(["--iodepth=8", "--rate_iops=800", "--rate_process=poisson", "--number_ios=3200"])
        .args([format!("--filename={}", source.path().display())])
        .dir(scratch.path(""))
        .spawn()
        .unwrap();
    load.wait().unwrap().expect_code(0);
    trace.signal(Signal::INT);
    trace.wait().unwrap().expect_code(0);
    let play = |speed: &str, name: &str| {
        let map = format!("{}={}", source.name(), target.path().display());
        let _ = std::fs::remove_dir_all(scratch.path(name));
        let output = scratch
            .iodyno(&["replay", "prod.iodyno", "--map", &map, "--speed", speed, "-o", name])
            .run()
            .unwrap()
            .expect_code(0);
        assert!(
            output.stderr.contains("replay: faithful") || output.stderr.contains("NOT faithful"),
            "{}",
            output.stderr
        );
        let recording = Reader::open(scratch.path(name)).unwrap();
        for line in ["reads", "writes", "bytes", "missing in the replay", "only in the replay"] {
            assert_eq!(measure(&recording, line).error, Some(0.0), "{line} at {speed}×\n{}", output.stderr);
        }
        let length = measure(&recording, "length (difference: share)");
        assert!(!quiet || length.error.unwrap() < 0.02, "{length:?}");
        let due = measure(&recording, "issue time − due, median").error.unwrap();
        assert!(!quiet || due < 1e6, "half of all I/Os come within a millisecond: {due} ns");
        let seconds = recording.table::<FidelityInterval>().unwrap();
        let (source, replay): (i64, i64) =
            seconds.iter().fold((0, 0), |sum, row| (sum.0 + row.source_ios, sum.1 + row.replay_ios));
        assert!(source == replay && source > 2000, "{source} {replay}");
        let rows = i64::try_from(recording.table::<Io>().unwrap().len()).unwrap();
        assert_eq!(rows, replay, "the replay's own trace is in its recording");
        let s = recording.table::<FidelityInterval>().unwrap().len();
        assert!(if speed == "1" { s >= 2 } else { !quiet || s <= 2 }, "{s} s at {speed}×");
        let ios = recording.table::<Io>().unwrap();
        let (first, last) = (ios.iter().map(|io| io.queue_ns).min(), ios.iter().map(|io| io.queue_ns).max());
        last.unwrap() - first.unwrap()
    };
    let traced = Reader::open(scratch.path("prod.iodyno")).unwrap().table::<Io>().unwrap();
    let (first, last) = (traced.iter().map(|io| io.queue_ns).min(), traced.iter().map(|io| io.queue_ns).max());
    let traced_ns = (last.unwrap() - first.unwrap()) as f64;
    // Nothing is played before it is due.
    let lengths = || {
        let lengths = [play("1", "one.iodyno"), play("2", "two.iodyno")];
        assert!(
            lengths[0] as f64 >= 0.98 * traced_ns && lengths[1] as f64 >= 0.49 * traced_ns,
            "{lengths:?} {traced_ns}"
        );
        lengths
    };
    // Twice as fast takes less time, where there is a processor.
    testkit::until_enough(lengths, |lengths| lengths[1] < lengths[0]);
    let report = std::fs::read_to_string(scratch.path("one.iodyno/report.html")).unwrap();
    assert!(report.contains("How faithful the replay was") && report.contains("replay.heatmap"));
}

/// A trace of `ios` reads, a frame of the journal each, whose writer was killed.
fn killed_trace(directory: &std::path::Path, ios: i64) {
    let manifest = Manifest::new(&["test".into()]);
    let start = manifest.started_t_ns;
    let mut writer = Writer::create(directory, manifest).unwrap();
    for n in 0..ios {
        let io = Io {
            queue_ns: start + n * 1_000_000,
            complete_ns: Some(start + n * 1_000_000 + 100_000),
            dev: "sda".into(),
            op: "read".into(),
            sector: n * 8,
            bytes: 4096,
            ..Io::default()
        };
        writer.accept(&RowBatch::from_rows(&[io]).unwrap()).unwrap();
        writer.commit().unwrap();
    }
}

#[test]
fn a_replay_of_a_damaged_trace_is_not_faithful() {
    let scratch = Scratch::new();
    killed_trace(&scratch.path("trace"), 50);
    let arguments = ["replay", "trace", "--map", "*=img", "--size", "1m", "--buffered"];
    let dry = |code: i32| {
        let output = scratch.iodyno(&[&arguments[..], &["--dry-run"]].concat()).run().unwrap().expect_code(code);
        output.stdout
    };
    assert!(!dry(0).contains("lost by the trace"));
    let journal = scratch.path("trace/journal");
    let mut bytes = std::fs::read(&journal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&journal, &bytes).unwrap();
    let play = |name: &str, more: &[&str]| {
        let whole = [&arguments[..], &["-o", name], more].concat();
        let output = scratch.iodyno(&whole).run().unwrap().expect_code(6);
        assert!(output.stderr.contains("NOT faithful"), "{}", output.stderr);
        let recording = Reader::open(scratch.path(name)).unwrap();
        let row = measure(&recording, "lost by the trace");
        assert!(row.error.unwrap() >= 1.0 && row.kept == Some(false), "{row:?}");
        let said = |event: &Event| event.message.contains("the trace is damaged: at least");
        assert!(recording.table::<Event>().unwrap().iter().any(said));
        std::fs::read_to_string(scratch.path(name).join("report.html")).unwrap()
    };
    assert!(dry(6).contains("lost by the trace: at least"));
    assert!(play("damaged", &[]).contains("the trace is damaged: at least"));
    // What is whole of it, sealed: the same is known from then on.
    scratch.iodyno(&["repair", "trace"]).run().unwrap().expect_code(6);
    assert!(dry(6).contains("lost by the trace: at least"));
    play("repaired", &["--strict"]);
    // Without its manifest it is still a recording.
    std::fs::remove_file(scratch.path("trace/manifest.json")).unwrap();
    assert!(dry(6).contains("lost by the trace: at least"));
}

#[test]
fn any_trace_goes_to_a_file_as_asked() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("trace.csv"), mixed()).unwrap();
    let play = |name: &str, more: &[&str]| {
        let mut arguments =
            vec!["replay", "trace.csv", "--map", "*=img", "--size", "16m", "--buffered", "--no-report", "-o", name];
        arguments.extend_from_slice(more);
        let output = scratch.iodyno(&arguments).run().unwrap().expect_code(0);
        (Reader::open(scratch.path(name)).unwrap(), output.stderr)
    };
    let (all, said) = play("all.iodyno", &[]);
    assert_eq!((total(&all, "read"), total(&all, "write")), (266, 134));
    assert!(said.contains("by the player's own account"), "{said}");
    let (reads, _) = play("reads.iodyno", &["--only", "reads", "--speed", "4"]);
    assert_eq!((total(&reads, "read"), total(&reads, "write")), (266, 0));
    let (part, _) = play("part.iodyno", &["--from", "1s", "--for", "500ms", "--speed", "4"]);
    assert_eq!(total(&part, "read") + total(&part, "write"), 100);
    let (twice, _) = play("twice.iodyno", &["--repeat", "2", "--copies", "2", "--asap"]);
    assert_eq!(total(&twice, "read") + total(&twice, "write"), 1600);
    let (closed, _) = play("closed.iodyno", &["--closed", "--for", "500ms"]);
    assert_eq!(total(&closed, "read") + total(&closed, "write"), 100);
    let (chained, _) = play("chained.iodyno", &["--dependencies", "--for", "500ms"]);
    assert_eq!(total(&chained, "read") + total(&chained, "write"), 100);
}

/// Small operations and large ones have memory of their own: each must be written from its own place.
#[test]
fn every_block_that_is_written_has_its_own_content() {
    let scratch = Scratch::new();
    let sizes = [4_usize << 10, 8 << 10, 16 << 10, 20 << 10, 32 << 10, 64 << 10, 256 << 10];
    let size = |at: usize| sizes[at % sizes.len()];
    let place = |at: usize| at * (256 << 10);
    let writes = (0..140).map(|at| (at as u64 / 20, "Write", place(at) as u64, size(at) as u64));
    std::fs::write(scratch.path("trace.csv"), msr(writes)).unwrap();
    for pacing in [&[][..], &["--asap"][..]] {
        // Of zeros: a new file would be filled first.
        std::fs::write(scratch.path("img"), vec![0; 40 << 20]).unwrap();
        let out = if pacing.is_empty() { "on-time.iodyno" } else { "asap.iodyno" };
        let more = ["--map", "*=img", "--destroy", "img", "--no-report", "-o", out];
        scratch.iodyno(&["replay", "trace.csv"]).args(more).args(pacing).run().unwrap().expect_code(0);
        let data = std::fs::read(scratch.path("img")).unwrap();
        let mut seen = std::collections::HashSet::new();
        for at in 0..140 {
            let (from, bytes) = (place(at), size(at));
            for block in data[from..from + bytes].chunks(4096) {
                assert!(block.iter().any(|byte| *byte != 0), "{at}: a block of a write of {bytes} is empty");
                assert!(seen.insert(block.to_vec()), "{at}: a block of a write of {bytes} is there twice");
            }
            let rest = &data[from + bytes..place(at + 1)];
            assert!(rest.iter().all(|byte| *byte == 0), "{at}: more than {bytes} was written");
        }
    }
}

#[test]
fn what_does_not_fit_is_said_folded_or_refused() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("trace.csv"), mixed()).unwrap();
    let play = |arguments: &[&str]| {
        let mut all = vec!["replay", "trace.csv", "--buffered", "--no-report", "--speed", "20"];
        all.extend_from_slice(arguments);
        scratch.iodyno(&all).run().unwrap()
    };
    let cut = play(&["--map", "0=img", "--size", "4m", "-o", "cut.iodyno", "--strict"]).expect_code(5);
    assert!(cut.stderr.contains("NOT faithful") && cut.stderr.contains("were left out"), "{}", cut.stderr);
    let events = Reader::open(scratch.path("cut.iodyno")).unwrap().table::<Event>().unwrap();
    assert!(events.iter().any(|event| event.message.contains("beyond the end of the target")), "{events:?}");
    play(&["--map", "0=img", "--fold", "-o", "folded.iodyno"]).expect_code(0);
    assert_eq!(total(&Reader::open(scratch.path("folded.iodyno")).unwrap(), "read"), 266);
    let none = play(&["--map", "sda=img", "-o", "none.iodyno"]).expect_code(2);
    assert!(none.stderr.contains("the trace has no such device; it has host_0"), "{}", none.stderr);
    // A file with the user's data is not written to.
    std::fs::write(scratch.path("letter.txt"), vec![b'x'; 16 << 20]).unwrap();
    let refused = play(&["--map", "0=letter.txt", "-o", "refused.iodyno"]).expect_code(7);
    assert!(refused.stderr.contains("--destroy"), "{}", refused.stderr);
    assert!(std::fs::read(scratch.path("letter.txt")).unwrap().iter().all(|byte| *byte == b'x'));
    play(&["--map", "0=letter.txt", "--only", "reads", "-o", "read.iodyno"]).expect_code(0);
    let dry = play(&["--map", "0=img", "--dry-run"]).expect_code(0);
    assert!(dry.stdout.contains("would play:") && dry.stdout.contains("host_0: 400 I/Os"), "{}", dry.stdout);
    std::fs::write(scratch.path("bad.csv"), "128166372000000000,host,0,Read,x,4096,10\n").unwrap();
    let bad = scratch.iodyno(&["replay", "bad.csv", "--format", "msr", "--map", "*=img"]).run().unwrap();
    assert!(bad.stderr.contains("bad.csv") && bad.stderr.contains('1'), "{}", bad.stderr);
    assert_ne!(bad.code, Some(0));
}

#[test]
#[ignore = "times: make exam"]
fn a_target_that_stalls_makes_responses_long_and_no_clock_slow() {
    testkit::while_cpus_are_ours(once_a_target_that_stalls_makes_responses_long_and_no_clock_slow);
}

fn once_a_target_that_stalls_makes_responses_long_and_no_clock_slow() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = Faultfs::mount(mountpoint.path(), DiskConfig::new(64 << 20)).unwrap();
    let device = LoopDevice::over(disk.disk()).unwrap();
    std::fs::write(scratch.path("trace.csv"), msr((0..800).map(|at| (at * 5, "Read", at * 8192, 4096)))).unwrap();
    let map = format!("0={}", device.path().display());
    let replay =
        scratch.iodyno(&["replay", "trace.csv", "--map", &map, "-o", "r.iodyno", "-i", "500ms"]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    disk.control("stall 700ms").unwrap();
    replay.wait().unwrap().expect_code(0);
    let recording = Reader::open(scratch.path("r.iodyno")).unwrap();
    let rows = recording.table::<OpInterval>().unwrap();
    let longest = rows.iter().filter_map(|row| row.response.max()).max().unwrap();
    assert!(longest > 500_000_000, "{longest} ns");
    let slow: u64 = rows
        .iter()
        .flat_map(|row| row.response.buckets().collect::<Vec<_>>())
        .filter(|b| b.0 > 100_000_000)
        .map(|b| b.2)
        .sum();
    assert!(slow > 60, "200 per second went on arriving while it stood still: {slow}");
    let length = measure(&recording, "length (difference: share)");
    assert!(length.error.unwrap() < 0.02, "{length:?}");
    assert_eq!(measure(&recording, "missing in the replay").error, Some(0.0));
}

#[test]
fn a_vdbench_file_plays_its_flatfile() {
    let scratch = Scratch::new();
    let flat = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/traces/vdbench-flat.bin");
    std::fs::copy(flat, scratch.path("flat.bin")).unwrap();
    let text = "rg=g,devices=(1)\nsd=sd1,lun=img1,size=8m,replay=g\nsd=sd2,lun=img2,size=8m,replay=g\n\
                rd=rd1,replay=(flat.bin,repeat=2),iorate=20,interval=1\n";
    std::fs::write(scratch.path("old.vdb"), text).unwrap();
    let output = scratch.iodyno(&["run", "old.vdb", "-o", "r.iodyno", "--no-report"]).run().unwrap().expect_code(0);
    let recording = Reader::open(scratch.path("r.iodyno")).unwrap();
    let totals = recording.table::<RunTotal>().unwrap();
    let count =
        |op: &str| -> i64 { totals.iter().filter(|row| row.run == "rd1" && row.op == op).map(|row| row.ops).sum() };
    assert_eq!((count("read"), count("write")), (6, 4), "{}", output.stderr);
    let events = recording.table::<Event>().unwrap();
    assert!(
        events.iter().any(|event| event.message.contains("2 I/Os of the first 4 KiB went to the second")),
        "{events:?}"
    );
}

/// One hour with 50 million I/Os of three disks.
fn long_trace(path: &std::path::Path, rows: i64) {
    use recording::{Label, Manifest, RowBatch, Sink, Writer};
    let (disks, ops) = (["sda", "sdb", "sdc"].map(Label::from), ["read", "write"].map(Label::from));
    let (comm, flags) = (Label::from("db"), Label::from("sync+direct"));
    let step_ns = 3_600_000_000_000 / rows;
    let row = |at: i64| Io {
        queue_ns: at * step_ns,
        issue_ns: Some(at * step_ns + 5_000),
        complete_ns: Some(at * step_ns + 100_000 + at % 50_000),
        dev: disks[usize::try_from(at % 3).unwrap()].clone(),
        op: ops[usize::from(at % 10 < 3)].clone(),
        flags: Some(flags.clone()),
        sector: at.wrapping_mul(0x5851_f42d) % (1 << 28) * 8,
        bytes: 4096 << (at % 4),
        pid: Some(1000),
        tid: Some(1000 + i32::try_from(at % 16).unwrap()),
        comm: Some(comm.clone()),
        bios: Some(1),
        requeues: Some(0),
        ..Io::default()
    };
    let mut writer = Writer::create(path, Manifest::new(&[])).unwrap();
    for first in (0..rows).step_by(65_536) {
        let rows: Vec<Io> = (first..rows.min(first + 65_536)).map(row).collect();
        writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    writer.seal_past().unwrap();
}

/// Greatest resident memory of a command that plays `recording` on nothing, kB; and what it said.
fn memory_of(scratch: &Scratch, recording: &str, more: &[&str]) -> (u64, String) {
    let mut arguments = vec!["replay", recording, "--map", "*=/dev/null", "--size", "2t", "--no-verify", "--no-report"];
    arguments.extend_from_slice(more);
    let mut child = scratch.iodyno(&arguments).limit(Duration::from_secs(3600)).spawn().unwrap();
    let mut greatest = 0;
    while !child.has_ended() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        greatest = greatest.max(kb.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    (greatest, child.wait().unwrap().expect_code(0).stderr)
}

#[test]
fn memory_does_not_grow_with_the_trace() {
    let scratch = Scratch::new();
    long_trace(&scratch.path("short.iodyno"), 200_000);
    long_trace(&scratch.path("long.iodyno"), 2_000_000);
    let (short, _) = memory_of(&scratch, "short.iodyno", &["--asap", "-o", "s.iodyno"]);
    let (long, _) = memory_of(&scratch, "long.iodyno", &["--asap", "-o", "l.iodyno"]);
    println!("{short} kB for 200,000 I/Os, {long} kB for ten times as many");
    assert!(long < 150_000 && long < short + 60_000, "{short} kB, {long} kB");
    let recording = Reader::open(scratch.path("l.iodyno")).unwrap();
    assert_eq!(total(&recording, "read") + total(&recording, "write"), 2_000_000);
}

#[test]
#[ignore = "soak: 50 million I/Os"]
fn soak_an_hour_of_fifty_million_ios_is_played_in_flat_memory() {
    let scratch = Scratch::new();
    long_trace(&scratch.path("hour.iodyno"), 50_000_000);
    let started_ns = testkit::now_ns();
    let (kb, said) = memory_of(&scratch, "hour.iodyno", &["--asap", "-o", "fast.iodyno"]);
    println!("as fast as it goes: {kb} kB, {:.0} s; {said}", (testkit::now_ns() - started_ns) as f64 / 1e9);
    assert!(kb < 300_000, "{kb} kB");
    let recording = Reader::open(scratch.path("fast.iodyno")).unwrap();
    assert_eq!(total(&recording, "read") + total(&recording, "write"), 50_000_000);
    let (kb, said) = memory_of(&scratch, "hour.iodyno", &["--speed", "10", "--for", "600s", "-o", "ten.iodyno"]);
    println!("ten minutes of it at 10×: {kb} kB; {said}");
    assert!(kb < 300_000, "{kb} kB");
}
