//! Records of 32 bytes, little endian.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 … 4 | CRC-32C of the segment's salt (8 bytes) and bytes 4 … 32 |
//! | 4 … 8 | place in the segment in units of 32 bytes: a record that stands elsewhere is none |
//! | 8 | kind |
//! | 9 | 1: it succeeded |
//! | 10 … 12 | target |
//! | 12 … 16 | blocks |
//! | 16 … 22 | first block |
//! | 22 … 24 | version |
//! | 24 … 32 | number of the write among all of the session to the target; of flushes the epoch |

use crc_fast::{CrcAlgorithm, checksum};

/// Bytes of a record.
pub(crate) const RECORD_BYTES: usize = 32;
/// Blocks have numbers below this.
pub(crate) const BLOCKS_MAX: u64 = 1 << 48;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A write was done: the blocks have this version.
    Done = 1,
    /// A write failed: its blocks may hold it, or parts of it.
    Failed = 2,
    /// A trim is about to be submitted.
    TrimBegun = 3,
    /// A trim came back.
    Trimmed = 4,
    /// A flush is about to be submitted.
    FlushBegun = 5,
    /// It came back.
    FlushEnded = 6,
    /// A part of a checkpoint: the blocks have all the state that stands in place of the version.
    Same = 7,
    /// A part of a checkpoint: the states of the blocks follow, two bytes each, in whole units of 32 bytes.
    Packed = 8,
    /// The checkpoint is whole.
    CheckpointEnd = 9,
    /// The session goes on in the next segment.
    Next = 10,
    /// The session is over, with nothing under way.
    End = 11,
    /// Of trees, from here on; `first` is the number of the file. One is about to be made.
    FileMaking = 12,
    /// It was made, in the directory `count`.
    FileMade = 13,
    /// It is about to be removed, or to get another name.
    FileRemoving = 14,
    /// It was removed.
    FileRemoved = 15,
    /// It got another name: its own, in the directory `count`, is gone. The next record says the new one.
    FileRenamedFrom = 16,
    /// … and it has that one now, in the directory `count`; its stamps have this device (`sequence`).
    FileRenamedTo = 17,
    /// A write has made it this long (`sequence`).
    FileGrown = 18,
    /// It is about to be cut or extended to this length.
    FileResizing = 19,
    /// It has this length.
    FileResized = 20,
    /// A sync of it is about to be submitted; `version` 1: of its contents alone (`fdatasync`).
    FileSyncBegun = 21,
    /// It came back.
    FileSyncEnded = 22,
    /// The same of a directory (`first`).
    DirectorySyncBegun = 23,
    /// It came back.
    DirectorySyncEnded = 24,
    /// A directory (`first`) was made in another one (`count`).
    DirectoryMade = 25,
    /// It was removed.
    DirectoryRemoved = 26,
    /// A part of a checkpoint: the file is there (`version` 1), in the directory `count`, with this length, or it is not.
    FileIs = 27,
    /// The file was looked at behind a crash: the same.
    FileFound = 28,
    /// A part of a checkpoint: its stamps have this device (`sequence`), not that of its own name.
    FileDevice = 29,
}

impl Kind {
    pub(crate) const ALL: [Self; 29] = [
        Self::Done,
        Self::Failed,
        Self::TrimBegun,
        Self::Trimmed,
        Self::FlushBegun,
        Self::FlushEnded,
        Self::Same,
        Self::Packed,
        Self::CheckpointEnd,
        Self::Next,
        Self::End,
        Self::FileMaking,
        Self::FileMade,
        Self::FileRemoving,
        Self::FileRemoved,
        Self::FileRenamedFrom,
        Self::FileRenamedTo,
        Self::FileGrown,
        Self::FileResizing,
        Self::FileResized,
        Self::FileSyncBegun,
        Self::FileSyncEnded,
        Self::DirectorySyncBegun,
        Self::DirectorySyncEnded,
        Self::DirectoryMade,
        Self::DirectoryRemoved,
        Self::FileIs,
        Self::FileFound,
        Self::FileDevice,
    ];

