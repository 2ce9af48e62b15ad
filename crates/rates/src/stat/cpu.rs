//! CPU time as mpstat shows it.

use super::FigureDigits::Fixed;
use super::{StatColumn, columns, percent};
use crate::counter::CounterStep;
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

    fn values(&self, step: &CounterStep<'_, Cpu>) -> Vec<Option<f64>> {
        let parts = [
            step.delta(|row| row.user_ns),
            step.delta_opt(|row| row.nice_ns),
            step.delta(|row| row.system_ns),
            // The kernel's iowait runs backwards at times: a CPU's idle time is charged to where the task woke up.
            step.now.iowait_ns.map(|_| step.delta_opt(|row| row.iowait_ns).unwrap_or(0.0)),
            step.delta_opt(|row| row.irq_ns),
            step.delta_opt(|row| row.softirq_ns),
            step.delta_opt(|row| row.steal_ns),
            step.delta(|row| row.idle_ns).or(Some(0.0)),
        ];
        // Of what was counted, not of the clock: ticks are coarse, and the parts must make the whole.
        let whole = Some(parts.iter().flatten().sum());
        let idle = parts[7].map(|idle| idle + parts[3].unwrap_or(0.0));
        let busy = idle.zip(whole).map(|(idle, whole): (f64, f64)| whole - idle);
        parts.into_iter().chain([busy]).map(|part| percent(part, whole)).collect()
    }
}
