//! A plan printed as a job file and read again is the same plan.

use crate::same::{first_difference, placeless};
use params::{DiagnosticSeverity, JobSource, MemoryLoader, PlanReading, VdbenchOptions, print_fio, read_fio, render};
use proptest::prelude::*;

fn read(text: &str) -> PlanReading {
    let source = JobSource::Text("<job>".to_string(), text.to_string());
    read_fio(&[source], &VdbenchOptions::default(), &MemoryLoader::default(), &|_| None)
}

fn shown(reading: &PlanReading) -> String {
    let errors = reading.diagnostics.iter().filter(|found| found.severity == DiagnosticSeverity::Error);
    errors.map(|found| render(found, &reading.sources)).collect::<Vec<_>>().join("\n")
}

/// Reads, prints, reads: the plans are equal, or something is said to be unsaid. True when nothing was unsaid.
fn round(text: &str) -> Option<bool> {
    let plan = read(text).plan?;
    let printed = print_fio(&plan);
    let again = read(&printed.text);
    let Some(second) = again.plan.clone() else { panic!("{text}\n->\n{}\n{}", printed.text, shown(&again)) };
    let own = printed.unsaid.iter().all(|sentence| sentence.contains("iodyno's own"));
    if own {
        let (first, second) = (placeless(plan), placeless(second));
        assert!(first == second, "{text}\n->\n{}\n{}", printed.text, first_difference(&first, &second));
    }
    Some(own)
}

