//! Follows I/O in the kernel, one probe set per folder: mod.rs, probe.bpf.c. Owns the BPF loader and all BPF.
//!
//! A probe set declares its programs with the tracepoint that each needs and what is lost without it (`program`); the
//! loader looks into the kernel's BTF, loads what fits, and returns a [`ProgramSupport`] for each. Only loading needs privilege.
//! Where no BPF can be loaded, block I/O is traced through ftrace ([`block::TraceSource`]).

pub mod block;
mod buckets;
mod capability;
mod constants;
mod device;
mod error;
pub mod errors;
pub mod files;
pub mod interchange;
pub mod irq;
mod kernel;
mod kernel_ring;
mod mapped;
mod names;
mod namespace;
#[cfg(test)]
mod other_kernels;
mod paths;
mod prefetch;
pub mod profile;
mod program;
pub mod requests;
pub mod sched;
mod symbols;
mod table;

pub use device::{BlockDevice, cgroup_root, device_name};
pub use error::TraceError;
pub use kernel::Kernel;
pub use program::{CostCounting, ProbeCost, ProgramState, ProgramSupport};
