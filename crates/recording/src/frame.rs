//! The headers of the journal's frames.
//!
//! Of format 1: `magic (8 bytes), length (u32 LE), crc32 of the payload (u32 LE)`. Of format 2: `magic (8), length (u32),
//! number (u64), recording (u64), crc32 of the payload (u32), crc32 of the 32 bytes before (u32)`, all little-endian. By the
//! numbers a reader knows how many frames are lost; by the recording (a hash of its identity) that a frame is of this one.

/// A frame longer than this is damage, not data.
pub(crate) const FRAME_MAX: u32 = 1 << 30;
/// Length of the longest header.
pub(crate) const HEADER_MAX: usize = 36;
/// Length of every magic; none of it is text, or found in Arrow's padding.
pub(crate) const MAGIC_BYTES: usize = 8;
/// Begins a frame of format 1.
const MAGIC_1: [u8; MAGIC_BYTES] = *b"\x93ioJrnl\x01";
/// Begins a frame of format 2.
const MAGIC_2: [u8; MAGIC_BYTES] = *b"\x93ioJrnl\x02";

/// How frames of a journal look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Of format 1.
    One,
    /// With a number, the recording's identity, and a checksum of the header.
    Two,
}

/// What a header tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Length of the payload.
    pub(crate) length: u32,
    /// CRC-32 of the payload.
    pub(crate) checksum: u32,
    /// Number of the frame and hash of its recording, in layout 2.
    pub(crate) place: Option<(u64, u64)>,
}

impl Layout {
    /// Of the recordings of a format version.
    pub(crate) fn of(format_version: u32) -> Self {
        if format_version < 2 { Self::One } else { Self::Two }
    }

    pub(crate) fn magic(self) -> [u8; MAGIC_BYTES] {
        match self {
            Self::One => MAGIC_1,
            Self::Two => MAGIC_2,
        }
    }

    /// Length of its headers.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::One => 16,
            Self::Two => HEADER_MAX,
        }
    }

    /// Is a header that reads well known to be right? Otherwise its length may be anything.
    pub(crate) fn is_sure(self) -> bool {
        self == Self::Two
    }

    /// What a header says; `None` where it is none, or damaged.
    pub(crate) fn read(self, bytes: &[u8]) -> Option<Header> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let wide = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        if bytes.get(..MAGIC_BYTES)? != self.magic() {
            return None;
        }
        let length = word(8).filter(|length| *length <= FRAME_MAX)?;
        match self {
            Self::One => Some(Header { length, checksum: word(12)?, place: None }),
            Self::Two => {
                let is_whole = word(32)? == crc32fast::hash(&bytes[..32]);
                is_whole.then_some(Header { length, checksum: word(28)?, place: Some((wide(12)?, wide(20)?)) })
            }
        }
    }
}

/// The header of a frame as this version writes it.
pub(crate) fn header(length: u32, payload: &[u8], number: u64, recording: u64) -> [u8; HEADER_MAX] {
    let mut header = [0; HEADER_MAX];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &MAGIC_2);
    put(8, &length.to_le_bytes());
    put(12, &number.to_le_bytes());
    put(20, &recording.to_le_bytes());
    put(28, &crc32fast::hash(payload).to_le_bytes());
    let checksum = crc32fast::hash(&header[..32]);
    header[32..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Counts frames by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// The number that comes next; unknown after a jump.
    next: Option<u64>,
    /// Frames that are not there, or not whole.
    pub(crate) lost: u64,
    /// Whole frames that stand where they do not belong: a second time, before others, of another recording.
    pub(crate) misplaced: u64,
    /// The highest number among those that stood before others.
    early: Option<u64>,
}

impl Order {
    /// From the first frame on.
    pub(crate) fn from_the_start() -> Self {
        Self { next: Some(0), ..Self::default() }
    }

    /// The next frame may be any.
    pub(crate) fn jump(&mut self, to_the_start: bool) {
        self.next = to_the_start.then_some(0);
    }

    /// Frames that there should be so far.
    pub(crate) fn expected(&self) -> u64 {
        let early = self.early.map_or(0, |early| early.saturating_add(1));
        self.next.map_or(0, |next| next.max(early))
    }

    /// Frames that are not there or not whole, those among them that stood before others and then did not come in their place.
    pub(crate) fn missing(&self) -> u64 {
        self.lost.saturating_add(self.expected().saturating_sub(self.next.unwrap_or(0)))
    }

    /// A whole frame of this recording that stands before the one that comes next.
    pub(crate) fn came_early(&mut self, number: u64) {
        self.misplaced += 1;
        self.early = self.early.max(Some(number));
    }

    /// The number that should come, when this one is a later one.
    pub(crate) fn awaited(&self, number: u64) -> Option<u64> {
        self.next.filter(|next| number > *next)
    }

    /// A whole frame; false when it does not belong here.
    pub(crate) fn take(&mut self, number: u64) -> bool {
        let next = self.next.unwrap_or(number);
        let belongs = number >= next;
        if belongs {
            self.lost = self.lost.saturating_add(number - next);
            self.next = Some(number.saturating_add(1));
        } else {
            self.misplaced += 1;
        }
        belongs
    }

    /// A frame whose header is whole, and its payload not; false when another one of this number was there.
    pub(crate) fn lose(&mut self, number: u64) -> bool {
        let is_missed = self.next.is_none_or(|next| number >= next);
        if is_missed {
            self.lost = self.lost.saturating_add(1).saturating_add(number - self.next.unwrap_or(number));
            self.next = Some(number.saturating_add(1));
        }
        is_missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flipped_bit_of_a_header_passes() {
        let whole = header(5, b"hello", 7, 9);
        let read = Layout::Two.read(&whole).unwrap();
        assert_eq!((read.length, read.place), (5, Some((7, 9))));
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Layout::Two.read(&damaged), None, "{bit}");
        }
        assert_eq!(Layout::One.read(&whole), None);
    }

    #[test]
    fn lost_frames_are_counted_by_their_numbers() {
        let mut order = Order::from_the_start();
        assert!(order.take(0) && order.take(1) && order.take(5));
        assert_eq!((order.lost, order.misplaced, order.expected()), (3, 0, 6));
        assert!(!order.take(5) && !order.take(2), "a second one, one that came late");
        order.lose(6);
        assert_eq!((order.lost, order.misplaced, order.expected()), (4, 2, 7));
        order.came_early(9);
        assert_eq!((order.missing(), order.expected()), (7, 10), "7, 8 and 9 may not come");
        assert!(order.take(7) && order.take(8) && order.take(9));
        assert_eq!((order.missing(), order.misplaced), (4, 3), "they came");
        order.jump(false);
        assert!(order.take(100));
        assert_eq!(order.lost, 4, "what was jumped over is not lost");
    }
}
