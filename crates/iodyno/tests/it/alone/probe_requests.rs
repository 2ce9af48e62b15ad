//! `iodyno probe requests` beside a real server that knows itself how long it took for each answer.

use crate::support::Scratch;
use quantity::clock::{now_ns, thread_cpu_ns};
use quantity::histogram::{Histogram, STORED_SUB_BITS};
use recording::Reader;
use recording::rows::RequestInterval;
use rustix::process::Signal;
use rustix::thread::{CpuSet, gettid, sched_setaffinity};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use testkit::{Child, CommandOutput, TestCommand, while_cpus_are_ours};

/// How long each answer takes at least.
const WORK: Duration = Duration::from_millis(20);

/// What a client asks for, in a byte.
const SLEEP: u8 = b's';
const BURN: u8 = b'b';
/// Needs a second byte.
const TWO: u8 = b't';
/// Is answered by a thread that does nothing else.
const HAND_OVER: u8 = b'h';
/// Is answered by the end of the connection.
const NOTHING: u8 = b'n';

/// The first byte of a request of two was read.
static HALF_READ: AtomicBool = AtomicBool::new(false);

/// A server with a thread for each connection. On each it writes first, and after each answer it writes once more.
struct Server {
    port: u16,
    /// Times from having read requests until it began to write the answers, by its own clock: not more than they took.
    least_ns: Arc<AtomicU64>,
}

impl Server {
    /// Listens on `address`; `prepare` is called in the thread of each connection.
    fn start(address: &str, prepare: fn()) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        let least_ns = Arc::new(AtomicU64::new(0));
        let theirs = Arc::clone(&least_ns);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let least_ns = Arc::clone(&theirs);
                std::thread::spawn(move || {
                    prepare();
                    serve(stream.unwrap(), &least_ns);
                });
            }
        });
        Self { port, least_ns }
    }
}

fn serve(mut stream: TcpStream, least_ns: &Arc<AtomicU64>) {
    stream.set_nodelay(true).unwrap();
    stream.write_all(b"!").unwrap();
    let mut byte = [0];
    while stream.read(&mut byte).is_ok_and(|count| count == 1) {
        let read_ns = now_ns();
        let kind = byte[0];
        match kind {
            SLEEP | HAND_OVER => std::thread::sleep(WORK),
            BURN => {
                let until_ns = thread_cpu_ns() + u64::try_from(WORK.as_nanos()).unwrap();
                while thread_cpu_ns() < until_ns {}
            }
            TWO => {
                HALF_READ.store(true, Ordering::Relaxed);
                stream.read_exact(&mut byte).unwrap();
            }
            _ => return,
        }
        let mut to = stream.try_clone().unwrap();
        let least_ns = Arc::clone(least_ns);
        let answer = move || {
            least_ns.fetch_add(now_ns() - read_ns, Ordering::Relaxed);
            to.write_all(b"a")
        };
        if kind == HAND_OVER {
            std::thread::spawn(answer).join().unwrap().unwrap();
        } else if { answer }().is_err() {
            return;
        }
        // Of the answer that was given already.
        stream.write_all(b".").unwrap();
    }
}

struct Client {
    stream: TcpStream,
    /// Times from before requests were sent until their answers were there: not less than they took.
    most_ns: u64,
    sent_ns: u64,
}

impl Client {
    fn connect(address: &str, port: u16) -> Self {
        let stream = TcpStream::connect(format!("{address}:{port}")).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut client = Self { stream, most_ns: 0, sent_ns: 0 };
        client.expect(b"!");
        client
    }

    fn expect(&mut self, text: &[u8]) {
        let mut read = vec![0; text.len()];
        self.stream.read_exact(&mut read).unwrap();
        assert_eq!(read, text);
    }

    /// The first byte of a request.
    fn send(&mut self, kind: u8) {
        self.sent_ns = now_ns();
        self.stream.write_all(&[kind]).unwrap();
    }

    /// The answer to it.
    fn receive(&mut self) {
        self.expect(b"a");
        self.most_ns += now_ns() - self.sent_ns;
        self.expect(b".");
    }

    fn ask(&mut self, kind: u8) {
        self.send(kind);
        self.receive();
    }
}

/// The name of this program, as the kernel cuts it.
fn own_comm() -> String {
    std::fs::read_to_string("/proc/self/comm").unwrap().trim_end().to_string()
}

struct Probing<'a> {
    scratch: &'a Scratch,
    child: Child,
}

impl<'a> Probing<'a> {
    /// `iodyno probe requests --port PORTS -o probed`; returns once everything is attached.
    fn start(scratch: &'a Scratch, ports: &[u16]) -> Self {
        let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
        let arguments = ["probe", "requests", "--port", &ports.join(","), "100ms", "-o", "probed"];
        let _ = std::fs::remove_dir_all(scratch.path("probed"));
        let mut child = scratch.iodyno(&arguments).spawn().unwrap();
        if !child.wait_for_stdout("probing", Duration::from_secs(60)) {
            panic!("no probe: {:?}", child.wait());
        }
        Self { scratch, child }
    }

