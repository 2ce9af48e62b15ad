//! A running trace: one line, or one JSON object, per interval.

use quantity::text::format_ns;
use recording::rows::TraceInterval;
use serde_json::{Value, json};

/// The heading of [`trace_line`].
#[must_use]
pub fn trace_header() -> String {
    format!(
        "{:>9} {:>10} {:>9} {:>6} {:>10} {:>10} {:>10} {:>9}",
        "elapsed", "I/O per s", "MB/s", "read %", "mean", "p99", "max", "lost"
    )
}

/// One interval in one line.
#[must_use]
pub fn trace_line(row: &TraceInterval) -> String {
    let seconds = row.interval_ns as f64 / 1e9;
    let per_second = |value: i64| if seconds > 0.0 { value as f64 / seconds } else { 0.0 };
    let time = |value: Option<u64>| value.map_or("?".to_string(), format_ns);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole ns of a mean that is not negative"
    )]
    let mean = row.response.mean().map(|mean| mean.round() as u64);
    let reads = if row.ios > 0 { format!("{:.0}", row.reads as f64 / row.ios as f64 * 100.0) } else { "?".to_string() };
    let lost = row.lost_buffer + row.lost_table + row.lost_start;
    let remark = match (lost > 0, row.errors) {
        (true, _) => " LOSSES".to_string(),
        (false, 1..) => format!(" {} failed", row.errors),
        _ => String::new(),
    };
    format!(
        "{:>7.1} s {:>10.0} {:>9.2} {reads:>6} {:>10} {:>10} {:>10} {lost:>9}{remark}",
        row.t_s,
        per_second(row.ios),
        per_second(row.bytes) / 1e6,
        time(mean),
        time(row.response.percentile(0.99)),
        time(row.response.max()),
    )
}

/// One interval as a JSON object.
#[must_use]
pub fn trace_json(row: &TraceInterval) -> Value {
    json!({
        "t_s": row.t_s,
        "interval_ns": row.interval_ns,
        "ios": row.ios,
        "reads": row.reads,
        "bytes": row.bytes,
        "errors": row.errors,
        "started": row.started,
        "lost": row.lost_buffer + row.lost_table + row.lost_start,
        "merges": row.merges,
        "splits": row.splits,
        "response_ns": {
            "mean": row.response.mean(),
            "p50": row.response.percentile(0.5),
            "p99": row.response.percentile(0.99),
            "p999": row.response.percentile(0.999),
            "max": row.response.max(),
        },
        "consumer_cpu_ns": row.consumer_cpu_ns,
    })
}
