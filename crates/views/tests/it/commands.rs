//! Executed commands whose figures are known, because the rows were made by hand.

use recording::rows::{CommandExecution, OpInterval, Phase};
use recording::{ExecutionEnding, Label, LoadPhase, Manifest, PhaseEdge, Reader, RowBatch, Sink, Writer};
use view::{Body, MarkKind, Selection, ViewTable};
use views::{Comparison, RecordingFacts, compute, report_model};
use workload::commands::{executed_commands, execution_line, sentence, summary_lines};

const SECOND: i64 = 1_000_000_000;

/// The `number`th execution of a run; it starts at `at_s` and takes `real_ms`.
fn execution(run: (&str, i32), number: i64, at_s: i64, real_ms: i64) -> CommandExecution {
    let start_t_ns = (1 + at_s) * SECOND;
    CommandExecution {
        t_ns: start_t_ns + real_ms * 1_000_000,
        t_s: at_s as f64 + real_ms as f64 / 1e3,
        run: run.0.to_string(),
        run_index: run.1,
        phase: LoadPhase::Measure,
        workload: Label::from("openssl"),
        line: Label::from("openssl speed rsa2048"),
        number,
        due_t_ns: start_t_ns - 2_000_000,
        start_t_ns: Some(start_t_ns),
        ending: ExecutionEnding::Exited,
        exit_code: Some(0),
        signal: None,
        real_ns: Some(real_ms * 1_000_000),
        user_ns: Some(real_ms * 1_500_000),
        sys_ns: Some(real_ms * 500_000),
        max_rss_bytes: Some(8_000_000),
        read_bytes: Some(4096),
        write_bytes: Some(0),
        read_call_bytes: None,
        write_call_bytes: None,
        minor_faults: None,
        major_faults: None,
        voluntary_switches: None,
        involuntary_switches: None,
        output_bytes: Some(120),
        left_behind: Some(0),
        error: String::new(),
    }
}

fn phases(run: (&str, i32), detail: &str, (from_s, to_s): (i64, i64)) -> Vec<Phase> {
    let of = |event, at_s: i64| Phase {
        t_ns: (1 + at_s) * SECOND,
        t_s: at_s as f64,
        run: run.0.to_string(),
        run_index: run.1,
        phase: LoadPhase::Measure,
        event,
        offered_rate: None,
        detail: detail.to_string(),
    };
    vec![of(PhaseEdge::Start, from_s), of(PhaseEdge::End, to_s)]
}

fn recorded(name: &str, batches: &[RowBatch]) -> (tempfile::TempDir, Reader) {
    let folder = tempfile::tempdir().unwrap();
    let path =
        std::env::var_os("HD_KEEP").map_or(folder.path().join(name), |keep| std::path::PathBuf::from(keep).join(name));
    let mut manifest = Manifest::new(&[]);
    manifest.started_t_ns = SECOND;
    let mut writer = Writer::create(&path, manifest).unwrap();
    batches.iter().for_each(|batch| writer.accept(batch).unwrap());
    writer.commit().unwrap();
    writer.seal().unwrap();
    let reader = Reader::open(&path).unwrap();
    (folder, reader)
}

/// Three settings, five executions each, of `base_ms` ÷ threads give or take; one more of the first fails.
fn sweep(name: &str, base_ms: i64) -> (tempfile::TempDir, Reader) {
    let (mut rows, mut spans) = (Vec::new(), Vec::new());
    for (index, threads) in [1, 2, 4].into_iter().enumerate() {
        let run = ("ssl", i32::try_from(index).unwrap());
        let begin = 20 * i64::from(run.1);
        spans.extend(phases(run, &format!("threads={threads}"), (begin, begin + 18)));
        let times = [0, 20, -20, 10, -10];
        rows.push(CommandExecution { phase: LoadPhase::Warmup, ..execution(run, 1, begin, 3000) });
        rows.extend(
            (1..)
                .zip(times)
                .map(|(number, more)| execution(run, number, begin + 2 * number, (base_ms + more) / threads)),
        );
        if threads == 1 {
            rows.push(CommandExecution { exit_code: Some(1), ..execution(run, 6, begin + 14, 5) });
        }
    }
    recorded(name, &[RowBatch::from_rows(&spans).unwrap(), RowBatch::from_rows(&rows).unwrap()])
}

