//! What the kernel's block tracepoints saw of a run, against what the recording says of it.

use crate::support::{Scratch, sum};
use std::collections::BTreeSet;
use testkit::{BlockOp, BlockRecord, Layer, LoopDevice, TracepointCapture};

/// A loop device of 64 MiB, the tracepoints of it while `parameters` run, and the recording's totals.
pub(crate) fn traced(parameters: &str) -> Option<(Vec<BlockRecord>, Vec<serde_json::Value>)> {
    traced_by("auto", parameters)
}

/// As `traced`, by an engine.
fn traced_by(engine: &str, parameters: &str) -> Option<(Vec<BlockRecord>, Vec<serde_json::Value>)> {
    if !testkit::require_root_or_skip() {
        return None;
    }
    let device = LoopDevice::new(64 << 20).unwrap();
    let trace = match TracepointCapture::start(device.path(), Layer::Bios) {
        Ok(trace) => trace,
        Err(error) => {
            testkit::lacks(&format!("tracefs: {error}"));
            return None;
        }
    };
    let scratch = Scratch::new();
    let text = format!("sd=sd1,lun={},openflags=o_direct,threads=8\n{parameters}", device.path().display());
    scratch.run("out", &text, &["--no-report", "--engine", engine]).expect_code(0);
    let capture = trace.stop();
    assert_eq!(capture.lost, 0, "the tracepoints lost events; the comparison would mean nothing");
    // What blkid, udev and our own inspection read is small and buffered: page-cache reads of 4 KiB multiples. The run
    // itself is recognised by the totals, so everything else must be at the edges of the device.
    Some((capture.records, scratch.table("out", "run_total")))
}

/// Operations of one kind and size in the trace.
pub(crate) fn of(records: &[BlockRecord], op: BlockOp) -> Vec<&BlockRecord> {
    records.iter().filter(|record| record.op == op).collect()
}

#[test]
fn a_hot_band_gets_its_shares() {
    let parameters = "wd=wd1,sd=sd1,xfersize=4k,rdpct=0,hotband=(25,75)\nrd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1,maxops=20000\n";
    let Some((records, _)) = traced(parameters) else { return };
    let writes = of(&records, BlockOp::Write);
    assert_eq!(writes.len(), 20_000);
    // docs/vdbench.md, "Hot band": of 32 MiB, 33 million bytes are used, which are 8,056 transfers; writes begin a hundredth
    // behind the beginning and go round.
    let place = |record: &&BlockRecord| {
        let at = record.offset.checked_sub(16 << 20).expect("inside the band");
        assert!(at.is_multiple_of(4096) && at / 4096 < 8056, "{at}");
        (at / 4096 + 8056 - 80) % 8056
    };
    for (upto, share) in [(80, 0.2236_f64), (805, 0.4264), (4028, 0.7216)] {
        let found = writes.iter().map(place).filter(|place| *place < upto).count() as f64;
        let sigma = (20_000.0 * share * (1.0 - share)).sqrt();
        assert!((found - 20_000.0 * share).abs() < 5.0 * sigma, "below {upto}: {found}, not {share}");
    }
}

#[test]
fn mixed_sizes_start_at_the_second_block() {
    let parameters = "wd=wd1,sd=sd1,xfersize=(4k,50,64k,50),rdpct=0,seekpct=0,threads=1\nrd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1,maxops=4000\n";
    let Some((records, _)) = traced(parameters) else { return };
    let writes = of(&records, BlockOp::Write);
    assert_eq!(writes.len(), 4000);
    // The first block is as large as the largest transfer; each write begins where the one before ended, and again at the
    // second block behind the end.
    let mut next = 64 << 10;
    for write in writes {
        assert_eq!(write.offset, next);
        next += write.bytes;
        next = if next == 64 << 20 { 64 << 10 } else { next };
    }
}

