//! Values as the language writes them.

use parameter_text::shortest::{bytes, inverse};
use plan::{OpenFlags, TransferSize};

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

pub(crate) fn sizes(size: &TransferSize) -> String {
    match size {
        TransferSize::Fixed(size) => bytes(*size),
        TransferSize::Mix(mix) => {
            // What never comes is not said: Vdbench knows no such share.
            let used: Vec<&(u64, f64)> = mix.iter().filter(|(_, share)| *share > 0.0).collect();
            if let [(size, _)] = used[..] {
                return bytes(*size);
            }
            let parts: Vec<String> = used.iter().flat_map(|(size, share)| [bytes(*size), percent(*share)]).collect();
            format!("({})", parts.join(","))
        }
        TransferSize::Uniform { min, max, align } => format!("({},{},{})", bytes(*min), bytes(*max), bytes(*align)),
    }
}

pub(crate) fn open_flags(open: OpenFlags) -> String {
    let mut words = Vec::new();
    for (is_set, word) in
        [(open.direct, "o_direct"), (open.sync, "o_sync"), (open.dsync, "o_dsync"), (open.fsync_at_end, "fsync")]
    {
        if is_set {
            words.push(word.to_string());
        }
    }
    if open.extra != 0 {
        words.push(format!("{:#x}", open.extra));
    }
    list(&words)
}

/// A percentage without its sign that reads back as the same fraction.
pub(crate) fn percent(fraction: f64) -> String {
    inverse(fraction * 100.0, |percent| (percent / 100.0).to_bits() == fraction.to_bits())
}