fn table(reader: &Reader, id: &str) -> ViewTable {
    match compute(reader, id, &Selection::default()).unwrap().body {
        Body::Table(table) => table,
        other => panic!("{id} is no table: {other:?}"),
    }
}

fn column(table: &ViewTable, group: &str, name: &str) -> Vec<String> {
    let found = table.columns.iter().find(|column| column.name == name && column.group == group);
    let found = found.unwrap_or_else(|| panic!("no column {name} in {table:?}"));
    (0..table.rows()).map(|row| found.cell(row)).collect()
}

#[test]
fn a_sweep_of_commands_is_in_the_views_and_in_no_table_of_rates() {
    let (_folder, reader) = sweep("a.iodyno", 1000);
    let summary = table(&reader, "command.summary");
    assert_eq!(column(&summary, "", "parameters"), ["threads=1", "threads=2", "threads=4"]);
    assert_eq!(column(&summary, "", "executions"), ["5", "5", "5"]);
    assert_eq!(column(&summary, "", "failed"), ["1", "0", "0"]);
    // 980, 990, 1000, 1010, 1020: the one that failed after 5 ms and the warm-up are not in it.
    assert_eq!(column(&summary, "real time", "mean")[..2], ["1.00 s", "500 ms"]);
    assert_eq!(column(&summary, "real time", "min")[0], "980 ms");
    // σ² = 1000 / 4 ms², and 2.776445 × 15.811 ÷ √5 = 19.6 ms.
    assert_eq!(column(&summary, "real time", "std. dev.")[0], "15.8 ms");
    assert_eq!(column(&summary, "real time", "±")[0], "19.6 ms");
    assert_eq!(column(&summary, "CPU time", "of a CPU")[0], "200");
    assert_eq!(column(&summary, "", "exit codes")[0], "0 × 5, 1");
    assert_eq!(table(&reader, "command.executions").rows(), 19);
    let by = compute(&reader, "command.by", &Selection::default()).unwrap();
    let Body::Panels { ticks, panels, .. } = by.body else { panic!("panels") };
    assert_eq!(ticks, ["1", "2", "4"]);
    let (low, high) = panels[0].lines[0].points[0].within.unwrap();
    assert!(((high - low) / 2.0 - 19.632_4e6).abs() < 1e3, "{low} {high}");
    for id in ["sweep.runs", "sweep.rate_by", "sweep.load_response", "run.iops", "command.moments"] {
        assert!(compute(&reader, id, &Selection::default()).is_err(), "{id}");
    }
    let one = Selection { run: Some("1".to_string()), ..Selection::default() };
    let Body::Table(one) = compute(&reader, "command.executions", &one).unwrap().body else { panic!("a table") };
    assert_eq!(one.rows(), 6);
    let named = Selection { run: Some("ssl threads=4".to_string()), ..Selection::default() };
    let Body::Table(named) = compute(&reader, "command.executions", &named).unwrap().body else { panic!("a table") };
    assert_eq!(named.rows(), 6);
    let none = Selection { run: Some("ssl threads=3".to_string()), ..Selection::default() };
    let why = compute(&reader, "command.executions", &none).unwrap_err().to_string();
    assert!(why.contains("ssl threads=1, ssl threads=2, ssl threads=4"), "{why}");
}

#[test]
fn the_report_of_commands_begins_with_them() {
    let (_folder, reader) = sweep("b.iodyno", 1000);
    let model = report_model(&reader).unwrap();
    assert_eq!(
        model.sentence, "openssl: 3 settings × 5 executions; fastest threads=4: 249.8 ms ± 2.0 %; 1 failed.",
        "{:?}",
        model.figures
    );
    assert_eq!((model.title.as_str(), model.runs.len()), ("openssl", 3));
    assert!(model.runs.iter().all(|run| !run.sentence.contains("op/s") && run.is_of_commands), "{:?}", model.runs);
    assert!(model.runs[0].figures.iter().all(|figure| figure.label != "IOPS"));
    assert!(model.warnings.iter().any(|warning| warning.text.contains("threads=1: 1 of 6 failed (exit 1)")));
    let facts = RecordingFacts::read(&reader, &Selection::default()).unwrap();
    let lines = summary_lines(&facts.executed()).join("\n");
    for words in
        ["time (mean ± σ):    1.000 s ± 0.016 s", "openssl threads=4 ran", "times faster than openssl threads=2"]
    {
        assert!(lines.contains(words), "{words}: {lines}");
    }
    assert_eq!(
        execution_line(&execution(("ssl", 0), 2, 1, 1234), Some(3), Some(15.0)),
        "openssl 2 of 3 at 15.0 s: real 1.234 s, user 1.851 s, system 617.0 ms, 4.10 kB read, exit 0"
    );
}

