//! R5: a block device is the limit.
//!
//! A device is in one of two states: it is the limit, or it is busy and is not. Each stretch in one of them is a finding of its
//! own, with the figures of that stretch alone. What lets the limit go for a moment stays the limit, as every finding stays
//! open for a while.

use super::baseline::{Baseline, Slower, Unloaded};
use super::io_users::{self, Followed};
use crate::interval_sample::{DiskUse, IntervalSample};
use crate::window::{Window, WindowSlice};
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds, figure, thresholds};
use rates::counter::ratio;
use std::collections::{BTreeMap, VecDeque};

/// So many windows of a busy device are compared with each other.
const HISTORY: usize = 600;

/// Remembers each device as it was without a queue, and how its throughput went with its queue.
#[derive(Default)]
pub(crate) struct DeviceRule {
    devices: BTreeMap<String, Known>,
}

#[derive(Default)]
struct Known {
    baseline: Baseline,
    /// Windows in which it was busy and not the limit: queue, bytes and operations per second.
    busy: VecDeque<(f64, Option<f64>, f64)>,
    /// From when until when it was the limit, newest, ns.
    limit_ns: Option<(i64, i64)>,
    /// The same of being busy and not the limit.
    calm_ns: Option<(i64, i64)>,
}

/// A device over a window.
struct Mean {
    busy: f64,
    queue: f64,
    ops_per_s: f64,
    reads_per_s: Option<f64>,
    bytes_per_s: Option<f64>,
    response_ns: Option<f64>,
    /// By so much that may be off.
    resolution_ns: f64,
}

/// Why a device is called saturated.
enum Why {
    /// Requests take so many times as long as without a queue.
    Slower(Slower),
    /// The queue grew from this length, and throughput only by so many per cent.
    NoGain { queue: f64, gain_percent: f64 },
}

impl Rule for DeviceRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.device;
        let Some(now) = window.now() else { return Vec::new() };
        for disk in &now.disks {
            // What fails comes back at once and says nothing of how long the device takes.
            let fails = now.failures.iter().any(|failure| failure.device == disk.device);
            if disk.queue.is_some_and(|queue| queue <= limit.unloaded_queue)
                && disk.completions >= limit.unloaded_ops
                && !fails
            {
                self.devices.entry(disk.device.clone()).or_default().baseline.learn(disk, now);
            }
        }
        let Some(stretch) = window.last(limit.for_s) else { return Vec::new() };
        let mut found = Vec::new();
        for disk in &now.disks {
            let Some(mean) = over(stretch, &disk.device).filter(|mean| mean.busy >= limit.busy_percent) else {
                if let Some(known) = self.devices.get_mut(&disk.device) {
                    (known.limit_ns, known.calm_ns) = (None, None);
                }
                continue;
            };
            let known = self.devices.entry(disk.device.clone()).or_default();
            // What completes nothing is busy with nothing: that is a stall (R7).
            if disk.completions > 0.0 {
                found.extend(known.judge(window, stretch, &disk.device, &mean, thresholds));
            }
            // What it did before it was the limit is not forgotten, for however long it is.
            if known.limit_ns.is_none_or(|(_, to_ns)| to_ns < now.t_ns) {
                known.busy.push_back((mean.queue, mean.bytes_per_s, mean.ops_per_s));
            }
            if known.busy.len() > HISTORY {
                known.busy.pop_front();
            }
        }
        found
    }

    fn lost(&mut self) {
        self.devices.values_mut().for_each(|known| (known.limit_ns, known.calm_ns) = (None, None));
    }
}

