//! Damage is found, counted and reported; what is whole is read.

use recording::rows::{Event, System};
use recording::{
    EventSeverity, Manifest, Reader, RecordingDamage, RecordingError, RecordingExit, RecordingState, RowBatch,
    Sink as _, Writer, repair, seal_unfinished,
};
use std::path::{Path, PathBuf};

const SECOND_NS: i64 = 1_000_000_000;

fn event(n: i64) -> Event {
    Event {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        severity: EventSeverity::Info,
        kind: "test".into(),
        message: format!("number {n}"),
        count: n,
        ..Event::default()
    }
}

/// A writer that has committed so many events, one a second.
fn written(directory: &Path, events: i64) -> Writer {
    let mut writer = Writer::create(directory, Manifest::new(&["test".into()])).unwrap();
    for n in 1..=events {
        writer.accept(&RowBatch::from_rows(&[event(n)]).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    writer
}

/// A recording whose writer was killed: one frame of the manifest and one per event.
fn killed(folder: &Path, name: &str, events: i64) -> PathBuf {
    let directory = folder.join(name);
    drop(written(&directory, events));
    directory
}

/// The frames of a journal.
fn frames(directory: &Path) -> Vec<Vec<u8>> {
    let journal = std::fs::read(directory.join("journal")).unwrap();
    let (mut frames, mut at) = (Vec::new(), 0);
    while at < journal.len() {
        let length = u32::from_le_bytes(journal[at + 8..at + 12].try_into().unwrap());
        let end = at + 36 + usize::try_from(length).unwrap();
        frames.push(journal[at..end].to_vec());
        at = end;
    }
    frames
}

/// Numbers of the events, and what is damaged, of a journal with these frames.
fn read(directory: &Path, frames: &[&[u8]]) -> (Vec<i64>, RecordingDamage) {
    std::fs::write(directory.join("journal"), frames.concat()).unwrap();
    let reader = Reader::open(directory).unwrap();
    let numbers = reader.table::<Event>().unwrap().iter().map(|event| event.count).collect();
    (numbers, reader.damage().unwrap())
}

#[test]
fn frames_that_are_missing_doubled_swapped_or_of_another_recording_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let directory = killed(folder.path(), "r", 6);
    let all = frames(&directory);
    let other = frames(&killed(folder.path(), "other", 6));
    let whole: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
    let check = |frames: &[&[u8]], numbers: &[i64], lost: u64, misplaced: u64| {
        let (found, damage) = read(&directory, frames);
        assert_eq!(found, numbers);
        assert_eq!((damage.frames_lost, damage.frames_misplaced), (lost, misplaced), "{damage:?}");
        assert_eq!((damage.costs_rows(), damage.is_some()), (lost > 0, lost + misplaced > 0));
    };
    check(&whole, &[1, 2, 3, 4, 5, 6], 0, 0);
    check(&[&whole[..3], &whole[5..]].concat(), &[1, 2, 5, 6], 2, 0);
    check(&[&whole[..4], &whole[3..]].concat(), &[1, 2, 3, 4, 5, 6], 0, 1);
    check(&[&whole[..2], &[whole[3], whole[2]], &whole[4..]].concat(), &[1, 2, 4, 5, 6], 1, 1);
    check(&[&whole[..3], &[&other[3]], &whole[4..]].concat(), &[1, 2, 4, 5, 6], 1, 1);
    check(&[&whole[..1], &[whole[6]], &whole[1..]].concat(), &[1, 2, 3, 4, 5, 6], 0, 1);
    check(&whole[..5], &[1, 2, 3, 4], 0, 0);
    // The last one stands early, and not in its place.
    check(&[&whole[..2], &[whole[6]], &whole[2..6]].concat(), &[1, 2, 3, 4, 5], 1, 1);
}

#[test]
fn strange_frames_between_all_of_its_own_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let directory = killed(folder.path(), "r", 6);
    let other = frames(&killed(folder.path(), "other", 6));
    let all = frames(&directory);
    let parts: Vec<&[u8]> = all.iter().chain([&all[2], &other[3]]).map(Vec::as_slice).collect();
    let (numbers, damage) = read(&directory, &parts);
    assert_eq!((numbers.len(), damage.frames_misplaced, damage.costs_rows()), (6, 2, false));
    let notes = repair(&directory).unwrap();
    assert!(notes.iter().any(|note| note.contains("no row of this recording is missing")), "{notes:?}");
    let reader = Reader::open(&directory).unwrap();
    assert_eq!(reader.table::<Event>().unwrap().len(), 6);
    assert!(reader.manifest().losses.is_empty(), "{:?}", reader.manifest().losses);
    assert!(!reader.verify().unwrap().costs_rows());
}

