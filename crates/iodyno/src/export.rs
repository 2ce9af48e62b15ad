//! `iodyno export`.

use crate::args::{ExportArgs, OtherFormat};
use crate::chart::code_of;
use crate::exit::{Failure, PARAMETERS, RECORDING};
use crate::open::{open_for_data, over};
use crate::trace::say_incomplete;
use output::{FileAccess, Folder, OutputError, OutputFile};
use quantity::output::{OutputForm, stdout};
use quantity::text::csv_field;
use recording::{ExportFormat, Reader, rows};
use session::SessionError;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use tool_output::fio_out::{FioFormat, TerseVersion};
use trace::interchange::{self, InterchangeFormat};
use view::{Body, Cells, Selection, TableColumn, ViewTable};

/// Writes what was asked for in its format.
type Writing<'a> = Box<dyn Fn(&mut (dyn Write + Send)) -> Result<(), SessionError> + 'a>;

/// Writes a table, or lists the tables; gives the exit code.
pub(crate) fn run(args: &ExportArgs) -> Result<u8, Failure> {
    let (reader, damaged) = open_for_data(&args.recording)?;
    if asks_for_trace(args) {
        say_incomplete(reader.manifest());
    }
    if let Some(directory) = args.output.as_ref().filter(|_| args.flatfile) {
        let folder = Folder::open_or_create(directory, FileAccess::Umask)?;
        for path in tool_output::flatfile::write(&reader, &folder, args.force.force()).map_err(SessionError::from)? {
            outln!("{}", path.display());
        }
        return Ok(damaged);
    }
    if args.other_format == Some(OtherFormat::FioLogs) {
        return logs(args, &reader).map(|()| damaged);
    }
    if let Some(format) = args.other_format.and_then(fio_format) {
        if let Some(table) = &args.table {
            let help = "fio's formats hold a whole run, no table: leave the table out";
            return Err(Failure::new(PARAMETERS, format!("--format fio-… cannot be had of {table}: {help}")));
        }
        let write: Writing<'_> = Box::new(|out| Ok(tool_output::fio_out::write(&reader, &[format], out)?));
        return Ok(if write_output(args, &write)? { damaged } else { 0 });
    }
    let asked = args.table.clone().or_else(|| args.other_format.map(|_| "io".to_string()));
    let Some(table) = &asked else {
        for name in reader.tables().map_err(SessionError::from)? {
            let help = recording::table(&name).map_or("", |table| table.help.trim());
            outln!("{name:<18} {help}");
        }
        return Ok(damaged);
    };
    if recording::table(table).is_none() && views::view(table).is_ok() {
        return view(args, &reader, table).map(|code| over(code, damaged));
    }
    let write = table_writer(args, &reader, table)?;
    Ok(if write_output(args, &write)? { damaged } else { 0 })
}

/// Writes fio's logs into a directory.
fn logs(args: &ExportArgs, reader: &Reader) -> Result<(), Failure> {
    let Some(directory) = args.output.as_ref().filter(|_| args.table.is_none()) else {
        let help = "--format fio-logs writes several files of the whole recording: say into which directory with -o, and no table";
        return Err(Failure::new(PARAMETERS, help));
    };
    let folder = Folder::open_or_create(directory, FileAccess::Umask)?;
    let written = tool_output::fio_out::write_logs(reader, Some(folder.path()), args.force.force())
        .map_err(SessionError::from)?;
    written.notes.iter().for_each(|note| say!("iodyno: {note}"));
    for path in written.files {
        outln!("{}", path.display());
    }
    Ok(())
}

/// What writes `table` in the asked format.
fn table_writer<'a>(args: &ExportArgs, reader: &'a Reader, table: &'a str) -> Result<Writing<'a>, Failure> {
    Ok(match args.other_format {
        Some(_) if table != rows::Io::NAME => {
            return Err(Failure::new(PARAMETERS, format!("--format is for traces (table io), not for {table}")));
        }
        Some(format) => {
            let format = match format {
                OtherFormat::Blktrace => InterchangeFormat::Blktrace,
                OtherFormat::Blkparse => InterchangeFormat::Blkparse,
                _ => InterchangeFormat::Iolog,
            };
            Box::new(move |out| {
                let written = interchange::write(reader, format, &mut *out)?;
                if written.out_of_order > 0 {
                    let order = "stand after later ones: their I/Os stand in the recording too far behind";
                    say!("{} events {order}", written.out_of_order);
                }
                Ok(())
            })
        }
        None => {
            let format = if args.parquet {
                ExportFormat::Parquet
            } else if args.json {
                ExportFormat::Json
            } else {
                ExportFormat::Csv
            };
            Box::new(move |out| Ok(recording::export(reader, table, format, out)?))
        }
    })
}

