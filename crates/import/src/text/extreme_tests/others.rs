//! Printers of the tools that print in other ways: with units, beside words, as JSON, of processes, or once.

use super::printers::{BANNER, SAMPLES, iostat, sar, two_digits};
use super::{Field, Known, Source, padded};
use std::fmt::Write as _;

/// How many there are.
pub(super) const COUNT: usize = 32;

/// A number of a tool that has one for everything.
fn number(digits: usize) -> impl Fn(&str, &Known) -> Field + Copy {
    move |_, known| Known::Value(known.value()).fixed(digits)
}

fn whole(_: &str, known: &Known) -> Field {
    known.whole()
}

/// A number of either sign, or none.
fn signed(known: &Known, digits: usize) -> Field {
    match known {
        Known::None("-1.00") => ("-1.00".to_string(), Some((-1.0, 0.0))),
        known => known.fixed(digits),
    }
}

/// A word where others have numbers.
fn word(text: &str) -> Field {
    (text.to_string(), None)
}

const CPU: [&str; 6] = ["us", "sy", "id", "wa", "st", "gu"];

fn vmstat_wide(source: &mut Source) -> String {
    let memory = ["swpd", "free", "buff", "cache", "si", "so", "bi", "bo"];
    let mut text = "--procs-- -----------------------memory---------------------- ---swap-- -----io---- -system-- ----------cpu---------- -----timestamp-----\n".to_string();
    let _ = writeln!(text, "   r    b {} in cs {}                 UTC", memory.join(" "), CPU.join(" "));
    for at in 0..SAMPLES {
        let system = source.row("", &["r", "b", "in", "cs"], whole);
        let memory = source.row("", &memory, whole);
        let cpu = source.row("all", &CPU, whole);
        let all = [&system[..2], &memory, &system[2..], &cpu].concat();
        let _ = writeln!(text, "{} 2026-11-20 10:27:{}", padded(&all, 4), 19 + at);
    }
    text
}

fn vmstat_solaris(source: &mut Source) -> String {
    let memory = ["swap", "free", "re", "mf", "pi", "po", "fr", "de", "sr"];
    let mut text = " kthr      memory            page            disk          faults      cpu\n".to_string();
    let _ = writeln!(text, " r b w {} s0 s1   in   sy   cs us sy id", memory.join(" "));
    for _ in 0..SAMPLES {
        let system = source.row("", &["r", "b", "w", "in", "sy", "cs"], whole);
        let memory = source.row("", &memory, whole);
        let disks = source.row("", &["s0", "s1"], whole);
        let cpu = source.row("all", &CPU[..3], whole);
        let all = [&system[..3], &memory, &disks, &system[3..], &cpu].concat();
        let _ = writeln!(text, "{}", padded(&all, 2));
    }
    text
}

fn vmstat_disks(source: &mut Source) -> String {
    let columns = [
        "reads",
        "reads merged",
        "reads sectors",
        "reads ms",
        "writes",
        "writes merged",
        "writes sectors",
        "writes ms",
        "cur",
        "sec",
    ];
    let mut text = String::new();
    for _ in 0..SAMPLES {
        text.push_str("disk- ------------reads------------ ------------writes----------- -----IO------\n");
        text.push_str("       total merged sectors      ms  total merged sectors      ms    cur    sec\n");
        for name in source.things() {
            let fields = source.row(name, &columns, whole);
            let _ = writeln!(text, "{name:<6}{}", padded(&fields, 6));
        }
    }
    text
}

fn vmstat_s(source: &mut Source) -> String {
    let mut text = String::new();
    for name in
        ["K total memory", "K used memory", "non-nice user cpu ticks", "IO-wait cpu ticks", "CPU context switches"]
    {
        let value = source.row("", &[name], whole);
        let _ = writeln!(text, "{:>13} {name}", value[0]);
    }
    text
}

