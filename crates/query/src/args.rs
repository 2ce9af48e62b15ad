//! What can be typed.

use clap::{ArgGroup, Parser};
use std::path::PathBuf;

/// Query recordings with SQL: all tables of one or many recordings, open ones too.
#[derive(Debug, Parser)]
#[command(
    name = "iodyno query",
    bin_name = "iodyno query",
    version,
    max_term_width = 100,
    group(ArgGroup::new("format").args(["csv", "json", "parquet"])),
    after_help = "Examples:\n  \
      iodyno query results/monday \"select workload, sum(ops), percentile(response, 0.999) from op_interval group by 1\"\n  \
      iodyno query results/* \"select recording, percentile(response, 0.99) as p99 from op_interval group by 1\"\n  \
      iodyno query results/monday --csv -o p99.csv \"select t_s, response_ns_p99 from op_interval\"\n  \
      iodyno query results/*                    a shell; Tab completes tables, columns and functions\n  \
      iodyno query results/* < questions.sql    statements, each ended by a semicolon\n\n\
    Tables, functions and more examples: docs/query.md"
)]
pub(crate) struct Args {
    /// Recordings, and last the statement; without one: a shell, or statements from standard input.
    #[arg(value_name = "RECORDING... [SQL]", required = true)]
    pub(crate) inputs: Vec<String>,
    /// Comma-separated values with a header line.
    #[arg(long)]
    pub(crate) csv: bool,
    /// One JSON object per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Parquet; needs -o.
    #[arg(long, requires = "output")]
    pub(crate) parquet: bool,
    /// Output file; default: standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file of -o if it exists and is a regular file; without --force an existing file is refused. Links,
    /// devices, FIFOs and directories are always refused; - is standard output (docs/safety.md).
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

impl Args {
    /// The recordings and the statement.
    pub(crate) fn split(&self) -> (Vec<PathBuf>, Option<&str>) {
        let (last, others) = match self.inputs.split_last() {
            // A statement has white space in it; a directory of that name would still be a directory.
            Some((last, others)) if last.trim().contains(char::is_whitespace) && !PathBuf::from(last).exists() => {
                (Some(last.as_str()), others)
            }
            _ => (None, self.inputs.as_slice()),
        };
        (others.iter().map(PathBuf::from).collect(), last)
    }
}
