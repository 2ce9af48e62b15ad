//! Orders of fio's beside plain ones, bio by bio: zones, and choices that are other ones each time.

use crate::fio_faces::{Bench, Bio};
use testkit::{BlockOp, Layer, TracepointCapture};

#[test]
fn zones_are_gone_through_as_by_fio() {
    let Some(bench) = Bench::new() else { return };
    bench.same(
        "zones",
        &[
            // With gaps between zones; with zones that are longer than what is done in them; from one end of the device to the other and again.
            "rw=read\nbs=4k\nsize=256k\nzonemode=strided\nzonesize=16k\nzoneskip=48k",
            "rw=write\nbs=4k\nsize=512k\nzonemode=strided\nzonesize=16k\nzonerange=64k\nzoneskip=1m",
            "rw=read\nbs=64k\nsize=4m\nzonemode=strided\nzonesize=64k\nzonerange=8m\nzoneskip=8m",
            // A zone that is shorter than what is done in it.
            "rw=read\nbs=4k\nsize=256k\nzonemode=strided\nzonesize=64k\nzonerange=16k\nzoneskip=16k",
            "rw=write\nbs=8k\nsize=256k\nzonemode=strided\nzonesize=40k\nzonerange=24k",
            // Behind an offset, with gaps, with passes, and with sizes that do not divide.
            "rw=read\nbs=4k\noffset=80m\nsize=128k\nzonemode=strided\nzonesize=12k\nzonerange=1m\nzoneskip=4m",
            "rw=read:4k\nbs=4k\nsize=256k\nzonemode=strided\nzonesize=32k\nzonerange=128k\nzoneskip=64k",
            "ioengine=io_uring\nrw=read\nbs=4k\nsize=64k\nloops=2\nzonemode=strided\nzonesize=16k\nzonerange=32k",
            "rw=read\nbs=12k\nsize=300k\nzonemode=strided\nzonesize=20k\nzonerange=32k\nnumber_ios=20",
            "rw=read\nbs=4k\nsize=64k\nzonemode=none",
        ],
    );
}

#[test]
fn random_places_stay_in_their_zone_as_in_fio() {
    let Some(bench) = Bench::new() else { return };
    let job = "rw=randread\nbs=4k\nnorandommap\nsize=2m\nzonemode=strided\nzonesize=64k\nzonerange=256k\nzoneskip=256k\nnumber_ios=512";
    let found = bench.run("random", &[job], |_| String::new());
    for (who, bios) in ["fio", "iodyno"].into_iter().zip(&found) {
        assert_eq!(bios.len(), 512, "{who}");
        for (zone, in_zone) in bios.chunks(16).enumerate() {
            let base = zone as u64 * (512 << 10);
            let inside = in_zone.iter().all(|(_, at, _)| (base..base + (256 << 10)).contains(at));
            assert!(inside, "{who}, zone {zone}: {in_zone:x?}");
        }
        // Places of 32 zones are spread over all 64 of each.
        let places: std::collections::BTreeSet<u64> = bios.iter().map(|(_, at, _)| at % (512 << 10)).collect();
        assert!(places.len() > 55, "{who}: {}", places.len());
    }
}

#[test]
fn randrepeat_0_is_another_order_each_time_and_its_seed_is_kept() {
    let Some(bench) = Bench::new() else { return };
    let places = |bios: &[Bio]| bios.iter().map(|(_, at, _)| *at).collect::<Vec<u64>>();
    let run = |name: &str, job: &str| bench.run(name, &[job], |_| String::new()).map(|bios| places(&bios));
    let job = "rw=randread\nbs=4k\nsize=2m";
    for (option, is_same) in [("randrepeat=0", false), ("randrepeat=1", true), ("randrepeat=0\nrandseed=7", true)] {
        let name = |number: u32| format!("{number}{}", option.replace(['=', '\n'], ""));
        let (first, second) = (run(&name(1), &format!("{job}\n{option}")), run(&name(2), &format!("{job}\n{option}")));
        for (who, (first, second)) in ["fio", "iodyno"].into_iter().zip(first.iter().zip(&second)) {
            assert_eq!(first.len(), 512, "{who}, {option}");
            assert_eq!(first == second, is_same, "{who}, {option}");
        }
        if option != "randrepeat=0" {
            continue;
        }
        let manifest = std::fs::read(bench.scratch.path(&format!("{}.iodyno/manifest.json", name(1)))).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        let seed = manifest["extra"]["seed"].as_u64().unwrap_or_else(|| panic!("{manifest}")).to_string();
        let file = bench.scratch.path(&format!("{}.fio", name(1)));
        let device = bench.device.path().to_str().unwrap().to_string();
        let args = [
            "run",
            file.to_str().unwrap(),
            "-o",
            "again",
            "--json",
            "--no-report",
            "--destroy",
            &device,
            "--seed",
            &seed,
        ];
        let again = bench.ours(&args);
        assert!(places(&again) == first[1], "--seed {seed}");
    }
}

