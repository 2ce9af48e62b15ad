//! The same job file run by fio and by us on the same loop device: the block layer must see the same mix, and another
//! one when an option is changed.
//!
//! What is compared is in `seen`; how far two samples of the same mix may be apart is worked out from their size.

use crate::fio::jobs::{Job, jobs};
use crate::fio::seen::Seen;
use crate::support::Scratch;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::{Layer, LoopDevice, TestCommand, TracepointCapture};

/// Bytes of the device.
const DEVICE_BYTES: u64 = 64 << 20;

struct Bench {
    device: LoopDevice,
    scratch: Scratch,
}

impl Bench {
    fn new() -> Option<Self> {
        if !testkit::require_root_or_skip() || !testkit::has_fio() {
            return None;
        }
        let device = LoopDevice::new(DEVICE_BYTES).unwrap();
        // Written once: reads of holes would not reach the disk at the speed of others.
        std::fs::write(device.path(), vec![0x5a_u8; usize::try_from(DEVICE_BYTES).unwrap()]).unwrap();
        if let Err(error) = TracepointCapture::start(device.path(), Layer::Bios) {
            testkit::lacks(&format!("tracefs: {error}"));
            return None;
        }
        Some(Self { device, scratch: Scratch::new() })
    }

    /// The job file of `options`; several jobs when they begin with sections of their own.
    fn file(&self, name: &str, options: &str) -> String {
        let device = self.device.path().display();
        let global = format!(
            "[global]\nfilename={device}\ndirect=1\nioengine=libaio\niodepth=4\noffset=8m\nsize=48m\nbs=4k\nrandrepeat=1\n"
        );
        let text = if options.contains("\n[") || options.starts_with('[') {
            format!("{global}{options}\n")
        } else {
            format!("{global}[job]\n{options}\n")
        };
        let path = self.scratch.write(&format!("{name}.fio"), &text);
        path.to_str().unwrap().to_string()
    }

    /// What the block layer saw while `work` ran.
    fn watch(&self, options: &str, work: impl FnOnce()) -> Seen {
        let bios = TracepointCapture::start(self.device.path(), Layer::Bios).unwrap();
        let requests = TracepointCapture::start(self.device.path(), Layer::Requests).unwrap();
        work();
        let (bios, requests) = (bios.stop(), requests.stop());
        assert_eq!(bios.lost + requests.lost, 0, "the tracepoints lost events; the comparison would mean nothing");
        // Copies of a job take turns as the scheduler likes: where the others are says nothing about the order of one.
        let streams = if options.contains("numjobs") { 8 } else { 1 };
        Seen::new(&bios.records, &requests.records, streams)
    }

    fn by_fio(&self, name: &str, options: &str) -> Seen {
        let file = self.file(name, options);
        self.watch(options, || {
            TestCommand::new("fio")
                .args(["--output=/dev/null", &file])
                .dir(self.scratch.path(""))
                .limit(Duration::from_secs(60))
                .run()
                .unwrap()
                .expect_code(0);
        })
    }

    fn by_us(&self, name: &str, options: &str) -> Result<Seen, String> {
        let file = self.file(name, options);
        let device = self.device.path().to_str().unwrap().to_string();
        let out = format!("{name}.iodyno");
        let seen = self.watch(options, || {
            self.scratch
                .iodyno(&["run", &file, "-o", &out, "--json", "--no-report", "--destroy", &device])
                .run()
                .unwrap()
                .expect_code(0);
        });
        // Its own account must be that of the kernel.
        let totals = self.scratch.table(&out, "run_total");
        for (op, count) in seen.counts() {
            let measured = crate::support::sum(&totals, "ops", |row| row["op"] == op && row["phase"] != "warmup");
            let warm = crate::support::sum(&totals, "ops", |row| row["op"] == op && row["phase"] == "warmup");
            if (measured + warm).abs_diff(i64::try_from(count).unwrap()) > 2 {
                return Err(format!(
                    "{options}\nthe recording has {measured} + {warm} operations `{op}`, the kernel saw {count}"
                ));
            }
        }
        Ok(seen)
    }

    /// Runs the job by both and compares; gives what the block layer saw of fio.
    fn alike(&self, number: usize, job: &Job) -> Result<Seen, String> {
        let name = format!("job{number}");
        let fio = self.by_fio(&format!("{name}-fio"), job.options);
        let ours = self.by_us(&name, job.options)?;
        let apart = fio.differences(&ours, job);
        if !apart.is_empty() {
            return Err(format!("{}\nfio: {fio}\nours: {ours}\napart: {}", job.options, apart.join("; ")));
        }
        Ok(fio)
    }

    fn check(&self, number: usize, job: &Job) -> Result<(), String> {
        let name = format!("job{number}");
        let fio = self.alike(number, job)?;
        let changed = self.by_us(&format!("{name}-changed"), job.changed)?;
        if fio.differences(&changed, job).is_empty() {
            return Err(format!(
                "{}\nchanged to {} makes no difference\nfio: {fio}\nchanged: {changed}",
                job.options, job.changed
            ));
        }
        Ok(())
    }
}

