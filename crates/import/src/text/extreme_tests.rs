//! Extreme figures in all texts: small printers, made after what the source of each tool says of its digits, print numbers
//! of any size; what is read must be those numbers, within the last digit that was printed, and no row less.

mod others;
mod printers;

use super::FORMATS;
use super::parsed_file::ParsedFile;
use crate::source::Lines;
use crate::{ImportOptions, import};
use printers::{BANNER, printed};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use recording::Reader;
use recording::rows::{Cpu, Net};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Where digits change, columns overflow, and counters end.
const EXTREMES: [f64; 20] = [
    0.0,
    0.004999,
    0.005,
    9.9995,
    9.995,
    99.995,
    99.95,
    100.0,
    999.95,
    9_999.95,
    10_000.0,
    23_456.0,
    99_999.5,
    100_000.0,
    1e6,
    1_048_576.0,
    1e9,
    1e12,
    9.2e18,
    1.8e19,
];
/// What tools print where there is no number.
const NONE: [&str; 5] = ["nan", "-nan", "inf", "-inf", "-1.00"];

/// What a tool has to print.
#[derive(Clone, Debug)]
enum Known {
    Value(f64),
    None(&'static str),
}

fn known() -> impl Strategy<Value = Known> {
    prop_oneof![
        5 => prop::sample::select(EXTREMES.to_vec()).prop_map(Known::Value),
        4 => (-3.0_f64..19.2).prop_map(|power| Known::Value(10_f64.powf(power))),
        1 => prop::sample::select(NONE.to_vec()).prop_map(Known::None),
    ]
}

/// A printed field: its text, and the number that it stands for with the half of its last digit.
type Field = (String, Expected);
/// The number and the half of its last digit; `None` where there is none.
type Expected = Option<(f64, f64)>;

impl Known {
    fn value(&self) -> f64 {
        if let Self::Value(value) = self { *value } else { 0.0 }
    }

    /// `%.2f`.
    fn fixed(&self, digits: usize) -> Field {
        match self {
            Self::Value(value) => {
                let digit = 0.5 * 10_f64.powi(-i32::try_from(digits).expect("few"));
                (format!("{value:.digits$}"), Some((*value, digit)))
            }
            Self::None(word) => ((*word).to_string(), None),
        }
    }

    /// `%llu`, which has a number for everything.
    fn whole(&self) -> Field {
        let value = self.value().round();
        (format!("{value:.0}"), Some((value, 0.0)))
    }

    /// nicstat: four digits with -p, and about as many without.
    fn nicstat(&self, is_parseable: bool) -> Field {
        let digits = match (is_parseable, self.value()) {
            (true, value) if value < 10.0 => 3,
            (true, value) if value < 100.0 => 2,
            (true, value) if value < 10_000.0 => 1,
            (false, value) if value < 100.0 => 2,
            (false, value) if value < 100_000.0 => 1,
            _ => 0,
        };
        self.fixed(digits)
    }

    /// nicstat's shares and errors.
    fn small(&self) -> Field {
        let value = self.value();
        self.fixed(if value < 10.0 { 2 } else { usize::from(value < 100.0) })
    }

    /// sysstat's -h: one decimal, and a letter for a power of 1024; `unit` is the letter of the heading.
    fn human(&self, unit: usize) -> Field {
        const LETTERS: [char; 7] = ['B', 'k', 'M', 'G', 'T', 'P', '?'];
        let (mut value, mut letter, mut scale) = (self.value(), unit, 1.0);
        while value >= 1024.0 && letter + 1 < LETTERS.len() {
            (value, letter, scale) = (value / 1024.0, letter + 1, scale * 1024.0);
        }
        (format!("{value:.1}{}", LETTERS[letter]), Some((self.value(), 0.05 * scale)))
    }

    fn percent(&self) -> Field {
        let (text, expect) = Self::Value(self.value()).fixed(1);
        (format!("{text}%"), expect)
    }

    /// zpool: five letters at most, powers of 1024.
    fn zpool(&self) -> Field {
        const LETTERS: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];
        let whole = self.value().round();
        let (mut value, mut letter, mut scale) = (whole, 0, 1.0);
        while value >= 1024.0 && letter + 1 < LETTERS.len() {
            (value, letter, scale) = (value / 1024.0, letter + 1, scale * 1024.0);
        }
        for digits in [2_usize, 1, 0] {
            let digits = if letter == 0 { 0 } else { digits };
            let text = format!("{value:.digits$}{}", LETTERS[letter]);
            if text.len() <= 5 || digits == 0 {
                let digit = 0.5 * 10_f64.powi(-i32::try_from(digits).expect("few"));
                return (text, Some((whole, digit * scale)));
            }
        }
        unreachable!("no digits always fit")
    }
}

