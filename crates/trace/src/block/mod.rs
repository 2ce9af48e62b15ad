//! Every block I/O: when queued, issued and completed, where, how large, what kind, by whom, for which file.
//!
//! [`BlockTrace::start`] loads the probe and starts a consumer thread that does nothing but copy records out of the ring;
//! [`TraceNames`] finds the names that they use, on whichever thread the caller likes; rows of the table `io` are made of them
//! at once for those who look ([`TraceNames::batch`]), or by the recording when it is read ([`TraceNames::pack`]).

mod chunk;
mod columns;
mod consumer;
mod ftrace;
mod idle;
mod in_flight;
mod records;
mod ring;

pub use chunk::TraceChunk;
pub use columns::{PackedChunk, TraceNames, TraceSums};
pub use consumer::{BlockTrace, SyntheticFlood};
pub use recording::{IoRecord, op_name};
pub use records::{InFlightIo, ProbeStatistics, op_numbers};
pub use ring::FlightRing;

use crate::constants::Constants;
use crate::program::{Need, ProbeSet, Program, ProgramState, ProgramSupport};
use crate::{BlockDevice, Kernel, TraceError, device, symbols};
use std::collections::HashMap;

/// What build.rs compiled.
pub(crate) const SET: ProbeSet =
    ProbeSet { object: include_bytes!(concat!(env!("OUT_DIR"), "/block.bpf.o")), programs: &PROGRAMS };

/// They only serve to know who changed cached data.
const DIRTY_TRACEPOINTS: [&str; 2] = ["writeback_dirty_folio", "writeback_dirty_page"];

const PROGRAMS: [Program; 15] = [
    // Ends first: nothing is to stay behind in the table of what is in flight.
    Program { name: "on_rq_complete", tracepoint: "block_rq_complete", need: Need::Always("no completion is seen") },
    Program {
        name: "on_bio_complete",
        tracepoint: "block_bio_complete",
        need: Need::Else("devices without requests (zram, dm, md) are not traced"),
    },
    // For ends that the first ones missed. Programs of one tracepoint run in the order of attaching.
    Program { name: "on_io_done", tracepoint: "block_io_done", need: Need::Else("") },
    Program { name: "on_bio_complete_missed", tracepoint: "block_bio_complete", need: Need::Else("") },
    Program {
        name: "on_rq_issue",
        tracepoint: "block_rq_issue",
        need: Need::Always("the time at the device is unknown"),
    },
    Program {
        name: "on_rq_requeue",
        tracepoint: "block_rq_requeue",
        need: Need::Else("requests that the driver gave back are not counted"),
    },
    Program {
        name: "on_rq_merge",
        tracepoint: "block_rq_merge",
        need: Need::Else("requests that were merged away stay in the table of I/Os in flight"),
    },
    Program { name: "on_backmerge", tracepoint: "block_bio_backmerge", need: Need::Else("merges are not counted") },
    Program { name: "on_frontmerge", tracepoint: "block_bio_frontmerge", need: Need::Else("merges are not counted") },
    Program { name: "on_split", tracepoint: "block_split", need: Need::Else("splits are not marked") },
    Program {
        name: "on_dirty_folio",
        tracepoint: DIRTY_TRACEPOINTS[0],
        need: Need::Else("Linux 5.18 has it; writeback_dirty_page serves as well"),
    },
    Program {
        name: "on_dirty_page",
        tracepoint: DIRTY_TRACEPOINTS[1],
        need: Need::Instead(DIRTY_TRACEPOINTS[0], "nothing"),
    },
    Program {
        name: "on_rq_insert",
        tracepoint: "block_rq_insert",
        need: Need::Instead(
            "block_io_start",
            "the issuer is the one that inserts or dispatches, with scheduler none at times a kernel thread",
        ),
    },
    Program {
        name: "on_io_start",
        tracepoint: "block_io_start",
        need: Need::Else("an I/O begins when it enters the scheduler (Linux 6.5 has the tracepoint)"),
    },
    Program {
        name: "on_bio_queue",
        tracepoint: "block_bio_queue",
        need: Need::Else("time spent waiting for a free request is not seen"),
    },
];

