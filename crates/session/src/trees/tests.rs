use super::*;
use plan::generate::OperationKind;
use plan::{
    FileOrder as Access, FileSelect, FlowStep, OpenFlags, TextSpan, TransferSize, TreeLoad, TreeShape, TreeTask,
    TreeUse, Workload,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use tree::FileState;

fn shape() -> TreeShape {
    TreeShape::regular(2, 2, 3, 4096)
}

fn wide() -> TreeShape {
    TreeShape { width: 3, ..shape() }
}

/// A plan with trees in these anchors and no runs.
fn plan_of(anchors: &[&Path]) -> Plan {
    let tree = |(at, anchor): (usize, &&Path)| TreeSpec {
        name: format!("fsd{}", at + 1),
        anchor: anchor.to_path_buf(),
        makes_parents: false,
        span: TextSpan::default(),
    };
    Plan { trees: anchors.iter().enumerate().map(tree).collect(), ..Plan::default() }
}

/// A run of one workload in these trees.
fn run_of(title: &str, task: TreeTask, shape: TreeShape, trees: &[usize]) -> Run {
    let load = TreeLoad {
        uses: trees.iter().map(|tree| TreeUse { tree: *tree, shape: shape.clone(), is_taken_whole: false }).collect(),
        task,
        threads: 1,
        select: FileSelect::default(),
        access: Access::default(),
        stop_after: None,
        transfer: TransferSize::Fixed(4096),
        open: OpenFlags::default(),
        destination: None,
        sync_every: None,
        entries: None,
    };
    let format = matches!(load.task, TreeTask::Format(_));
    Run {
        format,
        ..Run::new(title, vec![Workload::of_tree("fwd1".to_string(), load, TextSpan::default())], 1_000_000_000)
    }
}

fn format() -> TreeTask {
    TreeTask::Format(FormatTask { deletes: true, ..FormatTask::default() })
}

fn restart() -> TreeTask {
    TreeTask::Format(FormatTask::default())
}

fn reads() -> TreeTask {
    TreeTask::One(OperationKind::Read)
}

fn writes() -> TreeTask {
    TreeTask::One(OperationKind::Write)
}

/// A plan of these runs in one anchor.
fn one(anchor: &Path, runs: &[(TreeTask, TreeShape)]) -> Plan {
    let mut plan = plan_of(&[anchor]);
    for (at, (task, shape)) in runs.iter().enumerate() {
        plan.runs.push(run_of(&format!("rd{}", at + 1), task.clone(), shape.clone(), &[0]));
    }
    plan
}

/// Makes all of the tree that is not there yet, as a format does.
fn make(tree: &Tree) {
    let (layout, state, mut path) = (tree.layout(), tree.state(), Vec::new());
    let real = |path: &[u8]| tree.path().join(String::from_utf8(path.to_vec()).unwrap());
    for directory in 0..layout.directories() {
        layout.directory_path(directory, &mut path);
        fs::create_dir(real(&path)).unwrap();
        state.set_directory(layout, directory, true);
    }
    for file in tree.members().iter() {
        layout.file_path(file, &mut path);
        let bytes = layout.asked_bytes(file);
        fs::write(real(&path), vec![1; usize::try_from(bytes).unwrap()]).unwrap();
        state.set_file(layout, file, FileState { exists: true, bytes });
    }
}

/// Executes the first run of a plan, a format, by hand.
fn formatted(plan: &Plan) -> Vec<TreeRemark> {
    let mut trees = Trees::inspect(plan, None).unwrap();
    trees.create_anchors().unwrap();
    let (open, remarks) = trees.begin(plan, &plan.runs[0]).unwrap();
    assert_eq!(remarks, []);
    open.iter().flatten().for_each(|tree| make(tree));
    trees.end(plan, &plan.runs[0], &open, TreeCertainty::Sure)
}

/// All that is below a directory: what it is, its content, when it was changed.
fn everything(path: &Path) -> BTreeMap<PathBuf, (String, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let kind = metadata.file_type();
        let content = if kind.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            "directory".to_string()
        } else if kind.is_symlink() {
            fs::read_link(&path).unwrap().display().to_string()
        } else if kind.is_fifo() {
            "fifo".to_string()
        } else {
            format!("{} {:?}", metadata.nlink(), fs::read(&path).unwrap())
        };
        found.insert(path, (content, metadata.ctime(), metadata.ctime_nsec()));
    }
    found
}

