//! Data validation in both languages: what becomes settings of the plan, what is refused and where, and that it is printed as it
//! was read.

use crate::same::{first_difference, placeless};
use params::{
    DiagnosticSeverity, JobSource, MemoryLoader, PlanReading, VdbenchOptions, print_fio, print_vdbench, read_fio,
    read_vdbench, render, validation_of_flags,
};
use plan::{JournalSettings, Plan, ValidationSettings};
use std::path::PathBuf;

const SD: &str = "sd=sd1,lun=/tmp/x,size=1g\n";
const RUN: &str = "wd=wd1,sd=sd1,rdpct=50\nrd=rd1,wd=wd1,iorate=max\n";

fn vdbench_with(text: &str, options: &VdbenchOptions) -> PlanReading {
    read_vdbench(&[PathBuf::from("job.vdb")], options, &MemoryLoader::one("job.vdb", text.to_string()))
}

fn vdbench(text: &str) -> PlanReading {
    vdbench_with(text, &VdbenchOptions::default())
}

fn fio_with(text: &str, options: &VdbenchOptions) -> PlanReading {
    let source = JobSource::Text("<job>".to_string(), text.to_string());
    read_fio(&[source], options, &MemoryLoader::default(), &|_| None)
}

fn fio(text: &str) -> PlanReading {
    fio_with(text, &VdbenchOptions::default())
}

fn shown(reading: &PlanReading) -> String {
    reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect::<Vec<_>>().join("\n")
}

fn plan_of(reading: PlanReading) -> Plan {
    let text = shown(&reading);
    reading.plan.unwrap_or_else(|| panic!("{text}"))
}

/// What Vdbench does unless it is told otherwise.
fn usual() -> ValidationSettings {
    ValidationSettings { reads_before_write: true, ..ValidationSettings::default() }
}

fn journal(journal: JournalSettings) -> Option<ValidationSettings> {
    Some(ValidationSettings { journal: Some(journal), ..usual() })
}

#[test]
fn words_of_vdbench_are_settings() {
    let settings = |general: &str| plan_of(vdbench(&format!("{general}{SD}{RUN}"))).settings.validation;
    assert_eq!(settings(""), None);
    for (text, expect) in [
        ("validate=yes\n", usual()),
        ("val=y\n", usual()),
        ("validate=read_after_write\n", ValidationSettings { reads_after_write: true, ..usual() }),
        ("validate=no_preread\n", ValidationSettings { reads_before_write: false, ..usual() }),
        ("validate=(yes,time)\n", ValidationSettings { keeps_times: true, ..usual() }),
        (
            "validate=(no_preread,read,time)\n",
            ValidationSettings { reads_before_write: false, reads_after_write: true, keeps_times: true, ..usual() },
        ),
        ("validate=no\nvalidate=yes\n", usual()),
        ("validate=ignore_zero_reads\n", usual()),
    ] {
        assert_eq!(settings(text), Some(expect), "{text}");
    }
    for text in ["validate=no\n", "validate=(time,no)\n", "validate=yes\nvalidate=no\n", "journal=no\n"] {
        assert_eq!(settings(text), None, "{text}");
    }
    // A journal is one of validated data.
    let plain = JournalSettings::default();
    let recovers = JournalSettings { recovers: true, ..plain.clone() };
    for (text, expect) in [
        ("journal=yes\n", journal(plain.clone())),
        ("journal=recover\n", journal(recovers.clone())),
        ("journal=(recover,only)\n", journal(JournalSettings { recovers_only: true, ..recovers.clone() })),
        ("journal=(yes,max=8m)\n", journal(JournalSettings { checkpoint_bytes: Some(8 << 20), ..plain.clone() })),
        ("journal=(noflush,maponly,skip_read_all,ignore_pending)\n", journal(plain.clone())),
        ("validate=yes\njournal=yes\njournal=no\n", Some(usual())),
        ("journal=yes\nvalidate=no\n", None),
    ] {
        assert_eq!(settings(text), expect, "{text}");
    }
}

