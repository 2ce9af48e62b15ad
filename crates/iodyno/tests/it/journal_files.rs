//! `iodyno run --journal` in directory trees: which files must be there, how long, and with what in them, after the command died.

use crate::support::Scratch;
use crate::support::loads::Chance;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::CommandOutput;

const BLOCK: usize = 8192;
const FILE: usize = 65536;

struct Place {
    scratch: Scratch,
    /// On another device.
    memory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { scratch: Scratch::new(), memory: tempfile::tempdir_in("/dev/shm").unwrap() }
    }

    fn journal(&self) -> PathBuf {
        self.memory.path().join("j")
    }

    fn run(&self, name: &str, text: &str, more: &[&str]) -> CommandOutput {
        let journal = self.journal();
        let fixed = ["--no-counters", "--no-report", "--verify", "--journal", journal.to_str().unwrap()];
        self.scratch.run(name, text, &[&fixed[..], more].concat())
    }

    /// Begins a load, and kills it when its journal has grown by so many bytes.
    fn kill(&self, name: &str, text: &str, bytes: u64, more: &[&str]) {
        let (journal, before) = (self.journal(), self.journal_bytes());
        let file = self.scratch.write(&format!("{name}.vdb"), text);
        let fixed = ["run", file.to_str().unwrap(), "-o", name, "--no-counters", "--no-report", "--verify"];
        let place = ["--journal", journal.to_str().unwrap()];
        let mut command = self.scratch.iodyno(&[&fixed[..], &place, more].concat()).spawn().unwrap();
        let has_grown = |_: &str| self.journal_bytes() > before + bytes;
        assert!(command.wait_until(Duration::from_secs(120), has_grown), "{}", command.stderr());
        command.signal(Signal::KILL);
        let _ = command.wait();
    }

    fn journal_bytes(&self) -> u64 {
        let entries = std::fs::read_dir(self.journal()).into_iter().flatten().flatten();
        entries.map(|entry| entry.metadata().map_or(0, |facts| facts.len())).sum()
    }

    fn tree(&self) -> PathBuf {
        self.scratch.path("tree")
    }

    /// Six files of 64 KiB, and a load on them.
    fn text(&self, load: &str, run: &str) -> String {
        format!(
            "fsd=fsd1,anchor={},depth=1,width=2,files=3,size=64k\nfwd=fwd1,fsd=fsd1,xfersize=8k,{load}\n\
             rd=rd1,fwd=fwd1,interval=1,{run}\n",
            self.tree().display()
        )
    }

    /// All that the tree's files hold.
    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = crate::trees::files_below(&self.tree());
        files.into_keys().map(|path| (path.clone(), std::fs::read(self.tree().join(path)).unwrap())).collect()
    }

    /// What was wrong: class, the end of the path, address.
    fn found(&self, name: &str) -> Vec<(String, String, u64)> {
        let of = |row: &Value| {
            let text = |name: &str| row[name].as_str().unwrap().to_string();
            let file = text("file").trim_start_matches(&format!("{}/", self.tree().display())).to_string();
            (text("class"), file, row["address"].as_u64().unwrap())
        };
        let mut all: Vec<_> = self.scratch.table(name, "data_error").iter().map(of).collect();
        all.sort();
        all
    }
}

fn says(output: &CommandOutput, words: &str) {
    assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
}

/// Writes to a file, and leaves it iodyno's own as far as its time of change says.
fn change(path: &Path, act: impl FnOnce(&std::fs::File)) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    act(&file);
    file.set_modified(modified).unwrap();
}

/// Two trees in which files come, go, move, and are synced.
fn busy(place: &Place, seconds: u32, format: &str) -> String {
    let anchor = |name: &str| place.scratch.path(name).display().to_string();
    format!(
        "fsd=fsd1,anchor={},depth=1,width=2,files=3,size=64k\nfsd=fsd2,anchor={},depth=1,width=2,files=3,size=64k\n\
         fwd=default,xfersize=8k,fileselect=random,threads=2\nfwd=fcreate,fsd=fsd1,operation=create\n\
         fwd=fdelete,fsd=fsd1,operation=delete\nfwd=fwrite,fsd=fsd1,operation=write,fileio=sequential,openflags=fsync\n\
         fwd=fmove,fsd=fsd1,target=fsd2,operation=move\nfwd=fcopy,fsd=fsd1,target=fsd2,operation=copy\n\
         fwd=both,fsd=fsd2,rdpct=50,fileio=random\nfwd=format,threads=2\n\
         rd=rd1,fwd=(fcreate,fwrite,both),format={format},fwdrate=300,elapsed=2,interval=1\n\
         rd=rd2,fwd=(fcreate,fdelete,fwrite,fmove,fcopy,both),format=no,fwdrate=400,elapsed={seconds},interval=1\n",
        anchor("first"),
        anchor("second")
    )
}

