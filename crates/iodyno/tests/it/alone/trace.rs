//! `iodyno trace` on real devices: every I/O of a known load is one row, equal to what the load's own log says.

use crate::support::{Done, Scratch, done, fio_log};
use recording::rows::{Io, TraceInterval};
use recording::{EventKind, Reader};
use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Child, CommandOutput, FileSystem, LoopDevice, MountedFileSystem, TestCommand, Zram};

thread_local! {
    /// By which way the traces of this test are made; nothing: as a user gets it.
    static WAY: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// A trace under way, which is ended by Ctrl-C.
struct Tracing<'a> {
    _alone: testkit::Alone,
    scratch: &'a Scratch,
    child: Child,
    name: String,
}

impl<'a> Tracing<'a> {
    /// `iodyno trace MORE -o NAME`; returns once everything is attached.
    fn start(scratch: &'a Scratch, name: &str, more: &[&str]) -> Self {
        let alone = testkit::alone();
        let mut arguments = vec!["trace", "-o", name];
        arguments.extend_from_slice(more);
        arguments.extend(WAY.get().into_iter().flat_map(|way| ["--through", way]));
        let mut child = scratch.iodyno(&arguments).spawn().unwrap();
        if !child.wait_for_stdout("tracing", Duration::from_secs(60)) {
            panic!("no trace: {:?}", child.wait());
        }
        Self { _alone: alone, scratch, child, name: name.to_string() }
    }

    /// Ends it; the command's output, and the rows in the order of queueing.
    fn stop(self) -> (CommandOutput, Vec<Io>) {
        self.child.signal(rustix::process::Signal::INT);
        let output = self.child.wait().unwrap();
        let mut rows = rows(self.scratch, &self.name);
        // By completion, up to what a buffer holds back; what never completed has no place in that order.
        let ended: Vec<(&str, i64)> = rows.iter().filter_map(|io| Some((&*io.dev, io.complete_ns?))).collect();
        assert!(ended.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].1 <= pair[1].1 + 5_000_000));
        rows.sort_by_key(|io| io.queue_ns);
        (output, rows)
    }
}

/// Of an I/O whose completion's probe the kernel left out: it stands in the trace as one that has no end.
const LEFT_OUT: &str = "without an end:";

/// Some more tries when the trace had losses: the kernel leaves a probe out about once in 20,000 I/Os of a slow load
/// (docs/trace.md). They are counted, and not what these tests are about; anything else fails at once.
fn without_losses(test: fn()) {
    for _ in 0..3 {
        let Err(panic) = std::panic::catch_unwind(test) else { return };
        let message = panic.downcast_ref::<String>().map_or("", String::as_str);
        if !["expected exit code 0, got Some(6)", LEFT_OUT].iter().any(|words| message.starts_with(words)) {
            std::panic::resume_unwind(panic);
        }
    }
    test();
}

macro_rules! tests {
    ($($name:ident: $once:ident,)*) => {
        $(#[test]
        fn $name() {
            without_losses($once);
        })*
    };
}

tests! {
    every_io_is_one_row_equal_to_fios_own_log: once_every_io_is_one_row_equal_to_fios_own_log,
    trims_and_flushes_are_rows_of_their_own: once_trims_and_flushes_are_rows_of_their_own,
    filters_and_sampling_are_done_in_the_kernel: once_filters_and_sampling_are_done_in_the_kernel,
    a_driver_without_requests_is_traced_by_its_bios: once_a_driver_without_requests_is_traced_by_its_bios,
    merged_bios_are_counted_in_the_request_that_took_them: once_merged_bios_are_counted_in_the_request_that_took_them,
    write_back_is_charged_to_the_writer_and_its_file: once_write_back_is_charged_to_the_writer_and_its_file,
    compressed_write_back_is_charged_to_the_writer_as_well: once_compressed_write_back_is_charged_to_the_writer_as_well,
    renamed_and_unlinked_files_keep_the_name_that_they_had_when_they_were_seen: once_renamed_and_unlinked_files_keep_the_name_that_they_had_when_they_were_seen,
    direct_and_buffered_reads_know_their_file_with_every_engine: once_direct_and_buffered_reads_know_their_file_with_every_engine,
    btt_blkparse_and_fio_read_what_is_exported: once_btt_blkparse_and_fio_read_what_is_exported,
    reads_of_files_stand_beside_the_io_that_they_cause: once_reads_of_files_stand_beside_the_io_that_they_cause,
    what_fails_has_its_error_number: once_what_fails_has_its_error_number,
    a_partition_is_traced_without_its_neighbours: once_a_partition_is_traced_without_its_neighbours,
    a_large_write_is_split_and_its_parts_are_marked: once_a_large_write_is_split_and_its_parts_are_marked,
    a_control_group_is_traced_without_others: once_a_control_group_is_traced_without_others,
    a_long_trace_is_cut_into_recordings_without_losing_a_row: once_a_long_trace_is_cut_into_recordings_without_losing_a_row,
}

