//! `diagnose` on real causes: each is made, found, and not found once it is gone or half as strong.

use crate::support::{FaultyDisk, Namespace, Scratch};
use faultfs::{DiskConfig, Faultfs};
use serde_json::Value;
use std::time::Duration;
use testkit::{Child, FileSystem, LoopDevice, MountedFileSystem, TestCommand};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// What was judged, whatever the exit code: other programs of the machine may have causes of their own.
fn seen(child: Child) -> Value {
    let output = child.wait().unwrap();
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", output.stdout, output.stderr))
}

/// The finding of one rule and subject.
fn find<'a>(judged: &'a Value, rule: &str, subject: &str) -> Option<&'a Value> {
    of(judged, rule).into_iter().find(|one| one["subject"] == subject)
}

fn sentence(finding: &Value) -> &str {
    finding["sentence"].as_str().unwrap()
}

/// Findings of one rule, notes left out.
fn of<'a>(judged: &'a Value, rule: &str) -> Vec<&'a Value> {
    let findings = judged["findings"].as_array().unwrap().iter();
    findings.filter(|one| one["rule"] == rule && one["severity"] == "finding").collect()
}

#[test]
#[ignore = "times: make exam"]
fn one_thread_that_keeps_a_cpu_busy() {
    testkit::while_cpus_are_ours(once_one_thread_that_keeps_a_cpu_busy);
}

fn once_one_thread_that_keeps_a_cpu_busy() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    // Other tests keep the other CPUs busy meanwhile; that alone is left out of what is asked.
    let thresholds = "[one_cpu]\nfor_s = 5\nfor_cpu_s = 0\nsystem_percent = 100\nrest_percent = 100\n";
    std::fs::write(scratch.path("t.toml"), format!("[general]\nclear_s = 2\n{thresholds}")).unwrap();
    let spin = |share: &str| {
        let turn = format!(
            "import time\nwhile True:\n  end=time.monotonic()+0.01*{share}\n  while time.monotonic()<end: pass\n  time.sleep(0.01*(1-{share}))\n"
        );
        // Before everything else on that CPU, or whatever runs beside the test takes half of it.
        TestCommand::new("chrt").args(["-f", "1", "taskset", "-c", "0", "python3", "-c", &turn]).spawn().unwrap()
    };
    let spinner = spin("1");
    std::thread::sleep(Duration::from_millis(300));
    let look = scratch.iodyno(&["diagnose", "--live", "14s", "--thresholds", "t.toml", "--json"]).spawn().unwrap();
    let pid = format!("[{}]", spinner.id());
    std::thread::sleep(Duration::from_secs(9));
    drop(spinner);
    let busy = seen(look);
    let mine = of(&busy, "R1").into_iter().find(|one| one["subject"].as_str().unwrap().ends_with(&pid));
    let mine = mine.unwrap_or_else(|| panic!("{pid} is not found: {busy}"));
    assert!(mine["sentence"].as_str().unwrap().contains("is using a whole CPU"), "{mine}");
    assert_eq!(mine["thresholds"]["for_s"], 5.0);
    assert!(mine["end"].is_string(), "it is over: {mine}");
    // Half of the time is no whole CPU.
    let spinner = spin("0.5");
    let half = scratch.iodyno(&["diagnose", "--live", "9s", "--thresholds", "t.toml", "--json"]).run().unwrap();
    let half: Value = serde_json::from_str(&half.stdout).unwrap();
    let pid = format!("[{}]", spinner.id());
    assert!(!of(&half, "R1").iter().any(|one| one["subject"].as_str().unwrap().ends_with(&pid)), "{half}");
}

