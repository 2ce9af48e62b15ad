//! Columns of a record batch by name and type, with errors that say what is wrong.

use crate::AnalyzeError;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, BinaryArray, PrimitiveArray, RecordBatch, StringArray};
use std::collections::HashMap;

/// The columns of one batch of one table.
pub(crate) struct Columns<'a> {
    pub(crate) table: &'static str,
    pub(crate) batch: &'a RecordBatch,
}

impl<'a> Columns<'a> {
    fn column<T: 'static>(&self, column: &'static str, expected: &'static str) -> Result<&'a T, AnalyzeError> {
        self.batch
            .column_by_name(column)
            .and_then(|array: &ArrayRef| array.as_any().downcast_ref::<T>())
            .ok_or(AnalyzeError::Column { table: self.table, column, expected })
    }

    pub(crate) fn longs(&self, column: &'static str) -> Result<&'a PrimitiveArray<Int64Type>, AnalyzeError> {
        self.column(column, "int64")
    }

    pub(crate) fn ints(&self, column: &'static str) -> Result<&'a PrimitiveArray<Int32Type>, AnalyzeError> {
        self.column(column, "int32")
    }

    pub(crate) fn doubles(&self, column: &'static str) -> Result<&'a PrimitiveArray<Float64Type>, AnalyzeError> {
        self.column(column, "float64")
    }

    pub(crate) fn bytes(&self, column: &'static str) -> Result<&'a BinaryArray, AnalyzeError> {
        self.column(column, "binary")
    }

    /// Text as numbers that `names` gives out: equal text, equal number, over all batches.
    pub(crate) fn texts(&self, column: &'static str, names: &mut Names) -> Result<Vec<usize>, AnalyzeError> {
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
pub(crate) struct Names {
    numbers: HashMap<String, usize>,
    names: Vec<String>,
}

impl Names {
    pub(crate) fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        self.names.push(name.to_string());
        self.numbers.insert(name.to_string(), self.names.len() - 1);
        self.names.len() - 1
    }

    pub(crate) fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}