macro_rules! through_ftrace {
    ($($name:ident: $once:ident,)*) => {
        /// What needs neither files nor control groups is the same through ftrace.
        mod through_ftrace {
            $(#[test]
            fn $name() {
                if !std::path::Path::new("/sys/kernel/tracing/instances").is_dir() {
                    testkit::lacks("tracefs at /sys/kernel/tracing");
                    return;
                }
                super::WAY.set(Some("ftrace"));
                super::without_losses(super::$once);
            })*
        }
    };
}

through_ftrace! {
    trims_and_flushes_are_rows_of_their_own: once_trims_and_flushes_are_rows_of_their_own,
    filters_and_sampling_give_the_same: once_filters_and_sampling_are_done_in_the_kernel,
    merged_bios_are_counted_in_the_request_that_took_them: once_merged_bios_are_counted_in_the_request_that_took_them,
    btt_blkparse_and_fio_read_what_is_exported: once_btt_blkparse_and_fio_read_what_is_exported,
    what_fails_has_its_error_number: once_what_fails_has_its_error_number,
    a_partition_is_traced_without_its_neighbours: once_a_partition_is_traced_without_its_neighbours,
    a_large_write_is_split_and_its_parts_are_marked: once_a_large_write_is_split_and_its_parts_are_marked,
}

#[test]
#[ignore = "times: make exam"]
fn waiting_for_a_free_request_counts_from_the_first_attempt() {
    // How many workers queue at the same time, and so in no order, is a matter of who gets a CPU.
    testkit::while_cpus_are_ours(|| without_losses(once_waiting_for_a_free_request_counts_from_the_first_attempt));
}

fn rows(scratch: &Scratch, name: &str) -> Vec<Io> {
    Reader::open(scratch.path(name)).unwrap().table::<Io>().unwrap()
}

fn intervals(scratch: &Scratch, name: &str) -> Vec<TraceInterval> {
    Reader::open(scratch.path(name)).unwrap().table::<TraceInterval>().unwrap()
}

/// What fio did with `options`, by its own log.
fn fio(scratch: &Scratch, device: &LoopDevice, options: &[&str]) -> Vec<Done> {
    fio_log(scratch, device.path(), options)
}

/// A loop device that merges nothing, so that what fio submits and what the device gets are the same.
fn device() -> Option<LoopDevice> {
    testkit::require_root_or_skip().then(|| {
        let device = LoopDevice::new(256 << 20).unwrap();
        std::fs::write(device.sysfs().join("queue/nomerges"), "2").unwrap();
        device
    })
}

/// Those of a kind.
fn only(log: &[Done], is: fn(&Done) -> bool) -> Vec<Done> {
    log.iter().filter(|row| is(row)).cloned().collect()
}

/// Compares row by row; the first difference is enough.
fn assert_same(ours: &[Done], theirs: &[Done]) {
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(ours, theirs, "row {at}");
    }
    assert_eq!(ours.len(), theirs.len());
}

fn once_every_io_is_one_row_equal_to_fios_own_log() {
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    let name = device.name();
    let tracing = Tracing::start(&scratch, "known", &["-d", &name, "--comm", "fio"]);
    let log = fio(
        &scratch,
        &device,
        &["--rw=randrw", "--bsrange=4k-128k", "--iodepth=8", "--size=128m", "--number_ios=3000"],
    );
    let (output, rows) = tracing.stop();
    let output = output.expect_code(0);
    assert!(output.stdout.contains("none lost"), "{}", output.stdout);
    let n = i64::try_from(log.len()).unwrap();
    assert!(n > 2000, "{n}");
    assert_same(&done(&rows), &log);
    let endless: Vec<&Io> = rows.iter().filter(|io| io.complete_ns.is_none()).collect();
    assert!(endless.is_empty(), "{LEFT_OUT} {endless:?}");
    for io in &rows {
        let issue_ns = io.issue_ns.expect("a request is issued");
        assert!(io.queue_ns <= issue_ns && Some(issue_ns) < io.complete_ns, "{io:?}");
        assert!(*io.dev == *name && io.comm.as_deref() == Some("fio") && io.pid.is_some() && io.tid.is_some());
        assert!(io.error.is_none() && io.bios == Some(1) && io.requeues == Some(0), "{io:?}");
        assert_eq!(
            io.flags.as_ref().unwrap().contains("sync"),
            *io.op == *"write",
            "{io:?}: direct writes are synchronous for the kernel"
        );
    }
    let intervals = intervals(&scratch, "known");
    assert_eq!(intervals.iter().map(|row| row.ios).sum::<i64>(), n);
    assert_eq!(intervals.iter().map(|row| row.started).sum::<i64>(), n);
    assert_eq!(intervals.iter().map(|row| row.bytes).sum::<i64>(), rows.iter().map(|io| io.bytes).sum::<i64>());
    assert_eq!(intervals.iter().map(|row| row.response.count()).sum::<u64>(), n.unsigned_abs());
}

