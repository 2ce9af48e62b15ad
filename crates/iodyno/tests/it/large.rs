//! Very many targets, very large parameter files.

use crate::support::{Scratch, sum};
use std::fmt::Write;
use testkit::TestCommand;

/// A parameter file with so many small targets.
fn many(scratch: &Scratch, count: usize) -> String {
    let mut text = String::new();
    for index in 0..count {
        let lun = scratch.path(&format!("f{index}"));
        writeln!(text, "sd=sd{index},lun={},size=256k,threads=1", lun.display()).unwrap();
    }
    text + "wd=wd1,sd=sd*,xfersize=4k,rdpct=70\nrd=rd1,wd=wd1,iorate=2000,elapsed=3,interval=1\n"
}

/// `iodyno run` under a limit of open files.
fn limited(scratch: &Scratch, limit: &str, more: &[&str]) -> testkit::CommandOutput {
    let script = format!("ulimit {limit}; exec \"$@\"");
    TestCommand::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_iodyno"), "run", "a.vdb", "-o", "out"])
        .args(more)
        .dir(scratch.path(""))
        .limit(std::time::Duration::from_secs(300))
        .run()
        .unwrap()
}

#[test]
fn a_thousand_targets_with_the_usual_limit_of_open_files() {
    run_a_thousand_targets(false);
}

#[test]
#[ignore = "times: make exam"]
fn a_thousand_targets_keep_their_rate() {
    testkit::while_cpus_are_ours(|| run_a_thousand_targets(true));
}

/// 1,024 targets; on a machine that is `quiet` they keep the rate.
fn run_a_thousand_targets(quiet: bool) {
    let scratch = Scratch::new();
    let text = many(&scratch, 1024);
    scratch.write("a.vdb", &if quiet { text } else { text.replace("elapsed=3", "elapsed=600,maxops=6000") });
    limited(&scratch, "-Sn 1024", &[]).expect_code(0);
    // What came back behind the last one that was issued is counted apart.
    let is_of_run = |row: &serde_json::Value| row["phase"] == "measure" || !quiet && row["phase"] == "drain";
    let totals: Vec<_> = scratch.table("out", "run_total").into_iter().filter(is_of_run).collect();
    let targets: std::collections::BTreeSet<&str> = totals.iter().map(|row| row["target"].as_str().unwrap()).collect();
    let ops = sum(&totals, "ops", |_| true);
    // Six operations each on average; a few targets get none by chance.
    assert!(targets.len() > 1_000, "{} targets", targets.len());
    assert!(if quiet { (5_400..6_600).contains(&ops) } else { ops == 6_000 }, "{ops} operations in 3 s at 2,000/s");
    assert!(scratch.path("out/report.html").exists());
}

#[test]
fn a_hard_limit_that_is_too_low_is_named() {
    let scratch = Scratch::new();
    scratch.write("a.vdb", &many(&scratch, 300));
    let refused = limited(&scratch, "-n 200", &[]).expect_code(3);
    assert!(
        refused.stderr.contains("more than 200 files") && refused.stderr.contains("ulimit -Hn"),
        "{}",
        refused.stderr
    );
}

#[test]
fn enormous_files_are_refused_at_once() {
    let scratch = Scratch::new();
    let sd = format!("sd=sd1,lun={},size=1m", scratch.path("f").display());
    let long_line = format!("{sd},{}\nwd=wd1,sd=sd1\n", "x".repeat(50_000_000));
    let long_file = format!("{sd}\n{}", "wd=wd1,sd=sd1,xfersize=4k,rdpct=70\n".repeat(3_000_000));
    let many_runs = format!(
        "{sd}\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=(1-100,1),forthreads=(1-100,1),forrdpct=(0-100,1),elapsed=2\n"
    );
    for (text, word) in
        [(long_line, "the line is longer than"), (long_file, "larger than 64 MiB"), (many_runs, "too many runs")]
    {
        let file = scratch.write("a.vdb", &text);
        let refused = scratch.iodyno(&["run", file.to_str().unwrap(), "--dry-run"]).run().unwrap().expect_code(2);
        assert!(refused.stderr.contains(word), "{word}: {}", &refused.stderr[..refused.stderr.len().min(2000)]);
        assert!(refused.stderr.len() < 10_000, "the message is not as long as the file");
    }
}
