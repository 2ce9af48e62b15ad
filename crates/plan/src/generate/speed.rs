//! Prints what things cost; asserts nothing (a shared machine is no place for it). Run with `--release --nocapture`.

use super::tests::{target, workload};
use super::{Content, Geometry, Operations, Part, Schedule, Volume};
use crate::spec::{self, Arrivals, Distribution, Gaps, OpMix, Order};
use quantity::clock::now_ns;
use std::hint::black_box;

fn per_call(name: &str, calls: u32, mut call: impl FnMut()) {
    let best = (0..5)
        .map(|_| {
            let start = now_ns();
            for _ in 0..calls {
                call();
            }
            now_ns() - start
        })
        .min()
        .unwrap();
    println!("{name}: {:.1} ns", best as f64 / f64::from(calls));
}

#[test]
fn operations() {
    let geometry = Geometry { size_bytes: 1 << 40, block_bytes: 4096 };
    let sequential = Order::Sequential { once: false, backward: false };
    for (name, order, read) in [
        ("uniform 4 KiB read", Order::Random(Distribution::Uniform), 1.0),
        ("uniform 4 KiB 70 % read", Order::Random(Distribution::Uniform), 0.7),
        ("exact once", Order::Random(Distribution::ExactOnce), 1.0),
        ("zipf 1.2", Order::Random(Distribution::Zipf(1.2)), 1.0),
        ("zipf 0.9", Order::Random(Distribution::Zipf(0.9)), 1.0),
        ("pareto 0.2", Order::Random(Distribution::Pareto(0.2)), 1.0),
        ("normal 0.1", Order::Random(Distribution::Normal(0.1)), 1.0),
        ("sequential", sequential, 1.0),
        ("30 % seeks", Order::Mixed { seek: 0.3, distribution: Distribution::Uniform }, 1.0),
    ] {
        let mut workload = workload();
        workload.address.order = order;
        workload.mix = OpMix::read_write(read);
        let mut operations = Operations::new(&workload, &target(), geometry, 1, Part::WHOLE).unwrap();
        per_call(name, 1_000_000, || {
            black_box(operations.next());
        });
    }
}

#[test]
fn schedules() {
    for gaps in [Gaps::Exponential, Gaps::Uniform, Gaps::Deterministic] {
        let arrivals = Arrivals { gaps, burst: None };
        let mut schedule = Schedule::new(20_000.0, &arrivals, 1, Part::WHOLE).unwrap();
        per_call(&format!("{gaps:?} arrivals"), 1_000_000, || {
            black_box(schedule.next_ns());
        });
    }
}

#[test]
fn contents() {
    let mut buf = vec![0; 1 << 17];
    for ratio in [1.0, 2.0, 4.0] {
        let spec = spec::Content { compress_ratio: ratio, ..spec::Content::default() };
        let mut content = Content::new(&spec, &[], &Volume::alone(1, 1 << 30)).unwrap();
        let start = now_ns();
        for k in 0..10_000 {
            content.fill(black_box(&mut buf), k << 17);
        }
        let bytes = 10_000.0 * buf.len() as f64;
        println!("content, compressible by {ratio}: {:.1} GB/s", bytes / (now_ns() - start) as f64);
    }
}
