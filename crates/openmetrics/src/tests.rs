//! What a scraper gets.

use super::*;
use recording::rows::{Cpu, Disk, Interrupt, IoError, Listener, Pressure, RunQueue, Softnet};
use recording::{Label, Row};

fn page<R: Row>(metrics: &mut Metrics, rows: &[R]) -> String {
    metrics.accept(&RowBatch::from_rows(rows).expect("a batch"));
    metrics.text()
}

#[test]
fn base_units_and_nothing_for_what_is_not_known() {
    let cpu = Cpu {
        t_ns: 5,
        t_s: 0.0,
        cpu: "0".to_string(),
        user_ns: 1_500_000_000,
        system_ns: 0,
        idle_ns: 0,
        clock: "ti\"ck".to_string(),
        ..Cpu::default()
    };
    let io = Pressure { t_ns: 5, t_s: 0.0, resource: "io".to_string(), some_ns: Some(2_000_000_000), full_ns: None };
    let mut metrics = Metrics::default();
    page(&mut metrics, &[cpu]);
    let page = page(&mut metrics, &[io]);
    assert!(
        page.contains("# TYPE iodyno_cpu_user_seconds counter\n# UNIT iodyno_cpu_user_seconds seconds\n"),
        "{page}"
    );
    assert!(page.contains("iodyno_cpu_user_seconds_total{cpu=\"0\",clock=\"ti\\\"ck\"} 1.5\n"), "{page}");
    assert!(page.contains("iodyno_pressure_some_seconds_total{resource=\"io\"} 2\n"), "{page}");
    assert!(!page.contains("cpu_nice") && !page.contains("pressure_full") && !page.contains("t_ns"), "{page}");
    assert!(page.ends_with("# EOF\n"));
    assert_eq!(Metrics::default().text(), "# EOF\n");
}

fn interrupt(t_ns: i64, cpu: i32, count: i64) -> Interrupt {
    Interrupt { t_ns, t_s: 0.0, kind: Label::from("softirq"), vector: Label::from("NET_RX"), cpu, count }
}

#[test]
fn unchanged_values_stay_and_each_cpu_has_its_own() {
    let mut metrics = Metrics::default();
    page(&mut metrics, &[interrupt(1, 0, 500), interrupt(1, 1, 7)]);
    let text = page(&mut metrics, &[interrupt(2, 0, 900)]);
    for (cpu, count) in [(0, 900), (1, 7)] {
        let line =
            format!("iodyno_interrupt_count_total{{kind=\"softirq\",vector=\"NET_RX\",cpu=\"{cpu}\"}} {count}\n");
        assert!(text.contains(&line), "{text}");
    }
    // Where each sample has all of them, one without a row is gone.
    let softnet = |cpu: i32| Softnet { t_ns: 3, t_s: 0.0, cpu, packets: 1, drops: 0, squeezed: 0, received_rps: None };
    page(&mut metrics, &[softnet(0), softnet(1)]);
    let text = page(&mut metrics, &[softnet(0)]);
    assert!(text.contains("softnet_packets_total{cpu=\"0\"}") && !text.contains("softnet_packets_total{cpu=\"1\"}"));
}

fn socket(port: i64, inode: i64, pid: i64, gone: bool) -> Listener {
    Listener {
        t_ns: 1,
        t_s: 0.0,
        address: "0.0.0.0".to_string(),
        port,
        queue: 1,
        backlog: 5,
        limit: None,
        drops: Some(port),
        pid: Some(pid),
        comm: Some("nginx".to_string()),
        inode: Some(inode),
        gone: Some(gone),
    }
}

