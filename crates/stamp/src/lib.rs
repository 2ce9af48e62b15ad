//! The stamp in every sector of validated data: who wrote it, where, when, and which of how many writes it is.
//!
//! A sector says what it is without any other source ([`SectorStamp`]), and the bytes behind its head follow from the head
//! ([`payload`]), so that a damaged one can be compared bit by bit with what was written. [`BlockWriter`] fills the
//! blocks of a write, [`is_right`] asks whether a block that was read is one that may be there, and [`examine`] says what is wrong
//! with one that is not; [`hex_view`] shows it. Nothing here does I/O, and everything takes arbitrary bytes.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod crc;
mod damage;
mod diagnosis;
mod expected;
mod explain;
mod head;
mod hex;
mod lanes;
#[cfg(target_arch = "x86_64")]
mod moves;
pub mod payload;
mod sector;
mod syndrome;
mod wanted;
mod way;
mod write;

pub use damage::{BlockFinding, DamageClass, MustBe, Reading, examine};
pub use diagnosis::{SectorFault, SectorFinding};
pub use expected::{Expected, Version, is_right, is_right_by};
pub use hex::{VIEW_LINES, hex_view};
pub use sector::{
    HEAD_BYTES, POISON, SECTOR_BYTES, SECTOR_MAGIC, STAMP_MARK, SectorStamp, StampFlags, is_intact, poison,
};
pub use way::Way;
pub use write::{BlockWriter, WriteStamp};
