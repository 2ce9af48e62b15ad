//! Names with `*` for any text.

/// Does a map's pattern mean this device? Either its whole name, or, of traces with a number per host (`usr_0`), the
/// number.
#[must_use]
pub fn matches_device(pattern: &str, device: &str) -> bool {
    fits(pattern, device) || device.rsplit_once('_').is_some_and(|(_, number)| number == pattern)
}

/// Does `text` fit a pattern in which `*` stands for any text?
#[must_use]
pub fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(head) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
}
