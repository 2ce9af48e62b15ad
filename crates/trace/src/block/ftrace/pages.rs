//! Pages of the kernel's ring buffer as `trace_pipe_raw` gives them (kernel/trace/ring_buffer.c), read without trust.

use crate::block::ftrace::format::Layout;

/// In the word that says how full a page is: events were lost before it; their number stands behind its data.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// Of that word, what is the size.
const SIZE: u64 = (1 << 20) - 1;

/// Kinds of entries that are no event.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Times are cut to so many bits where they stand in full.
const DELTA_BITS: u32 = 27;
const STAMP_BITS: u32 = 59;

/// How a page is made up, by `events/header_page`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageLayout {
    commit: (usize, usize),
    data: usize,
    /// Bytes of a whole page.
    pub(crate) bytes: usize,
}

impl PageLayout {
    /// Reads the file; `None` when it is not understood.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let layout = Layout::parse(text);
        let place = |name: &str| layout.field(name).map(super::format::Field::place);
        let (data, size) = place("data")?;
        let commit = place("commit")?;
        let bytes = data.checked_add(size)?;
        let sane = place("timestamp") == Some((0, 8)) && (commit.1 == 4 || commit.1 == 8) && bytes <= 16 << 20;
        sane.then_some(Self { commit, data, bytes })
    }

    /// The same of another size, as an instance may have it.
    pub(crate) fn sized(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }
}

/// What a page says of losses before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// There were some.
    pub(crate) any: bool,
    /// So many, when it is known.
    pub(crate) events: u64,
}

/// Gives every event of a page with its time.
pub(crate) fn read(page: &[u8], layout: &PageLayout, mut event: impl FnMut(u64, &[u8])) -> Lost {
    let word = |bytes: &[u8], (at, size): (usize, usize)| -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(size)?)?;
        match size {
            4 => Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?))),
            _ => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        }
    };
    let (Some(begin_ns), Some(commit), Some(data)) =
        (word(page, (0, 8)), word(page, layout.commit), page.get(layout.data..))
    else {
        return Lost::default();
    };
    let filled = usize::try_from(commit & SIZE).unwrap_or(usize::MAX).min(data.len());
    let mut lost = Lost { any: commit & MISSED != 0, events: 0 };
    if lost.any && commit & MISSED_STORED != 0 {
        lost.events = word(data, (filled, layout.commit.1)).unwrap_or(0);
    }
    let mut entries = data.get(..filled).unwrap_or_default();
    let mut time = begin_ns;
    while let Some(entry) = Entry::of(entries) {
        time = entry.time(time, begin_ns);
        if let Some(payload) = entry.payload.and_then(|(from, length)| entries.get(from..from.checked_add(length)?)) {
            event(time, payload);
        }
        let Some(rest) = entry.bytes.and_then(|bytes| entries.get(bytes..)) else { break };
        entries = rest;
    }
    lost
}

/// One entry of a page.
struct Entry {
    kind: u32,
    delta: u64,
    word: u64,
    /// Where the event's own bytes are.
    payload: Option<(usize, usize)>,
    /// Up to the next; `None`: there is none.
    bytes: Option<usize>,
}

