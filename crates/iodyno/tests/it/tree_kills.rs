//! `kill -9` in a format: continued, the tree is the same as one that was made without interruption.

use crate::support::Scratch;
use crate::support::loads::Chance;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Sizes and hashes of the contents of all files of a tree.
fn contents(anchor: &Path) -> BTreeMap<PathBuf, (u64, u64)> {
    let files = crate::trees::files_below(anchor);
    let hashed = |path: &Path| {
        let mut hasher = DefaultHasher::new();
        std::fs::read(anchor.join(path)).unwrap().hash(&mut hasher);
        hasher.finish()
    };
    files.into_iter().map(|(path, bytes)| (path.clone(), (bytes, hashed(&path)))).collect()
}

fn parameters(anchor: &Path, format: &str) -> String {
    format!(
        "fsd=fsd1,anchor={},depth=2,width=5,files=60,sizes=(4k,50,24k,30,100k,20)\nfwd=format,threads=4,xfersize=8k\nfwd=fwd1,fsd=fsd1,operation=read\nrd=rd1,fwd=fwd1,fwdrate=100,format={format},elapsed=2,interval=1\n",
        anchor.display()
    )
}

#[test]
fn a_format_that_was_killed_is_continued_to_the_same_tree() {
    let scratch = Scratch::new();
    let seed = "--seed=7";
    let whole = scratch.path("whole");
    scratch.run("whole.rec", &parameters(&whole, "only"), &[seed]).expect_code(0);
    let expected = contents(&whole);
    assert_eq!(expected.len(), 1500);
    let mut chance = Chance::new(24);
    // A test without a processor comes too late, and kills nothing.
    let (mut kills, mut cut) = (0, 0);
    while kills < 8 || cut < 4 {
        kills += 1;
        let kill = kills;
        assert!(kill <= 60, "{cut} of {kills} formats were cut short");
        let anchor = scratch.path("killed");
        let file = scratch.write("killed.vdb", &parameters(&anchor, "only"));
        let name = format!("killed{kill}.rec");
        let child = scratch.iodyno(&["run", file.to_str().unwrap(), "-o", &name, "--json", seed]).spawn().unwrap();
        // From the first directory on, at a random number of entries.
        let wanted = 1 + usize::try_from(chance.below(1000)).unwrap();
        let until_ns = testkit::now_ns() + 60_000_000_000;
        while testkit::now_ns() < until_ns && (!anchor.exists() || count(&anchor) < wanted) {
            std::thread::sleep(Duration::from_micros(200));
        }
        child.signal(Signal::KILL);
        child.wait().unwrap();
        cut += usize::from(contents(&anchor) != expected);
        scratch.run(&format!("continued{kill}.rec"), &parameters(&anchor, "(restart,only)"), &[seed]).expect_code(0);
        assert!(contents(&anchor) == expected, "kill {kill}, behind {wanted} files");
        std::fs::remove_dir_all(&anchor).unwrap();
    }
}

/// Files and directories below, without a stop for what vanishes meanwhile.
fn count(directory: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    entries.flatten().map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}
