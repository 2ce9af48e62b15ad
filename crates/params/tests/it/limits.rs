//! Hostile parameter files end soon, with a sentence.

use params::{FileLoader, LoadError, MemoryLoader, PlanReading, VdbenchOptions, read_vdbench};
use std::path::{Path, PathBuf};

/// What takes longer hangs, in CPU time of the thread that reads: of these, the longest takes some seconds without optimisation.
const NS_MAX: u64 = if cfg!(debug_assertions) { 60_000_000_000 } else { 20_000_000_000 };

fn check(text: &str, codes: &[&str]) -> PlanReading {
    check_with(&[PathBuf::from("job.vdb")], &VdbenchOptions::default(), &MemoryLoader::one("job.vdb", text), codes)
}

fn check_with(files: &[PathBuf], options: &VdbenchOptions, loader: &dyn FileLoader, codes: &[&str]) -> PlanReading {
    let begun = quantity::clock::thread_cpu_ns();
    let reading = read_vdbench(files, options, loader);
    let took = quantity::clock::thread_cpu_ns() - begun;
    assert!(took < NS_MAX, "{took} ns");
    assert!(reading.diagnostics.len() <= 101, "{} findings", reading.diagnostics.len());
    for code in codes {
        let found = reading.diagnostics.iter().any(|found| found.code == *code);
        let codes: Vec<&str> = reading.diagnostics.iter().map(|found| found.code).collect();
        assert!(found, "no {code} in {codes:?}");
    }
    assert_eq!(reading.plan.is_none(), reading.errors() > 0);
    reading
}

const SD: &str = "sd=sd1,lun=/tmp/x,size=1g\n";

#[test]
fn lists_that_explode_are_refused() {
    let run = |rest: &str| format!("{SD}wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max,{rest}\n");
    check(&run("forthreads=(1-1000000000,1)"), &["too-much"]);
    check(&run("forxfersize=(512-1e300,512)"), &["too-much"]);
    check(&run("forthreads=(1-100,1),forrdpct=(0-100,1),forrhpct=(0-100,1)"), &["too-much"]);
    check(
        &run("forthreads=(1-10000,1),forrdpct=(0-100,0.01),forrhpct=(0-100,0.01),forwhpct=(0-100,0.01)"),
        &["too-much"],
    );
    check("sd=sd,lun=/tmp/x,count=(1,1e9),size=1g\nwd=wd1,sd=*\nrd=rd1,wd=wd1,iorate=max\n", &["out-of-range"]);
    check("sd=sd1,lun=/tmp/x\nwd=wd1,sd=(sd1-sd99999999999)\nrd=rd1,wd=wd1,iorate=max\n", &["range"]);
    let many = "sd=a,lun=/tmp/x,count=(1,16384),size=1g\nsd=b,lun=/tmp/x,count=(1,16384),size=1g\nwd=wd1,sd=*\nrd=rd1,wd=wd1,iorate=max\n";
    check(many, &["too-much"]);
    let deep =
        "sd=a,lun=/tmp/x,count=(1,10000),size=1g\nwd=wd1,sd=*\nrd=rd1,wd=wd1,iorate=max,forthreads=(1-10000,1)\n";
    check(deep, &["too-much"]);
    let sets = "sd=a,lun=/tmp/x,count=(1,16384),size=1g\nrd=rd1,sd=range,iorate=max\n";
    check(sets, &["too-much"]);
}

#[test]
fn templates_do_not_multiply() {
    let loops: String = ["threads", "files", "depth", "width", "totalsize", "sizes", "wss", "hitarea"]
        .iter()
        .map(|name| format!(",for{name}=(1000-11000,1)"))
        .collect();
    let runs: String = (0..4000).map(|number| format!("rd=rd{number}\n")).collect();
    check(&format!("{SD}wd=wd1,sd=sd1\nrd=default,wd=wd1,iorate=max{loops}\n{runs}"), &["too-much"]);
    let names = "sd1,".repeat(16_000);
    let works: String = (0..4000).map(|number| format!("wd=wd{number}\n")).collect();
    check(&format!("{SD}wd=default,sd=({names})\n{works}rd=rd1,wd=*,iorate=max\n"), &["too-much"]);
    let hosts: String = (0..10_000).map(|number| format!("hd=h{number}\n")).collect();
    let targets: String = (0..5000).map(|number| format!("sd=s{number}_$host,lun=/tmp/$host\n")).collect();
    check(&format!("{hosts}{targets}"), &["too-much"]);
    let long = "x".repeat(1000);
    check(&format!("sd={long},lun=/tmp/x\nrd={long},sd=*,iorate=max\n"), &["name"]);
    check(&format!("sd=sd1,lun=/{},count=(1,16384)\nrd=rd1,sd=*,iorate=max\n", "x".repeat(100_000)), &["path"]);
}

