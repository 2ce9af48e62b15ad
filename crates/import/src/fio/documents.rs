//! The documents of one output: with `--status-interval` fio prints the whole state again and again, each time with everything since
//! the start, and at the end once more.

use super::OPS;
use serde_json::Value;

/// What stands in a file, in its order.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// The whole ones of fio's.
    pub(super) whole: Vec<Value>,
    /// Lines before the first.
    pub(super) before: usize,
    /// Line on which one that has no end or is no JSON begins, and why; the last such.
    pub(super) broken: Option<(usize, String)>,
    /// Does the last of all have no end?
    pub(super) is_cut: bool,
}

impl Documents {
    /// Finds them: each begins on a line of its own. What stands between them is fio's messages.
    pub(super) fn of(text: &str) -> Self {
        let mut found =
            Self { before: text.lines().take_while(|line| !line.starts_with('{')).count(), ..Self::default() };
        let mut at = 0;
        while let Some(start) = start_of_document(text, at) {
            let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => {
                    at = start + values.byte_offset();
                    if value["fio version"].is_string() {
                        found.whole.push(value);
                        found.is_cut = false;
                    }
                }
                Some(Err(error)) => {
                    let line = text[..start].lines().count();
                    found.broken = Some((line + error.line().max(1), error.to_string()));
                    found.is_cut = true;
                    // Another may begin inside of it, where a later run was appended.
                    at = start + 1;
                }
                None => break,
            }
        }
        found
    }

    /// The last whole one and those before it that are earlier states of the same jobs, in order; how many are of others.
    pub(super) fn last(&self) -> Option<(&Value, &[Value], usize)> {
        let (last, before) = self.whole.split_last()?;
        let pairs = before.iter().rev().zip(self.whole.iter().rev());
        let count = pairs.take_while(|(before, after)| is_earlier_state(before, after)).count();
        let others = before.len() - count;
        Some((last, &before[others..], others))
    }
}

/// The next `{` from `at` on that begins a line, or has fio's version behind it: what breaks off has no line end.
fn start_of_document(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    rest.match_indices('{').map(|(found, _)| at + found).find(|found| {
        let is_line = *found == 0 || text[..*found].ends_with('\n');
        is_line || text[found + 1..].trim_start().starts_with("\"fio version\"")
    })
}

/// The jobs of a document; a client's are under another key, both have the same shape.
pub(super) fn jobs_of(document: &Value) -> &[Value] {
    let jobs = document["jobs"].as_array().or_else(|| document["client_stats"].as_array());
    jobs.map_or(&[], Vec::as_slice)
}

/// Are both of the same jobs, and did none of them have done more before than after?
fn is_earlier_state(before: &Value, after: &Value) -> bool {
    let (before, after) = (jobs_of(before), jobs_of(after));
    let same = |(one, two): (&Value, &Value)| {
        ["jobname", "groupid", "job options"].iter().all(|key| one[*key] == two[*key])
            && one["elapsed"].as_f64() <= two["elapsed"].as_f64()
            && OPS.iter().all(|(key, _)| one[*key]["total_ios"].as_f64() <= two[*key]["total_ios"].as_f64())
    };
    !before.is_empty() && before.len() == after.len() && before.iter().zip(after).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str, elapsed: u32, reads: u32) -> String {
        format!(
            "{{\n \"fio version\" : \"fio-3.33\",\n \"jobs\" : [ {{ \"jobname\" : \"{name}\", \"elapsed\" : {elapsed}, \
             \"read\" : {{ \"total_ios\" : {reads} }} }} ]\n}}\n"
        )
    }

    fn reads(document: &Value) -> u64 {
        document["jobs"][0]["read"]["total_ios"].as_u64().unwrap_or(0)
    }

    #[test]
    fn the_last_whole_document_counts_and_those_of_its_jobs_before() {
        let text = format!(
            "note: both iodepth >= 1\n{}{}fio: a message\n{}{}",
            document("other", 9, 90),
            document("a", 1, 10),
            document("a", 2, 20),
            document("a", 3, 30)
        );
        let found = Documents::of(&text);
        let (last, before, others) = found.last().expect("documents");
        assert_eq!((reads(last), before.iter().map(reads).collect::<Vec<_>>(), others), (30, vec![10, 20], 1));
        assert_eq!((found.before, found.is_cut), (1, false));
        // Cut anywhere in the last.
        let third = text.len() - document("a", 3, 30).len();
        for end in [third + 1, third + 40, text.len() - 3] {
            let found = Documents::of(&text[..end]);
            let (last, ..) = found.last().expect("documents");
            assert_eq!((reads(last), found.is_cut), (20, true), "{end}");
        }
        // One that was cut, and a run that appended to it.
        let found = Documents::of(&format!("{}{}", &text[..third + 40], document("a", 1, 7)));
        let (last, before, others) = found.last().expect("documents");
        assert_eq!((reads(last), before.len(), others, found.is_cut), (7, 0, 3, false));
        assert!(found.broken.is_some());
    }
}
