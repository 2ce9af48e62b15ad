//! The parts of the first page.

use super::canvas::{Area, Canvas, Ink, SHADES};
use super::state::{PageMode, TopPage, TopState};
use findings::FindingSeverity;
use quantity::figures::short;
use quantity::text::format_wall;
use rates::stat::CounterSubject;
use top_page::{DrillTarget, HeatColumn, MapOf, Resource, ResourceLevel, ResourceRow};

/// Closed findings are counted so long.
const CLOSED_NS: i64 = 600_000_000_000;

/// Who, when, how: the first line. What has no room is left out, least important first.
pub(super) fn header(state: &TopState, page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area) {
    let machine = page.machine;
    let time = page
        .scene
        .now()
        .map_or("?".to_string(), |now| format!("{}Z", format_wall((page.wall)(now.t_ns)).get(..19).unwrap_or("?")));
    let cpus = machine.cpus.map_or("? cpu".to_string(), |cpus| format!("{cpus} cpu"));
    let memory = machine.memory_bytes.map_or("?".to_string(), |bytes| format!("{}B", short(bytes as f64)));
    let step =
        if page.interval_s >= 1.0 { format!("{:.0}s", page.interval_s) } else { format!("{:.1}s", page.interval_s) };
    let mode = match (page.mode, page.stalled) {
        (PageMode::Live, Some(why)) => format!("■ {why}"),
        (PageMode::Live, None) => format!("▶ LIVE {step}"),
        (PageMode::Paused, _) => "‖ PAUSED".replace('‖', if state.look.blocks { "‖" } else { "||" }),
        (PageMode::Recorded, _) => page.plays.map_or("RECORDED".to_string(), |speed| format!("▶ PLAY ×{speed}")),
    };
    let clock = page.scene.now().map_or("?".to_string(), |now| now.clock_words());
    let lost = format!("lost {}", page.lost);
    // By what they are worth; shown in this order all the same.
    let mut parts: Vec<(u8, String, Ink)> = vec![
        (2, machine.host.clone(), Ink::Strong),
        (5, format!("Linux {}", short_release(&machine.kernel)), Ink::Plain),
        (4, format!("{cpus} {memory}"), Ink::Plain),
        (0, time, Ink::Plain),
        (0, mode, if page.stalled.is_some() { Ink::Level(ResourceLevel::Full) } else { Ink::Title }),
        (3, format!("clock {clock}"), Ink::Plain),
        (1, lost, if page.lost > 0 { Ink::Level(ResourceLevel::Busy) } else { Ink::Plain }),
    ];
    parts.extend(page.judging.clone().map(|words| (2, words, Ink::Plain)));
    parts.extend(page.source.clone().map(|source| (7, source, Ink::Plain)));
    let length = |parts: &[(u8, String, Ink)]| parts.iter().map(|part| part.1.chars().count() + 2).sum::<usize>();
    while length(&parts) > usize::from(area.width) + 2 {
        let Some(least) = parts.iter().enumerate().max_by_key(|(_, part)| part.0).map(|(at, _)| at) else { break };
        if parts[least].0 == 0 {
            break;
        }
        parts.remove(least);
    }
    let mut x = 0;
    for (_, text, ink) in parts {
        x += canvas.text(area, (x, 0), &text, ink) + 2;
    }
}

/// `6.18.5` of `6.18.5-fc-v12`.
fn short_release(release: &str) -> &str {
    release.split('-').next().unwrap_or(release)
}

