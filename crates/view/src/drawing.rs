//! What a view is made of before it has a name.

use crate::{Axis, Body, Line, LineStyle, Scale, TimeMark, Unit, Values};

/// What a view is made of: its axes, body and marks.
pub struct Drawing {
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Lines, cells or rows.
    pub body: Body,
    /// What is marked on the horizontal axis.
    pub marks: Vec<TimeMark>,
}

/// An axis with this label.
pub fn axis(label: &str, unit: Unit, scale: Scale) -> Axis {
    Axis { label: label.to_string(), unit, scale }
}

/// One line of a chart.
pub fn line(name: &str, style: LineStyle, values: Values) -> Line {
    Line { name: name.to_string(), style, values }
}
