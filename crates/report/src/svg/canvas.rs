//! The frame that all charts share: heading, margins, axes, marks and labels at fixed places, so that charts under each
//! other line up.

use super::scale::Scale;
use super::text::{shortened, text_width, wrap};
use super::theme::Theme;
use quantity::visible::visible_lines;
use std::fmt::Write as _;
use view::{Body, LineStyle, MarkKind, TimeMark, ViewData};

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSize {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

/// Where values are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) w: f64,
    pub(crate) h: f64,
}

pub(crate) struct Canvas {
    pub(crate) theme: Theme,
    pub(crate) plot: Plot,
    /// Room at the right for the ticks of an axis there.
    pub(crate) beside: f64,
    size: PictureSize,
    out: String,
}

/// How text is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set<'a> {
    pub(crate) anchor: &'a str,
    pub(crate) size: f64,
    pub(crate) bold: bool,
    pub(crate) fill: &'a str,
}

const LEFT: f64 = 72.0;
const RIGHT: f64 = 96.0;
const BOTTOM: f64 = 36.0;

/// A number for SVG: one decimal, no trailing zero.
pub(crate) fn n(value: f64) -> String {
    let text = format!("{:.1}", value);
    text.strip_suffix(".0").map(String::from).unwrap_or(text)
}

/// Text of others between tags or in an attribute with double quotes: it ends neither, and nothing in it is hidden.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in visible_lines(text).chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter => safe.push(letter),
        }
    }
    safe
}

impl Canvas {
    pub(crate) fn new(view: &ViewData, theme: Theme, size: PictureSize) -> Self {
        let (width, height) = (f64::from(size.width), f64::from(size.height));
        let mut canvas = Self {
            theme,
            size,
            plot: Plot { x: LEFT, y: 0.0, w: (width - LEFT - RIGHT).max(40.0), h: 0.0 },
            beside: 0.0,
            out: String::new(),
        };
        let heading = Set { anchor: "start", size: 15.0, bold: true, fill: theme.ink() };
        canvas.text(20.0, 27.0, heading, &view.title);
        let beside = 20.0 + text_width(&view.title, 15.6) + 14.0;
        let label = Some(view.y.label.as_str()).filter(|label| !view.title.to_lowercase().contains(label));
        let right = match &view.body {
            Body::Lines { right: Some(right), .. } => format!("right, dotted: {}", right.y.label),
            _ => String::new(),
        };
        // Times of day do not tell the day.
        let begin = view.shown.map_or(0.0, |shown| shown.0);
        let day = view.clock.filter(|_| !view.subject.starts_with("from ")).map(|clock| clock.date(begin));
        let aside = [label.unwrap_or(""), right.as_str(), view.subject.as_str(), day.as_deref().unwrap_or("")]
            .iter()
            .filter(|part| !part.is_empty())
            .copied()
            .collect::<Vec<_>>();
        canvas.text(beside, 27.0, canvas.soft(12.0), &aside.join(" · "));
        let mut top = 27.0;
        for line in wrap(&view.explanation, 12.0, width - 40.0).into_iter().take(2) {
            top += 17.0;
            canvas.text(20.0, top, canvas.soft(12.0), &line);
        }
        top += if view.marks.is_empty() { 16.0 } else { 30.0 };
        canvas.plot.y = top;
        canvas.plot.h = (height - top - BOTTOM).max(30.0);
        canvas
    }

    /// Width of the picture.
    pub(crate) fn width(&self) -> f64 {
        f64::from(self.size.width)
    }

