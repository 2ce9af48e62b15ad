//! R4: interrupts take a CPU, or the kernel keeps one to itself.

use crate::interval_sample::{CpuUse, InterruptUse, IntervalSample};
use crate::window::{Window, WindowSlice};
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds, figure, thresholds};
use recording::EventKind;
use std::collections::{BTreeMap, VecDeque};

/// So much of the past tells how often an interrupt usually comes; the median of fewer samples says nothing.
const USUAL: (usize, usize) = (60, 300);

/// Remembers how often each interrupt usually comes.
#[derive(Default)]
pub(crate) struct KernelCpuRule {
    /// Per second and sample, by vector.
    usual: BTreeMap<String, VecDeque<f64>>,
    samples: usize,
}

impl Rule for KernelCpuRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.kernel_cpu;
        let Some(now) = window.now() else { return Vec::new() };
        let interrupts = window.last(limit.interrupt_for_s);
        let stuck = window.last(limit.stuck_for_s);
        let mut found: Vec<Symptom> = now
            .cpus
            .iter()
            .filter_map(|cpu| {
                let by_interrupts = interrupts.and_then(|stretch| interrupted(stretch, cpu, limit));
                by_interrupts.or_else(|| stuck.and_then(|stretch| in_kernel(stretch, cpu, limit)))
            })
            .collect();
        if let Some(stretch) = interrupts {
            found.extend(self.storms(stretch, limit));
        }
        self.learn(now);
        found
    }
}

impl KernelCpuRule {
    fn learn(&mut self, now: &IntervalSample) {
        let Some(interrupts) = &now.interrupts else { return };
        self.samples += 1;
        let mut rates: BTreeMap<&str, f64> = BTreeMap::new();
        for one in interrupts.iter().filter(|one| is_device(one)) {
            *rates.entry(&one.vector).or_default() += one.per_s;
        }
        for name in rates.keys() {
            self.usual.entry((*name).to_string()).or_default();
        }
        for (name, usual) in &mut self.usual {
            usual.push_back(rates.get(name.as_str()).copied().unwrap_or(0.0));
            if usual.len() > USUAL.1 {
                usual.pop_front();
            }
        }
    }

    /// Vectors that come far more often than they usually do, to one CPU.
    fn storms(&self, stretch: WindowSlice<'_>, limit: &thresholds::KernelCpu) -> Vec<Symptom> {
        if self.samples < USUAL.0 {
            return Vec::new();
        }
        let rates = vector_rates(stretch, is_device);
        let mut found = Vec::new();
        for (vector, by_cpu) in rates {
            let rate: f64 = by_cpu.values().sum();
            let Some((cpu, most)) = by_cpu.iter().max_by(|a, b| a.1.total_cmp(b.1)) else { continue };
            // A vector that was never seen came 0 times.
            let median = self.usual.get(vector).map_or(0.0, |usual| median(usual, self.samples.min(USUAL.1)));
            let share = 100.0 * most / rate;
            if rate < limit.storm_per_s || rate < limit.storm_ratio * median || share < limit.storm_share_percent {
                continue;
            }
            let irq = stretch.mean(|moment| Some(moment.cpu(&cpu.to_string())?.irq));
            found.push(storm(stretch, vector, *cpu, [rate, median, share], irq, limit));
        }
        found
    }
}

/// Interrupts of devices; timers and those that CPUs send each other follow the load.
fn is_device(one: &InterruptUse) -> bool {
    !one.is_soft && one.vector.starts_with(|first: char| first.is_ascii_digit())
}

fn median(values: &VecDeque<f64>, samples: usize) -> f64 {
    // Samples from before the vector was first seen had none of it.
    let mut sorted: Vec<f64> =
        values.iter().copied().chain(std::iter::repeat_n(0.0, samples.saturating_sub(values.len()))).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Mean rates over the stretch by vector and CPU.
fn vector_rates<'a>(
    stretch: WindowSlice<'a>,
    wanted: impl Fn(&InterruptUse) -> bool,
) -> BTreeMap<&'a str, BTreeMap<i32, f64>> {
    let seconds = stretch.seconds();
    let mut rates: BTreeMap<&str, BTreeMap<i32, f64>> = BTreeMap::new();
    for moment in stretch.iter() {
        for one in moment.interrupts.iter().flatten().filter(|one| wanted(one)) {
            *rates.entry(&one.vector).or_default().entry(one.cpu).or_default() += one.per_s * moment.seconds / seconds;
        }
    }
    rates
}