    /// Is it about a change of data, lengths or names? The others are about syncs, and about what was found or is repeated.
    pub(crate) fn changes(self) -> bool {
        matches!(
            self,
            Self::Done
                | Self::Failed
                | Self::TrimBegun
                | Self::Trimmed
                | Self::FileMaking
                | Self::FileMade
                | Self::FileRemoving
                | Self::FileRemoved
                | Self::FileRenamedFrom
                | Self::FileRenamedTo
                | Self::FileGrown
                | Self::FileResizing
                | Self::FileResized
                | Self::DirectoryMade
                | Self::DirectoryRemoved
        )
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) is_ok: bool,
    pub(crate) target: u16,
    pub(crate) count: u32,
    /// Below [`BLOCKS_MAX`].
    pub(crate) first: u64,
    pub(crate) version: u16,
    pub(crate) sequence: u64,
}

impl Record {
    /// A record about no blocks.
    pub(crate) fn of(kind: Kind, target: u16) -> Self {
        Self { kind, is_ok: true, target, count: 0, first: 0, version: 0, sequence: 0 }
    }

    /// As it stands at this place.
    #[inline]
    pub(crate) fn encode(&self, salt: u64, place: u64) -> [u8; RECORD_BYTES] {
        let mut salted = [0u8; RECORD_BYTES + 4];
        salted[..8].copy_from_slice(&salt.to_le_bytes());
        // Its first four bytes, where the checksum will stand, are the end of the salt meanwhile.
        let body = &mut salted[4..];
        #[expect(clippy::cast_possible_truncation, reason = "the low half says whether it was moved")]
        body[4..8].copy_from_slice(&(place as u32).to_le_bytes());
        body[8] = self.kind as u8;
        body[9] = u8::from(self.is_ok);
        body[10..12].copy_from_slice(&self.target.to_le_bytes());
        body[12..16].copy_from_slice(&self.count.to_le_bytes());
        let block = (self.first % BLOCKS_MAX) | (u64::from(self.version) << 48);
        body[16..24].copy_from_slice(&block.to_le_bytes());
        body[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        let crc = crc(&salted);
        let mut bytes = [0u8; RECORD_BYTES];
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
        bytes[4..].copy_from_slice(&salted[8..]);
        bytes
    }

    /// What stands at this place; `None`: no record that belongs there.
    pub(crate) fn decode(bytes: &[u8; RECORD_BYTES], salt: u64, place: u64) -> Option<Self> {
        let mut salted = [0u8; RECORD_BYTES + 4];
        salted[..8].copy_from_slice(&salt.to_le_bytes());
        salted[8..].copy_from_slice(&bytes[4..]);
        let two = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let four = |at: usize| u32::from(two(at)) | (u32::from(two(at + 2)) << 16);
        let eight = |at: usize| u64::from(four(at)) | (u64::from(four(at + 4)) << 32);
        #[expect(clippy::cast_possible_truncation, reason = "the low half says whether it was moved")]
        let is_here = four(4) == place as u32;
        if !is_here || four(0) != crc(&salted) {
            return None;
        }
        let kind = Kind::ALL.into_iter().find(|kind| *kind as u8 == bytes[8])?;
        let block = eight(16);
        Some(Self {
            kind,
            is_ok: bytes[9] == 1,
            target: two(10),
            count: four(12),
            first: block % BLOCKS_MAX,
            version: two(22),
            sequence: eight(24),
        })
    }
}

#[inline]
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "a checksum of 32 bits")]
    let crc = checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32;
    crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_back_and_no_flipped_bit_passes(at in 0usize..29, salt: u64, place in 0u64..1 << 40, target: u16, count: u32, first in 0..BLOCKS_MAX, version: u16, sequence: u64, is_ok: bool, bit in 0usize..256) {
            let record = Record { kind: Kind::ALL[at], is_ok, target, count, first, version, sequence };
            let mut bytes = record.encode(salt, place);
            prop_assert_eq!(Record::decode(&bytes, salt, place), Some(record));
            prop_assert_eq!(Record::decode(&bytes, salt ^ 1, place), None);
            prop_assert_eq!(Record::decode(&bytes, salt, place + 1), None);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(Record::decode(&bytes, salt, place), None);
        }
    }
}
