//! Mounted file systems: how full they are, and what their devices or servers do for them.

use super::FigureDigits::{Fixed, Percent, Scaled};
use super::{CounterSubject, StatBlock, StatColumn, StatRow, Stream, TextColumn, columns, percent};
use crate::counter::CounterStep;
use crate::disk::DiskDelta;
use recording::rows::{BtrfsDevice, Disk, FileSystem, NfsMount};
use recording::{RecordingError, RowBatch};
use std::collections::{BTreeMap, HashMap};

pub(super) const COLUMNS: &[StatColumn] = columns! {
    "size_mib" "size MiB" Scaled, "capacity, as in df";
    "used_mib" "used MiB" Scaled, "used space";
    "available_mib" "avail MiB" Scaled, "what programs without privilege can still have";
    "used_percent" "%used" Percent, "used ÷ (used + available)";
    "inodes" "inodes" Fixed(0), "inodes that it has; ? where it makes them as it needs them";
    "inodes_used_percent" "%inodes" Percent, "of them, in use";
    "read_per_s" "r/s" Scaled, "reads per second of its device, or READ calls to its server; all that lies on that device counts";
    "write_per_s" "w/s" Scaled, "writes per second, or WRITE calls";
    "read_kib_per_s" "rkB/s" Scaled, "KiB read per second";
    "write_kib_per_s" "wkB/s" Scaled, "KiB written per second";
    "device_errors" "errors" Fixed(0), "reads, writes and flushes that failed, and blocks that were wrong, on all devices of a btrfs since they were last reset";
};

pub(super) const TEXTS: &[TextColumn] = &[
    TextColumn { key: "kind", title: "type", help: "type of the file system" },
    TextColumn { key: "device", title: "device", help: "mounted device" },
];

const MIB: f64 = 1_048_576.0;

/// Samples of file systems.
#[derive(Default)]
pub(super) struct FileSystems {
    since_boot: bool,
    now: Vec<FileSystem>,
    before_ns: Option<i64>,
    disks: Ends<Disk>,
    mounts: Ends<NfsMount>,
    /// By name and number of the device.
    btrfs: BTreeMap<(String, i64), BtrfsDevice>,
}

/// The newest counters, and those of the block before.
struct Ends<R> {
    before: HashMap<String, R>,
    now: HashMap<String, R>,
}

impl<R> Default for Ends<R> {
    fn default() -> Self {
        Self { before: HashMap::new(), now: HashMap::new() }
    }
}

impl<R: Clone> Ends<R> {
    fn rates<T>(
        &self,
        name: &str,
        from_boot: bool,
        t_ns: fn(&R) -> i64,
        of: impl Fn(&CounterStep<'_, R>) -> T,
    ) -> Option<T> {
        let now = self.now.get(name)?;
        let before = self.before.get(name);
        (before.is_some() || from_boot).then(|| {
            let seconds = (t_ns(now) - before.map_or(0, t_ns)) as f64 / 1e9;
            of(&CounterStep { before, now, seconds })
        })
    }
}

impl FileSystems {
    pub(super) fn new(since_boot: bool) -> Self {
        Self { since_boot, ..Self::default() }
    }

    /// Reads, writes and their KiB, per second, and the seconds between the two readings of those counters: devices are
    /// read at another moment than how full a file system is.
    fn rates(&self, row: &FileSystem, from_boot: bool) -> Option<(f64, [Option<f64>; 4])> {
        let kib = |bytes: Option<f64>| bytes.map(|bytes| bytes / 1024.0);
        let nfs = self.mounts.rates(
            &row.mount,
            from_boot,
            |row| row.t_ns,
            |step| {
                let bytes = [step.rate_opt(|row| row.read_bytes), step.rate_opt(|row| row.write_bytes)].map(kib);
                let ops = [step.rate_opt(|row| row.read_ops), step.rate_opt(|row| row.write_ops)];
                (step.seconds, [ops[0], ops[1], bytes[0], bytes[1]])
            },
        );
        let disk = || {
            self.disks.rates(
                row.device.as_deref()?,
                from_boot,
                |row| row.t_ns,
                |step| {
                    let delta = DiskDelta::of_step(step)?;
                    let (read, written) = (&delta.read, &delta.write);
                    let ios = [read.ios, written.ios].map(|ios| delta.per_s(ios));
                    let bytes = [read.bytes, written.bytes].map(|bytes| kib(delta.per_s(bytes)));
                    Some((delta.seconds, [ios[0], ios[1], bytes[0], bytes[1]]))
                },
            )?
        };
        nfs.or_else(disk)
    }

