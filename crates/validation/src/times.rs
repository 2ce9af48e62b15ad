//! When each block was written last, and when it was last read and right, in eight bytes each.

use quantity::clock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Blocks whose times lie side by side; memory is taken when the first of them is written or read.
const CHUNK: usize = 1 << 14;
/// Times are kept in units of so many nanoseconds, about a millisecond, for 52 days.
const UNIT_NS: u64 = 1 << 20;

/// Of one block; 0: never, otherwise one more than the units since the start.
#[derive(Debug, Default)]
struct Times {
    good: AtomicU32,
    written: AtomicU32,
}

/// Times of the blocks of a target.
#[derive(Debug)]
pub(crate) struct BlockTimes {
    begun_ns: u64,
    chunks: Vec<OnceLock<Box<[Times]>>>,
}

/// What is known of when a block was right, `CLOCK_MONOTONIC`, ns, rounded down to a millisecond or so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownTimes {
    /// When it was last read and right.
    pub good_ns: Option<u64>,
    /// When its last write came back.
    pub written_ns: Option<u64>,
}

impl BlockTimes {
    /// Of so many blocks, from now on.
    pub(crate) fn new(blocks: u64) -> Self {
        let chunks = usize::try_from(blocks.div_ceil(CHUNK as u64)).unwrap_or(usize::MAX);
        Self { begun_ns: clock::now_ns(), chunks: (0..chunks).map(|_| OnceLock::new()).collect() }
    }

    fn now(&self) -> u32 {
        let units = clock::now_ns().saturating_sub(self.begun_ns) / UNIT_NS;
        u32::try_from(units + 1).unwrap_or(u32::MAX)
    }

    fn cell(&self, block: u64) -> Option<&Times> {
        let at = usize::try_from(block).ok()?;
        let chunk = self.chunks.get(at / CHUNK)?.get_or_init(|| (0..CHUNK).map(|_| Times::default()).collect());
        chunk.get(at % CHUNK)
    }

    /// Blocks were read and right.
    pub(crate) fn good(&self, blocks: impl Iterator<Item = u64>) {
        let now = self.now();
        blocks.filter_map(|block| self.cell(block)).for_each(|times| times.good.store(now, Ordering::Relaxed));
    }

    /// A write of blocks came back.
    pub(crate) fn written(&self, blocks: impl Iterator<Item = u64>) {
        let now = self.now();
        blocks.filter_map(|block| self.cell(block)).for_each(|times| times.written.store(now, Ordering::Relaxed));
    }

    /// What is known of one.
    pub(crate) fn get(&self, block: u64) -> KnownTimes {
        let known = usize::try_from(block).ok().and_then(|at| self.chunks.get(at / CHUNK)?.get()?.get(at % CHUNK));
        let of = |units: &AtomicU32| {
            let units = units.load(Ordering::Relaxed).checked_sub(1)?;
            Some(self.begun_ns + u64::from(units) * UNIT_NS)
        };
        known.map_or(KnownTimes::default(), |times| KnownTimes {
            good_ns: of(&times.good),
            written_ns: of(&times.written),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_what_happened_last() {
        let times = BlockTimes::new(40_000);
        assert_eq!(times.get(7), KnownTimes::default());
        let before = clock::now_ns();
        times.written([7, 39_999].into_iter());
        times.good([7].into_iter());
        let after = clock::now_ns();
        let known = times.get(7);
        for at in [known.good_ns, known.written_ns] {
            assert!(at.is_some_and(|at| at + UNIT_NS > before && at <= after), "{known:?}");
        }
        assert_eq!(times.get(39_999).good_ns, None);
        // Behind the end there is nothing.
        times.good([40_000, u64::MAX].into_iter());
        assert_eq!((times.get(u64::MAX), times.get(8)), (KnownTimes::default(), KnownTimes::default()));
    }
}