/// Makes records of I/Os that never were.
const FLOOD: &str = "make_flood";

/// An I/O that they miss is unknown.
const STARTS: [&str; 3] = ["on_io_start", "on_rq_insert", "on_bio_queue"];
/// The last that can see an I/O's end, on kernels that have `block_io_done` and on others: what they miss stays in the table
/// of those in flight.
const LAST_ENDS: [&str; 2] = ["on_io_done", "on_bio_complete_missed"];
const LAST_ENDS_BEFORE: [&str; 2] = ["on_rq_complete", "on_bio_complete_missed"];
/// Functions that complete a bio and say by that whose it is, with the probe's constants for them.
pub(crate) const COMPLETIONS: [(&str, &str); 3] = [
    ("end_iomap_dio", "iomap_dio_bio_end_io"),
    ("end_btrfs_simple", "btrfs_simple_end_io"),
    ("end_btrfs_orig_write", "btrfs_orig_write_end_io"),
];

/// Bytes of the ring buffer, unless asked for otherwise, for each device that is traced: a million records for one that can do
/// a million I/Os a second, less for one that turns.
const RING_BYTES: u64 = 64 << 20;
const RING_BYTES_ROTATING: u64 = 4 << 20;
/// Of all devices together: no less, and no more.
const RING_BYTES_DEFAULT: std::ops::RangeInclusive<u64> = 16 << 20..=128 << 20;
/// It takes no more than this part of the machine's memory.
const RING_MEMORY_SHARE: u64 = 64;
/// The smallest that the kernel takes anywhere.
const RING_BYTES_MIN: u64 = 64 << 10;

/// What to trace.
#[derive(Clone, Debug)]
pub struct TraceFilter {
    /// These devices or partitions; none: all.
    pub devices: Vec<BlockDevice>,
    /// Operations by the kernel's number, as bits; all by default.
    pub ops: u32,
    /// Smallest size, bytes.
    pub bytes_min: u32,
    /// Greatest size, bytes.
    pub bytes_max: u32,
    /// These processes; none: all.
    pub pids: Vec<u32>,
    /// Tasks of these names (the kernel's 15 characters); none: all.
    pub comms: Vec<String>,
    /// Tasks in these control groups, by the inode of their directories; none: all.
    pub cgroups: Vec<u64>,
    /// One I/O in so many, chosen by a hash.
    pub sample: u32,
}

impl Default for TraceFilter {
    fn default() -> Self {
        Self {
            devices: Vec::new(),
            ops: u32::MAX,
            bytes_min: 0,
            bytes_max: u32::MAX,
            pids: Vec::new(),
            comms: Vec::new(),
            cgroups: Vec::new(),
            sample: 1,
        }
    }
}

/// By which way of the kernel's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceSource {
    /// BPF programs.
    #[default]
    Bpf,
    /// An instance of ftrace, which knows less.
    Ftrace,
    /// BPF, and ftrace where it is not to be had.
    Either,
}

/// How to trace.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// What.
    pub filter: TraceFilter,
    /// Bytes of the ring buffer between kernel and consumer; by default 64 MiB for each device (4 MiB for
    /// one that turns), between 16 and 128 MiB, at most 1/64 of the memory.
    pub ring_bytes: Option<u64>,
    /// Find the file of each I/O, and the owner of write-back.
    pub files: bool,
    /// By which way.
    pub through: TraceSource,
    /// For benches: load what [`BlockTrace::take_flood`] gives.
    pub flood: bool,
    /// For tests: the kernel leaves the probe out at the ends of I/Os below this sector.
    pub left_out_below: u64,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            filter: TraceFilter::default(),
            ring_bytes: None,
            files: true,
            through: TraceSource::default(),
            flood: false,
            left_out_below: 0,
        }
    }
}

/// The ring's size by what is traced: for each device so much, within limits and a part of the memory.
fn ring_default(rotating: impl IntoIterator<Item = bool>, memory: u64) -> u64 {
    let each = rotating.into_iter().map(|rotating| if rotating { RING_BYTES_ROTATING } else { RING_BYTES });
    let wanted = each.sum::<u64>().clamp(*RING_BYTES_DEFAULT.start(), *RING_BYTES_DEFAULT.end());
    wanted.min(memory / RING_MEMORY_SHARE)
}

