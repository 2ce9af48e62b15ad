//! `iodyno report` and `iodyno chart`: the lines of every view of counters, in the page's model to the last bit, in a picture
//! to a tenth of a pixel.

use super::cases::CASES;
use super::input::{BEGAN_NS, Input, SAMPLES};
use super::oracle::{self, Figures, Step};
use super::same;
use crate::support::Scratch;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a line shows of a thing: its suffix, and the figure of a step.
type OfThing = (&'static str, fn(&Figures) -> Option<f64>);

/// A view with a line for each thing of a table and each of these.
struct View {
    id: &'static str,
    table: &'static str,
    /// The column with the names.
    name: &'static str,
    figures: fn(Step<'_>) -> Figures,
    lines: &'static [OfThing],
    /// Lines of the right axis.
    right: &'static [OfThing],
}

const fn view(
    id: &'static str,
    (table, name): (&'static str, &'static str),
    figures: fn(Step<'_>) -> Figures,
    lines: &'static [OfThing],
) -> View {
    View { id, table, name, figures, lines, right: &[] }
}

fn kib(of: &Figures, key: &str) -> Option<f64> {
    of[key].map(|kib| kib * 1024.0)
}

/// Of the devices whose kinds of requests are known; the mean over nothing is no point of a line.
fn kind(of: &Figures, key: &str, count: &str) -> Option<f64> {
    of[key].filter(|_| of[count].is_some_and(|count| count > 0.0))
}

fn is_any(of: &Figures) -> bool {
    of["read_per_s"].is_none() && of["write_per_s"].is_none() && of["discard_per_s"].is_none()
}

const DISK: (&str, &str) = ("disk", "device");
const READ_BYTES: OfThing = ("read", |of| kib(of, "read_kib_per_s"));
const WRITE_BYTES: OfThing = ("write", |of| kib(of, "write_kib_per_s"));
const DISCARD_BYTES: OfThing = ("discard", |of| kib(of, "discard_kib_per_s"));
const ALL_BYTES: OfThing = ("all", |of| kib(of, "kib_per_s").filter(|_| is_any(of)));
const RESPONSE: fn(&Figures) -> Option<f64> =
    |of| kind(of, "await_ms", "ops_per_s").filter(|ms| *ms > 0.0).map(|ms| ms * 1e6);
const WAY: fn(Step<'_>) -> Figures = |step| oracle::net(step, None);
const POOL: fn(Step<'_>) -> Figures = |step| oracle::pool(step, None);

/// Every view of counters by thing.
const VIEWS: &[View] = &[
    view(
        "disk.rate",
        DISK,
        oracle::disk,
        &[
            ("read", |of| of["read_per_s"]),
            ("write", |of| of["write_per_s"]),
            ("discard", |of| of["discard_per_s"]),
            ("all", |of| of["ops_per_s"].filter(|_| is_any(of))),
        ],
    ),
    view("disk.throughput", DISK, oracle::disk, &[READ_BYTES, WRITE_BYTES, DISCARD_BYTES, ALL_BYTES]),
    view("disk.response", DISK, oracle::disk, &[("", RESPONSE)]),
    view("disk.queue", DISK, oracle::disk, &[("", |of| of["queue_size"])]),
    view("disk.busy", DISK, oracle::disk, &[("", |of| of["util_percent"])]),
    view(
        "disk.read_share",
        DISK,
        oracle::disk,
        &[("", |of| {
            let (reads, writes) = (of["read_per_s"]?, of["write_per_s"]?);
            (reads + writes > 0.0).then(|| 100.0 * reads / (reads + writes))
        })],
    ),
    view(
        "disk.transfer_size",
        DISK,
        oracle::disk,
        &[
            ("read", |of| kind(of, "read_size_kib", "read_per_s").map(|kib| kib * 1024.0)),
            ("write", |of| kind(of, "write_size_kib", "write_per_s").map(|kib| kib * 1024.0)),
        ],
    ),
    View {
        right: &[("busy", |of| of["util_percent"])],
        ..view("disk.activity", DISK, oracle::disk, &[READ_BYTES, WRITE_BYTES, DISCARD_BYTES, ALL_BYTES])
    },
    View {
        right: &[("queue", |of| of["queue_size"].filter(|queue| *queue >= 0.001))],
        ..view("disk.latency", DISK, oracle::disk, &[("time", RESPONSE)])
    },
    view(
        "net.throughput",
        ("net", "interface"),
        WAY,
        &[("received", |of| kib(of, "rx_kib_per_s")), ("sent", |of| kib(of, "tx_kib_per_s"))],
    ),
    view(
        "net.packets",
        ("net", "interface"),
        WAY,
        &[("received", |of| of["rx_packets_per_s"]), ("sent", |of| of["tx_packets_per_s"])],
    ),
    view(
        "pool.throughput",
        ("zfs_pool", "pool"),
        POOL,
        &[("read", |of| kib(of, "read_kib_per_s")), ("write", |of| kib(of, "write_kib_per_s"))],
    ),
    view(
        "pressure.waiting",
        ("pressure", "resource"),
        oracle::pressure,
        &[("some", |of| of["some_percent"]), ("full", |of| of["full_percent"])],
    ),
];

/// Tables whose counters are in a chart; there is none of the others.
pub const SHOWN: [&str; 5] = ["cpu", "disk", "net", "zfs_pool", "pressure"];

/// The values of a line, one for each sample.
type Series = Vec<Option<f64>>;

/// The lines of a view by their names: left, right.
fn expected(input: &Input, view: &View) -> [BTreeMap<String, Series>; 2] {
    [view.lines, view.right].map(|lines| {
        let mut found = BTreeMap::new();
        for thing in 0..CASES.iter().find(|case| case.table == view.table).unwrap().things.len() {
            let name = input.name(view.table, thing, view.name);
            for (suffix, of) in lines {
                let full = if suffix.is_empty() { name.to_string() } else { format!("{name} {suffix}") };
                let value = |sample| of(&(view.figures)(input.step(view.table, thing, sample)?));
                found.insert(full, (0..SAMPLES).map(value).collect());
            }
        }
        found
    })
}

/// The lines of the CPUs' chart.
fn expected_cpu(input: &Input) -> BTreeMap<String, Series> {
    let share = |thing: usize, sample: usize, keys: &[&str]| -> Option<f64> {
        let figures = oracle::cpu(input.step("cpu", thing, sample)?);
        // What is not counted is in no share; where nothing is known, there is no point.
        figures["busy_percent"]?;
        Some(keys.iter().filter_map(|key| figures[key]).sum())
    };
    let line = |keys: &'static [&str]| (0..SAMPLES).map(|sample| share(0, sample, keys)).collect::<Series>();
    let busiest = |sample: usize| {
        let of = |thing| oracle::cpu(input.step("cpu", thing, sample)?)["busy_percent"];
        of(1).into_iter().chain(of(2)).reduce(f64::max).filter(|_| share(0, sample, &[]).is_some())
    };
    let iowait = |sample: usize| {
        let known = oracle::cpu(input.step("cpu", 0, sample)?)["iowait_percent"];
        known.filter(|_| share(0, sample, &[]).is_some())
    };
    let lines = [
        ("user", line(&["user_percent", "nice_percent"])),
        ("system", line(&["system_percent"])),
        ("interrupts", line(&["irq_percent", "softirq_percent"])),
        ("waiting for I/O", (0..SAMPLES).map(iowait).collect()),
        ("stolen", (0..SAMPLES).map(|sample| oracle::cpu(input.step("cpu", 0, sample)?)["steal_percent"]).collect()),
        ("busiest CPU", (0..SAMPLES).map(busiest).collect()),
    ];
    lines.into_iter().map(|(name, values)| (name.to_string(), values)).collect()
}

/// Compares the report's model; what differs.
pub fn report(scratch: &Scratch, recording: &str, input: &Input) -> Vec<String> {
    scratch.iodyno(&["report", recording, "-o", "page.html", "--force"]).run().unwrap().expect_code(0);
    let page = std::fs::read_to_string(scratch.path("page.html")).unwrap();
    let model = page.split_once(r#"<script type="application/json" id="model">"#).unwrap().1;
    let model: Value = serde_json::from_str(model.split_once("</script>").unwrap().0).unwrap();
    let views: BTreeMap<&str, &Value> =
        model["overview"].as_array().unwrap().iter().map(|view| (view["id"].as_str().unwrap(), view)).collect();
    let mut differences = Vec::new();
    for view in VIEWS {
        let body = &views.get(view.id).unwrap_or_else(|| panic!("no {}", view.id))["body"];
        let [left, right] = expected(input, view);
        // Two of the devices have two axes: those that did most.
        let is_few = !view.right.is_empty();
        lines(input, view.id, body, &body["lines"], &left, is_few, &mut differences);
        if is_few {
            lines(input, view.id, body, &body["right"]["lines"], &right, true, &mut differences);
        }
    }
    let body = &views["run.cpu"]["body"];
    lines(input, "run.cpu", body, &body["lines"], &expected_cpu(input), false, &mut differences);
    differences
}

fn lines(
    input: &Input,
    view: &str,
    body: &Value,
    shown: &Value,
    expected: &BTreeMap<String, Series>,
    is_few: bool,
    differences: &mut Vec<String>,
) {
    let x = numbers(&body["x"]);
    let shown: BTreeMap<&str, Series> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line["name"].as_str().unwrap(), numbers(&line["values"])))
        .collect();
    for name in shown.keys().filter(|name| !expected.contains_key(**name)) {
        differences.push(format!("report {view}: a line {name}"));
    }
    for (name, series) in expected {
        // A line without a value that is more than 0 is left out.
        let is_shown = series.iter().flatten().any(|value| *value > 0.0);
        let Some(line) = shown.get(name.as_str()) else {
            if is_shown && !is_few {
                differences.push(format!("report {view}: no line {name}, but {:?}", shown.keys()));
            }
            continue;
        };
        for (sample, t_ns) in input.times.iter().enumerate() {
            let at_s = (t_ns - BEGAN_NS) as f64 / 1e9;
            let place = x.iter().position(|x| x.is_some_and(|x| (x - at_s).abs() < 1e-6));
            let value = place.and_then(|place| line[place]);
            if !same(value, series[sample], 1e-9) {
                differences.push(format!("report {view} {name}, sample {sample}: {value:?}, not {:?}", series[sample]));
            }
        }
    }
}

/// Numbers of the model: base64 of doubles; NaN is not known.
pub fn numbers(values: &Value) -> Series {
    let (form, text) = values.as_str().and_then(|text| text.split_once(':')).unwrap_or_else(|| panic!("{values}"));
    let (mut bits, mut held, mut bytes) = (0_u32, 0, Vec::new());
    for letter in text.bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    let numbers: Vec<f64> = match form {
        "f64" => bytes.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect(),
        "f32" => bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()).into()).collect(),
        "u8" => bytes.iter().map(|byte| f64::from(*byte)).collect(),
        "u16" => bytes.chunks_exact(2).map(|bytes| u16::from_le_bytes(bytes.try_into().unwrap()).into()).collect(),
        "u32" => bytes.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()).into()).collect(),
        other => panic!("{other}"),
    };
    numbers.into_iter().map(|value| value.is_finite().then_some(value)).collect()
}

