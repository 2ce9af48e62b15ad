//! R1: one thread uses a whole CPU while the system looks idle.

use crate::interval_sample::IntervalSample;
use crate::window::{Window, WindowSlice};
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds};
use std::collections::{BTreeMap, HashSet};

/// Most threads that are named at once; further ones are counted in the evidence.
const NAMED: usize = 3;

/// Events and ticks differ by so much of a CPU before it is said.
const HIDES: f64 = 5.0;

/// Averages over a window; needs no memory of its own.
pub(crate) struct SingleThreadBoundRule;

/// What one process or thread used over a window, per cent of one CPU.
#[derive(Clone, Debug, Default)]
struct Owner {
    name: String,
    threads: Option<i64>,
    user: f64,
    system: f64,
    /// What it ran by event, where that is known: the tick may miss it.
    event: Option<f64>,
}

impl Owner {
    fn tick(&self) -> f64 {
        self.user + self.system
    }

    fn busy(&self) -> f64 {
        self.event.unwrap_or_else(|| self.tick())
    }

    /// "98 % user, 2 % kernel"; only the tick tells them apart, as far as it sees anything.
    fn parts(&self) -> String {
        match self.event {
            Some(event) if (event - self.tick()).abs() >= HIDES => {
                format!("by event; the tick saw {:.0} % of it", self.tick())
            }
            _ => format!("{:.0} % user, {:.0} % kernel", self.user, self.system),
        }
    }
}

impl Rule for SingleThreadBoundRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.one_cpu;
        let Some(cpus) = window.now().map(|now| now.cpus.len()).filter(|cpus| *cpus >= 2) else { return Vec::new() };
        let Some(stretch) = window.last(limit.for_s.max(limit.for_cpu_s / cpus as f64)) else { return Vec::new() };
        // Events say what the tick may miss.
        let by_event = stretch.mean(|moment| all_by_event(moment, cpus));
        let by_tick = || stretch.mean(|moment| Some(moment.all.as_ref()?.busy));
        let Some(all) = by_event.or_else(by_tick) else { return Vec::new() };
        let Some((cpu, busiest)) = busiest(stretch) else { return Vec::new() };
        let count = cpus as f64;
        let rest = (all * count - busiest.busy.min(100.0)).max(0.0) / (count - 1.0);
        if all > limit.system_percent.max(200.0 / count) || rest > limit.rest_percent {
            return Vec::new();
        }
        let seen = Seen { stretch, cpus, all, rest, cpu, busiest };
        let Some(owners) = owners(stretch) else {
            // Without processes only the CPU can be named; time in the kernel is another rule's.
            let is_user = seen.busiest.busy >= limit.busy_percent && seen.busiest.user >= limit.owner_percent;
            return if is_user { vec![nameless(&seen)] } else { Vec::new() };
        };
        let is_cpu_full = seen.busiest.busy >= limit.busy_percent;
        let share = if is_cpu_full { limit.owner_percent } else { limit.thread_percent - limit.tick_margin_percent };
        let mut found: Vec<&Owner> = owners.values().filter(|owner| is_one_thread(owner, share)).collect();
        found.sort_by(|a, b| b.busy().total_cmp(&a.busy()));
        let more = found.len().saturating_sub(NAMED);
        found.into_iter().take(NAMED).map(|owner| symptom(&seen, owner, is_cpu_full, more)).collect()
    }
}

/// A process of several threads is one thread's work only as far as it uses no more than one CPU.
fn is_one_thread(owner: &Owner, share: f64) -> bool {
    owner.busy() >= share && (owner.threads == Some(1) || owner.busy() <= 105.0)
}

struct Seen<'a> {
    stretch: WindowSlice<'a>,
    cpus: usize,
    all: f64,
    rest: f64,
    cpu: String,
    busiest: Busiest,
}

