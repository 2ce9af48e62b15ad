//! Whether the machine was busy with others while a load ran: processes, the hypervisor, others' I/O on the devices under the targets.
//!
//! What others do is in the figures of a load, and differs from one run to the next: a difference may be theirs.

use super::Comparison;
use crate::RunFacts;
use crate::other_load::{BYTES, CPU, Others, in_parentheses, rounded};
use rates::CpuPoint;
use rates::OpCount;
use rates::cpu_time::CpuDelta;
use rates::disk::DiskDelta;
use rates::process::{ProcessCounters, ProcessDelta};
use recording::rows::{Cpu, Disk, Process};
use recording::{LoadPhase, Reader};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use view::TableReadError;
use view::Tone;

/// In the manifest of a run: the number of the process that made it, so that its own work is not taken for others'.
pub const PROGRAM_PID: &str = "program_pid";

/// Of the CPUs' time, taken by the hypervisor.
const STEAL: f64 = 0.01;
/// A sample belongs to the interval at whose end it was read, however late, ns.
const LATE_NS: i64 = 300_000_000;
/// Shorter stretches tell nothing of who was there.
const SHORTEST_NS: i64 = 2_000_000_000;
/// The parent of the kernel's own threads, which work for the load as well as for others.
const KERNEL_THREADS: i64 = 2;

/// A stretch in which a run was measured.
struct Span {
    run: usize,
    from_ns: i64,
    to_ns: i64,
}

/// Looks in a recording for what others did during each of its runs.
pub(crate) fn look(reader: &Reader, runs: &mut [RunFacts], cpu: &[CpuPoint]) -> Result<(), TableReadError> {
    let of = |(run, facts): (usize, &RunFacts)| {
        let ends = || facts.main_intervals().map(|interval| (interval.t_ns - interval.interval_ns, interval.t_ns));
        let (from_ns, to_ns) = (ends().map(|end| end.0).min()?, ends().map(|end| end.1).max()?);
        // What fills the targets is not compared.
        (to_ns - from_ns >= SHORTEST_NS && facts.main_phase() == LoadPhase::Measure).then_some(Span {
            run,
            from_ns,
            to_ns,
        })
    };
    let spans: Vec<Span> = runs.iter().enumerate().filter_map(of).collect();
    if spans.is_empty() {
        return Ok(());
    }
    let mut found: BTreeMap<usize, Others> = spans.iter().map(|span| (span.run, Others::default())).collect();
    let capacity = capacity(reader, &spans)?;
    processes(reader, &spans, &capacity, &mut found)?;
    for span in &spans {
        let others = found.entry(span.run).or_default();
        let mut last_ns = span.from_ns;
        for point in cpu.iter().filter(|point| point.t_ns > span.from_ns && point.t_ns <= span.to_ns + LATE_NS) {
            let length_ns = (point.t_ns - last_ns) as f64;
            last_ns = point.t_ns;
            if let Some(steal) = point.steal {
                others.steal_of_ns += length_ns;
                others.steal_ns += length_ns * steal / 100.0;
            }
        }
    }
    devices(reader, &spans, runs, &mut found)?;
    found.into_iter().for_each(|(run, others)| runs[run].others = Some(others));
    Ok(())
}

/// The stretch in which a sample falls that was read at `t_ns`, of what happened before.
fn span_of(spans: &[Span], t_ns: i64) -> Option<usize> {
    spans.iter().position(|span| t_ns > span.from_ns + LATE_NS / 6 && t_ns <= span.to_ns + LATE_NS)
}

/// Time of all CPUs in each stretch, ns; 0 where it is not known.
fn capacity(reader: &Reader, spans: &[Span]) -> Result<Vec<f64>, TableReadError> {
    let mut capacity = vec![0.0; spans.len()];
    let mut last: Option<Cpu> = None;
    for row in reader.rows::<Cpu>()? {
        let row = row?;
        if row.cpu != "all" {
            continue;
        }
        if let (Some(place), Some(last)) = (span_of(spans, row.t_ns), &last) {
            capacity[place] += CpuDelta::of(&row, last).whole();
        }
        last = Some(row);
    }
    Ok(capacity)
}

