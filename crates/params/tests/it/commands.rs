//! Commands as load: what `cmd=` and a command of the command line become.

use params::{DiagnosticSeverity, MemoryLoader, PlanReading, VdbenchOptions, read_vdbench, render};
use params::{FileLoader, print_fio, print_vdbench, simulate};
use plan::commands::{CommandMistake, CommandRequest, command_plan};
use plan::{CommandLine, CommandLoad, Plan, Run};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const SD: &str = "sd=sd1,lun=/tmp/x,size=1g\nwd=wd1,sd=sd1\n";

fn read(text: &str, options: &VdbenchOptions) -> PlanReading {
    read_vdbench(&[PathBuf::from("job.vdb")], options, &MemoryLoader::one("job.vdb", text))
}

fn plan_with(text: &str, options: &VdbenchOptions) -> Plan {
    let reading = read(text, options);
    let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
    reading.plan.unwrap_or_else(|| panic!("{}", shown.join("\n\n")))
}

fn plan_of(text: &str) -> Plan {
    plan_with(text, &VdbenchOptions::default())
}

fn loads(run: &Run) -> Vec<(&str, &CommandLoad)> {
    run.workloads.iter().filter_map(|one| Some((one.name.as_str(), one.load.command()?))).collect()
}

fn lines(plan: &Plan) -> Vec<String> {
    plan.runs.iter().flat_map(loads).map(|(_, load)| load.line.to_string()).collect()
}

#[test]
fn a_sweep_of_a_command_needs_neither_target_nor_rate() {
    let plan = plan_of(
        "rd=ssl,cmd=\"openssl speed -multi {threads} rsa2048\",forthreads=(1,2,4),times=5,warmups=1,prepare=\"sync {threads}\"\n",
    );
    assert_eq!(lines(&plan), [1, 2, 4].map(|count| format!("openssl speed -multi {count} rsa2048")));
    assert!(plan.targets.is_empty() && plan.runs.iter().all(Run::is_of_commands));
    let run = &plan.runs[1];
    assert_eq!((run.elapsed_ns, run.warmup_ns, run.depth), (None, 0, None));
    assert_eq!(run.loops, [("threads".to_string(), "2".to_string())]);
    let (name, load) = loads(run)[0];
    let expect = CommandLoad {
        line: CommandLine::Shell("openssl speed -multi 2 rsa2048".to_string()),
        prepare: Some(CommandLine::Shell("sync 2".to_string())),
        warmups: 1,
        executions: Some(5),
        at_ns: vec![],
        ignores_failure: false,
        baselines: 0,
    };
    assert_eq!((name, load), ("openssl", &expect));
    assert_eq!(simulate(&plan)[0], "Simulating RD=ssl; I/O rate: none; elapsed=(none); For loops: threads=1");
}

#[test]
fn moments_stand_beside_a_load_that_keeps_its_shares() {
    let plan = plan_of(&format!(
        "{SD}wd=wd2,sd=sd1\nrd=mail,wd=wd*,iorate=1000,elapsed=2h,interval=1m,at=(30m,60m,90m),cmd=(\"/usr/bin/rsync -a /mail /copy\",\"rsync x\")\n"
    ));
    let run = &plan.runs[0];
    assert_eq!(run.workloads.iter().map(|one| one.share).collect::<Vec<f64>>(), [0.5, 0.5, 0.0, 0.0]);
    assert_eq!((run.is_controlled(), run.offered_rate(1000.0), run.offered(None)), (false, 1000.0, None));
    let names: Vec<&str> = loads(run).iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["rsync", "rsync2"]);
    let load = loads(run)[0].1;
    assert_eq!(load.at_ns, [30, 60, 90].map(|minutes| minutes * 60_000_000_000));
    assert_eq!((load.executions, load.baselines), (None, 1));
}

#[test]
fn rates_of_their_own_are_not_shared_with_commands() {
    let text = "sd=sd1,lun=/tmp/x,size=1g\nwd=a,sd=sd1,iorate=100,priority=1\nwd=b,sd=sd1,iorate=50,priority=2\n";
    let plan = plan_of(&format!("{text}rd=r,wd=*,iorate=1000,elapsed=9,at=3,cmd=ls\n"));
    assert_eq!((plan.runs[0].offered_rate(1000.0), plan.runs[0].offered(None)), (150.0, Some(150.0)));
}

