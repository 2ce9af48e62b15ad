//! `kill -9` at random moments: what was printed is in the recording, and the recording says that it was cut short.

use crate::support::{Scratch, table_of, wait_for_samples};
use recording::{Reader, RecordingState};
use rustix::process::Signal;
use std::time::Duration;

#[test]
fn nothing_that_was_printed_is_lost() {
    kill(50);
}

#[test]
#[ignore = "times: make exam"]
fn nothing_that_was_printed_is_lost_at_200_moments() {
    kill(200);
}

/// Kills a run at so many moments.
fn kill(kills: u64) {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=4m,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\nrd=rd1,wd=wd1,iorate=3000,elapsed=60,interval=1\n",
        scratch.path("data").display()
    );
    let file = scratch.write("a.vdb", &text);
    // How long it takes until intervals are printed, today on this machine.
    let command = |name: &str| {
        scratch
            .iodyno(&["run", file.to_str().unwrap(), "-o", name, "--json", "-i", "10ms", "--engine", "sync"])
            .spawn()
            .unwrap()
    };
    let started_ns = testkit::now_ns();
    let mut first = command("first");
    assert!(first.wait_for_stdout("t_ns", Duration::from_secs(60)));
    let mut moments = (testkit::now_ns() - started_ns) / 1_000_000 + 400;
    first.signal(Signal::KILL);
    first.wait().unwrap();
    let mut state = 0x1234_5678_9abc_def1_u64;
    let (mut printed_total, mut cut, mut unborn) = (0, 0, 0);
    for kill in 0..kills {
        // xorshift: moments from 0 to 400 ms after intervals are printed.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let name = format!("kill-{kill}");
        let child = command(&name);
        std::thread::sleep(Duration::from_millis(state % moments));
        child.signal(Signal::KILL);
        let output = child.wait().unwrap();
        let directory = scratch.path(&name);
        if !directory.join("manifest.json").exists() {
            assert!(output.ndjson().is_empty(), "printed before there was a recording");
            unborn += 1;
            // The machine has become slower since.
            if 3 * unborn > cut {
                moments += moments / 8;
            }
            continue;
        }
        let reader = Reader::open(&directory).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(reader.state(), RecordingState::CutShort, "{name}");
        let stored = table_of(&directory, "op_interval");
        for line in output.ndjson() {
            let t_ns = line["t_ns"].as_i64().unwrap_or_else(|| panic!("t_ns in {line}"));
            let ops: i64 =
                stored.iter().filter(|row| row["t_ns"] == t_ns).map(|row| row["ops"].as_i64().unwrap()).sum();
            assert_eq!(Some(ops), line["ops"].as_i64(), "{name}: interval at {t_ns} was printed");
            printed_total += 1;
        }
        cut += 1;
        std::fs::remove_dir_all(&directory).unwrap();
    }
    println!("{cut} recordings cut short, {unborn} before they began, {printed_total} printed intervals all found");
    assert!(cut > kills / 2 && printed_total > 5 * kills, "the test killed too early to mean anything");
}

#[test]
fn an_export_and_a_chart_of_a_recording_that_was_not_ended_say_so() {
    let scratch = Scratch::new();
    // Long intervals: it is not to grow while it is looked at.
    let child = scratch.iodyno(&["record", "-o", "r", "-i", "1s", "--clock", "tick"]).spawn().unwrap();
    wait_for_samples(&scratch.path("r"), 2);
    let look = |words: &str, code: i32| {
        let export = scratch.iodyno(&["export", "r", "sample", "--json"]).run().unwrap().expect_code(code);
        // Standard output is data and nothing else.
        assert!(export.ndjson().iter().all(|row| row["t_ns"].is_i64()), "{}", export.stdout);
        let chart = scratch.iodyno(&["chart", "r", "run.cpu", "-o", "-"]).run().unwrap().expect_code(code);
        assert!(chart.stdout.starts_with("<svg"), "{}", chart.stdout);
        let list = scratch.iodyno(&["export", "r"]).run().unwrap().expect_code(code);
        for made in [export, chart, list] {
            assert!(made.stderr.contains(words), "{}", made.stderr);
        }
    };
    look("iodyno: r is still being written; this is what it held a moment ago.\n", 0);
    child.signal(Signal::KILL);
    child.wait().unwrap();
    look("r was cut short: the program that wrote it was killed. Everything up to the last interval is here.\n", 0);
    let mut journal = std::fs::read(scratch.path("r/journal")).unwrap();
    let middle = journal.len() / 2;
    journal[middle] ^= 1;
    std::fs::write(scratch.path("r/journal"), journal).unwrap();
    look("r was cut short: the program that wrote it was killed.\n", 6);
    let export = scratch.iodyno(&["export", "r"]).run().unwrap().expect_code(6);
    assert!(export.stderr.contains("iodyno: r is damaged: "), "{}", export.stderr);
    // One that was ended has nothing to say.
    scratch.iodyno(&["record", "-o", "whole", "--clock", "tick", "--for", "1s"]).run().unwrap().expect_code(0);
    assert_eq!(scratch.iodyno(&["export", "whole", "sample"]).run().unwrap().expect_code(0).stderr, "");
}
