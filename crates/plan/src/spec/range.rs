//! Parts of a target.

use serde::{Deserialize, Serialize};

/// A part of a target's address space, `[low, high)`; a `high` beyond the end wraps around (Vdbench).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddressRange {
    /// First address.
    pub low: RangeBound,
    /// First address that is not used.
    pub high: RangeBound,
}

/// An address or length, absolute or relative to the size of the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RangeBound {
    /// Bytes.
    Bytes(u64),
    /// Fraction of the size, 1.0 = all.
    Fraction(f64),
}
