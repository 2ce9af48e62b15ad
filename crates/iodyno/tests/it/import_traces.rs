//! `iodyno import` of traces: what `iodyno export` writes comes back, what the real tools wrote is read, and every face
//! shows it.

use crate::support::Scratch;
use proptest::prelude::*;
use recording::rows::Io;
use recording::{Label, Manifest, Reader, RowBatch, Sink, Writer};
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{LoopDevice, TestCommand};

/// What kind of I/O, and how it may be marked.
const KINDS: [(&str, &str); 6] = [
    ("read", ""),
    ("read", "sync+meta+readahead"),
    ("write", "sync"),
    ("write", "sync+fua"),
    ("write", "sync+meta+preflush"),
    ("discard", "sync"),
];

/// I/Os of two devices, overlapping in time but not in place.
fn trace(choices: &[(usize, i64, i64)]) -> Vec<Io> {
    let mut t_ns = 0;
    let mut rows = Vec::new();
    for (at, (kind, gap, length)) in (0_i64..).zip(choices) {
        t_ns += if at == 0 { 0 } else { *gap };
        let (op, flags) = KINDS[*kind];
        let has_comm = at % 7 != 0;
        rows.push(Io {
            queue_ns: t_ns,
            issue_ns: (at % 5 != 0).then_some(t_ns + 1000),
            complete_ns: Some(t_ns + 1000 + length * 777),
            dev: Label::from(if at % 3 == 0 { "loop3" } else { "sdb" }),
            op: Label::from(op),
            flags: Some(Label::from(flags)),
            sector: at * 4096,
            bytes: 512 * (1 + length % 2048),
            tid: has_comm.then(|| 100 + i32::try_from(at % 4).unwrap()),
            comm: has_comm.then(|| Label::from(["fio", "jbd2/sda1-8", "a b", "[x]"][usize::try_from(at % 4).unwrap()])),
            error: (at % 11 == 3).then_some(5),
            bios: Some(1),
            requeues: Some(0),
            ..Io::default()
        });
    }
    rows.sort_by_key(|io| io.complete_ns);
    rows
}

fn record(directory: &Path, rows: &[Io]) {
    let mut manifest = Manifest::new(&[]);
    let devices = serde_json::json!({"loop3": 7 << 20 | 3, "sdb": 8 << 20 | 16});
    manifest.extra.insert("trace_devices".to_string(), devices);
    let mut writer = Writer::create(directory, manifest).unwrap();
    writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
    writer.commit().unwrap();
    writer.seal().unwrap();
}

fn rows(directory: &Path) -> Vec<Io> {
    let mut rows = Reader::open(directory).unwrap().table::<Io>().unwrap();
    rows.sort_by_key(|io| (io.complete_ns, io.queue_ns, io.sector));
    rows
}

/// Exports the trace, and imports what came out.
fn there_and_back(scratch: &Scratch, from: &str, format: &str) -> Vec<Io> {
    let (file, back) = (format!("{from}-{format}"), format!("{from}-{format}.iodyno"));
    scratch.iodyno(&["export", from, "io", "--format", format, "-o", &file]).run().unwrap().expect_code(0);
    scratch.iodyno(&["import", &file, "-o", &back]).run().unwrap().expect_code(0);
    rows(&scratch.path(&back))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn what_is_exported_comes_back(choices in prop::collection::vec((0_usize..6, 0_i64..50_000, 0_i64..9000), 1..300)) {
        let scratch = Scratch::new();
        let mut ours = trace(&choices);
        record(&scratch.path("ours"), &ours);
        ours.sort_by_key(|io| (io.complete_ns, io.queue_ns, io.sector));
        // Of a trace without any issue, requeues are not known: then none can be seen.
        let requeues = ours.iter().any(|io| io.issue_ns.is_some()).then_some(0);
        let blk: Vec<Io> = ours.iter().map(|io| Io { requeues, ..io.clone() }).collect();
        for format in ["blktrace", "blkparse"] {
            prop_assert_eq!(&there_and_back(&scratch, "ours", format), &blk, "{}", format);
        }
        // fio's log has whole µs from the first I/O on, and no more than where, what and when.
        let mut expected: Vec<Io> = ours.iter().map(|io| Io {
            queue_ns: io.queue_ns / 1000 * 1000,
            issue_ns: None, complete_ns: None, flags: None, tid: None, comm: None, error: None, bios: None, requeues: None,
            ..io.clone()
        }).collect();
        expected.sort_by_key(|io| (io.complete_ns, io.queue_ns, io.sector));
        prop_assert_eq!(&there_and_back(&scratch, "ours", "fio-iolog"), &expected);
    }
}

