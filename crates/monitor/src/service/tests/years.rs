//! Years of days: the policy by itself with a store in memory, and with recordings on a disk.

use super::*;
use crate::archive::evidence::Evidence;
use crate::archive::retention_policy::{Budget, DiskSpace, Now, RecordingEntry, RecordingStore, retain, share};

/// Recordings in memory, on a disk of `total` bytes of which others have taken `others`.
#[derive(Default)]
struct Memory {
    kept: Vec<RecordingEntry>,
    total: u64,
    others: u64,
    removed: Vec<u64>,
    thinned: u64,
    said: Vec<String>,
}

impl Memory {
    fn bytes(&self) -> u64 {
        self.kept.iter().map(|recording| recording.bytes).sum()
    }
}

impl RecordingStore for Memory {
    fn remove(&mut self, recording: &RecordingEntry, _why: &str) -> bool {
        self.kept.retain(|kept| kept.number != recording.number);
        self.removed.push(recording.number);
        true
    }
    fn thin(&mut self, recording: &RecordingEntry, step_ns: i64) -> bool {
        let kept = self.kept.iter_mut().find(|kept| kept.number == recording.number).expect("it");
        (kept.bytes, kept.step_ns) = (kept.bytes / 2, step_ns);
        self.thinned += 1;
        true
    }
    fn room(&mut self) -> Option<DiskSpace> {
        Some(DiskSpace { total: self.total, free: self.total.saturating_sub(self.others + self.bytes()) })
    }
    fn say_once(&mut self, _key: &str, said: String) {
        self.said.push(said);
    }
    fn is_enough(&self) -> bool {
        false
    }
}

/// A machine and its collector.
struct Years {
    now: ClockReadings,
    evidence: Evidence,
    memory: Memory,
    retention: RetentionPolicy,
    is_synchronised: bool,
    number: u64,
}

impl Years {
    fn begin(retention: RetentionPolicy) -> Self {
        let now = ClockReadings { wall_ns: 20_000 * DAY_NS, boot_ns: 1, boot: "a".to_string() };
        let evidence = Evidence::begin(&now);
        let memory = Memory { total: u64::MAX / 4, ..Memory::default() };
        Self { now, evidence, memory, retention, is_synchronised: true, number: 0 }
    }

    fn see(&mut self) {
        let is_synchronised = self.is_synchronised;
        self.evidence.see(&self.now, &|| is_synchronised);
    }

    /// Another process: it may believe a step again.
    fn restart(&mut self) {
        let text = serde_json::to_vec(&self.evidence).expect("JSON");
        self.evidence = serde_json::from_slice(&text).expect("the same");
    }

    /// A day, and looking after the old ones at its end; the newest must be there afterwards.
    fn day(&mut self) {
        self.see();
        self.number += 1;
        let begun_ns = self.evidence.passed_ns();
        let name = format!("day {}", self.number);
        let recording = RecordingEntry {
            name,
            number: self.number,
            begun_ns,
            end_ns: begun_ns,
            length_ns: DAY_NS,
            is_flight: false,
            bytes: 1000,
            step_ns: 0,
        };
        self.now.boot_ns += DAY_NS.unsigned_abs();
        self.now.wall_ns += DAY_NS;
        self.see();
        self.memory.kept.push(recording);
        self.tidy();
    }

    fn tidy(&mut self) {
        let passed_ns = self.evidence.passed_ns();
        let now = Now { passed_ns, open_begun_ns: Some(passed_ns), open_bytes: 1000 };
        let share = share(self.memory.kept.len(), self.retention.keep_ns);
        let budget = Budget { removals: share, thinnings: share };
        let before = self.memory.removed.len();
        retain(self.memory.kept.clone(), now, &self.retention, budget, &mut self.memory);
        let went = &self.memory.removed[before..];
        assert!(went.windows(2).all(|pair| pair[0] < pair[1]), "the oldest first: {went:?}");
        assert_eq!(self.memory.kept.last().map(|kept| kept.number), Some(self.number), "the newest stays");
    }

