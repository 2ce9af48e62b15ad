//! fio's outputs at the end of a run: `--output-format`, `--output` and their kin.

use crate::args::FioOutputArgs;
use crate::exit::{Failure, PARAMETERS, RECORDING};
use crate::time_args::time;
use objectives::ObjectiveVerdict;
use output::{Folder, OutputError, OutputFile, OverwritePolicy};
use params::ParameterFormat;
use quantity::clock;
use quantity::output::{OutputForm, stdout};
use recording::{Reader, RecordingError, RowBatch, Sink};
use session::{RunObserver, SessionError};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tool_output::fio_out::{self, FioFormat, TerseVersion};
use tui::RunHeader;

/// What an output of ours has near its beginning.
const OURS: &str = "-iodyno-";
/// How far.
const OURS_BYTES: u64 = 512;

/// What is printed, and where.
#[derive(Clone, Debug)]
pub(crate) struct FioOutputs {
    formats: Vec<FioFormat>,
    /// `None`: standard output.
    file: Option<PathBuf>,
    /// How often they are printed while it runs, ns.
    status_ns: Option<u64>,
    /// Does the file hold what was printed while it ran?
    begun: Arc<AtomicBool>,
}

impl FioOutputs {
    /// What was asked for; `None` when nothing was. A file that may not be written is refused here, before the run.
    pub(crate) fn of(args: &FioOutputArgs, format: ParameterFormat) -> Result<Option<Self>, Failure> {
        // A Vdbench file's `--output` is the recording's directory.
        let file = args.file.as_ref().filter(|_| format == ParameterFormat::Fio).map(PathBuf::from);
        let status_ns = time(args.status_interval.as_deref(), "--status-interval")?;
        let is_asked =
            status_ns.is_some() || file.is_some() || args.output_format.is_some() || args.minimal || args.append_terse;
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
        Ok(Some(Self { formats, file, status_ns: status_ns.filter(|ns| *ns > 0), begun: Arc::default() }))
    }

    /// The file that takes it; `None`: standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Does it take standard output?
    pub(crate) fn is_standard_output(&self) -> bool {
        self.file.is_none()
    }

    /// How often they are printed while it runs, ns.
    pub(crate) fn status_ns(&self) -> Option<u64> {
        self.status_ns
    }

    /// The face with a clock beside it that prints what the recording holds so far.
    pub(crate) fn watching(&self, face: Box<dyn RunObserver>, recording: &Path) -> Box<dyn RunObserver> {
        match self.status_ns {
            Some(period_ns) => Box::new(Watching {
                face,
                outputs: self.clone(),
                recording: recording.to_path_buf(),
                period_ns,
                next_ns: None,
            }),
            None => face,
        }
    }

    /// Writes what the recording says.
    pub(crate) fn write(&self, recording: &Path) -> Result<(), Failure> {
        let reader = Reader::open(recording).map_err(SessionError::from)?;
        let mut text = Vec::new();
        fio_out::write(&reader, &self.formats, &mut text).map_err(SessionError::from)?;
        let Some(path) = &self.file else {
            return match stdout().with_form(OutputForm::Data).write_all(&text) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    let message = format!("failed to write standard output: {}", output::system_words(&error));
                    Err(Failure::new(RECORDING, message))
                }
                _ => Ok(()),
            };
        };
        if !self.begun.load(Ordering::Relaxed) {
            OutputFile::write_whole(path, force(path), &text)?;
            self.begun.store(true, Ordering::Relaxed);
            return Ok(());
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or(path.as_os_str());
        let mut file = Folder::open(folder)?.open_to_append(name)?;
        Ok(file.write_all(&text).map_err(OutputError::io("write", path))?)
    }
}

/// Prints fio's outputs now and then, beside what another face shows.
struct Watching {
    face: Box<dyn RunObserver>,
    outputs: FioOutputs,
    recording: PathBuf,
    period_ns: u64,
    /// When it prints next; from the first run on.
    next_ns: Option<u64>,
}

impl Watching {
    fn look(&mut self) {
        let now_ns = clock::now_ns();
        let Some(next_ns) = self.next_ns.filter(|next_ns| now_ns >= *next_ns) else { return };
        self.next_ns = Some(next_ns + ((now_ns - next_ns) / self.period_ns + 1) * self.period_ns);
        if let Err(failure) = self.outputs.write(&self.recording) {
            say!("iodyno: --status-interval: {}", failure.message);
            self.next_ns = Some(u64::MAX);
        }
    }
}

impl Sink for Watching {
    fn accept(&mut self, batch: &RowBatch) -> Result<(), RecordingError> {
        self.face.accept(batch)
    }

    fn commit(&mut self) -> Result<(), RecordingError> {
        self.face.commit()?;
        self.look();
        Ok(())
    }
}

impl RunObserver for Watching {
    fn run_started(&mut self, header: RunHeader) -> Result<(), RecordingError> {
        self.next_ns.get_or_insert(clock::now_ns() + self.period_ns);
        self.face.run_started(header)
    }

    fn run_ended(&mut self) -> Result<(), RecordingError> {
        self.face.run_ended()
    }

    fn verdicts(&mut self, verdicts: &[ObjectiveVerdict]) -> Result<(), RecordingError> {
        self.face.verdicts(verdicts)
    }

    fn damaged_blocks(&mut self, count: u64) {
        self.face.damaged_blocks(count);
    }

    fn note(&mut self, sentence: &str) -> Result<(), RecordingError> {
        self.face.note(sentence)
    }

    fn finish(&mut self, lines: &[String]) -> Result<(), RecordingError> {
        self.face.finish(lines)
    }
}

/// fio replaces its output of yesterday; only one of ours is replaced here.
fn force(path: &Path) -> OverwritePolicy {
    let is_regular = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let mut start = Vec::new();
    let is_read =
        is_regular && std::fs::File::open(path).and_then(|file| file.take(OURS_BYTES).read_to_end(&mut start)).is_ok();
    if is_read && String::from_utf8_lossy(&start).contains(OURS) {
        OverwritePolicy::Yes
    } else {
        OverwritePolicy::Never
    }
}
