//! The charts of a trace.

use super::TracedFacts;
use super::timeline::{Bin, PLACES, Times};
use crate::series::{self, edges, extent};
use quantity::histogram::Histogram;
use std::collections::BTreeMap;
use view::Drawing;
use view::{Axis, Body, Line, LineStyle, Scale};
use view::{Unit, Values};
use view::{axis, line};

/// Sub-buckets per octave of heat maps, as a power of two.
const COARSE: u32 = 2;
const CLASSES: [&str; 3] = ["read", "write", "other"];

fn class_style(class: usize) -> LineStyle {
    [LineStyle::Read, LineStyle::Write, LineStyle::Flush][class.min(2)]
}

fn elapsed() -> Axis {
    axis("elapsed time", Unit::Seconds, Scale::Time)
}

/// Lines over the middles of the stretches of time; `None` where nothing is to be seen.
fn over_time(facts: &TracedFacts, y: Axis, lines: Vec<Line>) -> Option<Drawing> {
    let x: Vec<f64> = facts.spans.iter().map(|(from_s, length_s)| from_s + length_s / 2.0).collect();
    lines.iter().any(|line| line.values.range().is_some()).then(|| Drawing {
        x: elapsed(),
        y,
        body: Body::Lines { x: x.into(), lines, right: None },
        marks: Vec::new(),
    })
}

/// One value per stretch: of its counts and its length in s.
fn along(facts: &TracedFacts, of: impl Fn(&Bin, f64) -> Option<f64>) -> Values {
    facts.bins.iter().zip(&facts.spans).map(|(bin, (_, length_s))| of(bin, *length_s)).collect()
}

/// A line for all, and one for each class that occurs.
fn by_class(facts: &TracedFacts, y: Axis, of: fn(&Bin) -> &[u64; 3]) -> Option<Drawing> {
    let present: Vec<usize> = (0..3).filter(|class| facts.bins.iter().any(|bin| of(bin)[*class] > 0)).collect();
    let mut lines = Vec::new();
    if present.len() > 1 {
        let all = along(facts, |bin, s| Some(of(bin).iter().sum::<u64>() as f64 / s));
        lines.push(line("all", LineStyle::Total, all));
    }
    lines.extend(
        present.into_iter().map(|class| {
            line(CLASSES[class], class_style(class), along(facts, |bin, s| Some(of(bin)[class] as f64 / s)))
        }),
    );
    over_time(facts, y, lines)
}

pub(crate) fn iops(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    by_class(facts, axis("I/Os per second", Unit::OpsPerSecond, Scale::Linear), |bin| &bin.ios)
}

pub(crate) fn throughput(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    by_class(facts, axis("bytes per second", Unit::BytesPerSecond, Scale::Linear), |bin| &bin.bytes)
}

fn ranks(facts: &TracedFacts, label: &str, of: fn(&Times) -> &Histogram) -> Option<Drawing> {
    let histograms: Vec<_> = facts.times.iter().map(|times| Some(of(times))).collect();
    over_time(facts, axis(label, Unit::Nanoseconds, Scale::Log), series::ranks(&histograms))
}

pub(crate) fn response(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    ranks(facts, "response time", |times| &times.response)
}

pub(crate) fn wait(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    ranks(facts, "wait time", |times| &times.wait)
}

pub(crate) fn device(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    ranks(facts, "device time", |times| &times.device)
}

/// Edges of the stretches, s.
fn time_edges(facts: &TracedFacts) -> Vec<f64> {
    let ends = facts.spans.iter().map(|(from_s, length_s)| from_s + length_s);
    std::iter::once(0.0).chain(ends).collect()
}

pub(crate) fn response_heatmap(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    let columns: Vec<Histogram> = facts.times.iter().map(|times| times.response.collapse(COARSE)).collect();
    let (low, high) = extent(columns.iter(), COARSE)?;
    let y_edges = edges(low, high, COARSE);
    let rows = y_edges.len() - 1;
    let place: BTreeMap<u64, usize> = y_edges.iter().enumerate().map(|(row, edge)| (*edge, row)).collect();
    let mut counts = vec![0.0; rows * columns.len()];
    for (at, column) in columns.iter().enumerate() {
        for (bucket, _, count) in column.buckets() {
            if let Some(row) = place.get(&bucket) {
                counts[at * rows + row] += count as f64 * facts.weight();
            }
        }
    }
    let y_edges: Vec<f64> = y_edges.iter().map(|edge| (*edge).max(1) as f64).collect();
    Some(Drawing {
        x: elapsed(),
        y: axis("response time", Unit::Nanoseconds, Scale::Log),
        body: Body::Heat {
            x_edges: time_edges(facts).into(),
            y_edges: y_edges.into(),
            counts: counts.into(),
            unit: Unit::Operations,
        },
        marks: Vec::new(),
    })
}

