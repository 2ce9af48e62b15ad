//! fio's logs and `--status-interval`: names, columns and units of fio's, every I/O in them, and its own tools read them.

use crate::support::Scratch;
use recording::Reader;
use recording::rows::{JobInterval, LogIo};
use serde_json::Value;
use std::collections::BTreeSet;
use testkit::TestCommand;

/// Every file of these logs, with its lines as numbers.
fn logs_in(scratch: &Scratch, folder: &str) -> Vec<(String, Vec<Vec<u64>>)> {
    let entries = std::fs::read_dir(scratch.path(folder)).unwrap();
    let mut found: Vec<(String, Vec<Vec<u64>>)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let number = |word: &str| match word.trim().strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
                None => word.trim().parse().unwrap_or_else(|_| panic!("{}: {word}", path.display())),
            };
            let lines = text.lines().map(|line| line.split(',').map(number).collect()).collect();
            (path.file_name().unwrap().to_string_lossy().into_owned(), lines)
        })
        .collect();
    found.sort();
    found
}

fn lines<'a>(logs: &'a [(String, Vec<Vec<u64>>)], name: &str) -> &'a [Vec<u64>] {
    &logs.iter().find(|(found, _)| found == name).unwrap_or_else(|| panic!("{name} among {logs:?}")).1
}

fn fio(scratch: &Scratch, folder: &str, jobs: &str) -> bool {
    std::fs::create_dir(scratch.path(folder)).unwrap();
    let ran = TestCommand::new("fio").args([jobs, "--output=/dev/null"]).dir(scratch.path(folder)).run();
    match ran {
        Ok(output) => {
            output.expect_code(0);
            true
        }
        Err(_) => {
            testkit::lacks("fio");
            false
        }
    }
}

#[test]
fn without_log_avg_msec_every_io_has_its_line() {
    let scratch = Scratch::new();
    let jobs = "[global]\nsize=256k\nbs=4k\nrw=randrw\nioengine=psync\nlog_offset=1\nwrite_lat_log=mix\nwrite_bw_log=mix\n\
                write_iops_log=mix\n[one]\nfilename=one\n[two]\nfilename=two\nlog_prio=1\nprio=5\n[apart]\nstonewall\nfilename=one\n";
    scratch.write("jobs.fio", jobs);
    let ran = scratch.iodyno(&["run", "jobs.fio", "-o", "r", "--no-report"]).run().unwrap().expect_code(0);
    assert!(!ran.stderr.contains("write_lat_log"), "it has an effect: {}", ran.stderr);
    let ours = logs_in(&scratch, "");
    let names: Vec<&str> = ours.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 15, "five kinds of three jobs: {names:?}");
    for job in 1..=3 {
        let of = |kind: &str| lines(&ours, &format!("mix_{kind}.{job}.log"));
        let (total, submission, completion) = (of("lat"), of("slat"), of("clat"));
        assert_eq!([total, submission, completion, of("bw"), of("iops")].map(<[_]>::len), [64; 5], "job {job}");
        let offsets: BTreeSet<u64> = total.iter().map(|line| line[4]).collect();
        assert_eq!((offsets.len(), offsets.last()), (64, Some(&(252 << 10))), "every block once");
        for at in 0..64 {
            assert_eq!(total[at].len(), 6, "time, value, direction, size, offset, priority");
            assert_eq!(total[at][1], submission[at][1] + completion[at][1]);
            assert_eq!((total[at][3], of("iops")[at][1]), (4096, 1));
            let rate = 4096 * 1_000_000 / completion[at][1];
            assert_eq!(of("bw")[at][1], rate);
            assert_eq!(total[at][5], if job == 2 { 0x4005 } else { 0 });
        }
        assert!(total.windows(2).all(|two| two[0][0] <= two[1][0]), "in the order of completion");
        assert!(total.iter().any(|line| line[2] == 0) && total.iter().any(|line| line[2] == 1));
    }
    // From the recording the same.
    scratch.iodyno(&["export", "r", "--format", "fio-logs", "-o", "again"]).run().unwrap().expect_code(0);
    assert_eq!(logs_in(&scratch, "again"), ours);
    let there = scratch.write("fio.fio", jobs).display().to_string();
    if fio(&scratch, "theirs", &there) {
        let theirs = logs_in(&scratch, "theirs");
        assert_eq!(theirs.iter().map(|(name, _)| name.as_str()).collect::<Vec<&str>>(), names);
        for (name, theirs) in theirs.iter().filter(|(name, _)| !name.contains("_slat")) {
            let ours = lines(&ours, name);
            assert_eq!((ours.len(), ours[0].len()), (theirs.len(), theirs[0].len()), "{name}");
            let places = |lines: &[Vec<u64>]| -> Vec<[u64; 3]> {
                let mut found: Vec<[u64; 3]> = lines.iter().map(|line| [line[3], line[4], line[5]]).collect();
                found.sort_unstable();
                found
            };
            assert_eq!(places(ours), places(theirs), "{name}");
        }
    }
}

