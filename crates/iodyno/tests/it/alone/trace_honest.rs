//! What a trace does not have, it says: samples, losses, files that cannot be known; and whose data direct I/O moves.

use crate::support::Scratch;
use recording::Reader;
use recording::rows::Io;
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;
use testkit::{Child, CommandOutput, FileSystem, LoopDevice, MountedFileSystem, TestCommand};

struct Bench {
    _alone: testkit::Alone,
    scratch: Scratch,
    device: LoopDevice,
}

impl Bench {
    fn new() -> Option<Self> {
        if !testkit::require_root_or_skip() {
            return None;
        }
        let alone = testkit::alone();
        Some(Self { _alone: alone, scratch: Scratch::new(), device: LoopDevice::new(256 << 20).unwrap() })
    }

    /// `iodyno trace` or `probe` of the device; returns once everything is attached.
    fn start(&self, arguments: &[&str], ready: &str) -> Child {
        let name = self.device.name();
        let mut child = self.scratch.iodyno(&[arguments, &["-d", &name]].concat()).spawn().unwrap();
        if !child.wait_for_stdout(ready, Duration::from_secs(60)) {
            panic!("not attached: {:?}", child.wait());
        }
        child
    }

    fn fio(&self, file: &Path, more: &[&str]) {
        let output = TestCommand::new("fio")
            .args(["--name=known", "--size=64m", "--output-format=json"])
            .arg(format!("--filename={}", file.display()))
            .args(more)
            .dir(self.scratch.path(""))
            .run()
            .unwrap();
        output.expect_code(0);
    }

    /// Random reads past the page cache.
    fn reads(&self, more: &[&str]) {
        let direct = ["--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio", "--iodepth=4"];
        self.fio(self.device.path(), &[&direct[..], more].concat());
    }

    fn rows(&self, name: &str) -> Vec<Io> {
        Reader::open(self.scratch.path(name)).unwrap().table::<Io>().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.scratch.iodyno(arguments).run().unwrap()
    }
}

fn end(child: Child) -> CommandOutput {
    child.signal(Signal::INT);
    child.wait().unwrap()
}

/// Fails when `words` are not in `text`.
fn says(text: &str, words: &str) {
    assert!(text.contains(words), "{words:?} is not in: {text}");
}

#[test]
fn a_sample_shows_the_rate_of_all() {
    let Some(bench) = Bench::new() else { return };
    let child = bench.start(&["trace", "--comm", "fio", "--json", "--sample", "1/16", "-o", "s"], "\n");
    bench.reads(&["--rate_iops=2000", "--number_ios=10000"]);
    let output = end(child);
    says(&output.stderr, "one I/O in 16 is traced");
    // 5 s of 2000: 625 rows expected, sigma 25; the bounds are 4 of those.
    let about = |value: f64, expected: f64| (0.8..=1.2).contains(&(value / expected));
    let lines = output.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let shown: f64 = lines.clone().map(|line| line["ios"].as_f64().unwrap()).sum();
    let started: f64 = lines.map(|line| line["started"].as_f64().unwrap()).sum();
    assert!(about(shown, started) && about(started, 10_000.0), "{shown} shown of {started}");
    assert!(about(bench.rows("s").len() as f64 * 16.0, started));
    let table = bench.run(&["export", "s", "trace.devices", "--json"]).expect_code(0);
    says(&table.stderr, "a sample of one I/O in 16");
    let row: serde_json::Value = serde_json::from_str(table.stdout.trim()).unwrap();
    // Over the time that was traced, which is longer than the load.
    let reader = Reader::open(bench.scratch.path("s")).unwrap();
    let at = |moment: &str| reader.manifest().extra[moment].as_i64().unwrap();
    let seconds = (at("trace_ended_t_ns") - at("trace_began_t_ns")) as f64 / 1e9;
    assert!(about(row["rate"].as_f64().unwrap() * seconds, started), "{row} in {seconds} s");
    assert!(about(row["bytes"].as_f64().unwrap(), started * 4096.0), "{row}");
    assert!(row["sequential"].is_null(), "{row}");
    for view in ["trace.sequential", "trace.working_set", "trace.bursts", "trace.inter_arrival"] {
        says(&bench.run(&["chart", "s", view]).expect_code(2).stderr, "a sample");
    }
    says(&bench.run(&["export", "s", "--format", "blkparse"]).expect_code(0).stderr, "a sample of one I/O in 16");
    says(&bench.run(&["model", "s"]).stderr, "a sample of one I/O in 16");
    let page = bench.run(&["top", "s", "--once", "--size", "160x50"]).expect_code(0).stdout;
    says(&page, "a SAMPLE of one I/O in 16");
    let most = page.lines().find_map(|line| line.strip_prefix("iops")?.split_whitespace().last()).unwrap();
    let most = most.strip_suffix("k/s").unwrap_or_else(|| panic!("{page}")).parse::<f64>().unwrap();
    // The most of five seconds, of 125 rows each, sigma 11.
    assert!((1.8..3.0).contains(&most), "{page}");
    bench.run(&["report", "s", "-o", "s.html"]).expect_code(0);
    says(&std::fs::read_to_string(bench.scratch.path("s.html")).unwrap(), "a sample of one I/O in 16");
}

