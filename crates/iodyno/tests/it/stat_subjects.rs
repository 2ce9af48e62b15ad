//! Interrupts, pools, file systems and listeners in `stat`, and the word about what a machine does not let be measured.

use crate::support::{FaultyDisk, Namespace, Scratch, wait_for_samples};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;
use testkit::{DelayedVolume, FileSystem, LoopDevice, MountedFileSystem, ScratchPlace, TestCommand, Zram};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

fn stat(arguments: &[&str]) -> TestCommand {
    TestCommand::new(IODYNO).arg("stat").args(arguments)
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key} is null in {row}"))
}

/// Vectors by name, as `stat` names them, all CPUs together.
fn vectors() -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for file in ["/proc/interrupts", "/proc/softirqs"] {
        let text = std::fs::read_to_string(file).unwrap();
        let cpus = text.lines().next().unwrap().split_whitespace().count();
        for line in text.lines().skip(1) {
            let (name, rest) = line.trim().split_once(':').unwrap();
            let words: Vec<&str> = rest.split_whitespace().collect();
            let counts: Vec<i64> = words.iter().take(cpus).filter_map(|word| word.parse().ok()).collect();
            if counts.len() < cpus {
                continue;
            }
            let is_device = name.bytes().all(|byte| byte.is_ascii_digit());
            let name = if is_device { format!("{name} {}", words.last().unwrap()) } else { name.to_string() };
            *sums.entry(name).or_default() += counts.iter().sum::<i64>();
        }
    }
    sums
}

/// A look at the kernel's own text: when it began and ended, and what it said.
struct Look(u64, u64, BTreeMap<String, i64>);

fn look() -> Look {
    let from = testkit::now_ns();
    let counts = vectors();
    Look(from, testkit::now_ns(), counts)
}

/// So long after the time of a row its counters may have been read.
const READING_NS: u64 = 50_000_000;

#[test]
#[ignore = "times: make exam"]
fn interrupts_are_those_that_the_kernel_counts() {
    testkit::while_cpus_are_ours(interrupts_of_a_second);
}

fn interrupts_of_a_second() {
    let mut looks = vec![look()];
    let watch = stat(&["irq", "--json", "--top", "100000", "1500ms", "1"]).spawn().unwrap();
    let end = testkit::now_ns() + 2_500_000_000;
    while testkit::now_ns() < end {
        looks.push(look());
        std::thread::sleep(Duration::from_millis(50));
    }
    let rows = watch.wait().unwrap().expect_code(0).ndjson();
    let to = rows[0]["t_ns"].as_u64().unwrap();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let from = to - (number(&rows[0], "interval_s") * 1e9) as u64;
    // Two looks within the interval, and two around it.
    let inner_from = looks.iter().find(|look| look.0 >= from + READING_NS).expect("a look after its beginning");
    let inner_to = looks.iter().rfind(|look| look.1 <= to).expect("a look before its end");
    let outer_from = looks.iter().rfind(|look| look.1 <= from).expect("a look before it");
    let outer_to = looks.iter().find(|look| look.0 >= to + READING_NS).expect("a look after it");
    let between = |from: &Look, to: &Look, name: &str| {
        (to.2.get(name).copied().unwrap_or(0) - from.2.get(name).copied().unwrap_or(0)) as f64
    };
    let seconds = number(&rows[0], "interval_s");
    let online = std::thread::available_parallelism().unwrap().get() as f64;
    for row in &rows {
        let name = row["name"].as_str().unwrap();
        let counted = number(row, "per_s") * seconds;
        let (least, most) = (between(inner_from, inner_to, name), between(outer_from, outer_to, name));
        assert!(counted >= least - 0.01 && counted <= most + 0.01, "{name}: {counted}, not {least} to {most}: {row}");
        assert!(["irq", "softirq"].contains(&row["kind"].as_str().unwrap()), "{row}");
        if counted > 0.0 {
            assert!(number(row, "most_percent") > 99.9 / online.max(number(row, "cpus")), "{row}");
        } else {
            assert!(row["most_cpu"].is_null(), "no CPU took most of nothing: {row}");
        }
    }
    // All that ever came is there.
    let shown: BTreeSet<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    for (name, _) in looks[0].2.iter().filter(|(_, count)| **count > 0) {
        assert!(shown.contains(name.as_str()), "{name} is missing: {shown:?}");
    }
    assert!(rows.iter().any(|row| row["kind"] == "softirq" && number(row, "per_s") > 0.0), "{rows:?}");
}

