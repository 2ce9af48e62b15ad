//! Conditions against small made runs: what is read, what is judged, what is said.

use super::{Condition, ConditionError, ConditionJudge, Judgement, ObjectiveVerdict, RunHalt, SelectableNames};
use quantity::histogram::Histogram;
use recording::rows::{EngineInterval, OpInterval, Phase, RunEnd, RunTotal};
use recording::{LoadPhase, PhaseEdge, RowBatch};

/// One interval of reads: completions, their response time, how many wait.
#[derive(Clone, Copy)]
struct Second {
    ops: i64,
    response_ns: u64,
    in_flight: f64,
}

const S: i64 = 1_000_000_000;

fn times(count: i64, ns: u64) -> Histogram {
    let mut histogram = Histogram::new(7);
    (0..count).for_each(|_| histogram.record(ns));
    histogram
}

fn row(second: usize, op: &str, of: Second) -> OpInterval {
    let end_s = i64::try_from(second).unwrap() + 1;
    OpInterval {
        t_ns: 100 * S + end_s * S,
        t_s: end_s as f64,
        interval_ns: S,
        run: "rd1".into(),
        run_index: 0,
        phase: LoadPhase::Measure,
        workload: "wd1".into(),
        target: "sd1".into(),
        op: op.into(),
        arrivals: Some(100),
        ops: of.ops,
        bytes: of.ops * 4096,
        errors: Some(0),
        response: times(of.ops, of.response_ns),
        service: times(of.ops, of.response_ns / 2),
        wait: None,
        in_flight_mean: Some(of.in_flight),
        backlog: Some(0),
    }
}

/// Judges `text` over a run of these intervals whose end was not recorded.
fn judged(text: &str, seconds: &[Second]) -> ObjectiveVerdict {
    judged_with_end(text, seconds, None)
}

/// So many operations in flight and waiting, all of this age, when the run ended in `phase`.
fn end((in_flight, waiting): (i64, i64), age_ns: u64, phase: &str) -> RunEnd {
    RunEnd {
        t_ns: 0,
        t_s: 0.0,
        end_t_ns: 0,
        run: "rd1".into(),
        run_index: 0,
        phase: phase.into(),
        workload: "wd1".into(),
        target: "sd1".into(),
        op: "read".into(),
        in_flight,
        waiting,
        in_flight_age: times(in_flight, age_ns),
        in_flight_service_age: times(in_flight, age_ns / 2),
        waiting_age: times(waiting, age_ns),
    }
}

/// Judges `text` over a run of these intervals with this end.
fn judged_with_end(text: &str, seconds: &[Second], end: Option<RunEnd>) -> ObjectiveVerdict {
    judged_with(text, seconds, (end, None), |_| ())
}

/// The same of a run that was cut short.
fn judged_when_cut(text: &str, seconds: &[Second], end: Option<RunEnd>, halt: Option<RunHalt>) -> ObjectiveVerdict {
    judged_with(text, seconds, (end, halt), |_| ())
}

