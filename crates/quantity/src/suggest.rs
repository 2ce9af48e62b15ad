//! "Did you mean": the nearest of the words that would have been right.

/// The candidate nearest to `word`, when it is near enough to be what was meant.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.to_lowercase().chars().take(WORD_MAX).collect();
    let length = word.chars().count();
    let allowed = match length {
        0..=2 => 1,
        3..=5 => 2,
        _ => length / 3,
    };
    candidates
        .into_iter()
        .take(CANDIDATES_MAX)
        .filter_map(|candidate| {
            let other: String = candidate.to_lowercase().chars().take(WORD_MAX).collect();
            let far = strsim::osa_distance(&word, &other);
            (far <= allowed && far < other.chars().count().max(length)).then_some((far, candidate))
        })
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// All candidates, the nearest to `word` first, however far they are.
#[must_use]
pub fn by_distance<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut all: Vec<&str> = candidates.into_iter().collect();
    all.sort_by_cached_key(|candidate| strsim::levenshtein(candidate, word));
    all
}

/// `did you mean …?`, of the nearest candidate that is near enough.
#[must_use]
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(question)
}

/// `did you mean …?`
#[must_use]
pub fn question(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// Longer words are compared by their beginnings.
const WORD_MAX: usize = 40;
/// More candidates than these are not looked at.
const CANDIDATES_MAX: usize = 2048;

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let words = ["xfersize", "rdpct", "seekpct", "threads"];
        for (word, expect) in [
            ("xfresize", Some("xfersize")),
            ("rdptc", Some("rdpct")),
            ("thread", Some("threads")),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), expect, "{word}");
        }
    }
}
