//! What a traced workload is like: one pass over the table `io`, in memory that does not grow with the trace.
//!
//! The definitions (sequential, working set, burstiness, …) are in docs/trace-analysis.md.

mod groups;
mod order;
mod pictures;
mod sampling;
mod tables;
mod timeline;

pub(crate) use pictures::{
    addresses, device, histogram, hot_spots, in_flight, inter_arrival, iops, percentiles, rereference, response,
    response_heatmap, sequential, shares, sizes, throughput, wait, working_set,
};
pub(crate) use tables::{
    bursts, by_size, cgroups, devices, figures, files, hot_regions, kinds, processes, sentence, slowest,
};

use groups::{Groups, Total};
use order::{Order, Slow, Windows};
use quantity::histogram::{Histogram, HistogramMerger};
use recording::Reader;
use timeline::{Addresses, Bin, Timeline, Times};
use view::TableReadError;
use workload::traced::reuse::{BlockReuse, UsedRegion};
use workload::traced::{ends, rows, sample};

/// Sub-buckets per octave of the distributions of the whole trace, as a power of two.
const FINE: u32 = 7;

/// Everything that the views of a trace are computed from.
#[derive(Debug)]
pub struct TracedFacts {
    pub(crate) origin_ns: i64,
    pub(crate) end_ns: i64,
    /// Start and length of each stretch of time, s.
    pub(crate) spans: Vec<(f64, f64)>,
    pub(crate) bins: Vec<Bin>,
    pub(crate) times: Vec<Times>,
    /// By name of the device, busiest first.
    addresses: Vec<(String, Addresses)>,
    /// When the trace ended, if that is known.
    ended_ns: Option<i64>,
    /// I/Os by class.
    ios: [u64; 3],
    /// Response times by class, of those whose completion is known.
    response: [Histogram; 3],
    wait: Histogram,
    device: Histogram,
    /// In flight on its device when an I/O was queued.
    depth: Histogram,
    devices: Vec<(String, Total)>,
    processes: Vec<(String, Total)>,
    files: Vec<(String, Total)>,
    cgroups: Vec<(String, Total)>,
    /// Operation and flags.
    kinds: Vec<(String, Total)>,
    /// Class and bytes.
    sizes: Vec<(Option<(usize, i64)>, Total)>,
    gaps: Histogram,
    gap_squares: f64,
    windows: [Windows; 3],
    slowest: Vec<(Slow, [String; 5])>,
    regions: Vec<(String, i64, UsedRegion)>,
    region_bytes: i64,
    /// Times between two uses of a block, by octave: estimated count.
    reuse: Vec<f64>,
    uses: f64,
    first_uses: f64,
    sampling: f64,
    working_set: Vec<(f64, f64)>,
    /// One I/O in so many was traced; counts and sums above are those of all, distributions those of the traced.
    sample: u64,
    /// I/Os of `ios` that no response time counts.
    unended: u64,
}

/// The state of the pass.
struct Fold {
    timeline: Timeline,
    order: Order,
    reuse: BlockReuse,
    ios: [u64; 3],
    response: [HistogramMerger; 3],
    wait: HistogramMerger,
    device: HistogramMerger,
    depth: HistogramMerger,
    devices: Groups<usize>,
    processes: Groups<usize>,
    files: Groups<usize>,
    cgroups: Groups<usize>,
    kinds: Groups<(usize, usize)>,
    sizes: Groups<(usize, i64)>,
}

impl Fold {
    /// `first_ns`: of the first I/O; `traced_ns`: from when to when was traced, if that is known.
    fn new(first_ns: i64, traced_ns: Option<(i64, i64)>, ended_ns: Option<i64>) -> Self {
        // What was on its way when tracing began may have been queued before.
        let span_ns = traced_ns.map_or((first_ns, first_ns), |(began_ns, end_ns)| (began_ns.min(first_ns), end_ns));
        let fine = || HistogramMerger::with_sub_bits(FINE);
        Self {
            timeline: Timeline::new(span_ns, ended_ns),
            order: Order::new(span_ns, ended_ns),
            reuse: BlockReuse::default(),
            ios: [0; 3],
            response: [fine(), fine(), fine()],
            wait: fine(),
            device: fine(),
            depth: fine(),
            devices: Groups::default(),
            processes: Groups::default(),
            files: Groups::default(),
            cgroups: Groups::default(),
            kinds: Groups::default(),
            sizes: Groups::default(),
        }
    }

    fn add(&mut self, row: &rows::NumberedIo) {
        let (sequential, depth) = self.order.add(row);
        let stream = sequential[0];
        self.timeline.add(row, sequential);
        self.reuse.add(row);
        self.ios[row.class] += 1;
        if let Some(response_ns) = row.response_ns() {
            self.response[row.class].record(response_ns);
            self.depth.record(depth as u64);
        }
        if let Some((wait_ns, device_ns)) = row.wait_ns().zip(row.device_ns()) {
            self.wait.record(wait_ns);
            self.device.record(device_ns);
        }
        self.devices.add(row.dev, row, stream);
        self.processes.add(row.process, row, stream);
        self.files.add(row.file, row, stream);
        self.cgroups.add(row.cgroup, row, stream);
        self.kinds.add((row.op, row.flags), row, stream);
        if row.class < 2 {
            self.sizes.add((row.class, row.bytes), row, stream);
        }
    }
}