/// io_uring does not let a program wait for a free request: it lets a worker queue the bio again, later and in another
/// order. The time between is part of the response.
fn once_waiting_for_a_free_request_counts_from_the_first_attempt() {
    let Some(device) = device() else { return };
    std::fs::write(device.sysfs().join("queue/scheduler"), "none").unwrap();
    std::fs::write(device.sysfs().join("queue/nr_requests"), "32").unwrap();
    let scratch = Scratch::new();
    let tracing = Tracing::start(&scratch, "t", &["-d", &device.name(), "--comm", "fio"]);
    // Each 16 KiB behind the one before, so four times from the start; given to the kernel as many at once as the device
    // has requests: a device that keeps pace with I/Os that come one by one is never without a free one.
    let options = [
        "--ioengine=io_uring",
        "--iodepth=512",
        "--iodepth_batch_submit=32",
        "--rw=read:12k",
        "--bs=4k",
        "--size=256m",
    ];
    let log = fio(&scratch, &device, &options);
    let (output, rows) = tracing.stop();
    output.expect_code(0);
    assert_eq!(rows.len(), log.len());
    let workers = rows.iter().filter(|io| io.tid != rows[0].tid).count();
    assert!(workers > 100, "{workers} of {} were queued by a worker: nothing was tested", rows.len());
    assert_eq!(rows.iter().filter(|io| io.sector == 0).count(), 4);
    let disorder = rows.windows(2).filter(|pair| pair[0].sector > pair[1].sector && pair[1].sector != 0).count();
    assert!(disorder * 200 < workers, "{disorder} out of order, {workers} queued by a worker");
}

fn once_trims_and_flushes_are_rows_of_their_own() {
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    let tracing = Tracing::start(&scratch, "kinds", &["-d", device.path().to_str().unwrap(), "--comm", "fio"]);
    let trims = fio(&scratch, &device, &["--rw=randtrim", "--bs=64k", "--iodepth=1", "--size=64m", "--number_ios=200"]);
    let writes = fio(
        &scratch,
        &device,
        &["--rw=write", "--bs=8k", "--iodepth=1", "--size=64m", "--number_ios=300", "--fsync=10"],
    );
    let (output, rows) = tracing.stop();
    output.expect_code(0);
    let kind = |name: &str| rows.iter().filter(|io| *io.op == *name).cloned().collect::<Vec<_>>();
    assert_same(&done(&kind("discard")), &only(&trims, |row| row.0 == "trim"));
    assert_same(&done(&kind("write")), &only(&writes, |row| row.0 == "write"));
    let flushes = kind("flush");
    assert!((29..=31).contains(&flushes.len()), "one flush after every ten writes: {}", flushes.len());
    assert!(flushes.iter().all(|io| io.bytes == 0 && io.issue_ns.is_some()), "{flushes:?}");
    assert_eq!(rows.len(), kind("discard").len() + kind("write").len() + flushes.len());
}

fn once_filters_and_sampling_are_done_in_the_kernel() {
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    let node = device.path().to_str().unwrap();
    let load = ["--rw=randrw", "--bssplit=4k/50:16k/50", "--iodepth=4", "--size=64m", "--number_ios=4000"];
    let check = |name: &str, more: &[&str]| {
        let mut arguments = vec!["-d", node, "--comm", "fio"];
        arguments.extend_from_slice(more);
        let tracing = Tracing::start(&scratch, name, &arguments);
        let log = fio(&scratch, &device, &load);
        let (output, rows) = tracing.stop();
        output.expect_code(0);
        (log, rows)
    };
    let (log, rows) = check("op", &["--op", "write"]);
    assert_same(&done(&rows), &only(&log, |row| row.0 == "write"));
    let (log, rows) = check("size", &["--size", "8k-64k"]);
    assert_same(&done(&rows), &only(&log, |row| row.2 >= 8192));
    let (_, rows) = check("pid", &["--pid", "1"]);
    assert_eq!(rows, []);
    let (log, rows) = check("sample", &["--sample", "1/8"]);
    let started: i64 = intervals(&scratch, "sample").iter().map(|row| row.started).sum();
    assert_eq!(started, i64::try_from(log.len()).unwrap(), "the rate is known although few are traced");
    // 4000 tries with probability 1/8: mean 500, sigma 21.
    assert!((395..=605).contains(&rows.len()), "{} of 4000 sampled", rows.len());
    let all = log.iter().collect::<std::collections::BTreeSet<_>>();
    assert!(done(&rows).iter().all(|row| all.contains(row)), "a sampled row is whole");
}

#[test]
fn without_privilege_the_missing_capabilities_are_named() {
    let scratch = Scratch::new();
    if !testkit::require_root_or_skip() {
        return;
    }
    let out = "/tmp/iodyno-unprivileged.iodyno";
    let output = scratch.iodyno(&["trace", "--all", "-o", out, "--for", "1s"]).dir("/").user(65534).run().unwrap();
    let output = output.expect_code(8);
    assert!(output.stderr.contains("CAP_BPF and CAP_PERFMON") && output.stderr.contains("setcap"), "{}", output.stderr);
    assert!(!std::path::Path::new(out).exists(), "nothing is written by a trace that cannot begin");
}

