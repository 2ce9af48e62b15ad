//! `iodyno export`.

use crate::args::ExportArgs;
use crate::exit::{Failure, RECORDING};
use recording::{ExportFormat, Reader, RecordingError};
use session::SessionError;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Writes a table, or lists the tables; gives the exit code.
pub(crate) fn run(args: &ExportArgs) -> Result<u8, Failure> {
    let reader = Reader::open(&args.recording).map_err(SessionError::from)?;
    let Some(table) = &args.table else {
        for name in reader.tables().map_err(SessionError::from)? {
            let help = recording::table(&name).map_or("", |table| table.help.trim());
            println!("{name:<18} {help}");
        }
        return Ok(0);
    };
    let format = if args.parquet {
        ExportFormat::Parquet
    } else if args.json {
        ExportFormat::Json
    } else {
        ExportFormat::Csv
    };
    let written = match &args.output {
        Some(path) => {
            let failed =
                |error: io::Error| Failure::new(RECORDING, format!("failed to write {}: {error}", path.display()));
            let mut out = BufWriter::new(File::create(path).map_err(failed)?);
            let written = recording::export(&reader, table, format, &mut out);
            out.flush().map_err(failed)?;
            written
        }
        None => {
            let mut out = BufWriter::new(io::stdout());
            recording::export(&reader, table, format, &mut out)
        }
    };
    match written {
        // `| head` is not an error.
        Err(RecordingError::Face { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        other => other.map(|()| 0).map_err(|error| SessionError::from(error).into()),
    }
}
