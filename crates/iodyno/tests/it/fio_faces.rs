//! Job files run by fio and by us on the same device, bio by bio: which part a job uses, in which order, and where it ends.
//!
//! What follows from the options alone must be the same sequence; what is chosen by chance, as many operations with the same
//! bounds. Jobs run one after the other, each followed by a read of its own kind that tells them apart.

use crate::support::Scratch;
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::{BlockOp, BlockRecord, Layer, LoopDevice, TestCommand, TracepointCapture};

/// Bytes of the device.
const DEVICE_BYTES: u64 = 96 << 20;
/// Where the read between two jobs goes, and how much it reads: nothing else has this size.
const MARK: (u64, u64) = (95 << 20, 1536);

/// What a job did: operation, place, size.
pub(super) type Bio = (BlockOp, u64, u64);

pub(super) struct Bench {
    pub(super) device: LoopDevice,
    pub(super) scratch: Scratch,
}

impl Bench {
    pub(super) fn new() -> Option<Self> {
        if !testkit::require_root_or_skip() || !testkit::has_fio() {
            return None;
        }
        let device = LoopDevice::new(DEVICE_BYTES).unwrap();
        if let Err(error) = TracepointCapture::start(device.path(), Layer::Bios) {
            testkit::lacks(&format!("tracefs: {error}"));
            return None;
        }
        Some(Self { device, scratch: Scratch::new() })
    }

    /// What fio's and what our jobs did, in the order of issue.
    pub(super) fn both(&self, name: &str, jobs: &[&str]) -> [Vec<Vec<Bio>>; 2] {
        let (at, bytes) = MARK;
        let mark = |number| format!("[mark{number}]\nrw=read\noffset={at}\nbs={bytes}\nsize={bytes}\n");
        let found = self.run(name, jobs, mark).map(apart);
        assert_eq!([found[0].len(), found[1].len()], [jobs.len(); 2], "{name}: jobs that were seen");
        found
    }

    pub(super) fn run(&self, name: &str, jobs: &[&str], mark: impl Fn(usize) -> String) -> [Vec<Bio>; 2] {
        let device = self.device.path().to_str().unwrap().to_string();
        let mut text = format!("[global]\nfilename={device}\ndirect=1\nioengine=psync\nstonewall\n");
        for (number, job) in jobs.iter().enumerate() {
            text += &format!("[job{number}]\n{job}\n{}", mark(number));
        }
        let file = self.scratch.write(&format!("{name}.fio"), &text).to_str().unwrap().to_string();
        let fio = self.watch(|| {
            let fio = TestCommand::new("fio").args(["--output=/dev/null", &file]).dir(self.scratch.path(""));
            fio.limit(Duration::from_secs(60)).run().unwrap().expect_code(0);
        });
        let out = format!("{name}.iodyno");
        let ours = self.watch(|| {
            let args = ["run", &file, "-o", &out, "--json", "--no-report", "--destroy", &device];
            self.scratch.iodyno(&args).run().unwrap().expect_code(0);
        });
        [of(&fio, "fio"), of(&ours, "iodyno-")]
    }

    /// What our program does when it is called so.
    pub(super) fn ours(&self, arguments: &[&str]) -> Vec<Bio> {
        of(&self.watch(|| drop(self.scratch.iodyno(arguments).run().unwrap().expect_code(0))), "iodyno-")
    }

    fn watch(&self, work: impl FnOnce()) -> Vec<BlockRecord> {
        let bios = TracepointCapture::start(self.device.path(), Layer::Bios).unwrap();
        work();
        let capture = bios.stop();
        assert_eq!(capture.lost, 0, "the tracepoint lost events");
        capture.records
    }

    /// Demands the same sequence of all jobs one after the other.
    pub(super) fn same(&self, name: &str, jobs: &[&str]) {
        let [fio, ours] = self.run(name, jobs, |_| String::new());
        let first = fio.iter().zip(&ours).position(|(a, b)| a != b).unwrap_or(fio.len().min(ours.len()));
        let around = |all: &[Bio]| all[first.saturating_sub(4)..all.len().min(first + 6)].to_vec();
        assert!(
            fio == ours,
            "fio has {} operations, we have {}; around number {first}\nfio:  {:x?}\nours: {:x?}",
            fio.len(),
            ours.len(),
            around(&fio),
            around(&ours)
        );
    }
}

/// The operations of a program's threads.
fn of(records: &[BlockRecord], comm: &str) -> Vec<Bio> {
    // What io_uring cannot begin without waiting it leaves to threads of the kernel's. The main thread reads to see whose data
    // is there, and udev to see what changed.
    let looks = |record: &BlockRecord| record.op == BlockOp::Read && !record.comm.starts_with(b"iou-wrk");
    let is_own = |record: &BlockRecord| match comm {
        "fio" => record.is_by(comm),
        _ => record.comm.starts_with(comm.as_bytes()) || !looks(record),
    };
    let of = |record: &&BlockRecord| is_own(record) && record.op != BlockOp::Flush;
    records.iter().filter(of).map(|record| (record.op, record.offset, record.bytes)).collect()
}