/// Histogram lines over common edges.
fn distribution(facts: &TracedFacts, x: Axis, sums: &[(&str, LineStyle, &Histogram)]) -> Option<Drawing> {
    let mut drawing = series::distribution(x, axis("I/Os", Unit::Operations, Scale::Log), sums)?;
    if let Body::Histogram { lines, .. } = &mut drawing.body
        && facts.is_sample()
    {
        for line in lines {
            line.values = line.values.iter().map(|count| count * facts.weight()).collect::<Values>();
        }
    }
    Some(drawing)
}

pub(crate) fn histogram(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    let sums: Vec<(&str, LineStyle, &Histogram)> =
        (0..3).map(|class| (CLASSES[class], class_style(class), &facts.response[class])).collect();
    distribution(facts, axis("response time", Unit::Nanoseconds, Scale::Log), &sums)
}

pub(crate) fn inter_arrival(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    if facts.is_sample() {
        return None;
    }
    let x = axis("time since the I/O before", Unit::Nanoseconds, Scale::Log);
    distribution(facts, x, &[("I/Os", LineStyle::Total, &facts.gaps)])
}

pub(crate) fn percentiles(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    /// Points per nine.
    const STEPS: i32 = 16;
    if !facts.has_times() {
        return None;
    }
    let response = facts.responses();
    let most = (response.count() as f64).max(2.0);
    let mut x: Vec<f64> = (0..)
        .map(|step| 10_f64.powf(f64::from(step) / f64::from(STEPS)))
        .take_while(|nines| *nines < most)
        .chain([most])
        .collect();
    x.sort_by(f64::total_cmp);
    let along = |histogram: &Histogram| -> Values {
        x.iter().map(|nines| histogram.percentile(1.0 - 1.0 / nines).map(|ns| (ns as f64).max(1.0))).collect()
    };
    let lines = vec![
        line("response", LineStyle::Total, along(&response)),
        line("wait", LineStyle::Category1, along(&facts.wait)),
        line("device", LineStyle::Category2, along(&facts.device)),
    ];
    Some(Drawing {
        x: axis("percentile", Unit::Nines, Scale::Log),
        y: axis("time", Unit::Nanoseconds, Scale::Log),
        body: Body::Lines { x: x.into(), lines, right: None },
        marks: Vec::new(),
    })
}

pub(crate) fn in_flight(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    if !facts.has_times() {
        return None;
    }
    let lines = vec![
        line("queued or at the device", LineStyle::Total, along(facts, |bin, s| Some(bin.in_flight_ns / s / 1e9))),
        line("at the device", LineStyle::Category2, along(facts, |bin, s| Some(bin.at_device_ns / s / 1e9))),
    ];
    over_time(facts, axis("I/Os in flight", Unit::Count, Scale::Linear), lines)
}

/// A part of a whole, per cent; `None` without a whole.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

pub(crate) fn shares(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    let of = |counts: &[u64; 3]| percent(counts[0], counts[0] + counts[1]);
    let lines = vec![
        line("of I/Os", LineStyle::Read, along(facts, |bin, _| of(&bin.ios))),
        line("of bytes", LineStyle::Category3, along(facts, |bin, _| of(&bin.bytes))),
    ];
    over_time(facts, axis("% reads", Unit::Percent, Scale::Linear), lines)
}

pub(crate) fn sequential(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    if facts.is_sample() {
        return None;
    }
    let of = |name: &str, style: LineStyle, at: usize| {
        line(name, style, along(facts, |bin, _| percent(bin.sequential[at], bin.with_data)))
    };
    let lines = vec![
        of("of a stream", LineStyle::Total, 0),
        of("of the device", LineStyle::Category1, 1),
        of("of the process", LineStyle::Category2, 2),
    ];
    over_time(facts, axis("% sequential", Unit::Percent, Scale::Linear), lines)
}