/// The same, of rows as `change` makes them.
fn judged_with(
    text: &str,
    seconds: &[Second],
    (end, halt): (Option<RunEnd>, Option<RunHalt>),
    change: impl Fn(&mut OpInterval),
) -> ObjectiveVerdict {
    let condition = Condition::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut judge = ConditionJudge::new(vec![condition]);
    let mark = |event: &str, t_ns: i64| Phase {
        t_ns,
        t_s: 0.0,
        run: "rd1".into(),
        run_index: 0,
        phase: LoadPhase::Measure,
        event: event.into(),
        offered_rate: Some(100.0),
        detail: "threads=4".into(),
    };
    judge.accept(&RowBatch::from_rows(&[mark("start", 100 * S)]).unwrap()).unwrap();
    let mut sum = times(0, 0);
    for (at, second) in seconds.iter().enumerate() {
        let mut read = row(at, "read", *second);
        change(&mut read);
        sum.merge(&read.response);
        let mut warm = row(at, "read", Second { ops: 50, response_ns: 9 << 40, in_flight: 1.0 });
        (warm.phase, warm.t_ns) = ("warmup".into(), warm.t_ns - 200 * S);
        judge.accept(&RowBatch::from_rows(&[warm, read]).unwrap()).unwrap();
    }
    let ops: i64 = seconds.iter().map(|second| second.ops).sum();
    let total = RunTotal {
        t_ns: 0,
        t_s: 0.0,
        start_t_ns: 0,
        run: "rd1".into(),
        run_index: 0,
        phase: LoadPhase::Measure,
        workload: "wd1".into(),
        target: "sd1".into(),
        op: "read".into(),
        arrivals: Some(100 * i64::try_from(seconds.len()).unwrap()),
        ops,
        bytes: ops * 4096,
        errors: Some(0),
        response: sum.clone(),
        service: sum,
        short: None,
        first_error: None,
        first_error_t_ns: None,
        wait: None,
    };
    let late =
        RunTotal { phase: LoadPhase::Drain, ops: 1, response: times(1, 700_000_000), errors: Some(1), ..total.clone() };
    judge.accept(&RowBatch::from_rows(&[late, total]).unwrap()).unwrap();
    judge.accept(&RowBatch::from_rows(&end.into_iter().collect::<Vec<_>>()).unwrap()).unwrap();
    if let Some(halt) = halt {
        judge.cut_short(0, halt);
    }
    let mut verdicts = judge.verdicts(0, &[0]);
    assert_eq!(verdicts.len(), 1, "{text}");
    verdicts.remove(0)
}

const FAST: Second = Second { ops: 100, response_ns: 1_000_000, in_flight: 1.0 };
const SLOW: Second = Second { ops: 90, response_ns: 8_000_000, in_flight: 9.0 };
const STALL: Second = Second { ops: 0, response_ns: 0, in_flight: 9.0 };

fn check(text: &str, seconds: &[Second], expect: Judgement) -> ObjectiveVerdict {
    let verdict = judged(text, seconds);
    assert_eq!(verdict.judgement, expect, "{text}: {}", verdict.sentence);
    verdict
}

#[test]
fn every_operation_can_be_chosen_and_those_that_read_are_the_reads() {
    for op in rates::OPS {
        let text = format!("response_ns_p99{{op={op}}} < 5ms");
        assert!(super::Condition::parse(&text).is_ok(), "{text}");
    }
    assert!(super::Condition::parse("response_ns_p99{op=apend} < 5ms").is_err());
    let share = |done: &[(&str, i64)]| {
        let mut sample = crate::samples::Sample::default();
        let none = Histogram::default();
        for (op, ops) in done {
            sample.add(op, rates::OpCount { ops: *ops, ..rates::OpCount::default() }, &none, &none);
        }
        sample.data.read_percent()
    };
    assert_eq!(share(&[("readfile", 2), ("mmapread", 1), ("append", 9), ("open", 50)]), Some(25.0));
    assert_eq!((share(&[("read", 2), ("close", 2)]), share(&[("fsync", 3)])), (Some(100.0), None));
}

#[test]
fn figures_of_the_whole_run_leave_the_warm_up_out() {
    use Judgement::{Met, Missed};
    let run = [FAST, FAST, FAST, SLOW];
    check("response_ns_p50 > 2ms", &run, Met);
    check("response_ns_p99{op=read} > 5ms", &run, Missed);
    check("response_ns_max > 9 ms", &run, Met);
    check("service_ns_p99 >= 4ms", &run, Missed);
    check("errors > 0", &run, Met);
    check("achieved < 0.99 * offered", &run, Missed);
    check("achieved < 97% * offered", &run, Met);
    check("iops < 98", &run, Missed);
    check("iops < 0.097k", &run, Met);
    check("ops != 390", &run, Met);
    check("bytes != 390 * 4KiB", &run, Met);
    check("bytes_per_s < 399kB/s", &run, Met);
    check("achieved * 4s != ops", &run, Met);
    check("bytes / ops != 4096B", &run, Met);
    check("read_percent < 100%", &run, Met);
    check("in_flight_mean > 3", &run, Met);
    check("in_flight_mean > 2.9", &run, Missed);
    check("response_ns_p999 > 3 * response_ns_p50", &run, Missed);
    check("-achieved > -98", &run, Missed);
}

