//! `iodyno run --journal`: what was written is known after the command, and after its death.

use crate::support::Scratch;
use rustix::process::Signal;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;
use testkit::CommandOutput;

fn parameters(lun: &Path, elapsed: u32) -> String {
    format!(
        "sd=sd1,lun={},size=4m\nwd=wd1,sd=sd1,xfersize=8k,rdpct=50\nrd=rd1,wd=wd1,iorate=2000,elapsed={elapsed},interval=1\n",
        lun.display()
    )
}

fn run(scratch: &Scratch, name: &str, text: &str, journal: &Path, more: &[&str]) -> CommandOutput {
    let journal = ["--no-counters", "--verify", "--journal", journal.to_str().unwrap()];
    scratch.run(name, text, &[&journal[..], more].concat())
}

#[test]
fn a_journal_outlives_its_command() {
    // The scratch folder and memory are two devices.
    let (scratch, elsewhere) = (Scratch::new(), tempfile::tempdir_in("/dev/shm").unwrap());
    let (target, journal) = (scratch.path("data"), elsewhere.path().join("j"));
    let text = parameters(&target, 2);
    let output = run(&scratch, "one", &text, &scratch.path("beside"), &[]);
    assert!(output.stderr.contains("would lie on") && !target.exists(), "{}", output.stderr);
    output.expect_code(2);
    let output = run(&scratch, "none", &text, &journal, &["--recover"]);
    assert!(output.stderr.contains("there is no journal at") && !target.exists(), "{}", output.stderr);
    output.expect_code(2);
    run(&scratch, "two", &text, &journal, &[]).expect_code(0);
    let output = run(&scratch, "three", &text, &journal, &[]);
    assert!(output.stderr.contains("has a journal; check what it says"), "{}", output.stderr);
    let output = run(&scratch, "four", &text, &journal, &["--recover"]).expect_code(0);
    let said = |words: &str| assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    said("the last one ended by itself");
    said("the last write to every block that the journal has must be there\n");
    // What the recovery has read is not in what the end has read.
    let rows = scratch.table("four", "data_check");
    let swept = |run: &str| {
        let row = rows.iter().find(|row| row["run"] == run).unwrap_or_else(|| panic!("{run}: {rows:?}"));
        (row["known_blocks"].as_i64(), row["swept_blocks"].as_i64())
    };
    assert_eq!((swept("recovery"), swept("verify")), ((Some(512), Some(512)), (Some(512), Some(512))));
    said("all that the journal says must be there is there");
    said("no byte was lost");
    // A block that is gone since then is found, and nothing else.
    let file = std::fs::File::options().write(true).open(&target).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(&[0; 8192], 16384).unwrap();
    // Otherwise it is another program's file now.
    file.set_modified(modified).unwrap();
    let output = run(&scratch, "five", &text, &journal, &["--recover-only"]).expect_code(4);
    assert!(output.stderr.contains("1 block is damaged: 1 zeroes"), "{}", output.stderr);
    let errors = scratch.table("five", "data_error");
    assert_eq!((errors.len(), errors[0]["address"].as_i64()), (1, Some(16384)));
    let totals = scratch.table("five", "run_total");
    assert!(totals.iter().all(|row| row["op"] != "write"), "nothing is written: {totals:?}");
}

#[test]
fn a_killed_command_is_recovered_and_goes_on() {
    let (scratch, elsewhere) = (Scratch::new(), tempfile::tempdir_in("/dev/shm").unwrap());
    let (target, journal) = (scratch.path("data"), elsewhere.path().join("j"));
    scratch.write("long.vdb", &parameters(&target, 60));
    let arguments = ["run", "long.vdb", "-o", "killed", "--no-counters", "--verify", "--journal"];
    let mut command = scratch.iodyno(&[&arguments[..], &[journal.to_str().unwrap()]].concat()).spawn().unwrap();
    let length = || std::fs::metadata(journal.join("00000001.journal")).map_or(0, |facts| facts.len());
    // Some thousand operations behind the fill.
    let has_written = |_: &str| length() > 8192 + 100 * 1024;
    assert!(command.wait_until(Duration::from_secs(120), has_written), "{}", command.stderr());
    command.signal(Signal::KILL);
    let _ = command.wait();
    let output = run(&scratch, "again", &parameters(&target, 2), &journal, &["--recover"]).expect_code(0);
    let said = |words: &str| assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    said("the last one died, and the machine runs since");
    said("every write that the journal has must be there, or a newer one");
    said("all that the journal says must be there is there");
    said("no byte was lost");
}