/// Findings that are open; gives the rows used.
pub(super) fn findings(
    state: &mut TopState,
    page: &TopPage<'_>,
    canvas: &mut Canvas<'_>,
    area: Area,
    most: u16,
) -> u16 {
    let open = page.scene.open_findings();
    let trouble = open.iter().filter(|finding| finding.severity == FindingSeverity::Finding).count();
    let closed = page.scene.closed_within(CLOSED_NS);
    let notes = open.len() - trouble;
    let notes = if notes > 0 { format!(", {notes} notes") } else { String::new() };
    let title = format!("FINDINGS ({trouble} open{notes}, {closed} closed in the last 10 min)");
    canvas.text(area, (0, 0), &title, Ink::Title);
    canvas.text_right(area, (area.width.saturating_sub(24), 0), 24, "f list  Enter explain", Ink::Faint);
    if open.is_empty() {
        canvas.text(area, (1, 1), "none", Ink::Faint);
        return 2;
    }
    let shown = u16::try_from(open.len()).unwrap_or(u16::MAX).min(most);
    for (at, finding) in open.iter().take(usize::from(shown)).enumerate() {
        let y = 1 + u16::try_from(at).unwrap_or(0);
        let chosen = state.line(DrillTarget::Finding(finding.id));
        let (mark, level) = match finding.severity {
            FindingSeverity::Finding => ("●!", ResourceLevel::Full),
            FindingSeverity::Note => (" ·", ResourceLevel::Fine),
        };
        canvas.text(area, (1, y), mark, Ink::Level(level));
        let hidden = open.len() - usize::from(shown);
        let more = if at + 1 == usize::from(shown) && hidden > 0 { format!(" +{hidden} more") } else { String::new() };
        let tail = format!("{more}  {}", finding.rule.name());
        let room = area.width.saturating_sub(4 + u16::try_from(tail.len()).unwrap_or(0));
        canvas.text(Area { width: 4 + room, ..area }, (4, y), &finding.sentence, Ink::Plain);
        canvas.text_right(area, (4 + room, y), area.width - 4 - room, &tail, Ink::Strong);
        mark_line(canvas, area, y, chosen);
    }
    1 + shown
}

/// The chosen line: reversed, and marked for those who do not see that.
pub(super) fn mark_line(canvas: &mut Canvas<'_>, area: Area, y: u16, chosen: bool) {
    if chosen {
        canvas.paint(area, y, Ink::Selected);
        canvas.text(area, (0, y), ">", Ink::Selected);
    }
}

/// Widths of the columns before the curve.
const NAME: u16 = 13;
const USED: u16 = 20;
const WAITS: u16 = 21;
const ERRORS: u16 = 10;
const PRESSURE: u16 = 8;

/// One row per resource; gives the rows used.
pub(super) fn resources(state: &mut TopState, page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area) -> u16 {
    let rows = page.scene.resources(state.disk.as_deref(), state.net.as_deref());
    let spare = area.width.saturating_sub(NAME + USED + WAITS + ERRORS + PRESSURE + 60) / 4;
    let starts = starts(spare.min(10));
    let headings = ["RESOURCE", "UTIL", "SATURATION", "ERRORS", "PSI 10s", ""];
    for (heading, x) in headings.iter().zip(starts) {
        canvas.text(area, (x, 0), heading, Ink::Title);
    }
    let curve_x = starts[5];
    let curve = area.width.saturating_sub(curve_x).min(60);
    canvas.text(area, (curve_x, 0), if curve >= 10 { "last 60 s" } else { "60 s" }, Ink::Title);
    for (at, row) in rows.iter().enumerate() {
        let y = 1 + u16::try_from(at).unwrap_or(0);
        let chosen = state.line(row.drill.clone());
        match row.resource {
            Resource::Disk => state.disk_line = Some(state.lines.len() - 1),
            Resource::Net => state.net_line = Some(state.lines.len() - 1),
            _ => {}
        }
        if let Some(verdict) = &row.verdict {
            canvas.text(area.left(starts[1].saturating_sub(1)), (1, y), &row.name, Ink::Strong);
            canvas.text(area, (starts[1], y), verdict, Ink::Faint);
        } else {
            resource(canvas, area, (y, starts), row);
            canvas.curve(area, (curve_x, y), curve, row);
        }
        mark_line(canvas, area.left(curve_x), y, chosen);
    }
    let used = 1 + u16::try_from(rows.len()).unwrap_or(0);
    // The column of dashes says that there is nothing, not why.
    match page.scene.missing(CounterSubject::Pressure) {
        Some(verdict) => {
            canvas.text(area, (1, used), &format!("PSI: {verdict}"), Ink::Faint);
            used + 1
        }
        None => used,
    }
}

