//! `iodyno run` from the outside: what is asked is what is done, counted and exported.

use crate::support::{Scratch, sum};

#[test]
fn a_parameter_file_becomes_a_recording_a_report_and_an_export_that_agree() {
    run_and_compare(false);
}

#[test]
#[ignore = "times: make exam"]
fn a_measured_phase_is_as_long_as_asked() {
    testkit::while_cpus_are_ours(|| run_and_compare(true));
}

/// A run and all that is made of it; on a machine that is `quiet` it ends in time.
fn run_and_compare(quiet: bool) {
    let scratch = Scratch::new();
    let text = "sd=sd1,lun=$file,size=64m,threads=8\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\nrd=rd1,wd=wd1,iorate=2000,elapsed=3,interval=1,warmup=1\n";
    let file = scratch.path("data");
    let output = scratch.run("out", text, &[&format!("file={}", file.display())]).expect_code(0);
    let lines = output.ndjson();
    let intervals: Vec<_> = lines.iter().filter(|line| line["run"] == "rd1").collect();
    assert!(intervals.len() >= 4, "{}", output.stdout);

    let intervals = scratch.table("out", "op_interval");
    let totals = scratch.table("out", "run_total");
    for phase in ["format", "warmup", "measure"] {
        let by_interval = sum(&intervals, "ops", |row| row["phase"] == phase);
        let by_total = sum(&totals, "ops", |row| row["phase"] == phase);
        assert_eq!(by_interval, by_total, "{phase}");
    }
    assert_eq!(sum(&totals, "bytes", |row| row["phase"] == "format"), 64 << 20, "the new file was written once");
    let measured = sum(&totals, "arrivals", |row| row["phase"] == "measure") as f64;
    let row = totals.iter().find(|row| row["phase"] == "measure").expect("a measured phase");
    let seconds = (row["t_ns"].as_f64().unwrap() - row["start_t_ns"].as_f64().unwrap()) / 1e9;
    assert!(seconds >= 2.9 && (!quiet || seconds < 3.3), "{row}");
    let due = 2000.0 * seconds;
    assert!((measured - due).abs() <= due * 0.001 + 4.0, "2,000/s for {seconds} s are {due} arrivals, not {measured}");
    let reads = sum(&totals, "ops", |row| row["phase"] == "measure" && row["op"] == "read") as f64;
    let done = sum(&totals, "ops", |row| row["phase"] == "measure") as f64;
    assert!((reads - 0.7 * done).abs() < 5.0 * 36.0, "70 % of {done} (σ ≈ 36), not {reads}");
    let report = std::fs::read_to_string(scratch.path("out/report.html")).expect("the run wrote its report");
    assert!(report.contains("rd1") && !report.contains("http://"), "one file, no network");
}

#[test]
fn intervals_in_which_nothing_happened_have_their_phase_and_are_judged() {
    let scratch = Scratch::new();
    let text = "sd=sd1,lun=$file,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=2,elapsed=5,interval=1,warmup=3\n";
    let file = format!("file={}", scratch.path("data").display());
    // Two operations a second leave most of ten intervals a second empty.
    let more = ["-i", "100ms", "--fail-if", "achieved < 1 for 90ms", "--fail-if", "achieved < 0.1", &file];
    let output = scratch.run("out", text, &more).expect_code(5);
    assert!(output.stderr.contains("objective missed in rd1: achieved < 1 held for "), "{}", output.stderr);
    assert!(!output.stderr.contains("achieved < 0.1"), "{}", output.stderr);
    let lines = output.ndjson();
    let of_run = || lines.iter().filter(|line| line["schema"] == "iodyno.interval/1" && line["run"] == "rd1");
    for phase in ["warmup", "measure"] {
        let idle = of_run().filter(|line| line["phase"] == phase && line["ops"] == 0 && line["arrivals"] == 0).count();
        assert!(idle >= 3, "{phase}: {idle} of {}", output.stdout);
    }
    let strange = of_run().find(|line| !["warmup", "measure", "drain"].iter().any(|phase| line["phase"] == **phase));
    assert!(strange.is_none(), "{strange:?}");
}

