//! What a disk's I/Os were like over the last seconds: maps of their response times, their sizes and their addresses. Columns
//! are moments, rows are values.

use super::heat::{Scale, edge, range_of};
use super::{BANDS, HeatColumn, PageInterval, PageScene};
use quantity::figures::{DecimalPlaces, UnitScale, short};
use quantity::histogram::Histogram;
use rates::stat::CounterSubject;
use recording::rows::IoInterval;

/// What a map is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapOf {
    /// Response times.
    #[default]
    Response,
    /// Sizes.
    Size,
    /// Addresses.
    Place,
}

impl MapOf {
    /// In the order in which they are gone through.
    pub const ALL: [Self; 3] = [Self::Response, Self::Size, Self::Place];

    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Response => Self::Size,
            Self::Size => Self::Place,
            Self::Place => Self::Response,
        }
    }

    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Size => "size",
            Self::Place => "address",
        }
    }
}

/// A map, ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskMap {
    /// What it is of, which device.
    pub title: String,
    /// Lower edges of the rows, upwards.
    pub labels: Vec<String>,
    /// Oldest first.
    pub columns: Vec<HeatColumn>,
    /// Why there is nothing in it, or not what there should be.
    pub note: Option<String>,
}

impl DiskMap {
    /// The greatest count of any cell; 0 when the map is empty.
    #[must_use]
    pub fn most(&self) -> u64 {
        let counts = self.columns.iter().filter_map(|column| match column {
            HeatColumn::Counts(counts) => counts.iter().max().copied(),
            HeatColumn::Unknown | HeatColumn::Mean(_) => None,
        });
        counts.max().unwrap_or(0)
    }
}

impl PageInterval {
    /// Sizes of a device's I/Os in this interval; `None` where there were none, or they were not recorded.
    fn sizes_of(&self, device: &str) -> Option<Histogram> {
        let mut all: Option<Histogram> = None;
        for row in self.ios.iter().filter(|row| &*row.dev == device && row.sizes.0.count() > 0) {
            match &mut all {
                Some(all) => all.merge(&row.sizes.0),
                None => all = Some(row.sizes.0.clone()),
            }
        }
        all
    }

    /// Did a device do anything in this interval, by its counters? `None`: they do not tell.
    fn did_anything(&self, device: &str) -> Option<bool> {
        let figure = |key| self.figure(CounterSubject::Disk, device, key);
        let known: Vec<f64> =
            ["read_per_s", "write_per_s", "discard_per_s", "flush_per_s"].into_iter().filter_map(figure).collect();
        (!known.is_empty()).then(|| known.iter().any(|per_s| *per_s > 0.0))
    }
}

