//! What data validation found.

use crate::label::Label;
use crate::schema::tables;

tables! {
    /// One block that was not what it had to be (docs/validation.md). A row when it was found; the first 10,000 of an execution, `data_check` counts all.
    DataError = "data_error" from "data validation" since 1 rows Once {
        /// When it was found.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Title of the run that found it.
        run: String, "", Name;
        /// Position of that run in the order of execution.
        run_index: i32, "", Gauge;
        /// Target.
        target: Label, "", Name;
        /// Path of the file in a tree of directories; null where the target is no tree.
        file: Option<String>, "", Name;
        /// Where on the target, or in the file, the block begins.
        address: i64, "bytes", Gauge;
        /// Length of the block; 0 where it is about a whole file.
        bytes: i64, "bytes", Gauge;
        /// What happened: `bit_rot`, `torn_write`, `lost_write`, `stale_read`, `misdirected_write`, … (docs/validation.md).
        class: Label, "", Name;
        /// `read`, `before_write`, `after_write` or `sweep`.
        found_by: Label, "", Name;
        /// It was right when it was read again.
        transient: bool, "", Gauge;
        /// Sectors of 512 bytes that are wrong.
        wrong_sectors: i64, "", Gauge;
        /// Address of the first of them.
        first_wrong: i64, "bytes", Gauge;
        /// What had to be there, in words.
        expected: String, "", Text;
        /// What was there, in words.
        found: String, "", Text;
        /// Run in the stamp that was found, 16 hexadecimal digits; null without a stamp.
        found_run: Option<String>, "", Text;
        /// Address in that stamp.
        found_address: Option<i64>, "bytes", Gauge;
        /// Number of the write in that stamp.
        found_write: Option<i64>, "", Gauge;
        /// Seconds since 1970 in that stamp: when it was written.
        found_written_s: Option<i64>, "s", Gauge;
        /// Last time at which the block was read and right; null where that is not known (`-vt`).
        last_good_ns: Option<i64>, "ns", Time;
        /// Last write to the block; null where that is not known (`-vt`).
        last_write_ns: Option<i64>, "ns", Time;
        /// The first bytes that are wrong, in hexadecimal, with what had to be there where it is known.
        bytes_found: String, "", Text;
    }

    /// What happened to a damaged block, by all that was found: written behind the last run, because only then both ends of a write that went astray are known. A row per damaged block or file, however often it was found wrong, also of those beyond the rows of `data_error`, up to 200,000; `t_ns`, `target`, `file` and `address` are those of one of its rows there. None when the command was killed.
    DataVerdict = "data_verdict" from "data validation" since 1 rows Once {
        /// When it was found: that of the row in `data_error`.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Target.
        target: Label, "", Name;
        /// Path of the file in a tree of directories; null where the target is no tree.
        file: Option<String>, "", Name;
        /// Where on the target the block begins.
        address: i64, "bytes", Gauge;
        /// Length of the block.
        bytes: i64, "bytes", Gauge;
        /// What happened (docs/validation.md).
        class: Label, "", Name;
        /// It was right when it was read again.
        transient: bool, "", Gauge;
        /// Address of the block at the other end of a write that went astray, or was done twice; null otherwise.
        other: Option<i64>, "bytes", Gauge;
    }

    /// What was proved of a target's data until the end of a run. All figures count from the start of the execution.
    DataCheck = "data_check" from "data validation" since 1 rows Once {
        /// End of the run.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge in key;
        /// Target. `(left out)`: what the journal of an earlier session knows and no run reads.
        target: Label, "", Name in key;
        /// Bytes of a block.
        block_bytes: i64, "bytes", Gauge;
        /// Bytes that were stamped and written.
        stamped_bytes: i64, "bytes", Gauge;
        /// Bytes that were read and had to be what was known of them.
        checked_bytes: i64, "bytes", Gauge;
        /// Bytes that were read and of which nothing was known.
        unknown_bytes: i64, "bytes", Gauge;
        /// Blocks of which a write, a trim or a damage is known, without trimmed ones that may read as anything; of a tree its files, too.
        known_blocks: i64, "", Gauge;
        /// Of those, what was read at the end (the sweep); null without one.
        swept_blocks: Option<i64>, "", Gauge;
        /// Blocks that an earlier session of the journal wrote and that no flush covered before a power cut: they may hold anything, and are only counted. Null where no journal was recovered.
        unpromised_blocks: Option<i64>, "", Gauge;
        /// Damaged blocks, each counted once until it is written again.
        damaged_blocks: i64, "", Gauge;
        /// Reads before and behind writes.
        extra_reads: i64, "", Gauge;
        /// Operations that waited because another one had their block.
        deferred: i64, "", Gauge;
    }
}
