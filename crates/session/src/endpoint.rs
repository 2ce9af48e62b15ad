//! An HTTP endpoint with the newest sample as OpenMetrics, for those who have a Prometheus already; one that asks for the
//! messages that carry native histograms gets these.

use recording::{Batch, Metrics, OPEN_METRICS, PROTOBUF, RecordingError, Sink};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Whoever is slower than this is left alone.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest request that is read.
const REQUEST_MAX: usize = 8 << 10;

/// What samples have told so far.
type Newest = Arc<Mutex<Metrics>>;

/// Takes samples, and answers who asks for them. It ends with the process.
#[derive(Debug)]
pub struct Endpoint {
    newest: Newest,
    address: SocketAddr,
}

impl Endpoint {
    /// Listens at `address`: `HOST:PORT`, or `:PORT` for all addresses of this machine.
    ///
    /// # Errors
    /// There is no such address, or somebody listens there.
    pub fn listen(address: &str) -> std::io::Result<Self> {
        let listener = match address.strip_prefix(':') {
            // Where there is no IPv6, on all of IPv4.
            Some(port) => {
                TcpListener::bind(format!("[::]:{port}")).or_else(|_| TcpListener::bind(format!("0.0.0.0:{port}")))
            }
            None => TcpListener::bind(address.to_socket_addrs()?.collect::<Vec<SocketAddr>>().as_slice()),
        }?;
        let address = listener.local_addr()?;
        let newest = Newest::default();
        let of_thread = Arc::clone(&newest);
        let answer_all = move || {
            for stream in listener.incoming().flatten() {
                // One after the other: a scraper asks every few seconds.
                let _ = answer(stream, &of_thread);
            }
        };
        std::thread::Builder::new().name("endpoint".to_string()).spawn(answer_all)?;
        Ok(Self { newest, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Sink for Endpoint {
    fn accept(&mut self, batch: &Batch) -> Result<(), RecordingError> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).accept(batch);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        Ok(())
    }
}

fn answer(mut stream: TcpStream, newest: &Newest) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_MAX {
        match stream.read(&mut part)? {
            0 => break,
            length => request.extend_from_slice(&part[..length]),
        }
    }
    let request = String::from_utf8_lossy(&request);
    let mut words = request.lines().next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_metrics = path.split('?').next() == Some("/metrics");
    let (status, kind, body) = match (method, is_metrics) {
        ("GET" | "HEAD", true) => {
            let newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
            if wants_messages(&request) {
                ("200 OK", PROTOBUF, newest.protobuf())
            } else {
                ("200 OK", OPEN_METRICS, newest.text().into_bytes())
            }
        }
        ("GET" | "HEAD", false) => ("404 Not Found", "text/plain", b"the metrics are at /metrics\n".to_vec()),
        _ => ("405 Method Not Allowed", "text/plain", b"only GET\n".to_vec()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    if method != "HEAD" {
        stream.write_all(&body)?;
    }
    stream.flush()
}

/// Does the scraper like Prometheus' messages better than OpenMetrics text (RFC 9110, Accept)? It says so where it takes native
/// histograms.
fn wants_messages(request: &str) -> bool {
    let accepted = request.lines().filter_map(|line| line.split_once(':'));
    let accepted =
        accepted.filter(|(name, _)| name.eq_ignore_ascii_case("accept")).flat_map(|(_, types)| types.split(','));
    let (mut messages, mut text) = (0.0_f64, 0.0_f64);
    for kind in accepted {
        let mut parts = kind.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let parts: Vec<&str> = parts.collect();
        let weight = parts.iter().find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
        if name == "application/vnd.google.protobuf" {
            let is_ours =
                parts.contains(&"proto=io.prometheus.client.MetricFamily") && parts.contains(&"encoding=delimited");
            messages = messages.max(if is_ours { weight } else { 0.0 });
        } else if ["application/openmetrics-text", "application/*", "*/*"].contains(&name) {
            text = text.max(weight);
        }
    }
    messages > text
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::rows::Pressure;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    /// What Prometheus sends with and without native histograms (3.5, config.DefaultScrapeProtocols), and others.
    #[test]
    fn who_gets_messages() {
        let wants =
            |accept: &str| wants_messages(&format!("GET /metrics HTTP/1.1\r\nHost: x\r\naccept: {accept}\r\n\r\n"));
        let messages = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        assert!(wants(&format!(
            "{messages};q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.2"
        )));
        assert!(wants(messages));
        assert!(!wants(&format!("application/openmetrics-text;version=1.0.0;q=0.6, {messages};q=0.5, */*;q=0.2")));
        assert!(!wants("application/vnd.google.protobuf;proto=some.other.Family;encoding=delimited"));
        assert!(!wants("*/*") && !wants("") && !wants_messages("GET /metrics HTTP/1.1"));
    }

    #[test]
    fn it_answers_with_the_newest_sample() {
        let mut endpoint = Endpoint::listen("127.0.0.1:0").expect("a port");
        let address = endpoint.address();
        assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").ends_with("# EOF\n"), "nothing yet");
        for some_ns in [1_000_000_000, 3_000_000_000] {
            let row = Pressure { t_ns: 1, t_s: 0.0, resource: "io".to_string(), some_ns: Some(some_ns), full_ns: None };
            endpoint.accept(&Batch::from_rows(&[row]).expect("a batch")).expect("taken");
        }
        let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text"), "{page}");
        assert!(page.contains("iodyno_pressure_some_seconds_total{resource=\"io\"} 3\n"), "{page}");
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        assert!(ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
        assert!(Endpoint::listen(&address.to_string()).is_err(), "somebody listens there");
        assert!(Endpoint::listen("nowhere").is_err());
    }
}
