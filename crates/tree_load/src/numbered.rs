//! Jobs that go through numbered entries of a directory by fio's rules: one operation to each, one behind the other, over and over,
//! whatever is known of them. The first that fails ends the job.

use super::below::open_below;
use super::thread::{Failure, Performed, TreeThread};
use super::tickets::{below, chance};
use plan::generate::OperationKind;
use plan::{EntryJob, StatCall};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

impl TreeThread<'_> {
    /// Does one operation after the other until the job or the run is over.
    pub(crate) fn run_numbered(&mut self, kind: OperationKind, job: &EntryJob) {
        let mut order = Order::new(self.tree().layout().files(), job.is_random, self.seed);
        let end_ns = job.elapsed_ns.unwrap_or(u64::MAX);
        let (mut done, mut last_due_ns) = (0, 0);
        while self.goes_on() {
            if job.operations.is_some_and(|most| done >= most) {
                return self.lane.end(last_due_ns + 1);
            }
            let Some(ticket) = self.ticket() else { return };
            if ticket.due_ns >= end_ns || (self.lane.is_closed() && self.now_ns() >= end_ns) {
                // At a rate, the time goes on in which nothing is due any more.
                let _ = self.wait_until(end_ns);
                return self.lane.end(end_ns);
            }
            if !self.wait_until(ticket.due_ns) {
                return;
            }
            let Some(number) = order.next() else { return self.lane.end(ticket.due_ns) };
            self.tree_path(number);
            let mut opened = None;
            let performed = self.perform(ticket, (0, 0), |this| {
                opened = this.numbered(kind, job)?;
                Ok(0)
            });
            if let Some(fd) = opened {
                let _ = self.close_step(fd, false);
            }
            (done, last_due_ns) = (done + 1, ticket.due_ns);
            match performed {
                Performed::Done(_) => {}
                Performed::Failed(_) => return self.lane.end(ticket.due_ns + 1),
                Performed::Refused => return,
            }
        }
    }

    /// One operation; the path is known. A file that was made is open.
    fn numbered(&mut self, kind: OperationKind, job: &EntryJob) -> Result<Option<OwnedFd>, Failure> {
        let anchor = self.lane.tree.anchor();
        match kind {
            OperationKind::Create => {
                // One that is there is opened, as fio does.
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK;
                return Ok(Some(open_below(anchor, &self.path, flags, Mode::from_raw_mode(0o600))?));
            }
            OperationKind::Mkdir => rustix::fs::mkdirat(anchor, &*self.path, Mode::from_raw_mode(0o700))?,
            OperationKind::Delete => rustix::fs::unlinkat(anchor, &*self.path, AtFlags::empty())?,
            OperationKind::Rmdir => rustix::fs::unlinkat(anchor, &*self.path, AtFlags::REMOVEDIR)?,
            OperationKind::Getattr => match job.stat {
                StatCall::Stat => drop(rustix::fs::statat(anchor, &*self.path, AtFlags::empty())?),
                StatCall::Lstat => drop(rustix::fs::statat(anchor, &*self.path, AtFlags::SYMLINK_NOFOLLOW)?),
                StatCall::Statx => {
                    rustix::fs::statx(anchor, &*self.path, AtFlags::empty(), StatxFlags::ALL)?;
                }
            },
            _ => return Err(Errno::NOSYS.into()),
        }
        Ok(None)
    }
}

/// The numbers of entries, round after round.
struct Order {
    count: u32,
    at: u32,
    /// Of this round, where it is by chance.
    mixed: Option<Vec<u32>>,
    seed: u64,
    drawn: u64,
}

impl Order {
    fn new(count: u32, is_random: bool, seed: u64) -> Self {
        let mixed = is_random.then(|| (0..count).collect());
        let mut order = Self { count, at: 0, mixed, seed, drawn: 0 };
        order.mix();
        order
    }

    /// A new order for the round that begins.
    fn mix(&mut self) {
        let Some(mixed) = &mut self.mixed else { return };
        for last in (1..mixed.len()).rev() {
            let other = below(chance(self.seed, self.drawn), last as u64 + 1);
            self.drawn += 1;
            mixed.swap(last, usize::try_from(other).unwrap_or(0));
        }
    }

    /// `None`: there are none.
    fn next(&mut self) -> Option<u32> {
        if self.at >= self.count {
            self.at = 0;
            self.mix();
        }
        let number = match &self.mixed {
            Some(mixed) => mixed.get(self.at as usize).copied(),
            None => (self.at < self.count).then_some(self.at),
        };
        self.at += 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_each_entry_once() {
        for is_random in [false, true] {
            let mut order = Order::new(50, is_random, 7);
            let rounds: Vec<Vec<u32>> =
                (0..3).map(|_| (0..50).filter_map(|_| order.next()).collect::<Vec<u32>>()).collect();
            for round in &rounds {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert!(sorted.iter().copied().eq(0..50), "{round:?}");
            }
            assert_eq!(rounds[0] != rounds[1], is_random);
        }
        assert_eq!(Order::new(0, true, 7).next(), None);
        assert_eq!(Order::new(0, false, 7).next(), None);
    }
}
