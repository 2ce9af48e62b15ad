//! R2: a listener refuses connections because its accept queue is full.

use crate::interval_sample::{IntervalSample, TcpUse};
use crate::window::Window;
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds};
use recording::rows::Listener;
use std::collections::BTreeMap;

/// Counts over a window; needs no memory of its own.
pub(crate) struct ListenQueueRule;

impl Rule for ListenQueueRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.listen_queue;
        // Every overflow is a connection refused, so it is counted, not averaged; the window need not be full.
        let moments: Vec<&IntervalSample> = window.within(limit.for_s).collect();
        let refused = Refused::over(&moments);
        let has_refused = refused.samples as f64 >= limit.samples;
        let mut found = Vec::new();
        let queues = queues(&moments);
        for queue in &queues {
            let is_full = queue.beyond as f64 >= limit.samples;
            if is_full || (has_refused && queue.beyond > 0) {
                found.push(full(queue, is_full.then_some(()).and(has_refused.then_some(&refused)), &refused));
            } else if queue.near(limit.near_percent) >= moments.len() && window.last(limit.for_s).is_some() {
                found.push(near(queue));
            }
        }
        if has_refused && !found.iter().any(|symptom| symptom.severity == FindingSeverity::Finding) {
            // Between two samples a queue fills and empties: each listener's own count tells who it was.
            let dropping = queues.iter().filter(|queue| queue.dropped > 0.0);
            match dropping.max_by(|a, b| a.dropped.total_cmp(&b.dropped)) {
                Some(queue) => {
                    found.retain(|note| note.subject != queue.name());
                    found.push(dropping_now(queue, &refused));
                }
                None => found.push(counted(&refused)),
            }
        }
        found
    }
}

/// What the kernel counted over the window.
struct Refused {
    count: f64,
    half_open: f64,
    /// Samples with refusals.
    samples: usize,
    seconds: f64,
    since_ns: i64,
}

impl Refused {
    fn over(moments: &[&IntervalSample]) -> Self {
        let mut this = Self { count: 0.0, half_open: 0.0, samples: 0, seconds: 0.0, since_ns: 0 };
        for moment in moments {
            this.seconds += moment.seconds;
            let Some(tcp) = &moment.tcp else { continue };
            let half_open = tcp.half_open_drops.unwrap_or(0.0);
            let count = refused(tcp).unwrap_or(0.0);
            if count + half_open > 0.0 {
                if this.samples == 0 {
                    this.since_ns = moment.start_ns();
                }
                this.samples += 1;
                this.count += count;
                this.half_open += half_open;
            }
        }
        this
    }

    fn evidence(&self) -> Vec<FindingEvidence> {
        vec![
            FindingEvidence::new("connections refused", self.count, ""),
            FindingEvidence::new("per second", self.count / self.seconds, "1/s"),
            FindingEvidence::new("half-open queue full", self.half_open, ""),
            FindingEvidence::new("samples with refusals", self.samples as f64, ""),
            FindingEvidence::new("window", self.seconds, "s"),
        ]
    }

    /// What is dropped, in words.
    fn words(&self) -> String {
        let rate = (self.count / self.seconds, self.half_open / self.seconds);
        match rate {
            (0.0, half_open) => format!("{half_open:.1}/s found the queue of half-open connections full"),
            (count, 0.0) => format!("{count:.1}/s dropped"),
            (count, half_open) => {
                format!("{count:.1}/s dropped, {half_open:.1}/s found the queue of half-open ones full")
            }
        }
    }
}

/// Connections refused; older and other kernels count drops only, which contain them.
fn refused(tcp: &TcpUse) -> Option<f64> {
    tcp.overflows.or(tcp.drops)
}

/// One address and port over the window.
struct Queue<'a> {
    last: &'a Listener,
    /// The first sample with more in the queue than the backlog.
    since_ns: i64,
    /// Samples with more in the queue than the backlog: the kernel admits one more, and then refuses.
    beyond: usize,
    fill: Vec<f64>,
    /// Connection requests that its sockets dropped, by their own count.
    dropped: f64,
}

