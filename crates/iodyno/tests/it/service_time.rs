//! Service times as the recording has them, against those that the kernel's block tracepoints saw.

use crate::support::{Scratch, sum};
use faultfs::{DiskConfig, Faultfs};
use testkit::{BlockOp, Layer, LoopDevice, TracepointCapture};

/// Reads of a disk that takes its time, at one depth with one engine; what was recorded, and what the driver saw.
fn compare(engine: &str, depth: u32, delay_ms: u32) {
    if !testkit::require_root_or_skip() {
        return;
    }
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = Faultfs::mount(mountpoint.path(), DiskConfig::new(64 << 20)).unwrap();
    let device = LoopDevice::over(mountpoint.path().join("disk")).unwrap();
    let trace = match TracepointCapture::start(device.path(), Layer::Requests) {
        Ok(trace) => trace,
        Err(error) => {
            testkit::lacks(&format!("tracefs: {error}"));
            return;
        }
    };
    let scratch = Scratch::new();
    disk.control(&format!("delay {delay_ms}ms read")).unwrap();
    // Random reads of the whole device seldom touch; what the block layer merges is seen in the counts.
    let text = format!(
        "sd=sd1,lun={},openflags=o_direct,threads={depth}\nwd=wd1,sd=sd1,xfersize=8k,rdpct=100\nrd=rd1,wd=wd1,iorate=max,elapsed=4,interval=1\n",
        device.path().display()
    );
    scratch.run("out", &text, &["--no-report", "--engine", engine, "--workers", "1"]).expect_code(0);
    disk.control("delay 0ms").unwrap();
    let capture = trace.stop();
    assert_eq!(capture.lost, 0, "the tracepoints lost events; the comparison would mean nothing");
    let totals: Vec<_> = scratch.table("out", "run_total").into_iter().filter(|row| row["op"] == "read").collect();
    let ops = sum(&totals, "ops", |_| true);
    let recorded = |name: &str| {
        let weighted = totals.iter().map(|row| row[name].as_f64().unwrap() * row["ops"].as_f64().unwrap());
        weighted.sum::<f64>() / ops as f64
    };
    // Looking at the device before the run reads other sizes.
    let mut seen: Vec<f64> = capture
        .records
        .iter()
        .filter(|record| record.op == BlockOp::Read && record.bytes == 8192)
        .filter_map(|record| record.service_ns().map(|ns| ns as f64))
        .collect();
    seen.sort_by(f64::total_cmp);
    assert!(seen.len() as f64 >= 0.99 * ops as f64, "{} requests for {ops} operations", seen.len());
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let p50 = seen[seen.len() / 2];
    println!(
        "{engine}, depth {depth}: {ops} reads; mean {:.3} ms recorded, {:.3} ms at the driver; p50 {:.3} and {:.3} ms",
        recorded("service_ns_mean") / 1e6,
        mean / 1e6,
        recorded("service_ns_p50") / 1e6,
        p50 / 1e6
    );
    for (name, kernel) in [("service_ns_mean", mean), ("service_ns_p50", p50)] {
        let ratio = recorded(name) / kernel;
        assert!((0.95..1.05).contains(&ratio), "{name}: {ratio:.3} × what the driver saw ({kernel} ns)");
    }
}

#[test]
#[ignore = "times: make exam"]
fn at_depth_1() {
    testkit::while_cpus_are_ours(once_at_depth_1);
}

fn once_at_depth_1() {
    compare("io_uring", 1, 25);
    compare("sync", 1, 25);
}

#[test]
#[ignore = "times: make exam"]
fn at_depth_32() {
    testkit::while_cpus_are_ours(once_at_depth_32);
}

fn once_at_depth_32() {
    compare("io_uring", 32, 25);
    compare("sync", 32, 25);
}

#[test]
#[ignore = "times: make exam"]
fn at_depth_128() {
    testkit::while_cpus_are_ours(once_at_depth_128);
}

fn once_at_depth_128() {
    compare("io_uring", 128, 25);
    compare("sync", 128, 25);
}
