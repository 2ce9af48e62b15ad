//! What makes a machine suffer, for real: programs that put each other aside, hide from the tick, or flood a link.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it"
)]

use crate::support::Namespace;
use std::path::PathBuf;
use testkit::{Child, RealTime, TestCommand};

/// A program that works and sleeps in turn, with real-time priority on CPU 0.
pub fn turns(priority: u32, work_ms: f64, sleep_ms: f64) -> Child {
    let program = format!(
        "import time\nwhile True:\n  end=time.monotonic()+{work_ms}/1e3\n  while time.monotonic()<end: pass\n  time.sleep({sleep_ms}/1e3)\n"
    );
    let priority = priority.to_string();
    TestCommand::new("chrt").args(["-f", &priority, "taskset", "-c", "0", "python3", "-c", &program]).spawn().unwrap()
}

/// A program that computes between two ticks only: its arguments are seconds, CPU, and ns of work in each tick.
pub fn hiding_program(path: PathBuf) -> PathBuf {
    let source = format!("{}/../../fixtures/tools/hide.c", env!("CARGO_MANIFEST_DIR"));
    TestCommand::new("cc").args(["-O2", "-o", path.to_str().unwrap(), &source]).run().unwrap().expect_code(0);
    path
}

/// Soft interrupts of CPU 1 come before other programs even when the kernel leaves them to its thread.
pub struct FirstComes(RealTime);

impl FirstComes {
    /// `None` where there is no such thread, or not the right to do that.
    pub fn new() -> Option<Self> {
        let found = TestCommand::new("pgrep").args(["-x", "ksoftirqd/1"]).run().ok()?;
        RealTime::give(found.stdout.trim()).ok().map(Self)
    }
}

/// Makes small fragments on a link that takes large ones: many packets for one call. What arrives is handed to CPU 1.
pub fn large_frames_to_cpu_1(namespace: &Namespace) {
    namespace.peer("ip").args(["link", "set", "v1", "mtu", "9000"]).run().unwrap().expect_code(0);
    namespace.command("ip").args(["link", "set", "v0", "mtu", "256"]).run().unwrap().expect_code(0);
    namespace.peer("sh").args(["-c", "echo 2 > /sys/class/net/v1/queues/rx-0/rps_cpus"]).run().unwrap().expect_code(0);
}

/// Sends for so many milliseconds and sleeps for so many, in turn.
pub fn flood(namespace: &Namespace, work_ms: f64, sleep_ms: f64) -> Child {
    let program = format!(
        "import socket,time\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\nwhile True:\n  \
         end=time.monotonic()+{work_ms}/1e3\n  while time.monotonic()<end:\n    \
         try: s.sendto(b'x'*20000,('10.99.0.2',9))\n    except OSError: pass\n  \
         if {sleep_ms}: time.sleep({sleep_ms}/1e3)\n"
    );
    namespace.command("chrt").args(["-f", "1", "taskset", "-c", "0", "python3", "-c", &program]).spawn().unwrap()
}
