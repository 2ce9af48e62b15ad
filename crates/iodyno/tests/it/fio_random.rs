//! Job files made by seed, run by fio and by us on the same device and the same files, bio by bio.
//!
//! What is made is in [`crate::fio::random`], what is compared in [`crate::fio::alike`]. A job that we refuse counts as different.
//! `FIO_SEED=N` makes other files, `FIO_JOBS=N` more or fewer of them.

use crate::fio::alike::{Seen, Tally, difference};
use crate::fio::random::{DEVICE_BYTES, Dice, FILES, Made, fios_own_defects, made};
use crate::support::Scratch;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use testkit::{BlockOp, BlockRecord, FileSystem, Layer, LoopDevice, MountedFileSystem, TestCommand, TracepointCapture};

/// Jobs of one file, at most.
const BATCH: usize = 48;
/// The read between two jobs, which nothing else has the size of; each job has its own place for it.
const MARK_BYTES: u64 = 1536;
const MARK_AT: u64 = 95 << 20;
const MARK_STRIDE: u64 = 4096;
/// Places of different files are so far apart.
const FILE_STRIDE: u64 = 1 << 40;
/// The number of the file that is read between jobs.
const MARK_FILE: u64 = 99;

/// Where a file lies on its device: first byte in it, first byte there, bytes.
type Extent = (u64, u64, u64);

/// A device, or files on one.
struct Ground {
    // Unmounted before its device goes.
    mounted: Option<MountedFileSystem>,
    device: LoopDevice,
    files: Vec<(u64, PathBuf, Vec<Extent>)>,
    scratch: Scratch,
}

/// What became of jobs.
#[derive(Default)]
struct Outcome {
    equal: usize,
    listed: Vec<String>,
    different: Vec<String>,
    tally: Tally,
}

impl Ground {
    fn new(on_files: bool) -> Option<Self> {
        if !testkit::require_root_or_skip() || !testkit::has_fio() {
            return None;
        }
        let device = LoopDevice::new(DEVICE_BYTES).unwrap();
        if let Err(error) = TracepointCapture::start(device.path(), Layer::Bios) {
            testkit::lacks(&format!("tracefs: {error}"));
            return None;
        }
        let scratch = Scratch::new();
        if !on_files {
            return Some(Self { mounted: None, device, files: Vec::new(), scratch });
        }
        if !FileSystem::Ext4.is_available() {
            testkit::lacks("mkfs.ext4");
            return None;
        }
        let mounted = MountedFileSystem::make(FileSystem::Ext4, device.path()).unwrap();
        let numbers = (0..).zip(FILES).chain([(MARK_FILE, BATCH as u64 * MARK_STRIDE)]);
        let files = numbers.map(|(number, bytes)| {
            let path = mounted.path().join(if number == MARK_FILE { "mark".to_string() } else { format!("f{number}") });
            std::fs::write(&path, vec![0x5a_u8; usize::try_from(bytes).unwrap()]).unwrap();
            std::fs::File::open(&path).unwrap().sync_all().unwrap();
            let extents = extents(&path);
            (number, path, extents)
        });
        let files = files.collect();
        Some(Self { mounted: Some(mounted), device, files, scratch })
    }

    /// The job file; `logged`: fio is to keep a log of the jobs that want one.
    fn text(&self, jobs: &[&Made], logged: bool) -> String {
        let mut text = "[global]\ndirect=1\n".to_string();
        let (place, mark) = match &self.mounted {
            Some(mounted) => (format!("directory={}", mounted.path().display()), "filename=mark\n"),
            None => (format!("filename={}", self.device.path().display()), ""),
        };
        let first = if self.mounted.is_some() { 0 } else { MARK_AT };
        let _ = writeln!(text, "{place}");
        for (number, made) in jobs.iter().enumerate() {
            for (at, section) in made.sections.iter().enumerate() {
                let _ = writeln!(text, "[job{number}-{at}]\n{}", section.trim());
                if at == 0 {
                    text += "stonewall\n";
                }
                if logged && made.is_logged {
                    let _ = writeln!(text, "write_iolog={}", self.scratch.path(&format!("log{number}")).display());
                }
            }
            let _ = writeln!(
                text,
                "[mark{number}]\nstonewall\nrw=read\n{mark}offset={}\nbs={MARK_BYTES}\nsize={MARK_BYTES}\nioengine=psync",
                first + number as u64 * MARK_STRIDE
            );
        }
        text
    }

