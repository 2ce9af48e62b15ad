//! What is laid over the page: help, and the explanation of a finding.

use super::canvas::{Area, Canvas, Ink};
use super::state::TopPage;
use findings::IOS_ARE_IN;
use quantity::text::format_wall;
use view::Unit;

const HELP: &[&str] = &[
    "c CPUs   d disks   n (or e) network   m memory   i interrupts",
    "F files  p processes  r requests of a port   f all findings",
    "x explains the finding chosen, or the worst",
    "↑ ↓ PgUp PgDn choose a line   Enter opens it: device, file, process, finding",
    "Esc back   Tab next disk or interface; on the page of a disk: next map",
    "/ filter lines by name",
    "space hold and go on   ← → a sample back and on   shift (or < >) a minute",
    "Home first moment   End newest   g go to a time   [ ] finding before, next",
    "D marks a window of time; twice: lists what differs most   w its length",
    "b sets a bookmark here, or takes it away   B goes to the next one",
    "s writes what is shown to a file   Ctrl-Z to the shell   q (Ctrl-C) quit",
    "",
    "Marks: ! at its limit or failing, * busy, ● finding, · note, ? not known.",
    "UTIL of a disk is the time with an I/O in flight, not its capacity.",
    "PSI: share of the last 10 s in which some / all tasks waited for it.",
    "Curves: 60 s, newest right; the worst CPU, the used share of others.",
    "~ sampled by the tick, not by event. Without room figures are left out.",
    "m in the map of response times: only a mean is known, not the distribution.",
];

pub(super) fn help(canvas: &mut Canvas<'_>, area: Area, is_recorded: bool) {
    let mut lines: Vec<(String, Ink)> = HELP.iter().map(|line| ((*line).to_string(), Ink::Plain)).collect();
    if is_recorded {
        lines.insert(7, ("space plays it and holds   + - faster, slower: ×1 ×10 ×60 ×600".to_string(), Ink::Plain));
        lines.insert(8, ("n N next finding, the one before (the network is e here)".to_string(), Ink::Plain));
    }
    boxed(canvas, area, "Keys", &lines);
}

/// A finding with its evidence, its thresholds and what to do next.
pub(super) fn explain(page: &TopPage<'_>, canvas: &mut Canvas<'_>, area: Area, id: usize) {
    let Some(finding) = page.scene.findings.iter().find(|finding| finding.id == id) else { return };
    let room = usize::from(area.width.saturating_sub(6));
    let wall = |t_ns: i64| format_wall((page.wall)(t_ns));
    let mut lines: Vec<(String, Ink)> =
        wrapped(&finding.sentence, room).into_iter().map(|line| (line, Ink::Strong)).collect();
    let until = match finding.end_ns {
        Some(_) => format!("until {}", wall(finding.last_ns)),
        None => "open".to_string(),
    };
    let lasted = Unit::Seconds.format(Some(finding.seconds().round()));
    lines.push((
        format!("{}, since {}, {until} ({lasted})", finding.confidence.word(), wall(finding.start_ns)),
        Ink::Plain,
    ));
    lines.push((String::new(), Ink::Plain));
    let width = finding.evidence.iter().map(|one| one.name.chars().count()).max().unwrap_or(0);
    for one in &finding.evidence {
        lines.push((format!("{:<width$}  {}", one.name, one.text()), Ink::Plain));
    }
    let thresholds: Vec<String> = page
        .thresholds
        .section(finding.rule.section())
        .iter()
        .map(|threshold| format!("{} = {}", threshold.name, threshold.value))
        .collect();
    let thresholds = format!("thresholds: {}", thresholds.join(", "));
    lines.extend(wrapped(&thresholds, room).into_iter().map(|line| (line, Ink::Faint)));
    lines.push((String::new(), Ink::Plain));
    lines.extend(wrapped(&format!("→ {}", finding.next), room).into_iter().map(|line| (line, Ink::Strong)));
    if let Some(ios) = &finding.ios {
        lines.extend(wrapped(&format!("{IOS_ARE_IN}{ios}"), room).into_iter().map(|line| (line, Ink::Plain)));
    }
    for one in page.scene.findings.iter().filter(|one| one.explained_by == Some(id)) {
        lines.extend(
            wrapped(&format!("explains {} {}", one.rule.name(), one.sentence), room)
                .into_iter()
                .map(|line| (line, Ink::Plain)),
        );
    }
    boxed(canvas, area, &format!("{} {}", finding.rule.name(), finding.rule.title()), &lines);
}

/// Lines in a frame over the page.
pub(super) fn boxed(canvas: &mut Canvas<'_>, area: Area, title: &str, lines: &[(String, Ink)]) {
    let longest = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).max(title.chars().count());
    let width = u16::try_from(longest + 4).unwrap_or(u16::MAX).min(area.width);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let frame = Area { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    canvas.clear(frame);
    let (across, down) = if canvas.look.blocks { ("─", "│") } else { ("-", "|") };
    let rule = across.repeat(usize::from(width));
    canvas.text(frame, (0, 0), &rule, Ink::Faint);
    canvas.text(frame, (2, 0), &format!(" {title} "), Ink::Title);
    canvas.text(frame, (0, height - 1), &rule, Ink::Faint);
    canvas.text_right(frame, (0, height - 1), width.saturating_sub(2), " Esc ", Ink::Faint);
    for (y, (line, ink)) in (1..height.saturating_sub(1)).zip(lines) {
        canvas.text(frame, (0, y), down, Ink::Faint);
        canvas.text(frame, (width - 1, y), down, Ink::Faint);
        canvas.text(frame.left(width - 1), (2, y), line, *ink);
    }
}

/// Words in lines of at most so many columns.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > room {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
