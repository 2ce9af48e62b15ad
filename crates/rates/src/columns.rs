//! Columns of a record batch by name and type, with errors that say what is wrong.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array as _, ArrayRef, BinaryArray, PrimitiveArray, RecordBatch, StringArray};
use std::collections::HashMap;
use view::TableReadError;

/// The columns of one batch of one table.
pub struct BatchColumns<'a> {
    /// Name of the table, for errors.
    pub table: &'static str,
    /// The rows.
    pub batch: &'a RecordBatch,
}

impl<'a> BatchColumns<'a> {
    fn column<T: 'static>(&self, column: &'static str, expected: &'static str) -> Result<&'a T, TableReadError> {
        self.batch
            .column_by_name(column)
            .and_then(|array: &ArrayRef| array.as_any().downcast_ref::<T>())
            .ok_or(TableReadError::Column { table: self.table, column, expected })
    }

    /// The column of 64-bit integers.
    ///
    /// # Errors
    /// There is none of this name and type.
    pub fn longs(&self, column: &'static str) -> Result<&'a PrimitiveArray<Int64Type>, TableReadError> {
        self.column(column, "int64")
    }

    /// The column of 32-bit integers.
    ///
    /// # Errors
    /// There is none of this name and type.
    pub fn ints(&self, column: &'static str) -> Result<&'a PrimitiveArray<Int32Type>, TableReadError> {
        self.column(column, "int32")
    }

    /// The column of floating-point numbers.
    ///
    /// # Errors
    /// There is none of this name and type.
    pub fn doubles(&self, column: &'static str) -> Result<&'a PrimitiveArray<Float64Type>, TableReadError> {
        self.column(column, "float64")
    }

    /// The column of byte strings.
    ///
    /// # Errors
    /// There is none of this name and type.
    pub fn bytes(&self, column: &'static str) -> Result<&'a BinaryArray, TableReadError> {
        self.column(column, "binary")
    }

    /// Text as numbers that `names` gives out: equal text, equal number, over all batches.
    pub fn texts(&self, column: &'static str, names: &mut NameNumbers) -> Result<Vec<usize>, TableReadError> {
        let array: &StringArray = self.column(column, "text")?;
        let mut last: Option<(&str, usize)> = None;
        Ok(array
            .iter()
            .map(|text| {
                let text = text.unwrap_or("");
                // Rows of one interval agree in most names.
                let number = last.filter(|last| last.0 == text).map_or_else(|| names.number(text), |last| last.1);
                last = Some((text, number));
                number
            })
            .collect())
    }
}

/// Numbers for names.
#[derive(Debug, Default)]
pub struct NameNumbers {
    numbers: HashMap<String, usize>,
    names: Vec<String>,
}

impl NameNumbers {
    /// The number of a name; a new one for a new name.
    pub fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.names.push(name.to_string());
        self.numbers.insert(name.to_string(), self.names.len() - 1);
        self.names.len() - 1
    }

    /// The name with this number; empty for a number that was not given out.
    pub fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// The name column of a batch, whether it is plain or a dictionary.
pub fn column_texts<'a>(batch: &'a RecordBatch, column: &str) -> Option<Vec<&'a str>> {
    let column = batch.column_by_name(column)?;
    if let Some(plain) = column.as_string_opt::<i32>() {
        return Some(plain.iter().map(Option::unwrap_or_default).collect());
    }
    let labels = column.as_any_dictionary_opt()?;
    let texts = labels.values().as_string_opt::<i32>()?;
    let keys = labels.normalized_keys();
    Some(keys.into_iter().map(|key| if key < texts.len() { texts.value(key) } else { "" }).collect())
}