#[test]
fn interrupts_by_cpu_by_name_and_by_time() {
    let table = stat(&["irq", "-z", "300ms", "2"]).run().unwrap().expect_code(0).stdout;
    let heading = table.lines().next().unwrap();
    assert!(heading.contains("vector") && heading.ends_with("kind") && heading.contains("%there"), "{table}");
    let each = stat(&["irq", "--each", "--json", "-i", "TIMER", "300ms", "1"]).run().unwrap().expect_code(0).ndjson();
    assert!(!each.is_empty() && each.iter().all(|row| row["subject"] == "irq_cpu" && row["name"] == "TIMER"));
    let share: f64 = each.iter().map(|row| number(row, "share_percent")).sum();
    let came = each.iter().any(|row| number(row, "per_s") > 0.0);
    assert!(!came || (share - 100.0).abs() < 1e-6, "{each:?}");
    let csv = stat(&["irq", "--csv", "300ms", "1"]).run().unwrap().expect_code(0).stdout;
    let widths: BTreeSet<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(widths.len(), 1, "{csv}");
    let boot = stat(&["irq", "--since-boot", "300ms", "1"]).run().unwrap().expect_code(0).stdout;
    assert!(boot.lines().nth(1).unwrap().trim_start().starts_with("boot"), "{boot}");
    let scratch = Scratch::new();
    scratch.iodyno(&["record", "-o", "old", "--for", "4s"]).run().unwrap().expect_code(0);
    let old = scratch.iodyno(&["stat", "irq", "-r", "old", "--json"]).run().unwrap().expect_code(0).ndjson();
    assert!(old.iter().any(|row| row["per_s"].as_f64().is_some_and(|rate| rate > 0.0)), "{old:?}");
    if !testkit::require_root_or_skip() {
        return;
    }
    let timed = stat(&["irq", "--clock", "both", "--json", "1", "2"]).limit(Duration::from_secs(300)).run().unwrap();
    if timed.code == Some(8) {
        testkit::lacks("probes of interrupts");
        return;
    }
    let rows = timed.expect_code(0).ndjson();
    let online = std::thread::available_parallelism().unwrap().get() as f64;
    let times: Vec<f64> = rows.iter().filter_map(|row| row["ms_per_s"].as_f64()).collect();
    assert!(times.iter().any(|ms| *ms > 0.0), "{rows:?}");
    assert!(times.iter().all(|ms| *ms <= 1000.0 * online), "{rows:?}");
}

const ZPOOL: &str = "               capacity     operations    bandwidth\npool        alloc   free   read  write   read  write\n\
    ----------  -----  -----  -----  -----  -----  -----\ntank        2.14M   248M     22    389  90.1K  2.62M\n  \
    mirror     2.14M   248M     22    389  90.1K  2.62M\n    sda           -      -     11    200  45.0K  2.62M\n\
    ----------  -----  -----  -----  -----  -----  -----\ntank        2.14M   248M    100   1.5K   4.0K  1.00M\n  \
    mirror     2.14M   248M    100   1.5K   4.0K  1.00M\n    sda           -      -     50    750   2.0K  1.00M\n\
    ----------  -----  -----  -----  -----  -----  -----\ntank        3.00M   247M      0      0      0      0\n  \
    mirror     3.00M   247M      0      0      0      0\n    sda           -      -      0      0      0      0\n";

/// What a disk of that machine did is no pool's.
const IOSTAT: &str = "Device            r/s     rkB/s     w/s     wkB/s  %util\nsdb              1.00      4.00   2.00    8.00   1.00\n\n\
    Device            r/s     rkB/s     w/s     wkB/s  %util\nsdb              5.00     20.00   2.00    8.00   1.00\n";

#[test]
fn pools_of_an_import() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("gather")).unwrap();
    scratch.write("gather/zpool_iostat.out", ZPOOL);
    scratch.write("gather/iostat.out", IOSTAT);
    scratch.iodyno(&["import", "gather", "-o", "old"]).run().unwrap().expect_code(0);
    let of =
        |more: &[&str]| scratch.iodyno(&[&["stat", "pool", "-r", "old"], more].concat()).run().unwrap().expect_code(0);
    let rows = of(&["--json"]).ndjson();
    assert!(rows.iter().all(|row| row["name"] == "tank"), "{rows:?}");
    let busy = rows.iter().find(|row| row["read_per_s"].as_f64().is_some_and(|rate| rate > 0.0)).expect("reads");
    for (key, expect) in [
        ("read_per_s", 100.0),
        ("write_per_s", 1536.0),
        ("read_kib_per_s", 4.0),
        ("write_kib_per_s", 1024.0),
        ("allocated_mib", 2.14),
        ("free_mib", 248.0),
    ] {
        assert!((number(busy, key) - expect).abs() < 0.01 * expect + 1e-9, "{key}: {busy}");
    }
    assert!(busy["arc_hit_percent"].is_null() && busy["busy_percent"].is_null() && busy["state"].is_null(), "{busy}");
    let parts = of(&["--json", "--each"]).ndjson();
    let names: BTreeSet<&str> = parts.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["tank", "tank/mirror", "tank/mirror/sda"]));
    assert_eq!(of(&["-z", "--json"]).ndjson().len(), 1, "an idle interval is left out");
    let text = of(&[]).stdout;
    assert!(text.contains("alloc MiB") && text.contains(" 100.0 ") && text.contains('?'), "{text}");
}