    fn errors(&self, row: &FileSystem) -> Option<f64> {
        let volume = row.volume.as_ref()?;
        let devices = self.btrfs.iter().filter(|((name, _), _)| name == volume).map(|(_, device)| device);
        let all = |device: &BtrfsDevice| {
            let kinds = [device.read_errors, device.write_errors, device.flush_errors, device.corruption_errors];
            kinds.into_iter().chain([device.generation_errors]).sum::<Option<i64>>()
        };
        devices.map(all).reduce(|a, b| Some(a? + b?)).flatten().map(|errors| errors as f64)
    }

    fn values(&self, row: &FileSystem, rates: [Option<f64>; 4]) -> Vec<Option<f64>> {
        let mib = |bytes: Option<i64>| bytes.map(|bytes| bytes as f64 / MIB);
        let used = row.total_bytes.zip(row.free_bytes).map(|(total, free)| total - free);
        let whole = used.zip(row.available_bytes).map(|(used, available)| (used + available) as f64);
        let inodes_used = row.inodes.zip(row.inodes_free).map(|(inodes, free)| (inodes - free) as f64);
        let mut values = vec![
            mib(row.total_bytes),
            mib(used),
            mib(row.available_bytes),
            percent(used.map(|used| used as f64), whole),
            row.inodes.map(|inodes| inodes as f64),
            percent(inodes_used, row.inodes.map(|inodes| inodes as f64)),
        ];
        values.extend(rates);
        values.push(self.errors(row));
        values
    }
}

impl Stream for FileSystems {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.extend(batch.to_rows::<FileSystem>()?);
        for row in batch.to_rows::<Disk>()? {
            let device = row.device.clone();
            // Of what is new, the row of the sample before comes with that of this one.
            if let Some(before) = self.disks.now.insert(device.clone(), row) {
                self.disks.before.entry(device).or_insert(before);
            }
        }
        self.mounts.now.extend(batch.to_rows::<NfsMount>()?.into_iter().map(|row| (row.mount.clone(), row)));
        let devices = batch.to_rows::<BtrfsDevice>()?.into_iter();
        self.btrfs.extend(devices.map(|row| ((row.file_system.clone(), row.device), row)));
        Ok(())
    }

    fn commit(&mut self) -> Option<StatBlock> {
        let t_ns = self.now.iter().map(|row| row.t_ns).max()?;
        let since_ns = self.before_ns.replace(t_ns);
        let since_boot = since_ns.is_none();
        let rows = std::mem::take(&mut self.now);
        let block = (!since_boot || self.since_boot).then(|| {
            let rates: Vec<_> = rows.iter().map(|row| self.rates(row, since_boot)).collect();
            // The interval is that of the rates: what was done is the rate times the interval.
            let of_rates = rates.iter().flatten().map(|(seconds, _)| *seconds).filter(|seconds| *seconds > 0.0);
            let of_readings = (t_ns - since_ns.unwrap_or(0)) as f64 / 1e9;
            let row = |(row, rates): (FileSystem, Option<(f64, _)>)| StatRow {
                values: self.values(&row, rates.map(|(_, rates)| rates).unwrap_or_default()),
                texts: vec![Some(row.kind.clone()), Some(row.source.clone())],
                name: row.mount,
            };
            StatBlock {
                subject: CounterSubject::Fs,
                t_ns,
                seconds: of_rates.reduce(f64::max).unwrap_or(of_readings),
                since_boot,
                rows: rows.into_iter().zip(rates).map(row).collect(),
            }
        });
        self.disks.before.clone_from(&self.disks.now);
        self.mounts.before.clone_from(&self.mounts.now);
        block.filter(|block| !block.rows.is_empty())
    }
}