/// Rows that a tool printed: of what, and the fields by heading.
type Rows = Vec<(String, Vec<(String, Field)>)>;

/// Where printers take their numbers and names from, again and again.
struct Source {
    known: Vec<Known>,
    names: Vec<&'static str>,
    next: usize,
    rows: Rows,
}

impl Source {
    fn next(&mut self) -> &Known {
        self.next += 1;
        &self.known[self.next % self.known.len()]
    }

    /// One row: the fields' texts, which are kept as what must be read.
    fn row(&mut self, thing: &str, columns: &[&str], print: impl Fn(&str, &Known) -> Field) -> Vec<String> {
        let fields: Vec<Field> = columns.iter().map(|column| print(column, self.next())).collect();
        let texts = fields.iter().map(|field| field.0.clone()).collect();
        let named = columns.iter().map(|column| (*column).to_string()).zip(fields).collect();
        self.rows.push((thing.to_string(), named));
        texts
    }

    /// Names of this sample's things, each once.
    fn things(&self) -> Vec<&'static str> {
        self.names.clone()
    }
}

/// How many printers there are.
const PRINTERS: usize = 25 + others::COUNT;

fn padded(texts: &[String], width: usize) -> String {
    texts.iter().map(|text| format!(" {text:>width$}")).collect()
}

/// What is read of a text, by thing and heading, in the order of time.
fn read(format: &str, text: &str) -> Result<BTreeMap<(String, String), Vec<f64>>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("input");
    std::fs::write(&path, text).expect("written");
    let format = FORMATS.iter().find(|known| known.name == format).expect("a format");
    // A table is never chosen by itself.
    assert!(format.name == "table" || (format.sniff)(text), "{} is not known by its look:\n{text}", format.name);
    let mut parsed = ParsedFile::new(format.name);
    let mut lines = Lines::open(&path).expect("it opens");
    (format.read)(&mut lines, &mut parsed).map_err(|error| error.to_string())?;
    if !parsed.tallies.is_empty() {
        return Err(format!("{:?}", parsed.tallies));
    }
    let mut found: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for section in &parsed.sections {
        for (thing, series) in &section.series {
            for row in series.cells.chunks(section.columns.len()) {
                for (column, value) in section.columns.iter().zip(row) {
                    found.entry((thing.clone(), column.name.clone())).or_default().push(*value);
                }
            }
        }
    }
    Ok(found)
}

fn names() -> impl Strategy<Value = Vec<&'static str>> {
    let all = vec![
        "sda",
        "eth0",
        "eth0:1",
        "lo",
        "dm-0",
        "br-0a1b2c3d4e5f",
        "mpatha-part1-of-a-volume-with-a-long-name",
        "enp0s31f6.100",
        "host:/export/home",
        "c0t60A9800043346532344A2F69432F6A4Ad0",
        "veth@if7",
        "100",
    ];
    prop::sample::subsequence(all, 1..5)
}