#[test]
fn words_bind_as_they_are_read() {
    use Judgement::{Met, Missed};
    let run = [FAST, SLOW];
    check("errors > 0 or iops < 1000 and response_ns_max > 1s", &run, Met);
    check("(errors > 0 or iops < 1000) and response_ns_max > 5ms", &run, Missed);
    check("not errors > 0", &run, Missed);
    check("not (errors > 0 or iops < 1000)", &run, Met);
    check("!(errors > 0) && iops < 1000 || errors > 9", &run, Missed);
    check("NOT errors > 0 AND iops < 1000", &run, Missed);
}

#[test]
fn what_must_last_is_looked_for_in_consecutive_intervals() {
    use Judgement::{Met, Missed};
    let two = [FAST, SLOW, SLOW, FAST, SLOW];
    let verdict = check("response_ns_p99 > 5ms for 2s", &two, Missed);
    assert_eq!(verdict.held_s, Some((1.0, 3.0)));
    let expect = "response_ns_p99 > 5ms held for 2.00 s (from 1.00 s to 3.00 s of the run, up to ";
    assert!(verdict.sentence.starts_with(expect), "{}", verdict.sentence);
    let verdict = check("response_ns_p99 > 5ms for 3s", &two, Met);
    assert!(verdict.sentence.ends_with(", less than 3s"), "{}", verdict.sentence);
    assert_eq!(check("response_ns_p99 > 50ms for 2s", &two, Met).sentence, "response_ns_p99 > 50ms never held");
    check("(response_ns_p99 > 5ms and iops < 95) for 2s", &two, Missed);
    check("response_ns_p99 > 5ms for 2s and errors > 0", &two, Met);
    check("achieved < offered for 2s", &two, Missed);
}

#[test]
fn a_stall_goes_on_with_what_held_before_it_and_hides_nothing() {
    use Judgement::{Met, Missed};
    check("response_ns_p99 > 5ms for 4s", &[SLOW, STALL, STALL, SLOW], Missed);
    check("response_ns_p99 > 5ms for 3s", &[FAST, STALL, STALL, SLOW], Met);
    check("longest_stall >= 2s", &[FAST, STALL, STALL, SLOW], Missed);
    check("achieved < 1 for 2s", &[FAST, STALL, STALL, SLOW], Missed);
    check("longest_stall > 0", &[FAST, FAST], Met);
    // What was due at an interval's very end, and what came in its second half, did not wait for all of it.
    for in_flight in [0.0, 0.0001, 0.5] {
        let late = Second { in_flight, ..STALL };
        check("longest_stall > 0", &[FAST, late, FAST], Met);
        check("longest_stall > 1s", &[FAST, late, STALL, late], Met);
    }
    // One in flight throughout did.
    check("longest_stall >= 1s", &[FAST, Second { in_flight: 1.0, ..STALL }, FAST], Missed);
}

#[test]
fn silence_is_no_stall_of_no_length_where_nothing_tells_what_was_due() {
    use Judgement::{Met, Missed, Unknown};
    // As other tools report it: completions, and no more.
    let imported = |text: &str, seconds: &[Second]| {
        judged_with(text, seconds, (None, None), |row| {
            (row.arrivals, row.in_flight_mean, row.backlog, row.errors) = (None, None, None, None);
        })
        .judgement
    };
    assert_eq!(imported("longest_stall > 2s", &[STALL; 150]), Unknown);
    assert_eq!(imported("longest_stall > 2s", &[FAST, STALL, STALL, STALL, FAST]), Unknown);
    assert_eq!(imported("longest_stall > 2s", &[FAST, FAST, FAST]), Met);
    check("longest_stall > 2s", &[STALL; 150], Missed);
}