/// Why a plan is refused, and that nothing has been changed by it below `root`.
fn refusal(plan: &Plan, root: &Path) -> (String, bool) {
    let before = everything(root);
    let error = Trees::inspect(plan, Some(&root.join("out.iodyno"))).expect_err("it is refused");
    assert_eq!(everything(root), before, "{error}");
    (error.to_string(), error.is_refusal())
}

#[test]
fn an_anchor_with_anything_foreign_is_refused_and_not_one_byte_is_changed() {
    type Put<'a> = Box<dyn Fn(&Path, &Path) + 'a>;
    let cases: Vec<(&str, Put<'_>)> = vec![
        ("anchor/notes", Box::new(|at, _| fs::write(at, "x").unwrap())),
        ("anchor/vdb.1_1.dir/vdb.2_2.dir/notes", Box::new(|at, _| fs::write(at, "x").unwrap())),
        (
            "anchor/vdb.1_1.dir/vdb.2_2.dir/vdb_f0009.file",
            Box::new(|at, other| symlink(other.join("kept"), at).unwrap()),
        ),
        ("anchor/vdb.1_3.dir", Box::new(|at, other| symlink(other, at).unwrap())),
        (
            "anchor/vdb.1_1.dir/vdb.2_2.dir/vdb_f0009.file",
            Box::new(|at, other| fs::hard_link(other.join("kept"), at).unwrap()),
        ),
        (
            "anchor/vdb.1_2.dir/vdb.2_1.dir/vdb_f0001.fifo",
            Box::new(|at, _| {
                rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
                    .unwrap();
            }),
        ),
    ];
    for (name, put) in cases {
        let root = tempfile::tempdir().unwrap();
        let other = root.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("kept"), "precious").unwrap();
        let anchor = root.path().join("anchor");
        formatted(&one(&anchor, &[(format(), shape())]));
        put(&root.path().join(name), &other);
        for task in [format(), restart(), writes(), TreeTask::One(OperationKind::Rmdir), TreeTask::Mixed { read: 0.5 }]
        {
            let (said, is_refusal) = refusal(&one(&anchor, &[(reads(), shape()), (task, shape())]), root.path());
            assert!(is_refusal && said.contains("fsd1: refused"), "{said}");
            assert!(said.contains(name.strip_prefix("anchor/").unwrap()), "{said}");
        }
        // Who only reads may read beside it.
        Trees::inspect(&one(&anchor, &[(reads(), shape())]), None).unwrap();
    }
}

#[test]
fn places_where_a_mistake_would_cost_most_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let home = std::env::var_os("HOME").map_or(PathBuf::from("/root"), PathBuf::from);
    let link = root.path().join("link");
    symlink("/etc", &link).unwrap();
    // Another operating system, as it is mounted to be repaired or installed.
    let other = root.path().join("sysroot");
    ["etc", "usr/lib", "boot", "proc", "dev"].iter().for_each(|name| fs::create_dir_all(other.join(name)).unwrap());
    fs::write(other.join("etc/os-release"), "NAME=Other\n").unwrap();
    let own = ["/", "/etc", "/usr", "/boot", "/proc", "/sys", "/dev", "/usr/share/no-such-tree", "/etc/apt/../no-such"];
    for anchor in own.map(Path::new).into_iter().chain([&*other]) {
        let (said, is_refusal) = refusal(&one(anchor, &[(format(), shape())]), root.path());
        assert!(is_refusal && said.contains("no flag overrides this"), "{}: {said}", anchor.display());
    }
    for anchor in [link.join("no-such-tree"), link, home] {
        let (said, is_refusal) = refusal(&one(&anchor, &[(format(), shape())]), root.path());
        assert!(is_refusal && said.contains("refused to write"), "{}: {said}", anchor.display());
    }
}

