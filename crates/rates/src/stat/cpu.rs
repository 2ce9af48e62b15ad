//! CPU time as mpstat shows it.

use super::FigureDigits::Fixed;
use super::{StatColumn, columns};
use crate::counter::CounterStep;
use crate::cpu_time::CpuDelta;
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
        let delta = CpuDelta::of_step(step);
        let parts = [
            delta.user,
            delta.nice,
            delta.system,
            delta.iowait,
            delta.irq,
            delta.softirq,
            delta.steal,
            delta.idle,
            Some(delta.busy()),
        ];
        parts.into_iter().map(|part| delta.percent(part?)).collect()
    }
}