#[test]
fn a_range_starts_at_a_multiple_of_the_transfer() {
    let parameters = "wd=wd1,sd=sd1,xfersize=4k,rdpct=0,range=(33,66)\nrd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1,maxops=2000,forseekpct=(0,100)\n";
    let Some((records, _)) = traced(parameters) else { return };
    let writes = of(&records, BlockOp::Write);
    assert_eq!(writes.len(), 4000);
    // 33 % of 64 MiB are 22,145,925.12 bytes, 66 % are 44,291,850.24.
    let (low, high) = (22_145_925 / 4096 * 4096, 44_291_850 / 4096 * 4096);
    for write in &writes {
        assert!(write.offset % 4096 == 0 && write.offset >= low && write.offset + write.bytes <= high, "{write:?}");
    }
    assert_eq!(writes.iter().map(|write| write.offset).min(), Some(low), "the sequence begins there");
}

#[test]
fn eof_leaves_the_first_block_alone() {
    let parameters = "wd=wd1,sd=sd1,xfersize=(4k,50,64k,50),rdpct=0,seekpct=eof,threads=1\nrd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1\n";
    let Some((records, totals)) = traced(parameters) else { return };
    let writes = of(&records, BlockOp::Write);
    assert_eq!(i64::try_from(writes.len()).unwrap(), sum(&totals, "ops", |row| row["op"] == "write"));
    let mut next = 64 << 10;
    for write in writes {
        assert_eq!(write.offset, next, "each byte once, in order");
        next += write.bytes;
    }
    assert_eq!(next, 64 << 20, "to the end");
}

#[test]
fn writes_are_counted_one_by_one_and_lie_where_they_should() {
    let parameters = "wd=wd1,sd=sd1,xfersize=(4k,50,16k,30,64k,20),rdpct=0,range=(25,75)\nrd=rd1,wd=wd1,iorate=2000,elapsed=600,interval=1,maxops=6000\n";
    let Some((records, totals)) = traced(parameters) else { return };
    let writes = of(&records, BlockOp::Write);
    let ops = sum(&totals, "ops", |row| row["op"] == "write");
    let bytes = sum(&totals, "bytes", |row| row["op"] == "write");
    assert_eq!(i64::try_from(writes.len()).unwrap(), ops, "each write once in the kernel, once in the recording");
    assert_eq!(i64::try_from(writes.iter().map(|record| record.bytes).sum::<u64>()).unwrap(), bytes);
    for record in &writes {
        assert!(
            record.offset >= 16 << 20 && record.offset + record.bytes <= 48 << 20,
            "{record:?} outside range=(25,75)"
        );
        assert!(record.offset.is_multiple_of(record.bytes), "{record:?} is not aligned to its size");
    }
    let n = writes.len() as f64;
    for (size, share) in [(4096, 0.5), (16384, 0.3), (65536, 0.2)] {
        let found = writes.iter().filter(|record| record.bytes == size).count() as f64;
        let sigma = (n * share * (1.0 - share)).sqrt();
        assert!((found - n * share).abs() < 4.5 * sigma, "{size} bytes: {found} of {n}, asked {share}");
    }
    let places: BTreeSet<u64> = writes.iter().map(|record| record.offset >> 20).collect();
    assert_eq!(places.len(), 32, "every MiB of the range was hit");
}

#[test]
fn reads_and_hits_keep_their_shares() {
    let parameters = "wd=wd1,sd=sd1,xfersize=4k,rdpct=60,rhpct=50,whpct=0\nrd=rd1,wd=wd1,iorate=3000,elapsed=600,interval=1,maxops=9000\n";
    let Some((records, totals)) = traced(parameters) else { return };
    let writes = of(&records, BlockOp::Write);
    assert_eq!(i64::try_from(writes.len()).unwrap(), sum(&totals, "ops", |row| row["op"] == "write"));
    let reads = sum(&totals, "ops", |row| row["op"] == "read") as f64;
    let all = reads + writes.len() as f64;
    assert!((reads - 0.6 * all).abs() < 4.5 * (all * 0.24).sqrt(), "{reads} reads of {all}");
    // hitarea defaults to 1 MiB at the beginning; misses stay outside it.
    let hits =
        of(&records, BlockOp::Read).iter().filter(|record| record.bytes == 4096 && record.offset < 1 << 20).count()
            as f64;
    assert!((hits - 0.5 * reads).abs() < 4.5 * (reads * 0.25).sqrt() + 64.0, "{hits} hits of {reads} reads");
    assert!(writes.iter().all(|record| record.offset >= 1 << 20), "no write hits were asked for");
}

