//! Pools of ZFS: of this machine from the module's counters, of imports from `zpool iostat`, whose parts are there as well.

use super::FigureDigits::{Percent, Scaled};
use super::{CounterSubject, StatBlock, StatColumn, StatRow, Stream, TextColumn, columns, percent};
use crate::counter::CounterStep;
use crate::disk::DiskDelta;
use crate::zfs::{PoolRates, arc_hit_percent};
use recording::rows::{Disk, Figure, ZfsArc, ZfsPool};
use recording::{RecordingError, RowBatch};
use std::collections::{BTreeMap, HashMap};

pub(super) const COLUMNS: &[StatColumn] = columns! {
    "read_per_s" "r/s" Scaled, "reads per second: before ZFS 2.0 the pool's, since 2.3 those through the cache and past it; ? between";
    "write_per_s" "w/s" Scaled, "writes per second";
    "read_kib_per_s" "rkB/s" Scaled, "KiB read per second";
    "write_kib_per_s" "wkB/s" Scaled, "KiB written per second";
    "read_size_kib" "rsize" Scaled, "KiB per read";
    "write_size_kib" "wsize" Scaled, "KiB per write";
    "busy_percent" "%busy" Percent, "share of time in which I/Os were under way (ZFS before 2.0)";
    "queue_size" "queue" Scaled, "mean number of I/Os that waited or were under way (ZFS before 2.0)";
    "allocated_mib" "alloc MiB" Scaled, "in use (`zpool list`, once a minute; of imports `zpool iostat`)";
    "free_mib" "free MiB" Scaled, "not in use";
    "allocated_percent" "%alloc" Percent, "in use ÷ both";
    "arc_hit_percent" "%ARC" Percent, "reads that found their block in the cache ÷ all that asked it; of the whole machine";
};

pub(super) const TEXTS: &[TextColumn] =
    &[TextColumn { key: "state", title: "state", help: "`ONLINE`, `DEGRADED`, `FAULTED`, `SUSPENDED`, …" }];

/// The format whose devices are pools.
const IMPORTED: &str = "zpool-iostat";
const MIB: f64 = 1_048_576.0;

/// Samples of pools.
#[derive(Default)]
pub(super) struct Pools {
    since_boot: bool,
    pools: HashMap<String, ZfsPool>,
    arc: Option<ZfsArc>,
    disks: HashMap<String, Disk>,
    /// Allocated and free bytes of imported pools and their parts: each that had a row.
    sizes: BTreeMap<String, [Option<f64>; 2]>,
    now: Vec<ZfsPool>,
    arc_now: Option<ZfsArc>,
    disks_now: Vec<Disk>,
    before_ns: Option<i64>,
}

impl Pools {
    pub(super) fn new(since_boot: bool) -> Self {
        Self { since_boot, ..Self::default() }
    }

    fn size(&mut self, figure: &Figure) {
        if &*figure.tool != IMPORTED {
            return;
        }
        let sizes = self.sizes.entry(figure.thing.to_string()).or_default();
        match &*figure.name {
            "capacity alloc" | "capacity used" => sizes[0] = figure.value,
            "capacity free" | "capacity avail" => sizes[1] = figure.value,
            _ => {}
        }
    }
}

