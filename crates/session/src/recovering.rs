//! Whether a plan goes on with the journal of an earlier session.

use plan::{JournalSettings, Plan};

/// The settings of a plan that goes on with a journal; `None`: it does not.
pub(crate) fn settings(plan: &Plan) -> Option<&JournalSettings> {
    let settings = plan.settings.validation.as_ref()?.journal.as_ref()?;
    (settings.recovers || settings.recovers_only).then_some(settings)
}

/// Is nothing done but reading what the journal says must be there?
pub(crate) fn only_recovers(plan: &Plan) -> bool {
    settings(plan).is_some_and(|settings| settings.recovers_only)
}