#[test]
fn pools_of_a_machine_with_zfs() {
    use rates::stat::{CounterSubject, StatFold, StatOptions};
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("proc/spl/kstat/zfs");
    std::fs::create_dir_all(folder.join("tank")).unwrap();
    let write = |n: i64| {
        let head = "13 1 0x01 96 26112 4043178632 3417437393\nname                            type data\n";
        let hits = format!("{head}hits 4 {}\nmisses 4 {}\n", 900 * n, 100 * n);
        std::fs::write(folder.join("arcstats"), hits).unwrap();
        std::fs::write(folder.join("tank/state"), "ONLINE\n").unwrap();
        let io = "nread nwritten reads writes wtime wlentime wupdate rtime rlentime rupdate wcnt rcnt\n";
        let io = format!("12 3 0x00 1 80 1 1\n{io}{} 0 {} 0 0 0 0 0 0 0 0 0\n", 1_024_000 * n, 500 * n);
        std::fs::write(folder.join("tank/io"), io).unwrap();
    };
    let mut machine = collect::MachineReader::with_root(root.path(), &[collect::SubjectName::Zfs]);
    let mut fold = StatFold::new(&[CounterSubject::Pool], &StatOptions::default());
    let mut blocks = Vec::new();
    // Due in a future that no clock has reached: rows carry that time.
    for n in [1_u64, 2] {
        write(i64::try_from(n).unwrap());
        for batch in machine.sample((1 << 60) + n * 1_000_000_000, 0) {
            fold.accept(&batch).unwrap();
        }
        blocks.extend(fold.commit());
    }
    let [block] = &blocks[..] else { panic!("{blocks:?}") };
    let row = &block.rows[0];
    assert_eq!((row.name.as_str(), row.texts[0].as_deref()), ("tank", Some("ONLINE")));
    let figure = |key: &str| block.value(row, key).unwrap_or_else(|| panic!("{key} is not known"));
    for (key, expect) in [("read_per_s", 500.0), ("read_kib_per_s", 1000.0), ("arc_hit_percent", 90.0)] {
        assert!((figure(key) - expect).abs() < 1e-6, "{key}: {}", figure(key));
    }
    assert_eq!(collect::verdicts(root.path())["zfs_pool"], "works");
}

#[test]
fn a_subject_that_this_machine_lacks_is_refused_at_once() {
    if Path::new("/proc/spl/kstat/zfs").exists() {
        testkit::lacks("a machine without ZFS");
        return;
    }
    let refused = stat(&["pool"]).run().unwrap().expect_code(8);
    assert!(refused.stderr.contains("no figures of pool: not applicable: there is no /proc/spl"), "{}", refused.stderr);
    assert!(refused.stdout.is_empty(), "{}", refused.stdout);
    let scratch = Scratch::new();
    scratch.iodyno(&["record", "-o", "old", "--for", "2s"]).run().unwrap().expect_code(0);
    let refused = scratch.iodyno(&["stat", "pool", "-r", "old"]).run().unwrap().expect_code(8);
    assert!(refused.stderr.contains("no figures of pool: not applicable: "), "{}", refused.stderr);
}

/// A recording whose machine had these words about two subjects, and a sample of its CPUs.
fn with_words(path: &Path, net: &str, clock: &str) {
    let mut manifest = recording::Manifest::new(&[]);
    manifest.extra.insert(rates::SUBJECTS.into(), serde_json::json!({"net": net, "cpu_event": clock}));
    let mut writer = recording::Writer::create(path, manifest).unwrap();
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("proc")).unwrap();
    std::fs::write(root.path().join("proc/stat"), "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n").unwrap();
    let mut machine = collect::MachineReader::with_root(root.path(), &[collect::SubjectName::Cpu]);
    for batch in machine.sample(1 << 60, 0) {
        recording::Sink::accept(&mut writer, &batch).unwrap();
    }
    writer.seal().unwrap();
}

#[test]
fn charts_and_clocks_say_why_there_is_nothing() {
    let scratch = Scratch::new();
    with_words(&scratch.path("old"), "broken: gone", "unsupported here: no BTF");
    let refused = scratch.iodyno(&["chart", "old", "net.throughput"]).run().unwrap();
    assert!(refused.code != Some(0) && refused.stderr.contains("broken: gone"), "{}", refused.stderr);
    // There is no second sample of the tick either.
    let refused = scratch.iodyno(&["stat", "cpu", "--clock", "both", "-r", "old"]).run().unwrap().expect_code(8);
    assert!(refused.stderr.contains("unsupported here: no BTF"), "{}", refused.stderr);
}

/// Those that were looked for themselves have a word in the manifest, with the reason where they cannot be.
#[test]
fn probes_have_their_word() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let words = |name: &str| {
        let text = std::fs::read_to_string(scratch.path(name).join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        ["cpu_event", "irq_time", "profile"]
            .map(|table| manifest["extra"]["subjects"][table].as_str().unwrap_or("-").to_string())
    };
    let record = |name: &'static str| ["record", "-o", name, "--profile", "--for", "1s"];
    scratch.iodyno(&record("root")).run().unwrap().expect_code(0);
    assert_eq!(words("root"), ["works"; 3]);
    let drop = ["--bounding-set", "-all,+dac_override", "--inh-caps", "-all", "--", IODYNO];
    TestCommand::new("setpriv").args(drop).args(record("user")).dir(scratch.path("")).run().unwrap().expect_code(0);
    let found = words("user");
    assert!(found.iter().all(|word| word.starts_with("unsupported here: ")), "{found:?}");
}

