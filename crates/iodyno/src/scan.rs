//! `iodyno scan`.

use crate::exit::{Failure, PARAMETERS, PRIVILEGE, RECORDING};
use crate::scan_args::ScanArgs;
use output::OutputFile;
use scan::{ScanError, ScanLines, ScanRequest};

/// Measures a directory tree and writes parameter lines for its like; gives the exit code.
pub(crate) fn run(args: &ScanArgs) -> Result<u8, Failure> {
    let to_standard_output = args.output.as_deref().is_some_and(output::is_standard_output);
    if args.json && to_standard_output {
        return Err(Failure::new(PARAMETERS, "--json and -o - both write standard output: give -o a file"));
    }
    let request =
        ScanRequest { path: &args.directory, cross_mounts: args.cross_mounts, names: args.names, threads: None };
    let measured = scan::scan(&request).map_err(failure)?;
    let lines = ScanLines::of(&measured);
    if args.json {
        crate::out::json(measured.json(&lines));
    } else {
        let shown = measured.table().into_iter().chain(measured.name_lines());
        let likeness = lines.likeness_lines();
        let made =
            ["".to_string(), lines.fsd()].into_iter().chain(likeness.into_iter().map(|line| format!("  {line}")));
        // With the file on standard output the table is beside it, as for `model`.
        shown.chain(made).for_each(|line| if to_standard_output { say!("{line}") } else { outln!("{line}") });
    }
    measured.notes().iter().for_each(|note| say!("iodyno: {note}"));
    match args.output.as_deref() {
        Some(_) if to_standard_output => crate::out::file(&lines.text(&measured)),
        Some(path) => {
            OutputFile::write_whole(path, args.force.force(), lines.text(&measured).as_bytes())?;
            if !args.json {
                crate::output_args::tell(path);
            }
        }
        None => {}
    }
    Ok(if measured.unread > 0 { RECORDING } else { 0 })
}

fn failure(error: ScanError) -> Failure {
    let code = match &error {
        error if error.is_privilege() => PRIVILEGE,
        ScanError::Thread(_) => RECORDING,
        ScanError::Link(_) | ScanError::Open { .. } => PARAMETERS,
    };
    Failure::new(code, error.to_string())
}