#[test]
fn only_settings_of_one_command_that_differ_are_ranked() {
    let words = |runs: [&'static str; 2], means: [i64; 2]| {
        let runs = [(runs[0], 0), (runs[1], 1)];
        let of = |at: usize| {
            [0, 20, -20, 10, -10].into_iter().map(move |more| execution(runs[at], 1, 1, means[at] + more)).collect()
        };
        let rows: [Vec<CommandExecution>; 2] = [of(0), of(1)];
        let commands = executed_commands(&rows.concat(), &|index| format!("threads={index}"));
        format!("{}\n{}", summary_lines(&commands).join("\n"), sentence(&commands))
    };
    let faster = words(["ssl", "ssl"], [1000, 1100]);
    assert!(faster.contains("1.10 ± 0.02 times faster") && faster.contains("fastest threads=0"), "{faster}");
    let alike = words(["ssl", "ssl"], [1000, 1005]);
    assert!(
        alike.contains("no differently from openssl threads=1") && alike.contains("no difference shown"),
        "{alike}"
    );
    assert!(!alike.contains("faster"), "{alike}");
    let rows = [
        execution(("ssl", 0), 1, 1, 1000),
        CommandExecution { phase: LoadPhase::Paused, ..execution(("ssl", 0), 2, 3, 900) },
    ];
    let paused = summary_lines(&executed_commands(&rows, &|_| String::new())).join("\n");
    assert!(paused.contains("warning: 1 execution while iodyno itself did not run; no time counts them."), "{paused}");
    let others = words(["ssl", "own"], [1000, 2000]);
    assert!(!others.contains("faster") && !others.contains("fastest") && others.contains("2 commands"), "{others}");
}

#[test]
fn commands_under_load_stand_beside_the_idle_machine_and_are_marked() {
    let run = ("mail", 0);
    let mut rows = vec![CommandExecution { phase: LoadPhase::Baseline, ..execution(run, 1, 0, 1000) }];
    rows.extend((1..=3).map(|number| execution(run, number, 10 + 5 * number, 1500)));
    rows[3] =
        CommandExecution { ending: ExecutionEnding::Stopped, exit_code: None, signal: Some(15), ..rows[3].clone() };
    let interval = |second: i64| OpInterval {
        t_ns: (1 + 11 + second) * SECOND,
        t_s: (11 + second) as f64,
        interval_ns: SECOND,
        run: "mail".to_string(),
        run_index: 0,
        phase: LoadPhase::Measure,
        workload: "wd1".to_string(),
        target: "sd1".to_string(),
        op: "read".to_string(),
        arrivals: Some(100),
        ops: 100 + second,
        bytes: 409_600,
        errors: Some(0),
        response: Default::default(),
        service: Default::default(),
        wait: None,
        in_flight_mean: Some(1.0),
        backlog: Some(0),
    };
    let load: Vec<OpInterval> = (0..20).map(interval).collect();
    let spans = RowBatch::from_rows(&phases(run, "", (10, 30))).unwrap();
    let batches = [spans, RowBatch::from_rows(&load).unwrap(), RowBatch::from_rows(&rows).unwrap()];
    let (_folder, reader) = recorded("c.iodyno", &batches);
    let moments = table(&reader, "command.moments");
    assert_eq!(column(&moments, "", "at"), ["idle machine", "5.00 s", "10.0 s", "15.0 s"]);
    assert_eq!(column(&moments, "", "real"), ["1.00 s", "1.50 s", "1.50 s", "1.50 s"]);
    assert_eq!(column(&moments, "", "÷ idle"), ["?", "1.50", "1.50", "?"]);
    assert_eq!(column(&moments, "", "ending")[3], "stopped: the run was over");
    assert_eq!(column(&moments, "the load meanwhile", "rate")[0], "?");
    let rate: f64 = column(&moments, "the load meanwhile", "rate")[1].parse().unwrap();
    assert!((104.0..108.0).contains(&rate), "{rate}");
    let iops = compute(&reader, "run.iops", &Selection::default()).unwrap();
    let marks: Vec<_> = iops.marks.iter().filter(|mark| mark.kind == MarkKind::Command).collect();
    assert_eq!(marks.len(), 3, "the one before the run began is not in its chart: {marks:?}");
    assert!((marks[0].from - 5.0).abs() < 1e-9 && (marks[0].to - 6.5).abs() < 1e-9, "{marks:?}");
    let model = report_model(&reader).unwrap();
    assert!(model.sentence.contains("op/s") && !model.runs[0].is_of_commands, "{}", model.sentence);
}