#[test]
fn every_point_of_a_curve_executes_the_command() {
    let plan = plan_of(&format!("{SD}rd=c,wd=wd1,iorate=curve,curve=(10,50),elapsed=20,at=5,cmd=\"ls\"\n"));
    assert_eq!(plan.runs.iter().map(|run| loads(run).len()).collect::<Vec<usize>>(), [1, 1, 1]);
}

#[test]
fn variables_are_those_of_all_loops_and_the_last_of_a_name_counts() {
    let plan = plan_of(&format!(
        "{SD}rd=default,vary=(mem,9)\nrd=r,wd=wd1,iorate=(100,200),vary=(mem,1m,\"2 m\"),cmd=\"sort -S {{mem}} ${{mem}} {{iorate}} {{x}}\"\n"
    ));
    let expect = ["1m ${mem} 100", "1m ${mem} 200", "2 m ${mem} 100", "2 m ${mem} 200"];
    assert_eq!(lines(&plan), expect.map(|words| format!("sort -S {words} {{x}}")));
    assert_eq!(plan.runs[0].loops.len(), 2);
}

#[test]
fn what_a_default_says_holds_for_the_runs_behind_it() {
    let plan = plan_of("rd=default,cmd=\"ls\",times=4,elapsed=60\nrd=a,warmups=2\nrd=b,cmd=\"df\",times=max\n");
    assert_eq!(lines(&plan), ["ls", "df"]);
    let of = |at: usize| loads(&plan.runs[at])[0].1;
    assert_eq!((of(0).executions, of(0).warmups, of(1).executions, of(1).warmups), (Some(4), 2, None, 0));
    assert_eq!(plan.runs[0].elapsed_ns, Some(60_000_000_000));
    let alone = read("rd=a,cmd=ls,baseline=2\n", &VdbenchOptions::default());
    assert!(alone.plan.is_none() && alone.diagnostics[0].message.contains("no load to compare with"));
    // Settings without a command that a default has are no mistake of the runs that have none.
    plan_of(&format!("{SD}rd=default,times=4\nrd=a,wd=wd1,iorate=max\n"));
    let options = VdbenchOptions { run_addition: Some("times=2,cmd=du".to_string()), ..VdbenchOptions::default() };
    let plan = plan_with("rd=a,cmd=\"ls\",times=9\n", &options);
    assert_eq!((lines(&plan), loads(&plan.runs[0])[0].1.executions), (vec!["du".to_string()], Some(2)));
}

#[test]
fn the_command_line_limits_a_run_of_commands() {
    let options = VdbenchOptions { elapsed_ns: Some(10_000_000_000), ..VdbenchOptions::default() };
    assert_eq!(plan_with("rd=a,cmd=\"ls\"\n", &options).runs[0].elapsed_ns, Some(10_000_000_000));
    assert!(read(&format!("{SD}rd=a,wd=wd1,iorate=9,elapsed=60,at=15,cmd=ls\n"), &options).plan.is_none());
}

#[test]
fn printed_commands_have_their_variables_again() {
    for (text, expect) in [
        ("rd=a,cmd=\"p {n}{n} 1\",vary=(n,1,11)\n", "rd=a,cmd=\"p {n}{n} 1\",vary=(n,1,11)\n"),
        ("rd=a,cmd=\"1 {n} {m}\",vary=(n,1),vary=(m,1,2)\n", "rd=a,cmd=\"{n} 1 {m}\",vary=(n,1),vary=(m,1,2)\n"),
    ] {
        let printed = print_vdbench(&plan_of(text));
        // Another place of a variable is as good where it gives the same runs.
        assert!(printed.unsaid.is_empty() && (printed.text == expect || printed.text == text), "{printed:?}");
    }
    let direct = CommandRequest { words: vec!["a".into()], ..request() };
    let printed = print_vdbench(&command_plan(&direct).unwrap());
    assert!(printed.unsaid[0].contains("executes programs directly"), "{printed:?}");
    let printed = print_fio(&plan_of("rd=a,cmd=\"ls\"\n"));
    assert_eq!((printed.text.as_str(), printed.unsaid.len()), ("", 1));
}