#[test]
fn averaged_logs_have_fios_columns_and_its_tools_read_them() {
    let scratch = Scratch::new();
    let jobs = "[mix]\nfilename=one\nsize=1m\nbs=4k\nrw=randrw\nioengine=psync\nrate_iops=200\nruntime=3100ms\ntime_based\n\
                log_avg_msec=250\nlog_hist_msec=250\nlog_hist_coarseness=2\nwrite_lat_log\nwrite_bw_log\nwrite_iops_log\nwrite_hist_log\n";
    let file = scratch.write("jobs.fio", jobs).display().to_string();
    let flags = ["--output-format=json+", "--output=out.json", "--no-report"];
    scratch.iodyno(&[&["run", "jobs.fio", "-o", "r"][..], &flags].concat()).run().unwrap().expect_code(0);
    let ours = logs_in(&scratch, "");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(scratch.path("out.json")).unwrap()).unwrap();
    for (side, name) in [(0, "read"), (1, "write")] {
        let job = &json["jobs"][0][name];
        let of = |kind: &str| -> Vec<&Vec<u64>> {
            lines(&ours, &format!("mix_{kind}.1.log"))
                .iter()
                .filter(|line| line[2 - usize::from(kind == "clat_hist")] == side)
                .collect()
        };
        // What is left at the end is in the histograms as well, which fio loses.
        let counted: u64 = of("clat_hist").iter().flat_map(|line| &line[3..]).sum();
        assert_eq!(Some(counted), job["clat_ns"]["N"].as_u64(), "{name}");
        assert_eq!(of("clat_hist")[0].len(), 3 + (29 * 64) / 4);
        assert_eq!(of("clat_hist")[0][2], 4096);
        let times = of("clat");
        assert!(times.len() >= 4 && times.iter().all(|line| line.len() == 5 && line[3] == 0), "{times:?}");
        let greatest = job["clat_ns"]["max"].as_u64().unwrap();
        assert!(times.iter().all(|line| line[1] > 0 && line[1] <= greatest));
        // Rates are of whole intervals only; together they are what was done in them.
        let rates = of("iops");
        assert!(!rates.is_empty() && rates.len() <= times.len(), "{rates:?}");
        let bandwidth: Vec<u64> = of("bw").iter().map(|line| line[1]).collect();
        for (iops, kib) in rates.iter().zip(&bandwidth) {
            assert!((iops[1] * 4).abs_diff(*kib) <= 4, "{iops:?} {kib}");
        }
    }
    if fio(&scratch, "theirs", &file) {
        for (name, theirs) in logs_in(&scratch, "theirs").iter().filter(|(_, lines)| !lines.is_empty()) {
            assert_eq!(lines(&ours, name)[0].len(), theirs[0].len(), "{name}");
        }
    }
    let imported = scratch.iodyno(&["import", "mix_clat_hist.1.log", "-o", "imported"]).run().unwrap().expect_code(0);
    assert!(imported.stderr.contains("service times"), "{}", imported.stderr);
    tools_read(&scratch);
}

