//! How far two distributions or two series are from each other.

use quantity::histogram::Histogram;

/// The Kolmogorov–Smirnov distance of two distributions, 0 (the same) … 1; `None` when one is empty.
#[must_use]
pub fn distance(one: &Histogram, other: &Histogram) -> Option<f64> {
    if one.count() == 0 || other.count() == 0 {
        return None;
    }
    let mut edges: Vec<(u64, f64)> = Vec::new();
    for (histogram, sign) in [(one, 1.0), (other, -1.0)] {
        let count = histogram.count() as f64;
        edges.extend(histogram.buckets().map(|(_, high, inside)| (high, sign * inside as f64 / count)));
    }
    edges.sort_by_key(|edge| edge.0);
    let (mut sum, mut greatest) = (0.0_f64, 0.0_f64);
    for at in 0..edges.len() {
        sum += edges[at].1;
        if edges.get(at + 1).is_none_or(|next| next.0 != edges[at].0) {
            greatest = greatest.max(sum.abs());
        }
    }
    Some(greatest.min(1.0))
}

/// Pearson's correlation of two series; `None` when one does not change enough to tell (or there are fewer than three
/// points).
#[must_use]
pub fn correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    let n = one.len().min(other.len());
    if n < 3 {
        return None;
    }
    let mean = |series: &[f64]| series[..n].iter().sum::<f64>() / n as f64;
    let (mean_one, mean_other) = (mean(one), mean(other));
    let (mut both, mut square_one, mut square_other) = (0.0, 0.0, 0.0);
    for (a, b) in one[..n].iter().zip(&other[..n]) {
        let (a, b) = (a - mean_one, b - mean_other);
        both += a * b;
        square_one += a * a;
        square_other += b * b;
    }
    let is_flat = |square: f64, mean: f64| (square / n as f64).sqrt() < 0.02 * mean.abs();
    if is_flat(square_one, mean_one) || square_one <= 0.0 || square_other <= 0.0 {
        return None;
    }
    Some(both / (square_one * square_other).sqrt())
}
