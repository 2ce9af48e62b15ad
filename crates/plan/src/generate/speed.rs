//! Prints what things cost; asserts nothing (a shared machine is no place for it). Run with `--release --nocapture`.

use super::tests::{target, workload};
use super::{ArrivalSchedule, ContentGenerator, GeneratorPart, Operations, TargetGeometry, WriteVolume};
use crate::spec::{self, AddressDistribution, AddressOrder, Arrivals, GapDistribution, OpMix};
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
    let geometry = TargetGeometry { size_bytes: 1 << 40, block_bytes: 4096 };
    let sequential = AddressOrder::Sequential { once: false, backward: false };
    for (name, order, read) in [
        ("uniform 4 KiB read", AddressOrder::Random(AddressDistribution::Uniform), 1.0),
        ("uniform 4 KiB 70 % read", AddressOrder::Random(AddressDistribution::Uniform), 0.7),
        ("exact once", AddressOrder::Random(AddressDistribution::ExactOnce), 1.0),
        ("zipf 1.2", AddressOrder::Random(AddressDistribution::Zipf(1.2)), 1.0),
        ("zipf 0.9", AddressOrder::Random(AddressDistribution::Zipf(0.9)), 1.0),
        ("pareto 0.2", AddressOrder::Random(AddressDistribution::Pareto(0.2)), 1.0),
        ("normal 0.1", AddressOrder::Random(AddressDistribution::Normal(0.1)), 1.0),
        ("sequential", sequential, 1.0),
        ("30 % seeks", AddressOrder::Mixed { seek: 0.3, distribution: AddressDistribution::Uniform }, 1.0),
    ] {
        let mut workload = workload();
        workload.address.order = order;
        workload.mix = OpMix::read_write(read);
        let mut operations = Operations::new(&workload, &target(), geometry, 1, GeneratorPart::WHOLE).unwrap();
        per_call(name, 1_000_000, || {
            black_box(operations.next());
        });
    }
}

#[test]
fn schedules() {
    for gaps in [GapDistribution::Exponential, GapDistribution::Uniform, GapDistribution::Deterministic] {
        let arrivals = Arrivals { gaps, burst: None };
        let mut schedule = ArrivalSchedule::new(20_000.0, &arrivals, 1, GeneratorPart::WHOLE).unwrap();
        per_call(&format!("{gaps:?} arrivals"), 1_000_000, || {
            black_box(schedule.next_ns());
        });
    }
}

#[test]
fn contents() {
    let mut buf = vec![0; 1 << 17];
    for ratio in [1.0, 2.0, 4.0] {
        let spec = spec::WriteContent { compress_ratio: ratio, ..spec::WriteContent::default() };
        let mut content = ContentGenerator::new(&spec, &[], &WriteVolume::alone(1, 1 << 30)).unwrap();
        let start = now_ns();
        for k in 0..10_000 {
            content.fill(black_box(&mut buf), k << 17);
        }
        let bytes = 10_000.0 * buf.len() as f64;
        println!("content, compressible by {ratio}: {:.1} GB/s", bytes / (now_ns() - start) as f64);
    }
}
