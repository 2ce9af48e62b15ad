//! Results as fio prints them: compared with fio's own, and given to its tools.

use crate::support::Scratch;
use quantity::histogram::Histogram;
use recording::Reader;
use recording::rows::{JobInterval, RunTotal};
use serde_json::Value;
use std::collections::BTreeSet;
use testkit::TestCommand;

const JOBS: &str = "[global]\nfilename=one\nsize=1m\nbs=4k\nioengine=psync\ndescription=a mix\n[mix]\nrw=randrw\nnumjobs=2\n\
                    [log]\nstonewall\nrw=write\nnorandommap\nfsync=16\npercentile_list=50:99.9\n";

/// Names of everything in it; what a job was given, and which percentiles and buckets there are, is not compared.
fn names(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(pairs) if !["options", "percentile", "bins"].iter().any(|end| at.ends_with(end)) => {
            for (name, value) in pairs {
                let at = format!("{at}/{name}");
                names(value, &at, found);
                found.insert(at);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, &format!("{at}[]"), found)),
        _ => {}
    }
}

fn of_file(scratch: &Scratch, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(scratch.path(name)).unwrap()).expect(name)
}

/// Runs the jobs with these flags.
fn run(scratch: &Scratch, recording: &str, flags: &[&str]) -> testkit::CommandOutput {
    let all = [&["run", "jobs.fio", "-o", recording, "--no-report"], flags].concat();
    scratch.iodyno(&all).run().unwrap()
}

#[test]
fn every_key_of_fios_json_is_there_and_none_else() {
    let scratch = Scratch::new();
    scratch.write("jobs.fio", JOBS);
    run(&scratch, "r", &["--output-format=json+", "--output=ours.json"]).expect_code(0);
    let ours = of_file(&scratch, "ours.json");
    let jobs: Vec<&str> = ours["jobs"].as_array().unwrap().iter().filter_map(|job| job["jobname"].as_str()).collect();
    assert_eq!(jobs, ["mix", "mix", "log"]);
    let log = &ours["jobs"][2];
    assert_eq!(
        (&log["groupid"], &log["write"]["total_ios"], &log["sync"]["total_ios"]),
        (&1.into(), &256.into(), &15.into())
    );
    assert_eq!(log["write"]["io_bytes"], 1 << 20);
    assert_eq!(log["job options"]["fsync"], "16");
    // As in fio, options without a value are not listed.
    let listed = [&ours["global options"], &log["job options"]].map(|options| options.as_object().unwrap());
    assert!(listed.iter().all(|options| options.values().all(|value| value != "")), "{listed:?}");
    assert_eq!((&log["desc"], &ours["global options"]["bs"]), (&"a mix".into(), &"4k".into()));
    let percentiles: Vec<&String> = log["write"]["clat_ns"]["percentile"].as_object().unwrap().keys().collect();
    assert_eq!(percentiles, ["50.000000", "99.900000"]);
    let bins = log["write"]["clat_ns"]["bins"].as_object().unwrap();
    assert_eq!(bins.values().filter_map(Value::as_u64).sum::<u64>(), 256);
    // The mix is one: as many operations as its size has.
    let ops = |side: &str| ours["jobs"][0][side]["total_ios"].as_u64().unwrap();
    assert_eq!(ops("read") + ops("write"), 256);
    // What is imported again is the same.
    scratch.iodyno(&["import", "ours.json", "-o", "again"]).run().unwrap().expect_code(0);
    scratch.iodyno(&["export", "again", "--format", "fio-json+", "-o", "again.json"]).run().unwrap().expect_code(0);
    let again = of_file(&scratch, "again.json");
    for key in ["total_ios", "io_bytes"] {
        assert_eq!(again["jobs"][2]["write"][key], log["write"][key], "{key}");
    }
    assert_eq!(again["jobs"][2]["write"]["clat_ns"]["bins"], log["write"]["clat_ns"]["bins"]);

    let fio = ["jobs.fio", "--output-format=json+", "--output=fio.json"];
    let Ok(fio) = TestCommand::new("fio").args(fio).dir(scratch.path("")).run() else {
        testkit::lacks("fio");
        return;
    };
    fio.expect_code(0);
    let (mut there, mut here) = (BTreeSet::new(), BTreeSet::new());
    names(&of_file(&scratch, "fio.json"), "", &mut there);
    names(&ours, "", &mut here);
    let is_disk = |name: &&String| !name.starts_with("/disk_util");
    let differing: Vec<&String> = there.symmetric_difference(&here).filter(is_disk).collect();
    assert!(there.len() > 200 && differing.is_empty(), "{differing:?}");
    match TestCommand::new("fio_jsonplus_clat2csv").args(["ours.json", "ours.csv"]).dir(scratch.path("")).run() {
        Ok(csv) => {
            csv.expect_code(0);
            assert!(scratch.path("ours_job2.csv").exists());
        }
        Err(_) => {
            testkit::lacks("fio_jsonplus_clat2csv");
        }
    }
}

