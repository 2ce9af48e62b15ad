//! The report of a machine that was watched while nothing was driven or traced: all of the recording is one stretch.

use super::figure;
use crate::model::ReportFigure;
use crate::{RecordingFacts, views};
use rates::Availability;
use rates::disk::is_partition;
use rates::{CpuPoint, DiskPoint, NetPoint, is_loopback};
use view::{Unit, ViewData};

/// A figure over time, in a few words.
#[derive(Clone, Copy)]
struct Course {
    mean: f64,
    most: f64,
}

/// Mean over the time that is known, each interval by its length, and the greatest. `None` where nothing is known.
fn course<P>(points: &[P], length_ns: fn(&P) -> i64, of: impl Fn(&P) -> Option<f64>) -> Option<Course> {
    let (mut sum, mut time, mut most) = (0.0, 0.0, f64::NEG_INFINITY);
    for (point, value) in points.iter().filter_map(|point| Some((point, of(point)?))) {
        let length = length_ns(point).max(1) as f64;
        sum += value * length;
        time += length;
        most = most.max(value);
    }
    (time > 0.0).then(|| Course { mean: sum / time, most })
}

/// Something with a name, and its points.
type Named<'a, P> = (&'a str, &'a [P]);

/// The one with the greatest mean, where that is more than nothing; of equals the first.
fn busiest<'a, P>(
    all: &[Named<'a, P>],
    length_ns: fn(&P) -> i64,
    of: impl Fn(&P) -> Option<f64>,
) -> Option<(&'a str, &'a [P], Course)> {
    let courses = all.iter().filter_map(|(name, points)| Some((*name, *points, course(points, length_ns, &of)?)));
    let busiest = courses.rev().max_by(|a, b| a.2.mean.total_cmp(&b.2.mean));
    busiest.filter(|(_, _, course)| course.mean > 0.0)
}

/// Whole devices, without partitions and without volumes over other recorded devices: the I/O of a volume is counted on these.
/// Memory, network and other devices without a controller are among them.
fn disks(facts: &RecordingFacts) -> Vec<Named<'_, DiskPoint>> {
    let all = facts.disks.iter().map(|(name, points)| (name.as_str(), points.as_slice()));
    let whole = all.filter(|(name, _)| !facts.disks.keys().any(|whole| is_partition(name, whole)));
    whole.filter(|(name, _)| !is_volume(facts, name)).collect()
}

/// Does this device stand on others that were recorded?
fn is_volume(facts: &RecordingFacts, name: &str) -> bool {
    let hardware = &facts.manifest.hardware;
    if let Some(over) = hardware.get("over") {
        let below = over[name].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
        return below.into_iter().any(|below| facts.disks.contains_key(below));
    }
    // Older recordings tell only what hangs on a controller.
    let has_controller = |name: &str| hardware["controllers"][name].is_string();
    let is_kind = ["dm-", "md", "loop"].iter().any(|kind| name.starts_with(kind));
    is_kind && facts.disks.keys().any(|other| has_controller(other))
}

/// That volumes were left out that moved something.
fn volumes(facts: &RecordingFacts) -> String {
    let moved = |points: &[DiskPoint]| points.iter().any(|point| point.bytes().is_some_and(|bytes| bytes > 0.0));
    let of = facts.disks.iter().filter(|(name, points)| is_volume(facts, name) && moved(points));
    let names: Vec<&str> = of.map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => format!(" ({only} is on other devices, and counted there)"),
        [names @ .., last] if names.len() < 4 => {
            format!(" ({} and {last} are on other devices, and counted there)", names.join(", "))
        }
        [first, second, more @ ..] => {
            format!(" ({first}, {second} and {} more are on other devices, and counted there)", more.len())
        }
    }
}

/// Interfaces with a wire.
fn links(facts: &RecordingFacts) -> Vec<Named<'_, NetPoint>> {
    let links = facts.nets.iter().filter(|(name, _)| !is_loopback(name));
    links.map(|(name, points)| (name.as_str(), points.as_slice())).collect()
}

/// The device and the interval of the greatest mean response.
fn slowest<'a>(disks: &[Named<'a, DiskPoint>]) -> Option<(&'a str, &'a DiskPoint, f64)> {
    let each = disks.iter().flat_map(|(name, points)| points.iter().map(move |point| (*name, point)));
    let known = each.filter_map(|(name, point)| Some((name, point, point.response_ns?)));
    known.rev().max_by(|a, b| a.2.total_cmp(&b.2))
}