    /// What fio's and what our jobs did.
    fn both(&self, name: &str, jobs: &[&Made]) -> [Vec<Option<Vec<Seen>>>; 2] {
        let file =
            |text: &str, of: &str| self.scratch.write(&format!("{name}-{of}.fio"), text).to_str().unwrap().to_string();
        let fio = self.watch(|| {
            let file = file(&self.text(jobs, true), "fio");
            let fio = TestCommand::new("fio").args(["--output=/dev/null", &file]).dir(self.scratch.path(""));
            // Jobs that it gives up are seen as such.
            fio.limit(Duration::from_secs(180)).run().unwrap();
        });
        let text = self.text(jobs, false);
        let (file, out) = (file(&text, "ours"), format!("{name}.iodyno"));
        let ours = self.watch(|| {
            let mut args = vec!["run", &file, "-o", &out, "--json", "--no-report"];
            let destroyed = self.destroyed(&text);
            destroyed.iter().for_each(|path| args.extend(["--destroy", path.as_str()]));
            self.scratch.iodyno(&args).limit(Duration::from_secs(180)).run().unwrap().expect_code(0);
        });
        let mut found = [self.apart(&fio, "fio", jobs.len()), self.apart(&ours, "iodyno-", jobs.len())];
        for (number, seen) in found[0].iter_mut().enumerate().filter(|(number, _)| jobs[*number].is_logged) {
            *seen = Some(log(&std::fs::read_to_string(self.scratch.path(&format!("log{number}"))).unwrap()));
        }
        found
    }

    /// What the jobs of a file may write to.
    fn destroyed(&self, text: &str) -> Vec<String> {
        let name = |path: &PathBuf| path.to_str().unwrap().to_string();
        if self.mounted.is_none() {
            return vec![self.device.path().to_str().unwrap().to_string()];
        }
        let is_used = |number: u64| {
            text.contains(&format!("filename=f{number}\n"))
                || (number..6).any(|last| text.contains(&format!("nrfiles={}\n", last + 1)))
        };
        self.files.iter().filter(|(number, ..)| is_used(*number)).map(|(_, path, _)| name(path)).collect()
    }

    /// Why we do not take a job, where we do not.
    fn refusal(&self, made: &Made) -> Option<String> {
        self.dry_run(&[made]).err()
    }

    /// Is a file of these jobs taken?
    fn dry_run(&self, jobs: &[&Made]) -> Result<(), String> {
        let text = self.text(jobs, false);
        let file = self.scratch.write("dry.fio", &text).to_str().unwrap().to_string();
        let mut args = vec!["run", &file, "--dry-run"];
        let destroyed = self.destroyed(&text);
        destroyed.iter().for_each(|path| args.extend(["--destroy", path.as_str()]));
        let output = self.scratch.iodyno(&args).run().unwrap();
        let said =
            || format!("{}{}", output.stdout, output.stderr).lines().rev().take(8).collect::<Vec<_>>().join(" | ");
        if output.code == Some(0) { Ok(()) } else { Err(said()) }
    }

    fn watch(&self, work: impl FnOnce()) -> Vec<BlockRecord> {
        let bios = TracepointCapture::start(self.device.path(), Layer::Bios).unwrap();
        work();
        let capture = bios.stop();
        assert_eq!(capture.lost, 0, "the tracepoint lost events");
        capture.records
    }