#[test]
fn wrong_parameters_are_refused_with_what_would_be_right() {
    let scratch = Scratch::new();
    let check = |arguments: &[&str], expected: &str| {
        let output = scratch.iodyno(&[&["trace", "-o", "x"], arguments].concat()).run().unwrap().expect_code(2);
        assert!(output.stderr.contains(expected), "{arguments:?}: {}", output.stderr);
        assert!(!scratch.path("x").exists());
    };
    check(&["-d", "nonsense0"], "no block device of this machine");
    check(&["--all", "--op", "reed"], "there are: read, write");
    check(&["--all", "--size", "64k-4k"], "FROM-TO");
    check(&["--all", "--sample", "0"], "1/N");
    check(&["--all", "--for", "soon"], "30s, 10m");
    check(&[], "--device");
    check(&["--all", "-d", "x"], "cannot be used with");
}

fn once_a_driver_without_requests_is_traced_by_its_bios() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let zram = match Zram::new(64 << 20) {
        Ok(zram) => zram,
        Err(error) => {
            testkit::lacks(&format!("zram: {error}"));
            return;
        }
    };
    let scratch = Scratch::new();
    let name = zram.name();
    let tracing = Tracing::start(&scratch, "bios", &["-d", &name, "--comm", "fio"]);
    let log =
        fio_log(&scratch, &zram.path(), &["--rw=randrw", "--bs=4k", "--iodepth=4", "--size=32m", "--number_ios=2000"]);
    let (output, rows) = tracing.stop();
    output.expect_code(0);
    assert!(log.len() > 1000);
    assert_same(&done(&rows), &log);
    assert!(rows.iter().all(|io| *io.dev == *name && Some(io.queue_ns) < io.complete_ns && io.pid.is_some()));
}

fn once_merged_bios_are_counted_in_the_request_that_took_them() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(64 << 20).unwrap();
    std::fs::write(device.sysfs().join("queue/nomerges"), "0").unwrap();
    let scratch = Scratch::new();
    let tracing = Tracing::start(&scratch, "merged", &["-d", &device.name(), "--comm", "fio"]);
    // Batches of 16 neighbours under one plug.
    let load = ["--rw=write", "--bs=4k", "--iodepth=16", "--iodepth_batch=16", "--iodepth_batch_complete_min=16"];
    let log = fio(&scratch, &device, &[&load[..], &["--size=8m"]].concat());
    let (output, rows) = tracing.stop();
    output.expect_code(0);
    assert_eq!(log.len(), 2048);
    assert_eq!(rows.iter().filter_map(|io| io.bios).sum::<i32>(), 2048, "no bio is lost or counted twice");
    assert_eq!(rows.iter().map(|io| io.bytes).sum::<i64>(), 8 << 20);
    assert!(rows.len() < 1024, "{} requests: nothing was merged", rows.len());
    let merges: i64 = intervals(&scratch, "merged").iter().map(|row| row.merges).sum();
    assert_eq!(i64::try_from(rows.len()).unwrap() + merges, 2048);
}

/// Makes a file system of `kind` on a device of its own, traces it while `load` runs in it, and gives the rows.
fn on_file_system(kind: FileSystem, options: &[&str], load: impl Fn(&Path)) -> Option<(PathBuf, Vec<Io>)> {
    (0..3).find_map(|_| once_on_file_system(kind, options, &load))?
}

/// `None`: the trace said of itself that ends went missing (docs/trace.md), which the kernel here does at times.
#[expect(clippy::option_option, reason = "again, skipped, traced")]
fn once_on_file_system(
    kind: FileSystem,
    options: &[&str],
    load: &impl Fn(&Path),
) -> Option<Option<(PathBuf, Vec<Io>)>> {
    if !testkit::require_root_or_skip() {
        return Some(None);
    }
    if !kind.is_available() {
        testkit::lacks(kind.name());
        return Some(None);
    }
    let device = LoopDevice::new(kind.min_bytes().max(256 << 20)).unwrap();
    kind.make(device.path()).unwrap();
    let node = device.path().to_str().unwrap();
    let mount = if options.is_empty() {
        MountedFileSystem::device(node).unwrap()
    } else {
        MountedFileSystem::mount(&[&["-t", kind.name(), "-o"], options, &[node]].concat()).unwrap()
    };
    let scratch = Scratch::new();
    let tracing = Tracing::start(&scratch, "files", &["-d", node]);
    load(mount.path());
    TestCommand::new("sync").arg("-f").arg(mount.path()).run().unwrap().expect_code(0);
    let (output, rows) = tracing.stop();
    if output.code == Some(6) && output.stderr.contains("the probe at their end") {
        return None;
    }
    output.expect_code(0);
    Some(Some((mount.path().to_path_buf(), rows)))
}

/// Writes `megabytes` of text that compresses to `path` through the page cache, by dd.
fn dd(path: &Path, megabytes: u32, more: &[&str]) {
    TestCommand::new("dd")
        .args(["if=/dev/zero", "bs=64k", "status=none"])
        .args([format!("of={}", path.display()), format!("count={}", megabytes * 16)])
        .args(more)
        .run()
        .unwrap()
        .expect_code(0);
}

