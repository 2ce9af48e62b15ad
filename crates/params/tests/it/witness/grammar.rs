//! Random parameter files, abstract first (full keywords, numbers), then spelled as people do.

use crate::support::mutate::Random;
use std::fmt::Write as _;

/// A keyword of Vdbench's with a value to try it with.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    exact: bool,
    /// A value that changes the plan; none where it belongs to what has no effect or is not built.
    pub(crate) sample: Option<&'static str>,
}

const fn key(name: &'static str, sample: &'static str) -> Key {
    Key { name, exact: false, sample: Some(sample) }
}
const fn mute(name: &'static str) -> Key {
    Key { name, exact: false, sample: None }
}
const fn exact(name: &'static str, sample: &'static str) -> Key {
    Key { name, exact: true, sample: Some(sample) }
}

/// The keywords of each section in the order in which Vdbench compares them, from its source (MiscParms, SD_entry,
/// WD_entry, RD_entry with For_loop). What compares equal to whole words only is exact.
pub(crate) const SECTIONS: &[(&str, &[Key])] = &[
    (
        "general",
        &[
            exact("compression", "50"),
            key("compratio", "2"),
            key("compressionseed", "7"),
            mute("port"),
            key("pattern", "/tmp/p"),
            key("data_errors", "7"),
            key("dataerrors", "7"),
            mute("swat"),
            key("validate", "time"),
            exact("startcmd", "a"),
            exact("start_cmd", "a"),
            exact("endcmd", "a"),
            exact("end_cmd", "a"),
            mute("unix2windows"),
            key("formatxfersize", "8k"),
            mute("create_anchors"),
            key("formatsds", "yes"),
            mute("report"),
            mute("report_run_totals"),
            key("histogram", "(default,20,40)"),
            mute("psrset"),
            mute("auxreport"),
            key("monitor", "/tmp/m"),
            key("concatenatesds", "yes"),
            mute("messagescan"),
            key("abort_failed_skew", "5"),
            mute("misc"),
            exact("loop", "3"),
            mute("timeout"),
            mute("ios_per_jvm"),
            mute("fwd_thread_adjust"),
        ],
    ),
    (
        "sd",
        &[
            key("host", "localhost"),
            key("lun", "/tmp/z"),
            key("count", "(1,3)"),
            key("size", "3m"),
            key("threads", "3"),
            key("hitarea", "128k"),
            key("offset", "8k"),
            key("align", "8k"),
            mute("kstat"),
            mute("instance"),
            key("replay", "5"),
            key("journal", "/tmp/j"),
            mute("resetlun"),
            mute("resetbus"),
            key("openflags", "o_sync"),
            key("range", "(5,50)"),
            mute("streams"),
        ],
    ),
    (
        "wd",
        &[
            exact("sd", "sd2"),
            key("skew", "100"),
            key("xfersize", "8k"),
            key("readpct", "30"),
            key("rdpct", "30"),
            key("writepct", "30"),
            key("wrpct", "30"),
            key("range", "(5,50)"),
            key("hotband", "(5,50)"),
            key("seekpct", "30"),
            key("stride", "(8k,8k)"),
            key("priority", "1"),
            key("iorate", "9"),
            key("rhpct", "30"),
            key("whpct", "30"),
            key("host", "localhost"),
            key("openflags", "o_sync"),
            mute("user"),
            key("threads", "3"),
            key("streams", "3"),
        ],
    ),
    (
        "rd",
        &[
            exact("sd", "sd2"),
            key("iorate", "77"),
            exact("maxdata", "3g"),
            exact("maxdataread", "3g"),
            exact("maxdatawritten", "3g"),
            key("curve", "(20,40)"),
            key("stopcurve", "3"),
            key("elapsed", "40"),
            key("interval", "2"),
            key("warmup", "4"),
            key("pause", "3"),
            key("forxfersize", "8k"),
            key("forthreads", "3"),
            key("forrdpct", "30"),
            key("forrhpct", "30"),
            key("forwhpct", "30"),
            key("forseekpct", "30"),
            key("forhitarea", "128k"),
            key("forcompratio", "2"),
            key("forcompression", "50"),
            key("fordepth", "3"),
            key("forwidth", "3"),
            key("forfiles", "3"),
            key("forsizes", "8k"),
            key("fortotalsize", "8k"),
            key("forwss", "8k"),
            key("forworkingsetsize", "8k"),
            mute("foroperations"),
            key("xfersize", "8k"),
            key("threads", "3"),
            key("rdpct", "30"),
            key("rhpct", "30"),
            key("whpct", "30"),
            key("seekpct", "30"),
            key("hitarea", "128k"),
            key("compratio", "2"),
            key("compression", "50"),
            key("depth", "3"),
            key("width", "3"),
            key("files", "3"),
            key("sizes", "8k"),
            key("totalsize", "8k"),
            key("wss", "8k"),
            key("workingsetsize", "8k"),
            key("distribution", "uniform"),
            key("startcmd", "a"),
            key("start_cmd", "a"),
            key("endcmd", "a"),
            key("end_cmd", "a"),
            mute("fwdrate"),
            mute("operations"),
            mute("format"),
            key("openflags", "o_sync"),
            mute("mount"),
        ],
    ),
];

