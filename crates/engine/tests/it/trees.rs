//! Work in trees on real file systems.

use crate::support::run;
use engine::{EngineOptions, FinishedRun, IntervalHarvest, ResolvedRate, RunInput, StepInterval, start};
use plan::generate::{ArrivalSchedule, GeneratorPart, OperationKind};
use plan::{
    FileOrder, FileSelect, FormatTask, OpenFlags, Plan, Run, StopAfter, StopCondition, TextSpan, TransferSize,
    TreeLoad, TreeShape, TreeSpec, TreeTask, TreeUse, Workload,
};
use quantity::histogram::Histogram;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tree::{Opening, Tree};

pub const KIB: u64 = 1 << 10;

pub fn shape(depth: u32, width: u32, files: u64, bytes: u64) -> TreeShape {
    TreeShape::regular(depth, width, files, bytes)
}

/// What a workload does in the trees with these numbers.
pub fn load(shape: &TreeShape, trees: &[usize], task: TreeTask, threads: u32) -> TreeLoad {
    let of = |tree: &usize| TreeUse { tree: *tree, shape: shape.clone(), is_taken_whole: false };
    TreeLoad {
        uses: trees.iter().map(of).collect(),
        task,
        threads,
        select: FileSelect::Sequential,
        access: FileOrder::Sequential,
        stop_after: None,
        transfer: TransferSize::Fixed(4 * KIB),
        open: OpenFlags::default(),
        destination: None,
        sync_every: None,
        entries: None,
    }
}

pub fn one(shape: &TreeShape, kind: OperationKind, threads: u32) -> TreeLoad {
    load(shape, &[0], TreeTask::One(kind), threads)
}

pub fn format(shape: &TreeShape, threads: u32, task: FormatTask) -> Run {
    Run { format: true, ..of(vec![load(shape, &[0], TreeTask::Format(task), threads)]) }
}

pub fn of(loads: Vec<TreeLoad>) -> Run {
    let share = 1.0 / loads.len() as f64;
    let workload = |(at, load)| Workload { share, ..Workload::of_tree(format!("fwd{at}"), load, TextSpan::default()) };
    run(loads.into_iter().enumerate().map(workload).collect())
}

