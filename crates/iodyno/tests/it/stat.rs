//! `stat` and `record` on real interfaces, listeners, disks and commands.

use crate::support::{Namespace, Scratch};
use recording::Reader;
use recording::rows::System;
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;
use testkit::{LoopDevice, TestCommand};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// All figures of a key.
fn values(lines: &[Value], key: &str) -> Vec<f64> {
    lines.iter().map(|line| line[key].as_f64().unwrap_or_else(|| panic!("{key} is null in {line}"))).collect()
}

#[test]
#[ignore = "times: make exam"]
fn a_shaped_link_is_full_and_saturated() {
    // Who cannot send is not the link's fault.
    testkit::while_cpus_are_ours(a_shaped_link);
}

fn a_shaped_link() {
    let Some(namespace) = Namespace::new("shape") else { return };
    let shape = ["qdisc", "add", "dev", "v0", "root", "tbf", "rate", "40mbit", "burst", "32kb", "latency", "50ms"];
    namespace.command("tc").args(shape).run().unwrap().expect_code(0);
    let send = "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nend=time.time()+8\n\
                while time.time()<end:\n  try: s.sendto(b'x'*1400,('10.99.0.2',9))\n  except OSError: pass\n";
    let sender = namespace.command("python3").args(["-c", send]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let stat = ["stat", "net", "-i", "v0", "-S", "v0:40fd", "--json", "1", "4"];
    let shown = namespace.command(IODYNO).args(stat).run().unwrap().expect_code(0).ndjson();
    drop(sender);
    assert_eq!(shown.len(), 4);
    // The shaper lets 40 Mbit/s of frames pass; the interface counts what passed.
    let util = values(&shown, "util_percent");
    let mean = util.iter().sum::<f64>() / util.len() as f64;
    assert!((90.0..=100.0).contains(&mean), "the link is full: {util:?}");
    assert!(values(&shown, "saturation_per_s").iter().all(|per_s| *per_s > 100.0), "{shown:?}");
    assert!(values(&shown, "qdisc_backlog_kib").iter().any(|kib| *kib > 1.0), "{shown:?}");
    // Without the user's word, the figure is the driver's 10 Gbit/s; the wrong speed is not hidden.
    let plain = namespace.command(IODYNO).args(["stat", "net", "-l"]).run().unwrap().expect_code(0).stdout;
    assert!(plain.lines().any(|line| line.starts_with("v0") && line.contains("10000")), "{plain}");
}

#[test]
fn listeners_that_drop_are_seen() {
    let Some(namespace) = Namespace::new("listen") else { return };
    // A server that never accepts, with room for two, and twelve that want in.
    let serve = "import socket,time\ns=socket.socket()\ns.bind(('127.0.0.1',7777))\ns.listen(1)\nprint('ready',flush=True)\ntime.sleep(120)\n";
    let mut server = namespace.command("python3").args(["-c", serve]).spawn().unwrap();
    assert!(server.wait_for_stdout("ready", Duration::from_secs(60)), "{}", server.stderr());
    let mut stat = namespace.command(IODYNO).args(["stat", "tcp", "--json", "1", "10"]).spawn().unwrap();
    assert!(stat.wait_for_stdout("}", Duration::from_secs(60)), "{}", stat.stderr());
    let call = "import socket,time\nall=[]\nfor i in range(12):\n  s=socket.socket(); s.setblocking(False)\n  \
                try: s.connect(('127.0.0.1',7777))\n  except BlockingIOError: pass\n  all.append(s)\ntime.sleep(3)\n";
    namespace.command("python3").args(["-c", call]).run().unwrap().expect_code(0);
    let shown = stat.wait().unwrap().expect_code(0).ndjson();
    drop(server);
    let count = |key: &str| -> f64 {
        shown.iter().map(|line| line[key].as_f64().unwrap() * line["interval_s"].as_f64().unwrap()).sum()
    };
    let netstat = namespace.command("cat").arg("/proc/net/netstat").run().unwrap().expect_code(0).stdout;
    let mut pair = netstat.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (pair.next().unwrap(), pair.next().unwrap());
    let at = names.split_whitespace().position(|name| name == "ListenDrops").unwrap();
    let kernel: f64 = values.split_whitespace().nth(at).unwrap().parse().unwrap();
    assert!(kernel > 0.0, "the kernel dropped nothing: the test does not do what it says");
    assert!((count("listen_drops_per_s") - kernel).abs() < 0.5, "{} instead of {kernel}", count("listen_drops_per_s"));
    assert!(count("listen_overflows_per_s") > 0.0 && count("syn_retransmits_per_s") > 0.0);
}

#[test]
#[ignore = "times: make exam"]
fn segments_that_are_sent_again_are_counted_as_the_kernel_does() {
    // What is sent again must have been acknowledged before the interval ends.
    testkit::while_cpus_are_ours(segments_that_are_sent_again);
}

fn segments_that_are_sent_again() {
    let Some(namespace) = Namespace::new("resent") else { return };
    let of_the_kernel = || [namespace.tcp_counter("OutSegs"), namespace.tcp_counter("RetransSegs")];
    let look = || {
        let before = of_the_kernel();
        let stat = |arguments: &[&str]| namespace.command(IODYNO).args(arguments).spawn().unwrap();
        // Nothing but the load uses TCP here, and it lies within the interval of both.
        let (tcp, net) = (stat(&["stat", "tcp", "--json", "8", "1"]), stat(&["stat", "net", "-t", "-p", "8", "1"]));
        std::thread::sleep(Duration::from_millis(700));
        namespace.send_two_megabytes();
        let shown = tcp.wait().unwrap().expect_code(0).ndjson().remove(0);
        let line = net.wait().unwrap().expect_code(0).stdout;
        let after = of_the_kernel();
        let [sent, again] = [0, 1].map(|at| after[at] - before[at]);
        let of = |key: &str| shown[key].as_f64().unwrap_or_else(|| panic!("{key} is null in {shown}"));
        let counted = of("out_segments_per_s") * of("interval_s");
        assert!((counted - sent).abs() < 0.01, "{counted} instead of {sent}: {shown}");
        // The kernel's OutSegs leaves out what was sent again.
        let percent = 100.0 * again / (sent + again);
        assert!((of("retransmit_percent") - percent).abs() < 1e-6, "{percent} % in {shown}");
        let field = line.trim().split(':').nth(8).unwrap_or_else(|| panic!("{line}"));
        let printed: f64 = field.parse().unwrap_or_else(|_| panic!("{line}"));
        // Two digits behind the point from 10 on, three below.
        assert!((printed - percent).abs() <= if percent < 10.0 { 5.1e-4 } else { 5.1e-3 }, "{percent} % in {line}");
        (again, percent)
    };
    assert_eq!(look(), (0.0, 0.0), "nothing was lost");
    if !namespace.lose_a_tenth() {
        return;
    }
    let (again, percent) = look();
    assert!(
        again > 50.0 && (2.0..60.0).contains(&percent),
        "a tenth is lost, and some only seem to be: {again} segments, {percent} %"
    );
}

#[test]
fn an_unknown_speed_makes_no_percentage() {
    let Some(namespace) = Namespace::new("speed") else { return };
    let run = |program: &str, arguments: &[&str]| namespace.command(program).args(arguments).run().unwrap();
    // sysfs says -1 of a bridge without members, and nothing of the others; what this kernel has not is left out.
    let kinds = ["bridge", "ifb", "dummy"];
    let made = |kind: &&str| {
        run("ip", &["link", "add", kind, "type", kind]).code == Some(0)
            && run("ip", &["link", "set", kind, "up"]).code == Some(0)
    };
    let unknown: Vec<&str> = kinds.into_iter().filter(made).chain(["lo"]).collect();
    if unknown.len() < 2 {
        testkit::lacks("bridge, ifb or dummy interfaces");
        return;
    }
    let send = "import socket,sys\nfor link in sys.argv[1:]:\n  s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\n  s.bind((link,0))\n  \
                for i in range(1000): s.send(b'\\xff'*6+b'\\x02\\0\\0\\0\\0\\1\\x88\\xb5'+b'x'*986)\n";
    let stat = |arguments: &[&str]| namespace.command(IODYNO).args(["stat", "net"]).args(arguments);
    let mut watch = stat(&["--json", "1", "10"]).spawn().unwrap();
    assert!(watch.wait_for_stdout("}", Duration::from_secs(60)), "{}", watch.stderr());
    run("python3", &[&["-c", send][..], &unknown].concat()).expect_code(0);
    let shown = watch.wait().unwrap().expect_code(0).ndjson();
    for name in &unknown {
        let kib = |row: &Value| ["rx_kib_per_s", "tx_kib_per_s"].map(|key| row[key].as_f64().unwrap());
        let most = |row: &Value| kib(row)[0].max(kib(row)[1]);
        let rows = shown.iter().filter(|row| row["name"] == *name);
        let row = rows.max_by(|one, other| most(one).total_cmp(&most(other)));
        let row = row.unwrap_or_else(|| panic!("no {name} in {shown:?}"));
        assert!(most(row) > 100.0, "{name} carried something: {row}");
        for key in ["util_percent", "rx_util_percent", "tx_util_percent", "speed_mbit_per_s"] {
            assert!(row[key].is_null(), "{key} of {name} is made up: {row}");
        }
    }
    // The same in words, in nicstat's form, in the list; and a percentage as soon as the user gives the speed.
    let lines = stat(&["0.2", "1"]).run().unwrap().expect_code(0).stdout;
    let parseable = stat(&["-p", "0.2", "1"]).run().unwrap().expect_code(0).stdout;
    let list = stat(&["-l"]).run().unwrap().expect_code(0).stdout;
    for name in &unknown {
        let line = |text: &str| text.lines().find(|line| line.contains(name)).unwrap_or_default().to_string();
        assert_eq!(line(&lines).split_whitespace().nth(8), Some("?"), "{lines}");
        assert_eq!(line(&parseable).split(':').nth(6), Some("?"), "{parseable}");
        assert_eq!(line(&list).split_whitespace().nth(2), Some("?"), "{list}");
    }
    let speed = format!("{}:100fd", unknown[0]);
    let known = stat(&["-i", unknown[0], "-S", &speed, "--json", "0.2", "1"]).run().unwrap().expect_code(0).ndjson();
    assert_eq!(known[0]["speed_mbit_per_s"], 100.0);
    assert!(known[0]["util_percent"].is_number(), "{known:?}");
}

#[test]
fn a_disks_counters_agree_with_the_load() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(64 << 20).unwrap();
    let name = device.name();
    let mut stat =
        TestCommand::new(IODYNO).args(["stat", "disk", "-i", &name, "--json", "500ms", "12"]).spawn().unwrap();
    assert!(stat.wait_for_stdout("}", Duration::from_secs(60)), "{}", stat.stderr());
    let file = testkit::direct::open(device.path()).unwrap();
    for block in 0..200 {
        testkit::direct::read(&file, block * 65_536, 65_536).unwrap();
    }
    let shown = stat.wait().unwrap().expect_code(0).ndjson();
    let count = |key: &str| -> f64 {
        shown.iter().map(|line| line[key].as_f64().unwrap() * line["interval_s"].as_f64().unwrap()).sum()
    };
    assert!((count("read_per_s") - 200.0).abs() < 0.01, "{}", count("read_per_s"));
    assert!((count("read_kib_per_s") - 200.0 * 64.0).abs() < 0.1);
    let sizes: Vec<f64> = values(&shown, "read_size_kib").into_iter().filter(|size| *size > 0.0).collect();
    assert!(!sizes.is_empty() && sizes.iter().all(|size| (size - 64.0).abs() < 1e-6), "{sizes:?}");
}

