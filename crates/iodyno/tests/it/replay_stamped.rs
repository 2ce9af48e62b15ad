//! `iodyno replay --stamp`: what a trace writes comes back, and what does not is named.

use crate::support::{FaultyDisk, Scratch, sum};
use serde_json::Value;
use std::fmt::Write as _;
use testkit::{CommandOutput, LoopDevice};

const BLOCK: u64 = 4096;

/// A trace in the form of fio's log, version 3: `(ms, kind, offset, bytes)`.
fn trace(ios: impl IntoIterator<Item = (u64, &'static str, u64, u64)>) -> String {
    let mut text = "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n".to_string();
    for (ms, kind, offset, bytes) in ios {
        writeln!(text, "{} /dev/sda {kind} {offset} {bytes}", ms * 1000).unwrap();
    }
    text
}

/// Writes, reads, trims and flushes of several sizes on 2 MiB; of those of a millisecond many overlap.
fn mixed(count: u64) -> Vec<(u64, &'static str, u64, u64)> {
    let one = |at: u64| {
        let kind =
            ["write", "read", "write", "read", "trim", "write", "sync", "read"][usize::try_from(at % 8).unwrap()];
        let bytes = BLOCK << (at * 7 % 5);
        let place = at * 7919 % 500 * BLOCK;
        if kind == "sync" { (at / 20, kind, 0, 0) } else { (at / 20, kind, place.min((2 << 20) - bytes), bytes) }
    };
    (0..count).map(one).collect()
}

fn play(scratch: &Scratch, name: &str, more: &[&str]) -> CommandOutput {
    let arguments = ["replay", "trace.log", "-o", name, "--no-counters"];
    scratch.iodyno(&[&arguments[..], more].concat()).run().unwrap()
}

/// The last row of the only target.
fn check(scratch: &Scratch, name: &str) -> Value {
    scratch.table(name, "data_check").pop().unwrap()
}

fn verdict(output: &CommandOutput) -> &str {
    let mut lines = output.stderr.lines();
    lines.find(|line| line.starts_with("validation: ")).unwrap_or_else(|| panic!("none: {}", output.stderr))
}

/// Operations of a kind of the replay itself.
fn total(scratch: &Scratch, name: &str, op: &str, column: &str) -> i64 {
    sum(&scratch.table(name, "run_total"), column, |row| row["op"] == op && row["run"] == "replay")
}

#[test]
fn a_trace_is_proved_on_a_file_and_all_of_it_is_played() {
    let scratch = Scratch::new();
    let ios = mixed(1600);
    scratch.write("trace.log", &trace(ios.clone()));
    let count = |kind: &str| i64::try_from(ios.iter().filter(|io| io.1 == kind).count()).unwrap();
    for (name, more) in [("asap", &["--asap"][..]), ("time", &[]), ("twice", &["--repeat", "2", "--asap"])] {
        let to = format!("*={name}.img");
        let output =
            play(&scratch, name, &[&["--map", &to, "--size", "2m", "--stamp"][..], more].concat()).expect_code(0);
        assert!(verdict(&output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
        let times = if name == "twice" { 2 } else { 1 };
        for (kind, op) in [("write", "write"), ("read", "read"), ("trim", "trim"), ("sync", "flush")] {
            assert_eq!(total(&scratch, name, op, "ops"), times * count(kind), "{kind}: {}", output.stderr);
        }
        let last = check(&scratch, name);
        let value = |name: &str| last[name].as_i64().unwrap();
        assert_eq!((value("block_bytes"), value("known_blocks"), value("swept_blocks")), (4096, 512, 512));
        assert_eq!((value("damaged_blocks"), value("unknown_bytes")), (0, 0), "the fill is stamped, too: {last}");
        assert_eq!(value("stamped_bytes"), (2 << 20) + total(&scratch, name, "write", "bytes"));
        assert!(scratch.table(name, "data_error").is_empty());
    }
    // Without it there is nothing of it.
    let plain = play(&scratch, "plain", &["--map", "*=plain.img", "--size", "2m", "--asap"]).expect_code(0);
    assert!(!plain.stderr.contains("validation"), "{}", plain.stderr);
    assert!(scratch.table("plain", "data_check").is_empty());
    let fidelity = scratch.table("plain", "fidelity");
    assert!(fidelity.iter().all(|row| row["measure"] != "waited for others on their blocks"), "{fidelity:?}");
}

#[test]
fn what_is_proved_is_chosen_said_and_refused_before_any_io() {
    let scratch = Scratch::new();
    scratch.write("trace.log", &trace([(0, "write", 0, 65_536), (1, "write", 24_576, 8192), (2, "read", 0, 65_536)]));
    let to = ["--map", "*=img", "--size", "1m"];
    let dry = play(&scratch, "dry", &[&to[..], &["--stamp", "--dry-run"]].concat()).expect_code(0);
    let said = dry.stdout.replace("\n    ", " ");
    for words in
        ["every sector that is written is stamped", "everything that was written is read once", "img: blocks of 8 KiB"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!scratch.path("img").exists());
    let reads =
        play(&scratch, "reads", &[&to[..], &["--stamp=reads", "--verify-before-write"]].concat()).expect_code(0);
    assert!(
        verdict(&reads).ends_with("not read again at the end: what was read was right; the rest is not proved"),
        "{}",
        reads.stderr
    );
    assert_eq!(check(&scratch, "reads")["extra_reads"], 2);
    let wrong = play(&scratch, "wrong", &[&to[..], &["--stamp=all"]].concat()).expect_code(2);
    assert!(wrong.stderr.contains("sweep"), "{}", wrong.stderr);
    let alone = play(&scratch, "alone", &[&to[..], &["--recover"]].concat()).expect_code(2);
    assert!(alone.stderr.contains("--journal"), "{}", alone.stderr);

    // A trace of calls on files: past the page cache its I/Os are rounded, through it they cannot be stamped.
    scratch.write("trace.log", &trace([(0, "write", 0, 65_536), (1, "write", 1000, 700)]));
    let to = ["--map", "*=odd", "--size", "1m"];
    for more in [&["--stamp", "--buffered"][..], &["--stamp", "--buffered", "--dry-run"]] {
        let output = play(&scratch, "odd.iodyno", &[&to[..], more].concat()).expect_code(2);
        let said = output.stdout.replace("\n    ", " ") + &output.stderr;
        assert!(said.contains("the trace has an I/O of 700 bytes at"), "{said}");
        assert!(!scratch.path("odd").exists() && !scratch.path("odd.iodyno").exists(), "before any I/O");
    }
    let rounded = play(&scratch, "rounded", &[&to[..], &["--stamp"]].concat()).expect_code(0);
    assert!(verdict(&rounded).ends_with("coverage 100 %: no byte was lost"), "{}", rounded.stderr);
    let dedup = play(&scratch, "dedup", &[&to[..], &["--stamp", "--dedup-ratio", "2"]].concat()).expect_code(0);
    assert!(verdict(&dedup).ends_with("coverage 100 %: no byte was lost"), "{}", dedup.stderr);
    let equal = scratch.iodyno(&["verify", "odd"]).run().unwrap().expect_code(0);
    assert!(equal.stdout.contains("equal to others"), "{}", equal.stdout);
}

#[test]
fn what_a_disk_loses_of_a_trace_is_found_and_named() {
    for (fault, class) in [("lost-write", "lost_write"), ("torn", "torn_write")] {
        let Some(faulty) = FaultyDisk::new() else { return };
        let scratch = Scratch::new();
        // Each of these blocks, which are no neighbours, twice; the second pass loses some of its writes.
        let pass = |from: u64| (0..512).map(move |at| (from + at / 8, "write", at * 37 % 512 * 4 * BLOCK, 2 * BLOCK));
        scratch.write("trace.log", &trace(pass(0).chain(pass(100))));
        faulty.disk.control(&format!("seed 3\n{fault} skip 700 count 3")).unwrap();
        let to = format!("*={}", faulty.device.path().display());
        let output = play(&scratch, "out", &["--map", &to, "--depth", "64", "--stamp", "--no-verify"]).expect_code(4);
        assert!(verdict(&output).contains("damaged: ") && output.stderr.contains(class), "{}", output.stderr);
        let rows = scratch.table("out", "data_error");
        let mut found: Vec<u64> = rows.iter().map(|row| row["address"].as_u64().unwrap()).collect();
        found.sort_unstable();
        let visible = faulty.disk.visible().unwrap();
        let mut injected: Vec<u64> = visible.iter().map(|(from, _)| from / (2 * BLOCK) * (2 * BLOCK)).collect();
        injected.sort_unstable();
        injected.dedup();
        assert!(found == injected && found.len() == 3, "{fault}: {found:?} {injected:?}");
        assert_eq!(check(&scratch, "out")["block_bytes"], 2 * BLOCK);
        let report = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
        assert!(report.contains("recording.damage"), "the report");
    }
}

#[test]
fn a_device_is_proved_and_the_replay_is_compared_all_the_same() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let (scratch, device) = (Scratch::new(), LoopDevice::new(8 << 20).unwrap());
    // Without neighbours, which the kernel may merge.
    let kind = |at: u64| ["write", "read", "write", "trim"][usize::try_from(at % 4).unwrap()];
    let ios = (0..800).map(|at| (at / 10, kind(at), at * 7919 % 60 * 4 * BLOCK, BLOCK << (at % 2)));
    scratch.write("trace.log", &trace(ios));
    let to = format!("*={}", device.path().display());
    let output = play(&scratch, "out", &["--map", &to, "--stamp"]).expect_code(0);
    assert!(verdict(&output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
    let rows = scratch.table("out", "fidelity");
    let measure =
        |name: &str| rows.iter().find(|row| row["measure"] == name).unwrap_or_else(|| panic!("{name}: {rows:?}"));
    for name in ["reads", "writes", "discards", "bytes", "missing in the replay", "only in the replay"] {
        assert_eq!(measure(name)["error"], 0.0, "{name}: {}", output.stderr);
    }
    let waited = measure("waited for others on their blocks")["error"].as_f64().unwrap();
    assert_eq!(Some(waited), check(&scratch, "out")["deferred"].as_f64());
    assert_eq!(
        output.stderr.contains("waited for another one's end on the same block"),
        waited > 0.0,
        "{}",
        output.stderr
    );
}

#[test]
fn parameter_files_and_jobs_that_play_a_trace_are_proved_too() {
    let scratch = Scratch::new();
    let flat = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/traces/vdbench-flat.bin");
    std::fs::copy(flat, scratch.path("flat.bin")).unwrap();
    let text = "rg=g,devices=(1)\nsd=sd1,lun=img1,size=8m,replay=g\nsd=sd2,lun=img2,size=8m,replay=g\n\
                rd=rd1,replay=(flat.bin,repeat=2),iorate=20,interval=1\n";
    let output = scratch.run("vdbench", text, &["-v", "--no-counters"]).expect_code(0);
    assert!(verdict(&output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
    let written = sum(&scratch.table("vdbench", "run_total"), "ops", |row| row["op"] == "write" && row["run"] == "rd1");
    assert_eq!(written, 4);

    scratch.write("trace.log", &trace(mixed(200)));
    let job = "[a]\nread_iolog=trace.log\nfilename=fio.img\nsize=2m\ndirect=1\nverify=crc32c\n";
    let file = scratch.write("a.fio", job);
    let output = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "fio"]).run().unwrap().expect_code(0);
    assert!(verdict(&output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
    assert!(check(&scratch, "fio")["stamped_bytes"].as_i64() > Some(0));
    let file = scratch.write("b.fio", &format!("{job}verify_only=1\n"));
    let output = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "only"]).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("read_iolog"), "{}", output.stderr);
}

#[test]
fn the_journal_of_a_replay_outlives_its_command() {
    // The scratch folder and memory are two devices.
    let (scratch, elsewhere) = (Scratch::new(), tempfile::tempdir_in("/dev/shm").unwrap());
    let journal = elsewhere.path().join("j").display().to_string();
    scratch.write("trace.log", &trace(mixed(400)));
    let proved = ["--map", "*=img", "--size", "2m", "--asap", "--stamp", "--journal", &journal];
    play(&scratch, "one", &proved).expect_code(0);
    let output = play(&scratch, "two", &[&proved[..], &["--recover"]].concat()).expect_code(0);
    for words in ["all that the journal says must be there is there", "no byte was lost"] {
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    }
    let output = play(&scratch, "three", &[&proved[..], &["--recover-only"]].concat()).expect_code(0);
    assert!(output.stderr.contains("no byte was lost"), "{}", output.stderr);
    assert!(scratch.table("three", "run_total").iter().all(|row| row["op"] != "write"), "nothing is played");
}

#[test]
fn damage_ends_a_job_that_plays_a_trace_as_it_ends_others() {
    // Written once, in blocks of which some are lost, and read twice before the end.
    let passes =
        (0..256).flat_map(|at| [(at, "write", at * 2 * BLOCK, BLOCK), (at + 300, "read", at * 2 * BLOCK, BLOCK)]);
    let mut ios: Vec<(u64, &str, u64, u64)> = passes.collect();
    ios.sort_unstable();
    for (name, more, count, is_whole) in [
        ("few", "", 3, true),
        ("many", "", 200, false),
        ("borne", "continue_on_error=verify\n", 200, true),
        ("fatal", "verify_fatal=1\n", 3, false),
    ] {
        let Some(faulty) = FaultyDisk::new() else { return };
        let scratch = Scratch::new();
        scratch.write("trace.log", &trace(ios.clone()));
        let job = format!(
            "[a]\nread_iolog=trace.log\nfilename={}\ndirect=1\nioengine=libaio\nverify=crc32c\n{more}",
            faulty.device.path().display()
        );
        let file = scratch.write("a.fio", &job);
        faulty.disk.control(&format!("seed 3\nlost-write skip 5 count {count}")).unwrap();
        let arguments = ["run", file.to_str().unwrap(), "-o", "out", "--no-counters"];
        let output = scratch.iodyno(&arguments).run().unwrap().expect_code(4);
        assert_eq!(verdict(&output).contains("coverage 100 %"), is_whole, "{name}: {}", output.stderr);
        assert_eq!(verdict(&output).contains("at least "), !is_whole, "{name}: {}", output.stderr);
        let said = |words: &str| output.stderr.contains(words);
        assert_eq!(said("the reading at the end, do not take place"), !is_whole, "{name}: {}", output.stderr);
        assert_eq!(said("(data_errors=0, as verify_fatal=1"), name == "fatal", "{name}: {}", output.stderr);
        if is_whole {
            // Of neighbours no two are lost: what was found is what was lost.
            assert!(verdict(&output).contains(&format!(": {count} blocks are damaged")), "{name}: {}", output.stderr);
        }
    }
}
