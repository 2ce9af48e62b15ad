//! Data validation in the words of Vdbench and fio: what flags and files ask for, and that it is done.

use crate::support::Scratch;
use serde_json::{Value, json};
use std::os::unix::fs::FileExt as _;
use testkit::CommandOutput;

const VDBENCH: &str = "sd=sd1,lun=data,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0,seekpct=eof\n\
                       rd=rd1,wd=wd1,iorate=max,elapsed=20,interval=1\n";

/// What is asked for, as the dry run has it.
fn settings(scratch: &Scratch, file: &str, flags: &[&str]) -> Value {
    let output = scratch.iodyno(&[&["run", file, "--dry-run", "--json"], flags].concat()).run().unwrap();
    let object: Value = serde_json::from_str(output.stdout.trim()).unwrap_or_else(|_| panic!("{}", output.stderr));
    object["plan"]["settings"]["validation"].clone()
}

fn run(scratch: &Scratch, name: &str, file: &str, flags: &[&str]) -> CommandOutput {
    let all = [&["run", file, "-o", name, "--no-report", "--no-counters"], flags].concat();
    scratch.iodyno(&all).run().unwrap()
}

/// The last rows of a recording about each target.
fn checks(scratch: &Scratch, name: &str) -> Vec<Value> {
    let rows = scratch.table(name, "data_check");
    let last = rows.last().map(|row| row["run"].clone());
    rows.into_iter().filter(|row| Some(&row["run"]) == last.as_ref()).collect()
}

fn sum(rows: &[Value], column: &str) -> i64 {
    rows.iter().filter_map(|row| row[column].as_i64()).sum()
}

#[test]
fn flags_of_vdbench_ask_for_what_they_ask_for_there() {
    let scratch = Scratch::new();
    scratch.write("a.vdb", VDBENCH);
    scratch.write("no.vdb", &format!("validate=no\n{VDBENCH}"));
    scratch.write("a.fio", "[a]\nfilename=data\nsize=1m\nrw=write\n");
    assert_eq!(settings(&scratch, "a.vdb", &[]), Value::Null);
    for (flag, before, after, times) in [
        ("-v", true, false, false),
        ("-vr", true, true, false),
        ("-v2", true, true, false),
        ("-vw", false, false, false),
        ("-vt", true, false, true),
        ("-vwrt", false, true, true),
        ("-vq", true, false, false),
        ("-j", true, false, false),
        ("-jr", true, false, false),
        ("-j2t", true, true, true),
        ("-v -vr", true, true, false),
        ("-vr -vt", true, true, true),
    ] {
        for file in ["a.vdb", "a.fio"] {
            let found = settings(&scratch, file, &flag.split(' ').collect::<Vec<_>>());
            let of = |name: &str| found[name].as_bool();
            assert_eq!(
                (of("reads_before_write"), of("reads_after_write"), of("keeps_times"), of("sweeps")),
                (Some(before), Some(after), Some(times), Some(true)),
                "{flag} {file}: {found}"
            );
            assert_eq!(found["journal"].is_object(), flag.starts_with("-j"), "{flag}: {found}");
            assert_eq!(found["journal"]["recovers"] == json!(true), flag == "-jr", "{flag}: {found}");
        }
    }
    assert_eq!(settings(&scratch, "no.vdb", &["-vr"]), Value::Null);
    let only = settings(&scratch, "a.vdb", &["-jro"]);
    assert_eq!((&only["journal"]["recovers"], &only["journal"]["recovers_only"]), (&json!(true), &json!(true)));

    for (flag, part) in
        [("-vc", "refused by Vdbench"), ("-vx", "-vx is unknown"), ("-jo", "-jro"), ("-jz", "-jz is unknown")]
    {
        let output = run(&scratch, "refused", "a.vdb", &[flag]).expect_code(2);
        assert!(output.stderr.contains(part), "{flag}: {}", output.stderr);
    }
    let output = scratch.iodyno(&["run", "a.vdb", "--dry-run", "-vq"]).run().unwrap().expect_code(0);
    assert!(output.stderr.contains("-vq has no effect"), "{}", output.stderr);
    let output = scratch.iodyno(&["run", "a.vdb", "--dry-run", "-jnmis"]).run().unwrap();
    assert_eq!(output.stderr.matches(" has no effect here (").count(), 4, "{}", output.stderr);
}