#[test]
fn forms_and_flags() {
    let of = |arguments: &[&str]| TestCommand::new(IODYNO).arg("stat").args(arguments).run().unwrap();
    let csv = of(&["cpu", "--csv", "0.1", "2"]).expect_code(0).stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
    let boot = of(&["cpu", "--since-boot", "0.1", "2"]).expect_code(0).stdout;
    assert!(boot.lines().nth(1).unwrap().trim_start().starts_with("boot"), "{boot}");
    let me = std::process::id().to_string();
    let process = of(&["proc", "--pid", "1", "--since-boot", "--json", "0.1", "1"]).expect_code(0).ndjson();
    assert_eq!(process.len(), 1, "{me}");
    assert_eq!(process[0]["pid"].as_f64(), Some(1.0));
    let parseable = of(&["net", "-x", "-p", "-i", "lo", "0.1", "1"]).expect_code(0).stdout;
    assert_eq!(parseable.trim().split(':').count(), 13, "{parseable}");
    for (wrong, word) in [
        (&["disk", "-M"][..], "-M belongs to"),
        (&["net", "--busy"], "--busy belongs to"),
        (&["net", "-S", "eth0"], "eth0:1000fd"),
        (&["net", "1ms"], "too short"),
        (&["net", "-a", "--csv"], "one subject"),
        (&["net", "1", "0"], "0 lines"),
        (&["proc", "--top", "0"], "--top 0"),
        (&["mem", "-i", "foo"], "-i chooses rows"),
        (&["net", "-l", "--json"], "-l is a list for people"),
        (&["net", "-s", "-x"], "choose one"),
        (&["disk", "--seconds"], "belong to `iodyno stat proc`"),
        (&["proc", "--of-system", "--json"], "for people"),
        (&["net", "10", "-r", "/nowhere"], "cannot be used with"),
    ] {
        let refused = of(wrong).expect_code(2);
        assert!(refused.stderr.contains(word), "{wrong:?}: {}", refused.stderr);
    }
}