/// A shell in which there is no pressure, for a mount of its own hides it.
fn without_pressure(script: &str) -> TestCommand {
    let script = format!("mount -t tmpfs none /proc/pressure && {script}");
    TestCommand::new("unshare").args(["-m", "sh", "-c", &script]).limit(Duration::from_secs(300))
}

#[test]
fn the_word_stands_where_the_figures_would() {
    if !testkit::require_root_or_skip() {
        return;
    }
    if !Path::new("/proc/pressure/cpu").exists() || without_pressure("true").run().unwrap().code != Some(0) {
        testkit::lacks("pressure, and mounts of one's own to hide it");
        return;
    }
    let word = "unsupported here: there is no /proc/pressure/cpu";
    let refused = without_pressure(&format!("'{IODYNO}' stat pressure 1 1")).run().unwrap().expect_code(8);
    assert!(refused.stderr.contains(&format!("no figures of pressure: {word}")), "{}", refused.stderr);
    let live = without_pressure(&format!("'{IODYNO}' top --once --size 120x40")).run().unwrap().expect_code(0).stdout;
    assert!(live.contains(&format!("PSI: {word}")), "{live}");
    let scratch = Scratch::new();
    let old = scratch.path("old").display().to_string();
    without_pressure(&format!("'{IODYNO}' record -o '{old}' --for 3s")).run().unwrap().expect_code(0);
    let recorded = scratch.iodyno(&["top", "old", "--once", "--size", "120x40"]).run().unwrap().expect_code(0).stdout;
    assert!(recorded.contains(&format!("PSI: {word}")), "{recorded}");
    let refused = scratch.iodyno(&["stat", "pressure", "-r", "old"]).run().unwrap().expect_code(8);
    assert!(refused.stderr.contains(word), "{}", refused.stderr);
    scratch.iodyno(&["report", "old", "-o", "old.html"]).run().unwrap().expect_code(0);
    let page = std::fs::read_to_string(scratch.path("old.html")).unwrap();
    assert!(page.contains(&format!("Not measured: pressure: {word}")), "the report does not say it");
    let days = scratch.path("days").display().to_string();
    let collector = without_pressure(&format!("exec '{IODYNO}' record -d '{days}' -i 200ms")).spawn().unwrap();
    for _ in 0..1200 {
        if std::fs::read_dir(scratch.path("days")).map_or(0, Iterator::count) >= 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let attached = ["top", "--attach", "days", "--once", "--size", "120x40"];
    let page = || {
        std::thread::sleep(Duration::from_secs(3));
        scratch.iodyno(&attached).run().unwrap().stdout
    };
    // From its second sample on.
    let page = testkit::until_enough(page, |page| page.contains("PSI: "));
    collector.signal(rustix::process::Signal::TERM);
    collector.wait().unwrap();
    assert!(page.contains(&format!("PSI: {word}")), "{page}");
}

/// `df`'s figures of all mounts: size, used, available, and inodes of which used, where it has them.
fn df() -> BTreeMap<String, [Option<i64>; 5]> {
    let columns = "--output=size,used,avail,itotal,iused,target";
    let text = TestCommand::new("df").args(["-a", "-B1", columns]).run().unwrap().stdout;
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let values = [(); 5].map(|()| words.next().and_then(|word| word.parse().ok()));
        (words.collect::<Vec<_>>().join(" "), values)
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn file_systems_are_as_full_as_df_says() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let kinds = [FileSystem::Ext4, FileSystem::Btrfs].into_iter().filter(|kind| kind.is_available());
    for kind in kinds {
        let device = LoopDevice::new(kind.min_bytes().max(64 << 20)).unwrap();
        let mounted = MountedFileSystem::make(kind, device.path()).unwrap();
        let place = mounted.path().display().to_string();
        // KiB written to the device since it is there, as the kernel counts them.
        let of_kernel = || {
            let name = device.path().file_name().unwrap().to_str().unwrap();
            let counters = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
            counters.split_whitespace().nth(6).unwrap().parse::<f64>().unwrap() / 2.0
        };
        let before = of_kernel();
        let mut watch = stat(&["fs", "--json", "-i", &place, "500ms"]).spawn().unwrap();
        assert!(watch.wait_for_stdout("}", Duration::from_secs(60)), "{}", watch.stderr());
        let path = mounted.path().join("file");
        std::fs::write(&path, vec![7_u8; 8 << 20]).unwrap();
        std::fs::File::open(&path).unwrap().sync_all().unwrap();
        let written = |stdout: &str| {
            let whole = &stdout[..stdout.rfind('\n').map_or(0, |at| at + 1)];
            let of_row = |row: &Value| number(row, "write_kib_per_s") * number(row, "interval_s");
            testkit::ndjson(whole).iter().map(of_row).sum::<f64>()
        };
        let is_seen = watch.wait_until(Duration::from_secs(60), |stdout| written(stdout) >= 8192.0);
        watch.signal(Signal::INT);
        let output = watch.wait().unwrap().expect_code(0);
        assert!(is_seen, "{} KiB: {}", written(&output.stdout), output.stdout);
        let most = of_kernel() - before;
        assert!(written(&output.stdout) <= most + 0.001, "{most} KiB: {}", output.stdout);
        let rows = output.ndjson();
        let row = rows[0].clone();
        assert_eq!((row["subject"].as_str(), row["kind"].as_str()), (Some("fs"), Some(kind.name())), "{row}");
        assert_eq!(row["device"].as_str(), device.path().to_str(), "{row}");
        assert!(rows.iter().any(|row| number(row, "write_per_s") > 0.0), "{rows:?}");
        // Settled, it is what df says to the byte.
        TestCommand::new("sync").run().unwrap();
        let row = stat(&["fs", "--json", "-i", &place, "300ms", "1"]).run().unwrap().expect_code(0).ndjson().remove(0);
        let [size, used, available, inodes, inodes_used] = df()[&place];
        for (key, expect) in [("size_mib", size), ("used_mib", used), ("available_mib", available)] {
            let bytes = number(&row, key) * 1_048_576.0;
            assert!((bytes - expect.unwrap() as f64).abs() < 1.0, "{key}: {bytes}, not {expect:?}: {row}");
        }
        let share = 100.0 * used.unwrap() as f64 / (used.unwrap() + available.unwrap()) as f64;
        assert!((number(&row, "used_percent") - share).abs() < 1e-6, "{row}");
        match inodes.filter(|inodes| *inodes > 0) {
            Some(inodes) => {
                let share = 100.0 * inodes_used.unwrap() as f64 / inodes as f64;
                assert!((number(&row, "inodes_used_percent") - share).abs() < 1e-6, "{row}");
            }
            None => assert!(row["inodes_used_percent"].is_null(), "it makes them as it needs them: {row}"),
        }
        assert_eq!(row["device_errors"].as_f64(), (kind == FileSystem::Btrfs).then_some(0.0), "{row}");
    }
    // All others, by their sizes; what is mounted over, or comes and goes, is not compared.
    let before = df();
    let rows = stat(&["fs", "--json", "300ms", "1"]).run().unwrap().expect_code(0).ndjson();
    let after = df();
    assert!(rows.iter().any(|row| row["name"] == "/"), "{rows:?}");
    for row in &rows {
        let name = row["name"].as_str().unwrap();
        if let (Some([Some(size), ..]), Some([Some(later), ..])) = (before.get(name), after.get(name))
            && size == later
        {
            assert!((number(row, "size_mib") * 1_048_576.0 - *size as f64).abs() < 1.0, "{size}: {row}");
        }
    }
    let scratch = Scratch::new();
    scratch.iodyno(&["record", "-o", "old", "--for", "12s"]).run().unwrap().expect_code(0);
    let old = scratch.iodyno(&["stat", "fs", "-r", "old", "--csv"]).run().unwrap().expect_code(0).stdout;
    assert!(old.lines().next().unwrap().ends_with("kind,device") && old.lines().count() > 1, "{old}");
}

/// Percentiles that `stat disk --percentiles` shows of reads and writes, ms, beside those that fio measured of the same I/Os.
///
/// Its `lat`, not its `clat`: that begins when the call that submits has returned, which is after the kernel queued the I/O.
fn percentiles(row: &Value, fio: &Value, op: &str) -> Vec<(f64, f64)> {
    let lat = &fio["jobs"][0][op]["lat_ns"];
    let of_fio = |key: &str| lat["percentile"][key].as_f64().unwrap_or_else(|| panic!("{key} of {lat}")) / 1e6;
    let of = |name: &str| number(row, &format!("{op}_{name}_ms"));
    vec![
        (of("p50"), of_fio("50.000000")),
        (of("p95"), of_fio("95.000000")),
        (of("p99"), of_fio("99.000000")),
        (of("max"), number(lat, "max") / 1e6),
    ]
}

#[test]
#[ignore = "times: make exam"]
fn percentiles_of_a_disk_are_those_that_fio_measures() {
    let Some(faulty) = FaultyDisk::new() else { return };
    if !testkit::has_fio() {
        return;
    }
    testkit::while_cpus_are_ours(|| {
        // From 4 to 12 ms, so that what fio needs to see an end is little of it.
        faulty.disk.control("delay 8ms 4ms").unwrap();
        let (scratch, name) = (Scratch::new(), faulty.device.name());
        let directory = scratch.path("percentiles");
        let kept = directory.to_str().unwrap();
        let shown = stat(&["disk", "--percentiles", "-i", &name, "--json", "-o", kept, "8", "1"]).spawn().unwrap();
        wait_for_samples(&directory, 1);
        let file = format!("--filename={}", faulty.device.path().display());
        let load = ["--name=x", &file, "--rw=randrw", "--bs=4k", "--iodepth=4", "--ioengine=libaio", "--direct=1"];
        let how = ["--time_based", "--runtime=4", "--output-format=json"];
        let which = ["--percentile_list=50:95:99", "--lat_percentiles=1", "--clat_percentiles=0"];
        let fio = TestCommand::new("fio").args(load).args(how).args(which).run().unwrap().expect_code(0).stdout;
        let fio: Value = serde_json::from_str(&fio[fio.find('{').unwrap()..]).unwrap();
        let row = shown.wait().unwrap().expect_code(0).ndjson().remove(0);
        for op in ["read", "write"] {
            let ios = number(&row, &format!("{op}_per_s")) * number(&row, "interval_s");
            let of_fio = number(&fio["jobs"][0][op], "total_ios");
            assert!(ios > 100.0 && (ios - of_fio).abs() <= of_fio * 0.01, "{op}: {ios} I/Os, by fio {of_fio}");
            let both = percentiles(&row, &fio, op);
            // The distributions that are compared have buckets of 3.1 % here and of 1.6 % there.
            let is_near = |(ours, fio): &(f64, f64)| (ours - fio).abs() <= fio * 0.05 + 0.1;
            assert!(both[..3].iter().all(is_near), "{op}: {both:?}");
            assert!(both[3].0 <= both[3].1 && both[3].0 > 4.0, "the longest of {op}: {both:?}");
        }
        // The same of the recording, in every form.
        let again = |form: &[&str]| {
            let output = stat(&["disk", "--percentiles", "-i", &name, "-r", kept]).args(form).run().unwrap();
            output.expect_code(0).stdout
        };
        let p99 = number(&row, "read_p99_ms");
        let csv = again(&["--csv"]);
        let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        let at = cells[0].iter().position(|key| *key == "read_p99_ms").unwrap();
        assert_eq!(cells[1][at], format!("{p99:.6}"));
        let p50 = number(&row, "read_p50_ms");
        assert!(again(&["-p"]).contains(&format!(":{p50:.3}:")), "{p50}: less than 10 have three decimals");
        let lines = again(&[]);
        let words = |line: usize| lines.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>();
        let at = words(0).iter().position(|title| *title == "r_p99").unwrap();
        assert_eq!(words(1)[at], format!("{p99:.3}"), "{lines}");
    });
}

/// One interval of these devices, by name, in which so many blocks are read from a node one after the other; and how long each
/// took here, ms, the shortest first.
fn rows_of_reads(names: &[&str], node: &Path, reads: u64) -> (BTreeMap<String, Value>, Vec<f64>) {
    let scratch = Scratch::new();
    let kept = scratch.path("kept");
    let to = ["--json", "-o", kept.to_str().unwrap(), "5", "1"];
    let shown = stat(&["disk", "--percentiles", "-i", &names.join(",")]).args(to).spawn().unwrap();
    wait_for_samples(&kept, 1);
    let file = testkit::direct::open(node).unwrap();
    let read_ms = |block: u64| {
        let from_ns = testkit::now_ns();
        testkit::direct::read(&file, block * 4096, 4096).unwrap();
        (testkit::now_ns() - from_ns) as f64 / 1e6
    };
    let mut took_ms: Vec<f64> = (0..reads).map(read_ms).collect();
    took_ms.sort_by(f64::total_cmp);
    let rows = shown.wait().unwrap().expect_code(0).ndjson();
    (rows.into_iter().map(|row| (row["name"].as_str().unwrap().to_string(), row)).collect(), took_ms)
}

/// Reads in the interval of a row, by the kernel's counters.
fn reads_of(row: &Value) -> f64 {
    number(row, "read_per_s") * number(row, "interval_s")
}

#[test]
fn percentiles_of_a_driver_without_requests_are_those_of_its_bios() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let zram = match Zram::new(64 << 20) {
        Ok(zram) => zram,
        Err(error) => {
            testkit::lacks(&format!("zram: {error}"));
            return;
        }
    };
    let (rows, took_ms) = rows_of_reads(&[&zram.name()], &zram.path(), 200);
    let row = &rows[&zram.name()];
    assert!((199.5..205.0).contains(&reads_of(row)), "no other process reads: {row}");
    // The kernel had each for a part of the time that it took here; buckets are 3.1 % wide.
    let [p50, p99, max] = ["read_p50_ms", "read_p99_ms", "read_max_ms"].map(|key| number(row, key));
    assert!(0.0 < p50 && p50 <= p99 && p99 <= max, "{row}");
    assert!(p50 <= took_ms[took_ms.len() / 2] * 1.04, "{took_ms:?}: {row}");
    assert!(row["write_p50_ms"].is_null() && row["write_max_ms"].is_null(), "no writes: {row}");
}