#[test]
fn what_means_nothing_here_is_said_once() {
    let text = format!(
        "validate=(ignore_zero_reads,reportdedupsets)\njournal=(noflush,maponly,skip_read_all,ignore_pending)\n{SD}{RUN}"
    );
    let reading = vdbench(&text);
    assert_eq!(reading.diagnostics.len(), 6, "{}", shown(&reading));
    assert!(reading.diagnostics.iter().all(|found| found.severity == DiagnosticSeverity::Note));
}

#[test]
fn a_journal_is_where_an_sd_says() {
    let place = |sds: &str| {
        let text = format!("journal=yes\n{sds}wd=wd1,sd=sd*\nrd=rd1,wd=wd1,iorate=max\n");
        plan_of(vdbench(&text)).settings.validation.unwrap().journal.unwrap().directory
    };
    assert_eq!(place("sd=sd1,lun=/tmp/x,size=1g\n"), None);
    assert_eq!(place("sd=sd1,lun=/tmp/x,size=1g,journal=/ssd/j\n"), Some(PathBuf::from("/ssd/j")));
    assert_eq!(
        place("sd=default,journal=/ssd/j\nsd=sd1,lun=/tmp/x,size=1g\nsd=sd2,lun=/tmp/y,size=1g\n"),
        Some(PathBuf::from("/ssd/j"))
    );
    // Without journaling it is only a place.
    let plan = plan_of(vdbench(&format!("validate=yes\nsd=sd1,lun=/tmp/x,size=1g,journal=/ssd/j\n{RUN}")));
    assert_eq!(plan.settings.validation, Some(usual()));
}

#[test]
fn flags_and_files_add_up() {
    let flags = |validate: Option<&str>, journal: Option<&str>| VdbenchOptions {
        validation: validation_of_flags(validate, journal).unwrap().0,
        ..VdbenchOptions::default()
    };
    let of = |general: &str, options: &VdbenchOptions| {
        plan_of(vdbench_with(&format!("{general}{SD}{RUN}"), options)).settings.validation
    };
    let after = ValidationSettings { reads_after_write: true, ..usual() };
    assert_eq!(of("", &flags(Some("r"), None)), Some(after.clone()));
    assert_eq!(of("validate=time\n", &flags(Some("r"), None)), Some(ValidationSettings { keeps_times: true, ..after }));
    // As in Vdbench, the file comes behind the flags.
    assert_eq!(of("validate=no\n", &flags(Some("r"), None)), None);
    let recovers_only = JournalSettings { recovers: true, recovers_only: true, ..JournalSettings::default() };
    assert_eq!(of("", &flags(None, Some("ro"))), journal(recovers_only));

    let job = "[j]\nfilename=/tmp/x\nsize=1m\nrw=write\n";
    let of_fio = |text: &str, options: &VdbenchOptions| plan_of(fio_with(text, options)).settings.validation.unwrap();
    assert_eq!(of_fio(job, &flags(Some(""), None)), usual());
    let both = of_fio(&format!("{job}verify=md5\nverify_backlog=8\ndo_verify=0\n"), &flags(Some("t"), Some("")));
    let expect = ValidationSettings { reads_after_write: true, keeps_times: true, ..usual() };
    assert_eq!(both, ValidationSettings { journal: Some(JournalSettings::default()), ..expect });
}

/// `(text, a part of the message, line, column)` of what is an error.
fn refusals(read: impl Fn(&str) -> PlanReading, cases: &[(&str, &str, u32)]) {
    for (text, message, line) in cases {
        let reading = read(text);
        let all = shown(&reading);
        assert!(reading.plan.is_none(), "{text}\n{all}");
        let found = reading.diagnostics.iter().find(|found| found.message.contains(message));
        let found = found.unwrap_or_else(|| panic!("{text}\n{all}"));
        assert!(found.severity == DiagnosticSeverity::Error && found.help.is_some(), "{text}\n{all}");
        assert!(render(found, &reading.sources).contains(&format!(":{line}:")), "{text}\n{all}");
    }
}