    /// The operations of a program's threads, cut at the marks, which are left out.
    ///
    /// `None`: where a mark was not seen, the operations before it cannot be separated from those behind it.
    fn apart(&self, records: &[BlockRecord], comm: &str, count: usize) -> Vec<Option<Vec<Seen>>> {
        // The main thread reads to see whose data is there, udev to see what changed; what io_uring cannot begin without waiting
        // it leaves to threads of the kernel's.
        let is_own = |record: &&BlockRecord| {
            let is_worker = if comm == "fio" { record.is_by(comm) } else { record.comm.starts_with(comm.as_bytes()) };
            is_worker || record.comm.starts_with(b"iou-wrk")
        };
        let mark = if self.mounted.is_some() { MARK_FILE * FILE_STRIDE } else { MARK_AT };
        let (mut jobs, mut job, mut expected) = (vec![None; count], Vec::new(), 0);
        for record in records.iter().filter(is_own) {
            let Some(seen) = self.seen(record) else { continue };
            let number = seen.at.checked_sub(mark).filter(|_| seen.bytes == MARK_BYTES && seen.op == 'R');
            let number = number.filter(|at| at.is_multiple_of(MARK_STRIDE)).map(|at| at / MARK_STRIDE);
            match number.filter(|number| *number < count as u64) {
                Some(number) => {
                    let all = std::mem::take(&mut job);
                    if number == expected {
                        jobs[usize::try_from(number).unwrap()] = Some(all);
                    }
                    expected = number + 1;
                }
                None => job.push(seen),
            }
        }
        jobs
    }

    /// As the job sees it; `None`: the file system's own.
    fn seen(&self, record: &BlockRecord) -> Option<Seen> {
        let found = |at| Some(Seen::new(record.op, at, record.bytes, record.is_fua));
        if self.mounted.is_none() || record.op == BlockOp::Flush {
            return found(record.offset);
        }
        self.files.iter().find_map(|(number, _, extents)| {
            let inside = |(_, at, bytes): &&Extent| (*at..at + bytes).contains(&record.offset);
            let (from, at, _) = extents.iter().find(inside)?;
            found(number * FILE_STRIDE + from + record.offset - at)
        })
    }
}

/// Where a file lies, from what `filefrag -v` prints of it.
fn extents(path: &PathBuf) -> Vec<Extent> {
    let output = TestCommand::new("filefrag").args(["-v", "-b512"]).arg(path).run().unwrap().expect_code(0);
    let line = |line: &str| {
        let numbers: Vec<u64> = line
            .split(|c: char| !c.is_ascii_digit())
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().unwrap())
            .collect();
        // Number, logical from and to, physical from and to, length.
        match numbers[..] {
            [_, from, _, at, _, length, ..] if line.contains("..") => Some((from * 512, at * 512, length * 512)),
            _ => None,
        }
    };
    output.stdout.lines().filter_map(line).collect()
}

/// What fio noted of its operations.
fn log(text: &str) -> Vec<Seen> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, _, op, at, bytes] = words[..] else { return None };
        let op = match op {
            "read" => BlockOp::Read,
            "write" => BlockOp::Write,
            "trim" => BlockOp::Trim,
            _ => return None,
        };
        Some(Seen::new(op, at.parse().ok()?, bytes.parse().ok()?, false))
    };
    text.lines().filter_map(line).collect()
}

impl Outcome {
    /// Runs jobs and compares; those that differ go to `again`.
    fn judge<'a>(&mut self, ground: &Ground, name: &str, jobs: &[&'a Made]) -> Vec<(&'a Made, String)> {
        let [fio, ours] = ground.both(name, jobs);
        let mut apart = Vec::new();
        for (made, (fio, ours)) in jobs.iter().zip(fio.iter().zip(&ours)) {
            let (Some(fio), Some(ours)) = (fio, ours) else {
                apart.push((*made, format!("the mark behind it was not seen: fio's {}", fio.is_none())));
                continue;
            };
            match (difference(made, fio, ours, &mut self.tally), made.defect) {
                (None, _) => self.equal += 1,
                (Some(_), Some(why)) => self.listed.push(why.to_string()),
                (Some(what), None) => apart.push((*made, what)),
            }
        }
        apart
    }

    /// So many jobs of one kind of ground.
    fn add(&mut self, ground: &Ground, name: &str, jobs: &[Made]) {
        let mut taken: Vec<&Made> = jobs.iter().collect();
        if ground.dry_run(&taken).is_err() {
            let mut refused = |made: &&Made| {
                let why = ground.refusal(made);
                self.different.extend(why.iter().map(|why| format!("{}\n  refused: {why}", made.text())));
                why.is_none()
            };
            taken.retain(&mut refused);
        }
        let mut apart = self.judge(ground, name, &taken);
        // What else the machine does may be in the way: twice more, before it counts.
        for attempt in 0..2 {
            if apart.is_empty() {
                return;
            }
            let again: Vec<&Made> = apart.iter().map(|(made, _)| *made).collect();
            apart = self.judge(ground, &format!("{name}-again{attempt}"), &again);
        }
        self.different.extend(apart.into_iter().map(|(made, what)| format!("{}\n  {what}", made.text())));
    }
}