/// The keyword that a word is.
pub(crate) fn meaning<'a>(keys: &'a [Key], word: &str) -> Option<&'a Key> {
    keys.iter().find(|key| if key.exact { key.name == word } else { key.name.starts_with(word) })
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    Percent(f64),
    Word(String),
}

/// `keyword=(value,…)`.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) key: &'static str,
    pub(crate) values: Vec<Value>,
}

impl Param {
    pub(crate) fn number(&self, at: usize) -> f64 {
        match self.values.get(at) {
            Some(Value::Number(number)) => *number,
            Some(Value::Percent(number)) => -number,
            _ => f64::NAN,
        }
    }

    pub(crate) fn words(&self) -> Vec<&str> {
        self.values
            .iter()
            .filter_map(|value| if let Value::Word(word) = value { Some(word.as_str()) } else { None })
            .collect()
    }
}

/// `sd=name,…`.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) section: &'static str,
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
}

fn number(key: &'static str, number: f64) -> Param {
    numbers(key, &[number])
}

fn numbers(key: &'static str, list: &[f64]) -> Param {
    Param { key, values: list.iter().map(|number| Value::Number(*number)).collect() }
}

fn words(key: &'static str, list: &[&str]) -> Param {
    Param { key, values: list.iter().map(|word| Value::Word((*word).to_string())).collect() }
}

impl Random {
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn between(&mut self, low: usize, high: usize) -> f64 {
        (low + self.below(high - low + 1)) as f64
    }
}

const K: f64 = 1024.0;
const SIZES: [f64; 7] = [512.0, 1024.0, 4096.0, 8192.0, 12288.0, 65536.0, 24576.0];

/// A file: mostly right.
pub(crate) fn file(random: &mut Random) -> Vec<Statement> {
    let mut out = Vec::new();
    let storages = storages(random, &mut out);
    let works = works(random, &storages, &mut out);
    runs(random, &storages, &works, &mut out);
    out
}

fn storages(random: &mut Random, out: &mut Vec<Statement>) -> Vec<String> {
    let mut names = Vec::new();
    for number_of in 1..=1 + random.below(4) {
        if random.one_in(4) {
            let params = storage_params(random);
            out.push(Statement { section: "sd", name: "default".to_string(), params });
        }
        let name = format!("sd{number_of}");
        let raw = random.one_in(3);
        let lun = format!("{}{name}", if raw { "/dev/disk/" } else { "/tmp/" });
        let mut params = vec![words("lun", &[&lun])];
        // Not always a multiple of anything but a sector.
        let megabytes = random.of(&[1.0, 3.0, 10.0, 100.0, 1000.0, 8192.0]);
        params.push(number("size", megabytes * K * K + 512.0 * random.between(0, 700)));
        params.extend(storage_params(random));
        if raw {
            params.push(words("openflags", &["o_direct"]));
        }
        if random.one_in(8) {
            params.push(words("host", &["localhost"]));
        }
        names.push(name.clone());
        out.push(Statement { section: "sd", name, params });
    }
    names
}

fn storage_params(random: &mut Random) -> Vec<Param> {
    let mut params = Vec::new();
    if random.one_in(3) {
        params.push(number("threads", random.between(1, 32)));
    }
    if random.one_in(6) {
        params.push(range(random, "range"));
    }
    if random.one_in(6) {
        params.push(number("hitarea", 128.0 * K * random.between(1, 8)));
    }
    if random.one_in(8) {
        params.push(number("offset", 512.0 * random.between(1, 100)));
    }
    params
}

