//! Arguments of `iodyno scan`.

use crate::output_args::ForceArgs;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `iodyno scan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno scan /home                                 directories, files, sizes, depth and fan-out on one screen\n  \
      iodyno scan /srv/mail -o mail.vdb                 and a Vdbench file that rebuilds a tree like it\n  \
      iodyno scan /srv/mail -o mail.vdb --exact         that tree itself: every directory's place, every file's size\n  \
      iodyno run mail.vdb anchor=/mnt/test/mail         in an empty directory of the lab\n  \
      iodyno scan /srv/mail --json | jq .size_bytes.p99 for programs\n  \
      iodyno scan / --names 2>&1 | grep -A5 'not be read'  what could not be read, and the largest file\n\n\
    Names and metadata are read, contents never; nothing is changed, no symbolic link is followed. The file has no names: numbers\n\
    and sizes only. Its comments say how far the likeness goes (docs/scan.md). Exit code 6: entries could not be read.")]
pub(crate) struct ScanArgs {
    /// Directory to measure.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Parameter file to write; - is standard output, with the table on standard error.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// Keep the exact shape: every directory's place and every file's size, in FILE with `.shape` for its extension (docs/scan.md).
    #[arg(long, requires = "output")]
    pub(crate) exact: bool,
    /// Also measure file systems that are mounted below DIR.
    #[arg(long)]
    pub(crate) cross_mounts: bool,
    /// Show names: of entries that could not be read, of the largest file and of the fullest directory.
    #[arg(long)]
    pub(crate) names: bool,
    /// Print one JSON object on standard output in place of the table (docs/scan.md).
    #[arg(long)]
    pub(crate) json: bool,
}
