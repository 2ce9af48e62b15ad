//! The shipped systemd unit, started by a systemd of its own.

use crate::support::Scratch;
use recording::rows::{Cpu, CpuEvent, Exited, Process};
use recording::{Reader, RecordingState};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Child, CommandOutput, TestCommand};

const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/iodyno-record.service");
const ENTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/systemd/enter.sh");
const BOOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/systemd/boot.sh");

/// A systemd in namespaces of its own; killed, with all that it started, when dropped.
struct Systemd {
    outside: Child,
    pid: u32,
    /// The control group in which it makes its own, in every hierarchy; the next test's to remove when this one is killed.
    group: String,
}

impl Systemd {
    /// `None`, and why is printed, where it does not start.
    fn start(scratch: &Scratch) -> Option<Self> {
        let group = testkit::own_name("systemd");
        let place = scratch.path("systemd");
        std::fs::create_dir(&place).unwrap();
        let outside = TestCommand::new("setpriv")
            .args(["--pdeathsig", "KILL", ENTER, &group])
            .args([
                "unshare",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount",
                "--cgroup",
                "--net",
                "--ipc",
                "--uts",
                BOOT,
            ])
            .args([place.as_os_str(), env!("CARGO_BIN_EXE_iodyno").as_ref(), UNIT.as_ref(), group.as_ref()])
            .limit(Duration::from_secs(120))
            .spawn()
            .unwrap();
        let mut systemd = Self { outside, pid: 0, group };
        for _ in 0..300 {
            std::thread::sleep(Duration::from_millis(100));
            let children = format!("/proc/{0}/task/{0}/children", systemd.outside.id());
            let inside = std::fs::read_to_string(children).unwrap_or_default();
            if let Some(pid) = inside.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
                systemd.pid = pid;
                if systemd.ctl(&["show", "--value", "-p", "Version"]).code == Some(0) {
                    return Some(systemd);
                }
            }
            if systemd.outside.has_ended() {
                break;
            }
        }
        let words = systemd.outside.stdout() + &systemd.outside.stderr();
        testkit::lacks(&format!("a systemd that starts in namespaces: {words}"));
        None
    }

    /// Runs a program in there.
    fn run(&self, program: &[&str]) -> CommandOutput {
        let target = self.pid.to_string();
        TestCommand::new("nsenter").args(["-t", &target, "-a", "-r", "--"]).args(program).run().unwrap()
    }

    fn ctl(&self, arguments: &[&str]) -> CommandOutput {
        self.run(&[&["systemctl"], arguments].concat())
    }

    fn property(&self, name: &str) -> String {
        self.ctl(&["show", "--value", "-p", name, "iodyno-record"]).stdout.trim().to_string()
    }

    /// Its control groups in all hierarchies, the inner ones first.
    fn groups(&self) -> Vec<PathBuf> {
        let inner = format!("*/{}*", self.group);
        let all = ["/sys/fs/cgroup", "-depth", "-type", "d", "-path", &inner];
        let found = TestCommand::new("find").args(all).run().unwrap();
        found.stdout.lines().map(PathBuf::from).collect()
    }

    /// What the unit has collected, oldest first.
    fn recordings(&self) -> Vec<PathBuf> {
        let directory = format!("/proc/{}/root/var/lib/iodyno", self.pid);
        // systemd makes the directory behind the moment from which it calls the unit active.
        let entries = match std::fs::read_dir(Path::new(&directory)) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => panic!("{directory}: {error}"),
        };
        let mut all: Vec<PathBuf> = entries.filter(|path| path.join("manifest.json").exists()).collect();
        all.sort_by_key(|path| Reader::open(path).unwrap().manifest().started_t_ns);
        all
    }
}

impl Drop for Systemd {
    fn drop(&mut self) {
        // With the first process of a PID namespace all the others end; their control groups stay.
        self.outside.signal(Signal::KILL);
        for _ in 0..50 {
            let ours = self.groups();
            if ours.is_empty() {
                return;
            }
            ours.iter().for_each(|group| {
                let _ = std::fs::remove_dir(group);
            });
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Waits until something is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..300 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}");
}

#[test]
fn the_units_capabilities_are_enough_for_short_processes_and_cpu_time_by_event() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/iodyno-record.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    let kept = unit.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet=")).unwrap();
    let kept: Vec<String> = kept.split_whitespace().map(|name| name.replace("CAP_", "+").to_lowercase()).collect();
    let scratch = Scratch::new();
    let short = TestCommand::new("sh").args(["-c", "while :; do /bin/true; done"]).spawn().unwrap();
    let bounding = format!("--bounding-set=-all,{}", kept.join(","));
    let record = [env!("CARGO_BIN_EXE_iodyno"), "record", "-o", "kept", "--for", "3s"];
    TestCommand::new("setpriv").arg(&bounding).args(record).dir(scratch.path("")).run().unwrap().expect_code(0);
    short.signal(Signal::KILL);
    let reader = Reader::open(scratch.path("kept")).unwrap();
    let subjects = &reader.manifest().extra["subjects"];
    for subject in ["exited", "cpu_event", "irq_time"] {
        assert_eq!(subjects[subject], "works", "{subjects}");
    }
    // What rules R8, R9 and R10 rest on.
    assert!(reader.table::<CpuEvent>().unwrap().iter().any(|row| row.run_ns > 0));
    let exited = reader.table::<Exited>().unwrap();
    assert!(exited.iter().any(|row| &*row.comm == "true"), "{exited:?}");
}