#[test]
fn a_condition_judges_the_rate_of_all() {
    let Some(bench) = Bench::new() else { return };
    let condition = ["trace", "--comm", "fio", "--sample", "1/16", "--until", "rate > 100 and rate < 1000 for 2s"];
    let child = bench.start(&[&condition[..], &["-o", "never"]].concat(), "watching");
    bench.reads(&["--rate_iops=3000", "--time_based", "--runtime=5"]);
    let output = end(child);
    says(&output.stdout, "no trouble was seen");
    assert!(!bench.scratch.path("never").exists(), "{}", output.stdout);
}

#[test]
fn a_part_has_its_own_losses_and_every_face_tells_of_them() {
    let Some(bench) = Bench::new() else { return };
    let child =
        bench.start(&["trace", "--comm", "fio", "--buffer", "64k", "--rotate", "3s", "-o", "p.iodyno"], "tracing");
    child.signal(Signal::STOP);
    bench.reads(&["--number_ios=3000"]);
    child.signal(Signal::CONT);
    std::thread::sleep(Duration::from_secs(5));
    bench.reads(&["--number_ios=50"]);
    let output = end(child).expect_code(6);
    says(&output.stderr, "not complete");
    let lost = |name: &str| {
        let reader = Reader::open(bench.scratch.path(name)).unwrap();
        let manifest = reader.manifest();
        for key in ["trace_ended_t_ns", "trace_unfinished", "trace_end_misses", "trace_devices"] {
            assert!(manifest.extra.contains_key(key), "{name} has no {key}");
        }
        manifest.losses.get("trace_buffer_full").copied().unwrap_or(0)
    };
    assert!(lost("p.iodyno") > 1000, "{}", lost("p.iodyno"));
    assert_eq!(lost("p-2.iodyno"), 0);
    for arguments in
        [&["export", "p.iodyno", "io", "--csv"][..], &["chart", "p.iodyno", "trace.iops"], &["model", "p.iodyno"]]
    {
        says(&bench.run(arguments).stderr, "the trace is not complete");
    }
    let page = bench.run(&["top", "p.iodyno", "--once"]).expect_code(0).stdout;
    assert!(!page.contains("lost 0"), "{page}");
    says(&bench.run(&["compare", "p.iodyno", "p-2.iodyno", "-o", "c.html"]).expect_code(0).stdout, "p");
    says(&std::fs::read_to_string(bench.scratch.path("c.html")).unwrap(), "trace_buffer_full");
}

#[test]
fn a_long_trace_is_cut_by_size() {
    let Some(bench) = Bench::new() else { return };
    let child = bench.start(&["trace", "--comm", "fio", "--rotate", "1mib", "-o", "p.iodyno"], "tracing");
    let load = ["--io_size=400m", "--norandommap"];
    bench.reads(&load);
    std::thread::sleep(Duration::from_secs(2));
    bench.reads(&["--number_ios=100"]);
    end(child);
    // A million bytes are some 87,000 I/Os.
    let (first, second) = (bench.rows("p.iodyno").len(), bench.rows("p-2.iodyno").len());
    assert!(first > 80_000 && second > 0, "{first} and {second}");
}

