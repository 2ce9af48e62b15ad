// Generated from the Rust types that serde writes, by `make docs`; do not edit.

/** A whole report. */
export interface ReportModel {
  /** `iodyno.report/1`. */
  schema: string;
  /** Name of the parameter file or of the recording. */
  title: string;
  /** What was tested, on what, with what result. */
  sentence: string;
  /** The figures that matter most. */
  figures: ReportFigure[];
  /** The recording. */
  recording: RecordingInfo;
  /** What the reader must know before believing a number. */
  warnings: ReportWarning[];
  /** Views over all runs. */
  overview: ViewData[];
  /** One per run, in the order of execution. */
  runs: RunModel[];
  /** Hardware, parameters, engine. */
  appendix: ReportAppendix;
}

/** One figure with its label. */
export interface ReportFigure {
  /** What it is. */
  label: string;
  /** Number with unit. */
  value: string;
  /** A second line, e.g. what it is made of. */
  detail: string;
  /** Is it good, bad or neither? */
  tone: Tone;
}

/** Where the figures come from. */
export interface RecordingInfo {
  /** Identity. */
  id: string;
  /** Host name. */
  host: string;
  /** Kernel. */
  kernel: string;
  /** Start in UTC, `2026-11-20 10:44:07 UTC`. */
  started: string;
  /** `sealed`, `cut short` or `open`. */
  state: string;
  /** How the command ended; empty when unknown. */
  exit: string;
  /** Command line. */
  command_line: string;
  /** What was lost, in words. */
  losses: string[];
}

/** Something that the reader must know. */
export interface ReportWarning {
  /** How bad. */
  tone: Tone;
  /** In words. */
  text: string;
  /** Position of the run in [`ReportModel::runs`]; `None` for all. */
  run: number | null;
}

/** One chart or table, ready to be drawn. */
export interface ViewData {
  /** Name in the catalogue. */
  id: string;
  /** Heading. */
  title: string;
  /** Of what: run, workload, target. */
  subject: string;
  /** One sentence that explains what is seen. */
  explanation: string;
  /** Horizontal axis (ignored for tables). */
  x: Axis;
  /** Vertical axis (ignored for tables). */
  y: Axis;
  /** What is drawn. */
  body: Body;
  /** Stretches of the horizontal axis to mark. */
  marks: TimeMark[];
  /** What time it was where a time axis begins; `None` where only the time since then matters. */
  clock?: WallClock;
  /** Of a time axis, both ends of the stretch that was asked for; otherwise all of it is there. */
  shown?: [number, number];
}

/** One run. */
export interface RunModel {
  /** Position in the order of execution, as in the tables. */
  index: number;
  /** Title. */
  title: string;
  /** Loop variables, `name=value name=value`. */
  detail: string;
  /** One line in words: load, result. */
  sentence: string;
  /** The figures that matter most. */
  figures: ReportFigure[];
  /** Did it execute commands, and no I/O of its own? Then it is in no table of runs. */
  is_of_commands?: boolean;
  /** In numbers. */
  summary: RunSummary;
  /** Views of this run. */
  views: ViewData[];
}

/** What stands at the end. */
export interface ReportAppendix {
  /** The machine. */
  hardware: HardwareGroup[];
  /** Parameter texts. */
  sources: SourceText[];
  /** How the engine worked and what it cost. */
  engine: string[];
  /** What happened, one line each. */
  events: string[];
}

/** How a figure or warning is coloured; the words say it as well. */
export type Tone =
  | "plain"
  | "good"
  | "info"
  | "warning"
  | "error";

/** An axis. */
export interface Axis {
  /** What it shows. */
  label: string;
  /** In which unit. */
  unit: Unit;
  /** How values are spread. */
  scale: Scale;
}

/** Lines over common x values, broken where a value is missing. */
export interface LinesBody {
  kind: "lines";
  /** Ascending. */
  x: Values;
  /** In order of the legend. */
  lines: Line[];
  /** Further lines over the same x with an axis of their own. */
  right?: RightAxis;
}

