//! What the columns of a table mean.

use crate::source::catalogue_column;
use crate::table::RECORDING;
use crate::time_columns;

/// What a column means, in a sentence; `None` when the catalogue does not know it.
#[must_use]
pub fn column_help(table: &str, name: &str) -> Option<String> {
    let Some(column) = catalogue_column(table, name) else {
        let of_recording = (name == RECORDING).then_some("The recording that the row is of.");
        return time_columns::help(name).or(of_recording).map(ToString::to_string);
    };
    let help = column.help.trim();
    if column.name == name {
        Some(help.to_string())
    } else {
        Some(format!("{} of `{}`", &name[column.name.len() + 4..], column.name))
    }
}
