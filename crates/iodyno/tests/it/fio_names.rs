//! fio's engines for names (`filecreate`, `filestat`, `filedelete` and their kin): the same job files run by fio and by us, and what each
//! counts and leaves on disk. The engines for directories came to fio later than 3.33, and are held against what its source says.

use crate::support::Scratch;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use testkit::{MountedFileSystem, TestCommand};

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % count
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::try_from(self.below(list.len() as u64)).unwrap()]
    }
}

/// A job file of one to three sections, and the names that are there before.
fn made(dice: &mut Dice) -> (String, Vec<String>) {
    let mut text = "[global]\ndirectory=data\n".to_string();
    let mut before = vec!["foreign".to_string(), "a0.0.x".to_string()];
    for section in 0..=dice.below(3) {
        let begin = text.len();
        let engine = dice.of(&["filecreate", "filestat", "filedelete"]);
        let (files, bs) = (1 + dice.below(12), dice.of(&[1024_u64, 4096, 8192]));
        let ios = dice.of(&[1, 1, 1, 3]);
        let _ = writeln!(text, "[a{section}]\nstonewall\nioengine={engine}\nnrfiles={files}\nbs={bs}");
        let _ = writeln!(text, "numjobs={}\nrw={}", 1 + dice.below(3), dice.of(&["read", "write"]));
        let _ = writeln!(text, "file_service_type={}", dice.of(&["roundrobin", "sequential", "random"]));
        let _ = match dice.below(2) {
            0 => writeln!(text, "filesize={}", ios * bs),
            _ => writeln!(text, "size={}", files * ios * bs),
        };
        if engine != "filedelete" {
            let _ = writeln!(text, "loops={}", 1 + dice.below(3));
        }
        match dice.below(5) {
            0 if ios == 1 => text += "number_ios=5\n",
            1 if ios == 1 && engine != "filedelete" => {
                let _ = writeln!(text, "io_size={}", 5 * bs);
            }
            2 => text += "openfiles=1\ncreate_on_open=0\n",
            3 if engine != "filecreate" => text += "fallocate=none\n",
            4 if engine == "filestat" => text += "stat_type=lstat\n",
            _ => {}
        }
        if dice.below(4) == 0 {
            text += "unlink=1\n";
        }
        if engine == "filecreate" && dice.below(2) == 0 {
            text += "create_on_open=1\n";
        }
        // What was there, fio removes as well, and makes anew where it is short: here it stays.
        let number = dice.below(files);
        if !["unlink", "fallocate"].iter().any(|option| text[begin..].contains(option)) {
            before.push(format!("a{section}.0.{number}"));
        }
    }
    (text, before)
}

/// Of each job: its name and error, and by direction what was counted.
fn counted(path: &Path) -> Vec<(String, u64, Vec<[u64; 3]>)> {
    let text = std::fs::read_to_string(path).unwrap();
    let json: Value = serde_json::from_str(&text[text.find('{').unwrap_or(0)..]).expect("JSON");
    let number = |value: &Value| value.as_u64().unwrap();
    let jobs = json["jobs"].as_array().unwrap().iter().map(|job| {
        let sides = ["read", "write", "trim"].map(|side| &job[side]);
        let sides = sides.map(|side| {
            assert_eq!((&side["lat_ns"]["N"], &side["slat_ns"]["N"]), (&0.into(), &0.into()), "{job}");
            [&side["total_ios"], &side["io_bytes"], &side["clat_ns"]["N"]].map(number)
        });
        (job["jobname"].as_str().unwrap().to_string(), number(&job["error"]), sides.to_vec())
    });
    jobs.collect()
}

/// Names and sizes in a directory.
fn left(path: &Path) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())).collect()
}

/// A folder with the job file and its directory, in which these names are there.
fn bench(text: &str, before: &[String]) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("jobs.fio", text);
    std::fs::create_dir(scratch.path("data")).unwrap();
    before.iter().for_each(|name| std::fs::write(scratch.path("data").join(name), "was here").unwrap());
    scratch
}