/// A frame with another payload behind its table's name, and checksums that are right.
fn resealed(frame: &[u8], payload: &[u8]) -> Vec<u8> {
    let name = usize::from(frame[36]);
    let mut made = frame[..=36 + name].to_vec();
    made.extend_from_slice(payload);
    let length = u32::try_from(made.len() - 36).unwrap();
    made[8..12].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32fast::hash(&made[36..]);
    made[28..32].copy_from_slice(&checksum.to_le_bytes());
    let checksum = crc32fast::hash(&made[..32]);
    made[32..36].copy_from_slice(&checksum.to_le_bytes());
    made
}

#[test]
fn a_frame_that_cannot_be_read_is_lost_though_its_checksums_are_right() {
    let folder = tempfile::tempdir().unwrap();
    let packed = b"\x93ioPack\x02\x02\0\0\0{}";
    for (n, payload) in [b"garbage".as_slice(), b"", b"\x28\xb5\x2f\xfd", packed].into_iter().enumerate() {
        let directory = killed(folder.path(), &n.to_string(), 6);
        let mut all = frames(&directory);
        all[3] = resealed(&all[3], payload);
        let parts: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        let (numbers, damage) = read(&directory, &parts);
        assert_eq!((numbers, damage.frames_lost, damage.costs_rows()), (vec![1, 2, 4, 5, 6], 1, true), "{payload:?}");
        assert_eq!((damage.from_ns, damage.to_ns), (Some(2 * SECOND_NS), Some(4 * SECOND_NS)));
        let notes = repair(&directory).unwrap();
        assert!(notes[0].starts_with("1 of 7 frames"), "{notes:?}");
        let kept = Reader::open(&directory).unwrap().verify().unwrap();
        assert_eq!((kept.frames_lost, kept.costs_rows()), (1, true));
    }
}

#[test]
fn the_reader_reports_a_damaged_frame_with_the_time_around_it() {
    let folder = tempfile::tempdir().unwrap();
    let directory = killed(folder.path(), "r", 6);
    let mut all = frames(&directory);
    let last = all[3].len() - 5;
    all[3][last] ^= 8;
    let parts: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
    let (numbers, damage) = read(&directory, &parts);
    assert_eq!(numbers, [1, 2, 4, 5, 6]);
    assert_eq!((damage.frames_lost, damage.frames), (1, 7));
    assert_eq!((damage.from_ns, damage.to_ns), (Some(2 * SECOND_NS), Some(4 * SECOND_NS)));
    let sentences = damage.sentences(Reader::open(&directory).unwrap().manifest());
    assert!(sentences[0].starts_with("1 of 7 frames of the journal are unreadable, between "), "{sentences:?}");
    // What was lost is still known when the rest was sealed.
    assert!(seal_unfinished(&directory).unwrap());
    let sealed = Reader::open(&directory).unwrap();
    assert_eq!(sealed.state(), RecordingState::Sealed);
    let kept = sealed.damage().unwrap();
    assert_eq!((kept.frames_lost, kept.from_ns, kept.to_ns), (1, damage.from_ns, damage.to_ns));
}

