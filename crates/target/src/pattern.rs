//! Recognises what iodyno wrote by its content: marked sectors, and the data of a user's patterns.

use plan::generate::SECTOR_MAGIC;

/// Longer patterns are not remembered.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Bytes that a run writes over and over instead of iodyno's own data, which carry no mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserPattern {
    /// What is repeated.
    pub bytes: Vec<u8>,
    /// It begins anew with every transfer (fio's `buffer_pattern`), not at the start of the target (Vdbench's `pattern=`).
    pub anew: bool,
}

impl UserPattern {
    /// Does a sector hold nothing but the pattern? `offset` is its place in the target.
    fn explains(&self, sector: &[u8], offset: u64) -> bool {
        let len = self.bytes.len();
        if len == 0 || sector.is_empty() {
            return false;
        }
        let phase = usize::try_from(offset % len as u64).unwrap_or(0);
        if !self.anew {
            return self.repeats(sector, phase);
        }
        // Where the transfer began is not known: any beginning will do.
        self.repeats(sector, phase)
            || (0..len).filter(|phase| self.bytes[*phase] == sector[0]).any(|phase| self.repeats(sector, phase))
    }

    fn repeats(&self, sector: &[u8], phase: usize) -> bool {
        let mut at = phase;
        let mut rest = sector;
        while !rest.is_empty() {
            let (now, after) = rest.split_at(rest.len().min(self.bytes.len() - at));
            if *now != self.bytes[at..at + now.len()] {
                return false;
            }
            (rest, at) = (after, 0);
        }
        true
    }
}

/// By what a sector of a target is known as iodyno's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The patterns that were written to this target.
    pub(crate) patterns: Vec<UserPattern>,
}

impl Known {
    /// Did iodyno write this sector (or what the end of the target leaves of one)?
    pub(crate) fn is_own(&self, sector: &[u8], offset: u64) -> bool {
        is_marked(sector) || self.patterns.iter().any(|pattern| pattern.explains(sector, offset))
    }
}

/// Does a sector begin with the mark, and hold nothing that a partitioning tool has put behind it? The end of the target
/// may leave less of a sector than the mark is long.
fn is_marked(sector: &[u8]) -> bool {
    let mark = SECTOR_MAGIC.get(..sector.len()).unwrap_or(&SECTOR_MAGIC);
    !sector.is_empty() && sector.starts_with(mark) && !holds_partition_table(sector)
}

/// Is there an MBR, or the link of an extended partition, at the end of a sector? Tools that write one keep the boot code
/// before it, and with that the mark. iodyno's own data look like this once in 2⁴⁴ sectors.
fn holds_partition_table(sector: &[u8]) -> bool {
    let Some(table) = sector.get(446..512).and_then(|end| end.strip_suffix(&[0x55, 0xaa])) else { return false };
    table.chunks_exact(16).all(|entry| entry == [0; 16] || is_partition(entry))
}

/// Does an entry of an MBR make sense? It is: status (0x00 or 0x80), 3 bytes, type, 3 bytes, first sector, number of
/// sectors.
pub(crate) fn is_partition(entry: &[u8]) -> bool {
    entry[0] & 0x7f == 0 && entry[4] != 0 && entry[12..16] != [0; 4]
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::generate::{ContentGenerator, WriteVolume};

    /// What the engine writes at `offset` with this pattern.
    fn written(pattern: &UserPattern, offset: u64, len: usize) -> Vec<u8> {
        let literal = if pattern.anew { pattern.bytes.clone() } else { Vec::new() };
        let spec = plan::WriteContent { literal, ..plan::WriteContent::default() };
        let mut content = ContentGenerator::new(&spec, &pattern.bytes, &WriteVolume::alone(1, 1 << 30)).unwrap();
        let mut data = vec![0; len];
        content.fill(&mut data, offset);
        data
    }

    #[test]
    fn what_the_engine_writes_is_known_and_a_changed_byte_is_seen() {
        for len in [1, 2, 3, 4, 7, 512, 600, 4096, 5000] {
            let bytes: Vec<u8> = (0..len).map(|index: usize| (index * 7 + 1).to_le_bytes()[0]).collect();
            for anew in [false, true] {
                let pattern = UserPattern { bytes: bytes.clone(), anew };
                let known = Known { patterns: vec![pattern.clone()] };
                for offset in [0, 4096, 1 << 20] {
                    let mut data = written(&pattern, offset, 8192);
                    for (index, sector) in data.chunks_mut(512).enumerate() {
                        let at = offset + index as u64 * 512;
                        assert!(known.is_own(sector, at), "{len} {anew} {at}");
                        assert!(!Known::default().is_own(sector, at));
                        sector[index * 17] ^= 0x80;
                        assert!(!known.is_own(sector, at), "{len} {anew} {at}: one byte changed");
                    }
                }
            }
        }
    }

    #[test]
    fn a_partition_table_behind_the_mark_is_not_ours() {
        let own = |end: &[(usize, u8)]| {
            let mut sector = [7; 512];
            sector[..8].copy_from_slice(&SECTOR_MAGIC);
            sector[446..510].fill(0);
            sector[510..].copy_from_slice(&[0x55, 0xaa]);
            end.iter().for_each(|(at, byte)| sector[*at] = *byte);
            Known::default().is_own(&sector, 0)
        };
        // An empty table, one partition, a bootable one; then what is no table.
        let partition = [(450, 0x83), (454, 1), (458, 1)];
        assert!(!own(&[]) && !own(&partition) && !own(&[partition.as_slice(), &[(446, 0x80)]].concat()));
        assert!(own(&[(511, 0xab)]) && own(&[(450, 0x83)]) && own(&[partition.as_slice(), &[(446, 0x81)]].concat()));
        assert!(own(&[partition.as_slice(), &[(500, 1)]].concat()), "the last entry has no type");
    }

    #[test]
    fn what_the_end_of_a_target_leaves_of_a_sector_is_known() {
        for len in 1..16 {
            let mut sector = SECTOR_MAGIC.to_vec();
            sector.resize(16, 9);
            assert!(Known::default().is_own(&sector[..len], 512), "{len}");
            sector[len.min(8) - 1] ^= 1;
            assert!(!Known::default().is_own(&sector[..len], 512), "{len}");
        }
        assert!(!Known::default().is_own(&[], 0));
    }

    #[test]
    fn a_pattern_of_the_whole_target_stays_in_its_place() {
        let pattern =
            UserPattern { bytes: (0..1536_u32).map(|index| (index / 6).to_le_bytes()[0]).collect(), anew: false };
        let known = Known { patterns: vec![pattern.clone()] };
        let data = written(&pattern, 512, 512);
        assert!(known.is_own(&data, 512) && known.is_own(&data, 512 + 1536) && !known.is_own(&data, 1024));
        assert!(!Known { patterns: vec![UserPattern { bytes: Vec::new(), anew: true }] }.is_own(&data, 0));
    }
}
