//! Data validation as Vdbench's parameters.

use crate::print_words::{list, quoted};
use parameter_text::shortest::bytes;
use plan::{Plan, ValidationSettings};

/// `validate=` and `journal=`; what they cannot say is listed.
pub(crate) fn parameters(plan: &Plan, line: &mut impl FnMut(&str, String), unsaid: &mut Vec<String>) {
    let Some(settings) = &plan.settings.validation else { return };
    let words = [
        (settings.reads_after_write, "read_after_write"),
        (!settings.reads_before_write, "no_preread"),
        (settings.keeps_times, "time"),
    ];
    let words: Vec<String> = words.iter().filter(|(is_on, _)| *is_on).map(|(_, word)| (*word).to_string()).collect();
    line("validate", if words.is_empty() { "yes".to_string() } else { list(&words) });
    if let Some(journal) = &settings.journal {
        let mut words = vec![if journal.recovers { "recover" } else { "yes" }.to_string()];
        words.extend(journal.recovers_only.then(|| "only".to_string()));
        words.extend(journal.checkpoint_bytes.map(|size| format!("max={}", bytes(size))));
        line("journal", list(&words));
        if journal.allows_same_device {
            unsaid.push("the journal may lie on the device of the data".to_string());
        }
        if journal.directory.is_some() && plan.targets.is_empty() && plan.trees.is_empty() {
            unsaid.push("the directory of the journal".to_string());
        }
    }
    if !settings.sweeps {
        unsaid.push("that what was written is not read at the end: use --verify reads".to_string());
    }
    if settings.checks_unknown {
        unsaid.push("that data of earlier runs are checked by their stamps (fio's reads with verify=)".to_string());
    }
    if settings.trims_read_zero.is_some() {
        unsaid.push("what trimmed blocks read as (trim_verify_zero)".to_string());
    }
}

/// `journal=` of an `sd=` or `fsd=`: where the journal is.
pub(crate) fn place_of_journal(settings: Option<&ValidationSettings>) -> Option<String> {
    let directory = settings?.journal.as_ref()?.directory.as_ref()?;
    Some(quoted(&directory.display().to_string()))
}
