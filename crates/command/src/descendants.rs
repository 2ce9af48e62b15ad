//! Processes that a command left behind: found, ended, counted.

use crate::reaping::ended_in_group;
use crate::starting::{MARK, StartedProgram};
use quantity::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpgrp, getpid, getsid, pidfd_open, pidfd_send_signal, waitid,
};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long processes may take to end after the signal that cannot be refused: those that take longer hang in the kernel.
const KILL_NS: u64 = 2_000_000_000;

/// Longest wait between two looks.
const LOOK_NS: u64 = 20_000_000;

/// How often an empty environment is looked at again.
const EXEC_LOOKS: usize = 5;

/// Numbers of the programs that are executed now.
static UNDER_WAY: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// While one is held, descendants of commands whose parents have ended become children of this process.
#[derive(Debug)]
pub(crate) struct Subreaper(());

/// Are all children of this process those of an execution?
static OWNS_ALL: AtomicBool = AtomicBool::new(false);

/// All children of this process are those of its executions from now on, one at a time.
pub(crate) fn own_all_children() {
    OWNS_ALL.store(true, Ordering::Relaxed);
}

/// How many are held.
static HELD: Mutex<usize> = Mutex::new(0);

impl Subreaper {
    pub(crate) fn hold() -> Self {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        *held += 1;
        if *held == 1 {
            let _ = rustix::process::set_child_subreaper(Some(getpid()));
        }
        Self(())
    }
}

impl Drop for Subreaper {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        *held -= 1;
        if *held == 0 {
            let _ = rustix::process::set_child_subreaper(None);
        }
    }
}

/// A process, by `/proc/PID/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessStat {
    pid: Pid,
    is_zombie: bool,
    parent: i32,
    group: i32,
    session: i32,
    /// Tells it from one that gets its number later.
    start_ticks: u64,
}

impl ProcessStat {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/stat")).ok()?))
    }

    fn parse(pid: i32, text: &str) -> Option<Self> {
        // The name may have spaces and parentheses.
        let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let mut number = || fields.next()?.parse::<i32>().ok();
        let (parent, group, session) = (number()?, number()?, number()?);
        let start_ticks = fields.nth(15)?.parse().ok()?;
        Some(Self {
            pid: Pid::from_raw(pid)?,
            is_zombie: matches!(state, "Z" | "X"),
            parent,
            group,
            session,
            start_ticks,
        })
    }

    fn number(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }
}

/// All processes.
fn processes() -> Vec<ProcessStat> {
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(ProcessStat::read).collect()
}