#[test]
fn exactly_the_asked_number_of_operations() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=16m,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0,seekpct=eof\nrd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1\n",
        scratch.path("data").display()
    );
    scratch.run("out", &text, &[]).expect_code(0);
    let totals = scratch.table("out", "run_total");
    assert_eq!(sum(&totals, "ops", |row| row["run"] == "rd1"), 4096, "16 MiB once in 4 KiB");
    assert_eq!(sum(&totals, "bytes", |row| row["run"] == "rd1"), 16 << 20);
}

#[test]
fn a_dry_run_touches_nothing() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=16m\nwd=wd1,sd=sd1,rdpct=0\nrd=rd1,wd=wd1,iorate=(100,200),elapsed=2,interval=1,startcmd=\"touch {}\"\n",
        scratch.path("data").display(),
        scratch.path("touched").display()
    );
    let file = scratch.write("a.vdb", &text);
    let output = scratch.iodyno(&["run", file.to_str().unwrap(), "--dry-run"]).run().unwrap().expect_code(0);
    assert!(output.stdout.contains("For loops: iorate=200"), "{}", output.stdout);
    assert!(output.stdout.contains("touch "), "commands are shown: {}", output.stdout);
    assert!(!scratch.path("data").exists() && !scratch.path("touched").exists());
}

#[test]
fn mistakes_are_reported_together_with_their_places() {
    let scratch = Scratch::new();
    let file = scratch
        .write("bad.vdb", "sd=sd1,lun=/tmp/x,size=1m,thread=abc\nwd=wd1,sd=sd9\nrd=rd1,wd=wd1,iorat=max,elapsed=3\n");
    let output = scratch.iodyno(&["run", file.to_str().unwrap()]).run().unwrap().expect_code(2);
    assert!(output.stderr.contains("bad.vdb:1:") && output.stderr.contains("bad.vdb:2:"), "{}", output.stderr);
    let missing = scratch.iodyno(&["run", "no-such-file.vdb"]).run().unwrap().expect_code(2);
    assert!(missing.stderr.contains("no-such-file.vdb"), "{}", missing.stderr);
}

#[test]
fn a_foreign_file_and_an_existing_directory_are_refused() {
    let scratch = Scratch::new();
    let data = scratch.write("precious", &"precious ".repeat(1000));
    let before = std::fs::read(&data).unwrap();
    let text = format!(
        "sd=sd1,lun={},size=1m\nwd=wd1,sd=sd1,rdpct=0\nrd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n",
        data.display()
    );
    let output = scratch.run("out", &text, &[]).expect_code(7);
    assert!(output.stderr.contains("--destroy"), "{}", output.stderr);
    assert_eq!(std::fs::read(&data).unwrap(), before);
    assert!(!scratch.path("out").exists(), "a refused run leaves nothing behind");

    let text = text.replace("rdpct=0", "rdpct=100").replace(",size=1m", "");
    std::fs::create_dir(scratch.path("there")).unwrap();
    let output = scratch.run("there", &text, &[]).expect_code(2);
    assert!(output.stderr.contains("exists"), "{}", output.stderr);
}

/// A run in fio's words on a file of the scratch folder.
fn job(scratch: &Scratch, out: &str, file: &str, more: &[&str]) -> testkit::CommandOutput {
    let arguments = ["run", "--name", "a", "--filename", file, "--bs", "64k", "--no-report", "-o", out];
    scratch.iodyno(&arguments).args(more).run().unwrap()
}