/// Compares pictures of one thing each; what differs.
pub fn chart(scratch: &Scratch, recording: &str, input: &Input) -> Vec<String> {
    let mut differences = Vec::new();
    for view in VIEWS.iter().filter(|view| view.right.is_empty()) {
        let [all, _] = expected(input, view);
        for thing in 0..input.rows[view.table].len() {
            let name = input.name(view.table, thing, view.name);
            let is_of = |line: &&String| *line == name || line.starts_with(&format!("{name} "));
            let own: BTreeMap<&String, &Series> = all.iter().filter(|(line, _)| is_of(line)).collect();
            if own.values().all(|series| series.iter().flatten().all(|value| *value <= 0.0)) {
                continue;
            }
            let arguments = ["chart", recording, view.id, "--select", name, "-o", "-"];
            let picture = scratch.iodyno(&arguments).run().unwrap().expect_code(0).stdout;
            let picture = Picture::of(&picture);
            for (line, series) in own {
                picture.compare(input, &format!("chart {} {line}", view.id), line, series, &mut differences);
            }
        }
    }
    differences
}

/// What can be read off a picture.
struct Picture {
    /// Pixel and value of two ticks of the vertical axis, and is it logarithmic?
    ticks: [(f64, f64); 2],
    is_log: bool,
    /// Points by the text beside the line.
    lines: BTreeMap<String, Vec<(f64, f64)>>,
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    Some(element.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0)
}

