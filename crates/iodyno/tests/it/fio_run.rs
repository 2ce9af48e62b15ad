//! Job files and fio's flags through the command: files, copies, limits, conditions, what is said of mistakes.

use crate::support::{Scratch, sum};

fn run(scratch: &Scratch, name: &str, text: &str, more: &[&str]) -> testkit::Output {
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
    scratch.iodyno(&arguments).run().unwrap().expect_code(0);
    let (reads, writes) =
        (ops(&scratch, "out", |row| row["op"] == "read"), ops(&scratch, "out", |row| row["op"] == "write"));
    assert!((reads as f64 / (reads + writes) as f64 - 0.7).abs() < 0.045, "{reads} reads and {writes} writes");
    // What is due in 2 s, however late the end is seen; less where a busy machine could not issue it before.
    let least = if quiet { 1991 } else { 1000 };
    assert!((least..=2000).contains(&(reads + writes)), "{reads} reads and {writes} writes in 2 s at 1000/s");

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
    run(&scratch, "met", &format!("{base}max_latency=10s\nrate_iops_min=100\n"), &[]).expect_code(0);
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
        scratch.iodyno(&["run", file, "-o", &out, "--json", "--no-report"]).run().unwrap().expect_code(0);
        let (reads, all) = (ops(&scratch, &out, |row| row["op"] == "read"), ops(&scratch, &out, |_| true));
        // What a busy machine has still to issue when the time is over does not count.
        let least = if quiet { 1960 } else { 1000 };
        assert!((least..=2040).contains(&all), "{file}: {all}");
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
    let fetched = testkit::Command::new("sh").args(["-c", fetch]).dir(unpacked.path("")).run();
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
            testkit::Command::new("zcat").arg(&path).run().unwrap().expect_code(0).stdout
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
fn a_log_of_fio_is_played_where_it_is_told_to() {
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
