//! `iodyno run --dry-run`: the whole plan, for people and for programs, and nothing else happens.

use crate::support::Scratch;
use plan::{AddressOrder, OfferedRate, Plan};
use serde_json::Value;

/// The file that docs/json.md shows the plan of.
const SHOWN: &str = "sd=sd1,lun=/var/tmp/iodyno-no-such-file,size=16m,threads=4,openflags=o_direct\n\
                     wd=wd1,sd=sd1,xfersize=8k,rdpct=70\nrd=rd1,wd=wd1,iorate=500,elapsed=10,interval=1\n";

fn dry(scratch: &Scratch, text: &str, more: &[&str]) -> testkit::CommandOutput {
    let file = scratch.write("a.vdb", text);
    let mut arguments = vec!["run", file.to_str().unwrap(), "--dry-run"];
    arguments.extend_from_slice(more);
    scratch.iodyno(&arguments).run().unwrap()
}

/// The one object on standard output.
fn object(output: &testkit::CommandOutput) -> Value {
    assert_eq!(output.stdout.lines().count(), 1, "one object on one line: {}", output.stdout);
    serde_json::from_str(&output.stdout).expect("JSON")
}

#[test]
fn the_plan_as_json_reads_back_as_the_plan_that_runs() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=16m,threads=4\nsd=sd2,lun={},size=32m,hitarea=2m\n\
         wd=wd1,sd=(sd1,sd2),xfersize=(4k,75,64k,25),rdpct=70,skew=60,rhpct=10\n\
         wd=wd2,sd=sd2,rdpct=0,seekpct=eof,range=(64k,9m),skew=40\n\
         rd=rd1,wd=wd*,iorate=(100,max),elapsed=5,interval=1,warmup=2,forthreads=(2,8),fail_if=\"errors > 0\"\n",
        scratch.path("one").display(),
        scratch.path("two").display()
    );
    let output = dry(&scratch, &text, &["--json", "--seed", "7"]).expect_code(0);
    let object = object(&output);
    assert_eq!(object["schema"], "iodyno.plan/1");
    assert_eq!(object["refused"], false);
    assert_eq!(object["duration_ns"], 4 * 7_000_000_000_u64, "four runs of 2 + 5 s");
    assert_eq!(object["targets"][1]["access"], "write");
    assert!(object["targets"][0]["found"].is_string() && object["targets"][0]["refusal"].is_null(), "{object}");

    let plan: Plan = serde_json::from_value(object["plan"].clone()).expect("the plan's own form");
    let options = params::VdbenchOptions { seed: Some(7), ..params::VdbenchOptions::default() };
    let read = params::read_vdbench(&[scratch.path("a.vdb")], &options, &params::DiskLoader);
    assert_eq!(Some(&plan), read.plan.as_ref(), "not a field is lost");
    assert_eq!(plan.runs.len(), 4);
    let rates: Vec<OfferedRate> = plan.runs.iter().map(|run| run.rate).collect();
    assert_eq!(
        rates,
        [OfferedRate::PerSecond(100.0), OfferedRate::Max, OfferedRate::PerSecond(100.0), OfferedRate::Max]
    );
    let sequential = AddressOrder::Sequential { once: true, backward: false };
    assert_eq!(plan.runs[0].workloads[1].address.order, sequential);
    let threads: Vec<_> = plan.runs.iter().map(|run| run.depth).collect();
    assert_eq!(threads, [Some(2), Some(2), Some(8), Some(8)]);
    assert!(!scratch.path("one").exists(), "nothing was made");
}

#[test]
fn the_form_that_the_docs_show_is_the_form() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = std::fs::read_to_string(page).expect("docs/json.md");
    let block = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of JSON");
    let shown: Value = serde_json::from_str(block).expect("the block is JSON");
    let file = page.split("```vdbench\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a file");
    assert_eq!(file, SHOWN, "the page has the file of this test");
    let scratch = Scratch::new();
    let mut given = object(&dry(&scratch, SHOWN, &["--json"]).expect_code(0));
    // Where the file lies is another place in every run.
    given["plan"]["sources"] = Value::Array(Vec::new());
    assert!(
        given == shown,
        "docs/json.md shows another form than this one:\n{}",
        serde_json::to_string_pretty(&given).unwrap()
    );
}

