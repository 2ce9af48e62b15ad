//! What `compare` says of recordings whose rows were made by hand: different, the same, not resolved.

use crate::support::Scratch;
use quantity::histogram::Histogram;
use recording::rows::{OpInterval, Phase, RunTotal};
use recording::{Batch, Manifest, Sink as _, Writer};

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
}

fn wanted(name: &'static str, time_ns: f64, seed: u64) -> Wanted {
    Wanted { name, seconds: 200, time_ns, has_response: true, seed }
}

/// Between −1 and 1.
fn dice(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Hundred operations a second at a time of 1 ms, fewer when they take longer.
fn second(run: &Wanted, state: &mut u64) -> Histogram {
    let level = run.time_ns * (1.0 + 0.02 * dice(state));
    let count = (1e8 / level).round();
    let mut times = Histogram::default();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive numbers")]
    (0..count as u64).for_each(|place| times.record((level * (0.5 + place as f64 / count)) as u64));
    times
}

fn unless(is_known: bool, times: &Histogram) -> Histogram {
    if is_known { times.clone() } else { Histogram::default() }
}

/// A recording of these runs, one after the other.
fn written(scratch: &Scratch, name: &str, runs: &[Wanted]) {
    let mut writer = Writer::create(&scratch.path(name), Manifest::new(&["test".to_string()])).unwrap();
    let mut at = 1;
    for (index, run) in (0..).zip(runs) {
        let (mut all, mut state, begun) = (Histogram::default(), run.seed, at);
        let mut rows = Vec::new();
        for _ in 0..run.seconds {
            at += 1;
            let times = second(run, &mut state);
            all.merge(&times);
            let ops = i64::try_from(times.count()).unwrap();
            rows.push(OpInterval {
                t_ns: at * S,
                t_s: at as f64,
                interval_ns: S,
                run: run.name.to_string(),
                run_index: index,
                phase: "measure".to_string(),
                workload: "wd1".to_string(),
                target: "sd1".to_string(),
                op: "read".to_string(),
                arrivals: None,
                ops,
                bytes: 4096 * ops,
                errors: Some(0),
                response: unless(run.has_response, &times.collapse(5)),
                service: times.collapse(5),
                wait: None,
                in_flight_mean: None,
                backlog: None,
            });
        }
        let phase = |event: &str, t: i64| Phase {
            t_ns: t * S,
            t_s: t as f64,
            run: run.name.to_string(),
            run_index: index,
            phase: "measure".to_string(),
            event: event.to_string(),
            offered_rate: None,
            detail: String::new(),
        };
        let ops = i64::try_from(all.count()).unwrap();
        let total = RunTotal {
            t_ns: at * S,
            t_s: at as f64,
            start_t_ns: begun * S,
            run: run.name.to_string(),
            run_index: index,
            phase: "measure".to_string(),
            workload: "wd1".to_string(),
            target: "sd1".to_string(),
            op: "read".to_string(),
            arrivals: None,
            ops,
            bytes: 4096 * ops,
            errors: Some(0),
            response: unless(run.has_response, &all),
            service: all,
            short: None,
            first_error: None,
            first_error_t_ns: None,
            wait: None,
        };
        writer.accept(&Batch::from_rows(&[phase("start", begun), phase("end", at)]).unwrap()).unwrap();
        writer.accept(&Batch::from_rows(&rows).unwrap()).unwrap();
        writer.accept(&Batch::from_rows(&[total]).unwrap()).unwrap();
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
