//! Transfers in files of trees by both ways, threads that wait and io_uring: the same is done and counted, and it is said which it was.

use crate::no_io_uring::without;
use crate::support::{Scratch, sum};
use crate::trees::files_below;
use rustix::io::Errno;
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;
use testkit::{CommandOutput, FileSystem, LoopDevice, MountedFileSystem};

const WAYS: [&str; 2] = ["sync", "io_uring"];

fn text(anchor: &Path, (shape, work, run): (&str, &str, &str)) -> String {
    format!(
        "data_errors=1000000\nfsd=fsd1,anchor={},{shape}\nfwd=fwd1,fsd=fsd1,xfersize=4k,{work}\nrd=rd1,fwd=fwd1,{run},interval=1\n",
        anchor.display()
    )
}

fn run(scratch: &Scratch, (way, name): (&str, &str), load: (&str, &str, &str)) -> CommandOutput {
    scratch.run(name, &text(&scratch.path("tree"), load), &["--engine", way, "--seed", "5"])
}

fn total(scratch: &Scratch, name: &str, op: &str, column: &str) -> i64 {
    sum(&scratch.table(name, "run_total"), column, |row| {
        row["run"] == "rd1" && row["phase"] != "format" && row["op"] == op
    })
}

fn steps(scratch: &Scratch, name: &str, op: &str) -> i64 {
    sum(&scratch.table(name, "step_total"), "ops", |row| row["run"] == "rd1" && row["op"] == op)
}

/// Did threads with a ring work in the run itself?
fn has_rings(scratch: &Scratch, name: &str) -> bool {
    scratch.table(name, "engine_interval").iter().any(|row| row["run"] == "rd1" && row["engine"] == "io_uring")
}

fn says(scratch: &Scratch, name: &str, what: &str) -> bool {
    let events = scratch.table(name, "event");
    events.iter().filter_map(|row: &Value| row["message"].as_str()).any(|message| message.contains(what))
}

/// Files whose last transfer is no multiple of a block, directly and through the cache, at full speed, with as many operations as were asked for.
#[test]
fn the_same_is_done_and_counted_by_both_ways() {
    let scratch = Scratch::new();
    let shape = "depth=1,width=2,files=10,size=10001";
    run(&scratch, ("sync", "made"), (shape, "operation=read", "fwdrate=max,format=only,elapsed=2")).expect_code(0);
    let before = files_below(&scratch.path("tree"));
    for (case, work) in [
        ("reads", "operation=read,fileio=sequential,fileselect=sequential,openflags=o_direct"),
        ("cached", "operation=read,fileio=random,stopafter=2"),
        ("writes", "operation=write,fileio=sequential,openflags=o_direct"),
        ("mixed", "rdpct=50,fileio=random,fileselect=random,stopafter=3"),
        ("shared", "operation=read,fileio=(random,shared),fileselect=sequential,stopafter=2"),
    ] {
        let counts = WAYS.map(|way| {
            let name = format!("{case}-{way}");
            let load = format!("{work},threads=7");
            run(&scratch, (way, &name), (shape, &load, "fwdrate=max,maxops=900,format=no,elapsed=60")).expect_code(0);
            assert_eq!(has_rings(&scratch, &name), way == "io_uring", "{name}");
            let counts = ["read", "write"].map(|op| total(&scratch, &name, op, "ops"));
            assert_eq!(counts.iter().sum::<i64>(), 900, "{name}");
            let errors: i64 = ["read", "write"].iter().map(|op| total(&scratch, &name, op, "errors")).sum();
            let (opened, closed) = (steps(&scratch, &name, "open"), steps(&scratch, &name, "close"));
            assert!(errors == 0 && opened >= 300 && opened == closed, "{name}: {errors}, {opened}, {closed}");
            // What is no multiple of a block goes through the cache, where the file system wants blocks.
            (counts, says(&scratch, &name, "went through the page cache"))
        });
        let [([reads, writes], is_said), ([more_reads, more_writes], is_said_again)] = counts;
        // The kind of an operation follows from its number; which of the last ones find room is decided among threads.
        let apart = (reads - more_reads).abs().max((writes - more_writes).abs());
        assert!(apart <= if case == "mixed" { 7 } else { 0 } && is_said == is_said_again, "{case}: {counts:?}");
        assert_eq!(files_below(&scratch.path("tree")), before, "{case}");
    }
}

#[test]
fn new_files_are_written_whole_through_io_uring() {
    let scratch = Scratch::new();
    let shape = "depth=1,width=2,files=20,size=10k";
    let load = (
        shape,
        "operation=write,fileio=sequential,fileselect=sequential,threads=8",
        "fwdrate=max,maxops=400,format=(directories,only),elapsed=60",
    );
    run(&scratch, ("sync", "made"), load).expect_code(0);
    let load = (load.0, load.1, "fwdrate=max,maxops=400,format=no,elapsed=60");
    run(&scratch, ("io_uring", "out"), load).expect_code(0);
    let files = files_below(&scratch.path("tree"));
    // Three transfers for each of 40 files, more than three times: the first files are written anew meanwhile.
    assert!(files.len() == 40 && files.values().all(|bytes| *bytes == 10_240), "{files:?}");
    for path in files.keys() {
        let content = std::fs::read(scratch.path("tree").join(path)).unwrap();
        assert!(content.chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)), "{}", path.display());
    }
    assert_eq!(steps(&scratch, "out", "create"), 40);
}