/// Bytes that were written for a file, by all I/Os that name it.
fn written(rows: &[Io], path: &Path) -> i64 {
    let path = path.to_str().unwrap();
    rows.iter().filter(|io| &*io.op == "write" && io.file.as_deref() == Some(path)).map(|io| io.bytes).sum()
}

/// Every write to `path` is owned by dd, and there are `expected` bytes of them.
fn charged_to_dd(rows: &[Io], path: &Path, expected: std::ops::RangeInclusive<i64>) {
    let bytes = written(rows, path);
    assert!(expected.contains(&bytes), "{}: {bytes} bytes, expected {expected:?}", path.display());
    let text = path.to_str().unwrap();
    for io in rows.iter().filter(|io| &*io.op == "write" && io.file.as_deref() == Some(text)) {
        assert_eq!(io.owner_comm.as_deref(), Some("dd"), "{io:?}");
        assert!(io.owner_pid.is_some() && io.inode.is_some(), "{io:?}");
    }
}

fn once_write_back_is_charged_to_the_writer_and_its_file() {
    const MIB: i64 = 1 << 20;
    for kind in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
        let traced = on_file_system(kind, &[], |root| {
            std::fs::create_dir(root.join("deep")).unwrap();
            // At once.
            std::thread::scope(|scope| {
                scope.spawn(|| dd(&root.join("deep/first"), 8, &[]));
                scope.spawn(|| dd(&root.join("second"), 4, &[]));
            });
        });
        let Some((root, rows)) = traced else { continue };
        charged_to_dd(&rows, &root.join("deep/first"), 8 * MIB..=8 * MIB);
        charged_to_dd(&rows, &root.join("second"), 4 * MIB..=4 * MIB);
        let by_dd = rows.iter().filter(|io| io.owner_comm.as_deref() == Some("dd"));
        let owners: std::collections::BTreeSet<_> = by_dd.map(|io| (io.owner_pid, io.file.clone())).collect();
        assert_eq!(owners.len(), 2, "{}: each file has its own dd: {owners:?}", kind.name());
    }
}

fn once_compressed_write_back_is_charged_to_the_writer_as_well() {
    let traced = on_file_system(FileSystem::Btrfs, &["compress-force=zstd"], |root| dd(&root.join("zeros"), 16, &[]));
    let Some((root, rows)) = traced else { return };
    charged_to_dd(&rows, &root.join("zeros"), 1..=4 << 20);
}

fn once_renamed_and_unlinked_files_keep_the_name_that_they_had_when_they_were_seen() {
    let traced = on_file_system(FileSystem::Ext4, &[], |root| {
        dd(&root.join("before"), 2, &["conv=fsync"]);
        std::fs::rename(root.join("before"), root.join("after")).unwrap();
        dd(&root.join("after"), 1, &["conv=notrunc,fsync"]);
        let held = std::fs::File::create(root.join("gone")).unwrap();
        std::fs::remove_file(root.join("gone")).unwrap();
        (&held).write_all(&[7; 1 << 20]).unwrap();
        held.sync_all().unwrap();
    });
    let Some((root, rows)) = traced else { return };
    charged_to_dd(&rows, &root.join("before"), 2 << 20..=2 << 20);
    charged_to_dd(&rows, &root.join("after"), 1 << 20..=1 << 20);
    assert_eq!(written(&rows, &root.join("gone (deleted)")), 1 << 20);
    let of = |name: &str| rows.iter().find(|io| io.file.as_deref() == root.join(name).to_str()).and_then(|io| io.inode);
    assert!(of("before").is_some() && of("before") == of("after"), "one inode under two names");
}

fn once_direct_and_buffered_reads_know_their_file_with_every_engine() {
    for engine in ["psync", "libaio", "io_uring"] {
        let traced = on_file_system(FileSystem::Ext4, &[], |root| {
            let file = root.join("data");
            dd(&file, 16, &["conv=fsync"]);
            for (direct, iodepth) in [("1", "8"), ("0", "1")] {
                TestCommand::new("fio")
                    .args([
                        "--name=known",
                        "--rw=randread",
                        "--bs=8k",
                        "--size=16m",
                        "--number_ios=300",
                        "--invalidate=1",
                    ])
                    .arg(format!("--ioengine={engine}"))
                    .arg(format!("--iodepth={iodepth}"))
                    .arg(format!("--direct={direct}"))
                    .arg(format!("--filename={}", file.display()))
                    // Forces io_uring's worker threads for some.
                    .args(if engine == "io_uring" { &["--force_async=4"][..] } else { &[] })
                    .run()
                    .unwrap()
                    .expect_code(0);
            }
        });
        let Some((root, rows)) = traced else { return };
        let path = root.join("data");
        let reads = |direct: bool| {
            rows.iter()
                .filter(|io| {
                    &*io.op == "read"
                        && io.file.as_deref() == path.to_str()
                        && io.flags.as_ref().unwrap().contains("direct") == direct
                        && io.comm.as_deref() == Some("fio")
                })
                .count()
        };
        assert_eq!(reads(true), 300, "{engine}: each direct read is one I/O of the file, issued by fio");
        assert!(reads(false) >= 100, "{engine}: {} buffered reads", reads(false));
    }
}