#[test]
fn what_was_not_measured_is_not_judged() {
    let verdict = check("response_ns_p99{op=write} > 5ms", &[FAST], Judgement::Unknown);
    assert!(verdict.sentence.contains("response_ns_p99{op=write} was not measured"), "{}", verdict.sentence);
    check("response_ns_p99{op=write} > 5ms and errors > 0", &[FAST], Judgement::Met);
    check("response_ns_p99{op=write} > 5ms or ops > 1", &[FAST], Judgement::Missed);
    check("cpu_percent > 90%", &[FAST], Judgement::Unknown);
    check("response_ns_p99 > 5ms", &[STALL], Judgement::Unknown);
}

/// Judges `text` over a run of six seconds in which reads came back in these, and one write in the first.
fn judged_with_idle_seconds(text: &str, busy: &[usize]) -> ObjectiveVerdict {
    let mut judge = ConditionJudge::new(vec![Condition::parse(text).unwrap()]);
    let begun = Phase {
        t_ns: 100 * S,
        t_s: 0.0,
        run: "rd1".into(),
        run_index: 0,
        phase: LoadPhase::Measure,
        event: PhaseEdge::Start,
        offered_rate: None,
        detail: String::new(),
    };
    judge.accept(&RowBatch::from_rows(&[begun]).unwrap()).unwrap();
    for second in 0..6 {
        let mut rows: Vec<OpInterval> =
            busy.iter().filter(|at| **at == second).map(|at| row(*at, "read", FAST)).collect();
        if !rows.is_empty() && second == 0 {
            rows.push(row(0, "write", Second { ops: 1, ..FAST }));
        }
        judge.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        let of = row(second, "read", FAST);
        let engine = EngineInterval {
            t_ns: of.t_ns,
            t_s: of.t_s,
            interval_ns: S,
            run: "rd1".into(),
            run_index: 0,
            worker: 0,
            engine: "sync".into(),
            cpu_user_ns: 0,
            cpu_sys_ns: 0,
            context_switches: None,
            minor_faults: None,
            major_faults: None,
            wait: times(0, 0),
            timestamp_age_ns_max: 0,
            submit_calls: 0,
            wakeups: 0,
            limited: false,
        };
        judge.accept(&RowBatch::from_rows(&[engine]).unwrap()).unwrap();
    }
    judge.verdicts(0, &[0]).remove(0)
}

#[test]
fn a_run_that_is_idle_for_half_its_time_misses_a_rate() {
    use Judgement::{Met, Missed, Unknown};
    let idle_within = [0, 1, 5];
    for (text, busy, expect) in [
        ("achieved < 60 for 3s", &idle_within[..], Missed),
        ("achieved < 60 for 4s", &idle_within, Met),
        ("achieved < 60", &idle_within, Missed),
        ("achieved < 50", &idle_within, Met),
        ("bytes_per_s < 1kB/s for 3s", &idle_within, Missed),
        ("offered < 1 for 3s", &idle_within, Missed),
        ("ops == 0 for 3s", &idle_within, Missed),
        ("in_flight_mean < 0.5 for 3s", &idle_within, Missed),
        // A lane is idle where others are not.
        ("achieved{op=write} < 1 for 5s", &idle_within, Missed),
        ("achieved{op=write} < 1 for 6s", &idle_within, Met),
        // What never was is not known, and silence has no times.
        ("achieved{op=trim} < 1 for 2s", &idle_within, Unknown),
        ("response_ns_p50 > 1us for 3s", &idle_within, Met),
        ("response_ns_p50 > 1us for 2s", &idle_within, Missed),
        // Nothing at all.
        ("achieved < 1", &[], Missed),
        ("achieved < 1 for 6s", &[], Missed),
        ("errors > 0", &[], Met),
        ("achieved{op=read} < 1", &[], Unknown),
        ("response_ns_p50 > 1us", &[], Unknown),
    ] {
        let verdict = judged_with_idle_seconds(text, busy);
        assert_eq!(verdict.judgement, expect, "{text}: {}", verdict.sentence);
    }
    let verdict = judged_with_idle_seconds("achieved < 60 for 3s", &idle_within);
    assert_eq!(verdict.sentence, "achieved < 60 held for 3.00 s (from 2.00 s to 5.00 s of the run, down to 0 op/s)");
}