fn range(random: &mut Random, key: &'static str) -> Param {
    let low = random.between(0, 80);
    match random.below(5) {
        0 => numbers(key, &[low, 100.0 + low / 2.0]),
        1 => numbers(key, &[64.0 * K * random.between(1, 6), K * K * random.between(0, 2) + 512.0 * K]),
        2 => numbers(key, &[low.min(20.0), 512.0 * K * random.between(1, 2)]),
        _ => numbers(key, &[low, low + random.between(1, 20)]),
    }
}

/// A wildcard, a range, or a list of names.
fn some_of(random: &mut Random, key: &'static str, names: &[String]) -> Param {
    let stem = names[0].trim_end_matches(char::is_numeric);
    match random.below(5) {
        0 => words(key, &[&format!("{stem}*")]),
        1 if names.len() > 1 => words(key, &[&format!("{}-{}", names[0], names[names.len() - 1])]),
        2 if names.len() > 1 => words(key, &[&names[names.len() - 1], &names[0]]),
        3 if random.one_in(6) => words(key, &[&names[0], &format!("{stem}*")]),
        _ => words(key, &[&names[random.below(names.len())]]),
    }
}

fn works(random: &mut Random, storages: &[String], out: &mut Vec<Statement>) -> Vec<String> {
    let mut names = Vec::new();
    let scheme = random.below(6);
    let count = random.below(5);
    for number_of in 1..=count {
        if random.one_in(3) {
            out.push(Statement { section: "wd", name: "default".to_string(), params: work_params(random) });
        }
        let mut params = Vec::new();
        if !random.one_in(12) {
            params.push(some_of(random, "sd", storages));
        }
        params.extend(work_params(random));
        match scheme {
            0 if random.one_in(2) => params.push(number("skew", random.of(&[0.0, 10.0, 25.0, 33.3]))),
            1 => {
                if number_of * 2 <= count {
                    params.push(number("iorate", random.between(0, 3) * 100.0));
                }
                let priority = if random.one_in(10) { random.between(1, 5) } else { number_of as f64 };
                params.push(number("priority", priority));
            }
            _ => {}
        }
        let name = format!("wd{number_of}");
        names.push(name.clone());
        out.push(Statement { section: "wd", name, params });
    }
    if random.one_in(3) {
        out.push(Statement { section: "wd", name: "default".to_string(), params: work_params(random) });
    }
    names
}

fn work_params(random: &mut Random) -> Vec<Param> {
    let mut params = Vec::new();
    for _ in 0..random.below(4) {
        params.push(match random.below(12) {
            0 | 1 => number("xfersize", random.of(&SIZES)),
            2 => mix(random),
            3 => number("rdpct", random.between(0, 100)),
            4 => number("writepct", random.between(0, 100)),
            5 | 6 => seek(random),
            7 => range(random, "range"),
            8 => range(random, "hotband"),
            9 => number(random.of(&["rhpct", "whpct"]), random.between(0, 100)),
            10 if random.one_in(2) => {
                let low = 512.0 * random.between(0, 16);
                numbers("stride", &[low, low + 512.0 * random.between(0, 64)])
            }
            _ if random.one_in(3) => number("streams", random.between(2, 4)),
            _ => words("openflags", &["o_sync"]),
        });
    }
    params
}

fn mix(random: &mut Random) -> Param {
    let mut size = || random.of(&SIZES);
    let [a, b, c] = [size(), size(), size()];
    match random.below(5) {
        0 => numbers("xfersize", &[a, 33.3, b, 33.3, c, 33.3]),
        1 => numbers("xfersize", &[a, 50.0, b, 50.0]),
        2 => numbers("xfersize", &[a, 20.0, b, 0.0, c, 80.0]),
        3 => numbers("xfersize", &[a, 20.0, b, random.of(&[80.0, 79.7, 78.0])]),
        _ => numbers(
            "xfersize",
            &[a.min(b), a.max(b) + random.of(&[512.0, 8192.0]), random.of(&[512.0, 4096.0, 65536.0])],
        ),
    }
}

