//! The bytes that writes carry.
//!
//! Every sector of 512 bytes begins with [`SECTOR_MAGIC`]; the rest comes from a generator seeded by the seed, the
//! writer, the number of its write and the sector's number, so that no two sectors are alike and no write repeats what
//! was there before: a store that finds equal data, or leaves out writes that change nothing, has no less to do with
//! the second write of a place than with the first. For a compression ratio `r`, about `1 ÷ r` of every 4 KiB is kept
//! and the remainder is zero. Where duplicates are asked for ([`DedupContent`](spec::DedupContent)), blocks of their size have a seed
//! each, and copies have the same.

use super::GenerateError;
use super::dedup::Copies;
use super::rng::{GOLDEN, derive, scatter};
use super::volume::{SECTOR_BYTES, SECTOR_MAGIC, WriteVolume};
use crate::spec;
use std::ops::Range;

/// Sectors of which a compressor sees a whole number of equally compressible units.
const UNIT_SECTORS: u64 = 8;

/// Fills buffers for one writer, one write after the other.
#[derive(Clone, Debug)]
pub struct ContentGenerator {
    seed: u64,
    /// Number of the write that comes next.
    write: u64,
    /// Seed of the write that is being filled.
    of_write: u64,
    /// Sectors of a unit that compresses by itself.
    unit_sectors: u64,
    /// Leading bytes of each unit that are not zero.
    kept: usize,
    pattern: Vec<u8>,
    /// The pattern begins anew with every transfer, not at the start of the target.
    anew: bool,
    copies: Option<Copies>,
    /// The block of the write that was last asked for, with its seed.
    block: (u64, u64),
    /// Blocks that the write covers from end to end.
    whole: Range<u64>,
}

impl ContentGenerator {
    /// Content as asked for. `pattern` holds the bytes of `content.pattern`, or nothing when there is none.
    ///
    /// # Errors
    /// When a ratio is below 1, duplicates are not in multiples of sectors or have more sets than their ratio allows, or
    /// a pattern is to have duplicates.
    pub fn new(content: &spec::WriteContent, pattern: &[u8], volume: &WriteVolume) -> Result<Self, GenerateError> {
        let ratio = content.compress_ratio;
        if !(ratio.is_finite() && ratio >= 1.0) {
            let what = "the compression ratio";
            return Err(GenerateError::Value { of: "content".into(), what, value: ratio, allowed: "1 or more" });
        }
        let volume = WriteVolume {
            seed: derive(volume.seed, content.seed),
            all_seed: derive(volume.all_seed, content.seed),
            ..*volume
        };
        let dedup = content.dedup.filter(|dedup| dedup.ratio > 1.0);
        if dedup.is_some() && !pattern.is_empty() {
            return Err(GenerateError::Pattern);
        }
        let copies = dedup.map(|dedup| Copies::new(&dedup, &volume)).transpose()?;
        // Copies must compress alike wherever they lie.
        let unit_sectors = copies.as_ref().map_or(UNIT_SECTORS, |copies| {
            (1..=UNIT_SECTORS).rev().find(|sectors| copies.unit_sectors.is_multiple_of(*sectors)).unwrap_or(1)
        });
        let kept = kept_bytes(ratio, unit_sectors);
        Ok(Self {
            seed: derive(volume.seed, volume.writer),
            write: 0,
            of_write: 0,
            unit_sectors,
            kept,
            pattern: pattern.to_vec(),
            anew: !content.literal.is_empty(),
            copies,
            block: (u64::MAX, 0),
            whole: 0..0,
        })
    }

    /// The next write is taken for the first one: what it carries depends on where it goes, and not on what was written before.
    pub fn begin_anew(&mut self) {
        self.write = 0;
    }

