//! Job files and fio's flags through the command: files, copies, limits, conditions, what is said of mistakes.

use crate::support::{Scratch, sum};

fn run(scratch: &Scratch, name: &str, text: &str, more: &[&str]) -> testkit::CommandOutput {
    let file = scratch.write(&format!("{name}.fio"), text);
    let mut arguments = vec!["run", file.to_str().unwrap(), "-o", name, "--json", "--no-report"];
    arguments.extend_from_slice(more);
    scratch.iodyno(&arguments).run().unwrap()
}

fn ops(scratch: &Scratch, name: &str, pass: impl Fn(&serde_json::Value) -> bool) -> i64 {
    sum(&scratch.table(name, "run_total"), "ops", |row| row["phase"] == "measure" && pass(row))
}

#[test]
fn files_are_made_named_shared_out_and_removed() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("one")).unwrap();
    std::fs::create_dir(scratch.path("two")).unwrap();
    let text = "[global]\ndirectory=one:two\nnrfiles=2\nfilesize=1m\nbs=4k\n[keep]\nrw=write\nnumjobs=2\n\
                [gone]\nstonewall\nrw=randwrite\nunlink=1\nfilename_format=$jobname-$jobnum-$filenum\nfilesize=512k-2m\n";
    run(&scratch, "files", text, &[]).expect_code(0);
    for name in ["one/keep.0.0", "one/keep.0.1", "two/keep.1.0", "two/keep.1.1"] {
        assert_eq!(std::fs::metadata(scratch.path(name)).unwrap().len(), 1 << 20, "{name}");
    }
    assert!(!scratch.path("one/gone-0-0").exists(), "unlink=1");
    // Each file of 1 MiB once, in every copy.
    assert_eq!(ops(&scratch, "files", |row| row["run"] == "keep"), 4 * 256);
    let again = "[global]\ndirectory=one\nfilename=keep.0.0\n[a]\nrw=read\nallow_file_create=0\nsize=2m\n";
    let output = run(&scratch, "again", again, &[]);
    assert_ne!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("keep.0.0"), "{}", output.stderr);
}

#[test]
fn jobs_that_all_have_a_rate_ask_for_its_sum_and_not_for_full_speed() {
    let scratch = Scratch::new();
    let text = "[global]\nfilename=test\nsize=1m\nbs=4k\ntime_based\nruntime=500ms\n\
                [ops]\nrw=randread\nrate_iops=100\n[bytes]\nrw=randrw\nrate=400k,800k\n\
                [some]\nstonewall\nrw=randread\nrate_iops=50\n[free]\nrw=randread\nioengine=null\n";
    scratch.write("jobs.fio", text);
    let run = ["run", "jobs.fio", "-o", "out", "-i", "100ms", "--flatfile"];
    let planned = scratch.iodyno(&[&run[..], &["--dry-run"]].concat()).run().unwrap().expect_code(0).stdout;
    assert!(planned.contains("RD=ops+bytes; I/O rate: 400;"), "{planned}");
    let line = |title: &str| planned.lines().find(|line| line.starts_with(&format!("  {title}+"))).unwrap().to_string();
    assert!(line("ops").contains("  400 op/s  ") && !line("ops").contains("full speed"), "{planned}");
    assert!(line("some").contains("  full speed  ") && line("some").contains("some 50 op/s on"), "{planned}");
    let table = scratch.iodyno(&run).run().unwrap().expect_code(0).stdout;
    let line = |title: &str| table.lines().find(|line| line.starts_with("run ") && line.contains(title)).unwrap();
    assert!(line("ops").contains(": 400 op/s, "), "{table}");
    assert!(line("some").contains(": full speed, "), "{table}");
    let rates: Vec<Option<f64>> = ["ops", "some"]
        .map(|run| {
            let rows = scratch.table("out", "phase");
            rows.iter().find(|row| row["run"].as_str().unwrap().starts_with(run)).unwrap()["offered_rate"].as_f64()
        })
        .to_vec();
    assert_eq!(rates, [Some(400.0), None]);
    let report = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
    assert!(report.contains("offered 400 op/s"), "the report's figures");
    let flat = std::fs::read_to_string(scratch.path("out/summary.html")).unwrap();
    assert!(flat.contains("I/O rate: 400;") && flat.contains("I/O rate: Controlled MAX;"), "{flat}");
}

/// What `fio` makes of a job file in this folder: its exit code; `None` where it is not installed.
fn fio(scratch: &Scratch, folder: &str, text: &str) -> Option<i32> {
    std::fs::create_dir_all(scratch.path(folder)).unwrap();
    scratch.write(&format!("{folder}/jobs.fio"), text);
    let fio = testkit::TestCommand::new("fio").args(["--output=/dev/null", "jobs.fio"]).dir(scratch.path(folder)).run();
    match fio {
        Ok(output) => output.code,
        Err(_) => {
            testkit::lacks("fio");
            None
        }
    }
}