impl Queue<'_> {
    /// Samples in which so much of the backlog was used.
    fn near(&self, percent: f64) -> usize {
        self.fill.iter().filter(|fill| **fill >= percent).count()
    }

    fn name(&self) -> String {
        format!("{}:{}", self.last.address, self.last.port)
    }

    fn holder(&self) -> String {
        match (&self.last.comm, self.last.pid) {
            (Some(comm), Some(pid)) => format!(" ({comm}[{pid}])"),
            _ => " (who holds it is not known)".to_string(),
        }
    }

    /// What the program asked for: the kernel keeps the lesser of that and its own limit.
    fn asked(&self) -> String {
        match self.last.limit {
            Some(limit) if self.last.backlog < limit => {
                format!("The program asked listen(…, {}); system limit somaxconn {limit}.", self.last.backlog)
            }
            Some(limit) => format!("The program asked listen(…, {limit} or more); system limit somaxconn {limit}."),
            None => format!("Its backlog is {}; the system's limit is not known.", self.last.backlog),
        }
    }

    fn advice(&self) -> String {
        match self.last.limit {
            Some(limit) if self.last.backlog >= limit => {
                "Raise net.core.somaxconn, and the program's backlog if it asks for no more; or let the program accept faster.".to_string()
            }
            _ => format!(
                "Raise the program's backlog (raising the system limit alone does nothing{}); or let it accept faster.",
                self.last.limit.map_or(String::new(), |limit| format!(", since {} < {limit}", self.last.backlog))
            ),
        }
    }

    fn evidence(&self) -> Vec<FindingEvidence> {
        vec![
            FindingEvidence::new("accept queue", self.last.queue as f64, ""),
            FindingEvidence::new("backlog", self.last.backlog as f64, ""),
            FindingEvidence::new("system limit", self.last.limit.map(|limit| limit as f64), ""),
            FindingEvidence::new("samples beyond the backlog", self.beyond as f64, ""),
            FindingEvidence::new("dropped by this listener", self.last.drops.map(|_| self.dropped), ""),
        ]
    }
}

/// What the sockets of one address and port did in one sample: several may share them (`SO_REUSEPORT`), and a server that
/// was started again has another one.
struct Sockets<'a> {
    /// The one that refuses, else the one that dropped most, else the fullest.
    worst: (bool, f64, f64, &'a Listener),
    /// Of the fullest one, per cent.
    fill: f64,
    dropped: f64,
}

fn sockets<'a>(moment: &'a IntervalSample) -> BTreeMap<(&'a str, i64), Sockets<'a>> {
    let mut found: BTreeMap<(&str, i64), Sockets<'_>> = BTreeMap::new();
    for (at, row) in moment.listeners.iter().enumerate() {
        let dropped = moment.listen_drops.get(at).copied().unwrap_or(0.0);
        let fill = 100.0 * row.queue as f64 / row.backlog.max(1) as f64;
        let this = (row.queue > row.backlog, dropped, fill, row);
        let sockets =
            found.entry((row.address.as_str(), row.port)).or_insert(Sockets { worst: this, fill, dropped: 0.0 });
        sockets.dropped += dropped;
        sockets.fill = sockets.fill.max(fill);
        if (this.0, this.1, this.2) > (sockets.worst.0, sockets.worst.1, sockets.worst.2) {
            sockets.worst = this;
        }
    }
    found
}

/// Listeners that had a queue in the window.
fn queues<'a>(moments: &[&'a IntervalSample]) -> Vec<Queue<'a>> {
    let mut found: BTreeMap<(&str, i64), Queue<'_>> = BTreeMap::new();
    for moment in moments {
        for (name, sockets) in sockets(moment) {
            let (is_beyond, _, _, row) = sockets.worst;
            let queue = found.entry(name).or_insert_with(|| Queue {
                last: row,
                since_ns: moment.start_ns(),
                beyond: 0,
                fill: Vec::new(),
                dropped: 0.0,
            });
            queue.last = row;
            queue.dropped += sockets.dropped;
            queue.fill.push(sockets.fill);
            if is_beyond {
                if queue.beyond == 0 {
                    queue.since_ns = moment.start_ns();
                }
                queue.beyond += 1;
            }
        }
    }
    found.into_values().collect()
}

fn full(queue: &Queue<'_>, certain: Option<&Refused>, refused: &Refused) -> Symptom {
    let mut evidence = queue.evidence();
    evidence.extend(refused.evidence());
    Symptom {
        rule: RuleId::R2,
        subject: queue.name(),
        severity: FindingSeverity::Finding,
        confidence: if certain.is_some() { RuleConfidence::Certain } else { RuleConfidence::Likely },
        since_ns: queue.since_ns,
        sentence: format!(
            "Listener {}{} refuses new connections: {}, accept queue {} of {}, for {{for}}. {} Clients retry after 1, 3, 7 s…; established connections are not affected.",
            queue.name(),
            queue.holder(),
            refused.words(),
            queue.last.queue,
            queue.last.backlog,
            queue.asked(),
        ),
        evidence,
        next: queue.advice(),
        explains: vec![(RuleId::R2, Some("tcp".to_string()))],
        clear_s: None,
    }
}

