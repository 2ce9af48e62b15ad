//! Files: what programs read and wrote of them, what of it came from devices, and how the page cache grows.

use super::details::{FileSum, file_name, per};
use super::resources::milliseconds;
use super::{DrillTarget, Grid, PageInterval, PageScene, PageSheet, short_or};
use quantity::histogram::Histogram;
use rates::counter::sum_known;
use rates::stat::CounterSubject;
use recording::rows::IoInterval;
use std::collections::BTreeMap;

impl PageScene<'_> {
    /// All files together, and the page cache.
    pub(super) fn page_cache(&self) -> Grid {
        let mut grid = Grid::new(
            "page cache (misses: what was read and came from a device)",
            &["", "reads/s", "writes/s", "B/s", "misses", "missed B/s", "cached", "growth B/s", "refaults/s"],
        );
        let lately: Vec<&PageInterval> = self.lately().collect();
        let now: Vec<&PageInterval> = self.now().into_iter().collect();
        for (name, moments) in [("now", now), ("last 10 s", lately)] {
            let seconds = moments.iter().map(|moment| moment.seconds).sum::<f64>().max(1e-9);
            let mut sum = FileSum::default();
            moments.iter().flat_map(|moment| &moment.files).for_each(|row| sum.add(row));
            let is_known = self.no_files.is_none();
            let rate = |count: i64| short_or(is_known.then_some(count as f64 / seconds));
            let misses = match (is_known, sum.physical()) {
                (false, _) => "?".to_string(),
                (true, None) => "-".to_string(),
                (true, Some(share)) => format!("{share:.1}%"),
            };
            let cached = |moment: &PageInterval| {
                moment.figure(CounterSubject::Memory, "", "cached_mib").map(|mib| mib * f64::from(1 << 20))
            };
            let refaults = sum_known(moments.iter().map(|moment| {
                Some(moment.figure(CounterSubject::Memory, "", "file_refaults_per_s")? * moment.seconds)
            }));
            grid.push(
                vec![
                    name.to_string(),
                    rate(sum.reads),
                    rate(sum.writes),
                    rate(sum.read_bytes + sum.written_bytes),
                    misses,
                    rate(sum.physical_bytes()),
                    short_or(self.now().and_then(cached)),
                    self.growth(moments.first().copied(), cached).map_or("?".to_string(), super::signed_short),
                    short_or(refaults.map(|refaults| refaults / seconds)),
                ],
                DrillTarget::Sheet(PageSheet::Memory),
            );
        }
        grid
    }

    /// Growth per second from the moment before `first` to the one that is shown.
    fn growth(&self, first: Option<&PageInterval>, of: impl Fn(&PageInterval) -> Option<f64>) -> Option<f64> {
        let (now, first) = (self.now()?, first?);
        let at = self.moments.partition_point(|moment| moment.t_ns < first.t_ns);
        // The first one of all has none before it.
        let before = self.moments.get(at.saturating_sub(1))?;
        let seconds = (now.t_ns - before.t_ns) as f64 / 1e9;
        if seconds > 0.0 { Some((of(now)? - of(before)?) / seconds) } else { None }
    }

    /// Files, most reads and writes first, as programs asked for them.
    #[must_use]
    pub fn files(&self) -> Grid {
        let mut grid = Grid::new("FILES", &["file", "IO/s", "B/s", "phys", "p99", "reads/s", "writes/s", "phys B/s"]);
        let Some(now) = self.now() else { return grid };
        let mut sums: BTreeMap<String, FileSum> = BTreeMap::new();
        for row in &now.files {
            sums.entry(file_name(row)).or_default().add(row);
        }
        let seconds = per(now);
        let mut ranked: Vec<(&String, &FileSum)> = sums.iter().filter(|(_, sum)| !sum.is_idle()).collect();
        ranked.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.reads + sum.writes));
        for (name, sum) in ranked {
            let cells = vec![
                name.clone(),
                short_or(Some((sum.reads + sum.writes) as f64 / seconds)),
                short_or(Some((sum.read_bytes + sum.written_bytes) as f64 / seconds)),
                sum.physical().map_or("-".to_string(), |share| format!("{share:.0}%")),
                p99_ns(&now.ios, name).map_or("-".to_string(), |ns| milliseconds(ns as f64)),
                short_or(Some(sum.reads as f64 / seconds)),
                short_or(Some(sum.writes as f64 / seconds)),
                short_or(Some(sum.physical_bytes() as f64 / seconds)),
            ];
            grid.push(cells, DrillTarget::Sheet(PageSheet::File(name.clone())));
        }
        grid.note = self.no_files.map(str::to_string);
        grid
    }
}

/// The 99th percentile of a file's I/Os on the device on which it is longest. An I/O through a device that lies on another is a
/// row of both and takes longest at the upper one: merged, each would count several times.
fn p99_ns(ios: &[IoInterval], file: &str) -> Option<u64> {
    let mut devices: BTreeMap<&str, Histogram> = BTreeMap::new();
    for row in ios.iter().filter(|row| row.file.as_deref() == Some(file)) {
        let all = devices.entry(&*row.dev).or_insert_with(|| Histogram::new(row.response.sub_bits()));
        all.merge(&row.response);
    }
    devices.values().filter_map(|all| all.percentile(0.99)).max()
}

#[cfg(test)]
mod tests {
    use super::p99_ns;
    use quantity::histogram::Histogram;
    use recording::rows::IoInterval;
    use recording::{Label, SizeHistogram};

    fn io(dev: &str, file: &str, times_ms: &[u64]) -> IoInterval {
        let mut response = Histogram::new(5);
        times_ms.iter().for_each(|ms| response.record(ms * 1_000_000));
        IoInterval {
            t_ns: 0,
            t_s: 0.0,
            interval_ns: 1_000_000_000,
            dev: Label::from(dev),
            op: Label::from("write"),
            pid: None,
            comm: None,
            file: Some(Label::from(file)),
            ios: i64::try_from(times_ms.len()).expect("few"),
            bytes: 0,
            response,
            asynchronous: None,
            sizes: SizeHistogram(Histogram::new(5)),
            sequential: None,
            errors: Some(0),
        }
    }

    #[test]
    fn an_io_that_is_seen_at_two_devices_counts_at_the_upper_one() {
        // 1 in 60 of the volume's is slow, which is 1 in 120 of all rows together.
        let slow = [&[4; 59][..], &[90]].concat();
        let ios = [io("dm-0", "/a", &slow), io("sda", "/a", &[1; 60]), io("sda", "/b", &[500])];
        let ms = |file: &str| p99_ns(&ios, file).map(|ns| (ns as f64 / 1e6).round());
        assert!(ms("/a").is_some_and(|ms| (87.0..=93.0).contains(&ms)), "{:?}", ms("/a"));
        assert_eq!(ms("/c"), None);
    }
}
