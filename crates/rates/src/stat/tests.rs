//! Formulas on hand-made counters.

use super::*;
use recording::rows::{Cgroup, Cpu, Interrupt, IrqTime, Net, Process, ZfsPool};

fn net(t_ns: i64, values: [i64; 4], more: impl Fn(&mut Net)) -> Net {
    let [rx_bytes, rx_packets, tx_bytes, tx_packets] = values;
    let mut row = Net {
        t_ns,
        t_s: 0.0,
        interface: "eth0".into(),
        rx_bytes,
        rx_packets: Some(rx_packets),
        rx_errors: Some(0),
        rx_drops: Some(0),
        rx_fifo: Some(0),
        rx_frame: Some(0),
        rx_multicast: Some(0),
        tx_bytes,
        tx_packets: Some(tx_packets),
        tx_errors: Some(0),
        tx_drops: Some(0),
        tx_fifo: Some(0),
        tx_collisions: Some(0),
        tx_carrier: Some(0),
        speed_bits_per_s: Some(1_000_000_000),
        full_duplex: Some(true),
        up: Some(true),
        qdisc_backlog_bytes: None,
        qdisc_drops: None,
        qdisc_overlimits: None,
        qdisc_requeues: None,
        qdisc: None,
        qdisc_rate_bits_per_s: None,
        mtu_bytes: None,
        master: None,
    };
    more(&mut row);
    row
}

/// The block of the second of two samples.
fn second<R: Row>(subject: CounterSubject, options: &StatOptions, first: R, then: R) -> StatBlock {
    let mut fold = StatFold::new(&[subject], options);
    fold.accept(&RowBatch::from_rows(&[first]).unwrap()).unwrap();
    let blocks = fold.commit();
    assert_eq!(blocks.len(), usize::from(options.since_boot), "the first sample has no interval");
    fold.accept(&RowBatch::from_rows(&[then]).unwrap()).unwrap();
    fold.commit().remove(0)
}

fn close(block: &StatBlock, key: &str, expect: f64) {
    let value = block.value(&block.rows[0], key).unwrap_or_else(|| panic!("{key} is not known"));
    assert!((value - expect).abs() < 1e-6 * expect.abs().max(1.0), "{key}: {value}, not {expect}");
}

#[test]
fn an_interface() {
    let then = net(3_000_000_000, [2_048_000 + 5, 2005, 62_500_000, 1000], |row| row.rx_drops = Some(4));
    let block = second(CounterSubject::Net, &StatOptions::default(), net(1_000_000_000, [5, 5, 0, 0], |_| {}), then);
    assert_eq!((block.seconds, block.since_boot), (2.0, false));
    close(&block, "rx_kib_per_s", 1000.0);
    close(&block, "rx_packets_per_s", 1000.0);
    close(&block, "rx_packet_bytes", 1024.0);
    // 31.25 MB/s = 250 Mbit/s of a gigabit; the other direction has less.
    close(&block, "util_percent", 25.0);
    close(&block, "rx_util_percent", 0.8192);
    close(&block, "saturation_per_s", 2.0);
}

#[test]
fn a_shaped_link_is_saturated_and_knows_its_speed_from_the_user() {
    let options = StatOptions {
        speeds: vec![SpeedOverride { interface: "eth0".into(), bits_per_s: 200e6, duplex: LinkDuplex::Full }],
        ..StatOptions::default()
    };
    let shaped = |overlimits: i64| {
        move |row: &mut Net| {
            row.qdisc_overlimits = Some(overlimits);
            row.qdisc_drops = Some(0);
            row.qdisc_requeues = Some(0);
            row.qdisc_backlog_bytes = Some(83 * 1024);
        }
    };
    let then = net(2_000_000_000, [0, 0, 24_980_070, 1000], shaped(1657));
    let block = second(CounterSubject::Net, &options, net(1_000_000_000, [0, 0, 0, 0], shaped(0)), then);
    close(&block, "util_percent", 99.92028);
    close(&block, "saturation_per_s", 1657.0);
    close(&block, "qdisc_backlog_kib", 83.0);
}