#[test]
fn a_plan_that_would_be_refused_says_so_in_json_too() {
    let scratch = Scratch::new();
    let data = scratch.write("precious", &"precious ".repeat(1000));
    let text =
        format!("sd=sd1,lun={},size=1m\nwd=wd1,sd=sd1,rdpct=0\nrd=rd1,wd=wd1,iorate=max,elapsed=2\n", data.display());
    let output = dry(&scratch, &text, &["--json"]).expect_code(7);
    let object = object(&output);
    assert_eq!(object["refused"], true);
    let refusal = object["targets"][0]["refusal"].as_str().expect("a reason");
    assert!(refusal.contains("--destroy"), "{refusal}");
    let people = dry(&scratch, &text, &[]).expect_code(7);
    assert!(people.stdout.contains("WOULD BE REFUSED"), "{}", people.stdout);
}

/// What the generators refuse is refused before anything is done, not when its run is due.
#[test]
fn a_dry_run_finds_what_would_fail_in_a_run() {
    let scratch = Scratch::new();
    let path = scratch.path("data");
    let mut wrong = String::new();
    for (sd, wd, rd, words) in [
        ("", "xfersize=4k,range=(10,10.001)", "", "does not fit"),
        ("range=(0,10)", "xfersize=4k,range=(50,60)", "", ""),
        ("", "rhpct=50", "forhitarea=(16m)", "hit area"),
        ("hitarea=127k", "xfersize=64k,rhpct=50", "", "room for two"),
        ("hitarea=64k", "xfersize=64k,whpct=10", "", "room for two"),
        ("hitarea=128k", "xfersize=64k,rhpct=50", "", ""),
        ("", "xfersize=4k,hotband=(0,1)", "", "the size of the hot band"),
        ("offset=16m", "xfersize=4k", "", "does not fit"),
        ("", "xfersize=4k", "forxfersize=(4k,16m,32k),forseekpct=(50)", ""),
        ("", "xfersize=4k,seekpct=50,stride=(64k,128k)", "forseekpct=(50,0)", "stride"),
        ("", "xfersize=4k,seekpct=50,stride=(64k,128k)", "", ""),
    ] {
        let comma = |text: &str| if text.is_empty() { String::new() } else { format!(",{text}") };
        let text = format!(
            "sd=sd1,lun={},size=16m,openflags=o_direct{}\nwd=wd1,sd=sd1{}\nrd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1{}\n",
            path.display(),
            comma(sd),
            comma(wd),
            comma(rd)
        );
        let output = dry(&scratch, &text, &[]);
        let said = format!("{}{}", output.stdout, output.stderr);
        let mut is_right = output.code == Some(if words.is_empty() { 0 } else { 2 }) && said.contains(words);
        if !words.is_empty() {
            let run = scratch.run("out", &text, &["--no-report"]);
            is_right &= run.code == Some(2) && run.stderr.contains(words) && !path.exists();
        }
        if !is_right {
            wrong.push_str(&format!("{text}exit code {:?}, not `{words}`:\n{said}\n", output.code));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_dry_run_names_every_option_that_changes_the_load() {
    let scratch = Scratch::new();
    let base = |sd: &str, wd: &str, rd: &str| {
        format!(
            "sd=sd1,lun={},size=16m{sd}\nwd=wd1,sd=sd1{wd}\nrd=rd1,wd=wd1,iorate=100,elapsed=5,interval=1{rd}\n",
            scratch.path("data").display()
        )
    };
    let said = |sd: &str, wd: &str, rd: &str| dry(&scratch, &base(sd, wd, rd), &[]).expect_code(0).stdout;
    let plain = said("", "", "");
    for (sd, wd, rd, words) in [
        (",threads=5", "", "", "depth 5"),
        (",hitarea=2m", "", "", "hit_area_bytes 2 MiB"),
        (",range=(10,50)", "", "", "range.low fraction 0.1"),
        (",align=8k", "", "", "align_bytes 8 KiB"),
        (",openflags=o_sync", "", "", "open.sync yes"),
        ("", ",seekpct=0", "", "address.order sequential"),
        ("", ",rhpct=25", "", "address.read_hit 0.25"),
        ("", ",stride=(64k,128k)", "", "address.stride (65536, 131072)"),
        ("", ",xfersize=(4k,50,8k,50)", "", "transfer mix ((4096, 0.5), (8192, 0.5))"),
        ("", "", ",distribution=d", "arrivals.gaps deterministic"),
        ("", "", ",pause=3", "pause_ns 3.00 s"),
    ] {
        let text = said(sd, wd, rd);
        assert!(
            text.contains(words) && !plain.contains(words),
            "{sd}{wd}{rd}: `{words}` is missing or always there:\n{text}"
        );
    }
}

#[test]
fn a_share_of_the_greatest_rate_with_none_before_it_is_refused_before_anything_runs() {
    let scratch = Scratch::new();
    let text = format!(
        "sd=sd1,lun={},size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=100,elapsed=2,interval=1\nrd=rd2,wd=wd1,iorate=(50%),elapsed=2,interval=1\n",
        scratch.path("one").display()
    );
    let output = dry(&scratch, &text, &[]);
    let says = "no run before it went at full speed";
    assert!(output.code != Some(0) && output.stdout.contains(says), "{} {}", output.stdout, output.stderr);
    let run = scratch.iodyno(&["run", "a.vdb", "-o", "out"]).run().unwrap().expect_code(2);
    assert!(run.stderr.contains(says) && !scratch.path("one").exists(), "{}", run.stderr);
}

/// What a job file writes beside its targets.
#[test]
fn logs_of_jobs_are_listed_and_two_outputs_of_one_name_refused() {
    let scratch = Scratch::new();
    let job = format!(
        "[a]\nfilename={}\nsize=64k\nrw=write\nwrite_bw_log={}\n",
        scratch.path("f").display(),
        scratch.path("mine").display()
    );
    scratch.write("a.fio", &job);
    let output = scratch.iodyno(&["run", "a.fio", "--dry-run"]).run().unwrap().expect_code(0);
    let log = format!("log: {}", scratch.path("mine_bw.1.log").display());
    assert!(output.stdout.contains(&log), "{}", output.stdout);
    let same =
        ["run", "a.fio", "--output", "same", "--junit", "same", "--fail-if", "errors > 0", "--output-format", "json"];
    let refused = scratch.iodyno(&same).run().unwrap().expect_code(2);
    assert!(refused.stderr.contains("--output and --junit"), "{}", refused.stderr);
    let target = ["run", "a.fio", "--output", "f", "--output-format", "json"];
    let refused = scratch.iodyno(&target).run().unwrap().expect_code(2);
    assert!(refused.stderr.contains("a target and --output"), "{}", refused.stderr);
    for more in [["--output", "./r", "--output-format", "json"], ["--junit", "./r", "--fail-if", "errors > 0"]] {
        let output = scratch.iodyno(&[&["run", "a.fio", "-o", "r"], &more[..]].concat()).run().unwrap().expect_code(2);
        assert!(output.stderr.contains("is the recording and --"), "{}", output.stderr);
        assert!(!scratch.path("r").exists() && !scratch.path("f").exists());
    }
}

/// What was meant to be shown only never runs.
#[test]
fn a_flag_with_one_dash_or_behind_an_option_without_its_value_runs_nothing() {
    let scratch = Scratch::new();
    scratch.write("a.fio", &format!("[a]\nfilename={}\nsize=64k\nrw=write\n", scratch.path("f").display()));
    scratch.iodyno(&["run", "a.fio", "-dry-run"]).run().unwrap().expect_code(0);
    for words in [
        vec!["run", "a.fio", "--force", "--dry-run"],
        vec!["run", "a.fio", "--description", "--dry-run"],
        vec!["run", "a.fio", "-dry"],
        vec!["run", "a.fio", "-r", "nosuch"],
    ] {
        scratch.iodyno(&words).run().unwrap().expect_code(2);
    }
    assert!(!scratch.path("f").exists());
}