/// How long the generator took between a free slot and the hand-over, per direction: as many as there were I/Os, and with
/// the completion latency it makes up the whole.
#[test]
fn submission_latency_is_in_every_output() {
    let scratch = Scratch::new();
    scratch.write(
        "jobs.fio",
        "[global]\nfilename=one\nsize=1m\nbs=4k\nioengine=libaio\niodepth=4\nslat_percentiles=1\n[mix]\nrw=randrw\n\
         [log]\nstonewall\nrw=write\n",
    );
    run(&scratch, "r", &["--output-format=json+", "--output=ours.json"]).expect_code(0);
    let ours = of_file(&scratch, "ours.json");
    for (job, side) in [(0, "read"), (0, "write"), (1, "write")] {
        let side = &ours["jobs"][job][side];
        let (slat, clat, lat) = (&side["slat_ns"], &side["clat_ns"], &side["lat_ns"]);
        let ios = side["total_ios"].as_u64().unwrap();
        assert!(ios > 0 && slat["N"] == ios && clat["N"] == ios, "{side}");
        let bins = slat["bins"].as_object().unwrap();
        assert_eq!(bins.values().filter_map(Value::as_u64).sum::<u64>(), ios);
        let mean = |times: &Value| times["mean"].as_f64().unwrap();
        // Each is the exact sum divided by the same number, printed with six digits.
        assert!(mean(slat) > 0.0 && (mean(slat) + mean(clat) - mean(lat)).abs() < 0.001, "{side}");
        assert!(slat["percentile"]["50.000000"].as_u64() <= slat["percentile"]["99.000000"].as_u64(), "{slat}");
    }
    assert_eq!(ours["jobs"][1]["read"]["slat_ns"]["N"], 0);
    let page = scratch.iodyno(&["export", "r", "--format", "fio-normal"]).run().unwrap().expect_code(0).stdout;
    assert_eq!(page.matches("    slat (").count(), 3, "{page}");
    let terse = scratch.iodyno(&["export", "r", "--format", "fio-terse"]).run().unwrap().expect_code(0).stdout;
    let means: Vec<f64> = terse.lines().map(|line| line.split(';').nth(46 + 6).unwrap().parse().unwrap()).collect();
    assert!(means.len() == 2 && means.iter().all(|mean| *mean > 0.0), "{terse}");
    // The recording itself has it by workload.
    let csv = scratch.iodyno(&["export", "r", "run_total", "--csv"]).run().unwrap().expect_code(0).stdout;
    assert!(csv.lines().next().unwrap().contains(",wait_ns_mean,"), "{csv}");
}

