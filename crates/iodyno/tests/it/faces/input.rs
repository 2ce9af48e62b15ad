//! Recordings of every table with counters, by seed: what happens to counters of a machine in some twenty samples.

use super::cases::{BESIDE, CASES, Case, Cell};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use recording::{
    ClockAnchor, ColumnKind, ColumnSchema, LabelBuilder, Manifest, RowBatch, Sink as _, TableSchema, Writer,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use Cell::{Flag, Float, Int, Text};

/// A row without its nulls.
pub type Row = BTreeMap<&'static str, Cell>;

/// Samples of a recording.
pub const SAMPLES: usize = 18;
/// When the first one was, `CLOCK_MONOTONIC`.
pub const BEGAN_NS: i64 = 1_000_000_000_000;
/// UTC then.
pub const WALL_NS: i64 = 1_795_000_000_000_000_000;

/// Random numbers by seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: i64) -> i64 {
        for (shift, left) in [(13, true), (7, false), (17, true)] {
            self.0 ^= if left { self.0 << shift } else { self.0 >> shift };
        }
        i64::try_from(self.0 >> 20).unwrap() % end.max(1)
    }
}

/// In which samples something happens.
#[derive(Clone, Copy, Debug)]
pub struct Events {
    /// Counters of the first thing begin anew after 2³² − 1: those in ms, and all others.
    pub wrap_ms: usize,
    pub wrap: usize,
    /// Those of the second thing are reset.
    pub reset: usize,
    /// The second thing has no row.
    pub gap: usize,
    /// The first one's counters that may be missing are.
    pub null: usize,
    /// Only discards.
    pub discards: usize,
    /// Nothing.
    pub idle: usize,
}

impl Events {
    fn of(random: &mut Random) -> Self {
        // Not in the first interval, so that every thing has one without an event; two in a row may happen.
        let mut free: Vec<usize> = (2..SAMPLES).collect();
        let mut next = || free.remove(usize::try_from(random.below(i64::try_from(free.len()).unwrap())).unwrap());
        Self { wrap_ms: next(), wrap: next(), reset: next(), gap: next(), null: next(), discards: next(), idle: next() }
    }
}

/// The rows of a recording.
pub struct Input {
    /// When each sample was.
    pub times: Vec<i64>,
    /// By table, the rows of each thing, one for each sample.
    pub rows: BTreeMap<&'static str, Vec<Vec<Option<Row>>>>,
    pub events: Events,
}