/// Where the columns begin, with so much room more for each.
fn starts(spare: u16) -> [u16; 6] {
    let mut x = 0;
    let mut starts = [0; 6];
    for (start, width) in starts.iter_mut().skip(1).zip([NAME, USED, WAITS, ERRORS, PRESSURE]) {
        x += width + spare;
        *start = x;
    }
    starts
}

fn resource(canvas: &mut Canvas<'_>, area: Area, (y, starts): (u16, [u16; 6]), row: &ResourceRow) {
    let worst = row.utilisation.1.max(row.saturation.1).max(row.errors.1);
    let mark = match worst {
        ResourceLevel::Fine => " ",
        ResourceLevel::Busy => "*",
        ResourceLevel::Full => "!",
    };
    canvas.text(area, (0, y), mark, Ink::Level(worst));
    let cell = |at: usize| area.left(starts[at + 1].saturating_sub(1));
    canvas.text(cell(0), (1, y), &row.name, Ink::Strong);
    for (at, (text, level)) in [&row.utilisation, &row.saturation, &row.errors].into_iter().enumerate() {
        let ink = if *level == ResourceLevel::Fine { Ink::Plain } else { Ink::Level(*level) };
        let area = cell(at + 1);
        let room = usize::from(area.width.saturating_sub(starts[at + 1]));
        canvas.text(area, (starts[at + 1], y), &whole_items(text, room), ink);
    }
    let share = |value: Option<f64>| {
        value.map_or(
            "-".to_string(),
            |percent| if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") },
        )
    };
    let pressure = format!("{}/{}", share(row.pressure[0]), share(row.pressure[1]));
    let ink = match row.pressure[0] {
        Some(percent) if percent >= 40.0 => Ink::Level(ResourceLevel::Full),
        Some(percent) if percent >= 10.0 => Ink::Level(ResourceLevel::Busy),
        _ => Ink::Plain,
    };
    canvas.text(cell(4), (starts[4], y), &pressure, ink);
}

/// Of a text with two blanks between its items those that have room, closer together before one is left out: half a figure
/// would be another one.
fn whole_items(text: &str, room: usize) -> String {
    let length = |text: &str| text.chars().count();
    if length(text) <= room {
        return text.to_string();
    }
    let mut fitted = String::new();
    for item in text.split("  ") {
        let blank = if fitted.is_empty() { "" } else { " " };
        if fitted.is_empty() || length(&fitted) + 1 + length(item) <= room {
            fitted = format!("{fitted}{blank}{item}");
        }
    }
    fitted
}

/// Response times of a disk over the last seconds.
pub(super) fn heat(state: &TopState, page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area) {
    let Some(device) = state.disk.clone().or_else(|| page.scene.worst_disk()) else {
        let why = page.scene.missing(CounterSubject::Disk).unwrap_or("no disk with I/O");
        canvas.text(area, (0, 0), &format!("DISK RESPONSE: {why}"), Ink::Title);
        return;
    };
    heat_of(page, canvas, area, &device);
}

/// Columns of the labels of a heat map.
const LABELS: u16 = 7;

/// The map of a device's response times.
pub(super) fn heat_of(page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area, device: &str) {
    map_of(page, canvas, area, (device, MapOf::Response), "");
}

/// A map of a device; `more` is said behind its title.
pub(super) fn map_of(page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area, (device, of): (&str, MapOf), more: &str) {
    // A title, a note.
    let rows = area.height.saturating_sub(2).clamp(1, 14);
    let columns = area.width.saturating_sub(LABELS + 1);
    let map = page.scene.disk_map(device, of, usize::from(rows), usize::from(columns));
    let title = match map.title.strip_suffix(')') {
        Some(title) => format!("{title}; columns {}){more}", columns_are(page)),
        None => format!("{} (columns {}){more}", map.title, columns_are(page)),
    };
    canvas.text(area, (0, 0), &title, Ink::Title);
    let most = map.most();
    for row in 0..rows {
        let at = usize::from(rows - 1 - row);
        let label = map.labels.get(at).map_or("", String::as_str);
        canvas.text_right(area, (0, 1 + row), LABELS - 1, label, Ink::Faint);
        heat_row(canvas, area, (1 + row, at), &map.columns, (columns, most));
    }
    let legend = match &map.note {
        Some(note) => format!("  {note}"),
        None => format!("  . 1  @ {} I/Os in a cell", short(most as f64)),
    };
    canvas.text(area, (0, 1 + rows), &legend, Ink::Faint);
}

