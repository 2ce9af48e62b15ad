//! Proof against coordinated omission: a target that stops for two seconds at a fixed rate.

use crate::support::Scratch;
use faultfs::{DiskConfig, Faultfs};
use testkit::oracle::{ExactDistribution, Scenario, at_rate};
use testkit::{BlockRecord, Layer, LoopDevice, TracepointCapture};

const MS: u64 = 1_000_000;

/// 500/s for 10 s, 1 ms service time, a stall of 2 s in the middle: counts and percentiles equal the schedule's.
#[test]
#[ignore = "times: make exam"]
fn a_stall_shows_in_response_times_as_the_schedule_says() {
    testkit::while_cpus_are_ours(once_a_stall_shows_in_response_times_as_the_schedule_says);
}

fn once_a_stall_shows_in_response_times_as_the_schedule_says() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = Faultfs::mount(mountpoint.path(), DiskConfig::new(64 << 20)).unwrap();
    let device = LoopDevice::over(disk.disk()).unwrap();
    disk.control("delay 1ms").unwrap();
    let trace = TracepointCapture::start(device.path(), Layer::Requests).ok();
    let scratch = Scratch::new();
    // threads=2000: deep enough that nothing waits for a slot; the oracle has no limit either.
    let text = format!(
        "sd=sd1,lun={},openflags=o_direct,threads=1500\nwd=wd1,sd=sd1,xfersize=4k\nrd=rd1,wd=wd1,iorate=500,elapsed=10,interval=1,distribution=deterministic\n",
        device.path().display()
    );
    let file = scratch.write("a.vdb", &text);
    let child = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out", "--json"]).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(5));
    disk.control("stall 2s").unwrap();
    child.wait().unwrap().expect_code(0);
    let capture = trace.map(TracepointCapture::stop);

    let scenario = Scenario {
        due_ns: at_rate(500.0, 5000),
        depth_limit: None,
        service_ns: MS,
        stalls: vec![(4_500 * MS, 6_500 * MS)],
    };
    let expected = ExactDistribution::of(scenario.open_loop().iter().map(|timed| timed.response_ns()));
    let rows = scratch.table("out", "run_total");
    let row = rows.iter().find(|row| row["phase"] == "measure").expect("a measured phase");
    let seen = |column: &str| row[column].as_u64().unwrap_or_else(|| panic!("{column} in {row}"));
    assert!(seen("arrivals").abs_diff(5000) <= 25, "{row}");
    assert!(seen("ops").abs_diff(5000) <= 30, "{row}");
    for (what, seen, expected) in [
        ("p90", seen("response_ns_p90"), expected.percentile_ns(90.0)),
        ("p99", seen("response_ns_p99"), expected.percentile_ns(99.0)),
        ("max", seen("response_ns_max"), expected.max_ns()),
    ] {
        assert!(
            seen.abs_diff(expected) as f64 <= expected as f64 * 0.02 + 2e6,
            "{what}: {seen} ns, the schedule says {expected} ns"
        );
    }
    // The median is the disk's own time, 1 ms and what FUSE and the loop device add: the driver saw how long.
    let Some(capture) = capture else {
        testkit::lacks("tracefs");
        return;
    };
    let p50 = ExactDistribution::of(capture.records.iter().filter_map(BlockRecord::service_ns)).percentile_ns(50.0);
    let seen = seen("response_ns_p50");
    assert!(seen.abs_diff(p50) as f64 <= p50 as f64 * 0.02 + 2e5, "p50: {seen} ns, the driver saw {p50} ns");
}
