//! The figures that are compared, and what is known of them: whether more is better, and how their spread is found.

use super::part::LoadPart;
use crate::FigureBounds;
use view::Unit;

/// Which time of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeKind {
    /// From when it was due.
    Response,
    /// From its submission.
    Service,
}

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateFlow {
    /// Operations.
    Operations,
    /// Bytes.
    Bytes,
}

/// How the spread of a figure is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeasureKind {
    /// So much per second.
    Rate(RateFlow),
    /// Mean time.
    Mean(TimeKind),
    /// This quantile of the times, 0 to 1.
    Quantile(TimeKind, f64),
    /// Not at all: a ratio is shown without an interval and without a verdict. Of a maximum one value decides, of sizes and
    /// shares the load itself.
    Plain,
}

/// Is more of it better?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BetterDirection {
    /// More is better.
    More,
    /// Less is better.
    Less,
    /// Neither is.
    Neither,
}

/// One figure of a load.
#[derive(Clone, Copy, Debug)]
pub struct LoadMeasure {
    /// As conditions call it.
    pub key: &'static str,
    /// As tables call it.
    pub title: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Is more of it better?
    pub better: BetterDirection,
    /// How its spread is found.
    pub kind: MeasureKind,
    /// Its value over a part of a load.
    pub value: fn(&LoadPart) -> Option<FigureBounds>,
}

const fn measure(
    (key, title, unit): (&'static str, &'static str, Unit),
    better: BetterDirection,
    kind: MeasureKind,
    value: fn(&LoadPart) -> Option<FigureBounds>,
) -> LoadMeasure {
    LoadMeasure { key, title, unit, better, kind, value }
}

const NS: Unit = Unit::Nanoseconds;

/// All of them, in the order of tables.
pub static MEASURES: [LoadMeasure; 17] = [
    measure(
        ("iops", "IOPS", Unit::OpsPerSecond),
        BetterDirection::More,
        MeasureKind::Rate(RateFlow::Operations),
        |part| part.per_second(part.ops),
    ),
    measure(
        ("bytes_per_s", "throughput", Unit::BytesPerSecond),
        BetterDirection::More,
        MeasureKind::Rate(RateFlow::Bytes),
        |part| part.per_second(part.bytes),
    ),
    measure(
        ("bytes_per_op", "bytes per operation", Unit::Bytes),
        BetterDirection::Neither,
        MeasureKind::Plain,
        |part| (part.ops > 0.0).then(|| FigureBounds::exact(part.bytes / part.ops)),
    ),
    measure(("read_percent", "share of reads", Unit::Percent), BetterDirection::Neither, MeasureKind::Plain, |part| {
        part.data.read_percent().map(FigureBounds::exact)
    }),
    measure(
        ("response_ns_mean", "mean response", NS),
        BetterDirection::Less,
        MeasureKind::Mean(TimeKind::Response),
        |part| part.response.mean(),
    ),
    measure(
        ("response_ns_p50", "response p50", NS),
        BetterDirection::Less,
        MeasureKind::Quantile(TimeKind::Response, 0.5),
        |part| part.response.percentile(0.5),
    ),
    measure(
        ("response_ns_p90", "response p90", NS),
        BetterDirection::Less,
        MeasureKind::Quantile(TimeKind::Response, 0.9),
        |part| part.response.percentile(0.9),
    ),
    measure(
        ("response_ns_p99", "response p99", NS),
        BetterDirection::Less,
        MeasureKind::Quantile(TimeKind::Response, 0.99),
        |part| part.response.percentile(0.99),
    ),
    measure(
        ("response_ns_p999", "response p99.9", NS),
        BetterDirection::Less,
        MeasureKind::Quantile(TimeKind::Response, 0.999),
        |part| part.response.percentile(0.999),
    ),
    measure(("response_ns_max", "response max", NS), BetterDirection::Less, MeasureKind::Plain, |part| {
        part.response.max()
    }),
    measure(
        ("service_ns_mean", "mean service", NS),
        BetterDirection::Less,
        MeasureKind::Mean(TimeKind::Service),
        |part| part.service.mean(),
    ),
    measure(
        ("service_ns_p50", "service p50", NS),
        BetterDirection::Less,
        MeasureKind::Quantile(TimeKind::Service, 0.5),
        |part| part.service.percentile(0.5),
    ),
    measure(
        ("service_ns_p90", "service p90", NS),
        BetterDirection::Less,
        MeasureKind::Quantile(TimeKind::Service, 0.9),
        |part| part.service.percentile(0.9),
    ),
    measure(
        ("service_ns_p99", "service p99", NS),
        BetterDirection::Less,
        MeasureKind::Quantile(TimeKind::Service, 0.99),
        |part| part.service.percentile(0.99),
    ),
    measure(
        ("service_ns_p999", "service p99.9", NS),
        BetterDirection::Less,
        MeasureKind::Quantile(TimeKind::Service, 0.999),
        |part| part.service.percentile(0.999),
    ),
    measure(("service_ns_max", "service max", NS), BetterDirection::Less, MeasureKind::Plain, |part| {
        part.service.max()
    }),
    measure(("in_flight_mean", "in flight", Unit::Count), BetterDirection::Neither, MeasureKind::Plain, |part| {
        part.per_second(part.in_flight_s?)
    }),
];

/// The measure of this name.
#[must_use]
pub fn measure_of(key: &str) -> Option<&'static LoadMeasure> {
    let key = match key {
        "achieved" | "achieved_per_s" => "iops",
        "throughput" => "bytes_per_s",
        other => other,
    };
    MEASURES.iter().find(|measure| measure.key == key)
}

impl LoadMeasure {
    /// The same figure by the other clock.
    pub fn by_service(&self) -> &'static Self {
        let key = self.key.replacen("response_", "service_", 1);
        measure_of(&key).unwrap_or(&MEASURES[0])
    }
}
