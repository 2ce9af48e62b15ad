//! Flows on real file systems.

use crate::trees::{Bench, KIB, Sums, contents, format, load, of, one, operations, shape};
use engine::ResolvedRate;
use plan::generate::{ArrivalSchedule, GeneratorPart, OperationKind as Op};
use plan::{FileOrder, FileSelect, FlowStep, FormatTask, SyncEvery, TreeLoad, TreeShape, TreeTask};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub const FILES: u64 = 12;

pub fn step(op: Op) -> FlowStep {
    FlowStep { op, bytes: None, is_next: false }
}

pub fn sized(op: Op, bytes: u64) -> FlowStep {
    FlowStep { bytes: Some((bytes, bytes)), ..step(op) }
}

/// Works on another file than the one before.
pub fn next(step: FlowStep) -> FlowStep {
    FlowStep { is_next: true, ..step }
}

pub fn flow(shape: &TreeShape, steps: &[FlowStep], threads: u32) -> TreeLoad {
    load(shape, &[0], TreeTask::Flow(steps.to_vec()), threads)
}

/// A bench in a folder below `at`, with all files of two directories.
pub fn bench(at: &str, shape: &TreeShape) -> Bench {
    let bench = Bench::at(tempfile::Builder::new().prefix("iodyno-flows-").tempdir_in(at).unwrap(), 1, shape);
    bench.format(shape);
    bench
}

pub fn small() -> TreeShape {
    shape(1, 2, FILES / 2, 10 * KIB)
}

pub fn go(bench: &Bench, load: TreeLoad, count: u64) -> Sums {
    bench.go(operations(of(vec![load]), count), ResolvedRate::Max, None)
}

/// Paths of all files below a folder.
pub fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeMap::new();
    contents(folder, &mut all);
    all.into_keys().collect()
}

fn sizes(folder: &Path) -> BTreeSet<u64> {
    names(folder).iter().map(|path| path.metadata().unwrap().len()).collect()
}

/// What of a file system is not supported here: each operation fails, and says so.
fn is_refused(sums: &Sums, op: Op, count: u64) -> bool {
    let refused = sums.failures.iter().all(|text| text.contains("not supported") || text.contains("Invalid argument"));
    sums.of(0, op.name())[3] == count && refused
}

/// Every operation on files of an anchor below `at`, alone; what is allowed not to be supported is said.
fn every_operation(at: &str, optional: &[Op]) {
    let shape = small();
    let bench = bench(at, &shape);
    let before = names(&bench.anchor(0));
    let once = [Op::Create, Op::Tmpfile, Op::Delete, Op::Mkdir, Op::Rmdir, Op::Copy, Op::Move];
    let flows = |op: &Op| op.index() > Op::Command.index() && !once.contains(op);
    for op in [Op::Read, Op::Write].into_iter().chain(Op::ALL.iter().copied().filter(flows)) {
        let steps = if op == Op::Rename { vec![step(op); 2] } else { vec![step(op)] };
        let sums = go(&bench, flow(&shape, &steps, 3), 40);
        let [due, done, bytes, errors] = sums.of(0, op.name());
        if optional.contains(&op) && is_refused(&sums, op, 40) {
            continue;
        }
        assert_eq!((due, done, errors, sums.waiting), (40, 40, 0, 0), "{op:?} in {at}: {sums:?}");
        assert!(op.moves_data() == (bytes > 0) || op == Op::Tail, "{op:?}: {sums:?}");
        assert_eq!(names(&bench.anchor(0)), before, "{op:?} leaves names as they were");
        bench.found(0);
        // `truncate` leaves nothing to read.
        bench.format(&shape);
    }
    // Those that are through when all files are gone, or there.
    let all = |op: Op| bench.max(vec![flow(&shape, &[step(op)], 3)]);
    for op in [Op::Delete, Op::Create, Op::Delete, Op::Tmpfile] {
        let sums = all(op);
        if optional.contains(&op) && sums.of(0, op.name())[3] > 0 {
            continue;
        }
        assert_eq!(sums.of(0, op.name()), [FILES, FILES, 0, 0], "{op:?} in {at}: {sums:?}");
        assert_eq!(bench.found(0).1, if op == Op::Delete { 0 } else { FILES });
        assert_eq!(sums.notes.len(), 1, "{sums:?}");
    }
}

