//! Recordings side by side whose ratios are known, because the rows were made by hand.

use recording::rows::{Io, Pressure};
use recording::{Label, Manifest, Reader, RowBatch, Sink, Writer};
use view::{Body, ViewTable};
use views::Comparison;

fn recorded(folder: &tempfile::TempDir, name: &str, batch: &RowBatch) -> (String, Reader) {
    let path = folder.path().join(name);
    let mut writer = Writer::create(&path, Manifest::new(&[])).unwrap();
    writer.accept(batch).unwrap();
    writer.commit().unwrap();
    writer.seal().unwrap();
    (name.to_string(), Reader::open(&path).unwrap())
}

fn table(comparison: &Comparison, id: &str) -> ViewTable {
    match comparison.draw(id).unwrap().remove(0).body {
        Body::Table(table) => table,
        other => panic!("{id} is no table: {other:?}"),
    }
}

/// A row's cells.
fn row(table: &ViewTable, first: &str) -> Vec<String> {
    let at = (0..table.rows()).find(|at| table.columns[0].cell(*at) == first);
    let at = at.unwrap_or_else(|| panic!("no row {first} in {table:?}"));
    table.columns.iter().map(|column| column.cell(at)).collect()
}

/// So many seconds in each of which so many ms were lost for I/O, give or take one, and always 5 for CPU.
fn pressure(io_ms: i64, seconds: i64) -> RowBatch {
    let of = |second: i64, resource: &str, total_ms: i64| Pressure {
        t_ns: 1_000_000_000 * (second + 1),
        t_s: second as f64,
        resource: resource.to_string(),
        some_ns: Some(total_ms * 1_000_000),
        full_ns: None,
    };
    let rows =
        (0..=seconds).flat_map(|second| [of(second, "io", io_ms * second + second % 2), of(second, "cpu", 5 * second)]);
    RowBatch::from_rows(&rows.collect::<Vec<_>>()).unwrap()
}

#[test]
fn the_comparison_lists_the_counter_that_changed_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let sides = [recorded(&folder, "calm", &pressure(10, 130)), recorded(&folder, "busy", &pressure(30, 130))];
    let comparison = Comparison::read(&sides, None).unwrap();
    let changed = table(&comparison, "compare.counters");
    assert_eq!(changed.rows(), 1, "{changed:?}");
    let cells = row(&changed, "pressure io some_ns");
    assert_eq!((cells[1].as_str(), cells[2].as_str(), cells[3].as_str()), ("1.00 %", "3.00 %", "3.00"));
    assert!(comparison.draw("compare.figures").is_err(), "there is no load");
    let same = [recorded(&folder, "one", &pressure(10, 130)), recorded(&folder, "two", &pressure(10, 130))];
    assert!(Comparison::read(&same, None).unwrap().draw("compare.counters").is_err(), "nothing changed");
    let model = views::comparison_model(&comparison);
    assert!(
        model
            .warnings
            .iter()
            .any(|warning| warning.text.contains("2 counters of the machine were compared, 1 changed"))
    );
    // Ten seconds tell nothing, however much it looks.
    let short = [recorded(&folder, "little", &pressure(10, 10)), recorded(&folder, "much", &pressure(30, 10))];
    let short = Comparison::read(&short, None).unwrap();
    assert!(short.draw("compare.counters").is_err(), "too short");
    let model = views::comparison_model(&short);
    assert!(model.warnings.iter().any(|warning| warning.text.contains("60 s are needed")), "{:?}", model.warnings);
}

/// Reads of 4 KiB, one every so many µs for four seconds, each taking `response_us`.
fn reads(every_us: i64, response_us: i64) -> RowBatch {
    let of = |at: i64| Io {
        queue_ns: at * every_us * 1000,
        issue_ns: Some(at * every_us * 1000),
        complete_ns: Some((at * every_us + response_us) * 1000),
        dev: Label::from("sda"),
        op: Label::from("read"),
        flags: None,
        sector: at * 8,
        bytes: 4096,
        pid: None,
        tid: None,
        comm: None,
        cgroup: None,
        inode: None,
        file: None,
        owner_pid: None,
        owner_comm: None,
        error: None,
        bios: Some(1),
        requeues: Some(0),
    };
    RowBatch::from_rows(&(0..4_000_000 / every_us).map(of).collect::<Vec<_>>()).unwrap()
}

#[test]
fn traces_are_held_against_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let sides = [recorded(&folder, "slow", &reads(2000, 100)), recorded(&folder, "fast", &reads(1000, 300))];
    let comparison = Comparison::read(&sides, None).unwrap();
    let figures = table(&comparison, "compare.figures");
    // figure, slow, fast, ratio, 95 % interval, verdict
    let iops = row(&figures, "IOPS");
    let ratio: f64 = iops[3].parse().unwrap();
    assert!((1.98..2.02).contains(&ratio), "{iops:?}");
    // Four seconds tell how much, and not how sure that is.
    assert!(iops[4].is_empty() && iops[5].starts_with("? not resolved, that would take 120 s"), "{iops:?}");
    let response: f64 = row(&figures, "mean response *")[3].parse().unwrap();
    assert!((2.95..3.05).contains(&response), "{figures:?}");
    assert_eq!(row(&figures, "share of reads")[5], "", "what was asked for has no verdict");
    assert_eq!(comparison.draw("compare.heatmap").unwrap().len(), 2, "one of each");
    let model = views::comparison_model(&comparison);
    let expected = "the trace: whether fast differs from slow is not resolved (4.00 s measured)";
    assert!(model.sentence.starts_with(expected), "{}", model.sentence);
    assert!(model.warnings.iter().any(|warning| warning.text.contains("what the kernel saw")), "{:?}", model.warnings);
}
