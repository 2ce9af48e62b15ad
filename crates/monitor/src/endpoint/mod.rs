//! An HTTP endpoint with the newest sample as OpenMetrics, for those who have a Prometheus already; one that asks for the
//! messages that carry native histograms gets these. It listens on this machine only, unless an address is given.

mod request;
mod server;

use hyper::body::Bytes;
use openmetrics::Metrics;
use recording::{RecordingError, RowBatch, Sink};
use request::Hosts;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};

/// The metrics of all samples so far.
#[derive(Debug, Default)]
struct Newest {
    metrics: Metrics,
    /// As text and as messages, once a scrape came since the last sample: however many come, the sampler waits for one
    /// answer to be made.
    text: Option<Bytes>,
    messages: Option<Bytes>,
}

impl Newest {
    fn text(&mut self) -> Bytes {
        self.text.get_or_insert_with(|| self.metrics.text().into_bytes().into()).clone()
    }

    fn messages(&mut self) -> Bytes {
        self.messages.get_or_insert_with(|| self.metrics.protobuf().into()).clone()
    }
}

/// Takes samples, and answers requests for them in a thread of its own. It ends with the process.
#[derive(Debug)]
pub struct Endpoint {
    newest: Arc<Mutex<Newest>>,
    address: SocketAddr,
}

impl Endpoint {
    /// Listens at `address`: `HOST:PORT`, or `:PORT` for the loopback addresses of this machine. Requests that come over the
    /// loopback are answered when their Host header names the machine itself or one of `hosts`: a page in a browser must not
    /// reach the endpoint by a name of its own.
    ///
    /// # Errors
    /// There is no such address, or another program listens there.
    pub fn listen(address: &str, hosts: &[String]) -> io::Result<Self> {
        let listeners = match address.strip_prefix(':') {
            Some(port) => loopback(port.parse().map_err(|_| {
                io::Error::new(ErrorKind::InvalidInput, format!("`{port}` is no port: 0 to 65535 are possible"))
            })?)?,
            None => vec![TcpListener::bind(address.to_socket_addrs()?.collect::<Vec<SocketAddr>>().as_slice())?],
        };
        let first = listeners.first().ok_or(ErrorKind::AddrNotAvailable)?.local_addr()?;
        let newest = Arc::<Mutex<Newest>>::default();
        server::start(listeners, Arc::clone(&newest), Hosts::new(first.ip(), hosts))?;
        Ok(Self { newest, address: first })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Both loopback addresses, or the one that there is; port 0: any that is free.
fn loopback(port: u16) -> io::Result<Vec<TcpListener>> {
    let old = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let port = old.as_ref().ok().and_then(|old| old.local_addr().ok()).map_or(port, |address| address.port());
    let new = TcpListener::bind((Ipv6Addr::LOCALHOST, port));
    let is_taken = |bound: &io::Result<TcpListener>| {
        bound.as_ref().is_err_and(|error| [ErrorKind::AddrInUse, ErrorKind::PermissionDenied].contains(&error.kind()))
    };
    match (old, new) {
        (old, _) if is_taken(&old) => Ok(vec![old?]),
        (_, new) if is_taken(&new) => Ok(vec![new?]),
        // A machine without IPv6, or without IPv4.
        (Err(error), Err(_)) => Err(error),
        (old, new) => Ok([old, new].into_iter().flatten().collect()),
    }
}

impl Sink for Endpoint {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.metrics.accept(batch);
        (newest.text, newest.messages) = (None, None);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        Ok(())
    }
}
