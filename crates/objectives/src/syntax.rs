//! What a condition is made of.

use super::dimension::Dimension;
use super::names::Quantity;
use rates::FigureBounds;

/// A quantity of the lanes that a selector names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) quantity: Quantity,
    pub(super) dimension: Dimension,
    /// As written, with its selector.
    pub(super) text: String,
    /// Index into the condition's selectors.
    pub(super) selector: usize,
}

/// Which lanes a quantity is taken of; `None`: all. A value may end in `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) workload: Option<String>,
    pub(crate) target: Option<String>,
    pub(crate) op: Option<String>,
}

/// Does a name fit what was asked for, which may end in `*`?
pub(crate) fn fits(wanted: &str, name: &str) -> bool {
    wanted.strip_suffix('*').map_or(wanted == name, |stem| name.starts_with(stem))
}

impl Selector {
    /// Does it name this lane?
    pub(crate) fn admits(&self, workload: &str, target: &str, op: &str) -> bool {
        let good = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|wanted| fits(wanted, name));
        good(&self.workload, workload) && good(&self.target, target) && good(&self.op, op)
    }
}

/// A number: worked out of measures and constants.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number {
    Constant(f64),
    Measured(Measured),
    Negated(Box<Number>),
    Sum(Box<Number>, Box<Number>),
    Difference(Box<Number>, Box<Number>),
    /// The factor puts times in ns and rates per second together.
    Product(Box<Number>, Box<Number>, f64),
    Quotient(Box<Number>, Box<Number>, f64),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Side {
    pub(super) number: Number,
    pub(super) dimension: Dimension,
    /// As written.
    pub(super) text: String,
}

impl Side {
    /// Is it the same in every run?
    pub(super) fn is_constant(&self) -> bool {
        fn constant(number: &Number) -> bool {
            match number {
                Number::Constant(_) => true,
                Number::Measured(_) => false,
                Number::Negated(inner) => constant(inner),
                Number::Sum(a, b) | Number::Difference(a, b) | Number::Product(a, b, _) | Number::Quotient(a, b, _) => {
                    constant(a) && constant(b)
                }
            }
        }
        constant(&self.number)
    }
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Unequal,
}

impl Comparison {
    /// `None` when it depends on where between their bounds the two are.
    pub(super) fn holds(self, left: FigureBounds, right: FigureBounds) -> Option<bool> {
        match self {
            Self::Less if left.high < right.low => Some(true),
            Self::Less => (left.low >= right.high).then_some(false),
            Self::LessOrEqual if left.high <= right.low => Some(true),
            Self::LessOrEqual => (left.low > right.high).then_some(false),
            Self::Greater | Self::GreaterOrEqual => self.flipped().holds(right, left),
            Self::Equal if left.is_exact() && right.is_exact() => Some(left.low.total_cmp(&right.low).is_eq()),
            Self::Equal => (left.high < right.low || right.high < left.low).then_some(false),
            Self::Unequal => Self::Equal.holds(left, right).map(|equal| !equal),
        }
    }

    /// In words, when it holds or when it does not.
    pub(super) fn words(self, holds: bool) -> &'static str {
        match (self, holds) {
            (Self::Less, true) | (Self::GreaterOrEqual, false) => "less than",
            (Self::LessOrEqual, true) | (Self::Greater, false) => "not more than",
            (Self::Greater, true) | (Self::LessOrEqual, false) => "more than",
            (Self::GreaterOrEqual, true) | (Self::Less, false) => "not less than",
            (Self::Equal, true) | (Self::Unequal, false) => "equal to",
            (Self::Unequal, true) | (Self::Equal, false) => "other than",
        }
    }
}

/// A truth: worked out of comparisons.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Truth {
    Compare(Comparison, Box<Side>, Box<Side>),
    And(Box<Truth>, Box<Truth>),
    Or(Box<Truth>, Box<Truth>),
    Not(Box<Truth>),
    /// In consecutive intervals that are together this long, in ns.
    For(Box<Truth>, u64, String),
}

impl Truth {
    /// Does any part of it look at single intervals?
    pub(super) fn has_duration(&self) -> bool {
        match self {
            Self::Compare(..) => false,
            Self::And(a, b) | Self::Or(a, b) => a.has_duration() || b.has_duration(),
            Self::Not(inner) => inner.has_duration(),
            Self::For(..) => true,
        }
    }
}

impl Comparison {
    /// The same with its sides exchanged.
    pub(super) fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}
