//! What was measured as lines for people and as JSON for programs.

use crate::lines::bytes_word;
use crate::{Distribution, Measured, ScanLines};
use plan::FilePlace;
use quantity::figures::grouped;
use quantity::text::format_bytes;
use quantity::visible::visible_bytes;
use serde_json::{Value, json};

/// Levels that are shown; the further ones are one row.
const LEVELS_SHOWN: usize = 8;
/// Where rows of the size table begin, as powers of two; the first has empty files.
const SIZE_ROWS: [u32; 8] = [0, 10, 12, 14, 16, 20, 24, 30];
/// Columns of a bar.
const BAR: f64 = 20.0;

fn count(value: u64) -> String {
    grouped(value as f64)
}

fn percent_of(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

/// A number for JSON: above 64 bits the greatest that there is.
fn number(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// A row of mean, percentiles and greatest.
fn figures(name: &str, of: &Distribution, word: fn(u64) -> String) -> String {
    let cell = |value: Option<u64>| value.map_or("?".to_string(), word);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of whole numbers")]
    let mean = of.mean().map(|mean| mean.round() as u64);
    let mean = match of.mean() {
        Some(mean) if mean < 100.0 => format!("{mean:.1}"),
        _ => cell(mean),
    };
    let percentiles = [0.5, 0.9, 0.99].map(|share| cell(of.percentile(share)));
    let [p50, p90, p99] = percentiles;
    format!("{name:<28}{mean:>12}{p50:>12}{p90:>12}{p99:>12}{:>14}", cell(of.max()))
}

impl Measured {
    /// All figures on one screen.
    #[must_use]
    pub fn table(&self) -> Vec<String> {
        let head = format!(
            "{} directories in {} levels, {} files, {} ({} allocated)",
            count(self.directories),
            self.depth(),
            count(self.files),
            bytes_word(self.sizes.sum()),
            bytes_word(self.allocated),
        );
        let mut lines = vec![head];
        lines.push(format!(
            "{} symbolic links, {} others; {} files with several names ({} further names); {} sparse files ({} of {} allocated)",
            count(self.symbolic_links),
            count(self.others),
            count(self.hard_linked),
            count(self.further_names),
            count(self.sparse),
            bytes_word(self.sparse_allocated),
            bytes_word(self.sparse_bytes),
        ));
        lines.push(String::new());
        lines.push(format!("{:<28}{:>12}{:>12}{:>12}{:>12}{:>14}", "", "mean", "p50", "p90", "p99", "greatest"));
        lines.push(figures("subdirectories / directory", &self.subdirectories, count));
        lines.push(figures("files / directory", &self.directory_files, count));
        lines.push(figures("size of a file", &self.sizes, format_bytes));
        lines.push(figures("length of a name, bytes", &self.name_lengths, count));
        lines.push(String::new());
        lines.extend(self.level_rows());
        lines.push(String::new());
        lines.extend(self.size_rows());
        lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
        lines
    }

    /// Directories and names of files by level.
    fn level_rows(&self) -> [String; 3] {
        let mut rows = [format!("{:<14}", "level"), format!("{:<14}", "directories"), format!("{:<14}", "files")];
        let last = self.levels.len().saturating_sub(1);
        for (at, level) in self.levels.iter().enumerate().skip(1).take(LEVELS_SHOWN) {
            let is_rest = at == LEVELS_SHOWN && last > LEVELS_SHOWN;
            let of = self.levels.get(at..).filter(|_| is_rest).unwrap_or(std::slice::from_ref(level));
            let name = if is_rest { format!("{at}–{last}") } else { at.to_string() };
            let directories = of.iter().map(|level| level.directories).sum();
            let files = of.iter().map(|level| level.files).sum();
            for (row, cell) in rows.iter_mut().zip([name, count(directories), count(files)]) {
                row.push_str(&format!("{cell:>10}"));
            }
        }
        rows
    }

    /// Files and bytes by size.
    fn size_rows(&self) -> Vec<String> {
        let powers = self.sizes.by_power();
        let mut lines = vec![format!("{:<20}{:>12}{:>8}{:>14}{:>8}", "size", "files", "", "bytes", "")];
        let begins = std::iter::once(0).chain(SIZE_ROWS.into_iter().map(|power| 1_u64 << power));
        let ends = SIZE_ROWS.into_iter().map(|power| Some(1_u64 << power)).chain([None]);
        for (from, to) in begins.zip(ends) {
            let of = powers.iter().filter(|(first, ..)| *first >= from && to.is_none_or(|to| *first < to));
            let (files, bytes) = of.fold((0, 0), |(files, bytes), row| (files + row.1, bytes + row.2));
            if files == 0 {
                continue;
            }
            let name = match (from, to) {
                (0, _) => "empty".to_string(),
                (1, Some(to)) => format!("below {}", format_bytes(to)),
                (from, Some(to)) => format!("{} – {}", format_bytes(from), format_bytes(to)),
                (from, None) => format!("{} and more", format_bytes(from)),
            };
            let of_files = percent_of(files as f64, self.sizes.count() as f64);
            let of_bytes = percent_of(bytes as f64, self.sizes.sum() as f64);
            let bar = |percent: f64| "#".repeat((1..=20).filter(|at| f64::from(*at) <= percent * BAR / 100.0).count());
            lines.push(format!(
                "{name:<20}{:>12}{of_files:>6.1} %{:>14}{of_bytes:>6.1} %  {:<20} {}",
                count(files),
                bytes_word(bytes),
                bar(of_files),
                bar(of_bytes)
            ));
        }
        lines
    }

    /// The largest file and the fullest directory, where names were kept.
    #[must_use]
    pub fn name_lines(&self) -> Vec<String> {
        let largest =
            self.largest.iter().map(|of| format!("largest file: {} {}", format_bytes(of.value), words(&of.name)));
        let fullest =
            self.fullest.iter().map(|of| format!("fullest directory: {} entries {}", count(of.value), words(&of.name)));
        largest.chain(fullest).collect()
    }

    /// What is not in the figures, and why: a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unread > 0 {
            let reasons: Vec<String> =
                self.unread_reasons.iter().map(|(reason, times)| format!("{} {reason}", count(*times))).collect();
            notes.push(format!("{} entries could not be read: {}", count(self.unread), reasons.join(", ")));
            for unread in &self.unread_first {
                let name = unread.name.as_ref().map_or("(--names shows the path)".to_string(), |name| words(name));
                notes.push(format!("  level {}: {}: {name}", unread.level, unread.reason));
            }
        }
        if self.changed > 0 {
            notes.push(format!("{} entries or directories changed or were gone during the scan", count(self.changed)));
        }
        if self.mounts > 0 {
            let count = count(self.mounts);
            notes.push(format!(
                "{count} directories have another file system on them, not entered (--cross-mounts does)"
            ));
        }
        if self.access_times > 0 {
            let count = count(self.access_times);
            notes.push(format!("{count} directories belong to others: reading them may have set their access time"));
        }
        notes
    }

    /// Everything for programs; `schema` is `iodyno.scan/1`.
    #[must_use]
    pub fn json(&self, lines: &ScanLines) -> Value {
        let levels = self.levels.iter().enumerate();
        let powers = self.sizes.by_power();
        let record =
            |of: &Option<crate::NamedRecord>| of.as_ref().map(|of| json!({"value": of.value, "name": words(&of.name)}));
        json!({
            "schema": "iodyno.scan/1",
            "directories": self.directories,
            "files": self.files,
            "symbolic_links": self.symbolic_links,
            "others": self.others,
            "hard_linked_files": self.hard_linked,
            "further_names": self.further_names,
            "depth": self.depth(),
            "mean_level": self.mean_level(),
            "levels": levels.map(|(level, of)| json!({"level": level, "directories": of.directories, "files": of.files}))
                .collect::<Vec<_>>(),
            "subdirectories_per_directory": distribution(&self.subdirectories),
            "files_per_directory": distribution(&self.directory_files),
            "name_bytes": distribution(&self.name_lengths),
            "size_bytes": distribution(&self.sizes),
            "sizes": powers.iter().map(|(first, files, bytes)| {
                json!({"from_bytes": first, "files": files, "bytes": number(*bytes)})
            }).collect::<Vec<_>>(),
            "allocated_bytes": number(self.allocated),
            "sparse": {
                "files": self.sparse,
                "bytes": number(self.sparse_bytes),
                "allocated_bytes": number(self.sparse_allocated),
            },
            "unread": {
                "entries": self.unread,
                "reasons": self.unread_reasons,
                "first": self.unread_first.iter().map(|unread| json!({
                    "level": unread.level,
                    "reason": unread.reason,
                    "name": unread.name.as_ref().map(|name| visible_bytes(name)),
                })).collect::<Vec<_>>(),
            },
            "changed": self.changed,
            "other_file_systems": self.mounts,
            "access_times": self.access_times,
            "largest_file": record(&self.largest),
            "fullest_directory": record(&self.fullest),
            "lines": lines.json(),
        })
    }
}

impl ScanLines {
    fn json(&self) -> Value {
        let of = &self.likeness;
        let place = if self.tree.place == FilePlace::All { "all" } else { "bottom" };
        json!({
            "fsd": self.fsd(),
            "depth": self.tree.depth,
            "width": self.tree.width,
            "files": self.tree.files,
            "distribution": place,
            "sizes": self.sizes.parts.iter().map(|(bytes, percent)| json!({"bytes": bytes, "percent": percent}))
                .collect::<Vec<_>>(),
            "made": {
                "directories": of.directories.1,
                "files": of.files.1,
                "bytes": number(of.bytes.1),
                "mean_level": of.level.1,
                "sizes_within_two_percent_of_files": of.within_two,
            },
        })
    }
}

fn words(name: &[u8]) -> String {
    if name.is_empty() { ".".to_string() } else { visible_bytes(name) }
}

fn distribution(of: &Distribution) -> Value {
    json!({
        "count": of.count(),
        "sum": number(of.sum()),
        "mean": of.mean(),
        "min": of.min(),
        "p50": of.percentile(0.5),
        "p90": of.percentile(0.9),
        "p99": of.percentile(0.99),
        "max": of.max(),
    })
}
