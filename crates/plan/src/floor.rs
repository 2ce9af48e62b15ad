//! Floats to whole numbers.

/// `x` without its fraction; negative numbers and NaN give 0, too large ones the maximum.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is what is wanted")]
#[inline]
pub(crate) fn floor_u64(x: f64) -> u64 {
    x as u64
}
