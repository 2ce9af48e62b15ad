//! R8: work that another process preempts or that waits behind it, or whose CPU time interrupts take.

use crate::interval_sample::IntervalSample;
use crate::window::{Window, WindowSlice};
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds, figure, thresholds};
use std::collections::BTreeMap;

/// Sums over a window; needs no memory of its own.
pub(crate) struct PreemptedRule;

/// A process over a stretch: seconds, and how often.
#[derive(Clone, Debug, Default)]
struct Sum {
    comm: String,
    is_kernel: bool,
    run_s: f64,
    wait_s: f64,
    switches: f64,
    preemptions: f64,
}

impl Sum {
    fn active_s(&self) -> f64 {
        self.run_s + self.wait_s
    }

    /// No user waits for these processes as such: threads of the kernel work for others, whose own waits are the
    /// findings; and iodyno's own load waits for what it makes the machine do, and reports its own lateness.
    fn is_no_subject(&self) -> bool {
        self.is_kernel || self.comm.starts_with("iodyno")
    }
}

impl Rule for PreemptedRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.preempted;
        let Some(stretch) = window.last(limit.for_s) else { return Vec::new() };
        let mut sums: BTreeMap<i64, Sum> = BTreeMap::new();
        for moment in stretch.iter() {
            // Where one moment does not know, the sums would be too small.
            let Some(runs) = &moment.runs else { return Vec::new() };
            let stopped_s = moment.stopped_s();
            for run in runs {
                let sum = sums.entry(run.pid).or_default();
                sum.comm.clone_from(&run.comm);
                sum.is_kernel |= run.is_kernel;
                sum.run_s += run.run_s;
                sum.wait_s += (run.wait_s - stopped_s).max(0.0);
                sum.switches += run.switches;
                sum.preemptions += run.preemptions;
            }
        }
        let mut found = Vec::new();
        for (pid, sum) in sums {
            // What hardly works has nothing to lose.
            if sum.is_no_subject() || 100.0 * sum.active_s() < limit.least_percent * stretch.seconds() {
                continue;
            }
            found.extend(preempted(stretch, pid, &sum, limit).or_else(|| robbed(stretch, pid, &sum, limit)));
        }
        found
    }
}

/// What another process costs.
#[derive(Clone, Copy, Debug, Default)]
struct Waits<'a> {
    pid: i64,
    comm: &'a str,
    /// How often it preempted the subject.
    count: f64,
    preempted_s: f64,
    /// It ran, and ran on, when this one woke.
    behind: f64,
    behind_s: f64,
}

impl Waits<'_> {
    fn wait_s(&self) -> f64 {
        self.preempted_s + self.behind_s
    }

    /// Whichever costs more, in words.
    fn words(&self, seconds: f64) -> String {
        let per_s = |count: f64| figure(Some((count / seconds).round()), "");
        let Self { pid, comm, .. } = self;
        if self.preempted_s >= self.behind_s {
            return format!("{comm}[{pid}] preempts it {}/s", per_s(self.count));
        }
        format!("{}/s it wakes and stands behind {comm}[{pid}], which runs on first", per_s(self.behind))
    }

    /// Both, where there are both.
    fn evidence(&self, seconds: f64) -> Vec<FindingEvidence> {
        let of = |what: &str, count: f64, wait_s: f64| {
            let who = format!("{what} {}[{}]", self.comm, self.pid);
            let waits = FindingEvidence::new(format!("waits {who}"), 100.0 * wait_s / seconds, "% of one CPU");
            vec![FindingEvidence::new(who, count / seconds, "1/s"), waits]
        };
        let preempted = (self.count > 0.0).then(|| of("preempted by", self.count, self.preempted_s));
        let behind = (self.behind > 0.0).then(|| of("behind", self.behind, self.behind_s));
        preempted.into_iter().chain(behind).flatten().collect()
    }
}

