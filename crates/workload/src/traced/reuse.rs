//! Which places are used how often, and how soon again: by a sample of blocks, chosen by a hash of their address.

use super::rows::NumberedIo;
use std::collections::HashMap;

/// Size of a block, bytes.
pub const BLOCK_BYTES: i64 = 4096;
/// Most blocks that are followed; when there are more, half of them are let go.
const BLOCKS: usize = 1 << 18;
/// Blocks of an I/O that are looked at: those of 4 GiB, more than the kernel's records hold.
const BLOCKS_OF_AN_IO: i64 = (1 << 32) / BLOCK_BYTES;
/// First size of a region, bytes.
const REGION_BYTES: i64 = 1 << 20;
/// Most regions; when there are more, two become one.
const REGIONS: usize = 1 << 18;

/// The fold.
#[derive(Debug)]
pub struct BlockReuse {
    blocks: HashMap<(u32, i64), i64, Plain>,
    /// A block is followed when its hash has so many zeros at the end.
    zeros: u32,
    /// Uses of blocks: an estimate.
    pub uses: f64,
    /// Blocks used for the first time: an estimate.
    pub first_uses: f64,
    /// Times between two uses of a block, by octave of ns: estimated count and sum.
    pub gaps: [(f64, f64); 64],
    regions: HashMap<(u32, i64), UsedRegion, Plain>,
    /// Size of a region, bytes.
    pub region_bytes: i64,
}

/// I/Os that began in a region.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsedRegion {
    /// I/Os that read.
    pub reads: u64,
    /// I/Os that wrote.
    pub writes: u64,
    /// Bytes of both.
    pub bytes: u64,
}

impl UsedRegion {
    /// All of them.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.reads + self.writes
    }

    /// As if there had been `by` times as many.
    pub fn scale(&mut self, by: u64) {
        [&mut self.reads, &mut self.writes, &mut self.bytes]
            .into_iter()
            .for_each(|count| *count = count.saturating_mul(by));
    }
}

/// Keys are mixed well enough by one multiplication.
#[derive(Clone, Copy, Debug, Default)]
struct Plain;

/// The multiplication.
#[derive(Debug, Default)]
struct Mixer(u64);

impl std::hash::Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_i64(&mut self, value: i64) {
        self.write_u64(value.unsigned_abs());
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = mixed(self.0 ^ value);
    }
}

impl std::hash::BuildHasher for Plain {
    type Hasher = Mixer;
    fn build_hasher(&self) -> Mixer {
        Mixer::default()
    }
}

/// Murmur's finisher: every bit of the result depends on every bit of `value`.
fn mixed(value: u64) -> u64 {
    let value = (value ^ value >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let value = (value ^ value >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ value >> 33
}

impl Default for BlockReuse {
    fn default() -> Self {
        Self {
            blocks: HashMap::default(),
            zeros: 0,
            uses: 0.0,
            first_uses: 0.0,
            gaps: [(0.0, 0.0); 64],
            regions: HashMap::default(),
            region_bytes: REGION_BYTES,
        }
    }
}

impl BlockReuse {
    /// Adds the next I/O.
    pub fn add(&mut self, row: &NumberedIo) {
        if row.class == 2 || row.bytes <= 0 {
            return;
        }
        let dev = u32::try_from(row.dev).unwrap_or(u32::MAX);
        let first_byte = row.sector.saturating_mul(512);
        let first = first_byte / BLOCK_BYTES;
        let last = (first_byte.saturating_add(row.bytes - 1) / BLOCK_BYTES).min(first.saturating_add(BLOCKS_OF_AN_IO));
        for block in first..=last {
            let hash = mixed(block.unsigned_abs() ^ u64::from(dev) << 48);
            if hash.trailing_zeros() >= self.zeros {
                self.touch((dev, block), row.queue_ns);
            }
        }
        let region = self.regions.entry((dev, first_byte / self.region_bytes)).or_default();
        region.reads += u64::from(row.class == 0);
        region.writes += u64::from(row.class == 1);
        region.bytes += u64::try_from(row.bytes).unwrap_or(0);
        if self.regions.len() > REGIONS {
            self.coarsen();
        }
    }

    fn touch(&mut self, block: (u32, i64), t_ns: i64) {
        let weight = 2_f64.powi(i32::try_from(self.zeros).unwrap_or(0));
        self.uses += weight;
        match self.blocks.insert(block, t_ns) {
            Some(before_ns) => {
                let gap_ns = u64::try_from(t_ns.saturating_sub(before_ns)).unwrap_or(0).max(1);
                let (count, sum) = &mut self.gaps[63 - gap_ns.leading_zeros() as usize];
                *count += weight;
                *sum += weight * gap_ns as f64;
            }
            None => self.first_uses += weight,
        }
        while self.blocks.len() > BLOCKS {
            self.zeros += 1;
            let zeros = self.zeros;
            self.blocks.retain(|(dev, block), _| {
                mixed(block.unsigned_abs() ^ u64::from(*dev) << 48).trailing_zeros() >= zeros
            });
        }
    }

    fn coarsen(&mut self) {
        // Not for ever, should there be more devices than regions.
        while self.regions.len() > REGIONS / 2 && self.region_bytes < i64::MAX / 2 {
            self.region_bytes *= 2;
            for ((dev, at), region) in std::mem::take(&mut self.regions) {
                let sum = self.regions.entry((dev, at / 2)).or_default();
                sum.reads += region.reads;
                sum.writes += region.writes;
                sum.bytes += region.bytes;
            }
        }
    }

    /// Only one block in so many was followed.
    #[must_use]
    pub fn sampling(&self) -> f64 {
        2_f64.powi(i32::try_from(self.zeros).unwrap_or(0))
    }

    /// Mean number of bytes used within a window, by its length in ns (Denning and Schwartz 1972: a use fills the window
    /// from its time until the next use of its block, or for the window's length). `end_ns`: of the trace.
    #[must_use]
    pub fn working_set(&self, origin_ns: i64, end_ns: i64) -> Vec<(f64, f64)> {
        let length = end_ns.saturating_sub(origin_ns) as f64;
        if length <= 0.0 || self.blocks.is_empty() {
            return Vec::new();
        }
        let tails: Vec<f64> = self.blocks.values().map(|last_ns| end_ns.saturating_sub(*last_ns) as f64).collect();
        let window = |octave: i32| 2_f64.powi(octave);
        (16..63)
            .map(window)
            .take_while(|window| *window < length)
            .chain([length])
            .map(|window| {
                let within: f64 = self
                    .gaps
                    .iter()
                    .filter(|gap| gap.0 > 0.0)
                    .map(|(count, sum)| if sum / count <= window { *sum } else { count * window })
                    .sum();
                let tail: f64 = tails.iter().map(|tail| tail.min(window)).sum::<f64>() * self.sampling();
                (window, (within + tail) / length * BLOCK_BYTES as f64)
            })
            .collect()
    }

    /// All regions, most I/Os first: device, first byte, counts.
    #[must_use]
    pub fn hottest(&self) -> Vec<(usize, i64, UsedRegion)> {
        let mut regions: Vec<(usize, i64, UsedRegion)> =
            self.regions.iter().map(|((dev, at), region)| (*dev as usize, at * self.region_bytes, *region)).collect();
        regions.sort_by_key(|(dev, at, region)| (std::cmp::Reverse(region.ios()), *dev, *at));
        regions
    }
}
