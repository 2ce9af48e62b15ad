//! What `stat` prints.

use super::*;
use rates::stat::StatOptions;

fn block(subject: CounterSubject, rows: &[(&str, f64)]) -> StatBlock {
    let rows = rows
        .iter()
        .map(|(name, value)| StatRow {
            name: (*name).to_string(),
            values: subject.columns().iter().map(|_| Some(*value)).collect(),
            texts: subject.texts().iter().map(|_| None).collect(),
        })
        .collect();
    StatBlock { subject, t_ns: 0, seconds: 1.0, since_boot: false, rows }
}

fn text(look: StatLook, blocks: &[StatBlock]) -> String {
    let wall = Box::new(|_| 1_795_170_446_500_000_000);
    let fold = StatFold::new(&[], &StatOptions::default());
    StatLines::new(VisibleOutput::new(Vec::new()), fold, look, wall).text(blocks)
}

#[test]
fn nicstats_fields() {
    let look = StatLook { form: StatForm::Parseable, ..StatLook::default() };
    let net = block(CounterSubject::Net, &[("eth0:1", 22.966)]);
    assert_eq!(
        text(look.clone(), std::slice::from_ref(&net)),
        "1795170446:eth0:1:22.97:22.97:22.97:22.97:22.97:22.97\n"
    );
    let extended = text(StatLook { extended: true, ..look.clone() }, &[net]);
    assert_eq!(extended.trim().split(':').count(), 13 + 1, "the name holds a colon");
    let tcp = text(look.clone(), &[block(CounterSubject::Tcp, &[("TCP", 0.0)])]);
    assert_eq!(tcp, "1795170446:TCP:?:?:0.000:0.000:0.000:0.000:0.000:0.000:0.000:0.000\n");
    let udp = text(look, &[block(CounterSubject::Udp, &[("UDP", 12_345.6)])]);
    assert_eq!(udp, "1795170446:UDP:12346:12346:12346:12346\n");
}

#[test]
fn nicstats_columns() {
    let lines = text(StatLook::default(), &[block(CounterSubject::Net, &[("eth0", 1.0), ("lo", 2.0)])]);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines[0], "    Time    Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs   %Util     Sat");
    assert_eq!(lines[1], "10:27:26   eth0    1.00    1.00    1.00    1.00    1.00    1.00    1.00    1.00");
    assert_eq!(lines.len(), 3);
}

#[test]
fn rows_are_left_out() {
    let net = block(CounterSubject::Net, &[("eth0", 0.0), ("lo", 2.0)]);
    let of =
        |look: StatLook| text(StatLook { form: StatForm::Csv, ..look }, std::slice::from_ref(&net)).lines().count() - 1;
    assert_eq!(of(StatLook::default()), 2);
    assert_eq!(of(StatLook { skip_idle: true, ..StatLook::default() }), 1);
    assert_eq!(of(StatLook { skip_loopback: true, ..StatLook::default() }), 1);
    assert_eq!(of(StatLook { only: vec!["wlan0".into()], ..StatLook::default() }), 0);
    let cpus = block(CounterSubject::Cpu, &[("all", 1.0), ("0", 1.0), ("1", 0.0)]);
    let of =
        |look: StatLook| text(StatLook { form: StatForm::Json, ..look }, std::slice::from_ref(&cpus)).lines().count();
    assert_eq!(of(StatLook::default()), 1);
    assert_eq!(of(StatLook { each: true, ..StatLook::default() }), 3);
    assert_eq!(of(StatLook { busy_cpus: true, ..StatLook::default() }), 2);
}

#[test]
fn unknown_is_never_zero() {
    let mut net = block(CounterSubject::Net, &[("eth0", 1.0)]);
    net.rows[0].values.fill(None);
    let of = |form| text(StatLook { form, ..StatLook::default() }, std::slice::from_ref(&net));
    assert!(of(StatForm::Columns).lines().nth(1).unwrap().contains('?'));
    assert!(of(StatForm::Json).contains("\"util_percent\":null"));
    assert!(of(StatForm::Csv).lines().nth(1).unwrap().ends_with(",,,"));
}

#[test]
fn nicstats_flags() {
    let net = block(CounterSubject::Net, &[("eth0", 1000.0), ("lo", 0.0)]);
    let heading = |look: StatLook| text(look, std::slice::from_ref(&net)).lines().next().unwrap().to_string();
    let summary = StatLook { summary: true, ..StatLook::default() };
    assert_eq!(heading(summary), "    Time    Int   rKB/s   wKB/s");
    let both = StatLook { both_directions: true, ..StatLook::default() };
    let expect = "    Time    Int   rKB/s   wKB/s   rPk/s   wPk/s    rAvs    wAvs  %rUtil  %wUtil     Sat";
    assert_eq!(heading(both), expect);
    let extended = StatLook { extended: true, ..StatLook::default() };
    let expect = "    Time    Int   rKB/s   wKB/s   rPk/s   wPk/s    IErr    OErr    Coll   IDrop   ODrop   qDrop   qOver     qKB   %Util     Sat";
    assert_eq!(heading(extended), expect);
    // 1000 KiB/s are 8.192 Mbit/s; what programs read stays as it is, as in nicstat.
    let megabits = StatLook { megabits: true, summary: true, skip_idle: true, ..StatLook::default() };
    let lines = text(megabits.clone(), std::slice::from_ref(&net));
    assert_eq!(lines, "    Time    Int rMbit/s wMbit/s\n10:27:26   eth0    8.19    8.19\n");
    let parseable = StatLook { form: StatForm::Parseable, ..megabits };
    assert!(text(parseable, std::slice::from_ref(&net)).starts_with("1795170446:eth0:1000.0:1000.0:"));
    // -a: TCP and UDP stand before the interfaces, each with a heading of its own; -n leaves loopback out.
    let all = StatLook { extended: true, skip_loopback: true, ..StatLook::default() };
    let blocks =
        [block(CounterSubject::Tcp, &[("TCP", 1.0)]), block(CounterSubject::Udp, &[("UDP", 2.0)]), net.clone()];
    let lines: Vec<String> = text(all, &blocks).lines().map(str::to_string).collect();
    let named = |line: &String| line.split_whitespace().nth(1).map(str::to_string).unwrap_or_default();
    assert_eq!(lines.iter().map(named).collect::<Vec<_>>(), ["InSeg", "TCP", "InDG", "UDP", "Int", "eth0"]);
}

