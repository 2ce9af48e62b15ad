//! nicstat in all its layouts (default, -s, -x, -U, -M, -t, -u, -a, -l, -p, -z), of Linux and Solaris, old and new.

use super::columns::Subject;
use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::{SECOND_NS, When, of_day};
use super::words::{cell, command, is_figure, number};
use super::{Passed, passed};
use crate::ImportError;
use crate::source::Lines;

/// Headings by the number of fields of -p: behind time and name.
const PARSEABLE: [&[&str]; 3] = [
    &["rKB/s", "wKB/s"],
    &["rKB/s", "wKB/s", "rPk/s", "wPk/s", "%Util", "Sat"],
    &["rKB/s", "wKB/s", "rPk/s", "wPk/s", "%Util", "Sat", "IErr", "OErr", "Coll", "NoCP", "Defer"],
];
pub(super) const TCP: [&str; 10] =
    ["InKB", "OutKB", "InSeg", "OutSeg", "Reset", "AttF", "%ReTX", "InConn", "OutCon", "Drops"];
pub(super) const UDP: [&str; 4] = ["InDG", "OutDG", "InErr", "OutErr"];

pub(super) fn sniff(head: &str) -> bool {
    head.lines().any(|line| heading(line).is_some() || parseable(line).is_some() || is_list(line))
}

fn is_list(line: &str) -> bool {
    line.split_whitespace().eq(["Int", "Loopback", "Mbit/s", "Duplex", "State"])
}

/// What rows under a heading are.
#[derive(Clone)]
struct Under {
    subject: Subject,
    columns: Vec<String>,
    /// The heading begins with the time, its rows do not.
    when: Option<When>,
}

/// A heading; the first column is the time, or stands for it.
fn heading(line: &str) -> Option<Under> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (first, rest) = words.split_first()?;
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect();
    if let (&"Time", ["Int", columns @ ..]) = (first, rest) {
        let is_one = columns.first().is_some_and(|name| ["rKB/s", "rKb/s", "rMbps"].contains(name));
        return is_one.then(|| Under { subject: Subject::Net, columns: owned(columns), when: None });
    }
    let when = Some(When::OfDay(of_day(first, None)?));
    let subject = match rest.first().copied()? {
        "RdKB" | "RdMbps" => Subject::Net,
        "InKB" | "InSeg" => Subject::Tcp,
        "InDG" => Subject::Udp,
        _ => return None,
    };
    Some(Under { subject, columns: owned(rest), when })
}

/// A line of -p.
struct Parseable<'a> {
    when: When,
    /// Of the interface; none for TCP and UDP.
    thing: &'a str,
    subject: Subject,
    columns: &'static [&'static str],
    /// The fields that are figures, as printed.
    figures: Vec<&'a str>,
}

/// Does it begin like a line of -p: with the seconds since 1970 and a colon?
fn is_stamped(line: &str) -> Option<(i64, &str)> {
    let (time, rest) = line.trim().split_once(':')?;
    let is_time = time.len() >= 8 && time.bytes().all(|byte| byte.is_ascii_digit());
    Some((time.parse::<i64>().ok().filter(|_| is_time)?, rest))
}

/// A line of -p: time, name, figures. The name of an alias has a colon in it (`eth0:1`): how many fields there are tells
/// where it ends, for no two layouts differ by one. The digits of a figure do not help: large ones have no point.
fn parseable(line: &str) -> Option<Parseable<'_>> {
    let (seconds, rest) = is_stamped(line)?;
    let fields: Vec<&str> = rest.split(':').collect();
    let of = |count: usize| PARSEABLE.iter().find(|columns| columns.len() == count);
    let (names, subject, columns): (usize, Subject, &[&str]) = match (fields[0], fields.len() - 1) {
        ("TCP", 10) => (1, Subject::Tcp, &TCP),
        ("UDP", 4) => (1, Subject::Udp, &UDP),
        (_, count) => match of(count) {
            Some(columns) => (1, Subject::Net, columns),
            None => (2, Subject::Net, of(count.checked_sub(1)?)?),
        },
    };
    let length = fields[..names].iter().map(|name| name.len() + 1).sum::<usize>() - 1;
    let name = &rest[..length];
    let figures = fields[names..].to_vec();
    // The number of an alias is no figure: those have a point, or five digits.
    let is_label = |label: &str| !is_figure(label) || (label.len() <= 4 && !label.contains('.'));
    if name.trim().is_empty()
        || !fields[1..names].iter().all(|label| is_label(label))
        || !figures.iter().all(|figure| is_figure(figure))
    {
        return None;
    }
    let thing = if subject == Subject::Net { name } else { "" };
    Some(Parseable { when: When::Wall(seconds.checked_mul(SECOND_NS)?), thing, subject, columns, figures })
}

