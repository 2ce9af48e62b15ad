//! Why there are no figures: the word that a machine has about each subject (`works`, `unsupported here`, `broken`,
//! `not applicable`, with the reason), as the collector found it and the manifest keeps it. Every face says it where the
//! figures would stand.

use crate::stat::CounterSubject;
use recording::{AvailabilityKind, Manifest, rows};
use std::collections::BTreeMap;

/// Where a manifest keeps them.
pub const SUBJECTS: &str = "subjects";

/// A sentence per subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Availability(BTreeMap<String, String>);

impl Availability {
    /// Those of a machine.
    #[must_use]
    pub fn new(verdicts: BTreeMap<String, String>) -> Self {
        Self(verdicts)
    }

    /// Those that a recording keeps; none of an import, or of one that is older than they are.
    #[must_use]
    pub fn of(manifest: &Manifest) -> Self {
        let kept = manifest.extra.get(SUBJECTS).and_then(|kept| kept.as_object());
        let words = kept.into_iter().flatten();
        Self(words.filter_map(|(name, words)| Some((name.clone(), words.as_str()?.to_string()))).collect())
    }

    /// Why a table has no rows; `None` when its subject works, or the reason is unknown.
    #[must_use]
    pub fn of_table(&self, table: &str) -> Option<&str> {
        // The narrower one goes first.
        let subjects = [Some(table), subject_of(table)];
        let mut words = subjects.into_iter().flatten().filter_map(|subject| self.0.get(subject));
        words.find(|words| !works(words)).map(String::as_str)
    }

    /// Is it said that this table is filled where there is anything to fill it with?
    #[must_use]
    pub fn is_measured(&self, table: &str) -> bool {
        self.0.get(table).is_some_and(|words| works(words))
    }

    /// Does a recording say that a subject was measured?
    #[must_use]
    pub fn works(manifest: &Manifest, subject: &str) -> bool {
        Self::of(manifest).0.get(subject).is_some_and(|words| works(words))
    }

    /// The table of counters that a view is about; `None` for views of something else.
    #[must_use]
    pub fn table_of(view: &str) -> Option<&'static str> {
        match view.split_once('.')? {
            ("run", "cpu") => Some(rows::Cpu::NAME),
            ("cpu", _) => Some(rows::RunQueue::NAME),
            ("disk" | "controller", _) => Some(rows::Disk::NAME),
            ("net", _) => Some(rows::Net::NAME),
            ("pool", _) => Some(rows::ZfsPool::NAME),
            ("memory", _) => Some(rows::Memory::NAME),
            ("system", _) => Some(rows::System::NAME),
            ("pressure", _) => Some(rows::Pressure::NAME),
            _ => None,
        }
    }

    /// Why a view of counters shows nothing.
    #[must_use]
    pub fn of_view(&self, id: &str) -> Option<&str> {
        self.of_table(Self::table_of(id)?)
    }

    /// Subjects that a machine of this kind could have, and that cannot be measured on this machine, with the reason.
    /// Subjects that are not applicable are left out.
    pub fn troubles(&self) -> impl Iterator<Item = (&str, &str)> {
        // A column that a kernel does not have is a property of it: `?` says so where it stands.
        let is_trouble = |words: &str| {
            let kind = AvailabilityKind::of(words);
            !matches!(kind, AvailabilityKind::Works | AvailabilityKind::NotApplicable | AvailabilityKind::NotMeasured)
        };
        self.0.iter().map(|(subject, words)| (subject.as_str(), words.as_str())).filter(move |one| is_trouble(one.1))
    }

    /// Why `stat` and the page of `top` have no figures of a subject.
    #[must_use]
    pub fn of_subject(&self, subject: CounterSubject) -> Option<&str> {
        self.of_table(subject.table())
    }
}

/// Is it the word of a subject whose figures are there?
fn works(words: &str) -> bool {
    AvailabilityKind::of(words) == AvailabilityKind::Works
}

/// The subject that a table is filled by, where that has another name.
fn subject_of(table: &str) -> Option<&'static str> {
    Some(match table {
        rows::System::NAME => "cpu",
        rows::Udp::NAME | rows::Listener::NAME => "tcp",
        rows::NicCounter::NAME => "net",
        rows::Softnet::NAME => "interrupt",
        rows::CgroupIo::NAME => "cgroup",
        rows::ZfsArc::NAME | rows::ZfsPool::NAME | rows::ZfsDataset::NAME => "zfs",
        rows::PreemptedBy::NAME | rows::ProcessEvent::NAME | rows::RunQueue::NAME => rows::CpuEvent::NAME,
        rows::Stolen::NAME => rows::IrqTime::NAME,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrower_word_goes_first_and_what_works_says_nothing() {
        let words = [
            ("cpu", "works"),
            ("zfs", "works"),
            ("zfs_pool", "not applicable: no pool is imported"),
            ("pressure", "unsupported here: there is no /proc/pressure/cpu"),
        ];
        let mut manifest = Manifest::new(&[]);
        assert_eq!(Availability::of(&manifest).of_table("pressure"), None, "the reason is unknown");
        manifest.extra.insert(SUBJECTS.to_string(), words.into_iter().collect());
        let verdicts = Availability::of(&manifest);
        let check = |table: &str, expect: Option<&str>| assert_eq!(verdicts.of_table(table), expect, "{table}");
        check("cpu", None);
        check("system", None);
        check("zfs_arc", None);
        check("zfs_pool", Some("not applicable: no pool is imported"));
        check("pressure", Some("unsupported here: there is no /proc/pressure/cpu"));
        let troubles: Vec<&str> = verdicts.troubles().map(|trouble| trouble.0).collect();
        assert_eq!(troubles, ["pressure"], "subjects that are not applicable are left out");
        assert_eq!(verdicts.of_view("net.throughput"), None);
        assert_eq!(verdicts.of_subject(CounterSubject::Pool), Some("not applicable: no pool is imported"));
    }
}
