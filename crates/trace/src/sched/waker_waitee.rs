//! Which process waited for which, as sums that never fall, though the kernel's table holds only pairs of late.

use super::totals::{Pair, PairKey};
use crate::table::{Entry, IDLE_READINGS};
use std::collections::HashMap;

/// What the kernel's table held of a pair, and for how many readings it has not grown.
#[derive(Debug)]
struct Held {
    pair: Pair,
    idle: u32,
}

/// All pairs of processes that live.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    held: HashMap<PairKey, Held>,
    /// Sums, and those of the last row.
    sums: HashMap<PairKey, (Pair, Pair)>,
}

impl Pairs {
    /// Takes a reading of the kernel's table, of which `take` takes entries out with what they had become: those with one
    /// that is no more alive, those that were idle for [`IDLE_READINGS`], and all idle ones where it is `crowded`.
    pub(super) fn read(
        &mut self,
        entries: Vec<Entry>,
        crowded: bool,
        take: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
        is_alive: &dyn Fn(u32) -> bool,
    ) {
        for (raw, value) in entries {
            let (key, now) = (PairKey::of(&raw), Pair::of(&value));
            let sum = &mut self.sums.entry(key).or_default().0;
            let held = self.held.entry(key).or_insert(Held { pair: Pair::default(), idle: 0 });
            let part = now.since(&held.pair);
            sum.add(&part);
            let idle = if part == Pair::default() { held.idle + 1 } else { 0 };
            *held = Held { pair: now, idle };
            let is_gone = !is_alive(key.victim) || !is_alive(key.by);
            if (is_gone || idle >= IDLE_READINGS || (crowded && idle > 0))
                && let Some(value) = take(&raw)
            {
                // It may have met since.
                sum.add(&Pair::of(&value).since(&now));
                self.held.remove(&key);
            }
        }
    }

    /// The next reading has rows of all sums.
    pub(super) fn tell_all(&mut self) {
        self.sums.values_mut().for_each(|(_, last_row)| *last_row = Pair::default());
    }

    /// Sums that grew enough since their last row to be news; pairs of those that are no more alive are forgotten then.
    pub(super) fn news(
        &mut self,
        is_news: &dyn Fn(&Pair) -> bool,
        is_alive: &dyn Fn(u32) -> bool,
    ) -> Vec<(PairKey, Pair)> {
        let mut out = Vec::new();
        self.sums.retain(|key, (sum, last_row)| {
            if is_news(&sum.since(last_row)) {
                *last_row = *sum;
                out.push((*key, *sum));
            }
            is_alive(key.victim) && is_alive(key.by)
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(victim: u32, by: u32, count: u64) -> Entry {
        let value = [count, count * 10, 1, 2].map(u64::to_ne_bytes).concat();
        ([victim, by].map(u32::to_ne_bytes).concat(), value)
    }

    /// Numbers of victims that were taken out, and the sums that have rows.
    fn read(pairs: &mut Pairs, entries: &[Entry], crowded: bool, alive: &[u32]) -> (Vec<u32>, Vec<(u32, u64, u64)>) {
        let mut taken = Vec::new();
        let mut take = |raw: &[u8]| {
            taken.push(PairKey::of(raw).victim);
            entries.iter().find(|(key, _)| key == raw).map(|(_, value)| value.clone())
        };
        let is_alive = |pid: u32| alive.contains(&pid);
        pairs.read(entries.to_vec(), crowded, &mut take, &is_alive);
        let mut rows: Vec<_> = pairs
            .news(&|new| new.count > 0, &is_alive)
            .into_iter()
            .map(|(key, sum)| (key.victim, sum.count, sum.wait_ns))
            .collect();
        rows.sort_unstable();
        (taken, rows)
    }

    #[test]
    fn a_pair_that_is_idle_leaves_the_table_and_comes_back_with_its_sum() {
        let mut pairs = Pairs::default();
        let alive = [1, 2, 3];
        assert_eq!(read(&mut pairs, &[entry(1, 2, 5)], false, &alive), (vec![], vec![(1, 5, 50)]));
        for busy in 1..IDLE_READINGS {
            let now = [entry(1, 2, 5), entry(3, 2, u64::from(busy))];
            let rows = vec![(3, u64::from(busy), u64::from(busy) * 10)];
            assert_eq!(read(&mut pairs, &now, false, &alive), (vec![], rows));
        }
        assert_eq!(read(&mut pairs, &[entry(1, 2, 5)], false, &alive), (vec![1], vec![]));
        for _ in 0..200 {
            assert_eq!(read(&mut pairs, &[], false, &alive), (vec![], vec![]));
        }
        assert_eq!(read(&mut pairs, &[entry(1, 2, 2)], false, &alive), (vec![], vec![(1, 7, 70)]));
        assert_eq!(read(&mut pairs, &[entry(1, 2, 9)], false, &alive), (vec![], vec![(1, 14, 140)]));
        pairs.tell_all();
        let rows = read(&mut pairs, &[], false, &alive).1;
        assert!(rows.contains(&(1, 14, 140)) && rows.len() == 2, "{rows:?}");
    }

    #[test]
    fn pairs_of_the_dead_and_in_a_crowd_the_idle_leave_at_once() {
        let mut pairs = Pairs::default();
        let now = [entry(1, 2, 5), entry(3, 2, 4)];
        assert_eq!(read(&mut pairs, &now, true, &[1, 2, 3]), (vec![], vec![(1, 5, 50), (3, 4, 40)]));
        let now = [entry(1, 2, 5), entry(3, 2, 6)];
        assert_eq!(read(&mut pairs, &now, true, &[1, 2, 3]), (vec![1], vec![(3, 6, 60)]));
        assert_eq!(read(&mut pairs, &[entry(3, 2, 7)], false, &[1, 2]), (vec![3], vec![(3, 7, 70)]), "its last word");
        assert!(pairs.held.is_empty() && pairs.sums.len() == 1);
    }

    #[test]
    fn what_comes_while_it_is_taken_out_is_counted() {
        let mut pairs = Pairs::default();
        let (key, value) = entry(1, 2, 5);
        let mut take = |_: &[u8]| Some(entry(1, 2, 8).1);
        pairs.read(vec![(key, value)], false, &mut take, &|_| false);
        assert_eq!(pairs.news(&|_| true, &|_| true)[0].1.count, 8);
    }
}
