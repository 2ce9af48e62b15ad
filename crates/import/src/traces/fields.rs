//! Fields of lines: numbers and times as text, with errors that say what was expected.

/// A field as it can be shown.
pub(super) fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let short: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().count() > 40 { format!("`{short}…`") } else { format!("`{short}`") }
}

/// Exactly `N` fields between commas; `names` are theirs.
pub(super) fn commas<'a, const N: usize>(line: &'a [u8], names: &str) -> Result<[&'a [u8]; N], String> {
    exactly(line.split(|byte| *byte == b','), names)
}

/// Exactly `N` fields between blanks.
pub(super) fn blanks<'a, const N: usize>(line: &'a [u8], names: &str) -> Result<[&'a [u8]; N], String> {
    exactly(line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()), names)
}

fn exactly<'a, const N: usize>(
    mut fields: impl Iterator<Item = &'a [u8]>,
    names: &str,
) -> Result<[&'a [u8]; N], String> {
    let mut found = [&b""[..]; N];
    for (at, place) in found.iter_mut().enumerate() {
        *place = fields.next().ok_or_else(|| format!("has {at} fields instead of {N} ({names})"))?.trim_ascii();
    }
    match fields.count() {
        0 => Ok(found),
        more => Err(format!("has {} fields instead of {N} ({names})", N + more)),
    }
}

/// A whole number without a sign, below 2^63: every table has room for it.
pub(super) fn whole(field: &[u8], what: &str) -> Result<i64, String> {
    let mut value = 0_i64;
    let digits = field.iter().map(|byte| i64::from(byte.wrapping_sub(b'0')));
    for digit in digits {
        let next = (0..=9).contains(&digit).then(|| value.checked_mul(10)?.checked_add(digit)).flatten();
        value = next.ok_or_else(|| format!("{what} {} is not a whole number below 2^63", shown(field)))?;
    }
    if field.is_empty() { Err(format!("{what} is missing")) } else { Ok(value) }
}

/// A number that fits `T`.
pub(super) fn small<T: TryFrom<i64>>(field: &[u8], what: &str) -> Result<T, String> {
    T::try_from(whole(field, what)?).map_err(|_| format!("{what} {} is too large", shown(field)))
}

/// `field` times `unit`, still below 2^63.
pub(super) fn times(field: &[u8], unit: i64, what: &str) -> Result<i64, String> {
    whole(field, what)?.checked_mul(unit).ok_or_else(|| format!("{what} {} is too large", shown(field)))
}

/// Seconds with decimals as whole ns; by its digits: a float of 1.4e9 s has no ns any more.
pub(super) fn seconds(field: &[u8], what: &str) -> Result<i64, String> {
    let mut parts = field.splitn(2, |byte| *byte == b'.');
    let (whole_part, decimals) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if whole_part.is_empty()
        || !field.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        || decimals.contains(&b'.')
    {
        return Err(format!("{what} {} is not a number of seconds", shown(field)));
    }
    let mut ns = 0;
    for at in 0..9 {
        ns = ns * 10 + decimals.get(at).map_or(0, |byte| i64::from(byte - b'0'));
    }
    let sum = times(whole_part, 1_000_000_000, what)?.checked_add(ns);
    sum.ok_or_else(|| format!("{what} {} is too large", shown(field)))
}

#[cfg(test)]
mod tests {
    use super::{blanks, commas, seconds, whole};

    #[test]
    fn numbers_by_their_digits() {
        assert_eq!(whole(b"9223372036854775807", "x"), Ok(i64::MAX));
        for wrong in [&b"9223372036854775808"[..], b"-1", b"1.0", b"", b" 1", b"0x1", b"\xff"] {
            assert!(whole(wrong, "x").is_err(), "{wrong:?}");
        }
        assert_eq!(seconds(b"1456135200.013118999", "x"), Ok(1_456_135_200_013_118_999));
        assert_eq!(seconds(b"7", "x"), Ok(7_000_000_000));
        assert_eq!(seconds(b"0.0000000019", "x"), Ok(1), "what is below a ns is cut");
        for wrong in [&b"1.2.3"[..], b".5", b"1e3", b"-1.0", b"99999999999999.0"] {
            assert!(seconds(wrong, "x").is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn fields_are_counted() {
        assert_eq!(commas::<2>(b"a, b", "A,B"), Ok([&b"a"[..], b"b"]));
        assert_eq!(blanks::<2>(b"  a \t b ", "A B"), Ok([&b"a"[..], b"b"]));
        assert_eq!(commas::<2>(b"a", "A,B"), Err("has 1 fields instead of 2 (A,B)".to_string()));
        assert_eq!(commas::<2>(b"a,b,c,d", "A,B"), Err("has 4 fields instead of 2 (A,B)".to_string()));
    }
}