    pub(crate) fn soft(&self, size: f64) -> Set<'static> {
        Set { anchor: "start", size, bold: false, fill: self.theme.soft() }
    }

    pub(crate) fn push(&mut self, part: &str) {
        self.out.push_str(part);
        self.out.push('\n');
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, set: Set<'_>, text: &str) {
        self.put_text((x, y), set, "", text);
    }

    /// Text over lines, which do not strike it through.
    pub(crate) fn text_over(&mut self, x: f64, y: f64, set: Set<'_>, text: &str) {
        let card = self.theme.card();
        let more = format!(r#" stroke="{card}" stroke-width="5" stroke-linejoin="round" paint-order="stroke""#);
        self.put_text((x, y), set, &more, text);
    }

    fn put_text(&mut self, (x, y): (f64, f64), set: Set<'_>, more: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let weight = if set.bold { r#" font-weight="600""# } else { "" };
        let anchor = if set.anchor == "start" { String::new() } else { format!(r#" text-anchor="{}""#, set.anchor) };
        let _ = writeln!(
            self.out,
            r#"<text x="{}" y="{}" font-size="{}"{weight}{anchor}{more} fill="{}">{}</text>"#,
            n(x),
            n(y),
            n(set.size),
            set.fill,
            escape(text)
        );
    }

    pub(crate) fn rule(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, more: &str) {
        let _ = writeln!(
            self.out,
            r#"<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{stroke}"{more}/>"#,
            n(from.0),
            n(from.1),
            n(to.0),
            n(to.1)
        );
    }

    pub(crate) fn px(&self, scale: &Scale, value: f64) -> f64 {
        self.plot.x + scale.of(value) * self.plot.w
    }

    pub(crate) fn py(&self, scale: &Scale, value: f64) -> f64 {
        self.plot.y + self.plot.h - scale.of(value.clamp(scale.low, scale.high)) * self.plot.h
    }

    pub(crate) fn axes(&mut self, x: &Scale, y: &Scale, x_label: &str) {
        let Plot { x: left, y: top, w, h } = self.plot;
        let (grid, axis) = (self.theme.grid(), self.theme.axis());
        for at in &y.minor {
            let at = self.py(y, *at);
            self.rule((left, at), (left + w, at), grid, r#" opacity="0.55""#);
        }
        for tick in &y.ticks {
            let at = self.py(y, tick.at);
            self.rule((left, at), (left + w, at), grid, "");
            self.text(left - 9.0, at + 3.8, Set { anchor: "end", ..self.soft(11.0) }, &tick.label);
        }
        let mut free = f64::NEG_INFINITY;
        for tick in &x.ticks {
            let at = self.px(x, tick.at);
            let half = text_width(&tick.label, 11.0) / 2.0 + 3.0;
            if at < left - 0.5 || at > left + w + 0.5 {
                continue;
            }
            self.rule((at, top + h), (at, top + h + 4.0), axis, "");
            if at - half < free {
                continue;
            }
            free = at + half;
            self.text(at, top + h + 18.0, Set { anchor: "middle", ..self.soft(11.0) }, &tick.label);
        }
        self.rule((left, top + h), (left + w, top + h), axis, "");
        // Behind what the last tick needs.
        self.text((left + w + self.beside + 12.0).max(free + 5.0), top + h + 18.0, self.soft(11.0), x_label);
    }

    /// Makes the plot narrower by what the ticks of a right axis need.
    pub(crate) fn make_room(&mut self, y: &Scale) {
        let widest = y.ticks.iter().map(|tick| text_width(&tick.label, 11.0)).fold(0.0, f64::max);
        self.beside = widest + 10.0;
        self.plot.w = (self.plot.w - self.beside).max(40.0);
    }

    /// Ticks at the right, without lines across the plot: those are the left axis's.
    pub(crate) fn right_axis(&mut self, y: &Scale) {
        let (right, axis) = (self.plot.x + self.plot.w, self.theme.axis());
        for tick in &y.ticks {
            let at = self.py(y, tick.at);
            self.rule((right, at), (right + 4.0, at), axis, "");
            self.text(right + 7.0, at + 3.8, self.soft(11.0), &tick.label);
        }
        self.rule((right, self.plot.y), (right, self.plot.y + self.plot.h), axis, "");
    }

    /// Shades stretches of the horizontal axis and names them above the plot.
    pub(crate) fn marks(&mut self, marks: &[TimeMark], x: &Scale) {
        let plot = self.plot;
        let mut free = f64::NEG_INFINITY;
        for mark in marks {
            let (from, to) = (self.px(x, mark.from.max(x.low)), self.px(x, mark.to.min(x.high)));
            let (fill, opacity) = match mark.kind {
                MarkKind::Stall => self.theme.stall(),
                MarkKind::Command => self.theme.command(),
                MarkKind::Phase => self.theme.phase(),
            };
            let _ = writeln!(
                self.out,
                r#"<rect x="{}" y="{}" width="{}" height="{}" fill="{fill}" opacity="{opacity}"/>"#,
                n(from),
                n(plot.y),
                n((to - from).max(1.5)),
                n(plot.h)
            );
            let width = text_width(&mark.label, 10.5);
            let at = from.max(plot.x).min(plot.x + plot.w + RIGHT - width - 6.0);
            if at > free {
                let stall = mark.kind == MarkKind::Stall;
                let fill = if stall { self.theme.stall_ink() } else { self.theme.soft() };
                self.text(at, plot.y - 5.0, Set { anchor: "start", size: 10.5, bold: stall, fill }, &mark.label);
                free = at + width + 8.0;
            }
        }
    }

    /// Names at the right end of lines, pushed apart.
    pub(crate) fn labels(&mut self, mut items: Vec<(f64, String, LineStyle)>) {
        const GAP: f64 = 13.5;
        items.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (low, high) = (self.plot.y + 4.0, self.plot.y + self.plot.h);
        let mut places: Vec<f64> = items.iter().map(|item| item.0.clamp(low, high)).collect();
        for index in 1..places.len() {
            places[index] = places[index].max(places[index - 1] + GAP);
        }
        let mut limit = high;
        for place in places.iter_mut().rev() {
            *place = place.min(limit);
            limit = *place - GAP;
        }
        let names: Vec<String> = items.iter().map(|item| item.1.clone()).collect();
        let names = shortened(&names, 11.0, RIGHT - 10.0);
        for (((_, _, style), name), at) in items.into_iter().zip(names).zip(places) {
            let set = Set { anchor: "start", size: 11.0, bold: true, fill: self.theme.line(style) };
            self.text(self.plot.x + self.plot.w + self.beside + 10.0, at + 3.8, set, &name);
        }
    }

    pub(crate) fn finish(self, view: &ViewData) -> String {
        let PictureSize { width, height } = self.size;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"Inter, system-ui, 'DejaVu Sans', sans-serif\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{}</svg>\n",
            escape(&view.title),
            escape(&view.explanation),
            self.theme.card(),
            self.out
        )
    }
}
