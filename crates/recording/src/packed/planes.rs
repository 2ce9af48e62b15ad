//! Records of I/Os at a third of their size: what differs from record to record in planes of few bytes, what repeats once.
//!
//! A block has up to 16,384 records: `records (u32), tails (u32), exceptions (u32)`, then for each record in planes, in the
//! byte order of the machine: queueing since the record before (i32, ns), completion and issue since queueing (u32, ns; all
//! ones: never issued), the sector (u32, and a byte above it), the number of its tail (u16); then the tails, the bytes 32 to
//! 57 of a record (size, device, tasks, file, flags, operation, status, …), each once or a few times; then the exceptions,
//! `place (u32), record (64 bytes)`: what does not fit so, which the planes have as zeroes.
//!
//! Made for speed, since it happens beside the load that is traced: one pass, and no tables but the tails seen last.

use super::{IO_RECORD_BYTES, RawIo};

/// Records of a block.
const BLOCK: usize = 16 * 1024;
/// Where a record's tail is.
const TAIL_AT: usize = 32;
/// Bytes of a tail; the rest of a record is nothing.
const TAIL_BYTES: usize = 26;
/// Bytes of a record in the planes.
const PLANES_BYTES: usize = 4 + 4 + 4 + 4 + 1 + 2;
/// Three numbers before a block.
const HEADER: usize = 12;
/// An exception: where it belongs, and the record.
const EXCEPTION_BYTES: usize = 4 + IO_RECORD_BYTES;
/// In the plane of issues: never given to the driver by itself.
const NOT_ISSUED: u32 = u32::MAX;
/// Tails seen last that are remembered: 8 KiB of places.
const PLACES_BITS: u32 = 12;

/// A record's second half.
type Half = [u64; 4];

/// The tails of a block, and where each of those that were seen last stands among them. One that had to make room for
/// another is listed again when it comes again: that costs bytes where there are thousands of them, and never time.
struct Tails {
    places: Vec<u16>,
    all: Vec<Half>,
}

impl Tails {
    /// No block has so many tails.
    const NOTHING: u16 = u16::MAX;

    fn new() -> Self {
        Self { places: vec![Self::NOTHING; 1 << PLACES_BITS], all: Vec::new() }
    }

    fn clear(&mut self) {
        self.places.fill(Self::NOTHING);
        self.all.clear();
    }

    /// The number of a tail.
    #[inline]
    fn number(&mut self, half: Half) -> u16 {
        // Odd numbers without a pattern, as in Knuth's multiplicative hashing: the high bits depend on all words.
        let mixed = half[0].wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ half[1].wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(17)
            ^ half[2].wrapping_mul(0x94d0_49bb_1331_11eb).rotate_left(31)
            ^ half[3].wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(47);
        let place = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES_BITS);
        let Some(number) = self.places.get_mut(usize::try_from(place).unwrap_or(0)) else { return Self::NOTHING };
        let is_known = self.all.get(usize::from(*number)).is_some_and(|known| is_same(known, &half));
        if !is_known {
            // A block has fewer records than this can count.
            *number = u16::try_from(self.all.len()).unwrap_or(Self::NOTHING);
            self.all.push(half);
        }
        *number
    }

    /// Their bytes.
    fn write(&self, to: &mut Vec<u8>) {
        for half in &self.all {
            half[..3].iter().for_each(|word| to.extend_from_slice(&word.to_ne_bytes()));
            to.extend_from_slice(&u16::try_from(half[3]).unwrap_or(0).to_ne_bytes());
        }
    }
}

/// Word by word: compared as a whole, words that were just written one by one are waited for.
#[inline]
fn is_same(a: &Half, b: &Half) -> bool {
    (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) == 0
}

#[inline]
fn wide(raw: &RawIo, at: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|byte| raw[at + byte]))
}