/// How many were in flight when each was issued, and how many went and came together, counted by the workers.
#[test]
fn depths_are_those_of_fio() {
    let scratch = Scratch::new();
    scratch.write("jobs.fio", JOBS);
    run(&scratch, "r", &["--output-format=json", "--output=ours.json"]).expect_code(0);
    let ours = of_file(&scratch, "ours.json");
    let share = |job: &Value, of: &str, class: &str| job[of][class].as_f64().unwrap();
    let (mix, log) = (&ours["jobs"][0], &ours["jobs"][2]);
    // One at a time, and each flush is one more.
    assert_eq!((share(mix, "iodepth_level", "1"), share(mix, "iodepth_level", "2")), (100.0, 0.0));
    assert!((share(log, "iodepth_level", "1") - 100.0 * 271.0 / 256.0).abs() < 1e-5, "{log}");
    assert_eq!((share(log, "iodepth_submit", "4"), share(log, "iodepth_complete", "4")), (100.0, 100.0));
    match TestCommand::new("fio")
        .args(["jobs.fio", "--output-format=json", "--output=fio.json"])
        .dir(scratch.path(""))
        .run()
    {
        Ok(fio) => {
            fio.expect_code(0);
            let there = of_file(&scratch, "fio.json");
            for job in 0..3 {
                for of in ["iodepth_level", "iodepth_submit", "iodepth_complete"] {
                    assert_eq!(
                        ours["jobs"][job][of], there["jobs"][job][of],
                        "{of} of {}",
                        ours["jobs"][job]["jobname"]
                    );
                }
            }
        }
        Err(_) => {
            testkit::lacks("fio");
        }
    }
    // Two jobs of one worker, each with its own depth; 256 of one, 64 of the other.
    scratch.write(
        "deep.fio",
        "[global]\nbs=4k\nrw=randread\nioengine=libaio\n[a]\nfilename=one\nsize=1m\niodepth=8\n\
         [b]\nfilename=two\nsize=256k\niodepth=3\n",
    );
    let flags = [
        "run",
        "deep.fio",
        "-o",
        "d",
        "--no-report",
        "--workers=1",
        "--engine=io_uring",
        "--output-format=json,normal,terse",
    ];
    let text = scratch.iodyno(&flags).run().unwrap().expect_code(0).stdout;
    let rows: Vec<JobInterval> = Reader::open(scratch.path("d")).unwrap().table().unwrap();
    for (name, ios, depth) in [("a", 256, 8), ("b", 64, 3)] {
        let mut all = [Histogram::default(), Histogram::default(), Histogram::default()];
        for row in rows.iter().filter(|row| row.workload == name) {
            for (sum, found) in all.iter_mut().zip([&row.depth, &row.submitted, &row.completed]) {
                sum.merge(&found.0);
            }
        }
        let [depths, submitted, completed] = &all;
        assert_eq!((depths.count(), submitted.sum(), completed.sum()), (ios, ios.into(), ios.into()), "{name}");
        // All slots were used at the start.
        assert_eq!((depths.min(), depths.max()), (Some(1), Some(depth)), "{name}");
        assert!(
            submitted.max() <= Some(depth) && completed.max() <= Some(depth),
            "{name}: {submitted:?} {completed:?}"
        );
        let last = rows.iter().rfind(|row| row.workload == name).unwrap();
        assert!(last.began_t_ns.is_some() && last.began_t_ns <= last.ended_t_ns, "{last:?}");
    }
    assert_eq!(text.matches("\n  IO depths    : 1=").count(), 2, "{text}");
    let terse: Vec<&str> = text.lines().next().unwrap().split(';').collect();
    let level = terse[5 + 82 + 5..][..7].iter().map(|share| share.strip_suffix('%').unwrap().parse::<f64>().unwrap());
    assert!((level.sum::<f64>() - 100.0).abs() < 0.5, "{text}");
}