#[test]
fn half_duplex_adds_directions_and_unknown_speed_stays_unknown() {
    let half = |row: &mut Net| row.full_duplex = Some(false);
    let then = net(2_000_000_000, [12_500_000, 1, 25_000_000, 1], half);
    let block = second(CounterSubject::Net, &StatOptions::default(), net(1_000_000_000, [0; 4], half), then);
    close(&block, "util_percent", 30.0);
    let unknown = |row: &mut Net| row.speed_bits_per_s = None;
    let then = net(2_000_000_000, [12_500_000, 1, 25_000_000, 1], unknown);
    let block = second(CounterSubject::Net, &StatOptions::default(), net(1_000_000_000, [0; 4], unknown), then);
    assert_eq!(block.value(&block.rows[0], "util_percent"), None);
}

#[test]
fn a_counter_that_runs_backwards_gives_no_figure() {
    let then = net(2_000_000_000, [50, 1, 200, 1], |_| {});
    let block =
        second(CounterSubject::Net, &StatOptions::default(), net(1_000_000_000, [100, 0, 100, 0], |_| {}), then);
    assert_eq!(block.value(&block.rows[0], "rx_kib_per_s"), None);
    close(&block, "tx_kib_per_s", 100.0 / 1024.0);
}

#[test]
fn since_boot_when_asked() {
    let mut fold = StatFold::new(&[CounterSubject::Net], &StatOptions { since_boot: true, ..StatOptions::default() });
    fold.accept(&RowBatch::from_rows(&[net(10_000_000_000, [10_240, 10, 0, 0], |_| {})]).unwrap()).unwrap();
    let block = fold.commit().remove(0);
    assert!(block.since_boot);
    close(&block, "rx_kib_per_s", 1.0);
}

#[test]
fn cpu_shares_make_a_whole() {
    let cpu = |t_ns, user_ns, system_ns, idle_ns| Cpu {
        t_ns,
        t_s: 0.0,
        cpu: "all".into(),
        user_ns,
        nice_ns: Some(0),
        system_ns,
        idle_ns,
        iowait_ns: Some(0),
        irq_ns: Some(0),
        softirq_ns: Some(0),
        steal_ns: None,
        clock: "tick".into(),
    };
    let block = second(CounterSubject::Cpu, &StatOptions::default(), cpu(0, 0, 0, 0), cpu(1, 100, 300, 600));
    close(&block, "user_percent", 10.0);
    close(&block, "busy_percent", 40.0);
    assert_eq!(block.value(&block.rows[0], "steal_percent"), None, "not counted is not 0");
}

#[test]
fn a_process_that_slept_is_charged_for_one_interval_only() {
    let process = |t_s: i64, user_ns| Process {
        t_ns: t_s * 1_000_000_000,
        t_s: 0.0,
        pid: 7,
        start_ns: Some(1),
        parent: Some(1),
        comm: "p".into(),
        state: Some("R".into()),
        threads: Some(1),
        user_ns: Some(user_ns),
        system_ns: Some(0),
        resident_bytes: Some(1 << 20),
        major_faults: Some(0),
        minor_faults: None,
        io_delay_ns: None,
        read_bytes: None,
        write_bytes: None,
    };
    let other = |t_s: i64| Process { pid: 8, user_ns: Some(t_s), ..process(t_s, 0) };
    let mut fold = StatFold::new(&[CounterSubject::Process], &StatOptions::default());
    for (t_s, user_ns) in [(1, Some(0)), (2, None), (3, None), (4, Some(500_000_000))] {
        let mut rows = vec![other(t_s)];
        rows.extend(user_ns.map(|user_ns| process(t_s, user_ns)));
        fold.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        let blocks = fold.commit();
        if t_s == 4 {
            // Half a second of CPU, all in the last second: the samples in between said that it did nothing.
            close(&blocks[0], "cpu_percent", 50.0);
            assert_eq!(blocks[0].rows.len(), 2);
        }
    }
}

