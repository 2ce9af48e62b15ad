//! What other tools printed, imported, shown, drawn and judged.

use crate::support::Scratch;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use testkit::{TestCommand, ndjson};

/// A tool's output in the fixtures.
fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tools").join(name)
}

fn figures(scratch: &Scratch, subject: &str, more: &[&str]) -> Vec<Value> {
    let command = scratch.iodyno(&["stat", subject, "-r", "old", "--json"]).args(more);
    ndjson(&command.run().unwrap().expect_code(0).stdout)
}

/// Two minutes of `mpstat -P ALL 1` on four CPUs, the second one busy all the time.
fn one_busy_cpu() -> String {
    let mut text = "Linux 6.18.44 (db7) \t11/20/26 \t_x86_64_\t(4 CPU)\n".to_string();
    let heading = "CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle";
    for second in 0..120 {
        let at = |second: i32| format!("10:{:02}:{:02}", second / 60, second % 60);
        let _ = writeln!(text, "\n{}     {heading}", at(second));
        for (cpu, user) in [("all", "25.25"), ("0", "0.50"), ("1", "100.00"), ("2", "0.50"), ("3", "0.00")] {
            let idle: f64 = 100.0 - user.parse::<f64>().unwrap();
            let zero = "0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00";
            let _ = writeln!(text, "{}     {cpu}   {user}   {zero}   {idle:.2}", at(second + 1));
        }
    }
    text
}

#[test]
fn an_import_is_shown_drawn_and_judged_like_a_recording() {
    let scratch = Scratch::new();
    let gather = scratch.path("gather");
    std::fs::create_dir(&gather).unwrap();
    for (from, to) in [("iostat-xz.txt", "iostat.out"), ("nicstat.txt", "nicstat.out"), ("vmstat-wt.txt", "vmstat.out")]
    {
        std::fs::copy(fixture(from), gather.join(to)).unwrap();
    }
    std::fs::write(gather.join("mpstat.out"), one_busy_cpu()).unwrap();
    let start = ["--start", "2026-11-20T10:00:00"];
    let imported = scratch.iodyno(&["import", "gather", "-o", "old"]).args(start).run().unwrap().expect_code(0);
    assert!(imported.stderr.contains("vmstat.out: another file tells more of cpu"), "{}", imported.stderr);
    // iostat's own figures, and nicstat's.
    let disk = figures(&scratch, "disk", &[]);
    assert_eq!(disk.len(), 2);
    let close = |row: &Value, key: &str, expect: f64| {
        let value = row[key].as_f64().unwrap_or_else(|| panic!("{key} is not known: {row}"));
        assert!((value - expect).abs() <= 0.011 * expect.max(1.0), "{key}: {value}, not {expect}");
    };
    for (key, expect) in
        [("read_per_s", 125.0), ("write_kib_per_s", 33712.0), ("read_await_ms", 2.26), ("util_percent", 4.4)]
    {
        close(&disk[0], key, expect);
    }
    let net = figures(&scratch, "net", &["-i", "eth0"]);
    close(&net[0], "rx_kib_per_s", 187.4);
    assert!(net[0]["rx_drops_per_s"].is_null(), "nicstat does not tell them: {}", net[0]);
    let cpu = figures(&scratch, "cpu", &["-i", "1"]);
    assert_eq!(cpu.len(), 120);
    close(&cpu[60], "busy_percent", 100.0);
    for view in ["disk.response", "disk.rate", "run.cpu"] {
        let file = format!("{view}.svg");
        scratch.iodyno(&["chart", "old", view, "-o", &file]).run().unwrap().expect_code(0);
        assert!(std::fs::read_to_string(scratch.path(&file)).unwrap().contains("<svg"));
    }
    // The report of counters alone has all their views, and says what the machine did.
    scratch.iodyno(&["report", "old", "-o", "page.html"]).run().unwrap().expect_code(0);
    let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
    assert!(page.contains("CPUs 25.2"), "no sentence says what the machine did");
    for view in ["run.cpu", "disk.response", "net.throughput", "recording.findings"] {
        assert!(page.contains(&format!("\"id\":\"{view}\"")), "the report has no {view}");
    }
    let judged = scratch.iodyno(&["diagnose", "old", "--json"]).run().unwrap().expect_code(9);
    let judged: Value = serde_json::from_str(&judged.stdout).unwrap();
    let rules: Vec<&Value> = judged["findings"].as_array().unwrap().iter().map(|one| &one["rule"]).collect();
    assert!(rules.contains(&&Value::from("R1")), "{judged}");
}

