//! Days, full disks and old recordings with a clock that is told what to show.

use super::retention::tidy;
use super::*;
use recording::rows::{Cpu, Disk, Event};
use recording::{Reader, State};
use std::cell::Cell;

const SECOND_NS: u64 = 1_000_000_000;

/// A clock that goes when somebody naps.
struct Told {
    now_ns: Cell<u64>,
    wall_ns: Cell<i64>,
    /// The wall clock is set by so much at this monotonic time.
    set: Cell<Option<(u64, i64)>>,
    /// From this monotonic time on nobody runs for so long.
    held: Cell<Option<(u64, u64)>>,
}

impl Told {
    fn at(wall_ns: i64) -> Self {
        // Rows carry the machine's own monotonic time.
        Self {
            now_ns: Cell::new(clock::now_ns()),
            wall_ns: Cell::new(wall_ns),
            set: Cell::new(None),
            held: Cell::new(None),
        }
    }
}

impl ServiceClock for Told {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }
    fn wall_ns(&self) -> i64 {
        self.wall_ns.get()
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

fn request(directory: &Path, seconds: u64) -> ServiceRequest {
    ServiceRequest {
        directory: directory.to_path_buf(),
        events: crate::EventClock::Off,
        profile_hz: None,
        interval_ns: SECOND_NS,
        retention: Retention { keep_ns: None, max_bytes: None, min_free_bytes: None, tiers: Vec::new() },
        zone: Zone::default(),
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
    assert_eq!(reader.state(), State::Sealed, "{name}");
    reader.table::<Cpu>().expect("rows").iter().filter(|row| row.cpu == "all").count()
}

fn serve_quietly(request: &ServiceRequest, clock: &Told) -> ServiceOutcome {
    serve(request, clock, Company::default(), &mut |_| {}, &StopFlag::default()).expect("it serves")
}

#[test]
fn a_day_ends_at_midnight_and_nothing_is_between() {
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = serve_quietly(&request(folder.path(), 20), &Told::at(wall(20, (23, 59, 50))));
    assert_eq!((outcome.recordings, outcome.missed, outcome.unwritten), (2, 0, 0));
    assert_eq!(names(folder.path()), ["2026-11-20", "2026-11-21"]);
    let (first, second) = (samples(folder.path(), "2026-11-20"), samples(folder.path(), "2026-11-21"));
    // The sample at midnight is in both: it ends one day and begins the other.
    assert_eq!((first, second), (11, 11));
    assert_eq!(first + second, usize::try_from(outcome.samples).expect("few"));
    // A second start on the same day has a recording of its own.
    serve_quietly(&request(folder.path(), 2), &Told::at(wall(21, (8, 0, 0))));
    assert_eq!(names(folder.path()), ["2026-11-20", "2026-11-21", "2026-11-21-2"]);
}

#[test]
fn clocks_that_are_set_make_no_days_and_are_noted() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = Told::at(wall(20, (23, 59, 55)));
    // Just after midnight the clock is set back to before it.
    told.set.set(Some((told.now_ns() + 8 * SECOND_NS, -20_000_000_000)));
    let outcome = serve_quietly(&request(folder.path(), 40), &told);
    assert_eq!(outcome.recordings, 2, "{:?}", names(folder.path()));
    let reader = Reader::open(folder.path().join("2026-11-21")).expect("a recording");
    let events = reader.table::<Event>().expect("rows");
    assert!(events.iter().any(|event| event.kind == "clock_step"), "{events:?}");
    let anchors = &reader.manifest().clock_anchors;
    let stepped = |pair: &[ClockAnchor]| (pair[1].wall_ns - pair[0].wall_ns) - (pair[1].t_ns - pair[0].t_ns);
    assert!(anchors.windows(2).any(|pair| stepped(pair) == -20_000_000_000), "{anchors:?}");
}

#[test]
fn a_suspend_over_midnight_begins_a_day_and_is_noted() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = Told::at(wall(20, (23, 0, 0)));
    // The monotonic clock stands still in a suspend: for it, the wall clock is set ahead.
    told.set.set(Some((told.now_ns() + 5 * SECOND_NS, 7_200_000_000_000)));
    let outcome = serve_quietly(&request(folder.path(), 15), &told);
    assert_eq!((outcome.missed, outcome.recordings), (0, 2), "{:?}", names(folder.path()));
    assert_eq!(names(folder.path()), ["2026-11-20", "2026-11-21"]);
    let events =
        |name: &str| Reader::open(folder.path().join(name)).expect("a recording").table::<Event>().expect("rows");
    let steps = [events("2026-11-20"), events("2026-11-21")].concat();
    assert!(steps.iter().any(|event| event.kind == "clock_step" && event.message.contains("forward")), "{steps:?}");
    assert!(samples(folder.path(), "2026-11-20") >= 5 && samples(folder.path(), "2026-11-21") >= 9);
}