#[test]
fn a_flag_for_destruction_that_names_no_target_is_a_mistake() {
    let scratch = Scratch::new();
    scratch.write("precious", &"precious ".repeat(100_000));
    std::os::unix::fs::symlink("precious", scratch.path("link")).unwrap();
    let write = |out: &str, flags: &[&str]| {
        job(&scratch, out, "precious", &[&["--rw", "write", "--io-size", "64k"], flags].concat())
    };
    for flags in [&["--destroy", "precius"][..], &["--destroy", "precious", "--destroy", "/dev/sdx"]] {
        for more in [&[][..], &["--dry-run"]] {
            let output = write("wrong", &[flags, more].concat()).expect_code(2);
            assert!(output.stderr.contains("the targets are precious"), "{}", output.stderr);
            assert!(output.stderr.contains(flags.last().unwrap()), "{}", output.stderr);
            assert!(!scratch.path("wrong").exists());
        }
    }
    assert!(std::fs::read_to_string(scratch.path("precious")).unwrap().starts_with("precious "));
    // Other spellings of the same file, and of one that is not there yet.
    let whole = scratch.path("precious").display().to_string();
    for (index, spelled) in ["./precious", &whole, "link"].into_iter().enumerate() {
        write(&format!("right{index}"), &["--destroy", spelled]).expect_code(0);
    }
    let new = scratch.path("new").display().to_string();
    job(&scratch, "new.iodyno", "new", &["--rw", "write", "--size", "1m", "--destroy", &new]).expect_code(0);
}

#[test]
fn all_refused_targets_are_named_at_once() {
    let scratch = Scratch::new();
    for name in ["one", "two"] {
        scratch.write(name, &"precious ".repeat(10_000));
    }
    let text = "sd=sd1,lun=one\nsd=sd2,lun=new,size=1m\nsd=sd3,lun=two\nsd=sd4,lun=missing\n\
                wd=wd1,sd=sd*,xfersize=4k,rdpct=0\nrd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n";
    let output = scratch.run("out", text, &[]).expect_code(7);
    let lines: Vec<&str> = output.stderr.lines().filter(|line| line.contains("target sd")).collect();
    assert_eq!(lines.len(), 3, "{}", output.stderr);
    for (line, words) in lines.iter().zip(["--destroy one", "--destroy two", "it does not exist"]) {
        assert!(line.contains(words), "{line}");
    }
    assert!(!scratch.path("new").exists() && !scratch.path("out").exists());
}

#[test]
fn refusals_say_what_is_the_matter() {
    let scratch = Scratch::new();
    scratch.write("precious", &"precious ".repeat(10_000));
    let says = |output: testkit::CommandOutput, code: i32, words: &[&str], not: &str| {
        let output = output.expect_code(code);
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(words.iter().all(|word| text.contains(word)) && !text.contains(not), "{text}");
    };
    let device = job(&scratch, "a", "/dev/nope1", &["--rw", "randread", "--size", "1m"]);
    says(device, 7, &["there is no such device"], "operating system");
    let read = |out: &str, more: &[&str]| job(&scratch, out, "precious", &[&["--rw", "randread"], more].concat());
    let words = ["refused to extend", "90000 bytes or less only reads it", "--destroy precious"];
    says(read("b", &["--size", "1m"]), 7, &words, "refused to write");
    let extends = ["read and written: extends a file that iodyno did not make"];
    says(read("c", &["--size", "1m", "--dry-run", "--destroy", "precious"]), 0, &extends, "DESTROYS");
    says(read("d", &["--size", "64k", "--number-ios", "3"]), 0, &[], "refused");
    let off = job(&scratch, "e", "new", &["--rw", "write", "--size", "1m", "--allow-file-create", "0"]);
    says(off, 3, &["allow_file_create=0"], "nothing else");
}

