//! What a message of the kernel tells of, in one word: by the list `kernel_messages.txt` beside this file.

use std::sync::LazyLock;

/// The list, with the messages that it was made for.
const LIST: &str = include_str!("kernel_messages.txt");

/// The class of messages that no pattern fits.
pub const OTHER: &str = "other";

/// One line of the list.
#[derive(Debug)]
struct Pattern {
    class: &'static str,
    is_at_begin: bool,
    /// In small letters; they must occur in this order.
    parts: Vec<&'static str>,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let lines = LIST.lines().filter(|line| !line.starts_with(['#', ' ']));
    let patterns = lines.filter_map(|line| {
        let (class, pattern) = line.split_once(": ")?;
        let (is_at_begin, pattern) = pattern.strip_prefix('^').map_or((false, pattern), |rest| (true, rest));
        Some(Pattern { class, is_at_begin, parts: pattern.split('*').collect() })
    });
    patterns.collect()
});

impl Pattern {
    /// `message` is in small letters.
    fn fits(&self, message: &str) -> bool {
        let mut rest = message;
        for (at, part) in self.parts.iter().enumerate() {
            let found = if at == 0 && self.is_at_begin {
                let mut all = rest.match_indices(part).map(|(found, _)| found);
                all.find(|found| *found == 0 || rest[..*found].ends_with(": ") || rest[..*found].ends_with("] "))
            } else {
                rest.find(part)
            };
            let Some(found) = found else { return false };
            rest = &rest[found + part.len()..];
        }
        true
    }
}

/// The class of a message: `link_down`, `io_error`, `oom`, …; [`OTHER`] for what the list does not know.
#[must_use]
pub fn class(message: &str) -> &'static str {
    let message = message.to_ascii_lowercase();
    PATTERNS.iter().find(|pattern| pattern.fits(&message)).map_or(OTHER, |pattern| pattern.class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_has_messages_of_its_own() {
        let mut pattern = None::<&Pattern>;
        let (mut patterns, mut of_this) = (PATTERNS.iter(), 1);
        for line in LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let Some(sample) = line.strip_prefix("    ") else {
                assert!(of_this > 0, "{pattern:?} has no message");
                (pattern, of_this) = (patterns.next(), 0);
                assert!(pattern.is_some_and(|one| line.starts_with(one.class)), "{line}");
                continue;
            };
            of_this += 1;
            let this = pattern.expect("a pattern stands before its messages");
            assert_eq!(class(sample), this.class, "{sample}");
            assert!(this.fits(&sample.to_ascii_lowercase()), "{sample}: {this:?}");
            // As syslog keeps it.
            let kept = format!("Nov 24 12:00:01 db7 kernel: [12345.678901] {sample}");
            assert_eq!(class(&kept), this.class, "{kept}");
        }
        assert!(patterns.next().is_none() && of_this > 0 && PATTERNS.len() > 60);
    }

    #[test]
    fn a_message_without_a_pattern_is_other() {
        for message in [
            "",
            "nvme nvme0: Shutdown timeout set to 8 seconds",
            "systemd[1]: Started Debug: a service.",
            "random: crng init done",
            "audit: type=1400 debug: cpu",
            "ÄÖ: ÜBER \u{1F600} link\u{301} is dowñ",
        ] {
            assert_eq!(class(message), OTHER, "{message}");
        }
    }
}
