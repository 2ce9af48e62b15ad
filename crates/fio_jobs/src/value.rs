//! Values of options: numbers with units, expressions, percentages, times, and one value per direction.

/// What fio's times without a unit mostly are.
pub(crate) const MICROSECOND_NS: u64 = 1_000;

/// Bytes or a part of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Amount {
    Bytes(u64),
    /// A fraction, 1.0 = all.
    Part(f64),
}

/// Reads, writes, trims.
pub(crate) type PerOp<T> = [T; 3];

/// How units are understood.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    /// 1024 (fio's default: k is 1024 and ki is 1000) or 1000 (as the standards have it).
    pub(crate) base: u64,
}

impl Units {
    /// A number of bytes.
    pub(crate) fn bytes(self, text: &str) -> Result<u64, String> {
        whole(self.number(text, |unit| self.byte_unit(unit))?, text)
    }

    /// A number of bytes, or a percentage.
    pub(crate) fn amount(self, text: &str) -> Result<Amount, String> {
        if let Some(percent) = text.strip_suffix('%') {
            let percent = self.number(percent, |_| None)?;
            return if (0.0..=100.0).contains(&percent) {
                Ok(Amount::Part(percent / 100.0))
            } else {
                Err(format!("`{text}` is not between 0% and 100%"))
            };
        }
        self.bytes(text).map(Amount::Bytes)
    }

    /// A plain number.
    pub(crate) fn count(self, text: &str) -> Result<u64, String> {
        // fio allows sizes' units here as well: number_ios=10k.
        self.bytes(text)
    }

    /// A time in nanoseconds; `plain_ns` is what a number without unit counts.
    pub(crate) fn time_ns(self, text: &str, plain_ns: u64) -> Result<u64, String> {
        let unit = |unit: &str| match unit {
            "" => Some(plain_ns as f64),
            "ns" => Some(1.0),
            "us" | "usec" => Some(1e3),
            "ms" | "msec" => Some(1e6),
            "s" | "sec" => Some(1e9),
            "m" => Some(60e9),
            "h" => Some(3600e9),
            "d" => Some(86_400e9),
            _ => None,
        };
        let ns = self.number(text, unit).map_err(|why| format!("{why}; times have the units us ms s m h d"))?;
        whole(if text.starts_with('(') && text.ends_with(')') { ns * plain_ns as f64 } else { ns }, text)
    }

    /// A number with or without fraction and unit, or an expression between parentheses.
    fn number(self, text: &str, unit: impl Fn(&str) -> Option<f64>) -> Result<f64, String> {
        if let Some(inner) = text.strip_prefix('(') {
            let Some((inner, behind)) = inner.rsplit_once(')') else { return Err(format!("`{text}` lacks a `)`")) };
            let byte_unit = |unit: &str| self.byte_unit(unit);
            let mut expression = Expression { rest: inner, unit: &byte_unit, depth: 0 };
            let value = expression.sum()?;
            if !expression.rest.trim().is_empty() {
                return Err(format!("`{}` is not understood in the expression", expression.rest.trim()));
            }
            let behind = behind.trim();
            return if behind.is_empty() {
                Ok(value)
            } else {
                unit(behind).map(|scale| value * scale).ok_or_else(|| format!("`{behind}` is no unit"))
            };
        }
        let text = text.trim();
        let digits = digits_of(text);
        let (digits, suffix) = text.split_at(digits);
        let value = parse(digits).ok_or_else(|| format!("`{text}` is not a number"))?;
        let suffix = suffix.trim().to_ascii_lowercase();
        let scale = unit_of(&suffix, &unit).ok_or_else(|| format!("`{suffix}` is no unit"))?;
        Ok(value * scale)
    }

    fn byte_unit(self, unit: &str) -> Option<f64> {
        let (letter, rest) = match unit.chars().next() {
            None | Some('b') if unit.len() <= 1 => return Some(1.0),
            Some(letter) => (letter, &unit[letter.len_utf8()..]),
            None => return None,
        };
        let power = i32::try_from("kmgtp".find(letter)?).ok()? + 1;
        let base = match (rest, self.base) {
            ("" | "b", base) => base,
            // fio turns these round for the sake of old files.
            ("i" | "ib", 1000) => 1024,
            ("i" | "ib", _) => 1000,
            _ => return None,
        };
        Some((base as f64).powi(power))
    }
}

/// A unit's factor; without one that of the empty unit, or 1.
fn unit_of(text: &str, unit: &impl Fn(&str) -> Option<f64>) -> Option<f64> {
    unit(text).or_else(|| text.is_empty().then_some(1.0))
}

/// Length of the number that `text` begins with.
fn digits_of(text: &str) -> usize {
    if text.starts_with("0x") || text.starts_with("0X") {
        return 2 + text[2..].find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len() - 2);
    }
    text.char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && (*c == '-' || *c == '+'))))
        .map_or(text.len(), |(at, _)| at)
}

fn parse(digits: &str) -> Option<f64> {
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|value| value as f64),
        None => digits.parse().ok().filter(|value: &f64| value.is_finite()),
    }
}

/// A number that is not negative and not too large, without its fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
fn whole(value: f64, text: &str) -> Result<u64, String> {
    if (0.0..9.0e18).contains(&value) { Ok(value.round() as u64) } else { Err(format!("`{text}` is out of range")) }
}

/// `+ - * / % ^`, parentheses and units, as fio's own evaluator has them.
struct Expression<'a> {
    rest: &'a str,
    unit: &'a dyn Fn(&str) -> Option<f64>,
    depth: u32,
}

