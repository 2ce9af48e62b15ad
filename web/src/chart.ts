// From a view to SVG text and what a cursor over it reads. Pure: no DOM, so it is tested in Node.
import { decode } from "./model";
import type { HeatBody, HistogramBody, Line, LinesBody, LineStyle, MatrixBody, PanelsBody, Point, PointLine, PointsBody, RightAxis, Unit, ViewData } from "./model";
import { format, moment, zone } from "./format";
import { linear, logarithmic, nines, timeOfDay } from "./scale";
import type { Scale } from "./scale";
import { css, heat } from "./colour";

export interface Size { width: number; height: number }
export interface Window { from: number; to: number }
export interface Reading { name: string; style: LineStyle | null; text: string }
export interface Pixels { columns: number; rows: number; data: Uint8ClampedArray }
export interface Drawn {
  svg: string;
  plot: { x: number; y: number; w: number; h: number };
  x: Scale;
  /** Where the cursor can stand. */
  stops: ArrayLike<number>;
  /** Charts with a common clock share the cursor and the zoom. */
  time: boolean;
  title(stop: number): string;
  readings(stop: number, part: number | null): Reading[];
  pixels: Pixels | null;
}

const LEFT = 66, RIGHT = 92, TOP = 10, BOTTOM = 30;

export function escape(text: string): string {
  return text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] as string);
}

const n = (value: number) => String(Math.round(value * 10) / 10);

export function draw(view: ViewData, size: Size, window: Window | null, dark: boolean): Drawn | null {
  switch (view.body.kind) {
    case "lines": return drawLines(view, view.body, size, window);
    case "heat": return drawHeat(view, view.body, size, window, dark);
    case "histogram": return drawHistogram(view, view.body, size);
    case "points": return drawPoints(view, view.body, size);
    case "panels": return drawPanels(view, view.body, size);
    case "matrix": return drawMatrix(view, view.body, size, dark);
    case "table": return null;
  }
}