/// Processes under these headings; commands may hold blanks.
fn pidstat(source: &mut Source, columns: &[&str]) -> String {
    let heads: Vec<String> = columns.iter().map(|column| (*column).to_string()).collect();
    let mut text = format!("{BANNER}\n10:27:19      UID       PID{}  Command\n", padded(&heads, 7));
    let all = [&["UID"], columns].concat();
    for at in 0..SAMPLES {
        for (pid, command) in [(1, "init"), (22, "Web Content 3"), (4_194_303, "kworker/u8:0-ext4-rsv-conversion")] {
            let fields = source.row(&format!("{pid} {command}"), &all, |column, known| match column {
                "UID" | "CPU" | "iodelay" => known.whole(),
                _ => known.fixed(2),
            });
            let rest = padded(&fields[1..], 7);
            let _ = writeln!(text, "10:27:{} {:>8} {pid:>9}{rest}  {command}", 20 + at, fields[0]);
        }
    }
    text
}

fn iostat_cpu(source: &mut Source) -> String {
    let columns = ["%user", "%nice", "%system", "%iowait", "%steal", "%idle"];
    let mut text = format!("{BANNER}\n");
    for _ in 0..SAMPLES {
        let fields = source.row("all", &columns, two_digits);
        let _ = writeln!(text, "avg-cpu:  {}\n         {}\n", columns.join("   "), padded(&fields, 7));
    }
    text
}

/// zpool's times: whole numbers of the greatest unit; a mark for none.
fn zpool_time(known: &Known) -> Field {
    const UNITS: [(&str, f64); 5] = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("?", 1e3)];
    let (mut value, mut at) = (known.value().round(), 0);
    if value == 0.0 {
        return word("-");
    }
    while value >= 1000.0 && at + 1 < UNITS.len() {
        (value, at) = (value / 1000.0, at + 1);
    }
    (format!("{}{}", value.floor(), UNITS[at].0), Some((value.floor() * UNITS[at].1, 0.0)))
}

const ZPOOL: [&str; 6] =
    ["capacity alloc", "capacity free", "operations read", "operations write", "bandwidth read", "bandwidth write"];

/// With -l and -v; `is_exact`: with -p, which has bytes, and times in ns.
fn zpool_waits(source: &mut Source, is_exact: bool) -> String {
    let waits = ["total_wait read", "total_wait write", "disk_wait read", "disk_wait write", "scrub wait", "trim wait"];
    let columns = [&ZPOOL[..], &waits].concat();
    let mut text = String::new();
    text.push_str("              capacity     operations     bandwidth    total_wait     disk_wait    scrub   trim\n");
    text.push_str("pool        alloc   free   read  write   read  write   read  write   read  write   wait   wait\n");
    text.push_str("----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----\n");
    for _ in 0..SAMPLES {
        for (thing, shown) in [("tank", "tank"), ("tank/mirror", "  mirror"), ("tank/mirror/sda", "    sda")] {
            let fields = source.row(thing, &columns, |column, known| match (column.contains("wait"), is_exact) {
                (true, false) => zpool_time(known),
                (true, true) if known.value().round() == 0.0 => word("-"),
                (true, true) => {
                    let (text, expect) = known.whole();
                    (text, expect.map(|(value, _)| (value * 1e-9, 0.0)))
                }
                (false, true) => known.whole(),
                (false, false) => known.zpool(),
            });
            let _ = writeln!(text, "{shown:<10}{}", padded(&fields, 6));
        }
    }
    text
}

fn netstat_s(source: &mut Source) -> String {
    let mut text = String::new();
    for (protocol, of) in [
        ("Ip", &[("total packets received", "Ip: total packets received")][..]),
        ("Tcp", &[("segments received", "TcpInSegs"), ("segments retransmitted", "TcpRetransSegs")]),
        (
            "TcpExt",
            &[
                ("", "TcpExtTCPTimeouts"),
                ("packets pruned from receive queue", "TcpExt: packets pruned from receive queue"),
            ],
        ),
    ] {
        let _ = writeln!(text, "{protocol}:");
        for (phrase, column) in of {
            let value = source.row("", &[column], whole);
            let _ = match phrase.is_empty() {
                true => writeln!(text, "    TCPTimeouts: {}", value[0]),
                false => writeln!(text, "    {} {phrase}", value[0]),
            };
        }
    }
    text
}