    fn stop(self) -> (CommandOutput, Vec<RequestInterval>) {
        self.child.signal(Signal::INT);
        let output = self.child.wait().unwrap().expect_code(0);
        (output, Reader::open(self.scratch.path("probed")).unwrap().table().unwrap())
    }
}

/// Answers on a port, all intervals together.
fn answers(rows: &[RequestInterval], port: u16, preempted: &[Option<bool>]) -> Histogram {
    let mut all = Histogram::new(STORED_SUB_BITS);
    let rows = rows.iter().filter(|row| row.port == i32::from(port) && row.comm.is_some());
    for row in rows.filter(|row| preempted.contains(&row.preempted)) {
        assert_eq!(row.count, Some(i64::try_from(row.response.count()).unwrap()), "{row:?}");
        assert_eq!(row.comm.as_deref(), Some(own_comm().as_str()), "{row:?}");
        all.merge(&row.response);
    }
    all
}

const ALL: [Option<bool>; 3] = [Some(false), Some(true), None];
const KNOWN: [Option<bool>; 2] = [Some(false), Some(true)];

/// Every answer is counted once, and they took no less than the server says and no more than the clients do.
fn counted(all: &Histogram, count: u64, server: &Server, most_ns: u64) {
    assert_eq!(all.count(), count);
    let least_ns = u128::from(server.least_ns.load(Ordering::Relaxed));
    let (sum_ns, most_ns) = (all.sum(), u128::from(most_ns));
    assert!((least_ns..=most_ns).contains(&sum_ns), "{sum_ns} ns, {least_ns} to {most_ns} by the others' own clocks");
}

#[test]
#[ignore = "times: make exam"]
fn every_answer_counts_once_and_takes_as_long_as_the_server_says() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    while_cpus_are_ours(|| {
        let scratch = Scratch::new();
        let four = Server::start("127.0.0.1:0", || {});
        let six = Server::start("[::1]:0", || {});
        let early = Client::connect("127.0.0.1", four.port);
        let probing = Probing::start(&scratch, &[four.port, six.port]);
        // Three connections at the same time, one of them from before the probe; several requests on each.
        let ask = |mut client: Client, count: usize| {
            std::thread::spawn(move || {
                (0..count).for_each(|_| client.ask(SLEEP));
                client.most_ns
            })
        };
        let clients: Vec<JoinHandle<u64>> = vec![
            ask(early, 9),
            ask(Client::connect("127.0.0.1", four.port), 10),
            ask(Client::connect("127.0.0.1", four.port), 11),
            ask(Client::connect("[::1]", six.port), 2),
        ];
        let most_ns: Vec<u64> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        let (output, rows) = probing.stop();
        let all = answers(&rows, four.port, &ALL);
        counted(&all, 30, &four, most_ns[..3].iter().sum());
        // Where an interval ends between an answer and its extreme, the least is the lower end of its bucket.
        assert!(all.min().unwrap() >= 19_900_000, "{all:?}");
        counted(&answers(&rows, six.port, &ALL), 2, &six, most_ns[3]);
        assert_eq!(answers(&rows, four.port, &[None]).count(), 0, "each thread reads and writes itself");
        for word in ["not preempted", &own_comm(), "response times of", "all of"] {
            assert!(output.stdout.contains(word), "{word}: {}", output.stdout);
        }
        let page = scratch.iodyno(&["report", "probed", "-o", "page.html"]).run().unwrap().expect_code(0);
        assert!(page.stderr.is_empty(), "{}", page.stderr);
        let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
        for view in ["requests.servers", "requests.rate", "requests.response_heatmap", "requests.histogram"] {
            assert!(page.contains(&format!("\"id\":\"{view}\"")), "the report has no {view}");
        }
        let name = format!("{} {}", six.port, own_comm());
        scratch
            .iodyno(&["chart", "probed", "requests.response", "--target", &name, "-o", "a.svg"])
            .run()
            .unwrap()
            .expect_code(0);
        let picture = std::fs::read_to_string(scratch.path("a.svg")).unwrap();
        assert!(picture.contains(&name), "the picture does not say whose times these are");
        let wrong = scratch.iodyno(&["chart", "probed", "requests.response", "--target", "80 httpd", "-o", "b.svg"]);
        let wrong = wrong.run().unwrap();
        assert!(wrong.code != Some(0) && wrong.stderr.contains(&name), "{}", wrong.stderr);
    });
}

