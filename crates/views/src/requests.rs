//! The views of the table `request_interval`: how long servers took for answers, over time.

use crate::series::{distribution, heat, ranks};
use quantity::histogram::{Histogram, STORED_SUB_BITS};
use recording::rows::RequestInterval;
use recording::{Reader, Row as _, RowBatch};
use std::collections::BTreeMap;
use view::Drawing;
use view::{Axis, Body, Line, LineStyle, Scale};
use view::{TableReadError, Unit};
use view::{axis, line};
use workload::probe::{PreemptedState, RequestFold, RequestGroup};

/// Stretches of time that are kept at most; longer recordings have neighbours put together. An even number.
const STRETCHES: usize = 1200;
/// Rows of the table.
const ROWS: usize = 100;
/// Lines of a picture that has one for each server.
const LINES: usize = 6;

/// A port and the program that answers on it.
type Server = (i32, String);

/// What was recorded in some intervals, one after the other.
#[derive(Debug)]
struct RequestSpan {
    from_s: f64,
    to_s: f64,
    /// When the last of the intervals ended.
    t_ns: i64,
    intervals: usize,
    /// How long each port was watched.
    watched_ns: BTreeMap<i32, i64>,
    responses: BTreeMap<Server, Histogram>,
}

impl RequestSpan {
    /// Without rows as yet.
    fn of_interval(row: &RequestInterval) -> Self {
        Self {
            from_s: row.t_s - row.interval_ns as f64 / 1e9,
            to_s: row.t_s,
            t_ns: row.t_ns,
            intervals: 1,
            watched_ns: BTreeMap::new(),
            responses: BTreeMap::new(),
        }
    }

    /// Takes in the one that follows.
    fn append(&mut self, next: Self) {
        (self.to_s, self.t_ns) = (next.to_s, next.t_ns);
        self.intervals += next.intervals;
        for (port, ns) in next.watched_ns {
            *self.watched_ns.entry(port).or_default() += ns;
        }
        for (server, responses) in next.responses {
            self.responses_of(server).merge(&responses);
        }
    }

    /// Was no port watched between this one and the next? Intervals touch; half of one is more than rounding.
    fn is_apart_from(&self, next: &Self) -> bool {
        next.from_s - self.to_s > (self.to_s - self.from_s) / self.intervals as f64 / 2.0
    }

    fn responses_of(&mut self, server: Server) -> &mut Histogram {
        self.responses.entry(server).or_insert_with(|| Histogram::new(STORED_SUB_BITS))
    }

    /// Answers per second; `None` while the port was not watched.
    fn rate(&self, server: &Server) -> Option<f64> {
        let watched_ns = self.watched_ns.get(&server.0).filter(|ns| **ns > 0)?;
        Some(self.responses.get(server).map_or(0, Histogram::count) as f64 / (*watched_ns as f64 / 1e9))
    }
}

/// Answers of the servers that were watched.
#[derive(Debug, Default)]
pub struct RequestFacts {
    fold: RequestFold,
    /// In the order of time.
    stretches: Vec<RequestSpan>,
    /// Intervals that a stretch may have.
    most_intervals: usize,
}

impl RequestFacts {
    /// All of a recording; `None` when no port was watched.
    ///
    /// # Errors
    /// A recording that cannot be read.
    pub fn read(reader: &Reader) -> Result<Option<Self>, TableReadError> {
        let mut facts = Self::default();
        for rows in reader.batches(RequestInterval::TABLE.name)? {
            let batch = RowBatch { table: RequestInterval::TABLE, rows: rows? };
            batch.to_rows::<RequestInterval>()?.iter().for_each(|row| facts.add(row));
        }
        Ok((!facts.stretches.is_empty()).then_some(facts))
    }

