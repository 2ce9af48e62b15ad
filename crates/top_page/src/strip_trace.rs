//! The strip of a trace, where no counters were recorded: rates and response times of its single I/Os.

use super::interval::TRACED_EVERY_NS;
use super::strip_cells::Cells;
use super::strip_heat::{OCTAVES, StripHeat};
use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, RecordBatch};
use rates::BatchColumns;
use recording::{Reader, rows};
use std::collections::HashMap;
use view::TableReadError;

/// I/Os per second of the busiest device of each moment, and how long they took; `None`: there are no single I/Os.
pub(super) fn read(reader: &Reader, mut rates: Cells) -> Result<Option<(Cells, Option<StripHeat>)>, TableReadError> {
    let weight = workload::traced::sample::sample(reader.manifest());
    let mut heat = vec![vec![0; OCTAVES]; rates.count()];
    let mut devices: HashMap<String, usize> = HashMap::new();
    let mut counts: HashMap<(i64, usize), u64> = HashMap::new();
    for batch in reader.columns(rows::Io::NAME, &["queue_ns", "complete_ns", "dev"])? {
        let batch = batch?;
        let columns = BatchColumns { table: rows::Io::NAME, batch: &batch };
        let (queued, completed) = (columns.longs("queue_ns")?, columns.longs("complete_ns")?);
        let numbers = numbers(&batch, &mut devices);
        for (row, device) in numbers.into_iter().enumerate().filter(|(row, _)| completed.is_valid(*row)) {
            let second = completed.value(row).div_euclid(TRACED_EVERY_NS);
            *counts.entry((second, device)).or_default() += weight;
            let response_ns = completed.value(row).saturating_sub(queued.value(row)).max(1);
            let octave = usize::try_from(response_ns.ilog2()).unwrap_or(OCTAVES).min(OCTAVES - 1);
            if let Some(cell) = heat.get_mut(rates.place((second + 1) * TRACED_EVERY_NS)) {
                cell[octave] += weight;
            }
        }
    }
    if counts.is_empty() {
        return Ok(None);
    }
    let per_s = 1e9 / TRACED_EVERY_NS as f64;
    counts.into_iter().for_each(|((second, _), count)| rates.put((second + 1) * TRACED_EVERY_NS, count as f64 * per_s));
    Ok(Some((rates, StripHeat::of(heat))))
}

/// Of each row the number of its device.
fn numbers(batch: &RecordBatch, devices: &mut HashMap<String, usize>) -> Vec<usize> {
    let mut number = |name: &str| {
        let next = devices.len();
        devices.get(name).copied().unwrap_or_else(|| *devices.entry(name.to_string()).or_insert(next))
    };
    let Some(column) = batch.column_by_name("dev") else { return vec![0; batch.num_rows()] };
    let labels = column.as_any_dictionary_opt();
    let Some((labels, texts)) = labels.and_then(|labels| Some((labels, labels.values().as_string_opt::<i32>()?)))
    else {
        return vec![0; batch.num_rows()];
    };
    let known: Vec<usize> = texts.iter().map(|text| number(text.unwrap_or_default())).collect();
    labels.normalized_keys().into_iter().map(|key| known.get(key).copied().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use crate::TimeStrip;
    use recording::rows::Io;
    use recording::{Label, Manifest, Reader, RowBatch, Sink as _, Writer};

    const SECOND_NS: i64 = 1_000_000_000;

    fn io(dev: &str, complete_ns: i64, response_ns: i64) -> Io {
        Io {
            queue_ns: complete_ns - response_ns,
            issue_ns: None,
            complete_ns: Some(complete_ns),
            dev: Label::from(dev),
            op: Label::from("read"),
            flags: None,
            sector: 0,
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
            bios: None,
            requeues: None,
        }
    }

    /// Three seconds: 10 I/Os on one device and 30 on another, nothing, 20 slow ones.
    fn strip(sample: u64) -> TimeStrip {
        let folder = tempfile::tempdir().expect("a folder");
        let mut manifest = Manifest::new(&[]);
        manifest.extra.insert(workload::traced::sample::TRACE_SAMPLE.to_string(), sample.into());
        let mut writer = Writer::create(&folder.path().join("t"), manifest).expect("a recording");
        let first = 100 * SECOND_NS;
        let mut rows: Vec<Io> = (0..10).map(|n| io("sda", first + n * 1000, 100_000)).collect();
        rows.extend((0..30).map(|n| io("sdb", first + 20_000 + n * 1000, 100_000)));
        rows.extend((0..20).map(|n| io("sda", first + 2 * SECOND_NS + n * 40_000_000, 50_000_000)));
        rows.push(Io { complete_ns: None, ..io("sda", first + SECOND_NS, 1) });
        writer.accept(&RowBatch::from_rows(&rows).expect("a batch")).expect("taken");
        let reader = Reader::open(writer.seal().expect("sealed")).expect("a recording");
        TimeStrip::read(&reader, (first, first + 3 * SECOND_NS), 1.0, 3).expect("a strip")
    }

    #[test]
    fn rates_and_response_times_of_single_ios() {
        let strip = strip(1);
        let ios = strip.lines.iter().find(|line| line.name == "iops").expect("a line");
        assert_eq!((ios.greatest.as_str(), ios.cells.clone()), ("30/s", vec![Some(1.0), None, Some(20.0 / 30.0)]));
        let map = strip.heat.expect("response times").map(16, 3);
        let sums: Vec<u64> = map.columns.iter().map(|column| column.iter().sum()).collect();
        assert_eq!((sums, map.most), (vec![40, 0, 20], 40));
    }

    #[test]
    fn of_a_sample_the_rate_of_all() {
        let strip = strip(64);
        let ios = strip.lines.iter().find(|line| line.name == "iops").expect("a line");
        assert_eq!(ios.greatest, "1.9k/s");
        assert_eq!(strip.heat.expect("response times").map(16, 3).most, 40 * 64);
    }
}
