//! A journal and the targets of a load: what it does not know is refused, and what it knows is only read to be proved.

use crate::support::Scratch;
use rustix::fs::OFlags;
use serde_json::Value;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use testkit::{CommandOutput, LoopDevice};

fn load(luns: &[&Path]) -> String {
    let storages: String =
        (1..).zip(luns).map(|(number, lun)| format!("sd=sd{number},lun={},size=1m\n", lun.display())).collect();
    format!("{storages}wd=wd1,sd=sd*,xfersize=8k,rdpct=50\nrd=rd1,wd=wd1,iorate=500,elapsed=2,interval=1\n")
}

/// A scratch folder, and memory: two devices.
fn places() -> (Scratch, tempfile::TempDir) {
    (Scratch::new(), tempfile::tempdir_in("/dev/shm").unwrap())
}

fn run(scratch: &Scratch, name: &str, text: &str, journal: &Path, more: &[&str]) -> CommandOutput {
    let file = scratch.write(&format!("{name}.vdb"), text);
    let (file, journal) = (file.to_str().unwrap(), journal.to_str().unwrap());
    let fixed = ["run", file, "-o", name, "--no-counters", "--no-report", "--verify", "--journal", journal];
    scratch.iodyno(&[&fixed[..], more].concat()).run().unwrap()
}

fn says(output: &CommandOutput, words: &str) {
    assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
}

#[test]
fn what_the_journal_does_not_know_is_refused_and_left_alone() {
    let (scratch, elsewhere) = places();
    let (data, other, typo) = (scratch.path("data"), scratch.path("other"), scratch.path("dota"));
    let journal = elsewhere.path().join("j");
    run(&scratch, "first", &load(&[&data]), &journal, &[]).expect_code(0);
    std::fs::write(&other, vec![7; 1 << 20]).unwrap();
    for flag in ["--recover", "--recover-only"] {
        for (number, (luns, unknown)) in
            [(vec![&*typo], &typo), (vec![&other], &other), (vec![&data, &typo], &typo)].into_iter().enumerate()
        {
            let before = std::fs::read(&data).unwrap();
            let output =
                run(&scratch, &format!("{}{number}", &flag[2..]), &load(&luns), &journal, &[flag]).expect_code(2);
            says(&output, "knows nothing of sd");
            says(&output, &format!("({})", unknown.display()));
            says(&output, &format!("it is about sd1 ({})", data.display()));
            assert!(!typo.exists() && std::fs::read(&other).unwrap() == vec![7; 1 << 20]);
            assert!(std::fs::read(&data).unwrap() == before, "nothing is written");
            let output = run(&scratch, "dry", &load(&luns), &journal, &[flag, "--dry-run"]);
            assert!(output.stdout.contains("knows nothing of sd"), "{}", output.stdout);
        }
    }
    run(&scratch, "known", &load(&[&data]), &journal, &["--recover-only"]).expect_code(0);
}

#[test]
fn an_unreadable_journal_proves_nothing_and_is_refused() {
    let (scratch, elsewhere) = places();
    let (data, journal) = (scratch.path("data"), elsewhere.path().join("j"));
    run(&scratch, "first", &load(&[&data]), &journal, &[]).expect_code(0);
    let file = std::fs::File::options().write(true).open(journal.join("00000001.journal")).unwrap();
    file.write_all_at(&[0; 8192], 0).unwrap();
    let before = std::fs::read(&data).unwrap();
    for flag in ["--recover", "--recover-only"] {
        let output = run(&scratch, &flag[2..], &load(&[&data]), &journal, &[flag]).expect_code(2);
        says(&output, "nothing of it can be read");
        says(&output, "00000001.journal has no intact header");
        let is_claimed = ["all that the journal says", "started again"].iter().any(|it| output.stderr.contains(it));
        assert!(!is_claimed && std::fs::read(&data).unwrap() == before, "{}", output.stderr);
    }
}

#[test]
fn recovering_only_reads_a_device_that_is_read_only() {
    let (scratch, elsewhere) = places();
    let (data, journal) = (scratch.path("data"), elsewhere.path().join("j"));
    let output = run(&scratch, "first", &load(&[&data]), &journal, &[]).expect_code(0);
    assert!(output.stdout.contains("run 1 of 3: ") && output.stdout.contains("run 3 of 3: "), "{}", output.stdout);
    // Another program's file now, as far as its time of change says.
    let file = std::fs::File::options().write(true).open(&data).unwrap();
    file.write_all_at(&[0; 8192], 16384).unwrap();
    let before = std::fs::metadata(&data).unwrap().modified().unwrap();
    let output = run(&scratch, "only", &load(&[&data]), &journal, &["--recover-only"]).expect_code(4);
    says(&output, "1 block is damaged: 1 zeroes");
    assert_eq!(std::fs::metadata(&data).unwrap().modified().unwrap(), before);
    // What is said of the journal is said once, and the only run is counted as such.
    let both = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(both.matches("records of 1 session").count(), 1, "{both}");
    assert!(both.contains("run 1 of 1: ") && !both.contains("run 2 of"), "{both}");
    let future = run(&scratch, "dry", &load(&[&data]), &journal, &["--recover-only", "--dry-run"]).expect_code(0);
    let said = |words: &str| future.stdout.contains(words);
    assert!(said("read only") && said("runs: none") && !said("500 op/s") && !said("overwrites"), "{}", future.stdout);

    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(1 << 20).unwrap();
    let text = load(&[device.path()]);
    let journal = elsewhere.path().join("of-device");
    let same = "--journal-same-device";
    run(&scratch, "device", &text, &journal, &[same]).expect_code(0);
    let set = |flag: &str| {
        assert!(std::process::Command::new("blockdev").arg(flag).arg(device.path()).status().unwrap().success());
    };
    set("--setro");
    let exclusive = i32::try_from(OFlags::EXCL.bits()).unwrap();
    let held = std::fs::File::options().read(true).custom_flags(exclusive).open(device.path()).unwrap();
    let output = run(&scratch, "held", &text, &journal, &[same, "--recover-only"]);
    drop(held);
    set("--setrw");
    output.expect_code(0);
}