fn busy(point: &CpuPoint) -> Option<f64> {
    Some(point.busy())
}

fn rate(value: f64) -> String {
    Unit::BytesPerSecond.format(Some(value))
}

fn percent(value: f64) -> String {
    Unit::Percent.format(Some(value))
}

/// What the machine did, in a sentence; [`RecordingFacts::without_runs`] goes before.
pub(super) fn sentence(facts: &RecordingFacts) -> String {
    let span_s = facts.runs.first().map_or(0.0, |all| (all.end_ns() - all.start_ns) as f64 / 1e9);
    let cpu = course(&facts.cpu, |point| point.length_ns, busy)
        .map(|cpu| format!("CPUs {} busy on average and {} at most", percent(cpu.mean), percent(cpu.most)));
    let disk = busiest(&disks(facts), |point| point.length_ns, DiskPoint::bytes).map(|(name, _, course)| {
        format!("{name}, the device that moved most, {}{}", rate(course.mean), volumes(facts))
    });
    let net = busiest(&links(facts), |point| point.length_ns, NetPoint::bytes)
        .map(|(name, _, course)| format!("{name}, the busiest interface, {}", rate(course.mean)));
    let parts: Vec<String> = [cpu, disk, net].into_iter().flatten().collect();
    let host = if facts.manifest.host.is_empty() { "a machine" } else { &facts.manifest.host };
    let colon = if parts.is_empty() { "" } else { ": " };
    format!("{} of {host}{colon}{}.", Unit::Seconds.format(Some(span_s)), parts.join("; "))
}

/// The same as figures.
pub(super) fn figures(facts: &RecordingFacts) -> Vec<ReportFigure> {
    let mut figures = Vec::new();
    if let Some(cpu) = course(&facts.cpu, |point| point.length_ns, busy) {
        let single = course(&facts.cpu, |point| point.length_ns, |point| point.busiest);
        let single = single.map_or(String::new(), |one| format!(", a single one {}", percent(one.most)));
        let detail = format!("at most {}{single}", percent(cpu.most));
        figures.push(figure("CPUs busy", percent(cpu.mean), detail));
    }
    let disks = disks(facts);
    if let Some((name, points, moved)) = busiest(&disks, |point| point.length_ns, DiskPoint::bytes) {
        figures.push(figure("Busiest device", rate(moved.mean), format!("{name}, at most {}", rate(moved.most))));
        if let Some(busy) = course(points, |point| point.length_ns, |point| point.busy) {
            figures.push(figure("Utilization there", percent(busy.mean), format!("at most {}", percent(busy.most))));
        }
    }
    if let Some((name, point, response_ns)) = slowest(&disks) {
        let at_s = (point.t_ns - facts.manifest.started_t_ns) as f64 / 1e9;
        let rate = Unit::OpsPerSecond.format(point.requests());
        let detail = format!("mean response of {name} at {}, {rate}", Unit::Seconds.format(Some(at_s)));
        figures.push(figure("Slowest interval", Unit::Nanoseconds.format(Some(response_ns)), detail));
    }
    if let Some((name, _, moved)) = busiest(&links(facts), |point| point.length_ns, NetPoint::bytes) {
        figures.push(figure("Busiest interface", rate(moved.mean), format!("{name}, at most {}", rate(moved.most))));
    }
    figures
}