#[test]
fn as_many_are_done_as_were_asked_of_each_operation_of_flows() {
    every_operation("/dev/shm", &[Op::Reflink, Op::Getxattr, Op::Setxattr, Op::Listxattr, Op::Removexattr]);
    every_operation("/tmp", &[Op::Reflink, Op::Tmpfile, Op::Punch, Op::Fallocate]);
}

#[test]
fn operations_do_to_files_what_they_say() {
    let shape = small();
    let bench = bench("/dev/shm", &shape);
    let anchor = bench.anchor(0);
    let per_file = |step: FlowStep| {
        let load = TreeLoad { select: FileSelect::Once, ..flow(&shape, &[step], 2) };
        let sums = bench.max(vec![load]);
        assert_eq!(sums.of(0, step.op.name())[1..].to_vec()[0], FILES, "{sums:?}");
        assert!(sums.failures.is_empty(), "{sums:?}");
        bench.found(0);
        sums
    };
    assert_eq!(per_file(sized(Op::Append, 3000)).of(0, "append")[2], FILES * 3000);
    assert_eq!(sizes(&anchor), [10 * KIB + 3000].into());
    assert_eq!(per_file(sized(Op::ReadFile, 4000)).of(0, "readfile")[2], FILES * (10 * KIB + 3000));
    per_file(sized(Op::Truncate, 1000));
    assert_eq!(sizes(&anchor), [1000].into());
    per_file(sized(Op::Fallocate, 5000));
    assert_eq!(sizes(&anchor), [5000].into());
    assert_eq!(per_file(step(Op::WriteFile)).of(0, "writefile")[2], FILES * 10 * KIB);
    assert_eq!(sizes(&anchor), [10 * KIB].into());
    let is_empty = |anchor: &Path| {
        let mut all = BTreeMap::new();
        contents(anchor, &mut all);
        all.values().all(|bytes| bytes.iter().all(|byte| *byte == 0))
    };
    assert!(!is_empty(&anchor));
    per_file(sized(Op::Punch, 1 << 20));
    assert!(is_empty(&anchor) && sizes(&anchor) == [10 * KIB].into());
    per_file(sized(Op::MmapWrite, 10 * KIB));
    assert!(!is_empty(&anchor));
    let linked = per_file(step(Op::Readlink));
    assert_eq!((linked.steps_of("symlink")[0], linked.steps_of("delete")[0]), (FILES, FILES));
    per_file(sized(Op::Setxattr, 100));
    let value = |path: &PathBuf| {
        let mut value = [0; 200];
        rustix::fs::getxattr(path, "user.iodyno", &mut value)
    };
    assert!(names(&anchor).iter().all(|path| value(path) == Ok(100)));
    per_file(step(Op::Removexattr));
    assert!(names(&anchor).iter().all(|path| value(path).is_err()));
    // What came since the last time, and no more.
    let followed = go(&bench, flow(&shape, &[step(Op::Open), sized(Op::Append, 500), sized(Op::Tail, 1 << 20)], 1), 30);
    assert_eq!(followed.of(0, "tail")[2], 10 * (10 * KIB + 500), "{followed:?}");
    let steps = [sized(Op::Append, 500), sized(Op::Tail, 1 << 20), sized(Op::Append, 700), sized(Op::Tail, 1 << 20)];
    let followed = go(&bench, flow(&shape, &steps, 1), 4);
    assert_eq!(followed.of(0, "tail")[2], 10 * KIB + 500 + 500 + 700, "{followed:?}");
}

/// Flows of mail servers: 13 operations on four files.
fn mail() -> Vec<FlowStep> {
    let mut steps = vec![step(Op::Delete), next(step(Op::Create)), sized(Op::Append, 5000), step(Op::Fsync)];
    steps.extend([step(Op::Close), next(step(Op::Open)), step(Op::ReadFile), sized(Op::Append, 3000)]);
    steps.extend([step(Op::Fsync), step(Op::Close), next(step(Op::Open)), step(Op::ReadFile), step(Op::Close)]);
    steps
}

/// How often each operation is among these.
fn counts(steps: &[FlowStep]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    steps.iter().for_each(|step| *counts.entry(step.op.name()).or_default() += 1);
    counts
}

