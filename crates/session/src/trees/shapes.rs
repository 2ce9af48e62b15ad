//! Shape files of a plan's trees, as a recording keeps them: it is to say by itself which trees there were.

use plan::{FileSizes, Plan, TreeShape};
use quantity::figures::grouped;
use quantity::text::format_bytes;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use tree::TreeLayout;

/// A longer one is summed up: recordings and reports carry it in a text.
const KEPT_MAX: u64 = 256 << 10;
/// The last line: `end` and a sum.
const LAST_LINE: u64 = 21;

/// By name as it was given: the text of each shape file, or what sums it up.
pub(crate) fn shape_sources(plan: &Plan) -> Vec<(String, String)> {
    let mut found: BTreeMap<&Path, String> = BTreeMap::new();
    for one in plan.runs.iter().flat_map(plan::Run::tree_uses) {
        if let FileSizes::Listed(path) = &one.shape.sizes {
            found.entry(path).or_insert_with(|| text(path, &one.shape));
        }
    }
    found.into_iter().map(|(path, text)| (path.display().to_string(), text)).collect()
}

fn text(path: &Path, shape: &TreeShape) -> String {
    let mut whole = String::new();
    let read = std::fs::File::open(path).and_then(|file| {
        file.take(KEPT_MAX + 1).read_to_string(&mut whole)?;
        Ok(whole.len() as u64 <= KEPT_MAX)
    });
    match read {
        Ok(true) => whole,
        Ok(false) => summed_up(path, shape).unwrap_or_else(|why| format!("could not be read again: {why}\n")),
        Err(why) => format!("could not be read again: {why}\n"),
    }
}

/// Digest, counts and sizes of a long one.
fn summed_up(path: &Path, shape: &TreeShape) -> Result<String, Box<dyn std::error::Error>> {
    let layout = TreeLayout::new(shape)?;
    let mut file = std::fs::File::open(path)?;
    let bytes = file.seek(SeekFrom::End(-LAST_LINE.cast_signed()))?.saturating_add(LAST_LINE);
    let mut last = String::new();
    file.take(LAST_LINE).read_to_string(&mut last)?;
    let mut text = format!(
        "a shape file of {}, longer than is kept whole ({}); its last line: {}\ndirectories {}\nlevels {}\nfiles {}\nbytes {}\n",
        format_bytes(bytes),
        format_bytes(KEPT_MAX),
        last.trim_end(),
        layout.directories(),
        layout.levels(),
        layout.files(),
        layout.total_bytes()
    );
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for file in 0..layout.files() {
        let up_to = layout.asked_bytes(file).checked_next_power_of_two().unwrap_or(u64::MAX);
        *counts.entry(up_to).or_default() += 1;
    }
    for (up_to, count) in counts {
        let _ =
            writeln!(text, "files of at most {}, more than half of it: {}", format_bytes(up_to), grouped(count as f64));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use tree::{Holds, ListedTree};

    fn kept(files: u32) -> (String, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.shape");
        let sizes: Vec<u64> = (0..u64::from(files)).map(|at| if at == 0 { 1 << 20 } else { 3000 }).collect();
        let holds = [Holds { directories: 1, files: 0 }, Holds { directories: 0, files }];
        let tree = ListedTree::new(&holds, sizes).unwrap();
        let mut bytes = Vec::new();
        tree.write(&mut bytes).unwrap();
        std::fs::File::create(&path).unwrap().write_all(&bytes).unwrap();
        let shape = TreeShape { sizes: FileSizes::Listed(path.clone()), ..TreeShape::regular(1, 1, 1, 0) };
        (text(&path, &shape), String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_short_one_is_kept_and_a_long_one_summed_up() {
        let (kept_text, file) = kept(100);
        assert_eq!(kept_text, file);
        let (said, file) = kept(200_000);
        let end = file.lines().last().unwrap();
        for part in [
            end,
            "files 200000\n",
            "directories 1\n",
            "at most 4 KiB, more than half of it: 199,999\n",
            "at most 1 MiB",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(said.len() < 1000);
    }
}
