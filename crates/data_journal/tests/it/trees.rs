//! Files and trees, row by row of the table in docs/journal.md.

use crate::{files, target};
use data_journal::{
    ANCHOR, Crash, Existence, FileIntent, Journal, JournalError, JournalOptions, JournalTarget, JournalTree, NameRule,
    Recovered, SessionHeader, recover,
};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn tree(names: NameRule) -> JournalTarget {
    let tree = JournalTree { files: 10, file_blocks: 16, names, layout: "ten files".to_string() };
    JournalTarget { tree: Some(tree), ..target(9) }
}

/// A journal of one tree, and what it says behind what is done in it.
struct Case {
    _place: tempfile::TempDir,
    directory: PathBuf,
    journal: Option<Journal>,
}

impl Case {
    fn new(names: NameRule) -> Self {
        let place = tempfile::tempdir_in("/dev/shm").unwrap();
        let directory = place.path().join("j");
        let header = SessionHeader::new(1, vec![target(7), tree(names)]);
        let journal = Journal::create(&directory, header, JournalOptions::default()).unwrap();
        Self { _place: place, directory, journal: Some(journal) }
    }

    fn journal(&self) -> &Journal {
        self.journal.as_ref().unwrap()
    }

    fn sync_file(&self, file: u32, is_data_only: bool) {
        self.journal().file_sync_begun((1, file), 1, is_data_only);
        self.journal().file_sync_ended((1, file), 1, true);
    }

    fn sync_directory(&self, directory: u32) {
        self.journal().directory_sync_begun((1, directory), 2);
        self.journal().directory_sync_ended((1, directory), 2, true);
    }

    /// A file of two blocks in the anchor.
    fn make(&self, file: u32) {
        self.journal().file_made(1, (file, ANCHOR), 0, true);
        self.journal().file_written((1, file), (0, 2), 0, Some(8192), |_| Some(5));
    }

    fn recovered(&mut self) -> Recovered {
        drop(self.journal.take());
        recover(&self.directory).unwrap()
    }

    /// Existence and least length of a file after a power cut, and after `kill -9`.
    fn says(&mut self, file: u32) -> [(Existence, u64); 2] {
        let recovered = self.recovered();
        [Crash::PowerCut, Crash::ProcessDied].map(|crash| {
            let file = recovered.tree(9).unwrap().file(file, crash);
            (file.existence, file.bytes_min)
        })
    }
}

const MUST: Existence = Existence::Must;
const NOT: Existence = Existence::MustNot;
const MAY: Existence = Existence::May;

#[test]
fn a_file_is_durable_with_its_name_by_the_rule_of_its_file_system() {
    for (names, syncs_file, is_data_only, syncs_directory, expected) in [
        (NameRule::Directory, false, false, false, MAY),
        (NameRule::Directory, true, false, false, MAY),
        (NameRule::Directory, false, false, true, MAY),
        (NameRule::Directory, true, false, true, MUST),
        (NameRule::Directory, true, true, true, MUST),
        (NameRule::File, true, false, false, MUST),
        (NameRule::File, true, true, false, MAY),
        (NameRule::File, false, false, true, MAY),
    ] {
        let mut case = Case::new(names);
        case.make(3);
        if syncs_file {
            case.sync_file(3, is_data_only);
        }
        if syncs_directory {
            case.sync_directory(ANCHOR);
        }
        // What had the name before is not known here, so nothing is said of any file with it unless it is sure to be this one.
        let bytes = if expected == MUST { 8192 } else { 0 };
        let said = case.says(3);
        assert_eq!(said, [(expected, bytes), (MUST, 8192)], "{names:?} {syncs_file} {is_data_only} {syncs_directory}");
    }
}