/// So many jobs, beginning with this seed: on the device, and two fifths of them on files.
fn compare(jobs: usize, seed: u64) {
    let grounds = [Ground::new(false), Ground::new(true)];
    let [Some(device), Some(files)] = &grounds else { return };
    let mut outcome = Outcome::default();
    let of_files = jobs * 2 / 5;
    for (on_files, ground, count) in [(false, device, jobs - of_files), (true, files, of_files)] {
        for batch in 0..count.div_ceil(BATCH) {
            let mut dice = Dice(seed.wrapping_mul(1000) + 2 * batch as u64 + u64::from(on_files));
            let made: Vec<Made> = (0..BATCH.min(count - batch * BATCH)).map(|_| made(&mut dice, on_files)).collect();
            outcome.add(ground, &format!("{}{batch}", if on_files { "files" } else { "device" }), &made);
        }
    }
    let (equal, listed, different) = (outcome.equal, outcome.listed.len(), outcome.different.len());
    println!("seed {seed}: {equal} jobs equal, {listed} defects of fio's own, {different} different");
    let apart = outcome.tally.apart();
    assert!(
        outcome.different.is_empty() && apart.is_empty(),
        "seed {seed}: {different} of {jobs} jobs differ:\n{}\nall together: {}",
        outcome.different.join("\n\n"),
        apart.join("; ")
    );
}

fn from_environment(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_jobs_do_what_fio_does() {
    compare(16, from_environment("FIO_SEED", 21));
}

#[test]
#[ignore = "times: make exam"]
fn five_hundred_random_jobs_do_what_fio_does() {
    let jobs = usize::try_from(from_environment("FIO_JOBS", 500)).unwrap();
    compare(jobs, from_environment("FIO_SEED", 21));
}

/// A write that waits is one with FUA and a flush behind it, one that is queued has FUA alone.
#[test]
fn a_durable_write_of_psync_is_followed_by_a_flush_as_fios_is() {
    let Some(ground) = Ground::new(false) else { return };
    let of = |engine: &&str| Made {
        sections: vec![format!("rw=write\nbs=8k\nsize=128k\nsync=dsync\nioengine={engine}")],
        has_flushes: true,
        ..Made::default()
    };
    let jobs: Vec<Made> = ["psync", "libaio"].iter().map(of).collect();
    let mut outcome = Outcome::default();
    outcome.add(&ground, "durable", &jobs);
    assert_eq!((outcome.equal, outcome.different), (2, Vec::new()));
}

/// A defect that fio no longer has must leave the list.
#[test]
#[ignore = "times: make exam"]
fn what_is_listed_as_fios_defects_is_there() {
    let Some(ground) = Ground::new(false) else { return };
    let of = |(why, text): &(&'static str, &str)| {
        let is_logged = text.contains("trimwrite");
        Made { sections: vec![(*text).to_string()], is_logged, is_counted: true, defect: Some(why), ..Made::default() }
    };
    let jobs: Vec<Made> = fios_own_defects().iter().map(of).collect();
    let mut outcome = Outcome::default();
    outcome.add(&ground, "defects", &jobs);
    assert_eq!((outcome.listed.len(), outcome.different), (jobs.len(), Vec::new()), "{:?}", outcome.listed);
}
