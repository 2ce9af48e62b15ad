//! `iodyno import`.

use crate::args::ImportArgs;
use crate::exit::{Failure, PARAMETERS};
use crate::time_args::{INTERVAL_MIN_NS, interval, time};
use import::ImportOptions;
use quantity::zone::LocalZone;
use session::SessionError;

/// Reads another tool's results into a recording; gives the exit code.
pub(crate) fn run(args: &ImportArgs, command_line: &[String]) -> Result<u8, Failure> {
    let apart = args.interval.as_deref();
    let interval_ns = apart.map(|text| interval(text, "--interval", INTERVAL_MIN_NS)).transpose()?;
    let options = ImportOptions {
        format: args.format.clone(),
        devices: args.devices.clone(),
        from_ns: time(args.from.as_deref(), "--from")?.unwrap_or(0),
        for_ns: time(args.duration.as_deref(), "--for")?,
        start_ns: args.start.as_deref().map(moment).transpose()?,
        zone: args.zone.as_deref().map(zone).transpose()?,
        interval_ns: interval_ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)),
        is_excerpt: args.excerpt,
        cpus: args.cpus,
        host: args.host.clone(),
    };
    let imported = import::import(&args.input, &args.output, &options, command_line).map_err(SessionError::from)?;
    for note in &imported.notes {
        say!("iodyno: {note}");
    }
    outln!("{}", imported.directory.display());
    Ok(0)
}

/// `+02:00`, `Z`, `local`, or the name of a zone.
fn zone(text: &str) -> Result<LocalZone, Failure> {
    if text == "local" {
        return Ok(monitor::local_zone());
    }
    if let Some(ahead_s) = quantity::zone::ahead_s(text) {
        return Ok(LocalZone::fixed(ahead_s));
    }
    monitor::named_zone(text).map_err(|why| {
        let ways = "write a distance from UTC like +02:00, a name like Europe/Berlin, `local` or Z";
        Failure::new(PARAMETERS, format!("--zone {text}: {ways} ({why})"))
    })
}

/// `2026-11-20`, or with a time of day behind a blank or a T.
fn moment(text: &str) -> Result<i64, Failure> {
    let wrong = || {
        Failure::new(PARAMETERS, format!("--start {text}: write a day, or a day and a time, like 2026-11-20T09:30:00"))
    };
    let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let three = |text: &str, between: char| {
        let mut parts = text.split(between).map(|part| part.parse::<i64>().ok());
        let found = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
        parts.next().is_none().then_some(found)
    };
    let (day, time) = three(day, '-').zip(three(time, ':')).ok_or_else(wrong)?;
    quantity::text::wall_ns_of(day, time).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::{moment, zone};
    use quantity::zone::LocalZone;

    #[test]
    fn zones() {
        assert_eq!(zone("-05:30").ok(), Some(LocalZone::fixed(-19_800)));
        assert_eq!(zone("Z").ok(), Some(LocalZone::default()));
        for wrong in ["", "+1", "Europe/Nowhere", "../../../etc/localtime", "/etc/localtime", "Europe"] {
            let failed = zone(wrong).expect_err(wrong).message;
            assert!(failed.contains("Europe/Berlin"), "{failed}");
        }
    }

    #[test]
    fn moments() {
        assert_eq!(moment("1970-01-02").ok(), Some(86_400_000_000_000));
        assert_eq!(moment("1970-01-01T00:01").ok(), Some(60_000_000_000));
        for wrong in ["", "yesterday", "2026-13-01", "2026-11-20T25:00:00", "2026-11-20-1", "2026-11-20T1:2:3:4"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