/// A job that ends before the others has its own time, one that begins later too: not those of the interval or of the run.
#[test]
fn each_job_has_its_own_runtime() {
    let scratch = Scratch::new();
    scratch.write(
        "jobs.fio",
        "[global]\nrw=randread\nbs=4k\nsize=64k\nrate_iops=200\ntime_based\n[early]\nfilename=one\nruntime=300ms\n\
         [late]\nfilename=two\nstartdelay=200ms\nruntime=300ms\n[long]\nfilename=three\nruntime=4s\n\
         [few]\nfilename=four\ntime_based=0\nnumber_ios=16\nrate_iops=0\n",
    );
    run(&scratch, "r", &["-i", "20s", "--output-format=json", "--output=ours.json"]).expect_code(0);
    let ours = of_file(&scratch, "ours.json");
    let times: Vec<(u64, u64)> = ours["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| (job["read"]["runtime"].as_u64().unwrap(), job["job_runtime"].as_u64().unwrap()))
        .collect();
    let [early, late, long, few] = times[..] else { panic!("{times:?}") };
    assert!(times.iter().all(|(side, job)| *side == *job || *side == job + 1), "{times:?}");
    assert!(early.0 >= 300 && late.0 >= 300 && long.0 >= 4000, "{times:?}");
    // All end within the first interval.
    assert!(early.0 < long.0 && late.0 < long.0 && few.0 < long.0, "{times:?}");
}

/// What failed first, not EIO whatever it was; of I/Os that failed as many as there were.
#[test]
fn a_jobs_error_is_its_first() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = faultfs::Faultfs::mount(mountpoint.path(), faultfs::DiskConfig::new(8 << 20)).unwrap();
    let file = disk.disk();
    let file = file.to_str().unwrap();
    let mut pages = String::new();
    let faults = [
        ("read", "eio read range 4194304-5242880", 5),
        ("read", "short 512 read range 4194304-5242880", 5),
        ("write", "enospc after 65536", 28),
    ];
    for (number, (job, fault, errno)) in faults.into_iter().enumerate() {
        disk.control(fault).unwrap();
        let text = format!("[{job}]\nrw={job}\nfilename={file}\nbs=4k\noffset=4m\nnumber_ios=20\ndirect=1\n");
        scratch.write("jobs.fio", &text);
        let recording = &format!("r{number}");
        run(&scratch, recording, &["--destroy", file, "--output-format=json,normal", "--output=ours.txt"]);
        let text = std::fs::read_to_string(scratch.path("ours.txt")).unwrap();
        let (json, page) = text.split_once("\n}\n").unwrap();
        let ours: Value = serde_json::from_str(&format!("{json}}}")).unwrap();
        assert_eq!(ours["jobs"][0]["error"], errno, "{json}");
        pages += page;
        let rows: Vec<RunTotal> = Reader::open(scratch.path(recording)).unwrap().table().unwrap();
        let row = rows.iter().find(|row| row.errors > Some(0)).unwrap();
        assert_eq!(
            (row.first_error, row.short),
            (Some(errno), if number == 1 { row.errors } else { Some(0) }),
            "{row:?}"
        );
        assert!(row.first_error_t_ns.is_some_and(|t_ns| (row.start_t_ns..=row.t_ns).contains(&t_ns)), "{row:?}");
        // fio counts what it issued.
        let all: i64 = rows.iter().filter(|row| row.op == job).map(|row| row.ops + row.errors.unwrap()).sum();
        assert_eq!(ours["jobs"][0][job]["total_ios"], all);
        assert_eq!(ours["jobs"][0][job]["short_ios"].as_i64(), row.short);
        disk.control("quiet").unwrap();
    }
    assert!(
        pages.contains("err= 5 (Input/output error)") && pages.contains("err=28 (No space left on device)"),
        "{pages}"
    );
}

#[test]
fn terse_lines_have_fios_fields() {
    let scratch = Scratch::new();
    scratch.write("jobs.fio", JOBS);
    let ours = run(&scratch, "r", &["--minimal"]).expect_code(0).stdout;
    let fields: Vec<Vec<&str>> = ours.lines().map(|line| line.split(';').collect()).collect();
    assert_eq!(fields.len(), 3, "{ours}");
    let log = &fields[2];
    assert_eq!((log[0], log[2], log[3], log[4]), ("3", "log", "1", "0"));
    // KiB written; the description stands last.
    assert_eq!((log[46], *log.last().unwrap()), ("1024", "a mix"));
    for (version, number) in [("2", 161), ("3", 121), ("4", 162), ("5", 180)] {
        let command = ["--minimal", &format!("--terse-version={version}")];
        let text = run(&scratch, &format!("r{version}"), &command).expect_code(0).stdout;
        let count = text.lines().next().unwrap().split(';').count();
        // Nine of each disk and the description stand last; in version 2 there are no disks, and the description has its own line.
        let further = count.checked_sub(number).unwrap_or_else(|| panic!("version {version}: {count} fields: {text}"));
        assert_eq!(further % 9, usize::from(version != "2"), "version {version}: {count} fields: {text}");
    }
}