impl Stream for Pools {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.extend(batch.to_rows::<ZfsPool>()?);
        self.disks_now.extend(batch.to_rows::<Disk>()?);
        self.arc_now = batch.to_rows::<ZfsArc>()?.pop().or(self.arc_now.take());
        batch.to_rows::<Figure>()?.iter().for_each(|figure| self.size(figure));
        Ok(())
    }

    fn commit(&mut self) -> Option<StatBlock> {
        let is_pool = |name: &str| {
            self.sizes
                .keys()
                .any(|pool| name.strip_prefix(pool).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
        };
        self.disks_now.retain(|row| is_pool(&row.device));
        let times = self.now.iter().map(|row| row.t_ns).chain(self.disks_now.iter().map(|row| row.t_ns));
        let t_ns = times.max()?;
        let since_boot = self.before_ns.replace(t_ns).is_none();
        let from_boot = since_boot && self.since_boot;
        let arc_hits = self.arc_now.take().and_then(|now| {
            let hits = (self.arc.is_some() || from_boot)
                .then(|| arc_hit_percent(&CounterStep { before: self.arc.as_ref(), now: &now, seconds: 1.0 }));
            self.arc = Some(now);
            hits.flatten()
        });
        let mut block = StatBlock { subject: CounterSubject::Pool, t_ns, seconds: 0.0, since_boot, rows: Vec::new() };
        let mut put = |name: String, from_ns: i64, at_ns: i64, values: Vec<Option<f64>>, state: Option<String>| {
            block.seconds = block.seconds.max((at_ns - from_ns) as f64 / 1e9);
            block.rows.push(StatRow { name, values, texts: vec![state] });
        };
        // A pool that comes back has no interval yet.
        let known = std::mem::take(&mut self.pools);
        for row in std::mem::take(&mut self.now) {
            let before = known.get(&row.pool);
            if before.is_some() || from_boot {
                let from_ns = before.map_or(0, |before| before.t_ns);
                let step = CounterStep { before, now: &row, seconds: (row.t_ns - from_ns) as f64 / 1e9 };
                put(row.pool.clone(), from_ns, row.t_ns, of_pool(&step, arc_hits), row.state.clone());
            }
            self.pools.insert(row.pool.clone(), row);
        }
        for row in std::mem::take(&mut self.disks_now) {
            if let Some(before) = self.disks.get(&row.device) {
                let step =
                    CounterStep { before: Some(before), now: &row, seconds: (row.t_ns - before.t_ns) as f64 / 1e9 };
                let sizes = self.sizes.get(&row.device).copied().unwrap_or_default();
                put(row.device.clone(), before.t_ns, row.t_ns, of_import(&step, sizes), None);
            }
            self.disks.insert(row.device.clone(), row);
        }
        (!block.rows.is_empty()).then_some(block)
    }
}

/// Reads, writes, and their bytes as rates, with the sizes that follow.
fn rates(
    reads: Option<f64>,
    writes: Option<f64>,
    read_bytes: Option<f64>,
    write_bytes: Option<f64>,
) -> Vec<Option<f64>> {
    let kib = |bytes: Option<f64>| bytes.map(|bytes| bytes / 1024.0);
    let size = |bytes: Option<f64>, ios: Option<f64>| super::ratio(kib(bytes), ios);
    vec![reads, writes, kib(read_bytes), kib(write_bytes), size(read_bytes, reads), size(write_bytes, writes)]
}

fn of_pool(step: &CounterStep<'_, ZfsPool>, arc_hits: Option<f64>) -> Vec<Option<f64>> {
    let of = PoolRates::of_step(step);
    let mut values = rates(of.reads, of.writes, of.read_bytes, of.write_bytes);
    values.extend([
        step.share_percent(|row| row.run_ns).map(|percent| percent.min(100.0)),
        step.rate_opt(|row| Some(row.weighted_wait_ns? + row.weighted_run_ns?)).map(|ns| ns / 1e9),
    ]);
    let bytes = |of: Option<i64>| of.map(|bytes| bytes as f64);
    values.extend(space(bytes(step.now.allocated_bytes), bytes(step.now.free_bytes)));
    values.push(arc_hits);
    values
}

fn of_import(step: &CounterStep<'_, Disk>, [allocated, free]: [Option<f64>; 2]) -> Vec<Option<f64>> {
    let per_s = |of: fn(&DiskDelta) -> Option<f64>| DiskDelta::of_step(step).and_then(|delta| delta.per_s(of(&delta)));
    let mut values = rates(
        per_s(|delta| delta.read.ios),
        per_s(|delta| delta.write.ios),
        per_s(|delta| delta.read.bytes),
        per_s(|delta| delta.write.bytes),
    );
    values.extend([None, None]);
    values.extend(space(allocated, free));
    values.push(None);
    values
}

/// Of both in bytes: allocated, free, MiB, and the share in use.
fn space(allocated: Option<f64>, free: Option<f64>) -> [Option<f64>; 3] {
    let whole = allocated.zip(free).map(|(allocated, free)| allocated + free);
    [allocated.map(|bytes| bytes / MIB), free.map(|bytes| bytes / MIB), percent(allocated, whole)]
}
