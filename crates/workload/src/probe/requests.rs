//! The table `request_interval`: how long servers take for an answer, by port and program, and what waiting for a CPU has to
//! do with it.

use quantity::histogram::{Histogram, STORED_SUB_BITS};
use quantity::text::format_ns;
use recording::rows::RequestInterval;
use recording::{RecordingError, RowBatch};
use std::collections::BTreeMap;
use view::Unit;
use view::{TableColumn, ViewTable};

/// Did the thread that answered have to wait for a CPU meanwhile?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreemptedState {
    /// It did not.
    No,
    /// It was preempted, or waited when it woke.
    Yes,
    /// Another thread had read the request, and this one was not watched yet.
    Unknown,
}

impl PreemptedState {
    /// All of them, in the order of their columns.
    pub const ALL: [Self; 3] = [Self::No, Self::Yes, Self::Unknown];

    /// Heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::No => "not preempted",
            Self::Yes => "preempted",
            Self::Unknown => "not known",
        }
    }

    /// Name for programs.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::No => "not_preempted",
            Self::Yes => "preempted",
            Self::Unknown => "preempted_unknown",
        }
    }

    fn of(cell: Option<bool>) -> Self {
        match cell {
            Some(false) => Self::No,
            Some(true) => Self::Yes,
            None => Self::Unknown,
        }
    }
}

/// Answers of one program on one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestGroup {
    /// The port.
    pub port: i32,
    /// The program; `None`: the port was watched, and no program answered.
    pub program: Option<String>,
    responses: [Histogram; 3],
}

/// A power of two of response times, with how many answers there were in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseOctave {
    /// Its lower end, ns; the upper one is twice that.
    pub low_ns: u64,
    /// Both in words.
    pub words: String,
    /// In the order of [`PreemptedState::ALL`].
    pub counts: [u64; 3],
}

impl RequestGroup {
    fn new(port: i32, program: Option<String>) -> Self {
        Self { port, program, responses: std::array::from_fn(|_| Histogram::new(STORED_SUB_BITS)) }
    }

    /// Response times.
    #[must_use]
    pub fn responses(&self, of: PreemptedState) -> &Histogram {
        &self.responses[of as usize]
    }

    /// Answers; `None` when there were none.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        Some(self.responses.iter().map(Histogram::count).sum()).filter(|count| *count > 0)
    }

    /// Of the answers of which it is known, the share during which the thread waited for a CPU.
    #[must_use]
    pub fn preempted_percent(&self) -> Option<f64> {
        let [no, yes] = [PreemptedState::No, PreemptedState::Yes].map(|of| self.responses(of).count() as f64);
        (no + yes > 0.0).then(|| 100.0 * yes / (no + yes))
    }

    /// Port and program in words.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.port, self.program.as_deref().unwrap_or("(no answer)"))
    }

    /// Answers by powers of two, from the shortest to the longest without a gap.
    #[must_use]
    pub fn octaves(&self) -> Vec<ResponseOctave> {
        let mut counts: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
        for (at, histogram) in self.responses.iter().enumerate() {
            for (low, _, count) in histogram.buckets() {
                counts.entry(low.checked_ilog2().unwrap_or(0)).or_default()[at] += count;
            }
        }
        let ends = counts.first_key_value().zip(counts.last_key_value());
        let Some((first, last)) = ends.map(|((first, _), (last, _))| (*first, *last)) else { return Vec::new() };
        let row = |octave: u32| {
            let low_ns = 1_u64 << octave.min(63);
            let words = format!("{} – {}", format_ns(low_ns), format_ns(low_ns.saturating_mul(2)));
            ResponseOctave { low_ns, words, counts: counts.get(&octave).copied().unwrap_or_default() }
        };
        (first..=last).map(row).collect()
    }
}

/// Answers of an interval, or of all of them.
#[derive(Clone, Debug, Default)]
pub struct RequestFold {
    groups: BTreeMap<(i32, String), RequestGroup>,
    ports: BTreeMap<i32, Watched>,
}

