//! Servers of this machine, sampled while their page is open: who listens, and how long those on one port take.

use super::missing::{OFF, brief};
use crate::MonitorError;
use crate::event_cpu_time::push;
use crate::events::lost_row;
use crate::requests::rows;
use quantity::clock;
use recording::RowBatch;
use recording::rows::Listener;
use top_page::{ServerFacts, WatchedRequests};
use trace::TraceError;
use trace::requests::ServerLatencyTrace;

/// So often who listens is looked for, as long as the list is open: it means reading every process's files.
const LIST_EVERY_NS: u64 = 5_000_000_000;
/// And so many times as long as that takes is in between: the page waits for it.
const LIST_SELDOM: u64 = 20;
/// Said until the first figures are there.
const SOON: &str = "watched from now on: with the next sample";

/// What is looked at, and what is known of it.
pub(crate) struct RequestWatch {
    watch: WatchedRequests,
    /// The user switched probes off.
    is_off: bool,
    probe: Option<Box<ServerLatencyTrace>>,
    missing: Option<String>,
    listening: Vec<Listener>,
    /// When who listens is looked for again.
    list_ns: u64,
    from_ns: u64,
    lost: u64,
}

impl RequestWatch {
    pub(crate) fn new(is_off: bool) -> Self {
        Self {
            watch: WatchedRequests::Nothing,
            is_off,
            probe: None,
            missing: is_off.then(|| OFF.to_string()),
            listening: Vec::new(),
            list_ns: 0,
            from_ns: 0,
            lost: 0,
        }
    }

    /// What is known besides rows.
    pub(crate) fn servers(&self) -> ServerFacts<'_> {
        ServerFacts { listening: Some(&self.listening), missing: self.missing.as_deref() }
    }

    /// Begins to look at this, and ends what was looked at before.
    pub(crate) fn look_at(&mut self, watch: WatchedRequests) {
        if watch == self.watch {
            return;
        }
        self.watch = watch;
        // Gone from the kernel.
        self.probe = None;
        match watch {
            WatchedRequests::Nothing => {}
            WatchedRequests::Servers => self.list(),
            WatchedRequests::Port(port) if !self.is_off => {
                let started = ServerLatencyTrace::start(&[port]);
                self.missing = Some(started.as_ref().map_or_else(why, |_| SOON.to_string()));
                self.probe = started.ok().map(Box::new);
                (self.from_ns, self.lost) = (clock::now_ns(), 0);
            }
            WatchedRequests::Port(_) => {}
        }
    }

    fn list(&mut self) {
        let begun_ns = clock::now_ns();
        match collect::listening() {
            Ok(listening) => self.listening = listening,
            Err(error) => self.missing = Some(format!("who listens is not known: {error}")),
        }
        self.list_ns = next_list_ns(begun_ns, clock::now_ns());
    }

    /// Ends an interval: its batches.
    pub(crate) fn take(&mut self, t_ns: u64, origin_ns: u64, batches: &mut Vec<RowBatch>) -> Result<(), MonitorError> {
        if self.watch == WatchedRequests::Servers && t_ns >= self.list_ns {
            self.list();
        }
        let Some(probe) = &mut self.probe else { return Ok(()) };
        let read = rows(probe, (self.from_ns, t_ns, origin_ns)).and_then(|rows| Ok((rows, probe.losses()?.lost())));
        let (rows, lost) = match read {
            Ok(read) => read,
            // The page goes on without it, until it is opened anew.
            Err(error) => {
                (self.probe, self.missing) = (None, Some(why(&error)));
                return Ok(());
            }
        };
        push(batches, &rows)?;
        if lost > self.lost {
            push(batches, &[lost_row((t_ns, origin_ns), lost - self.lost, "requests")])?;
        }
        (self.from_ns, self.lost, self.missing) = (t_ns, lost, None);
        Ok(())
    }
}

/// When the next listing is due after one that took from `begun_ns` to `end_ns`.
fn next_list_ns(begun_ns: u64, end_ns: u64) -> u64 {
    let took_ns = end_ns.saturating_sub(begun_ns);
    end_ns.saturating_add(took_ns.saturating_mul(LIST_SELDOM).max(LIST_EVERY_NS))
}

/// In one line; on a kernel that is too old, which version is needed.
fn why(error: &TraceError) -> String {
    if matches!(error, TraceError::NoTracepoint { .. }) { error.to_string() } else { brief(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::rows::RequestInterval;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    fn take(watch: &mut RequestWatch) -> Vec<RequestInterval> {
        let mut batches = Vec::new();
        watch.take(clock::now_ns(), 0, &mut batches).unwrap();
        batches.iter().flat_map(|batch| batch.to_rows::<RequestInterval>().unwrap()).collect()
    }

    #[test]
    fn the_probe_runs_while_its_page_is_open() {
        if !testkit::require_root_or_skip() {
            return;
        }
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut connection = server.accept().unwrap().0;
        let mut ask = || {
            client.write_all(b"q").unwrap();
            connection.read_exact(&mut [0]).unwrap();
            connection.write_all(b"a").unwrap();
            client.read_exact(&mut [0]).unwrap();
        };
        let mut watch = RequestWatch::new(false);
        watch.look_at(WatchedRequests::Servers);
        let is_it = |row: &&Listener| row.port == i64::from(port);
        let here = watch.servers().listening.unwrap_or_default().iter().find(is_it).map(|row| row.pid);
        assert_eq!(here, Some(Some(i64::from(std::process::id()))));
        assert!(take(&mut watch).is_empty() && watch.probe.is_none(), "nothing is watched for the list");
        watch.look_at(WatchedRequests::Port(port));
        assert_eq!(watch.servers().missing, Some(SOON));
        ask();
        let rows = take(&mut watch);
        assert_eq!(rows.iter().filter_map(|row| row.count).sum::<i64>(), 1, "{rows:?}");
        assert_eq!((rows[0].port, watch.servers().missing), (i32::from(port), None));
        watch.look_at(WatchedRequests::Nothing);
        ask();
        assert!(take(&mut watch).is_empty() && watch.probe.is_none());
    }

    #[test]
    fn what_takes_long_is_done_seldom() {
        const SECOND_NS: u64 = 1_000_000_000;
        assert_eq!(next_list_ns(SECOND_NS, SECOND_NS + 1_000_000), 6 * SECOND_NS + 1_000_000);
        assert_eq!(next_list_ns(SECOND_NS, 2 * SECOND_NS), 22 * SECOND_NS);
    }

    #[test]
    fn what_cannot_be_is_said_in_a_line() {
        let old = TraceError::NoTracepoint { tracepoint: "sock_send_length", loss: "nothing is seen", since: "6.3" };
        assert!(why(&old).contains("Linux 6.3"), "{}", why(&old));
        assert_eq!(why(&TraceError::Privilege { missing: vec!["CAP_BPF"] }), "needs root");
        let mut off = RequestWatch::new(true);
        off.look_at(WatchedRequests::Port(1));
        assert_eq!((off.servers().missing, off.probe.is_none()), (Some(OFF), true));
    }
}
