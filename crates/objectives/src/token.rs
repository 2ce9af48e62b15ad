//! A condition's text into words, numbers and signs.

/// What stands at a place of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Word(String),
    /// Number and the unit written behind it.
    Number(f64, String),
    Quoted(String),
    Sign(&'static str),
    /// A character that has no meaning.
    Unknown(char),
    /// A quote that is never closed.
    Open(char),
    End,
}

/// With its place, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

const SIGNS: [&str; 22] = [
    "&&", "||", "<=", ">=", "==", "!=", "≤", "≥", "(", ")", "{", "}", ",", "<", ">", "=", "!", "+", "-", "*", "/", "÷",
];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// All tokens, the last of them the end.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            number(rest)
        } else if first.is_alphabetic() || first == '_' {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            (Kind::Word(rest[..length].to_string()), length)
        } else if first == '"' || first == '\'' {
            match rest[1..].find(first) {
                Some(length) => (Kind::Quoted(rest[1..=length].to_string()), length + 2),
                None => (Kind::Open(first), rest.len()),
            }
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            (Kind::Sign(sign), sign.len())
        } else {
            (Kind::Unknown(first), first.len_utf8())
        };
        out.push(Token { kind, start: at, end: at + length });
        at += length;
    }
    out.push(Token { kind: Kind::End, start: text.len(), end: text.len() });
    out
}

/// Digits and what is glued to them: `5ms`, `1.5e3`, `20k`, `500MB/s`, `70%`; one blank before a unit of letters is
/// the same number: `5 ms`.
fn number(rest: &str) -> (Kind, usize) {
    let digits = |from: usize| {
        rest[from..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(rest.len(), |length| from + length)
    };
    let mut end = digits(0);
    // An exponent only where digits follow: 1e3, but 1 end.
    if let Some(after) = rest[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(after.starts_with(['+', '-']));
        if after[sign..].starts_with(|c: char| c.is_ascii_digit()) {
            end = digits(end + 1 + sign);
        }
    }
    let value = rest[..end].parse().unwrap_or(f64::NAN);
    let unit_at = |from: usize| {
        let letters = rest[from..].find(|c: char| !c.is_alphabetic() && c != '%').map_or(rest.len(), |n| from + n);
        let rate = rest[letters..].starts_with("/s") && !rest[letters + 2..].starts_with(is_word);
        if rate { letters + 2 } else { letters }
    };
    let glued = unit_at(end);
    if glued > end {
        return (Kind::Number(value, rest[end..glued].to_string()), glued);
    }
    // Behind a blank only what is a unit is one: `5 ms`, but `5 for 10s`.
    if rest[end..].starts_with(' ') {
        let apart = unit_at(end + 1);
        let unit = &rest[end + 1..apart];
        if !unit.is_empty() && super::dimension::unit(unit).is_some() {
            return (Kind::Number(value, unit.to_string()), apart);
        }
    }
    (Kind::Number(value, String::new()), end)
}

#[cfg(test)]
mod tests {
    use super::{Kind, tokens};

    #[test]
    fn numbers_take_their_units() {
        for (text, value, unit) in [
            ("5ms", 5.0, "ms"),
            ("5 ms", 5.0, "ms"),
            ("1.5e3", 1500.0, ""),
            ("500MB/s", 500.0, "MB/s"),
            ("20k/s", 20.0, "k/s"),
            ("70%", 70.0, "%"),
            ("3 for 10s", 3.0, ""),
            ("3 and", 3.0, ""),
            ("0.99*offered", 0.99, ""),
            ("2/seconds", 2.0, ""),
        ] {
            assert_eq!(tokens(text)[0].kind, Kind::Number(value, unit.to_string()), "{text}");
        }
    }
}
