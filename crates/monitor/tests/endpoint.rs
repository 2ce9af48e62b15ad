//! The metrics endpoint against scrapers, and against clients that mean harm.

use monitor::Endpoint;
use recording::rows::Pressure;
use recording::{RowBatch, Sink as _};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The answer to what is sent, up to the connection's end.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

/// A request of one connection.
fn get(method: &str, path: &str, host: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
}

fn endpoint(address: &str) -> Endpoint {
    Endpoint::listen(address, &[]).expect("a port")
}

#[test]
fn it_answers_with_the_newest_sample() {
    let mut endpoint = endpoint("127.0.0.1:0");
    let address = endpoint.address();
    assert!(ask(address, &get("GET", "/metrics", "localhost")).ends_with("# EOF\n"), "nothing yet");
    for some_ns in [1_000_000_000, 3_000_000_000] {
        let row = Pressure { t_ns: 1, t_s: 0.0, resource: "io".to_string(), some_ns: Some(some_ns), full_ns: None };
        endpoint.accept(&RowBatch::from_rows(&[row]).expect("a batch")).expect("taken");
        // Asked for after every sample: what was made for one must not be given for the next.
        let page = ask(address, &get("GET", "/metrics", "localhost"));
        let line = format!("iodyno_pressure_some_seconds_total{{resource=\"io\"}} {}\n", some_ns / 1_000_000_000);
        assert!(page.contains(&line), "{page}");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text"), "{page}");
    }
    assert!(ask(address, &get("GET", "/", "localhost")).contains("/metrics"));
    assert!(ask(address, &get("GET", "/other", "localhost")).starts_with("HTTP/1.1 404"));
    let refused = ask(address, &get("POST", "/metrics", "localhost"));
    assert!(refused.starts_with("HTTP/1.1 405") && refused.contains("Allow: GET, HEAD"), "{refused}");
    assert!(ask(address, &get("HEAD", "/metrics", "localhost")).ends_with("\r\n\r\n"));
    assert!(Endpoint::listen(&address.to_string(), &[]).is_err(), "another listens there");
    for wrong in ["nowhere", ":70000", ":"] {
        assert!(Endpoint::listen(wrong, &[]).is_err(), "{wrong}");
    }
}

#[test]
fn idle_connections_do_not_stop_a_scrape() {
    let endpoint = endpoint(":0");
    let mut idle: Vec<TcpStream> = Vec::new();
    for _ in 0..200 {
        idle.push(TcpStream::connect(endpoint.address()).expect("it listens"));
    }
    for _ in 0..5 {
        assert!(ask(endpoint.address(), &get("GET", "/metrics", "localhost")).ends_with("# EOF\n"));
    }
    // The oldest were closed for it.
    idle[0].set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    assert_eq!(idle[0].read(&mut [0; 1]).unwrap_or(0), 0);
}

#[test]
fn a_header_that_does_not_end_ends_the_connection() {
    let endpoint = endpoint(":0");
    let mut slow = TcpStream::connect(endpoint.address()).expect("it listens");
    slow.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ").expect("it reads");
    slow.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    let mut text = String::new();
    // A byte now and then does not help.
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(100));
        let _ = slow.write_all(b"x");
    }
    assert!(slow.read_to_string(&mut text).is_ok() || !text.contains("200 OK"), "{text}");
    assert!(!text.contains("200 OK"), "{text}");
}

#[test]
fn a_header_that_is_too_long_is_refused() {
    let endpoint = endpoint(":0");
    let long = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(1 << 20));
    let mut stream = TcpStream::connect(endpoint.address()).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    // It may hang up before all was sent.
    let _ = stream.write_all(long.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert!(ask(endpoint.address(), &get("GET", "/metrics", "localhost")).ends_with("# EOF\n"));
}

/// A page of another site whose name was made to lead here sends its own name.
#[test]
fn only_names_of_this_machine_are_answered_on_the_loopback() {
    let endpoint = Endpoint::listen(":0", &["metrics.example".to_string()]).expect("a port");
    let port = endpoint.address().port();
    let status = |request: &str| ask(endpoint.address(), request).split(' ').nth(1).unwrap_or_default().to_string();
    for good in ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]", "[::1]:9464", "metrics.example:1", "localhost."] {
        assert_eq!(status(&get("GET", "/metrics", good)), "200", "{good}");
    }
    assert_eq!(status(&get("GET", "/metrics", &format!("127.0.0.1:{port}"))), "200");
    for bad in ["evil.example", "localhost.evil.example", "192.0.2.1", "", "evil@localhost", "[::2]:80"] {
        assert_eq!(status(&get("GET", "/metrics", bad)), "400", "{bad}");
    }
    assert_eq!(status("GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n"), "400");
    assert_eq!(status("GET /metrics HTTP/1.0\r\n\r\n"), "200");
    let twice = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n";
    assert_eq!(status(twice), "400");
}

#[test]
fn without_an_address_it_is_reachable_from_this_machine_only() {
    let endpoint = endpoint(":0");
    assert_eq!(endpoint.address().ip(), Ipv4Addr::LOCALHOST);
    // An address of this machine that is not the one it listens at: refused, which it was not on all addresses.
    let elsewhere = SocketAddr::from(([127, 0, 0, 2], endpoint.address().port()));
    assert!(TcpStream::connect(elsewhere).is_err());
    let everywhere = Endpoint::listen("0.0.0.0:0", &[]).expect("a port");
    let elsewhere = SocketAddr::from(([127, 0, 0, 2], everywhere.address().port()));
    assert!(ask(elsewhere, &get("GET", "/metrics", "any.example")).starts_with("HTTP/1.1 200"));
}
