//! `iodyno model`.

use crate::args::{ModelArgs, ModelBy};
use crate::exit::{Failure, PARAMETERS};
use crate::open::open;
use crate::time_args::time;
use output::{OutputError, OutputFile};
use session::ModelRequest;
use std::io::Write as _;

/// Makes a parameter file of a trace and says how alike it is; gives the exit code.
pub(crate) fn run(args: &ModelArgs) -> Result<u8, Failure> {
    if let Some(target) = args.targets.iter().find(|target| target.to_str().is_none()) {
        let help = "a parameter file cannot name it: give it a link of another name";
        return Err(Failure::new(PARAMETERS, format!("-t {}: its name is no text (UTF-8); {help}", target.display())));
    }
    let output = args.output.as_deref().filter(|path| !output::is_standard_output(path));
    // Refused before an hour is spent on the trace.
    let begun = output.map(|path| OutputFile::create(path, args.force.force())).transpose()?;
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
    let mut damaged = 0;
    if recording::Reader::open(&args.input).is_ok() {
        let (reader, code) = open(&args.input)?;
        damaged = code;
        crate::trace::say_incomplete(reader.manifest());
    }
    let outcome = session::model(&request)?;
    for note in &outcome.notes {
        say!("iodyno: {note}");
    }
    let (Some(path), Some(mut file)) = (output, begun) else {
        crate::out::file(&outcome.text);
        outcome.table().iter().for_each(|line| say!("{line}"));
        return Ok(damaged);
    };
    file.write_all(outcome.text.as_bytes()).map_err(OutputError::io("write", path))?;
    file.finish()?;
    if args.json {
        crate::out::json(outcome.json(Some(path)));
    } else {
        outcome.table().iter().for_each(|line| outln!("{line}"));
        outln!("{}", path.display());
    }
    Ok(damaged)
}
