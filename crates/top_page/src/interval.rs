//! From single I/Os to rows of the tables `io_interval` and `io_place`.

use arrow_array::Array as _;
use quantity::histogram::HistogramMerger;
use rates::{BatchColumns, NameNumbers};
use recording::rows::{self, IoInterval, IoPlace};
use recording::{Label, RowBatch, SizeHistogram};
use std::collections::HashMap;
use view::TableReadError;
use workload::traced::rows::{NumberedIo, append};
use workload::traced::streams::SequentialStreams;

/// Most rows of one interval with a process and a file of their own.
const ROWS: usize = 200;
/// Length of an interval that is made of a trace.
pub const TRACED_EVERY_NS: i64 = 1_000_000_000;

/// Parts of a device's capacity whose I/Os are counted by themselves.
pub const BANDS: usize = 64;

/// Device, operation, process, its name, file; numbers of `NameNumbers`.
type Key = (usize, usize, i32, usize, usize);

#[derive(Default)]
struct Sum {
    ios: i64,
    bytes: i64,
    response: HistogramMerger,
    sizes: HistogramMerger,
    asynchronous: i64,
    /// I/Os without flags: whether a task waits for them is unknown.
    unflagged: i64,
    /// Of reads and writes: those that continue a stream.
    sequential: Option<i64>,
    errors: i64,
}

impl Sum {
    /// Adds an I/O that stands for `weight` of its kind.
    fn add(&mut self, row: &NumberedIo, is_asynchronous: Option<bool>, weight: u32) {
        let count = i64::from(weight);
        self.ios += count;
        self.bytes += row.bytes.saturating_mul(count);
        self.errors += i64::from(row.failed) * count;
        if let Some(response_ns) = row.response_ns() {
            self.response.record_n(response_ns, weight.into());
        }
        if let Some(bytes) = u64::try_from(row.bytes).ok().filter(|bytes| *bytes > 0) {
            self.sizes.record_n(bytes, weight.into());
        }
        match is_asynchronous {
            Some(is) => self.asynchronous += i64::from(is) * count,
            None => self.unflagged += count,
        }
    }

    fn merge(&mut self, other: &mut Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.asynchronous += other.asynchronous;
        self.unflagged += other.unflagged;
        if let Some(sequential) = other.sequential {
            *self.sequential.get_or_insert(0) += sequential;
        }
        // Both have the same buckets; a histogram of our own making can be read.
        let _ = self.response.add(&other.response.take().encode());
        let _ = self.sizes.add(&other.sizes.take().encode());
    }
}

/// Of a band: reads, writes, bytes.
type Band = (i64, i64, i64);

/// Where a device's I/Os were.
struct Places {
    capacity_bytes: u64,
    bands: [Band; BANDS],
}

impl Places {
    fn add(&mut self, row: &NumberedIo, weight: u32) {
        let at_bytes = u128::try_from(row.sector).unwrap_or(0) * 512;
        let band = at_bytes * BANDS as u128 / u128::from(self.capacity_bytes.max(1));
        // A device that has just shrunk may end I/Os behind its end.
        let band = usize::try_from(band).unwrap_or(BANDS).min(BANDS - 1);
        let (reads, writes, bytes) = &mut self.bands[band];
        match row.class {
            0 => *reads += i64::from(weight),
            1 => *writes += i64::from(weight),
            // A discard may reach over many bands, and a flush has no place.
            _ => return,
        }
        *bytes += row.bytes.saturating_mul(weight.into());
    }
}

/// Gives the capacity of a device in bytes, where it is known.
type CapacityOf = Box<dyn Fn(&str) -> Option<u64> + Send>;

/// Sums I/Os of the table `io` until they are taken.
#[derive(Default)]
pub struct IoAggregator {
    names: NameNumbers,
    sums: HashMap<Key, Sum>,
    waiting: Vec<NumberedIo>,
    /// By the number of a row's flags: `sync`, read-ahead.
    marks: HashMap<usize, (bool, bool)>,
    capacity_of: Option<CapacityOf>,
    /// `None`: the device's capacity is not known.
    places: HashMap<usize, Option<Box<Places>>>,
    streams: HashMap<usize, SequentialStreams>,
    /// Each I/O stands for so many.
    sample: Sample,
}

/// One I/O in so many is given.
#[derive(Clone, Copy, Debug)]
struct Sample(u32);

