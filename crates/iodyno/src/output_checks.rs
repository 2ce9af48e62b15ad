//! What is looked at before a command begins: what it reads, where it writes, and who may read that.

use crate::args::{Command, ExportArgs, OtherFormat};
use crate::exit::Failure;
use crate::load_files::split_inputs;
use output::{FileAccess, OutputFile, OverwritePolicy};
use std::path::PathBuf;

/// Takes note of what the command reads, and refuses an output that cannot be written, before anything is worked out.
pub(crate) fn check(command: &Command) -> Result<(), Failure> {
    keep_inputs(command);
    check_junit(command)?;
    let (path, force) = match command {
        Command::Report(args) => (&args.output, args.force),
        Command::Compare(args) => (&args.output, args.force),
        Command::Chart(args) => (&args.output, args.force),
        Command::Export(args) if !is_folder(args) => (&args.output, args.force),
        Command::Convert(args) => (&args.output, args.force),
        Command::Model(args) => (&args.output, args.force),
        Command::Scan(args) => (&args.output, args.force),
        Command::Inject(args) => (&args.list, args.force),
        _ => return check_places(command),
    };
    path.as_deref().map_or(Ok(()), |path| Ok(OutputFile::check(path, force.force())?))
}

/// Is what `export` writes a folder of several files?
fn is_folder(args: &ExportArgs) -> bool {
    args.flatfile || args.other_format == Some(OtherFormat::FioLogs)
}

/// Can the JUnit file be written? It is begun. Of `run` and `ab` this is looked at when it is known what is run.
fn check_junit(command: &Command) -> Result<(), Failure> {
    let (path, force) = match command {
        Command::Compare(args) => (&args.judge.junit, args.force.force()),
        Command::Check(args) => (&args.junit, OverwritePolicy::Never),
        _ => return Ok(()),
    };
    let Some(path) = path else { return Ok(()) };
    session::check_junit_file(path, force)?;
    Ok(session::begin_junit_file(path)?)
}

/// The command ended with an error: the JUnit file says which.
pub(crate) fn end_junit(command: &Command, failure: &Failure) {
    let (path, force) = match command {
        Command::Run(args) if !args.dry_run => (&args.junit, OverwritePolicy::Never),
        Command::Ab(args) if !args.dry_run => (&args.judge.junit, OverwritePolicy::Never),
        Command::Compare(args) => (&args.judge.junit, args.force.force()),
        Command::Check(args) => (&args.junit, OverwritePolicy::Never),
        _ => return,
    };
    // A file of this name that is no JUnit file stays as it is. Either that was the error, or a second message says so.
    let written = path.as_deref().map_or(Ok(()), |path| session::end_junit_file(path, force, &failure.message));
    if let Err(error) = written.map_err(|error| error.to_string())
        && error != failure.message
    {
        say!("iodyno: {error}");
    }
}

/// What a command reads, it does not write over.
fn keep_inputs(command: &Command) {
    let keep_all = |paths: &[PathBuf]| paths.iter().for_each(|path| recording::protect_input(path));
    match command {
        Command::Report(args) => recording::protect_input(&args.recording),
        Command::Export(args) => recording::protect_input(&args.recording),
        Command::Compare(args) => {
            recording::protect_input(&args.first);
            keep_all(&args.others);
        }
        Command::Check(args) => keep_all(&args.recordings),
        Command::Chart(args) => {
            args.batch.iter().for_each(|file| output::protect_file(file));
            args.recording.iter().for_each(|path| recording::protect_input(path));
            keep_all(&args.with);
        }
        Command::Model(args) => {
            recording::protect_input(&args.input);
            keep_all(&args.compare);
        }
        Command::Convert(args) => split_inputs(&args.inputs).0.iter().for_each(|file| output::protect_file(file)),
        _ => {}
    }
}

/// Nothing new is made among devices and settings.
fn check_places(command: &Command) -> Result<(), Failure> {
    let places = match command {
        Command::Import(args) => vec![Some(&args.output)],
        Command::Stat(args) => vec![args.output.as_ref()],
        Command::Probe(args) => vec![args.output.as_ref()],
        Command::Record(args) => vec![args.directory.as_ref(), args.text.as_ref()],
        Command::Export(args) => vec![args.output.as_ref()],
        _ => Vec::new(),
    };
    let mut missing = places.into_iter().flatten().filter(|path| path.symlink_metadata().is_err());
    missing.try_for_each(|path| Ok(output::check_place(path)?))
}

/// Takes note of `--mode` and `--group` before anything is made, and of what [`check`] does.
pub(crate) fn apply(command: &Command) -> Result<(), Failure> {
    check(command)?;
    let access = match command {
        Command::Run(args) => &args.access,
        Command::Ab(args) => &args.access,
        Command::Trace(args) => &args.access,
        Command::Replay(args) => &args.access,
        Command::Import(args) => &args.access,
        Command::Top(args) => &args.access,
        Command::Stat(args) => &args.access,
        Command::Record(args) => &args.access,
        Command::Probe(args) => &args.access,
        _ => return Ok(()),
    };
    FileAccess::parse(access.mode.as_deref(), access.group.as_deref())?.set_of_recordings();
    Ok(())
}
