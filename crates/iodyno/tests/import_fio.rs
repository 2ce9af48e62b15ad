//! `iodyno import` of what a real fio left behind: its JSON and its logs beside new runs.
#![allow(clippy::unwrap_used, clippy::allow_attributes, reason = "helpers of tests")]

mod support;

use recording::Reader;
use recording::rows::{OpInterval, RunTotal};
use std::path::PathBuf;
use std::process::Command;
use support::Scratch;

/// Runs fio with this job file in the scratch folder; `None` without fio.
fn fio(scratch: &Scratch, job: &str) -> Option<()> {
    Command::new("fio").arg("--version").output().ok()?;
    let file = scratch.write("job.fio", job);
    let folder = file.parent().unwrap();
    let mut command = Command::new("fio");
    command.arg(&file).args(["--output-format=json", "--output=fio.json"]).current_dir(folder);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// What two jobs that follow each other do, and where.
fn job(scratch: &Scratch, logs: &str) -> String {
    format!(
        "[global]\nfilename={}\nsize=8m\nioengine=psync\nruntime=3\ntime_based\nrw=randrw\nrate_iops=200\n{logs}\n\
         [small]\nbs=4k\n[large]\nstonewall\nbs=8k\n",
        scratch.path("data").display()
    )
}

fn import(scratch: &Scratch, input: &str, output: &str) -> (Reader, PathBuf, String) {
    let (input, path) = (scratch.path(input), scratch.path(output));
    let said = scratch
        .iodyno(&["import", input.to_str().unwrap(), "-o", path.to_str().unwrap()])
        .run()
        .unwrap()
        .expect_code(0)
        .stderr;
    (Reader::open(&path).unwrap(), path, said)
}

#[test]
fn what_fio_did_not_count_is_named_and_not_zero() {
    let scratch = Scratch::new();
    if fio(&scratch, &job(&scratch, "")).is_none() {
        println!("SKIPPED: no fio");
        return;
    }
    let (reader, path, said) = import(&scratch, "fio.json", "old");
    assert!(said.contains("does not keep arrivals and failed operations: they are null"), "{said}");
    let totals = reader.table::<RunTotal>().unwrap();
    assert_eq!(totals.len(), 4, "two jobs, reads and writes");
    assert!(totals.iter().all(|row| row.arrivals.is_none() && row.errors.is_none() && row.ops > 0));
    let intervals = reader.table::<OpInterval>().unwrap();
    assert!(intervals.iter().all(|row| row.backlog.is_none() && row.errors.is_none()));
    let page = std::fs::read_to_string(path.join("report.html")).unwrap_or_else(|_| {
        scratch.iodyno(&["report", path.to_str().unwrap()]).run().unwrap().expect_code(0);
        std::fs::read_to_string(path.join("report.html")).unwrap()
    });
    assert!(page.contains("errors not counted"), "the sentence says that nobody knows");
    assert!(page.contains("failures were not counted"), "so does the figure");
    assert!(!page.contains("no errors"), "nobody may say so");
    // An objective about what is unknown is not judged, which is neither met nor missed.
    let check = scratch.iodyno(&["check", path.to_str().unwrap(), "--fail-if", "errors > 0"]).run().unwrap();
    assert!(check.stdout.contains("not judged"), "{} {}", check.stdout, check.stderr);
}