fn run(scratch: &Scratch, flags: &[&str]) -> testkit::CommandOutput {
    let all =
        [&["run", "jobs.fio", "-o", "r", "--no-report", "--output-format=json", "--output=ours.json"], flags].concat();
    scratch.iodyno(&all).run().unwrap()
}

#[test]
fn jobs_by_seed_count_and_leave_what_fio_counts_and_leaves() {
    if !testkit::has_fio() {
        testkit::lacks("fio");
        return;
    }
    for seed in 1..=14_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (text, before) = made(&mut dice);
        let (theirs, ours) = (bench(&text, &before), bench(&text, &before));
        let fio = TestCommand::new("fio").args(["jobs.fio", "--output-format=json", "--output=fio.json"]);
        let code = fio.dir(theirs.path("")).run().unwrap().code;
        // What is there before is a foreign file's: it must be said that it may be lost.
        let ended = run(&ours, &["--destroy", "data"]);
        assert_eq!(ended.code == Some(0), code == Some(0), "seed {seed}: {text}\n{ended:?}");
        assert_eq!(counted(&ours.path("ours.json")), counted(&theirs.path("fio.json")), "seed {seed}: {text}");
        assert_eq!(left(&ours.path("data")), left(&theirs.path("data")), "seed {seed}: {text}");
        assert_eq!(std::fs::read(ours.path("data").join("foreign")).unwrap(), b"was here");
    }
}

#[test]
fn files_that_have_a_jobs_names_are_lost_only_where_that_is_said() {
    for (engine, lost) in [("filedelete", true), ("filestat", false), ("filecreate", false)] {
        let size = if engine == "filestat" { 8 } else { 4096 };
        let text = format!("[j]\nioengine={engine}\ndirectory=data\nnrfiles=3\nfilesize={size}\nbs={size}\n");
        let scratch = bench(&text, &["j.0.1".to_string()]);
        let refused = run(&scratch, &[]);
        if !lost {
            refused.expect_code(0);
            continue;
        }
        let refused = refused.expect_code(7);
        assert!(refused.stderr.contains("1 file(s) of its names, as j.0.1, are in data already"), "{refused:?}");
        assert_eq!(left(&scratch.path("data")), BTreeMap::from([("j.0.1".to_string(), 8)]));
        run(&scratch, &["--destroy", "data"]).expect_code(0);
        assert!(left(&scratch.path("data")).is_empty());
    }
}

/// Names in a directory.
fn names(path: &Path) -> Vec<String> {
    left(path).into_keys().collect()
}

/// Does what a message says behind `in bash: `, to its end of line.
fn remove_as_said(said: &str) {
    let line = said.split_once("in bash: ").unwrap_or_else(|| panic!("no command in: {said}")).1;
    let line = line.lines().next().unwrap();
    TestCommand::new("bash").args(["-c", line]).run().unwrap().expect_code(0);
}