    /// Fills `buf` with what the next write carries to `offset` of the target. Patterns are the same every time.
    pub fn fill(&mut self, buf: &mut [u8], offset: u64) {
        if !self.pattern.is_empty() {
            return self.repeat_pattern(buf, if self.anew { 0 } else { offset });
        }
        self.begin_write(offset, buf.len() as u64);
        let mut number = offset / SECTOR_BYTES as u64;
        let skip = usize::try_from(offset % SECTOR_BYTES as u64).unwrap_or(0);
        let mut rest = buf;
        if skip > 0 {
            let (head, after) = rest.split_at_mut(rest.len().min(SECTOR_BYTES - skip));
            let mut sector = [0; SECTOR_BYTES];
            self.sector(&mut sector, number);
            head.copy_from_slice(&sector[skip..skip + head.len()]);
            number += 1;
            rest = after;
        }
        let (sectors, tail) = rest.as_chunks_mut::<SECTOR_BYTES>();
        for sector in sectors {
            self.sector(sector, number);
            number += 1;
        }
        if !tail.is_empty() {
            let mut sector = [0; SECTOR_BYTES];
            self.sector(&mut sector, number);
            tail.copy_from_slice(&sector[..tail.len()]);
        }
    }

    /// What is the same for all sectors of a write.
    fn begin_write(&mut self, offset: u64, bytes: u64) {
        self.of_write = scatter(self.seed ^ self.write.wrapping_mul(GOLDEN));
        self.write = self.write.wrapping_add(1);
        if let Some(copies) = &self.copies {
            let unit_bytes = copies.unit_sectors * SECTOR_BYTES as u64;
            let is_by_write = !copies.splits_blocks;
            self.whole = if is_by_write { offset.div_ceil(unit_bytes)..(offset + bytes) / unit_bytes } else { 0..0 };
            self.block = (u64::MAX, 0);
        }
    }

    #[inline]
    fn sector(&mut self, sector: &mut [u8; SECTOR_BYTES], number: u64) {
        let (seed, place) = match &mut self.copies {
            None => (self.of_write, number),
            Some(copies) => {
                let unit = number / copies.unit_sectors;
                if unit != self.block.0 {
                    self.block = (unit, copies.seed_of(unit, self.of_write, self.whole.contains(&unit)));
                }
                (self.block.1, number % copies.unit_sectors)
            }
        };
        let before = usize::try_from(place % self.unit_sectors).unwrap_or(0) * SECTOR_BYTES;
        let kept = self.kept.saturating_sub(before).min(SECTOR_BYTES);
        if kept > 0 {
            stamp::payload::fill(sector, scatter(seed ^ place.wrapping_mul(GOLDEN)));
        }
        sector[kept..].fill(0);
        sector[..SECTOR_MAGIC.len()].copy_from_slice(&SECTOR_MAGIC);
    }

    fn repeat_pattern(&self, buf: &mut [u8], offset: u64) {
        let len = self.pattern.len();
        let mut at = usize::try_from(offset % len as u64).unwrap_or(0);
        let mut rest = buf;
        while !rest.is_empty() {
            let (now, after) = rest.split_at_mut(rest.len().min(len - at));
            now.copy_from_slice(&self.pattern[at..at + now.len()]);
            rest = after;
            at = 0;
        }
    }
}

