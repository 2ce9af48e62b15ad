//! Errors of the devices of btrfs file systems, from `/sys/fs/btrfs/UUID/devinfo/N/error_stats` (Linux 5.14).

use crate::subject::Stamp;
use crate::text::{counter, lines, small, words};
use recording::rows::BtrfsDevice;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Remembers the last text of each file.
#[derive(Debug)]
pub(crate) struct Btrfs {
    folder: PathBuf,
    last_texts: HashMap<PathBuf, Vec<u8>>,
}

impl Btrfs {
    /// Under `root`.
    pub(crate) fn new(root: &Path) -> Self {
        Self { folder: root.join("sys/fs/btrfs"), last_texts: HashMap::new() }
    }

    /// Rows of devices that are new or whose errors changed. Machines without such file systems have none.
    pub(crate) fn sample(&mut self, stamp: Stamp) -> Vec<BtrfsDevice> {
        let mut rows = Vec::new();
        let Ok(file_systems) = std::fs::read_dir(&self.folder) else { return rows };
        for file_system in file_systems.flatten() {
            let Ok(devices) = std::fs::read_dir(file_system.path().join("devinfo")) else { continue };
            let name = small(&file_system.path().join("label"))
                .unwrap_or_else(|| file_system.file_name().to_string_lossy().into_owned());
            for device in devices.flatten() {
                let number = device.file_name().to_str().and_then(|name| counter(name.as_bytes()));
                let path = device.path().join("error_stats");
                let (Some(number), Ok(text)) = (number, std::fs::read(&path)) else { continue };
                if self.last_texts.get(&path) == Some(&text) {
                    continue;
                }
                rows.push(row(&text, name.clone(), number, stamp));
                self.last_texts.insert(path, text);
            }
        }
        rows
    }
}

fn row(text: &[u8], file_system: String, device: i64, stamp: Stamp) -> BtrfsDevice {
    let of = |name: &str| {
        lines(text).find_map(|line| {
            let mut words = words(line);
            (words.next()? == name.as_bytes()).then(|| words.next().and_then(counter)).flatten()
        })
    };
    BtrfsDevice {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        file_system,
        device,
        write_errors: of("write_errs"),
        read_errors: of("read_errs"),
        flush_errors: of("flush_errs"),
        corruption_errors: of("corruption_errs"),
        generation_errors: of("generation_errs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_each_device_when_they_change() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/fs/btrfs/0b1c");
        for device in ["1", "2"] {
            std::fs::create_dir_all(folder.join("devinfo").join(device)).unwrap();
            std::fs::write(
                folder.join("devinfo").join(device).join("error_stats"),
                "write_errs 0\nread_errs 0\nflush_errs 0\ncorruption_errs 0\ngeneration_errs 0\n",
            )
            .unwrap();
        }
        std::fs::create_dir_all(root.path().join("sys/fs/btrfs/features")).unwrap();
        std::fs::write(folder.join("label"), "\n").unwrap();
        let mut btrfs = Btrfs::new(root.path());
        let first = btrfs.sample(Stamp::at(0, 0));
        assert_eq!(first.len(), 2);
        assert!(first.iter().all(|row| row.file_system == "0b1c" && row.corruption_errors == Some(0)));
        assert!(btrfs.sample(Stamp::at(1, 0)).is_empty());
        std::fs::write(folder.join("label"), "tank\n").unwrap();
        std::fs::write(folder.join("devinfo/2/error_stats"), "write_errs 0\ncorruption_errs 17\n").unwrap();
        let second = btrfs.sample(Stamp::at(2, 0));
        assert_eq!(second.len(), 1);
        assert_eq!((second[0].file_system.as_str(), second[0].device), ("tank", 2));
        assert_eq!((second[0].corruption_errors, second[0].read_errors), (Some(17), None));
        assert!(Btrfs::new(Path::new("/nowhere")).sample(Stamp::at(0, 0)).is_empty());
    }
}
