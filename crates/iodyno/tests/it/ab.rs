//! `ab`: two loads in turn, A B B A, each half of a round a recording; what the disk saw is the judge of the order.

use crate::support::{FaultyDisk, Scratch};
use faultfs::DiskOperation;
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;
use testkit::CommandOutput;

/// Reads of 4 KiB from the part of a target that `$part` names, in rounds that are too short for a verdict, and quick.
fn reads(scratch: &Scratch, lun: &Path, more: &str) -> String {
    let text = format!(
        "data_errors=5\nsd=sd1,lun={},openflags=o_direct{more}\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1\n",
        lun.display()
    );
    scratch.write("load.vdb", &text).display().to_string()
}

/// As short as a run may be.
const SHORT: &[&str] = &["-e", "400ms", "-i", "200ms", "--no-counters"];

/// The folders of half-rounds.
fn folders(scratch: &Scratch, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(scratch.path(directory)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_str().unwrap().to_string())
        .collect();
    names.sort();
    names
}

/// Which side each read of the load belongs to, neighbours of one side together: `(side, how many)`.
fn sides_seen(disk: &faultfs::DiskHandle) -> Vec<(char, usize)> {
    let mut seen: Vec<(char, usize)> = Vec::new();
    for entry in disk.log() {
        // Both parts lie away from the ends, where the system looks at a new device.
        let side = match (entry.op, entry.offset) {
            (DiskOperation::Read, offset) if (16 << 20..32 << 20).contains(&offset) => 'a',
            (DiskOperation::Read, offset) if (32 << 20..48 << 20).contains(&offset) => 'b',
            _ => continue,
        };
        match seen.last_mut() {
            Some((last, count)) if *last == side => *count += 1,
            _ => seen.push((side, 1)),
        }
    }
    seen
}

const PARTS: &[&str] = &["--a", "part=(25,50)", "--b", "part=(50,75)"];

#[test]
fn the_disk_sees_a_b_b_a_and_every_face_shows_both_sides() {
    let Some(faulty) = FaultyDisk::new() else { return };
    let scratch = Scratch::new();
    let file = reads(&scratch, faulty.device.path(), ",range=$part");
    let arguments = [&["ab", &file, "--rounds", "4", "-o", "out"], SHORT, PARTS].concat();
    let mut last = None;
    let seen = || {
        let _ = std::fs::remove_dir_all(scratch.path("out"));
        drop(faulty.disk.take_log());
        let ran = scratch.iodyno(&arguments).run().unwrap().expect_code(0);
        assert!(ran.stdout.lines().any(|line| line.starts_with("round 1 of 4, 01-a: part=(25,50)")), "{}", ran.stdout);
        last = Some(ran);
        sides_seen(&faulty.disk)
    };
    // a b b a a b b a: two of b together, two of a. One that had no processor in its 400 ms read nothing.
    testkit::until_enough(seen, |seen| {
        let sides: String = seen.iter().map(|part| part.0).collect();
        sides == "ababa" && seen[1].1 > seen[0].1 && seen[2].1 > seen[4].1
    });
    let ran = last.unwrap();
    let names = ["01-a", "02-b", "03-b", "04-a", "05-a", "06-b", "07-b", "08-a"];
    assert_eq!(folders(&scratch, "out"), names);
    for (name, order) in names.iter().zip(1..) {
        let reader = recording::Reader::open(scratch.path("out").join(name)).unwrap();
        let half = &reader.manifest().extra["ab"];
        assert_eq!((half["order"].as_i64(), half["round"].as_i64()), (Some(order), Some((order + 1) / 2)), "{half}");
        assert_eq!(half["side"].as_str(), name.split('-').next_back(), "{half}");
    }
    // What differs is in the names of both, and too short a round is no verdict, said before and after.
    // On a machine that stands still at a round's end, an operation may have none; that is said instead.
    let verdicts = [
        "rd1: whether part=(50,75) differs from part=(25,50) is not resolved",
        "rd1: part=(50,75) is not judged against part=(25,50): a lower bound",
    ];
    assert!(verdicts.iter().any(|verdict| ran.stdout.contains(verdict)), "{}", ran.stdout);
    assert!(ran.stdout.contains("a round of 40") && ran.stdout.contains("30 s are needed"), "{}", ran.stdout);
    assert!(ran.stderr.contains("rounds of 400 ms get no verdict"), "{}", ran.stderr);
    assert!(scratch.path("out/report.html").exists());

    let again = scratch.iodyno(&["compare", "out", "-o", "page.html"]).run().unwrap().expect_code(0);
    let table =
        |output: &CommandOutput| output.stdout.lines().filter(|line| line.starts_with("IOPS")).collect::<String>();
    assert_eq!(table(&again), table(&ran));
    let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
    assert!(page.contains("compare.response_p99") && page.contains("part=(25,50)"), "the page has both sides");
    scratch.iodyno(&["report", "out"]).run().unwrap().expect_code(0);
    scratch.iodyno(&["report", "out/03-b"]).run().unwrap().expect_code(0);
    scratch.iodyno(&["chart", "out", "compare.iops", "-o", "iops.svg"]).run().unwrap().expect_code(0);
    let one = scratch.iodyno(&["compare", "out/01-a"]).run().unwrap().expect_code(2);
    assert!(one.stderr.contains("is one recording"), "{}", one.stderr);
    // A round that lacks a side is left out with the other, and it is said.
    std::fs::remove_dir_all(scratch.path("out/03-b")).unwrap();
    let less = scratch.iodyno(&["compare", "out"]).run().unwrap().expect_code(0);
    for words in ["Round 2 is left out on both sides (part=(50,75) was not run).", "3 of 4 rounds are there."] {
        assert!(less.stdout.contains(words), "{words}: {}", less.stdout);
    }
}

