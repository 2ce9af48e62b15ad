use super::*;
use arrow_array::ArrayRef;
use std::sync::Arc;

const NOTHING: Disk = Disk {
    t_ns: 0,
    t_s: 0.0,
    device: String::new(),
    target: String::new(),
    read_ios: None,
    read_merges: None,
    read_sectors: None,
    read_ticks_ms: None,
    write_ios: None,
    write_merges: None,
    write_sectors: None,
    write_ticks_ms: None,
    in_flight: None,
    io_ticks_ms: None,
    weighted_ticks_ms: None,
    discard_ios: None,
    discard_merges: None,
    discard_sectors: None,
    discard_ticks_ms: None,
    flush_ios: None,
    flush_ticks_ms: None,
    any_ios: None,
    any_sectors: None,
};

/// Ten reads, ten writes and 1,000 discards a second, of 4 KiB each, and seven flushes.
fn discards(second: i64) -> Disk {
    let of = |per_s: i64| Some(per_s * second);
    Disk {
        t_ns: second * 1_000_000_000,
        read_ios: of(10),
        read_sectors: of(80),
        read_ticks_ms: of(20),
        write_ios: of(10),
        write_sectors: of(80),
        write_ticks_ms: of(40),
        discard_ios: of(1000),
        discard_sectors: of(8000),
        discard_ticks_ms: of(960),
        flush_ios: of(7),
        flush_ticks_ms: of(70),
        in_flight: Some(1),
        io_ticks_ms: of(500),
        weighted_ticks_ms: of(1020),
        ..NOTHING
    }
}

#[test]
fn discards_are_operations_and_flushes_are_not() {
    let delta = DiskDelta::of(&discards(5), &discards(3)).unwrap();
    let figures = [delta.per_s(delta.ops()), delta.per_s(delta.bytes()), delta.mean_bytes(), delta.mean_await_ns()];
    assert_eq!(figures, [Some(1020.0), Some(4_177_920.0), Some(4096.0), Some(1e6)]);
    assert_eq!(
        (delta.per_s(delta.completions()), delta.mean_queue_depth(), delta.busy_percent()),
        (Some(1027.0), Some(1.02), Some(50.0))
    );
    assert_eq!((delta.tick_error_ms(), delta.rounding_error_ms()), (3.0, 0.0), "three kinds, each to a millisecond");
}

#[test]
fn one_figure_for_all_kinds_counts_where_no_kind_is_known() {
    let row = |second: i64| Disk {
        t_ns: second * 1_000_000_000,
        any_ios: Some(1020 * second),
        read_sectors: Some(80 * second),
        write_sectors: Some(80 * second),
        discard_sectors: Some(8000 * second),
        ..NOTHING
    };
    let delta = DiskDelta::of(&row(3), &row(1)).unwrap();
    assert_eq!((delta.per_s(delta.ops()), delta.mean_bytes()), (Some(1020.0), Some(4096.0)));
    assert_eq!((delta.mean_await_ns(), delta.mean_queue_depth(), delta.busy_percent()), (None, None, None));
}

#[test]
fn what_began_anew_is_not_known() {
    let (was, mut now) = (discards(3), discards(5));
    assert_eq!(DiskDelta::of(&was, &was), None, "no time passed");
    now.discard_ios = Some(1);
    assert_eq!(DiskDelta::of(&now, &was), None, "without its discards the sum would be a wrong one");
    now = Disk { discard_sectors: None, ..discards(5) };
    assert_eq!(DiskDelta::of(&now, &was), None);
    now = Disk { write_ticks_ms: Some(3), weighted_ticks_ms: Some(2), ..discards(5) };
    let delta = DiskDelta::of(&now, &was).unwrap();
    assert_eq!(
        (delta.ops(), delta.mean_await_ns()),
        (Some(2040.0), None),
        "a time that falls far from the end of its 32 bits was reset"
    );
    let near = (1 << 32) - 5;
    let was = Disk { write_ticks_ms: Some(near), weighted_ticks_ms: Some(near), ..was };
    let delta = DiskDelta::of(&now, &was).unwrap();
    assert_eq!((delta.write.ticks_ms, delta.mean_queue_depth().is_some()), (Some(8.0), true), "it went round");
    let none = DiskDelta::of(&Disk { t_ns: 2, ..NOTHING }, &NOTHING).unwrap();
    assert_eq!((none.ops(), none.bytes(), none.mean_bytes(), none.mean_await_ns()), (None, None, None, None));
}

#[test]
fn columns_tell_what_rows_tell() {
    let of = |row: &Disk, name: &str| match name {
        "read_ios" => row.read_ios,
        "write_ios" => row.write_ios,
        "discard_ios" => row.discard_ios,
        "read_sectors" => row.read_sectors,
        "write_sectors" => row.write_sectors,
        "discard_sectors" => row.discard_sectors,
        "read_ticks_ms" => row.read_ticks_ms,
        "write_ticks_ms" => row.write_ticks_ms,
        "discard_ticks_ms" => row.discard_ticks_ms,
        "io_ticks_ms" => row.io_ticks_ms,
        "weighted_ticks_ms" => row.weighted_ticks_ms,
        _ => None,
    };
    let rows = [discards(3), discards(5)];
    let names = DiskColumns::OPS.iter().chain(&DiskColumns::BYTES).chain(&DiskColumns::TIMES);
    let column = |name: &&'static str| {
        (*name, Arc::new(rows.iter().map(|row| of(row, name)).collect::<Int64Array>()) as ArrayRef)
    };
    let t_ns = Arc::new(rows.iter().map(|row| Some(row.t_ns)).collect::<Int64Array>()) as ArrayRef;
    let batch = RecordBatch::try_from_iter_with_nullable(
        names.map(column).chain([("t_ns", t_ns)]).map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let columns = DiskColumns::of(&batch);
    let (by_column, by_row) =
        (DiskDelta::between(&columns.at(1), &columns.at(0)).unwrap(), DiskDelta::of(&rows[1], &rows[0]).unwrap());
    for of in [
        DiskDelta::ops,
        DiskDelta::bytes,
        DiskDelta::mean_await_ns,
        DiskDelta::mean_queue_depth,
        DiskDelta::busy_percent,
    ] {
        assert_eq!(of(&by_column), of(&by_row));
        assert!(of(&by_row).is_some());
    }
}