    /// Numbers of the oldest one and how many there are.
    fn kept(&self) -> (u64, usize) {
        (self.memory.kept.first().map_or(0, |kept| kept.number), self.memory.kept.len())
    }
}

/// A generator of small numbers: the same ones each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[test]
fn ten_thousand_days_with_a_right_clock_keep_ninety() {
    let mut years = Years::begin(RetentionPolicy { min_free_bytes: None, ..RetentionPolicy::default() });
    for day in 1..=10_000_usize {
        years.day();
        assert!(years.kept().1 == day.min(91), "{day} {:?}", years.kept());
    }
    assert_eq!(years.memory.removed.len(), 10_000 - 91);
    // Each became coarser twice, but for the last ones.
    assert_eq!(years.memory.thinned, 9_997 + 9_985);
    assert!(years.memory.said.is_empty(), "{:?}", years.memory.said);
}

#[test]
fn ten_thousand_days_with_a_clock_that_jumps_keep_the_newest_week_and_lose_a_tenth_a_day_at_most() {
    for seed in 1..=2 {
        let mut dice = Dice(seed);
        let mut years = Years::begin(RetentionPolicy { min_free_bytes: None, ..RetentionPolicy::default() });
        let right_ns = |years: &Years| 20_000 * DAY_NS + i64::try_from(years.number).expect("few") * DAY_NS;
        for _ in 0..10_000 {
            match dice.below(40) {
                0 => years.now.wall_ns += 120 * DAY_NS,
                1 => years.now.wall_ns -= 120 * DAY_NS,
                2 => years.now.wall_ns = 0,
                3 => years.now.wall_ns = right_ns(&years),
                4 => years.is_synchronised = !years.is_synchronised,
                5 => years.restart(),
                6 => (years.now.boot, years.now.boot_ns) = (format!("boot {}", years.number), 1),
                _ => {}
            }
            let before = years.memory.removed.len();
            years.day();
            let (oldest, count) = years.kept();
            let went = years.memory.removed.len() - before;
            assert!(went <= (count + went).div_ceil(10), "day {}: {went} of {}", years.number, count + went);
            assert!(count >= 8.min(usize::try_from(years.number).expect("few")), "day {}: {count}", years.number);
            // None in the middle goes, and nothing that is not older than the others.
            assert_eq!(years.number - oldest + 1, count as u64);
        }
    }
}

#[test]
fn a_clock_that_is_wrong_by_120_days_loses_nothing() {
    for (step, is_synchronised) in [(120, false), (120, true), (-120, false), (-120, true)] {
        let mut years = Years::begin(RetentionPolicy { min_free_bytes: None, ..RetentionPolicy::default() });
        years.is_synchronised = is_synchronised;
        (0..90).for_each(|_| years.day());
        years.now.wall_ns += step * DAY_NS;
        (0..3).for_each(|_| years.day());
        years.now.wall_ns -= step * DAY_NS;
        (0..3).for_each(|_| years.day());
        // 96 days: those that are older than 90 days by the time that has passed went. Of a clock that is ahead and said to be
        // right for three days, a tenth a day.
        let least = if step > 0 && is_synchronised { 65 } else { 90 };
        assert!((least..=91).contains(&years.kept().1), "{step} {is_synchronised} {:?}", years.kept());
    }
}