#[test]
fn a_round_in_which_io_failed_is_left_out_and_another_one_is_run() {
    let Some(faulty) = FaultyDisk::new() else { return };
    let scratch = Scratch::new();
    let file = reads(&scratch, faulty.device.path(), ",range=$part");
    let arguments = [&["ab", &file, "--rounds", "4", "-o", "out"], SHORT, PARTS].concat();
    let mut child = scratch.iodyno(&arguments).spawn().unwrap();
    assert!(child.wait_for_stdout("round 2 of 4, 04-a", Duration::from_secs(60)), "{}", child.stdout());
    faulty.disk.control("eio read").unwrap();
    assert!(child.wait_for_stdout("is left out on both sides", Duration::from_secs(60)), "{}", child.stdout());
    faulty.disk.control("quiet").unwrap();
    let ran = child.wait().unwrap().expect_code(0);
    let line = ran.stderr.lines().find(|line| line.contains("is left out on both sides (")).unwrap();
    assert!(line.contains("operations failed") && line.ends_with("; one more is run in its place"), "{line}");
    let last = folders(&scratch, "out").pop().unwrap();
    assert!(["09-a", "10-b", "11-a", "10-a", "11-b", "12-a"].contains(&last.as_str()), "five or six rounds: {last}");
}

#[test]
fn where_every_round_has_failed_operations_nothing_is_judged() {
    let Some(faulty) = FaultyDisk::new() else { return };
    let scratch = Scratch::new();
    let file = reads(&scratch, faulty.device.path(), ",range=$part");
    faulty.disk.control("eio read").unwrap();
    let arguments = [&["ab", &file, "--rounds", "4", "-o", "out"], SHORT, PARTS].concat();
    let ran = scratch.iodyno(&arguments).run().unwrap();
    faulty.disk.control("quiet").unwrap();
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.code != Some(0) && all.contains("is left out on both sides"), "{:?} {all}", ran.code);
    for word in ["better", "worse", "the same"] {
        assert!(!all.contains(word), "{word}: {all}");
    }
    let compared = scratch.iodyno(&["compare", "out"]).run().unwrap().expect_code(2);
    assert!(compared.stderr.contains("without a fault"), "{}", compared.stderr);
}

