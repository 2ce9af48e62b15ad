//! What Vdbench makes of a file, rule by rule, without a thought for speed or beauty. Knows nothing of iodyno.

use super::grammar::{Param, Statement};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A rule that can be broken, to see whether the witness would tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    DefaultsStay,
    LoopMovesToTheEnd,
    RunsSdReplaces,
    SetsAreOfTheFile,
    NoWorkIsTheLastDefault,
    NamesOnce,
    SkewZeroIsNone,
    SkewRestIsShared,
    PriorityHasNoGap,
    RateZeroIsNone,
    PoissonStaysInLoops,
    NegativeSeekIsEof,
    WorkRangeWins,
    BoundsApart,
    LaterWindowWins,
    GrainOfAllRuns,
    BlockZero,
    OffsetMovesLow,
    HitAreaByLoop,
    LastSizeGetsTheRest,
    RatesInnermost,
    TimesDivide,
    WholeTitles,
    PriorityIsControlled,
    RangeNamesBothEnds,
}

impl Rule {
    pub(crate) const ALL: [Self; 25] = [
        Self::DefaultsStay,
        Self::LoopMovesToTheEnd,
        Self::RunsSdReplaces,
        Self::SetsAreOfTheFile,
        Self::NoWorkIsTheLastDefault,
        Self::NamesOnce,
        Self::SkewZeroIsNone,
        Self::SkewRestIsShared,
        Self::PriorityHasNoGap,
        Self::RateZeroIsNone,
        Self::PoissonStaysInLoops,
        Self::NegativeSeekIsEof,
        Self::WorkRangeWins,
        Self::BoundsApart,
        Self::LaterWindowWins,
        Self::GrainOfAllRuns,
        Self::BlockZero,
        Self::OffsetMovesLow,
        Self::HitAreaByLoop,
        Self::LastSizeGetsTheRest,
        Self::RatesInnermost,
        Self::TimesDivide,
        Self::WholeTitles,
        Self::PriorityIsControlled,
        Self::RangeNamesBothEnds,
    ];
}

/// What is expected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    /// One line per run as `-s` prints it, then per run one line and one per workload and storage.
    pub(crate) lines: Vec<String>,
    /// Why Vdbench refuses, where iodyno does not: ids of the documentation.
    pub(crate) there: BTreeSet<&'static str>,
}

impl Expected {
    pub(crate) fn join(&self, between: &str) -> String {
        let there: String = self.there.iter().fold(String::new(), |text, id| text + "REFUSED " + id + between);
        there + &self.lines.join(between)
    }
}

const MAX_RATE: f64 = 9_999_988.0;
const CURVE_RATE: f64 = 9_999_977.0;

#[derive(Clone)]
struct Sd {
    name: String,
    lun: String,
    size: f64,
    threads: f64,
    hit_area: f64,
    offset: f64,
    low: f64,
    high: f64,
    grain: f64,
}

#[derive(Clone)]
struct Wd {
    name: String,
    sds: Vec<String>,
    sizes: Vec<f64>,
    read: f64,
    seek: f64,
    start0: bool,
    poisson: f64,
    hot: bool,
    low: f64,
    high: f64,
    hits: [f64; 2],
    stride: [f64; 2],
    streams: f64,
    skew: f64,
    rate: f64,
    priority: Option<f64>,
}