/// Do the devices that are traced turn?
fn rotating(filter: &TraceFilter) -> Vec<bool> {
    match filter.devices.as_slice() {
        [] => device::all().iter().map(|device| device.is_rotating()).collect(),
        devices => devices.iter().map(BlockDevice::is_rotating).collect(),
    }
}

/// The size that the ring gets: a power of two of whole pages.
fn ring_bytes(options: &TraceOptions) -> Result<u32, TraceError> {
    let memory = rustix::system::sysinfo().totalram;
    let asked = options.ring_bytes.unwrap_or_else(|| ring_default(rotating(&options.filter), memory));
    let bytes = asked.clamp(RING_BYTES_MIN, 1 << 31).next_power_of_two();
    if options.ring_bytes.is_some() && (asked < RING_BYTES_MIN || asked > memory / 4) {
        return Err(TraceError::Parameter(format!(
            "a buffer of {} is not possible: between {} and a quarter of the memory ({})",
            quantity::text::format_bytes(asked),
            quantity::text::format_bytes(RING_BYTES_MIN),
            quantity::text::format_bytes(memory / 4)
        )));
    }
    u32::try_from(bytes).map_err(|_| TraceError::Parameter("a buffer of more than 2 GiB is not possible".to_string()))
}

/// What is not known where the addresses of functions are hidden.
const HIDDEN: ProgramSupport = ProgramSupport {
    tracepoint: "the address of every kernel function (/proc/kallsyms)",
    state: ProgramState::Hidden,
    loss: Some(
        "the file of direct I/O is not known, nor that of compressed data on btrfs; CAP_SYSLOG shows the addresses, and root does, unless kernel.kptr_restrict is 2",
    ),
};

/// The probe's constants for these options; what cannot be known for want of addresses goes to `verdicts`.
fn constants(
    kernel: &Kernel,
    options: &TraceOptions,
    ring_bytes: u32,
    verdicts: &mut Vec<ProgramSupport>,
) -> Constants {
    let filter = &options.filter;
    let mut constants = Constants::default();
    constants.flag("has_io_start", kernel.has_tracepoint("block_io_start"));
    constants.flag("only_devices", !filter.devices.is_empty());
    constants.u32("only_ops", filter.ops);
    constants.u32("bytes_min", filter.bytes_min);
    constants.u32("bytes_max", filter.bytes_max);
    constants.flag("only_pids", !filter.pids.is_empty());
    constants.flag("only_comms", !filter.comms.is_empty());
    constants.flag("only_cgroups", !filter.cgroups.is_empty());
    constants.u32("sample_limit", u32::MAX / filter.sample.max(1));
    constants.flag("with_files", options.files);
    constants.u64("left_out_below", options.left_out_below);
    let mut ends = HashMap::new();
    if options.files {
        let functions = COMPLETIONS.map(|(_, function)| function);
        ends = symbols::addresses(&[&functions[..], &[symbols::ALWAYS]].concat());
        if !ends.contains_key(symbols::ALWAYS) {
            verdicts.push(HIDDEN);
        }
    }
    for (constant, function) in COMPLETIONS {
        constants.u64(constant, ends.get(function).copied().unwrap_or(0));
    }
    constants.u64("wake_bytes", u64::from(ring_bytes) / 4);
    constants
}

#[cfg(test)]
mod tests {
    use super::ring_default;

    #[test]
    fn the_ring_is_as_large_as_its_devices_are_quick() {
        let check = |rotating: &[bool], memory_mib: u64, expected_mib: u64| {
            assert_eq!(ring_default(rotating.iter().copied(), memory_mib << 20) >> 20, expected_mib, "{rotating:?}");
        };
        check(&[false], 65536, 64);
        check(&[true], 65536, 16);
        check(&[true, true, true, true, true, true], 65536, 24);
        check(&[false, true], 65536, 68);
        check(&[false; 10], 65536, 128);
        check(&[], 65536, 16);
        check(&[false], 2048, 32);
    }
}