#[test]
fn what_is_a_request_and_what_is_an_answer() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    let scratch = Scratch::new();
    let server = Server::start("127.0.0.1:0", || {});
    let silent = Server::start("127.0.0.1:0", || {});
    let probing = Probing::start(&scratch, &[server.port, silent.port]);
    // Read and never answered; that the next connections are written to first is no answer to it.
    for _ in 0..20 {
        let mut client = Client::connect("127.0.0.1", server.port);
        client.send(NOTHING);
        assert_eq!(client.stream.read(&mut [0]).unwrap(), 0);
    }
    // A connection without a request.
    drop(Client::connect("127.0.0.1", server.port));
    // In two parts: from the first one on.
    let mut client = Client::connect("127.0.0.1", server.port);
    client.send(TWO);
    while !HALF_READ.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(60));
    client.stream.write_all(b".").unwrap();
    client.receive();
    // By a thread that is new to the probe.
    client.ask(HAND_OVER);
    let (_, rows) = probing.stop();
    let known = answers(&rows, server.port, &KNOWN);
    counted(&answers(&rows, server.port, &ALL), 2, &server, client.most_ns);
    assert_eq!(known.count(), 1);
    assert!(known.min().unwrap() >= 59_000_000, "{known:?}");
    assert_eq!(answers(&rows, server.port, &[None]).count(), 1, "of the thread that wrote nothing was known");
    let of_silent: Vec<_> = rows.iter().filter(|row| row.port == i32::from(silent.port)).collect();
    assert!(!of_silent.is_empty(), "it was watched");
    assert!(of_silent.iter().all(|row| row.comm.is_none() && row.count.is_none()), "{of_silent:?}");
}

fn to_cpu_0() {
    let mut one = CpuSet::new();
    one.set(0);
    sched_setaffinity(None, &one).unwrap();
}

/// Wants CPU 0 all the time, until it is dropped.
struct Spinner(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Spinner {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&is_over);
        let spin = move || {
            to_cpu_0();
            while !theirs.load(Ordering::Relaxed) {}
        };
        Self(is_over, Some(std::thread::spawn(spin)))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        let _ = self.1.take().map(JoinHandle::join);
    }
}

/// Before all others that are not as urgent.
fn urgent() {
    let tid = gettid().as_raw_nonzero().to_string();
    TestCommand::new("chrt").args(["-f", "-p", "50", &tid]).run().unwrap().expect_code(0);
}

#[test]
#[ignore = "times: make exam"]
fn requests_that_wait_for_a_cpu_are_separate() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let _alone = testkit::alone();
    while_cpus_are_ours(|| {
        let scratch = Scratch::new();
        let (crowded, first) = (Server::start("127.0.0.1:0", to_cpu_0), Server::start("127.0.0.1:0", urgent));
        let spinner = Spinner::start();
        let (mut to_crowded, mut to_first) =
            (Client::connect("127.0.0.1", crowded.port), Client::connect("127.0.0.1", first.port));
        let probing = Probing::start(&scratch, &[crowded.port, first.port]);
        (0..10).for_each(|_| to_crowded.ask(BURN));
        drop(spinner);
        (0..10).for_each(|_| to_first.ask(BURN));
        let (output, rows) = probing.stop();
        let all = answers(&rows, crowded.port, &ALL);
        counted(&all, 10, &crowded, to_crowded.most_ns);
        // Both want the CPU all the time: it was preempted in each of its 20 ms.
        assert_eq!(answers(&rows, crowded.port, &[Some(true)]).count(), 10, "{}", output.stdout);
        counted(&answers(&rows, first.port, &ALL), 10, &first, to_first.most_ns);
        let alone = answers(&rows, first.port, &[Some(false)]);
        assert!(alone.count() >= 8, "{} of 10 were left alone: {}", alone.count(), output.stdout);
        let (with, without) = (all.percentile(0.5).unwrap(), alone.percentile(0.5).unwrap());
        assert!(with > without + without / 4, "{with} ns behind the other one, {without} ns alone");
    });
}

#[test]
fn programs_get_null_for_what_was_not_seen() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let server = Server::start("127.0.0.1:0", || {});
    let _alone = testkit::alone();
    let port = server.port.to_string();
    let output =
        scratch.iodyno(&["probe", "requests", "--port", &port, "200ms", "1", "--json", "--cost"]).run().unwrap();
    let output = output.expect_code(0);
    let objects = output.ndjson();
    assert_eq!(objects.len(), 2, "{}", output.stdout);
    let row = &objects[0]["rows"][0];
    assert_eq!(row["port"].as_u64(), Some(u64::from(server.port)), "{}", output.stdout);
    for path in [
        "/program",
        "/requests",
        "/requests_per_s",
        "/preempted_percent",
        "/not_preempted/requests",
        "/not_preempted/p50_ns",
        "/preempted/max_ns",
    ] {
        assert!(row.pointer(path).unwrap().is_null(), "{path}: {row}");
    }
    assert!(output.stderr.contains("the probes ran"), "{}", output.stderr);
}

#[test]
fn a_port_must_be_named_and_belongs_here() {
    let scratch = Scratch::new();
    let said = |arguments: &[&str]| scratch.iodyno(arguments).run().unwrap().expect_code(2).stderr;
    assert!(said(&["probe", "requests"]).contains("--port 5432"));
    assert!(said(&["probe", "io", "--port", "80"]).contains("`iodyno probe requests`"));
    assert!(said(&["probe", "requests", "--port", "80", "--by", "device"]).contains("--by has no meaning"));
    assert!(said(&["probe", "requests", "--port", "80", "--pid", "1"]).contains("--pid belongs to"));
    said(&["probe", "requests", "--port", "0"]);
    said(&["probe", "requests", "--port", "65536"]);
}
