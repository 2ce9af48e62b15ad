//! An HTTP endpoint with the newest sample as OpenMetrics, for those who have a Prometheus already.

use recording::{Batch, OPEN_METRICS, RecordingError, Sink, open_metrics};
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Whoever is slower than this is left alone.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest request that is read.
const REQUEST_MAX: usize = 8 << 10;

/// The newest batch of each table.
type Newest = Arc<Mutex<BTreeMap<&'static str, Batch>>>;

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
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        // Pressure comes in a batch per sample as every other table does.
        newest.insert(batch.table.name, batch.clone());
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
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_metrics = path.split('?').next() == Some("/metrics");
    let (status, kind, body) = match (method, is_metrics) {
        ("GET" | "HEAD", true) => {
            let batches: Vec<Batch> = newest.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
            ("200 OK", OPEN_METRICS, open_metrics(&batches))
        }
        ("GET" | "HEAD", false) => ("404 Not Found", "text/plain", "the metrics are at /metrics\n".to_string()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET\n".to_string()),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    if method != "HEAD" {
        stream.write_all(body.as_bytes())?;
    }
    stream.flush()
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