impl Seen<'_> {
    /// How many CPUs there are; of a tool that printed some of them only, those.
    fn cpus_words(&self) -> String {
        let now = self.stretch.iter().next_back();
        let highest = now.into_iter().flat_map(|now| &now.cpus).filter_map(|cpu| cpu.cpu.parse::<usize>().ok()).max();
        if highest.is_some_and(|highest| highest >= self.cpus) {
            return format!("the {} recorded (the machine has more)", self.cpus);
        }
        self.cpus.to_string()
    }
}

#[derive(Clone, Copy, Debug)]
struct Busiest {
    busy: f64,
    user: f64,
    system: f64,
}

/// How busy all CPUs are together by event, where each of them tells.
fn all_by_event(moment: &IntervalSample, cpus: usize) -> Option<f64> {
    let sum: f64 = moment.cpu_events.iter().map(|cpu| cpu.busy).sum();
    (moment.cpu_events.len() == cpus).then(|| sum / cpus as f64)
}

/// The CPU that was busiest over the stretch.
fn busiest(stretch: WindowSlice<'_>) -> Option<(String, Busiest)> {
    let now = stretch.iter().next_back()?;
    now.cpus
        .iter()
        .filter_map(|one| {
            let of = |value: fn(&crate::interval_sample::CpuUse) -> f64| {
                stretch.mean(|moment| moment.cpu(&one.cpu).map(value))
            };
            let by_event = stretch.mean(|moment| moment.cpu_event(&one.cpu).map(|cpu| cpu.busy));
            let busy = by_event.or_else(|| of(|cpu| cpu.busy))?;
            let mean = Busiest { busy, user: of(|cpu| cpu.user)?, system: of(|cpu| cpu.system)? };
            Some((one.cpu.clone(), mean))
        })
        .max_by(|(_, a), (_, b)| a.busy.total_cmp(&b.busy))
}

/// What processes used over the stretch, and of those whose threads are known, each thread; `None` when processes were not
/// recorded.
fn owners(stretch: WindowSlice<'_>) -> Option<BTreeMap<(i64, i64), Owner>> {
    let seconds = stretch.seconds();
    let mut owners: BTreeMap<(i64, i64), Owner> = BTreeMap::new();
    let of_threads: HashSet<i64> = stretch.iter().flat_map(|moment| &moment.threads).map(|thread| thread.pid).collect();
    for moment in stretch.iter() {
        let part = moment.seconds / seconds;
        if moment.processes.is_none() && moment.runs.is_none() {
            return None;
        }
        for task in moment.processes.iter().flatten() {
            if of_threads.contains(&task.pid) {
                continue;
            }
            let owner = owners.entry((task.pid, task.start_ns.unwrap_or(0))).or_default();
            owner.name = format!("{}[{}]", task.comm, task.pid);
            owner.threads = owner.threads.max(task.threads);
            owner.user += task.user * part;
            owner.system += task.system * part;
        }
        for thread in &moment.threads {
            // Threads stand beside processes under numbers that no process has.
            let owner = owners.entry((thread.pid, -thread.tid)).or_default();
            owner.name = format!("{}[{}/{}]", thread.comm, thread.pid, thread.tid);
            owner.threads = Some(1);
            owner.user += thread.user * part;
            owner.system += thread.system * part;
        }
    }
    by_event(stretch, &mut owners);
    Some(owners)
}

/// Adds what each process ran by event to what the tick found. Only the tick distinguishes threads: they stay where it
/// sees most of what their process ran.
fn by_event(stretch: WindowSlice<'_>, owners: &mut BTreeMap<(i64, i64), Owner>) {
    if !stretch.iter().all(|moment| moment.runs.is_some()) {
        return;
    }
    let mut runs: BTreeMap<i64, (&str, f64)> = BTreeMap::new();
    for run in stretch.iter().flat_map(|moment| moment.runs.iter().flatten()) {
        runs.entry(run.pid).or_insert((&run.comm, 0.0)).1 += 100.0 * run.run_s / stretch.seconds();
    }
    for (pid, (comm, percent)) in runs {
        let of_threads: f64 = owners.range((pid, i64::MIN)..(pid, 0)).map(|(_, owner)| owner.tick()).sum();
        if of_threads > 0.5 * percent {
            continue;
        }
        let last = owners.range_mut((pid, 0)..=(pid, i64::MAX)).next_back();
        match last {
            Some((_, owner)) => owner.event = Some(percent),
            None => {
                let name = format!("{comm}[{pid}]");
                owners.insert((pid, 0), Owner { name, event: Some(percent), ..Owner::default() });
            }
        }
    }
}