/// Anchors in a folder, and the trees in them.
pub struct Bench {
    folder: tempfile::TempDir,
    pub trees: Vec<Option<Arc<Tree>>>,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Sums {
    /// By workload, place and operation: arrivals, operations, bytes, errors.
    pub lanes: BTreeMap<(usize, usize, &'static str), [u64; 4]>,
    pub steps: BTreeMap<(usize, usize, &'static str), [u64; 3]>,
    pub failures: Vec<String>,
    pub notes: Vec<String>,
    pub waiting: u64,
    /// The same by operation.
    pub waiting_of: BTreeMap<&'static str, u64>,
    /// Each operation in flight has an age; none may be left.
    pub unfinished: u64,
    /// Response times: count and greatest, ns.
    pub response: (u64, u64),
    /// All by operation.
    pub responses: BTreeMap<&'static str, Histogram>,
}

impl Sums {
    pub fn add(&mut self, harvest: IntervalHarvest) {
        for lane in harvest.lanes {
            let sum = self.lanes.entry((lane.workload, lane.target, lane.op.name())).or_default();
            let more = [lane.arrivals, lane.ops, lane.bytes, lane.errors];
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            self.responses.entry(lane.op.name()).or_default().merge(&lane.response);
            self.response.0 += lane.response.count();
            self.response.1 = self.response.1.max(lane.response.max().unwrap_or(0));
        }
        for StepInterval { workload, target, op, ops, bytes, errors, service } in harvest.steps {
            assert_eq!(service.count(), ops);
            let sum = self.steps.entry((workload, target, op.name())).or_default();
            sum.iter_mut().zip([ops, bytes, errors]).for_each(|(sum, more)| *sum += more);
        }
        let text = |path: Option<String>, kind: String| format!("{}: {kind}", path.unwrap_or_default());
        self.failures.extend(harvest.failures.into_iter().map(|failed| text(failed.path, failed.kind)));
        self.notes.extend(harvest.notes);
    }

    pub fn of(&self, workload: usize, op: &'static str) -> [u64; 4] {
        let lanes = self.lanes.iter().filter(|((at, _, kind), _)| (*at, *kind) == (workload, op));
        lanes.fold([0; 4], |sum, (_, more)| std::array::from_fn(|at| sum[at] + more[at]))
    }

    pub fn steps_of(&self, op: &'static str) -> [u64; 3] {
        let steps = self.steps.iter().filter(|((_, _, kind), _)| *kind == op);
        steps.fold([0; 3], |sum, (_, more)| std::array::from_fn(|at| sum[at] + more[at]))
    }
}

impl Bench {
    /// So many empty anchors.
    pub fn new(anchors: usize, shape: &TreeShape) -> Self {
        Self::at(tempfile::Builder::new().prefix("iodyno-trees-").tempdir_in("/dev/shm").unwrap(), anchors, shape)
    }

    pub fn at(folder: tempfile::TempDir, anchors: usize, shape: &TreeShape) -> Self {
        let open = |at: usize| {
            let anchor = folder.path().join(format!("fsd{at}"));
            std::fs::create_dir_all(&anchor).unwrap();
            Some(Arc::new(Tree::at(&anchor, shape, Opening::Empty).unwrap()))
        };
        let trees = (0..anchors).map(open).collect();
        Self { folder, trees }
    }

    /// The same with what is there.
    pub fn again(self, shape: &TreeShape) -> Self {
        let open = |at: usize| Some(Arc::new(Tree::at(&self.anchor(at), shape, Opening::Existing).unwrap()));
        Self { trees: (0..self.trees.len()).map(open).collect(), ..self }
    }

    pub fn anchor(&self, at: usize) -> PathBuf {
        self.folder.path().join(format!("fsd{at}"))
    }

    pub fn tree(&self, at: usize) -> &Tree {
        self.trees[at].as_deref().unwrap()
    }

    pub fn plan(&self, run: Run) -> Plan {
        let spec = |at: usize| TreeSpec {
            name: format!("fsd{at}"),
            anchor: self.anchor(at),
            makes_parents: false,
            span: TextSpan::default(),
        };
        Plan { trees: (0..self.trees.len()).map(spec).collect(), runs: vec![run], ..Plan::default() }
    }

    pub fn input<'a>(&'a self, plan: &'a Plan, rate: ResolvedRate) -> RunInput<'a> {
        let (run, seed) = (&plan.runs[0], 7);
        RunInput {
            plan,
            run,
            rate,
            targets: &[],
            trees: &self.trees,
            seed,
            varying_seed: seed,
            data_seed: seed,
            validation: None,
            sweeps: false,
        }
    }

    pub fn go(&self, run: Run, rate: ResolvedRate, time: Option<Duration>) -> Sums {
        let elapsed_ns = time.map(|time| u64::try_from(time.as_nanos()).unwrap());
        let plan = self.plan(Run { elapsed_ns, ..run });
        let input = self.input(&plan, rate);
        let mut running = start(input, &EngineOptions::default()).unwrap();
        let (mut sums, mut last_ns) = (Sums::default(), 0);
        let begun = running.started_ns();
        while !running.finished() {
            let now_ns = quantity::clock::now_ns();
            if now_ns > last_ns + 50_000_000 {
                sums.add(running.harvest());
                last_ns = now_ns;
            }
            assert!(now_ns < begun + 300_000_000_000, "it ends");
            std::thread::sleep(Duration::from_millis(2));
        }
        let FinishedRun { harvest, open } = running.finish(Duration::from_secs(5)).unwrap();
        sums.unfinished = open.iter().map(|end| end.in_flight_age.count()).sum();
        for end in &open {
            *sums.waiting_of.entry(end.op.name()).or_default() += end.waiting_age.count();
        }
        sums.waiting = open.iter().map(|end| end.waiting_age.count()).sum();
        sums.add(harvest);
        assert_eq!(sums.unfinished, 0);
        sums
    }

    pub fn max(&self, loads: Vec<TreeLoad>) -> Sums {
        self.go(of(loads), ResolvedRate::Max, None)
    }

    pub fn format(&self, shape: &TreeShape) -> Sums {
        self.go(format(shape, 3, FormatTask::default()), ResolvedRate::Max, None)
    }

    /// What the state says of a tree: directories, files, bytes.
    pub fn known(&self, at: usize) -> (u64, u64, u64) {
        let (state, layout) = (self.tree(at).state(), self.tree(at).layout());
        let files: Vec<_> = (0..layout.files()).map(|file| state.file(file)).filter(|file| file.exists).collect();
        let directories = (0..layout.directories()).filter(|at| state.has_directory(*at)).count();
        (directories as u64, files.len() as u64, files.iter().map(|file| file.bytes).sum())
    }

    /// The same by a walk, which must agree.
    pub fn found(&self, at: usize) -> (u64, u64, u64) {
        let mut sums = (0, 0, 0);
        walk(&self.anchor(at), &mut sums);
        assert_eq!(sums, self.known(at), "state and directory agree");
        sums
    }
}

pub fn walk(folder: &Path, sums: &mut (u64, u64, u64)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            sums.0 += 1;
            walk(&entry.path(), sums);
        } else {
            (sums.1, sums.2) = (sums.1 + 1, sums.2 + meta.len());
        }
    }
}

/// Every file with its bytes.
pub fn contents(folder: &Path, out: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            contents(&path, out);
        } else {
            out.insert(path.clone(), std::fs::read(path).unwrap());
        }
    }
}