#[test]
fn a_recording_is_judged_like_the_machine_and_mistakes_are_reported() {
    let scratch = Scratch::new();
    scratch.iodyno(&["record", "-o", "r", "-i", "100ms", "--for", "1s"]).run().unwrap().expect_code(0);
    let judged = scratch.iodyno(&["diagnose", "r", "--json"]).run().unwrap().expect_code(0);
    let judged: Value = serde_json::from_str(&judged.stdout).unwrap();
    assert_eq!(judged["schema"], "iodyno.findings/1");
    let seconds = judged["judged_s"].as_f64().unwrap();
    assert!((0.8..1.6).contains(&seconds) || judged["gaps"].as_u64().unwrap() > 0, "{judged}");
    let shipped =
        TestCommand::new(IODYNO).args(["diagnose", "--print-thresholds"]).run().unwrap().expect_code(0).stdout;
    std::fs::write(scratch.path("shipped.toml"), &shipped).unwrap();
    let speeds = ["diagnose", "-S", "eth0:200hd,wlan0:54", "--print-thresholds"];
    let said = scratch.iodyno(&speeds).run().unwrap().expect_code(0).stdout;
    assert!(said.contains("\"eth0\" = \"200000khd\"\n") && said.contains("\"wlan0\" = \"54000kfd\"\n"), "{said}");
    let wrong = scratch.iodyno(&["diagnose", "-S", "eth0:fast", "--print-thresholds"]).run().unwrap().expect_code(2);
    assert!(wrong.stderr.contains("-S eth0:fast") && wrong.stderr.contains("eth0:1000fd"), "{}", wrong.stderr);
    let again = scratch.iodyno(&["diagnose", "--thresholds", "shipped.toml", "--print-thresholds"]);
    assert_eq!(again.run().unwrap().expect_code(0).stdout, shipped);
    std::fs::write(scratch.path("wrong.toml"), "[one_cpu]\nbusy = 3\n").unwrap();
    for (arguments, word) in [
        (&["diagnose", "r", "--thresholds", "wrong.toml"][..], "line 2"),
        (&["diagnose", "r", "--thresholds", "none.toml"], "none.toml"),
        (&["diagnose", "--live", "1s"], "too short"),
    ] {
        let output = scratch.iodyno(arguments).run().unwrap().expect_code(2);
        assert!(output.stderr.contains(word), "{}", output.stderr);
    }
    scratch.iodyno(&["diagnose", "none"]).run().unwrap().expect_code(2);
}

#[test]
#[ignore = "times: make exam"]
fn a_listener_with_a_short_backlog() {
    testkit::while_cpus_are_ours(once_a_listener_with_a_short_backlog);
}