/// fio's own tools, with a `gnuplot` that keeps its script.
fn tools_read(scratch: &Scratch) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir(scratch.path("bin")).unwrap();
    let gnuplot = scratch.write("bin/gnuplot", "#!/bin/sh\ncat \"$@\" >> \"$KEPT\" < /dev/stdin\n");
    std::fs::set_permissions(&gnuplot, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", scratch.path("bin").display(), std::env::var("PATH").unwrap());
    let kept = scratch.path("kept").display().to_string();
    let tool = |name: &str, arguments: &[&str]| {
        TestCommand::new(name).args(arguments).dir(scratch.path("")).env("PATH", &path).env("KEPT", &kept).run()
    };
    match tool("fio_generate_plots", &["title"]) {
        Ok(output) => {
            output.expect_code(0);
            let script = std::fs::read_to_string(&kept).unwrap();
            for kind in ["lat", "iops", "slat", "clat", "bw"] {
                assert!(script.contains(&format!("'mix_{kind}.1.log' using")), "{kind}: {script}");
            }
        }
        Err(_) => {
            testkit::lacks("fio_generate_plots");
        }
    }
    for (flag, kind) in [("-b", "bw"), ("-i", "iops")] {
        match tool("fio2gnuplot", &[flag, "-o", kind]) {
            Ok(output) => {
                let said = output.expect_code(0);
                assert!(said.stdout.contains(&format!("mix_{kind}.1.log")), "{} {}", said.stdout, said.stderr);
            }
            Err(_) => {
                testkit::lacks("fio2gnuplot");
            }
        }
    }
    match tool("fio_jsonplus_clat2csv", &["out.json", "out.csv"]) {
        Ok(output) => {
            output.expect_code(0);
        }
        Err(_) => {
            testkit::lacks("fio_jsonplus_clat2csv");
        }
    }
}

#[test]
fn a_log_takes_no_file_that_is_none() {
    let scratch = Scratch::new();
    let jobs = "[mix]\nfilename=one\nsize=64k\nbs=4k\nrw=write\nioengine=psync\nwrite_bw_log=notes\nper_job_logs=0\n";
    scratch.write("jobs.fio", jobs);
    scratch.write("notes_bw.log", "notes of the user\n");
    let run = |recording: &str| scratch.iodyno(&["run", "jobs.fio", "-o", recording, "--no-report"]).run().unwrap();
    let refused = run("a").expect_code(2);
    assert!(refused.stderr.contains("notes_bw.log exists"), "{}", refused.stderr);
    assert!(!scratch.path("a").exists() && !scratch.path("one").exists(), "nothing was run");
    assert_eq!(std::fs::read_to_string(scratch.path("notes_bw.log")).unwrap(), "notes of the user\n");
    // Of later rounds, too.
    let each = scratch.write("each.fio", &jobs.replace("per_job_logs=0\n", "")).to_str().unwrap().to_string();
    scratch.write("notes_bw.2.log", "notes of the user\n");
    let rounds = scratch.iodyno(&["run", &each, "--repeat", "2", "-o", "a"]).run().unwrap().expect_code(2);
    assert!(rounds.stderr.contains("notes_bw.2.log exists") && !scratch.path("a").exists(), "{}", rounds.stderr);
    std::fs::remove_file(scratch.path("notes_bw.2.log")).unwrap();
    // Yesterday's is replaced.
    scratch.write("notes_bw.log", "500, 800, 0, 0, 0\n");
    run("b").expect_code(0);
    assert_eq!(logs_in(&scratch, "")[0].1.len(), 16);
    // Of a recording that nothing was asked of, its own intervals, and that is said.
    scratch.write("plain.fio", "[mix]\nfilename=one\nsize=64k\nbs=4k\nrw=read\nioengine=psync\n");
    scratch.iodyno(&["run", "plain.fio", "-o", "c", "--no-report"]).run().unwrap().expect_code(0);
    let exported = scratch.iodyno(&["export", "c", "--format", "fio-logs", "-o", "logs"]).run().unwrap().expect_code(0);
    assert!(exported.stderr.contains("averages of the recording's own intervals"), "{}", exported.stderr);
    assert_eq!(lines(&logs_in(&scratch, "logs"), "mix_clat.1.log").len(), 1);
    scratch.write("wrong.fio", &jobs.replace("per_job_logs=0", "log_hist_coarseness=9"));
    let wrong = scratch.iodyno(&["run", "wrong.fio", "-o", "d", "--no-report"]).run().unwrap().expect_code(2);
    assert!(wrong.stderr.contains("log_hist_coarseness=9: it takes a number from 0 to 6"), "{}", wrong.stderr);
}

