//! Distances between two loads: what they mean and what is permitted is in docs/model.md.

use super::WorkloadModel;
use super::fold::Total;
use crate::model::arrivals::Bin;
use serde::Serialize;
use std::collections::BTreeMap;

/// Percent steps at which curves of hits are compared.
const CURVE: usize = 1000;

/// One figure of two loads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureLikeness {
    /// What.
    pub figure: &'static str,
    /// Of the trace.
    pub trace: Option<f64>,
    /// Of the model.
    pub model: Option<f64>,
    /// How far they are from each other; `None`: one of them does not have it.
    pub distance: Option<f64>,
    /// The greatest distance that docs/model.md permits.
    pub permitted: f64,
    /// How `trace` and `model` are shown.
    #[serde(skip)]
    pub shown: FigureFormat,
}

/// How a figure is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureFormat {
    /// In percent.
    Share,
    /// Bytes.
    Bytes,
    /// A number.
    Number,
}

impl FigureLikeness {
    /// One of the two values with its unit; `?` when it is not known.
    pub fn shown(&self, value: Option<f64>) -> String {
        match (value, self.shown) {
            (None, _) => "?".to_string(),
            (Some(value), FigureFormat::Share) => format!("{:.1} %", value * 100.0),
            (Some(value), FigureFormat::Number) => quantity::text::format_count(value),
            (Some(value), FigureFormat::Bytes) => format!("{:.1} KiB", value / 1024.0),
        }
    }

    /// Within what is permitted?
    pub fn is_within(&self) -> bool {
        self.distance.is_some_and(|distance| distance <= self.permitted)
    }
}

/// How far `model` is from `trace`, figure by figure.
pub fn compare(trace: &WorkloadModel, model: &WorkloadModel) -> Vec<FigureLikeness> {
    let (a, b) = (Figures::of(trace), Figures::of(model));
    let both = |x: Option<f64>, y: Option<f64>, distance: fn(f64, f64) -> f64| x.zip(y).map(|(x, y)| distance(x, y));
    let line = |figure, trace: Option<f64>, model: Option<f64>, distance, permitted, shown| FigureLikeness {
        figure,
        trace,
        model,
        distance,
        permitted,
        shown,
    };
    let plain = |figure, of: fn(&Figures) -> Option<f64>, distance: fn(f64, f64) -> f64, permitted, shown| {
        line(figure, of(&a), of(&b), both(of(&a), of(&b), distance), permitted, shown)
    };
    let seconds = |figures: &Figures| figures.seconds.get(figures.seconds.len() * 99 / 100).copied();
    vec![
        plain("read share", |one| one.read_share, difference, 0.02, FigureFormat::Share),
        line("size mix", a.largest, b.largest, Some(variation(&a.sizes, &b.sizes)), 0.05, FigureFormat::Share),
        plain("bytes per I/O", |one| one.mean_bytes, relative, 0.05, FigureFormat::Bytes),
        plain("IOPS", |one| one.rate, relative, 0.10, FigureFormat::Number),
        line("IOPS per second", seconds(&a), seconds(&b), area(&a.seconds, &b.seconds), 0.15, FigureFormat::Number),
        plain("burstiness", |one| one.dispersion, ratio, 1.5, FigureFormat::Number),
        plain("sequential share", |one| one.sequential, difference, 0.05, FigureFormat::Share),
        line("hot addresses", a.hot_tenth(), b.hot_tenth(), farthest(&a.heat, &b.heat), 0.10, FigureFormat::Share),
        plain("places used", |one| one.places, relative, 0.25, FigureFormat::Number),
    ]
}

/// How far two loads of the same length go together, second by second: correlations, −1 to 1; `None` when one of the two
/// does not change. And how much the mix of the first changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadCourse {
    /// Of the I/Os per second.
    pub ios: Option<f64>,
    /// Of the bytes per second.
    pub bytes: Option<f64>,
    /// Of the share of reads.
    pub read_share: Option<f64>,
    /// Standard deviation of the share of reads over the trace's seconds, 0 to 0.5.
    pub read_share_deviation: f64,
    /// Standard deviation of the bytes per I/O over the trace's seconds ÷ their mean.
    pub size_deviation: f64,
}

impl LoadCourse {
    /// Does the trace do now one thing and now another, which a model with the same mix all the time does not?
    #[must_use]
    pub fn is_changing(&self) -> bool {
        self.read_share_deviation > 0.15 || self.size_deviation > 0.5
    }
}

/// A second with fewer I/Os has a mix by chance.
const MIXED: f64 = 20.0;

/// How two loads go together in time.
pub fn course(trace: &WorkloadModel, model: &WorkloadModel) -> LoadCourse {
    let (a, b) = (trace.arrivals.seconds(), model.arrivals.seconds());
    let of = |value: fn(&Bin) -> Option<f64>| {
        let pairs = a.iter().zip(&b).filter_map(|(x, y)| value(x).zip(value(y)));
        correlation(&pairs.collect::<Vec<_>>())
    };
    let busy = || a.iter().filter(|bin| bin.ios() >= MIXED);
    let sizes: Vec<f64> = busy().map(|bin| bin.bytes() / bin.ios()).collect();
    let shares: Vec<f64> = busy().filter_map(Bin::read_share).collect();
    let (mean_size, size_deviation) = spread(&sizes);
    LoadCourse {
        ios: of(|bin| Some(bin.ios())),
        bytes: of(|bin| Some(bin.bytes())),
        read_share: of(Bin::read_share),
        read_share_deviation: spread(&shares).1,
        size_deviation: if mean_size > 0.0 { size_deviation / mean_size } else { 0.0 },
    }
}