/** Counts by column and row, coloured on a logarithmic scale. */
export interface HeatBody {
  kind: "heat";
  /** Edges of the columns, one more than there are columns. */
  x_edges: Values;
  /** Edges of the rows, one more than there are rows. */
  y_edges: Values;
  /** Column by column, bottom to top; 0 is drawn as background. */
  counts: Values;
  /** Unit of the counts. */
  unit: Unit;
}

/** Counts in buckets of unequal width. */
export interface HistogramBody {
  kind: "histogram";
  /** Edges of the buckets, one more than there are buckets. */
  edges: Values;
  /** One value per bucket and line. */
  lines: Line[];
}

/** Points joined in order. */
export interface PointsBody {
  kind: "points";
  /** One or more lines of points. */
  lines: PointLine[];
  /** The point of greatest rate ÷ mean response time. */
  knee: Knee | null;
}

/** Small charts side by side, all with the same axes. */
export interface PanelsBody {
  kind: "panels";
  /** Names of the places on the horizontal axis, at x = 0, 1, 2 …; none where the axis has numbers. */
  ticks: string[];
  /** The charts. */
  panels: Panel[];
  /** Charts that were left out; 0 when all are there. */
  omitted: number;
}

/** Cells by two categories. */
export interface MatrixBody {
  kind: "matrix";
  /** Column names. */
  columns: string[];
  /** Row names. */
  rows: string[];
  /** Row by row; NaN where nothing was measured. */
  cells: Values;
  /** Unit of the cells. */
  unit: Unit;
}

/** Rows and columns of text and numbers. */
export interface TableBody extends ViewTable {
  kind: "table";
}

/** What is drawn. */
export type Body =
  | LinesBody
  | HeatBody
  | HistogramBody
  | PointsBody
  | PanelsBody
  | MatrixBody
  | TableBody;

/** A stretch of the horizontal axis. */
export interface TimeMark {
  /** Start. */
  from: number;
  /** End. */
  to: number;
  /** What kind. */
  kind: MarkKind;
  /** In words. */
  label: string;
}

/** The wall clock at x = 0 of a time axis. */
export interface WallClock {
  /** UTC, seconds since 1970. */
  utc_s: number;
  /** Seconds that the clocks on the axis are ahead of UTC. */
  ahead_s: number;
}

/** A run in numbers; times in ns, rates per second, over its measured phase. */
export interface RunSummary {
  /** Length of the measured phase, s. */
  measured_s: number;
  /** Arrivals per second that were asked for; `None` at full speed. */
  offered: number | null;
  /** Arrivals; `None` when an import did not count them. */
  arrivals: number | null;
  /** Operations completed. */
  ops: number;
  /** Bytes moved. */
  bytes: number;
  /** Operations that failed; `None` when an import did not count them. */
  errors: number | null;
  /** Operations per second. */
  iops: number | null;
  /** Bytes per second. */
  bytes_per_s: number | null;
  /** Operations that read data ÷ those that read or write data, per cent; `None` where there are neither. */
  read_percent: number | null;
  /** Kinds of operations, in words, of a run that does more to files than read and write them. */
  on_files?: string;
  /** Response time. */
  response: HistogramSummary;
  /** Service time. */
  service: HistogramSummary;
  /**
   * Operations that had no end when the run was given up: their times count as lower bounds. `None` when that was not
   * recorded.
   */
  unfinished: number | null;
  /** Mean number in flight. */
  queue_depth: number | null;
  /** CPU of the host, user, per cent. */
  cpu_user: number | null;
  /** CPU of the host, system, per cent. */
  cpu_system: number | null;
  /** Intervals of the run (any phase). */
  intervals: number;
  /** Intervals without a completion although something was waiting. */
  stalled_intervals: number;
  /** The longest of them in a row. */
  longest_stall: StallModel | null;
}

/** Facts about one part of the machine. */
export interface HardwareGroup {
  /** Which part. */
  title: string;
  /** Name and value. */
  rows: [string, string][];
}

/** A parameter text. */
export interface SourceText {
  /** File name. */
  name: string;
  /** Text. */
  text: string;
}

