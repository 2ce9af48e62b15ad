//! Is a workload growing, and when does it reach its limit? A level a day, the robust slope of Theil and Sen with Sen's
//! confidence interval, and a date with its uncertainty, or the reason why there is no date.
//!
//! Sen, "Estimates of the regression coefficient based on Kendall's tau", J. Am. Stat. Assoc. 63 (1968).

mod days;
mod picture;

pub use days::{DailyLevels, TrendFigure};

use quantity::text::format_wall;
use serde::Serialize;
use view::Unit;

/// Days and their span at least, before a slope is worth telling: two weeks have each day of the week twice.
const LEAST_DAYS: usize = 10;
const LEAST_SPAN: f64 = 13.0;
/// So many times the observed span is looked ahead.
const AHEAD: f64 = 2.0;
/// Two-sided 95 % of the normal distribution.
const Z: f64 = 1.96;
/// Correlation of neighbouring days beyond which a drift by chance looks like growth: of random walks of 30 days, the
/// interval would call one in five growth or fall.
const ALIKE_MOST: f64 = 0.6;

/// Growth per day with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DailySlope {
    /// Median over all pairs of days.
    pub per_day: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// When a limit is reached, in days since the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum LimitReach {
    /// No limit is set.
    NoLimit,
    /// The trend is there already.
    Reached,
    /// On this day.
    On {
        /// By the slope.
        day: f64,
        /// By the steepest slope of the interval.
        earliest: f64,
        /// By the flattest; `None`: not within the time that the days can speak of.
        latest: Option<f64>,
    },
    /// No date, and why; perhaps a day before which the limit is not reached.
    #[serde(rename = "not_told")]
    NoDate {
        /// In words.
        why: String,
        /// By the steepest slope of the interval, when that is within the time that the days can speak of.
        not_before: Option<f64>,
    },
}

/// What became of the levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The figure's name.
    pub figure: String,
    /// Device or interface; empty for the machine.
    pub thing: String,
    /// Unit of the levels.
    pub unit: Unit,
    /// First day, UTC, ns since 1970.
    pub first_wall_ns: i64,
    /// Days since the first, and the level of each.
    pub days: Vec<(f64, f64)>,
    /// Days that were left out because far less of them was recorded than of the others.
    pub left_out: usize,
    /// A level is the 95th percentile of a day's steps of so many seconds.
    pub step_s: f64,
    /// `None`: too few days, or too much alike; `reach` says so.
    pub slope: Option<DailySlope>,
    /// The level of the trend on the last day.
    pub now: Option<f64>,
    /// What is not to be exceeded.
    pub limit: Option<f64>,
    /// Where that comes from.
    pub limit_from: String,
    /// When the trend is there.
    pub reach: LimitReach,
    /// The middle of the days, and the trend's level there: all slopes go through it.
    #[serde(skip)]
    middle: (f64, f64),
}

fn days_of(count: usize) -> String {
    format!("{count} day{}", if count == 1 { "" } else { "s" })
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// Kendall's variance of S, with ties among the levels.
fn variance(days: &[(f64, f64)]) -> f64 {
    let of = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    let mut levels: Vec<f64> = days.iter().map(|day| day.1).collect();
    levels.sort_by(f64::total_cmp);
    let ties: f64 = levels.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|group| of(group.len() as f64)).sum();
    of(days.len() as f64) - ties
}

/// Correlation of neighbouring days when the trend is taken away, at least 0. Few days show too little of it: the correction
/// for that is of Marriott and Pope, Biometrika 41 (1954), and Kendall, ibid.
fn alike(days: &[(f64, f64)], slope: f64) -> f64 {
    let rest: Vec<(f64, f64)> = days.iter().map(|(day, level)| (*day, level - slope * day)).collect();
    let count = rest.len().max(1) as f64;
    let mean = rest.iter().map(|day| day.1).sum::<f64>() / count;
    let all: f64 = rest.iter().map(|day| (day.1 - mean).powi(2)).sum();
    let pairs = rest.windows(2).filter(|pair| pair[1].0 - pair[0].0 < 1.5);
    let beside: f64 = pairs.map(|pair| (pair[0].1 - mean) * (pair[1].1 - mean)).sum();
    let r = if all > 0.0 { beside / all } else { return 0.0 };
    (r + (1.0 + 4.0 * r) / count).max(0.0)
}

