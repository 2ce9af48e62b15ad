// Colour scales of heat maps: perceptually even, one for light and one for dark pages. Pure.
const LIGHT = ["#eef4fb", "#cfe1f2", "#a6cbe6", "#73acd6", "#4489c4", "#2667ae", "#1a4790", "#172c68", "#140e36"];
const DARK = ["#1a1230", "#35115c", "#641a80", "#932b80", "#c33b75", "#ea5661", "#fb8761", "#fec287", "#fcfdbf"];

function channels(hex: string): [number, number, number] {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as [number, number, number];
}

/** Colour of `part` in 0 … 1. */
export function heat(part: number, dark: boolean): [number, number, number] {
  const stops = dark ? DARK : LIGHT;
  const place = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  const from = channels(stops[index] as string), to = channels(stops[index + 1] as string), rest = place - index;
  return [0, 1, 2].map((i) => Math.round((from[i] as number) + ((to[i] as number) - (from[i] as number)) * rest)) as [number, number, number];
}

export function css(colour: [number, number, number]): string {
  return `rgb(${colour.join(" ")})`;
}