impl PageScene<'_> {
    /// A map of a device in so many rows and at most so many columns.
    #[must_use]
    pub fn disk_map(&self, device: &str, of: MapOf, rows: usize, columns: usize) -> DiskMap {
        match of {
            MapOf::Response => self.response_map(device, rows, columns),
            MapOf::Size => self.size_map(device, rows, columns),
            MapOf::Place => self.place_map(device, rows, columns),
        }
    }

    fn shown(&self, columns: usize) -> &[PageInterval] {
        &self.moments[self.moments.len().saturating_sub(columns)..]
    }

    fn response_map(&self, device: &str, rows: usize, columns: usize) -> DiskMap {
        let heat = self.heat(device, rows, columns);
        let labels = heat.lower_ns.iter().map(|ns| edge(*ns)).collect();
        let title = format!("DISK RESPONSE {device} (log)");
        DiskMap { title, labels, columns: heat.columns, note: heat.note }
    }

    fn size_map(&self, device: &str, rows: usize, columns: usize) -> DiskMap {
        let moments = self.shown(columns);
        let sizes: Vec<Option<Histogram>> = moments.iter().map(|moment| moment.sizes_of(device)).collect();
        let scale = Scale::of(sizes.iter().flatten().filter_map(range_of), 9, rows);
        let column = |sizes: &Option<Histogram>| {
            HeatColumn::Counts(sizes.as_ref().map_or_else(|| vec![0; rows], |sizes| scale.counts(sizes, rows)))
        };
        let lower = scale.lower(rows);
        let map = DiskMap {
            title: format!("DISK SIZE {device} (log)"),
            labels: lower.iter().map(|bytes| binary(*bytes)).collect(),
            columns: sizes.iter().map(column).collect(),
            note: None,
        };
        self.with_note(map, device, moments, (|row| row.bytes > 0, "sizes were not recorded"))
    }

    fn place_map(&self, device: &str, rows: usize, columns: usize) -> DiskMap {
        let moments = self.shown(columns);
        let places = || moments.iter().flat_map(|moment| &moment.places).filter(|row| &*row.dev == device);
        let capacity = places().next_back().map(|row| row.capacity_bytes as f64);
        let column = |moment: &PageInterval| {
            let mut counts = vec![0_u64; rows];
            for row in moment.places.iter().filter(|row| &*row.dev == device) {
                // Bands and rows upwards; a row has several bands, or a band several rows.
                let band = usize::try_from(row.band).unwrap_or(0).min(BANDS - 1);
                if let Some(cell) = counts.get_mut(band * rows / BANDS) {
                    *cell += u64::try_from(row.reads + row.writes).unwrap_or(0);
                }
            }
            HeatColumn::Counts(counts)
        };
        let label = |row: usize| capacity.map_or(String::new(), |all| short(all * row as f64 / rows.max(1) as f64));
        let of = capacity.map_or(String::new(), |all| format!(" of {}B", short(all)));
        let map = DiskMap {
            title: format!("DISK ADDRESS {device}{of}"),
            labels: (0..rows).map(label).collect(),
            columns: moments.iter().map(column).collect(),
            note: None,
        };
        // Others have no place on it.
        let belongs = |row: &IoInterval| matches!(&*row.op, "read" | "write");
        self.with_note(map, device, moments, (belongs, "addresses were not recorded, or the capacity is not known"))
    }

    /// Of a map without counts, why: words for where I/Os are known that belong on it, but not what it is of.
    fn with_note(
        &self,
        mut map: DiskMap,
        device: &str,
        moments: &[PageInterval],
        (belongs, lacks): (fn(&IoInterval) -> bool, &str),
    ) -> DiskMap {
        if map.most() == 0 {
            let rows = || moments.iter().flat_map(|moment| &moment.ios).filter(|row| &*row.dev == device);
            map.note = Some(if rows().any(belongs) {
                lacks.to_string()
            } else if rows().next().is_some() {
                "no reads or writes in this time".to_string()
            } else {
                self.why_empty(device, moments.iter())
            });
        }
        map
    }

    /// Why nothing is known of a device's I/Os in these moments: there were none, they were not followed, or both.
    pub(super) fn why_empty<'m>(&self, device: &str, moments: impl Iterator<Item = &'m PageInterval>) -> String {
        const NONE: &str = "no I/O in this time";
        let did: Vec<bool> = moments.filter_map(|moment| moment.did_anything(device)).collect();
        let is_busy = did.contains(&true);
        let is_idle = !did.is_empty() && !is_busy;
        match self.no_blocks {
            // The probe or the recording has others, as of a disk but not of its partitions.
            None if is_busy => "its I/Os were not followed".to_string(),
            None => NONE.to_string(),
            Some(why) if is_idle => format!("{NONE}; {why}"),
            Some(why) => why.to_string(),
        }
    }
}

