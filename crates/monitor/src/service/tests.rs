//! Days, full disks and old recordings with a clock that the test sets.

mod foreign;
mod kills;
mod years;

use super::*;
use crate::archive::apply_retention::enforce_retention;
use crate::archive::evidence::ClockReadings;
use crate::archive::home::FolderSharing;
use crate::archive::kill_steps::{CAN_EXCHANGE, STEPS};
use crate::archive::retention_policy::{DAY_NS, RetentionTier};
use recording::rows::{Cpu, Disk, Event};
use recording::{EventKind, Reader, RecordingState};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const SECOND_NS: u64 = 1_000_000_000;

/// A clock that advances only when the collector naps.
struct ManualClock {
    now_ns: Cell<u64>,
    wall_ns: Cell<i64>,
    /// The wall clock is set by so much at this monotonic time.
    set: Cell<Option<(u64, i64)>>,
    /// From this monotonic time on no process runs for so long.
    held: Cell<Option<(u64, u64)>>,
    is_synchronised: Cell<bool>,
}

impl ManualClock {
    fn at(wall_ns: i64) -> Self {
        // Rows carry the machine's own monotonic time.
        Self {
            now_ns: Cell::new(clock::now_ns()),
            wall_ns: Cell::new(wall_ns),
            set: Cell::new(None),
            held: Cell::new(None),
            is_synchronised: Cell::new(false),
        }
    }

    /// Time goes on for a collector that runs.
    fn pass(&self, ns: i64, home: &ArchiveFolder) {
        self.now_ns.set(self.now_ns.get() + ns.unsigned_abs());
        self.wall_ns.set(self.wall_ns.get() + ns);
        let _ = home.see(self);
    }
}

impl ServiceClock for ManualClock {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }
    fn wall_ns(&self) -> i64 {
        self.wall_ns.get()
    }
    fn moment(&self) -> ClockReadings {
        ClockReadings { wall_ns: self.wall_ns.get(), boot_ns: self.now_ns.get(), boot: "a boot".to_string() }
    }
    fn is_synchronised(&self) -> bool {
        self.is_synchronised.get()
    }
    fn nap(&self, ns: u64) {
        self.now_ns.set(self.now_ns.get() + ns);
        self.wall_ns.set(self.wall_ns.get() + i64::try_from(ns).expect("a nap"));
        if let Some((at_ns, by_ns)) = self.set.get()
            && self.now_ns.get() >= at_ns
        {
            self.set.set(None);
            self.wall_ns.set(self.wall_ns.get() + by_ns);
        }
        if let Some((at_ns, for_ns)) = self.held.get()
            && self.now_ns.get() >= at_ns
        {
            self.held.set(None);
            self.now_ns.set(self.now_ns.get() + for_ns);
            self.wall_ns.set(self.wall_ns.get() + i64::try_from(for_ns).expect("a while"));
        }
    }
}

fn wall(day: i64, time: (i64, i64, i64)) -> i64 {
    quantity::text::wall_ns_of((2026, 11, day), time).expect("a moment")
}

/// A folder in memory where there is one: thousands of small files are synced there.
fn quick_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    tempfile::tempdir_in(place).expect("a folder")
}

/// Everything stays.
fn nothing() -> RetentionPolicy {
    RetentionPolicy { keep_ns: None, keep_at_least_ns: 0, max_bytes: None, min_free_bytes: None, tiers: Vec::new() }
}

/// Looks after a directory once; what was said before is said again.
fn tidy_once(home: &ArchiveFolder, retention: &RetentionPolicy, open: Option<u64>) -> Vec<String> {
    enforce_retention(home, retention, open, &mut BTreeSet::new(), &StopFlag::default())
        .into_iter()
        .map(|said| said.message)
        .collect()
}

