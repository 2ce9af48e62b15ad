//! `iodyno verify --journal`: a target is held against what the journal of its load says.

use crate::support::Scratch;
use rustix::process::Signal;
use serde_json::Value;
use stamp::{BlockWriter, StampFlags, WriteStamp};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use testkit::{CommandOutput, LoopDevice, require_root_or_skip, sha256};

const MIB: u64 = 1 << 20;
const BLOCK: u64 = 8192;

fn parameters(lun: &Path, size: &str, elapsed: u32) -> String {
    format!(
        "sd=sd1,lun={}{size}\nwd=wd1,sd=sd1,xfersize=8k,rdpct=50\nrd=rd1,wd=wd1,iorate=2000,elapsed={elapsed},interval=1\n",
        lun.display()
    )
}

/// A file of 4 MiB, and the journal of the load that has written it.
fn journaled(scratch: &Scratch) -> (TempDir, PathBuf, String) {
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let (target, journal) = (scratch.path("data"), elsewhere.path().join("j").to_str().unwrap().to_string());
    let text = parameters(&target, ",size=4m", 2);
    scratch.run("load", &text, &["--no-counters", "--verify", "--journal", &journal]).expect_code(0);
    (elsewhere, target, journal)
}

fn verify(scratch: &Scratch, arguments: &[&str]) -> CommandOutput {
    scratch.iodyno(&[&["verify"], arguments].concat()).run().unwrap()
}

/// The report of `verify --json` that ends with this exit code.
fn report(scratch: &Scratch, arguments: &[&str], code: i32) -> Value {
    let output = verify(scratch, &[arguments, &["--json"]].concat()).expect_code(code);
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
}