#[test]
fn words_that_do_not_go_together_are_refused_with_those_that_do() {
    let scratch = Scratch::new();
    scratch.write("a.vdb", VDBENCH);
    scratch.write("a.fio", "[a]\nfilename=data\nsize=1m\nrw=write\n");
    std::fs::create_dir(scratch.path("j")).unwrap();
    for (file, flags, says) in [
        ("a.vdb", &["--verify=crc32c"][..], "to prove the data of those: --verify without a method, or -v"),
        ("a.fio", &["--verify=bogus"], "also a method: 0, crc16, crc32, crc32c"),
        (
            "a.vdb",
            &["-j", "j"],
            "j is a directory, and no parameter file; the directory of a journal is named by --journal j",
        ),
    ] {
        let output = run(&scratch, "out", file, flags).expect_code(2);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
        assert!(!scratch.path("data").exists() && !scratch.path("out").exists(), "before any I/O");
    }
}

#[test]
fn what_vdbench_validates_is_read_before_or_behind_its_write() {
    let scratch = Scratch::new();
    // Sequential to the end, twice: the second time every block is known.
    let twice = VDBENCH.replace("rd=rd1,", "rd=rd0,wd=wd1,iorate=max,elapsed=20,interval=1\nrd=rd1,");
    scratch.write("a.vdb", &twice);
    scratch.write("b.vdb", &format!("validate=(no_preread,read_after_write)\n{twice}"));
    let blocks = 256;
    for (name, file, flags, extra) in [
        // The file is made with stamps, so each block is known before each of its writes.
        ("before", "a.vdb", &["-v"][..], 2 * blocks),
        ("none", "a.vdb", &["-vw"], 0),
        ("behind", "b.vdb", &[], 2 * blocks),
        // Now it is there, and nothing is known of it the first time.
        ("both", "a.vdb", &["-vr"], 3 * blocks),
    ] {
        let output = run(&scratch, name, file, flags).expect_code(0);
        let rows = checks(&scratch, name);
        assert_eq!(sum(&rows, "extra_reads"), extra, "{name}: {rows:?}\n{}", output.stderr);
        assert_eq!((sum(&rows, "known_blocks"), sum(&rows, "swept_blocks")), (blocks, blocks), "{name}: {rows:?}");
        assert_eq!(sum(&rows, "damaged_blocks"), 0, "{name}");
    }
}

