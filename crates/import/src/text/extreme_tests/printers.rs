//! Printers of the tools that tell of disks, links, CPUs and memory in rows under a heading.

use super::{Field, Known, Source, others, padded};
use std::fmt::Write as _;

/// So often each thing is printed.
pub(super) const SAMPLES: usize = 3;
pub(super) const BANNER: &str = "Linux 6.18.44 (db7) \t11/20/26 \t_x86_64_\t(2 CPU)\n";
const NET: [&str; 11] = ["rKB/s", "wKB/s", "rPk/s", "wPk/s", "%Util", "Sat", "IErr", "OErr", "Coll", "NoCP", "Defer"];
const SAR_DISK: [&str; 8] = ["tps", "rkB/s", "wkB/s", "dkB/s", "areq-sz", "aqu-sz", "await", "%util"];

fn nicstat_field(is_parseable: bool) -> impl Fn(&str, &Known) -> Field {
    move |column, known| match column {
        "%Util" | "Sat" | "IErr" | "OErr" | "Coll" | "NoCP" | "Defer" => known.small(),
        _ => known.nicstat(is_parseable),
    }
}

fn nicstat_p(source: &mut Source, columns: &[&str]) -> String {
    let mut text = String::new();
    for at in 0..SAMPLES {
        for name in source.things() {
            let fields = source.row(name, columns, nicstat_field(true));
            let _ = writeln!(text, "{}:{name}:{}", 1_795_170_446 + at, fields.join(":"));
        }
    }
    text
}

fn nicstat_tcp(source: &mut Source) -> String {
    let mut text = String::new();
    for at in 0..SAMPLES {
        for (name, columns) in [("TCP", &super::super::nicstat::TCP[..]), ("UDP", &super::super::nicstat::UDP[..])] {
            let fields = source.row("", columns, nicstat_field(true));
            let _ = writeln!(text, "{}:{name}:{}", 1_795_170_446 + at, fields.join(":"));
        }
    }
    text
}

fn nicstat_plain(source: &mut Source) -> String {
    let columns = ["rKB/s", "wKB/s", "rPk/s", "wPk/s", "rAvs", "wAvs", "%Util", "Sat"];
    let mut text = String::new();
    for at in 0..SAMPLES {
        text.push_str("    Time      Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs %Util    Sat\n");
        for name in source.things() {
            let fields = source.row(name, &columns, nicstat_field(false));
            let _ = writeln!(text, "10:27:{:02} {name:>8}{}", 19 + at, padded(&fields, 7));
        }
    }
    text
}

fn nicstat_x(source: &mut Source) -> String {
    let columns = ["RdKB", "WrKB", "RdPkt", "WrPkt", "IErr", "OErr", "Coll", "NoCP", "Defer", "%Util"];
    let mut text = String::new();
    for at in 0..SAMPLES {
        let _ = writeln!(text, "10:27:{}      {}", 23 + at, columns.join("    "));
        for name in source.things() {
            let fields = source.row(name, &columns, nicstat_field(false));
            let _ = writeln!(text, "{name:<10}{}", padded(&fields, 7));
        }
    }
    text
}

/// sar with these columns: the name stands first, last, or nowhere.
pub(super) fn sar(
    source: &mut Source,
    (first, last): (&str, &str),
    columns: &[&str],
    print: impl Fn(&str, &Known) -> Field + Copy,
) -> String {
    let heads: Vec<String> = columns.iter().map(|column| (*column).to_string()).collect();
    let mut text = format!("{BANNER}\n10:00:00 {first:>12}{} {last}\n", padded(&heads, 9));
    for at in 1..=SAMPLES {
        let names = if first.is_empty() && last.is_empty() { vec![""] } else { source.things() };
        for name in names {
            let fields = source.row(name, columns, print);
            let [before, behind] = if last.is_empty() { [name, ""] } else { ["", name] };
            let _ = writeln!(text, "10:00:{at:02} {before:>12}{} {behind}", padded(&fields, 9));
        }
    }
    text
}

