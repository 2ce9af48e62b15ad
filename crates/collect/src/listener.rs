//! TCP sockets that listen, with queue and backlog, over sock_diag (linux/inet_diag.h), and who holds them.

use crate::netlink::{DUMP, Netlink, REQUEST, attribute, u32_at};
use crate::subject::Stamp;
use crate::text::{counter, small, words};
use recording::rows::Listener;
use rustix::net::netlink::SOCK_DIAG;
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
/// Length of a `struct inet_diag_msg`, behind which attributes stand.
const MESSAGE_BYTES: usize = 72;
/// `INET_DIAG_SKMEMINFO`, an array of 32-bit numbers, and its place of `SK_MEMINFO_DROPS` (linux/sock_diag.h; since Linux 4.12).
const SKMEMINFO: u16 = 7;
const DROPS_AT: usize = 8 * 4;
/// `1 << TCP_LISTEN`.
const LISTENING: u32 = 1 << 10;
/// Looking for holders means reading the names of every process's files, some 10 ms. Where a queue has so many hundredths of its
/// backlog, it is done so often at most;
const LOOK_PERCENT: i64 = 80;
const LOOK_EVERY_NS: i64 = 10_000_000_000;
/// for listeners that are only new, so often. Where nothing but listeners is looked at, it is done at once.
const LOOK_NEW_EVERY_NS: i64 = 60_000_000_000;

/// One socket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Socket {
    address: String,
    port: i64,
    queue: i64,
    backlog: i64,
    drops: Option<i64>,
    inode: u32,
}

/// Asks for listeners.
#[derive(Debug)]
pub(crate) struct Listeners {
    root: PathBuf,
    netlink: Netlink,
    /// By inode: as it was in the last sample.
    known: HashMap<u32, Socket>,
    /// As it was in the last sample.
    limit: Option<i64>,
    /// By inode.
    holders: HashMap<u32, (i64, String)>,
    /// Inodes whose holder was looked for in vain.
    unheld: HashSet<u32>,
    looked_ns: Option<i64>,
    /// Holders of new listeners are looked for in the same sample.
    at_once: bool,
}

impl Listeners {
    /// Of this network namespace; needs no privilege. Processes are those under `root`.
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        let netlink = Netlink::new(Some(SOCK_DIAG))?;
        Ok(Self {
            root: root.to_path_buf(),
            netlink,
            known: HashMap::new(),
            limit: None,
            holders: HashMap::new(),
            unheld: HashSet::new(),
            looked_ns: None,
            at_once: false,
        })
    }

    /// `at_once`: who holds a new listener is looked for in the sample in which it is first seen, whatever that costs.
    pub(crate) fn looking_at_once(self, at_once: bool) -> Self {
        Self { at_once, ..self }
    }

    /// Can they be asked for?
    pub(crate) fn try_out(&mut self) -> io::Result<()> {
        sockets(&mut self.netlink).map(|_| ())
    }

    /// Rows of listeners that are gone, that are new, that have a queue, and of which something is not as it was: what they
    /// dropped, backlog, limit, who holds them.
    pub(crate) fn sample(&mut self, stamp: Stamp) -> io::Result<Vec<Listener>> {
        let sockets = sockets(&mut self.netlink)?;
        let there: HashSet<u32> = sockets.iter().map(|socket| socket.inode).collect();
        let limit = small(&self.root.join("proc/sys/net/core/somaxconn")).and_then(|text| counter(text.as_bytes()));
        // They come first: the address and port of one may be another's by now.
        let gone = self.known.values().filter(|socket| !there.contains(&socket.inode));
        let mut rows: Vec<Listener> = gone
            .map(|socket| Listener { queue: 0, gone: Some(true), ..row(socket, limit, &self.holders, stamp) })
            .collect();
        self.holders.retain(|inode, _| there.contains(inode));
        self.unheld.retain(|inode| there.contains(inode));
        let found = self.look_for_holders(&sockets, stamp);
        let is_other_limit = std::mem::replace(&mut self.limit, limit) != limit;
        let has_row = |socket: &&Socket| {
            let known = self.known.get(&socket.inode);
            let is_as_before = known.is_some_and(|was| (was.drops, was.backlog) == (socket.drops, socket.backlog));
            socket.queue > 0 || !is_as_before || is_other_limit || found.contains(&socket.inode)
        };
        rows.extend(sockets.iter().filter(has_row).map(|socket| row(socket, limit, &self.holders, stamp)));
        self.known = sockets.into_iter().map(|socket| (socket.inode, socket)).collect();
        Ok(rows)
    }

    /// Looks for the holders that are not known, unless it did a short while ago; gives the inodes of those that it found.
    fn look_for_holders(&mut self, sockets: &[Socket], stamp: Stamp) -> HashSet<u32> {
        let crowded = |socket: &Socket| socket.queue * 100 >= socket.backlog * LOOK_PERCENT && socket.queue > 0;
        let unheld =
            |socket: &&Socket| !self.holders.contains_key(&socket.inode) && !self.unheld.contains(&socket.inode);
        let wanted: HashSet<u32> = sockets.iter().filter(unheld).map(|socket| socket.inode).collect();
        let is_crowded = sockets.iter().any(|socket| crowded(socket) && wanted.contains(&socket.inode));
        let after_ns = match is_crowded {
            _ if self.at_once => 0,
            true => LOOK_EVERY_NS,
            false => LOOK_NEW_EVERY_NS,
        };
        if wanted.is_empty() || self.looked_ns.is_some_and(|at_ns| stamp.t_ns - at_ns < after_ns) {
            return HashSet::new();
        }
        self.looked_ns = Some(stamp.t_ns);
        let held = holders(&self.root, &wanted);
        let found: HashSet<u32> = held.keys().copied().collect();
        self.holders.extend(held);
        // Of another user, or the kernel's: it is not looked for again.
        self.unheld.extend(wanted.difference(&found));
        found
    }
}