fn storm(
    stretch: WindowSlice<'_>,
    vector: &str,
    cpu: i32,
    [rate, median, share]: [f64; 3],
    irq: Option<f64>,
    limit: &thresholds::KernelCpu,
) -> Symptom {
    let is_felt = irq.is_some_and(|irq| irq >= limit.interrupt_percent / 2.0);
    let cost = match irq {
        Some(irq) if irq > 0.0 => format!("which takes {irq:.0} % of it"),
        // Kernels without IRQ time accounting show 0 whatever it is.
        _ => "what that takes of it was not measured".to_string(),
    };
    Symptom {
        rule: RuleId::R4,
        subject: format!("irq {vector}"),
        severity: if is_felt { FindingSeverity::Finding } else { FindingSeverity::Note },
        confidence: RuleConfidence::Likely,
        since_ns: stretch.start_ns(),
        sentence: format!(
            "irq {vector} comes {}/s for {{for}}, usually {}/s; {share:.0} % of it to cpu{cpu}, {cost}.",
            figure(Some(rate.round()), ""),
            figure(Some(median.round()), ""),
        ),
        evidence: vec![
            FindingEvidence::new("interrupts of that vector", rate, "1/s"),
            FindingEvidence::new("median of the last five minutes", median, "1/s"),
            FindingEvidence::new(format!("share on cpu{cpu}"), share, "%"),
            FindingEvidence::new(format!("interrupts and soft interrupts on cpu{cpu}"), irq, "%"),
        ],
        next: "Spread the device's queues over CPUs (irqbalance, /proc/irq/N/smp_affinity), let it raise fewer (ethtool -C), or find what it answers.".to_string(),
        explains: Vec::new(),
        clear_s: None,
    }
}

/// " irq|softirq NAME (rate/s, share of it on this CPU)": what came most on one CPU over the stretch.
fn most_on(stretch: WindowSlice<'_>, cpu: &str) -> Option<String> {
    let number: i32 = cpu.parse().ok()?;
    // The timer's soft interrupts come on every CPU, always.
    let counts = |one: &InterruptUse| {
        is_device(one) || (one.is_soft && !["TIMER", "SCHED", "RCU", "HRTIMER"].contains(&&*one.vector))
    };
    let rates = vector_rates(stretch, counts);
    let on = |by_cpu: &BTreeMap<i32, f64>| by_cpu.get(&number).copied().unwrap_or(0.0);
    let (vector, by_cpu) = rates.iter().max_by(|a, b| on(a.1).total_cmp(&on(b.1)))?;
    let (rate, all) = (on(by_cpu), by_cpu.values().sum::<f64>());
    (rate > 0.0).then(|| {
        let kind = if vector.starts_with(|first: char| first.is_ascii_digit()) { "irq" } else { "softirq" };
        format!(
            "mostly {kind} {vector}: {}/s, {:.0} % of them on this CPU",
            figure(Some(rate.round()), ""),
            100.0 * rate / all
        )
    })
}

/// " Message '…' was logged 144,145 times/s." when one floods the kernel's log.
fn flood(stretch: WindowSlice<'_>) -> String {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for event in stretch.iter().flat_map(|moment| &moment.events).filter(|event| event.kind == EventKind::Kernel) {
        *counts.entry(&event.message).or_default() += event.count;
    }
    let most = counts.iter().max_by_key(|(_, count)| **count);
    let rate = most.map_or(0.0, |(_, count)| *count as f64 / stretch.seconds());
    match most {
        Some((message, _)) if rate >= 100.0 => {
            let short: String = message.chars().take(80).collect();
            format!(" Message '{short}' was logged {} times/s.", figure(Some(rate.round()), ""))
        }
        _ => String::new(),
    }
}