impl Expression<'_> {
    fn take(&mut self, of: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next().filter(|c| of.contains(c))?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.product()?;
            value = if sign == '+' { value + other } else { value - other };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.power()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let other = self.power()?;
            if sign != '*' && other == 0.0 {
                return Err("the expression divides by 0".to_string());
            }
            value = match sign {
                '*' => value * other,
                '/' => value / other,
                _ => value % other,
            };
        }
        Ok(value)
    }

    fn power(&mut self) -> Result<f64, String> {
        let value = self.atom()?;
        match self.take(&['^']) {
            Some(_) => Ok(value.powf(self.power()?)),
            None => Ok(value),
        }
    }

    fn atom(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > 200 {
            return Err("the expression is too long".to_string());
        }
        if self.take(&['-']).is_some() {
            return Ok(-self.atom()?);
        }
        if self.take(&['(']).is_some() {
            let value = self.sum()?;
            return self.take(&[')']).map(|_| value).ok_or_else(|| "the expression lacks a `)`".to_string());
        }
        self.rest = self.rest.trim_start();
        let (digits, rest) = self.rest.split_at(digits_of(self.rest));
        let value = parse(digits).ok_or_else(|| format!("`{}` is not a number", self.rest))?;
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(end);
        self.rest = rest;
        let scale = (self.unit)(&unit.to_ascii_lowercase()).ok_or_else(|| format!("`{unit}` is no unit"))?;
        Ok(value * scale)
    }
}

/// One value per direction from `a`, `a,b`, `a,b,c`; what is left out keeps `before`, and what is not there at all is
/// what stands before it.
pub(crate) fn per_op<T: Clone>(
    text: &str,
    before: &PerOp<Option<T>>,
    mut parse: impl FnMut(&str) -> Result<T, String>,
) -> Result<PerOp<Option<T>>, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return Err(format!("`{text}` has {} values: there are three directions, read,write,trim", parts.len()));
    }
    let mut out = before.clone();
    let mut last = None;
    for (at, slot) in out.iter_mut().enumerate() {
        match parts.get(at) {
            Some(&"") => last = None,
            Some(part) => {
                last = Some(parse(part)?);
                slot.clone_from(&last);
            }
            None if last.is_some() => slot.clone_from(&last),
            None => {}
        }
    }
    Ok(out)
}

/// Colon-separated names; a backslash keeps the colon behind it.
pub(crate) fn names(text: &str) -> Vec<String> {
    let (mut out, mut one, mut escaped) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            _ if escaped => {
                if c != ':' {
                    one.push('\\');
                }
                one.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            ':' => out.push(std::mem::take(&mut one)),
            _ => one.push(c),
        }
    }
    if escaped {
        one.push('\\');
    }
    out.push(one);
    out.retain(|name| !name.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_fios_units() {
        let (old, new) = (Units { base: 1024 }, Units { base: 1000 });
        for (text, expected) in [
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("4kib", 4000),
            ("4ki", 4000),
            ("1m", 1 << 20),
            ("2g", 2 << 30),
            ("0x1000", 4096),
            ("512", 512),
            ("512b", 512),
            ("(8+4)*1k", 0),
            ("((8+4)*1k)", 12 << 10),
            ("(2^10)", 1024),
            ("(7%4)", 3),
            ("(-3+5)", 2),
            ("1.5m", 3 << 19),
        ] {
            if expected == 0 {
                assert!(old.bytes(text).is_err(), "{text}");
            } else {
                assert_eq!(old.bytes(text), Ok(expected), "{text}");
            }
        }
        assert_eq!((new.bytes("4k"), new.bytes("4kib")), (Ok(4000), Ok(4096)));
        for bad in ["", "k", "4x", "-1", "1e30", "(1", "(1/0)", "nan", "(1+)", "4 4"] {
            assert!(old.bytes(bad).is_err(), "{bad}");
        }
        assert_eq!(old.amount("25%"), Ok(Amount::Part(0.25)));
        assert!(old.amount("101%").is_err());
    }

    #[test]
    fn times_have_the_options_own_plain_unit() {
        let units = Units { base: 1024 };
        for (text, plain_ns, expected) in [
            ("30", 1_000_000_000, 30_000_000_000),
            ("30", 1_000, 30_000),
            ("2m", 1_000_000_000, 120_000_000_000),
            ("10ms", 1_000, 10_000_000),
            ("1.5s", 1_000, 1_500_000_000),
            ("(2*30)", 1_000_000_000, 60_000_000_000),
        ] {
            assert_eq!(units.time_ns(text, plain_ns), Ok(expected), "{text}");
        }
        assert!(units.time_ns("3 fortnights", 1).is_err());
    }

    #[test]
    fn directions_fill_up() {
        let parse = |text: &str| text.parse::<u32>().map_err(|why| why.to_string());
        let none = [None, None, None];
        assert_eq!(per_op("1", &none, parse), Ok([Some(1); 3]));
        assert_eq!(per_op("1,2", &none, parse), Ok([Some(1), Some(2), Some(2)]));
        assert_eq!(per_op("1,2,", &none, parse), Ok([Some(1), Some(2), None]));
        assert_eq!(per_op(",2", &none, parse), Ok([None, Some(2), Some(2)]));
        assert_eq!(per_op(",2,", &[Some(9); 3], parse), Ok([Some(9), Some(2), Some(9)]));
        assert!(per_op("1,2,3,4", &none, parse).is_err());
    }

    #[test]
    fn names_may_have_colons() {
        assert_eq!(names("/dev/sda:/dev/sdb"), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(names(r"/dev/disk/by-path/pci-0\:1f"), ["/dev/disk/by-path/pci-0:1f"]);
    }
}