pub(super) fn two_digits(_: &str, known: &Known) -> Field {
    known.fixed(2)
}

fn human(column: &str, known: &Known) -> Field {
    match column {
        column if column.starts_with('%') => known.percent(),
        "rxkB/s" | "txkB/s" => {
            let bytes = Known::Value(known.value() * 1024.0);
            let (text, expect) = bytes.human(0);
            (text, expect.map(|(value, digit)| (value / 1024.0, digit / 1024.0)))
        }
        "kbmemfree" | "rkB/s" | "wkB/s" | "dkB/s" | "areq-sz" | "kB_read/s" | "kB_wrtn/s" | "kB_dscd/s" => {
            known.human(1)
        }
        "MBfsfree" => known.human(2),
        _ => Known::Value(known.value()).fixed(2),
    }
}

pub(super) fn iostat(
    source: &mut Source,
    columns: &[&str],
    is_last: bool,
    print: impl Fn(&str, &Known) -> Field + Copy,
) -> String {
    let mut text = format!("{BANNER}\n");
    for _ in 0..SAMPLES {
        let (first, last) = if is_last { ("", "Device") } else { ("Device", "") };
        let _ = writeln!(text, "{first:<13} {} {last}", columns.join("  "));
        for name in source.things() {
            let fields = source.row(name, columns, print);
            let (first, last) = if is_last { ("", name) } else { (name, "") };
            let _ = writeln!(text, "{first:<13}{} {last}", padded(&fields, 8));
        }
        text.push('\n');
    }
    text
}

/// Columns of seven letters without a blank between.
fn iostat_solaris(source: &mut Source) -> String {
    let columns = ["r/s", "w/s", "kr/s", "kw/s", "wait", "actv", "wsvc_t", "asvc_t", "%w", "%b"];
    let mut text = String::new();
    for _ in 0..SAMPLES {
        text.push_str("                    extended device statistics\n");
        text.push_str("    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n");
        for name in source.things() {
            let fields = source.row(name, &columns, |column, known| match column {
                "%w" | "%b" => known.whole(),
                _ => Known::Value(known.value()).fixed(1),
            });
            let glued: String = fields[..8].iter().map(|field| format!("{field:>7}")).collect();
            let _ = writeln!(text, "{glued}{} {name}", padded(&fields[8..], 3));
        }
    }
    text
}

fn vmstat(source: &mut Source) -> String {
    let groups: [(&str, &[&str]); 3] = [
        ("", &["r", "b", "in", "cs"]),
        ("", &["swpd", "free", "buff", "cache", "si", "so", "bi", "bo"]),
        ("all", &["us", "sy", "id", "wa", "st"]),
    ];
    let mut text = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n".to_string();
    for _ in 0..SAMPLES {
        let [system, memory, cpu] = groups.map(|(thing, names)| source.row(thing, names, |_, known| known.whole()));
        let all = [&system[..2], &memory, &system[2..], &cpu].concat();
        let _ = writeln!(text, "{}", padded(&all, 3));
    }
    text
}

fn mpstat_solaris(source: &mut Source) -> String {
    let columns = [
        "minf", "mjf", "xcal", "intr", "ithr", "csw", "icsw", "migr", "smtx", "srw", "syscl", "usr", "sys", "wt", "idl",
    ];
    let mut text = String::new();
    for _ in 0..SAMPLES {
        let _ = writeln!(text, "CPU {}", columns.join(" "));
        for cpu in ["0", "1", "128"] {
            let fields = source.row(cpu, &columns, |_, known| known.whole());
            let _ = writeln!(text, "{cpu:>3}{}", padded(&fields, 4));
        }
    }
    text
}