class Canvas {
  plot: { x: number; y: number; w: number; h: number };
  private readonly parts: string[] = [];
  /** Room at the right for the ticks of an axis there. */
  private beside = 0;
  constructor(readonly size: Size, marked: boolean) {
    const top = TOP + (marked ? 14 : 0);
    this.plot = { x: LEFT, y: top, w: Math.max(40, size.width - LEFT - RIGHT), h: Math.max(30, size.height - top - BOTTOM) };
  }
  add(part: string) { this.parts.push(part); }
  px(scale: Scale, value: number) { return this.plot.x + scale.of(value) * this.plot.w; }
  py(scale: Scale, value: number) { return this.plot.y + this.plot.h - scale.of(value) * this.plot.h; }
  text(x: number, y: number, anchor: string, cls: string, text: string) {
    this.add(`<text x="${n(x)}" y="${n(y)}" text-anchor="${anchor}" class="${cls}">${escape(text)}</text>`);
  }
  grid(x: Scale, y: Scale, xLabel: string) {
    const { plot } = this;
    for (const at of y.minor) this.rule(plot.x, this.py(y, at), plot.x + plot.w, this.py(y, at), "minor");
    for (const tick of y.ticks) {
      const at = this.py(y, tick.at);
      this.rule(plot.x, at, plot.x + plot.w, at, "grid");
      this.text(plot.x - 8, at + 3.5, "end", "tick", tick.label);
    }
    let free = -Infinity;
    for (const tick of x.ticks) {
      const at = this.px(x, tick.at), half = tick.label.length * 3.1 + 3;
      if (at < plot.x - 0.5 || at > plot.x + plot.w + 0.5) continue;
      this.rule(at, plot.y + plot.h, at, plot.y + plot.h + 4, "axis");
      if (at - half < free) continue;
      free = at + half;
      this.text(at, plot.y + plot.h + 17, "middle", "tick", tick.label);
    }
    this.rule(plot.x, plot.y + plot.h, plot.x + plot.w, plot.y + plot.h, "axis");
    this.text(Math.max(plot.x + plot.w + this.beside + 10, free + 4), plot.y + plot.h + 17, "start", "tick", xLabel);
  }
  /** Ticks of a right axis, in room that the plot gives. */
  makeRoom(y: Scale) {
    this.beside = Math.max(...y.ticks.map((tick) => tick.label.length * 6.2), 0) + 10;
    this.plot.w = Math.max(40, this.plot.w - this.beside);
    const { plot } = this, right = plot.x + plot.w;
    for (const tick of y.ticks) {
      const at = this.py(y, tick.at);
      this.rule(right, at, right + 4, at, "axis");
      this.text(right + 7, at + 3.5, "start", "tick", tick.label);
    }
    this.rule(right, plot.y, right, plot.y + plot.h, "axis");
  }
  rule(x1: number, y1: number, x2: number, y2: number, cls: string) {
    this.add(`<line x1="${n(x1)}" y1="${n(y1)}" x2="${n(x2)}" y2="${n(y2)}" class="${cls}"/>`);
  }
  marks(view: ViewData, x: Scale) {
    const { plot } = this;
    let free = -Infinity;
    for (const mark of view.marks) {
      if (mark.to < x.low || mark.from > x.high) continue;
      const from = this.px(x, Math.max(mark.from, x.low)), to = this.px(x, Math.min(mark.to, x.high));
      this.add(`<rect x="${n(from)}" y="${n(plot.y)}" width="${n(Math.max(1.5, to - from))}" height="${n(plot.h)}" class="mark-${mark.kind}"><title>${escape(mark.label)}</title></rect>`);
      const wide = mark.label.length * 5.8;
      const at = Math.min(Math.max(from, plot.x), plot.x + plot.w + RIGHT - wide);
      if (at > free) { this.text(at, plot.y - 5, "start", `mark-label ${mark.kind}`, mark.label); free = at + wide + 8; }
    }
  }
  /** Names at the right end of lines, pushed apart. */
  labels(items: { at: number; name: string; style: LineStyle }[]) {
    const sorted = [...items].sort((a, b) => a.at - b.at);
    const gap = 13, low = this.plot.y + 4, high = this.plot.y + this.plot.h;
    const place = sorted.map((item) => Math.min(Math.max(item.at, low), high));
    for (let i = 1; i < place.length; i++) place[i] = Math.max(place[i] as number, (place[i - 1] as number) + gap);
    for (let i = place.length - 1, limit = high; i >= 0; i--, limit -= gap) place[i] = Math.min(place[i] as number, limit);
    const names = shortened(sorted.map((item) => item.name), 14);
    sorted.forEach((item, i) => this.text(this.plot.x + this.plot.w + this.beside + 8, (place[i] as number) + 3.5, "start", `label s-${item.style}`, names[i] as string));
  }
  svg(label: string) {
    const { width, height } = this.size;
    return `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(label)}">${this.parts.join("")}</svg>`;
  }
}

export function short(name: string, length: number): string {
  return name.length <= length ? name : `${name.slice(0, length - 1)}\u2026`;
}