#[test]
fn a_status_interval_prints_whole_documents_that_only_grow() {
    let scratch = Scratch::new();
    let jobs =
        "[mix]\nfilename=one\nsize=1m\nbs=4k\nrw=randread\nioengine=psync\nrate_iops=400\nruntime=3s\ntime_based\n";
    scratch.write("jobs.fio", jobs);
    let flags = ["--status-interval=400ms", "--output-format=json+"];
    let documents = |text: &str| -> Vec<Value> {
        serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().expect(text)
    };
    let run = |recording: &str, more: &[&str]| {
        let all = [&["run", "jobs.fio", "-o", recording, "--no-report"][..], &flags, more].concat();
        scratch.iodyno(&all).run().unwrap().expect_code(0).stdout
    };
    let stdout = run("a", &[]);
    run("b", &["--output=out.json"]);
    for (text, recording) in [(stdout, "a"), (std::fs::read_to_string(scratch.path("out.json")).unwrap(), "b")] {
        let found = documents(&text);
        assert!(found.len() >= 3, "{} documents", found.len());
        let reads = |document: &Value| document["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
        assert!(found.windows(2).all(|two| reads(&two[0]) <= reads(&two[1])));
        let of_all = reads(found.last().unwrap());
        assert!(found.iter().any(|document| (1..of_all).contains(&reads(document))), "{text}");
        for document in &found {
            // As in fio, there are none before the first read.
            let bins =
                document["jobs"][0]["read"]["clat_ns"]["bins"].as_object().into_iter().flat_map(|bins| bins.values());
            assert_eq!(bins.filter_map(Value::as_u64).sum::<u64>(), reads(document));
        }
        scratch
            .iodyno(&["export", recording, "--format", "fio-json+", "-o", "end.json", "--force"])
            .run()
            .unwrap()
            .expect_code(0);
        let end = documents(&std::fs::read_to_string(scratch.path("end.json")).unwrap());
        assert_eq!(&end[0], found.last().unwrap(), "the last is the run's");
    }
}

#[test]
fn logs_of_every_kind_are_replaced_when_the_job_runs_again() {
    let scratch = Scratch::new();
    let jobs = "[mix]\nfilename=one\nsize=64k\nbs=4k\nrw=write\nioengine=psync\nprio=5\nlog_prio=1\nwrite_lat_log=a\n\
                write_hist_log=a\nlog_hist_msec=100\n";
    scratch.write("jobs.fio", jobs);
    for recording in ["first", "second"] {
        scratch.iodyno(&["run", "jobs.fio", "-o", recording, "--no-report"]).run().unwrap().expect_code(0);
    }
    let logs = logs_in(&scratch, "");
    assert_eq!(lines(&logs, "a_lat.1.log").len(), 16);
    assert!(lines(&logs, "a_lat.1.log").iter().all(|line| line[4] == 0x4005));
    assert_eq!(lines(&logs, "a_clat_hist.1.log")[0].len(), 3 + 1856, "of all bins");
}

#[test]
fn a_global_section_asks_for_logs_of_the_jobs_behind_it() {
    let scratch = Scratch::new();
    let jobs = "[global]\nsize=64k\nbs=4k\nrw=randread\nioengine=psync\n[one]\n[global]\nwrite_bw_log=late\n[two]\n";
    let file = scratch.write("jobs.fio", jobs).to_str().unwrap().to_string();
    if !fio(&scratch, "fio", &file) {
        return;
    }
    std::fs::create_dir(scratch.path("ours")).unwrap();
    scratch.iodyno(&["run", &file, "--no-report"]).dir(scratch.path("ours")).run().unwrap().expect_code(0);
    for folder in ["ours", "fio"] {
        let names: Vec<String> = logs_in(&scratch, folder).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["late_bw.2.log"], "{folder}");
    }
}