#[test]
fn values_are_reckoned_with_the_page_size_and_cpus_as_fio_does() {
    let scratch = Scratch::new();
    let text = "[job]\nfilename=test\nrw=write\nbs=2*$pagesize\nsize=$pagesize * 8+$ncpus*0\n\
                [cpus]\nstonewall\nfilename=cpus\nrw=write\nbs=4k\nsize=64k\nnumber_ios=$ncpus/$ncpus+2\n";
    run(&scratch, "ours", text, &[]).expect_code(0);
    let of = |run: &str| ops(&scratch, "ours", |row| row["run"] == run);
    assert_eq!((of("job"), of("cpus")), (4, 3));
    let length = |name: &str| std::fs::metadata(scratch.path(name)).unwrap().len();
    let page_bytes = length("test") / 8;
    assert!(page_bytes.is_power_of_two() && page_bytes >= 4096, "{page_bytes}");
    let has_bc = testkit::TestCommand::new("bc").args(["--version"]).run().is_ok();
    let wrong = "[job]\nfilename=test\nrw=write\nbs=4k\nsize=8k*$pagesize\n";
    run(&scratch, "wrong", wrong, &[]).expect_code(2);
    if has_bc && fio(&scratch, "theirs", text).is_some_and(|code| code == 0) {
        assert_eq!(length("theirs/test"), length("test"));
        assert_eq!(fio(&scratch, "theirs", wrong), Some(1), "bc knows no units");
    }
}

#[test]
fn folders_in_a_files_own_name_are_made_and_no_directory() {
    let scratch = Scratch::new();
    let text = "[job]\ndirectory=there\nfilename=one/two/test\nrw=write\nbs=4k\nsize=64k\n";
    let folders = |at: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        ["there/one", "there/one/two"].map(|name| {
            let found = std::fs::metadata(scratch.path(at).join(name));
            found.map(|found| (found.is_dir(), found.permissions().mode() & 0o777)).ok()
        })
    };
    let refused = run(&scratch, "none", text, &[]);
    assert!(refused.code != Some(0) && !scratch.path("there").exists(), "{}", refused.stderr);
    assert_ne!(fio(&scratch, "theirs", text).unwrap_or(1), 0);
    std::fs::create_dir(scratch.path("there")).unwrap();
    run(&scratch, "dry", text, &["--dry-run"]).expect_code(0);
    assert_eq!(folders(""), [None; 2], "nothing is made yet");
    run(&scratch, "ours", text, &[]).expect_code(0);
    assert_eq!(folders(""), [Some((true, 0o700)); 2]);
    assert_eq!(std::fs::metadata(scratch.path("there/one/two/test")).unwrap().len(), 64 << 10);
    std::fs::create_dir(scratch.path("theirs/there")).unwrap();
    if fio(&scratch, "theirs", text) == Some(0) {
        assert_eq!(folders("theirs"), folders(""));
    }
    // A link to nothing is followed by no one.
    std::os::unix::fs::symlink("nowhere", scratch.path("there/link")).unwrap();
    let through = text.replace("one/two", "link");
    assert_ne!(run(&scratch, "link", &through, &[]).code, Some(0));
    assert!(!scratch.path("there/nowhere").exists());
}

#[test]
fn a_file_that_its_writes_allocate_may_be_larger_than_the_room() {
    let scratch = Scratch::new();
    let job = |how: &str| {
        format!(
            "[job]\nfilename={how}\nrw=randwrite\nbs=4k\nsize=8t\nfallocate={how}\nnumber_ios=50\nnorandommap\nioengine=psync\n"
        )
    };
    for (how, has_length) in [("truncate", true), ("none", false)] {
        run(&scratch, &format!("r.{how}"), &job(how), &[]).expect_code(0);
        assert_eq!(ops(&scratch, &format!("r.{how}"), |row| row["op"] == "write"), 50);
        let length = std::fs::metadata(scratch.path(how)).unwrap().len();
        assert_eq!(length == 8 << 40, has_length, "{length}");
        assert_ne!(fio(&scratch, "theirs", &job(how)).unwrap_or(0), 1);
    }
    // What is there reads as it is.
    run(&scratch, "again", &job("truncate").replace("randwrite", "randwrite\noffset=1t"), &[]).expect_code(0);
    let full = run(&scratch, "full", &job("native"), &[]);
    assert!(full.code != Some(0) && full.stderr.contains("more, but its file system has"), "{}", full.stderr);
}

#[test]
fn flags_are_a_job_file_on_the_command_line() {
    run_flags(false);
}

#[test]
#[ignore = "times: make exam"]
fn flags_give_the_rate_that_they_ask_for() {
    testkit::while_cpus_are_ours(|| run_flags(true));
}

