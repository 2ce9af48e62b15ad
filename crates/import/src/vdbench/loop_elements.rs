//! The loop values of runs that have one name: Vdbench writes them into `summary.html` (and `logfile.html`), not into the
//! flatfile. Without those, what differs in the flatfile's columns; and what nothing tells apart gets a number, because
//! runs of one name and one set of values would be taken for repetitions.

use super::flat::Line;
use super::{FULL_SPEED, Run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Pages beside the flatfile on which runs begin with their values.
const PAGES: [&str; 2] = ["summary.html", "logfile.html"];

/// Columns of the flatfile that loops set, with the names of the loops.
const COLUMNS: [(&str, &str); 8] = [
    ("reqrate", "iorate"),
    ("xfersize", "xfersize"),
    ("threads", "threads"),
    ("rdpct", "rdpct"),
    ("rhpct", "rhpct"),
    ("whpct", "whpct"),
    ("seekpct", "seekpct"),
    ("lunsize", "lunsize"),
];

/// Loop values of each run, as Vdbench shows them (`threads=1 xfersize=4k`), empty for a run without loops.
pub(super) fn read(path: &Path, runs: &[Run<'_>], notes: &mut Vec<String>) -> Vec<String> {
    let pages = PAGES.iter().filter_map(|name| std::fs::read_to_string(path.with_file_name(name)).ok());
    let fitting = pages.map(|page| starts(&page)).find(|starts| fits(starts, runs));
    if let Some(starts) = fitting {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let values = runs.iter().map(|run| {
            let nth = seen.entry(&run.name).or_default();
            *nth += 1;
            starts.iter().filter(|(name, _)| *name == run.name).nth(*nth - 1)
        });
        return values.map(|start| start.map_or(String::new(), |(_, loops)| loops.clone())).collect();
    }
    let mut details: Vec<String> = runs.iter().map(|run| differing(run, runs)).collect();
    number_what_is_equal(runs, &mut details, notes);
    details
}

/// The runs of a page: name and loop values.
fn starts(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in page.lines() {
        let Some((_, rest)) = line.split_once("Starting RD=") else { continue };
        let end = rest.find('<').unwrap_or(rest.len());
        let rest = &rest[..end];
        let name: String = rest.chars().take_while(|c| !c.is_whitespace() && *c != ';').collect();
        let loops = rest.split_once("For loops:").map_or("", |(_, loops)| loops.trim());
        found.push((shown(&name), if loops == "None" { String::new() } else { shown(loops) }));
    }
    found
}

/// Text of a page as it is shown.
fn shown(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&amp;", "&")
}

/// Has the page each run of the flatfile as often as the flatfile has it? A run without an interval is in neither.
fn fits(starts: &[(String, String)], runs: &[Run<'_>]) -> bool {
    let count = |name: &str| {
        let mine = runs.iter().filter(|run| run.name == name).count();
        (mine, starts.iter().filter(|(other, _)| other == name).count())
    };
    !starts.is_empty() && runs.iter().all(|run| count(&run.name).0 == count(&run.name).1)
}

/// What the flatfile's columns say of a run, those of them that differ among the runs of its name.
fn differing(run: &Run<'_>, runs: &[Run<'_>]) -> String {
    let value = |run: &Run<'_>, column: &str| run.lines.first().and_then(|line: &&Line| line.get(column));
    let same: Vec<&Run<'_>> = runs.iter().filter(|other| other.name == run.name).collect();
    let values = COLUMNS.iter().filter_map(|(column, name)| {
        let mine = value(run, column)?;
        let differs =
            same.iter().any(|other| value(other, column).is_some_and(|theirs| theirs.to_bits() != mine.to_bits()));
        differs.then(|| format!("{name}={}", figure(column, mine)))
    });
    values.collect::<Vec<String>>().join(" ")
}

fn figure(column: &str, value: f64) -> String {
    match column {
        "reqrate" if value >= FULL_SPEED => "max".to_string(),
        "xfersize" | "lunsize" => sized(value),
        _ => format!("{value}"),
    }
}

/// `4k`, as Vdbench writes sizes.
fn sized(bytes: f64) -> String {
    let units = [(1_073_741_824.0, "g"), (1_048_576.0, "m"), (1024.0, "k")];
    let whole = units.iter().find(|(unit, _)| bytes >= *unit && bytes % unit == 0.0);
    whole.map_or_else(|| format!("{bytes}"), |(unit, letter)| format!("{}{letter}", bytes / unit))
}

/// Runs of one name that nothing tells apart are not each other's repetitions: Vdbench runs a definition once for each
/// combination of its loops.
fn number_what_is_equal(runs: &[Run<'_>], details: &mut [String], notes: &mut Vec<String>) {
    let mut numbered = BTreeSet::new();
    let keys: Vec<(String, String)> =
        runs.iter().zip(&*details).map(|(run, of)| (run.name.clone(), of.clone())).collect();
    for (at, key) in keys.iter().enumerate() {
        let count = keys.iter().filter(|other| *other == key).count();
        if count > 1 {
            let number = keys[..=at].iter().filter(|other| *other == key).count();
            details[at] = format!("{} run={number}", key.1).trim_start().to_string();
            numbered.insert(&key.0);
        }
    }
    for name in numbered {
        notes.push(format!(
            "{name} ran several times, and no summary.html beside the flatfile says what differed: its runs are numbered, and not taken for repetitions"
        ));
    }
}