#[test]
fn killed_loads_of_files_are_recovered_and_go_on() {
    let place = Place::new();
    let mut chance = Chance::new(25);
    for kill in 0..4 {
        let name = format!("killed{kill}");
        // In the format, or far behind it.
        let bytes = if kill == 0 { 2048 } else { 4096 + chance.below(30_000) };
        let recover: &[&str] = match kill {
            0 => &[],
            // What a sync has made durable is there all the more when power was not cut.
            2 => &["--recover", "--after-crash"],
            _ => &["--recover"],
        };
        place.kill(&name, &busy(&place, 600, if kill % 2 == 0 { "yes" } else { "restart" }), bytes, recover);
        let only = ["--recover-only", if kill % 2 == 0 { "--recover-only" } else { "--after-crash" }];
        let only = if kill % 2 == 0 { &only[..1] } else { &only[..] };
        let output = place.run(&format!("only{kill}"), &busy(&place, 2, "yes"), only);
        // Of a load that was killed early, nothing may be known, and then there is no recording.
        assert!(matches!(output.code, Some(0 | 2)), "kill {kill}: {}", output.stderr);
        assert!(!output.stderr.contains("damaged"), "kill {kill}: {}", output.stderr);
    }
    let output = place.run("last", &busy(&place, 2, "restart"), &["--recover"]);
    assert!(place.found("last").is_empty(), "{}", output.stderr);
    says(&output, "the last one died, and the machine runs since");
    says(&output, "all that the journal says must be there is there");
    says(&output, "coverage 100 %: no byte was lost");
    output.expect_code(0);
}

#[test]
fn what_is_done_to_files_behind_a_kill_is_found_and_named() {
    let place = Place::new();
    let load = "operation=write,fileio=sequential,fileselect=sequential,threads=2";
    place.run("first", &place.text(load, "format=yes,fwdrate=max,elapsed=2"), &[]).expect_code(0);
    let old = place.contents();
    assert_eq!((old.len(), old.values().map(Vec::len).sum::<usize>()), (6, 6 * FILE));
    // Every block is written many times.
    place.kill("killed", &place.text(load, "format=no,fwdrate=4000,elapsed=600"), 100_000, &["--recover"]);
    let new = place.contents();
    let output = place.run("right", &place.text(load, "format=no,fwdrate=10,elapsed=2"), &["--recover-only"]);
    says(&output, "no byte was lost");
    output.expect_code(0);
    let [gone, short, stale] = [1, 3, 4].map(|at| old.keys().nth(at).unwrap().clone());
    std::fs::remove_file(place.tree().join(&gone)).unwrap();
    change(&place.tree().join(&short), |file| file.set_len(3 * BLOCK as u64).unwrap());
    let block = 5 * BLOCK..6 * BLOCK;
    assert_ne!(old[&stale][block.clone()], new[&stale][block.clone()]);
    change(&place.tree().join(&stale), |file| {
        file.write_all_at(&old[&stale][block.clone()], 5 * BLOCK as u64).unwrap()
    });
    let before = place.contents();
    // What was found once is found again.
    for (name, flag) in [("second", "--recover"), ("third", "--recover-only"), ("fourth", "--recover")] {
        let output = place.run(name, &place.text(load, "format=no,fwdrate=10,elapsed=2"), &[flag]).expect_code(4);
        let path = |path: &Path| path.to_str().unwrap().to_string();
        let expected = [
            ("lost_write".to_string(), path(&stale), 5 * BLOCK as u64),
            ("missing_file".to_string(), path(&gone), 0),
            ("wrong_size".to_string(), path(&short), 0),
        ];
        assert_eq!(place.found(name), expected, "{}", output.stderr);
        says(&output, "1 block and 2 files are damaged: 1 lost_write, 1 missing_file, 1 wrong_size");
        let rows = place.scratch.table(name, "data_error");
        let missing = rows.iter().find(|row| row["class"] == "missing_file").unwrap();
        assert_eq!(missing["expected"], "a file of at least 65536 bytes, written before the program died");
        assert!(flag == "--recover-only" || output.stderr.contains("the load did not begin"), "{}", output.stderr);
        assert!(place.contents() == before, "{name}: nothing is written");
    }
}