/// `chattr` binds root as well.
#[test]
fn an_immutable_target_is_named_as_such() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("precious", &"precious ".repeat(10_000));
    std::fs::create_dir(scratch.path("folder")).unwrap();
    for (attribute, name, target, word) in [
        ("i", "precious", "precious", "immutable"),
        ("a", "precious", "precious", "append-only"),
        ("i", "folder", "folder/new", "immutable"),
    ] {
        let change = |how: String| testkit::TestCommand::new("chattr").arg(&how).arg(scratch.path(name)).run().unwrap();
        if change(format!("+{attribute}")).code != Some(0) {
            testkit::lacks("a file system with attributes (chattr)");
            return;
        }
        let output = job(&scratch, "out", target, &["--rw", "write", "--size", "64k", "--destroy", target]);
        change(format!("-{attribute}")).expect_code(0);
        let output = output.expect_code(3);
        assert!(output.stderr.contains(word) && !output.stderr.contains("run as root"), "{}", output.stderr);
    }
}

/// A file system that tells no sizes has room until the contrary shows.
#[test]
fn a_file_system_without_figures_is_written() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let ramfs = testkit::MountedFileSystem::mount(&["-t", "ramfs", "none"]).unwrap();
    let file = ramfs.path().join("file").display().to_string();
    job(&scratch, "out", &file, &["--rw", "write", "--size", "1m"]).expect_code(0);
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 1 << 20);
}

#[test]
fn what_is_not_built_yet_is_refused_in_one_sentence() {
    let scratch = Scratch::new();
    let text = "data_errors=remove_device\nsd=sd1,lun=img,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=100,elapsed=3,interval=1\n";
    let output = scratch.run("out", text, &[]).expect_code(2);
    assert!(output.stderr.contains("not built yet"), "{}", output.stderr);
}

#[test]
#[ignore = "times: make exam"]
fn a_curve_runs_its_points_at_shares_of_the_greatest_rate() {
    testkit::while_cpus_are_ours(once_a_curve_runs_its_points_at_shares_of_the_greatest_rate);
}

fn once_a_curve_runs_its_points_at_shares_of_the_greatest_rate() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=16m,threads=4\nwd=wd1,sd=sd1,xfersize=4k\nrd=rd1,wd=wd1,iorate=curve,curve=(20,50),elapsed=2,interval=1\n",
        scratch.path("data").display()
    );
    scratch.run("out", &text, &["--engine", "sync"]).expect_code(0);
    let totals = scratch.table("out", "run_total");
    let ops = |run: &str| sum(&totals, "ops", |row| row["run"] == run && row["phase"] == "measure") as f64;
    assert!(ops("rd1") > 100.0);
    for (run, share) in [("rd1_(20%)", 0.2), ("rd1_(50%)", 0.5)] {
        let achieved = ops(run) / ops("rd1");
        assert!((achieved - share).abs() < 0.05, "{run}: {achieved} of the greatest rate");
    }
}

#[test]
fn points_of_a_curve_keep_the_shares_of_the_run_at_full_speed_and_headings_say_controlled() {
    let scratch = Scratch::new();
    let [one, other] = ["a", "b"].map(|name| scratch.path(name).display().to_string());
    let text = format!(
        "sd=sd1,lun={one},size=16m,threads=2\nsd=sd2,lun={other},size=16m,threads=1\n\
         wd=small,sd=sd1,xfersize=4k\nwd=large,sd=sd2,xfersize=1m\n\
         wd=most,sd=sd1,xfersize=4k,skew=80\nwd=rest,sd=sd2,xfersize=4k,skew=20\n\
         rd=default,elapsed=2,interval=1\n\
         rd=rd1,wd=(small,large),iorate=curve,curve=(50)\nrd=rd2,wd=(most,rest),iorate=max\n"
    );
    scratch.run("out", &text, &["--flatfile"]).expect_code(0);
    let totals = scratch.table("out", "run_total");
    let ops = |run: &str, workload: &str| {
        sum(&totals, "ops", |row| row["run"] == run && row["phase"] == "measure" && row["workload"] == workload) as f64
    };
    let share = |run: &str| ops(run, "large") / (ops(run, "large") + ops(run, "small"));
    // A megabyte takes far longer than a page; the point had half of its operations of each.
    assert!(share("rd1") > 0.0 && share("rd1") < 0.3, "{}", share("rd1"));
    // Of the point, what was due: what of it is done in time is a matter of the machine. A slow one makes few, which come in wholes.
    let due = |workload: &str| {
        sum(&totals, "arrivals", |row| {
            row["run"] == "rd1_(50%)" && row["phase"] == "measure" && row["workload"] == workload
        }) as f64
    };
    let (large, all) = (due("large"), due("large") + due("small"));
    assert!((large - share("rd1") * all).abs() < 0.1 * all + 3.0, "{large} of {all}, {} at full speed", share("rd1"));
    let summary = std::fs::read_to_string(scratch.path("out/summary.html")).unwrap();
    for heading in ["Starting RD=rd1; I/O rate: Uncontrolled curve;", "Starting RD=rd2; I/O rate: Controlled MAX;"] {
        assert!(summary.contains(heading), "{heading}: {summary}");
    }
}

