//! fio's jobs as they were given, for outputs that repeat them.

use serde::{Deserialize, Serialize};

/// The jobs of fio's files and flags, copies apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTexts {
    /// Options of `[global]`, in order: name and value.
    #[serde(default)]
    pub global: Vec<(String, String)>,
    /// One per copy of a job, in the order of the files.
    #[serde(default)]
    pub jobs: Vec<JobText>,
}

/// One copy of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobText {
    /// Title of its run.
    pub run: String,
    /// Its workload, `mix.0`.
    pub workload: String,
    /// Name of its section, `mix`.
    pub name: String,
    /// Its own options, in order: name and value.
    #[serde(default)]
    pub options: Vec<(String, String)>,
}

impl JobTexts {
    /// The last value of an option of a job: its own, else that of `[global]`.
    #[must_use]
    pub fn option<'a>(&'a self, job: &'a JobText, name: &str) -> Option<&'a str> {
        let last = |pairs: &'a [(String, String)]| {
            pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
        };
        last(&job.options).or_else(|| last(&self.global))
    }
}
