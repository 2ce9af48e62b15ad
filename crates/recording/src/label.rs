//! Names that repeat from row to row: a dictionary in every file, in the journal as well.

use crate::RecordingError;
use crate::cell::{Cell, mismatch};
use arrow_array::builder::{Int32Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch};
use arrow_schema::{DataType, Field};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A name that many rows share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

/// Builds the column of a label, row by row; for producers of millions of rows.
#[derive(Debug, Default)]
pub struct LabelBuilder {
    keys: Int32Builder,
    numbers: HashMap<Arc<str>, i32>,
    names: Vec<Arc<str>>,
    /// Rows tend to repeat the one before: the name and its number.
    last: Option<(Arc<str>, i32)>,
}

impl LabelBuilder {
    /// Adds a row.
    pub fn append(&mut self, name: Option<&str>) {
        let Some(name) = name else {
            self.keys.append_null();
            return;
        };
        if let Some((last, number)) = &self.last
            && **last == *name
        {
            self.keys.append_value(*number);
            return;
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                let shared: Arc<str> = name.into();
                // A batch has fewer rows than an i32 counts.
                let number = i32::try_from(self.names.len()).unwrap_or(i32::MAX);
                self.numbers.insert(Arc::clone(&shared), number);
                self.names.push(shared);
                number
            }
        };
        self.last = self.names.get(usize::try_from(number).unwrap_or(0)).map(|name| (Arc::clone(name), number));
        self.keys.append_value(number);
    }

    /// The column.
    ///
    /// # Panics
    /// Never: every key was given out by [`Self::append`].
    #[must_use]
    pub fn finish(mut self) -> ArrayRef {
        let mut values = StringBuilder::new();
        self.names.iter().for_each(|name| values.append_value(name));
        let keys = self.keys.finish();
        let array = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values.finish()));
        Arc::new(array.expect("keys are below the number of names"))
    }
}

fn data_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

impl Cell for Option<Label> {
    const TYPE: &'static str = "text";
    const NULLABLE: bool = true;
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, data_type(), true));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = LabelBuilder::default();
        values.for_each(|value| builder.append(value.as_deref()));
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
        let names: Vec<Label> = names.iter().map(|name| Label::from(name.unwrap_or_default())).collect();
        Ok((0..column.len()).map(|row| column.key(row).and_then(|key| names.get(key).cloned())).collect())
    }
}

impl Cell for Label {
    const TYPE: &'static str = "text";
    fn fields(name: &str, out: &mut Vec<Field>) {
        out.push(Field::new(name, data_type(), false));
    }
    fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
        let mut builder = LabelBuilder::default();
        values.for_each(|value| builder.append(Some(value)));
        out.push(builder.finish());
    }
    fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
        let values = <Option<Self> as Cell>::read(batch, table, name)?;
        Ok(values.into_iter().map(|value| value.unwrap_or_else(|| Self::from(""))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Label, LabelBuilder};
    use crate::cell::Cell;
    use arrow_array::RecordBatch;
    use arrow_schema::Schema;
    use std::sync::Arc;

    fn check(values: &[Option<&str>]) {
        let labels: Vec<Option<Label>> = values.iter().map(|value| value.map(Label::from)).collect();
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        <Option<Label> as Cell>::fields("x", &mut fields);
        <Option<Label> as Cell>::arrays(labels.iter(), &mut arrays);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("a batch");
        assert_eq!(<Option<Label> as Cell>::read(&batch, "t", "x").expect("labels"), labels);
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
        ["a", "b", "a", "b"].into_iter().for_each(|name| builder.append(Some(name)));
        assert_eq!(builder.names.len(), 2);
    }
}