/// What a printer prints is read as it was printed, all of it and nothing else.
fn check(which: usize, known: Vec<Known>, names: Vec<&'static str>, is_blank: bool) -> Result<(), TestCaseError> {
    // Names of file systems may hold blanks; interfaces have no colons but in aliases.
    let names = match which {
        11 | 12 if is_blank => vec!["/mnt/a b", "/mnt/4 disks 7", "//server/a share"],
        0..=2 => names.into_iter().filter(|name| !name.contains(":/")).chain(["ib0"]).collect(),
        _ => names,
    };
    let mut source = Source { known, names, next: 0, rows: Vec::new() };
    let (format, text) = printed(which, &mut source).expect("a printer");
    let found = read(format, &text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
    let mut expect: BTreeMap<(String, String), Vec<Expected>> = BTreeMap::new();
    for (thing, fields) in source.rows {
        for (column, (_, value)) in fields {
            expect.entry((thing.clone(), column)).or_default().push(value);
        }
    }
    for (key, values) in &expect {
        let read = found.get(key).cloned().unwrap_or_default();
        prop_assert_eq!(read.len(), values.len(), "{:?}\n{}", key, text);
        for (read, value) in read.iter().zip(values) {
            match value {
                Some((value, digit)) => prop_assert!(
                    (read - value).abs() <= digit * 1.000_001 + value.abs() * 1e-12,
                    "{:?}: {} for {}\n{}",
                    key,
                    read,
                    value,
                    text
                ),
                None => prop_assert!(read.is_nan(), "{:?}: {}\n{}", key, read, text),
            }
        }
    }
    // Solaris' row of all CPUs is made here.
    let others: Vec<_> = found.keys().filter(|key| !expect.contains_key(*key) && key.0 != "all").collect();
    prop_assert!(others.is_empty(), "{:?}\n{}", others, text);
    Ok(())
}

#[test]
fn figures_of_any_size_are_read_as_they_were_printed() {
    let failures: Vec<String> = (0..PRINTERS)
        .filter_map(|which| {
            let mut runner =
                TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) });
            let input = (prop::collection::vec(known(), 3..40), names(), any::<bool>());
            let result = runner.run(&input, |(known, names, is_blank)| check(which, known, names, is_blank));
            result.err().map(|error| format!("printer {which}: {error}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn every_printer_is_among_the_printers() {
    let source = || Source { known: vec![Known::Value(1.0)], names: vec!["sda"], next: 0, rows: Vec::new() };
    assert!((0..PRINTERS).all(|which| printed(which, &mut source()).is_some()));
    assert!(printed(PRINTERS, &mut source()).is_none());
}

#[test]
fn a_line_that_begins_like_a_row_is_an_error_and_never_left_out() {
    let p = "1795170446:eth0:1.000:2.000:3.000:4.000:0.00:0.00\n";
    let vmstat = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n \
        1  0      0 198260  53064 442120    0    0  1938  2007  272  541  9  4 87  0  0\n";
    let iostat = format!("{BANNER}\nDevice tps kB_read/s kB_wrtn/s\nvda 1.00 2.00 3.00\n");
    let zpool = "               capacity     operations    bandwidth\npool        alloc   free   read  write   read  write\n\
        tank        2.14M   248M     22    389  90.1K  2.62M\n";
    let oracle = "Top 5 Timed Events\n------ ------\nCPU time 65,674 39.9\n";
    for (format, text, line, number) in [
        ("nicstat", p, "1795170447:eth0:1.000:2.000:3x:4.000:0.00:0.00", 2),
        ("nicstat", p, "1795170447:eth0:1.000:2.000:3.000", 2),
        ("nicstat", p, "1795170447:eth0:1:2:1.000:2.000:3.000:4.000:0.00:0.00", 2),
        ("nicstat", p, "1795170447:eth0", 2),
        ("vmstat", vmstat, " 1  0  many words instead", 3),
        ("iostat", &iostat, "vdb 1.00 2.00 a word and another", 5),
        ("zpool-iostat", zpool, "tank 2.14M 248M and so on and on", 4),
        ("oracle", oracle, "log file sync 97,555 1,234 12", 4),
        ("rfileio", "Read IOPS, top 20 (count)\n", "/a/b   logical  many", 2),
    ] {
        let error = read(format, &format!("{text}{line}\n")).map(|_| ()).expect_err(line);
        assert!(error.contains(&format!(":{number}: ")), "{line}: {error}");
    }
    let cut = read("nicstat", &format!("{p}1795170447:eth0:1.0")).expect("the last line may be cut off");
    assert_eq!(cut[&("eth0".to_string(), "rKB/s".to_string())], [1.0]);
}

/// Imports a text; gives its notes beside the recording.
fn imported(name: &str, text: &str) -> (tempfile::TempDir, Reader, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    let imported = import(&path, &folder.path().join("r"), &ImportOptions::default(), &[]).expect("it is good");
    let reader = Reader::open(&imported.directory).expect("a recording");
    (folder, reader, imported.notes)
}

#[test]
fn nicstat_p_of_a_busy_link_gives_all_that_was_sent() {
    // 200 MB in five seconds, as nicstat printed it: no figure of a busy second has a point.
    let mut text = "1795170440:lo:0.010:0.010:0.050:0.050:0.00:0.00\n".to_string();
    for (at, kib) in (1_795_170_441..).zip(["39062", "39063", "39062", "39063", "39062", "0.410"]) {
        let _ = writeln!(text, "{at}:lo:{kib}:{kib}:12207:12207:100:0.00");
    }
    let (_folder, reader, _) = imported("nicstat.txt", &text);
    let rows: Vec<Net> = reader.table().expect("rows");
    let sent = rows.last().expect("rows").tx_bytes - rows.first().expect("rows").tx_bytes;
    assert!((sent - 200_000_000).abs() < 4_000, "{sent} bytes");
    assert_eq!(rows.len(), 7);
}

#[test]
fn a_day_of_a_hundred_busy_cpus_is_counted_to_its_end() {
    let mut text = "Linux 6.18.44 (db7) \t11/20/26 \t_x86_64_\t(128 CPU)\n\n00:00:00 CPU %usr %sys %idle\n".to_string();
    for hour in 1..24 {
        let _ = writeln!(text, "{hour:02}:00:00 all 99.00 1.00 0.00");
    }
    let (_folder, reader, notes) = imported("sar.txt", &text);
    let rows: Vec<Cpu> = reader.table().expect("rows");
    let grown: Vec<i64> = rows.windows(2).map(|pair| pair[1].user_ns - pair[0].user_ns).collect();
    assert_eq!(grown, [128 * 3_600 * 990_000_000; 23]);
    assert!(!notes.iter().any(|note| note.contains("beyond")), "{notes:?}");
}

#[test]
fn what_is_beyond_a_table_is_said() {
    let text = "1795170440:lo:0.010:0.010:0.050:0.050:0.00:0.00\n1795170441:lo:18000000000000000000:1.000:1.000:1.000:0.00:0.00\n";
    let (_folder, _, notes) = imported("nicstat.txt", text);
    assert!(notes.iter().any(|note| note.starts_with("lo: a figure is beyond")), "{notes:?}");
}

/// What `sadf -d` says of the same file: headings with a `#`, values behind semicolons; one thing more per figure of
/// interrupts, which it has in columns as well.
#[test]
fn every_figure_of_sar_is_the_one_that_sadf_has_of_the_same_file() {
    let fixture = |name: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tools").join(name);
        std::fs::read_to_string(path).expect("a fixture")
    };
    let (plain, human) = (read("sysstat", &fixture("sar-A.txt")), read("sysstat", &fixture("sar-h.txt")));
    let (plain, human) = (plain.expect("it is good"), human.expect("it is good"));
    let (mut columns, mut expect) = (Vec::new(), BTreeMap::<(String, String), Vec<f64>>::new());
    let db = fixture("sadf-A.txt");
    for line in db.lines() {
        let fields: Vec<&str> = line.split(';').collect();
        if line.starts_with('#') {
            columns = fields[3..].to_vec();
            continue;
        }
        let keys = ["CPU", "DEV", "IFACE", "TTY", "INTR", "FILESYSTEM"];
        let is_named = keys.contains(&columns[0]);
        let thing = match (columns[0], fields[3]) {
            // What the kernel's network did on all CPUs is the machine's.
            ("CPU", "-1") if columns[1] == "total/s" => "",
            ("CPU", "-1") => "all",
            ("INTR", "-1") => "sum",
            (name, thing) if keys.contains(&name) => thing,
            (name, _) if name.starts_with("%scpu") => "cpu",
            (name, _) if name.starts_with("%sio") => "io",
            (name, _) if name.starts_with("%smem") => "memory",
            _ => "",
        };
        // Interrupts have a column for all CPUs, and one for each.
        let of_cpus = ["all", "CPU0", "CPU1"];
        let names = if columns[0] == "INTR" { &of_cpus[..] } else { &columns[usize::from(is_named)..] };
        for (column, value) in names.iter().zip(&fields[3 + usize::from(is_named)..]) {
            let value = value.parse().expect("a number");
            expect.entry((thing.to_string(), column.to_string())).or_default().push(value);
        }
    }
    assert!(expect.len() > 300, "{}", expect.len());
    let near = |a: &[f64], b: &[f64], share: f64| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 0.051 + b.abs() * share)
    };
    for (key, values) in &expect {
        assert!(plain.get(key).is_some_and(|read| near(read, values, 0.0)), "{key:?}: {:?} {values:?}", plain.get(key));
        let read = human.get(key);
        assert!(read.is_some_and(|read| near(read, values, 0.04)), "-h {key:?}: {read:?} {values:?}");
    }
    let others: Vec<_> = plain.keys().filter(|key| !expect.contains_key(*key) && key.1 != "intr/s").collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn names_behind_figures_are_whole_and_texts_are_kept() {
    let text = "10:47:25     MBfsfree  MBfsused   %fsused MOUNTPOINT\n10:47:26           13         8     37.95 /mnt/a b\n\
        10:47:25          FAN       rpm      drpm                 DEVICE\n10:47:26            1   2000.00   1200.00    it87-isa-0290\n\
        10:47:25          BUS  idvendor    idprod  maxpower manufact                product\n\
        10:47:26            1      1d6b         2         0 Linux Foundation        EHCI controller\n\
        10:47:26            1       46d      c52b        98 Logitech                USB Receiver\n\
        10:47:25          BAT      %cap   cap/min status\n10:47:26            0     84.00     -0.20 Not charging\n";
    let found = read("sysstat", text).expect("it is good");
    let of = |thing: &str, column: &str| found.get(&(thing.to_string(), column.to_string())).map(|values| values[0]);
    assert_eq!(of("/mnt/a b", "%fsused"), Some(37.95));
    assert_eq!(of("1 it87-isa-0290", "rpm"), Some(2000.0));
    assert_eq!(of("1 Logitech                USB Receiver", "maxpower"), Some(98.0), "{:?}", found.keys());
    assert_eq!(of("0", "%cap"), Some(84.0));
    assert_eq!(of("0", "cap/min"), Some(-0.2), "it is being used up");
}
