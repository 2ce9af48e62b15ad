//! `kill -9` of a process that writes: every write that the journal has is there, or a newer one.

use crate::load::{DEVICE, Random, Session, Shape};
use data_journal::{Crash, recover};
use stamp::{BlockWriter, DamageClass, StampFlags, WriteStamp};
use std::collections::BTreeSet;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Names the directory to the child, which is this test binary again, and the seed.
const CHILD: &str = "IODYNO_TEST_KILLED_LOAD";

fn shape_of(seed: u64) -> Shape {
    Shape { threads: 2, ..Shape::random(&mut Random::new(seed)) }
}

#[test]
#[ignore = "the child of the tests below; does nothing when it is called by itself"]
fn child_writes_until_it_is_killed() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let (directory, seeds) = told.split_once(' ').unwrap();
    let (seed, run) = seeds.split_once(' ').unwrap();
    let (seed, run): (u64, u64) = (seed.parse().unwrap(), run.parse().unwrap());
    let journal = Path::new(directory).join("journal");
    let file = std::fs::File::options().read(true).write(true).open(Path::new(directory).join("target")).unwrap();
    let before = journal.exists().then(|| recover(&journal).unwrap());
    let before = before.as_ref().map(|recovered| (recovered, recovered.crash()));
    let session = Session::begin(&journal, shape_of(seed), run, before);
    println!("begun");
    session.load(&file, u64::MAX, run, &AtomicBool::new(false));
}

/// Kills children until there were `kills`; gives the kills, the blocks that had to be something, and the writes that were taken away.
fn campaign(seed: u64, kills: u64) -> (u64, u64, u64) {
    let mut random = Random::new(seed);
    let (mut killed, mut checked, mut taken) = (0, 0, 0);
    while killed < kills {
        let place = tempfile::tempdir_in("/dev/shm").unwrap();
        let shape_seed = random.below(1 << 40);
        let shape = shape_of(shape_seed);
        let (journal, path) = (place.path().join("journal"), place.path().join("target"));
        let file = std::fs::File::options().create_new(true).read(true).write(true).open(&path).unwrap();
        file.set_len(shape.blocks * shape.block_bytes).unwrap();
        for run in 1..=1 + random.below(4) {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "kill::child_writes_until_it_is_killed", "--ignored", "--nocapture"])
                .env(CHILD, format!("{} {shape_seed} {run}", place.path().display()))
                .envs([testkit::mark()])
                .stdout(Stdio::piped())
                .stderr(Stdio::inherit())
                .spawn()
                .unwrap();
            let out = std::io::BufReader::new(child.stdout.take().unwrap());
            let has_begun = std::io::BufRead::lines(out).map_while(Result::ok).any(|line| line == "begun");
            assert!(has_begun, "seed {seed}: the child ended by itself");
            std::thread::sleep(Duration::from_micros(random.below(30_000)));
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
            let recovered = recover(&journal).unwrap();
            let torn = |reason: &str| reason.starts_with("ends within");
            assert!(recovered.damage.iter().all(|damage| torn(damage.reason)), "{:?}", recovered.sentences());
            assert_eq!((recovered.crash(), recovered.is_clean), (Crash::ProcessDied, false));
            let wrong =
                if random.below(3) == 0 { take_away(&file, &recovered, shape, &mut random) } else { BTreeSet::new() };
            taken += wrong.len() as u64;
            // Looked at without a journal of its own.
            let beside = tempfile::tempdir_in("/dev/shm").unwrap();
            let copy = beside.path().join("journal");
            copy_journal(&journal, &copy);
            let again = recover(&copy).unwrap();
            let session = Session::begin(&copy, shape, 1000 + run, Some((&again, Crash::ProcessDied)));
            let found = session.sweep(&file);
            let blocks: BTreeSet<u64> = found.iter().map(|(address, _)| *address).collect();
            assert_eq!(blocks, wrong, "seed {seed}, kill {killed}, {shape:?}: {found:?}");
            let is_class = |class: &DamageClass| matches!(class, DamageClass::LostWrite | DamageClass::TornWrite);
            assert!(found.iter().all(|(_, class)| is_class(class)), "{found:?}");
            checked += again.target(DEVICE).unwrap().floors(Crash::ProcessDied).count() as u64;
            if !wrong.is_empty() {
                break;
            }
        }
    }
    (killed, checked, taken)
}

fn copy_journal(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Puts blocks back to a write before the last one that the journal has.
fn take_away(
    file: &std::fs::File,
    recovered: &data_journal::Recovered,
    shape: Shape,
    random: &mut Random,
) -> BTreeSet<u64> {
    let target = recovered.target(DEVICE).unwrap();
    let all: Vec<_> = target.floors(Crash::ProcessDied).collect();
    let mut taken = BTreeSet::new();
    for _ in 0..3 {
        if all.is_empty() {
            break;
        }
        let (block, floor, version) = random.one(&all);
        let sequence = floor.0 % (1 << 48);
        if floor.allows_zeroes() || floor.is_of_checkpoint() || sequence == 0 || version < 6 {
            continue;
        }
        let stamp = WriteStamp {
            flags: StampFlags::default(),
            run: target.session_runs[floor.session()],
            device: DEVICE,
            sequence: sequence - 1,
            writer: 1,
            epoch: 0,
            written_s: 1,
        };
        let offset = block * shape.block_bytes;
        let mut data = vec![0; usize::try_from(shape.block_bytes).unwrap()];
        BlockWriter::new(1.0).fill(&mut data, (offset, shape.block_bytes), &stamp, |_| version - 1);
        let sectors = 1 + usize::try_from(random.below(shape.block_bytes / 512)).unwrap();
        file.write_all_at(&data[..sectors * 512], offset).unwrap();
        taken.insert(offset);
    }
    taken
}

#[test]
fn killed_processes_leave_what_their_journal_says() {
    let (killed, checked, taken) = campaign(5, 25);
    println!("{killed} kills, {checked} blocks known, {taken} taken away");
    assert!(checked > 100 && taken > 0);
}

#[test]
#[ignore = "minutes: make exam"]
fn a_thousand_kills() {
    let seed = quantity::clock::now_ns() % 1_000_000;
    let (killed, checked, taken) = campaign(seed, 1000);
    println!("seed {seed}: {killed} kills, {checked} blocks known, {taken} taken away");
}