    /// Servers by answers, most first: names for the views of one.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.busiest().into_iter().map(|group| group.name())
    }

    /// How long answers took, in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let busiest = self.busiest();
        let watched = |port: Option<i32>| {
            let longest = self.fold.ports().filter(|known| port.is_none_or(|port| port == *known));
            Unit::Seconds.format(longest.filter_map(|port| self.fold.watched_s(port)).reduce(f64::max))
        };
        let Some(first) = busiest.first() else { return format!("No request was answered in {}.", watched(None)) };
        let watched_s = watched(Some(first.port));
        let mut all = Histogram::new(STORED_SUB_BITS);
        PreemptedState::ALL.into_iter().for_each(|kind| all.merge(first.responses(kind)));
        let time = |quantile: f64| Unit::Nanoseconds.format(all.percentile(quantile).map(|ns| ns as f64));
        let waited = first.preempted_percent().map_or(String::new(), |share| {
            format!("; of {} the thread waited for a CPU meanwhile", Unit::Percent.format(Some(share)))
        });
        let others = match busiest.len() {
            1 => String::new(),
            more => format!("; {more} servers in all"),
        };
        format!(
            "{} requests on port {} answered by {} in {watched_s}: half of them within {}, 99 % within {}{waited}{others}.",
            Unit::Operations.format(Some(all.count() as f64)),
            first.port,
            first.program.as_deref().unwrap_or("?"),
            time(0.5),
            time(0.99),
        )
    }

    /// Rows come in the order of time.
    fn add(&mut self, row: &RequestInterval) {
        let is_first = self.fold.add(row);
        let is_new = self.stretches.last().is_none_or(|last| last.t_ns < row.t_ns);
        if is_new {
            self.stretches.push(RequestSpan::of_interval(row));
        }
        let Some(last) = self.stretches.last_mut() else { return };
        if is_first {
            *last.watched_ns.entry(row.port).or_default() += row.interval_ns;
        }
        if let Some(comm) = row.comm.as_deref() {
            last.responses_of((row.port, comm.to_string())).merge(&row.response);
        }
        if is_new {
            self.shorten();
        }
    }

    /// What came before the last interval becomes a part of the stretch before it, until that is as long as may be; and when
    /// there are too many stretches, all may be twice as long. Nothing is put together over a time in which no port was
    /// watched, unless there are too many of these.
    fn shorten(&mut self) {
        let [.., before, ended, _] = self.stretches.as_slice() else { return };
        if before.intervals + ended.intervals <= self.most_intervals.max(1) && !before.is_apart_from(ended) {
            let ended = self.stretches.remove(self.stretches.len() - 2);
            let at = self.stretches.len() - 2;
            self.stretches[at].append(ended);
        } else if self.stretches.len() > STRETCHES {
            self.most_intervals = 2 * self.most_intervals.max(1);
            self.put_together(RequestSpan::is_apart_from);
            if self.stretches.len() > STRETCHES {
                self.put_together(|_, _| false);
            }
        }
    }

    /// Neighbours that are not to be kept apart, while they are not too long; the last one is under way.
    fn put_together(&mut self, apart: fn(&RequestSpan, &RequestSpan) -> bool) {
        let last = self.stretches.pop();
        for next in std::mem::take(&mut self.stretches) {
            match self.stretches.last_mut() {
                Some(before) if before.intervals + next.intervals <= self.most_intervals && !apart(before, &next) => {
                    before.append(next);
                }
                _ => self.stretches.push(next),
            }
        }
        self.stretches.extend(last);
    }

    /// Those that answered, most answers first.
    fn busiest(&self) -> Vec<RequestGroup> {
        let mut groups = self.fold.groups();
        groups.retain(|group| group.count().is_some());
        groups.sort_by_key(|group| std::cmp::Reverse(group.count()));
        groups
    }

    fn server(&self, name: &str) -> Option<RequestGroup> {
        self.fold.groups().into_iter().find(|group| group.name() == name)
    }

    /// Moments and what was between them; `None` where nothing was watched, so that no line leads over it.
    fn course(&self) -> Vec<(f64, Option<&RequestSpan>)> {
        let mut course = Vec::new();
        let mut before: Option<&RequestSpan> = None;
        for stretch in &self.stretches {
            if let Some(before) = before.filter(|before| before.is_apart_from(stretch)) {
                course.push(((before.to_s + stretch.from_s) / 2.0, None));
            }
            course.push(((stretch.from_s + stretch.to_s) / 2.0, Some(stretch)));
            before = Some(stretch);
        }
        course
    }
}

/// Port and program of a group.
fn key(group: &RequestGroup) -> Server {
    (group.port, group.program.clone().unwrap_or_default())
}

fn over_time(course: &[(f64, Option<&RequestSpan>)], y: Axis, lines: Vec<Line>) -> Drawing {
    let x: Vec<f64> = course.iter().map(|(at_s, _)| *at_s).collect();
    let elapsed = axis("elapsed time", Unit::Seconds, Scale::Time);
    Drawing { x: elapsed, y, body: Body::Lines { x: x.into(), lines, right: None }, marks: Vec::new() }
}

pub(crate) fn servers(facts: &RequestFacts) -> Option<Drawing> {
    let none = || axis("", Unit::None, Scale::Category);
    Some(Drawing { x: none(), y: none(), body: Body::Table(facts.fold.table(ROWS)), marks: Vec::new() })
}