/// Flags instead of a job file; on a machine that is `quiet` all that is due is done.
fn run_flags(quiet: bool) {
    let scratch = Scratch::new();
    let arguments = [
        "run",
        "--name",
        "mix",
        "--filename",
        "test",
        "--size",
        "8m",
        "--rw",
        "randrw",
        "--rwmixread",
        "70",
        "--bs",
        "8k",
        "--iodepth",
        "4",
        "--ioengine",
        "io_uring",
        "--rate-iops",
        "700,300",
        "--runtime",
        "2s",
        "--time-based",
        "-o",
        "out",
        "--json",
        "--no-report",
        "--direct=1",
    ];
    let done = || {
        let _ = std::fs::remove_dir_all(scratch.path("out"));
        scratch.iodyno(&arguments).run().unwrap().expect_code(0);
        let done = ["read", "write"].map(|op| ops(&scratch, "out", |row| row["op"] == op));
        // What is due in 2 s, however late the end is seen; less where a busy machine could not issue it before.
        assert!(done[0] + done[1] <= 2000 && (!quiet || done[0] + done[1] >= 1991), "{done:?} in 2 s at 1000/s");
        done
    };
    let [reads, writes] = testkit::until_enough(done, |[reads, writes]| reads + writes >= 1000);
    assert!((reads as f64 / (reads + writes) as f64 - 0.7).abs() < 0.045, "{reads} reads and {writes} writes");

    // Without a name they change every job of a file.
    let text = "[a]\nfilename=test\nsize=8m\nrw=randread\nnumber_ios=100\n[b]\nstonewall\nfilename=test\nsize=8m\nrw=randread\n";
    run(&scratch, "changed", text, &["--number-ios", "50"]).expect_code(0);
    assert_eq!(ops(&scratch, "changed", |_| true), 100);

    let mistake =
        scratch.iodyno(&["run", "--name", "x", "--filename", "test", "--size", "8q"]).run().unwrap().expect_code(2);
    assert!(mistake.stderr.contains("<command line>:3:6") && mistake.stderr.contains("no unit"), "{}", mistake.stderr);
}

#[test]
fn conditions_come_from_fios_own_options() {
    let scratch = Scratch::new();
    let base =
        "[job]\nfilename=test\nsize=4m\nrw=randread\nnumber_ios=500\nrate_iops=2000\niodepth=4\nioengine=io_uring\n";
    run(&scratch, "met", &format!("{base}max_latency=10s\nrate_iops_min=10\n"), &[]).expect_code(0);
    let missed = run(&scratch, "missed", &format!("{base}rate_iops_min=1m\n"), &[]).expect_code(5);
    assert!(missed.stderr.contains("objective missed"), "{}", missed.stderr);
    run(&scratch, "latency", &format!("{base}max_latency=1us\n"), &[]).expect_code(5);
    run(&scratch, "own", &format!("{base}fail_if=errors > 0\n"), &[]).expect_code(0);
}

#[test]
#[ignore = "times: make exam"]
fn a_run_ends_when_it_is_steady_and_warms_up_before() {
    testkit::while_cpus_are_ours(once_a_run_ends_when_it_is_steady_and_warms_up_before);
}

fn once_a_run_ends_when_it_is_steady_and_warms_up_before() {
    let scratch = Scratch::new();
    let text = "[job]\nfilename=test\nsize=4m\nrw=randread\nrate_iops=500\niodepth=8\nioengine=io_uring\nramp_time=1\n\
                time_based\nruntime=60\nsteadystate=iops:20%\nsteadystate_duration=3\n";
    let begin = quantity::clock::now_ns();
    run(&scratch, "steady", text, &[]).expect_code(0);
    let seconds = (quantity::clock::now_ns() - begin) as f64 / 1e9;
    assert!((3.5..30.0).contains(&seconds), "1 s of warm-up and 3 s steady took {seconds} s");
    let warm = sum(&scratch.table("steady", "run_total"), "ops", |row| row["phase"] == "warmup");
    assert!((400..=600).contains(&warm), "{warm}");
    let notes = scratch.table("steady", "event");
    assert!(notes.iter().any(|row| row["kind"] == "steady"), "{notes:?}");
}

#[test]
fn commands_run_before_and_after_their_job() {
    let scratch = Scratch::new();
    let path = scratch.path("said");
    let text = format!(
        "[job]\nfilename=test\nsize=1m\nrw=read\nexec_prerun=echo before >> {0}\nexec_postrun=echo after >> {0}\n",
        path.display()
    );
    run(&scratch, "commands", &text, &[]).expect_code(0);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "before\nafter\n");
}

