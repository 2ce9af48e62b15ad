//! Words and lists that single options have as values.

use crate::value::{Amount, MICROSECOND_NS, Units};
use plan::{SteadyMeasure, TargetOrder, TransferSize};
use quantity::numbers::parse_list;

/// Sizes of a range whose largest is no multiple of its smallest; with more of them the largest is no matter.
const SIZES_MAX: u64 = 10_000;

/// On, when nothing is said.
pub(crate) fn switch(value: Option<&str>) -> Result<bool, String> {
    match value {
        None | Some("" | "1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(text) => Err(format!("`{text}` is neither 0 nor 1")),
    }
}

pub(crate) fn number(text: &str) -> Result<f64, String> {
    text.trim().parse::<f64>().ok().filter(|value| value.is_finite()).ok_or(format!("`{text}` is not a number"))
}

pub(crate) fn checked(value: f64, allowed: impl Fn(f64) -> bool, what: &str) -> Result<f64, String> {
    if allowed(value) { Ok(value) } else { Err(format!("{value} is not {what}")) }
}

pub(crate) fn percent(text: &str) -> Result<f64, String> {
    checked(number(text.trim_end_matches('%'))?, |x| (0.0..=100.0).contains(&x), "between 0 and 100")
}

/// All of it would leave nothing that is unlike.
pub(crate) fn below_hundred(text: &str) -> Result<f64, String> {
    checked(percent(text)?, |x| x < 100.0, "below 100")
}

pub(crate) fn in_range(value: u64, low: u64, high: u64) -> Result<u64, String> {
    if (low..=high).contains(&value) { Ok(value) } else { Err(format!("{value} is not between {low} and {high}")) }
}

pub(crate) fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// 0 is never.
pub(crate) fn every(value: u64) -> Result<Option<u32>, String> {
    Ok(Some(narrow(in_range(value, 0, u64::from(u32::MAX))?)).filter(|every| *every > 0))
}

pub(crate) fn ascending(low: u64, high: u64) -> Result<(u64, u64), String> {
    if low <= high { Ok((low, high)) } else { Err(format!("the range falls from {low} to {high}")) }
}

/// The two ends of a range, with `-` or `:` between them.
pub(crate) fn range_of(text: &str) -> (&str, &str) {
    text.split_once(['-', ':']).unwrap_or((text, text))
}

pub(crate) fn block(bytes: u64) -> Result<u64, String> {
    in_range(bytes, 1, i32::MAX.unsigned_abs().into())
        .map_err(|_| format!("a transfer of {bytes} bytes cannot be issued"))
}

/// `4k/10:64k/50:32k`: what has no share divides the rest.
pub(crate) fn split(units: Units, text: &str) -> Result<TransferSize, String> {
    let mut parts = Vec::new();
    for one in text.split(':') {
        let (size, share) = one.split_once('/').map_or((one, None), |(size, share)| (size, Some(share)));
        // A share of 0 is one that is not said.
        let share = share.filter(|share| !share.is_empty()).map(percent).transpose()?.filter(|share| *share > 0.0);
        parts.push((block(units.bytes(size)?)?, share));
    }
    let given: f64 = parts.iter().filter_map(|(_, share)| *share).sum();
    if given > 100.0 + 1e-9 {
        return Err(format!("the shares sum to {given} %, more than 100 %"));
    }
    let open = parts.iter().filter(|(_, share)| share.is_none()).count();
    if open == 0 && (given - 100.0).abs() > 1e-9 {
        return Err(format!("the shares sum to {given} %, not to 100 %"));
    }
    let rest = (100.0 - given) / open.max(1) as f64;
    // A size without any share never comes, and is the smallest or largest all the same.
    let mix: Vec<(u64, f64)> = parts.iter().map(|(size, share)| (*size, share.unwrap_or(rest) / 100.0)).collect();
    Ok(match mix[..] {
        [(bytes, _)] => TransferSize::Fixed(bytes),
        _ => TransferSize::Mix(mix),
    })
}

/// Sizes, each with its percent, and with a priority where one is given.
pub(crate) type PrioritySplit = Vec<(u64, u32, Option<u16>)>;

/// `4k/10:64k/50/1/3`: size, percent, and class and level of the priority.
pub(crate) fn priority_split(units: Units, text: &str) -> Result<PrioritySplit, String> {
    let mut out = PrioritySplit::new();
    for one in text.split(':').filter(|one| !one.is_empty()) {
        let parts: Vec<&str> = one.split('/').collect();
        let number = |text: &str, high: u64| Ok::<u64, String>(units.count(text)?.min(high));
        let priority = match parts[..] {
            [_, _] => None,
            [_, _, class, level] => u16::try_from(number(class, 3)? << 13 | number(level, 7)?).ok(),
            _ => return Err(format!("`{one}` is neither SIZE/PERCENT nor SIZE/PERCENT/CLASS/LEVEL")),
        };
        let share = if parts[1].is_empty() { 0 } else { number(parts[1], 100)? };
        out.push((units.bytes(parts[0])?, narrow(share), priority));
    }
    for (size, ..) in &out {
        let sum: u32 = out.iter().filter(|(other, ..)| other == size).map(|(_, share, _)| share).sum();
        if sum > 100 {
            return Err(format!("the shares of {size} bytes sum to {sum} %, more than 100 %"));
        }
    }
    out.sort_by_key(|(size, ..)| *size);
    Ok(out)
}

/// A size as fio draws it: in whole multiples of the smallest, and what is left of the largest is as likely as it is long.
pub(crate) fn in_multiples(size: &TransferSize) -> TransferSize {
    match size {
        TransferSize::Uniform { min, max, .. } if max % min != 0 && max / min < SIZES_MAX => {
            let each = *min as f64 / *max as f64;
            let whole = (1..=max / min).map(|times| (times * min, each));
            TransferSize::Mix(whole.chain([(*max, (max % min) as f64 / *max as f64)]).collect())
        }
        TransferSize::Mix(mix) => {
            let min = size.min_bytes().max(1);
            TransferSize::Mix(mix.iter().map(|(bytes, share)| (bytes - bytes % min, *share)).collect())
        }
        other => other.clone(),
    }
}

/// The range that [`in_multiples`] makes these sizes of.
pub(crate) fn as_range(size: &TransferSize) -> Option<(u64, u64)> {
    let (min, max) = (size.min_bytes().max(1), size.max_bytes());
    let is_range = matches!(size, TransferSize::Mix(_)) && max % min != 0;
    let range = TransferSize::Uniform { min, max, align: min };
    (is_range && in_multiples(&range) == *size).then_some((min, max))
}

/// Does fio draw these sizes with `bs_unaligned` only?
pub(crate) fn is_unaligned(size: &TransferSize) -> bool {
    matches!(size, TransferSize::Mix(_)) && as_range(size).is_none() && !size.is_in_steps_of(size.min_bytes().max(1))
}

/// `60/10:30/20:10/70`: share of the operations / part of the range; what is left out divides the rest.
pub(crate) fn zones_of(units: Units, text: &str, absolute: bool) -> Result<Vec<(f64, Amount)>, String> {
    let mut zones: Vec<(Option<f64>, Option<Amount>)> = Vec::new();
    for one in text.split(':') {
        let (share, end) = one.split_once('/').ok_or_else(|| format!("`{one}` is no zone: write SHARE/PART"))?;
        let part = match end {
            "" => None,
            _ if absolute => Some(Amount::Bytes(units.bytes(end)?)),
            _ => Some(Amount::Part(percent(end)? / 100.0)),
        };
        let share = if share.is_empty() { None } else { Some(percent(share)? / 100.0) };
        zones.push((share, part));
    }
    let shares = fill_up(zones.iter().map(|(share, _)| *share), "the shares of the zones")?;
    if absolute {
        let parts: Option<Vec<Amount>> = zones.iter().map(|(_, part)| *part).collect();
        let parts = parts.ok_or("a zone of zoned_abs needs a size")?;
        return Ok(shares.into_iter().zip(parts).collect());
    }
    let parts = zones.iter().map(|(_, part)| part.map(|part| if let Amount::Part(part) = part { part } else { 0.0 }));
    let parts = fill_up(parts, "the parts of the range")?;
    Ok(shares.into_iter().zip(parts.into_iter().map(Amount::Part)).collect())
}

/// Fractions that sum to 1, what is not given divides the rest.
fn fill_up(given: impl Iterator<Item = Option<f64>>, what: &str) -> Result<Vec<f64>, String> {
    let given: Vec<Option<f64>> = given.collect();
    let sum: f64 = given.iter().flatten().sum();
    let open = given.iter().filter(|value| value.is_none()).count();
    if sum > 1.0 + 1e-9 || (open == 0 && sum < 1.0 - 1e-9) {
        return Err(format!("{what} sum to {} %, not to 100 %", (sum * 1e6).round() / 1e4));
    }
    let rest = ((1.0 - sum).max(0.0) / open.max(1) as f64 * 1e12).round() / 1e12;
    Ok(given.into_iter().map(|value| value.unwrap_or(rest)).collect())
}

pub(crate) fn turn(units: Units, text: &str) -> Result<TargetOrder, String> {
    let (name, each) = text.split_once(':').map_or((text, None), |(name, each)| (name, Some(each)));
    let each = narrow(in_range(each.map_or(Ok(1), |each| units.count(each))?, 1, u64::from(u32::MAX))?);
    match name {
        "roundrobin" => Ok(TargetOrder::RoundRobin { each }),
        "random" => Ok(TargetOrder::Random { each }),
        "sequential" => Ok(TargetOrder::Sequential),
        _ => Err(format!("`{name}` is none of roundrobin, random, sequential")),
    }
}

/// `iops:5%`, `bw_slope:1m`.
pub(crate) fn steady(units: Units, text: &str) -> Result<(SteadyMeasure, bool, f64, bool), String> {
    let (what, limit) = text.split_once(':').ok_or("it needs a limit: iops:5%")?;
    let (what, slope) = what.strip_suffix("_slope").map_or((what, false), |what| (what, true));
    let measure = match what {
        "iops" => SteadyMeasure::Operations,
        "bw" => SteadyMeasure::Bytes,
        "lat" => SteadyMeasure::Service,
        _ => return Err(format!("`{what}` is none of iops, bw, lat")),
    };
    match limit.strip_suffix('%') {
        Some(limit) => Ok((measure, slope, checked(number(limit)?, |x| x > 0.0, "above 0")? / 100.0, true)),
        None if measure == SteadyMeasure::Service => {
            Ok((measure, slope, units.time_ns(limit, MICROSECOND_NS)? as f64, false))
        }
        None => Ok((measure, slope, units.bytes(limit)? as f64, false)),
    }
}

/// CPUs or nodes: `0-3,8`.
pub(crate) fn list(text: &str) -> Result<Vec<u32>, String> {
    if text.trim().is_empty() { Err("`` is not a number".to_string()) } else { parse_list(text) }
}

pub(crate) fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// Bytes of a file that fio takes as a pattern, with what stands before it.
const PATTERN_BYTES: usize = 512;

/// A pattern in which the files that it names (`'name'`) are replaced by what is in them.
pub(crate) fn with_files(text: &str, mut read: impl FnMut(&str) -> Result<Vec<u8>, String>) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    loop {
        let Some(at) = rest.find(['"', '\'']) else { return Ok(out + rest) };
        let quote = &rest[at..=at];
        let end = rest[at + 1..].find(quote).ok_or(format!("a `{quote}` is not closed"))? + at + 1;
        out.push_str(&rest[..at]);
        if quote == "'" {
            let bytes = read(&rest[at + 1..end])?;
            let room = PATTERN_BYTES.saturating_sub(if out.is_empty() { 0 } else { pattern_bytes(&out)?.len() });
            if bytes.is_empty() || room == 0 {
                return Err(format!("nothing of the file `{}` is in it", &rest[at + 1..end]));
            }
            out.push_str("0x");
            out.extend(bytes.iter().take(room).map(|byte| format!("{byte:02x}")));
        } else {
            out.push_str(&rest[at..=end]);
        }
        rest = &rest[end + 1..];
    }
}

