//! How large its operations are.

use serde::{Deserialize, Serialize};

/// Bytes of one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TransferSize {
    /// Always the same.
    Fixed(u64),
    /// `(bytes, weight)`; weights sum to 1.
    Mix(Vec<(u64, f64)>),
    /// `min`, `min + align`, … up to `max`, all alike.
    Uniform {
        /// Smallest.
        min: u64,
        /// Largest: included if the steps reach it.
        max: u64,
        /// Step.
        align: u64,
    },
}

impl TransferSize {
    /// The largest transfer that can come.
    pub fn max_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Mix(mix) => mix.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0),
            Self::Uniform { max, .. } => *max,
        }
    }

    /// Is every transfer that can come a multiple of this?
    pub fn is_in_steps_of(&self, bytes: u64) -> bool {
        match self {
            Self::Fixed(size) => size.is_multiple_of(bytes),
            Self::Mix(mix) => mix.iter().all(|(size, _)| size.is_multiple_of(bytes)),
            Self::Uniform { min, align, .. } => min.is_multiple_of(bytes) && align.is_multiple_of(bytes),
        }
    }

    /// The smallest transfer that can come.
    pub fn min_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Mix(mix) => mix.iter().map(|(bytes, _)| *bytes).min().unwrap_or(0),
            Self::Uniform { min, .. } => *min,
        }
    }

    /// Mean bytes per operation.
    pub fn mean_bytes(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::Mix(mix) => mix.iter().map(|(bytes, weight)| *bytes as f64 * weight).sum(),
            Self::Uniform { min, max, align } => {
                let last = *max - (*max).saturating_sub(*min) % (*align).max(1);
                (*min as f64 + last as f64) / 2.0
            }
        }
    }
}