#[test]
fn an_output_takes_no_file_that_is_not_iodynos() {
    let scratch = Scratch::new();
    scratch.write("jobs.fio", JOBS);
    scratch.write("mine", "notes of the user\n");
    let refused = run(&scratch, "r", &["--output=mine"]).expect_code(2);
    assert!(refused.stderr.contains("mine exists"), "{}", refused.stderr);
    assert!(!scratch.path("r").exists() && !scratch.path("one").exists(), "nothing was run");
    let wrong = run(&scratch, "r", &["--output-format=jsn"]).expect_code(2);
    assert!(wrong.stderr.contains("`jsn` is none of normal, terse, json, json+"), "{}", wrong.stderr);
    run(&scratch, "r", &["--output=results", "--output-format=normal,json"]).expect_code(0);
    let first = std::fs::read_to_string(scratch.path("results")).unwrap();
    assert!(first.starts_with("{\n  \"fio version\"") && first.contains("\nRun status group 1 (all jobs):"), "{first}");
    // Yesterday's is replaced, as fio does.
    run(&scratch, "s", &["--output=results"]).expect_code(0);
    assert!(std::fs::read_to_string(scratch.path("results")).unwrap().starts_with("fio-3.33-iodyno-"));
}

/// The same numbers of `fsync` and of flushes of all kinds, and the same kinds of percentiles.
#[test]
fn flushes_and_percentiles_are_counted_as_fio_does() {
    let scratch = Scratch::new();
    let jobs = "[global]\nbs=4k\nioengine=psync\nrw=write\nsize=64k\n[end]\nfilename=a\nend_fsync=1\n\
                [close]\nstonewall\nfilename=b\nfsync_on_close=1\n[data]\nstonewall\nfilename=c\nrw=randwrite\nfdatasync=10\n\
                [both]\nstonewall\nfilename=d\nsize=400k\nfsync=7\nfdatasync=3\nend_fsync=1\n\
                [whole]\nstonewall\nfilename=e\nsize=400k\nfsync=7\nlat_percentiles=1\n\
                [none]\nstonewall\nfilename=f\nlat_percentiles=1\nclat_percentiles=0\n";
    scratch.write("jobs.fio", jobs);
    run(&scratch, "r", &["--output-format=json", "--output=ours.json"]).expect_code(0);
    let found = |name: &str| -> Vec<(u64, u64, bool, bool)> {
        let document = of_file(&scratch, name);
        let of = |job: &Value| {
            let (sync, write) = (&job["sync"], &job["write"]);
            let has = |times: &str| write[times].get("percentile").is_some();
            (sync["total_ios"].as_u64().unwrap(), sync["lat_ns"]["N"].as_u64().unwrap(), has("clat_ns"), has("lat_ns"))
        };
        document["jobs"].as_array().unwrap().iter().map(of).collect()
    };
    let expect = [
        (0, 0, true, false),
        (0, 0, true, false),
        (0, 1, true, false),
        (14, 43, true, false),
        (14, 14, true, true),
        (0, 0, false, true),
    ];
    assert_eq!(found("ours.json"), expect);
    match TestCommand::new("fio")
        .args(["jobs.fio", "--output-format=json", "--output=fio.json"])
        .dir(scratch.path(""))
        .run()
    {
        Ok(fio) => {
            fio.expect_code(0);
            assert_eq!(found("fio.json"), expect);
        }
        Err(_) => {
            testkit::lacks("fio");
        }
    }
}