#[test]
fn what_vdbench_cannot_validate_is_refused_with_its_place() {
    let text = |general: &str, work: &str, run: &str| {
        format!("{general}{SD}wd=wd1,sd=sd1{work}\nrd=rd1,wd=wd1,iorate=max{run}\n")
    };
    refusals(
        vdbench,
        &[
            (&text("validate=yes\npattern=/tmp/p\n", "", ""), "pattern= and data validation", 2),
            (&text("pattern=/tmp/p\njournal=yes\n", "", ""), "pattern= and data validation", 1),
            (&text("validate=yes\n", "", ",forcompratio=(1,2)"), "forcompratio=", 4),
            (&text("validate=continue_old_map\n", "", ""), "refused by Vdbench as well", 1),
            (&text("validate=yes\njournal=only\n", "", ""), "about recovery", 2),
            (
                "journal=yes\nsd=sd1,lun=/tmp/x,size=1g,journal=/a\nsd=sd2,lun=/tmp/y,size=1g,journal=/b\nwd=wd1,sd=*\nrd=rd1,wd=wd1,iorate=max\n",
                "journal=/b here, and journal=/a",
                3,
            ),
            (
                "journal=yes\nsd=sd1,lun=/tmp/x,size=1g,journal=/dev/sdq\nwd=wd1,sd=*\nrd=rd1,wd=wd1,iorate=max\n",
                "no raw device",
                2,
            ),
        ],
    );
    // Without validation all of it runs.
    assert!(vdbench(&text("pattern=/tmp/p\n", "", "")).plan.is_some());
    assert!(vdbench(&text("", "", ",forcompratio=(1,2)")).plan.is_some());
}

#[test]
fn what_is_not_built_has_a_sentence() {
    let sentences =
        |reading: PlanReading| plan_of(reading).unsupported.iter().map(|one| one.sentence.clone()).collect::<Vec<_>>();
    assert_eq!(sentences(vdbench(&format!("validate=yes\n{SD}{RUN}"))), Vec::<String>::new());
    let tree = "fsd=fsd1,anchor=/tmp/t,depth=1,width=1,files=2,size=8k\nfwd=fwd1,fsd=fsd1,operation=read,xfersize=4k\n\
                rd=rd1,fwd=fwd1,fwdrate=10,format=yes\n";
    let journaled = vdbench(&format!("journal=yes\n{}", tree.replace("size=8k", "size=8k,journal=/ssd/j")));
    let journal = plan_of(journaled).settings.validation.and_then(|settings| settings.journal).unwrap();
    assert_eq!(journal.directory.as_deref(), Some(std::path::Path::new("/ssd/j")));
    assert_eq!(sentences(vdbench(&format!("journal=yes\n{tree}"))), Vec::<String>::new());
    assert_eq!(sentences(vdbench(&format!("validate=yes\n{tree}"))), Vec::<String>::new());
}