#[test]
fn what_goes_by_time_is_not_ended_by_a_count() {
    let scratch = Scratch::new();
    let text = "[job]\nioengine=null\nsize=8m\nrw=read\nnumber_ios=100\n";
    let by_time = format!("{text}time_based\nruntime=300ms\n");
    // More than a thousand rounds, of which the first one was the end.
    for (name, text, flags) in [("file", &by_time[..], &[][..]), ("flags", text, &["--time_based", "--runtime=300ms"])]
    {
        let done = || {
            let _ = std::fs::remove_dir_all(scratch.path(name));
            run(&scratch, name, text, flags).expect_code(0);
            ops(&scratch, name, |_| true)
        };
        testkit::until_enough(done, |done| *done > 1000);
    }
    run(&scratch, "first", text, &["--runtime=1m"]).expect_code(0);
    assert_eq!(ops(&scratch, "first", |_| true), 100, "without time_based the first of both ends it");

    // Vdbench's count ends a run before its time is over, and so it has to in fio's words.
    let file = scratch.write(
        "count.vdb",
        "sd=sd1,lun=test,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1,maxops=600\n",
    );
    scratch.iodyno(&["convert", file.to_str().unwrap(), "-o", "count.fio"]).run().unwrap().expect_code(0);
    let converted = std::fs::read_to_string(scratch.path("count.fio")).unwrap();
    assert!(converted.contains("number_ios=600") && !converted.contains("time_based"), "{converted}");
    run(&scratch, "count", &converted, &[]).expect_code(0);
    assert_eq!(ops(&scratch, "count", |_| true), 600, "more than twice the file");
}

#[test]
fn reads_and_writes_of_a_mix_each_keep_their_own_rate() {
    let scratch = Scratch::new();
    let text = "[global]\nsize=8m\ntime_based\nruntime=1\nrw=randrw\nbs=4k\niodepth=8\n\
                [ops]\nioengine=null\nrate_iops=500,100\nrwmixread=20\nrate_iops_min=170,34\n\
                [both]\nioengine=null\nrate_iops=100\n\
                [bytes]\nioengine=null\nbs=4k,8k\nrate=2m,800k\nrw=rw\n\
                [flushed]\nfilename=test\nioengine=psync\niodepth=1\nrate_iops=40,120\nfsync=4\n";
    // A busy machine may not have issued all of it when the time is over, and so misses the least rate.
    testkit::until_enough(
        || {
            let _ = std::fs::remove_dir_all(scratch.path("rates"));
            (run(&scratch, "rates", text, &[]).code, third_is_done(&scratch))
        },
        |(code, is_done)| *code == Some(0) && *is_done,
    );
}

/// Is due what each job of them asks for in a second? Whether a third of it was done of each.
fn third_is_done(scratch: &Scratch) -> bool {
    let mut is_done = true;
    for (job, reads, writes) in [("ops", 500, 100), ("both", 100, 100), ("bytes", 512, 100), ("flushed", 40, 120)] {
        let of = |name: &str| {
            let sum_of = |op: &str| {
                sum(&scratch.table("rates", "run_total"), name, |row| row["workload"] == job && row["op"] == op)
            };
            (sum_of("read"), sum_of("write"))
        };
        assert_eq!(of("arrivals"), (reads, writes), "{job}: due in a second");
        let done = of("ops");
        assert!(done.0 <= reads && done.1 <= writes, "{job}: {done:?}");
        is_done &= done.0 > reads / 3 && done.1 > writes / 3;
    }
    is_done
}

#[test]
fn nothing_is_done_on_the_null_target() {
    let scratch = Scratch::new();
    let text = "[job]\nioengine=null\nsize=100g\nrw=randrw\niodepth=32\nnumber_ios=200000\n";
    run(&scratch, "null", text, &[]).expect_code(0);
    assert_eq!(ops(&scratch, "null", |_| true), 200_000);
}

#[test]
fn plans_are_converted_and_run_alike() {
    run_converted(false);
}

#[test]
#[ignore = "times: make exam"]
fn converted_plans_have_the_rate_that_was_asked() {
    testkit::while_cpus_are_ours(|| run_converted(true));
}

/// A plan in both languages; on a machine that is `quiet` all that is due is done.
fn run_converted(quiet: bool) {
    let scratch = Scratch::new();
    let file = scratch.write(
        "a.fio",
        "[mix]\nfilename=test\nsize=8m\nrw=randrw\nrwmixread=60\nbs=8k\nrate_iops=600,400\nrate_process=poisson\nruntime=2\ntime_based\n",
    );
    let name = file.to_str().unwrap();
    scratch.iodyno(&["convert", name, "-o", "a.vdb"]).run().unwrap().expect_code(0);
    scratch.iodyno(&["convert", "a.vdb", "-o", "b.fio"]).run().unwrap().expect_code(0);
    let refused = scratch.iodyno(&["convert", name, "-o", "a.vdb"]).run().unwrap().expect_code(2);
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    for (number, file) in [name, "a.vdb", "b.fio"].into_iter().enumerate() {
        let out = format!("out{number}");
        let done = || {
            let _ = std::fs::remove_dir_all(scratch.path(&out));
            scratch.iodyno(&["run", file, "-o", &out, "--json", "--no-report"]).run().unwrap().expect_code(0);
            let (reads, all) = (ops(&scratch, &out, |row| row["op"] == "read"), ops(&scratch, &out, |_| true));
            assert!(all <= 2040 && (!quiet || all >= 1960), "{file}: {all}");
            (reads, all)
        };
        // What a busy machine has still to issue when the time is over does not count.
        let (reads, all) = testkit::until_enough(done, |(_, all)| *all >= 1000);
        assert!((reads as f64 / all as f64 - 0.6).abs() < 0.05, "{file}: {reads} of {all}");
    }
    let mixed = scratch.iodyno(&["run", name, "a.vdb"]).run().unwrap().expect_code(2);
    assert!(mixed.stderr.contains("no fio job file"), "{}", mixed.stderr);
}

