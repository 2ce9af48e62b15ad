//! `iodyno model`.

use crate::args::{ModelArgs, ModelBy};
use crate::exit::{Failure, PARAMETERS};
use crate::run::time;
use session::ModelRequest;

/// Makes a parameter file of a trace and says how alike it is; gives the exit code.
pub(crate) fn run(args: &ModelArgs) -> Result<u8, Failure> {
    if let Some(path) = args.output.as_deref().filter(|path| path.exists() && !args.force) {
        let message = format!("{} exists; name another file, or add --force", path.display());
        return Err(Failure::new(PARAMETERS, message));
    }
    let request = ModelRequest {
        input: args.input.clone(),
        format: args.format.clone(),
        devices: args.devices.clone(),
        from_ns: time(args.from.as_deref(), "--from")?.unwrap_or(0),
        for_ns: time(args.duration.as_deref(), "--for")?,
        targets: args.targets.clone(),
        by_device: args.by == ModelBy::Device,
        others: args.compare.clone(),
    };
    if let Ok(reader) = recording::Reader::open(&args.input) {
        crate::trace::say_incomplete(reader.manifest());
    }
    let outcome = session::model(&request)?;
    for note in &outcome.notes {
        say!("iodyno: {note}");
    }
    let Some(path) = args.output.as_deref() else {
        crate::out::file(&outcome.text);
        outcome.table().iter().for_each(|line| say!("{line}"));
        return Ok(0);
    };
    session::write_whole(path, outcome.text.as_bytes())?;
    if args.json {
        crate::out::json(outcome.json(Some(path)));
    } else {
        outcome.table().iter().for_each(|line| outln!("{line}"));
        outln!("{}", path.display());
    }
    Ok(0)
}
