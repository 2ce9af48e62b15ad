//! Times on the command line.

use crate::exit::{Failure, PARAMETERS};

/// Seconds, or a time with its unit.
pub(crate) fn time(text: Option<&str>, flag: &str) -> Result<Option<u64>, Failure> {
    text.map(|text| {
        quantity::text::parse_duration_s(text).map_err(|why| {
            Failure::new(PARAMETERS, format!("{flag} {text}: {why}; write seconds, or a unit: 30s, 10m, 2h"))
        })
    })
    .transpose()
}

/// The least length of an interval, ns, as of `interval=` in files.
pub(crate) const INTERVAL_MIN_NS: u64 = 10_000_000;
/// The same of the pages and lines that people watch.
pub(crate) const WATCHED_MIN_NS: u64 = 100_000_000;

/// The length of an interval of one second or what `text` says, which is the value of `flag`; `least_ns` is the least.
pub(crate) fn interval(text: &str, flag: &str, least_ns: u64) -> Result<u64, Failure> {
    let interval_ns = time(Some(text), flag)?.unwrap_or(1_000_000_000);
    if interval_ns < least_ns {
        let least_ms = least_ns / 1_000_000;
        return Err(Failure::new(PARAMETERS, format!("{flag} {text} is too short; {least_ms}ms is the least")));
    }
    Ok(interval_ns)
}
