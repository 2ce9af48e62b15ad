//! What can be asked of a machine.

/// A subject, named as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubjectName {
    /// CPU time.
    Cpu,
    /// Context switches, interrupts, run queue.
    System,
    /// Memory and paging.
    Memory,
    /// Pressure stall information.
    Pressure,
    /// Block devices.
    Disk,
    /// Network interfaces.
    Net,
    /// TCP and UDP.
    Protocols,
    /// Processes.
    Process,
    /// Interrupts by vector and CPU, input queues by CPU.
    Interrupts,
    /// TCP sockets that listen.
    Listeners,
    /// The kernel's messages.
    KernelLog,
    /// Errors of the devices of btrfs file systems.
    Btrfs,
    /// Tasks that ended between two samples.
    Exited,
    /// Control groups.
    Cgroup,
    /// Counters that drivers of interfaces keep.
    NicCounters,
    /// ZFS: its cache, pools and data sets.
    Zfs,
    /// Mounted file systems.
    FileSystems,
    /// What NFS mounts ask their servers for.
    NfsMounts,
}

impl SubjectName {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Cpu,
        Self::System,
        Self::Memory,
        Self::Pressure,
        Self::Disk,
        Self::Net,
        Self::Protocols,
        Self::Process,
        Self::Interrupts,
        Self::Listeners,
        Self::KernelLog,
        Self::Btrfs,
        Self::Exited,
        Self::Cgroup,
        Self::NicCounters,
        Self::Zfs,
        Self::FileSystems,
        Self::NfsMounts,
    ];
}
