//! Steps of the event clock.

use super::{RunStep, Step, whole};
use recording::rows::{CpuEvent, PreemptedBy, ProcessEvent, Stolen};

impl Step<'_> {
    /// A CPU by event, per cent: busy, and in interrupts.
    pub(crate) fn cpu_event(&mut self, cpu: usize, busy: f64, irq: f64) -> &mut CpuEvent {
        let row = self.bench.cpu_events.entry(cpu).or_insert_with(|| CpuEvent {
            t_ns: 0,
            t_s: 0.0,
            cpu: cpu.to_string(),
            run_ns: 0,
            long_ns: Some(0),
            idle_ns: 0,
            idle_irq_ns: Some(0),
            irq_ns: Some(0),
            softirq_ns: Some(0),
            stolen_ns: Some(0),
            wait_ns: 0,
            switches: 0,
            preemptions: 0,
        });
        let share = |percent: f64| whole(percent * 1e7 * self.seconds);
        row.run_ns += share(busy);
        row.idle_ns += share(100.0 - busy);
        row.softirq_ns = row.softirq_ns.map(|ns| ns + share(irq));
        row
    }

    /// So many per cent of a CPU, of those by event, were run at long stretches.
    pub(crate) fn cpu_event_long(&mut self, cpu: usize, long: f64) {
        let share = whole(long * 1e7 * self.seconds);
        let row = self.bench.cpu_events.get_mut(&cpu).unwrap();
        row.long_ns = row.long_ns.map(|ns| ns + share);
    }

    /// A process by event.
    pub(crate) fn run(&mut self, pid: i64, comm: &str, step: RunStep) -> &mut ProcessEvent {
        let row = self.bench.runs.entry(pid).or_insert_with(|| ProcessEvent {
            t_ns: 0,
            t_s: 0.0,
            pid,
            start_ns: 1,
            parent: 1,
            comm: comm.into(),
            run_ns: 0,
            wait_ns: 0,
            switches: 0,
            preemptions: 0,
        });
        row.run_ns += whole(step.run * 1e7 * self.seconds);
        row.wait_ns += whole(step.wait * 1e7 * self.seconds);
        row.switches += whole(step.switches * self.seconds);
        row.preemptions += whole(step.preemptions * self.seconds);
        row
    }

    /// One process preempted another so often per second, which waited for so many per cent of the time.
    pub(crate) fn preempted(&mut self, pid: i64, (by_pid, by): (i64, &str), per_s: f64, waits: f64) {
        let seconds = self.seconds;
        let row = self.pair(pid, by_pid, by);
        row.count += whole(per_s * seconds);
        row.wait_ns += whole(waits * 1e7 * seconds);
    }

    /// The same, but it woke and waited behind the other one.
    pub(crate) fn behind(&mut self, pid: i64, (by_pid, by): (i64, &str), per_s: f64, waits: f64) {
        let seconds = self.seconds;
        let row = self.pair(pid, by_pid, by);
        row.behind = row.behind.map(|count| count + whole(per_s * seconds));
        row.behind_ns = row.behind_ns.map(|ns| ns + whole(waits * 1e7 * seconds));
    }

    fn pair(&mut self, pid: i64, by_pid: i64, by: &str) -> &mut PreemptedBy {
        self.bench.preempted.entry((pid, by_pid)).or_insert_with(|| PreemptedBy {
            t_ns: 0,
            t_s: 0.0,
            pid,
            comm: None,
            by_pid,
            by_comm: Some(by.into()),
            count: 0,
            wait_ns: 0,
            behind: Some(0),
            behind_ns: Some(0),
        })
    }

    /// A soft interrupt took so much from a process, per cent of one CPU.
    pub(crate) fn stolen(&mut self, pid: i64, comm: &str, vector: &str, percent: f64) {
        let row = self.bench.stolen.entry((pid, vector.to_string())).or_insert_with(|| Stolen {
            t_ns: 0,
            t_s: 0.0,
            pid,
            comm: comm.into(),
            kind: "softirq".into(),
            vector: vector.into(),
            count: 0,
            ns: 0,
        });
        row.ns += whole(percent * 1e7 * self.seconds);
    }
}