impl Known {
    /// What it says of a device that is busy: of the newest moments in one state, no more than the window.
    fn judge(
        &mut self,
        window: &Window,
        stretch: WindowSlice<'_>,
        device: &str,
        mean: &Mean,
        thresholds: &Thresholds,
    ) -> Option<Symptom> {
        let limit = &thresholds.device;
        let now = window.now()?;
        let is_recent = |to_ns: i64| (now.t_ns - to_ns) as f64 / 1e9 < thresholds.general.clear_s;
        let by_itself = |one: &WindowSlice<'_>| over(*one, device).is_some_and(|one| self.why(&one, limit).is_some());
        let is_limit = stretch.each().next_back().is_some_and(|newest| by_itself(&newest));
        let is_limit_over_all = self.why(mean, limit).is_some();
        let answers = |one: &WindowSlice<'_>| over(*one, device).is_some_and(|one| one.ops_per_s > 0.0);
        if is_limit && is_limit_over_all {
            let onset_ns = || {
                let onset = stretch.each().rev().take_while(|one| by_itself(one) || !answers(one)).last();
                onset.unwrap_or(stretch).start_ns()
            };
            let goes_on = self.limit_ns.filter(|(_, to_ns)| is_recent(*to_ns));
            let from_ns = goes_on.map_or_else(onset_ns, |(from_ns, _)| from_ns);
            (self.limit_ns, self.calm_ns) = (Some((from_ns, now.t_ns)), None);
            let own = window.since(from_ns, limit.for_s).unwrap_or(stretch);
            // Its own figures; where they are too near the bound to say it by themselves, those of the window.
            let of_own = over(own, device).and_then(|mean| Some((self.why(&mean, limit)?, mean)));
            let unloaded = self.baseline.known();
            return Some(match of_own {
                Some((why, mean)) => symptom(own, device, &mean, Some(why), unloaded, from_ns),
                None => symptom(stretch, device, mean, self.why(mean, limit), unloaded, from_ns),
            });
        }
        let limit_to_ns = self.limit_ns.map(|(_, to_ns)| to_ns);
        if is_limit_over_all && limit_to_ns.is_none() {
            return None;
        }
        let from_ns = match self.calm_ns {
            Some((from_ns, to_ns)) if is_recent(to_ns) => from_ns,
            // It answered nothing for so long.
            Some(_) => now.start_ns(),
            None => limit_to_ns.unwrap_or(i64::MIN).max(stretch.start_ns()),
        };
        self.calm_ns = Some((from_ns, now.t_ns));
        // Nor is it well while it was silent a moment ago.
        if is_limit || limit_to_ns.is_some_and(is_recent) || !stretch.each().all(|one| answers(&one)) {
            return None;
        }
        self.limit_ns = None;
        let own = window.since(from_ns, limit.for_s).unwrap_or(stretch);
        let of_own = over(own, device)?;
        self.why(&of_own, limit).is_none().then(|| symptom(own, device, &of_own, None, self.baseline.known(), from_ns))
    }

    /// So many times as large are requests as those without a queue; 1 where that is not known, or they are smaller. Where
    /// nothing waits for anything else, what is larger takes longer, and no limit is reached by that.
    fn larger(mean: &Mean, unloaded: &Unloaded) -> f64 {
        let now = mean.bytes_per_s.and_then(|bytes| ratio(bytes, mean.ops_per_s));
        let larger = now.zip(unloaded.bytes).and_then(|(now, unloaded)| ratio(now, unloaded));
        larger.map_or(1.0, |larger| larger.max(1.0))
    }

    fn why(&self, mean: &Mean, limit: &thresholds::Device) -> Option<Why> {
        if let Some((now, unloaded)) = mean.response_ns.zip(self.baseline.known())
            && let Some(slower) = unloaded.slower(now, mean.resolution_ns)
            && slower.times >= limit.response_ratio
            && (mean.queue > limit.unloaded_queue
                || slower.times >= limit.response_ratio * Self::larger(mean, &unloaded))
        {
            return Some(Why::Slower(slower));
        }
        if mean.queue < limit.queue {
            return None;
        }
        // The shortest queue that is so much shorter, nearest in time.
        let (queue, bytes, ops) = self
            .busy
            .iter()
            .rev()
            .copied()
            .find(|(queue, ..)| *queue >= limit.unloaded_queue && mean.queue >= queue * limit.queue_ratio)?;
        let gain = |now: f64, before: f64| ratio(now, before).map(|times| 100.0 * (times - 1.0));
        let by_bytes = mean.bytes_per_s.zip(bytes).and_then(|(now, before)| gain(now, before));
        let gain_percent = by_bytes.or_else(|| gain(mean.ops_per_s, ops))?;
        (gain_percent < limit.gain_percent).then_some(Why::NoGain { queue, gain_percent })
    }
}

