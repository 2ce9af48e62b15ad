//! What a condition can ask for: the one list of measures, with dimension, meaning and where they may be used.

use super::dimension::Dimension;

/// A quantity of a run, or of one interval of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quantity {
    Arrivals,
    Operations,
    Bytes,
    Errors,
    DamagedBlocks,
    Offered,
    Achieved,
    Throughput,
    ReadShare,
    InFlight,
    Backlog,
    LongestStall,
    Cpu,
    /// The longest response time, with what is still in flight.
    Longest,
    /// A statistic of a histogram.
    Time(Clock, Statistic),
}

/// Which time of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    Response,
    Service,
    Wait,
}

/// A figure read off a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Statistic {
    Min,
    Mean,
    Max,
    /// Fraction of the operations, 0 to 1.
    Percentile(f64),
}

/// One measure under one name.
pub(super) struct Measure {
    pub(super) name: &'static str,
    /// Other names of the same.
    pub(super) aliases: &'static [&'static str],
    pub(super) quantity: Quantity,
    pub(super) dimension: Dimension,
    /// Does the measure exist for each workload, target and operation?
    pub(super) by_lane: bool,
    pub(super) help: &'static str,
}

const fn measure(
    name: &'static str,
    aliases: &'static [&'static str],
    quantity: Quantity,
    dimension: Dimension,
    help: &'static str,
) -> Measure {
    Measure { name, aliases, quantity, dimension, by_lane: true, help }
}

/// All measures that are no statistic of a time; names are those of the tables and of the JSON lines.
pub(super) static MEASURES: [Measure; 13] = [
    measure(
        "achieved",
        &["iops", "achieved_per_s"],
        Quantity::Achieved,
        Dimension::RATE,
        "Operations completed per second.",
    ),
    measure(
        "offered",
        &["offered_per_s"],
        Quantity::Offered,
        Dimension::RATE,
        "Arrivals per second: what was asked for. At full speed an operation arrives when a slot is free, so it follows `achieved`.",
    ),
    measure("bytes_per_s", &["throughput"], Quantity::Throughput, Dimension::BYTE_RATE, "Bytes moved per second."),
    measure("ops", &["operations"], Quantity::Operations, Dimension::OPERATIONS, "Operations completed."),
    measure("arrivals", &[], Quantity::Arrivals, Dimension::OPERATIONS, "Operations that became due."),
    measure("bytes", &[], Quantity::Bytes, Dimension::BYTES, "Bytes moved."),
    measure("errors", &[], Quantity::Errors, Dimension::OPERATIONS, "Operations that failed."),
    Measure {
        by_lane: false,
        ..measure(
            "damaged_blocks",
            &[],
            Quantity::DamagedBlocks,
            Dimension::NUMBER,
            "Blocks that data validation found damaged in the run; the reading at the end is a run of its own, `verify`. Not known of a run that compared nothing.",
        )
    },
    measure(
        "read_percent",
        &[],
        Quantity::ReadShare,
        Dimension::PERCENT,
        "Operations that read data (`read`, `readfile`, `mmapread`) ÷ these and those that write data (`write`, `append`, `writefile`, `mmapwrite`); not known where there are neither.",
    ),
    measure(
        "in_flight_mean",
        &["queue_depth", "queue_depth_mean"],
        Quantity::InFlight,
        Dimension::OPERATIONS,
        "Mean number of operations in flight.",
    ),
    measure(
        "backlog",
        &[],
        Quantity::Backlog,
        Dimension::OPERATIONS,
        "Operations due and not submitted at the end of an interval; over a whole run the greatest.",
    ),
    measure(
        "longest_stall",
        &["stall"],
        Quantity::LongestStall,
        Dimension::TIME,
        "Longest time without a completion although something was waiting, in whole intervals.",
    ),
    Measure {
        by_lane: false,
        ..measure(
            "cpu_percent",
            &["cpu"],
            Quantity::Cpu,
            Dimension::PERCENT,
            "Use of all CPUs of the host: user, system, interrupts.",
        )
    },
];

/// The times of an operation: prefix of the name, whether it is known by lane, meaning.
static CLOCKS: [(&str, Clock, bool, &str); 3] = [
    ("response_ns_", Clock::Response, true, "Response time: from when an operation was due to its completion."),
    ("service_ns_", Clock::Service, true, "Service time: from submission to completion."),
    ("wait_ns_", Clock::Wait, false, "Submission lag: from when an operation was due to its submission."),
];

/// Statistics that the tables have as columns; any other percentile works as well.
pub(super) const STATISTICS: [&str; 7] = ["min", "mean", "p50", "p90", "p99", "p999", "max"];

/// What a name stands for.
pub(super) struct Found {
    pub(super) quantity: Quantity,
    pub(super) dimension: Dimension,
    pub(super) by_lane: bool,
}