/// Scripts read `.jobs[0]` and mean all copies.
#[test]
fn group_reporting_sums_up_the_jobs_of_a_group() {
    let scratch = Scratch::new();
    let jobs = "[global]\nbs=4k\nioengine=psync\nsize=64k\nrw=write\nfsync=4\n[copies]\ngroup_reporting\nnumjobs=3\n\
                [with]\ngroup_reporting\nsize=32k\n[apart]\nsize=16k\n[next]\nstonewall\ngroup_reporting\nsize=16k\n";
    scratch.write("jobs.fio", jobs);
    run(&scratch, "r", &["--output-format=json+", "--output=ours.json"]).expect_code(0);
    let found = |name: &str| -> Vec<(String, u64, [u64; 5])> {
        let document = of_file(&scratch, name);
        let number = |value: &Value| value.as_u64().unwrap();
        let of = |job: &Value| {
            let (sync, write) = (&job["sync"], &job["write"]);
            let bins = write["clat_ns"]["bins"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
            let ios = number(&write["total_ios"]);
            // All that was done, in the time of the longest.
            let rate = ios as f64 * 1000.0 / write["runtime"].as_f64().unwrap();
            assert!((write["iops"].as_f64().unwrap() - rate).abs() < 0.001 * rate, "{name}: {write}");
            let counts =
                [number(&write["io_bytes"]), ios, bins, number(&sync["total_ios"]), number(&sync["lat_ns"]["N"])];
            (job["jobname"].as_str().unwrap().to_string(), number(&job["groupid"]), counts)
        };
        document["jobs"].as_array().unwrap().iter().map(of).collect()
    };
    let ours = found("ours.json");
    let names: Vec<(&str, u64)> = ours.iter().map(|(name, group, _)| (name.as_str(), *group)).collect();
    assert_eq!(names, [("copies", 0), ("apart", 0), ("next", 1)]);
    assert_eq!(ours[0].2[..3], [3 * 65_536 + 32_768, 56, 56]);
    let export =
        |format: &str| scratch.iodyno(&["export", "r", "--format", format]).run().unwrap().expect_code(0).stdout;
    assert_eq!(export("fio-terse").lines().count(), 3);
    let page = export("fio-normal");
    assert!(page.contains("copies: (groupid=0, jobs=4)") && page.contains("Starting 6 processes"), "{page}");
    match TestCommand::new("fio")
        .args(["jobs.fio", "--output-format=json+", "--output=fio.json"])
        .dir(scratch.path(""))
        .run()
    {
        Ok(fio) => {
            fio.expect_code(0);
            assert_eq!(found("fio.json"), ours);
        }
        Err(_) => {
            testkit::lacks("fio");
        }
    }
}

/// Jobs that did nothing, numbers of groups, and the time since the beginning, as fio has them.
#[test]
fn jobs_that_did_not_run_stand_among_the_others_with_zeros() {
    let scratch = Scratch::new();
    let jobs = "[global]\nfilename=one\nsize=64k\nbs=4k\nrw=read\nioengine=psync\ntime_based\nrate_iops=100\nramp_time=1\n\
                exitall\nexit_what=all\n[ends]\nruntime=1200ms\n[never]\nstartdelay=20\nruntime=1\n\
                [beside]\nnew_group\nruntime=30\nnumjobs=2\ngroup_reporting\n[last]\nnew_group\nruntime=30\n\
                [later]\nstonewall\nruntime=1\n[latest]\nstonewall\nrw=randwrite\nfsync=4\nruntime=1\n";
    scratch.write("jobs.fio", jobs);
    run(&scratch, "r", &["--output-format=json,terse,normal", "--output=ours.txt"]).expect_code(0);
    let text = std::fs::read_to_string(scratch.path("ours.txt")).unwrap();
    let found = |text: &str| {
        let (json, page) = text[text.find('{').unwrap()..].split_once("\n}\n").unwrap();
        let json: Value = serde_json::from_str(&format!("{json}}}")).unwrap();
        let jobs: Vec<(String, u64, bool, String, BTreeSet<String>)> = json["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| {
                let mut keys = BTreeSet::new();
                names(job, "", &mut keys);
                let ios: u64 = ["read", "write"].iter().map(|side| job[side]["total_ios"].as_u64().unwrap()).sum();
                let of_none = format!("{} {}", job["write"]["bw_agg"], job["error"]);
                assert!(job["elapsed"].as_u64().unwrap() >= 3, "with its ramp_time: {job}");
                (job["jobname"].as_str().unwrap().to_string(), job["groupid"].as_u64().unwrap(), ios > 0, of_none, keys)
            })
            .collect();
        let terse: Vec<String> = text.lines().filter_map(|line| line.split(';').nth(2).map(str::to_string)).collect();
        let groups = page.matches("Run status group").count();
        (jobs, terse, groups, page.contains("never: (groupid"))
    };
    let ours = found(&text);
    let listed: Vec<(&str, u64, bool)> = ours.0.iter().map(|job| (job.0.as_str(), job.1, job.2)).collect();
    let expect = [
        ("ends", 0, true),
        ("never", 0, false),
        ("beside", 1, true),
        ("last", 2, true),
        ("later", 3, false),
        ("latest", 4, false),
    ];
    assert_eq!(listed, expect);
    let fio = ["jobs.fio", "--output-format=json,terse,normal", "--output=fio.txt"];
    match TestCommand::new("fio").args(fio).dir(scratch.path("")).run() {
        Ok(fio) => {
            fio.expect_code(0);
            assert_eq!(ours, found(&std::fs::read_to_string(scratch.path("fio.txt")).unwrap()));
        }
        Err(_) => {
            testkit::lacks("fio");
        }
    }
}