/** Names that stand beside each other: where cutting the end makes two of them equal, the middle goes. */
export function shortened(names: string[], length: number): string[] {
  // A letter more where it is as narrow as one of these.
  const wide = (name: string) => name.length - 0.5 * (name.match(/[ijlIft.,:;'|/() -]/g) ?? []).length;
  const cut = (tail: number) => names.map((name) => {
    if (wide(name) <= length - 1) return name;
    const end = tail ? name.slice(-tail) : "";
    return `${name.slice(0, Math.max(0, length - 1 - tail))}\u2026${end}`;
  });
  for (let tail = 0; tail < length; tail++) {
    const shorter = cut(tail);
    if (shorter.every((name, i) => shorter.findIndex((other) => other === name) === i || names.indexOf(names[i] as string) !== i)) return shorter;
  }
  return cut(0);
}

/** A point between two gaps has no line: it becomes a ring, which the stroke fills. */
const DOT = "m-1.2 0a1.2 1.2 0 1 0 2.4 0a1.2 1.2 0 1 0 -2.4 0";

/** Path through the points in the window, broken at gaps; at most a minimum and a maximum per pixel column. */
export function path(x: ArrayLike<number>, y: ArrayLike<number>, first: number, last: number, px: (v: number) => number, py: (v: number) => number): string {
  let text = "", pen = false, column = NaN, low = NaN, high = NaN, lowAt = 0, highAt = 0;
  const dense = last - first > 1500;
  const put = (at: number, value: number) => { text += `${pen ? "L" : "M"}${n(at)} ${n(py(value))}`; pen = true; };
  const flush = () => {
    if (Number.isNaN(column)) return;
    if (low === high) put(column, low);
    else if (lowAt < highAt) { put(column, low); put(column, high); } else { put(column, high); put(column, low); }
    column = NaN;
  };
  let alone = -1;
  for (let i = first; i <= last; i++) {
    const value = y[i] as number;
    if (Number.isNaN(value)) {
      if (dense) flush(); else if (alone >= 0) text += DOT;
      pen = false; alone = -1;
      continue;
    }
    const at = px(x[i] as number);
    if (!dense) { alone = pen ? -1 : i; put(at, value); continue; }
    const whole = Math.round(at);
    if (whole !== column) { flush(); column = whole; low = high = value; lowAt = highAt = i; continue; }
    if (value < low) { low = value; lowAt = i; }
    if (value > high) { high = value; highAt = i; }
  }
  if (dense) flush(); else if (alone >= 0) text += DOT;
  return text;
}

function range(columns: { values: ArrayLike<number>; first: number; last: number }[], positive: boolean): [number, number] {
  let low = Infinity, high = -Infinity;
  for (const { values, first, last } of columns) {
    for (let i = first; i <= last; i++) {
      const value = values[i] as number;
      if (Number.isNaN(value) || (positive && value <= 0)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : positive ? [1, 10] : [0, 1];
}

function bounds(x: ArrayLike<number>, window: Window | null): [number, number] {
  let first = 0, last = x.length - 1;
  if (window) {
    while (first < last && (x[first + 1] as number) < window.from) first++;
    while (last > first && (x[last - 1] as number) > window.to) last--;
  }
  return [first, last];
}

export function xScale(view: ViewData, low: number, high: number, width: number): Scale {
  if (view.x.unit === "nines") return nines(high);
  const count = Math.max(2, Math.floor(width / 90));
  return view.x.scale === "log" ? logarithmic(low, high, view.x.unit, count, false) : linear(low, high, view.x.unit, count, false);
}

/** The horizontal axis of a view over time, all of it or the window. */
function timeScale(view: ViewData, low: number, high: number, window: Window | null, width: number): Scale {
  const [from, to] = window ? [window.from, window.to] : view.shown ?? [low, high];
  return view.clock ? timeOfDay(view.clock, from, to, Math.max(2, Math.floor(width / 90))) : xScale(view, from, to, width);
}

function timeLabel(view: ViewData): string { return view.clock ? zone(view.clock) : "elapsed"; }

/** A place on a time axis in words. */
function at(view: ViewData, seconds: number): string {
  return view.clock ? moment(view.clock, seconds) : `at ${format("s", seconds)}`;
}

export function yScale(view: ViewData, low: number, high: number, height: number): Scale {
  const count = Math.max(2, Math.floor(height / 34));
  return view.y.scale === "log" ? logarithmic(low, high, view.y.unit, count, true) : linear(Math.min(0, low), high, view.y.unit, count, true);
}

function drawLines(view: ViewData, body: LinesBody, size: Size, window: Window | null): Drawn {
  const xs = decode(body.x);
  const time = view.x.scale === "time";
  const [first, last] = bounds(xs, time ? window : null);
  const decoded = (lines: Line[]) => lines.map((line) => ({ ...line, numbers: decode(line.values) }));
  const lines = decoded(body.lines), beside = decoded(body.right?.lines ?? []);
  const canvas = new Canvas(size, time);
  const right = body.right ? rightScale(body.right, beside.map((line) => ({ values: line.numbers, first, last })), canvas.plot.h) : null;
  if (right) canvas.makeRoom(right);
  const start = time ? Math.min(0, xs[0] ?? 0) : xs[0] ?? 0;
  const x = time ? timeScale(view, start, xs[xs.length - 1] ?? 1, window, canvas.plot.w) : xScale(view, start, xs[xs.length - 1] ?? 1, canvas.plot.w);
  const [low, high] = range(lines.map((line) => ({ values: line.numbers, first, last })), view.y.scale === "log");
  const y = yScale(view, low, high, canvas.plot.h);
  canvas.marks(view, x);
  canvas.grid(x, y, time ? timeLabel(view) : "");
  canvas.add(`<g clip-path="inset(0)" class="lines">`);
  const px = (v: number) => canvas.px(x, v), py = (v: number) => canvas.py(y, Math.min(Math.max(v, y.low), y.high));
  const pyRight = (v: number) => (right ? canvas.py(right, Math.min(Math.max(v, right.low), right.high)) : 0);
  for (const line of beside) canvas.add(`<path d="${path(xs, line.numbers, first, last, px, pyRight)}" class="line right s-${line.style}"/>`);
  for (const line of lines) canvas.add(`<path d="${path(xs, line.numbers, first, last, px, py)}" class="line s-${line.style}"/>`);
  canvas.add("</g>");
  const end = (place: (v: number) => number) => (line: Line & { numbers: Float64Array }) => {
    for (let i = last; i >= first; i--) {
      const value = line.numbers[i] as number;
      if (!Number.isNaN(value)) return [{ at: place(value), name: line.name, style: line.style }];
    }
    return [];
  };
  canvas.labels([...beside.flatMap(end(pyRight)), ...lines.flatMap(end(py))]);
  return {
    svg: canvas.svg(describe(view)), plot: canvas.plot, x, stops: xs, time, pixels: null,
    title: (i) => (time ? at(view, xs[i] as number) : format(view.x.unit, xs[i] as number)),
    readings: (i) => {
      const read = (unit: Unit) => (line: Line & { numbers: Float64Array }) => ({ name: line.name, style: line.style, text: format(unit, line.numbers[i] as number) });
      return [...lines.map(read(view.y.unit)), ...(body.right ? beside.map(read(body.right.y.unit)) : [])];
    },
  };
}

/** Of shares, all there can be; of others, as on the left. */
function rightScale(right: RightAxis, lines: { values: Float64Array; first: number; last: number }[], height: number): Scale {
  const log = right.y.scale === "log", count = Math.max(2, Math.floor(height / 34));
  const [low, most] = range(lines, log);
  const high = right.y.unit === "%" && most > 10 ? Math.max(most, 100) : most;
  return log ? logarithmic(low, high, right.y.unit, count, true) : linear(Math.min(0, low), high, right.y.unit, count, true);
}

function drawHeat(view: ViewData, body: HeatBody, size: Size, window: Window | null, dark: boolean): Drawn {
  const xe = decode(body.x_edges), ye = decode(body.y_edges), counts = decode(body.counts);
  const columns = xe.length - 1, rows = ye.length - 1;
  const canvas = new Canvas(size, true);
  const { plot } = canvas;
  const x = timeScale(view, Math.min(0, xe[0] ?? 0), xe[columns] ?? 1, window, plot.w);
  const y = (view.y.scale === "log" ? logarithmic : linear)(ye[0] ?? 1, ye[rows] ?? 10, view.y.unit, Math.max(2, Math.floor(plot.h / 34)), false);
  const most = Math.max(1, range([{ values: counts, first: 0, last: counts.length - 1 }], true)[1]);
  // One pixel column per screen column keeps the image right when columns differ in width (a short last interval).
  const wide = Math.max(1, Math.round(plot.w)), data = new Uint8ClampedArray(wide * rows * 4);
  let column = 0;
  for (let p = 0; p < wide; p++) {
    const from = x.back(p / wide), to = x.back((p + 1) / wide);
    while (column < columns - 1 && (xe[column + 1] as number) <= from) column++;
    for (let row = 0; row < rows; row++) {
      let count = 0;
      for (let c = column; c < columns && (xe[c] as number) < to; c++) count = Math.max(count, counts[c * rows + row] as number);
      if (!(count > 0) || from < (xe[0] as number) - 1e-9 || from > (xe[columns] as number)) continue;
      const [r, g, b] = heat(most > 1 ? Math.log(count + 0.5) / Math.log(most + 0.5) : 1, dark);
      data.set([r, g, b, 255], ((rows - 1 - row) * wide + p) * 4);
    }
  }
  canvas.add(`<rect x="${n(plot.x)}" y="${n(plot.y)}" width="${n(plot.w)}" height="${n(plot.h)}" class="heat-ground"/>`);
  canvas.grid(x, { ...y, minor: [] }, timeLabel(view));
  canvas.add(`<image data-heat="1" x="${n(plot.x)}" y="${n(plot.y)}" width="${n(plot.w)}" height="${n(plot.h)}" preserveAspectRatio="none" style="image-rendering:pixelated"/>`);
  canvas.marks(view, x);
  colourBar(canvas, most, dark);
  const find = (edges: Float64Array, value: number) => { let i = 0; while (i < edges.length - 2 && (edges[i + 1] as number) <= value) i++; return i; };
  return {
    svg: canvas.svg(describe(view)), plot, x, stops: xe.subarray(1), time: true,
    pixels: { columns: wide, rows, data },
    title: (i) => at(view, xe[i + 1] as number),
    readings: (i, part) => {
      if (part === null) {
        let sum = 0;
        for (let row = 0; row < rows; row++) sum += counts[i * rows + row] as number;
        return [{ name: "operations", style: null, text: format("op", sum) }];
      }
      const row = find(ye, y.back(part));
      return [{ name: `${format(view.y.unit, ye[row] as number)} \u2026 ${format(view.y.unit, ye[row + 1] as number)}`, style: null, text: `${format("op", counts[i * rows + row] as number)} op` }];
    },
  };
}

function colourBar(canvas: Canvas, most: number, dark: boolean) {
  const { plot } = canvas, x = plot.x + plot.w + 12, steps = 48;
  for (let i = 0; i < steps; i++) {
    const h = plot.h / steps;
    canvas.add(`<rect x="${n(x)}" y="${(plot.y + plot.h - (i + 1) * h).toFixed(2)}" width="10" height="${(h + 0.5).toFixed(2)}" fill="${css(heat(i / (steps - 1), dark))}"/>`);
  }
  const top = Math.log(most + 0.5);
  let free = Infinity;
  for (let power = 0; 10 ** power <= most; power++) {
    const part = Math.log(10 ** power + 0.5) / top, at = plot.y + plot.h * (1 - part);
    if (at > free - 14) continue;
    canvas.text(x + 16, at + 3.5, "start", "tick", format("count", 10 ** power).replace(/,000,000$/, " M").replace(/,000$/, " k"));
    free = at;
  }
  canvas.text(x, plot.y - 5, "start", "tick", "op");
}

function drawHistogram(view: ViewData, body: HistogramBody, size: Size): Drawn {
  const edges = decode(body.edges), buckets = edges.length - 1;
  const lines = body.lines.map((line) => ({ ...line, numbers: decode(line.values) }));
  const canvas = new Canvas(size, false), { plot } = canvas;
  const x = xScale(view, edges[0] ?? 1, edges[buckets] ?? 10, plot.w);
  const [, high] = range(lines.map((line) => ({ values: line.numbers, first: 0, last: buckets - 1 })), false);
  const y = yScale(view, view.y.scale === "log" ? 1 : 0, high, plot.h);
  canvas.grid(x, y, "");
  const py = (value: number) => canvas.py(y, Math.max(value, y.low)), floor = plot.y + plot.h;
  for (const line of lines) {
    let outline = "";
    for (let i = 0; i < buckets; i++) {
      const from = canvas.px(x, edges[i] as number), to = canvas.px(x, edges[i + 1] as number), value = line.numbers[i] as number;
      outline += `${i === 0 ? `M${n(from)} ${n(floor)}` : ""}V${n(value > 0 ? py(value) : floor)}H${n(to)}`;
    }
    outline += `V${n(floor)}`;
    canvas.add(`<path d="${outline}Z" class="area s-${line.style}"/><path d="${outline}" class="line s-${line.style}"/>`);
  }
  canvas.labels(lines.map((line) => {
    let at = floor;
    for (let i = buckets - 1; i >= 0; i--) if ((line.numbers[i] as number) > 0) { at = py(line.numbers[i] as number); break; }
    return { at, name: line.name, style: line.style };
  }));
  return {
    svg: canvas.svg(describe(view)), plot, x, time: false, pixels: null,
    stops: Array.from({ length: buckets }, (_, i) => Math.sqrt((edges[i] as number) * (edges[i + 1] as number))),
    title: (i) => `${format(view.x.unit, edges[i] as number)} \u2026 ${format(view.x.unit, edges[i + 1] as number)}`,
    readings: (i) => lines.map((line) => ({ name: line.name, style: line.style, text: format("op", line.numbers[i] as number) })),
  };
}

function drawPoints(view: ViewData, body: PointsBody, size: Size): Drawn {
  const all = body.lines.flatMap((line) => line.points);
  const canvas = new Canvas(size, false), { plot } = canvas;
  const xMost = Math.max(...all.map((point) => point.x), 0), xLeast = Math.min(...all.map((point) => point.x), xMost);
  const x = view.x.scale === "linear" ? linear(0, xMost * 1.04, view.x.unit, Math.floor(plot.w / 90), false) : xScale(view, xLeast, xMost, plot.w);
  const positive = all.flatMap((point) => [point.y, point.within ? point.within[1] : point.y]).filter((value) => value > 0);
  const y = yScale(view, Math.min(...positive, Infinity) === Infinity ? 1 : Math.min(...positive), Math.max(...positive, 1), plot.h);
  canvas.grid(x, y, "op/s");
  const px = (value: number) => canvas.px(x, value), py = (value: number) => canvas.py(y, Math.max(value, y.low));
  if (body.knee) {
    canvas.rule(px(body.knee.x), plot.y, px(body.knee.x), plot.y + plot.h, "knee");
    const left = px(body.knee.x) > plot.x + plot.w * 0.6;
    for (const line of body.lines) pointLine(canvas, line, x, y, 3);
    canvas.text(px(body.knee.x) + (left ? -7 : 7), plot.y + 12, left ? "end" : "start", "knee-label", body.knee.label);
  } else {
    for (const line of body.lines) pointLine(canvas, line, x, y, 3);
  }
  canvas.labels(body.lines.flatMap((line) => {
    const end = line.points.reduce<{ x: number; y: number } | null>((best, point) => (best && best.x > point.x ? best : point), null);
    return end ? [{ at: py(end.y), name: line.name, style: line.style }] : [];
  }));
  const guide = body.lines[0]?.points ?? [];
  return {
    svg: canvas.svg(describe(view)), plot, x, time: false, pixels: null,
    stops: guide.map((point) => point.x),
    title: (i) => `${guide[i]?.label ?? ""}: ${format(view.x.unit, guide[i]?.x)}`,
    readings: (i) => body.lines.map((line) => ({ name: line.name, style: line.style, text: format(view.y.unit, line.points.find((p) => p.label === guide[i]?.label)?.y) })),
  };
}

/** A line with its dots and the confidence interval of each. */
function pointLine(canvas: Canvas, line: PointLine, x: Scale, y: Scale, radius: number) {
  const px = (point: Point) => n(canvas.px(x, point.x)), py = (value: number) => n(canvas.py(y, Math.min(Math.max(value, y.low), y.high)));
  const path = line.points.map((point, i) => `${i ? "L" : "M"}${px(point)} ${py(point.y)}`).join("");
  canvas.add(`<path d="${path}" class="line s-${line.style}"/>`);
  for (const point of line.points) {
    if (point.within) {
      const [low, high] = point.within, at = canvas.px(x, point.x);
      canvas.add(`<path d="M${n(at)} ${py(low)}V${py(high)}M${n(at - 3.5)} ${py(low)}h7M${n(at - 3.5)} ${py(high)}h7" class="line s-${line.style}"/>`);
    }
    canvas.add(`<circle cx="${px(point)}" cy="${py(point.y)}" r="${radius}" class="dot s-${line.style}"><title>${escape(point.label)}</title></circle>`);
  }
}

const PANEL_WIDTH = 220, PANEL_ROW = 168, PANEL_LEFT = 56, PANEL_TOP = 22, PANEL_BOTTOM = 28;

/** Charts beside each other; four are two and two rather than three and one. */
function panelColumns(width: number, panels: number): number {
  const most = Math.max(1, Math.min(panels, Math.floor(width / PANEL_WIDTH)));
  return Math.ceil(panels / Math.ceil(panels / most));
}

/** Height of a view of small charts. */
export function panelsHeight(body: PanelsBody, width: number): number {
  return body.panels.length < 2 ? 240 : Math.ceil(body.panels.length / panelColumns(width, body.panels.length)) * PANEL_ROW + 30 + (body.omitted ? 18 : 0);
}

function categories(ticks: string[], width: number): Scale {
  const low = -0.4, high = ticks.length - 0.6;
  const every = Math.max(1, Math.ceil((Math.max(...ticks.map((tick) => tick.length)) * 6.2 + 8) / (width / ticks.length)));
  return {
    low, high, log: false, minor: [], of: (value) => (value - low) / (high - low), back: (part) => low + part * (high - low),
    ticks: ticks.map((label, at) => ({ at, label })).filter((tick) => tick.at % every === 0),
  };
}

function drawPanels(view: ViewData, body: PanelsBody, size: Size): Drawn {
  const all = body.panels.flatMap((panel) => panel.lines.flatMap((line) => line.points));
  const canvas = new Canvas(size, false), whole = canvas.plot;
  const log = view.y.scale === "log";
  const ys = all.flatMap((point) => [point.y, point.within ? point.within[1] : point.y]).filter((value) => !log || value > 0);
  const low = Math.min(...ys, Infinity) === Infinity ? 1 : Math.min(...ys), high = Math.max(...ys, low);
  const xs = (width: number) => body.ticks.length ? categories(body.ticks, width)
    : linear(0, Math.max(...all.map((point) => point.x), 0) * 1.04, view.x.unit, Math.max(2, Math.floor(width / 70)), false);
  const knee = (panel: PanelsBody["panels"][number], x: Scale) => {
    if (!panel.knee) return;
    const at = canvas.px(x, panel.knee.x), { plot } = canvas, left = at > plot.x + plot.w * 0.6;
    canvas.rule(at, plot.y, at, plot.y + plot.h, "knee");
    canvas.text(at + (left ? -5 : 5), plot.y + 10, left ? "end" : "start", "tick", panel.knee.label);
  };
  const guide = body.panels[0]?.lines[0]?.points ?? [];
  const single = body.panels.length === 1 ? body.panels[0] : undefined;
  if (single) {
    const x = xs(whole.w), y = yScale(view, low, high, whole.h);
    canvas.grid(x, y, body.ticks.length ? view.x.label : "op/s");
    knee(single, x);
    for (const line of single.lines) pointLine(canvas, line, x, y, 3);
    canvas.labels(single.lines.flatMap((line) => {
      const end = line.points[line.points.length - 1];
      return end ? [{ at: canvas.py(y, end.y), name: line.name, style: line.style }] : [];
    }));
    const within = (point: Point | undefined) => point?.within ? ` \u00b1 ${format(view.y.unit, (point.within[1] - point.within[0]) / 2)}` : "";
    return {
      svg: canvas.svg(describe(view)), plot: whole, x, time: false, pixels: null, stops: guide.map((point) => point.x),
      title: (i) => guide[i]?.label ?? "",
      readings: (i) => single.lines.map((line) => {
        const point = line.points.find((each) => each.x === guide[i]?.x);
        return { name: line.name, style: line.style, text: format(view.y.unit, point?.y) + within(point) };
      }),
    };
  }
  let legend = PANEL_LEFT;
  const seen = new Set<string>();
  for (const line of body.panels.flatMap((panel) => panel.lines)) {
    if (seen.has(line.name)) continue;
    seen.add(line.name);
    canvas.add(`<path d="M${n(legend)} 8h16" class="line s-${line.style}"/>`);
    canvas.text(legend + 21, 12, "start", `label s-${line.style}`, line.name);
    legend += 21 + line.name.length * 6.6 + 20;
  }
  canvas.text(legend, 12, "start", "tick", `across: ${view.x.label}`);
  const columns = panelColumns(size.width, body.panels.length), width = (size.width - 8) / columns;
  const inner = { w: Math.max(40, width - PANEL_LEFT - 6), h: PANEL_ROW - PANEL_TOP - PANEL_BOTTOM };
  const x = xs(inner.w), y = yScale(view, low, high, inner.h);
  body.panels.forEach((panel, index) => {
    canvas.plot = { x: PANEL_LEFT + (index % columns) * width, y: 20 + PANEL_TOP + Math.floor(index / columns) * PANEL_ROW, ...inner };
    canvas.text(canvas.plot.x, canvas.plot.y - 7, "start", "panel-title", short(panel.title, Math.floor(inner.w / 6.4)));
    canvas.grid(x, y, "");
    knee(panel, x);
    for (const line of panel.lines) pointLine(canvas, line, x, y, 2.2);
  });
  if (body.omitted) canvas.text(PANEL_LEFT, size.height - 6, "start", "tick", `and ${body.omitted} further charts; the table of runs has all of them`);
  return { svg: canvas.svg(describe(view)), plot: whole, x, stops: [], time: false, pixels: null, title: () => "", readings: () => [] };
}

function drawMatrix(view: ViewData, body: MatrixBody, size: Size, dark: boolean): Drawn {
  const cells = decode(body.cells), columns = body.columns.length, rows = body.rows.length;
  const canvas = new Canvas(size, false);
  const plot = { ...canvas.plot, y: 26, h: size.height - 34, w: size.width - LEFT - 16 - 40, x: LEFT + 40 };
  const [low, high] = range([{ values: cells, first: 0, last: cells.length - 1 }], true);
  const w = plot.w / columns, h = plot.h / rows;
  body.columns.forEach((name, c) => canvas.text(plot.x + (c + 0.5) * w, plot.y - 8, "middle", "tick", short(name, Math.max(4, Math.floor(w / 7)))));
  body.rows.forEach((name, r) => {
    canvas.text(plot.x - 8, plot.y + (r + 0.5) * h + 4, "end", "tick", short(name, 16));
    for (let c = 0; c < columns; c++) {
      const value = cells[r * columns + c] as number, gone = Number.isNaN(value);
      const part = high > low ? 0.08 + 0.8 * (value - low) / (high - low) : 0.5;
      const colour = heat(part, dark), fill = gone ? "none" : css(colour);
      const bright = (colour[0] * 299 + colour[1] * 587 + colour[2] * 114) / 1000 > 140;
      canvas.add(`<rect x="${n(plot.x + c * w + 1)}" y="${n(plot.y + r * h + 1)}" width="${n(w - 2)}" height="${n(h - 2)}" rx="3" fill="${fill}" class="cell"/>`);
      if (w > 34) canvas.text(plot.x + (c + 0.5) * w, plot.y + (r + 0.5) * h + 4, "middle", gone ? "tick" : bright ? "cell-dark" : "cell-light", gone ? "\u2013" : format(body.unit, value).replace(/ ?op\/s$/, ""));
    }
  });
  const x = linear(0, columns, "count", 4, false);
  return { svg: canvas.svg(describe(view)), plot, x, stops: [], time: false, pixels: null, title: () => "", readings: () => [] };
}

function describe(view: ViewData): string {
  return `${view.title}${view.subject ? ` of ${view.subject}` : ""}. ${view.explanation}`;
}