#[test]
fn what_a_killed_writer_had_not_finished_is_no_damage_and_a_bit_of_the_last_frame_is() {
    let folder = tempfile::tempdir().unwrap();
    let directory = killed(folder.path(), "r", 3);
    let all = frames(&directory);
    let (last, before) = all.split_last().unwrap();
    let before: Vec<&[u8]> = before.iter().map(Vec::as_slice).collect();
    for end in 0..last.len() {
        let (numbers, damage) = read(&directory, &[before.as_slice(), &[&last[..end]]].concat());
        assert_eq!((numbers, damage.is_some()), (vec![1, 2], false), "{end}");
    }
    // The file grew, and what was written did not come to the disk.
    let (_, damage) = read(&directory, &[before.as_slice(), &[&[0; 5000]]].concat());
    assert!(!damage.is_some());
    for bit in (0..last.len() * 8).step_by(3) {
        let mut flipped = last.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let (numbers, damage) = read(&directory, &[before.as_slice(), &[&flipped]].concat());
        assert_eq!((numbers, damage.costs_rows()), (vec![1, 2], true), "{bit}");
    }
}

#[test]
fn a_flipped_bit_of_a_sealed_file_is_never_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let directory = written(&folder.path().join("r"), 40).seal().unwrap();
    let whole = Reader::open(&directory).unwrap().table::<Event>().unwrap();
    let path = Reader::open(&directory).unwrap().sealed_files("event").unwrap().remove(0);
    let bytes = std::fs::read(&path).unwrap();
    for bit in (0..bytes.len() * 8).step_by(101) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &flipped).unwrap();
        let reader = Reader::open(&directory).unwrap();
        let error = reader.table::<Event>().unwrap_err();
        assert!(matches!(error, RecordingError::Damaged { .. }), "{bit}: {error}");
        assert!(reader.verify().unwrap().costs_rows());
    }
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(Reader::open(&directory).unwrap().table::<Event>().unwrap(), whole);
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(Reader::open(&directory).unwrap().damage().unwrap().costs_rows(), "shorter");
    std::fs::remove_file(&path).unwrap();
    let reader = Reader::open(&directory).unwrap();
    assert!(reader.damage().unwrap().costs_rows() && reader.table::<Event>().is_err(), "gone");
}

#[test]
fn a_damaged_manifest_is_read_from_what_has_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let open = killed(folder.path(), "open", 3);
    let sealed = written(&folder.path().join("sealed"), 3).seal().unwrap();
    for directory in [open, sealed] {
        let path = directory.join("manifest.json");
        let bytes = std::fs::read(&path).unwrap();
        let whole = Reader::open(&directory).unwrap();
        for bit in (0..bytes.len() * 8).step_by(29) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &flipped).unwrap();
            let reader = Reader::open(&directory).unwrap();
            assert_eq!(reader.manifest(), whole.manifest(), "{bit}");
            let damage = reader.damage().unwrap();
            assert!(damage.is_some() && !damage.costs_rows(), "{bit}: {damage:?}");
            assert_eq!(reader.table::<Event>().unwrap().len(), 3);
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(Reader::open(&directory).unwrap().manifest(), whole.manifest());
    }
}

#[test]
fn what_the_journal_says_of_the_manifest_follows_its_changes() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("r");
    let mut writer = written(&directory, 1);
    let first = Reader::open(&directory).unwrap().manifest().started_t_ns;
    let wall_ns = Reader::open(&directory).unwrap().manifest().started_wall_ns;
    for minute in 1..4 {
        let now = recording::ClockAnchor {
            t_ns: first + minute * 60 * SECOND_NS,
            wall_ns: wall_ns + minute * 60 * SECOND_NS,
        };
        writer.follow_clock(now).unwrap();
    }
    writer.update_manifest(|manifest| manifest.exit = Some(RecordingExit::Fine)).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let whole = Reader::open(&directory).unwrap().manifest().clone();
    assert_eq!(whole.clock_anchors.len(), 4);
    std::fs::remove_file(directory.join("manifest.json")).unwrap();
    assert_eq!(*Reader::open(&directory).unwrap().manifest(), whole);
}

