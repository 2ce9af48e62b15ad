//! What probe.bpf.c writes, but for names: the same layouts, read without trust.

use crate::names::{Cursor, Name};

/// Bytes of one I/O's record.
pub(crate) const RECORD_BYTES: usize = 64;
/// One I/O as it lies in the ring.
pub(crate) type Raw = [u8; RECORD_BYTES];

/// Anything that can lie in the ring.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    Io(&'a Raw),
    Name(Name),
    /// Of a length that this program does not write.
    Unknown,
}

impl<'a> Entry<'a> {
    #[inline]
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        if let Ok(raw) = <&Raw>::try_from(bytes) {
            return Self::Io(raw);
        }
        Name::of(bytes).map_or(Self::Unknown, Self::Name)
    }
}

/// An I/O that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// When it was queued, `CLOCK_MONOTONIC`, ns.
    pub queue_ns: u64,
    /// Its device, major << 20 | minor.
    pub dev: u32,
    /// The kernel's number of its operation.
    pub op: u8,
}

impl InFlight {
    /// As the table of those in flight has it; `None` for what is left of one that is over.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let mut at = Cursor::new(bytes);
        let queue_ns = at.u64();
        let (_issue, _sector, _bytes) = (at.u64(), at.u64(), at.u32());
        let dev = at.u32();
        let (_issuer, _owner, _file, _flags) = (at.u32(), at.u32(), at.u32(), at.u16());
        (queue_ns > 0).then(|| Self { queue_ns, dev, op: at.u8() })
    }
}

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// When its first bio was queued, `CLOCK_MONOTONIC`, ns.
    pub queue_ns: u64,
    /// When it completed; 0: that was not seen.
    pub complete_ns: u64,
    /// When the driver got it; 0: never given to the driver by itself.
    pub issue_ns: u64,
    pub(crate) sector: u64,
    /// Size.
    pub bytes: u32,
    /// Its device, major << 20 | minor.
    pub dev: u32,
    /// Numbers of an [`Actor`]; 0: unknown.
    pub(crate) issuer: u32,
    pub(crate) owner: u32,
    pub(crate) file: u32,
    pub(crate) flags: u16,
    /// The kernel's number of its operation.
    pub op: u8,
    pub(crate) bios: u8,
    pub(crate) requeues: u8,
    pub(crate) status: u8,
}

impl Io {
    pub(crate) fn of(raw: &Raw) -> Self {
        let mut at = Cursor::new(raw);
        Self {
            queue_ns: at.u64(),
            complete_ns: at.u64(),
            issue_ns: at.u64(),
            sector: at.u64(),
            bytes: at.u32(),
            dev: at.u32(),
            issuer: at.u32(),
            owner: at.u32(),
            file: at.u32(),
            flags: at.u16(),
            op: at.u8(),
            bios: at.u8(),
            requeues: at.u8(),
            status: at.u8(),
        }
    }

    /// When it completed, or the last that is known of it.
    #[must_use]
    pub fn last_ns(&self) -> u64 {
        self.complete_ns.max(self.issue_ns).max(self.queue_ns)
    }

    /// From queueing to completion; `None` when that was not seen.
    #[must_use]
    pub fn response_ns(&self) -> Option<u64> {
        (self.complete_ns > 0).then(|| self.complete_ns.saturating_sub(self.queue_ns))
    }

    /// Did it fail?
    #[must_use]
    pub fn failed(&self) -> bool {
        self.status != 0
    }

    /// The errno of its status: a `blk_status_t`, or a negative errno with the high bit (before Linux 5.16).
    pub(crate) fn error(&self) -> Option<i32> {
        // include/linux/blk_types.h and block/blk-core.c, blk_errors.
        Some(match self.status {
            0 => return None,
            errno @ 0x80.. => i32::from(errno & 0x7f),
            1 => 95,        // EOPNOTSUPP
            2 => 110,       // ETIMEDOUT
            3 => 28,        // ENOSPC
            4 => 67,        // ENOLINK
            5 => 121,       // EREMOTEIO
            6 => 52,        // EBADE
            7 => 61,        // ENODATA
            8 => 84,        // EILSEQ
            9 => 12,        // ENOMEM
            11 => 78,       // EREMCHG
            12 => 11,       // EAGAIN
            13 => 16,       // EBUSY
            14 | 15 => 109, // ETOOMANYREFS, EOVERFLOW at times
            16 => 19,       // ENODEV
            17 => 62,       // ETIME
            18 => 22,       // EINVAL
            _ => 5,         // EIO
        })
    }
}