/// Where fio's examples are: many machines leave the documentation of packages out, so the package is unpacked for it.
fn examples(unpacked: &Scratch) -> Option<std::path::PathBuf> {
    const FOLDER: &str = "usr/share/doc/fio/examples";
    let installed = std::path::Path::new("/").join(FOLDER);
    if installed.exists() {
        return Some(installed);
    }
    let fetch = "apt-get -qq download fio-examples && dpkg-deb -x fio-examples_*.deb .";
    let fetched = testkit::TestCommand::new("sh").args(["-c", fetch]).dir(unpacked.path("")).run();
    let folder = unpacked.path(FOLDER);
    (fetched.is_ok() && folder.exists()).then_some(folder)
}

#[test]
fn examples_of_fios_own_are_read() {
    let unpacked = Scratch::new();
    let Some(folder) = examples(&unpacked) else {
        testkit::lacks("fio's examples (apt-get install fio-examples)");
        return;
    };
    let entries = std::fs::read_dir(&folder).unwrap();
    let names: Vec<String> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let expected = [
        "1mbs_clients",
        "aio-read",
        "backwards-read",
        "fio-rand-RW",
        "fio-rand-read",
        "fio-rand-write",
        "fio-seq-RW",
        "fio-seq-read",
        "fio-seq-write",
        "fixed-rate-submission",
        "flow",
        "fsx",
        "iometer-file-access-server",
        "jesd219",
        "latency-profile",
        "null",
        "poisson-rate-submission",
        "rand-zones",
        "ssd-steadystate",
        "ssd-test",
        "steadystate",
        "tiobench-example",
        "waitfor",
        "zipf",
    ];
    let mut read = 0;
    for name in expected {
        let Some(file) = names.iter().find(|file| file.trim_end_matches(".gz") == format!("{name}.fio")) else {
            continue;
        };
        let scratch = Scratch::new();
        let path = folder.join(file);
        let text = if file.ends_with(".gz") {
            testkit::TestCommand::new("zcat").arg(&path).run().unwrap().expect_code(0).stdout
        } else {
            std::fs::read_to_string(&path).unwrap()
        };
        let copy = scratch.write("example.fio", &text);
        let output = scratch.iodyno(&["convert", copy.to_str().unwrap(), "--to", "fio"]).run().unwrap();
        assert_eq!(output.code, Some(0), "{name}: {}", output.stderr);
        read += 1;
    }
    assert!(read >= 15, "only {read} of the examples are there");
}

#[test]
fn a_log_of_fio_is_played_on_the_chosen_target() {
    play_log(false);
}

#[test]
#[ignore = "times: make exam"]
fn a_log_of_fio_is_played_in_its_time() {
    testkit::while_cpus_are_ours(|| play_log(true));
}

/// A log of fio; on a machine that is `quiet` it takes no longer than it should.
fn play_log(quiet: bool) {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let device = testkit::LoopDevice::new(16 << 20).unwrap();
    let mut log = String::from("fio version 3 iolog\n0 /dev/elsewhere add\n0 /dev/elsewhere open\n");
    for at in 0..300_u64 {
        let op = if at % 3 == 0 { "write" } else { "read" };
        log.push_str(&format!("{} /dev/elsewhere {op} {} 4096\n", at * 1000, at * 97 % 2000 * 8192));
    }
    scratch.write("t.iolog", &(log + "300000 /dev/elsewhere close\n"));
    let path = device.path().display().to_string();
    let job = |more: &str| format!("[again]\ndirect=1\nread_iolog=t.iolog\n{more}");
    // Where it goes is never left to the log; two jobs at once cannot be.
    for (more, words) in [
        ("", "add replay_redirect=DEVICE"),
        ("numjobs=2\nfilename=x\n", "beside other jobs"),
        ("replay_redirect=/dev/null\nreadonly\n", "replay_skip=write,trim"),
    ] {
        let file = scratch.write("wrong.fio", &job(more));
        let out = scratch.iodyno(&["run", file.to_str().unwrap(), "--dry-run"]).run().unwrap();
        assert!(out.expect_code(2).stderr.contains(words), "{words}");
    }
    let play = |name: &str, more: &str| {
        let file = scratch.write("right.fio", &job(&format!("replay_redirect={path}\n{more}")));
        let file = file.to_str().unwrap();
        let out = scratch.iodyno(&["run", file, "-o", name, "--no-report", "--destroy", &path]).run().unwrap();
        let said = out.expect_code(0).stderr;
        // Without times to keep, that four are in flight at most is no hindrance.
        assert!(name == "slow" || said.contains("again: faithful"), "{said}");
        let totals = scratch.table(name, "run_total");
        let of = |op: &str| crate::support::sum(&totals, "ops", |row| row["op"] == op);
        let last = scratch.table(name, "op_interval");
        let last = last.iter().map(|row| row["t_s"].as_f64().unwrap()).fold(0.0, f64::max);
        (of("read"), of("write"), last)
    };
    // The log lasts for 0.3 s, at a quarter of the rate for 1.2 s.
    let (reads, writes, seconds) = play("slow", "replay_time_scale=25\n");
    assert!((reads, writes) == (200, 100) && seconds >= 1.1 && (!quiet || seconds < 2.1), "{reads} {writes} {seconds}");
    let (reads, writes, _) = play("reads", "replay_skip=write\nreplay_no_stall=1\niodepth=4\nioengine=libaio\n");
    assert_eq!((reads, writes), (200, 0));
}