#[test]
fn what_a_later_execution_wrote_to_files_is_called_so_each_time() {
    let place = Place::new();
    let load = "operation=write,fileio=sequential,fileselect=sequential,threads=2";
    place.run("first", &place.text(load, "format=yes,fwdrate=max,elapsed=2"), &[]).expect_code(0);
    // Stamps have seconds.
    std::thread::sleep(Duration::from_millis(1100));
    let text = place.text(load, "format=no,fwdrate=max,elapsed=2");
    place.scratch.run("beside", &text, &["--no-counters", "--no-report", "--verify"]).expect_code(0);
    for (name, flag) in [("second", "--recover"), ("third", "--recover"), ("fourth", "--recover-only")] {
        let output = place.run(name, &text, &[flag]).expect_code(4);
        let found = place.found(name);
        assert!(!found.is_empty() && found.iter().all(|(class, ..)| class == "other_run"), "{}", output.stderr);
    }
}

#[test]
fn a_deleted_file_that_is_back_is_found() {
    let place = Place::new();
    let all = "operation=delete,fileselect=sequential,threads=2";
    let text = place.text(all, "format=yes,fwdrate=max,elapsed=5");
    place.run("first", &place.text("operation=read,threads=2", "format=yes,fwdrate=100,elapsed=2"), &[]).expect_code(0);
    let old = place.contents();
    // All of them go, and with them the load's work.
    place.run("deleted", &place.text(all, "format=no,fwdrate=max,elapsed=5"), &["--recover"]);
    assert!(place.contents().is_empty());
    let (path, data) = old.iter().nth(2).unwrap();
    std::fs::write(place.tree().join(path), data).unwrap();
    place.run("back", &text, &["--recover-only"]).expect_code(4);
    assert_eq!(place.found("back"), [("deleted_file".to_string(), path.to_str().unwrap().to_string(), 0)]);
    let row = place.scratch.table("back", "data_error").pop().unwrap();
    assert_eq!(row["expected"], "no file: it was removed or renamed before the program died");
    std::fs::remove_file(place.tree().join(path)).unwrap();
    let output = place.run("right", &text, &["--recover"]);
    assert!(place.found("right").is_empty(), "{}", output.stderr);
    says(&output, "all that the journal says must be there is there");
}

#[test]
fn a_journal_of_files_is_about_one_tree() {
    let place = Place::new();
    let load = "operation=write,fileio=random,threads=2";
    let text = place.text(load, "format=yes,fwdrate=200,elapsed=2");
    place.run("first", &text, &[]).expect_code(0);
    let before = place.contents();
    let refused = |name: &str, text: &str, words: &str| {
        let output = place.run(name, text, &["--recover"]).expect_code(2);
        says(&output, words);
        assert!(place.contents() == before, "{}", output.stderr);
    };
    refused("size", &text.replace("size=64k", "size=128k"), "with other directories, files or sizes");
    refused(
        "blocks",
        &text.replace("xfersize=8k", "xfersize=4k"),
        "in blocks of 8192 bytes, and this load needs blocks of 4096",
    );
    let other = text.replace("tree,depth", "elsewhere,depth");
    refused("other", &other, "knows nothing of fsd1");
    assert!(!place.scratch.path("elsewhere").exists());
    // The anchor is gone: nothing is made, and all files are missing.
    std::fs::remove_dir_all(place.tree()).unwrap();
    let output = place.run("gone", &text, &["--recover-only"]).expect_code(4);
    says(&output, "6 files are damaged: 6 missing_file");
    assert!(!place.tree().exists(), "{}", output.stderr);
}