#[test]
fn anchors_recordings_and_targets_are_kept_apart() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::create_dir_all(at("a/b")).unwrap();
    symlink(at("a/b"), at("link")).unwrap();
    let mut plan = plan_of(&[&at("a"), &at("link")]);
    plan.runs.push(run_of("rd1", format(), shape(), &[0, 1]));
    let (said, is_refusal) = refusal(&plan, root.path());
    assert!(is_refusal && said.contains("lie in one another") && said.contains("fsd1"), "{said}");
    // The recording would be out.iodyno.
    for anchor in [root.path().to_owned(), at("out.iodyno"), at("out.iodyno/tree")] {
        let (said, is_refusal) = refusal(&one(&anchor, &[(format(), shape())]), root.path());
        assert!(is_refusal && said.contains("the recording"), "{said}");
    }
    let mut plan = plan_of(&[&at("a"), &at("a/../a")]);
    plan.runs.push(run_of("rd1", format(), shape(), &[0, 1]));
    let (said, _) = refusal(&plan, root.path());
    assert!(said.contains("twice, also as fsd1: give"), "{said}");
    let text = "* two\nfsd=fsd1\n\nfsd=fsd2\n".to_string();
    plan.sources = vec![plan::ParameterText { name: "t.vdb".into(), text }];
    for (tree, start) in plan.trees.iter_mut().zip([6, 16]) {
        tree.span = TextSpan { source: 0, start, len: 4 };
    }
    let (said, _) = refusal(&plan, root.path());
    assert!(said.contains("twice, also as fsd1 (t.vdb:2 and t.vdb:4): give"), "{said}");
}

#[test]
fn a_missing_anchor_is_made_by_a_format_only_and_its_parents_only_when_asked() {
    let root = tempfile::tempdir().unwrap();
    let anchor = root.path().join("tree");
    let (said, is_refusal) = refusal(&one(&anchor, &[(reads(), shape()), (format(), shape())]), root.path());
    assert!(!is_refusal && said.contains("is missing") && said.contains("makes no tree: add format=yes"), "{said}");
    // A run that makes the directories needs only the one that they are in.
    let makes = TreeTask::One(OperationKind::Mkdir);
    let (said, is_refusal) = refusal(&one(&anchor, &[(makes, shape())]), root.path());
    assert!(!is_refusal && said.contains("make this directory first, or add format=yes"), "{said}");
    let deep = root.path().join("no/tree");
    let mut plan = one(&deep, &[(format(), shape())]);
    let (said, _) = refusal(&plan, root.path());
    assert!(said.contains("create_anchors=yes") && said.contains("no is missing"), "{said}");
    plan.trees[0].makes_parents = true;
    for plan in [plan, one(&anchor, &[(format(), shape())])] {
        let said = formatted(&plan);
        assert_eq!(said.len(), 1);
        assert_eq!(said[0].sentence, "12 of 12 files, 6 directories, 48 KiB; a listing finds the same");
        assert!(!said[0].is_trouble && plan.trees[0].anchor.join("vdb_control.file").exists());
    }
}