/// What fio prints; `None` where it is not installed.
fn of_fio(arguments: &[&str]) -> Option<String> {
    match testkit::TestCommand::new("fio").args(arguments).run() {
        Ok(output) => Some(output.stdout),
        Err(_) => {
            testkit::lacks("fio");
            None
        }
    }
}

/// Names of options in what fio prints about them.
fn option_names(help: &str) -> impl Iterator<Item = &str> {
    help.lines().filter_map(|line| Some(line.split_once(':')?.0.trim())).filter(|name| !name.is_empty())
}

#[test]
fn no_option_of_fios_is_called_misspelt() {
    let Some(options) = of_fio(&["--cmdhelp=all"]) else { return };
    let mut names: Vec<String> = option_names(&options).map(str::to_string).collect();
    assert!(names.len() > 150, "{names:?}");
    let engines = of_fio(&["--enghelp"]).unwrap();
    for engine in engines.lines().skip(1).map(str::trim) {
        let help = of_fio(&[&format!("--enghelp={engine}")]).unwrap();
        names.extend(option_names(&help).map(str::to_string));
    }
    // What no help of fio's lists: other names, old ones, and those of engines that need a library.
    let others = "ratecycle verifysort verifysort_nr percentage_sequential rwmixcycle cmdprio hdfs_use_direct namenode nfs_url \
                  http_host http_s3_key object_class busy_wait_polling stat_type bs_is_seq_rand write_barrier cuda_io xnvme_be";
    names.extend(others.split_whitespace().map(str::to_string));
    let read = |name: &str| {
        let text = format!("[a]\nfilename=/dev/null\nrw=read\nsize=1m\n{name}=7\n");
        let source = params::JobSource::Text("<test>".to_string(), text);
        let loader = params::MemoryLoader::default();
        params::read_fio(&[source], &params::VdbenchOptions::default(), &loader, &|_| None).diagnostics
    };
    assert!(read("iodept").iter().any(|found| found.code == "unknown-option"));
    let misspelt: Vec<&String> =
        names.iter().filter(|name| read(name).iter().any(|found| found.code == "unknown-option")).collect();
    assert!(misspelt.is_empty(), "{misspelt:?}");
    // As flags as well.
    let command = iodyno::command();
    let run = command.find_subcommand("run").unwrap();
    let flags: Vec<String> = run
        .get_arguments()
        .flat_map(|arg| {
            arg.get_long()
                .map(String::from)
                .into_iter()
                .chain(arg.get_all_aliases().into_iter().flatten().map(String::from))
        })
        .collect();
    let no_flags: Vec<&String> = names.iter().filter(|name| !flags.contains(name)).collect();
    assert!(no_flags.is_empty(), "{no_flags:?}");
}

#[test]
fn what_would_change_the_load_and_is_not_here_is_an_error_and_off_is_not() {
    let scratch = Scratch::new();
    let flags = ["run", "--name", "a", "--filename", "x", "--size", "1m", "--sync-file-range", "write:8"];
    let output = scratch.iodyno(&flags).run().unwrap();
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(output.stderr.contains("sync_file_range") && !output.stderr.contains("did you mean"), "{}", output.stderr);
    let text = "[a]\nfilename=x\nsize=1m\nuncached=0\nlockmem=0\n";
    let file = scratch.write("off.fio", text);
    let output = scratch.iodyno(&["run", file.to_str().unwrap(), "--parse-only"]).run().unwrap();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
}

/// A job file whose second job alone can be read.
const TWO_SECTIONS: &str = "[global]\nsize=1m\nfilename=x\ninclude more.fio\n[a]\nrw=randread:8\nnorandommap\nbs=${B}\n\
                            description=two words\n[b]\nstonewall\nreadwrite=write\n";

