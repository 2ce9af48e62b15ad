//! A loop's value as Vdbench writes it, for scripts that know its titles.

/// `name=value` word for word as in Vdbench's titles: `threads=1.500k`, `rdpct=33`, `comp=2`, `iorate=50%`. The value is that
/// of the plan, which has all digits: `1536`, `33.3`, `1.5m`, `50%`. Formula: below 1,024 the whole number, above three digits
/// behind the point with k, m, g, t or p, or none when they are zeros; what is negative or a percentage, `N%`.
pub fn vdbench_loop(name: &str, value: &str) -> String {
    let label = match name {
        "compratio" => "comp",
        "operations" => "operation",
        name => name,
    };
    let text = match number(value) {
        // eof is -1, and percents of a rate are negative there as well.
        Some(number) if number < 0.0 || value.ends_with('%') => format!("{}%", number.abs().trunc()),
        Some(number) if name.ends_with("rate") => format!("{}", number.trunc()),
        Some(number) => size_text(number),
        None => value.to_string(),
    };
    format!("{label}={text}")
}

/// A rate as Vdbench writes it behind `I/O rate:`, for the same scripts: a whole number. Formula: 1e-15 more, rounded to the
/// nearest, a half to the even one, so that small halves go up (0.5: `1`, 2.5: `3`) and others to the even (1000.5: `1000`).
pub fn vdbench_rate(rate: f64) -> String {
    format!("{}", (rate + 1e-15).round_ties_even())
}

const UNITS: [(f64, &str); 5] = [
    (1_125_899_906_842_624.0, "p"),
    (1_099_511_627_776.0, "t"),
    (1_073_741_824.0, "g"),
    (1_048_576.0, "m"),
    (1024.0, "k"),
];

fn number(text: &str) -> Option<f64> {
    let text = text.strip_suffix('%').unwrap_or(text);
    let (digits, unit) =
        UNITS.into_iter().find_map(|(unit, suffix)| Some((text.strip_suffix(suffix)?, unit))).unwrap_or((text, 1.0));
    let value: f64 = digits.parse().ok()?;
    Some(value * unit).filter(|value| value.is_finite())
}

fn size_text(value: f64) -> String {
    match UNITS.into_iter().find(|(unit, _)| value >= *unit) {
        Some((unit, suffix)) => format!("{:.3}{suffix}", value / unit).replace(".000", ""),
        None => format!("{}", value.trunc()),
    }
}

#[cfg(test)]
mod tests {
    use super::{vdbench_loop, vdbench_rate};

    #[test]
    fn rates_are_whole_numbers() {
        let printed = [0.4, 0.5, 1.5, 2.5, 8.5, 16.5, 17.5, 1000.5, 1000.7, 1e6].map(vdbench_rate);
        assert_eq!(printed, ["0", "1", "2", "3", "9", "16", "18", "1000", "1001", "1000000"]);
    }

    #[test]
    fn values_are_those_of_vdbench() {
        for (name, value, expect) in [
            ("threads", "1024", "threads=1k"),
            ("threads", "1536", "threads=1.500k"),
            ("rdpct", "33.3", "rdpct=33"),
            ("compratio", "1.5", "comp=1"),
            ("xfersize", "4k", "xfersize=4k"),
            ("seekpct", "-1", "seekpct=1%"),
            ("iorate", "50%", "iorate=50%"),
            ("iorate", "2048.7", "iorate=2048"),
            ("iorate", "max", "iorate=max"),
            ("operations", "read", "operation=read"),
        ] {
            assert_eq!(vdbench_loop(name, value), expect);
        }
    }
}
