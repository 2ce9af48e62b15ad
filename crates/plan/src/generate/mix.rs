//! Which operation, and which transfer size, comes next.

use super::rng::{Rng, threshold};
use super::{BLOCK_KINDS, GenerateError, OperationKind, TargetGeometry};
use crate::spec::{TargetSpec, TransferSize, Workload};

/// Choice between the operations of a mix.
#[derive(Clone, Debug)]
pub(crate) enum OpChoice {
    Only(OperationKind),
    /// Trims and writes in turn.
    TrimThenWrite {
        write: bool,
    },
    /// The one after as many thresholds as a random number is above (without a branch to mispredict).
    Weighted {
        above: [u64; 3],
        ops: [OperationKind; BLOCK_KINDS],
    },
}

impl OpChoice {
    pub(crate) fn new(workload: &Workload) -> Result<Self, GenerateError> {
        let mix = &workload.mix;
        if mix.trim_then_write {
            return Ok(Self::TrimThenWrite { write: false });
        }
        let weights = [mix.read, mix.write, mix.trim, mix.flush];
        for value in weights {
            if !(value.is_finite() && value >= 0.0) {
                return Err(value_error(workload, "a weight of the operation mix", value, "0 or more"));
            }
        }
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 {
            return Err(value_error(workload, "the sum of the operation mix", sum, "above 0"));
        }
        let (mut above, mut ops, mut len, mut upto) =
            ([u64::MAX; BLOCK_KINDS], [OperationKind::Read; BLOCK_KINDS], 0, 0.0);
        for (op, weight) in OperationKind::BLOCKS.into_iter().zip(weights).filter(|(_, weight)| *weight > 0.0) {
            upto += weight / sum;
            (above[len], ops[len]) = (threshold(upto), op);
            len += 1;
        }
        above[len - 1] = u64::MAX;
        Ok(if len == 1 { Self::Only(ops[0]) } else { Self::Weighted { above: [above[0], above[1], above[2]], ops } })
    }

    /// Another kind of the mix, or the same where there is none.
    pub(crate) fn other(&self, op: OperationKind) -> OperationKind {
        match self {
            Self::Weighted { ops, .. } => ops.iter().copied().find(|other| *other != op).unwrap_or(op),
            Self::Only(_) | Self::TrimThenWrite { .. } => op,
        }
    }

    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> OperationKind {
        match self {
            Self::Only(op) => *op,
            Self::TrimThenWrite { write } => {
                *write = !*write;
                if *write { OperationKind::Trim } else { OperationKind::Write }
            }
            Self::Weighted { above, ops } => {
                let x = rng.next_u64();
                ops[usize::from(x > above[0]) + usize::from(x > above[1]) + usize::from(x > above[2])]
            }
        }
    }
}

/// Choice of the transfer size for each kind of operation.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    /// The same for all.
    Alike(SizeChoice),
    /// Reads, writes, trims.
    ByOp(Box<[SizeChoice; 3]>),
}

impl Sizes {
    pub(crate) fn new(
        workload: &Workload,
        target: &TargetSpec,
        geometry: TargetGeometry,
    ) -> Result<Self, GenerateError> {
        let choice = |transfer: &TransferSize| SizeChoice::new(workload, transfer, target, geometry);
        let [read, write, trim] = workload.transfers();
        if read == write && read == trim {
            return Ok(Self::Alike(choice(read)?));
        }
        // What never comes must not make places too small for it.
        let mix = &workload.mix;
        let first =
            [(mix.read, read), (mix.write, write), (mix.trim, trim)].into_iter().find(|(share, _)| *share > 0.0);
        let first = first.map_or(read, |(_, transfer)| transfer);
        let used = |share: f64, transfer| choice(if share > 0.0 { transfer } else { first });
        Ok(Self::ByOp(Box::new([used(mix.read, read)?, used(mix.write, write)?, used(mix.trim, trim)?])))
    }

    pub(crate) fn fixed(&self) -> Option<u32> {
        match self {
            Self::Alike(choice) => choice.fixed(),
            Self::ByOp(choices) => {
                let first = choices[0].fixed()?;
                choices.iter().all(|choice| choice.fixed() == Some(first)).then_some(first)
            }
        }
    }