/// The sample that a row belongs to: the first one after a command is the mean since boot.
#[derive(Default)]
struct Sample {
    first: Option<When>,
    /// Time of the last row.
    last: Option<When>,
    /// Headings since then: with -z, all but the last one stand for samples without a row.
    headings: i64,
}

impl Sample {
    fn is_start(&mut self, when: When) -> bool {
        *self.first.get_or_insert(when) == when
    }

    /// Times of samples without a row between the last row and one at `when`.
    fn left_out(&mut self, when: When) -> Vec<When> {
        let empty = std::mem::take(&mut self.headings) - 1;
        let (Some(When::OfDay(last)), When::OfDay(now)) = (self.last.replace(when), when) else { return Vec::new() };
        if empty < 1 || now <= last || empty > 100_000 {
            return Vec::new();
        }
        (1..=empty).map(|at| When::OfDay(last + (now - last) / (empty + 1) * at)).collect()
    }
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let mut under: Option<Under> = None;
    let mut sample = Sample::default();
    let mut in_list = false;
    while lines.advance()? {
        for text in pieces(&lines.line()) {
            if command(&text, "nicstat").is_some() {
                (sample, under) = (Sample::default(), None);
            } else if is_list(&text) {
                in_list = true;
            } else if let Some(fresh) = heading(&text) {
                (under, in_list) = (Some(fresh), false);
                sample.headings += 1;
            } else if let Some(Parseable { when, thing, subject, columns, figures }) = parseable(&text) {
                let section = parsed.section(columns, Some(subject));
                let is_start = sample.is_start(when);
                if parsed.continued(section, when, is_start) {
                    let cells: Vec<Cell> = figures.into_iter().map(cell).collect();
                    parsed.row(section, thing, &cells);
                }
            } else if is_stamped(&text).is_some() && under.is_none() && !in_list {
                if !lines.may_be_cut() {
                    let what = "is no line of nicstat -p: time, name, and 2, 6 or 11 figures (10 of TCP, 4 of UDP)";
                    return Err(lines.malformed(what.to_string()));
                }
                parsed.note(&format!("line {} is cut off, and left out", lines.number()));
            } else if in_list {
                link(parsed, &text);
            } else if let Some(under) = &under {
                row(lines, parsed, under, &mut sample, &text)?;
            } else {
                parsed.tally("lines that are not nicstat's (messages, prompts) left out");
            }
        }
    }
    if parsed.sections.iter().any(|section| section.subject == Some(Subject::Tcp)) {
        parsed.note(
            "nicstat on Linux always prints 0 for Drops, %ReTX, InKB and OutKB of TCP: they are kept as figures, not as counters",
        );
    }
    Ok(())
}

