//! The schema catalogue: every table of this version.

use crate::cell::suffixes;
use crate::rows;
use crate::schema::Table;
use std::fmt::Write as _;

/// All tables of this version.
#[must_use]
pub fn catalogue() -> &'static [&'static Table] {
    &rows::ALL
}

/// The table with this name.
#[must_use]
pub fn table(name: &str) -> Option<&'static Table> {
    catalogue().iter().copied().find(|table| table.name == name)
}

/// The catalogue as a page of the documentation (docs/tables.md).
#[must_use]
pub fn catalogue_markdown() -> String {
    let mut page = String::from(
        "# Tables of a recording\n\nGenerated from the schema catalogue by `make docs`; do not edit.\n\n\
         `t_ns` is the host's `CLOCK_MONOTONIC`, `t_s` the seconds since the recording's start; sealed tables also carry `time` (UTC).\n\
         A column of type *histogram* holds the bytes of [histogram-v1](histogram-v1.md); beside it stand, as plain `int64` columns in ns, ",
    );
    let names: Vec<String> = suffixes().map(|suffix| format!("`NAME_ns_{suffix}`")).collect();
    let _ = writeln!(
        page,
        "{}; a histogram of sizes, in bytes or operations, stands alone.\nMissing values are null, never 0.",
        names.join(", ")
    );
    for table in catalogue() {
        let _ = writeln!(
            page,
            "\n## {}\n\n{} Source: {}. Since format {}.\n\n| column | type | unit | kind | meaning |\n| --- | --- | --- | --- | --- |",
            table.name,
            table.help.trim(),
            table.source,
            table.since
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
