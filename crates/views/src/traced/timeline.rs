//! What happened when, in at most [`BINS`] stretches of equal length, whatever the length of the trace.

use quantity::histogram::{Histogram, HistogramMerger};
use workload::traced::rows::NumberedIo;

/// Most stretches; when more would be needed, pairs become one.
pub(super) const BINS: usize = 300;
/// The first length of a stretch.
const FIRST_NS: i64 = 50_000_000;
/// Rows of the heat map of addresses.
pub(super) const PLACES: usize = 64;
/// Devices with a heat map of addresses of their own.
const DEVICES: usize = 32;

/// One stretch of time. I/Os belong to the one in which they completed (where that is not known, were queued).
#[derive(Clone, Debug, Default)]
pub(crate) struct Bin {
    /// By class: read, write, other.
    pub(crate) ios: [u64; 3],
    pub(crate) bytes: [u64; 3],
    /// Continued a stream, the device's last I/O, the process's last I/O.
    pub(crate) sequential: [u64; 3],
    /// I/Os with data, of which the above are parts.
    pub(crate) with_data: u64,
    /// Time that I/Os spent in it, ns: from queueing, and from issue.
    pub(crate) in_flight_ns: f64,
    pub(crate) at_device_ns: f64,
    pub(crate) response: HistogramMerger,
    pub(crate) wait: HistogramMerger,
    pub(crate) device: HistogramMerger,
}

impl Bin {
    fn join(&mut self, mut other: Self) {
        for at in 0..3 {
            self.ios[at] += other.ios[at];
            self.bytes[at] += other.bytes[at];
            self.sequential[at] += other.sequential[at];
        }
        self.with_data += other.with_data;
        self.in_flight_ns += other.in_flight_ns;
        self.at_device_ns += other.at_device_ns;
        for (mine, theirs) in [
            (&mut self.response, &mut other.response),
            (&mut self.wait, &mut other.wait),
            (&mut self.device, &mut other.device),
        ] {
            // Its own encoding is always understood.
            let _ = mine.add(&theirs.take().encode());
        }
    }
}

/// I/Os of one device by time and address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses {
    /// Sectors of one row.
    pub(crate) step: i64,
    /// `PLACES` counts for each stretch of time.
    pub(crate) counts: Vec<u32>,
}

impl Addresses {
    fn add(&mut self, bin: usize, row: &NumberedIo) {
        let places = i64::try_from(PLACES).unwrap_or(i64::MAX);
        self.step = self.step.max(2048);
        // Divided, not multiplied: no address is beyond what a number can hold, and the loop ends.
        while row.sector / places >= self.step {
            self.step = self.step.saturating_mul(2);
            for column in self.counts.chunks_mut(PLACES) {
                for at in 0..PLACES / 2 {
                    column[at] = column[2 * at] + column[2 * at + 1];
                }
                column[PLACES / 2..].fill(0);
            }
        }
        let wanted = (bin + 1) * PLACES;
        if self.counts.len() < wanted {
            self.counts.resize(wanted, 0);
        }
        let place = usize::try_from(row.sector.max(0) / self.step).unwrap_or(0).min(PLACES - 1);
        self.counts[bin * PLACES + place] += 1;
    }

    fn halve(&mut self) {
        let old = std::mem::take(&mut self.counts);
        for pair in old.chunks(2 * PLACES) {
            self.counts.extend((0..PLACES).map(|at| pair[at] + pair.get(PLACES + at).copied().unwrap_or(0)));
        }
    }
}

/// All stretches.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) origin_ns: i64,
    pub(crate) end_ns: i64,
    /// When the trace ended, if that is known.
    ended_ns: Option<i64>,
    pub(crate) bin_ns: i64,
    pub(crate) bins: Vec<Bin>,
    /// By number of the device's name.
    pub(crate) addresses: Vec<(usize, Addresses)>,
}

impl Timeline {
    /// From and to when is known to have been traced (both the first I/O's time where nothing is): stretches without I/Os
    /// are stretches as well.
    pub(crate) fn new((origin_ns, end_ns): (i64, i64), ended_ns: Option<i64>) -> Self {
        let (bins, addresses) = (Vec::new(), Vec::new());
        let end_ns = end_ns.max(origin_ns);
        let mut new = Self { origin_ns, end_ns, ended_ns, bin_ns: FIRST_NS, bins, addresses };
        // The end itself is no part of the time.
        let _ = new.place(end_ns.saturating_sub(1));
        new
    }