/// Interrupts and soft interrupts take the CPU.
fn interrupted(stretch: WindowSlice<'_>, cpu: &CpuUse, limit: &thresholds::KernelCpu) -> Option<Symptom> {
    let of = |value: fn(&CpuUse) -> f64| stretch.mean(|moment| moment.cpu(&cpu.cpu).map(value));
    // What the handlers say themselves goes before what the tick found: kernels without interrupt time accounting count little.
    let by_event = stretch.mean(|moment| moment.cpu_event(&cpu.cpu).map(|one| one.irq));
    let irq = by_event.or_else(|| of(|cpu| cpu.irq))?;
    if irq < limit.interrupt_percent {
        return None;
    }
    let rate = stretch.mean(|moment| moment.system.as_ref()?.interrupts_per_s);
    let named = most_on(stretch, &cpu.cpu);
    let rate_words = match (&named, rate) {
        (Some(named), _) => named.clone(),
        (None, Some(rate)) => {
            format!("{} interrupts/s on all CPUs; which was not recorded", figure(Some(rate.round()), ""))
        }
        (None, None) => "which, and how many, was not recorded".to_string(),
    };
    Some(Symptom {
        rule: RuleId::R4,
        subject: format!("cpu{}", cpu.cpu),
        severity: FindingSeverity::Finding,
        confidence: if named.is_some() { RuleConfidence::Certain } else { RuleConfidence::Likely },
        since_ns: stretch.start_ns(),
        sentence: format!(
            "cpu{} is spending {irq:.0} % in interrupts and soft interrupts for {{for}} ({rate_words}). {}{}",
            cpu.cpu,
            victims(stretch, &cpu.cpu),
            flood(stretch),
        ),
        evidence: vec![
            FindingEvidence::new("interrupts and soft interrupts", irq, "%"),
            FindingEvidence::new("user", of(|cpu| cpu.user), "%"),
            FindingEvidence::new("kernel", of(|cpu| cpu.system), "%"),
            FindingEvidence::new("interrupts, all CPUs", rate, "1/s"),
        ],
        next: "See /proc/interrupts and /proc/softirqs grow; spread the vector's queues over CPUs (irqbalance, RPS), or slow its source.".to_string(),
        explains: vec![(RuleId::R11, None)],
        clear_s: None,
    })
}

/// Who lost most by interrupts over the stretch. The kernel's counts tell by whom, not where: they are this CPU's where
/// nearly all interrupts came here, or those that were lost on all CPUs.
fn victims(stretch: WindowSlice<'_>, cpu: &str) -> String {
    let mut lost: BTreeMap<i64, (&str, f64)> = BTreeMap::new();
    for one in stretch.iter().flat_map(|moment| moment.stolen.iter().flatten()) {
        lost.entry(one.pid).or_insert((&one.comm, 0.0)).1 += one.stolen_s * 1e3 / stretch.seconds();
    }
    let mut lost: Vec<(i64, (&str, f64))> = lost.into_iter().filter(|(_, (_, ms))| *ms >= VICTIM_MS_PER_S).collect();
    lost.sort_by(|a, b| b.1.1.total_cmp(&a.1.1));
    if lost.is_empty() {
        return "Whatever else runs there waits for them.".to_string();
    }
    let named = lost.iter().take(3).map(|(pid, (comm, ms))| format!("{comm}[{pid}] {ms:.0} ms/s"));
    let named = named.collect::<Vec<_>>().join(", ");
    let irq = |moment: &IntervalSample| moment.cpu_events.iter().map(|one| one.irq).sum::<f64>();
    let (here, all) =
        (stretch.mean(|moment| Some(moment.cpu_event(cpu)?.irq)), stretch.mean(|moment| Some(irq(moment))));
    if here.zip(all).is_some_and(|(here, all)| 100.0 * here >= HERE_PERCENT * all) {
        return format!("They took it from {named}.");
    }
    format!("On all CPUs together, interrupts took time from {named}.")
}

/// With so much of all interrupts' time on one CPU, who lost lost it there.
const HERE_PERCENT: f64 = 80.0;
/// Who lost less is not named.
const VICTIM_MS_PER_S: f64 = 5.0;

/// The kernel takes the CPU, and no thread accounts for it.
fn in_kernel(stretch: WindowSlice<'_>, cpu: &CpuUse, limit: &thresholds::KernelCpu) -> Option<Symptom> {
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
    // A CPU on which tasks take turns is not stuck: they do their work in the kernel.
    let switches = stretch.mean(|moment| moment.cpu_event(&cpu.cpu)?.switches_per_s);
    if switches.is_some_and(|per_s| per_s >= limit.stuck_switches_per_s) {
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
        severity: FindingSeverity::Finding,
        confidence: if processes { RuleConfidence::Certain } else { RuleConfidence::Likely },
        since_ns: stretch.start_ns(),
        sentence: format!(
            "cpu{} is stuck in the kernel: {:.0} % for {{for}}, and {others}. What is bound to this CPU waits, while the other CPUs are fine.{}",
            cpu.cpu,
            system + irq,
            flood(stretch),
        ),
        evidence: vec![
            FindingEvidence::new("kernel", system, "%"),
            FindingEvidence::new("interrupts and soft interrupts", irq, "%"),
            FindingEvidence::new("switches between tasks there", switches, "1/s"),
            FindingEvidence::new("busiest process", busiest.map(|(_, percent)| percent), "%"),
        ],
        next: "Look at that CPU's stacks (perf record -a -C CPU, /proc/PID/stack) and at the kernel's messages."
            .to_string(),
        explains: vec![(RuleId::R1, Some(format!("cpu{}", cpu.cpu)))],
        clear_s: None,
    })
}

