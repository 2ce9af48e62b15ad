//! What was proved of a load's data, and which blocks are damaged: tables, and the figure of a report.

use quantity::text::{format_bytes, format_ns, format_wall};
use rates::{DamageFound, DataFigures};
use recording::rows::{DataCheck, DataError, DataVerdict};
use recording::{Reader, RecordingError};
use std::collections::BTreeMap;
use view::{TableColumn, Tone, Unit, ViewTable};

/// What data validation has recorded.
#[derive(Clone, Debug, Default)]
pub struct ValidatedData {
    /// What was proved of each target, at the end of each run.
    pub checks: Vec<DataCheck>,
    /// Damaged blocks, in the order in which they were found, with the classes of the verdict where there is one.
    pub errors: Vec<DataError>,
}

impl ValidatedData {
    /// Of a recording.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn read(reader: &Reader) -> Result<Self, RecordingError> {
        let mut errors = reader.table::<DataError>()?;
        if !errors.is_empty() {
            judge(&mut errors, &reader.table::<DataVerdict>()?);
        }
        Ok(Self { checks: reader.table::<DataCheck>()?, errors })
    }

    /// What was proved of all targets; `None` of a recording without validation.
    #[must_use]
    pub fn figures(&self) -> Option<DataFigures> {
        DataFigures::of(&self.checks)
    }

    /// Damaged blocks that each run found, by its place; without those that compared nothing.
    #[must_use]
    pub fn damaged_by_run(&self) -> BTreeMap<i32, i64> {
        let (mut found, mut runs) = (DamageFound::default(), BTreeMap::new());
        for row in &self.checks {
            if let Some(damaged) = found.since(row) {
                *runs.entry(row.run_index).or_default() += damaged;
            }
        }
        runs
    }

    /// Damaged blocks and how much of what is known was read at the end, each as a cell of a table.
    #[must_use]
    pub fn proved_words(&self) -> [String; 2] {
        let Some(all) = self.figures() else { return ["not validated".to_string(), "–".to_string()] };
        let damaged =
            if all.is_unproved() { "nothing was compared".to_string() } else { all.damaged_blocks.to_string() };
        let covered = match (all.swept_blocks, all.coverage_percent()) {
            (None, _) => "no".to_string(),
            (Some(_), None) => "–".to_string(),
            (Some(_), Some(percent)) => covered(percent),
        };
        [damaged, covered]
    }

    /// How many blocks are damaged, by what happened to them, as far as that was recorded; `None`: no block is.
    #[must_use]
    pub fn damage_words(&self) -> Option<String> {
        let damaged = self.figures()?.damaged_blocks;
        if damaged == 0 {
            return None;
        }
        let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
        for row in &self.errors {
            *classes.entry(&row.class).or_default() += 1;
        }
        let classes: Vec<String> = classes.iter().map(|(class, count)| format!("{count} {class}")).collect();
        let are = if damaged == 1 { "1 block is damaged".to_string() } else { format!("{damaged} blocks are damaged") };
        Some(if classes.is_empty() { are } else { format!("{are}: {}", classes.join(", ")) })
    }
}

/// 100 only where nothing is missing.
fn covered(percent: f64) -> String {
    if percent >= 100.0 { "100 %".to_string() } else { format!("{percent:.2} %") }
}

/// Gives the blocks the classes that they have by all that was found.
fn judge(errors: &mut [DataError], verdicts: &[DataVerdict]) {
    let classes: BTreeMap<(i64, i64, &str), &DataVerdict> =
        verdicts.iter().map(|row| ((row.t_ns, row.address, &*row.target), row)).collect();
    for row in errors {
        if let Some(verdict) = classes.get(&(row.t_ns, row.address, &*row.target)) {
            row.class = verdict.class.clone();
        }
    }
}

