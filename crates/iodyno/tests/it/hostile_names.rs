//! Names of processes, files, control groups, and what stands in recordings and parameter files of others, can do a terminal
//! and a page no harm.

use crate::support::Scratch;
use crate::support::terminal::bytes_on_a_terminal;
use quantity::histogram::Histogram;
use quantity::visible::is_hidden;
use recording::rows::{Event, OpInterval, RunTotal};
use recording::{ClockAnchor, EventKind, EventSeverity, LoadPhase, Manifest, RowBatch, Sink as _, Writer};
use rustix::process::Signal;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Child, TestCommand};

/// What sets a terminal's title, turns letters around, begins a sequence in C1, ends a line, and ends elements of HTML.
const HOSTILE: &str = "\x1b]0;OWNED\x07\u{202e}\u{9b}31m\nforged\"'><script>alert(1)</script>]]>";
/// The same as it is shown.
const SHOWN: &str = "\\x1b]0;OWNED\\x07\\u{202e}\\u{9b}31m\\nforged\"'><script>alert(1)</script>]]>";
/// Names of processes: at most 15 bytes each.
const COMMS: [&[u8]; 2] = [b"\x1b]0;OWNED\x07", b"\xe2\x80\xae\xc2\x9b31m\ny\xff"];
/// The first as it is shown.
const COMM_SHOWN: &str = "\\x1b]0;OWNED\\x07";
/// Sequences that we send.
const OWN: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m", "\r\x1b[K"];

/// What a command shows on a terminal of its own; nothing hidden may be in it but our own sequences.
fn shown(directory: &Path, arguments: &[&str]) -> String {
    let (bytes, code) = bytes_on_a_terminal(directory, arguments, &[]);
    let text = String::from_utf8(bytes).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    assert!((0..=10).contains(&code), "{arguments:?}: exit {code}: {text}");
    let rest = OWN.iter().fold(text.replace("\r\n", "\n"), |rest, own| rest.replace(own, ""));
    let bad = rest.chars().find(|c| is_hidden(*c) && !matches!(c, '\n' | '\t'));
    assert_eq!(bad, None, "{arguments:?}: {rest:?}");
    rest
}

/// The same of a page that moves the cursor itself: no title is set, no C1, nothing without width.
fn drawn(directory: &Path, arguments: &[&str], steps: &[&str]) {
    let (bytes, code) = bytes_on_a_terminal(directory, arguments, steps);
    let text = String::from_utf8(bytes).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    assert_eq!(code, 0, "{arguments:?}: {text:?}");
    assert!(!text.contains("\x1b]"), "{text:?}");
    let bad = text.chars().find(|c| is_hidden(*c) && !matches!(c, '\n' | '\t' | '\r' | '\x1b'));
    assert_eq!(bad, None, "{arguments:?}: {text:?}");
}

/// Processes with hostile names that use CPU time and write to a file with a hostile name; ended with the value.
struct Hostile {
    processes: Vec<Child>,
    group: Option<PathBuf>,
}

impl Hostile {
    fn new(scratch: &Scratch) -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let root = mounts.lines().find_map(|line| line.split(' ').nth(1).filter(|_| line.contains(" cgroup2 ")));
        let name = testkit::own_name("hostile") + "\x1b]0;OWNED\x07\u{202e}";
        // Without cgroup 2, or the right to make a group, the rest is tried.
        let group = root.map(|root| Path::new(root).join(name)).filter(|group| std::fs::create_dir(group).is_ok());
        let program = "import os,sys,time\n\
                       open('/proc/self/comm','wb').write(bytes.fromhex(sys.argv[1]))\n\
                       file=os.open(bytes.fromhex(sys.argv[2]),os.O_CREAT|os.O_RDWR|os.O_DSYNC)\n\
                       if len(sys.argv)>3: open(sys.argv[3]+'/cgroup.procs','w').write(str(os.getpid()))\n\
                       print('there',flush=True)\n\
                       while True:\n  os.pwrite(file,b'x'*4096,0)\n  for i in range(9000): pass\n  time.sleep(0.002)\n";
        let file = scratch.path("file\x1b]0;OWNED\x07\u{202e}\n<img src=x onerror=alert(1)>");
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let start = |comm: &[u8]| {
            let mut arguments =
                vec!["-c".to_string(), program.to_string(), hex(comm), hex(file.as_os_str().as_bytes())];
            arguments.extend(group.as_ref().map(|group| group.to_str().unwrap().to_string()));
            let mut child =
                TestCommand::new("python3").args(arguments).limit(Duration::from_secs(300)).spawn().unwrap();
            assert!(child.wait_for_stdout("there", Duration::from_secs(60)), "{}", child.stderr());
            child
        };
        let processes = COMMS.into_iter().map(start).collect();
        Self { processes, group }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.processes.iter().for_each(|process| process.signal(Signal::KILL));
        self.processes.clear();
        // A group is empty a moment after the last of its processes has ended.
        for _ in 0..500 {
            match self.group.as_ref().map(std::fs::remove_dir) {
                Some(Err(error)) if error.raw_os_error() == Some(16) => std::thread::sleep(Duration::from_millis(20)),
                _ => break,
            }
        }
    }
}

