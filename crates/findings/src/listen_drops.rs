//! What each socket that listens dropped, sample by sample.

use rates::stat::drops_since;
use recording::rows::Listener;
use std::collections::HashMap;

/// Address, port and number of the socket: several may share the former two. Older recordings do not tell the number.
type Key = (String, i64, Option<i64>);

fn key(row: &Listener) -> Key {
    (row.address.clone(), row.port, row.inode)
}

/// Sockets that listen. One has a row whenever it dropped something.
#[derive(Debug, Default)]
pub(crate) struct ListenDrops {
    /// Drops at the last row of each.
    known: HashMap<Key, Option<i64>>,
    now: Vec<Listener>,
    /// Sockets that are gone since this sample, and since the one before.
    gone: [Vec<Key>; 2],
    /// What comes is not the beginning of a recording: a socket without a row before need not be new.
    pub(crate) joins: bool,
}

impl ListenDrops {
    /// Takes rows of the table `listener`. One that is gone drops no more connections; what was seen of it stays.
    pub(crate) fn accept(&mut self, rows: Vec<Listener>) {
        let (gone, there): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.gone == Some(true));
        self.gone[0].extend(gone.iter().map(key));
        self.now.extend(there);
    }

    /// The rows of this sample, each with what its socket dropped since its row before.
    pub(crate) fn take(&mut self, is_first: bool) -> (Vec<Listener>, Vec<f64>) {
        let is_new = !is_first && !self.joins;
        let drops = self.now.iter().map(|row| {
            let before = self.known.insert(key(row), row.drops);
            drops_since(row, before, is_new).unwrap_or(0) as f64
        });
        let drops = drops.collect();
        let rows = std::mem::take(&mut self.now);
        let gone_now = std::mem::take(&mut self.gone[0]);
        let gone = std::mem::replace(&mut self.gone[1], gone_now);
        // One that the kernel's list lacked once is there again in the next, and is no new one.
        for key in gone.iter().filter(|gone| !rows.iter().any(|row| key(row) == **gone)) {
            self.known.remove(key);
        }
        (rows, drops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(inode: Option<i64>, drops: Option<i64>) -> Listener {
        Listener { address: "0.0.0.0".into(), port: 80, inode, drops, ..Listener::default() }
    }

    fn gone(inode: i64) -> Listener {
        Listener { gone: Some(true), ..row(Some(inode), Some(0)) }
    }

    /// Drops of the rows of each sample.
    fn drops(mut of: ListenDrops, samples: Vec<Vec<Listener>>) -> Vec<Vec<f64>> {
        let take = |(at, rows)| {
            of.accept(rows);
            of.take(at == 0).1
        };
        samples.into_iter().enumerate().map(take).collect()
    }

    #[test]
    fn each_socket_has_a_count_of_its_own() {
        let both = |first, second| vec![row(Some(7), Some(first)), row(Some(8), Some(second))];
        let shown = drops(ListenDrops::default(), vec![both(5, 1000), both(7, 1000), both(9, 1003)]);
        assert_eq!(shown, [[0.0, 0.0], [2.0, 0.0], [2.0, 3.0]]);
        // Recordings without numbers of sockets: of another one of that port it is not known.
        let old = |drops| vec![row(None, drops)];
        assert_eq!(drops(ListenDrops::default(), vec![old(Some(9)), old(Some(3)), old(None)]), [[0.0], [0.0], [0.0]]);
    }

    #[test]
    fn a_new_socket_counts_whole_and_one_that_a_list_lacked_goes_on() {
        let one = |inode, drops| vec![row(Some(inode), Some(drops))];
        let samples = || vec![one(7, 5), vec![gone(7), row(Some(9), Some(500))], one(9, 501)];
        assert_eq!(drops(ListenDrops::default(), samples()), [[0.0], [500.0], [1.0]]);
        let joined = ListenDrops { joins: true, ..ListenDrops::default() };
        assert_eq!(drops(joined, samples()), [[0.0], [0.0], [1.0]], "it may have dropped them before");
        let lacked = vec![one(7, 5), vec![gone(7)], one(7, 8)];
        assert_eq!(drops(ListenDrops::default(), lacked), [vec![0.0], vec![], vec![3.0]]);
        // Its number is another socket's later.
        let again = vec![one(7, 5), vec![gone(7)], vec![], one(7, 8)];
        assert_eq!(drops(ListenDrops::default(), again), [vec![0.0], vec![], vec![], vec![8.0]]);
    }
}
