//! File-system workloads from the outside: the tree that was asked for is there, and what is asked is what is done and counted.

use crate::support::{Scratch, sum};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every regular file below a directory but the control file, with its size.
pub(crate) fn files_below(directory: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_path_buf()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(&next).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                left.push(entry.path());
            } else if entry.file_name() != "vdb_control.file" {
                found.insert(
                    entry.path().strip_prefix(directory).unwrap().to_path_buf(),
                    entry.metadata().unwrap().len(),
                );
            }
        }
    }
    found
}

/// A parameter file over a tree in `tree` of the scratch folder.
fn parameters(scratch: &Scratch, shape: &str, work: &str, run: &str) -> String {
    let anchor = scratch.path("tree");
    format!("fsd=fsd1,anchor={},{shape}\nfwd=default,fsd=fsd1\n{work}\nrd=rd1,{run},interval=1\n", anchor.display())
}

fn is_measured(row: &Value) -> bool {
    row["run"] == "rd1" && row["phase"] == "measure"
}

/// What was done in the measured phase, by operation.
fn done(scratch: &Scratch, name: &str) -> BTreeMap<String, i64> {
    let mut by_op = BTreeMap::new();
    for row in scratch.table(name, "run_total").iter().filter(|row| row["run"] == "rd1" && row["phase"] != "format") {
        *by_op.entry(row["op"].as_str().unwrap().to_string()).or_insert(0) += row["ops"].as_i64().unwrap();
    }
    by_op
}

#[test]
fn a_tree_is_made_and_read_at_an_exact_rate() {
    let scratch = Scratch::new();
    let text = parameters(
        &scratch,
        "depth=2,width=3,files=5,sizes=(4k,50,16k,50)",
        "fwd=fwd1,operation=read,xfersize=4k,fileselect=random,threads=4",
        "fwd=fwd1,fwdrate=500,format=yes,elapsed=3",
    );
    scratch.run("out", &text, &[]).expect_code(0);
    let files = files_below(&scratch.path("tree"));
    assert_eq!(files.len(), 45, "5 files in each of 9 directories: {files:?}");
    assert!(files.values().all(|bytes| [4096, 16384].contains(bytes)), "{files:?}");
    assert!(files.contains_key(Path::new("vdb.1_3.dir/vdb.2_1.dir/vdb_f0005.file")), "{files:?}");
    assert!(scratch.path("tree/vdb_control.file").exists());

    let totals = scratch.table("out", "run_total");
    let of_format = |op: &str, column: &str| sum(&totals, column, |row| row["phase"] == "format" && row["op"] == op);
    assert_eq!((of_format("mkdir", "ops"), of_format("create", "ops")), (12, 45));
    assert_eq!(of_format("write", "bytes"), i64::try_from(files.values().sum::<u64>()).unwrap());

    let row = totals.iter().find(|row| is_measured(row)).expect("a measured phase");
    assert_eq!(row["op"], "read");
    let seconds = (row["t_ns"].as_f64().unwrap() - row["start_t_ns"].as_f64().unwrap()) / 1e9;
    let (arrivals, due) = (row["arrivals"].as_f64().unwrap(), 500.0 * seconds);
    assert!((arrivals - due).abs() <= due * 0.005 + 4.0, "{arrivals} arrivals of {due}");
    // What was due is done, waits, or hangs.
    let all = |column: &str| sum(&totals, column, |row| row["run"] == "rd1");
    let waiting: i64 = scratch.table("out", "run_end").iter().filter_map(|row| row["waiting"].as_i64()).sum();
    assert_eq!(all("arrivals"), all("ops") + all("errors") + waiting, "{totals:?}");

    let steps = scratch.table("out", "step_total");
    let of_read = |op: &str| sum(&steps, "ops", |row| row["run"] == "rd1" && row["op"] == op);
    let opened = of_read("open");
    assert!(opened > 0 && (opened - of_read("close")).abs() <= 4, "{steps:?}");
    let intervals = scratch.table("out", "op_interval");
    for phase in ["format", "measure"] {
        let [left, right] = [&intervals, &totals].map(|rows| sum(rows, "ops", |row| row["phase"] == phase));
        assert_eq!(left, right, "{phase}");
    }
    let report = std::fs::read_to_string(scratch.path("out/report.html")).expect("the run wrote its report");
    assert!(report.contains("fsd1") && report.contains("open"), "operations and their steps are in the report");
}