#[test]
fn concatenated_devices_are_one_address_space() {
    concatenate(false);
}

#[test]
#[ignore = "times: make exam"]
fn concatenated_devices_have_the_rate_that_was_asked() {
    testkit::while_cpus_are_ours(|| concatenate(true));
}

/// Three devices as one; on a machine that is `quiet` all that is due is done.
fn concatenate(quiet: bool) {
    if !testkit::require_root_or_skip() {
        return;
    }
    let devices =
        [LoopDevice::new(8 << 20).unwrap(), LoopDevice::new(4 << 20).unwrap(), LoopDevice::new(12 << 20).unwrap()];
    let record = |parameters: &str| {
        let traces = devices.iter().map(|device| TracepointCapture::start(device.path(), Layer::Bios));
        let Ok(traces) = traces.collect::<Result<Vec<_>, _>>() else {
            testkit::lacks("tracefs");
            return None;
        };
        let scratch = Scratch::new();
        let sds: String = (devices.iter().enumerate())
            .map(|(at, device)| format!("sd=sd{at},lun={},openflags=o_direct\n", device.path().display()))
            .collect();
        let text = format!("concatenatesds=yes\n{sds}{parameters}");
        scratch.run("out", &text, &["--no-report"]).expect_code(0);
        let mut seen = Vec::new();
        for (at, trace) in traces.into_iter().enumerate() {
            let capture = trace.stop();
            assert_eq!(capture.lost, 0, "the tracepoints lost events; the comparison would mean nothing");
            seen.extend(of(&capture.records, BlockOp::Write).into_iter().map(|one| (one.issue_ns, at, one.offset)));
        }
        seen.sort_unstable();
        Some((seen, scratch.table("out", "run_total")))
    };
    // One thread, sequential: every block of each device in order, one device after the other. Block 0 of a raw device
    // is left alone.
    let run =
        "wd=wd1,sd=sd*,rdpct=0,xfersize=64k,seekpct=eof,threads=1\nrd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1\n";
    let Some((seen, totals)) = record(run) else { return };
    let order: Vec<(usize, u64)> = seen.into_iter().map(|(_, at, offset)| (at, offset)).collect();
    let expect: Vec<(usize, u64)> =
        [8, 4, 12].into_iter().enumerate().flat_map(|(at, mib)| (1..mib * 16).map(move |k| (at, k << 16))).collect();
    assert_eq!(order, expect);
    assert_eq!(sum(&totals, "ops", |row| row["target"] == "sd2"), 12 * 16 - 1, "counted where it went");
    // Random, at a rate: each device by its size.
    let end = if quiet { "elapsed=2" } else { "elapsed=600,maxops=6000" };
    let run = "wd=wd1,sd=sd*,rdpct=0,xfersize=4k,threads=4\nrd=rd1,wd=wd1,iorate=3000,interval=1,";
    let Some((seen, totals)) = record(&format!("{run}{end}\n")) else { return };
    let all = seen.len() as f64;
    assert!(if quiet { (5970.0..=6030.0).contains(&all) } else { seen.len() == 6000 }, "{all} of 3,000/s for 2 s");
    assert_eq!(sum(&totals, "ops", |_| true), i64::try_from(seen.len()).unwrap());
    let arrivals = sum(&totals, "arrivals", |_| true) as f64;
    assert!(arrivals >= all - 5.0 && (!quiet || arrivals <= all + 5.0), "what was due is known");
    for (at, share) in [8.0, 4.0, 12.0].map(|mib| mib / 24.0).into_iter().enumerate() {
        let found = seen.iter().filter(|(_, device, _)| *device == at).count() as f64;
        let share: f64 = share;
        assert!(
            (found - all * share).abs() < 4.5 * (all * share * (1.0 - share)).sqrt() + 4.0,
            "{at}: {found} of {all}"
        );
    }
}