/// A recording as version 1 of the format had it: no checksums in the manifest, shorter headers without numbers.
fn as_format_1(directory: &Path) {
    let path = directory.join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    manifest["format_version"] = 1.into();
    let fields = manifest.as_object_mut().unwrap();
    fields.remove("checksum");
    fields.remove("parts");
    std::fs::write(&path, serde_json::to_vec_pretty(&manifest).unwrap()).unwrap();
    if directory.join("journal").exists() {
        let mut journal = Vec::new();
        for frame in frames(directory).iter().skip(1) {
            let payload = &frame[36..];
            journal.extend_from_slice(b"\x93ioJrnl\x01");
            journal.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_le_bytes());
            journal.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
            journal.extend_from_slice(payload);
        }
        std::fs::write(directory.join("journal"), journal).unwrap();
    } else {
        std::fs::remove_file(directory.join("manifest.json.copy")).unwrap();
    }
}

#[test]
fn two_machines_in_a_recording_of_format_1_are_not_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let sealed = written(&folder.path().join("sealed"), 5).seal().unwrap();
    as_format_1(&sealed);
    let rows = Reader::open(&sealed).unwrap().table::<Event>().unwrap();
    let table = sealed.join("event");
    let own = std::fs::read_dir(&table).unwrap().next().unwrap().unwrap().path();
    let other = table.join("host=another.example.org");
    std::fs::create_dir(&other).unwrap();
    std::fs::copy(own.join("000001.parquet"), other.join("000001.parquet")).unwrap();
    let said = Reader::open(&sealed).and_then(|reader| reader.table::<Event>()).unwrap_err().to_string();
    assert!(said.contains("event/host=another.example.org has rows of another machine"), "{said}");
    // The only one, and not the manifest's.
    std::fs::rename(&own, folder.path().join("aside")).unwrap();
    assert!(Reader::open(&sealed).and_then(|reader| reader.table::<Event>()).is_err());
    std::fs::remove_dir_all(&other).unwrap();
    std::fs::rename(folder.path().join("aside"), &own).unwrap();
    assert_eq!(Reader::open(&sealed).unwrap().table::<Event>().unwrap(), rows);
}

#[test]
fn recordings_of_format_1_read_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let open = killed(folder.path(), "open", 5);
    let sealed = written(&folder.path().join("sealed"), 5).seal().unwrap();
    let rows = Reader::open(&sealed).unwrap().table::<Event>().unwrap();
    for directory in [&open, &sealed] {
        as_format_1(directory);
        let reader = Reader::open(directory).unwrap();
        assert_eq!(reader.manifest().format_version, 1);
        assert_eq!(reader.table::<Event>().unwrap(), rows);
        assert_eq!(reader.tables().unwrap(), ["event"]);
        assert!(!reader.verify().unwrap().is_some());
        assert!(reader.table::<System>().unwrap().is_empty());
    }
    // A damaged frame between others was skipped, and is known by its bytes.
    let path = open.join("journal");
    let mut journal = std::fs::read(&path).unwrap();
    journal[40] ^= 1;
    std::fs::write(&path, &journal).unwrap();
    let reader = Reader::open(&open).unwrap();
    assert_eq!(reader.table::<Event>().unwrap(), rows[1..]);
    assert!(reader.damage().unwrap().costs_rows());
    // What is sealed of it has checksums from then on.
    assert!(seal_unfinished(&open).unwrap());
    let reader = Reader::open(&open).unwrap();
    assert_eq!((reader.manifest().format_version, reader.manifest().parts.len()), (2, 1));
    assert_eq!(reader.table::<Event>().unwrap(), rows[1..]);
    assert!(reader.damage().unwrap().costs_rows());
}