#[test]
fn a_run_without_its_files_is_refused_before_anything_is_measured() {
    let root = tempfile::tempdir().unwrap();
    let anchor = root.path().join("tree");
    fs::create_dir(&anchor).unwrap();
    for task in [reads(), TreeTask::One(OperationKind::Getattr), TreeTask::One(OperationKind::Delete)] {
        let (said, is_refusal) = refusal(&one(&anchor, &[(task, shape())]), root.path());
        assert!(!is_refusal && said.contains("none of the 12 files") && said.contains("format=yes"), "{said}");
    }
    // These make what they need.
    for task in [writes(), TreeTask::One(OperationKind::Mkdir), TreeTask::One(OperationKind::Create)] {
        Trees::inspect(&one(&anchor, &[(task, shape())]), None).unwrap();
    }
    Trees::inspect(&one(&anchor, &[(format(), shape()), (reads(), shape())]), None).unwrap();
    let clean = TreeTask::Format(FormatTask { only_deletes: true, ..FormatTask::default() });
    formatted(&one(&anchor, &[(format(), shape())]));
    Trees::inspect(&one(&anchor, &[(reads(), shape())]), None).unwrap();
    let (said, _) = refusal(&one(&anchor, &[(reads(), shape()), (clean, shape()), (reads(), shape())]), root.path());
    assert!(said.contains("rd3") && said.contains("none of the 12 files"), "{said}");
    // Where only some are there, the run says so.
    fs::remove_file(anchor.join("vdb.1_1.dir/vdb.2_1.dir/vdb_f0002.file")).unwrap();
    let plan = one(&anchor, &[(TreeTask::Mixed { read: 0.5 }, shape())]);
    let mut trees = Trees::inspect(&plan, None).unwrap();
    let (_, remarks) = trees.begin(&plan, &plan.runs[0]).unwrap();
    assert!(remarks.len() == 1 && remarks[0].sentence.starts_with("11 of 12 files of fsd1 exist"), "{remarks:?}");
}

#[test]
fn a_tree_that_is_said_to_be_whole_is_not_looked_at_unless_it_is_changed() {
    let root = tempfile::tempdir().unwrap();
    let anchor = root.path().join("tree");
    fs::create_dir(&anchor).unwrap();
    // Nothing is there: only who looks can know.
    let taken = |task: TreeTask| {
        let mut plan = one(&anchor, &[(task, shape())]);
        let plan::Load::Tree(load) = &mut plan.runs[0].workloads[0].load else { panic!("a tree") };
        load.uses[0].is_taken_whole = true;
        plan
    };
    let plan = taken(reads());
    let mut trees = Trees::inspect(&plan, None).unwrap();
    let (open, remarks) = trees.begin(&plan, &plan.runs[0]).unwrap();
    let tree = open[0].as_ref().unwrap();
    let whole = FileState { exists: true, bytes: 4096 };
    assert!(tree.members().iter().all(|file| tree.state().file(file) == whole) && remarks.is_empty());
    assert!((0..6).all(|directory| tree.state().has_directory(directory)) && tree.state().entries(0) == 2);
    drop((open, trees));
    let (said, _) = refusal(&taken(TreeTask::One(OperationKind::Delete)), root.path());
    assert!(said.contains("none of the 12 files"), "{said}");
}

fn flow(parts: &[&[OperationKind]]) -> TreeTask {
    let part = |(number, part): (usize, &&[OperationKind])| {
        let step =
            |(at, op): (usize, &OperationKind)| FlowStep { op: *op, bytes: None, is_next: number > 0 && at == 0 };
        part.iter().enumerate().map(step).collect::<Vec<_>>()
    };
    TreeTask::Flow(parts.iter().enumerate().flat_map(part).collect())
}

