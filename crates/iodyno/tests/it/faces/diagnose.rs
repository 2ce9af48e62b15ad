//! `iodyno diagnose --json`: the evidence of findings, over a machine whose counters grow steadily, so that the mean of every
//! window is the rate.

use super::cases::Cell;
use super::input::Input;
use super::oracle::Step;
use super::same;
use crate::support::Scratch;
use serde_json::Value;

const SECONDS: usize = 40;
/// Bytes and packets that the link receives in a second: nearly all that it can.
const RECEIVED: [(&str, i64); 2] = [("rx_bytes", 120_000_000), ("rx_packets", 80_000)];
/// In which second a counter of the queueing discipline goes round.
const WRAP: i64 = 35;

/// A machine whose link is full, whose listeners refuse connections, and whose disks have wrong blocks.
pub fn troubled() -> Input {
    let mut input = Input::steady(&["net", "tcp", "listener", "system", "btrfs_device"], SECONDS, 0.01, 0.0);
    let eth0 = &mut input.rows.get_mut("net").unwrap()[0];
    let grown = Step { now: eth0[1].as_ref().unwrap(), before: eth0[0].as_ref().unwrap(), seconds: 1.0 };
    #[expect(clippy::cast_possible_truncation, reason = "a few packets")]
    let drops = grown.per_s("qdisc_drops").unwrap() as i64;
    for (second, row) in (0..).zip(eth0.iter_mut().flatten()) {
        row.extend(RECEIVED.map(|(column, per_s)| (column, Cell::Int(10_000_000_000 + per_s * second))));
        row.insert("qdisc_drops", Cell::Int(((1 << 32) + drops * (second - WRAP) + 1) % (1 << 32)));
    }
    input
}

/// Compares the evidence of the findings about a link, a listener and devices; what differs.
pub fn check(scratch: &Scratch, recording: &str, input: &Input) -> Vec<String> {
    let report = scratch.iodyno(&["diagnose", recording, "--json"]).run().unwrap().expect_code(9).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let find = |rule: &str, subject: &str| {
        let is_it =
            |finding: &&Value| finding["rule"] == rule && finding["subject"].as_str().unwrap().contains(subject);
        findings.iter().find(is_it).unwrap_or_else(|| panic!("no {rule} of {subject}: {report:#}"))
    };
    let mut differences = Vec::new();
    let mut compare = |finding: &Value, name: &str, expected: Option<f64>| {
        let evidence = finding["evidence"].as_array().unwrap();
        let shown = evidence.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}: {finding:#}"));
        if !same(shown["value"].as_f64(), expected, 1e-6) {
            differences.push(format!("diagnose {} {name}: {}, not {expected:?}", finding["rule"], shown["value"]));
        }
    };
    // The counters of the first second grow in all others as well.
    let step = |table: &str, thing: usize| input.step(table, thing, 1).unwrap();
    let (link, net) = (find("R3", "eth0"), step("net", 0));
    let sum = |columns: &[&str]| columns.iter().map(|column| net.per_s(column)).sum::<Option<f64>>();
    // Preamble, check sum and the gap between frames are 24 bytes of each.
    let wire = |way: &str| {
        let bytes = net.per_s(&format!("{way}_bytes"))? + 24.0 * net.per_s(&format!("{way}_packets"))?;
        Some(bytes * 8.0 / 1e6)
    };
    compare(link, "receiving, on the wire", wire("rx"));
    compare(link, "sending, on the wire", wire("tx"));
    compare(link, "utilization", wire("rx").map(|mbit| mbit / 10.0));
    compare(link, "packets received", net.per_s("rx_packets"));
    compare(link, "packets sent", net.per_s("tx_packets"));
    compare(link, "received and dropped", sum(&["rx_drops", "rx_fifo"]));
    compare(link, "dropped by the queueing discipline", net.per_s("qdisc_drops"));
    compare(link, "held back by it", net.per_s("qdisc_overlimits"));
    for device in 0..2 {
        let (finding, step) = (find("R12", &format!("device {}", device + 1)), step("btrfs_device", device));
        let all = |columns: &[&str]| {
            let grown = columns.iter().map(|column| step.per_s(column)).sum::<Option<f64>>();
            grown.map(|per_s| per_s * SECONDS as f64)
        };
        compare(finding, "blocks with a wrong check sum", all(&["corruption_errors"]));
        compare(finding, "failed reads, writes, flushes", all(&["read_errors", "write_errors", "flush_errors"]));
    }
    let (listener, tcp) = (find("R2", ""), step("tcp", 0));
    compare(listener, "per second", tcp.per_s("listen_overflows"));
    differences
}
