//! Where text and marks are put: a buffer of cells, with colour or without, with block elements or without.

use super::TopLook;
use quantity::visible::visible;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use top_page::{ResourceLevel, ResourceRow};

/// What a text means; colour, if there is any, follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Faint,
    Strong,
    Title,
    Level(ResourceLevel),
    Selected,
}

/// A part of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) x: u16,
    pub(crate) y: u16,
    pub(crate) width: u16,
    pub(crate) height: u16,
}

impl Area {
    /// Without its first rows.
    pub(crate) fn below(self, rows: u16) -> Self {
        let rows = rows.min(self.height);
        Self { y: self.y + rows, height: self.height - rows, ..self }
    }

    /// Only its first rows.
    pub(crate) fn top(self, rows: u16) -> Self {
        Self { height: rows.min(self.height), ..self }
    }

    /// Only its first columns.
    pub(crate) fn left(self, columns: u16) -> Self {
        Self { width: columns.min(self.width), ..self }
    }

    /// Without its first columns.
    pub(crate) fn right_of(self, columns: u16) -> Self {
        let columns = columns.min(self.width);
        Self { x: self.x + columns, width: self.width - columns, ..self }
    }
}

pub(crate) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    pub(crate) look: TopLook,
}

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const PLAIN_BARS: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];
/// Shades of counts, few to many.
pub(crate) const SHADES: [char; 5] = ['.', ':', '+', '#', '@'];

impl<'a> Canvas<'a> {
    pub(crate) fn new(buffer: &'a mut Buffer, look: TopLook) -> Self {
        Self { buffer, look }
    }

    pub(crate) fn area(&self) -> Area {
        let Rect { x, y, width, height } = self.buffer.area;
        Area { x, y, width, height }
    }

    /// Puts text at a place of an area; what does not fit ends in `…`. Gives the columns used.
    pub(crate) fn text(&mut self, area: Area, (x, y): (u16, u16), text: &str, ink: Ink) -> u16 {
        if y >= area.height || x >= area.width {
            return 0;
        }
        let room = usize::from(area.width - x);
        let (fitted, used) = fit(&clean(text, self.look.blocks), room, self.look.blocks);
        self.buffer.set_stringn(area.x + x, area.y + y, &fitted, room, self.style(ink));
        u16::try_from(used).unwrap_or(u16::MAX)
    }

    /// The same, flush right in so many columns that end before `x`.
    pub(crate) fn text_right(&mut self, area: Area, (x, y): (u16, u16), width: u16, text: &str, ink: Ink) {
        let (fitted, used) = fit(&clean(text, self.look.blocks), usize::from(width), self.look.blocks);
        let used = u16::try_from(used).unwrap_or(width);
        self.text(area, ((x + width).saturating_sub(used), y), &fitted, ink);
    }

    /// Gives a whole row of an area one look.
    pub(crate) fn paint(&mut self, area: Area, y: u16, ink: Ink) {
        if y < area.height {
            self.buffer.set_style(Rect::new(area.x, area.y + y, area.width, 1), self.style(ink));
        }
    }

    /// Empties an area.
    pub(crate) fn clear(&mut self, area: Area) {
        let blank = " ".repeat(usize::from(area.width));
        for y in 0..area.height {
            self.buffer.set_stringn(area.x, area.y + y, &blank, usize::from(area.width), Style::reset());
        }
    }

    /// A bar for a share between 0 and 1.
    pub(crate) fn bar(&self, share: Option<f64>) -> char {
        let bars = if self.look.blocks { BARS } else { PLAIN_BARS };
        let Some(share) = share else { return '?' };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 7")]
        let at = (share.clamp(0.0, 1.0) * 7.0).round() as usize;
        bars[at.min(7)]
    }

    /// A resource's curve in so many columns, newest at the right; where several values share a column, the greatest counts.
    pub(crate) fn curve(&mut self, area: Area, place: (u16, u16), width: u16, row: &ResourceRow) {
        let values = &row.curve;
        let width_cells = usize::from(width.max(1));
        let per_cell = values.len().div_ceil(width_cells).max(1);
        let cells: Vec<Option<f64>> =
            values.rchunks(per_cell).map(|part| part.iter().flatten().copied().reduce(f64::max)).collect();
        let blank = width_cells.saturating_sub(cells.len());
        for (at, value) in cells.iter().rev().enumerate() {
            let x = place.0 + u16::try_from(blank + at).unwrap_or(0);
            let bar = self.bar(*value).to_string();
            self.text(
                area,
                (x, place.1),
                &bar,
                Ink::Level(if row.is_relative { ResourceLevel::Fine } else { level_of(*value) }),
            );
        }
    }

    fn style(&self, ink: Ink) -> Style {
        let colour = |style: Style, colour: Color| if self.look.colour { style.fg(colour) } else { style };
        let plain = Style::default();
        match ink {
            Ink::Plain => plain,
            Ink::Faint if self.look.colour => plain.fg(Color::DarkGray),
            Ink::Faint => plain,
            Ink::Strong => plain.add_modifier(Modifier::BOLD),
            Ink::Title => colour(plain.add_modifier(Modifier::BOLD), Color::Cyan),
            Ink::Level(ResourceLevel::Fine) => colour(plain, Color::Green),
            Ink::Level(ResourceLevel::Busy) => colour(plain.add_modifier(Modifier::BOLD), Color::Yellow),
            Ink::Level(ResourceLevel::Full) => colour(plain.add_modifier(Modifier::BOLD), Color::Red),
            Ink::Selected => plain.add_modifier(Modifier::REVERSED),
        }
    }
}

fn level_of(share: Option<f64>) -> ResourceLevel {
    match share {
        Some(share) if share >= 0.95 => ResourceLevel::Full,
        Some(share) if share >= 0.7 => ResourceLevel::Busy,
        _ => ResourceLevel::Fine,
    }
}

/// Hidden characters never reach the terminal: names of files and processes are not trusted. Without block elements, what the
/// page itself writes beyond ASCII is put into ASCII.
fn clean(text: &str, blocks: bool) -> String {
    visible(text)
        .chars()
        .map(|c| match c {
            c if blocks || c.is_ascii() => c,
            '●' => '*',
            '○' => 'o',
            '·' => '-',
            'µ' => 'u',
            '×' => 'x',
            '−' | '–' | '—' => '-',
            '→' | '▶' => '>',
            '←' => '<',
            '…' => '~',
            '█' | '■' => '#',
            '░' => '/',
            '│' => '|',
            '≥' => '>',
            '≤' => '<',
            _ => '?',
        })
        .collect()
}

/// The text in at most so many columns, and how many it has.
fn fit(text: &str, room: usize, blocks: bool) -> (String, usize) {
    let width = |c: char| ratatui::text::Span::raw(c.to_string()).width();
    let whole: usize = text.chars().map(width).sum();
    if whole <= room {
        return (text.to_string(), whole);
    }
    let mut fitted = String::new();
    let mut used = 0;
    for c in text.chars() {
        if used + width(c) + 1 > room {
            break;
        }
        used += width(c);
        fitted.push(c);
    }
    fitted.push(if blocks { '…' } else { '~' });
    (fitted, used + 1)
}