impl TracedFacts {
    /// Reads the trace; `None` when the recording has none.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn read(reader: &Reader) -> Result<Option<Self>, TableReadError> {
        let mut fold: Option<Fold> = None;
        let ended_ns = ends::ended_ns(reader.manifest());
        let traced_ns = ends::traced_span_ns(reader.manifest());
        let names = rows::each(reader, |row, _| {
            fold.get_or_insert_with(|| Fold::new(row.queue_ns, traced_ns, ended_ns)).add(row);
        })?;
        let sample = sample::sample(reader.manifest());
        Ok(fold.map(|fold| Self::of(fold, &names, ended_ns).scaled(sample)))
    }

    fn of(mut fold: Fold, names: &rates::NameNumbers, ended_ns: Option<i64>) -> Self {
        let named = |groups: Groups<usize>, unnamed: &str| -> Vec<(String, Total)> {
            let text = |number: Option<usize>| match number.map(|number| names.name(number)) {
                Some("") => unnamed.to_string(),
                Some(name) => name.to_string(),
                None => "(all others)".to_string(),
            };
            groups.finish().into_iter().map(|(number, total)| (text(number), total)).collect()
        };
        let kind = |(op, flags): (usize, usize)| {
            let flags = names.name(flags);
            if flags.is_empty() { names.name(op).to_string() } else { format!("{} {flags}", names.name(op)) }
        };
        let kinds = fold.kinds.finish().into_iter();
        let slowest = fold.order.finish().into_iter().map(|slow| {
            let row = &slow.row;
            let words =
                [row.dev, row.op, row.flags, row.process, row.file].map(|number| names.name(number).to_string());
            (slow, words)
        });
        let slowest = slowest.collect();
        let devices = named(fold.devices, "?");
        let mut addresses: Vec<(String, Addresses)> = std::mem::take(&mut fold.timeline.addresses)
            .into_iter()
            .map(|(dev, addresses)| (names.name(dev).to_string(), addresses))
            .collect();
        addresses.sort_by_key(|(name, _)| devices.iter().position(|device| device.0 == *name));
        let end_ns = fold.timeline.end_ns;
        let origin_ns = fold.timeline.origin_ns;
        let timed: u64 = fold.response.iter().map(HistogramMerger::count).sum();
        Self {
            sample: 1,
            unended: fold.ios.iter().sum::<u64>().saturating_sub(timed),
            origin_ns,
            end_ns,
            spans: fold.timeline.spans().collect(),
            times: fold.timeline.times(),
            bins: fold.timeline.bins,
            addresses,
            ended_ns,
            ios: fold.ios,
            response: fold.response.map(|mut merger| merger.take()),
            wait: fold.wait.take(),
            device: fold.device.take(),
            depth: fold.depth.take(),
            devices,
            processes: named(fold.processes, "(unknown)"),
            files: named(fold.files, "(no file)"),
            cgroups: named(fold.cgroups, "(none)"),
            kinds: kinds.map(|(name, total)| (name.map_or("(all others)".to_string(), kind), total)).collect(),
            sizes: fold.sizes.finish(),
            gaps: fold.order.gaps.take(),
            gap_squares: fold.order.gap_squares,
            windows: fold.order.windows,
            slowest,
            region_bytes: fold.reuse.region_bytes,
            regions: fold
                .reuse
                .hottest()
                .into_iter()
                .map(|(dev, at, region)| (names.name(dev).to_string(), at, region))
                .collect(),
            working_set: fold.reuse.working_set(origin_ns, end_ns),
            reuse: fold.reuse.gaps.iter().map(|gap| gap.0).collect(),
            uses: fold.reuse.uses,
            first_uses: fold.reuse.first_uses,
            sampling: fold.reuse.sampling(),
        }
    }

    /// Length, s.
    fn length_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.origin_ns) as f64 / 1e9
    }

    /// I/Os by class.
    fn ios(&self) -> [u64; 3] {
        self.ios
    }

    /// I/Os that no response time counts, because their end is not known.
    fn unended(&self) -> u64 {
        self.unended
    }

    /// Is the completion of any I/O known?
    pub(crate) fn has_times(&self) -> bool {
        self.response.iter().any(|response| response.count() > 0)
    }

    /// All response times.
    pub(crate) fn responses(&self) -> Histogram {
        let mut sum = self.response[0].clone();
        sum.merge(&self.response[1]);
        sum.merge(&self.response[2]);
        sum
    }

    /// Names of the traced devices, busiest first.
    pub(crate) fn device_names(&self) -> impl Iterator<Item = &str> {
        self.addresses.iter().map(|device| device.0.as_str())
    }
}
