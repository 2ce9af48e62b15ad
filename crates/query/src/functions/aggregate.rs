//! `percentile` and `hist_merge`: many histograms, or many plain values, into one.

use super::{Histograms, damaged, histogram_type, is_histogram, signed};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, BooleanArray, Int64Array, Int64Builder,
};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use datafusion::physical_expr::expressions::Literal;
use quantity::histogram::{FINE_SUB_BITS, HistogramMerger};
use std::hash::Hash;
use std::sync::Arc;

pub(super) fn all() -> Vec<AggregateUDF> {
    vec![
        AggregateUDF::new_from_impl(Fold::new("percentile", Kind::Percentile)),
        AggregateUDF::new_from_impl(Fold::new("hist_merge", Kind::Merge)),
    ]
}

/// What becomes of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Percentile,
    Merge,
}

/// A function that adds up histograms.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Fold {
    name: &'static str,
    kind: Kind,
    signature: Signature,
}

impl Fold {
    fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, signature: Signature::user_defined(Volatility::Immutable) }
    }

    /// What is done at the end: a quantile, or the histogram itself.
    fn finish(&self, args: &AccumulatorArgs<'_>) -> Result<Finish> {
        if args.is_distinct {
            return plan_err!("{} has no DISTINCT", self.name);
        }
        match self.kind {
            Kind::Merge => Ok(Finish::Histogram),
            Kind::Percentile => match args.exprs.get(1).and_then(|quantile| quantile.downcast_ref::<Literal>()) {
                Some(literal) => quantile(literal.value()).map(Finish::Percentile),
                None => plan_err!("the second argument of percentile must be a constant, such as 0.99"),
            },
        }
    }

    fn fold(&self, args: &AccumulatorArgs<'_>) -> Result<Folded> {
        let is_histogram = args.expr_fields.first().is_some_and(|field| is_histogram(field.data_type()));
        Ok(Folded { groups: Vec::new(), is_histogram, finish: self.finish(args)? })
    }
}

fn quantile(value: &ScalarValue) -> Result<f64> {
    match value {
        ScalarValue::Float64(Some(quantile)) if (0.0..=1.0).contains(quantile) => Ok(*quantile),
        ScalarValue::Float64(Some(given)) => {
            let hint = if (1.0..=100.0).contains(given) { given / 100.0 } else { 0.99 };
            plan_err!("a quantile lies between 0 and 1, not {given}; write {hint} for p{}", hint * 100.0)
        }
        other => plan_err!("a quantile is a number between 0 and 1, not {other}"),
    }
}

impl AggregateUDFImpl for Fold {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let expected = match self.kind {
            Kind::Percentile => 2,
            Kind::Merge => 1,
        };
        if given.len() != expected {
            return plan_err!(
                "{} takes {expected} argument(s), {} given; see `.help {}`",
                self.name,
                given.len(),
                self.name
            );
        }
        let mut types = vec![match &given[0] {
            integer if integer.is_integer() => DataType::Int64,
            float if float.is_floating() => {
                return plan_err!(
                    "{} takes a histogram or whole numbers (ns, bytes, counts), not {float}; \
                     approx_percentile_cont(x, q) takes fractions",
                    self.name
                );
            }
            other => histogram_type(self.name, other)?,
        }];
        types.extend((expected == 2).then_some(DataType::Float64));
        Ok(types)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.kind {
            Kind::Percentile => DataType::Int64,
            Kind::Merge => DataType::Binary,
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "histogram"), DataType::Binary, true))])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(One(self.fold(&args)?)))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(self.fold(&args)?))
    }
}

#[derive(Clone, Copy, Debug)]
enum Finish {
    Percentile(f64),
    Histogram,
}

/// The sums of all groups.
#[derive(Debug)]
struct Folded {
    groups: Vec<HistogramMerger>,
    /// Are the arguments histograms, or plain values?
    is_histogram: bool,
    finish: Finish,
}

