//! CPU time as mpstat shows it.

use super::FigureDigits::Fixed;
use super::{StatColumn, Step, columns, percent};
use recording::rows::Cpu;

/// Shares of the time that passed on a CPU; of `all`, of the time of all CPUs.
pub(super) const COLUMNS: &[StatColumn] = columns! {
    "user_percent" "%usr" Fixed(2), "user mode, nice not included";
    "nice_percent" "%nice" Fixed(2), "user mode at low priority";
    "system_percent" "%sys" Fixed(2), "kernel";
    "iowait_percent" "%iowait" Fixed(2), "idle while a task waited for I/O";
    "irq_percent" "%irq" Fixed(2), "interrupts";
    "softirq_percent" "%soft" Fixed(2), "soft interrupts";
    "steal_percent" "%steal" Fixed(2), "taken by the hypervisor";
    "idle_percent" "%idle" Fixed(2), "nothing to do, nothing waiting for I/O";
    "busy_percent" "%busy" Fixed(2), "all but idle and iowait";
};

pub(super) struct Figures;

impl super::Figures<Cpu> for Figures {
    fn key(&self, row: &Cpu) -> String {
        row.cpu.clone()
    }

    fn values(&self, step: &Step<'_, Cpu>) -> Vec<Option<f64>> {
        let is_counted = |of: fn(&Cpu) -> Option<i64>| {
            of(step.now).is_some() && step.before.is_none_or(|before| of(before).is_some())
        };
        // The kernel's idle and iowait run backwards at times: a CPU's idle time is charged to where the task woke up.
        let idle = |of: fn(&Cpu) -> Option<i64>| step.delta_some(of).or_else(|| is_counted(of).then_some(0.0));
        let parts = [
            step.delta(|row| row.user_ns),
            step.delta_some(|row| row.nice_ns),
            step.delta(|row| row.system_ns),
            idle(|row| row.iowait_ns),
            step.delta_some(|row| row.irq_ns),
            step.delta_some(|row| row.softirq_ns),
            step.delta_some(|row| row.steal_ns),
            idle(|row| Some(row.idle_ns)),
        ];
        // Where another one ran backwards, the CPU began anew: the whole is not known, and no part of it.
        let counters: [fn(&Cpu) -> Option<i64>; 6] = [
            |row| Some(row.user_ns),
            |row| row.nice_ns,
            |row| Some(row.system_ns),
            |row| row.irq_ns,
            |row| row.softirq_ns,
            |row| row.steal_ns,
        ];
        let is_known = counters.iter().all(|of| step.delta_some(of).is_some() || !is_counted(*of));
        // Of what was counted, not of the clock: ticks are coarse, and the parts must make the whole.
        let whole = Some(parts.iter().flatten().sum()).filter(|whole| is_known && *whole > 0.0);
        let idle = parts[7].map(|idle| idle + parts[3].unwrap_or(0.0));
        let busy = idle.zip(whole).map(|(idle, whole): (f64, f64)| whole - idle);
        parts.into_iter().chain([busy]).map(|part| percent(part, whole)).collect()
    }
}
