//! Reads millions of malformed traces: `cargo run --release -p import --example fuzz_imports -- COUNT [SEED [FIRST]]`.
//!
//! Input number N of a seed is always the same; a failure names it, and `-- 1 SEED N` reads it alone and keeps it.

use flate2::bufread::MultiGzDecoder;
use import::{ImportOptions, formats, read_trace};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Below `end`.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap_or(0)
    }
}

/// What mutations put in.
const PIECES: [&[u8]; 16] = [
    b"",
    b"-",
    b"9",
    b"0",
    b"99999999999999999999",
    b"9223372036854775807",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff\xff\xff\xff",
    b",",
    b" ",
    b"F",
    b"[",
    b"\x1f\x8b",
    b"\x07taa",
];

/// The fixtures, decompressed: most of a real trace says the same again, so no more than its beginning.
fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let read = |path: &PathBuf| {
        let bytes = std::fs::read(path).ok()?;
        let mut plain = Vec::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).ok()?;
        } else {
            plain = bytes;
        }
        plain.truncate(12_000);
        Some(plain)
    };
    files.iter().filter_map(read).collect()
}

/// Up to eight changes: pieces put in or in place of something, bytes and bits turned, parts repeated or cut off.
fn mutate(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len());
        let end = (at + random.below(8)).min(bytes.len());
        match random.below(6) {
            0 | 1 => drop(bytes.splice(at..end, PIECES[random.below(PIECES.len())].iter().copied())),
            2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            3 => {
                let end = (at + random.below(200)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                drop(bytes.splice(to..to, part));
            }
            4 => bytes.truncate(at),
            _ => drop(bytes.splice(at..end, std::iter::empty())),
        }
    }
    bytes
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]
fn main() -> ExitCode {
    let number = |at: usize, default: u64| std::env::args().nth(at).map_or(Some(default), |text| text.parse().ok());
    let (Some(count), Some(seed), Some(first)) = (number(1, 100_000), number(2, 1), number(3, 0)) else {
        eprintln!("usage: fuzz [COUNT [SEED [FIRST]]]");
        return ExitCode::from(2);
    };
    let names: Vec<&str> = formats().map(|(name, _)| name).filter(|name| !matches!(*name, "vdbench" | "fio")).collect();
    let corpus = corpus();
    let shared = Path::new("/dev/shm");
    let folder = if shared.is_dir() { shared.to_path_buf() } else { std::env::temp_dir() };
    let file = folder.join(format!("iodyno-fuzz-{}", std::process::id()));
    let start = quantity::clock::now_ns();
    let (mut read, mut rows, mut slowest) = (0_u64, 0_u64, (0_u64, 0_u64));
    for index in first..first.saturating_add(count) {
        let mut random = Random(seed ^ index.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let bytes = mutate(&corpus, &mut random);
        // Every third as a format that it need not be.
        let format = (index % 3 == 0).then(|| names[random.below(names.len())].to_string());
        if let Err(error) = std::fs::write(&file, &bytes) {
            eprintln!("failed to write {}: {error}", file.display());
            return ExitCode::FAILURE;
        }
        let begun = quantity::clock::now_ns();
        let options = ImportOptions { format, ..ImportOptions::default() };
        let result = std::panic::catch_unwind(|| {
            let mut rows = 0;
            let read = read_trace(&file, &options, &mut |io| {
                assert!(io.sector >= 0 && (0..=4 << 30).contains(&io.bytes), "{io:?}");
                rows += 1;
            });
            (read.is_ok(), rows)
        });
        let Ok((is_read, found)) = result else {
            eprintln!(
                "input {index} of seed {seed} failed; it is {}; again with: fuzz 1 {seed} {index}",
                file.display()
            );
            return ExitCode::FAILURE;
        };
        read += u64::from(is_read);
        rows += found;
        slowest = slowest.max((quantity::clock::now_ns() - begun, index));
        if (index + 1) % 500_000 == 0 {
            println!("{} inputs, {read} traces, slowest {} ms (input {})", index + 1, slowest.0 / 1_000_000, slowest.1);
        }
    }
    if count > 1 {
        let _ = std::fs::remove_file(&file);
    }
    let seconds = (quantity::clock::now_ns() - start) as f64 / 1e9;
    println!(
        "{count} inputs of seed {seed} in {seconds:.0} s: {read} traces with {rows} I/Os, no panic; slowest {} ms (input {})",
        slowest.0 / 1_000_000,
        slowest.1
    );
    ExitCode::SUCCESS
}