pub fn operations(run: Run, operations: u64) -> Run {
    Run { stop: StopCondition { operations: Some(operations), ..StopCondition::default() }, ..run }
}

#[test]
fn a_format_makes_all_of_a_tree_and_the_next_one_finds_it_complete() {
    let shape = shape(2, 3, 4, 10 * KIB);
    let bench = Bench::new(1, &shape);
    let made = bench.format(&shape);
    assert_eq!(bench.found(0), (12, 36, 36 * 10 * KIB));
    assert_eq!((made.of(0, "mkdir"), made.of(0, "create")), ([12, 12, 0, 0], [36, 36, 0, 0]));
    assert_eq!(made.of(0, "write"), [3 * 36, 3 * 36, 36 * 10 * KIB, 0]);
    assert_eq!((made.steps_of("open"), made.steps_of("close")), ([36, 0, 0], [36, 0, 0]));
    assert!(made.notes.is_empty(), "{made:?}");
    let mut first = BTreeMap::new();
    contents(&bench.anchor(0), &mut first);
    let unequal: std::collections::BTreeSet<&Vec<u8>> = first.values().collect();
    assert_eq!(unequal.len(), 36, "no two files are alike");
    // One is half there, one is gone: what is missing is made again, byte for byte.
    let paths: Vec<&PathBuf> = first.keys().collect();
    std::fs::File::options().write(true).open(paths[3]).unwrap().set_len(5000).unwrap();
    std::fs::remove_file(paths[20]).unwrap();
    let bench = bench.again(&shape);
    let restarted = bench.format(&shape);
    assert_eq!((restarted.of(0, "mkdir")[1], restarted.of(0, "create")[1], restarted.of(0, "write")[1]), (0, 1, 5));
    let mut second = BTreeMap::new();
    contents(&bench.anchor(0), &mut second);
    assert!(first == second);
    // Everything is deleted first, of whatever shape, and nothing else.
    std::fs::create_dir(bench.anchor(0).join("vdb.1_99.dir")).unwrap();
    std::fs::write(bench.anchor(0).join("vdb.1_99.dir/vdb_f0001.file"), b"of another shape").unwrap();
    std::fs::write(bench.anchor(0).join("foreign"), b"not ours").unwrap();
    let clean = FormatTask { deletes: true, only_deletes: true, ..FormatTask::default() };
    let bench = bench.again(&shape);
    let cleaned = bench.go(format(&shape, 3, clean), ResolvedRate::Max, None);
    assert_eq!((cleaned.of(0, "delete"), cleaned.of(0, "rmdir")), ([37, 37, 0, 0], [13, 13, 0, 0]));
    assert_eq!(bench.known(0), (0, 0, 0));
    assert_eq!(std::fs::read_dir(bench.anchor(0)).unwrap().count(), 1);
    assert_eq!(std::fs::read(bench.anchor(0).join("foreign")).unwrap(), b"not ours");
}

