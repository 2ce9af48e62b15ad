//! What a process did between two samples.

use crate::counter::{CounterStep, delta_opt, share_percent};
use recording::rows::Process;

/// Counters of one process at one time; what the kernel does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessCounters {
    user_ns: Option<i64>,
    system_ns: Option<i64>,
    read_bytes: Option<i64>,
    write_bytes: Option<i64>,
    major_faults: Option<i64>,
    minor_faults: Option<i64>,
    io_delay_ns: Option<i64>,
}

impl From<&Process> for ProcessCounters {
    fn from(row: &Process) -> Self {
        Self {
            user_ns: row.user_ns,
            system_ns: row.system_ns,
            read_bytes: row.read_bytes,
            write_bytes: row.write_bytes,
            major_faults: row.major_faults,
            minor_faults: row.minor_faults,
            io_delay_ns: row.io_delay_ns,
        }
    }
}

/// A process between two samples. What is not known is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessDelta {
    /// Length of the interval; 0 where what it did since is not known, which makes rates and shares unknown.
    pub seconds: f64,
    /// CPU time in user mode, ns.
    pub user: Option<f64>,
    /// CPU time in the kernel, ns.
    pub system: Option<f64>,
    /// Bytes read from devices.
    pub read: Option<f64>,
    /// Bytes written to devices.
    pub written: Option<f64>,
    /// Page faults that waited for a device.
    pub major_faults: Option<f64>,
    /// Page faults that waited for no device.
    pub minor_faults: Option<f64>,
    /// Time waited for block I/O, ns.
    pub io_delay: Option<f64>,
}

impl ProcessDelta {
    /// Of a step; without an earlier sample the process began since.
    pub fn of_step(step: &CounterStep<'_, Process>) -> Self {
        Self::over(step.seconds, &step.now.into(), step.before.map(Into::into).as_ref())
    }

    /// Over so many seconds; `before` is `None` for a process that began since.
    pub fn over(seconds: f64, now: &ProcessCounters, before: Option<&ProcessCounters>) -> Self {
        let grown = |of: fn(&ProcessCounters) -> Option<i64>| delta_opt(of(now), before.map_or(Some(0), of));
        Self {
            seconds,
            user: grown(|counters| counters.user_ns),
            system: grown(|counters| counters.system_ns),
            read: grown(|counters| counters.read_bytes),
            written: grown(|counters| counters.write_bytes),
            major_faults: grown(|counters| counters.major_faults),
            minor_faults: grown(|counters| counters.minor_faults),
            io_delay: grown(|counters| counters.io_delay_ns),
        }
    }

    /// CPU time, ns; `None` where a part of it is not known.
    pub fn cpu(&self) -> Option<f64> {
        Some(self.user? + self.system?)
    }

    /// Bytes moved; of what is known.
    pub fn bytes(&self) -> f64 {
        self.read.unwrap_or(0.0) + self.written.unwrap_or(0.0)
    }

    /// A time of it as a share of one CPU, per cent.
    pub fn percent(&self, ns: Option<f64>) -> Option<f64> {
        share_percent(ns?, self.seconds)
    }

    /// `value` per second.
    pub fn per_s(&self, value: Option<f64>) -> Option<f64> {
        value.filter(|_| self.seconds > 0.0).map(|value| value / self.seconds)
    }
}
