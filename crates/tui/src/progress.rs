//! The progress of the whole set of runs: one line, repainted in place.

use view::Unit;

/// How far the whole set of runs is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunProgress {
    /// Title of the run under way.
    pub run: String,
    /// Position of the run, from 0.
    pub index: usize,
    /// Number of runs.
    pub count: usize,
    /// Seconds since the first run began.
    pub elapsed_s: f64,
    /// Seconds left for all runs; `None` when a run ends by itself.
    pub left_s: Option<f64>,
}

/// One line of exactly `width` columns or fewer: run, bar, per cent, time left.
pub fn progress_line(progress: &RunProgress, width: usize) -> String {
    let run: String = progress.run.chars().take(24).collect();
    let start = format!("run {} of {}  {run}", progress.index + 1, progress.count.max(progress.index + 1));
    let Some(left) = progress.left_s else {
        let text = format!("{start}  {} so far, ends by itself", seconds(progress.elapsed_s));
        return text.chars().take(width).collect();
    };
    let whole = progress.elapsed_s + left.max(0.0);
    let part = if whole > 0.0 { (progress.elapsed_s / whole).clamp(0.0, 1.0) } else { 0.0 };
    let end = format!("{:3.0} %  {} left", part * 100.0, seconds(left));
    let room = width.saturating_sub(start.chars().count() + end.chars().count() + 6).min(40);
    if room < 6 {
        let start = format!("run {} of {}", progress.index + 1, progress.count.max(progress.index + 1));
        return format!("{start}  {}", end.trim_start()).chars().take(width).collect();
    }
    let eighths = filled(part, room);
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
    }
    let gap = " ".repeat(room - bar.chars().count());
    format!("{start}  │{bar}{gap}│ {end}")
}

/// Whole seconds, or minutes and hours.
fn seconds(value: f64) -> String {
    let value = value.max(0.0).round();
    if value < 60.0 { format!("{value:.0} s") } else { Unit::Seconds.format(Some(value)) }
}

/// Eighths of a letter that are filled.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 8 × 40")]
fn filled(part: f64, room: usize) -> usize {
    ((part * room as f64 * 8.0).floor() as usize).min(room * 8)
}