#[test]
fn time_in_which_the_collector_could_not_run_is_a_gap() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = Told::at(wall(20, (12, 0, 0)));
    // As of a guest that its host holds up, or SIGSTOP.
    told.held.set(Some((told.now_ns() + 5 * SECOND_NS, 60 * SECOND_NS)));
    let outcome = serve_quietly(&request(folder.path(), 80), &told);
    let held = 58..=61;
    assert!(held.contains(&outcome.missed), "{outcome:?}");
    let events = Reader::open(folder.path().join("2026-11-20")).expect("a recording").table::<Event>().expect("rows");
    let words = format!("{} samples were due", outcome.missed);
    assert!(events.iter().any(|event| event.kind == "gap" && event.message.starts_with(&words)), "{events:?}");
    assert_eq!(samples(folder.path(), "2026-11-20") as u64 + outcome.missed, 81);
}

#[test]
fn one_collector_per_directory() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = lock(folder.path()).expect("nobody else");
    let refused = serve(
        &request(folder.path(), 1),
        &Told::at(wall(20, (1, 0, 0))),
        Company::default(),
        &mut |_| {},
        &StopFlag::default(),
    );
    let error = refused.expect_err("somebody else").to_string();
    assert!(error.contains(&std::process::id().to_string()), "{error}");
    drop(held);
    serve_quietly(&request(folder.path(), 1), &Told::at(wall(20, (1, 0, 0))));
}

#[test]
fn what_was_killed_is_sealed_by_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    serve_quietly(&request(folder.path(), 3), &Told::at(wall(20, (1, 0, 0))));
    // As a killed collector leaves it: a journal, and what it had begun to thin.
    let path = folder.path().join("2026-11-19");
    let mut manifest = Manifest::new(&[]);
    manifest.started_wall_ns = wall(19, (1, 0, 0));
    manifest.clock_anchors = vec![ClockAnchor { t_ns: manifest.started_t_ns, wall_ns: manifest.started_wall_ns }];
    let mut writer = Writer::create(&path, manifest).expect("a writer");
    commit(&mut writer, &Machine::new(&[What::Cpu]).sample(0, 0)).expect("written");
    drop(writer);
    std::fs::rename(folder.path().join("2026-11-20"), folder.path().join(".old-2026-11-20")).expect("renamed");
    std::fs::create_dir(folder.path().join(".thin-2026-11-20")).expect("made");
    let said = tidy(folder.path(), &request(folder.path(), 1).retention, wall(20, (2, 0, 0)), None);
    assert!(said.len() == 1 && said[0].starts_with("sealed "), "{said:?}");
    assert_eq!(names(folder.path()), ["2026-11-19", "2026-11-20"]);
    assert!(!folder.path().join(".thin-2026-11-20").exists());
    assert_eq!((samples(folder.path(), "2026-11-19"), samples(folder.path(), "2026-11-20")), (1, 4));
    let manifest = Reader::open(&path).expect("a recording").manifest().clone();
    assert_eq!(manifest.exit.as_deref(), Some("killed"));
}

