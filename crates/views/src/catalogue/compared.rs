//! Views of recordings side by side.

use super::{Compute, View, ViewKind};
use crate::comparison::{self, Comparison};
use view::Drawing;

const fn pair(
    id: &'static str,
    title: &'static str,
    kind: ViewKind,
    compute: fn(&Comparison, usize) -> Option<Drawing>,
    explanation: &'static str,
) -> View {
    View { id, title, explanation, kind, compute: Compute::Pair(compute) }
}

const fn side(
    id: &'static str,
    title: &'static str,
    kind: ViewKind,
    compute: fn(&Comparison, usize, usize) -> Option<Drawing>,
    explanation: &'static str,
) -> View {
    View { id, title, explanation, kind, compute: Compute::Side(compute) }
}

pub(super) static COMPARED: [View; 14] = [
    pair(
        "compare.commands",
        "Commands side by side",
        ViewKind::Table,
        comparison::commands::table,
        "Means over the executions that count, ± half of the 95 % interval. The ratio is second ÷ first, of the geometric means, with its interval by Welch's t of the logarithms; the figure with a star decides (docs/commands.md).",
    ),
    pair(
        "compare.runs",
        "Runs side by side",
        ViewKind::Table,
        comparison::runs,
        "Runs of the same name and variables. ▲ better, ▼ worse, = the same within a bound, ? not resolved: the runs are too short to say.",
    ),
    pair(
        "compare.load_response",
        "Load and response time",
        ViewKind::LoadResponse,
        comparison::load_response,
        "Each point is a run, each line a recording.",
    ),
    pair(
        "compare.figures",
        "Figures side by side",
        ViewKind::Table,
        comparison::figures,
        "The ratio is second ÷ first. The figure with a star was named before looking, and decides: where all are looked at, one in twenty differs by chance (docs/compare.md).",
    ),
    pair(
        "compare.basis",
        "What the verdicts rest on",
        ViewKind::Table,
        comparison::basis,
        "How many independent stretches the runs are worth, and the smallest change that could be seen (docs/compare.md).",
    ),
    pair(
        "compare.iops",
        "Operations per second",
        ViewKind::TimeSeries,
        comparison::iops,
        "Completions by time since each began.",
    ),
    pair(
        "compare.throughput",
        "Throughput",
        ViewKind::TimeSeries,
        comparison::throughput,
        "Bytes moved per second, M = 1,000,000.",
    ),
    pair(
        "compare.response_p50",
        "Response time, p50",
        ViewKind::TimeSeries,
        comparison::response_p50,
        "Half of the operations of each step took this long or less. Logarithmic axis.",
    ),
    pair(
        "compare.response_p99",
        "Response time, p99",
        ViewKind::TimeSeries,
        comparison::response_p99,
        "99 % of the operations of each step took this long or less. Logarithmic axis.",
    ),
    pair(
        "compare.percentiles",
        "Percentile curve",
        ViewKind::PercentileCurve,
        comparison::percentiles,
        "So many per cent of the operations took this long or less; the horizontal axis gives each nine the same room.",
    ),
    pair(
        "compare.queue_depth",
        "Queue depth",
        ViewKind::TimeSeries,
        comparison::queue_depth,
        "Mean number of operations in flight.",
    ),
    side(
        "compare.heatmap",
        "Response times",
        ViewKind::HeatMap,
        comparison::heat_map,
        "Every operation: the darker (on dark pages, the brighter), the more operations took this long. Logarithmic colours.",
    ),
    pair(
        "compare.cpu",
        "CPU of the host",
        ViewKind::TimeSeries,
        comparison::cpu,
        "Per cent of all CPUs that were busy; tick-sampled by the kernel.",
    ),
    side(
        "compare.counters",
        "Counters that changed most",
        ViewKind::Table,
        comparison::most_changed,
        "Rates and values of the machine while the load ran that differ by a tenth or more and surely (with so many looked at, intervals are wider than 95 % ones); the greatest ratio first. A time per time is in per cent of one CPU or device.",
    ),
];
