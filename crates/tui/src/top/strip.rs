//! All of a recording's time in a few rows: hours, figures, findings, gaps, and where the cursor stands.

use super::canvas::{Area, Canvas, Ink};
use super::parts;
use super::state::TopPage;
use quantity::figures::short;
use quantity::text::format_wall;
use top_page::{ResourceLevel, StripMap, TimeStrip};

/// Columns of the names and of the greatest values.
const NAMES: u16 = 8;
const GREATEST: u16 = 8;

/// Gives the rows used.
pub(super) fn draw(page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area) -> u16 {
    let Some(strip) = page.strip else {
        canvas.text(area, (0, 0), "reading the whole time of the recording …", Ink::Faint);
        return 1;
    };
    let width = area.width.saturating_sub(NAMES + GREATEST + 1).max(1);
    let bed = Area { x: area.x + NAMES, width, ..area };
    canvas.text(area.left(NAMES), (0, 0), &strip.resolution, Ink::Faint);
    axis(page, strip, canvas, area, bed);
    let mut y = 1;
    for line in &strip.lines {
        canvas.text(area.left(NAMES), (0, y), line.name, Ink::Title);
        let is_recorded = line.cells.iter().any(Option::is_some);
        if !is_recorded {
            canvas.text(bed, (0, y), "not recorded", Ink::Faint);
            y += 1;
            continue;
        }
        for (x, cell) in cells(&line.cells, width).into_iter().enumerate() {
            let (mark, ink) = match cell {
                Some(share) => (
                    canvas.bar(Some(share)),
                    Ink::Level(if share >= 0.95 { ResourceLevel::Busy } else { ResourceLevel::Fine }),
                ),
                None => ('░', Ink::Faint),
            };
            canvas.text(bed, (u16::try_from(x).unwrap_or(0), y), &mark.to_string(), ink);
        }
        canvas.text_right(area, (NAMES + width, y), GREATEST, &line.greatest, Ink::Plain);
        y += 1;
    }
    if let Some(map) = strip.heat.as_ref().map(|heat| heat.map(heat_rows(area), usize::from(width))) {
        y += heat(&map, canvas, (area, bed), y);
    }
    findings(page, strip, canvas, bed, y);
    canvas.text(area.left(NAMES), (0, y), "found", Ink::Title);
    y += 1;
    if !page.bookmarks.is_empty() {
        bookmarks(page, strip, canvas, bed, y);
        canvas.text(area.left(NAMES), (0, y), "marks", Ink::Title);
        y += 1;
    }
    y
}

/// Rows of response times: few where little room is left for the page below.
fn heat_rows(area: Area) -> usize {
    if area.height < 34 { 3 } else { 6 }
}

/// Response times of single operations, the longest at the top; gives the rows used.
fn heat(map: &StripMap, canvas: &mut Canvas<'_>, (area, bed): (Area, Area), y: u16) -> u16 {
    let mut used = 0;
    for (row, label) in map.labels.iter().enumerate().rev() {
        canvas.text_right(area, (0, y + used), NAMES - 1, label, Ink::Faint);
        for (x, counts) in map.columns.iter().enumerate() {
            if let Some(count) = counts.get(row).copied().filter(|count| *count > 0) {
                let (mark, ink) = parts::shade(count, map.most);
                canvas.text(bed, (u16::try_from(x).unwrap_or(u16::MAX), y + used), &mark.to_string(), ink);
            }
        }
        used += 1;
    }
    let words = [format!("@ {}", short(map.most as f64)), "resp".to_string()];
    for (row, words) in words.iter().rev().enumerate().take(usize::from(used)) {
        let row = u16::try_from(row).unwrap_or(0);
        let ink = if row == 0 { Ink::Title } else { Ink::Faint };
        canvas.text_right(area, (NAMES + bed.width, y + row), GREATEST, words, ink);
    }
    used
}