#[test]
fn a_job_file_comes_by_standard_input_and_sections_are_chosen() {
    let scratch = Scratch::new();
    scratch.write("more.fio", "iodepth=4\n");
    let run = |more: &[&str], text: &str| {
        let arguments: Vec<&str> = ["run", "-", "--json", "--no-report"].iter().chain(more).copied().collect();
        scratch.iodyno(&arguments).stdin(text).run().unwrap()
    };
    run(&["--section=b", "-o", "one"], TWO_SECTIONS).expect_code(0);
    let rows = scratch.table("one", "run_total");
    assert_eq!(sum(&rows, "ops", |row| row["run"] == "b" && row["phase"] == "measure"), 256);
    assert!(rows.iter().all(|row| row["run"] != "a"));
    let output = run(&[], TWO_SECTIONS);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("<standard input>:8"), "{}", output.stderr);
    let output = run(&["--section", "c"], TWO_SECTIONS);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("the sections are a, b"), "{}", output.stderr);
    // It is for files: jobs of flags are all wanted.
    let flags = run(&["--section=b", "--name=late", "--size=4k", "--showcmd"], TWO_SECTIONS);
    assert!(flags.stdout.contains("--name=late") && !flags.stdout.contains("--name=a"), "{}", flags.stdout);
    let both = run(&["--section=b", "--section=c", "--section=a", "--parse-only"], &TWO_SECTIONS.replace("${B}", "8k"));
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    assert!(!scratch.path("run").exists());
}

#[test]
fn showcmd_prints_the_flags_that_fio_prints() {
    let scratch = Scratch::new();
    scratch.write("more.fio", "iodepth=4\n");
    let file = scratch.write("two.fio", TWO_SECTIONS);
    let file = file.to_str().unwrap();
    for more in [&["--section=b"][..], &[]] {
        let arguments: Vec<&str> = ["run", file, "--showcmd"].iter().chain(more).copied().collect();
        let ours = scratch.iodyno(&arguments).env("B", "8k").run().unwrap().expect_code(0).stdout;
        let Some(rest) = ours.strip_prefix("iodyno run ") else { panic!("{ours}") };
        if more.is_empty() {
            assert!(
                rest.contains("--name=a --rw=randread:8 --norandommap --bs=8k '--description=two words' --name=b"),
                "{rest}"
            );
        }
        let arguments: Vec<&str> = ["--showcmd", file].iter().chain(more).copied().collect();
        let fio = match testkit::TestCommand::new("fio").args(&arguments).env("B", "8k").run() {
            Ok(output) => output.stdout,
            Err(_) => {
                testkit::lacks("fio");
                return;
            }
        };
        // fio has the options of a job in an order of its own.
        let jobs = |text: &str| {
            let text = text.replace(['\'', '"'], "");
            let words = text.trim_start_matches("fio ").split(" --name").map(|job| {
                let mut words: Vec<String> = job.split_whitespace().map(str::to_string).collect();
                words.sort();
                words
            });
            words.collect::<Vec<_>>()
        };
        assert_eq!(jobs(rest), jobs(&fio));
        // What is printed is the same plan.
        let flags: Vec<&str> = rest.split_whitespace().filter(|word| !word.contains(['\''])).collect();
        let arguments: Vec<&str> = ["run", "--parse-only"].into_iter().chain(flags).collect();
        scratch.iodyno(&arguments).run().unwrap();
    }
}

#[test]
fn warnings_are_fatal_where_that_is_asked_for() {
    let scratch = Scratch::new();
    let file = scratch.write("w.fio", "[a]\nfilename=x\nsize=1m\nrw=randread\nbs=4k\nblockalign=8k\n");
    let run = |more: &[&str]| {
        let arguments: Vec<&str> =
            ["run", file.to_str().unwrap(), "--parse-only"].iter().chain(more).copied().collect();
        scratch.iodyno(&arguments).run().unwrap().code
    };
    assert_eq!((run(&[]), run(&["--warnings-fatal"])), (Some(0), Some(2)));
    // Flags of fio's that concern nothing here are taken.
    let more = ["--max-jobs=3", "--alloc-size=100", "-eta-newline=1", "--eta-i=1", "--bandwidth-log", "-minimal"];
    assert_eq!(run(&more), Some(0));
}

/// The bytes of the file `name` that fio and our program make of the same job, each of a file of its own.
fn written(scratch: &Scratch, job: &str) -> Option<[Vec<u8>; 2]> {
    let job = format!("[a]\nrw=write\nioengine=psync\nfilename=data\n{job}\n");
    let file = scratch.write("data.fio", &job);
    let file = file.to_str().unwrap();
    let fio = testkit::TestCommand::new("fio").args(["--output=/dev/null", file]).dir(scratch.path("")).run();
    let Ok(fio) = fio else {
        testkit::lacks("fio");
        return None;
    };
    fio.expect_code(0);
    let data = || {
        let bytes = std::fs::read(scratch.path("data")).unwrap();
        std::fs::remove_file(scratch.path("data")).unwrap();
        bytes
    };
    let by_fio = data();
    let _ = std::fs::remove_dir_all(scratch.path("data.iodyno"));
    scratch.iodyno(&["run", file, "-o", "data.iodyno", "--json", "--no-report"]).run().unwrap().expect_code(0);
    Some([by_fio, data()])
}

