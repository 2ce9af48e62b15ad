//! The time that was taken from processes, as sums that never fall, though the kernel's table holds only those of late.

use super::InterruptedTask;
use crate::names::Cursor;
use crate::table::{Entry, IDLE_READINGS};
use std::collections::HashMap;
use std::sync::Arc;

/// Of those that the kernel's table holds no more, so many are remembered where it is not known who is alive,
/// and for so many readings.
const AWAY: usize = 1 << 14;
const AWAY_READINGS: u32 = 24 * 3600;

/// Process and vector.
type Key = (u32, u32);

/// Sums of what one vector took from one process: how often, and ns.
#[derive(Debug)]
struct Victim {
    comm: Arc<str>,
    sum: [u64; 2],
    /// What the kernel's table held at the last reading; nothing when it is not in there.
    held: Option<[u64; 2]>,
    /// Readings since it last grew.
    idle: u32,
    /// Number of the reading that had it last.
    seen: u32,
}

impl Victim {
    /// What the table holds now. Less than before is an entry that began anew.
    fn grow(&mut self, now: [u64; 2]) -> bool {
        let before = self.held.filter(|held| held[0] <= now[0] && held[1] <= now[1]).unwrap_or_default();
        (0..2).for_each(|which| self.sum[which] += now[which] - before[which]);
        self.held = Some(now);
        now != before
    }
}

/// All victims, also those that the kernel's table holds no more.
#[derive(Debug, Default)]
pub(super) struct Victims {
    known: HashMap<Key, Victim>,
    readings: u32,
}