#[test]
fn what_a_later_run_without_the_journal_wrote_is_of_no_earlier_one() {
    let (scratch, elsewhere) = places();
    let (data, journal) = (scratch.path("data"), elsewhere.path().join("j"));
    let text = load(&[&data]);
    // Two seconds long, so that the second one is later by its stamps, too.
    run(&scratch, "first", &text, &journal, &[]).expect_code(0);
    scratch.run("second", &text, &["--no-counters", "--no-report", "--verify"]).expect_code(0);
    let output = run(&scratch, "third", &text, &journal, &["--recover-only"]).expect_code(4);
    says(&output, " other_run: a later execution wrote it");
    assert!(!output.stderr.contains("older_run"), "{}", output.stderr);
}

#[test]
fn the_newest_journal_beside_the_recording_is_found() {
    let scratch = Scratch::new();
    scratch.write("a.vdb", &load(&[&scratch.path("data")]));
    let run = |name: &str, flag: &str| {
        let fixed = ["run", "a.vdb", "-o", name, flag, "--journal-same-device", "--no-counters", "--no-report"];
        scratch.iodyno(&fixed).run().unwrap()
    };
    let output = run("none", "-jr").expect_code(2);
    says(&output, "there is no journal");
    says(&output, "--journal DIR");
    assert!(!scratch.path("data").exists());
    run("first", "-j").expect_code(0);
    run("second", "-j").expect_code(0);
    let output = run("third", "-jr").expect_code(0);
    says(&output, "journal second.journal: ");
    says(&output, "all that the journal says must be there is there");
    let output = run("fourth", "-jro").expect_code(0);
    says(&output, "records of 2 sessions");
    scratch.write("a.vdb", &load(&[&scratch.path("other")]));
    let output = run("fifth", "-jr").expect_code(2);
    says(&output, "no journal in this directory knows sd1");
    says(&output, "second.journal, first.journal");
}

#[test]
fn what_would_change_nothing_is_said_or_refused() {
    let (scratch, elsewhere) = places();
    let (text, journal) = (load(&[&scratch.path("data")]), elsewhere.path().join("j"));
    scratch.write("no.vdb", &format!("validate=no\n{text}"));
    let output = scratch.iodyno(&["run", "no.vdb", "--dry-run", "-vr"]).run().unwrap().expect_code(0);
    says(&output, "validate=no wins over -v and -j");
    for flag in ["--after-crash", "--journal-same-device"] {
        let output = scratch.run("alone", &text, &["--verify", flag]).expect_code(2);
        says(&output, &format!("{flag} is about"));
    }
    let begins = run(&scratch, "begins", &text, &journal, &["--after-crash"]).expect_code(2);
    says(&begins, "add --recover");
    let output = scratch.iodyno(&["run", "--verify", "--times", "2", "--", "true"]).run().unwrap().expect_code(2);
    says(&output, "there are commands only");
    // Both in memory: the file system is named as people know it.
    let lun = elsewhere.path().join("data");
    let output = run(&scratch, "same", &load(&[&lun]), &journal, &[]).expect_code(2);
    says(&output, "would lie on the tmpfs at /dev/shm");
    let missing = run(&scratch, "missing", &text, &journal, &["--recover", "--dry-run"]).expect_code(2);
    assert!(missing.stdout.contains("there is no journal at"), "{}", missing.stdout);
    let writes = text.replace("rdpct=50", "rdpct=0");
    let output = scratch.run("writes", &writes, &["--no-counters", "--verify=reads"]).expect_code(0);
    says(&output, "0 B checked, not read again at the end: nothing was proved");
}

#[test]
fn a_job_that_passes_errors_ends_with_the_first_damaged_block_all_the_same() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("data"), vec![0; 1 << 20]).unwrap();
    let job = "[a]\nfilename=data\nsize=1m\nbs=4k\nrw=read\nioengine=psync\nverify=crc32c\nverify_fatal=1\ncontinue_on_error=all\n";
    scratch.write("a.fio", job);
    let output =
        scratch.iodyno(&["run", "a.fio", "-o", "out", "--no-counters", "--no-report"]).run().unwrap().expect_code(4);
    let errors: Vec<Value> = scratch.table("out", "data_error");
    assert_eq!(errors.len(), 1, "{}", output.stderr);
}