#[test]
fn skew_holds_at_a_rate_and_at_full_speed() {
    if !testkit::require_root_or_skip() {
        return;
    }
    for rate in ["2000", "max"] {
        // What one of them has still to do at the end for want of a processor is missing.
        let is_held = |share: &Option<f64>| share.is_none_or(|share| (share - 0.8).abs() < 0.02);
        testkit::until_enough(|| share_at(rate), is_held);
    }
}

/// The share that the first of two workloads had, of which 0.8 was asked; `None` where there is no witness.
fn share_at(rate: &str) -> Option<f64> {
    let devices = [LoopDevice::new(64 << 20).unwrap(), LoopDevice::new(64 << 20).unwrap()];
    let traces = devices.iter().map(|device| TracepointCapture::start(device.path(), Layer::Bios));
    let Ok(traces) = traces.collect::<Result<Vec<_>, _>>() else {
        testkit::lacks("tracefs");
        return None;
    };
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},openflags=o_direct,threads=8\nsd=sd2,lun={},openflags=o_direct,threads=8\n\
         wd=wd1,sd=sd1,xfersize=8k,rdpct=100,skew=80\nwd=wd2,sd=sd2,xfersize=8k,rdpct=100,skew=20\n\
         rd=rd1,wd=wd*,iorate={rate},elapsed=600,interval=1,maxops=6000\n",
        devices[0].path().display(),
        devices[1].path().display()
    );
    scratch.run("out", &text, &["--no-report"]).expect_code(0);
    let totals = scratch.table("out", "run_total");
    let mut seen = Vec::new();
    for (trace, workload) in traces.into_iter().zip(["wd1", "wd2"]) {
        let capture = trace.stop();
        assert_eq!(capture.lost, 0, "the tracepoints lost events; the comparison would mean nothing");
        let reads = of(&capture.records, BlockOp::Read).iter().filter(|record| record.bytes == 8192).count();
        let ops = sum(&totals, "ops", |row| row["workload"] == workload);
        assert_eq!(i64::try_from(reads).unwrap(), ops, "{workload} at {rate}");
        seen.push(reads as f64);
    }
    Some(seen[0] / (seen[0] + seen[1]))
}

#[test]
fn trims_and_flushes_reach_the_device_one_by_one() {
    let parameters = "wd=wd1,sd=sd1,xfersize=64k,rdpct=0,trimpct=40,fsync_every=5\nrd=rd1,wd=wd1,iorate=1000,elapsed=600,interval=1,maxops=3000\n";
    for engine in ["auto", "sync"] {
        trims_and_flushes(engine, parameters);
    }
}

fn trims_and_flushes(engine: &str, parameters: &str) {
    let Some((records, totals)) = traced_by(engine, parameters) else { return };
    let asked = |op: &str| sum(&totals, "ops", |row| row["op"] == op);
    let (writes, trims, flushes) = (asked("write"), asked("trim"), asked("flush"));
    assert_eq!(i64::try_from(of(&records, BlockOp::Write).len()).unwrap(), writes);
    // A device gets discards, not zeroes.
    let given_back = of(&records, BlockOp::Trim);
    assert!(of(&records, BlockOp::Zeroes).is_empty());
    assert_eq!(i64::try_from(given_back.len()).unwrap(), trims);
    assert!(given_back.iter().all(|record| record.bytes == 65_536 && record.offset.is_multiple_of(65_536)));
    let all = (writes + trims) as f64;
    assert!((trims as f64 - 0.4 * all).abs() < 4.5 * (all * 0.24).sqrt(), "{trims} trims of {all}");
    assert!((flushes - writes / 5).abs() <= 8, "{flushes} flushes for {writes} writes");
    // The block layer joins flushes that wait for each other.
    let reached = i64::try_from(of(&records, BlockOp::Flush).len()).unwrap();
    assert!(reached > 0 && reached <= flushes, "{reached} of {flushes} flushes");
}
