//! What Vdbench makes of a file, rule by rule, without a thought for speed or beauty. Knows nothing of iodyno.

mod read;
mod show;

use super::grammar::Statement;
use read::{rds, storages, works};
use show::{run_line, simulated, work_line};
use std::collections::BTreeSet;

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
    ListOfRatesStays,
}

impl Rule {
    pub(crate) const ALL: [Self; 26] = [
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
        Self::ListOfRatesStays,
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
        expected.lines.push(simulated(run, &is));
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
    if !rd.rates.is_empty() && rd.rate != CURVE_RATE {
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