impl Folded {
    fn resize(&mut self, groups: usize) {
        let is_histogram = self.is_histogram;
        self.groups.resize_with(groups, || {
            if is_histogram { HistogramMerger::adaptive() } else { HistogramMerger::with_sub_bits(FINE_SUB_BITS) }
        });
    }

    fn add_histograms(&mut self, array: &ArrayRef, groups: &[usize], filter: Option<&BooleanArray>) -> Result<()> {
        let histograms = Histograms::of(array)?;
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| passes(filter, *row)) {
            if let Some(bytes) = histograms.get(row) {
                self.groups[*group].add(bytes).map_err(damaged)?;
            }
        }
        Ok(())
    }

    fn add_values(&mut self, array: &ArrayRef, groups: &[usize], filter: Option<&BooleanArray>) -> Result<()> {
        let array: &Int64Array = array.as_primitive::<Int64Type>();
        let values = array.values();
        if filter.is_none() && array.null_count() == 0 {
            for (group, value) in groups.iter().zip(values) {
                self.groups[*group].record(natural(*value)?);
            }
            return Ok(());
        }
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| passes(filter, *row) && array.is_valid(*row)) {
            self.groups[*group].record(natural(values[row])?);
        }
        Ok(())
    }

    fn update(&mut self, array: &ArrayRef, groups: &[usize], filter: Option<&BooleanArray>) -> Result<()> {
        if self.is_histogram {
            self.add_histograms(array, groups, filter)
        } else {
            self.add_values(array, groups, filter)
        }
    }

    fn encoded(mergers: Vec<HistogramMerger>) -> BinaryArray {
        let mut builder = BinaryBuilder::new();
        for mut merger in mergers {
            builder.append_option((merger.count() > 0).then(|| merger.take().encode()));
        }
        builder.finish()
    }
}

/// Does the aggregate's FILTER let the row through?
#[inline]
fn passes(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

/// A value that a histogram can hold.
#[inline]
fn natural(value: i64) -> Result<u64> {
    match u64::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => exec_err!("percentile and hist_merge take values from 0 on, not {value}; leave those out with WHERE"),
    }
}

impl GroupsAccumulator for Folded {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        self.update(&values[0], group_indices, opt_filter)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mergers = emit_to.take_needed(&mut self.groups);
        Ok(match self.finish {
            Finish::Histogram => Arc::new(Self::encoded(mergers)),
            Finish::Percentile(quantile) => {
                let mut builder = Int64Builder::with_capacity(mergers.len());
                for mut merger in mergers {
                    builder.append_option(merger.take().percentile(quantile).map(signed));
                }
                Arc::new(builder.finish())
            }
        })
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(Self::encoded(emit_to.take_needed(&mut self.groups)))])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.resize(total_num_groups);
        self.add_histograms(&values[0], group_indices, None)
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows = values[0].len();
        let mut one = Self { groups: Vec::new(), ..*self };
        one.resize(rows);
        let groups: Vec<usize> = (0..rows).collect();
        one.update(&values[0], &groups, opt_filter)?;
        one.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<HistogramMerger>()
            + self.groups.iter().map(HistogramMerger::heap_bytes).sum::<usize>()
    }
}

/// The same without groups.
#[derive(Debug)]
struct One(Folded);

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.resize(1);
        self.0.update(&values[0], &vec![0; values[0].len()], None)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.resize(1);
        // Evaluated again after more rows, when it stands in a window: the sum must stay.
        let mut copy = Folded { groups: self.0.groups.clone(), ..self.0 };
        ScalarValue::try_from_array(&copy.evaluate(EmitTo::All)?, 0)
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.resize(1);
        let state = self.0.state(EmitTo::All)?;
        state.iter().map(|array| ScalarValue::try_from_array(array, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.resize(1);
        self.0.add_histograms(&states[0], &vec![0; states[0].len()], None)
    }
}