#[test]
fn the_shipped_unit_is_confined() {
    let analyze = ["security", "--offline=yes", "--no-pager", "--threshold=25", UNIT];
    let has_it =
        TestCommand::new("systemd-analyze").arg("--version").run().is_ok_and(|version| version.code == Some(0));
    if !has_it && testkit::lacks("systemd-analyze (apt-get install systemd)") {
        return;
    }
    // In tenths: it fails above.
    let judged = TestCommand::new("systemd-analyze").args(analyze).run().unwrap();
    assert_eq!(judged.code, Some(0), "{}{}", judged.stdout, judged.stderr);
    assert!(judged.stdout.contains("Overall exposure level"), "{}", judged.stdout);
}

#[test]
fn the_shipped_unit_collects_seals_and_starts_again() {
    let lacks_systemd =
        !Path::new("/lib/systemd/systemd").exists() && testkit::lacks("systemd (apt-get install systemd)");
    // Two of them would not agree about whose the control groups are.
    let has_another = Path::new("/run/systemd/system").exists() && testkit::lacks("a machine on which no systemd runs");
    if lacks_systemd || has_another || !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let Some(systemd) = Systemd::start(&scratch) else { return };
    // A process of another user: reading its I/O needs a capability.
    let target = systemd.pid.to_string();
    let busy =
        ["-t", &target, "-a", "-r", "-S", "65534", "-G", "65534", "--", "sh", "-c", "while :; do /bin/true; done"];
    let busy = TestCommand::new("nsenter").args(busy).limit(Duration::from_secs(90)).spawn().unwrap();
    let cpu_rows = |path: &Path| Reader::open(path).unwrap().table::<Cpu>().unwrap().len();
    wait_until(&format!("not active: {}", systemd.ctl(&["status", "iodyno-record"]).stdout), || {
        systemd.ctl(&["is-active", "iodyno-record"]).stdout.trim() == "active"
    });
    wait_until("no samples", || systemd.recordings().last().is_some_and(|path| cpu_rows(path) >= 6));
    // The list of system calls is in force, and names of files and processes are for root only.
    let status = format!("/proc/{}/status", systemd.property("MainPID"));
    let confined = systemd.run(&["grep", "-E", "^(Seccomp|NoNewPrivs):", &status]).stdout;
    assert_eq!(confined.split_whitespace().collect::<Vec<_>>(), ["NoNewPrivs:", "1", "Seccomp:", "2"]);
    let open = systemd.run(&["find", "/var/lib/iodyno", "-perm", "/077"]).expect_code(0).stdout;
    assert_eq!(open, "", "others can read or write these");
    let second = systemd.run(&["iodyno", "record", "-d", "/var/lib/iodyno"]).expect_code(7);
    assert!(second.stderr.contains(&systemd.property("MainPID")), "{}", second.stderr);

    systemd.ctl(&["stop", "iodyno-record"]).expect_code(0);
    busy.signal(Signal::KILL);
    assert_eq!(systemd.property("Result"), "success");
    let stopped = Reader::open(&systemd.recordings()[0]).unwrap();
    assert_eq!(stopped.state(), RecordingState::Sealed);
    // What the unit forbids it must not take from what is collected.
    scratch.iodyno(&["record", "-o", "free", "--", "sleep", "2"]).run().unwrap().expect_code(0);
    let free = Reader::open(scratch.path("free")).unwrap();
    let subjects = |reader: &Reader| reader.manifest().extra["subjects"].as_object().unwrap().clone();
    let (mut kept, mut all) = (subjects(&stopped), subjects(&free));
    // systemd runs in a PID namespace of its own here, in which taskstats gives no answers; see below.
    for subjects in [&mut kept, &mut all] {
        subjects.remove("exited");
    }
    assert_eq!(kept, all);
    for subject in ["cpu_event", "irq_time", "process"] {
        assert_eq!(kept[subject], "works");
    }
    // Not only a word: what rules R8 and R10 rest on is there.
    assert!(stopped.table::<CpuEvent>().unwrap().iter().any(|row| row.run_ns > 0));
    let others = stopped.table::<Process>().unwrap();
    assert!(others.iter().any(|row| &*row.comm == "sh" && row.read_bytes.is_some()), "{others:?}");

    systemd.ctl(&["start", "iodyno-record"]).expect_code(0);
    wait_until("no samples of the second start", || {
        systemd.recordings().get(1).is_some_and(|path| cpu_rows(path) >= 6)
    });
    let killed = systemd.property("MainPID");
    systemd.run(&["kill", "-9", &killed]).expect_code(0);
    wait_until("not started again", || {
        systemd.property("NRestarts") == "1" && systemd.recordings().get(2).is_some_and(|path| cpu_rows(path) >= 3)
    });
    wait_until("not sealed after the kill", || {
        let healed = Reader::open(&systemd.recordings()[1]).unwrap();
        (healed.state(), healed.manifest().exit.clone())
            == (RecordingState::Sealed, Some(recording::RecordingExit::Killed))
    });
}
