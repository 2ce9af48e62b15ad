//! What a request asks for, and whether it may.

use hyper::header::{ACCEPT, HOST};
use hyper::{HeaderMap, Request, Version};
use std::net::IpAddr;

/// By which names the endpoint may be asked.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    /// Any: it listens where other machines reach it, and is known there by names that it does not know.
    any: bool,
    names: Vec<String>,
}

impl Hosts {
    /// Names for an endpoint at `address`, `more` beside those of the machine itself.
    pub(super) fn new(address: IpAddr, more: &[String]) -> Self {
        let own = ["localhost".to_string(), address.to_string()];
        let more_names = more.iter().map(|name| name.to_ascii_lowercase());
        Self { any: !address.is_loopback() && more.is_empty(), names: own.into_iter().chain(more_names).collect() }
    }

    /// Why a request is not answered; `None` where it is.
    pub(super) fn refuse<B>(&self, request: &Request<B>) -> Option<&'static str> {
        let mut hosts = request.headers().get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok().map(name_of),
            // RFC 9112, 3.2; before 1.1 there was none, and no browser is so old.
            (None, _) if request.version() < Version::HTTP_11 => return None,
            _ => return Some("one Host header is needed\n"),
        };
        let is_known = |host: &str| {
            let is_loopback = host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
            is_loopback || self.names.iter().any(|name| name.eq_ignore_ascii_case(host))
        };
        (!self.any && !host.is_some_and(is_known))
            .then_some("this Host is not answered here; `iodyno record --export-host NAME` adds a name\n")
    }
}

/// A Host header without its port and brackets.
fn name_of(host: &str) -> &str {
    let host = host.trim();
    if let Some(inside) = host.strip_prefix('[') {
        return inside.split(']').next().unwrap_or_default();
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name).trim_end_matches('.')
}

/// Does the scraper like Prometheus' messages better than OpenMetrics text (RFC 9110, Accept)? It says so where it takes native
/// histograms.
pub(super) fn wants_messages(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let (mut messages, mut text) = (0.0_f64, 0.0_f64);
    for kind in accepted.flat_map(|types| types.split(',')) {
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

    /// What Prometheus sends with and without native histograms (3.5, config.DefaultScrapeProtocols), and others.
    #[test]
    fn who_gets_messages() {
        let wants = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().expect("a header"));
            wants_messages(&headers)
        };
        let messages = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        assert!(wants(&format!(
            "{messages};q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.2"
        )));
        assert!(wants(messages));
        assert!(!wants(&format!("application/openmetrics-text;version=1.0.0;q=0.6, {messages};q=0.5, */*;q=0.2")));
        assert!(!wants("application/vnd.google.protobuf;proto=some.other.Family;encoding=delimited"));
        assert!(!wants("*/*") && !wants("") && !wants_messages(&HeaderMap::new()));
    }
}
