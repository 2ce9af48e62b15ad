//! `iodyno scan`.

use crate::exit::{Failure, PARAMETERS, PRIVILEGE, RECORDING};
use crate::scan_args::ScanArgs;
use output::OutputFile;
use scan::{ExactShape, ScanError, ScanLines, ScanRequest};
use std::path::{Path, PathBuf};

/// Measures a directory tree and writes parameter lines for its like; gives the exit code.
pub(crate) fn run(args: &ScanArgs) -> Result<u8, Failure> {
    let to_standard_output = args.output.as_deref().is_some_and(output::is_standard_output);
    if args.json && to_standard_output {
        return Err(Failure::new(PARAMETERS, "--json and -o - both write standard output: give -o a file"));
    }
    if args.exact && to_standard_output {
        return Err(Failure::new(PARAMETERS, "--exact writes two files: give -o a file"));
    }
    let request =
        ScanRequest { path: &args.directory, cross_mounts: args.cross_mounts, names: args.names, threads: None };
    let measured = scan::scan(&request).map_err(failure)?;
    let lines = ScanLines::of(&measured);
    let exact = if args.exact { Some(scan::exact(&request).map_err(failure)?) } else { None };
    if args.json {
        crate::out::json(measured.json(&lines));
    } else {
        let shown = measured.table().into_iter().chain(measured.name_lines());
        // What the file has, where one is written.
        let (fsd, about) = match (&exact, args.output.as_deref()) {
            (Some(shape), Some(path)) => (ScanLines::exact_fsd(&shape_file(path)), ScanLines::exact_lines(shape)),
            _ => (lines.fsd(), lines.likeness_lines()),
        };
        let made = [String::new(), fsd].into_iter().chain(about.into_iter().map(|line| format!("  {line}")));
        // With the file on standard output the table is beside it, as for `model`.
        shown.chain(made).for_each(|line| if to_standard_output { say!("{line}") } else { outln!("{line}") });
    }
    measured.notes().iter().for_each(|note| say!("iodyno: {note}"));
    match args.output.as_deref() {
        Some(_) if to_standard_output => crate::out::file(&lines.text(&measured)),
        Some(path) => {
            let text = match &exact {
                Some(shape) => {
                    let file = shape_file(path);
                    write_shape(&file, args, shape)?;
                    ScanLines::exact_text(&measured, shape, &file)
                }
                None => lines.text(&measured),
            };
            OutputFile::write_whole(path, args.force.force(), text.as_bytes())?;
            if !args.json {
                crate::output_args::tell(path);
            }
        }
        None => {}
    }
    let missing = exact.map_or(0, |shape| shape.missing);
    if missing > 0 {
        say!("iodyno: {missing} entries could not be read or changed: they are not in the shape file");
    }
    Ok(if measured.unread > 0 || missing > 0 { RECORDING } else { 0 })
}

/// The shape file beside a parameter file.
fn shape_file(path: &Path) -> PathBuf {
    path.with_extension("shape")
}

/// Writes the shape file beside the parameter file.
fn write_shape(path: &Path, args: &ScanArgs, shape: &ExactShape) -> Result<(), Failure> {
    if args.output.as_deref() == Some(path) {
        return Err(Failure::new(
            PARAMETERS,
            "-o FILE.shape is the shape file's own name: give the parameter file another one",
        ));
    }
    let mut text = Vec::new();
    let written = shape.tree.write(&mut text);
    written.map_err(|error| Failure::new(RECORDING, format!("failed to write {}: {error}", path.display())))?;
    OutputFile::write_whole(path, args.force.force(), &text)?;
    if !args.json {
        crate::output_args::tell(path);
    }
    Ok(())
}

fn failure(error: ScanError) -> Failure {
    let code = match &error {
        error if error.is_privilege() => PRIVILEGE,
        ScanError::Thread(_) => RECORDING,
        ScanError::Link(_) | ScanError::Open { .. } | ScanError::Shape(_) => PARAMETERS,
    };
    Failure::new(code, error.to_string())
}