fn request(seconds: u64) -> ServiceRequest {
    ServiceRequest {
        events: crate::EventCpuTime::Off,
        profile_hz: None,
        interval_ns: SECOND_NS,
        retention: nothing(),
        zone: LocalZone::default(),
        for_ns: Some(seconds * SECOND_NS),
        command_line: vec!["test".to_string()],
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

fn samples(directory: &Path, name: &str) -> usize {
    let reader = Reader::open(directory.join(name)).expect("a recording");
    assert_eq!(reader.state(), RecordingState::Sealed, "{name}");
    reader.table::<Cpu>().expect("rows").iter().filter(|row| row.cpu == "all").count()
}

fn serve_quietly(directory: &Path, request: &ServiceRequest, clock: &ManualClock) -> ServiceOutcome {
    let home = Arc::new(ArchiveFolder::open(directory, clock).expect("a directory"));
    serve(&home, request, clock, SampleConsumers::default(), &mut |_| {}, &StopFlag::default()).expect("it serves")
}

#[test]
fn a_day_ends_at_midnight_and_nothing_is_between() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = serve_quietly(folder.path(), &request(20), &ManualClock::at(wall(20, (23, 59, 50))));
    assert_eq!((outcome.recordings, outcome.missed, outcome.unwritten), (2, 0, 0));
    assert_eq!(names(folder.path()), ["2026-11-20", "2026-11-21"]);
    let (first, second) = (samples(folder.path(), "2026-11-20"), samples(folder.path(), "2026-11-21"));
    // The sample at midnight is in both: it ends one day and begins the other.
    assert_eq!((first, second), (11, 11));
    assert_eq!(first + second, usize::try_from(outcome.samples).expect("few"));
    // A second start on the same day has a recording of its own.
    serve_quietly(folder.path(), &request(2), &ManualClock::at(wall(21, (8, 0, 0))));
    assert_eq!(names(folder.path()), ["2026-11-20", "2026-11-21", "2026-11-21-2"]);
}

#[test]
fn clocks_that_are_set_make_no_days_and_are_noted() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(20, (23, 59, 55)));
    // Just after midnight the clock is set back to before it.
    clock.set.set(Some((clock.now_ns() + 8 * SECOND_NS, -20_000_000_000)));
    let outcome = serve_quietly(folder.path(), &request(40), &clock);
    assert_eq!(outcome.recordings, 2, "{:?}", names(folder.path()));
    let reader = Reader::open(folder.path().join("2026-11-21")).expect("a recording");
    let events = reader.table::<Event>().expect("rows");
    assert!(events.iter().any(|event| event.kind == EventKind::ClockStep), "{events:?}");
    let anchors = &reader.manifest().clock_anchors;
    let stepped = |pair: &[ClockAnchor]| (pair[1].wall_ns - pair[0].wall_ns) - (pair[1].t_ns - pair[0].t_ns);
    assert!(anchors.windows(2).any(|pair| stepped(pair) == -20_000_000_000), "{anchors:?}");
}

#[test]
fn a_suspend_over_midnight_begins_a_day_and_is_noted() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(20, (23, 0, 0)));
    // The monotonic clock stands still in a suspend: for it, the wall clock is set ahead.
    clock.set.set(Some((clock.now_ns() + 5 * SECOND_NS, 7_200_000_000_000)));
    let outcome = serve_quietly(folder.path(), &request(15), &clock);
    assert_eq!((outcome.missed, outcome.recordings), (0, 2), "{:?}", names(folder.path()));
    assert_eq!(names(folder.path()), ["2026-11-20", "2026-11-21"]);
    let events =
        |name: &str| Reader::open(folder.path().join(name)).expect("a recording").table::<Event>().expect("rows");
    let steps = [events("2026-11-20"), events("2026-11-21")].concat();
    assert!(
        steps.iter().any(|event| event.kind == EventKind::ClockStep && event.message.contains("forward")),
        "{steps:?}"
    );
    assert!(samples(folder.path(), "2026-11-20") >= 5 && samples(folder.path(), "2026-11-21") >= 9);
}

#[test]
fn time_in_which_the_collector_could_not_run_is_a_gap() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(20, (12, 0, 0)));
    // As of a guest that its host holds up, or SIGSTOP.
    clock.held.set(Some((clock.now_ns() + 5 * SECOND_NS, 60 * SECOND_NS)));
    let outcome = serve_quietly(folder.path(), &request(80), &clock);
    let held = 58..=61;
    assert!(held.contains(&outcome.missed), "{outcome:?}");
    let events = Reader::open(folder.path().join("2026-11-20")).expect("a recording").table::<Event>().expect("rows");
    let words = format!("{} samples were due", outcome.missed);
    assert!(events.iter().any(|event| event.kind == EventKind::Gap && event.message.starts_with(&words)), "{events:?}");
    assert_eq!(samples(folder.path(), "2026-11-20") as u64 + outcome.missed, 81);
}