/// Fields of an object of JSON.
fn json(names: &[&str], fields: &[String]) -> String {
    names.iter().zip(fields).map(|(name, field)| format!(", \"{name}\": {field}")).collect()
}

fn sysstat_json(samples: &[String]) -> String {
    format!(
        "{{\"sysstat\": {{\n\"hosts\": [{{\"nodename\": \"vm\", \"sysname\": \"Linux\", \"release\": \"6.18\", \"number-of-cpus\": 2, \"date\": \"11/20/26\",\n\"statistics\": [\n{}\n]}}]}}}}\n",
        samples.join(",\n")
    )
}

fn iostat_json(source: &mut Source) -> String {
    let (cpu, disk) = (
        ["user", "nice", "system", "iowait", "steal", "idle"],
        ["r/s", "w/s", "rkB/s", "wkB/s", "r_await", "aqu-sz", "util"],
    );
    let mut samples = Vec::new();
    for _ in 0..SAMPLES {
        let of_cpu = json(&cpu, &source.row("all", &cpu, number(2)));
        let mut disks = Vec::new();
        for name in source.things() {
            disks.push(format!("{{\"disk_device\": \"{name}\"{}}}", json(&disk, &source.row(name, &disk, number(2)))));
        }
        samples.push(format!("{{\"avg-cpu\": {{{}}}, \"disk\": [{}]}}", &of_cpu[2..], disks.join(", ")));
    }
    sysstat_json(&samples)
}

fn sadf_json(source: &mut Source) -> String {
    let (memory, net) =
        (["memfree", "memused", "memused-percent"], ["rxpck", "txpck", "rxkB", "txkB", "ifutil-percent"]);
    let mut samples = Vec::new();
    for at in 0..SAMPLES {
        let mut links = Vec::new();
        for name in source.things() {
            links.push(format!("{{\"iface\": \"{name}\"{}}}", json(&net, &source.row(name, &net, number(2)))));
        }
        let memory = json(
            &memory,
            &source.row("", &memory, |column, known| {
                if column == "memused-percent" { number(2)(column, known) } else { known.whole() }
            }),
        );
        samples.push(format!(
            "{{\"timestamp\": {{\"date\": \"2026-11-20\", \"time\": \"10:27:2{at}\", \"utc\": 1, \"interval\": 1}}, \"network\": {{\"net-dev\": [{}]}}, \"memory\": {{{}}}}}",
            links.join(", "),
            &memory[2..]
        ));
    }
    sysstat_json(&samples)
}

/// prstat's size: KiB in four digits, rounded twice at most.
fn prstat_size(known: &Known) -> Field {
    let kib = (known.value() % 1e10).round();
    let (mut value, mut letter, mut digit) = (kib, 'K', 0.0);
    for next in ['M', 'G'] {
        if value >= 10_000.0 {
            digit = digit / 1024.0 + 0.5;
            (value, letter) = (((value + 512.0) / 1024.0).floor(), next);
        }
    }
    let scale = match letter {
        'K' => 1.0,
        'M' => 1024.0,
        _ => 1_048_576.0,
    };
    (format!("{value}{letter}"), Some((kib, (digit + 0.01) * scale)))
}

fn prstat_percent(known: &Known, behind: &str) -> Field {
    let value = known.value().min(100.0);
    let digits = usize::from(value < 9.95);
    let (text, expect) = Known::Value(value).fixed(digits);
    (format!("{text}{behind}"), expect)
}

/// prstat's counts: cut to thousands, and to hundreds of thousands behind a point.
fn prstat_count(known: &Known) -> Field {
    let value = (known.value() % 2e9).floor();
    let (text, unit) = match value {
        value if value >= 1e5 => (format!(".{}M", (value / 1e5).floor()), 1e5),
        value if value >= 1e3 => (format!("{}K", (value / 1e3).floor()), 1e3),
        value => (format!("{value}"), 1.0),
    };
    (text, Some(((value / unit).floor() * unit, 0.0)))
}

