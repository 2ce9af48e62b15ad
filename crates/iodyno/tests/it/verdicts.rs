//! What `compare` says of recordings whose rows were made by hand: different, the same, not resolved.

use crate::support::Scratch;
use quantity::histogram::Histogram;
use recording::rows::{Cpu, Disk, IoError, OpInterval, Phase, Process, RunTotal};
use recording::{Label, LoadPhase, Manifest, PhaseEdge, RowBatch, Sink as _, Writer};

const S: i64 = 1_000_000_000;

/// A run as another program might have written it.
#[derive(Clone, Copy)]
struct Wanted {
    name: &'static str,
    seconds: i64,
    /// Mean of the times, ns.
    time_ns: f64,
    /// Is the response time known, or the service time only?
    has_response: bool,
    seed: u64,
    /// Of ten operations, so many fail.
    failing: u64,
}

fn wanted(name: &'static str, time_ns: f64, seed: u64) -> Wanted {
    Wanted { name, seconds: 200, time_ns, has_response: true, seed, failing: 0 }
}

/// Between −1 and 1.
fn dice(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Hundred operations a second at a time of 1 ms, fewer when they take longer: times of those that succeed, and how many fail.
fn second(run: &Wanted, state: &mut u64) -> (Histogram, i64) {
    let level = run.time_ns * (1.0 + 0.02 * dice(state));
    let count = (1e8 / level).round();
    let mut times = Histogram::default();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive numbers")]
    for place in (0..count as u64).filter(|place| place % 10 >= run.failing) {
        times.record((level * (0.5 + place as f64 / count)) as u64);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a hundred")]
    let failed = count as i64 - i64::try_from(times.count()).unwrap();
    (times, failed)
}

/// Failures of a run; imports do not know them.
fn errors(run: &Wanted, failed: i64) -> Option<i64> {
    run.has_response.then_some(failed)
}

fn unless(is_known: bool, times: &Histogram) -> Histogram {
    if is_known { times.clone() } else { Histogram::default() }
}

/// What others do on a machine of two CPUs, in each second.
#[derive(Clone, Copy, Default)]
struct Beside {
    /// CPU time of `cc1`, ns.
    compiler_ns: i64,
    /// Taken by the hypervisor from both CPUs, ns.
    steal_ns: i64,
    /// Sectors that `rsync` reads from the device.
    sectors: i64,
}

/// A disk that has read so many sectors.
fn disk((t_ns, t_s): (i64, f64), sectors: i64) -> Disk {
    Disk {
        t_ns,
        t_s,
        device: "sda".to_string(),
        target: "sd1,sd2".to_string(),
        read_ios: Some(sectors / 8),
        read_merges: Some(0),
        read_sectors: Some(sectors),
        read_ticks_ms: Some(0),
        write_ios: Some(0),
        write_merges: Some(0),
        write_sectors: Some(0),
        write_ticks_ms: Some(0),
        in_flight: Some(0),
        io_ticks_ms: Some(0),
        weighted_ticks_ms: Some(0),
        ..Disk::default()
    }
}

/// The machine's counters over so many seconds: the load itself keeps a CPU busy and reads 800 sectors, and the kernel's threads work for it.
fn counters(beside: Beside, seconds: i64) -> [RowBatch; 3] {
    let (mut cpus, mut processes, mut disks) = (Vec::new(), Vec::new(), Vec::new());
    for second in 0..=seconds {
        let (t_ns, t_s) = ((second + 1) * S, second as f64);
        let used_ns = S + S / 2 + beside.compiler_ns;
        cpus.push(Cpu {
            t_ns,
            t_s,
            cpu: "all".to_string(),
            user_ns: second * used_ns,
            system_ns: 0,
            idle_ns: second * (2 * S - used_ns - beside.steal_ns),
            steal_ns: Some(second * beside.steal_ns),
            clock: "tick".to_string(),
            ..Cpu::default()
        });
        let process = |pid: i64, parent: i64, comm: &str, user_ns: i64, read_bytes: i64| Process {
            t_ns,
            t_s,
            pid,
            start_ns: Some(pid),
            parent: Some(parent),
            comm: comm.to_string(),
            // What was used before the recording began is no part of it.
            user_ns: Some(500 * S + second * user_ns),
            system_ns: Some(0),
            read_bytes: Some(second * read_bytes),
            write_bytes: Some(0),
            ..Process::default()
        };
        processes.extend([
            process(7, 1, "iodyno", S, 800 * 512),
            process(8, 7, "sleep", S / 10, 0),
            process(9, 1, "cc1", beside.compiler_ns, 0),
            process(10, 1, "rsync", 0, 512 * beside.sectors),
            process(30, 2, "kworker/0:1", S / 2, 0),
        ]);
        disks.push(disk((t_ns, t_s), second * (800 + beside.sectors)));
    }
    [
        RowBatch::from_rows(&cpus).unwrap(),
        RowBatch::from_rows(&processes).unwrap(),
        RowBatch::from_rows(&disks).unwrap(),
    ]
}

/// I/Os of a disk that failed by this second.
fn failed((t_ns, t_s): (i64, f64), dev: &str, op: &str, error: i32, count: i64) -> IoError {
    IoError {
        t_ns,
        t_s,
        dev: Label::from(dev),
        op: Label::from(op),
        error,
        count,
        first_ns: t_ns,
        last_ns: t_ns,
        ..IoError::default()
    }
}

/// A recording of `iodyno record`: a disk that reads, and what failed, where that was counted.
fn recorded(scratch: &Scratch, name: &str, verdict: &str, rows: &[IoError]) {
    let mut manifest = Manifest::new(&["iodyno".to_string(), "record".to_string()]);
    manifest.extra.insert("subjects".into(), serde_json::json!({"io_error": verdict}));
    let mut writer = Writer::create(&scratch.path(name), manifest).unwrap();
    writer.accept(&RowBatch::from_rows(&[disk((S, 0.0), 0), disk((2 * S, 1.0), 800)]).unwrap()).unwrap();
    if !rows.is_empty() {
        writer.accept(&RowBatch::from_rows(rows).unwrap()).unwrap();
    }
    writer.commit().unwrap();
    writer.seal().unwrap();
}

#[test]
fn a_recording_in_which_nothing_was_run_is_judged_by_the_errors_of_its_devices() {
    let scratch = Scratch::new();
    let at = (2 * S, 1.0);
    let rows = [
        failed((S, 0.5), "sda", "read", 5, 2),
        failed(at, "sda", "read", 5, 7),
        failed(at, "sda", "discard", 5, 1),
        failed(at, "sdb", "write", 28, 3),
        // What a device cannot do is no failure.
        failed(at, "sdb", "write_zeroes", 95, 50),
    ];
    recorded(&scratch, "r", "works", &rows);
    recorded(&scratch, "healthy", "works", &[]);
    recorded(&scratch, "unknown", "unsupported here: needs CAP_BPF", &[]);
    let check = |recording: &str, text: &str, code: i32| {
        let output = scratch.iodyno(&["check", recording, "--fail-if", text]).run().unwrap().expect_code(code);
        output.stdout + &output.stderr
    };
    assert!(check("r", "errors > 0", 5).contains("objective missed in the machine: errors was 11, more than 0"));
    for (text, code) in [
        ("errors{target=sda} != 8", 0),
        ("errors{target=sda, op=read} > 6", 5),
        ("errors{op=trim} != 1", 0),
        ("errors{target=sd*} > 11", 0),
        ("errors{target=sdb} > 3", 0),
    ] {
        check("r", text, code);
    }
    assert!(check("r", "errors{target=sdc} > 0", 2).contains("there is no target `sdc`"));
    assert!(check("healthy", "errors > 0", 0).contains("objective met in the machine: errors was 0"));
    let text = check("unknown", "errors > 0", 5);
    assert!(text.contains("were not counted in this recording (unsupported here: needs CAP_BPF)"), "{text}");
    let text = check("r", "iops < 100", 5);
    assert!(text.contains("nothing was run in this recording") && text.contains("iodyno diagnose"), "{text}");
    assert!(check("r", "errors > 0 for 2s", 5).contains("without `for`"));
}

/// The sum of a run, from second to second.
fn total(run: &Wanted, index: i32, (begun, at): (i64, i64), (all, failed): (Histogram, i64)) -> RunTotal {
    let ops = i64::try_from(all.count()).unwrap();
    RunTotal {
        t_ns: at * S,
        t_s: at as f64,
        start_t_ns: begun * S,
        run: run.name.to_string(),
        run_index: index,
        phase: LoadPhase::Measure,
        workload: "wd1".to_string(),
        target: "sd1".to_string(),
        op: "read".to_string(),
        ops,
        bytes: 4096 * ops,
        errors: errors(run, failed),
        response: unless(run.has_response, &all),
        service: all,
        ..RunTotal::default()
    }
}

/// A recording of these runs, one after the other.
fn written(scratch: &Scratch, name: &str, runs: &[Wanted]) {
    written_beside(scratch, name, runs, None);
}

/// The same on a machine on which others do this.
fn written_beside(scratch: &Scratch, name: &str, runs: &[Wanted], beside: Option<Beside>) {
    let mut manifest = Manifest::new(&["test".to_string()]);
    manifest.extra.insert(views::PROGRAM_PID.to_string(), 7.into());
    let mut writer = Writer::create(&scratch.path(name), manifest).unwrap();
    for batch in beside.into_iter().flat_map(|beside| counters(beside, runs[0].seconds)) {
        writer.accept(&batch).unwrap();
    }
    let mut at = 1;
    for (index, run) in (0..).zip(runs) {
        let (mut all, mut all_failed, mut state, begun) = (Histogram::default(), 0, run.seed, at);
        let mut rows = Vec::new();
        for _ in 0..run.seconds {
            at += 1;
            let (times, failed) = second(run, &mut state);
            all.merge(&times);
            all_failed += failed;
            let ops = i64::try_from(times.count()).unwrap();
            rows.push(OpInterval {
                t_ns: at * S,
                t_s: at as f64,
                interval_ns: S,
                run: run.name.to_string(),
                run_index: index,
                phase: LoadPhase::Measure,
                workload: "wd1".to_string(),
                target: "sd1".to_string(),
                op: "read".to_string(),
                ops,
                bytes: 4096 * ops,
                errors: errors(run, failed),
                response: unless(run.has_response, &times.collapse(5)),
                service: times.collapse(5),
                ..OpInterval::default()
            });
        }
        let phase = |event: PhaseEdge, t: i64| Phase {
            t_ns: t * S,
            t_s: t as f64,
            run: run.name.to_string(),
            run_index: index,
            phase: LoadPhase::Measure,
            event,
            offered_rate: None,
            detail: String::new(),
        };
        let total = total(run, index, (begun, at), (all, all_failed));
        writer
            .accept(&RowBatch::from_rows(&[phase(PhaseEdge::Start, begun), phase(PhaseEdge::End, at)]).unwrap())
            .unwrap();
        writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        writer.accept(&RowBatch::from_rows(&[total]).unwrap()).unwrap();
        at += 10;
    }
    writer.commit().unwrap();
    writer.seal().unwrap();
}

fn compared(scratch: &Scratch, arguments: &[&str], code: i32) -> String {
    let out = scratch.iodyno(&[&["compare"], arguments].concat()).run().unwrap().expect_code(code);
    out.stdout + &out.stderr
}

/// The cells of a row of the figures: what stands two spaces or more apart.
fn cells(text: &str, name: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no line {name} in\n{text}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(String::from).collect()
}

#[test]
fn a_recording_is_the_same_as_itself_and_a_tenth_is_worse_and_a_maximum_has_no_interval() {
    let scratch = Scratch::new();
    written(&scratch, "base", &[wanted("rd1", 1e6, 1)]);
    written(&scratch, "slow", &[wanted("rd1", 1.1e6, 2)]);
    written(&scratch, "fast", &[wanted("rd1", 0.5e6, 3)]);
    let same = compared(&scratch, &["base", "base"], 0);
    assert!(same.starts_with("rd1: 2 base is the same as 1 base within 5 %: IOPS 0.0 % higher"), "{same}");
    assert!(cells(&same, "IOPS *").last().unwrap() == "= same within 5 %", "{same}");
    let slow = compared(&scratch, &["base", "slow"], 0);
    assert!(slow.starts_with("rd1: slow differs from base: IOPS 9.") && slow.contains(": ▼ worse."), "{slow}");
    for figure in ["IOPS *", "mean response", "response p50", "response p99 "] {
        assert_eq!(cells(&slow, figure).last().unwrap(), "▼ worse", "{figure}: {slow}");
    }
    // figure, base, slow, ratio: one value decides a maximum, and nothing is said of how sure that is.
    assert_eq!(cells(&slow, "response max").len(), 4, "{slow}");
    assert!(slow.contains("a difference says that these recordings differ"), "{slow}");
    let fast = compared(&scratch, &["base", "fast", "slow"], 0);
    assert!(fast.contains("fast differs from base: IOPS 99.") && fast.contains(": ▲ better."), "{fast}");
    assert!(fast.contains("slow differs from base"), "both are named: {fast}");
    let tight = compared(&scratch, &["base", "slow", "--within", "20%", "--primary", "response_ns_p99"], 0);
    assert!(tight.starts_with("rd1: slow differs from base: response p99"), "{tight}");
}

#[test]
fn of_several_runs_each_is_named_and_the_worse_one_is_pointed_at() {
    let scratch = Scratch::new();
    let runs = |last_ns: f64, seed: u64| {
        [wanted("one", 1e6, seed), wanted("two", 2e6, seed + 1), wanted("three", last_ns, seed + 2)]
    };
    written(&scratch, "a", &runs(3e6, 1));
    written(&scratch, "b", &runs(3.6e6, 11));
    let out = compared(&scratch, &["a", "b"], 0);
    assert!(out.starts_with("b against a: 1 of 3 runs differs (▼ three), 2 the same (one, two)."), "{out}");
    for sentence in ["\none: b is the same as a", "\ntwo: b is the same as a", "\nthree: b differs from a"] {
        assert!(out.contains(sentence), "{sentence}: {out}");
    }
    assert_eq!(cells(&out, "three  ")[1], "▼ worse: IOPS", "{out}");
}

#[test]
fn imported_service_times_are_compared() {
    let scratch = Scratch::new();
    for (name, time_ns, seed) in [("old", 1e6, 1), ("new", 1.2e6, 2)] {
        written(&scratch, name, &[Wanted { has_response: false, ..wanted("rd1", time_ns, seed) }]);
    }
    let out = compared(&scratch, &["old", "new"], 0);
    assert_eq!(cells(&out, "mean service").last().unwrap(), "▼ worse", "{out}");
    assert_eq!(cells(&out, "service p99 ").last().unwrap(), "▼ worse", "{out}");
    assert!(!out.contains("response"), "no row of what is not known: {out}");
}

/// What `compare` says on standard output and on standard error, with its exit code.
fn judged(scratch: &Scratch, arguments: &[&str], code: i32) -> (String, String) {
    let out = scratch.iodyno(&[&["compare", "base"], arguments].concat()).run().unwrap().expect_code(code);
    (out.stdout, out.stderr)
}

#[test]
fn ci_fails_where_it_is_surely_worse_and_where_it_is_not_proven_the_same() {
    let scratch = Scratch::new();
    written(&scratch, "base", &[wanted("rd1", 1e6, 1)]);
    written(&scratch, "again", &[wanted("rd1", 1e6, 2)]);
    written(&scratch, "slow", &[wanted("rd1", 1.1e6, 3)]);
    written(&scratch, "brief", &[Wanted { seconds: 20, ..wanted("rd1", 1.1e6, 4) }]);
    let met = ["again", "--fail-if", "iops worse", "--fail-if", "response_ns_mean not same within 3%"];
    let (out, err) = judged(&scratch, &met, 0);
    assert!(err.is_empty() && out.matches("objective met in rd1 of again: ").count() == 2, "{out}{err}");
    let missed = ["slow", "--fail-if", "response_ns_mean worse than 5%", "--fail-if", "response_ns_p50 worse than 20%"];
    let (out, err) = judged(&scratch, &missed, 5);
    let words = "iodyno: objective missed in rd1 of slow: mean response of slow is ";
    assert!(err.starts_with(words) && err.contains("for 2 verdicts together") && err.lines().count() == 1, "{err}");
    assert!(err.contains(", surely more than 5 % worse (fail if response_ns_mean worse than 5%)"), "{err}");
    assert!(out.contains("response p50 of slow is") && out.contains(", not surely more than 20 % worse"), "{out}");
    // A rate falls by what times rise: 9 %.
    judged(&scratch, &["slow", "--fail-if", "iops{run=rd1} worse than 12%"], 0);
    judged(&scratch, &["slow", "--fail-if", "iops{run=rd*} changed"], 5);
    // Twenty seconds prove nothing; what is asked for a proof is undecided, and what looks for harm has looked at nothing.
    let (_, err) = judged(&scratch, &["brief", "--fail-if", "iops not same within 5%"], 5);
    assert!(err.starts_with("iodyno: objective undecided in rd1 of brief, so not met: IOPS of brief is"), "{err}");
    let (out, err) = judged(&scratch, &["brief", "--fail-if", "iops worse"], 5);
    assert!(
        out.contains("objective not judged in rd1 of brief") && err.contains("no run could judge it"),
        "{out}{err}"
    );
    for (condition, words) in [
        ("iops < 500", "expected `worse`, `changed` or `not same within`"),
        ("iops{run=rd2} worse", "there is no run `rd2`"),
    ] {
        let (_, err) = judged(&scratch, &["slow", "--fail-if", condition], 2);
        assert!(err.contains(words), "{err}");
    }
}

#[test]
fn scripts_and_ci_systems_read_what_came_of_a_comparison() {
    let scratch = Scratch::new();
    written(&scratch, "base", &[wanted("rd1", 1e6, 1)]);
    written(&scratch, "slow", &[wanted("rd1", 1.1e6, 3)]);
    let arguments =
        ["slow", "--json", "--junit", "r.xml", "--fail-if", "iops worse", "--fail-if", "service_ns_p90 worse than 50%"];
    let (out, _) = judged(&scratch, &arguments, 5);
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let figure = lines.iter().find(|line| line["measure"] == "response_ns_mean").unwrap();
    assert_eq!((&figure["schema"], &figure["verdict"]), (&"iodyno.difference/1".into(), &"worse".into()), "{figure}");
    assert!((figure["ratio"].as_f64().unwrap() - 1.1).abs() < 0.01, "{figure}");
    assert!(
        figure["interval"][0].as_f64().unwrap() > 1.09 && figure["interval"][1].as_f64().unwrap() < 1.11,
        "{figure}"
    );
    assert_eq!(lines.iter().filter(|line| line["decides"] == true).count(), 1, "one figure decides");
    let objectives: Vec<_> = lines.iter().filter(|line| line["schema"] == "iodyno.objective/1").collect();
    assert_eq!((&objectives[0]["verdict"], &objectives[1]["verdict"]), (&"missed".into(), &"met".into()), "{out}");
    assert_eq!((&objectives[0]["recording"], &objectives[0]["against"]), (&"slow".into(), &"base".into()));
    assert!((objectives[0]["evidence"][0]["value"].as_f64().unwrap() - 1.0 / 1.1).abs() < 0.01, "{out}");
    // As CI systems read it.
    let script = "import sys, json, xml.etree.ElementTree as tree\n\
        root = tree.parse(sys.argv[1]).getroot()\n\
        case = lambda c: [c.get('classname'), c.get('name'), [[e.tag, e.get('type')] for e in c]]\n\
        print(json.dumps([root.tag, dict(root.attrib), [[s.get('name'), [case(c) for c in s]] for s in root]]))";
    let read = |file: &str| -> serde_json::Value {
        let out = testkit::TestCommand::new("python3").args(["-c", script]).arg(scratch.path(file)).run().unwrap();
        serde_json::from_str(&out.expect_code(0).stdout).unwrap()
    };
    let counts = serde_json::json!({"name": "iodyno", "tests": "2", "failures": "1", "errors": "0", "skipped": "0"});
    let cases = serde_json::json!([[
        "base | slow",
        [
            ["rd1 of slow", "iops worse", [["failure", "missed"]]],
            ["rd1 of slow", "service_ns_p90 worse than 50%", [["system-out", null]]]
        ]
    ]]);
    assert_eq!(read("r.xml"), serde_json::json!(["testsuites", counts, cases]));
    // One of iodyno's is written anew; `check` has the same writer; anything else with that name stays.
    let check =
        ["check", "base", "slow", "--fail-if", "response_ns_p50 < 1us", "--fail-if", "errors > 0", "--junit", "r.xml"];
    scratch.iodyno(&check).run().unwrap().expect_code(0);
    let both = read("r.xml");
    assert_eq!((&both[1]["tests"], &both[1]["failures"], &both[2][1][0]), (&"4".into(), &"0".into(), &"slow".into()));
    // What breaks off leaves no success of an earlier one.
    let missing = ["check", "missing", "--fail-if", "errors > 0", "--junit", "r.xml"];
    let code = scratch.iodyno(&missing).run().unwrap().code;
    let left = read("r.xml");
    assert!(code != Some(0) && left[1]["failures"] == "1" && left[2][0][0] == "ended with an error", "{code:?} {left}");
    std::fs::write(scratch.path("notes.xml"), "<notes/>").unwrap();
    let refused = ["check", "base", "--fail-if", "errors > 0", "--junit", "notes.xml"];
    let refused = scratch.iodyno(&refused).run().unwrap().expect_code(2);
    assert!(refused.stderr.contains("notes.xml"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(scratch.path("notes.xml")).unwrap(), "<notes/>");
}

#[test]
fn ci_reads_why_nothing_was_judged() {
    let scratch = Scratch::new();
    for (name, seed) in [("base", 1), ("other", 2)] {
        written(&scratch, name, &[wanted("rd1", 1e6, seed)]);
    }
    let failure = |arguments: &[&str], code: i32, words: &[&str]| {
        let out = scratch.iodyno(&[arguments, &["--junit", "r.xml"]].concat()).run().unwrap().expect_code(code);
        let junit = std::fs::read_to_string(scratch.path("r.xml")).unwrap();
        let failures: Vec<&str> = junit.lines().filter(|line| line.contains("<failure")).collect();
        assert!(failures.len() == 1 && junit.contains("tests=\"1\" failures=\"1\""), "{arguments:?}: {junit}");
        for words in words {
            assert!(failures[0].contains(words) && out.stderr.contains(words), "{words}: {junit} {}", out.stderr);
        }
        assert!(!junit.contains("not ended") && !junit.contains("for want of"), "{junit}");
    };
    // A command that ends with an error: the file is new, and says which.
    let missing = ["compare", "base", "missing", "--fail-if", "iops worse"];
    failure(&missing, 2, &["missing"]);
    let junit = std::fs::read_to_string(scratch.path("r.xml")).unwrap();
    assert!(junit.contains("<failure type=\"error\""), "{junit}");
    failure(&["compare", "base", "--fail-if", "iops worse"], 2, &["base is one recording"]);
    let unknown = ["compare", "base", "other", "--fail-if", "iops{run=rd2} worse"];
    failure(&unknown, 2, &["no run of that name is compared"]);
    failure(&["check", "missing", "--fail-if", "errors > 0"], 2, &["missing"]);
    // What lacks rows.
    let file = recording::Reader::open(scratch.path("other")).unwrap().sealed_files("op_interval").unwrap().remove(0);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    failure(&["check", "other", "--fail-if", "errors > 0"], 6, &["other is damaged: ", "checksum differs"]);
    failure(&["compare", "base", "other", "--fail-if", "iops worse"], 6, &["other/op_interval", "checksum differs"]);
}

#[test]
fn a_comparison_names_the_processes_that_kept_the_machine_busy() {
    let scratch = Scratch::new();
    let beside = |name: &str, seed: u64, beside: Beside| {
        written_beside(&scratch, name, &[wanted("rd1", 1e6, seed)], Some(beside));
    };
    beside("base", 1, Beside::default());
    beside("calm", 2, Beside { compiler_ns: S / 50, steal_ns: S / 100, sectors: 100 });
    beside("busy", 3, Beside { compiler_ns: S / 4, ..Beside::default() });
    beside("stolen", 4, Beside { steal_ns: S / 20, ..Beside::default() });
    beside("shared", 5, Beside { sectors: 1200, ..Beside::default() });
    let lines = |other: &str| -> Vec<String> {
        let out = compared(&scratch, &["base", other], 0);
        let is_of_others =
            |line: &&str| ["ther processes", "hypervisor", "moved"].iter().any(|word| line.contains(word));
        out.lines().filter(is_of_others).map(String::from).collect()
    };
    // Neither the load itself, nor its commands, nor the kernel's threads are others; a little is no warning.
    assert!(lines("calm").is_empty(), "{:?}", lines("calm"));
    assert_eq!(
        lines("busy"),
        ["Other processes used 0.0 % of all CPUs beside base, 12 % of all CPUs beside busy (cc1 12 %)."]
    );
    assert_eq!(lines("stolen"), ["The hypervisor took 0.0 % from base, 2.5 % from stolen of the CPUs' time (steal)."]);
    let shared = lines("shared");
    assert!(
        shared.len() == 1 && shared[0].starts_with("Device sda moved 1.0 times the bytes of base, 2.5 times"),
        "{shared:?}"
    );
    assert!(
        shared[0].contains("times the bytes of shared (rsync 123 MB on all devices): others moved some."),
        "{shared:?}"
    );
}

#[test]
fn a_run_in_which_nothing_succeeded_is_there_and_worse_and_keeps_no_gate_green() {
    let scratch = Scratch::new();
    let two = |seconds: i64, failing: u64, has_response: bool| {
        let one = Wanted { has_response, ..wanted("one", 1e6, 1) };
        [one, Wanted { seconds, failing, has_response, ..wanted("two", 1e6, 2) }]
    };
    written(&scratch, "base", &two(200, 0, true));
    // However short: that all fail is no matter of chance.
    written(&scratch, "dead", &two(20, 10, true));
    let out = compared(&scratch, &["base", "dead"], 0);
    assert!(out.starts_with("dead against base: 1 of 2 runs differs (▼ two), 1 the same (one)."), "{out}");
    assert!(out.contains("two: dead differs from base: IOPS 100 % lower (0): ▼ worse."), "{out}");
    assert!(!out.contains("has no run") && !out.contains("Only base"), "{out}");
    let line = out.lines().find(|line| line.starts_with("two: failed operations: 0 of ")).unwrap();
    assert!(line.ends_with(" of dead (100 %); times and rates are of those that succeeded."), "{line}");
    let gate = |against: [&str; 2], condition: &str, words: &str| {
        let arguments = [&against[..], &["--fail-if", condition, "--junit", "r.xml"]].concat();
        let out = compared(&scratch, &arguments, 5);
        let line = out.lines().find(|line| line.starts_with("iodyno: objective")).unwrap_or_else(|| panic!("{out}"));
        assert!(line.contains(words) && line.contains(&format!("in two of {}", against[1])), "{condition}: {line}");
        let junit = std::fs::read_to_string(scratch.path("r.xml")).unwrap();
        assert!(junit.contains("failures=\"1\"") && junit.contains("skipped=\"0\""), "{condition}: {junit}");
    };
    let dead = ["base", "dead"];
    gate(dead, "iops worse", "IOPS of dead is 0, that of base is not, surely worse");
    gate(dead, "bytes_per_s worse than 5%", "throughput of dead is 0");
    gate(dead, "iops not same within 5%", "surely more than 5 % apart");
    gate(
        dead,
        "response_ns_p99 worse",
        "undecided in two of dead, so not met: response p99: of dead there is none, all of its ",
    );
    // An import, in which failures are not counted: the whole run was without an operation.
    written(&scratch, "old", &two(150, 0, false));
    written(&scratch, "idle", &two(150, 10, false));
    let idle = ["old", "idle"];
    gate(idle, "iops worse", "IOPS of idle is 0, that of old is not, surely worse");
    gate(idle, "service_ns_mean worse than 5%", "mean service: of idle there is none, it completed no operation");
    // The other way round it is better, and no number is made of it.
    let back = compared(&scratch, &["idle", "old", "--fail-if", "iops worse"], 0);
    assert!(back.contains("two: old differs from idle: IOPS up from 0: ▲ better."), "{back}");
    assert!(!back.contains("inf"), "{back}");
    // Neither did anything: nothing is proven.
    let both = compared(&scratch, &["idle", "idle", "--fail-if", "iops worse"], 5);
    let words = "objective undecided in two of 2 idle, so not met: IOPS is 0 of both 2 idle (it completed no operation";
    assert!(both.contains(words), "{both}");
}

#[test]
fn a_comparison_counts_failed_operations_and_no_bytes_of_theirs_as_foreign() {
    let scratch = Scratch::new();
    written_beside(&scratch, "whole", &[wanted("rd1", 1e6, 1)], Some(Beside::default()));
    let failing = Wanted { failing: 4, ..wanted("rd1", 1e6, 2) };
    written_beside(&scratch, "failing", &[failing], Some(Beside::default()));
    let out = compared(&scratch, &["whole", "failing"], 0);
    let line = out.lines().find(|line| line.starts_with("Failed operations: 0 of ")).unwrap_or_else(|| panic!("{out}"));
    assert!(
        line.ends_with(" of whole, 8,101 of 19,997 of failing (41 %); times and rates are of those that succeeded."),
        "{line}"
    );
    assert!(!out.contains("moved"), "the load's own failed reads are not others': {out}");
    assert!(!compared(&scratch, &["whole", "whole"], 0).contains("ailed operations"));
}

#[test]
fn a_figure_that_was_named_and_is_not_there_is_called_by_its_name() {
    let scratch = Scratch::new();
    let idle = |seed| [Wanted { failing: 10, ..wanted("rd1", 1e6, seed) }, wanted("rd2", 1e6, seed + 1)];
    written(&scratch, "base", &idle(1));
    written(&scratch, "again", &idle(3));
    let out = compared(&scratch, &["base", "again", "--primary", "response_ns_p99", "--run", "rd1"], 0);
    assert!(
        out.starts_with("rd1: again cannot be compared with base: response p99: of again there is none, "),
        "{out}"
    );
    let out = compared(&scratch, &["base", "again", "--primary", "response_ns_p99"], 0);
    assert!(out.contains(" 1 not judged (rd1).") && !out.contains("has no run"), "{out}");
}

#[test]
fn the_head_of_a_report_counts_the_errors_of_all_runs_and_claims_no_completions() {
    let scratch = Scratch::new();
    let runs =
        [Wanted { seconds: 10, ..wanted("one", 1e6, 1) }, Wanted { seconds: 10, failing: 10, ..wanted("two", 1e6, 2) }];
    written(&scratch, "r", &runs);
    let model = |name: &str| -> serde_json::Value {
        scratch.iodyno(&["report", name, "-o", "page.html", "--force"]).run().unwrap().expect_code(0);
        let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
        serde_json::from_str(page.split("id=\"model\">").nth(1).unwrap().split("</script>").next().unwrap()).unwrap()
    };
    let several = model("r");
    let sentence = several["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("2 runs on sd1: from 0 op/s to "), "{sentence}");
    let failed = sentence.strip_suffix(" errors.").unwrap().rsplit(' ').next().unwrap();
    let tile = |label: &str, of: &serde_json::Value| {
        let figures = of["figures"].as_array().unwrap();
        figures.iter().find(|figure| figure["label"] == label).unwrap_or_else(|| panic!("{label}: {of:#}")).clone()
    };
    let errors = tile("Errors", &several);
    assert!(errors["value"] == failed && failed != "0", "{errors} {sentence}");
    assert!(errors["detail"].as_str().unwrap().ends_with(" other operations succeeded"), "{errors}");
    // Every interval of `two` completed nothing.
    for of in [&several, &several["runs"][1]] {
        let stall = tile("Longest stall", of);
        assert!(stall["detail"].as_str().unwrap().starts_with("in no interval did operations wait"), "{stall}");
    }
    // A recording in which nothing at all succeeded measured that.
    written(&scratch, "dead", &runs[1..]);
    let dead = model("dead");
    assert!(dead["sentence"].as_str().unwrap().starts_with("No operation succeeded on sd1, "), "{}", dead["sentence"]);
    assert_eq!(tile("Errors", &dead)["value"], failed);
}
