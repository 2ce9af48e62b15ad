//! What a run leaves on its targets: duplicates and compressible data, counted in the files themselves.

use crate::support::Scratch;
use std::collections::HashSet;
use std::path::PathBuf;

/// `(blocks, unique blocks)` of all files together.
fn blocks(files: &[PathBuf], unit: usize) -> (usize, usize) {
    let (mut all, mut seen) = (0, HashSet::new());
    for file in files {
        let data = std::fs::read(file).unwrap();
        all += data.len() / unit;
        seen.extend(data.chunks_exact(unit).map(<[u8]>::to_vec));
    }
    (all, seen.len())
}

/// Is the share of unique blocks that of the ratio, within five standard deviations of a binomial count?
fn assert_ratio(found: (usize, usize), ratio: f64, what: &str) {
    let (all, unique) = (found.0 as f64, found.1 as f64);
    let share = 1.0 / ratio;
    let bound = 5.0 * (all * share * (1.0 - share)).sqrt() + 2.0;
    println!("{what}: {unique} of {all} blocks are unique, ratio {:.3}", all / unique);
    assert!((unique - all * share).abs() < bound, "{what}: {unique} of {all} are unique, {} ± {bound}", all * share);
}

/// Fills two targets, writes a part of them again at random, and gives their blocks.
fn vdbench(general: &str, unit: usize) -> (usize, usize) {
    let scratch = Scratch::new();
    let files = [scratch.path("a"), scratch.path("b")];
    let text = format!(
        "{general}\nsd=sd1,lun={},size=24m\nsd=sd2,lun={},size=8m\nwd=wd1,sd=sd*,rdpct=0,xfersize=4k\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1,maxops=2000\n",
        files[0].display(),
        files[1].display()
    );
    scratch.run("out", &text, &[]).expect_code(0);
    blocks(&files, unit)
}

#[test]
fn dedupratio_is_the_share_of_unique_blocks_of_all_targets() {
    for ratio in [1.5, 4.0] {
        let general = format!("dedupratio={ratio}\ndedupunit=4k");
        assert_ratio(vdbench(&general, 4096), ratio, &general);
    }
    let both = vdbench("dedupratio=2\ndedupunit=8k\ndedupsets=50\ncompratio=2", 8192);
    assert_ratio(both, 2.0, "with compression");
    let apart = vdbench("dedupratio=3\ndedupunit=4k\ndedupacross=no", 4096);
    assert_ratio(apart, 3.0, "of each target");
}

#[test]
fn duplicates_are_compressible_as_well() {
    let scratch = Scratch::new();
    let file = scratch.path("a");
    let general = "dedupratio=2\ndedupunit=4k\ncompratio=4";
    let run = "wd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=10,elapsed=2,interval=1";
    scratch.run("out", &format!("{general}\nsd=sd1,lun={},size=8m\n{run}\n", file.display()), &[]).expect_code(0);
    let data = std::fs::read(file).unwrap();
    let zeroes = |block: &&[u8]| block[block.len() - 500..].iter().all(|byte| *byte == 0);
    assert_eq!(data.chunks_exact(4096).filter(zeroes).count(), 2048, "the end of each block is empty");
    let kept: usize = data.iter().filter(|byte| **byte != 0).count();
    // A quarter, without the zeroes among random bytes, with 8 bytes in front of every sector.
    let share = kept as f64 / data.len() as f64;
    assert!((0.24..0.27).contains(&share), "{share}");
}

#[test]
fn dedupe_percentage_is_the_share_of_identical_blocks() {
    for percent in [30.0, 80.0] {
        let scratch = Scratch::new();
        let file = scratch.path("a");
        let text = format!(
            "[one]\nfilename={}\nsize=32m\nrw=randwrite\nbs=4k\niodepth=8\ndedupe_percentage={percent}\nbuffer_compress_percentage=50\n",
            file.display()
        );
        let job = scratch.write("one.fio", &text);
        let arguments = ["run", job.to_str().unwrap(), "-o", "out", "--json"];
        scratch.iodyno(&arguments).run().unwrap().expect_code(0);
        assert_ratio(blocks(&[file], 4096), 1.0 / (1.0 - percent / 100.0), &format!("{percent} %"));
    }
}