#[test]
fn as_many_are_done_as_were_asked_of_each_operation() {
    let shape = shape(2, 3, 4, 10 * KIB);
    let bench = Bench::new(2, &shape);
    let all = |kind| bench.max(vec![one(&shape, kind, 3)]);
    let made = all(OperationKind::Mkdir);
    assert_eq!((made.of(0, "mkdir"), bench.found(0)), ([12, 12, 0, 0], (12, 0, 0)));
    assert!(made.notes[0].contains("all directories exist"), "{made:?}");
    let created = all(OperationKind::Create);
    assert_eq!((created.of(0, "create"), bench.found(0)), ([36, 36, 0, 0], (12, 36, 0)));
    assert_eq!((created.steps_of("open"), created.steps_of("close")), ([36, 0, 0], [36, 0, 0]));
    let some = |kind, count| {
        let sums = bench.go(operations(of(vec![one(&shape, kind, 3)]), count), ResolvedRate::Max, None);
        assert_eq!(sums.of(0, kind.name())[1], count, "{sums:?}");
        sums
    };
    let once = |kind| bench.max(vec![TreeLoad { select: FileSelect::Once, ..one(&shape, kind, 3) }]);
    let written = once(OperationKind::Write);
    assert_eq!((written.of(0, "write")[2], bench.found(0)), (36 * 10 * KIB, (12, 36, 36 * 10 * KIB)));
    let read = once(OperationKind::Read);
    assert_eq!((read.of(0, "read")[2], read.steps_of("create")[0]), (36 * 10 * KIB, 0));
    for kind in [OperationKind::Getattr, OperationKind::Setattr, OperationKind::Access] {
        assert!(some(kind, 100).steps.is_empty());
    }
    assert_eq!(some(OperationKind::Open, 100).steps_of("close"), [100, 0, 0]);
    assert_eq!(some(OperationKind::Close, 100).steps_of("open")[2], 0);
    // Copies and moves to the other anchor.
    let elsewhere = |kind| {
        let destination = Some(TreeUse { tree: 1, shape: shape.clone(), is_taken_whole: false });
        bench.max(vec![TreeLoad { destination, ..one(&shape, kind, 3) }])
    };
    let directories = bench.max(vec![load(&shape, &[1], TreeTask::One(OperationKind::Mkdir), 2)]);
    assert_eq!(directories.of(0, "mkdir")[1], 12);
    let copied = elsewhere(OperationKind::Copy);
    assert_eq!((copied.of(0, "copy"), bench.found(1)), ([36, 36, 36 * 10 * KIB, 0], bench.found(0)));
    assert_eq!((copied.steps_of("read"), copied.steps_of("write")[1]), ([3 * 36, 36 * 10 * KIB, 0], 36 * 10 * KIB));
    let mut trees = [BTreeMap::new(), BTreeMap::new()];
    (0..2).for_each(|at| contents(&bench.anchor(at), &mut trees[at]));
    assert!(trees[0].values().eq(trees[1].values()));
    let moved = elsewhere(OperationKind::Move);
    assert_eq!((moved.of(0, "move")[1], moved.steps_of("delete")), (36, [36, 0, 0]));
    assert_eq!((bench.found(0), bench.found(1)), ((12, 0, 0), (12, 36, 36 * 10 * KIB)));
    let other = |kind| bench.max(vec![load(&shape, &[1], TreeTask::One(kind), 3)]);
    assert_eq!(other(OperationKind::Delete).of(0, "delete"), [36, 36, 0, 0]);
    assert_eq!(other(OperationKind::Rmdir).of(0, "rmdir"), [12, 12, 0, 0]);
    assert_eq!(bench.found(1), (0, 0, 0));
}