/// The process that most of the waiting is because of.
fn dearest(stretch: WindowSlice<'_>, pid: i64, has_idle: bool) -> Option<Waits<'_>> {
    let mut by: BTreeMap<i64, Waits<'_>> = BTreeMap::new();
    let all = stretch.iter().flat_map(|moment| moment.preempted.iter().map(|one| (moment.stopped_s(), one)));
    for (stopped_s, one) in all.filter(|(_, one)| one.pid == pid) {
        // Threads of one process that take turns do its own work; on one CPU, while others are idle, they are held up.
        if one.by_pid == pid && !has_idle {
            continue;
        }
        let waits = by.entry(one.by_pid).or_default();
        (waits.pid, waits.comm) = (one.by_pid, &one.by_comm);
        let whole_s = one.wait_s + one.behind_s;
        let part = if stopped_s > 0.0 { ((whole_s - stopped_s) / whole_s).max(0.0) } else { 1.0 };
        waits.count += one.count;
        waits.preempted_s += one.wait_s * part;
        // One that wakes another and then sleeps hands its work on.
        if one.by_pid != pid {
            waits.behind += one.behind;
            waits.behind_s += one.behind_s * part;
        }
    }
    by.into_values().max_by(|a, b| a.wait_s().total_cmp(&b.wait_s()))
}

/// It waits for a CPU, and one other process is why.
fn preempted(stretch: WindowSlice<'_>, pid: i64, sum: &Sum, limit: &thresholds::Preempted) -> Option<Symptom> {
    let waits = 100.0 * sum.wait_s / sum.active_s();
    if waits < limit.wait_percent {
        return None;
    }
    // Programs that only compute and share full CPUs fairly are a machine at work, as in a build. What answers requests, or
    // waits although there is an idle CPU, suffers.
    let has_idle =
        idle_percent(stretch)? >= limit.idle_percent && beside_idle_percent(stretch, pid)? >= limit.idle_percent;
    let answers = sum.switches >= sum.preemptions;
    if !has_idle && !answers {
        return None;
    }
    let by = dearest(stretch, pid, has_idle)?;
    // So are the workers of one server, two builds at once, and whatever takes turns of many milliseconds with another: a
    // linker sleeps as often as a server, and waits for a compiler a few times a second.
    let is_seldom = by.count + by.behind < limit.waits_per_s * stretch.seconds();
    if !has_idle && (by.comm == sum.comm || is_seldom) {
        return None;
    }
    let share = 100.0 * by.wait_s() / sum.wait_s.max(by.wait_s());
    if by.wait_s() <= 0.0 || share < limit.one_percent {
        return None;
    }
    let idle =
        if has_idle { " Other CPUs are idle meanwhile: it is bound to this one, or not moved in time." } else { "" };
    let seconds = stretch.seconds();
    let mut evidence = vec![
        FindingEvidence::new("it runs", 100.0 * sum.run_s / seconds, "% of one CPU"),
        FindingEvidence::new("it is ready and waits", 100.0 * sum.wait_s / seconds, "% of one CPU"),
    ];
    evidence.extend(by.evidence(seconds));
    Some(Symptom {
        rule: RuleId::R8,
        subject: format!("{}[{pid}]", sum.comm),
        severity: FindingSeverity::Finding,
        confidence: RuleConfidence::Certain,
        since_ns: stretch.start_ns(),
        sentence: format!(
            "{}[{pid}] is ready and waits for a CPU {waits:.0} % of its active time for {{for}}: {}, {share:.0} % of that waiting.{idle}",
            sum.comm,
            by.words(seconds),
        ),
        evidence,
        next: format!(
            "Give {} other CPUs (taskset, cpuset) or a lower priority (nice, SCHED_BATCH), or let {} run on more of them.",
            by.comm, sum.comm
        ),
        explains: Vec::new(),
        clear_s: None,
    })
}

/// Part of one CPU below which interrupts cost no process anything, however little it runs besides.
const FELT: f64 = 0.01;

/// Interrupts take a part of its run time.
fn robbed(stretch: WindowSlice<'_>, pid: i64, sum: &Sum, limit: &thresholds::Preempted) -> Option<Symptom> {
    let mut by: BTreeMap<&str, f64> = BTreeMap::new();
    for moment in stretch.iter() {
        for one in moment.stolen.as_ref()?.iter().filter(|one| one.pid == pid) {
            *by.entry(&one.vector).or_default() += one.stolen_s;
        }
    }
    let stolen_s: f64 = by.values().sum();
    let share = 100.0 * stolen_s / sum.run_s.max(stolen_s);
    if stolen_s < FELT * stretch.seconds() || share < limit.stolen_percent {
        return None;
    }
    let (vector, most_s) = by.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Symptom {
        rule: RuleId::R8,
        subject: format!("{}[{pid}]", sum.comm),
        severity: FindingSeverity::Finding,
        confidence: RuleConfidence::Certain,
        since_ns: stretch.start_ns(),
        sentence: format!(
            "Interrupts take {share:.0} % of the CPU time of {}[{pid}] for {{for}}, {} a second; mostly {vector} ({:.0} %). It looks busy with work that is not its own.",
            sum.comm,
            figure(Some(stolen_s / stretch.seconds() * 1e9), "ns"),
            100.0 * most_s / stolen_s,
        ),
        evidence: vec![
            FindingEvidence::new("it runs, interrupts included", 100.0 * sum.run_s / stretch.seconds(), "% of one CPU"),
            FindingEvidence::new("taken by interrupts", 100.0 * stolen_s / stretch.seconds(), "% of one CPU"),
            FindingEvidence::new(format!("by {vector}"), 100.0 * most_s / stretch.seconds(), "% of one CPU"),
        ],
        next: "Keep it off the CPUs that serve that interrupt, or spread the interrupt (irqbalance, RPS); what a program sends over the loopback interface is received in its own time.".to_string(),
        explains: Vec::new(),
        clear_s: None,
    })
}

