//! `iodyno run --verify`: what was written comes back, and what does not is named.

use crate::support::{FaultyDisk, Scratch, sum};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use testkit::{CommandOutput, LoopDevice};

const BLOCK: i64 = 8192;

/// Half reads, half writes by chance, at most so many operations per second.
fn parameters(lun: &Path, more: &str) -> String {
    format!(
        "sd=sd1,lun={}{more}\nwd=wd1,sd=sd1,xfersize=8k,rdpct=50\nrd=rd1,wd=wd1,iorate=1000,elapsed=2,interval=1\n",
        lun.display()
    )
}

fn run(scratch: &Scratch, name: &str, text: &str, more: &[&str]) -> CommandOutput {
    scratch.run(name, text, &[&["--no-counters"], more].concat())
}

/// The last row of the only target.
fn check(scratch: &Scratch, name: &str) -> Value {
    scratch.table(name, "data_check").pop().unwrap()
}

fn verdict(output: &CommandOutput) -> &str {
    let mut lines = output.stderr.lines();
    lines.find(|line| line.starts_with("validation: ")).unwrap_or_else(|| panic!("no verdict: {}", output.stderr))
}

#[test]
fn a_file_that_is_made_is_proved_whole() {
    let scratch = Scratch::new();
    let text = parameters(&scratch.path("data"), ",size=4m");
    let output = run(&scratch, "out", &text, &["--verify"]).expect_code(0);
    assert!(verdict(&output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
    let last = check(&scratch, "out");
    let value = |name: &str| last[name].as_i64().unwrap();
    assert_eq!((value("block_bytes"), value("known_blocks"), value("swept_blocks")), (BLOCK, 512, 512));
    assert_eq!((value("damaged_blocks"), value("unknown_bytes")), (0, 0), "the fill is stamped, too: {last}");
    let totals = scratch.table("out", "run_total");
    let of = |op: &str| sum(&totals, "bytes", |row| row["op"] == op);
    assert_eq!((value("stamped_bytes"), value("checked_bytes")), (of("write"), of("read")));
    assert_eq!(sum(&totals, "bytes", |row| row["phase"] == "verify"), 4 << 20, "each block once: {totals:?}");
    assert!(scratch.table("out", "data_error").is_empty());

    // The reading behind the last run is none of those that are measured, and the report says what was proved.
    let report = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
    assert!(report.contains("recording.data_check") && !report.contains("recording.damage"), "the report");
    let judged = scratch.iodyno(&["check", "out", "--fail-if", "errors > 0"]).run().unwrap().expect_code(0);
    assert!(judged.stdout.contains("rd1") && !judged.stdout.contains("verify"), "{}", judged.stdout);
    let manifest = std::fs::read_to_string(scratch.path("out/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["extra"]["validation_run"].as_str().map(str::len), Some(16), "{manifest}");
    assert_eq!(manifest["extra"]["validation_targets"]["sd1"]["block_bytes"], BLOCK);

    // Without it there is nothing of it.
    let plain = run(&scratch, "plain", &text, &[]).expect_code(0);
    assert!(!plain.stderr.contains("validation"), "{}", plain.stderr);
    assert!(!std::fs::read_to_string(scratch.path("plain/report.html")).unwrap().contains("recording.data_check"));
}

#[test]
fn devices_are_proved_by_what_was_written() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let (scratch, device) = (Scratch::new(), LoopDevice::new(8 << 20).unwrap());
    for (engine, more) in [("uring", ",openflags=o_direct"), ("sync", "")] {
        let text = parameters(device.path(), more);
        let output = run(&scratch, engine, &text, &["--verify", "--engine", engine]).expect_code(0);
        assert!(verdict(&output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
        let last = check(&scratch, engine);
        let (known, swept) = (last["known_blocks"].as_i64().unwrap(), last["swept_blocks"].as_i64().unwrap());
        assert!(known == swept && known > 100 && known < 1024, "only what was written is known: {last}");
    }
}

#[test]
fn what_another_program_writes_between_two_runs_is_named() {
    let scratch = Scratch::new();
    let data = scratch.path("data");
    let text = format!(
        "sd=sd1,lun={file},size=4m\nwd=wd1,sd=sd1,xfersize=8k,rdpct=0\nwd=wd2,sd=sd1,xfersize=8k,rdpct=100,seekpct=eof\n\
         rd=rd1,wd=wd1,iorate=500,elapsed=2,interval=1\n\
         rd=rd2,wd=wd2,iorate=max,elapsed=60,interval=1,startcmd=\"dd if=/dev/urandom of={file} bs=512 count=1 seek=104 conv=notrunc\"\n",
        file = data.display()
    );
    let output = run(&scratch, "out", &text, &["--verify"]).expect_code(4);
    assert!(verdict(&output).ends_with("1 block is damaged: 1 foreign"), "{}", output.stderr);
    assert!(
        output.stderr.contains("sd1: 1 block foreign: it has no stamp of iodyno's; at 0xc000 (8 KiB)"),
        "{}",
        output.stderr
    );
    let errors = scratch.table("out", "data_error");
    let [error] = &errors[..] else { panic!("one block, found once, though read twice: {errors:?}") };
    let figures = ["address", "bytes", "wrong_sectors", "first_wrong"].map(|name| error[name].as_i64().unwrap());
    assert_eq!(figures, [6 * BLOCK, BLOCK, 1, 104 * 512]);
    assert_eq!(["class", "found_by", "run"].map(|name| error[name].as_str().unwrap()), ["foreign", "read", "rd2"]);
    assert!(!error["bytes_found"].as_str().unwrap().is_empty() && error["transient"] == false, "{error}");
    let last = check(&scratch, "out");
    assert_eq!((last["damaged_blocks"].as_i64(), last["swept_blocks"].as_i64()), (Some(1), Some(512)));
    let events = scratch.table("out", "event");
    assert!(events.iter().any(|event| event["kind"] == "data" && event["severity"] == "error"), "{events:?}");
    let report = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
    assert!(report.contains("recording.damage") && report.contains("1 damaged block"), "the report");
    let manifest = std::fs::read_to_string(scratch.path("out/manifest.json")).unwrap();
    assert!(manifest.contains("data wrong"), "{manifest}");
}

#[test]
fn lost_writes_are_found_by_the_reading_at_the_end() {
    let Some(faulty) = FaultyDisk::new() else { return };
    let scratch = Scratch::new();
    // The second pass over the blocks loses three writes; nothing reads them before the end.
    faulty.disk.control("lost-write skip 700 count 3").unwrap();
    let text = format!(
        "sd=sd1,lun={},openflags=o_direct,range=(0,4m),threads=1\nwd=wd1,sd=sd1,xfersize=8k,rdpct=0,seekpct=0\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1,maxdata=8m\n",
        faulty.device.path().display()
    );
    let output = run(&scratch, "out", &text, &["--verify", "--engine", "sync"]).expect_code(4);
    assert!(verdict(&output).contains("3 blocks are damaged: 3 lost_write"), "{}", output.stderr);
    let mut found: Vec<i64> =
        scratch.table("out", "data_error").iter().map(|row| row["address"].as_i64().unwrap()).collect();
    found.sort_unstable();
    let mut injected: Vec<i64> =
        faulty.disk.visible().unwrap().iter().map(|(from, _)| i64::try_from(*from).unwrap() / BLOCK * BLOCK).collect();
    injected.sort_unstable();
    injected.dedup();
    assert_eq!(found, injected);
}

#[test]
fn equal_blocks_stay_equal_and_are_checked() {
    let scratch = Scratch::new();
    let file = scratch.path("data");
    let text = |command: &str| {
        format!(
            "dedupratio=2,dedupunit=4k,dedupsets=64\nsd=sd1,lun={},size=8m\nwd=wd1,sd=sd1,xfersize=8k,rdpct=50\n\
             wd=wd2,sd=sd1,xfersize=8k,rdpct=100\n\
             rd=rd1,wd=wd1,iorate=1000,elapsed=2,interval=1\nrd=rd2,wd=wd2,iorate=10,elapsed=2,interval=1{command}\n",
            file.display()
        )
    };
    let output = run(&scratch, "out", &text(""), &["--verify"]).expect_code(0);
    assert!(verdict(&output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
    let data = std::fs::read(&file).unwrap();
    let unique = data.chunks(4096).collect::<std::collections::HashSet<_>>().len();
    // 2,048 blocks, half of them unique; σ = 23.
    assert!((1024 - 115..1024 + 115).contains(&unique), "{unique} of 2048");
    let equal = scratch.iodyno(&["verify", file.to_str().unwrap()]).run().unwrap().expect_code(0);
    assert!(equal.stdout.contains("equal to others"), "{}", equal.stdout);

    // What an earlier execution wrote is no damage, whether its settings are known or not.
    for more in ["", "dedupe_percentage=50\n"] {
        let job = format!("[j]\nfilename={}\nsize=8m\nrw=read\nbs=8k\nverify=crc32c\n{more}", file.display());
        let later = scratch.write("later.fio", &job);
        let output = scratch.iodyno(&["run", later.to_str().unwrap(), "--no-counters"]).run().unwrap().expect_code(0);
        assert!(
            verdict(&output).ends_with("not read again at the end: what was read was right; the rest is not proved"),
            "{}",
            output.stderr
        );
    }

    // Two neighbours change places, equal or not.
    let dd = |from: u32, to: u32, name: &str| {
        format!(
            "dd if={} of={} bs=4k count=1 conv=notrunc skip={from} seek={to}",
            file.display(),
            scratch.path(name).display()
        )
    };
    let swap = format!("{}; {}", dd(0, 0, "kept"), dd(1, 0, "data"));
    let command = format!(
        ",startcmd=\"{swap}; dd if={} of={} bs=4k seek=1 conv=notrunc\"",
        scratch.path("kept").display(),
        file.display()
    );
    let output = run(&scratch, "out2", &text(&command), &["--verify"]);
    let damaged = scratch.table("out2", "data_error");
    let is_equal = damaged.is_empty();
    output.expect_code(if is_equal { 0 } else { 4 });
    let data = std::fs::read(&file).unwrap();
    assert_eq!(is_equal, data[..4096] == data[4096..8192]);

    let output =
        run(&scratch, "out3", &text(""), &["--verify", "--journal", "journal", "--journal-same-device"]).expect_code(2);
    assert!(output.stderr.contains("does not know of duplicates"), "{}", output.stderr);
}

#[test]
fn more_damage_than_is_allowed_ends_the_run_and_calls_the_command() {
    let scratch = Scratch::new();
    let (data, told) = (scratch.path("data"), scratch.path("told"));
    let text = format!(
        "data_errors=\"touch {told}\"\nsd=sd1,lun={file},size=4m\nwd=wd1,sd=sd1,xfersize=8k,rdpct=0\n\
         wd=wd2,sd=sd1,xfersize=8k,rdpct=100,seekpct=0\nrd=rd1,wd=wd1,iorate=500,elapsed=2,interval=1\n\
         rd=rd2,wd=wd2,iorate=max,elapsed=60,interval=1,startcmd=\"dd if=/dev/zero of={file} bs=1M count=2 conv=notrunc\"\n\
         rd=rd3,wd=wd1,iorate=500,elapsed=2,interval=1\n",
        file = data.display(),
        told = told.display()
    );
    let output = run(&scratch, "out", &text, &["--verify"]).expect_code(4);
    assert!(output.stderr.contains("rd2: stopped, ") && output.stderr.contains("(data_errors="), "{}", output.stderr);
    assert!(
        verdict(&output).contains("not read again at the end, because the runs were stopped: at least ")
            && verdict(&output).ends_with(" zeroes; the rest is not proved"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("the runs behind it, and the reading at the end, do not take place"));
    assert!(told.exists(), "the command was executed");
    let runs: Vec<Value> = scratch.table("out", "run_total");
    assert!(runs.iter().all(|row| row["run"] != "rd3" && row["run"] != "verify"), "{runs:?}");
    assert!(scratch.table("out", "data_error").iter().all(|row| row["class"] == "zeroes"));
}

#[test]
fn an_interrupted_command_keeps_what_it_has_and_reads_no_more() {
    let scratch = Scratch::new();
    let text = parameters(&scratch.path("data"), ",size=4m").replace("elapsed=2", "elapsed=100");
    let file = scratch.write("a.vdb", &text);
    let arguments = ["run", file.to_str().unwrap(), "-o", "out", "--json", "--no-counters", "--verify"];
    let mut child = scratch.iodyno(&arguments).spawn().unwrap();
    assert!(child.wait_until(Duration::from_secs(60), |stdout| stdout.contains("\"rd1\"")), "{}", child.stderr());
    child.signal(Signal::INT);
    let output = child.wait().unwrap().expect_code(130);
    assert!(
        verdict(&output).contains("not read again at the end, because the command was interrupted"),
        "{}",
        output.stderr
    );
    let last = check(&scratch, "out");
    assert_eq!((last["run"].as_str(), last["swept_blocks"].as_i64()), (Some("rd1"), None));
    assert!(last["checked_bytes"].as_i64() > Some(0), "{last}");
}

#[test]
fn what_cannot_be_validated_is_refused_before_any_io() {
    let scratch = Scratch::new();
    let file = scratch.path("data").display().to_string();
    std::fs::write(scratch.path("pattern"), [7; 512]).unwrap();
    let pattern = scratch.path("pattern").display().to_string();
    let base = |sd: &str| {
        format!("sd=sd1,lun={file},size=4m{sd}\nwd=wd1,sd=sd1,xfersize=8k,rdpct=0\nrd=rd1,wd=wd1,iorate=10,elapsed=2\n")
    };
    let cases = [
        (format!("pattern={pattern}\n{}", base("")), "no room for the stamps"),
        (format!("[a]\nfilename={file}\nsize=4m\nrw=randwrite\nbs=1000\n"), "multiples of 512"),
        (format!("[a]\nfilename={file}\nsize=4m\nrw=randwrite\nbs=4k\noffset=100\n"), "multiples of 512"),
        (base(&format!("\nsd=sd2,lun={file},size=8m")).replace("sd=sd1,xfersize", "sd=sd*,xfersize"), "are the same"),
        (
            format!(
                "fsd=f1,anchor={file}.d,depth=1,width=1,files=1,size=4k\nfwd=w1,fsd=f1,operation=append\nrd=rd1,fwd=w1,fwdrate=1,elapsed=2\n"
            ),
            "cannot be validated yet",
        ),
    ];
    for (at, (text, why)) in cases.iter().enumerate() {
        for more in [&["--verify"][..], &["--verify", "--dry-run"]] {
            let language = if text.starts_with('[') { "fio" } else { "vdb" };
            let file = scratch.write(&format!("{at}.{language}"), text);
            let arguments = [&["run", file.to_str().unwrap(), "-o", "out"], more].concat();
            let output = scratch.iodyno(&arguments).run().unwrap().expect_code(2);
            let said = output.stdout.replace("\n    ", " ") + &output.stderr;
            assert!(said.contains(why), "{text}: {said}");
        }
        assert!(!scratch.path("out").exists() && !scratch.path("data").exists(), "{text}");
    }
}

#[test]
fn what_is_proved_is_chosen_by_flags() {
    let scratch = Scratch::new();
    let text = parameters(&scratch.path("data"), ",size=1m");
    let file = scratch.write("a.vdb", &text);
    let dry = ["run", file.to_str().unwrap(), "--dry-run", "--verify", "--verify-before-write"];
    let output = scratch.iodyno(&dry).run().unwrap().expect_code(0);
    let said = output.stdout.replace("\n    ", " ");
    for words in
        ["every sector that is written is stamped", "checked before they are written", "sd1: blocks of 8 KiB, 256 B"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let reads = run(&scratch, "reads", &text, &["--verify=reads"]).expect_code(0);
    assert!(
        verdict(&reads).ends_with("not read again at the end: what was read was right; the rest is not proved"),
        "{}",
        reads.stderr
    );
    assert_eq!(check(&scratch, "reads")["swept_blocks"], Value::Null);
    let both = run(&scratch, "both", &text, &["--verify-before-write", "--verify-after-write"]).expect_code(0);
    let last = check(&scratch, "both");
    let totals = scratch.table("both", "run_total");
    let written = sum(&totals, "ops", |row| row["op"] == "write" && row["run"] == "rd1");
    // The file is there from before, and of a block that was not written yet nothing is known.
    let extra = last["extra_reads"].as_i64().unwrap();
    assert!(extra > written && extra <= 2 * written, "{last} of {written}: {}", both.stderr);
    let wrong = run(&scratch, "wrong", &text, &["--verify=all"]).expect_code(2);
    assert!(wrong.stderr.contains("--verify=all") && wrong.stderr.contains("sweep"), "{}", wrong.stderr);
    // Whatever the language: flags of fio's, and a target that keeps nothing.
    let flags = ["--name", "a", "--filename", "fio-data", "--size", "1m", "--rw", "randwrite", "--bs", "4k"];
    let fio = [&["run", "--verify", "-o", "fio", "--output", "fio.txt"][..], &flags].concat();
    let output = scratch.iodyno(&fio).run().unwrap().expect_code(0);
    assert!(verdict(&output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
    let null = parameters(Path::new("/dev/null"), ",size=1m");
    let output = run(&scratch, "null", &null, &["--verify"]).expect_code(0);
    assert!(verdict(&output).ends_with("nothing was proved"), "{}", output.stderr);
}

#[test]
fn operations_that_fail_leave_the_reading_at_the_end_and_the_runs_behind() {
    let Some(faulty) = FaultyDisk::new() else { return };
    let scratch = Scratch::new();
    // One write fails, and 20 others are lost; then a second run.
    faulty.disk.control("eio write count 1").unwrap();
    faulty.disk.control("lost-write skip 600 count 3").unwrap();
    let text = format!(
        "sd=sd1,lun={},openflags=o_direct,range=(0,4m),threads=1\nwd=wd1,sd=sd1,xfersize=8k,rdpct=0,seekpct=0\n\
         wd=wd2,sd=sd1,xfersize=8k,rdpct=100\nrd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1,maxdata=8m\n\
         rd=rd2,wd=wd2,iorate=max,elapsed=60,interval=1,maxdata=64k\n",
        faulty.device.path().display()
    );
    let output = run(&scratch, "out", &text, &["--verify", "--engine", "sync"]).expect_code(4);
    assert!(output.stderr.contains("rd1: 1 operation failed"), "{}", output.stderr);
    assert!(verdict(&output).contains("3 blocks are damaged: 3 lost_write"), "{}", output.stderr);
    let totals = scratch.table("out", "run_total");
    for run in ["rd2", "verify"] {
        assert!(totals.iter().any(|row| row["run"] == run), "{run} took place: {totals:?}");
    }
    // More than are allowed end the runs: then nothing is read, and nothing is claimed.
    faulty.disk.control("eio write").unwrap();
    let stopped = run(&scratch, "stopped", &text, &["--verify", "--engine", "sync"]).expect_code(3);
    faulty.disk.control("quiet").unwrap();
    assert!(
        verdict(&stopped).ends_with("not read again at the end, because the runs were stopped: nothing was proved"),
        "{}",
        stopped.stderr
    );
    assert!(scratch.table("stopped", "run_total").iter().all(|row| row["run"] == "rd1"));
}

#[test]
fn blocks_that_were_only_trimmed_are_read_at_the_end() {
    let Some(faulty) = FaultyDisk::new() else { return };
    let scratch = Scratch::new();
    let lun = faulty.device.path().display().to_string();
    let job = |name: &str, rw: &str| {
        let text = format!("[a]\nfilename={lun}\nrw={rw}\nsize=1m\nbs=4k\nioengine=psync\ndirect=1\nverify=crc32c\n");
        let file = scratch.write(&format!("{name}.fio"), &text);
        scratch.iodyno(&["run", file.to_str().unwrap(), "-o", name, "--no-counters"]).run().unwrap()
    };
    job("write", "write").expect_code(0);
    faulty.disk.control("trim-kept").unwrap();
    let output = job("trim", "trim").expect_code(4);
    faulty.disk.control("quiet").unwrap();
    assert!(verdict(&output).contains("256 blocks are damaged: 256 trimmed_data"), "{}", output.stderr);
}

#[test]
fn jobs_that_open_one_file_in_several_ways_know_of_each_others_writes() {
    let scratch = Scratch::new();
    let text = "[global]\nfilename=data\nverify=crc32c\nbs=4k\nsize=1m\nrw=randwrite\n[a]\n[b]\nstonewall\nsync=1\n\
                [c]\nstonewall\nend_fsync=1\nrw=randrw\n";
    let file = scratch.write("a.fio", text);
    let output =
        scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out", "--no-counters"]).run().unwrap().expect_code(0);
    assert!(verdict(&output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
    let rows = scratch.table("out", "data_check");
    let last: Vec<&Value> = rows.iter().filter(|row| row["run"] == "verify").collect();
    let [last] = last[..] else { panic!("one place has one row: {rows:?}") };
    assert_eq!((last["known_blocks"].as_i64(), last["swept_blocks"].as_i64()), (Some(256), Some(256)));
    let totals = scratch.table("out", "run_total");
    assert_eq!(last["stamped_bytes"].as_i64(), Some(sum(&totals, "bytes", |row| row["op"] == "write")));
    assert_eq!(sum(&totals, "bytes", |row| row["phase"] == "verify"), 1 << 20, "each block once: {totals:?}");
}

#[test]
fn a_load_that_reads_nothing_proves_nothing() {
    let scratch = Scratch::new();
    let flags = ["--name", "a", "--filename", "data", "--size", "1m", "--rw", "write", "--bs", "4k"];
    let all = [&["run", "-o", "out", "--no-counters", "--verify=reads"][..], &flags].concat();
    let output = scratch.iodyno(&all).run().unwrap().expect_code(0);
    assert!(verdict(&output).ends_with("not read again at the end: nothing was proved"), "{}", output.stderr);
    let report = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
    assert!(report.contains("unproved"), "the report");
}