/// A run may end between a file's turn and its copy: what stands there is replaced or left.
#[test]
fn a_copy_for_which_there_is_no_room_removes_nothing() {
    let shape = shape(1, 2, 10, 4 * KIB);
    let bench = Bench::new(2, &shape);
    let both = load(&shape, &[0, 1], TreeTask::Format(FormatTask::default()), 2);
    bench.go(Run { format: true, ..of(vec![both]) }, ResolvedRate::Max, None);
    for (kind, count) in [(OperationKind::Copy, 7), (OperationKind::Move, 3)] {
        let destination = Some(TreeUse { tree: 1, shape: shape.clone(), is_taken_whole: false });
        let load = TreeLoad { destination, select: FileSelect::Random, ..one(&shape, kind, 4) };
        let sums = bench.go(operations(of(vec![load]), count), ResolvedRate::Max, None);
        assert_eq!((sums.of(0, kind.name())[1], sums.failures.len()), (count, 0), "{sums:?}");
        assert_eq!(bench.found(1), (2, 20, 20 * 4 * KIB), "{kind:?}: {sums:?}");
    }
}

#[test]
fn a_rate_has_exactly_its_arrivals_and_steps_are_none_of_them() {
    let shape = shape(1, 2, 5, 64 * KIB);
    let bench = Bench::new(2, &shape);
    let both = |task| load(&shape, &[0, 1], task, 2);
    bench.go(Run { format: true, ..of(vec![both(TreeTask::Format(FormatTask::default()))]) }, ResolvedRate::Max, None);
    let mut reads = both(TreeTask::Mixed { read: 0.7 });
    reads.access = FileOrder::Random;
    reads.select = FileSelect::Random;
    let loads = vec![reads, both(TreeTask::One(OperationKind::Getattr))];
    let (time, rate) = (Duration::from_millis(500), 2000.0);
    let due = |workload: u64| {
        let arrivals = |index| {
            let seed = 7 ^ workload.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let part = GeneratorPart { index, count: 2 };
            let mut schedule = ArrivalSchedule::new(rate / 2.0, &plan::Arrivals::default(), seed, part).unwrap();
            std::iter::from_fn(|| Some(schedule.next_ns())).take_while(|at_ns| *at_ns < 500_000_000).count() as u64
        };
        arrivals(0) + arrivals(1)
    };
    let opened = || {
        let sums = bench.go(of(loads.clone()), ResolvedRate::PerSecond(rate), Some(time));
        let (read, write, asked) = (sums.of(0, "read"), sums.of(0, "write"), sums.of(1, "getattr"));
        assert_eq!((read[0] + write[0], asked[0]), (due(0), due(1)), "{sums:?}");
        // What was due and not done, waits.
        let done: u64 = [read, write, asked].iter().map(|sum| sum[1]).sum();
        assert_eq!(done + sums.waiting, due(0) + due(1));
        let share = read[0] as f64 / (read[0] + write[0]) as f64;
        assert!((0.6..0.8).contains(&share), "{share}");
        assert_eq!(sums.response.0, done);
        sums.steps_of("open")[0]
    };
    testkit::until_enough(opened, |opened| *opened > 0);
    let limited = bench.go(operations(of(loads), 123), ResolvedRate::PerSecond(rate), None);
    assert_eq!(limited.lanes.values().map(|sum| sum[1]).sum::<u64>(), 123);
}