#[test]
fn a_full_disk_goes_down_to_the_newest_where_it_is_ours_and_to_the_newest_week_where_it_is_not() {
    let retention = RetentionPolicy { min_free_bytes: Some(20_000), tiers: Vec::new(), ..RetentionPolicy::default() };
    // Ours: 100,000 bytes for days of 1,000.
    let mut years = Years::begin(retention.clone());
    years.memory.total = 100_000;
    (0..10_000).for_each(|_| years.day());
    let free = years.memory.room().expect("room").free;
    assert!((20_000..=21_000).contains(&free), "it stops as soon as there is room: {free}");
    // Others come, and take more and more.
    for others in (0..=90_000).step_by(5000) {
        years.memory.others = others;
        years.day();
        let (_, count) = years.kept();
        assert!(count >= 7, "{others}: {count}");
    }
    assert_eq!(years.kept().1, 7);
    let last = years.memory.said.last().expect("it is said");
    assert!(last.contains("the newest recordings stay: this collector's take 7.81 KiB, everything else "), "{last}");
    // A disk that never has that much: a tenth of it stays free, and it is said.
    let mut years = Years::begin(retention);
    years.memory.total = 30_000;
    (0..100).for_each(|_| years.day());
    assert_eq!(years.kept().1, 27);
    assert!(years.memory.said[0].contains("cannot be kept on a disk of"), "{:?}", years.memory.said);
    // A disk that is full of our own newest ones.
    let mut years = Years::begin(RetentionPolicy { min_free_bytes: Some(1500), ..RetentionPolicy::default() });
    years.memory.total = 4000;
    (0..100).for_each(|_| years.day());
    assert!((1..=2).contains(&years.kept().1), "{:?}", years.kept());
}

#[test]
fn a_size_that_the_newest_week_exceeds_keeps_that_and_says_so() {
    let mut years =
        Years::begin(RetentionPolicy { min_free_bytes: None, max_bytes: Some(1), ..RetentionPolicy::default() });
    (0..30).for_each(|_| years.day());
    assert_eq!(years.kept().1, 7);
    let last = years.memory.said.last().expect("it is said");
    assert!(last.contains("more than --max-size 1 B: the newest 7 d go only with a smaller --keep-at-least"), "{last}");
}

#[test]
fn recordings_around_findings_and_restarts_protect_no_more_than_days_do() {
    let retention =
        RetentionPolicy { min_free_bytes: None, max_bytes: Some(1), keep_at_least_ns: 0, ..RetentionPolicy::default() };
    let mut years = Years::begin(retention);
    years.day();
    for _ in 0..5 {
        years.number += 1;
        let flight = RecordingEntry {
            number: years.number,
            is_flight: true,
            length_ns: 70 * DAY_NS,
            ..years.memory.kept[0].clone()
        };
        years.memory.kept.push(flight);
    }
    years.tidy();
    // The newest day is protected, though everything is too much, and so is what came after it.
    assert_eq!(years.kept(), (1, 6));
    years.day();
    assert_eq!(years.kept(), (7, 1));
}

/// `days` days on a disk, with a clock that jumps now and then.
fn on_a_disk(days: u64) {
    let folder = quick_folder();
    std::fs::write(folder.path().join(".lock"), "").expect("written");
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let mut home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
    std::fs::write(folder.path().join("notes.txt"), "mine").expect("written");
    std::fs::create_dir(folder.path().join(".old-photos")).expect("made");
    std::fs::write(folder.path().join(".old-photos/1.jpg"), "mine").expect("written");
    let retention = RetentionPolicy { keep_ns: Some(12 * DAY_NS), tiers: Vec::new(), ..RetentionPolicy::default() };
    let mut dice = Dice(7);
    for day in 1..=days {
        tiny(&home, &format!("day-{day}"), DAY_NS);
        match dice.below(30) {
            0 => clock.wall_ns.set(clock.wall_ns.get() + 120 * DAY_NS),
            1 => clock.wall_ns.set(clock.wall_ns.get() - 120 * DAY_NS),
            2 => {
                home.save();
                drop(home);
                home = ArchiveFolder::open(folder.path(), &clock).expect("a directory");
            }
            _ => {}
        }
        clock.pass(DAY_NS, &home);
        tidy_once(&home, &retention, None);
        let count = u64::try_from(names(folder.path()).len()).expect("few") - 1;
        assert!(count == day.min(13), "day {day}: {count}");
        assert!(folder.path().join(format!("day-{day}")).exists());
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("notes.txt")).expect("there"), "mine");
    assert_eq!(std::fs::read_to_string(folder.path().join(".old-photos/1.jpg")).expect("there"), "mine");
}

#[test]
fn two_hundred_days_on_a_disk() {
    on_a_disk(200);
}

#[test]
#[ignore = "a minute; `make soak`"]
fn soak_ten_thousand_days_on_a_disk() {
    on_a_disk(10_000);
}