#[test]
fn fio_reads_what_an_earlier_run_wrote() {
    let scratch = Scratch::new();
    let job = |more: &str| format!("[a]\nfilename=data\nsize=1m\nbs=4k\nverify=crc32c\n{more}\n");
    scratch.write("write.fio", &job("rw=randwrite\ndo_verify=0"));
    scratch.write("only.fio", &job("rw=randwrite\nverify_only"));
    scratch.write("read.fio", &job("rw=read\nbs=16k"));
    scratch.write("fatal.fio", &job("rw=read\nverify_fatal=1\nrate_iops=20"));
    scratch.write("all.fio", &job("rw=read\ncontinue_on_error=verify"));
    run(&scratch, "write", "write.fio", &[]).expect_code(0);
    assert_eq!(sum(&checks(&scratch, "write"), "swept_blocks"), 0, "do_verify=0");
    for name in ["read", "only"] {
        let file = format!("{name}.fio");
        run(&scratch, name, &file, &[]).expect_code(0);
        let rows = checks(&scratch, name);
        assert_eq!((sum(&rows, "checked_bytes"), sum(&rows, "damaged_blocks")), (1 << 20, 0), "{file}: {rows:?}");
        assert_eq!(sum(&rows, "stamped_bytes"), 0, "{file}: nothing is written");
    }
    // A bit of one block, and another block of what another program wrote.
    let data = std::fs::File::options().read(true).write(true).open(scratch.path("data")).unwrap();
    let mut byte = [0];
    data.read_exact_at(&mut byte, 300_000).unwrap();
    data.write_all_at(&[byte[0] ^ 4], 300_000).unwrap();
    data.write_all_at(&[0x5a; 4096], 10 << 12).unwrap();
    let output = run(&scratch, "damaged", "all.fio", &[]).expect_code(4);
    let classes: Vec<String> = scratch
        .table("damaged", "data_error")
        .iter()
        .map(|row| row["class"].as_str().unwrap_or_default().to_string())
        .collect();
    assert_eq!(classes, ["foreign", "bit_rot"], "{}", output.stderr);
    assert_eq!(sum(&checks(&scratch, "damaged"), "checked_bytes"), 1 << 20, "to the end");
    run(&scratch, "fatal", "fatal.fio", &[]).expect_code(4);
    assert!(sum(&checks(&scratch, "fatal"), "checked_bytes") < 1 << 20, "not to the end");
    // Without it, fewer than 50 end nothing.
    run(&scratch, "read again", "read.fio", &[]).expect_code(4);
    assert_eq!(sum(&checks(&scratch, "read again"), "checked_bytes"), 1 << 20, "to the end");
}

