//! fio's jobs as they were given, for outputs that repeat them.

use super::entry_job::CountedAs;
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
    /// How many of [`JobTexts::global`] stand before it, and hold for it; `None`: all.
    #[serde(default)]
    pub globals: Option<usize>,
    /// fio's number of its group: `stonewall` begins one, and so does `new_group`. `None` in recordings from before it was kept.
    #[serde(default)]
    pub group: Option<usize>,
    /// What fio counts its operations as, where they move no data (`filestat` and its kin).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedAs>,
}

impl JobTexts {
    /// The last value of an option of a job: its own, else that of `[global]`.
    #[must_use]
    pub fn option<'a>(&'a self, job: &'a JobText, name: &str) -> Option<&'a str> {
        let last = |pairs: &'a [(String, String)]| {
            pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
        };
        let globals = job.globals.and_then(|count| self.global.get(..count)).unwrap_or(&self.global);
        last(&job.options).or_else(|| last(globals))
    }
}

/// Which logs a job is to leave behind: fio's `write_bw_log=` and its kin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobLogs {
    /// Beginning of the file's name, of each kind that is asked for: bytes per second,
    pub bandwidth: Option<String>,
    /// times (one file each of total, submission and completion),
    pub latency: Option<String>,
    /// operations per second,
    pub iops: Option<String>,
    /// and histograms of completion times.
    pub histogram: Option<String>,
    /// Of total, submission and completion times: are they written?
    pub has_times: [bool; 3],
    /// Length of what a line of times is the average of, ms; 0: a line of each I/O.
    pub average_ms: u64,
    /// The same of bandwidth.
    pub bandwidth_ms: u64,
    /// The same of operations per second.
    pub iops_ms: u64,
    /// Length of what a histogram is of, ms; 0: none is written.
    pub histogram_ms: u64,
    /// So many bins, as a power of two, are one.
    pub coarseness: u32,
    /// The greatest instead of the average.
    pub is_max: bool,
    /// With the place of each I/O.
    pub has_offset: bool,
    /// With the priority instead of whether it is real time.
    pub has_priority: bool,
    /// As in `ioprio_set(2)`.
    pub priority: u32,
    /// A file for each job, with its number.
    pub is_per_job: bool,
    /// Times are ms since 1970.
    pub is_wall_clock: bool,
}

/// Greatest `log_hist_coarseness`.
const COARSENESS_MAX: u64 = 6;
/// Real time and so on stand above so many bits of a priority.
const CLASS_SHIFT: u32 = 13;
/// What a priority without a class is of.
const BEST_EFFORT: u32 = 2;