#[test]
fn sockets_are_known_by_address_and_name_and_go() {
    let mut metrics = Metrics::default();
    // Who holds it is not known yet.
    page(&mut metrics, &[Listener { pid: None, comm: None, ..socket(80, 160, 9, false) }]);
    let text = page(&mut metrics, &[socket(80, 160, 9, false), socket(443, 886, 9, false)]);
    assert_eq!(text.matches("iodyno_listener_drops_total").count(), 2, "{text}");
    let line = |port: i64, drops: i64| {
        format!("iodyno_listener_drops_total{{address=\"0.0.0.0\",port=\"{port}\",comm=\"nginx\"}} {drops}\n")
    };
    assert!(
        text.contains(&line(80, 80)) && text.contains(&line(443, 443)) && !text.contains("listener_gone"),
        "{text}"
    );
    // Four sockets of one service at one address are one thing with the drops of all.
    let text =
        page(&mut metrics, &[socket(443, 887, 10, false), socket(443, 888, 11, false), socket(443, 889, 12, false)]);
    assert!(text.contains(&line(443, 4 * 443)), "{text}");
    let text = page(&mut metrics, &[socket(80, 160, 9, true)]);
    assert!(!text.contains("port=\"80\"") && text.contains(&line(443, 4 * 443)), "{text}");
}

#[test]
fn a_service_that_is_restarted_twenty_times_is_one_series() {
    let mut metrics = Metrics::default();
    let mut series = BTreeSet::new();
    for start in 0..20 {
        let text = page(&mut metrics, &[socket(80, 1000 + start, 50 + start, false)]);
        series.extend(
            text.lines()
                .filter(|line| line.starts_with("iodyno_listener_drops"))
                .map(|line| line.split(' ').next().map(String::from)),
        );
        assert_eq!(text.matches("iodyno_listener_drops_total").count(), 1, "{text}");
        page(&mut metrics, &[socket(80, 1000 + start, 50 + start, true)]);
    }
    assert_eq!(series.len(), 1, "{series:?}");
}

/// Failures of a disk so many seconds after the machine's start, in a recording that began then.
fn failure((t_s, began_s): (i64, i64), op: &str, error: i32, file: Option<(&str, i64)>, count: i64) -> IoError {
    IoError {
        t_ns: t_s * 1_000_000_000,
        t_s: (t_s - began_s) as f64,
        dev: Label::from("sda"),
        op: Label::from(op),
        error,
        file: file.map(|(name, _)| Label::from(name)),
        inode: file.map(|(_, inode)| inode),
        count,
        first_ns: 1,
        last_ns: 2,
        sector: Some(8),
        ..IoError::default()
    }
}

#[test]
fn failed_ios_are_counted_by_device_operation_and_error() {
    let mut metrics = Metrics::default();
    let (log, other) = (Some(("log", 7)), Some(("log", 8)));
    let at = (101, 100);
    let rows = [failure(at, "read", 5, log, 3), failure(at, "read", 5, other, 4), failure(at, "write", 28, None, 1)];
    let text = page(&mut metrics, &rows);
    assert!(
        text.contains("# TYPE iodyno_io_error_count counter\n# HELP iodyno_io_error_count How many I/Os failed."),
        "{text}"
    );
    let line = |op: &str, error: i32, count: i64| {
        format!("iodyno_io_error_count_total{{dev=\"sda\",op=\"{op}\",error=\"{error}\"}} {count}\n")
    };
    assert!(text.contains(&line("read", 5, 7)) && text.contains(&line("write", 28, 1)), "{text}");
    assert_eq!(text.matches("\niodyno_io_error_").count(), 2, "no file, no sector, no time: {text}");
    // A row tells only what has grown.
    let text = page(&mut metrics, &[failure((102, 100), "read", 5, log, 5)]);
    assert!(text.contains(&line("read", 5, 9)) && text.contains(&line("write", 28, 1)), "{text}");
    // The recording of the next day counts from 0; the counter does not fall, and misses nothing.
    let text = page(&mut metrics, &[failure((202, 200), "read", 5, log, 6)]);
    assert!(text.contains(&line("read", 5, 15)) && text.contains(&line("write", 28, 1)), "{text}");
    let text = page(&mut metrics, &[failure((203, 200), "read", 5, log, 8), failure((203, 200), "write", 28, None, 2)]);
    assert!(text.contains(&line("read", 5, 17)) && text.contains(&line("write", 28, 3)), "{text}");
}

