//! Names of functions in a program's file, read without trust: files of any size, with anything in them.

use super::names::readable;
use crate::names::Cursor;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Tables larger than this are left alone.
const BYTES_MAX: u64 = 1 << 28;
/// Kept of one file; of what has more, the rest has no names.
const KEPT_MAX: usize = 1 << 27;
/// Sections and segments.
const HEADERS_MAX: u64 = 4096;
const SECTION_SYMBOLS: u32 = 2;
const SECTION_DYNAMIC_SYMBOLS: u32 = 11;
const SEGMENT_LOADED: u32 = 1;
const FUNCTIONS: [u8; 2] = [2, 10];
const SYMBOL_BYTES: usize = 24;
const CLASS_64: u8 = 2;
const DATA_OURS: u8 = if cfg!(target_endian = "little") { 1 } else { 2 };

/// A file's functions, in order of addresses.
#[derive(Debug, Default)]
pub(super) struct Functions {
    segments: Vec<Segment>,
    symbols: Vec<Symbol>,
    /// One behind the other, each with a zero.
    names: Vec<u8>,
}

/// A piece of the file, and where it is meant to be in memory.
#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    address: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    address: u64,
    bytes: u64,
    name: u32,
}

#[derive(Clone, Copy, Debug)]
struct Section {
    kind: u32,
    offset: u64,
    bytes: u64,
    link: u32,
}

fn piece(file: &File, offset: u64, bytes: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(bytes).ok().filter(|_| bytes <= BYTES_MAX)?;
    // Before memory is taken for it.
    if offset.checked_add(bytes)? > file.metadata().ok()?.len() {
        return None;
    }
    let mut out = vec![0; length];
    file.read_exact_at(&mut out, offset).ok()?;
    Some(out)
}

impl Functions {
    /// Those of the symbol table, or where that was stripped off, those that other files may call; none of a file that is
    /// something else.
    pub(super) fn of(file: &File) -> Self {
        Self::read(file).unwrap_or_default()
    }

    fn read(file: &File) -> Option<Self> {
        let head = piece(file, 0, 64)?;
        if head.get(..4)? != b"\x7fELF" || head[4] != CLASS_64 || head[5] != DATA_OURS {
            return None;
        }
        let mut at = Cursor::new(&head[32..]);
        let (segments_at, sections_at) = (at.u64(), at.u64());
        let _flags_and_size = (at.u32(), at.u16());
        let (segment_bytes, segment_count) = (at.u16(), at.u16());
        let (section_bytes, section_count) = (at.u16(), at.u16());
        let mut out = Self::default();
        for segment in headers(file, segments_at, segment_bytes, segment_count)? {
            let mut at = Cursor::new(&segment);
            let (kind, _flags, offset, address) = (at.u32(), at.u32(), at.u64(), at.u64());
            let (_physical, bytes) = (at.u64(), at.u64());
            if kind == SEGMENT_LOADED {
                out.segments.push(Segment { offset, address, bytes });
            }
        }
        let sections: Vec<Section> =
            headers(file, sections_at, section_bytes, section_count)?.iter().map(|bytes| section(bytes)).collect();
        let of = |kind: u32| sections.iter().find(|section| section.kind == kind);
        let table = of(SECTION_SYMBOLS).or_else(|| of(SECTION_DYNAMIC_SYMBOLS))?;
        let strings = sections.get(table.link as usize)?;
        out.take(&piece(file, table.offset, table.bytes)?, &piece(file, strings.offset, strings.bytes)?);
        Some(out)
    }

    fn take(&mut self, table: &[u8], strings: &[u8]) {
        for symbol in table.chunks_exact(SYMBOL_BYTES) {
            let mut at = Cursor::new(symbol);
            let (name, info, _other, section) = (at.u32(), at.u8(), at.u8(), at.u16());
            let (address, bytes) = (at.u64(), at.u64());
            if !FUNCTIONS.contains(&(info & 0xf)) || section == 0 {
                continue;
            }
            let text = strings.get(name as usize..).unwrap_or_default();
            let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
            let Ok(name) = u32::try_from(self.names.len()) else { break };
            // Symbols of a file that lies may all have the same endless name.
            if self.bytes().saturating_add(text.len()) > KEPT_MAX {
                break;
            }
            if !text.is_empty() {
                self.symbols.push(Symbol { address, bytes, name });
                self.names.extend_from_slice(text);
                self.names.push(0);
            }
        }
        // Of those that begin at one place, the longest comes last and is found.
        self.symbols.sort_by_key(|symbol| (symbol.address, symbol.bytes));
    }