#[test]
fn what_was_forgotten_is_not_known_when_it_comes_again() {
    let process = |pid: i64, t_s: i64, start_s: i64, user_s: i64| Process {
        t_ns: t_s * 1_000_000_000,
        t_s: 0.0,
        pid,
        start_ns: Some(start_s * 1_000_000_000),
        parent: None,
        comm: "p".into(),
        state: None,
        threads: None,
        user_ns: Some(user_s * 1_000_000_000),
        system_ns: Some(0),
        resident_bytes: None,
        major_faults: None,
        minor_faults: None,
        io_delay_ns: None,
        read_bytes: None,
        write_bytes: None,
    };
    let mut fold = StatFold::new(&[CounterSubject::Process, CounterSubject::ProcessClock], &StatOptions::default());
    let mut last = Vec::new();
    let crowd = i64::try_from(seen_keys::KNOWN).unwrap() + 1;
    for rows in [
        vec![process(7, 1, 0, 100), process(8, 1, 0, 100)],
        (10..crowd + 10).map(|pid| process(pid, 2, 1, 0)).collect(),
        vec![process(8, 3, 0, 110)],
        (10..20).map(|pid| process(pid, 9, 1, 1)).collect(),
        // It slept since the first sample; and one that is new.
        vec![process(7, 10, 0, 150), process(9, 10, 10, 1), process(10, 10, 1, 2)],
    ] {
        fold.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        last = fold.commit();
    }
    for (block, key) in last.iter().zip(["cpu_percent", "proc_percent"]) {
        let of = |pid: f64| {
            let row = block.rows.iter().find(|row| row.values[0] == Some(pid)).expect("a row");
            block.value(row, key)
        };
        assert_eq!((of(7.0), of(9.0), of(10.0)), (None, Some(100.0), Some(100.0)), "{key}");
    }
    assert_eq!(last.len(), 2);
}

#[test]
fn a_control_group_by_the_time_since_the_last_look() {
    let second = 1_000_000_000;
    let group = |t_s: i64, path: &str, used_ms: i64, held: i64| Cgroup {
        t_ns: t_s * second,
        t_s: 0.0,
        path: path.into(),
        usage_ns: Some(used_ms * 1_000_000),
        user_ns: None,
        system_ns: None,
        cpu_limit: Some(0.2),
        periods: Some(10 * held),
        throttled_periods: Some(held),
        throttled_ns: Some(held * 8_000_000),
        memory_bytes: Some(3 << 20),
        memory_max_bytes: None,
        memory_high_bytes: None,
        anonymous_bytes: None,
        file_bytes: None,
        memory_high_events: None,
        memory_max_events: None,
        oom_events: None,
        oom_kills: None,
        read_bytes: Some(t_s * 2048),
        write_bytes: None,
        read_ios: None,
        write_ios: None,
        tasks: Some(7),
        cpu_some_ns: Some(t_s * second),
        cpu_full_ns: None,
        memory_some_ns: None,
        memory_full_ns: None,
        io_some_ns: None,
        io_full_ns: None,
    };
    let mut fold = StatFold::new(&[CounterSubject::Cgroup], &StatOptions::default());
    let mut looks = [
        vec![group(1, "/", 100, 0), group(1, "/a", 0, 0)],
        // It did nothing, and has no row.
        vec![group(3, "/", 200, 0)],
        // In two seconds, not in four.
        vec![group(5, "/", 300, 0), group(5, "/a", 400, 3), group(5, "/new", 30, 0)],
    ]
    .map(|rows| {
        fold.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        fold.commit()
    });
    assert!(looks[0].is_empty());
    let block = looks[2].remove(0);
    let names: Vec<&str> = block.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!((names, block.seconds), (vec!["/a", "/", "/new"], 2.0));
    close(&block, "cpu_percent", 20.0);
    close(&block, "cpu_limit_percent", 20.0);
    close(&block, "throttled_percent", 10.0);
    close(&block, "throttled_ms_per_s", 12.0);
    close(&block, "memory_mib", 3.0);
    close(&block, "read_kib_per_s", 4.0);
    close(&block, "cpu_some_percent", 100.0);
    assert_eq!(block.value(&block.rows[0], "io_some_percent"), None, "not counted is not 0");
    assert_eq!(block.value(&block.rows[2], "cpu_percent"), Some(1.5), "all of it since the last look");
}

