//! Samples system counters, one subject per file; every reader takes a root.
//!
//! Raw cumulative counters are recorded; rates are derived when read. A counter that the kernel lacks is null, and what
//! cannot be read at all is said by an event, never by a zero.

mod cpu;
mod devices;
mod disk;
mod hardware;
mod nfs;
mod sampler;
mod text;

pub use devices::{Device, DeviceMap, Mount, Number, Resolution};
pub use hardware::{hardware, hardware_of};
pub use sampler::{SampleTimes, Sampler};
