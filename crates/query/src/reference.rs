//! The plain list of functions and examples, and docs/query.md made from it and from the catalogue of tables.
//!
//! This file needs nothing of the SQL engine: xtask includes it to write the page without building the engine.

use std::fmt::Write as _;

/// A function that SQL has here beyond the engine's own.
#[derive(Clone, Copy, Debug)]
pub struct SqlFunction {
    /// Name.
    pub name: &'static str,
    /// With its arguments.
    pub signature: &'static str,
    /// Does it fold many rows?
    pub is_aggregate: bool,
    /// What it gives.
    pub help: &'static str,
}

/// All of them.
pub const FUNCTIONS: &[SqlFunction] = &[
    SqlFunction {
        name: "percentile",
        signature: "percentile(hist, q)",
        is_aggregate: true,
        help: "merges the histograms of all rows and gives the smallest value with at least the fraction q (0.99 for p99) at or \
               below it, in ns, to bucket precision (intervals 3.1 %, `run_total` 0.8 %). Over a column of whole numbers it does \
               the same with the values themselves (0.8 %)",
    },
    SqlFunction {
        name: "hist_merge",
        signature: "hist_merge(hist)",
        is_aggregate: true,
        help: "the merged histogram of all rows, or the histogram of a column of whole numbers",
    },
    SqlFunction {
        name: "hist_percentile",
        signature: "hist_percentile(hist, q)",
        is_aggregate: false,
        help: "the percentile of one histogram, in ns",
    },
    SqlFunction {
        name: "hist_count",
        signature: "hist_count(hist)",
        is_aggregate: false,
        help: "how many values are in it",
    },
    SqlFunction { name: "hist_sum", signature: "hist_sum(hist)", is_aggregate: false, help: "their sum in ns, exact" },
    SqlFunction {
        name: "hist_mean",
        signature: "hist_mean(hist)",
        is_aggregate: false,
        help: "their mean in ns, exact",
    },
    SqlFunction {
        name: "hist_min",
        signature: "hist_min(hist)",
        is_aggregate: false,
        help: "the smallest, in ns, exact",
    },
    SqlFunction {
        name: "hist_max",
        signature: "hist_max(hist)",
        is_aggregate: false,
        help: "the largest, in ns, exact",
    },
    SqlFunction {
        name: "hist_bins",
        signature: "hist_bins(hist [, per_octave])",
        is_aggregate: false,
        help: "its bins as a list of (`from_ns`, `to_ns` exclusive, `count`), for `unnest`: a heat map. `per_octave` (1, 2, 4, … \
               128) makes them coarser: 1 doubles from bin to bin",
    },
];

/// A question with its answer's statement; all are run by a test.
#[derive(Clone, Copy, Debug)]
pub struct ExampleQuery {
    /// What is asked.
    pub title: &'static str,
    /// Of several recordings?
    pub of_many: bool,
    /// The statement.
    pub sql: &'static str,
}

/// All of them.
pub const EXAMPLES: &[ExampleQuery] = &[
    ExampleQuery {
        title: "The second minute, by workload: operations, and the response time that 99.9 % stayed below",
        of_many: false,
        sql: "select workload, sum(ops), percentile(response, 0.999) from op_interval where t_s between 60 and 120 group by 1",
    },
    ExampleQuery {
        title: "p50, p99 and maximum of each run's measured time",
        of_many: false,
        sql: "select run, percentile(response, 0.5) as p50, percentile(response, 0.99) as p99, max(response_ns_max) as max\n\
              from op_interval where phase = 'measure' group by run order by p99",
    },
    ExampleQuery {
        title: "Operations per second and MB/s, second by second",
        of_many: false,
        sql: "select floor(t_s) as second, sum(ops) as ops, sum(bytes) / 1e6 as mb\nfrom op_interval group by 1 order by 1 limit 20",
    },
    ExampleQuery {
        title: "The ten worst intervals, and when they were",
        of_many: false,
        sql: "select time, target, op, response_ns_p99, backlog\nfrom op_interval order by response_ns_p99 desc nulls last limit 10",
    },
    ExampleQuery {
        title: "A heat map: for every ten seconds how many responses took how long",
        of_many: false,
        sql: "select at, bin['from_ns'] / 1000 as from_us, bin['to_ns'] / 1000 as to_us, bin['count'] as ops\n\
              from (select floor(t_s / 10) * 10 as at, unnest(hist_bins(hist_merge(response), 2)) as bin\n      \
              from op_interval group by 1)\norder by 1, 2",
    },
    ExampleQuery {
        title: "What the disk did, from its counters: reads per second and mean time of a read",
        of_many: false,
        sql: "select t_s, device, reads / seconds as read_iops, ticks / nullif(reads, 0) as read_ms\n\
              from (select t_s, device,\n        \
              t_s - lag(t_s) over (partition by device order by t_s) as seconds,\n        \
              read_ios - lag(read_ios) over (partition by device order by t_s) as reads,\n        \
              cast(read_ticks_ms - lag(read_ticks_ms) over (partition by device order by t_s) as double) as ticks\n      \
              from disk)\nwhere seconds > 0 order by t_s, device limit 20",
    },
    ExampleQuery {
        title: "Was the generator itself the limit?",
        of_many: false,
        sql: "select run, count(*) filter (where limited) as limited, count(*) as intervals, percentile(wait, 0.99) as wait_p99\n\
              from engine_interval group by run",
    },
    ExampleQuery {
        title: "What happened, in order",
        of_many: false,
        sql: "select t_s, severity, kind, message from event order by t_s",
    },
    ExampleQuery {
        title: "Of a trace: who did the I/O of the second minute, and how long the device took for it",
        of_many: false,
        sql: "select comm, op, count(*) as ios, sum(bytes) / 1e6 as mb, percentile(complete_ns - issue_ns, 0.99) as p99\n\
              from io where t_s between 60 and 120 group by 1, 2 order by mb desc",
    },
    ExampleQuery {
        title: "The files that waited longest, and when",
        of_many: false,
        sql: "select time, file, comm, op, sector, (complete_ns - queue_ns) / 1e6 as ms\n\
              from io where file is not null order by ms desc nulls last limit 10",
    },
    ExampleQuery {
        title: "Did the trace lose anything?",
        of_many: false,
        sql: "select floor(t_s) as second, ios, lost_buffer + lost_table + lost_start as lost, consumer_cpu_ns / 1e9 as cpu_s\n\
              from trace_interval where lost_buffer + lost_table + lost_start > 0 order by 1",
    },
    ExampleQuery {
        title: "Which recordings are these, and did they end well?",
        of_many: true,
        sql: "select recording, state, exit, started, host from recordings order by started",
    },
    ExampleQuery {
        title: "Today against yesterday",
        of_many: true,
        sql: "select recording, workload, sum(ops) as ops, percentile(response, 0.99) as p99\n\
              from op_interval where phase = 'measure' group by 1, 2 order by 2, 1",
    },
];

