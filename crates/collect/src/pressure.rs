//! Pressure stall information from `/proc/pressure` (the kernel's `accounting/psi.rst`).

use crate::subject::Stamp;
use crate::text::{counter, lines, words};
use recording::rows::Pressure;

/// The files.
pub(crate) const RESOURCES: [&str; 4] = ["cpu", "memory", "io", "irq"];

/// The row of one resource.
pub(crate) fn row(resource: &str, text: &[u8], stamp: Stamp) -> Pressure {
    Pressure {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        resource: resource.to_string(),
        some_ns: total_ns(text, "some"),
        full_ns: total_ns(text, "full"),
    }
}

/// `total=` of a line, which is in microseconds.
pub(crate) fn total_ns(text: &[u8], kind: &str) -> Option<i64> {
    let line = lines(text).find(|line| words(line).next() == Some(kind.as_bytes()))?;
    words(line).find_map(|word| word.strip_prefix(b"total=")).and_then(counter)?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals() {
        let text = b"some avg10=61.45 avg60=46.12 avg300=13.80 total=48630645\nfull avg10=0.00 total=7\n";
        let row = row("cpu", text, Stamp::at(0, 0));
        assert_eq!((row.some_ns, row.full_ns), (Some(48_630_645_000), Some(7000)));
        assert_eq!(total_ns(b"full avg10=0.00 total=7\n", "some"), None, "irq has no `some`");
    }
}
