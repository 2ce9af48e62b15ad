//! What every view is made of: axes, lines, tables, units of values, and which part of a recording is shown. Plain values
//! that know neither recordings' rows nor how they are drawn.

mod data;
mod drawing;
mod error;
mod selection;
pub mod thin;
mod unit;
mod values;

pub use data::{
    Axis, Body, Cells, Knee, Line, LineStyle, MarkKind, Panel, Point, PointLine, RightAxis, Scale, TableColumn,
    TimeMark, Tone, ViewData, ViewTable, WallClock,
};
pub use drawing::{Drawing, axis, line};
pub use error::TableReadError;
pub use selection::{NamePattern, Selection, TimeOfRecording, TimeWindow};
pub use unit::Unit;
pub use values::Values;