/// A record as the planes have it, but for its tail; `None` where it does not fit.
#[inline]
fn small(raw: &RawIo, before_ns: u64) -> Option<(i32, u32, u32, u64)> {
    let (queue_ns, complete_ns, issue_ns, sector) = (wide(raw, 0), wide(raw, 8), wide(raw, 16), wide(raw, 24));
    let queued = i32::try_from(queue_ns.wrapping_sub(before_ns).cast_signed()).ok()?;
    let response_ns = u32::try_from(complete_ns.wrapping_sub(queue_ns)).ok()?;
    let wait_ns = if issue_ns == 0 {
        NOT_ISSUED
    } else {
        u32::try_from(issue_ns.wrapping_sub(queue_ns)).ok().filter(|ns| *ns != NOT_ISSUED)?
    };
    // One without an end is always an exception, and so found without looking at the others.
    let fits = complete_ns > 0 && sector < 1 << 40;
    fits.then_some((queued, response_ns, wait_ns, sector))
}

/// The planes of a block, in their order.
struct Planes<T> {
    queued: T,
    response: T,
    wait: T,
    sector: T,
    above: T,
    tail: T,
}

impl<'a> Planes<&'a [u8]> {
    /// Splits `bytes`, which has `count` records.
    fn of(bytes: &'a [u8], count: usize) -> Option<Self> {
        let (queued, rest) = bytes.split_at_checked(count * 4)?;
        let (response, rest) = rest.split_at_checked(count * 4)?;
        let (wait, rest) = rest.split_at_checked(count * 4)?;
        let (sector, rest) = rest.split_at_checked(count * 4)?;
        let (above, tail) = rest.split_at_checked(count)?;
        (tail.len() == count * 2).then_some(Self { queued, response, wait, sector, above, tail })
    }
}

/// Puts records behind what is in `to`.
pub(super) fn encode(records: &[RawIo], to: &mut Vec<u8>) {
    let mut tails = Tails::new();
    for block in records.chunks(BLOCK) {
        encode_block(block, &mut tails, to);
        tails.clear();
    }
}

fn encode_block(block: &[RawIo], tails: &mut Tails, to: &mut Vec<u8>) {
    let count = block.len();
    let start = to.len();
    to.resize(start + HEADER + count * PLANES_BYTES, 0);
    let mut exceptions = Vec::new();
    let (head, planes) = to[start..].split_at_mut(HEADER);
    let (queued, rest) = planes.split_at_mut(count * 4);
    let (response, rest) = rest.split_at_mut(count * 4);
    let (wait, rest) = rest.split_at_mut(count * 4);
    let (sector, rest) = rest.split_at_mut(count * 4);
    let (above, tail) = rest.split_at_mut(count);
    let planes = queued.as_chunks_mut::<4>().0.iter_mut().zip(response.as_chunks_mut::<4>().0);
    let planes = planes.zip(wait.as_chunks_mut::<4>().0).zip(sector.as_chunks_mut::<4>().0);
    let planes = planes.zip(above.iter_mut()).zip(tail.as_chunks_mut::<2>().0);
    let mut before_ns = 0;
    // The first record's place in time is an exception's, unless the machine has just been started.
    for (place, (raw, (((((queued, response), wait), sector), above), tail))) in (0_u32..).zip(block.iter().zip(planes))
    {
        let small = small(raw, before_ns);
        before_ns = wide(raw, 0);
        let Some((since_ns, response_ns, wait_ns, at)) = small else {
            exceptions.extend_from_slice(&place.to_ne_bytes());
            exceptions.extend_from_slice(raw);
            continue;
        };
        *queued = since_ns.to_ne_bytes();
        *response = response_ns.to_ne_bytes();
        *wait = wait_ns.to_ne_bytes();
        let at = at.to_le_bytes();
        *sector = [at[0], at[1], at[2], at[3]];
        *above = at[4];
        let last = u64::from(u16::from_ne_bytes([raw[56], raw[57]]));
        let half = [wide(raw, TAIL_AT), wide(raw, TAIL_AT + 8), wide(raw, TAIL_AT + 16), last];
        *tail = tails.number(half).to_ne_bytes();
    }
    let count_of = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).to_ne_bytes();
    head[..4].copy_from_slice(&count_of(count));
    head[4..8].copy_from_slice(&count_of(tails.all.len()));
    head[8..].copy_from_slice(&count_of(exceptions.len() / EXCEPTION_BYTES));
    tails.write(to);
    to.extend_from_slice(&exceptions);
}

