//! Values of parameters: numbers with their suffixes, ranges, words; each complains about its own place.

use crate::param::{Param, Text};
use parameter_text::{Diagnostic, ReadingContext};
use plan::TextSpan;
use quantity::suggest::did_you_mean;

/// Most numbers that a list may expand to (Vdbench's limit).
const NUMBERS_MAX: usize = 10_240;

/// What the suffix `m` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// 1024².
    Plain,
    /// Seconds: `m` is 60; beyond Vdbench also `s`, `ms`, `us`.
    Time,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    /// Written with `%`; Vdbench stores these as negative numbers.
    pub(crate) percent: bool,
    pub(crate) span: TextSpan,
}

/// A number without digits that say nothing.
pub(crate) fn plain(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

/// Percent, the digits behind the point cut off: those of the number that was written, not of its fraction of 1.
pub fn whole_percent(fraction: f64) -> f64 {
    ((fraction * 1e8).round() / 1e6).trunc()
}

/// Reads one number; `None` when the text is none.
pub(crate) fn parse(text: &str, unit: Unit) -> Option<(f64, bool)> {
    let digits_end = digits(text);
    let (head, suffix) = text.split_at(digits_end);
    let value: f64 = head.parse().ok().filter(|value: &f64| value.is_finite())?;
    let factor = match suffix.to_ascii_lowercase().as_str() {
        "" => 1.0,
        "%" => return Some((value, true)),
        "m" if unit == Unit::Time => 60.0,
        "s" if unit == Unit::Time => 1.0,
        "ms" if unit == Unit::Time => 1e-3,
        "us" if unit == Unit::Time => 1e-6,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024.0 * 1024.0,
        "g" | "gb" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tb" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "h" => 3600.0,
        _ => return None,
    };
    Some((value * factor, false)).filter(|(value, _)| value.is_finite())
}

/// The length of the digits, sign and exponent at the beginning.
fn digits(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = usize::from(bytes.first().is_some_and(|byte| matches!(byte, b'-' | b'+')));
    let start = at;
    while bytes.get(at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.') {
        at += 1;
    }
    let exponent = at + 1 + usize::from(bytes.get(at + 1).is_some_and(|byte| matches!(byte, b'-' | b'+')));
    if at > start && matches!(bytes.get(at), Some(b'e' | b'E')) && bytes.get(exponent).is_some_and(u8::is_ascii_digit) {
        at = exponent;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
    }
    at
}

/// Complains that a text is no number.
fn not_a_number(context: &mut ReadingContext, key: &str, text: &Text, unit: Unit) {
    let shown: String = text.text.chars().take(40).collect();
    let found = Diagnostic::error("not-a-number", text.span, format!("`{key}` wants a number, found `{shown}`"));
    let head = &text.text[..digits(&text.text)];
    let found = match text.text[head.len()..].to_ascii_lowercase().as_str() {
        "d" if !head.is_empty() => found.help(format!("`d` at the end is an accident of Java's; write {head}")),
        "kib" | "mib" | "gib" | "tib" => found.help("suffixes are k, m, g, t (powers of 1024), also kb, mb, gb, tb"),
        "s" | "sec" if unit == Unit::Plain => found.help(format!("there is no suffix for seconds here; write {head}")),
        _ if unit == Unit::Time => found.help("write seconds, or 10m, 2h, also 0.5 or 100ms"),
        _ if shown.starts_with('-') || shown.contains('-') => {
            found.help("ranges stand in parentheses, with a step or `d` for doubling behind them: (1-10,1), (1-64,d)")
        }
        _ => found.help("numbers look like 4096, 4k, 1.5m, 50%"),
    };
    context.push(found);
}

fn number(context: &mut ReadingContext, key: &str, text: &Text, unit: Unit) -> Option<Number> {
    match parse(&text.text, unit) {
        Some((value, percent)) => Some(Number { value, percent, span: text.span }),
        None => {
            not_a_number(context, key, text, unit);
            None
        }
    }
}

/// All numbers of a list, ranges expanded: `(1,2,10-50,10)`, `(8k-1k,d)`.
pub(crate) fn numbers(context: &mut ReadingContext, name: &str, param: &Param, unit: Unit) -> Option<Vec<Number>> {
    list(context, name, param, &param.values, unit, &[])
}

/// As [`numbers`] for some of a parameter's values; `words` stand for numbers.
pub(crate) fn list(
    context: &mut ReadingContext,
    name: &str,
    param: &Param,
    values: &[Text],
    unit: Unit,
    words: &[(&str, f64)],
) -> Option<Vec<Number>> {
    let mut out: Vec<Number> = Vec::new();
    let mut good = true;
    let mut values = values.iter();
    while let Some(text) = values.next() {
        let word = words.iter().find(|(word, _)| text.text.eq_ignore_ascii_case(word));
        if let Some((_, value)) = word {
            out.push(Number { value: *value, percent: false, span: text.span });
        } else if let Some((from, to)) = param.list.then(|| range_of(text, unit)).flatten() {
            good &= match values.next() {
                Some(step) => expand(context, name, (from, to, text), step, unit, &mut out),
                None => {
                    let message = format!("the range `{}` has no step", text.text);
                    let help = format!("write ({},STEP), or ({},d) for doubling", text.text, text.text);
                    context.push(Diagnostic::error("range", text.span, message).help(help));
                    false
                }
            };
        } else {
            match number(context, name, text, unit) {
                Some(number) => out.push(number),
                None => good = false,
            }
        }
        if out.len() > NUMBERS_MAX {
            too_many(context, name, text.span);
            return None;
        }
    }
    if !context.work(out.len() / 4, param.span) {
        return None;
    }
    (good && !out.is_empty()).then_some(out)
}

fn too_many(context: &mut ReadingContext, name: &str, span: TextSpan) {
    let message = format!("the list of `{name}` has more than {NUMBERS_MAX} values");
    context.push(Diagnostic::error("too-much", span, message).help("use a larger step, or `d` for doubling"));
}

/// The two ends of `a-b`.
pub(crate) fn range_of(text: &Text, unit: Unit) -> Option<(f64, f64)> {
    if text.quoted {
        return None;
    }
    let bytes = text.text.as_bytes();
    let at = (1..bytes.len()).find(|at| bytes[*at] == b'-' && !matches!(bytes[at - 1], b'e' | b'E'))?;
    let (from, from_percent) = parse(&text.text[..at], unit)?;
    let (to, to_percent) = parse(&text.text[at + 1..], unit)?;
    (!from_percent && !to_percent).then_some((from, to))
}

fn expand(
    context: &mut ReadingContext,
    name: &str,
    (from, to, text): (f64, f64, &Text),
    step: &Text,
    unit: Unit,
    out: &mut Vec<Number>,
) -> bool {
    let mut add = |value: f64| {
        out.push(Number { value, percent: false, span: text.span });
        out.len() <= NUMBERS_MAX
    };
    let mut fail = |span: TextSpan, message: String, help: &str| {
        context.push(Diagnostic::error("range", span, message).help(help));
        false
    };
    if step.text.eq_ignore_ascii_case("d") {
        if from <= 0.0 || to <= 0.0 {
            let message = format!("`{}` cannot be reached by doubling or halving", text.text);
            return fail(text.span, message, "both ends must be above 0");
        }
        let (mut value, factor) = (from, if from <= to { 2.0 } else { 0.5 });
        while (factor > 1.0 && value <= to) || (factor < 1.0 && value >= to) {
            if !add(value) {
                break;
            }
            value *= factor;
        }
        return true;
    }
    let Some((step_value, false)) = parse(&step.text, unit) else {
        let message = format!("the value behind the range `{}` must be its step, found `{}`", text.text, step.text);
        return fail(step.span, message, "write a number, or `d` for doubling: (1-64,d)");
    };
    if step_value <= 0.0 || from > to {
        let message = format!("the range `{}` in steps of `{}` never ends", text.text, step.text);
        return fail(text.span, message, "ranges rise by steps above 0; only `d` also goes down: (64k-1k,d)");
    }
    if (to - from) / step_value > NUMBERS_MAX as f64 {
        too_many(context, name, text.span);
        return false;
    }
    let mut count = 0.0;
    while from + count * step_value <= to + step_value * 1e-9 {
        add(from + count * step_value);
        count += 1.0;
    }
    true
}

/// The only number of a parameter.
pub(crate) fn one(context: &mut ReadingContext, name: &str, param: &Param, unit: Unit) -> Option<Number> {
    let numbers = numbers(context, name, param, unit)?;
    if let [number] = numbers.as_slice() {
        return Some(*number);
    }
    let message = format!("`{name}` wants one value, found {}", numbers.len());
    context.push(Diagnostic::error("one-value", param.span, message));
    None
}

/// The only number of a parameter, inside bounds.
pub(crate) fn bounded(
    context: &mut ReadingContext,
    name: &str,
    param: &Param,
    unit: Unit,
    bounds: std::ops::RangeInclusive<f64>,
) -> Option<f64> {
    let number = one(context, name, param, unit)?;
    check_bounds(context, name, &number, bounds)
}

/// The number when it is inside bounds and no percentage.
pub(crate) fn check_bounds(
    context: &mut ReadingContext,
    name: &str,
    number: &Number,
    bounds: std::ops::RangeInclusive<f64>,
) -> Option<f64> {
    let message = if number.percent {
        format!("`{name}` wants a number without %")
    } else if bounds.contains(&number.value) {
        return Some(number.value);
    } else {
        format!("`{name}` is {}", shown(number.value))
    };
    let found = Diagnostic::error("out-of-range", number.span, message);
    context.push(found.help(format!("allowed: {}", bounds_text(&bounds))));
    None
}

/// A number in few digits.
fn shown(value: f64) -> String {
    if value.abs() < 1e15 { format!("{value}") } else { format!("{value:e}") }
}

fn bounds_text(bounds: &std::ops::RangeInclusive<f64>) -> String {
    let (low, high) = (bounds.start(), bounds.end());
    if *high >= 1e12 { format!("{low} or more") } else { format!("{low} to {high}") }
}

/// A share in percent, written with or without `%`, as a fraction.
pub(crate) fn fraction(context: &mut ReadingContext, name: &str, param: &Param) -> Option<f64> {
    let number = one(context, name, param, Unit::Plain)?;
    fraction_of(context, name, &number)
}

/// See [`fraction`].
pub(crate) fn fraction_of(context: &mut ReadingContext, name: &str, number: &Number) -> Option<f64> {
    if (0.0..=100.0).contains(&number.value) {
        return Some(number.value / 100.0);
    }
    let message = format!("`{name}` is {}", shown(number.value));
    context.push(Diagnostic::error("out-of-range", number.span, message).help("allowed: 0 to 100 (percent)"));
    None
}

/// A count.
pub(crate) fn count(
    context: &mut ReadingContext,
    name: &str,
    param: &Param,
    bounds: std::ops::RangeInclusive<u32>,
) -> Option<u32> {
    let number = one(context, name, param, Unit::Plain)?;
    count_of(context, name, &number, bounds)
}

/// See [`count`].
pub(crate) fn count_of(
    context: &mut ReadingContext,
    name: &str,
    number: &Number,
    bounds: std::ops::RangeInclusive<u32>,
) -> Option<u32> {
    let value = check_bounds(context, name, number, f64::from(*bounds.start())..=f64::from(*bounds.end()))?;
    let whole = whole(context, name, value, number.span)?;
    u32::try_from(whole).ok()
}

/// An amount of bytes.
pub(crate) fn bytes_of(
    context: &mut ReadingContext,
    name: &str,
    number: &Number,
    bounds: std::ops::RangeInclusive<u64>,
) -> Option<u64> {
    let value = check_bounds(context, name, number, *bounds.start() as f64..=*bounds.end() as f64)?;
    whole(context, name, value, number.span)
}

/// The one amount of bytes of a parameter.
pub(crate) fn bytes(
    context: &mut ReadingContext,
    name: &str,
    param: &Param,
    bounds: std::ops::RangeInclusive<u64>,
) -> Option<u64> {
    let number = one(context, name, param, Unit::Plain)?;
    bytes_of(context, name, &number, bounds)
}

/// Largest amount of bytes: 8 EiB.
pub(crate) const BYTES_MAX: u64 = 1 << 62;

fn whole(context: &mut ReadingContext, name: &str, value: f64, span: TextSpan) -> Option<u64> {
    if value.fract() != 0.0 {
        let message = format!("`{name}` must be a whole number, found {value}");
        context.push(Diagnostic::error("out-of-range", span, message));
        return None;
    }
    Some(to_u64(value))
}

/// The nearest whole number; what is outside becomes the nearest bound.
pub(crate) fn to_u64(value: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, which is meant")]
    let out = value.round() as u64;
    out
}

/// Longest time: about 31 years.
const SECONDS_MAX: f64 = 1e9;

/// A time in nanoseconds.
pub(crate) fn time_ns(context: &mut ReadingContext, name: &str, param: &Param, seconds_min: f64) -> Option<u64> {
    let seconds = bounded(context, name, param, Unit::Time, seconds_min..=SECONDS_MAX)?;
    Some(to_u64(seconds * 1e9))
}

/// The only text of a parameter.
pub(crate) fn text(context: &mut ReadingContext, name: &str, param: &Param) -> Option<Text> {
    if let [text] = param.values.as_slice() {
        return Some(text.clone());
    }
    let message = format!("`{name}` wants one value, found {}", param.values.len());
    context.push(Diagnostic::error("one-value", param.span, message));
    None
}

/// The only one of some words that a text means, which may be shortened.
pub(crate) fn fitting<'a>(text: &str, words: &[&'a str]) -> Option<&'a str> {
    let lower = text.to_lowercase();
    let exact = words.iter().find(|word| **word == lower);
    let mut fits = words.iter().filter(|word| !lower.is_empty() && word.starts_with(&lower));
    exact.or_else(|| fits.next().filter(|_| fits.next().is_none())).copied()
}

