// Numbers are written as the Rust side writes them (crates/view/src/unit.rs has the same cases).
import test from "node:test";
import assert from "node:assert/strict";
import { load } from "./load.mjs";

const { format, formatCell, path, decode, linear, logarithmic, order } = await load();

test("numbers carry their unit and three digits", () => {
  const cases = [
    ["ns", 850, "850 ns"], ["ns", 1234, "1.23 µs"], ["ns", 999600, "1.00 ms"], ["ns", 2.034e9, "2.03 s"], ["op/s", 20134, "20.1 kop/s"], ["op/s", 0, "0 op/s"],
    ["B/s", 1.91e9, "1.91 GB/s"], ["op", 1234567, "1,234,567"], ["s", 0, "0 s"], ["s", 125, "2 min 5 s"], ["s", 10800, "3 h"], ["s", 10920, "3 h 2 min"],
    ["%", 63.44, "63.4 %"], ["nines", 1000, "p99.9"], ["nines", 2, "p50"], ["ns", null, "?"], ["ns", NaN, "?"],
  ];
  for (const [unit, value, expect] of cases) assert.equal(format(unit, value), expect);
  assert.equal(formatCell("op/s", 20134.4), "20,134");
});

test("ticks are round and carry units", () => {
  assert.deepEqual(linear(0, 47000, "op/s", 5, true).ticks.map((t) => t.label), ["0", "10 k", "20 k", "30 k", "40 k", "50 k"]);
  assert.deepEqual(logarithmic(80e3, 90e6, "ns", 5, true).ticks.map((t) => t.label), ["100 µs", "1 ms", "10 ms", "100 ms"]);
});

test("numbers decode from every type", () => {
  const encode = (name, array) => `${name}:${Buffer.from(array.buffer).toString("base64")}`;
  assert.deepEqual([...decode(encode("u8", new Uint8Array([0, 255])))], [0, 255]);
  assert.deepEqual([...decode(encode("u16", new Uint16Array([7, 65535])))], [7, 65535]);
  assert.deepEqual([...decode(encode("u32", new Uint32Array([4294967295])))], [4294967295]);
  assert.deepEqual([...decode(encode("f32", new Float32Array([0.5, NaN])))], [0.5, NaN]);
  assert.deepEqual([...decode(encode("f64", new Float64Array([0.1, -3])))], [0.1, -3]);
  assert.throws(() => decode("i7:AA=="));
});

test("a dense line keeps its extremes and breaks at gaps", () => {
  const n = 100000, x = new Float64Array(n).map((_, i) => i), y = new Float64Array(n).fill(1);
  y[12345] = 99; y[50000] = NaN; y[77777] = -5;
  const drawn = path(x, y, 0, n - 1, (v) => v / 100, (v) => v);
  assert.ok(drawn.length < 40000, `${drawn.length}`);
  assert.equal(drawn.match(/M/g).length, 2);
  for (const extreme of [" 99", " -5"]) assert.ok(drawn.includes(extreme));
});

test("missing values sort last in both directions", () => {
  const by = { text: [], numbers: new Float64Array([3, NaN, 1]) };
  assert.deepEqual(order(3, by, true), [0, 2, 1]);
  assert.deepEqual(order(3, by, false), [2, 0, 1]);
});
