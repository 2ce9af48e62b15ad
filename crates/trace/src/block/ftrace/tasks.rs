//! Who issued an I/O: an event has the thread and its name; the process is asked for when a thread is first seen.

use crate::names::Actor;
use quantity::clock;
use std::collections::HashMap;
use std::path::PathBuf;

/// Threads with their names at the time; another name is another task.
type Key = (u32, [u8; 16]);

/// How old may be what the kernel remembers of threads that have gone?
const SAVED_NS: u64 = 1_000_000_000;

/// Knows tasks; numbers them.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    numbers: HashMap<Key, u32>,
    processes: HashMap<Key, u32>,
    next: u32,
    /// Processes by threads, and when that was read.
    saved: (u64, HashMap<u32, u32>),
    saved_path: PathBuf,
}

impl Tasks {
    /// `saved_path`: where the kernel keeps the processes of threads, after they have gone as well.
    pub(crate) fn new(saved_path: PathBuf) -> Self {
        Self { saved_path, ..Self::default() }
    }

    /// A task's number; calls `name` with it when it is new.
    pub(crate) fn number(&mut self, tid: u32, comm: &[u8; 16], name: impl FnOnce(u32, Actor)) -> u32 {
        let key = (tid, *comm);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        self.next += 1;
        self.numbers.insert(key, self.next);
        name(self.next, Actor { pid: self.process(tid, comm), tid, cgroup: 0, comm: text(comm) });
        self.next
    }

    /// Numbers are sent anew when they are used next.
    pub(crate) fn forget(&mut self) {
        self.numbers.clear();
        self.processes.clear();
    }

    /// The process of a thread; its own number when the process is not known any more, as most processes have one
    /// thread.
    pub(crate) fn process(&mut self, tid: u32, comm: &[u8; 16]) -> u32 {
        if let Some(process) = self.processes.get(&(tid, *comm)) {
            return *process;
        }
        let status = std::fs::read_to_string(format!("/proc/{tid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        let process = line.and_then(|id| id.trim().parse().ok()).or_else(|| self.saved(tid)).unwrap_or(tid);
        self.processes.insert((tid, *comm), process);
        process
    }

    fn saved(&mut self, tid: u32) -> Option<u32> {
        let now_ns = clock::now_ns();
        if now_ns.saturating_sub(self.saved.0) > SAVED_NS {
            let text = std::fs::read_to_string(&self.saved_path).unwrap_or_default();
            let pairs = text.lines().filter_map(|line| line.trim().split_once(' '));
            let pairs = pairs.filter_map(|(tid, pid)| Some((tid.parse().ok()?, pid.trim().parse().ok()?)));
            self.saved = (now_ns, pairs.collect());
        }
        self.saved.1.get(&tid).copied()
    }
}

/// A task's name.
pub(crate) fn text(comm: &[u8; 16]) -> String {
    String::from_utf8_lossy(comm.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}