#[test]
fn a_tree_is_used_again_and_a_restart_makes_only_what_is_missing() {
    let scratch = Scratch::new();
    let shape = "depth=1,width=2,files=20,size=8k";
    let work = "fwd=fwd1,operation=getattr,fileselect=sequential,threads=2";
    let run = |name: &str, format: &str| {
        let text =
            parameters(&scratch, shape, work, &format!("fwd=fwd1,fwdrate=200,format={format},elapsed=600,maxops=400"));
        scratch.run(name, &text, &[])
    };
    let output = run("none", "no");
    assert_ne!(output.code, Some(0), "there is no tree yet");
    assert!(output.stderr.contains("format=yes"), "{}", output.stderr);
    run("made", "yes").expect_code(0);
    run("again", "no").expect_code(0);
    assert_eq!(done(&scratch, "again")["getattr"], 400);
    let before = files_below(&scratch.path("tree"));
    let lost = scratch.path("tree/vdb.1_2.dir/vdb_f0007.file");
    std::fs::remove_file(&lost).unwrap();
    std::fs::File::options()
        .write(true)
        .open(scratch.path("tree/vdb.1_1.dir/vdb_f0001.file"))
        .unwrap()
        .set_len(100)
        .unwrap();
    // Who knows of no deletion trusts the control file, as Vdbench does.
    std::fs::remove_file(scratch.path("tree/vdb_control.file")).unwrap();
    run("restarted", "restart").expect_code(0);
    assert_eq!(files_below(&scratch.path("tree")), before);
    let created = sum(&scratch.table("restarted", "run_total"), "ops", |row| row["op"] == "create");
    assert!((1..=2).contains(&created), "{created} files were made");
}

#[test]
fn shares_hold_exactly_at_the_maximum_rate() {
    let scratch = Scratch::new();
    let work = "fwd=fwd1,operation=getattr,skew=70,threads=3\nfwd=fwd2,operation=access,skew=20,threads=1\nfwd=fwd3,operation=open,skew=10,threads=2";
    let text = parameters(
        &scratch,
        "depth=1,width=1,files=50,size=4k",
        work,
        "fwd=fwd*,fwdrate=max,format=yes,elapsed=600,maxops=20000",
    );
    scratch.run("out", &text, &[]).expect_code(0);
    let done = done(&scratch, "out");
    let all: i64 = done.values().sum();
    assert_eq!(all, 20_000, "{done:?}");
    for (op, share) in [("getattr", 0.7), ("access", 0.2), ("open", 0.1)] {
        let (is, wanted) = (done[op] as f64, share * all as f64);
        // What is in flight at the ends, of six threads.
        assert!((is - wanted).abs() <= 12.0, "{op}: {is} of {all}, not {wanted}");
    }
}

#[test]
fn every_operation_of_a_list_is_done() {
    let scratch = Scratch::new();
    let anchors = [scratch.path("one"), scratch.path("two")];
    let text = format!(
        "fsd=default,depth=1,width=4,files=50,size=4k\nfsd=fsd1,anchor={}\nfsd=fsd2,anchor={}\n\
         fwd=default,fsd=fsd1,threads=2,fileselect=random,xfersize=4k\n\
         fwd=a,operation=read\nfwd=b,operation=write\nfwd=c,operation=getattr\nfwd=d,operation=setattr\nfwd=e,operation=access\n\
         fwd=f,operation=open\nfwd=g,operation=close\nfwd=h,operation=create\nfwd=i,operation=delete\n\
         fwd=k,operation=copy,target=fsd2\nfwd=l,fsd=fsd2,operation=access\n\
         rd=rd1,fwd=(a,b,c,d,e,f,g,h,i,k,l),fwdrate=1100,format=yes,elapsed=600,maxops=3300,interval=1\n",
        anchors[0].display(),
        anchors[1].display()
    );
    scratch.run("out", &text, &[]).expect_code(0);
    let done = done(&scratch, "out");
    for op in ["read", "write", "getattr", "setattr", "access", "open", "close", "create", "delete", "copy"] {
        // 100 a second each; a create waits for a delete and the other way round.
        assert!(done.get(op).is_some_and(|count| *count >= 30), "{op}: {done:?}");
    }
    // What is counted is what is there.
    let files = i64::try_from(files_below(&anchors[0]).len()).unwrap();
    let writers = 4;
    assert!(
        (200 + done["create"] - done["delete"] - files).abs() <= writers + done["write"],
        "{files} files, {done:?}"
    );
    assert_eq!(files_below(&anchors[1]).len(), 200);
}

