//! Stamps: written, damaged in every way, examined.
#![allow(
    clippy::unwrap_used,
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_lossless,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "helpers of tests"
)]

mod arbitrary;
mod catch;
mod support;
