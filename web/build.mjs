// Bundles src/ into dist/report.js and dist/report.css. `--check` fails when dist/ is not what the sources build to.
import { build } from "esbuild";
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";

const common = { bundle: true, minify: true, write: false, target: ["es2022"], charset: "ascii", legalComments: "none" };
const script = await build({ ...common, entryPoints: ["src/main.ts"], format: "iife" });
const style = await build({ ...common, entryPoints: ["src/report.css"], charset: "utf8" });
const outputs = { "dist/report.js": script.outputFiles[0].text, "dist/report.css": style.outputFiles[0].text };
mkdirSync("dist", { recursive: true });
let stale = false;
for (const [path, text] of Object.entries(outputs)) {
  if (process.argv.includes("--check")) {
    let committed = "";
    try { committed = readFileSync(path, "utf8"); } catch { /* missing is stale */ }
    if (committed !== text) { stale = true; console.error(`${path} is not what the sources build to; run \`npm run build\` and commit it`); }
  } else {
    writeFileSync(path, text);
    console.log(`${path}  ${(text.length / 1024).toFixed(1)} KiB`);
  }
}
if (stale) process.exit(1);