#[test]
#[ignore = "times: make exam"]
fn a_volume_and_its_disk_have_percentiles_of_their_own() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let below = LoopDevice::new_in(64 << 20, ScratchPlace::Memory).unwrap();
    let volume = match DelayedVolume::over(&below, 20) {
        Ok(volume) => volume,
        Err(error) => {
            testkit::lacks(&format!("device mapper: {error}"));
            return;
        }
    };
    testkit::while_cpus_are_ours(|| {
        let (rows, took_ms) = rows_of_reads(&[volume.name(), &below.name()], &volume.path(), 50);
        let (upper, lower) = (&rows[volume.name()], &rows[&below.name()]);
        for row in [upper, lower] {
            assert!((49.5..55.0).contains(&reads_of(row)), "each read is one of both: {row}");
        }
        // The delay is in steps of the tick, which may be 10 ms.
        let (of_upper, of_lower) = (number(upper, "read_p50_ms"), number(lower, "read_p50_ms"));
        assert!((10.0..=took_ms[25] * 1.04).contains(&of_upper), "{took_ms:?}: {upper}");
        assert!(of_lower > 0.0 && of_lower < 5.0, "{lower}");
    });
}

#[test]
fn percentiles_that_cannot_be_had_are_unknown_and_those_of_nothing_are_none() {
    let Some(faulty) = FaultyDisk::new() else { return };
    let name = faulty.device.name();
    let of = |user: u32, form: &[&str]| {
        let command = stat(&["disk", "--percentiles", "-i", &name, "1", "8"]).args(form).user(user);
        let mut shown = command.spawn().unwrap();
        // In an interval that the probe has seen from its beginning.
        assert!(shown.wait_for_stdout(&name, Duration::from_secs(60)), "{}", shown.stderr());
        let file = testkit::direct::open(faulty.device.path()).unwrap();
        (0..20).for_each(|block| drop(testkit::direct::read(&file, block * 4096, 4096).unwrap()));
        shown.wait().unwrap().expect_code(0)
    };
    let unprivileged = of(65534, &["--json"]);
    assert!(unprivileged.stderr.contains("percentiles are ?"), "{}", unprivileged.stderr);
    let rows = unprivileged.ndjson();
    assert!(rows.iter().any(|row| number(row, "read_per_s") > 0.0), "{rows:?}");
    assert!(rows.iter().all(|row| row["read_p99_ms"].is_null() && row["read_max_ms"].is_null()), "{rows:?}");
    let lines = of(65534, &[]);
    assert!(lines.stdout.lines().any(|line| line.split_whitespace().nth(5) == Some("?")), "{}", lines.stdout);
    let lines = of(0, &[]);
    // Time, device, r/s, rkB/s, r_await, r_p50 …
    let cells = |line: &str| line.split_whitespace().skip(2).map(str::to_string).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = lines.stdout.lines().filter(|line| line.contains(&name)).map(cells).collect();
    assert!(lines.stderr.is_empty() && rows.len() == 8, "{} {}", lines.stdout, lines.stderr);
    assert!(rows.iter().any(|row| row[0] == "0.00" && row[3..8].iter().all(|cell| cell == "-")), "{rows:?}");
    let busy = rows.iter().find(|row| row[0] != "0.00").expect("an interval with I/O");
    assert!(busy[3..8].iter().all(|cell| cell.parse::<f64>().is_ok_and(|ms| ms > 0.0)), "{busy:?}");
    assert!(busy[12..17].iter().all(|cell| cell == "-"), "no writes: {busy:?}");
}

