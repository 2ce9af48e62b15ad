//! A collector that is killed at any step of removing, thinning and sealing: each recording is whole or gone, and the next
//! collector goes on.

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One that goes, one that becomes coarser, one without a seal, one to be left alone, and a newest one.
fn store(folder: &Path) -> ArchiveFolder {
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let home = ArchiveFolder::open(folder, &clock).expect("a directory");
    for day in 1..=3 {
        recording(&home, day, 60);
        clock.pass(DAY_NS, &home);
    }
    std::fs::write(folder.join("2026-11-03/notes.txt"), "mine").expect("written");
    let mut manifest = Manifest::new(&[]);
    manifest.clock_anchors.truncate(1);
    let mark = home.next_mark("2026-11-04");
    let mut writer = Writer::create_marked(&folder.join("2026-11-04"), manifest, &mark).expect("a writer");
    let rows: Vec<Disk> = (0..50).map(|second| disk(second, "sda", second)).collect();
    commit(&mut writer, &[RowBatch::from_rows(&rows).expect("a batch")]).expect("written");
    drop(writer);
    clock.pass(DAY_NS, &home);
    recording(&home, 5, 60);
    home.save();
    home
}

fn policy() -> RetentionPolicy {
    let tiers = vec![RetentionTier { after_ns: DAY_NS / 2, step_ns: 10_000_000_000 }];
    // The first one ended three days ago, the second one a day: when the next of ours began.
    RetentionPolicy { keep_ns: Some(5 * DAY_NS / 2), tiers, ..nothing() }
}

fn rows(path: &Path) -> usize {
    let reader = Reader::open(path).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reader.state(), RecordingState::Sealed, "{}", path.display());
    reader.table::<Disk>().expect("rows").len()
}

/// Looks after the store until it is killed at step `at`; true when it was.
fn killed_at(folder: &Path, home: ArchiveFolder, at: u32) -> bool {
    STEPS.set(Some(at));
    let ended = catch_unwind(AssertUnwindSafe(|| tidy_once(&home, &policy(), None)));
    STEPS.set(None);
    let path = folder.join("2026-11-03/notes.txt");
    assert_eq!(std::fs::read_to_string(path).expect("there"), "mine", "step {at}");
    ended.is_err()
}

/// What each recording is afterwards; `None`: gone.
fn whole(folder: &Path) -> [Option<usize>; 5] {
    [1, 2, 3, 4, 5].map(|day| {
        let path = folder.join(format!("2026-11-{day:02}"));
        path.exists().then(|| rows(&path))
    })
}

fn kill_at_each_step(can_exchange: bool) -> u32 {
    CAN_EXCHANGE.set(can_exchange);
    let mut at = 0;
    loop {
        let folder = quick_folder();
        let home = store(folder.path());
        let is_killed = killed_at(folder.path(), home, at);
        let clock = ManualClock::at(wall(5, (0, 1, 0)));
        let home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
        // The next collector, whose user wants everything kept: what was moved out of its place comes back or is whole elsewhere.
        tidy_once(&home, &nothing(), None);
        let found = whole(folder.path());
        assert!(found[0].is_none_or(|rows| rows == 122), "step {at}: {found:?}");
        assert!(found[1].is_some_and(|rows| rows == 122 || (10..100).contains(&rows)), "step {at}: {found:?}");
        assert_eq!(found[2..], [Some(122), Some(50), Some(122)], "step {at}");
        assert_eq!(home.work().names().expect("names"), [recording::MARK], "step {at}: nothing is left");
        // And one with the same wishes ends where one that was not killed would have.
        clock.pass(DAY_NS, &home);
        tidy_once(&home, &policy(), None);
        let found = whole(folder.path());
        assert!(found[0].is_none() && found[1].is_some_and(|rows| rows < 100), "step {at}: {found:?}");
        if !is_killed {
            return at;
        }
        at += 1;
    }
}

#[test]
fn a_collector_that_is_killed_while_it_removes_and_thins_leaves_whole_recordings() {
    let steps = kill_at_each_step(true);
    assert!(steps > 12, "{steps} steps");
    // A file system that cannot exchange two names has one step more, between which the recording has no name.
    assert!(kill_at_each_step(false) > steps);
    CAN_EXCHANGE.set(true);
}

#[test]
fn a_collector_that_is_killed_while_it_begins_leaves_nothing() {
    let folder = quick_folder();
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
    // While its folder has nothing in it, and while it has a mark: in the work folder, where it has no day's name yet.
    home.work().create_folder("new-0123-1").expect("made");
    let marked = home.work().create_folder("new-0123-2").expect("made");
    home.next_mark("2026-11-01").write(&marked).expect("marked");
    let work = home.work().path().to_path_buf();
    drop(home);
    // While the work folder has no mark.
    let home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
    assert_eq!(tidy_once(&home, &nothing(), None), Vec::<String>::new());
    assert_eq!(home.work().names().expect("names"), [recording::MARK]);
    drop(home);
    std::fs::remove_file(work.join(recording::MARK)).expect("removed");
    let home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
    assert_eq!(home.work().path(), work, "it is taken again");
    // What is being made now is left alone, and is nowhere else before it has its mark.
    let begun = home.begin("2026-11-01", Manifest::new(&[])).expect("begun");
    assert!(matches!(home.begin("2026-11-01", Manifest::new(&[])), Err(RecordingError::Exists(_))));
    assert_eq!(home.work().names().expect("names"), [recording::MARK]);
    drop(begun);
}
