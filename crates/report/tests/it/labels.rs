//! Texts of pictures: none over another, no two of an axis or a legend alike.

use recording::Reader;
use report::{PictureSize, Theme};
use std::collections::BTreeSet;
use view::{Body, Selection, ViewData};

/// A text as it stands in a picture.
#[derive(Debug)]
struct Text {
    x: f64,
    y: f64,
    size: f64,
    anchor: String,
    text: String,
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    element.split(&format!(" {name}=\"")).nth(1)?.split('"').next()
}

fn texts(svg: &str) -> Vec<Text> {
    let of = |element: &str| {
        let number = |name: &str| attribute(element, name).and_then(|value| value.parse().ok());
        Some(Text {
            x: number("x")?,
            y: number("y")?,
            size: number("font-size")?,
            anchor: attribute(element, "text-anchor").unwrap_or("start").to_string(),
            text: element
                .split('>')
                .nth(1)?
                .split('<')
                .next()?
                .replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&amp;", "&"),
        })
    };
    svg.split("<text").skip(1).filter_map(of).collect()
}

impl Text {
    /// Left, right, top, bottom of its letters, rather too small than too large.
    fn place(&self) -> [f64; 4] {
        let letter = |letter: char| match letter {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' => 0.26,
            'f' | 'r' | 't' | '(' | ')' | '-' => 0.36,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.8,
            'A'..='Z' => 0.62,
            _ => 0.54,
        };
        let width = self.text.chars().map(letter).sum::<f64>() * self.size;
        let left = match self.anchor.as_str() {
            "end" => self.x - width,
            "middle" => self.x - width / 2.0,
            _ => self.x,
        };
        [left, left + width, self.y - self.size * 0.7, self.y]
    }

    fn is_over(&self, other: &Self) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.place(), other.place());
        a < f && e < b && c < h && g < d
    }
}

fn check(view: &ViewData, size: PictureSize) {
    let svg = report::svg(view, Theme::Light, size);
    let all = texts(&svg);
    assert!(all.len() > 1, "{}", view.id);
    for (at, text) in all.iter().enumerate() {
        for other in &all[..at] {
            assert!(!text.is_over(other), "{}: {text:?} over {other:?}", view.id);
        }
        let [left, right, ..] = text.place();
        assert!(left >= 0.0 && right <= f64::from(size.width), "{}: {text:?} is outside", view.id);
        assert!(text.size >= 8.0, "{}: {text:?} cannot be read", view.id);
    }
    if matches!(view.body, Body::Table(_) | Body::Matrix { .. } | Body::Panels { .. }) {
        return;
    }
    // Ticks of an axis (panels beside each other have the same), and names of lines, stand under each other or beside each other.
    let mut seen = BTreeSet::new();
    for text in all.iter().filter(|text| text.size == 11.0 && text.text.len() > 1) {
        let line = if text.anchor == "middle" { text.y } else { text.x };
        assert!(seen.insert((text.anchor.clone(), line.to_string(), &text.text)), "{}: two {text:?}", view.id);
    }
}

#[test]
fn no_text_is_over_another_and_no_two_labels_are_alike() {
    let samples = [
        crate::sample::single as fn(&std::path::Path),
        crate::sample::curve,
        crate::sample::sweep,
        crate::sample::repeated,
        crate::sample::machine,
        crate::sample::idle_machine,
    ];
    let mut drawn = BTreeSet::new();
    for make in samples {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.iodyno");
        make(&path);
        let reader = Reader::open(&path).unwrap();
        for view in views::views() {
            let Ok(data) = views::compute(&reader, view.id, &Selection::default()) else { continue };
            check(&data, PictureSize { width: 960, height: 400 });
            drawn.insert(view.id);
        }
    }
    assert!(drawn.len() > 35, "{drawn:?}");
    for view in
        ["run.cpu", "disk.response", "controller.activity", "net.throughput", "pool.throughput", "recording.events"]
    {
        assert!(drawn.contains(view), "{view} was not drawn: {drawn:?}");
    }
}
