//! Units of an answer's columns: the catalogue's, followed through the plan as long as they surely hold.

use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};

/// The unit of each output column, in order; `None` where it is unknown or has none.
pub(crate) fn of_plan(plan: &LogicalPlan) -> Vec<Option<String>> {
    let inputs: Vec<Inner<'_>> =
        plan.inputs().into_iter().map(|input| Inner { plan: input, units: of_plan(input) }).collect();
    let width = plan.schema().fields().len();
    let passed = || inputs.first().map(|input| input.units.clone()).unwrap_or_default();
    let units = match plan {
        LogicalPlan::TableScan(scan) => {
            let fields = scan.projected_schema.fields();
            fields.iter().map(|field| field.metadata().get("unit").cloned()).collect()
        }
        LogicalPlan::Projection(projection) => projection.expr.iter().map(|expr| of(expr, &inputs)).collect(),
        LogicalPlan::Aggregate(aggregate) => {
            aggregate.group_expr.iter().chain(&aggregate.aggr_expr).map(|expr| of(expr, &inputs)).collect()
        }
        LogicalPlan::Window(window) => {
            let mut units = passed();
            units.extend(window.window_expr.iter().map(|expr| of(expr, &inputs)));
            units
        }
        LogicalPlan::Join(_) => inputs.into_iter().flat_map(|input| input.units).collect(),
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Repartition(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::Distinct(_) => passed(),
        LogicalPlan::Union(_) => agreed(&inputs),
        _ => Vec::new(),
    };
    // Whatever this does not understand (grouping sets, semi-joins) has no units rather than wrong ones.
    if units.len() == width { units } else { vec![None; width] }
}

struct Inner<'a> {
    plan: &'a LogicalPlan,
    units: Vec<Option<String>>,
}

/// What all branches of a union say.
fn agreed(inputs: &[Inner<'_>]) -> Vec<Option<String>> {
    let Some((first, rest)) = inputs.split_first() else { return Vec::new() };
    let same = |at: usize, unit: &Option<String>| rest.iter().all(|input| input.units.get(at) == Some(unit));
    first.units.iter().enumerate().map(|(at, unit)| unit.clone().filter(|_| same(at, unit))).collect()
}

fn of(expr: &Expr, inputs: &[Inner<'_>]) -> Option<String> {
    match expr {
        Expr::Column(column) => column_unit(column, inputs),
        Expr::Alias(alias) => {
            let said = alias.metadata.as_ref().and_then(|metadata| metadata.inner().get("unit").cloned());
            said.or_else(|| of(&alias.expr, inputs))
        }
        Expr::Cast(cast) => of(&cast.expr, inputs),
        Expr::Negative(inner) => of(inner, inputs),
        Expr::BinaryExpr(binary) => {
            let (left, right) = (of(&binary.left, inputs), of(&binary.right, inputs));
            match binary.op {
                Operator::Plus | Operator::Minus | Operator::Modulo if left == right => left,
                _ => None,
            }
        }
        Expr::AggregateFunction(function) => of_function(function.func.name(), function.params.args.first(), inputs),
        Expr::ScalarFunction(function) => of_function(function.func.name(), function.args.first(), inputs),
        Expr::WindowFunction(function) => of_function(function.fun.name(), function.params.args.first(), inputs),
        _ => None,
    }
}

/// Functions that give back what they are given, and those of histograms.
fn of_function(name: &str, argument: Option<&Expr>, inputs: &[Inner<'_>]) -> Option<String> {
    match name {
        "sum"
        | "min"
        | "max"
        | "avg"
        | "median"
        | "first_value"
        | "last_value"
        | "nth_value"
        | "lag"
        | "lead"
        | "floor"
        | "ceil"
        | "round"
        | "trunc"
        | "abs"
        | "stddev"
        | "stddev_pop"
        | "approx_percentile_cont"
        | "approx_median"
        | "coalesce"
        | "nullif"
        | "greatest"
        | "least"
        | "percentile"
        | "hist_merge"
        | "hist_percentile"
        | "hist_sum"
        | "hist_mean"
        | "hist_min"
        | "hist_max" => of(argument?, inputs),
        _ => None,
    }
}

fn column_unit(column: &Column, inputs: &[Inner<'_>]) -> Option<String> {
    inputs.iter().find_map(|input| {
        let at = input.plan.schema().maybe_index_of_column(column)?;
        input.units.get(at).cloned().flatten()
    })
}
