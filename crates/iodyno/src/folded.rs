//! Long lines on a terminal.

use session::terminal_look;

/// What goes on a further line stands so much further to the right.
const HANGING: usize = 4;

/// Prints a line; on a terminal in several, which are no longer than it is wide.
pub(crate) fn print(line: &str) {
    let look = terminal_look();
    if !look.live {
        outln!("{line}");
        return;
    }
    folded(line, look.width).iter().for_each(|line| outln!("{line}"));
}

/// A line in several that are no longer than `width`, broken between words. A longer word stays whole.
fn folded(line: &str, width: usize) -> Vec<String> {
    let lead = line.chars().take_while(|letter| *letter == ' ').count();
    let hanging = " ".repeat(lead + HANGING);
    let (mut lines, mut rest) = (Vec::new(), line.to_string());
    while rest.chars().count() > width {
        let indent = rest.chars().take_while(|letter| *letter == ' ').count();
        let end = rest.char_indices().nth(width + 1).map_or(rest.len(), |(at, _)| at);
        let within = rest.get(indent..end).and_then(|head| head.rfind(' ')).map(|at| indent + at);
        // Behind the first word, if that alone is too long.
        let from = end.max(indent);
        let behind = || rest.get(from..)?.find(' ').map(|at| from + at);
        let Some(at) = within.or_else(behind) else { break };
        let further = format!("{hanging}{}", rest.get(at..).unwrap_or_default().trim_start());
        // A gap in a table ends no line.
        lines.push(rest.get(..at).unwrap_or_default().trim_end().to_string());
        rest = further;
    }
    lines.push(rest);
    lines
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn lines_break_between_words_and_hang() {
        let line = "  verdict     no damage; 3.99 MiB stamped and right";
        let expected = ["  verdict     no damage;", "      3.99 MiB stamped and", "      right"];
        assert_eq!(folded(line, 26), expected);
        assert_eq!(folded(line, 80), [line]);
        assert_eq!(
            folded("  a_word_without_an_end and more", 10),
            ["  a_word_without_an_end", "      and", "      more"]
        );
        assert_eq!(folded("  1234567890", 4), ["  1234567890"]);
        assert_eq!(folded("        a b", 2), ["        a", "            b"]);
        for width in 0..60 {
            let together = folded(line, width).join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(together, line.split_whitespace().collect::<Vec<_>>().join(" "), "{width}");
        }
    }
}
