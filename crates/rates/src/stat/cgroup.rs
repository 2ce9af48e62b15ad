//! Control groups, the busiest first.
//!
//! Like processes, those that did nothing have no row; a rate is over the time since the sample before.

use super::FigureDigits::{Fixed, Percent, Scaled};
use super::seen_keys::forget;
use super::{CounterSubject, StatBlock, StatColumn, StatRow, Stream, columns, percent};
use crate::counter::CounterStep;
use recording::rows::Cgroup;
use recording::{RecordingError, Row, RowBatch};
use std::collections::HashMap;

pub(super) const COLUMNS: &[StatColumn] = columns! {
    "cpu_percent" "%CPU" Fixed(2), "CPU time, of one CPU";
    "user_percent" "%usr" Fixed(2), "of that, user mode";
    "system_percent" "%sys" Fixed(2), "of that, kernel";
    "cpu_limit_percent" "%limit" Fixed(0), "CPU time that it may use, of one CPU; ? without a limit";
    "throttled_percent" "%thr" Percent, "periods of its limit in which it was held back ÷ periods in which it had something to do";
    "throttled_ms_per_s" "thr ms/s" Scaled, "for how long it was held back per second, ms, added up over CPUs";
    "memory_mib" "mem MiB" Scaled, "memory charged to it";
    "memory_limit_mib" "max MiB" Scaled, "how much it may have; ? without a limit";
    "anonymous_mib" "anon" Scaled, "MiB of programs without a file behind them";
    "file_mib" "file" Scaled, "MiB of page cache";
    "memory_high_per_s" "high/s" Scaled, "times per second that it was made to free memory because it was above memory.high";
    "memory_max_per_s" "max/s" Scaled, "times per second that it met its limit of memory";
    "oom_kills" "oomkill" Fixed(0), "processes killed in the interval for lack of memory";
    "read_per_s" "r/s" Scaled, "reads per second";
    "read_kib_per_s" "rkB/s" Scaled, "KiB read per second";
    "write_per_s" "w/s" Scaled, "writes per second";
    "write_kib_per_s" "wkB/s" Scaled, "KiB written per second";
    "tasks" "tasks" Fixed(0), "processes and threads";
    "cpu_some_percent" "%Pcpu" Percent, "share of time in which at least one task waited for a CPU";
    "cpu_full_percent" "%PcpuF" Percent, "share of time in which all tasks that were not idle did";
    "memory_some_percent" "%Pmem" Percent, "share of time in which at least one task waited for memory";
    "memory_full_percent" "%PmemF" Percent, "share of time in which all tasks that were not idle did";
    "io_some_percent" "%Pio" Percent, "share of time in which at least one task waited for I/O";
    "io_full_percent" "%PioF" Percent, "share of time in which all tasks that were not idle did";
};

/// Samples of control groups.
pub(super) struct Groups {
    since_boot: bool,
    joins: bool,
    /// The last row of each.
    before: HashMap<<Cgroup as Row>::Key, Cgroup>,
    now: Vec<Cgroup>,
    before_ns: Option<i64>,
}

impl Groups {
    pub(super) fn new(since_boot: bool, joins: bool) -> Self {
        Self { since_boot, joins, before: HashMap::new(), now: Vec::new(), before_ns: None }
    }
}

impl Stream for Groups {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.now.extend(batch.to_rows::<Cgroup>()?);
        Ok(())
    }

    fn commit(&mut self) -> Option<StatBlock> {
        let t_ns = self.now.iter().map(|row| row.t_ns).max()?;
        let since_ns = self.before_ns.replace(t_ns);
        let since_boot = since_ns.is_none();
        let seconds = (t_ns - since_ns.unwrap_or(0)) as f64 / 1e9;
        let mut rows = Vec::new();
        for row in self.now.drain(..) {
            let before = self.before.get(&row.key());
            if !since_boot || self.since_boot {
                // One that was not there before has done all that it did in this interval; who joined cannot know.
                let is_known = before.is_some() || !self.joins;
                let step = CounterStep { before, now: &row, seconds: if is_known { seconds } else { 0.0 } };
                rows.push(StatRow { name: row.path.to_string(), values: values(&step), texts: Vec::new() });
            }
            self.before.insert(row.key(), row);
        }
        // One that was forgotten is as one that was there when this joined.
        self.joins |= forget(&mut self.before, |row| row.t_ns);
        // The topmost group has all that the others have, and comes first by that.
        let cpu = |row: &StatRow| row.values[0].unwrap_or(0.0);
        rows.sort_by(|a, b| cpu(b).total_cmp(&cpu(a)).then_with(|| a.name.cmp(&b.name)));
        (!rows.is_empty()).then_some(StatBlock { subject: CounterSubject::Cgroup, t_ns, seconds, since_boot, rows })
    }
}

fn values(step: &CounterStep<'_, Cgroup>) -> Vec<Option<f64>> {
    let share = |of: fn(&Cgroup) -> Option<i64>| step.share_percent(of);
    let pressure = |of: fn(&Cgroup) -> Option<i64>| share(of).map(|percent| percent.min(100.0));
    let kib = |of: fn(&Cgroup) -> Option<i64>| step.rate_opt(of).map(|bytes| bytes / 1024.0);
    let mib = |bytes: Option<i64>| bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
    let now = step.now;
    let is_known = step.seconds > 0.0;
    let (held, periods) = (step.delta_opt(|row| row.throttled_periods), step.delta_opt(|row| row.periods));
    vec![
        share(|row| row.usage_ns),
        share(|row| row.user_ns),
        share(|row| row.system_ns),
        now.cpu_limit.map(|cpus| cpus * 100.0),
        percent(held, periods).filter(|_| is_known),
        step.rate_opt(|row| row.throttled_ns).map(|ns_per_s| ns_per_s / 1e6),
        mib(now.memory_bytes),
        mib(now.memory_max_bytes),
        mib(now.anonymous_bytes),
        mib(now.file_bytes),
        step.rate_opt(|row| row.memory_high_events),
        step.rate_opt(|row| row.memory_max_events),
        step.delta_opt(|row| row.oom_kills).filter(|_| is_known),
        step.rate_opt(|row| row.read_ios),
        kib(|row| row.read_bytes),
        step.rate_opt(|row| row.write_ios),
        kib(|row| row.write_bytes),
        now.tasks.map(|count| count as f64),
        pressure(|row| row.cpu_some_ns),
        pressure(|row| row.cpu_full_ns),
        pressure(|row| row.memory_some_ns),
        pressure(|row| row.memory_full_ns),
        pressure(|row| row.io_some_ns),
        pressure(|row| row.io_full_ns),
    ]
}