/// The slope of Theil and Sen; the interval is wider where neighbouring days are alike (`r`), for they tell less.
fn slope(days: &[(f64, f64)]) -> Option<(DailySlope, f64)> {
    let mut slopes: Vec<f64> = Vec::with_capacity(days.len() * days.len() / 2);
    for (at, first) in days.iter().enumerate() {
        slopes.extend(
            days[at + 1..].iter().filter(|day| day.0 > first.0).map(|day| (day.1 - first.1) / (day.0 - first.0)),
        );
    }
    let per_day = median(&mut slopes)?;
    let r = alike(days, per_day);
    let by = r.min(ALIKE_MOST);
    let width = Z * (variance(days) * (1.0 + by) / (1.0 - by)).max(0.0).sqrt();
    let count = slopes.len() as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the slopes")]
    let at = |place: f64| slopes.get(place.clamp(0.0, count - 1.0) as usize).copied();
    let (low, high) = (at(((count - width) / 2.0).floor() - 1.0)?, at(((count + width) / 2.0).ceil())?);
    Some((DailySlope { per_day, low, high }, r))
}

impl Trend {
    /// Of days in order. `limit` stands instead of the one that the recordings tell of.
    #[must_use]
    pub fn of(days: &DailyLevels, limit: Option<f64>) -> Self {
        let limit_from = if limit.is_some() { "--limit" } else { days.limit_from };
        let mut trend = Self {
            figure: days.figure.name().to_string(),
            thing: days.thing.clone(),
            unit: days.figure.unit(),
            first_wall_ns: days.first_wall_ns,
            days: days.levels.clone(),
            left_out: days.left_out,
            step_s: days.step_ns as f64 / 1e9,
            slope: None,
            now: None,
            limit: limit.or(days.limit),
            limit_from: limit_from.to_string(),
            reach: LimitReach::NoLimit,
            middle: (0.0, 0.0),
        };
        let span = trend.last_day();
        if trend.days.len() < LEAST_DAYS || span < LEAST_SPAN {
            let why = format!(
                "{} within {:.0} are too few to tell growth from chance; at least {LEAST_DAYS} within {:.0} are needed",
                days_of(trend.days.len()),
                span + 1.0,
                LEAST_SPAN + 1.0
            );
            trend.reach = LimitReach::NoDate { why, not_before: None };
            return trend;
        }
        let Some((slope, r)) = slope(&trend.days) else { return trend };
        if r > ALIKE_MOST {
            let why =
                format!("neighbouring days are so alike (correlation {r:.2}) that a drift by chance looks like growth");
            trend.reach = LimitReach::NoDate { why, not_before: None };
            return trend;
        }
        let mut starts: Vec<f64> = trend.days.iter().map(|(day, level)| level - slope.per_day * day).collect();
        let start = median(&mut starts).unwrap_or(0.0);
        let mut places: Vec<f64> = trend.days.iter().map(|day| day.0).collect();
        let middle = median(&mut places).unwrap_or(0.0);
        trend.middle = (middle, start + slope.per_day * middle);
        (trend.now, trend.slope) = (Some(start + slope.per_day * span), Some(slope));
        trend.reach = trend.reached(slope);
        trend
    }

    /// The last day, from the first.
    #[must_use]
    pub fn last_day(&self) -> f64 {
        self.days.last().map_or(0.0, |day| day.0)
    }