/// What every face of a trace has to say of an imported one.
fn shown(scratch: &Scratch, recording: &str, sentence: &str) {
    scratch.iodyno(&["report", recording]).run().unwrap().expect_code(0);
    let page = std::fs::read_to_string(scratch.path(recording).join("report.html")).unwrap();
    assert!(page.contains(sentence), "{sentence} in {}", &page[page.len().saturating_sub(3000)..]);
    for view in ["trace.iops", "trace.addresses", "trace.sizes"] {
        let file = format!("{view}.svg");
        scratch.iodyno(&["chart", recording, view, "-o", &file]).run().unwrap().expect_code(0);
        assert!(std::fs::metadata(scratch.path(&file)).unwrap().len() > 1000);
    }
}

/// What blktrace's formats tell of a row of ours.
fn as_blktrace(io: &Io) -> Io {
    let known = ["sync", "meta", "fua", "preflush", "readahead"];
    // That of a flush is what it does.
    let is_known = |flag: &&str| known.contains(flag) && !(&*io.op == "flush" && *flag == "preflush");
    let flags: Vec<&str> = io.flags.as_ref().unwrap().split('+').filter(is_known).collect();
    Io {
        flags: Some(Label::from(flags.join("+").as_str())),
        pid: None,
        cgroup: None,
        inode: None,
        file: None,
        owner_pid: None,
        owner_comm: None,
        ..io.clone()
    }
}

/// A trace `rec` of fio on a device; `None` when the kernel left out a probe of it.
fn trace_of_fio(scratch: &Scratch, device: &LoopDevice, name: &str) -> Option<Vec<Io>> {
    if scratch.path("rec").exists() {
        std::fs::remove_dir_all(scratch.path("rec")).unwrap();
    }
    let mut child = scratch.iodyno(&["trace", "-d", name, "--comm", "fio", "-o", "rec"]).spawn().unwrap();
    assert!(child.wait_for_stdout("tracing", Duration::from_secs(60)), "{:?}", child.wait());
    TestCommand::new("fio")
        .args(["--name=a", "--direct=1", "--ioengine=libaio", "--iodepth=8", "--rw=randrw", "--bsrange=4k-64k"])
        .args(["--size=64m", "--number_ios=2000", "--fsync=50", "--filename"])
        .arg(device.path())
        .dir(scratch.path(""))
        .run()
        .unwrap()
        .expect_code(0);
    child.signal(rustix::process::Signal::INT);
    let ended = child.wait().unwrap();
    if ended.code == Some(6) {
        return None;
    }
    ended.expect_code(0);
    let traced = rows(&scratch.path("rec"));
    traced.iter().all(|io| io.complete_ns.is_some()).then_some(traced)
}

#[test]
fn a_real_trace_comes_back_from_our_export_and_from_blkparse() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let (scratch, device) = (Scratch::new(), LoopDevice::new(64 << 20).unwrap());
    std::fs::write(device.sysfs().join("queue/nomerges"), "2").unwrap();
    let name = device.name();
    // The kernel leaves a probe out about once in 20,000 I/Os (docs/trace.md): such a trace is made again.
    let whole = (0..3).find_map(|_| trace_of_fio(&scratch, &device, &name));
    let traced = whole.expect("one of three traces has every I/O");
    let origin_ns = traced.iter().map(|io| io.queue_ns).min().unwrap();
    let since = |ns: Option<i64>| ns.map(|ns| ns - origin_ns);
    let ours: Vec<Io> = traced
        .iter()
        .map(|io| Io {
            queue_ns: io.queue_ns - origin_ns,
            issue_ns: since(io.issue_ns),
            complete_ns: since(io.complete_ns),
            ..as_blktrace(io)
        })
        .collect();
    assert!(ours.len() > 1900 && ours.iter().any(|io| &*io.op == "flush"), "{}", ours.len());
    let same = |theirs: &[Io], what: &str| {
        for (at, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
            assert_eq!(theirs, ours, "{what}, row {at}");
        }
        assert_eq!(theirs.len(), ours.len(), "{what}");
    };
    same(&there_and_back(&scratch, "rec", "blktrace"), "blktrace");
    same(&there_and_back(&scratch, "rec", "blkparse"), "blkparse");
    if !Path::new("/usr/bin/blkparse").exists() {
        testkit::lacks("blktrace's tools");
        return;
    }
    // As blkparse prints it, through a pipe; and as it merges it.
    let shell = |script: &str| {
        let iodyno = env!("CARGO_BIN_EXE_iodyno");
        let script = format!("set -e; I={iodyno}; {script}");
        TestCommand::new("sh").args(["-c", &script]).dir(scratch.path("")).run().unwrap().expect_code(0);
    };
    shell("mv rec-blktrace t.blktrace.0; blkparse -i t -d t.bin | $I import /dev/stdin --format blkparse -o piped");
    same(&rows(&scratch.path("piped")), "blkparse's text");
    shell("$I import t.bin -o merged");
    same(&rows(&scratch.path("merged")), "blkparse -d");
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces").join(name)
}