/// What a run of a flow needs to be there, and whether it is looked at as one that changes its tree.
#[test]
fn flows_need_what_their_first_operations_ask_for() {
    use OperationKind as Op;
    let (files, directories) = ("none of the 12 files", "none of the directories for them exists");
    let root = tempfile::tempdir().unwrap();
    let empty = root.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let bare = root.path().join("bare");
    fs::create_dir_all(bare.join("vdb.1_1.dir/vdb.2_1.dir")).unwrap();
    let foreign = root.path().join("foreign");
    formatted(&one(&foreign, &[(format(), shape())]));
    fs::write(foreign.join("notes"), "x").unwrap();
    for (parts, without_all, without_files, changes) in [
        (&[[Op::Create, Op::Append, Op::Fsync].as_slice()] as &[&[Op]], directories, "", true),
        (&[&[Op::WriteFile]], directories, "", true),
        (&[&[Op::Tmpfile]], directories, "", true),
        (&[&[Op::Tmpfile, Op::Append]], directories, "", true),
        (&[&[Op::Tmpfile, Op::Append], &[Op::Open, Op::Read]], files, files, true),
        (&[&[Op::Temp, Op::Write, Op::Rename], &[Op::Open, Op::Read]], directories, "", true),
        (&[&[Op::Temp, Op::CopyRange]], files, files, true),
        (&[&[Op::Create], &[Op::Delete]], directories, "", true),
        (&[&[Op::Delete], &[Op::Create]], files, files, true),
        (&[&[Op::Delete, Op::Create]], files, files, true),
        (&[&[Op::Statfs]], "", "", false),
        (&[&[Op::Statfs, Op::Open]], files, files, false),
        (&[&[Op::Access]], files, files, false),
        (&[&[Op::Open, Op::ReadFile, Op::Tail, Op::Listxattr, Op::Flock]], files, files, false),
        (&[&[Op::MmapRead], &[Op::Setxattr]], files, files, true),
        // What they read is made before, where it is missing.
        (&[&[Op::Getxattr]], files, files, true),
        (&[&[Op::Readlink]], files, files, true),
    ] {
        let task = flow(parts);
        for (anchor, expect) in [(&empty, without_all), (&bare, without_files)] {
            let plan = one(anchor, &[(task.clone(), shape())]);
            match expect {
                "" => drop(Trees::inspect(&plan, None).unwrap()),
                part => {
                    let (said, is_refusal) = refusal(&plan, root.path());
                    assert!(!is_refusal && said.contains(part), "{task:?}: {said}");
                }
            }
        }
        let plan = one(&foreign, &[(task.clone(), shape())]);
        match changes {
            false => drop(Trees::inspect(&plan, None).unwrap()),
            true => {
                let (said, is_refusal) = refusal(&plan, root.path());
                assert!(is_refusal && said.contains("notes"), "{task:?}: {said}");
            }
        }
        // A format before makes all that they need.
        Trees::inspect(&one(&empty, &[(format(), shape()), (task, shape())]), None).unwrap();
    }
    // Another load of the run makes directories, or files; one in another tree does not.
    let with = |task: TreeTask, other: TreeTask, other_tree: usize| {
        let mut plan = plan_of(&[&empty, &bare]);
        let mut run = run_of("rd1", task, shape(), &[0]);
        run.workloads.extend(run_of("rd1", other, shape(), &[other_tree]).workloads);
        plan.runs.push(run);
        Trees::inspect(&plan, None).map(drop).map_err(|error| error.to_string())
    };
    let (create, read) = (flow(&[&[Op::Create, Op::Close]]), flow(&[&[Op::Open, Op::Read]]));
    assert_eq!(with(create.clone(), TreeTask::One(Op::Mkdir), 0), Ok(()));
    assert!(with(create.clone(), TreeTask::One(Op::Mkdir), 1).unwrap_err().contains(directories));
    assert!(with(read.clone(), create.clone(), 1).unwrap_err().contains(files));
    assert!(with(read, create, 0).unwrap_err().contains(directories));
}