fn near(queue: &Queue<'_>) -> Symptom {
    Symptom {
        rule: RuleId::R2,
        subject: queue.name(),
        severity: FindingSeverity::Note,
        confidence: RuleConfidence::Certain,
        since_ns: queue.since_ns,
        sentence: format!(
            "Listener {}{} is near its limit: accept queue {} of {} for {{for}}. {}",
            queue.name(),
            queue.holder(),
            queue.last.queue,
            queue.last.backlog,
            queue.asked(),
        ),
        evidence: queue.evidence(),
        next: queue.advice(),
        explains: Vec::new(),
        clear_s: None,
    }
}

/// The kernel counts overflows, and the listener's own count grows, though no sample met its queue full.
fn dropping_now(queue: &Queue<'_>, refused: &Refused) -> Symptom {
    let mut evidence = queue.evidence();
    evidence.extend(refused.evidence());
    Symptom {
        rule: RuleId::R2,
        subject: queue.name(),
        severity: FindingSeverity::Finding,
        confidence: RuleConfidence::Certain,
        since_ns: refused.since_ns,
        sentence: format!(
            "Listener {}{} refuses new connections: {:.1}/s dropped by its own count, for {{for}}; its accept queue of {} was full between samples. {} Clients retry after 1, 3, 7 s…; established connections are not affected.",
            queue.name(),
            queue.holder(),
            queue.dropped / refused.seconds,
            queue.last.backlog,
            queue.asked(),
        ),
        evidence,
        next: queue.advice(),
        explains: vec![(RuleId::R2, Some("tcp".to_string()))],
        clear_s: None,
    }
}

