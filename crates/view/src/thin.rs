//! Fewer points for a page: a day in steps of a second has more than a screen has columns.

use crate::Unit;
use crate::{Body, Line, ViewData};

/// Lines with more points than this are thinned.
const MOST: usize = 4000;
/// Stretches that are left, with two points each.
const STRETCHES: usize = 1000;

/// Lines over time with of each stretch the least and the greatest value, in the order in which they came; says so.
/// Everything else as it is.
pub fn thinned(mut view: ViewData) -> ViewData {
    let Body::Lines { x, lines, right } = &mut view.body else { return view };
    if x.len() <= MOST || view.x.unit != Unit::Seconds {
        return view;
    }
    let step = x.len().div_ceil(STRETCHES);
    let length_s = x.range().map_or(0.0, |(first, last)| (last - first) / x.len() as f64 * step as f64);
    let mut lines: Vec<&mut Line> =
        lines.iter_mut().chain(right.iter_mut().flat_map(|right| &mut right.lines)).collect();
    let is_gap = |at: &usize| lines.iter().all(|line| line.values[*at].is_nan());
    let stretch = |from: usize| {
        let to = (from + step).min(x.len());
        PointRun { from, to, gap: (from..to).find(is_gap) }
    };
    let stretches: Vec<PointRun> = (0..x.len()).step_by(step).map(stretch).collect();
    *x = stretches.iter().flat_map(PointRun::kept).map(|at| x[at]).collect();
    for line in &mut lines {
        line.values = stretches.iter().flat_map(|stretch| stretch.ends_of(&line.values)).collect();
    }
    let length = Unit::Seconds.format(Some(length_s));
    view.explanation += &format!(" Of each {length} the least and the greatest value are drawn.");
    view
}

/// Points that follow each other, `from..to`.
struct PointRun {
    from: usize,
    to: usize,
    /// A point at which no line has a value: what was not measured is to be seen, however short it was.
    gap: Option<usize>,
}

impl PointRun {
    /// The points that are left, ascending: two and the gap, or all where there are no more.
    fn kept(&self) -> Vec<usize> {
        if self.to - self.from <= 3 {
            return (self.from..self.to).collect();
        }
        let others = (self.from..self.to).filter(|at| Some(*at) != self.gap);
        let half = (self.to - self.from) / 2;
        let mut kept: Vec<usize> = others.step_by(half).take(2).chain(self.gap).collect();
        kept.sort_unstable();
        kept
    }

    /// The least and the greatest value in the order in which they came, one for each point that is left.
    fn ends_of(&self, values: &[f64]) -> Vec<f64> {
        let all = &values[self.from..self.to];
        if all.len() <= 3 {
            return all.to_vec();
        }
        let known = || all.iter().enumerate().filter(|(_, value)| !value.is_nan());
        let least = known().min_by(|a, b| a.1.total_cmp(b.1));
        let most = known().max_by(|a, b| a.1.total_cmp(b.1));
        let mut ends = match least.zip(most) {
            Some(((low_at, low), (high_at, high))) if low_at <= high_at => [*low, *high],
            Some(((_, low), (_, high))) => [*high, *low],
            None => [f64::NAN; 2],
        }
        .into_iter();
        let end = |at| if Some(at) == self.gap { f64::NAN } else { ends.next().unwrap_or(f64::NAN) };
        self.kept().into_iter().map(end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, LineStyle, Scale};

    fn view(points: usize, unit: Unit) -> ViewData {
        let axis = |unit| Axis { label: "x".to_string(), unit, scale: Scale::Linear };
        let x: Vec<f64> = (0..points).map(|at| at as f64).collect();
        // A peak of one point, a dip of one point, a gap of one and a gap of many.
        let values = (0..points).map(|at| match at {
            5_003 => Some(99.0),
            7_007 => Some(-5.0),
            7_500 | 8_000..8_600 => None,
            _ => Some(1.0),
        });
        let line = Line { name: "a".to_string(), style: LineStyle::Total, values: values.collect() };
        ViewData {
            id: "a".to_string(),
            title: "a".to_string(),
            subject: String::new(),
            explanation: "Seen.".to_string(),
            x: axis(unit),
            y: axis(Unit::None),
            body: Body::Lines { x: x.into(), lines: vec![line], right: None },
            marks: Vec::new(),
            clock: None,
            shown: None,
        }
    }

    #[test]
    fn peaks_dips_and_gaps_of_a_day_stay() {
        // The last stretch is one point.
        let thin = thinned(view(993 * 87 + 1, Unit::Seconds));
        let Body::Lines { x, lines, .. } = &thin.body else { panic!("no lines") };
        let values = &lines[0].values;
        assert!(x.len() == values.len() && x.len() <= 2 * STRETCHES + 20, "{} {}", x.len(), values.len());
        assert_eq!(values.range(), Some((-5.0, 99.0)));
        assert!(x.windows(2).all(|pair| pair[0] < pair[1]));
        let gap: Vec<f64> = (0..x.len()).filter(|at| values.get_some(*at).is_none()).map(|at| x[at]).collect();
        assert!(gap.contains(&7_500.0) && gap.len() > 10, "{gap:?}");
        assert!(gap.iter().all(|at| *at == 7_500.0 || (8_000.0..8_600.0).contains(at)), "{gap:?}");
        let peak = (0..x.len()).find(|at| values[*at] == 99.0).unwrap();
        assert!((x[peak] - 5_003.0).abs() < 90.0);
        assert_eq!(thin.explanation, "Seen. Of each 1 min 27 s the least and the greatest value are drawn.");
    }

    #[test]
    fn what_is_short_or_not_over_time_is_left() {
        for (points, unit) in [(MOST, Unit::Seconds), (86_400, Unit::Nines)] {
            assert_eq!(thinned(view(points, unit)), view(points, unit));
        }
    }
}