#[test]
fn losses_are_counted_and_end_with_exit_code_6() {
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    let tracing = Tracing::start(&scratch, "lost", &["-d", &device.name(), "--comm", "fio", "--buffer", "64k"]);
    // The trace does not empty the ring while the load runs.
    tracing.child.signal(rustix::process::Signal::STOP);
    let log = fio(&scratch, &device, &["--rw=randread", "--bs=4k", "--iodepth=4", "--size=64m", "--number_ios=3000"]);
    tracing.child.signal(rustix::process::Signal::CONT);
    let (output, rows) = tracing.stop();
    let output = output.expect_code(6);
    let reader = Reader::open(scratch.path("lost")).unwrap();
    let lost = reader.manifest().losses["trace_buffer_full"];
    // 64 KiB hold 910 records with their headers of 8 bytes.
    assert!((500..=910).contains(&rows.len()), "{}", rows.len());
    // Now and then the kernel leaves the probe out, which is a loss of another kind.
    let all: u64 = reader.manifest().losses.values().sum();
    let (known, total) = (rows.len() as u64 + all, log.len() as u64);
    assert_eq!(known, total, "{} rows and {:?} of {total} I/Os", rows.len(), reader.manifest().losses);
    assert_same(&done(&rows), &log[..rows.len()]);
    assert_eq!(intervals(&scratch, "lost").iter().map(|row| row.lost_buffer).sum::<i64>().unsigned_abs(), lost);
    let events = reader.table::<recording::rows::Event>().unwrap();
    let events = events.iter().filter(|event| event.kind == EventKind::TraceLost);
    assert_eq!(events.map(|event| event.count.unsigned_abs()).sum::<u64>(), lost);
    assert!(output.stdout.contains("LOSSES") && output.stdout.contains("LOST"), "{}", output.stdout);
    assert!(output.stderr.contains("not complete") && output.stderr.contains("--buffer"), "{}", output.stderr);
}

fn once_btt_blkparse_and_fio_read_what_is_exported() {
    let Some(device) = device() else { return };
    if !Path::new("/usr/bin/btt").exists() {
        testkit::lacks("blktrace's tools");
        return;
    }
    let scratch = Scratch::new();
    let tracing = Tracing::start(&scratch, "rec", &["-d", &device.name(), "--comm", "fio"]);
    let log = fio(&scratch, &device, &["--rw=randrw", "--bs=8k", "--iodepth=4", "--size=64m", "--number_ios=1000"]);
    let (output, rows) = tracing.stop();
    output.expect_code(0);
    let export = |format: &str, file: &str| {
        let arguments = ["export", "rec", "io", "--format", format, "-o", file];
        scratch.iodyno(&arguments).run().unwrap().expect_code(0);
    };
    let tool = |name: &str, arguments: &[&str]| {
        TestCommand::new(name).args(arguments).dir(scratch.path("")).run().unwrap().expect_code(0).stdout
    };
    export("blktrace", "t.blktrace.0");
    let text = tool("blkparse", &["-i", "t"]);
    let events =
        |text: &str, letter: &str| text.lines().filter(|line| line.split_whitespace().nth(5) == Some(letter)).count();
    for letter in ["Q", "D", "C"] {
        assert_eq!(events(&text, letter), log.len(), "{letter} as blkparse sees it");
    }
    // Our own text is what blkparse makes of our binary, but for its numbering.
    export("blkparse", "t.txt");
    let ours = std::fs::read_to_string(scratch.path("t.txt")).unwrap();
    let words = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.iter().enumerate().filter(|(at, _)| *at != 2).map(|(_, word)| (*word).to_string()).collect::<Vec<_>>()
    };
    let theirs: Vec<&str> = text.lines().take(ours.lines().count()).collect();
    for (ours, theirs) in ours.lines().zip(theirs) {
        assert_eq!(words(ours), words(theirs));
    }
    tool("blkparse", &["-i", "t", "-d", "t.bin", "-O"]);
    let btt = tool("btt", &["-i", "t.bin"]);
    let line = btt.lines().find(|line| line.starts_with("Q2C")).unwrap_or_else(|| panic!("{btt}"));
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells.last().and_then(|n| n.parse().ok()), Some(log.len()), "{line}");
    let mean_s: f64 = cells[2].parse().unwrap();
    let ours_s =
        rows.iter().map(|io| (io.complete_ns.unwrap() - io.queue_ns) as f64).sum::<f64>() / rows.len() as f64 / 1e9;
    assert!((mean_s - ours_s).abs() < 1e-8, "btt's mean of Q2C {mean_s}, ours {ours_s}");
    // The analysis has btt's figures and fio's counts.
    let csv = scratch.iodyno(&["export", "rec", "trace.devices", "--csv"]).run().unwrap().expect_code(0).stdout;
    let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let figure = |name: &str| -> f64 {
        let at = cells[0].iter().position(|known| *known == name).unwrap_or_else(|| panic!("no {name}: {csv}"));
        cells[1][at].parse().unwrap()
    };
    let theirs = |phase: &str| -> f64 {
        let line = btt.lines().find(|line| line.starts_with(phase)).unwrap_or_else(|| panic!("{btt}"));
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    for (name, phase) in [("response_mean", "Q2C"), ("mean_device", "D2C")] {
        let (ours_s, theirs_s) = (figure(name) / 1e9, theirs(phase));
        assert!((ours_s - theirs_s).abs() < 2e-8, "{name}: {ours_s} s, btt's {phase}: {theirs_s} s");
    }
    let reads = only(&log, |row| row.0 == "read").len();
    assert_eq!(figure("i_os"), log.len() as f64);
    assert!((figure("reads") - 100.0 * reads as f64 / log.len() as f64).abs() < 1e-9);
    assert_eq!(figure("bytes"), log.iter().map(|row| row.2 as f64).sum::<f64>());
    // fio replays the iolog: the same I/Os.
    export("fio-iolog", "t.iolog");
    let tracing = Tracing::start(&scratch, "again", &["-d", &device.name(), "--comm", "fio"]);
    let replay = ["--name=again", "--direct=1", "--ioengine=psync", "--read_iolog=t.iolog", "--replay_no_stall=1"];
    tool("fio", &replay);
    let (output, again) = tracing.stop();
    output.expect_code(0);
    assert_same(&done(&again), &log);
}