/// The process that used most CPU over the stretch, per cent of one CPU; `None` when there was none.
fn busiest_process(stretch: WindowSlice<'_>) -> Option<(String, f64)> {
    let mut used: BTreeMap<(i64, Option<i64>), (String, f64)> = BTreeMap::new();
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
    use crate::RuleId;
    use crate::testing::Bench;

    /// `mpstat`'s CPU 0 and 1 in the source: user, system of CPU 0; CPU 1 stands at 100 % system.
    const STUCK: [[f64; 2]; 4] = [[0.0, 0.0], [0.0, 2.0], [8.0, 2.0], [0.0, 2.0]];

    #[test]
    fn a_cpu_on_which_tasks_take_turns_is_not_stuck() {
        let run = |per_s: i64| {
            let mut bench = Bench::new();
            bench.steps(14, 1.0, |step| {
                step.cpu(0, [0.0, 2.0, 0.0]);
                step.cpu(1, [0.0, 100.0, 0.0]);
                step.cpu_event(0, 2.0, 0.1);
                step.cpu_event(1, 100.0, 0.1).switches += per_s;
            });
            bench
        };
        assert!(run(2).only(RuleId::R4).sentence.starts_with("cpu1 is stuck in the kernel"));
        run(5000).is_silent();
    }

    #[test]
    fn who_lost_to_interrupts_is_said_of_the_cpu_only_where_it_is_known() {
        let run = |other: f64| {
            let mut bench = Bench::new();
            bench.steps(8, 1.0, |step| {
                for (cpu, irq) in [(0, other), (1, 70.0)] {
                    step.cpu(cpu, [1.0, 1.0, irq]);
                    step.cpu_event(cpu, 80.0, irq);
                }
                step.stolen(5, "db", "NET_RX", 20.0);
            });
            bench
        };
        let of = |bench: &Bench| bench.found(RuleId::R4)[0].sentence.clone();
        assert!(of(&run(2.0)).contains("They took it from db[5] 200 ms/s."), "{}", of(&run(2.0)));
        let words = "On all CPUs together, interrupts took time from db[5] 200 ms/s.";
        assert!(of(&run(40.0)).contains(words), "{}", of(&run(40.0)));
    }

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

    #[test]
    fn the_vector_is_named_and_a_flood_of_messages() {
        let mut bench = Bench::new();
        bench.steps(8, 1.0, |step| {
            step.cpu(0, [5.0, 5.0, 0.0]);
            step.cpu(1, [10.0, 5.0, 70.0]);
            step.interrupt(true, "NET_RX", 1, 150_000.0);
            step.interrupt(true, "NET_RX", 0, 1000.0);
            step.interrupt(true, "TIMER", 1, 250_000.0);
            // 720,725 messages in five seconds.
            step.event_times("kernel", "ehci: port resume timeout", 144_145);
        });
        let sentence = &bench.only(RuleId::R4).sentence;
        assert!(sentence.contains("(mostly softirq NET_RX: 150,000/s, 99 % of them on this CPU)"), "{sentence}");
        assert!(sentence.contains("Message 'ehci: port resume timeout' was logged 144,145 times/s."), "{sentence}");
    }

    #[test]
    fn an_interrupt_storm() {
        let run = |per_s: f64, irq: f64| {
            let mut bench = Bench::new();
            let quiet = |step: &mut crate::testing::Step<'_>, per_s: f64, irq: f64| {
                step.cpu(0, [5.0, 5.0, 0.0]);
                step.cpu(1, [5.0, 5.0, irq]);
                step.interrupt(false, "19 ehci_hcd", 1, per_s);
                step.interrupt(false, "LOC", 0, 90_000.0);
            };
            bench.steps(70, 1.0, |step| quiet(step, 400.0, 1.0));
            bench.steps(8, 1.0, |step| quiet(step, per_s, irq));
            bench
        };
        let bench = run(50_000.0, 30.0);
        let found = bench.only(RuleId::R4);
        assert_eq!(found.subject, "irq 19 ehci_hcd");
        let sentence = &found.sentence;
        assert!(sentence.contains("irq 19 ehci_hcd comes 50,000/s for"), "{sentence}");
        assert!(sentence.contains("usually 400/s; 100 % of it to cpu1, which takes 30 % of it"), "{sentence}");
        // Nothing is felt: a note. Half as many are no storm.
        let unfelt = run(50_000.0, 0.0);
        unfelt.is_silent();
        assert!(unfelt.engine().findings()[0].sentence.contains("was not measured"));
        assert!(run(10_000.0, 30.0).engine().findings().is_empty());
    }
}