#[test]
fn tasks_and_pressure_alone_make_a_report_and_charts() {
    let scratch = Scratch::new();
    let sar = fixture("sar-q-psi.txt");
    scratch.iodyno(&["import", sar.to_str().unwrap(), "-o", "old"]).run().unwrap().expect_code(0);
    scratch.iodyno(&["report", "old", "-o", "page.html"]).run().unwrap().expect_code(0);
    let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
    for view in ["system.tasks", "pressure.waiting"] {
        assert!(page.contains(&format!("\"id\":\"{view}\"")), "the report has no {view}");
        scratch.iodyno(&["chart", "old", view, "-o", &format!("{view}.svg")]).run().unwrap().expect_code(0);
    }
    assert!(!page.contains("Nothing was measured"));
    let pressure = std::fs::read_to_string(scratch.path("pressure.waiting.svg")).unwrap();
    // Memory was never waited for: no line of it.
    for (name, is_drawn) in [("cpu some", true), ("io full", true), ("memory some", false)] {
        assert_eq!(pressure.contains(name), is_drawn, "{name}");
    }
}

#[test]
fn what_is_not_what_it_says_is_refused_with_its_line() {
    let scratch = Scratch::new();
    let text = std::fs::read_to_string(fixture("sar-d.txt")).unwrap().replace("1164.00", "lots");
    std::fs::write(scratch.path("sar.txt"), text).unwrap();
    let refused = scratch.iodyno(&["import", "sar.txt", "-o", "old"]).run().unwrap().expect_code(2);
    assert!(refused.stderr.contains("sar.txt:5: `lots`"), "{}", refused.stderr);
    assert!(!scratch.path("old").exists());
    let refused = scratch.iodyno(&["import", "sar.txt", "-o", "old", "--start", "soon"]).run().unwrap().expect_code(2);
    assert!(refused.stderr.contains("--start soon"), "{}", refused.stderr);
}

#[test]
fn what_no_tool_printed_is_refused_with_its_beginning() {
    let scratch = Scratch::new();
    for (name, text, begin) in [
        (
            "gather.ksh",
            "#!/usr/bin/ksh\n\ndir=$1\nvmstat 1 > $dir/vmstat.out 2>&1 &\n",
            ":1: `#!/usr/bin/ksh` begins none",
        ),
        ("netperf.txt", "\n\n$ netperf -H db7\nRecv   Send\n87380  16384\n", ":3: `$ netperf -H db7` begins none"),
        ("table.txt", "Type\\Time 1800 3600\nRAID-Z2 default 5161 -\n", ":1: `Type\\Time 1800 3600` begins none"),
        ("empty.txt", "", "empty.txt is none"),
    ] {
        std::fs::write(scratch.path(name), text).unwrap();
        let refused = scratch.iodyno(&["import", name, "-o", "new"]).run().unwrap().expect_code(2);
        assert!(refused.stderr.contains(begin), "{name}: {}", refused.stderr);
        assert!(!scratch.path("new").exists());
    }
}