    /// The level of a slope on a day.
    fn level(&self, per_day: f64, day: f64) -> f64 {
        self.middle.1 + per_day * (day - self.middle.0)
    }

    /// When a slope gets to the limit, if that is within the time that may be spoken of.
    fn day_of(&self, per_day: f64, limit: f64) -> Option<f64> {
        let day = self.middle.0 + (limit - self.middle.1) / per_day;
        (per_day > 0.0 && day <= self.last_day() * (1.0 + AHEAD)).then_some(day.max(self.last_day()))
    }

    fn reached(&self, slope: DailySlope) -> LimitReach {
        let Some(limit) = self.limit else { return LimitReach::NoLimit };
        if self.now.is_some_and(|now| now >= limit) {
            return LimitReach::Reached;
        }
        let earliest = self.day_of(slope.high, limit);
        if slope.low <= 0.0 {
            let why = if slope.high < 0.0 { "it falls" } else { "no growth beyond chance" };
            return LimitReach::NoDate { why: why.to_string(), not_before: earliest };
        }
        match self.day_of(slope.per_day, limit) {
            Some(day) => {
                LimitReach::On { day, earliest: earliest.unwrap_or(day), latest: self.day_of(slope.low, limit) }
            }
            None => {
                let far = AHEAD * self.last_day();
                let why = format!(
                    "it is more than {far:.0} days away, twice the time that was observed, of which these days say nothing"
                );
                LimitReach::NoDate { why, not_before: earliest }
            }
        }
    }

    /// The UTC date of a day.
    #[must_use]
    pub fn date(&self, day: f64) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "some days")]
        let ns = (day * 86_400e9) as i64;
        format_wall(self.first_wall_ns.saturating_add(ns)).chars().take(10).collect()
    }

    /// What it is of.
    #[must_use]
    pub fn name(&self) -> String {
        if self.thing.is_empty() { self.figure.clone() } else { format!("{} of {}", self.figure, self.thing) }
    }

    /// A difference in its unit, with a sign; of percentages in points.
    fn signed(&self, value: f64) -> String {
        let mut text = self.unit.format(Some(value.abs()));
        if self.unit == Unit::Percent {
            text = text.replace('%', "points");
        }
        format!("{}{text}", if value < 0.0 { "−" } else { "+" })
    }

    /// In sentences, a line each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let show = |value: Option<f64>| self.unit.format(value);
        let mut lines = vec![format!(
            "{}: {} from {} to {}, of each the 95th percentile of its steps of {:.0} min",
            self.name(),
            days_of(self.days.len()),
            self.date(0.0),
            self.date(self.last_day()),
            self.step_s / 60.0
        )];
        if self.left_out > 0 {
            lines.push(format!(
                "left out: {}, of which less than half as much was recorded as of the others",
                days_of(self.left_out)
            ));
        }
        if let Some(slope) = self.slope {
            let [per_day, low, high] = [slope.per_day, slope.low, slope.high].map(|value| self.signed(value));
            lines.push(format!("now {}, {per_day} a day (95 %: {low} to {high})", show(self.now)));
        }
        let limit = format!("{} ({})", show(self.limit), self.limit_from);
        lines.push(match &self.reach {
            LimitReach::NoLimit => "no limit is known; --limit VALUE says when it would be reached".to_string(),
            LimitReach::Reached => format!("{limit} is reached"),
            LimitReach::On { day, earliest, latest } => {
                let latest = latest.map_or("later than these days can show".to_string(), |day| self.date(day));
                format!("reaches {limit} on {} (95 %: {} to {latest})", self.date(*day), self.date(*earliest))
            }
            LimitReach::NoDate { why, not_before } => {
                let before = not_before.map_or(String::new(), |day| format!("; not before {} (95 %)", self.date(day)));
                format!("no date for {}: {why}{before}", if self.limit.is_some() { &limit } else { "a limit" })
            }
        });
        lines
    }
}

#[cfg(test)]
mod tests;
