//! What the program is reading at this moment: a note for its last sentence, when there is no memory to find it out.

use std::sync::{Mutex, PoisonError, TryLockError};

/// Longest note, bytes; longer ones are cut.
const NOTE_MAX: usize = 400;

/// The note, in place: neither writing nor reading it takes memory.
struct Note {
    bytes: [u8; NOTE_MAX],
    length: usize,
}

static NOTE: Mutex<Note> = Mutex::new(Note { bytes: [0; NOTE_MAX], length: 0 });

/// Notes what is read from now on, as the parts of a text (`["table io of ", "/data/monday"]`), in place of what was noted
/// before. Anything but printable ASCII becomes `?`: names in recordings were made by others, and the note goes to a
/// terminal.
pub fn note(parts: &[&str]) {
    let mut note = NOTE.lock().unwrap_or_else(PoisonError::into_inner);
    note.length = 0;
    for character in parts.iter().flat_map(|part| part.chars()) {
        let at = note.length;
        let Some(place) = note.bytes.get_mut(at) else { return };
        *place = u8::try_from(character).ok().filter(|byte| (b' '..=b'~').contains(byte)).unwrap_or(b'?');
        note.length += 1;
    }
}

/// Gives the note to `take`, which gets nothing where there is none, or where another thread is writing it: this never
/// waits, and takes no memory.
pub fn with_note<T>(take: impl FnOnce(&[u8]) -> T) -> T {
    match NOTE.try_lock() {
        Ok(note) => take(note.bytes.get(..note.length).unwrap_or_default()),
        Err(TryLockError::Poisoned(note)) => {
            let note = note.into_inner();
            take(note.bytes.get(..note.length).unwrap_or_default())
        }
        Err(TryLockError::WouldBlock) => take(&[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_note_is_printable_and_has_an_end() {
        note(&["table ", "io\x1b]0;owned\x07", " of /data/ü"]);
        assert_eq!(with_note(|bytes| String::from_utf8_lossy(bytes).into_owned()), "table io?]0;owned? of /data/?");
        note(&[&"x".repeat(NOTE_MAX * 2), "y"]);
        assert_eq!(with_note(<[u8]>::len), NOTE_MAX);
        note(&[]);
        assert_eq!(with_note(<[u8]>::len), 0);
    }
}