#[test]
fn a_command_is_recorded_while_it_runs() {
    let scratch = Scratch::new();
    let directory = scratch.path("made");
    let arguments = ["record", "-i", "200ms", "-o", directory.to_str().unwrap(), "--"];
    let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 0.5; exit 9";
    let ended = TestCommand::new(IODYNO).args(arguments).args(["sh", "-c", script]).run().unwrap().expect_code(9);
    for word in ["user", "written", "recording"] {
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
    }
    for table in ["cpu", "memory", "net", "tcp", "udp", "system", "process"] {
        assert!(scratch.table("made", table).len() >= 2, "{table}");
    }
    let shell = scratch.table("made", "process").into_iter().filter(|row| row["comm"] == "sh");
    assert!(shell.map(|row| row["user_ns"].as_i64().unwrap()).max().unwrap() > 0);
    let tables = scratch.iodyno(&["export", "made"]).run().unwrap().expect_code(0).stdout;
    if tables.lines().any(|line| line.starts_with("event ")) {
        // What the kernel said meanwhile, of devices of other tests, is kept, and that there was no processor for a sample; nothing else happened.
        let events = scratch.table("made", "event");
        let is_of_others = |event: &Value| event["kind"] == "kernel" || event["kind"] == "gap";
        assert!(events.iter().all(is_of_others), "nothing went wrong: {events:?}");
    }
}