#[test]
fn a_monitor_file_ends_a_run_and_then_everything() {
    let scratch = Scratch::new();
    let (file, monitor) = (scratch.path("data"), scratch.path("monitor"));
    let text = format!(
        "monitor={}\nsd=sd1,lun={},size=8m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=default,wd=wd1,iorate=200,interval=1\n\
         rd=rd1,elapsed=60\nrd=rd2,elapsed=60\nrd=rd3,elapsed=60\n",
        monitor.display(),
        file.display()
    );
    scratch.write("m.vdb", &text);
    let mut child = scratch.iodyno(&["run", "m.vdb", "-o", "out", "--json", "--no-report"]).spawn().unwrap();
    let limit = std::time::Duration::from_secs(60);
    assert!(child.wait_for_stdout("\"rd1\"", limit));
    std::fs::write(&monitor, "end_rd\n").unwrap();
    assert!(child.wait_for_stdout("\"rd2\"", limit), "the next run begins");
    std::fs::write(&monitor, "end_vdbench\n").unwrap();
    child.wait().unwrap().expect_code(130);
    let totals = scratch.table("out", "run_total");
    let runs: std::collections::BTreeSet<&str> = totals.iter().map(|row| row["run"].as_str().unwrap()).collect();
    assert!(runs.contains("rd1") && runs.contains("rd2") && !runs.contains("rd3"), "{runs:?}");
}

#[test]
fn the_machines_counters_lie_beside_the_load() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=8m,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=200,elapsed=3,interval=0.25\n",
        scratch.path("data").display()
    );
    scratch.run("out", &text, &[]).expect_code(0);
    // CPU at every interval, the rest once a second: a busy machine has fewer, and longer ones.
    let times = |table: &str| {
        let rows = scratch.table("out", table);
        rows.iter().map(|row| row["t_ns"].as_i64().unwrap()).collect::<std::collections::BTreeSet<i64>>()
    };
    let (cpu, intervals) = (times("cpu"), times("op_interval").len());
    assert!(cpu.len() >= intervals, "{} of {intervals}", cpu.len());
    let seconds = usize::try_from((cpu.last().unwrap() - cpu.first().unwrap()) / 1_000_000_000).unwrap();
    for table in ["memory", "net", "tcp", "system"] {
        let count = times(table).len();
        assert!((2..=seconds + 5).contains(&count), "{table}: {count} samples in {seconds} s");
    }
    let me = scratch.table("out", "process").into_iter().any(|row| row["comm"] == "iodyno");
    assert!(me, "processes are there");
    scratch.run("few", &text, &["--no-counters"]).expect_code(0);
    let tables = scratch.iodyno(&["export", "few"]).run().unwrap().expect_code(0).stdout;
    assert!(tables.contains("cpu ") && !tables.contains("memory ") && !tables.contains("process "), "{tables}");
}