/// The mark in a process's environment; `None`: it has none, or this user may not look.
fn mark_of(pid: i32) -> Option<String> {
    let mut environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    // Between two programs (execve(2)) a process has none for a moment.
    for _ in 0..EXEC_LOOKS {
        if !environment.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
        environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    }
    let mut pairs = environment.split(|byte| *byte == 0);
    let text = pairs.find_map(|pair| pair.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(text.to_vec()).ok()
}

/// An execution whose descendants are looked for.
#[derive(Debug)]
pub(crate) struct Descendants {
    program: Pid,
    /// Its number, which is that of its group.
    group: i32,
    mark: String,
    /// Those that were found, by number and start.
    seen: BTreeSet<(i32, u64)>,
}

impl Descendants {
    /// Of the program that `start` starts with this mark in its environment.
    pub(crate) fn of<E>(
        mark: &str,
        start: impl FnOnce(&str) -> Result<StartedProgram, E>,
    ) -> Result<(StartedProgram, Self), E> {
        // A program that is seen among the processes has its number in the list when it is looked up there.
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        let started = start(mark)?;
        let program = started.pid;
        let group = program.as_raw_nonzero().get();
        under_way.insert(group);
        Ok((started, Self { program, group, mark: mark.to_string(), seen: BTreeSet::new() }))
    }

    /// Takes the ends of those children that became this process's own while the program runs.
    pub(crate) fn reap_orphans(&self) {
        while let Some(ended) = ended_in_group(self.program).filter(|ended| *ended != self.program) {
            if waitid(WaitId::Pid(ended), WaitIdOptions::EXITED | WaitIdOptions::NOHANG).is_err() {
                return;
            }
        }
    }

    /// Ends all that is left of the execution, whose program has ended and was reaped: politely, and after `patience_ns` by
    /// force. Gives how many there were, and why some are still there. Where the whole group was asked to end (`is_stop`), only
    /// those that had left it are left behind.
    pub(crate) fn end(&mut self, patience_ns: u64, is_stop: bool) -> (u64, Option<String>) {
        let kill_ns = clock::now_ns().saturating_add(patience_ns);
        let give_up_ns = kill_ns.saturating_add(KILL_NS);
        let mut asked = BTreeSet::new();
        let mut is_refused = false;
        loop {
            let left = if has_children() { self.left(is_stop) } else { Vec::new() };
            // Those that were born behind the look.
            let is_hidden = left.is_empty() && OWNS_ALL.load(Ordering::Relaxed) && has_children();
            let now_ns = clock::now_ns();
            if left.is_empty() && !is_hidden {
                return (self.seen.len() as u64, None);
            }
            if now_ns >= give_up_ns {
                return (self.seen.len() as u64, Some(why_left(left.len(), is_refused)));
            }
            let is_forced = now_ns >= kill_ns;
            let mut watched = Vec::with_capacity(left.len());
            for process in left {
                let Some(handle) = handle(&process) else { continue };
                if is_forced {
                    is_refused |= pidfd_send_signal(&handle, Signal::KILL) == Err(Errno::PERM);
                } else if asked.insert((process.number(), process.start_ticks)) {
                    let _ = pidfd_send_signal(&handle, Signal::TERM);
                    // One that is stopped takes no other signal before.
                    let _ = pidfd_send_signal(&handle, Signal::CONT);
                }
                watched.push(handle);
            }
            let until_ns = if is_forced { give_up_ns } else { kill_ns };
            wait_for_any(&watched, until_ns.saturating_sub(clock::now_ns()).min(LOOK_NS));
        }
    }

    /// What is left of it and lives. Takes the ends of the dead.
    fn left(&mut self, is_stop: bool) -> Vec<ProcessStat> {
        let all = processes();
        let own = getpid().as_raw_nonzero().get();
        let (own_group, own_session) =
            (getpgrp().as_raw_nonzero().get(), getsid(None).map_or(0, |id| id.as_raw_nonzero().get()));
        let under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_alone = under_way.iter().all(|group| *group == self.group);
        let is_program_of_other = |process: &ProcessStat| {
            process.number() != self.group && under_way.contains(&process.group) && process.group != self.group
        };
        let owns_all = OWNS_ALL.load(Ordering::Relaxed);
        let mut found = BTreeMap::new();
        for process in &all {
            let is_adopted = process.parent == own && process.group != own_group && !is_program_of_other(process);
            if process.is_zombie {
                // Other children of this process are awaited by whoever started them.
                let is_own = owns_all
                    || process.group == self.group
                    || self.seen.contains(&(process.number(), process.start_ticks));
                if is_adopted && is_own && process.number() != self.group {
                    let _ = waitid(WaitId::Pid(process.pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
                }
                continue;
            }
            let is_marked = || match mark_of(process.number()) {
                Some(mark) => mark == self.mark,
                // Its environment was replaced: of which execution it came is known where there is one only.
                None => is_alone && process.session != own_session,
            };
            if process.group == self.group || (is_adopted && (owns_all || is_marked())) {
                found.insert(process.number(), *process);
            }
        }
        // And all that came from these.
        while let Some(more) = all.iter().find(|process| {
            !process.is_zombie && found.contains_key(&process.parent) && !found.contains_key(&process.number())
        }) {
            found.insert(more.number(), *more);
        }
        let behind = found.values().filter(|process| !is_stop || process.group != self.group);
        self.seen.extend(behind.map(|process| (process.number(), process.start_ticks)));
        found.into_values().collect()
    }
}

/// Why so many processes are still there.
fn why_left(count: usize, is_refused: bool) -> String {
    match count {
        0 => "processes that it left behind start others faster than they can be ended: they go on".to_string(),
        _ if is_refused => {
            format!("{} may not be ended by this user, being of another: still there", processes_words(count))
        }
        _ => format!("{} did not end after SIGKILL", processes_words(count)),
    }
}

fn processes_words(count: usize) -> String {
    if count == 1 {
        "1 process that it left behind".to_string()
    } else {
        format!("{count} processes that it left behind")
    }
}

impl Drop for Descendants {
    fn drop(&mut self) {
        UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.group);
    }
}

/// Makes those processes end at once whose marks begin so: what an executor that is gone has left.
pub(crate) fn kill_marked(begin: &str) {
    let is_marked = |process: &ProcessStat| mark_of(process.number()).is_some_and(|mark| mark.starts_with(begin));
    for process in processes().iter().filter(|process| !process.is_zombie && is_marked(process)) {
        if let Some(handle) = handle(process) {
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
    }
}

/// Has this process any children, dead or alive? Without any, nothing is left behind: it would be one, or come from one.
fn has_children() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// A descriptor of the process that was seen, and not of one that has its number by now.
fn handle(process: &ProcessStat) -> Option<OwnedFd> {
    let handle = pidfd_open(process.pid, PidfdFlags::empty()).ok()?;
    let now = ProcessStat::read(process.number())?;
    (now.start_ticks == process.start_ticks).then_some(handle)
}

/// Waits until one of these processes ends.
fn wait_for_any(handles: &[OwnedFd], longest_ns: u64) {
    let mut fds: Vec<PollFd<'_>> = handles.iter().map(|handle| PollFd::new(handle, PollFlags::IN)).collect();
    let Ok(longest) = Timespec::try_from(Duration::from_nanos(longest_ns)) else { return };
    let _ = poll(&mut fds, Some(&longest));
    // The others may end in the same moment: one look at all processes is dearer than this.
    std::thread::sleep(Duration::from_micros(500));
}
