//! Devices that iodyno has written, by every kind of load, are written again without `--destroy`; what others wrote among
//! it is not.
#![allow(clippy::unwrap_used, clippy::allow_attributes, reason = "helpers of tests")]

mod support;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use support::Scratch;
use testkit::LoopDevice;

const MIB: u64 = 1 << 20;

/// Options of fio: each load ends by itself after some hundred I/Os.
const LOADS: [&str; 12] = [
    "--rw=randwrite --bs=4k --io_size=2m --iodepth=16 --direct=1",
    "--rw=write --bs=512 --io_size=128k --direct=1",
    "--rw=randwrite --bs=512 --io_size=128k --direct=1",
    "--rw=randwrite --bsrange=512-66048 --blockalign=512 --io_size=16m --direct=1",
    "--rw=write --bs=1536 --io_size=300k --offset=3584 --direct=1",
    "--rw=randwrite --bs=8k --io_size=4m --direct=0",
    "--rw=randtrim --bs=64k --io_size=16m",
    "--rw=trimwrite --bs=64k --io_size=16m --direct=1",
    "--rw=randrw --bs=16k --io_size=16m --buffer_compress_percentage=95 --direct=1",
    "--rw=randwrite --bs=4k --io_size=2m --dedupe_percentage=80 --buffer_compress_percentage=50 --direct=1",
    "--rw=write --bs=1m --io_size=40m --offset=20m --direct=1",
    "--rw=write --bs=256k --direct=1",
];

#[test]
fn devices_that_iodyno_wrote_are_written_again() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    // One that is inspected whole, and one that is sampled; sectors of 512 bytes and of 4096.
    for (bytes, sector) in [(16 * MIB, "4096"), (200 * MIB + 7 * 4096, "512")] {
        let image = scratch.path("disk");
        std::fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        let device = LoopDevice::with_options(&image, &["--direct-io=on", &format!("--sector-size={sector}")])
            .or_else(|_| LoopDevice::with_options(&image, &[&format!("--sector-size={sector}")]))
            .unwrap();
        let name = device.path().to_str().unwrap();
        let small = |load: &&&str| sector == "512" || !(load.contains("=512") || load.contains("1536"));
        let jobs: Vec<String> = LOADS
            .iter()
            .filter(small)
            .filter(|load| bytes > 64 * MIB || !load.contains("offset=20m"))
            .enumerate()
            .map(|(index, load)| format!("[load{index}]\nstonewall\n{}\n", load.replace(' ', "\n").replace("--", "")))
            .collect();
        let file = scratch.write("loads.fio", &format!("[global]\nfilename={name}\n{}", jobs.concat()));
        let run = || {
            let output = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", "out", "--no-report"]).run().unwrap();
            let _ = std::fs::remove_dir_all(scratch.path("out"));
            output
        };
        for time in 1..=2 {
            let output = run();
            assert_eq!(output.code, Some(0), "{bytes} bytes, time {time}: {}", output.stderr);
        }
        let text = format!(
            "compratio=3.7\ndedupratio=2\ndedupunit=4k\nsd=sd1,lun={name}\nwd=wd1,sd=sd1,xfersize=(4k,50,12k,50),rdpct=30\n\
             rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1,maxops=300\n"
        );
        scratch.run("vdbench", &text, &[]).expect_code(0);
        let _ = std::fs::remove_dir_all(scratch.path("vdbench"));
        // Among all that, a foreign sector.
        let file = OpenOptions::new().write(true).open(device.path()).unwrap();
        file.write_all_at(&[0x11; 4096], MIB).unwrap();
        drop(file);
        let output = run();
        assert_eq!(output.code, Some(7), "{}", output.stderr);
        assert!(output.stderr.contains("at byte 1048576"), "{}", output.stderr);
    }
}