#[test]
fn a_watch_that_lost_ios_says_so() {
    let Some(bench) = Bench::new() else { return };
    let until = ["trace", "--comm", "fio", "--buffer", "64k", "--until", "response > 1h", "-o", "never"];
    let child = bench.start(&until, "watching");
    child.signal(Signal::STOP);
    bench.reads(&["--number_ios=3000"]);
    child.signal(Signal::CONT);
    std::thread::sleep(Duration::from_secs(2));
    let output = end(child).expect_code(6);
    says(&output.stderr, "the watch did not see every I/O");
    says(&output.stdout, "nothing was written");
}

#[test]
fn memory_that_is_shared_is_not_the_file_of_direct_io() {
    let Some(bench) = Bench::new() else { return };
    mapped_memory_is_not_the_file(&bench, Path::new("/dev/shm/iodyno-test-memory"));
}

#[test]
fn a_file_that_is_mapped_for_a_direct_read_is_not_the_file_of_direct_io() {
    let Some(bench) = Bench::new() else { return };
    mapped_memory_is_not_the_file(&bench, &bench.scratch.path("mapped"));
}

/// Traces direct I/O from and to memory that is this file, mapped.
fn mapped_memory_is_not_the_file(bench: &Bench, file_of_memory: &Path) {
    std::fs::write(file_of_memory, vec![0; 1 << 20]).unwrap();
    let memory = file_of_memory.to_str().unwrap();
    let load = ["--rw=randrw", "--bs=8k", "--direct=1", "--ioengine=psync", "--number_ios=200"];
    let mapped = format!("--iomem=mmapshared:{memory}");
    let load = [&load[..], &[mapped.as_str()]].concat();
    let trace = |name: &str, file: &Path| {
        let child = bench.start(&["trace", "--comm", "fio", "-o", name], "tracing");
        bench.fio(file, &load);
        end(child);
        let rows = bench.rows(name);
        assert!(rows.iter().all(|io| io.file.as_deref() != Some(memory)), "{name}");
        // Reads: btrfs makes buffered writes of direct ones where it has checksums, and journals write as well.
        let data: Vec<Io> = rows.into_iter().filter(|io| io.bytes == 8192 && &*io.op == "read").collect();
        assert!(data.len() >= 50, "{name}: {}", data.len());
        for io in &data {
            assert!(io.flags.as_deref().is_some_and(|flags| flags.contains("direct")), "{name}: {io:?}");
        }
        data
    };
    let raw = trace("raw", bench.device.path());
    assert!(raw.iter().all(|io| io.file.is_none() && io.inode.is_none()), "{:?}", raw[0]);
    for kind in [FileSystem::Ext4, FileSystem::Btrfs] {
        if !kind.is_available() {
            testkit::lacks(kind.name());
            continue;
        }
        kind.make(bench.device.path()).unwrap();
        let mounted = MountedFileSystem::device(bench.device.path().to_str().unwrap()).unwrap();
        let file = mounted.path().join("data");
        bench.fio(&file, &["--rw=write", "--bs=1m", "--end_fsync=1"]);
        let rows = trace(kind.name(), &file);
        assert!(rows.iter().all(|io| io.file.as_deref() == file.to_str()), "{}: {:?}", kind.name(), rows[0]);
    }
    let _ = std::fs::remove_file(file_of_memory);
}

#[test]
fn a_trace_says_that_the_kernel_hides_addresses() {
    let Some(bench) = Bench::new() else { return };
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let out = open.path().join("h").display().to_string();
    let program = env!("CARGO_BIN_EXE_iodyno");
    let output = TestCommand::new("setpriv")
        .args([
            "--reuid",
            "65534",
            "--clear-groups",
            "--inh-caps=-all,+bpf,+perfmon",
            "--ambient-caps=-all,+bpf,+perfmon",
        ])
        .args([program, "trace", "-d", &bench.device.name(), "--for", "1s", "-o", &out])
        .run()
        .unwrap();
    if output.stderr.contains("the kernel refused") {
        testkit::lacks("a kernel that traces with CAP_BPF and CAP_PERFMON alone");
        return;
    }
    output.expect_code(0);
    let reader = Reader::open(&out).unwrap();
    says(&reader.manifest().extra["trace_verdicts"].to_string(), "CAP_SYSLOG");
}