fn once_a_listener_with_a_short_backlog() {
    let Some(namespace) = Namespace::new("dlisten") else { return };
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    std::fs::write(scratch.path("t.toml"), "[general]\nclear_s = 2\n").unwrap();
    // The server accepts no connection for so many seconds, and then every one.
    let run = |backlog: u32, calls: u32, deaf_s: u32, length: &str| {
        let name = format!("r{backlog}-{calls}-{deaf_s}");
        let serve = format!(
            "import socket,time\ns=socket.socket()\ns.bind(('127.0.0.1',1521))\ns.listen({backlog})\ntime.sleep({deaf_s})\n\
             all=[]\nwhile True: all.append(s.accept())\n"
        );
        let server = namespace.command("python3").args(["-c", &serve]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let record =
            namespace.command(IODYNO).args(["record", "--for", length, "-o"]).arg(scratch.path(&name)).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        let call = format!(
            "import socket,time\nall=[]\nfor i in range({calls}):\n  s=socket.socket(); s.setblocking(False)\n  \
             try: s.connect(('127.0.0.1',1521))\n  except BlockingIOError: pass\n  all.append(s)\ntime.sleep(6)\n"
        );
        let clients = namespace.command("python3").args(["-c", &call]).spawn().unwrap();
        let said = record.wait().unwrap().expect_code(0).stderr;
        assert_eq!(said.contains("finding   R2 Listener 127.0.0.1:1521"), (backlog, calls) == (5, 40), "{said}");
        let pid = server.id();
        drop((clients, server));
        let judged = seen(scratch.iodyno(&["diagnose", &name, "--thresholds", "t.toml", "--json"]).spawn().unwrap());
        (judged, pid)
    };
    let (short, pid) = run(5, 40, 20, "6s");
    let finding = find(&short, "R2", "127.0.0.1:1521").unwrap_or_else(|| panic!("not found: {short}"));
    assert_eq!(finding["confidence"], "certain");
    assert!(sentence(finding).contains("accept queue 6 of 5"), "{finding}");
    assert!(sentence(finding).contains("The program asked listen(…, 5); system limit somaxconn"), "{finding}");
    assert!(sentence(finding).starts_with(&format!("Listener 127.0.0.1:1521 (python3[{pid}])")), "{pid} {finding}");
    // The same in every face of the recording.
    let chart =
        scratch.iodyno(&["export", "r5-40-20", "recording.findings", "--csv"]).run().unwrap().expect_code(0).stdout;
    assert!(chart.contains("R2,127.0.0.1:1521,"), "{chart}");
    scratch.iodyno(&["report", "r5-40-20"]).run().unwrap().expect_code(0);
    let page = std::fs::read_to_string(scratch.path("r5-40-20").join("report.html")).unwrap();
    assert!(page.contains("accept queue 6 of 5"), "the report does not show it");
    // Room for all of them; and half as many as there is room for.
    for (backlog, calls) in [(512, 40), (5, 3)] {
        let (silent, _) = run(backlog, calls, 20, "6s");
        assert!(of(&silent, "R2").is_empty(), "{silent}");
    }
    let (over, _) = run(5, 40, 6, "24s");
    let finding = find(&over, "R2", "127.0.0.1:1521").unwrap_or_else(|| panic!("not found: {over}"));
    assert!(finding["end"].is_string(), "it is over: {finding}");
}

#[test]
#[ignore = "times: make exam"]
fn a_link_that_is_shaped() {
    testkit::while_cpus_are_ours(once_a_link_that_is_shaped);
}

fn once_a_link_that_is_shaped() {
    let Some(namespace) = Namespace::new("dshape") else { return };
    let _alone = testkit::alone();
    let shape = ["qdisc", "add", "dev", "v0", "root", "tbf", "rate", "40mbit", "burst", "32kb", "latency", "50ms"];
    namespace.command("tc").args(shape).run().unwrap().expect_code(0);
    let scratch = Scratch::new();
    std::fs::write(scratch.path("t.toml"), "[general]\nclear_s = 2\n").unwrap();
    let thresholds = scratch.path("t.toml");
    let look = ["diagnose", "--live", "14s", "--json", "--thresholds", thresholds.to_str().unwrap()];
    let run = |pause: &str| {
        let send = format!(
            "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nend=time.time()+9\n\
             while time.time()<end:\n  try: s.sendto(b'x'*1400,('10.99.0.2',9))\n  except OSError: pass\n  {pause}\n"
        );
        let sender = namespace.command("python3").args(["-c", &send]).spawn().unwrap();
        let judged = seen(namespace.command(IODYNO).args(look).spawn().unwrap());
        drop(sender);
        judged
    };
    let full = run("pass");
    let finding = find(&full, "R3", "v0").unwrap_or_else(|| panic!("not found: {full}"));
    assert!(sentence(finding).contains("of 40 Mbit/s"), "{finding}");
    assert!(sentence(finding).contains("Limit is the shaper tbf."), "{finding}");
    assert!(finding["end"].is_string(), "it is over: {finding}");
    // At most 1,000 datagrams a second are 11 Mbit/s.
    let quiet = run("time.sleep(0.001)");
    assert!(of(&quiet, "R3").is_empty(), "{quiet}");
}

#[test]
#[ignore = "times: make exam"]
fn a_disk_that_stops_answering_and_one_that_is_too_slow() {
    testkit::while_cpus_are_ours(once_a_disk_that_stops_answering_and_one_that_is_too_slow);
}

/// A disk with faults, and loads on it.
struct Trouble {
    faulty: FaultyDisk,
    scratch: Scratch,
}

impl Trouble {
    fn new(thresholds: &str) -> Option<Self> {
        let faulty = FaultyDisk::new()?;
        let scratch = Scratch::new();
        std::fs::write(scratch.path("t.toml"), thresholds).unwrap();
        Some(Self { faulty, scratch })
    }

    fn fio(&self, job: &[&str]) -> Child {
        TestCommand::new("fio")
            .args(["--name=l", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio", "--time_based"])
            .args([format!("--filename={}", self.faulty.device.path().display())])
            .args(job)
            .dir(self.scratch.path(""))
            .spawn()
            .unwrap()
    }

    fn watch(&self, length: &str) -> Child {
        let arguments = ["diagnose", "--live", length, "--thresholds", "t.toml", "--json"];
        self.scratch.iodyno(&arguments).spawn().unwrap()
    }
}

fn once_a_disk_that_stops_answering_and_one_that_is_too_slow() {
    let _alone = testkit::alone();
    let Some(trouble) = Trouble::new("[general]\nclear_s = 2\n[device]\nfor_s = 4\n") else { return };
    let name = trouble.faulty.device.name();
    // Answers stay away for five seconds.
    let load = trouble.fio(&["--iodepth=4", "--rate_iops=200", "--runtime=12"]);
    let diagnose = trouble.watch("10s");
    std::thread::sleep(Duration::from_secs(3));
    trouble.faulty.disk.control("stall 5s").unwrap();
    let judged = seen(diagnose);
    drop(load);
    let stall = find(&judged, "R7", &name).unwrap_or_else(|| panic!("not found: {judged}"));
    let length = stall["seconds"].as_f64().unwrap();
    assert!((3.8..6.3).contains(&length), "{stall}");
    assert!(stall["end"].is_string() && sentence(stall).contains("answered nothing for"), "{stall}");
    // Quick at first; then every answer takes 25 ms and eight wait for theirs, until the load is over.
    let load = trouble.fio(&["--iodepth=1", "--rate_iops=100", "--runtime=4"]);
    let diagnose = trouble.watch("19s");
    load.wait().unwrap().expect_code(0);
    trouble.faulty.disk.control("delay 25ms").unwrap();
    let load = trouble.fio(&["--iodepth=8", "--runtime=9"]);
    let judged = seen(diagnose);
    drop(load);
    let slow = find(&judged, "R5", &name).unwrap_or_else(|| panic!("not found: {judged}"));
    assert!(
        sentence(slow).contains(&format!("{name} is the limit")) && sentence(slow).contains("× unloaded"),
        "{slow}"
    );
    assert!(slow["end"].is_string(), "it is over: {slow}");
    assert!(find(&judged, "R7", &name).is_none(), "{judged}");
}

#[test]
#[ignore = "times: make exam"]
fn a_disk_that_pauses_for_a_moment_and_one_that_is_slow_and_half_busy_are_no_findings() {
    testkit::while_cpus_are_ours(once_a_disk_that_is_half_as_bad);
}

fn once_a_disk_that_is_half_as_bad() {
    let _alone = testkit::alone();
    let Some(trouble) = Trouble::new("[device]\nfor_s = 4\n") else { return };
    let name = trouble.faulty.device.name();
    // One second without an answer; two would be a finding.
    let load = trouble.fio(&["--iodepth=4", "--rate_iops=200", "--runtime=9"]);
    let diagnose = trouble.watch("7s");
    std::thread::sleep(Duration::from_secs(3));
    trouble.faulty.disk.control("stall 1s").unwrap();
    let judged = seen(diagnose);
    drop(load);
    assert!(find(&judged, "R7", &name).is_none(), "{judged}");
    // Every answer takes a hundred times as long as at first, and half of the time no I/O is in flight.
    let load = trouble.fio(&["--iodepth=1", "--rate_iops=100", "--runtime=4"]);
    let diagnose = trouble.watch("13s");
    load.wait().unwrap().expect_code(0);
    trouble.faulty.disk.control("delay 10ms").unwrap();
    let load = trouble.fio(&["--iodepth=1", "--rate_iops=50", "--runtime=8"]);
    let judged = seen(diagnose);
    drop(load);
    assert!(find(&judged, "R5", &name).is_none(), "{judged}");
}

/// A control group that may have so much memory; gone with the value.
struct SmallGroup(Vec<std::path::PathBuf>);

impl SmallGroup {
    /// Where version 2 has the controller `memory`, there, else where version 1 has it; `None` when neither has.
    fn new(bytes: u64) -> Option<Self> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let at = |place: &str| std::path::PathBuf::from("/sys/fs/cgroup").join(place);
        let second = std::fs::read_to_string(at("cgroup.subtree_control")).is_ok_and(|text| text.contains("memory"));
        // CPU time tells that a group did something.
        let mounts = if second { vec![at("")] } else { vec![at("memory"), at("cpuacct")] };
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = testkit::own_name(&format!("small-{count}"));
        let group = Self(mounts.iter().map(|mount| mount.join(&name)).collect());
        let made = group.0.iter().all(|folder| std::fs::create_dir(folder).is_ok());
        let limit = if second { "memory.max" } else { "memory.limit_in_bytes" };
        let limited = made && std::fs::write(group.0[0].join(limit), bytes.to_string()).is_ok();
        limited.then_some(group)
    }

    /// A command in it.
    fn command(&self, program: &str) -> TestCommand {
        let enter = self.0.iter().map(|folder| format!("echo $$ > {}/cgroup.procs; ", folder.display()));
        let script = format!("{}exec \"$@\"", enter.collect::<String>());
        TestCommand::new("sh").args(["-c", &script, "sh", program]).limit(Duration::from_secs(120))
    }
}

impl Drop for SmallGroup {
    fn drop(&mut self) {
        for folder in &self.0 {
            // What was killed is still on its way out.
            for _ in 0..100 {
                if std::fs::remove_dir(folder).is_ok() || !folder.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Reads more and more of a file, all of it again and again; without a reading ahead, and of holes only, which no device reads.
const FILLER: &str = "import os,sys,time\nf=os.open(sys.argv[1],os.O_RDONLY)\nos.posix_fadvise(f,0,0,os.POSIX_FADV_RANDOM)\n\
    most=int(sys.argv[2])<<20\npage=bytearray(1<<20)\nsize=0\nwhile True:\n  size=min(most,size+(1<<20))\n  \
    for at in range(0,size,1<<20): os.preadv(f,[page],at)\n  time.sleep(0.08)\n";

#[test]
#[ignore = "times: make exam"]
fn a_cache_that_another_program_fills() {
    testkit::while_cpus_are_ours(once_a_cache_that_another_program_fills);
}

fn once_a_cache_that_another_program_fills() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    if SmallGroup::new(96 << 20).is_none() {
        testkit::lacks("control groups with a limit of memory");
        return;
    }
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = Faultfs::mount(mountpoint.path(), DiskConfig::new(128 << 20)).unwrap();
    let device = LoopDevice::over(disk.disk()).unwrap();
    let scratch = Scratch::new();
    std::fs::write(scratch.path("t.toml"), "[general]\nclear_s = 2\n").unwrap();
    FileSystem::Ext4.make(device.path()).unwrap();
    // A load on 24 MB that are in the cache, beside a program that wants so many; there is room for 70.
    let run = |filled: &str| {
        disk.control("delay 0ms").unwrap();
        let group = SmallGroup::new(96 << 20).unwrap();
        let name = group.0[0].file_name().unwrap().to_string_lossy().into_owned();
        let mounted = MountedFileSystem::device(device.path()).unwrap();
        let (hot, fill) = (mounted.path().join("hot"), mounted.path().join("fill"));
        std::fs::write(&hot, vec![7_u8; 24 << 20]).unwrap();
        std::fs::File::create(&fill).unwrap().set_len(400 << 20).unwrap();
        // What was written is in the cache, but not in that of the group.
        std::fs::File::open(&hot).unwrap().sync_all().unwrap();
        let forget = ["-c", "import os,sys\nos.posix_fadvise(os.open(sys.argv[1],0),0,0,os.POSIX_FADV_DONTNEED)\n"];
        TestCommand::new("python3").args(forget).arg(&hot).run().unwrap().expect_code(0);
        group.command("cat").arg(&hot).run().unwrap().expect_code(0);
        disk.control("delay 2ms").unwrap();
        let text = format!(
            "sd=hot,lun={},size=24m\nwd=wd1,sd=hot,xfersize=16k,rdpct=100,seekpct=random\n\
             rd=rd1,wd=wd1,iorate=100,threads=4,elapsed=46,interval=1\n",
            hot.display()
        );
        let file = scratch.write("load.vdb", &text);
        let recording = scratch.path(&format!("filled{filled}"));
        let load = group.command(IODYNO).arg("run").arg(&file).arg("-o").arg(&recording).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(13));
        let filler = group.command("python3").args(["-c", FILLER]).arg(&fill).arg(filled).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(25));
        // What it had goes with the file.
        drop(filler);
        std::fs::remove_file(&fill).unwrap();
        load.wait().unwrap().expect_code(0);
        let arguments = ["diagnose", recording.to_str().unwrap(), "--thresholds", "t.toml", "--json"];
        (seen(scratch.iodyno(&arguments).spawn().unwrap()), format!("page cache of control group /{name}"))
    };
    let (judged, subject) = run("104");
    let finding = find(&judged, "R6", &subject).unwrap_or_else(|| panic!("{subject} is not found: {judged}"));
    assert!(sentence(finding).starts_with(&format!("The {subject} (")), "{finding}");
    assert!(sentence(finding).contains("Results before that measure the cache."), "{finding}");
    let evidence = |name: &str| {
        let one = finding["evidence"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
        one["value"].as_f64().unwrap()
    };
    // Nearly everything was there, and nearly nothing is; a read of the disk takes 2 ms.
    assert!(evidence("device reads before") < 20.0 && evidence("device reads after") > 50.0, "{finding}");
    assert!(evidence("response time before") < 1e6 && evidence("response time after") > 2e6, "{finding}");
    assert!(finding["end"].is_string(), "it is over: {finding}");
    // Half of that has room.
    let (judged, subject) = run("40");
    assert!(find(&judged, "R6", &subject).is_none(), "{judged}");
}

#[test]
#[ignore = "times: make exam"]
fn programs_too_brief_to_be_seen() {
    testkit::while_cpus_are_ours(once_programs_too_brief_to_be_seen);
}

fn once_programs_too_brief_to_be_seen() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    // Whatever runs beside the test makes their share smaller.
    std::fs::write(
        scratch.path("t.toml"),
        "[short_lived]\nfor_s = 4\nbusy_percent = 1\none_name_percent = 0\nper_s = 50\n",
    )
    .unwrap();
    testkit::copy_program("/bin/true", scratch.path("brief-abc")).unwrap();
    let script = format!("while :; do {}; done", scratch.path("brief-abc").display());
    let busy = TestCommand::new("sh").args(["-c", &script]).spawn().unwrap();
    let look = || scratch.iodyno(&["diagnose", "--live", "6s", "--thresholds", "t.toml", "--json"]).spawn().unwrap();
    let judged = seen(look());
    drop(busy);
    let finding = find(&judged, "R9", "brief-abc").unwrap_or_else(|| panic!("not found: {judged}"));
    assert!(sentence(finding).contains("runs/s of brief-abc"), "{finding}");
    // At half of the rate that makes a finding, and when it is over.
    let script = format!("while :; do {}; sleep 0.04; done", scratch.path("brief-abc").display());
    let half = TestCommand::new("sh").args(["-c", &script]).spawn().unwrap();
    let quiet = seen(look());
    assert!(find(&quiet, "R9", "brief-abc").is_none(), "{quiet}");
    drop(half);
    let quiet = seen(look());
    assert!(find(&quiet, "R9", "brief-abc").is_none(), "{quiet}");
}

#[test]
fn a_mirror_with_damaged_data() {
    if !testkit::require_root_or_skip() {
        return;
    }
    if !FileSystem::Btrfs.is_available() {
        testkit::lacks("btrfs");
        return;
    }
    let _alone = testkit::alone();
    let (first, second) = (LoopDevice::new(300 << 20).unwrap(), LoopDevice::new(300 << 20).unwrap());
    let mut make = vec!["-q", "-f", "-L", "iodyno-d", "-d", "raid1", "-m", "raid1"];
    let paths = [first.path().to_str().unwrap(), second.path().to_str().unwrap()];
    make.extend(paths);
    testkit::mkfs_btrfs(&make).unwrap();
    {
        let mounted = MountedFileSystem::device(first.path()).unwrap();
        std::fs::write(mounted.path().join("payload"), vec![7_u8; 60 << 20]).unwrap();
    }
    // Everything on the second device but its first megabytes and the copy of its superblock.
    let wipe = ["if=/dev/zero", "bs=1M", "seek=66", "count=234", "conv=notrunc,fsync", "status=none"];
    TestCommand::new("dd").args(wipe).arg(format!("of={}", paths[1])).run().unwrap().expect_code(0);
    let mounted = MountedFileSystem::device(first.path()).unwrap();
    let diagnose = TestCommand::new(IODYNO).args(["diagnose", "--live", "15s", "--json"]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(5));
    let scrub = TestCommand::new("btrfs").args(["scrub", "start", "-B"]).arg(mounted.path()).run().unwrap();
    let judged = seen(diagnose);
    let finding = find(&judged, "R12", "btrfs iodyno-d, device 2");
    let finding = finding.unwrap_or_else(|| panic!("not found: {judged} {}", scrub.stdout));
    assert!(sentence(finding).contains("blocks had a wrong check sum"), "{finding}");
    assert!(sentence(finding).contains("repaired from mirror"), "{finding}");
    // What is repaired stays so: no further finding.
    let judged = seen(TestCommand::new(IODYNO).args(["diagnose", "--live", "2s", "--json"]).spawn().unwrap());
    assert!(of(&judged, "R12").is_empty(), "{judged}");
}

#[test]
#[ignore = "an hour; `make soak`"]
fn soak_idle_a_full_speed_load_and_a_build_are_no_findings() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    let said = std::env::var("IODYNO_SOAK_S").ok().and_then(|text| text.parse::<u64>().ok());
    let third = (said.unwrap_or(3600) / 3).max(30);
    let whole = format!("{}s", 3 * third + 10);
    let record = scratch.iodyno(&["record", "-o", "r", "--for", &whole]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(third));
    let device = LoopDevice::new(256 << 20).unwrap();
    let load = format!(
        "sd=sd1,lun={},threads=128\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct=100\n\
         rd=rd1,wd=wd1,iorate=max,elapsed={third},interval=1\n",
        device.path().display()
    );
    std::fs::write(scratch.path("load.vdb"), load).unwrap();
    scratch.iodyno(&["run", "load.vdb", "-o", "load"]).run().unwrap().expect_code(0);
    // Programs that only compute, on all CPUs, each for a few seconds, and start and end, as compilers do.
    let work = "import hashlib,sys\nb=bytes(1<<20)\nfor i in range(int(sys.argv[1])): hashlib.sha256(b).digest()";
    let build = format!(
        "end=$(($(date +%s)+{third})); while [ $(date +%s) -lt $end ]; do \
         for cpu in $(seq $(nproc)); do python3 -c '{work}' $((500 + RANDOM % 2000)) & done; wait; done"
    );
    TestCommand::new("bash").args(["-c", &build]).run().unwrap().expect_code(0);
    record.wait().unwrap().expect_code(0);
    let judged = scratch.iodyno(&["diagnose", "r", "--json"]).run().unwrap();
    let judged: Value = serde_json::from_str(&judged.stdout).unwrap();
    let found: Vec<&Value> =
        judged["findings"].as_array().unwrap().iter().filter(|one| one["counts"] == true).collect();
    assert!(found.is_empty(), "{found:#?}");
}
