//! Opens recordings for faces: what is damaged is said first, and the exit code tells it at the end.

use crate::exit::{Failure, RECORDING};
use recording::{Reader, RecordingDamage};
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

/// The same for faces that give nothing but data and pictures, which have no place for it: where the recording was not
/// brought to an end, that is said, too.
pub(crate) fn open_for_data(path: &Path) -> Result<(Reader, u8), Failure> {
    let reader = Reader::open(path).map_err(SessionError::from)?;
    let damage = reader.damage().map_err(SessionError::from)?;
    let code = say(&reader, &damage);
    if let Some(words) = views::unended(reader.state(), damage.is_some()) {
        say!("iodyno: {} {words}", path.display());
    }
    Ok((reader, code))
}

/// The same, with all sealed files checked beforehand: for what judges, and for faces that draw on while they read.
pub(crate) fn verified(path: &Path) -> Result<(Reader, u8), Failure> {
    let (reader, lack) = verified_in_words(path)?;
    Ok((reader, lack.code))
}

/// What recordings lack.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lack {
    /// The exit code of a face that shows all that is whole; see [`open`].
    pub(crate) code: u8,
    /// What was said of it.
    words: Vec<String>,
}

impl Lack {
    /// Nothing is judged then: what is not there cannot have met anything.
    pub(crate) fn is_some(&self) -> bool {
        self.code != 0
    }

    /// Why nothing is judged.
    pub(crate) fn why(&self) -> String {
        format!("nothing is judged, because rows are missing: {}", self.words.join("; "))
    }

    fn add(&mut self, reader: &Reader, damage: &RecordingDamage) {
        self.code = self.code.max(say(reader, damage));
        let path = reader.directory().display();
        let sentences = damage.sentences(reader.manifest()).into_iter().filter(|_| damage.costs_rows());
        self.words.extend(sentences.map(|sentence| format!("{path} is damaged: {sentence}")));
    }
}

/// The same as [`verified`], with what is said of it.
pub(crate) fn verified_in_words(path: &Path) -> Result<(Reader, Lack), Failure> {
    let reader = Reader::open(path).map_err(SessionError::from)?;
    let damage = reader.verify().map_err(SessionError::from)?;
    let mut lack = Lack::default();
    lack.add(&reader, &damage);
    Ok((reader, lack))
}

/// Says what is damaged of several recordings; see [`open`].
pub(crate) fn say_of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<u8, Failure> {
    Ok(lack_of(paths)?.code)
}

/// The same of those that data are taken of; see [`open_for_data`].
pub(crate) fn say_for_data<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<u8, Failure> {
    paths.into_iter().try_fold(0, |code, path| Ok(open_for_data(path)?.1.max(code)))
}

/// The same as [`say_of`], with what is said of it.
pub(crate) fn lack_of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<Lack, Failure> {
    let mut lack = Lack::default();
    for path in paths {
        let reader = Reader::open(path).map_err(SessionError::from)?;
        let damage = reader.damage().map_err(SessionError::from)?;
        lack.add(&reader, &damage);
    }
    Ok(lack)
}

fn say(reader: &Reader, damage: &RecordingDamage) -> u8 {
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