#[test]
fn a_file_is_gone_for_certain_when_its_directory_was_synced() {
    for (is_synced, expected) in [(false, MAY), (true, NOT)] {
        let mut case = Case::new(NameRule::File);
        case.make(3);
        case.sync_file(3, false);
        case.journal().announce(&[(1, 3, FileIntent::Remove)]);
        case.journal().file_removed(1, (3, ANCHOR), true);
        if is_synced {
            case.sync_directory(ANCHOR);
        }
        let bytes = if is_synced { 0 } else { 8192 };
        assert_eq!(case.says(3), [(expected, bytes), (NOT, 0)]);
    }
}

#[test]
fn what_was_announced_and_did_not_come_back_may_have_happened() {
    for (intent, expected) in
        [(FileIntent::Remove, (MAY, 8192)), (FileIntent::Resize(100), (MUST, 100)), (FileIntent::Make, (MAY, 0))]
    {
        let mut case = Case::new(NameRule::File);
        case.make(3);
        case.sync_file(3, false);
        case.journal().announce(&[(1, 3, intent)]);
        assert_eq!(case.says(3), [expected, expected], "{intent:?}");
    }
}

#[test]
fn both_names_of_a_renamed_file_are_durable_on_their_own() {
    let mut case = Case::new(NameRule::Directory);
    case.journal().directory_made(1, (0, ANCHOR), true);
    case.make(3);
    case.journal().flush_begun(1, 1);
    case.journal().flush_ended(1, 1, true);
    case.journal().file_renamed((1, 3, ANCHOR), (1, 4, 0), 77, true);
    case.sync_directory(0);
    let recovered = case.recovered();
    let tree = recovered.tree(9).unwrap();
    let of = |file, crash| (tree.file(file, crash).existence, tree.file(file, crash).bytes_min);
    assert_eq!([of(3, Crash::PowerCut), of(3, Crash::ProcessDied)], [(MAY, 8192), (NOT, 0)]);
    assert_eq!([of(4, Crash::PowerCut), of(4, Crash::ProcessDied)], [(MUST, 8192), (MUST, 8192)]);
    assert_eq!(tree.file(4, Crash::PowerCut).device, Some(77));
    assert_eq!(tree.files().collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn a_file_is_sure_only_where_all_directories_above_it_are() {
    for (synced, expected) in [(&[0, 1][..], MAY), (&[1, ANCHOR], MAY), (&[0, ANCHOR], MAY), (&[0, 1, ANCHOR], MUST)] {
        let mut case = Case::new(NameRule::Directory);
        case.journal().directory_made(1, (0, ANCHOR), true);
        case.journal().directory_made(1, (1, 0), true);
        case.journal().file_made(1, (3, 1), 0, true);
        case.sync_file(3, false);
        synced.iter().for_each(|directory| case.sync_directory(*directory));
        assert_eq!(case.says(3), [(expected, 0), (MUST, 0)], "{synced:?}");
    }
}

#[test]
fn a_sync_speaks_for_what_was_done_before_it_was_submitted() {
    let mut case = Case::new(NameRule::File);
    case.make(3);
    case.journal().file_sync_begun((1, 3), 1, false);
    case.journal().file_written((1, 3), (2, 1), 1, Some(12_288), |_| Some(6));
    case.journal().file_sync_ended((1, 3), 1, true);
    case.journal().file_sync_begun((1, 3), 2, false);
    case.journal().file_sync_ended((1, 3), 2, false);
    case.sync_file(3, false);
    let recovered = case.recovered();
    let tree = recovered.tree(9).unwrap();
    let [cut, died] = [Crash::PowerCut, Crash::ProcessDied].map(|crash| tree.file(3, crash));
    assert_eq!((cut.existence, cut.bytes_min, died.bytes_min), (MUST, 8192, 12_288));
    let version = |floor: Option<(data_journal::Floor, u16)>| floor.map(|(floor, version)| (version, floor.is_trim()));
    assert_eq!([0, 1, 2].map(|block| version(cut.floor(block))), [Some((5, false)), Some((5, false)), Some((0, true))]);
    assert_eq!(version(died.floor(2)), Some((6, false)));
}

#[test]
fn what_was_cut_off_is_empty_and_other_targets_are_as_before() {
    let mut case = Case::new(NameRule::File);
    case.make(3);
    case.journal().announce(&[(1, 3, FileIntent::Resize(4096))]);
    case.journal().file_resized((1, 3), 4096, true);
    case.sync_file(3, false);
    case.journal().done(0, (0, 3), 0, |_| Some(9));
    let recovered = case.recovered();
    let file = recovered.tree(9).unwrap().file(3, Crash::PowerCut);
    assert_eq!((file.existence, file.bytes_min), (MUST, 4096));
    assert!(!file.floor(0).unwrap().0.is_trim() && file.floor(1).unwrap().0.is_trim());
    assert_eq!(recovered.target(7).unwrap().floors(Crash::ProcessDied).count(), 3);
    assert_eq!((recovered.targets.len(), recovered.trees().count()), (1, 1));
}

#[test]
fn journals_of_trees_are_of_a_version_of_their_own_and_too_many_blocks_are_refused() {
    let magic = |path: &Path| std::fs::read(path).unwrap()[..8].to_vec();
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let first = |target: JournalTarget| JournalTarget { runs: [].into(), ..target };
    for (of, version) in [(tree(NameRule::File), b"iodynoj\x02"), (target(7), b"iodynoj\x01")] {
        let directory = place.path().join(&of.name);
        let header = SessionHeader::new(1, vec![first(target(8)), first(of)]);
        drop(Journal::create(&directory, header, JournalOptions::default()).unwrap());
        assert_eq!(magic(&files(&directory)[0]), version);
    }
    let huge = JournalTree { files: 1 << 24, file_blocks: 1 << 24, names: NameRule::File, layout: String::new() };
    let huge = JournalTarget { tree: Some(huge), ..target(9) };
    let refused =
        Journal::create(&place.path().join("k"), SessionHeader::new(1, vec![huge]), JournalOptions::default());
    let Err(JournalError::Limit(said)) = refused else { panic!("it was made") };
    assert!(said.contains("its files times the blocks of its longest file are more than 2^48"), "{said}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    #[test]
    fn any_records_are_read(all in proptest::collection::vec((0u8..17, 0u32..12, 0u32..4, any::<bool>(), 0u64..80_000), 0..80)) {
        let mut case = Case::new(NameRule::Directory);
        for (what, file, directory, is_ok, bytes) in all {
            let (journal, place) = (case.journal(), [0, 1, 2, ANCHOR][directory as usize]);
            let block = bytes % 16;
            match what {
                0 => journal.file_made(1, (file, place), bytes, is_ok),
                1 => journal.file_removed(1, (file, place), is_ok),
                2 => journal.file_renamed((1, file, place), (1, directory, ANCHOR), bytes, is_ok),
                3 => journal.file_written((1, file), (block, 1), bytes, Some(bytes), |_| Some(5)),
                4 => journal.file_failed((1, file), (block, 3)),
                5 => journal.file_resized((1, file), bytes, is_ok),
                6 => journal.file_found(1, (file, place), is_ok.then_some(bytes)),
                7 => journal.file_sync_begun((1, file), directory, is_ok),
                8 => journal.file_sync_ended((1, file), directory, is_ok),
                9 => journal.directory_sync_begun((1, place), directory),
                10 => journal.directory_sync_ended((1, place), directory, is_ok),
                11 => journal.directory_made(1, (place, directory), is_ok),
                12 => journal.directory_removed(1, (place, file), is_ok),
                13 => journal.flush_begun(1, directory),
                14 => journal.flush_ended(1, directory, is_ok),
                15 => journal.announce(&[(1, file, FileIntent::Resize(bytes))]),
                _ => journal.trimmed(1, (bytes, 4), 1, is_ok),
            }
        }
        let recovered = case.recovered();
        for crash in [Crash::PowerCut, Crash::ProcessDied] {
            for file in 0..12 {
                let found = recovered.tree(9).unwrap().file(file, crash);
                let known = (0..20).filter(|block| found.floor(*block).is_some()).count();
                prop_assert!(known <= 20);
            }
        }
    }
}
