//! Findings as a table of the catalogue, and the rules as a page of the documentation.

use super::{Finding, FindingSeverity, IOS_ARE_IN, RuleEngine, RuleId, Thresholds};
use std::fmt::Write as _;
use view::Unit;
use view::{TableColumn, ViewTable};

/// One row per finding, causes before what they explain, trouble before notes; `t0_ns` is where elapsed time begins.
pub fn table(engine: &RuleEngine, t0_ns: i64) -> ViewTable {
    let mut shown: Vec<&Finding> = engine.findings().iter().collect();
    shown.sort_by_key(|finding| {
        let cause = finding.explained_by.unwrap_or(finding.id);
        let severity = engine.findings().get(cause - 1).map_or(finding.severity, |cause| cause.severity);
        (std::cmp::Reverse(severity), cause, finding.explained_by.is_some(), finding.id)
    });
    let text = |of: &dyn Fn(&Finding) -> String| shown.iter().map(|finding| of(finding)).collect();
    let seconds = |t_ns: i64| Some((t_ns - t0_ns) as f64 / 1e9);
    ViewTable {
        columns: vec![
            TableColumn::text("rule", text(&|finding| finding.rule.name().to_string())),
            TableColumn::text("subject", text(&|finding| finding.subject.clone())),
            TableColumn::numbers("from", Unit::Seconds, shown.iter().map(|finding| seconds(finding.start_ns))),
            TableColumn::numbers("length", Unit::Seconds, shown.iter().map(|finding| Some(finding.seconds()))),
            TableColumn::text("kind", text(&|finding| kind(finding))),
            TableColumn::text("finding", text(&|finding| finding.sentence.clone())),
            TableColumn::text("next", text(&next)),
        ],
        omitted: engine.left_out(),
    }
}

/// What to do, and where the I/Os around it are.
fn next(finding: &Finding) -> String {
    match &finding.ios {
        Some(ios) => format!("{} Look: {IOS_ARE_IN}{ios}.", finding.next),
        None => finding.next.clone(),
    }
}

fn kind(finding: &Finding) -> String {
    match (finding.explained_by, finding.severity) {
        (Some(cause), _) => format!("explained by {cause}"),
        (None, FindingSeverity::Note) => "note".to_string(),
        (None, FindingSeverity::Finding) => finding.confidence.word().to_string(),
    }
}

/// The rules with their shipped thresholds.
#[must_use]
pub fn rules_markdown() -> String {
    let shipped = Thresholds::default();
    let mut page = String::from(
        "# Rules of findings\n\nGenerated from the sources (`make docs`). [findings.md](findings.md) says how to use them.\n\
         `iodyno diagnose --print-thresholds` prints all thresholds as a file for `--thresholds`.\n",
    );
    let mut section = |title: &str, name: &str| {
        let _ = write!(page, "\n## {title}\n\n| `[{name}]` | shipped | unit | meaning |\n| --- | --- | --- | --- |\n");
        for threshold in shipped.section(name) {
            let super::Threshold { name, value, unit, help } = threshold;
            let _ = writeln!(page, "| `{name}` | {value} | {unit} | {} |", help.trim());
        }
    };
    section("All rules", "general");
    for rule in RuleId::ALL {
        section(&format!("{}: {}", rule.name(), rule.title()), rule.section());
    }
    page
}