/// Recv-Q and Send-Q by address and port, as `ss -ltn` has them; `None` where there is no `ss`, which is said.
fn ss(namespace: &Namespace) -> Option<BTreeMap<String, [f64; 2]>> {
    let listed = namespace.command("ss").arg("-ltnH").run().unwrap();
    if listed.code != Some(0) {
        testkit::lacks("ss");
        return None;
    }
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<f64>().ok();
        Some(((*words.get(3)?).to_string(), [number(1)?, number(2)?]))
    };
    Some(listed.stdout.lines().filter_map(row).collect())
}

/// Listens with a backlog of 5, and accepts no connection until a signal comes.
const DEAF: &str = "import signal,socket\nsignal.pthread_sigmask(signal.SIG_BLOCK,{signal.SIGUSR1})\n\
    s=socket.socket()\ns.bind(('127.0.0.1',1521))\ns.listen(5)\nprint('ready',flush=True)\n\
    signal.sigwait({signal.SIGUSR1})\nall=[]\nwhile True: all.append(s.accept())\n";
/// Listens, and gets no connection.
const IDLE: &str = "import socket,time\ns=socket.socket()\ns.bind(('127.0.0.1',1522))\ns.listen(64)\n\
    print('ready',flush=True)\ntime.sleep(60)\n";