/// A sealed recording of a day, a sample a second, with one busy second.
fn recording(directory: &Path, day: i64, seconds: i64) -> PathBuf {
    let path = directory.join(format!("2026-11-{day:02}"));
    let mut manifest = Manifest::new(&[]);
    (manifest.started_t_ns, manifest.started_wall_ns) = (0, wall(day, (0, 0, 0)));
    let anchor = |t_ns| ClockAnchor { t_ns, wall_ns: wall(day, (0, 0, 0)) + t_ns };
    manifest.clock_anchors = vec![anchor(0), anchor(seconds * 1_000_000_000)];
    let mut writer = Writer::create(&path, manifest).expect("a writer");
    let (mut ios, mut rows): (i64, Vec<Disk>) = (0, Vec::new());
    for second in 0..=seconds {
        ios += if second == seconds / 2 + 3 { 5000 } else { 10 };
        for (device, share) in [("sda", 1), ("sdb", 2)] {
            rows.push(disk(second, device, ios / share));
        }
    }
    commit(&mut writer, &[Batch::from_rows(&rows).expect("a batch")]).expect("written");
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
        read_merges: None,
        read_sectors: Some(ios * 8),
        read_ticks_ms: None,
        write_ios: Some(0),
        write_merges: None,
        write_sectors: None,
        write_ticks_ms: None,
        in_flight: None,
        io_ticks_ms: None,
        weighted_ticks_ms: None,
        discard_ios: None,
        discard_merges: None,
        discard_sectors: None,
        discard_ticks_ms: None,
        flush_ios: None,
        flush_ticks_ms: None,
        any_ios: None,
        any_sectors: None,
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
    let path = recording(folder.path(), 1, 1000);
    let last =
        |path: &Path| Reader::open(path).expect("it").table::<Disk>().expect("rows").last().cloned().expect("a row");
    let (before, end) = (greatest(&path, "sda"), last(&path));
    let tiers = vec![
        Tier { after_ns: 86_400_000_000_000, step_ns: 10_000_000_000 },
        Tier { after_ns: 5 * 86_400_000_000_000, step_ns: 300_000_000_000 },
    ];
    let retention = Retention { keep_ns: None, max_bytes: None, min_free_bytes: None, tiers };
    assert_eq!(tidy(folder.path(), &retention, wall(1, (20, 0, 0)), None), Vec::<String>::new());
    assert_eq!(greatest(&path, "sda"), before, "not old enough");
    tidy(folder.path(), &retention, wall(3, (0, 0, 0)), None);
    let coarser = greatest(&path, "sda");
    assert!(coarser.0 < before.0 / 3 && coarser.1 == before.1, "{before:?} {coarser:?}");
    assert_eq!((last(&path), greatest(&path, "sdb").1), (end.clone(), 2500));
    tidy(folder.path(), &retention, wall(9, (0, 0, 0)), None);
    let coarsest = greatest(&path, "sda");
    assert!(coarsest.0 < 20 && coarsest.1 == before.1, "{coarsest:?}");
    assert_eq!(last(&path), end);
    // Once is enough.
    let changed = std::fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
    tidy(folder.path(), &retention, wall(9, (1, 0, 0)), None);
    assert_eq!(std::fs::metadata(&path).and_then(|found| found.modified()).expect("a time"), changed);
}

#[test]
fn the_oldest_go_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths: Vec<PathBuf> = (1..=4).map(|day| recording(folder.path(), day, 100)).collect();
    std::fs::create_dir(folder.path().join("notes")).expect("made");
    let nothing = Retention { keep_ns: None, max_bytes: None, min_free_bytes: None, tiers: Vec::new() };
    let by_age = Retention { keep_ns: Some(2 * 86_400_000_000_000), ..nothing.clone() };
    tidy(folder.path(), &by_age, wall(4, (0, 0, 30)), None);
    assert_eq!(names(folder.path()), ["2026-11-02", "2026-11-03", "2026-11-04", "notes"]);
    let size = |path: &Path| -> u64 {
        let manifest = 2 * std::fs::metadata(path.join("manifest.json")).expect("a file and its copy").len();
        let table = std::fs::read_dir(path.join("disk")).expect("a folder").flatten().next().expect("a host").path();
        manifest + std::fs::metadata(table.join("000001.parquet")).expect("a file").len()
    };
    let by_size = Retention { max_bytes: Some(size(&paths[1]) + size(&paths[2]) + 10), ..nothing.clone() };
    let said = tidy(folder.path(), &by_size, wall(4, (1, 0, 0)), None);
    assert!(said.len() == 1 && said[0].contains("2026-11-02"), "{said:?}");
    // More than any disk has: all but the one that is being written go.
    let by_room = Retention { min_free_bytes: Some(u64::MAX), ..nothing };
    tidy(folder.path(), &by_room, wall(4, (1, 0, 0)), Some(&paths[3]));
    assert_eq!(names(folder.path()), ["2026-11-04", "notes"]);
}
