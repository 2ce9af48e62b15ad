//! What the page shows of figures that are not known: `?`, never a part of them, 0 or less.

use crate::{PageFold, PageInterval, PageScene, ResourceRow};
use rates::Availability;
use recording::rows::{Cpu, Interrupt, Memory, Net, System};
use recording::{Row, RowBatch, Sink as _};

const SECOND_NS: i64 = 1_000_000_000;

fn batch<R: Row>(rows: &[R]) -> RowBatch {
    RowBatch::from_rows(rows).expect("a batch")
}

/// One after the other, each a sample.
fn moments(samples: Vec<Vec<RowBatch>>) -> Vec<PageInterval> {
    let mut fold = PageFold::new(true);
    for sample in samples {
        sample.iter().for_each(|batch| fold.accept(batch).expect("a batch"));
        fold.commit().expect("a sample");
    }
    fold.take()
}

fn row(moments: &[PageInterval], name: &str) -> ResourceRow {
    let verdicts = Availability::default();
    let rows = PageScene::of(moments, &verdicts).resources(None, None);
    rows.into_iter().find(|row| row.name == name).expect("a row")
}

/// A quarter busy.
fn all_cpus(n: i64) -> Cpu {
    let busy_ns = n * SECOND_NS / 4;
    Cpu {
        t_ns: n * SECOND_NS,
        cpu: "all".into(),
        user_ns: busy_ns,
        idle_ns: n * SECOND_NS - busy_ns,
        clock: "tick".into(),
        ..Cpu::default()
    }
}

#[test]
fn an_import_without_rows_per_cpu_shows_neither_0_cpus_nor_a_wait_of_minus_0() {
    // As vmstat prints it: three tasks run, and all CPUs stand in one line.
    let system = |n: i64| System { t_ns: n * SECOND_NS, runnable: Some(3), blocked: Some(1), ..System::default() };
    let shown = moments((1..=2).map(|n| vec![batch(&[all_cpus(n)]), batch(&[system(n)])]).collect());
    assert_eq!(row(&shown, "cpu").saturation.0, "run 3 of ?  blk 1");
    assert_eq!(shown[0].waited_ns_per_s(), None);
}

#[test]
fn a_count_of_killed_processes_that_fell_is_not_known() {
    let shown = |kills: [i64; 3]| {
        let memory =
            |(n, kills): (i64, i64)| Memory { t_ns: n * SECOND_NS, oom_kills: Some(kills), ..Memory::default() };
        let sample = |(n, kills)| vec![batch(&[all_cpus(n)]), batch(&[memory((n, kills))])];
        let shown = moments((1..).zip(kills).map(sample).collect());
        [row(&shown[..1], "memory").errors.0, row(&shown, "memory").errors.0]
    };
    assert_eq!(shown([5, 7, 8]), ["oom 2", "oom 1"]);
    assert_eq!(shown([5, 7, 0]), ["oom 2", "oom ?"]);
}

#[test]
fn interrupts_of_a_vector_are_not_known_when_those_on_one_cpu_are_not() {
    let on = |n: i64, vector: &str, cpu: i32, count: i64| Interrupt {
        t_ns: n * SECOND_NS,
        kind: "irq".into(),
        vector: vector.into(),
        cpu,
        count,
        ..Interrupt::default()
    };
    let sample = |n: i64, first: i64| {
        let rows = [
            on(n, "36 virtio", 0, first),
            on(n, "36 virtio", 1, n * 2000),
            on(n, "LOC", 0, n * 300),
            on(n, "LOC", 1, 0),
        ];
        vec![batch(&[all_cpus(n)]), batch(&rows)]
    };
    let shown = |samples: Vec<Vec<RowBatch>>| {
        let (moments, verdicts) = (moments(samples), Availability::default());
        let rows = PageScene::of(&moments, &verdicts).interrupts().rows;
        rows.into_iter().map(|row| row.cells.join("|")).collect::<Vec<_>>()
    };
    assert_eq!(shown(vec![sample(1, 1000), sample(2, 2000)]), ["36 virtio|irq|3.0k|1.0k|2.0k", "LOC|irq|300|300|0"]);
    // The counter on CPU 0 went round.
    let around = shown(vec![sample(1, 4_294_967_000), sample(2, 500)]);
    assert_eq!(around, ["36 virtio|irq|?|?|2.0k", "LOC|irq|300|300|0"]);
}

#[test]
fn drops_of_a_link_are_not_known_when_those_of_its_queueing_discipline_are_not() {
    let shown = |discipline: Option<[i64; 2]>| {
        let link = |n: i64| Net {
            t_ns: n * SECOND_NS,
            interface: "eth1".into(),
            rx_bytes: n * 1000,
            tx_bytes: n * 1000,
            rx_drops: Some(n * 3),
            tx_drops: Some(n * 4),
            qdisc_drops: discipline.map(|drops| if n == 1 { drops[0] } else { drops[1] }),
            qdisc_backlog_bytes: discipline.map(|_| 0),
            ..Net::default()
        };
        let shown = moments((1..=2).map(|n| vec![batch(&[all_cpus(n)]), batch(&[link(n)])]).collect());
        row(&shown, "net eth1").saturation.0
    };
    assert_eq!(shown(None), "queue ?B  drop 7/s");
    assert_eq!(shown(Some([10, 12])), "queue 0B  drop 9/s");
    assert_eq!(shown(Some([10, 2])), "queue 0B  drop ?/s");
}
