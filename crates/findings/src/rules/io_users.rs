//! What the probe of block I/O saw of a device over a window: how long I/Os took, where they were, and which processes
//! issued them.

use crate::window::WindowSlice;
use crate::{FindingEvidence, figure};
use quantity::histogram::Histogram;
use recording::Label;
use recording::rows::IoInterval;
use std::collections::BTreeMap;

/// Of the requests that the device's counters have, so many at least must have been followed: some drivers pass by the probe,
/// and it may have come later.
const LEAST_PERCENT: f64 = 80.0;
/// So many processes are named.
const NAMED: usize = 3;
/// Those with less than so much of what was moved are not.
const NAMED_PERCENT: f64 = 5.0;
/// A direction with a smaller share of the bytes moved is left out.
const DIRECTION_PERCENT: f64 = 10.0;
/// A file with so much of what a process moved stands for all of it.
const FILE_PERCENT: f64 = 50.0;

/// A device's I/Os over a window.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    response: Histogram,
    /// Reads and writes for which it is known whether they are adjacent to another one, and those that are.
    placed: f64,
    beside: f64,
    /// Reads and writes.
    users: [Users; 2],
}

/// Bytes that processes moved in one direction.
#[derive(Debug, Default)]
struct Users {
    bytes: f64,
    /// By number; I/O without a known process is left out.
    by_process: BTreeMap<i32, User>,
}

#[derive(Debug, Default)]
struct User {
    comm: Option<Label>,
    bytes: f64,
    by_file: BTreeMap<Label, f64>,
}

/// Who, with the share of all bytes in that direction.
struct Named {
    who: String,
    percent: f64,
    file: Option<Label>,
}

impl Followed {
    /// `None` where there was no probe, or it did not see most of the `requests` that the device completed.
    pub(crate) fn over(stretch: WindowSlice<'_>, device: &str, requests: f64) -> Option<Self> {
        let mut followed = Self::default();
        let rows = stretch.iter().flat_map(|moment| &moment.ios);
        for row in rows.filter(|row| &*row.dev == device && &*row.op != "flush") {
            followed.add(row);
        }
        let count = followed.response.count() as f64;
        (count > 0.0 && count >= requests * LEAST_PERCENT / 100.0).then_some(followed)
    }

    fn add(&mut self, row: &IoInterval) {
        self.response.merge(&row.response);
        let way = match &*row.op {
            "read" => 0,
            "write" => 1,
            _ => return,
        };
        if let Some(beside) = row.sequential {
            self.placed += row.ios as f64;
            self.beside += beside as f64;
        }
        let bytes = row.bytes as f64;
        let users = &mut self.users[way];
        users.bytes += bytes;
        let Some(pid) = row.pid else { return };
        let user = users.by_process.entry(pid).or_default();
        user.bytes += bytes;
        user.comm = row.comm.clone().or(user.comm.take());
        if let Some(file) = &row.file {
            *user.by_file.entry(file.clone()).or_default() += bytes;
        }
    }

    /// Half of the I/Os took no longer, and 99 of 100, ns.
    fn response_ns(&self) -> Option<[f64; 2]> {
        let of = |quantile| self.response.percentile(quantile).map(|ns| ns as f64);
        Some([of(0.5)?, of(0.99)?])
    }

    /// Of reads and writes, those beside another one.
    fn sequential_percent(&self) -> Option<f64> {
        (self.placed > 0.0).then(|| 100.0 * self.beside / self.placed)
    }

    /// ", p50 12.0 ms / p99 22.0 ms".
    pub(crate) fn response_words(&self) -> String {
        self.response_ns().map_or(String::new(), |[p50, p99]| {
            format!(", p50 {} / p99 {}", figure(Some(p50), "ns"), figure(Some(p99), "ns"))
        })
    }

    /// " Writers: fio[12] 82 % (/data/a), …"; empty where no process is known.
    pub(crate) fn users_words(&self) -> String {
        let all: f64 = self.users.iter().map(|users| users.bytes).sum();
        let mut words = String::new();
        for (title, users) in ["Readers", "Writers"].iter().zip(&self.users) {
            let named = users.named();
            if named.is_empty() || users.bytes < all * DIRECTION_PERCENT / 100.0 {
                continue;
            }
            let each = named.iter().map(|one| {
                let file = one.file.as_ref().map_or(String::new(), |file| format!(" ({file})"));
                format!("{} {:.0} %{file}", one.who, one.percent)
            });
            words.push_str(&format!(" {title}: {}.", each.collect::<Vec<_>>().join(", ")));
        }
        words
    }
}

impl Users {
    fn named(&self) -> Vec<Named> {
        let mut named: Vec<Named> = self.by_process.iter().map(|(pid, user)| user.named(*pid, self.bytes)).collect();
        named.retain(|one| one.percent >= NAMED_PERCENT);
        named.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        named.truncate(NAMED);
        named
    }
}

impl User {
    fn named(&self, pid: i32, all_bytes: f64) -> Named {
        let most = self.by_file.iter().max_by(|a, b| a.1.total_cmp(b.1));
        Named {
            who: format!("{}[{pid}]", self.comm.as_deref().unwrap_or("?")),
            percent: 100.0 * self.bytes / all_bytes.max(1.0),
            file: most.filter(|(_, bytes)| **bytes >= self.bytes * FILE_PERCENT / 100.0).map(|(file, _)| file.clone()),
        }
    }
}

/// " I/O is 59.4 kB on average, 93 % random."; what is not known is left out.
pub(crate) fn kind_words(size_bytes: Option<f64>, followed: Option<&Followed>) -> String {
    let order = followed.and_then(Followed::sequential_percent).map(|percent| match percent >= 50.0 {
        true => format!("{percent:.0} % sequential"),
        false => format!("{:.0} % random", 100.0 - percent),
    });
    let size = size_bytes.map(|bytes| format!("{} on average", figure(Some(bytes), "B")));
    let words: Vec<String> = size.into_iter().chain(order).collect();
    if words.is_empty() { String::new() } else { format!(" I/O is {}.", words.join(", ")) }
}

/// The same as figures; those that need the probe are not known without it.
pub(crate) fn evidence(followed: Option<&Followed>) -> Vec<FindingEvidence> {
    let response = followed.and_then(Followed::response_ns);
    let mut evidence = vec![
        FindingEvidence::new("response time, p50", response.map(|[p50, _]| p50), "ns"),
        FindingEvidence::new("response time, p99", response.map(|[_, p99]| p99), "ns"),
        FindingEvidence::new("sequential", followed.and_then(Followed::sequential_percent), "%"),
    ];
    for (verb, way) in [("read by", 0), ("written by", 1)] {
        let named = followed.map(|followed| followed.users[way].named()).unwrap_or_default();
        evidence.extend(named.iter().map(|one| FindingEvidence::new(format!("{verb} {}", one.who), one.percent, "%")));
    }
    evidence
}