#[test]
fn a_name_of_a_process_or_group_cannot_reach_the_terminal_as_it_is() {
    let scratch = Scratch::new();
    let hostile = Hostile::new(&scratch);
    let here = scratch.path("");
    let all = ["200ms", "2", "--top", "1000"];
    for more in [&["proc"][..], &["proc", "--csv"], &["proc", "-p"], &["proc", "-x"]] {
        // Each that had a processor meanwhile is there.
        let is_there = |text: &String| text.contains(COMM_SHOWN) && text.contains("\\u{202e}\\u{9b}31m");
        let text = testkit::until_enough(|| shown(&here, &[&["stat"], more, &all].concat()), is_there);
        // A cell of CSV may have two lines.
        assert!(more.contains(&"--csv") || !text.lines().any(|line| line.starts_with('y')), "{more:?}: {text}");
    }
    let json = || shown(&here, &[&["stat", "proc", "--json"][..], &all].concat());
    let is_named = |row: &serde_json::Value| row["name"].as_str().is_some_and(|name| name.as_bytes() == COMMS[0]);
    testkit::until_enough(json, |json| testkit::ndjson(json).iter().any(is_named));
    // Where controllers are of cgroup 1, a group of cgroup 2 has no figures.
    let has_figures = hostile.group.as_ref().is_some_and(|group| group.join("cpu.stat").exists());
    let has_figures = has_figures && !Path::new("/sys/fs/cgroup/cpuacct").exists();
    let groups = || shown(&here, &[&["stat", "cgroup"][..], &all].concat());
    testkit::until_enough(groups, |groups| !has_figures || groups.contains(COMM_SHOWN));
    shown(&here, &["top", "--once", "--size", "160x80", "--interval", "200ms"]);
    shown(&here, &["record", "-o", "recorded", "--for", "4s", "-i", "200ms"]);
    for table in ["process", "cgroup"] {
        for form in ["--csv", "--json"] {
            let text = shown(&here, &["export", "recorded", table, form]);
            let is_there = text.contains(COMM_SHOWN) || text.contains("\\u001b]0;OWNED\\u0007");
            assert!(is_there || table == "cgroup" && !has_figures, "{table} {form}: {text}");
        }
    }
    for arguments in [
        &["stat", "proc", "-r", "recorded", "--top", "1000"][..],
        &["top", "recorded", "--once", "--size", "160x80"],
        &["diagnose", "recorded", "--explain"],
        &["diagnose", "recorded", "--json"],
        &["report", "recorded"],
    ] {
        shown(&here, arguments);
    }
    drawn(&here, &["top", "recorded"], &["wait RECORDED", "keys p", "wait PROCESS", "keys q"]);
    // In a file or a pipe, data are as they are.
    let csv = scratch.iodyno(&["export", "recorded", "process", "--csv"]).run().unwrap().expect_code(0);
    assert!(csv.stdout.contains("\x1b]0;OWNED\x07"), "{}", csv.stdout);
    let text = scratch.iodyno(&["stat", "proc", "-r", "recorded", "--top", "1000"]).run().unwrap().expect_code(0);
    assert!(text.stdout.contains(COMM_SHOWN) && !text.stdout.contains('\x1b'), "{}", text.stdout);
}

