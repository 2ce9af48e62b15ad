//! I/Os whose end the kernel did not let the probe see: reported without it, and never mixed up with those after them.

use std::path::Path;
use std::time::Duration;
use testkit::{LoopDevice, ScratchPlace, Zram, direct};
use trace::BlockDevice;
use trace::block::{BlockTrace, ProbeStatistics, TraceFilter, TraceOptions, op_numbers};

/// Bytes of a device.
const BYTES: u64 = 64 << 20;
/// The ends of I/Os below are not seen.
const LEFT_OUT_BELOW: u64 = 32 << 20;
/// Those of the first kind are so large, and the others so.
const SIZES: [u32; 2] = [4096, 8192];
/// Turns.
const IOS: u64 = 2000;

/// What the probe handed over: operation, first byte, size, and whether its end is known.
type Row = (u8, u64, u32, bool);

/// Traces I/Os of this process, by turns one whose end is not seen and two others; `write` says whether the first write,
/// and the others do the opposite. (Three, because requests are taken in turn out of a power of two.)
fn by_turns(device: &Path, filter: TraceFilter, write: bool) -> (Vec<Row>, ProbeStatistics) {
    let filter = TraceFilter {
        devices: vec![BlockDevice::find(device.to_str().unwrap()).unwrap()],
        pids: vec![std::process::id()],
        ..filter
    };
    let options = TraceOptions { filter, left_out_below: LEFT_OUT_BELOW / 512, ..TraceOptions::default() };
    let trace = BlockTrace::start(&options).unwrap();
    let file = direct::open(device).unwrap();
    let act = |write: bool, offset: u64, bytes: u32| {
        if write {
            direct::write(&file, offset, &vec![0x5a; bytes as usize]).unwrap();
        } else {
            direct::read(&file, offset, bytes as usize).unwrap();
        }
    };
    for io in 0..IOS {
        act(write, io * u64::from(SIZES[0]), SIZES[0]);
        for _ in 0..2 {
            act(!write, LEFT_OUT_BELOW + io * u64::from(SIZES[1]), SIZES[1]);
        }
    }
    // What ended less than a millisecond ago is not judged by the device's own count.
    std::thread::sleep(Duration::from_millis(5));
    trace.stop();
    let mut rows = Vec::new();
    while let Some(chunk) = trace.rest() {
        rows.extend(chunk.ios().map(|io| (io.op, io.sector * 512, io.bytes, io.complete_ns > 0)));
    }
    (rows, trace.final_statistics().unwrap())
}

/// Each row is an I/O that was made, whatever became of those before it at the same address in the kernel's memory.
/// `is_counted`: the device tells that the last of them have ended, too. On a machine that is `quiet` the kernel hides few ends.
fn check_filters(device: &Path, is_counted: bool, quiet: bool) {
    let (read, write) = (0, 1);
    for (first_writes, ops, wanted) in [(true, "write", write), (false, "read", read)] {
        let filter = TraceFilter { ops: op_numbers(ops), ..TraceFilter::default() };
        let (rows, counted) = by_turns(device, filter, first_writes);
        let wrong: Vec<_> = rows
            .iter()
            .filter(|(op, offset, bytes, ended)| {
                (*op, *bytes, *ended) != (wanted, SIZES[0], false) || *offset >= LEFT_OUT_BELOW
            })
            .collect();
        assert!(wrong.is_empty(), "{ops}: {} of {} rows are no I/O: {:?}", wrong.len(), rows.len(), wrong[0]);
        assert_eq!((counted.taken, counted.unaccounted()), (IOS, 0), "{counted:?}");
        assert_eq!((rows.len() as u64, counted.emitted + counted.unfinished), (IOS, IOS), "{counted:?}");
        // Addresses do come again, or nothing was tested; and not all, or the rest that has none after it was not. The very
        // last may have ended just now.
        assert!(counted.emitted > IOS / 2, "{counted:?}");
        assert!(if is_counted { counted.unfinished <= 1 } else { counted.unfinished > 0 }, "{counted:?}");
    }
    let (rows, counted) = by_turns(device, TraceFilter { sample: 2, ..TraceFilter::default() }, true);
    for row in &rows {
        let is_first = row.1 < LEFT_OUT_BELOW;
        let expected = if is_first { (write, SIZES[0]) } else { (read, SIZES[1]) };
        assert_eq!((row.0, row.2), expected, "{row:?}");
        assert!(!(is_first && row.3), "{row:?} has the end of another");
    }
    // Those that the kernel itself let no probe see (docs/trace.md) are counted like those that are left out here, and are few.
    let unseen = |first: bool| rows.iter().filter(|row| (row.1 < LEFT_OUT_BELOW) == first && !row.3).count();
    let reported = unseen(true) + unseen(false);
    assert!(reported as u64 == counted.lost_end + counted.unfinished, "{reported} have no end: {counted:?}");
    let is_few = unseen(false) <= 1 + rows.len() / 200;
    assert!(!quiet || is_few, "{} of {} ends were not seen: {counted:?}", unseen(false), rows.len());
    assert_eq!((counted.started, counted.unaccounted()), (3 * IOS, 0), "{counted:?}");
    assert_eq!(rows.len() as u64, counted.taken);
    assert_eq!(counted.emitted + counted.unfinished, counted.taken);
}

#[test]
fn what_comes_after_a_request_of_unseen_end_is_not_taken_for_it() {
    check_requests(false);
}

#[test]
#[ignore = "times: make exam"]
fn few_ends_of_requests_are_not_seen() {
    testkit::while_cpus_are_ours(|| check_requests(true));
}

fn check_requests(quiet: bool) {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new_in(BYTES, ScratchPlace::Memory).unwrap();
    check_filters(device.path(), true, quiet);
}

#[test]
fn what_comes_after_a_bio_of_unseen_end_is_not_taken_for_it() {
    check_bios(false);
}

#[test]
#[ignore = "times: make exam"]
fn few_ends_of_bios_are_not_seen() {
    testkit::while_cpus_are_ours(|| check_bios(true));
}

fn check_bios(quiet: bool) {
    if !testkit::require_root_or_skip() {
        return;
    }
    match Zram::new(BYTES) {
        Ok(zram) => check_filters(&zram.path(), false, quiet),
        Err(error) => assert!(testkit::lacks(&format!("zram: {error}"))),
    }
}
