//! Vdbench's result files out of a recording: `flatfile.html`, `totals.html`, `summary.html`, `histogram.html`,
//! `status.html`, in the layout of Vdbench 5.04.06, because people's scripts parse them (docs/flatfile.md).

mod buckets;
mod columns;
mod facts;
mod figures;
mod file_figures;
mod file_lines;
mod requested;
mod status;
mod tables;

pub use requested::RequestedLoad;

use crate::ToolOutputError;
use facts::Facts;
use output::{EntryKind, Folder, OutputError, OverwritePolicy, ReplacePolicy};
use quantity::visible::visible;
use recording::Reader;
use std::io::Write as _;
use std::path::PathBuf;

/// Where in the manifest's `extra` the runs' [`RequestedLoad`] stand.
pub use recording::REQUESTED;

/// Writes the five files of the recording into `folder`; returns their paths. Files of these names are replaced only with
/// [`OverwritePolicy::Yes`], and none is written when one of them may not be.
///
/// # Errors
/// A recording that cannot be read, a name that is taken, a file that cannot be written.
pub fn write(reader: &Reader, folder: &Folder, force: OverwritePolicy) -> Result<Vec<PathBuf>, ToolOutputError> {
    let facts = Facts::read(reader)?;
    let files = [
        ("flatfile.html", columns::page(&facts)),
        ("totals.html", tables::totals(&facts)),
        ("summary.html", tables::summary(&facts)),
        ("histogram.html", buckets::page(&facts)),
        ("status.html", status::page(&facts)),
    ];
    for (name, _) in &files {
        if force == OverwritePolicy::No && folder.kind(name)? == Some(EntryKind::File) {
            return Err(OutputError::Exists(folder.path().join(name)).into());
        }
    }
    let over = if force == OverwritePolicy::Yes { ReplacePolicy::File } else { ReplacePolicy::Nothing };
    let mut written = Vec::new();
    for (name, body) in files {
        let text = format!("<title>Vdbench output/{name}</title><pre>\n{body}");
        folder.replace(name, over, |file| file.write_all(text.as_bytes()))?;
        written.push(folder.path().join(name));
    }
    Ok(written)
}

/// Names come from a parameter file or from another's recording; the pages are HTML.
fn escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `21:16:15.029`, UTC.
fn time_of_day(wall_ns: i64) -> String {
    let (_, (hour, minute, second)) = quantity::text::civil(wall_ns);
    format!("{hour:02}:{minute:02}:{second:02}.{:03}", wall_ns.rem_euclid(1_000_000_000) / 1_000_000)
}

/// `05/10/2023-21:16:15-UTC`.
fn timestamp(wall_ns: i64) -> String {
    let ((year, month, day), (hour, minute, second)) = quantity::text::civil(wall_ns);
    format!("{month:02}/{day:02}/{year:04}-{hour:02}:{minute:02}:{second:02}-UTC")
}

/// `Dec 02, 2020`.
fn date(wall_ns: i64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let ((year, month, day), _) = quantity::text::civil(wall_ns);
    let name = usize::try_from(month - 1).ok().and_then(|month| MONTHS.get(month)).unwrap_or(&"???");
    format!("{name} {day:02}, {year:04}")
}