fn pixel(element: &str, name: &str) -> f64 {
    attribute(element, name).unwrap_or_else(|| panic!("{name}: {element}")).parse().unwrap()
}

impl Picture {
    fn of(svg: &str) -> Self {
        let (mut ticks, mut by_colour, mut names) = (Vec::new(), BTreeMap::<&str, Vec<(f64, f64)>>::new(), Vec::new());
        for element in svg.lines() {
            if element.starts_with("<text") {
                let words = element.split_once('>').unwrap().1.split_once('<').unwrap().0;
                if attribute(element, "text-anchor") == Some("end") {
                    ticks.push((pixel(element, "y") - 3.8, value_of(words)));
                } else if pixel(element, "x") > 866.0 {
                    names.push((words.to_string(), attribute(element, "fill").unwrap()));
                }
            } else if element.starts_with("<path") && element.contains("stroke-linejoin") {
                let points = attribute(element, "d").unwrap().split(['M', 'L']).filter(|point| !point.is_empty());
                let points = points.map(|point| {
                    // A point without neighbours is a circle around it.
                    let (x, y) =
                        point.split('m').next().unwrap().split_once(' ').unwrap_or_else(|| panic!("{element}"));
                    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text} in {element}"));
                    (number(x), number(y))
                });
                by_colour.entry(attribute(element, "stroke").unwrap()).or_default().extend(points);
            } else if element.starts_with("<circle") {
                let of_colour = by_colour.entry(attribute(element, "fill").unwrap()).or_default();
                of_colour.push((pixel(element, "cx"), pixel(element, "cy")));
            }
        }
        ticks.dedup();
        let (low, high) = (ticks[0], ticks[ticks.len() - 1]);
        let middle = ticks[ticks.len() / 2];
        // Equal steps of values stand at equal distances on a linear axis.
        let along = (middle.0 - low.0) / (high.0 - low.0);
        let is_log = ((middle.1 - low.1) / (high.1 - low.1) - along).abs() > 0.02;
        let lines =
            names.into_iter().filter_map(|(name, colour)| Some((name, by_colour.get(colour)?.clone()))).collect();
        Self { ticks: [low, high], is_log, lines }
    }

    fn value_at(&self, y: f64) -> f64 {
        let [(low_y, low), (high_y, high)] = self.ticks;
        let part = (y - low_y) / (high_y - low_y);
        if self.is_log { low * (high / low).powf(part) } else { low + part * (high - low) }
    }

    fn compare(&self, input: &Input, place: &str, name: &str, series: &Series, differences: &mut Vec<String>) {
        let known = series.iter().flatten();
        // A long name is cut.
        let is_name =
            |shown: &str| shown == name || shown.strip_suffix('…').is_some_and(|shown| name.starts_with(shown));
        let Some((_, points)) = self.lines.iter().find(|(shown, _)| is_name(shown)) else {
            if known.clone().any(|value| *value > 0.0) {
                differences.push(format!("{place}: no line, but {:?}", self.lines.keys()));
            }
            return;
        };
        let last_s = (input.times[SAMPLES - 1] - BEGAN_NS) as f64 / 1e9;
        let at = |t_ns: i64| 72.0 + 792.0 * ((t_ns - BEGAN_NS) as f64 / 1e9) / last_s;
        for (sample, t_ns) in input.times.iter().enumerate() {
            let point = points.iter().find(|(x, _)| (x - at(*t_ns)).abs() < 0.3);
            // Coordinates have one digit behind the point; a logarithm changes by as much, whatever the value.
            let (value, ends) = match point {
                Some((_, y)) => (Some(self.value_at(*y)), [self.value_at(y - 0.11), self.value_at(y + 0.11)]),
                None => (None, [0.0; 2]),
            };
            let is_near = match (value, series[sample]) {
                (Some(_), Some(value)) => ends[1] <= value && value <= ends[0],
                (None, None) => true,
                _ => false,
            };
            if !is_near {
                differences.push(format!("{place}, sample {sample}: {value:?}, not {:?}", series[sample]));
            }
        }
    }
}

/// A number of an axis, in base units (times in ns).
fn value_of(words: &str) -> f64 {
    let digits = words.find(|letter: char| !(letter.is_ascii_digit() || ".,".contains(letter))).unwrap_or(words.len());
    let number: f64 = words[..digits].replace(',', "").parse().unwrap_or_else(|_| panic!("{words}"));
    let scale = match words[digits..].trim() {
        "" | "%" | "ns" | "B" | "B/s" | "/s" => 1.0,
        "k" | "kB" | "kB/s" | "k/s" | "µs" => 1e3,
        "M" | "MB" | "MB/s" | "M/s" | "ms" => 1e6,
        "G" | "GB" | "GB/s" | "s" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        other => panic!("{other} in {words}"),
    };
    number * scale
}