/// Bytes that table `disk` of a recording says were read of a device.
fn bytes_read(scratch: &Scratch, recording: &str, device: &str) -> i64 {
    let rows = scratch.table(recording, "disk");
    let sectors: Vec<i64> =
        rows.iter().filter(|row| row["device"] == device).map(|row| row["read_sectors"].as_i64().unwrap()).collect();
    sectors.last().map_or(0, |last| last - sectors[0]) * 512
}

#[test]
fn what_a_command_reads_at_once_is_in_its_recording() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(8 << 20).unwrap();
    let counted = || {
        let stat = std::fs::read_to_string(format!("/sys/block/{}/stat", device.name())).unwrap();
        stat.split_whitespace().nth(2).unwrap().parse::<i64>().unwrap() * 512
    };
    let scratch = Scratch::new();
    let script = format!("dd if={} of=/dev/null bs=64k count=1 iflag=direct; sleep 1.5", device.path().display());
    let before = counted();
    scratch.iodyno(&["record", "-o", "r", "--", "sh", "-c", &script]).run().unwrap().expect_code(0);
    let passed = counted() - before;
    assert!(passed >= 65536, "{passed}");
    assert_eq!(bytes_read(&scratch, "r", &device.name()), passed);
}

#[test]
fn what_a_load_reads_at_once_is_between_the_samples_of_its_devices() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(8 << 20).unwrap();
    let scratch = Scratch::new();
    let job = format!("[a]\nfilename={}\nrw=read\nbs=64k\nsize=8m\ndirect=1\n", device.path().display());
    scratch.write("a.fio", &job);
    scratch.iodyno(&["run", "a.fio", "-o", "r"]).run().unwrap().expect_code(0);
    assert_eq!(bytes_read(&scratch, "r", &device.name()), 8 << 20);
}

