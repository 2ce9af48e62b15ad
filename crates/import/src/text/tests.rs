//! Tools' own outputs, and what becomes of them.

use crate::{ImportOptions, import};
use proptest::prelude::*;
use quantity::zone::LocalZone;
use recording::rows::{Cpu, Disk, Event, Figure, Memory, Net, Pressure, Process, System, Tcp};
use recording::{EventKind, Reader, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A tool's output in the fixtures.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tools").join(name)
}

/// Files have the time at which they were checked out: the day is said.
fn options() -> ImportOptions {
    ImportOptions { start_ns: quantity::text::wall_ns_of((2026, 11, 20), (10, 0, 0)), ..ImportOptions::default() }
}

struct Import {
    _folder: tempfile::TempDir,
    reader: Reader,
    notes: Vec<String>,
    format: &'static str,
}

impl Import {
    fn of(path: &Path) -> Result<Self, crate::ImportError> {
        Self::with(path, &options())
    }

    fn with(path: &Path, options: &ImportOptions) -> Result<Self, crate::ImportError> {
        let folder = tempfile::tempdir().expect("a folder");
        let imported = import(path, &folder.path().join("r"), options, &[])?;
        let reader = Reader::open(&imported.directory).expect("a recording");
        Ok(Self { _folder: folder, reader, notes: imported.notes, format: imported.format })
    }

    fn rows<R: Row>(&self) -> Vec<R> {
        self.reader.table::<R>().expect("rows")
    }
}

