//! What the end-to-end tests share: a scratch folder, parameter files, runs of the built command.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it"
)]

pub mod causes;
pub mod loads;
pub mod terminal;

use recording::rows::Io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use testkit::{CommandOutput, LoopDevice, TestCommand};

/// A folder for one test, on a real file system (not tmpfs), and what runs in it.
pub struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// Under `/var/tmp`.
    pub fn new() -> Self {
        Self { folder: testkit::scratch_dir(testkit::ScratchPlace::Disk).expect("/var/tmp is writable") }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a parameter file.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("scratch file");
        path
    }

    /// `iodyno ARGUMENTS` in this folder, not started yet.
    pub fn iodyno(&self, arguments: &[&str]) -> TestCommand {
        TestCommand::new(env!("CARGO_BIN_EXE_iodyno"))
            .args(arguments)
            .dir(self.folder.path())
            .limit(Duration::from_secs(300))
    }

    /// Runs `text` as a parameter file with `--json`, the recording in `NAME`.
    pub fn run(&self, name: &str, text: &str, more: &[&str]) -> CommandOutput {
        let file = self.write(&format!("{name}.vdb"), text);
        let mut arguments = vec!["run", file.to_str().expect("utf-8"), "-o", name, "--json"];
        arguments.extend_from_slice(more);
        self.iodyno(&arguments).run().expect("iodyno runs")
    }

    /// Rows of a table of the recording `NAME`.
    pub fn table(&self, name: &str, table: &str) -> Vec<serde_json::Value> {
        table_of(&self.path(name), table)
    }
}

/// Rows of a table of a recording, through `iodyno export`.
pub fn table_of(recording: &Path, table: &str) -> Vec<serde_json::Value> {
    TestCommand::new(env!("CARGO_BIN_EXE_iodyno"))
        .args(["export", recording.to_str().expect("utf-8"), table, "--json"])
        .run()
        .expect("iodyno runs")
        .expect_code(0)
        .ndjson()
}

/// Waits until a recording that is being written has so many samples.
pub fn wait_for_samples(recording: &Path, count: usize) {
    let until_ns = testkit::now_ns() + 60_000_000_000;
    let export = ["export", recording.to_str().expect("utf-8"), "sample", "--json"];
    let has_them = || {
        let output = TestCommand::new(env!("CARGO_BIN_EXE_iodyno")).args(export).run().expect("iodyno runs");
        output.code == Some(0) && output.ndjson().len() >= count
    };
    while !has_them() && testkit::now_ns() < until_ns {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Sum of a column over the rows that pass.
pub fn sum(rows: &[serde_json::Value], column: &str, pass: impl Fn(&serde_json::Value) -> bool) -> i64 {
    rows.iter()
        .filter(|row| pass(row))
        .map(|row| row[column].as_i64().unwrap_or_else(|| panic!("{column} in {row}")))
        .sum()
}

/// A loop device over a disk of 64 MiB that stalls and fails on command; needs root.
///
/// Dropped in this order: the device before the file that it is over, that before the place where it is mounted.
pub struct FaultyDisk {
    /// The device.
    pub device: LoopDevice,
    /// Tells the disk what to do.
    pub disk: faultfs::DiskHandle,
    _mountpoint: TempDir,
}

impl FaultyDisk {
    /// `None` without the privilege to make one, which is said.
    pub fn new() -> Option<Self> {
        Self::of(faultfs::DiskConfig::new(64 << 20))
    }

    /// The same over another disk.
    pub fn of(config: faultfs::DiskConfig) -> Option<Self> {
        if !testkit::require_root_or_skip() {
            return None;
        }
        let mountpoint = tempfile::tempdir().unwrap();
        let disk = faultfs::Faultfs::mount(mountpoint.path(), config).unwrap();
        let device = LoopDevice::over(disk.disk()).unwrap();
        Some(Self { device, disk, _mountpoint: mountpoint })
    }
}

/// A setting of the kernel, put back as it was with the value.
pub struct Setting {
    file: PathBuf,
    before: String,
}

impl Setting {
    /// Changes it.
    pub fn new(file: PathBuf, value: &str) -> Self {
        let before = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, value).unwrap();
        Self { file, before }
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.file, &self.before);
    }
}

/// A network namespace with a pair of interfaces, one end in it; gone with the value.
pub struct Namespace(String);

impl Namespace {
    /// `None` without the privilege to make one, which is said.
    pub fn new(name: &str) -> Option<Self> {
        if !testkit::require_root_or_skip() {
            return None;
        }
        let this = Self(testkit::own_name(name));
        let (inside, peer) = (&this.0, format!("{}p", this.0));
        for namespace in [inside, &peer] {
            ip(&["netns", "add", namespace]);
        }
        ip(&["-n", inside, "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", &peer]);
        for (namespace, link, address) in [(inside, "v0", "10.99.0.1/24"), (&peer, "v1", "10.99.0.2/24")] {
            ip(&["-n", namespace, "addr", "add", address, "dev", link]);
            ip(&["-n", namespace, "link", "set", link, "up"]);
            ip(&["-n", namespace, "link", "set", "lo", "up"]);
        }
        Some(this)
    }

