//! Counters of block devices from `/proc/diskstats` (the kernel's `admin-guide/iostats.rst`).

use crate::devices::Number;
use crate::text::{counter, lines, words};

/// Cumulative counters of one device. `None`: the kernel does not count it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskCounters {
    /// Major and minor number.
    pub(crate) number: Number,
    /// In the file's order: reads completed, merged, sectors (512 B), ms; the same for writes; in flight (a gauge); ms
    /// with I/O; ms weighted by requests in flight; then discards (Linux 4.18) and flushes (5.5).
    pub(crate) values: [Option<i64>; 17],
}

/// Reads the lines of the devices that `wanted` names, in the file's order, with what it says about them.
pub(crate) fn parse<'a, T>(text: &[u8], wanted: impl Fn(Number) -> Option<&'a T>) -> Vec<(DiskCounters, &'a T)> {
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
}
