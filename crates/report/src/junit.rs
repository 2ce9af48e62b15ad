//! What came of objectives as JUnit XML, which CI systems read.
//!
//! There is no standard, only what Jenkins, GitLab, GitHub's actions and Azure have in common: `testsuites` of `testsuite` of `testcase`,
//! which passed where it holds neither `failure` nor `skipped`, and the sums of both as attributes.

use crate::svg::escape;
use objectives::{Judgement, ObjectiveVerdict};
use std::fmt::Write as _;

/// What a file of ours begins with: such a one is written anew, any other file is not.
pub const JUNIT_BEGINNING: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"iodyno\"";

/// Objectives of one recording, or of one comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JunitSuite {
    /// Name of the recording, or names of those that are compared.
    pub name: String,
    /// The objectives.
    pub cases: Vec<JunitCase>,
}

/// One objective in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JunitCase {
    /// The run.
    pub class: String,
    /// The condition.
    pub name: String,
    /// What came of it.
    pub outcome: JunitOutcome,
}

/// What came of an objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JunitOutcome {
    /// Met; what was measured.
    Passed(String),
    /// Missed or undecided.
    Failed {
        /// `missed`, `undecided`, `never judged`, `data wrong` or `error`.
        kind: &'static str,
        /// What was measured.
        text: String,
    },
    /// It was not measured what it asks for.
    Skipped(String),
}

impl JunitCase {
    /// A command did not end as it should have.
    #[must_use]
    pub fn command_ended(kind: &'static str, text: &str) -> Self {
        let outcome = JunitOutcome::Failed { kind, text: text.to_string() };
        Self { class: "iodyno".to_string(), name: "the command ended".to_string(), outcome }
    }

    /// What data validation found: so many damaged blocks.
    #[must_use]
    pub fn data_validation(damaged: u64) -> Self {
        let text = format!("damaged blocks: {damaged}");
        let outcome = match damaged {
            0 => JunitOutcome::Passed(text),
            _ => JunitOutcome::Failed { kind: "data wrong", text },
        };
        Self { class: "all runs".to_string(), name: "data validation".to_string(), outcome }
    }
}

impl JunitSuite {
    /// Of verdicts, and of the conditions that no run could judge, which count as missed.
    #[must_use]
    pub fn new(name: &str, verdicts: &[ObjectiveVerdict], never_judged: &[String]) -> Self {
        let of = |verdict: &ObjectiveVerdict| {
            let text = verdict.sentence.clone();
            let run = format!("{} {}", verdict.run, verdict.detail);
            let of = verdict.compared.as_ref().map_or(String::new(), |compared| format!(" of {}", compared.recording));
            let outcome = match verdict.judgement {
                Judgement::Met => JunitOutcome::Passed(text),
                Judgement::Missed | Judgement::Undecided => {
                    JunitOutcome::Failed { kind: verdict.judgement.word(), text }
                }
                Judgement::Unknown => JunitOutcome::Skipped(text),
            };
            JunitCase { class: format!("{}{of}", run.trim_end()), name: verdict.condition.clone(), outcome }
        };
        let silent = never_judged.iter().map(|condition| JunitCase {
            class: "all runs".to_string(),
            name: condition.clone(),
            outcome: JunitOutcome::Failed {
                kind: "never judged",
                text: "no run could judge it, for want of what it asks for".to_string(),
            },
        });
        Self { name: name.to_string(), cases: verdicts.iter().map(of).chain(silent).collect() }
    }

    /// Of conditions that were not looked at, and why.
    #[must_use]
    pub fn not_judged(name: &str, conditions: &[String], why: &str) -> Self {
        let case = |condition: &String| JunitCase {
            class: "all runs".to_string(),
            name: condition.clone(),
            outcome: JunitOutcome::Failed { kind: "never judged", text: why.to_string() },
        };
        Self { name: name.to_string(), cases: conditions.iter().map(case).collect() }
    }

    /// Of a command that ended with an error.
    #[must_use]
    pub fn ended_with(error: &str) -> Self {
        Self { name: "ended with an error".to_string(), cases: vec![JunitCase::command_ended("error", error)] }
    }

    /// What stands in the file until the command ends: one that breaks off leaves no success of an earlier one.
    #[must_use]
    pub fn not_ended() -> Self {
        let case = JunitCase::command_ended(
            "never judged",
            "iodyno wrote this when it began; it has not ended, or was killed",
        );
        Self { name: "not ended".to_string(), cases: vec![case] }
    }

