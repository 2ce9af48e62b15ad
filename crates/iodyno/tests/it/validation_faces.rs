//! The verdict of data validation is said by every face, and nothing beside it reads as if all were well.

use crate::support::Scratch;
use serde_json::Value;
use testkit::CommandOutput;

/// The file is filled with stamped data, one of its blocks is copied over another one if `is_damaged`, and all is read once.
fn text(scratch: &Scratch, is_damaged: bool) -> String {
    let file = scratch.path("data").display().to_string();
    let command = match is_damaged {
        true => format!(",startcmd=\"dd if={file} of={file} bs=8k skip=3 seek=7 count=1 conv=notrunc\""),
        false => String::new(),
    };
    format!(
        "sd=sd1,lun={file},size=2m\nwd=wd1,sd=sd1,xfersize=8k,rdpct=100,seekpct=eof\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1{command}\n"
    )
}

fn run(scratch: &Scratch, name: &str, is_damaged: bool, more: &[&str]) -> CommandOutput {
    let _ = std::fs::remove_file(scratch.path("data"));
    let file = scratch.write("a.vdb", &text(scratch, is_damaged)).display().to_string();
    scratch.iodyno(&[&["run", &file, "-o", name, "--no-counters"], more].concat()).run().unwrap()
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn the_verdict_is_the_last_word_and_what_it_names_works() {
    let scratch = Scratch::new();
    let output = run(&scratch, "out", true, &["--verify"]).expect_code(4);
    for said in [&output.stdout, &output.stderr] {
        let last = said.lines().last().unwrap();
        assert!(last.starts_with("validation: ") && last.contains("1 block is damaged: 1 "), "{said}");
        assert_eq!(said.matches("validation: ").count(), 1, "{said}");
        assert_eq!(said.matches("what next: ").count(), 1, "{said}");
    }
    // Where a table says `errors 0`, damage stands beside it.
    let head = output.stdout.lines().position(|line| line.starts_with("run ") && line.contains("damaged blocks"));
    assert!(head.is_some(), "{}", output.stdout);

    let next = output.stdout.lines().find(|line| line.starts_with("what next: ")).unwrap();
    let commands: Vec<Vec<&str>> = next
        .split('`')
        .filter_map(|part| part.strip_prefix("iodyno "))
        .map(|command| command.split_whitespace().collect())
        .collect();
    let [inspect, verify, export] = &commands[..] else { panic!("three commands: {next}") };
    assert_eq!((inspect[0], verify[0], export[0]), ("inspect", "verify", "export"));
    assert_eq!(inspect[2..], ["--at", "0xe000"]);
    scratch.iodyno(inspect).run().unwrap().expect_code(4);
    let verified = scratch.iodyno(verify).run().unwrap().expect_code(4);
    assert!(!verified.stdout.contains("not shown"), "{}", verified.stdout);
    let exported = scratch.iodyno(export).run().unwrap().expect_code(0);
    assert!(exported.stdout.contains("57344"), "{}", exported.stdout);

    let report = std::fs::read_to_string(scratch.path("out/report.html")).unwrap();
    assert!(report.contains("recording.damage_places") && report.contains("Data was wrong: "), "the report");
    let place = |words: &str| report.find(words).unwrap_or_else(|| panic!("no {words} in the report"));
    assert!(place("Data was wrong: ") < place("sd1: 1 block "), "the verdict comes first");
    let model = scratch.iodyno(&["check", "out"]).run().unwrap().expect_code(4);
    assert!(model.stderr.ends_with("data was wrong: 1 block is damaged (table `data_error`, or `iodyno report`)\n"));
}

#[test]
fn one_terminal_has_the_verdict_once() {
    let scratch = Scratch::new();
    let file = scratch.write("a.vdb", &text(&scratch, true));
    let command =
        format!("{} run {} --verify -o out --no-counters > both 2>&1", env!("CARGO_BIN_EXE_iodyno"), file.display());
    let status =
        std::process::Command::new("sh").args(["-c", &command]).current_dir(scratch.path("")).status().unwrap();
    assert_eq!(status.code(), Some(4));
    let said = std::fs::read_to_string(scratch.path("both")).unwrap();
    assert!(said.lines().last().unwrap().starts_with("validation: "), "{said}");
    assert_eq!((said.matches("validation: ").count(), said.matches("what next: ").count()), (1, 1), "{said}");
}

#[test]
fn json_lines_have_what_was_proved() {
    let scratch = Scratch::new();
    let output = run(&scratch, "out", true, &["--verify", "--json"]).expect_code(4);
    let lines: Vec<Value> = output.stdout.lines().map(json).collect();
    let (verdict, intervals) = lines.split_last().unwrap();
    assert_eq!((&verdict["schema"], &verdict["verdict"]), (&"iodyno.validation/1".into(), &"damaged".into()));
    assert_eq!(
        (&verdict["damaged_blocks"], &verdict["known_blocks"], &verdict["swept_blocks"]),
        (&1.into(), &256.into(), &256.into())
    );
    assert_eq!(verdict["by_class"].as_object().unwrap().values().cloned().collect::<Vec<_>>(), [Value::from(1)]);
    assert!(intervals.iter().all(|line| line["damaged_blocks"].is_u64()), "{}", output.stdout);
    assert!(intervals.iter().any(|line| line["run"] == "verify" && line["damaged_blocks"] == 1), "{}", output.stdout);
    assert!(output.stderr.lines().last().unwrap().starts_with("validation: "), "{}", output.stderr);

    let right = run(&scratch, "right", false, &["--verify=reads", "--json"]).expect_code(0);
    let verdict = json(right.stdout.lines().last().unwrap());
    assert_eq!((&verdict["verdict"], &verdict["damaged_blocks"]), (&"right".into(), &0.into()));
    assert_eq!((&verdict["swept_blocks"], &verdict["coverage_percent"]), (&Value::Null, &Value::Null));

    // What was not measured is no 0.
    let plain = run(&scratch, "plain", false, &["--json"]).expect_code(0);
    let lines: Vec<Value> = plain.stdout.lines().map(json).collect();
    assert!(lines.iter().all(|line| line["schema"] == "iodyno.interval/1" && line["damaged_blocks"].is_null()));
}

#[test]
fn damage_is_a_measure_and_is_never_met_where_nothing_was_compared() {
    let scratch = Scratch::new();
    let condition = ["--fail-if", "damaged_blocks > 0"];
    let output = run(&scratch, "wrong", true, &[&["--verify"][..], &condition].concat()).expect_code(4);
    assert!(output.stderr.contains("objective missed in rd1: damaged_blocks was 1, more than 0"), "{}", output.stderr);
    run(&scratch, "right", false, &[&["--verify"][..], &condition].concat()).expect_code(0);
    // Without validation nothing can judge it.
    let output = run(&scratch, "plain", false, &condition).expect_code(5);
    assert!(output.stderr.contains("damaged_blocks was not measured: no data was compared in it"), "{}", output.stderr);
    let check = |name: &str, code: i32| {
        let output = scratch.iodyno(&["check", name, condition[0], condition[1]]).run().unwrap().expect_code(code);
        output.stdout + &output.stderr
    };
    let judged = check("wrong", 4);
    assert!(judged.contains("objective missed in rd1"), "{judged}");
    let judged = check("right", 0);
    for run in ["rd1", "verify"] {
        assert!(judged.contains(&format!("objective met in {run}: damaged_blocks was 0")), "{judged}");
    }
    let judged = check("plain", 5);
    assert!(!judged.contains("objective met"), "{judged}");
    // Only what it found is judged of the reading at the end.
    let others = scratch.iodyno(&["check", "right", "--fail-if", "errors > 0"]).run().unwrap().expect_code(0);
    assert!(!others.stdout.contains("in verify"), "{}", others.stdout);

    let compared = scratch.iodyno(&["compare", "right", "wrong"]).run().unwrap();
    assert!(compared.stdout.contains("wrong: data was wrong: 1 block is damaged"), "{}", compared.stdout);
    let cells = |name: &str| {
        let line = compared.stdout.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("{}", compared.stdout)).split_whitespace().map(str::to_string).collect::<Vec<_>>()
    };
    assert!(cells("damaged blocks, all runs").contains(&"1".to_string()));
    assert!(cells("data read at the end").iter().filter(|cell| *cell == "100").count() == 2);
    let compared = scratch.iodyno(&["compare", "plain", "right"]).run().unwrap();
    assert!(compared.stdout.contains("not validated"), "{}", compared.stdout);

    // A look at stamped data is a recording, too.
    let file = scratch.path("data").display().to_string();
    run(&scratch, "last", false, &["--verify"]).expect_code(0);
    let seen = scratch.iodyno(&["verify", &file, "-o", "seen"]).run().unwrap().expect_code(0);
    assert!(seen.stdout.contains("not shown   lost writes: an older block is whole, too"), "{}", seen.stdout);
    assert!(check("seen", 0).contains("objective met in verify: damaged_blocks was 0"));
    scratch
        .iodyno(&["inject", &file, "--kind", "corrupt", "--random", "3", "--seed", "7"])
        .run()
        .unwrap()
        .expect_code(0);
    scratch.iodyno(&["verify", &file, "-o", "damaged"]).run().unwrap().expect_code(4);
    assert!(check("damaged", 4).contains("objective missed in verify: damaged_blocks was 3"));
    scratch.iodyno(&["report", "damaged"]).run().unwrap().expect_code(0);
    let report = std::fs::read_to_string(scratch.path("damaged/report.html")).unwrap();
    assert!(
        report.contains(" was read: DAMAGED: 3 blocks") && report.contains("recording.damage_places"),
        "the report"
    );
}

