//! Memory and paging from `/proc/meminfo` and `/proc/vmstat`.

use crate::subject::Stamp;
use crate::text::named;
use recording::rows::Memory;

/// The row; `None` when `/proc/meminfo` lacks what every kernel since 2.6 writes.
pub(crate) fn row(meminfo: &[u8], vmstat: Option<&[u8]>, stamp: Stamp) -> Option<Memory> {
    let bytes = |name: &str| named(meminfo, name)?.checked_mul(1024);
    let count = |name: &str| vmstat.and_then(|text| named(text, name));
    let sum = |names: &[&str]| {
        names.iter().filter_map(|name| count(name)).fold(None, |sum: Option<i64>, one| Some(sum.unwrap_or(0) + one))
    };
    Some(Memory {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        total_bytes: Some(bytes("MemTotal")?),
        free_bytes: Some(bytes("MemFree")?),
        available_bytes: bytes("MemAvailable"),
        cached_bytes: bytes("Cached").zip(bytes("Buffers")).map(|(cached, buffers)| cached + buffers),
        anonymous_bytes: bytes("AnonPages"),
        slab_bytes: bytes("Slab"),
        dirty_bytes: bytes("Dirty"),
        writeback_bytes: bytes("Writeback"),
        swap_total_bytes: bytes("SwapTotal"),
        swap_free_bytes: bytes("SwapFree"),
        // In KiB whatever the size of a page.
        page_in_bytes: count("pgpgin").and_then(|kib| kib.checked_mul(1024)),
        page_out_bytes: count("pgpgout").and_then(|kib| kib.checked_mul(1024)),
        swap_in_pages: count("pswpin"),
        swap_out_pages: count("pswpout"),
        faults: count("pgfault"),
        major_faults: count("pgmajfault"),
        file_refaults: count("workingset_refault_file"),
        // One name per zone before Linux 4.8.
        direct_reclaimed: sum(&[
            "pgsteal_direct",
            "pgsteal_direct_normal",
            "pgsteal_direct_dma32",
            "pgsteal_direct_dma",
        ]),
        oom_kills: count("oom_kill"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine() {
        let (meminfo, vmstat) = (std::fs::read("/proc/meminfo").unwrap(), std::fs::read("/proc/vmstat").unwrap());
        let row = row(&meminfo, Some(&vmstat), Stamp::at(0, 0)).unwrap();
        assert!(row.total_bytes > row.free_bytes && row.available_bytes.unwrap() > 0);
        assert!(row.faults.unwrap() > 0 && row.page_in_bytes.is_some() && row.file_refaults.is_some());
    }

    #[test]
    fn without_vmstat_counters_are_missing_not_zero() {
        let meminfo = std::fs::read("/proc/meminfo").unwrap();
        let row = row(&meminfo, None, Stamp::at(0, 0)).unwrap();
        assert_eq!((row.faults, row.page_in_bytes, row.direct_reclaimed), (None, None, None));
        assert!(super::row(b"MemTotal: 1 kB\n", None, Stamp::at(0, 0)).is_none());
    }
}