#[test]
fn patterns_are_fios_byte_by_byte_those_of_files_too() {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("short.bin"), b"\x00\x01binary\xff").unwrap();
    std::fs::write(scratch.path("long.bin"), (0..2000_u32).map(|at| (at * 7 % 251) as u8).collect::<Vec<u8>>())
        .unwrap();
    let patterns = [
        "'short.bin'",
        "'long.bin'",
        "\"ab\"'short.bin'0xdead",
        "'short.bin''long.bin'",
        "-1024",
        "66",
        "0xFF0X1",
        "-100xab\"1\"\"2\"",
        "0xabc",
    ];
    for pattern in patterns {
        let job = format!("bs=4k\nsize=64k\nbuffer_pattern={pattern}");
        let Some([fio, ours]) = written(&scratch, &job) else { return };
        assert_eq!((fio.len(), ours.len()), (65_536, 65_536), "{pattern}");
        assert!(fio == ours, "{pattern}: fio {:x?}, ours {:x?}", &fio[..24], &ours[..24]);
    }
    for pattern in ["'missing.bin'", "%o", "'short.bin"] {
        let file = scratch.write("bad.fio", &format!("[a]\nfilename=x\nsize=1m\nrw=write\nbuffer_pattern={pattern}\n"));
        let output = scratch.iodyno(&["run", file.to_str().unwrap(), "--parse-only"]).run().unwrap();
        assert_eq!(output.code, Some(2), "{pattern}");
    }
}

#[test]
fn copies_of_a_working_set_are_as_many_as_fios() {
    use std::collections::{HashMap, HashSet};
    let scratch = Scratch::new();
    let job = "bs=4k\nsize=8m\ndedupe_percentage=50\ndedupe_mode=working_set\ndedupe_working_set_percentage=5";
    let Some(both) = written(&scratch, job) else { return };
    for (who, data) in ["fio", "iodyno"].into_iter().zip(&both) {
        let mut counts: HashMap<&[u8], u32> = HashMap::new();
        data.chunks(4096).for_each(|block| *counts.entry(block).or_default() += 1);
        // 2,048 blocks, half of them copies of 102 pages: σ = 23.
        assert!((1024 - 115..1024 + 115).contains(&counts.len()), "{who}: {} unlike blocks", counts.len());
        let again = counts.values().filter(|count| **count > 1).count();
        assert!((98..=102).contains(&again), "{who}: {again} blocks come again");
    }
    // Blocks in common with the file of another job.
    let common = |name: &str, dir: &str| {
        let blocks = |job: u32| {
            let data = std::fs::read(scratch.path(&format!("{dir}/{name}.{job}.0"))).unwrap();
            data.chunks(4096).map(<[u8]>::to_vec).collect::<HashSet<_>>()
        };
        blocks(0).intersection(&blocks(1)).count()
    };
    for (name, more, expect) in [("own", "", 0..=0), ("all", "dedupe_global=1\n", 98..=102)] {
        let text = format!("[{name}]\nrw=write\nioengine=psync\nnumjobs=2\n{job}\n{more}");
        for (dir, is_ours) in [("by_fio", false), ("by_us", true)] {
            std::fs::create_dir_all(scratch.path(dir)).unwrap();
            let file = scratch.write(&format!("{name}-{dir}.fio"), &format!("{text}directory={dir}\n"));
            let file = file.to_str().unwrap();
            let out = format!("{name}-{dir}");
            let command = if is_ours {
                scratch.iodyno(&["run", file, "-o", &out, "--json", "--no-report"])
            } else {
                testkit::TestCommand::new("fio").args(["--output=/dev/null", file]).dir(scratch.path(""))
            };
            command.run().unwrap().expect_code(0);
            assert!(expect.contains(&common(name, dir)), "{name}, {dir}: {}", common(name, dir));
        }
    }
}

#[test]
fn a_mapped_file_that_becomes_shorter_is_failed_operations_and_not_the_end() {
    let scratch = Scratch::new();
    let text = "[m]\nfilename=data\nioengine=mmap\nrw=randrw\nbs=4k\nsize=4m\ntime_based\nruntime=8s\n";
    let file = scratch.write("short.fio", text);
    let mut child =
        scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "short", "--json", "--no-report"]).spawn().unwrap();
    // The first line comes with the first interval, when the file is there and mapped.
    assert!(child.wait_for_stdout("\n", std::time::Duration::from_secs(60)), "no line");
    std::fs::OpenOptions::new().write(true).open(scratch.path("data")).unwrap().set_len(0).unwrap();
    let output = child.wait().unwrap();
    assert!(output.code.is_some_and(|code| code != 0 && code < 100), "{:?}: {}", output.code, output.stderr);
    let rows = scratch.table("short", "run_total");
    assert!(sum(&rows, "errors", |_| true) > 0);
    let bad = scratch.write("bad.fio", "[m]\nfilename=data\nioengine=mmap\nrw=write\nbs=512\nsize=4m\nfsync=1\n");
    let output = scratch.iodyno(&["run", bad.to_str().unwrap(), "--parse-only"]).run().unwrap();
    assert_eq!(output.code, Some(2), "{}", output.stderr);
}