#[test]
fn interrupts_with_the_cpu_that_takes_most() {
    let irq = |t_s: i64, vector: &str, cpu: i32, count: i64| Interrupt {
        t_ns: t_s * 1_000_000_000,
        t_s: 0.0,
        kind: if vector == "NET_RX" { "softirq".into() } else { "irq".into() },
        vector: vector.into(),
        cpu,
        count,
    };
    let time = |t_s: i64, cpu: i32, count: i64, ns: i64| IrqTime {
        t_ns: t_s * 1_000_000_000,
        t_s: 0.0,
        kind: "softirq".into(),
        vector: "NET_RX".into(),
        cpu,
        count,
        ns,
        max_ns: 0,
    };
    let samples = [
        vec![irq(1, "36 virtio1-req.0", 0, 1000), irq(1, "NET_RX", 0, 5000), irq(1, "NET_RX", 3, 500)],
        vec![irq(3, "36 virtio1-req.0", 0, 1200), irq(3, "NET_RX", 0, 11_000), irq(3, "NET_RX", 3, 2500)],
    ];
    let times = [vec![time(1, 0, 100, 1_000_000)], vec![time(3, 0, 6100, 61_000_000)]];
    let of = |subject: CounterSubject| {
        let mut fold = StatFold::new(&[subject], &StatOptions::default());
        let blocks = samples.iter().zip(&times).map(|(rows, times)| {
            fold.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
            fold.accept(&RowBatch::from_rows(times).unwrap()).unwrap();
            fold.commit()
        });
        blocks.last().unwrap().remove(0)
    };
    let block = of(CounterSubject::Irq);
    assert_eq!(block.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["NET_RX", "36 virtio1-req.0"]);
    assert_eq!(block.rows[0].texts, [Some("softirq".to_string())]);
    close(&block, "per_s", 4000.0);
    close(&block, "most_cpu", 0.0);
    close(&block, "most_percent", 75.0);
    close(&block, "cpus", 2.0);
    close(&block, "ms_per_s", 30.0);
    close(&block, "us_each", 10.0);
    assert_eq!(block.value(&block.rows[1], "ms_per_s"), None, "not timed is not 0");
    let each = of(CounterSubject::IrqCpu);
    assert_eq!(each.rows.len(), 3);
    close(&each, "cpu", 0.0);
    close(&each, "per_s", 3000.0);
    close(&each, "share_percent", 75.0);
}

#[test]
fn pools_of_this_machine_by_what_their_version_counts() {
    let pool = |t_s: i64, old: Option<i64>, new: Option<i64>| ZfsPool {
        t_ns: t_s * 1_000_000_000,
        t_s: 0.0,
        pool: "tank".into(),
        state: Some("DEGRADED".into()),
        size_bytes: None,
        allocated_bytes: new.map(|_| 3 << 20),
        free_bytes: new.map(|_| 9 << 20),
        fragmentation_percent: None,
        read_ios: old.map(|count| count * 100),
        read_bytes: old.map(|count| count * 102_400),
        write_ios: old,
        write_bytes: old,
        wait_ns: None,
        weighted_wait_ns: old.map(|count| count * 500_000_000),
        run_ns: old.map(|count| count * 250_000_000),
        weighted_run_ns: old.map(|count| count * 1_000_000_000),
        waiting: None,
        running: None,
        arc_read_ios: new.map(|count| count * 30),
        arc_read_bytes: new,
        arc_write_ios: new,
        arc_write_bytes: new,
        direct_read_ios: new.map(|count| count * 12),
        direct_read_bytes: new,
        direct_write_ios: None,
        direct_write_bytes: None,
    };
    let old = second(CounterSubject::Pool, &StatOptions::default(), pool(1, Some(0), None), pool(3, Some(2), None));
    assert_eq!((old.rows[0].name.as_str(), old.rows[0].texts[0].as_deref()), ("tank", Some("DEGRADED")));
    close(&old, "read_per_s", 100.0);
    close(&old, "read_kib_per_s", 100.0);
    close(&old, "read_size_kib", 1.0);
    close(&old, "busy_percent", 25.0);
    close(&old, "queue_size", 1.5);
    assert_eq!(old.value(&old.rows[0], "allocated_mib"), None, "the module does not tell");
    let new = second(CounterSubject::Pool, &StatOptions::default(), pool(1, None, Some(0)), pool(2, None, Some(2)));
    close(&new, "read_per_s", 84.0);
    close(&new, "write_per_s", 2.0);
    close(&new, "allocated_mib", 3.0);
    close(&new, "free_mib", 9.0);
    close(&new, "allocated_percent", 25.0);
    let between = second(CounterSubject::Pool, &StatOptions::default(), pool(1, None, None), pool(2, None, None));
    assert_eq!(between.value(&between.rows[0], "read_per_s"), None, "not counted is not 0");
}