fn prstat(source: &mut Source) -> String {
    let columns = ["USERNAME", "SIZE", "RSS", "STATE", "PRI", "NICE", "TIME", "CPU", "NLWP"];
    let loads = ["processes", "lwps", "ldavg-1", "ldavg-5", "ldavg-15"];
    let mut text = String::new();
    for _ in 0..SAMPLES {
        text.push_str("   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP\n");
        for (pid, name) in [(1, "init"), (7141, "mysqld"), (29_999, "a-long-name/x")] {
            let fields = source.row(&format!("{pid} {name}"), &columns, |column, known| match column {
                "USERNAME" => word("mysql"),
                "STATE" => word("cpu127"),
                "NICE" => word("RT"),
                "SIZE" | "RSS" => prstat_size(known),
                "TIME" => {
                    let seconds = (known.value() % 3.6e6).floor();
                    let [hours, minutes, rest] =
                        [seconds / 3600.0, seconds % 3600.0 / 60.0, seconds % 60.0].map(f64::floor);
                    (format!("{hours:>3}:{minutes:02}:{rest:02}"), Some((seconds, 0.0)))
                }
                "CPU" => prstat_percent(known, "%"),
                _ => Known::Value(known.value() % 1e5).whole(),
            });
            let _ = writeln!(text, "{pid:>6}{} {name}/{}", padded(&fields[..8], 5), fields[8]);
        }
        let total =
            source.row(
                "",
                &loads,
                |column, known| {
                    if column.starts_with("ldavg") { number(2)(column, known) } else { known.whole() }
                },
            );
        let _ = writeln!(
            text,
            "Total: {} processes, {} lwps, load averages: {}",
            total[0],
            total[1],
            total[2..].join(", ")
        );
    }
    text
}

fn prstat_m(source: &mut Source) -> String {
    let columns =
        ["USERNAME", "USR", "SYS", "TRP", "TFL", "DFL", "LCK", "SLP", "LAT", "VCX", "ICX", "SCL", "SIG", "NLWP"];
    let mut text = String::new();
    for _ in 0..SAMPLES {
        text.push_str("   PID USERNAME USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG PROCESS/NLWP\n");
        for (pid, name) in [(1, "init"), (7141, "mysqld")] {
            let fields = source.row(&format!("{pid} {name}"), &columns, |column, known| match column {
                "USERNAME" => word("root"),
                "VCX" | "ICX" | "SCL" | "SIG" => prstat_count(known),
                "NLWP" => Known::Value(known.value() % 1e5).whole(),
                _ => prstat_percent(known, ""),
            });
            let _ = writeln!(text, "{pid:>6}{} {name}/{}", padded(&fields[..13], 3), fields[13]);
        }
    }
    text
}

fn pstime(source: &mut Source) -> String {
    let mut text = String::new();
    for _ in 0..SAMPLES {
        text.push_str(" UID   PID  %USR  %SYS COMMAND\n");
        for (pid, command) in
            [(7141, "/usr/sbin/mysqld --defaults-file=/etc/my.cnf"), (19_870, "sysbench --threads=16 run")]
        {
            let fields = source.row(&format!("{pid} {command}"), &["UID", "%USR", "%SYS"], |column, known| {
                if column == "UID" { word("mysql") } else { number(3)(column, known) }
            });
            let _ = writeln!(text, "{:>8} {pid:>5} {:>6} {:>6} {command}", fields[0], fields[1], fields[2]);
        }
    }
    text
}

/// A distribution of powers of two: from where it begins, and the count of each.
fn quantize(source: &mut Source) -> String {
    let values = ["-2", "-1", "0", "1", "2", "4", "1024", "4611686018427387904", "9223372036854775807"];
    let mut text = String::new();
    for _ in 0..SAMPLES {
        for title in ["/dev/dsk/c0t0d0s0", "block access count of sd1,0:h"] {
            let counts = source.row(title, &values, whole);
            let _ = writeln!(text, "  {title}\n           value  ------------- Distribution ------------- count    ");
            for (value, count) in values.iter().zip(counts) {
                let _ = writeln!(text, "{value:>16} |{:<40} {count:<9}", if count == "0" { "" } else { "@@@@" });
            }
            text.push('\n');
        }
    }
    text
}