/// As fio 3.33: `err=84` and `"error" : 84` of the job that found it, and a `total_err` where it went on.
#[test]
fn outputs_of_fio_have_its_error_of_damage() {
    let scratch = Scratch::new();
    let head = "[global]\nfilename=d\nsize=1m\nbs=4k\nverify=crc32c\n";
    let fio = |name: &str, text: &str| {
        let file = scratch.write("a.fio", text).display().to_string();
        let more = ["--no-counters", "--output-format=normal,json"];
        scratch.iodyno(&[&["run", &file, "-o", name][..], &more].concat()).run().unwrap()
    };
    fio("write", &format!("{head}[w]\nrw=write\ndo_verify=0\n")).expect_code(0);
    let inject = ["inject", "d", "--kind", "corrupt", "--random", "3", "--seed", "7"];
    scratch.iodyno(&inject).run().unwrap().expect_code(0);
    // The second opens the same file in another way, and is another target with the same data.
    let jobs =
        "[r]\nrw=read\n[twin]\nstonewall\nrw=read\ndirect=1\n[other]\nstonewall\nrw=write\nfilename=e\ndo_verify=0\n";
    let output = fio("read", &format!("{head}continue_on_error=verify\n{jobs}")).expect_code(4);
    let from = output.stdout.find("{\n").unwrap();
    let to = output.stdout.find("\n}\n").unwrap() + 3;
    let object = json(&output.stdout[from..to]);
    let jobs: Vec<_> = object["jobs"].as_array().unwrap().iter().collect();
    let of = |job: &Value| ["error", "total_err", "first_error"].map(|name| job[name].as_u64().unwrap());
    assert_eq!(jobs[0]["jobname"], "r");
    assert_eq!(of(jobs[0]), [84, 3, 84], "{}", output.stdout);
    assert_eq!(of(jobs[2]), [0, 0, 0]);
    let normal = &output.stdout[to..];
    assert!(normal.contains("r: (groupid=0, jobs=1): err=84 ("), "{normal}");
    assert!(normal.contains("other: (groupid=2, jobs=1): err= 0"), "{normal}");
    assert!(normal.contains("errors    : total=3, first_error=84/<"), "{normal}");
    let found = scratch.table("read", "data_error");
    let of_twin = found.iter().filter(|row| row["run_index"] == 1).count() as u64;
    assert_eq!(of(jobs[1])[1], of_twin, "{found:?}");
    assert!(
        output.stderr.lines().last().unwrap().starts_with("validation: "),
        "behind fio's output: {}",
        output.stderr
    );
}
