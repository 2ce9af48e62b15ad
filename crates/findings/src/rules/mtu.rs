//! R11: frames are small although the link takes large ones, and a CPU is busy with them.

use crate::window::Window;
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds};
use rates::is_loopback;

/// Averages over a window; needs no memory of its own.
pub(crate) struct MtuRule;

impl Rule for MtuRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.frames;
        let (Some(stretch), Some(now)) = (window.last(limit.for_s), window.now()) else { return Vec::new() };
        // What handlers say themselves goes before what the tick found.
        let softirq = |cpu: &str| {
            let by_event = stretch.mean(|moment| moment.cpu_event(cpu).map(|one| one.irq));
            by_event.or_else(|| stretch.mean(|moment| moment.cpu(cpu).map(|cpu| cpu.irq)))
        };
        let busiest = now
            .cpus
            .iter()
            .filter_map(|cpu| Some((cpu.cpu.as_str(), softirq(&cpu.cpu)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((cpu, percent)) = busiest.filter(|(_, percent)| *percent >= limit.softirq_percent) else {
            return Vec::new();
        };
        let jumbo = now.links.iter().filter(|link| link.mtu_bytes.is_some_and(|mtu| mtu >= limit.jumbo_mtu_bytes));
        jumbo
            .filter(|link| !is_loopback(&link.interface))
            .filter_map(|link| {
                let of = |value: &dyn Fn(&crate::interval_sample::LinkUse) -> Option<f64>| {
                    stretch.mean(|moment| value(moment.link(&link.interface)?))
                };
                let bytes = of(&|link| Some(link.bytes_per_s.iter().sum()))?;
                let packets = of(&|link| link.packets_per_s.iter().copied().sum())?;
                let frame = bytes / packets;
                // A link that hardly carries anything is not what the CPU is busy with.
                (packets >= 1000.0 && frame < limit.frame_bytes).then(|| {
                    let mtu = link.mtu_bytes.unwrap_or(f64::NAN);
                    Symptom {
                        rule: RuleId::R11,
                        subject: link.interface.clone(),
                        severity: FindingSeverity::Finding,
                        confidence: RuleConfidence::Likely,
                        since_ns: stretch.start_ns(),
                        sentence: format!(
                            "{} takes frames of {mtu:.0} B but they are {frame:.0} B on average for {{for}}, and cpu{cpu} is spending {percent:.0} % in soft interrupts on them.",
                            link.interface
                        ),
                        evidence: vec![
                            FindingEvidence::new("mean frame", frame, "B"),
                            FindingEvidence::new("largest frame (MTU)", mtu, "B"),
                            FindingEvidence::new("packets, both directions", packets, "1/s"),
                            FindingEvidence::new("interrupts and soft interrupts", percent, "%"),
                        ],
                        next: "Find who sends small frames: a peer or switch with a smaller MTU (`ip route get`, ping -M do -s 8972), or a program that writes little at a time.".to_string(),
                        explains: Vec::new(),
                        clear_s: None,
                    }
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::RuleId;
    use crate::testing::{Bench, LinkStep};

    fn run(frame: f64, mtu: i64, irq: f64) -> Bench {
        let mut bench = Bench::new();
        bench.steps(14, 1.0, |step| {
            step.cpu(0, [1.0, 1.0, 0.0]);
            step.cpu(1, [1.0, 1.0, irq]);
            let packets = 80_000.0;
            let received =
                LinkStep { rx_bytes_per_s: packets * frame, rx_packets_per_s: packets, ..LinkStep::default() };
            let row = step.link("eth2", received);
            (row.mtu_bytes, row.speed_bits_per_s) = (Some(mtu), Some(100_000_000_000));
        });
        bench
    }

    #[test]
    fn small_frames_on_a_jumbo_link() {
        let bench = run(1500.0, 9000, 80.0);
        let found = bench.found(RuleId::R11);
        assert!(
            found[0].sentence.contains("eth2 takes frames of 9000 B but they are 1500 B on average"),
            "{}",
            found[0].sentence
        );
        // The CPU that is busy with interrupts is a finding as well, as the cause.
        assert!(found[0].explained_by.is_some());
        assert_eq!(bench.only(RuleId::R4).subject, "cpu1");
    }

    #[test]
    fn large_frames_small_links_and_half_the_load_are_silent() {
        for bench in [run(8900.0, 9000, 80.0), run(1500.0, 1500, 80.0), run(1500.0, 9000, 40.0)] {
            assert!(bench.found(RuleId::R11).is_empty());
        }
    }
}
