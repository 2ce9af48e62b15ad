//! How wide texts are, and how they are made to fit.

/// `name` in at most `length` letters.
pub(crate) fn short(name: &str, length: usize) -> String {
    if name.chars().count() <= length {
        return name.to_string();
    }
    name.chars().take(length.saturating_sub(1)).chain(['…']).collect()
}

/// How much wider Inter is where it is semi-bold.
const BOLD: f64 = 1.06;

/// Names that stand beside each other, in at most `width` each: where cutting the end makes two of them equal, or leaves
/// out what differs, the middle goes.
pub(crate) fn shortened(names: &[String], size: f64, width: f64) -> Vec<String> {
    let fits = |text: &str| text_width(text, size) * BOLD <= width;
    let are_apart = |cut: &[String]| {
        (0..cut.len()).all(|at| (0..at).all(|other| cut[at] != cut[other] || names[at] == names[other]))
    };
    // The end of so many letters stays.
    let cut = |kept: usize| -> Vec<String> {
        let one = |name: &String| {
            if fits(name) {
                return name.clone();
            }
            let letters: Vec<char> = name.chars().collect();
            let tail = &letters[letters.len().saturating_sub(kept)..];
            let with = |head: usize| letters[..head].iter().chain(['…'].iter()).chain(tail).collect::<String>();
            let head = (0..letters.len().saturating_sub(kept)).rev().find(|head| fits(&with(*head)));
            with(head.unwrap_or(0))
        };
        names.iter().map(one).collect()
    };
    let most = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    (0..most).map(cut).find(|cut| are_apart(cut) && cut.iter().all(|name| fits(name))).unwrap_or_else(|| cut(0))
}

/// Width of a text in Inter, roughly.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let letters: f64 = text
        .chars()
        .map(|letter| match letter {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' => 0.28,
            'f' | 'r' | 't' | '(' | ')' | '-' => 0.38,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.85,
            'A'..='Z' => 0.67,
            _ => 0.585,
        })
        .sum();
    letters * size
}

/// Breaks `text` at spaces into lines of at most `width`.
pub(crate) fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + size * 0.3 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{shortened, text_width};

    #[test]
    fn what_differs_stays() {
        let check = |names: &[&str], expect: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            assert_eq!(shortened(&names, 11.0, 86.0), expect);
        };
        check(&["user", "waiting for I/O"], &["user", "waiting for I/O"]);
        let controllers = ["0000:00:02.0 read", "0000:00:02.0 busy", "0000:00:03.0 read"].map(String::from);
        let cut = shortened(&controllers, 11.0, 86.0);
        assert!(cut[0] != cut[1] && cut[0] != cut[2] && cut[1] != cut[2], "{cut:?}");
        let names = ["disk0-of-a-long-name-a", "disk1-of-a-long-name-a", "disk1-of-a-long-name-b"].map(String::from);
        let cut = shortened(&names, 11.0, 86.0);
        assert!(cut[0] != cut[1] && cut[1] != cut[2], "{cut:?}");
        assert!(cut.iter().all(|name| text_width(name, 11.0) * 1.06 <= 86.0), "{cut:?}");
    }
}