#[test]
fn a_real_blktrace_has_a_report() {
    let scratch = Scratch::new();
    let input = fixture("loop0.blktrace.1.gz");
    let output = scratch.iodyno(&["import", input.to_str().unwrap(), "-o", "rec"]).run().unwrap().expect_code(0);
    assert!(output.stderr.contains("blktrace does not record"), "{}", output.stderr);
    shown(&scratch, "rec", "579 I/Os traced in");
    // As blkparse counts them in both CPUs' files: nothing is lost beside the one in the middle of which it was stopped.
    let devices = scratch.table("rec", "trace.devices");
    assert_eq!(devices.len(), 1, "{devices:?}");
}

#[test]
fn the_files_of_all_cpus_are_found_by_a_name_that_is_no_text() {
    let scratch = Scratch::new();
    let strange = |cpu: u32| {
        let mut name = OsStr::from_bytes(b"\xff.blktrace.").to_os_string();
        name.push(format!("{cpu}.gz"));
        name
    };
    for cpu in [0, 1] {
        let file = fixture(&format!("loop0.blktrace.{cpu}.gz"));
        std::fs::copy(file, scratch.path("").join(strange(cpu))).unwrap();
    }
    let import = |input: &OsStr, name: &str| {
        scratch.iodyno(&["import", "-o", name]).arg(input).run().unwrap().expect_code(0);
        rows(&scratch.path(name)).len()
    };
    let all = import(fixture("loop0.blktrace.0.gz").as_os_str(), "plain");
    assert_eq!((import(&strange(0), "first"), import(&strange(1), "second")), (all, all));
}

#[test]
fn a_log_of_a_real_fio_has_what_fio_counted_and_a_report_without_times() {
    let scratch = Scratch::new();
    let job = [
        "--name=a",
        "--filename=data",
        "--size=8m",
        "--rw=randrw",
        "--bsrange=4k-64k",
        "--ioengine=psync",
        "--fsync=16",
    ];
    let output = TestCommand::new("fio")
        .args(job)
        .args(["--write_iolog=log", "--output-format=json"])
        .dir(scratch.path(""))
        .run()
        .unwrap()
        .expect_code(0);
    let text = &output.stdout[output.stdout.find('{').unwrap()..];
    let counted: serde_json::Value = serde_json::from_str(text).unwrap();
    scratch.iodyno(&["import", "log", "-o", "rec"]).run().unwrap().expect_code(0);
    let rows = rows(&scratch.path("rec"));
    for op in ["read", "write"] {
        let of_op = || rows.iter().filter(|io| &*io.op == op);
        let job = &counted["jobs"][0][op];
        assert_eq!(of_op().count() as u64, job["total_ios"].as_u64().unwrap(), "{op}");
        assert_eq!(of_op().map(|io| io.bytes).sum::<i64>(), job["io_bytes"].as_i64().unwrap(), "{op}");
    }
    let flushes = rows.iter().filter(|io| &*io.op == "flush").count() as u64;
    assert_eq!(flushes, counted["jobs"][0]["sync"]["total_ios"].as_u64().unwrap());
    assert!(rows.iter().all(|io| io.complete_ns.is_none() && io.flags.is_none() && io.bios.is_none()));
    shown(&scratch, "rec", "when they were completed is not known");
}

/// Highest memory in use of a process so far, bytes; `None` when it is gone.
fn memory_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[test]
#[ignore = "soak: writes gigabytes"]
fn soak_memory_stays_flat_over_a_long_trace() {
    let scratch = Scratch::new();
    let mut most = Vec::new();
    for count in [2_000_000_u64, 20_000_000] {
        let (fifo, out) = (format!("fifo-{count}"), format!("out-{count}"));
        TestCommand::new("mkfifo").arg(&fifo).dir(scratch.path("")).run().unwrap().expect_code(0);
        let arguments = ["import", &fifo, "--format", "msr", "-o", &out];
        let mut child = scratch.iodyno(&arguments).limit(Duration::from_secs(900)).spawn().unwrap();
        let path = scratch.path(&fifo);
        // 36 volumes, with response times that put a third of the lines out of order.
        let writer = std::thread::spawn(move || {
            let mut fifo = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
            for at in 0..count {
                let (t, place) = (128_166_372_003_061_629 + at * 100 - at % 3 * 250, at.wrapping_mul(0x9e37_79b9) >> 3);
                let (disk, kind) = (at % 36, if at % 3 == 0 { "Write" } else { "Read" });
                writeln!(fifo, "{t},h,{disk},{kind},{},4096,{}", place % (1 << 28) * 512, 1000 + at % 9000).unwrap();
            }
        });
        let mut peak = 0;
        while !child.has_ended() {
            peak = peak.max(memory_bytes(child.id()).unwrap_or(0));
            std::thread::sleep(Duration::from_millis(50));
        }
        child.wait().unwrap().expect_code(0);
        writer.join().unwrap();
        assert_eq!(Reader::open(scratch.path(&out)).unwrap().manifest().rows["io"], count);
        std::fs::remove_dir_all(scratch.path(&out)).unwrap();
        println!("{count} I/Os: {peak} bytes");
        most.push(peak);
    }
    assert!(most[1] < 300 << 20, "{most:?}");
    assert!(most[1] < most[0] + (32 << 20), "memory grows with the trace: {most:?}");
}