#[test]
fn another_shape_is_refused_unless_the_tree_is_made_anew() {
    let root = tempfile::tempdir().unwrap();
    let anchor = root.path().join("tree");
    formatted(&one(&anchor, &[(format(), shape())]));
    for task in [reads(), restart()] {
        let (said, is_refusal) = refusal(&one(&anchor, &[(task, wide())]), root.path());
        assert!(is_refusal && said.contains("width is 2 there and 3 here") && said.contains("format=yes"), "{said}");
    }
    Trees::inspect(&one(&anchor, &[(format(), wide())]), None).unwrap();
    let (said, _) = refusal(&one(&anchor, &[(format(), wide()), (reads(), shape())]), root.path());
    assert!(said.contains("rd2") && said.contains("rd1 made"), "{said}");
    // A part of the same tree is none of another shape.
    let part = TreeShape { working_set_bytes: Some(8192), ..shape() };
    Trees::inspect(&one(&anchor, &[(restart(), shape()), (reads(), part)]), None).unwrap();
    let more = TreeShape { total_bytes: Some(1 << 40), ..shape() };
    let (said, _) = refusal(&one(&anchor, &[(format(), more)]), root.path());
    assert!(said.contains("totalsize"), "{said}");
    let control = anchor.join("vdb_control.file");
    let whole = fs::read(&control).unwrap();
    for damaged in [&whole[..whole.len() / 2], b"\x00\xff", b"", b"depth 2\n"] {
        fs::write(&control, damaged).unwrap();
        let (said, is_refusal) = refusal(&one(&anchor, &[(reads(), shape())]), root.path());
        assert!(is_refusal && said.contains("vdb_control.file"), "{said}");
        Trees::inspect(&one(&anchor, &[(format(), shape())]), None).unwrap();
    }
}

#[test]
fn two_commands_do_not_change_an_anchor_at_the_same_time() {
    let root = tempfile::tempdir().unwrap();
    let anchor = root.path().join("tree");
    let (change, read) = (one(&anchor, &[(format(), shape())]), one(&anchor, &[(reads(), shape())]));
    formatted(&change);
    let first = Trees::inspect(&change, None).unwrap();
    for plan in [&change, &read] {
        let (said, is_refusal) = refusal(plan, root.path());
        assert!(is_refusal && said.contains("is in use by another program"), "{said}");
    }
    drop(first);
    let readers = [Trees::inspect(&read, None).unwrap(), Trees::inspect(&read, None).unwrap()];
    assert!(refusal(&change, root.path()).0.contains("is in use"));
    drop(readers);
    Trees::inspect(&change, None).unwrap();
}

#[test]
fn what_a_run_leaves_is_written_down_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let anchor = root.path().join("tree");
    let control = || fs::read_to_string(anchor.join("vdb_control.file")).unwrap();
    let plan = one(&anchor, &[(format(), shape()), (reads(), shape()), (writes(), shape())]);
    formatted(&plan);
    assert!(control().starts_with("when  end") && control().contains("file status 12\nf\n= 10\nf\n"), "{}", control());
    let mut trees = Trees::inspect(&plan, None).unwrap();
    let before = control();
    let (open, _) = trees.begin(&plan, &plan.runs[1]).unwrap();
    assert_eq!(control(), before, "reading changes nothing");
    assert_eq!(trees.end(&plan, &plan.runs[1], &open, TreeCertainty::Sure), []);
    assert_eq!(control(), before);
    let (again, _) = trees.begin(&plan, &plan.runs[2]).unwrap();
    assert!(Arc::ptr_eq(again[0].as_ref().unwrap(), open[0].as_ref().unwrap()), "what is known is kept");
    assert!(control().starts_with("when  start"), "{}", control());
    // An operation failed half way, and the thread knows nothing of it.
    fs::write(anchor.join("vdb.1_1.dir/vdb.2_1.dir/vdb_f0001.file"), vec![0; 1000]).unwrap();
    fs::remove_file(anchor.join("vdb.1_1.dir/vdb.2_1.dir/vdb_f0002.file")).unwrap();
    assert_eq!(trees.end(&plan, &plan.runs[2], &again, TreeCertainty::Failures), []);
    assert!(control().starts_with("when  end") && control().contains("file status 12\n1000\nn\nf\n"), "{}", control());
    // A format that did not make all says what is missing.
    let (open, _) = trees.begin(&plan, &plan.runs[0]).unwrap();
    assert!(!open[0].as_ref().unwrap().state().file(5).exists, "it begins with nothing");
    let said = trees.end(&plan, &plan.runs[0], &open, TreeCertainty::Failures);
    assert!(said.len() == 1 && said[0].is_trouble, "{said:?}");
    assert_eq!(said[0].sentence, "10 of 12 files are complete, 6 of 6 directories are there, 41.0 KiB");
}