#[test]
fn shares_hold_at_full_speed() {
    let shape = shape(1, 2, 5, 64 * KIB);
    let bench = Bench::new(1, &shape);
    bench.format(&shape);
    let loads = [OperationKind::Read, OperationKind::Getattr, OperationKind::Access].map(|kind| one(&shape, kind, 2));
    let mut run = operations(of(loads.to_vec()), 10_000);
    for (workload, share) in run.workloads.iter_mut().zip([0.5, 0.3, 0.2]) {
        (workload.share, workload.share_fixed) = (share, true);
    }
    let sums = bench.go(run, ResolvedRate::Max, None);
    for (workload, (op, asked)) in [("read", 5000), ("getattr", 3000), ("access", 2000)].into_iter().enumerate() {
        let done = sums.of(workload, op)[1];
        // The last operation of each thread may be one that had its turn, and no room in the run.
        assert!(done.abs_diff(asked) <= 4, "{op}: {done} of {asked}");
    }
}

#[test]
fn more_threads_than_files_hang_nothing_and_a_run_ends_by_its_time() {
    let shape = shape(1, 1, 2, 64 * KIB);
    let bench = Bench::new(1, &shape);
    bench.format(&shape);
    for (kind, access) in [
        (OperationKind::Read, FileOrder::Random),
        (OperationKind::Write, FileOrder::RandomShared),
        (OperationKind::Getattr, FileOrder::Sequential),
    ] {
        let load = TreeLoad { access, ..one(&shape, kind, 8) };
        // On a machine that is busy with something else, no thread may have had a processor in the whole time of one.
        let done = || {
            let begun_ns = quantity::clock::now_ns();
            let sums = bench.go(of(vec![load.clone()]), ResolvedRate::Max, Some(Duration::from_millis(200)));
            assert!(sums.failures.is_empty() && sums.notes.is_empty(), "{sums:?}");
            assert!(quantity::clock::now_ns() - begun_ns >= 200_000_000);
            sums.of(0, kind.name())[1]
        };
        testkit::until_enough(done, |done| *done > 0);
    }
    // What one deletes, the other makes: neither ends for want of files.
    let loads = [OperationKind::Create, OperationKind::Delete].map(|kind| one(&shape, kind, 2));
    let made = || {
        let sums = bench.go(of(loads.to_vec()), ResolvedRate::Max, Some(Duration::from_millis(300)));
        assert!(sums.notes.is_empty() && sums.failures.is_empty(), "{sums:?}");
        sums.of(0, "create")[1]
    };
    testkit::until_enough(made, |made| *made > 1);
    bench.found(0);
    // Each file once.
    bench.format(&shape);
    let once = TreeLoad { select: FileSelect::Once, ..one(&shape, OperationKind::Read, 8) };
    assert_eq!(bench.max(vec![once]).of(0, "read")[2], 2 * 64 * KIB);
}

