//! Where operations go.

use super::files::FileUse;
use super::range::{AddressRange, RangeBound};
use serde::{Deserialize, Serialize};

/// Where operations go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddressPattern {
    /// Order of addresses.
    pub order: AddressOrder,
    /// Part of the target that is used, instead of the target's own range.
    pub range: Option<AddressRange>,
    /// Fraction of reads that go to the hit area.
    pub read_hit: f64,
    /// Fraction of writes that go to the hit area.
    pub write_hit: f64,
    /// Size of the hit area, which misses then leave alone even if nothing is to hit (`forhitarea=`). `None`: the
    /// target's, and only if something is to hit.
    #[serde(default)]
    pub hit_area_bytes: Option<u64>,
    /// Skips of `[min, max]` bytes. Sequential order: from start to start. Where operations seek (`Random`, `Mixed`): a
    /// seek goes this far on from the end of the operation before, or back to the beginning when that is past the end.
    pub stride: Option<(u64, u64)>,
    /// Independent sequential streams that divide the range between them.
    pub streams: Option<u32>,
    /// Sequential order: begin at a random place, not at the beginning (`seekpct=seqnz`). Each stream for itself.
    #[serde(default)]
    pub random_start: bool,
    /// The part of the target that is used, instead of both ranges. Seeks prefer its beginning by Vdbench's curve, whatever
    /// the order's own distribution.
    pub hot_band: Option<AddressRange>,
    /// Addresses that operations are multiples of; `None`: target's, else the transfer size.
    pub align_bytes: Option<u64>,
    /// The same for reads, writes and trims, when they differ.
    pub align_by_op: Option<[u64; 3]>,
    /// Reads, writes and trims go their sequential ways independently, each from the beginning.
    pub per_op: bool,
    /// Random order: this many operations follow each other from every random place; 1 is plain random.
    pub run_length: u32,
    /// Random order: `(share of the operations, end in the range)`, ascending; places inside of a zone are all alike.
    /// Empty: no zones.
    pub zones: Vec<(f64, RangeBound)>,
    /// Where the workload's address 0 lies in the target: added to every address, its range counts from here.
    pub base_bytes: u64,
    /// Goes through its targets by fio's rules, instead of by `range`, `stride`, `streams`, `align_bytes` and `base_bytes`.
    #[serde(default)]
    pub files: Option<Box<FileUse>>,
}

impl Default for AddressPattern {
    fn default() -> Self {
        Self {
            order: AddressOrder::Random(AddressDistribution::Uniform),
            range: None,
            read_hit: 0.0,
            write_hit: 0.0,
            hit_area_bytes: None,
            stride: None,
            streams: None,
            random_start: false,
            hot_band: None,
            align_bytes: None,
            align_by_op: None,
            per_op: false,
            run_length: 1,
            zones: Vec::new(),
            base_bytes: 0,
            files: None,
        }
    }
}

/// Order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum AddressOrder {
    /// Every operation at a random place.
    Random(AddressDistribution),
    /// One after the other; wraps at the end, or ends the workload there.
    Sequential {
        /// Stop at the end of the range (`seekpct=eof`).
        once: bool,
        /// From the end towards the beginning.
        backward: bool,
    },
    /// This fraction of operations seeks to a random place, the others follow the one before.
    Mixed {
        /// Fraction that seeks.
        seek: f64,
        /// How seeks are spread. Not [`AddressDistribution::ExactOnce`].
        #[serde(default, skip_serializing_if = "AddressDistribution::is_uniform")]
        distribution: AddressDistribution,
    },
}

/// How random addresses are spread over the range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum AddressDistribution {
    /// Every block alike.
    #[default]
    Uniform,
    /// Every block exactly once before any comes again; a permutation, no bitmap.
    ExactOnce,
    /// Zipf with this exponent, hot blocks scattered over the range (fio's `zipf:theta`).
    Zipf(f64),
    /// Pareto with this power (fio's `pareto:h`).
    Pareto(f64),
    /// Normal around the middle with this standard deviation as a fraction of the range.
    Normal(f64),
    /// Vdbench's `seekpct=(poisson,midpoint)`: exponential from the beginning on with a mean of the range's length divided by
    /// this midpoint, and begun anew behind its end.
    Poisson(f64),
}

impl AddressDistribution {
    /// Is every block alike?
    pub fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }
}