/// A block as it lies in a frame.
struct Block<'a> {
    count: usize,
    planes: &'a [u8],
    tails: &'a [[u8; TAIL_BYTES]],
    exceptions: &'a [[u8; EXCEPTION_BYTES]],
}

impl<'a> Block<'a> {
    /// The first one in `bytes`, and what follows it; `None` where they are damaged.
    fn first(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_at_checked(HEADER)?;
        let number = |at: usize| {
            let number = head.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)?;
            usize::try_from(number).ok()
        };
        let count = number(0).filter(|count| *count <= BLOCK)?;
        let (planes, rest) = rest.split_at_checked(count * PLANES_BYTES)?;
        let (tails, rest) = rest.split_at_checked(number(4)?.checked_mul(TAIL_BYTES)?)?;
        let (exceptions, rest) = rest.split_at_checked(number(8)?.checked_mul(EXCEPTION_BYTES)?)?;
        let (tails, exceptions) = (tails.as_chunks().0, exceptions.as_chunks().0);
        Some((Self { count, planes, tails, exceptions }, rest))
    }

    fn exceptions(&self) -> impl Iterator<Item = (usize, RawIo)> + '_ {
        self.exceptions.iter().map(|exception| {
            let place = u32::from_ne_bytes(std::array::from_fn(|byte| exception[byte]));
            (usize::try_from(place).unwrap_or(usize::MAX), std::array::from_fn(|byte| exception[4 + byte]))
        })
    }

    fn decode(&self, records: &mut Vec<RawIo>) -> Option<()> {
        let planes = Planes::of(self.planes, self.count)?;
        let mut exceptions = self.exceptions().peekable();
        let of = |plane: &[u8], place: usize| plane.as_chunks::<4>().0.get(place).copied();
        let mut before_ns = 0_u64;
        for place in 0..self.count {
            if let Some((_, raw)) = exceptions.next_if(|(at, _)| *at == place) {
                before_ns = wide(&raw, 0);
                records.push(raw);
                continue;
            }
            let queue_ns = before_ns.wrapping_add_signed(i32::from_ne_bytes(of(planes.queued, place)?).into());
            before_ns = queue_ns;
            let since = |ns: u32| queue_ns.wrapping_add(ns.into());
            let complete_ns = since(u32::from_ne_bytes(of(planes.response, place)?));
            let wait_ns = u32::from_ne_bytes(of(planes.wait, place)?);
            let issue_ns = if wait_ns == NOT_ISSUED { 0 } else { since(wait_ns) };
            let [a, b, c, d] = of(planes.sector, place)?;
            let sector = u64::from_le_bytes([a, b, c, d, *planes.above.get(place)?, 0, 0, 0]);
            let tail = u16::from_ne_bytes(*planes.tail.as_chunks::<2>().0.get(place)?);
            let tail = self.tails.get(usize::from(tail))?;
            let mut raw = [0; IO_RECORD_BYTES];
            for (at, value) in [queue_ns, complete_ns, issue_ns, sector].into_iter().enumerate() {
                raw[at * 8..at * 8 + 8].copy_from_slice(&value.to_ne_bytes());
            }
            raw[TAIL_AT..TAIL_AT + TAIL_BYTES].copy_from_slice(tail);
            records.push(raw);
        }
        exceptions.next().is_none().then_some(())
    }
}

/// All records, in their order; `None` where they are damaged.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Vec<RawIo>> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (block, rest) = Block::first(bytes)?;
        block.decode(&mut records)?;
        bytes = rest;
    }
    Some(records)
}

