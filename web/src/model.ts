// The report model as the Rust side writes it (crates/analyze/src/model.rs, view.rs). `npm test` checks a sample
// that the Rust tests write against these types, so the two cannot drift apart unseen.

export type Unit = "" | "s" | "ns" | "op/s" | "B/s" | "B" | "op" | "%" | "count" | "nines";
export type ScaleKind = "linear" | "log" | "time" | "category";
export type Tone = "plain" | "good" | "info" | "warning" | "error";
export type LineStyle =
  | "total" | "asked" | "read" | "write" | "trim" | "flush"
  | "rank0" | "rank1" | "rank2" | "rank3" | "rank4"
  | "category0" | "category1" | "category2" | "category3" | "category4" | "category5";

/** Numbers as `TYPE:BASE64`, little-endian; NaN is a missing value. */
export type Values = string;

export interface Axis { label: string; unit: Unit; scale: ScaleKind }
export interface Mark { from: number; to: number; kind: "phase" | "stall"; label: string }
export interface Line { name: string; style: LineStyle; values: Values }
/** `within`: 95 % confidence interval of y over repetitions. */
export interface Point { x: number; y: number; label: string; within: [number, number] | null }
export interface PointLine { name: string; style: LineStyle; points: Point[] }
export interface Knee { x: number; y: number; label: string }
export type Cells = { kind: "text"; of: string[] } | { kind: "numbers"; of: Values };
/** `tones`: how each cell is coloured, where one is; the words say it as well. */
export interface Column { name: string; group: string; unit: Unit; cells: Cells; tones?: Tone[] }

export interface LinesBody { kind: "lines"; x: Values; lines: Line[]; right?: Right }
/** What stands on an axis at the right; drawn dotted. */
export interface Right { y: Axis; lines: Line[] }
export interface HeatBody { kind: "heat"; x_edges: Values; y_edges: Values; counts: Values; unit: Unit }
export interface HistogramBody { kind: "histogram"; edges: Values; lines: Line[] }
export interface PointsBody { kind: "points"; lines: PointLine[]; knee: Knee | null }
export interface Panel { title: string; lines: PointLine[]; knee: Knee | null }
/** Small charts with the same axes; `ticks` name x = 0, 1, 2 …, none where x has numbers. */
export interface PanelsBody { kind: "panels"; ticks: string[]; panels: Panel[]; omitted: number }
export interface MatrixBody { kind: "matrix"; columns: string[]; rows: string[]; cells: Values; unit: Unit }
export interface TableBody { kind: "table"; columns: Column[]; omitted: number }
export type Body = LinesBody | HeatBody | HistogramBody | PointsBody | PanelsBody | MatrixBody | TableBody;

export interface ViewData {
  id: string; title: string; subject: string; explanation: string;
  x: Axis; y: Axis; body: Body; marks: Mark[];
  /** What time it was at x = 0 of a time axis; not there where only the time since then matters. */
  clock?: WallClock;
  /** Both ends of the stretch of a time axis that was asked for. */
  shown?: [number, number];
}
/** UTC in seconds since 1970, and how far the clocks on the axis are ahead of it. */
export interface WallClock { utc_s: number; ahead_s: number }
export interface Figure { label: string; value: string; detail: string; tone: Tone }
export interface Warning { tone: Tone; text: string; run: number | null }
export interface RecordingInfo {
  id: string; host: string; kernel: string; started: string; state: string; exit: string;
  command_line: string; losses: string[];
}
export interface Fold {
  mean: number | null; min: number | null; p50: number | null; p90: number | null;
  p99: number | null; p999: number | null; max: number | null;
}
export interface RunSummary {
  measured_s: number; offered: number | null; arrivals: number | null; ops: number; bytes: number; errors: number | null;
  iops: number | null; bytes_per_s: number | null; read_percent: number | null; response: Fold; service: Fold;
  queue_depth: number | null; cpu_user: number | null; cpu_system: number | null; intervals: number;
  unfinished: number | null; stalled_intervals: number; longest_stall: { from_s: number; to_s: number } | null;
}
export interface RunModel {
  index: number; title: string; detail: string; sentence: string; figures: Figure[];
  summary: RunSummary; views: ViewData[];
}
export interface Appendix {
  hardware: { title: string; rows: [string, string][] }[];
  sources: { name: string; text: string }[];
  engine: string[];
  events: string[];
}
export interface ReportModel {
  schema: string; title: string; sentence: string; figures: Figure[]; recording: RecordingInfo;
  warnings: Warning[]; overview: ViewData[]; runs: RunModel[]; appendix: Appendix;
}

const cache = new Map<string, Float64Array>();

/** Decodes a row of numbers; long ones are remembered. */
export function decode(values: Values): Float64Array {
  const known = cache.get(values);
  if (known) return known;
  const colon = values.indexOf(":");
  const binary = atob(values.slice(colon + 1));
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const view = new DataView(bytes.buffer);
  const read: Record<string, [number, (at: number) => number]> = {
    u8: [1, (at) => view.getUint8(at)],
    u16: [2, (at) => view.getUint16(at, true)],
    u32: [4, (at) => view.getUint32(at, true)],
    f32: [4, (at) => view.getFloat32(at, true)],
    f64: [8, (at) => view.getFloat64(at, true)],
  };
  const kind = read[values.slice(0, colon)];
  if (!kind) throw new Error(`unknown type of numbers: ${values.slice(0, colon)}`);
  const numbers = new Float64Array(bytes.length / kind[0]);
  for (let i = 0; i < numbers.length; i++) numbers[i] = kind[1](i * kind[0]);
  if (values.length > 64) cache.set(values, numbers);
  return numbers;
}
