//! What to do when data is wrong: the commands that show more, with their arguments.

use super::tally::path_of;
use super::words;
use plan::Plan;
use quantity::text::shell_word;
use quantity::visible::visible;
use std::path::Path;
use validation::{JudgedDamage, Validation};

/// The sentence behind the damage; `None` where nothing is damaged whose place is kept.
pub(crate) fn what_next(
    plan: &Plan,
    validation: &Validation,
    damages: &[JudgedDamage],
    recording: &Path,
) -> Option<String> {
    let path = |damage: &JudgedDamage| {
        let place = plan.place_path(damage.target);
        match path_of(validation, damage.target, damage.file) {
            Some(file) => place.join(file),
            None => place.to_path_buf(),
        }
    };
    // Of a whole file that is gone there is nothing to be seen.
    let place = damages.iter().find(|damage| !words::is_of_file(damage.class));
    let first = place.or(damages.first())?;
    let looked_at =
        place.map(|damage| format!("`iodyno inspect {} --at {:#x}`", quoted(&path(damage)), damage.address));
    let target = quoted(plan.place_path(first.target));
    let known = plan.settings.validation.as_ref().and_then(|settings| settings.journal.as_ref()?.directory.as_ref());
    let journal = known.filter(|_| first.file.is_none()).map(|journal| format!(" --journal {}", quoted(journal)));
    let commands = [
        looked_at.map(|command| format!("{command} shows the first")),
        Some(format!("`iodyno verify {target}{}` reads all again", journal.unwrap_or_default())),
        Some(format!("`iodyno export {} data_error` has the places", quoted(recording))),
    ];
    let commands: Vec<String> = commands.into_iter().flatten().collect();
    Some(format!("what next: write nothing there; {} (docs/validation.md)", commands.join("; ")))
}

/// A path as a shell takes it, and a terminal, too.
fn quoted(path: &Path) -> String {
    shell_word(&visible(&path.to_string_lossy())).into_owned()
}