/// Jobs with what the files have that fio itself validates by (its examples and tests), small: a name, the jobs, and how many bytes
/// the final run reads.
const OF_FIO: &[(&str, &[&str])] = &[
    (
        "basic",
        &["[a]\nfilename=d\nsize=1m\nrw=randwrite\nbs=4k\ndirect=1\nioengine=libaio\niodepth=16\nverify=crc32c\n"],
    ),
    (
        "stripes",
        &[
            "[global]\nbs=16k\ndirect=1\nrw=write:112k\nverify=crc32c\nfilename=d\nverify_backlog=1\noffset_increment=2m\nio_size=256k\n\
           size=1m\noffset=120k\ngroup_reporting\nverify_dump=1\nloops=2\n[a]\nnumjobs=3\n",
        ],
    ),
    (
        "pressure",
        &[
            "[global]\nioengine=libaio\nfilesize=1m\nsize=2m\niodepth=16\ncontinue_on_error=write\nignore_error=,ENOSPC\nerror_dump=0\n\
           fallocate=none\nexitall\n[race]\nbs=128k\nrw=randwrite\nruntime=1\nfilename=race\ntime_based\n\
           [punch]\nbs=4k\nrw=randtrim\nfilename=race\n\
           [proof]\ncreate_on_open=1\nverify=crc32c-intel\nverify_fatal=1\nverify_dump=1\nverify_backlog=1024\nverify_async=4\nbs=4k\n\
           rw=randrw\nfilename=proof\n",
        ],
    ),
    (
        "surface",
        &[
            "[global]\nthread\nbs=64k\ndirect=1\nioengine=sync\nverify=meta\nverify_pattern=0xaa555aa5\nverify_interval=512\nsize=1m\n\
           [write]\nfilename=d\nrw=write\nfill_device=1\ndo_verify=0\n[read]\nstonewall\ncreate_serialize=0\nfilename=d\nrw=read\ndo_verify=1\n",
        ],
    ),
    (
        "mixed sizes, later",
        &[
            "[global]\nioengine=libaio\nfilename=d\niodepth=32\nsize=2m\nreadwrite=write\ndo_verify=0\nverify=md5\nbssplit=512/50:256k/50\n\
             [a]\noffset=0g\n[mix]\noffset=8m\nreadwrite=rw\nsize=2m\nbsrange=512:256k\n",
            "[global]\nioengine=libaio\nfilename=d\niodepth=32\nsize=2m\nreadwrite=read\ndo_verify=1\nverify=md5\nverify_fatal=1\n\
             bssplit=512/50:256k/50\n[a]\noffset=0g\n[mix]\noffset=8m\nsize=2m\nreadwrite=rw\nbsrange=512:256k\n",
        ],
    ),
    (
        "other sizes, later",
        &[
            "[global]\nioengine=libaio\nfilename=d\niodepth=32\nsize=2m\nreadwrite=write\ndo_verify=0\nverify=md5\nverify_dump=1\n\
             [small]\noffset=0g\nblocksize=512\nverify_interval=1m\n[large]\nstonewall\noffset=8m\nblocksize=1m\nverify_interval=512\n",
            "[global]\nioengine=libaio\nfilename=d\niodepth=32\nsize=1m\nreadwrite=read\ndo_verify=1\nverify=md5\nverify_fatal=1\n\
             verify_dump=1\n[large]\noffset=0g\nblocksize=1m\n[small]\noffset=8m\nblocksize=512\n",
        ],
    ),
    (
        "backlog",
        &[
            "[global]\nbs=4k\nioengine=sync\nsize=1m\ndirect=1\nfilename=d\n[a]\nverify=md5\nverify_backlog=32\nrw=write\n",
        ],
    ),
    (
        "meta",
        &[
            "[global]\nrw=randrw\nbs=4k\ndirect=1\nioengine=libaio\niodepth=32\nverify=meta\nverify_backlog=1024\nverify_fatal=1\n\
           [a]\nfilename=d\nsize=1m\nverify_pattern=0xaaa\n",
        ],
    ),
    (
        "both ways",
        &[
            "[global]\nbs=4k\nverify=crc32c\nrw=readwrite\ndirect=1\n[a]\nfilename=d\nsize=1m\ndo_verify=1\nverify_backlog=1\n",
        ],
    ),
    (
        "again and again",
        &["[one]\nfilename=d\nsize=1m\nreadwrite=randwrite\nloops=8\ndo_verify=1\nverify=md5\nexperimental_verify=1\n\
           [two]\nstonewall=1\nfilename=d\nsize=1m\nreadwrite=randrw\ntime_based\nruntime=1\ndo_verify=1\nverify=md5\nexperimental_verify=1\n"],
    ),
    (
        "twice",
        &[
            "[global]\nfilename=d\nsize=4k\nverify=md5\n[write]\nrw=write\ndo_verify=0\n[read]\nstonewall=1\nrw=read\nloops=2\ndo_verify=1\n",
        ],
    ),
    (
        "states",
        &[
            "[global]\nfilename=d.1:d.2:d.3:d.4\nverify=md5\nioengine=libaio\niodepth=32\nsize=512k\nloops=4\n[a]\nreadwrite=write\n\
             verify_state_save=1\n",
            "[global]\nfilename=d.1:d.2:d.3:d.4\nverify=md5\nioengine=libaio\niodepth=32\nsize=512k\nloops=4\n[a]\nreadwrite=read\n\
             verify_state_load=1\n",
        ],
    ),
];

#[test]
fn what_fio_validates_itself_by_runs_with_its_meaning() {
    for (name, jobs) in OF_FIO {
        let scratch = Scratch::new();
        for (at, text) in jobs.iter().enumerate() {
            scratch.write("a.fio", text);
            let out = format!("out{at}");
            let output = run(&scratch, &out, "a.fio", &[]);
            assert_eq!(output.code, Some(0), "{name} {at}: {}", output.stderr);
            let rows = checks(&scratch, &out);
            assert_eq!(sum(&rows, "damaged_blocks"), 0, "{name} {at}: {rows:?}");
            // Everything that was written is read at the end, unless the file says otherwise.
            let reads = text.contains("do_verify=0") || text.contains("readwrite=read\n");
            let (known, swept) = (sum(&rows, "known_blocks"), sum(&rows, "swept_blocks"));
            assert!(reads || (known > 0 && known == swept), "{name} {at}: {rows:?}");
            // What is only read was written before: by this run, or by the one before it.
            let is_checked = sum(&rows, "checked_bytes") > 0 || text.contains("readwrite=write\ndo_verify=0");
            assert!(is_checked, "{name} {at}: {rows:?}");
        }
    }
}