fn disk(t_s: i64, device: &str, writes: i64) -> recording::rows::Disk {
    recording::rows::Disk {
        t_ns: t_s * 1_000_000_000,
        t_s: 0.0,
        device: device.into(),
        target: String::new(),
        read_ios: Some(0),
        read_merges: Some(0),
        read_sectors: Some(0),
        read_ticks_ms: Some(0),
        write_ios: Some(writes),
        write_merges: Some(0),
        write_sectors: Some(8 * writes),
        write_ticks_ms: Some(writes),
        in_flight: Some(0),
        io_ticks_ms: Some(writes),
        weighted_ticks_ms: Some(writes),
        discard_ios: None,
        discard_merges: None,
        discard_sectors: None,
        discard_ticks_ms: None,
        flush_ios: None,
        flush_ticks_ms: None,
        any_ios: None,
        any_sectors: None,
    }
}

#[test]
fn the_first_ios_of_a_device_count() {
    let mut fold = StatFold::new(&[CounterSubject::Disk], &StatOptions::default());
    fold.accept(&RowBatch::from_rows(&[disk(1, "sda", 5)]).unwrap()).unwrap();
    assert!(fold.commit().is_empty());
    // Its row of the sample before comes with that of this one.
    fold.accept(&RowBatch::from_rows(&[disk(1, "loop7", 0)]).unwrap()).unwrap();
    fold.accept(&RowBatch::from_rows(&[disk(3, "sda", 5), disk(3, "loop7", 100)]).unwrap()).unwrap();
    let block = fold.commit().remove(0);
    let shown: Vec<_> = block.rows.iter().map(|row| (row.name.as_str(), block.value(row, "write_per_s"))).collect();
    assert_eq!(shown, [("sda", Some(0.0)), ("loop7", Some(50.0))]);
}

#[test]
fn what_a_file_system_did_is_its_rate_times_the_interval() {
    let row = |t_ns: i64| recording::rows::FileSystem {
        t_ns,
        t_s: 0.0,
        mount: "/".into(),
        source: "/dev/sda".into(),
        kind: "ext4".into(),
        device: Some("sda".into()),
        volume: None,
        total_bytes: Some(1 << 30),
        free_bytes: Some(1 << 29),
        available_bytes: Some(1 << 29),
        inodes: None,
        inodes_free: None,
    };
    let mut fold = StatFold::new(&[CounterSubject::Fs], &StatOptions::default());
    // How full it is is read later than its device, once by 1 ms and once by 700 ms.
    let looks = [(1, 1_001_000_000), (3, 3_700_000_000)].map(|(t_s, t_ns)| {
        fold.accept(&RowBatch::from_rows(&[disk(t_s, "sda", 100 * t_s)]).unwrap()).unwrap();
        fold.accept(&RowBatch::from_rows(&[row(t_ns)]).unwrap()).unwrap();
        fold.commit()
    });
    let block = &looks[1][0];
    assert_eq!(block.seconds, 2.0);
    close(block, "write_per_s", 100.0);
    close(block, "write_kib_per_s", 400.0);
}

#[test]
fn a_link_of_ten_gigabits_is_measured_beyond_32_bits() {
    let fast = |t_ns, bytes| net(t_ns, [bytes, 1, bytes, 1], |row| row.speed_bits_per_s = Some(10_000_000_000));
    let begin = 5_000_000_000_000;
    let block = second(
        CounterSubject::Net,
        &StatOptions::default(),
        fast(0, begin),
        fast(1_000_000_000, begin + 1_222_500_000),
    );
    close(&block, "util_percent", 97.8);
    close(&block, "rx_kib_per_s", 1_222_500_000.0 / 1024.0);
    let fast = |t_ns, bytes| net(t_ns, [bytes, 1, 0, 1], |row| row.speed_bits_per_s = Some(400_000_000_000));
    let block = second(CounterSubject::Net, &StatOptions::default(), fast(0, 0), fast(1_000_000_000, 25_000_000_000));
    close(&block, "rx_util_percent", 50.0);
    close(&block, "speed_mbit_per_s", 400_000.0);
}

#[test]
fn counters_of_disciplines_go_round() {
    let with = |t_ns: i64, drops: i64| {
        net(t_ns, [0, 0, 0, 0], |row| {
            (row.qdisc_drops, row.qdisc_requeues, row.qdisc_overlimits) = (Some(drops), Some(0), Some(0));
        })
    };
    let block = second(CounterSubject::Net, &StatOptions::default(), with(0, u32::MAX.into()), with(1_000_000_000, 9));
    close(&block, "qdisc_drops_per_s", 10.0);
    close(&block, "saturation_per_s", 10.0);
    // Another discipline began anew: how many it dropped is not known, and neither is the sum.
    let block = second(CounterSubject::Net, &StatOptions::default(), with(0, 5000), with(1_000_000_000, 9));
    assert_eq!(block.value(&block.rows[0], "qdisc_drops_per_s"), None);
    assert_eq!(block.value(&block.rows[0], "saturation_per_s"), None, "not known is not 0");
}