fn over(stretch: WindowSlice<'_>, device: &str) -> Option<Mean> {
    let of = |value: &dyn Fn(&DiskUse) -> Option<f64>| stretch.mean(|moment| value(moment.disk(device)?));
    let ops_per_s = of(&|disk| Some(disk.ops_per_s))?;
    // Means of requests, not of intervals; `None` where an interval with requests does not tell how long they took.
    let ticks = stretch.mean(|moment| {
        let disk = moment.disk(device)?;
        if disk.ops_per_s > 0.0 { Some(disk.response_ns? * disk.ops_per_s) } else { Some(0.0) }
    });
    let disks = stretch.iter().filter_map(|moment| moment.disk(device));
    let steps_ms = disks.clone().map(|disk| disk.delta.tick_error_ms()).fold(0.0, f64::max);
    let off_ms = steps_ms + disks.map(|disk| disk.delta.rounding_error_ms()).sum::<f64>();
    Some(Mean {
        busy: of(&|disk| disk.busy)?,
        queue: of(&|disk| disk.queue)?,
        reads_per_s: of(&|disk| disk.reads_per_s),
        bytes_per_s: of(&|disk| disk.bytes_per_s),
        response_ns: ticks.and_then(|ticks| ratio(ticks, ops_per_s)),
        resolution_ns: ratio(off_ms * 1e6, ops_per_s * stretch.seconds()).unwrap_or(0.0),
        ops_per_s,
    })
}

fn symptom(
    stretch: WindowSlice<'_>,
    device: &str,
    mean: &Mean,
    why: Option<Why>,
    unloaded: Option<Unloaded>,
    since_ns: i64,
) -> Symptom {
    let followed = Followed::over(stretch, device, mean.ops_per_s * stretch.seconds());
    let size_bytes = mean.bytes_per_s.and_then(|bytes| ratio(bytes, mean.ops_per_s));
    let about = format!("{}{}", users(stretch, followed.as_ref()), io_users::kind_words(size_bytes, followed.as_ref()));
    // What is not known is left out.
    let known = |words: &str, value: Option<f64>, unit| {
        value.map_or(String::new(), |value| format!(", {words}{}", figure(Some(value), unit)))
    };
    let figures = format!(
        "busy {:.0} %, {}{}, queue {:.1}{}{}",
        mean.busy,
        figure(Some(mean.ops_per_s), "op/s"),
        known("", mean.bytes_per_s, "B/s"),
        mean.queue,
        followed.as_ref().map_or(String::new(), Followed::response_words),
        known("mean ", mean.response_ns, "ns"),
    );
    let (sentence, next) = match &why {
        Some(Why::Slower(slower)) => (
            format!("{device} is the limit for {{for}}: {figures} ({} unloaded).{about}", slower.words()),
            "Find who makes the load (`iodyno probe io --by process`), and move, merge or cache it; `iodyno trace` shows every request.",
        ),
        Some(Why::NoGain { queue, gain_percent }) => (
            format!(
                "{device} is the limit for {{for}}: {figures}; its queue grew from {queue:.1} to {:.1} and throughput changed by only {gain_percent:+.1} %.{about}",
                mean.queue,
            ),
            "Find who makes the load (`iodyno probe io --by process`), and move, merge or cache it; `iodyno trace` shows every request.",
        ),
        None => (
            format!(
                "{device} is busy but not saturated for {{for}}: {figures}. A device that serves many requests at once is always \"100 % busy\" under load."
            ),
            "Nothing, unless response times matter: compare them with an unloaded device.",
        ),
    };
    let mut evidence = vec![
        FindingEvidence::new("busy", mean.busy, "%"),
        FindingEvidence::new("operations", mean.ops_per_s, "op/s"),
        FindingEvidence::new("reads among them", mean.reads_per_s, "op/s"),
        FindingEvidence::new("throughput", mean.bytes_per_s, "B/s"),
        FindingEvidence::new("queue, mean", mean.queue, "op"),
        FindingEvidence::new("response time, mean", mean.response_ns, "ns"),
        FindingEvidence::new("response time without a queue", unloaded.map(|of| of.response_ns), "ns"),
        FindingEvidence::new("known to within", unloaded.map(|of| of.resolution_ns), "ns"),
        FindingEvidence::new("mean size", size_bytes, "B"),
    ];
    evidence.extend(io_users::evidence(followed.as_ref()));
    if let Some(Why::NoGain { queue, gain_percent }) = why {
        evidence.push(FindingEvidence::new("queue before", queue, "op"));
        evidence.push(FindingEvidence::new("gain of throughput since", gain_percent, "%"));
    }
    Symptom {
        rule: RuleId::R5,
        subject: device.to_string(),
        severity: if why.is_some() { FindingSeverity::Finding } else { FindingSeverity::Note },
        confidence: if unloaded.is_some_and(|of| of.is_certain()) {
            RuleConfidence::Certain
        } else {
            RuleConfidence::Likely
        },
        since_ns,
        sentence,
        evidence,
        next: next.to_string(),
        explains: Vec::new(),
        clear_s: None,
    }
}