/// fio's times count from the begin of the job itself, whatever others do before it.
#[test]
fn times_in_the_logs_of_a_delayed_job_count_from_its_own_begin() {
    let scratch = Scratch::new();
    let jobs = "[global]\nsize=64k\nbs=4k\nrw=randread\nioengine=psync\nrate_iops=40\ntime_based\nruntime=2s\n\
                write_lat_log=x\nwrite_hist_log=x\nlog_hist_msec=250\n[first]\nfilename=one\n\
                [each]\nstartdelay=1500ms\nfilename=two\n[averages]\nstartdelay=1500ms\nfilename=three\nlog_avg_msec=250\n";
    let file = scratch.write("jobs.fio", jobs).display().to_string();
    scratch.iodyno(&["run", "jobs.fio", "-o", "r", "--no-report"]).run().unwrap().expect_code(0);
    let reader = Reader::open(scratch.path("r")).unwrap();
    let (spans, ios): (Vec<JobInterval>, Vec<LogIo>) = (reader.table().unwrap(), reader.table().unwrap());
    let began_ns = spans.iter().find_map(|row| row.began_t_ns.filter(|_| row.workload == "each")).unwrap();
    let expect: Vec<u64> = ios
        .iter()
        .filter(|row| row.workload.to_string() == "each")
        .map(|row| u64::try_from((row.t_ns - began_ns) / 1_000_000).unwrap())
        .collect();
    let check = |logs: &[(String, Vec<Vec<u64>>)]| {
        for name in ["x_lat.2.log", "x_lat.3.log", "x_clat_hist.2.log", "x_clat_hist.3.log"] {
            let times: Vec<u64> = lines(logs, name).iter().map(|line| line[0]).collect();
            // By the clock of the run none is before 1,500 ms.
            assert!(times.len() > 1 && times[0] < 1500, "{name}: {times:?}");
        }
    };
    let ours = logs_in(&scratch, "");
    let times: Vec<u64> = lines(&ours, "x_lat.2.log").iter().map(|line| line[0]).collect();
    assert!(!times.is_empty() && times == expect, "{times:?} {expect:?}");
    check(&ours);
    if fio(&scratch, "theirs", &file) {
        check(&logs_in(&scratch, "theirs"));
    }
}

/// As many of them as `cmdprio_percentage` says, each with what it was sent with.
#[test]
fn the_priority_column_has_that_of_each_io() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let jobs = "[global]\nfilename=one\nsize=4m\nbs=4k\nrw=randread\nioengine=libaio\ndirect=1\ncmdprio_percentage=50\n\
                write_lat_log=x\n[plain]\n[whole]\nlog_prio=1\n";
    let file = scratch.write("jobs.fio", jobs).display().to_string();
    scratch
        .iodyno(&["run", "jobs.fio", "--engine", "io_uring", "-o", "r", "--no-report"])
        .run()
        .unwrap()
        .expect_code(0);
    let check = |logs: &[(String, Vec<Vec<u64>>)]| {
        for (name, high) in [("x_clat.1.log", 1), ("x_clat.2.log", 0x2000)] {
            let column: Vec<u64> = lines(logs, name).iter().map(|line| line[4]).collect();
            let count = |wanted: u64| column.iter().filter(|found| **found == wanted).count();
            assert_eq!((column.len(), count(0) + count(high)), (1024, 1024), "{name}");
            // Seven deviations to each side.
            assert!((400..=624).contains(&count(high)), "{name}: {}", count(high));
        }
    };
    check(&logs_in(&scratch, ""));
    if fio(&scratch, "theirs", &file) {
        check(&logs_in(&scratch, "theirs"));
    }
}
