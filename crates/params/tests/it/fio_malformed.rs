//! Malformed job files: what is said of each is a snapshot.

use params::{FileLoader, JobSource, LoadError, VdbenchOptions, read_fio, render};
use std::path::{Path, PathBuf};

/// The files of one folder, under their bare names.
struct Folder(PathBuf);

impl FileLoader for Folder {
    fn load(&self, path: &Path) -> Result<Vec<u8>, LoadError> {
        std::fs::read(self.0.join(path)).map_err(|_| LoadError::Missing)
    }
}

#[test]
fn every_mistake_has_its_place_and_advice() {
    let folder = Folder(PathBuf::from(format!("{}/../../fixtures/fio/malformed", env!("CARGO_MANIFEST_DIR"))));
    let entries = std::fs::read_dir(&folder.0).expect("the folder of malformed files");
    let mut names: Vec<PathBuf> = entries.flatten().map(|entry| PathBuf::from(entry.file_name())).collect();
    names.sort();
    assert!(names.len() >= 30, "{}", names.len());
    for name in names {
        let reading = read_fio(&[JobSource::File(name.clone())], &VdbenchOptions::default(), &folder, &|_| None);
        let mut shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
        let plan = reading.plan.iter();
        shown.extend(plan.flat_map(|plan| &plan.unsupported).map(|what| format!("cannot run: {}", what.sentence)));
        let stem = name.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        assert!(!shown.is_empty(), "{stem} passes");
        assert_eq!(reading.plan.is_none(), reading.errors() > 0, "{stem}");
        insta::assert_snapshot!(stem, shown.join("\n\n"));
    }
}