#[test]
fn options_of_fio_are_settings() {
    let settings = |text: &str| plan_of(fio(text)).settings;
    let job = |text: &str| settings(&format!("[j]\nfilename=/tmp/x\nsize=1m\n{text}\n")).validation;
    let at_end = ValidationSettings::default();
    let written = ValidationSettings { sweeps: false, ..at_end.clone() };
    let read = ValidationSettings { sweeps: false, checks_unknown: true, ..at_end.clone() };
    for method in [
        "md5",
        "crc64",
        "crc32",
        "crc32c",
        "crc32c-intel",
        "crc16",
        "crc7",
        "sha1",
        "sha256",
        "sha512",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "xxhash",
        "meta",
        "pattern_hdr",
    ] {
        assert_eq!(job(&format!("rw=write\nverify={method}")), Some(at_end.clone()), "{method}");
    }
    for method in ["0", "none", "null"] {
        assert_eq!(job(&format!("rw=write\nverify={method}")), None, "{method}");
    }
    for (text, expect) in [
        ("rw=randrw\nverify=md5\ndo_verify=1", &at_end),
        ("rw=write\nverify=md5\ndo_verify=0", &written),
        ("rw=read\nverify=md5", &read),
        ("rw=randread\nverify=md5\ndo_verify=0\nverify_state_load=1", &read),
        ("rw=write\nverify=md5\nverify_only", &read),
        ("rw=write\nverify_pattern=0xaa", &at_end),
        (
            "rw=randtrim\nverify=md5\ntrim_verify_zero=1",
            &ValidationSettings { trims_read_zero: Some(true), ..at_end.clone() },
        ),
        ("rw=trim\nverify=md5", &at_end),
        ("rw=trim\nverify=md5\ndo_verify=0", &written),
        (
            "rw=write\nverify=md5\nverify_backlog=1024",
            &ValidationSettings { reads_after_write: true, ..at_end.clone() },
        ),
        ("rw=write\nverify=md5\nverify_backlog=0", &at_end),
        ("rw=randwrite\nverify=md5\nnorandommap\niodepth=8\nioengine=libaio\nbsrange=512-64k", &at_end),
    ] {
        assert_eq!(job(text).as_ref(), Some(expect), "{text}");
    }
    let limit = |text: &str| settings(&format!("[j]\nfilename=/tmp/x\nsize=1m\nrw=write\n{text}\n")).errors_max;
    assert_eq!(limit("verify=md5"), plan::PlanSettings::default().errors_max);
    assert_eq!(limit("verify=md5\nverify_fatal=1"), 0);
    assert_eq!(limit("verify=md5\ncontinue_on_error=verify"), 1 << 40);
    assert_eq!(limit("verify=md5\ncontinue_on_error=write"), plan::PlanSettings::default().errors_max);
    // What an earlier run wrote is never filled anew, not even where it has holes.
    let layout = |text: &str| {
        let plan = plan_of(fio(&format!("[j]\nfilename=/tmp/x\nsize=1m\n{text}\n")));
        plan.targets[0].layout.unwrap().how
    };
    assert_eq!(layout("rw=read"), plan::LayoutKind::Filled);
    for text in ["rw=read\nverify=md5", "rw=write\nverify=md5\nverify_only"] {
        assert_eq!(layout(text), plan::LayoutKind::Sparse, "{text}");
    }
    // Writes that are only pretended become reads of the same places.
    let plan = plan_of(fio("[j]\nfilename=/tmp/x\nsize=1m\nrw=randwrite\nverify=md5\nverify_only\n"));
    assert_eq!((plan.runs[0].workloads[0].mix.read, plan.runs[0].workloads[0].mix.write), (1.0, 0.0));
}

#[test]
fn settings_of_several_jobs_of_fio_are_those_of_the_plan() {
    let read = |text: &str| {
        let reading = fio(&format!("[global]\nfilename=/tmp/x\nsize=1m\n{text}"));
        let warnings = reading.diagnostics.iter().filter(|one| one.severity == DiagnosticSeverity::Warning).count();
        (plan_of(reading).settings.validation.unwrap(), warnings)
    };
    // What one asks for holds for all.
    let (settings, warnings) = read(
        "[a]\nrw=write\nverify=md5\ndo_verify=0\n[b]\nstonewall\nrw=write\nverify=md5\nverify_backlog=1\n[c]\nrw=write\n",
    );
    assert_eq!(
        (settings.sweeps, settings.reads_after_write, settings.checks_unknown, warnings),
        (true, true, false, 0)
    );
    // Written without being read, and read by another job.
    let (settings, warnings) = read("[w]\nrw=write\nverify=md5\ndo_verify=0\n[r]\nstonewall\nrw=read\nverify=md5\n");
    assert_eq!((settings.sweeps, settings.checks_unknown, warnings), (false, true, 0));
    // Each job expects for itself: one that reads blocks without a stamp raises no alarm.
    for other in ["rw=read", "rw=randrw\nverify=md5", "rw=randrw"] {
        let text = format!("[global]\nfilename=/tmp/x\nsize=1m\n[r]\nrw=read\nverify=md5\n[other]\n{other}\n");
        let plan = plan_of(fio(&text));
        assert!(plan.settings.validation.unwrap().checks_unknown, "{other}");
        let expects = |at: usize| plan.runs[0].workloads[at].job.as_ref().unwrap().checks_unknown;
        assert_eq!((expects(0), expects(1)), (true, false), "{other}");
        assert_eq!(read(text.trim_start_matches("[global]\nfilename=/tmp/x\nsize=1m\n")).1, 0, "{other}: no warning");
    }
    // Where nothing is done, nothing is checked.
    let plan = plan_of(fio("[n]\nioengine=null\nsize=1m\nrw=randwrite\nverify=crc32c\nverify_backlog=1m\n"));
    assert_eq!(plan.settings.validation, None);
}