/// Flips a bit of the byte there.
fn flip(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

/// Names and contents of the files of a journal.
fn contents(journal: &str) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let files = std::fs::read_dir(journal).unwrap().map(Result::unwrap);
    let mut all: Vec<_> = files.map(|file| (file.file_name(), std::fs::read(file.path()).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn a_target_is_held_against_its_journal_and_nothing_is_changed() {
    let scratch = Scratch::new();
    let (_elsewhere, target, journal) = journaled(&scratch);
    let path = target.to_str().unwrap();
    let before = (sha256(&target).unwrap(), contents(&journal));
    let output = verify(&scratch, &[path, "--journal", &journal]).expect_code(0);
    for words in [
        "which the journal knows as sd1",
        "no damage; all 512 blocks are as the journal says",
        "What the journal says of sd1, in blocks of 8 KiB",
        "the last one ended by itself",
        "it could be read up to its end; its last session began",
        "the last write to every block that the journal has must be there",
        "4 MiB  100.00 %",
    ] {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
    assert_eq!((sha256(&target).unwrap(), contents(&journal)), before, "it only reads");

    // What the stamps alone cannot tell: an empty block, and an older write.
    let file = File::options().write(true).open(&target).unwrap();
    file.write_all_at(&[0; 8192], 2 * BLOCK).unwrap();
    let injected = ["inject", "--kind", "lost", path, "--block", "8k", "--at", "0x8000", "--destroy", path];
    scratch.iodyno(&injected).run().unwrap().expect_code(0);
    assert_eq!(report(&scratch, &[path], 0)["damaged_blocks"], 0);
    let found = report(&scratch, &[path, "--journal", &journal], 4);
    let of = &found["journal"];
    assert_eq!(
        (&of["known_blocks"], &of["right_blocks"], &of["damaged_blocks"]),
        (&512.into(), &510.into(), &2.into())
    );
    assert_eq!(of["classes"], serde_json::json!({"zeroes": 1, "lost_write": 1}));
    assert_eq!(
        (&of["target"], &of["taken_for"], &of["clean_end"]),
        (&"sd1".into(), &"process_died".into(), &true.into())
    );
    let places: Vec<_> = of["damages"].as_array().unwrap().iter().map(|damage| damage["address"].as_u64()).collect();
    assert_eq!(places, [Some(2 * BLOCK), Some(4 * BLOCK)]);
    assert_eq!((&found["damaged_blocks"], &found["device_from"]), (&0.into(), &"journal".into()));
    assert_eq!((&found["bytes"]["promised"], &found["bytes"]["damaged"]), (&(510 * BLOCK).into(), &(2 * BLOCK).into()));
    // The groups are those of `run --recover-only`.
    let recovered = ["--no-counters", "--verify", "--journal", &journal, "--recover-only"];
    let output = scratch.run("again", &parameters(&target, ",size=4m", 2), &recovered);
    for group in of["groups"].as_array().unwrap() {
        assert!(output.stderr.contains(group.as_str().unwrap()), "{group}: {}", output.stderr);
    }
}

#[test]
fn what_the_journal_does_not_know_is_checked_by_its_stamps_and_counted_apart() {
    let scratch = Scratch::new();
    let (_elsewhere, target, journal) = journaled(&scratch);
    let path = target.to_str().unwrap();
    let file = File::options().write(true).open(&target).unwrap();
    let mut block = vec![0; 4096];
    for at in (4 * MIB..5 * MIB).step_by(4096) {
        let write = WriteStamp {
            flags: StampFlags::default(),
            run: 77,
            device: validation::device_id(target.canonicalize().unwrap().to_str().unwrap()),
            sequence: at,
            writer: 0,
            epoch: 0,
            written_s: 1_764_331_200,
        };
        BlockWriter::new(1.0).fill(&mut block, (at, 4096), &write, |_| 9);
        file.write_all_at(&block, at).unwrap();
    }
    let found = report(&scratch, &[path, "--journal", &journal], 0);
    assert_eq!((&found["bytes"]["promised"], &found["bytes"]["stamped"]), (&(4 * MIB).into(), &MIB.into()));
    assert_eq!(found["runs"].as_array().unwrap().len(), 2, "both executions are named");
    // One of each kind.
    file.write_all_at(&[0; 512], 7 * BLOCK).unwrap();
    flip(&target, 4 * MIB + 100);
    let found = report(&scratch, &[path, "--journal", &journal], 4);
    assert_eq!((&found["damaged_blocks"], &found["journal"]["damaged_blocks"]), (&1.into(), &1.into()));
    assert_eq!(found["damages"][0]["address"], 4 * MIB);
    assert_eq!(found["journal"]["damages"][0]["address"], 7 * BLOCK);
    let output = verify(&scratch, &[path, "--journal", &journal]).expect_code(4);
    for words in
        ["DAMAGED: 1 of 512 blocks are not as the journal says; beyond it DAMAGED: 1 block", "Damage beyond what"]
    {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
    // A file that ends before what it must hold.
    file.set_len(3 * MIB).unwrap();
    let found = report(&scratch, &[path, "--journal", &journal], 4);
    assert_eq!(found["journal"]["classes"]["short_read"], MIB / BLOCK, "{found}");
    // A hole is no less wrong than zeroes.
    file.set_len(0).unwrap();
    file.set_len(5 * MIB).unwrap();
    let found = report(&scratch, &[path, "--journal", &journal], 4);
    assert_eq!(found["journal"]["classes"], serde_json::json!({"zeroes": 512}));
}

#[test]
fn a_journal_of_other_targets_is_refused_with_their_names() {
    let scratch = Scratch::new();
    let (_elsewhere, target, journal) = journaled(&scratch);
    let (leg, other) = (scratch.path("leg"), scratch.path("other"));
    std::fs::copy(&target, &leg).unwrap();
    std::fs::write(&other, [1; 8192]).unwrap();
    let says = |arguments: &[&str], words: &str| {
        let output = verify(&scratch, arguments).expect_code(2);
        assert!(output.stderr.contains(words) && output.stdout.is_empty(), "{words}: {}", output.stderr);
    };
    says(&["other", "--journal", &journal], "does not know other: it knows sd1 (");
    says(&["leg", "--journal", &journal], "; what stands on leg is of sd1: say --as sd1\n");
    says(&["leg", "--journal", &journal, "--as", "sd2"], "does not know sd2: it knows sd1");
    says(&["leg", "--journal", "nowhere"], "there is no journal at nowhere");
    says(&["leg", "--journal", "."], "has no journal");
    says(&["leg", "--after-crash"], "--journal");
    for name in ["sd1", target.to_str().unwrap(), "data"] {
        let found = report(&scratch, &["leg", "--journal", &journal, "--as", name], 0);
        assert_eq!(found["journal"]["right_blocks"], 512, "{name}");
    }
    // A part that cannot be used is named, and what stands before it is used.
    let segment = Path::new(&journal).join("00000001.journal");
    let length = std::fs::metadata(&segment).unwrap().len();
    File::options().write(true).open(&segment).unwrap().write_all_at(&[0xff; 64], length - 3200).unwrap();
    let output = verify(&scratch, &["leg", "--journal", &journal, "--as", "sd1"]).expect_code(0);
    for words in ["00000001.journal is damaged: 3200 bytes from byte", "it could be read in part, as said above"] {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
}

#[test]
fn what_is_found_becomes_a_recording() {
    let scratch = Scratch::new();
    let (_elsewhere, target, journal) = journaled(&scratch);
    let path = target.to_str().unwrap();
    let file = File::options().write(true).open(&target).unwrap();
    file.write_all_at(&[0; 8192], 2 * BLOCK).unwrap();
    verify(&scratch, &[path, "--journal", &journal, "-o", "found"]).expect_code(4);
    let (errors, checks) = (scratch.table("found", "data_error"), scratch.table("found", "data_check"));
    let ([error], [check]) = (&errors[..], &checks[..]) else { panic!("{errors:?} {checks:?}") };
    assert_eq!((&error["class"], &error["address"]), (&"zeroes".into(), &(2 * BLOCK).into()));
    assert!(
        !error["bytes_found"].as_str().unwrap().is_empty() && error["expected"].as_str().unwrap().contains("version")
    );
    assert_eq!((&check["known_blocks"], &check["swept_blocks"]), (&512.into(), &512.into()));
    assert_eq!((&check["damaged_blocks"], &check["block_bytes"]), (&1.into(), &BLOCK.into()));
    assert_eq!(scratch.table("found", "data_verdict").len(), 1);
    scratch.iodyno(&["check", "found"]).run().unwrap().expect_code(4);
    scratch.iodyno(&["report", "found", "-o", "found.html"]).run().unwrap().expect_code(0);
    let report = std::fs::read_to_string(scratch.path("found.html")).unwrap();
    assert!(report.contains("recording.damage") && report.contains("recording.data_check"), "the report");
    let manifest = std::fs::read_to_string(scratch.path("found/manifest.json")).unwrap();
    assert!(manifest.contains("data wrong") && manifest.contains("\"known_blocks\""), "{manifest}");
    // A name that is taken, and a target that is not there: nothing is made.
    let output = verify(&scratch, &[path, "-o", "found"]);
    assert!(output.stderr.contains("found") && output.code != Some(0), "{}", output.stderr);
    let output = verify(&scratch, &["nowhere", "-o", "none"]).expect_code(3);
    assert!(output.stderr.contains("nowhere does not exist: name the device or file"), "{}", output.stderr);
    assert!(!scratch.path("none").exists());
    // By its stamps alone.
    flip(&target, 5 * BLOCK + 100);
    verify(&scratch, &[path, "-o", "stamps"]).expect_code(4);
    let errors = scratch.table("stamps", "data_error");
    assert_eq!((errors.len(), &errors[0]["class"]), (1, &"bit_rot".into()));
}

#[test]
fn a_journal_in_use_is_refused_and_a_crashed_one_is_read() {
    if !require_root_or_skip() {
        return;
    }
    let (scratch, device) = (Scratch::new(), LoopDevice::new(8 * MIB).unwrap());
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let (path, journal) = (device.path().to_str().unwrap(), elsewhere.path().join("j"));
    let text = parameters(device.path(), ",openflags=o_direct", 60);
    scratch.write("long.vdb", &text.replace("rdpct=50", "rdpct=20"));
    let journal_text = journal.to_str().unwrap();
    let arguments = ["run", "long.vdb", "-o", "killed", "--no-counters", "--verify", "--journal", journal_text];
    let mut command = scratch.iodyno(&arguments).spawn().unwrap();
    let length = || std::fs::metadata(journal.join("00000001.journal")).map_or(0, |facts| facts.len());
    let has_written = |_: &str| length() > 8192 + 50 * 1024;
    assert!(command.wait_until(Duration::from_secs(120), has_written), "{}", command.stderr());
    let output = verify(&scratch, &[path, "--journal", journal_text]).expect_code(2);
    assert!(output.stderr.contains("is being written by process"), "{}", output.stderr);
    command.signal(Signal::KILL);
    let _ = command.wait();
    let found = report(&scratch, &[path, "--journal", journal_text], 0);
    let known = found["journal"]["known_blocks"].as_u64().unwrap();
    assert!(known > 100 && found["journal"]["right_blocks"] == known, "{found}");
    assert_eq!(found["journal"]["clean_end"], false);
    // Nothing was flushed: a power cut may have taken all of it.
    let output = verify(&scratch, &[path, "--journal", journal_text, "--after-crash"]).expect_code(0);
    assert!(output.stdout.contains("the journal promises nothing of this target"), "{}", output.stdout);
    assert!(output.stdout.contains("written and not covered by a flush: may be anything"), "{}", output.stdout);
    let cut = report(&scratch, &[path, "--journal", journal_text, "--after-crash"], 0);
    assert_eq!((&cut["journal"]["unpromised_blocks"], &cut["journal"]["known_blocks"]), (&known.into(), &0.into()));
    assert_eq!(found["journal"]["unpromised_blocks"], 0);
    scratch.iodyno(&["inject", "--kind", "foreign", path, "--random", "3", "--block", "8k"]).run().unwrap();
    let found = report(&scratch, &[path, "--journal", journal_text], 4);
    assert_eq!(found["journal"]["classes"], serde_json::json!({"foreign": 3}));
    // A load that goes on says of how many blocks nothing is known.
    let text = text.replace("elapsed=60", "elapsed=2");
    let recover = ["--no-counters", "--verify", "--journal", journal_text, "--recover", "--after-crash"];
    let output = scratch.run("again", &text, &[&recover[..], &["--destroy", path]].concat()).expect_code(0);
    let words = format!("; {known} blocks that no flush covered before the power cut may hold anything: only counted");
    assert!(output.stderr.contains(&words), "{words}: {}", output.stderr);
    let mut checks = scratch.table("again", "data_check");
    let left_out = checks.pop().unwrap();
    assert_eq!((&left_out["target"], &left_out["swept_blocks"]), (&"(left out)".into(), &Value::Null));
    assert!(!checks.is_empty() && checks.iter().all(|row| row["unpromised_blocks"] == known), "{checks:?}");
    let load = ["--no-counters", "--verify"];
    scratch.run("plain", &text, &[&load[..], &["--destroy", path]].concat()).expect_code(0);
    assert_eq!(scratch.table("plain", "data_check")[0]["unpromised_blocks"], Value::Null);
}
