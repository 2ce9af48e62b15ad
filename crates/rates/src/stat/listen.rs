//! TCP sockets that listen, the longest queue first.
//!
//! A socket has a row when it is new, when connections wait in its queue, when a figure of it changed (such as its
//! drops), and when it is gone. A socket without a row in a sample has an empty queue; its other figures are those of
//! its last row.

use super::FigureDigits::{Fixed, Percent, Scaled};
use super::{CounterSubject, StatBlock, StatColumn, StatRow, Stream, TextColumn, columns};
use crate::counter::delta_i64;
use recording::rows::{Listener, Sample, Tcp};
use recording::{RecordingError, RowBatch};
use std::collections::HashMap;

pub(super) const COLUMNS: &[StatColumn] = columns! {
    "queue" "Recv-Q" Fixed(0), "connections that wait to be accepted, at the end of the interval";
    "backlog" "backlog" Fixed(0), "what the program asked for in listen(2), or the limit if that is less (Send-Q of ss); the kernel admits one more";
    "full_percent" "%full" Percent, "queue ÷ backlog; more than 100 when it is full, since the kernel admits one more than the backlog, and then refuses";
    "drops_per_s" "drops/s" Scaled, "connection requests that it dropped per second, for a full queue or another reason";
    "drops" "drops" Fixed(0), "the same since it listens; ? where the kernel does not tell";
    "limit" "limit" Fixed(0), "the system's limit of backlogs (net.core.somaxconn)";
    "pid" "PID" Fixed(0), "a process that holds it; ? without the privilege to look";
};

pub(super) const TEXTS: &[TextColumn] = &[TextColumn { key: "comm", title: "process", help: "its name" }];

/// Address, port and number of the socket: several may share the former two. Older recordings do not tell the number.
type Key = (String, i64, Option<i64>);

/// What is known of a socket.
struct Socket {
    last: Listener,
    /// Requests that it dropped in this interval.
    dropped: Option<i64>,
}

impl Socket {
    fn is_there(&self) -> bool {
        self.last.gone != Some(true)
    }

    /// What comes first is greatest.
    fn rank(&self) -> (i64, i64, i64) {
        (self.last.queue, self.dropped.unwrap_or(0), self.last.drops.unwrap_or(0))
    }

    fn place(&self) -> (i64, &str, Option<i64>) {
        (self.last.port, self.last.address.as_str(), self.last.inode)
    }

    fn row(&self, seconds: f64) -> StatRow {
        let row = &self.last;
        let dropped = self.dropped.filter(|_| seconds > 0.0);
        StatRow {
            name: format!("{}:{}", row.address, row.port),
            values: vec![
                Some(row.queue as f64),
                Some(row.backlog as f64),
                // With a backlog of 0 one is admitted.
                Some(100.0 * row.queue as f64 / row.backlog.max(1) as f64),
                dropped.map(|dropped| dropped as f64 / seconds),
                row.drops.map(|drops| drops as f64),
                row.limit.map(|limit| limit as f64),
                row.pid.map(|pid| pid as f64),
            ],
            texts: vec![row.comm.clone()],
        }
    }
}

/// When a sample was: as its rows of listeners say, and as others do, which are there when it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    rows_ns: Option<i64>,
    others_ns: Option<i64>,
}

impl Times {
    fn t_ns(self) -> Option<i64> {
        self.rows_ns.or(self.others_ns)
    }

    /// Since an earlier sample, s. By the same rows if both have them: listeners are read a while after others.
    fn seconds_since(self, before: Self) -> f64 {
        let between = |now: Option<i64>, before: Option<i64>| Some(now? - before?);
        let ns = between(self.rows_ns, before.rows_ns)
            .or_else(|| between(self.others_ns, before.others_ns))
            .or_else(|| between(self.t_ns(), before.t_ns()));
        ns.map_or(0.0, |ns| ns as f64 / 1e9)
    }
}

/// Samples of listeners.
#[derive(Default)]
pub(super) struct Listeners {
    since_boot: bool,
    joins: bool,
    known: HashMap<Key, Socket>,
    now: Vec<Listener>,
    times: Times,
    before: Option<Times>,
}

impl Listeners {
    pub(super) fn new(since_boot: bool, joins: bool) -> Self {
        Self { since_boot, joins, ..Self::default() }
    }

    /// Takes in the rows of a sample; those of the first are of sockets that may have dropped something before it.
    fn learn(&mut self, is_first: bool) {
        for socket in self.known.values_mut() {
            (socket.last.queue, socket.dropped) = (0, socket.last.drops.map(|_| 0));
        }
        for row in std::mem::take(&mut self.now) {
            let key = (row.address.clone(), row.port, row.inode);
            let before = self.known.get(&key);
            let before = before.map(|socket| socket.last.drops);
            let dropped = drops_since(&row, before, !is_first && !self.joins);
            self.known.insert(key, Socket { last: row, dropped });
        }
    }
}