/// One line of an option with values that go together with most others.
#[expect(clippy::too_many_lines, reason = "one line per option")]
fn line() -> impl Strategy<Value = String> {
    let choices: Vec<(&str, &[&str])> = vec![
        (
            "rw",
            &[
                "read",
                "write",
                "randread",
                "randwrite",
                "rw",
                "randrw",
                "trim",
                "randtrim",
                "trimwrite",
                "randtrimwrite",
                "read:8k",
                "rw:12k",
                "randread:4",
                "write:-8k",
                "read:-16k",
            ],
        ),
        ("rwmixread", &["0", "10", "33", "70", "100"]),
        ("rwmixwrite", &["25", "66.6"]),
        ("bs", &["512", "4k", "8k,16k", ",64k", "4k,,8k", "1m"]),
        ("bsrange", &["4k-64k", "4k-8k,16k-32k", "8k-8k", "1m:512", "4k-10k"]),
        ("bssplit", &["4k/70:64k/30", "4k/10:8k:16k:32k", "4k/33:64k/67,8k", "16k/50:,"]),
        ("blockalign", &["4k", "64k", "512,8k"]),
        ("norandommap", &["1", "0"]),
        ("bs_unaligned", &["1"]),
        (
            "random_distribution",
            &[
                "random",
                "zipf:1.2",
                "zipf:0.7",
                "pareto:0.3",
                "normal:12.5",
                "zoned:60/10:30/20:10/70",
                "zoned_abs:50/1m:30/2m:20/1m",
            ],
        ),
        ("percentage_random", &["60", "33.3"]),
        ("filename", &["/tmp/a", "/tmp/a:/tmp/b", r"/tmp/c\:d"]),
        ("nrfiles", &["1", "3"]),
        ("filesize", &["64m", "8m-16m"]),
        ("fallocate", &["none", "keep", "truncate"]),
        ("overwrite", &["1"]),
        ("invalidate", &["0"]),
        ("fadvise_hint", &["0", "sequential", "1"]),
        ("random_generator", &["lfsr", "tausworthe64"]),
        ("size", &["64m", "1g", "50%", "10000001"]),
        ("io_size", &["16m", "25%", "1t"]),
        ("offset", &["1m", "25%", "0"]),
        ("offset_increment", &["2m", "5%"]),
        ("file_service_type", &["random", "random:4", "roundrobin:3", "sequential"]),
        ("direct", &["1", "0"]),
        ("sync", &["1", "dsync"]),
        ("end_fsync", &["1"]),
        ("fsync", &["8"]),
        ("fdatasync", &["3"]),
        ("unlink", &["1"]),
        ("allow_file_create", &["0"]),
        ("zero_buffers", &["1"]),
        ("buffer_pattern", &["\"abc\"", "0xdeadbeef", "\"x\"0x0a12"]),
        ("buffer_compress_percentage", &["50", "33", "77.7"]),
        ("dedupe_percentage", &["20", "66"]),
        ("ioengine", &["mmap", "io_uring", "libaio", "psync"]),
        ("iodepth", &["1", "16", "100"]),
        ("iodepth_low", &["0", "4"]),
        ("numjobs", &["1", "3"]),
        ("rate", &["1m", "1000001,999", "10m,1m", ",500k", "1m,"]),
        ("rate_iops", &["1000", "700,301"]),
        ("rate_process", &["poisson", "linear"]),
        ("rate_min", &["1k"]),
        ("rate_iops_min", &["10,20"]),
        ("thinktime", &["500", "2ms"]),
        ("thinktime_blocks", &["8"]),
        ("thinktime_iotime", &["100ms"]),
        ("latency_target", &["2000"]),
        ("latency_window", &["1s"]),
        ("latency_percentile", &["99.9"]),
        ("latency_run", &["1"]),
        ("flow", &["8", "1.5"]),
        ("flow_id", &["3"]),
        ("max_latency", &["50ms", "123ns", "0,1s", "1ms,,2ms"]),
        ("continue_on_error", &["io", "all", "verify"]),
        ("ignore_error", &["EIO:ENOSPC", ",84", ",,84:5", "5,5"]),
        ("exitall", &["1"]),
        ("exitall_on_error", &["1"]),
        ("exit_what", &["stonewall", "all"]),
        ("new_group", &["1"]),
        ("pre_read", &["1"]),
        ("create_only", &["1"]),
        ("serialize_overlap", &["1"]),
        ("fail_if", &["errors > 0"]),
        ("verify", &["md5", "crc32c", "0"]),
        ("do_verify", &["0"]),
        ("verify_backlog", &["16"]),
        ("verify_fatal", &["1"]),
        ("trim_verify_zero", &["1"]),
        ("runtime", &["30", "2m", "1500ms"]),
        ("time_based", &["1"]),
        ("ramp_time", &["5"]),
        ("startdelay", &["10", "1-3"]),
        ("loops", &["3"]),
        ("number_ios", &["1000", "2k"]),
        ("steadystate", &["iops:5%", "bw_slope:1m", "lat:100us"]),
        ("steadystate_duration", &["60"]),
        ("cpus_allowed", &["0-1,3"]),
        ("cpus_allowed_policy", &["split"]),
        ("numa_cpu_nodes", &["0"]),
        ("prio", &["4"]),
        ("prioclass", &["3"]),
        ("nice", &["-5", "10"]),
        ("randseed", &["77"]),
        ("randrepeat", &["0", "1"]),
        ("cmdprio_percentage", &["10", "0,50"]),
        ("cmdprio_class", &["2", "1,3"]),
        ("cmdprio", &["4"]),
        ("cmdprio_bssplit", &["4k/10:64k/50/2/7", "4k/20,8k/100/3/0"]),
        ("zonemode", &["strided\nzonesize=64k"]),
        ("zonerange", &["128k", "16k"]),
        ("zoneskip", &["64k"]),
        ("dedupe_mode", &["working_set", "repeat"]),
        ("dedupe_working_set_percentage", &["10"]),
        ("dedupe_global", &["1"]),
        ("exec_prerun", &["sync"]),
        ("stonewall", &["1"]),
        ("wait_for", &["one"]),
        ("kb_base", &["1000"]),
    ];
    let each: Vec<_> = choices
        .into_iter()
        .map(|(name, values)| {
            proptest::sample::select(values.to_vec()).prop_map(move |value| format!("{name}={value}"))
        })
        .collect();
    proptest::strategy::Union::new(each)
}