#[test]
fn lines_that_explode_are_refused() {
    let fails = |text: &str, code: &str| {
        let found = read(text, &VdbenchOptions::default()).diagnostics;
        assert!(found.iter().any(|one| one.code == code), "{code}: {found:?}");
    };
    let long = "x".repeat(70_000);
    fails(&format!("rd=a,cmd=\"{{n}}{{n}}\",vary=(n,{long})\n"), "too-long");
    let places = "{n}".repeat(300_000);
    fails(&format!("rd=a,cmd=\"{places}\",vary=(n,{long})\n"), "too-long");
    let values: String = (0..16_000).map(|number| format!(",{number}")).collect();
    fails(&format!("rd=a,cmd=\"{}{{n}}\",vary=(n{values})\n", "y".repeat(100_000)), "too-much");
    fails(&format!("rd=a,elapsed=99999,at=(0-10000,1),cmd=\"{{n}}\",vary=(n{values})\n"), "too-much");
}

#[test]
fn half_of_a_command_is_never_meant() {
    let of = |text: &str| {
        let reading = read(&format!("{text}\n"), &VdbenchOptions::default());
        let levels = reading.diagnostics.iter().filter(|one| one.code == "command").map(|one| one.severity);
        (reading.plan.is_some(), levels.collect::<Vec<_>>())
    };
    let (error, warning) = (vec![DiagnosticSeverity::Error], vec![DiagnosticSeverity::Warning]);
    for wrong in [
        "rd=a,cmd=\"rm -rf \"x y\"\"",
        "rd=a,cmd=\"rm -rf \\\"x y\\\"\"",
        "rd=a,cmd=\"rsync x\" y\"",
        "rd=a,cmd=\"ls\"-la",
        "rd=a,cmd=(df,\"ls \"-la)",
        "rd=a,cmd=ls -la",
        "rd=a,cmd=ls,prepare=rm x",
        "startcmd=\"echo \"x y\" z\"\nrd=a,cmd=ls",
    ] {
        assert_eq!(of(wrong), (false, error.clone()), "{wrong}");
    }
    let load = "rd=a,wd=wd1,iorate=9,elapsed=9,interval=1,";
    assert_eq!(of(&format!("{SD}{load}start_cmd=\"echo \"x\" y\"")), (false, error));
    // To Vdbench, a blank begins a comment.
    assert_eq!(of(&format!("{SD}{load}startcmd=ls -la")), (true, warning));
    for right in [
        "rd=a,cmd=\"rm -rf 'x y'\"   # all of it",
        "rd=a,cmd=\"ls\" a comment",
        "rd=a,cmd=ls  * a comment",
        "rd=a,cmd=(\"ls -la\",df),times=3",
        "rd=a,cmd=\"ls -la\",times=3",
    ] {
        assert_eq!(of(right), (true, Vec::new()), "{right}");
    }
}

fn request() -> CommandRequest {
    CommandRequest {
        name: None,
        words: ["/usr/bin/openssl", "speed", "-multi", "{threads}"].map(str::to_string).to_vec(),
        setup: None,
        prepare: None,
        ignores_failure: false,
        times: 5,
        warmups: 1,
        variables: Vec::new(),
        elapsed_ns: None,
        interval_ns: 1_000_000_000,
    }
}

#[test]
fn a_command_of_the_command_line_is_a_plan() {
    let values = |text: &str| text.split(',').map(str::to_string).collect::<Vec<String>>();
    let variables = vec![("threads".to_string(), values("1,2")), ("k".to_string(), values("a,b"))];
    let asked = CommandRequest { prepare: Some("rm {k}".to_string()), variables, ..request() };
    let plan = command_plan(&asked).unwrap();
    assert_eq!(plan.runs.len(), 4);
    let run = &plan.runs[1];
    assert_eq!((run.title.as_str(), run.loops[1].1.as_str(), run.elapsed_ns), ("openssl", "b", None));
    let (name, load) = loads(run)[0];
    let words = ["/usr/bin/openssl", "speed", "-multi", "1"].map(str::to_string).to_vec();
    assert_eq!((name, &load.line), ("openssl", &CommandLine::Program(words)));
    assert_eq!(load.prepare, Some(CommandLine::Shell("rm b".to_string())));
    assert_eq!((load.executions, load.warmups), (Some(5), 1));
    assert_eq!(plan.sources[0].text, "/usr/bin/openssl speed -multi '{threads}'");

    let mistake = |asked: CommandRequest| command_plan(&asked).unwrap_err();
    let vary = |name: &str, text: &str| CommandRequest { variables: vec![(name.into(), values(text))], ..request() };
    assert_eq!(mistake(CommandRequest { words: vec![String::new()], ..request() }), CommandMistake::NoProgram);
    assert_eq!(mistake(vary("a b", "1")), CommandMistake::BadName("a b".into()));
    assert_eq!(mistake(vary("x", "1")), CommandMistake::Unused("x".into()));
    assert_eq!(mistake(vary("threads", "1,1")), CommandMistake::TwiceListed("threads".into(), "1".into()));
    let many: String = (0..70_000).map(|number| format!("{number},")).collect();
    assert_eq!(mistake(vary("threads", &many)), CommandMistake::TooMany(70_001));
    assert_eq!(mistake(vary("threads", &"x".repeat(200_000))), CommandMistake::TooLong);
    assert_eq!(
        mistake(CommandRequest { elapsed_ns: Some(1_000_000_000), ..request() }),
        CommandMistake::TooShort(1_000_000_000)
    );
}

