//! fio's engines for names: what of a job becomes what of a plan, what is refused, and that it is printed as it was read.

use crate::same::{first_difference, placeless};
use params::{JobSource, MemoryLoader, PlanReading, VdbenchOptions, print_fio, print_vdbench, read_fio};
use plan::generate::OperationKind;
use plan::{EntryJob, LayoutKind, Plan, StatCall, TreeNames, TreeTask};

fn read(text: &str) -> PlanReading {
    let source = JobSource::Text("<job>".to_string(), text.to_string());
    read_fio(&[source], &VdbenchOptions::default(), &MemoryLoader::default(), &|_| None)
}

fn job(text: &str) -> EntryJob {
    let reading = read(&format!("[j]\n{text}\n"));
    let plan = reading.plan.unwrap_or_else(|| panic!("{text}: {:?}", reading.diagnostics));
    plan.runs[0].workloads[0].load.tree().unwrap().entries.clone().unwrap()
}

#[test]
fn what_a_job_does_follows_from_its_options() {
    let plan: Plan = read(
        "[j]\nioengine=filestat\ndirectory=/d:/e\nnrfiles=5\nfilesize=4k\nnumjobs=2\nrate_iops=100\nstat_type=statx\n\
         filename_format=$jobname-$jobnum-$filenum.x\n",
    )
    .plan
    .unwrap();
    let workloads = &plan.runs[0].workloads;
    assert_eq!(workloads.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["j.0", "j.1"]);
    assert!(workloads.iter().all(|one| one.rate == Some(100.0)));
    let anchors: Vec<&str> = plan.trees.iter().map(|tree| tree.anchor.to_str().unwrap()).collect();
    assert_eq!(anchors, ["/d", "/e"]);
    let load = workloads[1].load.tree().unwrap();
    let (before, after) = ("j-1-".to_string(), ".x".to_string());
    assert_eq!(load.uses[0].shape.names, TreeNames::Numbered { before, after });
    assert_eq!(load.task, TreeTask::One(OperationKind::Getattr));
    assert_eq!(load.entries.as_ref().unwrap().stat, StatCall::Statx);
}

#[test]
fn how_many_operations_there_are_is_fios_arithmetic() {
    let count = |text: &str| job(&format!("ioengine=filestat\nnrfiles=6\n{text}")).operations;
    assert_eq!(count("filesize=4k"), Some(6));
    assert_eq!(count("filesize=4k\nloops=3"), Some(18));
    assert_eq!(count("filesize=4k\nsize=12k"), Some(3));
    assert_eq!(count("filesize=4k\nsize=1m"), Some(6));
    assert_eq!(count("size=30k"), Some(6));
    assert_eq!(count("size=24k\nio_size=32k"), Some(8));
    assert_eq!(count("size=24k\nio_size=8k\nloops=2"), Some(4));
    assert_eq!(count("filesize=4k\nio_size=28k\nloops=2"), Some(12));
    assert_eq!(count("size=24k\nio_size=60k\nloops=2"), Some(18));
    assert_eq!(count("filesize=4k\nnumber_ios=4\nloops=2"), Some(8));
    assert_eq!(count("filesize=4k\nnumber_ios=40"), Some(6));
    assert_eq!(count("filesize=4k\nruntime=5\ntime_based"), None);
    assert_eq!(count("filesize=4k\nruntime=5"), Some(6));
    let counted = job("ioengine=filecreate\nrw=write\nnrfiles=2\nfilesize=10k").counted;
    assert_eq!((counted.op, counted.ios, counted.bytes), (OperationKind::Write, 2, 8192));
}

#[test]
fn what_is_made_before_is_what_fio_makes() {
    let made = |text: &str| job(&format!("nrfiles=2\n{text}")).made;
    assert_eq!(made("ioengine=filestat\nfilesize=4k"), Some(LayoutKind::Filled));
    assert_eq!(made("ioengine=filedelete\nfilesize=4k\nrw=write"), Some(LayoutKind::Allocated));
    assert_eq!(made("ioengine=filedelete\nfilesize=4k\nrw=write\nfallocate=none"), Some(LayoutKind::Untouched));
    assert_eq!(made("ioengine=filestat\nfilesize=4k\ncreate_on_open=1"), None);
    assert_eq!(made("ioengine=filestat\nfilesize=4k\nallow_file_create=0"), None);
    assert_eq!(made("ioengine=filestat"), None);
    assert_eq!(made("ioengine=filecreate\nfilesize=4k"), None);
    assert_eq!(made("ioengine=dircreate"), None);
    assert_eq!(made("ioengine=dirstat"), Some(LayoutKind::Filled));
}