impl Default for Sample {
    fn default() -> Self {
        Self(1)
    }
}

impl std::fmt::Debug for IoAggregator {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("IoAggregator").field("sums", &self.sums.len()).finish_non_exhaustive()
    }
}

impl IoAggregator {
    /// Sums that also tell where on devices I/Os were. Of each device that does anything `capacity_of` is asked once in an
    /// interval for its bytes: a loop device may be another one meanwhile.
    pub fn with_capacities(capacity_of: impl Fn(&str) -> Option<u64> + Send + 'static) -> Self {
        Self { capacity_of: Some(Box::new(capacity_of)), ..Self::default() }
    }

    /// The same of a trace of one I/O in `sample` ([`workload::traced::sample::sample`]): counts, bytes and histograms are estimates for all.
    #[must_use]
    pub fn of_one_in(self, sample: u64) -> Self {
        Self { sample: Sample(u32::try_from(sample).unwrap_or(u32::MAX).max(1)), ..self }
    }

    /// Adds a batch; those of other tables are passed over.
    ///
    /// # Errors
    /// It has not the columns of its table.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), TableReadError> {
        if batch.table.name != rows::Io::NAME {
            return Ok(());
        }
        let mut rows = std::mem::take(&mut self.waiting);
        append(&batch.rows, &mut self.names, &mut rows)?;
        let flags = batch.rows.column_by_name("flags");
        let owners = BatchColumns { table: rows::Io::NAME, batch: &batch.rows }.ints("owner_pid")?;
        // They come as they were completed, but continue each other as they were asked for.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|at| rows.get(*at).map(|row| row.queue_ns));
        for (at, row) in order.into_iter().filter_map(|at| Some((at, rows.get(at)?))) {
            let pid = if at < owners.len() && owners.is_valid(at) { owners.value(at) } else { row.pid };
            let names = &self.names;
            let (is_sync, is_ahead) = *self.marks.entry(row.flags).or_insert_with(|| {
                let has = |mark: &str| names.name(row.flags).split('+').any(|flag| flag == mark);
                (has("sync"), has("readahead"))
            });
            let has_flags = flags.is_none_or(|flags| flags.is_valid(at));
            let is_asynchronous = has_flags.then_some((row.class == 1 && !is_sync) || (row.class == 0 && is_ahead));
            let sum = self.sums.entry((row.dev, row.op, pid, row.process, row.file)).or_default();
            sum.add(row, is_asynchronous, self.sample.0);
            // What a sample's I/O continues is mostly not in the sample.
            if row.class < 2 && row.bytes > 0 && self.sample.0 == 1 {
                let continues = self.streams.entry(row.dev).or_default().continues(row);
                *sum.sequential.get_or_insert(0) += i64::from(continues);
            }
            if let Some(capacity_of) = &self.capacity_of {
                let places = self.places.entry(row.dev).or_insert_with(|| {
                    let capacity_bytes = capacity_of(names.name(row.dev)).filter(|bytes| *bytes > 0)?;
                    Some(Box::new(Places { capacity_bytes, bands: [(0, 0, 0); BANDS] }))
                });
                if let Some(places) = places {
                    places.add(row, self.sample.0);
                }
            }
        }
        rows.clear();
        self.waiting = rows;
        Ok(())
    }

    /// The rows of the interval from `from_ns` to `t_ns`; the recording began at `origin_ns`. Where on devices I/Os were is
    /// known of those whose capacity is.
    pub fn take(&mut self, from_ns: i64, t_ns: i64, origin_ns: i64) -> (Vec<IoInterval>, Vec<IoPlace>) {
        let places = self.take_places(from_ns, t_ns, origin_ns);
        (self.take_sums(from_ns, t_ns, origin_ns), places)
    }

    fn take_places(&mut self, from_ns: i64, t_ns: i64, origin_ns: i64) -> Vec<IoPlace> {
        let mut rows = Vec::new();
        for (dev, places) in self.places.drain() {
            let Some(places) = places else { continue };
            let dev = Label::from(self.names.name(dev));
            for (band, (reads, writes, bytes)) in (0..).zip(places.bands) {
                if reads + writes > 0 {
                    rows.push(IoPlace {
                        t_ns,
                        t_s: (t_ns - origin_ns) as f64 / 1e9,
                        interval_ns: t_ns - from_ns,
                        dev: dev.clone(),
                        capacity_bytes: i64::try_from(places.capacity_bytes).unwrap_or(i64::MAX),
                        band,
                        reads,
                        writes,
                        bytes,
                    });
                }
            }
        }
        rows
    }

    fn take_sums(&mut self, from_ns: i64, t_ns: i64, origin_ns: i64) -> Vec<IoInterval> {
        let mut sums: Vec<(Key, Sum)> = self.sums.drain().collect();
        sums.sort_by(|a, b| b.1.ios.cmp(&a.1.ios).then(a.0.cmp(&b.0)));
        let mut rest: HashMap<(usize, usize), Sum> = HashMap::new();
        let mut rows = Vec::with_capacity(sums.len().min(ROWS));
        for (at, (key, mut sum)) in sums.into_iter().enumerate() {
            if at < ROWS {
                rows.push(self.row(key, &mut sum, (from_ns, t_ns, origin_ns)));
                continue;
            }
            rest.entry((key.0, key.1)).or_default().merge(&mut sum);
        }
        let unnamed = self.names.number("");
        for ((dev, op), mut sum) in rest {
            rows.push(self.row((dev, op, -1, unnamed, unnamed), &mut sum, (from_ns, t_ns, origin_ns)));
        }
        // Names of what is long gone are not kept for ever.
        if self.names.len() > 100_000 {
            self.names = NameNumbers::default();
            self.marks.clear();
            self.streams.clear();
        }
        rows
    }

    fn row(&self, key: Key, sum: &mut Sum, (from_ns, t_ns, origin_ns): (i64, i64, i64)) -> IoInterval {
        let (dev, op, pid, process, file) = key;
        let label = |number: usize| Some(self.names.name(number)).filter(|name| !name.is_empty()).map(Label::from);
        IoInterval {
            t_ns,
            t_s: (t_ns - origin_ns) as f64 / 1e9,
            interval_ns: t_ns - from_ns,
            dev: Label::from(self.names.name(dev)),
            op: Label::from(self.names.name(op)),
            pid: (pid >= 0).then_some(pid),
            comm: label(process),
            file: label(file),
            ios: sum.ios,
            bytes: sum.bytes,
            response: sum.response.take(),
            asynchronous: (sum.unflagged == 0).then_some(sum.asynchronous),
            sizes: SizeHistogram(sum.sizes.take()),
            sequential: sum.sequential.take(),
            errors: Some(sum.errors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BANDS, IoAggregator};
    use recording::rows::Io;
    use recording::{Label, RowBatch};

    const MIB: i64 = 1 << 20;

    fn io(dev: &str, op: &str, flags: Option<&str>, (at, bytes): (i64, i64)) -> Io {
        Io {
            queue_ns: 1000,
            issue_ns: None,
            complete_ns: Some(5000),
            dev: Label::from(dev),
            op: Label::from(op),
            flags: flags.map(Label::from),
            sector: at / 512,
            bytes,
            pid: Some(7),
            tid: Some(7),
            comm: Some(Label::from("db")),
            cgroup: None,
            inode: None,
            file: None,
            owner_pid: None,
            owner_comm: None,
            error: None,
            bios: None,
            requeues: None,
        }
    }

    #[test]
    fn the_interval_sums_sizes_places_and_asynchronous_ios() {
        let mut sums = IoAggregator::with_capacities(|dev| (dev == "sda").then_some(64 << 20));
        let rows = [
            io("sda", "write", Some("sync+direct"), (0, 4096)),
            io("sda", "write", Some(""), (MIB - 512, 65_536)),
            io("sda", "read", Some("readahead"), (MIB, 131_072)),
            io("sda", "read", Some("sync"), (63 * MIB, 4096)),
            io("sda", "flush", Some("preflush"), (0, 0)),
            io("sda", "discard", Some(""), (5 * MIB, 8 * MIB)),
            io("sda", "read", Some("sync"), (99 * MIB, 512)),
            io("sdb", "read", None, (0, 512)),
        ];
        sums.accept(&RowBatch::from_rows(&rows).expect("a batch")).expect("its columns");
        let (intervals, places) = sums.take(0, 10, 0);
        let of = |dev: &str, op: &str| {
            let row = intervals.iter().find(|row| &*row.dev == dev && &*row.op == op).expect(op);
            (row.ios, row.asynchronous, row.sizes.0.min(), row.sizes.0.max())
        };
        assert_eq!(of("sda", "write"), (2, Some(1), Some(4096), Some(65_536)));
        assert_eq!(of("sda", "read"), (3, Some(1), Some(512), Some(131_072)));
        assert_eq!(of("sda", "flush"), (1, Some(0), None, None));
        assert_eq!(of("sdb", "read"), (1, None, Some(512), Some(512)), "I/Os without flags");
        let places: Vec<_> = places.iter().map(|row| (row.band, row.reads, row.writes, row.bytes)).collect();
        let last = i32::try_from(BANDS - 1).expect("few");
        assert_eq!(places, [(0, 0, 2, 69_632), (1, 1, 0, 131_072), (last, 2, 0, 4608)]);
        let (intervals, places) = sums.take(10, 20, 0);
        assert!(intervals.is_empty() && places.is_empty(), "taken once");
    }

    #[test]
    fn an_io_of_a_sample_stands_for_others() {
        let mut sums = IoAggregator::with_capacities(|_| Some(64 << 20)).of_one_in(64);
        let rows = [io("sda", "write", Some(""), (0, 4096)), io("sda", "write", Some("sync"), (0, 8192))];
        sums.accept(&RowBatch::from_rows(&rows).expect("a batch")).expect("its columns");
        let (intervals, places) = sums.take(0, 10, 0);
        let [row] = intervals.as_slice() else { panic!("{intervals:?}") };
        assert_eq!((row.ios, row.bytes, row.asynchronous, row.sequential), (128, 64 * 12_288, Some(64), None));
        assert_eq!((row.response.count(), row.response.max(), row.sizes.0.count()), (128, Some(4000), 128));
        assert_eq!((places[0].writes, places[0].bytes), (128, 64 * 12_288));
    }

    #[test]
    fn streams_and_completions_out_of_order_are_sequential() {
        let sequential = |places: &[i64]| {
            let mut sums = IoAggregator::default();
            let rows =
                places.iter().map(|at| Io { queue_ns: *at % 100, ..io("sda", "write", Some(""), (at * 4096, 4096)) });
            let rows: Vec<Io> = rows.collect();
            sums.accept(&RowBatch::from_rows(&rows).expect("a batch")).expect("its columns");
            sums.take(0, 10, 0).0[0].sequential
        };
        assert_eq!(sequential(&[0, 1, 2, 3, 4]), Some(4));
        assert_eq!(sequential(&[1, 0, 3, 2, 5, 4]), Some(5), "completed out of their order");
        assert_eq!(sequential(&[0, 900, 1, 901, 2, 902]), Some(4), "two streams");
        assert_eq!(sequential(&[5, 4, 3, 2].map(|at| at + 100 * (5 - at))), Some(0), "hops backwards over a gap");
        assert_eq!(sequential(&[7, 90, 30, 500, 2, 60]), Some(0));
        let mut sums = IoAggregator::default();
        let first = io("sda", "read", Some(""), (0, 4096));
        for (row, expect) in [
            (first, Some(0)),
            (io("sda", "read", Some(""), (4096, 4096)), Some(1)),
            (io("sda", "flush", Some(""), (0, 0)), None),
        ] {
            sums.accept(&RowBatch::from_rows(&[row]).expect("a batch")).expect("its columns");
            assert_eq!(sums.take(0, 10, 0).0[0].sequential, expect, "it goes on from interval to interval");
        }
    }

    #[test]
    fn many_files_share_a_row_and_nothing_of_them_is_lost() {
        let mut sums = IoAggregator::default();
        let rows: Vec<Io> = (0..500)
            .map(|number| {
                let file = Some(Label::from(format!("/f{number}").as_str()));
                Io { file, ..io("sda", "write", Some(""), (0, 4096)) }
            })
            .collect();
        sums.accept(&RowBatch::from_rows(&rows).expect("a batch")).expect("its columns");
        let (intervals, _) = sums.take(0, 10, 0);
        assert_eq!(intervals.len(), 201);
        assert_eq!(intervals.iter().filter_map(|row| row.asynchronous).sum::<i64>(), 500);
        assert_eq!(intervals.iter().map(|row| row.sizes.0.count()).sum::<u64>(), 500);
    }
}
