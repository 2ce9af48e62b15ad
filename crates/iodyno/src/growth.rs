//! `iodyno chart --trend`: several recordings, or a directory of daily ones, and whether a figure of them grows.

use crate::chart;
use crate::exit::{Failure, PARAMETERS};
use crate::view_args::ChartArgs;
use analyze::Unit;
use analyze::trend::{Days, Figure, Trend};
use recording::Recordings;
use session::SessionError;
use std::path::{Path, PathBuf};

/// Tells of a trend, and draws it where a name for the picture was given.
pub(crate) fn run(args: &ChartArgs, command_line: &[String]) -> Result<u8, Failure> {
    if args.list {
        Figure::ALL.iter().for_each(|figure| println!("{}", figure.name()));
        return Ok(0);
    }
    let id = args.view.as_deref().unwrap_or_default();
    let figure = Figure::named(id).ok_or_else(|| {
        let known: Vec<&str> = Figure::ALL.iter().map(|figure| figure.name()).collect();
        Failure::new(PARAMETERS, format!("there is no trend of `{id}`; there are {}", known.join(", ")))
    })?;
    let limit = args.limit.as_deref().map(|text| value_of(text, figure.unit())).transpose()?;
    let mut directories = Vec::new();
    for path in args.recording.iter().chain(&args.with) {
        directories.extend(recordings_in(path)?);
    }
    let recordings = Recordings::open(&directories).map_err(SessionError::from)?;
    let days = Days::read(recordings.readers(), figure, args.select.as_deref()).map_err(SessionError::from)?;
    let trend = Trend::of(&days, limit);
    if args.json {
        let mut value = serde_json::json!(trend);
        value["sentences"] = trend.sentences().into();
        println!("{value:#}");
    } else {
        trend.sentences().iter().for_each(|sentence| println!("{sentence}"));
    }
    if let Some(path) = &args.output {
        chart::write(&trend.picture(), args, path)?;
        if !args.json {
            println!("{}\n{}", path.display(), chart::again(command_line, args, path));
        }
    }
    Ok(0)
}

/// A recording itself, or those that lie in a directory.
fn recordings_in(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_recording = |path: &Path| path.join("manifest.json").exists();
    if is_recording(path) {
        return Ok(vec![path.to_path_buf()]);
    }
    let failed = |why: String| Failure::new(PARAMETERS, format!("{}: {why}", path.display()));
    let entries = std::fs::read_dir(path).map_err(|error| failed(error.to_string()))?;
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_recording(path)).collect();
    found.sort();
    if found.is_empty() { Err(failed("is no recording, and there is none in it".to_string())) } else { Ok(found) }
}

/// A number in the figure's unit: `80%`, `500MB/s`, `20k`, `48GB`.
fn value_of(text: &str, unit: Unit) -> Result<f64, Failure> {
    let example = match unit {
        Unit::Percent => "80%",
        Unit::BytesPerSecond => "500MB/s",
        Unit::Bytes => "48GB",
        _ => "20k",
    };
    let malformed = || Failure::new(PARAMETERS, format!("--limit {text}: must be a value such as {example}"));
    let number = text.trim().trim_end_matches("/s").trim_end_matches('%').trim_end_matches("op").trim();
    let digits = number.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match (number[digits.len()..].to_ascii_lowercase().as_str(), unit) {
        ("", _) => 1.0,
        ("b", Unit::Bytes | Unit::BytesPerSecond) => 1.0,
        ("k" | "kb", _) => 1e3,
        ("m" | "mb", _) => 1e6,
        ("g" | "gb", _) => 1e9,
        ("t" | "tb", _) => 1e12,
        ("kib", _) => 1024.0,
        ("mib", _) => 1024.0 * 1024.0,
        ("gib", _) => 1024.0 * 1024.0 * 1024.0,
        ("tib", _) => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return Err(malformed()),
    };
    let value: f64 = digits.trim().parse().map_err(|_| malformed())?;
    if value.is_finite() && value > 0.0 { Ok(value * factor) } else { Err(malformed()) }
}

#[cfg(test)]
mod tests {
    use super::value_of;
    use analyze::Unit;

    #[test]
    fn limits_as_people_write_them() {
        let check = |text: &str, unit, expect: f64| {
            assert!((value_of(text, unit).unwrap() - expect).abs() < 1e-6 * expect, "{text}");
        };
        check("80%", Unit::Percent, 80.0);
        check("500MB/s", Unit::BytesPerSecond, 500e6);
        check("1.25 GB/s", Unit::BytesPerSecond, 1.25e9);
        check("20k", Unit::OpsPerSecond, 20e3);
        check("20kop/s", Unit::OpsPerSecond, 20e3);
        check("64GiB", Unit::Bytes, 68_719_476_736.0);
        for wrong in ["", "fast", "-5", "10 parsecs", "80%%x"] {
            assert!(value_of(wrong, Unit::Percent).is_err(), "{wrong}");
        }
    }
}