#[test]
fn repair_keeps_what_is_whole_counts_the_rest_and_removes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // A whole one stays as it is.
    let directory = written(&folder.path().join("whole"), 3).seal().unwrap();
    let files = |directory: &Path| std::fs::read_dir(directory).unwrap().count();
    let before = files(&directory);
    assert_eq!((repair(&directory).unwrap(), files(&directory)), (Vec::<String>::new(), before));

    // A damaged manifest, of a sealed one and of one whose writer was killed.
    for directory in [directory, killed(folder.path(), "open", 3)] {
        let whole = Reader::open(&directory).unwrap().manifest().clone();
        std::fs::write(directory.join("manifest.json"), "{").unwrap();
        assert_eq!(repair(&directory).unwrap().len(), 1);
        let reader = Reader::open(&directory).unwrap();
        assert_eq!((reader.manifest(), reader.verify().unwrap().is_some()), (&whole, false));
        assert_eq!(std::fs::read(directory.join("manifest.json.damaged-1")).unwrap(), b"{");
        assert!(repair(&directory).unwrap().is_empty());
    }

    // A damaged frame of a journal: the rest is sealed, the journal stays.
    let directory = killed(folder.path(), "frames", 5);
    let mut journal = std::fs::read(directory.join("journal")).unwrap();
    let at = journal.len() - 3;
    journal[at] ^= 1;
    std::fs::write(directory.join("journal"), &journal).unwrap();
    assert!(!repair(&directory).unwrap().is_empty());
    assert_eq!(std::fs::read(directory.join("journal.damaged-1")).unwrap(), journal);
    let reader = Reader::open(&directory).unwrap();
    let damage = reader.verify().unwrap();
    assert_eq!((reader.table::<Event>().unwrap().len(), damage.frames_lost), (4, 1));
    assert!(!reader.can_be_repaired(&damage));

    // While it is written nothing is done.
    let directory = folder.path().join("alive");
    let writer = written(&directory, 1);
    assert!(matches!(repair(&directory), Err(RecordingError::BeingWritten(_))));
    drop(writer);
}

#[test]
fn repair_takes_whole_row_groups_out_of_a_damaged_file() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("r");
    let mut writer = Writer::create(&directory, Manifest::new(&[])).unwrap();
    // Three row groups of 64 Ki rows, the last one short; texts that do not compress, so that blocks are several.
    let total = 2 * 65_536 + 100;
    for first in (0..total).step_by(8192) {
        let hash = |n: i64| n.unsigned_abs().wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let text = |n: i64| Event { message: format!("{:x}{:x}{:x}", hash(n), hash(n * 3), hash(n * 7)), ..event(n) };
        let rows: Vec<Event> = (first..(first + 8192).min(total)).map(text).collect();
        writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    let directory = writer.seal().unwrap();
    let whole = Reader::open(&directory).unwrap().table::<Event>().unwrap();
    let path = Reader::open(&directory).unwrap().sealed_files("event").unwrap().remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() > 3 << 20, "{}", bytes.len());
    bytes[100] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let notes = repair(&directory).unwrap();
    let reader = Reader::open(&directory).unwrap();
    assert_eq!(reader.table::<Event>().unwrap(), whole[65_536..], "{notes:?}");
    let damage = reader.verify().unwrap();
    assert_eq!(damage.rows_lost["event"], 65_536);
    assert_eq!(reader.manifest().rows["event"], 65_636);
    assert_eq!(std::fs::read(path.with_file_name("000001.parquet.damaged-1")).unwrap(), bytes);
    assert!(repair(&directory).unwrap().is_empty());

    // Both manifests gone: what the files say of it, and that nothing could be checked.
    std::fs::remove_file(directory.join("manifest.json")).unwrap();
    std::fs::remove_file(directory.join("manifest.json.copy")).unwrap();
    assert!(matches!(Reader::open(&directory), Err(RecordingError::NotARecording { .. })));
    repair(&directory).unwrap();
    let rebuilt = Reader::open(&directory).unwrap();
    assert_eq!(rebuilt.table::<Event>().unwrap(), whole[65_536..]);
    assert_eq!(rebuilt.manifest().id, reader.manifest().id);
    assert!(rebuilt.damage().unwrap().costs_rows());
}

