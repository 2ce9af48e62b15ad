//! A plan printed as a Vdbench parameter file and read again is the same plan.

use crate::same::{first_difference, placeless};
use crate::support::mutate::{Random, mutate as change};
use params::{
    DiagnosticSeverity, JobSource, MemoryLoader, PlanReading, VdbenchOptions, print_fio, print_vdbench, read_fio,
    read_vdbench, render,
};
use proptest::prelude::*;
use std::path::PathBuf;

fn read(text: &[u8]) -> PlanReading {
    read_vdbench(&[PathBuf::from("job.vdb")], &VdbenchOptions::default(), &MemoryLoader::one("job.vdb", text))
}

fn shown(reading: &PlanReading) -> String {
    let errors = reading.diagnostics.iter().filter(|found| found.severity == DiagnosticSeverity::Error);
    errors.map(|found| render(found, &reading.sources)).collect::<Vec<_>>().join("\n")
}

/// Reads, prints, reads: the plans are equal, or something is said to be unsaid. True when nothing was unsaid.
fn round(text: &[u8]) -> Option<bool> {
    let plan = read(text).plan?;
    if !plan.unsupported.is_empty() || plan.runs.len() > 500 {
        return None;
    }
    let written = String::from_utf8_lossy(text).into_owned();
    let printed = print_vdbench(&plan);
    let again = read(printed.text.as_bytes());
    let Some(second) = again.plan.clone() else { panic!("{written}\n->\n{}\n{}", printed.text, shown(&again)) };
    if printed.unsaid.is_empty() {
        let (first, second) = (placeless(plan), placeless(second));
        assert!(first == second, "{written}\n->\n{}\n{}", printed.text, first_difference(&first, &second));
    }
    Some(printed.unsaid.is_empty())
}

#[test]
fn files_of_vdbench_come_back() {
    let mut compared = 0;
    for text in crate::support::corpus::corpus() {
        compared += u32::from(round(&text) == Some(true));
    }
    assert!(compared >= 8, "{compared}");
}

#[test]
fn duplicates_bands_and_joined_targets_come_back() {
    let text = |general: &str, work: &str| {
        format!(
            "{general}sd=sd1,lun=/tmp/x,size=1g\nsd=sd2,lun=/tmp/y,size=1g,threads=3\nwd=wd1,sd=sd*{work}\nrd=rd1,wd=wd1,iorate=max\nrd=rd2,wd=wd1,iorate=5\n"
        )
    };
    for general in [
        "dedupratio=2\ndedupunit=4k\n",
        "dedupratio=30\ndedupunit=8k\ndedupacross=no\n",
        "dedupratio=3\ndedupunit=4k\ndedupsets=77\ncompratio=2\n",
        "concatenatesds=yes\n",
        "validate=(no_preread,time)\njournal=(recover,max=1m)\n",
    ] {
        for work in ["", ",hotband=(10,20)", ",threads=5,skew=100", ",rdpct=30,hotband=(1m,9m)"] {
            let text = text(general, work);
            assert_eq!(round(text.as_bytes()), Some(true), "{text}");
        }
    }
}

#[test]
fn changed_files_come_back() {
    let corpus = crate::support::corpus::corpus();
    let (mut plans, mut compared) = (0, 0);
    for seed in 0..4000 {
        let text = change(&corpus, &mut Random(seed));
        if let Some(same) = round(&text) {
            plans += 1;
            compared += u32::from(same);
        }
    }
    assert!(plans > 150 && compared * 10 > plans * 6, "{plans} plans, {compared} compared");
}

/// A plan of either language can be written in the other, and read there.
#[test]
fn each_language_reads_what_is_converted_to_it() {
    for text in crate::support::corpus::corpus() {
        let Some(plan) = read(&text).plan else { continue };
        let has_none = plan.runs.iter().all(|run| run.is_of_commands() || run.is_of_trees());
        if has_none || plan.runs.len() > 200 || !plan.unsupported.is_empty() {
            continue;
        }
        let printed = print_fio(&plan);
        let source = JobSource::Text("<converted>".to_string(), printed.text.clone());
        let again = read_fio(&[source], &VdbenchOptions::default(), &MemoryLoader::default(), &|_| None);
        assert!(again.plan.is_some(), "{}\n->\n{}\n{}", String::from_utf8_lossy(&text), printed.text, shown(&again));
    }
    for text in crate::support::corpus::JOBS {
        let source = JobSource::Text("<job>".to_string(), (*text).to_string());
        let plan = read_fio(&[source], &VdbenchOptions::default(), &MemoryLoader::default(), &|_| None)
            .plan
            .expect("a valid job file");
        let printed = print_vdbench(&plan);
        let again = read(printed.text.as_bytes());
        assert!(again.plan.is_some(), "{text}\n->\n{}\n{}", printed.text, shown(&again));
        assert!(!printed.unsaid.is_empty());
    }
}

