//! One execution of a command: from its start to the end of all that came from it.

use crate::descendants::{Descendants, Subreaper};
use crate::kept_output::KeptOutput;
use crate::memory::InheritedMemory;
use crate::reaping::{self, ReapedChild};
use crate::starting::{self, StartedProgram};
use crate::usage::CommandUsage;
use plan::CommandLine;
use quantity::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};
use std::os::unix::process::ExitStatusExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a stop may go unnoticed, ns.
const LOOK_NS: u64 = 20_000_000;
/// The same of a program's end, where the kernel gives no descriptor for it.
const BLIND_LOOK_NS: u64 = 1_000_000;
/// How long the processes that a program left behind may take to end after they were asked to, ns.
const LEFT_PATIENCE_NS: u64 = 500_000_000;
/// The same of a program that is stopped.
const STOP_PATIENCE_NS: u64 = 2_000_000_000;
/// How long a program may take to end after the signal that cannot be refused, ns.
const KILL_PATIENCE_NS: u64 = 2_000_000_000;
/// Bytes that are taken from its output at once.
const CHUNK_BYTES: usize = 64 << 10;

/// What an execution is to do about the run that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopOrder {
    /// The run goes on.
    GoOn,
    /// The run is over: the command is asked to end, and after 2 s made to.
    Stop,
    /// It is made to end at once.
    StopNow,
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEnd {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal, which [`execute`] did not send.
    Signalled(i32),
    /// By [`execute`], because its run was over.
    Stopped {
        /// Its exit code, where it ended with one.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// It did not start; [`ExecutedCommand::error`] says why.
    NotStarted,
    /// Its run was over before it could start.
    Waiting,
}

impl CommandEnd {
    /// Is it the end of a program that did what it was to do?
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }

    /// Did the program fail, or fail to start?
    #[must_use]
    pub fn is_failure(self) -> bool {
        match self {
            Self::Exited(code) => code != 0,
            Self::Signalled(_) | Self::NotStarted => true,
            Self::Stopped { .. } | Self::Waiting => false,
        }
    }
}

/// An execution that is over.
#[derive(Clone, Debug)]
pub struct ExecutedCommand {
    /// When the program was started, `CLOCK_MONOTONIC`, ns; `None`: it was not.
    pub start_ns: Option<u64>,
    /// When it ended, or was given up, ns.
    pub end_ns: u64,
    /// How it ended.
    pub end: CommandEnd,
    /// What it used; `None`: it did not start, or did not end.
    pub usage: Option<CommandUsage>,
    /// What it wrote; where only its preparation failed, what that wrote.
    pub output: KeptOutput,
    /// Processes that were still there when it had ended, and were ended.
    pub left_behind: u64,
    /// Why it did not start, or what else went wrong; empty when nothing did.
    pub error: String,
}

impl ExecutedCommand {
    pub(crate) fn not_started(end: CommandEnd, error: String) -> Self {
        let output = KeptOutput::default();
        Self { start_ns: None, end_ns: clock::now_ns(), end, usage: None, output, left_behind: 0, error }
    }

    /// It was due, and its run was over before it could start.
    #[must_use]
    pub fn waiting() -> Self {
        Self::not_started(CommandEnd::Waiting, String::new())
    }
}

/// Executes a command after what prepares it, and ends all that is left of both. `order` is asked at least every 20 ms.
#[must_use]
pub fn execute(line: &CommandLine, prepare: Option<&CommandLine>, order: &dyn Fn() -> StopOrder) -> ExecutedCommand {
    let _adopting = Subreaper::hold();
    if order() != StopOrder::GoOn {
        return ExecutedCommand::waiting();
    }
    if let Some(prepare) = prepare {
        let prepared = execute_one(prepare, order);
        let why = match prepared.end {
            CommandEnd::Exited(0) => None,
            CommandEnd::Exited(code) => Some(format!("ended with exit code {code}")),
            CommandEnd::Signalled(signal) => Some(format!("was ended by signal {signal}")),
            CommandEnd::NotStarted => Some(format!("did not start: {}", prepared.error)),
            CommandEnd::Stopped { .. } | CommandEnd::Waiting => return ExecutedCommand::waiting(),
        };
        if let Some(why) = why {
            let error = format!("what prepares it (`{prepare}`) {why}");
            let failed = ExecutedCommand::not_started(CommandEnd::NotStarted, error);
            return ExecutedCommand { output: prepared.output, ..failed };
        }
    }
    execute_one(line, order)
}

