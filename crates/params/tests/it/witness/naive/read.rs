//! What Vdbench reads of the lines of a file: storages, workloads and runs, with what their defaults leave to them.

use super::super::grammar::{Param, Statement, Value};
use super::{CURVE_RATE, MAX_RATE, Rd, Rule, Sd, Wd};

/// SD_entry.readParms: sd=default is a template for what comes after it.
pub(super) fn storages(file: &[Statement], is: &impl Fn(Rule) -> bool) -> Vec<Sd> {
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
pub(super) fn works(file: &[Statement], is: &impl Fn(Rule) -> bool) -> Result<(Vec<Wd>, Wd), &'static str> {
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
            Value::Word(word) if word.starts_with("seq") => {
                wd.seek = 0.0;
                if word.contains("nz") {
                    wd.start0 = false;
                }
            }
            Value::Word(word) if word == "eof" => wd.seek = -1.0,
            Value::Word(word) if "random".starts_with(word.as_str()) => wd.seek = 100.0,
            Value::Word(_) => (wd.seek, wd.poisson) = (100.0, 3.0),
            Value::Number(number) if wd.poisson == 0.0 => wd.seek = *number,
            Value::Number(number) => wd.poisson = *number,
            Value::Percent(_) => {}
        }
    }
}

/// RD_entry.readParms and the checks of parserCleanup.
pub(super) fn rds(file: &[Statement], is: &impl Fn(Rule) -> bool) -> Result<Vec<Rd>, &'static str> {
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
                // RD_entry.pending_rates: a single rate does not take a list back.
                if numbers.len() > 1 || !is(Rule::ListOfRatesStays) {
                    rd.rates = numbers.into_iter().filter(|_| param.values.len() > 1).collect();
                }
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
