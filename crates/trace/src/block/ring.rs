//! The last records in memory, as they came: what a flight recorder writes when there is trouble.

use crate::block::chunk::TraceChunk;
use recording::{IO_RECORD_BYTES, IoRecord, RawIo};
use std::collections::VecDeque;

/// Records of a full block: 256 KiB.
const BLOCK_RECORDS: usize = 4096;

/// Records in the order of completion, some thousands of them.
#[derive(Debug, Default)]
struct Block {
    ios: Vec<RawIo>,
    /// Greatest time of completion, ns.
    last_ns: u64,
}

/// The records of the last seconds, with a limit in bytes.
#[derive(Debug)]
pub struct FlightRing {
    blocks: VecDeque<Block>,
    /// A block that was let go, to be filled again.
    spare: Option<Block>,
    blocks_max: usize,
    ios: usize,
}

impl FlightRing {
    /// An empty ring that takes no more than `bytes`, and never less than two blocks of 256 KiB.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let blocks = bytes / (BLOCK_RECORDS * IO_RECORD_BYTES) as u64;
        let blocks_max = usize::try_from(blocks).unwrap_or(usize::MAX).max(2);
        Self { blocks: VecDeque::new(), spare: None, blocks_max, ios: 0 }
    }

    /// Takes the records of a chunk; gives the number of records that had to go for them because the ring was full, and
    /// the last time of completion among these.
    pub fn push(&mut self, chunk: &TraceChunk) -> (u64, u64) {
        let (mut gone, mut gone_ns) = (0, 0);
        for raw in &chunk.ios {
            if self.blocks.back().is_none_or(|block| block.ios.len() >= BLOCK_RECORDS) {
                if self.blocks.len() >= self.blocks_max {
                    gone_ns = self.blocks.front().map_or(0, |block| block.last_ns);
                    gone += self.drop_first();
                }
                let fresh = self.spare.take().unwrap_or_default();
                self.blocks.push_back(fresh);
            }
            if let Some(block) = self.blocks.back_mut() {
                block.ios.push(*raw);
                block.last_ns = block.last_ns.max(IoRecord::of(raw).last_ns());
                self.ios += 1;
            }
        }
        (gone, gone_ns)
    }

    /// Lets go whole blocks whose I/Os all completed before `t_ns`.
    pub fn forget_before(&mut self, t_ns: u64) {
        while self.blocks.len() > 1 && self.blocks.front().is_some_and(|block| block.last_ns < t_ns) {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) -> u64 {
        let Some(mut block) = self.blocks.pop_front() else { return 0 };
        let count = block.ios.len();
        self.ios -= count;
        block.ios.clear();
        block.last_ns = 0;
        // Only one: after a rush of I/Os the memory goes back.
        self.spare = Some(block);
        count as u64
    }

    /// What completed from `t_ns` on, a block at a time.
    pub fn chunks_from(&self, t_ns: u64) -> impl Iterator<Item = TraceChunk> + '_ {
        let wanted = move |raw: &&RawIo| IoRecord::of(raw).last_ns() >= t_ns;
        let blocks = self.blocks.iter().filter(move |block| block.last_ns >= t_ns);
        blocks.map(move |block| TraceChunk::of_records(block.ios.iter().filter(wanted).copied().collect()))
    }

    /// I/Os in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ios
    }

    /// Is nothing in it?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ios == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk of I/Os that complete at these times.
    fn chunk(times: impl IntoIterator<Item = u64>) -> TraceChunk {
        let raw = |t_ns: u64| {
            let mut raw = [0; IO_RECORD_BYTES];
            raw[8..16].copy_from_slice(&t_ns.to_ne_bytes());
            raw
        };
        TraceChunk::of_records(times.into_iter().map(raw).collect())
    }

    fn times(ring: &FlightRing, from_ns: u64) -> Vec<u64> {
        ring.chunks_from(from_ns).flat_map(|chunk| chunk.ios().map(|io| io.complete_ns).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn what_is_old_goes_and_what_is_new_stays_in_order() {
        let mut ring = FlightRing::new(1 << 30);
        for part in 0..100 {
            assert_eq!(ring.push(&chunk(part * 1000..(part + 1) * 1000)), (0, 0));
            ring.forget_before((part * 1000).saturating_sub(20_000));
        }
        let kept = times(&ring, 0);
        assert!(kept.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        assert_eq!(kept.last(), Some(&99_999));
        let asked = 99_000 - 20_000;
        assert!(kept[0] <= asked && kept[0] > asked - BLOCK_RECORDS as u64, "{}", kept[0]);
        assert_eq!(ring.len(), kept.len());
        assert_eq!(times(&ring, 90_000), (90_000..100_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_full_ring_lets_the_oldest_go_and_says_so() {
        let mut ring = FlightRing::new(4 * (BLOCK_RECORDS * IO_RECORD_BYTES) as u64);
        let block = BLOCK_RECORDS as u64;
        assert_eq!(ring.push(&chunk(0..10 * block)), (6 * block, 6 * block - 1));
        assert_eq!(times(&ring, 0), (6 * block..10 * block).collect::<Vec<_>>());
    }
}