#[test]
fn one_collector_per_directory() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(20, (1, 0, 0)));
    let held = ArchiveFolder::open(folder.path(), &clock).expect("one collector");
    let error = ArchiveFolder::open(folder.path(), &clock).expect_err("a second collector").to_string();
    assert!(error.contains(&std::process::id().to_string()), "{error}");
    drop(held);
    serve_quietly(folder.path(), &request(1), &clock);
}

#[test]
fn what_was_killed_is_sealed_by_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(20, (1, 0, 0)));
    serve_quietly(folder.path(), &request(3), &clock);
    // As a killed collector leaves it: a journal, and a recording that was only begun.
    let home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
    let begun = home.next_mark("2026-11-18");
    std::fs::create_dir(folder.path().join("2026-11-18")).expect("made");
    begun.write(&home.folder().subfolder("2026-11-18").expect("it")).expect("marked");
    // Killed a little later: the journal is there, and has no row.
    let later =
        Writer::create_marked(&folder.path().join("2026-11-17"), Manifest::new(&[]), &home.next_mark("2026-11-17"));
    drop(later.expect("a writer"));
    std::fs::remove_file(folder.path().join("2026-11-17/manifest.json")).expect("removed");
    // And as it thins: one without a row goes, one with rows of an unknown owner stays.
    let thinned = home.work().path().join("fresh-1-x");
    drop(Writer::create(&thinned, Manifest::new(&[])).expect("a writer"));
    std::fs::remove_file(thinned.join("manifest.json")).expect("removed");
    let unknown = home.work().path().join("fresh-2-x");
    let mut writer = Writer::create(&unknown, Manifest::new(&[])).expect("a writer");
    commit(&mut writer, &[RowBatch::from_rows(&[disk(1, "sda", 1)]).expect("a batch")]).expect("written");
    drop(writer);
    std::fs::remove_file(unknown.join("manifest.json")).expect("removed");
    let path = folder.path().join("2026-11-19");
    let mut manifest = Manifest::new(&[]);
    manifest.started_wall_ns = wall(19, (1, 0, 0));
    manifest.clock_anchors = vec![ClockAnchor { t_ns: manifest.started_t_ns, wall_ns: manifest.started_wall_ns }];
    let mut writer = Writer::create_marked(&path, manifest, &home.next_mark("2026-11-19")).expect("a writer");
    commit(&mut writer, &MachineReader::new(&[SubjectName::Cpu]).sample(0, 0)).expect("written");
    let said = tidy_once(&home, &nothing(), None);
    assert!(said.len() == 1 && said[0].contains("fresh-2-x"), "one that is being written is left alone: {said:?}");
    drop(writer);
    drop(home);
    let home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
    let said = tidy_once(&home, &nothing(), None);
    assert!(
        said[..2].iter().zip([17, 18]).all(|(said, day)| said.starts_with(&format!("removed 2026-11-{day}"))),
        "{said:?}"
    );
    assert!(said.len() == 4 && said[2].starts_with("sealed ") && said[3].contains("fresh-2-x"), "{said:?}");
    assert!(!thinned.exists() && unknown.join("journal").exists());
    assert_eq!(names(folder.path()), ["2026-11-19", "2026-11-20"]);
    assert_eq!((samples(folder.path(), "2026-11-19"), samples(folder.path(), "2026-11-20")), (1, 4));
    let manifest = Reader::open(&path).expect("a recording").manifest().clone();
    assert_eq!(manifest.exit, Some(recording::RecordingExit::Killed));
}

/// A sealed recording of a day, a sample a second, with one busy second.
fn recording(home: &ArchiveFolder, day: i64, seconds: i64) -> PathBuf {
    let name = format!("2026-11-{day:02}");
    let path = home.path().join(&name);
    let mut manifest = Manifest::new(&[]);
    (manifest.started_t_ns, manifest.started_wall_ns) = (0, wall(day, (0, 0, 0)));
    let anchor = |t_ns| ClockAnchor { t_ns, wall_ns: wall(day, (0, 0, 0)) + t_ns };
    manifest.clock_anchors = vec![anchor(0), anchor(seconds * 1_000_000_000)];
    let mut writer = Writer::create_marked(&path, manifest, &home.next_mark(&name)).expect("a writer");
    let (mut ios, mut rows): (i64, Vec<Disk>) = (0, Vec::new());
    for second in 0..=seconds {
        ios += if second == seconds / 2 + 3 { 5000 } else { 10 };
        for (device, share) in [("sda", 1), ("sdb", 2)] {
            rows.push(disk(second, device, ios / share));
        }
    }
    commit(&mut writer, &[RowBatch::from_rows(&rows).expect("a batch")]).expect("written");
    writer.seal_past().expect("sealed")
}

