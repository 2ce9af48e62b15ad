//! What probe.bpf.c writes, but for names and I/Os (`recording::IoRecord`): the same layouts, read without trust.

use crate::names::{Cursor, Name};
use recording::{IoRecord, LossName, RawIo, op_name};

/// Anything that can lie in the ring.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    Io(&'a RawIo),
    Name(Name),
    /// Of a length that this program does not write.
    Unknown,
}

impl<'a> Entry<'a> {
    #[inline]
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        if let Ok(raw) = <&RawIo>::try_from(bytes) {
            return Self::Io(raw);
        }
        Name::of(bytes).map_or(Self::Unknown, Self::Name)
    }
}

/// An I/O that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlightIo {
    /// When it was queued, `CLOCK_MONOTONIC`, ns.
    pub queue_ns: u64,
    /// Its device, major << 20 | minor.
    pub dev: u32,
    /// The kernel's number of its operation.
    pub op: u8,
}

impl InFlightIo {
    pub(crate) fn of(io: &IoRecord) -> Self {
        Self { queue_ns: io.queue_ns, dev: io.dev, op: io.op }
    }
}

/// An I/O as the table of those in flight has it (`struct start`); `None` for what is left of one that is over.
pub(crate) fn started(bytes: &[u8]) -> Option<IoRecord> {
    let mut at = Cursor::new(bytes);
    let (queue_ns, issue_ns, sector) = (at.u64(), at.u64(), at.u64());
    let (bytes, dev, issuer, owner, file) = (at.u32(), at.u32(), at.u32(), at.u32(), at.u32());
    let flags = at.u16();
    let (op, bios, requeues, status) = (at.u8(), at.u8(), at.u8(), at.u8());
    let io = IoRecord {
        queue_ns,
        complete_ns: 0,
        issue_ns,
        sector,
        bytes,
        dev,
        issuer,
        owner,
        file,
        flags,
        op,
        bios,
        requeues,
        status,
    };
    (queue_ns > 0).then_some(io)
}

/// The kernel's numbers of an operation by its name, as bits; 0 for an unknown name.
#[must_use]
pub fn op_numbers(name: &str) -> u32 {
    (0..31).filter(|op| op_name(*op) == name).fold(0, |bits, op| bits | 1 << op)
}

/// What the probe has counted since it was loaded, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeStatistics {
    /// I/Os that passed the filters, before sampling.
    pub started: u64,
    /// Records written.
    pub emitted: u64,
    /// Records lost because the ring was full.
    pub lost_ring: u64,
    /// I/Os lost because the table of those in flight was full.
    pub lost_table: u64,
    /// Entries of the ring that were not understood: at most so many I/Os are lost, or have no name.
    pub lost_unknown: u64,
    /// I/Os whose completion was not seen, because the probe did not run: they are there, without its time.
    pub lost_end: u64,
    /// Times that the probe at an I/O's start did not run: at most so many are lost.
    pub lost_start: u64,
    /// Times that the last probe at an I/O's end did not run: at most so many of the unfinished had ended.
    pub missed_ends: u64,
    /// Times that a name found no room; the I/Os with it have no issuer.
    pub lost_names: u64,
    /// Bios merged into a request.
    pub merged: u64,
    /// Bios split.
    pub splits: u64,
    /// I/Os that began and were chosen: each is emitted, lost for want of room, merged away, passed over or unfinished.
    pub taken: u64,
    /// Requests that became part of another.
    pub merged_away: u64,
    /// I/Os of an unwanted size.
    pub passed_over: u64,
    /// I/Os of which no end had been seen when the trace ended: in flight, but for those whose end the kernel did not let
    /// the probe see. They are rows without an end; known at the end only.
    pub unfinished: u64,
}

impl ProbeStatistics {
    /// Sums the values of all CPUs, as the map holds them.
    pub(crate) fn sum(cpus: &[Vec<u8>]) -> Self {
        let mut sum = Self::default();
        for cpu in cpus {
            let mut at = Cursor::new(cpu);
            for field in [
                &mut sum.started,
                &mut sum.emitted,
                &mut sum.lost_ring,
                &mut sum.lost_table,
                &mut sum.lost_names,
                &mut sum.merged,
                &mut sum.splits,
                &mut sum.taken,
                &mut sum.lost_end,
                &mut sum.merged_away,
                &mut sum.passed_over,
            ] {
                *field += at.u64();
            }
        }
        sum
    }

    /// I/Os that should be in the trace and are not.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost_ring + self.lost_table + self.lost_start + self.lost_unknown
    }

    /// Everything that is missing, by the names under which a manifest lists losses; without what is not.
    pub fn losses(&self) -> impl Iterator<Item = (LossName, u64)> + use<> {
        self.losses_of_a_part().chain(self.losses_unaccounted())
    }

    /// I/Os that began and of which nothing is known, as a loss; of a whole trace only.
    pub fn losses_unaccounted(&self) -> impl Iterator<Item = (LossName, u64)> + use<> {
        std::iter::once((LossName::TraceUnaccounted, self.unaccounted().unsigned_abs())).filter(|(_, count)| *count > 0)
    }

    /// The same of what was counted within a part of a trace, where I/Os are in flight at both ends.
    pub fn losses_of_a_part(&self) -> impl Iterator<Item = (LossName, u64)> + use<> {
        let losses = [
            (LossName::TraceBufferFull, self.lost_ring),
            (LossName::TraceTableFull, self.lost_table),
            (LossName::TraceStartUnseen, self.lost_start),
            (LossName::TraceNotUnderstood, self.lost_unknown),
            (LossName::TraceNames, self.lost_names),
        ];
        losses.into_iter().filter(|(_, count)| *count > 0)
    }

    /// I/Os that began and of which nothing is known; 0, or the probe miscounts.
    #[must_use]
    pub fn unaccounted(&self) -> i64 {
        let known = self.emitted + self.lost_ring + self.lost_table + self.lost_unknown;
        let known = known + self.merged_away + self.passed_over + self.unfinished;
        i64::try_from(self.taken).unwrap_or(i64::MAX) - i64::try_from(known).unwrap_or(i64::MAX)
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            started: self.started.saturating_sub(earlier.started),
            emitted: self.emitted.saturating_sub(earlier.emitted),
            lost_ring: self.lost_ring.saturating_sub(earlier.lost_ring),
            lost_table: self.lost_table.saturating_sub(earlier.lost_table),
            lost_unknown: self.lost_unknown.saturating_sub(earlier.lost_unknown),
            lost_names: self.lost_names.saturating_sub(earlier.lost_names),
            merged: self.merged.saturating_sub(earlier.merged),
            splits: self.splits.saturating_sub(earlier.splits),
            lost_end: self.lost_end.saturating_sub(earlier.lost_end),
            lost_start: self.lost_start.saturating_sub(earlier.lost_start),
            missed_ends: self.missed_ends.saturating_sub(earlier.missed_ends),
            taken: self.taken.saturating_sub(earlier.taken),
            merged_away: self.merged_away.saturating_sub(earlier.merged_away),
            passed_over: self.passed_over.saturating_sub(earlier.passed_over),
            unfinished: self.unfinished,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_one_name_each_way() {
        assert_eq!((op_numbers("read"), op_numbers("write"), op_numbers("discard")), (1, 2, 8));
        assert_eq!(op_numbers("nonsense"), 0);
    }
}
