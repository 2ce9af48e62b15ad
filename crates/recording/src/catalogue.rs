//! The schema catalogue: every table of this version.

use crate::cell::suffixes;
use crate::rows;
use crate::schema::{RowOccurrence, TableSchema};
use std::fmt::Write as _;

/// All tables of this version.
#[must_use]
pub fn catalogue() -> &'static [&'static TableSchema] {
    &rows::ALL
}

/// The table with this name.
#[must_use]
pub fn table(name: &str) -> Option<&'static TableSchema> {
    catalogue().iter().copied().find(|table| table.name == name)
}

/// Columns of the prose of a page.
const PAGE_WIDTH: usize = 100;

/// A paragraph in lines of at most [`PAGE_WIDTH`] columns.
fn wrapped(paragraph: &str) -> String {
    let (mut lines, mut width) = (String::new(), 0);
    for word in paragraph.split_whitespace() {
        let more = word.chars().count();
        if width == 0 {
            width = more;
        } else if width + 1 + more > PAGE_WIDTH {
            lines.push('\n');
            width = more;
        } else {
            lines.push(' ');
            width += 1 + more;
        }
        lines.push_str(word);
    }
    lines.push('\n');
    lines
}

/// When a table has a row, with a space behind; empty of a table of things that happened.
fn when_rows(table: &TableSchema) -> String {
    let key: Vec<String> = table.key().map(|column| format!("`{}`", column.name)).collect();
    let of_each = if key.is_empty() { "one".to_string() } else { format!("of each {}", key.join(", ")) };
    let when = match table.occurrence {
        RowOccurrence::EverySample => "in every sample",
        RowOccurrence::OnChange => "when it changed",
        RowOccurrence::PerInterval => "for an interval",
        RowOccurrence::Once => return String::new(),
    };
    format!("Rows: {of_each} {when}. ")
}

/// The catalogue as a page of the documentation (docs/tables.md).
#[must_use]
pub fn catalogue_markdown() -> String {
    let mut page = String::from(
        "# Tables of a recording\n\nGenerated from the schema catalogue by `make docs`; do not edit.\n\n\
         `t_ns` is the host's `CLOCK_MONOTONIC`, `t_s` the seconds since the recording's start; sealed tables\n\
         also carry `time` (UTC).\n",
    );
    let names: Vec<String> = suffixes().map(|suffix| format!("`NAME_ns_{suffix}`")).collect();
    let histograms = format!(
        "A column of type *histogram* holds the bytes of [histogram-v1](histogram-v1.md); beside it are, as plain `int64` columns \
         in ns, {}; a histogram of sizes, in bytes or operations, has none. Missing values are null, never 0.",
        names.join(", ")
    );
    page.push_str(&wrapped(&histograms));
    for table in catalogue() {
        let rows = when_rows(table);
        let about = format!("{} {rows}Source: {}. Since format {}.", table.help.trim(), table.source, table.since);
        let _ = writeln!(
            page,
            "\n## {}\n\n{}\n| column | type | unit | kind | meaning |\n| --- | --- | --- | --- | --- |",
            table.name,
            wrapped(&about)
        );
        for column in table.columns {
            let optional = if column.nullable { ", may be null" } else { "" };
            let since = match column.since {
                later if later > table.since => format!(" (since format {later})"),
                _ => String::new(),
            };
            let _ = writeln!(
                page,
                "| `{}` | {}{optional} | {} | {} | {}{since} |",
                column.name,
                column.type_name,
                column.unit,
                column.kind.word(),
                column.help.trim()
            );
        }
    }
    page
}