    /// A command in it.
    pub fn command(&self, program: &str) -> TestCommand {
        TestCommand::new("ip").args(["netns", "exec", &self.0, program])
    }
}

impl Namespace {
    /// A command at the other end.
    pub fn peer(&self, program: &str) -> TestCommand {
        TestCommand::new("ip").args(["netns", "exec", &format!("{}p", self.0), program])
    }
}

impl Namespace {
    /// From now on a tenth of all large packets is lost on the way to the other end; `false` where the kernel cannot.
    pub fn lose_a_tenth(&self) -> bool {
        let tc = |arguments: &[&str]| self.peer("tc").args(arguments).run().unwrap().code == Some(0);
        // More than 1,000 B long, and a random number of 32 bits in its uppermost tenth: lost. Most kernels have no netem.
        let program = "6,128 0 0 0,53 0 2 1000,32 0 0 4294963256,37 1 0 3865470566,6 0 0 0,6 0 0 2";
        let filter = ["filter", "add", "dev", "v1", "ingress", "bpf", "da", "bytecode", program];
        // One segment is one packet, so that what is lost is one segment.
        ip(&["-n", &self.0, "link", "set", "v0", "gso_max_segs", "1"]);
        let can = tc(&["qdisc", "add", "dev", "v1", "clsact"]) && tc(&filter);
        can || {
            testkit::lacks("tc clsact with a BPF filter");
            false
        }
    }

    /// TCP counters of the kernel in this namespace, `/proc/net/snmp`.
    pub fn tcp_counter(&self, name: &str) -> f64 {
        let snmp = self.command("cat").arg("/proc/net/snmp").run().unwrap().expect_code(0).stdout;
        let mut pair = snmp.lines().filter(|line| line.starts_with("Tcp:"));
        let (names, values) = (pair.next().unwrap(), pair.next().unwrap());
        let at = names.split_whitespace().position(|word| word == name).unwrap();
        values.split_whitespace().nth(at).unwrap().parse().unwrap()
    }

    /// Sends 2 MB in a second to the other end, through one connection, and waits until all of it has arrived.
    pub fn send_two_megabytes(&self) {
        let serve = "import socket\ns=socket.socket()\ns.bind(('10.99.0.2',7000))\ns.listen(8)\nprint('ready',flush=True)\n\
                     c,_=s.accept()\nwhile c.recv(1<<20): pass\nc.sendall(b'x')\n";
        let mut server = self.peer("python3").args(["-c", serve]).spawn().unwrap();
        assert!(server.wait_for_stdout("ready", Duration::from_secs(60)), "{}", server.stderr());
        let send = "import socket,time\ns=socket.create_connection(('10.99.0.2',7000))\n\
                    for i in range(100):\n  s.sendall(b'x'*20000); time.sleep(0.01)\ns.shutdown(1)\ns.recv(1)\n";
        self.command("python3").args(["-c", send]).run().unwrap().expect_code(0);
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        for namespace in [self.0.clone(), format!("{}p", self.0)] {
            let _ = TestCommand::new("ip").args(["netns", "del", &namespace]).run();
        }
    }
}

fn ip(arguments: &[&str]) {
    TestCommand::new("ip").args(arguments).run().unwrap().expect_code(0);
}

/// What an I/O was, as fio's own log has it: operation, offset and length in bytes.
pub type Done = (String, i64, i64);

/// What I/Os were, by our rows; in fio's words.
pub fn done(rows: &[Io]) -> Vec<Done> {
    let word = |op: &str| if op == "discard" { "trim".to_string() } else { op.to_string() };
    rows.iter().map(|io| (word(&io.op), io.sector * 512, io.bytes)).collect()
}

/// Runs fio with `options` on a device; what its log says it did.
pub fn fio_log(scratch: &Scratch, device: &Path, options: &[&str]) -> Vec<Done> {
    let log = scratch.path("fio.log");
    let _ = std::fs::remove_file(&log);
    TestCommand::new("fio")
        .args(["--name=known", "--direct=1", "--ioengine=libaio", "--thread=0", "--randrepeat=1", "--invalidate=0"])
        .arg(format!("--filename={}", device.display()))
        .arg(format!("--write_iolog={}", log.display()))
        .args(options)
        .dir(scratch.path(""))
        .run()
        .unwrap()
        .expect_code(0);
    let text = std::fs::read_to_string(&log).unwrap();
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    // Version 3: time, file, action, offset, bytes.
    words
        .filter_map(|words| match words.as_slice() {
            [_, _, action, offset, bytes] => Some(((*action).to_string(), offset.parse().ok()?, bytes.parse().ok()?)),
            _ => None,
        })
        .collect()
}
