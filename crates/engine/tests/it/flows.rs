//! Flows on real file systems.

use crate::trees::{Bench, KIB, Sums, contents, format, load, of, one, operations, shape};
use engine::ResolvedRate;
use plan::generate::OperationKind as Op;
use plan::{FileOrder, FileSelect, FlowStep, FormatTask, SyncEvery, TreeLoad, TreeShape, TreeTask};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const FILES: u64 = 12;

fn step(op: Op) -> FlowStep {
    FlowStep { op, bytes: None, is_next: false }
}

fn sized(op: Op, bytes: u64) -> FlowStep {
    FlowStep { bytes: Some((bytes, bytes)), ..step(op) }
}

/// Works on another file than the one before.
fn next(step: FlowStep) -> FlowStep {
    FlowStep { is_next: true, ..step }
}

fn flow(shape: &TreeShape, steps: &[FlowStep], threads: u32) -> TreeLoad {
    load(shape, &[0], TreeTask::Flow(steps.to_vec()), threads)
}

/// A bench in a folder below `at`, with all files of two directories.
fn bench(at: &str, shape: &TreeShape) -> Bench {
    let bench = Bench::at(tempfile::Builder::new().prefix("iodyno-flows-").tempdir_in(at).unwrap(), 1, shape);
    bench.format(shape);
    bench
}

fn small() -> TreeShape {
    shape(1, 2, FILES / 2, 10 * KIB)
}

fn go(bench: &Bench, load: TreeLoad, count: u64) -> Sums {
    bench.go(operations(of(vec![load]), count), ResolvedRate::Max, None)
}

/// Paths of all files below a folder.
fn names(folder: &Path) -> BTreeSet<PathBuf> {
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
