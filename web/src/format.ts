// Numbers for people; the same rules as crates/view/src/unit.rs.
import type { Unit, WallClock } from "./model";

function three(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95 || value === 0) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  return size >= 0.01 ? value.toFixed(2) : value.toFixed(4);
}

function prefixed(value: number, unit: string): string {
  let scaled = value;
  for (const prefix of ["", "k", "M", "G", "T"]) {
    if (Math.abs(scaled) < 999.5) return `${three(scaled)} ${prefix}${unit}`.trimEnd();
    scaled /= 1000;
  }
  return `${three(scaled)} P${unit}`;
}

export function grouped(value: number): string {
  const digits = Math.abs(value).toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
  return value < 0 ? `\u2212${digits}` : digits;
}

function nanoseconds(ns: number): string {
  const size = Math.abs(ns);
  if (size < 999.5) return `${three(ns)} ns`;
  if (size < 999.5e3) return `${three(ns / 1e3)} \u00b5s`;
  if (size < 999.5e6) return `${three(ns / 1e6)} ms`;
  return `${three(ns / 1e9)} s`;
}

function elapsed(seconds: number): string {
  if (seconds === 0) return "0 s";
  if (Math.abs(seconds) < 60) return nanoseconds(seconds * 1e9);
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600), minutes = Math.floor((whole % 3600) / 60), rest = whole % 60;
  if (hours && minutes) return `${hours} h ${minutes} min`;
  if (hours) return `${hours} h`;
  return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
}

function percentile(nines: number): string {
  return (100 - 100 / Math.max(1, nines)).toFixed(6).replace(/0+$/, "").replace(/\.$/, "");
}

/** The number with its unit; `?` when it is missing. */
export function format(unit: Unit, value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "?";
  switch (unit) {
    case "": return three(value);
    case "s": return elapsed(value);
    case "ns": return nanoseconds(value);
    case "op/s": return prefixed(value, "op/s");
    case "B/s": return prefixed(value, "B/s");
    case "B": return prefixed(value, "B");
    case "op": return grouped(value);
    case "%": return `${three(value)} %`;
    case "count": return Number.isInteger(value) ? grouped(value) : three(value);
    case "nines": return `p${percentile(value)}`;
  }
}

/** As in a table whose heading carries the unit. */
export function formatCell(unit: Unit, value: number): string {
  if (!Number.isFinite(value)) return "?";
  if (unit === "op/s") return value >= 100 ? grouped(value) : three(value);
  return unit === "%" ? three(value) : format(unit, value);
}

export function headingUnit(unit: Unit): string {
  return unit === "op/s" || unit === "%" ? unit : "";
}

/** Clock-like elapsed time on axes: `30 s`, `5:00`, `1:30:00`. */
export function clock(seconds: number, span: number): string {
  if (span <= 120) return `${Number(seconds.toFixed(3)) + 0} s`;
  const whole = Math.round(seconds);
  const two = (value: number) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600), minutes = Math.floor((whole % 3600) / 60);
  return span > 7200 ? `${hours}:${two(minutes)} h` : `${Math.floor(whole / 60)}:${two(whole % 60)}`;
}

/** A number on an axis: short, with its prefix. */
export function tick(unit: Unit, value: number, span: number): string {
  if (unit === "s") return clock(value, span);
  if (unit === "nines") return percentile(value) + " %";
  const trim = (text: string) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
  if (unit === "op/s" || unit === "op" || unit === "count") return trim(prefixed(value, ""));
  if (value === 0) return "0";
  return trim(format(unit, value));
}

/** Labels that three digits make equal, or other than their ticks, with the digits that a step needs. */
export function toldApart(ticks: { at: number; label: string }[], unit: Unit, step: number): { at: number; label: string }[] {
  const alike = ticks.some((each, i) => i > 0 && each.label === ticks[i - 1]?.label);
  if (!(alike || step < 0.01) || unit === "s" || unit === "nines") return ticks;
  const most = Math.max(...ticks.map((each) => Math.abs(each.at)), 0);
  const name = tick(unit, most, most).split(" ").slice(1).join(" ");
  let factor = 1, scaled = most;
  while (scaled >= 999.5 && factor < 1e15) { factor *= 1000; scaled /= 1000; }
  let decimals = 0;
  while (decimals < 15 && (step / factor) * 10 ** decimals <= 0.999) decimals++;
  const trim = (text: string) => text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  return ticks.map(({ at }) => ({ at, label: at === 0 ? "0" : `${trim((at / factor).toFixed(decimals))} ${name}`.trimEnd() }));
}

/** Local time of seconds since 1970 that were counted as if they were UTC. */
const civil = (local: number) => new Date(Math.round(local * 1000)).toISOString();

/** `14:30`, `14:30:07` where steps are that small, `11-24` at midnight. */
export function hands(local: number, step: number): string {
  const text = civil(local);
  if (Math.round(local * 1000) % 86400000 === 0) return text.slice(5, 10);
  return step >= 60 ? text.slice(11, 16) : step >= 1 ? text.slice(11, 19) : text.slice(11, 23);
}

/** `2026-11-24 14:30:07 UTC+1`. */
export function moment(wall: WallClock, at: number): string {
  const text = civil(wall.utc_s + wall.ahead_s + at);
  return `${text.slice(0, 10)} ${text.slice(11, 19)} ${zone(wall)}`;
}

/** How far its times are from UTC: `UTC`, `UTC+1`, `UTC−3:30`. */
export function zone(wall: WallClock): string {
  const minutes = Math.floor(Math.abs(wall.ahead_s) / 60), rest = minutes % 60;
  if (!minutes) return "UTC";
  return `UTC${wall.ahead_s < 0 ? "\u2212" : "+"}${Math.floor(minutes / 60)}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}