/// Of all CPUs' time, by event; `None` where a moment does not know.
fn idle_percent(stretch: WindowSlice<'_>) -> Option<f64> {
    let of = |moment: &IntervalSample| {
        let count = moment.cpu_events.len();
        let busy: f64 = moment.cpu_events.iter().map(|cpu| cpu.busy).sum();
        (count > 0).then(|| 100.0 - busy / count as f64)
    };
    stretch.mean(of)
}

/// How much of a process's waiting came at least while some CPU was idle: in each moment all of it that is longer than the
/// idlest CPU was busy. A mean over the stretch would not do: a build fills all CPUs for seconds, and then none. `None` where
/// a moment does not know.
fn beside_idle_percent(stretch: WindowSlice<'_>, pid: i64) -> Option<f64> {
    let (mut wait_s, mut beside_s) = (0.0, 0.0);
    for moment in stretch.iter() {
        let busy = moment.cpu_events.iter().map(|cpu| cpu.busy).min_by(f64::total_cmp)?;
        let waits = moment.runs.iter().flatten().filter(|run| run.pid == pid).map(|run| run.wait_s).sum::<f64>();
        let waits = (waits - moment.stopped_s()).max(0.0);
        wait_s += waits;
        // Threads that wait at once do not wait for longer.
        beside_s += (waits.min(moment.seconds) - busy / 100.0 * moment.seconds).max(0.0);
    }
    Some(if wait_s > 0.0 { 100.0 * beside_s / wait_s } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use crate::RuleId;
    use crate::testing::{Bench, RunStep};

    /// mysqld, which answers requests, beside a program that comes in between; per second.
    fn server(wait_percent: f64, per_s: f64, by_one: f64) -> Bench {
        let mut bench = Bench::new();
        bench.steps(14, 1.0, |step| {
            step.cpu(0, [80.0, 15.0, 0.0]);
            step.cpu_event(0, 96.0, 1.0);
            step.run(4711, "mysqld", RunStep { run: 40.0, wait: wait_percent, switches: 6000.0, preemptions: per_s });
            step.run(815, "sysbench", RunStep { run: 50.0, wait: 1.0, switches: 6000.0, preemptions: 10.0 });
            step.preempted(4711, (815, "sysbench"), per_s * by_one, wait_percent * by_one);
            let rest = (1.0 - by_one) / 2.0;
            (9..11).for_each(|by| step.preempted(4711, (by, "kworker/0:1"), per_s * rest, wait_percent * rest));
        });
        bench
    }

    #[test]
    fn a_server_that_is_preempted_by_one_other() {
        // The source's page: 3,095 preemptions by sysbench; a query takes 127 µs with one and 73 µs without.
        let bench = server(30.0, 3095.0, 0.97);
        let found = bench.only(RuleId::R8);
        assert_eq!(found.subject, "mysqld[4711]");
        assert!(found.sentence.contains("sysbench[815] preempts it 3,002/s"), "{}", found.sentence);
        assert!(found.sentence.contains("waits for a CPU 43 %"), "{}", found.sentence);
        assert!(found.sentence.contains("97 % of that waiting"), "{}", found.sentence);
    }

    /// A program that wakes so often while another one runs, and waits for so long of the time, for a part of it
    /// because of that one; it is hardly ever preempted.
    fn in_step(wait_percent: f64, by_one: f64, by: i64) -> Bench {
        let mut bench = Bench::new();
        bench.steps(14, 1.0, |step| {
            step.cpu(0, [80.0, 15.0, 0.0]);
            step.cpu_event(0, 96.0, 1.0);
            step.run(7, "player", RunStep { run: 30.0, wait: wait_percent, switches: 250.0, preemptions: 2.0 });
            step.run(8, "mixer", RunStep { run: 60.0, wait: 1.0, switches: 250.0, preemptions: 0.0 });
            step.behind(7, (by, "mixer"), 250.0, wait_percent * by_one);
            step.preempted(7, (by, "mixer"), 2.0, 0.4);
            step.preempted(7, (9, "kworker/0:1"), 120.0, 0.1);
        });
        bench
    }

    #[test]
    fn one_that_waits_behind_another_until_that_sleeps() {
        let bench = in_step(20.0, 0.9, 8);
        let found = bench.only(RuleId::R8);
        assert_eq!(found.subject, "player[7]");
        let words = "250/s it wakes and stands behind mixer[8], which runs on first, 92 % of that waiting";
        assert!(found.sentence.contains(words), "{}", found.sentence);
        assert!(!found.sentence.contains("preempts"), "{}", found.sentence);
        let evidence = found.evidence.iter().map(|one| one.name.as_str()).collect::<Vec<_>>();
        assert!(
            evidence.contains(&"preempted by mixer[8]") && evidence.contains(&"waits behind mixer[8]"),
            "{found:?}"
        );
    }

    #[test]
    fn half_of_it_many_others_and_its_own_threads_are_silent() {
        in_step(7.0, 0.9, 8).is_silent();
        in_step(20.0, 0.4, 8).is_silent();
        in_step(20.0, 0.9, 7).is_silent();
    }

    #[test]
    fn threads_of_the_kernel_and_our_own_load_are_no_subjects() {
        // A loop device under 128 reads at once: soft interrupts wait behind workers, workers behind the load, and the load
        // behind workers. All of it is the load's own work.
        let of = |pid: i64, comm: &str, parent: i64| {
            let mut bench = Bench::new();
            bench.steps(14, 1.0, |step| {
                step.cpu(0, [30.0, 65.0, 0.0]);
                step.cpu_event(0, 98.0, 1.0);
                let waits = RunStep { run: 40.0, wait: 45.0, switches: 9000.0, preemptions: 100.0 };
                step.run(pid, comm, waits).parent = parent;
                step.run(815, "other", RunStep { run: 50.0, wait: 1.0, switches: 20_000.0, preemptions: 10.0 });
                step.behind(pid, (815, "other"), 9000.0, 44.0);
            });
            bench
        };
        of(15, "ksoftirqd/0", 2).is_silent();
        of(77, "kworker/0:1H-loop0", 2).is_silent();
        of(4000, "iodyno", 1).is_silent();
        assert_eq!(of(4000, "mysqld", 1).only(RuleId::R8).subject, "mysqld[4000]");
    }

    #[test]
    fn half_of_it_and_many_small_ones_are_silent() {
        server(8.0, 3095.0, 0.97).is_silent();
        server(30.0, 3095.0, 0.4).is_silent();
    }

    /// A program that only computes, preempted by another one, with the other CPU so busy.
    fn computing(other: f64) -> Bench {
        let mut bench = Bench::new();
        bench.steps(14, 1.0, |step| {
            step.cpu(0, [100.0, 0.0, 0.0]);
            step.cpu(1, [other, 0.0, 0.0]);
            step.cpu_event(0, 100.0, 0.5);
            step.cpu_event(1, other, 0.5);
            for (pid, by) in [(1, 2), (2, 1)] {
                step.run(pid, "rustc", RunStep { run: 50.0, wait: 50.0, switches: 2.0, preemptions: 120.0 });
                step.preempted(pid, (by, "rustc"), 110.0, 48.0);
            }
        });
        bench
    }

    #[test]
    fn a_build_is_no_fault_and_two_on_one_cpu_beside_an_idle_one_are() {
        computing(98.0).is_silent();
        let bench = computing(3.0);
        assert_eq!(bench.found(RuleId::R8).len(), 2);
        assert!(bench.found(RuleId::R8)[0].sentence.contains("Other CPUs are idle"));
    }

    #[test]
    fn programs_of_one_name_share_full_cpus() {
        // Measured where two builds ran at once on two CPUs: this compiler sleeps more often than it is preempted.
        let run = |by: &str, per_s: f64| {
            let mut bench = Bench::new();
            bench.steps(14, 1.0, |step| {
                for cpu in 0..2 {
                    step.cpu(cpu, [99.0, 0.0, 0.0]);
                    step.cpu_event(cpu, 99.0, 0.5);
                }
                step.run(1, "rustc", RunStep { run: 43.0, wait: 57.0, switches: 400.0, preemptions: per_s + 2.0 });
                step.run(2, by, RunStep { run: 90.0, wait: 20.0, switches: 5.0, preemptions: 9.0 });
                step.preempted(1, (2, by), per_s, 34.0);
            });
            bench
        };
        run("rustc", 100.0).is_silent();
        assert_eq!(run("stress", 100.0).only(RuleId::R8).subject, "rustc[1]");
        // They take turns, as a linker and a compiler do.
        run("stress", 10.0).is_silent();
    }

    #[test]
    fn a_program_that_fills_all_cpus_and_then_none_waits_beside_no_idle_one() {
        // A linker: its threads take turns on two CPUs for half of the time, and wait for the disk in the other half.
        let mut bench = Bench::new();
        for second in 0..20 {
            let busy = if second % 8 < 4 { 98.0 } else { 20.0 };
            bench.steps(1, 1.0, |step| {
                for cpu in 0..2 {
                    step.cpu(cpu, [busy, 0.0, 0.0]);
                    step.cpu_event(cpu, busy, 0.5);
                }
                let wait = if busy > 50.0 { 110.0 } else { 8.0 };
                step.run(7, "rust-lld", RunStep { run: busy * 2.0, wait, switches: 20.0, preemptions: 60.0 });
                step.preempted(7, (7, "rust-lld"), 50.0, wait * 0.6);
            });
        }
        bench.is_silent();
    }

    #[test]
    fn a_process_on_a_cpu_that_the_hypervisor_stops_is_not_preempted() {
        // Measured on an idle machine whose host takes a CPU for hundreds of milliseconds: the collector stands on it,
        // and a thread of the kernel behind the collector. With the time reported as stolen, and without.
        let run = |stolen: f64, long: f64| {
            let mut bench = Bench::new();
            bench.steps(14, 1.0, |step| {
                step.cpu_stolen(0, [0.5, 0.5, 0.0], stolen);
                step.cpu_event(0, 31.0, 0.5);
                step.cpu_event_long(0, long);
                step.cpu(1, [1.0, 0.0, 0.0]);
                step.cpu_event(1, 1.0, 0.2);
                step.run(18, "migration/0", RunStep { run: 0.1, wait: 29.0, switches: 1.0, preemptions: 0.0 });
                step.behind(18, (29858, "iodyno"), 1.0, 29.0);
            });
            bench
        };
        run(30.0, 30.0).is_silent();
        run(0.0, 30.0).is_silent();
        let bench = run(0.0, 0.0);
        assert_eq!(bench.found(RuleId::R8).len(), 1, "{:#?}", bench.engine().findings());
    }

    #[test]
    fn interrupts_that_take_a_programs_time() {
        let run = |run: f64, stolen: f64| {
            let mut bench = Bench::new();
            bench.steps(14, 1.0, |step| {
                step.cpu(0, [60.0, 10.0, 5.0]);
                step.cpu_event(0, 75.0, 10.0);
                step.run(5, "db", RunStep { run, wait: 1.0, switches: 100.0, preemptions: 3.0 });
                step.stolen(5, "db", "NET_RX", stolen);
            });
            bench
        };
        let bench = run(70.0, 9.0);
        let found = bench.only(RuleId::R8);
        assert!(found.sentence.starts_with("Interrupts take 13 % of the CPU time of db[5]"), "{}", found.sentence);
        assert!(found.sentence.contains("softirq NET_RX (100 %)"), "{}", found.sentence);
        run(70.0, 1.5).is_silent();
        // As large a part, of next to nothing.
        run(4.0, 0.5).is_silent();
    }
}
