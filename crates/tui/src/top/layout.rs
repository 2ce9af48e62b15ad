//! Where what stands, by the size of the terminal.

use super::canvas::{Area, Canvas, Ink};
use super::state::{PageMode, Prompt, TopPage, TopState};
use super::{overlay, parts, sheets, strip};

/// Below this size nothing useful fits.
const LEAST: (u16, u16) = (60, 16);

pub(super) fn draw(state: &mut TopState, page: &TopPage<'_>, canvas: &mut Canvas<'_>) {
    let all = canvas.area();
    canvas.clear(all);
    if all.width < LEAST.0 || all.height < LEAST.1 {
        let words = format!("iodyno top needs {} × {} at least", LEAST.0, LEAST.1);
        canvas.text(all, (0, 0), &words, Ink::Plain);
        return;
    }
    state.cycle(&page.scene);
    state.begin();
    parts::header(state, page, canvas, all);
    let mut body = all.below(1).top(all.height - 2);
    if page.mode == PageMode::Recorded {
        body = body.below(strip::draw(page, canvas, body));
    }
    if page.scene.now().is_none() {
        canvas.text(body, (0, 1), "the first figures come with the second sample", Ink::Plain);
    } else if let Some(sheet) = state.sheets.last().cloned() {
        sheets::draw(state, page, canvas, body, &sheet);
    } else {
        first_page(state, page, canvas, body);
    }
    if state.help {
        overlay::help(canvas, body, state.is_recorded);
    } else if let Some(id) = state.explained {
        overlay::explain(page, canvas, body, id);
    }
    last_line(state, page, canvas, all.below(all.height - 1));
    state.selected = state.selected.min(state.lines.len().saturating_sub(1));
}

fn first_page(state: &mut TopState, page: &TopPage<'_>, canvas: &mut Canvas<'_>, body: Area) {
    // Findings may grow where there is room.
    let most = if body.height >= 34 { 6 } else { 2 };
    let used = parts::findings(state, page, canvas, body, most);
    let body = body.below(used);
    let used = parts::resources(state, page, canvas, body);
    let body = body.below(used);
    let cpus = parts::cpu_grid_rows(page, body.width).min(body.height / 4);
    let middle = body.top(body.height - cpus);
    let heat_width = if middle.width >= 120 { middle.width / 2 } else { (middle.width * 9 / 20).max(36) };
    parts::heat(state, page, canvas, middle.left(heat_width));
    let right = middle.right_of(heat_width + 1);
    let files = (right.height.saturating_sub(2) / 2).max(2);
    sheets::grid_part(state, canvas, right.top(files), &page.scene.files());
    sheets::grid_part(state, canvas, right.below(files), &page.scene.processes());
    parts::cpu_grid(page, canvas, body.below(body.height - cpus));
}

fn last_line(state: &TopState, page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area) {
    match &state.prompt {
        Some(Prompt::Filter) => {
            canvas.text(
                area,
                (0, 0),
                &format!("filter: {}_   Enter keeps it, Esc drops it", state.filter),
                Ink::Strong,
            );
            return;
        }
        Some(Prompt::GoTo(text)) => {
            let words = format!("go to: {text}_   03:12[:44], 2026-11-20 03:12 (UTC), -10m, +30s; Enter goes");
            canvas.text(area, (0, 0), &words, Ink::Strong);
            return;
        }
        None => {}
    }
    if let Some(message) = &state.message {
        canvas.text(area, (0, 0), message, Ink::Strong);
        return;
    }
    let keys = match (page.mode, state.sheets.is_empty()) {
        (_, false) if state.shows_maps() && area.width < sheets::MAPS_LEAST => {
            "Esc back  Enter deeper  Tab map  / filter  space hold  ←→ time  ? help  q quit"
        }
        (_, false) => "Esc back  Enter deeper  / filter  space hold  ←→ time  ? help  q quit",
        (PageMode::Recorded, true) => "␣ play ←→ time n/N finding g goto b/B mark D diff c d e m i F p r f x / ? q",
        (_, true) => "c cpu d disk n net m mem i irq F files p proc r req x why ␣ hold ←→ time ? q",
    };
    let keys = keys.replace('␣', if state.look.blocks { "␣" } else { "space" });
    let filter = if state.filter.is_empty() { String::new() } else { format!("/{}  ", state.filter) };
    canvas.text(area, (0, 0), &format!("{filter}{keys}"), Ink::Faint);
}