/// CPU time and bytes of every process but the load's own, its commands and the kernel's threads.
fn processes(
    reader: &Reader,
    spans: &[Span],
    capacity: &[f64],
    found: &mut BTreeMap<usize, Others>,
) -> Result<(), TableReadError> {
    let own = reader.manifest().extra.get(PROGRAM_PID).and_then(serde_json::Value::as_i64);
    let is_own = |row: &Process| match own {
        Some(pid) => row.pid == pid || row.parent == Some(pid),
        // Recordings from before it was written.
        None => row.comm == "iodyno",
    };
    // What was there when nothing was known yet had used up something before.
    let mut first_ns = None;
    // In a container the number is another process's.
    let mut has_kernel = true;
    let mut known: HashMap<(i64, Option<i64>), ProcessCounters> = HashMap::new();
    let mut by_second: BTreeMap<(usize, i64), f64> = BTreeMap::new();
    for row in reader.rows::<Process>()? {
        let row = row?;
        let first_ns = *first_ns.get_or_insert(row.t_ns + LATE_NS);
        let now = ProcessCounters::from(&row);
        let before = known.insert((row.pid, row.start_ns), now);
        let is_known = before.is_some() || row.t_ns > first_ns;
        if row.pid == KERNEL_THREADS {
            has_kernel = row.comm == "kthreadd";
        }
        let is_kernel = has_kernel && (row.pid == KERNEL_THREADS || row.parent == Some(KERNEL_THREADS));
        let Some(place) = span_of(spans, row.t_ns).filter(|_| is_known) else { continue };
        // Every sample has an entry, also without CPU time of others: the number of samples gives their length.
        let of_second = by_second.entry((place, (row.t_ns - spans[place].from_ns) / 1_000_000_000)).or_default();
        if is_kernel || is_own(&row) {
            continue;
        }
        let others = found.entry(spans[place].run).or_default();
        let delta = ProcessDelta::over(0.0, &now, before.as_ref());
        let used_ns = delta.user.unwrap_or(0.0) + delta.system.unwrap_or(0.0);
        *others.cpu_ns.entry(row.comm.clone()).or_default() += used_ns;
        *others.bytes.entry(row.comm).or_default() += delta.bytes();
        *of_second += used_ns;
    }
    // Without processes nothing is known of others.
    if known.is_empty() {
        return Ok(());
    }
    for (place, (span, capacity_ns)) in spans.iter().zip(capacity).enumerate() {
        let others = found.entry(span.run).or_default();
        let seconds = (span.to_ns - span.from_ns) as f64 / 1e9;
        let a_second_ns = capacity_ns / seconds;
        let samples = by_second.range((place, i64::MIN)..=(place, i64::MAX));
        // Counters are read at the end of intervals, which may be longer than a second.
        let sample_s = (seconds / samples.clone().count().max(1) as f64).max(1.0);
        let busy = samples.filter(|(_, ns)| **ns > CPU * a_second_ns * sample_s);
        others.busy_seconds += if a_second_ns > 0.0 { busy.count() as f64 * sample_s } else { 0.0 };
        others.seconds += seconds;
        others.capacity_ns += capacity_ns;
    }
    Ok(())
}

/// What a load made its device move: what failed reached it as well, and is taken to have been as large as what succeeded beside it.
/// 0, which is not known, where nothing succeeded.
fn own_bytes(lanes: impl Iterator<Item = OpCount>) -> f64 {
    let lanes: Vec<OpCount> = lanes.collect();
    let mean = |of: &OpCount| (of.ops > 0).then(|| of.bytes as f64 / of.ops as f64);
    let mut all = OpCount::default();
    lanes.iter().for_each(|lane| all += *lane);
    let of = |lane: &OpCount| {
        let failed = lane.errors.known().unwrap_or(0) as f64;
        lane.bytes as f64 + failed * mean(lane).or_else(|| mean(&all)).unwrap_or(0.0)
    };
    lanes.iter().map(of).sum()
}

/// Bytes that the devices under the targets moved, and the load's own.
fn devices(
    reader: &Reader,
    spans: &[Span],
    runs: &[RunFacts],
    found: &mut BTreeMap<usize, Others>,
) -> Result<(), TableReadError> {
    let mut last: BTreeMap<String, Disk> = BTreeMap::new();
    for row in reader.rows::<Disk>()? {
        let row = row?;
        if row.target.is_empty() {
            continue;
        }
        let device = row.device.clone();
        if let (Some(place), Some(last)) = (span_of(spans, row.t_ns), last.get(&device)) {
            let run = spans[place].run;
            let targets: BTreeSet<&str> = row.target.split(',').collect();
            let own = || {
                let totals = runs[run].main_totals().filter(|total| targets.contains(total.target.as_str()));
                own_bytes(totals.map(|total| total.count))
            };
            let known = found.entry(run).or_default().devices.entry(device.clone()).or_insert_with(|| (own(), 0.0));
            known.1 += DiskDelta::of(&row, last).and_then(|delta| delta.bytes()).unwrap_or(0.0);
        }
        last.insert(device, row);
    }
    Ok(())
}

