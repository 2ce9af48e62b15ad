//! Where io_uring is not to be had, as in most containers: the synchronous engine does the work, and this is said.

use crate::support::{Scratch, sum};
use rustix::io::Errno;
use testkit::{CommandOutput, TestCommand};

/// Lets seccomp answer every `io_uring_setup` with an error, as container runtimes do, and becomes the command.
const LAUNCH: &str = r"
import ctypes, os, struct, sys
errno = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def step(code, jt, jf, k): return struct.pack('HBBI', code, jt, jf, k)
program = step(0x20, 0, 0, 0) + step(0x15, 0, 1, 425) + step(0x06, 0, 0, 0x00050000 | errno) + step(0x06, 0, 0, 0x7fff0000)
class Filter(ctypes.Structure): _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_char_p)]
kept = Filter(4, program)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(kept), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[2], sys.argv[2:])
";

/// `iodyno run` of `text` where `io_uring_setup` fails with `errno`.
pub(crate) fn without(scratch: &Scratch, errno: i32, text: &str, more: &[&str]) -> CommandOutput {
    let file = scratch.write("a.vdb", text);
    TestCommand::new("python3")
        .args(["-c", LAUNCH, &errno.to_string(), env!("CARGO_BIN_EXE_iodyno"), "run", file.to_str().unwrap()])
        .args(["-o", "out"])
        .args(more)
        .dir(scratch.path(""))
        .run()
        .unwrap()
}

fn parameters(scratch: &Scratch) -> String {
    format!(
        "sd=sd1,lun={},size=16m,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\nrd=rd1,wd=wd1,iorate=500,elapsed=2,interval=1\n",
        scratch.path("f").display()
    )
}

#[test]
fn the_synchronous_engine_steps_in_and_says_so() {
    for errno in [Errno::PERM.raw_os_error(), Errno::NOSYS.raw_os_error()] {
        let scratch = Scratch::new();
        let ended = without(&scratch, errno, &parameters(&scratch), &[]).expect_code(0);
        assert!(ended.stdout.contains("sync"), "the header names the engine:\n{}", ended.stdout);
        let totals = scratch.table("out", "run_total");
        let ops = sum(&totals, "ops", |row| row["phase"] == "measure");
        assert!((100..1200).contains(&ops), "{ops} operations");
        let engine = scratch.table("out", "engine_interval");
        assert!(!engine.is_empty() && engine.iter().all(|row| row["engine"] == "sync"), "{engine:?}");
        let events = scratch.table("out", "event");
        let why =
            events.iter().find(|row| row["kind"] == "engine" && row["message"].as_str().unwrap().contains("io_uring"));
        assert!(why.is_some(), "the recording says why: {events:?}");
        let report = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
        assert!(report.contains("io_uring"), "and so does the report");
    }
}

#[test]
fn a_run_that_insists_on_io_uring_names_what_is_missing() {
    let scratch = Scratch::new();
    let ended =
        without(&scratch, Errno::PERM.raw_os_error(), &parameters(&scratch), &["--engine", "io_uring"]).expect_code(8);
    assert!(ended.stderr.contains("io_uring") && ended.stderr.contains("--engine sync"), "{}", ended.stderr);
}