fn dtrace_named(source: &mut Source) -> String {
    let columns = ["reads", "writes", "async-ios"];
    let mut text = String::new();
    for at in 0..SAMPLES {
        let fields = source.row("", &columns, |_, known| signed(known, 0));
        let named: Vec<String> =
            columns.iter().zip(fields).map(|(name, field)| format!("{name} : {field:>7}")).collect();
        let _ = writeln!(text, "2009 Jun 15 13:11:{}: {}", 39 + at, named.join(", "));
    }
    text
}

fn dtrace_bare(source: &mut Source) -> String {
    let columns = ["s8-tk/1000", "s9-tk/1000", "ns/1000"];
    let mut text = format!("NCPUs = 2\nDate-time {}\n", columns.join(" "));
    for at in 0..SAMPLES {
        let fields = source.row("", &columns, |_, known| signed(known, 2));
        let _ = writeln!(text, "2007 Aug 16 12:12:{} {}", 14 + at, fields.join(" "));
    }
    text
}

fn zpool_status(source: &mut Source) -> String {
    let columns = ["STATE", "READ", "WRITE", "CKSUM"];
    let mut text =
        "  pool: tank\n state: ONLINE\n  scan: none requested\nconfig:\n\n\tNAME        STATE     READ WRITE CKSUM\n"
            .to_string();
    for (name, depth) in [("tank", 0), ("mirror-0", 2), ("c3t5000C5001586BE93d0", 4), ("sdb", 4)] {
        let fields = source.row(name, &columns, |column, known| match column {
            "STATE" => word("ONLINE"),
            _ => known.zpool(),
        });
        let _ = writeln!(text, "\t{:depth$}{name:<10}{}", "", padded(&fields, 5));
    }
    text + "\nerrors: No known data errors\n"
}

fn netperf(source: &mut Source) -> String {
    let columns =
        ["receive socket (bytes)", "send socket (bytes)", "message (bytes)", "elapsed (s)", "throughput (bit/s)"];
    let mut text = String::new();
    for (at, (unit, bits)) in
        [("10^3bits/sec", 1e3), ("10^6bits/sec", 1e6), ("10^9bits/sec", 1e9), ("KBytes/sec", 8192.0)]
            .into_iter()
            .enumerate()
    {
        let fields = source.row(&format!("TCP STREAM TEST to 10.0.0.{at}"), &columns, |column, known| match column {
            "elapsed (s)" => number(2)(column, known),
            "throughput (bit/s)" => {
                let (text, expect) = number(2)(column, known);
                (text, expect.map(|(value, digit)| (value * bits, digit * bits)))
            }
            _ => known.whole(),
        });
        let _ = writeln!(
            text,
            "TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.{at} (10.0.0.{at}) port 0 AF_INET\n\
             Recv   Send    Send                          \nSocket Socket  Message  Elapsed              \n\
             Size   Size    Size     Time     Throughput  \nbytes  bytes   bytes    secs.    {unit}  \n\n\
             {:>6} {:>6} {:>6}    {:<6}   {:>7}   ",
            fields[0], fields[1], fields[2], fields[3], fields[4]
        );
    }
    text
}

fn time(source: &mut Source) -> String {
    let columns = ["real (s)", "user (s)", "sys (s)"];
    let mut text = String::new();
    for command in ["sleep 1", "tar cf /dev/null /usr", "sleep 1"] {
        let fields = source.row(command, &columns, |_, known| {
            let ms = (known.value() * 1e3).min(1e15).round();
            let minutes = (ms / 60_000.0).floor();
            let rest = ms - minutes * 60_000.0;
            (format!("{minutes}m{:.3}s", rest / 1e3), Some((ms / 1e3, 0.000_5)))
        });
        let _ = writeln!(text, "$ time {command}\n\nreal\t{}\nuser\t{}\nsys\t{}", fields[0], fields[1], fields[2]);
    }
    text
}