    /// Memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.names.len() + self.symbols.len() * size_of::<Symbol>() + self.segments.len() * size_of::<Segment>()
    }

    /// The function that a place of the file belongs to.
    pub(super) fn name(&self, offset: u64) -> Option<String> {
        let inside = |segment: &&Segment| offset >= segment.offset && offset - segment.offset < segment.bytes;
        let segment = self.segments.iter().find(inside)?;
        let address = segment.address.checked_add(offset - segment.offset)?;
        let behind = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols.get(behind.checked_sub(1)?)?;
        // What assemblers make has no length.
        if symbol.bytes != 0 && address - symbol.address >= symbol.bytes {
            return None;
        }
        let name = self.names.get(symbol.name as usize..)?.split(|byte| *byte == 0).next()?;
        Some(readable(&String::from_utf8_lossy(name)))
    }
}

fn headers(file: &File, at: u64, bytes: u16, count: u16) -> Option<Vec<Vec<u8>>> {
    let (bytes, count) = (u64::from(bytes), u64::from(count).min(HEADERS_MAX));
    if bytes == 0 || count == 0 {
        return Some(Vec::new());
    }
    let all = piece(file, at, bytes * count)?;
    Some(all.chunks_exact(usize::try_from(bytes).ok()?).map(<[u8]>::to_vec).collect())
}

fn section(bytes: &[u8]) -> Section {
    let mut at = Cursor::new(bytes);
    let (_name, kind, _flags, _address) = (at.u32(), at.u32(), at.u64(), at.u64());
    Section { kind, offset: at.u64(), bytes: at.u64(), link: at.u32() }
}

#[cfg(test)]
mod tests {
    use super::{FUNCTIONS, Functions, KEPT_MAX, SYMBOL_BYTES};
    use std::fs::File;
    use std::io::{Read, Seek, Write};

    #[inline(never)]
    #[unsafe(no_mangle)]
    #[expect(unsafe_code, reason = "a name that the test knows")]
    extern "C" fn iodyno_elf_landmark() -> u32 {
        std::hint::black_box(7)
    }

    #[test]
    fn a_function_of_this_program_is_found_by_its_place_in_the_file() {
        assert_eq!(iodyno_elf_landmark(), 7);
        let functions = Functions::of(&File::open("/proc/self/exe").unwrap());
        let address = iodyno_elf_landmark as *const () as usize as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let offset = maps.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (begin, end) = words.next()?.split_once('-')?;
            let at = hex(words.nth(1)?);
            (hex(begin) <= address && address < hex(end)).then(|| address - hex(begin) + at)
        });
        assert_eq!(functions.name(offset.unwrap()).as_deref(), Some("iodyno_elf_landmark"));
    }

    #[test]
    fn names_without_end_are_cut() {
        let mut symbol = [0; SYMBOL_BYTES];
        (symbol[4], symbol[6]) = (FUNCTIONS[0], 1);
        let mut functions = Functions::default();
        functions.take(&symbol.repeat(1000), &vec![b'x'; 1 << 20]);
        assert!(functions.bytes() <= KEPT_MAX && functions.symbols.len() > 100, "{}", functions.bytes());
    }

    #[test]
    fn files_that_are_cut_off_or_lie_have_no_functions() {
        let mut whole = Vec::new();
        File::open("/proc/self/exe").unwrap().take(1 << 16).read_to_end(&mut whole).unwrap();
        for length in [0, 3, 16, 63, 64, 100, 4096, 1 << 16] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&whole[..length.min(whole.len())]).unwrap();
            file.rewind().unwrap();
            assert_eq!(Functions::of(&file).name(64), None, "{length}");
        }
        for at in (32..64).step_by(2) {
            let mut file = tempfile::tempfile().unwrap();
            let mut bytes = whole.clone();
            bytes[at..at + 2].fill(0xff);
            file.write_all(&bytes).unwrap();
            assert_eq!(Functions::of(&file).name(64), None, "{at}");
        }
    }
}