/// A counter's heading, the counter, and the unit of the heading.
type Counter<R> = (&'static str, fn(&R) -> Option<i64>, f64);

/// What grew per second in each interval, by thing, with names of columns.
fn rates<R: Row>(import: &Import, thing: fn(&R) -> String, t_ns: fn(&R) -> i64, columns: &[Counter<R>]) -> Vec<String> {
    let mut before: BTreeMap<String, R> = BTreeMap::new();
    let mut lines = Vec::new();
    for row in import.rows::<R>() {
        let name = thing(&row);
        if let Some(before) = before.get(&name) {
            let seconds = (t_ns(&row) - t_ns(before)) as f64 / 1e9;
            let shown = columns.iter().map(|(column, of, scale)| match of(&row).zip(of(before)) {
                Some((now, was)) if now >= was => format!("{column} {:.2}", (now - was) as f64 * scale / seconds),
                Some(_) => format!("{column} anew"),
                None => format!("{column} ?"),
            });
            lines.push(format!("  {name} {seconds} s: {}", shown.collect::<Vec<String>>().join(", ")));
        }
        before.insert(name, row);
    }
    lines
}

fn disks(import: &Import) -> Vec<String> {
    rates::<Disk>(
        import,
        |row| row.device.clone(),
        |row| row.t_ns,
        &[
            ("r/s", |row| row.read_ios, 1.0),
            ("w/s", |row| row.write_ios, 1.0),
            ("all/s", |row| row.any_ios, 1.0),
            ("rkB/s", |row| row.read_sectors, 0.5),
            ("wkB/s", |row| row.write_sectors, 0.5),
            ("all kB/s", |row| row.any_sectors, 0.5),
            ("r ms/s", |row| row.read_ticks_ms, 1.0),
            ("w ms/s", |row| row.write_ticks_ms, 1.0),
            ("queue", |row| row.weighted_ticks_ms, 1e-3),
            ("%util", |row| row.io_ticks_ms, 0.1),
        ],
    )
}

fn cpus(import: &Import) -> Vec<String> {
    rates::<Cpu>(
        import,
        |row| row.cpu.clone(),
        |row| row.t_ns,
        &[
            ("user", |row| Some(row.user_ns), 1e-7),
            ("system", |row| Some(row.system_ns), 1e-7),
            ("idle", |row| Some(row.idle_ns), 1e-7),
            ("iowait", |row| row.iowait_ns, 1e-7),
            ("soft", |row| row.softirq_ns, 1e-7),
            ("steal", |row| row.steal_ns, 1e-7),
        ],
    )
}

fn links(import: &Import) -> Vec<String> {
    let rates = rates::<Net>(
        import,
        |row| row.interface.clone(),
        |row| row.t_ns,
        &[
            ("rKB/s", |row| Some(row.rx_bytes), 1.0 / 1024.0),
            ("wKB/s", |row| Some(row.tx_bytes), 1.0 / 1024.0),
            ("rPk/s", |row| row.rx_packets, 1.0),
            ("wPk/s", |row| row.tx_packets, 1.0),
            ("drops", |row| row.rx_drops, 1.0),
        ],
    );
    let speed = |row: Net| {
        row.speed_bits_per_s
            .map(|bits| format!("  {}: {} Mbit/s, full duplex {:?}", row.interface, bits / 1_000_000, row.full_duplex))
    };
    let speeds: BTreeSet<String> = import.rows::<Net>().into_iter().filter_map(speed).collect();
    rates.into_iter().chain(speeds).collect()
}

fn machine(import: &Import) -> Vec<String> {
    let system = rates::<System>(
        import,
        |_| "system".to_string(),
        |row| row.t_ns,
        &[("cs", |row| row.context_switches, 1.0), ("in", |row| row.interrupts, 1.0), ("forks", |row| row.forks, 1.0)],
    );
    let memory = rates::<Memory>(
        import,
        |row| {
            format!(
                "memory free {:?} cached {:?}",
                row.free_bytes.map(|bytes| bytes / 1024),
                row.cached_bytes.map(|bytes| bytes / 1024)
            )
        },
        |row| row.t_ns,
        &[("bi", |row| row.page_in_bytes, 1.0 / 1024.0), ("bo", |row| row.page_out_bytes, 1.0 / 1024.0)],
    );
    let pressure = rates::<Pressure>(
        import,
        |row| format!("pressure {}", row.resource),
        |row| row.t_ns,
        &[("some", |row| row.some_ns, 1e-7), ("full", |row| row.full_ns, 1e-7)],
    );
    let tcp = rates::<Tcp>(
        import,
        |_| "tcp".to_string(),
        |row| row.t_ns,
        &[
            ("in", |row| row.in_segments, 1.0),
            ("active", |row| row.active_opens, 1.0),
            ("resets", |row| row.resets_sent, 1.0),
        ],
    );
    system.into_iter().chain(memory).chain(pressure).chain(tcp).collect()
}

fn processes(import: &Import) -> Vec<String> {
    let mut lines = rates::<Process>(
        import,
        |row| format!("{} {}", row.pid, row.comm),
        |row| row.t_ns,
        &[
            ("%usr", |row| row.user_ns, 1e-7),
            ("%system", |row| row.system_ns, 1e-7),
            ("kB_rd/s", |row| row.read_bytes, 1.0 / 1024.0),
            ("kB_wr/s", |row| row.write_bytes, 1.0 / 1024.0),
        ],
    );
    lines.truncate(6);
    lines
}

/// All files of a folder of fixtures: tables, notes and rates.
fn folder_summary(folder: &str, starts: &str) -> String {
    let entries = std::fs::read_dir(fixture(folder)).expect("fixtures");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    let mut out = String::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with(starts) {
            continue;
        }
        let import = match Import::of(&path) {
            Ok(import) => import,
            Err(error) => {
                let text = error.to_string();
                let text = text.rsplit_once(&name).map_or(text.clone(), |(_, rest)| rest.to_string());
                let _ = writeln!(out, "{name}{}", text.split(" (vdbench").next().unwrap_or_default());
                continue;
            }
        };
        let manifest = import.reader.manifest();
        let rows: Vec<String> = manifest.rows.iter().map(|(table, rows)| format!("{table} {rows}")).collect();
        let from = quantity::text::format_wall(manifest.started_wall_ns);
        let _ = writeln!(out, "{name}: {} from {from}: {}", import.format, rows.join(", "));
        for note in &import.notes {
            let _ = writeln!(out, "  note: {note}");
        }
        let lines = [cpus(&import), disks(&import), links(&import), machine(&import), processes(&import)];
        for event in import.rows::<Event>().iter().filter(|event| event.kind == EventKind::Kernel) {
            let _ = writeln!(
                out,
                "  {} s {} {} {:?} ×{}: {:.100}",
                event.t_s,
                event.severity,
                event.class.as_deref().unwrap_or("?"),
                event.target,
                event.count,
                event.message
            );
        }
        if ["dtrace", "nfsstat", "ss", "prstat"].contains(&import.format) {
            for figure in import.rows::<Figure>().iter().take(12) {
                let _ = writeln!(
                    out,
                    "  {} s {} {}: {:?} {:?}",
                    figure.t_s,
                    figure.thing,
                    figure.name,
                    figure.value,
                    figure.text.as_deref()
                );
            }
        }
        for line in lines.iter().flatten() {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

#[test]
fn each_tool_gives_what_it_printed() {
    for tool in ["vmstat", "iostat", "mpstat", "nicstat", "pidstat", "sar", "netstat", "nstat", "ss", "zpool"] {
        insta::assert_snapshot!(format!("today_{tool}"), folder_summary("", tool));
    }
    for tool in ["000", "001", "002", "003", "004"] {
        insta::assert_snapshot!(format!("old_{tool}"), folder_summary("old", tool));
    }
}

/// Imports a text under a name.
fn of_text(name: &str, text: &str, options: &ImportOptions) -> Result<Import, crate::ImportError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    Import::with(&path, options)
}

const VMSTAT: &str = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
    r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n\
    32  0      0 19826056  53064 4421200    0    0  1938  2007  272  541   9  4 87  0  0\n \
    3  0      0 19826056  53064 4421200    0    0 37172 33656  927 1567 36 56  9  0  0\n \
    4  0      0 19826056  53064 4421200    0    0  1164  1896 1641 3388 42 56  2  1  0\n";
const SAR: &str = "Linux 6.18.44 (db7) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n\
    23:59:58          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util\n\
    23:59:59          vda    154.00  36984.00  33712.00     56.00    459.43      0.48      3.12      4.40\n\
    00:00:00          vda    233.00   1164.00   1840.00    932.00     16.89      0.03      0.12      2.40\n";
const NICSTAT: &str = "    Time      Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs %Util    Sat\n\
    10:27:19     eth0  1736.4    1.98   36.90   24.25 48187.6   83.40  0.02   0.00\n\
    10:27:20     eth0   187.4    1.21   16.98   15.98 11302.5   77.25  0.00   0.00\n";

#[test]
fn the_error_names_the_line_of_malformed_text() {
    let cases = [
        ("vmstat", "a word for a number", VMSTAT.replace("3388", "many")),
        ("vmstat", "a column less in the middle", VMSTAT.replace(" 927 ", " ")),
        ("vmstat", "a heading only", VMSTAT.lines().take(2).collect::<Vec<&str>>().join("\n")),
        ("sysstat", "a word for a number", SAR.replace("3.12", "three")),
        ("sysstat", "a column more", SAR.replace("3.12", "3 12")),
        ("sysstat", "a time that is none", SAR.replace("00:00:00 ", "00:61:00 ")),
        ("nicstat", "a word for a number", NICSTAT.replace("187.4", "1x")),
        ("nicstat", "a time that is none", NICSTAT.replace("10:27:20", "99:27:20")),
        ("nicstat", "a column less", NICSTAT.replace(" 15.98", "")),
        ("iostat", "another tool's", VMSTAT.to_string()),
        ("sysstat", "empty", String::new()),
    ];
    let mut said = String::new();
    for (format, what, text) in cases {
        let wanted = ImportOptions { format: Some(format.to_string()), ..options() };
        match of_text("input", &text, &wanted) {
            Err(error) => {
                let error = error.to_string();
                let _ = writeln!(said, "{format}, {what}: {}", error.split_once("/input").map_or("", |(_, rest)| rest));
            }
            Ok(import) => {
                let _ = writeln!(
                    said,
                    "{format}, {what}: accepted, {:?} {:?}",
                    import.reader.manifest().rows,
                    import.notes
                );
            }
        }
    }
    insta::assert_snapshot!(said);
}

#[test]
fn midnight_cut_off_lines_and_messages() {
    let import = of_text("sar.txt", SAR, &ImportOptions::default()).expect("it is good");
    let times: Vec<i64> = import.rows::<Disk>().iter().map(|row| row.t_ns).collect();
    assert_eq!(times.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<i64>>(), [1_000_000_000; 2]);
    assert_eq!(import.reader.manifest().host, "db7");
    let cut = &VMSTAT[..VMSTAT.len() - 20];
    let import = of_text("vmstat.txt", cut, &options()).expect("the rest is good");
    assert_eq!(import.rows::<System>().len(), 2);
    assert!(import.notes.iter().any(|note| note.contains("line 5 is cut off")), "{:?}", import.notes);
    let disturbed = VMSTAT.replace("\n 4", "\nvmstat: your system is odd\n\n 4");
    let import = of_text("vmstat.txt", &disturbed, &options()).expect("the rest is good");
    assert_eq!(import.rows::<System>().len(), 3);
    assert!(import.notes.iter().any(|note| note.ends_with("left out: 1")), "{:?}", import.notes);
}

#[test]
fn a_folder_of_several_tools_is_one_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    for (from, to) in [
        ("vmstat.txt", "vmstat.out"),
        ("iostat-xzty.txt", "iostat.out"),
        ("nicstat.txt", "nicstat.out"),
        ("mpstat-P-ALL.txt", "mpstat.out"),
    ] {
        std::fs::copy(fixture(from), folder.path().join(to)).expect("copied");
    }
    std::fs::write(folder.path().join("README"), "what I did\n").expect("written");
    let import = Import::of(folder.path()).expect("it is good");
    let tables: Vec<&str> = import.reader.manifest().rows.keys().map(String::as_str).collect();
    assert_eq!(tables, ["cpu", "disk", "event", "figure", "memory", "net", "system"]);
    // mpstat tells most of CPUs.
    assert!(import.rows::<Cpu>().iter().all(|row| row.softirq_ns.is_some()));
    assert!(
        import.notes.iter().any(|note| note.starts_with("vmstat.out: another file tells more of cpu")),
        "{:?}",
        import.notes
    );
    assert!(import.notes.iter().any(|note| note.starts_with("README: unknown format")), "{:?}", import.notes);
    let figures = import.rows::<Figure>();
    assert!(figures.iter().any(|row| &*row.tool == "vmstat" && &*row.name == "us" && row.value == Some(36.0)));
}

#[test]
fn the_interval_option_spaces_samples_without_times() {
    let options = ImportOptions { interval_ns: Some(5_000_000_000), ..options() };
    let import = of_text("vmstat.txt", VMSTAT, &options).expect("it is good");
    let rows = import.rows::<System>();
    assert_eq!(rows[1].t_ns - rows[0].t_ns, 5_000_000_000);
    let grown = rows[1].context_switches.zip(rows[0].context_switches).map(|(now, was)| now - was);
    assert_eq!(grown, Some(5 * 1567));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn mutations_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![
            "", "-", "9", "99999999999999999999", "\n", "\0", "e9", "%", "00:00:00", "é", " ", "Device", "CPU", "Average:", ":", "0.0", "{", "|@@ 4",
        ]), 0_usize..9), 1..14),
    ) {
        let mut files: Vec<PathBuf> = ["", "old"].iter().flat_map(|folder| std::fs::read_dir(fixture(folder)).expect("fixtures").flatten())
            .map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        files.sort();
        let path = &files[which.index(files.len())];
        let mut text = String::from_utf8_lossy(&std::fs::read(path).expect("a fixture")).into_owned();
        for (at, new, skip) in changes {
            let mut at = at.index(text.len().max(1));
            while !text.is_char_boundary(at) { at -= 1; }
            let mut end = (at + skip).min(text.len());
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(at..end, new);
        }
        if let Ok(import) = of_text("input", &text, &options()) {
            // Times of a thing only grow.
            let mut last = BTreeMap::new();
            for row in import.rows::<Disk>() {
                let before = last.insert(row.device.clone(), row.t_ns);
                prop_assert!(before.is_none_or(|before| before < row.t_ns), "{}", row.device);
            }
        }
    }
}

