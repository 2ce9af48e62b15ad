//! The server: one thread, HTTP/1 by hyper, and limits on everything that a client decides.

use super::Newest;
use super::request::{Hosts, wants_messages};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use openmetrics::{OPEN_METRICS, PROTOBUF};
use quantity::clock;
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Connections at a time; one more, and the one that has been quiet for longest is closed.
const CONNECTIONS_MAX: usize = 64;
/// A request's header must be there within this time, also the next one on the same connection.
const HEADER_TIME: Duration = Duration::from_secs(5);
/// No connection lives longer, whatever it waits for.
const CONNECTION_TIME: Duration = Duration::from_secs(60);
/// Longest header that is read, bytes.
const HEADER_BYTES_MAX: usize = 16 << 10;
/// Most lines of it.
const HEADER_LINES_MAX: usize = 64;
/// After an error of accepting (no file descriptor is free).
const PAUSE: Duration = Duration::from_millis(100);

/// What all connections share.
struct Server {
    newest: Arc<Mutex<Newest>>,
    hosts: Hosts,
    open: Mutex<Open>,
}

/// Connections by number.
#[derive(Default)]
struct Open {
    next: u64,
    connections: Vec<Connection>,
}

struct Connection {
    number: u64,
    /// When it was opened, or asked for something, `CLOCK_MONOTONIC`, ns.
    active_ns: Arc<AtomicU64>,
    task: AbortHandle,
}

/// Starts the thread that answers.
///
/// # Errors
/// The system has no thread, or no file descriptors.
pub(super) fn start(listeners: Vec<std::net::TcpListener>, newest: Arc<Mutex<Newest>>, hosts: Hosts) -> io::Result<()> {
    listeners.iter().try_for_each(|listener| listener.set_nonblocking(true))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let listeners = {
        let _inside = runtime.enter();
        listeners.into_iter().map(TcpListener::from_std).collect::<io::Result<Vec<TcpListener>>>()?
    };
    let server = Arc::new(Server { newest, hosts, open: Mutex::default() });
    let answer_all = move || {
        let mut tasks = Vec::new();
        for listener in listeners {
            tasks.push(runtime.spawn(accept_all(Arc::clone(&server), listener)));
        }
        for task in tasks {
            let _ = runtime.block_on(task);
        }
    };
    std::thread::Builder::new().name("endpoint".to_string()).spawn(answer_all).map(drop)
}

async fn accept_all(server: Arc<Server>, listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => server.begin(stream),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

impl Server {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection in, and closes another one where there are too many.
    fn begin(self: &Arc<Self>, stream: TcpStream) {
        let active_ns = Arc::new(AtomicU64::new(clock::now_ns()));
        let mut open = self.open();
        if open.connections.len() >= CONNECTIONS_MAX {
            let oldest = open.connections.iter().enumerate();
            let oldest = oldest.min_by_key(|(_, one)| one.active_ns.load(Ordering::Relaxed)).map(|(at, _)| at);
            if let Some(at) = oldest {
                open.connections.swap_remove(at).task.abort();
            }
        }
        let number = open.next;
        open.next += 1;
        let (server, active) = (Arc::clone(self), Arc::clone(&active_ns));
        let task = tokio::spawn(async move {
            let _ = tokio::time::timeout(CONNECTION_TIME, serve(Arc::clone(&server), stream, active)).await;
            server.open().connections.retain(|one| one.number != number);
        });
        open.connections.push(Connection { number, active_ns, task: task.abort_handle() });
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if let Some(why) = self.hosts.refuse(request) {
            return plain(StatusCode::BAD_REQUEST, why);
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match request.uri().path() {
            "/metrics" => {
                let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
                let (kind, body) = if wants_messages(request.headers()) {
                    (PROTOBUF, newest.messages())
                } else {
                    (OPEN_METRICS, newest.text())
                };
                response(StatusCode::OK, kind, body)
            }
            "/" => plain(StatusCode::OK, "iodyno record: the newest sample of this machine is at /metrics\n"),
            _ => plain(StatusCode::NOT_FOUND, "the metrics are at /metrics\n"),
        }
    }
}

/// Answers the requests of a connection, one after the other.
async fn serve(server: Arc<Server>, stream: TcpStream, active_ns: Arc<AtomicU64>) -> hyper::Result<()> {
    let service = service_fn(move |request: Request<Incoming>| {
        active_ns.store(clock::now_ns(), Ordering::Relaxed);
        let response = server.answer(&request);
        async move { Ok::<_, Infallible>(response) }
    });
    http1::Builder::new()
        .title_case_headers(true)
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES_MAX)
        .max_headers(HEADER_LINES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await
}

fn plain(status: StatusCode, words: &'static str) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", Bytes::from_static(words.as_bytes()))
}

fn response(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