fn seek(random: &mut Random) -> Param {
    match random.below(9) {
        0 => words("seekpct", &[random.of(&["sequential", "seq", "sequ"])]),
        1 => words("seekpct", &["eof"]),
        2 => words("seekpct", &[random.of(&["random", "rand", "ra", "r"])]),
        3 => words("seekpct", &[random.of(&["poisson", "po", "p"])]),
        4 => Param { key: "seekpct", values: vec![Value::Word("poisson".into()), Value::Number(random.between(1, 9))] },
        5 => words("seekpct", &["seqnz"]),
        6 => words("seekpct", &[random.of(&["seqnz", "eof"]), "eof"]),
        _ => number("seekpct", random.of(&[0.0, 100.0, 25.0, 50.0, -1.0, 120.0, 12.5])),
    }
}

fn runs(random: &mut Random, storages: &[String], works: &[String], out: &mut Vec<Statement>) {
    if random.one_in(2) {
        let mut params = times(random);
        if random.one_in(3) {
            params.push(number("iorate", random.between(1, 50) * 100.0));
        } else if random.one_in(6) {
            params.push(numbers("iorate", &[100.0, 300.0]));
        }
        params.extend(loops(random));
        out.push(Statement { section: "rd", name: "default".to_string(), params });
    }
    let count = 1 + random.below(3);
    for number_of in 1..=count {
        let mut params = Vec::new();
        let has_work = !works.is_empty() && !random.one_in(5);
        if has_work {
            params.push(some_of(random, "wd", works));
        }
        if !has_work || random.one_in(5) {
            params.push(match random.below(5) {
                0 => words("sd", &["single"]),
                1 => words("sd", &["range"]),
                2 => words("sd", &["setsof1"]),
                _ => some_of(random, "sd", storages),
            });
        }
        params.extend(rate(random));
        params.extend(times(random));
        params.extend(loops(random));
        if random.one_in(6) {
            params.push(words("distribution", &[random.of(&["exponential", "uniform", "deterministic", "u", "det"])]));
        }
        let again = number_of > 1 && random.one_in(30);
        let name = format!("rd{}", if again { 1 } else { number_of });
        out.push(Statement { section: "rd", name, params });
    }
}

fn rate(random: &mut Random) -> Vec<Param> {
    match random.below(8) {
        0 | 1 => vec![words("iorate", &["max"])],
        2 => vec![words("iorate", &["curve"])],
        3 => {
            let values = [10.5, 50.0, 70.0, 80.0, 100.0].map(Value::Number);
            let from = random.below(4);
            let curve = Param { key: "curve", values: values[from..].to_vec() };
            vec![words("iorate", &["curve"]), curve]
        }
        4 => vec![Param { key: "iorate", values: vec![Value::Percent(random.between(1, 100))] }],
        5 => {
            let list = vec![Value::Percent(50.0), Value::Number(random.between(1, 2000)), Value::Percent(20.0)];
            vec![Param { key: "iorate", values: list }]
        }
        6 => vec![numbers("iorate", &[100.0, 200.0, random.between(1, 5000)])],
        _ => vec![number("iorate", random.between(1, 5000) + random.of(&[0.0, 0.5]))],
    }
}

fn times(random: &mut Random) -> Vec<Param> {
    let mut params = Vec::new();
    if random.one_in(3) {
        params.push(number("elapsed", random.of(&[20.0, 60.0, 120.0, 60.0, 15.0])));
    }
    if random.one_in(4) {
        params.push(number("interval", random.of(&[1.0, 2.0, 5.0, 10.0, 5.0, 2.0])));
    }
    if random.one_in(5) {
        params.push(number("warmup", random.of(&[10.0, 20.0, 60.0])));
    }
    if random.one_in(6) {
        params.push(number("pause", random.between(0, 9)));
    }
    params
}