#[test]
fn what_fio_cannot_validate_here_is_refused_with_its_place() {
    let job = |text: &str| format!("[j]\nfilename=/tmp/x\nsize=1m\nrw=write\nverify=md5\n{text}\n");
    refusals(
        fio,
        &[
            (&job("verify=pattern\nverify_pattern=0xaa"), "`verify=pattern`", 6),
            (&job("buffer_pattern=\"abc\""), "`buffer_pattern` beside `verify`", 6),
            (&job("zero_buffers"), "`zero_buffers` beside `verify`", 6),
            (&job("verify=md6"), "`md6` is none of", 6),
            (&job("bs=1000"), "1000 is no multiple", 6),
            (&job("bssplit=4k/50:700/50"), "700 is no multiple", 6),
            (&job("bsrange=1k-64k\nbs_unaligned"), "unaligned", 7),
            (&job("ioengine=mmap"), "memory", 6),
            (&job("trim_percentage=10\ntrim_backlog=8"), "`trim_percentage`", 6),
            (&job("verify_only\ntime_based\nruntime=5"), "`verify_only`", 6),
            (&job("rw=randrw\nverify_only"), "`verify_only`", 7),
            (&job("verify=0\nverify_only"), "`verify_only` needs", 7),
            // Of all jobs, whichever asked.
            (
                &format!("{}[k]\nfilename=/tmp/y\nrw=write\nsize=1m\nbuffer_pattern=0xaa\n", job("")),
                "`buffer_pattern`",
                11,
            ),
        ],
    );
    // Without validation all of it runs, and so does what does nothing in fio either.
    for text in
        ["verify=0\nbuffer_pattern=\"abc\"", "verify=0\nbs=1000", "trim_percentage=10", "verify=0\nioengine=mmap"]
    {
        assert!(fio(&job(text)).plan.is_some(), "{text}");
    }
}

#[test]
fn what_only_tunes_fio_is_noted() {
    let lines = [
        "verify_dump=1",
        "verify_async=4",
        "verify_async_cpus=0-3",
        "verify_interval=512",
        "verify_offset=64",
        "verify_backlog_batch=8",
        "verify_state_save=1",
        "verify_state_load=1",
        "experimental_verify=1",
        "verify_write_sequence=1",
        "verify_header_seed=1",
        "verify_policy=fsynced",
        "trim_backlog_batch=4",
    ];
    let reading = fio(&format!("[j]\nfilename=/tmp/x\nsize=1m\nrw=write\nverify=md5\n{}\n", lines.join("\n")));
    assert_eq!(reading.diagnostics.len(), lines.len(), "{}", shown(&reading));
    assert!(reading.diagnostics.iter().all(|found| found.severity == DiagnosticSeverity::Note));
    assert_eq!(plan_of(reading).settings.validation, Some(ValidationSettings::default()));
    // What belongs to an absent `verify` is noted as well.
    let reading = fio("[j]\nfilename=/tmp/x\nsize=1m\nrw=write\nverify_backlog=8\ndo_verify=1\n");
    assert_eq!(reading.diagnostics.len(), 2, "{}", shown(&reading));
    assert_eq!(plan_of(reading).settings.validation, None);
}

