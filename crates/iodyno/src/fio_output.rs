//! fio's outputs at the end of a run: `--output-format`, `--output` and their kin.

use crate::args::FioOutputArgs;
use crate::exit::{Failure, PARAMETERS, RECORDING};
use convert::fio_out::{self, FioFormat, TerseVersion};
use output::{Force, OutputFile};
use params::Format;
use quantity::output::{Form, stdout};
use recording::Reader;
use session::SessionError;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// What an output of ours has near its beginning.
const OURS: &str = "-iodyno-";
/// How far.
const OURS_BYTES: u64 = 512;

/// What is printed, and where.
#[derive(Debug)]
pub(crate) struct FioOutputs {
    formats: Vec<FioFormat>,
    /// `None`: standard output.
    file: Option<PathBuf>,
}

impl FioOutputs {
    /// What was asked for; `None` when nothing was. A file that may not be written is refused here, before the run.
    pub(crate) fn of(args: &FioOutputArgs, format: Format) -> Result<Option<Self>, Failure> {
        // A Vdbench file's `--output` is the recording's directory.
        let file = args.file.as_ref().filter(|_| format == Format::Fio).map(PathBuf::from);
        let is_asked = file.is_some() || args.output_format.is_some() || args.minimal || args.append_terse;
        if !is_asked {
            return Ok(None);
        }
        let version = TerseVersion::new(args.terse_version).ok_or_else(|| {
            Failure::new(PARAMETERS, format!("--terse-version {}: fio has 2, 3, 4 and 5", args.terse_version))
        })?;
        let mut formats = match &args.output_format {
            Some(words) => fio_out::formats(words, version).map_err(|word| {
                let message = format!("--output-format {words}: `{word}` is none of normal, terse, json, json+");
                Failure::new(PARAMETERS, message)
            })?,
            None if args.minimal => Vec::new(),
            None => vec![FioFormat::Normal],
        };
        if args.minimal || args.append_terse {
            formats.push(FioFormat::Terse(version));
        }
        let file = file.filter(|path| !output::is_standard_output(path));
        if let Some(path) = &file {
            OutputFile::check(path, force(path))?;
        }
        Ok(Some(Self { formats, file }))
    }

    /// Does it take standard output?
    pub(crate) fn is_standard_output(&self) -> bool {
        self.file.is_none()
    }

    /// Writes what the recording says.
    pub(crate) fn write(&self, recording: &Path) -> Result<(), Failure> {
        let reader = Reader::open(recording).map_err(SessionError::from)?;
        let mut text = Vec::new();
        fio_out::write(&reader, &self.formats, &mut text).map_err(SessionError::from)?;
        let Some(path) = &self.file else {
            return match stdout().with_form(Form::Data).write_all(&text) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    let message = format!("failed to write standard output: {}", output::system_words(&error));
                    Err(Failure::new(RECORDING, message))
                }
                _ => Ok(()),
            };
        };
        Ok(OutputFile::write_whole(path, force(path), &text)?)
    }
}

/// fio replaces its output of yesterday; only one of ours is replaced here.
fn force(path: &Path) -> Force {
    let is_regular = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let mut start = Vec::new();
    let is_read =
        is_regular && std::fs::File::open(path).and_then(|file| file.take(OURS_BYTES).read_to_end(&mut start)).is_ok();
    Force::from(is_read && String::from_utf8_lossy(&start).contains(OURS))
}
