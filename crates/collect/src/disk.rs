//! Counters of block devices from `/proc/diskstats` (the kernel's `admin-guide/iostats.rst`).

use crate::devices::DeviceNumber;
use crate::subject::Stamp;
use crate::text::{counter, lines, words};
use std::collections::{BTreeSet, HashSet};

/// Cumulative counters of one device. `None`: the kernel does not count it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskCounters {
    /// Major and minor number.
    pub(crate) number: DeviceNumber,
    /// In the file's order: reads completed, merged, sectors (512 B), ms; the same for writes; in flight (a gauge); ms
    /// with I/O; ms weighted by requests in flight; then discards (Linux 4.18) and flushes (5.5).
    pub(crate) values: [Option<i64>; 17],
}

/// Reads the lines of the devices that `wanted` names, in the file's order, with what it says about them.
pub(crate) fn parse<'a, T>(text: &[u8], wanted: impl Fn(DeviceNumber) -> Option<&'a T>) -> Vec<(DiskCounters, &'a T)> {
    let number = |word: &[u8]| counter(word).and_then(|value| u32::try_from(value).ok());
    lines(text)
        .filter_map(|line| {
            let mut words = words(line);
            let number = (number(words.next()?)?, number(words.next()?)?);
            let what = wanted(number)?;
            let mut words = words.skip(1);
            let values = std::array::from_fn(|_| words.next().and_then(counter));
            Some((DiskCounters { number, values }, what))
        })
        .collect()
}

/// A device and where its counters stand.
pub(crate) type Named<'a> = (DiskCounters, std::borrow::Cow<'a, str>);

/// Selects the devices that get rows: those that ever did something, and those that were asked for by name. Dozens of
/// idle RAM and loop devices thus cost no rows.
#[derive(Debug, Default)]
pub(crate) struct DiskSelection {
    /// These have rows however idle they are.
    asked: BTreeSet<String>,
    /// Those of the last sample, and when that was; `None`: there was none.
    last: Option<(HashSet<DeviceNumber>, Stamp)>,
}

impl DiskSelection {
    /// From now on these have rows as well.
    pub(crate) fn ask(&mut self, names: &[String]) {
        self.asked.extend(names.iter().cloned());
    }

    /// Devices that have a row now, and those whose counters stood at 0 at the sample before, when they had no row: the
    /// difference to 0 is what they did since then.
    pub(crate) fn choose<'a>(&mut self, text: &'a [u8], stamp: Stamp) -> (Vec<Named<'a>>, Vec<(Named<'a>, Stamp)>) {
        let (mut now, mut new, mut numbers) = (Vec::new(), Vec::new(), HashSet::new());
        for line in lines(text) {
            let Some((counters, name)) = named(line) else { continue };
            let did_something = counters.values.iter().flatten().any(|value| *value > 0);
            if !did_something && !self.asked.contains(&*name) {
                continue;
            }
            numbers.insert(counters.number);
            if let Some((_, before)) = self.last.as_ref().filter(|(listed, _)| !listed.contains(&counters.number)) {
                let zero = DiskCounters { values: counters.values.map(|value| value.map(|_| 0)), ..counters.clone() };
                new.push(((zero, name.clone()), *before));
            }
            now.push((counters, name));
        }
        self.last = Some((numbers, stamp));
        (now, new)
    }
}

/// One line with the device's name.
fn named(line: &[u8]) -> Option<Named<'_>> {
    let name = words(line).nth(2).map(String::from_utf8_lossy)?;
    parse(line, |_| Some(&())).pop().map(|(counters, ())| (counters, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<DiskCounters> {
        parse(text, |_| Some(&())).into_iter().map(|(counters, ())| counters).collect()
    }

    #[test]
    fn a_real_file() {
        let disks = all(include_bytes!("../tests/fixtures/diskstats"));
        assert!(disks.len() > 8);
        let vda = disks.iter().find(|disk| disk.number.0 != 7 && disk.values[0] > Some(0)).unwrap();
        assert!(vda.values.iter().all(Option::is_some), "{vda:?}");
    }

    #[test]
    fn every_length_of_line() {
        let text = b"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n\
            8 1 sda1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n\
            8 2 sda2 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n\
            8 3 sda3 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\nnonsense\n";
        let disks = all(text);
        assert_eq!(disks.len(), 4);
        let known = |disk: &DiskCounters| disk.values.iter().flatten().count();
        assert_eq!(disks.iter().map(known).collect::<Vec<_>>(), [11, 15, 17, 17]);
        assert_eq!(disks[0].values[11], None, "missing is not 0");
        assert_eq!(disks[2].values[16], Some(17));
    }

    #[test]
    fn only_what_is_wanted() {
        let name = "the one".to_string();
        let text = b"8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 16 sdb 1 2 3 4 5 6 7 8 9 10 11\n";
        let disks = parse(text, |number| (number == (8, 16)).then_some(&name));
        assert_eq!((disks.len(), disks[0].0.number, disks[0].1.as_str()), (1, (8, 16), "the one"));
    }

    #[test]
    fn a_device_that_begins_to_work_was_at_0_at_the_sample_before() {
        let line = |name: &str, minor: u32, reads: i64| format!("7 {minor} {name} {reads} 0 8 1 0 0 0 0 0 1 1\n");
        let of = |selection: &mut DiskSelection, text: &str, t_ns: u64| {
            let (now, new) = selection.choose(text.as_bytes(), Stamp::at(t_ns, 0));
            let now: Vec<_> = now.into_iter().map(|(one, name)| (name.into_owned(), one.values[0])).collect();
            let new: Vec<_> =
                new.into_iter().map(|((one, name), at)| (name.into_owned(), one.values[0], at.t_ns)).collect();
            (now, new)
        };
        let idle = "7 2 loop2 0 0 0 0 0 0 0 0 0 0 0\n";
        let mut selection = DiskSelection::default();
        selection.ask(&["loop2".to_string()]);
        let some = |name: &str, reads| (name.to_string(), Some(reads));
        assert_eq!(
            of(&mut selection, &(line("sda", 0, 5) + "7 1 loop1 0 0 0 0 0 0 0 0 0 0 0\n"), 10),
            (vec![some("sda", 5)], vec![])
        );
        // One began to work, one had worked before its first sample, one was asked for.
        let text = line("sda", 0, 6) + &line("loop1", 1, 7) + &line("loop3", 3, 9) + idle;
        let zero = |name: &str| (name.to_string(), Some(0), 10);
        let (now, new) = of(&mut selection, &text, 20);
        assert_eq!(now, [some("sda", 6), some("loop1", 7), some("loop3", 9), some("loop2", 0)]);
        assert_eq!(new, [zero("loop1"), zero("loop3"), zero("loop2")]);
        assert_eq!(of(&mut selection, &text, 30).1, [], "said once");
        // A kernel that does not count something does not say 0 of it.
        let (_, new) = selection.choose(b"8 9 sdz 1 2 3 4 5 6 7 8 9 10 11\n", Stamp::at(40, 0));
        assert_eq!((new[0].0.0.values[10], new[0].0.0.values[11]), (Some(0), None));
    }
}