#[test]
fn settings_of_vdbench_come_back() {
    for general in [
        "validate=yes\n",
        "validate=(read_after_write,time)\n",
        "validate=no_preread\n",
        "validate=(no_preread,read_after_write,time)\ndata_errors=3\n",
        "journal=yes\n",
        "validate=no_preread\njournal=(recover,only,max=64m)\n",
    ] {
        for place in ["", ",journal=/ssd/j", ",journal=\"/ssd/a b\""] {
            let text = format!("{general}sd=sd1,lun=/tmp/x,size=1g{place}\nsd=sd2,lun=/tmp/y,size=1g{place}\n{RUN}");
            let plan = plan_of(vdbench(&text));
            let printed = print_vdbench(&plan);
            assert_eq!(printed.unsaid, Vec::<String>::new(), "{text}");
            let (first, second) = (placeless(plan), placeless(plan_of(vdbench(&printed.text))));
            assert!(first == second, "{text}->\n{}\n{}", printed.text, first_difference(&first, &second));
        }
    }
}

#[test]
fn settings_of_fio_come_back() {
    for jobs in [
        "[a]\nrw=write\nverify=md5\n",
        "[a]\nrw=randrw\nverify=md5\ndo_verify=0\nverify_backlog=5\n",
        "[a]\nrw=read\nverify=md5\nverify_fatal=1\n",
        "[a]\nrw=write\nverify=md5\ndo_verify=0\n[b]\nstonewall\nrw=read\nverify=md5\n",
        "[a]\nrw=randwrite\nverify=md5\ncontinue_on_error=verify\nnumjobs=3\n[b]\nrw=read\n",
        "[a]\nrw=randtrim\nverify=md5\ntrim_verify_zero=1\n[b]\nrw=write\n",
        "[a]\nrw=write\nverify=md5\nverify_only\n",
        "[a]\nrw=read\nverify=md5\n[b]\nrw=randrw\nverify=md5\n",
        "[a]\nrw=read\nverify=md5\n[b]\nrw=read\n",
    ] {
        let text = format!("[global]\nfilename=/tmp/x\nsize=1m\n{jobs}");
        let plan = plan_of(fio(&text));
        assert!(plan.settings.validation.is_some());
        let printed = print_fio(&plan);
        assert_eq!(printed.unsaid, Vec::<String>::new(), "{text}");
        let (first, second) = (placeless(plan), placeless(plan_of(fio(&printed.text))));
        assert!(first == second, "{text}->\n{}\n{}", printed.text, first_difference(&first, &second));
    }
}

#[test]
fn what_the_other_language_cannot_say_is_listed() {
    let of_vdbench = plan_of(vdbench(&format!("validate=time\njournal=yes\n{SD}{RUN}")));
    let printed = print_fio(&of_vdbench);
    for flag in ["use -v", "use -vt", "use -j"] {
        assert!(printed.unsaid.iter().any(|one| one.ends_with(flag)), "{flag}: {:?}", printed.unsaid);
    }
    let again = plan_of(fio(&printed.text)).settings.validation;
    assert_eq!(again, Some(ValidationSettings::default()), "{}", printed.text);

    let of_fio = plan_of(fio("[a]\nfilename=/tmp/x\nsize=1m\nrw=write\nverify=md5\ndo_verify=0\nverify_backlog=1\n"));
    let printed = print_vdbench(&of_fio);
    assert!(printed.unsaid.iter().any(|one| one.contains("not read at the end")), "{:?}", printed.unsaid);
    let again = plan_of(vdbench(&printed.text)).settings.validation.unwrap();
    assert_eq!((again.reads_before_write, again.reads_after_write), (false, true), "{}", printed.text);

    // No job would hold the option.
    let reads = "sd=sd1,lun=/tmp/x,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\nrd=rd1,wd=wd1,iorate=max,elapsed=5,interval=1\n";
    let only = plan_of(vdbench(&format!("validate=yes\n{reads}")));
    assert!(print_fio(&only).unsaid.iter().any(|one| one.contains("data validation (verify)")));
}
