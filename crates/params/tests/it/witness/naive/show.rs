//! What a run looks like: its title in the simulation, its rate, and the windows of its workloads.

use super::{CURVE_RATE, MAX_RATE, Rd, Rule, Run, Sd, Wd, is_controlled, max_size, skew};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// RD_entry.display_run and For_loop.updateDisplayList.
pub(super) fn simulated(run: &Run, is: &impl Fn(Rule) -> bool) -> String {
    let shown = if run.loops.iter().any(|(name, _)| *name == "iorate") { run.rd.rate } else { run.rate };
    // RD_entry.willWeUseWaiterForWG looks at the rate of the loop.
    let full_speed = run.rate == MAX_RATE || run.rate == CURVE_RATE;
    let controlled = if is_controlled(run, is) || !full_speed { "Controlled" } else { "Uncontrolled" };
    let rate = match shown {
        rate if rate == MAX_RATE => format!("{controlled} MAX"),
        rate if rate == CURVE_RATE => format!("{controlled} curve"),
        rate if rate < 0.0 => {
            // RD_entry.set_iorate with 10,000 observed.
            let rate = 10_000.0 * (-rate).trunc() / 100.0;
            let step = if rate > 1000.0 { 100.0 } else { 10.0 };
            format!("{}", (rate / step).ceil() * step)
        }
        // Format.f: DecimalFormat with half to even, of 1e-15 more.
        rate => format!("{}", (rate + 1e-15).round_ties_even()),
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

pub(super) fn run_line(run: &Run, is: &impl Fn(Rule) -> bool) -> String {
    let Rd { elapsed, interval, warmup, pause, gaps, .. } = &run.rd;
    let waiter = is_controlled(run, is) || (run.rate != MAX_RATE && run.rate != CURVE_RATE);
    format!(
        "RUN rate={} waiter={waiter} warmup={warmup} elapsed={elapsed} interval={interval} pause={pause} gaps={gaps} title={}",
        run.rate, run.title
    )
}

pub(super) fn work_line(
    run: &Run,
    wd: &Wd,
    sd: &Sd,
    there: &mut BTreeSet<&'static str>,
    is: &impl Fn(Rule) -> bool,
) -> String {
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