/// The views of counters, over all of the recording.
pub(super) fn drawn(facts: &RecordingFacts) -> Vec<ViewData> {
    let verdicts = Availability::of(&facts.manifest);
    let of_counters = views().iter().filter(|view| Availability::table_of(view.id).is_some());
    let drawn = of_counters.filter_map(|view| view.draw(facts, facts.runs.first()).or_else(|| view.missing(&verdicts)));
    drawn.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::rows::{Cpu, Net};

    const SECOND_NS: i64 = 1_000_000_000;

    fn disk(t_s: i64, read_bytes: Option<f64>) -> DiskPoint {
        DiskPoint { t_ns: t_s * SECOND_NS, length_ns: SECOND_NS, read_bytes, ..DiskPoint::default() }
    }

    #[test]
    fn a_mean_is_of_the_time_and_not_of_the_points() {
        // As where the old part of a day is thinned: 10 s of 1, then 1 s of 12.
        let of = |length_s: i64, bytes| DiskPoint { length_ns: length_s * SECOND_NS, ..disk(0, bytes) };
        let points = [of(10, Some(1.0)), of(10, Some(1.0)), of(1, Some(12.0)), of(10, None)];
        let course = course(&points, |point| point.length_ns, DiskPoint::bytes).unwrap();
        assert_eq!((course.mean, course.most), (32.0 / 21.0, 12.0));
        assert!(super::course(&points[3..], |point| point.length_ns, DiskPoint::bytes).is_none(), "not known is not 0");
        assert!(super::course(&[], |point: &DiskPoint| point.length_ns, DiskPoint::bytes).is_none());
    }

    /// Samples of all CPUs: when, s; busy and idle since boot, s.
    fn cpus_busy(samples: &[(f64, f64, f64)]) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "a few seconds")]
        let ns = |seconds: f64| (seconds * 1e9).round() as i64;
        let row = |&(t_s, busy_s, idle_s): &(f64, f64, f64)| Cpu {
            t_ns: ns(t_s),
            cpu: "all".to_string(),
            user_ns: ns(busy_s),
            idle_ns: ns(idle_s),
            ..Cpu::default()
        };
        let points = rates::cpu(samples.iter().map(row), None);
        percent(course(&points, |point| point.length_ns, busy).unwrap().mean)
    }

    #[test]
    fn cpus_busy_of_a_command_that_ends_between_two_samples_is_their_mean_over_the_time() {
        // 0.9 s of the first second, 0.02 s of the 0.2 s that follow: 0.92 of 1.2 s.
        assert_eq!(cpus_busy(&[(0.0, 0.0, 0.0), (1.0, 0.9, 0.1), (1.2, 0.92, 0.28)]), "76.7 %");
    }

    #[test]
    fn time_in_which_nothing_is_known_of_the_cpus_counts_for_no_other() {
        // 10 s of 70 %, 20 s over which the counters began anew, 10 s of 30 %.
        let samples = [(0.0, 100.0, 100.0), (10.0, 107.0, 103.0), (30.0, 0.0, 0.0), (40.0, 3.0, 7.0)];
        assert_eq!(cpus_busy(&samples), "50.0 %");
    }

    #[test]
    fn what_an_interface_sent_does_not_pass_for_all_that_it_moved() {
        let second = |t_s: i64, rx_bytes, tx_bytes| Net {
            t_ns: t_s * SECOND_NS,
            interface: "eth0".to_string(),
            rx_bytes,
            tx_bytes,
            ..Net::default()
        };
        // 10 B/s in and 20 out; in the last second the counter of what it received began anew.
        let rows = [second(0, 100, 0), second(1, 110, 20), second(2, 120, 40), second(3, 5, 60)];
        let nets = rates::nets(rows.into_iter());
        let course = course(&nets["eth0"], |point| point.length_ns, NetPoint::bytes).unwrap();
        assert_eq!((course.mean, course.most), (30.0, 30.0));
    }

    #[test]
    fn the_busiest_is_neither_idle_nor_the_last_of_equals() {
        let both = |bytes| vec![disk(1, Some(bytes)), disk(2, Some(bytes))];
        let name = |bytes| {
            let all = [("loop0", both(0.0)), ("sda", both(bytes)), ("sdb", both(bytes))];
            let all: Vec<Named<'_, DiskPoint>> = all.iter().map(|(name, points)| (*name, points.as_slice())).collect();
            busiest(&all, |point| point.length_ns, DiskPoint::bytes).map(|(name, ..)| name.to_string())
        };
        assert_eq!(name(7.0).as_deref(), Some("sda"));
        assert_eq!(name(0.0), None);
        let mut slow = both(7.0);
        slow[1].response_ns = Some(2e6);
        let fast = both(1.0);
        let (name, point, ns) = slowest(&[("sda", &fast), ("sdb", &slow), ("sdc", &slow)]).unwrap();
        assert_eq!((name, point.t_ns, ns), ("sdb", 2 * SECOND_NS, 2e6));
    }
}