#[test]
fn what_input_queues_drop_saturates_who_receives() {
    let system = |t_ns, drops| recording::rows::System {
        t_ns,
        t_s: 0.0,
        context_switches: Some(0),
        interrupts: None,
        forks: None,
        runnable: None,
        blocked: None,
        load_1m: None,
        softnet_drops: Some(drops),
        softnet_squeezed: Some(0),
    };
    let idle = |t_ns| Net { interface: "eth1".into(), ..net(t_ns, [0, 0, 0, 0], |_| {}) };
    let mut fold = StatFold::new(&[CounterSubject::Net], &StatOptions::default());
    for (t_ns, bytes, drops) in [(0, 0, 7), (1_000_000_000, 5000, 19)] {
        fold.accept(&RowBatch::from_rows(&[system(t_ns, drops)]).unwrap()).unwrap();
        fold.accept(&RowBatch::from_rows(&[net(t_ns, [bytes, 1, 0, 0], |_| {}), idle(t_ns)]).unwrap()).unwrap();
        for block in fold.commit() {
            let of = |key| block.rows.iter().map(|row| block.value(row, key)).collect::<Vec<_>>();
            assert_eq!(of("saturation_per_s"), [Some(12.0), Some(0.0)]);
            assert_eq!(of("softnet_drops_per_s"), [Some(12.0), Some(12.0)]);
        }
    }
}

#[test]
fn the_first_interval_has_the_time_in_handlers() {
    let interrupt =
        |t_ns, count| Interrupt { t_ns, t_s: 0.0, kind: "irq".into(), vector: "36 disk".into(), cpu: 1, count };
    let time = |t_ns, count, ns| IrqTime {
        t_ns,
        t_s: 0.0,
        kind: "irq".into(),
        vector: "36 disk".into(),
        cpu: 1,
        count,
        ns,
        max_ns: ns,
    };
    let of = |joins| {
        let mut fold = StatFold::new(&[CounterSubject::Irq], &StatOptions { joins, ..StatOptions::default() });
        fold.accept(&RowBatch::from_rows(&[interrupt(0, 1000)]).unwrap()).unwrap();
        assert!(fold.commit().is_empty());
        // The probe had seen none at the first sample, and says so by having no row.
        fold.accept(&RowBatch::from_rows(&[interrupt(1_000_000_000, 1200)]).unwrap()).unwrap();
        fold.accept(&RowBatch::from_rows(&[time(1_000_000_000, 200, 3_000_000)]).unwrap()).unwrap();
        let block = fold.commit().remove(0);
        (block.value(&block.rows[0], "ms_per_s"), block.value(&block.rows[0], "us_each"))
    };
    assert_eq!(of(false), (Some(3.0), Some(15.0)));
    assert_eq!(of(true), (None, None), "what came before is not known");
}

#[test]
fn how_far_rates_may_be_off() {
    let sample = |t_ns, slowest_ns| recording::rows::Sample {
        t_ns,
        t_s: 0.0,
        length_ns: slowest_ns,
        slowest: "process".into(),
        slowest_ns,
    };
    let mut fold = StatFold::new(&[], &StatOptions::default());
    assert_eq!(fold.rate_error_percent(), None);
    fold.accept(&RowBatch::from_rows(&[sample(0, 20_000_000)]).unwrap()).unwrap();
    assert_eq!(fold.rate_error_percent(), None, "one sample has no interval");
    fold.accept(&RowBatch::from_rows(&[sample(1_000_000_000, 5_000_000)]).unwrap()).unwrap();
    assert_eq!(fold.rate_error_percent(), Some(2.0));
    fold.accept(&RowBatch::from_rows(&[sample(3_000_000_000, 5_000_000)]).unwrap()).unwrap();
    assert_eq!(fold.rate_error_percent(), Some(0.25));
}