    /// Cases, failures, skipped.
    fn counts(&self) -> [usize; 3] {
        let count = |is: fn(&JunitOutcome) -> bool| self.cases.iter().filter(|case| is(&case.outcome)).count();
        let failed = count(|outcome| matches!(outcome, JunitOutcome::Failed { .. }));
        [self.cases.len(), failed, count(|outcome| matches!(outcome, JunitOutcome::Skipped(_)))]
    }
}

/// Characters that XML 1.0 cannot hold, not even escaped, are shown as what they are, or as `�`.
fn text(words: &str) -> String {
    // A reader makes a blank of a line's end in an attribute, unless it is escaped.
    let safe = escape(words).replace('\n', "&#10;").replace('\r', "&#13;").replace('\t', "&#9;");
    safe.replace(|letter: char| letter < ' ' || "\u{fffe}\u{ffff}".contains(letter), "\u{fffd}")
}

fn sums([tests, failures, skipped]: [usize; 3]) -> String {
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"")
}

/// The whole file.
#[must_use]
pub fn junit(suites: &[JunitSuite]) -> String {
    let counts = suites.iter().map(JunitSuite::counts);
    let all = counts.fold([0; 3], |sum, of| std::array::from_fn(|at| sum[at] + of[at]));
    let mut out = format!("{JUNIT_BEGINNING} {}>\n", sums(all));
    // Writing to a string cannot fail.
    for suite in suites {
        let _ = writeln!(out, "  <testsuite name=\"{}\" {}>", text(&suite.name), sums(suite.counts()));
        for case in &suite.cases {
            let _ = write!(out, "    <testcase classname=\"{}\" name=\"{}\"", text(&case.class), text(&case.name));
            let _ = match &case.outcome {
                JunitOutcome::Passed(words) => {
                    writeln!(out, ">\n      <system-out>{}</system-out>\n    </testcase>", text(words))
                }
                JunitOutcome::Failed { kind, text: words } => writeln!(
                    out,
                    ">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>",
                    text(kind),
                    text(words),
                    text(words)
                ),
                JunitOutcome::Skipped(words) => {
                    writeln!(out, ">\n      <skipped message=\"{}\"/>\n    </testcase>", text(words))
                }
            };
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(run: &str, condition: &str, judgement: Judgement) -> ObjectiveVerdict {
        ObjectiveVerdict {
            condition: condition.to_string(),
            run: run.to_string(),
            run_index: 0,
            detail: "threads=4".to_string(),
            judgement,
            sentence: "p99 was 7 ms & more, <\"bad\">\nreally".to_string(),
            evidence: Vec::new(),
            held_s: None,
            compared: None,
        }
    }

    #[test]
    fn what_ci_reads_of_each_verdict() {
        let verdicts = [
            verdict("rd<1>", "response_ns_p99 > 5ms", Judgement::Missed),
            verdict("rd<1>", "errors > 0", Judgement::Met),
            verdict("rd2", "response_ns_max > 50s", Judgement::Undecided),
            verdict("rd2", "cpu_percent > 90%", Judgement::Unknown),
        ];
        let silent = ["cpu_percent > 90%".to_string()];
        let suites =
            [JunitSuite::new("results/\"monday\" & co", &verdicts, &silent), JunitSuite::new("empty", &[], &[])];
        let file = junit(&suites);
        assert!(file.starts_with(JUNIT_BEGINNING));
        let words = "p99 was 7 ms &amp; more, &lt;&quot;bad&quot;&gt;&#10;really";
        for line in [
            "<testsuites name=\"iodyno\" tests=\"5\" failures=\"3\" errors=\"0\" skipped=\"1\">",
            "  <testsuite name=\"results/&quot;monday&quot; &amp; co\" tests=\"5\" failures=\"3\" errors=\"0\" skipped=\"1\">",
            "    <testcase classname=\"rd&lt;1&gt; threads=4\" name=\"response_ns_p99 &gt; 5ms\">",
            &format!("      <failure type=\"missed\" message=\"{words}\">{words}</failure>"),
            &format!("      <system-out>{words}</system-out>"),
            &format!("      <failure type=\"undecided\" message=\"{words}\">{words}</failure>"),
            &format!("      <skipped message=\"{words}\"/>"),
            "    <testcase classname=\"all runs\" name=\"cpu_percent &gt; 90%\">",
            "  <testsuite name=\"empty\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\">",
        ] {
            assert!(file.lines().any(|found| found == line), "{line}\nis not in\n{file}");
        }
        let hidden = text("a\u{1}b\u{ffff}c");
        assert!(
            !hidden.contains(['\u{1}', '\u{ffff}']) && hidden.starts_with('a') && hidden.ends_with('c'),
            "{hidden}"
        );
        assert!(file.ends_with("</testsuites>\n") && file.matches("</testcase>").count() == 5, "{file}");
    }
}