/// A sealed recording without rows that lasted for so long.
fn tiny(home: &ArchiveFolder, name: &str, length_ns: i64) -> PathBuf {
    let mut manifest = Manifest::new(&[]);
    (manifest.started_t_ns, manifest.started_wall_ns) = (0, wall(1, (0, 0, 0)));
    manifest.clock_anchors =
        [0, length_ns].map(|t_ns| ClockAnchor { t_ns, wall_ns: wall(1, (0, 0, 0)) + t_ns }).to_vec();
    let writer = Writer::create_marked(&home.path().join(name), manifest, &home.next_mark(name)).expect("a writer");
    writer.seal_past().expect("sealed")
}

fn disk(second: i64, device: &str, ios: i64) -> Disk {
    let t_ns = second * 1_000_000_000;
    Disk {
        t_ns,
        t_s: second as f64,
        device: device.to_string(),
        target: String::new(),
        read_ios: Some(ios),
        read_sectors: Some(ios * 8),
        write_ios: Some(0),
        ..Disk::default()
    }
}

/// Greatest rate of a device between two neighbouring rows.
fn greatest(path: &Path, device: &str) -> (usize, i64) {
    let rows: Vec<Disk> = Reader::open(path).expect("a recording").table::<Disk>().expect("rows");
    let rows: Vec<&Disk> = rows.iter().filter(|row| row.device == device).collect();
    let rate = |pair: &[&Disk]| {
        let grown = pair[1].read_ios.expect("a counter") - pair[0].read_ios.expect("a counter");
        grown * 1_000_000_000 / (pair[1].t_ns - pair[0].t_ns)
    };
    (rows.len(), rows.windows(2).map(rate).max().expect("two rows"))
}

#[test]
fn thinning_keeps_maxima_and_sums() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
    let path = recording(&home, 1, 1000);
    // The next day ends it.
    clock.pass(DAY_NS, &home);
    recording(&home, 2, 1);
    let last =
        |path: &Path| Reader::open(path).expect("it").table::<Disk>().expect("rows").last().cloned().expect("a row");
    let (before, end) = (greatest(&path, "sda"), last(&path));
    let tiers = vec![
        RetentionTier { after_ns: DAY_NS, step_ns: 10_000_000_000 },
        RetentionTier { after_ns: 5 * DAY_NS, step_ns: 300_000_000_000 },
    ];
    let retention = RetentionPolicy { tiers, ..nothing() };
    clock.pass(DAY_NS - 1, &home);
    assert_eq!(tidy_once(&home, &retention, None), Vec::<String>::new());
    assert_eq!(greatest(&path, "sda"), before, "not old enough");
    clock.pass(DAY_NS / 2, &home);
    let said = tidy_once(&home, &retention, None);
    assert!(said.len() == 1 && said[0].starts_with("thinned 2026-11-01 to samples 10.0 s apart ("), "{said:?}");
    let coarser = greatest(&path, "sda");
    assert!(coarser.0 < before.0 / 3 && coarser.1 == before.1, "{before:?} {coarser:?}");
    assert_eq!((last(&path), greatest(&path, "sdb").1), (end.clone(), 2500));
    clock.pass(6 * DAY_NS, &home);
    tidy_once(&home, &retention, None);
    let coarsest = greatest(&path, "sda");
    assert!(coarsest.0 < 20 && coarsest.1 == before.1, "{coarsest:?}");
    assert_eq!(last(&path), end);
    // Once is enough: of this one, that is; the other one is due as well.
    let changed = std::fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
    clock.pass(2 * DAY_NS, &home);
    tidy_once(&home, &retention, None);
    assert_eq!(std::fs::metadata(&path).and_then(|found| found.modified()).expect("a time"), changed);
    assert_eq!(home.work().names().expect("names"), [recording::MARK]);
}