fn compared(sides: Vec<(&str, Reader)>) -> Comparison {
    let sides: Vec<(String, Reader)> = sides.into_iter().map(|(label, reader)| (label.to_string(), reader)).collect();
    Comparison::read(&sides, None).unwrap()
}

#[test]
fn commands_of_two_recordings_are_compared_by_welch_s_t() {
    let ((_a, old), (_b, new)) = (sweep("old.iodyno", 1000), sweep("new.iodyno", 800));
    let comparison = compared(vec![("old", old), ("new", new)]);
    let model = views::comparison_model(&comparison);
    let expected = "ssl threads=1: openssl: real time of new against old 20.0 % lower (ratio 0.800, 95 % interval 0.7";
    assert!(model.sentence.starts_with(expected), "{}", model.sentence);
    let real = comparison.differences().into_iter().find(|one| one.is_primary).unwrap();
    // ln of 980…1020 and 780…820: σ 0.01581 and 0.01976, so that the error is 0.01132 with 7.63 degrees of freedom, t 2.326.
    let (low, high) = real.judged.interval.unwrap();
    assert!((low - 0.779).abs() < 1e-3 && (high - 0.821).abs() < 1e-3, "{low} {high}");
    assert_eq!(
        (real.measure, real.judged.conclusion.clone()),
        ("real_ns", views::Conclusion::Different { better: Some(true) })
    );
    assert_eq!(comparison.differences().len(), 18, "six figures of three settings; nothing was written");
}

#[test]
fn two_single_commands_are_shown_and_not_resolved() {
    let one = |name: &str, line: &str, ms: i64| {
        let row =
            CommandExecution { line: Label::from(line), workload: Label::from(line), ..execution(("", 0), 1, 0, ms) };
        recorded(name, &[RowBatch::from_rows(&[row]).unwrap()])
    };
    let ((_a, a), (_b, b)) = (one("one.iodyno", "make", 1000), one("two.iodyno", "ninja", 500));
    let model = report_model(&a).unwrap();
    assert_eq!(
        (model.title.as_str(), model.sentence.as_str()),
        ("make", "make: 1.000 s, 1 execution, 200 % of a CPU.")
    );
    assert_eq!(model.figures[0].value, "1.000 s");
    let comparison = compared(vec![("a", a), ("b", b)]);
    let model = views::comparison_model(&comparison);
    let expected =
        "make / ninja: real time of b against a 50 % lower (1/2.00) (ratio 0.500): ? not resolved: one execution each.";
    assert_eq!(model.sentence, expected);
    assert!(
        model.warnings.iter().any(|warning| warning.text.contains("a: `make`; b: `ninja`")),
        "{:?}",
        model.warnings
    );
    assert!(model.overview.iter().any(|view| view.id == "compare.commands"));
    // Three quarters of the CPU time in user mode: two CPUs were busy all the time, on both sides.
    let share = comparison.differences().into_iter().find(|one| one.measure == "cpu_percent").unwrap();
    assert_eq!((share.values, share.judged.ratio), ((200.0, 200.0), 1.0));
}
