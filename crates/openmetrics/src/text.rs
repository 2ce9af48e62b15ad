//! Metrics as OpenMetrics text (OpenMetrics 1.0).

use super::{Family, Labels, Points};
use quantity::histogram::Histogram;
use std::fmt::Write as _;

/// Bounds of the histogram buckets: 2^10 to 2^36 ns, 1 µs to 69 s. The same at each scrape: otherwise a rate misses
/// what was counted before one appeared.
pub(super) const OCTAVES: std::ops::RangeInclusive<u32> = 10..=36;

pub(super) fn page(families: &[Family<'_>]) -> String {
    let mut page = String::new();
    for family in families {
        let (kind, ending) = match family.points {
            Points::Counters(_) => ("counter", "_total"),
            Points::Gauges(_) => ("gauge", ""),
            Points::Histograms(_) => ("histogram", ""),
        };
        let name = &family.name;
        let _ = writeln!(page, "# TYPE {name} {kind}");
        if !family.unit.is_empty() {
            let _ = writeln!(page, "# UNIT {name} {}", family.unit);
        }
        let _ = writeln!(page, "# HELP {name} {}", escaped(family.help));
        match &family.points {
            Points::Counters(points) | Points::Gauges(points) => {
                for (labels, value) in points {
                    let _ = writeln!(page, "{name}{ending}{} {value}", in_braces(labels, None));
                }
            }
            Points::Histograms(points) => points.iter().for_each(|point| histogram(name, *point, &mut page)),
        }
    }
    page.push_str("# EOF\n");
    page
}

fn histogram(name: &str, (labels, sum): (&Labels, &Histogram), page: &mut String) {
    for (bound_s, count) in cumulative(sum) {
        let _ = writeln!(page, "{name}_bucket{} {count}", in_braces(labels, Some(&bound_s.to_string())));
    }
    let _ = writeln!(page, "{name}_bucket{} {}", in_braces(labels, Some("+Inf")), sum.count());
    let _ = writeln!(page, "{name}_count{} {}", in_braces(labels, None), sum.count());
    let _ = writeln!(page, "{name}_sum{} {}", in_braces(labels, None), sum.sum() as f64 / 1e9);
}

/// How many values lie below each of the bounds, s.
pub(super) fn cumulative(histogram: &Histogram) -> Vec<(f64, u64)> {
    OCTAVES
        .map(|octave| {
            let bound_ns = 1_u64 << octave;
            // Octaves are made of whole buckets.
            let below = histogram.buckets().filter(|(_, high, _)| *high <= bound_ns).map(|(_, _, count)| count);
            (bound_ns as f64 / 1e9, below.sum())
        })
        .collect()
}

fn in_braces(labels: &Labels, bound: Option<&str>) -> String {
    let labels = labels.iter().map(|(name, value)| (*name, value.as_str()));
    let all: Vec<String> = labels
        .chain(bound.map(|bound| ("le", bound)))
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

/// Backslash, quote and line end as the format wants them.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}
