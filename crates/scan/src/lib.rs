//! Measures directory trees, and chooses parameter lines that rebuild their like (`iodyno scan`).
//!
//! [`scan()`] reads names and metadata, never contents, and changes nothing; it follows no link. What it found is [`Measured`]:
//! counts and distributions, no names unless they are asked for. [`ScanLines`] are Vdbench's `fsd=` line for it and how alike its
//! tree is: [`TreeChoice`] chooses depth, width and files, [`SizeMix`] the sizes.

mod distribution;
mod error;
mod exact;
mod faces;
mod lines;
mod links;
mod measured;
mod mix;
mod pool;
mod shape;
mod walk;

#[cfg(test)]
mod tests;

pub use distribution::Distribution;
pub use error::ScanError;
pub use exact::{ExactShape, exact};
pub use lines::{Likeness, ScanLines};
pub use measured::{LevelCount, Measured, NamedRecord, Unread};
pub use mix::SizeMix;
pub use shape::TreeChoice;
pub use walk::{ScanRequest, scan};
