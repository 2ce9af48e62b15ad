//! Rasterises the pictures of [`crate::svg`], with a font of our own: servers have none.

use crate::ReportError;
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// Pixels per unit of the SVG: sharp on today's screens.
const DENSITY: f32 = 2.0;

/// A PNG of an SVG that [`crate::svg`] has drawn, at two pixels per unit.
///
/// # Errors
/// A picture too large for memory.
pub fn png(svg: &str) -> Result<Vec<u8>, ReportError> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(include_bytes!("../assets/Inter-Regular.otf").to_vec());
    fonts.load_font_data(include_bytes!("../assets/Inter-SemiBold.otf").to_vec());
    fonts.set_sans_serif_family("Inter");
    let options =
        usvg::Options { font_family: "Inter".to_string(), fontdb: Arc::new(fonts), ..usvg::Options::default() };
    let failed = |width: u32, height: u32, reason: String| ReportError::Picture { width, height, reason };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| failed(0, 0, error.to_string()))?;
    let size = tree.size().to_int_size().scale_by(DENSITY).ok_or_else(|| failed(0, 0, "no size".to_string()))?;
    let (width, height) = (size.width(), size.height());
    let mut pixels =
        tiny_skia::Pixmap::new(width, height).ok_or_else(|| failed(width, height, "not enough memory".to_string()))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(DENSITY, DENSITY), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(width, height, error.to_string()))
}
