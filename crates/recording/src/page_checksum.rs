//! The page that iodyno writes into a recording. It ends with a checksum, so that one that is as it was written goes with its
//! recording, and one that its user has changed, or another program's of that name, stays.

use crate::RecordingError;
use crate::checksums::sum;
use output::{Folder, ReplacePolicy};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

/// Its name.
pub const PAGE: &str = "report.html";
/// Stands before the checksum of all that stands before it, at the end of the file.
const BEGIN: &[u8] = b"<!-- as iodyno wrote it, xxh64:";
const END: &[u8] = b" -->\n";
/// Hexadecimal digits of the checksum.
const DIGITS: usize = 16;
const TRAILER_BYTES: usize = BEGIN.len() + DIGITS + END.len();
/// A longer page is none of ours.
const BYTES_MAX: u64 = 1 << 30;

/// The page with its checksum.
#[must_use]
pub fn append_checksum(page: &str) -> Vec<u8> {
    let mut bytes = page.as_bytes().to_vec();
    let sum = format!("{:016x}", sum(&bytes));
    bytes.extend_from_slice(&[BEGIN, sum.as_bytes(), END].concat());
    bytes
}

/// Gives a recording that takes another one's place the page of that.
///
/// # Errors
/// It cannot be read or written.
pub fn copy_page(from: &Folder, to: &Folder) -> Result<(), RecordingError> {
    let path = from.path().join(PAGE);
    let mut page = Vec::new();
    from.open_file(PAGE)?.read_to_end(&mut page).map_err(RecordingError::io("read", &path))?;
    Ok(to.replace(PAGE, ReplacePolicy::Nothing, |file| file.write_all(&page))?)
}

/// Does the page in a recording's folder end as one of iodyno's? What stands before the checksum is not read.
pub(crate) fn is_signed(folder: &Folder) -> bool {
    let ends = |mut file: File| -> io::Result<bool> {
        file.seek(SeekFrom::End(-i64::try_from(TRAILER_BYTES).unwrap_or(i64::MAX)))?;
        let mut trailer = Vec::new();
        file.read_to_end(&mut trailer)?;
        Ok(digits(&trailer).is_some())
    };
    folder.open_file(PAGE).is_ok_and(|file| ends(file).unwrap_or(false))
}

/// Is it what iodyno wrote?
pub(crate) fn is_as_written(folder: &Folder) -> bool {
    let mut bytes = Vec::new();
    let read = folder.open_file(PAGE).map(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
    let (page, trailer) = bytes.split_at(bytes.len().saturating_sub(TRAILER_BYTES));
    matches!(read, Ok(Ok(_))) && digits(trailer) == Some(format!("{:016x}", sum(page)).as_bytes())
}

fn digits(trailer: &[u8]) -> Option<&[u8]> {
    trailer.strip_prefix(BEGIN)?.strip_suffix(END).filter(|digits| digits.len() == DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_was_changed_anywhere_is_its_users() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let page = append_checksum("<html>as it was</html>");
        let put = |bytes: &[u8]| {
            std::fs::write(place.path().join(PAGE), bytes).unwrap();
            (is_signed(&folder), is_as_written(&folder))
        };
        assert_eq!(put(&page), (true, true));
        for at in 0..page.len() {
            let mut changed = page.clone();
            changed[at] ^= 1;
            assert!(!put(&changed).1, "{at}");
        }
        assert_eq!(put(&[&page[..], b"my note"].concat()), (false, false));
        assert_eq!(put(b"<html>"), (false, false));
        assert_eq!(put(b""), (false, false));
    }
}