/// Those that have no end: they are never in the planes. `None` where they are damaged.
pub(super) fn decode_unended(mut bytes: &[u8]) -> Option<Vec<RawIo>> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (block, rest) = Block::first(bytes)?;
        records.extend(block.exceptions().map(|(_, raw)| raw).filter(|raw| wide(raw, 8) == 0));
        bytes = rest;
    }
    Some(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Times, sector and a tail that may each be as they mostly are, or anything.
    fn record() -> impl Strategy<Value = RawIo> {
        let near =
            |usual: u64, far: u64| prop_oneof![8 => 0..usual, 1 => Just(0), 1 => far - 2..far + 2, 1 => any::<u64>()];
        let tail = prop_oneof![8 => (0_u8..40).prop_map(|byte| [byte; TAIL_BYTES]), 1 => any::<[u8; TAIL_BYTES]>()];
        let times = (near(1 << 30, 1 << 31), near(1 << 20, 1 << 32), near(1 << 16, 1 << 32));
        (times, near(1 << 36, 1 << 40), tail).prop_map(|((queue, response, wait), sector, tail)| {
            let queue_ns = (1_u64 << 40).wrapping_add(queue);
            let complete_ns = if response == 0 { 0 } else { queue_ns.wrapping_add(response) };
            let issue_ns = if wait == 0 { 0 } else { queue_ns.wrapping_add(wait) };
            let mut raw = [0; IO_RECORD_BYTES];
            for (at, value) in [queue_ns, complete_ns, issue_ns, sector].into_iter().enumerate() {
                raw[at * 8..at * 8 + 8].copy_from_slice(&value.to_ne_bytes());
            }
            raw[TAIL_AT..TAIL_AT + TAIL_BYTES].copy_from_slice(&tail);
            raw
        })
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_were(records in prop::collection::vec(record(), 0..600)) {
            let mut bytes = Vec::new();
            encode(&records, &mut bytes);
            prop_assert_eq!(decode(&bytes).unwrap(), records.clone());
            let unended: Vec<RawIo> = records.into_iter().filter(|raw| wide(raw, 8) == 0).collect();
            prop_assert_eq!(decode_unended(&bytes).unwrap(), unended);
        }

        #[test]
        fn damage_is_no_panic(records in prop::collection::vec(record(), 0..20), at: prop::sample::Index, byte: u8) {
            let mut bytes = Vec::new();
            encode(&records, &mut bytes);
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                prop_assert!(decode(&bytes[..at]).is_none_or(|some| some.len() < records.len()));
                bytes[at] = byte;
                let _ = (decode(&bytes), decode_unended(&bytes));
            }
        }
    }

    /// A load of so many kinds of I/O, by turns, in more blocks than one: bytes of one, once it has come back as it was.
    fn bytes_each(kinds: u64) -> f64 {
        let record = |number: u64| {
            let mut raw = [0; IO_RECORD_BYTES];
            let queue_ns = (1 << 45) + number * 1000 + number % 7 * 100_000;
            let words = [queue_ns, queue_ns + 80_000, queue_ns + 2000, number * 977 % (1 << 33)];
            for (at, value) in words.into_iter().enumerate() {
                raw[at * 8..at * 8 + 8].copy_from_slice(&value.to_ne_bytes());
            }
            raw[TAIL_AT..TAIL_AT + 8].copy_from_slice(&(number % kinds).to_ne_bytes());
            raw[40] = 7;
            raw
        };
        let records: Vec<RawIo> = (0..40_000).map(record).collect();
        let mut bytes = Vec::new();
        encode(&records[..30_000], &mut bytes);
        encode(&records[30_000..], &mut bytes);
        assert_eq!(decode(&bytes).unwrap(), records);
        assert!(decode_unended(&bytes).unwrap().is_empty());
        bytes.len() as f64 / records.len() as f64
    }

    #[test]
    fn a_usual_load_takes_a_third() {
        let (few, usual, many) = (bytes_each(1), bytes_each(300), bytes_each(3000));
        assert!(few < 19.1 && usual < 23.0 && many < 40.0, "{few}, {usual}, {many} bytes for one");
    }
}