impl Entry {
    fn of(entries: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_ne_bytes(entries.get(at..at + 4)?.try_into().ok()?));
        let head = number(0)?;
        // Bit fields begin at the low end on little-endian machines, at the high one on the others.
        let (kind, delta) =
            if cfg!(target_endian = "little") { (head & 0x1f, head >> 5) } else { (head >> 27, head & 0x07ff_ffff) };
        let word = number(4);
        let long = word.and_then(|length| usize::try_from(length).ok());
        let (payload, bytes) = match kind {
            // The length is that of itself and what follows.
            0 => (
                long.and_then(|length| Some((8, length.checked_sub(4)?))),
                long.map(|length| (length.max(4) + 7) / 4 * 4),
            ),
            PADDING if delta == 0 => (None, None),
            PADDING => (None, long.map(|length| length.max(4).saturating_add(4))),
            TIME_EXTEND | TIME_STAMP => (None, Some(8)),
            _ => {
                let length = usize::try_from(kind).ok()? * 4;
                (Some((4, length)), Some(4 + length))
            }
        };
        Some(Self { kind, delta: u64::from(delta), word: u64::from(word.unwrap_or(0)), payload, bytes })
    }

    /// The time at this entry, after one at `time` on a page that began at `begin_ns`.
    fn time(&self, time: u64, begin_ns: u64) -> u64 {
        match self.kind {
            TIME_EXTEND => time.wrapping_add((self.word << DELTA_BITS) + self.delta),
            // The highest bits are left out; they are those of the page.
            TIME_STAMP => ((self.word << DELTA_BITS) + self.delta) | (begin_ns >> STAMP_BITS << STAMP_BITS),
            _ => time.wrapping_add(self.delta),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn head(kind: u32, delta: u32) -> [u8; 4] {
        let head = if cfg!(target_endian = "little") { kind | delta << 5 } else { kind << 27 | delta };
        head.to_ne_bytes()
    }

    fn page(begin_ns: u64, flags: u64, entries: &[u8]) -> Vec<u8> {
        let commit = entries.len() as u64 | flags;
        [&begin_ns.to_ne_bytes()[..], &commit.to_ne_bytes(), entries].concat()
    }

    fn events(page: &[u8]) -> (Vec<(u64, Vec<u8>)>, Lost) {
        let layout = PageLayout::parse(HEADER).unwrap();
        let mut events = Vec::new();
        let lost = read(page, &layout, |time, data| events.push((time, data.to_vec())));
        (events, lost)
    }

    #[test]
    fn every_kind_of_entry_moves_the_time_as_the_kernel_means_it() {
        let word = |value: u32| value.to_ne_bytes();
        let entries = [
            &head(2, 5)[..],
            &[1; 8],
            // As long as it says, itself included.
            &head(0, 7),
            &word(4 + 4),
            &[2; 4],
            &head(TIME_EXTEND, 3),
            &word(1),
            &head(1, 0),
            &[3; 4],
            // Left out by a filter.
            &head(PADDING, 1),
            &word(4 + 4),
            &[9; 4],
            &head(TIME_STAMP, 11),
            &word(2),
            &head(1, 1),
            &[4; 4],
            &head(PADDING, 0),
            &[7; 20],
        ]
        .concat();
        let (events, lost) = events(&page(1000, 0, &entries));
        let extended = 1012 + (1 << 27) + 3;
        let expected =
            vec![(1005, vec![1; 8]), (1012, vec![2; 4]), (extended, vec![3; 4]), ((2 << 27) + 12, vec![4; 4])];
        assert_eq!((events, lost), (expected, Lost::default()));
    }

    #[test]
    fn losses_are_read_with_their_number_where_there_is_room_for_it() {
        let entries = [&head(1, 1)[..], &[1; 4]].concat();
        let mut stored = page(0, MISSED | MISSED_STORED, &entries);
        stored.extend_from_slice(&77_u64.to_ne_bytes());
        assert_eq!(events(&stored), (vec![(1, vec![1; 4])], Lost { any: true, events: 77 }));
        assert_eq!(events(&page(0, MISSED, &entries)).1, Lost { any: true, events: 0 });
    }

    #[test]
    fn a_header_that_is_another_is_refused() {
        assert_eq!(PageLayout::parse(HEADER).map(|layout| layout.bytes), Some(4096));
        assert_eq!(PageLayout::parse("nonsense"), None);
        assert_eq!(PageLayout::parse(&HEADER.replace("size:4080", "size:99999999999")), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..6000)) {
            let (events, _) = events(&bytes);
            prop_assert!(events.iter().map(|(_, data)| data.len() + 4).sum::<usize>() <= bytes.len());
        }

        #[test]
        fn any_entries_are_read(entries in prop::collection::vec((0_u32..32, 0_u32..1 << 27, 0_u32..64), 0..500)) {
            let bytes: Vec<u8> = entries.iter().flat_map(|(kind, delta, word)| [head(*kind, *delta), word.to_ne_bytes()].concat()).collect();
            let (events, _) = events(&page(5, 0, &bytes));
            prop_assert!(events.iter().map(|(_, data)| data.len() + 4).sum::<usize>() <= bytes.len());
        }
    }
}
