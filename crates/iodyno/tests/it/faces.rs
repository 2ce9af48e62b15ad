//! A figure of the same counters is the same in every face: in `stat`, in `top`, in charts and reports, in findings, in
//! comparisons, in exports, for a scraper and in Vdbench's files.
//!
//! [`input`] makes recordings of every table with counters ([`cases`]) by seed, in which counters go round, are reset, are missing, stand
//! still, and in which things go and come back. [`oracle`] computes each figure from the rows alone, by its documented
//! formula. Each face is the program's own output, as a user has it, and is compared with the oracle to the last digit that it
//! shows.

mod cases;
mod diagnose;
mod files;
mod input;
mod oracle;
mod runs;
mod scraper;
mod stat;
mod top;
mod views;

use crate::support::Scratch;
use cases::CASES;
use input::Input;
use recording::{ColumnKind, catalogue};
use std::collections::BTreeSet;

/// Seeds of the recordings.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Which faces show figures of a table's counters. `export` has the counters of all of them; findings show what is wrong, and
/// those of a link, of a listener and of devices are compared in [`diagnose`].
///
/// Of a face that shows the table: `s`tat, `t`op's first page, `c`hart and report, the `m`etrics for a scraper, the counters of
/// `C`ompare, Vdbench's `f`latfile. A dot: it does not show that table.
const SHOWN: &[(&str, &str)] = &[
    ("cpu", "stcmCf"),
    ("memory", "st.mC."),
    ("pressure", "s.cmC."),
    ("system", "s..mC."),
    ("disk", "stcmC."),
    ("btrfs_device", "s..m.."),
    ("zfs_arc", "s..m.."),
    ("zfs_pool", "s.cm.."),
    ("zfs_dataset", "...m.."),
    ("nfs_mount", "s..m.."),
    ("net", "stcmC."),
    ("tcp", "st.mC."),
    ("udp", "s..mC."),
    ("softnet", "...m.."),
    ("nic_counter", "...m.."),
    ("listener", "s..m.."),
    ("process", "st...."),
    ("thread", "......"),
    ("cgroup", "s..m.."),
    ("cgroup_io", "...m.."),
    ("interrupt", "s..m.."),
    ("irq_time", "s..m.."),
    ("cpu_event", "st.m.."),
    ("process_event", "st...."),
    ("preempted_by", "......"),
    ("stolen", "st...."),
    ("io_error", "...m.."),
];

#[test]
fn it_is_known_which_face_shows_what() {
    let known: BTreeSet<&str> = SHOWN.iter().map(|(table, _)| *table).collect();
    assert_eq!(known, CASES.iter().map(|case| case.table).collect(), "a line for each table with counters");
    for (table, faces) in SHOWN {
        let compared = [
            ('s', stat::SHOWN.contains(table)),
            ('t', top::SHOWN.contains(table)),
            ('c', views::SHOWN.contains(table)),
            ('m', scraper::is_shown(table)),
            ('C', runs::COMPARED.contains(table)),
            ('f', *table == "cpu"),
        ];
        let compared: String = compared.into_iter().map(|(letter, is)| if is { letter } else { '.' }).collect();
        assert_eq!(compared, *faces, "the faces of {table} that are compared");
    }
}

/// Is a shown figure the expected one, but for this part of it?
fn same(shown: Option<f64>, expected: Option<f64>, part: f64) -> bool {
    match (shown, expected) {
        (Some(shown), Some(expected)) => (shown - expected).abs() <= part * expected.abs().max(1e-3),
        (None, None) => true,
        _ => false,
    }
}

/// Fails with what differs.
fn agree(seed: u64, input: &Input, differences: &[String]) {
    let shown: Vec<&str> = differences.iter().map(String::as_str).take(60).collect();
    assert!(
        differences.is_empty(),
        "seed {seed}, {:?}: {} differences:\n{}",
        input.events,
        differences.len(),
        shown.join("\n")
    );
}

#[test]
fn every_table_with_counters_has_a_case() {
    let counts =
        |table: &&&recording::TableSchema| table.columns.iter().any(|column| column.kind == ColumnKind::Counter);
    let tables: BTreeSet<&str> = catalogue().iter().filter(counts).map(|table| table.name).collect();
    let cases: BTreeSet<&str> = CASES.iter().map(|case| case.table).collect();
    assert_eq!(tables, cases, "a table with counters needs a case in faces/cases.rs and a line in the table of faces");
}