fn symptom(seen: &Seen<'_>, owner: &Owner, is_cpu_full: bool, more: usize) -> Symptom {
    let Seen { cpus, all, .. } = seen;
    let share = 100.0 / *cpus as f64;
    let place = if is_cpu_full { format!("cpu{}", seen.cpu) } else { "one CPU, moving between them".to_string() };
    let (who, confidence) = match owner.threads {
        Some(1) => (format!("One thread of {}", owner.name), RuleConfidence::Certain),
        Some(threads) => (format!("One of the {threads} threads of {}", owner.name), RuleConfidence::Likely),
        None => (format!("One thread of {}", owner.name), RuleConfidence::Likely),
    };
    let mut evidence = vec![
        FindingEvidence::new(format!("CPU of {}", owner.name), owner.busy(), "%"),
        FindingEvidence::new(
            if owner.event.is_some() { "in user mode, by tick" } else { "of that user mode" },
            owner.user,
            "%",
        ),
        FindingEvidence::new(
            if owner.event.is_some() { "in the kernel, by tick" } else { "of that kernel" },
            owner.system,
            "%",
        ),
        FindingEvidence::new("threads", owner.threads.map(|threads| threads as f64), ""),
    ];
    evidence.extend(common(seen));
    if more > 0 {
        evidence.push(FindingEvidence::new("further threads like this", more as f64, ""));
    }
    Symptom {
        rule: RuleId::R1,
        subject: owner.name.clone(),
        severity: FindingSeverity::Finding,
        confidence,
        since_ns: seen.stretch.start_ns(),
        sentence: format!(
            "{who} is using a whole CPU ({:.0} % of {place}, {}) for {{for}}; the system shows only {all:.1} % because one CPU is {share:.1} % of {}. Throughput of this process is limited by a single thread.",
            owner.busy(),
            owner.parts(),
            seen.cpus_words(),
        ),
        evidence,
        next: "Look at where that thread spends its time (perf top -t TID, or the program's own profile); more CPUs do not help it, a faster one does, or a program that divides this work.".to_string(),
        explains: Vec::new(),
        clear_s: None,
    }
}

fn nameless(seen: &Seen<'_>) -> Symptom {
    let Seen { cpus, all, cpu, busiest, .. } = seen;
    Symptom {
        rule: RuleId::R1,
        subject: format!("cpu{cpu}"),
        severity: FindingSeverity::Finding,
        confidence: RuleConfidence::Likely,
        since_ns: seen.stretch.start_ns(),
        sentence: format!(
            "cpu{cpu} is saturated ({:.0} %: {:.0} % user, {:.0} % kernel) for {{for}}; the system shows only {all:.1} % because one CPU is {:.1} % of {}. The recording does not name the process; a single thread limits it.",
            busiest.busy,
            busiest.user,
            busiest.system,
            100.0 / *cpus as f64,
            seen.cpus_words(),
        ),
        evidence: common(seen),
        next: "Record processes as well (`iodyno record`), or look with `iodyno stat proc`.".to_string(),
        explains: Vec::new(),
        clear_s: None,
    }
}

