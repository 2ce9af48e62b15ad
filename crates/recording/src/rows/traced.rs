//! I/Os, and what traces and probes sum up.

use crate::cell::SizeHistogram;
use crate::label::Label;
use crate::schema::tables;
use quantity::histogram::Histogram;

tables! {
    /// One block I/O of a traced device, in the order of completion (where that is not known, of queueing).
    Io = "io" from "the tracer (block tracepoints), or an import (docs/import.md), which has what its format tells" since 1 rows Once {
        /// The bio was handed to the block layer; in imports the first time that is known.
        queue_ns: i64, "ns", Time;
        /// The driver got the request (of a flush: the flush that served it); null when that did not happen.
        issue_ns: Option<i64>, "ns", Time;
        /// It was completed; null where that was not seen (`unfinished` in `flags`: not until the trace ended), or an import does not tell.
        complete_ns: Option<i64>, "ns", Time;
        /// Kernel name of the whole device; of imports, what their format calls it.
        dev: Label, "", Name;
        /// `read`, `write`, `flush`, `discard`, `write_zeroes`, `zone_append`, …; `unknown` in imports that do not tell.
        op: Label, "", Name;
        /// What it was marked with: `sync`, `meta`, `fua`, `preflush`, `readahead`, `background`, `split`, `direct` (a program's own memory), `device` (page cache of the device: metadata), `unfinished` (no end had been seen when the trace ended), with `+` between; null in imports that do not tell.
        flags: Option<Label>, "", Name;
        /// First sector of the whole device, 512 B each; 0 of what has no place (flushes, drivers' own commands).
        sector: i64, "sectors", Gauge;
        /// Size.
        bytes: i64, "bytes", Gauge;
        /// Process that issued it; null when its name was lost, or not recorded.
        pid: Option<i32>, "", Number not scraped;
        /// Its thread.
        tid: Option<i32>, "", Gauge;
        /// Name of the thread, 15 characters.
        comm: Option<Label>, "", Name;
        /// Control group of the thread, below the root of cgroup 2.
        cgroup: Option<Label>, "", Name;
        /// Inode whose data it moved.
        inode: Option<i64>, "", Gauge;
        /// Path of that inode when it was first seen.
        file: Option<Label>, "", Name;
        /// Of write-back: process that wrote the data into the page cache last.
        owner_pid: Option<i32>, "", Number;
        /// Name of its thread.
        owner_comm: Option<Label>, "", Name;
        /// Error number (errno); null when it succeeded.
        error: Option<i32>, "", Gauge;
        /// Bios in the request: more than one after merges; 255 stands for more. Null in imports that do not tell.
        bios: Option<i32>, "", Gauge;
        /// How often the driver gave it back; null in imports that do not tell.
        requeues: Option<i32>, "", Gauge;
    }

    /// Block I/O of one interval, by device, operation, process and file, with the distribution of its response times. A row for each that did any; of many, those with few I/Os share a row without process and file.
    IoInterval = "io_interval" from "`iodyno top` (block tracepoints)" since 1 rows PerInterval with unscraped {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Kernel name of the whole device; an I/O through one that lies on another is counted at each of them.
        dev: Label, "", Name in key;
        /// `read`, `write`, `flush`, `discard`, …
        op: Label, "", Name in key;
        /// Process: of write-back the one that wrote the data into the page cache last, else the one that issued it.
        pid: Option<i32>, "", Number in key;
        /// Its name, 15 characters.
        comm: Option<Label>, "", Name in key;
        /// Path of the file whose data it moved.
        file: Option<Label>, "", Name in key;
        /// I/Os completed.
        ios: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Completion − queueing.
        response: Histogram, "ns", Histogram;
        /// I/Os for which no task waits: writes without `sync` (write-back), and read-ahead. Null in imports without it, and in older recordings.
        asynchronous: Option<i64>, "op", Gauge;
        /// Bytes of each I/O that moved any; empty in recordings made before there was this column.
        sizes: SizeHistogram, "bytes", Histogram;
        /// Of reads or writes: those that continue one of the last 32 streams of the device, as in the analysis of traces (trace-analysis.md). Null for other operations, and in recordings made before there was this column.
        sequential: Option<i64>, "op", Gauge;
        /// Of the I/Os: those that failed. Null in recordings made before there was this column.
        errors: Option<i64>, "op", Gauge;
    }

    /// I/Os that failed since the probe began, by device, operation and error, as far as it is known by file. A row when the count has grown. Every failure is counted, unlike in the kernel's messages, of which ten in five seconds are printed.
    IoError = "io_error" from "the probe `errors` (block_rq_complete, block_bio_complete)" since 1 rows OnChange with per_recording, kept_whole {
        /// When it was read.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Kernel name of the whole device; an I/O through one that lies on another is counted at each of them.
        dev: Label, "", Name in key;
        /// `read`, `write`, `flush`, `discard`, …
        op: Label, "", Name in key;
        /// Error number (errno): 5 I/O error, 61 medium error, 28 no space, 110 timed out, …
        error: i32, "", Number in key;
        /// Process, where it is known: not by the probe, for it was another one's turn when the device answered.
        pid: Option<i32>, "", Number in key not scraped;
        /// Its name, 15 characters.
        comm: Option<Label>, "", Name not scraped;
        /// The file whose data it would have moved: its name without the directories before it, or its path.
        file: Option<Label>, "", Name in key not scraped;
        /// Inode of that file.
        inode: Option<i64>, "", Gauge in key not scraped;
        /// How many I/Os failed.
        count: i64, "op", Counter;
        /// When the first one failed since the probe began.
        first_ns: i64, "ns", Gauge not scraped;
        /// When the last one failed.
        last_ns: i64, "ns", Gauge not scraped;
        /// First sector of the first one, 512 B each; null of what has no place.
        sector: Option<i64>, "sectors", Gauge not scraped;
    }

    /// Where on a device the reads and writes of one interval were: its capacity in 64 bands of the same length. A row for each band in which any began.
    IoPlace = "io_place" from "`iodyno top` (block tracepoints)" since 1 rows PerInterval with unscraped {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Kernel name of the whole device.
        dev: Label, "", Name in key;
        /// Its capacity.
        capacity_bytes: i64, "bytes", Gauge;
        /// The band: 0 is where the device begins, 63 where it ends.
        band: i32, "", Gauge in key;
        /// Reads completed that began in it.
        reads: i64, "op", Gauge;
        /// Writes completed that began in it.
        writes: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
    }

    /// What a process did with a file in one interval: as programs asked for it (logical), and what the page cache had to get for it (physical). A row for each pair that did anything.
    FileInterval = "file_interval" from "the probe of files" since 1 rows PerInterval with unscraped {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Where the file's file system is mounted; null when it is not, or not here.
        mount: Option<Label>, "", Name in key;
        /// Inode of the file.
        inode: Option<i64>, "", Gauge in key;
        /// Path when the file was first seen; `/dev/…` for a block device; null when it has no name in memory.
        file: Option<Label>, "", Name in key;
        /// Process; null when its name was lost.
        pid: Option<i32>, "", Number in key;
        /// Its name, 15 characters.
        comm: Option<Label>, "", Name in key;
        /// Reads through the page cache that gave something.
        reads: i64, "op", Gauge;
        /// Bytes that they gave.
        read_bytes: i64, "bytes", Gauge;
        /// Bytes of the pages that they touched, whole pages, each read by itself.
        touched_bytes: i64, "bytes", Gauge;
        /// Bytes of pages that were touched for the first time through a mapping.
        mapped_bytes: i64, "bytes", Gauge;
        /// Bytes of pages that were brought into the page cache to be read, read-ahead included.
        filled_bytes: i64, "bytes", Gauge;
        /// Reads past the page cache.
        direct_reads: i64, "op", Gauge;
        /// Their bytes.
        direct_read_bytes: i64, "bytes", Gauge;
        /// Writes into the page cache.
        writes: i64, "op", Gauge;
        /// Their bytes.
        write_bytes: i64, "bytes", Gauge;
        /// Bytes of pages that were made in the page cache to be written.
        made_bytes: i64, "bytes", Gauge;
        /// Writes past the page cache.
        direct_writes: i64, "op", Gauge;
        /// Their bytes.
        direct_write_bytes: i64, "bytes", Gauge;
    }

    /// What a trace saw, lost and cost in one interval.
    TraceInterval = "trace_interval" from "the tracer" since 1 rows PerInterval with in_every_sample {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Rows written to `io`.
        ios: i64, "op", Gauge;
        /// Reads among them.
        reads: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Those that failed.
        errors: i64, "op", Gauge;
        /// I/Os that began and passed the filters, before sampling.
        started: i64, "op", Gauge;
        /// Lost because the buffer between kernel and consumer was full.
        lost_buffer: i64, "op", Gauge;
        /// Lost because the table of I/Os in flight was full.
        lost_table: i64, "op", Gauge;
        /// Their completion was not seen: rows without its time.
        lost_end: i64, "op", Gauge;
        /// Lost because their start was not seen: at most so many, and of devices that were not asked for as well.
        lost_start: i64, "op", Gauge;
        /// Names lost: so often an I/O has no issuer or file.
        lost_names: i64, "", Gauge;
        /// Bios merged into a request.
        merges: i64, "op", Gauge;
        /// Bios split.
        splits: i64, "op", Gauge;
        /// Completion − queueing.
        response: Histogram, "ns", Histogram;
        /// CPU time of taking records out of the buffer and, of `trace`, of writing them.
        consumer_cpu_ns: i64, "ns", Gauge;
    }
}