#[test]
fn a_sum_over_cpus_or_disks_counts_everything_once() {
    let cpu = |cpu: &str, user_ns: i64| Cpu {
        t_ns: 5,
        t_s: 0.0,
        cpu: cpu.to_string(),
        user_ns,
        system_ns: 0,
        idle_ns: 0,
        clock: "tick".to_string(),
        ..Cpu::default()
    };
    let sum = |page: &str, name: &str| -> f64 {
        let lines = page.lines().filter(|line| line.starts_with(name));
        lines.map(|line| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok()).expect("a number")).sum()
    };
    let mut metrics = Metrics::default();
    let text = page(&mut metrics, &[cpu("all", 5_000_000_000), cpu("0", 2_000_000_000), cpu("1", 3_000_000_000)]);
    assert!((sum(&text, "iodyno_cpu_user_seconds_total") - 5.0).abs() < 1e-9, "{text}");
    // What comes from elsewhere may have nothing else.
    let text = page(&mut metrics, &[cpu("all", 5_000_000_000)]);
    assert!((sum(&text, "iodyno_cpu_user_seconds_total") - 5.0).abs() < 1e-9, "{text}");
    let disk = |device: &str| Disk {
        t_ns: 5,
        t_s: 0.0,
        device: device.to_string(),
        target: String::new(),
        read_ios: Some(10),
        ..Disk::default()
    };
    let all = [
        "sda",
        "sda1",
        "sda15",
        "nvme0n1",
        "nvme0n1p2",
        "loop7",
        "md0",
        "dm-1",
        "dm-10",
        "mmcblk0",
        "mmcblk0boot0",
        "xvdb1",
    ];
    let text = page(&mut metrics, &all.map(disk));
    for (device, is_there) in
        all.into_iter().zip([true, false, false, true, false, true, true, true, true, true, true, true])
    {
        assert_eq!(text.contains(&format!("device=\"{device}\"")), is_there, "{device}: {text}");
    }
}

#[test]
fn distributions_are_those_of_all_intervals() {
    let mut metrics = Metrics::default();
    for t_ns in 1..=3 {
        let mut wait = Histogram::new(2);
        [900, 5_000, 2_000_000].into_iter().for_each(|ns| wait.record(ns));
        page(&mut metrics, &[RunQueue { t_ns, t_s: 0.0, interval_ns: 1, wait }]);
    }
    let text = metrics.text();
    for line in [
        "# TYPE iodyno_run_queue_wait_seconds histogram\n",
        "iodyno_run_queue_wait_seconds_bucket{le=\"0.000001024\"} 3\n",
        "iodyno_run_queue_wait_seconds_bucket{le=\"0.000004096\"} 3\n",
        "iodyno_run_queue_wait_seconds_bucket{le=\"0.000008192\"} 6\n",
        "iodyno_run_queue_wait_seconds_bucket{le=\"+Inf\"} 9\n",
        "iodyno_run_queue_wait_seconds_count 9\n",
        "iodyno_run_queue_wait_seconds_sum 0.0060177\n",
    ] {
        assert!(text.contains(line), "{line} {text}");
    }
    assert!(!metrics.protobuf().is_empty());
}

#[test]
fn names_without_number_are_bounded() {
    let mut metrics = Metrics::default();
    let many = i32::try_from(KNOWN).expect("few") + 1;
    let all: Vec<Interrupt> = (0..many).map(|cpu| interrupt(i64::from(cpu), cpu, 1)).collect();
    let text = page(&mut metrics, &all);
    assert_eq!(text.matches("iodyno_interrupt_count_total").count(), KNOWN / 2);
    assert!(text.contains(&format!("cpu=\"{}\"", many - 1)), "the newest stay");
}