fn value(name: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(values.to_vec()).prop_map(move |value| format!(",{name}={value}"))
}

fn some(all: Vec<(&'static str, &'static [&'static str])>) -> impl Strategy<Value = String> {
    let each: Vec<_> = all.into_iter().map(|(name, values)| value(name, values).boxed()).collect();
    proptest::collection::vec(proptest::strategy::Union::new(each), 0..6).prop_map(|parts| parts.concat())
}

fn file() -> impl Strategy<Value = String> {
    let storage = || {
        some(vec![
            ("size", &["1g", "100m"]),
            ("threads", &["1", "8", "33"]),
            ("hitarea", &["2m"]),
            ("offset", &["4k"]),
            ("align", &["4k"]),
            ("range", &["(10,90)", "(33.3,66.7)", "(1m,50m)", "(90,110)"]),
            ("openflags", &["o_direct", "(o_direct,o_sync)", "0x1000"]),
        ])
    };
    let work = || {
        some(vec![
            ("xfersize", &["8k", "(4k,25,8k,75)", "(4k,64k,4k)", "(512,33.3,1k,66.7)"]),
            ("rdpct", &["70", "0", "33.3"]),
            ("seekpct", &["0", "eof", "100", "25", "(poisson,3)"]),
            ("rhpct", &["10"]),
            ("whpct", &["25"]),
            ("range", &["(0,50)"]),
            ("stride", &["(4k,64k)"]),
            ("threads", &["4"]),
            ("openflags", &["o_dsync"]),
            ("trimpct", &["10", "33"]),
            ("flushpct", &["5"]),
            ("fsync_every", &["8"]),
            ("thinktime", &["10ms", "1.5"]),
            ("random_distribution", &["zipf:1.2", "(pareto,0.2)", "(normal,20)"]),
            ("coverage", &["exact"]),
        ])
    };
    let run = || {
        some(vec![
            ("elapsed", &["10", "1m", "2.5"]),
            ("interval", &["1", "0.5"]),
            ("warmup", &["5"]),
            ("pause", &["3"]),
            ("distribution", &["uniform", "deterministic"]),
            ("maxdata", &["3", "1g"]),
            ("maxdataread", &["200m"]),
            ("maxops", &["1000"]),
            ("forxfersize", &["(4k,8k)", "64k"]),
            ("forthreads", &["(1,2,4)", "16"]),
            ("forrdpct", &["(0,50,100)"]),
            ("forseekpct", &["(0,100)"]),
            ("forcompratio", &["(1,2)"]),
            ("startcmd", &["\"echo a\"", "(\"echo a\",cons)"]),
            ("fail_if", &["\"errors > 0\""]),
        ])
    };
    let rate = || proptest::sample::select(vec!["100", "(100,200,max)", "max", "curve", "(50,70%)", "(10,50%,max)"]);
    let skew = || proptest::sample::select(vec!["", ",skew=30", ",skew=33.3"]);
    let general = proptest::sample::select(vec![
        "",
        "compratio=2.5\n",
        "formatsds=yes\nformatxfersize=1m\n",
        "data_errors=5\nloop=3\n",
        "abort_failed_skew=5\n",
        "dedupratio=2\ndedupunit=4k\n",
        "startcmd=\"sync\"\nendcmd=(\"sync\",sum)\nmonitor=/tmp/m\n",
        "histogram=(default,20,40,100-500,100,1m,2s)\nfail_if=\"errors > 3\"\n",
    ]);
    let works = (work(), work(), skew());
    let runs = (run(), rate(), run(), rate());
    (general, storage(), storage(), works, runs).prop_map(|(general, s1, s2, (w1, w2, skew), (r1, rate1, r2, rate2))| {
        format!(
            "{general}sd=sd1,lun=/tmp/a{s1}\nsd=sd2,lun=/tmp/b{s2}\nwd=wd1,sd=sd1{w1}{skew}\nwd=wd2,sd=(sd1,sd2){w2}\n\
             rd=rd1,wd=wd*,iorate={rate1},elapsed=20{r1}\nrd=rd2,wd=wd2,iorate={rate2},elapsed=20{r2}\n"
        )
    })
}

/// A file of trees.
fn trees() -> impl Strategy<Value = String> {
    let system = || {
        some(vec![
            ("depth", &["1", "3"]),
            ("width", &["2", "4"]),
            ("files", &["3", "20"]),
            ("sizes", &["8k", "(4k,50,8k,50)", "(1m,0)", "(1k,33.3,2k,33.3,3k,33.4)"]),
            ("distribution", &["all"]),
            ("totalsize", &["7k", "(30k,2)"]),
            ("wss", &["5k"]),
            ("openflags", &["o_direct", "(o_sync,fsync)"]),
        ])
    };
    let work = || {
        some(vec![
            ("operation", &["read", "write", "getattr", "mkdir", "delete", "rename", "tmpfile", "mmapread"]),
            ("fsync", &["1", "20"]),
            ("xfersize", &["8k", "1000", "(4k,25,8k,75)", "(4k,33.3,8k,66.7)"]),
            ("fileselect", &["random", "once", "(poisson,2.5)", "(random,once)"]),
            ("fileio", &["random", "(sequential,delete)", "sequential"]),
            ("stopafter", &["7", "33%"]),
            ("threads", &["2", "7"]),
            ("openflags", &["o_dsync"]),
        ])
    };
    let run = || {
        some(vec![
            ("elapsed", &["10", "1m"]),
            ("interval", &["2"]),
            ("warmup", &["4"]),
            (
                "format",
                &["yes", "restart", "(clean,only)", "(restart,directories)", "(limited,only)", "no", "(yes,once)"],
            ),
            ("forxfersize", &["(4k,1000)", "64k"]),
            ("forthreads", &["(1,2,9)", "16"]),
            ("forrdpct", &["(0,50,100)"]),
            ("forfiles", &["(9,30)"]),
            ("fordepth", &["(1,2)"]),
            ("forsizes", &["(16k,1m)"]),
            ("fortotalsize", &["(0,6k)"]),
            ("foroperations", &["(read,write)", "(append,write)"]),
            ("operations", &["(read,write,mkdir)", "write", "(getattr,append,rename)"]),
            ("openflags", &["fsync"]),
            ("fsd", &["fsd2"]),
            ("maxdata", &["1g"]),
            ("distribution", &["deterministic"]),
        ])
    };
    let rate = || proptest::sample::select(vec!["100", "(100,200,max)", "max", "curve", "(50,70%)", "33.3"]);
    let skew = || proptest::sample::select(vec!["", ",skew=30", ",skew=33.3"]);
    let general = proptest::sample::select(vec!["", "compratio=2.5\n", "create_anchors=yes\n"]);
    let format =
        proptest::sample::select(vec!["", "fwd=format,threads=3\n", "fwd=format,xfersize=1m,openflags=o_sync\n"]);
    let works = (work(), work(), skew());
    let runs = (run(), rate(), run(), rate());
    ((general, format), (system(), system()), works, runs).prop_map(
        |((general, format), (s1, s2), (w1, w2, skew), (r1, rate1, r2, rate2))| {
            format!(
                "{general}fsd=fsd1,anchor=/tmp/a{s1}\nfsd=fsd2,anchor=/tmp/b{s2}\n{format}fwd=fwd1,fsd=fsd1{w1}{skew}\n\
                 fwd=fwd2,fsd=(fsd1,fsd2){w2}\nrd=rd1,fwd=fwd*,fwdrate={rate1},elapsed=20{r1}\n\
                 rd=rd2,fwd=fwd2,fwdrate={rate2},elapsed=20{r2}\n"
            )
        },
    )
}

#[test]
fn a_tree_of_a_shape_file_comes_back() {
    let text = "fsd=fsd1,anchor=/tmp/a,shape=\"/tmp/my tree.shape\",totalsize=5k\nfwd=fwd1,fsd=fsd1\n\
                rd=rd1,fwd=fwd1,fwdrate=max,elapsed=5,format=yes\n";
    let _ = round(text.as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parameter_files_come_back(text in file()) {
        let _ = round(text.as_bytes());
    }

    #[test]
    fn files_of_trees_come_back(text in trees()) {
        let _ = round(text.as_bytes());
    }
}