/// How long a port was watched.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    ns: i64,
    /// End of the last interval in that, if there was one.
    until_ns: Option<i64>,
}

impl RequestFold {
    /// Adds a batch; those of other tables are passed over.
    ///
    /// # Errors
    /// It has not the columns of its table.
    pub fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        for row in batch.to_rows::<RequestInterval>()? {
            self.add(&row);
        }
        Ok(())
    }

    /// Adds a row; returns whether it is the first of its port in its interval.
    pub fn add(&mut self, row: &RequestInterval) -> bool {
        let watched = self.ports.entry(row.port).or_default();
        let is_first = watched.until_ns.replace(row.t_ns) != Some(row.t_ns);
        if is_first {
            watched.ns += row.interval_ns;
        }
        let Some(comm) = row.comm.as_deref() else { return is_first };
        let group = self.groups.entry((row.port, comm.to_string()));
        let group = group.or_insert_with(|| RequestGroup::new(row.port, Some(comm.to_string())));
        group.responses[PreemptedState::of(row.preempted) as usize].merge(&row.response);
        is_first
    }

    /// By port, those with most answers first; a port on which no program answered has one without a program.
    #[must_use]
    pub fn groups(&self) -> Vec<RequestGroup> {
        let mut groups: Vec<RequestGroup> = self.groups.values().cloned().collect();
        let is_silent = |port: &&i32| groups.iter().all(|group| group.port != **port);
        let silent: Vec<i32> = self.ports.keys().filter(is_silent).copied().collect();
        groups.extend(silent.into_iter().map(|port| RequestGroup::new(port, None)));
        groups.sort_by_key(|group| (group.port, std::cmp::Reverse(group.count())));
        groups
    }

    /// Ports that were watched.
    pub fn ports(&self) -> impl Iterator<Item = i32> {
        self.ports.keys().copied()
    }

    /// How long a port was watched; `None` when it was not.
    #[must_use]
    pub fn watched_s(&self, port: i32) -> Option<f64> {
        self.ports.get(&port).map(|watched| watched.ns as f64 / 1e9)
    }

    /// Answers per second of the time in which the group's port was watched.
    #[must_use]
    pub fn rate(&self, group: &RequestGroup) -> Option<f64> {
        let seconds = self.watched_s(group.port).filter(|seconds| *seconds > 0.0)?;
        group.count().map(|count| count as f64 / seconds)
    }

    /// Rates and response times, the first `top` rows.
    #[must_use]
    pub fn table(&self, top: usize) -> ViewTable {
        let mut groups = self.groups();
        let omitted = groups.len().saturating_sub(top);
        groups.truncate(top);
        let mut columns = vec![
            TableColumn::text("port", groups.iter().map(|group| group.port.to_string()).collect()),
            TableColumn::text(
                "program",
                groups.iter().map(|group| group.program.clone().unwrap_or_default()).collect(),
            ),
            TableColumn::numbers("requests", Unit::OpsPerSecond, groups.iter().map(|group| self.rate(group))),
        ];
        for of in PreemptedState::ALL {
            if of == PreemptedState::Unknown && groups.iter().all(|group| group.responses(of).count() == 0) {
                continue;
            }
            if of == PreemptedState::Yes {
                let shares = groups.iter().map(RequestGroup::preempted_percent);
                columns.push(TableColumn::numbers("share", Unit::Percent, shares).under(of.title()));
            }
            let time = |name: &str, value: fn(&Histogram) -> Option<u64>| {
                let cells = groups.iter().map(|group| value(group.responses(of)).map(|ns| ns as f64));
                TableColumn::numbers(name, Unit::Nanoseconds, cells).under(of.title())
            };
            columns.push(time("p50", |all| all.percentile(0.5)));
            columns.push(time("p99", |all| all.percentile(0.99)));
            columns.push(time("max", Histogram::max));
        }
        ViewTable { columns, omitted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::Label;
    use view::Cells;

    const MS: u64 = 1_000_000;

    fn row(port: i32, comm: Option<&str>, preempted: Option<bool>, times_ms: &[u64]) -> RequestInterval {
        let mut response = Histogram::new(STORED_SUB_BITS);
        times_ms.iter().for_each(|ms| response.record(ms * MS));
        RequestInterval {
            t_ns: 1,
            t_s: 0.0,
            interval_ns: 1_000_000_000,
            port,
            comm: comm.map(Label::from),
            preempted,
            count: comm.map(|_| i64::try_from(times_ms.len()).unwrap()),
            response,
        }
    }

    fn fold(rows: &[RequestInterval]) -> RequestFold {
        let mut fold = RequestFold::default();
        fold.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
        fold
    }

    fn numbers(table: &ViewTable, group: &str, name: &str) -> Vec<Option<f64>> {
        let column = table.columns.iter().find(|column| column.group == group && column.name == name);
        match &column.unwrap_or_else(|| panic!("no {group} {name}")).cells {
            Cells::Numbers(cells) => (0..table.rows()).map(|row| cells.get_some(row)).collect(),
            Cells::Text(_) => panic!("{name} is text"),
        }
    }

    #[test]
    fn answers_are_apart_by_port_program_and_waiting() {
        let fold = fold(&[
            row(80, Some("httpd"), Some(false), &[1, 2, 3]),
            row(80, Some("httpd"), Some(true), &[40]),
            row(80, Some("haproxy"), Some(false), &[1]),
            row(5432, None, None, &[]),
        ]);
        let table = fold.table(10);
        let Cells::Text(programs) = &table.columns[1].cells else { panic!() };
        assert_eq!(programs, &["httpd", "haproxy", ""]);
        assert_eq!(
            numbers(&table, "", "requests"),
            [Some(4.0), Some(1.0), None],
            "no program answered: not known, not 0"
        );
        assert_eq!(numbers(&table, "not preempted", "max"), [Some(3e6), Some(1e6), None]);
        assert_eq!(numbers(&table, "preempted", "max"), [Some(40e6), None, None]);
        assert_eq!(numbers(&table, "preempted", "share"), [Some(25.0), Some(0.0), None]);
        assert!(table.columns.iter().all(|column| column.group != "not known"), "all is known");
        assert_eq!((fold.table(1).rows(), fold.table(1).omitted), (1, 2));
    }

    #[test]
    fn intervals_add_up_and_a_port_that_was_silent_once_has_one_row() {
        let fold = fold(&[
            row(80, None, None, &[]),
            row(80, Some("httpd"), Some(false), &[1, 9]),
            row(80, Some("httpd"), Some(false), &[5]),
            row(80, Some("httpd"), None, &[7]),
        ]);
        let groups = fold.groups();
        let [httpd] = groups.as_slice() else { panic!("{groups:?}") };
        assert_eq!((httpd.count(), httpd.responses(PreemptedState::No).max()), (Some(4), Some(9 * MS)));
        assert_eq!(httpd.preempted_percent(), Some(0.0), "of those of which it is known");
        assert_eq!(numbers(&fold.table(9), "not known", "max"), [Some(7e6)]);
    }

    #[test]
    fn octaves_have_no_gap_and_count_everything() {
        let fold = fold(&[row(80, Some("httpd"), Some(false), &[1, 1]), row(80, Some("httpd"), Some(true), &[5])]);
        let octaves = fold.groups()[0].octaves();
        let counts: Vec<_> = octaves.iter().map(|octave| (octave.low_ns, octave.counts)).collect();
        let low = |power: u32| 1_u64 << power;
        // 1 ms lies between 2^19 and 2^20 ns, 5 ms between 2^22 and 2^23.
        assert_eq!(counts, [(low(19), [2, 0, 0]), (low(20), [0; 3]), (low(21), [0; 3]), (low(22), [0, 1, 0])]);
        assert_eq!(RequestGroup::new(1, None).octaves(), []);
    }
}
