//! What a view holds once it is computed: plain values with axes and units, drawn alike by every face.

use crate::{Unit, Values};
use serde::{Deserialize, Serialize};

/// One chart or table, ready to be drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ViewData {
    /// Name in the catalogue.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Of what: run, workload, target.
    pub subject: String,
    /// One sentence that explains what is seen.
    pub explanation: String,
    /// Horizontal axis (ignored for tables).
    pub x: Axis,
    /// Vertical axis (ignored for tables).
    pub y: Axis,
    /// What is drawn.
    pub body: Body,
    /// Stretches of the horizontal axis to mark.
    pub marks: Vec<TimeMark>,
    /// What time it was where a time axis begins; `None` where only the time since then matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<WallClock>,
    /// Of a time axis, both ends of the stretch that was asked for; otherwise all of it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<(f64, f64)>,
}

/// The wall clock at x = 0 of a time axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WallClock {
    /// UTC, seconds since 1970.
    pub utc_s: f64,
    /// Seconds that the clocks on the axis are ahead of UTC.
    pub ahead_s: i64,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// In which unit.
    pub unit: Unit,
    /// How values are spread.
    pub scale: Scale,
}

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal steps; values axes start at 0.
    Linear,
    /// Equal ratios.
    Log,
    /// Seconds since a start.
    Time,
    /// Names.
    Category,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// Lines over common x values, broken where a value is missing.
    Lines {
        /// Ascending.
        x: Values,
        /// In order of the legend.
        lines: Vec<Line>,
        /// Further lines over the same x with an axis of their own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        right: Option<RightAxis>,
    },
    /// Counts by column and row, coloured on a logarithmic scale.
    Heat {
        /// Edges of the columns, one more than there are columns.
        x_edges: Values,
        /// Edges of the rows, one more than there are rows.
        y_edges: Values,
        /// Column by column, bottom to top; 0 is drawn as background.
        counts: Values,
        /// Unit of the counts.
        unit: Unit,
    },
    /// Counts in buckets of unequal width.
    Histogram {
        /// Edges of the buckets, one more than there are buckets.
        edges: Values,
        /// One value per bucket and line.
        lines: Vec<Line>,
    },
    /// Points joined in order.
    Points {
        /// One or more lines of points.
        lines: Vec<PointLine>,
        /// The point of greatest rate ÷ mean response time.
        knee: Option<Knee>,
    },
    /// Small charts side by side, all with the same axes.
    Panels {
        /// Names of the places on the horizontal axis, at x = 0, 1, 2 …; none where the axis has numbers.
        ticks: Vec<String>,
        /// The charts.
        panels: Vec<Panel>,
        /// Charts that were left out; 0 when all are there.
        omitted: usize,
    },
    /// Cells by two categories.
    Matrix {
        /// Column names.
        columns: Vec<String>,
        /// Row names.
        rows: Vec<String>,
        /// Row by row; NaN where nothing was measured.
        cells: Values,
        /// Unit of the cells.
        unit: Unit,
    },
    /// Rows and columns of text and numbers.
    Table(ViewTable),
}

/// What stands on the right axis of a chart; drawn dotted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RightAxis {
    /// The axis.
    pub y: Axis,
    /// In order of the legend.
    pub lines: Vec<Line>,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Colour and stroke.
    pub style: LineStyle,
    /// One value per x.
    pub values: Values,
}

/// Role of a line, from which every face takes its colour and stroke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineStyle {
    /// The main line of a chart.
    Total,
    /// What was asked for: dashed, neutral.
    Asked,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Flushes.
    Flush,
    /// Lowest of an ordered family of lines (p50), then upwards.
    Rank0,
    /// p90.
    Rank1,
    /// p99.
    Rank2,
    /// p99.9.
    Rank3,
    /// Maximum.
    Rank4,
    /// One of several devices or names, by position.
    Category0,
    /// Second.
    Category1,
    /// Third.
    Category2,
    /// Fourth.
    Category3,
    /// Fifth.
    Category4,
    /// All further ones.
    Category5,
}

