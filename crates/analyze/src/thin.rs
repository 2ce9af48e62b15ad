//! Fewer points for a page: a day in steps of a second has more than a screen has columns.

use crate::view::{Body, Line, ViewData};
use crate::{Unit, Values};

/// Lines with more points than this are thinned.
const MOST: usize = 4000;
/// Stretches that are left, with two points each.
const STRETCHES: usize = 1000;

/// Lines over time with of each stretch the least and the greatest value, in the order in which they came; says so.
/// Everything else as it is.
pub(crate) fn thinned(mut view: ViewData) -> ViewData {
    let Body::Lines { x, lines, right } = &mut view.body else { return view };
    if x.len() <= MOST || view.x.unit != Unit::Seconds {
        return view;
    }
    let step = x.len().div_ceil(STRETCHES);
    let length_s = x.range().map_or(0.0, |(first, last)| (last - first) / x.len() as f64 * step as f64);
    // Both points of a stretch lie within it.
    let middle = |stretch: &[f64]| [stretch[0], stretch[stretch.len() / 2]];
    *x = x.chunks(step).flat_map(middle).collect();
    let further = right.iter_mut().flat_map(|right| &mut right.lines);
    for Line { values, .. } in lines.iter_mut().chain(further) {
        *values = ends_of(values, step);
    }
    let length = Unit::Seconds.format(Some(length_s));
    view.explanation += &format!(" Of each {length} the least and the greatest value are drawn.");
    view
}

/// The least and the greatest of each `step` values; missing where all are.
fn ends_of(values: &[f64], step: usize) -> Values {
    let ends = |stretch: &[f64]| {
        let known = || stretch.iter().enumerate().filter(|(_, value)| !value.is_nan());
        let least = known().min_by(|a, b| a.1.total_cmp(b.1));
        let most = known().max_by(|a, b| a.1.total_cmp(b.1));
        match least.zip(most) {
            Some(((low_at, low), (high_at, high))) if low_at <= high_at => [*low, *high],
            Some(((_, low), (_, high))) => [*high, *low],
            None => [f64::NAN; 2],
        }
    };
    values.chunks(step).flat_map(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::{Axis, LineStyle, Scale};

    fn view(points: usize, unit: Unit) -> ViewData {
        let axis = |unit| Axis { label: "x".to_string(), unit, scale: Scale::Linear };
        let x: Vec<f64> = (0..points).map(|at| at as f64).collect();
        // A peak of one point, a dip of one point, and a gap of many.
        let values = (0..points).map(|at| match at {
            5_003 => Some(99.0),
            7_007 => Some(-5.0),
            8_000..8_600 => None,
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
        }
    }

    #[test]
    fn peaks_dips_and_gaps_of_a_day_stay() {
        let thin = thinned(view(86_400, Unit::Seconds));
        let Body::Lines { x, lines, .. } = &thin.body else { panic!("no lines") };
        let values = &lines[0].values;
        assert!(x.len() == values.len() && x.len() <= 2 * STRETCHES + 2, "{} {}", x.len(), values.len());
        assert_eq!(values.range(), Some((-5.0, 99.0)));
        assert!(x.windows(2).all(|pair| pair[0] < pair[1]));
        let gap: Vec<f64> = (0..x.len()).filter(|at| values.get_some(*at).is_none()).map(|at| x[at]).collect();
        assert!(!gap.is_empty() && gap.iter().all(|at| (8_000.0..8_600.0).contains(at)), "{gap:?}");
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