/// Cut at the marks, which are left out.
fn apart(bios: Vec<Bio>) -> Vec<Vec<Bio>> {
    let (mut jobs, mut job) = (Vec::new(), Vec::new());
    for bio in bios {
        if (bio.1, bio.2) == MARK {
            jobs.push(std::mem::take(&mut job));
        } else {
            job.push(bio);
        }
    }
    jobs
}

/// First and last place, the largest number that divides all places, and how many different ones there are.
pub(super) fn places(job: &[Bio]) -> (u64, u64, u64, usize) {
    let starts: BTreeSet<u64> = job.iter().map(|bio| bio.1).collect();
    let divisor = starts.iter().fold(0, |divisor, start| gcd(divisor, *start));
    (*starts.first().unwrap(), *starts.last().unwrap(), divisor, starts.len())
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn sizes(job: &[Bio]) -> BTreeSet<u64> {
    job.iter().map(|bio| bio.2).collect()
}

#[test]
fn a_siblings_size_moves_no_other_job() {
    let Some(bench) = Bench::new() else { return };
    bench.same(
        "siblings",
        &[
            "rw=write\nbs=256k\nsize=8m",
            "rw=read\nbs=256k",
            "rw=read\nbs=64k\nsize=50%\noffset=25%\nnumber_ios=100",
            "rw=read\nbs=64k\nsize=3%\noffset=7%",
            "rw=read\nbs=64k\noffset=99%",
            "rw=read\nbs=64k\noffset=33%\nsize=1m",
            "rw=read\nbs=64k\noffset=512\noffset_increment=40%\nnumjobs=1\nsize=1000000",
            // The device ends before the size does.
            "rw=read\nbs=256k\noffset=94m\nsize=8m",
        ],
    );
    let [fio, ours] = bench.both("random", &["rw=write\nbs=256k\nsize=8m", "rw=randread\nbs=4k\nnumber_ios=200"]);
    for found in [fio, ours] {
        let (first, last, ..) = places(&found[1]);
        assert!(found[1].len() == 200 && first < 8 << 20 && last > 80 << 20, "{first} to {last}");
    }
}

#[test]
fn gaps_passes_and_ends_are_those_of_fio() {
    let Some(bench) = Bench::new() else { return };
    bench.same(
        "ends",
        &[
            // Gaps from end to start, unrounded, with any sizes; fio's test t0007 on a smaller device.
            "rw=read:12k\nbs=8k\nsize=1m",
            "rw=read:512k\nbs=256k",
            "rw=rw:4k\nbs=8k,16k\nsize=512k\nrwmixread=100",
            "rw=write:512\nbs=3k\nsize=256k",
            "rw=read:-2k\nbs=4k\nsize=64k",
            // A last place that begins inside of the size.
            "rw=read\nbs=64k\nsize=1000000",
            "rw=read\nbs=64k\noffset=95m\nsize=1000000",
            // Passes.
            "rw=read\nbs=64k\nsize=1m\nloops=3",
            "rw=read\nbs=64k\nsize=1m\nio_size=2500k",
            "rw=read\nbs=64k\nsize=1m\nio_size=3m\nloops=2",
            "rw=read\nbs=64k\nsize=1m\nio_size=512k\nloops=3",
            "rw=read\nbs=64k\nsize=1m\nio_size=50%",
            "rw=read\nbs=4k\nsize=1m\nnumber_ios=100\nloops=2",
            "rw=read\nbs=4k\nsize=64k\nnumber_ios=100\nloops=2",
            // filesize says where, size how much.
            "rw=read\nbs=64k\nfilesize=64m\nsize=1m\noffset=1m",
            "rw=read\nbs=256k\nfilesize=3m\nsize=50%",
            // Sequential places know no blockalign.
            "rw=read\nbs=4k\nblockalign=64k\nsize=256k",
        ],
    );
}

#[test]
fn random_places_and_sizes_have_fios_bounds() {
    let Some(bench) = Bench::new() else { return };
    let jobs = [
        "rw=randread\nfilesize=64m\nsize=1m",
        "rw=randread\nbs=4k\nba=512\nsize=4m",
        "rw=randread\nbs=4k\nba=16k\nsize=4m",
        "rw=randread\nbs=4k\nsize=1m\nloops=2",
        "rw=randread\nbs=4k\nsize=1m\nrandom_generator=lfsr\nnorandommap",
        "rw=randread\nbs=4k\nsize=1000000",
        "rw=randread:4k\nbs=4k\nsize=1m",
        "rw=randread\nbsrange=16k:4k\nnorandommap\nsize=4m\nnumber_ios=300",
        "rw=randread\nbsrange=4k-10k\nnorandommap\nsize=4m\nnumber_ios=300",
        "rw=randread\nbssplit=4k/50:6k/50\nnorandommap\nsize=4m\nnumber_ios=300",
    ];
    let [fio, ours] = bench.both("bounds", &jobs);
    for (job, (fio, ours)) in jobs.iter().zip(fio.iter().zip(&ours)) {
        assert_eq!(sizes(fio), sizes(ours), "{job}");
        if job.starts_with("rw=randread:") {
            // fio reads 4 of `4k`. It ends where one operation follows the last of the part: by chance.
            let follows = |job: &[Bio]| job[1..4].iter().zip(job).all(|(next, one)| next.1 == one.1 + 4096);
            assert!(follows(fio) && follows(ours), "{job}: {:?} {:?}", &fio[..4], &ours[..4]);
            continue;
        }
        let (theirs, own) = (places(fio), places(ours));
        assert_eq!((fio.len(), theirs.2), (ours.len(), own.2), "{job}: operations, and what divides all places");
        // Chance decides which come at all: of some hundred places, not one in twenty at an edge.
        let edge = (theirs.1 - theirs.0) / 8;
        assert!(theirs.0.abs_diff(own.0) <= edge && theirs.1.abs_diff(own.1) <= edge, "{job}: {theirs:?}, {own:?}");
        if !job.contains("norandommap") || job.contains("lfsr") {
            let unlike = if job.contains("ba=") { theirs.3.abs_diff(own.3) < theirs.3 / 10 } else { theirs.3 == own.3 };
            assert!(unlike, "{job}: {} and {} different places", theirs.3, own.3);
        }
    }
    // A range of 4 KiB to 10 KiB has 40, 40 and 20 % of 4, 8 and 10 KiB.
    let of_ten = ours[8].iter().filter(|bio| bio.2 == 10 << 10).count();
    assert!((30..=95).contains(&of_ten), "{of_ten} of 300 reads have 10 KiB");
}

#[test]
fn every_write_of_a_trimwrite_lies_where_was_trimmed() {
    let Some(bench) = Bench::new() else { return };
    let jobs = [
        "rw=trimwrite\nbs=4k\nsize=1m",
        "rw=trimwrite\nbs=4k\nsize=1m\nnumber_ios=20",
        "rw=trimwrite\nbsrange=4k-32k\nsize=2m",
        "rw=trimwrite\nbs=4k,4k,16k\nsize=1m",
        "rw=randtrimwrite\nbs=4k\nsize=1m",
        "rw=randtrimwrite\nbssplit=4k/50:64k/50\nsize=2m\nnorandommap\nnumber_ios=40",
    ];
    let [fio, ours] = bench.both("trimwrite", &jobs);
    for (job, (fio, ours)) in jobs.iter().zip(fio.iter().zip(&ours)) {
        let trims = |job: &[Bio]| job.iter().filter(|bio| bio.0 == BlockOp::Trim).copied().collect::<Vec<_>>();
        let (theirs, own) = (trims(fio), trims(ours));
        if job.contains("bs=4k") && job.contains("rw=trim") {
            // fio writes them past `direct=1`: only its trims come from its own thread.
            assert_eq!(theirs, own, "{job}");
        }
        let mut trimmed = (0, 0);
        for bio in ours {
            match bio.0 {
                BlockOp::Trim => trimmed = (bio.1, bio.2),
                _ if job.contains("16k") => assert!(bio.1 <= trimmed.0 + trimmed.1, "{job}: {bio:x?}"),
                _ => assert_eq!((bio.1, bio.2), trimmed, "{job}"),
            }
        }
        assert!(ours.len() > 30, "{job}: {} operations", ours.len());
    }
}

#[test]
fn a_rate_of_one_direction_leaves_the_other_free() {
    let Some(bench) = Bench::new() else { return };
    let jobs = ["rw=randrw\nbs=4k\nsize=8m\nrate_iops=,40\nruntime=5\ntime_based"];
    let [fio, ours] = bench.both("rates", &jobs);
    let count = |job: &[Bio], op| job.iter().filter(|bio| bio.0 == op).count();
    let (theirs, own) = (count(&fio[0], BlockOp::Write), count(&ours[0], BlockOp::Write));
    assert!(theirs <= 205 && (100..=205).contains(&own), "{theirs} and {own} writes");
    assert!(count(&ours[0], BlockOp::Read) > 2 * own && count(&fio[0], BlockOp::Read) > 2 * theirs);
}
