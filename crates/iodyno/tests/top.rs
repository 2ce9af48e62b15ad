//! `top` on a real terminal: keys, sizes, ends, and the terminal given back.
#![allow(clippy::unwrap_used, clippy::allow_attributes, clippy::print_stdout, reason = "helpers of tests")]

use std::time::Duration;
use testkit::Command;

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// Runs `top` on a terminal of its own: steps are `wait TEXT`, `keys TEXT`, `size COLUMNS ROWS`, `signal NUMBER`. Prints
/// the exit code, whether the terminal's settings are those of before, and whether the page was left.
const PTY: &str = r"
import os, pty, sys, time, termios, struct, fcntl, select, signal
argv, steps = sys.argv[1].split('\x1f'), sys.argv[2].split('\x1f')
master, slave = pty.openpty()
def size(c, r): fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', r, c, 0, 0))
size(80, 24)
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid(); fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2): os.dup2(slave, fd)
    os.environ.update(TERM='xterm-256color', LC_ALL='C.UTF-8')
    os.execv(argv[0], argv)
seen = b''
def pump(seconds):
    global seen
    if select.select([master], [], [], seconds)[0]: seen += os.read(master, 65536)
mark = 0
for step in steps:
    word, _, rest = step.partition(' ')
    if word == 'wait':
        end = time.time() + 40
        while rest.encode() not in seen[mark:] and time.time() < end: pump(0.2)
        if rest.encode() not in seen[mark:]: print('NEVER SEEN:', rest, seen[mark:][-2000:]); os.kill(pid, 9); sys.exit(1)
    elif word == 'keys': mark = len(seen); os.write(master, rest.encode().decode('unicode_escape').encode())
    elif word == 'size': mark = len(seen); size(*map(int, rest.split())); os.kill(pid, signal.SIGWINCH)
    elif word == 'signal': os.kill(pid, int(rest))
    elif word == 'close': os.close(master); os.close(slave); master = -1
end, done = time.time() + 40, 0
while not done and time.time() < end:
    if master < 0: time.sleep(0.1)
    else: pump(0.1)
    done, status = os.waitpid(pid, os.WNOHANG)
if not done: print('STILL RUNS'); os.kill(pid, 9); sys.exit(1)
if master < 0: print('ended', os.WIFEXITED(status) or os.WIFSIGNALED(status)); sys.exit(0)
while select.select([master], [], [], 0.2)[0]: seen += os.read(master, 65536)
print('exit', os.waitstatus_to_exitcode(status))
print('settings', termios.tcgetattr(slave) == before)
print('left', seen.rfind(b'\x1b[?1049l') > seen.rfind(b'\x1b[?1049h') >= 0, 'cursor', seen.rfind(b'\x1b[?25h') > seen.rfind(b'\x1b[?25l'))
";

/// What came of it.
fn on_a_terminal(arguments: &[&str], steps: &[&str]) -> String {
    let argv: Vec<&str> = std::iter::once(IODYNO).chain(arguments.iter().copied()).collect();
    let ran = Command::new("python3")
        .args(["-c", PTY, &argv.join("\x1f"), &steps.join("\x1f")])
        .limit(Duration::from_secs(150))
        .run()
        .unwrap();
    ran.expect_code(0).stdout
}

const GIVEN_BACK: &str = "settings True\nleft True cursor True\n";

#[test]
fn keys_sizes_and_an_end() {
    let steps = [
        "wait RESOURCE",
        "keys c",
        "wait scheduling",
        "keys \\x1b",
        "wait RESOURCE",
        "size 160 50",
        "wait 60",
        "keys  ",
        "wait PAUSED",
        "keys ?",
        "wait Home",
        "keys q",
    ];
    let said = on_a_terminal(&["top", "--interval", "300ms"], &steps);
    assert_eq!(said, format!("exit 0\n{GIVEN_BACK}"));
}

#[test]
fn every_end_gives_the_terminal_back() {
    let ctrl_c = on_a_terminal(&["top", "--no-probes"], &["wait LIVE", "keys \\x03"]);
    assert_eq!(ctrl_c, format!("exit 0\n{GIVEN_BACK}"));
    let killed = on_a_terminal(&["top", "--no-probes"], &["wait LIVE", "signal 15"]);
    assert_eq!(killed, format!("exit 130\n{GIVEN_BACK}"));
}

#[test]
fn it_ends_when_its_terminal_is_closed() {
    assert_eq!(on_a_terminal(&["top", "--no-probes"], &["wait LIVE", "close"]), "ended True\n");
}

/// Somebody who only computes; found by the filter, opened with Enter, once more for one of its stacks.
#[test]
fn a_process_leads_to_the_functions_that_it_is_in() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let busy = Command::new("python3").args(["-c", "while True: pass"]).spawn().unwrap();
    let steps = [
        "wait RESOURCE",
        "size 160 50",
        "keys p",
        "wait io-wait",
        "keys /python3\\r",
        "wait python3",
        "keys \\r",
        "wait where it is when it has a CPU",
        "wait PyEval",
        "keys /PyEval\\r",
        "wait PyEval",
        "keys \\r",
        // Only what differs from the page before is drawn.
        "wait of a CPU here",
        "keys q",
    ];
    let said = on_a_terminal(&["top", "--interval", "300ms"], &steps);
    drop(busy);
    assert_eq!(said, format!("exit 0\n{GIVEN_BACK}"));
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let ran = Command::new(IODYNO).arg("top").run().unwrap().expect_code(2);
    assert!(ran.stderr.contains("iodyno stat") && ran.stderr.contains("iodyno diagnose"), "{}", ran.stderr);
}

