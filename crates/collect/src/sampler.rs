//! All counters of one moment as batches.

use crate::cpu::{self, CpuTimes};
use crate::devices::{DeviceNumber, DeviceResolver, ResolvedPath, watched, watched_mounts};
use crate::disk::{self, DiskCounters};
use crate::nfs::{self, NfsCounters, Operation};
use crate::subject::{SampleTimes, Stamp, Subject, Verdict, note_absence, push};
use quantity::clock::now_ns;
use recording::rows::{Cpu, Disk, Event, NfsMount};
use recording::{EventSeverity, RowBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Where the time of a row comes from: sampled by the timer interrupt.
const CLOCK: &str = "tick";

/// Reads the counters under a plan's targets, once per interval.
///
/// Files stay open and share one buffer. Only devices under targets are kept, so that a machine with thousands of
/// others costs no rows. What cannot be read is said once, as an `event` of kind `counters`, and is missing after that;
/// when it comes back, that is said as well.
#[derive(Debug)]
pub struct CounterSampler {
    cpu: Subject,
    disk: Subject,
    nfs: Subject,
    devices: BTreeMap<DeviceNumber, (String, String)>,
    mounts: BTreeMap<String, String>,
    tick_ns: i64,
    buffer: Vec<u8>,
    /// Said with the next sample.
    verdicts: Vec<Verdict>,
    /// Devices and mounts without counters at present.
    absent: BTreeSet<String>,
    last: SampleTimes,
}

impl CounterSampler {
    /// Prepares to sample this machine for targets (name, path).
    #[must_use]
    pub fn new(targets: &[(String, PathBuf)]) -> Self {
        Self::with_root(Path::new("/"), targets)
    }

    /// As [`CounterSampler::new`] with the `/proc` and `/sys` under `root`.
    #[must_use]
    pub fn with_root(root: &Path, targets: &[(String, PathBuf)]) -> Self {
        let map = DeviceResolver::new(root);
        let resolutions: Vec<(String, ResolvedPath)> =
            targets.iter().map(|(name, path)| (name.clone(), map.resolve(path))).collect();
        let verdicts = resolutions
            .iter()
            .flat_map(|(target, resolution)| {
                resolution.reasons.iter().map(|reason| Verdict {
                    severity: EventSeverity::Info,
                    class: None,
                    target: Some(target.clone()),
                    message: format!("no device counters: {reason}"),
                })
            })
            .collect();
        let (devices, mounts) = (watched(&resolutions), watched_mounts(&resolutions));
        let ticks = i64::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100).max(1);
        Self {
            cpu: Subject::new(root.join("proc/stat"), true),
            disk: Subject::new(root.join("proc/diskstats"), !devices.is_empty()),
            nfs: Subject::new(root.join("proc/self/mountstats"), !mounts.is_empty()),
            devices,
            mounts,
            tick_ns: 1_000_000_000 / ticks,
            buffer: Vec::new(),
            verdicts,
            absent: BTreeSet::new(),
            last: SampleTimes::default(),
        }
    }

    /// When the last sample was taken.
    #[must_use]
    pub fn last_times(&self) -> SampleTimes {
        self.last
    }

    /// Reads all counters: batches of `cpu`, `disk`, `nfs_mount`, and of `event` when there is something to say.
    ///
    /// Each subject's rows carry the middle of the time that reading it took, or `t_ns` (the end of the interval that
    /// they belong to) if that is later, as under a clock of tests. `t0_ns` is the recording's start.
    pub fn sample(&mut self, t_ns: u64, t0_ns: u64) -> Vec<RowBatch> {
        let mut batches = Vec::new();
        self.last.begin_ns = now_ns();
        self.sample_cpu((t_ns, t0_ns), &mut batches);
        self.sample_disks((t_ns, t0_ns), &mut batches);
        self.sample_nfs((t_ns, t0_ns), &mut batches);
        self.last.end_ns = now_ns();
        let stamp = Stamp::at(self.last.end_ns.max(t_ns), t0_ns);
        let events: Vec<Event> = self.verdicts.drain(..).map(|verdict| verdict.row(stamp)).collect();
        push(&mut batches, &events);
        batches
    }

    fn sample_cpu(&mut self, (t_ns, t0_ns): (u64, u64), batches: &mut Vec<RowBatch>) {
        let begin_ns = now_ns();
        let Some(text) = self.cpu.read(&mut self.buffer, &mut self.verdicts) else { return };
        let stamp = Stamp::between(begin_ns, now_ns(), t_ns, t0_ns);
        let times = cpu::parse(text, self.tick_ns);
        let rows: Vec<Cpu> = times.into_iter().filter_map(|times| cpu_row(times, stamp)).collect();
        note_absence(&mut self.absent, &mut self.verdicts, "/proc/stat", None, rows.is_empty());
        push(batches, &rows);
    }

    fn sample_disks(&mut self, (t_ns, t0_ns): (u64, u64), batches: &mut Vec<RowBatch>) {
        let begin_ns = now_ns();
        let Some(text) = self.disk.read(&mut self.buffer, &mut self.verdicts) else { return };
        let stamp = Stamp::between(begin_ns, now_ns(), t_ns, t0_ns);
        let devices = &self.devices;
        let counters = disk::parse(text, |number| devices.get(&number));
        let mut seen = BTreeSet::new();
        let mut rows = Vec::with_capacity(devices.len());
        for (counters, (device, targets)) in &counters {
            if let Some(row) = disk_row(counters, device, targets, stamp) {
                seen.insert(counters.number);
                rows.push(row);
            }
        }
        for (number, (device, targets)) in devices {
            let missing = !seen.contains(number);
            note_absence(&mut self.absent, &mut self.verdicts, device, Some(targets), missing);
        }
        push(batches, &rows);
    }

    fn sample_nfs(&mut self, (t_ns, t0_ns): (u64, u64), batches: &mut Vec<RowBatch>) {
        let begin_ns = now_ns();
        let Some(text) = self.nfs.read(&mut self.buffer, &mut self.verdicts) else { return };
        let stamp = Stamp::between(begin_ns, now_ns(), t_ns, t0_ns);
        let counters = nfs::parse(text, |mount| self.mounts.contains_key(mount));
        let rows: Vec<NfsMount> = counters
            .iter()
            .filter_map(|counters| Some(nfs_row(counters, self.mounts.get(&counters.mount)?, stamp)))
            .collect();
        for (mount, targets) in &self.mounts {
            let missing = !rows.iter().any(|row| row.mount == *mount);
            note_absence(&mut self.absent, &mut self.verdicts, mount, Some(targets), missing);
        }
        push(batches, &rows);
    }
}