fn file() -> impl Strategy<Value = String> {
    let lines = |most| proptest::collection::vec(line(), 0..most).prop_map(|lines| lines.join("\n"));
    (lines(8), lines(8), proptest::collection::vec(lines(8), 0..3)).prop_map(|(global, first, others)| {
        let others: String = others.iter().enumerate().map(|(at, lines)| format!("\n[job{at}]\n{lines}")).collect();
        format!("[global]\nfilename=/dev/null\nruntime=5\n{global}\n[one]\n{first}{others}\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn job_files_come_back(text in file()) {
        let _ = round(&text);
    }
}

/// Sizes of operations that never come are printed as they are where they say already how large a part is.
#[test]
fn sizes_that_never_come_are_printed_as_they_are() {
    assert_eq!(round("[one]\nfilename=/dev/null\nrw=randrw\nrwmixread=100\nbs=4k,64000\nloops=3\n"), Some(true));
    assert_eq!(round("[one]\nfilename=/dev/null\nrw=randrw\nrwmixread=100\nbs=4k,64k,512\nloops=3\n"), Some(true));
    assert_eq!(round("[one]\nfilename=/dev/null\nrw=trim\nbs=8k,16k\ndedupe_percentage=20\n"), Some(true));
}

/// What is only trimmed is never written before, not even with `overwrite`: as in fio.
#[test]
fn what_is_trimmed_is_not_filled() {
    assert_eq!(
        round(
            "[one]\nfilename=/tmp/x\nrw=trim\nioengine=mmap\noverwrite=1\n[two]\nfilename=/tmp/x\nrw=trim\nsize=64m\n"
        ),
        Some(true)
    );
}

#[test]
fn most_of_what_is_generated_is_compared() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut plans, mut compared) = (0, 0);
    for _ in 0..1000 {
        let text = file().new_tree(&mut runner).unwrap().current();
        match round(&text) {
            None => {}
            Some(own) => {
                plans += 1;
                compared += u32::from(own);
            }
        }
    }
    assert!(plans > 200 && compared * 10 > plans * 8, "of 1000 files {plans} are plans, {compared} of them compared");
}

#[test]
fn a_semicolon_of_the_command_line_begins_no_comment() {
    // As fio has it: of flags it cuts names of files at `;` and `#`, and nothing else.
    let given = [
        ("name", "a;b #1"),
        ("rw", "read"),
        ("size", "1m"),
        ("exec_prerun", "true; true # twice"),
        ("name", "c"),
        ("filename", "/tmp/x;y"),
    ];
    let flags: Vec<_> = given.map(|(name, value)| (name.to_string(), Some(value.to_string()))).to_vec();
    let (text, _) = params::flags_text(&flags);
    let read = |source| read_fio(&[source], &VdbenchOptions::default(), &MemoryLoader::default(), &|_| None);
    let reading = read(JobSource::Flags("<flags>".to_string(), text.clone()));
    let plan = reading.plan.as_ref().unwrap_or_else(|| panic!("{}", shown(&reading)));
    assert_eq!(plan.runs[0].workloads[0].name, "a;b #1");
    assert_eq!(plan.runs[0].start_commands[0].line, "true; true # twice");
    let paths: Vec<_> = plan.targets.iter().map(|target| target.path.display().to_string()).collect();
    assert_eq!(paths, ["a;b #1.0.0", "/tmp/x"]);
    // The same in a file is cut.
    assert!(read(JobSource::Text("<file>".to_string(), text)).plan.is_none());
    // Written as a file, what cannot stand there is said.
    let printed = print_fio(plan);
    assert!(printed.text.contains("[a_b"), "{}", printed.text);
    for option in ["filename", "exec_prerun"] {
        let is_said = |unsaid: &String| unsaid.contains(&format!("`;` or `#` in `{option}=`"));
        assert!(printed.unsaid.iter().any(is_said), "{option}: {:?}", printed.unsaid);
    }
}

#[test]
fn a_trimwrite_is_as_fast_as_the_slower_of_its_rates() {
    let sum = |rates: &str| {
        let text = format!("[job]\nfilename=/tmp/a\nsize=1m\nrw=trimwrite\nbs=4k\nruntime=1\ntime_based\n{rates}\n");
        let plan = read(&text).plan.unwrap();
        plan.runs[0].workloads[0].rate.unwrap()
    };
    for (rates, of_both) in [
        ("rate_iops=50,50,80", 100.0),
        ("rate_iops=20,30,90", 60.0),
        ("rate_iops=20,90,30", 60.0),
        ("rate_iops=,40", 80.0),
        ("rate=,80k,400k", 40.0),
    ] {
        assert!((sum(rates) - of_both).abs() < 1e-9, "{rates}: {}", sum(rates));
    }
}