#[test]
fn a_steady_state_has_its_block() {
    let scratch = Scratch::new();
    let jobs = "[global]\nfilename=one\nsize=64k\nbs=4k\nrw=randread\nioengine=psync\ntime_based\nrate_iops=100\n\
                steadystate_duration=2\n[steady]\nsteadystate=iops:900%\nruntime=30\n\
                [never]\nstonewall\nsteadystate=bw_slope:1\nruntime=1\n";
    scratch.write("jobs.fio", jobs);
    run(&scratch, "r", &["--output-format=json", "--output=ours.json"]).expect_code(0);
    let found = |name: &str| -> Vec<(Value, Value, Value, bool, BTreeSet<String>, usize)> {
        let json = of_file(&scratch, name);
        let of = |job: &Value| {
            let (steady, mut keys) = (&job["steadystate"], BTreeSet::new());
            names(steady, "", &mut keys);
            let is_percent = steady["criterion"].as_str().unwrap().ends_with('%');
            let (iops, bytes) = (&steady["data"]["iops"], &steady["data"]["bw"]);
            assert_eq!(iops.as_array().unwrap().len(), bytes.as_array().unwrap().len());
            let seconds = iops.as_array().unwrap().len();
            (steady["ss"].clone(), steady["duration"].clone(), steady["attained"].clone(), is_percent, keys, seconds)
        };
        json["jobs"].as_array().unwrap().iter().map(of).collect()
    };
    let ours = found("ours.json");
    let reported: Vec<(&str, u64, usize)> =
        ours.iter().map(|job| (job.0.as_str().unwrap(), job.2.as_u64().unwrap(), job.5)).collect();
    assert_eq!(reported, [("iops:900.000000%", 1, 2), ("bw_slope:1.000000", 0, 2)]);
    let json = of_file(&scratch, "ours.json");
    let data = &json["jobs"][0]["steadystate"]["data"];
    let iops: Vec<u64> = data["iops"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert_eq!(data["iops_mean"].as_u64().unwrap(), iops.iter().sum::<u64>() / 2);
    assert!(iops.iter().all(|rate| (1..=400).contains(rate)), "100 were asked for: {iops:?}");
    let page = scratch.iodyno(&["export", "r", "--format", "fio-normal"]).run().unwrap().expect_code(0).stdout;
    assert!(page.contains("  steadystate  : attained=yes, bw=") && page.contains("iops mean dev="), "{page}");
    match TestCommand::new("fio")
        .args(["jobs.fio", "--output-format=json", "--output=fio.json"])
        .dir(scratch.path(""))
        .run()
    {
        Ok(fio) => {
            fio.expect_code(0);
            assert_eq!(ours, found("fio.json"));
        }
        Err(_) => {
            testkit::lacks("fio");
        }
    }
}