fn rfileio(source: &mut Source) -> String {
    let files = ["/media/d001/a/nfs.wsx", "/export/my pictures/2009 06 15.jpg"];
    let mut text = String::new();
    for (title, what) in [("Read IOPS", "count"), ("Read Bandwidth", "KB")] {
        let _ = writeln!(text, "{title}, top 20 ({what})");
        for level in ["logical", "physical"] {
            let column = format!("{title} ({what}), {level}");
            for file in files {
                let value = source.row(file, &[&column], whole);
                let _ = writeln!(text, "{file:<54} {level:>10} {:>10}", value[0]);
            }
        }
        text.push('\n');
    }
    text
}

fn lockstat(source: &mut Source) -> String {
    let (whole_columns, columns) = (["events", "seconds", "events/sec"], ["Count", "%", "cuml%"]);
    let mut text = String::new();
    for _ in 0..SAMPLES {
        let all = source.row("profiling interrupt", &whole_columns, |column, known| {
            if column == "seconds" { number(3)(column, known) } else { known.whole() }
        });
        let _ = writeln!(
            text,
            "Profiling interrupt: {} events in {} seconds ({} events/sec) Count % cuml% Caller[PIL]",
            all[0], all[1], all[2]
        );
        for function in ["disp_getwork[11]", "(usermode)", "mutex_enter by thread 7"] {
            let fields = source.row(function, &columns, |column, known| {
                if column == "Count" { known.whole() } else { number(2)(column, known) }
            });
            let _ = writeln!(text, "{:>8} {:>5} {:>6} {function}", fields[0], fields[1], fields[2]);
        }
    }
    text
}

/// Whole numbers with commas; what is wider than its column is `#`s, as Oracle prints it.
fn grouped(known: &Known, width: usize) -> Field {
    let (digits, expect) = known.whole();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if text.len() > width { ("#".repeat(width), None) } else { (text, expect) }
}

fn oracle(source: &mut Source) -> String {
    let columns = ["Waits", "Time (s)", "Avg wait (ms)", "%Total Call Time"];
    let mut text = "Top 5 Timed Events                                         Avg %Total\n".to_string();
    text.push_str("~~~~~~~~~~~~~~~~~~                                        wait   Call\n");
    text.push_str("Event                                 Waits    Time (s)   (ms)   Time\n");
    text.push_str("------------------------------ ------------ ----------- ------ ------\n");
    for event in ["gc cr block 2-way", "CPU time", "log file sync"] {
        let fields = source.row(event, &columns, |column, known| match column {
            "Waits" | "Avg wait (ms)" if event == "CPU time" => word(""),
            "Waits" => grouped(known, 12),
            "Time (s)" => grouped(known, 11),
            "Avg wait (ms)" => grouped(known, 6),
            _ => Known::Value(known.value() % 100.0).fixed(1),
        });
        let _ = writeln!(text, "{event:<30}{:>13}{:>12}{:>7}{:>7}", fields[0], fields[1], fields[2], fields[3]);
    }
    text
}

fn compressors(source: &mut Source) -> String {
    let mut text = "Utility Reduction (%) Elapsed (s) ".to_string();
    for name in ["tamp", "pigz --fast", "gzip 9"] {
        let fields = source.row(name, &["Reduction (%)", "Elapsed (s)"], number(2));
        let _ = writeln!(text, "{name} {} {}", fields[0], fields[1]);
    }
    text
}

/// Rows without blanks, each with two decimals; where the connections end shows in that what follows differs.
fn loads(source: &mut Source) -> String {
    let columns = ["tps (1/s)", "mysqld %usr", "mysqld %sys", "mysqld %cpu", "avg-resp (ms)", "95%-resp (ms)"];
    let mut text = "connectionstpsmysqld%usrmysqld%sysmysqld%cpuavg-resp95%-resp".to_string();
    for lead in ["1", "9", "5"] {
        let fields = source.row("2048 connections", &columns, |column, known| {
            if column.starts_with("tps") {
                let value: f64 = format!("{lead}{:.2}", known.value() % 1e9).parse().expect("a number");
                return Known::Value(value).fixed(2);
            }
            number(2)(column, known)
        });
        text.push_str(&format!("2048{}", fields.concat()));
    }
    text + "\n"
}

