//! The executor's side: a small process that executes what it is asked to.

use crate::descendants::{self, Subreaper};
use crate::execution::{StopOrder, execute};
use crate::executor_messages::{ExecutionRequest, order_of, write_reply};
use crate::memory;
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{RecvFlags, recv};
use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// The argument that makes this program an executor.
pub(crate) const EXECUTOR_ARGUMENT: &str = "--executor-of-commands";

/// Longest request, bytes: the kernel takes no longer command line.
const REQUEST_BYTES: usize = 64 << 20;

/// Can this program be made an executor?
static CAN_BE_EXECUTOR: AtomicBool = AtomicBool::new(false);

/// Can a [`CommandExecutor`](crate::CommandExecutor) start this program again as one?
pub(crate) fn can_be_executor() -> bool {
    CAN_BE_EXECUTOR.load(Ordering::Relaxed)
}

/// Executes commands until it is no longer asked, where this process was started for that by another process of this program
/// (`arguments`: the program's name first); gives the exit code. Otherwise notes that this program calls this function first.
pub fn serve_if_executor(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1).is_none_or(|argument| argument != EXECUTOR_ARGUMENT) {
        CAN_BE_EXECUTOR.store(true, Ordering::Relaxed);
        return None;
    }
    let stdin = rustix::stdio::stdin();
    // What is typed is no request.
    let is_link = fstat(stdin).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket);
    let link = if is_link { fcntl_dupfd_cloexec(stdin, 3).ok() } else { None };
    let served = link.is_some_and(|link| serve(UnixStream::from(link)).is_ok());
    Some(if served { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn serve(mut link: UnixStream) -> io::Result<()> {
    // A session of its own: no program gets at the terminal, and a Ctrl-C is for iodyno, which then says what is to be done.
    let _ = rustix::process::setsid();
    // Descendants of its programs are its own also between two executions, and it has no other children.
    descendants::own_all_children();
    let _adopting = Subreaper::hold();
    let inbound = RefCell::new(Inbound { link: link.try_clone()?, read: Vec::new(), order: StopOrder::GoOn });
    // What a program inherits is what is left of what its start took.
    memory::give_back();
    loop {
        let request = inbound.borrow_mut().request()?;
        let Some(request) = request else { return Ok(()) };
        let order = || inbound.borrow_mut().order();
        let done = execute(&request.line, request.prepare.as_ref(), &order);
        write_reply(&mut link, &done)?;
    }
}

/// What is said to the executor.
struct Inbound {
    link: UnixStream,
    /// What was read and not yet understood.
    read: Vec<u8>,
    /// The strongest order of this execution.
    order: StopOrder,
}

impl Inbound {
    /// The next request; `None`: nothing is asked any more.
    fn request(&mut self) -> io::Result<Option<ExecutionRequest>> {
        self.order = StopOrder::GoOn;
        loop {
            // An order that came when the last execution had just ended.
            let late = self.read.iter().take_while(|byte| **byte != b'{').count();
            self.read.drain(..late);
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            match self.receive(RecvFlags::empty()) {
                Ok(0) => return Ok(None),
                Ok(_) if self.read.len() > REQUEST_BYTES => return Err(io::ErrorKind::InvalidData.into()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What is ordered now. An asking process that is gone wants nothing any more.
    fn order(&mut self) -> StopOrder {
        let received = self.receive(RecvFlags::DONTWAIT);
        if !matches!(received, Ok(1..) | Err(Errno::AGAIN | Errno::INTR)) {
            self.order = StopOrder::StopNow;
        }
        let letters = self.read.drain(..);
        self.order = letters.map(order_of).fold(self.order, StopOrder::max);
        self.order
    }

    fn receive(&mut self, flags: RecvFlags) -> Result<usize, Errno> {
        let mut buffer = [0_u8; 4096];
        let (count, _) = recv(&self.link, &mut buffer[..], flags)?;
        self.read.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}
