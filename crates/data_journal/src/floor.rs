//! The oldest operation whose effect may be found in a block.

/// The oldest operation whose effect may be found in a block.
///
/// | bits | what |
/// | --- | --- |
/// | 0 … 48 | number of the write; of a trim, of the write that would have been next |
/// | 48 … 57 | session |
/// | 57 | newer ones may be there as well, although none is known to be done |
/// | 58 | the number is that of the write that would have been next at a checkpoint |
/// | 59 | it may be empty: a trim began |
/// | 60 | a trim |
/// | 61 | a write |
/// | 62 | a flush behind it was acknowledged |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Floor(pub u64);

const SEQUENCES: u64 = 1 << 48;
/// Sessions that a journal may have without a checkpoint.
pub(crate) const SESSIONS_MAX: usize = 1 << 9;
const FOLLOWED: u64 = 1 << 57;
const BOUND: u64 = 1 << 58;
const ZERO: u64 = 1 << 59;
const TRIM: u64 = 1 << 60;
const WRITE: u64 = 1 << 61;
const FLUSHED: u64 = 1 << 62;
/// States of blocks in a checkpoint: see `StateSource`.
const UNSURE: u16 = 1 << 14;

impl Floor {
    pub(crate) fn write(session: u16, sequence: u64) -> Self {
        Self(WRITE | Self::at(session, sequence))
    }

    pub(crate) fn trim(session: u16, sequence: u64) -> Self {
        Self(TRIM | Self::at(session, sequence))
    }

    fn at(session: u16, sequence: u64) -> u64 {
        (u64::from(session) % SESSIONS_MAX as u64 * SEQUENCES) | (sequence % SEQUENCES)
    }

    /// Of a state in a checkpoint, with its version; `None`: it says nothing.
    pub(crate) fn of_state(state: u16, session: u16, sequence: u64) -> Option<(Self, u16)> {
        let version = state & (UNSURE - 1);
        match version {
            0 | 3 => None,
            1 => Some((Self::trim(session, sequence), 0)),
            // It was found wrong, and reported.
            2 => Some((Self::default(), 0)),
            _ => {
                let followed = if state & UNSURE != 0 { FOLLOWED } else { 0 };
                Some((Self(BOUND | followed | Self::write(session, sequence).0), version))
            }
        }
    }

    /// Number of the write; of a trim, of the next one.
    pub(crate) fn sequence(self) -> u64 {
        self.0 % SEQUENCES
    }

    /// What holds of a block that is one of two, of which each has this floor: the older one, and anything behind it. `None`: nothing.
    pub(crate) fn either(one: (Self, u16), other: (Self, u16)) -> Option<(Self, u16)> {
        if one.0.is_same_operation(other.0) && one.1 == other.1 {
            let flushed = one.0.0 & other.0.0 & FLUSHED;
            return Some((Self(flushed | ((one.0.0 | other.0.0) & !FLUSHED)), one.1));
        }
        // Those of a checkpoint know a version and no number.
        if one.0.is_of_checkpoint() || other.0.is_of_checkpoint() {
            return None;
        }
        let age = |floor: Self| floor.0 % FOLLOWED;
        let (mut older, newer) = if age(one.0) <= age(other.0) { (one, other.0) } else { (other, one.0) };
        older.0.is_followed();
        if older.0.allows_zeroes() || newer.allows_zeroes() {
            older.0.may_be_zero();
        }
        if !newer.is_flushed() {
            older.0.0 &= !FLUSHED;
        }
        Some(older)
    }

    pub(crate) fn is_followed(&mut self) {
        if self.is_some() {
            self.0 |= FOLLOWED;
        }
    }

    pub(crate) fn may_be_zero(&mut self) {
        if self.is_some() {
            self.0 |= ZERO;
        }
    }

    pub(crate) fn set_flushed(&mut self) {
        self.0 |= FLUSHED;
    }

    /// Is anything known?
    #[must_use]
    pub fn is_some(self) -> bool {
        self.0 & (TRIM | WRITE) != 0
    }

    /// The block was trimmed.
    #[must_use]
    pub fn is_trim(self) -> bool {
        self.0 & TRIM != 0
    }

    /// Zeroes may be found.
    #[must_use]
    pub fn allows_zeroes(self) -> bool {
        self.0 & (TRIM | ZERO) != 0
    }

    /// A flush that was submitted behind the operation was acknowledged.
    #[must_use]
    pub fn is_flushed(self) -> bool {
        self.0 & FLUSHED != 0
    }

    /// Newer writes may be there, whose end is not known.
    #[must_use]
    pub fn may_be_newer(self) -> bool {
        self.0 & (FOLLOWED | ZERO) != 0
    }

    /// Number of the session: an index of [`Recovered::sessions`].
    #[must_use]
    pub fn session(self) -> usize {
        usize::try_from(self.0 / SEQUENCES).unwrap_or(0) % SESSIONS_MAX
    }

    /// May data of the `number`th write of the same session be there, of the version of the floor (`is_version`) or another one?
    #[must_use]
    pub fn allows_write(self, number: u64, is_version: bool) -> bool {
        let own = self.0 % SEQUENCES;
        match (self.is_trim(), self.0 & BOUND != 0) {
            (true, _) => number >= own,
            (false, true) => is_version || number >= own,
            (false, false) => number >= own,
        }
    }

    /// Is the floor of a checkpoint, so that writes of earlier sessions may be there if they have its version?
    #[must_use]
    pub fn is_of_checkpoint(self) -> bool {
        self.0 & BOUND != 0
    }

    pub(crate) fn is_same_operation(self, other: Self) -> bool {
        let marks = FOLLOWED | ZERO | FLUSHED;
        self.is_some() && self.0 & !marks == other.0 & !marks
    }
}
