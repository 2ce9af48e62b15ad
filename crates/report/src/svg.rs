//! Draws any view as an SVG picture; the same layout as the charts of `web/`.

mod bodies;
mod canvas;
mod grid;
mod scale;
mod theme;

pub use canvas::Size;
pub use theme::Theme;

use analyze::{Body, ViewData};
use canvas::Canvas;
pub(crate) use canvas::escape;

/// The view as an SVG document.
pub fn svg(view: &ViewData, theme: Theme, size: Size) -> String {
    let mut canvas = Canvas::new(view, theme, size);
    match &view.body {
        Body::Lines { x, lines } => bodies::lines(&mut canvas, view, x, lines),
        Body::Heat { x_edges, y_edges, counts, .. } => grid::heat(&mut canvas, view, x_edges, y_edges, counts),
        Body::Histogram { edges, lines } => bodies::histogram(&mut canvas, view, edges, lines),
        Body::Points { lines, knee } => bodies::points(&mut canvas, view, lines, knee.as_ref()),
        Body::Matrix { columns, rows, cells, unit } => grid::matrix(&mut canvas, columns, rows, cells, *unit),
        Body::Table(table) => grid::table(&mut canvas, table),
    }
    canvas.finish(view)
}