/// " Writers: fio[12] 82 %, …" of this device, where that is known; else " Most I/O of all devices: fio[12] 30 MB/s, …", where
/// that was recorded.
fn users(stretch: WindowSlice<'_>, followed: Option<&Followed>) -> String {
    let of_this_device = followed.map(Followed::users_words).unwrap_or_default();
    if !of_this_device.is_empty() {
        return of_this_device;
    }
    let mut moved: BTreeMap<(i64, Option<i64>), (String, f64)> = BTreeMap::new();
    let of = |moment: &IntervalSample| moment.processes.iter().flatten().cloned().collect::<Vec<_>>();
    for moment in stretch.iter() {
        for task in of(moment) {
            let bytes = task.read_bytes_per_s.unwrap_or(0.0) + task.write_bytes_per_s.unwrap_or(0.0);
            let entry = moved.entry((task.pid, task.start_ns)).or_default();
            entry.0 = format!("{}[{}]", task.comm, task.pid);
            entry.1 += bytes * moment.seconds / stretch.seconds();
        }
    }
    let mut moved: Vec<(String, f64)> = moved.into_values().filter(|(_, bytes)| *bytes >= 10_000.0).collect();
    moved.sort_by(|a, b| b.1.total_cmp(&a.1));
    moved.truncate(3);
    if moved.is_empty() {
        return String::new();
    }
    let words: Vec<String> =
        moved.iter().map(|(name, bytes)| format!("{name} {}", figure(Some(*bytes), "B/s"))).collect();
    format!(" Most I/O of all devices: {}.", words.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, DiskStep};
    use crate::{Finding, FindingSeverity, RuleConfidence, RuleId};

    /// `iostat`'s two lines of c2t8d0: writes/s, kB/s, actv, asvc_t.
    const C2T8D0: [[f64; 4]; 2] = [[520.4, 32_535.2, 4.9, 9.4], [546.7, 31_004.3, 9.3, 16.9]];

    fn write([writes_per_s, kbytes, queue, response_ms]: [f64; 4], busy_percent: f64) -> DiskStep {
        DiskStep {
            writes_per_s,
            bytes_per_s: kbytes * 1024.0,
            queue,
            response_ms,
            busy_percent,
            in_flight: 5,
            ..DiskStep::default()
        }
    }

    #[test]
    fn a_longer_queue_without_gain() {
        let mut bench = Bench::new();
        bench.steps(1, 10.0, |step| step.disk("c2t8d0", write(C2T8D0[0], 98.0)));
        bench.is_silent();
        bench.steps(1, 10.0, |step| step.disk("c2t8d0", write(C2T8D0[1], 98.0)));
        let sentence = &bench.only(RuleId::R5).sentence;
        assert!(sentence.starts_with("c2t8d0 is the limit for 10 s: busy 98 %, 547 op/s, 31.7 MB/s, queue 9.3, mean 16.9 ms; its queue grew from 4.9 to 9.3 and throughput changed by only -4.7 %."), "{sentence}");
    }

    #[test]
    fn a_longer_queue_with_gain_is_a_note() {
        let mut bench = Bench::new();
        bench.steps(2, 10.0, |step| step.disk("nvme0n1", write(C2T8D0[0], 98.0)));
        bench.steps(2, 10.0, |step| step.disk("nvme0n1", write([1041.0, 65_070.0, 9.8, 9.4], 100.0)));
        bench.is_silent();
        let all = bench.engine().findings();
        assert_eq!((all.len(), all[0].severity), (1, FindingSeverity::Note));
        assert!(all[0].sentence.contains("busy but not saturated"));
    }

    /// So many seconds of reads one by one, of a queue of 64, and of those again.
    fn one_by_one_and_sixty_four(seconds: [usize; 3]) -> Bench {
        let mut bench = Bench::new();
        let read = |response_ms: f64, queue: f64| DiskStep {
            reads_per_s: 200.0,
            bytes_per_s: 819_200.0,
            response_ms,
            queue,
            busy_percent: 99.0,
            ..DiskStep::default()
        };
        for (count, (response_ms, queue)) in seconds.into_iter().zip([(5.0, 1.0), (320.0, 64.0), (5.0, 1.0)]) {
            bench.steps(count, 1.0, |step| step.disk("sda", read(response_ms, queue)));
        }
        bench
    }

    #[test]
    fn the_limit_has_its_own_time_whatever_came_before_and_after() {
        let episodes = |bench: &Bench| -> Vec<(FindingSeverity, i64, i64)> {
            let whole = |ns: i64| (ns + 500_000_000) / 1_000_000_000 - 1000;
            let of = |one: &Finding| (one.severity, whole(one.start_ns), whole(one.last_ns));
            bench.engine().findings().iter().map(of).collect()
        };
        let (limit, busy) = (FindingSeverity::Finding, FindingSeverity::Note);
        let bench = one_by_one_and_sixty_four([60, 40, 60]);
        assert_eq!(episodes(&bench), [(busy, 0, 60), (limit, 60, 100), (busy, 100, 160)]);
        let sentences: Vec<&str> = bench.engine().findings().iter().map(|one| one.sentence.as_str()).collect();
        assert!(
            sentences[0].starts_with("sda is busy but not saturated for 1 min: busy 99 %, 200 op/s"),
            "{sentences:#?}"
        );
        assert!(
            sentences[1].starts_with("sda is the limit for 40 s: ")
                && sentences[1].contains("queue 64.0, mean 320 ms (64.0× unloaded)"),
            "{sentences:#?}"
        );
        assert!(
            sentences[2].contains("for 1 min: ") && sentences[2].contains("queue 1.0, mean 5.00 ms"),
            "{sentences:#?}"
        );
        // It ends with its last second, and a recording may, too.
        assert_eq!(episodes(&one_by_one_and_sixty_four([60, 40, 0])), [(busy, 0, 60), (limit, 60, 100)]);
        assert_eq!(
            episodes(&one_by_one_and_sixty_four([28, 22, 28])),
            [(busy, 0, 28), (limit, 28, 50), (busy, 50, 78)]
        );
        // What lets go for a few seconds was the limit all the time.
        let mut bench = one_by_one_and_sixty_four([30, 20, 4]);
        let again =
            DiskStep { reads_per_s: 200.0, response_ms: 320.0, queue: 64.0, busy_percent: 99.0, ..DiskStep::default() };
        bench.steps(20, 1.0, |step| step.disk("sda", again));
        assert_eq!(episodes(&bench), [(busy, 0, 30), (limit, 30, 74)]);
    }

    #[test]
    fn slower_than_without_a_queue() {
        let run = |response_ms: f64, busy: f64| {
            let mut bench = Bench::new();
            bench.steps(5, 1.0, |step| step.disk("sda", write([100.0, 400.0, 0.5, 5.0], 50.0)));
            bench.steps(12, 1.0, |step| {
                step.disk("sda", write([200.0, 800.0, 200.0 * response_ms / 1e3, response_ms], busy));
                step.process(9, "postgres", 1, [1.0, 1.0]).write_bytes = Some(0);
                let row = step.process(10, "fio", 1, [1.0, 1.0]);
                row.write_bytes = row.write_bytes.map(|was| was + 800 * 1024);
            });
            bench
        };
        let bench = run(22.0, 99.0);
        let sentence = &bench.only(RuleId::R5).sentence;
        assert!(sentence.contains("mean 22.0 ms (4.4× unloaded)"), "{sentence}");
        assert!(sentence.contains("Most I/O of all devices: fio[10] 819 kB/s"), "{sentence}");
        // Half as much slower, or not busy all the time: nothing is wrong.
        run(11.0, 99.0).is_silent();
        run(22.0, 60.0).is_silent();
    }

    /// 200 writes of 4 kB each second, of which the probe saw a share: three of four take 12 ms, the others 22 ms.
    fn followed(share: f64, kind: (&str, f64)) -> Bench {
        let mut bench = Bench::new();
        bench.steps(5, 1.0, |step| step.disk("sda", write([100.0, 400.0, 0.5, 5.0], 50.0)));
        bench.steps(12, 1.0, |step| {
            step.disk("sda", write([200.0, 800.0, 4.0, 22.0], 99.0));
            let (op, sequential) = kind;
            step.ios("sda", op, (10, "fio", "/data/a"), [150.0 * share, 4096.0, 12.0, sequential]);
            step.ios("sda", "write", (9, "postgres", ""), [46.0 * share, 4096.0, 22.0, 0.0]);
            step.ios("sda", "write", (11, "cron", "/var/log/cron"), [4.0 * share, 4096.0, 22.0, 0.0]);
            step.ios("sdb", "write", (12, "other", "/b"), [900.0, 4096.0, 1.0, 100.0]);
            step.process(10, "fio", 1, [1.0, 1.0]).write_bytes = Some(800 << 30);
        });
        bench
    }

    #[test]
    fn who_writes_what_where_the_probe_of_io_ran() {
        let bench = followed(1.0, ("write", 10.0));
        let found = bench.only(RuleId::R5);
        let words = "queue 4.0, p50 12.1 ms / p99 22.0 ms, mean 22.0 ms (4.4× unloaded). Writers: fio[10] 75 % (/data/a), postgres[9] 23 %. I/O is 4.10 kB on average, 92 % random.";
        assert!(found.sentence.ends_with(words), "{}", found.sentence);
        let figure =
            |name: &str| found.evidence.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("{name}")).value;
        assert_eq!(figure("written by fio[10]"), Some(75.0));
        assert!((figure("sequential").unwrap() - 7.5).abs() < 0.1);
        assert!((figure("response time, p99").unwrap() - 22e6).abs() < 1e6);
        // Mostly reads, one beside the other.
        let bench = followed(1.0, ("read", 100.0));
        let sentence = &bench.only(RuleId::R5).sentence;
        assert!(sentence.contains("Readers: fio[10] 100 % (/data/a). Writers: postgres[9] 92 %, cron[11] 8 % (/var/log/cron). I/O is 4.10 kB on average, 75 % sequential."), "{sentence}");
    }

    #[test]
    fn half_of_the_requests_say_nothing_of_a_device() {
        for bench in [followed(0.5, ("write", 10.0)), followed(0.0, ("write", 10.0))] {
            let found = bench.only(RuleId::R5);
            assert!(found.sentence.ends_with("(4.4× unloaded). I/O is 4.10 kB on average."), "{}", found.sentence);
            let p99 = found.evidence.iter().find(|one| one.name == "response time, p99");
            assert_eq!(p99.map(|one| one.value), Some(None));
        }
    }

    #[test]
    fn a_device_that_is_a_hundred_times_slower_with_one_request_at_a_time() {
        let run = |response_ms: f64, kbytes: f64| {
            let mut bench = Bench::new();
            bench.steps(12, 1.0, |step| step.disk("sda", write([900.0, 3600.0, 0.9, 1.0], 90.0)));
            let per_s = 1000.0 / response_ms;
            bench.steps(14, 1.0, |step| step.disk("sda", write([per_s, per_s * kbytes, 1.0, response_ms], 100.0)));
            bench
        };
        let bench = run(100.0, 4.0);
        let sentence = &bench.only(RuleId::R5).sentence;
        assert!(sentence.contains("queue 1.0, mean 100 ms (100.0× unloaded)"), "{sentence}");
        // Nothing waits, and requests are larger by as much: that is no limit, but how long they take.
        run(5.0, 1024.0).is_silent();
        run(2.0, 4.0).is_silent();
    }

    #[test]
    fn twenty_four_reads_that_read_as_no_time_make_no_device_infinitely_slow() {
        let read = |per_s: f64, response_ms: f64, queue: f64| DiskStep {
            reads_per_s: per_s,
            bytes_per_s: per_s * 4096.0,
            response_ms,
            queue,
            busy_percent: 100.0,
            ..DiskStep::default()
        };
        let mut bench = Bench::new();
        bench.steps(1, 1.0, |step| step.disk("loop7", DiskStep { busy_percent: 0.0, ..read(24.0, 0.0, 0.0) }));
        bench.steps(12, 1.0, |step| step.disk("loop7", read(80.0, 100.0, 8.0)));
        let found = bench.only(RuleId::R5);
        assert!(found.sentence.contains("mean 100 ms (at least 2400× unloaded)"), "{}", found.sentence);
        assert_eq!(found.confidence, RuleConfidence::Likely);
        // What it takes without a queue is known well enough after a while.
        let mut bench = Bench::new();
        bench.steps(12, 1.0, |step| step.disk("loop7", read(100.0, 1.0, 0.1)));
        bench.steps(12, 1.0, |step| step.disk("loop7", read(80.0, 100.0, 8.0)));
        let found = bench.only(RuleId::R5);
        assert!(found.sentence.contains("mean 100 ms (100.0× unloaded)"), "{}", found.sentence);
        assert_eq!(found.confidence, RuleConfidence::Certain);
    }

    #[test]
    fn no_sentence_has_a_figure_that_is_no_number() {
        // Reproducible: the same counters in every run.
        let mut state = 1_u64;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % limit
        };
        let mut sentences = 0;
        for _ in 0..150 {
            let mut bench = Bench::new();
            let known: Vec<bool> = (0..16).map(|_| below(4) > 0).collect();
            for _ in 0..30 {
                let grown: Vec<i64> = (0..16).map(|_| [0, 0, 1, 24, 1000, 1_000_000, 1 << 40][below(7)]).collect();
                let is_busy = below(20) > 0;
                bench.steps(1, 1.0, |step| {
                    for (at, counter) in step.counters("sda").into_iter().enumerate() {
                        // Nothing is said of a device that is not busy.
                        let grown = if at == 11 && is_busy { 1000 } else { grown[at] };
                        *counter = (known[at] || at == 11).then(|| counter.unwrap_or(0) + grown);
                    }
                });
            }
            for found in bench.engine().findings() {
                sentences += 1;
                let words = format!("{} {}", found.sentence, found.next);
                let is_number = |word: &str| !["inf", "nan", "-inf"].contains(&word.to_lowercase().as_str());
                let apart = |c: char| !c.is_ascii_alphanumeric() && c != '-';
                assert!(words.split(apart).all(is_number) && !words.contains("inf×"), "{words}");
            }
        }
        assert!(sentences > 100, "{sentences}");
    }

    #[test]
    fn a_busy_partition_makes_no_second_finding() {
        let mut bench = Bench::new();
        bench.steps(5, 1.0, |step| {
            ["sda", "sda1"].iter().for_each(|name| step.disk(name, write([100.0, 400.0, 0.5, 5.0], 50.0)))
        });
        bench.steps(15, 1.0, |step| {
            ["sda", "sda1"].iter().for_each(|name| step.disk(name, write([200.0, 800.0, 8.0, 40.0], 99.0)))
        });
        assert_eq!(bench.only(RuleId::R5).subject, "sda");
    }
}