#[derive(Clone)]
struct Rd {
    name: String,
    wds: Vec<String>,
    sds: Option<Vec<String>>,
    rate: f64,
    rates: Vec<f64>,
    curve: Vec<f64>,
    elapsed: f64,
    interval: f64,
    warmup: f64,
    pause: f64,
    gaps: &'static str,
    loops: Vec<(&'static str, Vec<f64>)>,
    /// Workloads chosen, with the storages that their names mean.
    chosen: Vec<Wd>,
}

/// One run, loops applied.
struct Run {
    rd: Rd,
    title: String,
    rate: f64,
    point: bool,
    loops: Vec<(&'static str, f64)>,
    works: Vec<Wd>,
    threads: Option<f64>,
    hit_area: Option<f64>,
}

/// Expands a file; `Err` says that Vdbench and iodyno refuse it.
pub(crate) fn expand(file: &[Statement], flipped: Option<Rule>) -> Result<Expected, &'static str> {
    let is = |rule: Rule| flipped != Some(rule);
    let mut expected = Expected::default();
    let mut sds = storages(file, &is);
    let (works, default_work) = works(file, &is)?;
    let rds = rds(file, &is)?;
    let mut runs = Vec::new();
    for rd in rds {
        for rd in sets(&rd, &sds, &works, &is) {
            let rd = choose(rd, &sds, &works, &default_work, &is)?;
            check_shares(&rd, &is)?;
            runs.extend(loops(&rd, &is));
        }
    }
    for run in &runs {
        check_run(run, &sds, &mut expected)?;
    }
    // The greatest transfer that any run has on a storage is what its windows are rounded to.
    for sd in &mut sds {
        let of = |run: &Run| {
            run.works.iter().filter(|wd| wd.sds.contains(&sd.name)).map(|wd| max_size(&wd.sizes)).fold(0.0, f64::max)
        };
        sd.grain = runs.iter().map(of).fold(0.0, f64::max);
    }
    for run in &runs {
        expected.lines.push(simulated(run, &runs, &is));
    }
    for run in &runs {
        expected.lines.push(run_line(run, &is));
        let mut lines = Vec::new();
        for wd in &run.works {
            for name in &wd.sds {
                let sd = sds.iter().find(|sd| &sd.name == name).ok_or("sd")?;
                lines.push(work_line(run, wd, sd, &mut expected.there, &is));
            }
        }
        lines.sort();
        expected.lines.extend(lines);
    }
    Ok(expected)
}

fn max_size(sizes: &[f64]) -> f64 {
    match sizes {
        [_, max, _] => *max,
        [one] => *one,
        pairs => pairs.iter().step_by(2).copied().fold(0.0, f64::max),
    }
}

/// SD_entry.readParms: sd=default is a template for what comes after it.
fn storages(file: &[Statement], is: &impl Fn(Rule) -> bool) -> Vec<Sd> {
    let mut default = Sd {
        name: String::new(),
        lun: String::new(),
        size: 0.0,
        threads: 8.0,
        hit_area: 1_048_576.0,
        offset: 0.0,
        low: -1.0,
        high: -1.0,
        grain: 0.0,
    };
    let mut out = Vec::new();
    for statement in file.iter().filter(|statement| statement.section == "sd") {
        let mut sd = Sd { name: statement.name.clone(), ..default.clone() };
        for param in &statement.params {
            match param.key {
                "lun" => sd.lun = param.words()[0].to_string(),
                "size" => sd.size = param.number(0),
                "threads" => sd.threads = param.number(0),
                "hitarea" => sd.hit_area = param.number(0),
                "offset" => sd.offset = param.number(0),
                "range" => (sd.low, sd.high) = (param.number(0), param.number(1)),
                _ => {}
            }
        }
        match sd.name.as_str() {
            "default" if is(Rule::DefaultsStay) => default = sd,
            "default" => {}
            _ => out.push(sd),
        }
    }
    out
}

/// WD_entry.readParms.
fn works(file: &[Statement], is: &impl Fn(Rule) -> bool) -> Result<(Vec<Wd>, Wd), &'static str> {
    let mut default = Wd {
        name: String::new(),
        sds: Vec::new(),
        sizes: vec![4096.0],
        read: 100.0,
        seek: 100.0,
        start0: true,
        poisson: 0.0,
        hot: false,
        low: -1.0,
        high: -1.0,
        hits: [0.0; 2],
        stride: [-1.0; 2],
        streams: 0.0,
        skew: 0.0,
        rate: 0.0,
        priority: None,
    };
    let mut out = Vec::new();
    for statement in file.iter().filter(|statement| statement.section == "wd") {
        let mut wd = Wd { name: statement.name.clone(), ..default.clone() };
        for param in &statement.params {
            set(&mut wd, param, is)?;
        }
        match wd.name.as_str() {
            "default" if is(Rule::DefaultsStay) => default = wd,
            "default" => {}
            _ => out.push(wd),
        }
    }
    Ok((out, default))
}

