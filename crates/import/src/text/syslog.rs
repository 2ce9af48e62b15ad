//! Messages of the kernel and of daemons: syslog of Linux and Solaris (multipath as well), journalctl's short forms, dmesg.
//! Each becomes an event; the same one again and again is one event with a count.

use super::parsed_file::{LogEpoch, OF_OTHERS, ParsedFile};
use super::timestamp::{SECOND_NS, When, at, dates, month, of_day};
use super::words::number;
use crate::ImportError;
use crate::source::Lines;
use quantity::text::wall_ns_of;
use recording::rows::Event;
use recording::{EventKind, EventSeverity};

/// Months and days are kept in this year until another is known: it has a 29 February.
pub(super) const ANY_YEAR: i64 = 2000;
/// The same message within this time is the same event.
const SAME_NS: i64 = 60 * SECOND_NS;

pub(super) fn sniff(head: &str) -> bool {
    let lines: Vec<&str> = head.lines().filter(|line| !line.trim().is_empty()).take(20).collect();
    let known = lines.iter().filter(|line| message(line).is_some()).count();
    known > 0 && known * 2 >= lines.len()
}

/// One line's parts.
struct Message<'a> {
    clock: LogEpoch,
    at: i64,
    /// `at` is local time, and the message does not state its distance from UTC.
    is_local: bool,
    host: Option<&'a str>,
    text: &'a str,
}

fn message(line: &str) -> Option<Message<'_>> {
    if let Some((seconds, text)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        let (whole, decimals) = seconds.trim().split_once('.')?;
        let ns: i64 = format!("{decimals:0<9}").get(..9)?.parse().ok()?;
        let at = whole.parse::<i64>().ok()?.checked_mul(SECOND_NS)?.checked_add(ns)?;
        return Some(Message { clock: LogEpoch::Boot, at, is_local: false, host: None, text });
    }
    let words: Vec<&str> = line.split_whitespace().take(4).collect();
    if let [name, day, time, host] = words.as_slice()
        && let (Some(month), Ok(day), Some(ns)) = (month(name), day.parse::<i64>(), of_day(time, None))
    {
        let midnight = wall_ns_of((ANY_YEAR, month, day), (0, 0, 0))?;
        // Behind the time, so that a host called like it is not taken for it.
        let rest = &line[line.find(time)? + time.len()..];
        let text = &rest[rest.find(host)? + host.len()..];
        // Where in the zone it is depends on the year.
        let at = midnight + ns;
        return Some(Message { clock: LogEpoch::Yearless, at, is_local: false, host: Some(host), text });
    }
    // 2026-11-20T10:27:20.123456+00:00 host …
    let (stamp, rest) = line.split_once(' ')?;
    let (day, time) = stamp.split_once('T')?;
    let midnight = dates(day).first().copied().filter(|_| day.len() == 10)?;
    let (host, text) = rest.trim_start().split_once(' ')?;
    let (at, is_local) = match at(midnight, time)? {
        When::Local(at, _) => (at, true),
        When::Wall(at) => (at, false),
        When::OfDay(_) | When::Next => return None,
    };
    Some(Message { clock: LogEpoch::Wall, at, is_local, host: Some(host), text })
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    while lines.advance()? {
        let line = lines.line();
        let Some(message) = message(&line) else {
            if parsed.is_of_other() {
                continue;
            }
            if line.starts_with([' ', '\t'])
                && let Some((_, event)) = parsed.events.last_mut()
            {
                go_on(event, line.trim());
                continue;
            }
            parsed.tally("lines that are no messages left out");
            continue;
        };
        parsed.event_clock = message.clock;
        if let Some(host) = message.host {
            parsed.of_host(host);
        }
        if parsed.is_of_other() {
            parsed.tally(OF_OTHERS);
            continue;
        }
        // Solaris: what goes on from the line before has blanks where the program's name would stand.
        if message.text.starts_with("   ")
            && let Some((_, event)) = parsed.events.last_mut()
        {
            go_on(event, message.text.trim());
            continue;
        }
        let text = message.text.trim();
        if let Some(times) = repeated(text)
            && let Some((_, event)) = parsed.events.last_mut()
        {
            event.count = event.count.saturating_add(times);
            continue;
        }
        let mut at = message.at;
        if let Some(zone) = parsed.zone.as_ref().filter(|_| message.is_local) {
            at = zone.utc_ns(at, parsed.events.last().map(|(last, _)| *last));
        }
        // December is followed by January.
        if let Some((last, _)) = parsed.events.last()
            && message.clock == LogEpoch::Yearless
        {
            let year = quantity::text::civil(*last).0.0;
            at = in_year(at, year);
            if last.saturating_sub(at) > 180 * super::timestamp::DAY_NS {
                at = in_year(at, year + 1);
            }
        }
        let same = parsed
            .events
            .iter_mut()
            .rev()
            .take(8)
            .find(|(last, event)| event.message == text && at.saturating_sub(*last) <= SAME_NS);
        match same {
            Some((_, event)) => event.count = event.count.saturating_add(1),
            None => parsed.events.push((at, event(text))),
        }
    }
    Ok(())
}

