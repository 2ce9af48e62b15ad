//! ZFS from `/proc/spl/kstat/zfs`: the cache, pools, data sets (OpenZFS' `module/zfs/arc.c`, `spa_stats.c`, `dataset_kstats.c`).
//!
//! A machine without the module has no such folder and no rows.

use crate::subject::{Stamp, push};
use crate::text::{counter, lines, small, words};
use crate::zpool::Asker;
use recording::rows::{ZfsArc, ZfsDataset, ZfsPool};
use recording::{Label, RowBatch};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Time between two looks at data sets, of which there may be thousands, each with a file.
const DATASETS_EVERY_NS: u64 = 10_000_000_000;
/// So many data sets of a pool are looked at.
const MOST_DATASETS: usize = 1024;

/// Remembers the last values of each data set.
#[derive(Debug)]
pub(crate) struct Zfs {
    folder: PathBuf,
    datasets_ns: u64,
    last_values: HashMap<PathBuf, [Option<i64>; 6]>,
    asker: Asker,
}

impl Zfs {
    /// Under `root`.
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            folder: root.join("proc/spl/kstat/zfs"),
            datasets_ns: 0,
            last_values: HashMap::new(),
            asker: Asker::new(root),
        }
    }

    /// Adds what there is to tell.
    pub(crate) fn sample(&mut self, t_ns: u64, stamp: Stamp, batches: &mut Vec<RowBatch>) {
        let Ok(text) = std::fs::read(self.folder.join("arcstats")) else { return };
        push(batches, &[arc(&text, stamp)]);
        let Ok(entries) = self.folder.read_dir() else { return };
        // Files are the module's, folders are pools.
        let mut pools: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect();
        pools.sort();
        if !pools.is_empty() {
            self.asker.look(t_ns);
        }
        let rows: Vec<ZfsPool> = pools.iter().filter_map(|folder| pool(folder, stamp, &self.asker)).collect();
        push(batches, &rows);
        if t_ns >= self.datasets_ns {
            self.datasets_ns = t_ns.saturating_add(DATASETS_EVERY_NS);
            let mut seen = HashSet::new();
            let mut rows = Vec::new();
            for pool in &pools {
                self.datasets(pool, stamp, &mut rows, &mut seen);
            }
            self.last_values.retain(|path, _| seen.contains(path));
            push(batches, &rows);
        }
    }

    /// Data sets of a pool that are new or were used.
    fn datasets(&mut self, pool: &Path, stamp: Stamp, rows: &mut Vec<ZfsDataset>, seen: &mut HashSet<PathBuf>) {
        let Ok(entries) = pool.read_dir() else { return };
        let is_set =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"objset-"));
        for path in entries.flatten().map(|entry| entry.path()).filter(is_set).take(MOST_DATASETS) {
            // Unmounted meanwhile: not an error.
            let Ok(text) = std::fs::read(&path) else { continue };
            let values =
                ["reads", "nread", "writes", "nwritten", "nunlinks", "nunlinked"].map(|name| stat(&text, name));
            seen.insert(path.clone());
            if self.last_values.get(&path) == Some(&values) {
                continue;
            }
            if let Some(dataset) = dataset_name(&text) {
                let [read_ios, read_bytes, write_ios, write_bytes, unlinks, unlinked] = values;
                rows.push(ZfsDataset {
                    t_ns: stamp.t_ns,
                    t_s: stamp.t_s,
                    pool: Label::from(&*name(pool)),
                    dataset: Label::from(dataset.as_str()),
                    read_ios,
                    read_bytes,
                    write_ios,
                    write_bytes,
                    unlinks,
                    unlinked,
                });
            }
            self.last_values.insert(path, values);
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// `NAME TYPE VALUE`, below a line of numbers and one of headings.
fn stat(text: &[u8], name: &str) -> Option<i64> {
    lines(text).find_map(|line| {
        let mut words = words(line);
        (words.next()? == name.as_bytes()).then(|| words.nth(1).and_then(counter)).flatten()
    })
}

/// The text behind its name and type; data sets may have blanks in their names.
fn dataset_name(text: &[u8]) -> Option<String> {
    let line = lines(text).find(|line| line.starts_with(b"dataset_name "))?;
    let text = String::from_utf8_lossy(line);
    let rest = text.split_once(' ')?.1.trim_start();
    Some(rest.split_once(' ')?.1.trim().to_string())
}

fn arc(text: &[u8], stamp: Stamp) -> ZfsArc {
    // A hash of a hundred lines costs more than it saves: the file is read once a second.
    let of = |name: &str| stat(text, name);
    ZfsArc {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        hits: of("hits"),
        misses: of("misses"),
        demand_data_hits: of("demand_data_hits"),
        demand_data_misses: of("demand_data_misses"),
        demand_metadata_hits: of("demand_metadata_hits"),
        demand_metadata_misses: of("demand_metadata_misses"),
        prefetch_data_hits: of("prefetch_data_hits"),
        prefetch_data_misses: of("prefetch_data_misses"),
        prefetch_metadata_hits: of("prefetch_metadata_hits"),
        prefetch_metadata_misses: of("prefetch_metadata_misses"),
        mru_hits: of("mru_hits"),
        mfu_hits: of("mfu_hits"),
        mru_ghost_hits: of("mru_ghost_hits"),
        mfu_ghost_hits: of("mfu_ghost_hits"),
        size_bytes: of("size"),
        target_bytes: of("c"),
        min_bytes: of("c_min"),
        max_bytes: of("c_max"),
        // Until OpenZFS 2.2 the sum; since then in its two parts.
        metadata_bytes: of("arc_meta_used").or_else(|| of("metadata_size")),
        compressed_bytes: of("compressed_size"),
        uncompressed_bytes: of("uncompressed_size"),
        memory_throttles: of("memory_throttle_count"),
        l2_hits: of("l2_hits"),
        l2_misses: of("l2_misses"),
        l2_read_bytes: of("l2_read_bytes"),
        l2_write_bytes: of("l2_write_bytes"),
        l2_size_bytes: of("l2_size"),
        l2_io_errors: of("l2_io_error"),
        l2_checksum_errors: of("l2_cksum_bad"),
    }
}

/// The row of a pool; `None` when it is gone, or the folder is none of a pool.
fn pool(folder: &Path, stamp: Stamp, asker: &Asker) -> Option<ZfsPool> {
    let state = small(&folder.join("state"));
    let io = std::fs::read(folder.join("io")).ok();
    let stats = std::fs::read(folder.join("iostats")).ok();
    if state.is_none() && io.is_none() && stats.is_none() {
        return None;
    }
    let io = |name: &str| io.as_deref().and_then(|text| column(text, name));
    let stats = |name: &str| stats.as_deref().and_then(|text| stat(text, name));
    let space = asker.of(&name(folder));
    Some(ZfsPool {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        pool: name(folder),
        state: state.or(space.health),
        size_bytes: space.size_bytes,
        allocated_bytes: space.allocated_bytes,
        free_bytes: space.free_bytes,
        fragmentation_percent: space.fragmentation_percent,
        read_ios: io("reads"),
        read_bytes: io("nread"),
        write_ios: io("writes"),
        write_bytes: io("nwritten"),
        wait_ns: io("wtime"),
        weighted_wait_ns: io("wlentime"),
        run_ns: io("rtime"),
        weighted_run_ns: io("rlentime"),
        waiting: io("wcnt"),
        running: io("rcnt"),
        arc_read_ios: stats("arc_read_count"),
        arc_read_bytes: stats("arc_read_bytes"),
        arc_write_ios: stats("arc_write_count"),
        arc_write_bytes: stats("arc_write_bytes"),
        direct_read_ios: stats("direct_read_count"),
        direct_read_bytes: stats("direct_read_bytes"),
        direct_write_ios: stats("direct_write_count"),
        direct_write_bytes: stats("direct_write_bytes"),
    })
}

/// A value below its heading: a line of numbers, one of headings, one of values.
fn column(text: &[u8], name: &str) -> Option<i64> {
    let mut lines = lines(text).skip(1);
    let at = words(lines.next()?).position(|word| word == name.as_bytes())?;
    words(lines.next()?).nth(at).and_then(counter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::Row;
    use std::fs::{create_dir_all, write};

    const HEAD: &str = "13 1 0x01 96 26112 4043178632 3417437393\nname                            type data\n";

    fn rows<R: Row>(batches: &[RowBatch]) -> Vec<R> {
        batches
            .iter()
            .filter(|batch| batch.table.name == R::TABLE.name)
            .flat_map(|batch| batch.to_rows().unwrap())
            .collect()
    }

    /// As OpenZFS 0.8 (`old`) and 2.3 (`new`) have it.
    fn fixture() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/spl/kstat/zfs");
        let (old, new) = (folder.join("old"), folder.join("new"));
        create_dir_all(&old).unwrap();
        create_dir_all(&new).unwrap();
        let arcstats = "hits                            4    8772612\nmisses                          4    604635\n\
             demand_data_hits                4    7221032\nsize                            4    1603939792\n\
             c                               4    16758994944\nc_min                           4    1048576\n\
             c_max                           4    16758994944\nl2_hits                         4    7\n\
             l2_io_error                     4    0\nmetadata_size                   4    5\n\
             memory_available_bytes          3    -922337203685477580\n";
        write(folder.join("arcstats"), format!("{HEAD}{arcstats}")).unwrap();
        write(folder.join("dbufstats"), "pool objset\n").unwrap();
        write(old.join("state"), "ONLINE\n").unwrap();
        let io = "12 3 0x00 1 80 79205351707403 395818011156865\n\
            nread    nwritten reads    writes   wtime    wlentime wupdate  rtime    rlentime rupdate  wcnt     rcnt    \n\
            1884160  3206144  22       132      7155162  104112268 79210489694949 24168078 104112269 79210489849220 1        2\n";
        write(old.join("io"), io).unwrap();
        write(new.join("state"), "DEGRADED\n").unwrap();
        let iostats = "trim_extents_written            4    0\narc_read_count                  4    100\n\
            arc_read_bytes                  4    1000\narc_write_count                 4    200\narc_write_bytes                 4    2000\n\
            direct_read_count               4    10\n";
        write(new.join("iostats"), format!("{HEAD}{iostats}")).unwrap();
        write(new.join("objset-0x36"), dataset(10)).unwrap();
        root
    }

    fn dataset(writes: i64) -> String {
        format!(
            "{HEAD}dataset_name                    7    new/mail box\nwrites                          4    {writes}\n\
             nwritten                        4    20480\nreads                           4    0\nnread                           4    0\n\
             nunlinks                        4    3\nnunlinked                       4    2\n"
        )
    }

    #[test]
    fn cache_pools_and_data_sets() {
        let root = fixture();
        let mut zfs = Zfs::new(root.path());
        let mut sample = |t_s: u64| {
            let mut batches = Vec::new();
            zfs.sample(t_s * 1_000_000_000, Stamp::at(0, 0), &mut batches);
            batches
        };
        let first = sample(1);
        let arc = &rows::<ZfsArc>(&first)[0];
        assert_eq!((arc.hits, arc.misses, arc.size_bytes), (Some(8_772_612), Some(604_635), Some(1_603_939_792)));
        assert_eq!(
            (arc.target_bytes, arc.min_bytes, arc.metadata_bytes),
            (Some(16_758_994_944), Some(1 << 20), Some(5))
        );
        assert_eq!((arc.l2_hits, arc.l2_io_errors, arc.l2_misses), (Some(7), Some(0), None), "not counted is not 0");
        let pools = rows::<ZfsPool>(&first);
        assert_eq!(pools.iter().map(|row| row.pool.as_str()).collect::<Vec<_>>(), ["new", "old"]);
        let (new, old) = (&pools[0], &pools[1]);
        assert_eq!((new.state.as_deref(), old.state.as_deref()), (Some("DEGRADED"), Some("ONLINE")));
        assert_eq!((old.read_bytes, old.write_bytes, old.read_ios), (Some(1_884_160), Some(3_206_144), Some(22)));
        assert_eq!((old.weighted_run_ns, old.waiting, old.running), (Some(104_112_269), Some(1), Some(2)));
        assert_eq!((old.arc_read_ios, new.arc_write_bytes, new.direct_read_ios), (None, Some(2000), Some(10)));
        assert_eq!((new.read_ios, new.direct_write_ios), (None, None));
        let sets = rows::<ZfsDataset>(&first);
        assert_eq!((sets.len(), &*sets[0].dataset, &*sets[0].pool), (1, "new/mail box", "new"));
        assert_eq!((sets[0].write_ios, sets[0].write_bytes, sets[0].unlinked), (Some(10), Some(20_480), Some(2)));
        // Data sets every 10 s, and only when they were used.
        let set = root.path().join("proc/spl/kstat/zfs/new/objset-0x36");
        write(&set, dataset(11)).unwrap();
        assert!(rows::<ZfsDataset>(&sample(2)).is_empty());
        assert_eq!(rows::<ZfsDataset>(&sample(11)).len(), 1);
        assert!(rows::<ZfsDataset>(&sample(22)).is_empty());
        std::fs::remove_file(set).unwrap();
        assert_eq!(rows::<ZfsPool>(&sample(33)).len(), 2);
    }

    #[test]
    fn a_machine_without_zfs() {
        let root = tempfile::tempdir().unwrap();
        let mut batches = Vec::new();
        Zfs::new(root.path()).sample(1, Stamp::at(0, 0), &mut batches);
        assert!(batches.is_empty());
    }
}
