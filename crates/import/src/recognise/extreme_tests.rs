//! Extreme figures in results and traces: small printers, made after what the source of each tool says of its digits,
//! print numbers of any size; what is imported must be those numbers, within the last digit that was printed.

use super::FORMATS;
use crate::printed::{count, whole};
use crate::results::Results;
use crate::source::Lines;
use crate::{ImportOptions, import};
use proptest::prelude::*;
use recording::Reader;
use recording::rows::Io;
use std::fmt::Write as _;
use std::path::Path;

/// From nothing to more than any machine does, many where digits change.
fn figure(most: f64) -> impl Strategy<Value = f64> {
    let edges = vec![0.0_f64, 4e-5, 0.999_95, 9_999.999_95, 10_000.0, 100_000.5, 1e6, 1e9, 1e12];
    prop_oneof![
        prop::sample::select(edges).prop_map(move |value| value.min(most)),
        (-4.0_f64..15.0).prop_map(move |power| 10_f64.powf(power).min(most)),
    ]
}

fn read(format: &str, path: &Path, text: &str) -> Result<Results, TestCaseError> {
    let format = FORMATS.iter().find(|found| found.name == format).expect("a format");
    assert!((format.sniff)(text), "{} is not known by its look:\n{text}", format.name);
    (format.read)(path, text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))
}

