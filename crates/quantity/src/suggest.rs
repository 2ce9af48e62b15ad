//! "Did you mean": the nearest of the words that would have been right.

/// The candidate nearest to `word`, when it is near enough to be what was meant.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().take(WORD_MAX).collect();
    let allowed = match word.len() {
        0..=2 => 1,
        3..=5 => 2,
        _ => word.len() / 3,
    };
    candidates
        .into_iter()
        .take(CANDIDATES_MAX)
        .filter_map(|candidate| {
            let other: Vec<char> = candidate.to_lowercase().chars().take(WORD_MAX).collect();
            let far = distance(&word, &other);
            (far <= allowed && far < other.len().max(word.len())).then_some((far, candidate))
        })
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// `did you mean …?`
#[must_use]
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|candidate| format!("did you mean `{candidate}`?"))
}

/// Longer words are compared by their beginnings.
const WORD_MAX: usize = 40;
/// More candidates than these are not looked at.
const CANDIDATES_MAX: usize = 2048;

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

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