fn set(wd: &mut Wd, param: &Param, is: &impl Fn(Rule) -> bool) -> Result<(), &'static str> {
    let number = param.number(0);
    match param.key {
        "sd" => wd.sds = param.words().iter().map(|word| (*word).to_string()).collect(),
        "xfersize" => wd.sizes = sizes(param, is)?,
        "rdpct" => wd.read = number,
        "writepct" => wd.read = 100.0 - number,
        "seekpct" => seek(wd, param),
        "range" if wd.hot && !is(Rule::LaterWindowWins) => {}
        "range" | "hotband" => {
            (wd.low, wd.high) = (number, param.number(1));
            wd.hot |= param.key == "hotband";
        }
        "rhpct" => wd.hits[0] = number,
        "whpct" => wd.hits[1] = number,
        "stride" => wd.stride = [number, param.number(1)],
        "streams" => wd.streams = number,
        "skew" => wd.skew = if number == 0.0 && !is(Rule::SkewZeroIsNone) { 1e-9 } else { number },
        "iorate" => wd.rate = if number == 0.0 && !is(Rule::RateZeroIsNone) { 1e-9 } else { number },
        "priority" => wd.priority = Some(number),
        _ => {}
    }
    Ok(())
}

/// WD_entry.parseXfersize: percentages make 100 when rounded; the last size has what the others leave (wg_dist_xfersize).
fn sizes(param: &Param, is: &impl Fn(Rule) -> bool) -> Result<Vec<f64>, &'static str> {
    let all: Vec<f64> = (0..param.values.len()).map(|at| param.number(at)).collect();
    if all.len() < 4 {
        return Ok(all);
    }
    let sum: f64 = all.iter().skip(1).step_by(2).sum();
    if sum.round() != 100.0 {
        return Err("both");
    }
    let (mut out, mut before) = (Vec::new(), 0.0);
    for (at, pair) in all.chunks(2).enumerate() {
        let is_last = at * 2 + 2 == all.len() && is(Rule::LastSizeGetsTheRest);
        let percent = if is_last { 100.0 - before } else { pair[1].min(100.0 - before) };
        before += percent;
        if percent > 0.0 {
            out.extend([pair[0], percent]);
        }
    }
    Ok(out)
}

/// WD_entry.parseSeekpct: token by token.
fn seek(wd: &mut Wd, param: &Param) {
    for value in &param.values {
        match value {
            super::grammar::Value::Word(word) if word.starts_with("seq") => {
                wd.seek = 0.0;
                if word.contains("nz") {
                    wd.start0 = false;
                }
            }
            super::grammar::Value::Word(word) if word == "eof" => wd.seek = -1.0,
            super::grammar::Value::Word(word) if "random".starts_with(word.as_str()) => wd.seek = 100.0,
            super::grammar::Value::Word(_) => (wd.seek, wd.poisson) = (100.0, 3.0),
            super::grammar::Value::Number(number) if wd.poisson == 0.0 => wd.seek = *number,
            super::grammar::Value::Number(number) => wd.poisson = *number,
            super::grammar::Value::Percent(_) => {}
        }
    }
}

/// RD_entry.readParms and the checks of parserCleanup.
fn rds(file: &[Statement], is: &impl Fn(Rule) -> bool) -> Result<Vec<Rd>, &'static str> {
    let mut default = Rd {
        name: String::new(),
        wds: Vec::new(),
        sds: None,
        rate: 0.0,
        rates: Vec::new(),
        curve: vec![10.0, 50.0, 70.0, 80.0, 90.0, 100.0],
        elapsed: 30.0,
        interval: 1.0,
        warmup: 0.0,
        pause: 0.0,
        gaps: "exponential",
        loops: Vec::new(),
        chosen: Vec::new(),
    };
    let mut out: Vec<Rd> = Vec::new();
    for statement in file.iter().filter(|statement| statement.section == "rd") {
        let mut rd = Rd { name: statement.name.clone(), ..default.clone() };
        for param in &statement.params {
            set_run(&mut rd, param, is);
        }
        if rd.name == "default" {
            if is(Rule::DefaultsStay) {
                default = rd;
            }
            continue;
        }
        if out.iter().any(|other| other.name == rd.name) || rd.rate == 0.0 {
            return Err("both");
        }
        let divides = |time: f64| time % rd.interval == 0.0 || !is(Rule::TimesDivide);
        if (rd.elapsed / rd.interval).floor() < 2.0 || !divides(rd.elapsed) || !divides(rd.warmup) {
            return Err("both");
        }
        out.push(rd);
    }
    Ok(out)
}

