//! Zones of a file that a job goes through one after the other (fio's `zonemode=strided`).

use crate::spec::{FilePart, StridedZones};

/// Where a pass is among the zones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strided {
    zones: StridedZones,
    part: FilePart,
    /// First byte behind the file.
    real: u64,
    /// First byte of the zone.
    base: u64,
    /// Bytes that were issued in it.
    done: u64,
}

impl Strided {
    /// Begins with the first zone of `part`, in a file of `real` bytes.
    pub(crate) fn new(zones: StridedZones, part: FilePart, real: u64) -> Self {
        Self { zones, part, real, base: part.start, done: 0 }
    }

    pub(crate) fn begin_anew(&mut self) {
        (self.base, self.done) = (self.part.start, 0);
    }

    /// First byte of the zone.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Bytes of the zone.
    pub(crate) fn range_bytes(&self) -> u64 {
        self.zones.range_bytes
    }

    /// Before an operation (`setup_strided_zone_mode()` of fio 3.33): goes on to the next zone when enough was done in this one,
    /// behind the file's end to the first. True: it begins with the zone, or begins with it again.
    #[inline]
    pub(crate) fn enter(&mut self) -> bool {
        if self.done >= self.zones.bytes {
            self.done = 0;
            self.base = self.base.saturating_add(self.zones.range_bytes).saturating_add(self.zones.skip_bytes);
            if self.base >= self.real {
                self.base = self.part.start;
            }
        }
        self.done.is_multiple_of(self.zones.range_bytes)
    }

    /// So many bytes were issued.
    #[inline]
    pub(crate) fn count(&mut self, bytes: u32) {
        self.done = self.done.saturating_add(u64::from(bytes));
    }
}
