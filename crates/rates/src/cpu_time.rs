//! CPU time between two samples: by the tick (`cpu`) and by event (`cpu_event`).

use crate::counter::{CounterStep, delta_opt, ratio};
use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, Int64Array, RecordBatch};
use recording::rows::{Cpu, CpuEvent};

/// Places of the two times in [`CpuColumns::TIMES`] that the kernel lets run backwards.
const IOWAIT: usize = 3;
const IDLE: usize = 7;

/// Counters of one CPU, or of all together, at one time; what a source does not tell apart is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuCounters {
    /// When they were read, ns.
    pub t_ns: i64,
    /// In the order of [`CpuColumns::TIMES`].
    times: [Option<i64>; 8],
}

impl From<&Cpu> for CpuCounters {
    fn from(row: &Cpu) -> Self {
        let times = [
            Some(row.user_ns),
            row.nice_ns,
            Some(row.system_ns),
            row.iowait_ns,
            row.irq_ns,
            row.softirq_ns,
            row.steal_ns,
            Some(row.idle_ns),
        ];
        Self { t_ns: row.t_ns, times }
    }
}

/// Columns of a batch of `cpu`, for those that read a long time of it. A column that was not read is as if the source did
/// not count it.
pub struct CpuColumns<'a> {
    t_ns: Option<&'a Int64Array>,
    times: [Option<&'a Int64Array>; 8],
}

impl<'a> CpuColumns<'a> {
    /// What a CPU's time is made of.
    pub const TIMES: [&'static str; 8] =
        ["user_ns", "nice_ns", "system_ns", "iowait_ns", "irq_ns", "softirq_ns", "steal_ns", "idle_ns"];

    /// Those of a batch.
    pub fn of(batch: &'a RecordBatch) -> Self {
        let column = |name: &str| batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
        Self { t_ns: column("t_ns"), times: Self::TIMES.map(column) }
    }

    /// Counters of a row.
    pub fn at(&self, row: usize) -> CpuCounters {
        let value = |column: Option<&Int64Array>| column.filter(|column| column.is_valid(row)).map(|c| c.value(row));
        CpuCounters { t_ns: value(self.t_ns).unwrap_or(0), times: self.times.map(value) }
    }
}

/// CPU time between two samples, ns; `None`: the source does not tell it, or the counter was reset.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuDelta {
    /// User mode, nice not included.
    pub user: Option<f64>,
    /// User mode at low priority.
    pub nice: Option<f64>,
    /// Kernel.
    pub system: Option<f64>,
    /// Idle while a task waited for I/O.
    pub iowait: Option<f64>,
    /// Interrupts.
    pub irq: Option<f64>,
    /// Soft interrupts.
    pub softirq: Option<f64>,
    /// Taken by the hypervisor.
    pub steal: Option<f64>,
    /// Idle.
    pub idle: Option<f64>,
    /// A counter ran backwards that never does so by itself: the CPU began anew, and nothing is known of the interval.
    is_reset: bool,
}

impl CpuDelta {
    /// From one sample to the next.
    pub fn of(now: &Cpu, before: &Cpu) -> Self {
        Self::over(&now.into(), Some(&before.into()))
    }

    /// Of a step; without an earlier sample, since boot.
    pub fn of_step(step: &CounterStep<'_, Cpu>) -> Self {
        Self::over(&step.now.into(), step.before.map(Into::into).as_ref())
    }

    /// Of counters; `before` is `None` for the mean since boot, when all were 0.
    pub fn over(now: &CpuCounters, before: Option<&CpuCounters>) -> Self {
        let before = before.map_or([Some(0); 8], |before| before.times);
        let grown: [Option<f64>; 8] = std::array::from_fn(|at| delta_opt(now.times[at], before[at]));
        let [user, nice, system, iowait, irq, softirq, steal, idle] = grown;
        let is_counted = |at: usize| now.times[at].is_some() && before[at].is_some();
        let ran_back = |at: usize| is_counted(at) && grown[at].is_none();
        Self {
            user,
            nice,
            system,
            // The kernel's idle and iowait run backwards at times: a CPU's idle time is charged to where the task woke up.
            iowait: is_counted(IOWAIT).then(|| iowait.unwrap_or(0.0)),
            irq,
            softirq,
            steal,
            idle: is_counted(IDLE).then(|| idle.unwrap_or(0.0)),
            is_reset: (0..grown.len()).any(|at| ran_back(at) && at != IOWAIT && at != IDLE),
        }
    }

    /// All of it, 0 where the CPU began anew. Of what was counted, not of the clock: ticks are coarse, and the parts must make
    /// the whole. What one of the samples lacks is in no part and not in the whole.
    pub fn whole(&self) -> f64 {
        if self.is_reset {
            return 0.0;
        }
        let parts = [self.user, self.nice, self.system, self.iowait, self.irq, self.softirq, self.steal, self.idle];
        parts.into_iter().flatten().sum()
    }

    /// All but idle and iowait, stolen time included.
    pub fn busy(&self) -> f64 {
        (self.whole() - self.idle.unwrap_or(0.0) - self.iowait.unwrap_or(0.0)).max(0.0)
    }

    /// User mode, nice included.
    pub fn all_user(&self) -> f64 {
        self.user.unwrap_or(0.0) + self.nice.unwrap_or(0.0)
    }