#[test]
fn the_oldest_go_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
    let mut paths = Vec::new();
    for day in 1..=4 {
        paths.push(recording(&home, day, 100));
        clock.pass(DAY_NS, &home);
    }
    std::fs::create_dir(folder.path().join("notes")).expect("made");
    // Recordings 1 to 4 ended three, two, one and no days ago.
    let by_age = RetentionPolicy { keep_ns: Some(5 * DAY_NS / 2), ..nothing() };
    tidy_once(&home, &by_age, None);
    assert_eq!(names(folder.path()), ["2026-11-02", "2026-11-03", "2026-11-04", "notes"]);
    let size = |path: &Path| -> u64 {
        let table = std::fs::read_dir(path.join("disk")).expect("a folder").flatten().next().expect("a host").path();
        let files = [
            path.join("manifest.json"),
            path.join("manifest.json.copy"),
            path.join(recording::MARK),
            table.join("000001.parquet"),
        ];
        files.iter().map(|file| std::fs::metadata(file).expect("a file").len()).sum()
    };
    let by_size = RetentionPolicy { max_bytes: Some(size(&paths[2]) + size(&paths[3]) + 10), ..nothing() };
    let said = tidy_once(&home, &by_size, None);
    assert!(said.iter().any(|said| said.starts_with("removed 2026-11-02 (")), "{said:?}");
    // Less than the newest takes: that stays all the same.
    let said = tidy_once(&home, &RetentionPolicy { max_bytes: Some(1), ..nothing() }, None);
    assert!(said.iter().any(|said| said.starts_with("removed 2026-11-03 (")), "{said:?}");
    assert_eq!(names(folder.path()), ["2026-11-04", "notes"]);
}

/// Events about old recordings in the recording of a day.
fn retention_events(path: &Path) -> Vec<String> {
    let events = Reader::open(path).expect("a recording").table::<Event>().expect("rows");
    events.into_iter().filter(|event| event.kind == EventKind::Retention).map(|event| event.message).collect()
}

#[test]
fn what_goes_is_an_event_of_the_recording_under_way_and_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let home = Arc::new(ArchiveFolder::open(folder.path(), &clock).expect("a directory"));
    for day in 1..=3 {
        recording(&home, day, 100);
        clock.pass(DAY_NS, &home);
    }
    std::fs::write(folder.path().join("2026-11-01/notes.txt"), "mine").expect("written");
    let mut request = request(2);
    request.retention.max_bytes = Some(1);
    let mut said = Vec::new();
    let mut tell = |words: &str| said.push(words.to_string());
    serve(&home, &request, &clock, SampleConsumers::default(), &mut tell, &StopFlag::default()).expect("it serves");
    let events = retention_events(&folder.path().join("2026-11-04"));
    assert!(
        events.iter().any(|event| event.starts_with("removed 2026-11-02 (") && event.contains("more than 1 B")),
        "{events:?}"
    );
    let alone: Vec<&String> = events.iter().filter(|event| event.contains("notes.txt")).collect();
    assert_eq!(alone.len(), 1, "said once: {events:?}");
    assert!(alone[0].starts_with("2026-11-01 is left alone: it holds notes.txt"), "{alone:?}");
    assert!(events.iter().all(|event| said.contains(event)), "{said:?}");
    assert_eq!(names(folder.path()), ["2026-11-01", "2026-11-03", "2026-11-04"]);
}

#[test]
fn a_clock_that_jumps_ahead_removes_nothing_and_the_recording_says_so() {
    for (is_synchronised, word) in [(false, "not taken for older"), (true, "trusted")] {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::at(wall(1, (0, 0, 0)));
        let home = Arc::new(ArchiveFolder::open(folder.path(), &clock).expect("a directory"));
        for day in 1..=20 {
            tiny(&home, &format!("2026-11-{day:02}"), DAY_NS / 2);
            clock.pass(DAY_NS, &home);
        }
        clock.is_synchronised.set(is_synchronised);
        clock.set.set(Some((clock.now_ns() + 5 * SECOND_NS, 120 * DAY_NS)));
        let mut request = request(1200);
        request.interval_ns = 10 * SECOND_NS;
        request.retention = RetentionPolicy { tiers: Vec::new(), min_free_bytes: None, ..RetentionPolicy::default() };
        serve(&home, &request, &clock, SampleConsumers::default(), &mut |_| {}, &StopFlag::default())
            .expect("it serves");
        let left = names(folder.path());
        // The one under way before the jump and the one behind it are there as well.
        let went = 22 - left.len();
        assert!(went <= if is_synchronised { 2 } else { 0 }, "{left:?}");
        let days: Vec<String> = left.iter().flat_map(|name| retention_events(&folder.path().join(name))).collect();
        assert!(days.iter().any(|event| event.contains(word)), "{days:?}");
    }
}
