//! I/Os that failed, by event: each of them, by device, operation, error and file. The kernel's own messages are limited to
//! ten in five seconds.
//!
//! What succeeds costs a call and a comparison. The process is not known: an I/O completes in the turn of whatever runs then.

use crate::block::{COMPLETIONS, op_name};
use crate::constants::Constants;
use crate::device::device_name;
use crate::names::Cursor;
use crate::program::{Loaded, Need, ProbeSet, Program};
use crate::table::entries;
use crate::{ProgramSupport, TraceError, symbols};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

/// What build.rs compiled.
pub(crate) const SET: ProbeSet =
    ProbeSet { object: include_bytes!(concat!(env!("OUT_DIR"), "/errors.bpf.o")), programs: &PROGRAMS };

const PROGRAMS: [Program; 2] = [
    Program {
        name: "on_rq_complete",
        tracepoint: "block_rq_complete",
        need: Need::Always("I/Os that fail are not seen"),
    },
    Program {
        name: "on_bio_complete",
        tracepoint: "block_bio_complete",
        need: Need::Else("I/Os that fail on devices without requests (zram, dm, md) are not counted"),
    },
];

/// Bytes of a file's name.
const FILE_BYTES: usize = 48;
/// Of what has no place.
const NO_SECTOR: u64 = u64::MAX / 512;

/// I/Os that failed since the probe began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedIos {
    /// Kernel name of the device.
    pub device: String,
    /// Operation.
    pub op: &'static str,
    /// Error number.
    pub errno: i32,
    /// Inode of the file whose data they would have moved.
    pub inode: Option<u64>,
    /// Its name, without the directories before it, as it was when the first one failed.
    pub file: Option<String>,
    /// How many.
    pub count: u64,
    /// When the first and the last one failed, `CLOCK_MONOTONIC`.
    pub first_ns: u64,
    /// See `first_ns`.
    pub last_ns: u64,
    /// First sector of the first one, 512 B each.
    pub sector: Option<u64>,
}

/// A running probe; dropping it detaches everything.
pub struct ErrorTrace {
    failed: MapHandle,
    lost: MapHandle,
    loaded: Loaded,
}

impl std::fmt::Debug for ErrorTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ErrorTrace").finish_non_exhaustive()
    }
}

impl ErrorTrace {
    /// Loads the probe and begins to count.
    ///
    /// # Errors
    /// Missing capabilities or kernel features.
    pub fn start() -> Result<Self, TraceError> {
        let mut constants = Constants::default();
        let ends = symbols::addresses(&COMPLETIONS.map(|(_, function)| function));
        for (constant, function) in COMPLETIONS {
            constants.u64(constant, ends.get(function).copied().unwrap_or(0));
        }
        let mut loaded = SET.load(&constants, |_| Ok(()))?;
        let (failed, lost) = (loaded.map("failed")?, loaded.map("lost")?);
        loaded.attach()?;
        Ok(Self { failed, lost, loaded })
    }

    /// What the kernel offers, program by program.
    #[must_use]
    pub fn verdicts(&self) -> &[ProgramSupport] {
        self.loaded.verdicts()
    }

    /// What the probe's programs cost so far.
    #[must_use]
    pub fn cost(&self) -> crate::ProbeCost {
        self.loaded.cost()
    }

    /// Everything that failed until now.
    ///
    /// # Errors
    /// The kernel's table cannot be read.
    pub fn read(&self) -> Result<Vec<FailedIos>, TraceError> {
        let mut all: Vec<FailedIos> = entries(&self.failed)
            .map_err(|why| unreadable(&why))?
            .iter()
            .map(|(key, value)| failed(key, value))
            .collect();
        all.retain(|failed| failed.count > 0);
        all.sort_by(|a, b| (&a.device, a.op, a.errno, a.inode).cmp(&(&b.device, b.op, b.errno, b.inode)));
        Ok(all)
    }

    /// How many failed for which there was no room.
    ///
    /// # Errors
    /// The kernel's table cannot be read.
    pub fn lost(&self) -> Result<u64, TraceError> {
        let value = self.lost.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(|why| unreadable(&why))?;
        Ok(value.map_or(0, |value| Cursor::new(&value).u64()))
    }
}

fn failed(key: &[u8], value: &[u8]) -> FailedIos {
    let mut at = Cursor::new(key);
    let (dev, op, status, _) = (at.u32(), at.u8(), at.u8(), at.u16());
    let inode = at.u64();
    let mut at = Cursor::new(value);
    let (count, first_ns, last_ns, sector) = (at.u64(), at.u64(), at.u64(), at.u64());
    FailedIos {
        device: device_name(dev),
        op: op_name(op),
        errno: recording::status_errno(status).unwrap_or(0),
        inode: (inode != 0).then_some(inode),
        file: Some(at.text(FILE_BYTES)).filter(|name| !name.is_empty()),
        count,
        first_ns,
        last_ns,
        sector: (sector < NO_SECTOR).then_some(sector),
    }
}

fn unreadable(why: &libbpf_rs::Error) -> TraceError {
    TraceError::Consumer(format!("cannot read the counts of I/Os that failed: {why}"))
}

#[cfg(test)]
mod tests {
    use super::failed;

    #[test]
    fn an_entry_of_the_kernels_table() {
        let mut key = Vec::new();
        key.extend((4000_u32 << 20 | 7).to_ne_bytes());
        key.extend([0, 7, 0, 0]);
        key.extend(12_u64.to_ne_bytes());
        key.extend([0; 8]);
        let mut value: Vec<u8> = [3_u64, 10, 20, 2048].iter().flat_map(|number| number.to_ne_bytes()).collect();
        value.extend(b"data.bin\0");
        value.resize(80, 0);
        let one = failed(&key, &value);
        assert_eq!((one.device.as_str(), one.op, one.errno), ("4000:7", "read", 61));
        assert_eq!(
            (one.inode, one.file.as_deref(), one.count, one.sector),
            (Some(12), Some("data.bin"), 3, Some(2048))
        );
    }
}