/// Vdbench's figures: four decimals, without zeros at the end; a word where there was a division by 0.
fn vdbench(value: Option<f64>) -> String {
    let Some(value) = value else { return "NaN".to_string() };
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn is_near(read: f64, value: f64, digit: f64) -> bool {
    (read - value).abs() <= digit * 1.000_001 + value.abs() * 1e-12
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Rates and sizes as Vdbench prints them; times of both kinds, or of neither where nothing was done.
    #[test]
    fn a_flatfile_of_any_size_gives_what_was_printed(
        lines in prop::collection::vec((figure(1e12), figure(1e9), 0..=4_u8, figure(1e9), figure(1e9)), 1..6),
    ) {
        let mut text = "tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp resp_max read_max write_max queue_depth\n".to_string();
        let mut expect = Vec::new();
        for (at, (rate, size, quarters, one, other)) in lines.iter().enumerate() {
            // A device has whole blocks and operations.
            let rate = rate.round();
            let size = size.min(8e18 / (rate + 1.0)).round();
            let share = f64::from(*quarters) / 4.0;
            let reads = (rate * share).round();
            let counts = [reads, rate - reads];
            let of = |count: f64, value: f64| (count > 0.0).then_some(value);
            let times = [of(counts[0], *one), of(counts[1], *other)];
            let mean = of(rate, one * share + other * (1.0 - share));
            let mib = vdbench(Some(rate * size / 1_048_576.0));
            let fields = [mean, times[0], times[1], mean, times[0], times[1], Some(0.5)].map(vdbench).join(" ");
            let _ = writeln!(
                text,
                "10:00:0{at}.015 05/11/2023-10:00:0{at}-UTC rd1 {} 9999988 {} {mib} {} {} {fields}",
                at + 1,
                vdbench(Some(rate)),
                vdbench(of(rate, size)),
                vdbench(of(rate, share * 100.0)),
            );
            for (count, (op, time)) in counts.into_iter().zip([("read", times[0]), ("write", times[1])]) {
                expect.extend((count > 0.0).then_some((at, op, count, count * size, time)));
            }
        }
        let results = read("vdbench", Path::new("/nowhere/flatfile.html"), &text)?;
        let rows: Vec<_> = results.intervals.iter().filter(|row| row.ops > 0).collect();
        prop_assert_eq!(rows.len(), expect.len(), "{}", text);
        for (row, (at, op, count, bytes, time)) in rows.into_iter().zip(expect) {
            prop_assert_eq!((row.t_ns / 1_000_000_000, row.op.as_str()), (i64::try_from(at).unwrap() + 1, op), "{}", text);
            // Half an operation of each kind is rounded.
            prop_assert!(is_near(row.ops as f64, count, 0.5), "{}: {} for {}\n{}", op, row.ops, count, text);
            let size = bytes / count;
            prop_assert!(is_near(row.bytes as f64, bytes, 0.5 + size), "{}: {} for {}\n{}", op, row.bytes, bytes, text);
            let time = time.expect("it has one") * 1e6;
            let mean = row.service.mean().unwrap_or(f64::NAN);
            prop_assert!(is_near(mean, time, 50.0 + 1.0 / count), "{}: {} for {}\n{}", op, mean, time, text);
            let max = row.service.max().unwrap_or(0) as f64;
            prop_assert!(is_near(max, time, 50.5), "{}: {} for {}\n{}", op, max, time, text);
        }
    }

    /// Jobs as fio's JSON has them: whole numbers, and means with six decimals.
    #[test]
    fn a_json_of_fio_of_any_size_gives_what_was_printed(
        jobs in prop::collection::vec((figure(1e15), figure(1e9), figure(1e13)), 1..4),
        is_plus in any::<bool>(),
    ) {
        let jobs: Vec<(u64, u64, f64)> = jobs
            .into_iter()
            .map(|(ops, size, mean)| (count(ops) + 1, count(size.min(8e18 / (ops + 2.0))), mean))
            .collect();
        let mut text = "{\n  \"fio version\" : \"fio-3.33\",\n  \"timestamp_ms\" : 1795232195232,\n  \"jobs\" : [\n".to_string();
        for (at, (ops, size, mean)) in jobs.iter().enumerate() {
            let max = mean.ceil() + 1.0;
            let bins = if is_plus { format!(", \"bins\" : {{ \"{max}\" : {ops} }}") } else { String::new() };
            let _ = writeln!(
                text,
                "{}{{ \"jobname\" : \"job{at}\", \"groupid\" : {at}, \"error\" : 0, \"read\" : {{ \"io_bytes\" : {}, \"total_ios\" : {ops}, \"runtime\" : 86400000, \
                 \"clat_ns\" : {{ \"min\" : 0, \"max\" : {max}, \"mean\" : {mean:.6}, \"N\" : {ops}{bins} }} }} }}",
                if at == 0 { "" } else { "," },
                ops * size,
            );
        }
        text.push_str("] }\n");
        let results = read("fio", Path::new("/nowhere/out.json"), &text)?;
        prop_assert_eq!(results.totals.len(), jobs.len());
        for (row, (ops, size, mean)) in results.totals.iter().zip(jobs) {
            prop_assert_eq!((row.ops.unsigned_abs(), row.bytes.unsigned_abs()), (ops, ops * size), "{}", text);
            let found = row.service.mean().unwrap_or(f64::NAN);
            prop_assert!(is_near(found, mean, 5e-7 + 1.0 / ops as f64), "{} for {}\n{}", found, mean, text);
            prop_assert_eq!(row.service.max(), Some(count(mean.ceil() + 1.0)));
        }
    }

    /// A log with a line per I/O: `ms, value, direction, size, …`.
    #[test]
    fn a_log_of_fio_of_any_size_gives_what_was_printed(
        lines in prop::collection::vec((0..3_usize, figure(1e13), figure(1e9)), 1..20),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mix_clat.1.log");
        let mut text = String::new();
        let mut expect = [(0_i64, 0_i64, 0.0); 3];
        for (at, (op, value, size)) in lines.iter().enumerate() {
            let (value, size) = (whole(*value), whole(*size) + 1);
            let _ = writeln!(text, "{}, {value}, {op}, {size}, 0, 0", at * 700);
            let sum = expect[*op];
            expect[*op] = (sum.0 + 1, sum.1 + size, sum.2 + value as f64);
        }
        std::fs::write(&path, &text).expect("written");
        let results = read("fio-log", &path, &text)?;
        for (name, (ops, bytes, sum)) in ["read", "write", "trim"].into_iter().zip(expect) {
            let rows = results.totals.iter().filter(|row| row.op == name);
            let found = rows.fold((0, 0, 0.0), |all, row| {
                (all.0 + row.ops, all.1 + row.bytes, all.2 + row.service.mean().unwrap_or(0.0) * row.ops as f64)
            });
            prop_assert_eq!((found.0, found.1), (ops, bytes), "{}\n{}", name, text);
            prop_assert!(is_near(found.2, sum, sum * 1e-9), "{}: {} for {}\n{}", name, found.2, sum, text);
        }
    }
}

/// An I/O of a trace: when, how long, of what, where (sectors), and how large (sectors).
type Traced = (u64, u64, bool, u64, u64);

fn traced() -> impl Strategy<Value = Vec<Traced>> {
    let sector = prop_oneof![Just(0), Just((1_u64 << 53) - (8 << 20)), 0..(1_u64 << 40)];
    let one = (0..1_000_000_000_u64, 0..4_000_000_000_u64, any::<bool>(), sector, 1..=8_388_608_u64);
    prop::collection::vec(one, 1..12).prop_map(|mut all| {
        all.sort_unstable();
        all
    })
}

/// Prints a trace in one of the formats; the resolution of its times in ns, `None` for their ends where it has none.
fn printed(which: usize, all: &[Traced]) -> (&'static str, String, u64, Option<u64>) {
    let mut text = if which == 4 { "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n" } else { "" }.to_string();
    for (at, (t_us, length_us, is_read, sector, sectors)) in all.iter().enumerate() {
        let (offset, bytes) = (sector * 512, sectors * 512);
        let kind = |read: &'static str, write| if *is_read { read } else { write };
        let _ = match which {
            0 => {
                let ticks = 128_166_372_000_000_000 + t_us * 10;
                writeln!(text, "{ticks},srv,0,{},{offset},{bytes},{}", kind("Read", "Write"), length_us * 10)
            }
            1 => writeln!(text, "7,{},{offset},{bytes},{}", kind("R", "W"), 1_577_808_000_000_000 + t_us),
            2 => writeln!(text, "{},{sector},{sectors},{},7", 1_538_323_200 + t_us / 1_000_000, kind("0", "1")),
            3 => {
                let seconds = |us: u64| format!("{}.{:06}000", us / 1_000_000, us % 1_000_000);
                let t = seconds(1_456_135_200_000_000 + t_us);
                writeln!(text, "{t},{},{},1,{offset},{bytes}", seconds(*length_us), kind("R", "W"))
            }
            4 => writeln!(text, "{t_us} /dev/sda {} {offset} {bytes}", kind("read", "write")),
            5 => writeln!(
                text,
                "{}000 4892 syslogd {sector} {sectors} {} 8 0 531e779b2b8b1a7ae2c2d4a9f2bb7d91",
                89_966_000_000_000 + t_us,
                kind("R", "W")
            ),
            _ => {
                let mark = kind("RS", "WS");
                let stamp = |us: u64| format!("{:>5}.{:06}000", us / 1_000_000, us % 1_000_000);
                let [queued, done] = [*t_us, t_us + length_us].map(stamp);
                let id = 4_000_000_000 + at as u64;
                let _ = writeln!(
                    text,
                    "  8,0    1 {id:>8} {queued} {:>5}  Q {mark:>3} {sector} + {sectors} [fio]",
                    4_194_303
                );
                let _ = writeln!(
                    text,
                    "  8,0    1 {id:>8} {queued} {:>5}  D {mark:>3} {sector} + {sectors} [fio]",
                    4_194_303
                );
                writeln!(text, "  8,0    1 {id:>8} {done} {:>5}  C {mark:>3} {sector} + {sectors} [0]", 0)
            }
        };
    }
    match which {
        0 => ("msr", text, 1, Some(1)),
        1 => ("alibaba", text, 1, None),
        2 => ("tencent", text, 1_000_000, None),
        3 => ("systor17", text, 1, Some(1)),
        4 => ("fio-iolog", text, 1, None),
        5 => ("fiu", text, 1, None),
        _ => ("blkparse", text, 1, Some(1)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(70))]
    #[test]
    fn a_trace_of_any_addresses_gives_what_was_printed(which in 0..7_usize, all in traced()) {
        // blkparse's events are in the order of time, which those of overlapping I/Os are not here.
        let all: Vec<Traced> = if which == 6 { all.into_iter().take(1).collect() } else { all };
        let (format, text, unit_us, ends) = printed(which, &all);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        std::fs::write(&path, &text).expect("written");
        let done = import(&path, &folder.path().join("r"), &ImportOptions::default(), &[]);
        let done = done.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(done.format, format);
        let reader = Reader::open(&done.directory).expect("a recording");
        let mut rows: Vec<Io> = reader.table().expect("rows");
        prop_assert_eq!(rows.len(), all.len(), "{}", text);
        let key = |io: &Io| (io.queue_ns, io.complete_ns, io.sector, io.bytes, io.op.to_string());
        rows.sort_by_key(key);
        let zero_us = if matches!(which, 4 | 6) { 0 } else { all[0].0 / unit_us * unit_us };
        let mut expect: Vec<_> = all
            .iter()
            .map(|(t_us, length_us, is_read, sector, sectors)| {
                let ns = |us: u64| i64::try_from(us * 1000).expect("small");
                let queue_ns = ns(t_us / unit_us * unit_us - zero_us);
                let complete_ns = ends.map(|_| queue_ns + ns(*length_us));
                let whole = |value: u64| i64::try_from(value).expect("below 2^63");
                (queue_ns, complete_ns, whole(*sector), whole(sectors * 512), if *is_read { "read" } else { "write" }.to_string())
            })
            .collect();
        expect.sort();
        prop_assert_eq!(rows.iter().map(key).collect::<Vec<_>>(), expect, "{}", text);
    }
}

#[test]
fn a_line_of_a_trace_that_cannot_be_read_is_an_error_with_its_number() {
    for which in 0..7 {
        let all = [(1_000_000, 5, true, 8, 8), (2_000_000, 5, false, 16, 8)];
        let (format, text, ..) = printed(which, &all);
        let broken = format!(
            "{text}{}\n{}",
            text.lines().last().expect("a line").replace('8', "8x"),
            text.lines().last().expect("a line")
        );
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trace");
        std::fs::write(&path, format!("{broken}\n")).expect("written");
        let mut lines = Lines::open(&path).expect("it opens");
        let mut count = 0;
        while lines.advance().expect("text") {
            count += 1;
        }
        let error =
            import(&path, &folder.path().join("r"), &ImportOptions::default(), &[]).expect_err(format).to_string();
        assert!(error.contains(&format!(":{}: ", count - 1)), "{format}: {error}");
    }
}