/// Tells executions of this process apart.
static EXECUTIONS: AtomicU64 = AtomicU64::new(0);

fn execute_one(line: &CommandLine, order: &dyn Fn() -> StopOrder) -> ExecutedCommand {
    let mark = format!("{}.{}", std::process::id(), EXECUTIONS.fetch_add(1, Ordering::Relaxed));
    // Read before the clock is.
    let inherited = InheritedMemory::shared();
    let mut start_ns = 0;
    let started = Descendants::of(&mark, |mark| {
        start_ns = clock::now_ns();
        starting::start(line, mark)
    });
    match started {
        Ok((program, descendants)) => Execution::new((start_ns, program), inherited, descendants).live(order),
        Err(error) => ExecutedCommand::not_started(CommandEnd::NotStarted, error),
    }
}

/// What is done about a program that is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Nothing.
    None,
    /// It was asked to, at this time.
    Asked(u64),
    /// It was made to, at this time.
    Forced(u64),
}

/// A program under way.
struct Execution {
    start_ns: u64,
    program: StartedProgram,
    inherited: InheritedMemory,
    descendants: Descendants,
    output: KeptOutput,
    /// Can there be more of it?
    is_open: bool,
    buffer: Vec<u8>,
    ending: Ending,
    /// May this user not signal it?
    is_refused: bool,
}

impl Execution {
    fn new((start_ns, program): (u64, StartedProgram), inherited: InheritedMemory, descendants: Descendants) -> Self {
        let (output, buffer) = (KeptOutput::default(), vec![0; CHUNK_BYTES]);
        Self {
            start_ns,
            program,
            inherited,
            descendants,
            output,
            is_open: true,
            buffer,
            ending: Ending::None,
            is_refused: false,
        }
    }

    fn live(mut self, order: &dyn Fn() -> StopOrder) -> ExecutedCommand {
        let mut looked_ns = self.start_ns;
        let end_ns = loop {
            let has_ended = self.wait();
            let now_ns = clock::now_ns();
            if has_ended {
                break Some(now_ns);
            }
            self.drain(1);
            if now_ns.saturating_sub(looked_ns) >= LOOK_NS / 2 {
                looked_ns = now_ns;
                self.descendants.reap_orphans();
                if !self.obey(order(), now_ns) {
                    break None;
                }
            }
        };
        // What it wrote before its end; a process that it left behind may still hold the pipe.
        self.drain(usize::MAX);
        let number = self.program.pid.as_raw_nonzero().get().unsigned_abs();
        let reaped = end_ns.and_then(|_| reaping::reap_ended(number, self.inherited).ok().flatten());
        let patience_ns = match self.ending {
            Ending::None => LEFT_PATIENCE_NS,
            Ending::Asked(since_ns) => (since_ns + STOP_PATIENCE_NS).saturating_sub(clock::now_ns()),
            Ending::Forced(_) => 0,
        };
        let (left_behind, remaining) = match reaped {
            Some(_) => self.descendants.end(patience_ns, self.ending != Ending::None),
            None => (0, None),
        };
        self.drain(usize::MAX);
        self.output.trim();
        self.result(end_ns, reaped, (left_behind, remaining))
    }