/// Every TCP socket of this network namespace that listens, with a process that holds it; those of other users need
/// privilege. Reads the files of every process.
///
/// # Errors
/// The kernel cannot be asked.
pub fn listening() -> io::Result<Vec<Listener>> {
    let sockets = sockets(&mut Netlink::new(Some(SOCK_DIAG))?)?;
    let holders = holders(Path::new("/"), &sockets.iter().map(|socket| socket.inode).collect());
    let now_ns = i64::try_from(quantity::clock::now_ns()).unwrap_or(i64::MAX);
    let stamp = Stamp { t_ns: now_ns, t_s: 0.0 };
    Ok(sockets.iter().map(|socket| row(socket, None, &holders, stamp)).collect())
}

/// Those that listen.
fn sockets(netlink: &mut Netlink) -> io::Result<Vec<Socket>> {
    let mut sockets = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let mut body = [0_u8; 56];
        (body[0], body[1]) = (family, IPPROTO_TCP);
        body[2] = 1 << (SKMEMINFO - 1);
        body[4..8].copy_from_slice(&LISTENING.to_ne_bytes());
        let asked =
            netlink.ask((SOCK_DIAG_BY_FAMILY, REQUEST | DUMP), &body, Some(SOCK_DIAG_BY_FAMILY), &mut |message| {
                sockets.extend(socket(message))
            });
        // A kernel without IPv6 has none of its sockets.
        if family == AF_INET {
            asked?;
        }
    }
    Ok(sockets)
}

fn row(socket: &Socket, limit: Option<i64>, holders: &HashMap<u32, (i64, String)>, stamp: Stamp) -> Listener {
    let holder = holders.get(&socket.inode);
    Listener {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        address: socket.address.clone(),
        port: socket.port,
        queue: socket.queue,
        backlog: socket.backlog,
        limit,
        drops: socket.drops,
        pid: holder.map(|(pid, _)| *pid),
        comm: holder.map(|(_, comm)| comm.clone()),
        inode: Some(i64::from(socket.inode)),
        gone: Some(false),
    }
}

/// Reads a `struct inet_diag_msg`.
fn socket(message: &[u8]) -> Option<Socket> {
    let port = i64::from(u16::from_be_bytes(message.get(4..6)?.try_into().ok()?));
    let address = message.get(8..24)?;
    let address = match *message.first()? {
        AF_INET => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(address.get(..4)?).ok()?)),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?)),
    };
    Some(Socket {
        address: if address.is_ipv6() { format!("[{address}]") } else { address.to_string() },
        port,
        queue: i64::from(u32_at(message, 56)?),
        backlog: i64::from(u32_at(message, 60)?),
        drops: message
            .get(MESSAGE_BYTES..)
            .and_then(|attributes| u32_at(attribute(attributes, SKMEMINFO)?, DROPS_AT))
            .map(i64::from),
        inode: u32_at(message, 68)?,
    })
}