/// Looks a name up.
pub(super) fn find(name: &str) -> Option<Found> {
    if let Some(known) = MEASURES.iter().find(|known| known.name == name || known.aliases.contains(&name)) {
        return Some(Found { quantity: known.quantity, dimension: known.dimension, by_lane: known.by_lane });
    }
    let (rest, clock, by_lane) = CLOCKS
        .iter()
        .find_map(|(prefix, clock, by_lane, _)| name.strip_prefix(prefix).map(|rest| (rest, *clock, *by_lane)))?;
    let statistic = match rest {
        "min" => Statistic::Min,
        "mean" => Statistic::Mean,
        "max" => Statistic::Max,
        // p999 is 99.9 %.
        percentile => {
            let digits = percentile.strip_prefix('p')?;
            let good = (2..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            Statistic::Percentile(good.then(|| format!("0.{digits}").parse().ok()).flatten()?)
        }
    };
    Some(Found { quantity: Quantity::Time(clock, statistic), dimension: Dimension::TIME, by_lane })
}

/// Looks up a name that is meant of a trace: bare times are the longest, and some measures are not known.
///
/// # Errors
/// A measure that only a run has.
pub(super) fn find_traced(name: &str) -> Result<Option<Found>, ()> {
    let lane = |quantity, dimension| Ok(Some(Found { quantity, dimension, by_lane: true }));
    match name {
        "response" => return lane(Quantity::Longest, Dimension::TIME),
        "service" => return lane(Quantity::Time(Clock::Service, Statistic::Max), Dimension::TIME),
        "wait" => return lane(Quantity::Time(Clock::Wait, Statistic::Max), Dimension::TIME),
        "rate" => return lane(Quantity::Achieved, Dimension::RATE),
        _ => {}
    }
    match find(name) {
        Some(Found {
            quantity:
                Quantity::Arrivals
                | Quantity::Offered
                | Quantity::Backlog
                | Quantity::LongestStall
                | Quantity::DamagedBlocks
                | Quantity::Cpu,
            ..
        }) => Err(()),
        found => Ok(found.map(|found| Found { by_lane: true, ..found })),
    }
}

/// Every name, for suggestions.
pub(super) fn all() -> Vec<String> {
    let plain = MEASURES.iter().flat_map(|known| std::iter::once(known.name).chain(known.aliases.iter().copied()));
    let times =
        CLOCKS.iter().flat_map(|(prefix, ..)| STATISTICS.iter().map(move |statistic| format!("{prefix}{statistic}")));
    plain.map(String::from).chain(times).collect()
}

/// The measures as a table in Markdown (docs/objectives.md).
pub(super) fn markdown() -> String {
    let mut page = String::from("| name | unit | labels | meaning |\n| --- | --- | --- | --- |\n");
    let labels = |by_lane: bool| if by_lane { "workload, target, op, run" } else { "run" };
    let mut row = |name: &str, unit: &str, by_lane: bool, help: &str| {
        page.push_str(&format!("| {name} | {unit} | {} | {help} |\n", labels(by_lane)));
    };
    for (prefix, _, by_lane, help) in &CLOCKS {
        let names: Vec<String> = STATISTICS.iter().map(|statistic| format!("`{prefix}{statistic}`")).collect();
        row(&names.join(", "), "time", *by_lane, help);
    }
    for known in &MEASURES {
        let names: Vec<String> =
            std::iter::once(known.name).chain(known.aliases.iter().copied()).map(|name| format!("`{name}`")).collect();
        row(&names.join(", "), known.dimension.word(), known.by_lane, known.help);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{all, find};
    use recording::ColumnKind;

    /// Columns of the table that say where and when a row is, not how it went.
    const PLACE: [&str; 2] = ["interval_ns", "run_index"];

    #[test]
    fn every_figure_of_the_operations_table_is_a_name() {
        let table = recording::table("op_interval").expect("the engine's table");
        for column in table.columns.iter().filter(|column| !PLACE.contains(&column.name)) {
            let names: Vec<String> = match column.kind {
                ColumnKind::Gauge => vec![column.name.to_string()],
                ColumnKind::Histogram => {
                    super::STATISTICS.iter().map(|statistic| format!("{}_ns_{statistic}", column.name)).collect()
                }
                _ => continue,
            };
            for name in names {
                assert!(find(&name).is_some(), "op_interval has {name}, conditions do not");
                assert!(all().contains(&name), "{name} is never suggested");
            }
        }
    }

    #[test]
    fn percentiles_are_read_like_the_columns() {
        for (name, good) in [
            ("response_ns_p95", true),
            ("service_ns_p9999", true),
            ("response_ns_p9", false),
            ("response_ns_", false),
            ("wait_ns_px9", false),
        ] {
            assert_eq!(find(name).is_some(), good, "{name}");
        }
    }
}
