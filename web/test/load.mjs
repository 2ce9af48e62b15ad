// The pure modules, bundled for Node.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

export async function load() {
  const entry = `export * from "./src/format"; export * from "./src/chart"; export * from "./src/scale"; export * from "./src/model"; export { order } from "./src/table";`;
  const result = await build({ stdin: { contents: entry, resolveDir: fileURLToPath(new URL("..", import.meta.url)), loader: "ts" }, bundle: true, write: false, format: "esm", target: "es2022" });
  return import(`data:text/javascript;base64,${Buffer.from(result.outputFiles[0].text).toString("base64")}`);
}
