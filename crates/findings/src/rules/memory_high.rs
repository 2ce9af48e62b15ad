//! R6: a control group is at its `memory.high`, and its programs wait for memory although the machine may have room.

use crate::interval_sample::{GroupUse, IntervalSample};
use crate::window::{Window, WindowSlice};
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds, figure, thresholds};
use recording::Label;
use std::collections::BTreeMap;

/// Averages over a window; needs no memory of its own.
pub(crate) struct MemoryHighRule;

/// What it is called as the subject of a finding.
pub(crate) fn subject(path: &Label) -> String {
    format!("memory.high of control group {path}")
}

/// A group over a window.
struct Held<'a> {
    now: &'a GroupUse,
    high_bytes: f64,
    held_per_s: f64,
    some_percent: f64,
    full_percent: Option<f64>,
}

impl Rule for MemoryHighRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.cache;
        let Some(stretch) = window.last(limit.held_for_s) else { return Vec::new() };
        let mut groups: BTreeMap<&Label, Vec<&GroupUse>> = BTreeMap::new();
        for group in stretch.iter().flat_map(|moment: &IntervalSample| &moment.groups) {
            groups.entry(&group.path).or_default().push(group);
        }
        let held = groups.values().filter_map(|rows| over(stretch, rows));
        held.filter(|held| is_held(held, limit)).map(|held| symptom(stretch, &held)).collect()
    }
}

/// Sums of a group's rows, by the time that they cover: the collector may read it more rarely than the rest, and where
/// it has no row nothing happened. `None` where something is not counted.
fn over<'a>(stretch: WindowSlice<'_>, rows: &[&'a GroupUse]) -> Option<Held<'a>> {
    let now = rows.last()?;
    let known: Vec<&&GroupUse> = rows.iter().filter(|group| group.seconds > 0.0).collect();
    let seconds = known.iter().map(|group| group.seconds).sum::<f64>().max(stretch.seconds());
    let sum = |of: fn(&GroupUse) -> Option<f64>| known.iter().map(|group| of(group)).sum::<Option<f64>>();
    Some(Held {
        now,
        high_bytes: now.high_bytes?,
        held_per_s: sum(|group| group.held)? / seconds,
        some_percent: (100.0 * sum(|group| group.some_s)? / seconds).min(100.0),
        full_percent: sum(|group| group.full_s).map(|full_s| (100.0 * full_s / seconds).min(100.0)),
    })
}

fn is_held(held: &Held<'_>, limit: &thresholds::Cache) -> bool {
    // What is above the bound of a group further up is counted here too.
    held.now.memory_bytes >= held.high_bytes * limit.held_at_percent / 100.0
        && held.held_per_s >= limit.held_per_s
        && held.some_percent >= limit.held_wait_percent
}

fn symptom(stretch: WindowSlice<'_>, held: &Held<'_>) -> Symptom {
    let (path, high) = (&held.now.path, figure(Some(held.high_bytes), "B"));
    let full = held.full_percent.map_or(String::new(), |percent| format!(", all of them for {percent:.0} %"));
    Symptom {
        rule: RuleId::R6,
        subject: subject(path),
        severity: FindingSeverity::Finding,
        confidence: RuleConfidence::Certain,
        since_ns: stretch.start_ns(),
        sentence: format!(
            "Control group {path} is held back at its memory.high ({high}) for {{for}}: it was made to free memory {:.0} times/s, and its tasks waited for memory for {:.0} % of the time{full}. It has {}, of which page cache {}; what the machine has free does not help it.",
            held.held_per_s,
            held.some_percent,
            figure(Some(held.now.memory_bytes), "B"),
            figure(Some(held.now.cached_bytes), "B"),
        ),
        evidence: vec![
            FindingEvidence::new("memory.high", held.high_bytes, "B"),
            FindingEvidence::new("memory of the group", held.now.memory_bytes, "B"),
            FindingEvidence::new("page cache of the group", held.now.cached_bytes, "B"),
            FindingEvidence::new("made to free memory", held.held_per_s, "1/s"),
            FindingEvidence::new("a task waited for memory", held.some_percent, "%"),
            FindingEvidence::new("all tasks waited for memory", held.full_percent, "%"),
        ],
        next: "Raise memory.high of the group, or let its programs need less; `iodyno stat cgroup` shows its memory, how often it is held back (high/s) and what its tasks wait for.".to_string(),
        explains: Vec::new(),
        clear_s: None,
    }
}

#[cfg(test)]
mod tests {
    use crate::RuleId;
    use crate::testing::Bench;

    /// A group with a memory.high of 512 MB that has `memory`, is held back so often per second, and waits for so many per cent
    /// of the time; it is looked at every other second.
    fn held(bench: &mut Bench, steps: usize, memory: f64, per_s: f64, wait_percent: f64) {
        for step in 0..steps {
            bench.steps(1, 1.0, |step_now| {
                step_now.memory(2e9, 30e9, 0.0);
                if step % 2 == 0 {
                    step_now.group_at_high("/db", memory, 512e6, [2.0 * per_s, 2.0 * wait_percent]);
                }
            });
        }
    }

    #[test]
    fn a_group_at_its_bound_that_waits() {
        let mut bench = Bench::new();
        held(&mut bench, 13, 511e6, 200.0, 40.0);
        let found = bench.only(RuleId::R6);
        assert_eq!(found.subject, "memory.high of control group /db");
        assert!(
            found.sentence.starts_with("Control group /db is held back at its memory.high (512 MB)"),
            "{}",
            found.sentence
        );
        assert!(found.sentence.contains("made to free memory 200 times/s"), "{}", found.sentence);
        assert!(
            found.sentence.contains("waited for memory for 40 % of the time, all of them for 20 %"),
            "{}",
            found.sentence
        );
        // It gets what it needs, and does nothing for a while.
        bench.steps(25, 1.0, |step| step.memory(2e9, 30e9, 0.0));
        assert!(bench.only(RuleId::R6).end_ns.is_some());
    }

    #[test]
    fn page_cache_that_is_given_up_without_a_wait_is_no_fault() {
        for (memory, per_s, wait_percent) in [(511e6, 200.0, 4.0), (511e6, 0.2, 40.0), (300e6, 200.0, 40.0)] {
            let mut bench = Bench::new();
            held(&mut bench, 20, memory, per_s, wait_percent);
            bench.is_silent();
        }
    }
}