#[test]
fn a_probed_name_cannot_reach_the_terminal_as_it_is() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let _hostile = Hostile::new(&scratch);
    let here = scratch.path("");
    let probe = |arguments: &[&str], named: bool| {
        // On a busy machine one of the two may not have run, or none.
        let is_there = |text: &String| !named || text.contains("\\x1b]0;OWNED") || text.contains("\\u{202e}\\u{9b}31m");
        testkit::until_enough(|| shown(&here, &[&["probe"], arguments, &["200ms", "2"]].concat()), is_there);
    };
    probe(&["cpu", "--by", "process", "--top", "1000"], true);
    probe(&["stacks", "--top", "1000"], true);
    probe(&["stacks", "--folded"], true);
    probe(&["io", "--by", "process", "--top", "1000"], false);
    probe(&["files", "--by", "file", "--top", "1000"], true);
    probe(&["files", "--json"], false);
    shown(&here, &["trace", "--all", "--files", "-o", "traced", "--for", "500ms"]);
    for arguments in [&["export", "traced", "io"][..], &["export", "traced", "file_interval"], &["report", "traced"]] {
        shown(&here, arguments);
    }
}

fn hostile() -> String {
    HOSTILE.to_string()
}

/// A manifest in which everything that can have a name has a hostile one.
fn hostile_manifest() -> Manifest {
    let mut manifest = Manifest::new(&[hostile(), hostile()]);
    (manifest.host, manifest.kernel, manifest.program) = (hostile(), hostile(), hostile());
    manifest.sources = vec![(hostile(), format!("{HOSTILE}\nwd={HOSTILE}\n"))];
    manifest.hardware = serde_json::json!({ "cpu": { "model": HOSTILE }, HOSTILE: { HOSTILE: HOSTILE } });
    manifest.exit = Some(hostile().as_str().into());
    manifest.losses.insert(hostile(), 7);
    manifest.extra.insert("subjects".to_string(), serde_json::json!({ "process": HOSTILE, "disk": HOSTILE }));
    manifest.extra.insert(hostile(), HOSTILE.into());
    manifest.clock_anchors = vec![ClockAnchor { t_ns: 1_000_000_000, wall_ns: 1_700_000_000_000_000_000 }];
    manifest.started_t_ns = 1_000_000_000;
    manifest
}

