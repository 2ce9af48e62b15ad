//! Interrupts by vector and CPU from `/proc/interrupts` and `/proc/softirqs`.

use crate::subject::Stamp;
use crate::text::{counter, lines, words};
use recording::Label;
use recording::rows::Interrupt;
use std::collections::HashMap;

/// A vector on a CPU has a row when it grew by so much since its last row: slow ones cost no rows.
const ROW_AFTER: i64 = 100;

/// Remembers the count of each last row.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    /// Every vector that ever fired has a row in each sample.
    tells_all: bool,
    last_counts: HashMap<(bool, Vec<u8>, usize), i64>,
}

impl Interrupts {
    /// `tells_all` is for a command that records interrupts and nothing else.
    pub(crate) fn telling_all(tells_all: bool) -> Self {
        Self { tells_all, ..Self::default() }
    }

    /// Rows of what grew; at first of all that ever came.
    pub(crate) fn rows(&mut self, text: &[u8], is_soft: bool, stamp: Stamp) -> Vec<Interrupt> {
        let mut all = lines(text);
        let cpus: Vec<i32> = all.next().map(cpus).unwrap_or_default();
        let mut rows = Vec::new();
        for line in all {
            let mut parts = words(line);
            let Some(name) = parts.next().and_then(|word| word.strip_suffix(b":")) else { continue };
            let mut parts = parts.peekable();
            let mut counts = Vec::with_capacity(cpus.len());
            while counts.len() < cpus.len()
                && let Some(count) = parts.peek().and_then(|word| counter(word))
            {
                counts.push(count);
                parts.next();
            }
            // What belongs to no CPU (`ERR`, `MIS`) has one number for all.
            if counts.len() < cpus.len() {
                continue;
            }
            let last = parts.last();
            for (at, (cpu, count)) in cpus.iter().zip(counts).enumerate() {
                let last_count = self.last_counts.entry((is_soft, name.to_vec(), at)).or_insert(0);
                let is_due = if self.tells_all { count > 0 } else { count - *last_count >= ROW_AFTER };
                if !is_due && count >= *last_count {
                    continue;
                }
                *last_count = count;
                rows.push(Interrupt {
                    t_ns: stamp.t_ns,
                    t_s: stamp.t_s,
                    kind: Label::from(if is_soft { "softirq" } else { "irq" }),
                    vector: vector(name, last),
                    cpu: *cpu,
                    count,
                });
            }
        }
        rows
    }
}

/// Numbers of the CPUs in the head line; those that are off have no column.
fn cpus(head: &[u8]) -> Vec<i32> {
    let number = |word: &[u8]| counter(word.strip_prefix(b"CPU")?).and_then(|number| i32::try_from(number).ok());
    words(head).filter_map(number).collect()
}

/// Numbers say nothing: the last word of the line, which names the device, stands beside them.
fn vector(name: &[u8], last: Option<&[u8]>) -> Label {
    let name = String::from_utf8_lossy(name);
    let last = last.filter(|_| name.bytes().all(|byte| byte.is_ascii_digit()));
    match last {
        Some(device) => Label::from(format!("{name} {}", String::from_utf8_lossy(device)).as_str()),
        None => Label::from(&*name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "           CPU0       CPU2       \n \
         36:          0   10109396 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
         LOC:   13602353   17097124   Local timer interrupts\n\
         ERR:          0\n\
         MIS:          5\nbroken\n";

    #[test]
    fn vectors_by_cpu_and_only_what_grew() {
        let mut interrupts = Interrupts::default();
        let figures = |rows: Vec<Interrupt>| {
            rows.into_iter().map(|row| (row.vector.to_string(), row.cpu, row.count)).collect::<Vec<_>>()
        };
        let at = Stamp::at(0, 0);
        let first = figures(interrupts.rows(TEXT.as_bytes(), false, at));
        let expect = [("36 virtio1-req.0", 2, 10_109_396), ("LOC", 0, 13_602_353), ("LOC", 2, 17_097_124)];
        assert_eq!(first, expect.map(|(name, cpu, count)| (name.to_string(), cpu, count)));
        assert!(interrupts.rows(TEXT.as_bytes(), false, at).is_empty());
        let more = TEXT.replace("10109396", "10109495");
        assert!(interrupts.rows(more.as_bytes(), false, at).is_empty(), "99 more make no row yet");
        let more = TEXT.replace("10109396", "10109496");
        assert_eq!(figures(interrupts.rows(more.as_bytes(), false, at)), [("36 virtio1-req.0".into(), 2, 10_109_496)]);
        // Counters of a device that was replaced begin anew, and this makes a row.
        let less = TEXT.replace("10109396", "7");
        assert_eq!(figures(interrupts.rows(less.as_bytes(), false, at)), [("36 virtio1-req.0".into(), 2, 7)]);
    }

    #[test]
    fn this_machine() {
        let mut interrupts = Interrupts::default();
        let soft = interrupts.rows(&std::fs::read("/proc/softirqs").unwrap(), true, Stamp::at(0, 0));
        assert!(soft.iter().any(|row| &*row.vector == "TIMER" && &*row.kind == "softirq"));
        let hard = interrupts.rows(&std::fs::read("/proc/interrupts").unwrap(), false, Stamp::at(0, 0));
        assert!(!hard.is_empty());
        assert!(interrupts.rows(b"", false, Stamp::at(0, 0)).is_empty());
    }
}
