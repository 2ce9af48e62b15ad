//! Draws any view as an SVG picture; the same layout as the charts of `web/`.

mod bodies;
mod canvas;
mod grid;
mod panels;
mod scale;
mod theme;

pub use canvas::Size;
pub use theme::Theme;

use analyze::{Body, ViewData};
use canvas::Canvas;
pub(crate) use canvas::escape;

/// The view as an SVG document.
pub fn svg(view: &ViewData, theme: Theme, size: Size) -> String {
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

/// Small charts that would be too small make the picture higher than was asked for.
fn grown(view: &ViewData, size: Size) -> Size {
    let Body::Panels { panels, .. } = &view.body else { return size };
    /// Heading and explanation.
    const ABOVE: f64 = 90.0;
    let needed = panels::needed(f64::from(size.width) - 72.0, panels.len()) + ABOVE;
    let height = (size.height..16_000).find(|height| f64::from(*height) >= needed).unwrap_or(16_000);
    Size { height: if panels.len() > 1 { height } else { size.height }, ..size }
}
