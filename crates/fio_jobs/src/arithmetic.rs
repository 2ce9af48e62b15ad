//! Arithmetic on whole values, as fio has `bc` do it for values with `$pagesize`, `$mb_memory` or `$ncpus` in them.

/// Nesting of parentheses and signs.
const DEPTH_MAX: u32 = 100;

/// What a value with a reserved word in it comes to: `8*4096` is 32768. Whole numbers, `+ - * / %` and parentheses; divisions
/// leave their rest out, as `bc` does without `-l`. `None`: it is nothing to reckon with, and stays as it is.
pub(crate) fn value(text: &str) -> Option<String> {
    // What is in quotes fio leaves alone as well.
    if !text.contains(['+', '-', '*', '/']) || text.contains('\'') {
        return None;
    }
    let mut sum = Sum { rest: text, depth: 0 };
    let value = sum.sum()?;
    sum.rest.trim().is_empty().then(|| value.to_string())
}

struct Sum<'a> {
    rest: &'a str,
    depth: u32,
}

impl Sum<'_> {
    fn take(&mut self, of: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next().filter(|sign| of.contains(sign))?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.product()?;
            value = if sign == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.atom()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let other = self.atom()?;
            value = match sign {
                '*' => value.checked_mul(other)?,
                '/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<i128> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let value = self.within();
        self.depth -= 1;
        value
    }

    fn within(&mut self) -> Option<i128> {
        if self.take(&['-']).is_some() {
            return self.atom()?.checked_neg();
        }
        if self.take(&['(']).is_some() {
            let value = self.sum()?;
            return self.take(&[')']).map(|_| value);
        }
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::value;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// What `bc` makes of it; `None` where it finds a mistake, or is not there.
    fn bc(text: &str) -> Option<String> {
        let mut bc =
            Command::new("bc").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
        bc.stdin.take()?.write_all(format!("{text}\n").as_bytes()).ok()?;
        let found = bc.wait_with_output().ok()?;
        String::from_utf8(found.stdout).ok().map(|text| text.trim().to_string()).filter(|text| !text.is_empty())
    }

    #[test]
    fn whole_values_come_out_as_bc_has_them() {
        let has_bc = Command::new("bc").arg("--version").stdout(Stdio::null()).status().is_ok();
        for (text, expected) in [
            ("8*4096", "32768"),
            ("4096 * 2 + 512", "8704"),
            ("7716/3", "2572"),
            ("7717/ 3*3", "7716"),
            ("-7/2+10", "7"),
            ("(7717-1)%7*-2", "-4"),
            ("2*(4096+(3-1))", "8196"),
        ] {
            assert_eq!(value(text).as_deref(), Some(expected), "{text}");
            assert!(!has_bc || bc(text).as_deref() == Some(expected), "{text}: {:?}", bc(text));
        }
        for text in ["4096", "8k*4096", "4096,8*4096", "x-2", "/data/2", "8*", "(1+2", "1/0", "'8*2'", "1+ +2", ""] {
            assert_eq!(value(text), None, "{text}");
        }
        assert_eq!(value(&"(".repeat(100_000)), None);
        assert_eq!(value(&format!("1{}", "+1".repeat(999))).as_deref(), Some("1000"), "long is not deep");
        assert_eq!(value(&format!("{0}*{0}*{0}", i64::MAX)), None);
    }
}
