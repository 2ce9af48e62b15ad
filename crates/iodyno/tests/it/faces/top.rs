//! `iodyno top RECORDING --once`: the figures of its rows, at the end of recordings that end with each sample.

use super::input::{Input, SAMPLES};
use super::oracle::{self, Figures};
use super::stat::figures;
use crate::support::Scratch;
use std::collections::BTreeMap;

/// Tables whose counters are in a figure of the first page; pressure is there as a mean of ten seconds, which is not compared.
pub const SHOWN: [&str; 9] = ["cpu", "cpu_event", "memory", "disk", "net", "tcp", "process", "process_event", "stolen"];

/// Compares the page of every sample; what differs.
pub fn check(scratch: &Scratch, input: &Input) -> Vec<String> {
    let mut differences = Vec::new();
    // A page needs an interval.
    for samples in 2..=SAMPLES {
        let name = format!("first{samples}");
        input.write_first(&scratch.path(&name), samples);
        let arguments = ["top", &name, "--once", "--size", "240x60"];
        let page = scratch.iodyno(&arguments).run().unwrap().expect_code(0).stdout;
        let sample = samples - 1;
        let mut found = resources(input, sample, &page);
        found.extend(processes(input, sample, &page));
        assert!(found.len() > 15, "few figures: {page}");
        for (place, shown, expected) in found {
            if !is_rounded(&shown, expected) {
                differences.push(format!("top {place}, sample {sample}: {shown}, not {expected:?}"));
            }
        }
    }
    differences
}

/// Place, text, expected figure.
type Shown = (String, String, Option<f64>);

/// Figures of the subjects' first thing.
fn of(input: &Input, subject: &str, name: &str, sample: usize) -> Figures {
    figures(input, subject, sample).remove(name).unwrap_or_default()
}

fn resources(input: &Input, sample: usize, page: &str) -> Vec<Shown> {
    let mut found = Vec::new();
    let row = |name: &str| -> Vec<String> {
        let rows = page.lines().skip_while(|line| !line.starts_with("RESOURCE"));
        // A mark of the chosen one, or of trouble, stands before it.
        let mut rows = rows.map(|line| line.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric()));
        let line = rows.find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no row {name}: {page}"));
        line.split_whitespace().map(str::to_string).collect()
    };
    // The word behind another.
    let after = |words: &[String], word: &str| {
        let at = words.iter().position(|one| one == word).unwrap_or_else(|| panic!("no {word} in {words:?}"));
        words[at + 1].clone()
    };
    let mut put = |place: &str, text: &str, expected: Option<f64>| {
        found.push((place.to_string(), text.to_string(), expected));
    };
    // By event where that is known.
    let clock = of(input, "cpu_clock", "all", sample);
    let words = row("cpu ");
    let busy = clock["event_busy_percent"].or(clock["tick_busy_percent"]);
    put("cpu busy", words[1].trim_start_matches('~'), busy);
    let memory = of(input, "mem", "memory", sample);
    let words = row("memory ");
    put("memory refaults", &after(&words, "refault"), memory["file_refaults_per_s"]);
    let swap = memory["swap_in_per_s"].zip(memory["swap_out_per_s"]).map(|(into, out)| into + out);
    put("memory swap", &after(&words, "swap"), swap);
    let words = row("disk ");
    let disk = of(input, "disk", &words[1], sample);
    let place = |what: &str| format!("disk {} {what}", words[1]);
    put(&place("busy"), &words[2], disk["util_percent"]);
    put(&place("rate"), &words[3], disk["ops_per_s"]);
    put(&place("bytes"), &words[4], disk["kib_per_s"].map(|kib| kib * 1024.0));
    put(&place("queue"), &after(&words, "queue"), disk["queue_size"]);
    let is_mean = disk["ops_per_s"].is_some_and(|ops| ops > 0.0);
    put(&place("mean"), &after(&words, "mean"), disk["await_ms"].filter(|_| is_mean).map(|ms| ms * 1e6));
    let words = row("net ");
    let net = of(input, "net", &words[1], sample);
    let place = |what: &str| format!("net {} {what}", words[1]);
    let way = |util: &str, kib: &str| net[util].or(net[kib].map(|kib| kib * 1024.0));
    put(&place("received"), &words[3], way("rx_util_percent", "rx_kib_per_s"));
    put(&place("sent"), &words[5], way("tx_util_percent", "tx_kib_per_s"));
    let drops = net["rx_drops_per_s"].zip(net["tx_drops_per_s"]).map(|(rx, tx)| rx + tx);
    let drops = drops.map(|drops| drops + net["qdisc_drops_per_s"].unwrap_or(0.0));
    put(&place("drops"), &after(&words, "drop"), drops);
    let tcp = of(input, "tcp", "TCP", sample);
    let words = row("tcp ");
    put("tcp opens", &after(&words, "in"), tcp["passive_opens_per_s"]);
    put("tcp drops", &after(&words, "drop"), tcp["listen_drops_per_s"]);
    put("tcp sent again", &after(&words, "retr"), tcp["retransmit_percent"]);
    put("tcp resets", &after(&words, "rst"), tcp["resets_per_s"]);
    found
}