/// Whether what is compared depends on what else the machine does just then: of the jobs with times, on a quiet machine only.
fn is_of_times(job: &Job) -> bool {
    job.is_timed || job.has_depth || job.has_gaps || job.has_turns
}

#[test]
fn every_job_has_the_mix_that_fio_gives_it() {
    // Most of a job is waiting: each has a device of its own.
    compare(2, |job| !is_of_times(job));
}

#[test]
#[ignore = "times: make exam"]
fn every_job_of_times_has_the_rates_depths_and_gaps_that_fio_gives_it() {
    compare(1, is_of_times);
}

/// So many jobs at a time of those that are wanted.
fn compare(at_a_time: usize, is_wanted: impl Fn(&Job) -> bool) {
    let all = jobs();
    assert!(all.len() >= 30);
    let only = std::env::var("FIO_JOB").unwrap_or_default();
    let wanted: Vec<(usize, &Job)> =
        all.iter().enumerate().filter(|(_, job)| is_wanted(job) && job.options.contains(&only)).collect();
    let next = AtomicUsize::new(0);
    let compare_some = || {
        let bench = Bench::new()?;
        let mut failures = Vec::new();
        while let Some((number, job)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Chance and what else the machine does may be in the way: some more tries, before it counts.
            let again = |attempt: usize| bench.check(100 * attempt + number, job);
            let result = again(0).or_else(|_| again(1)).or_else(|_| again(2)).or_else(|_| again(3));
            failures.extend(result.err().map(|why| format!("{number}: {why}")));
        }
        Some(failures)
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_a_time).map(|_| scope.spawn(compare_some)).collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).flatten().collect()
    });
    assert!(failures.is_empty(), "{} of {} jobs differ:\n{}", failures.len(), wanted.len(), failures.join("\n\n"));
}

/// What was written to the 48 MiB: unlike blocks of 4 KiB ÷ all, size after zstd ÷ size, and the first bytes.
fn content(bench: &Bench) -> (f64, f64, Vec<u8>) {
    use std::collections::HashSet;
    use std::io::{Read, Seek, SeekFrom};
    let mut device = std::fs::File::open(bench.device.path()).unwrap();
    device.seek(SeekFrom::Start(8 << 20)).unwrap();
    let mut bytes = vec![0_u8; 48 << 20];
    device.read_exact(&mut bytes).unwrap();
    let blocks: HashSet<&[u8]> = bytes.chunks(4096).collect();
    let unlike = blocks.len() as f64 / (bytes.len() / 4096) as f64;
    let file = bench.scratch.path("content");
    std::fs::write(&file, &bytes).unwrap();
    let packed = bench.scratch.path("content.zst");
    let names = [file.to_str().unwrap(), "-o", packed.to_str().unwrap()];
    TestCommand::new("zstd").args(["-q", "-f", "-1"]).args(names).run().unwrap().expect_code(0);
    let packed = std::fs::metadata(packed).unwrap().len();
    (unlike, packed as f64 / bytes.len() as f64, bytes[..64].to_vec())
}

#[test]
fn writes_carry_what_fio_would_write() {
    let Some(bench) = Bench::new() else { return };
    let write = "rw=write\nbs=64k\nrefill_buffers\n";
    for (options, allowed) in [
        ("zero_buffers", 0.0),
        ("buffer_pattern=0xdeadbeef", 0.0),
        ("buffer_pattern=\"iodyno beside fio!\"", 0.0),
        ("buffer_compress_percentage=60\nbuffer_compress_chunk=4k", 0.06),
        ("buffer_compress_percentage=20\nbuffer_compress_chunk=4k", 0.06),
        ("bs=4k\ndedupe_percentage=40", 0.03),
        ("bs=4k\ndedupe_percentage=75", 0.03),
    ] {
        let options = format!("{write}{options}");
        let _ = bench.by_fio("content-fio", &options);
        let theirs = content(&bench);
        bench.by_us(&format!("content-{}", options.len()), &options).unwrap();
        let ours = content(&bench);
        if allowed == 0.0 {
            assert_eq!(ours.2, theirs.2, "{options}");
        }
        let apart = ((ours.0 - theirs.0).abs(), (ours.1 - theirs.1).abs());
        assert!(
            apart.0 <= allowed + 1e-9 && apart.1 <= allowed + 0.01,
            "{options}: unlike {:.3} and {:.3}, packed {:.3} and {:.3} (ours, fio's)",
            ours.0,
            theirs.0,
            ours.1,
            theirs.1
        );
        std::fs::remove_dir_all(bench.scratch.path(&format!("content-{}.iodyno", options.len()))).unwrap();
    }
}
