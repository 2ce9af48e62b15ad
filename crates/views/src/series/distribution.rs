//! Heat map, histogram and percentile curve.

use super::marks;
use crate::{RecordingFacts, RunFacts};
use quantity::histogram::Histogram;
use rates::{IntervalFacts, op_name, op_place};
use std::collections::BTreeMap;
use view::Drawing;
use view::{Axis, Body, Line, LineStyle, Scale, TimeMark};
use view::{Unit, Values};
use view::{axis, line};

/// Most columns of a heat map; more intervals than this share columns.
const COLUMNS: usize = 600;

/// Sub-buckets per octave of heat maps and histograms, as powers of two.
const COARSE: u32 = 2;
const FINE: u32 = 3;

/// Edges of all buckets of `2^bits` per octave from `low` to `high`.
pub(crate) fn edges(low: u64, high: u64, bits: u32) -> Vec<u64> {
    let mut edges = vec![low];
    let mut at = low;
    while at < high {
        let octave = 63 - at.max(1).leading_zeros();
        at += 1 << octave.saturating_sub(bits);
        edges.push(at);
    }
    edges
}

/// Lowest and highest edge of everything that is counted.
pub(crate) fn extent<'a>(histograms: impl Iterator<Item = &'a Histogram>, bits: u32) -> Option<(u64, u64)> {
    histograms
        .flat_map(|histogram| {
            let coarse = histogram.collapse(bits);
            let ends: Vec<(u64, u64)> = coarse.buckets().map(|(low, high, _)| (low, high)).collect();
            ends.first().copied().into_iter().chain(ends.last().copied())
        })
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

pub(crate) fn heat_map(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let column = |interval: &IntervalFacts| {
        let from = run.seconds(interval.t_ns - interval.interval_ns);
        (from, run.seconds(interval.t_ns), interval.response.clone())
    };
    heat(run.intervals.iter().map(column).collect(), marks(run))
}

/// Counts of response times by stretches of time (start and end in s).
pub(crate) fn heat(columns: Vec<(f64, f64, Histogram)>, marks: Vec<TimeMark>) -> Option<Drawing> {
    heat_within(columns, marks, None)
}

/// The same with rows for all of these times as well, so that several heat maps have the same axis.
pub(crate) fn heat_within(
    columns: Vec<(f64, f64, Histogram)>,
    marks: Vec<TimeMark>,
    times: Option<&Histogram>,
) -> Option<Drawing> {
    let group = columns.len().div_ceil(COLUMNS).max(1);
    let columns: Vec<(f64, f64, Histogram)> = columns
        .chunks(group)
        .filter_map(|chunk| {
            let mut sum = Histogram::new(COARSE);
            chunk.iter().for_each(|column| sum.merge(&column.2));
            Some((chunk.first()?.0, chunk.last()?.1, sum.collapse(COARSE)))
        })
        .collect();
    let (low, high) = extent(columns.iter().map(|column| &column.2).chain(times), COARSE)?;
    let y_edges = edges(low, high, COARSE);
    let rows = y_edges.len() - 1;
    let place: BTreeMap<u64, usize> = y_edges.iter().enumerate().map(|(row, edge)| (*edge, row)).collect();
    let mut x_edges: Vec<f64> = Vec::new();
    let mut counts: Vec<f64> = Vec::new();
    for (from, to, histogram) in &columns {
        let before = x_edges.last().copied();
        match before {
            None => x_edges.push(*from),
            // A gap in time becomes an empty column.
            Some(before) if from - before > (to - from) / 2.0 => {
                x_edges.push(*from);
                counts.resize(counts.len() + rows, 0.0);
            }
            Some(_) => {}
        }
        x_edges.push(*to);
        let start = counts.len();
        counts.resize(start + rows, 0.0);
        for (bucket, _, count) in histogram.buckets() {
            if let Some(row) = place.get(&bucket) {
                counts[start + row] += count as f64;
            }
        }
    }
    let body = Body::Heat {
        x_edges: x_edges.into(),
        y_edges: y_edges.iter().map(|edge| (*edge).max(1) as f64).collect::<Vec<f64>>().into(),
        counts: counts.into(),
        unit: Unit::Operations,
    };
    let (x, y) =
        (axis("elapsed time", Unit::Seconds, Scale::Time), axis("response time", Unit::Nanoseconds, Scale::Log));
    Some(Drawing { x, y, body, marks })
}

/// Response times of the main phase, by operation.
fn by_op(run: &RunFacts) -> Vec<(&'static str, Histogram)> {
    let mut sums: BTreeMap<usize, Histogram> = BTreeMap::new();
    for total in run.main_totals() {
        sums.entry(op_place(&total.op)).or_default().merge(&total.response.at_least());
    }
    let sums = sums.into_iter().filter(|(_, sum)| sum.count() > 0);
    sums.map(|(place, sum)| (op_name(place), sum)).collect()
}

/// Style of one of these operations.
fn style_among(sums: &[(&'static str, Histogram)], op: &str) -> LineStyle {
    let all: Vec<usize> = sums.iter().map(|(op, _)| op_place(op)).collect();
    super::style_of(&all, op_place(op))
}

/// p50 … maximum along histograms, with a gap where there is none.
pub(crate) fn ranks(histograms: &[Option<&Histogram>]) -> Vec<Line> {
    let along = |of: &dyn Fn(&Histogram) -> Option<u64>| -> Values {
        // On a logarithmic axis nothing is 0.
        histograms.iter().map(|histogram| histogram.and_then(of).map(|ns| (ns as f64).max(1.0))).collect()
    };
    let rank = |name, style, quantile| line(name, style, along(&|histogram| histogram.percentile(quantile)));
    vec![
        rank("p50", LineStyle::Rank0, 0.5),
        rank("p90", LineStyle::Rank1, 0.9),
        rank("p99", LineStyle::Rank2, 0.99),
        rank("p99.9", LineStyle::Rank3, 0.999),
        line("max", LineStyle::Rank4, along(&Histogram::max)),
    ]
}

/// Counts over times, a line for each histogram that has any.
pub(crate) fn distribution(x: Axis, y: Axis, sums: &[(&str, LineStyle, &Histogram)]) -> Option<Drawing> {
    let sums: Vec<_> = sums.iter().filter(|sum| sum.2.count() > 0).collect();
    let (low, high) = extent(sums.iter().map(|sum| sum.2), FINE)?;
    let edges = edges(low, high, FINE);
    let lines = sums.iter().map(|(name, style, histogram)| {
        let counts: BTreeMap<u64, u64> =
            histogram.collapse(FINE).buckets().map(|(low, _, count)| (low, count)).collect();
        let values: Vec<f64> =
            edges[..edges.len() - 1].iter().map(|low| counts.get(low).copied().unwrap_or(0) as f64).collect();
        line(name, *style, values.into())
    });
    let lines = lines.collect();
    let edges: Vec<f64> = edges.iter().map(|edge| (*edge).max(1) as f64).collect();
    Some(Drawing { x, y, body: Body::Histogram { edges: edges.into(), lines }, marks: Vec::new() })
}

pub(crate) fn histogram(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let sums = by_op(run);
    let sums: Vec<_> = sums.iter().map(|(op, sum)| (*op, style_among(&sums, op), sum)).collect();
    let x = axis("response time", Unit::Nanoseconds, Scale::Log);
    distribution(x, axis("operations", Unit::Operations, Scale::Log), &sums)
}

pub(crate) fn percentiles(_: &RecordingFacts, run: &RunFacts) -> Option<Drawing> {
    let responses = by_op(run);
    let mut service = Histogram::default();
    run.main_totals().for_each(|total| service.merge(&total.service.at_least()));
    let mut lines: Vec<(String, LineStyle, &Histogram)> = match responses.as_slice() {
        [(op, only)] => vec![("response".to_string(), LineStyle::of_op(op), only)],
        several => several.iter().map(|(op, sum)| ((*op).to_string(), style_among(several, op), sum)).collect(),
    };
    responses.first()?;
    lines.push(("service".to_string(), LineStyle::Asked, &service));
    percentile_curve(&lines)
}

/// Response times over percentiles, a line per histogram; each ends where it has no further operation.
pub(crate) fn percentile_curve(of: &[(String, LineStyle, &Histogram)]) -> Option<Drawing> {
    /// Points per nine.
    const STEPS: i32 = 16;
    let most = of.iter().map(|line| line.2.count()).max()?.max(2) as f64;
    let mut x: Vec<f64> = (0..)
        .map(|step| 10_f64.powf(f64::from(step) / f64::from(STEPS)))
        .take_while(|nines| *nines < most)
        .chain([most])
        .chain([2.0, 10.0, 100.0, 1000.0, 1e4, 1e5, 1e6])
        .filter(|nines| *nines <= most)
        .collect();
    x.sort_by(f64::total_cmp);
    x.dedup_by(|a, b| (*a / *b - 1.0).abs() < 1e-9);
    let along = |histogram: &Histogram| -> Values {
        let count = histogram.count() as f64;
        x.iter()
            .map(|nines| {
                histogram
                    .percentile(1.0 - 1.0 / nines)
                    .filter(|_| *nines <= count * 1.0001)
                    .map(|ns| (ns as f64).max(1.0))
            })
            .collect()
    };
    let lines = of.iter().map(|(name, style, histogram)| line(name, *style, along(histogram))).collect();
    Some(Drawing {
        x: axis("percentile", Unit::Nines, Scale::Log),
        y: axis("response time", Unit::Nanoseconds, Scale::Log),
        body: Body::Lines { x: x.into(), lines, right: None },
        marks: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::{edges, extent};
    use quantity::histogram::Histogram;

    #[test]
    fn edges_are_those_of_collapsed_buckets() {
        let mut histogram = Histogram::default();
        for value in [3, 90, 100_000, 123_456, 77_000_000] {
            histogram.record(value);
        }
        for bits in [2, 3] {
            let (low, high) = extent([&histogram].into_iter(), bits).unwrap();
            let edges = edges(low, high, bits);
            for (low, high, _) in histogram.collapse(bits).buckets() {
                let at = edges.iter().position(|edge| *edge == low).expect("an edge");
                assert_eq!(edges[at + 1], high);
            }
        }
    }
}
