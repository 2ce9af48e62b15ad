//! What stands beside the files of flows: foreign entries, and what flows that were killed have left.

use crate::flows::{FILES, bench, flow, go, names, next, sized, small, step};
use crate::trees::{Bench, KIB, format, of, shape};
use engine::ResolvedRate;
use plan::generate::OperationKind as Op;
use plan::{FlowStep, FormatTask};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[test]
fn a_foreign_entry_is_never_replaced_followed_or_removed() {
    let shape = shape(1, 1, 1, 8 * KIB);
    let bench = bench("/dev/shm", &shape);
    let file = bench.anchor(0).join("vdb.1_1.dir/vdb_f0001.file");
    let outside = bench.anchor(0).with_file_name("outside");
    std::fs::write(&outside, b"not ours").unwrap();
    let flows = [
        (".moved", vec![Op::Rename, Op::Rename]),
        (".temp", vec![Op::Temp, Op::Append, Op::Fsync, Op::Close, Op::Rename]),
        (".temp", vec![Op::CopyRange, Op::Rename]),
        (".temp", vec![Op::Reflink]),
        (".link", vec![Op::Link]),
        (".sym", vec![Op::Symlink, Op::Readlink]),
    ];
    for (suffix, ops) in flows {
        let planted = PathBuf::from(format!("{}{suffix}", file.display()));
        for is_link in [true, false] {
            match is_link {
                true => std::os::unix::fs::symlink(&outside, &planted).unwrap(),
                false => std::fs::write(&planted, b"of another").unwrap(),
            }
            let steps: Vec<FlowStep> = ops.iter().map(|op| step(*op)).collect();
            let sums = go(&bench, flow(&shape, &steps, 2), 3 * ops.len() as u64);
            let failed: u64 = sums.lanes.values().map(|sum| sum[3]).sum();
            assert_eq!(failed, 3 * ops.len() as u64, "{suffix} {ops:?}: {sums:?}");
            let is_said = |text: &String| text.contains(suffix) && text.contains("File exists");
            assert!(sums.failures.iter().all(is_said), "{sums:?}");
            assert_eq!(std::fs::symlink_metadata(&planted).unwrap().is_symlink(), is_link);
            assert_eq!(std::fs::read(&planted).unwrap(), if is_link { &b"not ours"[..] } else { b"of another" });
            assert_eq!(std::fs::read(&outside).unwrap(), b"not ours");
            std::fs::remove_file(&planted).unwrap();
            assert_eq!(bench.found(0), (1, 1, 8 * KIB));
        }
    }
    // The file itself became a link, or another name of something: nothing is written through it.
    std::fs::remove_file(&file).unwrap();
    for is_link in [true, false] {
        match is_link {
            true => std::os::unix::fs::symlink(&outside, &file).unwrap(),
            false => std::fs::hard_link(&outside, &file).unwrap(),
        }
        let sums = go(&bench, flow(&shape, &[step(Op::Append)], 1), 3);
        assert!(sums.of(0, "append")[1] == 0 && sums.of(0, "append")[3] == 3, "{sums:?}");
        assert_eq!(std::fs::read(&outside).unwrap(), b"not ours");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn what_a_killed_flow_left_is_known_and_a_format_removes_it() {
    let shape = shape(1, 2, 3, 8 * KIB);
    let deletes = FormatTask { deletes: true, only_deletes: true, ..FormatTask::default() };
    for (task, left) in [(FormatTask::default(), 6), (deletes, 0)] {
        let bench = bench("/dev/shm", &shape);
        let folder = bench.anchor(0).join("vdb.1_1.dir");
        let at = |name: &str| folder.join(name);
        let outside = bench.anchor(0).with_file_name("outside");
        std::fs::write(&outside, b"not ours").unwrap();
        std::fs::rename(at("vdb_f0001.file"), at("vdb_f0001.file.moved")).unwrap();
        std::fs::hard_link(at("vdb_f0001.file.moved"), at("vdb_f0001.file.link")).unwrap();
        std::fs::hard_link(at("vdb_f0002.file"), at("vdb_f0002.file.link")).unwrap();
        std::fs::write(at("vdb_f0002.file.temp"), b"half").unwrap();
        std::os::unix::fs::symlink(&outside, at("vdb_f0003.file.sym")).unwrap();
        let inspect = || tree::Anchor::open(&bench.anchor(0)).unwrap().unwrap().inspect().unwrap();
        let found = inspect();
        assert_eq!((found.foreign, found.leftovers, found.files), (0, 5, 5), "{found:?}");
        // These are not what a flow leaves.
        std::fs::hard_link(&outside, at("vdb_f0001.file.temp")).unwrap();
        std::os::unix::fs::symlink(&outside, at("vdb_f0003.file.temp")).unwrap();
        std::fs::write(at("vdb_f0002.file.sym"), b"of another").unwrap();
        assert_eq!(inspect().foreign, 3);
        let foreign = [at("vdb_f0001.file.temp"), at("vdb_f0003.file.temp"), at("vdb_f0002.file.sym")];
        let bench = bench.again(&shape);
        let sums = bench.go(format(&shape, 2, task), ResolvedRate::Max, None);
        assert_eq!(sums.of(0, "delete"), [if left > 0 { 5 } else { 10 }; 1].map(|count| [count, count, 0, 0])[0]);
        for path in foreign {
            std::fs::remove_file(path).unwrap();
        }
        let files = names(&bench.anchor(0));
        assert!(files.len() == left && files.iter().all(|path| path.extension().unwrap() == "file"), "{files:?}");
        assert_eq!(std::fs::read(&outside).unwrap(), b"not ours");
    }
}

/// Where the process works that is killed below.
const KILLED_AT: &str = "IODYNO_TEST_KILLED_AT";

/// Flows with names of all kinds, one after the other in each of the threads.
fn names_of_all_kinds() -> Vec<FlowStep> {
    let mut steps: Vec<FlowStep> =
        [Op::Rename, Op::Link, Op::Symlink, Op::Readlink, Op::Rename].into_iter().map(step).collect();
    steps.extend([next(step(Op::Temp)), sized(Op::Append, 3000), step(Op::Close), step(Op::Rename)]);
    steps.extend([next(step(Op::CopyRange)), next(step(Op::Delete)), step(Op::Tmpfile), step(Op::Link)]);
    steps
}

/// Not a test of its own: what the one below kills.
#[test]
fn works_until_it_is_killed() {
    let Ok(at) = std::env::var(KILLED_AT) else { return };
    let shape = small();
    let bench = bench(&at, &shape);
    let load = flow(&shape, &names_of_all_kinds(), 4);
    bench.go(of(vec![load]), ResolvedRate::Max, Some(Duration::from_secs(60)));
}

#[test]
fn a_killed_flow_leaves_nothing_that_a_format_does_not_mend() {
    let shape = small();
    for _ in 0..5 {
        let folder = tempfile::Builder::new().prefix("iodyno-killed-").tempdir_in("/dev/shm").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "flow_leftovers::works_until_it_is_killed"])
            .env(KILLED_AT, folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let has_suffix = |path: &Path| {
            let name = path.to_string_lossy();
            tree::SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
        };
        // While names come and go, a walk may meet some that are gone.
        let mut waited = 0;
        while !any_below(folder.path(), &has_suffix) {
            std::thread::sleep(Duration::from_millis(1));
            waited += 1;
            assert!(waited < 120_000 && child.try_wait().unwrap().is_none(), "it works");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let left = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path().join("fsd0");
        let found = tree::Anchor::open(&left).unwrap().unwrap().require_own().unwrap();
        assert!(found.files + found.leftovers >= FILES - 4, "{found:?}");
        let inner = tempfile::Builder::new().prefix("iodyno-mended-").tempdir_in(folder.path()).unwrap();
        let bench = Bench::at(inner, 1, &shape);
        std::fs::remove_dir(bench.anchor(0)).unwrap();
        std::fs::rename(&left, bench.anchor(0)).unwrap();
        let bench = bench.again(&shape);
        let mended = bench.format(&shape);
        assert!(mended.failures.is_empty() && mended.of(0, "delete")[1] == found.leftovers, "{found:?} {mended:?}");
        assert_eq!(bench.found(0), (2, FILES, FILES * 10 * KIB));
        assert!(!any_below(&bench.anchor(0), &has_suffix));
    }
}

/// Is there a file below a folder whose path is such?
fn any_below(folder: &Path, is_such: &impl Fn(&Path) -> bool) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| is_such(&path) || (path.is_dir() && any_below(&path, is_such)))
}