fn processes(input: &Input, sample: usize, page: &str) -> Vec<Shown> {
    let titles = ["cpu%", "sys%", "pin ms", "runq ms", "io-wait", "rd B/s", "wr B/s", "majflt", "RSS", "minflt"];
    let mut found = Vec::new();
    for thing in 0..2 {
        let Some(process) = input.step("process", thing, sample).map(oracle::process) else { continue };
        let clocks = figures(input, "proc_clock", sample);
        let name = input.name("process", thing, "comm");
        let clock = &clocks[name];
        let title = format!("{name} {}", process["pid"].unwrap());
        let line =
            page.lines().find_map(|line| line.split_once(&title)).unwrap_or_else(|| panic!("no {title}: {page}"));
        let words: Vec<&str> = line.1.split_whitespace().collect();
        let cpu = clock["event_percent"].or(process["cpu_percent"]);
        let system = process["system_percent"].map(|system| cpu.map_or(system, |cpu| system.min(cpu)));
        let per_s = |share: Option<f64>| share.map(|share| share * 10.0);
        let bytes = |key: &str| process[key].map(|kib| kib * 1024.0);
        let expected = [
            cpu,
            system,
            per_s(clock["stolen_percent"]),
            per_s(clock["wait_percent"]),
            process["io_delay_percent"],
            bytes("read_kib_per_s"),
            bytes("write_kib_per_s"),
            process["major_faults_per_s"],
            process["resident_mib"].map(|mib| mib * 1_048_576.0),
            process["minor_faults_per_s"],
        ];
        assert_eq!(words.len(), titles.len(), "{line:?}");
        let by_title: BTreeMap<_, _> = titles.into_iter().zip(words.into_iter().zip(expected)).collect();
        found.extend(
            by_title.into_iter().map(|(title, (word, value))| (format!("{name} {title}"), word.to_string(), value)),
        );
    }
    found
}

/// Is the text the figure, rounded to the digits that it has?
fn is_rounded(text: &str, expected: Option<f64>) -> bool {
    if text.starts_with('?') {
        return expected.is_none();
    }
    let Some(expected) = expected else { return false };
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().unwrap_or_else(|_| panic!("{text}"));
    let decimals = text[..digits].split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let scale = match text[digits..].trim_end_matches("/s").trim_end_matches('B').trim_end_matches('%') {
        "" | "ns" => 1.0,
        "k" | "µs" => 1e3,
        "M" | "ms" => 1e6,
        "G" => 1e9,
        // Of a time.
        "s" => 1e9,
        other => panic!("{other} in {text}"),
    };
    let half = 0.5 / 10_f64.powi(i32::try_from(decimals).unwrap());
    (number - expected / scale).abs() <= half * 1.000_001
}