/// What any program prints: numbers of either sign, with exponents, and words for none.
fn table(source: &mut Source) -> String {
    let columns = ["rate", "delta", "share"];
    let mut text = format!("device {}\n", columns.join(" "));
    for _ in 0..SAMPLES {
        for name in ["sda", "vda", "dm-0"] {
            let fields = source.row(name, &columns, |column, known| match (column, known) {
                ("delta", Known::Value(value)) => (format!("{:e}", -value), Some((-value, 0.0))),
                (_, known) => signed(known, 2),
            });
            let _ = writeln!(text, "{name} {}", fields.join(" "));
        }
    }
    text
}

fn ss_details(source: &mut Source) -> String {
    let mut text = "State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n".to_string();
    for name in source.things() {
        let of = format!("ESTAB {name} 10.0.0.1:80");
        let queues = source.row(&of, &["Recv-Q", "Send-Q"], whole);
        let [cwnd, bytes] = ["cwnd", "bytes_acked"].map(|column| source.row(&of, &[column], whole).remove(0));
        let _ = writeln!(text, "ESTAB  {} {name} 10.0.0.1:80\n\t cwnd:{cwnd} bytes_acked:{bytes}", queues.join(" "));
    }
    text
}

/// mpstat, and what sar has of queues and of pages.
fn sysstat(which: usize, source: &mut Source) -> String {
    source.names = match which {
        0 => vec!["all", "0", "127"],
        _ => source.names.clone(),
    };
    match which {
        0 => sar(source, ("CPU", ""), &["%usr", "%nice", "%sys", "%iowait", "%steal", "%idle"], two_digits),
        1 => sar(source, ("", ""), &["runq-sz", "plist-sz", "ldavg-1", "ldavg-5", "ldavg-15", "blocked"], two_digits),
        _ => sar(source, ("", ""), &["pgpgin/s", "pgpgout/s", "fault/s", "majflt/s", "%vmeff"], two_digits),
    }
}

/// These printers, with the format that reads them.
pub(super) fn printed(which: usize, source: &mut Source) -> Option<(&'static str, String)> {
    let old = ["rrqm/s", "wrqm/s", "r/s", "w/s", "rsec/s", "wsec/s", "avgrq-sz", "avgqu-sz", "await", "svctm", "%util"];
    Some(match which {
        0 => ("vmstat", vmstat_wide(source)),
        1 => ("vmstat", vmstat_solaris(source)),
        2 => ("vmstat", vmstat_disks(source)),
        3 => ("vmstat", vmstat_s(source)),
        4 => ("sysstat", pidstat(source, &["%usr", "%system", "%guest", "%wait", "%CPU", "CPU"])),
        5 => ("sysstat", pidstat(source, &["kB_rd/s", "kB_wr/s", "kB_ccwr/s", "iodelay"])),
        6 => ("iostat", iostat_cpu(source)),
        7 => ("zpool-iostat", zpool_waits(source, false)),
        8 => ("zpool-iostat", zpool_waits(source, true)),
        9 => ("netstat", netstat_s(source)),
        10 => ("sysstat-json", iostat_json(source)),
        11 => ("sysstat-json", sadf_json(source)),
        12 => ("prstat", prstat(source)),
        13 => ("prstat", prstat_m(source)),
        14 => ("prstat", pstime(source)),
        15 => ("dtrace", quantize(source)),
        16 => ("dtrace", dtrace_named(source)),
        17 => ("dtrace", dtrace_bare(source)),
        18 => ("zpool-status", zpool_status(source)),
        19 => ("netperf", netperf(source)),
        20 => ("time", time(source)),
        21 => ("rfileio", rfileio(source)),
        22 => ("lockstat", lockstat(source)),
        23 => ("oracle", oracle(source)),
        24 => ("glued", compressors(source)),
        25 => ("glued", loads(source)),
        26 => ("table", table(source)),
        27 => ("ss", ss_details(source)),
        28..=30 => ("sysstat", sysstat(which - 28, source)),
        31 => ("iostat", iostat(source, &old, false, two_digits)),
        _ => return None,
    })
}