/// Calls forty times.
const CALLS: &str = "import socket,time\nall=[]\nfor i in range(40):\n  s=socket.socket(); s.setblocking(False)\n  \
    try: s.connect(('127.0.0.1',1521))\n  except BlockingIOError: pass\n  all.append(s)\ntime.sleep(6)\n";

#[test]
#[ignore = "times: make exam"]
fn listeners_are_those_that_ss_lists() {
    testkit::while_cpus_are_ours(listeners_of_a_namespace);
}

fn listeners_of_a_namespace() {
    let Some(namespace) = Namespace::new("slisten") else { return };
    let scratch = Scratch::new();
    let python = |script: &str| namespace.command("python3").args(["-c", script]).spawn().unwrap();
    let [mut deaf, mut idle] = [DEAF, IDLE].map(python);
    for server in [&mut deaf, &mut idle] {
        assert!(server.wait_for_stdout("ready", Duration::from_secs(60)), "{}", server.stderr());
    }
    let directory = scratch.path("old");
    let stat = ["stat", "listen", "--json", "-o", directory.to_str().unwrap(), "500ms", "16"];
    let mut shown = namespace.command(IODYNO).args(stat).spawn().unwrap();
    assert!(shown.wait_for_stdout("}", Duration::from_secs(60)), "{}", shown.stderr());
    let calls = python(CALLS);
    std::thread::sleep(Duration::from_millis(2000));
    let by_ss = ss(&namespace);
    deaf.signal(rustix::process::Signal::USR1);
    std::thread::sleep(Duration::from_millis(1000));
    drop(idle);
    let rows = shown.wait().unwrap().expect_code(0).ndjson();
    let of = |name: &str| rows.iter().filter(|row| row["name"] == name).collect::<Vec<_>>();
    let (full, quiet) = (of("127.0.0.1:1521"), of("127.0.0.1:1522"));
    assert_eq!(full.len(), 16, "{rows:?}");
    // One more than the backlog is admitted.
    let queues: Vec<f64> = full.iter().map(|row| number(row, "queue")).collect();
    assert!(queues.iter().all(|queue| *queue <= 6.0), "{queues:?}");
    assert!(queues.iter().filter(|queue| **queue == 6.0).count() >= 2, "{queues:?}");
    for row in &full {
        assert_eq!(number(row, "backlog"), 5.0, "{row}");
        assert_eq!(number(row, "full_percent"), number(row, "queue") * 20.0, "{row}");
        assert_eq!((row["comm"].as_str(), number(row, "pid")), (Some("python3"), f64::from(deaf.id())), "{row}");
        assert!(number(row, "limit") >= 5.0, "{row}");
    }
    // 34 found it full at first, and some of them again a second later; the rates add up to what the kernel counts.
    let last = full.last().unwrap();
    let dropped: f64 = full.iter().map(|row| number(row, "drops_per_s") * number(row, "interval_s")).sum();
    assert!(dropped >= 34.0 && (dropped - number(last, "drops")).abs() < 1e-6, "{dropped}: {last}");
    assert_eq!(number(last, "queue"), 0.0, "the server accepts every connection: {last}");
    // The other one had nothing to do, and is gone in the end.
    assert!(quiet.len() >= 5 && quiet.len() < 16, "{quiet:?}");
    assert!(quiet.iter().all(|row| (number(row, "queue"), number(row, "backlog")) == (0.0, 64.0)), "{quiet:?}");
    if let Some(by_ss) = by_ss {
        let expect = [("127.0.0.1:1521", [6.0, 5.0]), ("127.0.0.1:1522", [0.0, 64.0])];
        assert_eq!(by_ss, BTreeMap::from(expect.map(|(name, figures)| (name.to_string(), figures))));
    }
    drop((calls, deaf));
    listeners_of_a_recording(&scratch, &rows);
}