#[test]
fn pools_have_rates_and_parts() {
    let text = "               capacity     operations    bandwidth\npool        alloc   free   read  write   read  write\n\
        ----------  -----  -----  -----  -----  -----  -----\ntank        2.14M   248M     22    389  90.1K  2.62M\n\
        tank        2.14M   248M    100   1.5K   4.0K  1.00M\n";
    let import = of_text("zpool_iostat.out", text, &options()).expect("it is good");
    assert_eq!(
        disks(&import),
        [
            "  tank 1 s: r/s 100.00, w/s 1536.00, all/s ?, rkB/s 4.00, wkB/s 1024.00, all kB/s ?, r ms/s ?, w ms/s ?, queue ?, %util ?"
        ]
    );
    assert!(
        import
            .rows::<Figure>()
            .iter()
            .any(|row| &*row.name == "capacity free" && row.value == Some(248.0 * 1_048_576.0))
    );
}

/// As sadf of sysstat 12 writes it, cut to some parts.
const SADF: &str = r#"{"sysstat": {"hosts": [{
  "nodename": "db7", "sysname": "Linux", "release": "6.18.44", "machine": "x86_64", "number-of-cpus": 2,
  "file-date": "2026-11-20", "file-utc-time": "10:27:19", "timezone": "UTC",
  "statistics": [
    {"timestamp": {"date": "2026-11-20", "time": "10:27:20", "utc": 1, "interval": 1},
     "cpu-load": [{"cpu": "all", "user": 35.00, "nice": 0.00, "system": 55.00, "iowait": 1.00, "steal": 0.00, "idle": 9.00}],
     "process-and-context-switch": {"proc": 12.00, "cswch": 1567.00},
     "interrupts": [{"intr": "sum", "value": 928.00}],
     "queue": {"runq-sz": 3, "plist-sz": 131, "ldavg-1": 3.36, "ldavg-5": 1.09, "ldavg-15": 0.38, "blocked": 0},
     "disk": [{"disk-device": "vda", "tps": 154.00, "rkB": 36984.00, "wkB": 33712.00, "dkB": 56.00, "areq-sz": 459.43, "aqu-sz": 0.48, "await": 3.12, "util": 4.40}],
     "network": {"net-dev": [{"iface": "eth0", "rxpck": 17.00, "txpck": 16.00, "rxkB": 187.64, "txkB": 1.21, "ifutil-percent": 0.00}],
                 "net-edev": [{"iface": "eth0", "rxerr": 0.00, "txerr": 0.00, "coll": 0.00, "rxdrop": 3.00, "txdrop": 0.00}]},
     "psi": {"psi-cpu": {"some_avg10": 61.45, "some_avg60": 46.12, "some_avg300": 13.80, "some_avg": 21.08}}},
    {"timestamp": {"date": "2026-11-20", "time": "10:27:21", "utc": 1, "interval": 1},
     "cpu-load": [{"cpu": "all", "user": 40.00, "nice": 0.00, "system": 58.00, "iowait": 0.00, "steal": 0.00, "idle": 2.00}],
     "disk": [{"disk-device": "vda", "tps": 233.00, "rkB": 1164.00, "wkB": 1840.00, "dkB": 932.00, "areq-sz": 16.89, "aqu-sz": 0.03, "await": 0.12, "util": 2.40}]}
  ]}]}}