/// One of some words; may be shortened when only one fits.
pub(crate) fn word<'a>(context: &mut ReadingContext, name: &str, text: &Text, words: &[&'a str]) -> Option<&'a str> {
    let hit = fitting(&text.text, words);
    if hit.is_none() {
        let lower = text.text.to_lowercase();
        let shown: String = text.text.chars().take(40).collect();
        let message = format!("`{name}` does not know `{shown}`");
        let near = if context.full() { None } else { did_you_mean(&lower, words.iter().copied()) };
        let help = near.unwrap_or_else(|| format!("one of: {}", words.join(", ")));
        context.push(Diagnostic::error("unknown-word", text.span, message).help(help));
    }
    hit
}

/// `yes` or `no`.
pub(crate) fn yes_no(context: &mut ReadingContext, name: &str, param: &Param) -> Option<bool> {
    let text = text(context, name, param)?;
    word(context, name, &text, &["yes", "no"]).map(|word| word == "yes")
}

#[cfg(test)]
mod tests {
    use super::{Unit, parse};

    #[test]
    fn numbers_and_their_suffixes() {
        let plain = |text: &str| parse(text, Unit::Plain);
        for (text, expect) in [
            ("4k", 4096.0),
            ("4KB", 4096.0),
            ("1.5m", 1_572_864.0),
            ("2g", 2_147_483_648.0),
            ("1t", 1_099_511_627_776.0),
            ("1h", 3600.0),
            ("-5", -5.0),
            ("1e3", 1000.0),
        ] {
            assert_eq!(plain(text), Some((expect, false)), "{text}");
        }
        assert_eq!(plain("50%"), Some((50.0, true)));
        assert_eq!(parse("2m", Unit::Time), Some((120.0, false)));
        assert_eq!(parse("250ms", Unit::Time), Some((0.25, false)));
        for text in ["", "k", "4600d", "4kib", "1e999", "nan", "inf", "0x10", "1_000", "--1", "5s", "1e"] {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