impl Victims {
    /// Number of those that are known.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Takes a reading of the kernel's table, of which `take` takes entries out with what they had become; gives those that
    /// it held, with their sums. Who was idle for [`IDLE_READINGS`] leaves the table, or at once where that is `crowded`, and
    /// is known for as long as it `is_alive`; where that cannot be asked, for long, with the latest others.
    pub(super) fn read(
        &mut self,
        entries: Vec<Entry>,
        crowded: bool,
        take: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
        is_alive: Option<&dyn Fn(u32) -> bool>,
        name: &mut dyn FnMut(u32) -> (&'static str, Arc<str>),
    ) -> Vec<InterruptedTask> {
        self.readings = self.readings.wrapping_add(1);
        let mut out = Vec::with_capacity(entries.len());
        for (raw, value) in entries {
            let mut at = Cursor::new(&raw);
            let (pid, number) = (at.u32(), at.u32());
            let (now, comm) = held(&value);
            let victim = self.known.entry((pid, number)).or_insert_with(|| Victim {
                comm: comm.as_str().into(),
                sum: [0; 2],
                held: None,
                idle: 0,
                seen: 0,
            });
            victim.seen = self.readings;
            if *victim.comm != *comm {
                victim.comm = comm.as_str().into();
                // It was away and has another name: another process, which was given the number since.
                if victim.held.is_none() {
                    victim.sum = [0; 2];
                }
            }
            victim.idle = if victim.grow(now) { 0 } else { victim.idle + 1 };
            if (victim.idle >= IDLE_READINGS || (crowded && victim.idle > 0))
                && let Some(value) = take(&raw)
            {
                // It may have been hit since.
                victim.grow(held(&value).0);
                victim.held = None;
            }
            let (kind, vector) = name(number);
            let [count, ns] = victim.sum;
            out.push(InterruptedTask { pid, comm: Arc::clone(&victim.comm), kind, vector, count, ns });
        }
        if self.readings.is_multiple_of(IDLE_READINGS) {
            match is_alive {
                Some(is_alive) => self.known.retain(|(pid, _), victim| victim.held.is_some() || is_alive(*pid)),
                None => self.forget_oldest(),
            }
        }
        out.sort_by(|a, b| (a.pid, a.kind, &a.vector).cmp(&(b.pid, b.kind, &b.vector)));
        out
    }

    /// Forgets those that have been away for too long, and all but the latest.
    fn forget_oldest(&mut self) {
        let now = self.readings;
        let away = self.known.iter().filter(|(_, victim)| victim.held.is_none());
        let mut away: Vec<(u32, Key)> = away.map(|(key, victim)| (now.wrapping_sub(victim.seen), *key)).collect();
        away.sort_unstable();
        let is_kept = |at: usize, age: u32| at < AWAY && age < AWAY_READINGS;
        let gone = away.iter().enumerate().filter(|(at, (age, _))| !is_kept(*at, *age));
        gone.for_each(|(_, (_, key))| drop(self.known.remove(key)));
    }
}

/// How often, ns, and the name of the process when it was hit first.
fn held(value: &[u8]) -> ([u64; 2], String) {
    let mut at = Cursor::new(value);
    ([at.u64(), at.u64()], at.text(16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    /// A table as the kernel's, in which process and vector have been hit so often, for ten times as many ns.
    #[derive(Default)]
    struct Table(RefCell<BTreeMap<Key, u64>>);

    impl Table {
        fn hit(&self, key: Key, times: u64) {
            *self.0.borrow_mut().entry(key).or_default() += times;
        }

        fn value(count: u64) -> Vec<u8> {
            let mut value = [count, count * 10].map(u64::to_ne_bytes).concat();
            value.extend(b"victim\0\0\0\0\0\0\0\0\0\0");
            value
        }

        /// Sums after a reading, by process.
        fn read(&self, victims: &mut Victims, crowded: bool, alive: &[u32]) -> BTreeMap<u32, u64> {
            let raw = |(pid, vector): &Key| [*pid, *vector].map(u32::to_ne_bytes).concat();
            let entries = self.0.borrow().iter().map(|(key, count)| (raw(key), Self::value(*count))).collect();
            let mut take = |wanted: &[u8]| {
                let found = self.0.borrow().keys().copied().find(|key| raw(key) == wanted)?;
                self.0.borrow_mut().remove(&found).map(Self::value)
            };
            let is_alive = |pid: u32| alive.contains(&pid);
            let rows = victims
                .read(entries, crowded, &mut take, Some(&is_alive), &mut |number| ("irq", number.to_string().into()));
            assert!(rows.iter().all(|row| row.ns == row.count * 10 && &*row.comm == "victim"), "{rows:?}");
            rows.into_iter().map(|row| (row.pid, row.count)).collect()
        }
    }

    #[test]
    fn who_is_idle_leaves_the_table_and_comes_back_with_its_sum() {
        let (table, mut victims) = (Table::default(), Victims::default());
        table.hit((1, 7), 5);
        for reading in 0..IDLE_READINGS {
            table.hit((2, 7), 1);
            let sums = table.read(&mut victims, false, &[1, 2]);
            assert_eq!(sums, BTreeMap::from([(1, 5), (2, u64::from(reading) + 1)]));
        }
        assert_eq!(table.read(&mut victims, false, &[1, 2])[&1], 5, "one last row as it leaves");
        assert_eq!(table.0.borrow().keys().collect::<Vec<_>>(), [&(2, 7)]);
        for _ in 0..200 {
            assert!(!table.read(&mut victims, false, &[1, 2]).contains_key(&1));
        }
        assert!(table.0.borrow().is_empty() && victims.len() == 2);
        // Both come back, with less and with more than they had.
        table.hit((1, 7), 2);
        table.hit((2, 7), 1000);
        let sums = table.read(&mut victims, false, &[1, 2]);
        assert_eq!(sums, BTreeMap::from([(1, 7), (2, u64::from(IDLE_READINGS) + 1000)]));
        table.hit((1, 7), 1);
        assert_eq!(table.read(&mut victims, false, &[1, 2])[&1], 8);
    }

    #[test]
    fn a_crowded_table_is_emptied_of_the_idle_and_the_dead_are_forgotten() {
        let (table, mut victims) = (Table::default(), Victims::default());
        (0..100).for_each(|pid| table.hit((pid, 1), 3));
        assert_eq!(table.read(&mut victims, true, &[5]).len(), 100, "all are new");
        table.hit((9, 1), 1);
        assert_eq!(table.read(&mut victims, true, &[5]).len(), 100);
        assert_eq!(table.0.borrow().keys().collect::<Vec<_>>(), [&(9, 1)], "it was hit");
        for _ in 0..2 * IDLE_READINGS {
            table.read(&mut victims, false, &[5]);
        }
        assert_eq!(victims.known.keys().collect::<Vec<_>>(), [&(5, 1)]);
    }

    /// A reading where it cannot be asked who is alive, of one entry or none, which is taken out where the table is crowded;
    /// gives the sum.
    fn read_one(victims: &mut Victims, entry: Option<(u32, &str, u64)>, crowded: bool) -> Option<u64> {
        let entry = entry.map(|(pid, comm, count)| {
            let mut value = [count, count * 10].map(u64::to_ne_bytes).concat();
            value.extend(comm.bytes().chain(std::iter::repeat(0)).take(16));
            ([pid, 7].map(u32::to_ne_bytes).concat(), value)
        });
        let entries = entry.iter().cloned().collect();
        let mut take = |_: &[u8]| entry.as_ref().map(|(_, value)| value.clone());
        let rows = victims.read(entries, crowded, &mut take, None, &mut |_| ("irq", "x".into()));
        rows.first().map(|row| row.count)
    }

    #[test]
    fn the_latest_victims_are_known_for_long_where_the_living_are_not() {
        let mut victims = Victims::default();
        for pid in 0..20 {
            // Once as it comes, and once as it leaves.
            read_one(&mut victims, Some((pid, "a", 5)), false);
            read_one(&mut victims, Some((pid, "a", 5)), true);
        }
        for _ in 0..2 * IDLE_READINGS {
            assert_eq!(read_one(&mut victims, None, false), None);
        }
        assert_eq!(victims.len(), 20, "all are known though none is in the table");
        assert_eq!(read_one(&mut victims, Some((3, "a", 2)), false), Some(7));
        // One more than is remembered: the oldest goes, and who is in the table stays.
        let new = |seen| Victim { comm: "b".into(), sum: [1; 2], held: None, idle: 0, seen };
        let away = u32::try_from(AWAY).unwrap();
        victims.known.extend((100..100 + away - 18).map(|pid| ((pid, 7), new(victims.readings))));
        victims.forget_oldest();
        assert_eq!((victims.len(), victims.known.contains_key(&(0, 7))), (AWAY + 1, false));
        assert!(victims.known.contains_key(&(1, 7)) && victims.known.contains_key(&(3, 7)));
        victims.readings += AWAY_READINGS;
        victims.forget_oldest();
        assert_eq!(victims.known.keys().collect::<Vec<_>>(), [&(3, 7)], "too long ago");
    }

    #[test]
    fn a_number_that_was_given_to_another_process_begins_anew() {
        let mut victims = Victims::default();
        assert_eq!(read_one(&mut victims, Some((1, "a", 5)), false), Some(5));
        assert_eq!(read_one(&mut victims, Some((1, "b", 6)), false), Some(6), "it was not away");
        assert_eq!(read_one(&mut victims, Some((1, "b", 6)), true), Some(6));
        assert_eq!(read_one(&mut victims, Some((1, "b", 2)), false), Some(8));
        assert_eq!(read_one(&mut victims, Some((1, "b", 2)), true), Some(8));
        assert_eq!(read_one(&mut victims, Some((1, "c", 2)), false), Some(2), "the name is another");
    }

    #[test]
    fn what_comes_while_it_is_taken_out_is_counted() {
        let (table, mut victims) = (Table::default(), Victims::default());
        table.hit((1, 7), 5);
        (0..IDLE_READINGS).for_each(|_| drop(table.read(&mut victims, false, &[1])));
        let entries = vec![([1_u32, 7].map(u32::to_ne_bytes).concat(), Table::value(5))];
        let name = &mut |_| ("irq", "x".into());
        let rows = victims.read(entries, false, &mut |_| Some(Table::value(6)), Some(&|_| true), name);
        assert_eq!(rows[0].count, 6);
        table.0.borrow_mut().clear();
        table.hit((1, 7), 1);
        assert_eq!(table.read(&mut victims, false, &[1])[&1], 7);
    }
}
