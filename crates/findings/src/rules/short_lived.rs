//! R9: programs that live too briefly to be seen use the CPUs.

use crate::interval_sample::IntervalSample;
use crate::window::Window;
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds, figure};
use std::collections::BTreeMap;

/// Sums over a window; needs no memory of its own.
pub(crate) struct ShortLivedRule;

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    cpu_s: f64,
    tasks: f64,
    processes: f64,
    lived_s: f64,
}

impl Rule for ShortLivedRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.short_lived;
        let Some(stretch) = window.last(limit.for_s) else { return Vec::new() };
        let busy_s: Option<f64> = stretch.iter().map(busy_s).sum();
        let Some(busy_s) = busy_s.filter(|busy_s| *busy_s * 100.0 >= limit.least_percent * stretch.seconds()) else {
            return Vec::new();
        };
        let mut names: BTreeMap<&str, Sum> = BTreeMap::new();
        for row in stretch.iter().flat_map(|moment| moment.exited.iter().flatten()) {
            let sum = names.entry(&row.comm).or_default();
            sum.cpu_s += row.cpu_ns as f64 / 1e9;
            sum.lived_s += row.lived_ns as f64 / 1e9;
            sum.tasks += row.tasks as f64;
            sum.processes += row.processes as f64;
        }
        let all_s: f64 = names.values().map(|sum| sum.cpu_s).sum();
        let per_s = |sum: &Sum| sum.processes.max(1.0).max(sum.tasks - sum.processes) / stretch.seconds();
        // A process that runs now and then, or for long, shows up in any sample: a build is no fault.
        let is_brief = |sum: &Sum| sum.cpu_s * 1e3 <= limit.each_ms * sum.tasks;
        let often = names.iter().filter(|(_, sum)| per_s(sum) >= limit.per_s && is_brief(sum));
        let Some((name, sum)) = often.max_by(|a, b| a.1.cpu_s.total_cmp(&b.1.cpu_s)) else { return Vec::new() };
        if all_s * 100.0 < limit.busy_percent * busy_s || sum.cpu_s * 100.0 < limit.one_name_percent * all_s {
            return Vec::new();
        }
        let per_s = per_s(sum);
        let share = (100.0 * sum.cpu_s / busy_s).min(100.0);
        vec![Symptom {
            rule: RuleId::R9,
            subject: (*name).to_string(),
            severity: FindingSeverity::Finding,
            confidence: RuleConfidence::Certain,
            since_ns: stretch.start_ns(),
            sentence: format!(
                "{per_s:.0} runs/s of {name} use {share:.0} % of the CPU time that is used, for {{for}}; each lives {} and is in no list of processes.",
                figure(Some(sum.lived_s / sum.tasks * 1e9), "ns"),
            ),
            evidence: vec![
                FindingEvidence::new(format!("runs of {name}"), per_s, "1/s"),
                FindingEvidence::new("their CPU time", 100.0 * sum.cpu_s / stretch.seconds(), "% of one CPU"),
                FindingEvidence::new("CPU time of each", sum.cpu_s / sum.tasks * 1e9, "ns"),
                FindingEvidence::new(
                    "CPU time of all short-lived tasks",
                    100.0 * all_s / stretch.seconds(),
                    "% of one CPU",
                ),
                FindingEvidence::new("CPU time of everything", 100.0 * busy_s / stretch.seconds(), "% of one CPU"),
            ],
            next: format!(
                "Find who starts {name} (`perf trace -e sched:sched_process_exec`, or its parent in cron, a monitoring agent, a script), and let one process do the work of many."
            ),
            explains: Vec::new(),
            clear_s: None,
        }]
    }
}

/// CPU seconds that were used in a moment; `None` where they were not recorded.
fn busy_s(moment: &IntervalSample) -> Option<f64> {
    let cpus = moment.cpus.len().max(1) as f64;
    moment.all.as_ref().map(|all| all.busy / 100.0 * cpus * moment.seconds)
}

#[cfg(test)]
mod tests {
    use crate::RuleId;
    use crate::testing::Bench;

    /// `runs` per second that use `cpu_ms` each, on 4 CPUs that are busy by so many per cent.
    fn run(runs: i64, cpu_ms: f64, busy: f64) -> Bench {
        let mut bench = Bench::new();
        bench.steps(14, 1.0, |step| {
            (0..4).for_each(|cpu| step.cpu(cpu, [busy, 0.0, 0.0]));
            step.exited("ldapsearch", runs, cpu_ms);
            step.exited("sh", runs / 4, 1.0);
        });
        bench
    }

    #[test]
    fn forty_one_ldapsearch_a_second() {
        // The source's page: 612 ms of CPU per second in 41 runs.
        let bench = run(41, 14.9, 40.0);
        let found = bench.only(RuleId::R9);
        assert_eq!(found.subject, "ldapsearch");
        assert!(
            found.sentence.starts_with("41 runs/s of ldapsearch use 38 % of the CPU time that is used"),
            "{}",
            found.sentence
        );
    }

    #[test]
    fn half_of_it_and_a_few_long_ones_are_silent() {
        run(20, 14.9, 40.0).is_silent();
        // A build on this project's own machine: four compilers a second, 400 ms each.
        run(4, 400.0, 50.0).is_silent();
        run(41, 0.5, 0.9).is_silent();
    }
}