/// Since when the block can be wrong, as far as it was recorded, in words.
fn since(row: &DataError) -> String {
    let before = |at: i64| format_ns(u64::try_from(row.t_ns.saturating_sub(at)).unwrap_or(0));
    let at = format!("found at {:.1} s", row.t_s);
    match (row.last_good_ns, row.last_write_ns) {
        (Some(good), written) if written.is_none_or(|written| good >= written) => {
            format!("{at}, read and right {} before", before(good))
        }
        (_, Some(written)) => format!("{at}, written {} before", before(written)),
        _ => match row.found_written_s {
            Some(seconds) => {
                format!("{at}; what is there was written {}", format_wall(seconds.saturating_mul(1_000_000_000)))
            }
            None => at,
        },
    }
}

fn size(bytes: i64) -> String {
    format_bytes(u64::try_from(bytes).unwrap_or(0))
}

/// The newest row of each target, in the order in which the targets came: all its figures count from the start.
fn newest(data: &ValidatedData) -> Vec<&DataCheck> {
    let mut found: Vec<&DataCheck> = Vec::new();
    for row in &data.checks {
        match found.iter_mut().find(|known| known.target == row.target) {
            Some(known) => *known = row,
            None => found.push(row),
        }
    }
    found
}

/// What was proved of each target.
#[must_use]
pub fn checks(data: &ValidatedData) -> ViewTable {
    let rows = newest(data);
    let counts = |name: &str, of: fn(&DataCheck) -> Option<i64>| {
        TableColumn::numbers(name, Unit::Count, rows.iter().map(|row| of(row).map(|value| value as f64)))
    };
    let bytes =
        |name: &str, of: fn(&DataCheck) -> i64| TableColumn::text(name, rows.iter().map(|row| size(of(row))).collect());
    ViewTable {
        columns: vec![
            TableColumn::text("target", rows.iter().map(|row| row.target.to_string()).collect()),
            bytes("block", |row| row.block_bytes),
            bytes("written", |row| row.stamped_bytes),
            bytes("checked", |row| row.checked_bytes),
            bytes("read, nothing known", |row| row.unknown_bytes),
            counts("known blocks", |row| Some(row.known_blocks)),
            counts("read at the end", |row| row.swept_blocks),
            TableColumn::numbers(
                "coverage",
                Unit::Percent,
                rows.iter().map(|row| DataFigures::of([*row])?.coverage_percent()),
            ),
            counts("nothing promised", |row| row.unpromised_blocks),
            counts("damaged blocks", |row| Some(row.damaged_blocks)),
            counts("extra reads", |row| Some(row.extra_reads)),
            counts("waited for a block", |row| Some(row.deferred)),
        ],
        omitted: 0,
    }
}

/// Damaged blocks of one class on one target.
#[derive(Default)]
struct Group<'a> {
    blocks: usize,
    transient: usize,
    found_by: Vec<&'a str>,
    addresses: Vec<i64>,
    first: Option<&'a DataError>,
}

/// Damaged blocks by target and class.
#[must_use]
pub fn damage(data: &ValidatedData) -> ViewTable {
    let mut groups: BTreeMap<(&str, &str), Group<'_>> = BTreeMap::new();
    for row in &data.errors {
        let group = groups.entry((&row.target, &row.class)).or_default();
        group.blocks += 1;
        group.transient += usize::from(row.transient);
        if !group.found_by.contains(&&*row.found_by) {
            group.found_by.push(&row.found_by);
        }
        group.addresses.push(row.address);
        group.first = group.first.or(Some(row));
    }
    let text = |of: &dyn Fn(&(&str, &str), &Group<'_>) -> String| {
        groups.iter().map(|(key, group)| of(key, group)).collect::<Vec<String>>()
    };
    let address = |of: fn(&Group<'_>) -> Option<i64>| {
        text(&|_, group| of(group).map_or(String::new(), |address| format!("{address:#x}")))
    };
    let mut table = ViewTable {
        columns: vec![
            TableColumn::text("target", text(&|key, _| key.0.to_string())),
            TableColumn::text("class", text(&|key, _| key.1.replace('_', " "))),
            TableColumn::numbers("blocks", Unit::Count, groups.values().map(|group| Some(group.blocks as f64))),
            TableColumn::numbers(
                "right when read again",
                Unit::Count,
                groups.values().map(|group| Some(group.transient as f64)),
            ),
            TableColumn::text("found by", text(&|_, group| group.found_by.join(", ").replace('_', " "))),
            TableColumn::text("lowest", address(|group| group.addresses.iter().min().copied())),
            TableColumn::text("highest", address(|group| group.addresses.iter().max().copied())),
            TableColumn::text(
                "the first: expected",
                text(&|_, group| group.first.map_or(String::new(), |row| row.expected.clone())),
            ),
            TableColumn::text("found", text(&|_, group| group.first.map_or(String::new(), |row| row.found.clone()))),
            TableColumn::text("since when", text(&|_, group| group.first.map_or(String::new(), since))),
        ],
        omitted: 0,
    };
    if data.errors.iter().any(|row| row.file.is_some()) {
        let file = |group: &Group<'_>| group.first.and_then(|row| row.file.clone()).unwrap_or_default();
        table.columns.insert(7, TableColumn::text("the first: file", text(&|_, group| file(group))));
    }
    table
}