#[test]
fn times_are_of_the_zone_that_is_said() {
    let scratch = Scratch::new();
    let file = fixture("iostat-xzty.txt");
    let file = file.to_str().unwrap();
    // Its first sample is of 10:27:20, and of one second.
    let begins_s = |name: &str, zone: &[&str]| -> i64 {
        scratch.iodyno(&["import", file, "-o", name]).args(zone).run().unwrap().expect_code(0);
        let manifest = std::fs::read_to_string(scratch.path(name).join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        manifest["started_wall_ns"].as_i64().unwrap() / 1_000_000_000
    };
    let utc_s = begins_s("utc", &[]);
    assert_eq!(utc_s % 86_400, (10 * 60 + 27) * 60 + 19);
    assert_eq!(begins_s("east", &["--zone", "+02:00"]), utc_s - 7200);
    assert_eq!(begins_s("west", &["--zone", "-0530"]), utc_s + 19_800);
    if Path::new("/usr/share/zoneinfo/Europe/Berlin").exists() {
        assert_eq!(begins_s("berlin", &["--zone", "Europe/Berlin"]), utc_s - 3600);
    } else {
        testkit::lacks("/usr/share/zoneinfo/Europe/Berlin");
    }
    // Of a trace the times are known: what was said about them is not passed over in silence.
    std::fs::write(scratch.path("t.csv"), "128166372003061629,host,0,Read,0,4096,1000\n").unwrap();
    let said = ["--zone", "+02:00", "--start", "2026-11-20 10:00:00"];
    let trace = scratch.iodyno(&["import", "t.csv", "--format", "msr", "-o", "trace"]);
    let trace = trace.args(said).run().unwrap().expect_code(0);
    assert!(trace.stderr.contains("--start, --zone: not used"), "{}", trace.stderr);
    let trace = scratch.iodyno(&["import", "t.csv", "--format", "msr", "-o", "again"]).run().unwrap().expect_code(0);
    assert!(!trace.stderr.contains("not used"), "{}", trace.stderr);
    let wrong = scratch.iodyno(&["import", file, "-o", "no", "--zone", "+2"]).run().unwrap().expect_code(2);
    assert!(wrong.stderr.contains("+02:00") && !scratch.path("no").exists(), "{}", wrong.stderr);
}

/// A finding of a source document: its file, how it is imported, the rule, the subject, and words of the sentence.
type Known = (&'static str, &'static [&'static str], &'static str, &'static str, &'static str);

#[test]
fn source_documents_give_the_findings_that_they_are_about() {
    const KNOWN: &[Known] = &[
        ("004-netstat-listendrop.txt", &[], "R2", "tcp", "23.0/s dropped"),
        (
            "003-iostat-cnxz.txt",
            &["--interval", "10s", "--excerpt"],
            "R5",
            "c2t8d0",
            "busy 98 %, 547 op/s, 31.7 MB/s, queue 9.2, mean 16.9 ms; its queue grew from 4.9 to 9.2 and throughput changed by only -4.7 %",
        ),
        (
            "002-mpstat-t5440.txt",
            &["--interval", "5s", "--cpus", "256"],
            "R1",
            "cpu48",
            "the system shows only 0.4 % because one CPU is 0.4 % of 256",
        ),
        ("002-mpstat-t5440.txt", &["--interval", "10s"], "R1", "cpu48", "of the 3 recorded"),
        ("001-mpstat-stuck-cpu1.txt", &["--interval", "5s"], "R4", "cpu1", "stuck in the kernel: 100 %"),
        (
            "003-mpxio-messages.log",
            &[],
            "R7",
            "path emlxs0",
            "of 4 devices was lost; failover finished 110 s later (90 s waiting for the offline timeout, 20 s until it had switched): I/O on it may have stood still for that long",
        ),
        ("002-zfs-selfheal-raw.txt", &[], "R12", "zfs, /export/zfs/zd0", "63 blocks had a wrong check sum"),
    ];
    let scratch = Scratch::new();
    for (at, (file, options, rule, subject, words)) in KNOWN.iter().enumerate() {
        let (path, name) = (fixture("old").join(file), format!("r{at}"));
        let import = scratch.iodyno(&["import", path.to_str().unwrap(), "-o", &name, "--start", "2026-11-20T10:00:00"]);
        import.args(*options).run().unwrap().expect_code(0);
        let judged = scratch.iodyno(&["diagnose", &name, "--json"]).run().unwrap();
        let judged: Value = serde_json::from_str(&judged.stdout).unwrap();
        let findings = judged["findings"].as_array().unwrap();
        // A device may have been busy, which is a note, before it was the limit.
        let is_it = |one: &&Value| one["rule"] == *rule && one["subject"] == *subject && one["counts"] == true;
        let found = findings.iter().find(is_it);
        let found = found.unwrap_or_else(|| panic!("{file}: {judged}"));
        assert!(found["sentence"].as_str().unwrap().contains(words), "{file}: {found}");
        if *rule == "R7" {
            assert!(found["end"].is_string() && found["confidence"] == "likely", "{found}");
        }
    }
    // What is not known is left out, not 0.
    let path = fixture("old").join("003-iostat-cnxz.txt");
    scratch.iodyno(&["import", path.to_str().unwrap(), "-o", "one", "--interval", "10s"]).run().unwrap().expect_code(0);
    let judged = scratch.iodyno(&["diagnose", "one", "--json"]).run().unwrap().stdout;
    assert!(!judged.contains("mean 0 ns") && judged.contains("mean 16.9 ms"), "{judged}");
}

/// Fourteen minutes of a disk that does ten reads, ten writes and 1,000 discards a second of 4 KiB each, and seven flushes:
/// 1,020 operations and 4.18 MB/s.
fn with_discards(heading: &str, row: &str, command: &str) -> String {
    let mut text = format!("$ iostat {command} 60 14\nLinux 6.18.44 (db7) \t11/20/26 \t_x86_64_\t(2 CPU)\n");
    for _ in 0..14 {
        let _ = writeln!(text, "\n{heading}\n{row}");
    }
    text
}

/// What a face says of the imported recording.
type Face = fn(&Scratch) -> Vec<String>;

/// Every face that derives rates of a disk: a new one goes in here.
const FACES: &[(&str, Face, &[&str])] = &[
    (
        "stat",
        |scratch| {
            let row = figures(scratch, "disk", &[]).pop().unwrap();
            ["ops_per_s", "kib_per_s", "size_kib"]
                .map(|key| format!("{key} {:.0}", row[key].as_f64().unwrap()))
                .to_vec()
        },
        &["ops_per_s 1020", "kib_per_s 4080", "size_kib 4"],
    ),
    (
        "top",
        |scratch| vec![said(scratch, &["top", "old", "--once", "--size", "120x40"]).replace("  ", " ")],
        &["1.0k/s 4.2MB/s"],
    ),
    (
        "trend",
        |scratch| {
            let of = |figure: &str| said(scratch, &["chart", "old", figure, "--trend", "--json"]);
            [of("disk.rate"), of("disk.throughput")].map(|text| text.replace([' ', '\n'], "")).to_vec()
        },
        &["[0.0,1020.0]", "[0.0,4177920.0]"],
    ),
    (
        "report",
        |scratch| {
            said(scratch, &["report", "old", "-o", "page.html"]);
            vec![std::fs::read_to_string(scratch.path("page.html")).unwrap()]
        },
        &["sda, the device that moved most, 4.18 MB/s"],
    ),
    (
        "table by hand",
        |scratch| {
            let rows = scratch.table("old", "disk");
            let grown = |name: &str| {
                let [was, now] = [&rows[1], &rows[2]].map(|row| row[name].as_f64().unwrap_or(0.0));
                (now - was) / 60.0
            };
            let [reads, writes, discards] = ["read", "write", "discard"].map(|kind| grown(&format!("{kind}_sectors")));
            vec![format!("bytes {:.0}", 512.0 * (reads + writes + discards))]
        },
        &["bytes 4177920"],
    ),
];

fn said(scratch: &Scratch, arguments: &[&str]) -> String {
    scratch.iodyno(arguments).run().unwrap().expect_code(0).stdout
}

fn import_discards(heading: &str, row: &str, command: &str) -> Scratch {
    let scratch = Scratch::new();
    std::fs::write(scratch.path("iostat.txt"), with_discards(heading, row, command)).unwrap();
    let start = ["--start", "2026-11-20T10:00:00", "--interval", "60s"];
    scratch.iodyno(&["import", "iostat.txt", "-o", "old"]).args(start).run().unwrap().expect_code(0);
    for (face, of, expected) in FACES {
        let text = of(&scratch).join("\n");
        for words in *expected {
            assert!(text.contains(words), "{face}: no {words} in {text}");
        }
    }
    scratch
}

#[test]
fn an_iostat_with_discards_has_the_same_rates_on_every_face() {
    let heading = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util";
    let row = "sda              10.00     40.00     0.00   0.00    2.00     4.00   10.00     40.00     0.00   0.00    4.00     4.00 1000.00   4000.00     0.00   0.00    1.00     4.00    7.00   10.00    1.13  99.00";
    let scratch = import_discards(heading, row, "-x");
    let judged = scratch.iodyno(&["diagnose", "old", "--json"]).run().unwrap();
    let judged: Value = serde_json::from_str(&judged.stdout).unwrap();
    let found = &judged["findings"][0];
    let figure = |name: &str| {
        let evidence = found["evidence"].as_array().unwrap_or_else(|| panic!("{judged}"));
        evidence.iter().find(|one| one["name"] == name).and_then(|one| one["value"].as_f64())
    };
    let near = |name: &str, expect: f64| {
        let value = figure(name).unwrap_or_else(|| panic!("no {name}: {found}"));
        assert!((value - expect).abs() <= expect * 1e-3, "{name}: {value}, not {expect}");
    };
    assert_eq!(found["rule"], "R5");
    near("operations", 1020.0);
    near("throughput", 4_177_920.0);
    near("mean size", 4096.0);
    scratch.iodyno(&["chart", "old", "disk.rate", "-o", "rate.svg"]).run().unwrap().expect_code(0);
    assert!(std::fs::read_to_string(scratch.path("rate.svg")).unwrap().contains("discard"));
}

#[test]
fn an_iostat_that_tells_only_tps_has_the_same_rates_on_every_face() {
    let heading = "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd";
    let row = "sda            1020.00        40.00        40.00      4000.00       2400       2400     240000";
    import_discards(heading, row, "-d");
}

/// In a network of its own: what the loopback counts before and after, and what nicstat prints in between.
const SENDS: &str = r#"
cd "$0"
ip link set lo up
python3 -c '
import socket, subprocess, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
send = lambda: sender.sendto(bytes(62500), receiver.getsockname())
send()
tool = subprocess.Popen(["nicstat", "-p", "1", "4"], stdout=open("nicstat.out", "w"))
time.sleep(0.3)
for _ in range(3200): send()
tool.wait()
'
grep lo: /proc/net/dev > dev.out
"#;

#[test]
fn two_hundred_megabytes_that_nicstat_printed_are_two_hundred_megabytes() {
    let has =
        |name: &str| TestCommand::new("sh").args(["-c", &format!("command -v {name}")]).run().unwrap().code == Some(0);
    if !testkit::require_root_or_skip() || ["nicstat", "ip"].iter().any(|name| !has(name) && testkit::lacks(name)) {
        return;
    }
    let scratch = Scratch::new();
    let folder = scratch.path(".");
    let run = TestCommand::new("unshare").args(["-n", "sh", "-ec", SENDS, folder.to_str().unwrap()]).run().unwrap();
    run.expect_code(0);
    let text = std::fs::read_to_string(scratch.path("nicstat.out")).unwrap();
    let of_kernel: f64 =
        std::fs::read_to_string(scratch.path("dev.out")).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(of_kernel > 200e6, "{of_kernel}");
    assert!(
        text.lines().any(|line| line.split(':').nth(2).is_some_and(|kib| kib.len() > 4 && !kib.contains('.'))),
        "{text}"
    );
    scratch.iodyno(&["import", "nicstat.out", "-o", "old"]).run().unwrap().expect_code(0);
    let rows = scratch.table("old", "net");
    let bytes = |row: &Value| row["rx_bytes"].as_f64().unwrap();
    let grown = bytes(rows.last().unwrap()) - bytes(rows.first().unwrap());
    // The first line is the mean since boot, and no interval; whole KiB are printed, of intervals of not quite a second.
    assert!((grown - of_kernel).abs() < 0.03 * of_kernel, "{grown} of {of_kernel}: {text}");
}

#[test]
fn a_trend_of_two_machines_is_refused() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("days")).unwrap();
    for (host, day) in [("h01", 20), ("h02", 21)] {
        let heading = "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util";
        let mut text = format!("Linux 6.18.44 ({host}) \t11/{day}/26 \t_x86_64_\t(2 CPU)\n\n00:00:00 {heading}\n");
        for hour in 1..24 {
            let _ = writeln!(text, "{hour:02}:00:00 sda 100.00 800.00 0.00 0.00 8.00 0.01 0.10 0.50");
        }
        std::fs::write(scratch.path("sar.txt"), text).unwrap();
        scratch.iodyno(&["import", "sar.txt", "-o", &format!("days/{host}")]).run().unwrap().expect_code(0);
    }
    let trend =
        |more: &[&str]| scratch.iodyno(&["chart", "days", "disk.throughput", "--trend"]).args(more).run().unwrap();
    let refused = trend(&[]).expect_code(2);
    assert!(refused.stderr.contains("the recordings are of 2 machines (h01, h02): --host NAME"), "{}", refused.stderr);
    let unknown = trend(&["--host", "h03"]).expect_code(2);
    assert!(
        unknown.stderr.contains("no recording is of the machine h03; there are those of h01, h02"),
        "{}",
        unknown.stderr
    );
    let one = trend(&["--host", "h01"]);
    assert!(!one.stderr.contains("machines"), "{}", one.stderr);
}
