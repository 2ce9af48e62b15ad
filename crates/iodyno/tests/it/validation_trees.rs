//! `iodyno run --verify` in directory trees (`fsd=`): files and what is in them.

use crate::support::Scratch;
use serde_json::Value;
use std::path::Path;
use testkit::CommandOutput;

const BLOCK: u64 = 4096;

/// Six files of 64 KiB in two directories.
fn tree(anchor: &Path) -> String {
    format!("fsd=fsd1,anchor={},depth=1,width=2,files=3,size=64k\n", anchor.display())
}

fn run(scratch: &Scratch, name: &str, text: &str, more: &[&str]) -> CommandOutput {
    scratch.run(name, text, &[&["--no-counters", "--no-report", "--verify"], more].concat())
}

fn verdict(output: &CommandOutput) -> &str {
    let mut lines = output.stderr.lines();
    lines.find(|line| line.starts_with("validation: ")).unwrap_or_else(|| panic!("no verdict: {}", output.stderr))
}

fn check(scratch: &Scratch, name: &str) -> Value {
    scratch.table(name, "data_check").pop().unwrap()
}

fn is_fine(output: &CommandOutput) {
    assert!(verdict(output).ends_with("coverage 100 %: no byte was lost"), "{}", output.stderr);
}

#[test]
fn trees_are_proved_whole() {
    let scratch = Scratch::new();
    let loads = [
        ("fileio=random,fileselect=random,rdpct=50,threads=4", "elapsed=2"),
        ("fileio=(random,shared),rdpct=50,threads=8", "elapsed=2"),
        ("operation=write,fileio=sequential,fileselect=sequential,threads=2", "elapsed=2"),
        ("operation=write,fileio=(seq,delete),fileselect=random,threads=3", "elapsed=2"),
        ("operation=read,fileio=random,fileselect=random,threads=3,openflags=o_direct", "elapsed=2"),
    ];
    for (at, (load, ends)) in loads.into_iter().enumerate() {
        let anchor = scratch.path(&format!("tree{at}"));
        let text = format!(
            "{}fwd=fwd1,fsd=fsd1,xfersize=(4k,50,8k,50),{load}\nrd=rd1,fwd=fwd1,format=yes,fwdrate=2000,{ends},interval=1\n",
            tree(&anchor)
        );
        let name = format!("out{at}");
        let output = run(&scratch, &name, &text, &[]).expect_code(0);
        is_fine(&output);
        let last = check(&scratch, &name);
        let value = |name: &str| last[name].as_i64().unwrap();
        let (known, swept) = (value("known_blocks"), value("swept_blocks"));
        // Of files that are made anew, the last ones may not be whole.
        let is_whole = !load.contains("delete");
        // 96 blocks and 6 files.
        assert!(known == swept && known <= 102 && (known == 102 || !is_whole), "{load}: {last}");
        assert_eq!((value("damaged_blocks"), value("unknown_bytes")), (0, 0), "{load}: {last}");
        assert!(value("stamped_bytes") >= 6 << 16 && scratch.table(&name, "data_error").is_empty());
        // Each file says by itself what it holds.
        let verified = scratch.iodyno(&["verify", "--json", anchor.to_str().unwrap()]).run().unwrap().expect_code(0);
        let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
        assert_eq!(
            (verified["files"].as_u64(), verified["right_bytes"].as_i64()),
            (Some(7), Some((known - 6) * 4096)),
            "{verified}"
        );
        let file = anchor.join("vdb.1_1.dir/vdb_f0002.file");
        if !is_whole {
            continue;
        }
        let one = scratch.iodyno(&["verify", "--json", file.to_str().unwrap()]).run().unwrap().expect_code(0);
        let one: Value = serde_json::from_str(&one.stdout).unwrap();
        assert_eq!((one["device_from"].as_str(), one["damaged_blocks"].as_u64()), (Some("own_name"), Some(0)), "{one}");
    }
}

