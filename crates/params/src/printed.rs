//! What a printer of plans gives.

/// A plan in one of the languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The parameter file; reading it gives the plan again, but for what is unsaid.
    pub text: String,
    /// What the language cannot say, one sentence each, lower case, without a full stop.
    pub unsaid: Vec<String>,
}
