// Scales and ticks. Pure.
import type { Unit, WallClock } from "./model";
import { hands, tick, toldApart } from "./format";

export interface Tick { at: number; label: string }
export interface Scale {
  low: number; high: number; log: boolean;
  /** 0 … 1 along the axis. */
  of(value: number): number;
  back(part: number): number;
  ticks: Tick[];
  /** Fainter lines between ticks. */
  minor: number[];
}

const TIME_STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800, 1209600, 2419200];

function niceStep(span: number, count: number): number {
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const lead = raw / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

function steps(low: number, high: number, step: number): number[] {
  const result = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) result.push(Number((i * step).toPrecision(12)));
  return result;
}

export function linear(low: number, high: number, unit: Unit, count: number, nice: boolean): Scale {
  if (!(high > low)) high = low + (low === 0 ? 1 : Math.abs(low));
  const time = unit === "s";
  let step = time ? TIME_STEPS.find((s) => (high - low) / s <= count) ?? niceStep(high - low, count) : niceStep(high - low, count);
  // Where nothing happened, parts of one byte or one operation would be told.
  if (low === 0 && high === 1 && !["", "s", "%", "nines"].includes(unit)) step = 1;
  if (nice) { low = Math.floor(low / step + 1e-9) * step; high = Math.ceil(high / step - 1e-9) * step; }
  const span = high - low;
  return {
    low, high, log: false, minor: [],
    of: (value) => (value - low) / span,
    back: (part) => low + part * span,
    ticks: toldApart(steps(low, high, step).map((at) => ({ at, label: tick(unit, at, span) })), unit, step),
  };
}

/** Time of day, and dates at midnight; values are seconds since the clock's. */
export function timeOfDay(wall: WallClock, low: number, high: number, count: number): Scale {
  if (!(high > low)) high = low + 1;
  const step = TIME_STEPS.find((s) => (high - low) / s <= count) ?? 4838400;
  const zero = wall.utc_s + wall.ahead_s, ticks: Tick[] = [];
  for (let i = Math.ceil((zero + low) / step - 1e-9); i * step <= zero + high + step * 1e-9; i++) ticks.push({ at: i * step - zero, label: hands(i * step, step) });
  const span = high - low;
  return { low, high, log: false, minor: [], of: (value) => (value - low) / span, back: (part) => low + part * span, ticks };
}

export function logarithmic(low: number, high: number, unit: Unit, count: number, nice: boolean): Scale {
  low = Math.max(low, 1e-9);
  if (!(high > low)) high = low * 10;
  const LEADS = [1, 2, 5];
  if (nice) {
    const down = (v: number) => { const p = 10 ** Math.floor(Math.log10(v)); return (v / p >= 5 ? 5 : v / p >= 2 ? 2 : 1) * p; };
    const up = (v: number) => { const p = 10 ** Math.floor(Math.log10(v) + 1e-12); const l = v / p; return (l <= 1.0000001 ? 1 : l <= 2 ? 2 : l <= 5 ? 5 : 10) * p; };
    low = down(low); high = up(high);
  }
  const a = Math.log10(low), span = Math.log10(high) - a;
  const all: number[] = [], decades: number[] = [], minor: number[] = [];
  for (let e = Math.floor(a - 1e-9); e <= Math.ceil(a + span + 1e-9); e++) {
    for (let lead = 1; lead < 10; lead++) {
      const at = Number((lead * 10 ** e).toPrecision(12));
      if (at < low * 0.9999999 || at > high * 1.0000001) continue;
      if (lead === 1) decades.push(at);
      if (LEADS.includes(lead)) all.push(at);
      minor.push(at);
    }
  }
  let chosen = all.length <= count + 1 ? all : decades;
  while (chosen.length > count + 1) chosen = chosen.filter((_, i) => i % 2 === 0);
  return {
    low, high, log: true, minor: span <= 4 ? minor.filter((at) => !chosen.includes(at)) : [],
    of: (value) => (Math.log10(Math.max(value, 1e-12)) - a) / span,
    back: (part) => 10 ** (a + part * span),
    ticks: toldApart(chosen.map((at) => ({ at, label: tick(unit, at, high - low) })), unit, chosen[0] ?? 1),
  };
}

/** Percentiles by nines: 0, 50, 90, 99, 99.9 … */
export function nines(high: number): Scale {
  const top = Math.max(10, high);
  const span = Math.log10(top);
  const at = [1, 2, 10, 100, 1000, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9].filter((v) => v <= top * 1.0001);
  return {
    low: 1, high: top, log: true, minor: [4, 20].filter((v) => v < top),
    of: (value) => Math.log10(Math.max(1, value)) / span,
    back: (part) => 10 ** (part * span),
    ticks: at.map((value) => ({ at: value, label: tick("nines", value, top) })),
  };
}