/// Writes to the file of the arguments, or to standard output; `false` when its reader wanted no more, as `| head` does.
fn write_output(args: &ExportArgs, write: &Writing<'_>) -> Result<bool, Failure> {
    let (written, error, place) = match file_of(args) {
        Some(path) => {
            let mut out = Noting::new(OutputFile::create(path, args.force.force())?);
            let written = write(&mut out).and_then(|()| Ok(out.flush().map_err(OutputError::io("write", path))?));
            let Noting { out, error } = out;
            (written.and_then(|()| Ok(out.finish()?)), error, path.display().to_string())
        }
        None => {
            let mut out = Noting::new(BufWriter::new(stdout().with_form(form_of(args))));
            let written = write(&mut out)
                .and_then(|()| Ok(out.flush().map_err(OutputError::io("write", "standard output".as_ref()))?));
            (written, out.error, "standard output".to_string())
        }
    };
    match (written, error) {
        (Ok(()), _) => Ok(true),
        (Err(_), Some(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        (Err(_), Some(error)) => {
            Err(Failure::new(RECORDING, format!("failed to write {place}: {}", output::system_words(&error))))
        }
        (Err(failed), None) => Err(failed.into()),
    }
}

/// Remembers why its writer failed: encoders tell an error of their own.
struct Noting<W> {
    out: W,
    error: Option<io::Error>,
}

impl<W: Write> Noting<W> {
    fn new(out: W) -> Self {
        Self { out, error: None }
    }

    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &done
            && error.kind() != io::ErrorKind::Interrupted
        {
            let same = || io::Error::from(error.kind());
            self.error = Some(error.raw_os_error().map_or_else(same, io::Error::from_raw_os_error));
        }
        done
    }
}

impl<W: Write> Write for Noting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.note(flushed)
    }
}

/// The file that is to be written; `None` for standard output, also where `-o -` names it.
fn file_of(args: &ExportArgs) -> Option<&Path> {
    args.output.as_deref().filter(|path| !output::is_standard_output(path))
}

/// What goes to standard output.
fn form_of(args: &ExportArgs) -> OutputForm {
    if args.json && args.other_format.is_none() { OutputForm::Json } else { OutputForm::Data }
}

/// Which of fio's outputs a format is; `None` for those of traces.
fn fio_format(format: OtherFormat) -> Option<FioFormat> {
    match format {
        OtherFormat::Blktrace | OtherFormat::Blkparse | OtherFormat::FioIolog | OtherFormat::FioLogs => None,
        OtherFormat::FioJson => Some(FioFormat::Json),
        OtherFormat::FioJsonPlus => Some(FioFormat::JsonPlus),
        OtherFormat::FioTerse => Some(FioFormat::Terse(TerseVersion::DEFAULT)),
        OtherFormat::FioNormal => Some(FioFormat::Normal),
    }
}

/// Is it about the I/Os of a trace?
fn asks_for_trace(args: &ExportArgs) -> bool {
    let is_of_a_trace = |table: &String| {
        let view = views::view(table).is_ok_and(views::View::is_of_a_trace);
        view || matches!(table.as_str(), rows::Io::NAME | rows::TraceInterval::NAME)
    };
    let is_trace =
        args.other_format.is_some_and(|format| format != OtherFormat::FioLogs && fio_format(format).is_none());
    is_trace || args.table.as_ref().is_some_and(is_of_a_trace)
}

/// Writes a view that is a table: numbers in base units (op/s, B/s, ns), missing ones empty or null.
fn view(args: &ExportArgs, reader: &Reader, id: &str) -> Result<u8, Failure> {
    let data = views::compute(reader, id, &Selection::default())
        .map_err(|error| Failure::new(code_of(&error), error.to_string()))?;
    let Body::Table(table) = data.body else {
        let help = format!("the view `{id}` is a picture; `iodyno chart` draws it");
        return Err(Failure::new(PARAMETERS, help));
    };
    if args.parquet {
        return Err(Failure::new(PARAMETERS, format!("the view `{id}` goes out as --csv or --json")));
    }
    let text = if args.json { json_lines(&table) } else { csv(&table) };
    let written = match file_of(args) {
        Some(path) => return Ok(OutputFile::write_whole(path, args.force.force(), text.as_bytes()).map(|()| 0)?),
        None => stdout().with_form(form_of(args)).write_all(text.as_bytes()),
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(RECORDING, format!("failed to write standard output: {}", output::system_words(&error))))
        }
        _ => Ok(0),
    }
}

/// Name of a column for programs: `response_p99_mean`, `rate_half_ci95`.
fn column_name(column: &TableColumn) -> String {
    let name = if column.name == "±" { "half_ci95" } else { &column.name };
    let words = format!("{} {name}", column.group).trim().to_lowercase();
    words.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn csv(table: &ViewTable) -> String {
    let mut out = table.columns.iter().map(column_name).collect::<Vec<String>>().join(",") + "\n";
    for row in 0..table.rows() {
        let cell = |column: &TableColumn| match &column.cells {
            Cells::Text(cells) => cells.get(row).map_or(String::new(), |text| csv_field(text).into_owned()),
            Cells::Numbers(values) => values.get_some(row).map_or(String::new(), |value| value.to_string()),
        };
        out += &(table.columns.iter().map(cell).collect::<Vec<String>>().join(",") + "\n");
    }
    out
}

fn json_lines(table: &ViewTable) -> String {
    let mut out = String::new();
    for row in 0..table.rows() {
        let cell = |column: &TableColumn| match &column.cells {
            Cells::Text(cells) => serde_json::Value::from(cells.get(row).cloned().unwrap_or_default()),
            Cells::Numbers(values) => serde_json::Value::from(values.get_some(row)),
        };
        let object: serde_json::Map<String, serde_json::Value> =
            table.columns.iter().map(|column| (column_name(column), cell(column))).collect();
        out += &(serde_json::Value::from(object).to_string() + "\n");
    }
    out
}
