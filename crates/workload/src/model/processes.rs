//! The owner of an I/O: processes by number, never by name, and the few of a device that are counted separately.

use std::collections::HashMap;

/// Names that are distinguished; later ones count as no name.
const NAMES: usize = 1 << 16;

/// Whose an I/O is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IoOwner {
    /// Number of a name; 0: not known whose.
    pub(super) name: u32,
    /// Process, if that is known.
    pub(super) pid: Option<i32>,
}

/// Numbers for the names of processes.
#[derive(Clone, Debug, Default)]
pub struct ProcessNames(HashMap<String, u32>);

/// A name by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedProcess {
    number: u32,
    /// Several processes have it, and they count as one.
    is_one: bool,
}

impl ProcessNames {
    /// The number of a name, numbers at its end aside. The kernel's workers are one.
    pub fn named(&mut self, name: &str) -> NamedProcess {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || "-_:/#.".contains(letter));
        let (name, is_one) = match name {
            _ if name.starts_with("kworker/") => ("kworker", true),
            _ if stem.is_empty() => (name, false),
            _ => (stem, false),
        };
        if name.is_empty() {
            return NamedProcess::default();
        }
        let number = match self.0.get(name) {
            Some(number) => *number,
            None if self.0.len() >= NAMES => return NamedProcess::default(),
            None => {
                let number = u32::try_from(self.0.len()).map_or(0, |count| count + 1);
                self.0.insert(name.to_string(), number);
                number
            }
        };
        NamedProcess { number, is_one }
    }

    /// The owner with this name and number; without a name it is unknown.
    pub fn who(&mut self, name: &str, pid: Option<i32>) -> IoOwner {
        IoOwner::new(self.named(name), pid)
    }
}

impl IoOwner {
    /// The one with this name and number.
    pub(super) fn new(name: NamedProcess, pid: Option<i32>) -> Self {
        let is_known = name.number > 0 && !name.is_one;
        Self { name: name.number, pid: pid.filter(|pid| *pid >= 0 && is_known) }
    }

    /// Where it is counted, the finest first: a process, whatever its threads are called; all of its name; all that are
    /// counted as one.
    pub(super) fn keys(self) -> [IoOwner; 3] {
        let named = Self { pid: None, ..self };
        let own = if self.pid.is_some() { Self { name: 0, ..self } } else { named };
        [own, named, Self::default()]
    }

    /// What stands for all that are counted under `key`.
    pub(super) fn counted_as(self, key: IoOwner) -> IoOwner {
        if key.pid.is_some() { self } else { key }
    }
}