impl JobLogs {
    /// Is any asked for?
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.bandwidth.is_some() || self.latency.is_some() || self.iops.is_some() || self.histogram.is_some()
    }

    /// Do some of them have a line of each I/O?
    #[must_use]
    pub fn needs_each(&self) -> bool {
        let kinds =
            [(&self.latency, self.average_ms), (&self.bandwidth, self.bandwidth_ms), (&self.iops, self.iops_ms)];
        kinds.iter().any(|(asked, ms)| asked.is_some() && *ms == 0)
    }

    /// Lengths of the intervals that the others need, ms.
    #[must_use]
    pub fn periods_ms(&self) -> Vec<u64> {
        let kinds = [
            (&self.latency, self.average_ms),
            (&self.bandwidth, self.bandwidth_ms),
            (&self.iops, self.iops_ms),
            (&self.histogram, self.histogram_ms),
        ];
        let mut found: Vec<u64> =
            kinds.iter().filter(|(asked, ms)| asked.is_some() && *ms > 0).map(|(_, ms)| *ms).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Does a text begin as one of fio's logs does, with a line of four or more numbers?
#[must_use]
pub fn is_fio_log(start: &str) -> bool {
    // What is given may end in the middle of a line: those of histograms are long.
    let line = start.lines().next().unwrap_or("").trim_end();
    let words: Vec<&str> = line.split(", ").collect();
    // Priorities (log_prio=1) are hexadecimal.
    let is_priority = |word: &str| word.strip_prefix("0x").is_some_and(|hex| u64::from_str_radix(hex, 16).is_ok());
    let is_number = |word: &str| word.parse::<u64>().is_ok() || is_priority(word);
    words.len() >= 4 && words.iter().all(|word| is_number(word.trim_end_matches(',')))
}

impl JobTexts {
    /// Takes out what asks for logs; true: there was some.
    pub fn drop_logs(&mut self) -> bool {
        let is_log = |(name, _): &(String, String)| name.starts_with("write_") && name.ends_with("_log");
        let options = self.jobs.iter().flat_map(|job| &job.options).chain(&self.global);
        let is_found = options.into_iter().any(is_log);
        for job in &mut self.jobs {
            job.options.retain(|option| !is_log(option));
            let before = job.globals.and_then(|count| self.global.get(..count));
            job.globals = before.map(|all| all.iter().filter(|option| !is_log(option)).count());
        }
        self.global.retain(|option| !is_log(option));
        is_found
    }

    /// The logs that a job asks for.
    ///
    /// # Errors
    /// A sentence about a value that is none.
    pub fn logs(&self, job: &JobText) -> Result<JobLogs, String> {
        let number = |name: &str, max: u64| match self.option(job, name) {
            None => Ok(None),
            Some(text) => match text.trim().parse::<u64>() {
                Ok(number) if number <= max => Ok(Some(number)),
                _ => Err(format!("job {}: {name}={text}: it takes a number from 0 to {max}", job.name)),
            },
        };
        let is_on = |name: &str| self.option(job, name).is_some_and(|value| !matches!(value.trim(), "0" | "false"));
        let prefix = |name: &str| {
            let own = |value: &str| if value.is_empty() { job.name.clone() } else { value.to_string() };
            self.option(job, name).map(|value| own(value.trim()))
        };
        let ms = |name: &str| number(name, u64::from(u32::MAX));
        let average_ms = ms("log_avg_msec")?.unwrap_or(0);
        let shorter = |own: Option<u64>| own.map_or(average_ms, |own| own.min(average_ms));
        let class = number("prioclass", 3)?;
        let level = number("prio", 7)?;
        let class_bits =
            |class: u64| if class == 0 { BEST_EFFORT } else { u32::try_from(class).unwrap_or(BEST_EFFORT) };
        let priority = (class.is_some() || level.is_some())
            .then(|| (class_bits(class.unwrap_or(0)) << CLASS_SHIFT) | u32::try_from(level.unwrap_or(0)).unwrap_or(0));
        Ok(JobLogs {
            bandwidth: prefix("write_bw_log"),
            latency: prefix("write_lat_log"),
            iops: prefix("write_iops_log"),
            histogram: prefix("write_hist_log"),
            has_times: ["disable_lat", "disable_slat", "disable_clat"].map(|name| !is_on(name)),
            average_ms,
            bandwidth_ms: shorter(ms("bwavgtime")?),
            iops_ms: shorter(ms("iopsavgtime")?),
            histogram_ms: ms("log_hist_msec")?.unwrap_or(0),
            coarseness: u32::try_from(number("log_hist_coarseness", COARSENESS_MAX)?.unwrap_or(0)).unwrap_or(0),
            is_max: is_on("log_max_value"),
            has_offset: is_on("log_offset"),
            has_priority: is_on("log_prio"),
            priority: priority.unwrap_or(0),
            is_per_job: self.option(job, "per_job_logs").is_none() || is_on("per_job_logs"),
            is_wall_clock: is_on("log_unix_epoch"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_what_fio_makes_of_the_options() {
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        let job = JobText {
            name: "mix".to_string(),
            options: pairs(&[("write_lat_log", ""), ("write_bw_log", "out/x"), ("bwavgtime", "250"), ("prio", "3")]),
            ..JobText::default()
        };
        let mut texts = JobTexts { global: pairs(&[("log_avg_msec", "500")]), jobs: Vec::new() };
        let logs = texts.logs(&job).expect("right");
        assert_eq!((logs.latency.as_deref(), logs.bandwidth.as_deref()), (Some("mix"), Some("out/x")));
        assert_eq!((logs.needs_each(), logs.periods_ms()), (false, vec![250, 500]));
        assert_eq!((logs.priority, logs.is_per_job, logs.is_max), (0x4003, true, false));
        texts.global.clear();
        let logs = texts.logs(&job).expect("right");
        assert!(logs.needs_each() && logs.periods_ms().is_empty(), "{logs:?}");
        texts.global = pairs(&[("log_hist_coarseness", "7")]);
        assert!(texts.logs(&job).is_err_and(|why| why.contains("from 0 to 6")));
    }

    #[test]
    fn a_global_section_holds_for_the_jobs_behind_it() {
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        let job = |globals: usize| JobText { globals: Some(globals), ..JobText::default() };
        let global = pairs(&[("write_bw_log", "x"), ("bs", "4k"), ("write_lat_log", "y"), ("rw", "read")]);
        let mut texts = JobTexts { global, jobs: vec![job(0), job(2), job(4)] };
        let seen = |texts: &JobTexts, name: &str| {
            texts.jobs.iter().map(|job| texts.option(job, name).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(seen(&texts, "bs"), [false, true, true]);
        assert_eq!(seen(&texts, "write_lat_log"), [false, false, true]);
        assert!(texts.drop_logs());
        assert_eq!(seen(&texts, "bs"), [false, true, true]);
        assert_eq!((seen(&texts, "rw"), seen(&texts, "write_bw_log")), (vec![false, false, true], vec![false; 3]));
        assert!(!texts.drop_logs());
    }
}