#[test]
fn stat_shows_what_the_rows_say() {
    for seed in SEEDS {
        let (scratch, input) = (Scratch::new(), Input::of_seed(seed));
        input.write(&scratch.path("r"));
        agree(seed, &input, &stat::check(&scratch, "r", &input));
    }
}

#[test]
fn a_report_draws_what_the_rows_say() {
    for seed in SEEDS {
        let (scratch, input) = (Scratch::new(), Input::of_seed(seed));
        input.write(&scratch.path("r"));
        agree(seed, &input, &views::report(&scratch, "r", &input));
    }
}

#[test]
fn charts_draw_what_the_rows_say() {
    let (scratch, input) = (Scratch::new(), Input::of_seed(1));
    input.write(&scratch.path("r"));
    agree(1, &input, &views::chart(&scratch, "r", &input));
}

#[test]
fn a_scraper_sees_what_the_rows_say() {
    for seed in SEEDS {
        let input = Input::of_seed(seed);
        agree(seed, &input, &scraper::check(&input));
    }
}

/// Raw counters are exported as they were recorded, as CSV and as JSON.
#[test]
fn exports_have_the_rows() {
    let (scratch, input) = (Scratch::new(), Input::of_seed(1));
    input.write(&scratch.path("r"));
    let mut differences = Vec::new();
    for case in CASES {
        let rows = scratch.table("r", case.table);
        let csv = scratch.iodyno(&["export", "r", case.table, "--csv"]).run().unwrap().expect_code(0).stdout;
        let columns: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        let mut lines = csv.lines().skip(1);
        let mut shown = rows.iter();
        for sample in 0..input.times.len() {
            for row in input.rows[case.table].iter().filter_map(|rows| rows[sample].as_ref()) {
                let (shown, line) = (shown.next().unwrap(), lines.next().unwrap());
                let fields: Vec<&str> = line.split(',').collect();
                let counters = recording::table(case.table).unwrap().columns.iter();
                for column in counters.filter(|column| column.kind == ColumnKind::Counter) {
                    let value = match row.get(column.name) {
                        Some(cases::Cell::Int(value)) => Some(*value),
                        _ => None,
                    };
                    let field = fields[columns.iter().position(|name| *name == column.name).unwrap()];
                    if shown[column.name].as_i64() != value || field.parse().ok() != value {
                        differences.push(format!("export {}.{}, sample {sample}: {shown}", case.table, column.name));
                    }
                }
            }
        }
        assert!(shown.next().is_none() && lines.next().is_none(), "more rows of {}", case.table);
    }
    agree(1, &input, &differences);
}

#[test]
fn top_shows_what_the_rows_say() {
    let (scratch, input) = (Scratch::new(), Input::of_seed(2));
    agree(2, &input, &top::check(&scratch, &input));
}

#[test]
fn a_run_is_what_the_rows_say() {
    for seed in SEEDS {
        let (scratch, input) = (Scratch::new(), Input::of_seed(seed));
        let loads = [(40, 100), (80, 200)].map(|(per_s, side)| runs::Load::of_seed(&input, per_s, seed + side));
        runs::write(&scratch, "a", &input, &loads[0]);
        runs::write(&scratch, "b", &input, &loads[1]);
        let mut differences = runs::flatfile(&scratch, "a", &input, &loads[0]);
        differences.extend(runs::compare(&scratch, [("a", &input, &loads[0]), ("b", &input, &loads[1])]));
        differences.extend(runs::report(&scratch, "a", &input, &loads[0]));
        agree(seed, &input, &differences);
    }
}

#[test]
fn the_counters_that_changed_are_what_the_rows_say() {
    let scratch = Scratch::new();
    let mut differences = Vec::new();
    for table in runs::COMPARED {
        let sides = [("a", 0.3), ("b", 0.6)].map(|(side, part)| {
            let input = Input::steady(&[table], 130, part, 0.05);
            let name = format!("{table}-{side}");
            runs::write(&scratch, &name, &input, &runs::Load::of_seed(&input, 4, 9));
            (name, input)
        });
        let [(a, was), (b, is)] = &sides;
        differences.extend(runs::changes(&scratch, table, [(a, was), (b, is)]));
        if table == "cpu" {
            differences.extend(runs::report_cpu(&scratch, a, was));
        }
    }
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn findings_rest_on_what_the_rows_say() {
    let scratch = Scratch::new();
    let input = diagnose::troubled();
    input.write_first(&scratch.path("r"), input.times.len());
    let differences = diagnose::check(&scratch, "r", &input);
    assert!(differences.is_empty(), "{differences:#?}");
}
