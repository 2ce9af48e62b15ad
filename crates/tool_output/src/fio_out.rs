//! fio's outputs out of a recording: `json`, `json+`, `terse` and `normal`, with fio 3.33's keys, units and layout, because
//! people's scripts parse them (docs/fio-output.md).
//!
//! They are a face: they read a recording and nothing else, so a run that has just ended and an old recording, of fio's
//! jobs or of Vdbench's, give the same text. What a recording does not hold is null in JSON and 0 in the other formats, which know no null.

mod figures;
mod json;
mod json_text;
mod logs;
mod model;
mod normal;
mod terse;

pub use logs::{LogsWritten, log_names, replaces_log, write_logs};
pub use model::{FIO_JOBS, JOB_ERRORS, JobErrors, STEADY_STATES, SteadyState, VALIDATION_TARGETS};

use crate::ToolOutputError;
use model::Document;
use recording::Reader;
use std::io::Write;

/// One of fio's forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FioFormat {
    /// `terse` (also called minimal and csv): one line of fields per job, in the version given.
    Terse(TerseVersion),
    /// `json`: one object.
    Json,
    /// `json+`: the same with all buckets of the histograms.
    JsonPlus,
    /// `normal`: text for people.
    Normal,
}

/// Version of the terse format, 2 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TerseVersion(u8);

impl TerseVersion {
    /// What fio prints without `--terse-version`.
    pub const DEFAULT: Self = Self(3);

    /// The version; `None` for one that fio 3.33 does not have.
    #[must_use]
    pub fn new(version: u8) -> Option<Self> {
        (2..=5).contains(&version).then_some(Self(version))
    }
}

/// fio's words for `--output-format`, a list with commas; `Err` has the word that is none.
///
/// # Errors
/// A word that fio does not know.
pub fn formats(words: &str, terse: TerseVersion) -> Result<Vec<FioFormat>, String> {
    words
        .split([',', ' '])
        .filter(|word| !word.is_empty())
        .map(|word| match word {
            "minimal" | "terse" | "csv" => Ok(FioFormat::Terse(terse)),
            "json" => Ok(FioFormat::Json),
            "json+" => Ok(FioFormat::JsonPlus),
            "normal" => Ok(FioFormat::Normal),
            other => Err(other.to_string()),
        })
        .collect()
}

/// Writes the recording in these formats, in fio's order (terse, json, normal) whatever theirs is; `json+` makes `json` one.
///
/// # Errors
/// A recording that cannot be read; a writer that fails.
pub fn write(reader: &Reader, formats: &[FioFormat], out: &mut dyn Write) -> Result<(), ToolOutputError> {
    let document = Document::read(reader)?;
    let text = text(&document, formats);
    out.write_all(text.as_bytes()).map_err(ToolOutputError::write(std::path::Path::new("the output")))
}

fn text(document: &Document, formats: &[FioFormat]) -> String {
    let mut text = String::new();
    let versions = formats.iter().rev().find_map(|format| match format {
        FioFormat::Terse(version) => Some(version.0),
        _ => None,
    });
    if let Some(version) = versions {
        text += &terse::lines(document, version);
    }
    let has_bins = formats.contains(&FioFormat::JsonPlus);
    if has_bins || formats.contains(&FioFormat::Json) {
        text += &json::object(document, has_bins).to_string();
        text.push('\n');
    }
    if formats.contains(&FioFormat::Normal) {
        text += &normal::page(document);
    }
    text
}
