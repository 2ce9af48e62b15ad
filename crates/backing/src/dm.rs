//! Tables of device-mapper devices.

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{self, Errno};
use rustix::ioctl::{Opcode, Updater, ioctl};
use std::path::Path;

/// `DM_TABLE_STATUS`: `_IOWR(0xfd, 12, struct dm_ioctl)`.
const DM_TABLE_STATUS: Opcode = 0xc138_fd0c;
/// Tables, not their state.
const TABLE_FLAG: u32 = 1 << 4;
/// What did not fit was left out.
const BUFFER_FULL_FLAG: u32 = 1 << 8;
/// The kernel wipes its copy of the answer, which may hold a key.
const SECURE_FLAG: u32 = 1 << 15;
/// Bytes of `struct dm_ioctl`, behind which the answer stands.
const HEADER_BYTES: usize = 312;
/// Bytes of `struct dm_target_spec`, behind which the parameters stand.
const SPEC_BYTES: usize = 40;
/// Space for a question and its answer: a thousand sections.
const WORDS: usize = 1 << 14;
/// One that has more sections than fit is not understood.
type Buffer = [u64; WORDS];

/// A line of a table, as `dmsetup table` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapSection {
    /// First sector of 512 bytes.
    pub start_sector: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// `linear`, `crypt`, `thin`, …
    pub kind: String,
    /// What the kind makes of it; of `crypt` it holds a key, so print it nowhere.
    pub parameters: String,
}

/// `/dev/mapper/control`.
#[derive(Debug)]
pub struct MapperControl(OwnedFd);

impl MapperControl {
    /// Opens `/dev/mapper/control`, which loads the module: ask only when there are such devices.
    ///
    /// # Errors
    /// When it is not there or this user may not open it (it needs root).
    pub fn open() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        openat(CWD, Path::new("/dev/mapper/control"), flags, Mode::empty()).map(Self)
    }

    /// The table in use of a device.
    ///
    /// # Errors
    /// `ENXIO` when there is no such device, `EOVERFLOW` for a table that is not understood, and what ioctl(2) gives.
    pub fn table(&self, major: u32, minor: u32) -> io::Result<Vec<MapSection>> {
        let mut buffer: Box<Buffer> = Box::new([0; WORDS]);
        let size = u32::try_from(size_of::<Buffer>()).unwrap_or(u32::MAX);
        // Version 4.0.0; size of all, where the answer shall begin; flags; the device.
        buffer[0] = pair(4, 0);
        buffer[1] = pair(0, size);
        buffer[2] = pair(u32::try_from(HEADER_BYTES).unwrap_or(0), 0);
        buffer[3] = pair(0, TABLE_FLAG | SECURE_FLAG);
        buffer[5] = rustix::fs::makedev(major, minor);
        // SAFETY: the request reads and writes as many bytes as the size in its header says, which is the buffer's, at
        // the alignment of `struct dm_ioctl`; all of it is numbers and bytes.
        #[expect(unsafe_code, reason = "an ioctl that no library of ours has")]
        unsafe { ioctl(&self.0, Updater::<DM_TABLE_STATUS, Buffer>::new(&mut buffer)) }?;
        let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
        parse(&bytes).ok_or(Errno::OVERFLOW)
    }
}

/// Two numbers that follow each other in memory.
fn pair(first: u32, second: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first.to_ne_bytes(), second.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// Reads an answer; `None` when it is cut or makes no sense.
fn parse(bytes: &[u8]) -> Option<Vec<MapSection>> {
    let u32_at = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?));
    let text_at = |at: usize, most: usize| {
        let bytes = bytes.get(at..)?;
        let bytes = &bytes[..bytes.len().min(most)];
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    };
    let data = usize::try_from(u32_at(16)?).ok()?;
    let count = u32_at(20)?;
    if u32_at(28)? & BUFFER_FULL_FLAG != 0 {
        return None;
    }
    let mut at = data;
    let mut sections = Vec::new();
    for _ in 0..count {
        sections.push(MapSection {
            start_sector: u64_at(at)?,
            sectors: u64_at(at + 8)?,
            kind: text_at(at + 24, 16)?,
            parameters: text_at(at + SPEC_BYTES, usize::MAX)?,
        });
        at = data.checked_add(usize::try_from(u32_at(at + 20)?).ok()?)?;
    }
    Some(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with two sections, as the kernel lays it out.
    fn answer() -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[16..20].copy_from_slice(&312_u32.to_ne_bytes());
        bytes[20..24].copy_from_slice(&2_u32.to_ne_bytes());
        for (start, sectors, kind, parameters) in
            [(0_u64, 2048_u64, "linear", "8:0 4096"), (2048, 4096, "striped", "2 128 8:0 0 8:16 512")]
        {
            let section = bytes.len();
            bytes.extend(start.to_ne_bytes());
            bytes.extend(sectors.to_ne_bytes());
            bytes.extend([0; 8]);
            let mut name = kind.as_bytes().to_vec();
            name.resize(16, 0);
            bytes.extend(name);
            bytes.extend(parameters.as_bytes());
            bytes.push(0);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let next = u32::try_from(bytes.len() - HEADER_BYTES).unwrap();
            bytes[section + 20..section + 24].copy_from_slice(&next.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn tables_are_read_as_the_kernel_writes_them() {
        let sections = parse(&answer()).unwrap();
        let text: Vec<String> = sections
            .iter()
            .map(|section| {
                format!("{} {} {} {}", section.start_sector, section.sectors, section.kind, section.parameters)
            })
            .collect();
        assert_eq!(text, ["0 2048 linear 8:0 4096", "2048 4096 striped 2 128 8:0 0 8:16 512"]);
    }

    #[test]
    fn a_cut_answer_is_none() {
        let whole = answer();
        for len in 0..whole.len() - 8 {
            assert_eq!(parse(&whole[..len]), None, "{len}");
        }
        let mut full = whole.clone();
        full[28..32].copy_from_slice(&BUFFER_FULL_FLAG.to_ne_bytes());
        assert_eq!(parse(&full), None);
        let mut far = whole;
        far[HEADER_BYTES + 20..HEADER_BYTES + 24].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(parse(&far), None);
    }
}