#[test]
fn a_sentence_says_what_was_measured_and_what_was_asked() {
    let run = [FAST, SLOW];
    let said = |text: &str| judged(text, &run).sentence;
    assert_eq!(said("achieved < 0.99 * offered"), "achieved was 95.0 op/s, less than 0.99 * offered (99.0 op/s)");
    assert_eq!(said("200 > achieved"), "achieved was 95.0 op/s, less than 200");
    assert_eq!(said("errors > 0"), "errors was 0, not more than 0");
    assert_eq!(said("errors > 0 or iops < 100"), "iops was 95.0 op/s, less than 100");
    assert_eq!(said("not iops > 100"), "iops was 95.0 op/s, not more than 100");
    let verdict = judged("response_ns_max > 5ms", &run);
    assert_eq!(
        verdict.summary(),
        format!("objective missed in rd1 threads=4: {} (fail if response_ns_max > 5ms)", verdict.sentence)
    );
    assert_eq!(verdict.evidence[0].measure, "response_ns_max");
    assert!((verdict.evidence[0].value.unwrap() - 8e6).abs() < 1.0);
}

#[test]
fn labels_choose_lanes_and_runs() {
    let condition = Condition::parse("response_ns_p99{workload=oltp*, op=\"read\", run=rd1} > 1ms").unwrap();
    assert!(condition.is_about("rd1", 3) && condition.is_about("rd1 (round 2)", 3) && !condition.is_about("rd2", 0));
    let number = Condition::parse("errors{run=3} > 1").unwrap();
    assert!(number.is_about("rd9", 3) && !number.is_about("rd9", 4));
    let names =
        SelectableNames { workloads: vec!["oltp1".into()], targets: vec!["sd1".into()], runs: vec!["rd1".into()] };
    assert_eq!(condition.check_names(&names), Ok(()));
    let error = Condition::parse("ops{target=sd2} < 1").unwrap().check_names(&names).unwrap_err();
    assert_eq!((error.start, error.len), (11, 3));
    assert_eq!(error.help.as_deref(), Some("did you mean `sd1`? a name may end in `*`"));
}

fn wrong(text: &str) -> ConditionError {
    Condition::parse(text).expect_err(text)
}

