//! Names and lines of fio's logs.
//!
//! `PREFIX_bw.N.log`, `_iops`, `_lat`, `_clat`, `_slat` have `ms, value, direction, block size, …` on a line: one per
//! I/O, or with `log_avg_msec` an average, whose block size is 0. `PREFIX_clat_hist.N.log` has
//! `ms, direction, block size, count, count, …`.

use crate::ImportError;
use std::io::BufRead as _;
use std::path::{Path, PathBuf};

/// Operations that fio logs, by the number in a line.
pub(super) const OPS: [&str; 3] = ["read", "write", "trim"];
/// Counts of a histogram line at full resolution: 29 octaves of 64.
const BINS: usize = 29 * 64;
/// Longer than any run: times beyond it are of day (`log_unix_epoch=1`).
const EPOCH_MS: u64 = 100_000_000_000;

/// What a log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// Completion − submission, ns.
    Completion,
    /// Completion − the moment when fio made the I/O, ns.
    Total,
    /// Counts of completion latencies.
    Histogram,
    /// Operations per second.
    Iops,
    /// KiB/s.
    Bandwidth,
    /// Time to submit; no figure here.
    Submission,
}

const KINDS: [(&str, Kind); 6] = [
    ("_clat_hist", Kind::Histogram),
    ("_clat", Kind::Completion),
    ("_slat", Kind::Submission),
    ("_lat", Kind::Total),
    ("_iops", Kind::Iops),
    ("_bw", Kind::Bandwidth),
];

/// A log by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) path: PathBuf,
    /// What `write_*_log=` was given.
    pub(super) prefix: String,
    pub(super) kind: Kind,
    /// Number of the job from 1; `None` with `per_job_logs=0`.
    pub(super) job: Option<u32>,
}

impl Log {
    /// `None` when the name is not that of a log.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".log")?;
        let (stem, job) = match stem.rsplit_once('.') {
            Some((stem, number)) if number.parse::<u32>().is_ok() => (stem, number.parse().ok()),
            _ => (stem, None),
        };
        let (prefix, kind) = KINDS.iter().find_map(|(end, kind)| Some((stem.strip_suffix(end)?, *kind)))?;
        Some(Self { path: path.to_path_buf(), prefix: prefix.to_string(), kind, job })
    }

    /// All logs in a folder, by prefix and job.
    pub(super) fn all(folder: &Path) -> Result<Vec<Self>, ImportError> {
        let failed = || ImportError::io("read", folder);
        let mut logs = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed())? {
            logs.extend(Self::of(&entry.map_err(failed())?.path()));
        }
        logs.sort_by(|a, b| (&a.prefix, a.job, a.kind).cmp(&(&b.prefix, b.job, b.kind)));
        Ok(logs)
    }

    /// Calls `take` with each line that has something, from the file as it goes by; gives the number of lines that were
    /// cut off (a last one without its end).
    pub(super) fn lines(&self, mut take: impl FnMut(Line)) -> Result<usize, ImportError> {
        let file = std::fs::File::open(&self.path).map_err(ImportError::io("read", &self.path))?;
        let mut reader = std::io::BufReader::with_capacity(1 << 20, file);
        let (mut text, mut number) = (Vec::new(), 0);
        loop {
            text.clear();
            number += 1;
            if reader.read_until(b'\n', &mut text).map_err(ImportError::io("read", &self.path))? == 0 {
                return Ok(0);
            }
            let line = String::from_utf8_lossy(&text);
            match Line::parse(&line, self.kind) {
                Ok(Some(line)) => take(line),
                Ok(None) => {}
                Err(_) if !line.ends_with('\n') => return Ok(1),
                Err(what) => return Err(ImportError::Malformed { path: self.path.clone(), line: number, what }),
            }
        }
    }

    /// Has it a line per I/O?
    pub(super) fn is_per_io(&self) -> Result<bool, ImportError> {
        if self.kind == Kind::Histogram {
            return Ok(false);
        }
        let file = std::fs::File::open(&self.path).map_err(ImportError::io("read", &self.path))?;
        let mut first = String::new();
        let read = std::io::BufReader::new(file).read_line(&mut first);
        read.map_err(ImportError::io("read", &self.path))?;
        Ok(Line::parse(&first, self.kind).ok().flatten().is_some_and(|line| line.size > 0))
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Since the job's start, or of day, ms.
    pub(super) t_ms: u64,
    /// Index in [`OPS`].
    pub(super) op: usize,
    /// Bytes of the I/O; 0 in an average.
    pub(super) size: u64,
    pub(super) figure: Figure,
}

/// What stands in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Figure {
    Value(u64),
    /// Values that stand for their bins, and how often each.
    Bins(Vec<(u64, u64)>),
}

impl Line {
    /// Is its time one of day?
    pub(super) fn is_of_day(&self) -> bool {
        self.t_ms > EPOCH_MS
    }

