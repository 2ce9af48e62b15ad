//! Samples system counters, one subject per file; every reader takes a root.
//!
//! Raw cumulative counters are recorded; rates are derived when read. A counter that the kernel lacks is null, and what
//! cannot be read at all is said by an event, never by a zero.

mod btrfs;
mod cgroup;
mod clock_state;
mod cpu;
mod devices;
mod disk;
mod exited;
mod file_system;
mod hardware;
mod interrupts;
mod kernel_log;
mod link_bandwidth;
mod listener;
mod machine;
mod memory;
mod net;
mod netlink;
mod nfs;
mod nic;
mod pressure;
mod process;
mod protocols;
mod qdisc;
mod sampler;
mod sparse_subjects;
mod subject;
mod system;
mod text;
mod threads;
mod verdict;
mod what;
mod zfs;
mod zpool;

pub use clock_state::{boot_id, is_clock_synchronised};
pub use devices::{BackingDevice, DeviceNumber, DeviceResolver, MountPoint, ResolvedPath};
pub use hardware::{hardware, hardware_of};
pub use listener::listening;
pub use machine::MachineReader;
pub use process::RequestedProcesses;
pub use sampler::CounterSampler;
pub use subject::SampleTimes;
pub use verdict::{CPU_IRQ, verdicts};
pub use what::SubjectName;
