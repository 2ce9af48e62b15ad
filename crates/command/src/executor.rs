//! The asking side: commands are executed by a small process of their own.

use crate::descendants::kill_marked;
use crate::execution::{CommandEnd, ExecutedCommand, StopOrder, execute};
use crate::executor_messages::{ExecutionRequest, letter_of, read_reply, write_line};
use crate::serving::{EXECUTOR_ARGUMENT, can_be_executor};
use plan::CommandLine;
use quantity::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long an order may go unnoticed.
const LOOK: Duration = Duration::from_millis(10);
/// How long a stop may take: more than the executor allows a command for it, ns.
const STOP_NS: u64 = 15_000_000_000;
/// How long an executor that is not asked any more may take to end, ns.
const END_NS: u64 = 2_000_000_000;
/// How long the rest of a reply may take once it has begun.
const REPLY: Duration = Duration::from_secs(10);

/// Executes commands one behind the other, in a small process that only does that.
///
/// A program's memory is known from a few megabytes on, because it inherits that of a small process; and when iodyno is killed,
/// the executor notices and ends what it has started. Where this program cannot be an executor
/// ([`serve_if_executor`](crate::serve_if_executor)), or none can be started, this process executes the commands itself.
#[derive(Debug)]
pub struct CommandExecutor(Option<ExecutorProcess>);

impl CommandExecutor {
    /// Starts one.
    #[must_use]
    pub fn start() -> Self {
        Self(can_be_executor().then(ExecutorProcess::start).and_then(Result::ok))
    }

    /// Executes a command after what prepares it, and ends all that is left of both. `order` is asked at least every 20 ms.
    pub fn execute(
        &mut self,
        line: &CommandLine,
        prepare: Option<&CommandLine>,
        order: &dyn Fn() -> StopOrder,
    ) -> ExecutedCommand {
        let Some(process) = &mut self.0 else { return execute(line, prepare, order) };
        let asked_ns = clock::now_ns();
        if order() != StopOrder::GoOn {
            return ExecutedCommand::waiting();
        }
        let error = match process.execute(line, prepare, order) {
            Ok(done) => return done,
            Err(error) => error,
        };
        let number = process.end();
        *self = Self::start();
        let error = format!(
            "process {number} of iodyno, which executed it, was ended from outside ({error}), and the command with it: how it \
             would have ended is not known"
        );
        let ended = ExecutedCommand::not_started(CommandEnd::Signalled(libc::SIGKILL), error);
        ExecutedCommand { start_ns: Some(asked_ns), ..ended }
    }
}

/// A process that executes commands.
#[derive(Debug)]
struct ExecutorProcess {
    child: Child,
    link: BufReader<UnixStream>,
}

impl ExecutorProcess {
    fn start() -> io::Result<Self> {
        let (own, other) = UnixStream::pair()?;
        own.set_read_timeout(Some(REPLY))?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("iodyno").arg(EXECUTOR_ARGUMENT);
        command.stdin(Stdio::from(OwnedFd::from(other))).stdout(Stdio::null());
        Ok(Self { child: command.spawn()?, link: BufReader::new(own) })
    }

    fn execute(
        &mut self,
        line: &CommandLine,
        prepare: Option<&CommandLine>,
        order: &dyn Fn() -> StopOrder,
    ) -> io::Result<ExecutedCommand> {
        write_line(self.link.get_mut(), &ExecutionRequest { line: line.clone(), prepare: prepare.cloned() })?;
        let mut last = (StopOrder::GoOn, u64::MAX);
        while !self.has_reply()? {
            let now = order();
            if now > last.0 {
                last = (now, clock::now_ns());
                self.link.get_mut().write_all(&[letter_of(now)])?;
            }
            // It does nothing any more: the command may have stopped it (SIGSTOP).
            if clock::now_ns().saturating_sub(last.1) > STOP_NS {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        read_reply(&mut self.link)
    }

    /// Waits a moment for the reply; has it begun?
    fn has_reply(&self) -> io::Result<bool> {
        let longest = Timespec::try_from(LOOK).ok();
        let mut fds = [PollFd::new(self.link.get_ref(), PollFlags::IN)];
        match poll(&mut fds, longest.as_ref()) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            other => Ok(other? > 0),
        }
    }

    /// Makes sure that it is gone, with what it executed; its number.
    fn end(&mut self) -> u32 {
        let number = self.child.id();
        let _ = self.child.kill();
        let _ = self.child.wait();
        kill_marked(&format!("{number}."));
        number
    }
}

impl Drop for ExecutorProcess {
    fn drop(&mut self) {
        // It ends when nothing is asked any more.
        let _ = self.link.get_ref().shutdown(std::net::Shutdown::Both);
        let until_ns = clock::now_ns().saturating_add(END_NS);
        while matches!(self.child.try_wait(), Ok(None)) {
            if clock::now_ns() > until_ns {
                self.end();
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