    pub(crate) fn min(&self) -> u32 {
        match self {
            Self::Alike(choice) => choice.min(),
            Self::ByOp(choices) => choices.iter().map(SizeChoice::min).min().unwrap_or(1),
        }
    }

    pub(crate) fn max(&self) -> u32 {
        match self {
            Self::Alike(choice) => choice.max(),
            Self::ByOp(choices) => choices.iter().map(SizeChoice::max).max().unwrap_or(1),
        }
    }

    #[inline]
    pub(crate) fn next(&self, rng: &mut Rng, op: OperationKind) -> u32 {
        match self {
            Self::Alike(choice) => choice.next(rng),
            Self::ByOp(choices) => choices[op.index().min(2)].next(rng),
        }
    }
}

/// Choice between transfer sizes.
#[derive(Clone, Debug)]
pub(crate) enum SizeChoice {
    Fixed(u32),
    Weighted(Vec<(u64, u32)>),
    Uniform { min: u32, align: u32, count: u64 },
}

impl SizeChoice {
    pub(crate) fn new(
        workload: &Workload,
        transfer: &TransferSize,
        target: &TargetSpec,
        geometry: TargetGeometry,
    ) -> Result<Self, GenerateError> {
        let block = geometry.block_bytes.max(1);
        let check = |bytes: u64| match u32::try_from(bytes) {
            Ok(size) if size > 0 && size <= i32::MAX.unsigned_abs() && size.is_multiple_of(block) => Ok(size),
            _ => Err(GenerateError::Transfer {
                workload: workload.name.clone(),
                target: target.name.clone(),
                transfer_bytes: bytes,
                block_bytes: block,
            }),
        };
        match transfer {
            TransferSize::Fixed(bytes) => Ok(Self::Fixed(check(*bytes)?)),
            TransferSize::Mix(mix) => {
                let sum: f64 = mix.iter().map(|(_, weight)| weight).sum();
                let (mut sizes, mut upto) = (Vec::with_capacity(mix.len()), 0.0);
                for &(bytes, weight) in mix {
                    if !(weight.is_finite() && weight >= 0.0) {
                        return Err(value_error(workload, "a weight of the transfer sizes", weight, "0 or more"));
                    }
                    upto += weight / sum;
                    if weight > 0.0 {
                        sizes.push((threshold(upto), check(bytes)?));
                    }
                }
                match sizes.last_mut() {
                    Some(last) => last.0 = u64::MAX,
                    None => {
                        return Err(value_error(workload, "the sum of the transfer sizes' weights", sum, "above 0"));
                    }
                }
                Ok(if sizes.len() == 1 { Self::Fixed(sizes[0].1) } else { Self::Weighted(sizes) })
            }
            TransferSize::Uniform { min, max, align } => {
                let (low, high) = (check(*min)?, check(*max)?);
                let align = if low == high { low } else { check(*align)? };
                let count = u64::from(high.saturating_sub(low) / align) + 1;
                Ok(if count == 1 { Self::Fixed(low) } else { Self::Uniform { min: low, align, count } })
            }
        }
    }

    /// The one size that there is, if there is only one.
    pub(crate) fn fixed(&self) -> Option<u32> {
        if let Self::Fixed(bytes) = self { Some(*bytes) } else { None }
    }

    pub(crate) fn min(&self) -> u32 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Weighted(sizes) => sizes.iter().map(|(_, bytes)| *bytes).min().unwrap_or(1),
            Self::Uniform { min, .. } => *min,
        }
    }

    pub(crate) fn max(&self) -> u32 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Weighted(sizes) => sizes.iter().map(|(_, bytes)| *bytes).max().unwrap_or(1),
            Self::Uniform { min, align, count } => min + align * u32::try_from(count - 1).unwrap_or(0),
        }
    }

    #[inline]
    pub(crate) fn next(&self, rng: &mut Rng) -> u32 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Weighted(sizes) => {
                let x = rng.next_u64();
                sizes.get(sizes.partition_point(|(upto, _)| x > *upto)).map_or(0, |(_, bytes)| *bytes)
            }
            Self::Uniform { min, align, count } => min + align * u32::try_from(rng.below(*count)).unwrap_or(0),
        }
    }
}

pub(crate) fn value_error(workload: &Workload, what: &'static str, value: f64, allowed: &'static str) -> GenerateError {
    GenerateError::Value { of: format!("workload {}", workload.name), what, value, allowed }
}