#[test]
fn more_threads_than_files_wait_and_do_not_stop_the_run() {
    let scratch = Scratch::new();
    let work = "fwd=fwd1,operation=read,xfersize=4k,fileselect=random,fileio=random,threads=16";
    let text = parameters(
        &scratch,
        "depth=1,width=1,files=3,size=64k",
        work,
        "fwd=fwd1,fwdrate=max,format=yes,elapsed=600,maxops=5000",
    );
    scratch.run("out", &text, &[]).expect_code(0);
    assert_eq!(done(&scratch, "out")["read"], 5000);
}

#[test]
fn a_mixed_load_reads_as_often_as_asked() {
    let scratch = Scratch::new();
    let work = "fwd=fwd1,rdpct=75,xfersize=4k,fileselect=random,fileio=random,threads=4";
    let text = parameters(
        &scratch,
        "depth=1,width=2,files=10,size=64k",
        work,
        "fwd=fwd1,fwdrate=800,format=yes,elapsed=600,maxops=2400",
    );
    scratch.run("out", &text, &[]).expect_code(0);
    let done = done(&scratch, "out");
    let all = (done["read"] + done["write"]) as f64;
    // σ of a share of 2,400 is 21.
    assert!((done["read"] as f64 - 0.75 * all).abs() < 110.0, "{done:?}");
}

#[test]
fn a_run_at_a_low_rate_lasts_its_time() {
    let scratch = Scratch::new();
    let work = "fwd=fwd1,operation=read,xfersize=4k,threads=2";
    let text = parameters(&scratch, "depth=1,width=1,files=3,size=4k", work, "fwd=fwd1,fwdrate=1,format=yes,elapsed=3");
    scratch.run("out", &text, &[]).expect_code(0);
    let totals = scratch.table("out", "run_total");
    let row = totals.iter().find(|row| is_measured(row)).expect("a measured phase");
    let seconds = (row["t_ns"].as_f64().unwrap() - row["start_t_ns"].as_f64().unwrap()) / 1e9;
    assert!(seconds > 2.9, "{row}");
}

#[test]
fn operations_wait_for_what_others_of_the_run_are_going_to_make() {
    let scratch = Scratch::new();
    let text = format!(
        "fsd=fsd1,anchor={},depth=2,width=2,files=200,size=4k\nfwd=fwd1,fsd=fsd1,fileselect=random,threads=8\n\
         rd=rd1,fwd=fwd1,fwdrate=400,operations=(mkdir,create,getattr,delete),format=no,elapsed=5,interval=1\n",
        scratch.path("tree").display()
    );
    std::fs::create_dir(scratch.path("tree")).unwrap();
    scratch.run("out", &text, &[]);
    let done = done(&scratch, "out");
    assert!(
        ["mkdir", "create", "getattr", "delete"].iter().all(|op| done.get(*op).is_some_and(|count| *count > 0)),
        "{done:?}"
    );
    let totals = scratch.table("out", "run_total");
    let all = |column: &str| sum(&totals, column, |row| row["run"] == "rd1");
    let waiting: i64 = scratch.table("out", "run_end").iter().filter_map(|row| row["waiting"].as_i64()).sum();
    assert_eq!(all("arrivals"), all("ops") + all("errors") + waiting, "{totals:?}");
}

#[test]
fn a_file_is_used_at_random_for_as_many_bytes_as_it_has() {
    let scratch = Scratch::new();
    let work = "fwd=fwd1,operation=read,xfersize=4k,fileio=random,fileselect=sequential,threads=1";
    let text = parameters(
        &scratch,
        "depth=1,width=1,files=4,size=1m",
        work,
        "fwd=fwd1,fwdrate=max,format=yes,maxdata=4m,elapsed=60",
    );
    scratch.run("out", &text, &[]).expect_code(0);
    let opened = sum(&scratch.table("out", "step_total"), "ops", |row| row["run"] == "rd1" && row["op"] == "open");
    assert!((4..=5).contains(&opened), "{opened} files were opened for the bytes of four");
}
