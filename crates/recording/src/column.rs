//! Columns of numbers that are built row by row, by producers of millions of rows.

use arrow_array::PrimitiveArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// Builds a column of numbers. Arrow's own builder keeps a bit for every row from the first row without a value on, with a
/// call for each; here rows without a value are noted, and the bits are made at the end.
#[derive(Debug)]
pub struct ColumnBuilder<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    /// Rows without a value.
    empty: Vec<u32>,
}

impl<T: ArrowPrimitiveType> Default for ColumnBuilder<T> {
    fn default() -> Self {
        Self { values: Vec::new(), empty: Vec::new() }
    }
}

impl<T: ArrowPrimitiveType> ColumnBuilder<T> {
    /// One with room for so many rows.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self { values: Vec::with_capacity(rows), empty: Vec::new() }
    }

    /// Adds a row with a value.
    #[inline]
    pub fn push(&mut self, value: T::Native) {
        self.values.push(value);
    }

    /// Adds a row, perhaps without a value.
    #[inline]
    pub fn push_option(&mut self, value: Option<T::Native>) {
        if value.is_none() {
            // A batch has fewer rows than a u32 counts.
            self.empty.push(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        }
        self.values.push(value.unwrap_or_default());
    }

    /// The column.
    #[must_use]
    pub fn finish(self) -> PrimitiveArray<T> {
        let rows = self.values.len();
        let nulls = match self.empty.len() {
            0 => None,
            all if all == rows => Some(NullBuffer::new_null(rows)),
            _ => {
                let mut bits = BooleanBufferBuilder::new(rows);
                bits.append_n(rows, true);
                self.empty.iter().for_each(|row| bits.set_bit(*row as usize, false));
                Some(NullBuffer::new(bits.finish()))
            }
        };
        PrimitiveArray::new(self.values.into(), nulls)
    }
}

#[cfg(test)]
mod tests {
    use super::ColumnBuilder;
    use arrow_array::Int64Array;
    use arrow_array::types::Int64Type;

    #[test]
    fn as_arrow_builds_it() {
        for rows in [
            vec![],
            vec![Some(1), Some(-2)],
            vec![None, None],
            vec![Some(i64::MAX), None, Some(3), None],
            vec![None; 70],
        ] {
            let mut builder = ColumnBuilder::<Int64Type>::with_capacity(rows.len());
            rows.iter().for_each(|value| builder.push_option(*value));
            assert_eq!(builder.finish(), Int64Array::from(rows));
        }
        let mut builder = ColumnBuilder::<Int64Type>::default();
        builder.push(7);
        assert_eq!(builder.finish(), Int64Array::from(vec![7]));
    }
}