fn loops(random: &mut Random) -> Vec<Param> {
    let mut params = Vec::new();
    for _ in 0..random.below(4) {
        params.push(match random.below(9) {
            0 => numbers(random.of(&["forxfersize", "xfersize"]), &[4096.0, 8192.0, 16384.0]),
            1 => numbers("forxfersize", &[random.of(&SIZES)]),
            2 => numbers(random.of(&["forthreads", "threads"]), &[1.0, 2.0, 4.0, 1536.0]),
            3 => numbers(random.of(&["forrdpct", "rdpct"]), &[0.0, 33.3, 100.0]),
            // A minus in a list is a range to Vdbench.
            4 if random.one_in(4) => number("forseekpct", -1.0),
            4 => numbers("forseekpct", &[100.0, random.of(&[0.0, 50.0])]),
            5 => numbers(random.of(&["forrhpct", "forwhpct"]), &[0.0, random.between(1, 100)]),
            6 => numbers("forhitarea", &[128.0 * K, 256.0 * K]),
            7 => numbers(random.of(&["forcompratio", "compratio"]), &[1.5, 2.0]),
            _ => numbers("forcompression", &[50.0, 30.0]),
        });
    }
    params
}

/// The text of a file, spelled at random.
pub(crate) fn render(file: &[Statement], random: &mut Random) -> String {
    let mut text = String::from("* a random file\n");
    for statement in file {
        let (_, keys) = SECTIONS.iter().find(|(section, _)| *section == statement.section).expect("a section");
        let _ = write!(text, "{}={}", statement.section, statement.name);
        for param in &statement.params {
            text.push_str(random.of(&[",", ",", ",\n", "\n", ",  a comment\n"]));
            let key = spell(keys, param.key, random);
            let _ = write!(text, "{key}={}", value(param, random));
        }
        text.push('\n');
        if random.one_in(8) {
            text.push_str(random.of(&["* wd=no,such=line\n", "\n", "# more\n", "/ and more\n"]));
        }
    }
    text
}

/// A beginning of a keyword that Vdbench takes for it.
fn spell(keys: &[Key], name: &str, random: &mut Random) -> String {
    let end = 2 + random.below(name.len() - 1);
    let word = &name[..end];
    let is_it = meaning(keys, word).is_some_and(|key| key.name == name) && !["rd", "sd"].contains(&word);
    let word = if is_it && random.one_in(2) { word } else { name };
    if random.one_in(10) { word.to_uppercase() } else { word.to_string() }
}

fn value(param: &Param, random: &mut Random) -> String {
    let time = ["elapsed", "interval", "warmup", "pause"].contains(&param.key);
    let list: Vec<f64> = param
        .values
        .iter()
        .filter_map(|value| if let Value::Number(number) = value { Some(*number) } else { None })
        .collect();
    // Ranges where they are the same list.
    if list.len() > 2 && list.len() == param.values.len() && random.one_in(2) {
        let (first, last, step) = (list[0], list[list.len() - 1], list[1] - list[0]);
        if step > 0.0 && step.fract() == 0.0 && list.windows(2).all(|pair| pair[1] - pair[0] == step) {
            return format!("({first}-{last},{step})");
        }
        if first >= 1.0 && list.windows(2).all(|pair| pair[1] == 2.0 * pair[0]) {
            return format!("({first}-{last},d)");
        }
    }
    let texts: Vec<String> = param.values.iter().map(|value| one(value, time, random)).collect();
    if texts.len() == 1 && !texts[0].contains('-') && !random.one_in(5) {
        texts[0].clone()
    } else {
        single_or_list(&texts, param)
    }
}

fn single_or_list(texts: &[String], param: &Param) -> String {
    // To Vdbench a minus in parentheses is a range.
    let negative = texts.len() == 1 && texts[0].starts_with('-');
    // In parentheses it does not read numbers of seekpct= in rd=, and the names of parts of lun= are cut at minuses.
    if negative || (param.key == "seekpct" && texts.len() == 1) || ["lun", "host"].contains(&param.key) {
        return texts[0].clone();
    }
    format!("({})", texts.join(","))
}

fn one(value: &Value, time: bool, random: &mut Random) -> String {
    match value {
        Value::Word(word) => word.clone(),
        Value::Percent(percent) => format!("{percent}%"),
        Value::Number(number) => {
            for (unit, suffix) in [(K * K * K, "g"), (K * K, "m"), (K, "k")] {
                let plain = number % unit == 0.0 && *number >= unit && !time;
                if plain && random.one_in(2) {
                    return format!("{}{suffix}", number / unit);
                }
            }
            if time && number % 60.0 == 0.0 && *number > 0.0 && random.one_in(2) {
                return format!("{}m", number / 60.0);
            }
            format!("{number}")
        }
    }
}