/// What a socket dropped since its row before, whose count is `before`. One without such a row that is new has dropped since
/// then all that it has dropped. Without an inode, another socket of that port counts from 0, and the drops of the first one
/// are not known.
#[must_use]
pub fn drops_since(row: &Listener, before: Option<Option<i64>>, is_new: bool) -> Option<i64> {
    delta_i64(row.drops?, before.unwrap_or(is_new.then_some(0))?)
}

impl Stream for Listeners {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        let rows = batch.to_rows::<Listener>()?;
        self.times.rows_ns = rows.iter().map(|row| row.t_ns).max().max(self.times.rows_ns);
        self.now.extend(rows);
        let samples = batch.to_rows::<Sample>()?.into_iter().map(|row| row.t_ns);
        let others = samples.chain(batch.to_rows::<Tcp>()?.into_iter().map(|row| row.t_ns));
        // When it began: what stands in a sample of a thinned recording may be of different times.
        self.times.others_ns = others.chain(self.times.others_ns).min();
        Ok(())
    }

    fn commit(&mut self) -> Option<StatBlock> {
        let times = std::mem::take(&mut self.times);
        let t_ns = times.t_ns()?;
        let before = self.before.replace(times);
        let since_boot = before.is_none();
        self.learn(since_boot);
        let seconds = before.map_or(t_ns as f64 / 1e9, |before| times.seconds_since(before));
        let mut there: Vec<&Socket> = self.known.values().filter(|socket| socket.is_there()).collect();
        there.sort_by(|a, b| b.rank().cmp(&a.rank()).then_with(|| a.place().cmp(&b.place())));
        let rows: Vec<StatRow> = there.into_iter().map(|socket| socket.row(seconds)).collect();
        // A list that the kernel gives while sockets come and go may lack one, which is in the next: that is not a new one.
        self.known.retain(|_, socket| socket.is_there() || Some(socket.last.t_ns) == times.rows_ns);
        let is_shown = !rows.is_empty() && (!since_boot || self.since_boot);
        is_shown.then_some(StatBlock { subject: CounterSubject::Listen, t_ns, seconds, since_boot, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{StatFold, StatOptions};
    use super::*;

    fn listener(port: i64, queue: i64, drops: Option<i64>) -> Listener {
        Listener {
            t_ns: 0,
            t_s: 0.0,
            address: "0.0.0.0".into(),
            port,
            queue,
            backlog: 5,
            limit: Some(4096),
            drops,
            pid: Some(port + 1000),
            comm: Some("server".into()),
            inode: Some(port),
            gone: Some(false),
        }
    }

    fn sample(t_s: i64) -> Sample {
        Sample { t_ns: t_s * 1_000_000_000, t_s: 0.0, length_ns: 0, slowest: "listener".into(), slowest_ns: 0 }
    }

    /// What is made of samples a second apart.
    fn blocks(options: &StatOptions, samples: &[Vec<Listener>]) -> Vec<StatBlock> {
        let mut fold = StatFold::new(&[CounterSubject::Listen], options);
        let mut blocks = Vec::new();
        for (t_s, rows) in (1..).zip(samples) {
            // It is read 2 ms after the sample began.
            let at = |row: &Listener| Listener { t_ns: t_s * 1_000_000_000 + 2_000_000, ..row.clone() };
            let rows: Vec<Listener> = rows.iter().map(at).collect();
            fold.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
            fold.accept(&RowBatch::from_rows(&[sample(t_s)]).unwrap()).unwrap();
            blocks.extend(fold.commit());
        }
        blocks
    }

    /// Port, and two figures of each socket.
    fn figures(block: &StatBlock, keys: [&str; 2]) -> Vec<(String, [Option<f64>; 2])> {
        let port = |row: &StatRow| row.name.rsplit_once(':').unwrap().1.to_string();
        block.rows.iter().map(|row| (port(row), keys.map(|key| block.value(row, key)))).collect()
    }

    fn of(port: i64, figures: [Option<f64>; 2]) -> (String, [Option<f64>; 2]) {
        (port.to_string(), figures)
    }

    #[test]
    fn all_of_the_first_sample_are_carried_forward() {
        let first = vec![listener(80, 0, Some(7)), listener(22, 0, None), listener(1521, 6, Some(0))];
        let blocks = blocks(&StatOptions::default(), &[first, vec![listener(1521, 6, Some(30))], vec![]]);
        assert_eq!(blocks.len(), 2, "the first sample has no interval");
        let keys = ["queue", "drops_per_s"];
        let expect = [of(1521, [Some(6.0), Some(30.0)]), of(80, [Some(0.0), Some(0.0)]), of(22, [Some(0.0), None])];
        assert_eq!(figures(&blocks[0], keys), expect);
        let row = &blocks[0].rows[0];
        assert_eq!((row.name.as_str(), &row.texts[..]), ("0.0.0.0:1521", &[Some("server".to_string())][..]));
        let value = |key: &str| blocks[0].value(row, key);
        assert_eq!((value("backlog"), value("full_percent")), (Some(5.0), Some(120.0)));
        assert_eq!((value("drops"), value("limit"), value("pid")), (Some(30.0), Some(4096.0), Some(2521.0)));
        // No listener changed: no rows, empty queues, the same drops. A socket without a count of drops shows none.
        assert_eq!((blocks[1].t_ns, blocks[1].seconds), (3_000_000_000, 1.0));
        let expect = [of(1521, [Some(0.0), Some(0.0)]), of(80, [Some(0.0), Some(0.0)]), of(22, [Some(0.0), None])];
        assert_eq!(figures(&blocks[1], keys), expect);
        assert_eq!(figures(&blocks[1], ["full_percent", "drops"])[0], of(1521, [Some(0.0), Some(30.0)]));
    }

    #[test]
    fn the_first_sample_when_it_is_asked_for() {
        let options = StatOptions { since_boot: true, ..StatOptions::default() };
        let blocks = blocks(&options, &[vec![listener(80, 3, Some(7))]]);
        assert!(blocks[0].since_boot);
        // It began to listen at an unknown time after boot.
        assert_eq!(figures(&blocks[0], ["queue", "drops_per_s"]), [of(80, [Some(3.0), None])]);
    }

    #[test]
    fn a_rate_is_over_the_time_since_the_sample_before() {
        let quiet = vec![listener(80, 0, Some(10))];
        let blocks = blocks(&StatOptions::default(), &[quiet, vec![], vec![], vec![listener(80, 0, Some(30))]]);
        let rates: Vec<_> = blocks.iter().map(|block| figures(block, ["drops", "drops_per_s"]).remove(0).1).collect();
        assert_eq!(rates, [[Some(10.0), Some(0.0)], [Some(10.0), Some(0.0)], [Some(30.0), Some(20.0)]]);
    }

    #[test]
    fn one_that_is_new_counts_whole_and_one_that_is_gone_is_left_out() {
        let first = vec![listener(80, 0, Some(50)), listener(22, 0, Some(0))];
        let gone = Listener { gone: Some(true), ..listener(80, 0, Some(50)) };
        // The server was started again.
        let again = Listener { inode: Some(81), backlog: 128, ..listener(80, 0, Some(4)) };
        let options = StatOptions::default();
        let shown = blocks(&options, &[first.clone(), vec![gone.clone(), again.clone()], vec![]]);
        let keys = ["backlog", "drops_per_s"];
        let expect = [of(80, [Some(128.0), Some(4.0)]), of(22, [Some(5.0), Some(0.0)])];
        assert_eq!(figures(&shown[0], keys), expect);
        let expect = [of(80, [Some(128.0), Some(0.0)]), of(22, [Some(5.0), Some(0.0)])];
        assert_eq!(figures(&shown[1], keys), expect);
        // It was missing in one list, and is itself again.
        let shown = blocks(&options, &[first.clone(), vec![gone], vec![listener(80, 0, Some(51))]]);
        assert_eq!(figures(&shown[0], keys), [of(22, [Some(5.0), Some(0.0)])]);
        assert_eq!(figures(&shown[1], keys)[0], of(80, [Some(5.0), Some(1.0)]));
        // A reader that joined late does not know what a socket dropped before its first row.
        let joined = StatOptions { joins: true, ..StatOptions::default() };
        let shown = blocks(&joined, &[first, vec![again]]);
        assert_eq!(figures(&shown[0], keys)[1], of(80, [Some(128.0), None]));
    }

    #[test]
    fn several_of_one_port_and_older_recordings() {
        let two = |drops: [i64; 2]| -> Vec<Listener> {
            let one = |(inode, drops)| Listener { inode: Some(inode), ..listener(80, 0, Some(drops)) };
            [7, 8].into_iter().zip(drops).map(one).collect()
        };
        let options = StatOptions::default();
        let shown = blocks(&options, &[two([100, 0]), two([101, 9])]);
        let keys = ["drops", "drops_per_s"];
        assert_eq!(figures(&shown[0], keys), [of(80, [Some(9.0), Some(9.0)]), of(80, [Some(101.0), Some(1.0)])]);
        let old = |queue, drops| vec![Listener { inode: None, gone: None, ..listener(80, queue, drops) }];
        let shown = blocks(&options, &[old(0, Some(100)), old(2, Some(3)), old(0, None)]);
        let rates: Vec<_> = shown.iter().map(|block| figures(block, ["queue", "drops_per_s"]).remove(0).1).collect();
        assert_eq!(rates, [[Some(2.0), None], [Some(0.0), None]], "the count began anew; an unknown count is not 0");
    }
}