/// Places of damaged blocks that are listed one by one.
const PLACES: usize = 20;

/// The first damaged blocks, in the order in which they were found; `None` where there are none.
#[must_use]
pub fn places(data: &ValidatedData) -> Option<ViewTable> {
    let rows = &data.errors[..data.errors.len().min(PLACES)];
    let damaged = data.figures().map_or(0, |all| usize::try_from(all.damaged_blocks).unwrap_or(0));
    let text = |name: &str, of: &dyn Fn(&DataError) -> String| {
        TableColumn::text(name, rows.iter().map(of).collect::<Vec<String>>())
    };
    let mut columns = vec![
        text("target", &|row| row.target.to_string()),
        text("address", &|row| format!("{:#x}", row.address)),
        text("length", &|row| size(row.bytes)),
        text("class", &|row| row.class.replace('_', " ")),
        text("found in", &|row| format!("{} ({})", row.run, row.found_by.replace('_', " "))),
        text("right when read again", &|row| if row.transient { "yes" } else { "no" }.to_string()),
        text("expected", &|row| row.expected.clone()),
        text("found", &|row| row.found.clone()),
        text("since when", &since),
    ];
    if rows.iter().any(|row| row.file.is_some()) {
        columns.insert(1, text("file", &|row| row.file.clone().unwrap_or_default()));
    }
    (!rows.is_empty()).then(|| ViewTable { columns, omitted: damaged.max(data.errors.len()) - rows.len() })
}

/// The figure of a report: value, detail, tone; `None` of a recording without validation.
#[must_use]
pub fn figure(data: &ValidatedData) -> Option<(String, String, Tone)> {
    let all = data.figures()?;
    let coverage = match (all.swept_blocks, all.coverage_percent()) {
        (None, _) => ", not read again at the end".to_string(),
        (Some(_), percent) => percent.map_or(String::new(), |percent| format!(", coverage {}", covered(percent))),
    };
    let detail = format!("{} written, {} checked{coverage}", size(all.stamped_bytes), size(all.checked_bytes));
    let (value, tone) = match all.damaged_blocks {
        0 if all.known_blocks == 0 || all.is_unproved() => ("unproved".to_string(), Tone::Warning),
        0 => ("right".to_string(), Tone::Plain),
        damaged => (format!("{damaged} wrong"), Tone::Error),
    };
    let counted = if all.damaged_blocks > 0 { "blocks; " } else { "" };
    Some((value, format!("{counted}{detail}"), tone))
}

/// What a sentence about the runs says of damaged blocks, behind a comma; nothing where there are none.
#[must_use]
pub fn words(data: &ValidatedData) -> String {
    match data.figures().map_or(0, |all| all.damaged_blocks) {
        0 => String::new(),
        1 => ", 1 damaged block".to_string(),
        damaged => format!(", {damaged} damaged blocks"),
    }
}