/// The kernel's name of an operation (include/linux/blk_types.h, enum req_op).
#[must_use]
pub fn op_name(op: u8) -> &'static str {
    match op {
        0 => "read",
        1 => "write",
        2 => "flush",
        3 => "discard",
        5 => "secure_erase",
        7 => "zone_append",
        9 => "write_zeroes",
        10 | 11 => "zone_open",
        12 | 13 => "zone_close",
        14 | 15 => "zone_finish",
        16 | 17 => "zone_reset",
        18 | 19 => "zone_reset_all",
        32 | 34 => "driver_in",
        33 | 35 => "driver_out",
        _ => "other",
    }
}

/// The kernel's numbers of an operation by its name, as bits; 0 for an unknown name.
#[must_use]
pub fn op_numbers(name: &str) -> u32 {
    (0..31).filter(|op| op_name(*op) == name).fold(0, |bits, op| bits | 1 << op)
}

/// Names of the bits of `flags`, lowest first.
pub(crate) const FLAGS: [&str; 9] =
    ["sync", "meta", "fua", "preflush", "readahead", "background", "split", "direct", "device"];

/// What the probe has counted since it was loaded, over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// I/Os that passed the filters, before sampling.
    pub started: u64,
    /// Records written.
    pub emitted: u64,
    /// Records lost because the ring was full.
    pub lost_ring: u64,
    /// I/Os lost because the table of those in flight was full.
    pub lost_table: u64,
    /// I/Os whose completion was not seen, because the probe did not run: they are there, without its time.
    pub lost_end: u64,
    /// Times that the probe at an I/O's start did not run: at most so many are lost.
    pub lost_start: u64,
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
    /// I/Os still in flight; known at the end only.
    pub unfinished: u64,
}

impl Statistics {
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
        self.lost_ring + self.lost_table + self.lost_start
    }

    /// Everything that is missing, by the names under which a manifest lists losses; without what is not.
    pub fn losses(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let losses = [
            ("trace_buffer_full", self.lost_ring),
            ("trace_table_full", self.lost_table),
            ("trace_start_unseen", self.lost_start),
            ("trace_unaccounted", self.unaccounted().unsigned_abs()),
            ("trace_names", self.lost_names),
        ];
        losses.into_iter().filter(|(_, count)| *count > 0)
    }

    /// I/Os that began and of which nothing is known; 0, or the probe miscounts.
    #[must_use]
    pub fn unaccounted(&self) -> i64 {
        let known = self.emitted + self.lost_ring + self.lost_table;
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
            lost_names: self.lost_names.saturating_sub(earlier.lost_names),
            merged: self.merged.saturating_sub(earlier.merged),
            splits: self.splits.saturating_sub(earlier.splits),
            lost_end: self.lost_end.saturating_sub(earlier.lost_end),
            lost_start: self.lost_start.saturating_sub(earlier.lost_start),
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
    fn every_status_is_an_error_and_none_is_none() {
        let mut raw = [0; RECORD_BYTES];
        let mut check = |status: u8, errno: Option<i32>| {
            raw[57] = status;
            assert_eq!(Io::of(&raw).error(), errno, "{status}");
        };
        check(0, None);
        check(10, Some(5));
        check(3, Some(28));
        check(0x80 | 5, Some(5));
        check(100, Some(5));
    }

    #[test]
    fn operations_have_one_name_each_way() {
        assert_eq!((op_numbers("read"), op_numbers("write"), op_numbers("discard")), (1, 2, 8));
        assert_eq!(op_numbers("nonsense"), 0);
    }
}