fn zpool(source: &mut Source) -> String {
    let columns =
        ["capacity alloc", "capacity free", "operations read", "operations write", "bandwidth read", "bandwidth write"];
    let mut text = String::new();
    for at in 0..SAMPLES {
        if at == 0 {
            text.push_str("               capacity     operations    bandwidth\n");
            text.push_str("pool        alloc   free   read  write   read  write\n");
            text.push_str("----------  -----  -----  -----  -----  -----  -----\n");
        }
        for name in source.things() {
            let fields = source.row(name, &columns, |_, known| known.zpool());
            let _ = writeln!(text, "{name:<10}{}", padded(&fields, 6));
        }
    }
    text
}

fn nstat(source: &mut Source) -> String {
    let mut text = "#kernel\n".to_string();
    for name in ["IpInReceives", "TcpInSegs", "UdpInDatagrams"] {
        let value = source.row("", &[name], |_, known| known.whole());
        let _ = writeln!(text, "{name:<32}{:<18} 0.0", value[0]);
    }
    text
}

fn netstat(source: &mut Source) -> String {
    let mut text = String::new();
    for name in ["tcpInSegs", "tcpListenDrop"] {
        let value = source.row("", &[name], |_, known| known.whole());
        let _ = writeln!(text, "{name} ={}", value[0]);
    }
    text
}

fn ss(source: &mut Source) -> String {
    let mut text = "State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n".to_string();
    for name in source.things() {
        let of = format!("ESTAB {name} 10.0.0.1:80");
        let queues = source.row(&of, &["Recv-Q", "Send-Q"], |_, known| known.whole());
        let _ = writeln!(text, "ESTAB  {} {name} 10.0.0.1:80", queues.join(" "));
    }
    text
}

/// All printers, with the format that reads them.
pub(super) fn printed(which: usize, source: &mut Source) -> Option<(&'static str, String)> {
    let net = ["rxpck/s", "txpck/s", "rxkB/s", "txkB/s", "%ifutil"];
    let fs = ["MBfsfree", "%fsused", "Ifree"];
    let disks = ["tps", "kB_read/s", "kB_wrtn/s", "kB_dscd/s"];
    let io = ["r/s", "rkB/s", "r_await", "w/s", "wkB/s", "w_await", "f/s", "f_await", "aqu-sz", "%util"];
    Some(match which {
        0 => ("nicstat", nicstat_p(source, &NET[..6])),
        1 => ("nicstat", nicstat_p(source, &NET[..2])),
        2 => ("nicstat", nicstat_p(source, &NET)),
        3 => ("nicstat", nicstat_tcp(source)),
        4 => ("nicstat", nicstat_plain(source)),
        5 => ("nicstat", nicstat_x(source)),
        6 => ("sysstat", sar(source, ("DEV", ""), &SAR_DISK, two_digits)),
        7 => ("sysstat", sar(source, ("", "DEV"), &SAR_DISK, two_digits)),
        8 => ("sysstat", sar(source, ("", "DEV"), &SAR_DISK, human)),
        9 => ("sysstat", sar(source, ("IFACE", ""), &net, two_digits)),
        10 => ("sysstat", sar(source, ("", "IFACE"), &net, human)),
        11 => ("sysstat", sar(source, ("", "MOUNTPOINT"), &fs, two_digits)),
        12 => ("sysstat", sar(source, ("", "FILESYSTEM"), &fs, human)),
        13 => ("sysstat", sar(source, ("", ""), &["kbmemfree", "%memused"], human)),
        14 => ("sysstat", sar(source, ("CPU", ""), &["%usr", "%sys", "%idle"], two_digits)),
        15 => ("iostat", iostat(source, &disks, false, two_digits)),
        16 => ("iostat", iostat(source, &disks, true, human)),
        17 => ("iostat", iostat(source, &io, false, two_digits)),
        18 => ("iostat", iostat_solaris(source)),
        19 => ("vmstat", vmstat(source)),
        20 => ("mpstat-solaris", mpstat_solaris(source)),
        21 => ("zpool-iostat", zpool(source)),
        22 => ("netstat", nstat(source)),
        23 => ("netstat", netstat(source)),
        24 => ("ss", ss(source)),
        which => return others::printed(which - 25, source),
    })
}
