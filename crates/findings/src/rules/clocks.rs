//! R10: the tick and events disagree about how busy a CPU is.

use crate::window::Window;
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds};

/// Compares two means; needs no memory of its own.
pub(crate) struct ClocksRule;

impl Rule for ClocksRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.clocks;
        let (Some(now), Some(stretch)) = (window.now(), window.last(limit.for_s)) else { return Vec::new() };
        let of = |cpu: &str| {
            let event = stretch.mean(|moment| moment.cpu_event(cpu).map(|one| one.busy))?;
            let tick = stretch.mean(|moment| moment.cpu(cpu).map(|one| one.busy))?;
            let brief = stretch.mean(|moment| moment.cpu_event(cpu).map(|one| one.brief))?;
            let stolen = stretch.mean(|moment| moment.cpu(cpu)?.stolen);
            // What the hypervisor steals from a task is busy by both; from an idle CPU, by the tick only, and rightly. The
            // tick may also find more than there is: what wakes with it is charged whole ticks. What runs across several ticks
            // hides from none of them; a CPU that the hypervisor stops without a word looks like that.
            // Where it is not known how much was stolen, it may be all of that.
            let missed = match stolen {
                _ if event > tick => (event - tick).min(brief),
                Some(stolen) => (event - (tick - stolen)).min(0.0),
                None => 0.0,
            };
            (missed.abs() >= limit.points).then(|| {
                let (severity, words) = if missed > 0.0 {
                    (FindingSeverity::Finding, "what works there sleeps when the tick comes")
                } else {
                    (FindingSeverity::Note, "what works there runs when the tick comes, and is charged the whole tick")
                };
                Symptom {
                    rule: RuleId::R10,
                    subject: format!("cpu{cpu}"),
                    severity,
                    confidence: RuleConfidence::Certain,
                    since_ns: stretch.start_ns(),
                    sentence: format!(
                        "The tick {} {:.0} points of cpu{cpu} for {{for}}: it is {event:.0} % busy, and /proc/stat, on which most tools rest, says {tick:.0} %; {words}.",
                        if missed > 0.0 { "misses" } else { "adds" },
                        missed.abs(),
                    ),
                    evidence: vec![
                        FindingEvidence::new("busy by event", event, "%"),
                        FindingEvidence::new("busy by tick", tick, "%"),
                        FindingEvidence::new("of that stolen by the hypervisor", stolen, "%"),
                        FindingEvidence::new("in interrupts, by event", stretch.mean(|moment| Some(moment.cpu_event(cpu)?.irq)), "%"),
                    ],
                    next: "Do not size by %busy of this machine; `iodyno stat cpu --each --clock both` and `iodyno stat proc --clock both` show what is really used, and by whom.".to_string(),
                    explains: Vec::new(),
                    clear_s: None,
                }
            })
        };
        now.cpu_events.iter().filter_map(|one| of(&one.cpu)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Bench;
    use crate::{FindingSeverity, RuleId};

    /// CPU 1 is busy by so many per cent by tick and by event.
    fn run(tick: f64, event: f64) -> Bench {
        let mut bench = Bench::new();
        bench.steps(14, 1.0, |step| {
            step.cpu(0, [3.0, 1.0, 0.0]);
            step.cpu(1, [tick, 0.0, 0.0]);
            step.cpu_event(0, 4.5, 0.5);
            step.cpu_event(1, event, 1.0);
        });
        bench
    }

    #[test]
    fn what_hides_from_the_tick() {
        // fixtures/tools/hide.c as measured on the development machine.
        let bench = run(0.4, 69.0);
        let found = bench.only(RuleId::R10);
        assert_eq!((found.subject.as_str(), found.severity), ("cpu1", FindingSeverity::Finding));
        assert!(found.sentence.starts_with("The tick misses 69 points of cpu1"), "{}", found.sentence);
    }

    #[test]
    fn small_differences_are_silent_and_too_much_is_a_note() {
        run(50.0, 52.5).is_silent();
        run(80.0, 79.5).is_silent();
        let bench = run(30.0, 20.0);
        let [note] = bench.engine().findings() else { panic!("{:#?}", bench.engine().findings()) };
        assert_eq!((note.rule, note.severity), (RuleId::R10, FindingSeverity::Note));
        assert!(note.sentence.starts_with("The tick adds 10 points"), "{}", note.sentence);
    }

    #[test]
    fn what_the_hypervisor_steals_is_not_the_ticks_fault() {
        // Tick (what is stolen included), of that stolen, event: all in per cent of the CPU.
        let run = |tick: f64, stolen: f64, event: f64| {
            let mut bench = Bench::new();
            bench.steps(14, 1.0, |step| {
                step.cpu_stolen(1, [tick - stolen, 0.0, 0.0], stolen);
                step.cpu_event(1, event, 0.5);
            });
            bench
        };
        // An idle CPU of a shared host; and a task from which it is stolen.
        run(9.4, 6.0, 3.3).is_silent();
        run(40.0, 20.0, 38.0).is_silent();
        let sentence = |tick, stolen, event| run(tick, stolen, event).engine().findings()[0].sentence.clone();
        assert!(sentence(40.0, 20.0, 70.0).starts_with("The tick misses 30 points"));
        assert!(sentence(40.0, 6.0, 20.0).starts_with("The tick adds 14 points"));
    }

    #[test]
    fn unknown_steal_time_is_not_time_that_the_tick_adds() {
        let run = |hypervisor: Option<bool>, (tick, stolen, event): (f64, f64, f64), is_known: bool| {
            let mut bench = Bench::new().of_machine(&serde_json::json!({"cpu": {"hypervisor": hypervisor}}));
            bench.steps(14, 1.0, |step| {
                step.cpu_stolen(1, [tick - stolen, 0.0, 0.0], stolen);
                step.cpu_event(1, event, 0.5);
                if !is_known {
                    step.cpu_steal_unknown(1);
                }
            });
            bench
        };
        let stolen = |bench: &Bench| {
            let all = &bench.engine().findings()[0].evidence;
            all.iter()
                .find(|one| one.name == "of that stolen by the hypervisor")
                .expect("evidence of stolen time")
                .value
        };
        // A CPU that was stopped may look so.
        for hypervisor in [None, Some(true)] {
            run(hypervisor, (40.0, 0.0, 20.0), false).is_silent();
            let missed = run(hypervisor, (40.0, 0.0, 70.0), false);
            assert_eq!(stolen(&missed), None, "not known is not 0");
        }
        assert!(stolen(&run(Some(true), (40.0, 6.0, 20.0), true)).is_some_and(|percent| (percent - 6.0).abs() < 0.01));
        // Without a hypervisor no time can be stolen.
        let adds = run(Some(false), (40.0, 0.0, 20.0), false);
        assert!(adds.engine().findings()[0].sentence.starts_with("The tick adds 20 points"));
        assert_eq!(stolen(&adds), Some(0.0));
        run(Some(false), (40.0, 20.0, 20.0), true).is_silent();
    }

    #[test]
    fn a_cpu_that_was_stopped_hides_nothing() {
        // As seen on a host that takes a CPU for hundreds of milliseconds and does not say so.
        let run = |long: f64| {
            let mut bench = Bench::new();
            bench.steps(14, 1.0, |step| {
                step.cpu(1, [0.5, 0.0, 0.0]);
                step.cpu_event(1, 32.0, 0.2);
                step.cpu_event_long(1, long);
            });
            bench
        };
        run(31.5).is_silent();
        let bench = run(20.0);
        assert!(bench.only(RuleId::R10).sentence.starts_with("The tick misses 12 points"));
    }

    #[test]
    fn without_the_probe_nothing_is_said() {
        let mut bench = Bench::new();
        bench.steps(14, 1.0, |step| step.cpu(1, [0.4, 0.0, 0.0]));
        bench.is_silent();
    }
}