fn once_reads_of_files_stand_beside_the_io_that_they_cause() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let device = LoopDevice::new(FileSystem::Ext4.min_bytes()).unwrap();
    let mounted = MountedFileSystem::make(FileSystem::Ext4, device.path()).unwrap();
    let scratch = Scratch::new();
    let file = mounted.path().join("data");
    let dd = |arguments: &[&str]| {
        TestCommand::new("dd").args(arguments).run().unwrap().expect_code(0);
    };
    dd(&["if=/dev/zero", &format!("of={}", file.display()), "bs=1M", "count=4", "conv=fsync"]);
    rustix::fs::fadvise(std::fs::File::open(&file).unwrap(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let name = device.name();
    let tracing = Tracing::start(&scratch, "both", &["-d", &name, "--files", "--comm", "dd"]);
    dd(&[&format!("if={}", file.display()), "of=/dev/null", "bs=64k"]);
    dd(&[&format!("if={}", file.display()), "of=/dev/null", "bs=64k"]);
    let (output, rows) = tracing.stop();
    output.expect_code(0);
    let read: i64 = rows.iter().filter(|io| io.file.as_deref() == file.to_str()).map(|io| io.bytes).sum();
    assert_eq!(read, 4 << 20, "once from the disk");
    let logical = Reader::open(scratch.path("both")).unwrap().table::<recording::rows::FileInterval>().unwrap();
    let logical: i64 =
        logical.iter().filter(|row| row.file.as_deref() == file.to_str()).map(|row| row.read_bytes).sum();
    assert_eq!(logical, 8 << 20, "twice by the program");
}

fn once_what_fails_has_its_error_number() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let mountpoint = tempfile::tempdir().unwrap();
    let disk = faultfs::Faultfs::mount(mountpoint.path(), faultfs::DiskConfig::new(16 << 20)).unwrap();
    let device = LoopDevice::over(disk.disk()).unwrap();
    let scratch = Scratch::new();
    let name = device.name();
    disk.control("eio read range 64k-128k").unwrap();
    let tracing = Tracing::start(&scratch, "failed", &["-d", &name, "--comm", "dd"]);
    let source = format!("if={}", device.path().display());
    let dd = |skip: &str| {
        TestCommand::new("dd").args([&source, "of=/dev/null", "bs=64k", "count=1", "iflag=direct", skip]).run().unwrap()
    };
    dd("skip=0").expect_code(0);
    dd("skip=1").expect_code(1);
    let (output, rows) = tracing.stop();
    output.expect_code(0);
    let of = |sector: i64| rows.iter().filter(move |io| io.sector / 128 == sector).collect::<Vec<_>>();
    assert!(!of(0).is_empty() && of(0).iter().all(|io| io.error.is_none()), "{rows:?}");
    assert!(of(1).iter().any(|io| io.error == Some(5)), "EIO: {rows:?}");
}