/// The lines of a text whose line ends were lost in copying (out of a page, a mail): a heading begins one, a time, and
/// what is stuck to the last figure of a row. Any other line is one.
fn pieces(text: &str) -> Vec<String> {
    const HEADING: &str = "Time Int ";
    let is_time = |at: usize| {
        text.get(at..at + 9).is_some_and(|time| time.ends_with(' ') && of_day(time.trim_end(), None).is_some())
    };
    if !text.contains(HEADING) || !(1..text.len()).any(is_time) {
        return vec![text.to_string()];
    }
    let mut pieces = vec![String::new()];
    for (at, letter) in text.char_indices() {
        let before = &text.as_bytes()[..at];
        // Saturation has two digits behind its point.
        let is_stuck = letter.is_alphabetic()
            && before.len() > 3
            && before[at - 3] == b'.'
            && before[at - 2..].iter().all(u8::is_ascii_digit);
        if text[at..].starts_with(HEADING) || is_time(at) || is_stuck {
            pieces.push(String::new());
        }
        pieces.last_mut().into_iter().for_each(|piece| piece.push(letter));
    }
    pieces.retain(|piece| !piece.trim().is_empty());
    pieces
}

fn row(
    lines: &Lines,
    parsed: &mut ParsedFile,
    under: &Under,
    sample: &mut Sample,
    text: &str,
) -> Result<(), ImportError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let before = 1 + usize::from(under.when.is_none());
    if matches!(passed(lines, parsed, &words, (before, before + under.columns.len()))?, Passed::Over) {
        return Ok(());
    }
    let when = match under.when {
        Some(when) => when,
        None => match of_day(words[0], None) {
            Some(ns) => When::OfDay(ns),
            None => return Err(lines.malformed(format!("`{}` is no time of day", words[0]))),
        },
    };
    let mut cells = Vec::with_capacity(under.columns.len());
    for word in &words[before..] {
        match cell(word) {
            Cell::Text(text) => return Err(lines.malformed(format!("`{text}` stands where a number is expected"))),
            cell => cells.push(cell),
        }
    }
    let thing = if under.subject == Subject::Net { words[before - 1] } else { "" };
    let columns: Vec<&str> = under.columns.iter().map(String::as_str).collect();
    let section = parsed.section(&columns, Some(under.subject));
    let is_start = sample.is_start(when);
    if under.when.is_none() {
        for empty in sample.left_out(when) {
            parsed.block(section, empty, false);
        }
    }
    if parsed.continued(section, when, is_start) {
        parsed.row(section, thing, &cells);
    }
    Ok(())
}

/// A line of -l: what is known of a link. 65,535 Mbit/s is nicstat's word for not knowing.
fn link(parsed: &mut ParsedFile, text: &str) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [name, _, speed, duplex, state] = words.as_slice() else {
        parsed.tally("lines that are not nicstat's (messages, prompts) left out");
        return;
    };
    let section = parsed.plain_section(&["Mbit/s", "Duplex", "State"]);
    let speed = number(speed).filter(|speed| *speed != 65_535.0).map_or(Cell::Missing, Cell::Number);
    if !parsed.sections[section].blocks.is_empty() || parsed.block(section, When::Next, true) {
        parsed.row(section, name, &[speed, Cell::Text((*duplex).to_string()), Cell::Text((*state).to_string())]);
    }
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn lost_line_ends_are_found_again() {
        let text = "Time Int rKB/s wKB/s %Util Sat17:05:17 lo0 0.00 0.00 0.00 0.0017:05:17 e1000g0 126.2 4.07 0.04 0.00host[bash]# nicstat 5 Time Int rKB/s wKB/s %Util Sat17:05:22 lo0 0.00 0.00 0.00 0.00";
        let expect = [
            "Time Int rKB/s wKB/s %Util Sat",
            "17:05:17 lo0 0.00 0.00 0.00 0.00",
            "17:05:17 e1000g0 126.2 4.07 0.04 0.00",
            "host[bash]# nicstat 5",
            "Time Int rKB/s wKB/s %Util Sat",
            "17:05:22 lo0 0.00 0.00 0.00 0.00",
        ];
        assert_eq!(pieces(text).iter().map(|piece| piece.trim()).collect::<Vec<_>>(), expect);
        for line in ["Time Int rKB/s wKB/s %Util Sat", "17:05:22 lo0 0.00 0.00 0.00 0.00", "10:27:19 InKB OutKB", ""] {
            assert_eq!(pieces(line), [line]);
        }
    }
}