    /// Place of a time; makes room for it.
    fn place(&mut self, t_ns: i64) -> usize {
        let t_ns = t_ns.max(self.origin_ns);
        let most = i64::try_from(BINS).unwrap_or(i64::MAX);
        while t_ns.saturating_sub(self.origin_ns) / self.bin_ns >= most {
            self.bin_ns *= 2;
            let mut old = std::mem::take(&mut self.bins).into_iter();
            while let Some(mut bin) = old.next() {
                if let Some(next) = old.next() {
                    bin.join(next);
                }
                self.bins.push(bin);
            }
            self.addresses.iter_mut().for_each(|device| device.1.halve());
        }
        let place = usize::try_from(t_ns.saturating_sub(self.origin_ns) / self.bin_ns).unwrap_or(0);
        if self.bins.len() <= place {
            self.bins.resize_with(place + 1, Bin::default);
        }
        place
    }

    /// Adds an I/O; `sequential`: it continued a stream, its device's last, its process's last.
    pub(crate) fn add(&mut self, row: &NumberedIo, sequential: [bool; 3]) {
        // In flight as long as the trace could see.
        let gone_ns = row.complete_ns.or(self.ended_ns.filter(|_| row.is_unfinished));
        self.end_ns = self.end_ns.max(row.last_ns()).max(gone_ns.unwrap_or(i64::MIN));
        // The last first, which makes room up to there and may make stretches longer.
        let last_ns = row.last_ns();
        let _ = self.place(gone_ns.unwrap_or(last_ns));
        let place = self.place(last_ns);
        let bin = &mut self.bins[place];
        bin.ios[row.class] += 1;
        bin.bytes[row.class] += u64::try_from(row.bytes).unwrap_or(0);
        if let Some(response_ns) = row.response_ns() {
            bin.response.record(response_ns);
        }
        if let Some(wait_ns) = row.wait_ns() {
            bin.wait.record(wait_ns);
        }
        if let Some(device_ns) = row.device_ns() {
            bin.device.record(device_ns);
        }
        if row.bytes > 0 {
            bin.with_data += 1;
            for (sum, is) in bin.sequential.iter_mut().zip(sequential) {
                *sum += u64::from(is);
            }
        }
        if let Some(gone_ns) = gone_ns {
            self.spend(row.queue_ns, gone_ns, |bin| &mut bin.in_flight_ns);
            if let Some(issue_ns) = row.issue_ns {
                self.spend(issue_ns, gone_ns, |bin| &mut bin.at_device_ns);
            }
        }
        let known = self.addresses.iter().position(|device| device.0 == row.dev);
        let known = known.or_else(|| {
            (self.addresses.len() < DEVICES).then(|| {
                self.addresses.push((row.dev, Addresses::default()));
                self.addresses.len() - 1
            })
        });
        if let Some(known) = known.filter(|_| row.bytes > 0) {
            self.addresses[known].1.add(place, row);
        }
    }

    /// Adds the time `[from, to)` to the stretches that it touches.
    fn spend(&mut self, from_ns: i64, to_ns: i64, sum: fn(&mut Bin) -> &mut f64) {
        let mut from_ns = from_ns.max(self.origin_ns);
        while from_ns < to_ns {
            let since_ns = from_ns.saturating_sub(self.origin_ns);
            let place = usize::try_from(since_ns / self.bin_ns).unwrap_or(0);
            let Some(bin) = self.bins.get_mut(place) else { return };
            let until_ns = from_ns.saturating_add(self.bin_ns - since_ns % self.bin_ns).min(to_ns);
            *sum(bin) += (until_ns - from_ns) as f64;
            from_ns = until_ns;
        }
    }

    /// Start and length of each stretch, s; the last ends with the trace.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        (0_i64..).take(self.bins.len()).map(|at| {
            let from_ns = at.saturating_mul(self.bin_ns);
            let length_ns = self.end_ns.saturating_sub(self.origin_ns);
            let to_ns = from_ns.saturating_add(self.bin_ns).min(length_ns).max(from_ns.saturating_add(1));
            (from_ns as f64 / 1e9, (to_ns - from_ns) as f64 / 1e9)
        })
    }
}

/// Histograms of a stretch once everything is in.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) response: Histogram,
    pub(crate) wait: Histogram,
    pub(crate) device: Histogram,
}

impl Timeline {
    /// Takes the times out of the stretches.
    pub(crate) fn times(&mut self) -> Vec<Times> {
        let taken =
            |bin: &mut Bin| Times { response: bin.response.take(), wait: bin.wait.take(), device: bin.device.take() };
        self.bins.iter_mut().map(taken).collect()
    }
}