#[test]
fn mistakes_have_a_place_and_a_cure() {
    for (text, start, len, message, help) in [
        ("", 0, 1, "expected a name or a number, found the end of the condition", "a condition looks like"),
        ("respnse_ns_p99 > 5ms", 0, 14, "there is no measure `respnse_ns_p99`", "`response_ns_p99`"),
        ("response > 5ms", 0, 8, "there is no measure `response`", "did you mean `response_ns_p99`"),
        ("response_ns_p99 > 5", 18, 1, "`5` needs a unit here", "`5ms`"),
        ("response_ns_p99 > 5mx", 18, 3, "there is no unit `mx`", "ns, us, ms"),
        ("response_ns_p99", 0, 15, "this is a number, not a condition", "response_ns_p99 > 500us"),
        ("response_ns_p99 > 5MB", 18, 3, "(time) cannot be set against `5MB` (bytes)", "write it in time"),
        ("response_ns_p99{op=raed} > 5ms", 19, 4, "there is no operation `raed`", "`read`"),
        ("response_ns_p99{operation=read} > 5ms", 16, 9, "there is no label `operation`", "workload, target, op, run"),
        ("wait_ns_p99{op=read} > 5ms", 12, 2, "`wait_ns_p99` is not known by op", "only `run`"),
        ("errors{op=read > 0", 15, 1, "expected `,` or `}`", "close"),
        ("errors > 0 for 10", 15, 2, "`for` wants a length of time", "for 10s"),
        ("errors > 0 for", 14, 1, "`for` wants a length of time", "for 10s"),
        ("errors > 0 achieved < 5", 11, 8, "did not expect `achieved`", "`and` or `or`"),
        ("(errors > 0", 11, 1, "expected `)`", "close"),
        ("errors > 0)", 10, 1, "did not expect `)`", "take the parenthesis out"),
        ("1 < errors < 5", 11, 1, "two comparisons in a row", "a < b and b < c"),
        ("1 < 2", 0, 5, "nothing in this comparison is measured", "achieved < 20k"),
        ("achieved * achieved > 5", 0, 19, "op/s multiplied by op/s", "0.99 * offered"),
        ("read_percent < 70", 15, 2, "`70` needs a unit", "`70%`"),
        ("errors and achieved < 1", 0, 6, "this is a number", "errors > 100"),
        ("(errors > 1) > 1", 0, 12, "this is a condition, not a number", "`and` or `or`"),
        ("errors > 0 for 5s for 5s", 18, 3, "did not expect `for`", "join"),
        ("(errors > 0 for 5s) for 5s", 0, 19, "a `for` inside a `for`", "once"),
        ("errors > \"5", 9, 2, "never closed", "a condition looks like"),
        ("errors § 5", 7, 2, "did not expect `§`", "a condition looks like"),
    ] {
        let error = wrong(text);
        assert_eq!((error.start, error.len), (start, len), "{text}: {error}");
        assert!(error.message.contains(message), "{text}: {error}");
        assert!(error.help.as_deref().unwrap_or("").contains(help), "{text}: {:?}", error.help);
    }
    let deep = format!("{}errors > 0{}", "(".repeat(100), ")".repeat(100));
    assert!(wrong(&deep).message.contains("levels of nesting"));
    assert!(wrong(&"!".repeat(4000)).message.contains("levels of nesting"));
    assert!(wrong(&"errors > 0 and ".repeat(1000)).message.contains("bytes"));
}

#[test]
fn any_text_is_read_or_refused_within_its_bounds() {
    // Every piece of a rich condition, glued in many orders by a small generator.
    let pieces = [
        "response_ns_p99",
        "{op=read}",
        "{",
        "}",
        ">",
        "<",
        "5ms",
        "5",
        "%",
        "for",
        "10s",
        "and",
        "or",
        "not",
        "(",
        ")",
        "*",
        "/",
        "-",
        "0.99",
        "\"",
        "µ",
        " ",
        ",",
        "=",
        "achieved",
        "e9",
        "1e999",
    ];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..(state >> 33) % 12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[usize::try_from(state >> 33).unwrap() % pieces.len()]);
        }
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        if let Err(error) = Condition::parse(&text) {
            assert!(error.start <= text.len() && error.len >= 1, "{text}: {error:?}");
            assert!(text.is_char_boundary(error.start), "{text}: {error:?}");
        }
    }
}

