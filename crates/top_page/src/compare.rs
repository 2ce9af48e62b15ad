//! Two windows of time: which figures differ most.

use super::{DrillTarget, Grid, PageInterval, short_or};
use rates::stat::{CounterSubject, StatBlock};
use std::collections::{BTreeMap, BTreeSet};

/// One figure in both windows.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowChange {
    /// Subject, thing and figure: `disk sda w_await`.
    pub name: String,
    /// Medians in A and in B.
    pub medians: [f64; 2],
    /// B ÷ A; `None` where A is 0.
    pub ratio: Option<f64>,
    /// How far the median of B lies from that of A, in robust standard deviations of A (1.4826 × the median distance
    /// from the median); with a floor, so that a figure that never moved in A does not count without limit.
    pub z: f64,
}

/// A median of fewer samples says nothing.
const SAMPLES_LEAST: usize = 3;
/// What counts as spread at least: this share of the figure itself, and this share of the largest figure of its kind.
const FLOOR: [f64; 2] = [0.02, 0.001];
/// Of processes, which come and go, those are compared that used so much of a CPU in one of both.
const PROCESS_PERCENT: f64 = 1.0;

/// What differs between two windows, most first: by the robust z-score.
#[must_use]
pub fn compare(a_moments: &[PageInterval], b_moments: &[PageInterval]) -> Vec<WindowChange> {
    let (a, b) = (series(a_moments), series(b_moments));
    // The largest of a kind: a device that does a hundredth of what another does is not the news.
    let mut scale: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for ((subject, _, key), values) in a.iter().chain(&b) {
        let most = values.iter().copied().fold(0.0, |most: f64, value| most.max(value.abs()));
        let entry = scale.entry((subject, key)).or_default();
        *entry = entry.max(most);
    }
    let (lengths, mut changes) = ([a_moments.len(), b_moments.len()], Vec::new());
    let idle = [vec![0.0; lengths[0]], vec![0.0; lengths[1]]];
    let names: BTreeSet<&Name> = a.keys().chain(b.keys()).collect();
    for name in names {
        // A process without rows did nothing; anything else was not there.
        let or_idle = |side: usize| (name.0 == "proc").then(|| &idle[side]);
        let (Some(before), Some(after)) = (a.get(name).or(or_idle(0)), b.get(name).or(or_idle(1))) else { continue };
        if before.len() < SAMPLES_LEAST || after.len() < SAMPLES_LEAST {
            continue;
        }
        let (subject, thing, key) = name;
        let medians = [median(before), median(after)];
        let floor = (medians[0].abs() * FLOOR[0]).max(scale.get(&(*subject, *key)).copied().unwrap_or(0.0) * FLOOR[1]);
        let distances: Vec<f64> = before.iter().map(|value| (value - medians[0]).abs()).collect();
        let spread = (1.4826 * median(&distances)).max(floor);
        if spread > 0.0 {
            let ratio = (medians[0] != 0.0).then(|| medians[1] / medians[0]);
            let thing = if thing.is_empty() { String::new() } else { format!(" {thing}") };
            let title = title(subject, key);
            changes.push(WindowChange {
                name: format!("{subject}{thing} {title}"),
                medians,
                ratio,
                z: (medians[1] - medians[0]) / spread,
            });
        }
    }
    changes.retain(|change| change.z != 0.0);
    changes.sort_by(|x, y| y.z.abs().total_cmp(&x.z.abs()).then_with(|| x.name.cmp(&y.name)));
    changes
}

/// The same as a page.
#[must_use]
pub fn compared(title: String, changes: &[WindowChange]) -> Grid {
    let mut grid = Grid::new(title, &["figure", "A", "B", "B ÷ A", "z"]);
    for change in changes {
        let ratio = change.ratio.map_or("new".to_string(), |ratio| format!("{}×", short_or(Some(ratio))));
        let cells = vec![
            change.name.clone(),
            short_or(Some(change.medians[0])),
            short_or(Some(change.medians[1])),
            ratio,
            format!("{:+.1}", change.z),
        ];
        grid.push(cells, DrillTarget::Nothing);
    }
    grid
}

/// Subject, thing, key.
type Name = (&'static str, String, &'static str);

/// Every figure over time.
fn series(moments: &[PageInterval]) -> BTreeMap<Name, Vec<f64>> {
    let mut series: BTreeMap<Name, Vec<f64>> = BTreeMap::new();
    let subjects = CounterSubject::ALL.into_iter().filter(|subject| *subject != CounterSubject::Process);
    for subject in subjects {
        for block in moments.iter().filter_map(|moment| moment.block(subject)) {
            add(&mut series, block);
        }
    }
    processes(moments, &mut series);
    series
}

fn add(series: &mut BTreeMap<Name, Vec<f64>>, block: &StatBlock) {
    let has_things =
        !["", "system", "memory", "TCP", "UDP"].contains(&block.rows.first().map_or("", |row| row.name.as_str()));
    for row in &block.rows {
        let thing = if has_things { row.name.clone() } else { String::new() };
        for (column, value) in block.subject.columns().iter().zip(&row.values) {
            if let Some(value) = value {
                series.entry((block.subject.name(), thing.clone(), column.key)).or_default().push(*value);
            }
        }
    }
}

/// By name, summed; one without a row did nothing.
fn processes(moments: &[PageInterval], series: &mut BTreeMap<Name, Vec<f64>>) {
    let mut names: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (at, moment) in moments.iter().enumerate() {
        for (row, percent) in moment.each(CounterSubject::Process, "cpu_percent") {
            let values = names.entry(row.name.clone()).or_insert_with(|| vec![0.0; moments.len()]);
            if let (Some(value), Some(percent)) = (values.get_mut(at), percent) {
                *value += percent;
            }
        }
    }
    names.retain(|_, values| values.iter().copied().fold(0.0, f64::max) >= PROCESS_PERCENT);
    series.extend(names.into_iter().map(|(name, values)| (("proc", name, "cpu_percent"), values)));
}

fn title(subject: &str, key: &'static str) -> &'static str {
    let subject = CounterSubject::ALL.into_iter().find(|one| one.name() == subject);
    let column = subject.and_then(|subject| subject.columns().iter().find(|column| column.key == key));
    column.map_or(key, |column| column.title)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}