/// Processes that hold sockets with these inodes: the first found of each. Those of other users need privilege.
fn holders(root: &Path, wanted: &HashSet<u32>) -> HashMap<u32, (i64, String)> {
    let mut found = HashMap::new();
    let Ok(processes) = std::fs::read_dir(root.join("proc")) else { return found };
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| counter(name.as_bytes())) else { continue };
        let Ok(files) = std::fs::read_dir(process.path().join("fd")) else { continue };
        for file in files.flatten() {
            let Ok(target) = std::fs::read_link(file.path()) else { continue };
            let inode = target.to_str().and_then(|name| name.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
            if let Some(inode) = inode.filter(|inode| wanted.contains(inode)) {
                found.entry(inode).or_insert_with(|| {
                    let comm = small(&process.path().join("comm")).unwrap_or_default();
                    (pid, words(comm.as_bytes()).map(String::from_utf8_lossy).collect::<Vec<_>>().join(" "))
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn requests_that_a_listener_dropped_are_its_own() {
        let [server, other] = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        rustix::net::listen(&server, 1).unwrap();
        let address = server.local_addr().unwrap();
        let mut listeners = Listeners::new(Path::new("/")).unwrap();
        let mut drops = |of: &TcpListener| {
            let port = i64::from(of.local_addr().unwrap().port());
            let rows = listeners.sample(Stamp::at(0, 0)).unwrap();
            rows.into_iter().find(|row| row.port == port).map(|row| (row.drops, row.queue))
        };
        assert_eq!(drops(&server), Some((Some(0), 0)));
        assert_eq!(drops(&other), None, "it has had its row, and nothing happened");
        let wait = std::time::Duration::from_millis(200);
        let callers: Vec<_> = (0..5).map(|_| TcpStream::connect_timeout(&address, wait)).collect();
        assert_eq!(callers.iter().filter(|caller| caller.is_ok()).count(), 2, "one more than the backlog");
        let (dropped, queue) = drops(&server).unwrap();
        assert!(dropped.is_some_and(|dropped| dropped >= 3) && queue == 2, "{dropped:?} {queue}");
        for _ in 0..2 {
            server.accept().unwrap();
        }
        assert_eq!(drops(&server), None, "no connection waits, and it dropped nothing more");
    }

    #[test]
    fn a_listener_of_ours_with_a_queue() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = i64::from(server.local_addr().unwrap().port());
        let mut listeners = Listeners::new(Path::new("/")).unwrap();
        let of = |rows: Vec<Listener>| rows.into_iter().find(|row| row.port == port && row.address == "127.0.0.1");
        let first = of(listeners.sample(Stamp::at(0, 0)).unwrap()).unwrap();
        assert_eq!((first.queue, first.pid), (0, Some(i64::from(std::process::id()))));
        assert!(first.backlog > 0 && first.limit.is_some());
        assert!(of(listeners.sample(Stamp::at(1, 0)).unwrap()).is_none(), "nothing new");
        let _client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let row = of(listeners.sample(Stamp::at(2, 0)).unwrap()).unwrap();
        assert_eq!((row.queue, row.backlog), (1, first.backlog));
    }

    #[test]
    fn a_listener_that_is_gone_has_one_last_row() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = i64::from(server.local_addr().unwrap().port());
        let _client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let mut listeners = Listeners::new(Path::new("/")).unwrap();
        let mut of = |t_ns: u64| -> Vec<Listener> {
            let rows = listeners.sample(Stamp::at(t_ns, 0)).unwrap();
            rows.into_iter().filter(|row| row.port == port && row.address == "127.0.0.1").collect()
        };
        let there = of(0).remove(0);
        assert_eq!((there.queue, there.gone), (1, Some(false)));
        // A program that another test starts has a copy of the socket for a moment: closing would not end it then.
        rustix::net::shutdown(&server, rustix::net::Shutdown::Both).unwrap();
        drop(server);
        assert_eq!(of(1), [Listener { t_ns: 1, t_s: 1e-9, queue: 0, gone: Some(true), ..there }]);
        assert!(of(2).is_empty());
    }

    #[test]
    fn a_new_listener_shows_its_process_at_once_or_later() {
        let port = |server: &TcpListener| i64::from(server.local_addr().unwrap().port());
        let _old = TcpListener::bind("127.0.0.1:0").unwrap();
        let [mut seldom, mut at_once] =
            [false, true].map(|at_once| Listeners::new(Path::new("/")).unwrap().looking_at_once(at_once));
        for listeners in [&mut seldom, &mut at_once] {
            listeners.sample(Stamp::at(0, 0)).unwrap();
        }
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let of = |listeners: &mut Listeners, t_ns: u64| {
            let rows = listeners.sample(Stamp::at(t_ns, 0)).unwrap();
            rows.into_iter().find(|row| row.port == port(&server)).map(|row| row.pid)
        };
        let our = Some(Some(i64::from(std::process::id())));
        assert_eq!((of(&mut seldom, 1), of(&mut at_once, 1)), (Some(None), our));
        assert_eq!((of(&mut seldom, 2), of(&mut at_once, 2)), (None, None), "nothing new");
        assert_eq!((of(&mut seldom, 60_000_000_001), of(&mut at_once, 60_000_000_001)), (our, None));
    }

    #[test]
    fn holders_are_found() {
        use std::os::fd::AsRawFd;
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = std::fs::read_link(format!("/proc/self/fd/{}", server.as_raw_fd())).unwrap();
        let inode = link.to_str().unwrap().trim_start_matches("socket:[").trim_end_matches(']').parse().unwrap();
        let found = holders(Path::new("/"), &HashSet::from([inode]));
        assert_eq!(found.get(&inode).map(|(pid, _)| *pid), Some(i64::from(std::process::id())));
        assert!(holders(Path::new("/nowhere"), &HashSet::from([inode])).is_empty());
    }

    #[test]
    fn short_messages_are_skipped() {
        assert_eq!(socket(&[2; 40]), None);
        assert_eq!(socket(&[]), None);
    }
}