#[test]
fn an_interval_without_rows_has_no_heading() {
    let process = block(CounterSubject::Process, &[("p", 1.0)]);
    let look = StatLook { only: vec!["q".into()], ..StatLook::default() };
    assert_eq!(text(look, std::slice::from_ref(&process)), "");
}

#[test]
fn cpu_time_of_processes_in_other_units() {
    let mut process = block(CounterSubject::Process, &[("p", 50.0)]);
    process.seconds = 2.0;
    let of = |cpu_unit| {
        let lines = text(StatLook { cpu_unit, ..StatLook::default() }, std::slice::from_ref(&process));
        let words = |line: usize| -> Vec<String> {
            lines.lines().nth(line).unwrap().split_whitespace().map(str::to_string).collect()
        };
        (words(0).join(" "), words(1)[3..6].join(" "))
    };
    assert_eq!(of(CpuUnit::OneCpu).1, "50.0000 50.0000 50.0000");
    assert_eq!(of(CpuUnit::System(256)).1, "0.1953 0.1953 0.1953");
    assert!(!of(CpuUnit::OneCpu).0.contains("minf/s"), "only when it is asked for");
    let extended = text(StatLook { extended: true, ..StatLook::default() }, std::slice::from_ref(&process));
    assert!(extended.lines().next().is_some_and(|heading| heading.ends_with("minf/s")), "{extended}");
    let (heading, figures) = of(CpuUnit::Seconds);
    assert_eq!(figures, "1.0000 1.0000 1.0000");
    assert!(heading.contains("usr s") && heading.contains("CPU s"), "{heading}");
}

#[test]
fn listeners_by_address_port_and_program() {
    let row = |name: &str, queue: f64, dropped: Option<f64>, comm: Option<&str>| StatRow {
        name: name.to_string(),
        values: vec![Some(queue), Some(5.0), Some(queue * 20.0), dropped, dropped, Some(4096.0), None],
        texts: vec![comm.map(str::to_string)],
    };
    let mut listen = block(CounterSubject::Listen, &[]);
    listen.rows = vec![
        row("127.0.0.1:1521", 6.0, Some(9.5), Some("tnslsnr")),
        row("[::]:80", 0.0, Some(0.0), Some("nginx")),
        row("0.0.0.0:8080", 0.0, None, None),
    ];
    let of = |only: &[&str], skip_idle: bool| -> Vec<String> {
        let only = only.iter().map(|name| (*name).to_string()).collect();
        let look = StatLook { only, skip_idle, ..StatLook::default() };
        let lines = text(look, std::slice::from_ref(&listen));
        lines.lines().map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")).collect()
    };
    let heading = "address Recv-Q backlog %full drops/s drops limit PID process";
    let [full, idle, unknown] = [
        "127.0.0.1:1521 6 5 120 9.50 10 4096 ? tnslsnr",
        "[::]:80 0 5 0.00 0.00 0 4096 ? nginx",
        "0.0.0.0:8080 0 5 0.00 ? ? 4096 ? ?",
    ];
    assert_eq!(of(&[], false), [heading, full, idle, unknown]);
    assert_eq!(of(&[], true), [heading, full], "what is not known is nothing that happened");
    assert_eq!(of(&["tnslsnr", "[::]:80"], false), [heading, full, idle]);
    assert_eq!(of(&["80"], false), [heading, idle], "a port, not the end of one");
}

#[test]
fn whole_numbers_are_whole_in_csv() {
    let process = block(CounterSubject::Process, &[("p", 26_172.0)]);
    let lines = text(StatLook { form: StatForm::Csv, ..StatLook::default() }, std::slice::from_ref(&process));
    assert!(lines.lines().nth(1).unwrap().contains(",26172,26172.000000,"), "{lines}");
}

#[test]
fn a_name_without_rows_is_reported_once() {
    use std::sync::{Arc, Mutex};
    let said = Arc::new(Mutex::new(Vec::new()));
    let look =
        StatLook { only: vec!["eth0".into(), "nosuch".into()], expected: vec!["lo".into()], ..StatLook::default() };
    let fold = StatFold::new(&[], &StatOptions::default());
    let mut lines = StatLines::new(VisibleOutput::new(Vec::new()), fold, look, Box::new(|_| 0));
    let to = Arc::clone(&said);
    lines.complain_to(Box::new(move |words| to.lock().unwrap().push(words.to_string())));
    lines.look_for_strangers(&[]);
    assert!(said.lock().unwrap().is_empty(), "there are no figures yet");
    for _ in 0..2 {
        lines.look_for_strangers(&[block(CounterSubject::Net, &[("eth0", 1.0), ("lo", 0.0)])]);
    }
    assert_eq!(*said.lock().unwrap(), ["there is no interface nosuch (yet)"]);
    assert_eq!(lines.strangers(), ["nosuch"]);
}