impl Input {
    pub fn of_seed(seed: u64) -> Self {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (seed << 32 | seed));
        for _ in 0..8 {
            random.below(2);
        }
        let events = Events::of(&mut random);
        // Uneven, and none so short that a rate over it is chance.
        let steps = [1000, 1000, 700, 1300, 2000, 1000, 900, 1500];
        let mut times = vec![BEGAN_NS];
        while times.len() < SAMPLES {
            let step = steps[usize::try_from(random.below(8)).unwrap()] * 1_000_000 + random.below(1000);
            times.push(times[times.len() - 1] + step);
        }
        let mut rows = BTreeMap::new();
        for case in CASES.iter().chain(BESIDE) {
            let table = recording::table(case.table).unwrap();
            let of = |thing| thing_rows(case, table, thing, &times, events, &mut random);
            rows.insert(case.table, (0..case.things.len()).map(of).collect());
        }
        Self { times, rows, events }
    }

    /// Counters of tables that grow by about this part of what they may, each by its own, give or take this part of that: no
    /// events.
    pub fn steady(tables: &[&str], seconds: usize, part: f64, spread: f64) -> Self {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let times: Vec<i64> = (0..).map(|second| BEGAN_NS + 1_000_000_000 * second).take(seconds + 1).collect();
        let mut rows = BTreeMap::new();
        for case in CASES.iter().filter(|case| tables.contains(&case.table)) {
            let columns = recording::table(case.table).unwrap().columns;
            let mut of = |thing: usize| {
                let mut samples = vec![case.things[thing].iter().copied().collect::<Row>(); times.len()];
                let counters = columns.iter().filter(|column| column.kind == ColumnKind::Counter);
                for column in counters.filter(|column| is_counted(case.table, thing, column.name)) {
                    let mut value = 10_000_000_000;
                    let grown = part * most(column.unit) as f64 * (0.8 + random.below(401) as f64 / 1000.0);
                    for row in &mut samples {
                        row.insert(column.name, Int(value));
                        #[expect(clippy::cast_possible_truncation, reason = "far from the end")]
                        let grown = (grown * (1.0 + spread * (random.below(1001) - 500) as f64 / 500.0)) as i64;
                        value += grown + 1;
                    }
                }
                samples.into_iter().map(Some).collect::<Vec<_>>()
            };
            rows.insert(case.table, (0..case.things.len()).map(&mut of).collect());
        }
        let never = usize::MAX;
        let events =
            Events { wrap_ms: never, wrap: never, reset: never, gap: never, null: never, discards: never, idle: never };
        Self { times, rows, events }
    }

    /// Writes it as a recording.
    pub fn write(&self, path: &Path) {
        self.write_first(path, SAMPLES);
    }

    /// Writes the first samples.
    pub fn write_first(&self, path: &Path, samples: usize) {
        let mut writer = Writer::create(path, manifest()).unwrap();
        for sample in 0..samples {
            for batch in self.batches(sample) {
                writer.accept(&batch).unwrap();
            }
            writer.commit().unwrap();
        }
        writer.seal_past().unwrap();
    }

    /// The batches of a sample, in the order of the cases.
    pub fn batches(&self, sample: usize) -> Vec<RowBatch> {
        let rows = |table: &str| -> Vec<Row> {
            self.rows.get(table).into_iter().flatten().filter_map(|rows| rows[sample].clone()).collect()
        };
        let cases = CASES.iter().chain(BESIDE).map(|case| (case.table, rows(case.table)));
        cases
            .filter(|(_, rows)| !rows.is_empty())
            .map(|(table, rows)| batch(table, &rows, self.times[sample]))
            .collect()
    }
}

/// The manifest of a machine that was recorded.
pub fn manifest() -> Manifest {
    let mut manifest = Manifest::new(&["test".to_string()]);
    (manifest.started_t_ns, manifest.started_wall_ns) = (BEGAN_NS, WALL_NS);
    manifest.clock_anchors = vec![ClockAnchor { t_ns: BEGAN_NS, wall_ns: WALL_NS }];
    manifest
}

/// Is this counter of a thing ever counted?
fn is_counted(table: &str, thing: usize, column: &str) -> bool {
    match table {
        "disk" => (thing == 2) == column.starts_with("any_"),
        // ZFS before 2.0, and since 2.3.
        "zfs_pool" => (thing == 1) == (column.starts_with("arc_") || column.starts_with("direct_")),
        "net" => thing == 0 || !column.starts_with("qdisc_"),
        _ => true,
    }
}

/// What a counter grows by at most in a second.
fn most(unit: &str) -> i64 {
    match unit {
        "ns" => 300_000_000,
        "ms" => 300,
        "sectors" => 20_000,
        "bytes" => 20_000_000,
        _ => 5_000,
    }
}

fn thing_rows(
    case: &Case,
    table: &'static TableSchema,
    thing: usize,
    times: &[i64],
    events: Events,
    random: &mut Random,
) -> Vec<Option<Row>> {
    let fixed: Row = case.things[thing].iter().copied().collect();
    let (is_first, is_second) = (thing == 0, thing == 1 || case.things.len() == 1);
    let mut rows = vec![fixed; SAMPLES];
    let counters = table.columns.iter().filter(|column| column.kind == ColumnKind::Counter);
    for column in counters.filter(|column| is_counted(case.table, thing, column.name)) {
        for (sample, value) in counts(case, column, is_first, is_second, times, events, random) {
            rows[sample].insert(column.name, Int(value));
        }
    }
    let is_there = |sample: usize| !(thing == 1 && sample == events.gap);
    rows.into_iter().enumerate().map(|(sample, row)| is_there(sample).then_some(row)).collect()
}

