//! Draws any view as an SVG picture; the same layout as the charts of `web/`.

mod bodies;
mod canvas;
mod grid;
mod panels;
mod scale;
mod text;
mod theme;

pub use canvas::PictureSize;
pub use theme::Theme;

use canvas::Canvas;
pub(crate) use canvas::escape;
use view::{Body, ViewData};

/// The view as an SVG document.
pub fn svg(view: &ViewData, theme: Theme, size: PictureSize) -> String {
    let mut canvas = Canvas::new(view, theme, grown(view, size));
    match &view.body {
        Body::Lines { x, lines, right } => bodies::lines(&mut canvas, view, x, (lines, right.as_ref())),
        Body::Heat { x_edges, y_edges, counts, .. } => grid::heat(&mut canvas, view, x_edges, y_edges, counts),
        Body::Histogram { edges, lines } => bodies::histogram(&mut canvas, view, edges, lines),
        Body::Points { lines, knee } => bodies::points(&mut canvas, view, lines, knee.as_ref()),
        Body::Panels { ticks, panels, omitted } => panels::panels(&mut canvas, view, ticks, panels, *omitted),
        Body::Matrix { columns, rows, cells, unit } => grid::matrix(&mut canvas, columns, rows, cells, *unit),
        Body::Table(table) => grid::table(&mut canvas, table),
    }
    canvas.finish(view)
}

/// Small charts, and tables whose cells are broken into lines, make the picture higher than was asked for where they would
/// have too little room.
fn grown(view: &ViewData, size: PictureSize) -> PictureSize {
    /// Heading and explanation.
    const ABOVE: f64 = 90.0;
    let (needed, most) = match &view.body {
        Body::Panels { panels, .. } if panels.len() > 1 => {
            (panels::needed(f64::from(size.width) - 72.0, panels.len()) + ABOVE, 16_000)
        }
        Body::Table(table) => (grid::table_needs(table, f64::from(size.width)) + ABOVE, 2_000),
        _ => return size,
    };
    let height = (size.height..most).find(|height| f64::from(*height) >= needed);
    PictureSize { height: height.unwrap_or(most).max(size.height), ..size }
}