#[test]
fn once_prints_the_page() {
    let args = ["top", "--once", "--size", "120x40", "--interval", "200ms"];
    let page = Command::new(IODYNO).args(args).run().unwrap().expect_code(0).stdout;
    assert_eq!(page.lines().count(), 40, "{page}");
    for word in ["FINDINGS", "RESOURCE", "cpu", "memory", "tcp", "PROCESS", "CPU GRID", "LIVE"] {
        assert!(page.contains(word), "{word} is missing: {page}");
    }
    assert!(!page.contains('\x1b'), "plain text");
    // This very process used CPU time, and so is on its page.
    assert!(page.contains("iodyno "), "{page}");
}

#[test]
fn a_recording_is_gone_through() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("r");
    let path = recording.to_str().unwrap();
    Command::new(IODYNO).args(["record", "-o", path, "--for", "5s", "-i", "200ms"]).run().unwrap().expect_code(0);
    let page =
        Command::new(IODYNO).args(["top", path, "--once", "--size", "120x40"]).run().unwrap().expect_code(0).stdout;
    for word in ["RECORDED", "cpu", "psi io", "iops", "sealed", "single I/Os were not recorded", "PROCESS"] {
        assert!(page.contains(word), "{word} is missing: {page}");
    }
    assert!(!page.contains("judg"), "it has been judged: {page}");
    // Home goes to the first moment, D twice compares it with the last.
    let steps = ["wait RECORDED", "keys D", "wait elsewhere", "keys \\x1b[H", "keys D", "wait differs", "keys q"];
    assert_eq!(on_a_terminal(&["top", path], &steps), format!("exit 0\n{GIVEN_BACK}"));
    let nothing = Command::new(IODYNO).args(["top", folder.path().to_str().unwrap(), "--once"]).run().unwrap();
    nothing.expect_code(2);
}

/// 40 minutes of a CPU and of 60 processes.
fn forty_minutes(path: &std::path::Path) {
    use recording::rows::{Cpu, Process};
    use recording::{Batch, Manifest, Sink as _, Writer};
    let mut writer = Writer::create(path, Manifest::new(&["test".to_string()])).unwrap();
    let begun = writer.started_t_ns().cast_signed();
    for second in 0..2400 {
        let (t_ns, t_s) = (begun + second * 1_000_000_000, second as f64);
        let cpu = |cpu: &str| Cpu {
            t_ns,
            t_s,
            cpu: cpu.to_string(),
            user_ns: second * 300_000_000,
            nice_ns: None,
            system_ns: 0,
            idle_ns: second * 700_000_000,
            iowait_ns: None,
            irq_ns: None,
            softirq_ns: None,
            steal_ns: None,
            clock: "tick".to_string(),
        };
        let process = |number: i64| Process {
            t_ns: t_ns + 1000,
            t_s,
            pid: 1000 + number,
            start_ns: Some(number),
            parent: None,
            comm: format!("worker{number}"),
            state: None,
            threads: Some(1),
            user_ns: Some(second * 1_000_000 * (number + 1)),
            system_ns: Some(second * 17 % 1000),
            resident_bytes: Some(second * number),
            major_faults: None,
            io_delay_ns: None,
            read_bytes: None,
            write_bytes: None,
        };
        writer.accept(&Batch::from_rows(&[cpu("all"), cpu("0")]).unwrap()).unwrap();
        writer.accept(&Batch::from_rows(&(0..60).map(process).collect::<Vec<_>>()).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    writer.seal_past().unwrap();
}

#[test]
fn a_long_recording_is_read_where_it_is_looked_at() {
    use std::os::unix::fs::FileExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    forty_minutes(&path);
    // What lies far before the page is damaged: whoever reads it fails.
    let host = std::fs::read_dir(path.join("process")).unwrap().next().unwrap().unwrap().path();
    let part = std::fs::OpenOptions::new().write(true).open(host.join("000001.parquet")).unwrap();
    let quarter = usize::try_from(part.metadata().unwrap().len() / 4).unwrap();
    part.write_all_at(&vec![0xff; quarter], 4).unwrap();
    let path = path.to_str().unwrap();
    let all = Command::new(IODYNO).args(["diagnose", path]).run().unwrap();
    assert!(all.stderr.contains("process"), "the damage is met: {} {}", all.stdout, all.stderr);
    let once = ["top", path, "--once", "--size", "160x50"];
    let page = Command::new(IODYNO).args(once).run().unwrap().expect_code(0).stdout;
    for word in ["RECORDED", "worker59 1059", "judged: last 13 min", "psi io", "FINDINGS (0 open"] {
        assert!(page.contains(word), "{word} is missing: {page}");
    }
}

#[test]
fn a_collector_is_watched_while_it_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let attach = ["top", "--attach", path, "--once", "--size", "120x40"];
    let ran = Command::new(IODYNO).args(attach).run().unwrap().expect_code(2);
    assert!(ran.stderr.contains("record -d"), "{}", ran.stderr);
    let collector = Command::new(IODYNO).args(["record", "-d", path, "-i", "200ms"]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let page = Command::new(IODYNO).args(attach).run().unwrap().expect_code(0).stdout;
    assert!(page.contains("LIVE") && page.contains("the collector does not record"), "{page}");
    // It goes on as the collector writes.
    let steps = ["wait LIVE", "wait LIVE", "keys c", "wait scheduling", "keys q"];
    assert_eq!(on_a_terminal(&["top", "--attach", path], &steps), format!("exit 0\n{GIVEN_BACK}"));
    collector.signal(rustix::process::Signal::TERM);
    collector.wait().unwrap();
    let ran = Command::new(IODYNO).args(attach).run().unwrap().expect_code(2);
    assert!(ran.stderr.contains("iodyno top"), "the newest recording is named: {}", ran.stderr);
}
