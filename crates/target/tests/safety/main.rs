//! Every row of the safety list on real devices and files: refused with the right words, and nothing changed by it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod devices;
mod files;
mod loops;
mod rescue;
mod signatures;

use plan::{OpenFlags, TargetSpec};
use std::path::{Path, PathBuf};
use target::{OpenTarget, TargetAccess, TargetError, WritePolicy, inspect, open};

/// Does the message name a flag, or say that none exists?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flag {
    Destroy,
    None,
}

pub(crate) fn spec(path: &Path, size_bytes: Option<u64>) -> TargetSpec {
    TargetSpec { size_bytes, ..TargetSpec::whole("sd1".to_string(), path.to_owned()) }
}

pub(crate) fn open_for(path: &Path, size_bytes: Option<u64>, access: TargetAccess) -> Result<OpenTarget, TargetError> {
    open(&spec(path, size_bytes), OpenFlags::default(), access, &WritePolicy::default())
}

pub(crate) fn destroy(path: &Path) -> WritePolicy {
    WritePolicy { destroy: vec![path.to_owned()], ..WritePolicy::default() }
}

/// Opening for writing and inspecting are refused with `words`, name the flag or not, and leave `content` alone; what no
/// flag overrides is refused with the flag as well.
#[track_caller]
pub(crate) fn refused(path: &Path, content: Option<&Path>, words: &[&str], flag: Flag) {
    let before = content.map(|content| testkit::sha256(content).unwrap());
    let check = |error: TargetError| {
        let text = error.to_string();
        assert!(error.is_refusal(), "no refusal: {text}");
        assert!(text.contains(&path.display().to_string()), "does not name {}: {text}", path.display());
        for word in words {
            assert!(text.contains(word), "lacks `{word}`: {text}");
        }
        match flag {
            Flag::Destroy => assert!(text.contains(&format!("`--destroy {}`", path.display())), "no flag in: {text}"),
            Flag::None => assert!(text.contains("no flag overrides this"), "does not say so: {text}"),
        }
    };
    check(inspect(&spec(path, None), TargetAccess::Write, &WritePolicy::default()).unwrap_err());
    check(open_for(path, None, TargetAccess::Write).unwrap_err());
    // A flag for something else never helps.
    let elsewhere = destroy(&PathBuf::from("/dev"));
    check(inspect(&spec(path, None), TargetAccess::Write, &elsewhere).unwrap_err());
    if flag == Flag::None {
        check(inspect(&spec(path, None), TargetAccess::Write, &destroy(path)).unwrap_err());
        check(open(&spec(path, None), OpenFlags::default(), TargetAccess::Write, &destroy(path)).unwrap_err());
    }
    let after = content.map(|content| testkit::sha256(content).unwrap());
    assert_eq!(before, after, "{} changed", path.display());
}

/// A sector as iodyno writes it: its magic, then anything.
pub(crate) fn own_sectors(bytes: usize) -> Vec<u8> {
    let mut data: Vec<u8> =
        (0_u32..).map(|index| index.wrapping_mul(2_654_435_761).to_be_bytes()[0]).take(bytes).collect();
    for sector in data.chunks_mut(512) {
        sector[..8].copy_from_slice(&plan::generate::SECTOR_MAGIC);
    }
    data
}