/// What must be known of others in a pair of runs: sentences with a full stop.
pub(crate) fn warnings(comparison: &Comparison, pair: usize) -> Vec<(Tone, String)> {
    let sides: Vec<(&str, &Others)> =
        comparison.of(pair).map(|(_, side, load)| (side.label.as_str(), &load.others)).collect();
    // A sentence of its own, or one behind the name of the run.
    let begun = |capital: &str, small: &str| match comparison.pairs.len() {
        1 => capital.to_string(),
        _ => format!("{}: {small}", comparison.pair_name(pair)),
    };
    let mut found = Vec::new();
    if sides.iter().any(|(_, others)| others.is_busy()) {
        let words = sides.iter().filter_map(|(label, others)| {
            let (share, names) = (rounded(others.cpu()?), others.names());
            Some(format!("{share} of all CPUs beside {label}{names}"))
        });
        let words = words.collect::<Vec<String>>().join(", ");
        found.push((Tone::Warning, format!("{} used {words}.", begun("Other processes", "other processes"))));
    }
    if sides.iter().any(|(_, others)| others.steal().is_some_and(|share| share >= STEAL)) {
        let words =
            sides.iter().filter_map(|(label, others)| Some(format!("{} from {label}", rounded(others.steal()?))));
        let words = words.collect::<Vec<String>>().join(", ");
        found.push((
            Tone::Warning,
            format!("{} took {words} of the CPUs' time (steal).", begun("The hypervisor", "the hypervisor")),
        ));
    }
    let devices: BTreeSet<&String> = sides.iter().flat_map(|(_, others)| others.devices.keys()).collect();
    for device in devices {
        let times: Vec<(&str, &Others, f64)> =
            sides.iter().filter_map(|(label, others)| Some((*label, *others, others.times(device)?))).collect();
        let most = times.iter().map(|side| side.2).fold(0.0, f64::max);
        let least = times.iter().map(|side| side.2).fold(f64::INFINITY, f64::min);
        if most <= BYTES {
            continue;
        }
        let movers = |others: &Others| others.movers(others.devices.get(device).map_or(0.0, |bytes| bytes.0));
        let words = times.iter().map(|(label, others, times)| {
            format!("{times:.1} times the bytes of {label}{}", in_parentheses(movers(others)))
        });
        let words = words.collect::<Vec<String>>().join(", ");
        // A file system writes its journal, and reads ahead: alike on all sides, that is part of the load.
        let is_others = times.iter().any(|side| !movers(side.1).is_empty()) || most > BYTES * least;
        let (tone, whose) = match is_others {
            true => (Tone::Warning, "others moved some"),
            false => (Tone::Info, "what its file system adds, or others"),
        };
        found.push((tone, format!("{} {device} moved {words}: {whose}.", begun("Device", "device"))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_noise_is_no_warning_and_bursts_in_a_tenth_of_the_time_are() {
        let others = |share: f64, busy_seconds: f64| Others {
            capacity_ns: 1e9,
            cpu_ns: BTreeMap::from([("cc1".to_string(), 1e9 * share)]),
            seconds: 100.0,
            busy_seconds,
            ..Others::default()
        };
        let busy = |share, seconds| others(share, seconds).is_busy();
        assert_eq!((busy(0.01, 2.0), busy(0.03, 11.0), busy(0.06, 0.0)), (false, true, true));
        assert_eq!(others(0.06, 0.0).names(), " (cc1 6.0 %)");
        assert!(!Others::default().is_busy() && Others::default().cpu().is_none());
        let mut both = others(0.02, 5.0);
        both.add(&others(0.1, 50.0));
        assert_eq!((both.cpu(), both.seconds, both.busy_seconds), (Some(0.06), 200.0, 55.0));
    }

    #[test]
    fn a_sample_tells_of_what_was_before_it() {
        let span =
            |from_s: i64, to_s: i64| Span { run: 0, from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000 };
        let spans = [span(10, 20), span(30, 40)];
        let at = |tenths: i64| span_of(&spans, tenths * 100_000_000);
        // The one at the start is a baseline, the one at the end may be read late.
        assert_eq!((at(100), at(110), at(200), at(202), at(204)), (None, Some(0), Some(0), Some(0), None));
        assert_eq!((at(300), at(301), at(402)), (None, Some(1), Some(1)));
    }
}
