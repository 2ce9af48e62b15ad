//! The page of `iodyno top`: what it shows is made by `top_page`; here it is laid out and drawn, and keys are understood.

mod canvas;
mod keys;
mod layout;
mod overlay;
mod parts;
mod screen;
mod sheets;
mod state;
mod strip;
#[cfg(test)]
mod tests;

pub use keys::PageCommand;
pub use screen::{Screen, give_back, has_terminal};
pub use state::{PageMode, ProfiledCpus, TopPage, TopState};

use canvas::Canvas;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopLook {
    /// May it be coloured? Without colour, marks and bold letters say the same.
    pub colour: bool,
    /// Does it know block elements? Without them the page is plain ASCII.
    pub blocks: bool,
}

impl TopLook {
    /// From `NO_COLOR`, `TERM` and the locale.
    #[must_use]
    pub fn of_environment() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(|name| is_set(name));
        // Without any locale (a bare ssh command), terminals of this century are UTF-8 all the same.
        let is_utf8 = locale.and_then(std::env::var_os).is_none_or(|value| {
            let value = value.to_string_lossy().to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8") || value == "c" || value == "posix"
        });
        Self { colour: !is_set("NO_COLOR") && !dumb, blocks: is_utf8 && !dumb }
    }
}

/// The page as plain text, so many columns and rows; blanks at the ends of lines are left out.
#[must_use]
pub fn plain_text(state: &mut TopState, page: &TopPage<'_>, columns: u16, rows: u16) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
    draw(state, page, &mut buffer);
    let mut text = String::new();
    for y in 0..rows {
        let line: String = (0..columns).filter_map(|x| buffer.cell((x, y)).map(|cell| cell.symbol())).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Draws the page over the whole buffer.
pub(crate) fn draw(state: &mut TopState, page: &TopPage<'_>, buffer: &mut Buffer) {
    let mut canvas = Canvas::new(buffer, state.look);
    layout::draw(state, page, &mut canvas);
}