fn columns_are(page: &TopPage<'_>) -> String {
    if (page.interval_s - 1.0).abs() < 0.01 { "s".to_string() } else { format!("{:.1} s", page.interval_s) }
}

fn heat_row(
    canvas: &mut Canvas<'_>,
    area: Area,
    (y, at): (u16, usize),
    cells: &[HeatColumn],
    (columns, most): (u16, u64),
) {
    let blank = columns.saturating_sub(u16::try_from(cells.len()).unwrap_or(columns));
    for (index, column) in cells.iter().enumerate() {
        let x = LABELS + blank + u16::try_from(index).unwrap_or(0);
        let (mark, ink) = match column {
            HeatColumn::Unknown => ('░', Ink::Faint),
            HeatColumn::Mean(Some(row)) if *row == at => ('m', Ink::Plain),
            HeatColumn::Mean(_) => continue,
            HeatColumn::Counts(counts) => match counts.get(at).copied().unwrap_or(0) {
                0 => continue,
                count => shade(count, most),
            },
        };
        canvas.text(area, (x, y), &mark.to_string(), ink);
    }
}

/// On a logarithmic scale from one to the most.
pub(super) fn shade(count: u64, most: u64) -> (char, Ink) {
    let share = if most > 1 { (count as f64).ln() / (most as f64).ln() } else { 1.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 4")]
    let at = (share.clamp(0.0, 1.0) * 4.0).round() as usize;
    let ink = match at {
        0 | 1 => Ink::Level(ResourceLevel::Fine),
        2 | 3 => Ink::Level(ResourceLevel::Busy),
        _ => Ink::Level(ResourceLevel::Full),
    };
    (SHADES[at.min(4)], ink)
}

/// Rows that the grid of CPUs takes: one, or more where one cell for each CPU fits in two.
pub(super) fn cpu_grid_rows(page: &TopPage<'_>, width: u16) -> u16 {
    let cpus = page.scene.cpus().len();
    let room = usize::from(width.saturating_sub(CPU_LABEL)).max(1);
    match cpus {
        0 => 0,
        cpus if cpus <= room => 1,
        cpus if cpus <= 4 * room => u16::try_from(cpus.div_ceil(room)).unwrap_or(1),
        _ => 4,
    }
}

const CPU_LABEL: u16 = 16;

/// A cell for each CPU; of more than fit, each cell is the busiest of several.
pub(super) fn cpu_grid(page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area) {
    let cpus = page.scene.cpus();
    if cpus.is_empty() || area.height == 0 {
        return;
    }
    let room = usize::from(area.width.saturating_sub(CPU_LABEL)) * usize::from(area.height);
    let each = cpus.len().div_ceil(room.max(1)).max(1);
    let label = if each == 1 { format!("CPU GRID ({})", cpus.len()) } else { format!("CPUs, {each}/cell") };
    canvas.text(area.left(CPU_LABEL - 1), (0, 0), &label, Ink::Title);
    let width = usize::from(area.width.saturating_sub(CPU_LABEL)).max(1);
    for (at, group) in cpus.chunks(each).enumerate() {
        let busiest = group.iter().filter_map(|(_, percent)| *percent).reduce(f64::max);
        let place = (CPU_LABEL + u16::try_from(at % width).unwrap_or(0), u16::try_from(at / width).unwrap_or(0));
        let bar = canvas.bar(busiest.map(|percent| percent / 100.0)).to_string();
        let level = match busiest {
            Some(percent) if percent >= 95.0 => ResourceLevel::Full,
            Some(percent) if percent >= 70.0 => ResourceLevel::Busy,
            _ => ResourceLevel::Fine,
        };
        canvas.text(area, place, &bar, Ink::Level(level));
    }
}