#[test]
fn operations_of_a_flow_have_their_shares() {
    let shape = shape(1, 4, 10, 8 * KIB);
    let bench = bench("/dev/shm", &shape);
    let steps = mail();
    for (threads, select) in [(1, FileSelect::Sequential), (1, FileSelect::Random), (4, FileSelect::Random)] {
        let load = TreeLoad { select, ..flow(&shape, &steps, threads) };
        let sums = bench.go(of(vec![load]), ResolvedRate::Max, Some(Duration::from_millis(300)));
        assert!(sums.failures.is_empty() && sums.notes.is_empty(), "{sums:?}");
        let done: u64 = sums.lanes.values().map(|sum| sum[1]).sum();
        let per_flow = steps.len() as u64;
        for (op, each) in counts(&steps) {
            let found = sums.of(0, op)[1];
            if threads == 1 {
                let begun = counts(&steps[..usize::try_from(done % per_flow).unwrap()]);
                let begun = begun.get(op).copied().unwrap_or(0);
                assert_eq!(found, done / per_flow * each + begun, "{op}: {sums:?}");
            } else {
                let least = done.saturating_sub(per_flow * u64::from(threads)) / per_flow;
                assert!((least * each..=(done / per_flow + 4) * each).contains(&found), "{op}: {sums:?}");
            }
        }
        // Each opens and closes what it uses: an interrupted one leaves nothing open, and nothing half made.
        bench.found(0);
        assert!(names(&bench.anchor(0)).len() >= 36);
    }
}

#[test]
fn what_is_due_of_a_flow_is_done_or_failed_or_waits() {
    let shape = shape(1, 4, 10, 8 * KIB);
    let bench = bench("/dev/shm", &shape);
    let steps = mail();
    // What keeps up, and what cannot.
    for (rate, threads) in [(1300.0, 3), (2_000_000.0, 3)] {
        let load = flow(&shape, &steps, threads);
        let (arrivals, whole) = (plan::Arrivals::default(), GeneratorPart::WHOLE);
        let mut schedule = ArrivalSchedule::new(rate / 13.0, &arrivals, 7, whole).unwrap();
        let moments = std::iter::from_fn(|| Some(schedule.next_ns()));
        let flows = moments.take_while(|at_ns| *at_ns < 400_000_000).count() as u64;
        let medians = || {
            let run = of(vec![load.clone()]);
            let sums = bench.go(run, ResolvedRate::PerSecond(rate), Some(Duration::from_millis(400)));
            for (op, each) in counts(&steps) {
                let [due, done, _, failed] = sums.of(0, op);
                assert_eq!(due, flows * each, "{op} at {rate}: {sums:?}");
                let waiting = sums.waiting_of.get(op).copied().unwrap_or(0);
                assert_eq!(due, done + failed + waiting, "{op} at {rate}: {sums:?}");
            }
            assert!(sums.failures.is_empty() && sums.notes.is_empty(), "{sums:?}");
            bench.found(0);
            ["delete", "create", "append"].map(|op| sums.responses.get(op).and_then(|all| all.percentile(0.5)))
        };
        // The first has waited since the flow was due, the others since the one before ended.
        testkit::until_enough(medians, |[first, others @ ..]| {
            let times = |first: &u64| others.iter().all(|other| other.is_some_and(|other| *first > 2 * other));
            rate < 1e6 || first.as_ref().is_some_and(times)
        });
    }
    let limited = bench.go(operations(of(vec![flow(&shape, &steps, 3)]), 100), ResolvedRate::PerSecond(5000.0), None);
    assert_eq!(limited.lanes.values().map(|sum| sum[1]).sum::<u64>(), 100, "{limited:?}");
}

