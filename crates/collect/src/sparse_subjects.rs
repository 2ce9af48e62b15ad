//! Subjects that mostly have nothing to tell: listeners, interrupts, the kernel's messages, errors, ends of tasks, control
//! groups.

use crate::btrfs::Btrfs;
use crate::cgroup::Cgroups;
use crate::exited::Ends;
use crate::file_system::{FileSystems, NfsMounts};
use crate::interrupts::Interrupts;
use crate::kernel_log::KernelLog;
use crate::listener::Listeners;
use crate::nic::NicCounters;
use crate::subject::{SampleTimes, Stamp, Subject, Verdict, push};
use crate::system;
use crate::what::SubjectName;
use crate::zfs::Zfs;
use quantity::clock::now_ns;
use recording::{EventClass, EventSeverity, RowBatch};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Readers of those that are wanted; one that fails is given up, which is said once.
#[derive(Debug)]
pub(crate) struct Rare {
    interrupts: Option<(Interrupts, [Subject; 2])>,
    softnet: Option<Subject>,
    listeners: Option<Listeners>,
    kernel_log: Option<KernelLog>,
    btrfs: Option<Btrfs>,
    ends: Option<Ends>,
    groups: Option<Cgroups>,
    nics: Option<(NicCounters, Subject)>,
    zfs: Option<Zfs>,
    file_systems: Option<FileSystems>,
    nfs_mounts: Option<NfsMounts>,
    buffer: Vec<u8>,
}

impl Rare {
    /// With the `/proc`, `/sys` and `/dev` under `root`. What is asked over netlink is always of this machine, so that it is
    /// only when `root` is `/`.
    pub(crate) fn new(root: &Path, wanted: &BTreeSet<SubjectName>, verdicts: &mut Vec<Verdict>) -> Self {
        let is_here = root == Path::new("/");
        let wants = |what: SubjectName| wanted.contains(&what);
        let start_ns = i64::try_from(now_ns()).unwrap_or(i64::MAX);
        let file = |path: &str| Subject::new(root.join(path), true);
        let class = Some(EventClass::KernelLogUnread);
        Self {
            interrupts: wants(SubjectName::Interrupts).then(|| {
                (Interrupts::telling_all(wanted.len() == 1), [file("proc/interrupts"), file("proc/softirqs")])
            }),
            softnet: wants(SubjectName::Interrupts).then(|| file("proc/net/softnet_stat")),
            listeners: (wants(SubjectName::Listeners) && is_here)
                .then(|| {
                    let listeners = Listeners::new(root).map(|new| new.looking_at_once(wanted.len() == 1));
                    or_say(listeners, "listeners", verdicts)
                })
                .flatten(),
            kernel_log: wants(SubjectName::KernelLog)
                .then(|| or_say_class(KernelLog::new(root, start_ns), "messages of the kernel", class, verdicts))
                .flatten(),
            btrfs: wants(SubjectName::Btrfs).then(|| Btrfs::new(root)),
            ends: (wants(SubjectName::Exited) && is_here)
                .then(|| or_say(Ends::new(), "tasks that ended", verdicts))
                .flatten(),
            // A user who asks for this subject alone gets it, at any cost.
            groups: wants(SubjectName::Cgroup)
                .then(|| or_say(Cgroups::new(root, wanted.len() > 1), "control groups", verdicts))
                .flatten(),
            nics: (wants(SubjectName::NicCounters) && is_here)
                .then(|| or_say(NicCounters::new(), "counters of interfaces' drivers", verdicts))
                .flatten()
                .map(|nics| (nics, file("proc/net/dev"))),
            zfs: wants(SubjectName::Zfs).then(|| Zfs::new(root)),
            // Beside a whole machine, sizes need not be looked at each second.
            file_systems: wants(SubjectName::FileSystems).then(|| FileSystems::new(root, !wants(SubjectName::Process))),
            nfs_mounts: wants(SubjectName::NfsMounts).then(|| NfsMounts::new(root)).flatten(),
            buffer: Vec::new(),
        }
    }