#[test]
fn what_has_no_room_is_refused_and_what_is_left_is_told() {
    if !testkit::require_root_or_skip() {
        return;
    }
    // Inodes for 20, blocks for 64 KiB.
    for (engine, files, lacks) in [("filecreate", 50, "50 directories and files"), ("filestat", 8, "128 KiB")] {
        let small = MountedFileSystem::mount(&["-t", "tmpfs", "-o", "size=64k,nr_inodes=20", "tmpfs"]).unwrap();
        let (folder, other) = (small.path().join("it's"), small.path().join("it's/j.0.x"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&other, "").unwrap();
        let text =
            format!("[j]\ndirectory={}\nioengine={engine}\nnrfiles={files}\nfilesize=16k\nbs=16k\n", folder.display());
        let scratch = bench(&text, &[]);
        let refused = run(&scratch, &[]);
        assert!(refused.code != Some(0), "{refused:?}");
        for part in [lacks, "needs", "--allow-full"] {
            assert!(refused.stderr.contains(part), "{engine}: {part}: {}", refused.stderr);
        }
        assert_eq!(names(&folder), ["j.0.x"], "{engine}");
        let dry = scratch.iodyno(&["run", "jobs.fio", "--dry-run"]).run().unwrap().expect_code(0).stdout;
        assert!(dry.contains("would not begin") && dry.contains(lacks), "{dry}");

        let ended = run(&scratch, &["--allow-full"]);
        assert!(ended.code != Some(0) && ended.stderr.contains("No space left on device"), "{engine}: {ended:?}");
        let made = names(&folder).len() - 1;
        assert!(made > 0 && made < files, "{engine}: {made}");
        let (said, first) = (&ended.stderr, format!("{made} files that were made are left in "));
        assert!(said.contains(&first) && said.contains("j.0.0 to j.0."), "{engine}: {said}");
        remove_as_said(said);
        assert_eq!(names(&folder), ["j.0.x"], "{engine}: {said}");

        // What the job is to remove itself is gone.
        scratch.write("jobs.fio", &format!("{text}unlink=1\n"));
        std::fs::remove_dir_all(scratch.path("r")).unwrap();
        let ended = run(&scratch, &["--allow-full"]);
        assert!(ended.code != Some(0) && !ended.stderr.contains("are left in"), "{engine}: {ended:?}");
        assert_eq!(names(&folder), ["j.0.x"], "{engine}");
    }
}

#[test]
fn operations_are_recorded_as_what_they_are() {
    let text = "[global]\ndirectory=data\nnrfiles=7\nfilesize=4k\nfilename_format=f.$filenum\n[c]\nioengine=filecreate\n\
                loops=2\n[s]\nstonewall\nioengine=filestat\nstat_type=statx\nfile_service_type=random\nrw=write\n\
                [d]\nstonewall\nioengine=filedelete\ncreate_on_open=1\n";
    let scratch = bench(text, &[]);
    run(&scratch, &[]).expect_code(0);
    let rows = scratch.table("r", "run_total");
    let total = |workload: &str, op: &str| {
        crate::support::sum(&rows, "ops", |row| row["workload"] == workload && row["op"] == op)
    };
    assert_eq!([total("c", "create"), total("s", "getattr"), total("d", "delete")], [14, 7, 7]);
    assert!(rows.iter().all(|row| row["bytes"] == 0 && row["errors"] == 0), "{rows:?}");
    assert!(left(&scratch.path("data")).is_empty());
    // The close of a file that was made is no part of its operation.
    let steps = scratch.table("r", "step_total");
    assert_eq!(crate::support::sum(&steps, "ops", |row| row["op"] == "close"), 14, "{steps:?}");
    for format in ["fio-normal", "fio-terse"] {
        let text = scratch.iodyno(&["export", "r", "--format", format]).run().unwrap().expect_code(0).stdout;
        assert!(text.contains(if format == "fio-normal" { "total=14,0,0,0" } else { "c;0;0;56;" }), "{text}");
    }
}

#[test]
fn directories_are_made_asked_for_and_removed() {
    let text = "[global]\ndirectory=data\nnrfiles=5\nnumjobs=2\n[m]\nioengine=dircreate\n[s]\nstonewall\nioengine=dirstat\n\
                loops=3\n[d]\nstonewall\nioengine=dirdelete\n";
    let scratch = bench(text, &["other".to_string()]);
    run(&scratch, &[]).expect_code(0);
    let names: Vec<String> = left(&scratch.path("data")).into_keys().collect();
    let mut expected: Vec<String> =
        ["m", "s"].iter().flat_map(|job| (0..10).map(move |at| format!("{job}.{}.{}", at / 5, at % 5))).collect();
    expected.push("other".to_string());
    expected.sort();
    assert_eq!(names, expected);
    let counts: Vec<u64> = counted(&scratch.path("ours.json")).iter().map(|(.., sides)| sides[0][0]).collect();
    assert_eq!(counts, [5, 5, 15, 15, 5, 5]);
}

#[test]
fn the_first_failure_ends_a_job_and_the_run_has_failed() {
    let text = "[d]\ndirectory=data\nioengine=filedelete\nnrfiles=4\nfilesize=4k\nloops=2\n";
    let scratch = bench(text, &[]);
    let ended = run(&scratch, &[]);
    assert!(ended.code != Some(0), "{ended:?}");
    let ours = counted(&scratch.path("ours.json"));
    assert_eq!(ours, [("d".to_string(), 2, vec![[4, 16384, 4], [0; 3], [0; 3]])]);
    if testkit::has_fio() {
        let fio = TestCommand::new("fio").args(["jobs.fio", "--output-format=json", "--output=fio.json"]);
        assert_eq!(fio.dir(scratch.path("")).run().unwrap().code, Some(1));
        assert_eq!(counted(&scratch.path("fio.json")), ours);
    }
}

#[test]
fn time_and_rate_are_kept() {
    let text = "[s]\ndirectory=data\nioengine=filestat\nnrfiles=3\nfilesize=4k\nruntime=1\ntime_based\nrate_iops=40\n";
    let scratch = bench(text, &[]);
    run(&scratch, &[]).expect_code(0);
    // One every 25 ms, the first at once; what is due in its time is done, however late.
    let ops = counted(&scratch.path("ours.json"))[0].2[0][0];
    assert!((40..=41).contains(&ops), "{ops}");
    scratch.write("jobs.fio", &text.replace("rate_iops=40\n", ""));
    let all = ["run", "jobs.fio", "-o", "again", "--no-report", "--output-format=json", "--output=again.json"];
    scratch.iodyno(&all).run().unwrap().expect_code(0);
    assert!(counted(&scratch.path("again.json"))[0].2[0][0] > 3);
}

#[test]
fn a_name_that_is_something_else_is_refused_and_nothing_is_touched() {
    for (engine, what) in
        [("filecreate", "no regular file"), ("filedelete", "several links"), ("dirdelete", "no directory")]
    {
        let text = format!("[j]\ndirectory=data\nioengine={engine}\nnrfiles=3\nfilesize=4k\n");
        let scratch = bench(&text, &["other".to_string(), "j.0.0".to_string()]);
        let path = |name: &str| scratch.path("data").join(name);
        match engine {
            "filecreate" => std::os::unix::fs::symlink("other", path("j.0.2")).unwrap(),
            _ => std::fs::hard_link(path("other"), path("j.0.2")).unwrap(),
        }
        let before = left(&scratch.path("data"));
        let ended = run(&scratch, &[]);
        assert!(ended.code != Some(0) && ended.stderr.contains(what), "{engine}: {ended:?}");
        assert_eq!(left(&scratch.path("data")), before, "{engine}");
        assert_eq!(std::fs::read(path("other")).unwrap(), b"was here");
    }
    let scratch = bench("[j]\ndirectory=nowhere\nioengine=filestat\nfilesize=4k\n", &[]);
    let ended = run(&scratch, &[]);
    assert!(ended.code != Some(0) && ended.stderr.contains("is missing"), "{ended:?}");
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let scratch = bench("[j]\ndirectory=data\nioengine=filedelete\nnrfiles=30\nfilesize=8k\nbs=8k\nunlink=1\n", &[]);
    let said = scratch.iodyno(&["run", "jobs.fio", "--dry-run"]).run().unwrap().expect_code(0).stdout;
    for part in ["j.0.0 to j.0.29", "delete", "30 operations", "is made before the first run", "removed behind it"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(left(&scratch.path("data")).is_empty());
}

#[test]
fn a_flag_with_another_name_is_told_the_directories() {
    let scratch = bench("[j]\ndirectory=data\nioengine=filecreate\nnrfiles=3\nfilesize=4k\n", &[]);
    let said = run(&scratch, &["--destroy", "date"]).expect_code(2).stderr;
    assert!(said.contains("no directory has this name") && said.contains("works in data"), "{said}");
    assert!(left(&scratch.path("data")).is_empty());
}