impl LineStyle {
    /// Style of the `index`-th of several names.
    pub fn category(index: usize) -> Self {
        [Self::Category0, Self::Category1, Self::Category2, Self::Category3, Self::Category4]
            .get(index)
            .copied()
            .unwrap_or(Self::Category5)
    }

    /// Style of an operation.
    pub fn of_op(op: &str) -> Self {
        match op {
            "read" => Self::Read,
            "write" => Self::Write,
            "trim" => Self::Trim,
            "flush" => Self::Flush,
            _ => Self::Total,
        }
    }
}

/// Points joined in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointLine {
    /// Name in the legend.
    pub name: String,
    /// Colour and stroke.
    pub style: LineStyle,
    /// In order of drawing.
    pub points: Vec<Point>,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
    /// What it stands for, e.g. a run's title.
    pub label: String,
    /// Vertical 95 % confidence interval over repetitions.
    pub within: Option<(f64, f64)>,
}

/// One of several charts with the same axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// What its points have in common; empty for an only one.
    pub title: String,
    /// Its lines.
    pub lines: Vec<PointLine>,
    /// The point of greatest rate ÷ mean response time.
    pub knee: Option<Knee>,
}

/// The knee of a load–response curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Rate there.
    pub x: f64,
    /// Mean response time there.
    pub y: f64,
    /// In words.
    pub label: String,
}

/// A stretch of the horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeMark {
    /// Start.
    pub from: f64,
    /// End.
    pub to: f64,
    /// What kind.
    pub kind: MarkKind,
    /// In words.
    pub label: String,
}

/// Kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// Warm-up, drain, format: recorded, not in summaries.
    Phase,
    /// Nothing completed although something was waiting.
    Stall,
    /// A command was executed.
    Command,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ViewTable {
    /// Column by column.
    pub columns: Vec<TableColumn>,
    /// Rows that were left out; 0 when all are there.
    pub omitted: usize,
}

impl ViewTable {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableColumn {
    /// Heading.
    pub name: String,
    /// Heading over several columns ("response time"); empty for none.
    pub group: String,
    /// Unit of its numbers.
    pub unit: Unit,
    /// Its cells.
    pub cells: Cells,
    /// How each cell is coloured; the words say it as well. Empty: all are plain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tones: Vec<Tone>,
}

/// Cells of a column, all of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Cells {
    /// Text.
    Text(Vec<String>),
    /// Numbers, NaN for missing.
    Numbers(Values),
}

impl Cells {
    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Numbers(cells) => cells.len(),
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl TableColumn {
    /// A column of text.
    pub fn text(name: &str, cells: Vec<String>) -> Self {
        Self {
            name: name.to_string(),
            group: String::new(),
            unit: Unit::None,
            cells: Cells::Text(cells),
            tones: Vec::new(),
        }
    }

    /// A column of numbers.
    pub fn numbers(name: &str, unit: Unit, cells: impl IntoIterator<Item = Option<f64>>) -> Self {
        Self {
            name: name.to_string(),
            group: String::new(),
            unit,
            cells: Cells::Numbers(cells.into_iter().collect()),
            tones: Vec::new(),
        }
    }

    /// The same under a common heading.
    #[must_use]
    pub fn under(mut self, group: &str) -> Self {
        self.group = group.to_string();
        self
    }

    /// The same with a colour for each cell.
    #[must_use]
    pub fn toned(mut self, tones: Vec<Tone>) -> Self {
        self.tones = tones;
        self
    }

    /// How the cell in `row` is coloured.
    #[must_use]
    pub fn tone(&self, row: usize) -> Tone {
        self.tones.get(row).copied().unwrap_or(Tone::Plain)
    }

    /// Text of the cell in `row`.
    pub fn cell(&self, row: usize) -> String {
        match &self.cells {
            Cells::Text(cells) => cells.get(row).cloned().unwrap_or_default(),
            Cells::Numbers(cells) => self.unit.format_cell(cells.get_some(row)),
        }
    }
}

/// How a figure or warning is coloured; the words say it as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Nothing special.
    Plain,
    /// Better than before.
    Good,
    /// Worth knowing.
    Info,
    /// Casts doubt on the figures.
    Warning,
    /// Something failed, or is worse than before.
    Error,
}
