//! Metrics as the messages of Prometheus' client model (io/prometheus/client/metrics.proto), the only form in which it takes
//! native histograms.

use super::text::cumulative;
use super::{Family, Labels, Points};
use prost::Message;
use quantity::histogram::Histogram;
use std::collections::BTreeMap;

/// Resolution of the native histograms: 2^3 buckets to an octave, each 9 % wide.
const SCHEMA: i32 = 3;

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    #[prost(enumeration = "MetricType", tag = "3")]
    r#type: i32,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
    #[prost(string, tag = "5")]
    unit: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Value>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Value>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Native>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// `Gauge` and `Counter` are alike.
#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(double, optional, tag = "1")]
    value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct Native {
    #[prost(uint64, tag = "1")]
    sample_count: u64,
    #[prost(double, tag = "2")]
    sample_sum: f64,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<Span>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, optional, tag = "1")]
    cumulative_count: Option<u64>,
    #[prost(double, optional, tag = "2")]
    upper_bound: Option<f64>,
}

/// Buckets that follow each other, so many behind the last one of the span before, or from the bucket with this number on.
#[derive(Clone, PartialEq, Message)]
struct Span {
    #[prost(sint32, optional, tag = "1")]
    offset: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    length: Option<u32>,
}

/// One behind the other, each with its length before it.
pub(super) fn messages(families: &[Family<'_>]) -> Vec<u8> {
    families.iter().flat_map(|family| message(family).encode_length_delimited_to_vec()).collect()
}

fn message(family: &Family<'_>) -> MetricFamily {
    let value = |value: f64| Some(Value { value: Some(value) });
    let (kind, ending, metric): (_, _, Vec<Metric>) = match &family.points {
        Points::Counters(points) => {
            let of = |point: &(&Labels, f64)| Metric { counter: value(point.1), ..metric(point.0) };
            // Text adds it by itself.
            (MetricType::Counter, "_total", points.iter().map(of).collect())
        }
        Points::Gauges(points) => {
            let of = |point: &(&Labels, f64)| Metric { gauge: value(point.1), ..metric(point.0) };
            (MetricType::Gauge, "", points.iter().map(of).collect())
        }
        Points::Histograms(points) => {
            let of = |point: &(&Labels, &Histogram)| Metric { histogram: Some(native(point.1)), ..metric(point.0) };
            (MetricType::Histogram, "", points.iter().map(of).collect())
        }
    };
    MetricFamily {
        name: format!("{}{ending}", family.name),
        help: family.help.to_string(),
        r#type: kind.into(),
        metric,
        unit: family.unit.to_string(),
    }
}

fn metric(labels: &Labels) -> Metric {
    let pair = |(name, value): &(&str, String)| LabelPair { name: (*name).to_string(), value: value.clone() };
    Metric { label: labels.iter().map(pair).collect(), ..Metric::default() }
}

/// Both kinds of buckets. The bounds of ours (octaves of nanoseconds in equal parts) are not those of native ones (powers of
/// 2^(1/8) s): a value counts as the upper end of its bucket, as percentiles do.
fn native(histogram: &Histogram) -> Native {
    let (mut zeroes, mut counts) = (0, BTreeMap::<i32, u64>::new());
    for (_, high, count) in histogram.buckets() {
        let most_ns = (high - 1).min(histogram.max().unwrap_or(u64::MAX));
        match number_of(most_ns) {
            Some(number) => *counts.entry(number).or_default() += count,
            None => zeroes += count,
        }
    }
    let (mut spans, mut deltas) = (Vec::<Span>::new(), Vec::new());
    let (mut last, mut before) = (None::<i32>, 0_i64);
    for (number, count) in counts {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        deltas.push(count - before);
        before = count;
        let gap = last.map_or(number, |last| number - last - 1);
        match spans.last_mut().filter(|_| last.is_some() && gap == 0) {
            Some(span) => span.length = span.length.map(|length| length + 1),
            None => spans.push(Span { offset: Some(gap), length: Some(1) }),
        }
        last = Some(number);
    }
    let bucket = |(bound_s, count): (f64, u64)| Bucket { cumulative_count: Some(count), upper_bound: Some(bound_s) };
    Native {
        sample_count: histogram.count(),
        sample_sum: histogram.sum() as f64 / 1e9,
        bucket: cumulative(histogram).into_iter().map(bucket).collect(),
        schema: Some(SCHEMA),
        // Below a nanosecond there is nothing.
        zero_threshold: Some(1e-10),
        zero_count: Some(zeroes),
        positive_span: spans,
        positive_delta: deltas,
    }
}

/// The number of the native bucket of a time: the bucket `i` ends with 2^(i/8) s. `None` of 0.
fn number_of(ns: u64) -> Option<i32> {
    let parts = f64::from(1_u32 << SCHEMA.unsigned_abs());
    #[expect(clippy::cast_possible_truncation, reason = "between -240 and 280")]
    let number = ((ns as f64 / 1e9).log2() * parts).ceil() as i32;
    (ns > 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_buckets_hold_the_upper_ends_of_ours() {
        let mut histogram = Histogram::new(2);
        for ns in [0, 1_000_000, 1_000_000, 1_050_000, 40_000_000, 3_000_000_000] {
            histogram.record(ns);
        }
        let native = native(&histogram);
        assert_eq!((native.sample_count, native.zero_count, native.schema), (6, Some(1), Some(3)));
        assert!((native.sample_sum - 3.04305).abs() < 1e-9);
        // Back to counts by number.
        let (mut number, mut count, mut found) = (0, 0, Vec::new());
        let mut deltas = native.positive_delta.iter();
        for span in &native.positive_span {
            number += span.offset.unwrap_or(0);
            for _ in 0..span.length.unwrap_or(0) {
                count += deltas.next().expect("a delta for each bucket");
                found.push((2_f64.powf(f64::from(number) / 8.0), count));
                number += 1;
            }
        }
        assert!(deltas.next().is_none());
        assert_eq!(found.iter().map(|one| one.1).collect::<Vec<_>>(), [2, 1, 1, 1], "{found:?}");
        // No bucket ends before the values in it, nor by more than both widths behind them.
        for ((bound_s, _), value_s) in found.iter().zip([1e-3, 1.05e-3, 40e-3, 3.0]) {
            assert!((value_s..=value_s * 1.25 * 1.091).contains(bound_s), "{bound_s} of {value_s}");
        }
        let last = native.bucket.last().expect("fixed bounds");
        assert_eq!((last.cumulative_count, native.bucket.len()), (Some(6), 27));
    }

    #[test]
    fn numbers_of_buckets() {
        for (ns, number) in [(1_000_000_000, 0), (1_000_000_001, 1), (2_000_000_000, 8), (500_000_000, -8)] {
            assert_eq!(number_of(ns), Some(number), "{ns}");
        }
        assert_eq!(number_of(0), None);
    }
}
