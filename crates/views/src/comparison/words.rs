//! What is said of differences, in words, signs and colours.

use super::failures::why_unknown;
use super::{Comparison, Conclusion, JudgedFigure};
use quantity::figures::without_zeros;
use rates::measure::LoadMeasure;
use view::{Tone, Unit};

/// Pairs whose names are given in a sentence.
const NAMES: usize = 4;

/// `2.00` of what is at least twice as high; of anything else a difference says more.
pub(crate) fn times(ratio: f64) -> Option<String> {
    (ratio.is_finite() && ratio >= 2.0).then(|| format!("{ratio:.2}"))
}

/// `5.1 % higher`, `2.00 times as high`, `84 % lower (1/6.2)`.
pub(crate) fn change(ratio: f64) -> String {
    if let Some(times) = times(ratio) {
        return format!("{times} times as high");
    }
    match ratio {
        0.0 => "100 % lower (0)".to_string(),
        endless if endless.is_infinite() => "up from 0".to_string(),
        little if little <= 0.5 => format!("{:.0} % lower (1/{:.2})", 100.0 * (1.0 - little), 1.0 / little),
        near if near >= 1.0 => format!("{:.1} % higher", (near - 1.0) * 100.0),
        near => format!("{:.1} % lower", (1.0 - near) * 100.0),
    }
}

/// `0.981 – 1.020`, empty where there is none.
pub(crate) fn interval(judged: Option<&JudgedFigure>) -> String {
    judged.and_then(|judged| judged.interval).map_or(String::new(), |(low, high)| format!("{low:.3} – {high:.3}"))
}

/// A time for which a run should be measured, rounded up to what one would ask for.
pub(crate) fn length(seconds: f64) -> String {
    let step = match seconds {
        short if short < 600.0 => 10.0,
        medium if medium < 7200.0 => 60.0,
        _ => 3600.0,
    };
    let rounded = (seconds / step).ceil() * step;
    match rounded {
        much if much > 86_400.0 => "more than a day".to_string(),
        short if short <= 600.0 => format!("{short:.0} s"),
        longer => Unit::Seconds.format(Some(longer)),
    }
}

/// The verdict with its sign; empty where nothing is judged.
pub(crate) fn verdict(judged: Option<&JudgedFigure>) -> String {
    match judged.map(|judged| &judged.conclusion) {
        None => String::new(),
        Some(Conclusion::Different { better: Some(true) }) => "▲ better".to_string(),
        Some(Conclusion::Different { better: Some(false) }) => "▼ worse".to_string(),
        Some(Conclusion::Different { better: None }) => "≠ different".to_string(),
        Some(Conclusion::Same { within }) => format!("= same within {}", percent(*within)),
        // Of executions: more of them, not longer ones.
        Some(Conclusion::NotResolved { needs_s, why }) if needs_s.is_nan() => match why.as_str() {
            "" => "? not resolved".to_string(),
            why => format!("? not resolved: {why}"),
        },
        Some(Conclusion::NotResolved { needs_s, .. }) => {
            format!("? not resolved, that would take {}", length(*needs_s))
        }
        Some(Conclusion::NotJudged { why }) if why.is_empty() => String::new(),
        Some(Conclusion::NotJudged { why }) => format!("– not judged: {why}"),
    }
}

/// How a verdict is coloured.
pub(crate) fn tone(judged: Option<&JudgedFigure>) -> Tone {
    match judged.map(|judged| &judged.conclusion) {
        Some(Conclusion::Different { better: Some(true) }) => Tone::Good,
        Some(Conclusion::Different { better: Some(false) }) => Tone::Error,
        Some(Conclusion::NotResolved { .. }) => Tone::Warning,
        _ => Tone::Plain,
    }
}

/// A verdict with how much, short: `▼ 5.1 % higher`.
pub(crate) fn short(judged: Option<&JudgedFigure>) -> String {
    let Some(judged) = judged else { return "?".to_string() };
    let size = change(judged.ratio);
    match &judged.conclusion {
        Conclusion::Different { better: Some(true) } => format!("▲ {size}"),
        Conclusion::Different { better: Some(false) } => format!("▼ {size}"),
        Conclusion::Different { better: None } => format!("≠ {size}"),
        Conclusion::Same { within } => format!("= same within {}", percent(*within)),
        Conclusion::NotResolved { .. } => format!("? {size}, not resolved"),
        Conclusion::NotJudged { .. } => format!("– {size}, not judged"),
    }
}

pub(crate) fn percent(fraction: f64) -> String {
    let text = format!("{:.2}", 100.0 * fraction);
    format!("{} %", without_zeros(&text))
}