fn set_run(rd: &mut Rd, param: &Param, is: &impl Fn(Rule) -> bool) {
    let numbers: Vec<f64> = (0..param.values.len()).map(|at| param.number(at)).collect();
    let names = || param.words().iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
    match param.key {
        "wd" => rd.wds = names(),
        "sd" => rd.sds = Some(names()),
        "iorate" => match param.words().first() {
            Some(&"max") => rd.rate = MAX_RATE,
            Some(&"curve") => rd.rate = CURVE_RATE,
            _ => {
                rd.rate = numbers[0];
                rd.rates = if numbers.len() > 1 { numbers } else { Vec::new() };
            }
        },
        "curve" => rd.curve = numbers,
        "elapsed" => rd.elapsed = numbers[0],
        "interval" => rd.interval = numbers[0],
        "warmup" => rd.warmup = numbers[0],
        "pause" => rd.pause = numbers[0],
        "distribution" => {
            rd.gaps = ["exponential", "uniform", "deterministic"]
                .into_iter()
                .find(|whole| whole.starts_with(param.words()[0]))
                .unwrap_or("");
        }
        key => {
            let label = match key.trim_start_matches("for") {
                "compratio" | "compression" => "comp",
                other => ["xfersize", "threads", "rdpct", "rhpct", "whpct", "seekpct", "hitarea"]
                    .into_iter()
                    .find(|name| *name == other)
                    .unwrap_or("?"),
            };
            // For_loop.percentageToRatio: three digits.
            let values = match key {
                "forcompression" => numbers.iter().map(|percent| (100_000.0 / percent).round() / 1000.0).collect(),
                _ => numbers,
            };
            match rd.loops.iter().position(|(name, _)| *name == label) {
                Some(at) if is(Rule::LoopMovesToTheEnd) => {
                    rd.loops.remove(at);
                    rd.loops.push((label, values));
                }
                Some(at) => rd.loops[at].1 = values,
                None => rd.loops.push((label, values)),
            }
        }
    }
}

/// RD_entry.repeatSdSingles: over all storages of the file.
fn sets(rd: &Rd, sds: &[Sd], works: &[Wd], is: &impl Fn(Rule) -> bool) -> Vec<Rd> {
    let Some([word]) = rd.sds.as_deref() else { return vec![rd.clone()] };
    let own = |sd: &&Sd| {
        let used = |wd: &Wd| {
            rd.wds.iter().any(|name| hit(name, &wd.name)) && select(&wd.sds, std::slice::from_ref(&sd.name)).is_ok()
        };
        is(Rule::SetsAreOfTheFile) || rd.wds.is_empty() || works.iter().any(used)
    };
    let names: Vec<String> = sds.iter().filter(own).map(|sd| sd.name.clone()).collect();
    let set = |list: &[String], suffix: String| {
        let name = format!("{}_{suffix}", rd.name);
        Rd { name, sds: Some(list.to_vec()), ..rd.clone() }
    };
    match word.as_str() {
        "single" | "setsof1" => names.iter().map(|name| set(std::slice::from_ref(name), name.clone())).collect(),
        "range" => (1..=names.len())
            .map(|end| {
                let both = format!("{}-{}", names[0], names[end - 1]);
                let suffix = if end == 1 && !is(Rule::RangeNamesBothEnds) { names[0].clone() } else { both };
                set(&names[..end], suffix)
            })
            .collect(),
        _ => vec![rd.clone()],
    }
}

fn hit(wanted: &str, name: &str) -> bool {
    match wanted.split_once('*') {
        Some((stem, _)) => name.starts_with(stem),
        None => match wanted.split_once('-') {
            Some((from, to)) => from <= name && name <= to,
            None => wanted == name,
        },
    }
}

