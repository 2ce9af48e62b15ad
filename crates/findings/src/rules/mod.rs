//! The rules: a file for each cause that findings name, with what several rules need of paths, users and times without load.

mod baseline;
mod cache;
mod checksum;
mod clocks;
mod device;
mod io_errors;
mod io_users;
mod kernel_cpu;
mod kernel_messages;
mod listen_queue;
mod memory_high;
mod mtu;
mod network;
mod path_words;
mod paths;
mod preempted;
mod short_lived;
mod silent_device;
mod single_thread_bound;

use crate::Rule;

/// All rules.
pub(crate) fn rules() -> Vec<Box<dyn Rule>> {
    vec![
        Box::new(single_thread_bound::SingleThreadBoundRule),
        Box::new(listen_queue::ListenQueueRule),
        Box::new(network::NetworkRule),
        Box::new(kernel_cpu::KernelCpuRule::default()),
        Box::new(device::DeviceRule::default()),
        Box::new(cache::CacheRule::default()),
        Box::new(memory_high::MemoryHighRule),
        Box::new(silent_device::SilentDeviceRule::default()),
        Box::new(paths::PathRule::default()),
        Box::new(preempted::PreemptedRule),
        Box::new(short_lived::ShortLivedRule),
        Box::new(clocks::ClocksRule),
        Box::new(mtu::MtuRule),
        Box::new(checksum::ChecksumRule::default()),
        Box::new(io_errors::IoErrorsRule::default()),
        Box::new(kernel_messages::KernelMessagesRule::default()),
    ]
}
