//! Processes, the busiest first.
//!
//! A recording holds rows only of processes that did something; what has no row used nothing. So a rate is over the time
//! since the sample before, not since the process's own row before.

use super::FigureDigits::{Fixed, Scaled};
use super::seen_keys::{began_since, forget};
use super::{CounterSubject, StatBlock, StatColumn, StatRow, Stream, columns};
use crate::counter::CounterStep;
use crate::process::ProcessDelta;
use recording::rows::Process;
use recording::{RecordingError, Row, RowBatch};
use std::collections::HashMap;

pub(super) const COLUMNS: &[StatColumn] = columns! {
    "pid" "PID" Fixed(0), "number of the process";
    "user_percent" "%usr" Fixed(4), "user mode, of one CPU";
    "system_percent" "%sys" Fixed(4), "kernel, of one CPU";
    "cpu_percent" "%CPU" Fixed(4), "both";
    "threads" "thr" Fixed(0), "threads";
    "resident_mib" "RSS MiB" Scaled, "memory in use, shared pages included";
    "read_kib_per_s" "kB_rd/s" Scaled, "KiB per second read from devices";
    "write_kib_per_s" "kB_wr/s" Scaled, "KiB per second written to devices";
    "major_faults_per_s" "majf/s" Scaled, "page faults per second that waited for a device";
    "io_delay_percent" "%iodly" Fixed(2), "waiting for block I/O (kernel.task_delayacct=1 only)";
    "minor_faults_per_s" "minf/s" Scaled, "page faults per second that waited for no device (for people with -x)";
};

pub(super) struct Processes {
    since_boot: bool,
    joins: bool,
    /// The last row of each.
    before: HashMap<<Process as Row>::Key, Process>,
    now: Vec<Process>,
    before_ns: Option<i64>,
}

impl Processes {
    pub(super) fn new(since_boot: bool, joins: bool) -> Self {
        Self { since_boot, joins, before: HashMap::new(), now: Vec::new(), before_ns: None }
    }
}

impl Stream for Processes {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.extend(batch.to_rows::<Process>()?);
        Ok(())
    }

    fn commit(&mut self) -> Option<StatBlock> {
        let t_ns = self.now.iter().map(|row| row.t_ns).max()?;
        let since_ns = self.before_ns.replace(t_ns);
        let mut rows = Vec::new();
        for row in self.now.drain(..) {
            let key = row.key();
            let before = self.before.get(&key);
            // One that began since then has used all that it has used in this interval.
            let seconds = match since_ns {
                Some(since_ns) => Some((t_ns - since_ns) as f64 / 1e9),
                None if self.since_boot => row.start_ns.map(|start_ns| (t_ns - start_ns) as f64 / 1e9),
                None => None,
            };
            if let Some(seconds) = seconds {
                let is_new = row.start_ns.zip(since_ns).is_some_and(|(start, since)| began_since(start, since));
                let is_known = before.is_some() || !self.joins || is_new;
                // Without a row to compare with, nothing grew that is known.
                let step = CounterStep { before, now: &row, seconds: if is_known { seconds } else { 0.0 } };
                rows.push(StatRow { name: row.comm.clone(), values: values(&step), texts: Vec::new() });
            }
            self.before.insert(key, row);
        }
        // Of one that was forgotten it is not known what it used before, as of one that was there when this joined.
        self.joins |= forget(&mut self.before, |row| row.t_ns);
        let seconds = (t_ns - since_ns.unwrap_or(0)) as f64 / 1e9;
        let since_boot = since_ns.is_none();
        let cpu = |row: &StatRow| row.values[3].unwrap_or(0.0);
        rows.sort_by(|a, b| cpu(b).total_cmp(&cpu(a)));
        (!rows.is_empty()).then_some(StatBlock { subject: CounterSubject::Process, t_ns, seconds, since_boot, rows })
    }
}

fn values(step: &CounterStep<'_, Process>) -> Vec<Option<f64>> {
    let delta = ProcessDelta::of_step(step);
    let kib_per_s = |bytes: Option<f64>| delta.per_s(bytes).map(|bytes| bytes / 1024.0);
    let now = step.now;
    vec![
        Some(now.pid as f64),
        delta.percent(delta.user),
        delta.percent(delta.system),
        delta.percent(delta.cpu()),
        now.threads.map(|count| count as f64),
        now.resident_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20)),
        kib_per_s(delta.read),
        kib_per_s(delta.written),
        delta.per_s(delta.major_faults),
        delta.percent(delta.io_delay),
        delta.per_s(delta.minor_faults),
    ]
}
