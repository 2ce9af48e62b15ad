//! Threads of processes that use much CPU, from `/proc/PID/task/TID/stat` (proc(5)).

use crate::process::Stat;
use crate::subject::Stamp;
use recording::rows::Thread;
use std::collections::HashMap;
use std::path::PathBuf;

/// Processes with more threads than this are not looked into: it would cost more than it tells.
const MOST: usize = 2048;

/// Reads threads, and tells of those that did something.
#[derive(Debug)]
pub(crate) struct Threads {
    root: PathBuf,
    tick_ns: i64,
    /// By process and thread: what it had used, and in which round it was last seen.
    known: HashMap<(i64, i64), (i64, u64)>,
    round: u64,
}

impl Threads {
    /// With the `/proc` under `root`.
    pub(crate) fn new(root: PathBuf, tick_ns: i64) -> Self {
        Self { root, tick_ns, known: HashMap::new(), round: 0 }
    }

    /// Rows of the threads of `processes` that are new here or used CPU time since the last sample. What is not asked for is
    /// forgotten.
    pub(crate) fn sample(&mut self, processes: &[i64], stamp: Stamp) -> Vec<Thread> {
        self.round += 1;
        let mut rows = Vec::new();
        for pid in processes {
            let Ok(tasks) = std::fs::read_dir(self.root.join(format!("proc/{pid}/task"))) else { continue };
            for task in tasks.flatten().take(MOST) {
                // Gone since the folder was read: not an error.
                let Ok(text) = std::fs::read(task.path().join("stat")) else { continue };
                let Some(row) = self.row(&text, *pid, stamp) else { continue };
                let used = row.user_ns + row.system_ns;
                let before = self.known.insert((*pid, row.tid), (used, self.round));
                if before.is_none_or(|(before, _)| before != used) {
                    rows.push(row);
                }
            }
        }
        let round = self.round;
        self.known.retain(|_, (_, seen)| *seen == round);
        rows
    }

    fn row(&self, text: &[u8], pid: i64, stamp: Stamp) -> Option<Thread> {
        let stat = Stat::parse(text)?;
        let time = |field| counter_ns(&stat, field, self.tick_ns);
        Some(Thread {
            t_ns: stamp.t_ns,
            t_s: stamp.t_s,
            pid,
            tid: stat.id,
            start_ns: time(22),
            cpu: stat.number(39).and_then(|cpu| i32::try_from(cpu).ok()),
            user_ns: time(14)?,
            system_ns: time(15)?,
            comm: stat.comm,
        })
    }
}

fn counter_ns(stat: &Stat<'_>, field: usize, tick_ns: i64) -> Option<i64> {
    stat.number(field)?.checked_mul(tick_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_thread_that_works_has_a_row() {
        let stop = Arc::new(AtomicBool::new(false));
        let runs = Arc::new(AtomicBool::new(false));
        let (spin, started) = (Arc::clone(&stop), Arc::clone(&runs));
        let work = move || {
            started.store(true, Ordering::Relaxed);
            while !spin.load(Ordering::Relaxed) {}
        };
        let worker = std::thread::Builder::new().name("iodyno-spin".to_string()).spawn(work).unwrap();
        // A thread gives itself its name.
        while !runs.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let me = i64::from(std::process::id());
        let mut threads = Threads::new("/".into(), 10_000_000);
        let first = threads.sample(&[me], Stamp::at(0, 0));
        assert!(first.len() >= 2, "at first all");
        let of = |rows: &[Thread]| rows.iter().find(|row| row.comm == "iodyno-spin").cloned();
        let later = || {
            std::thread::sleep(std::time::Duration::from_millis(400));
            threads.sample(&[me], Stamp::at(1, 0))
        };
        // Without a processor it does not work.
        let second = testkit::until_enough(later, |rows| of(rows).is_some());
        stop.store(true, Ordering::Relaxed);
        worker.join().unwrap();
        let (before, after) = (of(&first).unwrap(), of(&second).unwrap());
        assert!(after.user_ns + after.system_ns > before.user_ns + before.system_ns);
        assert_eq!((after.pid, after.tid == me), (me, false));
        assert!(after.cpu.is_some() && after.start_ns == before.start_ns);
        // Asked for again after a pause, all have rows again.
        threads.sample(&[], Stamp::at(2, 0));
        assert!(!threads.sample(&[me], Stamp::at(3, 0)).is_empty());
        assert!(threads.sample(&[i64::MAX], Stamp::at(4, 0)).is_empty());
    }
}