    /// Interrupts and soft interrupts.
    pub fn all_irq(&self) -> f64 {
        self.irq.unwrap_or(0.0) + self.softirq.unwrap_or(0.0)
    }

    /// A part of the whole, per cent; `None` where no time was counted.
    pub fn percent(&self, part: f64) -> Option<f64> {
        ratio(100.0 * part, self.whole())
    }
}

/// A CPU by event between two samples; times in ns. `None`: not measured, or the probe was loaded anew.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuEventDelta {
    /// Length of the interval.
    pub seconds: f64,
    /// Tasks ran, interrupts that came meanwhile included.
    pub run: Option<f64>,
    /// Of that, what ran for 20 ms or more at a stretch.
    pub long: Option<f64>,
    /// No task ran.
    pub idle: Option<f64>,
    /// Of that, interrupts.
    pub idle_irq: Option<f64>,
    /// Handlers of interrupts.
    pub irq: Option<f64>,
    /// Soft interrupts.
    pub softirq: Option<f64>,
    /// Of both, taken from a task that was running.
    pub stolen: Option<f64>,
    /// Time that ready tasks waited before they ran here.
    pub wait: Option<f64>,
    /// Switches from one task to another.
    pub switches: Option<f64>,
    /// Preempted tasks.
    pub preemptions: Option<f64>,
}

impl CpuEventDelta {
    /// From one sample to the next.
    pub fn of(now: &CpuEvent, before: &CpuEvent) -> Self {
        let step = CounterStep::between(now, before, |row| row.t_ns);
        Self {
            seconds: step.seconds,
            run: step.delta(|row| row.run_ns),
            long: step.delta_opt(|row| row.long_ns),
            idle: step.delta(|row| row.idle_ns),
            idle_irq: step.delta_opt(|row| row.idle_irq_ns),
            irq: step.delta_opt(|row| row.irq_ns),
            softirq: step.delta_opt(|row| row.softirq_ns),
            stolen: step.delta_opt(|row| row.stolen_ns),
            wait: step.delta(|row| row.wait_ns),
            switches: step.delta(|row| row.switches),
            preemptions: step.delta(|row| row.preemptions),
        }
    }

    /// Time that was counted. A CPU that could not be read stands where it stood: nothing is known of it, and not that it did
    /// nothing.
    pub fn whole(&self) -> Option<f64> {
        self.run.zip(self.idle).map(|(run, idle)| run + idle).filter(|whole| *whole > 0.0)
    }

    /// Tasks ran, or interrupts came. `None` where interrupts are not timed: those while no task ran would be missing, and a
    /// lower bound would be taken for the truth.
    pub fn busy(&self) -> Option<f64> {
        self.run.zip(self.idle_irq).map(|(run, irq)| run + irq)
    }

    /// A part of the counted time, per cent.
    pub fn percent(&self, part: Option<f64>) -> Option<f64> {
        ratio(100.0 * part?, self.whole()?)
    }

    /// `count` per second; `None` where no time was counted.
    pub fn per_s(&self, count: Option<f64>) -> Option<f64> {
        count.filter(|_| self.seconds > 0.0 && self.whole().is_some()).map(|count| count / self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::Row;

    fn row(user_ns: i64, iowait_ns: i64, steal_ns: i64, idle_ns: i64) -> Cpu {
        let (iowait_ns, steal_ns) = (Some(iowait_ns), Some(steal_ns));
        Cpu { t_ns: 1, cpu: "all".into(), user_ns, iowait_ns, steal_ns, idle_ns, ..Cpu::default() }
    }

    #[test]
    fn rows_and_columns_give_the_same_time() {
        let rows = [row(10, 4, 0, 100), row(40, 3, 10, 160)];
        let batch = Cpu::to_batch(&rows).unwrap();
        let columns = CpuColumns::of(&batch);
        let delta = CpuDelta::of(&rows[1], &rows[0]);
        assert_eq!(CpuDelta::over(&columns.at(1), Some(&columns.at(0))), delta);
        assert_eq!((delta.whole(), delta.busy(), delta.percent(delta.busy())), (100.0, 40.0, Some(40.0)));
        assert_eq!((delta.iowait, delta.nice), (Some(0.0), None), "iowait runs backwards at times");
        assert_eq!(CpuDelta::of(&rows[0], &rows[1]).steal, None, "a reset is not 0");
        assert_eq!(CpuDelta::default().percent(0.0), None, "no time was counted");
    }

    #[test]
    fn a_cpu_that_is_not_timed_whole_has_no_busy_share() {
        let event = |run_ns, idle_ns, idle_irq_ns| CpuEvent {
            t_ns: run_ns,
            run_ns,
            idle_ns,
            idle_irq_ns,
            ..CpuEvent::default()
        };
        let delta = CpuEventDelta::of(&event(60, 50, Some(10)), &event(0, 10, Some(0)));
        assert_eq!((delta.percent(delta.run), delta.percent(delta.busy())), (Some(60.0), Some(70.0)));
        let delta = CpuEventDelta::of(&event(60, 50, None), &event(0, 10, None));
        assert_eq!((delta.percent(delta.run), delta.percent(delta.busy())), (Some(60.0), None));
        let stands = CpuEventDelta::of(&event(60, 50, None), &event(60, 50, None));
        assert_eq!((stands.percent(stands.run), stands.per_s(stands.switches)), (None, None));
    }
}