/// What is said of one figure of a side in a pair, a sentence with a full stop.
fn figure_sentence(comparison: &Comparison, (side, pair): (usize, usize), measure: &LoadMeasure) -> String {
    let (base, label, run) = (comparison.label(0), comparison.label(side), comparison.pair_name(pair));
    let Some(judged) = comparison.judged(side, pair, measure) else {
        let why = why_unknown(comparison, (side, pair), measure);
        return format!("{run}: {label} cannot be compared with {base}: {why}.");
    };
    let within = match judged.interval {
        Some((low, high)) => format!(" (ratio {:.3}, 95 % interval {low:.3} – {high:.3})", judged.ratio),
        None => String::new(),
    };
    let size = format!("{} {}{within}", measure.title, change(judged.ratio));
    match &judged.conclusion {
        Conclusion::Different { better } => {
            let sign = better.map_or("", |better| if better { ": ▲ better" } else { ": ▼ worse" });
            format!("{run}: {label} differs from {base}: {size}{sign}.")
        }
        Conclusion::Same { within } => {
            format!("{run}: {label} is the same as {base} within {}: {size}.", percent(*within))
        }
        Conclusion::NotResolved { needs_s, why } => {
            let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
            format!(
                "{run}: whether {label} differs from {base} is not resolved{why}, that would take {}: {size}.",
                length(*needs_s)
            )
        }
        Conclusion::NotJudged { why } => format!("{run}: {label} is not judged against {base}: {why}; {size}."),
    }
}

/// What is said of a pair: of each other recording, its deciding figure.
pub(crate) fn sentence(comparison: &Comparison, pair: usize) -> String {
    let measure = comparison.primary(pair);
    let Some((0, first, _)) = comparison.of(pair).next() else {
        return format!("No other recording has run {}.", comparison.pair_name(pair));
    };
    let others: Vec<usize> = comparison.of(pair).map(|(at, _, _)| at).filter(|at| *at > 0).collect();
    if others.is_empty() {
        return format!("Only {} has run {}.", first.label, comparison.pair_name(pair));
    }
    others.into_iter().map(|side| figure_sentence(comparison, (side, pair), measure)).collect::<Vec<String>>().join(" ")
}

/// Over all pairs: how many differ, and which.
pub(crate) fn headline(comparison: &Comparison) -> String {
    let Some(first) = comparison.sides.first() else { return String::new() };
    match comparison.pairs.len() {
        0 => return format!("Counters beside those of {}; no recording holds a load.", first.label),
        1 => return sentence(comparison, 0),
        _ => {}
    }
    (1..comparison.sides.len()).map(|side| of_side(comparison, side)).collect::<Vec<String>>().join(" ")
}

/// `fast against slow: 2 of 3 runs differ (▲ rd1, ▼ rd2), 1 the same (rd3).`
fn of_side(comparison: &Comparison, side: usize) -> String {
    let (mut differ, mut same, mut open, mut unjudged) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let has = |side: usize, pair: usize| {
        comparison.sides.get(side).and_then(|side| side.loads.get(pair)).is_some_and(Option::is_some)
    };
    for (pair, name) in comparison.pairs.iter().enumerate() {
        match comparison.judged(side, pair, comparison.primary(pair)).map(|judged| &judged.conclusion) {
            None if has(0, pair) && has(side, pair) => unjudged.push(name.clone()),
            None => {}
            Some(Conclusion::Different { better }) => {
                let sign = better.map_or("≠", |better| if better { "▲" } else { "▼" });
                differ.push(format!("{sign} {name}"));
            }
            Some(Conclusion::Same { .. }) => same.push(name.clone()),
            Some(_) => open.push(name.clone()),
        }
    }
    let all = differ.len() + same.len() + open.len() + unjudged.len();
    let (label, base) = (comparison.label(side), comparison.label(0));
    if all == 0 {
        return format!("{label} has no run of {base}.");
    }
    let listed = |names: &[String]| {
        let more = names.len().saturating_sub(NAMES);
        let shown = names[..names.len() - more].join(", ");
        if more > 0 { format!(" ({shown} and {more} more)") } else { format!(" ({shown})") }
    };
    let mut parts = match (differ.len(), all) {
        (0, 1) => Vec::new(),
        (1, 1) => vec![format!("the only run that both have differs{}", listed(&differ))],
        (0, _) => vec![format!("none of {all} runs differs")],
        (1, _) => vec![format!("1 of {all} runs differs{}", listed(&differ))],
        (count, _) => vec![format!("{count} of {all} runs differ{}", listed(&differ))],
    };
    let number = |count: usize| if all == 1 { "the only run that both have is".to_string() } else { count.to_string() };
    if !same.is_empty() {
        parts.push(format!("{} the same{}", number(same.len()), listed(&same)));
    }
    if !open.is_empty() {
        parts.push(format!("{} not resolved{}", number(open.len()), listed(&open)));
    }
    if !unjudged.is_empty() {
        parts.push(format!("{} not judged{}", number(unjudged.len()), listed(&unjudged)));
    }
    format!("{label} against {base}: {}.", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{change, length, percent};

    #[test]
    fn sizes_and_times_as_one_would_say_them() {
        for (ratio, words) in [
            (1.0512, "5.1 % higher"),
            (0.98, "2.0 % lower"),
            (2.0, "2.00 times as high"),
            (0.16, "84 % lower (1/6.25)"),
        ] {
            assert_eq!(change(ratio), words);
        }
        for (seconds, words) in
            [(121.0, "130 s"), (595.0, "600 s"), (601.0, "11 min"), (7300.0, "3 h"), (1e6, "more than a day")]
        {
            assert_eq!(length(seconds), words);
        }
        assert_eq!((percent(0.05), percent(0.025)), ("5 %".to_string(), "2.5 %".to_string()));
    }
}