/// Is what `repair` and the readers see of this recording all that there was?
fn is_all_there(directory: &Path, id: &str) {
    let reader = Reader::open(directory).unwrap();
    assert_eq!((reader.manifest().id.as_str(), reader.table::<Event>().unwrap().len()), (id, 5));
    assert!(!reader.verify().unwrap().costs_rows());
}

#[test]
fn a_manifest_of_another_recording_is_outvoted() {
    let folder = tempfile::tempdir().unwrap();
    let others =
        [killed(folder.path(), "other_open", 2), written(&folder.path().join("other_sealed"), 2).seal().unwrap()];
    for (n, other) in others.iter().enumerate() {
        let foreign = std::fs::read(other.join("manifest.json")).unwrap();
        for sealed in [false, true] {
            let directory = folder.path().join(format!("r{n}{sealed}"));
            let writer = written(&directory, 5);
            if sealed {
                writer.seal().unwrap();
            } else {
                drop(writer);
            }
            let id = Reader::open(&directory).unwrap().manifest().id.clone();
            let copy = std::fs::read(directory.join("manifest.json.copy")).ok();
            std::fs::write(directory.join("manifest.json"), &foreign).unwrap();
            is_all_there(&directory, &id);
            let reader = Reader::open(&directory).unwrap();
            let said = reader.damage().unwrap().sentences(reader.manifest());
            assert!(said[0].contains("manifest.json is another recording's"), "{said:?}");
            assert!(seal_unfinished(&directory).is_err(), "nothing is removed for what it says");
            repair(&directory).unwrap();
            is_all_there(&directory, &id);
            assert!(!Reader::open(&directory).unwrap().damage().unwrap().is_some());
            assert_eq!(std::fs::read(directory.join("manifest.json.damaged-1")).unwrap(), foreign);
            assert!(copy.is_none_or(|copy| std::fs::read(directory.join("manifest.json.copy")).unwrap() == copy));
        }
    }
    // The copy is the odd one; both are.
    let directory = written(&folder.path().join("r"), 5).seal().unwrap();
    let id = Reader::open(&directory).unwrap().manifest().id.clone();
    let foreign = std::fs::read(others[1].join("manifest.json")).unwrap();
    std::fs::write(directory.join("manifest.json.copy"), &foreign).unwrap();
    is_all_there(&directory, &id);
    repair(&directory).unwrap();
    is_all_there(&directory, &id);
    assert_eq!(std::fs::read(directory.join("manifest.json.copy.damaged-1")).unwrap(), foreign);
    for name in ["manifest.json", "manifest.json.copy"] {
        std::fs::write(directory.join(name), &foreign).unwrap();
    }
    repair(&directory).unwrap();
    let reader = Reader::open(&directory).unwrap();
    assert_eq!((reader.manifest().id.as_str(), reader.table::<Event>().unwrap().len()), (id.as_str(), 5));
    assert!(directory.join("manifest.json.copy.damaged-2").exists());
}

#[test]
fn a_manifest_from_before_sealing_gives_way_and_the_reader_reports_a_missing_or_empty_journal() {
    let folder = tempfile::tempdir().unwrap();
    let writer = written(&folder.path().join("r"), 5);
    let before = std::fs::read(folder.path().join("r/manifest.json")).unwrap();
    let directory = writer.seal().unwrap();
    let id = Reader::open(&directory).unwrap().manifest().id.clone();
    std::fs::write(directory.join("manifest.json"), before).unwrap();
    is_all_there(&directory, &id);
    assert!(!repair(&directory).unwrap().is_empty());
    is_all_there(&directory, &id);
    for name in ["gone", "emptied"] {
        let directory = killed(folder.path(), name, 3);
        match name {
            "gone" => std::fs::remove_file(directory.join("journal")).unwrap(),
            _ => std::fs::write(directory.join("journal"), "").unwrap(),
        }
        for error in [Reader::open(&directory).map(drop).unwrap_err(), repair(&directory).map(drop).unwrap_err()] {
            assert!(error.to_string().contains("its journal is gone") && !error.is_parameter(), "{name}: {error}");
        }
    }
}