/// `None` when the kernel lacks a column that every kernel since 2.6 has.
pub(crate) fn cpu_row(times: CpuTimes, stamp: Stamp) -> Option<Cpu> {
    Some(Cpu {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        cpu: times.cpu,
        user_ns: times.user_ns?,
        nice_ns: times.nice_ns,
        system_ns: times.system_ns?,
        idle_ns: times.idle_ns?,
        iowait_ns: times.iowait_ns,
        irq_ns: times.irq_ns,
        softirq_ns: times.softirq_ns,
        steal_ns: times.steal_ns,
        clock: CLOCK.to_string(),
    })
}

/// `None` when the line is shorter than any kernel since 2.6 writes it.
pub(crate) fn disk_row(counters: &DiskCounters, device: &str, targets: &str, stamp: Stamp) -> Option<Disk> {
    let [
        read_ios,
        read_merges,
        read_sectors,
        read_ticks_ms,
        write_ios,
        write_merges,
        write_sectors,
        write_ticks_ms,
        in_flight,
        io_ticks_ms,
        weighted_ticks_ms,
        discard_ios,
        discard_merges,
        discard_sectors,
        discard_ticks_ms,
        flush_ios,
        flush_ticks_ms,
    ] = counters.values;
    counters.values.iter().take(11).all(Option::is_some).then_some(())?;
    Some(Disk {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        device: device.to_string(),
        target: targets.to_string(),
        read_ios,
        read_merges,
        read_sectors,
        read_ticks_ms,
        write_ios,
        write_merges,
        write_sectors,
        write_ticks_ms,
        in_flight,
        io_ticks_ms,
        weighted_ticks_ms,
        discard_ios,
        discard_merges,
        discard_sectors,
        discard_ticks_ms,
        flush_ios,
        flush_ticks_ms,
        ..Disk::default()
    })
}

pub(crate) fn nfs_row(counters: &NfsCounters, targets: &str, stamp: Stamp) -> NfsMount {
    let again = |operation: &Operation| Some(operation.transmissions? - operation.ops?);
    NfsMount {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        mount: counters.mount.clone(),
        target: targets.to_string(),
        read_ops: counters.read.ops,
        write_ops: counters.write.ops,
        read_bytes: counters.server_read_bytes,
        write_bytes: counters.server_write_bytes,
        read_ticks_ms: counters.read.execute_ms,
        write_ticks_ms: counters.write.execute_ms,
        retransmits: again(&counters.read).zip(again(&counters.write)).map(|(read, write)| read + write),
    }
}