/// Names in the order of the list, those of a wildcard in the order of definition; each must be there, and once.
fn select(wanted: &[String], names: &[String]) -> Result<Vec<String>, &'static str> {
    let mut out = Vec::new();
    for want in wanted {
        let hits: Vec<&String> = names.iter().filter(|name| hit(want, name)).collect();
        if hits.is_empty() {
            return Err("both");
        }
        out.extend(hits.into_iter().cloned());
    }
    Ok(out)
}

fn twice(names: &[String]) -> bool {
    names.iter().enumerate().any(|(at, name)| names[..at].contains(name))
}

/// RD_entry.selectWhichWdsToUse and WD_entry.getSdsForHost.
fn choose(mut rd: Rd, sds: &[Sd], works: &[Wd], default: &Wd, is: &impl Fn(Rule) -> bool) -> Result<Rd, &'static str> {
    let sd_names: Vec<String> = sds.iter().map(|sd| sd.name.clone()).collect();
    let work_names: Vec<String> = works.iter().map(|wd| wd.name.clone()).collect();
    if rd.wds.is_empty() {
        // Not what the definition is called with the set of storages: iodyno shows the run's own name.
        let name = rd.name.split('_').next().unwrap_or_default().to_string();
        let plain = Wd {
            sizes: vec![4096.0],
            read: 100.0,
            seek: 100.0,
            start0: true,
            poisson: 0.0,
            hot: false,
            low: -1.0,
            high: -1.0,
            hits: [0.0; 2],
            stride: [-1.0; 2],
            streams: 0.0,
            ..default.clone()
        };
        rd.chosen = vec![Wd { name, ..if is(Rule::NoWorkIsTheLastDefault) { default.clone() } else { plain } }];
        rd.sds.as_ref().ok_or("both")?;
    } else {
        let names = select(&rd.wds, &work_names)?;
        if twice(&names) {
            return Err("both");
        }
        rd.chosen = names.iter().filter_map(|name| works.iter().find(|wd| &wd.name == name)).cloned().collect();
    }
    for wd in &mut rd.chosen {
        let own = std::mem::take(&mut wd.sds);
        wd.sds = match &rd.sds {
            Some(given) if is(Rule::RunsSdReplaces) || own.is_empty() => select(given, &sd_names)?,
            Some(given) => {
                let given = select(given, &sd_names)?;
                select(&own, &sd_names)?.into_iter().filter(|name| given.contains(name)).collect()
            }
            None => select(&own, &sd_names)?,
        };
        if wd.sds.is_empty() || (twice(&wd.sds) && is(Rule::NamesOnce)) {
            return Err("both");
        }
    }
    Ok(rd)
}

/// WD_entry.checkPriorities, FifoList.countPriorities, HandleSkew.spreadWdSkew.
fn check_shares(rd: &Rd, is: &impl Fn(Rule) -> bool) -> Result<(), &'static str> {
    let wds = &rd.chosen;
    if wds.iter().any(|wd| wd.skew != 0.0 && wd.rate != 0.0) {
        return Err("both");
    }
    if wds.iter().any(|wd| wd.priority.is_some() || wd.rate != 0.0) {
        let mut priorities: Vec<f64> = wds.iter().filter_map(|wd| wd.priority).collect();
        priorities.sort_by(f64::total_cmp);
        let sequence = |(at, priority): (usize, &f64)| *priority == (at + 1) as f64;
        let gapless = priorities.iter().enumerate().all(sequence);
        let distinct = priorities.windows(2).all(|pair| pair[0] < pair[1]);
        if priorities.len() < wds.len() || !distinct || (!gapless && is(Rule::PriorityHasNoGap)) {
            return Err("both");
        }
        let of = |rated: bool| wds.iter().filter(move |wd| (wd.rate != 0.0) == rated).filter_map(|wd| wd.priority);
        if of(true).fold(0.0, f64::max) > of(false).fold(f64::MAX, f64::min) {
            return Err("both");
        }
    }
    let sharing: Vec<&Wd> = wds.iter().filter(|wd| wd.rate == 0.0).collect();
    let asked: f64 = sharing.iter().map(|wd| wd.skew).sum();
    let open = sharing.iter().any(|wd| wd.skew == 0.0);
    if !sharing.is_empty() && !open && !(99.9999..=100.0001).contains(&asked) {
        return Err("both");
    }
    Ok(())
}

