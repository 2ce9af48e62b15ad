//! `histogram.html`: how many operations of a run fell into each of Vdbench's buckets.

/// The tables of one run.
#[derive(Debug)]
pub(super) struct Distributions {
    pub(super) run: String,
    /// `read`, `write`, with their buckets.
    pub(super) sides: Vec<(&'static str, Vec<Bucket>)>,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) low_ns: u64,
    /// `None`: no upper end.
    pub(super) high_ns: Option<u64>,
    pub(super) count: u64,
}

/// Reads the page; lines that are no buckets end a table and are noted when they are inside one.
pub(super) fn read(text: &str, notes: &mut Vec<String>) -> Vec<Distributions> {
    let mut runs: Vec<Distributions> = Vec::new();
    let mut side: Option<&'static str> = None;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if let Some((_, rest)) = trimmed.split_once("Starting RD=") {
            let name: String = rest.chars().take_while(|c| !c.is_whitespace() && !"<;".contains(*c)).collect();
            runs.push(Distributions { run: name, sides: Vec::new() });
            side = None;
        } else if let Some(title) = trimmed.strip_suffix(':') {
            side = match title {
                "Reads" => Some("read"),
                "Writes" => Some("write"),
                _ => None,
            };
            if let (Some(name), Some(run)) = (side, runs.last_mut()) {
                run.sides.push((name, Vec::new()));
            }
        } else if let Some(run) = runs.last_mut()
            && side.is_some()
            && !trimmed.is_empty()
            && !trimmed.starts_with("min(ms)")
        {
            match (bucket(trimmed), run.sides.last_mut()) {
                (Some(bucket), Some((_, buckets))) => buckets.push(bucket),
                _ => notes.push(format!("histogram.html:{}: no line of a histogram, left out", number + 1)),
            }
        }
    }
    runs
}

/// `0.020 <  0.040  156  37.0546  83.8480  +++---`.
fn bucket(line: &str) -> Option<Bucket> {
    let (low, rest) = line.split_once('<')?;
    let mut words = rest.split_whitespace();
    let (high, count) = (words.next()?, words.next()?.parse().ok()?);
    let ns = |ms: &str| {
        let ms: f64 = ms.trim().parse().ok()?;
        (0.0..=3_600_000.0).contains(&ms).then(|| crate::printed::count(ms * 1e6))
    };
    let low_ns = ns(low)?;
    let high_ns = if high == "max" { None } else { Some(ns(high).filter(|high| *high > low_ns)?) };
    Some(Bucket { low_ns, high_ns, count })
}