#[test]
fn due_times_are_kept_and_more_threads_than_files_do_not_wait_for_each_other() {
    let scratch = Scratch::new();
    let shape = "depth=1,width=1,files=3,size=64k";
    let load = (shape, "operation=read,threads=16,stopafter=4", "fwdrate=300,format=yes,elapsed=2");
    run(&scratch, ("io_uring", "rate"), load).expect_code(0);
    let all = |column: &str| total(&scratch, "rate", "read", column);
    let waiting: i64 = scratch.table("rate", "run_end").iter().filter_map(|row| row["waiting"].as_i64()).sum();
    assert!(all("arrivals") > 500 && has_rings(&scratch, "rate"), "{}", all("arrivals"));
    assert_eq!(all("arrivals"), all("ops") + all("errors") + waiting);
    let load = (load.0, load.1, "fwdrate=max,maxops=2000,format=no,elapsed=60");
    run(&scratch, ("io_uring", "max"), load).expect_code(0);
    assert_eq!(total(&scratch, "max", "read", "ops"), 2000);
}

#[test]
fn failures_are_counted_and_named_by_both_ways() {
    let scratch = Scratch::new();
    let shape = "depth=1,width=2,files=10,size=16k";
    run(&scratch, ("sync", "made"), (shape, "operation=read", "fwdrate=max,format=only,elapsed=2")).expect_code(0);
    let counts = WAYS.map(|way| {
        let file = |name: &str| scratch.path("tree/vdb.1_1.dir").join(name);
        // The first one is shorter than is known once the run has begun to read it, the other one is gone.
        let (gone, short) = (file("vdb_f0003.file"), file("vdb_f0005.file"));
        let kept = std::fs::read(&gone).unwrap();
        let load = "operation=read,fileio=sequential,fileselect=sequential,threads=4";
        let text = text(&scratch.path("tree"), (shape, load, "fwdrate=400,format=no,elapsed=100"));
        let parameters = scratch.write(&format!("{way}.vdb"), &text);
        let arguments = ["run", parameters.to_str().unwrap(), "-o", way, "--json", "--engine", way];
        let mut child = scratch.iodyno(&arguments).spawn().unwrap();
        assert!(child.wait_until(Duration::from_secs(60), |out| out.contains("\"run\":\"rd1\"")));
        std::fs::remove_file(&gone).unwrap();
        std::fs::File::options().write(true).open(&short).unwrap().set_len(5000).unwrap();
        let ended = |out: &str| {
            let errors = out
                .lines()
                .filter_map(|line| line.split("\"errors\":").nth(1)?.split(['}', ',']).next()?.parse::<u64>().ok());
            errors.sum::<u64>() >= 2
        };
        assert!(child.wait_until(Duration::from_secs(60), ended), "{way}: two failures");
        child.signal(Signal::INT);
        child.wait().unwrap().expect_code(130);
        std::fs::write(&gone, &kept).unwrap();
        std::fs::write(&short, &kept).unwrap();
        let named = ["vdb_f0003.file", "vdb_f0005.file"].map(|name| says(&scratch, way, name));
        (total(&scratch, way, "read", "errors") >= 2, named, says(&scratch, way, "short transfer"))
    });
    assert_eq!(counts, [(true, [true, true], true); 2]);
}

#[test]
fn what_threads_do_better_is_said_where_io_uring_was_asked_for() {
    let scratch = Scratch::new();
    let shape = "depth=1,width=1,files=20,size=16k";
    let load = (shape, "operation=write,threads=4,fsync=2", "fwdrate=max,maxops=100,format=yes,elapsed=60");
    run(&scratch, ("io_uring", "out"), load).expect_code(0);
    assert!(says(&scratch, "out", "threads, though io_uring was asked for") && !has_rings(&scratch, "out"));
    assert!(steps(&scratch, "out", "fsync") > 0);
}

/// On a file system that starts direct transfers without waiting a trial decides; where there is no io_uring, threads do it.
#[test]
fn a_trial_decides_and_its_figures_are_said() {
    if !testkit::require_root_or_skip() {
        return;
    }
    if !FileSystem::Ext4.is_available() {
        testkit::lacks("ext4");
        return;
    }
    let (scratch, device) = (Scratch::new(), LoopDevice::new(64 << 20).unwrap());
    let mount = MountedFileSystem::make(FileSystem::Ext4, device.path()).unwrap();
    let load = (
        "depth=1,width=1,files=10,size=1m",
        "operation=read,fileio=random,threads=8,openflags=o_direct",
        "fwdrate=max,maxops=500,format=yes,elapsed=60",
    );
    let text = text(&mount.path().join("tree"), load);
    scratch.run("out", &text, &[]).expect_code(0);
    let message = " thousand reads per CPU second with 8 threads, ";
    assert!(says(&scratch, "out", message) || says(&scratch, "out", "too few to tell"));
    assert_eq!(says(&scratch, "out", ": io_uring; a trial did"), has_rings(&scratch, "out"));
    assert_eq!(total(&scratch, "out", "read", "ops"), 500);

    let inside = Scratch::new();
    without(&inside, Errno::PERM.raw_os_error(), &text, &["--json"]).expect_code(0);
    assert!(says(&inside, "out", "threads; io_uring cannot be had here") && !has_rings(&inside, "out"));
    assert_eq!(total(&inside, "out", "read", "ops"), 500);
}