pub(crate) fn rate(facts: &RequestFacts) -> Option<Drawing> {
    let course = facts.course();
    let groups = facts.busiest();
    let of = |(at, group): (usize, &RequestGroup)| {
        let server = key(group);
        let rates = course.iter().map(|(_, stretch)| stretch.and_then(|stretch| stretch.rate(&server)));
        line(&group.name(), LineStyle::category(at), rates.collect())
    };
    let lines: Vec<Line> = groups.iter().take(LINES).enumerate().map(of).collect();
    let y = axis("answers per second", Unit::OpsPerSecond, Scale::Linear);
    (!lines.is_empty()).then(|| over_time(&course, y, lines))
}

pub(crate) fn response(facts: &RequestFacts, name: &str) -> Option<Drawing> {
    let server = key(&facts.server(name)?);
    let course = facts.course();
    let histograms: Vec<Option<&Histogram>> =
        course.iter().map(|(_, stretch)| stretch.and_then(|stretch| stretch.responses.get(&server))).collect();
    Some(over_time(&course, axis("response time", Unit::Nanoseconds, Scale::Log), ranks(&histograms)))
}

pub(crate) fn response_heatmap(facts: &RequestFacts, name: &str) -> Option<Drawing> {
    let server = key(&facts.server(name)?);
    let column = |stretch: &RequestSpan| {
        let responses = stretch.responses.get(&server).cloned();
        (stretch.from_s, stretch.to_s, responses.unwrap_or_else(|| Histogram::new(STORED_SUB_BITS)))
    };
    heat(facts.stretches.iter().map(column).collect(), Vec::new())
}