#[test]
fn many_mistakes_are_cut_short() {
    let reading = check(&"sd=sd1,lnu=/x\n".repeat(30_000), &["unknown-keyword", "more"]);
    assert!(reading.diagnostics.len() <= 101);
    check(&"sd=sd1,lun=/x\n".repeat(40_000), &["too-many-lines"]);
    check(&format!("sd=sd1,lun={}\n", "x".repeat(2 << 20)), &["long-line"]);
    let names: String = (0..16_000).map(|number| format!("sd=s{number},lun=/tmp/{number}\n")).collect();
    let wrong: String = (0..16_000).map(|number| format!("wd=w{number},sd=z{number}\n")).collect();
    check(&format!("{names}{wrong}rd=rd1,wd=*,iorate=max\n"), &["unknown-name"]);
    let line = format!("{}\n", "ab=c,".repeat(100_000));
    check(&line.repeat(100), &["too-much"]);
    let wd = format!("{SD}rd=rd1,{}\n", "sd=a\n".repeat(30_000));
    check(&wd, &["unknown-name"]);
}

#[test]
fn files_that_are_none_are_refused() {
    check("", &["no-runs"]);
    check("\n\n* nothing\n", &["no-runs"]);
    let message = |reading: &PlanReading| reading.diagnostics[0].message.clone();
    assert!(message(&check("sd=\0", &["cannot-read"])).contains("binary"));
    check(&String::from_utf8_lossy(&[0xff; 4000]), &["syntax"]);
    let reading = check_with(
        &[PathBuf::from("none.vdb")],
        &VdbenchOptions::default(),
        &MemoryLoader::default(),
        &["cannot-read"],
    );
    assert!(message(&reading).contains("no such file"));
    assert_eq!(
        params::render(&reading.diagnostics[0], &reading.sources),
        "none.vdb: error[cannot-read]: failed to read the parameter file: no such file"
    );
}

/// Says of every file that it is too large, as the disk does.
struct Huge;

impl FileLoader for Huge {
    fn load(&self, _: &Path) -> Result<Vec<u8>, LoadError> {
        Err(LoadError::TooLarge)
    }
}

#[test]
fn enormous_files_are_refused() {
    let reading = check_with(&[PathBuf::from("job.vdb")], &VdbenchOptions::default(), &Huge, &["cannot-read"]);
    assert!(reading.diagnostics[0].message.contains("64 MiB"));
    let sparse = tempfile::NamedTempFile::new().expect("a temporary file");
    sparse.as_file().set_len(params::FILE_BYTES_MAX + 1).expect("a sparse file");
    assert_eq!(params::DiskLoader.load(sparse.path()), Err(LoadError::TooLarge));
    assert_eq!(params::DiskLoader.load(Path::new("/dev/zero")), Err(LoadError::TooLarge));
    assert_eq!(params::DiskLoader.load(Path::new("/")), Err(LoadError::Directory));
    assert_eq!(params::DiskLoader.load(Path::new("/nowhere/x")), Err(LoadError::Missing));
}

#[test]
fn includes_do_not_run_in_circles() {
    check("include=job.vdb\n", &["include-cycle"]);
    let mut files = MemoryLoader::one("job.vdb", "include=a\n");
    files.0.insert("a".into(), b"include=b\n".to_vec());
    files.0.insert("b".into(), b"include=a\n".to_vec());
    check_with(&[PathBuf::from("job.vdb")], &VdbenchOptions::default(), &files, &["include-cycle"]);
    // Twenty files that include the next one twice: two to the twentieth lines.
    let mut files = MemoryLoader::one("job.vdb", "include=f0\ninclude=f0\n");
    for number in 0..14 {
        let next = number + 1;
        files.0.insert(format!("f{number}").into(), format!("include=f{next}\ninclude=f{next}\n").into_bytes());
    }
    files.0.insert("f14".into(), b"\n".to_vec());
    check_with(&[PathBuf::from("job.vdb")], &VdbenchOptions::default(), &files, &["too-many-lines"]);
}
