//! Loop variables of runs, as recordings have them: `name=value name=value`.

/// The variables of one run. A value may have blanks: what has no `name=` belongs to the value before.
#[must_use]
pub fn of(detail: &str) -> Vec<(&str, &str)> {
    let is_name = |text: &str| {
        let name = text.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        })
    };
    let blanks = detail.char_indices().filter(|(_, letter)| letter.is_whitespace());
    let behind = blanks.map(|(at, blank)| at + blank.len_utf8());
    let mut starts: Vec<usize> = std::iter::once(0).chain(behind).filter(|at| is_name(&detail[*at..])).collect();
    starts.push(detail.len());
    let pairs = starts.windows(2).map(|pair| detail[pair[0]..pair[1]].trim_end());
    pairs.filter_map(|pair| pair.split_once('=')).collect()
}

/// The value of one variable of a run.
#[must_use]
pub fn value_of<'a>(detail: &'a str, name: &str) -> Option<&'a str> {
    of(detail).into_iter().find(|variable| variable.0 == name).map(|variable| variable.1)
}

/// Variables with more than one value, in the order of nesting, each with its values in rising order.
#[must_use]
pub fn swept<'a>(details: impl Iterator<Item = &'a str>) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in details.flat_map(of) {
        match names.iter_mut().find(|known| known.0 == name) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => names.push((name, vec![value])),
        }
    }
    names.retain(|(_, values)| values.len() > 1);
    for (_, values) in &mut names {
        if values.iter().all(|value| number(value).is_some()) {
            values.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
        }
    }
    names
}

/// Number of a value as parameter files have it: `8k`, `1m`, `70`.
fn number(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0_f64.powi(3),
        "t" => 1024.0_f64.powi(4),
        _ => return None,
    };
    digits.trim_end_matches('%').parse::<f64>().ok().map(|value| value * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_by_what_they_stand_for() {
        let details = ["threads=8 mem=1m", "threads=16 mem=64k", "threads=8 mem=1g", "threads=2 mem=1m"];
        let found = swept(details.into_iter());
        assert_eq!(found, [("threads", vec!["2", "8", "16"]), ("mem", vec!["64k", "1m", "1g"])]);
        assert_eq!(value_of(details[1], "mem"), Some("64k"));
        assert_eq!(swept(["a=1", "a=1"].into_iter()), []);
    }

    #[test]
    fn a_value_may_have_blanks() {
        assert_eq!(of("mem=2 m threads=4  s=a b "), [("mem", "2 m"), ("threads", "4"), ("s", "a b")]);
        assert_eq!(of("./a b=1"), [("b", "1")]);
        assert_eq!(of(""), []);
    }
}