#[test]
fn files_that_come_go_and_move_are_proved() {
    let scratch = Scratch::new();
    let (first, second) = (scratch.path("first"), scratch.path("second"));
    let text = format!(
        "{}fsd=fsd2,anchor={},depth=1,width=2,files=3,size=64k\n\
         fwd=default,xfersize=8k,fileselect=random,threads=2\n\
         fwd=fcreate,fsd=fsd1,operation=create\nfwd=fdelete,fsd=fsd1,operation=delete\n\
         fwd=fwrite,fsd=fsd1,operation=write,fileio=sequential\nfwd=fread,fsd=fsd1,operation=read,fileio=sequential\n\
         fwd=fcopy,fsd=fsd1,target=fsd2,operation=copy\nfwd=fmove,fsd=fsd1,target=fsd2,operation=move\n\
         fwd=back,fsd=fsd2,operation=read,fileio=random\nfwd=both,fsd=fsd2,rdpct=50,fileio=random\n\
         rd=rd1,fwd=(fcreate,fdelete,fwrite,fread,both),format=yes,fwdrate=300,elapsed=2,interval=1\n\
         rd=rd2,fwd=fcopy,format=no,fwdrate=100,elapsed=2,interval=1\n\
         rd=rd3,fwd=(fmove,fcreate,fwrite),format=no,fwdrate=100,elapsed=2,interval=1\n\
         rd=rd4,fwd=(back,both),format=no,fwdrate=500,elapsed=2,interval=1\n",
        tree(&first),
        second.display()
    );
    let output = run(&scratch, "out", &text, &[]);
    assert!(scratch.table("out", "data_error").is_empty(), "{}", output.stderr);
    assert!(verdict(&output).contains("coverage 100 %: no byte was lost"), "{}", output.stderr);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

/// The rows of data that was wrong, after a command between the load and the reading at the end, in a run that leaves the tree alone.
fn damaged(scratch: &Scratch, command: &str) -> (CommandOutput, Vec<Value>) {
    let anchor = scratch.path("tree");
    let text = format!(
        "{}fsd=fsd2,anchor={},depth=1,width=1,files=1,size=8k\n\
         fwd=default,xfersize=4k,operation=write,fileio=random,fileselect=random,threads=2\nfwd=fwd1,fsd=fsd1\nfwd=fwd2,fsd=fsd2\n\
         rd=rd1,fwd=(fwd1,fwd2),format=yes,fwdrate=1000,elapsed=2,interval=1\n\
         rd=rd2,fwd=fwd2,format=no,fwdrate=10,elapsed=2,interval=1,startcmd=\"cd {} && {command}\"\n",
        tree(&anchor),
        scratch.path("other").display(),
        anchor.display()
    );
    let output = run(scratch, "out", &text, &[]).expect_code(4);
    let rows = scratch.table("out", "data_error");
    (output, rows)
}

const A: &str = "vdb.1_1.dir/vdb_f0001.file";
const B: &str = "vdb.1_2.dir/vdb_f0003.file";

#[test]
fn a_block_that_is_overwritten_is_named_with_its_file() {
    let scratch = Scratch::new();
    let (output, rows) = damaged(&scratch, &format!("dd if=/dev/urandom of={A} bs=4k count=1 seek=3 conv=notrunc"));
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(
        (row["class"].as_str(), row["address"].as_u64(), row["found_by"].as_str()),
        (Some("foreign"), Some(3 * BLOCK), Some("sweep"))
    );
    assert!(row["file"].as_str().unwrap().ends_with(A), "{row}");
    assert!(output.stderr.contains(&format!("{A} 0x3000 (4 KiB)")), "{}", output.stderr);
    assert!(verdict(&output).ends_with("1 block is damaged: 1 foreign"), "{}", output.stderr);
}

#[test]
fn files_that_have_changed_places_are_found_out() {
    let scratch = Scratch::new();
    let (output, rows) = damaged(&scratch, &format!("mv {A} x && mv {B} {A} && mv x {B}"));
    let of = |file: &str| rows.iter().filter(|row| row["file"].as_str().unwrap().ends_with(file)).count();
    assert_eq!((of(A), of(B), rows.len()), (16, 16, 32), "every block of both: {}", output.stderr);
    assert!(rows.iter().all(|row| row["class"] == "other_device"), "{rows:?}");
    assert!(output.stderr.contains("it was written to another file"), "{}", output.stderr);
    assert!(output.stderr.contains(&format!("{B})")), "whose data it is: {}", output.stderr);
    // Nothing but the files is needed to see it.
    let anchor = scratch.path("tree");
    let verified = scratch.iodyno(&["verify", "--json", anchor.to_str().unwrap()]).run().unwrap().expect_code(4);
    let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!((verified["damaged_files"].as_u64(), verified["classes"]["other_device"].as_u64()), (Some(2), Some(32)));
}

#[test]
fn files_that_are_gone_back_or_of_another_size_are_found() {
    let scratch = Scratch::new();
    let third = "vdb.1_2.dir/vdb_f0001.file";
    let command = format!("rm {A} && truncate -s 32k {B} && truncate -s 68k {third}");
    let (output, rows) = damaged(&scratch, &command);
    let class = |file: &str| -> Vec<&str> {
        rows.iter()
            .filter(|row| row["file"].as_str().unwrap().ends_with(file))
            .filter_map(|row| row["class"].as_str())
            .collect()
    };
    assert_eq!(
        (class(A), class(B), class(third)),
        (vec!["missing_file"], vec!["wrong_size"], vec!["wrong_size"]),
        "{}",
        output.stderr
    );
    let words =
        |file: &str| rows.iter().find(|row| row["file"].as_str().unwrap().ends_with(file)).unwrap()["found"].clone();
    assert_eq!((words(A).as_str(), words(B).as_str()), (Some("no file"), Some("32768 bytes")));
    assert!(verdict(&output).contains("3 files are damaged: 1 missing_file, 2 wrong_size"), "{}", output.stderr);
    assert!(verdict(&output).contains("coverage 100 %"), "{}", output.stderr);
}

#[test]
fn an_old_copy_that_was_put_back_is_found() {
    let scratch = Scratch::new();
    let anchor = scratch.path("tree");
    let text = format!(
        "{}fwd=fwd1,fsd=fsd1,xfersize=4k,operation=write,fileio=sequential,fileselect=sequential,threads=1\n\
         rd=rd1,fwd=fwd1,format=yes,fwdrate=1000,elapsed=2,interval=1,endcmd=\"cp {anchor}/{A} {copy}\"\n\
         rd=rd2,fwd=fwd1,format=no,fwdrate=1000,elapsed=2,interval=1,endcmd=\"cp {copy} {anchor}/{A}\"\n",
        tree(&anchor),
        anchor = anchor.display(),
        copy = scratch.path("copy").display()
    );
    let output = run(&scratch, "out", &text, &[]).expect_code(4);
    let rows = scratch.table("out", "data_error");
    let is_old = |row: &Value| row["class"] == "lost_write" && row["file"].as_str().unwrap().ends_with(A);
    assert!(!rows.is_empty() && rows.iter().all(is_old), "{}", output.stderr);
}

#[test]
fn deleted_files_that_are_back_are_found() {
    let scratch = Scratch::new();
    let anchor = scratch.path("tree");
    let text = format!(
        "{}fwd=fwd1,fsd=fsd1,operation=delete,fileselect=sequential,threads=1\n\
         rd=rd1,fwd=fwd1,format=yes,fwdrate=max,elapsed=60,interval=1,endcmd=\"echo back > {anchor}/{A}\"\n",
        tree(&anchor),
        anchor = anchor.display()
    );
    let output = run(&scratch, "out", &text, &[]).expect_code(4);
    let rows = scratch.table("out", "data_error");
    let [row] = &rows[..] else { panic!("{}", output.stderr) };
    assert_eq!(row["class"], "deleted_file", "{row}");
}

#[test]
fn what_cannot_be_proved_in_trees_is_refused() {
    let scratch = Scratch::new();
    let anchor = scratch.path("tree");
    let dry = |text: &str, more: &[&str]| {
        let output = scratch.run("dry", text, &[&["--dry-run", "--verify"], more].concat());
        output.stdout + &output.stderr
    };
    let load = |fsd: &str, fwd: &str| {
        format!("{fsd}fwd=fwd1,fsd=fsd1,{fwd}\nrd=rd1,fwd=fwd1,format=yes,fwdrate=max,elapsed=2,interval=1\n")
    };
    let plain = tree(&anchor);
    let odd = dry(&load(&plain, "xfersize=1000,operation=write"), &[]);
    assert!(odd.contains("use transfers (xfersize=) that are multiples of 512"), "{odd}");
    let sizes = dry(&load(&plain.replace("64k", "1000"), "xfersize=512,operation=write"), &[]);
    assert!(sizes.contains("use sizes= that are multiples of 512"), "{sizes}");
    let flow = dry(&load(&plain, "xfersize=4k,operation=append"), &[]);
    assert!(flow.contains("cannot be validated yet"), "{flow}");
    let fine = dry(&load(&plain, "xfersize=4k,operation=write"), &[]);
    assert!(fine.contains("\"obstacles\":[]"), "{fine}");
}

#[test]
fn what_is_there_in_place_of_a_file_is_no_file() {
    let scratch = Scratch::new();
    let anchor = scratch.path("tree");
    let (a, b) = (anchor.join(A), anchor.join(B));
    let text = format!(
        "{}fwd=fwd1,fsd=fsd1,xfersize=4k,operation=write,fileio=sequential,fileselect=sequential,threads=1\n\
         rd=rd1,fwd=fwd1,format=yes,fwdrate=1000,elapsed=2,interval=1\n\
         rd=rd2,fwd=fwd1,format=no,fwdrate=1000,elapsed=2,interval=1,\
         endcmd=\"rm {a} {b}; mkdir {a}; ln -s /etc/hostname {b}\"\n",
        tree(&anchor),
        a = a.display(),
        b = b.display()
    );
    let output = run(&scratch, "out", &text, &[]).expect_code(4);
    assert!(verdict(&output).ends_with("coverage 100 %: 2 files are damaged: 2 missing_file"), "{}", output.stderr);
    assert!(!output.stderr.contains("failed"), "{}", output.stderr);
}