#[test]
fn no_folder_of_a_recording_is_followed_that_is_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let directory = written(&folder.path().join("r"), 3).seal().unwrap();
    // The recording itself may be named by a link.
    std::os::unix::fs::symlink(&directory, folder.path().join("named")).unwrap();
    assert_eq!(Reader::open(folder.path().join("named")).unwrap().table::<Event>().unwrap().len(), 3);
    let host = std::fs::read_dir(directory.join("event")).unwrap().next().unwrap().unwrap().path();
    for place in [host, directory.join("event")] {
        let elsewhere = folder.path().join("elsewhere");
        std::fs::rename(&place, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &place).unwrap();
        for format_1 in [false, true] {
            let copy = std::fs::read(directory.join("manifest.json")).unwrap();
            let second = std::fs::read(directory.join("manifest.json.copy")).unwrap();
            if format_1 {
                as_format_1(&directory);
            }
            let reader = Reader::open(&directory).unwrap();
            assert!(reader.table::<Event>().is_err() && reader.check_files("event").is_err(), "{}", place.display());
            std::fs::write(directory.join("manifest.json"), copy).unwrap();
            std::fs::write(directory.join("manifest.json.copy"), second).unwrap();
        }
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&elsewhere, &place).unwrap();
    }
    assert_eq!(Reader::open(&directory).unwrap().table::<Event>().unwrap().len(), 3);
}

#[test]
fn a_recording_that_names_files_elsewhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let directory = written(&folder.path().join("r"), 3).seal().unwrap();
    let mut manifest = Reader::open(&directory).unwrap().manifest().clone();
    manifest.parts[0].path = "../other/host=x/000001.parquet".to_string();
    // As an attacker would write it.
    let mut text = serde_json::to_vec_pretty(&manifest).unwrap();
    text.truncate(text.len() - 2);
    let sum = twox_hash::XxHash64::oneshot(0, &text);
    text.extend_from_slice(format!(",\n  \"checksum\": \"xxh64:{sum:016x}\"\n}}\n").as_bytes());
    std::fs::write(directory.join("manifest.json"), text).unwrap();
    let error = Reader::open(&directory).unwrap().table::<Event>().unwrap_err();
    assert!(error.to_string().contains("is no file of a recording"), "{error}");
}

#[test]
fn repair_drops_what_was_appended_to_a_file_and_keeps_all_of_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let event = "event";
    for (name, damaged_byte) in [("whole", None), ("damaged", Some(100))] {
        let directory = written(&folder.path().join(name), 5).seal().unwrap();
        let whole = Reader::open(&directory).unwrap().table::<Event>().unwrap();
        let path = Reader::open(&directory).unwrap().sealed_files(event).unwrap().remove(0);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(b"seventeen bytes..");
        damaged_byte.into_iter().for_each(|at: usize| bytes[at] ^= 1);
        std::fs::write(&path, &bytes).unwrap();
        let notes = repair(&directory).unwrap();
        assert!(notes[0].contains("17 bytes behind its end are left out"), "{notes:?}");
        assert_eq!(std::fs::read(path.with_file_name("000001.parquet.damaged-1")).unwrap(), bytes);
        let reader = Reader::open(&directory).unwrap();
        let kept = reader.table::<Event>().unwrap();
        let costs_rows = reader.verify().unwrap().costs_rows();
        // The one MiB of a small file is damaged whole.
        let expected = if damaged_byte.is_some() { Vec::new() } else { whole };
        assert_eq!((kept, costs_rows), (expected, damaged_byte.is_some()), "{name}: {notes:?}");
        assert!(repair(&directory).unwrap().is_empty());
    }
}
