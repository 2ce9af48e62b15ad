//! Names of programs' functions by address: through the process's map of its memory into the files' symbol tables.

use super::elf::Functions;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Files whose tables are kept.
const FILES_MAX: usize = 512;

/// A piece of a process's memory that is a file's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    begin: u64,
    end: u64,
    offset: u64,
    /// Device and inode, as the map has them.
    file: (String, u64),
    path: String,
}

/// Processes and files that were asked for.
#[derive(Debug, Default)]
pub(super) struct UserNames {
    /// Of this round: a program may be another one in the next.
    processes: HashMap<u32, Vec<Mapping>>,
    files: HashMap<(String, u64), Arc<Functions>>,
}

impl UserNames {
    /// A new round of questions.
    pub(super) fn begin(&mut self) {
        self.processes.clear();
        if self.files.len() > FILES_MAX {
            self.files.clear();
        }
    }

    /// The function at an address of a process, or the file and the place in it.
    pub(super) fn name(&mut self, pid: u32, address: u64) -> String {
        let maps = self.processes.entry(pid).or_insert_with(|| {
            // Of one that has ended nothing is known any more.
            std::fs::read_to_string(format!("/proc/{pid}/maps")).map(|text| mappings(&text)).unwrap_or_default()
        });
        let Some(mapping) = maps.iter().find(|mapping| mapping.begin <= address && address < mapping.end) else {
            return "[unknown]".to_string();
        };
        if !mapping.path.starts_with('/') {
            return if mapping.path.is_empty() { "[anonymous]".to_string() } else { mapping.path.clone() };
        }
        let offset = address - mapping.begin + mapping.offset;
        let functions = match self.files.get(&mapping.file) {
            Some(known) => Arc::clone(known),
            None => {
                let functions = Arc::new(open(pid, mapping).map(|file| Functions::of(&file)).unwrap_or_default());
                self.files.insert(mapping.file.clone(), Arc::clone(&functions));
                functions
            }
        };
        functions.name(offset).unwrap_or_else(|| {
            let path = mapping.path.trim_end_matches(" (deleted)");
            let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
            format!("{}+{offset:#x}", name.unwrap_or_default())
        })
    }
}

/// Through the process's own root, for it may live in a container; a file that was deleted through the map itself.
fn open(pid: u32, mapping: &Mapping) -> Option<File> {
    let within = format!("/proc/{pid}/root{}", mapping.path);
    let itself = format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.begin, mapping.end);
    let file = File::open(within).or_else(|_| File::open(itself)).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// The executable pieces.
fn mappings(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(mapping).collect()
}

/// `begin-end r-xp offset dev inode   path`
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let rights = words.next()?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (offset, device, inode) = (hex(words.next()?)?, words.next()?, words.next()?.parse().ok()?);
    let path = words.next().unwrap_or_default().trim_start().to_string();
    let mapping = Mapping { begin: hex(begin)?, end: hex(end)?, offset, file: (device.to_string(), inode), path };
    rights.contains('x').then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::{UserNames, mappings};

    #[test]
    fn only_what_is_executed() {
        let text = "55d0-55e0 r--p 00000000 fe:00 12     /usr/bin/a b\n55e0-55f0 r-xp 00001000 fe:00 12     /usr/bin/a b\n\
                    7f00-7f10 r-xp 00000000 00:00 0 \n7ffc-7ffe r-xp 00000000 00:00 0                          [vdso]\nodd\n";
        let found = mappings(text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!((found[0].begin, found[0].offset, found[0].path.as_str()), (0x55e0, 0x1000, "/usr/bin/a b"));
        assert_eq!((found[0].file.0.as_str(), found[0].file.1), ("fe:00", 12));
        assert_eq!((found[1].path.as_str(), found[2].path.as_str()), ("", "[vdso]"));
    }

    #[test]
    fn what_is_gone_is_unknown() {
        let mut names = UserNames::default();
        assert_eq!(names.name(u32::MAX, 0x1000), "[unknown]");
        assert_eq!(names.name(std::process::id(), 1), "[unknown]");
    }
}