#[test]
fn a_file_that_others_deleted_fails_the_operations_on_it_and_no_more() {
    let shape = shape(1, 1, 4, 8 * KIB);
    let bench = bench("/dev/shm", &shape);
    let gone = bench.anchor(0).join("vdb.1_1.dir/vdb_f0002.file");
    std::fs::remove_file(&gone).unwrap();
    let steps = [step(Op::Open), step(Op::Append), step(Op::Fsync), step(Op::Close), next(step(Op::Getattr))];
    let sums = go(&bench, flow(&shape, &steps, 1), 50);
    // The second file of all is opened, or asked for, once.
    let failed: u64 = sums.lanes.values().map(|sum| sum[3]).sum();
    let done: u64 = sums.lanes.values().map(|sum| sum[1]).sum();
    assert!((failed == 4 || failed == 1) && done + failed == 50, "{sums:?}");
    let is_said = |text: &String| text.starts_with(&gone.display().to_string()) && text.contains("No such file");
    assert!(sums.failures.len() as u64 == failed && sums.failures.iter().all(is_said), "{sums:?}");
    bench.found(0);
    // The open is what failed of all four.
    bench.format(&shape);
    std::fs::remove_file(&gone).unwrap();
    let sums = go(&bench, flow(&shape, &steps[..4], 1), 40);
    assert_eq!(
        sums.lanes.values().map(|sum| sum[1..].to_vec()).map(|sum| (sum[0], sum[2])).collect::<Vec<_>>(),
        [(9, 1); 4]
    );
    assert!(sums.failures[1..].iter().all(|text| text.contains("open failed")), "{sums:?}");
}

/// A file system in a folder until it is dropped; `None`: it may not be mounted here.
struct Mounted(PathBuf);

