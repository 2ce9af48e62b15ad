//! The steps of an operation in a thread of a crew, one behind the other.

use super::{Checked, Checks};
use crate::work::{Hold, Outcome};
use plan::generate::{Operation, OperationKind};
use rustix::fs::{Advice, fadvise};
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use validation::{FoundBy, ReadOutcome};

/// How long a thread sleeps before it looks again whether its blocks are free.
const LOOK: Duration = Duration::from_micros(20);
/// So often; behind that it sleeps longer.
const LOOKS: u32 = 500;

impl Checks {
    /// Before the operation's own time: its blocks where it has not got them, and what it writes. An error is one of the read
    /// before a write, as io_uring has it.
    pub(crate) fn ready(
        &self,
        checked: &Checked,
        (file, operation): (BorrowedFd<'_>, &Operation),
        buffer: &mut [u8],
        is_held: bool,
    ) -> Result<Hold, i32> {
        if !is_held {
            self.wait(checked, operation);
        }
        match operation.op {
            OperationKind::Read => stamp::poison(buffer),
            OperationKind::Write => {
                if checked.reads_before(operation)
                    && let Err(result) = self.extra_read(checked, (file, operation), buffer, FoundBy::BeforeWrite)
                {
                    checked.release(operation);
                    return Err(result);
                }
                return Ok(checked.stamp(operation, buffer));
            }
            OperationKind::Flush => return Ok(checked.on_flush_submitted()),
            OperationKind::Trim => checked.on_trim_submitted(operation),
            _ => {}
        }
        Ok(Hold::Nothing)
    }

    /// Sleeps until no other operation has the blocks. Of a run that was given up it does not come back: what it was to do must not be
    /// done any more.
    #[cold]
    fn wait(&self, checked: &Checked, operation: &Operation) {
        let mut looks = 0;
        while self.control.is_aborted() || !checked.take(operation) {
            looks += 1;
            std::thread::sleep(if looks < LOOKS { LOOK } else { LOOK * 100 });
        }
    }

    /// Behind the operation's own time: what it read is checked, and its blocks are free again. True: that took more I/O.
    pub(crate) fn settle(
        &self,
        checked: &Checked,
        (file, operation): (BorrowedFd<'_>, &Operation),
        (buffer, hold): (&mut [u8], Hold),
        outcome: Outcome,
    ) -> (Outcome, bool) {
        if self.control.is_aborted() {
            // What it has was given up, and may be another one's.
            return (outcome, false);
        }
        let is_done = matches!(outcome, Outcome::Done(_));
        match operation.op {
            OperationKind::Read => {
                let is_more = is_done && self.check(checked, (file, operation), buffer, checked.reads);
                checked.release(operation);
                if is_done {
                    checked.note_swept(operation);
                }
                return (outcome, is_more);
            }
            OperationKind::Write if is_done && checked.after => {
                checked.wrote(operation, hold);
                let read = self.extra_read(checked, (file, operation), buffer, FoundBy::AfterWrite);
                checked.release(operation);
                return (read.err().map_or(outcome, Outcome::Failed), true);
            }
            OperationKind::Flush => checked.on_flush_done(hold, is_done),
            _ => checked.changed(operation, hold, is_done),
        }
        (outcome, false)
    }

    /// A read before or behind a write.
    fn extra_read(
        &self,
        checked: &Checked,
        (file, operation): (BorrowedFd<'_>, &Operation),
        buffer: &mut [u8],
        found_by: FoundBy,
    ) -> Result<(), i32> {
        checked.target.note_extra_read();
        stamp::poison(buffer);
        read(file, operation, buffer)?;
        self.check(checked, (file, operation), buffer, found_by);
        Ok(())
    }

    /// Checks what was read, and reports what is wrong behind a second look at it, which is then true.
    fn check(
        &self,
        checked: &Checked,
        (file, operation): (BorrowedFd<'_>, &Operation),
        buffer: &mut [u8],
        found_by: FoundBy,
    ) -> bool {
        if checked.target.check_as(operation.offset, buffer, checked.expects_unknown) == ReadOutcome::Right {
            return false;
        }
        let first = buffer.to_vec();
        checked.forget(file, operation);
        stamp::poison(buffer);
        let again = read(file, operation, buffer);
        let again = again.is_ok().then_some(&*buffer);
        let read = (&first[..], again);
        self.damaged(checked.target.report_as(operation.offset, read, found_by, checked.expects_unknown));
        true
    }
}

impl Checked {
    /// Has the page cache forget the blocks, so that a read comes from below it. What is dirty stays.
    #[cold]
    pub(super) fn forget(&self, file: BorrowedFd<'_>, operation: &Operation) {
        if self.is_buffered {
            let _ = fadvise(file, operation.offset, NonZeroU64::new(u64::from(operation.bytes)), Advice::DontNeed);
        }
    }
}

/// Reads all of an operation's blocks; otherwise, as io_uring has it, a negative errno or how few bytes came.
fn read(file: BorrowedFd<'_>, operation: &Operation, buffer: &mut [u8]) -> Result<(), i32> {
    match rustix::io::pread(file, &mut *buffer, operation.offset) {
        Ok(count) if count == buffer.len() => Ok(()),
        Ok(count) => Err(i32::try_from(count).unwrap_or(i32::MAX)),
        Err(error) => Err(-error.raw_os_error()),
    }
}