/// docs/query.md.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for example in EXAMPLES {
        let recordings = if example.of_many { "results/*" } else { "results/monday" };
        let _ = writeln!(page, "\n{}:\n\n```\niodyno query {recordings} \"{}\"\n```", example.title, example.sql);
    }
    page.push_str(FUNCTIONS_HEAD);
    for function in FUNCTIONS {
        let what = if function.is_aggregate { "aggregate" } else { "of one value" };
        let _ = writeln!(page, "| `{}` | {what} | {} |", function.signature, function.help);
    }
    page.push_str(TABLES_HEAD);
    for table in recording::catalogue() {
        let columns: Vec<String> = table.columns.iter().map(|column| format!("`{}`", column.name)).collect();
        let _ =
            writeln!(page, "| [`{0}`](tables.md#{0}) | {1} | {2} |", table.name, table.help.trim(), columns.join(" "));
    }
    page.push_str(TAIL);
    page
}

const HEAD: &str = "# SQL over recordings\n\nGenerated by `make docs` from the catalogue of tables and the list of functions; do not edit.\n\n\
`iodyno query RECORDING... [SQL]` queries one or many recordings: sealed ones, those that are being\n\
written, and those whose writer was killed. It is a program of its own, `iodyno-query`, because its\n\
engine takes longer to build than all the rest: `make query` builds it beside `iodyno`.\n\n\
```\n\
iodyno query results/monday \"select ...\"                     # one statement, as a table\n\
iodyno query results/monday --csv \"select ...\"               # CSV; --json: one object per line\n\
iodyno query results/monday --parquet -o FILE \"select ...\"   # Parquet, histograms included\n\
iodyno query results/*                                       # a shell: Tab completes tables, columns, functions\n\
iodyno query results/* < questions.sql                       # statements from a file, each ended by a semicolon\n\
```\n\n\
For a damaged recording ([recording.md](recording.md)) standard error says what is missing, and the\n\
exit code is 6; a query that needs a damaged sealed file is refused.\n\n\
Every table has a column `recording`, the name of the directory of the row, and the table\n\
`recordings` has a row for each. `t_s` is the time since the recording's start in seconds, `time`\n\
the same in UTC; in `io`, which stores neither, they are computed from `complete_ns`, or from\n\
`queue_ns` where an import has no completions. The second line of a table's head has the columns'\n\
units as far as they are known; in Parquet they are metadata of the fields. A missing value is null,\n\
shown as `?`. CSV and JSON leave histogram columns out: use `hist_percentile`, `hist_bins`, or the\n\
stored columns `response_ns_p99` and so on.\n\n\
## Examples\n";

const FUNCTIONS_HEAD: &str = "\n## Functions\n\n`hist` is a histogram column (`response`, `service`, `wait`) or the result of `hist_merge`. Never\n\
average percentiles: merge histograms first. In addition there are the functions of [the\n\
engine](https://datafusion.apache.org/user-guide/sql/): `lag`, `lead`, `date_trunc`, `date_bin`,\n\
`floor`, `approx_percentile_cont`, `unnest`, …\n\n\
| function | | gives |\n| --- | --- | --- |\n";

const TABLES_HEAD: &str = "\n## Tables\n\n[tables.md](tables.md) has all columns with types, units and meanings. Every table also has `time`\n\
and `recording`, and beside each histogram `NAME` the columns `NAME_ns_min`, `_mean`, `_p50`,\n\
`_p90`, `_p99`, `_p999` and `_max`. A table without rows in a recording is empty.\n\n\
| table | a row is | columns |\n| --- | --- | --- |\n\
| `recordings` | One recording. | `recording` `directory` `state` `exit` `started` `started_t_ns` `host` `kernel` `program` `command_line` `id` |\n";

const TAIL: &str = "\n## Other engines\n\nA sealed recording is a folder of Parquet files per table. Every engine that reads Parquet opens it:\n\n\
```\n\
duckdb -c \"select workload, sum(ops), max(response_ns_p99) from 'results/monday/op_interval/**/*.parquet' group by 1\"\n\
```\n\n\
```python\n\
polars.read_parquet('results/monday/op_interval/**/*.parquet')\n\
pandas.read_parquet('results/monday/op_interval')\n\
```\n\n\
The percentiles of each row are plain columns. To merge rows, use the histograms:\n\
[histogram-v1](histogram-v1.md) explains their bytes, with a short reader.\n";