fn skew(run: &Run, wd: &Wd, is: &impl Fn(Rule) -> bool) -> f64 {
    let sharing = || run.works.iter().filter(|wd| wd.rate == 0.0);
    let open = sharing().filter(|wd| wd.skew == 0.0).count() as f64;
    let rest = if is(Rule::SkewRestIsShared) { 100.0 - sharing().map(|wd| wd.skew).sum::<f64>() } else { 100.0 };
    match (wd.rate == 0.0, wd.skew == 0.0) {
        (false, _) => 0.0,
        (true, false) => wd.skew,
        (true, true) => rest / open,
    }
}

/// For_loop.for_get: first loop outermost; rates always innermost; then the points of a curve.
fn loops(rd: &Rd, is: &impl Fn(Rule) -> bool) -> Vec<Run> {
    let mut all = rd.loops.clone();
    if !rd.rates.is_empty() && rd.rate < CURVE_RATE {
        let at = if is(Rule::RatesInnermost) { all.len() } else { 0 };
        all.insert(at, ("iorate", rd.rates.clone()));
    }
    let mut combinations: Vec<Vec<(&'static str, f64)>> = vec![Vec::new()];
    for (name, values) in &all {
        combinations = combinations
            .iter()
            .flat_map(|before| {
                values.iter().map(|value| before.iter().copied().chain([(*name, *value)]).collect::<Vec<_>>())
            })
            .collect();
    }
    let mut out = Vec::new();
    for loops in combinations {
        let rate = loops.iter().find(|(name, _)| *name == "iorate").map_or(rd.rate, |(_, value)| *value);
        // RD_entry.createWgListForOneRd: named after the percentage that it begins with.
        let suffix = if rd.rate < 0.0 { format!("_({}%)", (-rd.rate).trunc()) } else { String::new() };
        let title = format!("{}{suffix}", rd.name);
        out.push(one(rd, title, rate, false, &loops, is));
        if rate == CURVE_RATE {
            for point in &rd.curve {
                out.push(one(rd, format!("{}_({}%)", rd.name, point.trunc()), -point, true, &loops, is));
            }
        }
    }
    out
}

/// For_loop.useForOverrides.
fn one(
    rd: &Rd,
    title: String,
    rate: f64,
    point: bool,
    loops: &[(&'static str, f64)],
    is: &impl Fn(Rule) -> bool,
) -> Run {
    let mut works = rd.chosen.clone();
    let of = |wanted: &str| loops.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    for wd in &mut works {
        if let Some(bytes) = of("xfersize") {
            wd.sizes = vec![bytes];
        }
        wd.read = of("rdpct").unwrap_or(wd.read);
        wd.hits = [of("rhpct").unwrap_or(wd.hits[0]), of("whpct").unwrap_or(wd.hits[1])];
        if let Some(seek) = of("seekpct") {
            wd.seek = seek;
            if !is(Rule::PoissonStaysInLoops) {
                wd.poisson = 0.0;
            }
        }
    }
    Run {
        rd: rd.clone(),
        title,
        rate,
        point,
        loops: loops.to_vec(),
        works,
        threads: of("threads"),
        hit_area: of("hitarea"),
    }
}

/// What Vdbench refuses at the beginning of a run, and iodyno does not.
fn check_run(run: &Run, sds: &[Sd], expected: &mut Expected) -> Result<(), &'static str> {
    if run.works[0].streams > 0.0 && run.works.len() > 1 {
        expected.there.insert("streams-second-wd");
    }
    for (wd, before) in run.works.iter().zip(&run.rd.chosen) {
        // WG_entry.storeWorkloadParameters looks at the workload's own order.
        if wd.stride[0] >= 0.0 && (before.seek <= 0.0 || wd.streams > 0.0) {
            return Err("both");
        }
        if wd.streams > 0.0 {
            if run.rate != MAX_RATE {
                expected.there.insert("streams-rate");
            }
            let threads = |sd: &Sd| run.threads.unwrap_or(sd.threads);
            if sds.iter().filter(|sd| wd.sds.contains(&sd.name)).any(|sd| threads(sd) % wd.streams != 0.0) {
                expected.there.insert("streams-threads");
            }
        }
        if wd.sizes.len() == 3 {
            expected.there.insert("xfersize-align");
            if wd.sizes[0] >= wd.sizes[1] {
                expected.there.insert("xfersize-equal");
            }
        }
    }
    Ok(())
}

fn is_controlled(run: &Run, is: &impl Fn(Rule) -> bool) -> bool {
    let by_priority = |wd: &Wd| wd.priority.is_some() && is(Rule::PriorityIsControlled);
    run.works.iter().any(|wd| wd.skew != 0.0 || wd.rate != 0.0 || by_priority(wd))
}

/// RD_entry.display_run and For_loop.updateDisplayList.
fn simulated(run: &Run, runs: &[Run], is: &impl Fn(Rule) -> bool) -> String {
    let first = runs.iter().find(|other| other.rd.name == run.rd.name).map_or(run.rate, |first| first.rate);
    let shown = if run.loops.iter().any(|(name, _)| *name == "iorate") { first } else { run.rate };
    let controlled = if is_controlled(run, is) { "Controlled" } else { "Uncontrolled" };
    let rate = match shown {
        rate if rate == MAX_RATE => format!("{controlled} MAX"),
        rate if rate == CURVE_RATE => format!("{controlled} curve"),
        rate if rate < 0.0 => {
            // RD_entry.set_iorate with 10,000 observed.
            let rate = 10_000.0 * (-rate).trunc() / 100.0;
            let step = if rate > 1000.0 { 100.0 } else { 10.0 };
            format!("{}", (rate / step).ceil() * step)
        }
        rate => format!("{}", rate.round_ties_even()),
    };
    let mut loops = String::new();
    for (name, value) in &run.loops {
        let text = match value {
            value if *value < 0.0 => format!("{}%", (-value).trunc()),
            value if *name == "iorate" => format!("{}", value.trunc()),
            value if is(Rule::WholeTitles) => what_size(*value),
            value => format!("{value}"),
        };
        let _ = write!(loops, " {name}={text}");
    }
    let title = if run.point { &run.title } else { &run.rd.name };
    let warmup = if run.rd.warmup > 0.0 { format!(" warmup={}", run.rd.warmup) } else { String::new() };
    let loops = if loops.is_empty() { " None".to_string() } else { loops };
    format!("Simulating RD={title}; I/O rate: {rate}; elapsed={}{warmup}; For loops:{loops}", run.rd.elapsed)
}

/// FileAnchor.whatSize.
fn what_size(value: f64) -> String {
    let (mut value, mut units) = (value, ["", "k", "m", "g", "t", "p"].into_iter());
    let mut unit = units.next().unwrap_or_default();
    if value < 1024.0 {
        return format!("{}", value.trunc());
    }
    while value >= 1024.0 {
        value /= 1024.0;
        unit = units.next().unwrap_or_default();
    }
    let text = format!("{value:.3}{unit}");
    if text.contains(".000") { text.replace(".000", "") } else { text }
}

fn run_line(run: &Run, is: &impl Fn(Rule) -> bool) -> String {
    let Rd { elapsed, interval, warmup, pause, gaps, .. } = &run.rd;
    let waiter = is_controlled(run, is) || (run.rate != MAX_RATE && run.rate != CURVE_RATE);
    format!(
        "RUN rate={} waiter={waiter} warmup={warmup} elapsed={elapsed} interval={interval} pause={pause} gaps={gaps} title={}",
        run.rate, run.title
    )
}

fn work_line(run: &Run, wd: &Wd, sd: &Sd, there: &mut BTreeSet<&'static str>, is: &impl Fn(Rule) -> bool) -> String {
    let many = wd.sds.len() as f64;
    let window = window(run, wd, sd, is).unwrap_or_else(|| {
        there.insert("window");
        "miss=? hits=?".to_string()
    });
    let seek = match wd.seek {
        seek if seek < 0.0 => {
            if is(Rule::NegativeSeekIsEof) {
                -1.0
            } else {
                0.0
            }
        }
        seek => seek.min(100.0),
    };
    let seek = if wd.streams > 0.0 && seek > 0.0 { 0.0 } else { seek };
    let sharing_skew = run.works.iter().any(|wd| wd.rate == 0.0 && wd.skew != 0.0);
    let sizes: Vec<String> = wd.sizes.iter().map(|size| format!("{:.6}", size)).collect();
    format!(
        " {} {} skew={:.4} fixed={} rate={:.6} prio={} rd={:.6} seek={seek} start0={} poisson={} hotband={} hit={:.6},{:.6} stride={},{} \
         streams={} xf={} {window} comp={} threads={}",
        wd.name,
        sd.name,
        skew(run, wd, is) / many,
        sharing_skew && wd.rate == 0.0,
        wd.rate / many,
        wd.priority.unwrap_or(0.0),
        wd.read,
        wd.start0,
        if seek > 0.0 { wd.poisson } else { 0.0 },
        wd.hot,
        wd.hits[0],
        wd.hits[1],
        wd.stride[0],
        wd.stride[1],
        wd.streams,
        sizes.join("+"),
        run.loops.iter().find(|(name, _)| *name == "comp").map_or(1.0, |(_, value)| *value),
        run.threads.unwrap_or(sd.threads),
    )
}

/// WG_entry.calculateContext; none where it gives up.
fn window(run: &Run, wd: &Wd, sd: &Sd, is: &impl Fn(Rule) -> bool) -> Option<String> {
    let grain = if is(Rule::GrainOfAllRuns) { sd.grain } else { max_size(&wd.sizes) };
    let floor = |bytes: f64| (bytes / grain).floor() * grain;
    let mut area = if (wd.hits[0] + wd.hits[1]).trunc() != 0.0 { sd.hit_area } else { 0.0 };
    if is(Rule::HitAreaByLoop) || area > 0.0 {
        area = run.hit_area.unwrap_or(area);
    }
    let by_work = if is(Rule::WorkRangeWins) { wd.low >= 0.0 } else { wd.low >= 0.0 && sd.low < 0.0 };
    let (low, high) = if by_work { (wd.low, wd.high) } else { (sd.low, sd.high) };
    let (low, mut high) = (if low < 0.0 { 0.0 } else { low }, if high < 0.0 { 100.0 } else { high });
    if low >= high || (low < 100.0 && high > 100.0 && high < 200.0 && high - low >= 100.0) {
        return None;
    }
    let percent_low = if is(Rule::BoundsApart) { low <= 100.0 } else { low <= 200.0 && high <= 200.0 };
    let start = if percent_low { (sd.size * low / 100.0).trunc() } else { low };
    let (mut miss, mut hits) = (start + area, start);
    let mut wraps = false;
    let end = if high <= 200.0 {
        if high > 100.0 {
            if wd.seek < 0.0 {
                high = 100.0;
            } else {
                wraps = true;
            }
        }
        (sd.size * high / 100.0).trunc()
    } else if high > sd.size {
        return None;
    } else {
        high
    };
    if sd.lun.starts_with("/dev") && is(Rule::BlockZero) {
        miss = if miss == 0.0 { grain } else { miss };
        hits = if hits == 0.0 { grain } else { hits };
    }
    // The end of the hit area counts from the beginning before that.
    let hit_end = floor(start + area) + if is(Rule::OffsetMovesLow) { 0.0 } else { sd.offset };
    if end - miss < grain {
        return None;
    }
    let end = floor(end) + if is(Rule::OffsetMovesLow) { 0.0 } else { sd.offset };
    let (miss, hits) = (floor(miss) + sd.offset, floor(hits) + sd.offset);
    if end - miss < 2.0 * grain || (area > 0.0 && hit_end - hits < 2.0 * grain) {
        return None;
    }
    // HotBand counts in megabytes.
    if wd.hot && end - miss < 1e6 {
        return None;
    }
    let hits = if area > 0.0 { format!("{hits},{hit_end}") } else { "-".to_string() };
    Some(format!("miss={miss},{end}{} hits={hits}", if wraps { "wrap" } else { "" }))
}
