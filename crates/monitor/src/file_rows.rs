//! Rows of the table `file_interval`, of what the probe of files counted.

use crate::numbers::signed;
use recording::Label;
use recording::rows::FileInterval;
use trace::files::{self, FileActivity};

/// A row, given the interval's end and start and the recording's start.
pub(crate) fn row_of(file: &FileActivity, t_ns: u64, from_ns: u64, origin_ns: u64) -> FileInterval {
    let page = files::page_bytes();
    let counts = &file.counts;
    let label = |text: &Option<std::sync::Arc<str>>| text.clone().map(Label);
    FileInterval {
        t_ns: signed(t_ns),
        t_s: t_ns.saturating_sub(origin_ns) as f64 / 1e9,
        interval_ns: signed(t_ns.saturating_sub(from_ns)),
        mount: label(&file.mount),
        inode: file.inode.map(signed),
        file: label(&file.file),
        pid: file.pid.and_then(|pid| i32::try_from(pid).ok()),
        comm: label(&file.comm),
        reads: signed(counts.reads),
        read_bytes: signed(counts.read_bytes),
        touched_bytes: signed(counts.read_pages * page),
        mapped_bytes: signed(counts.mapped_pages * page),
        filled_bytes: signed(counts.pages_in * page),
        direct_reads: signed(counts.direct_reads),
        direct_read_bytes: signed(counts.direct_read_bytes),
        writes: signed(counts.writes),
        write_bytes: signed(counts.write_bytes),
        made_bytes: signed(counts.pages_made * page),
        direct_writes: signed(counts.direct_writes),
        direct_write_bytes: signed(counts.direct_write_bytes),
    }
}