/// The most of each cell's part; `None` where nothing was measured.
fn cells(values: &[Option<f64>], width: u16) -> Vec<Option<f64>> {
    let width = usize::from(width);
    (0..width)
        .map(|x| {
            let (from, to) = (x * values.len() / width, ((x + 1) * values.len()).div_ceil(width));
            values.get(from..to.min(values.len())).unwrap_or_default().iter().flatten().copied().reduce(f64::max)
        })
        .collect()
}

/// The column of a time.
fn place(strip: &TimeStrip, t_ns: i64, width: u16) -> u16 {
    let share = (t_ns - strip.from_ns) as f64 / (strip.to_ns - strip.from_ns).max(1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the columns")]
    let at = (share * f64::from(width)).clamp(0.0, f64::from(width.saturating_sub(1))) as u16;
    at
}

/// Times below which the columns stand, and the cursor.
fn axis(page: &TopPage<'_>, strip: &TimeStrip, canvas: &mut Canvas<'_>, area: Area, bed: Area) {
    let length_s = (strip.to_ns - strip.from_ns) as f64 / 1e9;
    let every = [1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 7200.0, 14_400.0, 21_600.0, 86_400.0]
        .into_iter()
        .find(|step| length_s / step * 7.0 <= f64::from(bed.width))
        .unwrap_or(604_800.0);
    let first_wall_s = (page.wall)(strip.from_ns).div_euclid(1_000_000_000);
    #[expect(clippy::cast_possible_truncation, reason = "a step of the axis")]
    let step = every as i64;
    let mut at_s = (first_wall_s.div_euclid(step) + 1) * step;
    let mut last_end = 0;
    while ((at_s - first_wall_s) as f64) < length_s {
        let t_ns = strip.from_ns + (at_s - first_wall_s) * 1_000_000_000;
        let text = format_wall(at_s * 1_000_000_000);
        let label = match step {
            86_400.. => text.get(5..10),
            60.. => text.get(11..16),
            _ => text.get(11..19),
        };
        let x = place(strip, t_ns, bed.width);
        let label = label.unwrap_or("?");
        if x >= last_end {
            last_end = x + canvas.text(bed, (x, 0), label, Ink::Faint) + 1;
        }
        at_s += step;
    }
    if let Some(now) = page.scene.now() {
        let x = place(strip, now.t_ns, bed.width);
        canvas.text(bed, (x, 0), if canvas.look.blocks { "▼" } else { "V" }, Ink::Level(ResourceLevel::Full));
    }
    canvas.text_right(area, (bed.width + NAMES, 0), GREATEST, "most", Ink::Faint);
}

/// A mark at each bookmark.
fn bookmarks(page: &TopPage<'_>, strip: &TimeStrip, canvas: &mut Canvas<'_>, bed: Area, y: u16) {
    let mark = if canvas.look.blocks { "◆" } else { "b" };
    for t_ns in page.bookmarks {
        canvas.text(bed, (place(strip, *t_ns, bed.width), y), mark, Ink::Strong);
    }
}

/// A mark where a finding begins: the rule's number, `+` where there are several.
fn findings(page: &TopPage<'_>, strip: &TimeStrip, canvas: &mut Canvas<'_>, bed: Area, y: u16) {
    let mut marks: std::collections::BTreeMap<u16, Vec<&str>> = std::collections::BTreeMap::new();
    for finding in page.scene.findings.iter().filter(|finding| finding.counts()) {
        marks.entry(place(strip, finding.start_ns, bed.width)).or_default().push(finding.rule.name());
    }
    let mut last_end = 0;
    for (x, rules) in marks {
        if x < last_end {
            continue;
        }
        let blocks = canvas.look.blocks;
        let text = match rules.as_slice() {
            [rule] => format!("{}{rule}", if blocks { "▲" } else { "^" }),
            [rule, rest @ ..] => format!("{}{rule}+{}", if blocks { "▲" } else { "^" }, rest.len()),
            [] => continue,
        };
        last_end = x + canvas.text(bed, (x, y), &text, Ink::Level(ResourceLevel::Full));
    }
    if page.scene.findings.iter().all(|finding| !finding.counts()) {
        let words = if page.judging.is_some() { "not all judged" } else { "no finding" };
        canvas.text(bed, (0, y), words, Ink::Faint);
    }
}
