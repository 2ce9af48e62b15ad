//! A thousand targets for three hours at one-second intervals: the report is made in 20 s.
//! `cargo test --release -p report --test it -- --ignored soak --nocapture`

#![expect(clippy::too_many_lines, reason = "one scenario, step by step")]

use quantity::clock::now_ns;
use quantity::histogram::Histogram;
use recording::rows::{OpInterval, RunTotal};
use recording::{LoadPhase, Manifest, Reader, RowBatch, Sink, Writer};

/// A number from the environment.
fn number(name: &str, usual: i64) -> i64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
#[ignore = "soak: writes gigabytes"]
fn soak_a_report_of_a_thousand_targets() {
    let (targets, seconds) = (number("IODYNO_SOAK_TARGETS", 1_000), number("IODYNO_SOAK_SECONDS", 10_800));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.iodyno");
    let mut writer = Writer::create(&path, Manifest::new(&[])).unwrap();
    let origin = i64::try_from(writer.started_t_ns()).unwrap();
    let histograms: Vec<Histogram> = (0..64_u64)
        .map(|seed| {
            let mut histogram = Histogram::default();
            (0..60_u64).for_each(|at| histogram.record(60_000 + (seed * 7919 + at * at * 104_729) % 900_000));
            histogram.collapse(5)
        })
        .collect();
    let names: Vec<String> = (0..targets).map(|target| format!("sd{target}")).collect();
    for second in 1..=seconds {
        let rows: Vec<OpInterval> = names
            .iter()
            .zip(&mut histograms.iter().cycle().skip(usize::try_from(second % 61).unwrap()))
            .map(|(name, histogram)| OpInterval {
                t_ns: origin + second * 1_000_000_000,
                t_s: second as f64,
                interval_ns: 1_000_000_000,
                run: "rd1".to_string(),
                run_index: 0,
                phase: LoadPhase::Measure,
                workload: "wd1".to_string(),
                target: name.clone(),
                op: "read".to_string(),
                arrivals: Some(60),
                ops: 60,
                bytes: 60 * 4096,
                errors: Some(0),
                response: histogram.clone(),
                service: histogram.clone(),
                wait: None,
                in_flight_mean: Some(0.03),
                backlog: Some(0),
            })
            .collect();
        writer.accept(&RowBatch::from_rows(&rows).unwrap()).unwrap();
        writer.commit().unwrap();
    }
    let totals: Vec<RunTotal> = names
        .iter()
        .map(|name| RunTotal {
            t_ns: origin + seconds * 1_000_000_000,
            t_s: seconds as f64,
            start_t_ns: origin,
            run: "rd1".to_string(),
            run_index: 0,
            phase: LoadPhase::Measure,
            workload: "wd1".to_string(),
            target: name.clone(),
            op: "read".to_string(),
            arrivals: Some(60 * seconds),
            ops: 60 * seconds,
            bytes: 60 * 4096 * seconds,
            errors: Some(0),
            response: histograms[0].clone(),
            service: histograms[0].clone(),
            ..RunTotal::default()
        })
        .collect();
    writer.accept(&RowBatch::from_rows(&totals).unwrap()).unwrap();
    writer.commit().unwrap();
    writer.seal().unwrap();
    let start = now_ns();
    let page = report::report(&Reader::open(&path).unwrap()).unwrap();
    let took = (now_ns() - start) as f64 / 1e9;
    let rows = targets * seconds;
    println!(
        "{rows} rows: report of {:.1} MB in {took:.1} s, {:.2} µs per row",
        page.len() as f64 / 1e6,
        took * 1e6 / rows as f64
    );
    assert!(took <= 20.0 * (rows as f64 / 10.8e6).max(0.1), "{took} s");
}