#[test]
fn files_that_others_deleted_are_errors_and_made_again_by_those_who_write() {
    let shape = shape(1, 1, 4, 8 * KIB);
    let bench = Bench::new(1, &shape);
    bench.format(&shape);
    let file = bench.anchor(0).join("vdb.1_1.dir/vdb_f0002.file");
    std::fs::remove_file(&file).unwrap();
    let read = bench.go(operations(of(vec![one(&shape, OperationKind::Read, 1)]), 20), ResolvedRate::Max, None);
    assert_eq!(read.of(0, "read")[1..], [19, 19 * 4 * KIB, 1]);
    assert_eq!((read.failures.len(), read.steps_of("open")[2]), (1, 1));
    assert!(read.failures[0].starts_with(&format!("{}: open failed: No such file", file.display())), "{read:?}");
    let written = bench.go(operations(of(vec![one(&shape, OperationKind::Write, 1)]), 8), ResolvedRate::Max, None);
    assert_eq!((written.of(0, "write")[1..].to_vec(), written.steps_of("create")[0]), (vec![8, 32 * KIB, 0], 1));
    assert_eq!(bench.found(0), (1, 4, 32 * KIB));
    let anew = TreeLoad { access: FileOrder::SequentialDelete, ..one(&shape, OperationKind::Write, 2) };
    let anew = bench.go(operations(of(vec![anew]), 16), ResolvedRate::Max, None);
    assert!(anew.steps_of("delete")[0] >= 8 && anew.steps_of("create") == anew.steps_of("delete"), "{anew:?}");
    // One transfer in each file, where the last one ended.
    let two = TreeLoad { stop_after: Some(StopAfter::Transfers(1)), ..one(&shape, OperationKind::Read, 1) };
    let two = bench.go(operations(of(vec![two]), 16), ResolvedRate::Max, None);
    assert_eq!(two.of(0, "read")[1], 16);
    // The next file is open before there is no room for another operation.
    assert_eq!((two.steps_of("open")[0], two.steps_of("close")[0]), (17, 17));
}

#[test]
fn a_full_file_system_is_an_error_with_its_place() {
    let shape = shape(1, 1, 8, 256 * KIB);
    let folder = tempfile::Builder::new().prefix("iodyno-full-").tempdir_in("/tmp").unwrap();
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(folder.path()).output();
    if !mounted.is_ok_and(|done| done.status.success()) {
        // Not root.
        return;
    }
    let path = folder.path().to_owned();
    let bench = Bench::at(folder, 1, &shape);
    let made = bench.format(&shape);
    let found = bench.found(0);
    drop(bench);
    std::process::Command::new("umount").arg(path).status().unwrap();
    assert!(found.2 <= 1 << 20 && made.of(0, "write")[3] > 0, "{found:?} {made:?}");
    assert!(made.failures.iter().any(|text| text.contains("/vdb_f") && text.contains("No space left")), "{made:?}");
    assert!(made.notes[0].contains("is not complete"), "{made:?}");
}

#[test]
fn a_stop_ends_everything_soon() {
    let shape = shape(2, 10, 200, 4 * KIB);
    let bench = Bench::new(1, &shape);
    let some = |kind, rate| (of(vec![one(&shape, kind, 8)]), rate);
    for (run, rate) in [
        (format(&shape, 4, FormatTask::default()), ResolvedRate::Max),
        (format(&shape, 4, FormatTask { deletes: true, ..FormatTask::default() }), ResolvedRate::Max),
        some(OperationKind::Getattr, ResolvedRate::PerSecond(1.0)),
        some(OperationKind::Read, ResolvedRate::PerSecond(5000.0)),
        some(OperationKind::Setattr, ResolvedRate::Max),
    ] {
        // The stop may have come between a deletion of all and what is made anew: then there is nothing to do.
        if !run.format && bench.known(0).1 == 0 {
            bench.format(&shape);
        }
        let plan = bench.plan(run);
        let mut running = start(bench.input(&plan, rate), &EngineOptions::default()).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        running.harvest();
        running.stop();
        let ended = running.finish(Duration::from_secs(60)).unwrap();
        let IntervalHarvest { failures, notes, .. } = &ended.harvest;
        assert!(ended.unfinished() == 0 && failures.is_empty() && notes.is_empty(), "{failures:?} {notes:?} {ended:?}");
        // What stopped a format half way is found and completed by the next one.
        bench.found(0);
    }
    bench.format(&shape);
    assert_eq!(bench.found(0), (110, 20_000, 20_000 * 4 * KIB));
}
