//! Snapshots of counters by name: `netstat -s` of Linux and of Solaris (`netstat -sP tcp`), `nstat`.

use super::parsed_file::{Cell, ParsedFile};
use super::timestamp::When;
use super::words::{command, number};
use crate::ImportError;
use crate::source::Lines;
use std::collections::HashMap;

/// What `netstat -s` of Linux writes for the kernel's names, old and new spellings.
const PHRASES: [(&str, &str, &str); 19] = [
    ("Tcp", "active connection openings", "TcpActiveOpens"),
    ("Tcp", "active connections openings", "TcpActiveOpens"),
    ("Tcp", "passive connection openings", "TcpPassiveOpens"),
    ("Tcp", "failed connection attempts", "TcpAttemptFails"),
    ("Tcp", "connection resets received", "TcpEstabResets"),
    ("Tcp", "connections established", "TcpCurrEstab"),
    ("Tcp", "segments received", "TcpInSegs"),
    ("Tcp", "segments sent out", "TcpOutSegs"),
    ("Tcp", "segments send out", "TcpOutSegs"),
    ("Tcp", "segments retransmitted", "TcpRetransSegs"),
    ("Tcp", "segments retransmited", "TcpRetransSegs"),
    ("Tcp", "bad segments received", "TcpInErrs"),
    ("Tcp", "resets sent", "TcpOutRsts"),
    ("Udp", "packets received", "UdpInDatagrams"),
    ("Udp", "packets sent", "UdpOutDatagrams"),
    ("Udp", "packets to unknown port received", "UdpNoPorts"),
    ("Udp", "packet receive errors", "UdpInErrors"),
    ("TcpExt", "times the listen queue of a socket overflowed", "TcpExtListenOverflows"),
    ("TcpExt", "SYNs to LISTEN sockets dropped", "TcpExtListenDrops"),
];

pub(super) fn sniff(head: &str) -> bool {
    let is_linux = head.lines().any(|line| line == "Tcp:" || line == "TcpExt:" || line == "Udp:");
    let is_nstat = head.lines().any(|line| line.starts_with("#kernel"));
    is_linux || is_nstat || head.lines().any(|line| solaris(line).is_some())
}

/// `tcpListenDrop =785829 tcpListenDropQ0 = 0`, with blanks anywhere or nowhere.
fn solaris(line: &str) -> Option<Vec<(&str, f64)>> {
    let mut parts = line.split('=');
    let mut name = parts.next()?.split_whitespace().last()?;
    let mut found = Vec::new();
    for part in parts {
        let mut words = part.split_whitespace();
        let value = number(words.next()?)?;
        let is_name = ["tcp", "udp", "ip", "icmp", "sctp", "rawip"].iter().any(|protocol| name.starts_with(protocol))
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_name {
            return None;
        }
        found.push((name, value));
        name = words.next().unwrap_or_default();
    }
    (!found.is_empty() && name.is_empty()).then_some(found)
}

pub(super) fn read(lines: &mut Lines, parsed: &mut ParsedFile) -> Result<(), ImportError> {
    let (mut protocol, mut is_nstat) = (String::new(), false);
    let mut snapshots = Snapshots::default();
    while lines.advance()? {
        let text = lines.line();
        if command(&text, "netstat").is_some() || command(&text, "nstat").is_some() {
            continue;
        }
        if text.starts_with("#kernel") {
            is_nstat = true;
        } else if let Some(found) = solaris(&text) {
            found.into_iter().for_each(|(name, value)| snapshots.take(name, value));
        } else if is_nstat {
            let words: Vec<&str> = text.split_whitespace().collect();
            match words.as_slice() {
                [name, value, _] if number(value).is_some() => add(parsed, name, number(value).unwrap_or(0.0)),
                _ if lines.may_be_cut() => parsed.note(&format!("line {} is cut off, and left out", lines.number())),
                _ => {
                    return Err(
                        lines.malformed("is not a name with a value and a rate, as nstat writes them".to_string())
                    );
                }
            }
        } else if let Some(name) = text.strip_suffix(':').filter(|name| !name.starts_with(' ') && !name.contains(' ')) {
            protocol = name.to_string();
        } else if !protocol.is_empty() && text.starts_with(' ') {
            linux(parsed, &protocol, text.trim());
        } else {
            parsed.tally("lines that are not netstat's (messages, prompts) left out");
        }
    }
    snapshots.give(parsed);
    if is_nstat {
        parsed.note(
            "nstat: its values were taken for those since boot (-a); without -a they are those since nstat ran last",
        );
    }
    Ok(())
}

/// What Solaris' netstat printed of each name, one snapshot after the other.
#[derive(Default)]
struct Snapshots {
    values: Vec<(String, Vec<f64>)>,
    by_name: HashMap<String, usize>,
}

impl Snapshots {
    fn take(&mut self, name: &str, value: f64) {
        let at = *self.by_name.entry(name.to_string()).or_insert_with(|| {
            self.values.push((name.to_string(), Vec::new()));
            self.values.len() - 1
        });
        self.values[at].1.push(value);
    }

    /// With an interval, netstat prints what was counted since boot, and then what was counted in each interval: a counter
    /// of it falls, which counters do not.
    fn give(self, parsed: &mut ParsedFile) {
        let falls = |(_, values): &(String, Vec<f64>)| values.windows(2).any(|pair| pair[1] < pair[0]);
        let is_interval = |(name, _): &&(String, Vec<f64>)| !name.ends_with("CurrEstab");
        let by_interval = self.values.iter().filter(is_interval).any(falls);
        if by_interval {
            parsed.note("its first sample counts since boot, and the others by interval: they were added to it");
        }
        for one in &self.values {
            let sums = by_interval && is_interval(&one);
            let mut sum = 0.0;
            for value in &one.1 {
                sum = if sums { sum + value } else { *value };
                add(parsed, &one.0, sum);
            }
        }
    }
}

/// `24727 segments received`, `TCPTimeouts: 2`, `Quick ack mode was activated 35 times`.
fn linux(parsed: &mut ParsedFile, protocol: &str, text: &str) {
    let Some((at, value)) = text.split_whitespace().enumerate().find_map(|(at, word)| Some((at, number(word)?))) else {
        // The heading of a histogram.
        return;
    };
    let words: Vec<&str> =
        text.split_whitespace().enumerate().filter(|(index, _)| *index != at).map(|(_, word)| word).collect();
    let phrase = words.join(" ");
    let known = PHRASES.iter().find(|(of, words, _)| *of == protocol && *words == phrase).map(|(_, _, name)| *name);
    match (known, phrase.strip_suffix(':')) {
        (Some(name), _) => add(parsed, name, value),
        (None, Some(name)) => add(parsed, &format!("{protocol}{name}"), value),
        (None, None) => add(parsed, &format!("{protocol}: {phrase}"), value),
    }
}

/// One value of a snapshot; a name that comes again is of the next one.
fn add(parsed: &mut ParsedFile, name: &str, value: f64) {
    let section = parsed.section(&[name], None);
    if parsed.block(section, When::Next, true) {
        parsed.row(section, "", &[Cell::Number(value)]);
    }
}
