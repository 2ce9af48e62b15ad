//! How long servers take for an answer: the ports that can be looked at, and the page of one of them.

use super::resources::milliseconds;
use super::{DrillTarget, Grid, PageInterval, PageScene, PageSheet, short_or};
use recording::rows::{Listener, RequestInterval};
use std::collections::{BTreeMap, BTreeSet};
use workload::probe::{PreemptedState, RequestFold, RequestGroup, ResponseOctave};

/// Columns of the longest bar.
const BAR: u64 = 16;

/// What of requests the page shows: measuring costs something, and is done only for what is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchedRequests {
    /// Nothing.
    #[default]
    Nothing,
    /// Which servers there are.
    Servers,
    /// How long those on this port take.
    Port(u16),
}

/// What is known of servers besides the rows of moments.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerFacts<'a> {
    /// Sockets that listen now, with a process that holds each; `None` where that is not this machine.
    pub listening: Option<&'a [Listener]>,
    /// Why there are no response times, when there are none.
    pub missing: Option<&'a str>,
}

/// What stands behind a port in the list.
#[derive(Default)]
struct Server {
    programs: BTreeSet<String>,
    addresses: BTreeSet<String>,
}

impl PageScene<'_> {
    /// Ports with a listener, and those that were watched.
    pub(super) fn ports(&self) -> Grid {
        let mut grid = Grid::new("whose requests? Enter watches a port until Esc", &["port", "program", "address"]);
        let mut servers: BTreeMap<u16, Server> = BTreeMap::new();
        for row in self.servers.listening.unwrap_or_default() {
            let Ok(port) = u16::try_from(row.port) else { continue };
            let server = servers.entry(port).or_default();
            server.addresses.insert(row.address.clone());
            let pid = row.pid.map_or_else(String::new, |pid| format!(" {pid}"));
            server.programs.extend(row.comm.as_ref().map(|comm| format!("{comm}{pid}")));
        }
        for row in self.moments.iter().flat_map(|moment| &moment.requests) {
            let Ok(port) = u16::try_from(row.port) else { continue };
            let server = servers.entry(port).or_default();
            if server.addresses.is_empty() {
                server.programs.extend(row.comm.as_ref().map(ToString::to_string));
            }
        }
        let words = |all: &BTreeSet<String>| {
            let words: Vec<&str> = all.iter().map(String::as_str).collect();
            if words.is_empty() { "?".to_string() } else { words.join(", ") }
        };
        for (port, server) in &servers {
            let cells = vec![port.to_string(), words(&server.programs), words(&server.addresses)];
            grid.push(cells, DrillTarget::Sheet(PageSheet::Requests(*port)));
        }
        if grid.rows.is_empty() {
            let none = match self.servers.listening {
                Some(_) => "no TCP socket listens here",
                None => "no port was watched at this time",
            };
            grid.note = Some(self.servers.missing.unwrap_or(none).to_string());
        }
        grid
    }

    /// Answers on a port in the last ten seconds, those of threads that waited for a CPU apart from the others.
    pub(super) fn requests(&self, port: u16) -> Vec<Grid> {
        let mut fold = RequestFold::default();
        let of_port = |row: &&RequestInterval| row.port == i32::from(port);
        for row in self.lately().flat_map(|moment| &moment.requests).filter(of_port) {
            fold.add(row);
        }
        let seconds = fold.watched_s(port.into());
        let groups: Vec<RequestGroup> = fold.groups().into_iter().filter(|group| group.count().is_some()).collect();
        let mut grid = Grid::new(
            format!("answers on port {port}, last 10 s: from reading a request to writing"),
            &["program", "req/s", "share", "p50", "p99", "max"],
        );
        groups.iter().for_each(|group| push_kinds(&mut grid, group, seconds.unwrap_or(0.0)));
        if grid.rows.is_empty() {
            let is_watched = seconds.is_some();
            let idle = if is_watched { "no request was answered in this time" } else { "not watched in this time" };
            grid.note = Some(self.servers.missing.filter(|_| !is_watched).unwrap_or(idle).to_string());
        }
        std::iter::once(grid).chain(groups.iter().map(quantize)).collect()
    }
}

/// Those that are shown: of unknown ones only when there are any.
fn kinds(group: &RequestGroup) -> impl Iterator<Item = PreemptedState> + Clone + '_ {
    PreemptedState::ALL.into_iter().filter(|of| *of != PreemptedState::Unknown || group.responses(*of).count() > 0)
}

fn push_kinds(grid: &mut Grid, group: &RequestGroup, seconds: f64) {
    let name = group.program.as_deref().unwrap_or("?");
    let all = group.count().unwrap_or(0).max(1) as f64;
    for of in kinds(group) {
        let response = group.responses(of);
        let count = response.count() as f64;
        let time = |ns: Option<u64>| ns.map_or("-".to_string(), |ns| milliseconds(ns as f64));
        let cells = vec![
            format!("{name}: {}", of.title()),
            short_or((seconds > 0.0).then(|| count / seconds)),
            format!("{:.0}%", 100.0 * count / all),
            time(response.percentile(0.5)),
            time(response.percentile(0.99)),
            time(response.max()),
        ];
        grid.push(cells, DrillTarget::Nothing);
    }
}