"#;

#[test]
fn sadf_gives_all_its_parts() {
    let import = of_text("sa20.json", SADF, &ImportOptions::default()).expect("it is good");
    let all = [cpus(&import), disks(&import), links(&import), machine(&import)].concat().join("\n");
    insta::assert_snapshot!(all);
    let system = import.rows::<System>();
    assert_eq!(system.last().map(|row| (row.runnable, row.load_1m)), Some((Some(3), Some(3.36))));
    let cut = of_text("sa20.json", &SADF[..SADF.len() / 2], &ImportOptions::default()).map(|import| import.format);
    let error = cut.expect_err("it is cut off").to_string();
    assert!(error.contains("sa20.json:1") && error.contains("cut off"), "{error}");
}

#[test]
fn sadf_prints_a_figure_under_two_names_and_it_is_one() {
    let tps = |tps: u32| {
        let both = SADF.replace(r#""aqu-sz": 0.48"#, r#""avgqu-sz": 8.00, "aqu-sz": 8.00"#);
        let both =
            both.replace(r#""tps": 154.00"#, &format!(r#""tps": {tps}.00"#)).replace(r#""util""#, r#""util-percent""#);
        let import = of_text("sa20.json", &both, &ImportOptions::default()).expect("it is good");
        let rows = import.rows::<Disk>();
        let grown = |of: fn(&Disk) -> Option<i64>| of(&rows[1]).zip(of(&rows[0])).map(|(after, before)| after - before);
        (grown(|row| row.weighted_ticks_ms), grown(|row| row.io_ticks_ms))
    };
    for rate in [999, 1001, 4000] {
        assert_eq!(tps(rate), (Some(8000), Some(44)), "{rate}/s: eight in the queue for a second");
    }
}

#[test]
fn a_queue_that_was_printed_holds_where_times_and_rates_say_less() {
    // 100/s of 3 ms each are 0.3 in the queue; 0.99 was printed: what is still in flight is in it as well.
    let queue = |printed: &str| {
        let text = SADF.replace(r#""tps": 154.00"#, r#""tps": 100.00"#).replace(r#""await": 3.12"#, r#""await": 3.04"#);
        let import = of_text("sa20.json", &text.replace(r#""aqu-sz": 0.48"#, printed), &ImportOptions::default());
        let rows = import.expect("it is good").rows::<Disk>();
        rows[1].weighted_ticks_ms.zip(rows[0].weighted_ticks_ms).map(|(after, before)| after - before)
    };
    assert_eq!(queue(r#""aqu-sz": 0.99"#), Some(990));
    assert_eq!(queue(r#""aqu-sz": 0.30"#), Some(304), "the same with one more digit");
}

/// Of each row of an interface: bad packets received and sent, dropped on receiving and before sending.
fn link_errors(import: &Import) -> Vec<[Option<i64>; 4]> {
    let of = |row: &Net| [row.rx_errors, row.tx_errors, row.rx_drops, row.tx_drops];
    let rows: Vec<[Option<i64>; 4]> = import.rows::<Net>().iter().map(of).collect();
    rows.windows(2).map(|pair| [0, 1, 2, 3].map(|at| Some(pair[1][at]? - pair[0][at]?))).collect()
}

#[test]
fn errors_and_drops_of_links_as_sar_tells_them_are_those_of_the_table() {
    let bytes = "IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil";
    let errors = "IFACE   rxerr/s   txerr/s    coll/s  rxdrop/s  txdrop/s  txcarr/s  rxfram/s  rxfifo/s  txfifo/s";
    let of = |[first, second]: [&str; 2], sections: &[(&str, &str)]| {
        let mut text = "Linux 6.1.0 (db7) \t11/20/26 \t_x86_64_\t(2 CPU)\n".to_string();
        for (heading, figures) in sections {
            text += &format!("\n{first}        {heading}\n{second}         eth0 {figures}\n");
        }
        text
    };
    let (went, wrong) =
        ("100.00 90.00 1000.00 900.00 0.00 0.00 0.00 0.80", "50.00 7.00 2.00 500.00 80.00 1.00 0.00 0.00 0.00");
    let both = [(bytes, went), (errors, wrong)];
    let (one, two) = (["10:00:00", "10:00:01"], ["10:00:01", "10:00:02"]);
    for both in [both, [both[1], both[0]]] {
        let import = of_text("sar.txt", &(of(one, &both) + &of(two, &both)), &options()).expect("it is good");
        assert_eq!(link_errors(&import), [[Some(50), Some(7), Some(500), Some(80)]; 2]);
        assert!(links(&import).iter().all(|row| row.contains("rKB/s 1000.00, wKB/s 900.00")), "{:?}", links(&import));
        assert!(!import.rows::<Figure>().iter().any(|row| &*row.name == "rxerr/s"), "it is in one place");
    }
    // Nothing says how much went over the link: there is no row that would say that it was nothing.
    let alone = of_text("sar.txt", &(of(one, &both[1..]) + &of(two, &both[1..])), &options()).expect("it is good");
    assert_eq!(alone.rows::<Net>(), []);
    let figures = alone.rows::<Figure>();
    let dropped = figures.iter().filter(|row| &*row.name == "rxdrop/s" && row.value == Some(500.0));
    assert_eq!(dropped.count(), 2);

    let sadf = SADF.replace("\"rxerr\": 0.00, \"txerr\": 0.00", "\"rxerr\": 4.00, \"txerr\": 2.00");
    let import = of_text("sa20.json", &sadf, &ImportOptions::default()).expect("it is good");
    assert_eq!(link_errors(&import), [[Some(4), Some(2), Some(3), Some(0)]]);
}

/// With the end of summer time in Berlin, 2026-10-25 01:00 UTC.
fn berlin() -> LocalZone {
    let mut block = b"TZif2".to_vec();
    block.extend([0; 15]);
    [0_u32, 0, 0, 0, 1, 4].iter().for_each(|count| block.extend(count.to_be_bytes()));
    block.extend([0, 0, 0, 0, 0, 0]);
    block.extend(b"UTC\0");
    let mut bytes = block.repeat(2);
    bytes.extend(b"\nCET-1CEST,M3.5.0,M10.5.0/3\n");
    LocalZone::parse(&bytes).expect("a zone")
}

#[test]
fn times_of_a_zone() {
    let zone = |zone: LocalZone| ImportOptions { zone: Some(zone), ..ImportOptions::default() };
    // Times of the rows, as UTC.
    let times = |name: &str, text: &str, options: &ImportOptions| -> Vec<String> {
        let import = of_text(name, text, options).expect("it is good");
        assert!(!import.notes.iter().any(|note| note.contains("went back")), "{:?}", import.notes);
        let origin_ns = import.reader.manifest().started_wall_ns;
        let rows = import.rows::<Disk>();
        let mut found: Vec<i64> = rows.iter().map(|row| row.t_ns + origin_ns).collect();
        found.dedup();
        found.into_iter().map(|at| quantity::text::format_wall(at)[..19].to_string()).collect()
    };
    // Of day, over the hour that comes twice.
    let heading = "DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util";
    let mut sar = format!("Linux 6.18.44 (db7) \t10/25/26 \t_x86_64_\t(2 CPU)\n\n02:20:00 {heading}\n");
    for time in ["02:40:00", "02:00:00", "02:20:00", "02:40:00", "03:00:00"] {
        let _ = writeln!(
            sar,
            "{time}          vda    154.00  36984.00  33712.00     56.00    459.43      0.48      3.12      4.40"
        );
    }
    let utc = |hours: &[&str]| -> Vec<String> { hours.iter().map(|hour| format!("2026-10-25 {hour}:00")).collect() };
    assert_eq!(times("sar.txt", &sar, &zone(berlin())), utc(&["00:20", "00:40", "01:00", "01:20", "01:40", "02:00"]));
    // Date and time; a distance from UTC in the file wins over the option.
    let iostat = |stamps: [&str; 3]| {
        let figures =
            "Device tps kB_read/s kB_wrtn/s kB_dscd/s kB_read kB_wrtn kB_dscd\nvda 1.00 2.00 3.00 0.00 4 5 0\n";
        let mut text = "Linux 6.18.44 (db7) \t10/25/26 \t_x86_64_\t(2 CPU)\n\n".to_string();
        stamps.iter().for_each(|stamp| text.push_str(&format!("{stamp}\n{figures}\n")));
        text
    };
    let local = iostat(["10/25/26 02:30:00", "10/25/26 02:00:00", "10/25/26 03:00:00"]);
    assert_eq!(times("io.txt", &local, &zone(berlin()))[1..], utc(&["01:00", "02:00"]));
    assert_eq!(times("io.txt", &local, &zone(LocalZone::fixed(7200)))[1..], utc(&["01:00"]), "there it goes back");
    let with_offset = iostat(["2026-10-25T04:00:00+0200", "2026-10-25T04:30:00+0200", "2026-10-25T04:00:00+0100"]);
    let expect = utc(&["02:00", "02:30", "03:00"]);
    assert_eq!(times("io.txt", &with_offset, &zone(LocalZone::fixed(-18_000)))[..], expect[..]);
    assert_eq!(times("io.txt", &with_offset, &ImportOptions::default())[..], expect[..]);
    let begin = quantity::text::wall_ns_of((2026, 10, 25), (2, 0, 0));
    let options = ImportOptions { start_ns: begin, ..zone(LocalZone::fixed(7200)) };
    let import = of_text("vmstat.txt", VMSTAT, &options).expect("it is good");
    assert_eq!(
        import.rows::<System>()[0].t_ns + import.reader.manifest().started_wall_ns,
        begin.expect("a moment") - 7_200_000_000_000
    );
}

#[test]
fn messages_of_a_zone() {
    let events = |text: &str, options: &ImportOptions| -> Vec<String> {
        let import = of_text("messages", text, options).expect("it is good");
        let origin_ns = import.reader.manifest().started_wall_ns;
        let rows = import.rows::<Event>().into_iter().filter(|row| row.kind == EventKind::Kernel);
        rows.map(|row| quantity::text::format_wall(row.t_ns + origin_ns)[11..19].to_string()).collect()
    };
    let options = |zone: LocalZone| ImportOptions { zone: Some(zone), ..options() };
    let yearless =
        "Oct 25 02:59:00 db7 kernel: one\nOct 25 02:01:00 db7 kernel: two\nOct 25 03:00:00 db7 kernel: three\n";
    assert_eq!(events(yearless, &options(berlin())), ["00:59:00", "01:01:00", "02:00:00"]);
    let dated = "2026-10-25T02:59:00 db7 kernel: one\n2026-10-25T02:01:00 db7 kernel: two\n2026-10-25T09:00:00Z db7 kernel: three\n";
    assert_eq!(events(dated, &options(berlin())), ["00:59:00", "01:01:00", "09:00:00"]);
    // One digit may be a distance that is cut off.
    let odd = "2026-10-25T10:00:00+01:00 db7 kernel: one\n2026-10-25T10:00:00+1 db7 kernel: two\n";
    assert_eq!(events(odd, &options(berlin())), ["09:00:00"]);
}

/// What sar of this machine printed on this day, the banner included.
fn sar_of(host: &str, day: u32, tps: &str) -> String {
    let heading = "DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util";
    let mut text = format!("Linux 6.18.44 ({host}) \t11/{day}/26 \t_x86_64_\t(2 CPU)\n\n10:00:00 {heading}\n");
    for second in 1..3 {
        let _ = writeln!(text, "10:00:{second:02} sda {tps} 8.00 0.00 0.00 8.00 0.01 0.10 0.50");
    }
    text
}

#[test]
fn files_of_two_machines_are_not_read_as_one() {
    // Of one day and of two; files, one file, JSON, and a central log.
    let folder = tempfile::tempdir().expect("a folder");
    for day in [20, 21] {
        std::fs::write(folder.path().join("sar.1"), sar_of("h01", 20, "100.00")).expect("written");
        std::fs::write(folder.path().join("sar.2"), sar_of("h02", day, "900.00")).expect("written");
        let error = Import::of(folder.path()).map(|_| ()).expect_err("they are two").to_string();
        assert!(error.ends_with("(h01 in sar.1, h02 in sar.2): --host NAME imports one of them"), "{error}");
    }
    let of = |host: &str| ImportOptions { host: Some(host.to_string()), ..options() };
    let import = Import::with(folder.path(), &of("h02")).expect("it is good");
    assert_eq!(import.reader.manifest().host, "h02");
    assert!(disks(&import).iter().all(|line| line.contains("all/s 900.00")), "{:?}", disks(&import));
    assert!(
        import.notes.iter().any(|note| note.ends_with("files of other machines left out: 1")),
        "{:?}",
        import.notes
    );
    let error = Import::with(folder.path(), &of("h03")).map(|_| ()).expect_err("there is none").to_string();
    assert!(error.contains("nothing in it is of the machine h03; there is h01 in sar.1"), "{error}");
    let one = sar_of("h01", 20, "100.00") + &sar_of("h02.example.com", 20, "900.00") + &sar_of("h02", 21, "900.00");
    let error = of_text("sar.txt", &one, &options()).map(|_| ()).expect_err("they are two").to_string();
    assert!(error.contains("h01 in sar.txt, h02.example.com in sar.txt)"), "{error}");
    let import = of_text("sar.txt", &one, &of("h01")).expect("it is good");
    assert_eq!(disks(&import).len(), 2, "{:?}", disks(&import));
    assert!(disks(&import).iter().all(|line| line.contains("all/s 100.00")), "{:?}", disks(&import));
    let hosts = SADF.replace("{\"hosts\": [", "").replace("\n  ]}]}}", "");
    let (_, host) = hosts.split_once("{\"sysstat\": ").expect("a host");
    let host = format!("{host}\n]}}");
    let json = format!("{{\"sysstat\": {{\"hosts\": [{host}, {}]}}}}", host.replace("\"db7\"", "\"db8\""));
    let error = of_text("sa.json", &json, &options()).map(|_| ()).expect_err("they are two").to_string();
    assert!(error.contains("(db7 in sa.json, db8 in sa.json)"), "{error}");
    assert_eq!(of_text("sa.json", &json, &of("db8")).expect("it is good").reader.manifest().host, "db8");
    let log = "Nov 20 10:00:00 localhost kernel: early\nNov 20 10:00:01 h01 kernel: sda: one\nNov 20 10:00:02 h02 kernel: sda: two\n\
        Nov 20 10:00:03 h02 last message repeated 3 times\n";
    let error = of_text("messages", log, &options()).map(|_| ()).expect_err("they are two").to_string();
    assert!(error.contains("(h01 in messages, h02 in messages)"), "{error}");
    let import = of_text("messages", log, &of("h01")).expect("it is good");
    let messages = import.rows::<Event>().into_iter().filter(|row| row.kind == EventKind::Kernel);
    assert!(
        messages
            .map(|row| (row.message, row.count))
            .eq([("kernel: early".to_string(), 1), ("kernel: sda: one".to_string(), 1)])
    );
}

#[test]
fn the_queue_that_iostat_printed_is_the_one_that_is_shown() {
    let of = |headings: &str, rows: [&str; 2]| {
        let mut text = "Linux 3.10.0-1160.el7.x86_64 (db7) \t11/20/2026 \t_x86_64_\t(2 CPU)\n\n".to_string();
        for row in [rows[0], rows[0], rows[1]] {
            let _ = writeln!(text, "Device: {headings}\nsdb {row}\n");
        }
        let shown = disks(&of_text("iostat.txt", &text, &options()).expect("it is good"));
        let queue = |line: &String| line.split(", ").find_map(|part| part.strip_prefix("queue ").map(String::from));
        shown.iter().filter_map(queue).collect::<Vec<String>>()
    };
    let el7 = "rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util";
    let rows = [
        "0.00 0.00 0.00 200000.00 0.00 800000.00 8.00 3.10 0.02 0.00 0.02 0.00 99.00",
        "0.00 0.00 0.00 200000.00 0.00 800000.00 8.00 0.90 0.00 0.00 0.00 0.00 99.00",
    ];
    assert_eq!(of(el7, rows), ["3.10", "0.90"]);
    // Where the time of a request is of all kinds together, the queue below 1,000 per second is made of it, which has the finer digits.
    let el5 = "rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util";
    let rows = [
        "0.00 0.00 0.00 200000.00 0.00 1600000.00 8.00 3.10 0.02 0.00 99.00",
        "0.00 0.00 0.00 10.00 0.00 80.00 8.00 0.00 0.40 0.40 0.40",
    ];
    assert_eq!(of(el5, rows), ["3.10", "0.00"]);
}

#[test]
fn iostats_old_line_of_time_is_when_its_samples_were() {
    for stamps in [["10:00:00 AM", "10:00:10 AM", "10:00:20 AM"], ["10:00:00", "10:00:10", "10:00:20"]] {
        let mut text = "Linux 2.6.18-398.el5 (db7) \t11/20/2026\n\n".to_string();
        for stamp in stamps {
            let _ = writeln!(
                text,
                "Time: {stamp}\nDevice:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn\nsda              100.00         0.00       800.00          0       8000\n"
            );
        }
        let import = of_text("iostat.txt", &text, &ImportOptions::default()).expect("it is good");
        assert_eq!(import.rows::<Disk>().iter().filter_map(|row| row.any_ios).max(), Some(2000), "{:?}", import.notes);
        let rows = import.rows::<Disk>();
        assert_eq!((rows.len(), rows[2].t_ns - rows[1].t_ns), (3, 10_000_000_000));
        assert_eq!(
            Some(rows[0].t_ns + import.reader.manifest().started_wall_ns),
            quantity::text::wall_ns_of((2026, 11, 20), (10, 0, 0))
        );
        assert!(!import.notes.iter().any(|note| note.contains("left out: ")), "{:?}", import.notes);
    }
}

#[test]
fn sars_first_interval_after_a_restart_begins_at_its_heading() {
    let disk = "DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util";
    let cpu = "CPU     %user     %nice   %system   %iowait    %steal     %idle";
    let text = format!(
        "Linux 6.18.44 (db7) \t11/20/2026 \t_x86_64_\t(1 CPU)\n\n\
        11:50:00 PM {cpu}\n11:55:00 PM all 1.00 0.00 2.00 0.00 0.00 97.00\n\n\
        11:50:00 PM {disk}\n11:55:00 PM vda 10.00 0.00 40.00 0.00 4.00 0.00 0.10 0.10\n\n\
        12:05:00 AM  LINUX RESTART\t(1 CPU)\n\n\
        12:10:00 AM {cpu}\n12:15:00 AM all 50.00 0.00 2.00 0.00 0.00 48.00\n\n\
        12:10:00 AM {disk}\n12:15:00 AM vda 77.00 0.00 308.00 0.00 4.00 0.00 0.10 0.10\n"
    );
    let import = of_text("sar.txt", &text, &ImportOptions::default()).expect("it is good");
    let all = |line: &String| line.split(", r").next().unwrap_or_default().to_string();
    let shown: Vec<String> = disks(&import).iter().map(all).collect();
    assert_eq!(
        shown,
        [
            "  vda 300 s: r/s ?, w/s ?, all/s 10.00",
            "  vda 900 s: r/s ?, w/s ?, all/s anew",
            "  vda 300 s: r/s ?, w/s ?, all/s 77.00"
        ]
    );
    let rows = import.rows::<Disk>();
    assert_eq!(rows[3].any_ios.zip(rows[2].any_ios).map(|(now, was)| now - was), Some(23_100));
    let shown: Vec<String> =
        cpus(&import).iter().map(|line| line.split(", s").next().unwrap_or_default().into()).collect();
    assert_eq!(shown, ["  all 300 s: user 1.00", "  all 900 s: user anew", "  all 300 s: user 50.00"]);
}

#[test]
fn figures_of_vmstat_below_0_are_not_known() {
    let text = VMSTAT.replace(" 927 1567 ", " 927 -1 ").replace("3  0      0 19826056", "3  0      0 -1000");
    let import = of_text("vmstat.txt", &text, &options()).expect("it is good");
    let shown = machine(&import);
    assert!(shown[0].contains("cs anew, in 927.00"), "{shown:?}");
    assert!(shown[1].contains("cs 3388.00, in 1641.00"), "{shown:?}");
    let free: Vec<Option<i64>> = import.rows::<Memory>().iter().map(|row| row.free_bytes).collect();
    assert_eq!(free, [Some(19_826_056 << 10), None, Some(19_826_056 << 10)]);
}