    /// Adds what there is to tell; `due` is when the sample was due, and the recording's start.
    pub(crate) fn sample(
        &mut self,
        (t_ns, t0_ns): (u64, u64),
        batches: &mut Vec<RowBatch>,
        verdicts: &mut Vec<Verdict>,
        times: &mut SampleTimes,
    ) {
        let stamp = || Stamp::at(now_ns().max(t_ns), t0_ns);
        if let Some((interrupts, files)) = &mut self.interrupts {
            let mut rows = Vec::new();
            let stamp = stamp();
            for (is_soft, file) in [false, true].into_iter().zip(files) {
                let text = file.read(&mut self.buffer, verdicts);
                rows.extend(text.map(|text| interrupts.rows(text, is_soft, stamp)).unwrap_or_default());
            }
            push(batches, &rows);
            times.took("interrupt");
        }
        if let Some(text) = self.softnet.as_mut().and_then(|file| file.read(&mut self.buffer, verdicts)) {
            push(batches, &system::softnet(text, stamp()));
        }
        if let Some(listeners) = &mut self.listeners {
            match listeners.sample(stamp()) {
                Ok(rows) => push(batches, &rows),
                Err(error) => self.listeners = or_say(Err(error), "listeners", verdicts),
            }
            times.took("listener");
        }
        if let Some(log) = &mut self.kernel_log {
            push(batches, &log.sample(stamp(), t0_ns));
        }
        if let Some(btrfs) = &mut self.btrfs {
            push(batches, &btrfs.sample(stamp()));
        }
        if let Some(groups) = &mut self.groups {
            let (rows, devices) = groups.sample((t_ns, t0_ns), verdicts);
            push(batches, &rows);
            push(batches, &devices);
            times.took("cgroup");
        }
        if let Some((nics, file)) = self.nics.as_mut().filter(|(nics, _)| nics.is_due(t_ns))
            && let Some(text) = file.read(&mut self.buffer, verdicts)
        {
            push(batches, &nics.sample(text, t_ns, stamp()));
            times.took("nic_counter");
        }
        if let Some(zfs) = &mut self.zfs {
            zfs.sample(t_ns, stamp(), batches);
            times.took("zfs");
        }
        if let Some(systems) = &mut self.file_systems {
            push(batches, &systems.sample(t_ns, stamp(), verdicts));
            times.took("file_system");
        }
        if let Some(mounts) = &mut self.nfs_mounts {
            push(batches, &mounts.sample(stamp(), &mut self.buffer, verdicts));
            times.took("nfs_mount");
        }
        if let Some(ends) = &mut self.ends {
            match ends.sample(stamp()) {
                Ok((rows, is_lost)) => {
                    push(batches, &rows);
                    if is_lost {
                        let message = "some tasks that ended are missing: more ended at once than the kernel keeps";
                        verdicts.push(Verdict {
                            severity: EventSeverity::Warning,
                            class: None,
                            target: None,
                            message: message.to_string(),
                        });
                    }
                }
                Err(error) => self.ends = or_say(Err(error), "tasks that ended", verdicts),
            }
        }
    }
}

/// The reader, or a word about its absence.
fn or_say<T>(reader: io::Result<T>, what: &str, verdicts: &mut Vec<Verdict>) -> Option<T> {
    or_say_class(reader, what, None, verdicts)
}

/// The same, with a class for readers that act on it.
fn or_say_class<T>(
    reader: io::Result<T>,
    what: &str,
    class: Option<EventClass>,
    verdicts: &mut Vec<Verdict>,
) -> Option<T> {
    reader
        .map_err(|error| {
            let message = format!("nothing is known of {what}: {error}");
            verdicts.push(Verdict { severity: EventSeverity::Info, class, target: None, message });
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::rows::Event;

    #[test]
    fn what_is_absent_is_said_once_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let mut verdicts = Vec::new();
        let mut rare = Rare::new(root.path(), &SubjectName::ALL.into_iter().collect(), &mut verdicts);
        assert!(verdicts.iter().any(|verdict| verdict.class == Some(EventClass::KernelLogUnread)));
        let mut batches = Vec::new();
        rare.sample((1, 0), &mut batches, &mut verdicts, &mut SampleTimes::default());
        let said = verdicts.len();
        rare.sample((2, 0), &mut batches, &mut verdicts, &mut SampleTimes::default());
        assert!(batches.is_empty() && verdicts.len() == said, "{verdicts:?}");
        assert!(verdicts.into_iter().map(|verdict| verdict.row(Stamp::at(0, 0))).all(|event: Event| event.count == 1));
    }
}
