//! The progress of the whole set of runs: one line, repainted in place.

use quantity::figures::grouped;
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

/// What a format is to make, and how far it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeMaking {
    /// Names of the trees.
    pub trees: String,
    /// Directories to be made.
    pub directories: u64,
    /// Files to be made.
    pub files: u64,
}

/// What a format has made so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Made {
    pub(crate) deleted: u64,
    pub(crate) directories: u64,
    pub(crate) files: u64,
    /// Seconds since the first of what is being made now.
    pub(crate) seconds: f64,
}

/// `formatting fsd1: 1,234 of 5,000 files, 820 files/s, 4.6 s left`, in at most `width` columns.
pub(crate) fn making_line(making: &TreeMaking, made: Made, width: usize) -> String {
    let start = format!("formatting {}: ", making.trees.chars().take(40).collect::<String>());
    let whole = |count: u64| grouped(count as f64);
    let is_of_files = making.files > 0 && (made.files > 0 || made.directories >= making.directories);
    let (count, all, what) = match is_of_files {
        true => (made.files, making.files, "files"),
        false => (made.directories, making.directories, "directories"),
    };
    let text = if count == 0 && made.directories == 0 && made.deleted > 0 {
        format!("{start}{} deleted so far", whole(made.deleted))
    } else {
        let rate = if made.seconds > 0.0 { count as f64 / made.seconds } else { 0.0 };
        // Directories are few beside files, and say nothing of how long these will take.
        let left = all.saturating_sub(count) as f64 / rate;
        let end = match (rate > 0.0, is_of_files || making.files == 0) {
            (true, true) => format!(", {} {what}/s, {} left", grouped(rate.round()), short_seconds(left)),
            (true, false) => format!(", {} {what}/s", grouped(rate.round())),
            (false, _) => String::new(),
        };
        format!("{start}{} of {} {what}{end}", whole(count), whole(all))
    };
    text.chars().take(width).collect()
}

/// One decimal place below ten seconds.
fn short_seconds(value: f64) -> String {
    if value < 10.0 { format!("{value:.1} s") } else { seconds(value) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_says_what_it_makes_how_fast_and_how_long_it_will_take() {
        let making = TreeMaking { trees: "fsd1".to_string(), directories: 20, files: 5000 };
        let line = |deleted, directories, files, seconds| {
            making_line(&making, Made { deleted, directories, files, seconds }, 100)
        };
        assert_eq!(line(0, 0, 0, 0.0), "formatting fsd1: 0 of 20 directories");
        assert_eq!(line(3000, 0, 0, 0.0), "formatting fsd1: 3,000 deleted so far");
        assert_eq!(line(3000, 10, 0, 2.0), "formatting fsd1: 10 of 20 directories, 5 directories/s");
        assert_eq!(line(0, 20, 0, 0.0), "formatting fsd1: 0 of 5,000 files");
        assert_eq!(line(0, 20, 1234, 1.505), "formatting fsd1: 1,234 of 5,000 files, 820 files/s, 4.6 s left");
        assert_eq!(line(0, 20, 5000, 5.0), "formatting fsd1: 5,000 of 5,000 files, 1,000 files/s, 0.0 s left");
        let only = TreeMaking { files: 0, ..making.clone() };
        let made = Made { directories: 10, seconds: 2.0, ..Made::default() };
        assert_eq!(making_line(&only, made, 100), "formatting fsd1: 10 of 20 directories, 5 directories/s, 2.0 s left");
        assert_eq!(making_line(&making, made, 20), "formatting fsd1: 10 ");
    }
}
