//! Values as the language writes them.

/// One value as it is, several between parentheses.
pub(crate) fn list(values: &[impl AsRef<str>]) -> String {
    let texts: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
    match texts[..] {
        [only] => only.to_string(),
        _ => format!("({})", texts.join(",")),
    }
}

/// A path that would be cut by the language's own characters.
pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', ' ', '=', '(', ')']) { format!("\"{text}\"") } else { text.to_string() }
}

/// Seconds.
pub(crate) fn seconds(ns: u64) -> String {
    (ns as f64 / 1e9).to_string()
}
