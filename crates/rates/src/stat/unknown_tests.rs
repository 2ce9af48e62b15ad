//! Figures of which a part is not known: `?`, never the rest of them.

use super::{CounterSubject, StatFold, StatOptions};
use recording::rows::{CpuEvent, Net, Process, ProcessEvent, System, Tcp};
use recording::{Row, RowBatch};

const SECOND_NS: i64 = 1_000_000_000;

fn batch<R: Row>(row: R) -> RowBatch {
    RowBatch::from_rows(&[row]).unwrap()
}

/// Figures of the only row of a subject in the last of some samples.
fn figures<const N: usize>(subject: CounterSubject, samples: Vec<Vec<RowBatch>>, keys: [&str; N]) -> [Option<f64>; N] {
    let mut fold = StatFold::new(&[subject], &StatOptions::default());
    let mut blocks = Vec::new();
    for sample in samples {
        sample.iter().for_each(|batch| fold.accept(batch).unwrap());
        blocks = fold.commit();
    }
    let block = blocks.first().unwrap();
    keys.map(|key| block.value(&block.rows[0], key))
}

#[test]
fn saturation_of_a_link_is_not_known_where_a_part_of_it_is_not() {
    // 3 errors, 4 drops, and 5 packets that input queues dropped, per second.
    let sample = |n: i64, errors: i64, softnet: Option<i64>| {
        let link = Net {
            t_ns: n * SECOND_NS,
            interface: "eth1".into(),
            rx_bytes: n * 1000,
            tx_bytes: 0,
            tx_errors: Some(errors),
            tx_drops: Some(n * 4),
            ..Net::default()
        };
        let system = System { t_ns: n * SECOND_NS, softnet_drops: softnet, ..System::default() };
        vec![batch(link), batch(system)]
    };
    let shown = |errors: [i64; 2], softnet: [Option<i64>; 2]| {
        let samples = vec![sample(1, errors[0], softnet[0]), sample(2, errors[1], softnet[1])];
        figures(CounterSubject::Net, samples, ["saturation_per_s", "tx_errors_per_s", "softnet_drops_per_s"])
    };
    assert_eq!(shown([3, 6], [Some(5), Some(10)]), [Some(12.0), Some(3.0), Some(5.0)]);
    assert_eq!(shown([3, 6], [Some(5), Some(0)]), [None, Some(3.0), None], "input queues");
    assert_eq!(shown([3, 6], [Some(5), None]), [None, Some(3.0), None], "input queues");
    assert_eq!(shown([3, 2], [Some(5), Some(10)]), [None, None, Some(5.0)], "errors");
    // An import without either has what it counts.
    assert_eq!(shown([3, 6], [None, None]), [Some(7.0), Some(3.0), None]);
}

#[test]
fn resets_of_tcp_are_not_known_where_one_of_both_counters_fell() {
    let shown = |established: [i64; 2], sent: [i64; 2]| {
        let row = |n: usize| Tcp {
            t_ns: i64::try_from(n + 1).unwrap() * SECOND_NS,
            established_resets: Some(established[n]),
            resets_sent: Some(sent[n]),
            out_segments: Some(sent[n]),
            retransmits: Some(established[n]),
            ..Tcp::default()
        };
        let samples = vec![vec![batch(row(0))], vec![batch(row(1))]];
        figures(CounterSubject::Tcp, samples, ["resets_per_s", "retransmit_percent"])
    };
    assert_eq!(shown([10, 11], [100, 103]), [Some(4.0), Some(25.0)]);
    assert_eq!(shown([10, 2], [100, 1080]), [None, None], "the sum of both grew");
    assert_eq!(shown([10, 990], [100, 92]), [None, None]);
}

#[test]
fn a_process_whose_counter_by_event_fell_shows_neither_0_nor_a_negative_difference() {
    let sample = |n: i64, run_ms: i64, switches: i64| {
        let (t_ns, pid) = (n * SECOND_NS, 100);
        let ticks = Process {
            t_ns,
            pid,
            start_ns: Some(5),
            comm: "db".into(),
            user_ns: Some(n * 300_000_000),
            system_ns: Some(0),
            ..Process::default()
        };
        let events = ProcessEvent {
            t_ns,
            pid,
            start_ns: 5,
            comm: "db".into(),
            run_ns: run_ms * 1_000_000,
            switches,
            ..ProcessEvent::default()
        };
        vec![batch(ticks), batch(events), batch(CpuEvent { t_ns, cpu: "all".into(), ..CpuEvent::default() })]
    };
    let keys = ["proc_percent", "event_percent", "difference_points", "switches_per_s"];
    let shown = |run_ms: i64, switches: i64| {
        figures(CounterSubject::ProcessClock, vec![sample(1, 400, 50), sample(2, run_ms, switches)], keys)
    };
    assert_eq!(shown(800, 90), [Some(30.0), Some(40.0), Some(10.0), Some(40.0)]);
    // The probe was loaded anew.
    assert_eq!(shown(10, 1), [Some(30.0), None, None, None]);
}