    /// `None`: nothing that is of use here (blank, or an operation without data).
    pub(super) fn parse(text: &str, kind: Kind) -> Result<Option<Self>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let mut words = text.split(',').map(str::trim);
        let mut number = |what: &str| {
            let word = words.next().unwrap_or("");
            word.parse::<u64>().map_err(|_| format!("`{word}` is not {what}"))
        };
        let t_ms = number("a time in ms")?;
        let value = if kind == Kind::Histogram { None } else { Some(number("a value")?) };
        let op = number("a direction: 0 read, 1 write, 2 trim")?;
        let size = number("a block size")?;
        let op = match usize::try_from(op) {
            Ok(op) if op < OPS.len() => op,
            // 3 and on are syncs, which move nothing.
            Ok(3..=5) => return Ok(None),
            _ => return Err(format!("`{op}` is not a direction: 0 read, 1 write, 2 trim")),
        };
        let figure = match value {
            Some(value) => Figure::Value(value),
            None => Figure::Bins(bins(words)?),
        };
        Ok(Some(Self { t_ms, op, size, figure }))
    }
}

/// The counts of a histogram line as values in the middle of their bins.
fn bins<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec<(u64, u64)>, String> {
    let mut counts: Vec<u64> = Vec::with_capacity(BINS);
    for word in words.filter(|word| !word.is_empty()) {
        counts.push(word.parse().map_err(|_| format!("`{word}` is not a count"))?);
    }
    // log_hist_coarseness halves their number.
    let each = BINS / counts.len().max(1);
    if counts.len() * each != BINS || !each.is_power_of_two() {
        return Err(format!("a histogram has {BINS} counts, or that halved some times, not {}", counts.len()));
    }
    let taken = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    Ok(taken.map(|(at, count)| (u64::midpoint(low(at * each), low((at + 1) * each)), *count)).collect())
}

/// Where a bin begins, ns: 64 bins of 1 ns, then 64 per octave.
fn low(bin: usize) -> u64 {
    let (octave, at) = (bin as u64 / 64, bin as u64 % 64);
    if octave == 0 { at } else { (64 + at) << (octave - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let of = |name: &str| Log::of(Path::new(name)).map(|log| (log.prefix, log.kind, log.job));
        assert_eq!(of("/x/mix_clat_hist.12.log"), Some(("mix".to_string(), Kind::Histogram, Some(12))));
        assert_eq!(of("a_lat_lat.log"), Some(("a_lat".to_string(), Kind::Total, None)));
        assert_eq!(of("rand.read_bw.1.log"), Some(("rand.read".to_string(), Kind::Bandwidth, Some(1))));
        assert_eq!((of("server.log"), of("mix_lat.1.txt"), of("mix_lat.x.log")), (None, None, None));
    }

    #[test]
    fn bins_begin_and_end_where_fio_has_them() {
        // fio's own middles: its bin 128 stands for 129, its bin 600 for 22,656.
        assert_eq!((u64::midpoint(low(128), low(129)), u64::midpoint(low(600), low(601))), (129, 22_656));
        assert_eq!((low(63), low(64), low(127), low(128), low(129)), (63, 64, 127, 128, 130));
        assert_eq!(low(8 * 64 + 31), 12_160);
        assert_eq!(low(BINS), 64 << 28);
    }

    #[test]
    fn lines() {
        let value = |t_ms, value, op, size| Ok(Some(Line { t_ms, op, size, figure: Figure::Value(value) }));
        assert_eq!(Line::parse("567, 804, 1, 0, 0", Kind::Bandwidth), value(567, 804, 1, 0));
        assert_eq!(Line::parse("5, 80, 0, 4096", Kind::Total), value(5, 80, 0, 4096));
        assert_eq!(Line::parse("5, 80, 3, 0", Kind::Total), Ok(None));
        assert_eq!(Line::parse("\n", Kind::Total), Ok(None));
        for (text, said) in [
            ("x, 80, 0, 4096", "`x` is not a time in ms"),
            ("5, -80, 0, 4096", "`-80` is not a value"),
            ("5, 80, 9, 4096", "`9` is not a direction: 0 read, 1 write, 2 trim"),
            ("5, 80", "`` is not a direction: 0 read, 1 write, 2 trim"),
        ] {
            assert_eq!(Line::parse(text, Kind::Total), Err(said.to_string()));
        }
        let coarse = format!("1005, 1, 4096{}", ", 1".repeat(BINS / 4));
        let Ok(Some(line)) = Line::parse(&coarse, Kind::Histogram) else { panic!("{coarse}") };
        let Figure::Bins(bins) = line.figure else { panic!("bins") };
        assert_eq!((bins.len(), bins[0], bins[16]), (464, (2, 1), (66, 1)));
        assert_eq!(
            Line::parse("1005, 1, 4096, 1, 2", Kind::Histogram),
            Err("a histogram has 1856 counts, or that halved some times, not 2".to_string())
        );
    }
}