impl Mounted {
    fn new(at: &Path, arguments: &[&str]) -> Option<Self> {
        let done = Command::new("mount").args(arguments).arg(at).output();
        done.is_ok_and(|done| done.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_file_system_fails_what_is_left_of_a_flow() {
    let shape = shape(1, 1, 12, 256 * KIB);
    let folder = tempfile::Builder::new().prefix("iodyno-full-").tempdir_in("/tmp").unwrap();
    let Some(mounted) = Mounted::new(folder.path(), &["-t", "tmpfs", "-o", "size=1m", "none"]) else { return };
    let bench = Bench::at(folder, 1, &shape);
    bench.go(
        format(&shape, 1, FormatTask { only_directories: true, ..FormatTask::default() }),
        ResolvedRate::Max,
        None,
    );
    let steps = [step(Op::Create), sized(Op::Append, 256 * KIB), step(Op::Fsync), step(Op::Close)];
    let load = TreeLoad { transfer: plan::TransferSize::Fixed(256 * KIB), ..flow(&shape, &steps, 2) };
    let sums = go(&bench, load, 48);
    let found = bench.found(0);
    assert_eq!(found.1, 12);
    assert_eq!(sums.of(0, "create"), [12, 12, 0, 0], "{sums:?}");
    for op in ["append", "fsync", "close"] {
        let [due, done, _, failed] = sums.of(0, op);
        assert!(due == 12 && done + failed == 12 && failed == sums.of(0, "append")[3] && failed > 0, "{op}: {sums:?}");
    }
    assert!(sums.steps_of("close")[0] == sums.of(0, "close")[3], "{sums:?}");
    drop(bench);
    drop(mounted);
}

#[test]
fn new_contents_take_the_place_of_a_file() {
    let shape = shape(1, 1, 3, 8 * KIB);
    let bench = bench("/dev/shm", &shape);
    let anchor = bench.anchor(0);
    let before = names(&anchor);
    let all = |ops: &[FlowStep]| {
        let load = TreeLoad { select: FileSelect::Once, ..flow(&shape, ops, 2) };
        let sums = bench.max(vec![load]);
        assert!(sums.failures.is_empty() && sums.lanes.values().all(|sum| sum[1] % 3 == 0), "{sums:?}");
        bench.found(0);
        assert_eq!(names(&anchor), before, "{ops:?}");
        sums
    };
    let durable = [step(Op::Temp), sized(Op::Append, 5000), step(Op::Fsync), step(Op::Close), step(Op::Rename)];
    assert!(all(&durable).steps.is_empty());
    assert_eq!(sizes(&anchor), [5000].into());
    // Without the rename it is gone.
    let sums = all(&durable[..2]);
    assert_eq!((sums.steps_of("close")[0], sums.steps_of("delete")[0], sizes(&anchor)), (3, 3, [5000].into()));
    let named = [step(Op::Delete), step(Op::Tmpfile), sized(Op::Append, 3000), step(Op::Link)];
    assert_eq!(all(&named).steps_of("close")[0], 3);
    assert_eq!(sizes(&anchor), [3000].into());
    let mut contents_before = BTreeMap::new();
    contents(&anchor, &mut contents_before);
    let copied = all(&[step(Op::CopyRange), step(Op::Rename)]);
    assert_eq!((copied.of(0, "copyrange")[2], copied.steps_of("temp")[0]), (9000, 3));
    let mut after = BTreeMap::new();
    contents(&anchor, &mut after);
    assert!(contents_before == after);
    let links = all(&[step(Op::Link), step(Op::Rename), sized(Op::Append, 100), step(Op::Getattr), step(Op::Symlink)]);
    assert_eq!((links.steps_of("delete")[0], links.steps_of("rename")[0], sizes(&anchor)), (6, 3, [3100].into()));
}

#[test]
fn blocks_are_shared_where_the_file_system_can() {
    let shape = small();
    let folder = tempfile::Builder::new().prefix("iodyno-reflink-").tempdir_in("/tmp").unwrap();
    let image = folder.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(300 << 20).unwrap();
    let made = Command::new("mkfs.btrfs").arg("-q").arg(&image).output();
    let at = folder.path().join("mounted");
    std::fs::create_dir(&at).unwrap();
    let mounted = made
        .is_ok_and(|made| made.status.success())
        .then(|| Mounted::new(&at, &["-o", "loop", image.to_str().unwrap()]));
    let Some(mounted) = mounted.flatten() else { return };
    every_operation(at.to_str().unwrap(), &[]);
    let bench = bench(at.to_str().unwrap(), &shape);
    let sums = go(&bench, flow(&shape, &[step(Op::Reflink), step(Op::Rename), step(Op::Fsync)], 2), 60);
    assert_eq!((sums.of(0, "reflink"), sums.of(0, "rename")), ([20, 20, 0, 0], [20, 20, 0, 0]), "{sums:?}");
    assert_eq!(sizes(&bench.anchor(0)), [10 * KIB].into());
    bench.found(0);
    drop(bench);
    drop(mounted);
}

#[test]
fn threads_of_a_flow_make_what_the_others_need() {
    let shape = shape(1, 1, 2, 8 * KIB);
    let bench = bench("/dev/shm", &shape);
    let steps = [step(Op::Delete), next(step(Op::Create))];
    for threads in [1, 8] {
        let sums = go(&bench, flow(&shape, &steps, threads), 400);
        assert!(sums.notes.is_empty() && sums.failures.is_empty() && sums.of(0, "create")[1] > 8, "{sums:?}");
        bench.found(0);
    }
    // Two more are deleted than are made: soon none is left, and the run ends by itself.
    bench.format(&shape);
    let more = [step(Op::Delete), next(step(Op::Delete)), next(step(Op::Create))];
    let sums = bench.max(vec![flow(&shape, &more, 2)]);
    assert!(sums.notes[0].contains("has nothing left to do") && sums.failures.is_empty(), "{sums:?}");
    // A file that several threads have open at a time, and lock in turn.
    bench.format(&shape);
    let locks = [step(Op::Open), step(Op::Flock), sized(Op::Write, 4096), step(Op::Close)];
    let load = TreeLoad { access: FileOrder::RandomShared, ..flow(&shape, &locks, 8) };
    let sums = go(&bench, load, 400);
    assert!(sums.failures.is_empty() && sums.of(0, "flock")[1] > 8 && sums.unfinished == 0, "{sums:?}");
}

#[test]
fn flows_take_turns_as_a_whole() {
    let shape = small();
    let bench = bench("/dev/shm", &shape);
    let loads = vec![
        flow(&shape, &[step(Op::Open), step(Op::ReadFile), step(Op::Close)], 2),
        flow(&shape, &[step(Op::Statfs)], 2),
        one(&shape, Op::Getattr, 1),
    ];
    let mut run = operations(of(loads), 6000);
    for (workload, share) in run.workloads.iter_mut().zip([0.5, 0.3, 0.2]) {
        (workload.share, workload.share_fixed) = (share, true);
    }
    let sums = bench.go(run, ResolvedRate::Max, None);
    for (workload, (op, asked)) in [
        (0, ("open", 1000)),
        (0, ("readfile", 1000)),
        (0, ("close", 1000)),
        (1, ("statfs", 1800)),
        (2, ("getattr", 1200)),
    ] {
        let done = sums.of(workload, op)[1];
        assert!(done.abs_diff(asked) <= 8, "{op}: {done} of {asked}");
    }
}

#[test]
fn every_so_many_writes_are_made_durable_as_a_step() {
    let shape = shape(1, 1, 4, 40 * KIB);
    let bench = bench("/dev/shm", &shape);
    for (data_only, name) in [(false, "fsync"), (true, "fdatasync")] {
        let sync_every = Some(SyncEvery { writes: 4, data_only });
        let load = TreeLoad { sync_every, select: FileSelect::Once, ..one(&shape, Op::Write, 2) };
        let sums = bench.max(vec![load]);
        assert_eq!((sums.of(0, "write")[1], sums.steps_of(name)), (40, [8, 0, 0]), "{sums:?}");
        let steps: Vec<FlowStep> = std::iter::once(step(Op::Open)).chain(vec![step(Op::Append); 9]).collect();
        let sums = go(&bench, TreeLoad { sync_every, ..flow(&shape, &steps, 1) }, 20);
        assert_eq!(sums.steps_of(name), [4, 0, 0], "{sums:?}");
    }
}

#[test]
fn transfers_follow_each_other_in_a_file_also_from_flow_to_flow() {
    let shape = shape(1, 1, 1, 10 * KIB);
    let bench = bench("/dev/shm", &shape);
    for (op, count, bytes) in [(Op::Write, 3, 10 * KIB), (Op::Read, 6, 20 * KIB), (Op::MmapRead, 3, 10 * KIB)] {
        assert_eq!(go(&bench, flow(&shape, &[step(op)], 1), count).of(0, op.name())[2], bytes, "{op:?}");
    }
    let random = |op| TreeLoad { access: FileOrder::Random, ..flow(&shape, &[step(op)], 2) };
    assert_eq!(go(&bench, random(Op::Read), 10).of(0, "read")[2], 40 * KIB);
}

#[test]
fn attributes_of_an_open_file_are_reached_by_it() {
    let shape = small();
    for at in ["/dev/shm", "/tmp"] {
        let bench = bench(at, &shape);
        let some =
            [step(Op::Open), sized(Op::Setxattr, 300), step(Op::Getxattr), step(Op::Listxattr), step(Op::Removexattr)];
        // Of two threads, the limit would end both in the middle of a flow.
        let sums = go(&bench, flow(&shape, &some, 1), 50);
        let failed: u64 = sums.lanes.values().map(|sum| sum[3]).sum();
        // tmpfs has attributes of users since Linux 6.6 only.
        if at == "/tmp" || failed == 0 {
            assert!(sums.lanes.values().all(|sum| sum[1] == 10) && sums.steps_of("setxattr")[0] == 0, "{sums:?}");
        }
        // Where it is missing, it is set before, once for each file.
        let sums = go(&bench, flow(&shape, &[step(Op::Getxattr)], 2), 50);
        if at == "/tmp" || failed == 0 {
            assert_eq!((sums.of(0, "getxattr")[1], sums.steps_of("setxattr")[0]), (50, FILES), "{sums:?}");
        }
    }
}

#[test]
fn a_page_of_a_mapped_file_that_is_gone_fails_an_operation_and_nothing_else() {
    let shape = shape(1, 1, 1, 64 * KIB);
    let bench = bench("/dev/shm", &shape);
    let path = bench.anchor(0).join("vdb.1_1.dir/vdb_f0001.file");
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let steps = [step(Op::Open), sized(Op::MmapRead, 64 * KIB), sized(Op::MmapWrite, 64 * KIB), step(Op::Close)];
    let sums = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                file.set_len(0).unwrap();
                file.set_len(64 * KIB).unwrap();
            }
        });
        let sums = go(&bench, flow(&shape, &steps, 1), 20_000);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        sums
    });
    let [due, done, failed] = [0, 1, 3].map(|at| sums.lanes.values().map(|sum| sum[at]).sum::<u64>());
    assert!(due == done + failed && sums.of(0, "open")[1] > 0, "{sums:?}");
    assert!(sums.failures.iter().all(|text| text.contains("Input/output error")), "{sums:?}");
}