#[test]
fn ctrl_c_keeps_whole_rounds_and_compares_them() {
    let scratch = Scratch::new();
    let data = scratch.path("data");
    let file = reads(&scratch, &data, ",size=4m");
    let other = scratch.write("other.vdb", &std::fs::read_to_string(&file).unwrap()).display().to_string();
    // Rounds of a second, so that the second one is met in its middle.
    let arguments = ["ab", &file, &other, "--rounds", "5", "-o", "out", "-e", "2", "-i", "1", "--no-counters"];
    let judged = ["--junit", "r.xml", "--fail-if", "iops not same within 100%"];
    let mut child = scratch.iodyno(&[arguments.as_slice(), &judged].concat()).spawn().unwrap();
    assert!(child.wait_for_stdout("round 2 of 5, 03-b", Duration::from_secs(60)), "{}", child.stdout());
    child.signal(Signal::INT);
    let ran = child.wait().unwrap().expect_code(130);
    // Filled once, beforehand.
    let names = folders(&scratch, "out");
    assert_eq!(names[..4], ["00-a", "01-a", "02-b", "03-b"], "{}", ran.stdout);
    for name in ["01-a", "02-b"] {
        let runs = scratch.table(&format!("out/{name}"), "run_total");
        assert!(runs.iter().all(|row| row["run"] == "rd1"), "{name}: {runs:?}");
    }
    // Where the machine had no time for what was due, figures are bounds, and nothing is judged by them.
    let verdicts = ["differs from load is not resolved", "other is not judged against load"];
    assert!(verdicts.iter().any(|verdict| ran.stdout.contains(verdict)), "{}", ran.stdout);
    assert!(ran.stdout.contains("Round 2 is left out on both sides ("), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 of 5 rounds are there."), "{}", ran.stdout);
    // However well the rounds that are there compare, the command was interrupted.
    let junit = std::fs::read_to_string(scratch.path("r.xml")).unwrap();
    assert!(junit.contains("<failure type=\"error\" message=\"interrupted"), "{junit}");
    assert!(scratch.path("out/report.html").exists());
}

#[test]
fn ctrl_c_in_the_first_round_leaves_its_recording_and_says_that_there_is_nothing_to_compare() {
    let scratch = Scratch::new();
    let file = reads(&scratch, &scratch.path("data"), ",size=4m");
    let arguments = ["ab", &file, &file, "-o", "out", "-e", "20", "-i", "1", "--no-counters"];
    let judged = ["--junit", "r.xml", "--fail-if", "iops worse"];
    let mut child = scratch.iodyno(&[arguments.as_slice(), judged.as_slice()].concat()).spawn().unwrap();
    assert!(child.wait_for_stdout("round 1 of 6, 01-a", Duration::from_secs(60)), "{}", child.stdout());
    let junit = || std::fs::read_to_string(scratch.path("r.xml")).unwrap();
    assert!(junit().contains("not ended"), "{}", junit());
    child.signal(Signal::INT);
    let ran = child.wait().unwrap().expect_code(130);
    assert!(junit().contains("<failure type=\"error\"") && junit().contains("no round of which both"), "{}", junit());
    assert!(ran.stderr.contains("no round of which both sides were run to their end"), "{}", ran.stderr);
    assert_eq!(folders(&scratch, "out"), ["00-a", "01-a"]);
    scratch.iodyno(&["report", "out/01-a"]).run().unwrap().expect_code(0);
}

#[test]
fn ctrl_c_while_targets_are_filled_leaves_no_round() {
    let Some(faulty) = FaultyDisk::new() else { return };
    let scratch = Scratch::new();
    let file = reads(&scratch, faulty.device.path(), "");
    let text = format!("formatsds=yes\n{}", std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, text).unwrap();
    faulty.disk.control("delay 50ms write").unwrap();
    let arguments = ["ab", &file, &file, "-o", "out", "-e", "20", "-i", "1", "--no-counters"];
    let mut child = scratch.iodyno(&arguments).spawn().unwrap();
    assert!(child.wait_for_stdout("format", Duration::from_secs(60)), "{}", child.stdout());
    child.signal(Signal::INT);
    let ran = child.wait().unwrap().expect_code(130);
    assert!(ran.stderr.contains("00-a: the targets were not filled: no round was run"), "{}", ran.stderr);
    assert_eq!(folders(&scratch, "out"), ["00-a"]);
}

#[test]
fn nothing_is_written_before_both_sides_were_inspected() {
    let scratch = Scratch::new();
    let foreign = scratch.path("foreign");
    std::fs::write(&foreign, vec![7_u8; 1 << 20]).unwrap();
    let text =
        "sd=sd1,lun=$lun,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\nrd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1\n";
    let file = scratch.write("load.vdb", text).display().to_string();
    let both = |more: &[&str]| {
        let lun_b = format!("lun={}", foreign.display());
        let arguments = [&["ab", &file, "--a", "lun=new", "--b", &lun_b, "--rounds", "4", "-o", "out"], SHORT, more];
        scratch.iodyno(&arguments.concat()).run().unwrap()
    };
    let refused = both(&[]).expect_code(7);
    assert!(refused.stderr.contains("foreign") && refused.stderr.contains("--destroy"), "{}", refused.stderr);
    assert!(!scratch.path("new").exists() && !scratch.path("out").exists(), "A was not begun either");
    assert!(std::fs::read(&foreign).unwrap().iter().all(|byte| *byte == 7));
    let misnamed = both(&["--destroy", "elsewhere"]).expect_code(2);
    assert!(misnamed.stderr.contains("no target has this name"), "{}", misnamed.stderr);
    // What would happen, without any of it.
    let dry = both(&["--dry-run"]).expect_code(7);
    assert!(dry.stdout.contains("order: a b  b a  a b  b a\n"), "{}", dry.stdout);
    assert!(dry.stdout.contains("WOULD BE REFUSED") && dry.stdout.contains("creates a file of"), "{}", dry.stdout);
    let destroy = foreign.display().to_string();
    let dry = both(&["--dry-run", "--destroy", &destroy]).expect_code(0);
    assert!(dry.stdout.contains("time: 3.20 s at most for 4 rounds of two times 400 ms"), "{}", dry.stdout);
    assert!(!scratch.path("new").exists() && !scratch.path("out").exists());
    both(&["--destroy", &destroy]).expect_code(0);
    assert!(std::fs::read(&foreign).unwrap().iter().any(|byte| *byte != 7));
    assert_eq!(folders(&scratch, "out").len(), 9, "one fill, four rounds");
}

#[test]
fn ci_gets_an_exit_code_json_and_junit() {
    let scratch = Scratch::new();
    let file = reads(&scratch, &scratch.path("data"), ",size=4m");
    let more = ["--json", "--junit", "r.xml", "--fail-if", "iops{run=rd1} not same within 5%", "--no-report"];
    let arguments = [&["ab", &file, &file, "--rounds", "4", "-o", "out"], SHORT, &more].concat();
    let ran = scratch.iodyno(&arguments).run().unwrap().expect_code(5);
    // Rounds of 400 ms prove nothing; standard output is JSON and nothing else.
    let lines = ran.ndjson();
    let of = |schema: &str| lines.iter().filter(|line| line["schema"] == schema).collect::<Vec<_>>();
    let objectives = of("iodyno.objective/1");
    assert_eq!((objectives.len(), objectives[0]["verdict"].as_str()), (1, Some("undecided")), "{}", ran.stdout);
    assert!(
        of("iodyno.difference/1").iter().all(|line| line["rounds"] == 4 || line["rounds"].is_null()),
        "{}",
        ran.stdout
    );
    let junit = std::fs::read_to_string(scratch.path("r.xml")).unwrap();
    assert!(junit.contains("<failure type=\"undecided\""), "{junit}");
}

#[test]
fn what_is_no_pair_of_loads_is_refused_with_what_to_type() {
    let scratch = Scratch::new();
    let file = reads(&scratch, &scratch.path("data"), ",size=4m");
    let job = scratch.write("j.fio", "[j]\nfilename=${DISK}\nsize=1m\nrw=randread\n").display().to_string();
    let open = "variable=(xs,4k)\nsd=sd1,lun=x,size=1m\nwd=wd1,sd=sd1,xfersize=$xs\nrd=rd1,wd=wd1,iorate=$n\n";
    let open = scratch.write("open.vdb", open).display().to_string();
    for (arguments, why) in [
        (vec!["ab", &open, "--b", "xs=16k", "n=8"], "a has no xs=16k n=8: what stands behind --b"),
        (vec!["ab", &file], "is one load: name the file of the other one as well"),
        (vec!["ab"], "required"),
        (vec!["ab", &file, &file, &file], "3 files: two loads are compared"),
        (vec!["ab", &file, "--a", "x=1", "--b", "x=2"], "the variable `x` is used by no parameter file"),
        (vec!["ab", &file, "--a", "x=1", &file], "files stand before --a"),
        (vec!["ab", &file, &file, "--rounds", "3"], "4..=1000"),
        (vec!["ab", &job, "--a", "DISK=a", "X=1", "--b", "DISK=b"], "the variable `X` is used by no job file"),
        (vec!["ab", &file, &file, "--primary", "response_ns_max"], "no such figure is judged"),
        (vec!["ab", &file, &file, "--fail-if", "iops < 5"], "expected `worse`"),
        (vec!["ab", &file, &file, "--fail-if", "iops{run=rd2} worse"], "there is no run `rd2`"),
    ] {
        let refused = scratch.iodyno(&arguments).run().unwrap().expect_code(2);
        assert!(refused.stderr.contains(why), "{arguments:?}: {}", refused.stderr);
    }
    // Variables of a job file; A and B are called by them.
    let arguments = ["ab", &job, "--a", "DISK=one", "--b", "DISK=two", "--dry-run", "-e", "30s"];
    let dry = scratch.iodyno(&arguments).run().unwrap().expect_code(0).stdout;
    assert!(dry.starts_with("a (DISK=one): "), "{dry}");
    assert!(dry.contains("\nDISK=two, in each of its 6 half-rounds:") && dry.contains("time: 6 min"), "{dry}");
    // Commands are judged however short a round is.
    scratch.write("c.vdb", "rd=c,cmd=\"true\"\n");
    let commands = scratch.iodyno(&["ab", "c.vdb", "c.vdb", "-s", "-e", "2"]).run().unwrap().expect_code(0);
    assert!(!commands.stderr.contains("get no verdict"), "{}", commands.stderr);
}
