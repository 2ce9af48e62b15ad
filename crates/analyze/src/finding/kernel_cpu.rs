//! R4: interrupts take a CPU, or the kernel keeps one to itself.

use super::moment::CpuUse;
use super::window::{Stretch, Window};
use super::{Confidence, Evidence, Rule, RuleId, Severity, Symptom, Thresholds, figure, thresholds};

/// Averages over a window; needs no memory of its own.
pub(crate) struct KernelCpuRule;

impl Rule for KernelCpuRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.kernel_cpu;
        let Some(now) = window.now() else { return Vec::new() };
        let interrupts = window.last(limit.interrupt_for_s);
        let stuck = window.last(limit.stuck_for_s);
        now.cpus
            .iter()
            .filter_map(|cpu| {
                let by_interrupts = interrupts.and_then(|stretch| interrupted(stretch, cpu, limit));
                by_interrupts.or_else(|| stuck.and_then(|stretch| in_kernel(stretch, cpu, limit)))
            })
            .collect()
    }
}

/// Interrupts and soft interrupts take the CPU.
fn interrupted(stretch: Stretch<'_>, cpu: &CpuUse, limit: &thresholds::KernelCpu) -> Option<Symptom> {
    let of = |value: fn(&CpuUse) -> f64| stretch.mean(|moment| moment.cpu(&cpu.cpu).map(value));
    let irq = of(|cpu| cpu.irq)?;
    if irq < limit.interrupt_percent {
        return None;
    }
    let rate = stretch.mean(|moment| moment.system.as_ref()?.interrupts_per_s);
    let rate_words = match rate {
        Some(_) => format!("{} interrupts/s on all CPUs", figure(rate.map(f64::round), "")),
        None => "how many was not recorded".to_string(),
    };
    Some(Symptom {
        rule: RuleId::R4,
        subject: format!("cpu{}", cpu.cpu),
        severity: Severity::Finding,
        confidence: Confidence::Likely,
        since_ns: stretch.start_ns(),
        sentence: format!(
            "cpu{} is spending {irq:.0} % in interrupts and soft interrupts for {{for}} ({rate_words}; which vector was not measured). Whatever else runs there waits for them.",
            cpu.cpu,
        ),
        evidence: vec![
            Evidence::new("interrupts and soft interrupts", irq, "%"),
            Evidence::new("user", of(|cpu| cpu.user), "%"),
            Evidence::new("kernel", of(|cpu| cpu.system), "%"),
            Evidence::new("interrupts, all CPUs", rate, "1/s"),
        ],
        next: "See /proc/interrupts and /proc/softirqs grow; spread the vector's queues over CPUs (irqbalance, RPS), or slow its source.".to_string(),
        explains: vec![(RuleId::R11, None)],
        clear_s: None,
    })
}

/// The kernel takes the CPU, and no thread accounts for it.
fn in_kernel(stretch: Stretch<'_>, cpu: &CpuUse, limit: &thresholds::KernelCpu) -> Option<Symptom> {
    let of = |value: fn(&CpuUse) -> f64| stretch.mean(|moment| moment.cpu(&cpu.cpu).map(value));
    let (system, irq) = (of(|cpu| cpu.system)?, of(|cpu| cpu.irq)?);
    if system + irq < limit.stuck_percent {
        return None;
    }
    let processes = stretch.iter().all(|moment| moment.processes.is_some());
    let busiest = busiest_process(stretch);
    if busiest.as_ref().is_some_and(|(_, percent)| *percent >= limit.owner_percent) {
        return None;
    }
    let others = match &busiest {
        Some((name, percent)) => format!("no process accounts for it (the busiest, {name}, uses {percent:.0} %)"),
        None if processes => "no process accounts for it".to_string(),
        None => "processes were not recorded".to_string(),
    };
    Some(Symptom {
        rule: RuleId::R4,
        subject: format!("cpu{}", cpu.cpu),
        severity: Severity::Finding,
        confidence: if processes { Confidence::Certain } else { Confidence::Likely },
        since_ns: stretch.start_ns(),
        sentence: format!(
            "cpu{} is stuck in the kernel: {:.0} % for {{for}}, and {others}. What is bound to this CPU waits, while the other CPUs are fine.",
            cpu.cpu,
            system + irq,
        ),
        evidence: vec![
            Evidence::new("kernel", system, "%"),
            Evidence::new("interrupts and soft interrupts", irq, "%"),
            Evidence::new("busiest process", busiest.map(|(_, percent)| percent), "%"),
        ],
        next: "Look at that CPU's stacks (perf record -a -C CPU, /proc/PID/stack) and at the kernel's messages."
            .to_string(),
        explains: vec![(RuleId::R1, Some(format!("cpu{}", cpu.cpu)))],
        clear_s: None,
    })
}

/// The process that used most CPU over the stretch, per cent of one CPU; `None` when there was none.
fn busiest_process(stretch: Stretch<'_>) -> Option<(String, f64)> {
    let mut used: std::collections::BTreeMap<(i64, Option<i64>), (String, f64)> = std::collections::BTreeMap::new();
    for moment in stretch.iter() {
        for task in moment.processes.iter().flatten() {
            let entry = used.entry((task.pid, task.start_ns)).or_default();
            entry.0 = format!("{}[{}]", task.comm, task.pid);
            entry.1 += (task.user + task.system) * moment.seconds / stretch.seconds();
        }
    }
    used.into_values().max_by(|a, b| a.1.total_cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use super::super::RuleId;
    use super::super::testing::Bench;

    /// `mpstat`'s CPU 0 and 1 in the source: user, system of CPU 0; CPU 1 stands at 100 % system.
    const STUCK: [[f64; 2]; 4] = [[0.0, 0.0], [0.0, 2.0], [8.0, 2.0], [0.0, 2.0]];

    #[test]
    fn a_cpu_stuck_in_the_kernel() {
        let run = |system: f64, owner: Option<f64>| {
            let mut bench = Bench::new();
            for [user, other] in STUCK {
                bench.steps(1, 5.0, |step| {
                    step.cpu(0, [user, other, 0.0]);
                    step.cpu(1, [0.0, system, 0.0]);
                    if let Some(percent) = owner {
                        step.process(12, "dd", 1, [0.0, percent]);
                    }
                });
            }
            bench
        };
        let bench = run(100.0, None);
        let sentence = &bench.only(RuleId::R4).sentence;
        assert!(
            sentence.starts_with("cpu1 is stuck in the kernel: 100 % for 20 s, and processes were not recorded"),
            "{sentence}"
        );
        let bench = run(100.0, Some(3.0));
        let sentence = &bench.only(RuleId::R4).sentence;
        assert!(sentence.contains("no process accounts for it (the busiest, dd[12], uses 3 %)"), "{sentence}");
        run(50.0, None).is_silent();
        // A thread that accounts for it is the other rule's.
        run(100.0, Some(99.0)).only(RuleId::R1);
    }

    #[test]
    fn interrupts_take_a_cpu() {
        let run = |irq: f64| {
            let mut bench = Bench::new();
            bench.steps(8, 1.0, |step| {
                step.cpu(0, [5.0, 5.0, 0.0]);
                step.cpu(1, [10.0, 5.0, irq]);
                step.system(90_000.0, 0.0, 0.0);
            });
            bench
        };
        let bench = run(70.0);
        let sentence = &bench.only(RuleId::R4).sentence;
        assert!(sentence.starts_with("cpu1 is spending 70 % in interrupts and soft interrupts"), "{sentence}");
        run(35.0).is_silent();
    }
}