/// The kernel counts overflows, and of which listener is not known.
fn counted(refused: &Refused) -> Symptom {
    Symptom {
        rule: RuleId::R2,
        subject: "tcp".to_string(),
        severity: FindingSeverity::Finding,
        confidence: RuleConfidence::Likely,
        since_ns: refused.since_ns,
        sentence: format!(
            "A TCP listener of this machine refuses new connections: {} for {{for}} because its accept queue is full; which one was not recorded. Clients retry after 1, 3, 7 s…; established connections are not affected.",
            refused.words(),
        ),
        evidence: refused.evidence(),
        next: "Find the listener that drops them (`iodyno stat listen -z`), and raise the program's backlog."
            .to_string(),
        explains: Vec::new(),
        clear_s: None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Bench;
    use crate::{RuleConfidence, RuleId};

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
    fn the_queue_of_half_open_connections() {
        let run = |per_s: i64| {
            let mut bench = Bench::new();
            bench.steps(12, 1.0, |step| {
                let row = step.tcp(Some(0), 0);
                row.request_queue_drops = row.request_queue_drops.map(|was| was + per_s);
                row.request_queue_cookies = row.request_queue_cookies.map(|was| was + per_s);
            });
            bench
        };
        let bench = run(20);
        let found = bench.only(RuleId::R2);
        let words = "40.0/s found the queue of half-open connections full";
        assert!(found.sentence.contains(words), "{}", found.sentence);
        run(0).is_silent();
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

    /// The value of an evidence.
    fn evidence(bench: &Bench, name: &str) -> Option<f64> {
        bench.only(RuleId::R2).evidence.iter().find(|one| one.name == name).expect("evidence").value
    }

    #[test]
    fn sockets_that_share_an_address_and_a_port_are_counted_one_by_one() {
        // 2/s of one, and another that dropped 1000 before: 2/s, however their rows are mixed.
        let mut bench = Bench::new();
        for second in 1..=12 {
            bench.steps(1, 1.0, |step| {
                step.tcp(Some(2), 2);
                step.shared_listener(7, 0, 2 * second);
                step.shared_listener(8, 0, 1000);
            });
        }
        let sentence = &bench.only(RuleId::R2).sentence;
        assert!(sentence.contains("2.0/s dropped by its own count"), "{sentence}");
        assert!(sentence.contains("(tnslsnr[700])"), "who drops, {sentence}");
        // In the ten seconds of the window.
        assert_eq!(
            (evidence(&bench, "window"), evidence(&bench, "dropped by this listener")),
            (Some(10.0), Some(20.0))
        );
    }

    #[test]
    fn of_sockets_that_share_a_port_the_full_one_is_shown_and_a_sample_counts_once() {
        let mut bench = Bench::new();
        for second in 1..=6 {
            bench.steps(1, 1.0, |step| {
                step.tcp(Some(30), 30);
                step.shared_listener(7, 6, 30 * second);
                step.shared_listener(8, 1, 0);
            });
        }
        let sentence = &bench.only(RuleId::R2).sentence;
        assert!(sentence.contains("(tnslsnr[700])") && sentence.contains("accept queue 6 of 5"), "{sentence}");
        assert_eq!(evidence(&bench, "samples beyond the backlog"), Some(6.0));
        assert_eq!(evidence(&bench, "dropped by this listener"), Some(150.0));
        assert_eq!(evidence(&bench, "connections refused"), Some(180.0));
        // Near its limit is one that is so in each sample, not two of which each is in every other one.
        let mut bench = Bench::new();
        for second in 1..=20 {
            bench.steps(1, 1.0, |step| {
                step.tcp(Some(0), 0);
                step.shared_listener(7, if second % 2 == 0 { 4 } else { 0 }, 0);
                step.shared_listener(8, if second % 4 == 0 { 4 } else { 0 }, 0);
            });
        }
        assert!(bench.engine().findings().is_empty(), "{:?}", bench.engine().findings());
    }

    #[test]
    fn a_listener_that_was_started_again_counts_from_0() {
        let mut bench = Bench::new();
        for second in 1..=12 {
            bench.steps(1, 1.0, |step| {
                step.tcp(Some(20), 20);
                // It dropped 20 a second, and was started again: the other socket has dropped 500.
                if second < 12 { step.shared_listener(7, 0, 20 * second) } else { step.shared_listener(9, 0, 500) }
            });
        }
        // In the ten seconds of the window: 20 in each of nine, then 500.
        assert_eq!(evidence(&bench, "dropped by this listener"), Some(680.0));
        assert!(bench.only(RuleId::R2).sentence.contains("(tnslsnr[900])"));
    }

    #[test]
    fn the_listener_is_named() {
        // Backlog 5 and 40 clients: queue 6 of 5, and the kernel counts.
        let run = |queue: i64, overflows: i64| {
            let mut bench = Bench::new();
            bench.steps(12, 1.0, |step| {
                step.tcp(Some(overflows), overflows);
                step.listener(1521, queue, 5);
                step.listener(22, 0, 128);
            });
            bench
        };
        let bench = run(6, 27);
        let found = bench.only(RuleId::R2);
        assert_eq!((found.subject.as_str(), found.confidence), ("0.0.0.0:1521", RuleConfidence::Certain));
        assert!(
            found.sentence.starts_with("Listener 0.0.0.0:1521 (tnslsnr[911]) refuses new connections: 27.0/s dropped, accept queue 6 of 5, for 12 s. The program asked listen(…, 5); system limit somaxconn 4096. Clients retry after 1, 3, 7 s…"),
            "{}",
            found.sentence
        );
        assert!(found.next.contains("does nothing, since 5 < 4096"), "{}", found.next);
        // The queue alone is a sign as well; so is the kernel's count alone, which does not name the listener.
        assert_eq!(run(6, 0).only(RuleId::R2).confidence, RuleConfidence::Likely);
        assert_eq!(run(3, 27).only(RuleId::R2).subject, "tcp");
        // Where each listener's own count is known, that tells who it was, though no sample met a full queue.
        let mut bench = Bench::new();
        for second in 1..=12 {
            bench.steps(1, 1.0, |step| {
                step.tcp(Some(27), 27);
                step.listener_that_dropped(1521, 3, 5, Some(27 * second));
                step.listener_that_dropped(22, 1, 128, Some(4));
            });
        }
        let found = bench.only(RuleId::R2);
        assert_eq!((found.subject.as_str(), found.confidence), ("0.0.0.0:1521", RuleConfidence::Certain));
        assert!(found.sentence.contains("27.0/s dropped by its own count"), "{}", found.sentence);
        assert!(found.evidence.iter().any(|one| one.name == "dropped by this listener"), "{:?}", found.evidence);
        run(3, 0).is_silent();
        let close = run(4, 0);
        close.is_silent();
        assert!(close.engine().findings()[0].sentence.contains("is near its limit: accept queue 4 of 5"));
    }
}
