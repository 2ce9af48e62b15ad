//! What data validation tells behind the last run: judged classes, times, verdicts of recordings, targets that share bytes.

use crate::support::Scratch;
use std::path::Path;
use testkit::{LoopDevice, require_root_or_skip};

const BLOCK: i64 = 8192;

/// Writes to a file, and copies its block 10 over block 20 before all of it is read.
fn with_a_copy(data: &Path) -> String {
    format!(
        "sd=sd1,lun={file},size=4m\nwd=wd1,sd=sd1,xfersize=8k,rdpct=0\nwd=wd2,sd=sd1,xfersize=8k,rdpct=100,seekpct=eof\n\
         rd=rd1,wd=wd1,iorate=500,elapsed=2,interval=1\n\
         rd=rd2,wd=wd2,iorate=max,elapsed=60,interval=1,startcmd=\"dd if={file} of={file} bs=8192 count=1 skip=10 seek=20 conv=notrunc\"\n",
        file = data.display()
    )
}

#[test]
fn the_verdict_knows_both_ends_and_the_rows_say_since_when() {
    let scratch = Scratch::new();
    let text = with_a_copy(&scratch.path("data"));
    let output = scratch.run("out", &text, &["--no-counters", "--verify", "--verify-times"]).expect_code(4);
    assert!(output.stderr.contains("1 block is damaged: 1 duplicated_write"), "{}", output.stderr);
    let (errors, verdicts) = (scratch.table("out", "data_error"), scratch.table("out", "data_verdict"));
    let ([error], [verdict]) = (&errors[..], &verdicts[..]) else { panic!("{errors:?} {verdicts:?}") };
    // Seen alone it is any write to another place.
    assert_eq!((&error["class"], &verdict["class"]), (&"misdirected_write".into(), &"duplicated_write".into()));
    assert_eq!(verdict["other"].as_i64(), Some(10 * BLOCK));
    for column in ["t_ns", "target", "address", "bytes", "transient"] {
        assert_eq!(error[column], verdict[column], "{column}");
    }
    assert_eq!(error["address"].as_i64(), Some(20 * BLOCK));
    // It was written, and nothing read it before.
    let (found, written) = (error["t_ns"].as_i64().unwrap(), error["last_write_ns"].as_i64().unwrap());
    assert!(written < found && error["last_good_ns"].is_null(), "{error}");
    let events = scratch.table("out", "event");
    let says = |words: &str| events.iter().any(|event| event["message"].as_str().unwrap().contains(words));
    assert!(says("before, and not read since"), "{events:?}");
    let report = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
    assert!(report.contains("duplicated write") && !report.contains("misdirected write"), "the report");
    assert!(report.contains("since when"), "the report");

    // Without times nothing is kept, and what is there says when it was written.
    let output = scratch.run("plain", &text, &["--no-counters", "--verify"]).expect_code(4);
    let rows = scratch.table("plain", "data_error");
    assert!(rows[0]["last_write_ns"].is_null() && !rows[0]["found_written_s"].is_null(), "{rows:?} {}", output.stderr);
}

#[test]
fn check_ends_with_what_was_wrong_with_the_data() {
    let scratch = Scratch::new();
    let text = with_a_copy(&scratch.path("data"));
    scratch.run("wrong", &text, &["--no-counters", "--verify"]).expect_code(4);
    scratch.run("right", &text.replace(",startcmd", ",endcmd"), &["--no-counters", "--verify=reads"]).expect_code(0);
    let check = |arguments: &[&str]| scratch.iodyno(&[&["check"], arguments].concat()).run().unwrap();
    let output = check(&["wrong", "--junit", "junit.xml"]).expect_code(4);
    assert!(output.stderr.contains("data was wrong: 1 block is damaged"), "{}", output.stderr);
    let junit = std::fs::read_to_string(scratch.path("junit.xml")).unwrap();
    assert!(junit.contains("data validation") && junit.contains("data wrong"), "{junit}");
    check(&["wrong", "--fail-if", "errors > 0"]).expect_code(4);
    let output = check(&["right"]).expect_code(0);
    assert!(output.stderr.contains("no data was wrong"), "{}", output.stderr);
    check(&["right", "--fail-if", "errors >= 0"]).expect_code(5);
    check(&["right", "wrong"]).expect_code(4);
}

#[test]
fn two_names_for_the_same_bytes_are_refused() {
    if !require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let below = LoopDevice::new(8 << 20).unwrap();
    let above = LoopDevice::over(below.path()).unwrap();
    let text = |one: &Path, other: &Path| {
        format!(
            "sd=sd1,lun={}\nsd=sd2,lun={}\nwd=wd1,sd=sd*,xfersize=8k,rdpct=0\nrd=rd1,wd=wd1,iorate=10,elapsed=2,interval=1\n",
            one.display(),
            other.display()
        )
    };
    for (name, text) in [("one", text(below.path(), above.path())), ("two", text(above.path(), below.path()))] {
        let output = scratch.run(name, &text, &["--no-counters", "--verify"]).expect_code(2);
        assert!(output.stderr.contains("share bytes") && !scratch.path(name).exists(), "{}", output.stderr);
    }
    // Two halves of one file share none.
    let disk = scratch.path("disk");
    std::fs::File::create(&disk).unwrap().set_len(8 << 20).unwrap();
    let first = LoopDevice::with_options(&disk, &["--sizelimit", "4194304"]).unwrap();
    let second = LoopDevice::with_options(&disk, &["--offset", "4194304"]).unwrap();
    let whole = LoopDevice::with_options(&disk, &["--read-only"]).unwrap();
    for (other, code) in [(&second, 0), (&whole, 2)] {
        let file = scratch.write("halves.vdb", &text(first.path(), other.path()));
        let dry = ["run", file.to_str().unwrap(), "--verify", "--dry-run"];
        let output = scratch.iodyno(&dry).run().unwrap().expect_code(code);
        assert_eq!(output.stdout.contains("share bytes") || output.stderr.contains("share bytes"), code == 2);
    }
}