/// The recording `old` tells what was shown, in every form.
fn listeners_of_a_recording(scratch: &Scratch, rows: &[Value]) {
    let of = |more: &[&str]| {
        scratch.iodyno(&[&["stat", "listen", "-r", "old"], more].concat()).run().unwrap().expect_code(0)
    };
    let keys = ["name", "t_ns", "interval_s", "queue", "drops_per_s", "drops", "pid", "comm"];
    let facts = |rows: &[Value]| rows.iter().map(|row| keys.map(|key| row[key].clone())).collect::<Vec<_>>();
    assert_eq!(facts(&of(&["--json"]).ndjson()), facts(rows));
    let busy = of(&["-z", "--json"]).ndjson();
    assert!(!busy.is_empty() && busy.len() < 16, "{busy:?}");
    assert!(busy.iter().all(|row| number(row, "queue") > 0.0 || number(row, "drops_per_s") > 0.0), "{busy:?}");
    let names = |only: &str| -> BTreeSet<String> {
        let rows = of(&["-i", only, "--json"]).ndjson();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_string()).collect()
    };
    let [full, quiet] = ["127.0.0.1:1521", "127.0.0.1:1522"].map(str::to_string);
    assert_eq!(names("1522"), BTreeSet::from([quiet.clone()]));
    assert_eq!(names(&full), BTreeSet::from([full.clone()]));
    assert_eq!(names("python3"), BTreeSet::from([full, quiet]));
    let none = of(&["-i", "152"]);
    assert!(none.stdout.is_empty() && none.stderr.contains("there is no listener 152"), "{}", none.stderr);
    let table = of(&[]).stdout;
    let heading = table.lines().next().unwrap();
    assert!(heading.contains("Recv-Q") && heading.ends_with("PID process"), "{table}");
    let csv = of(&["--csv"]).stdout;
    let widths: BTreeSet<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(widths.len(), 1, "{csv}");
    assert!(of(&["-p"]).stdout.lines().all(|line| line.ends_with(":python3")));
}

#[test]
fn whose_a_listener_is_takes_privilege_to_see() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = server.local_addr().unwrap().to_string();
    let seen_by = |user: u32| {
        let shown = stat(&["listen", "--json", "-i", &name, "300ms", "1"]).user(user).run().unwrap();
        shown.expect_code(0).ndjson().remove(0)
    };
    let [root, other] = [0, 65534].map(seen_by);
    assert_eq!(number(&root, "pid"), f64::from(std::process::id()), "in the first line: {root}");
    assert!(root["comm"].is_string(), "{root}");
    assert!(other["pid"].is_null() && other["comm"].is_null(), "{other}");
    assert_eq!((number(&other, "queue"), number(&other, "drops")), (0.0, 0.0), "{other}");
}
