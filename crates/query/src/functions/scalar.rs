//! Functions of one histogram: `hist_percentile`, `hist_count`, `hist_sum`, `hist_mean`, `hist_min`, `hist_max`, `hist_bins`.

use super::{Histograms, damaged, histogram_type, signed};
use datafusion::arrow::array::{
    Array, ArrayBuilder as _, ArrayRef, AsArray, Float64Builder, Int64Builder, ListArray, StructArray,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Float64Type, Int64Type};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use quantity::histogram::Histogram;
use std::sync::Arc;

pub(super) fn all() -> Vec<ScalarUDF> {
    [
        ("hist_percentile", Kind::Percentile),
        ("hist_count", Kind::Count),
        ("hist_sum", Kind::Sum),
        ("hist_mean", Kind::Mean),
        ("hist_min", Kind::Min),
        ("hist_max", Kind::Max),
        ("hist_bins", Kind::Bins),
    ]
    .map(|(name, kind)| {
        ScalarUDF::new_from_impl(Of { name, kind, signature: Signature::user_defined(Volatility::Immutable) })
    })
    .to_vec()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Percentile,
    Count,
    Sum,
    Mean,
    Min,
    Max,
    Bins,
}

/// A function of a histogram.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Of {
    name: &'static str,
    kind: Kind,
    signature: Signature,
}

/// `from_ns`, `to_ns` (exclusive), `count`.
fn bin_fields() -> Fields {
    ["from_ns", "to_ns", "count"].map(|name| Field::new(name, DataType::Int64, false)).into_iter().collect()
}

fn bin_item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Struct(bin_fields()), false))
}

impl ScalarUDFImpl for Of {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let (second, counts): (_, &[usize]) = match self.kind {
            Kind::Percentile => (DataType::Float64, &[2]),
            Kind::Bins => (DataType::Int64, &[1, 2]),
            _ => (DataType::Null, &[1]),
        };
        if !counts.contains(&given.len()) {
            let expected: Vec<String> = counts.iter().map(ToString::to_string).collect();
            return plan_err!(
                "{} takes {} argument(s), {} given; see `.help {}`",
                self.name,
                expected.join(" or "),
                given.len(),
                self.name
            );
        }
        let mut types = vec![histogram_type(self.name, &given[0])?];
        types.extend((given.len() == 2).then_some(second));
        Ok(types)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.kind {
            Kind::Mean => DataType::Float64,
            Kind::Bins => DataType::List(bin_item()),
            _ => DataType::Int64,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let histograms = Histograms::of(&arrays[0])?;
        let decoded =
            (0..arrays[0].len()).map(|row| histograms.get(row).map(Histogram::decode).transpose().map_err(damaged));
        let array: ArrayRef = match self.kind {
            Kind::Percentile => {
                let quantiles = arrays[1].as_primitive::<Float64Type>();
                let mut builder = Int64Builder::new();
                for (histogram, quantile) in decoded.zip(quantiles) {
                    if let Some(given) = quantile.filter(|given| !(0.0..=1.0).contains(given)) {
                        return exec_err!("a quantile lies between 0 and 1, not {given}; write 0.99 for p99");
                    }
                    let value = histogram?.zip(quantile).and_then(|(histogram, q)| histogram.percentile(q));
                    builder.append_option(value.map(signed));
                }
                Arc::new(builder.finish())
            }
            Kind::Mean => {
                let mut builder = Float64Builder::new();
                for histogram in decoded {
                    builder.append_option(histogram?.and_then(|histogram| histogram.mean()));
                }
                Arc::new(builder.finish())
            }
            Kind::Bins => bins(decoded, arrays.get(1))?,
            _ => {
                let mut builder = Int64Builder::new();
                for histogram in decoded {
                    builder.append_option(histogram?.and_then(|histogram| self.number(&histogram)).map(signed));
                }
                Arc::new(builder.finish())
            }
        };
        Ok(ColumnarValue::Array(array))
    }
}

impl Of {
    fn number(&self, histogram: &Histogram) -> Option<u64> {
        match self.kind {
            Kind::Count => Some(histogram.count()),
            Kind::Sum => Some(u64::try_from(histogram.sum()).unwrap_or(u64::MAX)),
            Kind::Min => histogram.min(),
            _ => histogram.max(),
        }
    }
}

/// Lists of bins; the second argument is how many of them an octave has at most.
fn bins(
    histograms: impl Iterator<Item = Result<Option<Histogram>>>,
    per_octave: Option<&ArrayRef>,
) -> Result<ArrayRef> {
    let (mut from, mut to, mut count) = (Int64Builder::new(), Int64Builder::new(), Int64Builder::new());
    let (mut lengths, mut valid) = (Vec::new(), Vec::new());
    let per_octave = per_octave.map(|array| array.as_primitive::<Int64Type>());
    for (row, histogram) in histograms.enumerate() {
        let asked = per_octave.filter(|array| array.is_valid(row)).map(|array| array.value(row));
        let sub_bits = match asked {
            None => u32::MAX,
            Some(bins @ (1 | 2 | 4 | 8 | 16 | 32 | 64 | 128)) => bins.ilog2(),
            Some(other) => {
                return exec_err!("hist_bins cuts an octave into 1, 2, 4, 8, 16, 32, 64 or 128 bins, not into {other}");
            }
        };
        let histogram = histogram?;
        let before = from.len();
        for (low, high, values) in
            histogram.iter().flat_map(|histogram| histogram.collapse(sub_bits).buckets().collect::<Vec<_>>())
        {
            from.append_value(signed(low));
            to.append_value(signed(high));
            count.append_value(signed(values));
        }
        lengths.push(from.len() - before);
        valid.push(histogram.is_some());
    }
    let columns: Vec<ArrayRef> = vec![Arc::new(from.finish()), Arc::new(to.finish()), Arc::new(count.finish())];
    let items = StructArray::try_new(bin_fields(), columns, None)?;
    let list = ListArray::try_new(
        bin_item(),
        OffsetBuffer::from_lengths(lengths),
        Arc::new(items),
        Some(NullBuffer::from(valid)),
    )?;
    Ok(Arc::new(list))
}