#[test]
fn what_has_no_end_counts_with_its_age() {
    let check = |text: &str, end: RunEnd, expect: Judgement, words: &str| {
        let verdict = judged_with_end(text, &[FAST, FAST], Some(end));
        assert_eq!(verdict.judgement, expect, "{text}: {}", verdict.sentence);
        assert!(verdict.sentence.contains(words), "{text}: {}", verdict.sentence);
    };
    let second = 1_000_000_000;
    check(
        "response_ns_max > 1s",
        end((4, 0), 3 * second, "measure"),
        Judgement::Missed,
        "was at least 3.00 s, more than",
    );
    check("response_ns_max > 1s", end((0, 4), 3 * second, "measure"), Judgement::Missed, "was at least 3.00 s");
    check("response_ns_p90 > 1s", end((0, 50), 3 * second, "measure"), Judgement::Missed, "was at least 3.0");
    // One of two hundred changes no median; whether it will exceed ten seconds nothing tells.
    check("response_ns_p50 > 1s", end((1, 0), 3 * second, "measure"), Judgement::Met, "was 1.0");
    check(
        "response_ns_max > 10s",
        end((1, 0), 3 * second, "measure"),
        Judgement::Undecided,
        "1 operation had not come back",
    );
    check("response_ns_max < 1ms", end((0, 2), 3 * second, "measure"), Judgement::Met, "was at least 3.00 s");
    check("response_ns_max > 10s and errors > 5", end((1, 0), second, "measure"), Judgement::Met, "errors was 1");
    check("response_ns_max > 10s or errors > 0", end((1, 0), second, "measure"), Judgement::Missed, "errors was 1");
    check("service_ns_max > 1s", end((1, 0), 3 * second, "measure"), Judgement::Missed, "was at least 1.50 s");
    check("wait_ns_max > 1s", end((0, 1), 3 * second, "measure"), Judgement::Missed, "was at least 3.00 s");
    check(
        "response_ns_max - response_ns_min > 10s",
        end((1, 0), second, "measure"),
        Judgement::Undecided,
        "was at least",
    );
    // What came back after the load's end had its true time.
    check("response_ns_max > 500ms", end((0, 0), 0, "measure"), Judgement::Missed, "was 700 ms");
    // What was due when iodyno itself did not run, or in the warm-up, is no part of it; nor is an end that is not known.
    check("response_ns_max > 1s", end((4, 4), 3 * second, "paused"), Judgement::Met, "was 1.0");
    assert_eq!(judged("response_ns_max > 500ms", &[FAST]).judgement, Judgement::Met);
    let nothing = judged_with_end("response_ns_p50 > 1s", &[STALL], Some(end((9, 0), 2 * second, "measure")));
    assert_eq!(nothing.judgement, Judgement::Missed, "{}", nothing.sentence);
}

#[test]
fn an_objective_that_is_undecided_fails() {
    let verdict = judged_with_end("response_ns_p99 > 10s", &[FAST], Some(end((0, 30), 2_000_000_000, "measure")));
    assert!(verdict.judgement.fails() && verdict.evidence[0].at_least, "{verdict:?}");
    assert!(
        verdict
            .summary()
            .starts_with("objective undecided in rd1 threads=4, so not met: response_ns_p99 was at least 2"),
        "{}",
        verdict.summary()
    );
}

#[test]
fn what_was_cut_short_has_met_nothing() {
    let of = |text: &str, seconds: &[Second]| judged_when_cut(text, seconds, None, Some(RunHalt::Interrupted));
    let met = of("response_ns_p50 > 1s", &[FAST]);
    assert_eq!(met.judgement, Judgement::Undecided, "{met:?}");
    assert!(
        met.sentence.starts_with("the run was interrupted; until then response_ns_p50 was 1.0"),
        "{}",
        met.sentence
    );
    assert!(!met.evidence[0].at_least && met.evidence[0].value.is_some(), "{met:?}");
    let unknown = of("response_ns_p50{op=write} > 1s", &[FAST]);
    assert_eq!(unknown.judgement, Judgement::Undecided, "{unknown:?}");
    let missed = of("response_ns_p50 > 1us", &[FAST]);
    assert_eq!(missed.judgement, Judgement::Missed, "{missed:?}");
    assert!(missed.sentence.starts_with("response_ns_p50 was 1.0"), "what came true stays true: {}", missed.sentence);
}
