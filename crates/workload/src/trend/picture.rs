//! A trend as a picture.

use super::{LimitReach, Trend};
use view::{Axis, Body, Line, LineStyle, Scale, ViewData, WallClock};
use view::{Unit, Values};

impl Trend {
    /// The levels, the trend with the ends of its interval, and the limit; into the future as far as there is a date.
    #[must_use]
    pub fn picture(&self) -> ViewData {
        let last = self.last_day();
        let end = match &self.reach {
            LimitReach::On { day, latest, .. } => latest.unwrap_or(*day).max(*day) + last * 0.05,
            _ => last * 1.3,
        };
        // The days that there are, and enough of those to come that lines get to the end.
        let ahead = (1..=40).map(|step| last + (end - last) * f64::from(step) / 40.0).filter(|_| end > last);
        let x: Vec<f64> = self.days.iter().map(|day| day.0).chain(ahead).collect();
        let line = |name: &str, style, of: &dyn Fn(usize, f64) -> Option<f64>| Line {
            name: name.to_string(),
            style,
            values: x.iter().enumerate().map(|(at, day)| of(at, *day)).collect::<Values>(),
        };
        let mut lines = vec![line("measured", LineStyle::Total, &|at, _| self.days.get(at).map(|day| day.1))];
        if let Some(slope) = self.slope {
            // What is far below or above says nothing more and would make the rest small.
            let most = self.days.iter().map(|day| day.1).chain(self.limit).fold(0.0, f64::max) * 1.05;
            let level =
                |per_day: f64, day: f64| Some(self.level(per_day, day)).filter(|level| (0.0..=most).contains(level));
            lines.push(line("trend", LineStyle::Asked, &|_, day| level(slope.per_day, day)));
            lines.push(line("95 % low", LineStyle::Rank0, &|at, day| {
                level(slope.low, day).filter(|_| at + 1 >= self.days.len())
            }));
            lines.push(line("95 % high", LineStyle::Rank1, &|at, day| {
                level(slope.high, day).filter(|_| at + 1 >= self.days.len())
            }));
        }
        if let Some(limit) = self.limit {
            // A limit far away would make everything else flat.
            let greatest = self.days.iter().map(|day| day.1).fold(0.0, f64::max);
            if matches!(self.reach, LimitReach::On { .. } | LimitReach::Reached) || limit <= greatest * 4.0 {
                lines.push(line("limit", LineStyle::Write, &|_, _| Some(limit)));
            }
        }
        let dates = Axis { label: "date".to_string(), unit: Unit::Seconds, scale: Scale::Time };
        let x: Vec<f64> = x.into_iter().map(|day| day * 86_400.0).collect();
        let sentences: Vec<String> = self.sentences().into_iter().skip(1).collect();
        ViewData {
            id: format!("trend.{}", self.figure),
            title: format!("Trend of {}", self.name()),
            subject: format!("from {}", self.date(0.0)),
            explanation: sentences.join(". "),
            y: Axis {
                label: format!("95th percentile of steps of {:.0} min", self.step_s / 60.0),
                unit: self.unit,
                scale: Scale::Linear,
            },
            x: dates,
            body: Body::Lines { x: x.into(), lines, right: None },
            marks: Vec::new(),
            clock: Some(WallClock { utc_s: self.first_wall_ns as f64 / 1e9, ahead_s: 0 }),
            shown: None,
        }
    }
}