/// A size: `512`, `4Ki`, `6.5Ki`, `1Mi`; Ki = 1024.
pub(super) fn binary(bytes: f64) -> String {
    let (scaled, prefix) = UnitScale::BINARY.of(bytes);
    let is_whole = prefix == "Ti" || (scaled - scaled.round()).abs() < 0.05;
    let number = if is_whole { format!("{scaled:.0}") } else { DecimalPlaces::ONE_BELOW_100.format(scaled) };
    format!("{number}{prefix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageFold;
    use recording::rows::{Cpu, Disk, IoPlace};
    use recording::{Label, Row, RowBatch, Sink as _, SizeHistogram};

    const SECOND_NS: i64 = 1_000_000_000;

    #[test]
    fn sizes_in_words() {
        for (bytes, words) in
            [(512.0, "512"), (4096.0, "4Ki"), (6656.0, "6.5Ki"), (131_072.0, "128Ki"), (1_048_576.0, "1Mi")]
        {
            assert_eq!(binary(bytes), words);
        }
    }

    fn batch<R: Row>(rows: &[R]) -> RowBatch {
        RowBatch::from_rows(rows).expect("a batch")
    }

    fn cpu(n: i64) -> Cpu {
        Cpu {
            t_ns: n * SECOND_NS,
            t_s: n as f64,
            cpu: "all".to_string(),
            user_ns: 0,
            nice_ns: None,
            system_ns: 0,
            idle_ns: n * SECOND_NS,
            iowait_ns: None,
            irq_ns: None,
            softirq_ns: None,
            steal_ns: None,
            clock: "tick".to_string(),
        }
    }

    /// A device with so many reads a second by its counters, from the third second on.
    fn disk(n: i64, reads: i64) -> Disk {
        let done = (n - 2).max(0) * reads;
        Disk {
            t_ns: n * SECOND_NS,
            t_s: n as f64,
            device: "sda".to_string(),
            target: String::new(),
            read_ios: Some(done),
            read_merges: Some(0),
            read_sectors: Some(done * 8),
            read_ticks_ms: Some(0),
            write_ios: Some(0),
            write_merges: Some(0),
            write_sectors: Some(0),
            write_ticks_ms: Some(0),
            in_flight: Some(0),
            io_ticks_ms: Some(0),
            weighted_ticks_ms: Some(0),
            discard_ios: None,
            discard_merges: None,
            discard_sectors: None,
            discard_ticks_ms: None,
            flush_ios: None,
            flush_ticks_ms: None,
            any_ios: None,
            any_sectors: None,
        }
    }

    fn histogram(values: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new(5);
        values.iter().for_each(|(value, count)| (0..*count).for_each(|_| histogram.record(*value)));
        histogram
    }

    fn io(n: i64, op: &str, sizes: &[(u64, u64)], asynchronous: Option<i64>) -> IoInterval {
        let sizes = histogram(sizes);
        IoInterval {
            t_ns: n * SECOND_NS,
            t_s: n as f64,
            interval_ns: SECOND_NS,
            dev: Label::from("sda"),
            op: Label::from(op),
            pid: None,
            comm: None,
            file: None,
            ios: i64::try_from(sizes.count()).expect("few"),
            bytes: i64::try_from(sizes.sum()).expect("few"),
            response: histogram(&[(200_000, sizes.count())]),
            asynchronous,
            sizes: SizeHistogram(sizes),
            sequential: None,
            errors: Some(0),
        }
    }

    fn place(n: i64, band: i32, reads: i64) -> IoPlace {
        IoPlace {
            t_ns: n * SECOND_NS,
            t_s: n as f64,
            interval_ns: SECOND_NS,
            dev: Label::from("sda"),
            capacity_bytes: 64_000_000,
            band,
            reads,
            writes: 0,
            bytes: reads * 4096,
        }
    }

    /// Five seconds, in each what `of` gives.
    fn moments(of: impl Fn(i64) -> Vec<RowBatch>) -> Vec<PageInterval> {
        let mut fold = PageFold::default();
        for n in 1..=5 {
            fold.accept(&batch(&[cpu(n)])).expect("a batch");
            of(n).iter().for_each(|batch| fold.accept(batch).expect("a batch"));
            fold.commit().expect("a sample");
        }
        fold.take()
    }

    fn with<T>(moments: &[PageInterval], no_blocks: Option<&str>, of: impl FnOnce(&PageScene<'_>) -> T) -> T {
        let verdicts = rates::Availability::default();
        of(&PageScene { no_blocks, ..PageScene::of(moments, &verdicts) })
    }

    #[test]
    fn maps_put_sizes_and_addresses_where_they_belong() {
        let moments = moments(|n| {
            vec![
                batch(&[disk(n, 13)]),
                batch(&[io(n, "read", &[(4096, 10)], Some(0)), io(n, "write", &[(131_072, 3)], Some(3))]),
                batch(&[place(n, 0, 10), place(n, 63, 3)]),
            ]
        });
        with(&moments, None, |scene| {
            let sizes = scene.disk_map("sda", MapOf::Size, 6, 100);
            assert_eq!(sizes.labels, ["4Ki", "8Ki", "16Ki", "32Ki", "64Ki", "128Ki"]);
            assert_eq!(sizes.columns, vec![HeatColumn::Counts(vec![10, 0, 0, 0, 0, 3]); 4]);
            assert_eq!((sizes.most(), &sizes.note), (10, &None));
            let places = scene.disk_map("sda", MapOf::Place, 4, 2);
            assert_eq!(places.labels, ["0", "16M", "32M", "48M"]);
            assert_eq!(places.columns, vec![HeatColumn::Counts(vec![10, 0, 0, 3]); 2], "the newest columns");
            assert!(places.title.contains("of 64MB"), "{}", places.title);
            let grid = scene.operations("sda");
            let cells: Vec<_> = grid.rows.iter().map(|row| row.cells.join("|")).collect();
            assert_eq!(cells[0], "read|10|41k|4Ki|4Ki|200 µs|200 µs|0%");
            assert_eq!(cells[1], "write|3.0|393k|128Ki|128Ki|200 µs|200 µs|100%");
            assert_eq!(cells[2], "all|13|434k|4Ki|128Ki|200 µs|200 µs|23%");
        });
    }

    #[test]
    fn an_empty_map_says_why_and_all_of_it() {
        let check = |reads: i64, no_blocks: Option<&str>, expect: &str| {
            let moments = moments(|n| vec![batch(&[disk(n, reads)])]);
            with(&moments, no_blocks, |scene| {
                for of in [MapOf::Size, MapOf::Place] {
                    assert_eq!(scene.disk_map("sda", of, 6, 50).note.as_deref(), Some(expect), "{of:?}");
                }
                assert_eq!(scene.operations("sda").note.as_deref(), Some(expect));
            });
        };
        let unrecorded = Some("single I/Os were not recorded");
        check(0, None, "no I/O in this time");
        check(0, unrecorded, "no I/O in this time; single I/Os were not recorded");
        check(7, unrecorded, "single I/Os were not recorded");
        check(7, None, "its I/Os were not followed");
        let idle = moments(|n| vec![batch(&[disk(n, 0)])]);
        with(&idle, unrecorded, |scene| {
            let note = scene.disk_map("sda", MapOf::Response, 6, 50).note;
            assert_eq!(note.as_deref(), Some("no I/O in this time; single I/Os were not recorded"));
        });
        // Nothing at all is known of it.
        let unknown = moments(|_| Vec::new());
        with(&unknown, unrecorded, |scene| {
            assert_eq!(scene.disk_map("sda", MapOf::Size, 6, 50).note.as_deref(), unrecorded);
        });
    }

    #[test]
    fn discards_are_on_the_map_of_sizes_alone() {
        let discards = moments(|n| vec![batch(&[disk(n, 5)]), batch(&[io(n, "discard", &[(1 << 20, 5)], None)])]);
        with(&discards, None, |scene| {
            assert_eq!(scene.disk_map("sda", MapOf::Size, 6, 50).note, None);
            let note = scene.disk_map("sda", MapOf::Place, 6, 50).note;
            assert_eq!(note.as_deref(), Some("no reads or writes in this time"));
        });
    }

    #[test]
    fn an_older_recording_has_ios_without_sizes_and_addresses() {
        let old = |n| {
            let mut row = io(n, "write", &[(4096, 5)], None);
            row.sizes = SizeHistogram::default();
            vec![batch(&[disk(n, 5)]), batch(&[row])]
        };
        with(&moments(old), None, |scene| {
            let note = |of| scene.disk_map("sda", of, 6, 50).note;
            assert_eq!(note(MapOf::Size).as_deref(), Some("sizes were not recorded"));
            assert!(note(MapOf::Place).expect("words").contains("not recorded"));
            assert_eq!(note(MapOf::Response), None);
            let grid = scene.operations("sda");
            assert_eq!(grid.rows[0].cells.join("|"), "write|5.0|20k|?|?|200 µs|200 µs|?");
        });
    }
}