/// The values of a counter, those that are known.
fn counts(
    case: &Case,
    column: &ColumnSchema,
    is_first: bool,
    is_second: bool,
    times: &[i64],
    events: Events,
    random: &mut Random,
) -> Vec<(usize, i64)> {
    let is_still = |sample: usize| {
        sample == events.idle
            || (is_second && sample == events.discards && !column.name.starts_with("discard"))
            || (case.is_sparse && is_second && sample == events.gap)
    };
    let grown: Vec<i64> = (0..SAMPLES)
        .map(|sample| {
            let step_ns = times[sample] - times[sample.saturating_sub(1)];
            let grown = random.below(most(column.unit) * (step_ns / 1_000_000) / 1000) + 2;
            if sample == 0 || is_still(sample) { 0 } else { grown }
        })
        .collect();
    let wrap = if column.unit == "ms" { events.wrap_ms } else { events.wrap };
    let before: i64 = grown[..wrap].iter().sum();
    // The first one's goes round in that sample, if it grows in it; the second one's is far from it.
    let mut value =
        if is_first { (1 << 32) - before - grown[wrap] / 2 - 1 } else { 10_000_000_000 + random.below(1 << 30) };
    let mut values = Vec::new();
    for (sample, grown) in grown.into_iter().enumerate() {
        value += grown;
        if is_second && sample == events.reset {
            value = grown / 3;
        }
        let shown = if is_first && value >= 1 << 32 { value - (1 << 32) } else { value };
        if !(column.nullable && is_first && sample == events.null) {
            values.push((sample, shown));
        }
    }
    values
}

/// Rows of one moment as a batch; what a row does not say is null, or of the plainest kind.
pub fn batch(table: &str, rows: &[Row], t_ns: i64) -> RowBatch {
    let table = recording::table(table).unwrap();
    let schema = table.schema();
    let arrays = table.columns.iter().zip(schema.fields()).map(|(column, field)| {
        let is_label = format!("{:?}", field.data_type()).starts_with("Dictionary");
        array(column, is_label, rows, t_ns)
    });
    let arrays: Vec<ArrayRef> = arrays.collect();
    RowBatch { table, rows: RecordBatch::try_new(schema.clone(), arrays).unwrap() }
}

fn array(column: &ColumnSchema, is_label: bool, rows: &[Row], t_ns: i64) -> ArrayRef {
    let name = column.name;
    let ints = || {
        let value = |row: &Row| match row.get(name) {
            Some(Int(value)) => Some(*value),
            Some(other) => panic!("{name}: {other:?}"),
            None if name == "t_ns" => Some(t_ns),
            None => (!column.nullable).then_some(0),
        };
        rows.iter().map(value)
    };
    let texts = || {
        let text = |row: &Row| match row.get(name) {
            Some(Text(text)) => Some(*text),
            Some(other) => panic!("{name}: {other:?}"),
            None => (!column.nullable).then_some(""),
        };
        rows.iter().map(text)
    };
    match column.type_name {
        "int64" => Arc::new(ints().collect::<Int64Array>()),
        "int32" => {
            Arc::new(ints().map(|value| value.map(|value| i32::try_from(value).unwrap())).collect::<Int32Array>())
        }
        "text" if is_label => {
            let mut labels = LabelBuilder::with_capacity(rows.len());
            texts().for_each(|text| labels.append_name(text));
            labels.finish()
        }
        "text" => Arc::new(texts().collect::<StringArray>()),
        "float64" => {
            let seconds = (t_ns - BEGAN_NS) as f64 / 1e9;
            let value = |row: &Row| match row.get(name) {
                Some(Float(value)) => Some(*value),
                _ => (!column.nullable).then_some(if name == "t_s" { seconds } else { 0.0 }),
            };
            Arc::new(rows.iter().map(value).collect::<Float64Array>())
        }
        "boolean" => {
            let value = |row: &Row| match row.get(name) {
                Some(Flag(value)) => Some(*value),
                _ => (!column.nullable).then_some(false),
            };
            Arc::new(rows.iter().map(value).collect::<BooleanArray>())
        }
        other => panic!("{name} is of type {other}"),
    }
}
