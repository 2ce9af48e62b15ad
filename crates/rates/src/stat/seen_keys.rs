//! What is remembered of things that come and go, bounded: a page may be watched for weeks.

use std::collections::HashMap;
use std::hash::Hash;

/// So many things are remembered at most.
pub(super) const KNOWN: usize = 20_000;

/// Where more than [`KNOWN`] things are known, forgets those whose last row is oldest, and keeps half of that number.
/// True when something was forgotten: from then on, an unknown thing need not be new.
pub(super) fn forget<K: Eq + Hash, V>(known: &mut HashMap<K, V>, row_ns: impl Fn(&V) -> i64) -> bool {
    if known.len() <= KNOWN {
        return false;
    }
    let mut times: Vec<i64> = known.values().map(&row_ns).collect();
    let first = times.len() - KNOWN / 2;
    let (_, since_ns, _) = times.select_nth_unstable(first);
    let since_ns = *since_ns;
    let before = known.len();
    // Things with a row in the newest sample stay, however many they are.
    known.retain(|_, value| row_ns(value) >= since_ns);
    known.len() < before
}

/// Did a process begin after the last sample? A start is to the tick, by a clock that also counts sleep.
pub fn began_since(start_ns: i64, since_ns: i64) -> bool {
    start_ns.saturating_add(20_000_000) >= since_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_stay() {
        let many = i64::try_from(KNOWN).unwrap();
        let mut known: HashMap<i64, i64> = (0..many).map(|at| (at, at)).collect();
        assert!(!forget(&mut known, |row_ns| *row_ns) && known.len() == KNOWN);
        known.insert(many, many);
        assert!(forget(&mut known, |row_ns| *row_ns));
        assert!(known.len() == KNOWN / 2 && known.keys().all(|at| *at > many - many / 2), "{}", known.len());
        let mut same: HashMap<i64, i64> = (0..2 * many).map(|at| (at, 7)).collect();
        assert!(!forget(&mut same, |row_ns| *row_ns) && same.len() == 2 * KNOWN);
    }
}