#[test]
fn what_cannot_be_had_is_refused_with_its_place() {
    let cases = [
        ("filesize=4k\nstartdelay=2", "startdelay"),
        ("filesize=4k\nthinktime=2", "thinktime"),
        ("filesize=4k\ncontinue_on_error=all", "continue_on_error"),
        ("filesize=4k\nexitall", "exitall"),
        ("filesize=4k\nrate_process=poisson", "rate_process"),
        ("filesize=4k\nrw=randrw", "reads or as writes"),
        ("filesize=4k\nrw=trim", "reads or as writes"),
        ("filesize=4k-8k", "range"),
        ("filesize=1k", "less than one bs"),
        ("size=8k", "less than one bs"),
        ("filesize=4k\nio_size=1k", "less than one bs"),
        ("size=50%", "percent"),
        ("filesize=4k\nbsrange=4k-8k", "of no size"),
        ("filesize=8k\nrate_iops=100", "2 I/Os for each file"),
        ("filesize=8k\nnumber_ios=2", "2 I/Os for each file"),
        ("filesize=4k\nfilename=/a:/b", "filename"),
        ("filesize=4k\nfilename_format=x", "$filenum once"),
        ("filesize=4k\nfilename_format=a/$filenum", "directory in it"),
        ("filesize=4k\nnumjobs=2\nfilename_format=f.$filenum", "same names"),
        ("filesize=4k\nreadonly", "readonly"),
        ("filesize=4k\nstat_type=what", "stat, lstat, statx"),
        ("filesize=4k\n[other]\nrw=read\nfilename=/x\nsize=1m", "engine for names"),
    ];
    for (text, part) in cases {
        let reading = read(&format!("[j]\nioengine=filedelete\nnrfiles=3\n{text}\n"));
        let said: Vec<String> =
            reading.diagnostics.iter().map(|found| format!("{} {:?}", found.message, found.help)).collect();
        assert!(reading.plan.is_none(), "{text}: {said:?}");
        assert!(said.iter().any(|one| one.contains(part)), "{text}: {said:?}");
    }
}

#[test]
fn a_job_is_printed_as_it_was_read() {
    let engines = ["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"];
    let lines = [
        "filesize=4k",
        "",
        "nrfiles=5\nsize=40k\nrw=write",
        "nrfiles=5\nfilesize=12k\nrw=write\nfallocate=none\nnumjobs=3",
        "nrfiles=5\nfilesize=8k\nbs=8k\nloops=4\nfile_service_type=random\nunlink=1",
        "nrfiles=5\nfilesize=4k\nnumber_ios=3\nfilename_format=$jobname_$filenum.x\ncreate_on_open=1",
        "nrfiles=5\nfilesize=4k\nio_size=32k\ndirectory=/a:/b\nnumjobs=3",
        "nrfiles=5\nfilesize=4k\nruntime=20\ntime_based\nrate_iops=300\nstat_type=lstat\nnumjobs=2",
        "nrfiles=5\nfilesize=4k\nruntime=20\nramp_time=2\nrate=40k\nstat_type=statx\nrw=write\noverwrite=1",
    ];
    for engine in engines {
        for line in lines {
            // Copies that are sections of their own have no name without a number.
            let second = if line.contains("/a:/b") { "b" } else { "b.1" };
            let text =
                format!("[a job]\nioengine={engine}\n{line}\n[{second}]\nstonewall\nioengine={engine}\n{line}\n");
            let reading = read(&text);
            let plan = reading.plan.unwrap_or_else(|| panic!("{text}: {:?}", reading.diagnostics));
            let printed = print_fio(&plan);
            assert!(printed.unsaid.is_empty(), "{text}: {:?}", printed.unsaid);
            let again = read(&printed.text);
            let second = again.plan.unwrap_or_else(|| panic!("{}: {:?}", printed.text, again.diagnostics));
            let (first, second) = (placeless(plan), placeless(second));
            assert!(first == second, "{text}\n->\n{}\n{}", printed.text, first_difference(&first, &second));
            let vdbench = print_vdbench(&first);
            assert_eq!(vdbench.unsaid.iter().filter(|one| one.contains("works on names")).count(), 2, "{vdbench:?}");
        }
    }
}
