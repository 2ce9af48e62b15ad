//! Options as text: numbers with the shortest exact units.

use parameter_text::shortest::inverse;
use std::fmt::Write as _;

/// The options of a section, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lines(Vec<(String, String)>);

impl Lines {
    /// Adds an option; one that is there already is replaced.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        self.0.retain(|(other, _)| other != name);
        self.push(name, value);
    }

    pub(crate) fn add_if(&mut self, wanted: bool, name: &str, value: impl FnOnce() -> String) {
        if wanted {
            self.add(name, &value());
        }
    }

    /// Adds an option that may be there several times.
    pub(crate) fn push(&mut self, name: &str, value: &str) {
        self.0.push((name.to_string(), value.to_string()));
    }

    /// What an option has.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What all sections have in common; options that come several times in one stay where they are.
    pub(crate) fn common<'a>(mut all: impl Iterator<Item = &'a Self>) -> Self {
        let Some(first) = all.next() else { return Self::default() };
        let once = |lines: &Self, name: &str| lines.0.iter().filter(|(other, _)| other == name).count() == 1;
        let mut common: Vec<_> = first.0.iter().filter(|(name, _)| once(first, name)).cloned().collect();
        for lines in all {
            common.retain(|one| lines.0.contains(one) && once(lines, &one.0));
        }
        common.retain(|(name, _)| {
            !matches!(name.as_str(), "stonewall" | "new_group" | "wait_for" | "exec_prerun" | "exec_postrun")
        });
        Self(common)
    }

    /// What is not in `global`.
    pub(crate) fn without(&self, global: &Self) -> Self {
        Self(self.0.iter().filter(|one| !global.0.contains(one)).cloned().collect())
    }

    pub(crate) fn without_name(&self, name: &str) -> Self {
        Self(self.0.iter().filter(|(other, _)| other != name).cloned().collect())
    }

    /// Options with values that a job file cannot hold: what stands behind `;` or `#` is a comment there.
    pub(crate) fn with_comments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, value)| value.contains([';', '#'])).map(|(name, _)| name.as_str())
    }

    pub(crate) fn write(&self, out: &mut String) {
        for (name, value) in &self.0 {
            let _ = writeln!(out, "{name}={value}");
        }
    }
}

/// A time with the largest unit that keeps it exact.
pub(crate) fn time(ns: u64) -> String {
    let units = [(60_000_000_000_u64, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.iter().find(|(size, _)| ns > 0 && ns.is_multiple_of(*size)) {
        Some((size, unit)) => format!("{}{unit}", ns / size),
        None => format!("{ns}ns"),
    }
}

/// `0-3,8`.
pub(crate) fn list(numbers: &[u32]) -> String {
    let mut out = String::new();
    let mut at = 0;
    while at < numbers.len() {
        let mut last = at;
        while last + 1 < numbers.len() && numbers[last + 1] == numbers[last] + 1 {
            last += 1;
        }
        let gap = if out.is_empty() { "" } else { "," };
        let _ = match last - at {
            0 => write!(out, "{gap}{}", numbers[at]),
            _ => write!(out, "{gap}{}-{}", numbers[at], numbers[last]),
        };
        at = last + 1;
    }
    out
}

/// A fraction as a percentage that reads back as the same fraction.
pub(crate) fn percent(fraction: f64) -> String {
    share_text(fraction, |part| part)
}

/// A percentage of which `forward`, applied to the fraction that is read, gives `target` exactly.
pub(crate) fn share_text(target: f64, forward: impl Fn(f64) -> f64) -> String {
    let slope = forward(1.0) - forward(0.0);
    let guess = if slope == 0.0 { 0.0 } else { (target - forward(0.0)) / slope * 100.0 };
    format!("{}%", inverse(guess, |percent| forward(percent / 100.0).to_bits() == target.to_bits()))
}