/** Unit of an axis, a column or a figure. */
export type Unit =
  | ""
  | "s"
  | "ns"
  | "op/s"
  | "B/s"
  | "B"
  | "op"
  | "%"
  | "count"
  | "nines";

/** How values are spread over an axis. */
export type Scale =
  | "linear"
  | "log"
  | "time"
  | "category";

/**
 * Numbers of a series; NaN stands for a missing value.
 *
 * In JSON a string `TYPE:BASE64` with TYPE one of `u8`, `u16`, `u32`, `f32`, `f64`, little-endian.
 */
export type Values = string;

/** One line of a chart. */
export interface Line {
  /** Name in the legend. */
  name: string;
  /** Colour and stroke. */
  style: LineStyle;
  /** One value per x. */
  values: Values;
}

/** What stands on the right axis of a chart; drawn dotted. */
export interface RightAxis {
  /** The axis. */
  y: Axis;
  /** In order of the legend. */
  lines: Line[];
}

/** Points joined in order. */
export interface PointLine {
  /** Name in the legend. */
  name: string;
  /** Colour and stroke. */
  style: LineStyle;
  /** In order of drawing. */
  points: Point[];
}

/** The knee of a load–response curve. */
export interface Knee {
  /** Rate there. */
  x: number;
  /** Mean response time there. */
  y: number;
  /** In words. */
  label: string;
}

/** One of several charts with the same axes. */
export interface Panel {
  /** What its points have in common; empty for an only one. */
  title: string;
  /** Its lines. */
  lines: PointLine[];
  /** The point of greatest rate ÷ mean response time. */
  knee: Knee | null;
}

/** Rows and columns. */
export interface ViewTable {
  /** Column by column. */
  columns: TableColumn[];
  /** Rows that were left out; 0 when all are there. */
  omitted: number;
}

/** Kind of a mark. */
export type MarkKind =
  | "phase"
  | "stall"
  | "command";

/** Percentiles of one histogram, ns; all `None` when it is empty. */
export interface HistogramSummary {
  /** Mean. */
  mean: number | null;
  /** Smallest. */
  min: number | null;
  /** Half of the operations took this long or less. */
  p50: number | null;
  /** 90 %. */
  p90: number | null;
  /** 99 %. */
  p99: number | null;
  /** 99.9 %. */
  p999: number | null;
  /** Greatest. */
  max: number | null;
  /** Which of them are only known to be not less, because operations had no end. */
  at_least?: AtLeast;
}

/** The longest time without a completion although something was waiting. */
export interface StallModel {
  /** Start, seconds since the run's start. */
  from_s: number;
  /** End. */
  to_s: number;
}

/** Role of a line, from which every face takes its colour and stroke. */
export type LineStyle =
  | "total"
  | "asked"
  | "read"
  | "write"
  | "trim"
  | "flush"
  | "rank0"
  | "rank1"
  | "rank2"
  | "rank3"
  | "rank4"
  | "category0"
  | "category1"
  | "category2"
  | "category3"
  | "category4"
  | "category5";

/** One point. */
export interface Point {
  /** Horizontal. */
  x: number;
  /** Vertical. */
  y: number;
  /** What it stands for, e.g. a run's title. */
  label: string;
  /** Vertical 95 % confidence interval over repetitions. */
  within: [number, number] | null;
}

/** A column. */
export interface TableColumn {
  /** Heading. */
  name: string;
  /** Heading over several columns ("response time"); empty for none. */
  group: string;
  /** Unit of its numbers. */
  unit: Unit;
  /** Its cells. */
  cells: Cells;
  /** How each cell is coloured; the words say it as well. Empty: all are plain. */
  tones?: Tone[];
}

/** Which figures of a [`HistogramSummary`] are lower bounds. */
export type AtLeast = number;

/** Text. */
export interface TextCells {
  kind: "text";
  of: string[];
}

/** Numbers, NaN for missing. */
export interface NumbersCells {
  kind: "numbers";
  of: Values;
}

/** Cells of a column, all of one kind. */
export type Cells =
  | TextCells
  | NumbersCells;
