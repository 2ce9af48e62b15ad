//! `histogram.html`: response times of a run in Vdbench's buckets.

use super::facts::Facts;
use super::tables::{heading, run_links};
use quantity::histogram::Histogram;
use std::fmt::Write as _;

/// Upper edges of Vdbench's buckets, µs; the last bucket has none.
const EDGES_US: [u64; 26] = [
    20, 40, 60, 80, 100, 200, 400, 600, 800, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 20_000, 40_000, 60_000, 80_000,
    100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000, 2_000_000,
];

/// The file.
pub(super) fn page(facts: &Facts) -> String {
    let mut page = String::from("Total response time histogram.\n\n\n");
    page.push_str(&run_links(facts));
    for run in &facts.runs {
        page.push_str(&heading(facts, run));
        if let Some(files) = facts.files_of(run).filter(|files| files.responses.count() > 0) {
            page.push_str(&table("Total of all requested operations", &files.responses));
            continue;
        }
        let mut all = run.totals[0].clone();
        all.merge(&run.totals[1]);
        if all.buckets().next().is_none() {
            page.push_str("\nNo statistics generated for this run.\n");
            continue;
        }
        for (title, histogram) in [("Reads and writes", &all), ("Reads", &run.totals[0]), ("Writes", &run.totals[1])] {
            if histogram.count() > 0 {
                page.push_str(&table(title, histogram));
            }
        }
    }
    page
}

fn table(title: &str, histogram: &Histogram) -> String {
    let mut text = format!(
        "\n{title}:\n  min(ms) <     max(ms)         count       %%    cum%%  '+': Individual%; '+-': Cumulative%\n\n"
    );
    let mut counts = [0_u64; EDGES_US.len() + 1];
    for (low, high, count) in histogram.buckets() {
        // A bucket of ours that lies across an edge of Vdbench's goes where its middle is.
        let middle = low + (high - low) / 2;
        counts[EDGES_US.partition_point(|edge| edge * 1000 <= middle)] += count;
    }
    let (mut cumulated, mut low) = (0, 0.0);
    for (at, count) in counts.iter().enumerate() {
        cumulated += count;
        let percent = |count: u64| 100.0 * count as f64 / histogram.count() as f64;
        let (own, all) = (percent(*count), percent(cumulated));
        let high = EDGES_US.get(at).map(|edge| *edge as f64 / 1000.0);
        let edge = high.map_or("max".to_string(), |high| format!("{high:.3}"));
        let _ = writeln!(text, "{low:>9.3} < {edge:>11} {count:>13} {own:>8.4} {all:>8.4}  {}", bar(own, all));
        low = high.unwrap_or(low);
    }
    text
}

/// A character for two per cent: `+` of this bucket, `-` up to the cumulated share.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "per cent")]
fn bar(own: f64, all: f64) -> String {
    let length = |percent: f64| (percent / 2.0 + 1e-9).floor() as usize;
    format!("{}{}", "+".repeat(length(own)), "-".repeat(length(all).saturating_sub(length(own))))
}
