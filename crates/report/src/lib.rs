//! Draws views: SVG, PNG, one-file HTML.
//!
//! [`html`] makes a page that opens from a file without a network; [`svg`] and [`png`] draw any view of the catalogue
//! without a browser; [`junit`] writes what came of objectives for CI. What is shown, and in which words, is decided in `analyze`; only the look is decided here and in `web/`.

mod html;
mod junit;
mod png;
mod svg;

pub use html::{GENERATOR, html};
pub use junit::{JUNIT_BEGINNING, JunitCase, JunitOutcome, JunitSuite, junit};
pub use png::png;
pub use svg::{PictureSize, Theme, svg};

use recording::Reader;

/// Why a report or a picture could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The recording could not be understood.
    #[error(transparent)]
    Analyze(#[from] view::TableReadError),
    /// The model could not be written as JSON.
    #[error("failed to write the report's model as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The picture could not be rasterised.
    #[error("failed to draw a picture of {width} × {height} pixels: {reason}")]
    Picture {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// Why.
        reason: String,
    },
}

/// The report of a recording as one HTML file.
///
/// # Errors
/// A recording that cannot be read.
pub fn report(reader: &Reader) -> Result<String, ReportError> {
    html(&views::report_model(reader)?)
}