/// Mean and standard deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt())
}

/// Pearson's.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    let (ma, mb) =
        (pairs.iter().map(|pair| pair.0).sum::<f64>() / count, pairs.iter().map(|pair| pair.1).sum::<f64>() / count);
    let (mut both, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        both += (x - ma) * (y - mb);
        aa += (x - ma) * (x - ma);
        bb += (y - mb) * (y - mb);
    }
    (pairs.len() >= 2 && aa > 0.0 && bb > 0.0).then(|| both / (aa * bb).sqrt())
}

fn difference(a: f64, b: f64) -> f64 {
    (a - b).abs()
}

fn relative(trace: f64, model: f64) -> f64 {
    if trace == 0.0 { f64::from(u8::from(model != 0.0)) } else { (model / trace - 1.0).abs() }
}

/// Above 1; both are at least that of a clock's worth of noise.
fn ratio(a: f64, b: f64) -> f64 {
    let (a, b) = (a.max(0.1), b.max(0.1));
    (a / b).max(b / a)
}

/// What is compared.
struct Figures {
    read_share: Option<f64>,
    /// Share of a kind and octave.
    sizes: BTreeMap<(usize, u32), f64>,
    /// The greatest of these.
    largest: Option<f64>,
    mean_bytes: Option<f64>,
    rate: Option<f64>,
    /// I/Os of seconds, ascending.
    seconds: Vec<f64>,
    dispersion: Option<f64>,
    sequential: Option<f64>,
    heat: Vec<u64>,
    places: Option<f64>,
}

impl Figures {
    fn of(model: &WorkloadModel) -> Self {
        let kinds = model.kinds();
        let ios = kinds.each_ref().map(|total: &Total| total.ios as f64);
        let all: f64 = ios.iter().sum();
        let of = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        let mut sizes: BTreeMap<(usize, u32), f64> = BTreeMap::new();
        for (kind, total) in kinds.iter().enumerate() {
            for (size, count) in &total.sizes {
                *sizes.entry((kind, size.max(&1).ilog2())).or_default() += *count as f64 / all;
            }
        }
        let heat = model.places.heat();
        let mut seconds = model.arrivals.sliding();
        seconds.sort_by(f64::total_cmp);
        Self {
            read_share: of(ios[0], ios[0] + ios[1]),
            largest: sizes.values().copied().reduce(f64::max),
            sizes,
            mean_bytes: of(kinds.iter().map(|total| total.bytes as f64).sum(), all),
            rate: (model.ios() > 0).then(|| model.arrivals.rate()),
            seconds,
            dispersion: model.arrivals.dispersion(),
            sequential: of(model.sequential as f64, all),
            places: (!heat.is_empty()).then_some(heat.len() as f64),
            heat,
        }
    }

    /// Share of the I/Os that the hottest tenth of the places gets.
    fn hot_tenth(&self) -> Option<f64> {
        (!self.heat.is_empty()).then(|| hits(&self.heat, &[CURVE / 10])[0])
    }
}

/// Half the sum of the differences.
fn variation(a: &BTreeMap<(usize, u32), f64>, b: &BTreeMap<(usize, u32), f64>) -> f64 {
    let of = |sizes: &BTreeMap<(usize, u32), f64>, key| sizes.get(key).copied().unwrap_or(0.0);
    let only_b: f64 = b.iter().filter(|(key, _)| !a.contains_key(key)).map(|(_, share)| share).sum();
    let rest: f64 = a.iter().map(|(key, share)| (share - of(b, key)).abs()).sum();
    (rest + only_b) / 2.0
}

/// Area between two distributions ÷ the mean of the first; both ascending.
fn area(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = a.iter().sum::<f64>() / a.len() as f64;
    if a.is_empty() || b.is_empty() || mean <= 0.0 {
        return None;
    }
    let at = |sorted: &[f64], part: usize| sorted[part * sorted.len() / CURVE];
    let sum: f64 = (0..CURVE).map(|part| (at(a, part) - at(b, part)).abs()).sum();
    Some(sum / CURVE as f64 / mean)
}

/// Shares of all I/Os that the hottest places get, so many of [`CURVE`] parts of them; between two places in proportion.
fn hits(heat: &[u64], parts: &[usize]) -> Vec<f64> {
    let all: u64 = heat.iter().sum();
    let (mut upto, mut at) = (0_u64, 0);
    let mut share = |part: usize| {
        let (whole, rest) = (part * heat.len() / CURVE, (part * heat.len() % CURVE) as f64 / CURVE as f64);
        while at < whole {
            upto += heat[at];
            at += 1;
        }
        let next = heat.get(at).map_or(0.0, |count| *count as f64 * rest);
        (upto as f64 + next) / all.max(1) as f64
    };
    parts.iter().map(|part| share(*part)).collect()
}

/// Greatest distance between two curves of hits.
fn farthest(a: &[u64], b: &[u64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let parts: Vec<usize> = (0..=CURVE).collect();
    hits(a, &parts).iter().zip(hits(b, &parts)).map(|(a, b)| (a - b).abs()).reduce(f64::max)
}
