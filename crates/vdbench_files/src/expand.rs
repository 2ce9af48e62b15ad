//! Definitions into runs, each by its kind.

use crate::expansion_input::ExpansionInput;
use crate::run::Definition;
use crate::{commands, file_runs, replay, to_plan};
use parameter_text::{Diagnostic, ReadingContext};
use plan::Run;
use std::collections::BTreeSet;

/// Expands all definitions.
pub(crate) fn expand(
    context: &mut ReadingContext,
    material: &ExpansionInput<'_>,
    definitions: &[Definition],
) -> Vec<Run> {
    let mut out = Vec::new();
    let mut names = BTreeSet::new();
    for definition in definitions {
        if !names.insert(definition.name.as_str()) {
            let shown: String = definition.name.chars().take(40).collect();
            let message = format!("rd={shown} is defined twice");
            let found = Diagnostic::error("duplicate", definition.span, message);
            context.push(found.help("give each its own name: the name distinguishes the results"));
        }
        if !commands::check(context, definition) {
            continue;
        }
        if definition.replay.is_some() {
            out.extend(replay::run(context, definition, material));
            continue;
        }
        to_plan::check_times(context, definition);
        let has_files = !definition.file_works.is_empty() || !definition.systems.is_empty() || definition.is_of_files;
        if has_files && !commands::is_alone(definition) {
            file_runs::expand(context, material, definition, &mut out);
            continue;
        }
        to_plan::expand(context, material, definition, &mut out);
    }
    out
}