#[test]
fn what_would_trace_nothing_is_refused() {
    let scratch = Scratch::new();
    for (arguments, words) in [
        (&["trace", "--all", "--for", "0s"][..], "nothing would be traced"),
        (&["trace", "--all", "--until", "rate > 1", "--repeat", "0"], "--repeat"),
        (&["trace", "--all", "--until", "rate > 1", "--memory", "900t"], "half of the memory"),
        (&["trace", "--all", "--rotate", "30m"], "30min or 30mib"),
        (&["probe", "io", "1s", "0"], "0 is not in"),
        (&["probe", "io", "1s", "1", "-o", "none/x"], "there is no directory none"),
    ] {
        let output = scratch.iodyno(arguments).run().unwrap().expect_code(2);
        says(&output.stderr, words);
        assert!(!scratch.path("none").exists());
    }
}

#[test]
fn a_flight_recorder_without_a_device_watches_all() {
    let Some(bench) = Bench::new() else { return };
    let until = ["trace", "--until", "response > 1h", "--before", "30s", "--after", "10s", "--for", "1s"];
    says(&bench.run(&until).stdout, "watching all devices");
}

#[test]
fn a_trace_of_less_than_a_second_has_a_page() {
    let Some(bench) = Bench::new() else { return };
    let child = bench.start(&["trace", "--comm", "fio", "-o", "short"], "tracing");
    bench.reads(&["--number_ios=100"]);
    end(child);
    let mut top = bench.scratch.iodyno(&["top", "short", "--once"]).spawn().unwrap();
    assert!(top.wait_for_stdout("short", Duration::from_secs(60)), "it waits for a sample that never comes");
    top.wait().unwrap().expect_code(0);
}

#[test]
fn a_probe_leaves_what_a_trace_leaves_and_groups_by_its_option() {
    let Some(bench) = Bench::new() else { return };
    for (by, expected) in [("process", "fio"), ("op", "read")] {
        let child = bench.start(&["probe", "io", "--by", by, "-o", by], "\n");
        bench.reads(&["--number_ios=500"]);
        let output = end(child).expect_code(0);
        says(&output.stdout, expected);
        let reader = Reader::open(bench.scratch.path(by)).unwrap();
        for key in ["trace_ended_t_ns", "trace_unfinished", "trace_end_misses", "trace_devices"] {
            assert!(reader.manifest().extra.contains_key(key), "no {key}");
        }
    }
}

#[test]
fn a_process_is_traced_without_others() {
    let Some(bench) = Bench::new() else { return };
    let pid = std::process::id().to_string();
    let child = bench.start(&["trace", "--pid", &pid, "-o", "pid"], "tracing");
    bench.reads(&["--number_ios=100"]);
    // Pages that are not in memory yet; read here.
    TestCommand::new("blockdev")
        .args(["--flushbufs", bench.device.path().to_str().unwrap()])
        .run()
        .unwrap()
        .expect_code(0);
    let mut bytes = vec![0; 1 << 20];
    std::io::Read::read_exact(&mut std::fs::File::open(bench.device.path()).unwrap(), &mut bytes).unwrap();
    end(child);
    let rows = bench.rows("pid");
    assert!(!rows.is_empty() && rows.iter().all(|io| io.pid == std::process::id().try_into().ok()), "{rows:?}");
}

#[test]
fn buffered_writes_of_io_uring_are_charged_to_their_process() {
    let Some(bench) = Bench::new() else { return };
    if !FileSystem::Ext4.is_available() {
        testkit::lacks("ext4");
        return;
    }
    FileSystem::Ext4.make(bench.device.path()).unwrap();
    let mounted = MountedFileSystem::device(bench.device.path().to_str().unwrap()).unwrap();
    let file = mounted.path().join("data");
    let child = bench.start(&["trace", "-o", "uring"], "tracing");
    let load = ["--rw=write", "--bs=64k", "--direct=0", "--ioengine=io_uring", "--force_async=2", "--end_fsync=1"];
    bench.fio(&file, &load);
    end(child);
    let rows = bench.rows("uring");
    let ours: Vec<&Io> = rows.iter().filter(|io| &*io.op == "write" && io.file.as_deref() == file.to_str()).collect();
    assert!(ours.iter().map(|io| io.bytes).sum::<i64>() >= 64 << 20);
    assert!(ours.iter().all(|io| io.owner_comm.as_deref() == Some("fio")), "{:?}", ours[0]);
}
