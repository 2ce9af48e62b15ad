//! Names that repeat from row to row: a dictionary in every file, in the journal as well.

use crate::RecordingError;
use crate::cell::{CellType, cut, mismatch};
use crate::column::ColumnBuilder;
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array as _, ArrayRef, DictionaryArray, RecordBatch};
use arrow_schema::{DataType, Field};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A name that many rows share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub Arc<str>);

impl From<&str> for Label {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl std::ops::Deref for Label {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Builds the column of a label, row by row; for producers of millions of rows, which remember the numbers of names.
#[derive(Debug, Default)]
pub struct LabelBuilder {
    keys: ColumnBuilder<Int32Type>,
    numbers: HashMap<Arc<str>, LabelNumber>,
    names: Vec<Arc<str>>,
    /// Rows tend to repeat the one before.
    last: Option<(Arc<str>, LabelNumber)>,
}

/// A name in the one [`LabelBuilder`] that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelNumber(i32);

impl LabelBuilder {
    /// One with room for so many rows.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self { keys: ColumnBuilder::with_capacity(rows), ..Self::default() }
    }

    /// The number of a name, the same each time.
    pub fn number(&mut self, name: &str) -> LabelNumber {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let shared: Arc<str> = name.into();
        // A batch has fewer rows than an i32 counts.
        let number = LabelNumber(i32::try_from(self.names.len()).unwrap_or(i32::MAX));
        self.numbers.insert(Arc::clone(&shared), number);
        self.names.push(shared);
        number
    }

    /// Adds a row with a name of [`Self::number`], or with none.
    #[inline]
    pub fn append(&mut self, number: Option<LabelNumber>) {
        self.keys.push_option(number.map(|number| number.0));
    }

    /// Adds a row with this name, or with none.
    pub fn append_name(&mut self, name: Option<&str>) {
        let number = name.map(|name| match &self.last {
            Some((last, number)) if **last == *name => *number,
            _ => {
                let number = self.number(name);
                let shared = usize::try_from(number.0).ok().and_then(|at| self.names.get(at));
                self.last = shared.map(|name| (Arc::clone(name), number));
                number
            }
        });
        self.append(number);
    }

    /// The column.
    ///
    /// # Panics
    /// A number of another builder was appended.
    #[must_use]
    pub fn finish(self) -> ArrayRef {
        let mut values = StringBuilder::new();
        self.names.iter().for_each(|name| values.append_value(cut(name)));
        let keys = self.keys.finish();
        let array = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values.finish()));
        Arc::new(array.expect("numbers are of this builder"))
    }
}

fn data_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

impl CellType for Option<Label> {
    const TYPE: &'static str = "text";
    const NULLABLE: bool = true;
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, data_type(), true));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = LabelBuilder::default();
        values.for_each(|value| builder.append_name(value.as_deref()));
        out.push(builder.finish());
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        let Some(column) = batch.column_by_name(name) else { return Ok(vec![None; batch.num_rows()]) };
        let wrong = || mismatch(table, name, "text");
        // Others may have written it as plain text.
        if let Some(plain) = column.as_string_opt::<i32>() {
            return Ok(plain.iter().map(|value| value.map(Label::from)).collect());
        }
        let column = column.as_dictionary_opt::<Int32Type>().ok_or_else(wrong)?;
        let names = column.values().as_string_opt::<i32>().ok_or_else(wrong)?;
        // Made when they are met: a piece of a batch has all of its names, and few of them in its rows.
        let mut labels: Vec<Option<Label>> = vec![None; names.len()];
        let label = |row| {
            let key = column.key(row)?;
            let name = || Label::from(if names.is_valid(key) { names.value(key) } else { "" });
            Some(labels.get_mut(key)?.get_or_insert_with(name).clone())
        };
        Ok((0..column.len()).map(label).collect())
    }
}

impl CellType for Label {
    const TYPE: &'static str = "text";
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, data_type(), false));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = LabelBuilder::default();
        values.for_each(|value| builder.append_name(Some(value)));
        out.push(builder.finish());
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        let values = <Option<Self> as CellType>::read(batch, table, name)?;
        Ok(values.into_iter().map(|value| value.unwrap_or_else(|| Self::from(""))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Label, LabelBuilder};
    use crate::cell::CellType;
    use arrow_array::RecordBatch;
    use arrow_schema::Schema;
    use std::sync::Arc;

    fn check(values: &[Option<&str>]) {
        let labels: Vec<Option<Label>> = values.iter().map(|value| value.map(Label::from)).collect();
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        <Option<Label> as CellType>::fields("x", &mut fields);
        <Option<Label> as CellType>::arrays(labels.iter(), &mut arrays);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("a batch");
        assert_eq!(<Option<Label> as CellType>::read(&batch, "t", "x").expect("labels"), labels);
    }

    #[test]
    fn labels_come_back() {
        check(&[]);
        check(&[None, None]);
        check(&[Some("a"), Some("a"), None, Some("b"), Some("a"), Some("")]);
    }

    #[test]
    fn a_name_is_stored_once() {
        let mut builder = LabelBuilder::default();
        ["a", "b", "a", "b"].into_iter().for_each(|name| builder.append_name(Some(name)));
        assert_eq!(builder.names.len(), 2);
    }
}