#[test]
fn so_many_requests_have_a_priority_of_their_own_as_with_fio() {
    let Some(bench) = Bench::new() else { return };
    let device = bench.device.path().to_str().unwrap().to_string();
    let common = format!(
        "filename={device}\ndirect=1\nioengine=io_uring\niodepth=4\nnorandommap\nsize=64m\nnumber_ios=2000\nrw=randrw"
    );
    // Options, and of reads of 4 KiB, writes of 4 KiB and writes of 16 KiB the shares with a priority and which it is.
    type Shares = [(BlockOp, u64, f64, (u8, u8)); 3];
    let (read, write) = (BlockOp::Read, BlockOp::Write);
    let cases: [(&str, Shares); 3] = [
        (
            "cmdprio_percentage=30",
            [(read, 4096, 0.3, (1, 0)), (write, 4096, 0.3, (1, 0)), (write, 16_384, 0.3, (1, 0))],
        ),
        (
            "cmdprio_percentage=0,100\ncmdprio_class=1,3\ncmdprio=2,0",
            [(read, 4096, 0.0, (1, 2)), (write, 4096, 1.0, (3, 0)), (write, 16_384, 1.0, (3, 0))],
        ),
        (
            "cmdprio_bssplit=4k/100/2/7,4k/0:16k/50/1/3:8k/100",
            [(read, 4096, 1.0, (2, 7)), (write, 4096, 0.0, (1, 3)), (write, 16_384, 0.5, (1, 3))],
        ),
    ];
    for (number, (options, expect)) in cases.into_iter().enumerate() {
        let file = bench
            .scratch
            .write(&format!("p{number}.fio"), &format!("[p]\n{common}\nbssplit=4k,4k/50:16k/50\n{options}\n"));
        let file = file.to_str().unwrap();
        let out = format!("p{number}.iodyno");
        let ours = ["run", file, "-o", &out, "--json", "--no-report", "--destroy", &device];
        let fio = testkit::TestCommand::new("fio").args(["--output=/dev/null", file]);
        for (who, command) in [("fio", fio), ("iodyno", bench.scratch.iodyno(&ours))] {
            let trace = TracepointCapture::start(bench.device.path(), Layer::Requests).unwrap();
            command.run().unwrap().expect_code(0);
            let records = trace.stop().records;
            let is_load = |record: &&testkit::BlockRecord| record.comm.starts_with(who.as_bytes());
            for (op, bytes, share, priority) in expect {
                let meant: Vec<_> =
                    records.iter().filter(is_load).filter(|one| (one.op, one.bytes) == (op, bytes)).collect();
                let with = meant.iter().filter(|one| one.io_priority == Some(priority)).count() as f64;
                let all = meant.len() as f64;
                assert!(all > 300.0, "{who}, {options}: {all} of {bytes} bytes");
                // What is read to see whose data is there has no priority; merged requests are larger.
                let slack = 5.0 * (share * (1.0 - share) * all).sqrt() + if share > 0.0 { 0.02 * all } else { 0.0 };
                assert!((with - share * all).abs() <= slack, "{who}, {options}, {op:?} of {bytes}: {with} of {all}");
            }
        }
    }
}

#[test]
fn mapped_files_and_devices_are_read_and_written_as_by_fio() {
    let Some(bench) = Bench::new() else { return };
    let device = bench.device.path().to_str().unwrap().to_string();
    let pages = |bios: &[testkit::BlockRecord], op: BlockOp| -> std::collections::BTreeSet<u64> {
        let meant = bios.iter().filter(|one| one.op == op);
        meant.flat_map(|one| (one.offset / 4096)..(one.offset + one.bytes).div_ceil(4096)).collect()
    };
    for (number, (job, op, count)) in [
        ("rw=read\nbs=64k\nsize=8m", BlockOp::Read, 2048),
        ("rw=randread\nbs=4k\nsize=1m", BlockOp::Read, 256),
        ("rw=randwrite\nbs=4k\nsize=1m\nfsync=16", BlockOp::Write, 256),
        ("rw=write\nbs=64k\nsize=4m\nend_fsync=1", BlockOp::Write, 1024),
        ("rw=write\nbs=4k\nsize=1m\ndirect=1", BlockOp::Write, 256),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("[m]\nfilename={device}\nioengine=mmap\n{job}\n");
        let file = bench.scratch.write(&format!("m{number}.fio"), &text);
        let file = file.to_str().unwrap();
        let out = format!("m{number}.iodyno");
        let ours = ["run", file, "-o", &out, "--json", "--no-report", "--destroy", &device];
        let fio = testkit::TestCommand::new("fio").args(["--output=/dev/null", file]);
        for (who, command) in [("fio", fio), ("iodyno", bench.scratch.iodyno(&ours))] {
            let trace = TracepointCapture::start(bench.device.path(), Layer::Bios).unwrap();
            command.run().unwrap().expect_code(0);
            let capture = trace.stop();
            // The thread that calls msync, or the kernel, writes pages to the device; the job itself reads them.
            let own = |one: &testkit::BlockRecord| {
                op == BlockOp::Write
                    || one.comm.starts_with(match who {
                        "fio" => b"fio".as_slice(),
                        _ => b"iodyno-",
                    })
            };
            let records: Vec<_> = capture.records.into_iter().filter(own).collect();
            let found = pages(&records, op);
            // A sequential read reads ahead, behind the end of the part too.
            let meant: std::collections::BTreeSet<u64> = (0..count).collect();
            assert!(found.is_superset(&meant), "{who}, {job}: {} of {count} pages", found.intersection(&meant).count());
            assert!(found.len() == meant.len() || job.starts_with("rw=read"), "{who}, {job}: {} pages", found.len());
            if job.contains("direct=1") {
                let writes = records.iter().filter(|one| one.op == BlockOp::Write).count();
                assert!(writes as u64 >= count, "{who}: {writes} writes, each operation by itself");
            }
        }
        let description = bench.scratch.table(&out, "event").iter().any(|row| row.to_string().contains("mmap"));
        assert!(description, "the engine's line says what it is");
    }
}