/// Leading bytes to keep of a unit of so many sectors so that it compresses by `ratio`.
fn kept_bytes(ratio: f64, sectors: u64) -> usize {
    let unit = SECTOR_BYTES * usize::try_from(sectors).unwrap_or(1);
    // What a compressor needs to say "zeros from here on": lz4 13 bytes, zstd less than nothing, since it finds the
    // stamps. The middle keeps both within 3 %.
    let overhead = if ratio > 1.0 { 5.0 } else { 0.0 };
    let asked = unit as f64 / ratio - overhead;
    let kept = usize::try_from(crate::floor::floor_u64(asked.round())).unwrap_or(unit);
    // At least one random word per unit, or units would be duplicates.
    kept.clamp(SECTOR_MAGIC.len() + 8, unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    fn content(ratio: f64) -> ContentGenerator {
        let spec = spec::WriteContent { compress_ratio: ratio, ..spec::WriteContent::default() };
        ContentGenerator::new(&spec, &[], &WriteVolume::alone(42, 1 << 30)).unwrap()
    }

    #[test]
    fn every_sector_is_stamped_and_unlike_every_other() {
        let mut buf = vec![0; 16 << 20];
        content(1.0).fill(&mut buf, 1 << 40);
        let mut seen = HashSet::new();
        for sector in buf.chunks(SECTOR_BYTES) {
            assert_eq!(sector[..8], SECTOR_MAGIC);
            assert!(seen.insert(sector[8..16].to_vec()) && seen.insert(sector[504..].to_vec()));
        }
    }

    #[test]
    fn units_differ_even_when_they_compress_well() {
        let mut buf = vec![0; 1 << 20];
        content(1000.0).fill(&mut buf, 0);
        let units: HashSet<_> = buf.chunks(4096).collect();
        assert_eq!(units.len(), 256);
    }

    #[test]
    fn bytes_of_the_first_write_depend_on_the_place_whatever_the_transfer_size() {
        let mut whole = vec![0; 20_000];
        content(2.0).fill(&mut whole, 0);
        for (from, len) in [(0, 1), (1, 100), (511, 2), (512, 512), (700, 9000), (4095, 4097), (10, 0)] {
            let mut piece = vec![0xff; len];
            content(2.0).fill(&mut piece, from as u64);
            assert_eq!(piece, whole[from..from + len], "{from} + {len}");
        }
    }

    #[test]
    fn no_write_repeats_the_data_of_another_one_and_all_come_again_with_their_seed() {
        let writer = |seed: u64, writer: u64, ratio: f64| {
            let spec = spec::WriteContent { compress_ratio: ratio, ..spec::WriteContent::default() };
            ContentGenerator::new(&spec, &[], &WriteVolume { writer, ..WriteVolume::alone(seed, 1 << 30) }).unwrap()
        };
        for ratio in [1.0, 4.0] {
            let mut seen = HashSet::new();
            for (seed, number) in [(42, 0), (42, 1), (43, 0)] {
                let (mut content, mut again) = (writer(seed, number, ratio), writer(seed, number, ratio));
                for write in 0..1000 {
                    // The same places over and over, also where the number of the write and the place are the same.
                    let offset = write % 8 * 4096;
                    let (mut data, mut same) = (vec![0; 4096], vec![0; 4096]);
                    content.fill(&mut data, offset);
                    again.fill(&mut same, offset);
                    assert_eq!(data, same, "{seed}, {number}: write {write}");
                    assert!(seen.insert(data[8..64].to_vec()), "{seed}, {number}: write {write}");
                }
            }
        }
    }

    #[test]
    fn patterns_repeat_from_the_start_of_the_target() {
        let mut content =
            ContentGenerator::new(&spec::WriteContent::default(), b"abc", &WriteVolume::alone(0, 1 << 30)).unwrap();
        let mut buf = [0; 7];
        content.fill(&mut buf, 4);
        assert_eq!(&buf, b"bcabcab");
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        let refuse = |spec: spec::WriteContent| {
            ContentGenerator::new(&spec, &[], &WriteVolume::alone(0, 1 << 30)).map(drop).unwrap_err().to_string()
        };
        assert!(refuse(spec::WriteContent { compress_ratio: 0.5, ..Default::default() }).contains("1 or more"));
    }

    /// Bytes that a compressor makes of `data`; `None` when it is not installed.
    fn compressed(program: &str, data: &[u8]) -> Option<usize> {
        let mut command = Command::new(program);
        let mut child = command.args(["-1", "-c", "-q"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let mut input = child.stdin.take().unwrap();
        let data = data.to_vec();
        let writer = std::thread::spawn(move || input.write_all(&data));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        Some(output.stdout.len())
    }

    #[test]
    fn compressors_reach_the_asked_ratio() {
        for program in ["zstd", "lz4"] {
            for ratio in [1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0] {
                let mut data = vec![0; 4 << 20];
                content(ratio).fill(&mut data, 0);
                let Some(bytes) = compressed(program, &data) else {
                    testkit::lacks(program);
                    break;
                };
                let found = data.len() as f64 / bytes as f64;
                println!("{program}: asked {ratio}, found {found:.3}");
                assert!((found / ratio - 1.0).abs() < 0.03, "{program}: asked {ratio}, found {found:.3}");
            }
        }
    }
}