/// A job that reads what an earlier run wrote expects it there, and one beside it that also writes does not, in the same file.
#[test]
fn each_job_expects_for_itself_what_no_job_of_this_run_wrote() {
    let scratch = Scratch::new();
    scratch.write(
        "write.fio",
        "[a]\nfilename=d\nsize=1m\nrw=write\nbs=4k\nverify=md5\ndo_verify=0\n[b]\nfilename=d\noffset=1m\nsize=1m\nrw=write\nbs=4k\n",
    );
    let reading = "[later]\nfilename=d\nsize=1m\nrw=read\nbs=4k\nverify=md5\n\
                   [mixed]\nfilename=d\noffset=1m\nsize=1m\nrw=randrw\nbs=4k\nverify=md5\nrandseed=3\n";
    scratch.write("read.fio", reading);
    run(&scratch, "write", "write.fio", &[]).expect_code(0);
    // A bit of what the one reads, and data of other places all over what the other one reads.
    let data = std::fs::File::options().read(true).write(true).open(scratch.path("d")).unwrap();
    let mut half = vec![0; 1 << 20];
    data.read_exact_at(&mut half, 0).unwrap();
    data.write_all_at(&half, 1 << 20).unwrap();
    data.write_all_at(&[half[(7 << 12) + 300] ^ 4], (7 << 12) + 300).unwrap();
    let output = run(&scratch, "read", "read.fio", &["--destroy", "d"]).expect_code(4);
    assert!(!output.stderr.contains("warning[verify]"), "{}", output.stderr);
    let found = scratch.table("read", "data_error");
    let places: Vec<_> = found.iter().map(|row| (row["address"].as_u64(), row["class"].as_str())).collect();
    assert_eq!(places, [(Some(7 << 12), Some("bit_rot"))], "{}", output.stderr);
}

/// A file that ends before what was trimmed of it has nothing there to be read.
#[test]
fn trims_behind_the_end_of_a_file_leave_nothing_to_be_read() {
    let scratch = Scratch::new();
    scratch.write(
        "a.fio",
        "[global]\nfilename=d\nbs=4k\nfallocate=none\ncreate_on_open=1\nfilesize=1m\nverify=crc32c\n\
         [write]\nrw=write\nsize=256k\n[punch]\nstonewall\nrw=trim\nsize=1m\n",
    );
    let output = run(&scratch, "out", "a.fio", &[]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let rows = checks(&scratch, "out");
    assert_eq!(sum(&rows, "known_blocks"), sum(&rows, "swept_blocks"), "{rows:?}");
    assert_eq!(std::fs::metadata(scratch.path("d")).unwrap().len(), 256 << 10, "the file ends before the trims do");
}

#[test]
fn where_nothing_is_done_nothing_is_validated() {
    let scratch = Scratch::new();
    scratch.write(
        "a.fio",
        "[a]\nioengine=null\nsize=1m\nnorandommap\nbs=4k\niodepth=16\nrw=randwrite\nverify=crc32c-intel\nverify_backlog=1m\n\
         do_verify=1\nverify_async=6\nnumber_ios=100\n",
    );
    let output = run(&scratch, "out", "a.fio", &[]).expect_code(0);
    assert!(output.stderr.contains("there is nothing to check"), "{}", output.stderr);
    assert!(!output.stderr.contains("validation:"), "{}", output.stderr);
}
