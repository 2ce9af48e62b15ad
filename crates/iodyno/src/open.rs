//! Opens recordings for faces: what is damaged is said first, and the exit code tells it at the end.

use crate::exit::{Failure, RECORDING};
use recording::{Damage, Reader};
use session::SessionError;
use std::path::Path;

/// Opens a recording, and says on standard error what of it is damaged. With it the exit code of a face that shows all that
/// is whole: 6 where rows are missing.
pub(crate) fn open(path: &Path) -> Result<(Reader, u8), Failure> {
    let reader = Reader::open(path).map_err(SessionError::from)?;
    let damage = reader.damage().map_err(SessionError::from)?;
    let code = say(&reader, &damage);
    Ok((reader, code))
}

/// The same, with all sealed files checked beforehand: for what judges, and for faces that draw on while they read.
pub(crate) fn verified(path: &Path) -> Result<(Reader, u8), Failure> {
    let reader = Reader::open(path).map_err(SessionError::from)?;
    let damage = reader.verify().map_err(SessionError::from)?;
    let code = say(&reader, &damage);
    Ok((reader, code))
}

/// Says what is damaged of several recordings; see [`open`].
pub(crate) fn say_of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<u8, Failure> {
    let mut code = 0;
    for path in paths {
        code = code.max(open(path)?.1);
    }
    Ok(code)
}

fn say(reader: &Reader, damage: &Damage) -> u8 {
    if damage.is_some() {
        let path = reader.directory().display();
        let sentences = damage.sentences(reader.manifest());
        sentences.iter().for_each(|sentence| say!("iodyno: {path} is damaged: {sentence}"));
        if reader.can_be_repaired(damage) {
            say!("iodyno: `iodyno repair {path}` keeps what is whole");
        }
    }
    if damage.costs_rows() { RECORDING } else { 0 }
}

/// The exit code of a face that did what it was asked, over a recording with this one.
pub(crate) fn over(code: u8, damaged: u8) -> u8 {
    if damaged == 0 { code } else { damaged }
}