fn once_a_partition_is_traced_without_its_neighbours() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let image = scratch.path("image");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    TestCommand::new("sfdisk")
        .args(["-q", image.to_str().unwrap()])
        .stdin("label: gpt\n,20M\n,20M\n")
        .run()
        .unwrap()
        .expect_code(0);
    let device = LoopDevice::over(&image).unwrap();
    // By ioctl: the kernel may know no partition tables.
    let partx = |flag: &str| TestCommand::new("partx").arg(flag).arg(device.path()).run().unwrap().expect_code(0);
    partx("-a");
    let (first, second) = (format!("{}p1", device.name()), format!("{}p2", device.name()));
    let tell = |name: &str, what: &str| std::fs::read_to_string(format!("/sys/class/block/{name}/{what}"));
    let start = tell(&second, "start").unwrap();
    // udev may not run here, so the test makes the nodes itself.
    let node = |name: &str| {
        let path = scratch.path(name);
        let numbers = tell(name, "dev").unwrap();
        let (major, minor) = numbers.trim().split_once(':').unwrap();
        TestCommand::new("mknod").args([path.to_str().unwrap(), "b", major, minor]).run().unwrap().expect_code(0);
        path
    };
    let tracing = Tracing::start(&scratch, "part", &["-d", &second, "--comm", "dd"]);
    for name in [&first, &second] {
        TestCommand::new("dd")
            .args([
                &format!("if={}", node(name).display()),
                "of=/dev/null",
                "bs=4k",
                "count=25",
                "skip=3",
                "iflag=direct",
            ])
            .run()
            .unwrap()
            .expect_code(0);
    }
    let (output, rows) = tracing.stop();
    partx("-d");
    output.expect_code(0);
    assert_eq!(rows.len(), 25, "only the second's");
    assert!(rows.iter().all(|io| *io.dev == *device.name()), "rows are of the whole device");
    assert_eq!(
        rows.iter().map(|io| io.sector).min(),
        Some(start.trim().parse::<i64>().unwrap() + 3 * 8),
        "and so are sectors"
    );
}

fn once_a_large_write_is_split_and_its_parts_are_marked() {
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    // It would stay with the device's number, whatever that is used for next.
    let _limit = crate::support::Setting::new(device.sysfs().join("queue/max_sectors_kb"), "64");
    let name = device.name();
    let tracing = Tracing::start(&scratch, "split", &["-d", &name, "--comm", "dd"]);
    TestCommand::new("dd")
        .args(["if=/dev/zero", &format!("of={}", device.path().display()), "bs=1M", "count=2", "oflag=direct"])
        .run()
        .unwrap()
        .expect_code(0);
    let (output, rows) = tracing.stop();
    output.expect_code(0);
    let writes: Vec<&Io> = rows.iter().filter(|io| &*io.op == "write").collect();
    assert_eq!(writes.iter().map(|io| io.bytes).sum::<i64>(), 2 << 20);
    assert!(writes.len() >= 32 && writes.iter().all(|io| io.bytes <= 64 << 10), "{}", writes.len());
    let marked = writes.iter().filter(|io| io.flags.as_deref().is_some_and(|flags| flags.contains("split"))).count();
    assert!(marked >= 30, "{marked} of {}", writes.len());
    let splits: i64 = intervals(&scratch, "split").iter().map(|row| row.splits).sum();
    assert!(splits >= 30, "{splits}");
}

fn once_a_control_group_is_traced_without_others() {
    let Some(device) = device() else { return };
    let Ok(groups) = MountedFileSystem::mount(&["-t", "cgroup2", "none"]) else {
        testkit::lacks("control groups, version 2");
        return;
    };
    let scratch = Scratch::new();
    let group = groups.path().join(testkit::own_name("traced"));
    std::fs::create_dir(&group).unwrap();
    let name = device.name();
    let tracing = Tracing::start(&scratch, "group", &["-d", &name, "--cgroup", group.to_str().unwrap()]);
    let dd = |count: u32| format!("dd if={} of=/dev/null bs=4k count={count} iflag=direct", device.path().display());
    TestCommand::new("sh").args(["-c", &dd(7)]).run().unwrap().expect_code(0);
    let inside = format!("echo $$ > {}/cgroup.procs && exec {}", group.display(), dd(11));
    TestCommand::new("sh").args(["-c", &inside]).run().unwrap().expect_code(0);
    let (output, rows) = tracing.stop();
    std::fs::remove_dir(&group).unwrap();
    output.expect_code(0);
    assert_eq!(rows.len(), 11, "only those of the group");
    let path = format!("/{}", group.file_name().unwrap().to_str().unwrap());
    assert!(rows.iter().all(|io| io.cgroup.as_deref() == Some(path.as_str())), "{:?}", rows[0].cgroup);
}

fn once_a_long_trace_is_cut_into_recordings_without_losing_a_row() {
    let Some(device) = device() else { return };
    let scratch = Scratch::new();
    let name = device.name();
    let begun_ns = testkit::now_ns();
    let tracing = Tracing::start(&scratch, "long.iodyno", &["-d", &name, "--comm", "fio", "--rotate", "1s"]);
    let log =
        fio(&scratch, &device, &["--rw=randread", "--bs=4k", "--size=64m", "--rate_iops=1000", "--number_ios=3500"]);
    let (output, mut rows) = tracing.stop();
    let most = (testkit::now_ns() - begun_ns) / 1_000_000_000 + 2;
    let output = output.expect_code(0);
    let mut parts = 1;
    while scratch.path(&format!("long-{}.iodyno", parts + 1)).exists() {
        parts += 1;
        rows.extend(self::rows(&scratch, &format!("long-{parts}.iodyno")));
    }
    assert!((3..=most).contains(&parts), "{parts}: {}", output.stdout);
    assert!(output.stdout.contains(&format!("{parts} of them")), "{}", output.stdout);
    rows.sort_by_key(|io| io.queue_ns);
    assert_same(&done(&rows), &log);
    assert!(rows.iter().all(|io| io.comm.as_deref() == Some("fio")), "names are known in every part");
}
