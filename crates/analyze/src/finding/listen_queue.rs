//! R2: a listener refuses connections because its accept queue is full.

use super::moment::{Moment, TcpUse};
use super::window::Window;
use super::{Confidence, Evidence, Rule, RuleId, Severity, Symptom, Thresholds};

/// Counts over a window; needs no memory of its own.
pub(crate) struct ListenQueueRule;

impl Rule for ListenQueueRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.listen_queue;
        // Every overflow is a connection refused, so it is counted, not averaged; the window need not be full.
        let moments: Vec<&Moment> = window.within(limit.for_s).collect();
        let refused: Vec<(&Moment, f64)> = moments
            .iter()
            .filter_map(|moment| Some((*moment, refused(moment.tcp.as_ref()?).filter(|count| *count > 0.0)?)))
            .collect();
        let Some((first, _)) = refused.first().filter(|_| refused.len() as f64 >= limit.samples) else {
            return Vec::new();
        };
        let count: f64 = refused.iter().map(|(_, count)| count).sum();
        let seconds: f64 = moments.iter().map(|moment| moment.seconds).sum();
        vec![counted(first.start_ns(), count, refused.len(), seconds)]
    }
}

/// Connections refused; older and other kernels count drops only, which contain them.
fn refused(tcp: &TcpUse) -> Option<f64> {
    tcp.overflows.or(tcp.drops)
}

/// The kernel counts overflows, and of which listener is not known.
fn counted(since_ns: i64, count: f64, samples: usize, seconds: f64) -> Symptom {
    Symptom {
        rule: RuleId::R2,
        subject: "tcp".to_string(),
        severity: Severity::Finding,
        confidence: Confidence::Likely,
        since_ns,
        sentence: format!(
            "A TCP listener of this machine refuses new connections: {:.1}/s dropped for {{for}} because its accept queue is full; which one was not recorded. Clients retry after 1, 3, 7 s…; established connections are not affected.",
            count / seconds,
        ),
        evidence: vec![
            Evidence::new("connections refused", count, ""),
            Evidence::new("per second", count / seconds, "1/s"),
            Evidence::new("samples with refusals", samples as f64, ""),
            Evidence::new("window", seconds, "s"),
        ],
        next: "Find the listener whose Recv-Q stands above its Send-Q (`ss -ltn`), and raise the program's backlog."
            .to_string(),
        explains: Vec::new(),
        clear_s: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::RuleId;
    use super::super::testing::Bench;

    #[test]
    fn drops_of_the_source_count_from_the_first_interval_on() {
        let mut bench = Bench::new();
        // netstat's rows: since boot, then two intervals. The kernel there counts drops, not overflows.
        bench.steps(0, 1.0, |step| {
            step.tcp(None, 785_829);
        });
        bench.steps(1, 1.0, |step| {
            step.tcp(None, 27);
        });
        bench.is_silent();
        bench.steps(1, 1.0, |step| {
            step.tcp(None, 19);
        });
        let found = bench.only(RuleId::R2);
        assert!(found.sentence.contains("refuses new connections: 23.0/s dropped"), "{}", found.sentence);
        assert_eq!(found.evidence[0].value, Some(46.0));
    }

    #[test]
    fn a_backlog_that_suffices_and_a_single_burst_are_silent() {
        let mut bench = Bench::new();
        bench.steps(30, 1.0, |step| {
            step.tcp(Some(0), 0);
        });
        // Drops for other reasons are no overflows where these are counted.
        bench.steps(30, 1.0, |step| {
            step.tcp(Some(0), 5);
        });
        bench.steps(1, 1.0, |step| {
            step.tcp(Some(40), 40);
        });
        bench.steps(12, 1.0, |step| {
            step.tcp(Some(0), 0);
        });
        bench.steps(1, 1.0, |step| {
            step.tcp(Some(40), 40);
        });
        bench.is_silent();
    }
}
