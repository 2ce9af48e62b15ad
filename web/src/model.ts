// The report model as the Rust side writes it: its types, which are generated, and its rows of numbers.
import type { Values } from "./model.gen";

export type * from "./model.gen";

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