/// A recording of that kind, and its rows too.
fn recording(path: &Path, scale: u64) {
    let mut writer = Writer::create(path, hostile_manifest()).unwrap();
    let mut response = Histogram::default();
    (0..1000).for_each(|at| response.record((50_000 + at * 37) * scale));
    for second in 1..=20 {
        let (t_ns, t_s) = ((second + 1) * 1_000_000_000, second as f64);
        let interval = OpInterval {
            t_ns,
            t_s,
            interval_ns: 1_000_000_000,
            run: hostile(),
            run_index: 0,
            phase: if second < 3 { LoadPhase::Warmup } else { LoadPhase::Measure },
            workload: hostile(),
            target: hostile(),
            op: "read".to_string(),
            arrivals: Some(1000),
            ops: 1000,
            bytes: 4_096_000,
            errors: Some(0),
            service: response.clone(),
            wait: None,
            response: response.clone(),
            in_flight_mean: Some(1.5),
            backlog: Some(0),
        };
        writer.accept(&RowBatch::from_rows(&[interval]).unwrap()).unwrap();
        let event = Event {
            t_ns,
            t_s,
            severity: EventSeverity::Warning,
            kind: EventKind::Kernel,
            class: Some(HOSTILE.into()),
            run: Some(hostile()),
            target: Some(hostile()),
            message: hostile(),
            count: 1,
        };
        writer.accept(&RowBatch::from_rows(&[event]).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    let total = RunTotal {
        t_ns: 21_000_000_000,
        t_s: 20.0,
        start_t_ns: 3_000_000_000,
        run: hostile(),
        run_index: 0,
        phase: LoadPhase::Measure,
        workload: hostile(),
        target: hostile(),
        op: "read".to_string(),
        arrivals: Some(18_000),
        ops: 18_000,
        bytes: 73_728_000,
        errors: Some(0),
        service: response.clone(),
        response,
        ..RunTotal::default()
    };
    writer.accept(&RowBatch::from_rows(&[total]).unwrap()).unwrap();
    writer.commit().unwrap();
    writer.seal().unwrap();
}

#[test]
fn a_recording_of_others_cannot_reach_the_terminal_or_a_page_as_it_is() {
    let scratch = Scratch::new();
    let here = scratch.path("");
    recording(&scratch.path("a"), 1);
    recording(&scratch.path("b"), 3);
    let named = [
        &["compare", "a", "b", "-o", "compare.html"][..],
        &["check", "a", "--fail-if", "response_ns_p99 > 1us"],
        &["export", "a", "op_interval", "--csv"],
        &["export", "a", "event", "--csv"],
    ];
    for arguments in named {
        let text = shown(&here, arguments);
        // CSV doubles quotes, and its cells may have two lines.
        let is_there = text.contains(SHOWN) || text.contains("\\x1b]0;OWNED\\x07\\u{202e}\\u{9b}31m\nforged\"\"");
        assert!(is_there, "{arguments:?}: {text}");
    }
    for arguments in [
        &["report", "a"][..],
        &["check", "a", "--fail-if", "response_ns_p99 > 1us", "--json"],
        &["chart", "a", "run.response", "-o", "chart.svg"],
        &["chart", "a", "run.operations", "-o", "table.svg"],
        &["export", "a"],
        &["export", "a", "run.operations", "--csv"],
        &["export", "a", "op_interval", "--json"],
        &["export", "a", "--flatfile", "-o", "flat"],
        &["diagnose", "a", "--explain"],
        &["top", "a", "--once", "--size", "160x60"],
        &["stat", "disk", "-r", "a"],
        &["stat", "proc", "-r", "a"],
    ] {
        shown(&here, arguments);
    }
    let flat = ["flatfile", "totals", "summary", "histogram", "status"].map(|page| format!("flat/{page}.html"));
    let pages = ["a/report.html", "compare.html", "chart.svg", "table.svg"].map(str::to_string);
    let mut seen = 0;
    for name in pages.iter().chain(&flat) {
        let page = std::fs::read_to_string(scratch.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        // All but the page's own script.
        let page = page.replace(include_str!("../../../../web/dist/report.js"), "");
        let bad = page.chars().find(|c| is_hidden(*c) && !matches!(c, '\n' | '\t' | '\r'));
        assert_eq!(bad, None, "{name}");
        assert!(!page.contains("<script>alert") && !page.contains("forged\"'>"), "{name}");
        assert!(!name.ends_with(".svg") || !page.contains("]]>"), "{name}");
        seen += usize::from(page.contains("forged"));
    }
    assert!(seen >= 6, "the names are there: {seen}");
}

#[test]
fn a_parameter_file_or_path_of_others_cannot_reach_the_terminal_as_it_is() {
    let scratch = Scratch::new();
    let here = scratch.path("");
    let line = HOSTILE.replace('\n', "");
    scratch.write("mistakes.vdb", &format!("sd=sd1,lun=/x,bogus{line}=1\nwd=wd1,sd={line}\nrd=rd1,wd={line}\n"));
    scratch.write("mistakes.fio", &format!("[{line}]\nfilename={line}\nrw={line}\nbogus{line}=1\n"));
    scratch.write("thresholds.toml", &format!("[\"{line}\"]\n{line} = 1\n"));
    let name = HOSTILE.replace('/', "");
    let named = [
        &["run", "mistakes.vdb", "--dry-run"][..],
        &["run", "mistakes.fio", "--dry-run"],
        &["convert", "mistakes.fio"],
        &["report", &name],
        &["run", &name],
        &["import", &name, "-o", "x"],
        &["stat", "proc", "-i", &name, "200ms", "1"],
        &[&name],
        &["run", &format!("--{name}")],
    ];
    for arguments in named {
        let text = shown(&here, arguments);
        assert!(text.contains("\\x1b]0;OWNED") || text.contains('\u{fffd}'), "{arguments:?}: {text}");
    }
    // One line of words is one line, whatever is named in it.
    let report = shown(&here, &["stat", "proc", "-i", &name, "200ms", "1"]);
    assert!(!report.lines().any(|line| line.starts_with("forged")), "{report}");
    for arguments in [
        &["diagnose", &name, "--thresholds", "thresholds.toml"][..],
        &["import", "mistakes.vdb", "-o", "x"],
        &["check", &name, "--fail-if", &name],
        &["trace", "-d", &name],
        &["probe", "io", "-d", &name],
        &["chart", &name, &name],
    ] {
        shown(&here, arguments);
    }
}