fn common(seen: &Seen<'_>) -> Vec<FindingEvidence> {
    vec![
        FindingEvidence::new(format!("busy, cpu{}", seen.cpu), seen.busiest.busy, "%"),
        FindingEvidence::new("busy, all CPUs", seen.all, "%"),
        FindingEvidence::new("busy, the other CPUs", seen.rest, "%"),
        FindingEvidence::new("CPUs", seen.cpus as f64, ""),
    ]
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, RunStep, Step};
    use crate::{RuleConfidence, RuleId};

    /// `mpstat` on a T5440 with 256 CPUs: what it showed of CPUs 0, 32 and 48, three samples.
    const T5440: [[[f64; 2]; 3]; 3] = [
        [[1.0, 1.0], [0.0, 8.0], [100.0, 0.0]],
        [[0.0, 1.0], [0.0, 14.0], [100.0, 0.0]],
        [[0.0, 1.0], [0.0, 14.0], [100.0, 0.0]],
    ];

    fn t5440(step: &mut Step<'_>, sample: usize, busy: f64) {
        for cpu in 0..256 {
            let at = [0, 32, 48].iter().position(|shown| *shown == cpu);
            let [user, system] = at.map_or([0.0, 0.0], |at| T5440[sample][at]);
            step.cpu(cpu, [user.min(busy), system, 0.0]);
        }
    }

    #[test]
    fn one_of_256_cpus() {
        let mut bench = Bench::new();
        for sample in 0..3 {
            bench.steps(1, 5.0, |step| t5440(step, sample, 100.0));
        }
        let found = bench.only(RuleId::R1);
        assert_eq!((found.subject.as_str(), found.confidence), ("cpu48", RuleConfidence::Likely));
        assert!(
            found.sentence.contains("the system shows only 0.4 % because one CPU is 0.4 % of 256"),
            "{}",
            found.sentence
        );
    }

    #[test]
    fn half_of_it_is_silent() {
        let mut bench = Bench::new();
        for sample in [0, 1, 2, 2, 2, 2] {
            bench.steps(1, 5.0, |step| t5440(step, sample, 50.0));
        }
        bench.is_silent();
    }

    #[test]
    fn who_it_is_and_how_long() {
        let mut bench = Bench::new();
        bench.steps(62, 1.0, |step| {
            t5440(step, 0, 100.0);
            step.process(4711, "gzip", 1, [99.5, 0.3]);
            step.process(1, "init", 1, [0.1, 0.1]);
        });
        let found = bench.only(RuleId::R1);
        assert_eq!((found.subject.as_str(), found.confidence), ("gzip[4711]", RuleConfidence::Certain));
        assert!(
            found.sentence.starts_with("One thread of gzip[4711] is using a whole CPU (100 % of cpu48, 100 % user, 0 % kernel) for 1 min 2 s; the system shows only 0.4 %"),
            "{}",
            found.sentence
        );
        // With the cause gone, it closes after ten seconds, and tells when it had last held.
        let end_s = bench.now_s();
        bench.steps(9, 1.0, |step| t5440(step, 0, 5.0));
        assert!(bench.only(RuleId::R1).end_ns.is_none());
        bench.steps(3, 1.0, |step| t5440(step, 0, 5.0));
        let ended_s = bench.only(RuleId::R1).end_ns.unwrap() as f64 / 1e9;
        assert!((ended_s - end_s).abs() < 1.5, "{ended_s} instead of {end_s}");
    }

    #[test]
    fn a_thread_that_the_scheduler_moves() {
        let mut bench = Bench::new();
        for turn in 0..24 {
            bench.steps(1, 1.0, |step| {
                for cpu in 0..8 {
                    step.cpu(cpu, if turn % 8 == cpu { [96.0, 0.0, 0.0] } else { [2.0, 0.0, 0.0] });
                }
                step.process(7, "spin", 1, [96.0, 0.0]);
            });
        }
        assert!(bench.only(RuleId::R1).sentence.contains("moving between them"));
    }

    #[test]
    fn threads_of_one_process_stay_apart() {
        let run = |second: f64| {
            let mut bench = Bench::new();
            bench.steps(12, 1.0, |step| {
                (0..64).for_each(|cpu| step.cpu(cpu, [if cpu < 2 { 99.0 } else { 1.0 }, 0.0, 0.0]));
                step.process(50, "java", 80, [99.0 + second + 60.0, 0.0]);
                step.thread(50, 51, "C2 Compiler", 99.0);
                step.thread(50, 52, "GC Thread", second);
                (60..70).for_each(|tid| step.thread(50, tid, "worker", 6.0));
            });
            bench
        };
        let bench = run(99.0);
        let mut subjects: Vec<&str> = bench.found(RuleId::R1).iter().map(|found| found.subject.as_str()).collect();
        subjects.sort_unstable();
        assert_eq!(subjects, ["C2 Compiler[50/51]", "GC Thread[50/52]"]);
        let bench = run(40.0);
        assert!(bench.only(RuleId::R1).sentence.starts_with("One thread of C2 Compiler[50/51] is using a whole CPU"));
        // Many threads that each do a little are no single thread, whatever they use together.
        let mut many = Bench::new();
        many.steps(12, 1.0, |step| {
            (0..64).for_each(|cpu| step.cpu(cpu, [if cpu == 0 { 96.0 } else { 1.0 }, 0.0, 0.0]));
            step.process(50, "java", 80, [100.0, 0.0]);
            (60..70).for_each(|tid| step.thread(50, tid, "worker", 10.0));
        });
        many.is_silent();
    }

    #[test]
    fn what_hides_from_the_tick_is_seen_by_event() {
        let run = |event: f64| {
            let mut bench = Bench::new();
            bench.steps(14, 1.0, |step| {
                for cpu in 0..4 {
                    step.cpu(cpu, [1.0, 0.0, 0.0]);
                    step.cpu_event(cpu, if cpu == 1 { event } else { 2.0 }, 0.1);
                }
                step.process(77, "hide", 1, [0.4, 0.0]);
                step.run(77, "hide", RunStep { run: event - 0.5, wait: 0.0, switches: 250.0, preemptions: 0.0 });
            });
            bench
        };
        let bench = run(99.0);
        let found = bench.found(RuleId::R1);
        assert_eq!(found.len(), 1, "{:#?}", bench.engine().findings());
        let words = "One thread of hide[77] is using a whole CPU (98 % of cpu1, by event; the tick saw 0 % of it) for 14 s; the system shows only 26.2 %";
        assert!(found[0].sentence.starts_with(words), "{}", found[0].sentence);
        assert!(run(49.0).found(RuleId::R1).is_empty());
    }

    #[test]
    fn machines_that_are_busy_all_over_are_silent() {
        // `mpstat -a` of four CPUs.
        let mut four = Bench::new();
        four.steps(30, 5.0, |step| (0..4).for_each(|cpu| step.cpu(cpu, [39.25, 35.75, 0.0])));
        four.is_silent();
        // A build on two CPUs: compilers come and go, both CPUs are busy; then a linker alone for eight seconds.
        let mut build = Bench::new();
        for second in 0..60 {
            build.steps(1, 1.0, |step| {
                let both = second % 30 < 22;
                step.cpu(0, [95.0, 4.0, 0.0]);
                step.cpu(1, if both { [94.0, 5.0, 0.0] } else { [3.0, 1.0, 0.0] });
                step.process(100 + second / 30, "rustc", 3, [if both { 180.0 } else { 98.0 }, 5.0]);
            });
        }
        build.is_silent();
    }

    #[test]
    fn lost_samples_begin_anew() {
        let mut bench = Bench::new();
        bench.steps(9, 1.0, |step| t5440(step, 0, 100.0));
        bench.steps(1, 5.0, |step| t5440(step, 0, 100.0));
        bench.steps(8, 1.0, |step| t5440(step, 0, 100.0));
        bench.is_silent();
        assert_eq!(bench.engine().gaps(), 1);
        // As the collector says it.
        bench.steps(1, 1.0, |step| step.event("gap", "3 samples were due while the collector could not run"));
        bench.steps(9, 1.0, |step| t5440(step, 0, 100.0));
        bench.is_silent();
        assert_eq!(bench.engine().gaps(), 2);
        bench.steps(2, 1.0, |step| t5440(step, 0, 100.0));
        bench.only(RuleId::R1);
    }
}
