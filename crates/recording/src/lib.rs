//! The schema catalogue and the bus; writes and reads recordings. The only crate that knows the files.
//!
//! A recording is a directory: `manifest.json`, while it is open a `journal`, once sealed one folder of Parquet per
//! table (docs/recording.md). A row type stands in [`rows`], its catalogue entry is made with it.

mod bus;
mod catalogue;
mod cell;
mod checksums;
mod column;
mod compress;
mod damage;
mod error;
mod event_class;
mod export;
mod find_manifest;
mod frame;
mod inventory;
mod ios_without_end;
mod ipc;
mod journal;
mod label;
mod manifest;
mod mark;
mod packed;
mod page_checksum;
mod parquet_footer;
mod range_read;
mod reader;
mod regular;
mod repair;
pub mod rows;
mod schema;
mod seal;
mod seal_killed;
mod sealed;
mod several;
mod stored_names;
mod sync;
mod thin;
mod time_column;
mod writer;

pub use bus::{RowBatch, Sink};
pub use catalogue::{catalogue, catalogue_markdown, table};
pub use cell::{CellType, PERCENTILES, SizeHistogram};
pub use checksums::ChecksummedFile;
pub use column::ColumnBuilder;
pub use damage::RecordingDamage;
pub use error::RecordingError;
pub use event_class::{EventClass, IOS_ARE_IN};
pub use export::{BatchWriter, ExportFormat, export};
pub use inventory::{Inventory, discard, manifest_in, protect_input};
pub use label::{Label, LabelBuilder, LabelNumber};
pub use manifest::{ClockAnchor, FORMAT_VERSION, Manifest, REQUESTED, user_name};
pub use mark::{CollectorMark, MARK};
pub use packed::{FLAGS, IO_RECORD_BYTES, IoFile, IoNames, IoRecord, IoTask, RawIo, io_rows, op_name, status_errno};
pub use page_checksum::{PAGE, append_checksum, copy_page};
pub use range_read::RecordingFollower;
pub use reader::{BatchReader, Reader, RecordingState, RowReader, is_recording};
pub use repair::repair;
pub use schema::{ColumnKind, ColumnSchema, Row, RowOccurrence, TableSchema};
pub use seal_killed::seal_unfinished;
pub use several::Recordings;
pub use stored_names::{
    AvailabilityKind, EventKind, EventSeverity, ExecutionEnding, LoadPhase, LossName, PhaseEdge, RecordingExit,
};
pub use thin::{THINNED, thin, thinned_to_ns};
pub use writer::Writer;