/// The same day and time in another year.
pub(super) fn in_year(at: i64, year: i64) -> i64 {
    let ((_, month, day), time) = quantity::text::civil(at);
    let below_ns = at.rem_euclid(SECOND_NS);
    // 29 February of a year that has none is the day after the 28th.
    let moved = wall_ns_of((year, month, day), time).or_else(|| wall_ns_of((year, 3, 1), time));
    moved.unwrap_or(at).saturating_add(below_ns)
}

/// `last message repeated 3 times`.
fn repeated(text: &str) -> Option<i64> {
    let rest = &text[text.find("message repeated ")? + "message repeated ".len()..];
    rest.split_whitespace().next()?.parse().ok()
}

/// A message that goes on in another line: what it tells of may stand there.
fn go_on(event: &mut Event, text: &str) {
    event.message.push(' ');
    event.message.push_str(text);
    event.class = Some(class(&event.message));
}

fn class(text: &str) -> recording::Label {
    recording::Label::from(kernel_message::class(text))
}

fn event(text: &str) -> Event {
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let severity =
        if has(&["kern.err", "kern.crit", "kern.alert", "error", "failed", "failing", "out of memory", "panic"]) {
            EventSeverity::Error
        } else if has(&[
            "kern.warn",
            "warning",
            "offline",
            "degraded",
            "link down",
            "link is down",
            "timeout",
            "timed out",
        ]) {
            EventSeverity::Warning
        } else {
            EventSeverity::Info
        };
    Event {
        t_ns: 0,
        t_s: 0.0,
        severity,
        kind: EventKind::Kernel,
        class: Some(class(text)),
        run: None,
        target: device(text),
        message: text.to_string(),
        count: 1,
    }
}

/// The device that a message is about: Solaris has it in brackets, Linux in the words of its drivers.
fn device(text: &str) -> Option<String> {
    let is_name = |word: &str, prefixes: &[&str]| {
        prefixes.iter().any(|prefix| {
            word.strip_prefix(prefix).is_some_and(|rest| {
                !rest.is_empty() && rest.len() <= 8 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
            })
        })
    };
    let in_brackets = text.split('(').skip(1).filter_map(|part| part.split_once(')')).map(|(name, _)| name);
    let mut solaris =
        in_brackets.filter(|name| is_name(name, &["ssd", "sd", "fp", "fcp", "emlxs", "qlc", "ses", "st"]));
    if let Some(name) = solaris.find(|name| number(name).is_none()) {
        return Some(name.to_string());
    }
    let words = text.split([' ', ',', ':', ';', '[', ']', '(', ')', '/']);
    let linux = words.filter(|word| word.bytes().any(|byte| byte.is_ascii_digit()) || word.len() == 3);
    let prefixes =
        ["sd", "vd", "nvme", "dm-", "md", "loop", "eth", "eno", "ens", "enp", "bond", "mlx", "emlxs", "qla2xxx"];
    linux.filter(|word| is_name(word, &prefixes)).map(String::from).next()
}
