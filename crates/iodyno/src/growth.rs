//! `iodyno chart --trend`: several recordings, or a directory of daily ones, and whether a figure of them grows.

use crate::exit::{Failure, PARAMETERS};
use crate::open::say_of;
use crate::picture;
use crate::view_args::ChartArgs;
use recording::Recordings;
use session::SessionError;
use std::path::{Path, PathBuf};
use view::Unit;
use workload::trend::{DailyLevels, Trend, TrendFigure};

/// Tells of a trend, and draws it where a name for the picture was given.
pub(crate) fn run(args: &ChartArgs, command_line: &[String]) -> Result<u8, Failure> {
    if args.list {
        TrendFigure::ALL.iter().for_each(|figure| outln!("{}", figure.name()));
        return Ok(0);
    }
    let id = args.view.as_deref().unwrap_or_default();
    let figure = TrendFigure::named(id).ok_or_else(|| {
        let known: Vec<&str> = TrendFigure::ALL.iter().map(|figure| figure.name()).collect();
        Failure::new(PARAMETERS, format!("there is no trend of `{id}`; there are {}", known.join(", ")))
    })?;
    let limit = args.limit.as_deref().map(|text| value_of(text, figure.unit())).transpose()?;
    let mut directories = Vec::new();
    for path in args.recording.iter().chain(&args.with) {
        directories.extend(recordings_in(path)?);
    }
    let damaged = say_of(directories.iter().map(PathBuf::as_path))?;
    let recordings = Recordings::open(&directories).map_err(SessionError::from)?;
    let names = args.select.as_deref().map(picture::pattern).transpose()?;
    let days = DailyLevels::read(recordings.readers(), figure, names.as_ref(), args.host.as_deref())
        .map_err(SessionError::from)?;
    let trend = Trend::of(&days, limit);
    if args.json {
        let mut value = serde_json::json!(trend);
        value["sentences"] = trend.sentences().into();
        crate::out::json(format_args!("{value:#}"));
    } else {
        trend.sentences().iter().for_each(|sentence| outln!("{sentence}"));
    }
    if let Some(path) = &args.output {
        picture::write(&trend.picture(), args, path)?;
        if !args.json {
            outln!("{}", path.display());
            outln!("{}", picture::again(command_line, args, path));
        }
    }
    Ok(damaged)
}

/// A recording itself, or those that lie in a directory.
fn recordings_in(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if recording::is_recording(path) {
        return Ok(vec![path.to_path_buf()]);
    }
    let failed = |why: String| Failure::new(PARAMETERS, format!("{}: {why}", path.display()));
    let entries = std::fs::read_dir(path).map_err(|error| failed(error.to_string()))?;
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| recording::is_recording(path)).collect();
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
    let number = text.trim();
    let digits = number.trim_end_matches(|letter: char| letter.is_ascii_alphabetic() || "/%".contains(letter));
    let letters = number[digits.len()..].to_ascii_lowercase();
    // What may stand behind the power of ten, and at the very end.
    let (of, end) = match unit {
        Unit::BytesPerSecond => ("b", "/s"),
        Unit::Bytes => ("b", ""),
        Unit::Percent => ("%", ""),
        _ => ("op", "/s"),
    };
    let power = letters.strip_suffix(end).unwrap_or(&letters);
    let power = power.strip_suffix(of).unwrap_or(power);
    let binary = of == "b" && power.ends_with('i');
    let factor = match power.trim_end_matches('i') {
        "" if !binary => 1.0,
        _ if unit == Unit::Percent || (power.ends_with('i') && !binary) => return Err(malformed()),
        power => {
            let place = ["k", "m", "g", "t"].iter().zip(1..).find(|(name, _)| **name == power).map(|(_, place)| place);
            f64::powi(if binary { 1024.0 } else { 1000.0 }, place.ok_or_else(malformed)?)
        }
    };
    let value: f64 = digits.trim().parse().map_err(|_| malformed())?;
    let most = if unit == Unit::Percent { 100.0 } else { f64::MAX };
    if value > 0.0 && value <= most { Ok(value * factor) } else { Err(malformed()) }
}

#[cfg(test)]
mod tests {
    use super::value_of;
    use view::Unit;

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
        check("1.5TB", Unit::Bytes, 1.5e12);
        check("300kop", Unit::OpsPerSecond, 300e3);
        check("5000", Unit::OpsPerSecond, 5000.0);
        for (wrong, unit) in [
            ("", Unit::Percent),
            ("fast", Unit::Percent),
            ("-5", Unit::Percent),
            ("10 parsecs", Unit::Percent),
            ("80%%x", Unit::Percent),
            ("48GB", Unit::Percent),
            ("8000%", Unit::Percent),
            ("80k", Unit::Percent),
            ("80%", Unit::BytesPerSecond),
            ("20kop", Unit::BytesPerSecond),
            ("500MB/s", Unit::OpsPerSecond),
            ("20ki", Unit::OpsPerSecond),
            ("48GB/s", Unit::Bytes),
            ("48i", Unit::Bytes),
            ("nan", Unit::Bytes),
        ] {
            assert!(value_of(wrong, unit).is_err(), "{wrong} {unit:?}");
        }
    }
}
