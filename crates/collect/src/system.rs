//! Scheduling, interrupts and input queues of the whole machine.

use crate::subject::Stamp;
use crate::text::{lines, named, words};
use recording::rows::{Softnet, System};

/// The row from `/proc/stat`, `/proc/loadavg` and `/proc/net/softnet_stat`.
pub(crate) fn row(stat: &[u8], loadavg: Option<&[u8]>, softnet: Option<&[u8]>, stamp: Stamp) -> Option<System> {
    let load = |text: &[u8]| std::str::from_utf8(words(text).next()?).ok()?.parse().ok();
    Some(System {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        context_switches: Some(named(stat, "ctxt")?),
        interrupts: named(stat, "intr"),
        forks: named(stat, "processes"),
        runnable: named(stat, "procs_running"),
        blocked: named(stat, "procs_blocked"),
        load_1m: loadavg.and_then(load),
        softnet_drops: softnet.and_then(|text| softnet_sum(text, 1)),
        softnet_squeezed: softnet.and_then(|text| softnet_sum(text, 2)),
    })
}

/// The sum of one hexadecimal column over all CPUs.
fn softnet_sum(text: &[u8], column: usize) -> Option<i64> {
    let value = |line| {
        let word = std::str::from_utf8(words(line).nth(column)?).ok()?;
        i64::from_str_radix(word, 16).ok()
    };
    lines(text).map(value).sum()
}

/// The queues of all CPUs. Since Linux 5.10 a line says whose it is; before, lines of CPUs that are off are missing, so that
/// only without these the line's place tells.
pub(crate) fn softnet(text: &[u8], stamp: Stamp) -> Vec<Softnet> {
    let value = |words: &[&[u8]], column: usize| {
        words.get(column).and_then(|word| i64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok())
    };
    let row = |(place, line): (usize, &[u8])| {
        let words: Vec<&[u8]> = words(line).collect();
        let cpu = value(&words, 12).or_else(|| i64::try_from(place).ok())?;
        Some(Softnet {
            t_ns: stamp.t_ns,
            t_s: stamp.t_s,
            cpu: i32::try_from(cpu).ok()?,
            packets: value(&words, 0)?,
            drops: value(&words, 1)?,
            squeezed: value(&words, 2)?,
            received_rps: value(&words, 9),
        })
    };
    lines(text).enumerate().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_columns() {
        let text = b"00000011 0000000a 00000001 0\n00006181 00000001 00000005 0\n";
        assert_eq!((softnet_sum(text, 1), softnet_sum(text, 2)), (Some(11), Some(6)));
        assert_eq!(softnet_sum(b"zz zz zz\n", 1), None);
    }

    #[test]
    fn queues_by_cpu() {
        let text = b"00000010 00000001 00000002 0 0 0 0 0 0 00000007 0 0 00000003 0 0\n00006181 0 0\n";
        let rows = softnet(text, Stamp::at(0, 0));
        let of = |row: &Softnet| (row.cpu, row.packets, row.drops, row.squeezed, row.received_rps);
        assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), [(3, 16, 1, 2, Some(7)), (1, 24_961, 0, 0, None)]);
    }

    #[test]
    fn this_machine() {
        let read = |path: &str| std::fs::read(path).unwrap();
        let (stat, load) = (read("/proc/stat"), read("/proc/loadavg"));
        let row = row(&stat, Some(&load), Some(&read("/proc/net/softnet_stat")), Stamp::at(0, 0)).unwrap();
        assert!(
            row.context_switches > Some(0)
                && row.runnable > Some(0)
                && row.load_1m.is_some()
                && row.softnet_drops.is_some()
        );
    }
}
