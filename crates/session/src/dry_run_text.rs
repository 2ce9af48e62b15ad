//! Shares and long lines of a dry run.

/// No line that is folded is longer, characters; `iodyno ab` puts two more before each.
const COLUMNS: usize = 98;
/// What goes on a further line stands so much further to the right.
const HANGING: usize = 4;

/// A fraction from 0 to 1 in per cent, so that only nothing is 0 and only all is 100: `50 %`, `0.02 %`, `< 0.01 %`, `99.98 %`.
pub(crate) fn share(fraction: f64) -> String {
    let percent = fraction * 100.0;
    match percent {
        _ if percent <= 0.0 || percent >= 100.0 || (1.0..=99.0).contains(&percent) => format!("{percent:.0} %"),
        _ if percent < 0.01 => "< 0.01 %".to_string(),
        _ if percent > 99.99 => "> 99.99 %".to_string(),
        _ => format!("{percent:.2} %"),
    }
}

/// A line in several that are no longer than a terminal is wide: at best after a semicolon, or else a comma, or a word. A longer word
/// stays whole.
pub(crate) fn folded(line: &str) -> Vec<String> {
    let indent = line.chars().take_while(|letter| *letter == ' ').count();
    let (mut lines, mut rest) = (Vec::new(), line.to_string());
    while rest.chars().count() > COLUMNS {
        let lead = if lines.is_empty() { indent } else { indent + HANGING };
        let Some(at) = fold_at(&rest, lead) else { break };
        let further = rest.split_off(at);
        lines.push(rest.trim_end().to_string());
        rest = format!("{}{}", " ".repeat(indent + HANGING), further.trim_start());
    }
    lines.push(rest);
    lines
}

/// Where the next line begins; in the second half of the line where that can be.
fn fold_at(line: &str, lead: usize) -> Option<usize> {
    let end = line.char_indices().nth(COLUMNS).map_or(line.len(), |(at, _)| at);
    let half = line.char_indices().nth(COLUMNS / 2).map_or(0, |(at, _)| at);
    let head = line.get(..end)?;
    let behind = |text: &str| head.rfind(text).map(|at| at + text.len());
    let in_half = |at: &usize| *at > half;
    let word = || behind(" ").filter(|at| *at > lead);
    let beyond = || line.get(end..)?.find(' ').map(|at| end + at + 1);
    behind("; ").filter(in_half).or_else(|| behind(", ").filter(in_half)).or_else(word).or_else(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nothing_is_0_and_only_all_is_100_per_cent() {
        let expected = [
            (0.0, "0 %"),
            (0.000_05, "< 0.01 %"),
            (0.000_156, "0.02 %"),
            (0.005, "0.50 %"),
            (0.02, "2 %"),
            (0.499_922, "50 %"),
            (0.999_8, "99.98 %"),
            (0.999_999, "> 99.99 %"),
            (1.0, "100 %"),
        ];
        for (fraction, text) in expected {
            assert_eq!(share(fraction), text);
        }
    }

    #[test]
    fn a_long_line_is_folded_and_loses_no_word() {
        assert_eq!(folded("  short; line"), ["  short; line"]);
        let parts: Vec<String> = (0..40).map(|at| format!("{} part{at} of ä line", "x".repeat(at % 7))).collect();
        for (join, long) in [("; ", ""), (", ", ""), (" ", ""), ("; ", &"y".repeat(150))] {
            let line = format!("    {long}{}", parts.join(join));
            let all = folded(&line);
            let most = if long.is_empty() { 98 } else { 260 };
            assert!(all.iter().all(|one| one.chars().count() <= most), "{all:?}");
            assert!(all.len() > 5 && all.iter().skip(1).all(|one| one.starts_with("        ")), "{all:?}");
            assert!(all.iter().all(|one| one.trim_end() == one));
            let words = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<String>>();
            assert_eq!(words(&all.join("\n")), words(&line));
        }
        let one_word = format!("  {}", "z".repeat(300));
        assert_eq!(folded(&one_word), [one_word]);
    }
}