/// `"text"`, `0xhex`, a decimal number, or these one after the other.
pub(crate) fn pattern_bytes(text: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('"') {
            let end = inner.find('"').ok_or("a `\"` is not closed")?;
            out.extend(&inner.as_bytes()[..end]);
            rest = &inner[end + 1..];
        } else if rest.starts_with('%') {
            return Err("%o stands in patterns of verify_pattern only, as in fio".to_string());
        } else if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let mut end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            // The 0 of the 0x behind it.
            end -= usize::from(hex[end..].starts_with(['x', 'X']) && hex[..end].ends_with('0'));
            let digits = if end % 2 == 1 { format!("0{}", &hex[..end]) } else { hex[..end].to_string() };
            for pair in digits.as_bytes().chunks(2) {
                let pair = std::str::from_utf8(pair).unwrap_or_default();
                out.push(u8::from_str_radix(pair, 16).map_err(|_| format!("`{text}` is no pattern"))?);
            }
            if end == 0 {
                return Err(format!("`{text}` is no pattern"));
            }
            rest = &hex[end..];
        } else {
            let mut end = rest.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(rest.len());
            end -= usize::from(rest[end..].starts_with(['x', 'X']) && rest[..end].ends_with('0'));
            let value: i32 = rest[..end]
                .parse()
                .map_err(|_| format!("`{text}` is no pattern: write \"text\", 0xhex or a number"))?;
            // As fio has it: as few bytes as the number needs, the lowest first.
            let bytes = value.to_le_bytes();
            let len = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |at| at + 1);
            out.extend(&bytes[..len]);
            rest = &rest[end..];
        }
        if out.len() > 4096 {
            return Err("the pattern is longer than 4096 bytes".to_string());
        }
    }
    Ok(out)
}