/// What a process did on a device in a second.
fn io_of(dev: &str, t_s: i64, (op, pid): (&str, i32), times_ms: &[u64]) -> recording::rows::IoInterval {
    let mut response = quantity::histogram::Histogram::new(5);
    times_ms.iter().for_each(|ms| response.record(ms * 1_000_000));
    recording::rows::IoInterval {
        t_ns: t_s * 1_000_000_000,
        t_s: 0.0,
        interval_ns: 1_000_000_000,
        dev: recording::Label::from(dev),
        op: recording::Label::from(op),
        pid: Some(pid),
        comm: None,
        file: None,
        ios: i64::try_from(times_ms.len()).unwrap(),
        bytes: 0,
        response,
        asynchronous: None,
        sizes: recording::SizeHistogram(quantity::histogram::Histogram::new(5)),
        sequential: None,
        errors: Some(0),
    }
}

#[test]
fn percentiles_are_of_the_interval_and_the_device() {
    let io = |t_s: i64, op: &str, pid: i32, times_ms: &[u64]| io_of("sda", t_s, (op, pid), times_ms);
    let mut fold = StatFold::new(&[CounterSubject::DiskPercentiles], &StatOptions::default());
    let mut second = |t_s: i64, ios: &[recording::rows::IoInterval]| {
        let disks = [disk(t_s, "sda", t_s * 10), disk(t_s, "sdb", 0)];
        fold.accept(&RowBatch::from_rows(&disks).unwrap()).unwrap();
        fold.accept(&RowBatch::from_rows(ios).unwrap()).unwrap();
        fold.commit().pop()
    };
    assert!(second(1, &[io(1, "write", 1, &[900])]).is_none(), "of no interval yet");
    // Two processes, of whose writes one percentile is made; a flush is neither.
    let fast: Vec<u64> = vec![2; 98];
    let block =
        second(2, &[io(2, "write", 1, &fast), io(2, "write", 2, &[50, 100]), io(2, "flush", 1, &[700])]).unwrap();
    let of = |block: &StatBlock, row: usize, key: &str| block.value(&block.rows[row], key);
    let is_near = |value: Option<f64>, ms: f64| value.is_some_and(|value| (value / ms - 1.0).abs() < 0.032);
    assert!(is_near(of(&block, 0, "write_p50_ms"), 2.0) && is_near(of(&block, 0, "write_p99_ms"), 50.0), "{block:?}");
    assert_eq!(of(&block, 0, "write_max_ms"), Some(100.0));
    close(&block, "write_per_s", 10.0);
    assert_eq!((of(&block, 0, "read_p50_ms"), of(&block, 1, "write_p50_ms")), (None, None));
    let idle = second(3, &[]).unwrap();
    assert_eq!(of(&idle, 0, "write_max_ms"), None, "not those of before");
    assert_eq!(idle.rows[0].values.len(), CounterSubject::DiskPercentiles.columns().len());
}

/// A volume over a disk, and a partition of that: an I/O to the volume is one of the disk as well, and takes longer there.
#[test]
fn percentiles_of_devices_that_lie_on_each_other_are_not_mixed() {
    let mut fold = StatFold::new(&[CounterSubject::DiskPercentiles], &StatOptions::default());
    let mut second = |t_s: i64, ios: &[recording::rows::IoInterval]| {
        let disks = ["sda", "sda1", "dm-0"].map(|name| disk(t_s, name, t_s * 10));
        fold.accept(&RowBatch::from_rows(&disks).unwrap()).unwrap();
        fold.accept(&RowBatch::from_rows(ios).unwrap()).unwrap();
        fold.commit().pop()
    };
    assert!(second(1, &[]).is_none(), "of no interval yet");
    let ios = [io_of("dm-0", 2, ("write", 1), &[40; 10]), io_of("sda", 2, ("write", 1), &[2; 10])];
    let block = second(2, &ios).unwrap();
    let of = |name: &str, key: &str| {
        let row = block.rows.iter().find(|row| row.name == name).expect(name);
        block.value(row, key)
    };
    assert_eq!((of("dm-0", "write_max_ms"), of("sda", "write_max_ms")), (Some(40.0), Some(2.0)));
    let p50 = |name: &str| of(name, "write_p50_ms").expect(name);
    assert!((p50("dm-0") / 40.0 - 1.0).abs() < 0.032 && (p50("sda") / 2.0 - 1.0).abs() < 0.032, "{block:?}");
    assert_eq!((of("sda1", "write_per_s"), of("sda1", "write_p50_ms")), (Some(10.0), None), "not known, and not none");
}