    fn result(
        self,
        end_ns: Option<u64>,
        reaped: Option<ReapedChild>,
        (left_behind, remaining): (u64, Option<String>),
    ) -> ExecutedCommand {
        let status = reaped.map(|reaped| reaped.status);
        let (code, signal) = (status.and_then(|status| status.code()), status.and_then(|status| status.signal()));
        let end = match (self.ending, code, signal) {
            (Ending::None, Some(code), _) => CommandEnd::Exited(code),
            (Ending::None, None, Some(signal)) => CommandEnd::Signalled(signal),
            _ => CommandEnd::Stopped { code, signal },
        };
        let number = self.program.pid.as_raw_nonzero();
        let error = match (end_ns, remaining) {
            (None, _) if self.is_refused => {
                format!("process {number} runs as another user, whom this one may not end, and was left behind")
            }
            (None, _) => {
                format!("process {number} did not end after SIGKILL: it hangs in the kernel and was left behind")
            }
            (_, Some(why)) => why,
            _ if reaped.is_none() => format!(
                "another part of iodyno took the end of process {number}: how it ended and what it used are not known"
            ),
            _ => String::new(),
        };
        ExecutedCommand {
            start_ns: Some(self.start_ns),
            end_ns: end_ns.unwrap_or_else(clock::now_ns),
            end,
            usage: reaped.map(|reaped| reaped.usage),
            output: self.output,
            left_behind,
            error,
        }
    }

    /// Waits for output, for the program's end, or for the next look at orders; true when it has ended.
    fn wait(&mut self) -> bool {
        let longest_ns = if self.program.pidfd.is_some() { LOOK_NS } else { BLIND_LOOK_NS };
        let longest = Timespec::try_from(Duration::from_nanos(longest_ns)).ok();
        let end = self.program.pidfd.as_ref().map(|pidfd| PollFd::new(pidfd, PollFlags::IN));
        let output = self.is_open.then(|| PollFd::new(&self.program.output, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = end.into_iter().chain(output).collect();
        let is_known = poll(&mut fds, longest.as_ref()).is_ok();
        let is_ready = fds.first().is_some_and(|fd| fd.revents().intersects(PollFlags::IN | PollFlags::HUP));
        let may_have_ended = self.program.pidfd.is_none() || (is_known && is_ready);
        // An error: it is no child any more.
        may_have_ended && reaping::has_ended(self.program.pid).unwrap_or(true)
    }

    /// Takes what it wrote, at most so many chunks; never waits.
    fn drain(&mut self, chunks: usize) {
        for _ in 0..chunks {
            if !self.is_open {
                return;
            }
            match rustix::io::read(&self.program.output, &mut self.buffer[..]) {
                Ok(0) => self.is_open = false,
                Ok(count) => self.output.take(&self.buffer[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.is_open = false,
            }
        }
    }

    /// Does what is ordered; false when the program does not end whatever is done.
    fn obey(&mut self, order: StopOrder, now_ns: u64) -> bool {
        let is_late = |since_ns: u64, patience_ns: u64| now_ns.saturating_sub(since_ns) >= patience_ns;
        match (self.ending, order) {
            (Ending::None, StopOrder::GoOn) => {}
            (Ending::None, StopOrder::Stop) => {
                self.signal(Signal::TERM);
                // One that is stopped takes no other signal before.
                self.signal(Signal::CONT);
                self.ending = Ending::Asked(now_ns);
            }
            (Ending::Forced(since_ns), _) => return !is_late(since_ns, KILL_PATIENCE_NS),
            (Ending::Asked(since_ns), StopOrder::GoOn | StopOrder::Stop) if !is_late(since_ns, STOP_PATIENCE_NS) => {}
            (Ending::None | Ending::Asked(_), _) => {
                self.signal(Signal::KILL);
                self.ending = Ending::Forced(now_ns);
            }
        }
        true
    }

    /// Signals the program, which is not reaped yet, so that no other has its number, and its group.
    fn signal(&mut self, signal: Signal) {
        if kill_process_group(self.program.pid, signal).is_err() {
            self.is_refused = kill_process(self.program.pid, signal) == Err(Errno::PERM);
        }
    }
}
