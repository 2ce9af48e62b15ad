//! Malformed parameter files: what is said of each is a snapshot.

use params::{FileLoader, LoadError, VdbenchOptions, read_vdbench, render};
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
    let folder = Folder(PathBuf::from(format!("{}/../../fixtures/vdbench/malformed", env!("CARGO_MANIFEST_DIR"))));
    let entries = std::fs::read_dir(&folder.0).expect("the folder of malformed files");
    let mut names: Vec<PathBuf> = entries.flatten().map(|entry| PathBuf::from(entry.file_name())).collect();
    names.sort();
    assert!(names.len() >= 40, "{}", names.len());
    for name in names {
        let reading = read_vdbench(std::slice::from_ref(&name), &VdbenchOptions::default(), &folder);
        let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
        let stem = name.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        assert!(!shown.is_empty(), "{stem} passes");
        // What only warns still makes a plan.
        assert_eq!(reading.plan.is_none(), reading.errors() > 0, "{stem}");
        insta::assert_snapshot!(stem, shown.join("\n\n"));
    }
}