pub(crate) fn histogram(facts: &RequestFacts, name: &str) -> Option<Drawing> {
    let group = facts.server(name)?;
    let styles = [LineStyle::Category0, LineStyle::Category1, LineStyle::Category5];
    let kinds = PreemptedState::ALL.into_iter().zip(styles);
    let sums: Vec<_> = kinds.map(|(kind, style)| (kind.title(), style, group.responses(kind))).collect();
    let x = axis("response time", Unit::Nanoseconds, Scale::Log);
    distribution(x, axis("answers", Unit::Operations, Scale::Log), &sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::Label;
    use view::Cells;

    const MS: u64 = 1_000_000;

    /// Answers that took so long, in the interval of a second that ends then.
    fn row(end_s: u32, port: i32, comm: Option<&str>, preempted: Option<bool>, times_ms: &[u64]) -> RequestInterval {
        let mut response = Histogram::new(STORED_SUB_BITS);
        times_ms.iter().for_each(|ms| response.record(ms * MS));
        RequestInterval {
            t_ns: i64::from(end_s) * 1_000_000_000,
            t_s: f64::from(end_s),
            interval_ns: 1_000_000_000,
            port,
            comm: comm.map(Label::from),
            preempted,
            count: comm.map(|_| i64::try_from(times_ms.len()).unwrap()),
            response,
        }
    }

    fn facts(rows: impl IntoIterator<Item = RequestInterval>) -> RequestFacts {
        let mut facts = RequestFacts::default();
        rows.into_iter().for_each(|row| facts.add(&row));
        facts
    }

    /// A line of a picture over time: moments and values.
    fn course(drawing: &Drawing, name: &str) -> Vec<(f64, Option<f64>)> {
        let Body::Lines { x, lines, .. } = &drawing.body else { panic!("not lines") };
        let line = lines.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("no {name}"));
        (0..x.len()).map(|at| (x.get_some(at).unwrap(), line.values.get_some(at))).collect()
    }

    /// Two servers, of which one is watched all the time and the other in two parts of it.
    fn two_servers() -> RequestFacts {
        facts([
            row(1, 80, Some("httpd"), Some(false), &[1, 2, 3]),
            row(1, 80, Some("httpd"), Some(true), &[40]),
            row(1, 22, Some("sshd"), Some(false), &[7]),
            row(2, 80, None, None, &[]),
            row(3, 80, Some("httpd"), Some(false), &[5]),
            row(9, 80, Some("httpd"), Some(false), &[5]),
            row(9, 22, None, None, &[]),
        ])
    }

    #[test]
    fn rates_are_of_the_time_in_which_a_port_was_watched() {
        let facts = two_servers();
        assert_eq!(facts.names().collect::<Vec<_>>(), ["80 httpd", "22 sshd"], "most answers first");
        let table = servers(&facts).unwrap();
        let Body::Table(table) = &table.body else { panic!("no table") };
        let rates = table.columns.iter().find(|column| column.name == "requests").unwrap();
        let Cells::Numbers(rates) = &rates.cells else { panic!("no numbers") };
        assert_eq!([rates.get_some(0), rates.get_some(1)], [Some(0.5), Some(1.5)], "22: 1 in 2 s, 80: 6 in 4 s");
        let rate = rate(&facts).unwrap();
        let httpd = [(0.5, Some(4.0)), (1.5, Some(0.0)), (2.5, Some(1.0)), (5.5, None), (8.5, Some(1.0))];
        assert_eq!(course(&rate, "80 httpd"), httpd, "a gap where nothing was watched");
        let sshd = [(0.5, Some(1.0)), (1.5, None), (2.5, None), (5.5, None), (8.5, Some(0.0))];
        assert_eq!(course(&rate, "22 sshd"), sshd, "no requests are 0, an unwatched port has no rate");
    }

    #[test]
    fn the_pictures_of_a_server_are_of_it_alone() {
        let facts = two_servers();
        let longest = course(&response(&facts, "80 httpd").unwrap(), "max");
        let ms = |ms: u64| Some((ms * MS) as f64);
        assert_eq!(longest, [(0.5, ms(40)), (1.5, None), (2.5, ms(5)), (5.5, None), (8.5, ms(5))]);
        let Body::Heat { x_edges, counts, .. } = response_heatmap(&facts, "80 httpd").unwrap().body else {
            panic!("no map");
        };
        assert_eq!((x_edges.get_some(3), x_edges.get_some(4)), (Some(3.0), Some(8.0)), "an empty column for the gap");
        assert_eq!((0..counts.len()).filter_map(|at| counts.get_some(at)).sum::<f64>(), 6.0);
        let Body::Histogram { lines, .. } = histogram(&facts, "80 httpd").unwrap().body else { panic!("no histogram") };
        let sums =
            lines.iter().map(|line| (0..line.values.len()).filter_map(|at| line.values.get_some(at)).sum::<f64>());
        let names: Vec<(&str, f64)> = lines.iter().map(|line| line.name.as_str()).zip(sums).collect();
        assert_eq!(names, [("not preempted", 5.0), ("preempted", 1.0)]);
        assert!(response(&facts, "80 sshd").is_none());
    }

    #[test]
    fn a_watched_port_without_an_answer_has_a_row_and_no_picture() {
        let facts = facts([row(1, 80, None, None, &[])]);
        assert!(servers(&facts).is_some() && facts.names().next().is_none() && rate(&facts).is_none());
    }

    #[test]
    fn long_recordings_become_coarser_and_lose_nothing() {
        let seconds = 10_000;
        let rows =
            (1..=seconds).map(|end_s| row(end_s, 80, Some("httpd"), Some(false), &[u64::from(end_s % 7) + 1; 2]));
        let facts = facts(rows);
        assert!(facts.stretches.len() <= STRETCHES + 1, "{}", facts.stretches.len());
        let lengths: Vec<usize> = facts.stretches.iter().map(|stretch| stretch.intervals).collect();
        assert_eq!(lengths.iter().sum::<usize>(), seconds as usize);
        // All alike but for the last ones, which are under way.
        assert!(lengths[..lengths.len() - 2].iter().all(|length| *length == lengths[0]), "{lengths:?}");
        let answers: u64 =
            facts.stretches.iter().flat_map(|stretch| stretch.responses.values()).map(Histogram::count).sum();
        assert_eq!(answers, 2 * u64::from(seconds));
        let rates = course(&rate(&facts).unwrap(), "80 httpd");
        assert!(rates.iter().all(|(_, rate)| *rate == Some(2.0)), "{rates:?}");
        assert!(facts.stretches.windows(2).all(|pair| pair[0].to_s == pair[1].from_s));
    }

    #[test]
    fn a_gap_in_a_long_recording_stays_a_gap() {
        // The port was watched for 5,000 s, then not for a minute, then again.
        let seconds = (1..=5_000).chain(5_061..=10_000);
        let facts = facts(seconds.map(|end_s| row(end_s, 80, Some("httpd"), Some(false), &[1])));
        assert!(facts.stretches.len() <= STRETCHES + 2, "{}", facts.stretches.len());
        let rates = course(&rate(&facts).unwrap(), "80 httpd");
        let gaps: Vec<f64> = rates.iter().filter(|(_, rate)| rate.is_none()).map(|(at_s, _)| *at_s).collect();
        assert_eq!(gaps, [5_030.0]);
        assert!(rates.iter().all(|(_, rate)| rate.is_none_or(|rate| rate == 1.0)), "{rates:?}");
        assert!(facts.sentence().contains("in 2 h 45 min"), "{}", facts.sentence());
    }

    #[test]
    fn looking_now_and_then_for_long_takes_no_more_memory() {
        // A second of each ten: no two intervals touch.
        let facts = facts((1..=20_000).map(|at| row(10 * at, 80, Some("httpd"), Some(false), &[1])));
        assert!(facts.stretches.len() <= STRETCHES + 2, "{}", facts.stretches.len());
        let answers: u64 =
            facts.stretches.iter().flat_map(|stretch| stretch.responses.values()).map(Histogram::count).sum();
        assert_eq!(answers, 20_000);
    }
}