/// Powers of two side by side; bars of each kind have their own scale.
fn quantize(group: &RequestGroup) -> Grid {
    let octaves = group.octaves();
    let mut grid =
        Grid::new(format!("{} by response time", group.program.as_deref().unwrap_or("?")), &["response time"]);
    let most = |of: PreemptedState| octaves.iter().map(|octave| octave.counts[of as usize]).max().unwrap_or(0).max(1);
    for of in kinds(group) {
        grid.columns.extend([of.title().to_string(), String::new()]);
    }
    for ResponseOctave { words, counts, .. } in &octaves {
        let mut cells = vec![words.clone()];
        for of in kinds(group) {
            let count = counts[of as usize];
            let length = (count * BAR / most(of)).max(u64::from(count > 0));
            let bar: String = (0..BAR).map(|at| if at < length { '█' } else { ' ' }).collect();
            cells.extend([view::Unit::Operations.format(Some(count as f64)), bar]);
        }
        grid.push(cells, DrillTarget::Nothing);
    }
    grid
}

impl PageInterval {
    /// Length of what was measured only by intervals of its own: that of its first row of requests.
    pub(super) fn requested_ns(&self) -> Option<i64> {
        self.requests.first().map(|row| row.interval_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quantity::histogram::{Histogram, STORED_SUB_BITS};
    use rates::Availability;

    fn row(port: i32, comm: Option<&str>, preempted: Option<bool>, times_ms: &[u64]) -> RequestInterval {
        let mut response = Histogram::new(STORED_SUB_BITS);
        times_ms.iter().for_each(|ms| response.record(ms * 1_000_000));
        RequestInterval {
            t_ns: 1,
            t_s: 0.0,
            interval_ns: 1_000_000_000,
            port,
            comm: comm.map(Into::into),
            preempted,
            count: comm.map(|_| i64::try_from(times_ms.len()).unwrap()),
            response,
        }
    }

    fn moment(t_s: i64, mut requests: Vec<RequestInterval>) -> PageInterval {
        requests.iter_mut().for_each(|row| row.t_ns = t_s * 1_000_000_000);
        let mut moment = PageInterval::default();
        (moment.t_ns, moment.seconds, moment.requests) = (t_s * 1_000_000_000, 1.0, requests);
        moment
    }

    fn listener(port: i64, address: &str, comm: Option<&str>) -> Listener {
        Listener {
            t_ns: 1,
            t_s: 0.0,
            address: address.to_string(),
            port,
            queue: 0,
            backlog: 128,
            limit: None,
            drops: None,
            pid: comm.map(|_| 7),
            comm: comm.map(str::to_string),
            inode: None,
            gone: None,
        }
    }

    fn scene<'a>(moments: &'a [PageInterval], servers: ServerFacts<'a>, verdicts: &'a Availability) -> PageScene<'a> {
        PageScene { servers, ..PageScene::of(moments, verdicts) }
    }

    fn cells(grid: &Grid) -> Vec<String> {
        grid.rows.iter().map(|row| row.cells.join("|").trim_end().to_string()).collect()
    }

    #[test]
    fn ports_have_their_programs_and_lead_to_their_page() {
        let verdicts = Availability::default();
        let listening = [
            listener(80, "0.0.0.0", Some("httpd")),
            listener(80, "[::]", Some("httpd")),
            listener(22, "0.0.0.0", None),
        ];
        let moments = [moment(1, vec![row(5432, Some("postgres"), Some(false), &[1])])];
        let live = scene(&moments, ServerFacts { listening: Some(&listening), missing: None }, &verdicts);
        assert_eq!(cells(&live.ports()), ["22|?|0.0.0.0", "80|httpd 7|0.0.0.0, [::]", "5432|postgres|?"]);
        assert_eq!(live.ports().rows[1].drill, DrillTarget::Sheet(PageSheet::Requests(80)));
        let none = |listening, missing| scene(&[], ServerFacts { listening, missing }, &verdicts).ports().note;
        assert_eq!(none(Some(&[]), Some("needs root")).as_deref(), Some("needs root"));
        assert_eq!(none(Some(&[]), None).as_deref(), Some("no TCP socket listens here"));
        assert_eq!(none(None, None).as_deref(), Some("no port was watched at this time"), "of a recording");
    }

    #[test]
    fn the_page_of_a_port_sums_ten_seconds_of_it_alone() {
        let verdicts = Availability::default();
        let moments = [
            moment(1, vec![row(80, Some("httpd"), Some(false), &[900])]),
            moment(14, vec![row(80, Some("httpd"), Some(false), &[20; 6]), row(22, Some("sshd"), Some(false), &[1])]),
            moment(15, vec![row(80, Some("httpd"), Some(true), &[40, 40])]),
        ];
        let grids = scene(&moments, ServerFacts::default(), &verdicts).requests(80);
        let [answers, quantize] = grids.as_slice() else { panic!("{grids:?}") };
        assert_eq!(
            cells(answers),
            [
                "httpd: not preempted|3.0|75%|20.0 ms|20.0 ms|20.0 ms",
                "httpd: preempted|1.0|25%|40.0 ms|40.0 ms|40.0 ms"
            ]
        );
        assert_eq!(quantize.columns, ["response time", "not preempted", "", "preempted", ""]);
        let blank = " ".repeat(16);
        let full = "█".repeat(16);
        assert_eq!(
            cells(quantize),
            [format!("16.8 ms – 33.6 ms|6|{full}|0|{}", ""), format!("33.6 ms – 67.1 ms|0|{blank}|2|{full}")]
        );
    }

    #[test]
    fn why_there_is_nothing_is_said() {
        let verdicts = Availability::default();
        let note = |moments: &[PageInterval], missing| {
            let servers = ServerFacts { listening: None, missing };
            scene(moments, servers, &verdicts).requests(80)[0].note.clone().unwrap_or_default()
        };
        let silent = [moment(15, vec![row(80, None, None, &[])])];
        assert_eq!(note(&silent, Some("with the next sample")), "no request was answered in this time");
        let other = [moment(15, Vec::new())];
        assert_eq!(note(&other, Some("with the next sample")), "with the next sample");
        assert_eq!(note(&other, None), "not watched in this time");
    }
}