#[test]
fn owners_are_those_of_the_files_that_were_read() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let folder = tempfile::tempdir().unwrap();
    let (main, other) = (folder.path().join("a.vdb"), folder.path().join("other"));
    std::fs::write(&main, "include=other\nrd=a,cmd=\"ls\"\n").unwrap();
    std::fs::write(&other, "* nothing\n").unwrap();
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o646)).unwrap();
    let reading = read_vdbench(std::slice::from_ref(&main), &VdbenchOptions::default(), &params::DiskLoader);
    let uid = std::fs::metadata(&main).unwrap().uid();
    let owners: Vec<(String, u32, bool)> = reading
        .owners
        .iter()
        .map(|(at, owner)| (reading.sources[*at].name.clone(), owner.uid, owner.is_open_to_all))
        .collect();
    assert_eq!(owners, [(main.display().to_string(), uid, false), (other.display().to_string(), uid, true)]);
    assert_eq!(MemoryLoader::one("x", "y").load_with_owner(Path::new("x")).unwrap().owner, None);
}

/// A run definition of words of commands, right and wrong.
fn any_run() -> impl Strategy<Value = String> {
    let values = [
        "1",
        "0",
        "-1",
        "max",
        "no",
        "2h",
        "(1,2)",
        "(2,1)",
        "(5,5)",
        "(1-9,2)",
        "()",
        "\"\"",
        "\"ls {a}\"",
        "\"{b} ${b} {}\"",
        "(\"x\",\"y {a}\")",
        "\"x",
        "(a,1,2)",
        "(a)",
        "(b,\"2 m\",{a})",
        "(a,1-3,1)",
        "99999999999999999999",
        "1m",
        "é",
        "(",
    ];
    let words = [
        "cmd",
        "at",
        "times",
        "warmups",
        "baseline",
        "prepare",
        "vary",
        "elapsed",
        "interval",
        "iorate",
        "forthreads",
        "wd",
    ];
    let parameter = (proptest::sample::select(words.to_vec()), proptest::sample::select(values.to_vec()));
    let parameters = proptest::collection::vec(parameter.prop_map(|(word, value)| format!(",{word}={value}")), 0..7);
    (proptest::sample::select(vec!["", ",cmd=ls", ",wd=wd1,iorate=9,elapsed=60,cmd=ls"]), parameters)
        .prop_map(|(first, rest)| format!("rd=r{first}{}\n", rest.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_words_of_commands_are_a_plan_or_a_mistake(run in any_run()) {
        let reading = read(&format!("{SD}{run}"), &VdbenchOptions::default());
        // Each mistake can be shown.
        let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
        prop_assert!(reading.plan.is_some() || !shown.is_empty());
        let Some(plan) = reading.plan else { return Ok(()) };
        prop_assert!(plan.runs.len() < 100);
        for run in &plan.runs {
            for (name, load) in loads(run) {
                prop_assert!(!name.is_empty());
                prop_assert!(load.at_ns.is_sorted());
                prop_assert!(load.executions != Some(0));
                let last_ns = load.at_ns.last().copied();
                prop_assert!(last_ns.is_none_or(|last_ns| run.elapsed_ns.is_some_and(|elapsed_ns| last_ns < elapsed_ns)));
                // One that is repeated without end has an end of the run.
                prop_assert!(load.executions.is_some() || last_ns.is_some() || run.elapsed_ns.is_some());
            }
        }
        simulate(&plan);
        print_vdbench(&plan);
    }
}
