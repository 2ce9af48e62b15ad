//! The hot half: counts into pages of one octave each.

use super::{CLIP_NS, FINE_SUB_BITS, Histogram, bucket_of};

/// Counts of one page: one octave.
type Page = [u32; 1 << FINE_SUB_BITS];

/// Pages up to and including the octave of [`CLIP_NS`].
const PAGES: usize = 37;

/// Records values at 2^7 sub-buckets per octave. Not shared between threads.
///
/// A page is allocated when its octave is first touched and kept by [`clear`](Self::clear), so that a recorder in use
/// allocates nothing; storage of one kind touches five to ten octaves, 512 bytes each.
#[derive(Clone, Debug)]
pub struct HistogramRecorder {
    pages: [Option<Box<Page>>; PAGES],
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    clipped: u64,
    /// What slots could not hold: `(bucket, count)` of each time that one was full. Hardly ever used.
    spilled: Vec<(u32, u64)>,
}

impl Default for HistogramRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl HistogramRecorder {
    /// An empty recorder without any page.
    #[must_use]
    pub fn new() -> Self {
        Self {
            pages: [const { None }; PAGES],
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            clipped: 0,
            spilled: Vec::new(),
        }
    }

    /// Records one value in nanoseconds.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.record_n(value_ns, 1);
    }

    /// Records `n` equal values.
    #[inline]
    pub fn record_n(&mut self, value_ns: u64, n: u32) {
        let bucket = bucket_of(value_ns.min(CLIP_NS), FINE_SUB_BITS) as usize;
        let page = self.pages[bucket >> FINE_SUB_BITS].get_or_insert_with(new_page);
        let slot = &mut page[bucket & ((1 << FINE_SUB_BITS) - 1)];
        match slot.checked_add(n) {
            Some(sum) => *slot = sum,
            None => {
                let full = std::mem::replace(slot, n);
                self.spill(bucket, full);
            }
        }
        self.count += u64::from(n);
        self.sum += u128::from(value_ns) * u128::from(n);
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
        if value_ns > CLIP_NS {
            self.clipped += u64::from(n);
        }
    }

    /// Puts what a full slot held aside: 2^32 values in one interval take an hour at a million a second.
    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "a bucket index is below 37 × 128")]
    fn spill(&mut self, bucket: usize, full: u32) {
        self.spilled.push((bucket as u32, u64::from(full)));
    }

    /// Number of values since the last clear.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Nothing recorded since the last clear?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets all values, keeps the pages.
    pub fn clear(&mut self) {
        if self.count == 0 {
            return;
        }
        for page in self.pages.iter_mut().flatten() {
            page.fill(0);
        }
        self.spilled.clear();
        (self.count, self.sum, self.min, self.max, self.clipped) = (0, 0, u64::MAX, 0, 0);
    }

    /// The values as a sparse histogram.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a bucket index is below 37 × 128")]
    pub fn snapshot(&self) -> Histogram {
        let mut buckets: Vec<(u32, u64)> = Vec::new();
        for (octave, page) in self.pages.iter().enumerate() {
            let Some(page) = page else { continue };
            let first = octave << FINE_SUB_BITS;
            let used = page.iter().enumerate().filter(|(_, count)| **count > 0);
            buckets.extend(used.map(|(slot, count)| ((first + slot) as u32, u64::from(*count))));
        }
        for (bucket, full) in &self.spilled {
            // A bucket that spilled has a count in its slot.
            if let Ok(at) = buckets.binary_search_by_key(bucket, |entry| entry.0) {
                buckets[at].1 += full;
            }
        }
        Histogram {
            sub_bits: FINE_SUB_BITS,
            buckets,
            count: self.count,
            sum: self.sum,
            min: self.min,
            max: self.max,
            clipped: self.clipped,
        }
    }

    /// Adds the values to `histogram`.
    pub fn merge_into(&self, histogram: &mut Histogram) {
        if self.count > 0 {
            histogram.merge(&self.snapshot());
        }
    }
}

/// Kept out of line: it runs once per octave.
#[cold]
fn new_page() -> Box<Page> {
    Box::new([0; 1 << FINE_SUB_BITS])
}
