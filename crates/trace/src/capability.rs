//! What this process may do, before the kernel says no.

use crate::TraceError;

/// Bits of `CapEff` (include/uapi/linux/capability.h).
const SYS_ADMIN: u32 = 21;
const NEEDED: [(u32, &str); 2] = [(39, "CAP_BPF"), (38, "CAP_PERFMON")];

/// Checks the effective capabilities of this process; what cannot be read is left to the kernel.
pub(crate) fn check() -> Result<(), TraceError> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    match missing(&status) {
        Some(missing) if !missing.is_empty() => Err(TraceError::Privilege { missing }),
        _ => Ok(()),
    }
}

/// Names of what is missing, by the text of `/proc/PID/status`.
fn missing(status: &str) -> Option<Vec<&'static str>> {
    let text = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let effective = u64::from_str_radix(text.trim(), 16).ok()?;
    if effective >> SYS_ADMIN & 1 == 1 {
        return Some(Vec::new());
    }
    Some(NEEDED.iter().filter(|(bit, _)| effective >> bit & 1 == 0).map(|(_, name)| *name).collect())
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn missing_capabilities_are_named() {
        let check = |hex: &str| missing(&format!("Name:\tx\nCapEff:\t{hex}\n"));
        assert_eq!(check("000001ffffffffff"), Some(vec![]));
        assert_eq!(check("0000000000200000"), Some(vec![]), "CAP_SYS_ADMIN has them all");
        assert_eq!(check("0000000000000000"), Some(vec!["CAP_BPF", "CAP_PERFMON"]));
        assert_eq!(check("0000008000000000"), Some(vec!["CAP_PERFMON"]));
        assert_eq!(check("000000c000000000"), Some(vec![]));
        assert_eq!(check("nonsense"), None);
        assert_eq!(missing(""), None);
    }
}
