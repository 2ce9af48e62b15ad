//! Which blocks of a file were visited, one bit each: for transfers of different sizes, which no permutation of places keeps
//! from overlapping.

/// Blocks of one word.
const WORD: u64 = u64::BITS as u64;

/// A set of blocks with quick answers to which is the next one that is missing.
#[derive(Clone, Debug)]
pub(crate) struct BlockMap {
    blocks: u64,
    /// Of each level a bit says that a word of the level below is full; the first says it of blocks. Empty: nothing was taken yet,
    /// and no memory either.
    levels: Vec<Vec<u64>>,
}

impl BlockMap {
    pub(crate) fn new(blocks: u64) -> Self {
        Self { blocks, levels: Vec::new() }
    }

    /// Nothing was visited.
    pub(crate) fn clear(&mut self) {
        if self.levels.is_empty() {
            return;
        }
        let mut bits = self.blocks;
        for level in &mut self.levels {
            level.fill(0);
            close(level, bits);
            bits = bits.div_ceil(WORD);
        }
    }

    /// The first block from `at` on that was not visited, begun anew behind the last one.
    pub(crate) fn free_from(&mut self, at: u64) -> Option<u64> {
        if self.levels.is_empty() {
            self.levels = levels(self.blocks);
        }
        self.zero_from(0, at).or_else(|| self.zero_from(0, 0))
    }

    /// Visits up to `count` blocks from `at` on, until one was visited already; how many these are.
    pub(crate) fn take(&mut self, at: u64, count: u64) -> u64 {
        let end = at.saturating_add(count).min(self.blocks);
        let mut next = at;
        while next < end {
            let (word, bit) = split(next);
            let Some(bits) = self.levels.first_mut().and_then(|level| level.get_mut(word)) else { break };
            let free = u64::from((*bits >> bit).trailing_zeros()).min(WORD - bit);
            let taken = free.min(end - next);
            if taken == 0 {
                break;
            }
            *bits |= (u64::MAX >> (WORD - taken)) << bit;
            if *bits == u64::MAX {
                self.fill_up(word);
            }
            next += taken;
            if taken < WORD - bit {
                break;
            }
        }
        next - at
    }

    /// A word of the first level is full: says so above.
    fn fill_up(&mut self, word: usize) {
        let mut at = word as u64;
        for level in self.levels.iter_mut().skip(1) {
            let (word, bit) = split(at);
            let Some(bits) = level.get_mut(word) else { return };
            *bits |= 1 << bit;
            if *bits != u64::MAX {
                return;
            }
            at = word as u64;
        }
    }

    fn zero_from(&self, level: usize, at: u64) -> Option<u64> {
        let words = self.levels.get(level)?;
        let (word, bit) = split(at);
        let zero = |word: usize, mask: u64| {
            let free = !words.get(word)? & mask;
            (free != 0).then(|| word as u64 * WORD + u64::from(free.trailing_zeros()))
        };
        zero(word, u64::MAX << bit).or_else(|| {
            let above = self.zero_from(level + 1, word as u64 + 1)?;
            zero(usize::try_from(above).ok()?, u64::MAX)
        })
    }
}

/// Empty levels, up to one of a single word.
fn levels(blocks: u64) -> Vec<Vec<u64>> {
    let (mut out, mut bits) = (Vec::new(), blocks.max(1));
    loop {
        let words = bits.div_ceil(WORD);
        let mut level = vec![0; usize::try_from(words).unwrap_or(usize::MAX)];
        close(&mut level, bits);
        out.push(level);
        if words == 1 {
            return out;
        }
        bits = words;
    }
}

/// Bits behind the last one count as set.
fn close(level: &mut [u64], bits: u64) {
    if let (Some(last), rest @ 1..) = (level.last_mut(), bits % WORD) {
        *last = u64::MAX << rest;
    }
}

/// The word of a bit, and which one it is there.
fn split(at: u64) -> (usize, u64) {
    (usize::try_from(at / WORD).unwrap_or(usize::MAX), at % WORD)
}

#[cfg(test)]
mod tests {
    use super::super::rng::Rng;
    use super::*;

    /// Against a plain list, for sizes around those of words and levels.
    #[test]
    fn every_block_is_taken_once() {
        let mut rng = Rng::new(3);
        for blocks in [1_u64, 5, 63, 64, 65, 300, 4095, 4096, 4097, 9000] {
            let mut map = BlockMap::new(blocks);
            for _ in 0..2 {
                let mut seen = vec![false; usize::try_from(blocks).unwrap()];
                while let Some(at) = map.free_from(rng.below(blocks)) {
                    let count = 1 + rng.below(90);
                    let taken = map.take(at, count);
                    let free = seen[usize::try_from(at).unwrap()..].iter().take_while(|seen| !**seen).count() as u64;
                    assert_eq!(taken, free.min(count), "{blocks}: {count} at {at}");
                    for block in at..at + taken {
                        seen[usize::try_from(block).unwrap()] = true;
                    }
                }
                assert!(seen.iter().all(|seen| *seen), "{blocks}");
                map.clear();
            }
        }
    }
}