#[test]
fn a_killed_collector_loses_nothing_that_it_had_written() {
    let scratch = Scratch::new();
    let directory = scratch.path("killed");
    let arguments = ["record", "-i", "50ms", "-o", directory.to_str().unwrap()];
    let child = TestCommand::new(IODYNO).args(arguments).spawn().unwrap();
    let samples = || Reader::open(&directory).and_then(|reader| reader.table::<System>()).map_or(0, |rows| rows.len());
    let limit = testkit::now_ns() + 120_000_000_000;
    while samples() < 10 {
        assert!(testkit::now_ns() < limit, "{} samples in 120 s", samples());
        std::thread::sleep(Duration::from_millis(50));
    }
    child.signal(Signal::KILL);
    let _ = child.wait();
    let rows = scratch.table("killed", "system");
    assert!(rows.len() >= 10, "{} samples", rows.len());
    // No sample twice, none out of order.
    let times: Vec<i64> = rows.iter().map(|row| row["t_ns"].as_i64().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn a_recording_of_one_sample_shows_what_it_has_and_says_why_there_are_no_rates() {
    let scratch = Scratch::new();
    let directory = scratch.path("single");
    let arguments = ["record", "-i", "100s", "-o", directory.to_str().unwrap()];
    let child = TestCommand::new(IODYNO).args(arguments).spawn().unwrap();
    let samples = || Reader::open(&directory).and_then(|reader| reader.table::<System>()).map_or(0, |rows| rows.len());
    let limit = testkit::now_ns() + 60_000_000_000;
    while samples() < 1 {
        assert!(testkit::now_ns() < limit, "no sample in 60 s");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.signal(Signal::KILL);
    let _ = child.wait();
    assert_eq!(samples(), 1);
    let shown = scratch.iodyno(&["stat", "cpu", "-r", "single", "--json"]).run().unwrap();
    let lines = shown.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line["since_boot"] == true), "{}", shown.stdout);
    assert!(shown.stderr.contains("one sample") && shown.stderr.contains("rates need two"), "{}", shown.stderr);
}

/// A control group with a program in it that wants a whole CPU and may have a fifth; removed at the end.
struct HeldBack {
    folders: Vec<std::path::PathBuf>,
    name: String,
    spinner: std::process::Child,
}

impl HeldBack {
    /// Where version 2 has the controller `cpu`, there, else where version 1 has it; `None` when neither has.
    fn new() -> Option<Self> {
        let at = |place: &str| std::path::PathBuf::from("/sys/fs/cgroup").join(place);
        let has_cpu = |file: &str| {
            std::fs::read_to_string(at(file)).is_ok_and(|text| text.split_whitespace().any(|word| word == "cpu"))
        };
        let mounts = if has_cpu("cgroup.subtree_control") { vec![at("")] } else { vec![at("cpu"), at("cpuacct")] };
        let name = testkit::own_name("held");
        let folders: Vec<_> = mounts.iter().filter(|mount| mount.exists()).map(|mount| mount.join(&name)).collect();
        let made =
            testkit::is_root() && !folders.is_empty() && folders.iter().all(|path| std::fs::create_dir(path).is_ok());
        let mut spinner = std::process::Command::new("sh");
        let spinner = spinner.args(["-c", "while :; do :; done"]).envs([testkit::mark()]).spawn().unwrap();
        let group = Self { folders, name, spinner };
        let put =
            |file: &str, text: &str| group.folders.iter().any(|path| std::fs::write(path.join(file), text).is_ok());
        let limited = made && (put("cpu.max", "20000 100000") || put("cpu.cfs_quota_us", "20000"));
        let id = group.spinner.id().to_string();
        let inside = limited && group.folders.iter().all(|path| std::fs::write(path.join("cgroup.procs"), &id).is_ok());
        inside.then_some(group)
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        let _ = self.spinner.kill();
        let _ = self.spinner.wait();
        for folder in &self.folders {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[test]
#[ignore = "times: make exam"]
fn a_control_group_is_held_back_by_its_limit() {
    testkit::while_cpus_are_ours(once_a_control_group_is_held_back_by_its_limit);
}

fn once_a_control_group_is_held_back_by_its_limit() {
    let Some(group) = HeldBack::new() else {
        testkit::lacks("control groups with a limit of CPU time");
        return;
    };
    let name = format!("/{}", group.name);
    let of = |more: &[&str]| TestCommand::new(IODYNO).args(["stat", "cgroup", "-i", &name]).args(more).run().unwrap();
    let shown = of(&["--json", "1", "3"]).expect_code(0).ndjson();
    assert_eq!(shown.len(), 3, "{shown:?}");
    for row in &shown {
        assert_eq!((&row["subject"], &row["name"]), (&Value::from("cgroup"), &Value::from(name.as_str())));
        let of = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} is null in {row}"));
        // More than it may have it cannot get: a period more or less at either end of a second.
        assert!(of("cpu_percent") > 0.0 && of("cpu_percent") < 20.0 + 4.5, "{row}");
        assert!((of("cpu_limit_percent") - 20.0).abs() < 1e-6, "{row}");
        // By the tick in version 1, so not to be held against the exact sum.
        assert!(of("user_percent") >= 0.0 && of("system_percent") >= 0.0, "{row}");
        assert!(of("throttled_percent") > 0.0 && of("throttled_ms_per_s") > 0.0, "{row}");
    }
    let lines = of(&["0.5", "1"]).expect_code(0).stdout;
    assert!(lines.lines().next().unwrap().contains("%limit") && lines.contains(&name), "{lines}");
    let csv = of(&["--csv", "0.5", "1"]).expect_code(0).stdout;
    let widths: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(widths.len(), 2, "{csv}");
    assert_eq!(widths[0], widths[1], "{csv}");
    // The same of a recording, where groups are looked at beside all else.
    let scratch = Scratch::new();
    scratch.iodyno(&["record", "-o", "old", "--for", "4s"]).run().unwrap().expect_code(0);
    let table = scratch.iodyno(&["export", "old", "cgroup", "--csv"]).run().unwrap().expect_code(0).stdout;
    assert!(table.contains(&name), "{table}");
    // How many looks there are depends on how many groups this machine has.
    for path in [name.as_str(), "/"] {
        let old = scratch.iodyno(&["stat", "cgroup", "-r", "old", "--json", "-i", path]).run().unwrap().expect_code(0);
        let old = old.ndjson();
        let most = if path == "/" { f64::INFINITY } else { 24.5 };
        assert!(
            old.iter().all(|row| row["cpu_percent"].as_f64().is_some_and(|cpu| cpu > 0.0 && cpu < most)),
            "{old:?}"
        );
    }
}

/// A second reader of the drivers' counters: names and values, one a line.
const ETHTOOL: &str = "import array,fcntl,socket,struct,sys\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n\
    def call(data):\n  a=array.array('B',data)\n  fcntl.ioctl(s,0x8946,struct.pack('16sP16x',b'v0',a.buffer_info()[0]))\n  return a.tobytes()\n\
    n=struct.unpack_from('=I',call(struct.pack('=IIQI',0x37,0,2,0)+bytes(4)),16)[0]\n\
    names=call(struct.pack('=III',0x1b,1,n)+bytes(32*n))[12:]\nvalues=call(struct.pack('=II',0x1d,n)+bytes(8*n))[8:]\n\
    for i in range(n):\n  print(names[32*i:32*i+32].split(b'\\0')[0].decode(),struct.unpack_from('=Q',values,8*i)[0])\n";

#[test]
fn counters_of_a_driver_are_those_that_ethtool_shows() {
    let Some(namespace) = Namespace::new("nic") else { return };
    let send = "import socket\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nfor i in range(50): s.sendto(b'x'*1400,('10.99.0.2',9))\n";
    namespace.command("python3").args(["-c", send]).run().unwrap().expect_code(0);
    let ask = || namespace.command("python3").args(["-c", ETHTOOL]).run().unwrap().expect_code(0).stdout;
    let scratch = Scratch::new();
    let folder = scratch.path("nic");
    let before = ask();
    let record = ["record", "-o", folder.to_str().unwrap(), "--for", "1s"];
    namespace.command(IODYNO).args(record).run().unwrap().expect_code(0);
    let after = ask();
    let rows = scratch.table("nic", "nic_counter");
    assert!(rows.iter().all(|row| row["interface"] != "lo"), "lo has no such counters: {rows:?}");
    let lines = |text: &str| -> Vec<(String, i64)> {
        let pair = |line: &str| line.rsplit_once(' ').map(|(name, value)| (name.to_string(), value.parse().unwrap()));
        text.lines().filter_map(pair).collect()
    };
    let (before, after) = (lines(&before), lines(&after));
    assert!(before.iter().any(|(name, value)| name == "peer_ifindex" && *value > 0), "{before:?}");
    assert!(before.len() > 1, "{before:?}");
    for ((name, from), (_, to)) in before.iter().zip(&after) {
        let row = rows.iter().find(|row| row["interface"] == "v0" && row["name"] == name.as_str());
        match row {
            Some(row) => assert!((*from..=*to).contains(&row["value"].as_i64().unwrap()), "{row}: {from} to {to}"),
            None => assert_eq!(*from, 0, "{name} is missing: {rows:?}"),
        }
    }
    // What can be measured here is said once, in the manifest.
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap();
    let subjects = &manifest["extra"]["subjects"];
    assert_eq!(subjects["cpu"], "works", "{manifest}");
    let zfs = subjects["zfs"].as_str().unwrap();
    assert!(zfs == "works" || zfs.starts_with("not applicable: "), "{zfs}");
}

/// A loop device of a number that was never used, so that its counters are 0; removed at the end.
struct NewLoop {
    number: testkit::LoopNumber,
    path: String,
}

impl NewLoop {
    fn new(backing: &str) -> Option<Self> {
        if !testkit::require_root_or_skip() {
            return None;
        }
        let number = match testkit::LoopNumber::new() {
            Ok(number) => number,
            Err(error) => {
                testkit::lacks(&format!("a new loop device: {error}"));
                return None;
            }
        };
        let path = format!("/dev/loop{}", number.get());
        if !std::path::Path::new(&path).exists() {
            TestCommand::new("mknod").args([&*path, "b", "7", number.get()]).run().unwrap().expect_code(0);
        }
        let this = Self { number, path };
        TestCommand::new("losetup").args([&*this.path, backing]).run().unwrap().expect_code(0);
        let stats = std::fs::read_to_string("/proc/diskstats").unwrap();
        let line = stats.lines().find(|line| line.split_whitespace().nth(2) == Some(&*this.name())).unwrap();
        assert!(line.split_whitespace().skip(3).all(|word| word == "0"), "it is not new: {line}");
        Some(this)
    }

    fn name(&self) -> String {
        format!("loop{}", self.number.get())
    }

    fn write(&self, count: u32) {
        let (of, count) = (format!("of={}", self.path), format!("count={count}"));
        TestCommand::new("dd")
            .args(["if=/dev/zero", &of, "bs=4k", &count, "oflag=direct"])
            .run()
            .unwrap()
            .expect_code(0);
    }
}

impl Drop for NewLoop {
    fn drop(&mut self) {
        let _ = TestCommand::new("losetup").args(["-d", &self.path]).run();
    }
}

/// Writes of all intervals.
fn writes(lines: &[Value]) -> f64 {
    let of = |line: &Value| line["write_per_s"].as_f64().unwrap() * line["interval_s"].as_f64().unwrap();
    lines.iter().map(of).sum()
}

#[test]
fn the_first_ios_of_a_new_device_are_seen_and_an_idle_one_that_was_asked_for_has_rows() {
    see_the_first_ios(false);
}

#[test]
#[ignore = "times: make exam"]
fn no_sample_comes_right_after_the_last_regular_one() {
    testkit::while_cpus_are_ours(|| see_the_first_ios(true));
}

/// On a machine that is `quiet` a recording ends with a regular sample.
fn see_the_first_ios(quiet: bool) {
    let scratch = Scratch::new();
    let backing = scratch.path("backing");
    std::fs::File::create(&backing).unwrap().set_len(8 << 20).unwrap();
    let Some(device) = NewLoop::new(backing.to_str().unwrap()) else { return };
    let stat = ["stat", "disk", "-i", &device.name(), "--json", "0.5", "12"];
    let mut stat = TestCommand::new(IODYNO).args(stat).spawn().unwrap();
    assert!(stat.wait_for_stdout("}", Duration::from_secs(60)), "idle, and yet a line: {}", stat.stderr());
    device.write(100);
    let shown = stat.wait().unwrap().expect_code(0).ndjson();
    assert_eq!(shown.len(), 12);
    assert_eq!(shown[0]["write_per_s"].as_f64(), Some(0.0));
    assert!((writes(&shown) - 100.0).abs() < 1e-6, "{}", writes(&shown));
    let errors = values(&shown, "rate_error_percent");
    // Where the reader has no processor between two counters, the bound of the error is as long as that.
    assert!(errors.iter().all(|percent| *percent > 0.0 && (!quiet || *percent < 50.0)), "{errors:?}");
    assert!(errors.iter().any(|percent| *percent < 50.0), "{errors:?}");
    drop(device);
    // No option names the device: the recording has its first I/Os all the same.
    let device = NewLoop::new(backing.to_str().unwrap()).unwrap();
    let directory = scratch.path("new");
    let record = ["record", "-i", "250ms", "--for", "5s", "-o", directory.to_str().unwrap()];
    let record = TestCommand::new(IODYNO).args(record).spawn().unwrap();
    crate::support::wait_for_samples(&directory, 2);
    device.write(100);
    record.wait().unwrap().expect_code(0);
    let again = ["stat", "disk", "-i", &device.name(), "-r", directory.to_str().unwrap(), "--json"];
    let shown = TestCommand::new(IODYNO).args(again).run().unwrap().expect_code(0).ndjson();
    assert!((writes(&shown) - 100.0).abs() < 1e-6, "{shown:?}");
    // The regular samples are all there are, and that of the end where it comes late: none comes some milliseconds after the last of them.
    let times: Vec<i64> = scratch.table("new", "sample").iter().map(|row| row["t_ns"].as_i64().unwrap()).collect();
    let steps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(times.len() <= 22 && (!quiet || steps.iter().all(|step| *step > 25_000_000)), "{steps:?}");
}

#[test]
fn idle_processes_that_were_asked_for_have_rows_and_strangers_are_said() {
    let sleep = TestCommand::new("sleep").arg("60").spawn().unwrap();
    let pid = sleep.id().to_string();
    let of = |arguments: &[&str]| TestCommand::new(IODYNO).arg("stat").args(arguments).run().unwrap().expect_code(0);
    let shown = of(&["proc", "--pid", &pid, "--json", "0.2", "3"]).ndjson();
    assert_eq!(values(&shown, "cpu_percent"), [0.0, 0.0, 0.0]);
    let lines = of(&["proc", "--pid", &pid, "--seconds", "0.2", "2"]).stdout;
    assert!(lines.contains("CPU s") && lines.contains(" 0.0000"), "{lines}");
    drop(sleep);
    for (arguments, word) in [
        (&["net", "-i", "nosuch", "0.1", "1"][..], "no interface nosuch"),
        (&["net", "-S", "nosuch:100", "0.1", "1"], "no interface nosuch"),
        (&["net", "-l", "-i", "nosuch"], "no interface nosuch"),
        (&["proc", "--pid", "4194304", "0.1", "1"], "no process 4194304"),
        (&["disk", "-i", "nosuch", "0.1", "1"], "no device nosuch"),
    ] {
        let said = of(arguments);
        assert!(said.stderr.contains(word), "{arguments:?}: {}", said.stderr);
        assert!(said.stdout.lines().all(|line| !line.contains("nosuch")), "{}", said.stdout);
    }
    let known = of(&["net", "-l", "-i", "lo"]);
    assert_eq!((known.stdout.lines().count(), known.stderr.as_str()), (2, ""));
}