pub(crate) fn sizes(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    // Octaves up to and including a size: `]2^(n-1), 2^n]`, so that 4 KiB is the end of a bucket and not the start.
    let octave = |bytes: i64| i32::try_from(64 - (bytes.max(1) - 1).leading_zeros()).unwrap_or(0);
    let known: Vec<(usize, i32, u64)> = facts
        .sizes
        .iter()
        .filter_map(|(name, total)| name.map(|(class, bytes)| (class, octave(bytes), total.ios())))
        .collect();
    let (low, high) = (known.iter().map(|size| size.1).min()?, known.iter().map(|size| size.1).max()?);
    let lines = (0..2).filter(|class| known.iter().any(|size| size.0 == *class)).map(|class| {
        let count =
            |at: i32| known.iter().filter(|size| size.0 == class && size.1 == at).map(|size| size.2).sum::<u64>();
        let values: Vec<f64> = (low..=high).map(|at| count(at) as f64).collect();
        line(CLASSES[class], class_style(class), values.into())
    });
    let lines = lines.collect();
    let edges: Vec<f64> = (low - 1..=high).map(|at| 2_f64.powi(at)).collect();
    Some(Drawing {
        x: axis("size", Unit::Bytes, Scale::Log),
        y: axis("I/Os", Unit::Operations, Scale::Linear),
        body: Body::Histogram { edges: edges.into(), lines },
        marks: Vec::new(),
    })
}

pub(crate) fn addresses(facts: &TracedFacts, device: Option<&str>) -> Option<Drawing> {
    let found = facts.addresses.iter().find(|known| device.is_none_or(|wanted| wanted == known.0))?;
    let addresses = &found.1;
    // Without the rows above the highest address.
    let used =
        (0..PLACES).rev().find(|place| addresses.counts.iter().skip(*place).step_by(PLACES).any(|n| *n > 0))? + 1;
    let mut counts: Vec<f64> = addresses
        .counts
        .chunks(PLACES)
        .flat_map(|column| column[..used].iter().map(|n| f64::from(*n) * facts.weight()))
        .collect();
    counts.resize(used * facts.bins.len(), 0.0);
    let step = addresses.step as f64 * 512.0;
    let y_edges: Vec<f64> = (0..=used).map(|at| at as f64 * step).collect();
    Some(Drawing {
        x: elapsed(),
        y: axis(&format!("address on {}", found.0), Unit::Bytes, Scale::Linear),
        body: Body::Heat {
            x_edges: time_edges(facts).into(),
            y_edges: y_edges.into(),
            counts: counts.into(),
            unit: Unit::Operations,
        },
        marks: Vec::new(),
    })
}

pub(crate) fn hot_spots(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    let all: u64 = facts.regions.iter().map(|region| region.2.ios()).sum();
    let count = facts.regions.len();
    if count < 2 || facts.is_sample() {
        return None;
    }
    let step = count.div_ceil(200);
    let (mut x, mut y, mut even, mut sum) = (vec![0.0], vec![Some(0.0)], vec![Some(0.0)], 0_u64);
    for (at, region) in facts.regions.iter().enumerate() {
        sum += region.2.ios();
        if (at + 1).is_multiple_of(step) || at + 1 == count {
            let place = 100.0 * (at + 1) as f64 / count as f64;
            x.push(place);
            even.push(Some(place));
            y.push(percent(sum, all));
        }
    }
    let lines = vec![
        line("hottest regions first", LineStyle::Total, y.into_iter().collect()),
        line("if all were alike", LineStyle::Asked, even.into_iter().collect()),
    ];
    Some(Drawing {
        x: axis("% of the regions that were used", Unit::Percent, Scale::Linear),
        y: axis("% of the I/Os", Unit::Percent, Scale::Linear),
        body: Body::Lines { x: x.into(), lines, right: None },
        marks: Vec::new(),
    })
}

pub(crate) fn working_set(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    if facts.working_set.len() < 2 || facts.is_sample() {
        return None;
    }
    let x: Vec<f64> = facts.working_set.iter().map(|point| point.0).collect();
    let y: Values = facts.working_set.iter().map(|point| Some(point.1)).collect();
    Some(Drawing {
        x: axis("window", Unit::Nanoseconds, Scale::Log),
        y: axis("bytes used within it", Unit::Bytes, Scale::Linear),
        body: Body::Lines { x: x.into(), lines: vec![line("working set", LineStyle::Total, y)], right: None },
        marks: Vec::new(),
    })
}

pub(crate) fn rereference(facts: &TracedFacts, _: Option<&str>) -> Option<Drawing> {
    if facts.is_sample() {
        return None;
    }
    let first = facts.reuse.iter().position(|count| *count > 0.0)?;
    let last = facts.reuse.iter().rposition(|count| *count > 0.0)?;
    let power = |at: usize| 2_f64.powi(i32::try_from(at).unwrap_or(0));
    let edges: Vec<f64> = (first..=last + 1).map(power).collect();
    Some(Drawing {
        x: axis("time since the block's last use", Unit::Nanoseconds, Scale::Log),
        y: axis("uses of 4 KiB blocks", Unit::Operations, Scale::Linear),
        body: Body::Histogram {
            edges: edges.into(),
            lines: vec![line("used again", LineStyle::Total, facts.reuse[first..=last].to_vec().into())],
        },
        marks: Vec::new(),
    })
}
